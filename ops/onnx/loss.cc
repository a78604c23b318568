// Losses over class scores: input [N, C, d1, ..., dk], target [N, d1, ..., dk], weight [C].
#include <utility>

#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// The target's shape, checked against the input's and the weight's.
absl::StatusOr<Shape> TargetShape(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape input, n.ShapeOfRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(Shape target, n.RankedShape(1, input.rank() - 1));
  for (int i = 0; i < target.rank(); ++i) {
    const Expr& size = input[i == 0 ? 0 : i + 1];
    RETURN_IF_ERROR(n.RequireSame("a dimension of input and target", size, target[i]));
    if (size.is_literal()) target[i] = size;
  }
  if (n.HasInput(2)) {
    ASSIGN_OR_RETURN(Shape weight, n.RankedShape(2, 1));
    RETURN_IF_ERROR(n.RequireSame("C", input[1], weight[0]));
  }
  return target;
}

absl::StatusOr<Facts> InferLoss(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape target, TargetShape(n));
  const bool reduced = n.String("reduction", "mean") != "none";
  // Output 1 of SoftmaxCrossEntropyLoss: the logarithms of the probabilities.
  return Facts{n.Like(0, reduced ? Shape{} : std::move(target)), n.Like(0, n.input(0).shape)};
}

constexpr OpDef kLossRows[] = {
    // Of M target elements: picked scores, negated; times their weights; then their sum, over the
    // sum of the weights for the mean. With ignore_index every target is compared with it, and the
    // weight of an ignored one is 0.
    {.name = "NegativeLogLikelihoodLoss",
     .versions = {12, 13, 22},
     .formula = "loss[m] = -input[m, target[m]] * weight[target[m]]",
     .data = {.signature = "input[N, C, d...] target[N, d...] weight? -> loss",
              .attributes = "reduction = mean|none|...; ignore_index = 0",
              .let = "M = N*d; weighted = max(attr.ignore_index.given, weight.given)",
              .costs = "mul = weighted*M; add = (1 - attr.reduction.none)*M + "
                       "attr.reduction.mean*weighted*M; div = attr.reduction.mean; int_cmp = "
                       "attr.ignore_index.given*M"},
     .infer = InferLoss,
     .examples =
         {{"float[N,5] X, int64[N] t -> float L", "add=N div=1"},
          {"float[N,5,3] X, int64[N,3] t, float[5] w -> float L", "add=6*N mul=3*N div=1"},
          {"float[N,5,3] X, int64[N,3] t -> float[N,3] L <reduction = \"none\", ignore_index = 1>",
           "mul=3*N int_cmp=3*N"}},
     .exceptions = {{"ignore_index is given", "int_add",
                     "the function body makes a zero by subtracting the target from itself"}},
     .gradient = {.formula = "dinput[m, target[m]] = -dloss * weight[target[m]], over the sum of "
                             "weights for the mean",
                  .costs = "mul = weighted*M; div = attr.reduction.mean*M",
                  .keeps = {.inputs = InputBits({0, 1, 2}), .total_weight = true}}},
    {.name = "SoftmaxCrossEntropyLoss",
     .versions = {12, 13},
     .formula = "loss = NegativeLogLikelihoodLoss(LogSoftmax(scores))",
     .data =
         {.signature = "scores[N, C, d...] labels[N, d...] weights? -> loss log_prob?",
          .attributes = "reduction = mean|none|...; ignore_index = 0",
          .let = "M = N*d; weighted = max(attr.ignore_index.given, weights.given)",
          .costs =
              "mul = weighted*M; add = 3*scores.elements + (1 - attr.reduction.none)*M + "
              "attr.reduction.mean*weighted*M; div = attr.reduction.mean; cmp = scores.elements; "
              "exp = scores.elements; log = M; int_cmp = attr.ignore_index.given*M"},
     .infer = InferLoss,
     .examples = {{"float[N,5] X, int64[N] t -> float L", "add=16*N div=1 cmp=5*N exp=5*N log=N"},
                  {"float[N,5,3] X, int64[N,3] t, float[5] w -> float[N,3] L, float[N,5,3] P "
                   "<reduction = \"none\">",
                   "add=45*N mul=3*N cmp=15*N exp=15*N log=3*N"}},
     .note = "With ignore_index: see NegativeLogLikelihoodLoss.",
     .gradient =
         {.formula = "g as of NegativeLogLikelihoodLoss: dscores = g - e^log_prob * sum of g",
          .costs = "mul = weighted*M; div = attr.reduction.mean*M",
          .per_input = {.add = 2, .mul = 1, .exp = 1},
          .keeps = {.inputs = InputBits({1, 2}), .log_probabilities = true, .total_weight = true}}},
};

}  // namespace

constexpr OpFamily kLossFamily = {.domain = "", .rows = kLossRows};

}  // namespace onnxflops
