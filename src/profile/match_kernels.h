// Which node of a graph each kernel of a profile is: by its name, in the main graph or in the body
// that runs it.
#ifndef ONNXFLOPS_SRC_PROFILE_MATCH_KERNELS_H_
#define ONNXFLOPS_SRC_PROFILE_MATCH_KERNELS_H_

#include <vector>

#include "src/graph/model.h"
#include "src/profile/measured.h"

namespace onnxflops::profile {

// By kernel: its nodes in the order of its name; empty if the graph has none. TensorRT and OpenVINO
// name several. ONNX Runtime calls a node without a name OP_<index>, where the index is its place
// among the nodes that are not constants; the order of the indices identifies the node.
std::vector<std::vector<NodeId>> MatchKernels(const ModelData& model, const Profile& profile);

// The bodies of a node, in the order of its attributes; no more than any operator has.
std::vector<GraphId> BodiesOf(const Node& node);

}  // namespace onnxflops::profile

#endif  // ONNXFLOPS_SRC_PROFILE_MATCH_KERNELS_H_
