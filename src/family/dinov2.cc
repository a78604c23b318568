// DINOv2: a ViT with learned scales after each part, and gated MLPs in its largest model.
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"
#include "src/family/clip.h"

namespace onnxflops::family {
namespace {

struct DinoShape {
  int64_t hidden, layers, heads, inner;
  bool bias, gated, masks;
  std::string activation;
  ImageShape image;
};

DinoShape ReadDino(const Config& config) {
  DinoShape s;
  s.hidden = config.Size("hidden_size", 768);
  s.layers = config.Layers("num_hidden_layers", 12);
  s.heads = config.Size("num_attention_heads", 12);
  s.gated = config.Flag("use_swiglu_ffn", false);
  s.masks = config.Flag("use_mask_token", true);
  s.bias = config.Flag("qkv_bias", true);
  s.activation = ReadActivation(config, "hidden_act", "gelu");
  s.image = ReadImage(config, 224, 14);
  const double inner = static_cast<double>(s.hidden) * config.Real("mlp_ratio", 4);
  if (inner < 1 || inner > static_cast<double>(kMaxConfigSize)) {
    config.Fault("mlp_ratio", "makes an MLP of no size");
  } else {
    s.inner = static_cast<int64_t>(inner);
    // Two thirds, rounded up to a multiple of 8.
    if (s.gated) s.inner = (static_cast<int64_t>(inner * 2 / 3) + 7) / 8 * 8;
  }
  config.RequireDivisible("hidden_size", s.hidden, "num_attention_heads", s.heads);
  return s;
}

Tensor Scaled(GraphBuilder* b, const Tensor& x, const char* name, int64_t width) {
  const Scope scale(b, name, "Dinov2LayerScale");
  return Mul(b, x, b->Weight("lambda1", {width}));
}

Tensor DinoMlp(GraphBuilder* b, const Tensor& x, const DinoShape& s) {
  const Scope mlp(b, "mlp", s.gated ? "Dinov2SwiGLUFFN" : "Dinov2MLP");
  if (!s.gated) return Mlp(b, x, s.hidden, s.inner, s.activation);
  const Tensor gate = Activate(b, Linear(b, x, "gate_proj", s.hidden, s.inner, true), "silu");
  const Tensor y = Mul(b, gate, Linear(b, x, "up_proj", s.hidden, s.inner, true));
  return Linear(b, y, "down_proj", s.inner, s.hidden, true);
}

Tensor DinoLayer(GraphBuilder* b, Tensor x, const DinoShape& s) {
  const int64_t h = s.hidden;
  Tensor y = LayerNorm(b, x, "norm1", h);
  {
    const Scope attention(b, "attention", "Dinov2Attention");
    const Tensor q = Linear(b, y, "q_proj", h, h, s.bias);
    const Tensor k = Linear(b, y, "k_proj", h, h, s.bias);
    const Tensor v = Linear(b, y, "v_proj", h, h, s.bias);
    y = Linear(b, Attention(b, q, k, v, {s.heads, s.heads, h / s.heads}), "o_proj", h, h, true);
  }
  x = Add(b, Scaled(b, y, "layer_scale1", h), x);
  y = DinoMlp(b, LayerNorm(b, x, "norm2", h), s);
  return Add(b, Scaled(b, y, "layer_scale2", h), x);
}

Tensor DinoEmbeddings(GraphBuilder* b, const Tensor& pixels, const DinoShape& s) {
  const Scope embeddings(b, "embeddings", "Dinov2Embeddings");
  const int64_t h = s.hidden;
  Tensor x;
  {
    const Scope patches(b, "patch_embeddings", "Dinov2PatchEmbeddings");
    x = PatchEmbedding(b, pixels, s.image, h, "projection", true);
  }
  if (s.masks) b->Weight("mask_token", {1, h});  // for training; no node reads it
  const Tensor first = RepeatForBatch(b, b->Weight("cls_token", {1, 1, h}), x, {1, h});
  x = Concat(b, {first, x}, 1);
  return Add(b, x, b->Weight("position_embeddings", {1, s.image.Patches() + 1, h}));
}

}  // namespace

absl::StatusOr<std::string> BuildDinov2(const Config& config) {
  const DinoShape s = ReadDino(config);
  const std::string root = config.RequireArchitecture({"Dinov2Model"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  Tensor x = DinoEmbeddings(&b, PixelValues(&b, s.image), s);
  {
    const Scope encoder(&b, "encoder", "Dinov2Encoder");
    for (int64_t i = 0; i < s.layers; ++i) {
      const Scope layer(&b, absl::StrCat("layer.", i), "Dinov2Layer");
      x = DinoLayer(&b, x, s);
    }
  }
  x = LayerNorm(&b, x, "layernorm", s.hidden);
  b.Output("last_hidden_state", x, dtype, {"batch", s.image.Patches() + 1, s.hidden});
  b.Output("pooler_output", TakeToken(&b, x, 0), dtype, {"batch", s.hidden});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
