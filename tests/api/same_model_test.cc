// The same model in other encodings has the same totals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/onnxflops.h"
#include "tests/api/wrap_functions.h"
#include "tests/infer/random_graph.h"
#include "tests/model_maker.h"
#include "tests/sample.h"

namespace onnxflops {
namespace {

// Totals that hold for any encoding. With `backward`, also those of an exact backward pass.
std::string TotalsOf(const onnx::ModelProto& proto, bool backward = true) {
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  if (!model.ok()) return model.status().ToString();
  CountOptions options;
  if (backward) options.training.emplace();
  const absl::StatusOr<Report> report = Count(*model, options);
  if (!report.ok()) return report.status().ToString();
  std::ostringstream text;
  for (const Quantity& q : kQuantities) {
    text << q.key << " " << (report->totals.*q.value).ToString() << "\n";
  }
  text << "nodes " << report->coverage.nodes << ", counted " << report->coverage.counted
       << ", unknown " << report->coverage.unknown;
  return text.str();
}

onnx::ModelProto ReadModel(const std::string& name) {
  std::ifstream file(std::string(ONNXFLOPS_SOURCE_DIR) + "/models/" + name, std::ios::binary);
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromIstream(&file)) << name;
  model.mutable_graph()->clear_value_info();  // functions have none
  return model;
}

TEST(SameModelTest, NodesInFunctionsChangeNoTotal) {
  for (const char* name : {"resnet50.onnx", "mobilenet-v3-large.onnx", "clip-vit-b-32.onnx",
                           "gpt2.onnx", "lstm.onnx"}) {
    const onnx::ModelProto model = ReadModel(name);
    EXPECT_EQ(TotalsOf(WithFunctions(model, 1, 1)), TotalsOf(model)) << name;
    EXPECT_EQ(TotalsOf(WithFunctions(model, 1, 3)), TotalsOf(model)) << name << ", nested";
    EXPECT_EQ(TotalsOf(WithFunctions(model, 4, 1)), TotalsOf(model)) << name << ", runs of 4";
    EXPECT_EQ(TotalsOf(WithFunctions(model, 7, 2)), TotalsOf(model)) << name << ", runs of 7";
  }
}

std::string Text(const std::vector<Expr>& sums) {
  std::string text;
  for (const Expr& sum : sums) absl::StrAppend(&text, sum.ToString(), ", ");
  return text;
}

// Figures that rest on patterns of several nodes: what a step keeps and holds, attention that is
// taken as flash, and what other tools print.
std::string PatternsOf(const onnx::ModelProto& proto) {
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  if (!model.ok()) return model.status().ToString();
  CountOptions options;
  options.memory.emplace();
  options.training.emplace().attention = AttentionBackward::kFlash;
  const absl::StatusOr<Report> report = Count(*model, options);
  if (!report.ok()) return report.status().ToString();
  const MemoryReport& memory = *report->memory;
  std::string text = absl::StrCat("gradients ", report->totals.gradient_flops.ToString(), "\npeak ",
                                  Text(memory.peak.sums), "\nsaved ", memory.saved_bytes.ToString(),
                                  "\nstep ", Text(memory.step.sums), "\n");
  const absl::StatusOr<CompareReport> tools = CompareTools(*model, {}, {});
  if (!tools.ok()) return tools.status().ToString();
  for (const ToolRow& tool : tools->tools) {
    // Those two look at the nodes of the file.
    const absl::string_view name = tool.convention->name;
    if (name == "onnx-tool" || name == "onnx-opcounter") continue;
    absl::StrAppend(&text, name, " ", tool.headline ? tool.headline->ToString() : "", "\n");
  }
  return text;
}

// Without what functions of the test do not have.
onnx::ModelProto WithoutNames(onnx::ModelProto model) {
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    node.clear_name();
    node.clear_metadata_props();
  }
  return model;
}

TEST(SameModelTest, PatternsAcrossFunctionsChangeNoFigure) {
  for (const char* name : {"mobilenet-v3-large.onnx", "clip-vit-b-32.onnx", "bert-base.onnx"}) {
    const onnx::ModelProto model = WithoutNames(ReadModel(name));
    const std::string figures = PatternsOf(model);
    EXPECT_EQ(PatternsOf(WithFunctions(model, 1, 2)), figures) << name;
    EXPECT_EQ(PatternsOf(WithFunctions(model, 5, 1)), figures) << name << ", runs of 5";
  }
}

TEST(SameModelTest, NodesOfRandomGraphsInFunctionsChangeNoTotal) {
  Sample sample;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    if (!sample.Next()) continue;
    const onnx::ModelProto model = RandomGraph(seed).Build();
    const size_t run = 1 + seed % 5;
    EXPECT_EQ(TotalsOf(WithFunctions(model, run, 1 + static_cast<int>(seed % 3))), TotalsOf(model))
        << "seed " << seed << ", runs of " << run;
    if (HasFailure()) break;  // one model is enough to read
  }
}

// ---- Other encodings of the same graph

onnx::ModelProto WithInitializersReversed(onnx::ModelProto model) {
  auto* tensors = model.mutable_graph()->mutable_initializer();
  std::reverse(tensors->begin(), tensors->end());
  return model;
}

onnx::ModelProto WithNodesReversed(onnx::ModelProto model) {
  auto* nodes = model.mutable_graph()->mutable_node();
  std::reverse(nodes->begin(), nodes->end());
  return model;
}

onnx::ModelProto WithRawData(onnx::ModelProto model) {
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.int64_data_size() == 0) continue;
    const auto bytes = static_cast<size_t>(tensor.int64_data_size()) * sizeof(int64_t);
    tensor.set_raw_data(tensor.int64_data().data(), bytes);
    tensor.clear_int64_data();
  }
  return model;
}

// What random graphs state as initializers of integers, as Constant nodes.
onnx::ModelProto WithConstantNodes(onnx::ModelProto model) {
  onnx::GraphProto* graph = model.mutable_graph();
  const auto tensors = graph->initializer();
  graph->clear_initializer();
  for (const onnx::TensorProto& tensor : tensors) {
    if (tensor.data_type() != onnx::TensorProto::INT64) {
      *graph->add_initializer() = tensor;
      continue;
    }
    onnx::NodeProto* node = graph->add_node();  // the last one: the order is free
    node->set_op_type("Constant");
    node->add_output(tensor.name());
    onnx::AttributeProto* value = node->add_attribute();
    value->set_name("value");
    value->set_type(onnx::AttributeProto::TENSOR);
    *value->mutable_t() = tensor;
  }
  return model;
}

TEST(SameModelTest, OtherEncodingsOfRandomGraphsChangeNoTotal) {
  Sample sample;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    if (!sample.Next()) continue;
    const onnx::ModelProto model = RandomGraph(seed).Build();
    const std::string totals = TotalsOf(model);
    EXPECT_EQ(TotalsOf(WithInitializersReversed(model)), totals) << "seed " << seed;
    EXPECT_EQ(TotalsOf(WithNodesReversed(model)), totals) << "seed " << seed;
    EXPECT_EQ(TotalsOf(WithRawData(model)), totals) << "seed " << seed;
    const std::string with_nodes = TotalsOf(WithConstantNodes(model));
    EXPECT_EQ(with_nodes.substr(0, with_nodes.find("nodes")),
              totals.substr(0, totals.find("nodes")))
        << "seed " << seed;
    if (HasFailure()) break;  // one model is enough to read
  }
}

// T5-small has 6 attentions in its encoder and 12 in its decoder.
TEST(SameModelTest, AttentionIsFoundInAnyOrderOfNodes) {
  const onnx::ModelProto model = ReadModel("t5-small.onnx");
  for (const onnx::ModelProto& other : {model, WithNodesReversed(model)}) {
    CountOptions options;
    options.training.emplace().attention = AttentionBackward::kFlash;
    const absl::StatusOr<Report> report = Count(*LoadFromBytes(other.SerializeAsString()), options);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->training->attentions, 18);
  }
}

TEST(SameModelTest, ABiasWithoutANameIsNone) {
  const onnx::ModelProto model = ReadModel("clip-vit-b-32.ts17.onnx");
  onnx::ModelProto empty = model;
  int changed = 0;
  for (onnx::NodeProto& node : *empty.mutable_graph()->mutable_node()) {
    if (node.op_type() != "Conv" || node.input_size() != 2) continue;
    node.add_input("");
    ++changed;
  }
  EXPECT_EQ(changed, 1);
  EXPECT_EQ(PatternsOf(empty), PatternsOf(model));
}

// Roles by hand: statistics are buffers and a factor without a name of its own is a weight, also
// where a function's function uses them; a function called twice has two weights.
TEST(SameModelTest, WeightsOfFunctionsHaveTheirRoles) {
  ModelMaker make;
  make.Input("x", {"2", "8"}).Weight("val_1", {8, 8}).Weight("val_2", {8, 8});
  for (const char* name : {"n.weight", "n.bias", "n.running_mean", "n.running_var"}) {
    make.Weight(name, {8});
  }
  make.Node("a", "MatMul", {"x", "val_1"}, {"h"}).Node("b", "MatMul", {"h", "val_2"}, {"i"});
  make.Node("c", "BatchNormalization",
            {"i", "n.weight", "n.bias", "n.running_mean", "n.running_var"}, {"y"});
  make.Output("y");
  for (const int depth : {0, 1, 4}) {
    const std::string totals = TotalsOf(WithFunctions(make.proto, 1, depth));
    EXPECT_NE(totals.find("params 144\n"), std::string::npos) << totals;  // 2 * 64 + 2 * 8
    EXPECT_NE(totals.find("nodes 3,"), std::string::npos) << totals;
  }
}

}  // namespace
}  // namespace onnxflops
