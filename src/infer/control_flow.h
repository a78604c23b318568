// If, Loop, Scan and SequenceMap: which bodies run on which inputs, how often, and the results.
#ifndef ONNXFLOPS_SRC_INFER_CONTROL_FLOW_H_
#define ONNXFLOPS_SRC_INFER_CONTROL_FLOW_H_

#include "absl/status/statusor.h"
#include "ops/op_def.h"
#include "src/infer/control_node.h"

namespace onnxflops::infer {

// Facts of the node's outputs. The runs that count are in its Call then.
absl::StatusOr<Facts> InferControlFlow(const ControlNode& node);

// loop.cc and scan.cc, for InferControlFlow.
absl::StatusOr<Facts> InferLoop(const ControlNode& node);
absl::StatusOr<Facts> InferScan(const ControlNode& node);

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_CONTROL_FLOW_H_
