// MobileNet V1 and V2: convolutions of one feature each, between those of one place.
//
// How it works. Widths and strides are lists in the code of the classes; a configuration has only a
// factor of all widths, what they are multiples of, and how much smaller the image may become: from
// there on V2's convolutions are dilated instead. Padding is that of TensorFlow, which makes an
// image of ceil(size / stride) at any size, or the same on both sides.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"
#include "src/family/resnet.h"

namespace onnxflops::family {
namespace {

constexpr char kRelu6[] = "relu6";

struct MobileNetShape {
  int64_t channels = 3, least = 8, multiple = 8, smallest = 32;
  double factor = 1, wider = 6;
  Sides image = {224, 224};
  bool first_is_wide = true, last_is_fixed = true, padded = true;
  std::string activation;

  // The multiple that is nearest to a width, but not much below it.
  int64_t Multiple(double width) const {
    const auto step = static_cast<double>(multiple);
    const double whole = std::floor(std::trunc(width + step / 2) / step) * step;
    const double near = std::max(static_cast<double>(least), whole);
    constexpr double kMostBelow = 0.9;
    return static_cast<int64_t>(near < kMostBelow * width ? near + step : near);
  }
  int64_t Width(int64_t of) const {
    return Multiple(std::nearbyint(static_cast<double>(of) * factor));
  }
  int64_t Wider(int64_t width) const {
    return Multiple(std::nearbyint(static_cast<double>(width) * wider));
  }
  int64_t FirstWidth(int64_t of) const {  // V1's
    return std::max(static_cast<int64_t>(static_cast<double>(of) * factor), least);
  }
};

MobileNetShape ReadMobileNet(const Config& config) {
  MobileNetShape s;
  s.channels = config.Size("num_channels", 3);
  s.image = ReadSides(config, 224);
  s.factor = config.Real("depth_multiplier", 1);
  s.least = config.Size("min_depth", 8);
  const bool relu6 = !config.Has("hidden_act") || config.Text("hidden_act", kRelu6) == kRelu6;
  s.activation =
      relu6 ? config.Text("hidden_act", kRelu6) : ReadActivation(config, "hidden_act", "");
  s.padded = config.Flag("tf_padding", true);
  constexpr double kMostFactor = 1024;
  if (s.factor > kMostFactor) {
    config.Fault("depth_multiplier", "is too large");
    s.factor = 1;
  }
  return s;
}

class MobileNetBuilder {
 public:
  MobileNetBuilder(GraphBuilder* b, const MobileNetShape& shape, const char* prefix)
      : b_(b), s_(shape), prefix_(prefix) {}

  // *width: of the last image.
  Tensor BuildFirst(const Tensor& pixels, int64_t* width) {
    constexpr int64_t kDepth = 32;
    *width = s_.FirstWidth(kDepth);
    Tensor x = Convolve(pixels, "conv_stem", {s_.channels, *width, 3, 2});
    int64_t depth = kDepth;
    const int64_t strides[] = {1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1};
    for (int64_t i = 0; i < 13; ++i) {
      const int64_t in = *width;
      if (strides[i] == 2 || i == 0) *width = s_.FirstWidth(depth *= 2);
      x = Convolve(x, absl::StrCat("layer.", 2 * i), {in, in, 3, strides[i], in});
      x = Convolve(x, absl::StrCat("layer.", 2 * i + 1), {in, *width});
    }
    return x;
  }

  Tensor BuildSecond(const Tensor& pixels, int64_t* width) {
    const int64_t widths[] = {16, 24, 24, 32, 32,  32,  64,  64, 64,
                              64, 96, 96, 96, 160, 160, 160, 320};
    const int64_t strides[] = {2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1};
    int64_t in = s_.Width(widths[0]), smaller = 2, dilation = 1;
    Tensor x = Start(pixels, in);
    for (int64_t i = 0; i < 16; ++i) {
      const bool dilated = smaller == s_.smallest;
      const int64_t out = s_.Width(widths[i + 1]);
      x = Inverted(x, absl::StrCat("layer.", i), in, out, dilated ? 1 : strides[i],
                   dilated ? dilation : 1);
      if (dilated) dilation *= strides[i];
      if (!dilated) smaller *= strides[i];
      in = out;
    }
    constexpr int64_t kLast = 1280;
    *width = s_.last_is_fixed && s_.factor < 1 ? kLast : s_.Width(kLast);
    return Convolve(x, "conv_1x1", {in, *width});
  }

 private:
  struct Conv {
    int64_t in, out, kernel = 1, stride = 1, groups = 1, dilation = 1;
    bool active = true;
  };
  Tensor Convolve(Tensor x, const std::string& name, const Conv& c) {
    const Scope layer(b_, name, absl::StrCat(prefix_, "ConvLayer"));
    {
      const Scope scope(b_, "convolution", "Conv2d");
      const int64_t k = c.kernel, p = (k - 1) / 2 * c.dilation;
      Attrs attrs = {{"kernel_shape", std::vector<int64_t>{k, k}},
                     {"strides", std::vector<int64_t>{c.stride, c.stride}},
                     {"dilations", std::vector<int64_t>{c.dilation, c.dilation}},
                     {"group", c.groups}};
      if (s_.padded) attrs.push_back({"auto_pad", std::string("SAME_UPPER")});
      if (!s_.padded) attrs.push_back({"pads", std::vector<int64_t>{p, p, p, p}});
      x = b_->Op("Conv", {x, b_->Weight("weight", {c.out, c.in / c.groups, k, k})}, attrs);
    }
    x = BatchNorm(b_, x, "normalization", c.out);
    if (!c.active) return x;
    if (s_.activation != kRelu6) return Activate(b_, x, s_.activation);
    constexpr double kMost = 6;
    return b_->Op("Clip", {x, Factor(b_, 0), Factor(b_, kMost)});
  }

  Tensor Start(const Tensor& pixels, int64_t out) {
    const Scope stem(b_, "conv_stem", "MobileNetV2Stem");
    constexpr int64_t kFirst = 32;
    const int64_t w = s_.Width(kFirst);
    Tensor x = Convolve(pixels, "first_conv", {s_.channels, w, 3, 2});
    if (!s_.first_is_wide) x = Convolve(x, "expand_1x1", {w, w});
    x = Convolve(x, "conv_3x3", {w, w, 3, 1, w});
    return Convolve(x, "reduce_1x1", {w, out, 1, 1, 1, 1, false});
  }

  Tensor Inverted(const Tensor& x, const std::string& name, int64_t in, int64_t out, int64_t stride,
                  int64_t dilation) {
    const Scope layer(b_, name, "MobileNetV2InvertedResidual");
    const int64_t w = s_.Wider(in);
    Tensor y = Convolve(x, "expand_1x1", {in, w});
    y = Convolve(y, "conv_3x3", {w, w, 3, stride, w, dilation});
    y = Convolve(y, "reduce_1x1", {w, out, 1, 1, 1, 1, false});
    return stride == 1 && in == out ? Add(b_, x, y) : y;
  }

  GraphBuilder* b_;
  const MobileNetShape& s_;
  const char* prefix_;
};

absl::StatusOr<std::string> BuildMobileNet(const Config& config, const MobileNetShape& s,
                                           const char* prefix, const char* module) {
  const std::string whole = absl::StrCat(prefix, "Model");
  const std::string root =
      config.RequireArchitecture({absl::StrCat(prefix, "ForImageClassification"), whole});
  const int64_t labels = root == whole ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = OpenPixels(&b, s.channels, s.image);
  int64_t width = 0;
  Tensor x, pooled;
  {
    std::optional<Scope> model;
    if (labels > 0) model.emplace(&b, module, whole);
    MobileNetBuilder builder(&b, s, prefix);
    const bool first = absl::string_view(prefix) == "MobileNetV1";
    x = first ? builder.BuildFirst(pixels, &width) : builder.BuildSecond(pixels, &width);
    const Scope pooler(&b, "pooler", "AdaptiveAvgPool2d");
    pooled = b.Op("GlobalAveragePool", {x});
  }
  BuildPooledOutputs(&b, x, pooled, width, labels, true);
  return std::move(b).Finish();
}

}  // namespace

absl::StatusOr<std::string> BuildMobileNetV1(const Config& config) {
  return BuildMobileNet(config, ReadMobileNet(config), "MobileNetV1", "mobilenet_v1");
}

absl::StatusOr<std::string> BuildMobileNetV2(const Config& config) {
  MobileNetShape s = ReadMobileNet(config);
  s.multiple = config.Size("depth_divisible_by", 8);
  s.wider = config.Real("expand_ratio", 6);
  s.smallest = config.Size("output_stride", 32);
  s.first_is_wide = config.Flag("first_layer_is_expansion", true);
  s.last_is_fixed = config.Flag("finegrained_output", true);
  constexpr double kMostWider = 1024;
  if (s.wider > kMostWider) config.Fault("expand_ratio", "is too large");
  return BuildMobileNet(config, s, "MobileNetV2", "mobilenet_v2");
}

}  // namespace onnxflops::family
