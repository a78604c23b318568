#include "src/report/node_rows.h"

#include <utility>

#include "absl/functional/function_ref.h"

namespace onnxflops {
namespace {

std::vector<TensorInfo> DescribeAll(const Inference& inference,
                                    absl::Span<const OptionalValueId> values,
                                    absl::Span<const FactId> facts) {
  std::vector<TensorInfo> result;
  result.reserve(values.size());
  const Fact unknown = Fact::Unknown();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    const Fact& fact = i < facts.size() ? inference.fact(facts[i]) : unknown;
    const absl::string_view name = inference.model->value(*values[i]).name;
    result.push_back(DescribeTensor(std::string(name), fact));
  }
  return result;
}

// One execution of a node.
struct Execution {
  NodeId node = 0;
  CallId call = 0;
  bool shape_work = false;
  Expr times;
};

// Visits the executions of the main graph and, depth first, of the bodies of its control flow,
// until `visit` says that it has seen enough. How deep bodies nest is limited by kMaxGraphNesting.
class Walk {
 public:
  Walk(const Inference& inference, const Counts& counts)
      : in_(inference), model_(*inference.model), counts_(counts) {}

  void Run(absl::FunctionRef<bool(const Execution&)> visit) {
    std::vector<Frame> stack = {{0, 1, 0}};
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Instance& instance = in_.instance(frame.instance);
      if (frame.next == instance.calls.size()) {
        stack.pop_back();
        continue;
      }
      const size_t i = frame.next++;
      const Execution execution = {model_.graph(instance.graph).nodes[i], instance.calls[i],
                                   i < instance.shape_work.size() && instance.shape_work[i],
                                   frame.times};
      if (visit(execution)) return;
      if (model_.node(execution.node).function || execution.shape_work) continue;
      PushBodies(execution.call, execution.times, &stack);
    }
  }

 private:
  struct Frame {
    InstanceId instance;
    Expr times;
    size_t next;
  };

  void PushBodies(CallId id, const Expr& times, std::vector<Frame>* stack) {
    const Call& call = in_.call(id);
    const CallCost& cost = counts_.calls[static_cast<size_t>(id)];
    for (size_t b = call.bodies.size(); b-- > 0;) {
      stack->push_back({call.bodies[b].instance, times * cost.body_times[b], 0});
    }
  }

  const Inference& in_;
  const ModelData& model_;
  const Counts& counts_;
};

NodeRow Describe(const Inference& inference, const Counts& counts, const ModuleTree& tree,
                 const Execution& execution) {
  NodeRow row = DescribeNodeInside(inference, execution.node, execution.call);
  const CallCost& cost = counts.calls[static_cast<size_t>(execution.call)];
  row.module = tree.node_module[static_cast<size_t>(execution.node)];
  row.multiplicity = execution.times;
  const bool whole = inference.model->node(execution.node).function.has_value();
  if (execution.shape_work) {
    row.flops = cost.tally().ShapeWorkFlops() * execution.times;
    row.macs = cost.macs * execution.times;
  } else {
    row.flops = (whole ? cost.flops : cost.own_flops) * execution.times;
    row.macs = (whole ? cost.macs : cost.own_macs) * execution.times;
  }
  row.status = cost.coverage;
  if (row.status == Coverage::kCounted && execution.shape_work && cost.macs == Expr(0)) {
    row.status = Coverage::kFree;
  }
  return row;
}

}  // namespace

NodeRow DescribeNodeInside(const Inference& inference, NodeId id, CallId call_id) {
  const Node& node = inference.model->node(id);
  const Call& call = inference.call(call_id);
  NodeRow row;
  row.node = id;
  row.name = NodeLabel(*inference.model, node);
  row.op = std::string(node.op_type);
  row.domain = std::string(node.domain);
  row.multiplicity = 1;
  row.inputs = DescribeAll(inference, node.inputs, call.inputs);
  row.outputs = DescribeAll(inference, node.outputs, call.outputs);
  return row;
}

std::vector<NodeRow> DescribeNodes(const Inference& inference, const Counts& counts,
                                   const ModuleTree& tree) {
  std::vector<NodeRow> rows;
  Walk(inference, counts).Run([&](const Execution& execution) {
    rows.push_back(Describe(inference, counts, tree, execution));
    return false;
  });
  return rows;
}

std::optional<DescribedNode> DescribeNode(const Inference& inference, const Counts& counts,
                                          const ModuleTree& tree, NodeId node) {
  std::optional<DescribedNode> found;
  Walk(inference, counts).Run([&](const Execution& execution) {
    if (execution.node != node) return false;
    const bool runs = execution.times != Expr(0);
    if (!found.has_value() || runs) {
      found = {Describe(inference, counts, tree, execution), execution.call, execution.shape_work};
    }
    return runs;
  });
  return found;
}

}  // namespace onnxflops
