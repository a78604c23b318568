// Which nodes of a model an optimised graph of it computes together: both have some tensors in
// common, and what lies between such tensors in one graph is what lies between them in the other.
#ifndef ONNXFLOPS_SRC_PROFILE_JOIN_GRAPHS_H_
#define ONNXFLOPS_SRC_PROFILE_JOIN_GRAPHS_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "src/graph/model.h"

namespace onnxflops::profile {

// Nodes of the optimised graph, and those of the model that they compute. Each node is in one group
// at most; nodes of the model that were folded or are not needed are in none.
struct JoinedGroup {
  std::vector<NodeId> optimized, original;
};

// Groups by the execution of their last nodes, those of bodies after the groups of the graph
// around them. A tensor of ONNX Runtime's blocked layout, whose node is called X_nchwc, is X.
// `has_macs`: whether a node of the model multiplies matrices. Such a node begins a group: it is
// never taken for what a kernel does after its own product.
std::vector<JoinedGroup> JoinGraphs(const ModelData& original, const ModelData& optimized,
                                    absl::FunctionRef<bool(NodeId)> has_macs);

}  // namespace onnxflops::profile

#endif  // ONNXFLOPS_SRC_PROFILE_JOIN_GRAPHS_H_
