#include "src/graph/model.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"

namespace onnxflops {

std::optional<int64_t> ModelData::OpsetOf(absl::string_view domain) const {
  if (domain == "ai.onnx") domain = "";
  for (const auto& [name, version] : opsets) {
    if (name == domain) return version;
  }
  return std::nullopt;
}

std::string DescribeNode(const ModelData& model, NodeId node) {
  if (node < 0 || static_cast<size_t>(node) >= model.nodes.size()) return "node ?";
  const Node& n = model.node(node);
  const std::string op = Escaped(n.op_type);
  if (!n.name.empty()) return absl::StrCat("node ", Quoted(n.name), " (", op, ")");
  for (OptionalValueId output : n.outputs) {
    if (!output || static_cast<size_t>(*output) >= model.values.size()) continue;
    const absl::string_view name = model.value(*output).name;
    return absl::StrCat("the node of ", Quoted(name), " (", op, ")");
  }
  return absl::StrCat("a node without name (", op, ")");
}

std::vector<OptionalGraphId> GraphsOfValues(const ModelData& model) {
  std::vector<OptionalGraphId> graphs(model.values.size());
  for (size_t g = 0; g < model.graphs.size(); ++g) {
    for (ValueId value : model.graphs[g].inputs) {
      graphs[static_cast<size_t>(value)] = static_cast<GraphId>(g);
    }
  }
  for (size_t v = 0; v < graphs.size(); ++v) {
    const OptionalNodeId producer = model.values[v].producer;
    if (producer) graphs[v] = model.node(*producer).graph;
  }
  return graphs;
}

}  // namespace onnxflops
