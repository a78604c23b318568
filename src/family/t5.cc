// T5: an encoder and a decoder with biases by relative position.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/base/quote.h"
#include "src/family/blocks.h"
#include "src/family/families.h"

namespace onnxflops::family {
namespace {

struct T5Shape {
  int64_t vocab, width, inner, feed_forward, heads, head_dim, buckets;
  bool gated = false;
  std::string activation;
};

T5Shape ReadT5(const Config& config) {
  T5Shape s;
  s.vocab = config.Size("vocab_size", 32128);
  s.width = config.Size("d_model", 512);
  s.head_dim = config.Size("d_kv", 64);
  s.heads = config.Size("num_heads", 8);
  s.feed_forward = config.Size("d_ff", 2048);
  s.buckets = config.Size("relative_attention_num_buckets", 32);
  s.inner = s.heads * s.head_dim;
  const std::string projection = config.Text("feed_forward_proj", "relu");
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
  Stack(GraphBuilder* b, const T5Shape& shape, bool decoder)
      : b_(b), s_(shape), decoder_(decoder) {}

  // `other`: what the encoder gave, for a decoder.
  Tensor Run(Tensor x, int64_t layers, const Tensor& other) {
    for (int64_t i = 0; i < layers; ++i) {
      const Scope block(b_, absl::StrCat("block.", i), "T5Block");
      int part = 0;
      x = Attend(x, x, "SelfAttention", part++, i == 0);
      if (decoder_) x = Attend(x, other, "EncDecAttention", part++, false);
      x = FeedForward(x, part);
    }
    return RmsNorm(b_, x, "final_layer_norm", s_.width, "T5LayerNorm");
  }

 private:
  Tensor Attend(const Tensor& x, const Tensor& keys, const char* name, int part, bool first) {
    const bool self = x == keys;
    const Scope layer(b_, absl::StrCat("layer.", part),
                      self ? "T5LayerSelfAttention" : "T5LayerCrossAttention");
    const Tensor normed = RmsNorm(b_, x, "layer_norm", s_.width, "T5LayerNorm");
    Tensor y;
    {
      const Scope attention(b_, name, "T5Attention");
      const Tensor& source = self ? normed : keys;
      const Tensor q = Linear(b_, normed, "q", s_.width, s_.inner, false);
      const Tensor k = Linear(b_, source, "k", s_.width, s_.inner, false);
      const Tensor v = Linear(b_, source, "v", s_.width, s_.inner, false);
      if (first) bias_ = PositionBias(normed);
      const bool causal = self && decoder_;
      y = Attention(b_, q, k, v, {s_.heads, s_.heads, s_.head_dim, causal}, self ? bias_ : "");
      y = Linear(b_, y, "o", s_.inner, s_.width, false);
    }
    return Add(b_, x, y);
  }

  // [1, heads, seq, seq], which all layers share. Distances are clamped to the table, which is
  // simpler than the reference's logarithmic buckets and of the same size.
  Tensor PositionBias(const Tensor& x) {
    const Tensor at = Positions(b_, x, 1);
    const Tensor rows = b_->Op("Unsqueeze", {at, b_->Ints({1})});
    const Tensor columns = b_->Op("Unsqueeze", {at, b_->Ints({0})});
    const Tensor distance = b_->Op("Abs", {b_->Op("Sub", {columns, rows})});
    const Tensor bucket = b_->Op("Min", {distance, b_->Scalar(s_.buckets - 1)});
    const Tensor bias = Embedding(b_, bucket, "relative_attention_bias", s_.buckets, s_.heads);
    return b_->Op("Unsqueeze", {Transpose(b_, bias, {2, 0, 1}), b_->Ints({0})});
  }

  Tensor FeedForward(const Tensor& x, int part) {
    const Scope layer(b_, absl::StrCat("layer.", part), "T5LayerFF");
    Tensor y = RmsNorm(b_, x, "layer_norm", s_.width, "T5LayerNorm");
    {
      const Scope dense(b_, "DenseReluDense",
                        s_.gated ? "T5DenseGatedActDense" : "T5DenseActDense");
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
  const bool decoder_;
  Tensor bias_;
};

}  // namespace

absl::StatusOr<std::string> BuildT5(const Config& config) {
  const T5Shape s = ReadT5(config);
  const int64_t layers = config.Layers("num_layers", 6);
  const int64_t decoder_layers = config.Layers("num_decoder_layers", layers);
  const bool tied = config.Flag("tie_word_embeddings", true);
  const std::string root = config.RequireArchitecture({"T5ForConditionalGeneration", "T5Model"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  const Tensor decoder_ids = b.Input("decoder_input_ids", DType::kInt64, {"batch", "decoder_seq"});
  Tensor table;
  Tensor encoded = Embedding(&b, ids, "shared", s.vocab, s.width, &table);
  {
    const Scope encoder(&b, "encoder", "T5Stack");
    encoded = Stack(&b, s, false).Run(encoded, layers, "");
  }
  Tensor x = Embedding(&b, decoder_ids, "shared", s.vocab, s.width);
  {
    const Scope decoder(&b, "decoder", "T5Stack");
    x = Stack(&b, s, true).Run(x, decoder_layers, encoded);
  }
  if (root == "T5Model") {
    b.Output("last_hidden_state", x, dtype, {"batch", "decoder_seq", s.width});
    return std::move(b).Finish();
  }
  x = tied ? TiedLinear(&b, x, "lm_head", table)
           : Linear(&b, x, "lm_head", s.width, s.vocab, false);
  b.Output("logits", x, dtype, {"batch", "decoder_seq", s.vocab});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
