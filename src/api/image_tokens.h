// How many tokens an image is for the decoder of a vision-language model: from its configuration,
// and from the output of the exported image tower, which have to agree.
#ifndef ONNXFLOPS_SRC_API_IMAGE_TOKENS_H_
#define ONNXFLOPS_SRC_API_IMAGE_TOKENS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/graph/model.h"

namespace onnxflops {

// What describes an export; null where there is none.
struct ImageConfigurations {
  const std::string& folder;        // of config.json, for messages
  const nlohmann::json& model;      // config.json
  const nlohmann::json& processor;  // preprocessor_config.json
  const nlohmann::json& genai;      // `model` of genai_config.json
};

// A line of [parameters].
struct ParameterLine {
  std::string name, value, comment;
};

// What an image is for the tower. Formulas are over the parameters `lines`.
struct ImageSizes {
  std::vector<ParameterLine> lines;  // image_tokens is the last one
  std::string tokens;                // what image_tokens must be: as the tower's output; or ""
  std::string patches;               // of an image, if the tower takes these: a formula, or ""
  std::string patch_values;          // numbers of a patch, or ""
  std::string values;                // the line of the stage's values, or ""
  std::vector<std::string> kept;     // sizes inside the tower: tiles that are no padding
};

// Sizes inside a model that say how many elements of a tensor are not zero.
std::vector<std::string> SizesOfNonZero(const Model& model);

// `file`: of the tower. FailedPrecondition if the configuration is damaged, or the tower gives
// another number of tokens.
absl::StatusOr<ImageSizes> SizesOfImages(const ImageConfigurations& configurations,
                                         const std::string& file, const Model& tower);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_IMAGE_TOKENS_H_
