// One step of an optimizer: domain ai.onnx.preview.training.
//
// The inputs are the rate R, the step number T, then all X, all their gradients G, and the
// accumulated values of each. The arithmetic is the pseudo code of the specification, constant
// factors such as 1 - alpha taken as given.
//
// How it works. The number of tensors is the number of the other inputs divided by the number of
// lists. Outputs are the lists without the gradients, each with the sizes of its input. The cost is
// that per element times all elements, and once per step the rate, with the test whether T is 0
// where the pseudo code has it.
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/choice.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

constexpr int kFirstTensor = 2;  // after R and T

// How many tensors are optimized: the inputs are `groups` lists of that many.
absl::StatusOr<int> OptimizedTensors(const NodeView& n, int groups) {
  const int tensors = n.num_inputs() - kFirstTensor;
  if (tensors < groups || tensors % groups != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(tensors, " tensors are not ", groups, " lists of equal length"));
  }
  return tensors / groups;
}

// The sizes of an input of a list, which are those of its X.
absl::StatusOr<Shape> ShapeInList(const NodeView& n, int input, const Shape& x) {
  ASSIGN_OR_RETURN(Shape shape, n.RankedShape(input, x.rank()));
  for (int axis = 0; axis < x.rank(); ++axis) {
    RETURN_IF_ERROR(n.RequireSame(absl::StrCat("dimension ", axis, " of X and input ", input),
                                  x[axis], shape[axis]));
  }
  return shape;
}

// The new X and the new accumulated values; gradients, the second list, have no output.
absl::StatusOr<Facts> InferStep(const NodeView& n, int groups) {
  ASSIGN_OR_RETURN(const int count, OptimizedTensors(n, groups));
  Facts facts;
  for (int group = 0; group < groups; ++group) {
    for (int i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(const Shape x, n.RankedShape(kFirstTensor + i));
      const int input = kFirstTensor + group * count + i;
      ASSIGN_OR_RETURN(Shape shape, ShapeInList(n, input, x));
      if (group != 1) facts.push_back(n.Like(input, std::move(shape)));
    }
  }
  return facts;
}

absl::StatusOr<Cost> CountStep(const NodeView& n, int groups, const ElementCost& per_element,
                               const ElementCost& per_step) {
  ASSIGN_OR_RETURN(const int count, OptimizedTensors(n, groups));
  Expr elements = 0;
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const Shape x, n.RankedShape(kFirstTensor + i));
    elements += x.NumElements();
  }
  Census work = per_element * elements;
  work += per_step * 1;
  return CostIn(n.dtype(kFirstTensor), std::move(work));
}

// The same, and the test whether the step number T, an integer, is 0.
absl::StatusOr<Cost> CountStepWithTest(const NodeView& n, int groups,
                                       const ElementCost& per_element,
                                       const ElementCost& per_step) {
  ASSIGN_OR_RETURN(Cost cost, CountStep(n, groups, per_element, per_step));
  cost.int_ops[Kind::kCmp] += 1;
  return cost;
}

// Adagrad: r = R / (1 + T * decay);  g = norm * X + G;  H' = H + g * g;
// X' = X - r * g / (sqrt(H') + epsilon).
absl::StatusOr<Facts> InferAdagrad(const NodeView& n) { return InferStep(n, 3); }

// Adam: g = norm * X + G;  V' = alpha * V + (1 - alpha) * g;  H' = beta * H + (1 - beta) * g * g;
// r = R * sqrt(1 - beta^T) / (1 - alpha^T);  X' = (1 - norm_post) * (X - r * V' / (sqrt(H') +
// epsilon)).
constexpr ElementCost kAdamElement = {.add = 5, .mul = 8, .div = 1, .sqrt = 1};
constexpr ElementCost kAdamStep = {.add = 2, .mul = 1, .div = 1, .sqrt = 1, .pow = 2};

absl::StatusOr<Facts> InferAdam(const NodeView& n) { return InferStep(n, 4); }
absl::StatusOr<Cost> CountAdam(const NodeView& n) {
  return CountStepWithTest(n, 4, kAdamElement, kAdamStep);
}

// Momentum: g = norm * X + G;  V' = alpha * V + beta * g;  X' = X - R * V', or with Nesterov's
// X - R * (g + alpha * V').
constexpr ElementCost kMomentumElement = {.add = 3, .mul = 4};
constexpr ElementCost kNesterovElement = {.add = 4, .mul = 5};

absl::StatusOr<Facts> InferMomentum(const NodeView& n) { return InferStep(n, 3); }
absl::StatusOr<Cost> CountMomentum(const NodeView& n) {
  ASSIGN_OR_RETURN(const absl::string_view mode,
                   ChoiceAttr(n, "mode", "standard", {"standard", "nesterov"}));
  const bool nesterov = mode == "nesterov";
  return CountStepWithTest(n, 3, nesterov ? kNesterovElement : kMomentumElement, {});
}

// Gradient: of y with respect to each of xs, at the inputs' values.
absl::StatusOr<Facts> InferGradient(const NodeView& n) {
  const auto count = static_cast<int>(n.Strings("xs").size());
  if (count > n.num_inputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("xs names ", count, " tensors of ", n.num_inputs(), " inputs"));
  }
  Facts facts;
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(Shape shape, n.RankedShape(i));
    facts.push_back(n.Like(i, std::move(shape)));
  }
  return facts;
}

constexpr OpDef kTrainingRows[] = {
    {.name = "Adagrad",
     .versions = {1},
     .formula = "X_new = X - r g / (sqrt(H_new) + epsilon), H_new = H + g^2, g = G + "
                "norm_coefficient * X, r = R / (1 + T * decay_factor)",
     .data = {.signature = "R T[] tensors... -> X_new H_new",
              .let = "X = tensors.elements // 3",
              .costs =
                  "float_add = 4*X + 1; float_mul = 3*X + 1; float_div = X + 1; float_sqrt = X"},
     .infer = InferAdagrad,
     .examples = {{"float R, int64 T, float[N,5] X, float[N,5] G, float[N,5] H -> float[N,5] Y, "
                   "float[N,5] K",
                   "add=20*N + 1 mul=15*N + 1 div=5*N + 1 sqrt=5*N"}}},
    {.name = "Adam",
     .versions = {1},
     .formula = "per element of X: add=5 mul=8 div=1 sqrt=1; per step: add=2 mul=1 div=1 sqrt=1 "
                "pow=2 int_cmp=1",
     .infer = InferAdam,
     .count = CountAdam,
     .examples = {{"float R, int64 T, float[N] X1, float[7] X2, float[N] G1, float[7] G2, float[N] "
                   "V1, float[7] V2, float[N] H1, float[7] H2 -> float[N] Y1, float[7] Y2, "
                   "float[N] A1, float[7] A2, float[N] B1, float[7] B2",
                   "add=5*N + 37 mul=8*N + 57 div=N + 8 sqrt=N + 8 pow=2 int_cmp=1"}}},
    {.name = "Momentum",
     .versions = {1},
     .formula = "per element of X: add=3 mul=4 (nesterov: add=4 mul=5); per step: int_cmp=1",
     .infer = InferMomentum,
     .count = CountMomentum,
     .examples = {{"float R, int64 T, float[N] X, float[N] G, float[N] V -> float[N] Y, float[N] W "
                   "<mode=\"standard\", alpha=0.9, beta=1.0, norm_coefficient=0.1>",
                   "add=3*N mul=4*N int_cmp=1"},
                  {"double R, int64 T, double[N] X, double[N] G, double[N] V -> double[N] Y, "
                   "double[N] W <mode=\"nesterov\", alpha=0.9, beta=1.0, norm_coefficient=0.1>",
                   "add=4*N mul=5*N int_cmp=1"}}},
    {.name = "Gradient",
     .versions = {1},
     .formula = "outputs = dy/dxs, of the shapes of xs",
     .infer = InferGradient,
     .examples = {{"g (float[N] X) => (float[N] D) { Y = Exp(X) D = "
                   "ai.onnx.preview.training.Gradient<xs=[\"X\"], y=\"Y\">(X) }",
                   ""}},
     .traits = Traits::kUnknown,
     .onnx = {.finds = OnnxInference::Finds::kNothing},
     .note = "it differentiates the part of the graph between xs and y, which is not counted"},
};

}  // namespace

constinit const OpFamily kTrainingFamily = {"ai.onnx.preview.training", kTrainingRows};

}  // namespace onnxflops
