// Options of what a screen of `count` shows.
#ifndef ONNXFLOPS_TOOLS_CLI_VIEW_ARGUMENTS_H_
#define ONNXFLOPS_TOOLS_CLI_VIEW_ARGUMENTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/report/view_options.h"
#include "tools/cli/options.h"

namespace onnxflops::tools {

// --module, as typed.
void AddModule(OptionList* list, std::string* module);

// --by, --depth, --no-fold, --exact, --top, --sort, --columns and --module, as typed.
struct ViewArguments {
  std::string by, depth, top, sort, columns, module;
  bool no_fold = false, exact = false;

  void AddTo(OptionList* list);
  // Whether rows are asked for: without, several models are a row each.
  bool rows() const {
    return !(by.empty() && depth.empty() && top.empty() && sort.empty() && columns.empty());
  }
  // InvalidArgument as well for what `format` cannot do.
  absl::StatusOr<ViewOptions> Parse(Format format) const;
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_VIEW_ARGUMENTS_H_
