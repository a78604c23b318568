// How it works. The parameters of published formulas are read from the graph, so every model has
// them, with or without a configuration. Each parameter is counted once; for `a`, the share of
// experts that a token does not reach is subtracted (layer_facts.h). An embedding table is a matrix
// that Gather reads. It is a table of positions if its indices follow from shapes alone or have
// "position" in their name, and otherwise of tokens. The largest token table gives vocabulary and
// width. Tables that nothing else reads cost no FLOPs, and some formulas leave them out.
//
// Tokens are the elements of integer inputs [batch, sequence] that are not masks. A model that
// takes an image with a text has more; there the logits [batch, tokens, vocabulary] give the
// number. The width of the MLP is the only parameter that a graph does not show. The configuration
// has it; without one it is assumed to be 4 times the width, and a note says so.
#include "src/convention/formula_facts.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "src/base/json_reader.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/convention/layer_facts.h"
#include "src/family/family.h"
#include "src/memory/kv_cache.h"
#include "src/resolve/parameters.h"

namespace onnxflops {
namespace {

// Tables that are looked up: inputs of Gather.
struct Tables {
  Expr only_looked_up = 0;           // elements of those that nothing else reads
  std::optional<Expr> of_positions;  // elements of those that are read at 0, 1, 2, ...
  // Rows and width of the largest table that is read at tokens.
  std::optional<Expr> vocabulary, token_width;
};

class TableFinder {
 public:
  explicit TableFinder(const Inference& inference)
      : in_(inference), model_(*inference.model), main_(inference.instance(0)) {}

  Tables Run() {
    const std::vector<NodeId>& nodes = model_.graph(main_.graph).nodes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = model_.node(nodes[i]);
      const Call& call = in_.call(main_.calls[i]);
      const bool looks_up = node.op_type == "Gather" && node.domain.empty();
      for (size_t k = 0; k < node.inputs.size() && k < call.inputs.size(); ++k) {
        if (!node.inputs[k]) continue;
        if (looks_up && k == 0) {
          LookUp(node, call);
        } else {
          multiplied_.insert(*node.inputs[k]);
          const auto tied = in_.ties.find(*node.inputs[k]);
          if (tied != in_.ties.end()) multiplied_.insert(tied->second);
        }
      }
    }
    for (const auto& [value, elements] : tables_) {
      if (!multiplied_.contains(value)) out_.only_looked_up += elements;
    }
    return std::move(out_);
  }

 private:
  void LookUp(const Node& node, const Call& call) {
    const ValueId value = *node.inputs[0];
    const Fact& table = in_.fact(call.inputs[0]);
    const bool is_table = model_.value(value).initializer.has_value() && table.is_tensor() &&
                          IsFloat(table.dtype) && table.shape.ranked() && table.shape.rank() == 2;
    if (!is_table) return;
    // The indices of positions depend on shapes alone, or are an input by that name.
    const bool named = node.inputs.size() > 1 && node.inputs[1] &&
                       absl::StrContains(model_.value(*node.inputs[1]).name, "position");
    const bool at_positions = call.constant || call.from_shapes || named;
    const bool larger = !out_.vocabulary || !out_.vocabulary->AtLeast(table.shape[0]);
    if (!at_positions && larger) {
      out_.vocabulary = table.shape[0];
      out_.token_width = table.shape[1];
    }
    const Expr elements = table.shape.NumElements();
    if (!tables_.try_emplace(value, elements).second || !at_positions) return;
    out_.of_positions = out_.of_positions.value_or(0) + elements;
  }

  const Inference& in_;
  const ModelData& model_;
  const Instance& main_;
  absl::flat_hash_map<ValueId, Expr> tables_;
  absl::flat_hash_set<ValueId> multiplied_;
  Tables out_;
};

// The batch and the tokens of a step, by the inputs of a model.
class StepFinder {
 public:
  StepFinder(const Inference& inference, FormulaFacts* out)
      : in_(inference), model_(*inference.model), out_(*out) {}

  void Run(const Shape* logits) {
    const absl::StatusOr<Decoder> decoder = FindDecoder(in_);
    for (ValueId id : model_.graphs[0].inputs) {
      const Value& value = model_.value(id);
      const Fact* fact = in_.FactOf(id);
      if (value.initializer || fact == nullptr || !fact->is_tensor()) continue;
      if (!fact->shape.ranked() || fact->shape.rank() == 0) continue;
      // In a decoder with a cache only one input takes tokens. Others may look like it.
      if (!decoder.ok() || value.name == decoder->token_input) Take(value, *fact);
    }
    // Image tokens are appended to the text tokens and also produce logits.
    if (logits != nullptr && out_.parameters.tokens) {
      const Expr tokens = (*logits)[0] * (*logits)[1];
      const bool appended = (*logits)[0] == *out_.batch && tokens != *out_.parameters.tokens &&
                            tokens.AtLeast(*out_.parameters.tokens);
      if (has_images_ || appended) {
        out_.parameters.tokens = tokens;
        out_.no_tokens.clear();
      }
    }
    if (!out_.parameters.tokens && out_.no_tokens.empty()) {
      out_.no_tokens = "no input is token ids [batch, sequence]: the formula counts tokens";
    }
  }

 private:
  void Take(const Value& value, const Fact& fact) {
    if (!out_.batch) out_.batch = fact.shape[0];
    has_images_ = has_images_ || (IsFloat(fact.dtype) && fact.shape.rank() == kImageRank);
    if (IsFloat(fact.dtype) && fact.shape.rank() >= 3) {
      out_.no_tokens =
          absl::StrCat("the formula counts tokens, but input '", value.name, "' ",
                       fact.shape.rank() == kImageRank ? "is an image" : "holds no tokens");
      return;
    }
    const bool is_mask = absl::StrContains(value.name, "mask");
    if (!IsInteger(fact.dtype) || fact.shape.rank() != 2 || is_mask) return;
    const Expr tokens = fact.shape.NumElements();
    if (!out_.parameters.tokens) {
      out_.batch = fact.shape[0];
      out_.parameters.tokens = tokens;
    } else if (*out_.parameters.tokens != tokens) {
      out_.no_tokens = "the inputs of token ids have different sizes: the formula has one";
    }
  }

  static constexpr int kImageRank = 4;

  const Inference& in_;
  const ModelData& model_;
  FormulaFacts& out_;
  bool has_images_ = false;
};

// The MLP's width from the configuration, by the names that families have for it.
std::optional<Expr> MlpWidthOf(const ModelData& model) {
  using Json = nlohmann::json;
  const absl::string_view text = ConfigOf(model);
  if (text.empty()) return std::nullopt;
  const absl::StatusOr<Json> parsed = ParseJson(text, {.not_numbers = true});
  const Json config = parsed.ok() ? *parsed : Json();
  for (const char* key : {"intermediate_size", "n_inner", "ffn_dim", "d_ff"}) {
    const auto at = config.is_object() ? config.find(key) : config.end();
    const auto* width = at == config.end() ? nullptr : at->get_ptr<const uint64_t*>();
    if (width != nullptr && *width <= uint64_t{kMaxConfigSize}) {
      return Expr(static_cast<int64_t>(*width));
    }
  }
  return std::nullopt;
}

// True if a matrix of an MLP could be one of attention, because they have the same sizes. In
// ModernBERT queries, keys and values together are as wide as two matrices of its MLP.
bool LooksLikeProjection(const FormulaParameters& p) {
  const auto fits = [&](const Expr& width) { return width == *p.f || width == 2 * *p.f; };
  if (p.u && p.h && p.q) {  // latent attention
    return fits(*p.c) || fits(*p.u + *p.g) || fits(*p.h * *p.o) || fits(*p.h * *p.q);
  }
  if (!p.h || !p.k || !p.q) return true;
  for (const Expr& heads : {*p.h, *p.k, *p.h + 2 * *p.k}) {
    if (fits(heads * *p.q)) return true;
  }
  return false;
}

// The number of matrices [d, f] in a layer, where a matrix [d, 2 f] counts as two; nullopt if
// layers differ, have none, or other matrices may have these sizes.
std::optional<Expr> MatricesOfMlp(const Inference& inference,
                                  absl::Span<const resolve::Parameter> parameters,
                                  const FormulaParameters& p) {
  if (!p.d || !p.f || !p.l || !p.d->is_literal() || !p.f->is_literal()) return std::nullopt;
  if (LooksLikeProjection(p)) return std::nullopt;
  int64_t found = 0;
  for (const resolve::Parameter& parameter : parameters) {
    const Fact* const fact = inference.FactOf(parameter.value);
    if (fact == nullptr || !fact->shape.ranked() || fact->shape.rank() != 2) continue;
    const Shape& shape = fact->shape;
    if (p.v && (shape[0] == *p.v || shape[1] == *p.v)) continue;
    for (const int64_t count : {1, 2}) {
      const Expr wide = *p.f * count;
      const bool fits =
          (shape[0] == *p.d && shape[1] == wide) || (shape[1] == *p.d && shape[0] == wide);
      if (fits) found += count;
    }
  }
  const int64_t layers = static_cast<int64_t>(p.l->literal());
  if (found == 0 || found % layers != 0) return std::nullopt;
  return Expr(found / layers);
}

}  // namespace

const Shape* LogitsOf(const Inference& inference) {
  constexpr int kLogitsRank = 3;
  const ModelData& model = *inference.model;
  for (ValueId id : model.graphs[0].outputs) {
    const Fact* fact = inference.FactOf(id);
    if (fact == nullptr || !fact->is_tensor() || !fact->shape.ranked()) continue;
    if (fact->shape.rank() == kLogitsRank) return &fact->shape;
  }
  return nullptr;
}

FormulaFacts ReadFormulaFacts(const Inference& inference, const Counts& counts) {
  FormulaFacts facts;
  const Shape* const logits = LogitsOf(inference);
  StepFinder(inference, &facts).Run(logits);
  facts.attention = SummarizeAttention(inference, counts, facts.batch);
  const Tables tables = TableFinder(inference).Run();
  const std::vector<resolve::Parameter> parameters =
      resolve::FindParameters(*inference.model, inference.ties);
  absl::int128 n = 0;
  for (const resolve::Parameter& parameter : parameters) n += parameter.elements;
  FormulaParameters& p = facts.parameters;
  p.n = Expr(n);
  p.embeddings = tables.only_looked_up;
  // Layers of several lengths are those of a tower and a decoder, and a formula has the latter.
  if (facts.attention.layers > 0 && facts.attention.one_length) p.l = Expr(facts.attention.layers);
  p.h = facts.attention.heads;
  p.k = facts.attention.kv_heads;
  p.q = facts.attention.head_size;
  p.t = facts.attention.tokens;
  p.v = tables.vocabulary;
  if (!p.v && logits != nullptr) p.v = (*logits)[2];
  p.p = tables.of_positions;
  if (!p.p && tables.token_width) p.p = Expr(0);  // no position is looked up
  p.d = tables.token_width;
  p.f = MlpWidthOf(*inference.model);
  if (!p.f && p.d) {
    constexpr int kUsualRatio = 4;
    p.f = kUsualRatio * *p.d;
    facts.mlp_width_assumed = true;
  }
  if (!facts.attention.values_as_queries) ReadLatentAttention(parameters, &p);
  p.x = MatricesOfMlp(inference, parameters, p);
  p.y = FurtherTokenLayers(*inference.model);
  ReadExperts(inference, parameters, &p);
  facts.other_layers = OtherLayersOfBridge(*inference.model, p);
  if (p.tokens && p.t) p.s2 = *p.tokens * *p.t;
  return facts;
}

FormulaInfo InfoOfFormula(Formula formula, const FormulaFacts& facts) {
  FormulaInfo info =
      InfoOfLayers(formula, facts.parameters.a.has_value(), !facts.attention.values_as_queries);
  if (formula == Formula::kTorchtitan && facts.parameters.a) {
    info.text = "(6 (A - E) + 12 L H Q T) tokens";
    info.reads = "a e l h q t tokens";
  }
  return info;
}

absl::StatusOr<FormulaFlops> PartsOfFormula(Formula formula, const FormulaFacts& facts) {
  if (!facts.no_tokens.empty()) return absl::FailedPreconditionError(facts.no_tokens);
  if (formula == Formula::kMegatronBridge) {
    if (!facts.other_layers.empty()) return absl::UnimplementedError(facts.other_layers);
    RETURN_IF_ERROR(CheckParameters(InfoOfFormula(formula, facts), facts.parameters));
  }
  if (formula == Formula::kMaxText) {
    // The program has other terms for such models.
    if (facts.parameters.a) {
      return absl::UnimplementedError("the formula is that of layers without experts");
    }
    if (!facts.attention.values_as_queries) {
      return absl::UnimplementedError(
          "the formula is that of attention whose values are as wide as its keys");
    }
  }
  absl::StatusOr<FormulaFlops> flops = PartsOfFormula(formula, facts.parameters);
  const absl::string_view reads = kFormulas[static_cast<size_t>(formula)].reads;
  const bool lacks_layers = !facts.parameters.l && !facts.attention.one_length &&
                            absl::StrContains(absl::StrCat(" ", reads), " l ");
  if (!lacks_layers || !absl::IsFailedPrecondition(flops.status())) return flops;
  return absl::FailedPreconditionError(absl::StrCat(
      flops.status().message(), "; layers of a tower and a decoder have sequences of their own"));
}

}  // namespace onnxflops
