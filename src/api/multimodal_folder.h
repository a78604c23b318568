// Pipelines of models that read images or sound and write text, from folders in which each part is
// a file: vision-language models as transformers.js and Optimum write them, and these and Whisper
// as ONNX Runtime GenAI has them.
#ifndef ONNXFLOPS_SRC_API_MULTIMODAL_FOLDER_H_
#define ONNXFLOPS_SRC_API_MULTIMODAL_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace onnxflops {

// What messages call them.
inline constexpr char kVisionTitle[] =
    "a vision-language model (vision_encoder.onnx, embed_tokens.onnx, decoder_model_merged.onnx)";

// As PipelineOfFolder; "" for a folder of another kind. FailedPrecondition if parts are missing, or
// the configuration is not that of the export.
absl::StatusOr<std::string> MultimodalPipeline(const std::string& folder, const std::string& from);

// The configurations that are read for this.
std::vector<std::string> MultimodalConfigurations(const std::string& folder);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_MULTIMODAL_FOLDER_H_
