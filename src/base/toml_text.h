// What is checked of a TOML text before it is parsed.
#ifndef ONNXFLOPS_SRC_BASE_TOML_TEXT_H_
#define ONNXFLOPS_SRC_BASE_TOML_TEXT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

// OutOfRange if it has more than kMaxRulesBytes; InvalidArgument, with the place, if a line has
// more than kMaxRulesDots dots: the parser calls itself once for each. `file` is how errors begin,
// escaped.
absl::Status CheckTomlText(absl::string_view text, absl::string_view file);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_TOML_TEXT_H_
