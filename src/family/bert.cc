// How it works. One builder serves BERT, RoBERTa and XLM-RoBERTa. They differ in the prefix of
// class names, in the head, and in positions: RoBERTa's first two are for padding, so a text may be
// two tokens shorter than the table. ELECTRA's layers are the same behind narrower embeddings.
// Layers are post-norm: each part is a projection, the sum with
// what went around it, then the norm (BuildOutput). BLIP's text model is this encoder as well, with
// a second attention over an image in each layer. Without an image its parameters are still
// declared, because the class has them, but no node uses them.
#include "src/family/bert.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

bool IsRoberta(const BertShape& s) { return absl::EndsWith(s.prefix, "oberta"); }

BertShape ReadBert(const Config& config, const char* prefix, int64_t vocab) {
  BertShape s;
  s.prefix = prefix;
  s.vocab = config.Size("vocab_size", vocab);
  s.positions = config.Size("max_position_embeddings", 512);
  s.types = config.Size("type_vocab_size", 2);
  s.encoder = ReadEncoder(config, 768, 12, 12, 3072, "gelu");
  return s;
}

Tensor BuildEmbeddings(GraphBuilder* b, const Tensor& ids, const BertShape& s, Tensor* table) {
  const Scope embeddings(b, "embeddings", absl::StrCat(s.prefix, "Embeddings"));
  const int64_t h = s.embedding > 0 ? s.embedding : s.encoder.hidden;
  Tensor x = Embedding(b, ids, "word_embeddings", s.vocab, h, table);
  if (s.types > 0) {
    x = Add(b, x, Embedding(b, b->Scalar(0), "token_type_embeddings", s.types, h));
  }
  x = Add(b, x, Embedding(b, Positions(b, ids, 1), "position_embeddings", s.positions, h));
  return LayerNorm(b, x, "LayerNorm", h);
}

// A projection, and the norm of its sum with the residual.
Tensor BuildOutput(GraphBuilder* b, const Tensor& x, const Tensor& around, int64_t in,
                   const BertShape& s, const char* type) {
  const Scope output(b, "output", absl::StrCat(s.prefix, type));
  const int64_t h = s.encoder.hidden;
  return LayerNorm(b, Add(b, Linear(b, x, "dense", in, h, true), around), "LayerNorm", h);
}

// Attention of x over `other`, which is `width` wide, with the sum and the norm after it.
Tensor BuildAttention(GraphBuilder* b, const Tensor& x, const Tensor& other, int64_t width,
                      const char* name, const BertShape& s, bool causal) {
  const Scope attention(b, name, absl::StrCat(s.prefix, "Attention"));
  const EncoderShape& e = s.encoder;
  Tensor y;
  {
    const Scope self(b, "self", absl::StrCat(s.prefix, "SelfAttention"));
    const Tensor q = Linear(b, x, "query", e.hidden, e.hidden, true);
    const Tensor k = Linear(b, other, "key", width, e.hidden, true);
    const Tensor v = Linear(b, other, "value", width, e.hidden, true);
    y = Attention(b, q, k, v, {e.heads, e.heads, e.hidden / e.heads, causal});
  }
  return BuildOutput(b, y, x, e.hidden, s, "SelfOutput");
}

// Declares the parameters of an attention that is never run.
void DeclareAttention(GraphBuilder* b, int64_t width, const char* name, const BertShape& s) {
  const Scope attention(b, name, absl::StrCat(s.prefix, "Attention"));
  const int64_t h = s.encoder.hidden;
  for (const auto& [layer, in] : {std::pair("self.query", h), std::pair("self.key", width),
                                  std::pair("self.value", width), std::pair("output.dense", h)}) {
    b->Weight(absl::StrCat(layer, ".weight"), {in, h});
    b->Weight(absl::StrCat(layer, ".bias"), {h});
  }
  b->Weight("output.LayerNorm.weight", {h});
  b->Weight("output.LayerNorm.bias", {h});
}

Tensor BuildLayer(GraphBuilder* b, Tensor x, const BertShape& s, int64_t index,
                  const Tensor& other) {
  const Scope layer(b, absl::StrCat("layer.", index), absl::StrCat(s.prefix, "Layer"));
  const EncoderShape& e = s.encoder;
  x = BuildAttention(b, x, x, e.hidden, "attention", s, e.causal);
  if (s.other_width > 0 && other.empty()) DeclareAttention(b, s.other_width, "crossattention", s);
  if (!other.empty()) x = BuildAttention(b, x, other, s.other_width, "crossattention", s, false);
  Tensor y;
  {
    const Scope intermediate(b, "intermediate", absl::StrCat(s.prefix, "Intermediate"));
    y = Activate(b, Linear(b, x, "dense", e.hidden, e.intermediate, true), e.activation);
  }
  return BuildOutput(b, y, x, e.intermediate, s, "Output");
}

// Roberta's, without a pooler.
Tensor BuildClassifier(GraphBuilder* b, const Tensor& x, const BertShape& s, int64_t labels) {
  const int64_t h = s.encoder.hidden;
  const Scope classifier(b, "classifier", absl::StrCat(s.prefix, "ClassificationHead"));
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
  b.LimitDim("seq", s.Longest());
  Tensor x, pooled, table;
  {
    std::optional<Scope> body;
    if (root != whole) body.emplace(&b, module, whole);
    x = BuildBertBody(&b, ids, s, &table);
    const bool pools = root == whole || (root == classifier && !IsRoberta(s));
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

int64_t BertShape::Longest() const {
  const int64_t unused = IsRoberta(*this) ? 2 : 0;
  return std::max<int64_t>(positions - unused, 1);
}

Tensor BuildBertBody(GraphBuilder* b, const Tensor& ids, const BertShape& s, Tensor* table,
                     const Tensor& other) {
  Tensor x = BuildEmbeddings(b, ids, s, table);
  if (s.embedding > 0 && s.embedding != s.encoder.hidden) {
    x = Linear(b, x, "embeddings_project", s.embedding, s.encoder.hidden, true);
  }
  const Scope encoder(b, "encoder", absl::StrCat(s.prefix, "Encoder"));
  for (int64_t i = 0; i < s.encoder.layers; ++i) x = BuildLayer(b, x, s, i, other);
  return x;
}

Tensor BuildPooler(GraphBuilder* b, const Tensor& x, const BertShape& s) {
  const Scope pooler(b, "pooler", absl::StrCat(s.prefix, "Pooler"));
  const int64_t h = s.encoder.hidden;
  return b->Op("Tanh", {Linear(b, TakeToken(b, x, 0), "dense", h, h, true)});
}

void BuildMaskedHead(GraphBuilder* b, Tensor x, const BertShape& s, const Tensor& table) {
  const bool bert = !IsRoberta(s);
  std::optional<Scope> cls, predictions, transform;
  if (bert) cls.emplace(b, "cls", absl::StrCat(s.prefix, "OnlyMLMHead"));
  predictions.emplace(b, bert ? "predictions" : "lm_head",
                      absl::StrCat(s.prefix, bert ? "LMPredictionHead" : "LMHead"));
  if (bert) transform.emplace(b, "transform", absl::StrCat(s.prefix, "PredictionHeadTransform"));
  const int64_t h = s.encoder.hidden;
  x = Activate(b, Linear(b, x, "dense", h, h, true), bert ? s.encoder.activation : "gelu");
  x = LayerNorm(b, x, bert ? "LayerNorm" : "layer_norm", h);
  transform.reset();
  // Both the head and its layer have a bias. If weights are tied, it is one tensor. If not, the one
  // of the head is not used.
  const Tensor bias = b->Weight("bias", {s.vocab});
  x = table.empty() ? Linear(b, x, "decoder", h, s.vocab, true)
                    : Add(b, TiedLinear(b, x, "decoder", table), bias);
  b->Output("logits", x, b->dtype(), {"batch", "seq", s.vocab});
}

absl::StatusOr<std::string> BuildBert(const Config& config) {
  return BuildBertLike(config, ReadBert(config, "Bert", 30522), "bert");
}

absl::StatusOr<std::string> BuildRoberta(const Config& config) {
  return BuildBertLike(config, ReadBert(config, "Roberta", 50265), "roberta");
}

absl::StatusOr<std::string> BuildXlmRoberta(const Config& config) {
  return BuildBertLike(config, ReadBert(config, "XLMRoberta", 30522), "roberta");
}

}  // namespace onnxflops::family
