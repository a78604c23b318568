// How it works. Every node of every run is given a module and recorded as an execution: (module,
// call, part of the cost, how often). A queue holds the graphs to walk: the main graph first, then
// bodies of loops and functions with the product of their trips. Opening a body costs visits of a
// budget. A call that exceeds the budget stays closed: all its work then belongs to the module of
// the call, and a warning names it.
//
// The module of a node is the first known one of these: the exporter's metadata; the node's name or
// that of its output; the weight that it reads; the enclosing module. A call of a function that the
// exporter made from a module is that module; its weights identify it better than the node's own
// name. Nodes inside a function have the names of only one of its calls, so such a name counts only
// if it lies below the module of this call. A node that unpacks a weight belongs to the module that
// reads the weight.
//
// The facts of a single node are found once and stored, since a function is walked once per call.
#include "src/module/attribution.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "src/base/limits.h"
#include "src/exporter/exporter.h"
#include "src/exporter/module_scope.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/node_name.h"
#include "src/exporter/tensor_name.h"
#include "src/symbolic/term_count.h"

namespace onnxflops::modules {
namespace {

// Names of the weights passed to a function's formal inputs in one call.
using ActualNames = absl::flat_hash_map<ValueId, absl::string_view>;

// A run of an instance that is to be walked.
struct Visit {
  InstanceId instance = 0;
  int32_t times = 0;            // index into Attribution::times
  ModuleId base = kRootModule;  // of nodes that nothing else attributes
  bool in_function = false;
  std::shared_ptr<const ActualNames> actual;  // inside a function, or nullptr
  OptionalInlinedCallId caller;               // of the node that runs it
};

size_t MaxModules(const ModelData& model) {
  return static_cast<size_t>(kMaxExtraModules) +
         static_cast<size_t>(kMaxModulesPerNode) * (model.nodes.size() + model.tensors.size());
}

std::vector<absl::string_view> InitializerNames(const ModelData& model) {
  std::vector<absl::string_view> names;
  for (const Graph& graph : model.graphs) {
    for (ValueId id : graph.initializers) names.push_back(model.value(id).name);
  }
  return names;
}

class Walk {
 public:
  Walk(const Inference& inference, const Counts& counts, ExecutionFilter filter)
      : in_(inference),
        model_(*inference.model),
        counts_(counts),
        filter_(filter),
        out_(InitializerNames(model_), !exporter::NamesModules(model_), MaxModules(model_)) {}

  Attribution Run() {
    out_.node_module.assign(model_.nodes.size(), kNone);
    nodes_.resize(model_.nodes.size());
    is_weight_.assign(model_.values.size(), kNotAsked);
    FindFormalInputs();
    FindInlinedModules();
    FindReaders();
    FindWork();
    queue_.push_back({});
    budget_ = Budget();
    while (!queue_.empty()) {
      const Visit visit = std::move(queue_.front());
      queue_.pop_front();
      WalkInstance(visit);
    }
    Resize(out_.paths.size());
    return std::move(out_);
  }

 private:
  int64_t Budget() const {
    const auto nodes = static_cast<int64_t>(model_.nodes.size());
    const int64_t visits = nodes * in_.limits.module_visits_per_node + kMaxExtraModuleVisits;
    if (filter_ != ExecutionFilter::kAll) return visits;
    return std::min(
        visits, nodes * (in_.limits.module_visits_per_node / kVisitsPerEntry) + kMaxExtraEntries);
  }

  void FindFormalInputs() {
    is_formal_.assign(model_.values.size(), false);
    for (const Function& function : model_.functions) {
      for (ValueId id : model_.graph(function.body).inputs) {
        is_formal_[static_cast<size_t>(id)] = true;
      }
    }
  }

  void FindReaders() {
    reader_.assign(model_.values.size(), kNone);
    for (size_t n = model_.nodes.size(); n-- > 0;) {
      for (OptionalValueId value : model_.node(static_cast<NodeId>(n)).inputs) {
        if (value) reader_[static_cast<size_t>(*value)] = static_cast<NodeId>(n);
      }
    }
  }

  // Finds whether (call, part) has a cost or is unknown.
  void FindWork() {
    has_work_.assign(in_.calls.size() * kNumCostParts, 0);
    for (size_t c = 0; c < counts_.calls.size(); ++c) {
      const CallCost& cost = counts_.calls[c];
      const auto set = [&](CostPart part, bool work) {
        has_work_[c * kNumCostParts + static_cast<size_t>(part)] = work ? 1 : 0;
      };
      const Tally& all = cost.tally();
      const bool any = all.lower_bound || !all.amounts.IsZero();
      set(CostPart::kWhole, any);
      set(CostPart::kShapeWork, any);
      set(CostPart::kOwn, cost.own().lower_bound || !cost.own().amounts.IsZero());
    }
  }

  void WalkInstance(const Visit& visit) {
    const Instance& instance = in_.instance(visit.instance);
    const Graph& graph = model_.graph(instance.graph);
    const absl::Span<const CallId> calls = instance.calls;
    auto mark = instance.shape_work.begin();
    for (size_t i = 0; i < calls.size(); ++i) {
      const CallId call = calls[i];
      const NodeId id = graph.nodes[i];
      const bool shape_work = mark != instance.shape_work.end() && *mark++;
      const bool opens =
          !shape_work && !in_.call(call).bodies.empty() && CanOpen(call, id, visit.times);
      const CostPart part = shape_work ? CostPart::kShapeWork
                            : opens    ? CostPart::kOwn
                                       : CostPart::kWhole;
      const bool unpacks = UnpacksWeight(call);
      const ModuleId module = unpacks ? ModuleOfReader(id, visit) : ModuleAt(id, visit);
      const int32_t work = call * kNumCostParts + static_cast<int32_t>(part);
      CountNode(id, module, unpacks || Ask(id).is_alias);
      if (filter_ == ExecutionFilter::kAll || has_work_[static_cast<size_t>(work)] != 0) {
        out_.executions.push_back({module, work, visit.times, id});
      }
      if (opens) Open(visit, call, id, module);
    }
  }

  bool UnpacksWeight(CallId id) const {
    const Call& call = in_.call(id);
    return !call.outputs.empty() && in_.fact(call.outputs[0]).is_dequantised_weight();
  }

  // The module of a node that only prepares a weight: its own, or that of the node that reads the
  // weight.
  ModuleId ModuleOfReader(NodeId id, const Visit& visit) {
    ModuleId module = ModuleAt(id, visit);
    for (int step = 0; step < kMaxStepsToReader; ++step) {
      const Node& node = model_.node(id);
      if (module != At(node.caller, visit).base) break;
      const OptionalValueId output = node.output(0);
      const OptionalNodeId reader = output ? reader_[static_cast<size_t>(*output)] : kNone;
      if (!reader || model_.node(*reader).graph != node.graph) break;
      id = *reader;
      module = ModuleAt(id, visit);
    }
    return module;
  }

  // Counts the node in its module. `apart`: the node does not show when the module runs.
  void CountNode(NodeId id, ModuleId module, bool apart) {
    if (static_cast<size_t>(module) >= out_.nodes.size()) Resize(2 * out_.paths.size());
    ++out_.nodes[static_cast<size_t>(module)];
    int64_t& first = out_.first[static_cast<size_t>(module)];
    first = std::min(first, position_++ + (apart ? kAfterAll : 0));
    OptionalModuleId& known = out_.node_module[static_cast<size_t>(id)];
    if (!known) known = module;
  }

  void Resize(size_t modules) {
    out_.nodes.resize(modules, 0);
    out_.first.resize(modules, std::numeric_limits<int64_t>::max());
  }

  // True if the bodies of a call may be walked; takes the visits from the budget.
  bool CanOpen(CallId id, NodeId node, int32_t times) {
    const Call& call = in_.call(id);
    // Names of weights are handed on for every input.
    auto visits = static_cast<int64_t>(call.inputs.size());
    for (const BodyRun& run : call.bodies) visits += VisitsOf(in_.instance(run.instance).graph);
    if (visits > budget_) {
      return LeaveClosed(
          node, absl::StrCat("module-visits-per-node = ", in_.limits.module_visits_per_node));
    }
    for (const Expr& inner : counts_.cost(id).body_times) {
      if (Times(times, inner).has_value()) continue;
      return LeaveClosed(
          node, absl::StrCat("extra-terms = ", kMaxExtraTerms, ", of how often bodies run"));
    }
    budget_ -= visits;
    return true;
  }

  bool LeaveClosed(NodeId node, std::string limit) {
    if (out_.not_opened) return false;
    out_.not_opened = node;
    out_.not_opened_limit = std::move(limit);
    return false;
  }

  // The cost of walking a graph: a visit per node, and more for nodes with many inputs.
  int64_t VisitsOf(GraphId id) {
    constexpr int64_t kInputsPerVisit = 16;
    const auto [it, is_new] = visits_of_.try_emplace(id, 0);
    if (is_new) {
      for (NodeId node : model_.graph(id).nodes) {
        it->second += 1 + static_cast<int64_t>(model_.node(node).inputs.size()) / kInputsPerVisit;
      }
    }
    return it->second;
  }

  void Open(const Visit& visit, CallId id, NodeId node, ModuleId module) {
    const Call& call = in_.call(id);
    const CallCost& cost = counts_.cost(id);
    const bool function = model_.node(node).function.has_value();
    std::shared_ptr<const ActualNames> actual = visit.actual;
    if (function) actual = NamesInside(visit, node);
    for (size_t b = 0; b < call.bodies.size(); ++b) {
      if (cost.body_times[b] == Expr(0)) continue;
      queue_.push_back({call.bodies[b].instance, *Times(visit.times, cost.body_times[b]), module,
                        visit.in_function || function, actual, model_.node(node).caller});
    }
  }

  // nullopt if the product overflows, or all products together have too many terms.
  std::optional<int32_t> Times(int32_t outer, const Expr& inner) {
    if (inner == Expr(1)) return outer;
    const auto [it, is_new] = times_.try_emplace({outer, inner}, std::nullopt);
    if (!is_new) return it->second;
    const Expr& before = out_.times[static_cast<size_t>(outer)];
    times_terms_ += TermsOfProduct(before, inner);
    if (times_terms_ > kMaxExtraTerms) return std::nullopt;
    Expr times = before * inner;
    if (times.error() != nullptr) return std::nullopt;
    out_.times.push_back(std::move(times));
    it->second = static_cast<int32_t>(out_.times.size() - 1);
    return it->second;
  }

  // The name of a weight, which names its module; empty if the value is not a weight.
  absl::string_view WeightName(OptionalValueId value, const Visit& visit) {
    if (!value) return {};
    if (model_.value(*value).initializer) {
      const absl::string_view name = model_.value(*value).name;
      int8_t& known = is_weight_[static_cast<size_t>(*value)];
      if (known == kNotAsked) known = IsParameterPath(name) ? 1 : 0;
      return known == 1 ? name : absl::string_view();
    }
    if (visit.actual == nullptr) return {};
    const auto it = visit.actual->find(*value);
    return it == visit.actual->end() ? absl::string_view() : it->second;
  }

  std::shared_ptr<const ActualNames> NamesInside(const Visit& visit, NodeId id) {
    std::shared_ptr<ActualNames> names;  // most calls hand no weight on
    const Node& node = model_.node(id);
    const Function& function = model_.function(*node.function);
    const Graph& body = model_.graph(function.body);
    for (size_t i = 0; i < node.inputs.size() && i < body.inputs.size(); ++i) {
      const absl::string_view name = WeightName(node.inputs[i], visit);
      if (name.empty()) continue;
      if (names == nullptr) names = std::make_shared<ActualNames>();
      names->emplace(body.inputs[i], name);
    }
    return names;
  }

  // Facts of a single node, kept because a function is walked once per call.
  struct Known {
    bool asked = false;
    bool fused = false;      // a convolution or product that took a BatchNorm in
    bool is_module = false;  // a call of a function that the exporter made of a module
    bool is_alias = false;   // passes a parameter on: does not show when its module runs
    OptionalModuleId by_metadata, by_name;
    int32_t first_weight = 0, weights = 0;  // in weights_
  };

  const Known& Ask(NodeId id) {
    const Node& node = model_.node(id);
    return Ask(node, IsOfTheFile(node.function), &nodes_[static_cast<size_t>(id)]);
  }

  const Known& Ask(const Node& node, bool is_call, Known* asked) {
    Known& known = *asked;
    if (known.asked) return known;
    known.asked = true;
    if (!node.metadata.empty()) {
      const exporter::NodeMetadata metadata(node.metadata);
      known.by_metadata = out_.paths.FromMetadata(metadata);
      known.fused = known.by_metadata && node.inputs.size() > 1 && metadata.IsFusedBatchNorm();
      if (known.by_metadata) return known;
    }
    known.by_name = ModuleByName(node);
    if (const absl::string_view name = exporter::SharedParameterName(model_, node);
        IsParameterPath(name)) {
      known.by_name = out_.paths.FromWeight(name);
      known.is_alias = true;
    }
    if (is_call) {
      known.is_module = !exporter::IsOnnxscriptFunction(node.domain);
    } else if (!known.by_name) {
      known.first_weight = static_cast<int32_t>(weights_.size());
      FindWeights(node);
      known.weights = static_cast<int32_t>(weights_.size()) - known.first_weight;
    }
    return known;
  }

  // Adds the inputs that may be weights, in order, each once, up to the first initializer that is
  // one.
  void FindWeights(const Node& node) {
    absl::flat_hash_set<ValueId> met;
    for (OptionalValueId input : node.inputs) {
      if (!input) continue;
      const bool stored = model_.value(*input).initializer.has_value();
      if (!stored && (!is_formal_[static_cast<size_t>(*input)] || !met.insert(*input).second)) {
        continue;
      }
      if (stored && WeightName(input, {}).empty()) continue;
      weights_.push_back(*input);
      if (stored) return;
    }
  }

  // A function is not a module if it is called once and its nodes name modules themselves: a tool
  // cut it out of the graph. If it is called more often, such names belong to only one of the calls
  // and prove nothing.
  void FindInlinedModules() {
    if (model_.inlined.empty()) return;
    absl::flat_hash_map<std::pair<absl::string_view, absl::string_view>, int> calls;
    for (const Node& call : model_.inlined) ++calls[{call.domain, call.op_type}];
    is_module_.assign(model_.inlined.size(), true);
    for (size_t id = 0; id < model_.nodes.size(); ++id) {
      const Node& node = model_.nodes[id];
      if (!node.caller) continue;
      const Node& call = model_.inlined_call(*node.caller);
      if (calls[{call.domain, call.op_type}] > 1) continue;
      const bool named = out_.paths.FromNodeName(node.name).value_or(kRootModule) != kRootModule;
      if (named || Ask(static_cast<NodeId>(id)).by_metadata) {
        is_module_[static_cast<size_t>(*node.caller)] = false;
      }
    }
  }

  // The visit as it is inside the calls of functions that were inlined.
  const Visit& At(OptionalInlinedCallId caller, const Visit& visit) {
    if (caller == visit.caller || !caller) return visit;
    const Node& call = model_.inlined_call(*caller);
    const Visit& around = At(call.caller, visit);
    if (!is_module_[static_cast<size_t>(*caller)]) return around;
    std::unique_ptr<Visit>& inside = inside_[{*caller, visit.base}];
    if (inside == nullptr) {
      Known known;
      inside = std::make_unique<Visit>(around);
      inside->base = ModuleOf(call, Ask(call, /*is_call=*/true, &known), true, around);
      inside->in_function = true;
      out_.functions_are_modules = true;
    }
    return *inside;
  }

  // The module of a node of the graph in the file, or of a function that was inlined into it.
  ModuleId ModuleAt(NodeId id, const Visit& visit) {
    return ModuleOf(id, At(model_.node(id).caller, visit));
  }

  ModuleId ModuleOf(NodeId id, const Visit& visit) {
    const Node& node = model_.node(id);
    return ModuleOf(node, Ask(id), IsOfTheFile(node.function), visit);
  }

  ModuleId ModuleOf(const Node& node, const Known& known, bool is_call, const Visit& visit) {
    if (known.fused) {
      const absl::string_view weight = WeightName(node.inputs[1], visit);
      if (!weight.empty()) return Inside(ModuleOfFused(node, weight), visit);
    }
    if (known.by_metadata) return Inside(*known.by_metadata, visit);
    if (is_call) return ModuleOfCall(node, known, visit);
    if (known.by_name) return Inside(*known.by_name, visit);
    for (int32_t i = 0; i < known.weights; ++i) {
      const absl::string_view name = WeightName(
          weights_[static_cast<size_t>(known.first_weight) + static_cast<size_t>(i)], visit);
      if (!name.empty()) return Inside(out_.paths.FromWeight(name), visit);
    }
    return visit.base;
  }

  // The module of the weight of a node into which a BatchNorm was folded.
  ModuleId ModuleOfFused(const Node& node, absl::string_view weight) {
    const ModuleId module = out_.paths.FromWeight(weight);
    if (const OptionalTensorId tensor = model_.value(*node.inputs[1]).initializer) {
      const size_t rank = model_.tensor(*tensor).dims.size();
      out_.paths.SetTypeIfUnknown(module, exporter::ClassOfFusedModule(node.op_type, rank));
    }
    return module;
  }

  OptionalModuleId ModuleByName(const Node& node) {
    const OptionalModuleId module = out_.paths.FromNodeName(node.name);
    const OptionalValueId output = node.output(0);
    if (module || !output) return module;
    const absl::string_view name = model_.value(*output).name;
    return exporter::IsOutputOfNamedNode(name) ? out_.paths.FromNodeName(name) : kNone;
  }

  bool IsOfTheFile(OptionalFunctionId function) const {
    return function && !model_.function(*function).official;
  }

  // A function's nodes have names of one of its calls; they count only if they fit this call.
  ModuleId Inside(ModuleId module, const Visit& visit) const {
    if (!visit.in_function) return module;
    return IsWithin(out_.paths.path(module), out_.paths.path(visit.base)) ? module : visit.base;
  }

  // The common path of all weights of a call, or nullopt.
  std::optional<absl::string_view> CommonPathOfWeights(const Node& node, const Visit& visit) {
    std::optional<absl::string_view> common;
    for (OptionalValueId input : node.inputs) {
      const absl::string_view name = WeightName(input, visit);
      if (name.empty()) continue;
      common = common ? CommonPath(*common, ParentPath(name)) : ParentPath(name);
    }
    return common;
  }

  // A call of a function that the exporter made from a module is that module. Its weights identify
  // it better than its name, which may come from a node deep inside.
  ModuleId ModuleOfCall(const Node& call, const Known& known, const Visit& visit) {
    if (!known.is_module) return known.by_name ? Inside(*known.by_name, visit) : visit.base;
    ModuleId module = known.by_name.value_or(kRootModule);
    const auto common = CommonPathOfWeights(call, visit);
    const absl::string_view base = out_.paths.path(visit.base);
    if (known.by_name && !visit.in_function) {
      const absl::string_view path = out_.paths.path(module);
      if (common && !common->empty() && IsWithin(path, *common)) {
        module = out_.paths.Intern(*common);
      }
    } else if (common && common->size() > base.size() && IsWithin(*common, base)) {
      module = out_.paths.Intern(*common);
    } else {
      module = ModuleOfCall(call, visit.base);
    }
    if (out_.paths.type(module).empty()) {
      out_.paths.SetTypeIfUnknown(module, exporter::ClassOfFunction(call.op_type));
    }
    return module;
  }

  ModuleId ModuleOfCall(const Node& call, ModuleId base) {
    const auto [it, is_new] = module_of_call_.try_emplace({&call, base}, base);
    if (is_new) {
      const absl::string_view type =
          exporter::ClassOfFunction(call.op_type).substr(0, kMaxModulePath + 1);
      const absl::string_view path = out_.paths.path(base);
      it->second =
          out_.paths.Intern(path.empty() ? std::string(type) : absl::StrCat(path, ".", type), base);
    }
    return it->second;
  }

  const Inference& in_;
  const ModelData& model_;
  const Counts& counts_;
  const ExecutionFilter filter_;
  Attribution out_;
  std::vector<Known> nodes_;      // by NodeId
  std::vector<ValueId> weights_;  // of all nodes
  static constexpr int8_t kNotAsked = -1;
  std::vector<int8_t> is_weight_;              // by ValueId
  std::vector<bool> is_formal_;                // by ValueId: an input of a function
  std::vector<OptionalNodeId> reader_;         // by ValueId: the first
  static constexpr int kMaxStepsToReader = 4;  // such as Transpose and Cast before the product
  std::vector<uint8_t> has_work_;              // by call and part
  absl::flat_hash_map<GraphId, int64_t> visits_of_;
  absl::flat_hash_map<std::pair<int32_t, Expr>, std::optional<int32_t>> times_;
  int64_t times_terms_ = 0;
  absl::flat_hash_map<std::pair<const Node*, ModuleId>, ModuleId> module_of_call_;
  std::vector<bool> is_module_;  // by InlinedCallId
  absl::flat_hash_map<std::pair<InlinedCallId, ModuleId>, std::unique_ptr<Visit>> inside_;
  std::deque<Visit> queue_;
  int64_t budget_ = 0;
  static constexpr int64_t kAfterAll = std::numeric_limits<int64_t>::max() / 2;
  int64_t position_ = 0;
};

}  // namespace

Attribution AttributeNodes(const Inference& inference, const Counts& counts,
                           ExecutionFilter filter) {
  return Walk(inference, counts, filter).Run();
}

}  // namespace onnxflops::modules
