// Nodes of small stored tensors of every rank: types, shapes and all elements that are followed,
// against what ONNX Runtime gives (tools/export/node_truth.py wrote data/node_truth.jsonl).
// At least as much is followed and refused as once was; a table has how much of which operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "ops/content.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "tests/infer/runtime_truth.h"
#include "tests/table.h"

namespace onnxflops::node_truth_test {
namespace {

using Json = nlohmann::json;

struct Followed {
  int nodes = 0, open_sizes = 0, elements = 0, followed = 0;
  int refused_by_runtime = 0, refused = 0;
};

// A constant of whole numbers, as a row.
void AddRow(const std::string& name, const std::vector<int64_t>& numbers, onnx::GraphProto* graph) {
  onnx::TensorProto* row = graph->add_initializer();
  row->set_name(name);
  row->set_data_type(onnx::TensorProto::INT64);
  row->add_dims(static_cast<int64_t>(numbers.size()));
  for (const int64_t n : numbers) row->add_int64_data(n);
}

onnx::NodeProto* AddNode(const char* op, const std::vector<std::string>& inputs,
                         const std::string& output, onnx::GraphProto* graph) {
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(op);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  return node;
}

// Asks for all elements of an output: only what somebody reads is followed. They are the output
// "elements of " of that name.
void AskForElements(const std::string& output, size_t count, onnx::GraphProto* graph) {
  std::vector<int64_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  AddRow("row of " + output, {-1}, graph);
  AddRow("places of " + output, all, graph);
  AddNode("Reshape", {output, "row of " + output}, "flat " + output, graph);
  AddNode("Gather", {"flat " + output, "places of " + output}, "elements of " + output, graph);
  graph->add_output()->set_name("elements of " + output);
}

std::string TypeName(const Fact& fact) {
  const std::string name(DTypeName(fact.dtype));
  return name == "float32" ? "float" : name == "float64" ? "double" : name;
}

bool IsElement(const Scalar& element, const Json& expected, int64_t n) {
  if (element.is_int()) return ValueAtN(element.i, n).value_or(expected) == expected.get<int64_t>();
  // The runtime rounds to float32 on the way, a mean say.
  return std::abs(element.f - expected.get<double>()) <= 1e-6 * std::abs(element.f);
}

// A size that the data decides is a symbol.
void ExpectSizes(const Fact& fact, const Json& expected, int64_t n, Followed* of) {
  const Json& sizes = expected["sizes"];
  if (!fact.is_tensor() || !fact.shape.ranked()) {  // an axis is not known
    of->open_sizes += static_cast<int>(sizes.size());
    return;
  }
  EXPECT_EQ(TypeName(fact), expected["type"].get<std::string>());
  ASSERT_EQ(fact.shape.rank(), static_cast<int>(sizes.size())) << fact.shape.ToString();
  for (int d = 0; d < fact.shape.rank(); ++d) {
    const std::optional<int64_t> size = ValueAtN(fact.shape[d], n);
    of->open_sizes += size.has_value() ? 0 : 1;
    if (!size.has_value()) continue;
    EXPECT_EQ(*size, sizes[static_cast<size_t>(d)].get<int64_t>()) << fact.shape.ToString();
  }
}

// Those that are followed are the true ones.
void ExpectElements(const Fact& fact, const Json& elements, int64_t n, Followed* of) {
  of->elements += static_cast<int>(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    const Scalar element = ElementAt(fact, static_cast<int64_t>(i));
    if (!element.known()) continue;
    ++of->followed;
    EXPECT_TRUE(IsElement(element, elements[i], n)) << "element " << i << ": " << elements[i];
  }
}

// The graph, in which the symbol N is `n`.
void Follow(const Json& truth, onnx::ModelProto proto, int64_t n, Followed* of) {
  SCOPED_TRACE(truth["graph"].get<std::string>());
  const Json& outputs = truth["outputs"];
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
    ExpectSizes(*inference->FactOf(found[i]), outputs[i], n, of);
    ExpectElements(*inference->FactOf(found[outputs.size() + i]), outputs[i]["elements"], n, of);
  }
}

using ByOp = std::map<std::string, Followed>;

void ExpectAsMuch(const Followed& least, const ByOp& by_op, const std::string& name) {
  std::vector<std::string> lines;
  Followed all;
  for (const auto& [op, n] : by_op) {
    all.open_sizes += n.open_sizes;
    all.followed += n.followed;
    all.refused += n.refused;
    lines.push_back(absl::StrCat(op, ": ", n.nodes, " nodes, ", n.open_sizes, " open sizes, ",
                                 n.followed, " of ", n.elements, " elements, ", n.refused, " of ",
                                 n.refused_by_runtime, " refused"));
  }
  EXPECT_LE(all.open_sizes, least.open_sizes);
  EXPECT_GE(all.followed, least.followed);
  EXPECT_GE(all.refused, least.refused);
  WriteTable(lines, name);
}

TEST(NodeTruthTest, OutputsAreThoseOfTheRuntime) {
  ByOp by_op;
  for (const Json& truth : TruthsOf("node_truth.jsonl")) {
    const onnx::ModelProto model = ModelOfTruth(truth);
    Follow(truth, model, 0, &by_op[model.graph().node(0).op_type()]);
  }
  ExpectAsMuch({.open_sizes = 6, .followed = 8508, .refused = 28}, by_op, "node_truth.txt");
}

// One element of a stored tensor as a size N, that of the input "of N", of which it is read.
void MakeSymbol(int place, onnx::TensorProto tensor, onnx::GraphProto* graph) {
  std::vector<int64_t> before, after, sizes(tensor.dims().begin(), tensor.dims().end());
  for (int i = 0; i < tensor.int64_data_size(); ++i) {
    if (i != place) (i < place ? before : after).push_back(tensor.int64_data(i));
  }
  AddInputOfN("of N", graph);
  AddRow("before", before, graph);
  AddRow("after", after, graph);
  AddRow("sizes", sizes, graph);
  AddNode("Shape", {"of N"}, "N", graph);
  onnx::AttributeProto* axis =
      AddNode("Concat", {"before", "N", "after"}, "row", graph)->add_attribute();
  axis->set_name("axis");
  axis->set_type(onnx::AttributeProto::INT);
  AddNode("Reshape", {"row", "sizes"}, tensor.name(), graph);
  std::rotate(graph->mutable_node()->begin(), graph->mutable_node()->begin() + 1,
              graph->mutable_node()->end());  // the node comes after what it reads
}

// What is followed of a node one of whose numbers is a symbol is true where the symbol is that
// number.
TEST(NodeTruthTest, OutputsOfSymbolsAreThoseOfTheirNumbers) {
  ByOp by_op;
  int number = 0;
  for (const Json& truth : TruthsOf("node_truth.jsonl")) {
    const onnx::ModelProto model = ModelOfTruth(truth);
    if (truth["outputs"].is_null()) continue;
    for (int i = 0; i < model.graph().initializer_size(); ++i) {
      const onnx::TensorProto& tensor = model.graph().initializer(i);
      if (tensor.data_type() != onnx::TensorProto::INT64 || tensor.int64_data_size() == 0) continue;
      const int place = ++number % tensor.int64_data_size();
      const int64_t n = tensor.int64_data(place);
      if (n < 1) continue;
      onnx::ModelProto with_symbol = model;
      auto* initializers = with_symbol.mutable_graph()->mutable_initializer();
      initializers->erase(initializers->begin() + i);
      MakeSymbol(place, tensor, with_symbol.mutable_graph());
      Follow(truth, with_symbol, n, &by_op[model.graph().node(0).op_type()]);
    }
  }
  ExpectAsMuch({.open_sizes = 140, .followed = 5972}, by_op, "node_symbols.txt");
}

}  // namespace
}  // namespace onnxflops::node_truth_test
