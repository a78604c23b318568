#include "src/cost/amounts.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace onnxflops {
namespace {

constexpr int kTimeDecimals = 21;
constexpr int kMostDigits = 128;
constexpr absl::string_view kTimeFormula = "1e-21*(";

bool IsTime(const Quantity& q) { return q.unit == Quantity::Unit::kSeconds; }

// The number of decimals that "e-06" at the end of `text` stands for, which it takes off.
std::optional<int> TakeExponent(absl::string_view* text) {
  const size_t e = text->find_first_of("eE");
  if (e == absl::string_view::npos) return 0;
  int exponent = 0;
  constexpr int kMost = 99;
  if (!absl::SimpleAtoi(text->substr(e + 1), &exponent)) return std::nullopt;
  if (exponent < -kMost || exponent > kMost) return std::nullopt;
  *text = text->substr(0, e);
  return -exponent;
}

}  // namespace

void Amounts::Add(const Amounts& other, const Expr& times) {
  const bool once = times == Expr(1);
  for (const Quantity& q : kQuantities) {
    const Expr& amount = other.*q.value;
    if (!amount.is_zero()) this->*q.value += once ? amount : amount * times;
  }
}

bool Amounts::IsZero() const {
  return std::all_of(std::begin(kQuantities), std::end(kQuantities),
                     [&](const Quantity& q) { return (this->*q.value).is_zero(); });
}

const char* Amounts::error() const {
  for (const Quantity& q : kQuantities) {
    if (q.needs == Quantity::Needs::kTypes) continue;
    if (const char* error = (this->*q.value).error()) return error;
  }
  return nullptr;
}

Expr Quantity::In(const Amounts& amounts, bool exact_backward) const {
  if (!is_derived()) return amounts.*value;
  const Sum& sum = exact_backward ? exact : by_rule;
  const auto term = [&](const Term& t) {
    return t.times == 1 ? amounts.*t.of : amounts.*t.of * t.times;
  };
  return sum.second.of == nullptr ? term(sum.first) : term(sum.first) + term(sum.second);
}

absl::Span<const Quantity* const> AllQuantities() {
  static constexpr auto kAll = [] {
    constexpr size_t kExactForms =
        std::count_if(std::begin(kQuantities), std::end(kQuantities),
                      [](const Quantity& q) { return q.is_exact_form(); });
    std::array<const Quantity*, kNumQuantities - kExactForms + std::size(kDerivedQuantities)> all =
        {};
    size_t i = 0;
    for (const Quantity& q : kQuantities) {
      if (!q.is_exact_form()) all[i++] = &q;
    }
    for (const Quantity* q : kDerivedQuantities) all[i++] = q;
    return all;
  }();
  return kAll;
}

const Quantity* FindQuantity(absl::string_view key) {
  const absl::Span<const Quantity* const> all = AllQuantities();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Quantity* q) { return q->key == key; });
  return found == all.end() ? nullptr : *found;
}

const char* UnitOf(const Quantity& quantity) {
  switch (quantity.unit) {
    case Quantity::Unit::kFlops:
      return "FLOP";
    case Quantity::Unit::kMacs:
      return "MAC";
    case Quantity::Unit::kOps:
      return quantity.value == &Amounts::bops ? "BOP" : "op";
    case Quantity::Unit::kElements:
      return "";
    case Quantity::Unit::kBytes:
      return "B";
    case Quantity::Unit::kSeconds:
      return "s";
  }
  return "";
}

std::string ExactText(const Quantity& quantity, absl::int128 amount) {
  if (!IsTime(quantity) || amount == 0) return Int128ToString(amount);
  std::string digits = Int128ToString(amount);
  const bool negative = digits[0] == '-';
  if (negative) digits.erase(0, 1);
  if (digits.size() <= kTimeDecimals) digits.insert(0, kTimeDecimals + 1 - digits.size(), '0');
  digits.insert(digits.size() - kTimeDecimals, 1, '.');
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return absl::StrCat(negative ? "-" : "", digits);
}

std::optional<absl::int128> ParseExactText(const Quantity& quantity, absl::string_view text) {
  absl::int128 amount = 0;
  if (!IsTime(quantity)) {
    return absl::SimpleAtoi(text, &amount) ? std::optional(amount) : std::nullopt;
  }
  if (text.size() > kMostDigits) return std::nullopt;
  const std::optional<int> shift = TakeExponent(&text);
  if (!shift) return std::nullopt;
  const size_t point = std::min(text.find('.'), text.size());
  const absl::string_view after = text.substr(std::min(point + 1, text.size()));
  int decimals = *shift + static_cast<int>(after.size());
  std::string digits = absl::StrCat(text.substr(0, point), after);
  for (; decimals > 0 && digits.size() > 1 && digits.back() == '0'; --decimals) digits.pop_back();
  const int zeros = kTimeDecimals - decimals;
  if (!absl::SimpleAtoi(digits, &amount)) return std::nullopt;
  if (amount == 0) return amount;
  if (zeros < 0 || zeros > kMostDigits) return std::nullopt;
  digits.append(static_cast<size_t>(zeros), '0');
  return absl::SimpleAtoi(digits, &amount) ? std::optional(amount) : std::nullopt;
}

std::string FormulaTextOf(const Quantity& quantity, const Expr& amount) {
  if (!IsTime(quantity)) return amount.ToString();
  return absl::StrCat(kTimeFormula, amount.ToString(), ")");
}

std::optional<absl::string_view> FormulaIn(const Quantity& quantity, absl::string_view text) {
  if (!IsTime(quantity)) return text;
  const bool is_time = absl::ConsumePrefix(&text, kTimeFormula) && absl::ConsumeSuffix(&text, ")");
  return is_time ? std::optional(text) : std::nullopt;
}

std::string FieldText(const Quantity& quantity, const Expr& amount) {
  const bool exact = amount.is_literal() && amount.error() == nullptr;
  return exact ? ExactText(quantity, amount.literal()) : FormulaTextOf(quantity, amount);
}

bool operator==(const Amounts& a, const Amounts& b) {
  return std::all_of(std::begin(kQuantities), std::end(kQuantities),
                     [&](const Quantity& q) { return a.*q.value == b.*q.value; });
}

}  // namespace onnxflops
