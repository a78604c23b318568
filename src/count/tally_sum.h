// Many tallies added up one by one.
#ifndef ONNXFLOPS_SRC_COUNT_TALLY_SUM_H_
#define ONNXFLOPS_SRC_COUNT_TALLY_SUM_H_

#include <array>
#include <utility>

#include "absl/container/btree_map.h"
#include "src/cost/amounts_sum.h"
#include "src/cost/cost.h"
#include "src/count/count_model.h"
#include "src/symbolic/expr_sum.h"

namespace onnxflops {

// The same sum as Tally::Add, but without its n^2 steps: see ExprSum.
class TallySum {
 public:
  void Add(const Tally& tally, const Expr& times) {
    const bool once = times == Expr(1);
    const auto add = [&](ExprSum* to, const Expr& amount) {
      to->Add(once ? amount : amount * times);
    };
    tally.flops.ForEach(
        [&](Kind kind, const Expr& amount) { add(&flops_[static_cast<size_t>(kind)], amount); });
    tally.int_ops.ForEach(
        [&](Kind kind, const Expr& amount) { add(&int_ops_[static_cast<size_t>(kind)], amount); });
    amounts_.Add(tally.amounts, times);
    for (const auto& [types, amount] : tally.macs_by_dtype) add(&macs_by_dtype_[types], amount);
    lower_bound_ = lower_bound_ || tally.lower_bound;
  }

  Tally Total() const {
    Tally total;
    const auto set = [](Census* census, int kind, const ExprSum& sum) {
      if (Expr amount = sum.Total(); amount != Expr(0)) {
        (*census)[static_cast<Kind>(kind)] = std::move(amount);
      }
    };
    for (int i = 0; i < kNumKinds; ++i) {
      set(&total.flops, i, flops_[static_cast<size_t>(i)]);
      set(&total.int_ops, i, int_ops_[static_cast<size_t>(i)]);
    }
    total.amounts = amounts_.Total();
    for (const auto& [types, sum] : macs_by_dtype_) total.macs_by_dtype[types] = sum.Total();
    total.lower_bound = lower_bound_;
    return total;
  }

 private:
  std::array<ExprSum, kNumKinds> flops_, int_ops_;
  AmountsSum amounts_;
  absl::btree_map<MacOperands, ExprSum> macs_by_dtype_;
  bool lower_bound_ = false;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_COUNT_TALLY_SUM_H_
