// ALBERT: narrow embeddings, and a few layers that are run again and again with the same weights.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct AlbertShape {
  int64_t vocab, embedding, positions, types, groups, inner;
  EncoderShape encoder;
};

AlbertShape ReadAlbert(const Config& config) {
  AlbertShape s;
  s.vocab = config.Size("vocab_size", 30000);
  s.embedding = config.Size("embedding_size", 128);
  s.positions = config.Size("max_position_embeddings", 512);
  s.types = config.Size("type_vocab_size", 2);
  s.encoder = ReadEncoder(config, 4096, 64, 12, 16384, "gelu_new");
  s.groups = config.Layers("num_hidden_groups", 1);
  s.inner = config.Layers("inner_group_num", 1);
  if (s.groups > s.encoder.layers) {
    config.Fault("num_hidden_groups", "should be at most num_hidden_layers");
  }
  if (s.inner * s.encoder.layers > kMaxConfigLayers) {
    config.Fault("inner_group_num", absl::StrCat("should be smaller: more than ", kMaxConfigLayers,
                                                 " layers would be run"));
  }
  return s;
}

Tensor AlbertEmbeddings(GraphBuilder* b, const Tensor& ids, const AlbertShape& s, Tensor* table) {
  const Scope embeddings(b, "embeddings", "AlbertEmbeddings");
  const int64_t e = s.embedding;
  Tensor x = Embedding(b, ids, "word_embeddings", s.vocab, e, table);
  x = Add(b, x, Embedding(b, b->Scalar(0), "token_type_embeddings", s.types, e));
  x = Add(b, x, Embedding(b, Positions(b, ids, 1), "position_embeddings", s.positions, e));
  return LayerNorm(b, x, "LayerNorm", e);
}

Tensor AlbertLayer(GraphBuilder* b, Tensor x, const EncoderShape& s, int64_t index) {
  const Scope layer(b, absl::StrCat("albert_layers.", index), "AlbertLayer");
  const int64_t h = s.hidden;
  {
    const Scope attention(b, "attention", "AlbertAttention");
    const Tensor q = Linear(b, x, "query", h, h, true), k = Linear(b, x, "key", h, h, true);
    const Tensor v = Linear(b, x, "value", h, h, true);
    const Tensor y = Attention(b, q, k, v, {s.heads, s.heads, h / s.heads});
    x = LayerNorm(b, Add(b, x, Linear(b, y, "dense", h, h, true)), "LayerNorm", h);
  }
  const Tensor y = Mlp(b, x, h, s.intermediate, s.activation, {"ffn", "ffn_output"});
  return LayerNorm(b, Add(b, y, x), "full_layer_layer_norm", h);
}

Tensor AlbertBody(GraphBuilder* b, const Tensor& ids, const AlbertShape& s, Tensor* table) {
  Tensor x = AlbertEmbeddings(b, ids, s, table);
  const Scope encoder(b, "encoder", "AlbertTransformer");
  x = Linear(b, x, "embedding_hidden_mapping_in", s.embedding, s.encoder.hidden, true);
  for (int64_t i = 0; i < s.encoder.layers; ++i) {
    const int64_t group = i * s.groups / s.encoder.layers;
    const Scope layers(b, absl::StrCat("albert_layer_groups.", group), "AlbertLayerGroup");
    for (int64_t k = 0; k < s.inner; ++k) x = AlbertLayer(b, x, s.encoder, k);
  }
  return x;
}

// Its bias is that of the decoder if weights are tied; if not, it is not used.
Tensor AlbertWords(GraphBuilder* b, Tensor x, const AlbertShape& s, const Tensor& table) {
  const Scope head(b, "predictions", "AlbertMLMHead");
  x = Linear(b, x, "dense", s.encoder.hidden, s.embedding, true);
  x = LayerNorm(b, Activate(b, x, s.encoder.activation), "LayerNorm", s.embedding);
  const Tensor bias = b->Weight("bias", {s.vocab});
  return table.empty() ? Linear(b, x, "decoder", s.embedding, s.vocab, true)
                       : Add(b, TiedLinear(b, x, "decoder", table), bias);
}

}  // namespace

absl::StatusOr<std::string> BuildAlbert(const Config& config) {
  const AlbertShape s = ReadAlbert(config);
  const std::string root = config.RequireArchitecture(
      {"AlbertForMaskedLM", "AlbertModel", "AlbertForSequenceClassification"});
  const bool masked = root == "AlbertForMaskedLM", whole = root == "AlbertModel";
  const bool tied = masked && config.Flag("tie_word_embeddings", true);
  const int64_t labels = masked || whole ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  b.LimitDim("seq", s.positions);
  const int64_t h = s.encoder.hidden;
  Tensor x, pooled, table;
  {
    std::optional<Scope> body;
    if (!whole) body.emplace(&b, "albert", "AlbertModel");
    x = AlbertBody(&b, ids, s, &table);
    if (!masked) pooled = b.Op("Tanh", {Linear(&b, TakeToken(&b, x, 0), "pooler", h, h, true)});
  }
  if (masked) {
    b.Output("logits", AlbertWords(&b, x, s, tied ? table : ""), dtype, {"batch", "seq", s.vocab});
  } else if (whole) {
    b.Output("last_hidden_state", x, dtype, {"batch", "seq", h});
    b.Output("pooler_output", pooled, dtype, {"batch", h});
  } else {
    b.Output("logits", Linear(&b, pooled, "classifier", h, labels, true), dtype, {"batch", labels});
  }
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
