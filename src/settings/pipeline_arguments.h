// The settings of a pipeline.
#ifndef ONNXFLOPS_SRC_SETTINGS_PIPELINE_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_PIPELINE_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/pipeline/pipeline_file.h"
#include "src/settings/device_arguments.h"
#include "src/settings/size_arguments.h"
#include "src/settings/table.h"

namespace onnxflops::settings {

struct PipelineArguments {
  std::vector<std::string> dims;
  CausalArgument causal;
  RulesArgument rules;
  RooflineArguments device;

  void AddTo(Table* list);
  // Names with several numbers go to `sweep`, in the order of the call.
  absl::StatusOr<CountOptions> Options(std::vector<DimSizes>* sweep) const;
};

// True for the name of a file of stages.
bool IsPipelineFile(absl::string_view path);
// True for a folder with a pipeline.toml, or one that an exporter wrote for a pipeline, also if
// parts of it are missing or broken.
bool IsPipelineFolder(const std::string& path);
// True for a file of stages and for such a folder. One with a configuration and no export is that
// model, as everywhere.
bool IsPipeline(const std::string& path);
// True for such a folder if a file in it says so: a pipeline.toml, or an exporter's index.
bool IsNamedPipeline(const std::string& folder);
// The pipeline.toml in a folder; "" if it has none.
std::string PipelineFileIn(const std::string& folder);
// The files that a pipeline is read from, as far as they can be found: an output may not be one.
std::vector<std::string> FilesOfPipeline(const std::string& path);
// An error if something is given that a pipeline does not take: of these settings it takes `dim`,
// `rules` and `limit`.
absl::Status RequirePipelineSizes(const SizeArguments& sizes);

// The pipeline in a file, or of a folder: the one in its pipeline.toml, or what an exporter wrote.
struct PipelineText {
  std::string text;
  std::string file;            // as errors name it
  bool is_recognised = false;  // of an exporter's folder, which is `file`
};
absl::StatusOr<PipelineText> ReadPipelineText(const std::string& file);
// `given` has numbers for parameters.
absl::StatusOr<Pipeline> ReadPipeline(const PipelineText& read, const Bindings& given);
absl::StatusOr<Pipeline> ReadPipeline(const std::string& file, const Bindings& given);

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_PIPELINE_ARGUMENTS_H_
