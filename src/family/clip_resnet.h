// CLIP's ResNets: three convolutions at the start, average pooling instead of strides, and
// attention at the end.
#ifndef ONNXFLOPS_SRC_FAMILY_CLIP_RESNET_H_
#define ONNXFLOPS_SRC_FAMILY_CLIP_RESNET_H_

#include <cstdint>
#include <vector>

#include "src/family/config.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

struct ClipResnetShape {
  std::vector<int64_t> layers;  // of the four stages
  int64_t width = 0, heads = 0, image = 0;
};

// Reads open_clip's vision_cfg, whose "layers" is a list.
ClipResnetShape ReadClipResnet(const Config& config);
// [batch, 3, image, image] -> [batch, out], in the modules that are open.
Tensor BuildClipResnet(GraphBuilder* b, const Tensor& pixels, const ClipResnetShape& shape,
                       int64_t out);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_CLIP_RESNET_H_
