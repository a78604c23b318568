// A model beside the rules of thumb: what the command `estimate` does for each model.
//
//   absl::StatusOr<CompareReport> report = EstimateModel(*model, {.bindings = {{"batch", 8}}});
//   report->tools[0].headline   // what a formula gives
#ifndef ONNXFLOPS_SRC_API_ESTIMATE_H_
#define ONNXFLOPS_SRC_API_ESTIMATE_H_

#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/compare/compare_report.h"
#include "src/graph/model.h"

namespace onnxflops {

// Our count, and every formula that is in use for a training step or for CLIP.
absl::StatusOr<CompareReport> EstimateModel(const Model& model, const CountOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_ESTIMATE_H_
