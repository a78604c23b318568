// --record: a line per model of a check in a history, which `onnxflops history` reads.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_RECORD_HISTORY_H_
#define ONNXFLOPS_TOOLS_COMMANDS_RECORD_HISTORY_H_

#include <string>

#include "absl/status/status.h"
#include "src/api/count.h"
#include "src/check/judge.h"
#include "tools/cli/option_list.h"
#include "tools/commands/budget_files.h"
#include "tools/commands/model_files.h"

namespace onnxflops::tools {

struct RecordArgument {
  std::string file;  // "": nothing is recorded

  void AddTo(OptionList* list);
  // Checks that lines can be added to the file: it does not exist yet, or it is a history.
  absl::Status Require(bool init) const;
  // Adds a line for each model that has no error in `report`, all of them in one write. A model
  // with open sizes is counted at those of the call, and at the first sizes of its budgets. The
  // limits come from `report`. If a model cannot be counted, its error is returned after the others
  // are added.
  absl::Status Append(const ModelFiles& files, const CountOptions& options,
                      const BudgetFiles& budgets, const CheckReport& report) const;
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_RECORD_HISTORY_H_
