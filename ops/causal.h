// Pairs of a query and a key under a causal mask.
#ifndef ONNXFLOPS_OPS_CAUSAL_H_
#define ONNXFLOPS_OPS_CAUSAL_H_

#include "src/symbolic/expr.h"

namespace onnxflops {

// Twice the pairs that a causal mask lets through: query i, from 0, meets the first offset + i + 1
// of the keys. Twice, so that whoever takes the half of a product takes it exactly, and most often
// without a floor. `offset` is what comes before the queries; below 0, the first ones meet nothing.
inline Expr TwiceCausalPairs(const Expr& queries, const Expr& keys, const Expr& offset) {
  const Expr first = Max(offset, 0);
  const Expr some = Min(queries, queries + offset);  // that meet a key, if not below 0
  const Expr meeting = Max(some, 0);
  // Until a query meets all keys.
  const Expr growing = Max(Min(some, Min(keys, keys - offset)), 0);
  return growing * (2 * first + growing + 1) + 2 * (meeting - growing) * keys;
}

// The same of a window: of the keys up to first offset + i + 1, query i meets the last `window`.
inline Expr TwiceWindowPairs(const Expr& queries, const Expr& keys, const Expr& offset,
                             const Expr& window) {
  return TwiceCausalPairs(queries, keys, offset) - TwiceCausalPairs(queries, keys, offset - window);
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_CAUSAL_H_
