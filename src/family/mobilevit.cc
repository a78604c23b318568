// MobileViT: convolutions as in MobileNet, and transformers over patches of what they find.
//
// How it works. A transformer takes one place of each patch at a time: all upper left places attend
// to each other, and so on. An image whose sides patches do not divide is resized before and after,
// so the image is fixed by image_size. A smaller output_stride widens convolutions in place of
// making the image smaller. For segments, convolutions of several widths look at the last image.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

constexpr size_t kTransformers = 3, kNecks = 7, kRates = 3;

struct MobileVitShape {
  int64_t channels, patch, heads, kernel, stride, labels = 0, head = 0;
  std::vector<int64_t> widths, necks, rates;
  double mlp_ratio, expand;
  bool bias;
  std::string activation;
  Sides image;
  int64_t Inner(size_t i) const {
    return static_cast<int64_t>(static_cast<double>(widths[i]) * mlp_ratio);
  }
  // Features inside of a layer of MobileNet: a multiple of 8.
  int64_t Expanded(int64_t in) const {
    constexpr int64_t kMultiple = 8;
    constexpr double kLeastShare = 0.9;
    const auto value = static_cast<int64_t>(std::nearbyint(static_cast<double>(in) * expand));
    const int64_t near = (value + kMultiple / 2) / kMultiple * kMultiple;
    const int64_t found = std::max(kMultiple, near);
    const bool less = static_cast<double>(found) < kLeastShare * static_cast<double>(value);
    return less ? found + kMultiple : found;
  }
};

void CheckMobileVit(const Config& config, const MobileVitShape& s) {
  for (const int64_t width : s.widths) {
    config.RequireDivisible("hidden_sizes", width, "num_attention_heads", s.heads);
    const double inner = static_cast<double>(width) * s.mlp_ratio;
    if (inner < 1 || inner > static_cast<double>(kMaxConfigSize)) {
      config.Fault("mlp_ratio", "makes an MLP of no size");
    }
  }
  for (const int64_t width : s.necks) {
    if (static_cast<double>(width) * s.expand > static_cast<double>(kMaxConfigSize)) {
      config.Fault("expand_ratio", "is too large");
    }
  }
  if (s.kernel % 2 == 0 || s.kernel > kMaxPatchSize) {
    config.Fault("conv_kernel_size", absl::StrCat("is ", s.kernel, ", and should be odd"));
  }
}

MobileVitShape ReadMobileVit(const Config& config) {
  MobileVitShape s;
  s.channels = config.Size("num_channels", 3);
  s.image = ReadSides(config, 256);
  s.patch = config.Size("patch_size", 2);
  s.widths = config.SizesOr("hidden_sizes", {144, 192, 240});
  s.necks = config.SizesOr("neck_hidden_sizes", {16, 32, 64, 96, 128, 160, 640});
  s.heads = config.Size("num_attention_heads", 4);
  s.mlp_ratio = config.Real("mlp_ratio", 2);
  s.expand = config.Real("expand_ratio", 4);
  s.activation = ReadActivation(config, "hidden_act", "silu");
  s.kernel = config.Size("conv_kernel_size", 3);
  s.stride = config.Size("output_stride", 32);
  s.bias = config.Flag("qkv_bias", true);
  for (const auto& [key, list, size] : {std::tuple("hidden_sizes", &s.widths, kTransformers),
                                        {"neck_hidden_sizes", &s.necks, kNecks}}) {
    if (list->size() == size) continue;
    config.Fault(key, absl::StrCat("has ", list->size(), " entries, and should have ", size));
    list->resize(size, 1);
  }
  CheckMobileVit(config, s);
  return s;
}

class MobileVitBuilder {
 public:
  MobileVitBuilder(GraphBuilder* b, const MobileVitShape& shape) : b_(b), s_(shape) {}

  // The last layer's image.
  Tensor Build(const Tensor& pixels) {
    sides_ = s_.image;
    const std::vector<int64_t>& necks = s_.necks;
    Tensor x = Conv(pixels, "conv_stem", {s_.channels, necks[0], 3, 2});
    sides_ = {(sides_.height + 1) / 2, (sides_.width + 1) / 2};
    const Scope encoder(b_, "encoder", "MobileViTEncoder");
    x = MobileNet(x, 0, 1, 1);
    x = MobileNet(x, 1, 2, 3);
    const bool wide4 = s_.stride == 8, wide5 = wide4 || s_.stride == 16;
    const int64_t width4 = wide4 ? 2 : 1, width5 = wide5 ? 2 * width4 : 1;
    x = Layer(x, 0, 2, 1);
    x = Layer(x, 1, 4, width4);
    return Layer(x, 2, 3, width5);
  }

  struct Step {
    int64_t in, out, kernel = 1, stride = 1, groups = 1, dilation = 1;
    bool bias = false;
  };
  Tensor Conv(const Tensor& x, const std::string& name, const Step& step) {
    return Conv(x, name, step, s_.activation);
  }
  // With a norm, and with this function if any.
  Tensor Conv(const Tensor& x, const std::string& name, const Step& step,
              absl::string_view function) {
    const Scope layer(b_, name, "MobileViTConvLayer");
    const Tensor y = BatchNorm(b_, Plain(x, step), "normalization", step.out);
    return function.empty() ? y : Activate(b_, y, function);
  }
  Tensor PlainConv(const Tensor& x, const std::string& name, const Step& step) {
    const Scope layer(b_, name, "MobileViTConvLayer");
    return Plain(x, step);
  }

  // For each place of the last image, what is around it: [batch, labels, h, w].
  Tensor Segment(const Tensor& x) {
    const Scope head(b_, "segmentation_head", "MobileViTDeepLabV3");
    Tensor y;
    {
      const Scope aspp(b_, "aspp", "MobileViTASPP");
      const int64_t in = s_.necks[kNecks - 2], out = s_.head;
      std::vector<Tensor> found = {Conv(x, "convs.0", {in, out}, "relu")};
      for (size_t i = 0; i < kRates; ++i) {
        const Step step = {.in = in, .out = out, .kernel = 3, .dilation = s_.rates[i]};
        found.push_back(Conv(x, absl::StrCat("convs.", i + 1), step, "relu"));
      }
      {
        const Scope pooling(b_, absl::StrCat("convs.", kRates + 1), "MobileViTASPPPooling");
        y = Conv(b_->Op("GlobalAveragePool", {x}), "conv_1x1", {in, out}, "relu");
        found.push_back(Resized(y, sides_));
      }
      const auto parts = static_cast<int64_t>(found.size());
      y = Conv(Concat(b_, found, 1), "project", {parts * out, out}, "relu");
    }
    return PlainConv(y, "classifier", {.in = s_.head, .out = s_.labels, .bias = true});
  }

  const Sides& sides() const { return sides_; }

 private:
  Tensor Plain(const Tensor& x, const Step& s) {
    const Scope scope(b_, "convolution", "Conv2d");
    const int64_t pad = (s.kernel - 1) / 2 * s.dilation;
    std::vector<Tensor> inputs = {
        x, b_->Weight("weight", {s.out, s.in / s.groups, s.kernel, s.kernel})};
    if (s.bias) inputs.push_back(b_->Weight("bias", {s.out}));
    return b_->Op("Conv", inputs,
                  {{"kernel_shape", std::vector<int64_t>{s.kernel, s.kernel}},
                   {"strides", std::vector<int64_t>{s.stride, s.stride}},
                   {"dilations", std::vector<int64_t>{s.dilation, s.dilation}},
                   {"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                   {"group", s.groups}});
  }

  Tensor Resized(const Tensor& x, const Sides& to) {
    return b_->Op("Resize", {x, "", "", b_->Ints({to.height, to.width})},
                  {{"mode", std::string("linear")}, {"axes", std::vector<int64_t>{2, 3}}});
  }

  Tensor MobileNet(Tensor x, size_t layer, int64_t stride, int64_t count) {
    const Scope scope(b_, absl::StrCat("layer.", layer), "MobileViTMobileNetLayer");
    int64_t in = s_.necks[layer];
    const int64_t out = s_.necks[layer + 1];
    for (int64_t i = 0; i < count; ++i) {
      x = Inverted(x, absl::StrCat("layer.", i),
                   {.in = in, .out = out, .stride = i == 0 ? stride : 1});
      in = out;
    }
    return x;
  }

  Tensor Inverted(const Tensor& x, const std::string& name, const Step& s) {
    const Scope scope(b_, name, "MobileViTInvertedResidual");
    const int64_t inner = s_.Expanded(s.in);
    Tensor y = Conv(x, "expand_1x1", {s.in, inner});
    y = Conv(y, "conv_3x3", {inner, inner, 3, s.stride, inner, s.dilation});
    y = Conv(y, "reduce_1x1", {inner, s.out}, "");
    if (s.stride == 2) sides_ = {(sides_.height + 1) / 2, (sides_.width + 1) / 2};
    return s.stride == 1 && s.in == s.out ? Add(b_, x, y) : y;
  }

  // With a transformer of so many layers. `wide`: 2 and more in place of half the image.
  Tensor Layer(const Tensor& image, size_t i, int64_t count, int64_t wide) {
    const Scope scope(b_, absl::StrCat("layer.", i + 2), "MobileViTLayer");
    const int64_t in = s_.necks[i + 2], out = s_.necks[i + 3], w = s_.widths[i];
    const Step smaller = {.in = in,
                          .out = out,
                          .stride = wide == 1 ? 2 : 1,
                          .dilation = std::max<int64_t>(1, wide / 2)};
    const Tensor x = Inverted(image, "downsampling_layer", smaller);
    Tensor y = Conv(x, "conv_kxk", {out, out, s_.kernel});
    y = PlainConv(y, "conv_1x1", {out, w});
    const int64_t p = s_.patch;
    const Sides whole = {(sides_.height + p - 1) / p * p, (sides_.width + p - 1) / p * p};
    const bool fits = whole.height == sides_.height && whole.width == sides_.width;
    if (!fits) y = Resized(y, whole);
    const int64_t rows = whole.height / p, columns = whole.width / p;
    y = Transpose(b_, Reshape(b_, y, {-1, p, columns, p}), {0, 2, 1, 3});
    y = Transpose(b_, Reshape(b_, y, {-1, w, rows * columns, p * p}), {0, 3, 2, 1});
    y = Transformer(Reshape(b_, y, {-1, rows * columns, w}), i, count);
    y = LayerNorm(b_, y, "layernorm", w);
    y = Transpose(b_, Reshape(b_, y, {-1, p * p, rows * columns, w}), {0, 3, 2, 1});
    y = Transpose(b_, Reshape(b_, y, {-1, columns, p, p}), {0, 2, 1, 3});
    y = Reshape(b_, y, {-1, w, whole.height, whole.width});
    if (!fits) y = Resized(y, sides_);
    y = Conv(y, "conv_projection", {w, out});
    return Conv(Concat(b_, {x, y}, 1), "fusion", {2 * out, out, s_.kernel});
  }

  Tensor Transformer(Tensor x, size_t i, int64_t count) {
    const Scope scope(b_, "transformer", "MobileViTTransformer");
    const int64_t w = s_.widths[i], inner = s_.Inner(i);
    for (int64_t k = 0; k < count; ++k) {
      const Scope layer(b_, absl::StrCat("layer.", k), "MobileViTTransformerLayer");
      x = Add(b_, Attend(LayerNorm(b_, x, "layernorm_before", w), w), x);
      Tensor y = LayerNorm(b_, x, "layernorm_after", w);
      {
        const Scope first(b_, "intermediate", "MobileViTIntermediate");
        y = Activate(b_, Linear(b_, y, "dense", w, inner, true), s_.activation);
      }
      const Scope second(b_, "output", "MobileViTOutput");
      x = Add(b_, Linear(b_, y, "dense", inner, w, true), x);
    }
    return x;
  }

  Tensor Attend(const Tensor& x, int64_t w) {
    const Scope attention(b_, "attention", "MobileViTAttention");
    Tensor y;
    {
      const Scope self(b_, "attention", "MobileViTSelfAttention");
      const Tensor q = Linear(b_, x, "query", w, w, s_.bias);
      const Tensor k = Linear(b_, x, "key", w, w, s_.bias);
      const Tensor v = Linear(b_, x, "value", w, w, s_.bias);
      y = Attention(b_, q, k, v, {s_.heads, s_.heads, w / s_.heads});
    }
    const Scope output(b_, "output", "MobileViTSelfOutput");
    return Linear(b_, y, "dense", w, w, true);
  }

  GraphBuilder* b_;
  const MobileVitShape& s_;
  Sides sides_ = {1, 1};  // of the current image
};

void ReadSegments(const Config& config, MobileVitShape* s) {
  s->head = config.Size("aspp_out_channels", 256);
  s->rates = config.SizesOr("atrous_rates", {6, 12, 18});
  if (s->rates.size() != kRates) config.Fault("atrous_rates", "should be three numbers");
  for (const int64_t rate : s->rates) {
    if (rate > kMaxPatchSize) config.Fault("atrous_rates", "is too large");
  }
}

}  // namespace

absl::StatusOr<std::string> BuildMobileVit(const Config& config) {
  MobileVitShape s = ReadMobileVit(config);
  const std::string root = config.RequireArchitecture(
      {"MobileViTForImageClassification", "MobileViTForSemanticSegmentation", "MobileViTModel"});
  const bool segments = root == "MobileViTForSemanticSegmentation";
  if (segments) ReadSegments(config, &s);
  if (root != "MobileViTModel") s.labels = config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels =
      b.Input("pixel_values", dtype, {"batch", s.channels, s.image.height, s.image.width});
  const int64_t last = s.necks[kNecks - 1];
  MobileVitBuilder builder(&b, s);
  Tensor x, pooled;
  {
    std::optional<Scope> model;
    if (s.labels > 0) model.emplace(&b, "mobilevit", "MobileViTModel");
    x = builder.Build(pixels);
    if (!segments) {
      x = builder.Conv(x, "conv_1x1_exp", {s.necks[kNecks - 2], last});
      pooled = b.Op("ReduceMean", {x, b.Ints({-2, -1})}, {{"keepdims", int64_t{0}}});
    }
  }
  const Sides sides = builder.sides();
  if (segments) {
    b.Output("logits", builder.Segment(x), dtype, {"batch", s.labels, sides.height, sides.width});
  } else if (s.labels > 0) {
    b.Output("logits", Linear(&b, pooled, "classifier", last, s.labels, true), dtype,
             {"batch", s.labels});
  } else {
    b.Output("last_hidden_state", x, dtype, {"batch", last, sides.height, sides.width});
    b.Output("pooler_output", pooled, dtype, {"batch", last});
  }
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
