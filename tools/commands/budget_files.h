// Which budgets each model of a `check` is held to.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_BUDGET_FILES_H_
#define ONNXFLOPS_TOOLS_COMMANDS_BUDGET_FILES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/check/budgets.h"
#include "src/hardware/device.h"

namespace onnxflops::tools {

inline constexpr char kBudgetsFile[] = "onnxflops.toml";

// The options of a call that concern budgets.
struct BudgetSources {
  std::string named;                // --budgets: a file, or a folder that is searched; or ""
  std::vector<std::string> maxima;  // --max
  bool has_base = false;            // for limits that are relative
  const std::vector<Device>& devices;
};

// A file, with its budgets and the limits of the call.
struct BudgetFile {
  std::string path;  // "": none, only limits of the call
  std::string text;
  Budgets budgets;
  absl::Status fault;  // why it cannot be used, where other models have other files
};

class BudgetFiles {
 public:
  // Reads the budgets of each model: the named file, or the nearest onnxflops.toml in the model's
  // folder, in a folder above it, or in the working directory. Below a named folder a model may
  // have none. Errors: NotFound if no model has a file, and there is no limit; those of LoadBudgets
  // and CompleteBudgets, if all models have the same file.
  static absl::StatusOr<BudgetFiles> Read(const BudgetSources& sources,
                                          const std::vector<std::string>& models);

  // By the order of models in Read; without Read there are no budgets.
  const BudgetFile& Of(size_t model) const {
    return of_model_.empty() ? none_ : files_[of_model_[model]];
  }
  const std::vector<BudgetFile>& files() const { return files_; }
  // Their paths, in a line.
  std::string Names() const;
  // Reads a file again, after it changed.
  absl::Status Reread(const BudgetSources& sources, size_t file);

 private:
  std::vector<BudgetFile> files_;
  std::vector<size_t> of_model_;  // an index of files_
  BudgetFile none_;
};

// The folder of a model, or a folder itself, with a slash at its end; "": the working directory.
std::string FolderOfModels(const std::string& path);
// The one that holds all of them, as far as their paths tell. REQUIRES: there is a path.
std::string FolderOfModels(const std::vector<std::string>& paths);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_BUDGET_FILES_H_
