// How reports are made of what the stages before found. The driver (src/api/) is how others get
// them.
#ifndef ONNXFLOPS_SRC_REPORT_MAKE_REPORT_H_
#define ONNXFLOPS_SRC_REPORT_MAKE_REPORT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/cost/cost.h"
#include "src/report/compare_report.h"
#include "src/report/explain.h"
#include "src/report/report.h"
#include "src/report/roofline_report.h"
#include "src/training/training_options.h"

namespace onnxflops {

namespace convention {
struct Convention;  // of src/convention/convention.h
}  // namespace convention
struct Backward;    // of src/training/backward.h
struct Counts;      // of src/count/count.h
struct Inference;   // of src/infer/infer.h
struct ModuleTree;  // of src/module/module_tree.h

struct ReportOptions {
  CausalCounting causal = CausalCounting::kFull;  // how Counts were made
  std::optional<RooflineReport> roofline;         // the same
  bool node_rows = false;                         // fill in Report::nodes
  std::string module;                             // only the modules of this path or glob
  bool upper_bounds = false;                      // sizes inside the model at their upper bounds
  bool no_grad = false;                           // of MakeReportAs: CountOptions::no_grad
};

// OutOfRange if the formulas are too long; NotFound for a module that is not there.
absl::StatusOr<Report> MakeReport(const Inference& inference, const Counts& counts,
                                  const ReportOptions& options);

// The same with a tree of its modules that holds other work: its totals stay ours.
absl::StatusOr<Report> MakeReport(const Inference& inference, const Counts& counts,
                                  const ReportOptions& options, ModuleTree tree);

// Puts an exact backward pass into the totals and rows of a report of the whole model, and
// Report::training. OutOfRange if its formulas are too long.
absl::Status SetTraining(const Inference& inference, const Counts& counts, const Backward& backward,
                         const TrainingOptions& options, Report* report);

// What another tool counts of the model. Errors: FailedPrecondition, with the reason, if it has no
// figure; OutOfRange where the figure takes too much.
absl::StatusOr<ToolFigure> FigureAs(const Inference& inference, const Counts& counts,
                                    const convention::Convention& convention);

// What CountAs gives. Errors, beside those of MakeReport: FailedPrecondition, with the reason, if
// the tool has no figure.
absl::StatusOr<Report> MakeReportAs(const Inference& inference, const Counts& counts,
                                    const ReportOptions& options,
                                    const convention::Convention& convention);

// `no_grad` is CountOptions::no_grad. Errors: those of MakeReport; NotFound for a name that no
// convention has.
absl::StatusOr<CompareReport> MakeComparison(const Inference& inference, const Counts& counts,
                                             const CompareRequest& request, bool no_grad);

// What Explain gives. NotFound, with names that are similar.
absl::StatusOr<Explanation> MakeExplanation(const Inference& inference, const Counts& counts,
                                            absl::string_view node);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_MAKE_REPORT_H_
