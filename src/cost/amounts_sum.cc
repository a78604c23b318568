#include "src/cost/amounts_sum.h"

#include <cstddef>

namespace onnxflops {

void AmountsSum::Add(const Amounts& amounts, const Expr& times) {
  const bool once = times == Expr(1);
  for (size_t q = 0; q < kNumQuantities; ++q) {
    const Expr& amount = amounts.*kQuantities[q].value;
    if (amount.is_zero()) continue;
    if (sums_ == nullptr) sums_ = std::make_unique<std::array<ExprSum, kNumQuantities>>();
    (*sums_)[q].Add(once ? amount : amount * times);
  }
}

Amounts AmountsSum::Total() const {
  Amounts total;
  if (sums_ == nullptr) return total;
  for (size_t q = 0; q < kNumQuantities; ++q) total.*kQuantities[q].value = (*sums_)[q].Total();
  return total;
}

int64_t AmountsSum::TermsMade(const Amounts& total) const {
  int64_t terms = 0;
  if (sums_ == nullptr) return terms;
  for (size_t q = 0; q < kNumQuantities; ++q) {
    if ((*sums_)[q].open_terms() > 1) terms += (total.*kQuantities[q].value).NumTerms();
  }
  return terms;
}

}  // namespace onnxflops
