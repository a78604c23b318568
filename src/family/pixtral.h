// Pixtral's tower: images of any size, of which attention sees the patches of one.
#ifndef ONNXFLOPS_SRC_FAMILY_PIXTRAL_H_
#define ONNXFLOPS_SRC_FAMILY_PIXTRAL_H_

#include <cstdint>
#include <string>

#include "src/family/blocks.h"
#include "src/family/config.h"

namespace onnxflops::family {

struct PixtralVision {
  int64_t channels = 3, patch = 0;
  int64_t hidden = 0, intermediate = 0, layers = 0, heads = 0;
  std::string activation;
};
// `patch`: the default.
PixtralVision ReadPixtralVision(const Config& config, int64_t patch);

struct PixtralTokens {
  Tensor tokens;         // [batch, rows * columns, hidden]
  Tensor rows, columns;  // patches down and across
};
// The input pixel_values, of image_height x image_width, and the tower after `take` layers; all of
// them run. `merge`: patches on a side of what becomes one token.
PixtralTokens BuildPixtralVision(GraphBuilder* b, const PixtralVision& vision, int64_t take,
                                 int64_t merge);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_PIXTRAL_H_
