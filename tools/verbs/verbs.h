// The verbs of the program: a file and a row of the table in verbs.cc each.
#ifndef ONNXFLOPS_TOOLS_VERBS_VERBS_H_
#define ONNXFLOPS_TOOLS_VERBS_VERBS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tools/cli/option_list.h"

namespace onnxflops::tools {

// As of diff(1).
enum ExitCode { kFine = 0, kFailed = 1, kTrouble = 2 };

// `arguments` are those after the verb. The message of an error goes to stderr; the exit code is 2.
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
absl::StatusOr<ExitCode> RunCompletion(const Arguments& arguments);

// What --help says of a verb, and its options. They are there for the time of the call.
using UseVerb = std::function<void(const VerbHelp& help, const OptionList& options)>;
void DescribeCount(const UseVerb& use);
void DescribeCompare(const UseVerb& use);
void DescribeEstimate(const UseVerb& use);
void DescribeExplain(const UseVerb& use);
void DescribeCheck(const UseVerb& use);
void DescribeDiff(const UseVerb& use);
void DescribeHistory(const UseVerb& use);
void DescribeOps(const UseVerb& use);
void DescribeMfu(const UseVerb& use);
void DescribeMonitor(const UseVerb& use);
void DescribeDevices(const UseVerb& use);
void DescribeProfile(const UseVerb& use);
void DescribeAudit(const UseVerb& use);
void DescribeCompletion(const UseVerb& use);

struct Verb {
  const char* name;
  const char* arguments;
  const char* summary;
  absl::StatusOr<ExitCode> (*run)(const Arguments& arguments);
  void (*describe)(const UseVerb& use);
};

// The first is the default: what is no verb is a model to count.
absl::Span<const Verb> Verbs();

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_VERBS_VERBS_H_
