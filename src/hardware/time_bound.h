// The least time that a model takes on a device, and two estimates of its real time.
//
//   absl::StatusOr<Roofline> roofline = RooflineOf(*FindDevice("h100-sxm"), Precision::kBf16);
//   Counts counts = Count(inference, causal, *roofline).value();
//   Expr bytes = CompulsoryBytes(inference, counts, Precision::kBf16);
//   Expr arithmetic = LeastArithmeticTime(inference, counts).value();
//   Max(arithmetic, roofline->MemoryTime(bytes))                        // the bound, uncached
//   counts.total.amounts.time_estimate                                  // node by node
//   FusedTimeEstimate(inference, counts, *roofline)                     // fused
//
// No program on such a device is faster than the bound: the multiply-accumulates that none can
// skip, at the peak rate, and the bytes that must pass through memory whatever is fused. Only a
// cache that still holds data of the run before can reduce these bytes. The estimates assume that
// tensors between kernels go to memory and back. A cache may hold them, so a run may take less.
#ifndef ONNXFLOPS_SRC_HARDWARE_TIME_BOUND_H_
#define ONNXFLOPS_SRC_HARDWARE_TIME_BOUND_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "src/cost/roofline.h"
#include "src/count/count_model.h"
#include "src/hardware/device.h"
#include "src/infer/infer.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// FailedPrecondition if the device has no bandwidth, or no peak in this precision; the error names
// the nearest one that it has.
absl::StatusOr<Roofline> RooflineOf(const Device& device, Precision precision);

// Bytes that a run of the main graph must move, once each: inputs, parameters and outputs that a
// node of this graph reads or writes completely. Floating-point tensors count in the narrower of
// their type and `precision`. Doubtful tensors are left out: lookup tables, tensors that only
// bodies or functions read, unknown sizes.
Expr CompulsoryBytes(const Inference& inference, const Counts& counts, Precision precision);

// The same by kind of tensor. `kept` are outputs that already exist elsewhere, such as a cache that
// a server appends to in place; they are not counted. Without a precision, tensors count in their
// own types.
struct Traffic {
  Expr parameters, inputs, outputs;
};
Traffic LeastTraffic(const Inference& inference, const Counts& counts,
                     std::optional<Precision> precision, const std::vector<ValueId>& kept);

// The sum of Amounts::time_bound over the nodes of a run, each distinct node once, if something
// reads its outputs. Of an If with an open condition the cheaper branch counts. OutOfRange if a
// limit is exceeded.
absl::StatusOr<Expr> LeastArithmeticTime(const Inference& inference, const Counts& counts);

// An element-wise operator joins the kernel that makes an input of the same size, unless the fused
// graph would become cyclic. A kernel reads each outside tensor once, and writes only tensors that
// are read outside. Reshape, other views and DequantizeLinear are not kernels. Bodies of control
// flow and functions are fused inside. OutOfRange if a limit is exceeded.
absl::StatusOr<Expr> FusedTimeEstimate(const Inference& inference, const Counts& counts,
                                       const Roofline& roofline);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_HARDWARE_TIME_BOUND_H_
