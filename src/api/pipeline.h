// What one answer costs over several models.
//
//   absl::StatusOr<Pipeline> pipeline = LoadPipeline(text, "sd/pipeline.toml");
//   absl::StatusOr<PipelineReport> report = CountPipeline(*pipeline, {});
#ifndef ONNXFLOPS_SRC_API_PIPELINE_H_
#define ONNXFLOPS_SRC_API_PIPELINE_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/api/count.h"
#include "src/api/sweep.h"
#include "src/compare/compare_report.h"
#include "src/diff/pipeline_diff.h"
#include "src/pipeline/pipeline_compare.h"
#include "src/pipeline/pipeline_file.h"
#include "src/pipeline/pipeline_report.h"

namespace onnxflops {

// CountOptions::bindings are numbers for parameters, and for open sizes that no stage sets.
// Errors: those of Load and Count, with the place of the stage; NotFound for a binding that nothing
// has; FailedPrecondition for a loop whose cost has no closed form.
// With `unknown` not null, bindings that nothing has go there instead.
absl::StatusOr<PipelineReport> CountPipeline(const Pipeline& pipeline, const CountOptions& options,
                                             std::vector<std::string>* unknown = nullptr);

// What other tools count for each stage's model at its sizes, times its runs, and for all stages.
// The terms of all stages have a row for each of them. Errors: those of CountPipeline; NotFound for
// an unknown convention. With `unknown` not null, bindings that nothing has go there instead.
absl::StatusOr<PipelineComparison> ComparePipeline(const Pipeline& pipeline,
                                                   const CountOptions& options,
                                                   const CompareRequest& request,
                                                   std::vector<std::string>* unknown = nullptr);

// Compares two pipelines. A binding may fit only one of them. Errors: those of CountPipeline.
absl::StatusOr<PipelineDiff> DiffPipelines(const Pipeline& base, const Pipeline& head,
                                           const CountOptions& options);

// The same at every combination of numbers, each counted by itself. `load` is the pipeline with
// given numbers. Errors: those of `load`, CountPipeline and SweepPoints;
// OutOfRange for more than kMaxPipelineSweepStages stages of all points.
absl::StatusOr<PipelineSweep> SweepPipeline(
    absl::FunctionRef<absl::StatusOr<Pipeline>(const Bindings&)> load, const CountOptions& options,
    absl::Span<const SweptSymbol> swept);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_PIPELINE_H_
