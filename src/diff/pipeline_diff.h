// What changed from one pipeline to another: stages, and all of them together.
//
//   const PipelineDiff diff = MakePipelineDiff(base, head);
//   diff.figures.modules[0].Change(quantity)   // of all stages: head - base
//   ToDocument(diff, /*exact=*/false)
#ifndef ONNXFLOPS_SRC_DIFF_PIPELINE_DIFF_H_
#define ONNXFLOPS_SRC_DIFF_PIPELINE_DIFF_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/diff/model_diff.h"
#include "src/pipeline/pipeline_report.h"
#include "src/render/document.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

struct PipelineStageDiff {
  Expr base_runs, head_runs;     // 0 where a pipeline lacks the stage
  std::optional<PeakDiff> peak;  // activations of the costliest run, if both are known
};

struct PipelineDiff {
  PipelineReport base, head;
  // The stages as the modules of a model: [0] is the pipeline, then the stages of the head, then
  // those that only the base has. Numbers of parameters are bound, open ones are symbols.
  Diff figures;
  std::vector<PipelineStageDiff> stages;  // of modules[i + 1]
  std::optional<PeakDiff> memory;         // figures.memory

  // True if no stage differs in its runs or figures, and the memory is equal.
  bool IsEmpty() const { return figures.IsEmpty(); }
};

// Stages of one name are the same stage.
PipelineDiff MakePipelineDiff(PipelineReport base, PipelineReport head);
// A pipeline without a base: everything is new.
PipelineDiff MakePipelineDiff(PipelineReport head);
Diff FiguresOf(const PipelineReport& report);  // the same, without the reports

// Each stage with what changed in it, then all of them.
Document ToDocument(const PipelineDiff& diff, bool exact);
std::string ToCsv(const PipelineDiff& diff);
// A self-contained page: stages coloured by change. At most 1 MB.
std::string ToHtml(const PipelineDiff& diff);
// JSON: "onnxflops.pipeline_diff/1" (tools/schema/pipeline_diff.v1.schema.json).
std::string ToJson(const PipelineDiff& diff);
// Markdown that a bot can find again and replace: see comment.h.
std::string ToComment(const PipelineDiff& diff, bool exact);
// What is below its first line, in at most `room` bytes, with the stages folded. `*complete`
// becomes false if something is left out.
std::string CommentDetails(const PipelineDiff& diff, bool exact, size_t room, bool* complete);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_DIFF_PIPELINE_DIFF_H_
