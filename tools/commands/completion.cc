// onnxflops completion: what shells and man(1) need to know about the program.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/api/count.h"
#include "src/api/load.h"
#include "src/api/operators.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/hardware/device.h"
#include "src/render/format.h"
#include "src/report/report.h"
#include "src/report/view_options.h"
#include "tools/cli/manual.h"
#include "tools/cli/output.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandCompletionHelp = {
    "onnxflops completion bash|zsh|fish|man [options]",
    R"(Writes the completion of a shell, or the man page. An installation has
them already. These scripts ask for lists of words: `onnxflops completion
devices`, figures, operators, or nodes or modules of a MODEL.
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
    list->AddPositional("bash, zsh, fish or man", &form, 1, 2);
    list->AddValue("o", "FILE", &file,
                   "Write to FILE. It is complete or not there. Default: standard output.");
  }
};

std::vector<CommandPage> AllPages() {
  std::vector<CommandPage> pages;
  for (const Command& command : Commands()) {
    command.describe([&](const CommandHelp& help, const OptionList& list) {
      pages.push_back({command.name, command.summary, help.usage, help.text, help.examples,
                       std::vector<settings::Row>(list.rows().begin(), list.rows().end()),
                       std::vector<settings::Group>(list.groups().begin(), list.groups().end()),
                       list.positional() ? list.positional()->lists : std::vector<std::string>()});
    });
  }
  return pages;
}

// The names of modules, after those of nodes if they are wanted, too.
absl::StatusOr<std::vector<std::string>> PlacesOf(const std::string& path, bool nodes) {
  ASSIGN_OR_RETURN(const Model model, Load(path));
  ASSIGN_OR_RETURN(const Report report, Count(model, {.node_rows = nodes}));
  std::vector<std::string> words;
  for (const NodeRow& row : report.nodes) words.push_back(Escaped(row.name));
  for (const Module& row : report.modules) {
    if (!row.path.empty() && !row.own) words.push_back(Escaped(row.path));
  }
  return words;
}

// The lists that completion scripts request, as lines. nullopt for any other request.
absl::StatusOr<std::optional<std::string>> ListOf(const std::vector<std::string>& form) {
  std::vector<std::string> words;
  if (form[0] == "devices") {
    for (const Device& device : AllDevices()) words.push_back(device.name);
  } else if (form[0] == "figures") {
    words = absl::StrSplit(FigureKeys(), ", ");
  } else if (form[0] == "operators") {
    for (const Operator& op : Operators()) words.push_back(OpLabel(op.domain, op.name));
    words.erase(std::unique(words.begin(), words.end()), words.end());
  } else if ((form[0] == "nodes" || form[0] == "modules") && form.size() == 2) {
    ASSIGN_OR_RETURN(words, PlacesOf(form[1], form[0] == "nodes"));
  } else {
    return std::optional<std::string>();
  }
  return absl::StrCat(absl::StrJoin(words, "\n"), words.empty() ? "" : "\n");
}

absl::StatusOr<ExitCode> RunCompletion(const CompletionArguments& args) {
  ASSIGN_OR_RETURN(std::optional<std::string> text, ListOf(args.form));
  if (!text) {
    if (args.form.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(args.form[1]),
                       " is one too many: only `completion nodes MODEL` and `completion modules "
                       "MODEL` take a model"));
    }
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
  RETURN_IF_ERROR(WriteOutput(*text, args.file, {}));
  return kFine;
}

}  // namespace

Command CompletionCommand() {
  return CommandOf<CompletionArguments, kCommandCompletionHelp, RunCompletion>(
      "completion", "SHELL", "completion for bash, zsh or fish; or the man page");
}

}  // namespace onnxflops::tools
