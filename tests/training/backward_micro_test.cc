// The exact backward pass of one operator, with some inputs that need a gradient and others that do
// not: tests/data/backward_micro.json says where its figures come from. And what the walk does with
// small graphs, worked out by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/model_maker.h"
#include "tests/model_text.h"

namespace onnxflops::backward_micro_test {
namespace {

using Json = nlohmann::json;

// Tensors that need a gradient are inputs, the others frozen weights.
ModelMaker MakerOf(const Json& row) {
  ModelMaker make(23);
  for (const auto& [name, dims] : row["needed"].items()) {
    ModelMaker::Strings sizes;
    for (int64_t dim : dims) sizes.push_back(std::to_string(dim));
    make.Input(name, sizes);
  }
  for (const auto& [name, dims] : row["fixed"].items()) {
    make.Weight(name, dims.get<std::vector<int64_t>>());
  }
  auto ints = row.value("ints", std::map<std::string, int64_t>());
  if (row["op"] == "GRU") ints["linear_before_reset"] = 1;  // as PyTorch's is, which was measured
  make.Node("n", row["op"], row["order"].get<ModelMaker::Strings>(), {"y"}, ints);
  const Json lists = row.value("lists", Json::object());
  for (const auto& [name, values] : lists.items()) {
    onnx::AttributeProto* attribute = make.node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INTS);
    for (int64_t value : values) attribute->add_ints(value);
  }
  return make.Output("y");
}

CountOptions Training(const std::string& attention) {
  CountOptions options;
  options.training.emplace().input_gradients = true;
  if (attention == "flash") options.training->attention = AttentionBackward::kFlash;
  return options;
}

TEST(BackwardMicroTest, OperatorsTakeAProductForEachGradient) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/backward_micro.json");
  const Json truth = Json::parse(file);
  ASSERT_GT(truth["cases"].size(), 100);
  for (const Json& row : truth["cases"]) {
    SCOPED_TRACE(row["case"].get<std::string>());
    CountOptions options = Training(row.value("attention", "math"));
    // A mask is no parameter in any case.
    if (row["fixed"].size() > row["fixed"].count("mask")) options.training->frozen = {"*"};
    const absl::StatusOr<Report> report = MakerOf(row).Count(options);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ((2 * report->totals.backward_macs).ToString(),
              std::to_string(row["contraction_flops"].get<int64_t>()));
    EXPECT_TRUE(report->training->unknown.empty());
  }
}

struct WalkCase {
  const char* what;
  const char* text;
  int opset;
  const char* flops;  // of the backward pass, inputs needing gradients
};

// By hand: a product per gradient, 2 FLOPs per MAC; sums where gradients meet or were broadcast.
constexpr WalkCase kWalks[] = {
    {"two layers",
     "g (float[4,8] x, float[8,8] a, float[8,2] b) => (float[4,2] y) { h = MatMul(x, "
     "a) y = MatMul(h, b) }",
     17, "1280"},  // 2*2*(4*8*8 + 4*8*2)
    {"a value used twice",
     "g (float[4,8] x, float[8,8] a) => (float[4,8] y) { h = MatMul(x, a) y = "
     "Mul(h, h) }",
     17, "1120"},  // 2*2*256, two products of 32, one sum of 32
    {"a bias that is broadcast", "g (float[4,8] x, float[8] b) => (float[4,8] y) { y = Add(x, b) }",
     17, "32"},  // db sums 32 elements
    {"what no output sees",
     "g (float[4,8] x, float[8,8] a) => (float[4,8] y) { h = MatMul(x, a) y = "
     "Relu(x) }",
     17, "32"},  // a comparison each
    {"integers end it", "g (float[4,8] x) => (int64[4,1] y) { y = ArgMax<axis=1>(x) }", 17, "0"},
    {"softmax", "g (float[4,8] x) => (float[4,8] y) { y = Softmax(x) }", 17, "128"},  // 4 each
    {"sigmoid", "g (float[N] x) => (float[N] y) { y = Sigmoid(x) }", 17, "3*N"},
    {"embedding", "g (float[9,8] table, int64[5] i) => (float[5,8] y) { y = Gather(table, i) }", 17,
     "40"},  // 5*8 additions
    {"a branch",
     "g (bool c, float[4,8] x, float[8,8] a) => (float[4,8] y) { y = If (c) <then_branch "
     "= t () => (float[4,8] p) { p = MatMul(x, a) }, else_branch = e () => (float[4,8] q) { q = "
     "Identity(x) }> }",
     17, "1024"},  // of the branch that costs more
    {"a loop",
     "g (float[4,8] x, float[8,8] a) => (float[4,8] y) <int64 m = {5}, bool c = {1}> { y = "
     "Loop (m, c, x) <body = b (int64 i, bool ci, float[4,8] h) => (bool co, float[4,8] ho) { co = "
     "Identity(ci) ho = MatMul(h, a) }> }",
     17, "5376"},  // 5 trips of 2*2*256, and 4 sums of the 64 of da
    {"trips, as many as there are rows",
     "g (float[N,8] x, float[8] a) => (float[N,8] y) { y = Scan <num_scan_inputs = 1, body = b "
     "(float[8] r) => (float[8] s) { s = Mul(r, a) }> (x) }",
     17, "24*N - 8"},  // N trips of two products of 8, and N - 1 sums of the 8 of da
    {"what trips take has another gradient",
     "g (float[N,8] x, float[8] a) => (float[N,8] y, float[8] z) { z = Sqrt(a) y = Scan "
     "<num_scan_inputs = 1, body = b (float[8] r) => (float[8] s) { s = Add(r, z) }> (x) }",
     17, "8*N + 16"},  // N sums of the 8 of dz, one behind the other; two for a root
    {"branches that take the same",
     "g (bool c, float[4,8] x, float[8,8] a) => (float[4,8] y) { y = If (c) <then_branch "
     "= t () => (float[4,8] p) { p = MatMul(x, a) }, else_branch = e () => (float[4,8] q) { h = "
     "MatMul(x, a) q = MatMul(h, a) }> }",
     17, "2112"},  // of the second: 2*1024, and one sum of the 64 of da
};

TEST(BackwardMicroTest, TheWalkFollowsTheGraph) {
  for (const WalkCase& c : kWalks) {
    SCOPED_TRACE(c.what);
    const absl::StatusOr<Report> report = Count(ModelFromText(c.text, c.opset), Training("math"));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.backward_flops.ToString(), c.flops);
    EXPECT_EQ(report->totals.training_flops, report->totals.flops + report->totals.backward_flops);
  }
}

TEST(BackwardMicroTest, RowsSumToTheTotal) {
  const absl::StatusOr<Model> model = Load(ONNXFLOPS_SOURCE_DIR "/models/llama-tiny.onnx");
  ASSERT_TRUE(model.ok()) << model.status();
  CountOptions options = Training("math");
  options.node_rows = true;
  const absl::StatusOr<Report> report = Count(*model, options);
  ASSERT_TRUE(report.ok()) << report.status();
  Expr flops, macs;
  for (const GradientRow& row : report->training->by_op) {
    flops += row.flops;
    macs += row.macs;
  }
  EXPECT_EQ(flops, report->totals.backward_flops);
  EXPECT_EQ(macs, report->totals.backward_macs);
  EXPECT_NE(report->totals.backward_flops.ToString().find("batch"), std::string::npos);
  Expr operators, nodes, modules;
  for (const OpRow& row : report->by_op) operators += row.gradient_flops;
  for (const NodeRow& row : report->nodes) nodes += row.gradient_flops;
  for (const Module& m : report->modules) {
    if (m.depth == 1) modules += m.amounts->gradient_flops;
  }
  for (const Expr& sum : {operators, nodes, modules, report->modules[0].amounts->gradient_flops}) {
    EXPECT_EQ(sum, report->totals.backward_flops);
  }
  EXPECT_EQ(report->modules[0].amounts->gradient_macs, report->totals.backward_macs);
}

TEST(BackwardMicroTest, AnUnknownGradientIsALowerBound) {
  const Model model = ModelFromText(
      "g (float[2,4] x) => (float[2,4] y) { y = ai.onnx.ml.Normalizer<norm = \"L2\">(x) }", 17);
  const absl::StatusOr<Report> report = Count(model, Training("math"));
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->training->unknown.size(), 1);
  EXPECT_EQ(report->training->unknown[0].op, "Normalizer");
}

// Token and position tables, and an output layer whose weight TorchScript transposed.
ModelMaker TextTower(const std::string& positions) {
  ModelMaker make;
  make.Weight("wte.weight", {11, 8}).Weight(positions, {5, 8}).Weight("onnx::MatMul_9", {8, 11});
  ModelMaker::Declare(make.proto.mutable_graph()->add_input(), "ids", {"2", "5"});
  make.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->set_elem_type(onnx::TensorProto::INT64);
  make.Node("/wte/Gather", "Gather", {"wte.weight", "ids"}, {"tokens"});
  make.Node("/Add", "Add", {"tokens", positions}, {"h"});
  make.Node("/head/MatMul", "MatMul", {"h", "onnx::MatMul_9"}, {"y"}).Output("y");
  return make;
}

struct NamingCase {
  const char *what, *frozen;
  int64_t trained;
  const char* warning;
};
constexpr NamingCase kNamings[] = {
    {"a matrix is its module's weight", "head.weight", 88 + 40, "may be a transposed copy"},
    {"positions by their use", "positional_embedding", 88 + 88, "taken as 'onnx::Add_7'"},
    {"a table, whose copy is trained", "wte", 88 + 40, "tied onnx::MatMul_9=wte.weight"},
};

TEST(BackwardMicroTest, ParametersThatTheExporterRenamedAreKnown) {
  for (const NamingCase& c : kNamings) {
    SCOPED_TRACE(c.what);
    CountOptions options;
    options.training.emplace().frozen = {c.frozen};
    const absl::StatusOr<Report> report = TextTower("onnx::Add_7").Count(options);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->training->trained_params, c.trained);
    ASSERT_EQ(report->warnings.size(), 1);
    EXPECT_NE(report->warnings[0].find(c.warning), std::string::npos) << report->warnings[0];
  }
  CountOptions named;  // a name of its own is no other
  named.training.emplace().frozen = {"positional_embedding"};
  EXPECT_EQ(TextTower("table").Count(named).status().code(), absl::StatusCode::kNotFound);
}

// x (4 x 6) by a matrix, by a number, and by another matrix. PyTorch's file does not tell what of
// it is a buffer; a number that it names is a parameter, whose gradient needs that of what it
// multiplies.
TEST(BackwardMicroTest, WhatNoFileTellsIsSaid) {
  ModelMaker make;
  make.Input("x", {"4", "6"}).Weight("basis", {6, 5}).Weight("t", {}).Weight("linear_4", {5, 3});
  make.Node("/mm", "MatMul", {"x", "basis"}, {"y"}).Node("/mul", "Mul", {"y", "t"}, {"z"});
  make.Node("/out", "MatMul", {"z", "linear_4"}, {"u"}).Output("u");
  make.proto.set_producer_name("pytorch");
  CountOptions options;
  options.training.emplace().frozen = {"basis", "linear_4"};
  EXPECT_EQ(make.Count(options)->totals.backward_macs, Expr(4 * 5 * 3));
  options.training->frozen.clear();
  const absl::StatusOr<Report> report = make.Count(options);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->warnings.size(), 2);
  EXPECT_NE(report->warnings[0].find("parameters or buffers, which no file tells: 'basis';"),
            std::string::npos);
  EXPECT_NE(report->warnings[1].find("computed when the model was exported: 'linear_4';"),
            std::string::npos);
}

// Three norms whose scales are equal, so that the exporter stored the first one's. A pattern that
// the options give may name any of them.
TEST(BackwardMicroTest, ATensorOfSeveralModulesOfWhichSomeAreFrozen) {
  ModelMaker make;
  make.Input("x", {"4", "6"}).Weight("a.n.weight", {6}).Weight("c.n.bias", {6});
  make.Node("/a/n/LayerNormalization", "LayerNormalization", {"x", "a.n.weight"}, {"y"});
  make.Node("b.n.weight", "Identity", {"a.n.weight"}, {"b.n.weight"});
  make.Node("/b/n/LayerNormalization", "LayerNormalization", {"y", "b.n.weight"}, {"z"});
  make.Node("/c/n/LayerNormalization", "LayerNormalization", {"z", "a.n.weight", "c.n.bias"},
            {"u"});
  make.Output("u").proto.set_producer_name("pytorch");
  const std::map<std::string, std::string> warnings = {
      {"a", "not trained: 'a.n.weight'; the options train it as 'b.n.weight', 'c.n.weight'."},
      {"c", "and trained: 'a.n.weight'; the options freeze it as 'c.n.weight'."},
      {"*.weight", ""},
  };
  for (const auto& [frozen, warning] : warnings) {
    CountOptions options;
    options.training.emplace().frozen = {frozen};
    const absl::StatusOr<Report> report = make.Count(options);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(report->warnings.size(), warning.empty() ? 0 : 1) << frozen;
    if (warning.empty()) continue;
    EXPECT_NE(report->warnings[0].find(warning), std::string::npos) << report->warnings[0];
  }
}

TEST(BackwardMicroTest, TiedWeightsAreOneParameter) {
  CountOptions options;
  const absl::StatusOr<Report> apart = TextTower("positions").Count(options);
  ASSERT_TRUE(apart.ok()) << apart.status();
  ASSERT_EQ(apart->likely_copies.size(), 1);
  EXPECT_EQ(apart->likely_copies[0].original, "wte.weight");
  EXPECT_EQ(apart->totals.params, Expr(88 + 88 + 40));
  options.tied = {{"onnx::MatMul_9", "wte.weight"}};
  for (const auto& [frozen, trained] :
       std::map<std::string, int64_t>{{"wte", 40}, {"head", 40}, {"positions", 88}}) {
    options.training.emplace().frozen = {frozen};
    const absl::StatusOr<Report> report = TextTower("positions").Count(options);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.params, Expr(88 + 40));
    EXPECT_EQ(report->training->trained_params, trained) << frozen;
    EXPECT_TRUE(report->warnings.empty() && report->likely_copies.empty());
  }
  // A product for the weight, one for what it multiplies; the gradients of both uses meet.
  options.training.emplace();
  EXPECT_EQ(TextTower("positions").Count(options)->totals.backward_flops,
            Expr(2 * 2 * 10 * 88 + 80 + 80 + 88));
}

struct TieCase {
  const char *what, *copy, *original;
  absl::StatusCode code;
};
constexpr TieCase kWrongTies[] = {
    {"no such copy", "nothing", "wte.weight", absl::StatusCode::kNotFound},
    {"no such weight", "onnx::MatMul_9", "nothing", absl::StatusCode::kNotFound},
    {"itself", "wte.weight", "wte.weight", absl::StatusCode::kInvalidArgument},
    {"other sizes", "onnx::MatMul_9", "positions", absl::StatusCode::kInvalidArgument},
};

TEST(BackwardMicroTest, WeightsThatCannotBeOneAreErrors) {
  for (const TieCase& c : kWrongTies) {
    CountOptions options;
    options.tied = {{c.copy, c.original}};
    EXPECT_EQ(TextTower("positions").Count(options).status().code(), c.code) << c.what;
  }
  CountOptions options;  // one list may be for several models; a chain is none
  options.tied = {{"nothing", "wte.weight"}, {"onnx::MatMul_9", "wte.weight"}};
  EXPECT_TRUE(TextTower("positions").Count(options).ok());
  options.tied.push_back({"wte.weight", "onnx::MatMul_9"});
  EXPECT_EQ(TextTower("positions").Count(options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(BackwardMicroTest, ATableOfEncoderAndDecoderIsShared) {
  ModelMaker make;
  make.Weight("lm_head.weight", {11, 8}).Input("x", {"8", "2"});
  for (const std::string side : {"encoder", "decoder"}) {
    make.Weight(side + "_ids", {3}, onnx::TensorProto::INT64);
    make.Node("/m/" + side + "/embed/Gather", "Gather", {"lm_head.weight", side + "_ids"}, {side});
    make.Output(side);
  }
  make.Node("/lm_head/MatMul", "MatMul", {"lm_head.weight", "x"}, {"y"}).Output("y");
  CountOptions options;
  for (const char* kept : {"lm_head.weight", "m.encoder.embed.weight"}) {
    make.proto.mutable_graph()->mutable_initializer(0)->set_name(kept);
    for (onnx::NodeProto& node : *make.proto.mutable_graph()->mutable_node()) {
      node.set_input(0, kept);
    }
    for (const char* name : {"m.shared.weight", "m.decoder.embed.weight", "lm_head"}) {
      options.training.emplace().frozen = {name};
      const absl::StatusOr<Report> report = make.Count(options);
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_EQ(report->training->trained_params, 0) << kept << " " << name;
    }
  }
}

TEST(BackwardMicroTest, PatternsThatMatchNothingAreErrors) {
  ModelMaker make;
  make.Input("x", {"4", "8"}).Weight("fc.weight", {8, 8});
  make.Node("/fc/MatMul", "MatMul", {"x", "fc.weight"}, {"y"}).Output("y");
  CountOptions options;
  options.training.emplace().frozen = {"nothing"};
  EXPECT_EQ(make.Count(options).status().code(), absl::StatusCode::kNotFound);
  options.training.emplace().recompute = ParseRecompute("blocks");
  EXPECT_EQ(make.Count(options).status().code(), absl::StatusCode::kNotFound);
  options.training.emplace().optimizer = Optimizer::kAdamW;
  EXPECT_EQ(make.Count(options)->training->optimizer_flops, Expr(64 * 15));
}

}  // namespace
}  // namespace onnxflops::backward_micro_test
