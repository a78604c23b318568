// Bytes as people write them.
//
//   ParseBytes("32MiB")   // 33554432; also "24GB", "500000"
#ifndef ONNXFLOPS_SRC_BASE_BYTE_TEXT_H_
#define ONNXFLOPS_SRC_BASE_BYTE_TEXT_H_

#include <cstdint>
#include <optional>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

struct ByteUnit {
  absl::string_view name;
  int64_t bytes;
};
inline constexpr ByteUnit kByteUnits[] = {
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

// nullopt for anything else.
inline std::optional<absl::int128> ParseBytes(absl::string_view text) {
  int64_t unit = 1;
  for (const ByteUnit& u : kByteUnits) {
    if (!absl::EndsWithIgnoreCase(text, u.name)) continue;
    text.remove_suffix(u.name.size());
    unit = u.bytes;
    break;
  }
  int64_t count = 0;
  const bool is_number = !text.empty() &&
                         absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
                         absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &count);
  if (!is_number) return std::nullopt;
  return absl::int128(count) * unit;
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_BYTE_TEXT_H_
