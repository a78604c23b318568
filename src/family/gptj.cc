// GPT-J and CodeGen: attention and MLP side by side behind one norm.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct GptjShape {
  int64_t vocab, positions, width, inner, layers, heads, rotary_dim;
  std::string activation;
  std::string prefix;  // of classes
  bool fused = false;  // one projection of queries, keys and values: CodeGen
};

GptjShape ReadGptj(const Config& config, const char* prefix) {
  GptjShape s;
  s.prefix = prefix;
  s.vocab = config.Size("vocab_size", 50400);
  s.positions = config.Size("n_positions", 2048);
  s.width = config.Size("n_embd", 4096);
  s.layers = config.Layers("n_layer", 28);
  s.heads = config.Size("n_head", 16);
  s.inner = config.Size("n_inner", 4 * s.width);
  s.rotary_dim = config.Size("rotary_dim", 64);
  s.activation = ReadActivation(config, "activation_function", "gelu_new");
  config.RequireDivisible("n_embd", s.width, "n_head", s.heads);
  if (config.HasNull("rotary_dim")) config.Fault("rotary_dim", "is null, and no size");
  if (s.rotary_dim % 2 != 0 || s.rotary_dim > s.width / s.heads) {
    config.Fault("rotary_dim", absl::StrCat("should be even, and at most ", s.width / s.heads));
  }
  return s;
}

// In four parts, one after the other: queries, values and keys of each.
std::vector<Tensor> FusedQkv(GraphBuilder* b, const Tensor& x, int64_t width) {
  constexpr int64_t kParts = 4;
  const int64_t part = width / kParts;
  const Tensor all =
      Reshape(b, Linear(b, x, "qkv_proj", width, 3 * width, false), {0, 0, kParts, 3 * part});
  std::vector<Tensor> found = Split(b, all, {part, part, part}, -1);
  for (Tensor& y : found) y = Reshape(b, y, {0, 0, width});
  return {found[0], found[2], found[1]};
}

Tensor GptjBlock(GraphBuilder* b, const Tensor& x, const Rotation& angles, const GptjShape& s,
                 int64_t index) {
  const Scope block(b, absl::StrCat("h.", index), absl::StrCat(s.prefix, "Block"));
  const int64_t h = s.width;
  const Tensor normed = LayerNorm(b, x, "ln_1", h);
  Tensor attended;
  {
    const Scope attention(b, "attn", absl::StrCat(s.prefix, "Attention"));
    std::vector<Tensor> qkv;
    if (s.fused) {
      qkv = FusedQkv(b, normed, h);
    } else {
      qkv = {Linear(b, normed, "q_proj", h, h, false), Linear(b, normed, "k_proj", h, h, false),
             Linear(b, normed, "v_proj", h, h, false)};
    }
    Tensor q = qkv[0], k = qkv[1];
    q = Rotate(b, q, angles, s.heads, s.rotary_dim, /*interleaved=*/true);
    k = Rotate(b, k, angles, s.heads, s.rotary_dim, /*interleaved=*/true);
    AttentionShape shape = {s.heads, s.heads, h / s.heads, true};
    shape.cache = index;
    attended = Linear(b, Attention(b, q, k, qkv[2], shape), "out_proj", h, h, false);
  }
  Tensor y;
  {
    const Scope mlp(b, "mlp", absl::StrCat(s.prefix, "MLP"));
    y = Mlp(b, normed, h, s.inner, s.activation, {"fc_in", "fc_out"});
  }
  return Add(b, Add(b, attended, y), x);
}

absl::StatusOr<std::string> BuildGptjModel(const Config& config, const GptjShape& s) {
  const LanguageModel model = {.with_head = absl::StrCat(s.prefix, "ForCausalLM"),
                               .without_head = absl::StrCat(s.prefix, "Model"),
                               .body = "transformer",
                               .vocab = s.vocab,
                               .hidden = s.width,
                               .tied = config.Flag("tie_word_embeddings", false),
                               .head_bias = true};
  return CausalModel(
      config, model,
      [&](GraphBuilder* b, const Tensor& ids, const Tensor& positions, Tensor* table) {
        b->LimitDim("seq", s.positions);
        Tensor x = Embedding(b, ids, "wte", s.vocab, s.width, table);
        const Rotation angles = RotaryAngles(b, positions, s.rotary_dim, "rotary_emb",
                                             absl::StrCat(s.prefix, "RotaryEmbedding"));
        for (int64_t i = 0; i < s.layers; ++i) x = GptjBlock(b, x, angles, s, i);
        return LayerNorm(b, x, "ln_f", s.width);
      });
}

}  // namespace

absl::StatusOr<std::string> BuildGptj(const Config& config) {
  return BuildGptjModel(config, ReadGptj(config, "GPTJ"));
}

absl::StatusOr<std::string> BuildCodeGen(const Config& config) {
  GptjShape s = ReadGptj(config, "CodeGen");
  s.fused = true;
  if (s.width % 4 != 0) config.Fault("n_embd", "is no multiple of 4");
  return BuildGptjModel(config, s);
}

}  // namespace onnxflops::family
