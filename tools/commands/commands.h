// The commands of the program: a file and a line of commands.cc each.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_COMMANDS_H_
#define ONNXFLOPS_TOOLS_COMMANDS_COMMANDS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/base/status_macros.h"
#include "tools/cli/option_list.h"
#include "tools/cli/output.h"

namespace onnxflops::tools {

// As in diff(1).
enum ExitCode { kFine = 0, kFailed = 1, kTrouble = 2 };

// Receives the --help text of a command and its options, which exist only during the call.
using UseCommand = std::function<void(const CommandHelp& help, const OptionList& options)>;

struct Command {
  const char* name;
  const char* arguments;
  const char* summary;
  // `arguments` are those after the command. The message of an error goes to stderr; the exit code
  // is 2.
  absl::StatusOr<ExitCode> (*run)(const Arguments& arguments);
  void (*describe)(const UseCommand& use);
};

// A command whose arguments are a Call, which AddTo(OptionList*) declares. It prints its help, or
// takes the arguments and calls kRun.
template <typename Call, const CommandHelp& kHelp, absl::StatusOr<ExitCode> (*kRun)(const Call&)>
Command CommandOf(const char* name, const char* arguments, const char* summary) {
  return {name, arguments, summary,
          [](const Arguments& words) -> absl::StatusOr<ExitCode> {
            OptionList list;
            Call call;
            call.AddTo(&list);
            std::string help;
            ASSIGN_OR_RETURN(const bool run, list.Parse(kHelp, words, &help));
            if (run) return kRun(call);
            RETURN_IF_ERROR(WriteOutput(help, "-", {}));
            return kFine;
          },
          [](const UseCommand& use) {
            OptionList list;
            Call call;
            call.AddTo(&list);
            use(kHelp, list);
          }};
}

Command CountCommand();
Command CompareCommand();
Command EstimateCommand();
Command ExplainCommand();
Command DiffCommand();
Command CheckCommand();
Command HistoryCommand();
Command OpsCommand();
Command MfuCommand();
Command MonitorCommand();
Command DevicesCommand();
Command ProfileCommand();
Command AuditCommand();
Command PipelineCommand();
Command CiteCommand();
Command CompletionCommand();

// The first is the default: a word that is not a command is a model to count.
absl::Span<const Command> Commands();

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_COMMANDS_H_
