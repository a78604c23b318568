// How it works. There are three separate calculations. Each walks over the nodes of a graph in the
// order of the file, bodies before the graphs that run them.
//
// Fuser guesses which nodes a runtime fuses. An element-wise node joins the kernel that makes an
// input of its size, unless the fused graph would have a cycle. A kernel's level is above the
// levels of all kernels that it reads, so no kernel of a lower level depends on it; this makes the
// test cheap. A view makes no kernel; it is another name of its input. Bytes of tensors that stay
// inside a kernel are subtracted.
//
// LeastWork leaves out work that a program may skip: nodes whose results nobody reads, nodes that
// repeat an earlier one, and the costlier branch of an open If. CompulsoryTraffic looks at the main
// graph only. It counts inputs and parameters that a node reads completely, and outputs, once each.
// These two are lower bounds, so in doubt they count nothing.
#include "src/hardware/time_bound.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/op_def.h"
#include "ops/rules.h"
#include "ops/window.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/graph/model.h"
#include "src/infer/call_view.h"
#include "src/symbolic/expr_sum.h"
#include "src/symbolic/work.h"

namespace onnxflops {
namespace {

constexpr size_t kStepsPerFusedNode = 8;

// Each element of the output follows from the elements of the inputs at its place.
bool IsElementwise(const OpDef& def) {
  const auto any_of = [](auto rule, auto... rules) { return ((rule == rules) || ...); };
  return def.count == &CountPerOutputElement || def.evaluate != nullptr ||
         Has(def.traits, Traits::kQuantizes) ||
         any_of(def.infer, &InferUnary, &InferUnaryBool, &InferBroadcast, &InferBroadcastBool);
}

// True if output 0 shares the memory of input 0.
bool IsView(const Call& call) {
  if (call.def == nullptr) return false;
  const Traits traits = call.def->traits;
  return Has(traits, Traits::kDequantizes) ||
         (Has(traits, Traits::kView) && !Has(traits, Traits::kShapeOnly));
}

// Values that another graph reads, or that are outputs of their own graph.
absl::flat_hash_set<ValueId> FindOutside(const ModelData& model) {
  absl::flat_hash_map<ValueId, size_t> graph_of;
  for (size_t g = 0; g < model.graphs.size(); ++g) {
    for (NodeId node : model.graphs[g].nodes) {
      for (OptionalValueId value : model.node(node).outputs) {
        if (value) graph_of[*value] = g;
      }
    }
  }
  absl::flat_hash_set<ValueId> outside;
  for (size_t g = 0; g < model.graphs.size(); ++g) {
    for (ValueId value : model.graphs[g].outputs) outside.insert(value);
    for (NodeId node : model.graphs[g].nodes) {
      for (OptionalValueId value : model.node(node).inputs) {
        const auto made = value ? graph_of.find(*value) : graph_of.end();
        if (made != graph_of.end() && made->second != g) outside.insert(*value);
      }
    }
  }
  return outside;
}

// The nodes and values on which the results of a graph depend.
struct ReadParts {
  std::vector<bool> nodes;  // by place
  absl::flat_hash_set<ValueId> values;
};
// A node that asks only for the shape of a value does not read it.
ReadParts FindReadParts(const Inference& inference, const Instance& instance,
                        const absl::flat_hash_set<ValueId>& outside) {
  const ModelData& model = *inference.model;
  const absl::Span<const NodeId> nodes = model.graph(instance.graph).nodes;
  ReadParts read = {std::vector<bool>(nodes.size(), false), outside};
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = model.node(nodes[i]);
    read.nodes[i] =
        std::any_of(node.outputs.begin(), node.outputs.end(),
                    [&](OptionalValueId value) { return value && read.values.contains(*value); });
    const OpDef* def = i < instance.calls.size() ? inference.call(instance.calls[i]).def : nullptr;
    if (!read.nodes[i] || (def != nullptr && Has(def->traits, Traits::kShapeOnly))) continue;
    for (OptionalValueId value : node.inputs) {
      if (value) read.values.insert(*value);
    }
  }
  return read;
}

// The kernels of one executed graph.
class Fuser {
 public:
  // `outside`: see FindOutside. `fused`: by instance, the times of those that this one runs.
  Fuser(const Inference& inference, const Counts& counts, const Roofline& roofline,
        const absl::flat_hash_set<ValueId>& outside, const std::vector<Expr>& fused)
      : in_(inference),
        model_(*inference.model),
        counts_(counts),
        roofline_(roofline),
        outside_(outside),
        fused_(fused) {}

  Expr TimeOf(const Instance& instance) {
    const Graph& graph = model_.graph(instance.graph);
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      SpendSteps(kStepsPerFusedNode);
      if (!instance.shape_work.empty() && instance.shape_work[i]) continue;
      if (in_.call(instance.calls[i]).constant) continue;
      Take(model_.node(graph.nodes[i]), instance.calls[i]);
    }
    for (const Made& tensor : tensors_) LeaveUnwritten(tensor);
    ExprSum sum;
    for (const Kernel& kernel : kernels_) {
      sum.Add(roofline_.TimeOf(kernel.operations.Total(), kernel.bytes.Total()));
      sum.Add(kernel.bodies);
    }
    return sum.Total();
  }

 private:
  struct Kernel {
    ExprSum operations, bytes;
    Expr bodies;
    int64_t level = 0;     // above the levels of all kernels whose outputs it reads
    bool is_read = false;  // by another kernel
    bool fuses = true;
  };
  // A tensor that a kernel makes.
  struct Made {
    ValueId value = 0;
    size_t kernel = 0;
    Expr bytes;
    bool is_written_whole = false;
    bool is_read_inside = false, is_read_outside = false;
  };

  // The value that a view shows, or the value itself.
  ValueId Stored(ValueId value) const {
    const auto it = stored_.find(value);
    return it == stored_.end() ? value : it->second;
  }

  // The tensor that a value is or shows, if a kernel of this graph makes it.
  Made* MadeBy(OptionalValueId value) {
    const auto it = value ? made_.find(Stored(*value)) : made_.end();
    return it == made_.end() ? nullptr : &tensors_[it->second];
  }

  void Take(const Node& node, CallId id) {
    const Call& call = in_.call(id);
    if (IsView(call) && !node.inputs.empty() && node.inputs[0] && node.outputs[0]) {
      const ValueId stored = stored_[*node.outputs[0]] = Stored(*node.inputs[0]);
      if (outside_.contains(*node.outputs[0])) seen_outside_.insert(stored);
      return;
    }
    const bool elementwise = call.def != nullptr && call.bodies.empty() && IsElementwise(*call.def);
    const std::optional<size_t> joined = elementwise ? KernelToJoin(node, call) : std::nullopt;
    const size_t kernel = joined.value_or(kernels_.size());
    if (!joined) AddKernel(id);
    const TimedWork work = TimedWorkOf(in_, call, counts_.cost(id).own());
    kernels_[kernel].operations.Add(work.operations);
    kernels_[kernel].bytes.Add(work.bytes_read + work.bytes_written);
    Read(node, call, kernel);
    Write(node, call, work.bytes_written, kernel);
  }

  void AddKernel(CallId id) {
    const Call& call = in_.call(id);
    const CallCost& cost = counts_.cost(id);
    Kernel& kernel = kernels_.emplace_back();
    kernel.fuses = call.bodies.empty() && cost.coverage != Coverage::kUnknown;
    if (call.growing.has_value()) {  // their sum is known without fusing only
      kernel.bodies = cost.tally().amounts.time_estimate - cost.own().amounts.time_estimate;
      return;
    }
    ExprSum bodies;
    for (size_t b = 0; b < cost.body_times.size(); ++b) {  // empty if it is not counted
      bodies.Add(fused_[static_cast<size_t>(call.bodies[b].instance)] * cost.body_times[b]);
    }
    kernel.bodies = bodies.Total();
  }

  // The kernel to join: it makes an input of the size of the output, and joining it makes no cycle.
  std::optional<size_t> KernelToJoin(const Node& node, const Call& call) {
    const std::optional<Expr> elements = ElementsOf(call.outputs, 0);
    for (size_t j = 0; elements && j < node.inputs.size(); ++j) {
      const Made* tensor = MadeBy(node.inputs[j]);
      if (tensor == nullptr || !kernels_[tensor->kernel].fuses) continue;
      if (ElementsOf(call.inputs, j) != elements) continue;
      if (CanWait(node, tensor->kernel)) return tensor->kernel;
    }
    return std::nullopt;
  }

  std::optional<Expr> ElementsOf(absl::Span<const FactId> facts, size_t j) const {
    if (j >= facts.size()) return std::nullopt;
    const Fact& fact = in_.fact(facts[j]);
    if (!fact.is_tensor() || !fact.shape.ranked()) return std::nullopt;
    return fact.shape.NumElements();
  }

  // True if no other input of the node depends on the kernel; otherwise the fused graph would have
  // a cycle. A kernel that has not been read yet has no dependents. Those of other kernels have a
  // higher level.
  bool CanWait(const Node& node, size_t kernel) {
    if (!kernels_[kernel].is_read) return true;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](OptionalValueId value) {
      const Made* tensor = MadeBy(value);
      return tensor == nullptr || tensor->kernel == kernel ||
             kernels_[tensor->kernel].level < kernels_[kernel].level;
    });
  }

  void Read(const Node& node, const Call& call, size_t kernel) {
    const bool quantizes = call.def != nullptr && Has(call.def->traits, Traits::kQuantizes);
    for (size_t j = 0; j < node.inputs.size(); ++j) {
      if (!node.inputs[j]) continue;
      Made* tensor = MadeBy(node.inputs[j]);
      const bool inside = tensor != nullptr && tensor->kernel == kernel;
      const bool again = !read_.emplace(kernel, Stored(*node.inputs[j])).second;
      // The input of a QuantizeLinear is not in its bytes.
      if ((inside || again) && j < call.inputs.size() && !quantizes) {
        kernels_[kernel].bytes.Add(Expr(0) - StoredBytes(in_.fact(call.inputs[j])));
      }
      if (inside) tensor->is_read_inside = true;
      if (tensor == nullptr || inside) continue;
      tensor->is_read_outside = true;
      Kernel& from = kernels_[tensor->kernel];
      from.is_read = true;
      kernels_[kernel].level = std::max(kernels_[kernel].level, from.level + 1);
    }
  }

  void Write(const Node& node, const Call& call, const Expr& written, size_t kernel) {
    ExprSum all;
    for (FactId fact : call.outputs) all.Add(StoredBytes(in_.fact(fact)));
    const bool whole = written == all.Total();
    for (size_t j = 0; j < node.outputs.size() && j < call.outputs.size(); ++j) {
      if (!node.outputs[j]) continue;
      made_[*node.outputs[j]] = tensors_.size();
      tensors_.push_back({*node.outputs[j], kernel, StoredBytes(in_.fact(call.outputs[j])), whole});
    }
  }

  void LeaveUnwritten(const Made& tensor) {
    const bool stays = tensor.is_read_inside && !tensor.is_read_outside &&
                       !outside_.contains(tensor.value) && !seen_outside_.contains(tensor.value);
    if (stays && tensor.is_written_whole) {
      kernels_[tensor.kernel].bytes.Add(Expr(0) - tensor.bytes);
    }
  }

  const Inference& in_;
  const ModelData& model_;
  const Counts& counts_;
  const Roofline& roofline_;
  const absl::flat_hash_set<ValueId>& outside_;
  const std::vector<Expr>& fused_;
  absl::flat_hash_map<ValueId, ValueId> stored_;          // of views
  absl::flat_hash_map<ValueId, size_t> made_;             // place in tensors_
  absl::flat_hash_set<ValueId> seen_outside_;             // through a view
  absl::flat_hash_set<std::pair<size_t, ValueId>> read_;  // by which kernel
  std::vector<Made> tensors_;
  std::vector<Kernel> kernels_;
};

// The arithmetic of one executed graph that no program can skip.
class LeastWork {
 public:
  // `outside`: see FindOutside. `least`: by instance, the times of those that this one runs.
  LeastWork(const Inference& inference, const Counts& counts,
            const absl::flat_hash_set<ValueId>& outside, const std::vector<Expr>& least)
      : in_(inference), counts_(counts), outside_(outside), least_(least) {}

  Expr TimeOf(const Instance& instance) {
    const Graph& graph = in_.model->graph(instance.graph);
    const std::vector<bool> is_read = FindReadParts(in_, instance, outside_).nodes;
    ExprSum sum;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      SpendSteps(kStepsPerFusedNode);
      const bool shape_work = !instance.shape_work.empty() && instance.shape_work[i];
      if (!is_read[i] || shape_work || in_.call(instance.calls[i]).constant) continue;
      if (IsFirst(in_.model->node(graph.nodes[i]), instance.calls[i])) {
        sum.Add(TimeOf(instance.calls[i]));
      }
    }
    return sum.Total();
  }

 private:
  // True if no earlier node does the same with the same values.
  bool IsFirst(const Node& node, CallId id) {
    const Call& call = in_.call(id);
    if (call.def == nullptr || !call.bodies.empty() || Has(call.def->traits, Traits::kRandom)) {
      return true;
    }
    std::vector<int64_t> key = {static_cast<int64_t>(id)};
    for (OptionalValueId value : node.inputs) {
      const auto same = value ? same_.find(*value) : same_.end();
      key.push_back(same != same_.end() ? static_cast<int64_t>(same->second)
                    : value             ? static_cast<int64_t>(*value)
                                        : -1);
    }
    const auto [first, inserted] = first_.emplace(std::move(key), &node);
    if (inserted) return true;
    for (size_t j = 0; j < node.outputs.size() && j < first->second->outputs.size(); ++j) {
      const OptionalValueId original = first->second->outputs[j];
      if (node.outputs[j] && original) same_[*node.outputs[j]] = *original;
    }
    return false;
  }

  Expr TimeOf(CallId id) const {
    const Call& call = in_.call(id);
    const CallCost& cost = counts_.cost(id);
    if (call.growing.has_value()) return cost.tally().amounts.time_bound;
    const auto of_body = [&](size_t b) -> const Expr& {
      return least_[static_cast<size_t>(call.bodies[b].instance)];
    };
    const Expr& own = cost.own().amounts.time_bound;
    if (call.choose_larger) return own + Min(of_body(0), of_body(1));
    Expr time = own;
    for (size_t b = 0; b < cost.body_times.size(); ++b) time += of_body(b) * cost.body_times[b];
    return time;
  }

  const Inference& in_;
  const Counts& counts_;
  const absl::flat_hash_set<ValueId>& outside_;
  const std::vector<Expr>& least_;
  absl::flat_hash_map<ValueId, ValueId> same_;  // to the equal value that was made first
  absl::flat_hash_map<std::vector<int64_t>, const Node*> first_;
};

// The bytes that the nodes of the main graph must move.
class CompulsoryTraffic {
 public:
  CompulsoryTraffic(const Inference& inference, const Counts& counts,
                    std::optional<Precision> precision, const std::vector<ValueId>& kept)
      : in_(inference),
        model_(*inference.model),
        counts_(counts),
        bits_(precision ? PrecisionBits(*precision) : std::numeric_limits<int64_t>::max()),
        kept_(kept.begin(), kept.end()) {}

  Traffic Moved() {
    const Instance& main = in_.instance(0);
    const absl::Span<const NodeId> nodes = model_.graph(main.graph).nodes;
    parts_ = FindReadParts(in_, main, FindOutside(model_));
    for (size_t i = 0; i < nodes.size() && i < main.calls.size(); ++i) {
      SpendSteps(kStepsPerFusedNode);
      const bool shape_work = !main.shape_work.empty() && main.shape_work[i];
      if (!shape_work && parts_.nodes[i]) Visit(model_.node(nodes[i]), main.calls[i]);
    }
    for (ValueId output : model_.graph(main.graph).outputs) {
      if (kept_.contains(output)) written_.erase(Source(output));
    }
    for (ValueId output : model_.graph(main.graph).outputs) {
      const auto written = written_.find(Source(output));
      if (written == written_.end()) continue;
      outputs_.Add(written->second);
      written_.erase(written);
    }
    return {parameters_.Total(), inputs_.Total(), outputs_.Total()};
  }

 private:
  ValueId Source(ValueId value) const {
    const auto it = source_.find(value);
    return it == source_.end() ? value : it->second;
  }

  // The size of a value in the narrower of its type and the precision.
  Expr BytesOfFact(const Fact& fact) const {
    if (!fact.is_tensor() || !fact.shape.ranked()) return 0;
    const DType type = fact.stored == DType::kUndefined ? fact.dtype : fact.stored;
    return FloorDiv(fact.shape.NumElements() * BitsIn(type), 8);
  }
  int64_t BitsIn(DType type) const {
    const int64_t bits = BitsPerElement(type);
    return IsFloat(type) ? std::min(bits_, bits) : bits;
  }

  void Visit(const Node& node, CallId id) {
    const Call& call = in_.call(id);
    const bool by_rule = call.def != nullptr && call.bodies.empty() && call.problem.ok();
    if (by_rule && !node.inputs.empty() && node.inputs[0] && node.outputs[0] &&
        (IsView(call) || call.constant)) {
      source_[*node.outputs[0]] = Source(*node.inputs[0]);
      if (call.constant) made_of_constants_.insert(Source(*node.inputs[0]));
      return;
    }
    if (!by_rule || call.constant) return;
    const Amounts& own = counts_.cost(id).own().amounts;
    Expr read, written;
    for (FactId fact : call.inputs) read += WholeBytes(fact);
    for (FactId fact : call.outputs) written += WholeBytes(fact);
    if (own.bytes_read == read && !IsEmpty(call)) Read(node, call);
    if (own.bytes_written != written) return;
    for (size_t j = 0; j < node.outputs.size() && j < call.outputs.size(); ++j) {
      if (node.outputs[j]) written_[*node.outputs[j]] = BytesOfFact(in_.fact(call.outputs[j]));
    }
  }

  Expr WholeBytes(FactId id) const {
    const Fact& fact = in_.fact(id);
    return fact.is_tensor() ? BytesOf(fact).value_or(0) : Expr(0);
  }

  // True if what a node writes has no element, as a tower's tokens without an image: a run may
  // leave it out.
  bool IsEmpty(const Call& call) const {
    return std::all_of(call.outputs.begin(), call.outputs.end(), [&](FactId id) {
      const Fact& fact = in_.fact(id);
      return fact.is_tensor() && fact.shape.ranked() && fact.shape.NumElements() == Expr(0);
    });
  }

  // True if a node may skip elements of an input.
  bool MayLeaveOut(const Node& node, const Call& call, size_t input) const {
    // All tokens may go to the same experts.
    constexpr size_t kFirstWeight = 2;
    if (call.def->operands.experts != 0 && input >= kFirstWeight) return true;
    if (Has(call.def->traits, Traits::kSamples)) {
      return (call.def->operands.weights >> std::min<size_t>(input, 31) & 1) == 0;
    }
    // An unread output (as of Split) need not be made, so its part of the input need not be read.
    return Has(call.def->traits, Traits::kStrided) && node.outputs.size() > 1 &&
           !std::all_of(node.outputs.begin(), node.outputs.end(), [&](OptionalValueId value) {
             return value && parts_.values.contains(*value);
           });
  }

  // For an operator that slides windows (a convolution or a pool): how many elements of its first
  // input are in a window, since strides may skip the others. nullopt for other operators.
  std::optional<Expr> ElementsInWindows(const Call& call) const {
    const CallView in(in_, call);
    const NodeView& n = in.view();
    const bool slides = n.FindAttr("strides") != nullptr || n.FindAttr("dilations") != nullptr;
    if (!slides || !n.HasInput(0) || !n.input(0).shape.ranked() || !n.output(0).shape.ranked() ||
        n.input(0).shape.rank() < 3 || n.output(0).shape.rank() != n.input(0).shape.rank()) {
      return std::nullopt;
    }
    // Operators of other domains may have their channels on another axis, so nothing is counted.
    if (!in_.model->node(call.node).domain.empty()) return Expr(0);
    const int rank = n.input(0).shape.rank();
    absl::StatusOr<Dims> kernel = KernelFromAttribute(n, rank - 2);
    for (int i = 1; !kernel.ok() && i < n.num_inputs(); ++i) {
      const bool is_weight = n.HasInput(i) && n.input(i).is_tensor() && n.input(i).shape.ranked() &&
                             n.input(i).shape.rank() == rank;
      if (is_weight) kernel = KernelFromWeight(n, n.input(i).shape);
    }
    if (!kernel.ok()) return Expr(0);
    const absl::StatusOr<Windows> windows = ReadWindows(n, *kernel);
    if (!windows.ok()) return Expr(0);
    Expr elements = n.input(0).shape[0] * n.input(0).shape[1];
    for (int axis = 2; axis < rank; ++axis) {
      // With auto_pad the file has no pads. Those that it adds keep the last elements in a window.
      elements *= onnxflops::ElementsInWindows(windows->axes[static_cast<size_t>(axis - 2)],
                                               n.input(0).shape[axis], n.output(0).shape[axis]);
    }
    return elements;
  }

  // Counts inputs and parameters, each once. For a tensor that a runtime folds, the smaller of the
  // stored tensor and the result counts: a runtime may read either.
  void Read(const Node& node, const Call& call) {
    const std::optional<Expr> in_windows = ElementsInWindows(call);
    for (size_t j = 0; j < node.inputs.size() && j < call.inputs.size(); ++j) {
      if (!node.inputs[j] || MayLeaveOut(node, call, j)) continue;
      const ValueId source = Source(*node.inputs[j]);
      const Value& value = model_.value(source);
      const bool given = value.is_graph_input || value.initializer.has_value();
      if (!given || !read_.insert(source).second) continue;
      const Fact& fact = in_.fact(call.inputs[j]);
      Expr bytes = BytesOfFact(fact);
      if (j == 0 && in_windows && *in_windows != fact.shape.NumElements()) {
        bytes = FloorDiv(*in_windows * BitsIn(fact.dtype), 8);
      }
      ExprSum& sum = value.initializer ? parameters_ : inputs_;
      if (!made_of_constants_.contains(source)) {
        sum.Add(bytes);
      } else if (value.initializer) {
        const Tensor& stored = model_.tensor(*value.initializer);
        sum.Add(Min(bytes, Expr(absl::int128(stored.elements) * BitsIn(stored.dtype) / 8)));
      }
    }
  }

  const Inference& in_;
  const ModelData& model_;
  const Counts& counts_;
  const int64_t bits_;
  ReadParts parts_;
  absl::flat_hash_map<ValueId, ValueId> source_;  // of views, and of work on constants
  absl::flat_hash_set<ValueId> made_of_constants_, read_;
  absl::flat_hash_map<ValueId, Expr> written_;
  const absl::flat_hash_set<ValueId> kept_;
  ExprSum parameters_, inputs_, outputs_;
};

// The fastest usable peak: `giga`, the one of the precision, or that of one of `others`. A program
// may use another precision if its operands are no wider. If a device has no peak for integers,
// their rate has no bound (IntegerPeak).
int64_t FastestPeak(const Device& device, int64_t giga, std::initializer_list<Precision> others) {
  for (const Precision precision : others) {
    const PeakFigure* peak = device.PeakOf(precision);
    if (peak != nullptr) giga = std::max(giga, peak->giga);
  }
  return giga;
}

// Of operands of which one has more than 4 bits. A floating-point operand beside an integer one may
// be rounded to 8 bits, as MatMulNBits does at its accuracy_level 4.
int64_t IntegerPeak(const Device& device, Precision precision, int64_t giga) {
  if (precision == Precision::kInt8 || precision == Precision::kInt4) return giga;
  if (device.PeakOf(Precision::kInt8) == nullptr) return std::numeric_limits<int64_t>::max();
  return FastestPeak(device, giga, {Precision::kInt8});
}

}  // namespace

Expr CompulsoryBytes(const Inference& inference, const Counts& counts, Precision precision) {
  const Traffic traffic = LeastTraffic(inference, counts, precision, {});
  return traffic.parameters + traffic.inputs + traffic.outputs;
}

Traffic LeastTraffic(const Inference& inference, const Counts& counts,
                     std::optional<Precision> precision, const std::vector<ValueId>& kept) {
  return CompulsoryTraffic(inference, counts, precision, kept).Moved();
}

absl::StatusOr<Roofline> RooflineOf(const Device& device, Precision precision) {
  constexpr int64_t kZsPerGiga = 1'000'000'000'000;
  const absl::int128 zs = absl::int128(kZsPerGiga) * 1'000'000'000;
  ASSIGN_OR_RETURN(const PeakFigure peak, FindPeak(device, precision));
  if (!device.bytes_per_second || *device.bytes_per_second <= 0) {
    const std::string name = Escaped(device.name);
    return absl::FailedPreconditionError(
        absl::StartsWith(device.name, "cpu:")
            ? absl::StrCat(name, " has no memory bandwidth; ", name, ":GB/s gives it")
            : absl::StrCat(name, WithSettings(" has no memory bandwidth in the table; "
                                              "{devices-file} gives one of your own")));
  }
  if (peak.giga < 1 || peak.giga > kZsPerGiga) {
    return absl::FailedPreconditionError(
        absl::StrCat(Escaped(device.name), ": a peak of ", peak.giga,
                     " GFLOP/s is outside of what a bound on time is for, 1 to 10^12"));
  }
  const int64_t half = FastestPeak(device, peak.giga, {Precision::kBf16, Precision::kFp16});
  const int64_t quarter = FastestPeak(device, half, {Precision::kFp8, Precision::kFp4});
  const int64_t integer = IntegerPeak(device, precision, peak.giga);
  const int64_t int4 = FastestPeak(device, integer, {Precision::kInt4});
  const auto zs_at = [](int64_t giga) { return absl::int128(kZsPerGiga) / giga; };
  return Roofline{zs_at(peak.giga), zs / *device.bytes_per_second,
                  zs_at(integer),   zs_at(int4),
                  zs_at(half),      zs_at(quarter)};
}

namespace {

// Sums `of(outside, times so far, instance)` over the main graph and all that it runs.
template <typename Of>
absl::StatusOr<Expr> TimeOfRun(const Inference& inference, const char* what, const Of& of) {
  const ModelData& model = *inference.model;
  const WorkLimit work(MaxSteps(model, inference.limits));
  const absl::flat_hash_set<ValueId> outside = FindOutside(model);
  std::vector<Expr> times(inference.instances.size());
  for (InstanceId id : inference.callees_first) {
    if (work.exceeded()) break;
    times[static_cast<size_t>(id)] = of(outside, times, inference.instance(id));
  }
  if (work.exceeded()) {
    return LimitError("steps-per-node",
                      absl::StrCat(what, " takes more than ", MaxSteps(model, inference.limits),
                                   " steps of arithmetic (steps-per-node)"));
  }
  if (const char* error = times[0].error()) {
    return LimitError(LimitOf(error), absl::StrCat(what, " ", error));
  }
  return times[0];
}

}  // namespace

absl::StatusOr<Expr> LeastArithmeticTime(const Inference& inference, const Counts& counts) {
  return TimeOfRun(inference, "the bound on time",
                   [&](const auto& outside, const auto& times, const Instance& instance) {
                     return LeastWork(inference, counts, outside, times).TimeOf(instance);
                   });
}

absl::StatusOr<Expr> FusedTimeEstimate(const Inference& inference, const Counts& counts,
                                       const Roofline& roofline) {
  return TimeOfRun(inference, "the estimate of time with fused operators",
                   [&](const auto& outside, const auto& times, const Instance& instance) {
                     return Fuser(inference, counts, roofline, outside, times).TimeOf(instance);
                   });
}

}  // namespace onnxflops
