#include "src/training/attention_pattern.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "src/base/limits.h"

namespace onnxflops::training {
namespace {

class Finder {
 public:
  Finder(const Inference& inference, InstanceId instance, AttentionPatterns* found)
      : in_(inference),
        model_(*inference.model),
        instance_(inference.instance(instance)),
        found_(*found) {}

  void Run() {
    const std::vector<NodeId>& nodes = model_.graph(instance_.graph).nodes;
    for (size_t i = 0; i < nodes.size(); ++i) call_of_[nodes[i]] = instance_.calls[i];
    for (NodeId node : nodes) {
      if (IsProduct(node) && !found_.by_output.contains(node)) Look(node);
    }
  }

 private:
  const Call* CallOf(NodeId node) const {
    const auto it = call_of_.find(node);
    return it == call_of_.end() ? nullptr : &in_.call(it->second);
  }
  static const Gradient& GradientOf(const Call& call) {
    static constexpr Gradient kNone;
    return call.def == nullptr ? kNone : call.def->gradient;
  }
  const Shape* ShapeOf(absl::Span<const FactId> facts, size_t i) const {
    if (i >= facts.size()) return nullptr;
    const Fact& fact = in_.fact(facts[i]);
    return fact.is_tensor() && fact.shape.ranked() ? &fact.shape : nullptr;
  }

  // A product of two activations, in one step: not one with a weight.
  bool IsProduct(NodeId id) const {
    const Call* call = CallOf(id);
    if (call == nullptr || GradientOf(*call).products != InputBits({0, 1})) return false;
    const Node& node = model_.node(id);
    return node.inputs.size() == 2 && node.inputs[0] && node.inputs[1] &&
           !model_.value(*node.inputs[0]).initializer && !model_.value(*node.inputs[1]).initializer;
  }

  // The node of this graph that makes the i-th input.
  std::optional<NodeId> ProducerOf(NodeId id, size_t i) const {
    const OptionalValueId value = model_.node(id).input(i);
    if (!value || !model_.value(*value).producer) return std::nullopt;
    const NodeId producer = *model_.value(*value).producer;
    return call_of_.contains(producer) ? std::optional<NodeId>(producer) : std::nullopt;
  }

  // True if a chain of this many nodes back from this one may end in a product. The order of nodes
  // does not matter.
  bool LeadsToProduct(NodeId id, int most) {
    if (IsProduct(id)) return true;
    if (most == 0) return false;
    const auto [known, is_new] = leads_.try_emplace({id, most}, false);
    if (!is_new) return known->second;
    bool leads = false;
    for (size_t i : InputsOnChain(id))
      leads = leads || LeadsToProduct(*ProducerOf(id, i), most - 1);
    return leads_[{id, most}] = leads;
  }

  // From a node of the chain to the one before. Of several the first that leads to a product.
  std::optional<size_t> InputOnChain(NodeId id) {
    const absl::InlinedVector<size_t, 2> inputs = InputsOnChain(id);
    for (size_t i : inputs) {
      if (inputs.size() == 1 || LeadsToProduct(*ProducerOf(id, i), kMaxAttentionChain)) return i;
    }
    return std::nullopt;
  }

  // Float inputs of the output's shape that nodes of the graph made.
  absl::InlinedVector<size_t, 2> InputsOnChain(NodeId id) const {
    absl::InlinedVector<size_t, 2> inputs;
    const Call& call = *CallOf(id);
    const Shape* out = ShapeOf(call.outputs, 0);
    if (out == nullptr || model_.node(id).inputs.size() > kMaxAttentionChainInputs) return inputs;
    for (size_t i = 0; i < model_.node(id).inputs.size(); ++i) {
      const Shape* shape = ShapeOf(call.inputs, i);
      if (shape == nullptr || !(*shape == *out) || !ProducerOf(id, i)) continue;
      if (IsFloat(in_.fact(call.inputs[i]).dtype)) inputs.push_back(i);  // no condition
    }
    return inputs;
  }

  void Look(NodeId output) {
    AttentionPattern pattern;
    pattern.output = output;
    bool weighed = false;
    std::optional<NodeId> at = ProducerOf(output, 0);
    for (int i = 0; at && i < kMaxAttentionChain; ++i) {
      if (weighed && IsProduct(*at)) return Add(*at, std::move(pattern));
      if (GradientOf(*CallOf(*at)).weighs_scores) weighed = true;
      const std::optional<size_t> through = InputOnChain(*at);
      if (!through) return;
      pattern.between.push_back(*at);
      const Node& node = model_.node(*at);
      for (size_t j = 0; j < node.inputs.size(); ++j) {
        if (j != *through && node.inputs[j]) pattern.beside.push_back(*node.inputs[j]);
      }
      at = ProducerOf(*at, *through);
    }
  }

  void Add(NodeId scores, AttentionPattern pattern) {
    pattern.scores = scores;
    pattern.scores_call = call_of_.at(scores);
    pattern.output_call = call_of_.at(pattern.output);
    const Shape* query = ShapeOf(in_.call(pattern.scores_call).inputs, 0);
    const Shape* values = ShapeOf(CallOf(pattern.output)->inputs, 1);
    if (query == nullptr || values == nullptr || query->rank() == 0 || values->rank() == 0) return;
    pattern.same_width = ProvablyEqual(query->dims().back(), values->dims().back()).value_or(false);
    const auto index = static_cast<int32_t>(found_.patterns.size());
    if (!found_.by_scores.emplace(scores, index).second) return;
    found_.by_output[pattern.output] = index;
    found_.patterns.push_back(std::move(pattern));
  }

  const Inference& in_;
  const ModelData& model_;
  const Instance& instance_;
  AttentionPatterns& found_;
  absl::flat_hash_map<NodeId, CallId> call_of_;
  absl::flat_hash_map<std::pair<NodeId, int>, bool> leads_;
};

}  // namespace

AttentionPatterns FindAttentionPatterns(const Inference& inference) {
  AttentionPatterns found;
  for (InstanceId id : inference.callees_first) Finder(inference, id, &found).Run();
  return found;
}

}  // namespace onnxflops::training
