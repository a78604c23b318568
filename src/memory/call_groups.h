// Groups nodes that are one call of PyTorch; tensors inside a group are not saved. The dynamo
// exporter names the calls; in TorchScript files ops/call_patterns.h recognises them.
#ifndef ONNXFLOPS_SRC_MEMORY_CALL_GROUPS_H_
#define ONNXFLOPS_SRC_MEMORY_CALL_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/call_patterns.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"

namespace onnxflops::memory {

class CallGroups {
 public:
  CallGroups(const Inference& inference, const Instance& instance);

  // True if the dynamo exporter wrote the file, so nodes name their calls.
  bool StateCalls() const { return state_calls_; }
  // The group of a node by place; -1 without one. Calls with a contraction are not groups:
  // attention saves inner tensors.
  int32_t Of(size_t place) const { return group_[place]; }
  // Several nodes.
  bool IsJoined(size_t place) const {
    return group_[place] >= 0 && size_[static_cast<size_t>(group_[place])] > 1;
  }
  // The places of a group's nodes; empty for -1.
  absl::Span<const size_t> Members(int32_t group) const {
    if (group < 0) return {};
    return members_[static_cast<size_t>(group)];
  }
  // True if only nodes of one group make and use the value.
  bool IsInner(ValueId value) const { return inner_.contains(value); }
  // The pattern to which the node belongs, or nullptr.
  const CallPattern* PatternOf(size_t place) const;
  // The nodes of its pattern are all that a module runs, by their names.
  bool IsModule(size_t place) const { return found_.at(group_[place]).is_module; }
  // For a pattern: the node of its result, and the value matched as x.
  bool IsLast(size_t place) const;
  ValueId InputOf(size_t place) const;
  ValueId OtherOf(size_t place) const;  // y
  // For Keeps::kRows: a value with an element for every row.
  ValueId RowsOf(size_t place) const;

 private:
  struct Found {
    const CallPattern* pattern = nullptr;
    size_t last = 0;
    ValueId input = 0, other = 0, rows = 0;
    bool is_module = false;
  };
  struct Match;

  void FindReaders();
  void TryPattern(const CallPattern& pattern, size_t last);
  bool MatchValue(absl::string_view text, ValueId value, Match* match) const;
  bool MatchArguments(const std::vector<absl::string_view>& arguments, const Node& node,
                      bool any_order, Match* match) const;
  bool IsClosed(const Match& match, size_t last) const;
  bool IsTaken(const CallPattern& pattern, size_t place) const;
  bool TakesWholeCalls(const Match& match) const;
  bool AreModule(const Match& match) const;
  void FindInner();

  const Inference& in_;
  const ModelData& model_;
  const Graph& graph_;
  absl::flat_hash_map<NodeId, size_t> place_;
  absl::flat_hash_map<ValueId, std::vector<size_t>> readers_;
  absl::btree_set<ValueId> outputs_;
  std::vector<absl::string_view> names_;  // of nodes that are not stored constants, in order
  bool state_calls_ = false;
  std::vector<int32_t> group_;                 // by place
  std::vector<int32_t> size_;                  // by group
  std::vector<std::vector<size_t>> members_;   // by group
  absl::flat_hash_map<int32_t, Found> found_;  // by group
  absl::btree_set<ValueId> inner_;
};

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_CALL_GROUPS_H_
