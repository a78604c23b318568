// Many amounts added up one by one.
#ifndef ONNXFLOPS_SRC_COST_AMOUNTS_SUM_H_
#define ONNXFLOPS_SRC_COST_AMOUNTS_SUM_H_

#include <array>
#include <cstdint>
#include <memory>

#include "src/cost/amounts.h"
#include "src/symbolic/expr_sum.h"

namespace onnxflops {

// The same sum as Amounts::Add, but without its n^2 steps: see ExprSum.
class AmountsSum {
 public:
  void Add(const Amounts& amounts, const Expr& times = 1);
  Amounts Total() const;
  // Terms of the sums in `total`, the Total(), that additions have made.
  int64_t TermsMade(const Amounts& total) const;

 private:
  std::unique_ptr<std::array<ExprSum, kNumQuantities>> sums_;  // nullptr: all are 0
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_COST_AMOUNTS_SUM_H_
