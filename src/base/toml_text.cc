#include "src/base/toml_text.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"

namespace onnxflops {

absl::Status CheckTomlText(absl::string_view text, absl::string_view file) {
  if (text.size() > kMaxRulesBytes) {
    return LimitError(
        "rules-bytes",
        absl::StrCat(file, ": larger than the limit rules-bytes = ", kMaxRulesBytes, " bytes"));
  }
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    int dots = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '.' && (i == 0 || line[i - 1] != '.')) ++dots;
    }
    if (dots <= kMaxRulesDots) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        file, ":", number, ":1: more dots in a line than the limit rules-dots = ", kMaxRulesDots));
  }
  return absl::OkStatus();
}

}  // namespace onnxflops
