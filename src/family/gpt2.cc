// GPT-2, and the first GPT: the latter has norms behind each part, and keeps no keys.
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct Gpt2Shape {
  int64_t vocab, positions, width, inner, layers, heads;
  std::string activation;
};

Gpt2Shape ReadGpt2(const Config& config) {
  Gpt2Shape s;
  s.vocab = config.Size("vocab_size", 50257);
  s.positions = config.Size("n_positions", 1024);
  s.width = config.Size("n_embd", 768);
  s.layers = config.Layers("n_layer", 12);
  s.heads = config.Size("n_head", 12);
  s.inner = config.Size("n_inner", 4 * s.width);
  s.activation = ReadActivation(config, "activation_function", "gelu_new");
  config.RequireDivisible("n_embd", s.width, "n_head", s.heads);
  return s;
}

Tensor Conv1d(GraphBuilder* b, const Tensor& x, const char* name, int64_t in, int64_t out) {
  const Scope scope(b, name, "Conv1D");
  return Add(b, b->Op("MatMul", {x, b->Weight("weight", {in, out})}), b->Weight("bias", {out}));
}

Tensor BuildBlock(GraphBuilder* b, Tensor x, const Gpt2Shape& s, int64_t index) {
  const Scope block(b, absl::StrCat("h.", index), "GPT2Block");
  Tensor y = LayerNorm(b, x, "ln_1", s.width);
  {
    const Scope attention(b, "attn", "GPT2Attention");
    y = Conv1d(b, y, "c_attn", s.width, 3 * s.width);
    const std::vector<Tensor> qkv = Split(b, y, {s.width, s.width, s.width}, -1);
    AttentionShape shape = {s.heads, s.heads, s.width / s.heads, true};
    shape.cache = index;
    y = Attention(b, qkv[0], qkv[1], qkv[2], shape);
    y = Conv1d(b, y, "c_proj", s.width, s.width);
  }
  x = Add(b, x, y);
  y = LayerNorm(b, x, "ln_2", s.width);
  {
    const Scope mlp(b, "mlp", "GPT2MLP");
    y = Activate(b, Conv1d(b, y, "c_fc", s.width, s.inner), s.activation);
    y = Conv1d(b, y, "c_proj", s.inner, s.width);
  }
  return Add(b, x, y);
}

Tensor OpenAiGptBlock(GraphBuilder* b, Tensor x, const Gpt2Shape& s, int64_t index) {
  const Scope block(b, absl::StrCat("h.", index), "Block");
  Tensor y;
  {
    const Scope attention(b, "attn", "Attention");
    y = Conv1d(b, x, "c_attn", s.width, 3 * s.width);
    const std::vector<Tensor> qkv = Split(b, y, {s.width, s.width, s.width}, -1);
    y = Attention(b, qkv[0], qkv[1], qkv[2], {s.heads, s.heads, s.width / s.heads, true});
    y = Conv1d(b, y, "c_proj", s.width, s.width);
  }
  x = LayerNorm(b, Add(b, x, y), "ln_1", s.width);
  {
    const Scope mlp(b, "mlp", "MLP");
    y = Activate(b, Conv1d(b, x, "c_fc", s.width, s.inner), s.activation);
    y = Conv1d(b, y, "c_proj", s.inner, s.width);
  }
  return LayerNorm(b, Add(b, x, y), "ln_2", s.width);
}

// Its gelu is the approximate one.
Gpt2Shape ReadOpenAiGpt(const Config& config) {
  Gpt2Shape s;
  s.vocab = config.Size("vocab_size", 40478);
  s.positions = config.Size("n_positions", 512);
  s.width = config.Size("n_embd", 768);
  s.layers = config.Layers("n_layer", 12);
  s.heads = config.Size("n_head", 12);
  s.inner = 4 * s.width;
  s.activation = ReadActivation(config, "afn", "gelu");
  if (s.activation == "gelu") {
    s.activation = "gelu_new";
  } else if (s.activation != "relu" && s.activation != "silu" && s.activation != "swish") {
    config.Fault("afn", "should be gelu, relu, silu or swish");
  }
  config.RequireDivisible("n_embd", s.width, "n_head", s.heads);
  return s;
}

// Where GPT and GPT-2 differ.
struct GptNames {
  const char *with_head, *without_head, *tokens, *positions;
  Tensor (*block)(GraphBuilder* b, Tensor x, const Gpt2Shape& s, int64_t index);
  const char* final_norm;  // nullptr: none
};

absl::StatusOr<std::string> BuildGpt(const Config& config, const Gpt2Shape& s,
                                     const GptNames& names) {
  const LanguageModel model = {.with_head = names.with_head,
                               .without_head = names.without_head,
                               .body = "transformer",
                               .vocab = s.vocab,
                               .hidden = s.width,
                               .tied = config.Flag("tie_word_embeddings", true)};
  return CausalModel(
      config, model,
      [&](GraphBuilder* b, const Tensor& ids, const Tensor& positions, Tensor* table) {
        b->LimitDim("seq", s.positions);
        Tensor x = Embedding(b, ids, names.tokens, s.vocab, s.width, table);
        x = Add(b, x, Embedding(b, positions, names.positions, s.positions, s.width));
        for (int64_t i = 0; i < s.layers; ++i) x = names.block(b, x, s, i);
        return names.final_norm == nullptr ? x : LayerNorm(b, x, names.final_norm, s.width);
      });
}

}  // namespace

absl::StatusOr<std::string> BuildGpt2(const Config& config) {
  return BuildGpt(config, ReadGpt2(config),
                  {"GPT2LMHeadModel", "GPT2Model", "wte", "wpe", BuildBlock, "ln_f"});
}

absl::StatusOr<std::string> BuildOpenAiGpt(const Config& config) {
  return BuildGpt(config, ReadOpenAiGpt(config),
                  {"OpenAIGPTLMHeadModel", "OpenAIGPTModel", "tokens_embed", "positions_embed",
                   OpenAiGptBlock, nullptr});
}

}  // namespace onnxflops::family
