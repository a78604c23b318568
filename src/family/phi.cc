// Phi-1 and Phi-2: attention and MLP in parallel, after one norm.
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/builders.h"
#include "src/family/decoder_families.h"

namespace onnxflops::family {
namespace {

// Over each head of [batch, seq, heads * head_dim].
Tensor PhiHeadNorm(GraphBuilder* b, const Tensor& x, const char* name, int64_t heads,
                   const DecoderShape& s) {
  if (!s.head_norms) return x;
  const Tensor split = Reshape(b, x, {0, 0, heads, s.head_dim});
  return Reshape(b, LayerNorm(b, split, name, s.head_dim), {0, 0, heads * s.head_dim});
}

Tensor PhiAttention(GraphBuilder* b, const Tensor& x, const DecoderShape& s, const Rotation& angles,
                    int64_t index) {
  const Scope attention(b, "self_attn", "PhiAttention");
  const int64_t h = s.hidden, width = s.heads * s.head_dim, kv_width = s.kv_heads * s.head_dim;
  Tensor q = Linear(b, x, "q_proj", h, width, true);
  Tensor k = Linear(b, x, "k_proj", h, kv_width, true);
  const Tensor v = Linear(b, x, "v_proj", h, kv_width, true);
  q = PhiHeadNorm(b, q, "q_layernorm", s.heads, s);
  k = PhiHeadNorm(b, k, "k_layernorm", s.kv_heads, s);
  q = Rotate(b, q, angles, s.heads, s.rotary_dim);
  k = Rotate(b, k, angles, s.kv_heads, s.rotary_dim);
  AttentionShape shape = {s.heads, s.kv_heads, s.head_dim, true};
  shape.cache = index;
  return Linear(b, Attention(b, q, k, v, shape), "dense", width, h, true);
}

Tensor PhiLayer(GraphBuilder* b, const Tensor& x, const DecoderShape& s, const Rotation& angles,
                int64_t index) {
  const Scope layer(b, absl::StrCat("layers.", index), "PhiDecoderLayer");
  const Tensor normed = LayerNorm(b, x, "input_layernorm", s.hidden);
  const Tensor attended = PhiAttention(b, normed, s, angles, index);
  const Scope mlp(b, "mlp", "PhiMLP");
  Tensor y = Activate(b, Linear(b, normed, "fc1", s.hidden, s.intermediate, true), s.activation);
  y = Linear(b, y, "fc2", s.intermediate, s.hidden, true);
  return Add(b, Add(b, attended, y), x);
}

constexpr DecoderFamily kPhi = {
    .model_type = "phi",
    .prefix = "Phi",
    .sizes = {.vocab = 51200, .hidden = 2048, .intermediate = 8192, .layers = 24},
    .heads = {.queries = 32},
    .activation = "gelu_new",
    .rotary_part = 0.5};

}  // namespace

absl::StatusOr<std::string> BuildPhi(const Config& config) {
  DecoderShape s = ReadDecoder(config, kPhi);
  s.head_norms = config.Flag("qk_layernorm", false);
  const LanguageModel model = {.with_head = "PhiForCausalLM",
                               .without_head = "PhiModel",
                               .vocab = s.vocab,
                               .hidden = s.hidden,
                               .tied = s.tied,
                               .head_bias = true};
  return CausalModel(
      config, model,
      [&](GraphBuilder* b, const Tensor& ids, const Tensor& positions, Tensor* table) {
        Tensor x = Embedding(b, ids, "embed_tokens", s.vocab, s.hidden, table);
        const Rotation angles = RotaryAngles(b, positions, s.rotary_dim);
        for (int64_t i = 0; i < s.layers; ++i) x = PhiLayer(b, x, s, angles, i);
        return LayerNorm(b, x, "final_layernorm", s.hidden);
      });
}

}  // namespace onnxflops::family
