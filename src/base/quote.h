// Names from a model, made fit for one line of a message: names are data, whatever bytes they hold.
//
//   Quoted("conv1")        // "'conv1'"
//   Quoted("a\x1b[31m\n")  // "'a\\x1b[31m\\n'"
#ifndef ONNXFLOPS_SRC_BASE_QUOTE_H_
#define ONNXFLOPS_SRC_BASE_QUOTE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace onnxflops {

// Makes text safe for terminals and logs, as one line of full length. Invalid UTF-8 and
// non-printable characters (utf8.h: control characters, terminal escapes, direction marks,
// invisible characters) become \n, \t or \xNN. Text that CI systems would run as a command is
// broken up: "::error::" wherever a line may begin with it, and "##[error]" and "##vso[" anywhere.
std::string Printable(absl::string_view text);
// The same, cut at kMaxShownName bytes with "..." at the end.
std::string Escaped(absl::string_view name);
// The same in single quotes.
std::string Quoted(absl::string_view name);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_QUOTE_H_
