// SegFormer: four stages of attention over places of the image, and a decoder of one layer for each
// stage.
//
// How it works. A convolution with overlapping windows makes an image smaller at the start of each
// stage. Queries are all its places. Keys and values are those of the image after another
// convolution, with windows of sr_ratio places. A depthwise convolution inside the MLP takes the
// place of positions, so both sides of the image are open. For segments, the decoder brings the
// places of all stages to one width, resizes them to the first stage's size, and joins them.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

struct SegformerShape {
  std::vector<int64_t> depths, ratios, widths, patches, strides, heads, mlp_ratios;
  int64_t channels = 3, decoder = 0, labels = 0;
  std::string activation;
  bool reshaped = true;  // the last stage's output is an image
  size_t Stages() const { return depths.size(); }
};

SegformerShape ReadSegformer(const Config& config) {
  SegformerShape s;
  s.channels = config.Size("num_channels", 3);
  s.depths = ReadDepths(config, "depths", {2, 2, 2, 2});
  const size_t n = s.Stages();
  s.ratios = ReadStages(config, "sr_ratios", {8, 4, 2, 1}, n);
  s.widths = ReadStages(config, "hidden_sizes", {32, 64, 160, 256}, n);
  s.patches = ReadStages(config, "patch_sizes", {7, 3, 3, 3}, n);
  s.strides = ReadStages(config, "strides", {4, 2, 2, 2}, n);
  s.heads = ReadStages(config, "num_attention_heads", {1, 2, 5, 8}, n);
  s.mlp_ratios = ReadStages(config, "mlp_ratios", {4, 4, 4, 4}, n);
  s.activation = ReadActivation(config, "hidden_act", "gelu");
  s.reshaped = config.Flag("reshape_last_stage", true);
  const int64_t blocks = config.Layers("num_encoder_blocks", 4);
  if (blocks != static_cast<int64_t>(n)) {
    config.Fault("num_encoder_blocks", absl::StrCat("is ", blocks, ", and depths has ", n));
  }
  for (size_t i = 0; i < n; ++i) {
    config.RequireDivisible("hidden_sizes", s.widths[i], "num_attention_heads", s.heads[i]);
    if (s.mlp_ratios[i] > kMaxConfigSize / s.widths[i]) config.Fault("mlp_ratios", "is too large");
    if (s.patches[i] > kMaxPatchSize) config.Fault("patch_sizes", "is too large");
    if (s.strides[i] > kMaxPatchSize) config.Fault("strides", "is too large");
  }
  return s;
}

class SegformerBuilder {
 public:
  SegformerBuilder(GraphBuilder* b, const SegformerShape& shape) : b_(b), s_(shape) {}

  // The output of each stage, an image; the last may be a list of places.
  std::vector<Tensor> Build(Tensor x) {
    std::vector<Tensor> found;
    for (size_t i = 0; i < s_.Stages(); ++i) {
      const Scope stage(b_, absl::StrCat("stages.", i), "SegformerStage");
      x = Stage(x, i);
      found.push_back(x);
    }
    return found;
  }

  // [batch, labels, h, w] of the first stage's size.
  Tensor Decode(const std::vector<Tensor>& stages) {
    const Scope head(b_, "decode_head", "SegformerDecodeHead");
    const int64_t d = s_.decoder;
    std::vector<Tensor> parts;
    for (size_t i = 0; i < stages.size(); ++i) {
      const Tensor height = SizeOf(b_, stages[i], 2), width = SizeOf(b_, stages[i], 3);
      Tensor x = PlacesOfImage(b_, stages[i], s_.widths[i]);
      {
        const Scope mlp(b_, absl::StrCat("linear_projections.", i), "SegformerMLP");
        x = Linear(b_, x, "proj", s_.widths[i], d, true);
      }
      x = ImageOf(x, d, height, width);
      parts.insert(parts.begin(), ResizedLike(x, stages[0]));
    }
    const auto n = static_cast<int64_t>(parts.size());
    Tensor x = Conv2d(b_, Concat(b_, parts, 1), "linear_fuse", {n * d, d, 1, 1, false});
    x = BatchNorm(b_, x, "batch_norm", d);
    {
      const Scope activation(b_, "activation", "ReLU");
      x = b_->Op("Relu", {x});
    }
    return Conv2d(b_, x, "classifier", {d, s_.labels, 1, 1, true});
  }

 private:
  // [batch, h * w, features] -> [batch, features, h, w].
  Tensor ImageOf(const Tensor& x, int64_t features, const Tensor& height, const Tensor& width) {
    const Tensor y = Transpose(b_, x, {0, 2, 1});
    return ReshapeBy(b_, y, {SizeOf(b_, x, 0), b_->Ints({features}), height, width});
  }

  Tensor ResizedLike(const Tensor& x, const Tensor& like) {
    const Tensor size = b_->Op("Shape", {like}, {{"start", int64_t{2}}, {"end", int64_t{4}}});
    return b_->Op("Resize", {x, "", "", size},
                  {{"mode", std::string("linear")}, {"axes", std::vector<int64_t>{2, 3}}});
  }

  Tensor Stage(const Tensor& image, size_t i) {
    const int64_t w = s_.widths[i];
    Tensor x;
    {
      const Scope patches(b_, "patch_embeddings", "SegformerOverlapPatchEmbeddings");
      const int64_t in = i == 0 ? s_.channels : s_.widths[i - 1], patch = s_.patches[i];
      x = Conv2d(b_, image, "proj", {in, w, patch, s_.strides[i], true, patch / 2});
      height_ = SizeOf(b_, x, 2);
      width_ = SizeOf(b_, x, 3);
      x = LayerNorm(b_, PlacesOfImage(b_, x, w), "layer_norm", w);
    }
    for (int64_t k = 0; k < s_.depths[i]; ++k) {
      const Scope layer(b_, absl::StrCat("blocks.", k), "SegformerLayer");
      x = Layer(x, i);
    }
    x = LayerNorm(b_, x, "layer_norm", w);
    if (i + 1 == s_.Stages() && !s_.reshaped) return x;
    return ImageOf(x, w, height_, width_);
  }

  Tensor Layer(Tensor x, size_t i) {
    const int64_t w = s_.widths[i], inner = w * s_.mlp_ratios[i];
    x = Add(b_, Attend(LayerNorm(b_, x, "layernorm_before", w), i), x);
    Tensor y = LayerNorm(b_, x, "layernorm_after", w);
    const Scope mlp(b_, "mlp", "SegformerMixMLP");
    y = Linear(b_, y, "fc1", w, inner, true);
    {
      const Scope conv(b_, "dwconv", "SegformerDepthWiseConv");
      y = ImageOf(y, inner, height_, width_);
      y = Conv2d(b_, y, "dwconv", {inner, inner, 3, 1, true, 1, inner});
      y = PlacesOfImage(b_, y, inner);
    }
    y = Linear(b_, Activate(b_, y, s_.activation), "fc2", inner, w, true);
    return Add(b_, y, x);
  }

  Tensor Attend(const Tensor& x, size_t i) {
    const Scope attention(b_, "attention", "SegformerAttention");
    const int64_t w = s_.widths[i], heads = s_.heads[i], ratio = s_.ratios[i];
    const Tensor q = Linear(b_, x, "q_proj", w, w, true);
    Tensor seen = x;
    if (ratio > 1) {
      const Scope reduction(b_, "sequence_reduction", "SegformerSequenceReduction");
      seen = ImageOf(x, w, height_, width_);
      seen = Conv2d(b_, seen, "sequence_reduction", {w, w, ratio, ratio, true});
      seen = LayerNorm(b_, PlacesOfImage(b_, seen, w), "layer_norm", w);
    }
    const Tensor k = Linear(b_, seen, "k_proj", w, w, true);
    const Tensor v = Linear(b_, seen, "v_proj", w, w, true);
    return Linear(b_, Attention(b_, q, k, v, {heads, heads, w / heads}), "o_proj", w, w, true);
  }

  GraphBuilder* b_;
  const SegformerShape& s_;
  Tensor height_, width_;  // of the current stage's image
};

}  // namespace

absl::StatusOr<std::string> BuildSegformer(const Config& config) {
  SegformerShape s = ReadSegformer(config);
  const std::string root = config.RequireArchitecture(
      {"SegformerForSemanticSegmentation", "SegformerForImageClassification", "SegformerModel"});
  const bool segments = root == "SegformerForSemanticSegmentation";
  if (root != "SegformerModel") s.labels = config.Labels();
  if (segments) {
    s.decoder = config.Size("decoder_hidden_size", 256);
    if (!s.reshaped) {
      config.Fault("reshape_last_stage", "is false, and segments need the last stage's image");
    }
  }
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = b.Input("pixel_values", dtype, {"batch", s.channels, "height", "width"});
  SegformerBuilder builder(&b, s);
  std::vector<Tensor> stages;
  {
    std::optional<Scope> model;
    if (s.labels > 0) model.emplace(&b, "segformer", "SegformerModel");
    stages = builder.Build(pixels);
  }
  Tensor x = stages.back();
  const int64_t width = s.widths.back();
  if (segments) {
    b.Output("logits", builder.Decode(stages), dtype, {"batch", s.labels, "rows", "columns"});
  } else if (s.labels > 0) {
    if (s.reshaped) x = Reshape(&b, ChannelsLast(&b, x), {0, -1, width});
    x = b.Op("ReduceMean", {x, b.Ints({1})}, {{"keepdims", int64_t{0}}});
    b.Output("logits", Linear(&b, x, "classifier", width, s.labels, true), dtype,
             {"batch", s.labels});
  } else if (s.reshaped) {
    b.Output("last_hidden_state", x, dtype, {"batch", width, "rows", "columns"});
  } else {
    b.Output("last_hidden_state", x, dtype, {"batch", "places", width});
  }
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
