// Softmax and LogSoftmax, in the stable form: the maximum of a row is subtracted first.
//
// From opset 13 on, a row runs along `axis`; before, X is a matrix whose rows hold all dimensions
// from `axis` (1) on.
#include <utility>

#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// The axis attribute; -1 by default from opset 13 on, 1 before, where opset 1 also allows the rank:
// rows of one element.
absl::StatusOr<int> SoftmaxAxis(const NodeView& n, int rank) {
  if (n.version() >= 13) return n.AxisAttr("axis", -1, rank);
  if (n.version() == 1 && n.Int("axis", 1) == rank) return rank;
  return n.AxisAttr("axis", 1, rank);
}

absl::StatusOr<Facts> InferSoftmax(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  RETURN_IF_ERROR(SoftmaxAxis(n, x.rank()).status());
  return Facts{n.Like(0, std::move(x))};
}

constexpr OpDef kSoftmaxRows[] = {
    // Per element: maximum, difference, exponential, sum and difference; per row, a logarithm.
    {.name = "LogSoftmax",
     .versions = {1, 11, 13},
     .formula = "output = input - max - ln(sum of e^(input - max)) by rows",
     .data = {.signature = "input -> output",
              .attributes = "axis = 1",
              .let = "given = if(attr.axis.given, attr.axis, if(version < 13, 1, -1)); axis = "
                     "if(given < 0, given + input.rank, given); rows = input[:axis]*if(version < "
                     "13, 1, input[axis + 1:])",
              .costs =
                  "cmp = input.elements; exp = input.elements; add = 3*input.elements; log = rows"},
     .infer = InferSoftmax,
     .examples = {{"float[N,6,4] X -> float[N,6,4] Y <axis = 1>",
                   "add=72*N cmp=24*N exp=24*N log=4*N"},
                  {"float[N,6,4] X -> float[N,6,4] Y <axis = 1>",
                   "add=72*N cmp=24*N exp=24*N log=N", 11}},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY - e^Y * sum of dY",
                  .first = {.add = 2, .mul = 1, .exp = 1},
                  .keeps = {.outputs = InputBits({0})}}},
    {.name = "Softmax",
     .versions = {1, 11, 13},
     .formula = "Y = e^(X - max) / sum of e^(X - max) by rows",
     .infer = InferSoftmax,
     .count = CountPerInputElement,
     .examples = {{"float[N,heads,7] X -> float[N,heads,7] Y",
                   "add=14*N*heads div=7*N*heads cmp=7*N*heads exp=7*N*heads"},
                  {"float[N,6,4] X -> float[N,6,4] Y", "add=48*N div=24*N cmp=24*N exp=24*N", 1}},
     .per_element = {.add = 2, .div = 1, .cmp = 1, .exp = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = Y * (dY - sum of dY * Y)",
                  .first = {.add = 2, .mul = 2},
                  .weighs_scores = true,
                  .keeps = {.outputs = InputBits({0})}}},
};

}  // namespace

constexpr OpFamily kSoftmaxFamily = {.domain = "", .rows = kSoftmaxRows};

}  // namespace onnxflops
