// Gemma 3n and Gemma 4, as far as text goes.
//
// How it works. Both give each layer a piece of its own of a second embedding (per-layer inputs),
// and their last layers have no keys and values: these see those of the last layer of the same kind
// before them, so they have no cache either. What differs from there on:
//
// Gemma 3n has a few streams of states (AltUp). A layer predicts all of them from all, runs on one
// of them, and corrects the others by what it changed. Laurel is a path of low rank around
// attention. The MLPs of the first layers keep only what is far above the mean.
//
// Gemma 4 has larger heads in layers without a window, where values may be the keys before their
// norm. A layer may have experts and an MLP, whose outputs are added.
#include "src/family/gemma3n.h"

#include <algorithm>
#include <utility>

#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

// ---- reading

constexpr int64_t kLeastGemmaWindow = 3;  // as in decoder_families.cc

// Without a list, all layers have a window but each `pattern`-th.
void ReadGemmaKinds(const Config& config, int64_t pattern, GemmaShape* s) {
  s->window = config.Size("sliding_window", 512);
  if (s->window < kLeastGemmaWindow) {
    config.Fault("sliding_window",
                 absl::StrCat("is ", s->window, ": known are ", kLeastGemmaWindow, " and more"));
  }
  const std::optional<std::vector<std::string>> types = config.Texts("layer_types");
  if (types && types->size() != s->layers.size()) {
    return config.Fault("layer_types", absl::StrCat("has ", types->size(), " entries for ",
                                                    s->layers.size(), " layers"));
  }
  for (size_t i = 0; i < s->layers.size(); ++i) {
    GemmaLayer& layer = s->layers[i];
    layer.sliding =
        types ? (*types)[i] == "sliding_attention" : (static_cast<int64_t>(i) + 1) % pattern != 0;
    if (types && !layer.sliding && (*types)[i] != "full_attention") {
      return config.Fault("layer_types", "knows full_attention and sliding_attention");
    }
  }
}

// The last layers see the keys and values of the last layer of their kind before them.
void ReadBorrowed(const Config& config, int64_t otherwise, GemmaShape* s) {
  constexpr char kShared[] = "num_kv_shared_layers";
  const int64_t shared = config.Integer(kShared, otherwise, 0);
  if (shared >= s->Layers()) {
    return config.Fault(kShared, absl::StrCat("is ", shared, " of ", s->Layers(), " layers"));
  }
  std::optional<int64_t> lender[2];
  for (int64_t i = 0; i < s->Layers(); ++i) {
    GemmaLayer& layer = s->layers[static_cast<size_t>(i)];
    std::optional<int64_t>& last = lender[layer.sliding ? 1 : 0];
    if (i < s->Layers() - shared) {
      last = i;
      continue;
    }
    if (!last) {
      return config.Fault(kShared, "leaves no layer of a kind that has keys and values");
    }
    layer.borrowed = last;
    s->layers[static_cast<size_t>(*last)].lends = true;
  }
}

void ReadGemmaCommon(const Config& config, GemmaShape* s) {
  s->hidden = config.Size("hidden_size", s->hidden);
  s->heads = config.Size("num_attention_heads", 8);
  s->activation = ReadActivation(config, "hidden_activation", "gelu_pytorch_tanh");
  s->tied = config.Flag("tie_word_embeddings", true);
  s->bias = config.Flag("attention_bias", false);
  s->piece_vocab = config.Size("vocab_size_per_layer_input", 262144);
}

void CheckHeads(const Config& config, const GemmaShape& s) {
  for (const GemmaLayer& layer : s.layers) {
    if (layer.head_dim % 2 != 0) {
      return config.Fault("head_dim", "is odd: features are rotated in pairs");
    }
    config.RequireDivisible("num_attention_heads", s.heads, "num_key_value_heads", layer.kv_heads);
  }
}

// The widths of the MLPs, and which of them are sparse.
void ReadGemma3nMlps(const Config& config, GemmaShape* s) {
  const size_t layers = s->layers.size();
  std::vector<int64_t> inner(layers, 16384);
  if (config.HasList("intermediate_size")) {
    inner = config.Sizes("intermediate_size").value_or(inner);
  } else {
    inner.assign(layers, config.Size("intermediate_size", 16384));
  }
  std::vector<double> sparsity(layers, 0);
  if (config.Has("activation_sparsity_pattern")) {
    sparsity = config.Parts("activation_sparsity_pattern");
  } else if (layers > 10) {
    std::fill_n(sparsity.begin(), 10, 0.95);
  }
  for (const auto& [key, size] : {std::pair("intermediate_size", inner.size()),
                                  {"activation_sparsity_pattern", sparsity.size()}}) {
    if (size == layers) continue;
    return config.Fault(key, absl::StrCat("has ", size, " entries for ", layers, " layers"));
  }
  for (size_t i = 0; i < layers; ++i) {
    s->layers[i].inner = inner[i];
    s->layers[i].sparse = sparsity[i] > 0;
  }
}

}  // namespace

GemmaShape ReadGemma3n(const Config& config) {
  GemmaShape s;
  s.prefix = "Gemma3n";
  s.hidden = 2048;
  s.vocab = config.Size("vocab_size", 262400);
  s.layers.resize(static_cast<size_t>(config.Layers("num_hidden_layers", 35)));
  ReadGemmaCommon(config, &s);
  config.RequireDivisible("hidden_size", s.hidden, "num_attention_heads", s.heads);
  const int64_t dim = config.Size("head_dim", 256);
  const int64_t kv_heads = config.Size("num_key_value_heads", 2);
  for (GemmaLayer& layer : s.layers) layer.head_dim = dim, layer.kv_heads = kv_heads;
  CheckHeads(config, s);
  ReadGemma3nMlps(config, &s);
  ReadGemmaKinds(config, 5, &s);
  ReadBorrowed(config, 15, &s);
  constexpr char kCap[] = "final_logit_softcapping";
  s.softcap = config.HasNull(kCap) ? 0 : config.Real(kCap, 30);
  s.piece = config.Size("hidden_size_per_layer_input", 256);
  s.streams = config.Size("altup_num_inputs", 4);
  s.active = config.Integer("altup_active_idx", 0, 0);
  s.scales_correction = config.Flag("altup_correct_scale", true);
  s.laurel = config.Size("laurel_rank", 64);
  constexpr int64_t kMostStreams = 64;
  if (s.streams > kMostStreams) config.Fault("altup_num_inputs", "is too large");
  if (s.active >= s.streams) config.Fault("altup_active_idx", "is beyond altup_num_inputs");
  return s;
}

namespace {

void ReadGemma4Experts(const Config& config, GemmaShape* s) {
  if (!config.Flag("enable_moe_block", false)) return;
  s->experts = ExpertShape{s->hidden, config.Required("moe_intermediate_size"),
                           config.Required("num_experts"), config.Required("top_k_experts"),
                           /*normalize=*/true};
  if (s->activation != "silu") s->experts->function = "gelu";
  if (s->experts->top_k <= s->experts->experts) return;
  config.Fault("top_k_experts",
               absl::StrCat("is ", s->experts->top_k, " of ", s->experts->experts, " experts"));
}

void ReadGemma4Heads(const Config& config, GemmaShape* s) {
  const int64_t dim = config.Size("head_dim", 256), large = config.Size("global_head_dim", 512);
  const int64_t kv_heads = config.Size("num_key_value_heads", 4);
  const bool keys_are_values = config.Flag("attention_k_eq_v", false);
  const bool fewer = keys_are_values && config.Given("num_global_key_value_heads");
  const int64_t few = fewer ? config.Size("num_global_key_value_heads", kv_heads) : kv_heads;
  for (GemmaLayer& layer : s->layers) {
    layer.head_dim = layer.sliding ? dim : large;
    layer.kv_heads = layer.sliding ? kv_heads : few;
    layer.keys_are_values = keys_are_values && !layer.sliding;
  }
  CheckHeads(config, *s);
}

}  // namespace

GemmaShape ReadGemma4(const Config& config) {
  GemmaShape s;
  s.prefix = "Gemma4";
  s.hidden = 2304;
  s.vocab = config.Size("vocab_size", 262144);
  s.layers.resize(static_cast<size_t>(config.Layers("num_hidden_layers", 30)));
  ReadGemmaCommon(config, &s);
  ReadGemmaKinds(config, 6, &s);
  s.layers.back().sliding = false;  // whatever the file says
  ReadGemma4Heads(config, &s);
  ReadBorrowed(config, 0, &s);
  const int64_t inner = config.Size("intermediate_size", 9216);
  const bool doubled = config.Flag("use_double_wide_mlp", false);
  for (GemmaLayer& layer : s.layers) layer.inner = doubled && layer.borrowed ? 2 * inner : inner;
  constexpr char kCap[] = "final_logit_softcapping";
  s.softcap = config.Has(kCap) ? config.Real(kCap, 30) : 0;
  s.piece = config.Integer("hidden_size_per_layer_input", 256, 0);
  ReadGemma4Experts(config, &s);
  constexpr char kBoth[] = "use_bidirectional_attention";
  if (config.Has(kBoth) && config.Text(kBoth, "") == "all") {
    config.Fault(kBoth, "is all, which is not known");
  }
  if (config.Has("per_layer_config")) config.Fault("per_layer_config", "is not known");
  return s;
}

namespace {

// ---- building

class GemmaBuilder {
 public:
  GemmaBuilder(GraphBuilder* b, const GemmaShape& shape) : b_(b), s_(shape) {}

  Tensor Embed(const Tensor& ids, Tensor* table) {
    return ScaledEmbedding(ids, "embed_tokens", s_.vocab, s_.hidden, table);
  }

  Tensor Build(Tensor x, const Tensor& ids, const Tensor& positions) {
    const std::vector<Tensor> pieces = Pieces(ids, x);
    for (const GemmaLayer& layer : s_.layers) {
      Rotation& angles = angles_[layer.sliding ? 1 : 0];
      if (!angles.cos.empty()) continue;
      angles = RotaryAngles(b_, positions, layer.head_dim, "rotary_emb", RotaryClass());
    }
    kept_.resize(s_.layers.size());
    if (s_.streams > 0) x = Spread(x);
    for (int64_t i = 0; i < s_.Layers(); ++i) {
      const Scope layer(b_, absl::StrCat("layers.", i), s_.Class("TextDecoderLayer"));
      const Tensor piece = pieces.empty() ? Tensor() : pieces[static_cast<size_t>(i)];
      x = s_.streams > 0 ? StreamsLayer(x, piece, i) : PlainLayer(x, piece, i);
    }
    if (s_.streams > 0) x = Gathered(x);
    return Norm(x, "norm", s_.hidden);
  }

 private:
  std::string RotaryClass() const {
    return s_.Class(s_.streams > 0 ? "RotaryEmbedding" : "TextRotaryEmbedding");
  }
  Tensor Norm(const Tensor& x, const char* name, int64_t width) {
    return RmsNorm(b_, x, name, width, s_.Class("RMSNorm"));
  }
  Tensor LinearOf(const Tensor& x, absl::string_view name, int64_t in, int64_t out) {
    return Linear(b_, x, name, in, out, false);
  }
  Tensor Scaled(const Tensor& x) { return Mul(b_, x, Factor(b_, 1)); }

  Tensor ScaledEmbedding(const Tensor& ids, const char* name, int64_t rows, int64_t width,
                         Tensor* table) {
    const Scope scope(b_, name, s_.Class("TextScaledWordEmbedding"));
    const Tensor weight = b_->Weight("weight", {rows, width});
    if (table != nullptr) *table = weight;
    return Scaled(b_->Op("Gather", {weight, ids}));
  }

  // What each layer gets of the second embedding, added to a projection of the first.
  std::vector<Tensor> Pieces(const Tensor& ids, const Tensor& x) {
    if (s_.piece == 0) return {};
    const int64_t layers = s_.Layers(), width = layers * s_.piece;
    const Tensor table =
        Reshape(b_, ScaledEmbedding(ids, "embed_tokens_per_layer", s_.piece_vocab, width, nullptr),
                {0, 0, layers, s_.piece});
    Tensor y = Scaled(LinearOf(x, "per_layer_model_projection", s_.hidden, width));
    y = Norm(Reshape(b_, y, {0, 0, layers, s_.piece}), "per_layer_projection_norm", s_.piece);
    y = Scaled(Add(b_, y, table));
    std::vector<Tensor> parts =
        Split(b_, y, std::vector<int64_t>(static_cast<size_t>(layers), 1), 2);
    for (Tensor& part : parts) part = b_->Op("Squeeze", {part, b_->Ints({2})});
    return parts;
  }

  // ---- streams: [streams, batch, seq, hidden]

  Tensor SquareMean(const Tensor& x) {
    return b_->Op("ReduceMean", {Mul(b_, x, x), b_->Ints({-1})}, {{"keepdims", int64_t{1}}});
  }
  // x with the length of another.
  Tensor AsLongAs(const Tensor& x, const Tensor& length) {
    const Tensor own = b_->Op("Sqrt", {b_->Op("Max", {SquareMean(x), Factor(b_, 1)})});
    return b_->Op("Div", {Mul(b_, x, length), own});
  }
  Tensor Stacked(std::vector<Tensor> parts) {
    for (Tensor& part : parts) part = b_->Op("Unsqueeze", {part, b_->Ints({0})});
    return Concat(b_, parts, 0);
  }
  Tensor Stream(const Tensor& x, int64_t at) { return b_->Op("Gather", {x, b_->Scalar(at)}); }

  Tensor Spread(const Tensor& x) {
    const Tensor length = b_->Op("Sqrt", {SquareMean(x)});
    std::vector<Tensor> parts = {x};
    for (int64_t i = 1; i < s_.streams; ++i) {
      const std::string name = absl::StrCat("altup_projections.", i - 1);
      parts.push_back(AsLongAs(LinearOf(x, name, s_.hidden, s_.hidden), length));
    }
    return Stacked(std::move(parts));
  }

  Tensor Gathered(const Tensor& x) {
    std::vector<Tensor> parts = {Stream(x, 0)};
    const Tensor length = b_->Op("Sqrt", {SquareMean(parts[0])});
    for (int64_t i = 1; i < s_.streams; ++i) {
      const std::string name = absl::StrCat("altup_unembed_projections.", i - 1);
      parts.push_back(AsLongAs(LinearOf(Stream(x, i), name, s_.hidden, s_.hidden), length));
    }
    return b_->Op("ReduceMean", {Stacked(std::move(parts)), b_->Ints({0})},
                  {{"keepdims", int64_t{0}}});
  }

  // [batch, seq, streams].
  Tensor Modalities(const Tensor& x) {
    const Tensor y = Scaled(Norm(x, "router_norm", s_.hidden));
    return b_->Op("Tanh", {LinearOf(y, "modality_router", s_.hidden, s_.streams)});
  }

  Tensor Predict(const Tensor& x) {
    const Scope scope(b_, "altup", s_.Class("TextAltUp"));
    const int64_t n = s_.streams;
    Tensor mix = LinearOf(Modalities(Stream(x, s_.active)), "prediction_coefs", n, n * n);
    mix = Transpose(b_, Reshape(b_, mix, {0, 0, n, n}), {0, 1, 3, 2});
    const Tensor y = b_->Op("MatMul", {Transpose(b_, x, {1, 2, 3, 0}), mix});
    return Add(b_, Transpose(b_, y, {3, 0, 1, 2}), x);
  }

  Tensor Correct(const Tensor& predicted, const Tensor& active) {
    const Scope scope(b_, "altup", s_.Class("TextAltUp"));
    const int64_t n = s_.streams;
    const Tensor change = b_->Op("Sub", {active, Stream(predicted, s_.active)});
    Tensor mix = LinearOf(Modalities(active), "correction_coefs", n, n);
    mix = Transpose(b_, Add(b_, mix, Factor(b_, 1)), {2, 0, 1});
    const Tensor y = Mul(b_, change, b_->Op("Unsqueeze", {mix, b_->Ints({-1})}));
    b_->Weight("correct_output_scale", {s_.hidden});
    return Add(b_, y, predicted);
  }

  Tensor Laurel(const Tensor& x) {
    const Scope scope(b_, "laurel", s_.Class("TextLaurelBlock"));
    const Tensor y = LinearOf(LinearOf(x, "linear_left", s_.hidden, s_.laurel), "linear_right",
                              s_.laurel, s_.hidden);
    return Add(b_, x, Norm(y, "post_laurel_norm", s_.hidden));
  }

  Tensor StreamsLayer(const Tensor& x, const Tensor& piece, int64_t index) {
    const Tensor predicted = Predict(x), active = Stream(predicted, s_.active);
    const Tensor normed = Norm(active, "input_layernorm", s_.hidden);
    const Tensor around = Laurel(normed);
    Tensor y = Norm(Attention(normed, index), "post_attention_layernorm", s_.hidden);
    const Tensor attended = b_->Op("Div", {Add(b_, Add(b_, active, y), around), Factor(b_, 2)});
    y = Mlp(Norm(attended, "pre_feedforward_layernorm", s_.hidden), index);
    y = Add(b_, attended, Norm(y, "post_feedforward_layernorm", s_.hidden));
    const Tensor corrected = Correct(predicted, y);
    y = Stream(corrected, s_.active);
    if (s_.scales_correction) {
      const Scope scope(b_, "altup", s_.Class("TextAltUp"));
      y = Mul(b_, y, b_->Weight("correct_output_scale", {s_.hidden}));
    }
    y = OfPiece(y, piece);
    if (s_.streams == 1) return corrected;
    const std::vector<Tensor> parts = Split(b_, corrected, {1, s_.streams - 1}, 0);
    return Concat(b_, {parts[0], Add(b_, parts[1], y)}, 0);
  }

  // ---- layers

  Tensor OfPiece(const Tensor& x, const Tensor& piece) {
    Tensor y = LinearOf(x, "per_layer_input_gate", s_.hidden, s_.piece);
    y = Mul(b_, Activate(b_, y, s_.activation), piece);
    y = LinearOf(y, "per_layer_projection", s_.piece, s_.hidden);
    return Norm(y, "post_per_layer_input_norm", s_.hidden);
  }

  Tensor PlainLayer(Tensor x, const Tensor& piece, int64_t index) {
    const int64_t h = s_.hidden;
    Tensor y = Attention(Norm(x, "input_layernorm", h), index);
    x = Add(b_, x, Norm(y, "post_attention_layernorm", h));
    y = Mlp(Norm(x, "pre_feedforward_layernorm", h), index);
    if (s_.experts) {
      y = Norm(y, "post_feedforward_layernorm_1", h);
      y = Add(b_, y, Norm(Experts(x), "post_feedforward_layernorm_2", h));
    }
    x = Add(b_, x, Norm(y, "post_feedforward_layernorm", h));
    if (!piece.empty()) x = Add(b_, x, OfPiece(x, piece));
    return Scaled(x);
  }

  Tensor Experts(const Tensor& x) {
    Tensor scores;
    {
      const Scope router(b_, "router", s_.Class("TextRouter"));
      const Tensor tokens = Reshape(b_, x, {-1, s_.hidden});
      Tensor y = PlainRmsNorm(b_, tokens, "norm", s_.Class("RMSNorm"));
      y = Scaled(Mul(b_, y, b_->Weight("scale", {s_.hidden})));
      // One number for each of the weights that the operator has inside.
      b_->Weight("per_expert_scale", {s_.experts->experts});
      scores = LinearOf(y, "proj", s_.hidden, s_.experts->experts);
    }
    return RoutedExperts(b_, Norm(x, "pre_feedforward_layernorm_2", s_.hidden), scores, *s_.experts,
                         s_.Class("TextExperts"));
  }

  Tensor HeadNorm(const Tensor& x, const char* name, int64_t heads, int64_t dim) {
    return Reshape(b_, Norm(Reshape(b_, x, {0, 0, heads, dim}), name, dim), {0, 0, heads * dim});
  }

  Tensor ByHead(const Tensor& x, int64_t heads, int64_t dim) {
    return Transpose(b_, Reshape(b_, x, {0, 0, heads, dim}), {0, 2, 1, 3});
  }

  Tensor Attention(const Tensor& x, int64_t index) {
    const Scope scope(b_, "self_attn", s_.Class("TextAttention"));
    const GemmaLayer& layer = s_.layers[static_cast<size_t>(index)];
    const int64_t dim = layer.head_dim, width = s_.heads * dim;
    const Rotation& angles = angles_[layer.sliding ? 1 : 0];
    Tensor q = Linear(b_, x, "q_proj", s_.hidden, width, s_.bias);
    q = Rotate(b_, HeadNorm(q, "q_norm", s_.heads, dim), angles, s_.heads, dim);
    AttentionShape shape = {s_.heads, layer.kv_heads, dim, /*causal=*/true};
    if (layer.sliding) shape.window = s_.window;
    Tensor y;
    if (layer.borrowed) {
      const Attended& of = kept_[static_cast<size_t>(*layer.borrowed)];
      y = AttendFromEnd(b_, ByHead(q, s_.heads, dim), of.keys, of.values, shape);
    } else {
      if (s_.cached) shape.cache = index;
      Attended& found = kept_[static_cast<size_t>(index)];
      found = OwnKeys(q, x, layer, shape);
      y = found.y;
    }
    return Linear(b_, y, "o_proj", width, s_.hidden, s_.bias);
  }

  Attended OwnKeys(const Tensor& q, const Tensor& x, const GemmaLayer& layer,
                   const AttentionShape& shape) {
    const int64_t dim = layer.head_dim, heads = layer.kv_heads, width = heads * dim;
    Tensor k = Linear(b_, x, "k_proj", s_.hidden, width, s_.bias);
    Tensor v = layer.keys_are_values ? k : Linear(b_, x, "v_proj", s_.hidden, width, s_.bias);
    k = Rotate(b_, HeadNorm(k, "k_norm", heads, dim), angles_[layer.sliding ? 1 : 0], heads, dim);
    v = PlainRmsNorm(b_, Reshape(b_, v, {0, 0, heads, dim}), "v_norm", s_.Class("RMSNorm"));
    v = Reshape(b_, v, {0, 0, width});
    if (shape.cache) return AttentionWithCache(b_, q, k, v, shape);
    Attended found = {onnxflops::family::Attention(b_, q, k, v, shape), "", ""};
    if (layer.lends) found.keys = ByHead(k, heads, dim), found.values = ByHead(v, heads, dim);
    return found;
  }

  // What is far above the mean, less the threshold.
  Tensor CutOff(const Tensor& x) {
    const Attrs keep = {{"keepdims", int64_t{1}}};
    const Tensor mean = b_->Op("ReduceMean", {x, b_->Ints({-1})}, keep);
    const Tensor spread = b_->Op("Sqrt", {SquareMean(b_->Op("Sub", {x, mean}))});
    return b_->Op("Relu", {b_->Op("Sub", {x, Add(b_, mean, Scaled(spread))})});
  }

  Tensor Mlp(const Tensor& x, int64_t index) {
    const Scope scope(b_, "mlp", s_.Class("TextMLP"));
    const GemmaLayer& layer = s_.layers[static_cast<size_t>(index)];
    Tensor gate = LinearOf(x, "gate_proj", s_.hidden, layer.inner);
    if (layer.sparse) gate = CutOff(gate);
    const Tensor up = LinearOf(x, "up_proj", s_.hidden, layer.inner);
    const Tensor y = Mul(b_, Activate(b_, gate, s_.activation), up);
    return LinearOf(y, "down_proj", layer.inner, s_.hidden);
  }

  GraphBuilder* b_;
  const GemmaShape& s_;
  Rotation angles_[2];          // of layers without and with a window
  std::vector<Attended> kept_;  // by layer
};

absl::StatusOr<std::string> BuildGemmaText(const Config& config, const GemmaShape& s) {
  return CausalModel(
      config, LanguageModelOf(s),
      [&](GraphBuilder* b, const Tensor& ids, const Tensor& positions, Tensor* table) {
        return GemmaLayers(b, GemmaEmbedding(b, ids, s, table), ids, positions, s);
      });
}

}  // namespace

LanguageModel LanguageModelOf(const GemmaShape& s) {
  return {.with_head = s.Class("ForCausalLM"),
          .without_head = s.Class("TextModel"),
          .vocab = s.vocab,
          .hidden = s.hidden,
          .tied = s.tied,
          .softcap = s.softcap};
}

Tensor GemmaEmbedding(GraphBuilder* b, const Tensor& ids, const GemmaShape& s, Tensor* table) {
  return GemmaBuilder(b, s).Embed(ids, table);
}

Tensor GemmaLayers(GraphBuilder* b, const Tensor& x, const Tensor& ids, const Tensor& positions,
                   const GemmaShape& s) {
  return GemmaBuilder(b, s).Build(x, ids, positions);
}

absl::StatusOr<std::string> BuildGemma3nText(const Config& config) {
  return BuildGemmaText(config, ReadGemma3n(config));
}
absl::StatusOr<std::string> BuildGemma4Text(const Config& config) {
  return BuildGemmaText(config, ReadGemma4(config));
}

}  // namespace onnxflops::family
