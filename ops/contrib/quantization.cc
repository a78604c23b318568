// com.microsoft: quantisation, and operators on 8-bit tensors that stand for DequantizeLinear, an
// operator on floats, and QuantizeLinear.
//
// How it works. Costs are formulas of the rows: each input is dequantised, the float operator runs,
// the output is quantised. The code finds shapes and types. A dequantised tensor remembers its
// stored type, so that a weight keeps its real size in bytes. Block floating point packs blocks
// that share an exponent; the number of its bytes is a fresh symbol, while shape and strides are
// given out as content, so that DequantizeBFP finds the shape again.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- QuantizeLinear and DequantizeLinear, per tensor or per axis

absl::Status CheckScale(const NodeView& n, const Shape& x) {
  ASSIGN_OR_RETURN(Shape scale, n.RankedShape(1));
  if (scale.rank() != 1 || !n.HasAttr("axis")) return absl::OkStatus();
  ASSIGN_OR_RETURN(int axis, n.AxisAttr("axis", 0, x.rank()));
  return n.RequireSame("the size of axis and of scale", x[axis], scale[0]);
}

absl::StatusOr<Facts> InferQuantizeLinear(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  RETURN_IF_ERROR(CheckScale(n, x));
  return Facts{Fact::Tensor(n.HasInput(2) ? n.dtype(2) : DType::kUint8, std::move(x))};
}

absl::StatusOr<Facts> InferDequantizeLinear(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  RETURN_IF_ERROR(CheckScale(n, x));
  Fact y = Fact::Tensor(n.dtype(1), std::move(x));
  y.stored = n.dtype(0);
  return Facts{std::move(y)};
}

// ---- of two tensors: A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale, C_zero_point

absl::StatusOr<Facts> InferBinary(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape a, n.RankedShape(0));
  ASSIGN_OR_RETURN(Shape b, n.RankedShape(3));
  ASSIGN_OR_RETURN(Shape c, BroadcastShapes({std::move(a), std::move(b)}));
  return Facts{n.Like(0, std::move(c))};
}

// ---- of one tensor: X, X_scale, X_zero_point, Y_scale, Y_zero_point

// QLinearReduceMean: over the attribute axes, all of them when it is empty.
absl::StatusOr<Shape> ReducedShape(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  absl::InlinedVector<bool, 8> reduced(static_cast<size_t>(x.rank()), n.Ints("axes").empty());
  for (int64_t a : n.Ints("axes")) {
    ASSIGN_OR_RETURN(int axis, n.Axis(a, x.rank()));
    reduced[static_cast<size_t>(axis)] = true;
  }
  const bool keepdims = n.Flag("keepdims", true);
  Shape y;
  for (int i = 0; i < x.rank(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) y.push_back(x[i]);
    if (reduced[static_cast<size_t>(i)] && keepdims) y.push_back(1);
  }
  return y;
}

absl::StatusOr<Facts> InferQLinearReduceMean(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, ReducedShape(n));
  return Facts{n.Like(0, std::move(y))};
}

// ReduceSumInteger: sums of 8-bit integers in 32 bits.
absl::StatusOr<Facts> InferReduceSumInteger(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, ReducedShape(n));
  const DType type = n.dtype(0) == DType::kUint8 ? DType::kUint32 : DType::kInt32;
  return Facts{Fact::Tensor(type, std::move(y))};
}

// MulInteger: C = (A - A_zero_point) * (B - B_zero_point) in 32-bit integers.
absl::StatusOr<Facts> InferMulInteger(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape a, n.RankedShape(0));
  ASSIGN_OR_RETURN(Shape b, n.RankedShape(2));
  ASSIGN_OR_RETURN(Shape c, BroadcastShapes({std::move(a), std::move(b)}));
  return Facts{Fact::Tensor(DType::kInt32, std::move(c))};
}

// ---- QLinearWhere: condition, X and its two parameters, Y and its two, Z's two

absl::StatusOr<Facts> InferQLinearWhere(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape condition, n.RankedShape(0));
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(1));
  ASSIGN_OR_RETURN(Shape y, n.RankedShape(4));
  ASSIGN_OR_RETURN(Shape z, BroadcastShapes({std::move(condition), std::move(x), std::move(y)}));
  return Facts{n.Like(1, std::move(z))};
}

// ---- QLinearConcat: Y_scale, Y_zero_point, then a tensor, its scale and its zero point each

absl::StatusOr<Facts> InferQLinearConcat(const NodeView& n) {
  if (n.num_inputs() < 5 || (n.num_inputs() - 2) % 3 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(n.num_inputs(), " inputs are not two and any number of threes"));
  }
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(2, 1));
  ASSIGN_OR_RETURN(int axis, n.AxisAttr("axis", 0, y.rank()));
  for (int i = 5; i < n.num_inputs(); i += 3) {
    ASSIGN_OR_RETURN(Shape x, n.RankedShape(i, y.rank()));
    for (int d = 0; d < y.rank(); ++d) {
      if (d == axis) continue;
      RETURN_IF_ERROR(n.RequireSame(absl::StrCat("dimension ", d), y[d], x[d]));
    }
    y[axis] += x[axis];
  }
  return Facts{Fact::Tensor(n.dtype(1), std::move(y))};
}

absl::StatusOr<Cost> CountQLinearConcat(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.OutputShape(0));
  Census work;
  for (int i = 2; i < n.num_inputs(); i += 3) {
    ASSIGN_OR_RETURN(Shape x, n.RankedShape(i));
    work += DequantizeCost(n.HasInput(i + 2)) * x.NumElements();
  }
  work += QuantizeCost(n.HasInput(1)) * y.NumElements();
  return Flops(std::move(work));
}

// ---- int8 matrices in the tile orders of cublasLt: scales only, no zero points

absl::StatusOr<Facts> InferQuantizeWithOrder(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  return Facts{Fact::Tensor(DType::kInt8, std::move(x))};
}

absl::StatusOr<Facts> InferDequantizeWithOrder(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(DType type, DTypeAttr(n, "to", DType::kFloat32));
  Fact y = Fact::Tensor(type, std::move(x));
  y.stored = n.dtype(0);
  return Facts{std::move(y)};
}

// ---- block floating point: blocks of elements with one exponent

// The shape of x and its strides, both [rank], are outputs of their own.
absl::StatusOr<Facts> InferQuantizeBfp(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  Content sizes(static_cast<size_t>(x.rank())), strides = sizes;
  for (int i = 0; i < x.rank(); ++i) {
    sizes[static_cast<size_t>(i)] = Scalar::Int(x[i]);
    strides[static_cast<size_t>(i)] = Scalar::Int(x.Product(i + 1, x.rank()));
  }
  Fact bytes = Fact::Tensor(DType::kUint8, Shape{n.FreshDim(0, 0, "bfp-bytes")});
  return Facts{std::move(bytes), Fact::Ints(std::move(sizes)), Fact::Ints(std::move(strides))};
}

absl::StatusOr<Facts> InferDequantizeBfp(const NodeView& n) {
  ASSIGN_OR_RETURN(DType type, DTypeAttr(n, "dtype", DType::kFloat32));
  const std::optional<Dims> sizes = n.KnownInts(1);
  if (sizes.has_value()) return Facts{Fact::Tensor(type, Shape(*sizes))};
  ASSIGN_OR_RETURN(Shape shape, n.RankedShape(1, 1));
  const std::optional<int64_t> rank = shape[0].AsInt64();
  if (!rank.has_value() || *rank < 0 || *rank > kMaxRank) {
    return absl::FailedPreconditionError("the rank of the original tensor is not known");
  }
  Shape y;
  for (int i = 0; i < static_cast<int>(*rank); ++i) y.push_back(n.FreshDim(0, i, "dequantizebfp"));
  return Facts{Fact::Tensor(type, std::move(y))};
}

constexpr OpDef kMsQuantizationRows[] = {
    {.name = "DequantizeBFP",
     .formula = "y = x * scale of its block",
     .data = {.signature = "x shape strides -> y", .costs = "float_mul = y.elements"},
     .infer = InferDequantizeBfp,
     .examples = {{"g (uint8[M] X, int64[2] T) => (float[3,4] Y) <int64[2] s = {3, 4}> "
                   "{ Y = com.microsoft.DequantizeBFP<bfp_type = 0>(X, s, T) }",
                   "mul=12"}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent,
     .note = "block floating point as its paper has it: elements of one exponent"},
    {.name = "DequantizeLinear",
     .formula = "y = (x - zero_point) * scale",
     .data = {.costs = "as DequantizeLinear"},
     .infer = InferDequantizeLinear,
     .examples = {{"int8[N,4] X, float16 S, int8 Z -> float16[N,4] Y", "add=4*N mul=4*N"},
                  {"uint8[N,4] X, float[4] S -> float[N,4] Y <axis = 1>", "mul=4*N"}},
     .operands = {.weights = InputBits({0}), .not_parameters = InputBits({1, 2})}},
    {.name = "DequantizeWithOrder",
     .formula = "output = input * scale",
     .data = {.signature = "input scale -> output", .costs = "float_mul = input.elements"},
     .infer = InferDequantizeWithOrder,
     .examples =
         {{"int8[N,32] X, float S -> float16[N,32] Y <order_input = 2, order_output = 1, to = 10>",
           "mul=32*N"}},
     .operands = {.not_parameters = InputBits({1})},
     .note = "the change of the memory order is free"},
    {.name = "MulInteger",
     .formula = "C = (A - A_zero_point) * (B - B_zero_point)",
     .data = {.signature = "A A_zero_point? B B_zero_point? -> C",
              .costs = "int_add = A_zero_point.given*A.elements + B_zero_point.given*B.elements; "
                       "int_mul = C.elements"},
     .infer = InferMulInteger,
     .examples = {{"uint8[N,4] A, uint8 Az, uint8[4] B, uint8 Bz -> int32[N,4] C",
                   "int_add=4*N + 4 int_mul=4*N"}},
     .operands = {.not_parameters = InputBits({1, 3})}},
    {.name = "QLinearAdd",
     .formula = "C = Quantize(Dequantize(A) + Dequantize(B))",
     .data = {.signature =
                  "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point? -> C",
              .costs =
                  "float_mul = A.elements + B.elements; float_add = A_zero_point.given*A.elements "
                  "+ B_zero_point.given*B.elements + (1 + C_zero_point.given)*C.elements; "
                  "float_div = C.elements; float_round = C.elements; float_cmp = 2*C.elements"},
     .infer = InferBinary,
     .examples = {{"uint8[N,4] A, float As, uint8 Az, uint8[4] B, float Bs, uint8 Bz, float Cs, "
                   "uint8 Cz -> uint8[N,4] C",
                   "add=12*N + 4 mul=4*N + 4 div=4*N cmp=8*N round=4*N"}},
     .operands = {.weights = InputBits({0, 3}), .not_parameters = InputBits({1, 2, 4, 5, 6, 7})}},
    {.name = "QLinearConcat",
     .formula = "Y = Quantize(Concat(Dequantize(inputs))); per element: mul = 1, add = 2, div = 1, "
                "round = 1, cmp = 2",
     .infer = InferQLinearConcat,
     .count = CountQLinearConcat,
     .examples = {{"float Ys, uint8 Yz, uint8[N,2] A, float As, uint8 Az, uint8[N,3] B, float Bs, "
                   "uint8 Bz -> uint8[N,5] Y <axis = 1>",
                   "add=10*N mul=5*N div=5*N cmp=10*N round=5*N"}},
     .operands = {.not_parameters = InputBits({0, 1})}},
    {.name = "QLinearLeakyRelu",
     .formula = "Y = Quantize(LeakyRelu(Dequantize(X)))",
     .data = {.signature = "X X_scale X_zero_point? Y_scale Y_zero_point? -> Y",
              .costs = "float_mul = 2*X.elements; float_add = (X_zero_point.given + "
                       "Y_zero_point.given)*X.elements; float_div = X.elements; float_round = "
                       "X.elements; float_cmp = 3*X.elements"},
     .infer = InferSameAsInput,
     .examples = {{"uint8[N,4] X, float Xs, uint8 Xz, float Ys, uint8 Yz -> uint8[N,4] Y",
                   "add=8*N mul=8*N div=4*N cmp=12*N round=4*N"}},
     .operands = {.not_parameters = InputBits({1, 2, 3, 4})}},
    {.name = "QLinearMul",
     .formula = "C = Quantize(Dequantize(A) * Dequantize(B))",
     .data = {.signature =
                  "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point? -> C",
              .costs = "float_mul = A.elements + B.elements + C.elements; float_add = "
                       "A_zero_point.given*A.elements + B_zero_point.given*B.elements + "
                       "C_zero_point.given*C.elements; float_div = C.elements; float_round = "
                       "C.elements; float_cmp = 2*C.elements"},
     .infer = InferBinary,
     .examples = {{"int8[N,4] A, float As, , int8[N,1] B, float Bs, , float Cs -> int8[N,4] C",
                   "mul=9*N div=4*N cmp=8*N round=4*N"}},
     .operands = {.weights = InputBits({0, 3}), .not_parameters = InputBits({1, 2, 4, 5, 6, 7})}},
    {.name = "QLinearReduceMean",
     .formula = "reduced = Quantize(ReduceMean(Dequantize(data)))",
     .data =
         {.signature =
              "data data_scale data_zero_point? reduced_scale reduced_zero_point? -> reduced",
          .costs =
              "float_mul = data.elements; float_add = (1 + data_zero_point.given)*data.elements + "
              "reduced_zero_point.given*reduced.elements; float_div = 2*reduced.elements; "
              "float_round = reduced.elements; float_cmp = 2*reduced.elements"},
     .infer = InferQLinearReduceMean,
     .examples = {{"uint8[N,4] X, float Xs, uint8 Xz, float Ys, uint8 Yz -> uint8[N,1] Y <axes = "
                   "[1], keepdims = 1>",
                   "add=9*N mul=4*N div=2*N cmp=2*N round=N"}},
     .operands = {.not_parameters = InputBits({1, 2, 3, 4})}},
    {.name = "QLinearSigmoid",
     .formula = "Y = Quantize(Sigmoid(Dequantize(X)))",
     .data = {.signature = "X X_scale X_zero_point? Y_scale Y_zero_point? -> Y",
              .costs = "float_mul = X.elements; float_add = (1 + X_zero_point.given + "
                       "Y_zero_point.given)*X.elements; float_div = 2*X.elements; float_exp = "
                       "X.elements; float_round = X.elements; float_cmp = 2*X.elements"},
     .infer = InferSameAsInput,
     .examples = {{"int8[N,4] X, float Xs, int8 Xz, float Ys, int8 Yz -> int8[N,4] Y",
                   "add=12*N mul=4*N div=8*N cmp=8*N exp=4*N round=4*N"}},
     .operands = {.not_parameters = InputBits({1, 2, 3, 4})}},
    {.name = "QLinearSoftmax",
     .formula = "Y = Quantize(Softmax(Dequantize(X)))",
     .data = {.signature = "X X_scale X_zero_point? Y_scale Y_zero_point? -> Y",
              .costs = "float_mul = X.elements; float_add = (2 + X_zero_point.given + "
                       "Y_zero_point.given)*X.elements; float_div = 2*X.elements; float_exp = "
                       "X.elements; float_round = X.elements; float_cmp = 3*X.elements"},
     .infer = InferSameAsInput,
     .examples =
         {{"uint8[N,4] X, float Xs, uint8 Xz, float Ys, uint8 Yz -> uint8[N,4] Y <opset = 13>",
           "add=16*N mul=4*N div=8*N cmp=12*N exp=4*N round=4*N"}},
     .operands = {.not_parameters = InputBits({1, 2, 3, 4})}},
    {.name = "QLinearWhere",
     .formula = "Z = Quantize(Where(condition, Dequantize(X), Dequantize(Y)))",
     .data =
         {.signature =
              "condition X x_scale x_zero_point Y y_scale y_zero_point z_scale z_zero_point -> Z",
          .costs = "float_mul = X.elements + Y.elements; float_add = X.elements + Y.elements + "
                   "Z.elements; float_div = Z.elements; float_round = Z.elements; float_cmp = "
                   "2*Z.elements"},
     .infer = InferQLinearWhere,
     .examples = {{"bool[N,4] B, uint8[N,4] X, float Xs, uint8 Xz, uint8[4] Y, float Ys, uint8 Yz, "
                   "float Zs, uint8 Zz -> uint8[N,4] Z",
                   "add=8*N + 4 mul=4*N + 4 div=4*N cmp=8*N round=4*N"}},
     .operands = {.not_parameters = InputBits({2, 3, 5, 6, 7, 8})}},
    {.name = "QOrderedGelu",
     .formula = "Y = Quantize(Gelu(Dequantize(X)))",
     .data =
         {.signature = "X scale_X scale_Y -> Y",
          .costs = "float_mul = 3*X.elements; float_add = X.elements; float_erf = X.elements; "
                   "float_div = 2*X.elements; float_round = X.elements; float_cmp = 2*X.elements"},
     .infer = InferSameAsInput,
     .examples = {{"int8[N,4] X, float Xs, float Ys -> int8[N,4] Y",
                   "add=4*N mul=12*N div=8*N cmp=8*N erf=4*N round=4*N"}},
     .operands = {.not_parameters = InputBits({1, 2})}},
    {.name = "QuantizeBFP",
     .formula = "y = blocks of one exponent, the largest of their elements",
     .data =
         {.signature = "x -> y shape? strides?",
          .costs = "float_div = x.elements; float_round = x.elements; float_cmp = 3*x.elements"},
     .infer = InferQuantizeBfp,
     .examples = {{"float[N,64] X -> uint8[M] Y, int64[2] S, int64[2] T <bfp_type = 0>",
                   "div=64*N cmp=192*N round=64*N"}},
     .note = "block floating point as its paper has it; how many bytes it takes depends on the "
             "hardware's format, so that is a symbol"},
    {.name = "QuantizeLinear",
     .formula = "y = saturate(round(x / scale) + zero_point)",
     .data = {.signature = "x y_scale y_zero_point? -> y",
              .costs = "float_div = x.elements; float_round = x.elements; float_add = "
                       "y_zero_point.given*x.elements; float_cmp = 2*x.elements"},
     .infer = InferQuantizeLinear,
     .examples = {{"float[N,4] X, float S, uint8 Z -> uint8[N,4] Y",
                   "add=4*N div=4*N cmp=8*N round=4*N"},
                  {"float[N,4] X, float S -> uint8[N,4] Y", "div=4*N cmp=8*N round=4*N"}},
     .operands = {.weights = InputBits({0}), .not_parameters = InputBits({1, 2})}},
    {.name = "QuantizeWithOrder",
     .formula = "output = saturate(round(input / scale))",
     .data = {.signature = "input scale -> output",
              .costs = "float_div = input.elements; float_round = input.elements; float_cmp = "
                       "2*input.elements"},
     .infer = InferQuantizeWithOrder,
     .examples = {{"float16[N,32] X, float S -> int8[N,32] Y <order_input = 1, order_output = 2>",
                   "div=32*N cmp=64*N round=32*N"}},
     .operands = {.not_parameters = InputBits({1})},
     .note = "the change of the memory order is free"},
    {.name = "ReduceSumInteger",
     .formula = "Y = sum of X over the axes, in 32 bits",
     .infer = InferReduceSumInteger,
     .count = CountPerInputElement,
     .examples = {{"int8[N,4] X -> int32[N] Y <axes = [1], keepdims = 0>", "int_add=4*N"}},
     .per_element = {.add = 1}},
};

}  // namespace

constinit const OpFamily kMsQuantizationFamily = {"com.microsoft", kMsQuantizationRows};

}  // namespace onnxflops
