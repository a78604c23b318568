// Shape and cost rules that several families share. A rule of one family only belongs into that
// family's file.
#ifndef ONNXFLOPS_OPS_RULES_H_
#define ONNXFLOPS_OPS_RULES_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/op_def.h"

namespace onnxflops {

// ---- shape rules
// Output 0 has input 0's type and shape. Facts of quantisation origin are not kept: the values
// change.
absl::StatusOr<Facts> InferSameAsInput(const NodeView& n);
// The same, for moved data (Identity, Dropout at inference).
absl::StatusOr<Facts> InferMoved(const NodeView& n);
// All inputs broadcast together (NumPy rules; before opset 7 the `broadcast` and `axis`
// attributes); element type of input 0. Evaluates contents with def().evaluate.
absl::StatusOr<Facts> InferBroadcast(const NodeView& n);
// The same with boolean output: comparisons.
absl::StatusOr<Facts> InferBroadcastBool(const NodeView& n);
// Output 0 has input 0's shape; contents through def().evaluate.
absl::StatusOr<Facts> InferUnary(const NodeView& n);

// NumPy broadcasting of shapes. InvalidArgument: "shapes [2, 3] and [4] do not broadcast: 3 vs 4".
absl::StatusOr<Shape> BroadcastShapes(absl::Span<const Shape> shapes);

// ---- cost rules
// def().per_element times the elements of output 0: FLOPs if input 0 is floating point, integer
// operations if not.
absl::StatusOr<Cost> CountPerOutputElement(const NodeView& n);
// def().per_element times the elements of input 0.
absl::StatusOr<Cost> CountPerInputElement(const NodeView& n);

// The census `work` filed under the arithmetic of `type`: flops for floating point, int_ops for the
// rest. Complex arithmetic: a complex mul is 4 mul + 2 add, a complex add 2 add, a complex mac 4
// mac; others doubled (stated by the rows that use it).
Cost CostIn(DType type, Census work);

// Size in bytes of a tensor fact: sub-byte types rounded up; 0 for strings. FailedPrecondition for
// unknown rank.
absl::StatusOr<Expr> BytesOf(const Fact& fact);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_RULES_H_
