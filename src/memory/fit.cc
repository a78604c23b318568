#include "src/memory/fit.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"

namespace onnxflops {
namespace {

// Above any size that fits into a machine.
constexpr int64_t kLargestSize = int64_t{1} << 48;

bool FitsAt(const Expr& sum, absl::int128 bytes, const std::string& symbol, int64_t size) {
  const absl::StatusOr<absl::int128> value = sum.Evaluate({{symbol, size}});
  return value.ok() && *value <= bytes;  // an overflow does not fit
}

// `sum` grows by `step` with each unit.
std::optional<int64_t> SolveLinear(absl::int128 at_one, absl::int128 step, absl::int128 bytes) {
  if (at_one > bytes) return 0;
  if (step <= 0) return std::nullopt;
  const absl::int128 largest = 1 + (bytes - at_one) / step;
  return static_cast<int64_t>(std::min(largest, absl::int128(kLargestSize)));
}

std::optional<int64_t> Search(const Expr& sum, absl::int128 bytes, const std::string& symbol) {
  int64_t fits = 0, above = 1;
  while (above < kLargestSize && FitsAt(sum, bytes, symbol, above)) {
    fits = above;
    above *= 2;
  }
  if (above >= kLargestSize) return std::nullopt;
  while (above - fits > 1) {
    const int64_t middle = fits + (above - fits) / 2;
    (FitsAt(sum, bytes, symbol, middle) ? fits : above) = middle;
  }
  return fits;
}

absl::StatusOr<std::optional<int64_t>> LargestOf(const Expr& sum, absl::int128 bytes,
                                                 const std::string& symbol) {
  ASSIGN_OR_RETURN(const absl::int128 at_one, sum.Evaluate({{symbol, 1}}));
  const Expr unit = Expr::Symbol(symbol, 1);
  const Expr step = sum.Replace({{symbol, unit + 1}}) - sum;
  if (step.is_literal()) return SolveLinear(at_one, step.literal(), bytes);
  if (!step.AtLeast(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Setting("fit"), ": the memory is not known to grow with ", Escaped(symbol),
                     ": ", Escaped(sum.Shortened(100))));
  }
  return Search(sum, bytes, symbol);
}

}  // namespace

absl::StatusOr<std::optional<int64_t>> LargestThatFits(absl::Span<const Expr> sums,
                                                       absl::int128 bytes,
                                                       const std::string& symbol) {
  std::optional<int64_t> largest;
  for (const Expr& sum : sums) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> one, LargestOf(sum, bytes, symbol));
    if (one) largest = largest ? std::min(*largest, *one) : *one;
  }
  return largest;
}

}  // namespace onnxflops
