// The same model in other encodings has the same totals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "src/onnxflops.h"
#include "src/resolve/parameters.h"
#include "tests/api/wrap_functions.h"
#include "tests/infer/random_graph.h"
#include "tests/model_maker.h"
#include "tests/sample.h"

namespace onnxflops::same_model_test {
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

// ---- What stands between a weight and its use

enum class Way { kCast, kTranspose, kReshape, kSlice, kScale, kSqueeze, kConcat };
constexpr Way kWays[] = {Way::kCast,  Way::kTranspose, Way::kReshape, Way::kSlice,
                         Way::kScale, Way::kSqueeze,   Way::kConcat};

// Takes weights of a model some way round.
class WayRound {
 public:
  WayRound(onnx::ModelProto model, Way way) : model_(std::move(model)), way_(way) {
    Ints("way_zero", {0});
    Ints("way_all", {INT64_MAX});
    onnx::TensorProto* one = model_.mutable_graph()->add_initializer();
    one->set_name("val_1000000");
    one->set_data_type(onnx::TensorProto::FLOAT);
    one->add_float_data(1);
  }

  void Take(const std::string& weight) {
    for (onnx::NodeProto& node : *model_.mutable_graph()->mutable_node()) {
      for (std::string& input : *node.mutable_input()) {
        if (input == weight) input = weight + "_used";
      }
    }
    AddWay(weight, weight + "_on", weight + "_used");
  }

  // In an order in which they can run.
  onnx::ModelProto Build() {
    for (const onnx::NodeProto& node : model_.graph().node()) *way_nodes_.add_node() = node;
    model_.mutable_graph()->mutable_node()->Swap(way_nodes_.mutable_node());
    return model_;
  }

 private:
  void AddWay(const std::string& from, const std::string& on, const std::string& to) {
    onnx::TensorProto* weight = TensorOf(from);
    const std::vector<int64_t> dims(weight->dims().begin(), weight->dims().end());
    switch (way_) {
      case Way::kCast:
        weight->set_data_type(onnx::TensorProto::FLOAT16);
        return Add("Cast", {from}, to, "to", onnx::TensorProto::FLOAT);
      case Way::kTranspose:  // and back: the order is reversed
        Add("Transpose", {from}, on);
        return Add("Transpose", {on}, to);
      case Way::kReshape:
        Ints(from + "_dims", dims);
        weight->clear_dims();
        weight->add_dims(Elements(dims));
        return Add("Reshape", {from, from + "_dims"}, to);
      case Way::kSlice:
        return Add("Slice", {from, "way_zero", "way_all"}, to);
      case Way::kScale:
        return Add("Mul", {from, "val_1000000"}, to);
      case Way::kSqueeze:
        Add("Unsqueeze", {from, "way_zero"}, on);
        return Add("Squeeze", {on, "way_zero"}, to);
      case Way::kConcat:
        *model_.mutable_graph()->add_initializer() = *TensorOf(from);
        weight = TensorOf(from);  // the first of the name
        weight->set_dims(0, dims[0] / 2);
        onnx::TensorProto* rest = &*model_.mutable_graph()->mutable_initializer()->rbegin();
        rest->set_name(from + "00");  // a name of the same kind
        rest->set_dims(0, dims[0] - dims[0] / 2);
        return Add("Concat", {from, from + "00"}, to, "axis", 0);
    }
  }

  onnx::TensorProto* TensorOf(const std::string& name) {
    for (onnx::TensorProto& tensor : *model_.mutable_graph()->mutable_initializer()) {
      if (tensor.name() == name) return &tensor;
    }
    return nullptr;
  }

  static int64_t Elements(const std::vector<int64_t>& dims) {
    int64_t elements = 1;
    for (const int64_t dim : dims) elements *= dim;
    return elements;
  }

  void Ints(const std::string& name, const std::vector<int64_t>& values) {
    onnx::TensorProto* tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    tensor->add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) tensor->add_int64_data(value);
  }

  void Add(const std::string& op, const ModelMaker::Strings& inputs, const std::string& output,
           const std::string& attribute = "", int64_t value = 0) {
    onnx::NodeProto* node = ModelMaker::AddNode(&way_nodes_, "", op, inputs, {output});
    if (attribute.empty()) return;
    onnx::AttributeProto* a = node->add_attribute();
    a->set_name(attribute);
    a->set_type(onnx::AttributeProto::INT);
    a->set_i(value);
  }

  onnx::ModelProto model_;
  const Way way_;
  onnx::GraphProto way_nodes_;
};

// The weights of a model that have at least two rows, without what the file holds of them. With
// `folded`, they get names as of constants that the exporter folded.
std::vector<std::string> TakeOutWeights(bool folded, onnx::ModelProto* model) {
  const absl::StatusOr<Model> loaded = LoadFromBytes(model->SerializeAsString());
  std::vector<std::string> names;
  absl::flat_hash_map<std::string, std::string> renamed;
  for (const resolve::Parameter& parameter : resolve::FindParameters(**loaded)) {
    const std::string name((*loaded)->value(parameter.value).name);
    renamed[name] = folded ? absl::StrCat("val_", 9'000'000 + renamed.size()) : name;
  }
  for (onnx::TensorProto& tensor : *model->mutable_graph()->mutable_initializer()) {
    const auto found = renamed.find(tensor.name());
    if (found == renamed.end() || tensor.data_type() != onnx::TensorProto::FLOAT) continue;
    tensor.set_name(found->second);
    tensor.clear_raw_data();
    tensor.clear_float_data();
    tensor.clear_external_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    if (tensor.dims_size() > 0 && tensor.dims(0) > 1) names.push_back(tensor.name());
  }
  for (onnx::NodeProto& node : *model->mutable_graph()->mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      const auto found = renamed.find(input);
      if (found != renamed.end()) input = found->second;
    }
  }
  return names;
}

std::string ParametersAndProductsOf(const onnx::ModelProto& proto) {
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  if (!model.ok()) return model.status().ToString();
  CountOptions options;
  options.training.emplace();
  const absl::StatusOr<Report> report = Count(*model, options);
  if (!report.ok()) return report.status().ToString();
  return absl::StrCat("params ", report->totals.params.ToString(), ", backward MACs ",
                      report->totals.backward_macs.ToString());
}

TEST(SameModelTest, WaysOfWeightsChangeNeitherParametersNorProducts) {
  for (const char* name : {"resnet50.onnx", "mobilenet-v3-large.onnx", "clip-vit-b-32.onnx",
                           "gpt2.onnx", "bert-base.onnx", "llama-tiny.onnx", "lstm.onnx"}) {
    for (const bool folded : {false, true}) {
      onnx::ModelProto model = ReadModel(name);
      const std::vector<std::string> weights = TakeOutWeights(folded, &model);
      ASSERT_FALSE(weights.empty()) << name;
      const std::string figures = ParametersAndProductsOf(model);
      for (const Way way : kWays) {
        WayRound round(model, way);
        for (const std::string& weight : weights) round.Take(weight);
        EXPECT_EQ(ParametersAndProductsOf(round.Build()), figures)
            << name << ", way " << static_cast<int>(way) << (folded ? ", folded names" : "");
      }
    }
  }
}

}  // namespace
}  // namespace onnxflops::same_model_test
