// The decoder of Segment Anything, which makes masks of an image's features. SAM 2 has it as well.
#ifndef ONNXFLOPS_SRC_FAMILY_SAM_H_
#define ONNXFLOPS_SRC_FAMILY_SAM_H_

#include <cstdint>
#include <string>

#include "src/family/blocks.h"
#include "src/family/config.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

struct SamHead {
  int64_t hidden, inner, layers, heads, rate, masks, iou_depth, iou_inner;
  std::string activation;
  int64_t mask_channels, points;  // of prompts
  bool tied;                      // both tables of frequencies are one
  int64_t side, features;         // of the tower's image, and of positions
  bool second = false;            // SAM 2
};

// Of an image of side x side places with so many features.
SamHead ReadSam2Head(const Config& config, int64_t side, int64_t features);
// Where each place of the image is: [side * side, hidden].
Tensor BuildSam2Places(GraphBuilder* b, const SamHead& head);
// Masks of an image [batch, hidden, side, side] and of those of twice and four times the sides.
void BuildSam2Head(GraphBuilder* b, const SamHead& head, const Tensor& places, const Tensor& image,
                   const Tensor& twice, const Tensor& four);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_SAM_H_
