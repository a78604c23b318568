// Names from a model, made fit for one line of a message: names are data, whatever bytes they hold.
//
//   Quoted("conv1")        // "'conv1'"
//   Quoted("a\x1b[31m\n")  // "'a\\x1b[31m\\n'"
#ifndef ONNXFLOPS_SRC_BASE_QUOTE_H_
#define ONNXFLOPS_SRC_BASE_QUOTE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace onnxflops {

// For terminals and logs: invalid UTF-8 and what is not printable (utf8.h: control characters,
// terminal escapes, text that turns around, what nobody sees) is shown as \n, \t or \xNN; what CI
// systems take for a command is broken up: "::error::" where a line may begin with it, and
// "##[error]", "##vso[" anywhere. One line, not shortened.
std::string Printable(absl::string_view text);
// The same; what is longer than kMaxShownName is cut and ends in "...".
std::string Escaped(absl::string_view name);
// The same in single quotes.
std::string Quoted(absl::string_view name);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_QUOTE_H_
