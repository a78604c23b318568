// com.microsoft: products with weights that are packed in blocks of few bits.
//
// How it works. N and K come from attributes or an input, since the packed weight's shape does not
// tell them. A's last dimension must be K. Costs are formulas: the product, and the dequantisation
// of the whole weight once. The MACs are labelled with the stored types (float16 x int4), which
// decide the peak that a device reaches. Such weights are not trained: backward has a gradient for
// A only and dequantises again.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/contrib/packed_formats.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// Weights in few bits are not trained: only A has a gradient, for which they are dequantised again.
constexpr Gradient kPackedGradient = {
    .formula = "dA = dY B': a product as large as forward, with B made again; B is not trained",
    .as_forward = true,
    .keeps = {.nothing = true}};

// ---- weights in blocks of few bits: Y[..,N] = A[..,K] W'[K,N], W dequantised first. N and K are
// attributes: the shape of the packed weight does not tell.

// A product of A's last dimension, which must be `k`, with N columns.
absl::StatusOr<Shape> ProductWith(const NodeView& n, const Expr& columns, const Expr& k) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 1));
  RETURN_IF_ERROR(n.RequireSame("K", y[y.rank() - 1], k));
  y[y.rank() - 1] = columns;
  return y;
}

absl::StatusOr<Expr> SizeAttr(const NodeView& n, absl::string_view name) {
  const int64_t size = n.Int(name, 0);
  if (size > 0) return Expr(size);
  return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " is ", size));
}

absl::StatusOr<Shape> NBitsProduct(const NodeView& n, absl::string_view columns) {
  ASSIGN_OR_RETURN(Expr k, SizeAttr(n, "K"));
  ASSIGN_OR_RETURN(Expr width, SizeAttr(n, columns));
  return ProductWith(n, width, k);
}

// The integer type of so many bits, for the label of a product.
DType BitsType(int64_t bits) {
  if (bits <= 2) return DType::kInt2;
  return bits <= 4 ? DType::kInt4 : DType::kInt8;
}

MacOperands NBitsOperands(const NodeView& n) {
  return {.a = n.dtype(0), .b = BitsType(n.Int("bits", 4))};
}

absl::StatusOr<Facts> InferMatMulNBits(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape product, NBitsProduct(n, "N"));
  return Facts{n.Like(0, std::move(product))};
}

absl::StatusOr<Facts> InferMatMulNBitsMlp(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape product, NBitsProduct(n, "N"));
  return Facts{n.Like(0, std::move(product)), n.Like(0, n.input(0).shape)};
}

// MatMulNBitsQkv: three products of the normalised A.
absl::StatusOr<Facts> InferMatMulNBitsQkv(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape q, NBitsProduct(n, "Nq"));
  ASSIGN_OR_RETURN(Shape kv, NBitsProduct(n, "Nkv"));
  return Facts{n.Like(0, q), n.Like(0, kv), n.Like(0, kv), n.Like(0, n.input(0).shape)};
}

// MatMulBnb4: W[N,K] in 4 bits, looked up in a table and scaled; without transB, A[..,N] W[N,K].
absl::StatusOr<Shape> Bnb4Product(const NodeView& n) {
  ASSIGN_OR_RETURN(Expr k, SizeAttr(n, "K"));
  ASSIGN_OR_RETURN(Expr columns, SizeAttr(n, "N"));
  return n.Flag("transB", true) ? ProductWith(n, columns, k) : ProductWith(n, k, columns);
}

absl::StatusOr<Facts> InferMatMulBnb4(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape product, Bnb4Product(n));
  return Facts{n.Like(0, std::move(product))};
}

MacOperands Bnb4Operands(const NodeView& n) {
  const bool fp4 = n.Int("quant_type", 0) == 0;
  return {.a = n.dtype(0), .b = fp4 ? DType::kFloat4E2M1 : DType::kUint4};
}

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
  ASSIGN_OR_RETURN(Shape product, ProductWith(n, (*weight)[1], (*weight)[0]));
  return Facts{n.Like(0, std::move(product))};
}

MacOperands FpQ4Operands(const NodeView& n) { return {.a = n.dtype(0), .b = DType::kInt4}; }

// MatMulBlockQuantized...: W[N,K], of Fp4 two to a byte.
absl::StatusOr<Shape> BlockQuantizedProduct(const NodeView& n, int per_byte) {
  ASSIGN_OR_RETURN(Shape w, n.RankedShape(1, 2));
  return ProductWith(n, w[0], per_byte * w[1]);
}

absl::StatusOr<Facts> InferFp4Weight(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape product, BlockQuantizedProduct(n, 2));
  const int64_t block_size = n.Int("block_size", 16);
  if (block_size < 1) {
    return absl::InvalidArgumentError(absl::StrCat("block_size is ", block_size));
  }
  return Facts{n.Like(0, std::move(product))};
}

MacOperands Fp4Operands(const NodeView& n) { return {.a = n.dtype(0), .b = DType::kFloat4E2M1}; }

absl::StatusOr<Facts> InferFp8Weight(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape product, BlockQuantizedProduct(n, 1));
  return Facts{n.Like(0, std::move(product))};
}

// With a scale of its own, A is quantised (by a cast, which rounds for free) and dequantised as
// well.
MacOperands Fp8Operands(const NodeView& n) {
  if (n.HasInput(3)) return {.a = n.dtype(1), .b = n.dtype(1), .qdq = true};
  return {.a = n.dtype(0), .b = n.dtype(1)};
}

// MatMulPacked: W[N,K] in rows of blocks.
absl::StatusOr<Facts> InferMatMulPacked(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape product, NBitsProduct(n, "N"));
  ASSIGN_OR_RETURN(Shape w, n.RankedShape(1, 2));
  RETURN_IF_ERROR(n.RequireSame("N", w[0], product[product.rank() - 1]));
  const int64_t id = n.Int("packed_type", -1);
  if (const auto format = FindPackedFormat("packed_type", id); format.ok()) {
    RETURN_IF_ERROR(CheckPackedRow(n, **format, n.Int("K", 0), w[1]));
  }
  return Facts{n.Like(0, std::move(product))};
}

absl::StatusOr<Cost> CountMatMulPacked(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape y, n.OutputShape(0));
  ASSIGN_OR_RETURN(const PackedFormat* format,
                   FindPackedFormat("packed_type", n.Int("packed_type", -1)));
  ASSIGN_OR_RETURN(const ElementCost activation,
                   ActivationCost(n.String("activation_type", "none")));
  const Expr k = n.Int("K", 0);
  Cost cost = Flops(UnpackingWork(*format, k * n.Int("N", 0)));
  cost.flops[Kind::kMac] = y.NumElements() * k;
  cost.flops += activation * y.NumElements();
  if (n.HasInput(2)) cost.flops[Kind::kMul] += y.NumElements();
  cost.flops_mac_operands = {.a = n.dtype(0), .b = format->type};
  return cost;
}

// MatMulNBitsQLoRA: X W' + (X A') B', all three in blocks of few bits. A and B may be empty, to
// leave the adapter out.
absl::StatusOr<Facts> InferMatMulNBitsQLora(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape product, NBitsProduct(n, "N"));
  ASSIGN_OR_RETURN(Shape down, n.RankedShape(3, 3));
  ASSIGN_OR_RETURN(Shape scales, n.ShapeOfRankAtLeast(4, 1));
  RETURN_IF_ERROR(n.RankedShape(5, 3).status());
  if (scales.rank() == 2 && down[0] != Expr(0)) {
    RETURN_IF_ERROR(n.RequireSame("the rank of lora_A and of its scales", down[0], scales[0]));
  }
  return Facts{n.Like(0, std::move(product))};
}

constexpr OpDef kMsPackedMatMulRows[] = {
    {.name = "MatMulBlockQuantizedFp4Weight",
     .formula = "Y[..,N] = A[..,K] W' + bias, W[N,K] = B * block scale * global scale",
     .data = {.signature = "A B[N, bytes] block_scale global_scale? a_scale? bias? -> Y",
              .attributes = "block_size = 16",
              .let = "K = 2*bytes",
              .costs = "mac = Y.elements*K; mul = N*K + N*((K + attr.block_size - 1) // "
                       "attr.block_size); add = bias.given*Y.elements"},
     .infer = InferFp4Weight,
     .mac_operands = Fp4Operands,
     .examples = {{"float16[S,64] A, uint8[48,32] B, uint8[48,4] s, float t, , float16[48] b -> "
                   "float16[S,48] Y",
                   "mac=3072*S add=48*S mul=3264"}},
     .operands = {.weights = InputBits({1, 5}),
                  .not_parameters = InputBits({2, 3, 4}),
                  .packed = true},
     .gradient = kPackedGradient},
    {.name = "MatMulBlockQuantizedFp8Weight",
     .formula = "Y[..,N] = A[..,K] W' + bias, W[N,K] = B * block scale",
     .data = {.signature = "A B[N, K] b_scale a_scale? bias? -> Y",
              .costs = "mac = Y.elements*K; mul = N*K + a_scale.given*A.elements; div = "
                       "a_scale.given*A.elements; add = bias.given*Y.elements"},
     .infer = InferFp8Weight,
     .mac_operands = Fp8Operands,
     .examples = {{"float16[S,64] A, float8e4m3fn[48,64] B, float[48,1] s -> float16[S,48] Y",
                   "mac=3072*S mul=3072"},
                  {"float16[S,64] A, float8e4m3fn[48,64] B, float[48,1] s, float t, float16[48] b "
                   "-> float16[S,48] Y",
                   "mac=3072*S add=48*S mul=64*S + 3072 div=64*S"}},
     .operands = {.weights = InputBits({1, 4}), .not_parameters = InputBits({2, 3})},
     .gradient = kPackedGradient},
    {.name = "MatMulBnb4",
     .formula = "Y[..,N] = A[..,K] W', W[N,K] = table[B] * absmax of its block",
     .data = {.signature = "A B absmax -> Y",
              .attributes = "K = int; N = int; transB = 1",
              .let = "k = if(attr.transB, attr.K, attr.N)",
              .costs = "mac = Y.elements*k; mul = attr.N*attr.K"},
     .infer = InferMatMulBnb4,
     .mac_operands = Bnb4Operands,
     .examples = {{"float16[S,64] A, uint8[1536] B, float16[48] m -> float16[S,48] Y <K = 64, N = "
                   "48, block_size = 64, quant_type = 1>",
                   "mac=3072*S mul=3072"},
                  {"float16[S,48] A, uint8[1536] B, float16[48] m -> float16[S,64] Y <K = 64, N = "
                   "48, block_size = 64, quant_type = 1, transB = 0>",
                   "mac=3072*S mul=3072"}},
     .operands = {.weights = InputBits({1}), .not_parameters = InputBits({2}), .packed = true},
     .gradient = kPackedGradient},
    {.name = "MatMulFpQ4",
     .formula = "Y[..,N] = A[..,K] W[K,N], W in blocks of 4 bits",
     .data = {.signature = "A[rows..., K] B B_shape -> Y[y..., N]",
              .attributes = "blk_quant_type = 1",
              .costs = "mac = Y.elements*K; mul = N*K; add = (attr.blk_quant_type == 1)*N*K"},
     .infer = InferMatMulFpQ4,
     .mac_operands = FpQ4Operands,
     .examples = {{"g (float[S,64] A, uint8[2000] B) => (float[S,48] Y) <int64[2] s = {64, 48}> "
                   "{ Y = com.microsoft.MatMulFpQ4<blk_quant_type = 0>(A, B, s) }",
                   "mac=3072*S mul=3072"}},
     .shape_inputs = 1 << 2,
     .operands = {.weights = InputBits({1}), .not_parameters = InputBits({2}), .packed = true},
     .traits = Traits::kReadsContent,
     .gradient = kPackedGradient},
    {.name = "MatMulNBits",
     .formula = "Y[..,N] = A[..,K] W' + bias, W[N,K] = (B - zero_point) * scale",
     .data = {.signature = "A B scales zero_points? g_idx? bias? -> Y",
              .attributes = "K = int; N = int",
              .let = "K = attr.K",
              .costs = "mac = Y.elements*K; mul = attr.N*K; add = zero_points.given*attr.N*K + "
                       "bias.given*Y.elements"},
     .infer = InferMatMulNBits,
     .mac_operands = NBitsOperands,
     .examples = {{"float16[S,5,64] A, uint8[48,2,16] B, float16[48,2] s -> float16[S,5,48] Y <K = "
                   "64, N = 48, block_size = 32>",
                   "mac=15360*S mul=3072"},
                  {"float[S,64] A, uint8[48,2,32] B, float[48,2] s, uint8[48,2] z, , float[48] b "
                   "-> float[S,48] Y <K = 64, N = 48, bits = 8, block_size = 32>",
                   "mac=3072*S add=48*S + 3072 mul=3072"}},
     .operands = {.weights = InputBits({1, 5}),
                  .not_parameters = InputBits({2, 3, 4}),
                  .packed = true},
     .note = "as DequantizeLinear and MatMul: the weight is dequantised once, at every run",
     .gradient = kPackedGradient},
    {.name = "MatMulNBitsMlp",
     .formula = "Y = activation(X G' + b) * (X U' + c), X = RMSNormalization(A + skip) if asked "
                "for, G and U[N,K] as in MatMulNBits",
     .data =
         {.signature = "A[tokens..., last] skip? norm_scale? gate_B gate_scales gate_bias? up_B "
                       "up_scales up_bias? -> Y",
          .attributes = "K = int; N = int; activation = activation",
          .let = "K = attr.K; normed = norm_scale.given*A.elements; rows = norm_scale.given*tokens",
          .costs =
              "mac = 2*Y.elements*K; mul = 2*attr.N*K + Y.elements + 2*normed; add = "
              "(gate_bias.given + up_bias.given)*Y.elements + skip.given*A.elements + normed + "
              "rows; div = normed + rows; sqrt = rows"},
     .infer = InferMatMulNBitsMlp,
     .mac_operands = NBitsOperands,
     .examples = {{"float16[S,64] A, float16[S,64] R, float16[64] G, uint8[48,2,16] B, "
                   "float16[48,2] s, , uint8[48,2,16] C, float16[48,2] t -> float16[S,48] Y, "
                   "float16[S,64] Z <K = 64, N = 48, block_size = 32, activation = \"silu\">",
                   "mac=6144*S add=177*S mul=224*S + 6144 div=113*S exp=48*S sqrt=S"}},
     .operands = {.weights = InputBits({3, 5, 6, 8}),
                  .not_parameters = InputBits({4, 7}),
                  .packed = true}},
    // What a branch adds is there if its weights are not empty: min(elements, 1) is 1 or 0.
    {.name = "MatMulNBitsQLoRA",
     .formula = "Y[..,N] = X[..,K] W' + (X A') B', W[N,K], A[R,K] and B[N,R] as in MatMulNBits; "
                "without B no branch, without A zeros for X A'",
     .data = {.signature = "X[rows..., last] W scales lora_A[down, ka, bytes] lora_A_scales[R, "
                           "ks] lora_B lora_B_scales -> Y",
              .attributes = "K = int; N = int",
              .let = "branch = min(lora_B.elements, 1)",
              .costs = "mac = Y.elements*attr.K + branch*(rows*down*attr.K + Y.elements*R); mul = "
                       "attr.N*attr.K + branch*(down*attr.K + attr.N*R); add = branch*Y.elements"},
     .infer = InferMatMulNBitsQLora,
     .mac_operands = NBitsOperands,
     .examples =
         {{"float16[S,64] X, uint8[48,2,16] W, float16[48,2] s, uint8[9,2,32] A, float16[9,2] a, "
           "uint8[48,1,32] B, float16[48,1] b -> float16[S,48] Y <K = 64, N = 48>",
           "mac=4080*S add=48*S mul=4080"},
          // No adapter.
          {"float16[S,64] X, uint8[48,2,16] W, float16[48,2] s, uint8[0,2,32] A, float16[9,2] a, "
           "uint8[48,0,32] B, float16[48,1] b -> float16[S,48] Y <K = 64, N = 48>",
           "mac=3072*S mul=3072"}},
     .operands = {.weights = InputBits({1, 3, 5}),
                  .not_parameters = InputBits({2, 4, 6}),
                  .packed = true},
     .note = "all three weights are dequantised once, at every run; the label of the product is "
             "that of W"},
    {.name = "MatMulNBitsQkv",
     .formula = "Q, K, V = X W' + bias each, X = RMSNormalization(A + skip), W[Nq,K] and twice "
                "[Nkv,K] as in MatMulNBits",
     .data = {.signature = "A[tokens..., last] skip? norm_scale? q_B q_scales q_bias? k_B k_scales "
                           "k_bias? v_B v_scales v_bias? -> Q",
              .attributes = "K = int; Nq = int; Nkv = int",
              .let = "K = attr.K; normed = norm_scale.given*A.elements; rows = "
                     "norm_scale.given*tokens; N = "
                     "attr.Nq + 2*attr.Nkv",
              .costs = "mac = tokens*N*K; mul = N*K + 2*normed; add = tokens*(q_bias.given*attr.Nq "
                       "+ (k_bias.given + v_bias.given)*attr.Nkv) + skip.given*A.elements + normed "
                       "+ rows; div = normed + rows; sqrt = rows"},
     .infer = InferMatMulNBitsQkv,
     .mac_operands = NBitsOperands,
     .examples = {{"float16[S,64] A, , float16[64] G, uint8[64,2,16] B, float16[64,2] s, , "
                   "uint8[16,2,16] C, float16[16,2] t, , uint8[16,2,16] D, float16[16,2] u, "
                   "float16[16] v -> float16[S,64] Q, float16[S,16] K, float16[S,16] V <K = 64, Nq "
                   "= 64, Nkv = 16, block_size = 32>",
                   "mac=6144*S add=81*S mul=128*S + 6144 div=65*S sqrt=S"}},
     .operands = {.weights = InputBits({3, 5, 6, 8, 9, 11}),
                  .not_parameters = InputBits({4, 7, 10}),
                  .packed = true}},
    {.name = "MatMulPacked",
     .formula = "Y[..,N] = activation(A[..,K] B' * global_scale), B[N,K] in blocks of packed_type; "
                "mac = elements(Y)*K; per weight mul by its scale, per group of a format that has "
                "them mul for its scale, in Q5_K as well mul and add for its minimum; F32, F16 and "
                "BF16: none; per output mul by the global scale, and the activation",
     .infer = InferMatMulPacked,
     .count = CountMatMulPacked,
     .examples =
         {// IQ2_XXS: 48*256 weights in groups of 32.
          {"float16[S,256] A, uint8[48,66] B -> float16[S,48] Y <packed_type = 16, K = 256, N = "
           "48>",
           "mac=12288*S mul=12672"},
          {"bfloat16[S,5,64] A, uint8[48,36] B, float s -> bfloat16[S,5,48] Y <packed_type = 40, K "
           "= 64, N = 48, activation_type = \"relu2\">",
           "mac=15360*S mul=480*S + 3072 cmp=240*S"}},
     .operands = {.weights = InputBits({1}), .not_parameters = InputBits({2}), .packed = true},
     .note = "the weight is dequantised once, at every run"},
};

}  // namespace

constinit const OpFamily kMsPackedMatMulFamily = {"com.microsoft", kMsPackedMatMulRows};

}  // namespace onnxflops
