// Limits as people write them: "395 GFLOP", "400 MB", "+2%", "12.5 M".
#ifndef ONNXFLOPS_SRC_CHECK_LIMIT_TEXT_H_
#define ONNXFLOPS_SRC_CHECK_LIMIT_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/check/budgets.h"
#include "src/cost/amounts.h"

namespace onnxflops::check {

// Parses a limit on a quantity, or with `ratio` on its share of another quantity. Sets `text`.
// Errors: InvalidArgument with the fault and an example.
absl::StatusOr<BudgetLimit> ParseLimitText(absl::string_view text, const Quantity& quantity,
                                           bool ratio);

// The shortest such text that is at least `value`, with about four digits: "399.2 GFLOP".
std::string LimitTextFor(absl::int128 value, const Quantity& quantity);

}  // namespace onnxflops::check

#endif  // ONNXFLOPS_SRC_CHECK_LIMIT_TEXT_H_
