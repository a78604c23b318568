// How it works. PerToken has one function for each form of formula; it gives the training FLOPs of
// one token, in four parts: linear layers, embeddings, attention scores, and others. PerStep
// chooses the function and multiplies by the tokens of the step. The formulas keep the factors that
// their authors print (6 N, 12 L H Q T), so that a reader can find them in the source.
//
// A formula that divides (7.5 N) rounds its sum once, as its author's program does; the part
// `linear` takes the rest, so that the parts still add up. All arithmetic is in Expr, which reports
// an overflow. kFormulas lists the parameters that each formula reads; a missing one is an error
// that names it.
#include "src/convention/formulas.h"

#include <cstddef>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops {
namespace {

const FormulaParameter* FindParameter(absl::string_view name) {
  for (const FormulaParameter& parameter : kFormulaParameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

// Per token of a step; the scores of a sequence are L * HQ * T a token.
class PerToken {
 public:
  explicit PerToken(const FormulaParameters& p)
      : p_(p), width_(Value(p.h) * Value(p.q)), scores_(Value(p.l) * width_ * Value(p.t)) {}

  // `times` (N without `left_out`), plus `of_scores` L HQ T.
  FormulaFlops Parameters(int times, int of_scores, const Expr& left_out = 0) const {
    return {times * (Value(p_.n) - Value(p_.embeddings)), times * (Value(p_.embeddings) - left_out),
            of_scores * scores_, 0};
  }

  // 6 times the parameters that a token reaches.
  FormulaFlops Active(int of_scores) const {
    return {6 * (Value(p_.a) - Value(p_.embeddings)), 6 * Value(p_.embeddings), of_scores * scores_,
            0};
  }

  FormulaFlops Megatron() const {
    return {72 * Value(p_.l) * width_ * width_ + 6 * Value(p_.v) * width_, 0, 12 * scores_, 0};
  }

  FormulaFlops Chinchilla() const {
    const Expr d = Value(p_.d), table = Value(p_.v) * d;
    const Expr layer = 8 * d * width_ + 4 * d * Value(p_.f);
    return {3 * (Value(p_.l) * layer + 2 * table), 3 * 2 * table, 3 * 4 * scores_,
            3 * 3 * Value(p_.l) * Value(p_.h) * Value(p_.t)};
  }

  // Without lookup tables, and with only the experts that a token reaches.
  FormulaFlops Torchtitan() const {
    const Expr& met = p_.a ? *p_.a : *p_.n;
    return {6 * (met - Value(p_.embeddings)), 0, 12 * scores_, 0};
  }

  // Grouped heads and gated MLPs, half of the scores.
  FormulaFlops MaxText() const {
    FormulaFlops flops = WithoutScores();
    flops.scores = 6 * scores_;
    return flops;
  }

  FormulaFlops WithoutScores() const {
    const Expr d = Value(p_.d), heads = Value(p_.h) + Value(p_.k);
    const Expr layer = 2 * Value(p_.x) * d * Value(p_.f) + 4 * d * heads * Value(p_.q);
    return {3 * (Value(p_.l) * layer + 2 * Value(p_.v) * d), 0, 0, 0};
  }

  // Without scores. Layers of further tokens are like the last one.
  FormulaFlops MegatronBridge() const {
    const Expr d = Value(p_.d), further = Value(p_.y), vocabulary = Value(p_.v) * d;
    const bool mixture = p_.m && !p_.m->is_zero();
    const Expr dense = Value(p_.l) - Value(p_.m) + (mixture ? 0 : further);
    const Expr experts = mixture ? *p_.m + further : 0;
    const Expr of_token = Value(p_.r) * Value(p_.w) + Value(p_.s);
    const Expr mlps = Value(p_.x) * d * (dense * Value(p_.f) + experts * of_token);
    const Expr heads = 2 * d * (Value(p_.h) + Value(p_.k)) * Value(p_.q);
    const Expr layers = (Value(p_.l) + further) * (p_.u ? LatentProjections() : heads);
    const Expr joined = further * (3 * d + 2 * d * d);  // norms, and a projection of two tokens
    return {6 * (mlps + layers + (1 + further) * vocabulary + joined), 0, 0, 0};
  }

  // Of a layer: down to the sizes that are kept, and up again. Each `+ 1` is a norm.
  Expr LatentProjections() const {
    const Expr d = Value(p_.d), h = Value(p_.h), of_queries = Value(p_.c);
    const Expr queries = of_queries.is_zero() ? d * width_ : of_queries * (d + width_ + 1);
    const Expr without_positions = Value(p_.q) - Value(p_.g);
    return queries + *p_.u * (d + h * (without_positions + Value(p_.o)) + 1) + d * Value(p_.g) +
           h * Value(p_.o) * d;
  }

  // Of a step, by the squares of its samples.
  Expr BridgeScores() const {
    const Expr layers = Value(p_.l) + Value(p_.y);
    const Expr sizes = p_.u ? Value(p_.q) + Value(p_.o) : 2 * Value(p_.q);
    return 3 * layers * Value(p_.h) * sizes * Value(p_.s2);
  }

  FormulaFlops LlmFoundry() const {
    FormulaFlops flops = Parameters(6, 0);
    flops.scores = 12 * Value(p_.l) * Value(p_.d) * Value(p_.t);
    return flops;
  }

  static Expr Value(const std::optional<Expr>& given) { return given.value_or(0); }

 private:
  const FormulaParameters& p_;
  const Expr width_, scores_;
};

FormulaFlops Times(FormulaFlops flops, const Expr& factor, int divisor) {
  // The sum is divided, not each part: it is the formula's figure.
  const Expr total = FloorDiv(flops.Total() * factor, divisor);
  for (Expr* part : {&flops.embeddings, &flops.scores, &flops.others}) {
    *part = FloorDiv(*part * factor, divisor);
  }
  flops.linear = total - flops.embeddings - flops.scores - flops.others;
  return flops;
}

// In Expr, which detects an overflow.
FormulaFlops PerStep(Formula formula, const FormulaParameters& p) {
  const PerToken token(p);
  const Expr tokens = PerToken::Value(p.tokens);
  switch (formula) {
    case Formula::k6n:
      return Times(token.Parameters(6, 0), tokens, 1);
    case Formula::k6nActive:
      return Times(token.Active(0), tokens, 1);
    case Formula::kPalmActive:
      return Times(token.Active(12), tokens, 1);
    case Formula::k25n:
      return Times(token.Parameters(15, 0), tokens, 2);
    case Formula::kPalm:
      return Times(token.Parameters(6, 12), tokens, 1);
    case Formula::kPalmCausalHalf:
      return Times(token.Parameters(6, 6), tokens, 1);
    case Formula::kMegatron:
      return Times(token.Megatron(), tokens, 1);
    case Formula::kNanoGpt:
      return Times(token.Parameters(6, 12, PerToken::Value(p.p)), tokens, 1);
    case Formula::kChinchilla:
      return Times(token.Chinchilla(), tokens, 1);
    case Formula::kLlmFoundry:
      return Times(token.LlmFoundry(), tokens, 1);
    case Formula::kTorchtitan:
      return Times(token.Torchtitan(), tokens, 1);
    case Formula::kMaxText:
      return Times(token.MaxText(), tokens, 1);
    case Formula::kMegatronBridge: {
      FormulaFlops flops = Times(token.MegatronBridge(), tokens, 1);
      flops.scores = token.BridgeScores();
      return flops;
    }
  }
  return {};
}

}  // namespace

absl::Status SetFormulaParameter(absl::string_view text, FormulaParameters* parameters) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  const FormulaParameter* parameter = FindParameter(parts.first);
  int64_t value = 0;
  if (parameter == nullptr || !absl::SimpleAtoi(parts.second, &value) || value < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(text), " should be a parameter and a whole number, as n=124439808; parameters are ",
        absl::StrJoin(kFormulaParameters, ", ", [](std::string* out, const FormulaParameter& p) {
          absl::StrAppend(out, p.name);
        })));
  }
  parameters->*parameter->value = Expr(value);
  return absl::OkStatus();
}

FormulaInfo InfoOfLayers(Formula formula, bool experts, bool latent) {
  FormulaInfo info = kFormulas[static_cast<size_t>(formula)];
  if (formula != Formula::kMegatronBridge) return info;
  if (latent) {
    info.text = kBridgeOfLatent;
    info.reads =
        experts ? "l h q v d f x m r w s y c u g o tokens s2" : "l h q v d f x y c u g o tokens s2";
  } else if (experts) {
    info.text = kBridgeOfExperts;
    info.reads = "l h q v d f k x m r w s y tokens s2";
  }
  return info;
}

absl::Status CheckParameters(const FormulaInfo& info, const FormulaParameters& parameters) {
  std::vector<absl::string_view> missing;
  for (absl::string_view name : absl::StrSplit(info.reads, ' ')) {
    const FormulaParameter* parameter = FindParameter(name);
    if (!(parameters.*parameter->value).has_value()) missing.push_back(name);
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("not found in the model: ", absl::StrJoin(missing, ", ")));
}

absl::StatusOr<FormulaFlops> PartsOfFormula(Formula formula, const FormulaParameters& parameters) {
  RETURN_IF_ERROR(CheckParameters(
      InfoOfLayers(formula, parameters.m.has_value(), parameters.u.has_value()), parameters));
  FormulaFlops flops = PerStep(formula, parameters);
  if (const char* error = flops.Total().error(); error != nullptr) {
    return absl::OutOfRangeError(absl::StrCat("the formula ", error));
  }
  return flops;
}

absl::StatusOr<absl::int128> FlopsByFormula(Formula formula, const FormulaParameters& parameters) {
  ASSIGN_OR_RETURN(const FormulaFlops flops, PartsOfFormula(formula, parameters));
  return flops.Total().literal();
}

}  // namespace onnxflops
