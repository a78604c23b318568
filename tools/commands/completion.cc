// onnxflops completion: what shells and man(1) know of the program.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "tools/cli/manual.h"
#include "tools/cli/output.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandCompletionHelp = {
    "onnxflops completion bash|zsh|fish|man [options]",
    R"(Writes the completion of a shell, or the man page. An installation has
them already.
)",
    R"(  For this session of bash:
    source <(onnxflops completion bash)
  For a user of fish:
    onnxflops completion fish -o ~/.config/fish/completions/onnxflops.fish
  The man page:
    onnxflops completion man | man -l -
)"};

struct CompletionArguments {
  std::vector<std::string> form;
  std::string file = "-";

  void AddTo(OptionList* list) {
    list->AddPositional("bash, zsh, fish or man", &form, 1, 1);
    list->AddValue("-o", "FILE", &file,
                   "Write to FILE. It is complete or not there. Default: standard output.");
  }
};

std::vector<CommandPage> AllPages() {
  std::vector<CommandPage> pages;
  for (const Command& command : Commands()) {
    command.describe([&](const CommandHelp& help, const OptionList& list) {
      pages.push_back({command.name, command.summary, help.usage, help.text, help.examples,
                       std::vector<Option>(list.options().begin(), list.options().end())});
    });
  }
  return pages;
}

}  // namespace

void DescribeCompletion(const UseCommand& use) {
  OptionList list;
  CompletionArguments args;
  args.AddTo(&list);
  use(kCommandCompletionHelp, list);
}

absl::StatusOr<ExitCode> RunCompletion(const Arguments& arguments) {
  OptionList list;
  CompletionArguments args;
  args.AddTo(&list);
  std::string text;
  ASSIGN_OR_RETURN(const bool run, list.Parse(kCommandCompletionHelp, arguments, &text));
  if (run) {
    const std::vector<std::string> forms(std::begin(kManualForms), std::end(kManualForms));
    if (std::find(forms.begin(), forms.end(), args.form[0]) == forms.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(args.form[0]),
                       " is not a shell that completion knows: it should be bash, zsh, "
                       "fish or man",
                       DidYouMean(args.form[0], forms)));
    }
    text = Manual(args.form[0], AllPages());
  }
  RETURN_IF_ERROR(WriteOutput(text, run ? args.file : "-", {}));
  return kFine;
}

}  // namespace onnxflops::tools
