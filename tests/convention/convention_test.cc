// What other tools count: operators one by one, by hand from each tool's rules, and what holds for
// every convention and every model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/compare/compare_report.h"
#include "src/convention/comparison.h"
#include "src/convention/conventions.h"
#include "src/convention/formula_facts.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "src/report/report.h"
#include "src/report/writers.h"
#include "tests/model_maker.h"
#include "tests/model_text.h"

namespace onnxflops::convention::convention_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

ToolRow Ask(const Model& model, const char* tool) {
  const auto report = CompareTools(model, {}, {.with = {tool}});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? report->tools[0] : ToolRow();
}

struct Micro {
  const char* text;
  const char* tool_macs;     // onnx-tool; "-" where it has no figure
  const char* counter_macs;  // onnx-opcounter
  const char* sim_macs;      // onnxsim
  int opset = 17;
};

std::string Figure(const ToolRow& row) {
  return row.standing == Standing::kNotApplicable ? "-" : row.headline->ToString();
}

// Figures by hand, from the rules that each convention's file states and, for transposed
// convolutions, broadcast products and zero points, as measured with the tools themselves.
constexpr Micro kMicro[] = {
    // ---- products
    {"g (float[3,5] a, float[5,7] b) => (float[3,7] y) { y = MatMul(a, b) }", "105", "105", "105"},
    {"g (float[3,5] a, float[2,5,7] b) => (float[2,3,7] y) { y = MatMul(a, b) }", "210", "105",
     "210"},
    {"g (float[5] a, float[5,7] b) => (float[7] y) { y = MatMul(a, b) }", "-", "35", "35"},
    {"g (float[3,5] a, float[5] b) => (float[3] y) { y = MatMul(a, b) }", "-", "45", "15"},
    {"g (float[3,5] a, float[5,7] b, float[7] c) => (float[3,7] y) { y = Gemm(a, b, c) }", "126",
     "105", "105"},
    {"g (float[3,5] a, float[7,5] b) => (float[3,7] y) { y = Gemm<transB=1>(a, b) }", "105", "105",
     "105"},
    {"g (uint8[2,5] a, uint8[5,7] b, uint8 z) => (int32[2,7] y) { y = MatMulInteger(a, b, z) }",
     "84", "-", "70"},
    {"g (float[2,3,5] a, float[2,5,7] b) => (float[2,3,7] y) "
     "{ y = Einsum<equation=\"bik,bkj->bij\">(a, b) }",
     "210", "42", "0"},
    {"g (float[2,3,5] a, float[2,5,7] b) => (float[2,3,7] y) "
     "{ y = Einsum<equation=\" b i k, bkj -> bij \">(a, b) }",
     "210", "42", "0"},
    {"g (float[2,3,5] a, float[5,7] b) => (float[2,3,7] y) "
     "{ y = Einsum<equation=\"...ik,kj->...ij\">(a, b) }",
     "-", "42", "0"},
    // ---- convolutions
    {"g (float[1,4,8,8] x, float[6,4,3,3] w, float[6] b) => (float[1,6,8,8] y) "
     "{ y = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w, b) }",
     "14208", "13824", "13824"},
    {"g (float[1,4,8,8] x, float[6,2,3,3] w) => (float[1,6,6,6] y) "
     "{ y = Conv<kernel_shape=[3,3], group=2>(x, w) }",
     "3888", "3888", "3888"},
    {"g (float[1,4,8,8] x, float[6,4,3,3] w) => (float[1,6,6,6] y) { y = Conv(x, w) }", "7776", "-",
     "7776"},
    {"g (float[2,4,5,5] x, float[4,6,2,2] w) => (float[2,6,10,10] y) "
     "{ y = ConvTranspose<kernel_shape=[2,2], strides=[2,2]>(x, w) }",
     "28800", "19200", "4800"},
    {"g (float[2,4,5,5] x, float[4,3,3,3] w) => (float[2,6,11,11] y) "
     "{ y = ConvTranspose<kernel_shape=[3,3], strides=[2,2], group=2>(x, w) }",
     "39204", "26136", "5400"},
    // ---- norms and activations
    {"g (float[2,3,4] x, float[4] s, float[4] b) => (float[2,3,4] y) "
     "{ y = LayerNormalization(x, s, b) }",
     "342", "24", "0"},
    {"g (float[1,3,2,2] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[1,3,2,2] y) "
     "{ y = BatchNormalization(x, s, b, m, v) }",
     "372", "24", "0"},
    {"g (float[1,3,2,2] x, float[3] s, float[3] b) => (float[1,3,2,2] y) "
     "{ y = InstanceNormalization(x, s, b) }",
     "84", "12", "0"},
    {"g (float[2,5] x) => (float[2,5] y) { y = Softmax(x) }", "360", "10", "0"},
    {"g (float[2,5] x) => (float[2,5] y) { y = LogSoftmax(x) }", "800", "10", "0"},
    {"g (float[2,5] x) => (float[2,5] y) { y = Relu(x) }", "10", "10", "0"},
    {"g (float[2,5] x) => (float[2,5] y) { y = LeakyRelu(x) }", "20", "10", "0"},
    {"g (float[2,5] x, float[5] s) => (float[2,5] y) { y = PRelu(x, s) }", "20", "10", "0"},
    {"g (float[2,5] x) => (float[2,5] y) { y = Gelu(x) }", "340", "10", "0", 20},
    {"g (float[2,5] x) => (float[2,5] y) { y = Erf(x) }", "0", "10", "0"},
    {"g (float[2,5] x) => (float[2,5] y) { y = Sigmoid(x) }", "320", "10", "0"},
    {"g (float[2,5] x) => (float[2,5] y) { y = Tanh(x) }", "760", "10", "0"},
    {"g (float[2,5] x) => (float[2,5] y) { y = Elu(x) }", "350", "10", "0"},
    {"g (float[2,5] x) => (float[2,5] y) { y = HardSigmoid(x) }", "40", "10", "0"},
    {"g (float[2,5] x) => (float[2,5] y) { y = Exp(x) }", "320", "10", "0"},
    {"g (float[2,5] x) => (float[2,5] y) { y = Log(x) }", "430", "10", "0"},
    {"g (float[2,5] x) => (float[2,5] y) { y = Sqrt(x) }", "240", "10", "0"},
    {"g (float[2,5] x) => (float[2,5] y) { y = Sin(x) }", "390", "10", "0"},
    {"g (float[2,5] x, float[5] e) => (float[2,5] y) { y = Pow(x, e) }", "320", "10", "0"},
    // ---- elementwise
    {"g (float[2,5] x, float[5] b) => (float[2,5] y) { y = Add(x, b) }", "10", "10", "0"},
    {"g (float[5] x, float[2,5] b) => (float[2,5] y) { y = Add(x, b) }", "10", "5", "0"},
    {"g (float[2,5] x, float[5] b) => (float[2,5] y) { y = Mul(x, b) }", "10", "10", "0"},
    {"g (float[2,5] x, float[5] b) => (float[2,5] y) { y = Div(x, b) }", "40", "10", "0"},
    {"g (float[2,5] x, float[2,5] b, float[2,5] c) => (float[2,5] y) { y = Sum(x, b, c) }", "20",
     "10", "0"},
    {"g (float[2,5] x, float[2,5] b, float[2,5] c) => (float[2,5] y) { y = Max(x, b, c) }", "10",
     "10", "0"},
    {"g (float[2,5] x, float[2,5] b) => (bool[2,5] y) { y = Greater(x, b) }", "10", "10", "0"},
    {"g (float x, float b) => (float y) { y = Mul(x, b) }", "0", "1", "0"},
    // ---- pooling and reductions
    {"g (float[1,2,4,4] x) => (float[1,2,2,2] y) { y = MaxPool<kernel_shape=[2,2], "
     "strides=[2,2]>(x) }",
     "32", "8", "0"},
    {"g (float[1,1,6,6,6] x) => (float[1,1,2,2,2] y) "
     "{ y = AveragePool<kernel_shape=[3,3,3], strides=[3,3,3]>(x) }",
     "24", "8", "0"},
    {"g (float[1,2,4,4] x) => (float[1,2,1,1] y) { y = GlobalAveragePool(x) }", "40", "2", "0"},
    {"g (float[2,5] x) => (float[2,1] y) { y = ReduceMean<axes=[1]>(x) }", "10", "2", "0"},
    {"g (float[2,5] x) => (float[2,1] y) { y = ReduceL2<axes=[1]>(x) }", "250", "2", "0"},
    // ---- recurrence: W 3 gates x 5, R, B once per step and row, and the activations
    {"g (float[3,2,5] x, float[1,16,5] w, float[1,16,4] r, float[1,32] b) => (float[3,1,2,4] y) "
     "{ y = LSTM<hidden_size=4>(x, w, r, b) }",
     "5376", "24", "0"},
    {"g (float[3,2,5] x, float[1,16,5] w, float[1,16,4] r) => (float[3,1,2,4] y) "
     "{ y = LSTM<hidden_size=4>(x, w, r) }",
     "-", "24", "0"},
    // ---- work on shapes: onnx-tool ends where it has no values of a node
    {"g (float[2,5] x, float[2] e) => (float[A,B] y) "
     "{ c = PRelu(e, e) s = Cast<to=7>(c) y = Reshape(x, s) }",
     "-", "2", "0"},
    {"g (float[2,5] x, float[2] e) => (int64[2] y) { c = PRelu(e, e) y = Cast<to=7>(c) }", "4", "2",
     "0"},
    // ---- data movement
    {"g (float[2,5] x) => (float[5,2] y) { y = Transpose(x) }", "0", "0", "0"},
    {"g (float[2,5] x, float[2,5] b) => (float[4,5] y) { y = Concat<axis=0>(x, b) }", "0", "20",
     "0"},
    {"g (float[10,4] t, int64[2,3] i) => (float[2,3,4] y) { y = Gather(t, i) }", "0", "0", "0"},
    // ---- attention
    {"g (float[1,2,7,4] q, float[1,2,9,4] k, float[1,2,9,6] v) => (float[1,2,7,6] y) "
     "{ y = Attention(q, k, v) }",
     "-", "84", "1260", 23},
};

TEST(OnnxToolsTest, CountOperatorsByTheirOwnRules) {
  for (const Micro& micro : kMicro) {
    const Model model = ModelFromText(micro.text, micro.opset);
    EXPECT_EQ(Figure(Ask(model, "onnx-tool")), micro.tool_macs) << micro.text;
    EXPECT_EQ(Figure(Ask(model, "onnx-opcounter")), micro.counter_macs) << micro.text;
    EXPECT_EQ(Figure(Ask(model, "onnxsim")), micro.sim_macs) << micro.text;
  }
}

TEST(OnnxToolsTest, OnnxToolEndsWhereItHasNoClass) {
  for (const char* op : {"Celu", "Selu", "Mish", "Tan", "IsNaN", "GlobalMaxPool", "Softsign"}) {
    const bool pools = std::string(op) == "GlobalMaxPool";
    const std::string result = std::string(op) == "IsNaN" ? "bool" : "float";
    const std::string text = absl::StrCat("g (float[1,2,3,3] x) => (", result, "[1,2,",
                                          pools ? "1,1" : "3,3", "] y) { y = ", op, "(x) }");
    const ToolRow row = Ask(ModelFromText(text, 18), "onnx-tool");
    EXPECT_EQ(row.standing, Standing::kNotApplicable) << op;
    EXPECT_THAT(row.assumptions[0],
                HasSubstr(absl::StrCat("this Node ", op, "-n0 has no value_infer")));
  }
}

// Both branches of an If; the body of a Loop once.
TEST(OnnxToolsTest, OnnxsimAddsUpBranchesAndForgetsTrips) {
  const char* branches =
      "g (bool c, float[2,3] a, float[3,4] b, float[3,5] d) => (float[2,n] y) { y = If(c) <"
      "then_branch = t () => (float[2,4] u) { u = MatMul(a, b) },"
      "else_branch = e () => (float[2,5] v) { v = MatMul(a, d) }> }";
  EXPECT_EQ(Ask(ModelFromText(branches, 17), "onnxsim").headline->ToString(), "54");
  const char* loop =
      "g (float[2,2] a) => (float[2,2] y) { m = Constant<value = int64 {7}>() "
      "c = Constant<value = bool {1}>() y = Loop(m, c, a) <"
      "body = b (int64 i, bool k, float[2,2] s) => (bool o, float[2,2] t) "
      "{ o = Identity(k) t = MatMul(s, a) }> }";
  const ToolRow row = Ask(ModelFromText(loop, 17), "onnxsim");
  EXPECT_EQ(row.start.ToString(), "56");
  EXPECT_EQ(row.headline->ToString(), "8");
}

TEST(OnnxToolsTest, WhatTheyCannotOpenHasNoFigure) {
  ModelMaker open;
  open.Input("x", {"batch", "4"}).Weight("w", {4, 4});
  open.Node("m", "MatMul", {"x", "w"}, {"y"}).Output("y");
  const Model model = open.Load().value();
  EXPECT_THAT(Ask(model, "onnx-tool").assumptions[0], HasSubstr("The input tensor x's shape"));
  EXPECT_EQ(Ask(model, "onnx-opcounter").headline->ToString(), "0");  // an open size is read as 0
  ModelMaker large;
  large.Input("x", {"1", "30000"}).Weight("w", {30000, 30000});
  large.Node("m", "MatMul", {"x", "w"}, {"y"}).Output("y");
  EXPECT_THAT(Ask(large.Load().value(), "onnx-opcounter").assumptions[0], HasSubstr("2 GB"));
  ModelMaker brain;
  brain.Input("x", {"1", "4"}).Weight("w", {4, 4}, onnx::TensorProto::BFLOAT16);
  brain.Node("m", "MatMul", {"x", "w"}, {"y"}).Output("y");
  EXPECT_THAT(Ask(brain.Load().value(), "onnx-tool").assumptions[0], HasSubstr("bfloat16"));
}

TEST(OnnxToolsTest, ParametersAreThoseOfTheFile) {
  ModelMaker make;
  make.Input("x", {"3", "5"}).Weight("fc.weight", {5, 7}).Weight("fc.bias", {7});
  make.Node("m", "MatMul", {"x", "fc.weight"}, {"h"});
  make.Node("a", "Add", {"h", "fc.bias"}, {"y"}).Output("y");
  const Model model = make.Load().value();
  EXPECT_EQ(Ask(model, "onnx-opcounter").params, 5 * 7 + 7);
}

// Tools of PyTorch see a model, not a graph: without the calls that made it there is no figure.
TEST(TorchToolsTest, AGraphOfNoExporterHasNoCalls) {
  const ToolRow row = Ask(
      ModelFromText("g (float[3,5] a, float[5,7] b) => (float[3,7] y) { y = MatMul(a, b) }", 17),
      "fvcore");
  EXPECT_EQ(row.standing, Standing::kNotApplicable);
  EXPECT_THAT(
      row.assumptions,
      testing::ElementsAre("the file does not say which modules of PyTorch its nodes came from"));
}

// The shapes that ONNX's inference does not follow are never called exact.
TEST(OnnxToolsTest, ShapesThatOnnxMayNotFindAreAssumed) {
  const char* computed =
      "g (float[2,6] x, float[3,4] w) => (float[4,4] y) { s = Constant<value = int64[2] {4, 3}>() "
      "o = Constant<value = int64 {1}>() t = Mul(s, o) z = Where(k, t, s) r = Reshape(x, z) "
      "y = MatMul(r, w) }";
  std::string text = computed;
  text.replace(text.find("float[3,4] w"), 12, "float[3,4] w, bool[2] k");
  const Model model = ModelFromText(text, 17);
  EXPECT_NE(Ask(model, "onnx-opcounter").standing, Standing::kExact);
  EXPECT_NE(Ask(model, "onnxsim").standing, Standing::kExact);
}

// ---- versions

TEST(VersionTest, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const Convention* tool : Conventions()) {
    EXPECT_EQ(FindConvention(tool->name), tool);
    EXPECT_TRUE(names.insert(tool->name).second) << tool->name;
    for (const Convention* version : tool->versions) {
      const std::string name = absl::StrCat(tool->name, "@", version->version);
      EXPECT_EQ(FindConvention(name), version) << name;
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_EQ(version->unit, tool->unit) << name;
      EXPECT_STRNE(version->changed, "") << name;
    }
  }
  EXPECT_EQ(FindConvention("fvcore@torch1"), &kFvcoreTorch1);
}

TEST(VersionTest, TheNewestIsTheDefault) {
  for (const Convention* tool : Conventions()) {
    if (tool->versions.empty()) continue;
    const Convention& newest = *tool->versions.front();
    EXPECT_STREQ(tool->version, newest.version);
    EXPECT_STREQ(tool->source, newest.source);
    EXPECT_STRNE(newest.since, "") << tool->name;
  }
}

TEST(VersionTest, AnUnknownOneNamesTheOthers) {
  const std::pair<const char*, const char*> cases[] = {
      {"deepspeed@0.20", "there are deepspeed@0.19.7, deepspeed@0.19.6"},
      {"deepspeed@", "there are deepspeed@0.19.7, deepspeed@0.19.6"},
      {"fvcore@torch1@", "there are fvcore@torch2, fvcore@torch1"},
      {"torchstat@0.0.7", "torchstat has no versions"},
      {"@2.14", "there are macs, thop, "},
      {"deep@0.19.7", "there are macs, thop, "},
  };
  for (const auto& [name, text] : cases) {
    const auto found = RequireConvention(name);
    EXPECT_EQ(found.status().code(), absl::StatusCode::kNotFound) << name;
    EXPECT_THAT(std::string(found.status().message()), HasSubstr(text)) << name;
  }
}

TEST(FormulaTest, ParametersTimesTokens) {
  ModelMaker make;
  auto* ids = make.proto.mutable_graph()->add_input();
  ModelMaker::Declare(ids, "ids", {"2", "8"});
  ids->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  make.Weight("emb.weight", {100, 16}).Weight("fc.weight", {16, 32});
  make.Node("g", "Gather", {"emb.weight", "ids"}, {"x"});
  make.Node("m", "MatMul", {"x", "fc.weight"}, {"y"}).Output("y");
  const Model model = make.Load().value();
  const int params = 100 * 16 + 16 * 32, tokens = 2 * 8;
  EXPECT_EQ(Ask(model, "config-6n").headline, Expr(6 * params * tokens));
  EXPECT_EQ(Ask(model, "config-2.5n").headline, Expr(15 * params * tokens / 2));
  EXPECT_EQ(Ask(model, "macs").headline, Expr(2 * tokens * 16 * 32));
}

// Five tokens of a text and three of an image, in each of two sequences.
TEST(FormulaTest, TokensOfAnImageStandBesideThoseOfAText) {
  ModelMaker make;
  make.Input("image", {"2", "3", "4", "1"}).Input("ids", {"2", "5"});
  auto* ids = make.proto.mutable_graph()->mutable_input(1);
  ids->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  make.Weight("emb.weight", {11, 6}).Weight("patch.weight", {4, 6}).Weight("head.weight", {6, 11});
  make.Node("g", "Gather", {"emb.weight", "ids"}, {"text"});
  make.Node("s", "Squeeze", {"image"}, {"patches"});
  make.Node("p", "MatMul", {"patches", "patch.weight"}, {"seen"});
  make.Node("c", "Concat", {"seen", "text"}, {"all"});
  onnx::AttributeProto* axis = make.node->add_attribute();
  axis->set_name("axis");
  axis->set_type(onnx::AttributeProto::INT);
  axis->set_i(1);
  make.Node("h", "MatMul", {"all", "head.weight"}, {"logits"}).Output("logits");
  const int params = 11 * 6 + 4 * 6 + 6 * 11, tokens = 2 * (5 + 3);
  EXPECT_EQ(Ask(make.Load().value(), "config-6n").headline, Expr(6 * params * tokens));
}

// Of three experts a token meets one. Two layers share theirs: 2/3 of the weights idle, once.
TEST(FormulaTest, ExpertsOfTwoLayersAreIdleOnce) {
  ModelMaker make;
  make.Input("ids", {"2", "4"});
  auto* ids = make.proto.mutable_graph()->mutable_input(0);
  ids->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  auto* contrib = make.proto.add_opset_import();
  contrib->set_domain("com.microsoft");
  contrib->set_version(1);
  make.Weight("emb.weight", {11, 6}).Weight("router.weight", {6, 3});
  make.Weight("up.weight", {3, 5, 6}).Weight("down.weight", {3, 6, 5});
  make.Node("g", "Gather", {"emb.weight", "ids"}, {"x0"});
  for (const int layer : {0, 1}) {
    const std::string x = absl::StrCat("x", layer), p = absl::StrCat("p", layer);
    make.Node(absl::StrCat("r", layer), "MatMul", {x, "router.weight"}, {p + "3"});
    make.Node(absl::StrCat("f", layer), "Flatten", {p + "3"}, {p}, {{"axis", 2}});
    make.Node(absl::StrCat("m", layer), "MoE", {x, p, "up.weight", "", "down.weight"},
              {absl::StrCat("x", layer + 1)}, {{"k", 1}});
    make.node->set_domain("com.microsoft");
  }
  make.Output("x2");
  const Inference inference = Infer(make.Load().value()).value();
  const FormulaFacts facts = ReadFormulaFacts(inference, Count(inference).value());
  const int experts = 3 * 5 * 6 + 3 * 6 * 5, others = 11 * 6 + 6 * 3;
  EXPECT_EQ(facts.parameters.n, Expr(others + experts));
  EXPECT_EQ(facts.parameters.a, Expr(others + experts / 3));
}

TEST(FormulaTest, NeedsTokens) {
  const Model image =
      ModelFromText("g (float[1,3,8,8] x) => (float[1,3,8,8] y) { y = Relu(x) }", 17);
  EXPECT_EQ(Ask(image, "config-6n").standing, Standing::kNotApplicable);
}

// 3x3 with a padding of 1 on 4x4: of 16 positions times 9 weights, those on the input are
// (4 + 3 + 3)^2 = 100.
TEST(XlaTest, CountsWhatMeetsTheInput) {
  const Model model = ModelFromText(
      "g (float[1,2,4,4] x, float[5,2,3,3] w) => (float[1,5,4,4] y) "
      "{ c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) y = Exp(c) }",
      17);
  const ToolRow row = Ask(model, "xla");
  EXPECT_EQ(row.headline, Expr(2 * 100 * 2 * 5));  // exp is a transcendental: apart
  EXPECT_EQ(row.start, Expr(2 * 144 * 2 * 5 + 5 * 16));
}

struct XlaCase {
  const char* text;
  const char* flops;
  const char* assumption = "";  // what one of them says
};

constexpr XlaCase kXlaCases[] = {
    // What is open multiplies what counts, but where it decides what meets the input.
    {"g (float[N,2,4,4] x, float[5,2,3,3] w) => (float[N,5,4,4] y) "
     "{ y = Conv<pads=[1,1,1,1]>(x, w) }",
     "2000*N"},
    {"g (float[1,2,H,4] x, float[5,2,3,3] w) => (float[1,5,H,4] y) "
     "{ y = Conv<pads=[1,1,1,1]>(x, w) }",
     "720*H", "padding of convolutions counts"},
    {"g (float[1,2,H,4] x, float[5,2,3,3] w) => (float[1,5,I,2] y) { y = Conv(x, w) }",
     "360*H - 720"},
    // The size of a transposed convolution's output says what is cut off at its begin.
    {"g (float[1,1,3] x, float[1,1,3] w) => (float[1,1,6] y) "
     "{ y = ConvTranspose<strides=[2], output_shape=[6]>(x, w) }",
     "16"},
    // Each total has the larger branch; what shapes decide is decided.
    {"g (bool p, float[4,8] x) => (float[4,8] y) { y = If(p) <"
     "then_branch = t () => (float[4,8] a) { a = Add(x, x) },"
     "else_branch = e () => (float[4,8] c) { d = Exp(x) e = Exp(d) c = Exp(e) }> }",
     "32", "apart: 96"},
    {"g (float[4,8] x) => (float[4,8] y) { p = Constant<value = bool {0}>() y = If(p) <"
     "then_branch = t () => (float[4,8] a) { a = Add(x, x) },"
     "else_branch = e () => (float[4,8] c) { c = Exp(x) }> }",
     "0", "apart: 32"},
    // A loop in a loop is one body, too.
    {"g (int64 m, bool b, float[4,8] x) => (float[4,8] y) { y = Loop(m, b, x) <"
     "body = l (int64 i, bool c, float[4,8] s) => (bool d, float[4,8] u) "
     "{ d = Identity(c) u = Loop(m, b, s) <"
     "body = k (int64 j, bool e, float[4,8] v) => (bool f, float[4,8] w) "
     "{ f = Identity(e) w = Mul(v, v) }> }> }",
     "32"},
    // Shape arithmetic is done before there is a program.
    {"g (float[4,8] x) => (float[z] y) { s = Shape(x) f = ReduceProd<axes=[0]>(s) "
     "y = Reshape(x, f) }",
     "0"},
    {"g (float[1,1,4,4] x) => (float[1,1,8,8] y) { s = Constant<value = float[4] {1, 1, 2, 2}>() "
     "y = Resize<mode=\"linear\">(x, \"\", s) }",
     "768", "by our formula, since their HLO is not known here: Resize"},
    {"g (float[4,5] x, int64 a) => (float[4,5] y) { y = CumSum(x, a) }", "20",
     "by our formula, since their HLO is not known here: CumSum"},
};

TEST(XlaTest, KnowsLoopsBranchesAndOpenSizes) {
  for (const XlaCase& c : kXlaCases) {
    const ToolRow row = Ask(ModelFromText(c.text, 13), "xla");
    EXPECT_EQ(row.headline->ToString(), c.flops) << c.text;
    EXPECT_THAT(row.assumptions, Contains(HasSubstr(c.assumption))) << c.text;
  }
}

// ---- every convention

TEST(ConventionsTest, SayWhatTheyAre) {
  std::set<std::string> names;
  for (const Convention* c : Conventions()) {
    EXPECT_TRUE(names.insert(c->name).second) << c->name;
    EXPECT_EQ(FindConvention(c->name), c);
    for (const char* text : {c->headline, c->source, c->includes, c->misses}) {
      EXPECT_GT(std::string(text).size(), 5U) << c->name;
    }
  }
  EXPECT_EQ(FindConvention("no such tool"), nullptr);
}

// Every tool, and every version of those whose figure changed.
std::vector<const Convention*> AllVersions() {
  std::vector<const Convention*> all(Conventions().begin(), Conventions().end());
  for (const Convention* tool : Conventions()) {
    all.insert(all.end(), tool->versions.begin(), tool->versions.end());
  }
  return all;
}

std::vector<std::string> ModelFiles() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(ONNXFLOPS_SOURCE_DIR "/models")) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A model with all that conventions look at.
struct Subject {
  explicit Subject(const std::string& path)
      : model(Load(path).value()),
        inference(Infer(model).value()),
        counts(Count(inference).value()) {}
  Model model;
  Inference inference;
  Counts counts;
  Evidence evidence{inference, counts};
};

Expr EndOf(const Comparison& comparison) {
  std::vector<Expr> parts = {comparison.start};
  for (const ComparedTerm& term : comparison.terms) parts.push_back(term.amount);
  return Sum(parts);
}

TEST(ConventionsTest, TermsAddUpExactlyOnEveryModel) {
  for (const std::string& path : ModelFiles()) {
    Subject subject(path);
    for (const Convention* convention : AllVersions()) {
      const Ledger ledger = convention->apply(&subject.evidence);
      if (ledger.standing == Standing::kNotApplicable) continue;
      for (const bool by_module : {false, true}) {
        const Comparison c = Compare(&subject.evidence, *convention, ledger, {by_module});
        EXPECT_EQ(EndOf(c), c.headline) << path << " " << convention->name;
        for (const ComparedTerm& term : c.terms) {
          EXPECT_EQ(term.nodes.empty(), term.of_model) << term.name;
        }
      }
    }
  }
}

// From any tool to any other: pairs at random, the same ones in every run.
TEST(ConventionsTest, TermsAddUpExactlyBetweenAnyTwo) {
  std::mt19937 random(5);
  const auto all = AllVersions();
  for (const std::string& path : ModelFiles()) {
    Subject subject(path);
    std::vector<Ledger> ledgers;
    for (const Convention* c : all) ledgers.push_back(c->apply(&subject.evidence));
    for (int i = 0; i < 12; ++i) {
      const size_t a = random() % all.size(), b = random() % all.size();
      if (ledgers[a].standing == Standing::kNotApplicable) continue;
      if (ledgers[b].standing == Standing::kNotApplicable) continue;
      const Comparison c =
          CompareBetween(&subject.evidence, *all[a], ledgers[a], *all[b], ledgers[b]);
      EXPECT_EQ(EndOf(c), c.headline) << path << " " << all[a]->name << " " << all[b]->name;
      EXPECT_TRUE(a != b || c.terms.empty()) << all[a]->name;
    }
  }
}

// All of our count is in one line: what is left out of a ledger would be lost.
TEST(ConventionsTest, LedgersHoldAllOfOurCount) {
  for (const std::string& path : ModelFiles()) {
    Subject subject(path);
    for (const Convention* convention : AllVersions()) {
      const Ledger ledger = convention->apply(&subject.evidence);
      if (ledger.standing == Standing::kNotApplicable) continue;
      std::vector<Expr> ours;
      for (const Line& line : ledger.lines) ours.push_back(subject.evidence.amount(line.ours));
      for (const ModelLine& line : ledger.model_lines) {
        ours.push_back(subject.evidence.amount(line.ours));
      }
      const Tally& total = subject.counts.total;
      EXPECT_EQ(Sum(ours),
                convention->unit == Unit::kMac ? total.amounts.macs : total.amounts.flops)
          << path << " " << convention->name;
    }
  }
}

template <typename Row>
Expr SumOf(const std::vector<Row>& rows, bool macs) {
  Expr sum;
  for (const Row& row : rows) sum += macs ? row.macs : row.flops;
  return sum;
}

// A whole report as a tool counts: its total is the headline, and all parts add up to it.
TEST(CountAsTest, PartsAddUpToTheHeadline) {
  for (const char* file : {"clip-vit-b-32.onnx", "gpt-124m.onnx"}) {
    const Model model = Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/", file)).value();
    for (const Convention* convention : Conventions()) {
      const auto report = CountAs(model, {.node_rows = true}, convention->name);
      if (!report.ok()) continue;
      const ToolRow row = Ask(model, convention->name);
      const bool macs = convention->unit == Unit::kMac;
      EXPECT_EQ(report->has_macs(), macs) << convention->name;
      EXPECT_EQ(report->tool->headline, row.headline) << convention->name;
      EXPECT_EQ(report->tool->params, row.params) << convention->name;
      EXPECT_EQ(macs ? report->totals.macs : report->totals.flops, row.headline);
      EXPECT_EQ(macs ? report->modules[0].amounts->macs : report->modules[0].amounts->flops,
                row.headline);
      for (const Expr& rows : {SumOf(report->by_op, macs), SumOf(report->nodes, macs)}) {
        EXPECT_EQ(rows + report->tool->of_model, row.headline) << convention->name;
      }
      for (const NodeRow& node : report->nodes) {
        ASSERT_LT(static_cast<size_t>(node.module), report->modules.size()) << convention->name;
      }
    }
  }
}

// Nothing is made of a tool's figure that the tool does not say.
TEST(CountAsTest, HasTheQuantitiesOfTheToolOnly) {
  const Model model = Load(ONNXFLOPS_SOURCE_DIR "/models/gpt-124m.onnx").value();
  for (const Convention* convention : Conventions()) {
    const auto report = CountAs(model, {}, convention->name);
    if (!report.ok()) continue;
    const Totals& t = report->totals;
    for (const Quantity& q : kQuantities) {
      if (q.of == Quantity::Of::kWork && !report->Has(q)) {
        EXPECT_EQ(t.*q.value, Expr(0)) << q.key;
      }
    }
    EXPECT_EQ(t.backward_flops, Expr(0));
    EXPECT_EQ(t.backward_macs, Expr(0));
    EXPECT_EQ(t.training_flops, Expr(0));
    const std::string text = ToTable(*report, {}) + ToMarkdown(*report, {});
    for (const char* word : {"train ", "bytes", "  params", "| params", "= 2 x "}) {
      EXPECT_THAT(text, Not(HasSubstr(word))) << convention->name;
    }
    EXPECT_THAT(text, HasSubstr(convention->headline)) << convention->name;
  }
}

TEST(CountAsTest, AFormulaOfTheModelHasNoRows) {
  const Model model = Load(ONNXFLOPS_SOURCE_DIR "/models/gpt-124m.onnx").value();
  const Report report = CountAs(model, {.node_rows = true}, "config-6n").value();
  EXPECT_EQ(report.tool->of_model, report.tool->headline);
  EXPECT_TRUE(report.by_op.empty());
  EXPECT_TRUE(report.nodes.empty());
  EXPECT_EQ(report.modules.size(), 1U);
  for (const TermRow& term : Ask(model, "config-6n").terms) {
    EXPECT_TRUE(term.of_model);
    EXPECT_EQ(term.nodes, 0);
  }
}

TEST(CountAsTest, ErrorsNameTheReason) {
  const Model model = ModelFromText("g (float[2,5] x) => (float[2,5] y) { y = Selu(x) }", 17);
  const auto none = CountAs(model, {}, "onnx-tool");
  EXPECT_EQ(none.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("Selu"));
  EXPECT_EQ(CountAs(model, {}, "?").status().code(), absl::StatusCode::kNotFound);
}

// Lines of text stay within the terminal.
TEST(CompareTableTest, FitsTheTerminal) {
  const Model model = Load(ONNXFLOPS_SOURCE_DIR "/models/clip-vit-l-14-336.onnx").value();
  for (const int width : {80, 120, 200}) {
    for (const bool waterfalls : {false, true}) {
      const auto report =
          CompareTools(model, {.bindings = {{"batch", 1}}}, {.by_module = waterfalls});
      ASSERT_TRUE(report.ok()) << report.status();
      const std::string text = ToTable(*report, waterfalls, {.width = width});
      for (absl::string_view line : absl::StrSplit(text, '\n')) {
        EXPECT_LE(line.size(), static_cast<size_t>(width)) << line;
      }
    }
  }
}

}  // namespace
}  // namespace onnxflops::convention::convention_test
