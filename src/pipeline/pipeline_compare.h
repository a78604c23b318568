// What other tools count for a pipeline: for each stage's model at its sizes, times its runs.
//
//   const absl::StatusOr<PipelineComparison> thop =
//       ComparePipeline(pipeline, {}, {.with = {"thop"}});   // src/api/pipeline.h
//   thop->tools[0].headline    // of all stages
//   thop->stages[1][0].terms   // of all runs of the second stage, from our count to thop's
#ifndef ONNXFLOPS_SRC_PIPELINE_PIPELINE_COMPARE_H_
#define ONNXFLOPS_SRC_PIPELINE_PIPELINE_COMPARE_H_

#include <string>
#include <vector>

#include "src/compare/compare_report.h"
#include "src/pipeline/pipeline_report.h"
#include "src/render/document.h"

namespace onnxflops {

struct PipelineComparison {
  PipelineReport ours;
  CompareRequest request;
  // Of each stage, the tools of the request, with the figures of all its runs; with a probability,
  // expected ones. A tool without a figure for a run has none here.
  std::vector<std::vector<ToolRow>> stages;
  // Of all stages, start + all amounts are the headline exactly. Each term has a row for each stage
  // that has it, named by TermRow::module.
  std::vector<ToolRow> tools;
};

// `stages`: figures of all runs, without probabilities. REQUIRES: each stage has the same tools.
PipelineComparison MakePipelineComparison(PipelineReport ours, const CompareRequest& request,
                                          std::vector<std::vector<ToolRow>> stages);

// A row for every tool; with `waterfalls`, each stage's figures and the terms of each tool instead.
Document ToDocument(const PipelineComparison& comparison, bool waterfalls);
// Lines of each stage and of "(all)"; with `waterfalls`, the terms of all stages, stage by stage.
std::string ToCompareCsv(const PipelineComparison& comparison, bool waterfalls);
// JSON: "onnxflops.pipeline_compare/1" (tools/schema/pipeline_compare.v1.schema.json).
std::string ToJson(const PipelineComparison& comparison);
// A page: the way from our count to each tool's figure, with the stages of each step.
std::string ToHtml(const PipelineComparison& comparison);

// All stages at the sizes of the pipeline, as a row among models.
CompareReport AmongModels(const PipelineComparison& comparison);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_PIPELINE_PIPELINE_COMPARE_H_
