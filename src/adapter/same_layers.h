// Whether a graph that was fitted to images of another size is what an export at that size gives.
//
// Nodes are compared one by one, with the sizes that they had in the export. What depends on the
// image and what does not must be plain from these; an operator that may have taken a number from
// the size of the traced image (a window of an adaptive pooling, a crop, padding as TensorFlow's
// "same", positions of a roll) is refused unless both readings give the same sizes.
#ifndef ONNXFLOPS_SRC_ADAPTER_SAME_LAYERS_H_
#define ONNXFLOPS_SRC_ADAPTER_SAME_LAYERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"

namespace onnxflops::adapter {

enum class Padding : bool { kLeftOut, kChecked };

// `at_size`: of a copy of the exported model with the same nodes. `image`: an input, for the number
// of its samples. InvalidArgument with the node and the reason. What is assumed is added to
// `warnings`.
absl::Status CheckSameLayers(const Inference& exported, const Inference& at_size, ValueId image,
                             Padding padding, std::vector<std::string>* warnings);

}  // namespace onnxflops::adapter

#endif  // ONNXFLOPS_SRC_ADAPTER_SAME_LAYERS_H_
