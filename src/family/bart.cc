// BART and its kin: mBART, Marian, PEGASUS, M2M-100 (and NLLB), Blenderbot and PLBart.
//
// How it works. A row of kSeq2Seqs has what differs between them: where the norms are, which
// positions a text has, whether the embeddings have a norm. All words share one table, also with
// the output layer; Marian may have a table for each language, and then the decoder's is the one
// that is shared with the output layer. Tables of sines are parameters in some classes and buffers
// in M2M-100, which makes a longer one when a text needs it. A step of decoding is a graph of its
// own without the encoder, as T5's is: keys and values of the encoder come from the cache. A
// classifier of BART takes the last token that ends a text; its decoder reads the text itself,
// shifted by one, so both lengths are the same.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

enum class TextPlaces { kAfterPadding, kLearned, kFrozenSines, kSines };

struct Seq2SeqRow {
  const char *prefix, *with_head;
  int64_t vocab, positions, width, inner, heads, encoder_layers, decoder_layers;
  const char* activation;
  bool pre_norm, embedding_norm, last_norm;
  TextPlaces places;
  bool logits_bias, classifier;
};
constexpr Seq2SeqRow kBart = {
    "Bart", "ForConditionalGeneration", 50265, 1024, 1024, 4096, 16, 12, 12, "gelu", false, true,
    false,  TextPlaces::kAfterPadding,  true,  true};
constexpr Seq2SeqRow kMbart = {
    "MBart", "ForConditionalGeneration", 50265, 1024, 1024, 4096, 16, 12, 12, "gelu", true, true,
    true,    TextPlaces::kAfterPadding,  true,  true};
constexpr Seq2SeqRow kMarian = {
    "Marian", "MTModel", 58101,  1024,  1024,  4096,  16,
    12,       12,        "gelu", false, false, false, TextPlaces::kFrozenSines,
    true,     false};
constexpr Seq2SeqRow kPegasus = {
    "Pegasus", "ForConditionalGeneration", 50265, 1024, 1024, 4096, 16, 12, 12, "gelu", true, false,
    true,      TextPlaces::kFrozenSines,   true,  false};
constexpr Seq2SeqRow kM2m100 = {
    "M2M100", "ForConditionalGeneration", 128112, 1024, 1024, 4096, 16, 12, 12, "relu", true, false,
    true,     TextPlaces::kSines,         false,  false};
constexpr Seq2SeqRow kBlenderbot = {"Blenderbot", "ForConditionalGeneration",
                                    8008,         128,
                                    2560,         10240,
                                    32,           2,
                                    24,           "gelu",
                                    true,         false,
                                    true,         TextPlaces::kLearned,
                                    true,         false};
constexpr Seq2SeqRow kBlenderbotSmall = {"BlenderbotSmall",
                                         "ForConditionalGeneration",
                                         50265,
                                         512,
                                         512,
                                         2048,
                                         16,
                                         8,
                                         8,
                                         "gelu",
                                         false,
                                         true,
                                         false,
                                         TextPlaces::kLearned,
                                         true,
                                         false};
constexpr Seq2SeqRow kPlbart = {
    "PLBart", "ForConditionalGeneration", 50005, 1024, 768, 3072, 12, 6, 6, "gelu", false, true,
    false,    TextPlaces::kAfterPadding,  true,  true};

struct Seq2SeqShape {
  int64_t vocab = 0, decoder_vocab = 0, positions = 0, width = 0;
  int64_t decoder_rows = 0;  // of the decoder's own table, if it has one
  int64_t encoder_layers = 0, decoder_layers = 0, encoder_heads = 0, decoder_heads = 0;
  int64_t encoder_inner = 0, decoder_inner = 0, padding = 1;
  std::string activation;
  bool tied = true;    // the output layer is the decoder's table
  bool shared = true;  // there is a table for both; tied, it is the only one
};

Seq2SeqShape ReadSeq2Seq(const Config& config, const Seq2SeqRow& row) {
  Seq2SeqShape s;
  s.vocab = config.Size("vocab_size", row.vocab);
  s.decoder_vocab = s.decoder_rows = s.vocab;
  s.positions = config.Size("max_position_embeddings", row.positions);
  s.width = config.Size("d_model", row.width);
  s.encoder_layers = config.Layers("encoder_layers", row.encoder_layers);
  s.decoder_layers = config.Layers("decoder_layers", row.decoder_layers);
  s.encoder_heads = config.Size("encoder_attention_heads", row.heads);
  s.decoder_heads = config.Size("decoder_attention_heads", row.heads);
  s.encoder_inner = config.Size("encoder_ffn_dim", row.inner);
  s.decoder_inner = config.Size("decoder_ffn_dim", row.inner);
  s.activation = ReadActivation(config, "activation_function", row.activation);
  s.tied = config.Flag("tie_word_embeddings", true);
  config.RequireDivisible("d_model", s.width, "encoder_attention_heads", s.encoder_heads);
  config.RequireDivisible("d_model", s.width, "decoder_attention_heads", s.decoder_heads);
  return s;
}

class Seq2SeqBuilder {
 public:
  // `step`: a decoding step, whose cache holds the encoder's keys and values.
  Seq2SeqBuilder(GraphBuilder* b, const Seq2SeqRow& row, const Seq2SeqShape& shape, bool step)
      : b_(b), row_(row), s_(shape), step_(step) {}

  // [batch, decoder_seq, width].
  Tensor Build(const Tensor& ids, const Tensor& decoder_ids) {
    Tensor shared;
    if (s_.shared) shared = b_->Weight("shared.weight", {s_.vocab, s_.width});
    if (!s_.tied) shared = "";
    Tensor read;
    if (!step_) read = Encode(ids, shared);
    return Decode(decoder_ids, shared, read);
  }

  // Of the decoder's words, for an output layer that shares it.
  const Tensor& table() const { return table_; }

 private:
  std::string Class(const char* name) const { return absl::StrCat(row_.prefix, name); }

  Tensor Words(const Tensor& ids, const Tensor& shared, int64_t vocab) {
    const Scope scope(
        b_, "embed_tokens",
        row_.embedding_norm ? Class("ScaledWordEmbedding") : std::string("Embedding"));
    table_ = shared.empty() ? b_->Weight("weight", {vocab, s_.width}) : shared;
    return Mul(b_, b_->Op("Gather", {table_, ids}), Factor(b_, 1));
  }

  Tensor Places(const Tensor& ids, const Tensor& at) {
    const bool sines = row_.places == TextPlaces::kFrozenSines || row_.places == TextPlaces::kSines;
    const Scope scope(
        b_, "embed_positions",
        Class(sines ? "SinusoidalPositionalEmbedding" : "LearnedPositionalEmbedding"));
    constexpr int64_t kFirst = 2;  // after the place of padding
    if (row_.places == TextPlaces::kSines) {
      const int64_t rows = s_.positions + kFirst;
      const Tensor table =
          b_->Op("Cast", {Reshape(b_, b_->IndexTable(rows * s_.width), {rows, s_.width})},
                 {{"to", static_cast<int64_t>(b_->dtype())}});
      return b_->Op("Gather", {table, PlacesBehindPadding(ids, at)});
    }
    const bool behind = row_.places == TextPlaces::kAfterPadding;
    const int64_t rows = s_.positions + (behind ? kFirst : 0);
    const Tensor table = b_->Weight("weight", {rows, s_.width});
    return b_->Op("Gather", {table, behind ? Add(b_, at, b_->Scalar(kFirst)) : at});
  }

  // M2M-100 counts the tokens that are no padding.
  Tensor PlacesBehindPadding(const Tensor& ids, const Tensor& at) {
    const Tensor padding = b_->Scalar(s_.padding);
    const Attrs to = {{"to", static_cast<int64_t>(DType::kInt64)}};
    const Tensor text = b_->Op("Not", {b_->Op("Equal", {ids, padding})});
    const Tensor ones = b_->Op("Cast", {text}, to);
    Tensor places = b_->Op("CumSum", {ones, b_->Scalar(1)});
    if (step_) {
      const Tensor past = b_->Op("Gather", {at, b_->Scalar(0)});
      places = Add(b_, places, past);
    }
    return Add(b_, Mul(b_, places, ones), padding);
  }

  Tensor Embed(const Tensor& ids, const Tensor& at, const Tensor& shared, int64_t vocab) {
    Tensor x = Words(ids, shared, vocab);
    x = Add(b_, x, Places(ids, at));
    return row_.embedding_norm ? LayerNorm(b_, x, "layernorm_embedding", s_.width) : x;
  }

  AttentionShape Shape(int64_t heads, bool causal) const {
    return {heads, heads, s_.width / heads, causal};
  }
  AttentionShape CachedShape(int64_t layer) const {
    AttentionShape shape = Shape(s_.decoder_heads, true);
    if (step_) shape.cache = layer;
    shape.cache_part = "decoder.";
    shape.new_tokens = "decoder_seq";
    return shape;
  }

  // A part with the sum after it, and the norm before or after.
  template <typename Part>
  Tensor WithNorm(const Tensor& x, const std::string& norm, const Part& part) {
    const Tensor in = row_.pre_norm ? LayerNorm(b_, x, norm, s_.width) : x;
    const Tensor sum = Add(b_, x, part(in));
    return row_.pre_norm ? sum : LayerNorm(b_, sum, norm, s_.width);
  }

  // `mix` attends, from queries and what they are made of.
  template <typename Mix>
  Tensor Attend(const Tensor& x, const char* name, const Mix& mix) {
    return WithNorm(x, absl::StrCat(name, "_layer_norm"), [&](const Tensor& in) {
      const Scope attention(b_, name, Class("Attention"));
      const Tensor y = mix(Linear(b_, in, "q_proj", s_.width, s_.width, true), in);
      return Linear(b_, y, "out_proj", s_.width, s_.width, true);
    });
  }

  Tensor Over(const Tensor& q, const Tensor& source, const AttentionShape& shape) {
    const Tensor k = Linear(b_, source, "k_proj", s_.width, s_.width, true);
    const Tensor v = Linear(b_, source, "v_proj", s_.width, s_.width, true);
    return Attention(b_, q, k, v, shape);
  }

  Tensor FeedForward(const Tensor& x, int64_t inner) {
    return WithNorm(x, "final_layer_norm",
                    [&](const Tensor& in) { return Mlp(b_, in, s_.width, inner, s_.activation); });
  }

  Tensor Encode(const Tensor& ids, const Tensor& shared) {
    const Scope encoder(b_, "encoder", Class("Encoder"));
    Tensor x = Embed(ids, Positions(b_, ids, 1), shared, s_.vocab);
    for (int64_t i = 0; i < s_.encoder_layers; ++i) {
      const Scope layer(b_, absl::StrCat("layers.", i), Class("EncoderLayer"));
      x = Attend(x, "self_attn", [&](const Tensor& q, const Tensor& in) {
        return Over(q, in, Shape(s_.encoder_heads, false));
      });
      x = FeedForward(x, s_.encoder_inner);
    }
    return row_.last_norm ? LayerNorm(b_, x, "layer_norm", s_.width) : x;
  }

  Tensor Decode(const Tensor& ids, const Tensor& shared, const Tensor& read) {
    const Scope decoder(b_, "decoder", Class("Decoder"));
    const Tensor at = step_ ? PlacesOfStep(b_, ids, CachedShape(0)).places : Positions(b_, ids, 1);
    Tensor x = Embed(ids, at, shared, s_.decoder_rows);
    for (int64_t i = 0; i < s_.decoder_layers; ++i) {
      const Scope layer(b_, absl::StrCat("layers.", i), Class("DecoderLayer"));
      x = Attend(x, "self_attn",
                 [&](const Tensor& q, const Tensor& in) { return Over(q, in, CachedShape(i)); });
      x = Attend(x, "encoder_attn", [&](const Tensor& q, const Tensor& /*in*/) {
        const AttentionShape shape = Shape(s_.decoder_heads, false);
        return step_ ? EncoderAttention(b_, q, i, shape, "seq") : Over(q, read, shape);
      });
      x = FeedForward(x, s_.decoder_inner);
    }
    return row_.last_norm ? LayerNorm(b_, x, "layer_norm", s_.width) : x;
  }

  GraphBuilder* b_;
  const Seq2SeqRow& row_;
  const Seq2SeqShape& s_;
  const bool step_;
  Tensor table_;
};

void BuildWordsHead(GraphBuilder* b, Tensor x, const Tensor& table, const Seq2SeqRow& row,
                    const Seq2SeqShape& s) {
  x = s.tied ? TiedLinear(b, x, "lm_head", table)
             : Linear(b, x, "lm_head", s.width, s.decoder_vocab, false);
  if (row.logits_bias) {
    // Numbers that no training changes. Whole ones are never a parameter.
    const Tensor bias =
        b->Op("Cast", {b->IndexTable(s.decoder_vocab)}, {{"to", static_cast<int64_t>(b->dtype())}});
    x = Add(b, x, bias);
  }
  b->Output("logits", x, b->dtype(), {"batch", "decoder_seq", s.decoder_vocab});
}

void BuildTextClassifier(GraphBuilder* b, const Tensor& x, const Seq2SeqRow& row, int64_t width,
                         int64_t labels) {
  const Scope head(b, "classification_head", absl::StrCat(row.prefix, "ClassificationHead"));
  const Tensor y = b->Op("Tanh", {Linear(b, TakeToken(b, x, -1), "dense", width, width, true)});
  b->Output("logits", Linear(b, y, "out_proj", width, labels, true), b->dtype(), {"batch", labels});
}

absl::StatusOr<std::string> BuildSeq2Seq(const Config& config, const Seq2SeqRow& row,
                                         const Seq2SeqShape& s) {
  const std::string whole = absl::StrCat(row.prefix, "Model");
  const std::string words = absl::StrCat(row.prefix, row.with_head);
  const std::string texts = absl::StrCat(row.prefix, "ForSequenceClassification");
  const std::string root = row.classifier ? config.RequireArchitecture({words, whole, texts})
                                          : config.RequireArchitecture({words, whole});
  const int64_t labels = root == texts ? config.Labels() : 0;
  const DType dtype = config.Precision();
  const bool step = config.notes().decoding;
  if (!config.notes().status.ok()) return config.notes().status;
  if (step && root == texts) return std::string();
  GraphBuilder b(root, dtype, config.notes().save);
  Tensor ids;
  if (!step) ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  const Tensor decoder_ids = b.Input("decoder_input_ids", DType::kInt64, {"batch", "decoder_seq"});
  if (!step) b.FollowDim("decoder_seq", "seq");
  if (row.places != TextPlaces::kSines) {
    if (!step) b.LimitDim("seq", s.positions);
    b.LimitDim("decoder_seq", s.positions);
  }
  Seq2SeqBuilder builder(&b, row, s, step);
  Tensor x;
  {
    std::optional<Scope> body;
    if (root != whole) body.emplace(&b, "model", whole);
    x = builder.Build(ids, decoder_ids);
  }
  if (root == words) {
    BuildWordsHead(&b, x, builder.table(), row, s);
  } else if (root == texts) {
    BuildTextClassifier(&b, x, row, s.width, labels);
  } else {
    b.Output("last_hidden_state", x, dtype, {"batch", "decoder_seq", s.width});
  }
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildSeq2SeqRow(const Config& config, const Seq2SeqRow& row) {
  return BuildSeq2Seq(config, row, ReadSeq2Seq(config, row));
}

}  // namespace

absl::StatusOr<std::string> BuildBart(const Config& config) {
  return BuildSeq2SeqRow(config, kBart);
}
absl::StatusOr<std::string> BuildMbart(const Config& config) {
  return BuildSeq2SeqRow(config, kMbart);
}
absl::StatusOr<std::string> BuildPegasus(const Config& config) {
  return BuildSeq2SeqRow(config, kPegasus);
}
absl::StatusOr<std::string> BuildBlenderbot(const Config& config) {
  return BuildSeq2SeqRow(config, kBlenderbot);
}
absl::StatusOr<std::string> BuildBlenderbotSmall(const Config& config) {
  return BuildSeq2SeqRow(config, kBlenderbotSmall);
}
absl::StatusOr<std::string> BuildPlbart(const Config& config) {
  return BuildSeq2SeqRow(config, kPlbart);
}

absl::StatusOr<std::string> BuildM2m100(const Config& config) {
  Seq2SeqShape s = ReadSeq2Seq(config, kM2m100);
  s.padding = config.Integer("pad_token_id", 1, 0);
  return BuildSeq2Seq(config, kM2m100, s);
}

absl::StatusOr<std::string> BuildMarian(const Config& config) {
  Seq2SeqShape s = ReadSeq2Seq(config, kMarian);
  s.shared = config.Flag("share_encoder_decoder_embeddings", true);
  if (config.Given("decoder_vocab_size")) s.decoder_rows = config.Size("decoder_vocab_size", 1);
  if (!s.shared) s.decoder_vocab = s.decoder_rows;
  return BuildSeq2Seq(config, kMarian, s);
}

}  // namespace onnxflops::family
