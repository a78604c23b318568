// How it works. One builder serves BERT, RoBERTa, XLM-RoBERTa, CamemBERT, ERNIE, LayoutLM and
// RemBERT. They differ in the prefix of class names, in the head, in what is added to the words,
// and in positions: RoBERTa's first two are for padding, so a text may be two tokens shorter than
// the table. LayoutLM adds where on the page a word is: tables of columns and rows, read twice
// each, and of widths and heights. RemBERT's embeddings are narrow, and its head has a width of its
// own. ELECTRA's layers are the same behind narrower embeddings. Layers are post-norm: each part is
// a projection, the sum with what went around it, then the norm (BuildOutput). BLIP's text model is
// this encoder as well, with a second attention over an image in each layer. Without an image its
// parameters are still declared, because the class has them, but no node uses them.
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

bool IsRoberta(const BertShape& s) {
  return absl::StrContains(s.prefix, "oberta") || s.prefix == "Camembert";
}

BertShape ReadBert(const Config& config, const char* prefix, int64_t vocab) {
  BertShape s;
  s.prefix = prefix;
  s.vocab = config.Size("vocab_size", vocab);
  s.positions = config.Size("max_position_embeddings", 512);
  s.types = config.Size("type_vocab_size", 2);
  s.encoder = ReadEncoder(config, 768, 12, 12, 3072, "gelu");
  return s;
}

// Of the left, upper, right and lower ends of each word's box, and of its height and width.
Tensor AddPlacesOnPage(GraphBuilder* b, Tensor x, const BertShape& s, int64_t width) {
  const Tensor boxes = b->Input("bbox", DType::kInt64, {"batch", "seq", 4});
  const auto end = [&](int64_t at) {
    return b->Op("Gather", {boxes, b->Scalar(at)}, {{"axis", int64_t{2}}});
  };
  const Tensor left = end(0), upper = end(1), right = end(2), lower = end(3);
  const auto add = [&](const Tensor& at, const char* table) {
    x = Add(b, x, Embedding(b, at, table, s.places, width));
  };
  add(left, "x_position_embeddings");
  add(upper, "y_position_embeddings");
  add(right, "x_position_embeddings");
  add(lower, "y_position_embeddings");
  add(b->Op("Sub", {lower, upper}), "h_position_embeddings");
  add(b->Op("Sub", {right, left}), "w_position_embeddings");
  return x;
}

Tensor BuildEmbeddings(GraphBuilder* b, const Tensor& ids, const BertShape& s, Tensor* table) {
  const Scope embeddings(b, "embeddings", absl::StrCat(s.prefix, "Embeddings"));
  const int64_t h = s.embedding > 0 ? s.embedding : s.encoder.hidden;
  Tensor x = Embedding(b, ids, "word_embeddings", s.vocab, h, table);
  if (s.types > 0) {
    x = Add(b, x, Embedding(b, b->Scalar(0), "token_type_embeddings", s.types, h));
  }
  x = Add(b, x, Embedding(b, Positions(b, ids, 1), "position_embeddings", s.positions, h));
  if (s.tasks > 0) x = Add(b, x, Embedding(b, b->Scalar(0), "task_type_embeddings", s.tasks, h));
  if (s.places > 0) x = AddPlacesOnPage(b, x, s, h);
  return s.norms == BertNorms::kBeforeXl ? x : LayerNorm(b, x, "LayerNorm", h);
}

// A projection, and its sum with the residual, with the norm if it is after the part.
Tensor BuildOutput(GraphBuilder* b, const Tensor& x, const Tensor& around, int64_t in,
                   const BertShape& s, const char* type) {
  const Scope output(b, "output", absl::StrCat(s.prefix, type));
  const int64_t h = s.encoder.hidden;
  const Tensor sum = Add(b, Linear(b, x, "dense", in, h, true), around);
  return s.norms == BertNorms::kAfter ? LayerNorm(b, sum, "LayerNorm", h) : sum;
}

// Attention of x over `other`, which is `width` wide, with the sum and the norm after it.
Tensor BuildAttention(GraphBuilder* b, const Tensor& x, const Tensor& other, int64_t width,
                      const char* name, const BertShape& s, bool causal) {
  const Scope attention(b, name, absl::StrCat(s.prefix, "Attention"));
  const EncoderShape& e = s.encoder;
  const bool before = s.norms != BertNorms::kAfter;
  const char* const norm = s.norms == BertNorms::kBefore ? "LayerNorm" : "self_attn_layer_norm";
  const Tensor in = before ? LayerNorm(b, x, norm, e.hidden) : x;
  const Tensor& source = before && other == x ? in : other;
  Tensor y;
  {
    const Scope self(b, "self", absl::StrCat(s.prefix, "SelfAttention"));
    const Tensor q = Linear(b, in, "query", e.hidden, e.hidden, true);
    const Tensor k = Linear(b, source, "key", width, e.hidden, true);
    const Tensor v = Linear(b, source, "value", width, e.hidden, true);
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
  Tensor y = s.norms == BertNorms::kBeforeXl ? LayerNorm(b, x, "LayerNorm", e.hidden) : x;
  {
    const Scope intermediate(b, "intermediate", absl::StrCat(s.prefix, "Intermediate"));
    if (s.norms == BertNorms::kBefore) y = LayerNorm(b, y, "LayerNorm", e.hidden);
    y = Activate(b, Linear(b, y, "dense", e.hidden, e.intermediate, true), e.activation);
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

// RemBERT's, whose words have a width of their own.
void BuildWideHead(GraphBuilder* b, Tensor x, const BertShape& s) {
  const Scope cls(b, "cls", absl::StrCat(s.prefix, "OnlyMLMHead"));
  const Scope predictions(b, "predictions", absl::StrCat(s.prefix, "LMPredictionHead"));
  x = Activate(b, Linear(b, x, "dense", s.encoder.hidden, s.head, true), s.encoder.activation);
  x = LayerNorm(b, x, "LayerNorm", s.head);
  x = Linear(b, x, "decoder", s.head, s.vocab, true);
  b->Output("logits", x, b->dtype(), {"batch", "seq", s.vocab});
}

struct BertHead {
  std::string whole, masked, texts, tokens, answers;  // the classes
  std::string root;
  int64_t labels = 0;
  bool tied = false;
};

BertHead ReadBertHead(const Config& config, const BertShape& s) {
  const auto with = [&](const char* name) { return absl::StrCat(s.prefix, name); };
  BertHead head = {with("Model"), with("ForMaskedLM"), with("ForSequenceClassification"),
                   with("ForTokenClassification"), with("ForQuestionAnswering")};
  head.root =
      config.RequireArchitecture({head.masked, head.whole, head.texts, head.tokens, head.answers});
  head.tied = s.head == 0 && config.Flag("tie_word_embeddings", true);
  const bool labels = head.root != head.whole && head.root != head.masked;
  head.labels = labels ? config.Labels() : 0;
  return head;
}

// From the layers' output and, if the class has it, what the pooler makes of it.
void BuildBertHead(GraphBuilder* b, const Tensor& x, const Tensor& pooled, const Tensor& table,
                   const BertShape& s, const BertHead& head) {
  const int64_t h = s.encoder.hidden, labels = head.labels;
  if (head.root == head.masked) {
    const Tensor words = head.tied ? table : Tensor();
    return s.head > 0 ? BuildWideHead(b, x, s) : BuildMaskedHead(b, x, s, words);
  }
  if (head.root == head.whole) {
    b->Output("last_hidden_state", x, b->dtype(), {"batch", "seq", h});
    b->Output("pooler_output", pooled, b->dtype(), {"batch", h});
  } else if (head.root == head.texts) {
    const Tensor logits = pooled.empty() ? BuildClassifier(b, x, s, labels)
                                         : Linear(b, pooled, "classifier", h, labels, true);
    b->Output("logits", logits, b->dtype(), {"batch", labels});
  } else {
    const char* name = head.root == head.tokens ? "classifier" : "qa_outputs";
    const Tensor logits = Linear(b, x, name, h, labels, true);
    b->Output("logits", logits, b->dtype(), {"batch", "seq", labels});
  }
}

absl::StatusOr<std::string> BuildBertLike(const Config& config, const BertShape& s,
                                          const char* module) {
  const BertHead head = ReadBertHead(config, s);
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(head.root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  b.LimitDim("seq", s.Longest());
  Tensor x, pooled, table;
  {
    std::optional<Scope> body;
    if (head.root != head.whole) body.emplace(&b, module, head.whole);
    x = BuildBertBody(&b, ids, s, &table);
    const bool pools = head.root == head.whole || (head.root == head.texts && !IsRoberta(s));
    if (pools || s.places > 0) pooled = BuildPooler(&b, x, s);
  }
  BuildBertHead(&b, x, pooled, table, s, head);
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
  const int64_t h = s.encoder.hidden;
  if (s.embedding > 0 && s.embedding != h && s.head == 0) {
    x = Linear(b, x, "embeddings_project", s.embedding, h, true);
  }
  std::optional<Scope> encoder(std::in_place, b, "encoder", absl::StrCat(s.prefix, "Encoder"));
  if (s.head > 0) x = Linear(b, x, "embedding_hidden_mapping_in", s.embedding, h, true);
  for (int64_t i = 0; i < s.encoder.layers; ++i) x = BuildLayer(b, x, s, i, other);
  if (s.norms == BertNorms::kAfter) return x;
  if (s.norms == BertNorms::kBefore) encoder.reset();  // the norm is the model's
  return LayerNorm(b, x, "LayerNorm", h);
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

absl::StatusOr<std::string> BuildCamembert(const Config& config) {
  return BuildBertLike(config, ReadBert(config, "Camembert", 30522), "roberta");
}

absl::StatusOr<std::string> BuildRobertaPreLayerNorm(const Config& config) {
  BertShape s = ReadBert(config, "RobertaPreLayerNorm", 50265);
  s.norms = BertNorms::kBefore;
  return BuildBertLike(config, s, "roberta_prelayernorm");
}

absl::StatusOr<std::string> BuildXlmRobertaXl(const Config& config) {
  BertShape s;
  s.prefix = "XLMRobertaXL";
  s.norms = BertNorms::kBeforeXl;
  s.vocab = config.Size("vocab_size", 250880);
  s.positions = config.Size("max_position_embeddings", 514);
  s.types = config.Size("type_vocab_size", 1);
  s.encoder = ReadEncoder(config, 2560, 32, 36, 10240, "gelu");
  return BuildBertLike(config, s, "roberta");
}

absl::StatusOr<std::string> BuildErnie(const Config& config) {
  BertShape s = ReadBert(config, "Ernie", 30522);
  const int64_t tasks = config.Size("task_type_vocab_size", 3);
  if (config.Flag("use_task_id", false)) s.tasks = tasks;
  return BuildBertLike(config, s, "ernie");
}

absl::StatusOr<std::string> BuildLayoutLm(const Config& config) {
  BertShape s = ReadBert(config, "LayoutLM", 30522);
  s.places = config.Size("max_2d_position_embeddings", 1024);
  return BuildBertLike(config, s, "layoutlm");
}

absl::StatusOr<std::string> BuildRemBert(const Config& config) {
  BertShape s;
  s.prefix = "RemBert";
  s.vocab = config.Size("vocab_size", 250300);
  s.positions = config.Size("max_position_embeddings", 512);
  s.types = config.Size("type_vocab_size", 2);
  s.encoder = ReadEncoder(config, 1152, 18, 32, 4608, "gelu");
  s.embedding = config.Size("input_embedding_size", 256);
  s.head = config.Size("output_embedding_size", 1664);
  if (config.Flag("tie_word_embeddings", false)) {
    config.Ignore("tie_word_embeddings", "the reference implementation never ties them in RemBERT");
  }
  return BuildBertLike(config, s, "rembert");
}

}  // namespace onnxflops::family
