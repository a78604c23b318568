// Files of budgets, written and mended by the program.
#ifndef ONNXFLOPS_SRC_CHECK_EDIT_BUDGETS_H_
#define ONNXFLOPS_SRC_CHECK_EDIT_BUDGETS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/check/budgets.h"
#include "src/check/judge.h"
#include "src/pipeline/pipeline_report.h"
#include "src/report/report.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// A pipeline, and the numbers of the call at which it is counted.
struct InitialPipeline {
  PipelineReport report;
  Bindings given;
};

// A file with comments whose budgets are the costs of the models plus 1 %. Totals with open sizes
// are evaluated at the sizes in its [at]. Each model has sections of its own, named by file name,
// or by path if two have the same file name. Paths omit `folder`, the one that holds the file. The
// stages of a pipeline have limits of their own.
std::string InitialBudgets(absl::Span<const Report> reports, absl::string_view folder = "",
                           absl::Span<const InitialPipeline> pipelines = {});

// The same file, with every broken limit that is an amount raised to the figure plus 1 %. Comments
// and everything else stay. `text` is the text from which `budgets` was read.
std::string RaisedBudgets(absl::string_view text, const Budgets& budgets,
                          const CheckReport& report);

// One line for each rule that did not pass and that RaisedBudgets cannot raise, with the reason.
std::vector<std::string> LeftBudgets(const Budgets& budgets, const CheckReport& report);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CHECK_EDIT_BUDGETS_H_
