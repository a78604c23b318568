// What the xla convention says of ONNX models, against what XLA's HloCostAnalysis counted of JAX
// functions that do the same, before XLA's passes. tools/export/xla_costs.py made the figures.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/api/count.h"
#include "src/compare/compare_report.h"
#include "tests/model_text.h"

namespace onnxflops::convention::xla_truth_test {
namespace {

using Json = nlohmann::json;

struct Case {
  const char* name;  // of the function, in tests/data/xla_truth.json
  const char* text;
  int opset = 20;
  // What JAX writes beyond the ONNX model, which has no node for it, and why.
  int more_flops = 0;
  const char* why = "";
};

constexpr Case kCases[] = {
    // ---- products
    {"matmul", "g (float[3,5] a, float[5,7] b) => (float[3,7] y) { y = MatMul(a, b) }"},
    {"matmul_batched",
     "g (float[2,3,5] a, float[2,5,7] b) => (float[2,3,7] y) { y = MatMul(a, b) }"},
    {"matmul_broadcast",
     "g (float[3,5] a, float[2,5,7] b) => (float[2,3,7] y) { y = MatMul(a, b) }"},
    {"matmul_of_a_vector", "g (float[3,5] a, float[5] b) => (float[3] y) { y = MatMul(a, b) }"},
    {"matmul_of_integers", "g (int32[3,5] a, int32[5,7] b) => (int32[3,7] y) { y = MatMul(a, b) }"},
    {"gemm",
     "g (float[3,5] a, float[7,5] b, float[7] c) => (float[3,7] y) { y = Gemm<transB=1>(a, b, c) "
     "}"},
    {"einsum",
     "g (float[2,3,5] a, float[2,5,7] b) => (float[2,3,7] y) "
     "{ y = Einsum<equation=\"bik,bkj->bij\">(a, b) }"},
    {"einsum_of_three",
     "g (float[2,3] a, float[3,5] b, float[5,7] c) => (float[2,7] y) "
     "{ y = Einsum<equation=\"ab,bc,cd->ad\">(a, b, c) }"},
    {"einsum_outer",
     "g (float[4] a, float[8] b) => (float[4,8] y) { y = Einsum<equation=\"i,j->ij\">(a, b) }"},
    // ---- convolutions and pooling
    {"conv", "g (float[1,4,8,8] x, float[6,4,3,3] w) => (float[1,6,6,6] y) { y = Conv(x, w) }"},
    {"conv_padded",
     "g (float[1,4,8,8] x, float[6,4,3,3] w) => (float[1,6,8,8] y) "
     "{ y = Conv<pads=[1,1,1,1]>(x, w) }"},
    {"conv_bias",
     "g (float[1,4,8,8] x, float[6,4,3,3] w, float[6] b) => (float[1,6,8,8] y) "
     "{ y = Conv<pads=[1,1,1,1]>(x, w, b) }"},
    {"conv_strided",
     "g (float[2,4,8,8] x, float[6,4,3,3] w) => (float[2,6,4,4] y) "
     "{ y = Conv<pads=[1,1,1,1], strides=[2,2]>(x, w) }"},
    {"conv_grouped",
     "g (float[1,4,8,8] x, float[6,2,3,3] w) => (float[1,6,8,8] y) "
     "{ y = Conv<pads=[1,1,1,1], group=2>(x, w) }"},
    {"conv_depthwise",
     "g (float[1,4,8,8] x, float[4,1,3,3] w) => (float[1,4,8,8] y) "
     "{ y = Conv<pads=[1,1,1,1], group=4>(x, w) }"},
    {"conv_dilated",
     "g (float[1,4,8,8] x, float[6,4,3,3] w) => (float[1,6,8,8] y) "
     "{ y = Conv<pads=[2,2,2,2], dilations=[2,2]>(x, w) }"},
    {"conv_same",
     "g (float[1,4,6,8] x, float[6,4,3,3] w) => (float[1,6,3,4] y) "
     "{ y = Conv<auto_pad=\"SAME_UPPER\", strides=[2,2]>(x, w) }"},
    {"conv_same_lower",
     "g (float[1,4,6,8] x, float[6,4,3,3] w) => (float[1,6,3,4] y) "
     "{ y = Conv<auto_pad=\"SAME_LOWER\", strides=[2,2]>(x, w) }"},
    {"conv_1d",
     "g (float[1,2,10] x, float[5,2,4] w) => (float[1,5,4] y) "
     "{ y = Conv<pads=[2,1], strides=[3]>(x, w) }"},
    {"conv_3d",
     "g (float[1,2,3,4,5] x, float[3,2,2,3,2] w) => (float[1,3,4,2,4] y) "
     "{ y = Conv<pads=[1,0,0,1,1,0], strides=[1,2,1]>(x, w) }"},
    {"conv_transposed",
     "g (float[2,4,5,5] x, float[4,6,2,2] w) => (float[2,6,10,10] y) "
     "{ y = ConvTranspose<strides=[2,2]>(x, w) }"},
    {"conv_transposed_cropped",
     "g (float[2,4,5,5] x, float[4,6,3,3] w) => (float[2,6,9,9] y) "
     "{ y = ConvTranspose<strides=[2,2], pads=[1,1,1,1]>(x, w) }"},
    {"conv_transposed_grouped",
     "g (float[2,4,5,5] x, float[4,3,3,3] w) => (float[2,6,10,10] y) "
     "{ y = ConvTranspose<strides=[2,2], pads=[1,1,1,1], output_padding=[1,1], group=2>(x, w) }"},
    {"max_pool",
     "g (float[1,2,8,8] x) => (float[1,2,4,4] y) "
     "{ y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) }"},
    {"max_pool_of_all",
     "g (float[1,2,2] x) => (float[1,2,2] y) { y = MaxPool<kernel_shape=[3], pads=[1,1]>(x) }"},
    {"average_pool",
     "g (float[1,2,8,8] x) => (float[1,2,4,4] y) "
     "{ y = AveragePool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x) }"},
    {"global_average_pool",
     "g (float[1,3,4,4] x) => (float[1,3,1,1] y) { y = GlobalAveragePool(x) }"},
    // ---- reductions
    {"sum", "g (float[4,8] x) => (float[4,1] y) { y = ReduceSum<axes=[1]>(x) }", 11},
    {"sum_of_all", "g (float[4,8] x) => (float y) { y = ReduceSum<keepdims=0>(x) }", 11},
    {"sum_of_first_axis", "g (float[4,8] x) => (float[1,8] y) { y = ReduceSum<axes=[0]>(x) }", 11},
    {"sum_of_two_axes", "g (float[2,3,4] x) => (float[1,3,1] y) { y = ReduceSum<axes=[0,2]>(x) }",
     11},
    {"sum_of_integers", "g (int32[4,8] x) => (int32[4,1] y) { y = ReduceSum<axes=[1]>(x) }", 11},
    {"mean", "g (float[4,8] x) => (float[4,1] y) { y = ReduceMean<axes=[1]>(x) }", 13},
    {"max", "g (float[4,8] x) => (float[4,1] y) { y = ReduceMax<axes=[1]>(x) }", 13},
    {"min", "g (float[4,8] x) => (float[4,1] y) { y = ReduceMin<axes=[1]>(x) }", 13},
    {"prod", "g (float[4,8] x) => (float[4,1] y) { y = ReduceProd<axes=[1]>(x) }", 13},
    {"norm_1", "g (float[4,8] x) => (float[4,1] y) { y = ReduceL1<axes=[1]>(x) }", 13},
    {"norm_2", "g (float[4,8] x) => (float[4,1] y) { y = ReduceL2<axes=[1]>(x) }", 13},
    {"sum_of_squares", "g (float[4,8] x) => (float[4,1] y) { y = ReduceSumSquare<axes=[1]>(x) }",
     13},
    {"log_sum", "g (float[4,8] x) => (float[4,1] y) { y = ReduceLogSum<axes=[1]>(x) }", 13},
    {"log_sum_exp", "g (float[4,8] x) => (float[4,1] y) { y = ReduceLogSumExp<axes=[1]>(x) }", 13},
    {"argmax", "g (float[4,8] x) => (int64[4,1] y) { y = ArgMax<axis=1>(x) }"},
    {"argmin_of_integers", "g (int32[4,8] x) => (int64[4,1] y) { y = ArgMin<axis=1>(x) }"},
    {"cumsum",
     "g (float[4,8] x) => (float[4,8] y) { a = Constant<value = int64 {1}>() y = CumSum(x, a) }"},
    {"cumsum_of_first_axis",
     "g (float[4,8] x) => (float[4,8] y) { a = Constant<value = int64 {0}>() y = CumSum(x, a) }"},
    {"softmax", "g (float[4,8] x) => (float[4,8] y) { y = Softmax(x) }"},
    {"softmax", "g (float[2,2,2,4] x) => (float[2,2,2,4] y) { y = Softmax<axis=2>(x) }", 11},
    {"log_softmax", "g (float[4,8] x) => (float[4,8] y) { y = LogSoftmax(x) }"},
    {"layer_norm",
     "g (float[4,8] x, float[8] s, float[8] b) => (float[4,8] y) "
     "{ y = LayerNormalization(x, s, b) }"},
    {"rms_norm", "g (float[4,8] x, float[8] s) => (float[4,8] y) { y = RMSNormalization(x, s) }",
     23},
    {"group_norm",
     "g (float[2,6,5] x, float[6] s, float[6] b) => (float[2,6,5] y) "
     "{ y = GroupNormalization<num_groups=3>(x, s, b) }",
     21},
    {"batch_norm",
     "g (float[1,3,2,2] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[1,3,2,2] y) "
     "{ y = BatchNormalization(x, s, b, m, v) }"},
    // ---- elementwise
    {"add", "g (float[4,8] x, float[4,8] z) => (float[4,8] y) { y = Add(x, z) }"},
    {"add_broadcast", "g (float[4,8] x, float[8] z) => (float[4,8] y) { y = Add(x, z) }"},
    {"div", "g (float[4,8] x, float[4,8] z) => (float[4,8] y) { y = Div(x, z) }"},
    {"div_of_integers", "g (int32[4,8] x, int32[4,8] z) => (int32[4,8] y) { y = Div(x, z) }"},
    {"max_of_three",
     "g (float[4,8] a, float[4,8] b, float[4,8] c) => (float[4,8] y) { y = Max(a, b, c) }"},
    {"chain",
     "g (float[4,8] x, float[4,8] z) => (float[4,8] y) "
     "{ p = Mul(x, z) a = Add(p, x) s = Sub(x, z) y = Div(a, s) }"},
    {"neg_abs_sign", "g (float[4,8] x) => (float[4,8] y) { s = Sign(x) a = Abs(s) y = Neg(a) }"},
    {"round", "g (float[4,8] x) => (float[4,8] y) { r = Round(x) c = Ceil(r) y = Floor(c) }"},
    {"greater", "g (float[4,8] x, float[4,8] z) => (bool[4,8] y) { y = Greater(x, z) }"},
    {"select",
     "g (float[4,8] x, float[4,8] z) => (float[4,8] y) { c = Greater(x, z) y = Where(c, x, z) }"},
    {"clamp", "g (float[4,8] x, float a, float b) => (float[4,8] y) { y = Clip(x, a, b) }"},
    {"convert", "g (float[4,8] x) => (float16[4,8] y) { y = Cast<to=10>(x) }"},
    {"and", "g (bool[4,8] x, bool[4,8] z) => (bool[4,8] y) { y = And(x, z) }"},
    {"mod", "g (int32[4,8] x, int32[4,8] z) => (int32[4,8] y) { y = Mod(x, z) }"},
    {"fmod", "g (float[4,8] x, float[4,8] z) => (float[4,8] y) { y = Mod<fmod=1>(x, z) }"},
    {"isnan", "g (float[4,8] x) => (bool[4,8] y) { y = IsNaN(x) }"},
    {"isinf", "g (float[4,8] x) => (bool[4,8] y) { y = IsInf(x) }"},
    {"tril", "g (float[2,5,6] x) => (float[2,5,6] y) { y = Trilu<upper=0>(x) }"},
    {"eye", "g (float[8,8] x) => (float[8,8] y) { y = EyeLike(x) }"},
    {"one_hot",
     "g (int32[4] i, float[2] v) => (float[4,5] y) "
     "{ d = Constant<value = int64 {5}>() y = OneHot(i, d, v) }"},
    {"integer_add_mul",
     "g (int32[4,8] x, int32[4,8] z) => (int32[4,8] y) { p = Mul(x, z) y = Add(p, x) }"},
    // ---- transcendentals, and activations
    {"exp", "g (float[4,8] x) => (float[4,8] y) { y = Exp(x) }"},
    {"log", "g (float[4,8] x) => (float[4,8] y) { y = Log(x) }"},
    {"sqrt", "g (float[4,8] x) => (float[4,8] y) { y = Sqrt(x) }"},
    {"tanh", "g (float[4,8] x) => (float[4,8] y) { y = Tanh(x) }"},
    {"erf", "g (float[4,8] x) => (float[4,8] y) { y = Erf(x) }"},
    {"sin", "g (float[4,8] x) => (float[4,8] y) { y = Sin(x) }"},
    {"cos", "g (float[4,8] x) => (float[4,8] y) { y = Cos(x) }"},
    {"tan", "g (float[4,8] x) => (float[4,8] y) { y = Tan(x) }"},
    {"atan", "g (float[4,8] x) => (float[4,8] y) { y = Atan(x) }"},
    {"asin", "g (float[4,8] x) => (float[4,8] y) { y = Asin(x) }"},
    {"acos", "g (float[4,8] x) => (float[4,8] y) { y = Acos(x) }"},
    {"sinh", "g (float[4,8] x) => (float[4,8] y) { y = Sinh(x) }"},
    {"cosh", "g (float[4,8] x) => (float[4,8] y) { y = Cosh(x) }"},
    {"asinh", "g (float[4,8] x) => (float[4,8] y) { y = Asinh(x) }"},
    {"acosh", "g (float[4,8] x) => (float[4,8] y) { y = Acosh(x) }"},
    {"atanh", "g (float[4,8] x) => (float[4,8] y) { y = Atanh(x) }"},
    {"logistic", "g (float[4,8] x) => (float[4,8] y) { y = Sigmoid(x) }"},
    {"pow", "g (float[4,8] x, float[4,8] z) => (float[4,8] y) { y = Pow(x, z) }"},
    {"relu", "g (float[4,8] x) => (float[4,8] y) { y = Relu(x) }"},
    {"leaky_relu", "g (float[4,8] x) => (float[4,8] y) { y = LeakyRelu(x) }"},
    {"elu", "g (float[4,8] x) => (float[4,8] y) { y = Elu(x) }"},
    {"silu", "g (float[4,8] x) => (float[4,8] y) { s = Sigmoid(x) y = Mul(x, s) }"},
    {"silu", "g (float[4,8] x) => (float[4,8] y) { y = Swish(x) }", 24},
    {"soft_sign", "g (float[4,8] x) => (float[4,8] y) { y = Softsign(x) }"},
    {"hard_sigmoid", "g (float[4,8] x) => (float[4,8] y) { y = HardSigmoid(x) }"},
    {"hard_swish", "g (float[4,8] x) => (float[4,8] y) { y = HardSwish(x) }"},
    {"softplus", "g (float[4,8] x) => (float[4,8] y) { y = Softplus(x) }"},
    {"mish", "g (float[4,8] x) => (float[4,8] y) { y = Mish(x) }"},
    {"gelu", "g (float[4,8] x) => (float[4,8] y) { y = Gelu(x) }"},
    {"gelu_tanh", "g (float[4,8] x) => (float[4,8] y) { y = Gelu<approximate=\"tanh\">(x) }"},
    // ---- control flow
    {"while",
     "g (float[4,8] x) => (int32 n, float[4,8] y) { b = Constant<value = bool {1}>() "
     "z = Constant<value = int32 {0}>() n, y = Loop(\"\", b, z, x) <"
     "body = l (int64 t, bool c, int32 i, float[4,8] s) => (bool d, int32 j, float[4,8] u) "
     "{ k = Constant<value = int32 {1}>() m = Constant<value = int32 {10}>() j = Add(i, k) "
     "u = Mul(s, s) d = Less(j, m) }> }"},
    {"fori",
     "g (float[4,8] x) => (float[4,8] y) { m = Constant<value = int64 {10}>() "
     "b = Constant<value = bool {1}>() y = Loop(m, b, x) <"
     "body = l (int64 i, bool c, float[4,8] s) => (bool d, float[4,8] u) "
     "{ d = Identity(c) u = Mul(s, s) }> }",
     20, 2, "the counter: a comparison and an addition"},
    {"scan",
     "g (float[4,8] a, float[10,4,8] x) => (float[4,8] y, float[10,4,8] z) "
     "{ y, z = Scan<num_scan_inputs=1, body = l (float[4,8] c, float[4,8] e) => "
     "(float[4,8] d, float[4,8] f) { d = Mul(c, e) f = Add(c, e) }>(a, x) }",
     20, 2, "the counter: a comparison and an addition"},
    {"cond",
     "g (bool p, float[4,8] x) => (float[4,8] y) { y = If(p) <"
     "then_branch = t () => (float[4,8] a) { b = Mul(x, x) a = Add(b, x) },"
     "else_branch = e () => (float[4,8] c) { c = Exp(x) }> }",
     20, 1, "the predicate becomes a number"},
    {"lstm",
     "g (float[3,2,5] x, float[1,16,5] w, float[1,16,4] r, float[1,32] b) => (float[3,1,2,4] y) "
     "{ y = LSTM<hidden_size=4>(x, w, r, b) }",
     20, 2, "the counter: a comparison and an addition"},
    // ---- indexing and data movement
    {"gather", "g (float[4,8] x, int64[3] i) => (float[3,8] y) { y = Gather(x, i) }"},
    {"scatter_add",
     "g (float[4,8] x, int64[3,1] i, float[3,8] u) => (float[4,8] y) "
     "{ y = ScatterND<reduction=\"add\">(x, i, u) }",
     20, 3, "indices are clamped"},
    {"top_k",
     "g (float[4,8] x) => (float[4,2] v, int64[4,2] i) "
     "{ k = Constant<value = int64[1] {2}>() v, i = TopK(x, k) }"},
    {"concatenate",
     "g (float[4,8] x, float[4,8] z) => (float[8,8] y) { y = Concat<axis=0>(x, z) }"},
    {"transpose", "g (float[4,8] x) => (float[8,4] y) { y = Transpose(x) }"},
    // ---- compositions
    {"attention",
     "g (float[7,4] q, float[9,4] k, float[9,6] v, float h) => (float[7,6] y) "
     "{ t = Transpose(k) s = MatMul(q, t) m = Mul(s, h) p = Softmax(m) y = MatMul(p, v) }"},
    {"mlp",
     "g (float[3,8] x, float[8,32] a, float[32] b, float[32,8] c, float[8] d) => (float[3,8] y) "
     "{ m = MatMul(x, a) h = Add(m, b) e = Gelu(h) o = MatMul(e, c) r = Add(o, d) y = Add(x, r) }"},
    // ---- functions of JAX that write more than the formula of the operator
    {"jax.nn.softmax", "g (float[4,8] x) => (float[4,8] y) { y = Softmax(x) }", 20, 4,
     "a maximum of -inf and the largest of each row"},
    {"jax.nn.log_softmax", "g (float[4,8] x) => (float[4,8] y) { y = LogSoftmax(x) }", 20, 4,
     "a maximum of -inf and the largest of each row"},
    {"jax.nn.logsumexp", "g (float[4,8] x) => (float[4,1] y) { y = ReduceLogSumExp<axes=[1]>(x) }",
     13, 80, "the largest of each row is taken out: max, subtract, add, is-finite, select"},
    {"jax.nn.gelu", "g (float[4,8] x) => (float[4,8] y) { y = Gelu(x) }", 20, 62 * 32,
     "it is written with erfc, which is no instruction but two polynomials"},
    {"jax.nn.selu", "g (float[4,8] x) => (float[4,8] y) { y = Selu(x) }", 20, 32,
     "a second select keeps exp in range"},
    {"jax.nn.softplus", "g (float[4,8] x) => (float[4,8] y) { y = Softplus(x) }", 20, 5 * 32,
     "it is logaddexp(x, 0)"},
    {"jax.nn.mish", "g (float[4,8] x) => (float[4,8] y) { y = Mish(x) }", 20, 5 * 32,
     "its softplus is logaddexp(x, 0)"},
    {"jnp.clip", "g (float[4,8] x, float a, float b) => (float[4,8] y) { y = Clip(x, a, b) }", 20,
     34, "a minimum and a maximum, of bounds that are converted"},
    {"jnp.take", "g (float[4,8] x, int64[3] i) => (float[3,8] y) { y = Gather(x, i) }", 20, 42,
     "negative indices are wrapped, and rows outside are filled"},
};

Json Truth() {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/xla_truth.json");
  return Json::parse(file);
}

ToolRow Ask(const Model& model) {
  const auto report = CompareTools(model, {}, {.with = {"xla"}});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? report->tools[0] : ToolRow();
}

TEST(XlaTruthTest, CountsWhatXlaCounts) {
  const Json truth = Truth();
  for (const Case& c : kCases) {
    ASSERT_TRUE(truth["functions"].contains(c.name)) << c.name;
    const Json& lowered = truth["functions"][c.name]["lowered"];
    const ToolRow row = Ask(ModelFromText(c.text, c.opset));
    EXPECT_EQ(*row.headline + c.more_flops, Expr(lowered["flops"].get<int64_t>()))
        << c.name << " " << c.why;
    EXPECT_EQ(row.assumptions.back(), absl::StrCat("transcendentals, which XLA counts apart: ",
                                                   lowered["transcendentals"].get<int64_t>()))
        << c.name;
    EXPECT_EQ(row.standing, Standing::kAssumed) << c.name;
  }
}

struct Window {
  int input, kernel, stride, dilation, begin, end;  // paddings at both ends
  int Output() const {
    const int span = input + begin + end - dilation * (kernel - 1) - 1;
    return span < 0 ? 0 : span / stride + 1;
  }
  // Positions of the window that are on the input, counted one by one as GetConvolutionFlops does.
  int Valid() const {
    int valid = 0;
    for (int o = 0; o < Output(); ++o) {
      for (int k = 0; k < kernel; ++k) {
        const int at = o * stride + k * dilation - begin;
        if (at >= 0 && at < input) ++valid;
      }
    }
    return valid;
  }
  std::string Attributes() const {
    return absl::StrCat("<strides=[", stride, "], dilations=[", dilation, "], pads=[", begin, ",",
                        end, "]>");
  }
};

// Every window of these sizes which gives an output.
std::vector<Window> AllWindows() {
  std::vector<Window> windows;
  for (int n = 0; n < 6 * 4 * 3 * 3 * 3 * 3; ++n) {
    const Window w = {n % 6 + 1,      n / 6 % 4 + 1, n / 24 % 3 + 1,
                      n / 72 % 3 + 1, n / 216 % 3,   n / 648};
    if (w.Output() > 0) windows.push_back(w);
  }
  return windows;
}

TEST(XlaTruthTest, OnlyPositionsOnTheInputCount) {
  constexpr int kBatch = 2, kIn = 3, kOut = 5;
  for (const Window& w : AllWindows()) {
    const std::string text =
        absl::StrCat("g (float[", kBatch, ",", kIn, ",", w.input, "] x, float[", kOut, ",", kIn,
                     ",", w.kernel, "] w) => (float[", kBatch, ",", kOut, ",", w.Output(),
                     "] y) { y = Conv", w.Attributes(), "(x, w) }");
    EXPECT_EQ(Ask(ModelFromText(text, 20)).headline, Expr(2 * kBatch * kIn * kOut * w.Valid()))
        << text;
  }
}

TEST(XlaTruthTest, EveryFunctionHasAModel) {
  std::set<std::string> names;
  for (const Case& c : kCases) names.insert(c.name);
  const nlohmann::json truth = Truth();
  for (const auto& [name, figures] : truth["functions"].items()) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace onnxflops::convention::xla_truth_test
