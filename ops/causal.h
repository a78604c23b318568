// Pairs of a query and a key under a causal mask.
#ifndef ONNXFLOPS_OPS_CAUSAL_H_
#define ONNXFLOPS_OPS_CAUSAL_H_

#include "src/symbolic/expr.h"

namespace onnxflops {

// Twice the pairs that a causal mask lets through: query i, from 0, meets the first offset + i + 1
// of the keys. Twice, so that whoever takes the half of a product takes it exactly, and most often
// without a floor. `offset` is what comes before the queries; below 0, the first ones meet nothing.
inline Expr TwiceCausalPairs(const Expr& queries, const Expr& keys, const Expr& offset) {
  const bool before = ProvablyLess(offset, 0).value_or(false);
  const Expr first = before ? Expr(0) : offset;
  const Expr meeting = before ? Max(queries + offset, 0) : queries;
  const Expr growing = Min(meeting, keys - first);  // until a query meets all keys
  return growing * (2 * first + growing + 1) + 2 * (meeting - growing) * keys;
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_CAUSAL_H_
