#include "src/memory/memory_options.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"

namespace onnxflops {
namespace {

struct ByteUnit {
  absl::string_view name;
  int64_t bytes;
};
constexpr ByteUnit kByteUnits[] = {
    {"TiB", int64_t{1} << 40},
    {"GiB", int64_t{1} << 30},
    {"MiB", int64_t{1} << 20},
    {"KiB", int64_t{1} << 10},
    {"TB", 1'000'000'000'000},
    {"GB", 1'000'000'000},
    {"MB", 1'000'000},
    {"kB", 1'000},
    {"B", 1},
};

}  // namespace

absl::string_view OrderName(ExecutionOrder order) {
  return order == ExecutionOrder::kOrt ? "ort" : "file";
}

absl::StatusOr<FitRequest> ParseFit(absl::string_view text) {
  FitRequest request;
  const size_t colon = text.find(':');
  absl::string_view number = text.substr(0, colon);
  if (colon != absl::string_view::npos) request.symbol = std::string(text.substr(colon + 1));
  int64_t unit = 1;
  for (const ByteUnit& u : kByteUnits) {
    if (!absl::EndsWithIgnoreCase(number, u.name)) continue;
    number.remove_suffix(u.name.size());
    unit = u.bytes;
    break;
  }
  int64_t count = 0;
  const bool is_number = !number.empty() && absl::ascii_isdigit(number[0]) &&
                         absl::SimpleAtoi(absl::StripAsciiWhitespace(number), &count);
  if (!is_number || (colon != absl::string_view::npos && request.symbol.empty())) {
    return absl::InvalidArgumentError(
        absl::StrCat("--fit ", Quoted(text), ": it should be bytes, as 80GiB, 24GB or 500000000, ",
                     "or bytes and a symbol, as 80GiB:seq"));
  }
  request.bytes = absl::int128(count) * unit;
  return request;
}

}  // namespace onnxflops
