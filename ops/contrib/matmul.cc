// com.microsoft: matrix products with what is fused into them, distances and inverses.
//
// How it works. Operands are brought into the form that MatMul or Gemm takes, and their shape rules
// run on them; costs are formulas of the rows. Gradients: the activation's first, then a product as
// large as forward for each factor, a scale if there is one, and a sum for what was broadcast. An
// inverse takes two products for its gradient. CDist is counted as differences, squares and sums,
// not by the binomial formula with a matrix product that a runtime may use.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/contrib/plain.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
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

// ---- Gemm and what follows it

absl::StatusOr<Facts> InferFusedGemm(const NodeView& n) {
  return InferAs(n, "Gemm", InputsOf(n, 3));
}

// GemmFastGelu: X[..,K] W[K,N], plus a bias, then FastGelu.
absl::StatusOr<Facts> InferGemmFastGelu(const NodeView& n) {
  return InferAs(n, "MatMul", {n.input(0), n.input(1)});
}

// GemmFloat8: Y = quantised activation(alpha * dequantised A' dequantised B' + beta * C).
absl::StatusOr<Facts> InferGemmFloat8(const NodeView& n) {
  ASSIGN_OR_RETURN(DType type, DTypeAttr(n, "dtype", DType::kFloat32));
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "Gemm", {n.input(0), n.input(1)}));
  return Facts{Fact::Tensor(type, facts[0].shape)};
}

// ---- gradients of products

// ---- CDist: C[M,K] = distances of the rows of A[M,N] and B[K,N]

absl::StatusOr<Facts> InferCDist(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape a, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape b, n.RankedShape(1, 2));
  RETURN_IF_ERROR(n.RequireSame("N", a[1], b[1]));
  return Facts{n.Like(0, Shape{a[0], b[0]})};
}

// ---- Inverse: of square matrices, by elimination in place

absl::StatusOr<Facts> InferInverse(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  RETURN_IF_ERROR(n.RequireSame("the size of a square matrix", x[x.rank() - 2], x[x.rank() - 1]));
  return Facts{n.Like(0, std::move(x))};
}

constexpr FormulaData kFusedMatMulFormulas = {
    .signature = "A B -> Y",
    .attributes =
        "transA = 0; transBatchA = 0; transB = 0; transBatchB = 0; alpha = 1.0; "
        "activation = activation",
    .let =
        "a = if((attr.transA != 0)*(A.rank > 1), if(attr.transBatchA, A[0], A[-2]), A[-1]); b = "
        "if((attr.transB != 0) + (B.rank == 1), B[-1], if(attr.transBatchB, B[0], B[-2])); K = "
        "same(a, b)",
    .costs = "mac = Y.elements*K; mul = if(attr.alpha.is_1, 0, Y.elements)"};
constexpr Gradient kFusedMatMulGradient = {
    .formula =
        "dA = alpha dY B'; dB = alpha A' dY: a product as large as forward for each; before, "
        "the gradient of the activation",
    .costs =
        "mac = (A.needed + B.needed)*forward.mac; mul = if(attr.alpha.is_1, 0, "
        "A.needed*A.elements + B.needed*B.elements)",
    .keeps = {.crosswise = true}};

constexpr OpDef kMsMatMulRows[] = {
    {.name = "CDist",
     .formula = "C[M,K] = sum over N of (A[M,N] - B[K,N])^2, and its root if euclidean",
     .data = {.signature = "A[M, N] B[K, N] -> C",
              .attributes = "metric = sqeuclidean|euclidean",
              .costs = "add = 2*M*K*N; mul = M*K*N; sqrt = attr.metric.euclidean*M*K"},
     .infer = InferCDist,
     .examples = {{"float[N,8] A, float[9,8] B -> float[N,9] C <metric = \"euclidean\">",
                   "add=144*N mul=72*N sqrt=9*N"}},
     .note = "the differences as they are defined, not the product of matrices that they can be "
             "had from",
     .gradient = {.formula =
                      "g = 2 dC, or dC / C if euclidean: dA = sum over K of g (A - B), dB = -sum "
                      "over M of that",
                  // Times the differences, which are computed again; then added up over the rows
                  // of the other side.
                  .costs = "add = (1 + A.needed + B.needed)*M*K*N; mul = M*K*(N + "
                           "attr.metric.sqeuclidean); div = M*K*attr.metric.euclidean"}},
    {.name = "FusedGemm",
     .formula = "Y[M,N] = activation(alpha A'B' + beta C)",
     .data = {.attributes = "activation = activation", .costs = "as Gemm"},
     .infer = InferFusedGemm,
     .examples = {{"float[N,8] A, float[9,8] B, float[9] C -> float[N,9] Y <transB = 1, activation "
                   "= \"LeakyRelu\", activation_alpha = 0.1>",
                   "mac=72*N add=9*N mul=9*N cmp=9*N"}},
     .operands = {.weights = InputBits({0, 1, 2})},
     .gradient = {.formula =
                      "dA = alpha dY B'; dB = alpha A' dY: a product as large as forward for "
                      "each; dC = beta * sum of dY; before, the gradient of the activation",
                  .costs = "mac = (A.needed + B.needed)*forward.mac; mul = if(attr.alpha.is_1, 0, "
                           "A.needed*A.elements + B.needed*B.elements) + if(attr.beta.is_1, 0, "
                           "C.needed*C.elements); add = C.summed"}},
    {.name = "FusedMatMul",
     .formula = "Y[..,M,N] = alpha A'[..,M,K] B'[..,K,N]",
     .data = kFusedMatMulFormulas,
     .infer = InferFusedMatMul,
     .examples =
         {{"float[N,8,16] A, float[N,9,16] B -> float[N,8,9] Y <transB = 1, alpha = 0.125>",
           "mac=1152*N mul=72*N"},
          {"float[8,N,16] A, float[16,N,9] B -> float[N,8,9] Y <transBatchA = 1, transBatchB = 1>",
           "mac=1152*N"},
          // A vector stays as it is, as in ONNX Runtime.
          {"float[16] A, float[N,16,9] B -> float[N,9] Y <transA = 1>", "mac=144*N"}},
     .operands = {.weights = InputBits({0, 1})},
     .gradient = kFusedMatMulGradient},
    {.name = "FusedMatMulActivation",
     .formula = "Y = activation(alpha A'[..,M,K] B'[..,K,N])",
     .data = kFusedMatMulFormulas,
     .infer = InferFusedMatMul,
     .examples = {{"float[N,8] A, float[8,9] B -> float[N,9] Y <activation = \"Relu\">",
                   "mac=72*N cmp=9*N"}},
     .gradient = {.formula = kFusedMatMulGradient.formula, .costs = kFusedMatMulGradient.costs}},
    {.name = "GemmFastGelu",
     .formula = "Y[..,N] = FastGelu(X[..,K] W[K,N] + bias)",
     .data = {.signature = "X W bias? -> Y",
              .let = "K = same(X[-1], W[max(-2, -W.rank)])",
              .costs = "mac = Y.elements*K; mul = 4*Y.elements; add = (2 + bias.given)*Y.elements; "
                       "pow = Y.elements; tanh = Y.elements"},
     .infer = InferGemmFastGelu,
     .examples = {{"float[N,5,8] X, float[8,2] W, float[2] B -> float[N,5,2] Y",
                   "mac=80*N add=30*N mul=40*N pow=10*N tanh=10*N"}},
     .operands = {.weights = InputBits({1, 2})},
     .gradient =
         {.formula =
              "that of FastGelu; dX, dW: a product as large as forward for each; dbias = sum of dY",
          .costs = "mac = (X.needed + W.needed)*forward.mac; add = bias.summed",
          .shared = kGeluTanhGradient}},
    {.name = "GemmFloat8",
     .formula = "Y[M,N] = activation(alpha A'[M,K] B'[K,N] + beta C) / scaleY",
     .data = {.signature = "A B C? scaleA? scaleB? scaleY? -> Y",
              .attributes =
                  "transA = 0; transB = 0; alpha = 1.0; beta = 0.0; activation = activation",
              .let = "K = same(if(attr.transA, A[0], A[1]), if(attr.transB, B[1], B[0])); biased = "
                     "C.given*(1 - attr.beta.is_0)",
              .costs = "mac = Y.elements*K; add = biased*Y.elements; mul = if(attr.alpha.is_1, 0, "
                       "Y.elements) + scaleA.given*A.elements + scaleB.given*B.elements + "
                       "if(attr.beta.is_1, 0, biased*C.elements); div = scaleY.given*Y.elements"},
     .infer = InferGemmFloat8,
     .examples = {{"float8e4m3fn[N,16] A, float8e4m3fn[9,16] B, , float As, float Bs, float Ys -> "
                   "float16[N,9] Y <transB = 1, dtype = 10>",
                   "mac=144*N mul=16*N + 144 div=9*N"},
                  {"float16[N,16] A, float16[16,9] B, float16[9] C -> float16[N,9] Y <dtype = 10, "
                   "beta = 1.0, activation = \"RELU\">",
                   "mac=144*N add=9*N cmp=9*N"}},
     .operands = {.weights = InputBits({1}), .not_parameters = InputBits({3, 4, 5})}},
    // For each of N pivots: its reciprocal; its row and its column times that; and a product taken
    // from each of the other (N - 1)^2 elements.
    {.name = "Inverse",
     .formula = "Y[..,N,N] = inverse of X, by Gauss-Jordan elimination in place",
     .data = {.signature = "X[batch..., M, N] -> Y",
              .costs = "div = batch*N; mul = batch*N*(N - 1)*(N + 1); add = batch*N*(N - 1)^2"},
     .infer = InferInverse,
     .examples = {{"float[B,3,3] X -> float[B,3,3] Y", "add=12*B mul=24*B div=3*B"}},
     .note = "the search for pivots is not counted",
     .gradient = {.formula = "dX = -Y' dY Y': two products of N^3 each",
                  .costs = "mac = 2*Y.elements*N"}},
    {.name = "SparseToDenseMatMul",
     .formula = "Y[..,M,N] = alpha A'[M,K] B'[..,K,N], A sparse",
     .data = kFusedMatMulFormulas,
     .infer = InferFusedMatMul,
     .examples = {{"float[N,8] A, float[8,9] B -> float[N,9] Y", "mac=72*N"}},
     .note = "Counted as if A were dense: how many of its elements are stored is not known, and "
             "elements that are 0 are counted elsewhere too.",
     .gradient = kFusedMatMulGradient},
    {.name = "TransposeMatMul",
     .formula = "Y[..,M,N] = alpha A'[..,M,K] B'[..,K,N]",
     .data = kFusedMatMulFormulas,
     .infer = InferFusedMatMul,
     .examples = {{"float[16,N] A, float[16,9] B -> float[N,9] Y <transA = 1>", "mac=144*N"}},
     .gradient = kFusedMatMulGradient},
};

}  // namespace

constinit const OpFamily kMsMatMulFamily = {"com.microsoft", kMsMatMulRows};

}  // namespace onnxflops
