// The least time that a model takes on a device, in both of the ways that this is asked for: node
// by node, and with element-wise operators fused into what makes their input.
//
//   absl::StatusOr<Roofline> roofline = RooflineOf(*FindDevice("h100-sxm"), Precision::kBf16);
//   Counts counts = Count(inference, causal, *roofline).value();
//   counts.total.amounts.time_bound                     // node by node
//   FusedTimeBound(inference, counts, *roofline)        // fused
//
// Node by node, every operator is a kernel of its own, which reads its inputs from memory and
// writes its outputs. A compiler fuses more, so that a run may take less than that, but not less
// than its arithmetic takes at the peak.
#ifndef ONNXFLOPS_SRC_HARDWARE_ROOFLINE_H_
#define ONNXFLOPS_SRC_HARDWARE_ROOFLINE_H_

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

// Element-wise operators join the kernel that makes an input of theirs of the same size, if that
// kernel can wait for their other inputs. A tensor inside of a kernel is not read, and not written
// unless something outside reads it. Reshape and other views are no kernels. Bodies of control flow
// and functions are fused inside. OutOfRange where a limit is met.
absl::StatusOr<Expr> FusedTimeBound(const Inference& inference, const Counts& counts,
                                    const Roofline& roofline);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_HARDWARE_ROOFLINE_H_
