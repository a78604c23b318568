// Finds which nodes of a model an optimised graph of it computes together. Tensors that both graphs
// have cut them into pieces; a piece of the optimised graph stands for the piece of the original
// between the same tensors.
#ifndef ONNXFLOPS_SRC_PROFILE_JOIN_GRAPHS_H_
#define ONNXFLOPS_SRC_PROFILE_JOIN_GRAPHS_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "src/graph/model.h"

namespace onnxflops::profile {

// Nodes of the optimised graph, and the model's nodes that they compute. Each node is in at most
// one group; folded or unneeded nodes of the model are in none.
struct JoinedGroup {
  std::vector<NodeId> optimized, original;
};

// Groups in the order of execution of their last nodes; groups of bodies follow those of the outer
// graph. A tensor in ONNX Runtime's blocked layout, whose node is called X_nchwc, is X. `has_macs`:
// whether a node of the model multiplies matrices. Such a node begins a new group: it is never
// merged into the kernel of an earlier product.
std::vector<JoinedGroup> JoinGraphs(const ModelData& original, const ModelData& optimized,
                                    absl::FunctionRef<bool(NodeId)> has_macs);

}  // namespace onnxflops::profile

#endif  // ONNXFLOPS_SRC_PROFILE_JOIN_GRAPHS_H_
