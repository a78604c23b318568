#include "src/cost/amounts.h"

#include <algorithm>
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

bool operator==(const Amounts& a, const Amounts& b) {
  return std::all_of(std::begin(kQuantities), std::end(kQuantities),
                     [&](const Quantity& q) { return a.*q.value == b.*q.value; });
}

}  // namespace onnxflops
