// wav2vec 2.0 and its kin: convolutions over samples of audio, and an encoder over their frames.
//
// How it works. A convolution of each length follows the other, with a norm of each channel after
// the first, or a norm of all channels after each. The encoder adds positions that another
// convolution makes of the frames themselves. Its weight is a direction and a length, which are the
// two parameters, and is put together in each run (weight norm). HuBERT is the same with other
// names; its projection may have no norm. Layers are post-norm, or pre-norm ("stable"), which may
// end with an adapter for one language. wav2vec 2.0 may shorten the frames by a few convolutions at
// the end. UniSpeech and UniSpeech-SAT are wav2vec 2.0 by other names. WavLM adds a bias by
// distance to the scores: a table that its first layer reads, times a gate that each layer makes of
// its input; the class calls a function of PyTorch with the weights of its four projections, so
// their products are those of the attention. data2vec makes positions by several convolutions, each
// with a norm that has no parameters.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct SpeechConv {
  int64_t in = 0, out = 0, kernel = 0, stride = 0;
};

// The convolutions at the end, which shorten the frames.
struct SpeechAdapter {
  int64_t width = 0, layers = 0, kernel = 0, stride = 0;
};

struct SpeechShape {
  std::string prefix;
  EncoderShape encoder;
  std::vector<SpeechConv> convs;
  bool conv_bias = false, norm_by_channel = true, stable = false, projection_norm = true;
  bool masks = true;
  int64_t positions = 0, groups = 0;    // of the convolution that makes positions
  int64_t place_layers = 0;             // data2vec's convolutions that do; 0: one with weight norm
  int64_t buckets = 0;                  // WavLM's distances; 0: no bias by them
  int64_t language = 0;                 // width of each layer's adapter; 0: none
  std::optional<SpeechAdapter> ending;  // nullopt: none
  std::string activation;               // of convolutions
  int64_t Width() const { return ending ? ending->width : encoder.hidden; }
};

void ReadSpeechConvs(const Config& config, bool has_norm, SpeechShape* s) {
  constexpr size_t kMostConvs = 24;
  const auto list = [&](const char* key, std::vector<int64_t> otherwise) {
    if (config.HasList(key)) return *config.Sizes(key);
    if (config.Has(key)) config.Fault(key, "should be a list of whole numbers");
    config.notes().defaults.push_back(
        absl::StrCat(key, " = [", absl::StrJoin(otherwise, ", "), "]"));
    return otherwise;
  };
  const std::vector<int64_t> widths = list("conv_dim", std::vector<int64_t>(7, 512));
  const std::vector<int64_t> strides = list("conv_stride", {5, 2, 2, 2, 2, 2, 2});
  const std::vector<int64_t> kernels = list("conv_kernel", {10, 3, 3, 3, 3, 2, 2});
  if (widths.size() != strides.size() || widths.size() != kernels.size()) {
    config.Fault("conv_dim", "should be as long as conv_stride and conv_kernel");
  }
  if (widths.size() > kMostConvs) config.Fault("conv_dim", "has too many layers");
  const size_t n = std::min({widths.size(), strides.size(), kernels.size(), kMostConvs});
  for (size_t i = 0; i < n; ++i) {
    s->convs.push_back({i == 0 ? 1 : widths[i - 1], widths[i], kernels[i], strides[i]});
  }
  const std::string norm = has_norm ? config.Text("feat_extract_norm", "group") : "layer";
  s->norm_by_channel = norm == "group";
  if (!s->norm_by_channel && norm != "layer") {
    config.Fault("feat_extract_norm", "should be group or layer");
  }
}

SpeechShape ReadSpeech(const Config& config, const char* prefix, bool data2vec = false) {
  SpeechShape s;
  s.prefix = prefix;
  s.encoder = ReadEncoder(config, 768, 12, 12, 3072, "gelu");
  ReadSpeechConvs(config, !data2vec, &s);
  s.activation = ReadActivation(config, "feat_extract_activation", "gelu");
  s.conv_bias = config.Flag("conv_bias", false);
  s.stable = !data2vec && config.Flag("do_stable_layer_norm", false);
  s.positions = data2vec ? config.Size("conv_pos_kernel_size", 19)
                         : config.Size("num_conv_pos_embeddings", 128);
  if (data2vec) s.place_layers = config.Layers("num_conv_pos_embeddings", 5);
  s.groups = config.Size("num_conv_pos_embedding_groups", 16);
  config.RequireDivisible("hidden_size", s.encoder.hidden, "num_conv_pos_embedding_groups",
                          s.groups);
  // The parameter of masked frames is there unless both are 0.
  const bool no_times = config.IsZero("mask_time_prob");
  if (!no_times) config.Real("mask_time_prob", 0.05);
  s.masks = !no_times || config.NotNegative("mask_feature_prob", 0) > 0;
  if (!data2vec && config.Given("adapter_attn_dim"))
    s.language = config.Size("adapter_attn_dim", 1);
  if (!s.stable) s.language = 0;
  return s;
}

SpeechAdapter ReadSpeechAdapter(const Config& config, const SpeechShape& s) {
  return {config.Size("output_hidden_size", s.encoder.hidden),
          config.Layers("num_adapter_layers", 3), config.Size("adapter_kernel_size", 3),
          config.Size("adapter_stride", 2)};
}

// "(n - kernel) // stride + 1"
std::string FramesAfter(const std::string& n, int64_t less, int64_t stride) {
  const std::string whole =
      less == 0 ? n : absl::StrCat(n, less > 0 ? " - " : " + ", less > 0 ? less : -less);
  return stride == 1 ? absl::StrCat("(", whole, " + 1)")
                     : absl::StrCat("((", whole, ") // ", stride, " + 1)");
}

class SpeechBuilder {
 public:
  SpeechBuilder(GraphBuilder* b, const SpeechShape& shape)
      : b_(b), s_(shape), h_(shape.encoder.hidden) {}

  // Frames of samples [batch, samples]: [batch, frames, width].
  Tensor Body(const Tensor& samples) {
    Tensor x = Project(Extract(samples));
    if (s_.masks) b_->Weight("masked_spec_embed", {h_});  // for training; no node reads it
    x = Encode(x);
    return s_.ending ? Shorten(x) : x;
  }

  // What each layer reads, and the result: for a classifier of their weighted sum.
  const std::vector<Tensor>& States() const { return states_; }
  const std::string& Frames() const { return frames_; }

 private:
  Scope Open(const char* name, const char* type) {
    return Scope(b_, name, absl::StrCat(s_.prefix, type));
  }

  struct Conv {
    int64_t kernel, stride, padding = 0, groups = 1;
  };
  Tensor Convolve(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv& conv) {
    const int64_t p = conv.padding;
    std::vector<Tensor> inputs = {x, weight};
    if (!bias.empty()) inputs.push_back(bias);
    return b_->Op("Conv", inputs,
                  {{"kernel_shape", std::vector<int64_t>{conv.kernel}},
                   {"strides", std::vector<int64_t>{conv.stride}},
                   {"pads", std::vector<int64_t>{p, p}},
                   {"group", conv.groups}});
  }
  Tensor Turned(const Tensor& x) { return Transpose(b_, x, {0, 2, 1}); }

  Tensor Extract(const Tensor& samples) {
    const Scope extractor = Open("feature_extractor", "FeatureEncoder");
    Tensor x = b_->Op("Unsqueeze", {samples, b_->Ints({1})});
    for (size_t i = 0; i < s_.convs.size(); ++i) {
      const SpeechConv& c = s_.convs[i];
      const char* type = s_.place_layers > 0   ? "ConvLayer"
                         : !s_.norm_by_channel ? "LayerNormConvLayer"
                         : i == 0              ? "GroupNormConvLayer"
                                               : "NoLayerNormConvLayer";
      const std::string name = absl::StrCat("conv_layers.", i);
      const Scope layer = Open(name.c_str(), type);
      {
        const Scope conv(b_, "conv", "Conv1d");
        const Tensor weight = b_->Weight("weight", {c.out, c.in, c.kernel});
        const Tensor bias = s_.conv_bias ? b_->Weight("bias", {c.out}) : Tensor();
        x = Convolve(x, weight, bias, {c.kernel, c.stride});
      }
      if (!s_.norm_by_channel) {
        x = Turned(LayerNorm(b_, Turned(x), "layer_norm", c.out));
      } else if (i == 0) {
        const Scope norm(b_, "layer_norm", "GroupNorm");
        x = b_->Op("GroupNormalization",
                   {x, b_->Weight("weight", {c.out}), b_->Weight("bias", {c.out})},
                   {{"num_groups", c.out}});
      }
      x = Activate(b_, x, s_.activation);
      frames_ = FramesAfter(frames_, c.kernel, c.stride);
    }
    return Turned(x);
  }

  Tensor Project(Tensor x) {
    const Scope projection = Open("feature_projection", "FeatureProjection");
    const int64_t width = s_.convs.back().out;
    if (s_.projection_norm) x = LayerNorm(b_, x, "layer_norm", width);
    return Linear(b_, x, "projection", width, h_, true);
  }

  // Without the last frame, which a kernel of even length makes.
  Tensor Cut(const Tensor& x, const char* type) {
    if (s_.positions % 2 != 0) return x;
    const Scope padding = Open("padding", type);
    return b_->Op("Slice", {x, b_->Ints({0}), b_->Ints({-1}), b_->Ints({2})});
  }

  Tensor PlacesByLayers(const Tensor& x) {
    const Scope places = Open("pos_conv_embed", "PositionalConvEmbedding");
    Tensor y = Turned(x);
    for (int64_t i = 0; i < s_.place_layers; ++i) {
      const std::string name = absl::StrCat("layers.", i);
      const Scope layer = Open(name.c_str(), "PositionalConvLayer");
      const int64_t k = s_.positions;
      {
        const Scope conv(b_, "conv", "Conv1d");
        const Tensor weight = b_->Weight("weight", {h_, h_ / s_.groups, k});
        y = Convolve(y, weight, b_->Weight("bias", {h_}), {k, 1, k / 2, s_.groups});
      }
      y = Cut(y, "PadLayer");
      {
        const Scope norm(b_, "layer_norm", "LayerNorm");
        const Tensor ones = b_->Op("Expand", {Factor(b_, 1), b_->Ints({h_})});
        y = Turned(b_->Op("LayerNormalization", {Turned(y), ones}));
      }
      y = Activate(b_, y, s_.activation);
    }
    return Turned(y);
  }

  Tensor PlacesOfFrames(const Tensor& x) {
    if (s_.place_layers > 0) return PlacesByLayers(x);
    const Scope places = Open("pos_conv_embed", "PositionalConvEmbedding");
    Tensor y;
    {
      const Scope conv(b_, "conv", "ParametrizedConv1d");
      const int64_t k = s_.positions;
      const Tensor bias = b_->Weight("bias", {h_});
      Tensor weight;
      {
        const Scope all(b_, "parametrizations", "ModuleDict");
        const Scope parts(b_, "weight", "ParametrizationList");
        const Tensor length = b_->Weight("original0", {1, 1, k});
        const Tensor direction = b_->Weight("original1", {h_, h_ / s_.groups, k});
        const Scope norm(b_, "0", "_WeightNorm");
        const Tensor norms =
            b_->Op("ReduceL2", {direction, b_->Ints({0, 1})}, {{"keepdims", int64_t{1}}});
        weight = Mul(b_, direction, b_->Op("Div", {length, norms}));
      }
      y = Convolve(Turned(x), weight, bias, {k, 1, k / 2, s_.groups});
    }
    y = Cut(y, "SamePadLayer");
    return Turned(Activate(b_, y, s_.activation));
  }

  Tensor Encode(Tensor x) {
    const Scope encoder = Open("encoder", s_.stable ? "EncoderStableLayerNorm" : "Encoder");
    x = Add(b_, x, PlacesOfFrames(x));
    if (!s_.stable) x = LayerNorm(b_, x, "layer_norm", h_);
    for (int64_t i = 0; i < s_.encoder.layers; ++i) {
      states_.push_back(x);
      x = Layer(x, i);
    }
    if (s_.stable) x = LayerNorm(b_, x, "layer_norm", h_);
    states_.push_back(x);
    return x;
  }

  Tensor Layer(Tensor x, int64_t index) {
    const std::string name = absl::StrCat("layers.", index);
    const Scope layer =
        Open(name.c_str(), s_.stable ? "EncoderLayerStableLayerNorm" : "EncoderLayer");
    if (!s_.stable) {
      x = LayerNorm(b_, Add(b_, x, Attend(x)), "layer_norm", h_);
      return LayerNorm(b_, Add(b_, x, FeedForward(x)), "final_layer_norm", h_);
    }
    x = Add(b_, x, Attend(LayerNorm(b_, x, "layer_norm", h_)));
    x = Add(b_, x, FeedForward(LayerNorm(b_, x, "final_layer_norm", h_)));
    if (s_.language == 0) return x;
    const Scope adapter = Open("adapter_layer", "AttnAdapterLayer");
    return Add(
        b_, x,
        Mlp(b_, LayerNorm(b_, x, "norm", h_), h_, s_.language, "relu", {"linear_1", "linear_2"}));
  }

  // The table's row for each distance of two frames: [1, heads, frames, frames]. Distances are
  // clamped to the table; the class has logarithmic buckets, of the same sizes.
  Tensor BiasByDistance(const Tensor& x) {
    const Tensor at = Positions(b_, x, 1);
    const Tensor rows = b_->Op("Unsqueeze", {at, b_->Ints({1})});
    const Tensor columns = b_->Op("Unsqueeze", {at, b_->Ints({0})});
    const Tensor distance = b_->Op("Abs", {b_->Op("Sub", {columns, rows})});
    const Tensor bucket = b_->Op("Min", {distance, b_->Scalar(s_.buckets - 1)});
    const Tensor bias = Embedding(b_, bucket, "rel_attn_embed", s_.buckets, s_.encoder.heads);
    return b_->Op("Unsqueeze", {Transpose(b_, bias, {2, 0, 1}), b_->Ints({0})});
  }

  // WavLM's.
  Tensor AttendGated(const Tensor& x) {
    const Scope attention = Open("attention", "Attention");
    const int64_t heads = s_.encoder.heads, dim = h_ / heads;
    if (bias_.empty()) bias_ = BiasByDistance(x);
    constexpr int64_t kGates = 2, kEach = 4;
    Tensor gates = Transpose(b_, Reshape(b_, x, {0, 0, heads, dim}), {0, 2, 1, 3});
    gates = Linear(b_, gates, "gru_rel_pos_linear", dim, kGates * kEach, true);
    gates = Reshape(b_, gates, {0, 0, -1, kGates, kEach});
    gates = b_->Op("ReduceSum", {gates, b_->Ints({-1})}, {{"keepdims", int64_t{0}}});
    const std::vector<Tensor> gate = Split(b_, b_->Op("Sigmoid", {gates}), {1, 1}, -1);
    const Tensor factor = b_->Weight("gru_rel_pos_const", {1, heads, 1, 1});
    Tensor open = b_->Op("Sub", {Mul(b_, gate[1], factor), Factor(b_, 1)});
    open = Add(b_, Mul(b_, gate[0], open), Factor(b_, 2));
    const Tensor bias = Mul(b_, open, bias_);
    const auto project = [&](const Tensor& y, const char* name) {
      const Tensor weight = b_->Weight(absl::StrCat(name, ".weight"), {h_, h_});
      return Add(b_, b_->Op("MatMul", {y, weight}), b_->Weight(absl::StrCat(name, ".bias"), {h_}));
    };
    const Tensor q = project(x, "q_proj"), k = project(x, "k_proj"), v = project(x, "v_proj");
    return project(Attention(b_, q, k, v, {heads, heads, dim}, bias), "out_proj");
  }

  Tensor Attend(const Tensor& x) {
    if (s_.buckets > 0) return AttendGated(x);
    const Scope attention = Open("attention", "Attention");
    const Tensor q = Linear(b_, x, "q_proj", h_, h_, true),
                 k = Linear(b_, x, "k_proj", h_, h_, true);
    const Tensor v = Linear(b_, x, "v_proj", h_, h_, true);
    const int64_t heads = s_.encoder.heads;
    return Linear(b_, Attention(b_, q, k, v, {heads, heads, h_ / heads}), "out_proj", h_, h_, true);
  }

  Tensor FeedForward(const Tensor& x) {
    const Scope feed = Open("feed_forward", "FeedForward");
    return Mlp(b_, x, h_, s_.encoder.intermediate, s_.encoder.activation,
               {"intermediate_dense", "output_dense"});
  }

  Tensor Shorten(Tensor x) {
    const SpeechAdapter& a = *s_.ending;
    const Scope adapter = Open("adapter", "Adapter");
    if (a.width != h_) {
      x = LayerNorm(b_, Linear(b_, x, "proj", h_, a.width, true), "proj_layer_norm", a.width);
    }
    x = Turned(x);
    for (int64_t i = 0; i < a.layers; ++i) {
      const std::string name = absl::StrCat("layers.", i);
      const Scope layer = Open(name.c_str(), "AdapterLayer");
      {
        const Scope conv(b_, "conv", "Conv1d");
        const Tensor weight = b_->Weight("weight", {2 * a.width, a.width, a.kernel});
        x = Convolve(x, weight, b_->Weight("bias", {2 * a.width}), {a.kernel, a.stride, 1});
      }
      const std::vector<Tensor> halves = Split(b_, x, {a.width, a.width}, 1);
      x = Mul(b_, halves[0], b_->Op("Sigmoid", {halves[1]}));
      frames_ = FramesAfter(frames_, a.kernel - 2, a.stride);
    }
    return Turned(x);
  }

  GraphBuilder* b_;
  const SpeechShape& s_;
  const int64_t h_;
  Tensor bias_;  // by distance, of WavLM's first layer
  std::vector<Tensor> states_;
  std::string frames_ = "samples";
};

struct SpeechHead {
  int64_t vocab = 0;               // of ForCTC
  int64_t labels = 0, middle = 0;  // of ForSequenceClassification
  bool weighted = false;           // over the sum of all layers
};

Tensor SpeechLabels(GraphBuilder* b, Tensor x, const std::vector<Tensor>& states,
                    const SpeechHead& head, int64_t hidden) {
  if (head.weighted) {
    const auto n = static_cast<int64_t>(states.size());
    std::vector<Tensor> rows;
    rows.reserve(states.size());
    for (const Tensor& state : states) rows.push_back(b->Op("Unsqueeze", {state, b->Ints({1})}));
    const Tensor weights =
        b->Op("Softmax", {b->Weight("layer_weights", {n})}, {{"axis", int64_t{-1}}});
    x = Mul(b, Concat(b, rows, 1), Reshape(b, weights, {-1, 1, 1}));
    x = b->Op("ReduceSum", {x, b->Ints({1})}, {{"keepdims", int64_t{0}}});
  }
  x = Linear(b, x, "projector", hidden, head.middle, true);
  x = b->Op("ReduceMean", {x, b->Ints({1})}, {{"keepdims", int64_t{0}}});
  return Linear(b, x, "classifier", head.middle, head.labels, true);
}

absl::StatusOr<std::string> BuildSpeech(const Config& config, const SpeechShape& s,
                                        const char* module) {
  const std::string whole = absl::StrCat(s.prefix, "Model");
  const std::string ctc = absl::StrCat(s.prefix, "ForCTC");
  const std::string classifier = absl::StrCat(s.prefix, "ForSequenceClassification");
  const std::string root = config.RequireArchitecture({ctc, whole, classifier});
  SpeechHead head;
  if (root == ctc) head.vocab = config.Size("vocab_size", 32);
  if (root == classifier) {
    head.labels = config.Labels();
    head.middle = config.Size("classifier_proj_size", 256);
    head.weighted = config.Flag("use_weighted_layer_sum", false);
    if (s.ending) config.Fault("add_adapter", "is true, and a classifier has no adapter");
  }
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor samples = b.Input("input_values", dtype, {"batch", "samples"});
  SpeechBuilder builder(&b, s);
  Tensor x;
  {
    std::optional<Scope> body;
    if (root != whole) body.emplace(&b, module, whole);
    x = builder.Body(samples);
  }
  const Dim frames = builder.Frames();
  if (root == whole) {
    b.Output("last_hidden_state", x, dtype, {"batch", frames, s.Width()});
  } else if (root == ctc) {
    x = Linear(&b, x, "lm_head", s.Width(), head.vocab, true);
    b.Output("logits", x, dtype, {"batch", frames, head.vocab});
  } else {
    x = SpeechLabels(&b, x, builder.States(), head, s.encoder.hidden);
    b.Output("logits", x, dtype, {"batch", head.labels});
  }
  return std::move(b).Finish();
}

}  // namespace

absl::StatusOr<std::string> BuildWav2Vec2(const Config& config) {
  SpeechShape s = ReadSpeech(config, "Wav2Vec2");
  if (config.Flag("add_adapter", false)) s.ending = ReadSpeechAdapter(config, s);
  return BuildSpeech(config, s, "wav2vec2");
}

absl::StatusOr<std::string> BuildWavLm(const Config& config) {
  SpeechShape s = ReadSpeech(config, "WavLM");
  s.language = 0;
  s.buckets = config.Size("num_buckets", 320);
  if (config.Flag("add_adapter", false)) s.ending = ReadSpeechAdapter(config, s);
  return BuildSpeech(config, s, "wavlm");
}

absl::StatusOr<std::string> BuildData2VecAudio(const Config& config) {
  SpeechShape s = ReadSpeech(config, "Data2VecAudio", /*data2vec=*/true);
  if (config.Flag("add_adapter", false)) s.ending = ReadSpeechAdapter(config, s);
  return BuildSpeech(config, s, "data2vec_audio");
}

absl::StatusOr<std::string> BuildUniSpeech(const Config& config) {
  return BuildSpeech(config, ReadSpeech(config, "UniSpeech"), "unispeech");
}

absl::StatusOr<std::string> BuildUniSpeechSat(const Config& config) {
  SpeechShape s = ReadSpeech(config, "UniSpeechSat");
  s.masks = true;  // whatever the configuration says
  return BuildSpeech(config, s, "unispeech_sat");
}

absl::StatusOr<std::string> BuildHubert(const Config& config) {
  SpeechShape s = ReadSpeech(config, "Hubert");
  s.projection_norm = config.Flag("feat_proj_layer_norm", true);
  if (config.Flag("conv_pos_batch_norm", false))
    config.Fault("conv_pos_batch_norm", "is not known");
  return BuildSpeech(config, s, "hubert");
}

}  // namespace onnxflops::family
