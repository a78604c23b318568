// Llama 4 with images: tiles of an image, each through a tower whose patches turn with their row
// and column; squares of its tokens become one. The decoder is a row of decoder_families.cc.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/builders.h"
#include "src/family/clip.h"
#include "src/family/decoder_families.h"
#include "src/family/vision_language.h"

namespace onnxflops::family {
namespace {

struct Llama4Vision {
  ImageShape image;
  EncoderShape tower;
  int64_t merge = 2;                  // tokens of the tower on a side of one
  int64_t merged = 0, projected = 0;  // widths in the adapter
  int64_t Side() const { return image.size / image.patch; }
  int64_t Tokens() const { return (Side() / merge) * (Side() / merge); }
  int64_t HeadDim() const { return tower.hidden / tower.heads; }
};

void ReadAdapter(const Config& config, Llama4Vision* s) {
  const double ratio = config.Real("pixel_shuffle_ratio", 0.5);
  s->merge = ratio > 1e-4 && ratio <= 1 ? static_cast<int64_t>(std::lround(1 / ratio)) : 0;
  if (s->merge == 0 || std::abs(ratio * static_cast<double>(s->merge) - 1) > 1e-9 ||
      s->Side() % s->merge != 0) {
    config.Fault("pixel_shuffle_ratio",
                 absl::StrCat("should be 1 / n, and n should divide ", s->Side(),
                              ", the patches on a side of a tile"));
    s->merge = 1;
  }
  s->merged = config.Size("projector_input_dim", 4096);
  s->projected = config.Size("projector_output_dim", 4096);
  if (s->merged != s->projected) {
    config.Fault("projector_output_dim",
                 absl::StrCat("is ", s->projected, ", and projector_input_dim is ", s->merged));
  }
  if (s->tower.intermediate != s->tower.hidden * s->merge * s->merge) {
    config.Fault("intermediate_size", absl::StrCat("is ", s->tower.intermediate, ", and ", s->merge,
                                                   " x ", s->merge, " tokens of the tower are ",
                                                   s->tower.hidden * s->merge * s->merge, " wide"));
  }
}

Llama4Vision ReadLlama4Vision(const Config& config) {
  Llama4Vision s;
  s.image = ReadImage(config, 448, 14);
  config.RequireDivisible("image_size", s.image.size, "patch_size", s.image.patch);
  if (s.image.patch > kMaxPatchSize) config.Fault("patch_size", "is too large");
  s.tower = {.hidden = config.Size("hidden_size", 768),
             .intermediate = config.Size("intermediate_size", 5632),
             .layers = config.Layers("num_hidden_layers", 34),
             .heads = config.Size("num_attention_heads", 16),
             .activation = "gelu"};
  config.RequireDivisible("hidden_size", s.tower.hidden, "num_attention_heads", s.tower.heads);
  if (s.HeadDim() % 4 != 0) {
    config.Fault("num_attention_heads", "gives heads whose features are no multiple of 4");
  }
  if (s.tower.hidden > kMaxElements / (s.image.Patches() + 1)) {
    config.Fault("image_size", "is too large");
    s.image.size = s.image.patch;
  }
  ReadAdapter(config, &s);
  return s;
}

// Half of the angles turn with the row, half with the column. The class keeps them all.
Rotation PatchAngles(GraphBuilder* b, const Tensor& x, const Llama4Vision& s) {
  const Scope scope(b, "rotary_embedding", "Llama4VisionRotaryEmbedding");
  const int64_t tokens = s.image.Patches() + 1, angles = s.HeadDim() / 2;
  const auto table = [&] {
    Tensor y = Reshape(b, b->Table(tokens * angles), {tokens, angles});
    if (b->dtype() != DType::kFloat32) {
      y = b->Op("Cast", {y}, {{"to", static_cast<int64_t>(b->dtype())}});
    }
    return RepeatForBatch(b, y, x, {tokens, angles});
  };
  const Tensor cos = table();
  return {cos, table()};
}

// Patches [tiles, patches, hidden], and behind them a token of the whole tile.
Tensor EmbedTiles(GraphBuilder* b, const Tensor& pixels, const Llama4Vision& s) {
  const int64_t side = s.Side(), p = s.image.patch, c = s.image.channels, h = s.tower.hidden;
  Tensor x;
  {
    const Scope embedding(b, "patch_embedding", "Llama4UnfoldConvolution");
    x = Transpose(b, Reshape(b, pixels, {0, c, side, p, side, p}), {0, 2, 4, 1, 3, 5});
    x = Linear(b, Reshape(b, x, {0, side * side, c * p * p}), "linear", c * p * p, h, false);
  }
  const Tensor whole = RepeatForBatch(b, b->Weight("class_embedding", {h}), x, {1, h});
  x = Concat(b, {x, whole}, 1);
  x = Add(b, x, b->Weight("positional_embedding_vlm", {s.image.Patches() + 1, h}));
  return LayerNorm(b, x, "layernorm_pre", h);
}

Tensor Llama4VisionLayer(GraphBuilder* b, const Tensor& input, const Rotation& angles,
                         const Llama4Vision& s) {
  const int64_t h = s.tower.hidden, heads = s.tower.heads, dim = s.HeadDim();
  Tensor y = LayerNorm(b, input, "input_layernorm", h);
  {
    const Scope attention(b, "self_attn", "Llama4VisionAttention");
    const Tensor q = Linear(b, y, "q_proj", h, h, true), k = Linear(b, y, "k_proj", h, h, true);
    const Tensor v = Linear(b, y, "v_proj", h, h, true);
    y = Attention(b, Rotate(b, q, angles, heads, dim, true), Rotate(b, k, angles, heads, dim, true),
                  v, {heads, heads, dim});
    y = Linear(b, y, "o_proj", h, h, true);
  }
  const Tensor x = Add(b, input, y);
  y = LayerNorm(b, x, "post_attention_layernorm", h);
  const Scope mlp(b, "mlp", "Llama4VisionMLP");
  return Add(b, x, Mlp(b, y, h, s.tower.intermediate, s.tower.activation));
}

// [tiles, tokens, projected].
Tensor Adapt(GraphBuilder* b, Tensor x, const Llama4Vision& s) {
  const Scope adapter(b, "vision_adapter", "Llama4VisionPixelShuffleMLP");
  const int64_t m = s.merge, side = s.Side() / m, width = s.tower.intermediate;
  x = Transpose(b, Reshape(b, x, {0, side, m, side, m, s.tower.hidden}), {0, 1, 3, 2, 4, 5});
  x = Reshape(b, x, {0, s.Tokens(), width});
  const Scope mlp(b, "mlp", "Llama4VisionMLP2");
  x = Activate(b, Linear(b, x, "fc1", width, s.merged, false), "gelu");
  return Activate(b, Linear(b, x, "fc2", s.merged, s.projected, false), "gelu");
}

// [tiles, tokens, projected] of [tiles, channels, size, size].
Tensor BuildLlama4Tower(GraphBuilder* b, const Tensor& pixels, const Llama4Vision& s) {
  Tensor x = EmbedTiles(b, pixels, s);
  const Rotation angles = PatchAngles(b, x, s);
  {
    const Scope encoder(b, "model", "Llama4VisionEncoder");
    for (int64_t i = 0; i < s.tower.layers; ++i) {
      const Scope layer(b, absl::StrCat("layers.", i), "Llama4VisionEncoderLayer");
      x = Llama4VisionLayer(b, x, angles, s);
    }
  }
  x = LayerNorm(b, x, "layernorm_post", s.tower.hidden);
  x = b->Op("Slice", {x, b->Ints({0}), b->Ints({s.image.Patches()}), b->Ints({1})});
  return Adapt(b, x, s);
}

}  // namespace

absl::StatusOr<std::string> BuildLlama4(const Config& config) {
  const Config vision = PartOf(config, "vision_config", "llama4_vision_model");
  const Llama4Vision s = ReadLlama4Vision(vision);
  const int64_t width = vision.Size("vision_output_dim", 7680);
  if (width != s.projected) {
    vision.Fault("vision_output_dim",
                 absl::StrCat("is ", width, ", and projector_output_dim is ", s.projected));
  }
  const Config text = PartOf(config, "text_config", "llama4_text");
  const DecoderShape decoder = ReadDecoder(text, *FindDecoderFamily("llama4_text"));
  VisionLanguage model = {"Llama4", decoder, [&](GraphBuilder* b) {
                            const Tiles tiles = TilesOf(b, s.image);
                            Tensor x;
                            {
                              const Scope tower(b, "vision_model", "Llama4VisionModel");
                              x = BuildLlama4Tower(b, tiles.pixels, s);
                            }
                            const Scope projector(b, "multi_modal_projector",
                                                  "Llama4MultiModalProjector");
                            x = Linear(b, x, "linear_1", width, decoder.hidden, false);
                            x = ByImage(b, x, tiles, s.Tokens(), decoder.hidden);
                            return ImageTokens{x, absl::StrCat(s.Tokens(), " * tiles"), {}};
                          }};
  model.whole_language = true;
  return VisionLanguageModel(config, std::move(model));
}

absl::StatusOr<std::string> BuildLlama4VisionModel(const Config& config) {
  const Llama4Vision s = ReadLlama4Vision(config);
  const std::string root = config.RequireArchitecture({"Llama4VisionModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor x = BuildLlama4Tower(&b, PixelValues(&b, s.image), s);
  b.Output("last_hidden_state", x, dtype, {"batch", s.Tokens(), s.projected});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
