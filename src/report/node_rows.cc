#include "src/report/node_rows.h"

#include <utility>

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

// Walks the main graph and, depth first, the bodies of its control flow. How deep bodies nest is
// limited by kMaxGraphNesting.
class Describer {
 public:
  Describer(const Inference& inference, const Counts& counts, const ModuleTree& tree)
      : in_(inference), model_(*inference.model), counts_(counts), tree_(tree) {}

  std::vector<NodeRow> Run() {
    std::vector<Frame> stack = {{0, 1, 0}};
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Instance& instance = in_.instance(frame.instance);
      if (frame.next == instance.calls.size()) {
        stack.pop_back();
        continue;
      }
      const size_t i = frame.next++;
      const Expr times = frame.times;
      const NodeId node = model_.graph(instance.graph).nodes[i];
      const bool shape_work = i < instance.shape_work.size() && instance.shape_work[i];
      const CallId call = instance.calls[i];
      Describe(node, call, shape_work, times);
      if (model_.node(node).function || shape_work) continue;
      PushBodies(call, times, &stack);
    }
    return std::move(rows_);
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

  void Describe(NodeId id, CallId call_id, bool shape_work, const Expr& times) {
    const Node& node = model_.node(id);
    const Call& call = in_.call(call_id);
    const CallCost& cost = counts_.calls[static_cast<size_t>(call_id)];
    NodeRow row;
    row.node = id;
    row.name = NodeLabel(model_, node);
    row.op = std::string(node.op_type);
    row.domain = std::string(node.domain);
    row.module = tree_.node_module[static_cast<size_t>(id)];
    row.multiplicity = times;
    const bool whole = node.function.has_value();
    if (shape_work) {
      row.flops = cost.shape_work_flops * times;
      row.macs = cost.macs * times;
    } else {
      row.flops = (whole ? cost.flops : cost.own.Flops()) * times;
      row.macs = (whole ? cost.macs : cost.own.Macs()) * times;
    }
    row.status = cost.coverage;
    if (row.status == Coverage::kCounted && shape_work && cost.macs == Expr(0)) {
      row.status = Coverage::kFree;
    }
    row.inputs = DescribeAll(in_, node.inputs, call.inputs);
    row.outputs = DescribeAll(in_, node.outputs, call.outputs);
    rows_.push_back(std::move(row));
  }

  const Inference& in_;
  const ModelData& model_;
  const Counts& counts_;
  const ModuleTree& tree_;
  std::vector<NodeRow> rows_;
};

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
  return Describer(inference, counts, tree).Run();
}

}  // namespace onnxflops
