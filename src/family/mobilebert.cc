// MobileBERT: BERT's layers inside of bottlenecks.
//
// How it works. Words are narrow; three neighbours together become a token. A layer works on a
// narrower copy of its input (`inner`), which queries and keys may have a copy of their own of, and
// widens the result again. It has several MLPs. Norms are a factor and a term without statistics
// (NoNorm), or LayerNorms. The head of masked words puts the table of words and rows of its own
// together, because the table is narrower than the tokens.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct MobileBertShape {
  EncoderShape encoder;
  int64_t vocab, positions, types, embedding, inner, parts;
  bool trigram, bottleneck, attends_inside, shared, no_norm, tied = true, active = true;
};

MobileBertShape ReadMobileBert(const Config& config) {
  MobileBertShape s;
  s.encoder = ReadEncoder(config, 512, 4, 24, 512, "relu");
  s.vocab = config.Size("vocab_size", 30522);
  s.positions = config.Size("max_position_embeddings", 512);
  s.types = config.Size("type_vocab_size", 2);
  s.embedding = config.Size("embedding_size", 128);
  s.trigram = config.Flag("trigram_input", true);
  s.bottleneck = config.Flag("use_bottleneck", true);
  s.attends_inside = config.Flag("use_bottleneck_attention", false);
  s.shared = config.Flag("key_query_shared_bottleneck", true);
  s.parts = config.Layers("num_feedforward_networks", 4);
  const int64_t h = s.encoder.hidden, inside = config.Size("intra_bottleneck_size", 128);
  s.inner = s.bottleneck ? inside : h;
  const std::string norm = config.Text("normalization_type", "no_norm");
  s.no_norm = norm == "no_norm";
  if (!s.no_norm && norm != "layer_norm") {
    config.Fault("normalization_type",
                 absl::StrCat("is ", Quoted(norm), ": known are layer_norm, no_norm"));
  }
  config.RequireDivisible("intra_bottleneck_size", s.inner, "num_attention_heads", s.encoder.heads);
  if (s.embedding > h) config.Fault("embedding_size", "is larger than hidden_size");
  if (s.bottleneck && !s.attends_inside && !s.shared && s.inner != h) {
    config.Fault("key_query_shared_bottleneck", "is false, and queries are as wide as hidden_size");
  }
  if (s.parts * s.encoder.layers > kMaxConfigLayers * 4) {
    config.Fault("num_feedforward_networks", "makes too many layers");
  }
  return s;
}

class MobileBertBuilder {
 public:
  MobileBertBuilder(GraphBuilder* b, const MobileBertShape& shape)
      : b_(b), s_(shape), h_(shape.encoder.hidden) {}

  Tensor Build(const Tensor& ids) {
    Tensor x = Embed(ids);
    const Scope encoder(b_, "encoder", "MobileBertEncoder");
    for (int64_t i = 0; i < s_.encoder.layers; ++i) {
      const Scope layer(b_, absl::StrCat("layer.", i), "MobileBertLayer");
      x = Layer(x);
    }
    return x;
  }

  Tensor Pool(const Tensor& x) {
    const Scope pooler(b_, "pooler", "MobileBertPooler");
    const Tensor first = TakeToken(b_, x, 0);
    return s_.active ? b_->Op("Tanh", {Linear(b_, first, "dense", h_, h_, true)}) : first;
  }

  Tensor MaskedHead(Tensor x) {
    const Scope cls(b_, "cls", "MobileBertOnlyMLMHead");
    const Scope predictions(b_, "predictions", "MobileBertLMPredictionHead");
    {
      const Scope transform(b_, "transform", "MobileBertPredictionHeadTransform");
      x = Activate(b_, Linear(b_, x, "dense", h_, h_, true), s_.encoder.activation);
      x = LayerNorm(b_, x, "LayerNorm", h_);
    }
    Tensor bias = b_->Weight("bias", {s_.vocab});
    Tensor table = table_;
    if (!s_.tied) {
      table = b_->Weight("decoder.weight", {s_.vocab, s_.embedding});
      bias = b_->Weight("decoder.bias", {s_.vocab});
    }
    std::vector<Tensor> rows = {Transpose(b_, table, {1, 0})};
    const int64_t more = h_ - s_.embedding;
    if (more > 0) rows.push_back(b_->Weight("dense.weight", {more, s_.vocab}));
    return Add(b_, b_->Op("MatMul", {x, Concat(b_, rows, 0)}), bias);
  }

 private:
  Tensor Norm(const Tensor& x, int64_t width) {
    if (!s_.no_norm) return LayerNorm(b_, x, "LayerNorm", width);
    const Scope scope(b_, "LayerNorm", "NoNorm");
    return Add(b_, Mul(b_, x, b_->Weight("weight", {width})), b_->Weight("bias", {width}));
  }

  // Each token between its neighbours, and zeros at both ends.
  Tensor Trigrams(const Tensor& x) {
    const auto moved = [&](const std::vector<int64_t>& pads, int64_t from, int64_t to) {
      const Tensor y = b_->Op("Pad", {x, b_->Ints(pads)});
      return b_->Op("Slice", {y, b_->Ints({from}), b_->Ints({to}), b_->Ints({1})});
    };
    const Tensor after = moved({0, 0, 0, 0, 1, 0}, 1, kMaxConfigSize);
    const Tensor before = moved({0, 1, 0, 0, 0, 0}, 0, -1);
    return Concat(b_, {after, x, before}, 2);
  }

  Tensor Embed(const Tensor& ids) {
    const Scope embeddings(b_, "embeddings", "MobileBertEmbeddings");
    Tensor x = Embedding(b_, ids, "word_embeddings", s_.vocab, s_.embedding, &table_);
    if (s_.trigram) x = Trigrams(x);
    const int64_t width = s_.embedding * (s_.trigram ? 3 : 1);
    if (s_.trigram || s_.embedding != h_) {
      x = Linear(b_, x, "embedding_transformation", width, h_, true);
    } else {  // there, and not run
      b_->Weight("embedding_transformation.weight", {width, h_});
      b_->Weight("embedding_transformation.bias", {h_});
    }
    x = Add(b_, x, Embedding(b_, Positions(b_, ids, 1), "position_embeddings", s_.positions, h_));
    x = Add(b_, x, Embedding(b_, b_->Scalar(0), "token_type_embeddings", s_.types, h_));
    return Norm(x, h_);
  }

  Tensor Narrow(const Tensor& x, const char* name) {
    const Scope layer(b_, name, "BottleneckLayer");
    return Norm(Linear(b_, x, "dense", h_, s_.inner, true), s_.inner);
  }

  // What queries and keys, values, and the sum after the attention are made of.
  struct Inputs {
    Tensor query, value, around;
  };
  Inputs Bottleneck(const Tensor& x) {
    if (!s_.bottleneck) return {x, x, x};
    const Scope bottleneck(b_, "bottleneck", "Bottleneck");
    const Tensor narrow = Narrow(x, "input");
    if (s_.attends_inside && s_.shared) {  // there, and not run
      b_->Weight("attention.dense.weight", {h_, s_.inner});
      for (const char* name : {"dense.bias", "LayerNorm.weight", "LayerNorm.bias"}) {
        b_->Weight(absl::StrCat("attention.", name), {s_.inner});
      }
    }
    if (s_.attends_inside) return {narrow, narrow, narrow};
    return {s_.shared ? Narrow(x, "attention") : x, x, narrow};
  }

  Tensor Attend(const Inputs& in) {
    const Scope attention(b_, "attention", "MobileBertAttention");
    const int64_t w = s_.inner, heads = s_.encoder.heads;
    Tensor y;
    {
      const Scope self(b_, "self", "MobileBertSelfAttention");
      const Tensor q = Linear(b_, in.query, "query", w, w, true);
      const Tensor k = Linear(b_, in.query, "key", w, w, true);
      const Tensor v = Linear(b_, in.value, "value", s_.attends_inside ? w : h_, w, true);
      y = Attention(b_, q, k, v, {heads, heads, w / heads});
    }
    const Scope output(b_, "output", "MobileBertSelfOutput");
    return Norm(Add(b_, Linear(b_, y, "dense", w, w, true), in.around), w);
  }

  Tensor Intermediate(const Tensor& x) {
    const Scope intermediate(b_, "intermediate", "MobileBertIntermediate");
    return Activate(b_, Linear(b_, x, "dense", s_.inner, s_.encoder.intermediate, true),
                    s_.encoder.activation);
  }

  Tensor Layer(const Tensor& x) {
    const int64_t inner = s_.encoder.intermediate, w = s_.inner;
    Tensor y = Attend(Bottleneck(x));
    for (int64_t i = 0; i + 1 < s_.parts; ++i) {
      const Scope part(b_, absl::StrCat("ffn.", i), "FFNLayer");
      const Tensor z = Intermediate(y);
      const Scope output(b_, "output", "FFNOutput");
      y = Norm(Add(b_, Linear(b_, z, "dense", inner, w, true), y), w);
    }
    const Tensor z = Intermediate(y);
    const Scope output(b_, "output", "MobileBertOutput");
    y = Norm(Add(b_, Linear(b_, z, "dense", inner, w, true), y), w);
    if (!s_.bottleneck) return y;
    const Scope bottleneck(b_, "bottleneck", "OutputBottleneck");
    return Norm(Add(b_, Linear(b_, y, "dense", w, h_, true), x), h_);
  }

  GraphBuilder* b_;
  const MobileBertShape& s_;
  const int64_t h_;
  Tensor table_;  // of words
};

}  // namespace

absl::StatusOr<std::string> BuildMobileBert(const Config& config) {
  MobileBertShape s = ReadMobileBert(config);
  const std::string root = config.RequireArchitecture(
      {"MobileBertForMaskedLM", "MobileBertModel", "MobileBertForSequenceClassification",
       "MobileBertForTokenClassification", "MobileBertForQuestionAnswering"});
  const bool whole = root == "MobileBertModel", masked = root == "MobileBertForMaskedLM";
  const bool texts = root == "MobileBertForSequenceClassification";
  if (masked) s.tied = config.Flag("tie_word_embeddings", true);
  if (whole || texts) s.active = config.Flag("classifier_activation", true);
  const int64_t labels = whole || masked ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  b.LimitDim("seq", s.positions);
  const int64_t h = s.encoder.hidden;
  MobileBertBuilder builder(&b, s);
  Tensor x, pooled;
  {
    std::optional<Scope> body;
    if (!whole) body.emplace(&b, "mobilebert", "MobileBertModel");
    x = builder.Build(ids);
    if (whole || texts) pooled = builder.Pool(x);
  }
  if (whole) {
    b.Output("last_hidden_state", x, dtype, {"batch", "seq", h});
    b.Output("pooler_output", pooled, dtype, {"batch", h});
  } else if (masked) {
    b.Output("logits", builder.MaskedHead(x), dtype, {"batch", "seq", s.vocab});
  } else if (texts) {
    b.Output("logits", Linear(&b, pooled, "classifier", h, labels, true), dtype, {"batch", labels});
  } else {
    const bool tokens = root == "MobileBertForTokenClassification";
    const Tensor logits = Linear(&b, x, tokens ? "classifier" : "qa_outputs", h, labels, true);
    b.Output("logits", logits, dtype, {"batch", "seq", labels});
  }
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
