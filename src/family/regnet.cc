// RegNet: ResNet's stages of layers with groups, and in Y a factor for each feature.
//
// How it works. No part depends on the size of the image, so both sides are open. A layer's groups
// follow from its width. The factors of Y come from the mean over the image, through two layers
// that are as narrow as a quarter of the layer's input, rounded as Python rounds.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"
#include "src/family/resnet.h"

namespace onnxflops::family {
namespace {

struct RegnetShape {
  int64_t channels = 3, embedding = 32, group = 64;
  std::vector<int64_t> widths, depths;
  bool squeezes = true, first_halves = true;
  std::string activation;
  int64_t Groups(int64_t width) const { return std::max<int64_t>(width / group, 1); }
};

int64_t RegnetSqueezed(int64_t in) {
  constexpr double kPart = 4;
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(in) / kPart));
}

RegnetShape ReadRegnet(const Config& config) {
  RegnetShape s;
  s.channels = config.Size("num_channels", 3);
  s.embedding = config.Size("embedding_size", 32);
  s.group = config.Size("groups_width", 64);
  s.depths = ReadDepths(config, "depths", {2, 6, 12, 2});
  s.widths = ReadStages(config, "hidden_sizes", {128, 192, 512, 1088}, s.depths.size());
  s.activation = ReadActivation(config, "hidden_act", "relu");
  const std::string layer = config.Text("layer_type", "y");
  s.squeezes = layer == "y";
  if (!s.squeezes && layer != "x") {
    config.Fault("layer_type", absl::StrCat("is ", Quoted(layer), ": known are x, y"));
  }
  s.first_halves = config.Flag("downsample_in_first_stage", true);
  for (const int64_t width : s.widths) {
    config.RequireDivisible("hidden_sizes", width, "groups", s.Groups(width));
    const bool none = RegnetSqueezed(std::min(width, s.embedding)) < 1;
    if (s.squeezes && none) config.Fault("hidden_sizes", "should be 3 and more");
  }
  return s;
}

class RegnetBuilder {
 public:
  RegnetBuilder(GraphBuilder* b, const RegnetShape& shape) : b_(b), s_(shape) {}

  Tensor Build(const Tensor& pixels) {
    Tensor x;
    {
      const Scope embedder(b_, "embedder", "RegNetEmbeddings");
      x = Convolve(pixels, "embedder", {s_.channels, s_.embedding, 3, 2});
    }
    const Scope encoder(b_, "encoder", "RegNetEncoder");
    int64_t in = s_.embedding;
    for (size_t i = 0; i < s_.depths.size(); ++i) {
      const Scope stage(b_, absl::StrCat("stages.", i), "RegNetStage");
      const Scope layers(b_, "layers", "Sequential");
      for (int64_t k = 0; k < s_.depths[i]; ++k) {
        const Scope layer(b_, absl::StrCat(k), s_.squeezes ? "RegNetYLayer" : "RegNetXLayer");
        const bool halves = k == 0 && (i > 0 || s_.first_halves);
        x = Layer(x, in, s_.widths[i], halves ? 2 : 1);
        in = s_.widths[i];
      }
    }
    return x;
  }

 private:
  struct Conv {
    int64_t in, out, kernel = 1, stride = 1, groups = 1;
    bool active = true;
  };
  Tensor Normed(const Tensor& x, const Conv& c) {
    const Tensor y = Conv2d(b_, x, "convolution",
                            {c.in, c.out, c.kernel, c.stride, false, c.kernel / 2, c.groups});
    return BatchNorm(b_, y, "normalization", c.out);
  }
  Tensor Convolve(const Tensor& x, const std::string& name, const Conv& c) {
    const Scope layer(b_, name, "RegNetConvLayer");
    const Tensor y = Normed(x, c);
    return c.active ? Activate(b_, y, s_.activation) : y;
  }

  Tensor Layer(const Tensor& x, int64_t in, int64_t out, int64_t stride) {
    Tensor around = x;
    if (in != out || stride > 1) {
      const Scope shortcut(b_, "shortcut", "RegNetShortCut");
      around = Normed(x, {in, out, 1, stride});
    }
    Tensor y;
    {
      const Scope layer(b_, "layer", "Sequential");
      y = Convolve(x, "0", {in, out});
      y = Convolve(y, "1", {out, out, 3, stride, s_.Groups(out)});
      if (s_.squeezes) y = Squeeze(y, out, RegnetSqueezed(in));
      y = Convolve(y, s_.squeezes ? "3" : "2", {out, out, 1, 1, 1, false});
    }
    return Activate(b_, Add(b_, y, around), s_.activation);
  }

  Tensor Squeeze(const Tensor& x, int64_t width, int64_t inner) {
    const Scope squeeze(b_, "2", "RegNetSELayer");
    Tensor factors;
    {
      const Scope pooler(b_, "pooler", "AdaptiveAvgPool2d");
      factors = b_->Op("GlobalAveragePool", {x});
    }
    {
      const Scope attention(b_, "attention", "Sequential");
      factors = b_->Op("Relu", {Conv2d(b_, factors, "0", {width, inner, 1, 1, true})});
      factors = b_->Op("Sigmoid", {Conv2d(b_, factors, "2", {inner, width, 1, 1, true})});
    }
    return Mul(b_, x, factors);
  }

  GraphBuilder* b_;
  const RegnetShape& s_;
};

}  // namespace

absl::StatusOr<std::string> BuildRegNet(const Config& config) {
  const RegnetShape s = ReadRegnet(config);
  const std::string root =
      config.RequireArchitecture({"RegNetForImageClassification", "RegNetModel"});
  const int64_t labels = root == "RegNetModel" ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = b.Input("pixel_values", dtype, {"batch", s.channels, "height", "width"});
  Tensor x, pooled;
  {
    std::optional<Scope> model;
    if (labels > 0) model.emplace(&b, "regnet", "RegNetModel");
    x = RegnetBuilder(&b, s).Build(pixels);
    const Scope pooler(&b, "pooler", "AdaptiveAvgPool2d");
    pooled = b.Op("GlobalAveragePool", {x});
  }
  BuildPooledOutputs(&b, x, pooled, s.widths.back(), labels, false);
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
