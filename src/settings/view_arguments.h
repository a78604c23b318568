// Settings of what a screen of `count` shows.
#ifndef ONNXFLOPS_SRC_SETTINGS_VIEW_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_VIEW_ARGUMENTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/report/view_options.h"
#include "src/settings/table.h"

namespace onnxflops::settings {

// "module", "op" or "node".
absl::StatusOr<GroupBy> ParseGroupBy(const std::string& by);

// `module`, as a text.
void AddModule(Table* list, std::string* module);

// What rows and columns are shown, as texts.
struct ViewArguments {
  std::string by, depth, top, sort, columns, module;
  bool no_fold = false, exact = false, plot = false;

  void AddTo(Table* list);
  // Whether rows are asked for.
  bool rows() const { return rows_of_each() || !columns.empty() || !sort.empty(); }
  // Whether rows of each model are asked for: without, several models are a row each, which `sort`
  // orders and `columns` are of.
  bool rows_of_each() const { return !(by.empty() && depth.empty() && top.empty()); }
  absl::StatusOr<ViewOptions> Parse() const;
};

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_VIEW_ARGUMENTS_H_
