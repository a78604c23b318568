// com.microsoft: matrix products on integers.
#include "ops/contrib/plain.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

absl::StatusOr<Facts> InferMatMulInteger16(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "MatMul", InputsOf(n)));
  const bool is_unsigned = n.dtype(0) == DType::kUint16 && n.dtype(1) == DType::kUint16;
  facts[0].dtype = is_unsigned ? DType::kUint32 : DType::kInt32;
  return facts;
}

// MatMulIntegerToFloat: Y = (A - a_zero_point) (B - b_zero_point) * a_scale * b_scale + bias.
absl::StatusOr<Facts> InferMatMulIntegerToFloat(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "MatMul", {n.input(0), n.input(1)}));
  facts[0].dtype = n.dtype(3);
  return facts;
}

// DynamicQuantizeMatMul: MatMulIntegerToFloat of A as DynamicQuantizeLinear quantises it.
absl::StatusOr<Facts> InferDynamicQuantizeMatMul(const NodeView& n) {
  return InferAs(n, "MatMul", {n.input(0), n.input(1)});
}

MacOperands DynamicOperands(const NodeView& n) { return {.a = DType::kUint8, .b = n.dtype(1)}; }

// QGemm: A, a_scale, a_zero_point, B, b_scale, b_zero_point, C, y_scale, y_zero_point.
absl::StatusOr<Facts> InferQGemm(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "Gemm", {n.input(0), n.input(3), n.input(6)}));
  facts[0].dtype = n.HasInput(8) ? n.dtype(8) : DType::kFloat32;
  return facts;
}

// QOrderedMatMul: A, scale_A, B, scale_B, scale_Y, bias, C, scale_C; no zero points.
absl::StatusOr<Facts> InferQOrderedMatMul(const NodeView& n) {
  return InferAs(n, "MatMul", {n.input(0), n.input(2)});
}

constexpr OpDef kMsIntegerMatMulRows[] = {
    {.name = "DynamicQuantizeMatMul",
     .formula = "Y[..,M,N] = MatMulIntegerToFloat of DynamicQuantizeLinear(A[..,M,K]) and B[K,N]",
     .data = {.signature = "A B b_scale b_zero_point? bias? -> Y",
              .let = "K = same(A[-1], B[max(-2, -B.rank)])",
              .costs = "int_mac = Y.elements*K; int_add = A.elements + "
                       "b_zero_point.given*B.elements; float_div = A.elements + 2; float_round = "
                       "A.elements + 1; float_add = A.elements + 2 + bias.given*Y.elements; "
                       "float_cmp = 4*A.elements + 4; float_mul = b_scale.elements + Y.elements"},
     .infer = InferDynamicQuantizeMatMul,
     .mac_operands = DynamicOperands,
     .examples = {{"float[N,8] A, int8[8,9] B, float t, int8 z, float[9] b -> float[N,9] Y",
                   "add=17*N + 2 mul=9*N + 1 div=8*N + 2 cmp=32*N + 4 round=8*N + 1 int_mac=72*N "
                   "int_add=8*N + 72"}},
     .operands = {.weights = InputBits({1, 4}), .not_parameters = InputBits({2, 3})}},
    {.name = "MatMulInteger16",
     .formula = "Y[..,M,N] = A[..,M,K] B[..,K,N] in 32-bit integers",
     .data = {.signature = "A B -> Y",
              .let = "K = same(A[-1], B[max(-2, -B.rank)])",
              .costs = "int_mac = Y.elements*K"},
     .infer = InferMatMulInteger16,
     .examples = {{"int16[N,8] A, int16[8,9] B -> int32[N,9] Y", "int_mac=72*N"}}},
    {.name = "MatMulIntegerToFloat",
     .formula = "Y[..,M,N] = (A - a_zero_point)[..,M,K] (B - b_zero_point)[..,K,N] * a_scale * "
                "b_scale + bias",
     .data =
         {.signature = "A B a_scale b_scale a_zero_point? b_zero_point? bias? -> Y",
          .let = "K = same(A[-1], B[max(-2, -B.rank)])",
          .costs =
              "int_mac = Y.elements*K; int_add = a_zero_point.given*A.elements + "
              "b_zero_point.given*B.elements; float_mul = Y.elements + broadcast(a_scale.elements, "
              "b_scale.elements); float_add = bias.given*Y.elements"},
     .infer = InferMatMulIntegerToFloat,
     .examples =
         {{"uint8[N,8] A, int8[8,9] B, float s, float[9] t, uint8 z, , float[9] b -> float[N,9] Y",
           "add=9*N mul=9*N + 9 int_mac=72*N int_add=8*N"}},
     .operands = {.weights = InputBits({0, 1, 6}), .not_parameters = InputBits({2, 3, 4, 5})}},
    {.name = "QGemm",
     .formula = "Y[M,N] = requantised (A - a_zero_point)'[M,K] (B - b_zero_point)'[K,N] + C",
     .data = {.signature =
                  "A a_scale a_zero_point? B b_scale b_zero_point? C? y_scale? y_zero_point? -> Y",
              .attributes = "transA = 0",
              .let = "K = if(attr.transA, A[0], A[1]); quantized = y_zero_point.given*Y.elements",
              .costs =
                  "int_mac = Y.elements*K; int_add = a_zero_point.given*A.elements + "
                  "b_zero_point.given*B.elements + C.given*Y.elements; float_mul = Y.elements; "
                  "float_round = quantized; float_add = quantized; float_cmp = 2*quantized"},
     .infer = InferQGemm,
     .mac_operands = TypesOf<0, 3>,
     .examples = {{"uint8[N,8] A, float s, uint8 z, int8[9,8] B, float t, int8 u, int32[9] C, "
                   "float v, uint8 w -> uint8[N,9] Y <transB = 1>",
                   "add=9*N mul=9*N cmp=18*N round=9*N int_mac=72*N int_add=17*N + 72"},
                  {"uint8[N,8] A, float s, uint8 z, uint8[8,9] B, float t, uint8 u -> float[N,9] Y",
                   "mul=9*N int_mac=72*N int_add=8*N + 72"}},
     .operands = {.weights = InputBits({3, 6}), .not_parameters = InputBits({1, 2, 4, 5, 7, 8})},
     .note = "The factor alpha * a_scale * b_scale / y_scale is made once: not counted."},
    {.name = "QOrderedMatMul",
     .formula = "Y[..,M,N] = requantised A[..,M,K] B[K,N] + bias + C",
     .data = {.signature = "A scale_A B scale_B scale_Y bias? C? scale_C? -> Y",
              .let = "K = same(A[-1], B[max(-2, -B.rank)])",
              .costs = "int_mac = Y.elements*K; float_mul = Y.elements + C.elements; float_round = "
                       "Y.elements; float_cmp = 2*Y.elements; float_add = (bias.given + "
                       "C.given)*Y.elements"},
     .infer = InferQOrderedMatMul,
     .mac_operands = TypesOf<0, 2>,
     .examples = {{"int8[N,5,8] A, float s, int8[8,9] B, float t, float u, float[9] b, int8[N,5,9] "
                   "C, float v -> int8[N,5,9] Y <order_A = 1, order_B = 0, order_Y = 1>",
                   "add=90*N mul=90*N cmp=90*N round=45*N int_mac=360*N"}},
     .operands = {.weights = InputBits({2, 5}), .not_parameters = InputBits({1, 3, 4, 7})},
     .note = "the memory orders of cublasLt do not change what is computed"},
};

}  // namespace

constinit const OpFamily kMsIntegerMatMulFamily = {"com.microsoft", kMsIntegerMatMulRows};

}  // namespace onnxflops
