// ConvNeXt: convolutions of each feature by itself, and MLPs over the features of each place.
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/image_blocks.h"
#include "src/family/timm.h"

namespace onnxflops::family {
namespace {

constexpr TimmConvnext kConvnexts[] = {
    {"convnext_tiny", {3, 3, 9, 3}, 96},     {"convnext_small", {3, 3, 27, 3}, 96},
    {"convnext_base", {3, 3, 27, 3}, 128},   {"convnext_large", {3, 3, 27, 3}, 192},
    {"convnext_xlarge", {3, 3, 27, 3}, 256}, {"convnext_xxlarge", {3, 4, 30, 3}, 384},
};

Tensor ConvnextBlock(GraphBuilder* b, const Tensor& x, int64_t width) {
  Tensor y = Conv2d(b, x, "conv_dw", {width, width, 7, 1, true, 3, width});
  y = LayerNorm(b, Transpose(b, y, {0, 2, 3, 1}), "norm", width);
  {
    const Scope mlp(b, "mlp", "Mlp");
    y = Mlp(b, y, width, 4 * width, "gelu");
  }
  y = Transpose(b, y, {0, 3, 1, 2});
  const Tensor scale = Reshape(b, b->Weight("gamma", {width}), {1, -1, 1, 1});
  return Add(b, Mul(b, y, scale), x);
}

}  // namespace

const TimmConvnext* FindTimmConvnext(absl::string_view name) {
  for (const TimmConvnext& row : kConvnexts) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Tensor BuildTimmConvnext(GraphBuilder* b, const Tensor& pixels, const TimmConvnext& s) {
  Tensor x;
  {
    const Scope stem(b, "stem", "Sequential");
    x = LayerNorm2d(b, Conv2d(b, pixels, "0", {3, s.width, 4, 4, true}), "1", s.width);
  }
  int64_t width = s.width;
  for (int stage = 0; stage < 4; ++stage) {
    const Scope scope(b, absl::StrCat("stages.", stage), "ConvNeXtStage");
    if (stage > 0) {
      const Scope downsample(b, "downsample", "Sequential");
      x = LayerNorm2d(b, x, "0", width);
      x = Conv2d(b, x, "1", {width, 2 * width, 2, 2, true});
      width *= 2;
    }
    for (int64_t i = 0; i < s.depths[stage]; ++i) {
      const Scope block(b, absl::StrCat("blocks.", i), "ConvNeXtBlock");
      x = ConvnextBlock(b, x, width);
    }
  }
  const Scope head(b, "head", "NormMlpClassifierHead");
  x = b->Op("GlobalAveragePool", {x});
  return b->Op("Flatten", {LayerNorm2d(b, x, "norm", width)});
}

}  // namespace onnxflops::family
