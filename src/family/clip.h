// The towers of CLIP, which LLaVA and models near CLIP have as well.
#ifndef ONNXFLOPS_SRC_FAMILY_CLIP_H_
#define ONNXFLOPS_SRC_FAMILY_CLIP_H_

#include <cstdint>
#include <vector>

#include "src/family/blocks.h"
#include "src/family/config.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

// Models near CLIP have the same towers with other names.
struct ClipNames {
  const char *prefix, *encoder;  // of classes; the image's encoder
  const char* first_norm;        // a module
  EncoderLayerNames layer;
};

struct ClipVision {
  ImageShape image;
  EncoderShape encoder;
  const ClipNames* names = nullptr;  // nullptr: CLIP's own
};
ClipVision ReadClipVision(const Config& config);
// The input pixel_values.
Tensor PixelValues(GraphBuilder* b, const ImageShape& image);

struct ClipVisionOutput {
  Tensor tokens;               // after layer `take`; the first is the class token
  Tensor pooled;               // the class token after all layers and the last norm
  std::vector<Tensor> states;  // after each layer
};
// Adds to the current module. `take`: layers from the start; all of them run.
ClipVisionOutput BuildClipVision(GraphBuilder* b, const Tensor& pixels, const ClipVision& shape,
                                 int64_t take);

struct ClipText {
  int64_t vocab, positions;
  EncoderShape encoder;
  const ClipNames* names = nullptr;
};
ClipText ReadClipText(const Config& config);
// The token at the end of each text: [batch, hidden].
Tensor BuildClipTextTower(GraphBuilder* b, const Tensor& ids, const ClipText& text);

// scale * a b' of two normalized embeddings, and in other models plus a bias.
void ContrastiveHead(GraphBuilder* b, const Tensor& image, const Tensor& text, int64_t width,
                     const std::vector<int64_t>& scale_shape, bool bias);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_CLIP_H_
