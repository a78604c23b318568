// OPT: learned positions, and layers with the norm before each part, or after it (350m). Tokens may
// be narrower than the layers.
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct OptShape {
  int64_t vocab, hidden, layers, heads, inner, positions, narrow;
  bool before, last_norm, bias, affine;
  std::string activation;
};

OptShape ReadOpt(const Config& config) {
  OptShape s;
  s.vocab = config.Size("vocab_size", 50272);
  s.hidden = config.Size("hidden_size", 768);
  s.layers = config.Layers("num_hidden_layers", 12);
  s.heads = config.Size("num_attention_heads", 12);
  s.inner = config.Size("ffn_dim", 3072);
  s.positions = config.Size("max_position_embeddings", 2048);
  s.narrow = config.Size("word_embed_proj_dim", s.hidden);
  s.before = config.Flag("do_layer_norm_before", true);
  const bool removed = config.Flag("_remove_final_layer_norm", false);
  s.last_norm = s.before && !removed;
  s.bias = config.Flag("enable_bias", true);
  s.affine = config.Flag("layer_norm_elementwise_affine", true);
  s.activation = ReadActivation(config, "activation_function", "relu");
  config.RequireDivisible("hidden_size", s.hidden, "num_attention_heads", s.heads);
  return s;
}

Tensor OptNorm(GraphBuilder* b, const Tensor& x, const char* name, const OptShape& s) {
  if (s.affine) return LayerNorm(b, x, name, s.hidden);
  const Scope scope(b, name, "LayerNorm");
  return b->Op("MeanVarianceNormalization", {x}, {{"axes", std::vector<int64_t>{-1}}});
}

Tensor OptAttention(GraphBuilder* b, const Tensor& x, const OptShape& s, int64_t index) {
  const Scope attention(b, "self_attn", "OPTAttention");
  const int64_t h = s.hidden;
  const Tensor q = Linear(b, x, "q_proj", h, h, s.bias), k = Linear(b, x, "k_proj", h, h, s.bias);
  const Tensor v = Linear(b, x, "v_proj", h, h, s.bias);
  AttentionShape shape = {s.heads, s.heads, h / s.heads, true};
  shape.cache = index;
  return Linear(b, Attention(b, q, k, v, shape), "out_proj", h, h, s.bias);
}

Tensor OptLayer(GraphBuilder* b, Tensor x, const OptShape& s, int64_t index) {
  const Scope layer(b, absl::StrCat("layers.", index), "OPTDecoderLayer");
  const auto norm = [&](const Tensor& y, const char* name, bool here) {
    return here ? OptNorm(b, y, name, s) : y;
  };
  Tensor y = OptAttention(b, norm(x, "self_attn_layer_norm", s.before), s, index);
  x = norm(Add(b, x, y), "self_attn_layer_norm", !s.before);
  y = norm(x, "final_layer_norm", s.before);
  y = Activate(b, Linear(b, y, "fc1", s.hidden, s.inner, s.bias), s.activation);
  y = Linear(b, y, "fc2", s.inner, s.hidden, s.bias);
  return norm(Add(b, x, y), "final_layer_norm", !s.before);
}

// The first two positions are not used.
Tensor OptPlaces(GraphBuilder* b, const Tensor& positions, const OptShape& s) {
  const Scope scope(b, "embed_positions", "OPTLearnedPositionalEmbedding");
  const Tensor table = b->Weight("weight", {s.positions + 2, s.hidden});
  return b->Op("Gather", {table, Add(b, positions, b->Scalar(2))});
}

Tensor BuildOptDecoder(GraphBuilder* b, const Tensor& ids, const Tensor& positions,
                       const OptShape& s, Tensor* table) {
  const Scope decoder(b, "decoder", "OPTDecoder");
  b->LimitDim("seq", s.positions);
  Tensor x = Embedding(b, ids, "embed_tokens", s.vocab, s.narrow, table);
  const Tensor places = OptPlaces(b, positions, s);
  if (s.narrow != s.hidden) x = Linear(b, x, "project_in", s.narrow, s.hidden, false);
  x = Add(b, x, places);
  for (int64_t i = 0; i < s.layers; ++i) x = OptLayer(b, x, s, i);
  if (s.last_norm) x = OptNorm(b, x, "final_layer_norm", s);
  if (s.narrow != s.hidden) x = Linear(b, x, "project_out", s.hidden, s.narrow, false);
  return x;
}

}  // namespace

absl::StatusOr<std::string> BuildOpt(const Config& config) {
  const OptShape s = ReadOpt(config);
  const LanguageModel model = {.with_head = "OPTForCausalLM",
                               .without_head = "OPTModel",
                               .vocab = s.vocab,
                               .hidden = s.narrow,
                               .tied = config.Flag("tie_word_embeddings", true)};
  return CausalModel(config, model,
                     [&](GraphBuilder* b, const Tensor& ids, const Tensor& positions,
                         Tensor* table) { return BuildOptDecoder(b, ids, positions, s, table); });
}

}  // namespace onnxflops::family
