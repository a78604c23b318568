// What the parts of fused operators cost.
#include "ops/parts.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "ops/rules.h"

namespace onnxflops {

namespace {

struct NamedCost {
  absl::string_view name;
  ElementCost cost;
};

// Those that are no operator of ai.onnx, or one whose cost depends on its attributes.
constexpr NamedCost kActivations[] = {
    {"", {}},
    {"none", {}},
    {"identity", {}},
    {"Affine", {.add = 1, .mul = 1}},
    {"Clip", {.cmp = 2}},
    {"FastGelu", kGeluTanhCost},
    {"Gelu", kGeluCost},
    {"QuickGelu", {.add = 1, .mul = 2, .div = 1, .exp = 1}},
    {"relu2", {.mul = 1, .cmp = 1}},
    {"relu_squared", {.mul = 1, .cmp = 1}},
    {"ScaledTanh", {.mul = 2, .tanh = 1}},
    {"silu", kSiluCost},
    {"Softmax", kSoftmaxCost},
    {"swish", kSiluCost},
    {"Tanh", {.tanh = 1}},
};

constexpr NamedCost kActivationGradients[] = {
    {"", {}},
    {"none", {}},
    {"identity", {}},
    {"Affine", {.mul = 1}},
    {"Clip", {.cmp = 2}},
    {"FastGelu", kGeluTanhGradient},
    {"Gelu", kGeluGradient},
    {"QuickGelu", kSiluGradient + ElementCost{.mul = 2}},
    {"relu2", {.mul = 2}},
    {"relu_squared", {.mul = 2}},
    {"ScaledTanh", {.add = 1, .mul = 3}},
    {"silu", kSiluGradient},
    {"Softmax", kSoftmaxGradient},
    {"swish", kSiluGradient},
    {"Tanh", {.add = 1, .mul = 2}},
};

}  // namespace

Cost Flops(Census work) {
  Cost cost;
  cost.flops = std::move(work);
  return cost;
}

absl::StatusOr<ElementCost> ActivationCost(absl::string_view name) {
  for (const NamedCost& activation : kActivations) {
    if (absl::EqualsIgnoreCase(activation.name, name)) return activation.cost;
  }
  for (const OpDef& row : kActivationFamily.rows) {
    if (!absl::EqualsIgnoreCase(row.name, name)) continue;
    if (row.count == CountPerInputElement || row.count == CountPerOutputElement)
      return row.per_element;
  }
  return absl::UnimplementedError(absl::StrCat("the activation '", name, "' is not known"));
}

Census SdpaWork(const Sdpa& sdpa) {
  ElementCost per_score =
      kSoftmaxCost + ElementCost{.add = sdpa.biases, .mul = sdpa.scaled ? 1 : 0};
  if (sdpa.softcap) per_score = per_score + kSoftcapCost;
  Census work = per_score * sdpa.TwiceScores();
  work[Kind::kMac] = sdpa.TwiceScores() * (sdpa.qk_size + sdpa.v_size);
  work.Halve();
  if (sdpa.sink) work += SinkWork(sdpa.tokens * sdpa.heads);
  return work;
}

bool TakesFlash(const Sdpa& sdpa, const SdpaNeeds& needs) {
  return needs.recomputes_scores && !needs.scores && !needs.bias &&
         ProvablyEqual(sdpa.qk_size, sdpa.v_size).value_or(false);
}

Census SdpaGradient(const Sdpa& sdpa, const SdpaNeeds& needs) {
  const bool flash = TakesFlash(sdpa, needs);
  const bool q = needs.q || flash, k = needs.k || flash, v = needs.v || flash;
  const bool scores = q || k || needs.scores || needs.bias;
  const auto of = [](bool needed) { return needed ? 1 : 0; };
  ElementCost per_score;
  if (scores) per_score = kSoftmaxGradient + ElementCost{.mul = sdpa.scaled ? 1 : 0};
  if (scores && sdpa.softcap) per_score = per_score + kSoftcapGradient;
  if (flash) per_score = per_score + ElementCost{.add = 1, .exp = 1};
  if (flash && sdpa.softcap) per_score = per_score + kSoftcapCost;
  if (needs.bias) per_score.add += 1;
  Census work = per_score * sdpa.TwiceScores();
  work[Kind::kMac] = sdpa.TwiceScores() * (sdpa.qk_size * (of(q) + of(k) + of(flash)) +
                                           sdpa.v_size * (of(v) + of(scores)));
  work.Halve();
  if (scores && sdpa.sink) work += ElementCost{.add = 1, .mul = 1} * (sdpa.tokens * sdpa.heads);
  return work;
}

Cost SdpaCost(const Sdpa& sdpa) {
  Cost cost = Flops(SdpaWork(sdpa));
  cost.causal = sdpa.causal;
  return cost;
}

absl::Status ReadUpdateRule(const NodeView& n, StateRecurrence* r) {
  const absl::string_view rule = n.String("update_rule", "gated_delta");
  r->gated = rule == "gated" || rule == "gated_delta";
  r->delta = rule == "delta" || rule == "gated_delta";
  if (rule == "linear" || r->gated || r->delta) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("update_rule is '", rule, "', not linear, gated, delta or gated_delta"));
}

Cost RecurrenceCost(const NodeView& n, const StateRecurrence& r) {
  const Expr outputs = r.tokens * r.output_heads * r.v_size;
  Census work = ElementCost{.mac = 1, .add = 1} * r.StateElements();
  work[Kind::kMac] += outputs * r.qk_size;
  work[Kind::kMul] += outputs;
  if (r.gated) {
    work[Kind::kExp] += r.decays;
    work[Kind::kMul] += r.StateElements();
  }
  if (r.delta) {
    work[Kind::kMac] += r.StateElements();
    work += ElementCost{.add = 1, .mul = 1} * (r.tokens * r.value_heads * r.v_size);
  }
  if (n.Float("scale", 0) == 0) work += ElementCost{.div = 1, .sqrt = 1} * 1;
  return Flops(std::move(work));
}

RecurrenceNeeds LinearAttentionNeeds(const GradientQuery& query) {
  return {.q = query.Needs(0),
          .k = query.Needs(1),
          .v = query.Needs(2),
          .state = query.Needs(3),
          .decay = query.Needs(4),
          .beta = query.Needs(5)};
}

Census RecurrenceGradient(const StateRecurrence& r, const RecurrenceNeeds& needs) {
  const bool beta = r.delta && needs.beta, decay = r.gated && needs.decay;
  // Of the states that steps leave; of the first one, decayed; of what is added with the key.
  const bool states = needs.k || needs.v || needs.state || beta || decay;
  const bool added = needs.v || beta || (r.delta && states);
  const auto of = [](bool needed) { return needed ? 1 : 0; };
  const Expr of_state = r.value_heads * r.qk_size * r.v_size;
  const Expr all = r.tokens * of_state, first = r.batch * of_state;
  const Expr outputs = r.tokens * r.output_heads * r.v_size;
  const Expr values = r.tokens * r.value_heads * r.v_size;
  Census work;
  work[Kind::kMac] = outputs * r.qk_size * (of(needs.q) + of(states));
  work[Kind::kMac] += all * (of(needs.k) + of(added));
  if (needs.q || states) work[Kind::kMul] += outputs;  // the scale
  if (!states) return work;
  const Expr from_second = all - first;  // the first state counts only if it is needed
  if (r.delta) {
    work[Kind::kMac] += all * of(needs.k) + (needs.state || decay ? all : from_second);
    work[Kind::kMul] += values;
    if (beta) work += ElementCost{.add = 1, .mul = 1} * values;
    if (needs.k) work[Kind::kAdd] += r.tokens * r.value_heads * r.qk_size;
  }
  if (r.gated) work[Kind::kMul] += needs.state ? all : from_second;
  if (decay) {
    work += ElementCost{.add = 1, .mul = 1} * all;
    work[Kind::kMul] += r.decays;  // of the exponential
  }
  // A state is read, decayed and corrected: the gradients of all uses are added.
  work[Kind::kAdd] += from_second;
  if (r.delta) work[Kind::kAdd] += needs.state || decay ? all : from_second;
  return work;
}

absl::StatusOr<ElementCost> ActivationGradient(absl::string_view name) {
  for (const NamedCost& activation : kActivationGradients) {
    if (absl::EqualsIgnoreCase(activation.name, name)) return activation.cost;
  }
  for (const OpDef& row : kActivationFamily.rows) {
    if (!absl::EqualsIgnoreCase(row.name, name)) continue;
    const Gradient& gradient = row.gradient;
    const bool varies = gradient.rule != nullptr || gradient.costs != nullptr;
    if (gradient.formula != nullptr && !varies) return gradient.first;
  }
  return absl::UnimplementedError(
      absl::StrCat("the gradient of the activation '", name, "' is not known"));
}

Census RmsNormWork(const Expr& rows, const Expr& elements) {
  Census work = ElementCost{.add = 1, .div = 1, .sqrt = 1} * rows;
  work += ElementCost{.add = 1, .mul = 2, .div = 1} * elements;
  return work;
}

Census SinkWork(const Expr& rows) { return ElementCost{.add = 2, .cmp = 1, .exp = 1} * rows; }

}  // namespace onnxflops
