// Operators that are families of their own.
#ifndef ONNXFLOPS_TESTS_ORACLE_VARIOUS_H_
#define ONNXFLOPS_TESTS_ORACLE_VARIOUS_H_

#include <cstddef>
#include <utility>

#include "tests/oracle/shapes.h"

namespace onnxflops::oracle {

// Gaussian elimination without a search for pivots, and the product of the diagonal.
inline Outputs Determinant(const Sizes& x) {
  const size_t rank = x.size();
  const int64_t m = x[rank - 1];
  if (x[rank - 2] != m) return NoOutput();
  const Sizes batch = Slice(x, 0, rank - 2);
  ForEach(batch, [&](const Sizes&) {
    Counted determinant = 1;
    for (int64_t p = 0; p < m; ++p) {
      for (int64_t r = p + 1; r < m; ++r) {
        const Counted factor = Counted(0.5) / 0.25;
        for (int64_t c = p + 1; c < m; ++c) Counted(0.5) - factor * 0.25;
      }
      determinant = determinant * 0.5;
    }
  });
  return OneOutput(batch);
}

// Each element finds its place in a sorted list of the k best by halving.
inline Outputs TopK(const Sizes& x, size_t axis, int64_t k) {
  if (k > x[axis]) return NoOutput();
  ForEach(x, [&](const Sizes&) {
    for (int64_t left = k; left > 0; left /= 2) (void)(Counted(0.5) < 0.25);
  });
  Sizes out = x;
  out[axis] = k;
  return std::vector<Sizes>{out, out};
}

// `work` once per element.
template <typename Run>
Outputs PerElement(const Sizes& elements, Run run, Sizes out) {
  ForEach(elements, [&](const Sizes&) { run(); });
  return OneOutput(std::move(out));
}

// One radix-2 transform of n complex numbers, n a power of two: butterflies of a complex product, a
// sum and a difference.
inline void FastFourierTransform(int64_t n) {
  for (int64_t stage = 1; stage < n; stage *= 2) {
    for (int64_t butterfly = 0; butterfly < n / 2; ++butterfly) {
      const Counted re = Counted(0.5) * 0.25 - Counted(0.5) * 0.25;
      const Counted im = Counted(0.5) * 0.25 + Counted(0.5) * 0.25;
      for (const Counted part : {re, im}) {
        0.5 + part;
        0.5 - part;
      }
    }
  }
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_VARIOUS_H_
