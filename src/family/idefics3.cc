// Idefics 3 and SmolVLM: tiles of an image, each through a SigLIP-like tower; squares of its tokens
// become one.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/builders.h"
#include "src/family/vision_language.h"

namespace onnxflops::family {
namespace {

struct IdeficsShape {
  std::string prefix;
  ImageShape image;
  EncoderShape tower;
  int64_t merge = 2;  // tokens of the tower on a side of one
  int64_t Side() const { return image.size / image.patch; }
  int64_t Tokens() const { return (Side() / merge) * (Side() / merge); }
};

IdeficsShape ReadIdefics(const Config& config, const char* prefix, const char* tower) {
  IdeficsShape s;
  s.prefix = prefix;
  const Config vision = PartOf(config, "vision_config", tower);
  s.image = ReadImage(vision, 224, 32);
  s.tower = ReadEncoder(vision, 1152, 16, 12, 3072, "gelu_pytorch_tanh");
  s.merge = config.Size("scale_factor", 2);
  if (s.Side() % s.merge != 0) {
    config.Fault("scale_factor",
                 absl::StrCat("should divide ", s.Side(), ", the patches on a side of a tile"));
  }
  return s;
}

// [tiles, patches, hidden] of [tiles, channels, size, size].
Tensor IdeficsTower(GraphBuilder* b, const Tensor& pixels, const IdeficsShape& s) {
  const Scope tower(b, "vision_model", absl::StrCat(s.prefix, "VisionTransformer"));
  const int64_t h = s.tower.hidden;
  Tensor x;
  {
    const Scope embeddings(b, "embeddings", absl::StrCat(s.prefix, "VisionEmbeddings"));
    x = PatchEmbedding(b, pixels, s.image, h, "patch_embedding", true);
    const Tensor places = Positions(b, x, 1);
    x = Add(b, x, Embedding(b, places, "position_embedding", s.image.Patches(), h));
  }
  {
    const Scope encoder(b, "encoder", absl::StrCat(s.prefix, "Encoder"));
    const std::string layer = absl::StrCat(s.prefix, "EncoderLayer");
    const std::string attention = absl::StrCat(s.prefix, "VisionAttention");
    const std::string mlp = absl::StrCat(s.prefix, "VisionMLP");
    const EncoderLayerNames names = {
        layer.c_str(), "self_attn",       "q_proj",     "k_proj",    "v_proj",
        "out_proj",    attention.c_str(), "mlp",        mlp.c_str(), "fc1",
        "fc2",         "layer_norm1",     "layer_norm2"};
    x = PreNormLayers(b, x, s.tower, names);
  }
  return LayerNorm(b, x, "post_layernorm", h);
}

// Squares of tokens side by side, as wide as the decoder.
Tensor IdeficsConnector(GraphBuilder* b, Tensor x, const IdeficsShape& s, int64_t hidden) {
  const Scope connector(b, "connector", absl::StrCat(s.prefix, "Connector"));
  const int64_t m = s.merge, side = s.Side() / m, h = s.tower.hidden;
  x = Transpose(b, Reshape(b, x, {0, side, m, side, m, h}), {0, 1, 3, 2, 4, 5});
  x = Reshape(b, x, {0, side * side, h * m * m});
  const Scope projection(b, "modality_projection", absl::StrCat(s.prefix, "SimpleMLP"));
  return Linear(b, x, "proj", h * m * m, hidden, false);
}

absl::StatusOr<std::string> BuildIdefics(const Config& config, const IdeficsShape& s) {
  const DecoderShape text = ReadTextOf(config, "llama", false);
  VisionLanguage model = {s.prefix, text, [&](GraphBuilder* b) {
                            const Tiles tiles = TilesOf(b, s.image);
                            const Tensor x = IdeficsConnector(b, IdeficsTower(b, tiles.pixels, s),
                                                              s, text.hidden);
                            return ImageTokens{ByImage(b, x, tiles, s.Tokens(), text.hidden),
                                               absl::StrCat(s.Tokens(), " * tiles"),
                                               {}};
                          }};
  model.language = "text_model";
  return VisionLanguageModel(config, std::move(model));
}

}  // namespace

absl::StatusOr<std::string> BuildIdefics3(const Config& config) {
  return BuildIdefics(config, ReadIdefics(config, "Idefics3", "idefics3_vision"));
}

absl::StatusOr<std::string> BuildSmolVlm(const Config& config) {
  return BuildIdefics(config, ReadIdefics(config, "SmolVLM", "smolvlm_vision"));
}

}  // namespace onnxflops::family
