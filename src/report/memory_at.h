// What a model holds in memory at other sizes, from the formulas of one count.
#ifndef ONNXFLOPS_SRC_REPORT_MEMORY_AT_H_
#define ONNXFLOPS_SRC_REPORT_MEMORY_AT_H_

#include "absl/status/statusor.h"
#include "src/report/report.h"

namespace onnxflops::report {

// The report at sizes of symbols that it leaves open: what MakeMemoryRow reads of it and no more.
// Where a step of PyTorch views what it copies of larger sizes, the formulas are of sizes from 2.
// Errors: FailedPrecondition if a peak has no formula; OutOfRange for an overflow.
// REQUIRES: open.memory, without `fit`.
absl::StatusOr<Report> MemoryAt(const Report& open, const Bindings& sizes);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_MEMORY_AT_H_
