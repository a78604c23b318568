// What shells and man(1) know of the program: written from the tables of settings that parse.
//
//   onnxflops completion bash > /etc/bash_completion.d/onnxflops
#ifndef ONNXFLOPS_TOOLS_CLI_MANUAL_H_
#define ONNXFLOPS_TOOLS_CLI_MANUAL_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tools/cli/option_list.h"

namespace onnxflops::tools {

// One command, as its row of the table of commands and its OptionList describe it.
struct CommandPage {
  std::string name, summary;
  std::string usage, text, examples;  // of CommandHelp
  std::vector<settings::Row> rows;    // of which only the words are read
  std::vector<settings::Group> groups;
  std::vector<std::string> lists;  // of Positional
};

// What `onnxflops completion WHAT` writes.
inline constexpr absl::string_view kManualForms[] = {"bash", "zsh", "fish", "man"};

// `form` is one of kManualForms. The first command is the default one.
std::string Manual(absl::string_view form, absl::Span<const CommandPage> commands);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_MANUAL_H_
