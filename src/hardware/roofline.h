// The least time that a model takes on a device, and two estimates of what it takes.
//
//   absl::StatusOr<Roofline> roofline = RooflineOf(*FindDevice("h100-sxm"), Precision::kBf16);
//   Counts counts = Count(inference, causal, *roofline).value();
//   Expr bytes = CompulsoryBytes(inference, counts, Precision::kBf16);
//   Expr arithmetic = LeastArithmeticTime(inference, counts).value();
//   Max(arithmetic, roofline->MemoryTime(bytes))                        // the bound, uncached
//   counts.total.amounts.time_estimate                                  // node by node
//   FusedTimeEstimate(inference, counts, *roofline)                     // fused
//
// The bound is what no machine of that kind can beat: the multiply-accumulates that no program can
// leave out, at its peak, and what has to go through its memory whatever is fused, but for what a
// cache may keep from the run before. The estimates assume that tensors between kernels go to
// memory and back. A cache may hold them, so that a run may take less.
#ifndef ONNXFLOPS_SRC_HARDWARE_ROOFLINE_H_
#define ONNXFLOPS_SRC_HARDWARE_ROOFLINE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "src/cost/roofline.h"
#include "src/count/count.h"
#include "src/hardware/device.h"
#include "src/infer/infer.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// FailedPrecondition where the device has no peak in this precision, with the nearest that it has,
// or no bandwidth.
absl::StatusOr<Roofline> RooflineOf(const Device& device, Precision precision);

// What a run of the main graph has to move, once each: inputs, parameters and outputs that a node
// of the graph itself reads or writes whole. Floating-point tensors count in the narrower of their
// type and `precision`. Where it is not certain that a tensor is moved, it is left out: tables that
// rows are looked up in, what only bodies or functions read, sizes that are not known.
Expr CompulsoryBytes(const Inference& inference, const Counts& counts, Precision precision);

// The same by what is moved. `kept`: outputs that are somewhere else already, as those of a cache
// that a server appends to in its place; of these nothing is in it. Without a precision, tensors
// count in their own types.
struct Traffic {
  Expr parameters, inputs, outputs;
};
Traffic LeastTraffic(const Inference& inference, const Counts& counts,
                     std::optional<Precision> precision, const std::vector<ValueId>& kept);

// The sum of Amounts::time_bound over the nodes of a run that count once and whose outputs
// something reads. Of an If whose condition is open it takes the branch of less. OutOfRange where a
// limit is met.
absl::StatusOr<Expr> LeastArithmeticTime(const Inference& inference, const Counts& counts);

// Element-wise operators join the kernel that makes an input of theirs of the same size, if that
// kernel can wait for their other inputs. A kernel reads each tensor once, does not read what it
// makes, and writes only what something outside reads. Reshape, other views and DequantizeLinear
// are no kernels. Bodies of control flow and functions are fused inside. OutOfRange where a limit
// is met.
absl::StatusOr<Expr> FusedTimeEstimate(const Inference& inference, const Counts& counts,
                                       const Roofline& roofline);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_HARDWARE_ROOFLINE_H_
