// How it works. A walk visits every node of the main graph and, depth first, of the bodies of
// control flow, each with the product of the trips around it. Functions are one row. In a loop
// whose sizes grow from trip to trip, the row shows a trip of any number, while its amounts are the
// sum over sample trips with their weights (infer/loop.cc); if the samples run other bodies, their
// rows are listed apart.
//
// Rows may become much larger than the model: names are repeated and formulas are long. So text is
// measured before it is kept, tensors per row are limited, and after a limit that depends on the
// names in the model further nodes are only counted as omitted.
#include "src/report/node_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/module/module_tree.h"

namespace onnxflops::report {
namespace {

// Bytes that a row, and a tensor in it, take in addition to their names.
constexpr size_t kRowFrame = 256;
constexpr size_t kTensorFrame = 64;

// Bytes of an expression's text; if they exceed `most`, some number above `most`.
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

// The first values, as many as a row lists; `*omitted` is the number of the others.
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

// Bytes of a row's text; if they exceed `most`, some number above `most`.
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
  // In a loop whose sizes change from trip to trip, `call` is a general trip. The amounts are sums
  // over these samples, each with its weight.
  std::vector<std::pair<CallId, Expr>> samples = {};
};

// Visits the runs of nodes of the main graph and, depth first, of the bodies of its control flow,
// until `visit` says that it has seen enough. How deep bodies nest is limited by kMaxGraphNesting.
class Walk {
 public:
  Walk(const Inference& inference, const Counts& counts)
      : in_(inference), model_(*inference.model), counts_(counts) {}

  void Run(absl::FunctionRef<bool(const NodeRun&)> visit) {
    std::vector<Frame> stack = {{0, 1, 0, {}}};
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Instance& instance = in_.instance(frame.instance);
      if (frame.next == instance.calls.size()) {
        stack.pop_back();
        continue;
      }
      const size_t i = frame.next++;
      NodeRun run = {model_.graph(instance.graph).nodes[i], instance.calls[i],
                     i < instance.shape_work.size() && instance.shape_work[i], frame.times};
      for (const auto& [sample, times] : frame.samples) {
        run.samples.emplace_back(in_.instance(sample).calls[i], times);
      }
      if (visit(run)) return;
      if (model_.node(run.node).function || run.shape_work) continue;
      PushBodies(run, &stack);
    }
  }

 private:
  struct Frame {
    InstanceId instance;
    Expr times;
    size_t next;
    std::vector<std::pair<InstanceId, Expr>> samples;  // as of a NodeRun
  };

  using Samples = std::vector<std::pair<CallId, Expr>>;

  // Adds the instances that `body` of each sample runs, each once, with the sum of their weights.
  void AddSamples(const Samples& samples, size_t body, Frame* frame) const {
    absl::flat_hash_map<InstanceId, size_t> places;
    for (size_t i = 0; i < frame->samples.size(); ++i) places[frame->samples[i].first] = i;
    for (const auto& [id, times] : samples) {
      const InstanceId instance = in_.call(id).bodies[body].instance;
      const Expr runs = times * counts_.cost(id).body_times[body];
      frame->times += runs;
      const auto [place, is_new] = places.try_emplace(instance, frame->samples.size());
      if (is_new) {
        frame->samples.emplace_back(instance, runs);
      } else {
        frame->samples[place->second].second += runs;
      }
    }
  }

  // True if the samples run the same bodies as `call`, at other sizes.
  bool RunAlike(const Call& call, const Samples& samples) const {
    return std::all_of(samples.begin(), samples.end(), [&](const auto& sample) {
      const Call& other = in_.call(sample.first);
      return other.bodies.size() == call.bodies.size() &&
             other.growing.has_value() == call.growing.has_value();
    });
  }

  void PushBodies(const NodeRun& run, std::vector<Frame>* stack) const {
    const Call& call = in_.call(run.call);
    Samples samples = run.samples;
    if (samples.empty() && call.growing.has_value()) samples = {{run.call, run.times}};
    if (samples.empty()) {
      const CallCost& cost = counts_.cost(run.call);
      for (size_t b = call.bodies.size(); b-- > 0;) {
        stack->push_back({call.bodies[b].instance, run.times * cost.body_times[b], 0, {}});
      }
      return;
    }
    if (!RunAlike(call, samples)) {
      // The trips run different nodes, so each sample has its own rows.
      for (size_t i = samples.size(); i-- > 0;) {
        PushBodies({run.node, samples[i].first, false, samples[i].second, {}}, stack);
      }
      return;
    }
    for (size_t shown = call.shown_bodies().size(); shown-- > 0;) {
      Frame frame = {call.bodies[shown].instance, 0, 0, {}};
      const size_t end = call.growing.has_value() ? call.bodies.size() : shown + 1;
      for (size_t b = call.growing.has_value() ? 1 : shown; b < end; ++b) {
        AddSamples(samples, b, &frame);
      }
      stack->push_back(std::move(frame));
    }
  }

  const Inference& in_;
  const ModelData& model_;
  const Counts& counts_;
};

NodeRow Describe(const Inference& inference, const Counts& counts, const ModuleTree& tree,
                 const NodeRun& run) {
  NodeRow row = DescribeNodeInside(inference, run.node, run.call);
  const CallCost& cost = counts.cost(run.call);
  row.module = tree.node_module[static_cast<size_t>(run.node)];
  row.multiplicity = run.times;
  const bool whole = inference.model->node(run.node).function.has_value();
  const auto add = [&](CallId call, const Expr& times) {
    const CallCost& one = counts.cost(call);
    row.Add(
        run.shape_work ? one.tally().ShapeWorkAmounts() : (whole ? one.tally() : one.own()).amounts,
        times);
  };
  if (run.samples.empty()) add(run.call, run.times);
  for (const auto& [call, times] : run.samples) add(call, times);
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
  absl::flat_hash_map<NodeId, NodeWeights> weights;
  for (const NodeWeights& of : tree.node_weights) {
    NodeWeights& sum = weights[of.node];
    sum.elements += of.elements;
    sum.bytes += of.bytes;
  }
  Walk(inference, counts).Run([&](const NodeRun& run) {
    if (text_left < 0) {
      ++report->nodes_omitted;
      return false;
    }
    NodeRow& row = report->nodes.emplace_back(Describe(inference, counts, tree, run));
    if (const auto it = weights.find(run.node); it != weights.end()) {
      row.weights = it->second.elements;
      row.weight_bytes = it->second.bytes;
      weights.erase(it);
    }
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
