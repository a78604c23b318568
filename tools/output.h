// Where results go: standard output or a file, wholly or not at all.
#ifndef ONNXFLOPS_TOOLS_OUTPUT_H_
#define ONNXFLOPS_TOOLS_OUTPUT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "src/report/text_table.h"

namespace onnxflops::tools {

// Writes `text` to standard output for "-", else to `file`: into a temporary file beside it, which
// then takes its place. So a file that was there stays as it was until all is written, two writers
// leave one whole result, and errors and signals leave nothing. A device or pipe is written to.
absl::Status WriteOutput(absl::string_view text, const std::string& file);

// "onnxflops: message" on stderr.
void WriteError(absl::string_view message);

// How wide a table may be, and whether in color: as the terminal says. What does not go to a
// terminal is as wide as it gets, so that nothing is cut, and has no color. COLUMNS overrides the
// width; NO_COLOR, and TERM=dumb, switch color off.
TableStyle StyleFor(const std::string& file);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_OUTPUT_H_
