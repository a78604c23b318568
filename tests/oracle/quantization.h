// Quantisation, and contractions of quantised operands.
#ifndef ONNXFLOPS_TESTS_ORACLE_QUANTIZATION_H_
#define ONNXFLOPS_TESTS_ORACLE_QUANTIZATION_H_

#include <cstddef>

#include "tests/oracle/pool.h"
#include "tests/oracle/reduction.h"

namespace onnxflops::oracle {

// saturate(round(x / scale) + zero_point)
inline void Quantize(Counted x, bool zero_point) {
  Counted y = Round(x / 0.5);
  if (zero_point) y += 3.0;
  Min(Max(y, 0.0), 255.0);
}
// (x - zero_point) * scale
inline void Dequantize(Counted x, bool zero_point) {
  if (zero_point) x = x - 3.0;
  x * 0.5;
}

inline Outputs DynamicQuantize(const Sizes& x) {
  const Row values(static_cast<size_t>(Tensor::Count(x)), 0.5);
  const Counted low = Min(MinOf(values), 0.0), high = Max(MaxOf(values), 0.0);
  const Counted scale = (high - low) / 255.0;
  Round(Min(Max(0.0 - low / scale, 0.0), 255.0));  // the zero point, clipped
  for (Counted v : values) Quantize(v, true);
  return std::vector<Sizes>{x, {}, {}};
}

// Zero points are subtracted from every element of an operand before it is multiplied.
inline void SubtractZeroPoint(const Sizes& operand) {
  ForEach(operand, [](const Sizes&) { Counted(5) - Counted(3); });
}

// saturate(round(sum * (a_scale * b_scale / y_scale)) + zero_point); the factor is a constant.
inline void Requantize(Counted sum) {
  const OnIntegers no(false);
  const Counted y = Round(sum * 0.01) + 3.0;
  Min(Max(y, 0.0), 255.0);
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_QUANTIZATION_H_
