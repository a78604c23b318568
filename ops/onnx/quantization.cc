// Quantisation and dequantisation.
//
// How it works. The shape of the scale tells how x is quantised: one number for the tensor, one per
// element of an axis, or one per block of an axis; a shape that fits none of these is an error. The
// cost is per element in all three cases. A dequantised tensor remembers the type that it is stored
// in, so that a weight of 4 bits is counted with its real bytes in memory.
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// The type that attribute `name` names; `otherwise` if it is missing or 0.
absl::StatusOr<DType> TypeAttribute(const NodeView& n, absl::string_view name, DType otherwise) {
  const int64_t number = n.Int(name, 0);
  if (number == 0) return otherwise;
  const std::optional<DType> type = DTypeFromOnnx(number);
  if (type.has_value()) return *type;
  return absl::InvalidArgumentError(
      absl::StrCat("attribute ", name, " is ", number, ", which is no data type"));
}

// Blocks along `axis`: the scale has x's shape but for ceil(x[axis] / block_size) there.
absl::Status CheckBlockedScale(const NodeView& n, const Shape& x, const Shape& scale,
                               int64_t block_size) {
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", 1, x.rank()));
  if (block_size < 0) {
    return absl::InvalidArgumentError(absl::StrCat("block_size is ", block_size));
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis && block_size == 0) continue;
    const Expr expected = i == axis ? CeilDiv(x[i], block_size) : x[i];
    RETURN_IF_ERROR(
        n.RequireSame(absl::StrCat("dimension ", i, " of the scale"), scale[i], expected));
  }
  return absl::OkStatus();
}

// The scale is one number, one per element of an axis, or one per block of an axis.
absl::Status CheckScale(const NodeView& n, const Shape& x) {
  if (!n.HasInput(1)) return absl::InvalidArgumentError("the scale is missing");
  if (!n.input(1).shape.ranked()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Shape scale, n.RankedShape(1));
  const int64_t block_size = n.Int("block_size", 0);
  if (scale.rank() == x.rank() && (scale.rank() > 1 || block_size != 0)) {
    return CheckBlockedScale(n, x, scale, block_size);
  }
  if (scale.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the scale has rank ", scale.rank(), ", the input ", x.rank()));
  }
  if (scale.rank() == 0 || scale[0] == Expr(1) || x.rank() == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", x.rank() == 1 ? 0 : 1, x.rank()));
  return n.RequireSame("size of the scale and of its axis", scale[0], x[axis]);
}

// ---- QuantizeLinear: y = saturate(round(x / y_scale) + y_zero_point)

absl::StatusOr<Facts> InferQuantizeLinear(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  RETURN_IF_ERROR(CheckScale(n, x));
  ASSIGN_OR_RETURN(const DType type,
                   TypeAttribute(n, "output_dtype", n.HasInput(2) ? n.dtype(2) : DType::kUint8));
  return Facts{Fact::Tensor(type, std::move(x))};
}

// ---- DequantizeLinear: y = (x - x_zero_point) * x_scale

absl::StatusOr<Facts> InferDequantizeLinear(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  RETURN_IF_ERROR(CheckScale(n, x));
  ASSIGN_OR_RETURN(const DType type, TypeAttribute(n, "output_dtype", n.dtype(1)));
  Fact y = Fact::Tensor(type, std::move(x));
  y.stored = n.dtype(0);
  return Facts{std::move(y)};
}

// ---- DynamicQuantizeLinear
//
// Scale and zero point from the range of x, then QuantizeLinear. The range: 2 cmp per element; to
// include 0 in it: 2 cmp; scale: 1 add, 1 div; zero point: 1 div, 1 add, 2 cmp, 1 round.

absl::StatusOr<Facts> InferDynamicQuantizeLinear(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  return Facts{Fact::Tensor(DType::kUint8, std::move(x)), Fact::Tensor(n.dtype(0), Shape{}),
               Fact::Tensor(DType::kUint8, Shape{})};
}

constexpr OpDef kQuantizationRows[] = {
    {.name = "QuantizeLinear",
     .versions = {10, 13, 19, 21, 23, 24, 25, 28},
     .formula = "y = saturate(round(x / y_scale) + y_zero_point)",
     .data = {.signature = "x y_scale y_zero_point? -> y",
              .let = "whole = 1 - y.is_float",
              .costs = "float_div = y.elements; float_add = y_zero_point.given*y.elements; "
                       "float_round = whole*y.elements; float_cmp = 2*whole*y.elements"},
     .infer = InferQuantizeLinear,
     .examples =
         {{"float[N,8] x, float s, int8 z -> int8[N,8] y", "add=8*N div=8*N cmp=16*N round=8*N"},
          {"float[N,8] x, float[8] s -> uint8[N,8] y <axis=1>", "div=8*N cmp=16*N round=8*N"},
          {"float[N,8] x, float[N,2] s -> int4[N,8] y <axis=1, block_size=4, output_dtype=22>",
           "div=8*N cmp=16*N round=8*N"},
          {"float16[N,8] x, float16 s -> float8e4m3fn[N,8] y <output_dtype=17>", "div=8*N"}},
     .operands = {.weights = InputBits({0}), .not_parameters = InputBits({1, 2})},
     .traits = Traits::kQuantizes,
     .note =
         "All in floating point. Float8 and float4 outputs are made by a cast, which is free: no "
         "round and no cmp."},
    {.name = "DequantizeLinear",
     .versions = {10, 13, 19, 21, 23, 24, 25, 28},
     .formula = "y = (x - x_zero_point) * x_scale",
     .data = {.signature = "x x_scale x_zero_point? -> y",
              .costs = "float_mul = y.elements; float_add = x_zero_point.given*y.elements"},
     .infer = InferDequantizeLinear,
     .examples = {{"int8[N,8] x, float s, int8 z -> float[N,8] y", "add=8*N mul=8*N"},
                  {"int4[N,8] x, float16[N,2] s -> float16[N,8] y <axis=1, block_size=4>",
                   "mul=8*N"},
                  {"int32[N] x, float[1] s -> float[N] y", "mul=N", 10}},
     .operands = {.weights = InputBits({0}), .not_parameters = InputBits({1, 2})},
     .traits = Traits::kDequantizes,
     .note = "All in floating point."},
    {.name = "DynamicQuantizeLinear",
     .versions = {11},
     .formula =
         "y = QuantizeLinear(x, y_scale, y_zero_point), both from the minimum and maximum of x",
     .data = {.signature = "x -> y y_scale y_zero_point",
              .costs = "float_div = y.elements + 2; float_round = y.elements + 1; float_add = "
                       "y.elements + 2; float_cmp = 4*y.elements + 4"},
     .infer = InferDynamicQuantizeLinear,
     .examples = {{"float[N,8] x -> uint8[N,8] y, float s, uint8 z",
                   "add=8*N + 2 div=8*N + 2 cmp=32*N + 4 round=8*N + 1"}}},
};

}  // namespace

constinit const OpFamily kQuantizationFamily = {"", kQuantizationRows};

}  // namespace onnxflops
