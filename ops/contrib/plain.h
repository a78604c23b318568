// A fused, quantised or channels-last operator as the plain operator of ai.onnx that is inside of
// it: its shape and cost rules, on other facts.
//
//   // FusedConv: a Conv, then an activation.
//   ASSIGN_OR_RETURN(Cost cost, CountAs(n, "Conv", {n.input(0), n.input(1), n.input(2)}, {y}));
#ifndef ONNXFLOPS_OPS_CONTRIB_PLAIN_H_
#define ONNXFLOPS_OPS_CONTRIB_PLAIN_H_

#include <limits>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/op_def.h"
#include "src/base/limits.h"

namespace onnxflops {

// The facts of outputs of the node's attributes and these inputs, as ai.onnx's `op_type` at `opset`
// has them.
absl::StatusOr<Facts> InferAs(const NodeView& n, absl::string_view op_type,
                              absl::Span<const Fact> inputs, int opset = kMaxOpset);
// And its cost.
absl::StatusOr<Cost> CountAs(const NodeView& n, absl::string_view op_type,
                             absl::Span<const Fact> inputs, absl::Span<const Fact> outputs,
                             int opset = kMaxOpset);
// And what it has for OpDef::least.
absl::StatusOr<Cost> LeastAs(const NodeView& n, absl::string_view op_type,
                             absl::Span<const Fact> inputs, absl::Span<const Fact> outputs,
                             int opset = kMaxOpset);

// Output 0 of input 0 by the rule of ai.onnx's `op_type`, with the channels last if so.
absl::StatusOr<Facts> InferImageAs(const NodeView& n, absl::string_view op_type,
                                   bool channels_last = false);

// All outputs of the node, and its inputs, or so many of them.
Facts InputsOf(const NodeView& n, int at_most = std::numeric_limits<int>::max());
Facts OutputsOf(const NodeView& n);

// A tensor [N, i1, i2.., C] as [N, C, i1, i2..], and back. Others are left alone, as are tensors of
// rank below 3.
Fact ChannelsFirst(const Fact& fact);
Fact ChannelsLast(const Fact& fact);
// The same of a fact if `channels_last`.
inline Fact ChannelsFirstIf(bool channels_last, const Fact& fact) {
  return channels_last ? ChannelsFirst(fact) : fact;
}
inline Fact ChannelsLastIf(bool channels_last, const Fact& fact) {
  return channels_last ? ChannelsLast(fact) : fact;
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_CONTRIB_PLAIN_H_
