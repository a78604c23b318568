#include "src/base/toml.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"

namespace onnxflops {

absl::Status CheckTomlText(absl::string_view text, absl::string_view file) {
  if (text.size() > kMaxRulesBytes) {
    return LimitError("rules-bytes", absl::StrCat(Escaped(file), ": larger than the limit ",
                                                  "rules-bytes = ", kMaxRulesBytes, " bytes"));
  }
  int number = 1;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    int dots = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '.' && (i == 0 || line[i - 1] != '.')) ++dots;
    }
    if (dots > kMaxRulesDots) {
      return absl::InvalidArgumentError(
          absl::StrCat(Escaped(file), ":", number,
                       ":1: more dots in a line than the limit rules-dots = ", kMaxRulesDots));
    }
    ++number;
  }
  return absl::OkStatus();
}

}  // namespace onnxflops
