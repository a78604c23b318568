// Models of images and text: a tower, a projector, and a language model over the tokens of an image
// and a text.
#ifndef ONNXFLOPS_SRC_FAMILY_VISION_LANGUAGE_H_
#define ONNXFLOPS_SRC_FAMILY_VISION_LANGUAGE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/family/blocks.h"
#include "src/family/config.h"
#include "src/family/decoder.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

struct ImageTokens {
  Tensor tokens;      // [batch, n, hidden]
  std::string count;  // n: "grid_t * (grid_h // 2)"
  // Of the same shape: added to the image's tokens after the decoder's first layers.
  std::vector<Tensor> deep;
};

struct VisionLanguage {
  std::string prefix;  // of the classes: "Llava"
  DecoderShape text;
  // The tower and the projector, in the module "model", if there is one around all.
  std::function<ImageTokens(GraphBuilder* b)> image;
  const char* language = "language_model";  // the decoder's module
  // That module is a whole language model, with its output layer; "model" is in it, not around it.
  bool whole_language = false;
};

// A part of the configuration, which has to be of this model_type.
Config PartOf(const Config& config, const char* key, absl::string_view type);
// text_config, of any decoder we know. `tied`: the default of tie_word_embeddings outside of it,
// which decides; without it, either one ties.
DecoderShape ReadTextOf(const Config& config, const char* type, std::optional<bool> tied);
// vision_feature_layer: the number of layers whose output is used.
int64_t ReadFeatureLayer(const Config& config, int64_t layers, int64_t otherwise);

// The input pixel_values [batch, tiles, channels, size, size].
struct Tiles {
  Tensor pixels;        // of all images together: [batch * tiles, channels, size, size]
  Tensor batch, tiles;  // numbers
};
Tiles TilesOf(GraphBuilder* b, const ImageShape& image);
// [batch * tiles, n, width] -> [batch, tiles * n, width].
Tensor ByImage(GraphBuilder* b, const Tensor& x, const Tiles& tiles, int64_t n, int64_t width);

// The whole graph, or the first fault of `config`. A step of decoding has the image in its cache.
// ConfigNotes::tower: only what the images run through.
absl::StatusOr<std::string> VisionLanguageModel(const Config& config, VisionLanguage model);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_VISION_LANGUAGE_H_
