// What a model holds in memory, as part of its report, and the peak alone.
#ifndef ONNXFLOPS_SRC_API_MEMORY_H_
#define ONNXFLOPS_SRC_API_MEMORY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/api/analysis.h"
#include "src/api/count.h"
#include "src/report/report.h"

namespace onnxflops {

// Fills in Report::memory. REQUIRES: options.memory; the report is of the whole model. Errors as of
// CountBackward; InvalidArgument where --fit has no size to look for.
absl::Status AddMemory(const Analysis& analysis, const CountOptions& options, Report* report);

// Fills in Report::activation_peak, if the peak is found and has a formula for all sizes. REQUIRES:
// the report is of the whole model.
void AddActivationPeak(const Analysis& analysis, Report* report);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_MEMORY_H_
