// A module that is computed again keeps only the activations that go into it. If only inner tensors
// of a PyTorch call would be saved, its inputs are saved instead.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/btree_set.h"
#include "ops/call_patterns.h"
#include "ops/op_def.h"
#include "src/graph/model.h"
#include "src/memory/saved_walk.h"

namespace onnxflops::memory {

// Recomputed groups save their inputs.
std::vector<bool> SavedWalk::KeepGroups() {
  std::vector<bool> skipped(graph_->nodes.size(), false);
  for (const std::vector<size_t>& group : recomputed_) {
    bool runs_back = false;
    for (size_t i : group) {
      runs_back |= nodes_.needed.contains({0, static_cast<int32_t>(i)});
    }
    if (!runs_back) continue;
    absl::btree_set<ValueId> made;
    for (size_t i : group) {
      skipped[i] = true;
      AddOutputs(i, &made);
    }
    AddMoves(group, &made);
    for (size_t i : group) {
      node_id_ = graph_->nodes[i];
      call_ = &in_.call(instance_->calls[i]);
      KeepInputs(model_.node(graph_->nodes[i]), made);
    }
  }
  return skipped;
}

void SavedWalk::AddOutputs(size_t place, absl::btree_set<ValueId>* made) const {
  for (OptionalValueId value : model_.node(graph_->nodes[place]).outputs) {
    if (value) made->insert(*value);
  }
}

// Exporters leave nodes that only move data without a module. Those that view results of the group
// belong to it.
void SavedWalk::AddMoves(const std::vector<size_t>& group, absl::btree_set<ValueId>* made) const {
  for (size_t i = group.front(); i <= group.back(); ++i) {
    const Node& node = model_.node(graph_->nodes[i]);
    const OpDef* def = in_.call(instance_->calls[i]).def;
    const bool moves =
        def != nullptr && (Has(def->traits, Traits::kView) || Has(def->traits, Traits::kStrided));
    if (moves && node.input(0) && made->contains(*node.input(0))) AddOutputs(i, made);
  }
}

// Floating-point activations from outside.
void SavedWalk::KeepInputs(const Node& node, const absl::btree_set<ValueId>& made) {
  for (size_t i = 0; i < node.inputs.size() && i < call_->inputs.size(); ++i) {
    if (!node.inputs[i] || made.contains(*node.inputs[i])) continue;
    const Fact& fact = in_.fact(call_->inputs[i]);
    if (!fact.is_tensor() || fact.constant || fact.from_shapes || !IsFloat(fact.dtype)) continue;
    if (!model_.value(storages_.Of(*node.inputs[i]).root).initializer) Keep(*node.inputs[i]);
  }
}

// If only inner tensors of a PyTorch call would be saved, its inputs are saved instead.
void SavedWalk::KeepOfDroppedGroups(InstanceId id) {
  for (size_t i = 0; i < graph_->nodes.size(); ++i) {
    kept_here_ = id == 0 ? &facts_.kept[i] : nullptr;
    const auto dropped = dropped_.find(groups_->Of(i));
    if (dropped == dropped_.end() || !dropped->second.first) continue;
    const CallPattern* pattern = groups_->PatternOf(i);
    const bool keeps_inputs = pattern != nullptr && pattern->keeps == CallPattern::Keeps::kInputs;
    if (dropped->second.second && !keeps_inputs) continue;
    node_id_ = graph_->nodes[i];
    call_ = &in_.call(instance_->calls[i]);
    absl::btree_set<ValueId> inner;
    for (OptionalValueId value : model_.node(graph_->nodes[i]).inputs) {
      if (value && groups_->IsInner(*value)) inner.insert(*value);
    }
    KeepInputs(model_.node(graph_->nodes[i]), inner);
  }
}

}  // namespace onnxflops::memory
