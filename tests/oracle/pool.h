// Pools. Padding is executed: every output meets the whole kernel window.
#ifndef ONNXFLOPS_TESTS_ORACLE_POOL_H_
#define ONNXFLOPS_TESTS_ORACLE_POOL_H_

#include "tests/oracle/conv.h"

namespace onnxflops::oracle {

enum class PoolKind { kMax, kAverage, kLp };

// One window of k elements. Lp: the p-th root of the sum of p-th powers, with the cheap forms of
// p = 1 (no power at all) and p = 2 (a square and a square root).
inline Counted PoolWindow(PoolKind kind, int64_t k, int64_t p) {
  Counted acc = kind == PoolKind::kMax ? -1e30 : 0;
  for (int64_t i = 0; i < k; ++i) {
    const Counted x = 0.5;
    if (kind == PoolKind::kMax) acc = Max(acc, x);
    if (kind == PoolKind::kAverage) acc += x;
    if (kind == PoolKind::kLp) acc += p == 1 ? x : p == 2 ? x * x : Pow(x, static_cast<double>(p));
  }
  if (kind == PoolKind::kAverage) acc = acc / static_cast<double>(k);
  if (kind == PoolKind::kLp && p != 1) {
    acc = p == 2 ? Sqrt(acc) : Pow(acc, 1.0 / static_cast<double>(p));
  }
  return acc;
}

inline Outputs Pool(PoolKind kind, const Sizes& x, const Window& window, int64_t p = 2,
                    bool indices = false) {
  const auto spatial = SlidingOutput(Slice(x, 2, x.size()), window);
  if (!spatial.has_value()) return NoOutput();
  const Sizes out = Concat({x[0], x[1]}, *spatial);
  ForEach(out, [&](const Sizes&) { PoolWindow(kind, Tensor::Count(window.kernel), p); });
  if (indices) return std::vector<Sizes>{out, out};
  return OneOutput(out);
}

inline Outputs GlobalPool(PoolKind kind, const Sizes& x, int64_t p = 2) {
  Sizes out = {x[0], x[1]};
  out.resize(x.size(), 1);
  ForEach(out, [&](const Sizes&) { PoolWindow(kind, Tensor::Count(x) / (x[0] * x[1]), p); });
  return OneOutput(out);
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_POOL_H_
