// Checks that a graph adjusted to another image size is the graph that an export at that size would
// give.
//
// Nodes are compared one by one, with the sizes that they had in the export. These must show what
// depends on the image and what does not. An operator may hold a number that came from the size of
// the traced image: a window of an adaptive pooling, a crop, TensorFlow's "same" padding, positions
// of a roll. Such an operator is refused unless both readings give the same sizes.
#ifndef ONNXFLOPS_SRC_ADAPTER_SAME_LAYERS_H_
#define ONNXFLOPS_SRC_ADAPTER_SAME_LAYERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"

namespace onnxflops::adapter {

enum class Padding : bool { kLeftOut, kChecked };

// `at_size` is the inference of a copy of the exported model with the same nodes. `image` is the
// input whose first size is the number of samples. InvalidArgument with the node and the reason.
// Assumptions are added to `warnings`.
absl::Status CheckSameLayers(const Inference& exported, const Inference& at_size, ValueId image,
                             Padding padding, std::vector<std::string>* warnings);

}  // namespace onnxflops::adapter

#endif  // ONNXFLOPS_SRC_ADAPTER_SAME_LAYERS_H_
