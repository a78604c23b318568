#include "src/memory/captured.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace onnxflops::memory {
namespace {

// The graph that makes each value, or takes it as an input.
std::vector<std::optional<GraphId>> FindOwners(const ModelData& model) {
  std::vector<std::optional<GraphId>> owners(model.values.size());
  for (size_t g = 0; g < model.graphs.size(); ++g) {
    for (ValueId value : model.graphs[g].inputs) {
      owners[static_cast<size_t>(value)] = static_cast<GraphId>(g);
    }
  }
  for (size_t v = 0; v < owners.size(); ++v) {
    const OptionalNodeId producer = model.values[v].producer;
    if (producer) owners[v] = model.node(*producer).graph;
  }
  return owners;
}

}  // namespace

CapturedValues::CapturedValues(const ModelData& model) {
  if (model.graphs.size() == 1) return;
  const std::vector<std::optional<GraphId>> owners = FindOwners(model);
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
