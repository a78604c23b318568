// MobileNet V5 of timm, the tower of Gemma 3n's images.
#ifndef ONNXFLOPS_SRC_FAMILY_MOBILENETV5_H_
#define ONNXFLOPS_SRC_FAMILY_MOBILENETV5_H_

#include <cstdint>

#include "src/family/config.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

struct MobileNetV5 {
  static constexpr int64_t kFeatures = 2048;  // of a token, whatever the factor
  bool encoder = true;                        // padding is TensorFlow's
  double factor = 1;                          // of the widths
  int64_t side = 16;                          // tokens on a side of the result
  int64_t Tokens() const { return side * side; }
  // Sides of images are multiples of this; and the usual side.
  int64_t Unit() const { return side % 2 == 0 ? 16 * side : 32 * side; }
  int64_t Usual() const { return (768 + Unit() - 1) / Unit() * Unit(); }
};
// `config`: of transformers' class for towers of timm, which has timm's name and arguments of the
// tower, but no size of images: that is the processor's. Another tower is a fault.
MobileNetV5 ReadMobileNetV5(const Config& config);
// The class of the tower.
const char* ClassOf(const MobileNetV5& shape);
// Sets the usual size of "height" and "width", and what they are multiples of.
void OpenSides(GraphBuilder* b, const MobileNetV5& shape);
// [n, 3, height, width] -> [n, features, side, side].
Tensor BuildMobileNetV5(GraphBuilder* b, const Tensor& pixels, const MobileNetV5& shape);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_MOBILENETV5_H_
