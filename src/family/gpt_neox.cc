#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/builders.h"
#include "src/family/decoder_families.h"

namespace onnxflops::family {
namespace {

struct NeoxShape {
  DecoderShape base;
  bool parallel = true, bias = true;
};

NeoxShape ReadNeox(const Config& config) {
  NeoxShape s;
  DecoderShape& d = s.base;
  d.vocab = config.Size("vocab_size", 50432);
  d.hidden = config.Size("hidden_size", 6144);
  d.layers = config.Layers("num_hidden_layers", 44);
  d.heads = d.kv_heads = config.Size("num_attention_heads", 64);
  d.intermediate = config.Size("intermediate_size", 24576);
  d.activation = ReadActivation(config, "hidden_act", "gelu");
  d.tied = config.Flag("tie_word_embeddings", false);
  if (config.Has("rotary_emb_base")) config.Real("rotary_emb_base", 1);  // it changes no size
  s.parallel = config.Flag("use_parallel_residual", true);
  s.bias = config.Flag("attention_bias", true);
  config.RequireDivisible("hidden_size", d.hidden, "num_attention_heads", d.heads);
  d.head_dim = d.hidden / d.heads;
  ReadRotaryPart(config, "rotary_pct", 0.25, &d);
  return s;
}

Tensor NeoxAttention(GraphBuilder* b, const Tensor& x, const NeoxShape& s, const Rotation& angles,
                     int64_t index) {
  const Scope attention(b, "attention", "GPTNeoXAttention");
  const DecoderShape& d = s.base;
  const int64_t h = d.hidden;
  const Tensor all = Linear(b, x, "query_key_value", h, 3 * h, s.bias);
  const std::vector<Tensor> qkv = Split(b, all, {h, h, h}, -1);
  const Tensor q = Rotate(b, qkv[0], angles, d.heads, d.rotary_dim);
  const Tensor k = Rotate(b, qkv[1], angles, d.heads, d.rotary_dim);
  AttentionShape shape = {d.heads, d.heads, d.head_dim, true};
  shape.cache = index;
  return Linear(b, Attention(b, q, k, qkv[2], shape), "dense", h, h, s.bias);
}

Tensor NeoxLayer(GraphBuilder* b, const Tensor& x, const NeoxShape& s, const Rotation& angles,
                 int64_t index) {
  const Scope layer(b, absl::StrCat("layers.", index), "GPTNeoXLayer");
  const DecoderShape& d = s.base;
  const Tensor attended =
      NeoxAttention(b, LayerNorm(b, x, "input_layernorm", d.hidden), s, angles, index);
  const Tensor middle = s.parallel ? x : Add(b, attended, x);
  Tensor y = LayerNorm(b, middle, "post_attention_layernorm", d.hidden);
  {
    const Scope mlp(b, "mlp", "GPTNeoXMLP");
    y = Activate(b, Linear(b, y, "dense_h_to_4h", d.hidden, d.intermediate, true), d.activation);
    y = Linear(b, y, "dense_4h_to_h", d.intermediate, d.hidden, true);
  }
  y = Add(b, y, middle);
  return s.parallel ? Add(b, y, attended) : y;
}

}  // namespace

absl::StatusOr<std::string> BuildGptNeox(const Config& config) {
  const NeoxShape s = ReadNeox(config);
  const DecoderShape& d = s.base;
  const LanguageModel model = {.with_head = "GPTNeoXForCausalLM",
                               .without_head = "GPTNeoXModel",
                               .body = "gpt_neox",
                               .vocab = d.vocab,
                               .hidden = d.hidden,
                               .tied = d.tied};
  return CausalModel(
      config, model,
      [&](GraphBuilder* b, const Tensor& ids, const Tensor& positions, Tensor* table) {
        Tensor x = Embedding(b, ids, "embed_in", d.vocab, d.hidden, table);
        const Rotation angles = RotaryAngles(b, positions, d.rotary_dim);
        for (int64_t i = 0; i < d.layers; ++i) x = NeoxLayer(b, x, s, angles, i);
        return LayerNorm(b, x, "final_layer_norm", d.hidden);
      });
}

}  // namespace onnxflops::family
