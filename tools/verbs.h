// The verbs of the program: a file and a row of the table in onnxflops.cc each.
#ifndef ONNXFLOPS_TOOLS_VERBS_H_
#define ONNXFLOPS_TOOLS_VERBS_H_

#include "absl/status/statusor.h"
#include "tools/option_list.h"

namespace onnxflops::tools {

// As of diff(1).
enum ExitCode { kFine = 0, kFailed = 1, kTrouble = 2 };

// `arguments` are those after the verb. The message of an error goes to stderr; the exit code is 2.
absl::StatusOr<ExitCode> RunCount(const Arguments& arguments);
absl::StatusOr<ExitCode> RunCompare(const Arguments& arguments);
absl::StatusOr<ExitCode> RunExplain(const Arguments& arguments);
absl::StatusOr<ExitCode> RunOps(const Arguments& arguments);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_VERBS_H_
