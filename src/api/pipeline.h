// What one answer costs over several models.
//
//   absl::StatusOr<Pipeline> pipeline = LoadPipeline(text, "sd/pipeline.toml");
//   absl::StatusOr<PipelineReport> report = CountPipeline(*pipeline, {});
#ifndef ONNXFLOPS_SRC_API_PIPELINE_H_
#define ONNXFLOPS_SRC_API_PIPELINE_H_

#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/pipeline/pipeline_file.h"
#include "src/pipeline/pipeline_report.h"

namespace onnxflops {

// CountOptions::bindings are numbers for parameters, and for open sizes that no stage sets.
// Errors: those of Load and Count, with the place of the stage; NotFound for a binding that nothing
// has; FailedPrecondition for a loop whose cost has no closed form.
absl::StatusOr<PipelineReport> CountPipeline(const Pipeline& pipeline, const CountOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_PIPELINE_H_
