// DeBERTa V2 and V3: scores are of contents, and of contents and distances.
//
// How it works. All layers share a table of distances, one row for each, or for each bucket of near
// ones. In each layer the table is projected to keys and queries of its own, or by the projections
// of the tokens. Queries are multiplied with the keys of all rows (c2p), keys with the queries of
// all rows (p2c), and each pair of tokens takes the product at its distance. This is not what
// ONNX's Attention computes, so the products are nodes of their own. The first layer may be
// followed by a convolution over tokens.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct DebertaConv {
  int64_t kernel = 0, groups = 1;
  std::string activation;
};

struct DebertaShape {
  int64_t vocab = 0, embedding = 0, positions = 0, types = 0;
  EncoderShape encoder;
  bool placed = false;        // positions are added to the embeddings
  bool relative = false;      // scores of distances
  bool to_keys = false;       // c2p
  bool to_queries = false;    // p2c
  bool shared = false;        // by the projections of the tokens
  bool normed_table = false;  // of distances
  int64_t buckets = 0;        // 0: each distance has a row
  int64_t span = 0;           // half of the rows
  std::optional<DebertaConv> conv;
};

// Texts of a list, or of a text with bars between them.
std::vector<std::string> ReadBars(const Config& config, const char* key) {
  if (config.HasList(key)) return config.Texts(key).value_or(std::vector<std::string>{});
  if (!config.Given(key)) return {};
  std::vector<std::string> parts = absl::StrSplit(absl::AsciiStrToLower(config.Text(key, "")), '|');
  for (std::string& part : parts) absl::StripAsciiWhitespace(&part);
  return parts;
}

bool Lists(const std::vector<std::string>& parts, const char* part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

void ReadDistances(const Config& config, DebertaShape* s) {
  s->relative = config.Flag("relative_attention", false);
  s->normed_table = Lists(ReadBars(config, "norm_rel_ebd"), "layer_norm");
  const std::vector<std::string> kinds = ReadBars(config, "pos_att_type");
  if (!s->relative) return;
  s->to_keys = Lists(kinds, "c2p");
  s->to_queries = Lists(kinds, "p2c");
  s->shared = config.Flag("share_att_key", false);
  s->span = config.Integer("max_relative_positions", -1, -1);
  if (s->span < 1) s->span = s->positions;
  const int64_t buckets = config.Integer("position_buckets", -1, -1);
  if (buckets > 0) s->span = s->buckets = buckets;
}

void ReadDebertaConv(const Config& config, DebertaShape* s) {
  const int64_t kernel = config.Integer("conv_kernel_size", 0, 0);
  if (kernel == 0) return;
  DebertaConv conv;
  conv.kernel = kernel;
  if (conv.kernel % 2 == 0) config.Fault("conv_kernel_size", "is even, which drops a token");
  conv.groups = config.Size("conv_groups", 1);
  config.RequireDivisible("hidden_size", s->encoder.hidden, "conv_groups", conv.groups);
  conv.activation = ReadActivation(config, "conv_act", "tanh");
  s->conv = conv;
}

DebertaShape ReadDeberta(const Config& config) {
  DebertaShape s;
  s.vocab = config.Size("vocab_size", 128100);
  s.encoder = ReadEncoder(config, 1536, 24, 24, 6144, "gelu");
  const int64_t h = s.encoder.hidden;
  s.embedding = config.Size("embedding_size", h);
  s.positions = config.Size("max_position_embeddings", 512);
  s.types = config.Integer("type_vocab_size", 0, 0);
  s.placed = config.Flag("position_biased_input", true);
  if (config.Has("attention_head_size") &&
      config.Size("attention_head_size", 1) * s.encoder.heads != h) {
    config.Fault("attention_head_size", "should be hidden_size by num_attention_heads");
  }
  ReadDistances(config, &s);
  ReadDebertaConv(config, &s);
  return s;
}

class DebertaBuilder {
 public:
  DebertaBuilder(GraphBuilder* b, const DebertaShape& shape)
      : b_(b), s_(shape), h_(shape.encoder.hidden), heads_(shape.encoder.heads) {}

  Tensor Body(const Tensor& ids, Tensor* table) {
    const Tensor embedded = Embed(ids, table);
    const Scope encoder(b_, "encoder", "DebertaV2Encoder");
    if (s_.relative) {
      const Scope rows(b_, "rel_embeddings", "Embedding");
      distances_ = b_->Op("Identity", {b_->Weight("weight", {2 * s_.span, h_})});
    }
    if (s_.normed_table && s_.relative) {
      distances_ = LayerNorm(b_, distances_, "LayerNorm", h_);
    } else if (s_.normed_table) {
      DeclareNorm();
    }
    if (s_.relative) apart_ = Apart(embedded);
    Tensor x = embedded;
    for (int64_t i = 0; i < s_.encoder.layers; ++i) {
      x = Layer(x, i);
      if (i == 0 && s_.conv) x = Convolve(embedded, x);
    }
    return x;
  }

 private:
  Tensor Embed(const Tensor& ids, Tensor* table) {
    const Scope embeddings(b_, "embeddings", "DebertaV2Embeddings");
    const int64_t e = s_.embedding;
    Tensor x = Embedding(b_, ids, "word_embeddings", s_.vocab, e, table);
    if (s_.placed) {
      x = Add(b_, x, Embedding(b_, Positions(b_, ids, 1), "position_embeddings", s_.positions, e));
    }
    if (s_.types > 0) {
      x = Add(b_, x, Embedding(b_, b_->Scalar(0), "token_type_embeddings", s_.types, e));
    }
    if (e != h_) x = Linear(b_, x, "embed_proj", e, h_, false);
    return LayerNorm(b_, x, "LayerNorm", h_);
  }

  // Without distances, nothing reads their norm.
  void DeclareNorm() {
    const Scope norm(b_, "LayerNorm", "LayerNorm");
    b_->Weight("weight", {h_});
    b_->Weight("bias", {h_});
  }

  // The distance of each query from each key, in buckets where there are any: near ones have one
  // each, and farther ones share them by the logarithm. [seq, seq]
  Tensor Apart(const Tensor& x) {
    const Tensor places = Positions(b_, x, 1);
    const Tensor apart = b_->Op("Sub", {b_->Op("Unsqueeze", {places, b_->Ints({1})}),
                                        b_->Op("Unsqueeze", {places, b_->Ints({0})})});
    if (s_.buckets == 0) return apart;
    const Attrs to_float = {{"to", static_cast<int64_t>(DType::kFloat32)}};
    const Tensor near = b_->Op("Cast", {apart}, to_float);
    const int64_t half = s_.buckets / 2;  // as the class, rounded down
    const Tensor middle = b_->Floats({static_cast<float>(half)});
    const Tensor size = b_->Op("Max", {b_->Op("Abs", {near}), b_->Floats({1})});
    Tensor far = b_->Op("Log", {b_->Op("Div", {size, middle})});
    far = b_->Op("Ceil", {Mul(b_, b_->Op("Div", {far, b_->Floats({1})}), middle)});
    far = Mul(b_, Add(b_, far, middle), b_->Op("Sign", {near}));
    const Tensor is_near = b_->Op("LessOrEqual", {size, middle});
    return b_->Op("Cast", {b_->Op("Where", {is_near, near, far})},
                  {{"to", static_cast<int64_t>(DType::kInt64)}});
  }

  // [batch, n, hidden] -> [batch, heads, n, dim], or the last two turned.
  Tensor ByHead(const Tensor& x, bool turned) {
    const Tensor split = Reshape(b_, x, {0, 0, heads_, h_ / heads_});
    return turned ? Transpose(b_, split, {0, 2, 3, 1}) : Transpose(b_, split, {0, 2, 1, 3});
  }

  Tensor Scaled(const Tensor& x) { return b_->Op("Div", {x, Factor(b_, 1)}); }

  // Products with all rows of the table; each pair of tokens takes that of its distance, counted
  // from the middle of the table. Distances of keys from queries have the other sign.
  Tensor AtDistance(const Tensor& x, const Tensor& rows, bool of_keys) {
    const Tensor all = b_->Op("MatMul", {x, rows});
    Tensor at = of_keys ? b_->Op("Neg", {apart_}) : apart_;
    at = b_->Op("Clip",
                {Add(b_, at, b_->Scalar(s_.span)), b_->Scalar(0), b_->Scalar(2 * s_.span - 1)});
    const Tensor n = SizeOf(b_, x, 2);
    const Tensor shape = Concat(b_, {SizeOf(b_, x, 0), b_->Ints({heads_}), n, n}, 0);
    Tensor taken =
        b_->Op("GatherElements", {all, b_->Op("Expand", {at, shape})}, {{"axis", int64_t{-1}}});
    if (of_keys) taken = Transpose(b_, taken, {0, 1, 3, 2});
    return Scaled(taken);
  }

  // Queries and keys of the rows, from projections of their own or those of the tokens, which are
  // both made whichever is used.
  Tensor AddDistances(Tensor scores, const Tensor& q, const Tensor& k) {
    const Tensor rows = b_->Op("Unsqueeze", {distances_, b_->Ints({0})});
    Tensor queries, keys;
    if (s_.shared || s_.to_keys) {
      keys = Linear(b_, rows, s_.shared ? "key_proj" : "pos_key_proj", h_, h_, true);
    }
    if (s_.shared || s_.to_queries) {
      queries = Linear(b_, rows, s_.shared ? "query_proj" : "pos_query_proj", h_, h_, true);
    }
    if (s_.to_keys) scores = Add(b_, scores, AtDistance(q, ByHead(keys, true), false));
    if (s_.to_queries) scores = Add(b_, scores, AtDistance(k, ByHead(queries, true), true));
    return scores;
  }

  Tensor Attend(const Tensor& x) {
    const Scope self(b_, "self", "DisentangledSelfAttention");
    const Tensor q = ByHead(Linear(b_, x, "query_proj", h_, h_, true), false);
    const Tensor keys = Linear(b_, x, "key_proj", h_, h_, true);
    const Tensor v = ByHead(Linear(b_, x, "value_proj", h_, h_, true), false);
    Tensor scores = b_->Op("MatMul", {q, Scaled(ByHead(keys, true))});
    if (s_.relative) scores = AddDistances(scores, q, ByHead(keys, false));
    scores = b_->Op("Softmax", {scores}, {{"axis", int64_t{-1}}});
    return Reshape(b_, Transpose(b_, b_->Op("MatMul", {scores, v}), {0, 2, 1, 3}), {0, 0, h_});
  }

  Tensor Output(const Tensor& x, const Tensor& around, int64_t in, const char* type) {
    const Scope output(b_, "output", type);
    return LayerNorm(b_, Add(b_, Linear(b_, x, "dense", in, h_, true), around), "LayerNorm", h_);
  }

  Tensor Layer(Tensor x, int64_t index) {
    const Scope layer(b_, absl::StrCat("layer.", index), "DebertaV2Layer");
    {
      const Scope attention(b_, "attention", "DebertaV2Attention");
      x = Output(Attend(x), x, h_, "DebertaV2SelfOutput");
    }
    const int64_t inner = s_.encoder.intermediate;
    Tensor y;
    {
      const Scope intermediate(b_, "intermediate", "DebertaV2Intermediate");
      y = Activate(b_, Linear(b_, x, "dense", h_, inner, true), s_.encoder.activation);
    }
    return Output(y, x, inner, "DebertaV2Output");
  }

  // Of the embeddings, added to what the first layer made.
  Tensor Convolve(const Tensor& x, const Tensor& around) {
    const Scope layer(b_, "conv", "ConvLayer");
    const int64_t k = s_.conv->kernel;
    Tensor y;
    {
      const Scope conv(b_, "conv", "Conv1d");
      y = b_->Op("Conv",
                 {Transpose(b_, x, {0, 2, 1}), b_->Weight("weight", {h_, h_ / s_.conv->groups, k}),
                  b_->Weight("bias", {h_})},
                 {{"kernel_shape", std::vector<int64_t>{k}},
                  {"pads", std::vector<int64_t>{k / 2, k / 2}},
                  {"group", s_.conv->groups}});
    }
    y = Activate(b_, Transpose(b_, y, {0, 2, 1}), s_.conv->activation);
    return LayerNorm(b_, Add(b_, around, y), "LayerNorm", h_);
  }

  GraphBuilder* b_;
  const DebertaShape& s_;
  const int64_t h_, heads_;
  Tensor distances_, apart_;
};

struct DebertaHead {
  bool masked = false, legacy = true, tied = true;
  int64_t labels = 0;
  std::string pooler;
};

DebertaHead ReadDebertaHead(const Config& config, const std::string& root, const DebertaShape& s) {
  DebertaHead head;
  head.masked = root == "DebertaV2ForMaskedLM";
  if (head.masked) {
    head.legacy = config.Flag("legacy", true);
    if (head.legacy) {
      head.tied = config.Flag("tie_word_embeddings", true);
    } else if (s.embedding != s.encoder.hidden) {
      config.Fault("embedding_size", "should be hidden_size where legacy is false");
    }
  } else if (root == "DebertaV2ForSequenceClassification") {
    head.labels = config.Labels();
    head.pooler = ReadActivation(config, "pooler_hidden_act", "gelu");
    const int64_t h = s.encoder.hidden;
    if (config.Has("pooler_hidden_size") && config.Size("pooler_hidden_size", h) != h) {
      config.Fault("pooler_hidden_size", "should be hidden_size");
    }
  }
  return head;
}

// Words by the table of the embeddings, or, in files of old models, by a layer that may be tied.
Tensor DebertaWords(GraphBuilder* b, Tensor x, const DebertaShape& s, const DebertaHead& head,
                    const Tensor& table) {
  const int64_t h = s.encoder.hidden, e = s.embedding;
  const Scope cls(b, head.legacy ? "cls" : "lm_predictions",
                  head.legacy ? "LegacyDebertaV2OnlyMLMHead" : "DebertaV2OnlyMLMHead");
  const Scope words(b, head.legacy ? "predictions" : "lm_head",
                    head.legacy ? "LegacyDebertaV2LMPredictionHead" : "DebertaV2LMPredictionHead");
  {
    std::optional<Scope> transform;
    if (head.legacy) transform.emplace(b, "transform", "LegacyDebertaV2PredictionHeadTransform");
    x = Activate(b, Linear(b, x, "dense", h, e, true), s.encoder.activation);
    x = LayerNorm(b, x, "LayerNorm", e);
  }
  const Tensor bias = b->Weight("bias", {s.vocab});
  if (!head.tied) return Linear(b, x, "decoder", e, s.vocab, true);
  if (head.legacy) return Add(b, TiedLinear(b, x, "decoder", table), bias);
  const Attrs turned = {{"transB", int64_t{1}}};
  return Add(b, b->Ops("FusedMatMul", {x, table}, {""}, turned, "com.microsoft")[0], bias);
}

}  // namespace

absl::StatusOr<std::string> BuildDebertaV2(const Config& config) {
  const DebertaShape s = ReadDeberta(config);
  const std::string root = config.RequireArchitecture(
      {"DebertaV2Model", "DebertaV2ForMaskedLM", "DebertaV2ForSequenceClassification"});
  const DebertaHead head = ReadDebertaHead(config, root, s);
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  if (s.placed) b.LimitDim("seq", s.positions);
  const int64_t h = s.encoder.hidden;
  Tensor x, table;
  {
    std::optional<Scope> body;
    if (root != "DebertaV2Model") body.emplace(&b, "deberta", "DebertaV2Model");
    x = DebertaBuilder(&b, s).Body(ids, &table);
  }
  if (head.masked) {
    x = DebertaWords(&b, x, s, head, table);
    b.Output("logits", x, dtype, {"batch", "seq", s.vocab});
  } else if (head.labels > 0) {
    {
      const Scope pooler(&b, "pooler", "ContextPooler");
      x = Activate(&b, Linear(&b, TakeToken(&b, x, 0), "dense", h, h, true), head.pooler);
    }
    x = Linear(&b, x, "classifier", h, head.labels, true);
    b.Output("logits", x, dtype, {"batch", head.labels});
  } else {
    b.Output("last_hidden_state", x, dtype, {"batch", "seq", h});
  }
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
