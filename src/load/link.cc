// The end of reading: sorts nodes topologically, and resolves redirected values.
//
// How it works. A name in a body may turn out to mean a value of an outer graph only after the body
// was read. Until then it has a value of its own, which is redirected later. Here all references to
// such values are replaced by their targets, the values are removed, and the ids of the rest move
// up, so that ids stay dense.
//
// ONNX demands sorted nodes, but not all files are sorted. Kahn's algorithm, with the waiting nodes
// in the file's order, leaves a sorted graph unchanged, since reports list nodes in that order. If
// nodes are left over there is a cycle, and the error names one. Warnings about the file, such as
// dimensions of -1, are made at the end, once per kind.
#include <algorithm>
#include <functional>
#include <queue>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/quote.h"
#include "src/load/parser.h"

namespace onnxflops::load {
namespace {

// An error shows the first names of a long chain, and the last.
constexpr size_t kShownNames = 8;

}  // namespace

std::string Parser::ChainText(std::vector<std::string> names) {
  if (names.size() > kShownNames + 1) {
    const std::string cut = absl::StrCat("... (", names.size() - 1 - kShownNames, " more)");
    names.erase(names.begin() + kShownNames, names.end() - 1);
    names.insert(names.end() - 1, cut);
  }
  return absl::StrJoin(names, " -> ");
}

// Kahn's algorithm, always taking the first ready node of the file, so that a sorted graph is
// unchanged.
bool Parser::SortNodes(const Scope& scope) {
  std::vector<NodeId>& nodes = graph(scope.graph).nodes;
  const NodeId first = nodes.front();
  // By position in the graph; its nodes' ids ascend, with bodies' nodes between them.
  std::vector<int32_t> position(static_cast<size_t>(nodes.back() - first) + 1);
  for (size_t i = 0; i < nodes.size(); ++i) {
    position[static_cast<size_t>(nodes[i] - first)] = static_cast<int32_t>(i);
  }
  std::vector<std::pair<int32_t, int32_t>> edges;  // producer, consumer
  const auto add = [&](OptionalValueId id, NodeId consumer) {
    if (!id || IsRedirected(*id) || !value(*id).producer) return;
    edges.emplace_back(position[static_cast<size_t>(*value(*id).producer - first)],
                       position[static_cast<size_t>(consumer - first)]);
  };
  for (const NodeId id : nodes) {
    for (const OptionalValueId input : node(id).inputs) add(input, id);
  }
  for (const auto& [holder, id] : scope.uses) add(id, holder);
  std::sort(edges.begin(), edges.end());

  std::vector<int32_t> waiting(nodes.size(), 0);  // inputs that are not there yet
  std::vector<size_t> begin(nodes.size() + 1, 0);
  for (const auto& [producer, consumer] : edges) {
    ++waiting[static_cast<size_t>(consumer)];
    ++begin[static_cast<size_t>(producer) + 1];
  }
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];

  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (waiting[i] == 0) ready.push(static_cast<int32_t>(i));
  }
  std::vector<NodeId> sorted;
  sorted.reserve(nodes.size());
  while (!ready.empty()) {
    const auto i = static_cast<size_t>(ready.top());
    ready.pop();
    sorted.push_back(nodes[i]);
    for (size_t e = begin[i]; e < begin[i + 1]; ++e) {
      if (--waiting[static_cast<size_t>(edges[e].second)] == 0) ready.push(edges[e].second);
    }
  }
  if (sorted.size() < nodes.size()) return FailCycle(scope, waiting, edges);
  nodes = std::move(sorted);
  return true;
}

// Every waiting node has an input from another waiting node, so going back from any of them leads
// into a cycle.
bool Parser::FailCycle(const Scope& scope, const std::vector<int32_t>& waiting,
                       const std::vector<std::pair<int32_t, int32_t>>& edges) {
  const std::vector<NodeId>& nodes = graph(scope.graph).nodes;
  std::vector<int32_t> before(nodes.size());
  for (const auto& [producer, consumer] : edges) {
    if (waiting[static_cast<size_t>(producer)] > 0) {
      before[static_cast<size_t>(consumer)] = producer;
    }
  }
  int32_t at = 0;
  while (waiting[static_cast<size_t>(at)] == 0) ++at;
  std::vector<bool> seen(nodes.size(), false);
  for (; !seen[static_cast<size_t>(at)]; at = before[static_cast<size_t>(at)]) {
    seen[static_cast<size_t>(at)] = true;
  }
  std::vector<std::string> names;
  const int32_t start = at;
  do {
    const Node& n = node(nodes[static_cast<size_t>(at)]);
    std::string label = Escaped(n.name);
    if (label.empty()) label = DescribeNode(*model_, nodes[static_cast<size_t>(at)]);
    names.push_back(std::move(label));
    at = before[static_cast<size_t>(at)];
  } while (at != start);
  names.push_back(names.front());
  std::reverse(names.begin(), names.end());
  return wire_.Fail(absl::StrCat("its nodes form a cycle: ", ChainText(std::move(names))));
}

bool Parser::Link() {
  if (!redirects_.empty()) RemoveRedirected();
  if (dims_minus_one_ > 0) {
    Warn(absl::StrCat("dimensions declared as -1, read as unknown: ", dims_minus_one_));
  }
  if (tensors_without_data_ > 0) {
    Warn(absl::StrCat("tensors without a payload: ", tensors_without_data_));
  }
  return true;
}

void Parser::Warn(std::string warning) { model_->warnings.push_back(std::move(warning)); }

bool Parser::IsRedirected(ValueId id) const {
  return static_cast<size_t>(id) < redirects_.size() && redirects_[static_cast<size_t>(id)];
}

// A target belongs to an outer graph, so there are at most as many steps as nested graphs.
ValueId Parser::Redirected(ValueId id) const {
  while (IsRedirected(id)) id = *redirects_[static_cast<size_t>(id)];
  return id;
}

// Values redirected to an outer graph leave the model, and the others move up.
void Parser::RemoveRedirected() {
  std::vector<Value>& values = model_->values;
  const size_t n = values.size();
  std::vector<ValueId> kept(n + 1, 0);  // how many before each are kept: the new id of a kept one
  for (size_t i = 0; i < n; ++i) {
    kept[i + 1] = kept[i] + (IsRedirected(static_cast<ValueId>(i)) ? 0 : 1);
  }
  std::vector<ValueId> target(n);
  for (size_t i = 0; i < n; ++i) {
    target[i] = kept[static_cast<size_t>(Redirected(static_cast<ValueId>(i)))];
  }
  const auto renumber = [&](auto& id) {
    if (OptionalValueId(id)) id = target[static_cast<size_t>(*OptionalValueId(id))];
  };
  for (size_t i = first_node_; i < model_->nodes.size(); ++i) {
    const Node& node = model_->nodes[i];
    // The arrays are the parser's own, in the arena, so they may be changed in place.
    auto* ids = const_cast<OptionalValueId*>(node.inputs.data());
    for (size_t k = 0; k < node.inputs.size(); ++k) renumber(ids[k]);
    ids = const_cast<OptionalValueId*>(node.outputs.data());
    for (size_t k = 0; k < node.outputs.size(); ++k) renumber(ids[k]);
  }
  for (Graph& graph : model_->graphs) {
    for (ValueId& id : graph.inputs) renumber(id);
    for (ValueId& id : graph.outputs) renumber(id);
    for (ValueId& id : graph.initializers) renumber(id);
    graph.first_value = kept[static_cast<size_t>(graph.first_value)];
    graph.end_value = kept[static_cast<size_t>(graph.end_value)];
  }
  size_t to = 0;
  for (size_t i = 0; i < n; ++i) {
    if (!IsRedirected(static_cast<ValueId>(i))) values[to++] = values[i];
  }
  values.resize(to);
}

}  // namespace onnxflops::load
