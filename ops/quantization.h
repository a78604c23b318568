// What quantisation costs per element, for every operator that does it inside.
#ifndef ONNXFLOPS_OPS_QUANTIZATION_H_
#define ONNXFLOPS_OPS_QUANTIZATION_H_

#include "ops/op_def.h"

namespace onnxflops {

// y = saturate(round(x / scale) + zero_point), in floating point. Without zero point no addition.
inline constexpr ElementCost kQuantize = {.add = 1, .div = 1, .cmp = 2, .round = 1};
// y = (x - zero_point) * scale, in floating point. Without zero point no subtraction.
inline constexpr ElementCost kDequantize = {.add = 1, .mul = 1};
// An integer accumulator to its quantised result: y = saturate(round(acc * m) + zero_point), in
// floating point, where m = scale_a * scale_b / scale_y is made once.
inline constexpr ElementCost kRequantize = {.add = 1, .mul = 1, .cmp = 2, .round = 1};

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_QUANTIZATION_H_
