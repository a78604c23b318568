// ConvNeXt, ConvNeXt V2 and DINOv3's ConvNeXt.
//
// How it works. A layer convolves each feature by itself and then has an MLP over the features of
// each place. Between stages a convolution halves the image. V2 normalizes the hidden features of
// the MLP by their length over the whole image, in place of a learned scale. DINOv3 names its
// modules otherwise, has its stem in the first stage, and gives one more token, the mean of all
// places. No part depends on the size of the image, so both sides are open.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

struct ConvnextNames {
  const char *prefix, *module;  // of classes, and of the body inside a classifier
  const char *downsample, *depthwise, *norm, *up, *down, *scale;
};
constexpr ConvnextNames kConvnext = {
    "ConvNext", "convnext", "downsampling_layer",   "dwconv", "layernorm",
    "pwconv1",  "pwconv2",  "layer_scale_parameter"};
constexpr ConvnextNames kConvnextV2 = {"ConvNextV2", "convnextv2", "downsampling_layer",
                                       "dwconv",     "layernorm",  "pwconv1",
                                       "pwconv2",    nullptr};
constexpr ConvnextNames kDinov3Convnext = {"DINOv3ConvNext",  nullptr,      "downsample_layers",
                                           "depthwise_conv",  "layer_norm", "pointwise_conv1",
                                           "pointwise_conv2", "gamma"};

struct ConvnextShape {
  std::vector<int64_t> widths, depths;
  int64_t channels, patch, reduction;
  bool scaled;  // a learned scale after the MLP
  std::string activation;
  Sides sides;
};

ConvnextShape ReadConvnext(const Config& config, bool dino) {
  ConvnextShape s;
  s.channels = config.Size("num_channels", 3);
  s.depths = ReadDepths(config, "depths", {3, 3, 9, 3});
  s.widths = ReadStages(config, "hidden_sizes", {96, 192, 384, 768}, s.depths.size());
  s.patch = dino ? 4 : config.Size("patch_size", 4);
  s.activation = ReadActivation(config, "hidden_act", "gelu");
  s.sides = ReadSides(config, 224);
  if (!dino) {
    const int64_t stages = config.Layers("num_stages", 4);
    if (stages != static_cast<int64_t>(s.depths.size())) {
      config.Fault("num_stages", absl::StrCat("is ", stages, ", and depths has ", s.depths.size()));
    }
  }
  s.reduction = s.patch << (s.depths.size() - 1);
  return s;
}

class ConvnextBuilder {
 public:
  ConvnextBuilder(GraphBuilder* b, const ConvnextNames& names, const ConvnextShape& shape)
      : b_(b), n_(names), s_(shape) {}

  Tensor Build(const Tensor& pixels) {
    Tensor x = pixels;
    const bool dino = &n_ == &kDinov3Convnext;
    if (!dino) {
      const Scope embeddings(b_, "embeddings", Type("Embeddings"));
      const int64_t w = s_.widths[0];
      x = Conv2d(b_, x, "patch_embeddings", {s_.channels, w, s_.patch, s_.patch, true});
      x = LayerNorm2d(b_, x, n_.norm, w, Type("LayerNorm"));
    }
    const Scope encoder(b_, dino ? "model" : "encoder", Type("Encoder"));
    for (size_t i = 0; i < s_.depths.size(); ++i) {
      const Scope stage(b_, absl::StrCat("stages.", i), Type("Stage"));
      if (i > 0) x = Halve(x, s_.widths[i - 1], s_.widths[i]);
      if (i == 0 && dino) x = Stem(x);
      for (int64_t k = 0; k < s_.depths[i]; ++k) {
        const Scope layer(b_, absl::StrCat("layers.", k), Type("Layer"));
        x = Layer(x, s_.widths[i]);
      }
    }
    return x;
  }

 private:
  std::string Type(const char* what) const { return absl::StrCat(n_.prefix, what); }
  std::string Downsample(int part) const { return absl::StrCat(n_.downsample, ".", part); }

  Tensor Halve(const Tensor& x, int64_t in, int64_t out) {
    const Tensor y = LayerNorm2d(b_, x, Downsample(0), in, Type("LayerNorm"));
    return Conv2d(b_, y, Downsample(1), {in, out, 2, 2, true});
  }

  Tensor Stem(const Tensor& x) {
    const int64_t w = s_.widths[0];
    const Tensor y = Conv2d(b_, x, Downsample(0), {s_.channels, w, s_.patch, s_.patch, true});
    return LayerNorm2d(b_, y, Downsample(1), w, Type("LayerNorm"));
  }

  Tensor Layer(const Tensor& x, int64_t width) {
    Tensor y = Conv2d(b_, x, n_.depthwise, {width, width, 7, 1, true, 3, width});
    y = NormOf(b_, ChannelsLast(b_, y), n_.norm, width, Type("LayerNorm"));
    y = Activate(b_, Linear(b_, y, n_.up, width, 4 * width, true), s_.activation);
    if (&n_ == &kConvnextV2) y = ResponseNorm(y, 4 * width);
    y = Linear(b_, y, n_.down, 4 * width, width, true);
    if (s_.scaled) y = Mul(b_, y, b_->Weight(n_.scale, {width}));
    return Add(b_, x, ChannelsFirst(b_, y));
  }

  // Each feature by its length over the image, in relation to the mean length of all features.
  Tensor ResponseNorm(const Tensor& x, int64_t width) {
    const Scope grn(b_, "grn", Type("GRN"));
    const Attrs keep = {{"keepdims", int64_t{1}}};
    constexpr double kEpsilon = 1e-6;
    const Tensor length = b_->Op("ReduceL2", {x, b_->Ints({1, 2})}, keep);
    const Tensor mean = b_->Op("ReduceMean", {length, b_->Ints({-1})}, keep);
    const Tensor ratio = b_->Op("Div", {length, Add(b_, mean, Factor(b_, kEpsilon))});
    Tensor y = Mul(b_, b_->Weight("weight", {1, 1, 1, width}), Mul(b_, x, ratio));
    y = Add(b_, y, b_->Weight("bias", {1, 1, 1, width}));
    return Add(b_, y, x);
  }

  GraphBuilder* b_;
  const ConvnextNames& n_;
  const ConvnextShape& s_;
};

absl::StatusOr<std::string> BuildConvnextFamily(const Config& config, const ConvnextNames& names) {
  ConvnextShape s = ReadConvnext(config, false);
  s.scaled = names.scale != nullptr && config.NotNegative("layer_scale_init_value", 1e-6) > 0;
  const std::string whole = absl::StrCat(names.prefix, "Model");
  const std::string root =
      config.RequireArchitecture({absl::StrCat(names.prefix, "ForImageClassification"), whole});
  const int64_t labels = root == whole ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = OpenPixels(&b, s.channels, s.sides);
  const int64_t width = s.widths.back();
  Tensor x, pooled;
  {
    std::optional<Scope> model;
    if (labels > 0) model.emplace(&b, names.module, whole);
    x = ConvnextBuilder(&b, names, s).Build(pixels);
    pooled = b.Op("ReduceMean", {x, b.Ints({-2, -1})}, {{"keepdims", int64_t{0}}});
    pooled = LayerNorm(&b, pooled, "layernorm", width);
  }
  if (labels > 0) {
    b.Output("logits", Linear(&b, pooled, "classifier", width, labels, true), dtype,
             {"batch", labels});
    return std::move(b).Finish();
  }
  b.Output("last_hidden_state", x, dtype,
           {"batch", width, absl::StrCat("height // ", s.reduction),
            absl::StrCat("width // ", s.reduction)});
  b.Output("pooler_output", pooled, dtype, {"batch", width});
  return std::move(b).Finish();
}

}  // namespace

absl::StatusOr<std::string> BuildConvnext(const Config& config) {
  return BuildConvnextFamily(config, kConvnext);
}
absl::StatusOr<std::string> BuildConvnextV2(const Config& config) {
  return BuildConvnextFamily(config, kConvnextV2);
}

absl::StatusOr<std::string> BuildDinov3Convnext(const Config& config) {
  ConvnextShape s = ReadConvnext(config, true);
  s.scaled = true;
  const std::string root = config.RequireArchitecture({"DINOv3ConvNextModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = OpenPixels(&b, s.channels, s.sides);
  const int64_t width = s.widths.back();
  Tensor x = ConvnextBuilder(&b, kDinov3Convnext, s).Build(pixels);
  Tensor mean;
  {
    const Scope pool(&b, "pool", "AdaptiveAvgPool2d");
    mean = b.Op("GlobalAveragePool", {x});
  }
  x = Concat(&b, {PlacesOfImage(&b, mean, width), PlacesOfImage(&b, x, width)}, 1);
  x = LayerNorm(&b, x, "layer_norm", width);
  b.Output(
      "last_hidden_state", x, dtype,
      {"batch", absl::StrCat("(height // ", s.reduction, ") * (width // ", s.reduction, ") + 1"),
       width});
  b.Output("pooler_output", TakeToken(&b, x, 0), dtype, {"batch", width});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
