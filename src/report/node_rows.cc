#include "src/report/node_rows.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/module/module_tree.h"

namespace onnxflops::report {
namespace {

// What stands around the names of a row, and of a tensor in it.
constexpr size_t kRowFrame = 256;
constexpr size_t kTensorFrame = 64;

// Bytes of an expression's text; of one that takes more than `most`, some number above `most`.
size_t TextOf(const Expr& expr, size_t most) {
  constexpr size_t kDigits = 20;
  return expr.is_literal() ? kDigits : expr.TextBytes(most);
}

size_t TextOf(const TensorInfo& tensor, size_t most) {
  size_t bytes = kTensorFrame + tensor.name.size();
  if (!tensor.shape.ranked()) return bytes;
  for (const Expr& dim : tensor.shape.dims()) {
    if (bytes <= most) bytes += TextOf(dim, most - bytes);
  }
  return bytes;
}

// As many of the values as a row lists; `*omitted` is how many more there are.
std::vector<TensorInfo> List(const Inference& inference, absl::Span<const OptionalValueId> values,
                             absl::Span<const FactId> facts, int64_t* omitted) {
  std::vector<TensorInfo> listed;
  size_t text_left = kMaxRowTensorText;
  const Fact unknown = Fact::Unknown();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    const absl::string_view name = inference.model->value(*values[i]).name;
    if (*omitted > 0 || listed.size() == kMaxRowTensors || name.size() > text_left) {
      ++*omitted;
      continue;
    }
    const Fact& fact = i < facts.size() ? inference.fact(facts[i]) : unknown;
    listed.push_back(DescribeTensor(std::string(name), fact));
    const size_t text = TextOf(listed.back(), text_left);
    if (text <= text_left) {
      text_left -= text;
    } else {
      listed.pop_back();
      ++*omitted;
    }
  }
  return listed;
}

// Bytes of a row's text; of one that takes more than `most`, some number above `most`.
size_t TextOf(const NodeRow& row, const ModuleTree& tree, size_t most) {
  size_t bytes = kRowFrame + row.name.size() + row.op.size() + row.domain.size() +
                 tree.modules[static_cast<size_t>(row.module)].path.size();
  for (const std::vector<TensorInfo>* tensors : {&row.inputs, &row.outputs}) {
    for (const TensorInfo& tensor : *tensors) bytes += TextOf(tensor, kMaxRowTensorText);
  }
  bytes += TextOf(row.multiplicity, most - std::min(bytes, most));
  for (const Quantity& q : kQuantities) {
    if (bytes <= most) bytes += TextOf(row.*q.value, most - bytes);
  }
  return bytes;
}

// One run of a node, or equal ones.
struct NodeRun {
  NodeId node = 0;
  CallId call = 0;
  bool shape_work = false;
  Expr times;
};

// Visits the runs of nodes of the main graph and, depth first, of the bodies of its control flow,
// until `visit` says that it has seen enough. How deep bodies nest is limited by kMaxGraphNesting.
class Walk {
 public:
  Walk(const Inference& inference, const Counts& counts)
      : in_(inference), model_(*inference.model), counts_(counts) {}

  void Run(absl::FunctionRef<bool(const NodeRun&)> visit) {
    std::vector<Frame> stack = {{0, 1, 0}};
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Instance& instance = in_.instance(frame.instance);
      if (frame.next == instance.calls.size()) {
        stack.pop_back();
        continue;
      }
      const size_t i = frame.next++;
      const NodeRun run = {model_.graph(instance.graph).nodes[i], instance.calls[i],
                           i < instance.shape_work.size() && instance.shape_work[i], frame.times};
      if (visit(run)) return;
      if (model_.node(run.node).function || run.shape_work) continue;
      PushBodies(run.call, run.times, &stack);
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
                 const NodeRun& run) {
  NodeRow row = DescribeNodeInside(inference, run.node, run.call);
  const CallCost& cost = counts.calls[static_cast<size_t>(run.call)];
  row.module = tree.node_module[static_cast<size_t>(run.node)];
  row.multiplicity = run.times;
  const bool whole = inference.model->node(run.node).function.has_value();
  if (run.shape_work) {
    row.Add(cost.tally().ShapeWorkAmounts(), run.times);
  } else {
    row.Add((whole ? cost.tally() : cost.own).amounts, run.times);
  }
  row.status = cost.coverage;
  if (row.status == Coverage::kCounted && run.shape_work && cost.tally().amounts.macs == Expr(0)) {
    row.status = Coverage::kFree;
  }
  return row;
}

std::string TypeText(const Fact& fact) {
  switch (fact.kind) {
    case Fact::Kind::kTensor:
      return std::string(DTypeName(fact.dtype));
    case Fact::Kind::kSequence:
    case Fact::Kind::kOptional: {
      const std::string element = fact.element == nullptr ? "?" : TypeText(*fact.element);
      return absl::StrCat(fact.kind == Fact::Kind::kSequence ? "seq(" : "optional(", element, ")");
    }
    case Fact::Kind::kMap:
      return "map";
    case Fact::Kind::kAbsent:
    case Fact::Kind::kUnknown:
      break;
  }
  return "?";
}

}  // namespace

TensorInfo DescribeTensor(std::string name, const Fact& fact) {
  TensorInfo info;
  info.name = std::move(name);
  info.type = TypeText(fact);
  if (fact.is_tensor()) info.shape = fact.shape;
  return info;
}

std::string NodeLabel(const ModelData& model, const Node& node) {
  if (!node.name.empty()) return std::string(node.name);
  for (OptionalValueId output : node.outputs) {
    if (!output) continue;
    const absl::string_view name = model.value(*output).name;
    if (!name.empty()) return std::string(name);
  }
  return std::string(node.op_type);
}

int64_t MaxRowText(const ModelData& model) {
  size_t names = 0;
  for (const Node& node : model.nodes) {
    names += kRowFrame + node.name.size() + node.op_type.size();
    for (absl::Span<const OptionalValueId> values : {node.inputs, node.outputs}) {
      for (OptionalValueId value : values.first(std::min(values.size(), kMaxRowTensors))) {
        if (value) names += kTensorFrame + model.value(*value).name.size();
      }
    }
  }
  return kMaxExtraRowText + kMaxRowTextPerName * static_cast<int64_t>(names);
}

NodeRow DescribeNodeInside(const Inference& inference, NodeId id, CallId call_id) {
  const Node& node = inference.model->node(id);
  const Call& call = inference.call(call_id);
  NodeRow row;
  row.node = id;
  row.name = NodeLabel(*inference.model, node);
  row.op = std::string(node.op_type);
  row.domain = std::string(node.domain);
  row.multiplicity = 1;
  row.inputs = List(inference, node.inputs, call.inputs, &row.inputs_omitted);
  row.outputs = List(inference, node.outputs, call.outputs, &row.outputs_omitted);
  return row;
}

void DescribeNodes(const Inference& inference, const Counts& counts, const ModuleTree& tree,
                   Report* report) {
  int64_t text_left = MaxRowText(*inference.model);
  Walk(inference, counts).Run([&](const NodeRun& run) {
    if (text_left < 0) {
      ++report->nodes_omitted;
      return false;
    }
    report->nodes.push_back(Describe(inference, counts, tree, run));
    text_left -=
        static_cast<int64_t>(TextOf(report->nodes.back(), tree, static_cast<size_t>(text_left)));
    return false;
  });
}

std::optional<DescribedNode> DescribeNode(const Inference& inference, const Counts& counts,
                                          const ModuleTree& tree, NodeId node) {
  std::optional<DescribedNode> found;
  Walk(inference, counts).Run([&](const NodeRun& run) {
    if (run.node != node) return false;
    const bool runs = run.times != Expr(0);
    if (!found.has_value() || runs) {
      found = {Describe(inference, counts, tree, run), run.call, run.shape_work};
    }
    return runs;
  });
  return found;
}

}  // namespace onnxflops::report
