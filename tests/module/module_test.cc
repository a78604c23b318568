// Module paths, the module tree and what counts as a parameter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/module/module_path.h"
#include "src/module/module_tree.h"
#include "src/resolve/parameters.h"
#include "tests/model_maker.h"

namespace onnxflops::module_test {
namespace {

using testing::ElementsAre;

// ---- names

struct NameCase {
  const char* name;
  const char* path;
};

// Names of nodes and the modules that they tell.
constexpr NameCase kNameCases[] = {
    {"/visual/conv1/Conv", "visual.conv1"},
    {"/MatMul", ""},
    {"/visual/transformer/resblocks.0/attn/MatMul_3", "visual.transformer.resblocks.0.attn"},
    // A Sequential that is called: its children repeat its path.
    {"/features/features.0/features.0.1/Relu", "features.0.1"},
    {"/layer1/layer1.0/conv1/Conv", "layer1.0.conv1"},
    {"/layer1/layer1.0/downsample/downsample.0/Conv", "layer1.0.downsample.0"},
    {"/features/features.4/block/block.2/fc1/Conv", "features.4.block.2.fc1"},
    // A list inside of a module of the same name does not.
    {"/encoder/layer/layer.0/Add", "encoder.layer.layer.0"},
    // The second call of a module.
    {"/layer1/layer1.0/relu/Relu", "layer1.0.relu"},
    {"/layer1/layer1.0/relu_1/Relu", "layer1.0.relu"},
    // Modules whose names end that way.
    {"/layer1/layer1.0/ln_1/Add", "layer1.0.ln_1"},
    {"/head/fc/Gemm", "head.fc"},
    {"/head/fc_1/Gemm", "head.fc_1"},
    // Other exporters.
    {"StatefulPartitionedCall/model/conv1/Conv2D", "StatefulPartitionedCall.model.conv1"},
};

TEST(ModulePathTest, NamesOfNodesAsTorchScriptWritesThem) {
  modules::ModulePaths paths({"encoder.layer.layer.0.weight", "head.fc_1.bias"});
  for (const NameCase& c : kNameCases) {
    EXPECT_EQ(paths.path(*paths.FromNodeName(c.name)), c.path) << c.name;
  }
  EXPECT_FALSE(paths.FromNodeName("MatMul_12"));
}

TEST(ModulePathTest, MetadataAsDynamoWritesThem) {
  using Props = std::vector<std::pair<absl::string_view, absl::string_view>>;
  modules::ModulePaths paths({});
  const auto from = [&](const Props& props) {
    return paths.FromMetadata(exporter::NodeMetadata(props));
  };
  const Props attn = {
      {"namespace", "..."},
      {"pkg.torch.onnx.class_hierarchy",
       "['open_clip.model.CLIP', 'open_clip.transformer.VisionTransformer', "
       "'torch.nn.modules.linear.Linear', 'aten.linear.default']"},
      {"pkg.torch.onnx.name_scopes", "['', 'visual', 'visual.attn.0', 'linear_1']"}};
  const ModuleId id = *from(attn);
  EXPECT_EQ(paths.path(id), "visual.attn.0");
  EXPECT_EQ(paths.type(id), "Linear");
  EXPECT_EQ(paths.type(kRootModule), "CLIP");
  EXPECT_EQ(paths.type(*paths.Find("visual")), "VisionTransformer");
  const Props again = {{"pkg.torch.onnx.name_scopes", "['', 'visual@1', 'add']"}};
  EXPECT_EQ(paths.path(*from(again)), "visual");
  const Props made_up = {
      {"pkg.torch.onnx.name_scopes", "['_empty_nn_module_stack_from_metadata_hook', 'sym']"}};
  EXPECT_EQ(*from(made_up), kRootModule);
  const Props other = {{"namespace", ": m.CLIP/text: m.Text/text.fc: nn.Linear/mm: aten.mm"}};
  EXPECT_EQ(paths.path(*from(other)), "text.fc");
  EXPECT_FALSE(from({}));
  for (const char* broken : {"", "[", "['", "['']", "x", ", ", "[, ]"}) {
    const Props props = {{"pkg.torch.onnx.name_scopes", broken},
                         {"pkg.torch.onnx.class_hierarchy", broken}};
    EXPECT_EQ(*from(props), kRootModule) << broken;
  }
}

TEST(ModulePathTest, LimitsHold) {
  modules::ModulePaths paths({});
  std::string deep;
  for (int i = 0; i < 10000; ++i) absl::StrAppend(&deep, "/a", i);
  const absl::string_view path = paths.path(*paths.FromNodeName(deep + "/Add"));
  EXPECT_EQ(path.substr(path.size() - 4), ".a63");
  EXPECT_EQ(paths.path(paths.Intern(std::string(5000, 'x'))), "");
  EXPECT_LE(paths.path(paths.FromWeight(std::string(100000, '.'))).size(), 4096u);
  EXPECT_LT(paths.size(), 200u);
}

// ---- the tree

// "path flops" of every module, in order.
std::vector<std::string> Rows(const Report& report) {
  std::vector<std::string> rows;
  for (const Module& m : report.modules) {
    rows.push_back(absl::StrCat(m.path.empty() ? "/" : m.path, " ", m.amounts->flops.ToString()));
  }
  return rows;
}

void ExpectSums(const Report& report) {
  const std::vector<Module>& modules = report.modules;
  EXPECT_EQ(*modules[0].amounts, static_cast<const Amounts&>(report.totals));
  EXPECT_EQ(modules[0].end, static_cast<int32_t>(modules.size()));
  for (size_t i = 0; i < modules.size(); ++i) {
    const Module& m = modules[i];
    Amounts sum;
    for (int32_t c = static_cast<int32_t>(i) + 1; c < m.end;
         c = modules[static_cast<size_t>(c)].end) {
      const Module& child = modules[static_cast<size_t>(c)];
      EXPECT_EQ(child.parent, static_cast<int32_t>(i));
      sum.Add(*child.amounts);
    }
    if (m.end == static_cast<int32_t>(i) + 1) continue;
    for (Expr Amounts::*value :
         {&Amounts::flops, &Amounts::macs, &Amounts::params, &Amounts::param_bytes}) {
      EXPECT_EQ(sum.*value, (*m.amounts).*value) << m.path;
    }
  }
}

TEST(ModuleTreeTest, OwnWorkStandsBesideTheChildren) {
  ModelMaker make;
  make.Input("x", {"2", "4"}).Weight("m.fc.weight", {4, 4}).Weight("m.scale", {4});
  make.Node("/m/fc/MatMul", "MatMul", {"x", "m.fc.weight"}, {"a"});
  make.Node("/m/Mul", "Mul", {"a", "m.scale"}, {"b"});
  make.Node("/Add", "Add", {"b", "x"}, {"y"}).Output("y");
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(Rows(*report),
              ElementsAre("/ 80", "m 72", "m.fc 64", "m.(own) 8", "(outside any module) 8"));
  EXPECT_EQ(report->modules[1].amounts->params, 20);
  EXPECT_EQ(report->modules[2].amounts->params, 16);
  EXPECT_EQ(report->modules[2].name(), "fc");
  EXPECT_EQ(report->modules[3].name(), "(own)");
  ExpectSums(*report);
}

TEST(ModuleTreeTest, OrderIsThatOfExecution) {
  ModelMaker make;
  make.Input("x", {"4"});
  make.Node("/b/c/Add", "Add", {"x", "x"}, {"1"});
  make.Node("/a/Add", "Add", {"1", "x"}, {"2"});
  make.Node("/b/Add", "Add", {"2", "x"}, {"3"}).Output("3");
  EXPECT_THAT(Rows(*make.Count()), ElementsAre("/ 12", "b 8", "b.c 4", "b.(own) 4", "a 4"));
}

TEST(ModuleTreeTest, WeightsTellWhereNothingElseDoes) {
  ModelMaker make;
  make.Input("x", {"1", "4"})
      .Weight("layers.0.fc.weight", {4, 4})
      .Weight("layers.1.fc.weight", {4, 4});
  make.Node("MatMul_1", "MatMul", {"x", "layers.0.fc.weight"}, {"a"});
  make.Node("MatMul_2", "MatMul", {"a", "layers.1.fc.weight"}, {"b"});
  make.Node("Add_3", "Add", {"b", "x"}, {"y"}).Output("y");
  EXPECT_THAT(Rows(*make.Count()),
              ElementsAre("/ 68", "layers 64", "layers.0 32", "layers.0.fc 32", "layers.1 32",
                          "layers.1.fc 32", "(outside any module) 4"));
}

TEST(ModuleTreeTest, OutputsTellWhereAFusedNodeHasANameOfItsOwn) {
  ModelMaker make;
  make.Input("x", {"1", "4"}).Weight("onnx::MatMul_7", {4, 4});
  make.Node("fused MatMul 1", "MatMul", {"x", "onnx::MatMul_7"}, {"/enc/fc/Add_output_0"});
  make.Output("/enc/fc/Add_output_0");
  EXPECT_THAT(Rows(*make.Count()), ElementsAre("/ 32", "enc 32", "enc.fc 32"));
}

TEST(ModuleTreeTest, AConvolutionThatTookInItsBatchNormIsTheConvolution) {
  ModelMaker make;
  make.Input("x", {"1", "2", "3", "3"}).Weight("conv1.weight", {2, 2, 1, 1});
  make.Node("node_Conv_1", "Conv", {"x", "conv1.weight"}, {"y"}).Output("y");
  make.Scopes("['', 'bn1', '_native_batch_norm']", "['m.Net', 'nn.BatchNorm2d', 'aten.bn']");
  make.Metadata("pkg.onnxscript.rewriter.rule_name", "FuseBatchNormIntoConv, Other");
  const absl::StatusOr<Report> report = make.Count();
  EXPECT_THAT(Rows(*report), ElementsAre("/ 72", "conv1 72"));
  EXPECT_EQ(report->modules[1].type, "Conv2d");
}

TEST(ModuleTreeTest, EqualModulesHaveOneKind) {
  ModelMaker make;
  make.Input("x", {"batch", "4"});
  std::string at = "x";
  for (int i = 0; i < 3; ++i) {
    const std::string base = absl::StrCat("/h.", i);
    make.Weight(absl::StrCat("h.", i, ".fc.weight"), {4, 4});
    make.Node(base + "/fc/MatMul", "MatMul", {at, absl::StrCat("h.", i, ".fc.weight")}, {base});
    make.Node(base + "/act/Relu", i < 2 ? "Relu" : "Sigmoid", {base}, {base + "r"});
    at = base + "r";
  }
  const absl::StatusOr<Report> report = make.Output(at).Count();
  ASSERT_TRUE(report.ok()) << report.status();
  std::vector<std::pair<std::string, int32_t>> kinds;
  for (const Module& m : report->modules) {
    if (m.depth == 1) kinds.emplace_back(m.path, m.kind);
  }
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(kinds[0].second, kinds[1].second);
  EXPECT_NE(kinds[0].second, kinds[2].second);
  ExpectSums(*report);
}

// A layer of one node in a child, called by metadata as the dynamo exporter writes them.
struct Layer {
  const char *op = "Mul", *child = "scale", *type = "m.Layer";
  int64_t width = 4;
  int weight = onnx::TensorProto::FLOAT;
  const char* domain = "";
};

std::vector<int32_t> KindsOf(const std::vector<Layer>& layers) {
  ModelMaker make;
  make.Import("unknown").Input("x", {"8", "4"}).Input("z", {"8", "1"});
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const std::string name = absl::StrCat("h", i), child = absl::StrCat(name, ".", layer.child);
    make.Weight(child + ".w", {layer.width}, layer.weight);
    make.Node("n", layer.op, {layer.width == 4 ? "x" : "z", child + ".w"}, {name}).Output(name);
    make.node->set_domain(layer.domain);
    make.Scopes(absl::StrCat("['', '", name, "', '", child, "', 'op']"),
                absl::StrCat("['m.Net', '", layer.type, "', 'm.Scale', 'aten.mul']"));
  }
  const absl::StatusOr<Report> report = make.Count();
  EXPECT_TRUE(report.ok()) << report.status();
  std::vector<int32_t> kinds;
  for (const Module& m : report->modules) {
    if (m.depth == 1) kinds.push_back(m.kind);
  }
  return kinds;
}

// By class, work, weights, and children with their names: what differs in one of them is another.
TEST(ModuleTreeTest, KindsAreToldApartByAllThatTheyAre) {
  const Layer others[] = {{.op = "Pow"},
                          {.child = "gain"},
                          {.type = "m.Other"},
                          {.width = 8},
                          {.weight = onnx::TensorProto::INT8},
                          {.op = "Identity"},
                          {.op = "Mul", .domain = "unknown"}};
  for (const Layer& other : others) {
    const std::vector<int32_t> kinds = KindsOf({Layer{}, other, Layer{}, other});
    ASSERT_EQ(kinds.size(), 4U);
    EXPECT_EQ(kinds[0], kinds[2]) << other.op;
    EXPECT_EQ(kinds[1], kinds[3]) << other.op;
    const bool is_pow = std::string(other.op) == "Pow";  // as many FLOPs, and no MACs either
    EXPECT_EQ(kinds[0] == kinds[1], is_pow) << &other - others;
  }
}

// A module of which something is unknown, and all around it, is a lower bound, whatever else is in
// it and in whichever order.
TEST(ModuleTreeTest, WhatIsUnknownIsSoAllTheWayUp) {
  ModelMaker make;
  make.Import("u").Input("x", {"4"});
  const std::pair<const char*, const char*> nodes[] = {
      {"/a/p/Relu", ""}, {"/b/p/Relu", ""}, {"/b/p/Op", "u"},  {"/c/p/Op", "u"},
      {"/c/p/Relu", ""}, {"/c/q/Relu", ""}, {"/d/q/Relu", ""}, {"/d/Op", "u"}};
  for (const auto& [name, domain] : nodes) {
    make.Node(name, *domain == 'u' ? "Op" : "Relu", {"x"}, {name}).Output(name);
    make.node->set_domain(domain);
  }
  const auto bounds = [&](const std::string& module) {
    const absl::StatusOr<Report> report = make.Count({.module = module});
    EXPECT_TRUE(report.ok()) << report.status();
    std::string text;
    for (const Module& m : report->modules) {
      absl::StrAppend(&text, m.path.empty() ? "/" : m.path, m.lower_bound ? ">" : "", " ");
    }
    for (const OpRow& row : report->by_op) {
      EXPECT_EQ(row.lower_bound, row.op == "Op");
      EXPECT_EQ(row.runs,
                Expr(row.op == "Op" ? report->coverage.unknown : report->coverage.counted));
    }
    EXPECT_EQ(report->totals.lower_bound, report->modules[0].lower_bound);
    EXPECT_EQ(report->totals.flops, Expr(4 * report->coverage.counted));
    return absl::StrCat(text, report->coverage.counted, "+", report->coverage.unknown);
  };
  EXPECT_EQ(bounds(""), "/> a a.p b> b.p> c> c.p> c.q d> d.q d.(own)> 5+3");
  EXPECT_EQ(bounds("a"), "a a.p 1+0");
  EXPECT_EQ(bounds("b"), "b> b.p> 1+1");
  EXPECT_EQ(bounds("?.q"), "?.q c.q d.q 2+0");
  EXPECT_EQ(bounds("?.p"), "?.p> a.p b.p> c.p> 3+2");
}

// TorchScript keeps one of the parameters whose values are equal. No module has it then, the layers
// are alike, and the Identity nodes that hand it on say nothing of the order.
TEST(ModuleTreeTest, AParameterThatStandsForSeveralIsOfNoneOfTheirModules) {
  ModelMaker make;
  make.Input("x", {"1", "4"}).Weight("m.h.1.norm.weight", {4});
  make.Node("Identity_0", "Identity", {"m.h.1.norm.weight"}, {"m.h.0.norm.weight"});
  make.Node("/m/act/Relu", "Relu", {"x"}, {"a"});
  make.Node("/m/h.0/norm/Mul", "Mul", {"a", "m.h.0.norm.weight"}, {"b"});
  make.Node("/m/h.1/norm/Mul", "Mul", {"b", "m.h.1.norm.weight"}, {"y"}).Output("y");
  const absl::StatusOr<Report> report = make.Count();
  EXPECT_THAT(Rows(*report), ElementsAre("/ 12", "m 12", "m.act 4", "m.h.0 4", "m.h.0.norm 4",
                                         "m.h.1 4", "m.h.1.norm 4", "m.(shared) 0"));
  for (const Module& m : report->modules) {
    const bool holds = m.path.empty() || m.path == "m" || m.path == "m.(shared)";
    EXPECT_EQ(m.amounts->params, Expr(holds ? 4 : 0)) << m.path;
  }
  EXPECT_EQ(report->modules[3].kind, report->modules[5].kind);
  ExpectSums(*report);
}

// One that stands for two of one module is that module's.
TEST(ModuleTreeTest, AParameterThatStandsForTwoOfAModuleIsItsOwn) {
  ModelMaker make;
  make.Input("x", {"1", "4"}).Weight("m.norm.weight", {4});
  make.Node("Identity_0", "Identity", {"m.norm.weight"}, {"m.norm.gain"});
  make.Node("/m/norm/Mul", "Mul", {"x", "m.norm.weight"}, {"b"});
  make.Node("/m/norm/Mul_1", "Mul", {"b", "m.norm.gain"}, {"y"}).Output("y");
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(Rows(*report), ElementsAre("/ 8", "m 8", "m.norm 8"));
  EXPECT_EQ(report->modules[2].amounts->params, 4);
  EXPECT_EQ(report->modules[2].amounts->param_bytes, 16);
  ExpectSums(*report);
}

// ---- control flow and functions

// A Loop of so many trips. Its body, to which is added what makes v2 of v.
onnx::GraphProto* AddLoop(const std::string& in, int64_t trips, const std::string& out,
                          ModelMaker* make) {
  onnx::TensorProto* number = make->proto.mutable_graph()->add_initializer();
  number->set_name(absl::StrCat("trips", trips));
  number->set_data_type(onnx::TensorProto::INT64);
  number->add_int64_data(trips);
  make->Node(absl::StrCat("/rnn/Loop", trips), "Loop", {number->name(), "", in}, {out});
  onnx::AttributeProto* attribute = make->node->add_attribute();
  attribute->set_name("body");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto* body = attribute->mutable_g();
  body->set_name("b");
  for (const char* name : {"i", "c", "v"}) body->add_input()->set_name(name);
  ModelMaker::AddNode(body, "", "Identity", {"c"}, {"c2"});
  for (const char* name : {"c2", "v2"}) body->add_output()->set_name(name);
  return body;
}

// for _ in range(5): x = relu(x)
TEST(ModuleTreeTest, ABodyIsMultipliedInItsOwnModules) {
  ModelMaker make;
  make.Input("x", {"4"});
  onnx::GraphProto* body = AddLoop("x", 5, "y", &make);
  make.Output("y");
  ModelMaker::AddNode(body, "/rnn/cell/Relu", "Relu", {"v"}, {"v1"});
  ModelMaker::AddNode(body, "Unnamed_7", "Relu", {"v1"}, {"v2"});
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(Rows(*report), ElementsAre("/ 40", "rnn 40", "rnn.cell 20", "rnn.(own) 20"));
}

// The same work of a function, once and in loops of 5 and of 7 trips, in one module and in another.
TEST(ModuleTreeTest, WorkOfOtherTripsIsAddedApart) {
  ModelMaker make;
  make.Import("f");
  ModelMaker::AddNode(make.AddFunction("f", "F", {"a"}, "b"), "", "Relu", {"a"}, {"b"});
  make.Input("x", {"4"}).Node("/head/F", "F", {"x"}, {"h"}).node->set_domain("f");
  make.Node("/rnn/F", "F", {"h"}, {"r"}).node->set_domain("f");
  const auto call_f = [](onnx::GraphProto* body) {
    ModelMaker::AddNode(body, "/rnn/F", "F", {"v"}, {"v2"})->set_domain("f");
  };
  call_f(AddLoop("r", 5, "r5", &make));
  call_f(AddLoop("r5", 7, "r7", &make));
  make.Output("r7");
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(Rows(*report), ElementsAre("/ 56", "head 4", "rnn 52"));
  ExpectSums(*report);
}

// A function that the exporter made of a module, called for two layers.
ModelMaker TwoCallsOfAFunction() {
  ModelMaker make;
  make.Import("my.model");
  onnx::FunctionProto* function = make.AddFunction(
      "my.model", "Layer.1", {"v", "m.layers.1.fc.weight", "m.layers.1.fc.bias"}, "out");
  ModelMaker::AddNode(function, "MatMul_0", "MatMul", {"v", "m.layers.1.fc.weight"}, {"a"});
  ModelMaker::AddNode(function, "Add_0", "Add", {"a", "m.layers.1.fc.bias"}, {"b"});
  ModelMaker::AddNode(function, "Relu_0", "Relu", {"b"}, {"out"});
  make.Input("x", {"1", "4"});
  std::string at = "x";
  for (const char* i : {"0", "1"}) {
    const std::string weight = absl::StrCat("m.layers.", i, ".fc.weight");
    const std::string bias = absl::StrCat("m.layers.", i, ".fc.bias");
    make.Weight(weight, {4, 4}).Weight(bias, {4});
    const std::string out = absl::StrCat("out", i);
    make.Node(absl::StrCat("/m/layers.", i, "/Layer.1"), "Layer.1", {at, weight, bias}, {out});
    make.node->set_domain("my.model");
    at = out;
  }
  make.Output(at);
  return make;
}

TEST(ModuleTreeTest, AFunctionIsOpenedInEveryCall) {
  const absl::StatusOr<Report> report = TwoCallsOfAFunction().Count();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(Rows(*report),
              ElementsAre("/ 80", "m 80", "m.layers.0 40", "m.layers.0.fc 36", "m.layers.0.(own) 4",
                          "m.layers.1 40", "m.layers.1.fc 36", "m.layers.1.(own) 4"));
  EXPECT_EQ(report->modules[2].type, "Layer");
  EXPECT_EQ(report->modules[2].amounts->params, 20);
  ExpectSums(*report);
}

// A limit by nodes has some visits beside, so that small files are opened whatever it is.
TEST(ModuleTreeTest, ASmallFileIsOpenedAtAnyLimit) {
  CountOptions options;
  options.limits.module_visits_per_node = 1;
  const absl::StatusOr<Report> report = TwoCallsOfAFunction().Count(options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(Rows(*report), Rows(*TwoCallsOfAFunction().Count()));
}

TEST(ModulePartTest, ANodeOfAFunctionIsANodeOfEveryCall) {
  const absl::StatusOr<Report> part = TwoCallsOfAFunction().Count({.module = "m.layers.*"});
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->totals.flops, Expr(80));
  EXPECT_EQ(part->coverage.nodes, 6);  // three of the function, called twice
  EXPECT_EQ(part->coverage.counted, 6);
  EXPECT_EQ(part->census[Kind::kMac], Expr(32));  // twice 4 by 4, and 4 each for a bias and a Relu
  EXPECT_EQ(part->census[Kind::kAdd], Expr(8));
  EXPECT_EQ(part->census[Kind::kCmp], Expr(8));
}

// One module is shown itself, several in a row that holds them.
TEST(ModulePartTest, OneModuleIsTheRoot) {
  const absl::StatusOr<Report> one = TwoCallsOfAFunction().Count({.module = "m.layers.1"});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_THAT(Rows(*one), ElementsAre("m.layers.1 40", "m.layers.1.fc 36", "m.layers.1.(own) 4"));
  const absl::StatusOr<Report> own = TwoCallsOfAFunction().Count({.module = "m.layers.1.(own)"});
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_THAT(Rows(*own), ElementsAre("m.layers.1.(own) 4"));
  EXPECT_FALSE(own->modules[0].own);
}

TEST(ModulePartTest, WhatIsNotThereIsLikeWhatIs) {
  const struct {
    const char *glob, *message;
  } cases[] = {
      {"m.layers.7",
       "no module is called 'm.layers.7'; similar: 'm.layers.0', 'm.layers.1', 'm.layers.0.fc', "
       "'m.layers.1.fc'"},
      {"ayers.1", "no module is called 'ayers.1'; similar: 'm.layers.1'"},
      {"conv", "no module is called 'conv'; modules are 'm'"},
  };
  for (const auto& c : cases) {
    const absl::Status status = TwoCallsOfAFunction().Count({.module = c.glob}).status();
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(c.message));
  }
}

// 2^30 calls in a chain of functions that each call the next one twice.
TEST(ModuleTreeTest, ATreeOfCallsIsOpenedOnlyAsFarAsTheLimit) {
  ModelMaker make;
  make.Import("f");
  for (int i = 0; i < 30; ++i) {
    onnx::FunctionProto* function = make.AddFunction("f", absl::StrCat("F", i), {"x"}, "y");
    ModelMaker::AddImport(function, "f", 1);
    const std::string op = i < 29 ? absl::StrCat("F", i + 1) : "Relu";
    for (const auto& [from, to] : {std::pair("x", "m"), std::pair("m", "y")}) {
      ModelMaker::AddNode(function, "", op, {from}, {to})->set_domain(i < 29 ? "f" : "");
    }
  }
  make.Input("x", {"1"}).Node("", "F0", {"x"}, {"y"}).Output("y");
  make.node->set_domain("f");
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.flops, Expr(int64_t{1} << 30));
  EXPECT_EQ(report->modules[0].amounts->flops, report->totals.flops);
  EXPECT_LT(report->modules.size(), 100u);
}

// ---- parameters

struct ParameterCase {
  const char* what;
  const char* name;
  std::vector<int64_t> dims;
  int type;
  const char* op;
  int place;
  int64_t expected;
};

constexpr int kFloat = onnx::TensorProto::FLOAT;
constexpr int kInt8 = onnx::TensorProto::INT8;

// An initializer, the input of a node that it is, and how many parameters are in it.
const ParameterCase kParameterCases[] = {
    {"weight", "fc.weight", {8, 8}, kFloat, "MatMul", 1, 64},
    {"weight that an exporter transposed", "onnx::MatMul_9", {8, 8}, kFloat, "MatMul", 1, 64},
    {"weight that dynamo folded", "val_9", {8, 8}, kFloat, "MatMul", 1, 64},
    {"embedding", "onnx::Add_4", {7, 8}, kFloat, "Add", 1, 56},
    {"scalar with a path", "m.logit_scale", {}, kFloat, "Mul", 1, 1},
    {"scalar constant", "eps", {}, kFloat, "Add", 1, 0},
    {"running mean", "bn.running_mean", {8}, kFloat, "BatchNormalization", 3, 0},
    {"scale of a BatchNorm", "bn.weight", {8}, kFloat, "BatchNormalization", 1, 8},
    {"mask", "attn.mask", {1, 1, 8, 8}, kFloat, "Add", 1, 0},
    {"square weight", "attn.weight", {8, 8}, kFloat, "Transpose", 0, 64},
    {"constant that dynamo folded", "unsqueeze_16", {1, 4, 8}, kFloat, "Mul", 1, 0},
    {"quantised weight", "w_quantized", {8, 8}, kInt8, "DequantizeLinear", 0, 64},
    {"scale", "w_scale", {8}, kFloat, "DequantizeLinear", 1, 0},
    {"int4", "w", {8, 8}, onnx::TensorProto::INT4, "DequantizeLinear", 0, 64},
    {"indices", "idx.x", {8}, onnx::TensorProto::INT64, "Gather", 0, 0},
    {"shape", "val_3", {2}, onnx::TensorProto::INT64, "Reshape", 1, 0},
    {"initial state", "val_16", {2, 2, 8}, kFloat, "LSTM", 5, 0},
    {"8 bytes of 16 4-bit weights",
     "w_Q4",
     {8, 1, 8},
     onnx::TensorProto::UINT8,
     "MatMulNBits",
     1,
     128},
};

TEST(ParametersTest, Rule) {
  for (const ParameterCase& c : kParameterCases) {
    ModelMaker make;
    make.Weight(c.name, c.dims, c.type).Input("x", {"8"});
    std::vector<std::string> inputs(static_cast<size_t>(c.place), "x");
    inputs.push_back(c.name);
    make.Node("n", c.op, inputs, {"y"}).Output("y");
    if (std::string(c.op) == "MatMulNBits") make.node->set_domain("com.microsoft");
    const absl::StatusOr<Model> model = make.Load();
    ASSERT_TRUE(model.ok()) << c.what << ": " << model.status();
    absl::int128 sum = 0;
    for (const resolve::Parameter& p : resolve::FindParameters(**model)) sum += p.elements;
    EXPECT_EQ(Int128ToString(sum), std::to_string(c.expected)) << c.what;
  }
}

TEST(ParametersTest, AParameterUsedTwiceCountsOnceInTheModuleOfItsName) {
  ModelMaker make;
  make.Input("x", {"1", "4"}).Weight("b.weight", {4, 4});
  make.Node("/a/MatMul", "MatMul", {"x", "b.weight"}, {"1"});
  make.Node("/b/MatMul", "MatMul", {"1", "b.weight"}, {"2"}).Output("2");
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.params, 16);
  EXPECT_EQ(report->totals.param_bytes, 64);
  EXPECT_EQ(report->modules[1].path, "a");
  EXPECT_EQ(report->modules[1].amounts->params, 0);
  EXPECT_EQ(report->modules[2].amounts->params, 16);
}

// Two layers have one norm's weight: by hand, each has 4 of its own before the exporter merges
// them.
TEST(ParametersTest, AVectorOfOneLayerThatOthersUseIsAWarning) {
  for (const bool merged : {true, false}) {
    ModelMaker make;
    make.Input("x", {"1", "4"}).Weight("h.0.norm.weight", {4}).Weight("h.1.norm.weight", {4});
    make.Node("/h.0/norm/Mul", "Mul", {"x", "h.0.norm.weight"}, {"1"});
    make.Node("/h.0/out/Mul", "Mul", {"1", "h.1.norm.weight"}, {"2"});
    make.Node("/h.1/norm/Mul", "Mul", {"2", merged ? "h.0.norm.weight" : "x"}, {"3"}).Output("3");
    const absl::StatusOr<Report> report = make.Count();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.params, 8);
    const bool warns = std::any_of(
        report->warnings.begin(), report->warnings.end(), [](const std::string& warning) {
          return absl::StartsWith(warning, "params hold 'h.0.norm.weight' once") &&
                 absl::EndsWith(warning, "at least 4 more parameters");
        });
    EXPECT_EQ(warns, merged);
  }
}

// ---- real exports

std::vector<std::string> ModelFiles() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(ONNXFLOPS_SOURCE_DIR "/models")) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<Report> CountFile(const std::string& path, const CountOptions& options = {}) {
  absl::StatusOr<Model> model = Load(path);
  if (!model.ok()) return model.status();
  return Count(*model, options);
}

template <typename Row>
Expr SumOf(const std::vector<Row>& rows, const Quantity& quantity) {
  std::vector<Expr> parts;
  for (const Row& row : rows) parts.push_back(row.*quantity.value);
  return Sum(parts);
}

TEST(RealModelsTest, EveryGroupingAddsUpToTheTotal) {
  for (const std::string& file : ModelFiles()) {
    SCOPED_TRACE(file);
    const absl::StatusOr<Report> report = CountFile(file, {.node_rows = true});
    ASSERT_TRUE(report.ok()) << report.status();
    ExpectSums(*report);
    int64_t nodes = 0;
    for (const OpRow& row : report->by_op) nodes += row.nodes;
    for (const Quantity& q : kQuantities) {
      if (q.of == Quantity::Of::kWeights) continue;
      EXPECT_EQ(SumOf(report->by_op, q), report->totals.*q.value) << q.key;
      EXPECT_EQ(SumOf(report->nodes, q), report->totals.*q.value) << q.key;
    }
    EXPECT_LE(nodes, report->coverage.nodes);
    EXPECT_EQ(report->totals.flops, 2 * report->census[Kind::kMac] + report->totals.other_flops);
  }
}

// path -> macs, params
std::map<std::string, std::pair<std::string, std::string>> Tree(const Report& report) {
  std::map<std::string, std::pair<std::string, std::string>> tree;
  for (const Module& m : report.modules) {
    tree[m.path] = {m.amounts->macs.ToString(), m.amounts->params.ToString()};
  }
  return tree;
}

TEST(RealModelsTest, TwoExportersNameTheSameModulesWithTheSameWork) {
  const std::string dir = ONNXFLOPS_SOURCE_DIR "/models/";
  const absl::StatusOr<Report> dynamo =
      CountFile(dir + "clip-vit-l-14-336.onnx", {.bindings = {{"batch", 1}}});
  const absl::StatusOr<Report> torch_script = CountFile(dir + "clip-vit-l-14-336.ts17.onnx");
  ASSERT_TRUE(dynamo.ok() && torch_script.ok());
  EXPECT_EQ(dynamo->modules.size(), 407u);
  EXPECT_EQ(Tree(*dynamo), Tree(*torch_script));
}

TEST(RealModelsTest, ParametersAreThoseOfTorch) {
  const std::pair<const char*, const char*> cases[] = {
      {"clip-vit-l-14-336", "427944193"},
      {"clip-vit-l-14-336.ts17", "427944193"},
      {"clip-vit-b-32", "151277313"},
      {"clip-vit-h-14", "986109441"},
      {"bert-base", "109482240"},
      {"vit-b-16", "86567656"},
      {"hf-clip-vit-l-14-336", "427944193"},
      {"lstm", "660490"},
      // torch has 25,557,032: the file has no BatchNorm, but biases of the convolutions.
      {"resnet50", "25530472"},
      // torch has 124,439,808: the file has the tied output layer twice.
      {"gpt2", "163037184"},
  };
  for (const auto& [name, params] : cases) {
    const absl::StatusOr<Report> report =
        CountFile(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/", name, ".onnx"));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.params.ToString(), params) << name;
  }
}

}  // namespace
}  // namespace onnxflops::module_test
