// Gemma 4 with images. A sample has one image, whose patches come as a list with their columns and
// rows; the processor's padding is not in it. The tower pools squares of patches to tokens, by a
// product with a matrix of which patch is in which square. The tokens of the image come before
// those of the text. A sample has no audio: of a tower of audio there are the parameters alone.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/builders.h"
#include "src/family/gemma3n.h"
#include "src/family/vision_language.h"

namespace onnxflops::family {
namespace {

struct Gemma4Vision {
  int64_t hidden = 0, intermediate = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
  int64_t patch = 0, kernel = 0, positions = 0;
  std::string activation;
  bool clipped = false, standardized = false;
  int64_t Pixels() const { return 3 * patch * patch; }
  int64_t Merged() const { return kernel * kernel; }  // patches of a token
};

Gemma4Vision ReadGemma4Vision(const Config& config) {
  Gemma4Vision s;
  s.hidden = config.Size("hidden_size", 768);
  s.intermediate = config.Size("intermediate_size", 3072);
  s.layers = config.Layers("num_hidden_layers", 16);
  s.heads = config.Size("num_attention_heads", 12);
  s.kv_heads = config.Size("num_key_value_heads", 12);
  s.head_dim = config.Size("head_dim", 64);
  s.activation = ReadActivation(config, "hidden_activation", "gelu_pytorch_tanh");
  s.patch = config.Size("patch_size", 16);
  s.kernel = config.Size("pooling_kernel_size", 3);
  s.positions = config.Size("position_embedding_size", 10240);
  s.clipped = config.Flag("use_clipped_linears", false);
  s.standardized = config.Flag("standardize", false);
  config.RequireDivisible("num_attention_heads", s.heads, "num_key_value_heads", s.kv_heads);
  if (s.head_dim % 4 != 0) config.Fault("head_dim", "is no multiple of 4");
  for (const auto& [key, size] :
       {std::pair("patch_size", s.patch), {"pooling_kernel_size", s.kernel}}) {
    if (size > kMaxPatchSize) config.Fault(key, "is too large");
  }
  return s;
}

struct Gemma4Audio {
  int64_t hidden = 0, layers = 0, heads = 0, kernel = 0, out = 0;
  std::vector<int64_t> channels;  // of two convolutions
};

Gemma4Audio ReadGemma4Audio(const Config& config) {
  Gemma4Audio s;
  s.hidden = config.Size("hidden_size", 1024);
  s.layers = config.Layers("num_hidden_layers", 12);
  s.heads = config.Size("num_attention_heads", 8);
  s.kernel = config.Size("conv_kernel_size", 5);
  s.out = config.Size("output_proj_dims", 1536);
  s.channels = config.SizesOr("subsampling_conv_channels", {128, 32});
  config.RequireDivisible("hidden_size", s.hidden, "num_attention_heads", s.heads);
  if (s.channels.size() != 2 || s.channels[0] < 4) {
    config.Fault("subsampling_conv_channels", "should be two numbers, the first of 4 or more");
    s.channels = {4, 1};
  }
  config.notes().ignored.emplace_back(
      "a sample has no audio: of the tower of audio there are the parameters alone");
  return s;
}

class Gemma4Tower {
 public:
  Gemma4Tower(GraphBuilder* b, const Gemma4Vision& shape) : b_(b), s_(shape) {}

  // [batch, tokens, hidden].
  Tensor Build() {
    b_->MultipleDim("patches", s_.Merged());
    const Tensor pixels = b_->Input("pixel_values", b_->dtype(), {"batch", "patches", s_.Pixels()});
    places_ = b_->Input("image_position_ids", DType::kInt64, {"batch", "patches", 2});
    Tensor x = Embed(pixels);
    {
      const Scope encoder(b_, "encoder", "Gemma4VisionEncoder");
      const Rotation angles =
          RotaryAngles(b_, places_, s_.head_dim / 2, "rotary_emb", "Gemma4VisionRotaryEmbedding");
      down_ = Take(angles, 0), across_ = Take(angles, 1);
      for (int64_t i = 0; i < s_.layers; ++i) x = Layer(x, i);
    }
    x = Pooled(x);
    if (!s_.standardized) return x;
    return Mul(b_, b_->Op("Sub", {x, Vector()}), Vector());
  }

 private:
  // Numbers by feature, which are no parameters.
  Tensor Vector() {
    const Tensor table = b_->Table(s_.hidden);
    if (b_->dtype() == DType::kFloat32) return table;
    return b_->Op("Cast", {table}, {{"to", static_cast<int64_t>(b_->dtype())}});
  }
  Tensor Norm(const Tensor& x, const char* name, int64_t width) {
    return RmsNorm(b_, x, name, width, "Gemma4RMSNorm");
  }
  Tensor Clip(const Tensor& x) {
    if (!s_.clipped) return x;
    return b_->Op("Min", {b_->Op("Max", {x, Factor(b_, -1)}), Factor(b_, 1)});
  }
  Tensor Clippable(const Tensor& x, const char* name, int64_t in, int64_t out) {
    const Scope scope(b_, name, "Gemma4ClippableLinear");
    return Clip(Linear(b_, Clip(x), "linear", in, out, false));
  }
  // Column or row: [batch, patches].
  Tensor Places(int64_t which) {
    return b_->Op("Gather", {places_, b_->Scalar(which)}, {{"axis", int64_t{2}}});
  }
  // The angles of column or row, of [batch, patches, 2, angles].
  Rotation Take(const Rotation& angles, int64_t which) {
    const Attrs axis = {{"axis", int64_t{2}}};
    return {b_->Op("Gather", {angles.cos, b_->Scalar(which)}, axis),
            b_->Op("Gather", {angles.sin, b_->Scalar(which)}, axis)};
  }

  Tensor Embed(const Tensor& pixels) {
    const Scope scope(b_, "patch_embedder", "Gemma4VisionPatchEmbedder");
    const Tensor scaled = Mul(b_, b_->Op("Sub", {pixels, Factor(b_, 0.5)}), Factor(b_, 2));
    const Tensor x = Linear(b_, scaled, "input_proj", s_.Pixels(), s_.hidden, false);
    const Tensor table = b_->Weight("position_embedding_table", {2, s_.positions, s_.hidden});
    std::vector<Tensor> found;
    for (int64_t which : {0, 1}) {
      const Tensor rows = b_->Op("Gather", {table, b_->Scalar(which)});
      found.push_back(b_->Op("Gather", {rows, Places(which)}));
    }
    return Add(b_, x, Add(b_, found[0], found[1]));
  }

  Tensor ByHead(const Tensor& x, int64_t heads) {
    return Reshape(b_, x, {0, 0, heads, s_.head_dim});
  }

  // Half of the features turn with the column, half with the row.
  Tensor Turn(const Tensor& x) {
    const int64_t half = s_.head_dim / 2;
    const std::vector<Tensor> parts = Split(b_, Transpose(b_, x, {0, 2, 1, 3}), {half, half}, -1);
    return Concat(b_,
                  {b_->Op("RotaryEmbedding", {parts[0], down_.cos, down_.sin}),
                   b_->Op("RotaryEmbedding", {parts[1], across_.cos, across_.sin})},
                  -1);
  }

  Tensor SelfAttention(const Tensor& x) {
    const Scope scope(b_, "self_attn", "Gemma4VisionAttention");
    const int64_t width = s_.heads * s_.head_dim, kv_width = s_.kv_heads * s_.head_dim;
    Tensor q = ByHead(Clippable(x, "q_proj", s_.hidden, width), s_.heads);
    q = Turn(Norm(q, "q_norm", s_.head_dim));
    Tensor k = ByHead(Clippable(x, "k_proj", s_.hidden, kv_width), s_.kv_heads);
    k = Turn(Norm(k, "k_norm", s_.head_dim));
    Tensor v = ByHead(Clippable(x, "v_proj", s_.hidden, kv_width), s_.kv_heads);
    v = Transpose(b_, PlainRmsNorm(b_, v, "v_norm", "Gemma4RMSNorm"), {0, 2, 1, 3});
    const Tensor y = Transpose(b_, b_->Op("Attention", {q, k, v}), {0, 2, 1, 3});
    return Clippable(Reshape(b_, y, {0, 0, width}), "o_proj", width, s_.hidden);
  }

  Tensor GatedMlp(const Tensor& x) {
    const Scope scope(b_, "mlp", "Gemma4VisionMLP");
    const Tensor gate = Clippable(x, "gate_proj", s_.hidden, s_.intermediate);
    const Tensor up = Clippable(x, "up_proj", s_.hidden, s_.intermediate);
    const Tensor y = Mul(b_, Activate(b_, gate, s_.activation), up);
    return Clippable(y, "down_proj", s_.intermediate, s_.hidden);
  }

  Tensor Layer(Tensor x, int64_t index) {
    const Scope scope(b_, absl::StrCat("layers.", index), "Gemma4VisionEncoderLayer");
    const int64_t h = s_.hidden;
    Tensor y = SelfAttention(Norm(x, "input_layernorm", h));
    x = Add(b_, x, Norm(y, "post_attention_layernorm", h));
    y = GatedMlp(Norm(x, "pre_feedforward_layernorm", h));
    return Add(b_, x, Norm(y, "post_feedforward_layernorm", h));
  }

  // The mean of each square of patches, times a number.
  Tensor Pooled(const Tensor& x) {
    const Scope scope(b_, "pooler", "Gemma4VisionPooler");
    if (s_.kernel == 1) return Mul(b_, x, Factor(b_, 1));
    const Tensor side = b_->Ints({s_.kernel}), one = b_->Ints({1});
    const Tensor last = b_->Op("ReduceMax", {Places(0), one}, {{"keepdims", int64_t{1}}});
    const Tensor columns = b_->Op("Div", {Add(b_, last, one), side});
    const Tensor column = b_->Op("Div", {Places(0), side}), row = b_->Op("Div", {Places(1), side});
    const Tensor square = Add(b_, column, Mul(b_, row, columns));
    const Tensor count = b_->Op("Div", {SizeOf(b_, x, 1), b_->Ints({s_.Merged()})});
    // Which patch is in which square: [batch, patches, tokens].
    Tensor which = b_->Op("OneHot", {square, count, b_->Floats({0, 1})});
    which = b_->Op("Div", {which, b_->Floats({static_cast<float>(s_.Merged())})});
    Tensor wide = x;
    const bool narrow = b_->dtype() != DType::kFloat32;
    const Attrs to_float = {{"to", static_cast<int64_t>(DType::kFloat32)}};
    const Attrs to_own = {{"to", static_cast<int64_t>(b_->dtype())}};
    if (narrow) wide = b_->Op("Cast", {x}, to_float);
    const Tensor y = b_->Op("MatMul", {Transpose(b_, which, {0, 2, 1}), wide});
    return Mul(b_, narrow ? b_->Op("Cast", {y}, to_own) : y, Factor(b_, 1));
  }

  GraphBuilder* b_;
  const Gemma4Vision& s_;
  Tensor places_;
  Rotation down_, across_;
};

// The tokens of the image, as wide as the text's.
Tensor ImageOfGemma4(GraphBuilder* b, const Gemma4Vision& s, int64_t hidden) {
  Tensor x;
  {
    const Scope tower(b, "vision_tower", "Gemma4VisionModel");
    x = Gemma4Tower(b, s).Build();
  }
  const Scope embedder(b, "embed_vision", "Gemma4MultimodalEmbedder");
  x = PlainRmsNorm(b, x, "embedding_pre_projection_norm", "Gemma4RMSNorm");
  return Linear(b, x, "embedding_projection", s.hidden, hidden, false);
}

void DeclareAudioLayer(GraphBuilder* b, const Gemma4Audio& s) {
  const int64_t h = s.hidden;
  for (const char* name : {"feed_forward1", "feed_forward2"}) {
    const Scope part(b, name, "Gemma4AudioFeedForward");
    b->Weight("ffw_layer_1.linear.weight", {h, 4 * h});
    b->Weight("ffw_layer_2.linear.weight", {4 * h, h});
    for (const char* norm : {"pre_layer_norm.weight", "post_layer_norm.weight"}) {
      b->Weight(norm, {h});
    }
  }
  {
    const Scope part(b, "self_attn", "Gemma4AudioAttention");
    for (const char* name : {"q_proj", "k_proj", "v_proj", "post"}) {
      b->Weight(absl::StrCat(name, ".linear.weight"), {h, h});
    }
    b->Weight("relative_k_proj.weight", {h, h});
    b->Weight("per_dim_scale", {h / s.heads});
  }
  {
    const Scope part(b, "lconv1d", "Gemma4AudioLightConv1d");
    b->Weight("linear_start.linear.weight", {h, 2 * h});
    b->Weight("linear_end.linear.weight", {h, h});
    b->Weight("depthwise_conv1d.weight", {h, 1, s.kernel});
    for (const char* norm : {"pre_layer_norm.weight", "conv_norm.weight"}) b->Weight(norm, {h});
  }
  for (const char* norm : {"norm_pre_attn", "norm_post_attn", "norm_out"}) {
    b->Weight(absl::StrCat(norm, ".weight"), {h});
  }
}

// The parameters of what hears.
void DeclareAudio(GraphBuilder* b, const Gemma4Audio& s, int64_t hidden) {
  {
    const Scope tower(b, "audio_tower", "Gemma4AudioModel");
    {
      const Scope part(b, "subsample_conv_projection", "Gemma4AudioSubSampleConvProjection");
      const int64_t first = s.channels[0], second = s.channels[1];
      b->Weight("layer0.conv.weight", {first, 1, 3, 3});
      b->Weight("layer0.norm.weight", {first});
      b->Weight("layer1.conv.weight", {second, first, 3, 3});
      b->Weight("layer1.norm.weight", {second});
      b->Weight("input_proj_linear.weight", {first / 4 * second, s.hidden});
    }
    for (int64_t i = 0; i < s.layers; ++i) {
      const Scope layer(b, absl::StrCat("layers.", i), "Gemma4AudioLayer");
      DeclareAudioLayer(b, s);
    }
    b->Weight("output_proj.weight", {s.hidden, s.out});
    b->Weight("output_proj.bias", {s.out});
  }
  const Scope embedder(b, "embed_audio", "Gemma4MultimodalEmbedder");
  b->Weight("embedding_projection.weight", {s.out, hidden});
}

// Without a mark of its own, the image has the padding's row of the second embedding.
Tensor IdsWithImage(GraphBuilder* b, const Tensor& image, const Tensor& ids) {
  const Tensor shape = Concat(b, {SizeOf(b, image, 0), SizeOf(b, image, 1)}, 0);
  return Concat(b, {b->Op("Expand", {b->Ints({0}), shape}), ids}, 1);
}

}  // namespace

absl::StatusOr<std::string> BuildGemma4VisionModel(const Config& config) {
  const Gemma4Vision s = ReadGemma4Vision(config);
  const std::string root = config.RequireArchitecture({"Gemma4VisionModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor x = Gemma4Tower(&b, s).Build();
  b.Output("last_hidden_state", x, dtype,
           {"batch", absl::StrCat("patches // ", s.Merged()), s.hidden});
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildGemma4(const Config& config) {
  if (!config.Has("vision_config")) config.Fault("vision_config", "is missing");
  const Gemma4Vision vision = ReadGemma4Vision(PartOf(config, "vision_config", "gemma4_vision"));
  GemmaShape s = ReadGemma4(PartOf(config, "text_config", "gemma4_text"));
  s.tied = config.Flag("tie_word_embeddings", true);
  const bool step = config.notes().decoding;
  s.cached = step;
  std::optional<Gemma4Audio> audio;
  if (config.Has("audio_config")) {
    audio = ReadGemma4Audio(PartOf(config, "audio_config", "gemma4_audio"));
  }
  const std::string root = config.RequireArchitecture({"Gemma4ForConditionalGeneration"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const std::string count = absl::StrCat("patches // ", vision.Merged());
  Tensor x, ids, table;
  if (!config.notes().tower) ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  {
    const Scope body(&b, "model", "Gemma4Model");
    Tensor image;
    if (!step) image = ImageOfGemma4(&b, vision, s.hidden);
    if (audio && !step && !config.notes().tower) DeclareAudio(&b, *audio, s.hidden);
    if (config.notes().tower) {
      x = image;
    } else {
      const Scope text(&b, "language_model", s.Class("TextModel"));
      x = GemmaEmbedding(&b, ids, s, &table);
      if (!step) x = Concat(&b, {image, x}, 1);
      const Tensor places = step ? b.Input("position_ids", DType::kInt64, {"batch", "seq"})
                                 : RepeatForBatch(&b, Positions(&b, x, 1), x, {1});
      x = GemmaLayers(&b, x, step ? ids : IdsWithImage(&b, image, ids), places, s);
    }
  }
  if (config.notes().tower) {
    b.Output("image_features", x, dtype, {"batch", count, s.hidden});
    return std::move(b).Finish();
  }
  b.Output("logits", Logits(&b, x, table, LanguageModelOf(s)), dtype,
           {"batch", step ? "seq" : absl::StrCat("seq + ", count), s.vocab});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
