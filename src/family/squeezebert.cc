// SqueezeBERT: BERT whose layers are convolutions of one token with groups.
//
// How it works. Features come before tokens: [batch, hidden, seq]. The two products of the
// attention are modules of the class, so they are products here. All classes run the pooler. The
// head of masked words is BERT's.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/bert.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct SqueezeBertShape {
  BertShape bert;
  int64_t q_groups, k_groups, v_groups, after, intermediate, output;
};

SqueezeBertShape ReadSqueezeBert(const Config& config) {
  SqueezeBertShape s;
  s.bert.prefix = "SqueezeBert";
  s.bert.vocab = config.Size("vocab_size", 30522);
  s.bert.positions = config.Size("max_position_embeddings", 512);
  s.bert.types = config.Size("type_vocab_size", 2);
  s.bert.encoder = ReadEncoder(config, 768, 12, 12, 3072, "gelu");
  const int64_t h = s.bert.encoder.hidden, inner = s.bert.encoder.intermediate;
  const auto groups = [&](const char* key, int64_t otherwise) {
    const int64_t count = config.Size(key, otherwise);
    config.RequireDivisible("hidden_size", h, key, count);
    return count;
  };
  s.q_groups = groups("q_groups", 4);
  s.k_groups = groups("k_groups", 4);
  s.v_groups = groups("v_groups", 4);
  s.after = groups("post_attention_groups", 1);
  s.intermediate = groups("intermediate_groups", 4);
  s.output = groups("output_groups", 4);
  config.RequireDivisible("intermediate_size", inner, "intermediate_groups", s.intermediate);
  config.RequireDivisible("intermediate_size", inner, "output_groups", s.output);
  if (config.Size("embedding_size", 768) != h) {
    config.Fault("embedding_size", "is not hidden_size");
  }
  return s;
}

class SqueezeBertBuilder {
 public:
  SqueezeBertBuilder(GraphBuilder* b, const SqueezeBertShape& shape)
      : b_(b), s_(shape), h_(shape.bert.encoder.hidden) {}

  // [batch, seq, hidden]; *table: of the words.
  Tensor Build(const Tensor& ids, Tensor* table) {
    Tensor x;
    {
      const Scope embeddings(b_, "embeddings", "SqueezeBertEmbeddings");
      const BertShape& bert = s_.bert;
      x = Embedding(b_, ids, "word_embeddings", bert.vocab, h_, table);
      const Tensor at = Positions(b_, ids, 1);
      x = Add(b_, x, Embedding(b_, at, "position_embeddings", bert.positions, h_));
      x = Add(b_, x, Embedding(b_, b_->Scalar(0), "token_type_embeddings", bert.types, h_));
      x = LayerNorm(b_, x, "LayerNorm", h_);
    }
    const Scope encoder(b_, "encoder", "SqueezeBertEncoder");
    x = Turned(x);
    for (int64_t i = 0; i < s_.bert.encoder.layers; ++i) {
      const Scope layer(b_, absl::StrCat("layers.", i), "SqueezeBertModule");
      x = Layer(x);
    }
    return Turned(x);
  }

 private:
  Tensor Turned(const Tensor& x) { return Transpose(b_, x, {0, 2, 1}); }

  Tensor Convolve(const Tensor& x, const char* name, int64_t in, int64_t out, int64_t groups) {
    const Scope scope(b_, name, "Conv1d");
    return b_->Op("Conv",
                  {x, b_->Weight("weight", {out, in / groups, 1}), b_->Weight("bias", {out})},
                  {{"kernel_shape", std::vector<int64_t>{1}}, {"group", groups}});
  }

  // A convolution, and the norm of its sum with what goes around it.
  Tensor WithNorm(const Tensor& x, const Tensor& around, const char* name, int64_t in,
                  int64_t groups) {
    const Scope scope(b_, name, "ConvDropoutLayerNorm");
    const Tensor sum = Add(b_, Convolve(x, "conv1d", in, h_, groups), around);
    const Scope norm(b_, "layernorm", "SqueezeBertLayerNorm");
    return Turned(b_->Op("LayerNormalization",
                         {Turned(sum), b_->Weight("weight", {h_}), b_->Weight("bias", {h_})}));
  }

  Tensor Multiply(const Tensor& x, const Tensor& y, const char* name) {
    const Scope scope(b_, name, "MatMulWrapper");
    return b_->Op("MatMul", {x, y});
  }

  Tensor Attend(const Tensor& x) {
    const Scope attention(b_, "attention", "SqueezeBertSelfAttention");
    const int64_t heads = s_.bert.encoder.heads, dim = h_ / heads;
    const auto project = [&](const char* name, int64_t groups) {
      return Reshape(b_, Convolve(x, name, h_, h_, groups), {0, heads, dim, -1});
    };
    const std::vector<int64_t> rows = {0, 1, 3, 2};
    const Tensor q = Transpose(b_, project("query", s_.q_groups), rows);
    const Tensor k = project("key", s_.k_groups);
    const Tensor v = Transpose(b_, project("value", s_.v_groups), rows);
    Tensor y = b_->Op("Div", {Multiply(q, k, "matmul_qk"), Factor(b_, 1)});
    y = b_->Op("Softmax", {y}, {{"axis", int64_t{-1}}});
    y = Transpose(b_, Multiply(y, v, "matmul_qkv"), rows);
    return Reshape(b_, y, {0, h_, -1});
  }

  Tensor Layer(const Tensor& x) {
    const EncoderShape& e = s_.bert.encoder;
    const Tensor y = WithNorm(Attend(x), x, "post_attention", h_, s_.after);
    Tensor z;
    {
      const Scope intermediate(b_, "intermediate", "ConvActivation");
      z = Convolve(y, "conv1d", h_, e.intermediate, s_.intermediate);
      z = Activate(b_, z, e.activation);
    }
    return WithNorm(z, y, "output", e.intermediate, s_.output);
  }

  GraphBuilder* b_;
  const SqueezeBertShape& s_;
  const int64_t h_;
};

}  // namespace

absl::StatusOr<std::string> BuildSqueezeBert(const Config& config) {
  const SqueezeBertShape s = ReadSqueezeBert(config);
  const std::string root = config.RequireArchitecture(
      {"SqueezeBertForMaskedLM", "SqueezeBertModel", "SqueezeBertForSequenceClassification",
       "SqueezeBertForTokenClassification", "SqueezeBertForQuestionAnswering"});
  const bool whole = root == "SqueezeBertModel", masked = root == "SqueezeBertForMaskedLM";
  const bool tied = masked && config.Flag("tie_word_embeddings", true);
  const int64_t labels = whole || masked ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  b.LimitDim("seq", s.bert.Longest());
  const int64_t h = s.bert.encoder.hidden;
  Tensor x, pooled, table;
  {
    std::optional<Scope> body;
    if (!whole) body.emplace(&b, "transformer", "SqueezeBertModel");
    x = SqueezeBertBuilder(&b, s).Build(ids, &table);
    pooled = BuildPooler(&b, x, s.bert);
  }
  if (masked) {
    BuildMaskedHead(&b, x, s.bert, tied ? table : "");
  } else if (whole) {
    b.Output("last_hidden_state", x, dtype, {"batch", "seq", h});
    b.Output("pooler_output", pooled, dtype, {"batch", h});
  } else if (root == "SqueezeBertForSequenceClassification") {
    b.Output("logits", Linear(&b, pooled, "classifier", h, labels, true), dtype, {"batch", labels});
  } else {
    const bool tokens = root == "SqueezeBertForTokenClassification";
    const Tensor logits = Linear(&b, x, tokens ? "classifier" : "qa_outputs", h, labels, true);
    b.Output("logits", logits, dtype, {"batch", "seq", labels});
  }
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
