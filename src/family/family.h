// A configuration of a known model family becomes a Model: the same graph that an export would
// have, with the symbols batch, seq and past, and with weights that are nowhere.
//
//   absl::StatusOr<Model> model = LoadConfig(R"({"model_type": "gpt2"})", "config.json");
//
// Families are a table of model_type. Any other model_type is an error that names the nearest. Keys
// that are missing take the defaults of the reference implementation, which a warning of the model
// lists.
#ifndef ONNXFLOPS_SRC_FAMILY_FAMILY_H_
#define ONNXFLOPS_SRC_FAMILY_FAMILY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/graph/model.h"

namespace onnxflops {

// `json`: the whole file. `name` stands for the path in errors and reports. `image_size` replaces
// the configuration's size of a square image; a warning says so. Errors: InvalidArgument for text
// that is not a configuration or makes no sense; OutOfRange for a limit.
absl::StatusOr<Model> LoadConfig(absl::string_view json, absl::string_view name,
                                 std::optional<int64_t> image_size = std::nullopt);

// Begins the warning that lists them: "KEY = VALUE, ..." follows.
inline constexpr absl::string_view kDefaultsWarning =
    "missing keys take the defaults of the reference implementation: ";

// The graph of a decoding step for a model made from a configuration, if it differs from the
// prompt's graph: it lacks the encoder, whose keys and values are in the cache. nullopt if the
// model itself has a cache, or there is no cache.
absl::StatusOr<std::optional<Model>> DecodingStepOf(const ModelData& model);

// The graph of what images or audio run through before the decoder: a tower with its projector, or
// an encoder with its keys and values for each layer of the decoder. The first output of a tower
// has the tokens of an image on its second axis. nullopt for other models.
absl::StatusOr<std::optional<Model>> TowerOf(const ModelData& model);

// A configuration as a ModelProto. Its weights are external data in a file that does not exist.
// ONNX's checker requires that the named file exists, so the model's own file name is the best
// choice.
absl::StatusOr<std::string> ConfigToOnnx(absl::string_view json, absl::string_view name,
                                         absl::string_view weights_at);

// The configuration that a model was made of, as it was written; empty for all others.
absl::string_view ConfigOf(const ModelData& model);

// Sizes that the model states for unbound symbols of its inputs: past = 0.
using SizesByDim = std::vector<std::pair<absl::string_view, int64_t>>;
SizesByDim AssumedDims(const ModelData& model);

// Symbols that take the size of another one if only that one is set: decoder_seq, seq.
std::vector<std::pair<absl::string_view, absl::string_view>> FollowedDims(const ModelData& model);

// The largest sizes that the model has learned positions for.
SizesByDim MostDims(const ModelData& model);

// What the sizes of symbols are multiples of: patches of an image that are merged to one token.
SizesByDim MultipleDims(const ModelData& model);

// The pixels on a side of a patch, for symbols that count patches of an image's height or width.
SizesByDim PixelDims(const ModelData& model);

// Audio that comes in chunks of one size, of which what is shorter is padded with silence: the
// symbol of its frames, the frames of a chunk and of a second. nullopt for other models.
struct AudioChunks {
  absl::string_view symbol;
  int64_t frames = 0, per_second = 0;
};
std::optional<AudioChunks> AudioChunksOf(const ModelData& model);

// The sizes that an image of any size gives to symbols where it is cut into tiles (LLaVA-NeXT):
// tiles, image_rows and image_columns. Empty for other models. REQUIRES: height, width >= 1.
std::vector<std::pair<std::string, int64_t>> SizesOfImage(const ModelData& model, int64_t height,
                                                          int64_t width);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_FAMILY_FAMILY_H_
