// The memory of a model as part of its report, and the peak of activations alone.
#ifndef ONNXFLOPS_SRC_API_MEMORY_H_
#define ONNXFLOPS_SRC_API_MEMORY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/api/analysis.h"
#include "src/api/count.h"
#include "src/report/report.h"

namespace onnxflops {

// Fills in Report::memory. REQUIRES: options.memory is set; the report covers the whole model.
// Errors: those of CountBackward; InvalidArgument if --fit has no size to solve for.
absl::Status AddMemory(const Analysis& analysis, const CountOptions& options, Report* report);

// The open sizes of Report::memory that formulas of training do not hold at, with these sizes.
Bindings SizesBelowFormulas(const MemoryReport& memory);
// Sets what training holds at MemoryReport::at. `at_sizes`: the model at SizesBelowFormulas().
absl::Status SetTrainingValues(const Analysis& at_sizes, const CountOptions& options,
                               MemoryReport* memory);

// Fills in Report::activation_peak if the peak has a formula for all sizes. REQUIRES: the report
// covers the whole model.
void AddActivationPeak(const Analysis& analysis, Report* report);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_MEMORY_H_
