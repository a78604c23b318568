// ResNet.
//
// How it works. No part depends on the size of the image, so both sides are open. The stages are a
// block of their own, because detectors have them with another norm: the caller gives it. RT-DETR's
// ResNet has a deeper start, and where an image gets smaller, what goes around a layer is averaged
// before its convolution.
#include "src/family/resnet.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

constexpr int64_t kReduced = 4;  // how much narrower a bottleneck is inside

class ResnetBuilder {
 public:
  ResnetBuilder(GraphBuilder* b, const ResnetShape& shape, const NormFn& norm)
      : b_(b), s_(shape), norm_(norm) {}

  std::vector<Tensor> Build(const Tensor& pixels) {
    Tensor x = Embed(pixels);
    std::vector<Tensor> found;
    const Scope encoder(b_, "encoder", Class("Encoder"));
    int64_t in = s_.embedding;
    for (size_t i = 0; i < s_.depths.size(); ++i) {
      const Scope stage(b_, absl::StrCat("stages.", i), Class("Stage"));
      const Scope layers(b_, "layers", "Sequential");
      for (int64_t k = 0; k < s_.depths[i]; ++k) {
        const Scope layer(b_, absl::StrCat(k),
                          Class(s_.bottleneck ? "BottleNeckLayer" : "BasicLayer"));
        const bool halves = k == 0 && (i > 0 || s_.first_halves);
        x = Layer(x, in, s_.widths[i], halves ? 2 : 1, k == 0);
        in = s_.widths[i];
      }
      found.push_back(x);
    }
    return found;
  }

 private:
  std::string Class(const char* name) const {
    return absl::StrCat(s_.deep ? "RTDetrResNet" : "ResNet", name);
  }

  struct Step {
    int64_t in, out, kernel, stride;
  };
  Tensor Normed(const Tensor& x, const Step& step) {
    const Tensor y = Conv2d(b_, x, "convolution",
                            {step.in, step.out, step.kernel, step.stride, false, step.kernel / 2});
    return norm_(b_, y, step.out);
  }

  Tensor Embed(const Tensor& pixels) {
    const Scope embedder(b_, "embedder", Class("Embeddings"));
    Tensor x = s_.deep ? DeepStart(pixels) : pixels;
    if (!s_.deep) {
      const Scope first(b_, "embedder", Class("ConvLayer"));
      constexpr int64_t kFirst = 7;
      x = Normed(x, {s_.channels, s_.embedding, kFirst, 2});
      x = Activate(b_, x, s_.activation);
    }
    const Scope pooler(b_, "pooler", "MaxPool2d");
    return b_->Op("MaxPool", {x},
                  {{"kernel_shape", std::vector<int64_t>{3, 3}},
                   {"strides", std::vector<int64_t>{2, 2}},
                   {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  }

  Tensor DeepStart(Tensor x) {
    const Scope embedder(b_, "embedder", "Sequential");
    const int64_t half = s_.embedding / 2;
    const Step steps[] = {
        {s_.channels, half, 3, 2}, {half, half, 3, 1}, {half, s_.embedding, 3, 1}};
    for (int i = 0; i < 3; ++i) {
      const Scope part(b_, absl::StrCat(i), Class("ConvLayer"));
      x = Activate(b_, Normed(x, steps[i]), s_.activation);
    }
    return x;
  }

  // What goes around a layer. `first`: of its stage.
  Tensor Around(const Tensor& x, int64_t in, int64_t out, int64_t stride, bool first) {
    const bool averages = s_.deep && (s_.bottleneck ? stride == 2 : in != out);
    const bool always = s_.deep && !s_.bottleneck && first;
    if (in == out && stride == 1 && !always) return x;
    if (!averages) {
      const Scope shortcut(b_, "shortcut", Class("ShortCut"));
      return Normed(x, {in, out, 1, stride});
    }
    const Scope shortcut(b_, "shortcut", "Sequential");
    Tensor y;
    {
      const Scope pool(b_, "0", "AvgPool2d");
      y = b_->Op("AveragePool", {x},
                 {{"kernel_shape", std::vector<int64_t>{2, 2}},
                  {"strides", std::vector<int64_t>{2, 2}},
                  {"ceil_mode", int64_t{1}}});
    }
    const Scope conv(b_, "1", Class("ShortCut"));
    return Normed(y, {in, out, 1, 1});
  }

  Tensor Layer(const Tensor& x, int64_t in, int64_t out, int64_t stride, bool first) {
    const Tensor around = Around(x, in, out, stride, first);
    const int64_t narrow = out / kReduced;
    const std::vector<Step> steps =
        s_.bottleneck ? std::vector<Step>{{in, narrow, 1, s_.early ? stride : 1},
                                          {narrow, narrow, 3, s_.early ? 1 : stride},
                                          {narrow, out, 1, 1}}
                      : std::vector<Step>{{in, out, 3, stride}, {out, out, 3, 1}};
    const Tensor y = Steps(x, steps);
    return Activate(b_, Add(b_, y, around), s_.activation);
  }

  Tensor Steps(Tensor x, const std::vector<Step>& steps) {
    const Scope layer(b_, "layer", "Sequential");
    for (size_t i = 0; i < steps.size(); ++i) {
      const Scope part(b_, absl::StrCat(i), Class("ConvLayer"));
      x = Normed(x, steps[i]);
      // Inside of a layer it is always this function.
      if (i + 1 < steps.size()) x = Activate(b_, x, "relu");
    }
    return x;
  }

  GraphBuilder* b_;
  const ResnetShape& s_;
  const NormFn& norm_;
};

}  // namespace

ResnetShape ReadResnet(const Config& config) {
  ResnetShape s;
  s.channels = config.Size("num_channels", 3);
  s.embedding = config.Size("embedding_size", 64);
  s.depths = ReadDepths(config, "depths", {3, 4, 6, 3});
  s.widths = ReadStages(config, "hidden_sizes", {256, 512, 1024, 2048}, s.depths.size());
  s.activation = ReadActivation(config, "hidden_act", "relu");
  const std::string layer = config.Text("layer_type", "bottleneck");
  s.bottleneck = layer == "bottleneck";
  if (!s.bottleneck && layer != "basic") {
    config.Fault("layer_type", absl::StrCat("is ", Quoted(layer), ": known are basic, bottleneck"));
  }
  s.first_halves = config.Flag("downsample_in_first_stage", false);
  s.early = s.bottleneck && config.Flag("downsample_in_bottleneck", false);
  for (const int64_t width : s.widths) {
    if (s.bottleneck && width < kReduced) config.Fault("hidden_sizes", "should be 4 and more");
  }
  return s;
}

Tensor FrozenNorm(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width,
                  absl::string_view type) {
  const Scope scope(b, name, type);
  // Whole numbers are never a parameter.
  const auto buffer = [&] {
    return b->Op("Cast", {Reshape(b, b->IndexTable(width), {1, -1, 1, 1})},
                 {{"to", static_cast<int64_t>(b->dtype())}});
  };
  const Tensor weight = buffer(), bias = buffer(), mean = buffer(), variance = buffer();
  constexpr double kEpsilon = 1e-5;
  const Tensor root = b->Op("Sqrt", {Add(b, variance, Factor(b, kEpsilon))});
  const Tensor scale = Mul(b, weight, b->Op("Reciprocal", {root}));
  return Add(b, Mul(b, x, scale), b->Op("Sub", {bias, Mul(b, mean, scale)}));
}

std::vector<Tensor> BuildResnetStages(GraphBuilder* b, const Tensor& pixels, const ResnetShape& s,
                                      const NormFn& norm) {
  return ResnetBuilder(b, s, norm).Build(pixels);
}

void BuildPooledOutputs(GraphBuilder* b, const Tensor& image, Tensor pooled, int64_t width,
                        int64_t labels, bool flat) {
  if (flat || labels > 0) pooled = b->Op("Flatten", {pooled});
  if (labels == 0) {
    const Dims dims = flat ? Dims{"batch", width} : Dims{"batch", width, 1, 1};
    b->Output("last_hidden_state", image, b->dtype(), {"batch", width, "rows", "columns"});
    b->Output("pooler_output", pooled, b->dtype(), dims);
    return;
  }
  std::optional<Scope> classifier;
  if (!flat) classifier.emplace(b, "classifier", "Sequential");
  const Tensor logits = Linear(b, pooled, flat ? "classifier" : "1", width, labels, true);
  b->Output("logits", logits, b->dtype(), {"batch", labels});
}

absl::StatusOr<std::string> BuildResnet(const Config& config) {
  const ResnetShape s = ReadResnet(config);
  const std::string root =
      config.RequireArchitecture({"ResNetForImageClassification", "ResNetModel"});
  const int64_t labels = root == "ResNetModel" ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = b.Input("pixel_values", dtype, {"batch", s.channels, "height", "width"});
  const int64_t width = s.widths.back();
  Tensor x, pooled;
  {
    std::optional<Scope> model;
    if (labels > 0) model.emplace(&b, "resnet", "ResNetModel");
    const NormFn norm = [](GraphBuilder* builder, const Tensor& y, int64_t features) {
      return BatchNorm(builder, y, "normalization", features);
    };
    x = BuildResnetStages(&b, pixels, s, norm).back();
    const Scope pooler(&b, "pooler", "AdaptiveAvgPool2d");
    pooled = b.Op("GlobalAveragePool", {x});
  }
  BuildPooledOutputs(&b, x, pooled, width, labels, false);
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
