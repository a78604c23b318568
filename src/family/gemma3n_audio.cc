// The tower of Gemma 3n's sound: two convolutions over a spectrogram, and Conformers.
//
// How it works. The convolutions make one frame of a few; their norm is over all that was heard so
// far. A Conformer has an MLP, attention, a convolution over time of each feature, and an MLP.
// Attention goes by chunks: the frames of a chunk see those of the chunk and some before and after,
// by their content and by their distance. The chunks are an axis, and the last is filled up. The
// frames around them overlap, so they are gathered.
//
// A layer projects its table of distances once for all clips. So that a batch without clips costs
// nothing, the table has as many copies as there are clips, but one at most.
#include "src/family/gemma3n_audio.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/blocks.h"

namespace onnxflops::family {
namespace {

constexpr char kNorm[] = "Gemma3nRMSNorm";

int64_t AtMost(const Config& config, const char* key, int64_t value, int64_t most) {
  if (value <= most) return value;
  config.Fault(key, absl::StrCat("is ", value, ": known are ", most, " and less"));
  return most;
}

// Features of the spectrogram after a convolution.
int64_t BandsAfter(int64_t bands, const Gemma3nAudio& s, size_t i) {
  return (bands + 2 - s.kernels[i].second) / s.strides[i].second + 1;
}

void ReadGemma3nConvs(const Config& config, Gemma3nAudio* s) {
  s->channels = config.SizesOr("sscp_conv_channel_size", {128, 32});
  s->kernels = config.Pairs("sscp_conv_kernel_size", {{3, 3}, {3, 3}});
  s->strides = config.Pairs("sscp_conv_stride_size", {{2, 2}, {2, 2}});
  if (s->channels.size() != 2) {
    config.Fault("sscp_conv_channel_size", "should be two numbers");
    s->channels = {1, 1};
  }
  for (const auto& [key, pairs] :
       {std::pair("sscp_conv_kernel_size", &s->kernels), {"sscp_conv_stride_size", &s->strides}}) {
    const bool fits =
        pairs->size() == 2 && std::all_of(pairs->begin(), pairs->end(), [](auto p) {
          return std::min(p.first, p.second) >= 1 && std::max(p.first, p.second) <= kMaxPatchSize;
        });
    if (fits) continue;
    config.Fault(key, absl::StrCat("should be two pairs of numbers from 1 to ", kMaxPatchSize));
    *pairs = {{1, 1}, {1, 1}};
  }
  int64_t bands = s->mels;
  for (size_t i = 0; i < 2; ++i) {
    if (s->kernels[i].second > bands + 2) {
      config.Fault("sscp_conv_kernel_size", "are larger than the spectrogram");
      s->kernels[i].second = 1;
    }
    bands = BandsAfter(bands, *s, i);
  }
}

}  // namespace

Gemma3nAudio ReadGemma3nAudio(const Config& config) {
  Gemma3nAudio s;
  constexpr int64_t kMostAround = 1 << 16;
  const auto frames = [&](const char* key, int64_t otherwise, int64_t least) {
    return AtMost(config, key, config.Integer(key, otherwise, least), kMostAround);
  };
  s.mels = AtMost(config, "input_feat_size", config.Size("input_feat_size", 128), kMostAround);
  s.hidden = config.Size("hidden_size", 1536);
  s.layers = config.Layers("conf_num_hidden_layers", 12);
  s.heads = config.Size("conf_num_attention_heads", 8);
  s.kernel = frames("conf_conv_kernel_size", 5, 1);
  s.chunk = frames("conf_attention_chunk_size", 12, 1);
  s.past = std::max<int64_t>(frames("conf_attention_context_left", 13, 0) - 1, 0);
  s.future = frames("conf_attention_context_right", 0, 0);
  s.reduction = frames("conf_reduction_factor", 4, 1);
  config.RequireDivisible("hidden_size", s.hidden, "conf_num_attention_heads", s.heads);
  if (s.hidden % 2 != 0) config.Fault("hidden_size", "is odd: distances have pairs of features");
  ReadGemma3nConvs(config, &s);
  return s;
}

namespace {

class Gemma3nAudioBuilder {
 public:
  Gemma3nAudioBuilder(GraphBuilder* b, const Gemma3nAudio& shape, const Tensor& any)
      : b_(b), s_(shape), any_(any), h_(shape.hidden), dim_(shape.hidden / shape.heads) {}

  Gemma3nHeard Build(const Tensor& frames, const Tensor& heard) {
    Tensor x = Subsample(frames);
    Measure(x, heard);
    for (int64_t i = 0; i < s_.layers; ++i) {
      const Scope block(b_, absl::StrCat("conformer.", i), "Gemma3nAudioConformerBlock");
      x = Block(x);
    }
    Tensor silence = b_->Op("Not", {heard_});
    if (s_.reduction > 1) x = EverySo(x), silence = EverySo(silence);
    return {b_->Op("Where", {Unsqueezed(silence, -1), Factor(b_, 0), x}), silence};
  }

 private:
  Tensor Norm(const Tensor& x, const char* name) { return RmsNorm(b_, x, name, h_, kNorm); }
  Tensor LinearOf(const Tensor& x, const char* name, int64_t in, int64_t out) {
    return Linear(b_, x, name, in, out, false);
  }
  Tensor Unsqueezed(const Tensor& x, int64_t axis) {
    return b_->Op("Unsqueeze", {x, b_->Ints({axis})});
  }
  Tensor Clamped(const Tensor& x) { return b_->Op("Clip", {x, Factor(b_, -1), Factor(b_, 1)}); }
  Tensor Number(const Tensor& size) { return b_->Op("Squeeze", {size}); }
  Tensor Count(const Tensor& size) {
    return b_->Op("Range", {b_->Scalar(0), Number(size), b_->Scalar(1)});
  }
  // One frame of each `reduction`.
  Tensor EverySo(const Tensor& x) {
    const Tensor places = Mul(b_, Count(tokens_), b_->Ints({s_.reduction}));
    return b_->Op("Gather", {x, places}, {{"axis", int64_t{1}}});
  }

  // ---- convolutions

  // Over what was heard so far, of [clips, frames, bands, channels]. The class also counts, and
  // multiplies by, a mask of ones.
  Tensor NormSoFar(const Tensor& x, int64_t bands, int64_t channels) {
    const Scope scope(b_, "norm", "Gemma3nAudioCumulativeGroupNorm");
    const bool narrow = b_->dtype() != DType::kFloat32;
    const Attrs to_float = {{"to", static_cast<int64_t>(DType::kFloat32)}};
    const Attrs to_own = {{"to", static_cast<int64_t>(b_->dtype())}};
    const auto wide = [&](const Tensor& y) { return narrow ? b_->Op("Cast", {y}, to_float) : y; };
    const Tensor every =
        Mul(b_, Add(b_, Count(SizeOf(b_, x, 1)), b_->Ints({1})), b_->Ints({bands * channels}));
    const Tensor count = Reshape(b_, b_->Op("Cast", {every}, to_float), {1, -1, 1, 1});
    const auto mean = [&](const Tensor& y) {
      const Tensor sum = b_->Op("ReduceSum", {y, b_->Ints({2, 3})}, {{"keepdims", int64_t{1}}});
      return b_->Op("Div", {b_->Op("CumSum", {sum, b_->Scalar(1)}), count});
    };
    const Tensor y = wide(x);
    const Tensor apart = b_->Op("Sub", {y, mean(y)});
    const Tensor spread = Add(b_, mean(Mul(b_, apart, apart)), b_->Floats({1e-3F}));
    const Tensor normed = b_->Op("Div", {apart, b_->Op("Sqrt", {spread})});
    const Tensor scaled = Mul(b_, normed, wide(b_->Weight("weight", {channels})));
    return narrow ? b_->Op("Cast", {scaled}, to_own) : scaled;
  }

  Tensor Convolve(const Tensor& x, size_t i, int64_t bands) {
    const Scope block(b_, absl::StrCat("conv_", i), "Gemma3nAudioSSCPConvBlock");
    const auto& [high, wide] = s_.kernels[i];
    const auto& [down, across] = s_.strides[i];
    const int64_t in = i == 0 ? 1 : s_.channels[0], out = s_.channels[i];
    Tensor y;
    {
      const Scope conv(b_, "conv", "Conv2d");
      y = b_->Op("Conv", {x, b_->Weight("weight", {out, in, high, wide})},
                 {{"kernel_shape", std::vector<int64_t>{high, wide}},
                  {"strides", std::vector<int64_t>{down, across}},
                  {"pads", std::vector<int64_t>{0, 1, high - 1, 1}}});
    }
    y = NormSoFar(Transpose(b_, y, {0, 2, 3, 1}), bands, out);
    const Scope activation(b_, "activation", "ReLU");
    return b_->Op("Relu", {Transpose(b_, y, {0, 3, 1, 2})});
  }

  Tensor Subsample(const Tensor& frames) {
    const Scope scope(b_, "subsample_conv_projection", "Gemma3nAudioSubSampleConvProjection");
    const int64_t first = BandsAfter(s_.mels, s_, 0), second = BandsAfter(first, s_, 1);
    Tensor x = Convolve(Unsqueezed(frames, 1), 0, first);
    x = Transpose(b_, Convolve(x, 1, second), {0, 2, 3, 1});
    const int64_t width = second * s_.channels[1];
    return LinearOf(Reshape(b_, x, {0, 0, width}), "input_proj_linear", width, h_);
  }

  // ---- chunks

  // What all layers share.
  void Measure(const Tensor& x, const Tensor& heard) {
    clips_ = SizeOf(b_, x, 0);
    frames_ = SizeOf(b_, x, 1);
    const Tensor size = b_->Ints({s_.chunk}), one = b_->Ints({1});
    chunks_ = b_->Op("Div", {Add(b_, frames_, b_->Ints({s_.chunk - 1})), size});
    whole_ = Mul(b_, chunks_, size);
    tokens_ =
        b_->Op("Div", {Add(b_, frames_, b_->Ints({s_.reduction - 1})), b_->Ints({s_.reduction})});
    const Tensor starts = Unsqueezed(Mul(b_, Count(chunks_), size), 1);
    around_ = Add(b_, starts, Count(b_->Ints({Around()})));
    const Tensor near = Reshape(b_, b_->IndexTable(s_.chunk * Around()), {s_.chunk, Around()});
    near_ = b_->Op("Greater", {near, b_->Scalar(0)});
    const Tensor last = b_->Op("Sub", {SizeOf(b_, heard, 1), one});
    const Tensor firsts = Mul(b_, Count(frames_), b_->Ints({s_.Stride()}));
    heard_ = b_->Op("Gather", {heard, b_->Op("Min", {firsts, last})}, {{"axis", int64_t{1}}});
  }
  // Frames that those of a chunk see, and distances that they have.
  int64_t Around() const { return s_.chunk + s_.past + s_.future; }
  int64_t Distances() const { return s_.past + s_.future + 1; }

  // [clips, chunks, around, ...] of [clips, frames, ...].
  Tensor WithContext(const Tensor& x) {
    const Tensor padded =
        b_->Op("Pad", {x, b_->Ints({s_.past, s_.future + s_.chunk - 1}), "", b_->Ints({1})});
    return b_->Op("Gather", {padded, around_}, {{"axis", int64_t{1}}});
  }
  // [clips, heads, chunks, chunk, dim].
  Tensor InChunks(const Tensor& x) {
    const Tensor padding = Concat(b_, {b_->Ints({0}), b_->Op("Sub", {whole_, frames_})}, 0);
    const Tensor padded = b_->Op("Pad", {x, padding, "", b_->Ints({1})});
    const Tensor y = ReshapeBy(b_, padded, {clips_, chunks_, b_->Ints({s_.chunk, s_.heads, dim_})});
    return Transpose(b_, y, {0, 3, 1, 2, 4});
  }
  // [clips, chunks, around, heads, dim].
  Tensor HeadsOf(const Tensor& x) { return Reshape(b_, x, {0, 0, 0, s_.heads, dim_}); }

  // Which frames those of a chunk see: [clips, 1, chunks, chunk, around].
  Tensor Seen() {
    const Tensor valid = b_->Op("Unsqueeze", {WithContext(heard_), b_->Ints({1, 3})});
    return b_->Op("And", {valid, near_});
  }

  // The projected table: [clips, heads, dim, distances].
  Tensor DistanceKeys() {
    const Tensor count = b_->Op("Cast", {Count(b_->Ints({Distances()}))},
                                {{"to", static_cast<int64_t>(DType::kFloat32)}});
    const Tensor copies =
        b_->Op("Expand", {Unsqueezed(count, 1), Concat(b_, {any_, b_->Ints({Distances(), 1})}, 0)});
    const Tensor angles = Mul(b_, copies, b_->Table(h_ / 2));
    Tensor x = Concat(b_, {b_->Op("Sin", {angles}), b_->Op("Cos", {angles})}, -1);
    if (b_->dtype() != DType::kFloat32) {
      x = b_->Op("Cast", {x}, {{"to", static_cast<int64_t>(b_->dtype())}});
    }
    x = LinearOf(x, "pos_proj", h_, h_);
    x = Transpose(b_, Reshape(b_, x, {0, 0, s_.heads, dim_}), {0, 2, 3, 1});
    return b_->Op("Gather", {x, b_->Op("Expand", {b_->Ints({0}), clips_})});
  }

  // Scores by distance [clips, heads, whole, distances], each where its frame is: [clips, heads,
  // chunks, chunk, around]. With zeros behind, each row is one place longer than the next starts.
  Tensor Shifted(const Tensor& x) {
    const int64_t around = Around();
    const std::vector<Tensor> head = {clips_, b_->Ints({s_.heads}), chunks_};
    const auto shaped = [&](const Tensor& y, const std::vector<int64_t>& rest) {
      return ReshapeBy(b_, y, {head[0], head[1], head[2], b_->Ints(rest)});
    };
    Tensor y = shaped(x, {s_.chunk, Distances()});
    y = b_->Op("Pad", {y, b_->Ints({0, around + 1 - Distances()}), "", b_->Ints({4})});
    y = shaped(y, {s_.chunk * (around + 1)});
    y = b_->Op("Slice", {y, b_->Ints({0}), b_->Ints({s_.chunk * around}), b_->Ints({3})});
    return shaped(y, {s_.chunk, around});
  }

  // q [clips, heads, chunks, chunk, dim], k [clips, chunks, around, heads, dim].
  Tensor Scores(const Tensor& q, const Tensor& k) {
    const Scope scope(b_, "relative_position_embedding", "Gemma3nAudioRelativePositionEmbedding");
    const Tensor far = DistanceKeys();
    const Tensor near = b_->Op("MatMul", {q, Transpose(b_, k, {0, 3, 1, 4, 2})});
    const Tensor rows = ReshapeBy(b_, q, {clips_, b_->Ints({s_.heads}), whole_, b_->Ints({dim_})});
    return Add(b_, near, Shifted(b_->Op("MatMul", {rows, far})));
  }

  Tensor Attend(const Tensor& x) {
    const Scope scope(b_, "attn", "Gemma3nAudioAttention");
    Tensor q = Reshape(b_, LinearOf(x, "q_proj", h_, h_), {0, 0, s_.heads, dim_});
    const Tensor k = HeadsOf(WithContext(LinearOf(x, "k_proj", h_, h_)));
    const Tensor v = HeadsOf(WithContext(LinearOf(x, "v_proj", h_, h_)));
    q = Mul(b_, Mul(b_, q, Factor(b_, 1)),
            b_->Op("Softplus", {b_->Weight("per_dim_scale", {dim_})}));
    Tensor scores = Scores(InChunks(q), k);
    scores = b_->Op("Tanh", {b_->Op("Div", {scores, Factor(b_, 1)})});
    scores = b_->Op("Where", {Seen(), Mul(b_, scores, Factor(b_, 1)), Factor(b_, -1)});
    const Tensor weights = b_->Op("Softmax", {scores}, {{"axis", int64_t{-1}}});
    Tensor y = b_->Op("MatMul",
                      {Transpose(b_, weights, {0, 2, 1, 3, 4}), Transpose(b_, v, {0, 1, 3, 2, 4})});
    y = ReshapeBy(b_, Transpose(b_, y, {0, 1, 3, 2, 4}), {clips_, whole_, b_->Ints({h_})});
    return b_->Op("Slice", {y, b_->Ints({0}), frames_, b_->Ints({1})});
  }

  // ---- layers

  Tensor FeedForward(const Tensor& x, const char* name) {
    const Scope scope(b_, name, "Gemma3nAudioConformerFeedForward");
    Tensor y = LinearOf(Norm(Clamped(x), "pre_layer_norm"), "ffw_layer_1", h_, 4 * h_);
    y = Clamped(LinearOf(Activate(b_, y, "silu"), "ffw_layer_2", 4 * h_, h_));
    return Add(b_, x, Mul(b_, Norm(y, "post_layer_norm"), Factor(b_, 1)));
  }

  Tensor SelfAttention(const Tensor& x) {
    const Scope scope(b_, "attention", "Gemma3nAudioConformerAttention");
    const Tensor y = Attend(Norm(Clamped(x), "pre_attn_norm"));
    return Add(b_, x, Norm(Clamped(LinearOf(y, "post", h_, h_)), "post_norm"));
  }

  Tensor LightConvolution(const Tensor& x) {
    const Scope scope(b_, "lconv1d", "Gemma3nAudioConformerLightConv1d");
    Tensor y = LinearOf(Norm(x, "pre_layer_norm"), "linear_start", h_, 2 * h_);
    const std::vector<Tensor> halves = Split(b_, y, {h_, h_}, -1);
    y = Transpose(b_, Mul(b_, halves[0], b_->Op("Sigmoid", {halves[1]})), {0, 2, 1});
    {
      const Scope conv(b_, "depthwise_conv1d", "Conv1d");
      y = b_->Op("Conv", {y, b_->Weight("weight", {h_, 1, s_.kernel})},
                 {{"kernel_shape", std::vector<int64_t>{s_.kernel}},
                  {"pads", std::vector<int64_t>{s_.kernel - 1, 0}},
                  {"group", h_}});
    }
    y = Activate(b_, Norm(Clamped(Transpose(b_, y, {0, 2, 1})), "conv_norm"), "silu");
    return Add(b_, LinearOf(y, "linear_end", h_, h_), x);
  }

  Tensor Block(Tensor x) {
    x = SelfAttention(FeedForward(x, "ffw_layer_start"));
    const Tensor valid = b_->Op("Cast", {heard_}, {{"to", static_cast<int64_t>(b_->dtype())}});
    x = LightConvolution(Mul(b_, x, Unsqueezed(valid, -1)));
    return Norm(Clamped(FeedForward(x, "ffw_layer_end")), "norm");
  }

  GraphBuilder* b_;
  const Gemma3nAudio& s_;
  const Tensor any_;
  const int64_t h_, dim_;
  // Sizes, as lists of one number: clips, frames, chunks, their frames, and tokens.
  Tensor clips_, frames_, chunks_, whole_, tokens_;
  Tensor around_;  // [chunks, around]: places of the frames that a chunk sees
  Tensor near_;    // [chunk, around]: true where a frame of a chunk may see one around it
  Tensor heard_;   // [clips, frames]
};

}  // namespace

Gemma3nHeard BuildGemma3nAudio(GraphBuilder* b, const Tensor& frames, const Tensor& heard,
                               const Tensor& any, const Gemma3nAudio& s) {
  return Gemma3nAudioBuilder(b, s, any).Build(frames, heard);
}

}  // namespace onnxflops::family
