// How it works. ONNX Runtime's optimizer fuses, folds and reorders nodes, but most tensors keep
// their names. Tensors with the same name cut both graphs into pieces, and a piece of the optimised
// graph stands for the same piece of the original. An optimised node whose outputs the model does
// not have belongs to the piece of its readers (union-find). From the tensors that a piece makes,
// the walk goes back through the model up to tensors that other pieces make. Each node is claimed
// once.
//
// Two things need more than names. Nodes in a blocked layout have the tensor's name as their own
// name, with "_nchwc". And a kernel may add a tensor and apply an activation after its product
// while its output keeps the product's name: then it reads a tensor that none of its nodes reads,
// and the readers of that tensor after the product, up to 16 and without MACs, are taken in. Bodies
// of nodes that stand in both graphs are joined the same way.
#include "src/profile/join_graphs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/profile/match_kernels.h"

namespace onnxflops::profile {
namespace {

constexpr absl::string_view kBlockedSuffix = "_nchwc";
// The node that restores the normal layout: its output has the model's name, and its input is the
// same tensor.
constexpr absl::string_view kReorderOutput = "ReorderOutput";
// Most nodes that a kernel may compute after its product: an addition, and an activation of a few
// nodes.
constexpr size_t kMostFollowing = 16;

// A graph of the model and the same graph, optimised.
class PairJoiner {
 public:
  PairJoiner(const ModelData& original, GraphId original_graph, const ModelData& optimized,
             GraphId optimized_graph, absl::FunctionRef<bool(NodeId)> has_macs)
      : original_(original),
        optimized_(optimized),
        nodes_(optimized.graph(optimized_graph).nodes),
        has_macs_(has_macs) {
    for (const NodeId id : original.graph(original_graph).nodes) {
      for (const OptionalValueId value : original.node(id).outputs) {
        if (value) producers_[original.value(*value).name] = id;
      }
      for (const OptionalValueId value : original.node(id).inputs) {
        if (value) consumers_[original.value(*value).name].push_back(id);
      }
    }
    for (const ValueId value : optimized.graph(optimized_graph).initializers) {
      available_.insert(optimized.value(value).name);
    }
    for (const ValueId value : original.graph(original_graph).inputs) {
      available_.insert(original.value(value).name);
    }
  }

  std::vector<JoinedGroup> Run() {
    MakeGroups();
    std::vector<JoinedGroup> groups;
    followed_.resize(groups_.size());
    for (size_t i = 0; i < groups_.size(); ++i) {
      std::vector<NodeId>& nodes = groups_[i];
      JoinedGroup& group = groups.emplace_back();
      Walk(nodes, &group.original);
      TakeWhatFollows(nodes, &group.original, &followed_[i]);
      std::sort(group.original.begin(), group.original.end());
      group.optimized = std::move(nodes);
    }
    return groups;
  }

 private:
  // The model's name for an output of an optimised node, or "".
  absl::string_view TensorOf(NodeId id, size_t output) const {
    const Node& node = optimized_.node(id);
    const OptionalValueId value = node.outputs[output];
    if (!value) return "";
    absl::string_view name = node.name;
    if (output > 0 || !absl::ConsumeSuffix(&name, kBlockedSuffix)) {
      name = optimized_.value(*value).name;
    }
    return producers_.contains(name) ? name : "";
  }

  size_t Root(size_t group) {
    while (parent_[group] != group) group = parent_[group] = parent_[parent_[group]];
    return group;
  }

  // A node whose outputs the model does not have is one group with those that read them.
  void MakeGroups() {
    parent_.resize(nodes_.size());
    std::iota(parent_.begin(), parent_.end(), size_t{0});
    std::vector<bool> known(nodes_.size()), read(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = optimized_.node(nodes_[i]);
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        if (node.outputs[k]) made_[*node.outputs[k]] = {i, k};
        known[i] = known[i] || (node.op_type != kReorderOutput && !TensorOf(nodes_[i], k).empty());
      }
      for (const OptionalValueId value : node.inputs) {
        const auto producer = value ? made_.find(*value) : made_.end();
        if (producer == made_.end()) continue;
        const size_t place = producer->second.first;
        read[place] = true;
        if (!known[place]) parent_[Root(place)] = Root(i);
      }
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (known[i] || read[i]) continue;  // nodes at the end of the graph join their producers
      for (const OptionalValueId value : optimized_.node(nodes_[i]).inputs) {
        const auto producer = value ? made_.find(*value) : made_.end();
        if (producer != made_.end()) parent_[Root(i)] = Root(producer->second.first);
      }
    }
    Collect();
  }

  // Groups are in the order of their last nodes.
  void Collect() {
    absl::flat_hash_map<size_t, size_t> last;
    for (size_t i = 0; i < nodes_.size(); ++i) last[Root(i)] = i;
    absl::flat_hash_map<size_t, size_t> index;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (last[Root(i)] != i) continue;
      index[Root(i)] = groups_.size();
      groups_.emplace_back();
    }
    group_of_.resize(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      group_of_[i] = index[Root(i)];
      groups_[group_of_[i]].push_back(nodes_[i]);
      for (size_t k = 0; k < optimized_.node(nodes_[i]).outputs.size(); ++k) {
        const absl::string_view name = TensorOf(nodes_[i], k);
        if (!name.empty()) available_.insert(name);
      }
    }
  }

  // From the group's tensors backwards, up to tensors that other groups make.
  void Walk(const std::vector<NodeId>& nodes, std::vector<NodeId>* originals) {
    std::vector<NodeId> stack;
    for (const NodeId id : nodes) {
      if (optimized_.node(id).op_type == kReorderOutput) continue;
      for (size_t k = 0; k < optimized_.node(id).outputs.size(); ++k) {
        const absl::string_view name = TensorOf(id, k);
        if (!name.empty()) stack.push_back(producers_.at(name));
      }
    }
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (!claimed_.insert(id).second) continue;
      originals->push_back(id);
      for (const OptionalValueId value : original_.node(id).inputs) {
        if (!value) continue;
        const absl::string_view name = original_.value(*value).name;
        const auto producer = producers_.find(name);
        if (producer != producers_.end() && !available_.contains(name)) {
          stack.push_back(producer->second);
        }
      }
    }
  }

  // A kernel may add another tensor to its product and apply an activation, under the name of the
  // product. It then reads a tensor that none of its nodes reads. Nodes that read this tensor after
  // the product, and make no tensor of another group, belong to the kernel.
  void TakeWhatFollows(const std::vector<NodeId>& nodes, std::vector<NodeId>* originals,
                       std::vector<absl::string_view>* followed) {
    absl::flat_hash_set<absl::string_view> made, read;
    for (const NodeId id : *originals) {
      for (const OptionalValueId value : original_.node(id).inputs) {
        if (value) read.insert(original_.value(*value).name);
      }
      AddOutputs(id, &made);
    }
    const absl::flat_hash_set<absl::string_view> extra = Extra(nodes, made, read);
    if (extra.empty()) return;
    const size_t own = originals->size();
    absl::flat_hash_map<NodeId, int> asked;
    for (size_t i = 0; i < originals->size(); ++i) {
      for (const OptionalValueId value : original_.node((*originals)[i]).outputs) {
        if (!value) continue;
        for (const NodeId reader : consumers_[original_.value(*value).name]) {
          const bool many = originals->size() - own >= kMostFollowing ||
                            ++asked[reader] > static_cast<int>(kMostFollowing);
          if (many || !Follows(reader, extra, made) || !claimed_.insert(reader).second) continue;
          originals->push_back(reader);
          AddOutputs(reader, &made);
        }
      }
    }
    absl::flat_hash_set<absl::string_view> names;
    for (size_t i = own; i < originals->size(); ++i) AddOutputs((*originals)[i], &names);
    followed->assign(names.begin(), names.end());
    std::sort(followed->begin(), followed->end());
    followed->resize(std::min(followed->size(), kMostFollowing));
  }

  void AddOutputs(NodeId id, absl::flat_hash_set<absl::string_view>* names) const {
    for (const OptionalValueId value : original_.node(id).outputs) {
      if (value) names->insert(original_.value(*value).name);
    }
  }

  // Tensors read by the optimised nodes but by none of the model's nodes that they represent.
  absl::flat_hash_set<absl::string_view> Extra(
      const std::vector<NodeId>& nodes, const absl::flat_hash_set<absl::string_view>& made,
      const absl::flat_hash_set<absl::string_view>& read) const {
    absl::flat_hash_set<absl::string_view> extra;
    for (const NodeId id : nodes) {
      for (const OptionalValueId value : optimized_.node(id).inputs) {
        if (!value) continue;
        const std::vector<absl::string_view> names = OriginalNames(*value);
        const bool used = std::any_of(names.begin(), names.end(), [&](absl::string_view name) {
          return made.contains(name) || read.contains(name);
        });
        if (!used) extra.insert(names.begin(), names.end());
      }
    }
    return extra;
  }

  bool Follows(NodeId id, const absl::flat_hash_set<absl::string_view>& extra,
               const absl::flat_hash_set<absl::string_view>& made) const {
    if (has_macs_(id)) return false;
    for (const OptionalValueId value : original_.node(id).outputs) {
      if (value && available_.contains(original_.value(*value).name)) return false;
    }
    for (const OptionalValueId value : original_.node(id).inputs) {
      if (!value) continue;
      const absl::string_view name = original_.value(*value).name;
      if (!extra.contains(name) && !made.contains(name)) return false;
    }
    return true;
  }

  // The model's names for a tensor between two optimised nodes: its own, and those of tensors that
  // the model computes later inside that kernel.
  std::vector<absl::string_view> OriginalNames(ValueId id) const {
    std::vector<absl::string_view> names;
    const auto made = made_.find(id);
    if (made == made_.end()) return names;
    const auto& [place, output] = made->second;
    const absl::string_view name = TensorOf(nodes_[place], output);
    if (!name.empty()) names.push_back(name);
    const std::vector<absl::string_view>& followed = followed_[group_of_[place]];
    names.insert(names.end(), followed.begin(), followed.end());
    return names;
  }

  const ModelData& original_;
  const ModelData& optimized_;
  const std::vector<NodeId>& nodes_;
  const absl::FunctionRef<bool(NodeId)> has_macs_;
  absl::flat_hash_map<absl::string_view, NodeId> producers_;  // of the model's tensors
  absl::flat_hash_map<absl::string_view, std::vector<NodeId>> consumers_;
  absl::flat_hash_set<absl::string_view> available_;  // tensors of the model that others make
  absl::flat_hash_set<NodeId> claimed_;
  // By group: tensors that the model computes after the one that gives the group its name.
  std::vector<std::vector<absl::string_view>> followed_;
  // By optimised value: the place of its producer in nodes_, and which of its outputs it is.
  absl::flat_hash_map<ValueId, std::pair<size_t, size_t>> made_;
  std::vector<size_t> group_of_;  // by place in nodes_: index in groups_
  std::vector<size_t> parent_;    // by place in nodes_
  std::vector<std::vector<NodeId>> groups_;
};

// Pairs the bodies of nodes that exist in both graphs, in order.
void PushBodies(const ModelData& original, const ModelData& optimized, const JoinedGroup& group,
                std::vector<std::pair<GraphId, GraphId>>* pairs) {
  absl::flat_hash_map<absl::string_view, std::deque<NodeId>> of_model;
  for (const NodeId id : group.original) {
    const Node& node = original.node(id);
    if (node.has_graphs) of_model[node.op_type].push_back(id);
  }
  for (const NodeId id : group.optimized) {
    const Node& node = optimized.node(id);
    const auto left = of_model.find(node.op_type);
    if (!node.has_graphs || left == of_model.end() || left->second.empty()) continue;
    const Node& same_node = original.node(left->second.front());
    left->second.pop_front();
    for (const Attribute& attribute : node.attributes) {
      const Attribute* same = same_node.FindAttribute(attribute.name);
      if (same == nullptr || same->graphs.size() != attribute.graphs.size()) continue;
      for (size_t i = 0; i < same->graphs.size(); ++i) {
        pairs->emplace_back(same->graphs[i], attribute.graphs[i]);
      }
    }
  }
}

}  // namespace

std::vector<JoinedGroup> JoinGraphs(const ModelData& original, const ModelData& optimized,
                                    absl::FunctionRef<bool(NodeId)> has_macs) {
  std::vector<JoinedGroup> groups;
  std::vector<std::pair<GraphId, GraphId>> pairs = {{0, 0}};
  for (size_t p = 0; p < pairs.size(); ++p) {
    const auto [of_model, of_optimized] = pairs[p];
    for (JoinedGroup& group :
         PairJoiner(original, of_model, optimized, of_optimized, has_macs).Run()) {
      PushBodies(original, optimized, group, &pairs);
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

}  // namespace onnxflops::profile
