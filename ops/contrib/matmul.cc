// com.microsoft: matrix products, with what is fused into them, on quantised weights, and on
// integers.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/contrib/plain.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "ops/versions.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- FusedMatMul: Y = alpha * A' B', A' and B' being A and B with dimensions exchanged

// The operand as MatMul takes it. `trans_batch` moves the first dimension in front of the last one,
// `trans` exchanges the last two.
absl::StatusOr<Fact> MatMulOperand(const NodeView& n, int input, bool trans, bool trans_batch) {
  ASSIGN_OR_RETURN(Shape shape, n.ShapeOfRankAtLeast(input, 1));
  Dims& dims = shape.dims();
  const int rank = shape.rank();
  if (trans_batch && rank < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", input, " has rank ", rank, ", too low for its batch to be moved"));
  }
  if (trans_batch) std::rotate(dims.begin(), dims.begin() + 1, dims.end() - 1);
  if (trans && rank > 1) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return n.Like(input, std::move(shape));
}

absl::StatusOr<Facts> MatMulOperands(const NodeView& n) {
  ASSIGN_OR_RETURN(Fact a, MatMulOperand(n, 0, n.Flag("transA"), n.Flag("transBatchA")));
  ASSIGN_OR_RETURN(Fact b, MatMulOperand(n, 1, n.Flag("transB"), n.Flag("transBatchB")));
  return Facts{std::move(a), std::move(b)};
}

absl::StatusOr<Facts> InferFusedMatMul(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts operands, MatMulOperands(n));
  return InferAs(n, "MatMul", operands);
}

absl::StatusOr<Cost> CountFusedMatMul(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts operands, MatMulOperands(n));
  ASSIGN_OR_RETURN(Cost cost, CountAs(n, "MatMul", operands, OutputsOf(n)));
  ASSIGN_OR_RETURN(ElementCost after, ActivationCost(n.String("activation", "")));
  if (n.Float("alpha", 1.0f) != 1.0f) after.mul += 1;
  ASSIGN_OR_RETURN(Shape y, n.OutputShape(0));
  (IsFloat(n.output(0).dtype) ? cost.flops : cost.int_ops) += after * y.NumElements();
  return cost;
}

constexpr OpExample kFusedMatMulExamples[] = {
    {"g (float[N,8,16] A, float[N,9,16] B) => (float[N,8,9] Y) "
     "{ Y = com.microsoft.FusedMatMul<transB = 1, alpha = 0.125>(A, B) }",
     "mac=1152*N mul=72*N"},
    {"g (float[8,N,16] A, float[16,N,9] B) => (float[N,8,9] Y) "
     "{ Y = com.microsoft.FusedMatMul<transBatchA = 1, transBatchB = 1>(A, B) }",
     "mac=1152*N"},
};

constexpr OpExample kTransposeMatMulExamples[] = {
    {"g (float[16,N] A, float[16,9] B) => (float[N,9] Y) "
     "{ Y = com.microsoft.TransposeMatMul<transA = 1>(A, B) }",
     "mac=144*N"},
};

constexpr OpExample kFusedMatMulActivationExamples[] = {
    {"g (float[N,8] A, float[8,9] B) => (float[N,9] Y) "
     "{ Y = com.microsoft.FusedMatMulActivation<activation = \"Relu\">(A, B) }",
     "mac=72*N cmp=9*N"},
};

constexpr OpExample kSparseToDenseMatMulExamples[] = {
    {"g (float[N,8] A, float[8,9] B) => (float[N,9] Y) "
     "{ Y = com.microsoft.SparseToDenseMatMul(A, B) }",
     "mac=72*N"},
};

// ---- Gemm and what follows it

Facts GemmInputs(const NodeView& n) {
  Facts inputs = InputsOf(n);
  if (inputs.size() > 3) inputs.resize(3);
  return inputs;
}

absl::StatusOr<Facts> InferFusedGemm(const NodeView& n) {
  return InferAs(n, "Gemm", GemmInputs(n));
}

absl::StatusOr<Cost> CountFusedGemm(const NodeView& n) {
  ASSIGN_OR_RETURN(Cost cost, CountAs(n, "Gemm", GemmInputs(n), OutputsOf(n)));
  ASSIGN_OR_RETURN(ElementCost activation, ActivationCost(n.String("activation", "")));
  ASSIGN_OR_RETURN(Shape y, n.OutputShape(0));
  (IsFloat(n.dtype(0)) ? cost.flops : cost.int_ops) += activation * y.NumElements();
  return cost;
}

constexpr OpExample kFusedGemmExamples[] = {
    {"g (float[N,8] A, float[9,8] B, float[9] C) => (float[N,9] Y) "
     "{ Y = com.microsoft.FusedGemm<transB = 1, activation = \"LeakyRelu\", activation_alpha = "
     "0.1>(A, B, C) }",
     "mac=72*N add=9*N mul=9*N cmp=9*N"},
};

// GemmFastGelu: X[..,K] W[K,N], plus a bias, then FastGelu.
absl::StatusOr<Facts> InferGemmFastGelu(const NodeView& n) {
  return InferAs(n, "MatMul", {n.input(0), n.input(1)});
}

absl::StatusOr<Cost> CountGemmFastGelu(const NodeView& n) {
  ASSIGN_OR_RETURN(Cost cost, CountAs(n, "MatMul", {n.input(0), n.input(1)}, OutputsOf(n)));
  ASSIGN_OR_RETURN(Shape y, n.OutputShape(0));
  cost.flops += (kGeluTanhCost + ElementCost{.add = n.HasInput(2) ? 1 : 0}) * y.NumElements();
  return cost;
}

constexpr OpExample kGemmFastGeluExamples[] = {
    {"g (float[N,5,8] X, float[8,2] W, float[2] B) => (float[N,5,2] Y) "
     "{ Y = com.microsoft.GemmFastGelu(X, W, B) }",
     "mac=80*N add=30*N mul=40*N pow=10*N tanh=10*N"},
};

// GemmFloat8: Y = quantised activation(alpha * dequantised A' dequantised B' + beta * C).
absl::StatusOr<Facts> InferGemmFloat8(const NodeView& n) {
  ASSIGN_OR_RETURN(DType type, DTypeAttr(n, "dtype", DType::kFloat32));
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "Gemm", {n.input(0), n.input(1)}));
  return Facts{Fact::Tensor(type, facts[0].shape)};
}

absl::StatusOr<Cost> CountGemmFloat8(const NodeView& n) {
  ASSIGN_OR_RETURN(Cost cost, CountAs(n, "Gemm", {n.input(0), n.input(1)}, OutputsOf(n)));
  ASSIGN_OR_RETURN(ElementCost after, ActivationCost(n.String("activation", "")));
  ASSIGN_OR_RETURN(Shape y, n.OutputShape(0));
  const float beta = n.Float("beta", 0.0f);
  if (n.HasInput(2) && beta != 0.0f) after.add += 1;
  if (n.HasInput(5)) after.div += 1;
  cost.flops += after * y.NumElements();
  if (n.HasInput(2) && beta != 0.0f && beta != 1.0f) {
    ASSIGN_OR_RETURN(Shape c, n.RankedShape(2));
    cost.flops[Kind::kMul] += c.NumElements();
  }
  for (int scaled : {0, 1}) {
    if (n.HasInput(3 + scaled)) cost.flops[Kind::kMul] += n.input(scaled).shape.NumElements();
  }
  return cost;
}

constexpr OpExample kGemmFloat8Examples[] = {
    {"g (float8e4m3fn[N,16] A, float8e4m3fn[9,16] B, float As, float Bs, float Ys) => "
     "(float16[N,9] Y) "
     "{ Y = com.microsoft.GemmFloat8<transB = 1, dtype = 10>(A, B, , As, Bs, Ys) }",
     "mac=144*N mul=16*N + 144 div=9*N"},
    {"g (float16[N,16] A, float16[16,9] B, float16[9] C) => (float16[N,9] Y) "
     "{ Y = com.microsoft.GemmFloat8<dtype = 10, beta = 1.0, activation = \"RELU\">(A, B, C) }",
     "mac=144*N add=9*N cmp=9*N"},
};

// ---- weights in blocks of few bits: Y[..,N] = A[..,K] W'[K,N], W dequantised first. N and K are
// attributes: the shape of the packed weight does not tell.

struct PackedProduct {
  Shape output;
  Expr n, k;
  Expr Macs() const { return output.NumElements() * k; }
};

// A product of A's last dimension, which must be `k`, with N columns.
absl::StatusOr<PackedProduct> ProductWith(const NodeView& n, const Expr& columns, const Expr& k) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 1));
  RETURN_IF_ERROR(n.RequireSame("K", y[y.rank() - 1], k));
  y[y.rank() - 1] = columns;
  return PackedProduct{std::move(y), columns, k};
}

absl::StatusOr<Expr> SizeAttr(const NodeView& n, absl::string_view name) {
  const int64_t size = n.Int(name, 0);
  if (size > 0) return Expr(size);
  return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " is ", size));
}

absl::StatusOr<PackedProduct> NBitsProduct(const NodeView& n, absl::string_view columns) {
  ASSIGN_OR_RETURN(Expr k, SizeAttr(n, "K"));
  ASSIGN_OR_RETURN(Expr width, SizeAttr(n, columns));
  return ProductWith(n, width, k);
}

// The integer type of so many bits, as the label of a product has it.
DType BitsType(int64_t bits) {
  if (bits <= 2) return DType::kInt2;
  return bits <= 4 ? DType::kInt4 : DType::kInt8;
}

absl::StatusOr<Facts> InferMatMulNBits(const NodeView& n) {
  ASSIGN_OR_RETURN(PackedProduct product, NBitsProduct(n, "N"));
  return Facts{n.Like(0, std::move(product.output))};
}

// The product, its bias and the weight that is dequantised for it.
Census NBitsWork(const PackedProduct& product, bool zero_points, bool bias) {
  Census work = DequantizeCost(zero_points) * (product.n * product.k);
  work[Kind::kMac] = product.Macs();
  if (bias) work[Kind::kAdd] += product.output.NumElements();
  return work;
}

absl::StatusOr<Cost> CountMatMulNBits(const NodeView& n) {
  ASSIGN_OR_RETURN(PackedProduct product, NBitsProduct(n, "N"));
  Cost cost = Flops(NBitsWork(product, n.HasInput(3), n.HasInput(5)));
  cost.flops_mac_operands = {.a = n.dtype(0), .b = BitsType(n.Int("bits", 4))};
  return cost;
}

constexpr OpExample kMatMulNBitsExamples[] = {
    {"g (float16[S,5,64] A, uint8[48,2,16] B, float16[48,2] s) => (float16[S,5,48] Y) "
     "{ Y = com.microsoft.MatMulNBits<K = 64, N = 48, block_size = 32>(A, B, s) }",
     "mac=15360*S mul=3072"},
    {"g (float[S,64] A, uint8[48,2,32] B, float[48,2] s, uint8[48,2] z, float[48] b) => "
     "(float[S,48] Y) "
     "{ Y = com.microsoft.MatMulNBits<K = 64, N = 48, bits = 8, block_size = 32>(A, B, s, z, , b) "
     "}",
     "mac=3072*S add=48*S + 3072 mul=3072"},
};

// The normalization of A + skip that the two fusions below begin with.
Census NormWork(const NodeView& n) {
  Census work;
  const Shape& a = n.input(0).shape;
  if (n.HasInput(1)) work[Kind::kAdd] += a.NumElements();
  if (n.HasInput(2)) work += RmsNormWork(a.Product(0, a.rank() - 1), a.NumElements(), true);
  return work;
}

absl::StatusOr<Facts> InferMatMulNBitsMlp(const NodeView& n) {
  ASSIGN_OR_RETURN(PackedProduct product, NBitsProduct(n, "N"));
  return Facts{n.Like(0, std::move(product.output)), n.Like(0, n.input(0).shape)};
}

absl::StatusOr<Cost> CountMatMulNBitsMlp(const NodeView& n) {
  ASSIGN_OR_RETURN(PackedProduct product, NBitsProduct(n, "N"));
  ASSIGN_OR_RETURN(ElementCost activation, ActivationCost(n.String("activation", "")));
  Cost cost = Flops(NormWork(n));
  cost.flops += NBitsWork(product, false, n.HasInput(5));
  cost.flops += NBitsWork(product, false, n.HasInput(8));
  cost.flops += (activation + ElementCost{.mul = 1}) * product.output.NumElements();
  cost.flops_mac_operands = {.a = n.dtype(0), .b = BitsType(n.Int("bits", 4))};
  return cost;
}

constexpr OpExample kMatMulNBitsMlpExamples[] = {
    {"g (float16[S,64] A, float16[S,64] R, float16[64] G, uint8[48,2,16] B, float16[48,2] s, "
     "uint8[48,2,16] C, float16[48,2] t) => (float16[S,48] Y, float16[S,64] Z) "
     "{ Y, Z = com.microsoft.MatMulNBitsMlp<K = 64, N = 48, block_size = 32, activation = "
     "\"silu\">(A, R, G, B, s, , C, t) }",
     "mac=6144*S add=177*S mul=224*S + 6144 div=113*S exp=48*S sqrt=S"},
};

// MatMulNBitsQkv: three products of the normalised A.
absl::StatusOr<Facts> InferMatMulNBitsQkv(const NodeView& n) {
  ASSIGN_OR_RETURN(PackedProduct q, NBitsProduct(n, "Nq"));
  ASSIGN_OR_RETURN(PackedProduct kv, NBitsProduct(n, "Nkv"));
  return Facts{n.Like(0, q.output), n.Like(0, kv.output), n.Like(0, kv.output),
               n.Like(0, n.input(0).shape)};
}

absl::StatusOr<Cost> CountMatMulNBitsQkv(const NodeView& n) {
  ASSIGN_OR_RETURN(PackedProduct q, NBitsProduct(n, "Nq"));
  ASSIGN_OR_RETURN(PackedProduct kv, NBitsProduct(n, "Nkv"));
  Cost cost = Flops(NormWork(n));
  cost.flops += NBitsWork(q, false, n.HasInput(5));
  cost.flops += NBitsWork(kv, false, n.HasInput(8));
  cost.flops += NBitsWork(kv, false, n.HasInput(11));
  cost.flops_mac_operands = {.a = n.dtype(0), .b = BitsType(n.Int("bits", 4))};
  return cost;
}

constexpr OpExample kMatMulNBitsQkvExamples[] = {
    {"g (float16[S,64] A, float16[64] G, uint8[64,2,16] B, float16[64,2] s, uint8[16,2,16] C, "
     "float16[16,2] t, uint8[16,2,16] D, float16[16,2] u, float16[16] v) => (float16[S,64] Q, "
     "float16[S,16] K, float16[S,16] V) "
     "{ Q, K, V = com.microsoft.MatMulNBitsQkv<K = 64, Nq = 64, Nkv = 16, block_size = 32>"
     "(A, , G, B, s, , C, t, , D, u, v) }",
     "mac=6144*S add=81*S mul=128*S + 6144 div=65*S sqrt=S"},
};

// MatMulBnb4: W[N,K] in 4 bits, looked up in a table and scaled; without transB, A[..,N] W[N,K].
absl::StatusOr<PackedProduct> Bnb4Product(const NodeView& n) {
  ASSIGN_OR_RETURN(Expr k, SizeAttr(n, "K"));
  ASSIGN_OR_RETURN(Expr columns, SizeAttr(n, "N"));
  return n.Flag("transB", true) ? ProductWith(n, columns, k) : ProductWith(n, k, columns);
}

absl::StatusOr<Facts> InferMatMulBnb4(const NodeView& n) {
  ASSIGN_OR_RETURN(PackedProduct product, Bnb4Product(n));
  return Facts{n.Like(0, std::move(product.output))};
}

absl::StatusOr<Cost> CountMatMulBnb4(const NodeView& n) {
  ASSIGN_OR_RETURN(PackedProduct product, Bnb4Product(n));
  Cost cost = Flops(NBitsWork(product, false, false));
  const bool fp4 = n.Int("quant_type", 0) == 0;
  cost.flops_mac_operands = {.a = n.dtype(0), .b = fp4 ? DType::kFloat4E2M1 : DType::kUint4};
  return cost;
}

constexpr OpExample kMatMulBnb4Examples[] = {
    {"g (float16[S,64] A, uint8[1536] B, float16[48] m) => (float16[S,48] Y) "
     "{ Y = com.microsoft.MatMulBnb4<K = 64, N = 48, block_size = 64, quant_type = 1>(A, B, m) }",
     "mac=3072*S mul=3072"},
    {"g (float16[S,48] A, uint8[1536] B, float16[48] m) => (float16[S,64] Y) "
     "{ Y = com.microsoft.MatMulBnb4<K = 64, N = 48, block_size = 64, quant_type = 1, transB = 0>"
     "(A, B, m) }",
     "mac=3072*S mul=3072"},
};

// MatMulFpQ4: the shape [K,N] of W is an input.
absl::StatusOr<Facts> InferMatMulFpQ4(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 1));
  const int last = y.rank() - 1;
  const std::optional<Dims> weight = n.KnownInts(2);
  if (!weight.has_value()) {
    y[last] = n.FreshDim(0, last, "matmulfpq4");
    return Facts{n.Like(0, std::move(y))};
  }
  if (weight->size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("B_shape has ", weight->size(), " elements"));
  }
  ASSIGN_OR_RETURN(PackedProduct product, ProductWith(n, (*weight)[1], (*weight)[0]));
  return Facts{n.Like(0, std::move(product.output))};
}

absl::StatusOr<Cost> CountMatMulFpQ4(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape a, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(Shape y, n.OutputShape(0));
  const PackedProduct product = {y, y[y.rank() - 1], a[a.rank() - 1]};
  Cost cost = Flops(NBitsWork(product, n.Int("blk_quant_type", 1) == 1, false));
  cost.flops_mac_operands = {.a = n.dtype(0), .b = DType::kInt4};
  return cost;
}

constexpr OpExample kMatMulFpQ4Examples[] = {
    {"g (float[S,64] A, uint8[2000] B) => (float[S,48] Y) <int64[2] s = {64, 48}> "
     "{ Y = com.microsoft.MatMulFpQ4<blk_quant_type = 0>(A, B, s) }",
     "mac=3072*S mul=3072"},
};

// MatMulBlockQuantized...: W[N,K], of Fp4 two to a byte.
absl::StatusOr<PackedProduct> BlockQuantizedProduct(const NodeView& n, int per_byte) {
  ASSIGN_OR_RETURN(Shape w, n.RankedShape(1, 2));
  return ProductWith(n, w[0], per_byte * w[1]);
}

absl::StatusOr<Facts> InferFp4Weight(const NodeView& n) {
  ASSIGN_OR_RETURN(PackedProduct product, BlockQuantizedProduct(n, 2));
  return Facts{n.Like(0, std::move(product.output))};
}

absl::StatusOr<Cost> CountFp4Weight(const NodeView& n) {
  ASSIGN_OR_RETURN(PackedProduct product, BlockQuantizedProduct(n, 2));
  const int64_t block_size = n.Int("block_size", 16);
  if (block_size < 1) {
    return absl::InvalidArgumentError(absl::StrCat("block_size is ", block_size));
  }
  Cost cost = Flops(NBitsWork(product, false, n.HasInput(5)));
  // The scale of a block times the global one.
  cost.flops[Kind::kMul] += product.n * CeilDiv(product.k, block_size);
  cost.flops_mac_operands = {.a = n.dtype(0), .b = DType::kFloat4E2M1};
  return cost;
}

constexpr OpExample kFp4WeightExamples[] = {
    {"g (float16[S,64] A, uint8[48,32] B, uint8[48,4] s, float t, float16[48] b) => "
     "(float16[S,48] Y) "
     "{ Y = com.microsoft.MatMulBlockQuantizedFp4Weight(A, B, s, t, , b) }",
     "mac=3072*S add=48*S mul=3264"},
};

absl::StatusOr<Facts> InferFp8Weight(const NodeView& n) {
  ASSIGN_OR_RETURN(PackedProduct product, BlockQuantizedProduct(n, 1));
  return Facts{n.Like(0, std::move(product.output))};
}

absl::StatusOr<Cost> CountFp8Weight(const NodeView& n) {
  ASSIGN_OR_RETURN(PackedProduct product, BlockQuantizedProduct(n, 1));
  Cost cost = Flops(NBitsWork(product, false, n.HasInput(4)));
  cost.flops_mac_operands = {.a = n.dtype(0), .b = n.dtype(1)};
  if (n.HasInput(3)) {
    // A is quantised (by a cast, which rounds for free) and dequantised as well.
    cost.flops += ElementCost{.mul = 1, .div = 1} * n.input(0).shape.NumElements();
    cost.flops_mac_operands = {.a = n.dtype(1), .b = n.dtype(1), .qdq = true};
  }
  return cost;
}

constexpr OpExample kFp8WeightExamples[] = {
    {"g (float16[S,64] A, float8e4m3fn[48,64] B, float[48,1] s) => (float16[S,48] Y) "
     "{ Y = com.microsoft.MatMulBlockQuantizedFp8Weight(A, B, s) }",
     "mac=3072*S mul=3072"},
    {"g (float16[S,64] A, float8e4m3fn[48,64] B, float[48,1] s, float t, float16[48] b) => "
     "(float16[S,48] Y) "
     "{ Y = com.microsoft.MatMulBlockQuantizedFp8Weight(A, B, s, t, b) }",
     "mac=3072*S add=48*S mul=64*S + 3072 div=64*S"},
};

// ---- integer products

absl::StatusOr<Facts> InferMatMulInteger16(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "MatMul", InputsOf(n)));
  const bool is_unsigned = n.dtype(0) == DType::kUint16 && n.dtype(1) == DType::kUint16;
  facts[0].dtype = is_unsigned ? DType::kUint32 : DType::kInt32;
  return facts;
}

absl::StatusOr<Cost> CountMatMulInteger16(const NodeView& n) {
  return CountAs(n, "MatMul", InputsOf(n), OutputsOf(n));
}

constexpr OpExample kMatMulInteger16Examples[] = {
    {"g (int16[N,8] A, int16[8,9] B) => (int32[N,9] Y) "
     "{ Y = com.microsoft.MatMulInteger16(A, B) }",
     "int_mac=72*N"},
};

// MatMulIntegerToFloat: Y = (A - a_zero_point) (B - b_zero_point) * a_scale * b_scale + bias.
absl::StatusOr<Facts> InferMatMulIntegerToFloat(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "MatMul", {n.input(0), n.input(1)}));
  facts[0].dtype = n.dtype(3);
  return facts;
}

// The product of two scales, then of that and each sum, and the bias.
absl::StatusOr<Census> ToFloatWork(const Shape& a_scale, const Shape& b_scale, const Shape& y,
                                   bool bias) {
  ASSIGN_OR_RETURN(Shape scale, BroadcastShapes({a_scale, b_scale}));
  Census work = ElementCost{.mul = 1} * scale.NumElements();
  work += ElementCost{.add = bias ? 1 : 0, .mul = 1} * y.NumElements();
  return work;
}

absl::StatusOr<Cost> CountMatMulIntegerToFloat(const NodeView& n) {
  const Facts operands = {n.input(0), n.input(1), n.input(4), n.input(5)};
  ASSIGN_OR_RETURN(Cost cost, CountAs(n, "MatMulInteger", operands, OutputsOf(n)));
  ASSIGN_OR_RETURN(Shape a_scale, n.RankedShape(2));
  ASSIGN_OR_RETURN(Shape b_scale, n.RankedShape(3));
  ASSIGN_OR_RETURN(Shape y, n.OutputShape(0));
  ASSIGN_OR_RETURN(cost.flops, ToFloatWork(a_scale, b_scale, y, n.HasInput(6)));
  return cost;
}

constexpr OpExample kMatMulIntegerToFloatExamples[] = {
    {"g (uint8[N,8] A, int8[8,9] B, float s, float[9] t, uint8 z, float[9] b) => (float[N,9] Y) "
     "{ Y = com.microsoft.MatMulIntegerToFloat(A, B, s, t, z, , b) }",
     "add=9*N mul=9*N + 9 int_mac=72*N int_add=8*N"},
};

// DynamicQuantizeMatMul: MatMulIntegerToFloat of A as DynamicQuantizeLinear quantises it.
absl::StatusOr<Facts> InferDynamicQuantizeMatMul(const NodeView& n) {
  return InferAs(n, "MatMul", {n.input(0), n.input(1)});
}

absl::StatusOr<Cost> CountDynamicQuantizeMatMul(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape a_shape, n.RankedShape(0));
  const Fact a = Fact::Tensor(DType::kUint8, a_shape);
  const Fact zero_point = Fact::Tensor(DType::kUint8, Shape{});
  ASSIGN_OR_RETURN(Cost quantize, CountAs(n, "DynamicQuantizeLinear", {n.input(0)}, {a}));
  ASSIGN_OR_RETURN(Cost cost, CountAs(n, "MatMulInteger", {a, n.input(1), zero_point, n.input(3)},
                                      OutputsOf(n)));
  cost.int_ops_mac_operands = {.a = DType::kUint8, .b = n.dtype(1)};
  ASSIGN_OR_RETURN(Shape b_scale, n.RankedShape(2));
  ASSIGN_OR_RETURN(Shape y, n.OutputShape(0));
  ASSIGN_OR_RETURN(Census to_float, ToFloatWork(Shape{}, b_scale, y, n.HasInput(4)));
  cost.flops = quantize.flops;
  cost.flops += to_float;
  return cost;
}

constexpr OpExample kDynamicQuantizeMatMulExamples[] = {
    {"g (float[N,8] A, int8[8,9] B, float t, int8 z, float[9] b) => (float[N,9] Y) "
     "{ Y = com.microsoft.DynamicQuantizeMatMul(A, B, t, z, b) }",
     "add=17*N + 2 mul=9*N + 1 div=8*N + 2 cmp=32*N + 4 round=8*N + 1 int_mac=72*N int_add=8*N + "
     "72"},
};

// QGemm: A, a_scale, a_zero_point, B, b_scale, b_zero_point, C, y_scale, y_zero_point.
absl::StatusOr<Facts> InferQGemm(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "Gemm", {n.input(0), n.input(3), n.input(6)}));
  facts[0].dtype = n.HasInput(8) ? n.dtype(8) : DType::kFloat32;
  return facts;
}

absl::StatusOr<Cost> CountQGemm(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape a, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape b, n.RankedShape(3, 2));
  ASSIGN_OR_RETURN(Shape y, n.OutputShape(0));
  Cost cost;
  cost.int_ops[Kind::kMac] = y.NumElements() * a[n.Flag("transA") ? 0 : 1];
  if (n.HasInput(2)) cost.int_ops[Kind::kAdd] += a.NumElements();
  if (n.HasInput(5)) cost.int_ops[Kind::kAdd] += b.NumElements();
  if (n.HasInput(6)) cost.int_ops[Kind::kAdd] += y.NumElements();
  cost.int_ops_mac_operands = {.a = n.dtype(0), .b = n.dtype(3)};
  cost.flops = (n.HasInput(8) ? kRequantize : ElementCost{.mul = 1}) * y.NumElements();
  return cost;
}

constexpr OpExample kQGemmExamples[] = {
    {"g (uint8[N,8] A, float s, uint8 z, int8[9,8] B, float t, int8 u, int32[9] C, float v, uint8 "
     "w) => (uint8[N,9] Y) "
     "{ Y = com.microsoft.QGemm<transB = 1>(A, s, z, B, t, u, C, v, w) }",
     "add=9*N mul=9*N cmp=18*N round=9*N int_mac=72*N int_add=17*N + 72"},
    {"g (uint8[N,8] A, float s, uint8 z, uint8[8,9] B, float t, uint8 u) => (float[N,9] Y) "
     "{ Y = com.microsoft.QGemm(A, s, z, B, t, u) }",
     "mul=9*N int_mac=72*N int_add=8*N + 72"},
};

// QOrderedMatMul: A, scale_A, B, scale_B, scale_Y, bias, C, scale_C; no zero points.
absl::StatusOr<Facts> InferQOrderedMatMul(const NodeView& n) {
  return InferAs(n, "MatMul", {n.input(0), n.input(2)});
}

absl::StatusOr<Cost> CountQOrderedMatMul(const NodeView& n) {
  ASSIGN_OR_RETURN(Cost cost, CountAs(n, "MatMul", {n.input(0), n.input(2)}, OutputsOf(n)));
  cost.int_ops_mac_operands = {.a = n.dtype(0), .b = n.dtype(2)};
  ElementCost after = kRequantize;
  after.add = (n.HasInput(5) ? 1 : 0) + (n.HasInput(6) ? 1 : 0);
  ASSIGN_OR_RETURN(Shape y, n.OutputShape(0));
  cost.flops = after * y.NumElements();
  if (n.HasInput(6)) {
    ASSIGN_OR_RETURN(Shape c, n.RankedShape(6));
    cost.flops[Kind::kMul] += c.NumElements();
  }
  return cost;
}

constexpr OpExample kQOrderedMatMulExamples[] = {
    {"g (int8[N,5,8] A, float s, int8[8,9] B, float t, float u, float[9] b, int8[N,5,9] C, float "
     "v) => (int8[N,5,9] Y) "
     "{ Y = com.microsoft.QOrderedMatMul<order_A = 1, order_B = 0, order_Y = 1>"
     "(A, s, B, t, u, b, C, v) }",
     "add=90*N mul=90*N cmp=90*N round=45*N int_mac=360*N"},
};

// ---- CDist: C[M,K] = distances of the rows of A[M,N] and B[K,N]

absl::StatusOr<Facts> InferCDist(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape a, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape b, n.RankedShape(1, 2));
  RETURN_IF_ERROR(n.RequireSame("N", a[1], b[1]));
  return Facts{n.Like(0, Shape{a[0], b[0]})};
}

absl::StatusOr<Cost> CountCDist(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape a, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape c, n.OutputShape(0));
  const absl::string_view metric = n.String("metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean") {
    return absl::UnimplementedError(absl::StrCat("the metric '", metric, "' is not known"));
  }
  Census work = ElementCost{.add = 2, .mul = 1} * (c.NumElements() * a[1]);
  if (metric == "euclidean") work[Kind::kSqrt] = c.NumElements();
  return Flops(std::move(work));
}

constexpr OpExample kCDistExamples[] = {
    {"g (float[N,8] A, float[9,8] B) => (float[N,9] C) "
     "{ C = com.microsoft.CDist<metric = \"euclidean\">(A, B) }",
     "add=144*N mul=72*N sqrt=9*N"},
};

// ---- Inverse: of square matrices, by elimination in place

absl::StatusOr<Facts> InferInverse(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  RETURN_IF_ERROR(n.RequireSame("the size of a square matrix", x[x.rank() - 2], x[x.rank() - 1]));
  return Facts{n.Like(0, std::move(x))};
}

absl::StatusOr<Cost> CountInverse(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  const Expr matrices = x.Product(0, x.rank() - 2), size = x[x.rank() - 1];
  // For each of N pivots: its reciprocal; its row and its column times that; and a product taken
  // from each of the other (N - 1)^2 elements.
  Census work;
  work[Kind::kDiv] = size;
  work[Kind::kMul] = size * (size - 1) * (size + 1);
  work[Kind::kAdd] = size * (size - 1) * (size - 1);
  work *= matrices;
  return Flops(std::move(work));
}

constexpr OpExample kInverseExamples[] = {
    {"g (float[B,3,3] X) => (float[B,3,3] Y) { Y = com.microsoft.Inverse(X) }",
     "add=12*B mul=24*B div=3*B"},
};

constexpr FormulaData kFusedMatMulFormulas = {
    .signature = "A B -> Y",
    .attributes = "transA = 0; transBatchA = 0; alpha = 1.0; activation = activation",
    .let = "K = if((attr.transA != 0)*(A.rank > 1), if(attr.transBatchA, A[0], A[-2]), A[-1])",
    .costs =
        "mac = Y.elements*K; mul = if(attr.alpha.is_1, 0, Y.elements); attr.activation = "
        "Y.elements"};

constexpr OpDef kMsMatMulRows[] = {
    {.name = "CDist",
     .versions = kSince1,
     .formula = "C[M,K] = sum over N of (A[M,N] - B[K,N])^2, and its root if euclidean; add = "
                "2*M*K*N, mul = M*K*N, sqrt = M*K",
     .data = {.signature = "A[M, N] B[K, N] -> C",
              .attributes = "metric = sqeuclidean|euclidean",
              .costs = "add = 2*M*K*N; mul = M*K*N; sqrt = attr.metric.euclidean*M*K"},
     .infer = InferCDist,
     .count = CountCDist,
     .examples = kCDistExamples,
     .note = "the differences as they are defined, not the product of matrices that they can be "
             "had from"},
    {.name = "DynamicQuantizeMatMul",
     .versions = kSince1,
     .formula = "Y[..,M,N] = MatMulIntegerToFloat of DynamicQuantizeLinear(A[..,M,K]) and B[K,N]; "
                "integer mac = elements(Y)*K, and what the parts cost",
     .data = {.signature = "A[a..., K] B b_scale b_zero_point? bias? -> Y",
              .costs = "int_mac = Y.elements*K; int_add = A.elements + "
                       "b_zero_point.given*B.elements; float_div = A.elements + 2; float_round = "
                       "A.elements + 1; float_add = A.elements + 2 + bias.given*Y.elements; "
                       "float_cmp = 4*A.elements + 4; float_mul = b_scale.elements + Y.elements"},
     .infer = InferDynamicQuantizeMatMul,
     .count = CountDynamicQuantizeMatMul,
     .examples = kDynamicQuantizeMatMulExamples,
     .operands = {.weights = InputBits({1, 4}), .not_parameters = InputBits({2, 3})}},
    {.name = "FusedGemm",
     .versions = kSince1,
     .formula = "Y[M,N] = activation(alpha A'B' + beta C); as Gemm, and the activation per element",
     .data = {.signature = "A B C? -> Y[M, N]",
              .attributes = "transA = 0; alpha = 1.0; beta = 1.0; activation = activation",
              .let = "K = if(attr.transA, A[0], A[1])",
              .costs = "mac = M*N*K; add = C.given*M*N; mul = if(attr.alpha.is_1, 0, M*N) + "
                       "if(attr.beta.is_1, 0, C.elements); attr.activation = M*N"},
     .infer = InferFusedGemm,
     .count = CountFusedGemm,
     .examples = kFusedGemmExamples,
     .operands = {.weights = InputBits({0, 1, 2})}},
    {.name = "FusedMatMul",
     .versions = kSince1,
     .formula = "Y[..,M,N] = alpha A'[..,M,K] B'[..,K,N]; mac = elements(Y)*K, mul = elements(Y) "
                "if alpha is not 1",
     .data = kFusedMatMulFormulas,
     .infer = InferFusedMatMul,
     .count = CountFusedMatMul,
     .examples = kFusedMatMulExamples,
     .operands = {.weights = InputBits({0, 1})}},
    {.name = "FusedMatMulActivation",
     .versions = kSince1,
     .formula = "Y = activation(alpha A'[..,M,K] B'[..,K,N]); as FusedMatMul, and the activation "
                "per element",
     .data = kFusedMatMulFormulas,
     .infer = InferFusedMatMul,
     .count = CountFusedMatMul,
     .examples = kFusedMatMulActivationExamples},
    {.name = "GemmFastGelu",
     .versions = kSince1,
     .formula = "Y[..,N] = FastGelu(X[..,K] W[K,N] + bias); mac = elements(Y)*K; per element: mul "
                "= 4, add = 3 (2 without bias), pow = 1, tanh = 1",
     .data = {.signature = "X[rows..., K] W bias? -> Y",
              .costs = "mac = Y.elements*K; mul = 4*Y.elements; add = (2 + bias.given)*Y.elements; "
                       "pow = Y.elements; tanh = Y.elements"},
     .infer = InferGemmFastGelu,
     .count = CountGemmFastGelu,
     .examples = kGemmFastGeluExamples,
     .operands = {.weights = InputBits({1, 2})}},
    {.name = "GemmFloat8",
     .versions = kSince1,
     .formula = "Y[M,N] = activation(alpha A'[M,K] B'[K,N] + beta C) / scaleY; mac = M*N*K; mul = "
                "elements(A) and elements(B) for their scales, elements(Y) if alpha is not 1; div "
                "= elements(Y) for scaleY; add = elements(Y) for C",
     .data = {.signature = "A B C? scaleA? scaleB? scaleY? -> Y",
              .attributes = "transA = 0; alpha = 1.0; beta = 0.0; activation = activation",
              .let = "K = if(attr.transA, A[0], A[1]); biased = C.given*(1 - attr.beta.is_0)",
              .costs = "mac = Y.elements*K; add = biased*Y.elements; mul = if(attr.alpha.is_1, 0, "
                       "Y.elements) + scaleA.given*A.elements + scaleB.given*B.elements + "
                       "if(attr.beta.is_1, 0, biased*C.elements); div = scaleY.given*Y.elements; "
                       "attr.activation = Y.elements"},
     .infer = InferGemmFloat8,
     .count = CountGemmFloat8,
     .examples = kGemmFloat8Examples},
    {.name = "Inverse",
     .versions = kSince1,
     .formula = "Y[..,N,N] = inverse of X, by Gauss-Jordan elimination in place; per matrix: div = "
                "N, mul = N^3 - N, add = N (N-1)^2",
     .data = {.signature = "X[batch..., M, N] -> Y",
              .costs = "div = batch*N; mul = batch*N*(N - 1)*(N + 1); add = batch*N*(N - 1)^2"},
     .infer = InferInverse,
     .count = CountInverse,
     .examples = kInverseExamples,
     .note = "the search for pivots is not counted"},
    {.name = "MatMulBlockQuantizedFp4Weight",
     .versions = kSince1,
     .formula = "Y[..,N] = A[..,K] W' + bias, W[N,K] = B * block scale * global scale; mac = "
                "elements(Y)*K, mul = N*K + N*ceil(K/block_size), add = elements(Y) for bias",
     .data = {.signature =
                  "A[rows..., K] B[N, bytes] block_scale global_scale? a_scale? bias? -> Y",
              .attributes = "block_size = 16",
              .costs = "mac = Y.elements*K; mul = N*K + N*((K + attr.block_size - 1) // "
                       "attr.block_size); add = bias.given*Y.elements"},
     .infer = InferFp4Weight,
     .count = CountFp4Weight,
     .examples = kFp4WeightExamples},
    {.name = "MatMulBlockQuantizedFp8Weight",
     .versions = kSince1,
     .formula = "Y[..,N] = A[..,K] W' + bias, W[N,K] = B * block scale; mac = elements(Y)*K, mul = "
                "N*K, add = elements(Y) for bias; with a_scale: div = mul = elements(A)",
     .data = {.signature = "A[rows..., K] B[N, bytes] b_scale a_scale? bias? -> Y",
              .costs = "mac = Y.elements*K; mul = N*K + a_scale.given*A.elements; div = "
                       "a_scale.given*A.elements; add = bias.given*Y.elements"},
     .infer = InferFp8Weight,
     .count = CountFp8Weight,
     .examples = kFp8WeightExamples},
    {.name = "MatMulBnb4",
     .versions = kSince1,
     .formula = "Y[..,N] = A[..,K] W', W[N,K] = table[B] * absmax of its block; mac = "
                "elements(Y)*K, mul = N*K",
     .data = {.signature = "A[rows..., k] B absmax -> Y",
              .attributes = "K = int; N = int",
              .costs = "mac = Y.elements*k; mul = attr.N*attr.K"},
     .infer = InferMatMulBnb4,
     .count = CountMatMulBnb4,
     .examples = kMatMulBnb4Examples,
     .operands = {.weights = InputBits({1}), .not_parameters = InputBits({2}), .packed = true}},
    {.name = "MatMulFpQ4",
     .versions = kSince1,
     .formula = "Y[..,N] = A[..,K] W[K,N], W in blocks of 4 bits; mac = elements(Y)*K, mul = N*K, "
                "add = N*K with offsets (blk_quant_type 1)",
     .data = {.signature = "A[rows..., K] B B_shape -> Y[y..., N]",
              .attributes = "blk_quant_type = 1",
              .costs = "mac = Y.elements*K; mul = N*K; add = (attr.blk_quant_type == 1)*N*K"},
     .infer = InferMatMulFpQ4,
     .count = CountMatMulFpQ4,
     .examples = kMatMulFpQ4Examples,
     .shape_inputs = 1 << 2,
     .operands = {.weights = InputBits({1}), .not_parameters = InputBits({2}), .packed = true},
     .traits = Traits::kReadsContent},
    {.name = "MatMulInteger16",
     .versions = kSince1,
     .formula = "Y[..,M,N] = A[..,M,K] B[..,K,N] in 32-bit integers; integer mac = elements(Y)*K",
     .data = {.signature = "A[a..., K] B -> Y", .costs = "int_mac = Y.elements*K"},
     .infer = InferMatMulInteger16,
     .count = CountMatMulInteger16,
     .examples = kMatMulInteger16Examples},
    {.name = "MatMulIntegerToFloat",
     .versions = kSince1,
     .formula = "Y[..,M,N] = (A - a_zero_point)[..,M,K] (B - b_zero_point)[..,K,N] * a_scale * "
                "b_scale + bias; integer mac = elements(Y)*K, integer add = elements(A) and "
                "elements(B) for each zero point given; mul = elements(Y) + elements(a_scale * "
                "b_scale), add = elements(Y) for bias",
     .data =
         {.signature = "A[a..., K] B a_scale b_scale a_zero_point? b_zero_point? bias? -> Y",
          .costs =
              "int_mac = Y.elements*K; int_add = a_zero_point.given*A.elements + "
              "b_zero_point.given*B.elements; float_mul = Y.elements + broadcast(a_scale.elements, "
              "b_scale.elements); float_add = bias.given*Y.elements"},
     .infer = InferMatMulIntegerToFloat,
     .count = CountMatMulIntegerToFloat,
     .examples = kMatMulIntegerToFloatExamples,
     .operands = {.weights = InputBits({0, 1, 6}), .not_parameters = InputBits({2, 3, 4, 5})}},
    {.name = "MatMulNBits",
     .versions = kSince1,
     .formula = "Y[..,N] = A[..,K] W' + bias, W[N,K] = (B - zero_point) * scale; mac = "
                "elements(Y)*K, mul = N*K, add = N*K with zero_points, add = elements(Y) for bias",
     .data = {.signature = "A[rows..., K] B scales zero_points? g_idx? bias? -> Y",
              .attributes = "N = int",
              .costs = "mac = Y.elements*K; mul = attr.N*K; add = zero_points.given*attr.N*K + "
                       "bias.given*Y.elements"},
     .infer = InferMatMulNBits,
     .count = CountMatMulNBits,
     .examples = kMatMulNBitsExamples,
     .operands = {.weights = InputBits({1, 5}),
                  .not_parameters = InputBits({2, 3, 4}),
                  .packed = true},
     .note = "as DequantizeLinear and MatMul: the weight is dequantised once, at every run"},
    {.name = "MatMulNBitsMlp",
     .versions = kSince1,
     .formula = "Y = activation(X G' + b) * (X U' + c), X = RMSNormalization(A + skip) if asked "
                "for, G and U[N,K] as in MatMulNBits; mac = 2*elements(Y)*K, mul = 2*N*K + "
                "elements(Y), and what the parts cost",
     .data = {.signature = "A[tokens..., K] skip? norm_scale? gate_B gate_scales gate_bias? up_B "
                           "up_scales up_bias? -> Y",
              .attributes = "N = int; activation = activation",
              .let = "normed = norm_scale.given*A.elements; rows = norm_scale.given*tokens",
              .costs =
                  "mac = 2*Y.elements*K; mul = 2*attr.N*K + Y.elements + 2*normed; add = "
                  "(gate_bias.given + up_bias.given)*Y.elements + skip.given*A.elements + normed + "
                  "rows; div = normed + rows; sqrt = rows; attr.activation = Y.elements"},
     .infer = InferMatMulNBitsMlp,
     .count = CountMatMulNBitsMlp,
     .examples = kMatMulNBitsMlpExamples},
    {.name = "MatMulNBitsQkv",
     .versions = kSince1,
     .formula = "Q, K, V = X W' + bias each, X = RMSNormalization(A + skip), W[Nq,K] and twice "
                "[Nkv,K] as in MatMulNBits; mac = rows*(Nq + 2*Nkv)*K, mul = (Nq + 2*Nkv)*K, and "
                "what the parts cost",
     .data = {.signature = "A[tokens..., K] skip? norm_scale? q_B q_scales q_bias? k_B k_scales "
                           "k_bias? v_B v_scales v_bias? -> Q",
              .attributes = "Nq = int; Nkv = int",
              .let = "normed = norm_scale.given*A.elements; rows = norm_scale.given*tokens; N = "
                     "attr.Nq + 2*attr.Nkv",
              .costs = "mac = tokens*N*K; mul = N*K + 2*normed; add = tokens*(q_bias.given*attr.Nq "
                       "+ (k_bias.given + v_bias.given)*attr.Nkv) + skip.given*A.elements + normed "
                       "+ rows; div = normed + rows; sqrt = rows"},
     .infer = InferMatMulNBitsQkv,
     .count = CountMatMulNBitsQkv,
     .examples = kMatMulNBitsQkvExamples},
    {.name = "QGemm",
     .versions = kSince1,
     .formula = "Y[M,N] = requantised (A - a_zero_point)'[M,K] (B - b_zero_point)'[K,N] + C; "
                "integer mac = M*N*K, integer add = elements(A) + elements(B), and M*N for C; per "
                "element of Y: mul, and to 8 bits round, add, 2 cmp",
     .data = {.signature =
                  "A a_scale a_zero_point? B b_scale b_zero_point? C? y_scale? y_zero_point? -> Y",
              .attributes = "transA = 0",
              .let = "K = if(attr.transA, A[0], A[1]); quantized = y_zero_point.given*Y.elements",
              .costs =
                  "int_mac = Y.elements*K; int_add = a_zero_point.given*A.elements + "
                  "b_zero_point.given*B.elements + C.given*Y.elements; float_mul = Y.elements; "
                  "float_round = quantized; float_add = quantized; float_cmp = 2*quantized"},
     .infer = InferQGemm,
     .count = CountQGemm,
     .examples = kQGemmExamples,
     .operands = {.weights = InputBits({3, 6}), .not_parameters = InputBits({1, 2, 4, 5, 7, 8})},
     .note = "The factor alpha * a_scale * b_scale / y_scale is made once: not counted."},
    {.name = "QOrderedMatMul",
     .versions = kSince1,
     .formula = "Y[..,M,N] = requantised A[..,M,K] B[K,N] + bias + C; integer mac = elements(Y)*K; "
                "per element of Y: mul, round, 2 cmp, add for bias and for C; mul = elements(C)",
     .data = {.signature = "A[a..., K] scale_A B scale_B scale_Y bias? C? scale_C? -> Y",
              .costs = "int_mac = Y.elements*K; float_mul = Y.elements + C.elements; float_round = "
                       "Y.elements; float_cmp = 2*Y.elements; float_add = (bias.given + "
                       "C.given)*Y.elements"},
     .infer = InferQOrderedMatMul,
     .count = CountQOrderedMatMul,
     .examples = kQOrderedMatMulExamples,
     .note = "the memory orders of cublasLt do not change what is computed"},
    {.name = "SparseToDenseMatMul",
     .versions = kSince1,
     .formula = "Y[..,M,N] = alpha A'[M,K] B'[..,K,N], A sparse; mac = elements(Y)*K",
     .data = kFusedMatMulFormulas,
     .infer = InferFusedMatMul,
     .count = CountFusedMatMul,
     .examples = kSparseToDenseMatMulExamples,
     .note = "Counted as if A were dense: how many of its elements are stored is not known, and "
             "elements that are 0 are counted elsewhere too."},
    {.name = "TransposeMatMul",
     .versions = kSince1,
     .formula = "as FusedMatMul",
     .data = kFusedMatMulFormulas,
     .infer = InferFusedMatMul,
     .count = CountFusedMatMul,
     .examples = kTransposeMatMulExamples},
};

}  // namespace

constinit const OpFamily kMsMatMulFamily = {"com.microsoft", kMsMatMulRows};

}  // namespace onnxflops
