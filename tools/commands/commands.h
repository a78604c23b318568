// The commands of the program: a file and a row of the table in commands.cc each.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_COMMANDS_H_
#define ONNXFLOPS_TOOLS_COMMANDS_COMMANDS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tools/cli/option_list.h"

namespace onnxflops::tools {

// As in diff(1).
enum ExitCode { kFine = 0, kFailed = 1, kTrouble = 2 };

// `arguments` are those after the command. The message of an error goes to stderr; the exit code
// is 2.
absl::StatusOr<ExitCode> RunCount(const Arguments& arguments);
absl::StatusOr<ExitCode> RunCompare(const Arguments& arguments);
absl::StatusOr<ExitCode> RunEstimate(const Arguments& arguments);
absl::StatusOr<ExitCode> RunExplain(const Arguments& arguments);
absl::StatusOr<ExitCode> RunCheck(const Arguments& arguments);
absl::StatusOr<ExitCode> RunDiff(const Arguments& arguments);
absl::StatusOr<ExitCode> RunHistory(const Arguments& arguments);
absl::StatusOr<ExitCode> RunOps(const Arguments& arguments);
absl::StatusOr<ExitCode> RunMfu(const Arguments& arguments);
absl::StatusOr<ExitCode> RunMonitor(const Arguments& arguments);
absl::StatusOr<ExitCode> RunDevices(const Arguments& arguments);
absl::StatusOr<ExitCode> RunProfile(const Arguments& arguments);
absl::StatusOr<ExitCode> RunAudit(const Arguments& arguments);
absl::StatusOr<ExitCode> RunCite(const Arguments& arguments);
absl::StatusOr<ExitCode> RunCompletion(const Arguments& arguments);

// Receives the --help text of a command and its options, which exist only during the call.
using UseCommand = std::function<void(const CommandHelp& help, const OptionList& options)>;
void DescribeCount(const UseCommand& use);
void DescribeCompare(const UseCommand& use);
void DescribeEstimate(const UseCommand& use);
void DescribeExplain(const UseCommand& use);
void DescribeCheck(const UseCommand& use);
void DescribeDiff(const UseCommand& use);
void DescribeHistory(const UseCommand& use);
void DescribeOps(const UseCommand& use);
void DescribeMfu(const UseCommand& use);
void DescribeMonitor(const UseCommand& use);
void DescribeDevices(const UseCommand& use);
void DescribeProfile(const UseCommand& use);
void DescribeAudit(const UseCommand& use);
void DescribeCite(const UseCommand& use);
void DescribeCompletion(const UseCommand& use);

struct Command {
  const char* name;
  const char* arguments;
  const char* summary;
  absl::StatusOr<ExitCode> (*run)(const Arguments& arguments);
  void (*describe)(const UseCommand& use);
};

// The first is the default: a word that is not a command is a model to count.
absl::Span<const Command> Commands();

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_COMMANDS_H_
