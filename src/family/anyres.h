// LLaVA-NeXT's rule for images of any size: the resolution of a list that fits best is filled with
// tiles, and what shows the image's margin is left out.
#ifndef ONNXFLOPS_SRC_FAMILY_ANYRES_H_
#define ONNXFLOPS_SRC_FAMILY_ANYRES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/family/blocks.h"

namespace onnxflops::family {

// As metadata of a model, which SizesOfImage() of family.h reads: the side of a tile, its patches
// on a side, and heights and widths: "336 24 336x672 672x336".
std::string AnyResRule(const ImageShape& tile,
                       const std::vector<std::pair<int64_t, int64_t>>& resolutions);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_ANYRES_H_
