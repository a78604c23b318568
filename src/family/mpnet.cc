// MPNet: BERT's layers with a bias by relative position, which all layers share.
#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct MpnetShape {
  int64_t vocab, positions, buckets;
  EncoderShape encoder;
};

MpnetShape ReadMpnet(const Config& config) {
  constexpr int64_t kBuckets = 32;
  MpnetShape s;
  s.vocab = config.Size("vocab_size", 30527);
  s.positions = config.Size("max_position_embeddings", 512);
  s.encoder = ReadEncoder(config, 768, 12, 12, 3072, "gelu");
  s.buckets = config.Size("relative_attention_num_buckets", kBuckets);
  // The class sorts distances into 32 whatever the size of the table.
  if (s.buckets < kBuckets) {
    config.Fault("relative_attention_num_buckets",
                 absl::StrCat("should be ", kBuckets, " or more"));
  }
  return s;
}

Tensor MpnetEmbeddings(GraphBuilder* b, const Tensor& ids, const MpnetShape& s, Tensor* table) {
  const Scope embeddings(b, "embeddings", "MPNetEmbeddings");
  const int64_t h = s.encoder.hidden;
  Tensor x = Embedding(b, ids, "word_embeddings", s.vocab, h, table);
  x = Add(b, x, Embedding(b, Positions(b, ids, 1), "position_embeddings", s.positions, h));
  return LayerNorm(b, x, "LayerNorm", h);
}

// [1, heads, seq, seq], by the bucket of a distance: near ones have one each, far ones share.
Tensor MpnetBias(GraphBuilder* b, const Tensor& x, const MpnetShape& s) {
  const Tensor places = Positions(b, x, 1);
  const Tensor apart = b->Op("Sub", {b->Op("Unsqueeze", {places, b->Ints({0})}),
                                     b->Op("Unsqueeze", {places, b->Ints({1})})});
  const Tensor bucket = b->Op("Min", {b->Op("Abs", {apart}), b->Scalar(s.buckets - 1)});
  const Tensor bias = Embedding(b, bucket, "relative_attention_bias", s.buckets, s.encoder.heads);
  return b->Op("Unsqueeze", {Transpose(b, bias, {2, 0, 1}), b->Ints({0})});
}

Tensor MpnetAttention(GraphBuilder* b, const Tensor& x, const Tensor& bias, const EncoderShape& s) {
  const Scope attention(b, "attention", "MPNetAttention");
  const int64_t h = s.hidden;
  Tensor y;
  {
    const Scope self(b, "attn", "MPNetSelfAttention");
    const Tensor q = Linear(b, x, "q", h, h, true), k = Linear(b, x, "k", h, h, true);
    const Tensor v = Linear(b, x, "v", h, h, true);
    y = Attention(b, q, k, v, {s.heads, s.heads, h / s.heads}, bias);
    y = Linear(b, y, "o", h, h, true);
  }
  return LayerNorm(b, Add(b, y, x), "LayerNorm", h);
}

Tensor MpnetBody(GraphBuilder* b, const Tensor& ids, const MpnetShape& s, Tensor* table) {
  Tensor x = MpnetEmbeddings(b, ids, s, table);
  const EncoderShape& e = s.encoder;
  const Scope encoder(b, "encoder", "MPNetEncoder");
  const Tensor bias = MpnetBias(b, x, s);
  for (int64_t i = 0; i < e.layers; ++i) {
    const Scope layer(b, absl::StrCat("layer.", i), "MPNetLayer");
    x = MpnetAttention(b, x, bias, e);
    Tensor y;
    {
      const Scope intermediate(b, "intermediate", "MPNetIntermediate");
      y = Activate(b, Linear(b, x, "dense", e.hidden, e.intermediate, true), e.activation);
    }
    const Scope output(b, "output", "MPNetOutput");
    y = Linear(b, y, "dense", e.intermediate, e.hidden, true);
    x = LayerNorm(b, Add(b, y, x), "LayerNorm", e.hidden);
  }
  return x;
}

// Its bias is that of the decoder if weights are tied; if not, it is not used.
Tensor MpnetWords(GraphBuilder* b, Tensor x, const MpnetShape& s, const Tensor& table) {
  const Scope head(b, "lm_head", "MPNetLMHead");
  const int64_t h = s.encoder.hidden;
  x = LayerNorm(b, b->Op("Gelu", {Linear(b, x, "dense", h, h, true)}), "layer_norm", h);
  const Tensor bias = b->Weight("bias", {s.vocab});
  return table.empty() ? Linear(b, x, "decoder", h, s.vocab, true)
                       : Add(b, TiedLinear(b, x, "decoder", table), bias);
}

// The first token through a layer, of the module that is open.
Tensor MpnetFirst(GraphBuilder* b, const Tensor& x, int64_t h) {
  return b->Op("Tanh", {Linear(b, TakeToken(b, x, 0), "dense", h, h, true)});
}

}  // namespace

absl::StatusOr<std::string> BuildMpnet(const Config& config) {
  const MpnetShape s = ReadMpnet(config);
  const std::string root = config.RequireArchitecture(
      {"MPNetForMaskedLM", "MPNetModel", "MPNetForSequenceClassification"});
  const bool masked = root == "MPNetForMaskedLM", whole = root == "MPNetModel";
  const bool tied = masked && config.Flag("tie_word_embeddings", true);
  const int64_t labels = masked || whole ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  // The first two positions are for padding.
  b.LimitDim("seq", std::max<int64_t>(s.positions - 2, 1));
  const int64_t h = s.encoder.hidden;
  Tensor x, table;
  {
    std::optional<Scope> body;
    if (!whole) body.emplace(&b, "mpnet", "MPNetModel");
    x = MpnetBody(&b, ids, s, &table);
  }
  if (masked) {
    b.Output("logits", MpnetWords(&b, x, s, tied ? table : ""), dtype, {"batch", "seq", s.vocab});
  } else if (whole) {
    const Scope pooler(&b, "pooler", "MPNetPooler");
    b.Output("last_hidden_state", x, dtype, {"batch", "seq", h});
    b.Output("pooler_output", MpnetFirst(&b, x, h), dtype, {"batch", h});
  } else {
    const Scope head(&b, "classifier", "MPNetClassificationHead");
    x = Linear(&b, MpnetFirst(&b, x, h), "out_proj", h, labels, true);
    b.Output("logits", x, dtype, {"batch", labels});
  }
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
