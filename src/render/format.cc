// How it works. Figures for people have four significant digits and a prefix. All arithmetic is on
// 128-bit integers with half-up rounding, since floats would lose digits of exact counts; a number
// is rounded before its prefix is chosen, because 999,950 becomes 1.000 M. Formulas are shown by
// rewriting the text of the expression: terms are found outside of parentheses and quotes, and only
// their coefficients are replaced. Widths are counted in characters of UTF-8, and texts are cut
// only between characters.
#include "src/render/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "fmt/format.h"
#include "src/base/utf8.h"

namespace onnxflops::report {
namespace {

constexpr absl::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
constexpr int kSignificantDigits = 4;

absl::int128 PowerOfTen(int exponent) {
  absl::int128 result = 1;
  for (; exponent > 0; --exponent) result *= 10;
  return result;
}

// value / divisor, rounded half up. REQUIRES: value >= 0.
absl::int128 DivideRounded(absl::int128 value, absl::int128 divisor) {
  const absl::int128 quotient = value / divisor;
  return value - quotient * divisor >= divisor - divisor / 2 ? quotient + 1 : quotient;
}

// The number of decimals that makes four significant digits.
int DecimalsOf(double value) {
  int decimals = kSignificantDigits - 1;
  for (double limit = 9.9995; decimals > 0 && value >= limit; limit *= 10) --decimals;
  return decimals;
}

// The terms of a printed polynomial, from begin to end: divided at " + " and " - " outside of
// parentheses and of names in quotes.
std::vector<std::pair<size_t, size_t>> Terms(absl::string_view text) {
  std::vector<std::pair<size_t, size_t>> terms;
  int depth = 0;
  size_t begin = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') quoted = !quoted;
    if (quoted) {
      i += text[i] == '\\' ? 1 : 0;
      continue;
    }
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    const absl::string_view rest = text.substr(i);
    if (depth == 0 && (absl::StartsWith(rest, " + ") || absl::StartsWith(rest, " - "))) {
      terms.emplace_back(begin, i);
      begin = i + 3;
    }
  }
  terms.emplace_back(begin, text.size());
  return terms;
}

std::optional<absl::int128> ParseDigits(absl::string_view digits) {
  absl::int128 value = 0;
  const bool whole = digits.find_first_not_of("0123456789") == digits.npos;
  if (!whole || !absl::SimpleAtoi(digits, &value)) return std::nullopt;
  return value;
}

}  // namespace

std::string SiNumber(absl::int128 value) {
  if (value < 0) {
    return absl::StrCat(
        "-", value == absl::Int128Min() ? Int128ToString(absl::Int128Max()) : SiNumber(-value));
  }
  int digits = static_cast<int>(Int128ToString(value).size());
  if (digits <= 3) return Int128ToString(value);
  // Rounding may give one digit more: 999,950 is 1.000 M.
  if (digits > kSignificantDigits) {
    const absl::int128 unit = PowerOfTen(digits - kSignificantDigits);
    value = DivideRounded(value, unit) * unit;
    digits = static_cast<int>(Int128ToString(value).size());
  }
  const int prefix = std::min((digits - 1) / 3, static_cast<int>(std::size(kPrefixes)) - 1);
  const int decimals = std::max(0, kSignificantDigits - (digits - 3 * prefix));
  const std::string all = Int128ToString(value / PowerOfTen(3 * prefix - decimals));
  const size_t whole = all.size() - static_cast<size_t>(decimals);
  return absl::StrCat(all.substr(0, whole), decimals > 0 ? "." : "", all.substr(whole), " ",
                      kPrefixes[prefix]);
}

std::string GroupedDigits(absl::int128 value) {
  std::string digits = Int128ToString(value);
  const int first = value < 0 ? 1 : 0;
  for (int i = static_cast<int>(digits.size()) - 3; i > first; i -= 3) {
    digits.insert(static_cast<size_t>(i), ",");
  }
  return digits;
}

std::string Percent(absl::int128 part, absl::int128 whole) {
  if (whole <= 0 || part < 0) return "-";
  if (part == 0) return "0.0";
  while (part > absl::Int128Max() / 1000) {
    part /= 2;
    whole /= 2;
  }
  if (whole == 0) return "-";  // a share of 0 is undefined
  const absl::int128 tenths = DivideRounded(part * 1000, whole);
  if (tenths == 0) return "<0.1";
  return absl::StrCat(Int128ToString(tenths / 10), ".", Int128ToString(tenths % 10));
}

std::string SharePercent(double share) {
  constexpr double kPercent = 100;
  constexpr double kMost = 1e6;    // a larger share is a mistake and need not be exact
  constexpr double kLeast = 5e-5;  // a smaller share would be shown as 0.00
  const bool usual = share == 0 || (share >= kLeast && share < kMost);
  return usual ? fmt::format("{:.2f}", kPercent * share) : fmt::format("{:.3g}", kPercent * share);
}

namespace {

// The polynomial with its coefficients as `show` writes numbers.
std::string WithCoefficients(const Expr& expr, std::string (*show)(absl::int128)) {
  if (expr.error() != nullptr) return expr.ToString();
  if (expr.is_literal()) return show(expr.literal());
  const std::string text = expr.ToString();
  std::string result;
  size_t done = 0;
  for (const auto& [begin, end] : Terms(text)) {
    const absl::string_view term = absl::string_view(text).substr(begin, end - begin);
    const absl::string_view coefficient = term.substr(0, term.find('*'));
    result.append(text, done, begin - done);
    // Only the first term has its sign with it.
    const absl::string_view digits = absl::StripPrefix(coefficient, "-");
    if (const auto value = ParseDigits(digits)) {
      absl::StrAppend(&result, digits.size() < coefficient.size() ? "-" : "", show(*value),
                      term.substr(coefficient.size()));
    } else {
      absl::StrAppend(&result, term);
    }
    done = end;
  }
  return result;
}

}  // namespace

std::string SiExpr(const Expr& expr) { return WithCoefficients(expr, SiNumber); }
std::string GroupedExpr(const Expr& expr) { return WithCoefficients(expr, GroupedDigits); }

std::string ShowExpr(const Expr& expr, bool exact) {
  return exact ? GroupedExpr(expr) : SiExpr(expr);
}

std::string WithByteUnit(std::string number) {
  const bool prefixed = !number.empty() && absl::ascii_isalpha(number.back());
  return absl::StrCat(number, prefixed ? "B" : " B");
}

std::string TimeText(absl::int128 amount, bool exact) {
  if (exact) return absl::StrCat(ExactText(QuantityOf(&Amounts::time_bound), amount), " s");
  constexpr std::pair<double, const char*> kUnits[] = {
      {1e21, "s"}, {1e18, "ms"}, {1e15, "us"}, {1e12, "ns"}, {1e9, "ps"}};
  const double value = std::abs(static_cast<double>(amount));
  const char* const sign = amount < 0 ? "-" : "";
  if (value == 0) return "0 s";
  for (const auto& [size, unit] : kUnits) {
    if (value < 0.99995 * size) continue;
    return fmt::format("{}{:.{}f} {}", sign, value / size, DecimalsOf(value / size), unit);
  }
  return absl::StrCat(sign, "<1 ps");
}

std::string AmountText(const Quantity& quantity, absl::int128 amount, bool exact) {
  if (quantity.unit == Quantity::Unit::kSeconds) return TimeText(amount, exact);
  std::string text = exact ? GroupedDigits(amount) : SiNumber(amount);
  return quantity.unit == Quantity::Unit::kBytes ? WithByteUnit(std::move(text)) : text;
}

std::string BytesText(const Expr& bytes) {
  return bytes.is_literal() ? WithByteUnit(SiExpr(bytes)) : absl::StrCat(SiExpr(bytes), " bytes");
}

bool IsPlainFloat(const MacOperands& operands) {
  return operands.a == operands.b && !operands.qdq && IsFloat(operands.a);
}

absl::string_view StatusName(Coverage status) {
  switch (status) {
    case Coverage::kCounted:
      return "counted";
    case Coverage::kFree:
      return "free";
    case Coverage::kUnknown:
      return "unknown";
  }
  return "";
}

absl::string_view OriginKindName(SymbolOrigin::Kind kind) {
  switch (kind) {
    case SymbolOrigin::Kind::kInput:
      return "input";
    case SymbolOrigin::Kind::kData:
      return "data";
    case SymbolOrigin::Kind::kSizes:
      return "sizes";
    case SymbolOrigin::Kind::kRepeats:
      return "repeats";
    case SymbolOrigin::Kind::kMachine:
      return "machine";
    case SymbolOrigin::Kind::kTrips:
      return "trips";
    case SymbolOrigin::Kind::kTripCount:
      return "trip_count";
  }
  return "";
}

int DisplayWidth(absl::string_view text) {
  int width = 0;
  for (char c : text) width += (static_cast<uint8_t>(c) & 0xc0) != 0x80 ? 1 : 0;
  return width;
}

std::string WithoutBeginning(absl::string_view text, int width) {
  const int all = DisplayWidth(text);
  if (all <= width) return std::string(text);
  const size_t indent = std::min(text.find_first_not_of(' '), text.size());
  const int left = width - static_cast<int>(indent) - 2;  // columns for the end of the text
  if (left <= 0) return std::string(static_cast<size_t>(width), '.');
  size_t begin = text.size();
  for (int used = 0; used < left; --begin) {
    if ((static_cast<uint8_t>(text[begin - 1]) & 0xc0) != 0x80) ++used;
  }
  return absl::StrCat(text.substr(0, indent), "..", text.substr(begin));
}

std::string WithoutEnd(absl::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  size_t end = 0;
  for (int used = 0; end < text.size(); ++end) {
    const bool starts = (static_cast<uint8_t>(text[end]) & 0xc0) != 0x80;
    if (starts && ++used > std::max(0, width - 2)) break;
  }
  return absl::StrCat(text.substr(0, end), "..");
}

std::string WithoutMiddle(absl::string_view text, int width, int beginning) {
  const size_t indent = std::min(text.find_first_not_of(' '), text.size());
  beginning += static_cast<int>(indent);
  const int left = width - beginning - 2;  // columns for the end of the text
  if (left <= 0) return WithoutEnd(text, width);
  std::string head = WithoutEnd(text, beginning + 2);
  const std::string tail = WithoutBeginning(text, left + 2 + static_cast<int>(indent));
  return absl::StrCat(head, absl::string_view(tail).substr(indent + 2));
}

std::string TensorText(absl::string_view type, const Shape& shape) {
  return shape.ranked() ? absl::StrCat(type, shape.ToString()) : std::string(type);
}

}  // namespace onnxflops::report

namespace onnxflops {

std::string Plural(int64_t count, absl::string_view noun) {
  return absl::StrCat(report::GroupedDigits(count), " ", noun, count == 1 ? "" : "s");
}

std::string OpLabel(absl::string_view domain, absl::string_view op) {
  return domain.empty() ? std::string(op) : absl::StrCat(domain, ".", op);
}

}  // namespace onnxflops
