// The values of settings, and what is wrong with them in the words of the face that runs.
#ifndef ONNXFLOPS_SRC_SETTINGS_VALUE_H_
#define ONNXFLOPS_SRC_SETTINGS_VALUE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnxflops::settings {

// InvalidArgument: "--dim 'batch': it should be NAME=N".
absl::Status BadValue(absl::string_view name, absl::string_view text, absl::string_view why);
// The setting and its text come before what an error says.
absl::Status InValue(absl::string_view name, absl::string_view text, const absl::Status& error);
// The same of a file that the setting names.
absl::Status InFile(absl::string_view name, absl::string_view file, const absl::Status& error);

// A whole number from 1 to 2^40: more than any batch has.
absl::StatusOr<int64_t> ParsePositiveWhole(absl::string_view name, const std::string& text);

// A whole number of 0 or more, for how many rows, levels or runs; an empty text leaves `value`.
absl::Status ParseWhole(absl::string_view name, const std::string& text, int* value);

// The text of a small file that a person wrote: at most one byte more than kMaxRulesBytes.
absl::StatusOr<std::string> ReadSmallFile(const std::string& file);

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_VALUE_H_
