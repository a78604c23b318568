// What --help prints, from the table of options.
#ifndef ONNXFLOPS_TOOLS_CLI_HELP_H_
#define ONNXFLOPS_TOOLS_CLI_HELP_H_

#include <string>

#include "absl/strings/string_view.h"
#include "tools/cli/option_list.h"

namespace onnxflops::tools {

// `topic` is the word after --help: the name of a group of options, "all", or anything else.
std::string HelpText(const CommandHelp& command, const OptionList& list, absl::string_view topic);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_HELP_H_
