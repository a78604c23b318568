// Evaluates a model's memory at other sizes from the formulas of one count.
#ifndef ONNXFLOPS_SRC_REPORT_MEMORY_AT_H_
#define ONNXFLOPS_SRC_REPORT_MEMORY_AT_H_

#include "absl/status/statusor.h"
#include "src/report/report.h"

namespace onnxflops::report {

// The report at sizes of open symbols; only the fields that MakeMemoryRow reads are set. PyTorch
// may view at size 1 what it copies at larger sizes; then the formulas of a step hold from size 2.
// Errors: FailedPrecondition if a peak has no formula; OutOfRange for an overflow. REQUIRES:
// open.memory is set, without `fit`.
absl::StatusOr<Report> MemoryAt(const Report& open, const Bindings& sizes);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_MEMORY_AT_H_
