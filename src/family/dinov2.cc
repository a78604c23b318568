// DINOv2: a ViT with learned scales after each part, and gated MLPs in its largest model. A later
// one has registers, tokens that belong to no patch.
#include <string>
#include <vector>

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
  std::string prefix;
  int64_t registers = 0, labels = 0;
  int64_t Tokens() const { return image.Patches() + 1 + registers; }
};

DinoShape ReadDino(const Config& config, bool registers) {
  DinoShape s;
  s.prefix = registers ? "Dinov2WithRegisters" : "Dinov2";
  if (registers) s.registers = config.Size("num_register_tokens", 4);
  s.hidden = config.Size("hidden_size", 768);
  s.layers = config.Layers("num_hidden_layers", 12);
  s.heads = config.Size("num_attention_heads", 12);
  s.gated = config.Flag("use_swiglu_ffn", false);
  s.masks = registers || config.Flag("use_mask_token", true);
  s.bias = config.Flag("qkv_bias", true);
  s.activation = ReadActivation(config, "hidden_act", "gelu");
  s.image = ReadImage(config, 224, registers ? 16 : 14);
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

Tensor Scaled(GraphBuilder* b, const Tensor& x, const char* name, const DinoShape& s) {
  const Scope scale(b, name, absl::StrCat(s.prefix, "LayerScale"));
  return Mul(b, x, b->Weight("lambda1", {s.hidden}));
}

Tensor DinoMlp(GraphBuilder* b, const Tensor& x, const DinoShape& s) {
  const Scope mlp(b, "mlp", absl::StrCat(s.prefix, s.gated ? "SwiGLUFFN" : "MLP"));
  if (!s.gated) return Mlp(b, x, s.hidden, s.inner, s.activation);
  const Tensor gate = Activate(b, Linear(b, x, "gate_proj", s.hidden, s.inner, true), "silu");
  const Tensor y = Mul(b, gate, Linear(b, x, "up_proj", s.hidden, s.inner, true));
  return Linear(b, y, "down_proj", s.inner, s.hidden, true);
}

Tensor DinoLayer(GraphBuilder* b, Tensor x, const DinoShape& s) {
  const int64_t h = s.hidden;
  Tensor y = LayerNorm(b, x, "norm1", h);
  {
    const Scope attention(b, "attention", absl::StrCat(s.prefix, "Attention"));
    const Tensor q = Linear(b, y, "q_proj", h, h, s.bias);
    const Tensor k = Linear(b, y, "k_proj", h, h, s.bias);
    const Tensor v = Linear(b, y, "v_proj", h, h, s.bias);
    y = Linear(b, Attention(b, q, k, v, {s.heads, s.heads, h / s.heads}), "o_proj", h, h, true);
  }
  x = Add(b, Scaled(b, y, "layer_scale1", s), x);
  y = DinoMlp(b, LayerNorm(b, x, "norm2", h), s);
  return Add(b, Scaled(b, y, "layer_scale2", s), x);
}

Tensor DinoEmbeddings(GraphBuilder* b, const Tensor& pixels, const DinoShape& s) {
  const Scope embeddings(b, "embeddings", absl::StrCat(s.prefix, "Embeddings"));
  const int64_t h = s.hidden;
  Tensor x;
  {
    const Scope patches(b, "patch_embeddings", absl::StrCat(s.prefix, "PatchEmbeddings"));
    x = PatchEmbedding(b, pixels, s.image, h, "projection", true);
  }
  if (s.masks) b->Weight("mask_token", {1, h});  // for training; no node reads it
  const int64_t patches = s.image.Patches(), n = s.registers;
  const Tensor first = RepeatForBatch(b, b->Weight("cls_token", {1, 1, h}), x, {1, h});
  x = Concat(b, {first, x}, 1);
  x = Add(b, x, b->Weight("position_embeddings", {1, patches + 1, h}));
  if (n == 0) return x;
  const Tensor registers = RepeatForBatch(b, b->Weight("register_tokens", {1, n, h}), x, {n, h});
  const std::vector<Tensor> parts = Split(b, x, {1, patches}, 1);
  return Concat(b, {parts[0], registers, parts[1]}, 1);
}

Tensor DinoBody(GraphBuilder* b, const Tensor& pixels, const DinoShape& s) {
  Tensor x = DinoEmbeddings(b, pixels, s);
  {
    const Scope encoder(b, "encoder", absl::StrCat(s.prefix, "Encoder"));
    for (int64_t i = 0; i < s.layers; ++i) {
      const Scope layer(b, absl::StrCat("layer.", i), absl::StrCat(s.prefix, "Layer"));
      x = DinoLayer(b, x, s);
    }
  }
  return LayerNorm(b, x, "layernorm", s.hidden);
}

absl::StatusOr<std::string> BuildDino(const Config& config, DinoShape s, const char* module) {
  const std::string whole = absl::StrCat(s.prefix, "Model");
  const std::string classifier = absl::StrCat(s.prefix, "ForImageClassification");
  const std::string root = config.RequireArchitecture({whole, classifier});
  if (root == classifier) s.labels = config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = PixelValues(&b, s.image);
  if (s.labels == 0) {
    const Tensor x = DinoBody(&b, pixels, s);
    b.Output("last_hidden_state", x, dtype, {"batch", s.Tokens(), s.hidden});
    b.Output("pooler_output", TakeToken(&b, x, 0), dtype, {"batch", s.hidden});
    return std::move(b).Finish();
  }
  Tensor x;
  {
    const Scope model(&b, module, whole);
    x = DinoBody(&b, pixels, s);
  }
  // The class token and the mean of the patches.
  const int64_t first = 1 + s.registers;
  const std::vector<Tensor> parts = Split(&b, x, {first, s.image.Patches()}, 1);
  const Tensor mean = b.Op("ReduceMean", {parts[1], b.Ints({1})}, {{"keepdims", int64_t{0}}});
  x = Concat(&b, {TakeToken(&b, x, 0), mean}, 1);
  b.Output("logits", Linear(&b, x, "classifier", 2 * s.hidden, s.labels, true), dtype,
           {"batch", s.labels});
  return std::move(b).Finish();
}

}  // namespace

absl::StatusOr<std::string> BuildDinov2(const Config& config) {
  return BuildDino(config, ReadDino(config, false), "dinov2");
}

absl::StatusOr<std::string> BuildDinov2WithRegisters(const Config& config) {
  return BuildDino(config, ReadDino(config, true), "dinov2_with_registers");
}

}  // namespace onnxflops::family
