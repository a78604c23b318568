// The least time that work takes on a device: its operations at the peak rate, or its bytes at full
// bandwidth, whichever takes longer (Williams et al., "Roofline", CACM 2009).
//
//   const Roofline roofline = {1'010'714, 298'507'462};   // H100 in bf16: 989.4 TFLOP/s, 3.35 TB/s
//   roofline.TimeOf(flops, bytes)   // max(1010714*flops, 298507462*bytes), in 10^-21 s
//
// Times are whole numbers of 10^-21 seconds, so that they are exact and may be formulas. The two
// rates are rounded down by less than a millionth, so the result is a lower bound.
#ifndef ONNXFLOPS_SRC_COST_ROOFLINE_H_
#define ONNXFLOPS_SRC_COST_ROOFLINE_H_

#include "absl/numeric/int128.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// Times are kept as whole numbers of 10^-21 s.
inline constexpr double kTimesPerSecond = 1e21;

struct Roofline {
  absl::int128 zs_per_operation = 0, zs_per_byte = 0;
  // Where an operand is an integer, or was: at the fastest peak that they may run at; `int4` if
  // both have at most 4 bits. 0: not known.
  absl::int128 zs_per_integer_operation = 0, zs_per_int4_operation = 0;
  // Where operands are floating-point numbers of at most 16, or 8, bits: the same.
  absl::int128 zs_per_half_operation = 0, zs_per_quarter_operation = 0;

  Expr ComputeTime(const Expr& operations) const { return operations * Expr(zs_per_operation); }
  Expr IntegerTime(const Expr& operations) const {
    return operations * Expr(zs_per_integer_operation);
  }
  Expr MemoryTime(const Expr& bytes) const { return bytes * Expr(zs_per_byte); }
  Expr TimeOf(const Expr& operations, const Expr& bytes) const {
    return Max(ComputeTime(operations), MemoryTime(bytes));
  }
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_COST_ROOFLINE_H_
