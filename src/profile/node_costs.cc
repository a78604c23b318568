#include "src/profile/node_costs.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/types/span.h"
#include "src/base/limits.h"

namespace onnxflops::profile {
namespace {

struct Visit {
  InstanceId instance;
  Expr times;
};

class CostCollector {
 public:
  CostCollector(const Inference& inference, const Counts& counts)
      : in_(inference), model_(*inference.model), counts_(counts), costs_(model_.nodes.size()) {}

  std::vector<NodeCost> Run() {
    // The limit of visits for a file of this size: unrolled loops have a body per trip.
    int64_t left =
        kMaxExtraEvaluations + kMaxEvaluationsPerNode * static_cast<int64_t>(model_.nodes.size());
    std::vector<Visit> stack = {{0, 1}};
    while (!stack.empty() && left > 0) {
      const Visit visit = std::move(stack.back());
      stack.pop_back();
      const Instance& instance = in_.instance(visit.instance);
      const std::vector<NodeId>& nodes = model_.graph(instance.graph).nodes;
      for (size_t i = 0; i < instance.calls.size() && left-- > 0; ++i) {
        const bool shape_work = i < instance.shape_work.size() && instance.shape_work[i];
        Add(nodes[i], instance.calls[i], shape_work, visit.times);
        if (!model_.node(nodes[i]).function && !shape_work) {
          PushBodies(instance.calls[i], visit.times, &stack);
        }
      }
    }
    return std::move(costs_);
  }

 private:
  void Add(NodeId id, CallId call_id, bool shape_work, const Expr& times) {
    const CallCost& cost = counts_.cost(call_id);
    const bool whole = model_.node(id).function.has_value();
    const Tally& tally = whole ? cost.tally() : cost.own();
    const Amounts amounts = shape_work ? cost.tally().ShapeWorkAmounts() : tally.amounts;
    NodeCost& node = costs_[static_cast<size_t>(id)];
    if (!node.visited) {
      node.once = amounts;
      for (const FactId fact : in_.call(call_id).outputs) {
        const Fact& known = in_.fact(fact);
        node.outputs.push_back(known.is_tensor() ? known.shape : Shape::UnknownRank());
      }
    }
    node.varies = node.varies || (node.visited && !(node.once == amounts));
    node.unknown = node.unknown || cost.coverage == Coverage::kUnknown || tally.lower_bound;
    node.visited = true;
    node.times += times;
    node.counted.Add(amounts, times);
  }

  // In a loop of growing sizes the first body does not count, and the others represent all trips.
  void PushBodies(CallId call_id, const Expr& times, std::vector<Visit>* stack) const {
    const Call& call = in_.call(call_id);
    const CallCost& cost = counts_.cost(call_id);
    for (size_t b = call.bodies.size(); b-- > 0;) {
      if (b == 0 && call.growing.has_value()) continue;
      stack->push_back({call.bodies[b].instance, times * cost.body_times[b]});
    }
  }

  const Inference& in_;
  const ModelData& model_;
  const Counts& counts_;
  std::vector<NodeCost> costs_;
};

}  // namespace

std::vector<NodeCost> CostsOfNodes(const Inference& inference, const Counts& counts) {
  return CostCollector(inference, counts).Run();
}

}  // namespace onnxflops::profile
