#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/families.h"

namespace onnxflops::family {
namespace {

struct BertShape {
  int64_t vocab, positions, types;
  EncoderShape encoder;
};

BertShape ReadBert(const Config& config) {
  return {config.Size("vocab_size", 30522), config.Size("max_position_embeddings", 512),
          config.Size("type_vocab_size", 2), ReadEncoder(config, 768, 12, 12, 3072, "gelu")};
}

Tensor BuildEmbeddings(GraphBuilder* b, const Tensor& ids, const BertShape& s, Tensor* table) {
  const Scope embeddings(b, "embeddings", "BertEmbeddings");
  const int64_t h = s.encoder.hidden;
  Tensor x = Embedding(b, ids, "word_embeddings", s.vocab, h, table);
  x = Add(b, x, Embedding(b, b->Scalar(0), "token_type_embeddings", s.types, h));
  x = Add(b, x, Embedding(b, Positions(b, ids, 1), "position_embeddings", s.positions, h));
  return LayerNorm(b, x, "LayerNorm", h);
}

// A projection, and the norm of its sum with what went around it.
Tensor BuildOutput(GraphBuilder* b, const Tensor& x, const Tensor& around, int64_t in,
                   const BertShape& s, const char* type) {
  const Scope output(b, "output", type);
  const int64_t h = s.encoder.hidden;
  return LayerNorm(b, Add(b, Linear(b, x, "dense", in, h, true), around), "LayerNorm", h);
}

Tensor BuildLayer(GraphBuilder* b, Tensor x, const BertShape& s, int64_t index) {
  const Scope layer(b, absl::StrCat("layer.", index), "BertLayer");
  const EncoderShape& e = s.encoder;
  {
    const Scope attention(b, "attention", "BertAttention");
    Tensor y;
    {
      const Scope self(b, "self", "BertSelfAttention");
      const Tensor q = Linear(b, x, "query", e.hidden, e.hidden, true);
      const Tensor k = Linear(b, x, "key", e.hidden, e.hidden, true);
      const Tensor v = Linear(b, x, "value", e.hidden, e.hidden, true);
      y = Attention(b, q, k, v, {e.heads, e.heads, e.hidden / e.heads});
    }
    x = BuildOutput(b, y, x, e.hidden, s, "BertSelfOutput");
  }
  Tensor y;
  {
    const Scope intermediate(b, "intermediate", "BertIntermediate");
    y = Activate(b, Linear(b, x, "dense", e.hidden, e.intermediate, true), e.activation);
  }
  return BuildOutput(b, y, x, e.intermediate, s, "BertOutput");
}

Tensor BuildBody(GraphBuilder* b, const Tensor& ids, const BertShape& s, Tensor* table) {
  Tensor x = BuildEmbeddings(b, ids, s, table);
  const Scope encoder(b, "encoder", "BertEncoder");
  for (int64_t i = 0; i < s.encoder.layers; ++i) x = BuildLayer(b, x, s, i);
  return x;
}

Tensor BuildPooler(GraphBuilder* b, const Tensor& x, const BertShape& s) {
  const Scope pooler(b, "pooler", "BertPooler");
  const int64_t h = s.encoder.hidden;
  return b->Op("Tanh", {Linear(b, TakeToken(b, x, 0), "dense", h, h, true)});
}

void BuildMaskedHead(GraphBuilder* b, Tensor x, const BertShape& s, const Tensor& table) {
  const Scope cls(b, "cls", "BertOnlyMLMHead");
  const Scope predictions(b, "predictions", "BertLMPredictionHead");
  {
    const Scope transform(b, "transform", "BertPredictionHeadTransform");
    const int64_t h = s.encoder.hidden;
    x = Activate(b, Linear(b, x, "dense", h, h, true), s.encoder.activation);
    x = LayerNorm(b, x, "LayerNorm", h);
  }
  x = table.empty() ? Linear(b, x, "decoder", s.encoder.hidden, s.vocab, false)
                    : TiedLinear(b, x, "decoder", table);
  x = Add(b, x, b->Weight("bias", {s.vocab}));
  b->Output("logits", x, b->dtype(), {"batch", "seq", s.vocab});
}

}  // namespace

absl::StatusOr<std::string> BuildBert(const Config& config) {
  const BertShape s = ReadBert(config);
  const std::string root =
      config.RequireArchitecture({"BertForMaskedLM", "BertModel", "BertForSequenceClassification"});
  const bool masked = root == "BertForMaskedLM", whole = root == "BertModel";
  const bool tied = config.Flag("tie_word_embeddings", true);
  const int64_t labels = masked || whole ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  const int64_t h = s.encoder.hidden;
  Tensor x, pooled, table;
  {
    std::optional<Scope> bert;
    if (!whole) bert.emplace(&b, "bert", "BertModel");
    x = BuildBody(&b, ids, s, &table);
    if (!masked) pooled = BuildPooler(&b, x, s);
  }
  if (masked) {
    BuildMaskedHead(&b, x, s, tied ? table : "");
  } else if (whole) {
    b.Output("last_hidden_state", x, dtype, {"batch", "seq", h});
    b.Output("pooler_output", pooled, dtype, {"batch", h});
  } else {
    b.Output("logits", Linear(&b, pooled, "classifier", h, labels, true), dtype, {"batch", labels});
  }
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
