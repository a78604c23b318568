// EfficientNet: blocks that widen the image, convolve each feature, weigh features, and narrow it.
//
// How it works. A configuration has the lists of the smallest model and two factors, of widths and
// of numbers of blocks. Widths are rounded to multiples. The first block of a stage may halve the
// image; zeros are then added on both sides by the parity of the kernel, one less at the top and on
// the left unless depthwise_padding lists the block. Images are square of image_size unless set.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"
#include "src/family/resnet.h"

namespace onnxflops::family {
namespace {

struct EfficientNetBlock {
  int64_t in, out, inner, squeezed, kernel, stride;
  bool first, adjusts;
};

struct EfficientNetShape {
  int64_t channels = 3, start = 0, width = 0;
  Sides image = {600, 600};
  std::vector<EfficientNetBlock> blocks;
  std::string activation;
  bool largest = false;  // the pooler takes the maximum
};

int64_t RoundFilters(const Config& config, double factor, int64_t divisor, int64_t width) {
  const auto step = static_cast<double>(divisor);
  const double wide = static_cast<double>(width) * factor;
  double rounded = std::max(step, std::floor(std::trunc(wide + step / 2) / step) * step);
  constexpr double kMostBelow = 0.9;
  if (rounded < kMostBelow * wide) rounded += step;
  if (rounded <= static_cast<double>(kMaxConfigSize)) return static_cast<int64_t>(rounded);
  config.Fault("width_coefficient", "makes images of too many features");
  return 1;
}

struct EfficientNetLists {
  std::vector<int64_t> in, out, kernels, strides, repeats, ratios, padded;
  double deeper = 1, wider = 1, squeeze = 0.25;
  int64_t divisor = 8;
};

EfficientNetLists ReadEfficientNetLists(const Config& config) {
  EfficientNetLists l;
  l.repeats = ReadDepths(config, "num_block_repeats", {1, 2, 2, 3, 3, 4, 1});
  const size_t n = l.repeats.size();
  l.in = ReadStages(config, "in_channels", {32, 16, 24, 40, 80, 112, 192}, n);
  l.out = ReadStages(config, "out_channels", {16, 24, 40, 80, 112, 192, 320}, n);
  l.kernels = ReadStages(config, "kernel_sizes", {3, 3, 5, 3, 5, 5, 3}, n);
  l.strides = ReadStages(config, "strides", {1, 2, 2, 2, 1, 2, 1}, n);
  l.ratios = ReadStages(config, "expand_ratios", {1, 6, 6, 6, 6, 6, 6}, n);
  l.padded = config.Indices("depthwise_padding");
  l.deeper = config.Real("depth_coefficient", 3.1);
  l.wider = config.Real("width_coefficient", 2);
  l.squeeze = config.Real("squeeze_expansion_ratio", 0.25);
  l.divisor = config.Size("depth_divisor", 8);
  for (size_t i = 0; i < n; ++i) {
    if (l.strides[i] > 2) config.Fault("strides", "should be 1 or 2");
    if (l.kernels[i] > kMaxPatchSize) config.Fault("kernel_sizes", "are too large");
    if (l.kernels[i] < 2 && l.strides[i] == 2) {
      config.Fault("kernel_sizes", "should be 2 and more where strides are 2");
    }
    if (l.ratios[i] > kMaxPatchSize) config.Fault("expand_ratios", "are too large");
  }
  return l;
}

EfficientNetShape ReadEfficientNet(const Config& config) {
  EfficientNetShape s;
  s.channels = config.Size("num_channels", 3);
  s.image = ReadSides(config, 600);
  s.activation = ReadActivation(config, "hidden_act", "swish");
  const EfficientNetLists l = ReadEfficientNetLists(config);
  const auto rounded = [&](int64_t width) {
    return RoundFilters(config, l.wider, l.divisor, width);
  };
  s.start = rounded(32);
  s.width = rounded(1280);
  int64_t before = s.start;
  for (size_t i = 0; i < l.repeats.size(); ++i) {
    const double repeats = std::ceil(l.deeper * static_cast<double>(l.repeats[i]));
    if (repeats + static_cast<double>(s.blocks.size()) > kMaxConfigLayers) {
      config.Fault("depth_coefficient", "makes too many layers");
      break;
    }
    const int64_t out = rounded(l.out[i]);
    if (rounded(l.in[i]) != before) config.Fault("in_channels", "are not what comes before");
    for (int64_t k = 0; k < static_cast<int64_t>(repeats); ++k) {
      const auto at = static_cast<int64_t>(s.blocks.size());
      const bool padded = std::find(l.padded.begin(), l.padded.end(), at) != l.padded.end();
      const double squeezed =
          std::min(static_cast<double>(before) * l.squeeze, static_cast<double>(kMaxConfigSize));
      s.blocks.push_back({before, out, before * l.ratios[i],
                          std::max<int64_t>(static_cast<int64_t>(squeezed), 1), l.kernels[i],
                          k == 0 ? l.strides[i] : 1, k == 0, !padded});
      before = out;
    }
  }
  if (config.Size("hidden_dim", 2560) != s.width) {
    config.Fault("hidden_dim", absl::StrCat("should be ", s.width, ", by width_coefficient"));
  }
  const std::string pooling = config.Text("pooling_type", "mean");
  s.largest = pooling == "max";
  if (!s.largest && pooling != "mean") {
    config.Fault("pooling_type", absl::StrCat("is ", Quoted(pooling), ": known are max, mean"));
  }
  return s;
}

class EfficientNetBuilder {
 public:
  EfficientNetBuilder(GraphBuilder* b, const EfficientNetShape& shape) : b_(b), s_(shape) {}

  Tensor Build(const Tensor& pixels) {
    Tensor x;
    {
      const Scope embeddings(b_, "embeddings", "EfficientNetEmbeddings");
      x = Convolve(pixels, "convolution", {s_.channels, s_.start, 3, 2, {0, 0, 1, 1}});
      x = Activate(b_, BatchNorm(b_, x, "batchnorm", s_.start), s_.activation);
    }
    const Scope encoder(b_, "encoder", "EfficientNetEncoder");
    for (size_t i = 0; i < s_.blocks.size(); ++i) {
      const Scope block(b_, absl::StrCat("blocks.", i), "EfficientNetBlock");
      x = Block(x, s_.blocks[i]);
    }
    x = Conv2d(b_, x, "top_conv", {s_.blocks.back().out, s_.width, 1, 1, false});
    return Activate(b_, BatchNorm(b_, x, "top_bn", s_.width), s_.activation);
  }

 private:
  struct Conv {
    int64_t in, out, kernel, stride;
    std::vector<int64_t> pads;
    int64_t groups = 1;
    const char* type = "Conv2d";
  };
  Tensor Convolve(const Tensor& x, const char* name, const Conv& c) {
    const Scope scope(b_, name, c.type);
    return b_->Op("Conv", {x, b_->Weight("weight", {c.out, c.in / c.groups, c.kernel, c.kernel})},
                  {{"kernel_shape", std::vector<int64_t>{c.kernel, c.kernel}},
                   {"strides", std::vector<int64_t>{c.stride, c.stride}},
                   {"pads", c.pads},
                   {"group", c.groups}});
  }

  Tensor Block(const Tensor& x, const EfficientNetBlock& block) {
    const int64_t w = block.inner;
    Tensor y = x;
    if (w != block.in) {
      const Scope expansion(b_, "expansion", "EfficientNetExpansionLayer");
      y = Conv2d(b_, y, "expand_conv", {block.in, w, 1, 1, false});
      y = Activate(b_, BatchNorm(b_, y, "expand_bn", w), s_.activation);
    }
    {
      const Scope layer(b_, "depthwise_conv", "EfficientNetDepthwiseLayer");
      const int64_t k = block.kernel, half = k / 2, before = (k - 1) / 2, after = k - 1 - before;
      const int64_t top = block.adjusts ? half - 1 : half;
      const std::vector<int64_t> pads = block.stride == 2
                                            ? std::vector<int64_t>{top, top, half, half}
                                            : std::vector<int64_t>{before, before, after, after};
      y = Convolve(y, "depthwise_conv",
                   {w, w, k, block.stride, pads, w, "EfficientNetDepthwiseConv2d"});
      y = Activate(b_, BatchNorm(b_, y, "depthwise_norm", w), s_.activation);
    }
    y = Squeeze(y, block);
    const Scope projection(b_, "projection", "EfficientNetFinalBlockLayer");
    y = Conv2d(b_, y, "project_conv", {w, block.out, 1, 1, false});
    y = BatchNorm(b_, y, "project_bn", block.out);
    return block.stride == 1 && !block.first ? Add(b_, y, x) : y;
  }

  Tensor Squeeze(const Tensor& x, const EfficientNetBlock& block) {
    const Scope layer(b_, "squeeze_excite", "EfficientNetSqueezeExciteLayer");
    Tensor y;
    {
      const Scope pool(b_, "squeeze", "AdaptiveAvgPool2d");
      y = b_->Op("GlobalAveragePool", {x});
    }
    y = Conv2d(b_, y, "reduce", {block.inner, block.squeezed, 1, 1, true});
    y = Conv2d(b_, Activate(b_, y, s_.activation), "expand",
               {block.squeezed, block.inner, 1, 1, true});
    return Mul(b_, x, b_->Op("Sigmoid", {y}));
  }

  GraphBuilder* b_;
  const EfficientNetShape& s_;
};

}  // namespace

absl::StatusOr<std::string> BuildEfficientNet(const Config& config) {
  const EfficientNetShape s = ReadEfficientNet(config);
  const std::string root =
      config.RequireArchitecture({"EfficientNetForImageClassification", "EfficientNetModel"});
  const int64_t labels = root == "EfficientNetModel" ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = OpenPixels(&b, s.channels, s.image);
  Tensor x, pooled;
  {
    std::optional<Scope> model;
    if (labels > 0) model.emplace(&b, "efficientnet", "EfficientNetModel");
    x = EfficientNetBuilder(&b, s).Build(pixels);
    // A window of hidden_dim places, which is the whole image.
    const Scope pooler(&b, "pooler", s.largest ? "MaxPool2d" : "AvgPool2d");
    pooled = b.Op(s.largest ? "GlobalMaxPool" : "GlobalAveragePool", {x});
  }
  BuildPooledOutputs(&b, x, pooled, s.width, labels, true);
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
