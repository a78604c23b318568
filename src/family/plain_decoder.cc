// Decoders whose positions are added to their tokens: GPT-Neo, GPTBigCode (StarCoder), BioGPT and
// XGLM.
//
// How it works. A row of names says how the family calls its modules. Layers are the same: a norm
// before attention and one before an MLP of two layers. GPT-Neo's local layers see a window, but
// the class computes and caches all tokens and masks the rest, so windows change no count.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct PlainNames {
  const char *prefix, *layer_type;                // of classes
  const char *body, *layers, *attention, *inner;  // inner: a module in that of attention, or ""
  const char *norm1, *norm2, *final_norm, *out;
  const char *mlp, *fc1, *fc2;  // mlp: "" where there is no module around
  const char* head = "lm_head";
};
constexpr PlainNames kNeo = {.prefix = "GPTNeo",
                             .layer_type = "Block",
                             .body = "transformer",
                             .layers = "h",
                             .attention = "attn",
                             .inner = "attention",
                             .norm1 = "ln_1",
                             .norm2 = "ln_2",
                             .final_norm = "ln_f",
                             .out = "out_proj",
                             .mlp = "mlp",
                             .fc1 = "c_fc",
                             .fc2 = "c_proj"};
constexpr PlainNames kBigCode = {.prefix = "GPTBigCode",
                                 .layer_type = "Block",
                                 .body = "transformer",
                                 .layers = "h",
                                 .attention = "attn",
                                 .inner = "",
                                 .norm1 = "ln_1",
                                 .norm2 = "ln_2",
                                 .final_norm = "ln_f",
                                 .out = "c_proj",
                                 .mlp = "mlp",
                                 .fc1 = "c_fc",
                                 .fc2 = "c_proj"};
constexpr PlainNames kBioGpt = {.prefix = "BioGpt",
                                .layer_type = "DecoderLayer",
                                .body = "biogpt",
                                .layers = "layers",
                                .attention = "self_attn",
                                .inner = "",
                                .norm1 = "self_attn_layer_norm",
                                .norm2 = "final_layer_norm",
                                .final_norm = "layer_norm",
                                .out = "out_proj",
                                .mlp = "",
                                .fc1 = "fc1",
                                .fc2 = "fc2",
                                .head = "output_projection"};

constexpr PlainNames Xglm() {
  PlainNames names = kBioGpt;
  names.prefix = "XGLM";
  names.body = "model";
  names.head = "lm_head";
  return names;
}

struct PlainShape {
  PlainNames names = kNeo;
  int64_t vocab = 0, hidden = 0, layers = 0, heads = 0, kv_heads = 0, inner = 0, positions = 0;
  bool fused = false;     // queries, keys and values in one projection, c_attn
  bool qkv_bias = false;  // of others
  bool scaled = false;    // embeddings of tokens are multiplied by a number
  std::string activation;
};

class PlainBuilder {
 public:
  PlainBuilder(GraphBuilder* b, const PlainShape& shape) : b_(b), s_(shape), n_(shape.names) {}

  Tensor Layers(Tensor x) {
    for (int64_t i = 0; i < s_.layers; ++i) x = Layer(x, i);
    return LayerNorm(b_, x, n_.final_norm, s_.hidden);
  }

 private:
  std::string Class(const char* name) const { return absl::StrCat(n_.prefix, name); }

  Tensor Layer(Tensor x, int64_t index) {
    const Scope layer(b_, absl::StrCat(n_.layers, ".", index), Class(n_.layer_type));
    x = Add(b_, x, Attend(LayerNorm(b_, x, n_.norm1, s_.hidden), index));
    const Tensor y = LayerNorm(b_, x, n_.norm2, s_.hidden);
    std::optional<Scope> mlp;
    if (*n_.mlp != '\0') mlp.emplace(b_, n_.mlp, Class("MLP"));
    return Add(b_, x, Mlp(b_, y, s_.hidden, s_.inner, s_.activation, {n_.fc1, n_.fc2}));
  }

  Tensor Attend(const Tensor& x, int64_t index) {
    const Scope attention(b_, n_.attention, Class("Attention"));
    std::optional<Scope> inner;
    if (*n_.inner != '\0') inner.emplace(b_, n_.inner, Class("SelfAttention"));
    const int64_t h = s_.hidden, dim = h / s_.heads, kv = s_.kv_heads * dim;
    std::vector<Tensor> qkv;
    if (s_.fused) {
      qkv = Split(b_, Linear(b_, x, "c_attn", h, h + 2 * kv, true), {h, kv, kv}, -1);
    } else {
      qkv = {Linear(b_, x, "q_proj", h, h, s_.qkv_bias), Linear(b_, x, "k_proj", h, h, s_.qkv_bias),
             Linear(b_, x, "v_proj", h, h, s_.qkv_bias)};
    }
    AttentionShape shape = {s_.heads, s_.kv_heads, dim, true};
    shape.cache = index;
    return Linear(b_, Attention(b_, qkv[0], qkv[1], qkv[2], shape), n_.out, h, h, true);
  }

  GraphBuilder* b_;
  const PlainShape& s_;
  const PlainNames& n_;
};

using PlacesFn = Tensor (*)(GraphBuilder* b, const Tensor& positions, const PlainShape& s);

Tensor TableOfPlaces(GraphBuilder* b, const Tensor& positions, const PlainShape& s) {
  b->LimitDim("seq", s.positions);
  return Embedding(b, positions, "wpe", s.positions, s.hidden);
}

// The first two positions are not used.
Tensor BioGptPlaces(GraphBuilder* b, const Tensor& positions, const PlainShape& s) {
  b->LimitDim("seq", s.positions);
  const Scope scope(b, "embed_positions", "BioGptLearnedPositionalEmbedding");
  const Tensor table = b->Weight("weight", {s.positions + 2, s.hidden});
  return b->Op("Gather", {table, Add(b, positions, b->Scalar(2))});
}

// Sines and cosines. The class looks them up in a table, and makes more for a longer text; here
// they are made of each place, so that no text is too long.
Tensor XglmPlaces(GraphBuilder* b, const Tensor& positions, const PlainShape& s) {
  const Rotation angles = RotaryAngles(b, Add(b, positions, b->Scalar(2)), s.hidden,
                                       "embed_positions", "XGLMSinusoidalPositionalEmbedding");
  return Concat(b, {angles.sin, angles.cos}, -1);
}

absl::StatusOr<std::string> BuildPlain(const Config& config, const PlainShape& s,
                                       const char* tokens, PlacesFn places) {
  const LanguageModel model = {.with_head = absl::StrCat(s.names.prefix, "ForCausalLM"),
                               .without_head = absl::StrCat(s.names.prefix, "Model"),
                               .body = s.names.body,
                               .vocab = s.vocab,
                               .hidden = s.hidden,
                               .tied = config.Flag("tie_word_embeddings", true),
                               .head = s.names.head};
  return CausalModel(
      config, model,
      [&](GraphBuilder* b, const Tensor& ids, const Tensor& positions, Tensor* table) {
        Tensor x = Embedding(b, ids, tokens, s.vocab, s.hidden, table);
        if (s.scaled) x = Mul(b, x, Factor(b, 1));
        x = Add(b, x, places(b, positions, s));
        return PlainBuilder(b, s).Layers(x);
      });
}

struct PlainKeys {
  const char *hidden, *layers, *heads, *inner, *positions, *activation;
};
struct PlainDefaults {
  int64_t vocab, hidden, layers, heads, positions;
  int64_t inner = 0;  // 0: four times the width
  const char* activation = "gelu";
};
PlainShape ReadPlain(const Config& config, const PlainNames& names, const PlainKeys& keys,
                     const PlainDefaults& d) {
  PlainShape s;
  s.names = names;
  s.vocab = config.Size("vocab_size", d.vocab);
  s.hidden = config.Size(keys.hidden, d.hidden);
  s.layers = config.Layers(keys.layers, d.layers);
  s.heads = s.kv_heads = config.Size(keys.heads, d.heads);
  s.inner = config.Size(keys.inner, d.inner > 0 ? d.inner : 4 * s.hidden);
  s.positions = config.Size(keys.positions, d.positions);
  s.activation = ReadActivation(config, keys.activation, d.activation);
  config.RequireDivisible(keys.hidden, s.hidden, keys.heads, s.heads);
  return s;
}

}  // namespace

absl::StatusOr<std::string> BuildGptNeo(const Config& config) {
  constexpr PlainKeys kKeys = {"hidden_size",
                               "num_layers",
                               "num_heads",
                               "intermediate_size",
                               "max_position_embeddings",
                               "activation_function"};
  const PlainShape s = ReadPlain(config, kNeo, kKeys,
                                 {.vocab = 50257,
                                  .hidden = 2048,
                                  .layers = 24,
                                  .heads = 16,
                                  .positions = 2048,
                                  .activation = "gelu_new"});
  return BuildPlain(config, s, "wte", TableOfPlaces);
}

absl::StatusOr<std::string> BuildGptBigCode(const Config& config) {
  constexpr PlainKeys kKeys = {"n_embd",  "n_layer",     "n_head",
                               "n_inner", "n_positions", "activation_function"};
  PlainShape s = ReadPlain(config, kBigCode, kKeys,
                           {.vocab = 50257,
                            .hidden = 768,
                            .layers = 12,
                            .heads = 12,
                            .positions = 1024,
                            .activation = "gelu_pytorch_tanh"});
  s.fused = true;
  if (config.Flag("multi_query", true)) s.kv_heads = 1;
  if (config.Flag("add_cross_attention", false)) {
    config.Fault("add_cross_attention", "is true, which is not known");
  }
  return BuildPlain(config, s, "wte", TableOfPlaces);
}

absl::StatusOr<std::string> BuildBioGpt(const Config& config) {
  constexpr PlainKeys kKeys = {
      "hidden_size",       "num_hidden_layers",       "num_attention_heads",
      "intermediate_size", "max_position_embeddings", "hidden_act"};
  PlainShape s = ReadPlain(config, kBioGpt, kKeys,
                           {.vocab = 42384,
                            .hidden = 1024,
                            .layers = 24,
                            .heads = 16,
                            .positions = 1024,
                            .inner = 4096});
  s.qkv_bias = s.scaled = true;
  return BuildPlain(config, s, "embed_tokens", BioGptPlaces);
}

absl::StatusOr<std::string> BuildXglm(const Config& config) {
  constexpr PlainKeys kKeys = {"d_model",
                               "num_layers",
                               "attention_heads",
                               "ffn_dim",
                               "max_position_embeddings",
                               "activation_function"};
  PlainShape s = ReadPlain(config, Xglm(), kKeys,
                           {.vocab = 256008,
                            .hidden = 1024,
                            .layers = 24,
                            .heads = 16,
                            .positions = 2048,
                            .inner = 4096});
  s.qkv_bias = s.scaled = true;
  if (s.hidden % 2 != 0) config.Fault("d_model", "is odd: half of it are sines, half cosines");
  if (config.Flag("add_cross_attention", false)) {
    config.Fault("add_cross_attention", "is true, which is not known");
  }
  return BuildPlain(config, s, "embed_tokens", XglmPlaces);
}

}  // namespace onnxflops::family
