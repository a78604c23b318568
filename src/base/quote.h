// Names from a model, made fit for one line of a message: names are data, whatever bytes they hold.
//
//   Quoted("conv1")        // "'conv1'"
//   Quoted("a\x1b[31m\n")  // "'a\\x1b[31m\\n'"
#ifndef ONNXFLOPS_SRC_BASE_QUOTE_H_
#define ONNXFLOPS_SRC_BASE_QUOTE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace onnxflops {

// Control characters and invalid UTF-8 become \n, \t or \xNN; what is longer than kMaxShownName is
// cut and ends in "...".
std::string Escaped(absl::string_view name);
// The same in single quotes.
std::string Quoted(absl::string_view name);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_QUOTE_H_
