// Marks uncertain figures: the one place where uncertainty becomes text. All text writers use it;
// src/render/html/parts.js has the same for pages.
//
//   const Known known = KnownOf(q, totals.*q.value, totals.lower_bound);
//   KnownText(known, SiNumber(1234))   // "1.234 k", "1.234 k*", ">= 1.234 k", "unknown"
#ifndef ONNXFLOPS_SRC_RENDER_KNOWN_H_
#define ONNXFLOPS_SRC_RENDER_KNOWN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "src/convention/convention_info.h"
#include "src/cost/amounts.h"
#include "src/symbolic/expr.h"

namespace onnxflops::report {

enum class Known : uint8_t {
  kExact,
  kAssumed,  // rests on a guess
  kAtLeast,  // a part is not counted
  kAtMost,   // a change from a base that is not fully counted
  kCounted,  // a change between two figures that are not fully counted
  kNothing,
};

// True if it is a figure: "at least 0" tells nothing about an amount of work.
inline bool HasFigure(const Expr& amount, bool lower_bound) {
  return !lower_bound || amount != Expr(0);
}
// The same of any quantity: weights are known in any case.
inline bool HasFigure(const Quantity& q, const Expr& amount, bool lower_bound) {
  return HasFigure(amount, lower_bound && q.of == Quantity::Of::kWork);
}

// For a figure that is not fully counted. If nothing of it is counted it is unknown, because "at
// least 0" tells nothing.
Known LowerBound(const Expr& amount);
// For a figure that is a guess, and may be too high or too low; otherwise as above.
Known GuessOrBound(const Expr& amount, bool guessed, bool lower_bound);
// The same of a quantity of a model, a module, an operator or a node. Weights are known in any
// case.
Known KnownOf(const Quantity& q, const Expr& amount, bool lower_bound);
// For another tool's figure.
Known KnownOf(convention::Standing standing);
// For head - base. A bound is dropped if it only states that amounts are not negative ("at least
// less"). `change` is the change of the counted parts, if it has a value.
Known KnownOfChange(Known base, Known head, std::optional<absl::int128> change);
// For head / base, or if it is unknown which is larger.
Known KnownOfChange(Known base, Known head);

// "1.234 k"; "1.234 k*"; ">= 1.234 k"; "<= 1.234 k"; "1.234 k counted"; "unknown".
std::string KnownText(Known known, absl::string_view text);
// The number in a text of KnownText, if the rest only says that it is a bound.
absl::string_view WithoutBound(absl::string_view text);
// A field for programs: empty if the figure is unknown. Another field gives the standing.
std::string KnownField(Known known, absl::string_view text);

// "at least 98.31 k FLOPs, at most 1.234 M"; an empty `high` means no upper bound.
std::string RangeText(absl::string_view low, absl::string_view title, absl::string_view high);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_RENDER_KNOWN_H_
