// Whisper: an encoder of spectrograms and a decoder of text. Audio comes in chunks of 30 s, 3,000
// frames, and what is shorter is padded with silence. So the frames are an open size that is the
// whole chunk unless it is set; fewer are what a program that leaves out the silence runs.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

struct WhisperShape {
  int64_t vocab, mels, width, source, target;
  int64_t encoder_layers, decoder_layers, encoder_heads, decoder_heads;
  int64_t encoder_inner, decoder_inner;
  std::string activation;
};

WhisperShape ReadWhisper(const Config& config) {
  WhisperShape s;
  s.vocab = config.Size("vocab_size", 51865);
  s.mels = config.Size("num_mel_bins", 80);
  s.width = config.Size("d_model", 384);
  s.source = config.Size("max_source_positions", 1500);
  s.target = config.Size("max_target_positions", 448);
  s.encoder_layers = config.Layers("encoder_layers", 4);
  s.decoder_layers = config.Layers("decoder_layers", 4);
  s.encoder_heads = config.Size("encoder_attention_heads", 6);
  s.decoder_heads = config.Size("decoder_attention_heads", 6);
  s.encoder_inner = config.Size("encoder_ffn_dim", 1536);
  s.decoder_inner = config.Size("decoder_ffn_dim", 1536);
  s.activation = ReadActivation(config, "activation_function", "gelu");
  config.RequireDivisible("d_model", s.width, "encoder_attention_heads", s.encoder_heads);
  config.RequireDivisible("d_model", s.width, "decoder_attention_heads", s.decoder_heads);
  return s;
}

// The second convolution makes one position of two frames. Frames are 10 ms apart: the processor
// takes 160 samples of 16 kHz for each.
Tensor AudioInput(GraphBuilder* b, DType dtype, const WhisperShape& s) {
  constexpr int64_t kFramesPerSecond = 100;
  const int64_t chunk = 2 * s.source;
  b->AssumeDim("frames", chunk);
  b->LimitDim("frames", chunk);
  b->SetRate("frames", kFramesPerSecond);
  return b->Input("input_features", dtype, {"batch", s.mels, "frames"});
}

// A convolution over time, of three frames.
Tensor Conv1d(GraphBuilder* b, const Tensor& x, const char* name, int64_t in, int64_t out,
              int64_t stride) {
  const Scope scope(b, name, "Conv1d");
  return b->Op("Conv", {x, b->Weight("weight", {out, in, 3}), b->Weight("bias", {out})},
               {{"kernel_shape", std::vector<int64_t>{3}},
                {"strides", std::vector<int64_t>{stride}},
                {"pads", std::vector<int64_t>{1, 1}}});
}

AttentionShape SelfShape(const WhisperShape& s, int64_t heads, bool causal) {
  return {heads, heads, s.width / heads, causal};
}

// For a decoding step.
AttentionShape CachedShape(const WhisperShape& s, int64_t layer) {
  AttentionShape shape = SelfShape(s, s.decoder_heads, true);
  shape.cache = layer;
  shape.cache_part = "decoder.";
  return shape;
}

// Includes the norm before and the residual sum after. `mix` maps the normed values to the
// attention's output.
template <typename Mix>
Tensor Attend(GraphBuilder* b, const Tensor& x, const char* name, int64_t width, const Mix& mix) {
  const Tensor normed = LayerNorm(b, x, absl::StrCat(name, "_layer_norm"), width);
  const Scope attention(b, name, "WhisperAttention");
  const Tensor y = mix(Linear(b, normed, "q_proj", width, width, true), normed);
  return Add(b, x, Linear(b, y, "out_proj", width, width, true));
}

// Over `other`, or itself.
Tensor AttendTo(GraphBuilder* b, const Tensor& x, const Tensor& other, const char* name,
                int64_t width, const AttentionShape& shape) {
  return Attend(b, x, name, width, [&](const Tensor& q, const Tensor& normed) {
    const Tensor& source = other.empty() ? normed : other;
    const Tensor k = Linear(b, source, "k_proj", width, width, false);
    const Tensor v = Linear(b, source, "v_proj", width, width, true);
    return Attention(b, q, k, v, shape);
  });
}

Tensor FeedForward(GraphBuilder* b, const Tensor& x, int64_t inner, const WhisperShape& s) {
  const Tensor y = LayerNorm(b, x, "final_layer_norm", s.width);
  return Add(b, x, Mlp(b, y, s.width, inner, s.activation));
}

Tensor BuildEncoder(GraphBuilder* b, const Tensor& features, const WhisperShape& s) {
  const Scope encoder(b, "encoder", "WhisperEncoder");
  Tensor x = b->Op("Gelu", {Conv1d(b, features, "conv1", s.mels, s.width, 1)});
  x = b->Op("Gelu", {Conv1d(b, x, "conv2", s.width, s.width, 2)});
  x = Transpose(b, x, {0, 2, 1});
  x = Add(b, x, Embedding(b, Positions(b, x, 1), "embed_positions", s.source, s.width));
  for (int64_t i = 0; i < s.encoder_layers; ++i) {
    const Scope layer(b, absl::StrCat("layers.", i), "WhisperEncoderLayer");
    x = AttendTo(b, x, "", "self_attn", s.width, SelfShape(s, s.encoder_heads, false));
    x = FeedForward(b, x, s.encoder_inner, s);
  }
  return LayerNorm(b, x, "layer_norm", s.width);
}

// In a decoding step, the encoder's output is in the cache.
Tensor BuildWhisperDecoder(GraphBuilder* b, const Tensor& ids, const Tensor& heard,
                           const WhisperShape& s, Tensor* table) {
  const Scope decoder(b, "decoder", "WhisperDecoder");
  const bool step = heard.empty();
  Tensor x = Embedding(b, ids, "embed_tokens", s.vocab, s.width, table);
  const Tensor places =
      step ? PlacesOfStep(b, ids, CachedShape(s, 0)).places : Positions(b, ids, 1);
  x = Add(b, x, Embedding(b, places, "embed_positions", s.target, s.width));
  b->LimitDim("seq", s.target);
  const AttentionShape over = SelfShape(s, s.decoder_heads, false);
  for (int64_t i = 0; i < s.decoder_layers; ++i) {
    const Scope layer(b, absl::StrCat("layers.", i), "WhisperDecoderLayer");
    const AttentionShape self = step ? CachedShape(s, i) : SelfShape(s, s.decoder_heads, true);
    x = AttendTo(b, x, "", "self_attn", s.width, self);
    if (step) {
      x = Attend(b, x, "encoder_attn", s.width, [&](const Tensor& q, const Tensor& /*normed*/) {
        return EncoderAttention(b, q, i, over, s.source);
      });
    } else {
      x = AttendTo(b, x, heard, "encoder_attn", s.width, over);
    }
    x = FeedForward(b, x, s.decoder_inner, s);
  }
  return LayerNorm(b, x, "layer_norm", s.width);
}

// What audio runs through once: the encoder, and its keys and values in each layer of the decoder.
void AddListening(GraphBuilder* b, const WhisperShape& s) {
  const Tensor features = AudioInput(b, b->dtype(), s);
  std::vector<std::pair<std::string, Tensor>> outputs;
  {
    const Scope model(b, "model", "WhisperModel");
    const Tensor heard = BuildEncoder(b, features, s);
    const Scope decoder(b, "decoder", "WhisperDecoder");
    for (int64_t i = 0; i < s.decoder_layers; ++i) {
      const Scope layer(b, absl::StrCat("layers.", i), "WhisperDecoderLayer");
      const Scope attention(b, "encoder_attn", "WhisperAttention");
      const std::string name = absl::StrCat("present.", i, ".encoder.");
      outputs.emplace_back(name + "key", Linear(b, heard, "k_proj", s.width, s.width, false));
      outputs.emplace_back(name + "value", Linear(b, heard, "v_proj", s.width, s.width, true));
    }
  }
  for (const auto& [name, value] : outputs) {
    b->Output(name, value, b->dtype(), {"batch", "(frames - 1) // 2 + 1", s.width});
  }
}

}  // namespace

absl::StatusOr<std::string> BuildWhisper(const Config& config) {
  const WhisperShape s = ReadWhisper(config);
  const std::string root = config.RequireArchitecture({"WhisperForConditionalGeneration"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  if (config.notes().tower) {
    AddListening(&b, s);
    return std::move(b).Finish();
  }
  const bool step = config.notes().decoding;
  Tensor features;
  if (!step) features = AudioInput(&b, dtype, s);
  const Tensor ids = b.Input("decoder_input_ids", DType::kInt64, {"batch", "seq"});
  Tensor x, table;
  {
    const Scope model(&b, "model", "WhisperModel");
    const Tensor heard = step ? Tensor() : BuildEncoder(&b, features, s);
    x = BuildWhisperDecoder(&b, ids, heard, s, &table);
  }
  x = TiedLinear(&b, x, "proj_out", table);
  b.Output("logits", x, dtype, {"batch", "seq", s.vocab});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
