#include "src/render/known.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace onnxflops::report {

Known LowerBound(const Expr& amount) {
  return amount == Expr(0) ? Known::kNothing : Known::kAtLeast;
}

Known GuessOrBound(const Expr& amount, bool guessed, bool lower_bound) {
  if (guessed) return Known::kAssumed;
  return lower_bound ? LowerBound(amount) : Known::kExact;
}

Known KnownOf(const Quantity& q, const Expr& amount, bool lower_bound) {
  return lower_bound && q.of == Quantity::Of::kWork ? LowerBound(amount) : Known::kExact;
}

Known KnownOf(convention::Standing standing) {
  switch (standing) {
    case convention::Standing::kExact:
      return Known::kExact;
    case convention::Standing::kAssumed:
      return Known::kAssumed;
    case convention::Standing::kNotApplicable:
      break;
  }
  return Known::kNothing;
}

Known KnownOfChange(Known base, Known head) {
  if (base == Known::kNothing || head == Known::kNothing) return Known::kNothing;
  if (base == Known::kExact) return head;
  return head == Known::kExact ? Known::kAtMost : Known::kCounted;
}

Known KnownOfChange(Known base, Known head, std::optional<absl::int128> change) {
  const Known known = KnownOfChange(base, head);
  if (known == Known::kAtLeast && change && *change <= 0) return Known::kNothing;
  if (known == Known::kAtMost && change && *change >= 0) return Known::kNothing;
  return known;
}

std::string KnownText(Known known, absl::string_view text) {
  switch (known) {
    case Known::kExact:
      break;
    case Known::kAssumed:
      return absl::StrCat(text, "*");
    case Known::kAtLeast:
      return absl::StrCat(">= ", text);
    case Known::kAtMost:
      return absl::StrCat("<= ", text);
    case Known::kCounted:
      return absl::StrCat(text, " counted");
    case Known::kNothing:
      return "unknown";
  }
  return std::string(text);
}

absl::string_view WithoutBound(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, ">= ")) absl::ConsumePrefix(&text, "<= ");
  absl::ConsumeSuffix(&text, " counted");
  return text;
}

std::string KnownField(Known known, absl::string_view text) {
  return known == Known::kNothing ? "" : std::string(text);
}

std::string RangeText(absl::string_view low, absl::string_view title, absl::string_view high) {
  return absl::StrCat(
      "at least ", low, " ", title,
      high.empty() ? ", no upper bound is known" : absl::StrCat(", at most ", high));
}

}  // namespace onnxflops::report
