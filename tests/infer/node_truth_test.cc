// Nodes of small stored tensors of every rank: types, shapes and all elements that are followed,
// against what ONNX Runtime gives (tools/export/node_truth.py wrote data/node_truth.jsonl).
// data/node_truth.txt keeps of each operator how much is followed and refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "ops/content.h"
#include "src/infer/infer.h"
#include "src/load/load.h"
#include "tests/kept_table.h"

namespace onnxflops {
namespace {

using Json = nlohmann::json;

struct Followed {
  int nodes = 0, open_sizes = 0, elements = 0, followed = 0;
  int refused_by_runtime = 0, refused = 0;
};

onnx::ModelProto ModelOf(const Json& truth) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(21);
  const auto parsed = onnx::OnnxParser::Parse(*model.mutable_graph(),
                                              truth["graph"].get_ref<const std::string&>().c_str());
  EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage();
  for (auto& output : *model.mutable_graph()->mutable_output()) output.clear_type();
  return model;
}

// A constant of whole numbers, as a row.
void AddRow(const std::string& name, const std::vector<int64_t>& numbers, onnx::GraphProto* graph) {
  onnx::TensorProto* row = graph->add_initializer();
  row->set_name(name);
  row->set_data_type(onnx::TensorProto::INT64);
  row->add_dims(static_cast<int64_t>(numbers.size()));
  for (const int64_t n : numbers) row->add_int64_data(n);
}

void AddNode(const char* op, const std::string& input, const std::string& other,
             const std::string& output, onnx::GraphProto* graph) {
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(op);
  node->add_input(input);
  node->add_input(other);
  node->add_output(output);
}

// Asks for all elements of an output: only what somebody reads is followed. They are the output
// "elements of " of that name.
void AskForElements(const std::string& output, size_t count, onnx::GraphProto* graph) {
  std::vector<int64_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  AddRow("row of " + output, {-1}, graph);
  AddRow("places of " + output, all, graph);
  AddNode("Reshape", output, "row of " + output, "flat " + output, graph);
  AddNode("Gather", "flat " + output, "places of " + output, "elements of " + output, graph);
  graph->add_output()->set_name("elements of " + output);
}

std::string TypeName(const Fact& fact) {
  const std::string name(DTypeName(fact.dtype));
  return name == "float32" ? "float" : name == "float64" ? "double" : name;
}

bool IsElement(const Scalar& element, const Json& expected) {
  if (element.is_int()) return element.i == Expr(expected.get<int64_t>());
  // The runtime rounds to float32 on the way, a mean say.
  return std::abs(element.f - expected.get<double>()) <= 1e-6 * std::abs(element.f);
}

// A size that the data decides is a symbol.
void ExpectSizes(const Fact& fact, const Json& expected, Followed* of) {
  EXPECT_EQ(TypeName(fact), expected["type"].get<std::string>());
  const Json& sizes = expected["sizes"];
  ASSERT_TRUE(fact.shape.ranked());
  ASSERT_EQ(fact.shape.rank(), static_cast<int>(sizes.size())) << fact.shape.ToString();
  for (int d = 0; d < fact.shape.rank(); ++d) {
    of->open_sizes += fact.shape[d].is_literal() ? 0 : 1;
    if (!fact.shape[d].is_literal()) continue;
    EXPECT_EQ(fact.shape[d], Expr(sizes[static_cast<size_t>(d)].get<int64_t>()));
  }
}

// Those that are followed are the true ones.
void ExpectElements(const Fact& fact, const Json& elements, Followed* of) {
  of->elements += static_cast<int>(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    const Scalar element = ElementAt(fact, static_cast<int64_t>(i));
    if (!element.known()) continue;
    ++of->followed;
    EXPECT_TRUE(IsElement(element, elements[i])) << "element " << i << ": " << elements[i];
  }
}

void Follow(const Json& truth, Followed* of) {
  SCOPED_TRACE(truth["graph"].get<std::string>());
  const Json& outputs = truth["outputs"];
  onnx::ModelProto proto = ModelOf(truth);
  for (size_t i = 0; i < outputs.size(); ++i) {
    AskForElements(proto.graph().output(static_cast<int>(i)).name(), outputs[i]["elements"].size(),
                   proto.mutable_graph());
  }
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Inference> inference = Infer(*model);
  if (outputs.is_null()) {
    ++of->refused_by_runtime;
    of->refused += inference.ok() ? 0 : 1;
    return;
  }
  ASSERT_TRUE(inference.ok()) << inference.status();
  ++of->nodes;
  const auto& found = inference->model->graphs[0].outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    ExpectSizes(*inference->FactOf(found[i]), outputs[i], of);
    ExpectElements(*inference->FactOf(found[outputs.size() + i]), outputs[i]["elements"], of);
  }
}

TEST(NodeTruthTest, OutputsAreThoseOfTheRuntime) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/node_truth.jsonl");
  std::map<std::string, Followed> by_op;
  for (std::string line; std::getline(file, line);) {
    const Json truth = Json::parse(line);
    const onnx::ModelProto model = ModelOf(truth);
    Follow(truth, &by_op[model.graph().node(0).op_type()]);
  }
  std::vector<std::string> lines;
  for (const auto& [op, n] : by_op) {
    lines.push_back(absl::StrCat(op, ": ", n.nodes, " nodes, ", n.open_sizes, " open sizes, ",
                                 n.followed, " of ", n.elements, " elements, ", n.refused, " of ",
                                 n.refused_by_runtime, " refused"));
  }
  ExpectKept(lines, "node_truth.txt");
}

}  // namespace
}  // namespace onnxflops
