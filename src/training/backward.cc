// How it works. Two walks over the graph follow autograd. The first goes forwards and marks the
// values that need a gradient: those that depend on a trained parameter (or on an input, with
// input_gradients). The second goes backwards from the outputs: a node whose output got a gradient
// pays for its own backward pass (GradientCosts) and passes a gradient to each input that needs
// one. A second gradient of a value is added to the first; these sums are counted with an operator
// of their own.
//
// Bodies of loops and functions are walked in the same way, once per set of needed inputs and
// outputs, and the result is multiplied by the trips. A carried value may need a gradient only from
// the second trip on, so both walks are repeated until nothing changes. Functions see only their
// inputs, so their results are cached; other bodies also see outer values and are walked each time.
//
// Attention written as single operators counts as one flash attention if requested. A node whose
// gradient has no rule is listed as unknown with the reason: the total is then a lower bound.
#include "src/training/backward.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/op_def.h"
#include "src/base/limit_error.h"
#include "src/base/status_macros.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/module/attribution.h"
#include "src/resolve/body_map.h"
#include "src/symbolic/expr_sum.h"
#include "src/symbolic/work.h"
#include "src/training/attention_pattern.h"
#include "src/training/gradient_cost.h"
#include "src/training/recompute.h"
#include "src/training/trained.h"

namespace onnxflops {
namespace training {
namespace {

// Steps of a WorkLimit for visiting a node, and for each of its inputs and outputs.
constexpr size_t kStepsPerNode = 20;
constexpr size_t kStepsPerValue = 2;

using OpName = std::pair<absl::string_view, absl::string_view>;  // domain, operator

struct OpGradient {
  ExprSum nodes, flops, macs;

  void AddTimes(const OpGradient& other, const Expr& times) {
    nodes.Add(other.nodes.Total() * times);
    flops.Add(other.flops.Total() * times);
    macs.Add(other.macs.Total() * times);
  }
};
using GradientsByOp = absl::btree_map<OpName, OpGradient>;

class BackwardWalk {
 public:
  // The backward pass of one run of an instance.
  struct Pass {
    GraphId graph = 0;
    Needed reached;  // by input of the graph: whether it gets a gradient
    // Values captured from enclosing graphs that get a gradient, with their number of elements.
    absl::btree_map<ValueId, std::optional<Expr>> around;
    GradientsByOp by_op;
    GradientsByOp by_giver;  // the same, sums of gradients with the operator that gives the second
    absl::btree_map<NodeId, OpGradient> by_node;
  };

  BackwardWalk(const Inference& inference, const Counts& counts, GradientCosts* costs,
               const AttentionPatterns& patterns, const std::vector<bool>& trained, bool flash)
      : in_(inference),
        model_(*inference.model),
        counts_(counts),
        costs_(*costs),
        patterns_(patterns),
        trained_(trained),
        flash_(flash),
        needs_(model_.values.size(), 0),
        gets_(model_.values.size(), 0),
        graph_of_(GraphsOfValues(model_)) {}

  absl::Status Run(bool input_gradients) {
    const WorkLimit work(MaxSteps(model_, in_.limits));
    work_ = &work;
    const Graph& graph = model_.graph(0);
    Needed inputs(graph.inputs.size(), 0);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Fact* fact = in_.FactOf(graph.inputs[i]);
      inputs[i] = input_gradients && fact != nullptr && MayHaveGradient(*fact) ? 1 : 0;
    }
    main_.assign(graph.nodes.size(), NodeBackward::kNone);
    const Needed outputs = Forward(0, inputs);
    main_pass_ = TakeBack(0, inputs, outputs);
    if (!work.exceeded()) return absl::OkStatus();
    return LimitError("steps-per-node", absl::StrCat("the backward pass takes more than ",
                                                     MaxSteps(model_, in_.limits),
                                                     " steps of arithmetic (steps-per-node)"));
  }

  const Pass& main_pass() const { return main_pass_; }
  const std::vector<NodeBackward>& main() const { return main_; }
  const absl::btree_map<NodeId, std::string>& unknown() const { return unknown_; }
  int64_t attentions() const { return static_cast<int64_t>(attention_.size()); }
  NeededGradients TakeNodes() { return {std::move(node_needs_), flash_used_}; }
  int64_t flash() const { return static_cast<int64_t>(flash_used_.size()); }

 private:
  static bool MayHaveGradient(const Fact& fact) {
    return !fact.is_tensor() || fact.dtype == DType::kUndefined || IsFloat(fact.dtype);
  }
  char& Needs(ValueId value) { return needs_[static_cast<size_t>(value)]; }
  char& Gets(ValueId value) { return gets_[static_cast<size_t>(value)]; }
  bool NeedsInput(OptionalValueId value) {
    return value && (Needs(*value) != 0 || trained_[static_cast<size_t>(*value)]);
  }

  Needed NeededInputs(const Node& node, const Call& call) {
    Needed needed(node.inputs.size(), 0);
    for (size_t i = 0; i < needed.size(); ++i) {
      const bool float_input = i >= call.inputs.size() || MayHaveGradient(in_.fact(call.inputs[i]));
      const bool type_only = i == 1 && call.def != nullptr && Has(call.def->traits, Traits::kCasts);
      needed[i] = float_input && !type_only && NeedsInput(node.inputs[i]) ? 1 : 0;
    }
    DropDetached(node, &needed);
    return needed;
  }

  // Drops the input that the PyTorch call takes through a detach(). The exporter removed the
  // detach, so this is the only input that the call lists under another name.
  void DropDetached(const Node& node, Needed* needed) const {
    const auto text = exporter::NodeMetadata(node.metadata).fx_node;
    if (!text || !exporter::NamesDetached(*text)) return;
    const std::vector<absl::string_view> list = exporter::FxNames(*text);
    const absl::flat_hash_set<absl::string_view> names(list.begin(), list.end());
    std::optional<size_t> detached;
    for (size_t i = 0; i < needed->size(); ++i) {
      if (!node.inputs[i] || model_.value(*node.inputs[i]).initializer) continue;
      if (names.contains(model_.value(*node.inputs[i]).name)) continue;
      if (detached) return;
      detached = i;
    }
    if (detached) (*needed)[*detached] = 0;
  }

  static bool Any(const Needed& needed) { return needed.find('\1') != Needed::npos; }

  // ---- Which values need a gradient

  // Marks the values of an instance, and returns which outputs need a gradient.
  Needed Forward(InstanceId id, const Needed& inputs) {
    const Instance& instance = in_.instance(id);
    const Graph& graph = model_.graph(instance.graph);
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      Needs(graph.inputs[i]) = i < inputs.size() ? inputs[i] : 0;
    }
    for (size_t i = 0; i < graph.nodes.size() && !work_->exceeded(); ++i) {
      const Node& node = model_.node(graph.nodes[i]);
      SpendSteps(kStepsPerNode + kStepsPerValue * (node.inputs.size() + node.outputs.size()));
      const bool free = !instance.shape_work.empty() && instance.shape_work[i];
      if (!free) NoteQuantization(graph.nodes[i], in_.call(instance.calls[i]));
      const Needed outputs = free ? Needed() : NeededOutputs(node, instance.calls[i]);
      for (size_t j = 0; j < node.outputs.size(); ++j) {
        if (node.outputs[j]) Needs(*node.outputs[j]) = j < outputs.size() ? outputs[j] : 0;
      }
    }
    return OutputsOf(graph);
  }

  Needed OutputsOf(const Graph& graph) {
    Needed outputs(graph.outputs.size(), 0);
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = NeedsInput(graph.outputs[i]) ? 1 : 0;
    }
    return outputs;
  }

  // Rounding to integers has no gradient, but fake-quantization training passes one through. The
  // file does not tell which was meant, so it is unknown.
  void NoteQuantization(NodeId id, const Call& call) {
    const Node& node = model_.node(id);
    const bool quantizes = call.def != nullptr && absl::StrContains(node.op_type, "QuantizeLinear");
    if (!quantizes || !Any(NeededInputs(node, call))) return;
    unknown_.emplace(
        id, "it has no gradient; of training with fake quantization, count the float model");
  }

  Needed NeededOutputs(const Node& node, CallId id) {
    const Call& call = in_.call(id);
    Needed outputs(node.outputs.size(), 0);
    if (!call.bodies.empty()) {
      outputs = OutputsOfBodies(node, call);
    } else if (call.def == nullptr || !Has(call.def->traits, Traits::kShapeOnly)) {
      if (Any(NeededInputs(node, call))) outputs.assign(outputs.size(), 1);
    }
    for (size_t j = 0; j < outputs.size() && j < call.outputs.size(); ++j) {
      if (!MayHaveGradient(in_.fact(call.outputs[j]))) outputs[j] = 0;
    }
    return outputs;
  }

  // Which inputs of a body need a gradient (carried values after any number of trips), and which
  // outputs then do.
  struct BodyNeeds {
    Needed inputs, outputs;
  };
  BodyNeeds NeedsOfBody(const Node& node, const Call& call, const BodyRun& run) {
    const Graph& body = model_.graph(in_.instance(run.instance).graph);
    const resolve::BodyMap map = resolve::BodyMapOf(node, call.def, call.opset, body);
    BodyNeeds needs{Needed(body.inputs.size(), 0), {}};
    const Needed given = NeededInputs(node, call);
    for (size_t i = 0; map.takes_inputs && i < needs.inputs.size(); ++i) {
      const size_t from = i + static_cast<size_t>(map.first_input);
      if (from < given.size()) needs.inputs[i] = given[from];
    }
    if (map.on_scores && !needs.inputs.empty() && given.size() > 1) {
      needs.inputs[0] = given[0] != 0 || given[1] != 0 ? 1 : 0;
    }
    for (bool changed = true; changed && !work_->exceeded();) {
      needs.outputs = ForwardOfBody(node, run.instance, needs.inputs);
      changed = false;
      for (size_t i = 0; i < map.carried; ++i) {
        const size_t out = map.carried_out + i, in = map.carried_in + i;
        if (out >= needs.outputs.size() || in >= needs.inputs.size()) break;
        if (needs.outputs[out] == 0 || needs.inputs[in] != 0) continue;
        needs.inputs[in] = 1;
        changed = true;
      }
    }
    return needs;
  }

  // A function sees only its inputs, so its result for the same needs is remembered.
  Needed ForwardOfBody(const Node& node, InstanceId id, const Needed& inputs) {
    if (!node.function) return Forward(id, inputs);
    const auto known = forward_.find({id, inputs});
    if (known != forward_.end()) return known->second;
    Needed outputs = Forward(id, inputs);
    forward_.emplace(std::pair(id, inputs), outputs);
    return outputs;
  }

  Needed OutputsOfBodies(const Node& node, const Call& call) {
    Needed outputs(node.outputs.size(), 0);
    for (const BodyRun& run : call.bodies) {
      const resolve::BodyMap map = resolve::BodyMapOf(
          node, call.def, call.opset, model_.graph(in_.instance(run.instance).graph));
      const BodyNeeds needs = NeedsOfBody(node, call, run);
      for (size_t j = 0; j < outputs.size(); ++j) {
        const size_t from = j + static_cast<size_t>(map.first_output);
        if (from < needs.outputs.size() && needs.outputs[from] != 0) outputs[j] = 1;
      }
      if (map.on_scores && Any(NeededInputs(node, call))) outputs.assign(outputs.size(), 1);
    }
    return outputs;
  }

  // ---- The gradients

  // REQUIRES: Forward() has marked the instance's values last.
  Pass TakeBack(InstanceId id, const Needed& inputs, const Needed& outputs) {
    const Instance& instance = in_.instance(id);
    const Graph& graph = model_.graph(instance.graph);
    Pass pass;
    pass.graph = instance.graph;
    for (NodeId node : graph.nodes) {
      for (OptionalValueId value : model_.node(node).outputs) {
        if (value) Gets(*value) = 0;
      }
    }
    for (ValueId value : graph.inputs) Gets(value) = 0;
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      if (i >= outputs.size() || outputs[i] == 0) continue;
      Hand(graph.outputs[i], ElementsOf(in_.FactOf(graph.outputs[i])), &pass);
    }
    for (size_t i = graph.nodes.size(); i-- > 0 && !work_->exceeded();) {
      const Node& node = model_.node(graph.nodes[i]);
      SpendSteps(kStepsPerNode + kStepsPerValue * (node.inputs.size() + node.outputs.size()));
      if (!instance.shape_work.empty() && instance.shape_work[i]) continue;
      if (GotGradient(node)) TakeNode(id, i, &pass);
    }
    pass.reached.assign(inputs.size(), 0);
    for (size_t i = 0; i < inputs.size() && i < graph.inputs.size(); ++i) {
      pass.reached[i] = inputs[i] != 0 ? Gets(graph.inputs[i]) : 0;
    }
    return pass;
  }

  bool GotGradient(const Node& node) {
    for (OptionalValueId value : node.outputs) {
      if (value && Gets(*value) != 0 && Needs(*value) != 0) return true;
    }
    return false;
  }

  void TakeNode(InstanceId instance, size_t i, Pass* pass) {
    const CallId id = in_.instance(instance).calls[i];
    const Call& call = in_.call(id);
    const NodeId node_id = model_.graph(in_.instance(instance).graph).nodes[i];
    const Node& node = model_.node(node_id);
    NodeBackward what = NodeBackward::kReads;
    if (!call.bodies.empty()) TakeBodies(node_id, id, pass);
    if (call.bodies.empty() || HasOwnGradient(call)) {
      const Needed needed = NeededInputs(node, call);
      const Needed of_rule = needed + ModifiersNeed(node, call);
      if (!Any(of_rule)) return;
      Record(instance, i, needed);
      if (call.def != nullptr && !GradientCosts::Saves(*call.def)) what = NodeBackward::kRuns;
      AddGradient(node_id, id, of_rule, pass);
      GiveGradient(node_id, call, needed, pass);
    }
    if (instance == 0) main_[i] = what;
  }

  // True if the node has a gradient of its own in addition to those of its bodies, which are then
  // modifiers.
  static bool HasOwnGradient(const Call& call) {
    return call.def != nullptr && call.def->control_flow == ControlFlow::kNone;
  }

  // For the gradient rule, the modifiers are one more input after the others. They need a gradient
  // even if only a captured value needs one.
  Needed ModifiersNeed(const Node& node, const Call& call) {
    bool any = false;
    for (const BodyRun& run : call.bodies) any |= Any(NeedsOfBody(node, call, run).outputs);
    return any ? Needed(1, '\1') : Needed();
  }

  // A body may be walked several times: the record is the union of all walks.
  void Record(InstanceId instance, size_t place, const Needed& needed) {
    Needed& known = node_needs_[{instance, static_cast<int32_t>(place)}];
    known.resize(needed.size(), 0);
    for (size_t i = 0; i < needed.size(); ++i) known[i] = known[i] != 0 || needed[i] != 0 ? 1 : 0;
  }

  static std::optional<Expr> ElementsOf(const Fact* fact) {
    if (fact == nullptr || !fact->is_tensor() || !fact->shape.ranked()) return std::nullopt;
    return fact->shape.NumElements();
  }

  bool IsAround(ValueId value, const Pass& pass) const {
    return pass.graph != 0 && graph_of_[static_cast<size_t>(value)] != pass.graph;
  }

  // Passes a gradient to the value. Returns true if it already has one, to which this one is added.
  bool Hand(ValueId value, const std::optional<Expr>& elements, Pass* pass) {
    if (IsAround(value, *pass)) return !pass->around.try_emplace(value, elements).second;
    return std::exchange(Gets(value), 1) != 0;
  }

  void GiveGradient(NodeId id, const Call& call, const Needed& needed, Pass* pass) {
    const Node& node = model_.node(id);
    for (size_t i = 0; i < needed.size(); ++i) {
      if (needed[i] == 0) continue;
      const auto tie = in_.ties.find(*node.inputs[i]);
      const ValueId value = tie == in_.ties.end() ? *node.inputs[i] : tie->second;
      const Fact* fact = i < call.inputs.size() ? &in_.fact(call.inputs[i]) : nullptr;
      if (Hand(value, ElementsOf(fact), pass)) AddSums(id, ElementsOf(fact), 1, pass);
    }
  }

  void AddSums(NodeId id, const std::optional<Expr>& elements, const Expr& times, Pass* pass) {
    if (!elements || times == Expr(0)) return;
    const Node& node = model_.node(id);
    const Expr flops = *elements * times;
    OpGradient& sums = pass->by_op[OpName()];
    sums.nodes.Add(times);
    sums.flops.Add(flops);
    pass->by_node[id].flops.Add(flops);
    pass->by_giver[{node.domain, node.op_type}].flops.Add(flops);
  }

  void AddGradient(NodeId node, CallId id, const Needed& needed, Pass* pass) {
    const Call& call = in_.call(id);
    if (call.def == nullptr) {
      unknown_.emplace(node, "its operator is not known");
      return;
    }
    const absl::StatusOr<Census>& gradient = costs_.Of(id, needed);
    if (!gradient.ok()) {
      unknown_.emplace(node, std::string(gradient.status().message()));
      return;
    }
    OpGradient& sums = pass->by_op[{model_.node(node).domain, model_.node(node).op_type}];
    sums.nodes.Add(1);
    Expr macs = (*gradient)[Kind::kMac], other = gradient->Other();
    AddFlash(node, id, &macs, &other);
    sums.macs.Add(macs);
    sums.flops.Add(2 * macs + other);
    for (OpGradient* own :
         {&pass->by_node[node],
          &pass->by_giver[{model_.node(node).domain, model_.node(node).op_type}]}) {
      own->macs.Add(macs);
      own->flops.Add(2 * macs + other);
    }
  }

  // Counts the backward pass of attention written as products like that of one operator: see
  // SdpaGradient of ops/parts.h. Its five products are counted with the last one.
  void AddFlash(NodeId node, CallId id, Expr* macs, Expr* other) {
    if (IsAttentionOperator(id)) {
      attention_.insert(node);
      if (flash_) flash_used_.insert(node);
      return;
    }
    const auto output = patterns_.by_output.find(node);
    const auto scores = patterns_.by_scores.find(node);
    if (output != patterns_.by_output.end()) {
      attention_.insert(node);
      const AttentionPattern& pattern = patterns_.patterns[static_cast<size_t>(output->second)];
      if (!TakesFlash(pattern)) return;
      flash_used_.insert(node);
      const Expr& with_k = MacsOf(pattern.scores_call);
      *macs = 3 * with_k + 2 * MacsOf(id);
      const Fact& made = in_.fact(in_.call(pattern.scores_call).outputs[0]);
      *other += 2 * made.shape.NumElements();  // e^(S - L)
    } else if (scores != patterns_.by_scores.end() &&
               TakesFlash(patterns_.patterns[static_cast<size_t>(scores->second)])) {
      *macs = 0;
    }
  }

  const Expr& MacsOf(CallId id) const { return counts_.cost(id).own().flops[Kind::kMac]; }

  bool IsAttentionOperator(CallId id) const {
    const Call& call = in_.call(id);
    return call.def->gradient.rule != nullptr && call.def->gradient.weighs_scores;
  }

  // Flash attention gives no gradient to masks and scales: not used if one needs it.
  bool TakesFlash(const AttentionPattern& pattern) {
    if (!flash_ || !pattern.same_width) return false;
    for (ValueId value : pattern.beside) {
      if (NeedsInput(value)) return false;
    }
    return true;
  }

  // ---- Bodies

  // A captured value that the bodies of a node give a gradient.
  struct Around {
    std::optional<Expr> elements;
    Expr times;  // how often
  };

  // Each trip gives the captured value a gradient, and all but the first are added. Only one branch
  // of an If runs, so branches add nothing to each other.
  void GiveAround(NodeId id, const Call& call, const absl::btree_map<ValueId, Around>& around,
                  Pass* pass) {
    const bool branches = call.def != nullptr && call.def->control_flow == ControlFlow::kIf;
    for (const auto& [value, of] : around) {
      const Expr times = call.growing.has_value() ? call.growing->count : of.times;
      const bool added = Hand(value, of.elements, pass);
      AddSums(id, of.elements, added ? times : branches ? Expr(0) : Max(times, 1) - 1, pass);
    }
  }

  void TakeBodies(NodeId node_id, CallId id, Pass* pass) {
    const Node& node = model_.node(node_id);
    const Call& call = in_.call(id);
    const std::vector<Expr>& times = counts_.cost(id).body_times;
    Needed reached(node.inputs.size(), 0);
    absl::btree_map<ValueId, Around> around;
    for (size_t b = 0; b < call.bodies.size(); ++b) {
      const resolve::BodyMap map = resolve::BodyMapOf(
          node, call.def, call.opset, model_.graph(in_.instance(call.bodies[b].instance).graph));
      const std::shared_ptr<const Pass> inside = TakeBody(node, call, call.bodies[b], map);
      for (size_t i = 0; map.takes_inputs && i < inside->reached.size(); ++i) {
        const size_t to = i + static_cast<size_t>(map.first_input);
        if (to < reached.size() && inside->reached[i] != 0) reached[to] = 1;
      }
      if (b >= times.size() || times[b] == Expr(0)) continue;
      for (const auto& [value, elements] : inside->around) {
        around.try_emplace(value, Around{elements, 0}).first->second.times += times[b];
      }
      for (const auto& [op, sums] : inside->by_op) pass->by_op[op].AddTimes(sums, times[b]);
      for (const auto& [op, sums] : inside->by_giver) pass->by_giver[op].AddTimes(sums, times[b]);
      for (const auto& [inner, sums] : inside->by_node) {
        pass->by_node[node.function ? node_id : inner].AddTimes(sums, times[b]);
      }
    }
    GiveAround(node_id, call, around, pass);
    const Needed given = NeededInputs(node, call);
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i] == 0) reached[i] = 0;
    }
    GiveGradient(node_id, call, reached, pass);
  }

  // Walks the body back from each output that gets a gradient from the node's outputs or, if it is
  // carried, from a later trip: repeated until no output is added.
  std::shared_ptr<const Pass> TakeBody(const Node& node, const Call& call, const BodyRun& run,
                                       const resolve::BodyMap& map) {
    const BodyNeeds needs = NeedsOfBody(node, call, run);
    Needed outputs(needs.outputs.size(), 0);
    for (size_t j = 0; j < node.outputs.size(); ++j) {
      const size_t to = j + static_cast<size_t>(map.first_output);
      if (to >= outputs.size() || !node.outputs[j] || Gets(*node.outputs[j]) == 0) continue;
      outputs[to] = needs.outputs[to];
    }
    while (true) {
      std::shared_ptr<const Pass> pass = PassOf(node, run.instance, needs.inputs, outputs);
      bool changed = false;
      for (size_t i = 0; i < map.carried; ++i) {
        const size_t out = map.carried_out + i, in = map.carried_in + i;
        if (out >= outputs.size() || in >= pass->reached.size()) break;
        if (pass->reached[in] == 0 || outputs[out] != 0 || needs.outputs[out] == 0) continue;
        outputs[out] = 1;
        changed = true;
      }
      if (!changed || work_->exceeded()) return pass;
    }
  }

  std::shared_ptr<const Pass> PassOf(const Node& node, InstanceId id, const Needed& inputs,
                                     const Needed& outputs) {
    if (!node.function) {
      Forward(id, inputs);
      return std::make_shared<const Pass>(TakeBack(id, inputs, outputs));
    }
    std::shared_ptr<const Pass>& known = passes_[{id, inputs + outputs}];
    if (known != nullptr) return known;
    Forward(id, inputs);
    auto pass = std::make_shared<const Pass>(TakeBack(id, inputs, outputs));
    return passes_[{id, inputs + outputs}] = std::move(pass);
  }

  const Inference& in_;
  const ModelData& model_;
  const Counts& counts_;
  GradientCosts& costs_;
  const AttentionPatterns& patterns_;
  const std::vector<bool>& trained_;
  const bool flash_;
  const WorkLimit* work_ = nullptr;
  std::vector<char> needs_, gets_;  // by ValueId
  const std::vector<OptionalGraphId> graph_of_;
  std::vector<NodeBackward> main_;  // by place in the main graph
  Pass main_pass_;
  absl::btree_map<NodeId, std::string> unknown_;
  absl::flat_hash_set<NodeId> attention_, flash_used_;
  absl::flat_hash_map<std::pair<InstanceId, int32_t>, std::string> node_needs_;
  absl::flat_hash_map<std::pair<InstanceId, Needed>, Needed> forward_;  // of functions
  absl::flat_hash_map<std::pair<InstanceId, Needed>, std::shared_ptr<const Pass>> passes_;
};

void Describe(const ModelData& model, const BackwardWalk& walk, Backward* result) {
  ExprSum flops, macs;
  for (const auto& [op, sums] : walk.main_pass().by_op) {
    BackwardOp row{std::string(op.second), std::string(op.first), sums.nodes.Total(),
                   sums.flops.Total(), sums.macs.Total()};
    flops.Add(row.flops);
    macs.Add(row.macs);
    if (row.flops != Expr(0)) result->by_op.push_back(std::move(row));
  }
  for (const auto& [op, sums] : walk.main_pass().by_giver) {
    result->by_giver.push_back({std::string(op.second), std::string(op.first), sums.nodes.Total(),
                                sums.flops.Total(), sums.macs.Total()});
  }
  for (const auto& [node, sums] : walk.main_pass().by_node) {
    result->by_node.push_back({node, sums.flops.Total(), sums.macs.Total()});
  }
  result->flops = flops.Total();
  result->macs = macs.Total();
  for (const auto& [id, reason] : walk.unknown()) {
    const Node& node = model.node(id);
    result->unknown.push_back({id, node.op_type, node.domain, reason});
  }
  result->attentions = walk.attentions();
  result->flash = walk.flash();
}

}  // namespace
}  // namespace training

absl::StatusOr<Backward> CountBackward(const Inference& inference, const Counts& counts,
                                       CausalCounting causal, const TrainingOptions& options) {
  const modules::Attribution attribution =
      modules::AttributeNodes(inference, counts, modules::ExecutionFilter::kAll);
  ASSIGN_OR_RETURN(const training::TrainedParameters trained,
                   training::FindTrained(*inference.model, attribution, inference.ties, options));
  const training::AttentionPatterns patterns = training::FindAttentionPatterns(inference);
  const bool flash = options.attention == AttentionBackward::kFlash;
  training::GradientCosts costs(inference, counts, causal, flash);
  training::BackwardWalk walk(inference, counts, &costs, patterns, trained.gradient, flash);
  RETURN_IF_ERROR(walk.Run(options.input_gradients));
  Backward result;
  training::Describe(*inference.model, walk, &result);
  result.nodes = walk.TakeNodes();
  ASSIGN_OR_RETURN(const training::Recomputed recomputed,
                   training::CountRecomputed(inference, counts, attribution, patterns, walk.main(),
                                             options.recompute));
  result.recomputed_flops = recomputed.flops;
  result.recomputed_macs = recomputed.macs;
  result.warnings = trained.warnings;
  result.trained_params = trained.elements;
  result.params = trained.all_elements;
  result.optimizer_flops = Expr(trained.elements) * InfoOf(options.optimizer).operations;
  for (const Expr* e : {&result.flops, &result.macs, &result.recomputed_flops}) {
    if (const char* error = e->error()) {
      return LimitError(LimitOf(error), absl::StrCat("the cost of the backward pass ", error));
    }
  }
  return result;
}

}  // namespace onnxflops
