// How the figures of other tools are made of what the stages before found. The driver (src/api/) is
// how others get them.
#ifndef ONNXFLOPS_SRC_COMPARE_MAKE_COMPARISON_H_
#define ONNXFLOPS_SRC_COMPARE_MAKE_COMPARISON_H_

#include "absl/status/statusor.h"
#include "src/compare/compare_report.h"
#include "src/report/make_report.h"
#include "src/report/report.h"

namespace onnxflops {

namespace convention {
struct Convention;  // of src/convention/convention.h
}  // namespace convention

// What another tool counts of the model. Errors: FailedPrecondition, with the reason, if it has no
// figure; OutOfRange where the figure takes too much.
absl::StatusOr<ToolFigure> FigureAs(const Inference& inference, const Counts& counts,
                                    const convention::Convention& convention);

// What CountAs gives. Errors, beside those of MakeReport: FailedPrecondition, with the reason, if
// the tool has no figure.
absl::StatusOr<Report> MakeReportAs(const Inference& inference, const Counts& counts,
                                    const ReportOptions& options,
                                    const convention::Convention& convention);

// With `options.module`, of that part as if it were the model. Errors: those of MakeReport;
// NotFound for a name that no convention has.
absl::StatusOr<CompareReport> MakeComparison(const Inference& inference, const Counts& counts,
                                             const CompareRequest& request,
                                             const ReportOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_COMPARE_MAKE_COMPARISON_H_
