// InternVL: tiles of an image, each through a tower with layer scales, merged four to one.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/builders.h"
#include "src/family/vision_language.h"

namespace onnxflops::family {
namespace {

struct InternVl {
  ImageShape image;
  EncoderShape tower;
  bool rms_norm = false, head_norms = false, positions = true, last_norm = false;
  int64_t take = 0, merge = 2;  // merge: tokens of the tower on a side of one
  bool with_class_token = false;
  std::string activation;
  int64_t Side() const { return image.size / image.patch; }
};

int64_t ReadSide(const Config& config, const char* key, int64_t otherwise) {
  if (!config.HasList(key)) return config.Size(key, otherwise);
  const std::vector<int64_t> sides = config.Sizes(key).value_or(std::vector<int64_t>{});
  if (sides.size() == 2 && sides[0] == sides[1]) return sides[0];
  config.Fault(key, "should be a number, or two equal numbers");
  return otherwise;
}

void ReadInternVlTower(const Config& config, InternVl* s) {
  s->image = {config.Size("num_channels", 3), ReadSide(config, "image_size", 448),
              ReadSide(config, "patch_size", 14)};
  if (s->image.patch > s->image.size) config.Fault("patch_size", "is larger than the image");
  s->tower = ReadEncoder(config, 1024, 16, 24, 4096, "gelu");
  s->tower.qkv_bias = config.Flag("attention_bias", false);
  s->head_norms = config.Flag("use_qk_norm", false);
  s->positions = config.Flag("use_absolute_position_embeddings", true);
  s->last_norm = !config.Flag("use_mean_pooling", true);
  const std::string norm = config.Text("norm_type", "layer_norm");
  s->rms_norm = norm == "rms_norm";
  if (!s->rms_norm && norm != "layer_norm") {
    config.Fault("norm_type", "should be layer_norm or rms_norm");
  }
  if (config.Flag("use_mask_token", false)) config.Fault("use_mask_token", "is not known");
}

InternVl ReadInternVl(const Config& config) {
  InternVl s;
  ReadInternVlTower(PartOf(config, "vision_config", "internvl_vision"), &s);
  s.activation = ReadActivation(config, "projector_hidden_act", "gelu");
  s.take = ReadFeatureLayer(config, s.tower.layers, -1);
  const std::string strategy = config.Text("vision_feature_select_strategy", "default");
  s.with_class_token = strategy == "full";
  if (strategy != "default") config.Fault("vision_feature_select_strategy", "should be default");
  const double ratio = config.Real("downsample_ratio", 0.5);
  s.merge = ratio > 0.001 && ratio <= 1 ? static_cast<int64_t>(1 / ratio) : 0;
  if (s.merge < 1 || s.Side() % s.merge != 0 || 1.0 / static_cast<double>(s.merge) != ratio) {
    config.Fault("downsample_ratio", absl::StrCat("should be 1 by a number that divides ", s.Side(),
                                                  ", the patches on a side of a tile"));
  }
  return s;
}

class InternVlBuilder {
 public:
  InternVlBuilder(GraphBuilder* b, const InternVl& shape)
      : b_(b), s_(shape), h_(shape.tower.hidden) {}

  // [tiles, patches, hidden] of [tiles, channels, size, size].
  Tensor Tower(const Tensor& pixels) {
    const Scope tower(b_, "vision_tower", "InternVLVisionModel");
    Tensor x = Embed(pixels), taken;
    {
      const Scope encoder(b_, "encoder", "InternVLVisionEncoder");
      for (int64_t i = 0; i < s_.tower.layers; ++i) {
        if (i == s_.take) taken = x;
        x = Layer(x, i);
      }
    }
    if (s_.last_norm) x = LayerNorm(b_, x, "layernorm", h_);
    if (taken.empty()) taken = x;
    return b_->Op("Slice",
                  {taken, b_->Ints({1}), b_->Ints({s_.image.Patches() + 1}), b_->Ints({1})});
  }

  Tensor Project(Tensor x, int64_t hidden) {
    const int64_t m = s_.merge, side = s_.Side() / m, width = h_ * m * m;
    x = Transpose(b_, Reshape(b_, x, {0, side, m, side, m, h_}), {0, 1, 3, 2, 4, 5});
    x = Reshape(b_, x, {0, side * side, width});
    const Scope projector(b_, "multi_modal_projector", "InternVLMultiModalProjector");
    x = Linear(b_, LayerNorm(b_, x, "layer_norm", width), "linear_1", width, hidden, true);
    return Linear(b_, Activate(b_, x, s_.activation), "linear_2", hidden, hidden, true);
  }

 private:
  Tensor Embed(const Tensor& pixels) {
    const Scope embeddings(b_, "embeddings", "InternVLVisionEmbeddings");
    Tensor x;
    {
      const Scope patches(b_, "patch_embeddings", "InternVLVisionPatchEmbeddings");
      x = PatchEmbedding(b_, pixels, s_.image, h_, "projection", true);
    }
    const Tensor first = RepeatForBatch(b_, b_->Weight("cls_token", {1, 1, h_}), x, {1, h_});
    x = Concat(b_, {first, x}, 1);
    if (!s_.positions) return x;
    return Add(b_, x, b_->Weight("position_embeddings", {1, s_.image.Patches() + 1, h_}));
  }

  Tensor Norm(const Tensor& x, const char* name) {
    return s_.rms_norm ? RmsNorm(b_, x, name, h_, "InternVLVisionRMSNorm")
                       : LayerNorm(b_, x, name, h_);
  }

  Tensor Layer(Tensor x, int64_t index) {
    const Scope layer(b_, absl::StrCat("layer.", index), "InternVLVisionLayer");
    Tensor y = Norm(x, "layernorm_before");
    {
      const Scope attention(b_, "attention", "InternVLVisionAttention");
      const bool bias = s_.tower.qkv_bias;
      Tensor q = Linear(b_, y, "q_proj", h_, h_, bias), k = Linear(b_, y, "k_proj", h_, h_, bias);
      const Tensor v = Linear(b_, y, "v_proj", h_, h_, bias);
      if (s_.head_norms) {
        q = RmsNorm(b_, q, "q_norm", h_, "InternVLVisionRMSNorm");
        k = RmsNorm(b_, k, "k_norm", h_, "InternVLVisionRMSNorm");
      }
      y = Attention(b_, q, k, v, {s_.tower.heads, s_.tower.heads, h_ / s_.tower.heads});
      y = Linear(b_, y, "projection_layer", h_, h_, true);
    }
    x = Add(b_, x, Mul(b_, y, b_->Weight("lambda_1", {h_})));
    y = Norm(x, "layernorm_after");
    {
      const Scope mlp(b_, "mlp", "InternVLVisionMLP");
      y = Mlp(b_, y, h_, s_.tower.intermediate, s_.tower.activation);
    }
    return Add(b_, x, Mul(b_, y, b_->Weight("lambda_2", {h_})));
  }

  GraphBuilder* b_;
  const InternVl& s_;
  const int64_t h_;
};

}  // namespace

absl::StatusOr<std::string> BuildInternVl(const Config& config) {
  const InternVl s = ReadInternVl(config);
  const DecoderShape text = ReadTextOf(config, "qwen2", true);
  return VisionLanguageModel(
      config,
      {"InternVL", text, [&](GraphBuilder* b) {
         InternVlBuilder builder(b, s);
         const Tiles tiles = TilesOf(b, s.image);
         const Tensor x = builder.Project(builder.Tower(tiles.pixels), text.hidden);
         const int64_t side = s.Side() / s.merge, n = side * side;
         return ImageTokens{ByImage(b, x, tiles, n, text.hidden), absl::StrCat(n, " * tiles"), {}};
       }});
}

}  // namespace onnxflops::family
