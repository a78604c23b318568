// How much work a product of expressions is, before it is made.
#ifndef ONNXFLOPS_SRC_SYMBOLIC_TERM_COUNT_H_
#define ONNXFLOPS_SRC_SYMBOLIC_TERM_COUNT_H_

#include <algorithm>
#include <cstdint>

#include "src/symbolic/expr.h"

namespace onnxflops {

// The most terms that a * b can have; 0 of two literals.
inline int64_t TermsOfProduct(const Expr& a, const Expr& b) {
  if (a.is_literal() && b.is_literal()) return 0;
  return std::max<int64_t>(a.NumTerms(), 1) * std::max<int64_t>(b.NumTerms(), 1);
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_TERM_COUNT_H_
