// The size of images.
#ifndef ONNXFLOPS_SRC_GRAPH_IMAGE_SIZE_H_
#define ONNXFLOPS_SRC_GRAPH_IMAGE_SIZE_H_

#include <cstdint>

namespace onnxflops {

struct ImageSize {
  int64_t height = 0, width = 0;  // pixels
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_GRAPH_IMAGE_SIZE_H_
