// SigLIP's image tower, of which Gemma 3 uses the tokens.
#ifndef ONNXFLOPS_SRC_FAMILY_SIGLIP_H_
#define ONNXFLOPS_SRC_FAMILY_SIGLIP_H_

#include "src/family/blocks.h"
#include "src/family/config.h"

namespace onnxflops::family {

struct SiglipVision {
  ImageShape image;
  EncoderShape encoder;
  bool pooled = true;  // a head makes one vector of the tokens
};
SiglipVision ReadSiglipVisionTower(const Config& config);
// Adds to the current module: [batch, patches, hidden]. The head runs as well.
Tensor BuildSiglipVisionTower(GraphBuilder* b, const Tensor& pixels, const SiglipVision& shape);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_SIGLIP_H_
