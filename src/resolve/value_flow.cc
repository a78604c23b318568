// How it works. Finds the stored tensors from which a value is made. First every value that depends
// on the model's inputs or on random numbers is marked: a walk from the inputs along nodes, calls
// and bodies. All other values are computed from stored tensors only. For these, flows are listed:
// an output was moved from an input (a view, a cast, a selection), computed from it, or passed to a
// function.
//
// Shapes, masks and numbers are not part of the data on which they act, so such inputs make no
// flow. In w = (q - zero_point) * scale only the integers q are the weight. The flows are sorted by
// their target, so that users can go from a use back to the tensors.
#include "src/resolve/value_flow.h"

#include <algorithm>
#include <utility>

#include "src/base/limits.h"
#include "src/graph/dtype.h"
#include "src/resolve/body_map.h"
#include "src/resolve/operator_rows.h"

namespace onnxflops::resolve {

namespace {

constexpr int kMaxWeightBits = 8;  // of a quantised weight

// Inputs of which only the type is read.
uint32_t TypeInputs(const OpDef& def) {
  return Has(def.traits, Traits::kCasts) ? InputBits({1}) : 0;
}

// Sorts by a value, stably. Returns the start of each value's items, and the end.
template <typename T>
std::vector<size_t> SortBy(size_t values, ValueId T::*by, std::vector<T>* items) {
  std::vector<size_t> first(values + 1, 0);
  for (const T& item : *items) ++first[static_cast<size_t>(item.*by) + 1];
  for (size_t v = 0; v < values; ++v) first[v + 1] += first[v];
  std::vector<size_t> next(first.begin(), first.end() - 1);
  std::vector<T> sorted(items->size());
  for (const T& item : *items) sorted[next[static_cast<size_t>(item.*by)]++] = item;
  items->swap(sorted);
  return first;
}

}  // namespace

// Finds the values that depend on the model's inputs or on chance: all that can be reached from
// these.
class ValueFlow::VariesFinder {
 public:
  // `links`: how calls and bodies hand values on.
  VariesFinder(const ValueFlow& flow, const std::vector<Flow>& links)
      : flow_(flow), model_(flow.model_), varies_(model_.values.size(), false) {
    std::vector<bool> is_linked(model_.values.size(), false);
    for (const Flow& link : links) {
      steps_.push_back({link.from, link.to, false});
      is_linked[static_cast<size_t>(link.to)] = true;
    }
    for (size_t n = 0; n < model_.nodes.size(); ++n) AddNode(static_cast<NodeId>(n));
    first_ = SortBy(model_.values.size(), &Step::from, &steps_);
    for (const Graph& graph : model_.graphs) {
      if (graph.function && !graph.parent_node) continue;  // inputs that no call gives do not exist
      for (const ValueId input : graph.inputs) {
        if (!is_linked[static_cast<size_t>(input)] && !model_.value(input).initializer) Mark(input);
      }
    }
  }

  std::vector<bool> Run() {
    while (!open_.empty()) {
      const ValueId value = open_.back();
      open_.pop_back();
      const auto v = static_cast<size_t>(value);
      for (size_t i = first_[v]; i < first_[v + 1]; ++i) {
        const Step* step = &steps_[i];
        if (step->to_node) {
          MarkOutputs(model_.node(step->to));
        } else {
          Mark(step->to);
        }
      }
    }
    return std::move(varies_);
  }

 private:
  struct Step {
    ValueId from = 0;
    int32_t to = 0;  // a value, or a node and so its outputs
    bool to_node = false;
  };

  void AddNode(NodeId id) {
    const Node& node = model_.node(id);
    const OpDef* def = flow_.DefOf(node);
    if (def != nullptr && Has(def->traits, Traits::kRandom)) MarkOutputs(node);
    const bool is_linked =
        node.function || (def != nullptr && def->control_flow != ControlFlow::kNone);
    if (is_linked || (def != nullptr && Has(def->traits, Traits::kShapeOnly))) return;
    const uint32_t shapes = def == nullptr ? 0 : def->shape_inputs | TypeInputs(*def);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i] || (i < 32 && (shapes >> i & 1) != 0)) continue;
      steps_.push_back({*node.inputs[i], id, true});
    }
  }

  void Mark(ValueId value) {
    if (varies_[static_cast<size_t>(value)]) return;
    varies_[static_cast<size_t>(value)] = true;
    open_.push_back(value);
  }

  void MarkOutputs(const Node& node) {
    // Outputs are marked together, so a marked one means that all are.
    for (const OptionalValueId output : node.outputs) {
      if (!output) continue;
      if (varies_[static_cast<size_t>(*output)]) return;
      Mark(*output);
    }
  }

  const ValueFlow& flow_;
  const ModelData& model_;
  std::vector<Step> steps_;    // by `from`
  std::vector<size_t> first_;  // by ValueId: of steps_
  std::vector<bool> varies_;
  std::vector<ValueId> open_;
};

ValueFlow::ValueFlow(const ModelData& model)
    : model_(model), defs_(model.nodes.size(), nullptr), read_(model.values.size(), false) {
  const Operators operators;
  RowFinder rows(operators);
  for (size_t n = 0; n < model.nodes.size(); ++n) {
    const Node& node = model.nodes[n];
    const auto id = static_cast<NodeId>(n);
    if (!node.function) defs_[n] = rows.Find(node.domain, node.op_type, kMaxOpset).def;
    for (const OptionalValueId input : node.inputs) {
      if (input) read_[static_cast<size_t>(*input)] = true;
    }
    if (node.function) {
      LinkCall(node, id);
    } else if (node.has_graphs) {
      LinkBodies(node, id, DefOf(node));
    }
  }
  varies_ = VariesFinder(*this, flows_).Run();
  flows_.erase(std::remove_if(flows_.begin(), flows_.end(),
                              [&](const Flow& flow) {
                                return flow.kind != Flow::Kind::kGiven && Varies(flow.to);
                              }),
               flows_.end());
  FindMade();
  for (size_t g = 0; g < model.graphs.size(); ++g) AddFlows(model.graphs[g].nodes);
  first_ = SortBy(model.values.size(), &Flow::to, &flows_);
}

absl::Span<const Flow> ValueFlow::Into(ValueId value) const {
  const auto v = static_cast<size_t>(value);
  return absl::MakeConstSpan(flows_).subspan(first_[v], first_[v + 1] - first_[v]);
}

ValueFlow::Passing ValueFlow::MovedBy(const Node& node) const {
  const Passing passing = PassingOf(DefOf(node));
  const auto is_read = [&](OptionalValueId v) { return v && read_[static_cast<size_t>(*v)]; };
  if (!passing.moves || !IsLive(node, passing)) return {};
  const bool leads_on = std::any_of(node.outputs.begin(), node.outputs.end(), is_read);
  return leads_on ? passing : Passing();
}

ValueFlow::Passing ValueFlow::PassingOf(const OpDef* def) {
  constexpr Traits kNothingPasses =
      Traits::kShapeOnly | Traits::kStored | Traits::kUnknown | Traits::kRandom;
  if (def == nullptr || def->control_flow != ControlFlow::kNone) return {};
  if ((static_cast<uint32_t>(def->traits) & static_cast<uint32_t>(kNothingPasses)) != 0) return {};
  if (!def->IsFree() && def->gradient.formula == nullptr) return {};
  Passing passing;
  passing.any = true;
  passing.moves = def->IsFree() || Has(def->traits, Traits::kStrided);
  passing.not_inputs =
      def->shape_inputs | TypeInputs(*def) | def->operands.weights | def->operands.not_parameters;
  return passing;
}

// True if the node's output is a constant when the inputs taken are. Inside a function, which may
// be given weights or activations, this holds only for a moving node with one such input.
bool ValueFlow::IsLive(const Node& node, const Passing& passing) const {
  if (!node.output(0)) return false;
  if (!Varies(*node.output(0))) return true;
  if (!passing.moves || !model_.graph(node.graph).function) return false;
  size_t taken = 0;
  for (size_t i = 0; i < node.inputs.size() && taken < 2; ++i) {
    taken += node.inputs[i] && passing.Takes(i) ? 1 : 0;
  }
  return taken == 1;
}

// ---- calls and bodies

void ValueFlow::Link(OptionalValueId from, OptionalValueId to, Flow::Kind kind, NodeId id) {
  if (from && to) flows_.push_back({*from, *to, kind, id});
}

void ValueFlow::LinkCall(const Node& node, NodeId id) {
  const Graph& body = model_.graph(model_.function(*node.function).body);
  for (size_t i = 0; i < node.inputs.size() && i < body.inputs.size(); ++i) {
    Link(node.inputs[i], body.inputs[i], Flow::Kind::kGiven, id);
  }
  for (size_t j = 0; j < node.outputs.size() && j < body.outputs.size(); ++j) {
    Link(body.outputs[j], node.outputs[j], Flow::Kind::kMoved, id);
  }
}

void ValueFlow::LinkBodies(const Node& node, NodeId id, const OpDef* def) {
  if (def == nullptr || def->control_flow == ControlFlow::kNone) return;
  for (const Attribute& attribute : node.attributes) {
    for (const GraphId graph : attribute.graphs) LinkBody(node, id, def, model_.graph(graph));
  }
}

void ValueFlow::LinkBody(const Node& node, NodeId id, const OpDef* def, const Graph& body) {
  const int64_t opset = node.opset > 0 ? node.opset : model_.OpsetOf(node.domain).value_or(1);
  const BodyMap map = BodyMapOf(node, def, opset, body);
  constexpr Flow::Kind kMoved = Flow::Kind::kMoved;
  // The body's inputs before the carried ones (a Loop's trip number and condition) carry no data.
  for (size_t i = map.carried_in; map.takes_inputs && i < body.inputs.size(); ++i) {
    Link(node.input(i + static_cast<size_t>(map.first_input)), body.inputs[i], kMoved, id);
  }
  for (size_t i = 0; i < map.carried; ++i) {
    const size_t out = map.carried_out + i, in = map.carried_in + i;
    if (out >= body.outputs.size() || in >= body.inputs.size()) break;
    Link(body.outputs[out], body.inputs[in], kMoved, id);
  }
  for (size_t j = 0; j < node.outputs.size(); ++j) {
    const size_t from = j + static_cast<size_t>(map.first_output);
    if (from < body.outputs.size()) Link(body.outputs[from], node.outputs[j], kMoved, id);
  }
}

// ---- operators

void ValueFlow::FindMade() {
  made_.resize(model_.values.size());
  for (size_t v = 0; v < model_.values.size(); ++v) {
    const OptionalTensorId stored = model_.values[v].initializer;
    if (!stored) continue;
    const Tensor& tensor = model_.tensor(*stored);
    made_[v].of_integers =
        IsInteger(tensor.dtype) && BitsPerElement(tensor.dtype) <= kMaxWeightBits;
    made_[v].elements = tensor.elements;
  }
}

ValueFlow::Made ValueFlow::JoinMade(const Node& node, const Passing& passing) const {
  Made joined;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i] || !passing.Takes(i)) continue;
    const Made& made = MadeOf(*node.inputs[i]);
    if (joined.of_integers && !made.of_integers) continue;
    const bool first_integers = made.of_integers && !joined.of_integers;
    joined.of_integers = made.of_integers;
    joined.elements = first_integers ? made.elements : std::max(joined.elements, made.elements);
  }
  return joined;
}

void ValueFlow::AddFlows(const std::vector<NodeId>& nodes) {
  for (const NodeId id : nodes) AddFlowsOf(model_.node(id), id);
}

// Where integers are computed with, as w = (q - zero_point) * scale, the largest are the weight.
void ValueFlow::AddFlowsOf(const Node& node, NodeId id) {
  const Passing passing = PassingOf(DefOf(node));
  if (!passing.any || !IsLive(node, passing)) return;
  const Made made = JoinMade(node, passing);
  MadeOf(*node.output(0)) = made;
  const bool is_quantized = !passing.moves && made.of_integers;
  size_t taken = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i] || !passing.Takes(i)) continue;
    const Made& input = MadeOf(*node.inputs[i]);
    if (is_quantized && (!input.of_integers || input.elements < made.elements)) continue;
    // A single number among others, as in Where, is not part of the result.
    const bool is_number = input.elements == 1 && made.elements > 1;
    const bool moves = passing.moves && !is_number;
    const Flow::Kind kind = moves ? Flow::Kind::kMoved : Flow::Kind::kComputed;
    // The outputs of a Split are parts of the first input.
    const size_t outputs = ++taken == 1 ? node.outputs.size() : 1;
    for (size_t j = 0; j < outputs; ++j) Link(node.inputs[i], node.outputs[j], kind, id);
  }
}

}  // namespace onnxflops::resolve
