// What the parts of fused operators cost.
#include "ops/parts.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace onnxflops {

namespace {

struct NamedCost {
  absl::string_view name;
  ElementCost cost;
};

constexpr NamedCost kActivations[] = {
    {"", {}},
    {"none", {}},
    {"identity", {}},
    {"Affine", {.add = 1, .mul = 1}},
    {"Clip", {.cmp = 2}},
    {"Elu", {.add = 1, .mul = 1, .cmp = 1, .exp = 1}},
    {"FastGelu", kGeluTanhCost},
    {"Gelu", kGeluCost},
    {"HardSigmoid", {.add = 1, .mul = 1, .cmp = 2}},
    {"HardSwish", {.add = 1, .mul = 2, .cmp = 2}},
    {"LeakyRelu", {.mul = 1, .cmp = 1}},
    {"QuickGelu", {.add = 1, .mul = 2, .div = 1, .exp = 1}},
    {"Relu", kReluCost},
    {"ScaledTanh", {.mul = 2, .tanh = 1}},
    {"Sigmoid", kSigmoidCost},
    {"silu", kSiluCost},
    {"Softmax", kSoftmaxCost},
    {"Softplus", kSoftplusCost},
    {"Softsign", {.add = 1, .div = 1}},
    {"swish", kSiluCost},
    {"Tanh", {.tanh = 1}},
    {"ThresholdedRelu", {.cmp = 1}},
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
  return absl::UnimplementedError(absl::StrCat("the activation '", name, "' is not known"));
}

Census LayerNormWork(const Expr& rows, const Expr& elements, bool bias) {
  // Per row: two means, the square of the mean, the variance, epsilon and the square root.
  Census work = ElementCost{.add = 2, .mul = 1, .div = 2, .sqrt = 1} * rows;
  // Per element: two sums, a square, the deviation, its quotient and the scale.
  work += ElementCost{.add = bias ? 4 : 3, .mul = 2, .div = 1} * elements;
  return work;
}

Census RmsNormWork(const Expr& rows, const Expr& elements, bool scale) {
  Census work = ElementCost{.add = 1, .div = 1, .sqrt = 1} * rows;
  work += ElementCost{.add = 1, .mul = scale ? 2 : 1, .div = 1} * elements;
  return work;
}

Census SinkWork(const Expr& rows) { return ElementCost{.add = 2, .cmp = 1, .exp = 1} * rows; }

}  // namespace onnxflops
