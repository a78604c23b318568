// Transformers over patches of an image: ViT, EVA, EVA-02 and the Perception Encoder.
//
// One tower builds them all. A row of kVits has the sizes of a model of timm, and points to a
// TimmStyle, which tells how its structure differs: class token or none, where the norms are, one
// projection for q, k and v or three, rotary positions, a gated MLP, and the pool at the end.
// Modules are named as in timm. The last norm comes before the pool, except for an average
// ("fc_norm"), unless the style says that it stays in front.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/timm.h"

namespace onnxflops::family {

const TimmStyle kEva = {.model = "Eva",
                        .block = "EvaBlock",
                        .attention = "EvaAttention",
                        .pool = "avg",
                        .qkv = TimmQkv::kFusedNoKeyBias};
const TimmStyle kEva02 = {.model = "Eva",
                          .block = "EvaBlock",
                          .attention = "EvaAttention",
                          .pool = "token",
                          .qkv = TimmQkv::kSplit,
                          .gated = true,
                          .inner_norms = true,
                          .rotary = true};
const TimmStyle kEvaPostNorm = {.model = "Eva",
                                .block = "EvaBlockPostNorm",
                                .attention = "EvaAttention",
                                .pool = "token",
                                .qkv = TimmQkv::kFusedNoKeyBias,
                                .post_norm = true};

namespace {

constexpr TimmStyle kSiglip = {.model = "VisionTransformer",
                               .block = "Block",
                               .attention = "Attention",
                               .pool = "map",
                               .class_token = false};
constexpr TimmStyle kClip = {.model = "VisionTransformer",
                             .block = "Block",
                             .attention = "Attention",
                             .pool = "token",
                             .pre_norm = true};
constexpr TimmStyle kGap = {.model = "VisionTransformer",
                            .block = "Block",
                            .attention = "Attention",
                            .pool = "avg",
                            .class_token = false,
                            .qkv_bias = false,
                            .layer_scale = true,
                            .norm_pools = true};
constexpr TimmStyle kPerception = {.model = "Eva",
                                   .block = "EvaBlock",
                                   .attention = "AttentionRope",
                                   .pool = "map",
                                   .pre_norm = true,
                                   .rotary = true,
                                   .pool_heads = 8};
constexpr TimmStyle kPerceptionNoClass = {.model = "Eva",
                                          .block = "EvaBlock",
                                          .attention = "AttentionRope",
                                          .pool = "map",
                                          .class_token = false,
                                          .pre_norm = true,
                                          .rotary = true,
                                          .pool_heads = 8};

constexpr const char* kTanh = "gelu_new";
constexpr TimmVit kVits[] = {
    {"vit_base_patch16_siglip_224", 224, 16, 768, 12, 12, 3072, &kSiglip},
    {"vit_base_patch16_siglip_256", 256, 16, 768, 12, 12, 3072, &kSiglip},
    {"vit_base_patch16_siglip_384", 384, 16, 768, 12, 12, 3072, &kSiglip},
    {"vit_base_patch16_siglip_512", 512, 16, 768, 12, 12, 3072, &kSiglip},
    {"vit_base_patch32_siglip_256", 256, 32, 768, 12, 12, 3072, &kSiglip, kTanh},
    {"vit_large_patch16_siglip_256", 256, 16, 1024, 24, 16, 4096, &kSiglip},
    {"vit_large_patch16_siglip_384", 384, 16, 1024, 24, 16, 4096, &kSiglip},
    {"vit_large_patch16_siglip_512", 512, 16, 1024, 24, 16, 4096, &kSiglip, kTanh},
    {"vit_so400m_patch14_siglip_224", 224, 14, 1152, 27, 16, 4304, &kSiglip},
    {"vit_so400m_patch14_siglip_378", 378, 14, 1152, 27, 16, 4304, &kSiglip},
    {"vit_so400m_patch14_siglip_384", 384, 14, 1152, 27, 16, 4304, &kSiglip},
    {"vit_so400m_patch16_siglip_256", 256, 16, 1152, 27, 16, 4304, &kSiglip, kTanh},
    {"vit_so400m_patch16_siglip_384", 384, 16, 1152, 27, 16, 4304, &kSiglip, kTanh},
    {"vit_so400m_patch16_siglip_512", 512, 16, 1152, 27, 16, 4304, &kSiglip, kTanh},
    {"vit_giantopt_patch16_siglip_256", 256, 16, 1536, 40, 16, 6144, &kSiglip, kTanh},
    {"vit_giantopt_patch16_siglip_384", 384, 16, 1536, 40, 16, 6144, &kSiglip, kTanh},
    {"vit_large_patch14_clip_224", 224, 14, 1024, 24, 16, 4096, &kClip},
    {"vit_medium_patch16_gap_256", 256, 16, 512, 12, 8, 2048, &kGap},
    {"eva_giant_patch14_224", 224, 14, 1408, 40, 16, 6144, &kEva},
    {"eva02_base_patch16_clip_224", 224, 16, 768, 12, 12, 2048, &kEva02},
    {"eva02_large_patch14_clip_224", 224, 14, 1024, 24, 16, 2730, &kEva02},
    {"eva02_large_patch14_clip_336", 336, 14, 1024, 24, 16, 2730, &kEva02},
    {"eva02_enormous_patch14_clip_224", 224, 14, 1792, 64, 16, 15360, &kEvaPostNorm},
    {"vit_pe_core_tiny_patch16_384", 384, 16, 192, 12, 3, 768, &kPerception},
    {"vit_pe_core_small_patch16_384", 384, 16, 384, 12, 6, 1536, &kPerception},
    {"vit_pe_core_base_patch16_224", 224, 16, 768, 12, 12, 3072, &kPerception},
    {"vit_pe_core_large_patch14_336", 336, 14, 1024, 24, 16, 4096, &kPerception},
    {"vit_pe_core_gigantic_patch14_448", 448, 14, 1536, 50, 16, 8960, &kPerceptionNoClass},
};

class VitTower {
 public:
  VitTower(GraphBuilder* b, const TimmVit& shape, int64_t image)
      : b_(b), s_(shape), t_(*shape.style), image_({3, image, shape.patch}) {}

  Tensor Run(const Tensor& pixels, absl::string_view pool) {
    Tensor x = Embed(pixels);
    if (t_.rotary) angles_ = Angles(x);
    for (int64_t i = 0; i < s_.layers; ++i) {
      const Scope block(b_, absl::StrCat("blocks.", i), t_.block);
      x = Branch(x, 1, [&](const Tensor& y) { return Attend(y); });
      x = Branch(x, 2,
                 [&](const Tensor& y) { return t_.gated ? GatedMlp(y) : PlainMlp(y, s_.inner); });
    }
    const bool norm_behind = pool == "avg" && !t_.norm_pools;
    if (!norm_behind) x = LayerNorm(b_, x, "norm", s_.width);
    x = Pool(x, pool);
    return norm_behind ? LayerNorm(b_, x, "fc_norm", s_.width) : x;
  }

 private:
  int64_t Prefix() const { return t_.class_token ? 1 : 0; }

  Tensor Embed(const Tensor& pixels) {
    const int64_t w = s_.width;
    Tensor x;
    {
      const Scope patches(b_, "patch_embed", "PatchEmbed");
      x = PatchEmbedding(b_, pixels, image_, w, "proj", !t_.pre_norm);
    }
    if (t_.class_token) {
      x = Concat(b_, {RepeatForBatch(b_, b_->Weight("cls_token", {1, 1, w}), x, {1, w}), x}, 1);
    }
    x = Add(b_, x, b_->Weight("pos_embed", {1, image_.Patches() + Prefix(), w}));
    return t_.pre_norm ? LayerNorm(b_, x, "norm_pre", w) : x;
  }

  // Adds the output of `module` to x, with the norm and the layer scale of this number.
  template <typename Module>
  Tensor Branch(const Tensor& x, int number, const Module& module) {
    const std::string norm = absl::StrCat("norm", number);
    Tensor y = t_.post_norm ? module(x) : module(LayerNorm(b_, x, norm, s_.width));
    if (t_.post_norm) y = LayerNorm(b_, y, norm, s_.width);
    if (t_.layer_scale) y = LayerScale(b_, y, absl::StrCat("ls", number), s_.width);
    return Add(b_, x, y);
  }

  std::vector<Tensor> Qkv(const Tensor& x) {
    const int64_t w = s_.width;
    if (t_.qkv == TimmQkv::kSplit) {
      return {Linear(b_, x, "q_proj", w, w, true), Linear(b_, x, "k_proj", w, w, false),
              Linear(b_, x, "v_proj", w, w, true)};
    }
    Tensor all;
    if (t_.qkv == TimmQkv::kFused) {
      all = Linear(b_, x, "qkv", w, 3 * w, t_.qkv_bias);
    } else {
      // The reference implementation calls no module here: it puts the bias together first.
      const Tensor zeros = b_->Op("ConstantOfShape", {b_->Ints({w})});
      all = Add(b_, b_->Op("MatMul", {x, b_->Weight("qkv.weight", {w, 3 * w})}),
                Concat(b_, {b_->Weight("q_bias", {w}), zeros, b_->Weight("v_bias", {w})}, 0));
    }
    return Split(b_, all, {w, w, w}, -1);
  }

  Tensor Attend(const Tensor& x) {
    const Scope attention(b_, "attn", t_.attention);
    const std::vector<Tensor> qkv = Qkv(x);
    const int64_t w = s_.width, dim = w / s_.heads;
    Tensor y = Attention(b_, Turned(qkv[0]), Turned(qkv[1]), qkv[2], {s_.heads, s_.heads, dim});
    if (t_.inner_norms) y = LayerNorm(b_, y, "norm", w);
    return Linear(b_, y, "proj", w, w, true);
  }

  // cos and sin for each patch: the first half of the pairs by its row, the others by its column.
  Rotation Angles(const Tensor& x) {
    const Scope scope(b_, "rope", "RotaryEmbeddingCat");
    const int64_t side = image_.size / image_.patch, bands = s_.width / s_.heads / 4;
    const Tensor places = b_->Op("Range", {b_->Scalar(0), b_->Scalar(side), b_->Scalar(1)});
    const Tensor at = b_->Op("Cast", {places}, {{"to", static_cast<int64_t>(b_->dtype())}});
    const Tensor column = b_->Op("Unsqueeze", {at, b_->Ints({-1})});
    const Tensor angles = Mul(b_, column, b_->Table(bands));
    const auto grid = [&](const char* function) {
      const Tensor line = b_->Op(function, {angles}), sizes = b_->Ints({side, side, bands});
      const Tensor rows = b_->Op("Expand", {b_->Op("Unsqueeze", {line, b_->Ints({1})}), sizes});
      const Tensor columns = b_->Op("Expand", {b_->Op("Unsqueeze", {line, b_->Ints({0})}), sizes});
      const Tensor both = Reshape(b_, Concat(b_, {rows, columns}, -1), {1, -1, 2 * bands});
      return RepeatForBatch(b_, both, x, {image_.Patches(), 2 * bands});
    };
    return {grid("Cos"), grid("Sin")};
  }

  // Rotates the patches. The class token has no place in the image and stays.
  Tensor Turned(const Tensor& x) {
    if (!t_.rotary) return x;
    const int64_t dim = s_.width / s_.heads;
    if (!t_.class_token) return Rotate(b_, x, angles_, s_.heads, dim, /*interleaved=*/true);
    const std::vector<Tensor> parts = Split(b_, x, {1, image_.Patches()}, 1);
    return Concat(b_, {parts[0], Rotate(b_, parts[1], angles_, s_.heads, dim, true)}, 1);
  }

  Tensor PlainMlp(const Tensor& x, int64_t inner) {
    const Scope mlp(b_, "mlp", "Mlp");
    return Mlp(b_, x, s_.width, inner, s_.activation);
  }

  Tensor GatedMlp(const Tensor& x) {
    const Scope mlp(b_, "mlp", "SwiGLU");
    const Tensor gate = Linear(b_, x, "fc1_g", s_.width, s_.inner, true);
    Tensor y = Linear(b_, x, "fc1_x", s_.width, s_.inner, true);
    y = Mul(b_, Activate(b_, gate, "silu"), y);
    if (t_.inner_norms) y = LayerNorm(b_, y, "norm", s_.inner);
    return Linear(b_, y, "fc2", s_.inner, s_.width, true);
  }

  Tensor Pool(const Tensor& x, absl::string_view pool) {
    if (pool == "token") return TakeToken(b_, x, 0);
    if (pool == "map") return AttentionPool(x);
    const Tensor ends = b_->Ints({image_.Patches() + Prefix()});
    const Tensor patches = b_->Op("Slice", {x, b_->Ints({Prefix()}), ends, b_->Ints({1})});
    return b_->Op("ReduceMean", {patches, b_->Ints({1})}, {{"keepdims", int64_t{0}}});
  }

  // One learned query over all tokens, and an MLP.
  Tensor AttentionPool(const Tensor& x) {
    const Scope pool(b_, "attn_pool", "AttentionPoolLatent");
    const int64_t w = s_.width, heads = t_.pool_heads > 0 ? t_.pool_heads : s_.heads;
    const Tensor latent = RepeatForBatch(b_, b_->Weight("latent", {1, 1, w}), x, {1, w});
    const Tensor q = Linear(b_, latent, "q", w, w, true);
    const std::vector<Tensor> kv = Split(b_, Linear(b_, x, "kv", w, 2 * w, true), {w, w}, -1);
    Tensor y = Attention(b_, q, kv[0], kv[1], {heads, heads, w / heads});
    y = Linear(b_, y, "proj", w, w, true);
    const int64_t inner = t_.pool_heads > 0 ? 4 * w : s_.inner;
    return TakeToken(b_, Add(b_, y, PlainMlp(LayerNorm(b_, y, "norm", w), inner)), 0);
  }

  GraphBuilder* b_;
  const TimmVit& s_;
  const TimmStyle& t_;
  const ImageShape image_;
  Rotation angles_;
};

}  // namespace

const TimmVit* FindTimmVit(absl::string_view name) {
  for (const TimmVit& row : kVits) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Tensor BuildTimmVit(GraphBuilder* b, const Tensor& pixels, const TimmVit& s, int64_t image,
                    absl::string_view pool) {
  return VitTower(b, s, image).Run(pixels, pool);
}

}  // namespace onnxflops::family
