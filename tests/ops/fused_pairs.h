// Operators of ONNX Runtime, and the operators of ai.onnx that they stand for: each pair is one
// computation written both ways, in ONNX's text form.
#ifndef ONNXFLOPS_TESTS_OPS_FUSED_PAIRS_H_
#define ONNXFLOPS_TESTS_OPS_FUSED_PAIRS_H_

#include <string>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"

namespace onnxflops {

struct FusedPair {
  const char* name;
  const char* fused;  // in com.microsoft, where no domain is written in front
  const char* parts;  // in ai.onnx
};

inline constexpr FusedPair kFusedPairs[] = {
    // ---- elementwise
    {"Gelu", "(float[N,8] x) => (float[N,8] y) { y = com.microsoft.Gelu(x) }",
     "(float[N,8] x) => (float[N,8] y) { y = Gelu(x) }"},
    {"BiasGelu",
     "(float[N,8] x, float[8] b) => (float[N,8] y) { y = com.microsoft.BiasGelu(x, b) }",
     "(float[N,8] x, float[8] b) => (float[N,8] y) { s = Add(x, b) y = Gelu(s) }"},
    {"FastGelu",
     "(float[N,8] x, float[8] b) => (float[N,8] y) { y = com.microsoft.FastGelu(x, b) }",
     "(float[N,8] x, float[8] b) => (float[N,8] y) "
     "{ s = Add(x, b) y = Gelu<approximate = \"tanh\">(s) }"},
    {"QuickGelu", "(float[N,8] x) => (float[N,8] y) { y = com.microsoft.QuickGelu(x) }",
     "(float[N,8] x) => (float[N,8] y) <float a = {1.702}> "
     "{ z = Mul(a, x) s = Sigmoid(z) y = Mul(x, s) }"},
    {"ScaledSiLU",
     "(float[N,8] x, float a) => (float[N,8] y) { y = com.microsoft.ScaledSiLU(x, a) }",
     "(float[N,8] x, float a) => (float[N,8] y) { z = Mul(a, x) s = Sigmoid(z) y = Mul(z, s) }"},
    {"BiasSplitGelu",
     "(float[N,5,8] x, float[8] b) => (float[N,5,4] y) { y = com.microsoft.BiasSplitGelu(x, b) }",
     "(float[N,5,8] x, float[8] b) => (float[N,5,4] y) { s = Add(x, b) "
     "l, r = Split<axis = 2, num_outputs = 2>(s) g = Gelu(r) y = Mul(l, g) }"},
    {"BiasAdd",
     "(float[N,5,8] x, float[8] b, float[N,5,8] z) => (float[N,5,8] y) "
     "{ y = com.microsoft.BiasAdd(x, b, z) }",
     "(float[N,5,8] x, float[8] b, float[N,5,8] z) => (float[N,5,8] y) "
     "{ s = Add(x, b) y = Add(s, z) }"},
    {"GatedAdd",
     "(float[N,8] x, float[N,8] z, float[N,1] g) => (float[N,8] y) "
     "{ y = com.microsoft.GatedAdd(x, z, g) }",
     "(float[N,8] x, float[N,8] z, float[N,1] g) => (float[N,8] y) "
     "{ p = Mul(z, g) y = Add(x, p) }"},
    {"GatedAddProjected",
     "(float[N,8] x, float[N,8] z, float[N,5] g, float[5,1] w) => (float[N,8] y) "
     "{ y = com.microsoft.GatedAdd(x, z, g, w) }",
     "(float[N,8] x, float[N,8] z, float[N,5] g, float[5,1] w) => (float[N,8] y) "
     "{ d = MatMul(g, w) s = Sigmoid(d) p = Mul(z, s) y = Add(x, p) }"},
    {"BiasSoftmax",
     "(float[N,2,5,5] x, float[N,1,1,5] b) => (float[N,2,5,5] y) "
     "{ y = com.microsoft.BiasSoftmax<axis = 3, is_inner_broadcast = 1>(x, b) }",
     "(float[N,2,5,5] x, float[N,1,1,5] b) => (float[N,2,5,5] y) { s = Add(x, b) y = Softmax(s) }"},
    {"BiasDropout",
     "(float[N,8] x, float[8] b, float[N,8] z) => (float[N,8] y) <float r = {0.5}, bool t = {1}> "
     "{ y = com.microsoft.BiasDropout(x, b, z, r, t) }",
     "(float[N,8] x, float[8] b, float[N,8] z) => (float[N,8] y) <float r = {0.5}, bool t = {1}> "
     "{ s = Add(x, b) d = Dropout(s, r, t) y = Add(d, z) }"},
    {"LinearAttentionGate",
     "(float[N,5,2] a, float[2] d, float[2] s, float[N,5,2] b) => (float[N,5,2] g, float[N,5,2] h) "
     "{ g, h = com.microsoft.LinearAttentionGate(a, d, s, b) }",
     "(float[N,5,2] a, float[2] d, float[2] s, float[N,5,2] b) => (float[N,5,2] g, float[N,5,2] h) "
     "{ z = Add(a, d) p = Softplus(z) g = Mul(s, p) h = Sigmoid(b) }"},
    {"HyperConnectionPreMix",
     "(float[N,4,8] x, float[N,4,1] m) => (float[N,8] y) "
     "{ y = com.microsoft.HyperConnectionPreMix<reduction_scale = 0.5>(x, m) }",
     "(float[N,4,8] x, float[N,4,1] m) => (float[N,8] y) <int64[1] a = {1}, float c = {0.5}> "
     "{ p = Mul(x, m) s = ReduceSum<keepdims = 0>(p, a) y = Mul(c, s) }"},
    {"HyperConnectionPostMix",
     "(float[N,4,8] x, float[N,8] b, float[N,4,1] p, float[N,4,4] s) => (float[N,4,8] y) "
     "{ y = com.microsoft.HyperConnectionPostMix(x, b, p, s) }",
     "(float[N,4,8] x, float[N,8] b, float[N,4,1] p, float[N,4,4] s) => (float[N,4,8] y) "
     "<int64[1] a = {1}> { t = Transpose<perm = [0, 2, 1]>(s) m = MatMul(t, x) "
     "u = Unsqueeze(b, a) i = Mul(p, u) y = Add(m, i) }"},
    {"ComplexMul",
     "(float[N,8,2] a, float[N,8,2] b) => (float[N,8,2] y) { y = com.microsoft.ComplexMul(a, b) }",
     "(float[N,8,2] a, float[N,8,2] b) => (float[N,8,2] y) "
     "{ ar, ai = Split<axis = 2, num_outputs = 2>(a) br, bi = Split<axis = 2, num_outputs = 2>(b) "
     "rr = Mul(ar, br) ii = Mul(ai, bi) ri = Mul(ar, bi) ir = Mul(ai, br) r = Sub(rr, ii) "
     "i = Add(ri, ir) y = Concat<axis = 2>(r, i) }"},
    {"CDist",
     "(float[N,8] a, float[9,8] b) => (float[N,9] y) "
     "{ y = com.microsoft.CDist<metric = \"euclidean\">(a, b) }",
     "(float[N,8] a, float[9,8] b) => (float[N,9] y) <int64[1] one = {1}, int64[1] last = {2}> "
     "{ c = Unsqueeze(a, one) d = Sub(c, b) q = Mul(d, d) s = ReduceSum<keepdims = 0>(q, last) "
     "y = Sqrt(s) }"},
    // ---- quantisation
    {"QuantizeLinear",
     "(float[N,8] x, float s, uint8 z) => (uint8[N,8] y) "
     "{ y = com.microsoft.QuantizeLinear(x, s, z) }",
     "(float[N,8] x, float s, uint8 z) => (uint8[N,8] y) { y = QuantizeLinear(x, s, z) }"},
    {"DequantizeLinear",
     "(int8[N,8] x, float s) => (float[N,8] y) { y = com.microsoft.DequantizeLinear(x, s) }",
     "(int8[N,8] x, float s) => (float[N,8] y) { y = DequantizeLinear(x, s) }"},
    {"QLinearAdd",
     "(uint8[N,8] a, uint8[8] b, float s, uint8 z) => (uint8[N,8] y) "
     "{ y = com.microsoft.QLinearAdd(a, s, z, b, s, z, s, z) }",
     "(uint8[N,8] a, uint8[8] b, float s, uint8 z) => (uint8[N,8] y) "
     "{ c = DequantizeLinear(a, s, z) d = DequantizeLinear(b, s, z) e = Add(c, d) "
     "y = QuantizeLinear(e, s, z) }"},
    {"QLinearMul",
     "(uint8[N,8] a, uint8[8] b, float s, uint8 z) => (uint8[N,8] y) "
     "{ y = com.microsoft.QLinearMul(a, s, z, b, s, z, s, z) }",
     "(uint8[N,8] a, uint8[8] b, float s, uint8 z) => (uint8[N,8] y) "
     "{ c = DequantizeLinear(a, s, z) d = DequantizeLinear(b, s, z) e = Mul(c, d) "
     "y = QuantizeLinear(e, s, z) }"},
    {"QLinearSigmoid",
     "(uint8[N,8] x, float s, uint8 z) => (uint8[N,8] y) "
     "{ y = com.microsoft.QLinearSigmoid(x, s, z, s, z) }",
     "(uint8[N,8] x, float s, uint8 z) => (uint8[N,8] y) "
     "{ a = DequantizeLinear(x, s, z) b = Sigmoid(a) y = QuantizeLinear(b, s, z) }"},
    {"QLinearLeakyRelu",
     "(uint8[N,8] x, float s, uint8 z) => (uint8[N,8] y) "
     "{ y = com.microsoft.QLinearLeakyRelu(x, s, z, s, z) }",
     "(uint8[N,8] x, float s, uint8 z) => (uint8[N,8] y) "
     "{ a = DequantizeLinear(x, s, z) b = LeakyRelu(a) y = QuantizeLinear(b, s, z) }"},
    {"QLinearSoftmax",
     "(uint8[N,8] x, float s, uint8 z) => (uint8[N,8] y) "
     "{ y = com.microsoft.QLinearSoftmax<opset = 13>(x, s, z, s, z) }",
     "(uint8[N,8] x, float s, uint8 z) => (uint8[N,8] y) "
     "{ a = DequantizeLinear(x, s, z) b = Softmax(a) y = QuantizeLinear(b, s, z) }"},
    {"QLinearWhere",
     "(bool[N,8] c, uint8[N,8] a, uint8[8] b, float s, uint8 z) => (uint8[N,8] y) "
     "{ y = com.microsoft.QLinearWhere(c, a, s, z, b, s, z, s, z) }",
     "(bool[N,8] c, uint8[N,8] a, uint8[8] b, float s, uint8 z) => (uint8[N,8] y) "
     "{ d = DequantizeLinear(a, s, z) e = DequantizeLinear(b, s, z) w = Where(c, d, e) "
     "y = QuantizeLinear(w, s, z) }"},
    {"QLinearConcat",
     "(uint8[N,3] a, uint8[N,5] b, float s, uint8 z) => (uint8[N,8] y) "
     "{ y = com.microsoft.QLinearConcat<axis = 1>(s, z, a, s, z, b, s, z) }",
     "(uint8[N,3] a, uint8[N,5] b, float s, uint8 z) => (uint8[N,8] y) "
     "{ d = DequantizeLinear(a, s, z) e = DequantizeLinear(b, s, z) c = Concat<axis = 1>(d, e) "
     "y = QuantizeLinear(c, s, z) }"},
    {"QLinearReduceMean",
     "(uint8[N,8] x, float s, uint8 z) => (uint8[N,1] y) "
     "{ y = com.microsoft.QLinearReduceMean<axes = [1], keepdims = 1>(x, s, z, s, z) }",
     "(uint8[N,8] x, float s, uint8 z) => (uint8[N,1] y) <int64[1] i = {1}> "
     "{ a = DequantizeLinear(x, s, z) b = ReduceMean(a, i) y = QuantizeLinear(b, s, z) }"},
    {"QLinearAveragePool",
     "(uint8[N,3,8,8] x, float s, uint8 z) => (uint8[N,3,4,4] y) { y = "
     "com.microsoft.QLinearAveragePool<kernel_shape = [2, 2], strides = [2, 2]>(x, s, z, s, z) }",
     "(uint8[N,3,8,8] x, float s, uint8 z) => (uint8[N,3,4,4] y) { a = DequantizeLinear(x, s, z) "
     "b = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(a) y = QuantizeLinear(b, s, z) }"},
    {"QLinearGlobalAveragePool",
     "(uint8[N,8,8,3] x, float s, uint8 z) => (uint8[N,1,1,3] y) "
     "{ y = com.microsoft.QLinearGlobalAveragePool<channels_last = 1>(x, s, z, s, z) }",
     "(uint8[N,8,8,3] x, float s, uint8 z) => (uint8[N,1,1,3] y) { a = DequantizeLinear(x, s, z) "
     "t = Transpose<perm = [0, 3, 1, 2]>(a) b = GlobalAveragePool(t) "
     "u = Transpose<perm = [0, 2, 3, 1]>(b) y = QuantizeLinear(u, s, z) }"},
    {"MulInteger",
     "(uint8[N,8] a, uint8[8] b, uint8 z) => (int32[N,8] y) "
     "{ y = com.microsoft.MulInteger(a, z, b, z) }",
     "(uint8[N,8] a, uint8[8] b, uint8 z) => (int32[N,8] y) { c = Cast<to = 6>(a) "
     "d = Cast<to = 6>(b) e = Cast<to = 6>(z) f = Sub(c, e) g = Sub(d, e) y = Mul(f, g) }"},
    {"QOrderedGelu",
     "(int8[N,8] x, float s) => (int8[N,8] y) { y = com.microsoft.QOrderedGelu(x, s, s) }",
     "(int8[N,8] x, float s) => (int8[N,8] y) { a = DequantizeLinear(x, s) b = Gelu(a) "
     "y = QuantizeLinear<output_dtype = 3>(b, s) }"},
    // ---- normalization
    {"SkipLayerNormalization",
     "(float[N,5,8] x, float[N,5,8] s, float[8] g, float[8] b, float[8] c) => (float[N,5,8] y) "
     "{ y = com.microsoft.SkipLayerNormalization(x, s, g, b, c) }",
     "(float[N,5,8] x, float[N,5,8] s, float[8] g, float[8] b, float[8] c) => (float[N,5,8] y) "
     "{ t = Add(x, s) u = Add(t, c) y = LayerNormalization(u, g, b) }"},
    {"SkipLayerNormalizationStatistics",
     "(float[N,5,8] x, float[N,5,8] s, float[8] g) => (float[N,5,8] y, float[N,5,1] m, "
     "float[N,5,1] v) { y, m, v = com.microsoft.SkipLayerNormalization(x, s, g) }",
     "(float[N,5,8] x, float[N,5,8] s, float[8] g) => (float[N,5,8] y, float[N,5,1] m, "
     "float[N,5,1] v) { t = Add(x, s) y, m, v = LayerNormalization(t, g) }"},
    {"SkipSimplifiedLayerNormalization",
     "(float[N,5,8] x, float[N,5,8] s, float[8] g) => (float[N,5,8] y) "
     "{ y = com.microsoft.SkipSimplifiedLayerNormalization(x, s, g) }",
     "(float[N,5,8] x, float[N,5,8] s, float[8] g) => (float[N,5,8] y) "
     "{ t = Add(x, s) y = RMSNormalization(t, g) }"},
    {"EmbedLayerNormalization",
     "(int32[N,5] i, int32[N,5] j, int32[N,5] p, int32[N,5] m, float[99,8] W, float[50,8] P, "
     "float[2,8] S, float[8] g, float[8] b) => (float[N,5,8] y, int32[N] k) "
     "{ y, k = com.microsoft.EmbedLayerNormalization(i, j, W, P, S, g, b, m, p) }",
     "(int32[N,5] i, int32[N,5] j, int32[N,5] p, int32[N,5] m, float[99,8] W, float[50,8] P, "
     "float[2,8] S, float[8] g, float[8] b) => (float[N,5,8] y, int32[N] k) <int64[1] a = {1}> "
     "{ w = Gather(W, i) q = Gather(P, p) s = Gather(S, j) t = Add(w, q) u = Add(t, s) "
     "y = LayerNormalization(u, g, b) k = ReduceSum<keepdims = 0>(m, a) }"},
    {"QEmbedLayerNormalization",
     "(int32[N,5] i, int32[N,5] p, uint8[99,8] W, uint8[50,8] P, uint8[8] g, uint8[8] b, float s, "
     "uint8 z) => (float[N,5,8] y) { y = com.microsoft.QEmbedLayerNormalization"
     "(i, , W, P, , g, b, , s, s, , s, s, z, z, , z, z) }",
     "(int32[N,5] i, int32[N,5] p, uint8[99,8] W, uint8[50,8] P, uint8[8] g, uint8[8] b, float s, "
     "uint8 z) => (float[N,5,8] y) "
     "{ w = Gather(W, i) q = Gather(P, p) wf = DequantizeLinear(w, s, z) "
     "qf = DequantizeLinear(q, s, z) gf = DequantizeLinear(g, s, z) bf = DequantizeLinear(b, s, z) "
     "t = Add(wf, qf) y = LayerNormalization(t, gf, bf) }"},
    {"GroupNorm",
     "(float[N,8,3,3] x, float[8] g, float[8] b) => (float[N,8,3,3] y) { y = "
     "com.microsoft.GroupNorm<groups = 2, activation = 1, channels_last = 0>(x, g, b) }",
     "(float[N,8,3,3] x, float[8] g, float[8] b) => (float[N,8,3,3] y) "
     "{ t = GroupNormalization<num_groups = 2>(x, g, b) s = Sigmoid(t) y = Mul(t, s) }"},
    {"SkipGroupNorm",
     "(float[N,3,3,8] x, float[8] g, float[8] b, float[N,3,3,8] s, float[8] c) => "
     "(float[N,3,3,8] y) "
     "{ y = com.microsoft.SkipGroupNorm<groups = 2, activation = 0>(x, g, b, s, c) }",
     "(float[N,3,3,8] x, float[8] g, float[8] b, float[N,3,3,8] s, float[8] c) => "
     "(float[N,3,3,8] y) { t = Add(x, s) u = Add(t, c) v = Transpose<perm = [0, 3, 1, 2]>(u) "
     "w = GroupNormalization<num_groups = 2>(v, g, b) y = Transpose<perm = [0, 2, 3, 1]>(w) }"},
    {"GatedRMSNorm",
     "(float[N,5,16] x, float[8] g, float[N,5,16] z) => (float[N,5,16] y) "
     "{ y = com.microsoft.GatedRMSNorm(x, g, z) }",
     "(float[N,5,16] x, float[8] g, float[N,5,16] z) => (float[N,5,16] y) "
     "<int64[4] h = {0, 5, 2, 8}, int64[3] f = {0, 5, 16}> "
     "{ t = Reshape(x, h) u = RMSNormalization(t, g) v = Reshape(u, f) s = Sigmoid(z) "
     "w = Mul(z, s) y = Mul(v, w) }"},
    {"BranchwiseRMSNorm",
     "(float[N,4,8] x, float[8] g) => (float[N,4,8] y) { y = com.microsoft.BranchwiseRMSNorm(x, g) "
     "}",
     "(float[N,4,8] x, float[8] g) => (float[N,4,8] y) { y = RMSNormalization(x, g) }"},
    {"EngramGate",
     "(float[N,5,2,8] k, float[N,5,2,8] q, float[N,5,8] v, float[2,8] a, float[2,8] b) => "
     "(float[N,5,2,8] y) { y = com.microsoft.EngramGate(k, q, v, a, b) }",
     "(float[N,5,2,8] k, float[N,5,2,8] q, float[N,5,8] v, float[2,8] a, float[2,8] b) => "
     "(float[N,5,2,8] y) <int64[1] last = {3}, int64[1] two = {2}, float r = {2.8}, float e = "
     "{0.000001}> { c = RMSNormalization(k, a) d = RMSNormalization(q, b) m = Mul(c, d) "
     "s = ReduceSum(m, last) t = Div(s, r) n = Abs(t) o = Max(n, e) p = Sqrt(o) g = Sign(t) "
     "h = Mul(g, p) i = Sigmoid(h) w = Unsqueeze(v, two) y = Mul(i, w) }"},
    {"QOrderedLayerNormalization",
     "(int8[N,5,8] x, float s, float[8] g, float[8] b) => (int8[N,5,8] y) "
     "{ y = com.microsoft.QOrderedLayerNormalization(x, s, g, b, s) }",
     "(int8[N,5,8] x, float s, float[8] g, float[8] b) => (int8[N,5,8] y) "
     "{ t = DequantizeLinear(x, s) u = LayerNormalization(t, g, b) "
     "y = QuantizeLinear<output_dtype = 3>(u, s) }"},
    // ---- matrix products
    {"FusedMatMul",
     "(float[8,N,16] a, float[N,9,16] b) => (float[N,8,9] y) "
     "{ y = com.microsoft.FusedMatMul<transBatchA = 1, transB = 1, alpha = 0.125>(a, b) }",
     "(float[8,N,16] a, float[N,9,16] b) => (float[N,8,9] y) <float c = {0.125}> "
     "{ s = Transpose<perm = [1, 0, 2]>(a) t = Transpose<perm = [0, 2, 1]>(b) u = MatMul(s, t) "
     "y = Mul(c, u) }"},
    {"FusedMatMulActivation",
     "(float[N,8] a, float[8,9] b) => (float[N,9] y) "
     "{ y = com.microsoft.FusedMatMulActivation<activation = \"HardSigmoid\">(a, b) }",
     "(float[N,8] a, float[8,9] b) => (float[N,9] y) { s = MatMul(a, b) y = HardSigmoid(s) }"},
    {"FusedGemm",
     "(float[N,8] a, float[9,8] b, float[9] c) => (float[N,9] y) "
     "{ y = com.microsoft.FusedGemm<transB = 1, activation = \"LeakyRelu\">(a, b, c) }",
     "(float[N,8] a, float[9,8] b, float[9] c) => (float[N,9] y) "
     "{ s = Gemm<transB = 1>(a, b, c) y = LeakyRelu(s) }"},
    {"GemmFastGelu",
     "(float[N,5,8] x, float[8,9] w, float[9] b) => (float[N,5,9] y) "
     "{ y = com.microsoft.GemmFastGelu(x, w, b) }",
     "(float[N,5,8] x, float[8,9] w, float[9] b) => (float[N,5,9] y) "
     "{ s = MatMul(x, w) t = Add(s, b) y = Gelu<approximate = \"tanh\">(t) }"},
    {"MatMulNBits",
     "(float[N,64] a, uint8[48,2,16] b, float[48,2] s, float[48] c) => (float[N,48] y) "
     "{ y = com.microsoft.MatMulNBits<K = 64, N = 48, block_size = 32>(a, b, s, , , c) }",
     "(float[N,64] a, int4[48,64] b, float[48,2] s, float[48] c) => (float[N,48] y) "
     "{ d = DequantizeLinear<axis = 1, block_size = 32>(b, s) t = Transpose(d) u = MatMul(a, t) "
     "y = Add(u, c) }"},
    {"MatMulNBitsZeroPoints",
     "(float[N,64] a, uint8[48,2,16] b, float[48,2] s, uint8[48,1] z) => (float[N,48] y) "
     "{ y = com.microsoft.MatMulNBits<K = 64, N = 48, block_size = 32>(a, b, s, z) }",
     "(float[N,64] a, uint4[48,64] b, float[48,2] s, uint4[48,2] z) => (float[N,48] y) "
     "{ d = DequantizeLinear<axis = 1, block_size = 32>(b, s, z) t = Transpose(d) "
     "y = MatMul(a, t) }"},
    {"MatMulNBitsMlp",
     "(float[N,64] a, float[N,64] r, float[64] g, uint8[48,2,16] b, uint8[48,2,16] c, float[48,2] "
     "s) => (float[N,48] y) { y = com.microsoft.MatMulNBitsMlp<K = 64, N = 48, block_size = 32, "
     "activation = \"silu\">(a, r, g, b, s, , c, s) }",
     "(float[N,64] a, float[N,64] r, float[64] g, int4[48,64] b, int4[48,64] c, float[48,2] s) => "
     "(float[N,48] y) { x = Add(a, r) n = RMSNormalization(x, g) "
     "bf = DequantizeLinear<axis = 1, block_size = 32>(b, s) bt = Transpose(bf) p = MatMul(n, bt) "
     "cf = DequantizeLinear<axis = 1, block_size = 32>(c, s) ct = Transpose(cf) q = MatMul(n, ct) "
     "t = Sigmoid(p) u = Mul(p, t) y = Mul(u, q) }"},
    {"MatMulNBitsQkv",
     "(float[N,64] a, float[64] g, uint8[48,2,16] b, float[48,2] s, uint8[16,2,16] c, float[16,2] "
     "t, float[16] v) => (float[N,48] q, float[N,16] k, float[N,16] w) "
     "{ q, k, w = com.microsoft.MatMulNBitsQkv<K = 64, Nq = 48, Nkv = 16, block_size = 32>"
     "(a, , g, b, s, , c, t, , c, t, v) }",
     "(float[N,64] a, float[64] g, int4[48,64] b, float[48,2] s, int4[16,64] c, float[16,2] t, "
     "float[16] v) => (float[N,48] q, float[N,16] k, float[N,16] w) { n = RMSNormalization(a, g) "
     "bf = DequantizeLinear<axis = 1, block_size = 32>(b, s) bt = Transpose(bf) q = MatMul(n, bt) "
     "cf = DequantizeLinear<axis = 1, block_size = 32>(c, t) ct = Transpose(cf) k = MatMul(n, ct) "
     "df = DequantizeLinear<axis = 1, block_size = 32>(c, t) dt = Transpose(df) m = MatMul(n, dt) "
     "w = Add(m, v) }"},
    {"MatMulIntegerToFloat",
     "(uint8[N,8] a, int8[8,9] b, float s, float[9] t, uint8 z, int8 u, float[9] c) => "
     "(float[N,9] y) { y = com.microsoft.MatMulIntegerToFloat(a, b, s, t, z, u, c) }",
     "(uint8[N,8] a, int8[8,9] b, float s, float[9] t, uint8 z, int8 u, float[9] c) => "
     "(float[N,9] y) { m = MatMulInteger(a, b, z, u) f = Cast<to = 1>(m) p = Mul(s, t) "
     "q = Mul(f, p) y = Add(q, c) }"},
    {"DynamicQuantizeMatMul",
     "(float[N,8] a, int8[8,9] b, float t, int8 u, float[9] c) => (float[N,9] y) "
     "{ y = com.microsoft.DynamicQuantizeMatMul(a, b, t, u, c) }",
     "(float[N,8] a, int8[8,9] b, float t, int8 u, float[9] c) => (float[N,9] y) "
     "{ d, s, z = DynamicQuantizeLinear(a) m = MatMulInteger(d, b, z, u) f = Cast<to = 1>(m) "
     "p = Mul(s, t) q = Mul(f, p) y = Add(q, c) }"},
    {"QGemm",
     "(uint8[N,8] a, uint8[8,9] b, float s, uint8 z) => (uint8[N,9] y) "
     "{ y = com.microsoft.QGemm(a, s, z, b, s, z, , s, z) }",
     "(uint8[N,8] a, uint8[8,9] b, float s, uint8 z) => (uint8[N,9] y) "
     "{ y = QLinearMatMul(a, s, z, b, s, z, s, z) }"},
    // ---- convolutions
    {"FusedConv",
     "(float[N,3,8,8] x, float[4,3,3,3] w, float[4] b, float[N,4,6,6] z) => (float[N,4,6,6] y) "
     "{ y = com.microsoft.FusedConv<activation = \"Relu\">(x, w, b, z) }",
     "(float[N,3,8,8] x, float[4,3,3,3] w, float[4] b, float[N,4,6,6] z) => (float[N,4,6,6] y) "
     "{ c = Conv(x, w, b) s = Add(c, z) y = Relu(s) }"},
    {"FusedConvClip",
     "(float[N,3,8,8] x, float[4,3,3,3] w) => (float[N,4,6,6] y) { y = com.microsoft.FusedConv<"
     "activation = \"Clip\", activation_params = [0.0, 6.0]>(x, w) }",
     "(float[N,3,8,8] x, float[4,3,3,3] w) => (float[N,4,6,6] y) <float l = {0.0}, float h = "
     "{6.0}> "
     "{ c = Conv(x, w) y = Clip(c, l, h) }"},
    {"NhwcFusedConv",
     "(float[N,8,8,3] x, float[4,3,3,3] w, float[4] b) => (float[N,6,6,4] y) "
     "{ y = com.microsoft.NhwcFusedConv<activation = \"HardSwish\">(x, w, b) }",
     "(float[N,8,8,3] x, float[4,3,3,3] w, float[4] b) => (float[N,6,6,4] y) "
     "{ t = Transpose<perm = [0, 3, 1, 2]>(x) c = Conv(t, w, b) h = HardSwish(c) "
     "y = Transpose<perm = [0, 2, 3, 1]>(h) }"},
    {"NchwcConv",
     "(float[N,16,8,8] x, float[32,16,3,3] w, float[32] b, float[N,32,6,6] s) => (float[N,32,6,6] "
     "y) { y = com.microsoft.nchwc.Conv<activation = \"Sigmoid\">(x, w, b, s) }",
     "(float[N,16,8,8] x, float[32,16,3,3] w, float[32] b, float[N,32,6,6] s) => (float[N,32,6,6] "
     "y) { c = Conv(x, w, b) t = Add(c, s) y = Sigmoid(t) }"},
    {"QLinearConv",
     "(uint8[N,5,5,2] x, float s, uint8 z, int8[3,2,3,3] w, int8 u, int32[3] b) => (uint8[N,3,3,3] "
     "y) { y = com.microsoft.QLinearConv<channels_last = 1>(x, s, z, w, s, u, s, z, b) }",
     "(uint8[N,5,5,2] x, float s, uint8 z, int8[3,2,3,3] w, int8 u, int32[3] b) => (uint8[N,3,3,3] "
     "y) { t = Transpose<perm = [0, 3, 1, 2]>(x) c = QLinearConv(t, s, z, w, s, u, s, z, b) "
     "y = Transpose<perm = [0, 2, 3, 1]>(c) }"},
    {"WordConvEmbedding",
     "(int32[S,12] i, float[16,1,3,8] w, float[16] b, float[99,8] c) => (float[S,16] y) "
     "{ y = com.microsoft.WordConvEmbedding(i, w, b, c) }",
     "(int32[S,12] i, float[16,1,3,8] w, float[16] b, float[99,8] c) => (float[S,16] y) "
     "<int64[1] one = {1}, int64[2] last = {2, 3}> { e = Gather(c, i) u = Unsqueeze(e, one) "
     "v = Conv(u, w, b) t = Tanh(v) y = ReduceMax<keepdims = 0>(t, last) }"},
    // ---- attention
    {"Attention",
     "(float[N,5,8] x, float[8,24] w, float[24] b, float[1,1,5,5] m) => (float[N,5,8] y) "
     "{ y = com.microsoft.Attention<num_heads = 2>(x, w, b, , , m) }",
     "(float[N,5,8] x, float[8,24] w, float[24] b, float[1,1,5,5] m) => (float[N,5,8] y) "
     "<int64[4] h = {0, 5, 2, 4}, int64[3] f = {0, 5, 8}, float c = {0.5}> "
     "{ a = MatMul(x, w) p = Add(a, b) q, k, v = Split<axis = 2, num_outputs = 3>(p) "
     "qh = Reshape(q, h) kh = Reshape(k, h) vh = Reshape(v, h) "
     "qt = Transpose<perm = [0, 2, 1, 3]>(qh) kt = Transpose<perm = [0, 2, 3, 1]>(kh) "
     "vt = Transpose<perm = [0, 2, 1, 3]>(vh) s = MatMul(qt, kt) r = Mul(s, c) t = Add(r, m) "
     "o = Softmax(t) z = MatMul(o, vt) u = Transpose<perm = [0, 2, 1, 3]>(z) y = Reshape(u, f) }"},
    {"QAttention",
     "(uint8[N,5,8] x, int8[8,24] w, float[24] b, float s, float t, uint8 z, int8 u, int32[N,5] m) "
     "=> (float[N,5,8] y) { y = com.microsoft.QAttention<num_heads = 2>(x, w, b, s, t, m, z, u) }",
     "(uint8[N,5,8] x, int8[8,24] w, float[24] b, float s, float t, uint8 z, int8 u, "
     "float[N,1,1,5] m) => (float[N,5,8] y) "
     "<int64[4] h = {0, 5, 2, 4}, int64[3] f = {0, 5, 8}, float c = {0.5}> "
     "{ a = MatMulInteger(x, w, z, u) af = Cast<to = 1>(a) st = Mul(s, t) as = Mul(af, st) "
     "p = Add(as, b) q, k, v = Split<axis = 2, num_outputs = 3>(p) "
     "qh = Reshape(q, h) kh = Reshape(k, h) vh = Reshape(v, h) "
     "qt = Transpose<perm = [0, 2, 1, 3]>(qh) kt = Transpose<perm = [0, 2, 3, 1]>(kh) "
     "vt = Transpose<perm = [0, 2, 1, 3]>(vh) sc = MatMul(qt, kt) r = Mul(sc, c) d = Add(r, m) "
     "o = Softmax(d) g = MatMul(o, vt) e = Transpose<perm = [0, 2, 1, 3]>(g) y = Reshape(e, f) }"},
    {"MultiHeadAttention",
     "(float[N,2,5,4] q, float[N,2,7,4] k, float[N,2,7,6] v, float[8] qb, float[N,5,8] x) => "
     "(float[N,5,12] y) { y = com.microsoft.MultiHeadAttention<num_heads = 2>(x, k, v) }",
     "(float[N,2,5,4] q, float[N,2,7,4] k, float[N,2,7,6] v, float[8] qb, float[N,5,8] x) => "
     "(float[N,5,12] y) <float c = {0.5}, int64[3] f = {0, 5, 12}> "
     "{ kt = Transpose<perm = [0, 1, 3, 2]>(k) s = MatMul(q, kt) r = Mul(s, c) o = Softmax(r) "
     "z = MatMul(o, v) u = Transpose<perm = [0, 2, 1, 3]>(z) y = Reshape(u, f) }"},
    {"GroupQueryAttention",
     "(float[N,3,32] x, float[50,2] c, float[50,2] s, int32[N] l, int32 t) => (float[N,3,16] y) "
     "{ y = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, do_rotary = 1, "
     "softcap = 30.0>(x, , , , , l, t, c, s) }",
     "(float[N,3,16] q, float[N,3,8] k, float[N,4,3,4] v, float[50,2] c, float[50,2] s, int64[N,3] "
     "p) => (float[N,3,16] y) <float a = {0.5}, float b = {30.0}, int64[4] h = {0, 3, 4, 4}, "
     "int64[4] g = {0, 3, 2, 4}, int64[3] f = {0, 3, 16}, int64[5] w = {1, 1, 2, 1, 1}, "
     "int64[1] two = {2}, int64[4] j = {0, 4, 3, 4}> "
     "{ qr = RotaryEmbedding<num_heads = 4>(q, c, s, p) kr = RotaryEmbedding<num_heads = 2>(k, c, "
     "s, p) qh = Reshape(qr, h) kh = Reshape(kr, g) qt = Transpose<perm = [0, 2, 1, 3]>(qh) "
     "kt = Transpose<perm = [0, 2, 1, 3]>(kh) ku = Unsqueeze(kt, two) ke = Expand(ku, w) "
     "kj = Reshape(ke, j) kx = Transpose<perm = [0, 1, 3, 2]>(kj) sc = MatMul(qt, kx) "
     "r = Mul(sc, a) d = Div(r, b) e = Tanh(d) i = Mul(e, b) o = Softmax(i) z = MatMul(o, v) "
     "u = Transpose<perm = [0, 2, 1, 3]>(z) y = Reshape(u, f) }"},
    {"RotaryEmbedding",
     "(float[N,2,5,8] x, int64[N,5] p, float[50,4] c, float[50,4] s) => (float[N,2,5,8] y) "
     "{ y = com.microsoft.RotaryEmbedding(x, p, c, s) }",
     "(float[N,2,5,8] x, int64[N,5] p, float[50,4] c, float[50,4] s) => (float[N,2,5,8] y) "
     "{ y = RotaryEmbedding(x, c, s, p) }"},
    {"GemmaRotaryEmbedding",
     "(float[N,5,8] e, float16[N,4,5,8] q, float16[N,4,5,8] r, float16[N,2,5,8] k, "
     "float16[N,2,5,8] "
     "t) => (float16[N,4,5,8] y, float16[N,2,5,8] z) "
     "{ y, z = com.microsoft.GemmaRotaryEmbedding(e, q, r, k, t) }",
     "(float[N,5,8] e, float16[N,4,5,8] q, float16[N,4,5,8] r, float16[N,2,5,8] k, "
     "float16[N,2,5,8] "
     "t) => (float16[N,4,5,8] y, float16[N,2,5,8] z) <int64[1] one = {1}> "
     "{ s = Sin(e) c = Cos(e) sh = Cast<to = 10>(s) ch = Cast<to = 10>(c) su = Unsqueeze(sh, one) "
     "cu = Unsqueeze(ch, one) a = Mul(q, cu) b = Mul(r, su) y = Add(a, b) d = Mul(k, cu) "
     "f = Mul(t, su) z = Add(d, f) }"},
    {"GatedRelativePositionBias",
     "(float[N,5,8] x, float[8] b, float[1,2,5,5] p, float[4,6] w, float[6] c, float[1,2,1,1] a) "
     "=> "
     "(float[N,2,5,5] y) "
     "{ y = com.microsoft.GatedRelativePositionBias<num_heads = 2>(x, b, p, w, c, a) }",
     "(float[N,5,8] x, float[8] b, float[1,2,5,5] p, float[4,6] w, float[6] c, float[1,2,1,1] a) "
     "=> "
     "(float[N,2,5,5] y) <int64[4] h = {0, 5, 2, 4}, int64[5] g = {0, 2, 5, 2, 3}, int64[1] last = "
     "{4}, float one = {1.0}, float two = {2.0}> "
     "{ s = Add(x, b) t = Reshape(s, h) u = Transpose<perm = [0, 2, 1, 3]>(t) m = MatMul(u, w) "
     "l = Add(m, c) k = Reshape(l, g) r = ReduceSum<keepdims = 0>(k, last) q = Sigmoid(r) "
     "gu, gr = Split<axis = 3, num_outputs = 2>(q) d = Mul(gr, a) e = Sub(d, one) f = Mul(gu, e) "
     "i = Add(f, two) y = Mul(i, p) }"},
    {"LinearAttention",
     "(float[N,10,16] q, float[N,10,8] k, float[N,10,6] v, float[N,10,2] d, float[N,10,2] b) => "
     "(float[N,10,12] o, float[N,2,4,3] s) { o, s = com.microsoft.LinearAttention<q_num_heads = 4, "
     "kv_num_heads = 2>(q, k, v, , d, b) }",
     "(float[N,10,16] q, float[N,10,8] k, float[N,10,6] v, float[N,10,2] d, float[N,10,2] b) => "
     "(float[N,10,12] o, float[N,2,4,3] s) { o, s = LinearAttention<q_num_heads = 4, kv_num_heads "
     "= 2>(q, k, v, , d, b) }"},
    {"CausalConvWithState",
     "(float[N,6,L] x, float[6,1,4] w, float[6] b, float[N,6,3] p) => (float[N,6,L] y, "
     "float[N,6,3] "
     "s) { y, s = com.microsoft.CausalConvWithState<activation = \"silu\">(x, w, b, p) }",
     "(float[N,6,L] x, float[6,1,4] w, float[6] b, float[N,6,3] p) => (float[N,6,L] y, "
     "float[N,6,3] "
     "s) { y, s = CausalConvWithState<activation = \"silu\">(x, w, b, p) }"},
    // ---- the others
    {"MoE",
     "(float[T,8] x, float[T,1] r, float[1,16,8] v, float[1,16] b, float[1,8,16] w, float[1,8] c) "
     "=> (float[T,8] y) { y = com.microsoft.MoE<k = 1>(x, r, v, b, w, c) }",
     "(float[T,8] x, float[T,1] r, float[16,8] v, float[16] b, float[8,16] w, float[8] c) "
     "=> (float[T,8] y) <int64[1] k = {1}, int64[1] one = {1}> "
     "{ p = Softmax(r) s, i = TopK(p, k) vt = Transpose(v) wt = Transpose(w) d = MatMul(x, vt) "
     "e = Add(d, b) f = Relu(e) g = MatMul(f, wt) h = Add(g, c) m = Mul(s, h) "
     "u = Unsqueeze(m, one) y = ReduceSum<keepdims = 0>(u, one) }"},
    {"GatherBlockQuantized",
     "(int4[100,32] d, int64[N,5] i, float[100,2] s, int4[100,2] z) => (float[N,5,32] y) "
     "{ y = com.microsoft.GatherBlockQuantized<block_size = 16>(d, i, s, z) }",
     "(int4[100,32] d, int64[N,5] i, float[100,2] s, int4[100,2] z) => (float[N,5,32] y) "
     "{ a = Gather(d, i) b = Gather(s, i) c = Gather(z, i) "
     "y = DequantizeLinear<axis = 2, block_size = 16>(a, b, c) }"},
    {"Rfft", "(float[N,16] x) => (float[N,9,2] y) { y = com.microsoft.Rfft<signal_ndim = 1>(x) }",
     "(float[N,16] x) => (float[N,9,2] y) <int64[1] a = {2}> "
     "{ u = Unsqueeze(x, a) y = DFT<onesided = 1>(u) }"},
};

// The model of one side of a pair.
absl::StatusOr<onnx::ModelProto> ParsePart(const char* text);

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_OPS_FUSED_PAIRS_H_
