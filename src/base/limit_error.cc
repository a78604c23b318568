#include "src/base/limit_error.h"

#include "absl/strings/cord.h"
#include "absl/types/optional.h"

namespace onnxflops {
namespace {

constexpr char kLimitPayload[] = "onnxflops/limit";

}  // namespace

absl::Status LimitError(absl::string_view limit, absl::string_view message) {
  absl::Status error = absl::OutOfRangeError(message);
  if (!limit.empty()) error.SetPayload(kLimitPayload, absl::Cord(limit));
  return error;
}

std::string LimitOf(const absl::Status& error) {
  const absl::optional<absl::Cord> limit = error.GetPayload(kLimitPayload);
  return limit ? std::string(*limit) : "";
}

absl::Status WithMessage(const absl::Status& error, absl::string_view message) {
  absl::Status result(error.code(), message);
  error.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { result.SetPayload(url, payload); });
  return result;
}

}  // namespace onnxflops
