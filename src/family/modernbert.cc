// ModernBERT: pre-norm layers with rotary positions and gated MLPs. Most layers attend to near
// tokens on both sides only; every third attends to all.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct ModernBertShape {
  int64_t vocab = 0, hidden = 0, inner = 0, layers = 0, heads = 0;
  int64_t reach = 0;         // of a layer that is not global: tokens on each side
  std::vector<bool> global;  // by layer
  bool attention_bias = false, mlp_bias = false, norm_bias = false;
  std::string activation;
  int64_t HeadDim() const { return hidden / heads; }
};

void ReadModernBertLayers(const Config& config, ModernBertShape* s) {
  const auto layers = static_cast<size_t>(s->layers);
  const std::optional<std::vector<std::string>> types = config.Texts("layer_types");
  s->global.assign(layers, false);
  if (!types) {
    const auto each = static_cast<size_t>(config.Size("global_attn_every_n_layers", 3));
    for (size_t i = 0; i < layers; i += each) s->global[i] = true;
    return;
  }
  if (types->size() != layers) {
    return config.Fault("layer_types",
                        absl::StrCat("has ", types->size(), " entries for ", layers, " layers"));
  }
  for (size_t i = 0; i < layers; ++i) {
    s->global[i] = (*types)[i] == "full_attention";
    if (s->global[i] || (*types)[i] == "sliding_attention") continue;
    return config.Fault("layer_types", "knows full_attention and sliding_attention");
  }
}

ModernBertShape ReadModernBert(const Config& config) {
  ModernBertShape s;
  s.vocab = config.Size("vocab_size", 50368);
  s.hidden = config.Size("hidden_size", 768);
  s.inner = config.Size("intermediate_size", 1152);
  s.layers = config.Layers("num_hidden_layers", 22);
  s.heads = config.Size("num_attention_heads", 12);
  s.reach = config.Size("local_attention", 128) / 2;
  s.attention_bias = config.Flag("attention_bias", false);
  s.mlp_bias = config.Flag("mlp_bias", false);
  s.norm_bias = config.Flag("norm_bias", false);
  s.activation = ReadActivation(config, "hidden_activation", "gelu");
  ReadModernBertLayers(config, &s);
  config.RequireDivisible("hidden_size", s.hidden, "num_attention_heads", s.heads);
  if (s.HeadDim() % 2 != 0) {
    config.Fault("hidden_size", "gives heads of an odd size: features are rotated in pairs");
  }
  return s;
}

class ModernBertBuilder {
 public:
  ModernBertBuilder(GraphBuilder* b, const ModernBertShape& shape) : b_(b), s_(shape) {}

  Tensor Body(const Tensor& ids, Tensor* table) {
    Tensor x;
    {
      const Scope embeddings(b_, "embeddings", "ModernBertEmbeddings");
      x = Norm(Embedding(b_, ids, "tok_embeddings", s_.vocab, s_.hidden, table), "norm");
    }
    const Tensor places = Positions(b_, ids, 1);
    for (const bool global : {true, false}) {
      if (std::find(s_.global.begin(), s_.global.end(), global) == s_.global.end()) continue;
      const Tensor row = b_->Op("Unsqueeze", {places, b_->Ints({0})});
      angles_[global ? 1 : 0] =
          RotaryAngles(b_, row, s_.HeadDim(), "rotary_emb", "ModernBertRotaryEmbedding");
    }
    for (int64_t i = 0; i < s_.layers; ++i) x = Layer(x, i);
    return Norm(x, "final_norm");
  }

  Tensor Head(const Tensor& x, bool bias, const std::string& activation) {
    const Scope head(b_, "head", "ModernBertPredictionHead");
    const Tensor y = Linear(b_, x, "dense", s_.hidden, s_.hidden, bias);
    return Norm(Activate(b_, y, activation), "norm");
  }

 private:
  Tensor Norm(const Tensor& x, const char* name) {
    return LayerNorm(b_, x, name, s_.hidden, s_.norm_bias);
  }

  Tensor Attend(const Tensor& x, int64_t index) {
    const Scope attention(b_, "attn", "ModernBertAttention");
    const int64_t h = s_.hidden;
    const bool global = s_.global[static_cast<size_t>(index)];
    const std::vector<Tensor> qkv =
        Split(b_, Linear(b_, x, "Wqkv", h, 3 * h, s_.attention_bias), {h, h, h}, -1);
    const Rotation& angles = angles_[global ? 1 : 0];
    const Tensor q = Rotate(b_, qkv[0], angles, s_.heads, s_.HeadDim());
    const Tensor k = Rotate(b_, qkv[1], angles, s_.heads, s_.HeadDim());
    AttentionShape shape = {s_.heads, s_.heads, s_.HeadDim()};
    if (!global) shape.window = s_.reach + 1;
    return Linear(b_, Attention(b_, q, k, qkv[2], shape), "Wo", h, h, s_.attention_bias);
  }

  Tensor Layer(Tensor x, int64_t index) {
    const Scope layer(b_, absl::StrCat("layers.", index), "ModernBertEncoderLayer");
    x = Add(b_, x, Attend(index == 0 ? x : Norm(x, "attn_norm"), index));
    Tensor y = Norm(x, "mlp_norm");
    {
      const Scope mlp(b_, "mlp", "ModernBertMLP");
      const Tensor both = Linear(b_, y, "Wi", s_.hidden, 2 * s_.inner, s_.mlp_bias);
      const std::vector<Tensor> parts = Split(b_, both, {s_.inner, s_.inner}, -1);
      y = Mul(b_, Activate(b_, parts[0], s_.activation), parts[1]);
      y = Linear(b_, y, "Wo", s_.inner, s_.hidden, s_.mlp_bias);
    }
    return Add(b_, x, y);
  }

  GraphBuilder* b_;
  const ModernBertShape& s_;
  Rotation angles_[2];  // of layers with near tokens, and of global ones
};

struct ModernBertHead {
  bool bias = false, decoder_bias = true, tied = true, mean = false;
  std::string activation;
  int64_t labels = 0;
};

ModernBertHead ReadModernBertHead(const Config& config, const std::string& root) {
  ModernBertHead head;
  if (root == "ModernBertModel") return head;
  head.bias = config.Flag("classifier_bias", false);
  head.activation = ReadActivation(config, "classifier_activation", "gelu");
  if (root == "ModernBertForMaskedLM") {
    head.decoder_bias = config.Flag("decoder_bias", true);
    head.tied = config.Flag("tie_word_embeddings", true);
    return head;
  }
  head.labels = config.Labels();
  if (root != "ModernBertForSequenceClassification") return head;
  const std::string pooling = config.Text("classifier_pooling", "cls");
  head.mean = pooling == "mean";
  if (!head.mean && pooling != "cls") config.Fault("classifier_pooling", "should be cls or mean");
  return head;
}

}  // namespace

absl::StatusOr<std::string> BuildModernBert(const Config& config) {
  const ModernBertShape s = ReadModernBert(config);
  const std::string root = config.RequireArchitecture({"ModernBertForMaskedLM", "ModernBertModel",
                                                       "ModernBertForSequenceClassification",
                                                       "ModernBertForTokenClassification"});
  const ModernBertHead head = ReadModernBertHead(config, root);
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  ModernBertBuilder builder(&b, s);
  Tensor x, table;
  {
    std::optional<Scope> body;
    if (root != "ModernBertModel") body.emplace(&b, "model", "ModernBertModel");
    x = builder.Body(ids, &table);
  }
  if (root == "ModernBertModel") {
    b.Output("last_hidden_state", x, dtype, {"batch", "seq", s.hidden});
    return std::move(b).Finish();
  }
  const bool one = root == "ModernBertForSequenceClassification";
  if (one && head.mean) {
    x = b.Op("ReduceMean", {x, b.Ints({1})}, {{"keepdims", int64_t{0}}});
  } else if (one) {
    x = TakeToken(&b, x, 0);
  }
  x = builder.Head(x, head.bias, head.activation);
  if (head.labels > 0) {
    const Tensor logits = Linear(&b, x, "classifier", s.hidden, head.labels, true);
    b.Output("logits", logits, dtype,
             one ? Dims{"batch", head.labels} : Dims{"batch", "seq", head.labels});
    return std::move(b).Finish();
  }
  x = head.tied ? TiedLinear(&b, x, "decoder", table, head.decoder_bias ? s.vocab : 0)
                : Linear(&b, x, "decoder", s.hidden, s.vocab, head.decoder_bias);
  b.Output("logits", x, dtype, {"batch", "seq", s.vocab});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
