// Parts that the writers of a pipeline share: its page has them as the screen and JSON do.
#ifndef ONNXFLOPS_SRC_PIPELINE_PIPELINE_PARTS_H_
#define ONNXFLOPS_SRC_PIPELINE_PIPELINE_PARTS_H_

#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "src/pipeline/pipeline_report.h"
#include "src/render/json_writer.h"
#include "src/symbolic/expr.h"

namespace onnxflops::pipeline {

// The least common denominator of the stages' probabilities; 0 if it is above 2^60.
absl::int128 CommonWhole(const std::vector<PipelineStageCost>& stages);
// What each stage runs and at which sizes.
std::vector<std::string> StageTexts(const PipelineReport& report);
// Of the counts of all stages: "stage unet: ...".
std::vector<std::string> StageWarnings(const PipelineReport& report);
// A parameter may have no effect: a model has a fixed size where another has an open one.
std::vector<std::string> WithoutEffect(const PipelineReport& report);
// The document of ToJson, as a value.
void WritePipeline(const PipelineReport& report, report::JsonWriter* json);

}  // namespace onnxflops::pipeline

#endif  // ONNXFLOPS_SRC_PIPELINE_PIPELINE_PARTS_H_
