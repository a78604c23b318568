// Decoders whose attention has one projection for queries, keys and values: GPT-NeoX (Pythia),
// Falcon, BLOOM, Persimmon, MPT.
//
// How it works. A row of names says how the family calls its modules. A function reads what the
// configuration leaves open: whether attention and MLP stand side by side, with one norm or two,
// how many heads of keys there are, and whether positions are rotations or a bias of the scores
// that falls with the distance (ALiBi).
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/builders.h"
#include "src/family/decoder_families.h"
#include "src/family/decoder_settings.h"

namespace onnxflops::family {
namespace {

struct FusedNames {
  const char *prefix, *layer;  // of classes
  const char *body, *embedding, *layers, *attention, *final_norm;
  const char *qkv = "query_key_value", *out = "dense";
  const char *mlp = "mlp", *up = "dense_h_to_4h", *down = "dense_4h_to_h";
  bool norm_bias = true;
};
constexpr FusedNames kNeox = {"GPTNeoX", "Layer",     "gpt_neox",        "embed_in",
                              "layers",  "attention", "final_layer_norm"};
constexpr FusedNames kFalcon = {"Falcon", "DecoderLayer",   "transformer", "word_embeddings",
                                "h",      "self_attention", "ln_f"};
constexpr FusedNames kBloom = {"Bloom", "Block",          "transformer", "word_embeddings",
                               "h",     "self_attention", "ln_f"};
constexpr FusedNames kPersimmon = {"Persimmon", "DecoderLayer", "model",          "embed_tokens",
                                   "layers",    "self_attn",    "final_layernorm"};
constexpr FusedNames kMpt = {"Mpt",     "Block",     "transformer", "wte",      "blocks",
                             "attn",    "norm_f",    "Wqkv",        "out_proj", "ffn",
                             "up_proj", "down_proj", false};

struct FusedShape : DecoderShape {
  FusedNames names = kNeox;
  bool alibi = false;           // positions are a bias, not a rotation
  bool embedding_norm = false;  // a norm of the embeddings
  bool clipped = false;         // queries, keys and values
  int64_t most_tokens = 0;      // 0: any number
  const char *norm1 = "input_layernorm", *norm2 = "post_attention_layernorm";  // nullptr: none
};

class FusedBuilder {
 public:
  FusedBuilder(GraphBuilder* b, const FusedShape& shape) : b_(b), s_(shape) {}

  Tensor Layers(Tensor x, const Tensor& positions) {
    if (s_.alibi) {
      bias_ = Alibi(x);
    } else {
      angles_ = RotaryAngles(b_, positions, s_.rotary_dim);
    }
    for (int64_t i = 0; i < s_.layers; ++i) x = Layer(x, i);
    return Norm(x, s_.names.final_norm);
  }

 private:
  AttentionShape AttentionOf(int64_t index) {
    AttentionShape shape = {s_.heads, s_.kv_heads, s_.head_dim, true};
    shape.cache = index;
    return shape;
  }

  // A slope of each head times the place of each key: [heads, 1, total].
  Tensor Alibi(const Tensor& x) {
    const Tensor total = PlacesOfStep(b_, x, AttentionOf(0)).total;
    const Tensor keys = b_->Op("Range", {b_->Scalar(0), total, b_->Scalar(1)});
    const Tensor at = b_->Op("Cast", {keys}, {{"to", static_cast<int64_t>(DType::kFloat32)}});
    const Tensor slopes = Reshape(b_, b_->Table(s_.heads), {s_.heads, 1, 1});
    const Tensor bias = Mul(b_, slopes, at);
    if (b_->dtype() == DType::kFloat32) return bias;
    return b_->Op("Cast", {bias}, {{"to", static_cast<int64_t>(b_->dtype())}});
  }

  Tensor Norm(const Tensor& x, const char* name) {
    return LayerNorm(b_, x, name, s_.hidden, s_.names.norm_bias);
  }

  Tensor HeadNorm(const Tensor& x, const char* name, int64_t heads) {
    const Tensor y = LayerNorm(b_, Reshape(b_, x, {0, 0, heads, s_.head_dim}), name, s_.head_dim);
    return Reshape(b_, y, {0, 0, heads * s_.head_dim});
  }

  Tensor Attend(const Tensor& x, int64_t index) {
    const Scope attention(b_, s_.names.attention, absl::StrCat(s_.prefix, "Attention"));
    const int64_t h = s_.hidden, kv = s_.kv_heads * s_.head_dim;
    Tensor all = Linear(b_, x, s_.names.qkv, h, h + 2 * kv, s_.qkv_bias);
    if (s_.clipped) all = b_->Op("Clip", {all, Factor(b_, -1), Factor(b_, 1)});
    const std::vector<Tensor> qkv = Split(b_, all, {h, kv, kv}, -1);
    Tensor q = qkv[0], k = qkv[1];
    if (s_.head_norms) {
      q = HeadNorm(q, "q_layernorm", s_.heads);
      k = HeadNorm(k, "k_layernorm", s_.kv_heads);
    }
    if (!s_.alibi) {
      q = Rotate(b_, q, angles_, s_.heads, s_.rotary_dim);
      k = Rotate(b_, k, angles_, s_.kv_heads, s_.rotary_dim);
    }
    const Tensor y = Attention(b_, q, k, qkv[2], AttentionOf(index), bias_);
    return Linear(b_, y, s_.names.out, h, h, s_.out_bias);
  }

  Tensor Mlp(const Tensor& x) {
    const Scope mlp(b_, s_.names.mlp, absl::StrCat(s_.prefix, "MLP"));
    const Tensor up = Linear(b_, x, s_.names.up, s_.hidden, s_.intermediate, s_.mlp_bias);
    return Linear(b_, Activate(b_, up, s_.activation), s_.names.down, s_.intermediate, s_.hidden,
                  s_.mlp_bias);
  }

  Tensor Layer(const Tensor& x, int64_t index) {
    const Scope layer(b_, absl::StrCat(s_.names.layers, ".", index),
                      absl::StrCat(s_.prefix, s_.names.layer));
    const Tensor normed = Norm(x, s_.norm1);
    const Tensor attended = Attend(normed, index);
    const Tensor middle = s_.parallel ? x : Add(b_, attended, x);
    const Tensor y = Mlp(s_.norm2 == nullptr ? normed : Norm(middle, s_.norm2));
    return s_.parallel ? Add(b_, Add(b_, y, middle), attended) : Add(b_, y, middle);
  }

  GraphBuilder* b_;
  const FusedShape& s_;
  Rotation angles_;
  Tensor bias_;
};

absl::StatusOr<std::string> BuildFused(const Config& config, const FusedShape& s) {
  LanguageModel model = LanguageModelOf(s);
  model.body = s.names.body;
  return CausalModel(
      config, model,
      [&](GraphBuilder* b, const Tensor& ids, const Tensor& positions, Tensor* table) {
        if (s.most_tokens > 0) b->LimitDim("seq", s.most_tokens);
        Tensor x = Embedding(b, ids, s.names.embedding, s.vocab, s.hidden, table);
        if (s.embedding_norm) x = LayerNorm(b, x, "word_embeddings_layernorm", s.hidden);
        return FusedBuilder(b, s).Layers(x, positions);
      });
}

// What all have; keys differ.
struct FusedKeys {
  const char *layers, *heads, *inner, *activation;
};
struct FusedDefaults {
  int64_t vocab, hidden, layers, heads;
  const char* activation = "gelu";
};
FusedShape ReadFused(const Config& config, const FusedNames& names, const FusedKeys& keys,
                     const FusedDefaults& defaults, const char* width = "hidden_size") {
  FusedShape s;
  s.names = names;
  s.prefix = names.prefix;
  s.vocab = config.Size("vocab_size", defaults.vocab);
  s.hidden = config.Size(width, defaults.hidden);
  s.layers = config.Layers(keys.layers, defaults.layers);
  s.heads = s.kv_heads = config.Size(keys.heads, defaults.heads);
  config.RequireDivisible(width, s.hidden, keys.heads, s.heads);
  s.head_dim = s.rotary_dim = s.hidden / s.heads;
  s.intermediate = 4 * s.hidden;
  if (keys.inner != nullptr) s.intermediate = config.Size(keys.inner, s.intermediate);
  s.activation = defaults.activation;
  if (keys.activation != nullptr) {
    s.activation = ReadActivation(config, keys.activation, defaults.activation);
  }
  return s;
}

// Falcon's newer models have a norm for each of attention and MLP, and groups of queries. The older
// ones have one head of keys.
void ReadFalconLayers(const Config& config, FusedShape* s) {
  s->alibi = config.Flag("alibi", false);
  s->parallel = config.Flag("parallel_attn", true);
  const bool newer = config.Flag("new_decoder_architecture", false);
  const bool one_key = config.Flag("multi_query", true);
  const int64_t norms = config.Integer("num_ln_in_parallel_attn", newer ? 2 : 1, 1);
  if (newer && !s->parallel) {
    config.Fault("parallel_attn", "is false, which new_decoder_architecture does not allow");
  }
  if (s->parallel && norms > (newer ? 2 : 1)) {
    config.Fault("num_ln_in_parallel_attn",
                 absl::StrCat("is ", norms, ": known are 1 and, with new_decoder_architecture, 2"));
  }
  if (s->parallel) s->norm2 = nullptr;
  if (s->parallel && norms == 2) s->norm1 = "ln_attn", s->norm2 = "ln_mlp";
  if (newer) s->kv_heads = config.Size("num_kv_heads", s->heads);
  if (!newer && one_key) s->kv_heads = 1;
  config.RequireDivisible("num_attention_heads", s->heads, "num_kv_heads", s->kv_heads);
}

}  // namespace

absl::StatusOr<std::string> BuildGptNeox(const Config& config) {
  constexpr FusedKeys kKeys = {"num_hidden_layers", "num_attention_heads", "intermediate_size",
                               "hidden_act"};
  FusedShape s = ReadFused(config, kNeox, kKeys, {50432, 6144, 44, 64});
  s.tied = config.Flag("tie_word_embeddings", false);
  if (config.Has("rotary_emb_base")) config.Real("rotary_emb_base", 1);  // it changes no size
  s.parallel = config.Flag("use_parallel_residual", true);
  s.qkv_bias = s.out_bias = config.Flag("attention_bias", true);
  s.mlp_bias = true;
  ReadRotaryPart(config, "rotary_pct", 0.25, &s);
  return BuildFused(config, s);
}

absl::StatusOr<std::string> BuildPersimmon(const Config& config) {
  constexpr FusedKeys kKeys = {"num_hidden_layers", "num_attention_heads", nullptr, "hidden_act"};
  FusedShape s = ReadFused(config, kPersimmon, kKeys, {262144, 4096, 36, 64, "relu2"});
  s.intermediate = config.Size("intermediate_size", 16384);
  s.tied = config.Flag("tie_word_embeddings", false);
  s.head_norms = config.Flag("qk_layernorm", true);
  s.qkv_bias = s.out_bias = s.mlp_bias = true;
  ReadRotaryPart(config, "partial_rotary_factor", 0.5, &s);
  return BuildFused(config, s);
}

absl::StatusOr<std::string> BuildFalcon(const Config& config) {
  constexpr FusedKeys kKeys = {"num_hidden_layers", "num_attention_heads", "ffn_hidden_size",
                               "activation"};
  FusedShape s = ReadFused(config, kFalcon, kKeys, {65024, 4544, 32, 71});
  s.tied = config.Flag("tie_word_embeddings", true);
  s.qkv_bias = s.out_bias = s.mlp_bias = config.Flag("bias", false);
  ReadFalconLayers(config, &s);
  if (!s.alibi && s.head_dim % 2 != 0) {
    config.Fault("hidden_size", "gives heads of an odd size: features are rotated in pairs");
  }
  return BuildFused(config, s);
}

absl::StatusOr<std::string> BuildBloom(const Config& config) {
  FusedShape s =
      ReadFused(config, kBloom, {"n_layer", "n_head", nullptr, nullptr}, {250880, 64, 2, 8});
  s.activation = "gelu_pytorch_tanh";
  s.tied = config.Flag("tie_word_embeddings", true);
  s.qkv_bias = s.out_bias = s.mlp_bias = true;
  s.alibi = s.embedding_norm = true;
  return BuildFused(config, s);
}

// The class reads neither the width of the MLP nor whether there are biases.
absl::StatusOr<std::string> BuildMpt(const Config& config) {
  FusedShape s = ReadFused(config, kMpt, {"n_layers", "n_heads", nullptr, nullptr},
                           {50368, 2048, 24, 16}, "d_model");
  s.most_tokens = config.Size("max_seq_len", 2048);
  s.tied = config.Flag("tie_word_embeddings", true);
  s.norm1 = "norm_1", s.norm2 = "norm_2";
  s.alibi = true;
  s.clipped = config.Child("attn_config").Has("clip_qkv");
  return BuildFused(config, s);
}

}  // namespace onnxflops::family
