// The image tower of CLIP, as used inside LLaVA.
#ifndef ONNXFLOPS_SRC_FAMILY_CLIP_H_
#define ONNXFLOPS_SRC_FAMILY_CLIP_H_

#include <cstdint>

#include "src/family/blocks.h"
#include "src/family/config.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

struct ClipVision {
  ImageShape image;
  EncoderShape encoder;
};
ClipVision ReadClipVision(const Config& config);
// The input pixel_values.
Tensor PixelValues(GraphBuilder* b, const ImageShape& image);

struct ClipVisionOutput {
  Tensor tokens;  // after layer `take`; the first is the class token
  Tensor pooled;  // the class token after all layers and the last norm
};
// Adds to the current module. `take`: layers from the start; all of them run.
ClipVisionOutput BuildClipVision(GraphBuilder* b, const Tensor& pixels, const ClipVision& shape,
                                 int64_t take);

// scale * a b' of two normalized embeddings, and in other models plus a bias.
void ContrastiveHead(GraphBuilder* b, const Tensor& image, const Tensor& text, int64_t width,
                     const std::vector<int64_t>& scale_shape, bool bias);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_CLIP_H_
