// Adds up many expressions one by one.
//
//   ExprSum sum;
//   for (const Node& node : nodes) sum.Add(node.flops);
//   sum.Total()
//
// An addition copies its left side, so += over n different symbols takes n^2 steps; this takes n
// log n.
#ifndef ONNXFLOPS_SRC_SYMBOLIC_EXPR_SUM_H_
#define ONNXFLOPS_SRC_SYMBOLIC_EXPR_SUM_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "src/symbolic/expr.h"

namespace onnxflops {

class ExprSum {
 public:
  void Add(Expr term) {
    if (term.is_literal()) {
      literals_ += term;
      return;
    }
    // Like a binary counter: partial_[k], if bit k of count_ is set, is the sum of 2^k terms.
    size_t k = 0;
    for (; (count_ >> k) % 2 == 1; ++k) term = std::exchange(partial_[k], Expr()) + term;
    if (k == partial_.size()) partial_.emplace_back();
    partial_[k] = std::move(term);
    ++count_;
  }

  Expr Total() const {
    Expr sum = literals_;
    for (const Expr& e : partial_) sum += e;
    return sum;
  }

  // Terms with symbols so far. The total of a single term is that term itself, without an addition.
  size_t open_terms() const { return count_; }

 private:
  Expr literals_;
  std::vector<Expr> partial_;
  size_t count_ = 0;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_EXPR_SUM_H_
