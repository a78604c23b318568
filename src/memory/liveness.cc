// How it works. Each graph is simulated in the order of execution. Every value has a root, the
// value whose memory it uses: itself, the input of a view, or nothing for weights and values of
// outer graphs. First a pass finds the last step at which each root is needed; then the simulation
// adds the outputs of each node and frees what ends there. The sum is only compared where something
// ends, since it grows in between. Bodies are simulated first; while a node runs, its bodies' peaks
// are added to what is alive around it, and for loops its outputs as well.
//
// Sizes may be formulas, so a peak is a set of sums of which none is provably below another, and a
// number at the reference sizes. If formulas take too many steps, the simulation is repeated with
// numbers. A last run stops at the largest step and lists what is alive there.
#include "src/memory/liveness.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/op_def.h"
#include "ops/rules.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/memory/captured.h"
#include "src/memory/largest.h"
#include "src/memory/tensor_bytes.h"
#include "src/symbolic/work.h"

namespace onnxflops {
namespace memory {
namespace {

constexpr size_t kStepsPerStep = 20;     // of a WorkLimit: a node, and each of its values
constexpr int64_t kFormulaShare = 2;     // the run with formulas may take 1/2 of the steps
constexpr size_t kNeverEnds = SIZE_MAX;  // the end of values that stay

// ---- order

// ONNX Runtime's order (GraphViewer): depth-first from the sinks, last sink first, last input
// first.
std::vector<size_t> OrtOrder(const ModelData& model, const Graph& graph,
                             const CapturedValues& captured) {
  const size_t count = graph.nodes.size();
  absl::flat_hash_map<NodeId, size_t> place;
  for (size_t i = 0; i < count; ++i) place[graph.nodes[i]] = i;
  std::vector<std::vector<size_t>> needs(count);
  std::vector<bool> used(count, false);
  for (size_t i = 0; i < count; ++i) {
    const auto use = [&](OptionalValueId value) {
      if (!value || !model.value(*value).producer) return;
      const auto producer = place.find(*model.value(*value).producer);
      if (producer == place.end()) return;
      needs[i].push_back(producer->second);
      used[producer->second] = true;
    };
    for (OptionalValueId value : model.node(graph.nodes[i]).inputs) use(value);
    for (ValueId value : captured.Of(graph.nodes[i])) use(value);
    std::sort(needs[i].begin(), needs[i].end());
  }
  std::vector<std::pair<size_t, bool>> stack;  // a node, and whether all before it has run
  for (size_t i = 0; i < count; ++i) {
    if (!used[i]) stack.emplace_back(i, false);
  }
  std::vector<bool> visited(count, false);
  std::vector<size_t> order;
  while (!stack.empty()) {
    const auto [i, ready] = stack.back();
    stack.pop_back();
    if (ready) {
      order.push_back(i);
      continue;
    }
    if (visited[i]) continue;
    visited[i] = true;
    stack.emplace_back(i, true);
    for (size_t before : needs[i]) {
      if (!visited[before]) stack.emplace_back(before, false);
    }
  }
  return order;
}

std::vector<size_t> FindOrder(const ModelData& model, const Graph& graph, ExecutionOrder order,
                              const CapturedValues& captured) {
  if (order == ExecutionOrder::kOrt) return OrtOrder(model, graph, captured);
  std::vector<size_t> places(graph.nodes.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = i;
  return places;
}

// ---- simulation

// The peak of one run of a graph, without the memory of outer graphs.
struct GraphPeak {
  std::vector<Expr> sums;
  bool too_many = false;
  std::optional<absl::int128> value = 0;
  size_t step = 0;  // of the order, where `value` is
  int64_t unknown = 0;
};

class Simulator {
 public:
  // `formulas`: the sizes of tensors.
  Simulator(const Inference& inference, const PeakOptions& options, TensorBytes* formulas,
            Comparisons* comparisons)
      : in_(inference),
        model_(*inference.model),
        options_(options),
        captured_(model_),
        root_(model_.values.size(), kNone),
        end_(model_.values.size(), 0),
        bytes_(model_.values.size(), nullptr),
        formulas_(formulas),
        comparisons_(comparisons),
        numbers_(&options.at),
        sizes_(formulas),
        peaks_(inference.instances.size()),
        alive_(model_.values.size(), false) {}

  // With formulas; if these take too many steps, with numbers at PeakOptions::at.
  absl::StatusOr<MemoryPeak> Run() {
    absl::StatusOr<MemoryPeak> peak = RunOnce(MaxSteps(model_, in_.limits) / kFormulaShare);
    if (peak.ok() || LimitOf(peak.status()) != "steps-per-node") return peak;
    sizes_ = &numbers_;
    return RunOnce(MaxSteps(model_, in_.limits));
  }

 private:
  absl::StatusOr<MemoryPeak> RunOnce(int64_t steps) {
    const WorkLimit work(steps);
    for (InstanceId id : in_.callees_first) {
      peaks_[static_cast<size_t>(id)] = Simulate(id, kNeverEnds, nullptr);
      if (work.exceeded()) return TooMuchWork();
    }
    const GraphPeak& main = peaks_[0];
    MemoryPeak peak;
    peak.sums = main.sums;
    peak.value = main.value;
    peak.unknown = main.unknown;
    if (sizes_ == &numbers_) {
      peak.sums.clear();
    } else {
      peak.bytes = largest_main_.AsOne();
      for (size_t place : largest_main_.places()) {
        peak.nodes.push_back(model_.graph(0).nodes[place]);
      }
    }
    for (const Expr& sum : main.sums) {
      if (const char* error = sum.error()) {
        return LimitError(LimitOf(error), absl::StrCat("the peak of live activations ", error));
      }
    }
    if (main.value && *main.value > 0) Simulate(0, main.step, &peak);
    if (work.exceeded()) return TooMuchWork();
    return peak;
  }

  absl::Status TooMuchWork() const {
    return LimitError("steps-per-node",
                      absl::StrCat("live activations take more than ", MaxSteps(model_, in_.limits),
                                   " steps of arithmetic (steps-per-node)"));
  }

  OptionalValueId& Root(ValueId value) { return root_[static_cast<size_t>(value)]; }
  size_t& End(ValueId value) { return end_[static_cast<size_t>(value)]; }
  // REQUIRES: the root was allocated.
  const Bytes& BytesOf(ValueId value) const { return *bytes_[static_cast<size_t>(value)]; }

  // The output of a view has its input's memory.
  static bool IsView(const Call& call) {
    return call.def != nullptr && Has(call.def->traits, Traits::kView) &&
           !Has(call.def->traits, Traits::kShapeOnly) && !Has(call.def->traits, Traits::kStored);
  }
  static bool IsStored(const Call& call) {
    return call.def != nullptr && Has(call.def->traits, Traits::kStored);
  }

  // Finds the root that holds each value's memory, and the last step that needs it.
  void FindEnds(const Instance& instance, const std::vector<size_t>& order) {
    const Graph& graph = model_.graph(instance.graph);
    for (ValueId value : graph.inputs) {
      const bool counts =
          instance.graph == 0 && options_.inputs && !model_.value(value).initializer.has_value();
      Root(value) = counts ? OptionalValueId(value) : kNone;
      End(value) = 0;
    }
    for (size_t step = 0; step < order.size(); ++step) {
      const Node& node = model_.node(graph.nodes[order[step]]);
      const Call& call = in_.call(instance.calls[order[step]]);
      const bool view = options_.views && IsView(call);
      for (size_t j = 0; j < node.outputs.size(); ++j) {
        if (!node.outputs[j]) continue;
        const ValueId value = *node.outputs[j];
        const bool weight =
            j < call.outputs.size() && in_.fact(call.outputs[j]).is_dequantised_weight();
        Root(value) = IsStored(call) || weight ? kNone : OptionalValueId(value);
        if (view && j == 0 && node.input(0)) Root(value) = RootIn(graph, *node.input(0));
        if (Root(value) == value) End(value) = step;
        Use(value, step);
      }
      for (OptionalValueId value : node.inputs) {
        if (value) Use(*value, step);
      }
      for (ValueId value : captured_.Of(graph.nodes[order[step]])) Use(value, step);
    }
    if (instance.graph == 0) LeaveElsewhere(graph);
    for (ValueId value : graph.outputs) Use(value, kNeverEnds);
  }

  // Also excludes the roots of these values.
  void LeaveElsewhere(const Graph& graph) {
    absl::flat_hash_set<ValueId> roots;
    for (ValueId value : options_.elsewhere) {
      if (Root(value)) roots.insert(*Root(value));
    }
    if (roots.empty()) return;
    for (NodeId id : graph.nodes) {
      for (OptionalValueId value : model_.node(id).outputs) {
        if (value && Root(*value) && roots.contains(*Root(*value))) Root(*value) = kNone;
      }
    }
  }

  // Values of outer graphs take no memory of this graph.
  OptionalValueId RootIn(const Graph& graph, ValueId value) {
    const OptionalNodeId producer = model_.value(value).producer;
    const bool own = producer ? &model_.graph(model_.node(*producer).graph) == &graph
                              : model_.value(value).is_graph_input && &graph == &model_.graph(0);
    return own ? Root(value) : kNone;
  }

  void Use(ValueId value, size_t step) {
    if (const OptionalValueId root = Root(value)) End(*root) = std::max(End(*root), step);
  }

  // Allocates an output of the node; its size is unknown if the fact does not give it.
  void Allocate(ValueId value, const Fact& fact, int64_t* unknown) {
    static const Bytes none;
    const Bytes* bytes = sizes_->Of(fact);
    if (bytes == nullptr) ++*unknown;
    bytes_[static_cast<size_t>(value)] = bytes == nullptr ? &none : bytes;
    live_.Add(BytesOf(value));
    made_.push_back(value);
    alive_[static_cast<size_t>(value)] = true;
    if (End(value) < ending_.size()) ending_[End(value)].push_back(value);
  }

  // Frees an input that ends here and is as large as the output: the output takes its memory.
  void Overwrite(const Node& node, const Call& call, size_t step) {
    if (!options_.in_place || call.def == nullptr || !Has(call.def->traits, Traits::kInPlace)) {
      return;
    }
    if (!node.output(0) || Root(*node.output(0)) != node.output(0)) return;
    for (OptionalValueId input : node.inputs) {
      const OptionalValueId root = input ? Root(*input) : kNone;
      if (!root || End(*root) != step || model_.value(*root).is_graph_input) continue;
      if (!alive_[static_cast<size_t>(*root)]) continue;
      if (BytesOf(*root).expr != BytesOf(*node.output(0)).expr) continue;
      Free(*root);
      return;
    }
  }

  void Free(ValueId value) {
    if (!alive_[static_cast<size_t>(value)]) return;
    alive_[static_cast<size_t>(value)] = false;
    live_.Take(BytesOf(value));
  }

  // Adds the peaks of a node's bodies to the bytes alive around them. While a loop runs, its
  // outputs are allocated as well.
  void AddBodies(const Call& call, const BytesSum& before, size_t place, GraphPeak* peak,
                 Largest* largest, std::optional<absl::int128>* most) {
    const bool loops = call.def != nullptr && (call.def->control_flow == ControlFlow::kLoop ||
                                               call.def->control_flow == ControlFlow::kScan ||
                                               call.def->control_flow == ControlFlow::kSequence);
    const BytesSum& around = loops ? live_ : before;
    for (const BodyRun& run : call.shown_bodies()) {
      if (!run.counted && !call.growing) continue;
      const GraphPeak& body = peaks_[static_cast<size_t>(run.instance)];
      peak->unknown += body.unknown;
      peak->too_many = peak->too_many || body.too_many;
      std::optional<absl::int128> value = body.value;
      if (call.growing) value = 0;
      for (const Expr& sum : body.sums) {
        const Expr last = call.growing ? InLastTrip(sum, *call.growing) : sum;
        BytesSum inside = around;
        inside.Add(*formulas_->Make(last));
        largest->Add(inside, place);
        if (call.growing && value) value = Larger(value, ValueOf(last));
      }
      const std::optional<absl::int128> outside = ValueOf(around.expr());
      if (value && outside) value = *value + *outside;
      *most = outside ? Larger(*most, value) : std::nullopt;
    }
  }

  // Sizes grow from trip to trip.
  static Expr InLastTrip(const Expr& sum, const GrowingTrips& growing) {
    return sum.Replace({{growing.symbol, Max(growing.count - 1, 0)}});
  }

  static std::optional<absl::int128> Larger(const std::optional<absl::int128>& a,
                                            const std::optional<absl::int128>& b) {
    return a && b ? std::optional<absl::int128>(std::max(*a, *b)) : std::nullopt;
  }

  std::optional<absl::int128> ValueOf(const Expr& e) const {
    if (e.is_literal()) return e.literal();
    const absl::StatusOr<absl::int128> value = e.Evaluate(options_.at);
    return value.ok() ? std::optional<absl::int128>(*value) : std::nullopt;
  }

  // Simulates a run; stops at step `stop`, if it is one, and describes it.
  GraphPeak Simulate(InstanceId id, size_t stop, MemoryPeak* described) {
    const Instance& instance = in_.instance(id);
    const Graph& graph = model_.graph(instance.graph);
    const std::vector<size_t> order = FindOrder(model_, graph, options_.order, captured_);
    FindEnds(instance, order);
    live_ = BytesSum();
    for (ValueId value : made_) alive_[static_cast<size_t>(value)] = false;
    made_.clear();
    ending_.assign(order.size(), {});
    GraphPeak peak;
    Largest largest(comparisons_);
    if (instance.graph == 0 && options_.inputs) AllocateInputs(graph, &peak.unknown);
    for (size_t step = 0; step < order.size(); ++step) {
      const Node& node = model_.node(graph.nodes[order[step]]);
      const Call& call = in_.call(instance.calls[order[step]]);
      SpendSteps(kStepsPerStep * (1 + node.inputs.size() + node.outputs.size()));
      const BytesSum before = live_;
      for (size_t j = 0; j < node.outputs.size(); ++j) {
        if (!node.outputs[j] || Root(*node.outputs[j]) != node.outputs[j]) continue;
        static const Fact unknown;
        Allocate(*node.outputs[j], j < call.outputs.size() ? in_.fact(call.outputs[j]) : unknown,
                 &peak.unknown);
      }
      Overwrite(node, call, step);
      // The sum only grows until something ends, so it is compared there only.
      const bool ends = !ending_[step].empty() || step + 1 == order.size();
      if (!ends && call.bodies.empty()) continue;
      std::optional<absl::int128> most = ValueOf(live_.expr());
      largest.Add(live_, order[step]);
      AddBodies(call, before, order[step], &peak, &largest, &most);
      if (step == stop) {
        Describe(graph.nodes[order[step]], most, described);
        return peak;
      }
      if (!most) peak.value.reset();
      if (peak.value && *most > *peak.value) {
        peak.value = most;
        peak.step = step;
      }
      for (ValueId value : ending_[step]) Free(value);
    }
    peak.too_many = peak.too_many || largest.too_many();
    if (!peak.too_many) peak.sums = largest.sums();
    if (id == 0) largest_main_ = largest;
    return peak;
  }

  void AllocateInputs(const Graph& graph, int64_t* unknown) {
    for (ValueId value : graph.inputs) {
      const Fact* fact = Root(value) == value ? in_.FactOf(value) : nullptr;
      if (fact != nullptr) Allocate(value, *fact, unknown);
    }
  }

  // Lists the live tensors, the largest first, and equal ones in the order of their creation.
  void Describe(NodeId node, const std::optional<absl::int128>& most, MemoryPeak* peak) const {
    peak->node = node;
    absl::int128 own = 0;
    std::vector<std::pair<absl::int128, ValueId>> sorted;
    for (ValueId value : made_) {
      if (!alive_[static_cast<size_t>(value)]) continue;
      const absl::int128 bytes = ValueOf(BytesOf(value).expr).value_or(0);
      own += bytes;
      if (bytes > 0) sorted.emplace_back(-bytes, value);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [bytes, value] : sorted) {
      peak->alive.push_back({value, BytesOf(value).expr});
    }
    if (most && *most > own) peak->inside = Expr(*most - own);
  }

  const Inference& in_;
  const ModelData& model_;
  const PeakOptions& options_;
  const CapturedValues captured_;
  std::vector<OptionalValueId> root_;  // by value: whose memory it has; kNone if it does not count
  std::vector<size_t> end_;            // by root: the last step that needs it
  std::vector<const Bytes*> bytes_;    // by root
  TensorBytes* const formulas_;
  Comparisons* const comparisons_;
  TensorBytes numbers_;
  TensorBytes* sizes_;            // one of both
  std::vector<GraphPeak> peaks_;  // by instance
  BytesSum live_;
  std::vector<ValueId> made_;                 // so far
  std::vector<bool> alive_;                   // by value
  std::vector<std::vector<ValueId>> ending_;  // by step
  Largest largest_main_{nullptr};
};

}  // namespace
}  // namespace memory

std::vector<size_t> OrderOf(const ModelData& model, GraphId graph, ExecutionOrder order) {
  return memory::FindOrder(model, model.graph(graph), order, memory::CapturedValues(model));
}

absl::StatusOr<MemoryPeak> FindPeak(const Inference& inference, const PeakOptions& options) {
  ASSIGN_OR_RETURN(std::vector<MemoryPeak> peaks, FindPeaks(inference, {options}));
  return std::move(peaks[0]);
}

absl::StatusOr<std::vector<MemoryPeak>> FindPeaks(const Inference& inference,
                                                  absl::Span<const PeakOptions> options) {
  memory::TensorBytes formulas;
  memory::Comparisons comparisons;
  std::vector<MemoryPeak> peaks;
  for (const PeakOptions& one : options) {
    ASSIGN_OR_RETURN(peaks.emplace_back(),
                     memory::Simulator(inference, one, &formulas, &comparisons).Run());
  }
  return peaks;
}

}  // namespace onnxflops
