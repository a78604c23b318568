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
