// The order in which onnx-tool runs nodes, and the nodes that it never runs.
#ifndef ONNXFLOPS_SRC_CONVENTION_ONNX_ONNX_TOOL_ORDER_H_
#define ONNXFLOPS_SRC_CONVENTION_ONNX_ONNX_TOOL_ORDER_H_

#include <vector>

#include "src/convention/evidence.h"

namespace onnxflops::convention {

// graph.py:903: a node runs once all names that it waits for exist. All omitted outputs and inputs
// share the empty name. So a GRU without its first output and without lengths of sequences waits
// for itself: it never runs, nor do later nodes, and the tool reports nothing.
struct OnnxToolOrder {
  std::vector<EntryId> run;  // in the order of the file
  // Several outputs are omitted, and the tool counts each as awaited: nodes with an omitted input
  // may run too early, or never.
  bool is_unsure = false;
};
OnnxToolOrder OrderOfOnnxTool(const Evidence& evidence, const std::vector<EntryId>& nodes);

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_ONNX_ONNX_TOOL_ORDER_H_
