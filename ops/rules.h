// Shape and cost rules that several families share. A rule of one family only belongs into that
// family's file.
#ifndef ONNXFLOPS_OPS_RULES_H_
#define ONNXFLOPS_OPS_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/op_def.h"

namespace onnxflops {

// ---- shape rules
// Output 0 has input 0's type and shape. Facts of quantisation origin are not kept: the values
// change.
absl::StatusOr<Facts> InferSameAsInput(const NodeView& n);
// Output 0 is input 0, moved (Identity, Dropout at inference): content, elements of sequences and
// quantisation origin stay.
absl::StatusOr<Facts> InferMoved(const NodeView& n);
// All inputs broadcast together (NumPy rules; before opset 7 the `broadcast` and `axis`
// attributes); element type of input 0. Evaluates contents with def().evaluate.
absl::StatusOr<Facts> InferBroadcast(const NodeView& n);
// The same with boolean output: comparisons.
absl::StatusOr<Facts> InferBroadcastBool(const NodeView& n);
// Output 0 has input 0's shape; contents through def().evaluate.
absl::StatusOr<Facts> InferUnary(const NodeView& n);
// The same with boolean output: IsNaN, IsInf.
absl::StatusOr<Facts> InferUnaryBool(const NodeView& n);

// NumPy broadcasting of shapes. InvalidArgument: "shapes [2, 3] and [4] do not broadcast: 3 vs 4".
absl::StatusOr<Shape> BroadcastShapes(absl::Span<const Shape> shapes);
// How often the gradient of a broadcast input adds up an element of output 0: 1 where an axis is
// broadcast, else 0. An axis whose size may be 1 gives min(batch - 1, 1).
Expr TimesSummed(const Shape& from, const Shape& to);
// The element type that an integer attribute (Cast's `to`, `dtype`) names; `otherwise` when it is
// missing. InvalidArgument for a number that is no type.
absl::StatusOr<DType> DTypeAttr(const NodeView& n, absl::string_view name, DType otherwise);

// ---- contents
// How many elements a tensor of this type and shape has, if so few that its content is followed:
// all dimensions literal and kMaxIntContent, or kMaxFloatContent, not exceeded.
std::optional<int64_t> ContentSize(DType type, const Shape& shape);
// The value as an element of `type`: floating point rounded to nearest even, fractions cut off
// towards zero for integers, integers wrapped around, bool 0 or 1. kUnknown where the result is not
// certain. A symbolic integer stays as it is in float32 and float64 (sizes are far below 2^24).
Scalar InType(const Scalar& value, DType type);
// Sets the content unless nothing in it is known. REQUIRES: as many elements as ContentSize says.
void SetContent(Content content, Fact* fact);
// The content of `result` from the contents of all `inputs`, element by element, broadcast. Left
// alone when an input has none or the result is too large.
void EvaluateBroadcast(absl::Span<const Fact* const> inputs, EvaluateFn evaluate, Fact* result);

// ---- cost rules
// What the node's row says that it costs, by its function or its formulas.
absl::StatusOr<Cost> CountNode(const NodeView& n);
// For OpDef::least: every multiply-accumulate may be one that can be left out.
absl::StatusOr<Cost> NoMacs(const NodeView& n);
// The types of two inputs, as MacOperandsFn.
template <int kA, int kB>
MacOperands TypesOf(const NodeView& n) {
  return {.a = n.dtype(kA), .b = n.dtype(kB)};
}
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
