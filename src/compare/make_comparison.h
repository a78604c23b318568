// Makes the figures of other tools from the results of earlier stages. Other code uses the driver
// (src/api/).
#ifndef ONNXFLOPS_SRC_COMPARE_MAKE_COMPARISON_H_
#define ONNXFLOPS_SRC_COMPARE_MAKE_COMPARISON_H_

#include <vector>

#include "absl/status/statusor.h"
#include "src/compare/compare_report.h"
#include "src/report/make_report.h"
#include "src/report/report.h"
#include "src/symbolic/sample_sum.h"

namespace onnxflops {

namespace convention {
struct Convention;  // of src/convention/convention.h
}  // namespace convention

// The model's figure in another tool. Errors: FailedPrecondition, with the reason, if there is
// none; OutOfRange if the figure takes too much work.
absl::StatusOr<ToolFigure> FigureAs(const Inference& inference, const Counts& counts,
                                    const convention::Convention& convention);

// The report of CountAs. Errors: those of MakeReport; FailedPrecondition, with the reason, if the
// tool has no figure.
absl::StatusOr<Report> MakeReportAs(const Inference& inference, const Counts& counts,
                                    const ReportOptions& options,
                                    const convention::Convention& convention);

// With `options.module`, compares that part as if it were the model. Errors: those of MakeReport;
// NotFound for an unknown convention.
absl::StatusOr<CompareReport> MakeComparison(const Inference& inference, const Counts& counts,
                                             const CompareRequest& request,
                                             const ReportOptions& options);

// Replaces all amounts by their sums over the samples, also those of our count.
void SumOverSamples(const SampleSum& sum, CompareReport* report);

// The first fault of a tool's numbers; nullptr if there is none.
const char* ErrorOf(const ToolRow& row);

// The largest first, at the sizes that are shown.
void SortTerms(const Report& ours, std::vector<TermRow>* terms);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_COMPARE_MAKE_COMPARISON_H_
