// Writes the pipeline of a folder that an exporter wrote, or that has the configuration of a
// decoder.
//
//   absl::StatusOr<std::string> text = PipelineOfFolder("sd15");  // model_index.json and its parts
//   LoadPipeline(*text, "sd15/pipeline.toml")
#ifndef ONNXFLOPS_SRC_API_RECOGNISE_PIPELINE_H_
#define ONNXFLOPS_SRC_API_RECOGNISE_PIPELINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// As a TOML file in that folder has it. Comments say what was taken for what, and every assumed
// size is a parameter. NotFound if no layout is known, with those that are; FailedPrecondition if a
// folder of diffusers or GenAI lacks parts, or a configuration is none of ours. `from`: of a TOML
// file in another folder, the way from there, "../sd15/".
absl::StatusOr<std::string> PipelineOfFolder(const std::string& folder,
                                             const std::string& from = "");

// The same text with other numbers for its parameters. NotFound for one that it does not have.
absl::StatusOr<std::string> WithNumbers(const std::string& text, const Bindings& numbers);

// Whether an exporter wrote the folder for a pipeline, also if parts of it are missing or broken.
bool IsExportedPipeline(const std::string& folder);

// The JSON files that are read for this, if they are there: no output may take their place.
std::vector<std::string> FilesOfFolder(const std::string& folder);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_RECOGNISE_PIPELINE_H_
