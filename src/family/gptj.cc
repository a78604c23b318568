// GPT-J: attention and MLP side by side behind one norm.
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct GptjShape {
  int64_t vocab, positions, width, inner, layers, heads, rotary_dim;
  std::string activation;
};

GptjShape ReadGptj(const Config& config) {
  GptjShape s;
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

Tensor GptjBlock(GraphBuilder* b, const Tensor& x, const Rotation& angles, const GptjShape& s,
                 int64_t index) {
  const Scope block(b, absl::StrCat("h.", index), "GPTJBlock");
  const int64_t h = s.width;
  const Tensor normed = LayerNorm(b, x, "ln_1", h);
  Tensor attended;
  {
    const Scope attention(b, "attn", "GPTJAttention");
    Tensor q = Linear(b, normed, "q_proj", h, h, false);
    Tensor k = Linear(b, normed, "k_proj", h, h, false);
    const Tensor v = Linear(b, normed, "v_proj", h, h, false);
    q = Rotate(b, q, angles, s.heads, s.rotary_dim, /*interleaved=*/true);
    k = Rotate(b, k, angles, s.heads, s.rotary_dim, /*interleaved=*/true);
    AttentionShape shape = {s.heads, s.heads, h / s.heads, true};
    shape.cache = index;
    attended = Linear(b, Attention(b, q, k, v, shape), "out_proj", h, h, false);
  }
  Tensor y;
  {
    const Scope mlp(b, "mlp", "GPTJMLP");
    y = Mlp(b, normed, h, s.inner, s.activation, {"fc_in", "fc_out"});
  }
  return Add(b, Add(b, attended, y), x);
}

}  // namespace

absl::StatusOr<std::string> BuildGptj(const Config& config) {
  const GptjShape s = ReadGptj(config);
  const LanguageModel model = {.with_head = "GPTJForCausalLM",
                               .without_head = "GPTJModel",
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
        const Rotation angles =
            RotaryAngles(b, positions, s.rotary_dim, "rotary_emb", "GPTJRotaryEmbedding");
        for (int64_t i = 0; i < s.layers; ++i) x = GptjBlock(b, x, angles, s, i);
        return LayerNorm(b, x, "ln_f", s.width);
      });
}

}  // namespace onnxflops::family
