// Published figures of pipelines: which of its figures each is.
//
//   AuditRow row = Audit("SD 1.5", figure, {report}, "");
//   row.conventions   // {"onnxflops: stage unet, a run"}
#ifndef ONNXFLOPS_SRC_PIPELINE_PIPELINE_AUDIT_H_
#define ONNXFLOPS_SRC_PIPELINE_PIPELINE_AUDIT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "src/compare/audit.h"
#include "src/pipeline/pipeline_report.h"

namespace onnxflops {

// A pipeline as it stands, or at another number of a parameter.
struct AuditedPipeline {
  PipelineReport report;
  std::string at;  // "guidance = 1"; "": as it stands
};

// Compares a published figure with those of all stages and of each: of the whole, for each answer,
// and of one run. They are MACs and FLOPs, and twice the MACs, the convention "macs". `stage`: only
// this one; "": all. REQUIRES: at least one pipeline; the stage is there.
AuditRow Audit(const std::string& name, const PublishedFigure& published,
               absl::Span<const AuditedPipeline> pipelines, const std::string& stage);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_PIPELINE_PIPELINE_AUDIT_H_
