// Which inputs of a model are images.
#ifndef ONNXFLOPS_SRC_GRAPH_IMAGE_INPUTS_H_
#define ONNXFLOPS_SRC_GRAPH_IMAGE_INPUTS_H_

#include <cstddef>
#include <vector>

#include "src/graph/model.h"

namespace onnxflops {

// The graph inputs that are images: [batch, channels, height, width] or [batch, height, width,
// channels] of floats or bytes, with 1, 3 or 4 channels. `axis` is the axis of the height.
struct ImageInput {
  ValueId value = 0;
  size_t axis = 0;
};
std::vector<ImageInput> ImageInputs(const ModelData& model);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_GRAPH_IMAGE_INPUTS_H_
