// The stages that every verb needs: a model, its facts and its costs.
#ifndef ONNXFLOPS_SRC_API_ANALYSIS_H_
#define ONNXFLOPS_SRC_API_ANALYSIS_H_

#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/count/count.h"
#include "src/infer/infer.h"

namespace onnxflops {

struct Analysis {
  Inference inference;
  Counts counts;
};

absl::StatusOr<Analysis> Analyze(const Model& model, const CountOptions& options,
                                 CausalCounting causal);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_ANALYSIS_H_
