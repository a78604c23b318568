// Where results go: standard output or a file, which is then complete or as it was.
#ifndef ONNXFLOPS_TOOLS_CLI_OUTPUT_H_
#define ONNXFLOPS_TOOLS_CLI_OUTPUT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/report/view_options.h"
#include "tools/cli/write_file.h"

namespace onnxflops::tools {

// Writes `text` to standard output for "-", else to `file`, which is replaced in one step (see
// ReplaceFile). A symbolic link stays, and the file that it names is replaced. A device, a pipe or
// an open descriptor (/dev/stdout, /dev/fd/3) is written to.
//
// `inputs` are the models and rules files that the call reads; "-" is standard input. None of them
// is written over, whatever other name `file` has for it, and no other ONNX model either. They may
// hold "" for an option that was not given.
absl::Status WriteOutput(absl::string_view text, const std::string& file,
                         absl::Span<const std::string> inputs);

// Of outputs of one call, the later would replace the earlier. "" is none.
absl::Status RequireDistinct(absl::Span<const std::string> files);

// The same for a copy of a model that `fill` writes, which may replace an earlier copy (IsAnnotated
// of src/api/annotate.h) and no other file.
absl::Status WriteModelCopy(FileFiller fill, const std::string& file,
                            absl::Span<const std::string> inputs);

// What the variable GITHUB_STEP_SUMMARY names; "" if it is not set.
std::string StepSummaryFile();

// Adds `text` at the end of the file that GITHUB_STEP_SUMMARY names; nothing if it is not set. As
// WriteOutput, it leaves inputs, models and binary files alone, and an error leaves the file as it
// was.
absl::Status AppendToStepSummary(absl::string_view text, absl::Span<const std::string> inputs);

// "onnxflops: message" on stderr.
void WriteError(absl::string_view message);

enum class ColorWhen { kAuto, kAlways, kNever };

// How large a table may be, and whether in color: as the terminal says. What does not go to a
// terminal is as wide as it gets, so that nothing is cut, and has no color. COLUMNS sets the width
// of standard output in any case. Of kAuto, CLICOLOR_FORCE switches color on, and NO_COLOR,
// CLICOLOR=0 and TERM=dumb off.
TableStyle StyleFor(const std::string& file, ColorWhen color = ColorWhen::kAuto);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_OUTPUT_H_
