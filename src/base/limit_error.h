// Errors that say that a limit of limits.h is met.
#ifndef ONNXFLOPS_SRC_BASE_LIMIT_ERROR_H_
#define ONNXFLOPS_SRC_BASE_LIMIT_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

// OutOfRange, with the limit's name as a payload. `limit` is the name that users know
// ("steps-per-node"), or "" for a bound that users cannot set.
absl::Status LimitError(absl::string_view limit, absl::string_view message);

// The name of the limit that an error says is met, or "".
std::string LimitOf(const absl::Status& error);

// The same error in other words; its payloads stay.
absl::Status WithMessage(const absl::Status& error, absl::string_view message);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_LIMIT_ERROR_H_
