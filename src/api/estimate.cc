#include "src/api/estimate.h"

#include "src/base/status_macros.h"
#include "src/convention/conventions.h"

namespace onnxflops {
namespace {

// The formulas of whole models: those of a training step, and that of CLIP.
CompareRequest RulesOfThumb() {
  CompareRequest request;
  for (const convention::Convention* convention : convention::Conventions()) {
    const bool is_rule = convention->passes > 1 || convention == &convention::kConfigClip;
    if (is_rule && convention != &convention::kMegatronBridgeVision) {
      request.with.emplace_back(convention->name);
    }
  }
  return request;
}

}  // namespace

absl::StatusOr<CompareReport> EstimateModel(const Model& model, const CountOptions& options) {
  ASSIGN_OR_RETURN(CompareReport report, CompareTools(model, options, RulesOfThumb()));
  report.ours.modules.clear();
  return report;
}

}  // namespace onnxflops
