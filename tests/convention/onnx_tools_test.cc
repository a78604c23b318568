// The tools that read ONNX: where each of them ends, what it assumes and how its terms are called.
// Figures by hand from the rules that each convention's file states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "onnx/defs/parser.h"
#include "src/compare/compare_report.h"
#include "src/convention/conventions.h"
#include "src/load/load_file.h"
#include "tests/model_maker.h"
#include "tests/model_text.h"

namespace onnxflops::convention::onnx_tools_test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

ToolRow Ask(const Model& model, const char* tool) {
  const auto report = CompareTools(model, {}, {.with = {tool}});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? report->tools[0] : ToolRow();
}

// "12", "12: why it may not be", "-: why there is none".
std::string Said(const ToolRow& row) {
  const bool none = row.standing == Standing::kNotApplicable;
  const std::string why = absl::StrJoin(row.assumptions, "; ");
  return absl::StrCat(none || !row.headline ? "-" : row.headline->ToString(),
                      why.empty() ? "" : ": ", why);
}

struct Case {
  const char* text;
  std::string said;  // "12: " and a part of what is assumed; "-: " and a part of why it has none
  int opset = 17;
};

void ExpectSaid(const char* tool, absl::Span<const Case> cases) {
  for (const Case& c : cases) {
    const std::string said = Said(Ask(ModelFromText(c.text, c.opset), tool));
    const size_t colon = c.said.find(": ");
    if (colon == std::string::npos) {
      EXPECT_EQ(said, c.said) << c.text;
      continue;
    }
    EXPECT_EQ(said.substr(0, colon + 2), c.said.substr(0, colon + 2)) << c.text;
    EXPECT_THAT(said, HasSubstr(c.said.substr(colon + 2))) << c.text;
  }
}

// ---- onnx-tool

// Models that it does not count, some of them beside one like it that it does.
const Case kEnds[] = {
    {"g () => (int64 y) { y = Constant<value_int=1>() }",
     "-: 'ConstantNode' object has no attribute 'value'"},
    {"g () => (int64 y) { y = Constant<value = int64 {1}>() }", "0"},
    {"g (float[4] x) => (float[2] a, float[2] b) { a, b = Split(x) }",
     "-: for node n0: 'NoneType' is no axis", 13},
    {"g (float[4] x) => (float[2] a, float[2] b) { a, b = Split<axis=0>(x) }", "0", 13},
    {"g (float[4] x, float s) => (uint8[4] y) { y = QuantizeLinear(x, s) }",
     "-: list index out of range"},
    {"g (float[4] x, float s, uint8 z) => (uint8[4] y) { y = QuantizeLinear(x, s, z) }", "8"},
    {"g (float[1,4] x) => (int64 y) { s = Shape<end=1>(x) y = Squeeze<axes=[0]>(s) }",
     "-: cannot select an axis to squeeze out which has size not equal to one", 11},
    {"g (float[5,4] x) => (float[5,4,1] y) { y = Celu(x) }",
     "-: this Node Celu-n0 has no value_infer"},
    {"g (float[2,3] x) => (float[3,2] y) { y = Einsum<equation=\"ij->ji\">(x) }",
     "-: list index out of range"},
    {"g (float[2,3,4] x, float[1,5,4] w, float[1,5,5] r) => (float[2,1,3,5] y) "
     "{ y = RNN<hidden_size=5>(x, w, r) }",
     "-: this Node RNN-n0 has no value_infer"},
    {"g (float[2,3,4] x, float[1,15,4] w, float[1,15,5] r) => (float[2,1,3,5] y) "
     "{ y = GRU<hidden_size=5>(x, w, r) }",
     "-: list index out of range"},
    {"g (float[2,3,4] x, float[1,15,4] w, float[1,15,5] r, float[1,30] b) => (float[2,1,3,5] "
     "y) "
     "{ y = GRU<hidden_size=5>(x, w, r, b) }",
     "-: list index out of range"},
    {"g (float[2,3] x) => (float[2,1,3] y) { a = Constant<value = int64 {1}>() y = Unsqueeze(x, a) "
     "}",
     "-: TypeError: len() of unsized object"},
    {"g (float[1,1,2,2] x) => (float[1,1,4,4] y) { s = Constant<value = float[4] {1, 1, 2, "
     "2}>() "
     "y = Resize(x, \"\", s) }",
     "-: 'ResizeNode' has no attribute 'mode'", 13},
    {"g (float[2,3] x) => (int64[2,n] y) { y = NonZero(x) }",
     "-: its sizes depend on data, which the tool takes to be zeros"},
    {"g (float[n,3] x) => (float[n,3] y) { y = Relu(x) }",
     "-: ValueError: The input tensor x's shape [n, 3] is not valid, Please set it to a "
     "valid shape (dim, input)"},
    {"g (float[2,3] x, float[3] y) => (float[2] z) { z = MatMul(x, y) }",
     "-: Gemm inputs must have rank >= 2"},
    {"g (float[3] x, float[3,2] y) => (float[2] z) { z = MatMul(x, y) }",
     "-: Gemm inputs must have rank >= 2"},
};

TEST(OnnxToolTest, EndsAtWhatItsClassesDoNotKnow) { ExpectSaid("onnx-tool", kEnds); }

// 3 gates of [5, 4] and [5, 5] and twice 5 biases for each of 2 x 3 rows, and what works by
// element.
constexpr int kGru = 6 * (15 * 4 + 15 * 5 + 30) + 6 * 5 * (3 + 2 * 32 + 38 + 2 + 3);

// Operators that it counts by other formulas than we do.
const Case kOwnFormulas[] = {
    {"g (float[2,3,4] x, float[1,15,4] w, float[1,15,5] r, float[1,30] b) => (float[2,1,3,5] "
     "y, float[1,3,5] z) "
     "{ y, z = GRU<hidden_size=5>(x, w, r, b) }",
     absl::StrCat(kGru)},
    // It waits for itself: what it leaves out has the name of the lengths that it is not given.
    {"g (float[2,3,4] x, float[1,15,4] w, float[1,15,5] r, float[1,30] b, float[1,3,5] h) => "
     "(float[1,3,5] z) { s, z0 = GRU<hidden_size=5>(x, w, r, b, \"\", h) z = Neg(z0) }",
     absl::StrCat(kGru + 15)},
    {"g (float[2,3,4] x, float[1,15,4] w, float[1,15,5] r, float[1,30] b, float[1,3,5] h) => "
     "(float[1,3,5] z) { \"\", z0 = GRU<hidden_size=5>(x, w, r, b, \"\", h) z = Neg(z0) }",
     "0"},
    {"g (float[2,3,4] x, float[1,15,4] w, float[1,15,5] r, float[1,30] b) => "
     "(float[1,3,5] z) { \"\", z = GRU<hidden_size=5>(x, w, r, b) }",
     absl::StrCat(kGru)},
    {"g (float[1,2,6] x) => (float[1,2,3] y) { y = MaxPool<kernel_shape=[2], strides=[2]>(x) "
     "}",
     "12"},
    {"g (float[1,2,6,6] x) => (float[1,2,3,2] y) { y = MaxPool<kernel_shape=[2,3], "
     "strides=[2,3]>(x) }",
     "72"},
    {"g (float[1,1,6,6,6] x) => (float[1,1,3,2,1] y) "
     "{ y = MaxPool<kernel_shape=[2,3,5], strides=[2,3,5]>(x) }",
     "12: its pooling rounds, and pads in 3-D, by other rules"},
    {"g (float[1,2,6,6] x) => (float[1,2,6,6] y) { y = LRN<size=5>(x) }",
     absl::StrCat(72 * (5 + 4 + 32 + 1))},
    // [2, 3, 4] by its second axis: 7 per element and 29 per row.
    {"g (float[2,3,4] x, float[3,4] s) => (float[2,3,4] y) { y = "
     "LayerNormalization<axis=1>(x, s) }",
     absl::StrCat(24 * 7 + 8 * 29)},
    {"g (float[2,3,4] x, float[2,3,4] s) => (float[2,3,4] y) { y = "
     "LayerNormalization<axis=0>(x, s) }",
     absl::StrCat(24 * 7 + 12 * 29)},
    {"g (float[2,3,4] x, float[3,4] s) => (float[2,3,4] y) { y = "
     "LayerNormalization<axis=-2>(x, s) }",
     absl::StrCat(24 * 7 + 8 * 29)},
    {"g (float[1,1,2,2] x) => (float[1,1,4,4] y) { s = Constant<value = float[4] {1, 1, 2, "
     "2}>() "
     "y = Resize<mode=\"nearest\">(x, \"\", s) }",
     "0", 13},
    {"g (float[1,1,2,2] x) => (float[1,1,4,4] y) { s = Constant<value = float[4] {1, 1, 2, "
     "2}>() "
     "y = Resize<mode=\"linear\">(x, \"\", s) }",
     "64", 13},
    {"g (float[1,1,2,2] x) => (float[1,1,4,4] y) { s = Constant<value = float[4] {1, 1, 2, "
     "2}>() "
     "y = Resize<mode=\"cubic\">(x, \"\", s) }",
     "128", 13},
    // An einsum is the product of all sizes of two operands, and has an arrow. Measured.
    {"g (float[2,3] a, float[3,5] b) => (float[2,5] y) { y = Einsum<equation=\"ij,jk\">(a, "
     "b) }",
     "-: list index out of range"},
    {"g (float[2,3] a, float[3,5] b, float[5,7] c) => (float[2,7] y) { y = "
     "Einsum<equation=\"ij,jk,kl->il\">(a, b, c) }",
     "-: list index out of range"},
    {"g (float[2,3] a, float[5] b) => (float[2,3,5] y) { y = "
     "Einsum<equation=\"ij,k->ijk\">(a, b) }",
     "30"},
    {"g (float[2,3] a, float b) => (float[2,3] y) { y = Einsum<equation=\"ij,->ij\">(a, b) }", "6"},
    {"g (float[2,3,5] a, float[3,5] b) => (float[2,3,5] y) { y = "
     "Einsum<equation=\"...j,...j->...j\">(a, b) }",
     "-: KeyError: 106"},
    {"g (float[1,4,8] x, float[6,2,3] w) => (float[1,6,6] y) { y = Conv<group=2>(x, w) }",
     absl::StrCat(36 * 6)},
    {"g (uint8[1,4,8] x, uint8[6,4,3] w, uint8 z, uint8 v) => (int32[1,6,6] y) { y = "
     "ConvInteger(x, w, z, v) }",
     absl::StrCat(36 * 12)},
};

TEST(OnnxToolTest, CountsByItsOwnFormulas) { ExpectSaid("onnx-tool", kOwnFormulas); }

constexpr char kShapeIgnores[] = "its Shape ignores start and end";
constexpr char kLarger[] = "its broadcast takes the larger shape";
constexpr char kOpen[] = "its reduction over all axes leaves the shape open";
constexpr char kRounds[] = "its pooling rounds, and pads in 3-D, by other rules";
constexpr char kFromZeros[] = "sizes that depend on data are taken from zeros";

std::string With(const char* figure, const char* why) { return absl::StrCat(figure, ": ", why); }

// Where its shapes may be other ones, mostly beside a node of the same operator that has the
// true one.
const Case kOtherShapes[] = {
    {"g (float[2,3] x) => (int64[1] y) { y = Shape<end=1>(x) }", With("0", kShapeIgnores)},
    {"g (float[2,3] x) => (int64[1] y) { y = Shape<start=1>(x) }", With("0", kShapeIgnores)},
    {"g (float[2,3] x) => (int64[2] y) { y = Shape<start=0>(x) }", "0"},
    {"g (float[2,3] x) => (int64[2] y) { y = Shape<start=0, end=2>(x) }", With("0", kShapeIgnores)},
    {"g (float[2,1] x, float[1,3] z) => (float[2,3] y) { y = Sum(x, z) }", With("6", kLarger)},
    {"g (float[2,3] x, float[1,3] z) => (float[2,3] y) { y = Sum(x, z) }", "6"},
    {"g (float[3] x, float[2,3] z) => (float[2,3] y) { y = Sum(x, z) }", "6"},
    {"g (float[2,1] x, float[1,3] z) => (float[2,3] y) { y = Add(x, z) }", "6"},
    {"g (float[2,1,3,5] x, float[1,4,5,7] z) => (float[2,4,3,7] y) { y = MatMul(x, z) }",
     With("840", kLarger)},
    {"g (float[2,4,3,5] x, float[1,4,5,7] z) => (float[2,4,3,7] y) { y = MatMul(x, z) }", "840"},
    {"g (float[3,5] x, float[2,5,7] z) => (float[2,3,7] y) { y = MatMul(x, z) }", "210"},
    {"g (float[2,3] x) => (float[1,1] y) { y = ReduceMax(x) }", With("6", kOpen)},
    {"g (float[2,3] x) => (float[2,1] y) { y = ReduceMax<axes=[1]>(x) }", "6"},
    {"g (float[2,3] x, int64[1] a) => (float[k,l] y) { y = ReduceSum(x, a) }", "6"},
    {"g (float[2,1] x) => (float[2] y) { y = Squeeze(x) }",
     "0: its Squeeze takes axis 0 if none is given"},
    {"g (float[2,1] x) => (float[2] y) { a = Constant<value = int64[1] {1}>() y = Squeeze(x, "
     "a) }",
     "0"},
    {"g (float[2,3,4] x, int64[2,1] i) => (float[2,4] y) { y = GatherND<batch_dims=1>(x, i) "
     "}",
     "0: its GatherND has no batch_dims"},
    {"g (float[2,3,4] x, int64[2,1] i) => (float[2,3,4] y) { y = GatherND<batch_dims=0>(x, "
     "i) }",
     "0"},
    {"g (float[2,3,4] x) => (float[6,4] y) { y = Flatten<axis=-1>(x) }",
     "0: its Flatten knows no negative axis"},
    {"g (float[2,3,4] x) => (float[6,4] y) { y = Flatten<axis=2>(x) }", "0"},
    {"g (float[2,3,4] x) => (float[1,24] y) { y = Flatten<axis=0>(x) }", "0"},
    {"g (float[2,2] x) => (float[2,2] y) { s = Shape(x) m = Min(s, s) y = Reshape(x, m) }",
     "2: its Min negates values"},
    // The same, after a sum and a product, each of which counts 2.
    {"g (float[2,2] x) => (float[2,2] y) <int64[2] no = {0, 0}, int64[2] one = {1, 1}> "
     "{ s = Shape(x) m = Min(s, s) a = Add(m, no) b = Mul(a, one) y = Reshape(x, b) }",
     "6: its Min negates values"},
    {"g (float[2,3] x) => (float[2,3] y) { y = Min(x, x) }", "6"},
    {"g (float[2,3] x, float c) => (float[3,3] y) { p = Constant<value = int64[2] {1, 0}>() "
     "a = Constant<value = int64[1] {0}>() y = Pad(x, p, c, a) }",
     "0: its Pad knows no axes", 18},
    {"g (float[2,3] x, float c) => (float[3,3] y) { p = Constant<value = int64[4] {1, 0, 0, "
     "0}>() y = Pad(x, p, c) }",
     "0", 18},
    {"g (float[1,1,5,5] x) => (float[1,1,3,3] y) { y = MaxPool<kernel_shape=[2,2], "
     "strides=[2,2], ceil_mode=1>(x) }",
     With("36", kRounds)},
    {"g (float[1,1,5,5] x) => (float[1,1,2,2] y) { y = MaxPool<kernel_shape=[2,2], "
     "strides=[2,2], ceil_mode=0>(x) }",
     "16"},
    {"g (float[1,1,4,4,4] x) => (float[1,1,2,2,2] y) { y = AveragePool<kernel_shape=[2,2,2], "
     "strides=[2,2,2]>(x) }",
     With("16", kRounds)},
    {"g (float[1,1,4,4,4] x, float[1,1,3,3,3] w) => (float[1,1,4,4,4] y) { y = "
     "Conv<auto_pad=\"SAME_UPPER\">(x, w) }",
     "1728: its convolution in 3-D knows no auto_pad"},
    {"g (float[1,1,4,4,4] x, float[1,1,3,3,3] w) => (float[1,1,2,2,2] y) { y = Conv(x, w) }",
     "216"},
    {"g (float[1,1,4,4] x, float[1,1,3,3] w) => (float[1,1,4,4] y) { y = "
     "Conv<auto_pad=\"SAME_UPPER\">(x, w) }",
     "144"},
    {"g (float[1,1,2,2] x) => (float[1,1,4,4] y) { s = Constant<value = float[2] {2, 2}>() "
     "y = Resize<mode=\"nearest\", axes=[2,3]>(x, \"\", s) }",
     "0: its Resize knows no axes", 18},
    {"g (float[4] x) => (float[2] y, int64[2] i) { k = Constant<value = int64[1] {2}>() y, i "
     "= TopK(x, k) }",
     With("0", kFromZeros)},
    {"g (int64[4] x) => (float[4,3] y) { d = Constant<value = int64 {3}>() v = "
     "Constant<value = float[2] {0, 1}>() y = OneHot(x, d, v) }",
     With("0", kFromZeros)},
    {"g (float[1,1,8,8] x, float[2,4] r, int64[2] b) => (float[2,1,1,1] y) { y = "
     "RoiAlign<sampling_ratio=1>(x, r, b) }",
     With("0", kFromZeros)},
};

TEST(OnnxToolTest, SaysWhereItsShapesMayNotBeTheTrueOnes) { ExpectSaid("onnx-tool", kOtherShapes); }

struct WeightCase {
  int type;
  int64_t size;
  const char* name;  // of the type that it does not read
};

// It does not read uint32, uint64 and bfloat16; an empty weight fits whatever it is read as.
const WeightCase kWeights[] = {{onnx::TensorProto::FLOAT, 3, ""},
                               {onnx::TensorProto::DOUBLE, 3, ""},
                               {onnx::TensorProto::FLOAT16, 3, ""},
                               {onnx::TensorProto::INT32, 3, ""},
                               {onnx::TensorProto::INT16, 3, ""},
                               {onnx::TensorProto::INT64, 3, ""},
                               {onnx::TensorProto::INT8, 3, ""},
                               {onnx::TensorProto::UINT8, 3, ""},
                               {onnx::TensorProto::UINT16, 3, ""},
                               {onnx::TensorProto::BOOL, 3, ""},
                               {onnx::TensorProto::UINT32, 3, "uint32"},
                               {onnx::TensorProto::UINT64, 3, "uint64"},
                               {onnx::TensorProto::BFLOAT16, 3, "bfloat16"},
                               {onnx::TensorProto::BFLOAT16, 0, ""}};

TEST(OnnxToolTest, ReadsWeightsThatNumPyHas) {
  for (const WeightCase& c : kWeights) {
    ModelMaker make;
    make.Input("x", {"2"})
        .Weight("w", {c.size}, c.type)
        .Node("n", "Relu", {"x"}, {"y"})
        .Output("y");
    const std::string said = Said(Ask(make.Load().value(), "onnx-tool"));
    EXPECT_EQ(said, *c.name == '\0'
                        ? "2"
                        : absl::StrCat("-: ValueError: initializer 'w' is ", c.name,
                                       ", which the tool reads as float64: its size does not fit"));
  }
}

// Its nodes are a dictionary: of those with one name, the last is left. What has no name is
// numbered.
TEST(OnnxToolTest, NodesOfOneName) {
  const struct {
    const char *first, *second, *third;
    int macs;
  } cases[] = {
      {"a", "b", "c", 2 + 3 + 5}, {"a", "a", "c", 3 + 5},        {"a", "a", "a", 5},
      {"", "", "", 2 + 3 + 5},    {"Relu_1", "", "", 3 + 5},     {"Relu_2", "", "", 3 + 5},
      {"", "", "Relu_0", 3 + 5},  {"Relu_3", "", "", 2 + 3 + 5}, {"", "", "Add_0", 2 + 3 + 5}};
  for (const auto& c : cases) {
    ModelMaker make;
    make.Input("x", {"2"}).Input("y", {"3"}).Input("z", {"5"});
    make.Node(c.first, "Relu", {"x"}, {"a"}).Node(c.second, "Relu", {"y"}, {"b"});
    make.Node(c.third, "Relu", {"z"}, {"c"}).Output("a").Output("b").Output("c");
    EXPECT_EQ(Ask(make.Load().value(), "onnx-tool").headline, Expr(c.macs))
        << c.first << c.second << c.third;
  }
}

// "Gemm 12 of 1": each term with what it adds to ours and the nodes that it is of.
std::vector<std::string> Terms(const ToolRow& row) {
  std::vector<std::string> terms;
  for (const TermRow& term : row.terms) {
    terms.push_back(absl::StrCat(term.name, " ", term.amount.ToString(), " of ", term.nodes));
  }
  return terms;
}

struct TermCase {
  const char* text;
  std::vector<std::string> terms;
  int opset = 17;
};

void ExpectTerms(const char* tool, const std::vector<TermCase>& cases) {
  for (const TermCase& c : cases) {
    EXPECT_THAT(Terms(Ask(ModelFromText(c.text, c.opset), tool)), ElementsAreArray(c.terms))
        << c.text;
  }
}

constexpr char kGemm[] =
    "g (float[3,5] a, float[5,7] b, float[7] c) => (float[3,7] y) { y = Gemm(a, b, c) }";
constexpr char kConvTranspose[] =
    "g (float[2,4,5] x, float[4,6,2] w) => (float[2,6,10] y) { y = ConvTranspose<kernel_shape=[2], "
    "strides=[2]>(x, w) }";
constexpr char kEinsum[] =
    "g (float[2,3] a, float[3,5] b, float[5,7] c) => (float[2,7] y) { y = "
    "Einsum<equation=\"ij,jk,kl->il\">(a, b, c) }";
constexpr char kQLinear[] =
    "g (uint8[1,2,4] x, float s, uint8 z, uint8[3,2,2] w, float t, uint8 v, float r, uint8 u, "
    "int32[3] b) => (uint8[1,3,3] y) "
    "{ y = QLinearConv<kernel_shape=[2]>(x, s, z, w, t, v, r, u, b) }";
constexpr char kRelu[] = "g (float[3,5] a) => (float[3,5] y) { y = Relu(a) }";
constexpr char kMean[] = "g (float[3,5] a) => (float[3,1] y) { y = ReduceMean<axes=[1]>(a) }";
constexpr char kNorm[] =
    "g (float[1,3,2,2] x, float[3] s) => (float[1,3,2,2] y) { y = BatchNormalization(x, s, s, s, "
    "s) }";
constexpr char kResize[] =
    "g (float[1,1,2,2] x) => (float[1,1,4,4] y) { s = Constant<value = float[4] {1, 1, 2, 2}>() "
    "y = Resize<mode=\"linear\">(x, \"\", s) }";

TEST(OnnxToolTest, TermsSayWhatCounts) {
  ExpectTerms("onnx-tool",
              {{kGemm, {"biases 21 of 1"}},
               {kConvTranspose,
                {absl::StrCat("ConvTranspose by another formula ", 120 * 12 - 40 * 12, " of 1")}},
               {kRelu, {"Relu 15 of 1"}},
               {kMean, {"ReduceMean 15 of 1"}},
               {kQLinear, {"biases 9 of 1"}}});
}

// ---- onnx-opcounter

TEST(OnnxOpcounterTest, TermsSayWhatCounts) {
  ExpectTerms(
      "onnx-opcounter",
      {{kConvTranspose,
        {absl::StrCat("ConvTranspose by another formula ", 120 * 4 * 2 - 40 * 12, " of 1")}},
       {"g (float[3,5] a, float[2,5,7] b) => (float[2,3,7] y) { y = MatMul(a, b) }",
        {"MatMul by another formula -105 of 1"}},
       {kRelu, {"Relu, 1 per element 15 of 1"}},
       {"g (float[5] a, float[3,5] b) => (float[3,5] y) { y = Add(a, b) }",
        {"Add, 1 per element 5 of 1"}},
       {kNorm, {"BatchNormalization, 2 per element 24 of 1"}},
       {kResize, {"Resize, 11 per element if linear 176 of 1"}, 13},
       {kMean, {"ReduceMean, 1 per output element 3 of 1"}},
       {"g (float[3,5] a, float[5,7] b) => (float[3,7] y) { y = MatMul(a, b) }", {}}});
}

// What it dies of, and some like it that it counts.
const Case kDeaths[] = {
    {"g (float[1,4,8,8] x, float[6,4,3,3] w) => (float[1,6,6,6] y) { y = Conv(x, w) }",
     "-: KeyError: 'kernel_shape'"},
    {"g (float[3] a, float[3] b) => (float y) { y = MatMul(a, b) }",
     "-: IndexError: list index out of range"},
    {"g (float[1,1,2,2] x) => (float[1,1,4,4] y) { s = Constant<value = float[4] {1, "
     "1, 2, 2}>() "
     "y = Resize<mode=\"cubic\">(x, \"\", s) }",
     "-: TypeError: unsupported operand type(s) for +=: 'int' and 'NoneType'", 13},
    {"g (float[1,1,2,2] x) => (float[1,1,4,4] y) { s = Constant<value = float[4] {1, "
     "1, 2, 2}>() "
     "y = Resize<mode=\"nearest\">(x, \"\", s) }",
     "0", 13},
    {"g (float[1,1,2,2] x) => (float[1,1,4,4] y) { s = Constant<value = float[4] {1, "
     "1, 2, 2}>() "
     "y = Resize(x, \"\", s) }",
     "0", 13},
    {"g (float16[3] a) => (float16[3] y) { y = Relu(a) }",
     "-: KeyError: 10 (input 'a' is float16)"},
    {"g (double[3] a) => (double[3] y) { y = Relu(a) }", "3"},
    {"g (int64[3] a) => (int64[3] y) { y = Add(a, a) }", "3"},
    {"g (int32[3] a) => (int32[3] y) { y = Add(a, a) }", "-: KeyError: 6 (input 'a' is int32)"},
    {"g (float[1,4,8,8] x, float[6,2,3,3] w) => (float[1,6,6,6] y) { y = "
     "Conv<kernel_shape=[3,3], group=2>(x, w) }",
     absl::StrCat(216 * 2 * 9)},
};

TEST(OnnxOpcounterTest, WhatItDiesOf) { ExpectSaid("onnx-opcounter", kDeaths); }

// By hand; 0.1.0 itself gives the same.
TEST(OnnxOpcounterTest, RulesOfTheNewVersion) {
  const Case cases[] = {
      {"g (float[3,5] a) => (float[3,5] y) { y = Relu(a) }", "15"},
      {"g (float[5] a, float[3,5] b) => (float[3,5] y) { y = Add(a, b) }", "15"},
      {"g (float[3,5] a) => (float[3,5] y) { y = Softmax(a) }", "15"},
      {"g (float[3,5] a) => (float[6,5] y) { y = Concat<axis=0>(a, a) }", "0"},
      {"g (float[3,5] a) => (float[3,1] y) { y = ReduceMean<axes=[1]>(a) }", "15"},
      {"g (float[1,4,8,8] x, float[6,4,3,3] w) => (float[1,6,6,6] y) { y = Conv(x, w) }",
       absl::StrCat(216 * 4 * 9)},
      {"g (float[2,3] a, float[3,5] b) => (float[2,5] y) { y = Einsum<equation=\"i j, jk -> "
       "ik\">(a, b) }",
       absl::StrCat(10 * 3)},
      {"g (float[2,3] a, float[3,5] b) => (float[2,5] y) { y = Einsum<equation=\"ij,jk\">(a, b) }",
       "10"},
      {"g (float[1,2,7,4] q, float[1,2,9,4] k, float[1,2,9,6] v) => (float[1,2,7,6] y) { y = "
       "Attention(q, k, v) }",
       absl::StrCat(2 * 7 * 9 * (4 + 6)), 23},
      {"g (float[3,7,8] q, float[3,9,8] k, float[3,9,12] v) => (float[3,7,12] y) { y = "
       "Attention<q_num_heads=2, kv_num_heads=2>(q, k, v) }",
       absl::StrCat(3 * 7 * 12), 23},
      {"g (float[1,2,4,4] x) => (float[1,2,3,3] y) { y = MaxPool<kernel_shape=[2,2]>(x) }",
       absl::StrCat(18 * 4)},
      {"g (float[1,2,4,4] x) => (float[1,2,1,1] y) { y = GlobalAveragePool(x) }", "32"},
      {"g (float[5,2,3] x, float[1,16,3] w, float[1,16,4] r) => (float[5,1,2,4] y) { y = "
       "LSTM<hidden_size=4>(x, w, r) }",
       absl::StrCat(10 * (48 + 64))},
      {"g (float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization(x, s, s) }",
       absl::StrCat(6 * (5 + 2))},
      {"g (float[2,3] x, float[3] s) => (float[2,3] y) { y = RMSNormalization(x, s) }",
       absl::StrCat(6 * (3 + 1)), 23},
      {"g (float[1,3,2,2] x) => (float[1,3,2,2] y) { y = LRN<size=5>(x) }", absl::StrCat(12 * 5)},
      {"g (float[1,1,2,2] x) => (float[1,1,4,4] y) { s = Constant<value = float[4] {1, 1, 2, 2}>() "
       "y = Resize<mode=\"cubic\">(x, \"\", s) }",
       "0", 13},
      {"g (float[1,1,2,2] x) => (float[1,1,4,4] y) { s = Constant<value = float[4] {1, 1, 2, 2}>() "
       "y = Resize<mode=\"linear\">(x, \"\", s) }",
       absl::StrCat(16 * 11), 13},
      {"g (float[1,8,1] x) => (float[1,8,2] y) { y = DFT<axis=1>(x) }", absl::StrCat(16 * 3)},
      // A loop's first input may be left out: the tool looks it up.
      {"g (float[3] a) => (float[3] y) { c = Constant<value = bool {1}>() y = Loop(\"\", c, a) "
       "<body = b (int64 i, bool go, float[3] v) => (bool on, float[3] w) "
       "{ on = Identity(go) w = Relu(v) }> }",
       "-: KeyError: ''"},
  };
  ExpectSaid("onnx-opcounter@0.1.0", cases);
}

// 2^31 - 1 bytes of weights are a file, one more is none.
TEST(OnnxOpcounterTest, AtMostTwoGigabytes) {
  for (const int64_t last : {-1, 0}) {
    ModelMaker make;
    make.Input("x", {"3"}).Weight("w", {(int64_t{1} << 31) - 1 + last}, onnx::TensorProto::INT8);
    make.Weight("v", {1}, onnx::TensorProto::INT8).Node("n", "Relu", {"x"}, {"y"}).Output("y");
    EXPECT_EQ(Said(Ask(make.Load().value(), "onnx-opcounter")).substr(0, 1), last < 0 ? "3" : "-");
  }
}

// ---- onnxsim

TEST(OnnxsimTest, TermsSayWhatCounts) {
  ExpectTerms("onnxsim",
              {{kEinsum, {absl::StrCat("Einsum has no counter -", 2 * 3 * 5 + 2 * 5 * 7, " of 1")}},
               {kConvTranspose, {}},
               {kGemm, {}},
               {kRelu, {}},
               {"g (float[1,2,7,4] q, float[1,2,9,4] k, float[1,2,9,6] v) => (float[1,2,7,6] y) { "
                "y = Attention(q, k, v) }",
                {},
                23}});
}

TEST(OnnxsimTest, AttentionOfRankThreeNeedsItsHeads) {
  // 2 heads of 4 and 6: 2 * 7 * 9 * (4 + 6), for each of 3.
  ExpectSaid("onnxsim",
             {
                 {"g (float[3,7,8] q, float[3,9,8] k, float[3,9,12] v) => (float[3,7,12] y) "
                  "{ y = Attention<q_num_heads=2, kv_num_heads=2>(q, k, v) }",
                  absl::StrCat(3 * 2 * 7 * 9 * 10), 23},
                 {"g (float[3,7,16] q, float[3,9,8] k, float[3,9,12] v) => (float[3,7,24] y) "
                  "{ y = Attention<q_num_heads=4, kv_num_heads=2>(q, k, v) }",
                  absl::StrCat(3 * 4 * 7 * 9 * 10), 23},
             });
}

TEST(OnnxsimTest, ItsProducts) {
  ExpectSaid(
      "onnxsim",
      {
          {kGemm, absl::StrCat(3 * 5 * 7)},
          {"g (float[3,5] a, float[7,5] b) => (float[3,7] y) { y = Gemm<transB=1>(a, b) }", "105"},
          {"g (float[5,3] a, float[5,7] b) => (float[3,7] y) { y = Gemm<transA=1>(a, b) }", "105"},
          {"g (float[2,3,5] a, float[5] b) => (float[2,3] y) { y = MatMul(a, b) }", "30"},
          {kQLinear, absl::StrCat(9 * 4)},
          {kConvTranspose, absl::StrCat(40 * 12)},
          {"g (uint8[1,2,4] x, uint8[3,2,2] w) => (int32[1,3,3] y) { y = ConvInteger(x, w) }",
           absl::StrCat(9 * 4)},
      });
}

// The tool infers shapes with data propagation only where it expands a function. Without, it may
// not find the size of r.
TEST(OnnxsimTest, ExpandsFunctionsOfSomeVersions) {
  const auto text = [](const char* between) {
    return absl::StrCat(
        "g (float[3,4] w, float[4,3] z) => (float[k,l] y) "
        "{ s = Shape(z) r = ConstantOfShape(s) ",
        between, " y = MatMul(p, w) }");
  };
  const struct {
    const char* between;
    int opset;
    bool known;
  } cases[] = {{"p = Relu(r)", 17, false},      {"p = Softmax(r)", 12, false},
               {"p = Softmax(r)", 13, true},    {"p = LogSoftmax(r)", 12, false},
               {"p = LogSoftmax(r)", 13, true}, {"p = LayerNormalization(r, z)", 17, true},
               {"p = Gelu(r)", 20, true},       {"p = Mish(r)", 20, false}};
  for (const auto& c : cases) {
    std::string model = text(c.between);
    if (std::string(c.between).find("LayerN") != std::string::npos) {
      model.replace(model.find("float[4,3] z)"), 13, "float[4,3] z, float[3] g)");
      model.replace(model.find("(r, z)"), 6, "(r, g)");
    }
    const std::string said = Said(Ask(ModelFromText(model, c.opset), "onnxsim"));
    const std::string doubt =
        "48: ONNX's shape inference, which the tool asks, finds the sizes that we find; it may not "
        "at ";
    EXPECT_EQ(said.substr(0, doubt.size()), c.known ? "48" : doubt) << c.between << c.opset;
  }
}

// Of a tensor of unknown rank it has no shape: what is left is the product next to it.
TEST(OnnxsimTest, OfUnknownRanks) {
  const struct {
    const char* op;
    ModelMaker::Strings first, second;
  } cases[] = {{"MatMul", {"3", "5"}, {}},
               {"MatMul", {}, {"5", "7"}},
               {"Conv", {}, {"4", "2", "3"}},
               {"Conv", {"1", "2", "8"}, {}},
               {"Gemm", {}, {"5", "7"}},
               {"Gemm", {"3", "5"}, {}},
               {"ConvTranspose", {}, {"2", "4", "3"}},
               {"ConvTranspose", {"1", "2", "8"}, {}}};
  for (const auto& c : cases) {
    ModelMaker make;
    make.Input("x", c.first).Input("w", c.second).Node("n", c.op, {"x", "w"}, {"y"}).Output("y");
    make.Input("a", {"2", "3"})
        .Input("b", {"3", "4"})
        .Node("m", "MatMul", {"a", "b"}, {"z"})
        .Output("z");
    EXPECT_EQ(Said(Ask(make.Load().value(), "onnxsim")).substr(0, 4), "24: ")
        << c.op << c.first.size();
  }
}

// A node inside of a function is none of the main graph's, whatever its name.
TEST(OnnxToolTest, EndsAtAFunction) {
  ModelMaker make;
  make.Input("x", {"3"}).Node("n", "f", {"x"}, {"y"}).Output("y");
  make.node->set_domain("local");
  auto* local = make.proto.add_opset_import();
  local->set_domain("local");
  local->set_version(1);
  onnx::FunctionProto* function = make.proto.add_functions();
  function->set_name("f");
  function->set_domain("local");
  function->add_opset_import()->set_version(17);
  function->add_input("a");
  function->add_output("b");
  onnx::NodeProto* relu = function->add_node();
  relu->set_name("n");
  relu->set_op_type("Relu");
  relu->add_input("a");
  relu->add_output("b");
  EXPECT_THAT(Said(Ask(make.Load().value(), "onnx-tool")),
              HasSubstr("this Node f-n has no value_infer"));
}

TEST(OnnxsimTest, AffineGridHasAProductInside) {
  ExpectSaid(
      "onnxsim",
      {{"g (float[2,2,3] t) => (float[2,4,5,2] y) { s = Constant<value = int64[4] {2, 3, 4, 5}>() "
        "y = AffineGrid(t, s) }",
        "0: the product inside of AffineGrid, which the tool expands, is left out", 20}});
}

}  // namespace
}  // namespace onnxflops::convention::onnx_tools_test
