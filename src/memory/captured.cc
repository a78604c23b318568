#include "src/memory/captured.h"

#include <algorithm>
#include <cstddef>

namespace onnxflops::memory {

CapturedValues::CapturedValues(const ModelData& model) {
  if (model.graphs.size() == 1) return;
  const std::vector<OptionalGraphId> owners = GraphsOfValues(model);
  const auto use = [&](GraphId in, OptionalValueId value) {
    if (!value || !owners[static_cast<size_t>(*value)]) return;
    const GraphId owner = *owners[static_cast<size_t>(*value)];
    for (GraphId at = in; at != owner;) {
      const Graph& graph = model.graph(at);
      if (!graph.parent || !graph.parent_node) return;
      at = *graph.parent;
      if (at == owner) by_node_[*graph.parent_node].push_back(*value);
    }
  };
  for (size_t g = 1; g < model.graphs.size(); ++g) {
    const auto id = static_cast<GraphId>(g);
    for (NodeId node : model.graph(id).nodes) {
      for (OptionalValueId value : model.node(node).inputs) use(id, value);
    }
    for (ValueId value : model.graph(id).outputs) use(id, value);
  }
  for (auto& [node, values] : by_node_) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }
}

absl::Span<const ValueId> CapturedValues::Of(NodeId node) const {
  const auto it = by_node_.find(node);
  return it == by_node_.end() ? absl::Span<const ValueId>() : it->second;
}

}  // namespace onnxflops::memory
