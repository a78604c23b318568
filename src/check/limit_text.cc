// How it works. A limit never becomes a floating-point number. Its digits and its decimals are read
// into a 128-bit integer, the unit gives a factor, and the product must be whole: "1.2345 k" has
// more digits than there are, and is an error and not rounded. A percentage is a fraction, value /
// whole, with a whole of at least 10^6 parts, so that a verdict multiplies and never divides. The
// form decides the kind: with a sign and "%" it is growth from a base, with "%" alone a ratio, and
// without "%" an amount. LimitTextFor goes the other way and rounds up, so that the figure that it
// was made from stays within the limit.
#include "src/check/limit_text.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/base/digit_groups.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/symbolic/expr.h"

namespace onnxflops::check {
namespace {

constexpr int kMaxDigits = 24;
constexpr absl::int128 kOne = 1'000'000;  // least parts of a whole

struct Decimal {
  absl::int128 digits = 0;  // without the point
  int decimals = 0;         // of them after the point
};

absl::Status Wrong(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), ": ", why));
}

// Takes an exponent, as of 4.1e9. "4 E" and "4EFLOP" have none.
absl::StatusOr<Decimal> WithExponent(absl::string_view text, Decimal number,
                                     absl::string_view* rest) {
  absl::string_view digits = *rest;
  if (!absl::ConsumePrefix(&digits, "e") && !absl::ConsumePrefix(&digits, "E")) return number;
  absl::ConsumePrefix(&digits, "+");
  const size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  if (end == 0) return number;
  int exponent = 0;
  if (!absl::SimpleAtoi(digits.substr(0, end), &exponent) || exponent > kMaxDigits) {
    return Wrong(text, "it is too large");
  }
  number.decimals -= exponent;
  for (; number.decimals < 0; ++number.decimals) {
    if (number.digits > absl::Int128Max() / kOne / 10) return Wrong(text, "it is too large");
    number.digits *= 10;
  }
  rest->remove_prefix(rest->size() - digits.size() + end);
  return number;
}

// Takes the number at the beginning of `rest`; commas may group digits.
absl::StatusOr<Decimal> TakeDecimal(absl::string_view text, absl::string_view* rest) {
  Decimal number;
  int digits = 0;
  bool point = false;
  const absl::string_view whole = rest->substr(0, rest->find_first_not_of("0123456789,"));
  if (!AreDigitGroups(whole)) {
    return Wrong(text,
                 "commas should only separate groups of three digits; decimals come after a point");
  }
  for (; !rest->empty(); rest->remove_prefix(1)) {
    const char c = (*rest)[0];
    if (c == '.' && !point) {
      point = true;
    } else if (absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      if (++digits > kMaxDigits) return Wrong(text, "it has too many digits");
      number.digits = number.digits * 10 + (c - '0');
      number.decimals += point ? 1 : 0;
    } else if (c != ',' || point) {
      break;
    }
  }
  if (digits == 0) return Wrong(text, "it should begin with a number");
  return WithExponent(text, number, rest);
}

// The number times `factor`, which has to be whole.
absl::StatusOr<absl::int128> Times(absl::string_view text, const Decimal& number,
                                   absl::int128 factor) {
  if (number.digits > absl::Int128Max() / kOne / factor) return Wrong(text, "it is too large");
  absl::int128 unit = 1;
  for (int i = 0; i < number.decimals; ++i) unit *= 10;
  if (number.digits * factor % unit != 0)
    return Wrong(text, "it should be a whole number: with fewer decimals");
  return number.digits * factor / unit;
}

std::string ExampleFor(const Quantity& quantity, bool ratio) {
  if (ratio) return "a ratio is a percentage, as \"5%\"";
  const bool time = quantity.unit == Quantity::Unit::kSeconds;
  const std::string amount = time ? "12.5 ms" : absl::StrCat("12.5 G", UnitOf(quantity));
  return absl::StrCat("it should be an amount, as \"", amount,
                      "\", or what the base may grow by, as \"+2%\"");
}

struct Prefix {
  absl::string_view text;
  absl::int128 factor;
};
constexpr int64_t kThousand = 1000, kKibi = 1024;
const std::vector<Prefix>& Prefixes() {
  static const auto& prefixes = *new std::vector<Prefix>([] {
    std::vector<Prefix> list;
    absl::int128 factor = 1, binary = 1;
    for (const char* name : {"", "k", "M", "G", "T", "P", "E"}) {
      list.push_back({name, factor});
      factor *= kThousand;
    }
    for (const char* name : {"Ki", "Mi", "Gi", "Ti", "Pi"}) {
      binary *= kKibi;
      list.push_back({name, binary});
    }
    return list;
  }());
  return prefixes;
}

// Each unit is a thousand times the one before.
constexpr absl::string_view kTimes[] = {"zs", "as", "fs", "ps", "ns", "us", "ms", "s"};

absl::int128 FactorOfTime(absl::string_view unit) {
  absl::int128 factor = 1;
  for (absl::string_view name : kTimes) {
    if (unit == name) return factor;
    factor *= kThousand;
  }
  return 0;
}

// "GFLOPs" -> 10^9, or 0 if the quantity has no such unit.
absl::int128 FactorOf(absl::string_view unit, const Quantity& quantity) {
  if (quantity.unit == Quantity::Unit::kSeconds) return FactorOfTime(unit);
  const bool bytes = quantity.unit == Quantity::Unit::kBytes;
  for (const Prefix& prefix : Prefixes()) {
    absl::string_view rest = unit;
    if (!absl::ConsumePrefix(&rest, prefix.text)) continue;
    if (absl::EndsWith(prefix.text, "i") && !bytes) continue;
    const std::string own = UnitOf(quantity);
    if (own == "BOP" && (rest == "op" || rest == "ops")) return prefix.factor;  // as 1.0.0 wrote it
    if (rest.empty() || rest == own || (!bytes && !own.empty() && rest == own + "s")) {
      return prefix.factor;
    }
  }
  return 0;
}

// Why MACs are no unit of FLOPs, nor FLOPs of MACs; "" for any other unit.
std::string OtherUnit(absl::string_view text, const Decimal& number, absl::string_view unit,
                      const Quantity& quantity) {
  const bool of_flops = quantity.unit == Quantity::Unit::kFlops;
  if (!of_flops && quantity.unit != Quantity::Unit::kMacs) return "";
  const Quantity& other = of_flops ? QuantityOf(&Amounts::macs) : QuantityOf(&Amounts::flops);
  const absl::int128 factor = FactorOf(unit, other);
  if (factor == 0) return "";
  const absl::StatusOr<absl::int128> value = Times(text, number, factor);
  if (!value.ok()) return "";
  const std::string own = LimitTextFor(of_flops ? *value * 2 : (*value + 1) / 2, quantity);
  return absl::StrCat(quantity.key, " are counted in ", UnitOf(quantity), ": write \"", own,
                      "\" (1 MAC is 2 FLOPs), or limit ", other.key);
}

}  // namespace

absl::StatusOr<BudgetLimit> ParseLimitText(absl::string_view text, const Quantity& quantity,
                                           bool ratio) {
  BudgetLimit limit;
  limit.text = std::string(text);
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  const bool plus = absl::ConsumePrefix(&rest, "+");
  const bool minus = !plus && absl::ConsumePrefix(&rest, "-");
  absl::StatusOr<Decimal> number = TakeDecimal(text, &rest);
  if (!number.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(number.status().message(), "; ", ExampleFor(quantity, ratio)));
  }
  rest = absl::StripAsciiWhitespace(rest);
  const bool percent = rest == "%";
  const bool has_sign = plus || minus;
  if (ratio ? !percent || has_sign : percent != has_sign) {
    return Wrong(text, ExampleFor(quantity, ratio));
  }
  if (percent) {
    limit.kind = ratio ? BudgetLimit::Kind::kRatio : BudgetLimit::Kind::kRelative;
    constexpr int kMostDecimals = 12;
    if (number->decimals > kMostDecimals) return Wrong(text, "it has more than 12 decimals");
    absl::int128 parts = 100;
    for (int i = 0; i < number->decimals; ++i) parts *= 10;
    limit.whole = std::max(kOne, parts);
    ASSIGN_OR_RETURN(limit.value, Times(text, *number, limit.whole / 100));
    if (minus && limit.value > limit.whole) return Wrong(text, "nothing shrinks by more than 100%");
    if (minus) limit.value = -limit.value;
    return limit;
  }
  const absl::int128 factor = FactorOf(rest, quantity);
  if (factor == 0) {
    const std::string other = OtherUnit(text, *number, rest, quantity);
    return Wrong(text, other.empty() ? ExampleFor(quantity, ratio) : other);
  }
  ASSIGN_OR_RETURN(limit.value, Times(text, *number, factor));
  return limit;
}

std::string LimitTextFor(absl::int128 value, const Quantity& quantity) {
  constexpr absl::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  const bool time = quantity.unit == Quantity::Unit::kSeconds;
  const size_t prefixes = time ? std::size(kTimes) : std::size(kPrefixes);
  size_t prefix = 0;
  absl::int128 unit = 1;
  while (prefix + 1 < prefixes && value >= unit * 1000) {
    unit *= 1000;
    ++prefix;
  }
  // Four digits, rounded up.
  absl::int128 step = std::max<absl::int128>(unit / 1000, 1);
  while (value / step >= 10'000) step *= 10;
  const absl::int128 rounded = (value + step - 1) / step * step;
  std::string text = Int128ToString(rounded / unit);
  std::string decimals = Int128ToString(unit + rounded % unit).substr(1);
  decimals.erase(decimals.find_last_not_of('0') + 1);
  if (time) {
    return absl::StrCat(text, decimals.empty() ? "" : ".", decimals, " ", kTimes[prefix]);
  }
  const absl::string_view name = UnitOf(quantity);
  const bool gap = prefix > 0 || !name.empty();
  return absl::StrCat(text, decimals.empty() ? "" : ".", decimals, gap ? " " : "",
                      kPrefixes[prefix], name);
}

}  // namespace onnxflops::check
