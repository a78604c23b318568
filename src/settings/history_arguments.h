// The settings of a history.
#ifndef ONNXFLOPS_SRC_SETTINGS_HISTORY_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_HISTORY_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/history/history.h"
#include "src/settings/table.h"

namespace onnxflops::settings {

struct HistoryArguments {
  std::string models;
  std::vector<std::string> quantities;

  void AddTo(Table* list);
  // Reads a file that `check` recorded. Errors name it; NotFound if a setting matches nothing.
  absl::StatusOr<HistoryReport> Read(const std::string& file) const;
};

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_HISTORY_ARGUMENTS_H_
