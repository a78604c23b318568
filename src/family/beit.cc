// BEiT: a ViT whose scores have a bias by the distance of two patches.
//
// How it works. The bias is a table of distances, one for all layers or one for each. The reference
// implementation resizes the table to the image before it looks up a row for each pair of patches,
// also where the sizes are the same. The class token has three rows of its own. Patches are pooled
// by their mean or as the class token.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/builders.h"
#include "src/family/clip.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

struct BeitShape {
  EncoderShape encoder;
  ImageShape image;
  bool mask_token, positions, biased, shared, mean;  // biased: in each layer
  bool scaled;                                       // a learned scale after each part
  int64_t Side() const { return image.size / image.patch; }
};

BeitShape ReadBeit(const Config& config) {
  BeitShape s;
  s.encoder = ReadEncoder(config, 768, 12, 12, 3072, "gelu");
  s.image = ReadImage(config, 224, 16);
  s.mask_token = config.Flag("use_mask_token", false);
  s.positions = config.Flag("use_absolute_position_embeddings", false);
  s.biased = config.Flag("use_relative_position_bias", false);
  s.shared = config.Flag("use_shared_relative_position_bias", false);
  s.mean = config.Flag("use_mean_pooling", true);
  s.scaled = config.NotNegative("layer_scale_init_value", 0.1) > 0;
  if ((s.biased || s.shared) && s.Side() > kMaxPatchSize) {
    config.Fault("image_size", "is too large");
  }
  return s;
}

class BeitBuilder {
 public:
  BeitBuilder(GraphBuilder* b, const BeitShape& shape) : b_(b), s_(shape) {}

  Tensor Build(const Tensor& pixels) {
    Tensor x = Embed(pixels);
    Tensor shared;
    if (s_.shared) shared = Bias("shared_position_bias");
    for (int64_t i = 0; i < s_.encoder.layers; ++i) {
      const Scope layer(b_, absl::StrCat("layers.", i), "BeitLayer");
      x = Layer(x, shared);
    }
    return s_.mean ? x : LayerNorm(b_, x, "layernorm", s_.encoder.hidden);
  }

  Tensor Pool(const Tensor& x) {
    const Scope pooler(b_, "pooler", "BeitPooler");
    if (!s_.mean) return TakeToken(b_, x, 0);
    const Tensor y = b_->Op("ReduceMean", {Patches(x), b_->Ints({1})}, {{"keepdims", int64_t{0}}});
    return LayerNorm(b_, y, "layernorm", s_.encoder.hidden);
  }

  // Without the class token.
  Tensor Patches(const Tensor& x) {
    const Tensor end = b_->Ints({s_.image.Patches() + 1});
    return b_->Op("Slice", {x, b_->Ints({1}), end, b_->Ints({1})});
  }

 private:
  Tensor Embed(const Tensor& pixels) {
    const Scope embeddings(b_, "embeddings", "BeitEmbeddings");
    const int64_t h = s_.encoder.hidden;
    Tensor x;
    {
      const Scope patches(b_, "patch_embeddings", "BeitPatchEmbeddings");
      x = PatchEmbedding(b_, pixels, s_.image, h, "projection", true);
    }
    if (s_.mask_token) b_->Weight("mask_token", {1, 1, h});  // no node reads it without a mask
    const Tensor first = RepeatForBatch(b_, b_->Weight("cls_token", {1, 1, h}), x, {1, h});
    x = Concat(b_, {first, x}, 1);
    if (!s_.positions) return x;
    return Add(b_, x, b_->Weight("position_embeddings", {1, s_.image.Patches() + 1, h}));
  }

  // [1, heads, n, n] for n tokens.
  Tensor Bias(const char* name) {
    const Scope scope(b_, name, "BeitRelativePositionBias");
    const int64_t heads = s_.encoder.heads, side = 2 * s_.Side() - 1, n = s_.image.Patches() + 1;
    constexpr int64_t kOfClass = 3;
    const Tensor table =
        b_->Weight("relative_position_bias_table", {side * side + kOfClass, heads});
    const std::vector<Tensor> parts = Split(b_, table, {side * side, kOfClass}, 0);
    Tensor rows = Transpose(b_, Reshape(b_, parts[0], {1, side, side, heads}), {0, 3, 1, 2});
    rows = b_->Op("Resize", {rows, "", "", b_->Ints({side, side})},
                  {{"mode", std::string("linear")}, {"axes", std::vector<int64_t>{2, 3}}});
    rows = Reshape(b_, ChannelsLast(b_, rows), {side * side, heads});
    rows = b_->Op("Gather", {Concat(b_, {rows, parts[1]}, 0), b_->IndexTable(n * n)});
    rows = Transpose(b_, Reshape(b_, rows, {n, n, heads}), {2, 0, 1});
    return b_->Op("Unsqueeze", {rows, b_->Ints({0})});
  }

  Tensor Scaled(const Tensor& x, const char* name) {
    return s_.scaled ? Mul(b_, b_->Weight(name, {s_.encoder.hidden}), x) : x;
  }

  Tensor Layer(const Tensor& x, const Tensor& shared) {
    const int64_t h = s_.encoder.hidden, heads = s_.encoder.heads;
    Tensor bias = shared;
    if (s_.biased) {
      bias = Bias("relative_position_bias");
      if (!shared.empty()) bias = Add(b_, bias, shared);
    }
    Tensor y = LayerNorm(b_, x, "layernorm_before", h);
    {
      const Scope attention(b_, "attention", "BeitAttention");
      const Tensor q = Linear(b_, y, "q_proj", h, h, true),
                   k = Linear(b_, y, "k_proj", h, h, false);
      const Tensor v = Linear(b_, y, "v_proj", h, h, true);
      y = Attention(b_, q, k, v, {heads, heads, h / heads}, bias);
      y = Linear(b_, y, "o_proj", h, h, true);
    }
    const Tensor sum = Add(b_, Scaled(y, "lambda_1"), x);
    y = LayerNorm(b_, sum, "layernorm_after", h);
    {
      const Scope mlp(b_, "mlp", "BeitMLP");
      y = Mlp(b_, y, h, s_.encoder.intermediate, s_.encoder.activation);
    }
    return Add(b_, Scaled(y, "lambda_2"), sum);
  }

  GraphBuilder* b_;
  const BeitShape& s_;
};

}  // namespace

absl::StatusOr<std::string> BuildBeit(const Config& config) {
  const BeitShape s = ReadBeit(config);
  const std::string root = config.RequireArchitecture(
      {"BeitForImageClassification", "BeitForMaskedImageModeling", "BeitModel"});
  const bool masked = root == "BeitForMaskedImageModeling", whole = root == "BeitModel";
  const int64_t labels = masked ? config.Size("vocab_size", 8192) : whole ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = PixelValues(&b, s.image);
  const int64_t h = s.encoder.hidden, patches = s.image.Patches();
  BeitBuilder builder(&b, s);
  Tensor x, pooled;
  {
    std::optional<Scope> model;
    if (!whole) model.emplace(&b, "beit", "BeitModel");
    x = builder.Build(pixels);
    if (!masked) pooled = builder.Pool(x);
  }
  if (masked) {
    x = builder.Patches(LayerNorm(&b, x, "layernorm", h));
    b.Output("logits", Linear(&b, x, "lm_head", h, labels, true), dtype,
             {"batch", patches, labels});
  } else if (!whole) {
    b.Output("logits", Linear(&b, pooled, "classifier", h, labels, true), dtype, {"batch", labels});
  } else {
    b.Output("last_hidden_state", x, dtype, {"batch", patches + 1, h});
    b.Output("pooler_output", pooled, dtype, {"batch", h});
  }
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
