// BERT and RoBERTa.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/family/blocks.h"
#include "src/family/families.h"

namespace onnxflops::family {
namespace {

struct BertShape {
  std::string prefix;  // of the classes
  int64_t vocab, positions, types;
  EncoderShape encoder;
};

BertShape ReadBert(const Config& config, const char* prefix, int64_t vocab) {
  return {prefix, config.Size("vocab_size", vocab), config.Size("max_position_embeddings", 512),
          config.Size("type_vocab_size", 2), ReadEncoder(config, 768, 12, 12, 3072, "gelu")};
}

Tensor BuildEmbeddings(GraphBuilder* b, const Tensor& ids, const BertShape& s, Tensor* table) {
  const Scope embeddings(b, "embeddings", absl::StrCat(s.prefix, "Embeddings"));
  const int64_t h = s.encoder.hidden;
  Tensor x = Embedding(b, ids, "word_embeddings", s.vocab, h, table);
  x = Add(b, x, Embedding(b, b->Scalar(0), "token_type_embeddings", s.types, h));
  x = Add(b, x, Embedding(b, Positions(b, ids, 1), "position_embeddings", s.positions, h));
  // RoBERTa counts positions from 2, behind the padding token's.
  const int64_t unused = absl::string_view(s.prefix) == "Roberta" ? 2 : 0;
  b->LimitDim("seq", std::max<int64_t>(s.positions - unused, 1));
  return LayerNorm(b, x, "LayerNorm", h);
}

// A projection, and the norm of its sum with what went around it.
Tensor BuildOutput(GraphBuilder* b, const Tensor& x, const Tensor& around, int64_t in,
                   const BertShape& s, const char* type) {
  const Scope output(b, "output", absl::StrCat(s.prefix, type));
  const int64_t h = s.encoder.hidden;
  return LayerNorm(b, Add(b, Linear(b, x, "dense", in, h, true), around), "LayerNorm", h);
}

Tensor BuildLayer(GraphBuilder* b, Tensor x, const BertShape& s, int64_t index) {
  const Scope layer(b, absl::StrCat("layer.", index), absl::StrCat(s.prefix, "Layer"));
  const EncoderShape& e = s.encoder;
  {
    const Scope attention(b, "attention", absl::StrCat(s.prefix, "Attention"));
    Tensor y;
    {
      const Scope self(b, "self", absl::StrCat(s.prefix, "SelfAttention"));
      const Tensor q = Linear(b, x, "query", e.hidden, e.hidden, true);
      const Tensor k = Linear(b, x, "key", e.hidden, e.hidden, true);
      const Tensor v = Linear(b, x, "value", e.hidden, e.hidden, true);
      y = Attention(b, q, k, v, {e.heads, e.heads, e.hidden / e.heads});
    }
    x = BuildOutput(b, y, x, e.hidden, s, "SelfOutput");
  }
  Tensor y;
  {
    const Scope intermediate(b, "intermediate", absl::StrCat(s.prefix, "Intermediate"));
    y = Activate(b, Linear(b, x, "dense", e.hidden, e.intermediate, true), e.activation);
  }
  return BuildOutput(b, y, x, e.intermediate, s, "Output");
}

Tensor BuildBody(GraphBuilder* b, const Tensor& ids, const BertShape& s, Tensor* table) {
  Tensor x = BuildEmbeddings(b, ids, s, table);
  const Scope encoder(b, "encoder", absl::StrCat(s.prefix, "Encoder"));
  for (int64_t i = 0; i < s.encoder.layers; ++i) x = BuildLayer(b, x, s, i);
  return x;
}

Tensor BuildPooler(GraphBuilder* b, const Tensor& x, const BertShape& s) {
  const Scope pooler(b, "pooler", absl::StrCat(s.prefix, "Pooler"));
  const int64_t h = s.encoder.hidden;
  return b->Op("Tanh", {Linear(b, TakeToken(b, x, 0), "dense", h, h, true)});
}

// The heads for masked words: Bert's is two modules deep, Roberta's is one.
void BuildMaskedHead(GraphBuilder* b, Tensor x, const BertShape& s, const Tensor& table) {
  const bool bert = s.prefix == "Bert";
  std::optional<Scope> cls, predictions, transform;
  if (bert) cls.emplace(b, "cls", "BertOnlyMLMHead");
  predictions.emplace(b, bert ? "predictions" : "lm_head",
                      bert ? "BertLMPredictionHead" : "RobertaLMHead");
  if (bert) transform.emplace(b, "transform", "BertPredictionHeadTransform");
  const int64_t h = s.encoder.hidden;
  x = Activate(b, Linear(b, x, "dense", h, h, true), bert ? s.encoder.activation : "gelu");
  x = LayerNorm(b, x, bert ? "LayerNorm" : "layer_norm", h);
  transform.reset();
  x = table.empty() ? Linear(b, x, "decoder", h, s.vocab, false)
                    : TiedLinear(b, x, "decoder", table);
  x = Add(b, x, b->Weight("bias", {s.vocab}));
  b->Output("logits", x, b->dtype(), {"batch", "seq", s.vocab});
}

// Roberta's, without a pooler.
Tensor BuildClassifier(GraphBuilder* b, const Tensor& x, const BertShape& s, int64_t labels) {
  const int64_t h = s.encoder.hidden;
  const Scope classifier(b, "classifier", "RobertaClassificationHead");
  const Tensor y = b->Op("Tanh", {Linear(b, TakeToken(b, x, 0), "dense", h, h, true)});
  return Linear(b, y, "out_proj", h, labels, true);
}

absl::StatusOr<std::string> BuildBertLike(const Config& config, const BertShape& s,
                                          const char* module) {
  const std::string masked = absl::StrCat(s.prefix, "ForMaskedLM");
  const std::string whole = absl::StrCat(s.prefix, "Model");
  const std::string classifier = absl::StrCat(s.prefix, "ForSequenceClassification");
  const std::string root = config.RequireArchitecture({masked, whole, classifier});
  const bool tied = config.Flag("tie_word_embeddings", true);
  const int64_t labels = root == classifier ? config.Labels() : 0;
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  const int64_t h = s.encoder.hidden;
  Tensor x, pooled, table;
  {
    std::optional<Scope> body;
    if (root != whole) body.emplace(&b, module, whole);
    x = BuildBody(&b, ids, s, &table);
    const bool pools = root == whole || (root == classifier && s.prefix == "Bert");
    if (pools) pooled = BuildPooler(&b, x, s);
  }
  if (root == masked) {
    BuildMaskedHead(&b, x, s, tied ? table : "");
  } else if (root == whole) {
    b.Output("last_hidden_state", x, dtype, {"batch", "seq", h});
    b.Output("pooler_output", pooled, dtype, {"batch", h});
  } else {
    const Tensor logits = pooled.empty() ? BuildClassifier(&b, x, s, labels)
                                         : Linear(&b, pooled, "classifier", h, labels, true);
    b.Output("logits", logits, dtype, {"batch", labels});
  }
  return std::move(b).Finish();
}

}  // namespace

absl::StatusOr<std::string> BuildBert(const Config& config) {
  return BuildBertLike(config, ReadBert(config, "Bert", 30522), "bert");
}

absl::StatusOr<std::string> BuildRoberta(const Config& config) {
  return BuildBertLike(config, ReadBert(config, "Roberta", 50265), "roberta");
}

}  // namespace onnxflops::family
