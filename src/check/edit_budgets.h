// Files of budgets, written and mended by the program.
#ifndef ONNXFLOPS_SRC_CHECK_EDIT_BUDGETS_H_
#define ONNXFLOPS_SRC_CHECK_EDIT_BUDGETS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/check/budgets.h"
#include "src/check/judge.h"
#include "src/report/report.h"

namespace onnxflops {

// A file with comments, whose budgets are what the models cost and 1 %. Totals with open sizes are
// at the sizes that [at] says there. Of several, each has sections of its own, by its file's name,
// or by its path where two have the same name; `folder` is left out of paths: that of the file.
std::string InitialBudgets(absl::Span<const Report> reports, absl::string_view folder = "");

// The same file with every broken limit that is an amount raised to what was found and 1 %.
// Comments and everything else stay. `text` is what `budgets` was read from.
std::string RaisedBudgets(absl::string_view text, const Budgets& budgets,
                          const CheckReport& report);

// Which rules did not pass and are none that RaisedBudgets raises, with the reason: a line each.
std::vector<std::string> LeftBudgets(const Budgets& budgets, const CheckReport& report);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CHECK_EDIT_BUDGETS_H_
