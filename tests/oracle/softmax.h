// Softmax and its kin, over rows of K elements.
#ifndef ONNXFLOPS_TESTS_ORACLE_SOFTMAX_H_
#define ONNXFLOPS_TESTS_ORACLE_SOFTMAX_H_

#include <cstddef>

#include "tests/oracle/reduction.h"

namespace onnxflops::oracle {

inline Row Softmax(Row x) {
  const Counted max = MaxOf(x);
  for (Counted& v : x) v = Exp(v - max);
  const Counted sum = SumOf(x);
  for (Counted& v : x) v = v / sum;
  return x;
}
inline Row LogSoftmax(Row x) {
  const Counted max = MaxOf(x);
  for (Counted& v : x) v = v - max;
  const Counted log = Log(SumOf(Exponentials(x)));
  for (Counted& v : x) v = v - log;
  return x;
}
inline Row Hardmax(Row x) {
  MaxOf(x);  // its place is found on the way
  return x;
}

// Before opset 13 every axis from `axis` on is one row.
inline Outputs OverRows(Row (*row)(Row), const Sizes& x, int64_t axis, bool flattened) {
  const auto normalised = Normalised({axis}, x.size());
  if (!normalised.has_value()) return NoOutput();
  const auto at = static_cast<size_t>(*normalised->begin());
  const int64_t k = flattened ? Tensor::Count(Slice(x, at, x.size())) : x[at];
  const int64_t rows = k == 0 ? 0 : Tensor::Count(x) / k;
  for (int64_t i = 0; i < rows; ++i) row(Row(static_cast<size_t>(k), 0.5));
  return OneOutput(x);
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_SOFTMAX_H_
