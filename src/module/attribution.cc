#include "src/module/attribution.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"

namespace onnxflops {
namespace {

// Names of initializers that the formal inputs of a function stand for in one call.
using ActualNames = absl::flat_hash_map<ValueId, absl::string_view>;

// A run of an instance that is to be walked.
struct Visit {
  InstanceId instance = 0;
  int32_t times = 0;            // index into Attribution::times
  ModuleId base = kRootModule;  // of nodes that nothing else attributes
  bool in_function = false;
  std::shared_ptr<const ActualNames> actual;  // inside a function
};

// The path without what is after the last dot.
absl::string_view ParentPath(absl::string_view path) {
  const size_t dot = path.rfind('.');
  return path.substr(0, dot == absl::string_view::npos ? 0 : dot);
}

// `path` is `base` or lies below it.
bool IsWithin(absl::string_view path, absl::string_view base) {
  return base.empty() ||
         (absl::StartsWith(path, base) && (path.size() == base.size() || path[base.size()] == '.'));
}

absl::string_view CommonPath(absl::string_view a, absl::string_view b) {
  if (IsWithin(b, a)) return a;
  const size_t most = std::min(a.size(), b.size());
  size_t same = 0;
  while (same < most && a[same] == b[same]) ++same;
  if (same == b.size() && a[same] == '.') return b;
  return ParentPath(a.substr(0, same));
}

// "InvertedResidual.8" -> "InvertedResidual": functions of one class are numbered.
absl::string_view WithoutNumber(absl::string_view name) {
  size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  return end > 1 && end < name.size() && name[end - 1] == '.' ? name.substr(0, end - 1) : name;
}

bool IsParameterPath(absl::string_view name) {
  return static_cast<int64_t>(name.size()) <= kMaxModulePath && absl::StrContains(name, ".") &&
         !absl::StrContains(name, "::") && !absl::StrContains(name, "/");
}

// Whether the file names modules otherwise than by its weights.
bool NamesModules(const ModelData& model) {
  return std::any_of(model.nodes.begin(), model.nodes.end(), [](const Node& node) {
    return !node.metadata.empty() || absl::StrContains(node.name, "/");
  });
}

size_t MaxModules(const ModelData& model) {
  return static_cast<size_t>(kMaxExtraModules) +
         static_cast<size_t>(kMaxModulesPerNode) * (model.nodes.size() + model.tensors.size());
}

std::vector<absl::string_view> InitializerNames(const ModelData& model) {
  std::vector<absl::string_view> names;
  for (const Value& value : model.values) {
    if (value.initializer) names.push_back(value.name);
  }
  return names;
}

class Walk {
 public:
  Walk(const Inference& inference, const Counts& counts, Keep keep)
      : in_(inference),
        model_(*inference.model),
        counts_(counts),
        keep_(keep),
        out_(InitializerNames(model_), !NamesModules(model_), MaxModules(model_)) {}

  Attribution Run() {
    out_.node_module.assign(model_.nodes.size(), kNone);
    by_metadata_.assign(model_.nodes.size(), std::nullopt);
    by_name_.assign(model_.nodes.size(), std::nullopt);
    FindWork();
    queue_.push_back({});
    budget_ = static_cast<int64_t>(model_.nodes.size()) * in_.limits.module_visits_per_node +
              kMaxExtraModuleVisits;
    while (!queue_.empty()) {
      const Visit visit = std::move(queue_.front());
      queue_.pop_front();
      WalkInstance(visit);
    }
    Grow();
    return std::move(out_);
  }

 private:
  // Whether (call, part) costs anything or is unknown.
  void FindWork() {
    has_work_.assign(in_.calls.size() * kNumParts, false);
    for (size_t c = 0; c < counts_.calls.size(); ++c) {
      const CallCost& cost = counts_.calls[c];
      const auto set = [&](Part part, bool work) {
        has_work_[c * kNumParts + static_cast<size_t>(part)] = work;
      };
      const bool macs = cost.macs != Expr(0);
      set(Part::kWhole, macs || cost.flops != Expr(0) || cost.tally().lower_bound);
      set(Part::kShapeWork, macs || cost.tally().lower_bound);
      set(Part::kOwn, cost.own.lower_bound || !cost.own.flops.IsZero() ||
                          cost.own.int_ops[Kind::kMac] != Expr(0));
    }
  }

  void WalkInstance(const Visit& visit) {
    const Instance& instance = in_.instance(visit.instance);
    const Graph& graph = model_.graph(instance.graph);
    for (size_t i = 0; i < instance.calls.size(); ++i) {
      const CallId call = instance.calls[i];
      const NodeId id = graph.nodes[i];
      const bool shape_work = i < instance.shape_work.size() && instance.shape_work[i];
      const bool opens = !shape_work && !in_.call(call).bodies.empty() && CanOpen(call, id);
      const Part part = shape_work ? Part::kShapeWork : opens ? Part::kOwn : Part::kWhole;
      const ModuleId module = Place(id, visit);
      const int32_t work = call * kNumParts + static_cast<int32_t>(part);
      Note(id, module);
      if (keep_ == Keep::kAll || has_work_[static_cast<size_t>(work)]) {
        out_.entries.push_back({module, work, visit.times, id});
      }
      if (opens) Open(visit, call, id, module);
    }
  }

  // Counts the node in its module.
  void Note(NodeId id, ModuleId module) {
    if (static_cast<size_t>(module) >= out_.nodes.size()) Grow();
    ++out_.nodes[static_cast<size_t>(module)];
    int64_t& first = out_.first[static_cast<size_t>(module)];
    first = std::min(first, position_++);
    OptionalModuleId& known = out_.node_module[static_cast<size_t>(id)];
    if (!known) known = module;
  }

  void Grow() {
    out_.nodes.resize(out_.paths.size(), 0);
    out_.first.resize(out_.paths.size(), std::numeric_limits<int64_t>::max());
  }

  // Whether the bodies of a call may be walked one by one; takes the visits from the budget.
  bool CanOpen(CallId id, NodeId node) {
    const Call& call = in_.call(id);
    // Names of weights are handed on for every input.
    auto visits = static_cast<int64_t>(call.inputs.size());
    for (const BodyRun& run : call.bodies) {
      visits += static_cast<int64_t>(in_.instance(run.instance).calls.size());
    }
    if (visits > budget_) {
      if (!out_.not_opened) out_.not_opened = node;
      return false;
    }
    budget_ -= visits;
    return true;
  }

  void Open(const Visit& visit, CallId id, NodeId node, ModuleId module) {
    const Call& call = in_.call(id);
    const CallCost& cost = counts_.calls[static_cast<size_t>(id)];
    const bool function = model_.node(node).function.has_value();
    std::shared_ptr<const ActualNames> actual = visit.actual;
    if (function) actual = NamesInside(visit, node);
    for (size_t b = 0; b < call.bodies.size(); ++b) {
      if (cost.body_times[b] == Expr(0)) continue;
      queue_.push_back({call.bodies[b].instance, Times(visit.times, cost.body_times[b]), module,
                        visit.in_function || function, actual});
    }
  }

  int32_t Times(int32_t outer, const Expr& inner) {
    if (inner == Expr(1)) return outer;
    out_.times.push_back(out_.times[static_cast<size_t>(outer)] * inner);
    return static_cast<int32_t>(out_.times.size() - 1);
  }

  absl::string_view WeightName(OptionalValueId value, const Visit& visit) const {
    if (!value) return {};
    const Value& v = model_.value(*value);
    if (v.initializer) return v.name;
    if (visit.actual == nullptr) return {};
    const auto it = visit.actual->find(*value);
    return it == visit.actual->end() ? absl::string_view() : it->second;
  }

  std::shared_ptr<const ActualNames> NamesInside(const Visit& visit, NodeId id) const {
    auto names = std::make_shared<ActualNames>();
    const Node& node = model_.node(id);
    const Function& function = model_.function(*node.function);
    const Graph& body = model_.graph(function.body);
    for (size_t i = 0; i < node.inputs.size() && i < body.inputs.size(); ++i) {
      const absl::string_view name = WeightName(node.inputs[i], visit);
      if (!name.empty()) names->emplace(body.inputs[i], name);
    }
    return names;
  }

  ModuleId Place(NodeId id, const Visit& visit) {
    const Node& node = model_.node(id);
    std::optional<OptionalModuleId>& by_metadata = by_metadata_[static_cast<size_t>(id)];
    if (!by_metadata.has_value()) by_metadata = out_.paths.FromMetadata(node.metadata);
    OptionalModuleId module = *by_metadata;
    if (module && node.inputs.size() > 1 &&
        (absl::StartsWith(node.op_type, "Conv") || node.op_type == "Gemm") &&
        ModulePaths::IsFusedBatchNorm(node.metadata)) {
      const absl::string_view weight = WeightName(node.inputs[1], visit);
      if (IsParameterPath(weight)) module = out_.paths.FromWeight(weight);
    }
    if (!module) {
      std::optional<OptionalModuleId>& by_name = by_name_[static_cast<size_t>(id)];
      if (!by_name.has_value()) by_name = PlaceByName(node);
      module = *by_name;
      if (IsOfTheFile(node.function)) return PlaceCall(node, visit, module);
    }
    if (module) return Inside(*module, visit);
    for (OptionalValueId input : node.inputs) {
      const absl::string_view name = WeightName(input, visit);
      if (IsParameterPath(name)) return Inside(out_.paths.FromWeight(name), visit);
    }
    return visit.base;
  }

  OptionalModuleId PlaceByName(const Node& node) {
    const OptionalModuleId module = out_.paths.FromNodeName(node.name);
    const OptionalValueId output = node.output(0);
    if (module || !output) return module;
    const absl::string_view name = model_.value(*output).name;
    return absl::StartsWith(name, "/") ? out_.paths.FromNodeName(name) : kNone;
  }

  bool IsOfTheFile(OptionalFunctionId function) const {
    return function && !model_.function(*function).official;
  }

  // A function's nodes carry names of one of its calls: they count only if they fit this one.
  ModuleId Inside(ModuleId module, const Visit& visit) const {
    if (!visit.in_function) return module;
    return IsWithin(out_.paths.path(module), out_.paths.path(visit.base)) ? module : visit.base;
  }

  // A call of a function that the exporter made of a module is that module. Its weights tell which,
  // better than its name, which may be that of a node deep inside.
  ModuleId PlaceCall(const Node& node, const Visit& visit, OptionalModuleId by_name) {
    if (absl::StrContains(node.domain, "onnxscript")) {  // an ATen operator
      return by_name ? Inside(*by_name, visit) : visit.base;
    }
    absl::string_view common;
    bool any = false;
    for (OptionalValueId input : node.inputs) {
      const absl::string_view name = WeightName(input, visit);
      if (!IsParameterPath(name)) continue;
      common = any ? CommonPath(common, ParentPath(name)) : ParentPath(name);
      any = true;
    }
    const absl::string_view base = out_.paths.path(visit.base);
    const absl::string_view type = WithoutNumber(node.op_type);
    ModuleId module = by_name.value_or(kRootModule);
    if (by_name && !visit.in_function) {
      const absl::string_view path = out_.paths.path(module);
      if (any && !common.empty() && IsWithin(path, common)) module = out_.paths.Intern(common);
    } else if (any && common.size() > base.size() && IsWithin(common, base)) {
      module = out_.paths.Intern(common);
    } else {
      module = out_.paths.Intern(base.empty() ? std::string(type) : absl::StrCat(base, ".", type));
    }
    out_.paths.SetTypeIfUnknown(module, type);
    return module;
  }

  const Inference& in_;
  const ModelData& model_;
  const Counts& counts_;
  const Keep keep_;
  Attribution out_;
  // By NodeId, what the node itself says, once it was asked: a function is walked once per call.
  std::vector<std::optional<OptionalModuleId>> by_metadata_, by_name_;
  std::vector<bool> has_work_;
  std::deque<Visit> queue_;
  int64_t budget_ = 0;
  int64_t position_ = 0;
};

}  // namespace

Attribution AttributeNodes(const Inference& inference, const Counts& counts, Keep keep) {
  return Walk(inference, counts, keep).Run();
}

}  // namespace onnxflops
