#include "src/memory/memory_options.h"

#include <cstddef>
#include <optional>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/byte_text.h"
#include "src/base/quote.h"
#include "src/base/setting.h"

namespace onnxflops {

absl::string_view OrderName(ExecutionOrder order) {
  return order == ExecutionOrder::kOrt ? "ort" : "file";
}

absl::StatusOr<FitRequest> ParseFit(absl::string_view text) {
  FitRequest request;
  const size_t colon = text.find(':');
  const absl::string_view number = text.substr(0, colon);
  if (colon != absl::string_view::npos) request.symbol = std::string(text.substr(colon + 1));
  const std::optional<absl::int128> bytes = ParseBytes(number);
  if (!bytes || (colon != absl::string_view::npos && request.symbol.empty())) {
    return absl::InvalidArgumentError(absl::StrCat(
        Setting("fit"), " ", Quoted(text), ": it should be bytes, as 80GiB, 24GB or 500000000, ",
        "or bytes and a symbol, as 80GiB:seq"));
  }
  constexpr int kFewest = 1'000'000;
  if (*bytes < kFewest && absl::ascii_isdigit(static_cast<unsigned char>(number.back()))) {
    return absl::InvalidArgumentError(absl::StrCat(
        Setting("fit"), " ", Quoted(text), ": that is bytes: add the unit, as ", number, "GiB"));
  }
  request.bytes = *bytes;
  return request;
}

}  // namespace onnxflops
