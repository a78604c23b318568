// Pipelines of a decoder in several files, which ONNX Runtime GenAI runs one after another:
// `model.decoder.pipeline` of genai_config.json lists them.
#ifndef ONNXFLOPS_SRC_API_DECODER_PARTS_H_
#define ONNXFLOPS_SRC_API_DECODER_PARTS_H_

#include <string>

#include "absl/status/statusor.h"

namespace onnxflops {

// As PipelineOfFolder; "" for a folder of another kind. FailedPrecondition if the configuration
// does not fit the files, or has what is not counted.
absl::StatusOr<std::string> DecoderPartsPipeline(const std::string& folder,
                                                 const std::string& from);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_DECODER_PARTS_H_
