// Contents that one rule gives for all elements (Fact::rule), of tensors that are not small. A list
// of a small tensor whose elements follow a rule is one, too, so that both meet in one arithmetic.
#ifndef ONNXFLOPS_OPS_ELEMENT_RULE_H_
#define ONNXFLOPS_OPS_ELEMENT_RULE_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ops/op_def.h"

namespace onnxflops {

// The rule of a tensor: the one it has, or that of a list whose elements are equal or progress in
// equal steps along each axis. nullopt where there is none.
std::optional<Scalar> RuleOf(const Fact& fact);
// Whether a rule gives other elements at other places; and at other places on this axis.
bool DependsOnPlace(const Scalar& rule);
bool DependsOnPlace(const Scalar& rule, int axis);
// The value of all elements, if it is one for all.
std::optional<Scalar> ConstantElement(const Fact& fact);

// A number as an element of a tensor of this type: what is a formula for a rule may be a fraction
// at a place.
Scalar ElementIn(const Scalar& element, DType type);
// The element at a place; where the index on each axis is an expression, a rule again.
Scalar ElementOfRule(const Scalar& rule, absl::Span<const Expr> index);
// `fact`, of which type and shape are set, gets the content that the rule gives: as a list if it is
// of kMaxListOfRule elements at most. Left alone by a rule that is unknown or too large.
void SetRule(const Scalar& rule, Fact* fact);

// What `evaluate` makes of the rules of all inputs, broadcast to the shape of `result`.
void EvaluateRules(absl::Span<const Fact* const> inputs, EvaluateFn evaluate, Fact* result);

// Where the elements of a moved tensor come from: on one axis of the source the index is
// first + step * (the index on `axis` of the result), or just first.
struct AxisSource {
  static constexpr int kNone = -1;     // the same index for the whole result
  static constexpr int kUnknown = -2;  // nothing is known of the index
  int axis = kNone;
  Expr first = 0;
  Expr step = 1;
};
// The content of `to`, of which type and shape are set, from that of `from`: a source per axis.
void FollowAxes(const Fact& from, absl::Span<const AxisSource> sources, Fact* to);

// The indices of the elements of a tensor of shape `from`, in terms of the indices of the same
// elements, in the same order, in the shape `to`. nullopt on axes where that is not known.
std::vector<std::optional<Expr>> IndicesInOrder(const Shape& from, const Shape& to);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_ELEMENT_RULE_H_
