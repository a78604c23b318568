#include "src/convention/onnx/onnx_tool_order.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "src/graph/model.h"
#include "src/graph/optional_id.h"

namespace onnxflops::convention {
namespace {

class OnnxToolSorting {
 public:
  OnnxToolSorting(const Evidence& evidence, const std::vector<EntryId>& nodes)
      : evidence_(evidence), nodes_(nodes), waits_for_(nodes.size(), 0), runs_(nodes.size()) {}

  OnnxToolOrder Run() {
    NoteWaiting();
    const auto left_out = waiting_.find(kNone);
    if (left_out == waiting_.end() || left_out->second.empty()) return {nodes_, false};
    std::vector<size_t> ready;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (waits_for_[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      const size_t i = ready.back();
      ready.pop_back();
      runs_[i] = true;
      for (OptionalValueId output : NodeOf(nodes_[i]).outputs) {
        if (!output && std::exchange(has_left_out_, true)) return {nodes_, true};
        for (size_t waiting : waiting_.at(output)) {
          if (--waits_for_[waiting] == 0) ready.push_back(waiting);
        }
      }
    }
    OnnxToolOrder order;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (runs_[i]) order.run.push_back(nodes_[i]);
    }
    return order;
  }

 private:
  const Node& NodeOf(EntryId id) const { return evidence_.node(evidence_.entry(id)); }

  void NoteWaiting() {
    for (EntryId id : nodes_) {
      for (OptionalValueId output : NodeOf(id).outputs) waiting_.try_emplace(output);
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (OptionalValueId input : NodeOf(nodes_[i]).inputs) {
        const auto it = waiting_.find(input);
        if (it == waiting_.end()) continue;
        it->second.push_back(i);
        ++waits_for_[i];
      }
    }
  }

  const Evidence& evidence_;
  const std::vector<EntryId>& nodes_;
  // Nodes by the value that they wait for; kNone stands for an omitted input.
  absl::flat_hash_map<OptionalValueId, std::vector<size_t>> waiting_;
  std::vector<int64_t> waits_for_;  // by place in `nodes_`
  std::vector<bool> runs_;
  bool has_left_out_ = false;  // a node that runs leaves an output out
};

}  // namespace

OnnxToolOrder OrderOfOnnxTool(const Evidence& evidence, const std::vector<EntryId>& nodes) {
  return OnnxToolSorting(evidence, nodes).Run();
}

}  // namespace onnxflops::convention
