#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct DistilShape {
  int64_t vocab, positions, width, inner, layers, heads;
  std::string activation;
};

DistilShape ReadDistil(const Config& config) {
  DistilShape s;
  s.vocab = config.Size("vocab_size", 30522);
  s.positions = config.Size("max_position_embeddings", 512);
  s.width = config.Size("dim", 768);
  s.inner = config.Size("hidden_dim", 3072);
  s.layers = config.Layers("n_layers", 6);
  s.heads = config.Size("n_heads", 12);
  s.activation = ReadActivation(config, "activation", "gelu");
  config.RequireDivisible("dim", s.width, "n_heads", s.heads);
  return s;
}

Tensor DistilLayer(GraphBuilder* b, Tensor x, const DistilShape& s, int64_t index) {
  const Scope layer(b, absl::StrCat("layer.", index), "TransformerBlock");
  const int64_t w = s.width;
  Tensor y;
  {
    const Scope attention(b, "attention", "DistilBertSelfAttention");
    const Tensor q = Linear(b, x, "q_lin", w, w, true);
    const Tensor k = Linear(b, x, "k_lin", w, w, true);
    const Tensor v = Linear(b, x, "v_lin", w, w, true);
    y = Linear(b, Attention(b, q, k, v, {s.heads, s.heads, w / s.heads}), "out_lin", w, w, true);
  }
  x = LayerNorm(b, Add(b, y, x), "sa_layer_norm", w);
  {
    const Scope ffn(b, "ffn", "FFN");
    y = Activate(b, Linear(b, x, "lin1", w, s.inner, true), s.activation);
    y = Linear(b, y, "lin2", s.inner, w, true);
  }
  return LayerNorm(b, Add(b, y, x), "output_layer_norm", w);
}

Tensor DistilBody(GraphBuilder* b, const Tensor& ids, const DistilShape& s, Tensor* table) {
  Tensor x;
  {
    const Scope embeddings(b, "embeddings", "Embeddings");
    x = Embedding(b, ids, "word_embeddings", s.vocab, s.width, table);
    const Tensor places = Positions(b, ids, 1);
    x = Add(b, x, Embedding(b, places, "position_embeddings", s.positions, s.width));
    b->LimitDim("seq", s.positions);
    x = LayerNorm(b, x, "LayerNorm", s.width);
  }
  const Scope transformer(b, "transformer", "Transformer");
  for (int64_t i = 0; i < s.layers; ++i) x = DistilLayer(b, x, s, i);
  return x;
}

}  // namespace

absl::StatusOr<std::string> BuildDistilbert(const Config& config) {
  const DistilShape s = ReadDistil(config);
  const std::string root = config.RequireArchitecture(
      {"DistilBertForMaskedLM", "DistilBertModel", "DistilBertForSequenceClassification"});
  const bool whole = root == "DistilBertModel", masked = root == "DistilBertForMaskedLM";
  const bool tied = config.Flag("tie_word_embeddings", true);
  const int64_t labels = whole || masked ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  Tensor x, table;
  {
    std::optional<Scope> model;
    if (!whole) model.emplace(&b, "distilbert", "DistilBertModel");
    x = DistilBody(&b, ids, s, &table);
  }
  const int64_t w = s.width;
  if (whole) {
    b.Output("last_hidden_state", x, dtype, {"batch", "seq", w});
  } else if (masked) {
    x = Activate(&b, Linear(&b, x, "vocab_transform", w, w, true), s.activation);
    x = LayerNorm(&b, x, "vocab_layer_norm", w);
    x = tied ? TiedLinear(&b, x, "vocab_projector", table, s.vocab)
             : Linear(&b, x, "vocab_projector", w, s.vocab, true);
    b.Output("logits", x, dtype, {"batch", "seq", s.vocab});
  } else {
    x = b.Op("Relu", {Linear(&b, TakeToken(&b, x, 0), "pre_classifier", w, w, true)});
    b.Output("logits", Linear(&b, x, "classifier", w, labels, true), dtype, {"batch", labels});
  }
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
