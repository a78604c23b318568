#include "src/cost/amounts.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace onnxflops {

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
    std::array<const Quantity*, kNumQuantities + std::size(kDerivedQuantities)> all = {};
    size_t i = 0;
    for (const Quantity& q : kQuantities) all[i++] = &q;
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

bool operator==(const Amounts& a, const Amounts& b) {
  return std::all_of(std::begin(kQuantities), std::end(kQuantities),
                     [&](const Quantity& q) { return a.*q.value == b.*q.value; });
}

}  // namespace onnxflops
