// Pixtral's tower, and Mistral 3, which merges its patches. The reference implementation puts all
// images in one row and masks what is of another image. Here each image is a row.
#include "src/family/pixtral.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/family/builders.h"
#include "src/family/decoder_families.h"
#include "src/family/vision_language.h"

namespace onnxflops::family {
namespace {

// Half of the angles turn with the row, half with the column. The reference implementation computes
// all of them for both, and takes half of each: [batch, patches, angles].
Rotation GridAngles(GraphBuilder* b, const PixtralTokens& grid, const Tensor& x, int64_t dim) {
  const Tensor one = b->Ints({1}), shape = Concat(b, {grid.rows, grid.columns, one}, 0);
  std::vector<Tensor> places;
  for (const auto& [size, axis] : {std::pair(grid.rows, int64_t{1}), {grid.columns, int64_t{0}}}) {
    const Tensor range = b->Op("Range", {b->Scalar(0), b->Op("Squeeze", {size}), b->Scalar(1)});
    const Tensor across = b->Op("Unsqueeze", {range, b->Ints({axis, 2})});
    places.push_back(Reshape(b, b->Op("Expand", {across, shape}), {-1, 1}));
  }
  const Rotation all = RotaryAngles(b, Concat(b, places, 1), dim, "patch_positional_embedding");
  const auto halves = [&](const Tensor& angles) {
    const std::vector<Tensor> parts = Split(b, angles, {dim / 4, dim / 4}, -1);
    const Tensor rows = b->Op("Gather", {parts[0], b->Scalar(0)}, {{"axis", int64_t{1}}});
    const Tensor columns = b->Op("Gather", {parts[1], b->Scalar(1)}, {{"axis", int64_t{1}}});
    return RepeatForBatch(b, Concat(b, {rows, columns}, -1), x, {1, 1});
  };
  return {halves(all.cos), halves(all.sin)};
}

Tensor PixtralNorm(GraphBuilder* b, const Tensor& x, const char* name, const PixtralVision& s) {
  return RmsNorm(b, x, name, s.hidden, "PixtralRMSNorm");
}

Tensor PixtralLayer(GraphBuilder* b, Tensor x, const Rotation& angles, const PixtralVision& s) {
  const int64_t h = s.hidden, dim = h / s.heads;
  Tensor y = PixtralNorm(b, x, "attention_norm", s);
  {
    const Scope attention(b, "attention", "PixtralAttention");
    const Tensor q = Linear(b, y, "q_proj", h, h, false), k = Linear(b, y, "k_proj", h, h, false);
    const Tensor v = Linear(b, y, "v_proj", h, h, false);
    y = Attention(b, Rotate(b, q, angles, s.heads, dim), Rotate(b, k, angles, s.heads, dim), v,
                  {s.heads, s.heads, dim});
    y = Linear(b, y, "o_proj", h, h, false);
  }
  x = Add(b, x, y);
  y = PixtralNorm(b, x, "ffn_norm", s);
  const Scope mlp(b, "feed_forward", "PixtralMLP");
  const Tensor gate =
      Activate(b, Linear(b, y, "gate_proj", h, s.intermediate, false), s.activation);
  y = Mul(b, gate, Linear(b, y, "up_proj", h, s.intermediate, false));
  return Add(b, x, Linear(b, y, "down_proj", s.intermediate, h, false));
}

struct Mistral3 {
  PixtralVision vision;
  std::string activation;
  int64_t take = 0, merge = 2;
  bool bias = false;
};

ImageTokens Mistral3Image(GraphBuilder* b, const Mistral3& s, int64_t hidden) {
  PixtralTokens grid = BuildPixtralVision(b, s.vision, s.take, s.merge);
  const Scope projector(b, "multi_modal_projector", "Mistral3MultiModalProjector");
  const int64_t h = s.vision.hidden, m = s.merge, patch = s.vision.patch * m;
  Tensor x = RmsNorm(b, grid.tokens, "norm", h, "Mistral3RMSNorm");
  {
    const Scope merger(b, "patch_merger", "Mistral3PatchMerger");
    const Tensor side = b->Ints({m});
    const Tensor rows = b->Op("Div", {grid.rows, side}),
                 columns = b->Op("Div", {grid.columns, side});
    x = ReshapeBy(b, x, {SizeOf(b, x, 0), rows, side, columns, side, b->Ints({h})});
    x = Transpose(b, x, {0, 1, 3, 5, 2, 4});
    x = ReshapeBy(b, x, {SizeOf(b, x, 0), Mul(b, rows, columns), b->Ints({h * m * m})});
    x = Linear(b, x, "merging_layer", h * m * m, h, false);
  }
  x = Linear(b, x, "linear_1", h, hidden, s.bias);
  x = Linear(b, Activate(b, x, s.activation), "linear_2", hidden, hidden, s.bias);
  return {x, absl::StrCat("(image_height // ", patch, ") * (image_width // ", patch, ")"), {}};
}

}  // namespace

PixtralVision ReadPixtralVision(const Config& config, int64_t patch) {
  PixtralVision s;
  s.channels = config.Size("num_channels", 3);
  s.patch = config.Size("patch_size", patch);
  if (s.patch > kMaxPatchSize) config.Fault("patch_size", "is too large");
  s.hidden = config.Size("hidden_size", 1024);
  s.intermediate = config.Size("intermediate_size", 4096);
  s.layers = config.Layers("num_hidden_layers", 24);
  s.heads = config.Size("num_attention_heads", 16);
  s.activation = ReadActivation(config, "hidden_act", "gelu");
  config.RequireDivisible("hidden_size", s.hidden, "num_attention_heads", s.heads);
  if (s.hidden / s.heads % 4 != 0) {
    config.Fault("num_attention_heads", "gives heads whose features are no multiple of 4");
  }
  return s;
}

namespace {

// In the modules that are open.
PixtralTokens PixtralTower(GraphBuilder* b, const PixtralVision& s, int64_t take, int64_t merge) {
  for (const char* symbol : {"image_height", "image_width"}) {
    b->MultipleDim(symbol, s.patch * merge);
  }
  const Tensor pixels =
      b->Input("pixel_values", b->dtype(), {"batch", s.channels, "image_height", "image_width"});
  Tensor x = Conv2d(b, pixels, "patch_conv", {s.channels, s.hidden, s.patch, s.patch, false});
  PixtralTokens found = {"", SizeOf(b, x, 2), SizeOf(b, x, 3)};
  const Tensor count = Mul(b, found.rows, found.columns);
  x = ReshapeBy(b, x, {SizeOf(b, x, 0), b->Ints({s.hidden}), count});
  x = PixtralNorm(b, Transpose(b, x, {0, 2, 1}), "ln_pre", s);
  const Rotation angles = GridAngles(b, found, x, s.hidden / s.heads);
  const Scope transformer(b, "transformer", "PixtralTransformer");
  for (int64_t i = 0; i < s.layers; ++i) {
    if (i == take) found.tokens = x;
    const Scope layer(b, absl::StrCat("layers.", i), "PixtralAttentionLayer");
    x = PixtralLayer(b, x, angles, s);
  }
  if (found.tokens.empty()) found.tokens = x;
  return found;
}

}  // namespace

PixtralTokens BuildPixtralVision(GraphBuilder* b, const PixtralVision& s, int64_t take,
                                 int64_t merge) {
  const Scope tower(b, "vision_tower", "PixtralVisionModel");
  return PixtralTower(b, s, take, merge);
}

absl::StatusOr<std::string> BuildPixtralVisionModel(const Config& config) {
  const PixtralVision s = ReadPixtralVision(config, 16);
  const std::string root = config.RequireArchitecture({"PixtralVisionModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor x = PixtralTower(&b, s, s.layers, 1).tokens;
  const std::string patches =
      absl::StrCat("(image_height // ", s.patch, ") * (image_width // ", s.patch, ")");
  b.Output("last_hidden_state", x, dtype, {"batch", patches, s.hidden});
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildMistral3(const Config& config) {
  Mistral3 s;
  const Config vision = PartOf(config, "vision_config", "pixtral");
  s.vision = ReadPixtralVision(vision, 14);
  s.activation = ReadActivation(config, "projector_hidden_act", "gelu");
  s.bias = config.Flag("multimodal_projector_bias", false);
  s.merge = config.Size("spatial_merge_size", 2);
  if (s.merge > kMaxPatchSize) config.Fault("spatial_merge_size", "is too large");
  s.take = ReadFeatureLayer(config, s.vision.layers, -1);
  const DecoderShape text = ReadTextOf(config, "mistral", true);
  const auto image = [&](GraphBuilder* b) { return Mistral3Image(b, s, text.hidden); };
  return VisionLanguageModel(config, {"Mistral3", text, image});
}

}  // namespace onnxflops::family
