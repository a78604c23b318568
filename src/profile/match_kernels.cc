// How it works. Kernels are matched to nodes by name. A name that two nodes share matches none,
// since a wrong match is worse than a missing one. ONNX Runtime calls a node without a name
// "Op_index". The index is that of the runtime's optimised graph, not of the file. If as many
// kernels of the operator have such names as nodes of the file, they are matched in order;
// otherwise by their place among the nodes without Constants.
//
// A layer of TensorRT stands for several nodes and joins their names: it is split into parts, and
// matched to all of them. Copies that TensorRT adds are named after a layer, and match nothing.
// Outer kernels are matched first, because the kernels of a body can only be nodes of its parent's
// bodies. If both branches have nodes of a kernel's name, the one that contains more of the kernels
// is tried first.
#include "src/profile/match_kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace onnxflops::profile {
namespace {

constexpr NodeId kTwice = -1;  // a name that two nodes have

// The names of the nodes of one graph.
class GraphNames {
 public:
  GraphNames(const ModelData& model, GraphId graph) {
    int64_t place = 0;
    for (const NodeId id : model.graph(graph).nodes) {
      const Node& node = model.node(id);
      if (node.op_type == "Constant" && node.domain.empty()) continue;
      const int64_t at = place++;
      if (!node.name.empty()) {
        const auto [it, is_new] = by_name_.try_emplace(node.name, id);
        if (!is_new) it->second = kTwice;
      } else {
        nameless_[node.op_type].push_back({at, id});
      }
    }
  }

  OptionalNodeId Find(absl::string_view name) const {
    const auto it = by_name_.find(name);
    if (it == by_name_.end() || it->second == kTwice) return kNone;
    return it->second;
  }

  // True if a kernel has the runtime's name for a node without a name.
  bool IsNameless(const ProfileKernel& kernel) const {
    return kernel.index >= 0 && nameless_.contains(kernel.op) &&
           kernel.name == absl::StrCat(kernel.op, "_", kernel.index) && !Find(kernel.name);
  }

  // `places`: the runtime's numbers of all nameless kernels of one operator, sorted.
  OptionalNodeId FindNameless(const ProfileKernel& kernel,
                              const std::vector<int64_t>& places) const {
    const std::vector<std::pair<int64_t, NodeId>>& nodes = nameless_.at(kernel.op);
    if (places.size() == nodes.size()) {
      const auto at = std::lower_bound(places.begin(), places.end(), kernel.index);
      return nodes[static_cast<size_t>(at - places.begin())].second;
    }
    const auto at =
        std::lower_bound(nodes.begin(), nodes.end(), std::pair(kernel.index, NodeId{0}));
    if (at == nodes.end() || at->first != kernel.index) return kNone;
    return at->second;
  }

 private:
  absl::flat_hash_map<absl::string_view, NodeId> by_name_;
  absl::flat_hash_map<absl::string_view, std::vector<std::pair<int64_t, NodeId>>> nameless_;
};

// Separators in the name of a TensorRT layer that represents several nodes: in sequence, or in
// parallel. Pointwise ones are a list: "PWN(/Sigmoid, /Mul)".
constexpr absl::string_view kJoints[] = {" + ", " || "};
constexpr absl::string_view kPointwise = "PWN(";
// A copy of TensorRT's own, which has the name of the layer that it is for.
constexpr absl::string_view kCopy = "Reformatting CopyNode";

class KernelMatcher {
 public:
  KernelMatcher(const ModelData& model, const Profile& profile)
      : model_(model), profile_(profile), matched_(profile.kernels.size()) {}

  std::vector<std::vector<NodeId>> Run() {
    absl::btree_map<int32_t, std::vector<int32_t>> by_parent;  // a parent before its children
    for (size_t i = 0; i < profile_.kernels.size(); ++i) {
      by_parent[profile_.kernels[i].parent].push_back(static_cast<int32_t>(i));
    }
    for (const auto& [parent, kernels] : by_parent) {
      if (parent < 0) {
        MatchIn({0}, kernels);
      } else if (!matched_[static_cast<size_t>(parent)].empty()) {
        MatchIn(BodiesOf(model_.node(matched_[static_cast<size_t>(parent)][0])), kernels);
      }
    }
    return std::move(matched_);
  }

 private:
  // Matches kernels to nodes of these graphs. If several know a kernel, the graph wins that knows
  // most of the kernels.
  void MatchIn(const std::vector<GraphId>& graphs, const std::vector<int32_t>& kernels) {
    std::vector<std::vector<std::vector<NodeId>>> by_graph;
    std::vector<std::pair<int64_t, size_t>> order;
    for (const GraphId graph : graphs) {
      by_graph.push_back(NodesIn(graph, kernels));
      const auto& found = by_graph.back();
      order.emplace_back(std::count_if(found.begin(), found.end(),
                                       [](const auto& nodes) { return nodes.empty(); }),
                         order.size());
    }
    std::sort(order.begin(), order.end());
    for (const auto& [missing, g] : order) {
      for (size_t i = 0; i < kernels.size(); ++i) {
        std::vector<NodeId>& nodes = matched_[static_cast<size_t>(kernels[i])];
        if (nodes.empty()) nodes = by_graph[g][i];
      }
    }
  }

  std::vector<std::vector<NodeId>> NodesIn(GraphId graph, const std::vector<int32_t>& kernels) {
    const auto known = names_.try_emplace(graph, model_, graph).first;
    const GraphNames& names = known->second;
    absl::flat_hash_map<absl::string_view, std::vector<int64_t>> places;
    for (const int32_t k : kernels) {
      const ProfileKernel& kernel = profile_.kernels[static_cast<size_t>(k)];
      if (names.IsNameless(kernel)) places[kernel.op].push_back(kernel.index);
    }
    for (auto& [op, list] : places) std::sort(list.begin(), list.end());
    std::vector<std::vector<NodeId>> found;
    for (const int32_t k : kernels) {
      const ProfileKernel& kernel = profile_.kernels[static_cast<size_t>(k)];
      std::vector<NodeId>& nodes = found.emplace_back();
      if (!kernel.parts.empty()) {
        for (const std::string& part : kernel.parts) {
          if (const OptionalNodeId node = names.Find(part)) nodes.push_back(*node);
        }
      } else if (const OptionalNodeId node = names.Find(kernel.name)) {
        nodes.push_back(*node);
      } else if (names.IsNameless(kernel)) {
        if (const OptionalNodeId one = names.FindNameless(kernel, places[kernel.op])) {
          nodes.push_back(*one);
        }
      } else if (profile_.source != ProfileSource::kOnnxRuntime) {
        FindParts(names, kernel.name, &nodes);
      }
    }
    return found;
  }

  static void FindParts(const GraphNames& names, absl::string_view name,
                        std::vector<NodeId>* nodes) {
    if (absl::StartsWith(name, kCopy)) return;
    for (const absl::string_view joint : kJoints) {
      for (absl::string_view part : absl::StrSplit(name, joint)) {
        while (absl::ConsumePrefix(&part, kPointwise)) absl::ConsumeSuffix(&part, ")");
        for (const absl::string_view one : absl::StrSplit(part, ", ")) {
          if (const OptionalNodeId node = names.Find(one)) nodes->push_back(*node);
        }
      }
      if (!nodes->empty()) return;
    }
  }

  const ModelData& model_;
  const Profile& profile_;
  std::vector<std::vector<NodeId>> matched_;
  absl::flat_hash_map<GraphId, GraphNames> names_;
};

}  // namespace

std::vector<GraphId> BodiesOf(const Node& node) {
  std::vector<GraphId> bodies;
  for (const Attribute& attribute : node.attributes) {
    bodies.insert(bodies.end(), attribute.graphs.begin(), attribute.graphs.end());
  }
  constexpr size_t kMostBodies = 8;  // an If has two
  bodies.resize(std::min(bodies.size(), kMostBodies));
  return bodies;
}

std::vector<std::vector<NodeId>> MatchKernels(const ModelData& model, const Profile& profile) {
  return KernelMatcher(model, profile).Run();
}

}  // namespace onnxflops::profile
