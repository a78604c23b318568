// T5 and mT5: an encoder and a decoder with biases by relative position.
//
// How it works. Stack builds the layers of both. A decoder layer has causal self-attention and one
// more part, attention to the encoder's output. The bias by position is computed in the first layer
// and shared by all others, as in the reference implementation. A decoding step is a separate graph
// without the encoder: keys and values of the encoder come from the cache, those of the decoder are
// its past and the new tokens. The length of the decoder's input follows the encoder's
// ("decoder_seq" = "seq") unless the user binds it.
#include "src/family/t5.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/base/quote.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct T5Defaults {
  const char* prefix;
  int64_t vocab, d_ff, layers, heads;
  const char* projection;
};
constexpr T5Defaults kT5 = {"T5", 32128, 2048, 6, 8, "relu"};
constexpr T5Defaults kMt5 = {"MT5", 250112, 1024, 8, 6, "gated-gelu"};

T5Shape ReadT5(const Config& config, const T5Defaults& defaults) {
  T5Shape s;
  s.prefix = defaults.prefix;
  s.vocab = config.Size("vocab_size", defaults.vocab);
  s.width = config.Size("d_model", 512);
  s.head_dim = config.Size("d_kv", 64);
  s.heads = config.Size("num_heads", defaults.heads);
  s.feed_forward = config.Size("d_ff", defaults.d_ff);
  s.buckets = config.Size("relative_attention_num_buckets", 32);
  s.layers = config.Layers("num_layers", defaults.layers);
  const std::string projection = config.Text("feed_forward_proj", defaults.projection);
  absl::string_view function = projection;
  s.gated = absl::ConsumePrefix(&function, "gated-");
  s.activation = s.gated && function == "gelu" ? "gelu_new" : std::string(function);
  if (function != "relu" && function != "gelu" && function != "silu") {
    config.Fault("feed_forward_proj", absl::StrCat("is ", Quoted(projection),
                                                   ": known are relu, gelu, silu and gated-gelu"));
  }
  return s;
}

class Stack {
 public:
  // `step`: a decoding step, whose cache holds the encoder's keys and values.
  Stack(GraphBuilder* b, const T5Shape& shape, bool decoder, bool step = false)
      : b_(b), s_(shape), decoder_(decoder), step_(step) {}

  // `other`: the encoder's output, for a decoder.
  Tensor Run(Tensor x, int64_t layers, const Tensor& other) {
    for (int64_t i = 0; i < layers; ++i) {
      const Scope block(b_, absl::StrCat("block.", i), Class("Block"));
      int part = 0;
      x = Attend(x, "SelfAttention", part++, [&](const Tensor& q, const Tensor& normed) {
        if (i == 0) bias_ = step_ ? StepBias(normed) : PositionBias(normed);
        return Over(q, normed, Shape(i, decoder_), bias_);
      });
      if (decoder_) {
        x = Attend(x, "EncDecAttention", part++, [&](const Tensor& q, const Tensor& /*normed*/) {
          const AttentionShape shape = {s_.heads, s_.heads, s_.head_dim};
          return step_ ? EncoderAttention(b_, q, i, shape, "seq") : Over(q, other, shape, "");
        });
      }
      x = FeedForward(x, part);
    }
    return RmsNorm(b_, x, "final_layer_norm", s_.width, Class("LayerNorm"));
  }

 private:
  std::string Class(const char* name) const { return absl::StrCat(s_.prefix, name); }

  // For attention to the stack's own tokens.
  AttentionShape Shape(int64_t layer, bool causal) const {
    AttentionShape shape = {s_.heads, s_.heads, s_.head_dim, causal};
    if (step_) shape.cache = layer;
    shape.cache_part = "decoder.";
    shape.new_tokens = "decoder_seq";
    return shape;
  }

  // Attention with the norm before it and the sum after it. `mix` attends, from queries and the
  // normed values.
  template <typename Mix>
  Tensor Attend(const Tensor& x, const char* name, int part, const Mix& mix) {
    const bool self = absl::string_view(name) == "SelfAttention";
    const Scope layer(b_, absl::StrCat("layer.", part),
                      Class(self ? "LayerSelfAttention" : "LayerCrossAttention"));
    const Tensor normed = RmsNorm(b_, x, "layer_norm", s_.width, Class("LayerNorm"));
    Tensor y;
    {
      const Scope attention(b_, name, Class("Attention"));
      y = mix(Linear(b_, normed, "q", s_.width, s_.Inner(), false), normed);
      y = Linear(b_, y, "o", s_.Inner(), s_.width, false);
    }
    return Add(b_, x, y);
  }

  Tensor Over(const Tensor& q, const Tensor& source, const AttentionShape& shape,
              const Tensor& bias) {
    const Tensor k = Linear(b_, source, "k", s_.width, s_.Inner(), false);
    const Tensor v = Linear(b_, source, "v", s_.width, s_.Inner(), false);
    return Attention(b_, q, k, v, shape, bias);
  }

  // [1, heads, seq, seq], which all layers share. Distances are clamped to the table. The reference
  // has logarithmic buckets; this is simpler, and the table and the result have the same sizes.
  Tensor PositionBias(const Tensor& x) {
    const Tensor at = Positions(b_, x, 1);
    return Bias(at, at);
  }

  // [1, heads, n, past + n].
  Tensor StepBias(const Tensor& x) {
    const StepPlaces step = PlacesOfStep(b_, x, Shape(0, true));
    return Bias(step.places, b_->Op("Range", {b_->Scalar(0), step.total, b_->Scalar(1)}));
  }

  Tensor Bias(const Tensor& of, const Tensor& over) {
    const Tensor rows = b_->Op("Unsqueeze", {of, b_->Ints({1})});
    const Tensor columns = b_->Op("Unsqueeze", {over, b_->Ints({0})});
    const Tensor distance = b_->Op("Abs", {b_->Op("Sub", {columns, rows})});
    const Tensor bucket = b_->Op("Min", {distance, b_->Scalar(s_.buckets - 1)});
    const Tensor bias = Embedding(b_, bucket, "relative_attention_bias", s_.buckets, s_.heads);
    return b_->Op("Unsqueeze", {Transpose(b_, bias, {2, 0, 1}), b_->Ints({0})});
  }

  Tensor FeedForward(const Tensor& x, int part) {
    const Scope layer(b_, absl::StrCat("layer.", part), Class("LayerFF"));
    Tensor y = RmsNorm(b_, x, "layer_norm", s_.width, Class("LayerNorm"));
    {
      const Scope dense(b_, "DenseReluDense",
                        Class(s_.gated ? "DenseGatedActDense" : "DenseActDense"));
      const Tensor in = y;
      y = Linear(b_, in, s_.gated ? "wi_0" : "wi", s_.width, s_.feed_forward, false);
      y = Activate(b_, y, s_.activation);
      if (s_.gated) y = Mul(b_, y, Linear(b_, in, "wi_1", s_.width, s_.feed_forward, false));
      y = Linear(b_, y, "wo", s_.feed_forward, s_.width, false);
    }
    return Add(b_, x, y);
  }

  GraphBuilder* b_;
  const T5Shape& s_;
  const bool decoder_, step_;
  Tensor bias_;
};

absl::StatusOr<std::string> BuildT5Like(const Config& config, const T5Defaults& defaults) {
  const T5Shape s = ReadT5(config, defaults);
  const int64_t decoder_layers = config.Layers("num_decoder_layers", s.layers);
  if (config.IsFalse("tie_word_embeddings")) {
    config.Ignore("tie_word_embeddings", "the reference implementation ties them in all of T5");
  }
  const std::string whole = absl::StrCat(s.prefix, "Model");
  const std::string root =
      config.RequireArchitecture({absl::StrCat(s.prefix, "ForConditionalGeneration"), whole});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const bool step = config.notes().decoding;
  Tensor ids;
  if (!step) ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  const Tensor decoder_ids = b.Input("decoder_input_ids", DType::kInt64, {"batch", "decoder_seq"});
  if (!step) b.FollowDim("decoder_seq", "seq");
  Tensor encoded, table;
  if (!step) {
    const Tensor words = Embedding(&b, ids, "shared", s.vocab, s.width);
    const Scope encoder(&b, "encoder", absl::StrCat(s.prefix, "Stack"));
    encoded = BuildT5Layers(&b, words, s);
  }
  Tensor x = Embedding(&b, decoder_ids, "shared", s.vocab, s.width, &table);
  {
    const Scope decoder(&b, "decoder", absl::StrCat(s.prefix, "Stack"));
    x = Stack(&b, s, true, step).Run(x, decoder_layers, encoded);
  }
  if (root == whole) {
    b.Output("last_hidden_state", x, dtype, {"batch", "decoder_seq", s.width});
    return std::move(b).Finish();
  }
  x = TiedLinear(&b, x, "lm_head", table);
  b.Output("logits", x, dtype, {"batch", "decoder_seq", s.vocab});
  return std::move(b).Finish();
}

}  // namespace

Tensor BuildT5Layers(GraphBuilder* b, const Tensor& x, const T5Shape& s) {
  return Stack(b, s, false).Run(x, s.layers, "");
}

absl::StatusOr<std::string> BuildT5(const Config& config) { return BuildT5Like(config, kT5); }
absl::StatusOr<std::string> BuildMt5(const Config& config) { return BuildT5Like(config, kMt5); }

}  // namespace onnxflops::family
