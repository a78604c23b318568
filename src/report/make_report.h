// Makes reports from the results of earlier stages. Other code uses the driver (src/api/).
#ifndef ONNXFLOPS_SRC_REPORT_MAKE_REPORT_H_
#define ONNXFLOPS_SRC_REPORT_MAKE_REPORT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/cost/cost.h"
#include "src/report/report.h"
#include "src/report/roofline_report.h"
#include "src/training/training_options.h"

namespace onnxflops {

struct Backward;    // of src/training/backward.h
struct Counts;      // of src/count/count_model.h
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

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_MAKE_REPORT_H_
