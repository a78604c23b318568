// What a line of `onnxflops count` says.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_COUNT_CALL_H_
#define ONNXFLOPS_TOOLS_COMMANDS_COUNT_CALL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/report/view_options.h"
#include "src/settings/count_arguments.h"
#include "tools/cli/option_list.h"
#include "tools/cli/output_arguments.h"
#include "tools/commands/class_arguments.h"
#include "tools/commands/each_model.h"

namespace onnxflops::tools {

// The settings of a count, and how it is written.
struct CountCall : settings::CountArguments {
  std::vector<std::string> models;
  OutputArguments output;
  JobsArgument jobs;
  ClassArguments by_class;
  std::string annotate, save;
  bool strict = false, redact = false;

  void AddTo(OptionList* list);
  // InvalidArgument as well for what `format` cannot show.
  absl::StatusOr<ViewOptions> ParseView(Format format) const;
  // What --annotate does not go together with.
  absl::Status CheckAnnotate(bool one_file, bool is_sweep) const;
  // Whether rows are asked for: without, several models are a row each.
  bool rows() const { return view.rows(); }
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_COUNT_CALL_H_
