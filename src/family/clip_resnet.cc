#include "src/family/clip_resnet.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

constexpr int64_t kExpansion = 4;   // of a bottleneck's last convolution
constexpr int64_t kReduction = 32;  // of the image, from end to end

Tensor ConvNorm(GraphBuilder* b, const Tensor& x, int number, const ConvShape& shape) {
  const Tensor y = Conv2d(b, x, absl::StrCat("conv", number), shape);
  return BatchNorm(b, y, absl::StrCat("bn", number), shape.out);
}

Tensor AveragePool(GraphBuilder* b, const Tensor& x, int64_t size) {
  return b->Op("AveragePool", {x},
               {{"kernel_shape", std::vector<int64_t>{size, size}},
                {"strides", std::vector<int64_t>{size, size}}});
}

Tensor Relu(GraphBuilder* b, const Tensor& x) { return b->Op("Relu", {x}); }

Tensor Stem(GraphBuilder* b, Tensor x, int64_t width) {
  x = Relu(b, ConvNorm(b, x, 1, {3, width / 2, 3, 2, false, 1}));
  x = Relu(b, ConvNorm(b, x, 2, {width / 2, width / 2, 3, 1, false, 1}));
  x = Relu(b, ConvNorm(b, x, 3, {width / 2, width, 3, 1, false, 1}));
  return AveragePool(b, x, 2);
}

Tensor Bottleneck(GraphBuilder* b, const Tensor& x, int64_t in, int64_t planes, int64_t stride) {
  const int64_t out = planes * kExpansion;
  Tensor y = Relu(b, ConvNorm(b, x, 1, {in, planes, 1, 1, false}));
  y = Relu(b, ConvNorm(b, y, 2, {planes, planes, 3, 1, false, 1}));
  if (stride > 1) y = AveragePool(b, y, stride);
  y = ConvNorm(b, y, 3, {planes, out, 1, 1, false});
  Tensor around = x;
  if (stride > 1 || in != out) {
    const Scope downsample(b, "downsample", "Sequential");
    if (stride > 1) around = AveragePool(b, around, stride);
    around = BatchNorm(b, Conv2d(b, around, "0", {in, out, 1, 1, false}), "1", out);
  }
  return Relu(b, Add(b, y, around));
}

// Attention among all positions and their mean; only the mean's output is used.
Tensor AttentionPool(GraphBuilder* b, Tensor x, const ClipResnetShape& s, int64_t out) {
  const Scope pool(b, "attnpool", "AttentionPool2d");
  const int64_t w = s.width * kReduction, side = s.image / kReduction;
  x = Transpose(b, Reshape(b, x, {0, w, -1}), {0, 2, 1});
  const Tensor mean = b->Op("ReduceMean", {x, b->Ints({1})}, {{"keepdims", int64_t{1}}});
  x = Concat(b, {mean, x}, 1);
  x = Add(b, x, b->Weight("positional_embedding", {side * side + 1, w}));
  const Tensor q = Linear(b, x, "q_proj", w, w, true), k = Linear(b, x, "k_proj", w, w, true);
  const Tensor v = Linear(b, x, "v_proj", w, w, true);
  x = Attention(b, q, k, v, {s.heads, s.heads, w / s.heads});
  return TakeToken(b, Linear(b, x, "c_proj", w, out, true), 0);
}

}  // namespace

ClipResnetShape ReadClipResnet(const Config& config) {
  ClipResnetShape s;
  s.layers = config.Sizes("layers").value_or(std::vector<int64_t>{});
  int64_t blocks = 0;
  for (int64_t layers : s.layers) blocks += layers;
  if (s.layers.size() != 4 || blocks > kMaxConfigLayers) {
    config.Fault("layers", absl::StrCat("should be four numbers of blocks, at most ",
                                        kMaxConfigLayers, " in all"));
  }
  s.width = config.Size("width", 64);
  s.image = config.Size("image_size", 224);
  const int64_t head = config.Size("head_width", 64);
  config.RequireDivisible("width", s.width * kReduction, "head_width", head);
  config.RequireDivisible("width", s.width, "2", 2);
  if (s.image < kReduction || s.image % kReduction != 0) {
    config.Fault("image_size", absl::StrCat("is ", s.image, ", which is no multiple of 32"));
  }
  s.heads = s.width * kReduction / head;
  return s;
}

Tensor BuildClipResnet(GraphBuilder* b, const Tensor& pixels, const ClipResnetShape& s,
                       int64_t out) {
  Tensor x = Stem(b, pixels, s.width);
  int64_t in = s.width;
  for (size_t stage = 0; stage < s.layers.size(); ++stage) {
    const Scope layer(b, absl::StrCat("layer", stage + 1), "Sequential");
    const int64_t planes = s.width << stage;
    for (int64_t i = 0; i < s.layers[stage]; ++i) {
      const Scope block(b, absl::StrCat(i), "Bottleneck");
      x = Bottleneck(b, x, in, planes, stage > 0 && i == 0 ? 2 : 1);
      in = planes * kExpansion;
    }
  }
  return AttentionPool(b, x, s, out);
}

}  // namespace onnxflops::family
