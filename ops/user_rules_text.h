// What the TOML parser must not see of a file of rules. Internal to ops/user_rules*.cc.
#ifndef ONNXFLOPS_OPS_USER_RULES_TEXT_H_
#define ONNXFLOPS_OPS_USER_RULES_TEXT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace onnxflops {

struct TextFault {
  int line = 1, column = 1;  // in bytes, from 1
  std::string what;
};

// What toml++ 3.3 would take without end, or what it assumes and, in a release build, does not
// check: a key behind "[", and that what is not ASCII stands in strings and comments, as TOML has
// it (its test for blanks is undefined for most other characters).
std::optional<TextFault> FindTextFault(absl::string_view text);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_USER_RULES_TEXT_H_
