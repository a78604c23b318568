#include "src/settings/value.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/load/input_file.h"

namespace onnxflops::settings {

absl::Status BadValue(absl::string_view name, absl::string_view text, absl::string_view why) {
  return InValue(name, text, absl::InvalidArgumentError(why));
}

absl::Status InValue(absl::string_view name, absl::string_view text, const absl::Status& error) {
  if (error.ok()) return error;
  return WithMessage(error, absl::StrCat(Setting(name, Quoted(text)), ": ", error.message()));
}

absl::Status InFile(absl::string_view name, absl::string_view file, const absl::Status& error) {
  if (error.ok()) return error;
  return WithMessage(error, absl::StrCat(Setting(name), " ", Escaped(file), ": ", error.message()));
}

absl::StatusOr<int64_t> ParsePositiveWhole(absl::string_view name, const std::string& text) {
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= 1 && value <= kMost) return value;
  return BadValue(name, text, "it should be a whole number from 1 to 2^40");
}

absl::Status ParseWhole(absl::string_view name, const std::string& text, int* value) {
  constexpr int kMost = 1 << 30;
  if (text.empty() || (absl::SimpleAtoi(text, value) && *value >= 0 && *value <= kMost)) {
    return absl::OkStatus();
  }
  return BadValue(name, text, "it should be a whole number, 0 or more");
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& file) {
  return ReadTextFile(file, kMaxRulesBytes);
}

}  // namespace onnxflops::settings
