// LLaVA and its kin: a tower of CLIP, SigLIP, Pixtral or their own, a projector, and any of our
// decoders over the tokens of an image and a text.
//
// LLaVA-NeXT and InternVL cut an image into `tiles`, which go through the tower one by one. Of
// LLaVA-NeXT's tiles only those tokens are used that show the image and not its margin: image_rows
// x image_columns, each row with a token at its end, and the tokens of the whole image made small.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/quote.h"
#include "src/family/anyres.h"
#include "src/family/builders.h"
#include "src/family/clip.h"
#include "src/family/decoder_families.h"
#include "src/family/pixtral.h"
#include "src/family/siglip.h"
#include "src/family/vision_language.h"

namespace onnxflops::family {
namespace {

// ---- LLaVA and LLaVA-NeXT

struct Llava {
  ClipVision vision;
  std::string activation;
  int64_t take = 0;  // the layer of the tower whose tokens are used
  bool with_class_token = false, bias = true;
  int64_t Tokens() const { return vision.image.Patches() + (with_class_token ? 1 : 0); }
};

// What follows the tower, which has so many layers.
void ReadProjector(const Config& config, int64_t layers, Llava* s) {
  s->activation = ReadActivation(config, "projector_hidden_act", "gelu");
  s->bias = config.Flag("multimodal_projector_bias", true);
  s->take = ReadFeatureLayer(config, layers, -2);
  const std::string strategy = config.Text("vision_feature_select_strategy", "default");
  s->with_class_token = strategy == "full";
  if (strategy != "full" && strategy != "default") {
    config.Fault("vision_feature_select_strategy", "should be default or full");
  }
}

Llava ReadLlava(const Config& config) {
  Llava s;
  s.vision = ReadClipVision(PartOf(config, "vision_config", "clip_vision_model"));
  ReadProjector(config, s.vision.encoder.layers, &s);
  return s;
}

Tensor Project(GraphBuilder* b, const Tensor& x, const Llava& s, int64_t width, int64_t hidden,
               const char* projector_class) {
  const Scope projector(b, "multi_modal_projector", projector_class);
  const Tensor y = Linear(b, x, "linear_1", width, hidden, s.bias);
  return Linear(b, Activate(b, y, s.activation), "linear_2", hidden, hidden, s.bias);
}

// `pixels`: of images or tiles. [images, tokens, hidden].
Tensor LlavaFeatures(GraphBuilder* b, const Tensor& pixels, const Llava& s, int64_t hidden,
                     const char* projector_class) {
  Tensor x;
  {
    const Scope tower(b, "vision_tower", "CLIPVisionModel");
    x = BuildClipVision(b, pixels, s.vision, std::min(s.take, s.vision.encoder.layers)).tokens;
  }
  if (!s.with_class_token) {
    x = b->Op("Slice", {x, b->Ints({1}), b->Ints({s.vision.image.Patches() + 1}), b->Ints({1})});
  }
  return Project(b, x, s, s.vision.encoder.hidden, hidden, projector_class);
}

// Pixtral-12B is LLaVA with another tower.
bool HasPixtral(const Config& config) {
  if (!config.Has("vision_config")) return false;
  const Config vision = config.Child("vision_config");
  return vision.Has("model_type") && vision.Text("model_type", "") == "pixtral";
}

absl::StatusOr<std::string> BuildPixtral(const Config& config) {
  const PixtralVision vision = ReadPixtralVision(config.Child("vision_config"), 16);
  Llava s;
  ReadProjector(config, vision.layers, &s);
  if (!s.with_class_token) {
    config.Fault("vision_feature_select_strategy", "should be full: pixtral has no class token");
  }
  const DecoderShape text = ReadTextOf(config, "llama", std::nullopt);
  const auto image = [&](GraphBuilder* b) {
    const Tensor x = BuildPixtralVision(b, vision, s.take, 1).tokens;
    return ImageTokens{
        Project(b, x, s, vision.hidden, text.hidden, "LlavaMultiModalProjector"),
        absl::StrCat("(image_height // ", vision.patch, ") * (image_width // ", vision.patch, ")"),
        {}};
  };
  return VisionLanguageModel(config, {"Llava", text, image});
}

ImageTokens LlavaNextImage(GraphBuilder* b, const Llava& s, int64_t hidden) {
  const Tiles tiles = TilesOf(b, s.vision.image);
  const int64_t n = s.Tokens();
  Tensor x = LlavaFeatures(b, tiles.pixels, s, hidden, "LlavaNextMultiModalProjector");
  x = ByImage(b, x, tiles, n, hidden);
  const Tensor whole = b->Op("Slice", {x, b->Ints({0}), b->Ints({n}), b->Ints({1})});
  // The places of the tokens that show the image, in all tiles.
  const Tensor places =
      b->Input("image_token_places", DType::kInt64, {"batch", "image_rows", "image_columns", 1});
  Tensor shown = b->Op("GatherND", {x, places}, {{"batch_dims", int64_t{1}}});
  const Tensor rows =
      Concat(b, {SizeOf(b, places, 0), SizeOf(b, places, 1), b->Ints({1, hidden})}, 0);
  const Tensor ends = b->Op("Expand", {b->Weight("image_newline", {hidden}), rows});
  shown = Concat(b, {shown, ends}, 2);
  const Tensor count = Mul(b, SizeOf(b, shown, 1), SizeOf(b, shown, 2));
  shown = ReshapeBy(b, shown, {SizeOf(b, shown, 0), count, b->Ints({hidden})});
  return {Concat(b, {whole, shown}, 1), absl::StrCat(n, " + image_rows * (image_columns + 1)"), {}};
}

// ---- Gemma 3

struct Gemma3Image {
  SiglipVision vision;
  int64_t kernel = 1, side = 1;  // of the pooling; tokens on a side of the image
};

Gemma3Image ReadGemma3Image(const Config& config) {
  Gemma3Image s;
  s.vision = ReadSiglipVisionTower(PartOf(config, "vision_config", "siglip_vision_model"));
  const int64_t patches = s.vision.image.size / s.vision.image.patch;
  const int64_t tokens = config.Size("mm_tokens_per_image", 256);
  s.side = static_cast<int64_t>(std::sqrt(static_cast<double>(tokens)));
  s.kernel = std::max<int64_t>(patches / s.side, 1);
  if (patches < s.side || (patches - s.kernel) / s.kernel + 1 != s.side ||
      s.side * s.side != tokens) {
    config.Fault("mm_tokens_per_image",
                 absl::StrCat("is ", tokens, ", which is no square that ", patches, " x ", patches,
                              " patches can be pooled to"));
  }
  return s;
}

ImageTokens BuildGemma3Image(GraphBuilder* b, const Gemma3Image& s, int64_t hidden) {
  const Tensor pixels = PixelValues(b, s.vision.image);
  const int64_t width = s.vision.encoder.hidden,
                patches = s.vision.image.size / s.vision.image.patch;
  Tensor x;
  {
    const Scope tower(b, "vision_tower", "SiglipVisionModel");
    x = BuildSiglipVisionTower(b, pixels, s.vision);
  }
  const Scope projector(b, "multi_modal_projector", "Gemma3MultiModalProjector");
  x = Reshape(b, Transpose(b, x, {0, 2, 1}), {0, width, patches, patches});
  {
    const Scope pool(b, "avg_pool", "AvgPool2d");
    const std::vector<int64_t> window = {s.kernel, s.kernel};
    x = b->Op("AveragePool", {x}, {{"kernel_shape", window}, {"strides", window}});
  }
  x = Transpose(b, Reshape(b, x, {0, width, s.side * s.side}), {0, 2, 1});
  x = RmsNorm(b, x, "mm_soft_emb_norm", width, "Gemma3RMSNorm");
  x = b->Op("MatMul", {x, b->Weight("mm_input_projection_weight", {width, hidden})});
  return {x, absl::StrCat(s.side * s.side), {}};
}

}  // namespace

absl::StatusOr<std::string> BuildLlava(const Config& config) {
  if (HasPixtral(config)) return BuildPixtral(config);
  const Llava s = ReadLlava(config);
  const DecoderShape text = ReadTextOf(config, "llama", std::nullopt);
  return VisionLanguageModel(config, {"Llava", text, [&](GraphBuilder* b) {
                                        const Tensor pixels = PixelValues(b, s.vision.image);
                                        const Tensor x = LlavaFeatures(b, pixels, s, text.hidden,
                                                                       "LlavaMultiModalProjector");
                                        return ImageTokens{x, absl::StrCat(s.Tokens()), {}};
                                      }});
}

absl::StatusOr<std::string> BuildLlavaNext(const Config& config) {
  const Llava s = ReadLlava(config);
  const DecoderShape text = ReadTextOf(config, "llama", false);
  if (s.with_class_token) config.Fault("vision_feature_select_strategy", "should be default");
  const std::string rule = AnyResRule(
      s.vision.image, config.Pairs("image_grid_pinpoints",
                                   {{336, 672}, {672, 336}, {672, 672}, {1008, 336}, {336, 1008}}));
  return VisionLanguageModel(config, {"LlavaNext", text, [&](GraphBuilder* b) {
                                        b->CutImages(rule);
                                        return LlavaNextImage(b, s, text.hidden);
                                      }});
}

absl::StatusOr<std::string> BuildGemma3(const Config& config) {
  const Gemma3Image s = ReadGemma3Image(config);
  const DecoderShape text = ReadTextOf(config, "gemma3_text", true);
  return VisionLanguageModel(config, {"Gemma3", text, [&](GraphBuilder* b) {
                                        return BuildGemma3Image(b, s, text.hidden);
                                      }});
}

}  // namespace onnxflops::family
