// Megatron-Bridge's FLOPs of an image tower: vit_flops_from_patch_stats of flop_utils.py.
//
//   3 (D ((8 H^2 + 4 H F) P + 4 H P2) + C M (2 (4 H)^2 + 8 H O)), where 4 is the merged patches
//
// for a training step, forward and backward. A model has it if its config.json has the sizes of the
// tower, and its images a grid of patches.
#ifndef ONNXFLOPS_SRC_CONVENTION_VISION_FORMULA_H_
#define ONNXFLOPS_SRC_CONVENTION_VISION_FORMULA_H_

#include <cstdint>
#include <optional>

#include "src/infer/infer.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

struct VisionFormula {
  int64_t layers = 0, width = 0, inner = 0;
  int64_t merged = 0;  // patches that become a token
  int64_t output = 0;  // width of a token
  int64_t mergers = 1;
  // Of the images of a run: patches, the sum of the squares of those of each frame, and tokens.
  Expr patches, squares, tokens;

  // Its parts, of a training step.
  Expr AttentionOfLayer() const;
  Expr MlpOfLayer() const;
  Expr Merger() const;
};

// The term that leads from a whole model to its tower.
inline constexpr char kRestOfModel[] = "the rest of the model";

// nullopt if the configuration does not tell all of it.
std::optional<VisionFormula> ReadVisionFormula(const Inference& inference);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CONVENTION_VISION_FORMULA_H_
