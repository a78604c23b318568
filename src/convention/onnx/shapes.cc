// How it works. ONNX's own inference is not run. The graph is walked once more, and each node's own
// shape rule runs again on facts that hold only what ONNX would know: a size is a number or
// unknown. The operator's row (OpDef::onnx) tells what ONNX finds less than the rule does: only
// types, only ranks, or nothing unless certain inputs are constants. Contents are followed as
// ONNX's data propagation does it, for short lists of integers, if the option is on. What the file
// declares for a value is added.
//
// While a rule runs, every unknown size of its inputs is a symbol of its own, so that the rule
// cannot take two unknown sizes for equal. Afterwards all symbols become "unknown" again. Bodies
// and functions are walked through at each call, as ONNX does, up to a limit. In a loop all carried
// values lose their shape, since it may change from trip to trip.
#include "src/convention/onnx/shapes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/op_def.h"
#include "src/base/limits.h"
#include "src/convention/evidence.h"
#include "src/infer/budget.h"
#include "src/symbolic/work.h"

namespace onnxflops::convention {
namespace {

// Unknown sizes and elements of the inputs of one node. With more, only types are found.
constexpr size_t kMostSymbols = kMaxNodeInputs;

bool IsLiteral(const Expr& size) { return size.is_literal(); }
bool IsKnownElement(const Scalar& element) {
  return element.is_float() || (element.is_int() && element.i.is_literal());
}

// Stands for each unknown size in a fact that is kept.
const Expr& UnknownSize() {
  static const Expr& unknown = *new Expr(Expr::Symbol("unknown"));
  return unknown;
}

bool IsRanked(const Fact& fact) { return fact.is_tensor() && fact.shape.ranked(); }
bool IsWhole(const Fact& fact) {
  const Dims& dims = fact.shape.dims();
  return IsRanked(fact) && std::all_of(dims.begin(), dims.end(), IsLiteral);
}

// A fact that holds for both values.
Fact Common(const Fact& a, const Fact& b) {
  if (a.kind != b.kind) return Fact::Unknown();
  Fact common = a;
  common.DropContent();
  if (a.element != nullptr && b.element != nullptr) {
    common.element = std::make_shared<const Fact>(Common(*a.element, *b.element));
  }
  if (!a.shape.ranked() || !b.shape.ranked() || a.shape.rank() != b.shape.rank()) {
    common.shape = Shape::UnknownRank();
    return common;
  }
  for (int i = 0; i < a.shape.rank(); ++i) {
    if (a.shape[i] != b.shape[i]) common.shape[i] = UnknownSize();
  }
  return common;
}

Fact WithoutShape(Fact fact) {
  fact.DropContent();
  fact.items = nullptr;
  fact.length = std::nullopt;
  fact.shape = Shape::UnknownRank();
  if (fact.element != nullptr) {
    fact.element = std::make_shared<const Fact>(WithoutShape(*fact.element));
  }
  return fact;
}

// Combines two facts about one value.
Fact Merged(const Fact& a, const Fact& b) {
  if (!IsRanked(b)) return a;
  if (!IsRanked(a) || a.shape.rank() != b.shape.rank()) return b;
  Fact merged = a;
  for (int i = 0; i < a.shape.rank(); ++i) {
    if (!a.shape[i].is_literal()) merged.shape[i] = b.shape[i];
  }
  return merged;
}

// The fact as ONNX would keep it: everything that is not literal becomes unknown.
Fact Kept(Fact fact) {
  fact.rule = nullptr;  // ONNX follows lists alone
  for (Expr& dim : fact.shape.dims()) {
    if (!dim.is_literal()) dim = UnknownSize();
  }
  if (fact.items != nullptr && !fact.items->empty()) {
    Fact element = Kept(fact.items->front());
    for (const Fact& item : *fact.items) element = Common(element, Kept(item));
    fact.element = std::make_shared<const Fact>(std::move(element));
  } else if (fact.element != nullptr) {
    fact.element = std::make_shared<const Fact>(Kept(*fact.element));
  }
  fact.items = nullptr;
  fact.length = std::nullopt;
  return fact;
}

}  // namespace

bool IsOnnxDomain(absl::string_view domain) {
  return domain.empty() || domain == "ai.onnx.ml" || domain == "ai.onnx.preview" ||
         domain == "ai.onnx.preview.training" || domain == "ai.onnx.training";
}

// One walk through the graph, with the functions that rules call for symbols and bodies.
class OnnxShapes::Mask : public RuleHost {
 public:
  Mask(const Inference& inference, const OnnxShapeOptions& options, OnnxShapes* shapes)
      : inference_(inference),
        model_(*inference.model),
        options_(options),
        facts_(shapes->facts_),
        known_(shapes->known_),
        constant_in_(model_.values.size()),
        declared_(model_.values.size(), options.declared),
        content_left_(kMaxExtraContent + inference.limits.content_per_node *
                                             static_cast<int64_t>(model_.nodes.size())),
        visits_left_(kMaxExtraEvaluations + inference.limits.evaluations_per_node *
                                                static_cast<int64_t>(model_.nodes.size())),
        work_(MaxSteps(model_, inference.limits)) {
    known_.resize(model_.values.size(), infer::FactTable::kUnknown);
    for (const Graph& graph : model_.graphs) {
      for (ValueId id : graph.outputs) declared_[static_cast<size_t>(id)] = true;
    }
  }

  void Run() {
    const Graph& main = model_.graph(0);
    for (ValueId id : main.inputs) Set(id, FromOurs(id));
    RunGraph(inference_.instance(0));
  }

  // ---- functions for rules
  void TakesOnly(const std::string&, int64_t) override {}
  Expr FreshDim(int, int, absl::string_view, SymbolOrigin::Kind, absl::Span<const Expr>) override {
    return NextSymbol();
  }
  Expr FreshTripCount(absl::string_view, absl::Span<const Expr>) override { return NextSymbol(); }
  absl::StatusOr<BodyFacts> InferBody(absl::string_view attribute, absl::Span<const Fact> inputs,
                                      const Expr&) override {
    const size_t symbols_used = symbols_used_;
    const bool rank_lent = rank_lent_;
    Facts kept;
    for (const Fact& input : inputs) kept.push_back(Kept(input));
    for (const BodyRun& run : call_->bodies) {
      if (run.attribute != attribute) continue;
      const Call* around = call_;
      const bool done = RunBody(run, kept, {});
      call_ = around;
      symbols_used_ = symbols_used;
      rank_lent_ = rank_lent;
      if (done) return BodyFacts{OutputsOf(run)};
      break;
    }
    return absl::FailedPreconditionError("the body is not walked through");
  }

 private:
  const Fact& At(ValueId id) const { return facts_[known_[static_cast<size_t>(id)]]; }
  void Set(ValueId id, Fact fact) {
    SpendSteps(infer::FactTable::StepsOf(fact));
    known_[static_cast<size_t>(id)] = facts_.Intern(std::move(fact));
  }
  // Values that are constant outside a body are not constant inside it.
  OptionalGraphId ConstantIn(ValueId id) const { return constant_in_[static_cast<size_t>(id)]; }
  bool IsConstant(OptionalValueId id) const { return id && ConstantIn(*id) == graph_; }
  void SetConstant(ValueId id, bool constant) {
    constant_in_[static_cast<size_t>(id)] = constant ? OptionalGraphId(graph_) : kNone;
  }
  Fact FromOurs(ValueId id) const {
    const Fact* fact = inference_.FactOf(id);
    return fact == nullptr ? Fact::Unknown() : Kept(*fact);
  }

  // A symbol that no other unknown of the same node has.
  Expr NextSymbol() {
    if (symbols_used_ == symbols_.size()) {
      symbols_.push_back(Expr::Symbol(absl::StrCat("unknown ", symbols_used_)));
    }
    return symbols_[symbols_used_++];
  }

  void RunGraph(const Instance& instance) {
    const Graph& graph = model_.graph(instance.graph);
    const GraphId around = std::exchange(graph_, instance.graph);
    for (ValueId id : graph.initializers) {
      Set(id, FromOurs(id));
      SetConstant(id, true);
    }
    for (size_t i = 0; i < graph.nodes.size() && i < instance.calls.size(); ++i) {
      Follow(model_.node(graph.nodes[i]), inference_.call(instance.calls[i]));
    }
    graph_ = around;
  }

  void Follow(const Node& node, const Call& call) {
    const Facts found = FindAny(node, call);
    const bool constant = call.def != nullptr && Has(call.def->traits, Traits::kStored);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const OptionalValueId output = node.outputs[i];
      if (!output) continue;
      Set(*output, i < found.size() ? Kept(found[i]) : Fact::Unknown());
      SetConstant(*output, constant);
      if (declared_[static_cast<size_t>(*output)]) Declare(*output);
    }
  }

  // ---- bodies and functions

  // How many visits a walk through the nodes of a graph takes.
  int64_t NodeVisits(GraphId id) {
    std::optional<int64_t>& known = node_visits_[id];
    if (known) return *known;
    int64_t visits = 0;
    for (NodeId n : model_.graph(id).nodes) {
      visits += static_cast<int64_t>(EvaluationsOf(model_.node(n)));
    }
    known = visits;
    return visits;
  }

  // False once bodies and functions have been walked through as often as the limit allows.
  bool RunBody(const BodyRun& run, const Facts& inputs, const std::vector<bool>& constant) {
    const Instance& instance = inference_.instance(run.instance);
    const Graph& graph = model_.graph(instance.graph);
    visits_left_ -= 1 + static_cast<int64_t>(graph.inputs.size()) + NodeVisits(instance.graph);
    if (visits_left_ < 0) return false;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const ValueId id = graph.inputs[i];
      Set(id, i < inputs.size() ? inputs[i] : Fact::Absent());
      const bool is_constant = i < constant.size() && constant[i];
      constant_in_[static_cast<size_t>(id)] = is_constant ? OptionalGraphId(instance.graph) : kNone;
      if (graph.parent) Declare(id);
    }
    RunGraph(instance);
    return true;
  }
  Facts OutputsOf(const BodyRun& run) {
    const Graph& graph = model_.graph(inference_.instance(run.instance).graph);
    Facts outputs;
    for (ValueId id : graph.outputs) {
      outputs.push_back(At(id));
      if (ConstantIn(id)) outputs.back().DropContent();
    }
    return outputs;
  }

  Facts FindAny(const Node& node, const Call& call) {
    if (!call.bodies.empty() && call.bodies.front().attribute.empty()) {
      return CallFunction(node, call.bodies.front());
    }
    const bool is_exported_product = IsTiedProduct(model_, node);
    if (call.def == nullptr || (!is_exported_product && !IsOnnxDomain(node.domain))) return {};
    call_ = &call;
    symbols_used_ = 0;
    if (is_exported_product) return FindByRule(node, call);
    const NodeView view(model_, node, *call.def, call.opset, {}, {}, this, call.call_attributes);
    if (!HasInference(view, node.domain)) return {};
    using Finds = OnnxInference::Finds;
    const Finds finds = call.def->onnx.finds;
    if (finds == Finds::kSizes || finds == Finds::kRanks) return FindByRule(node, call);
    if (call.bodies.empty()) return {};
    if (finds == Finds::kBranches) return FindInBranches(node, call);
    if (finds == Finds::kLoop) return FindInLoop(node, call.bodies.front());
    return finds == Finds::kScan ? FindInScan(node, view, call.bodies.front()) : Facts();
  }

  Facts CallFunction(const Node& node, const BodyRun& run) {
    Facts inputs;
    std::vector<bool> constant;
    for (OptionalValueId id : node.inputs) {
      inputs.push_back(id ? At(*id) : Fact::Absent());
      constant.push_back(IsConstant(id));
    }
    return RunBody(run, inputs, constant) ? OutputsOf(run) : Facts();
  }

  // Nothing was inferred in a branch that is known not to be taken, so only types are found there.
  Facts FindInBranches(const Node& node, const Call& call) {
    const BodyRun& then = call.bodies.front();
    const BodyRun& otherwise = call.bodies.back();
    if (then.attribute == otherwise.attribute) return TypesOf(node, call);
    if (!RunBody(then, {}, {}) || !RunBody(otherwise, {}, {})) return {};
    const Facts a = OutputsOf(then), b = OutputsOf(otherwise);
    Facts outputs;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) outputs.push_back(Common(a[i], b[i]));
    return outputs;
  }

  // The input's type alone.
  Fact TypeOf(OptionalValueId id) { return id ? WithoutShape(At(*id)) : Fact::Absent(); }

  // Shapes may change from trip to trip, so carried values have no shape.
  Facts FindInLoop(const Node& node, const BodyRun& run) {
    Facts inputs = {Fact::Tensor(DType::kInt64, Shape::UnknownRank()), TypeOf(node.input(1))};
    for (size_t i = 2; i < node.inputs.size(); ++i) inputs.push_back(TypeOf(node.inputs[i]));
    if (!RunBody(run, inputs, {})) return {};
    const Facts found = OutputsOf(run);
    Facts outputs(inputs.begin() + 2, inputs.end());
    for (size_t i = outputs.size() + 1; i < found.size(); ++i) {
      outputs.push_back(found[i]);
      Dims& dims = outputs.back().shape.dims();
      if (IsRanked(outputs.back())) dims.insert(dims.begin(), UnknownSize());
    }
    return outputs;
  }

  Facts FindInScan(const Node& node, const NodeView& view, const BodyRun& run) {
    const auto scanned = static_cast<size_t>(std::max<int64_t>(view.Int("num_scan_inputs", 0), 0));
    if (scanned > node.inputs.size()) return {};
    const size_t carried = node.inputs.size() - scanned;
    const auto in_axes = view.Ints("scan_input_axes"), out_axes = view.Ints("scan_output_axes");
    Facts inputs;
    Expr length = UnknownSize();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(node.inputs[i] ? At(*node.inputs[i]) : Fact::Absent());
      inputs.back().DropContent();
      if (i < carried || !IsRanked(inputs.back())) continue;
      Dims& dims = inputs.back().shape.dims();
      const auto axis = AxisAt(in_axes, i - carried, dims.size());
      if (!axis) return {};
      if (dims[*axis].is_literal()) length = dims[*axis];
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(*axis));
    }
    if (!RunBody(run, inputs, {})) return {};
    Facts outputs = OutputsOf(run);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (i < carried) {
        outputs[i] = Merged(inputs[i], outputs[i]);
      } else if (IsRanked(outputs[i])) {
        Dims& dims = outputs[i].shape.dims();
        const auto axis = AxisAt(out_axes, i - carried, dims.size() + 1);
        if (!axis) return {};
        dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(*axis), length);
      }
    }
    return outputs;
  }

  // The i-th of the axes, made positive; axis 0 if it is not given.
  static std::optional<size_t> AxisAt(absl::Span<const int64_t> axes, size_t i, size_t rank) {
    int64_t axis = i < axes.size() ? axes[i] : 0;
    if (axis < 0) axis += static_cast<int64_t>(rank);
    if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
    return static_cast<size_t>(axis);
  }

  // ---- one node

  // True if ONNX defines the operator, with an inference, in the imported version. Exporters also
  // write newer operators.
  bool HasInference(const NodeView& view, absl::string_view domain) const {
    const OptionalFunctionId function = model_.graph(graph_).function;
    const auto& opsets = function ? model_.function(*function).opsets : model_.opsets;
    const bool newer = std::any_of(opsets.begin(), opsets.end(), [&](const auto& opset) {
      return opset.first == domain && opset.second < view.version();
    });
    return !newer && view.version() != 0 && view.version() >= view.def().onnx.since;
  }

  Facts FindByRule(const Node& node, const Call& call) {
    absl::InlinedVector<Fact, 4> inputs;
    absl::InlinedVector<const Fact*, 4> pointers;
    inputs.reserve(call.inputs.size());
    rank_lent_ = false;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      inputs.push_back(Seen(node, call, i));
      pointers.push_back(&inputs.back());
      if (symbols_used_ > kMostSymbols || work_.exceeded()) return TypesOf(node, call);
    }
    const OpDef& def = *call.def;
    const NodeView view(model_, node, def, call.opset, pointers, {}, this, call.call_attributes);
    if (!FindsAnything(view, node) || def.infer == nullptr) return TypesOf(node, call);
    absl::StatusOr<Facts> found = def.infer(view);
    if (!found.ok() || !view.status().ok()) return TypesOf(node, call);
    for (Fact& fact : *found) Restrict(view, node, &fact);
    return *std::move(found);
  }

  // Output types are found if the type of the first input is known.
  Facts TypesOf(const Node& node, const Call& call) {
    if (node.input(0) && At(*node.input(0)).kind == Fact::Kind::kUnknown) return {};
    Facts types;
    for (FactId id : call.outputs) types.push_back(WithoutShape(inference_.fact(id)));
    return types;
  }

  bool FindsAnything(const NodeView& view, const Node& node) const {
    const OpDef& def = view.def();
    return AreConstant(node, def.onnx.nothing_without & ~FollowedInputs(def, view.opset()));
  }

  // Removes facts that ONNX does not find, as the row states.
  void Restrict(const NodeView& view, const Node& node, Fact* fact) {
    using Finds = OnnxInference::Finds;
    const OnnxInference& onnx = view.def().onnx;
    const bool stored = Has(view.def().traits, Traits::kStored);
    const bool of_rank = rank_lent_ && Has(view.def().traits, Traits::kShapeOnly);
    if ((!stored && !FollowsContent(view)) || of_rank || !SpendContent(*fact)) {
      fact->DropContent();
    }
    fact->rule = nullptr;
    if (!IsRanked(*fact)) return;
    if (onnx.finds == Finds::kRanks || of_rank || !AreConstant(node, onnx.ranks_without)) {
      for (Expr& dim : fact->shape.dims()) dim = UnknownSize();
    }
  }

  static bool Follows(const OpDef& def, int opset) {
    return def.onnx.follows_since != 0 && opset >= def.onnx.follows_since;
  }
  // From its version on, whatever the option: of such an input, the length is enough for a rank.
  static uint32_t FollowedInputs(const OpDef& def, int opset) {
    return opset >= def.onnx.followed_since ? def.onnx.followed_inputs : 0;
  }
  bool FollowsContent(const NodeView& view) const {
    if (!options_.data_propagation || !Follows(view.def(), view.opset())) return false;
    const uint32_t contents = view.def().onnx.followed_inputs;
    for (int i = 0; i < view.num_inputs() && i < 32; ++i) {
      if ((contents >> i & 1) != 0 && !view.input(i).has_content()) return false;
    }
    return true;
  }
  bool AreConstant(const Node& node, uint32_t inputs) const {
    for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
      if ((inputs >> i & 1) != 0 && node.input(i) && !IsConstant(node.input(i))) return false;
    }
    return true;
  }

  // Elements of contents that are looked at; one element always is.
  bool SpendContent(const Fact& fact) {
    if (!fact.has_content() || fact.content->size() <= 1) return true;
    content_left_ -= static_cast<int64_t>(fact.content->size());
    return content_left_ >= 0;
  }

  // An input of a node as its rule shall see it: unlike sizes and elements that are not known have
  // unlike symbols.
  Fact Seen(const Node& node, const Call& call, size_t i) {
    const OptionalValueId id = node.input(i);
    if (!id) return Fact::Absent();
    SpendSteps(1 + At(*id).shape.dims().size());  // contents are shared
    Fact fact = LendRank(*call.def, i, inference_.fact(call.inputs[i]), At(*id));
    for (Expr& dim : fact.shape.dims()) {
      if (!dim.is_literal()) dim = NextSymbol();
    }
    if (fact.element != nullptr) {
      Fact element = *fact.element;
      for (Expr& dim : element.shape.dims()) {
        if (!dim.is_literal()) dim = NextSymbol();
      }
      fact.element = std::make_shared<const Fact>(std::move(element));
    }
    if (ConstantIn(*id) && !IsConstant(id)) fact.DropContent();
    SeeContent(*call.def, call.opset, i, IsConstant(id), &fact);
    return fact;
  }

  // If ONNX's inference does not need a rank, but our rule does, the rule gets the true one.
  Fact LendRank(const OpDef& def, size_t i, const Fact& ours, const Fact& known) {
    const bool any_rank = i < 32 && (def.onnx.any_rank_inputs >> i & 1) != 0;
    const bool typed = known.is_tensor() || Has(def.traits, Traits::kShapeOnly);
    if (!any_rank || !typed || IsRanked(known) || !IsRanked(ours)) return known;
    rank_lent_ = true;
    return Fact::Tensor(ours.dtype, Shape(Dims(ours.shape.dims().size(), UnknownSize())));
  }

  void SeeContent(const OpDef& def, int opset, size_t i, bool constant, Fact* fact) {
    const uint32_t bit = i < 32 ? uint32_t{1} << i : 0;
    const bool decides = (def.shape_inputs & bit) != 0;
    const bool followed = decides ? (FollowedInputs(def, opset) & bit) != 0 : Follows(def, opset);
    if (constant && (decides || !followed)) {
      if (!SpendContent(*fact)) fact->DropContent();
      return;
    }
    // Only lists of integers and single integers are followed.
    if (!followed || !options_.data_propagation || !IsRanked(*fact) || fact->shape.rank() > 1 ||
        (constant && !IsInteger(fact->dtype)) || !SpendContent(*fact)) {
      fact->DropContent();
    }
    if (followed && content_left_ >= 0) SymbolsForUnknown(fact);
  }

  // A list of known length gets a symbol for each unknown element.
  void SymbolsForUnknown(Fact* fact) {
    if (!IsRanked(*fact) || fact->shape.rank() > 1) return;
    Content content;
    if (fact->has_content()) {
      if (std::all_of(fact->content->begin(), fact->content->end(), IsKnownElement)) return;
      content = *fact->content;
    } else {
      if (fact->shape.rank() != 1 || !IsInteger(fact->dtype)) return;
      const std::optional<int64_t> size = fact->shape[0].AsInt64();
      if (!size || *size < 0 || *size > kMaxIntContent) return;
      content_left_ -= *size;
      content.resize(static_cast<size_t>(*size));
    }
    for (Scalar& element : content) {
      if (!IsKnownElement(element)) element = Scalar::Int(NextSymbol());
    }
    fact->content = std::make_shared<const Content>(std::move(content));
  }

  // Adds the file's declaration of the value.
  void Declare(ValueId id) {
    const DeclaredType* type = model_.value(id).declared;
    if (type == nullptr || type->kind != TypeKind::kTensor) return;
    Fact known = At(id);
    if (known.kind == Fact::Kind::kUnknown) known = Fact::Tensor(type->dtype, Shape::UnknownRank());
    if (!known.is_tensor()) return;
    const Fact* ours = inference_.FactOf(id);
    const bool fits = type->has_shape && ours != nullptr && IsRanked(*ours) &&
                      type->dims.size() == ours->shape.dims().size();
    if (fits && !known.shape.ranked()) known.shape = Shape(Dims(type->dims.size(), UnknownSize()));
    Dims& dims = known.shape.dims();
    for (size_t i = 0; fits && i < type->dims.size() && i < dims.size(); ++i) {
      if (type->dims[i].size >= 0) dims[i] = type->dims[i].size;
    }
    Set(id, std::move(known));
  }

  const Inference& inference_;
  const ModelData& model_;
  const OnnxShapeOptions options_;
  infer::FactTable& facts_;
  std::vector<FactId>& known_;
  GraphId graph_ = 0;                         // the graph being walked
  std::vector<OptionalGraphId> constant_in_;  // by ValueId: initializers, and of a Constant
  std::vector<bool> declared_;                // by ValueId: its declared type is added
  int64_t content_left_;
  int64_t visits_left_;  // of nodes in bodies and functions
  absl::flat_hash_map<GraphId, std::optional<int64_t>> node_visits_;  // of a graph that was run
  const Call* call_ = nullptr;                                        // whose rule runs
  bool rank_lent_ = false;                                            // to one of its inputs
  std::vector<Expr> symbols_;                                         // for one node at a time
  size_t symbols_used_ = 0;
  const WorkLimit work_;
};

const Fact& OnnxShapes::of(OptionalValueId value) const {
  static const Fact& nothing = *new Fact(Fact::Unknown());
  return value ? facts_[known_[static_cast<size_t>(*value)]] : nothing;
}

bool OnnxShapes::IsKnown(OptionalValueId value) const { return !value || IsWhole(of(value)); }

OnnxShapes::OnnxShapes(const Inference& inference, const OnnxShapeOptions& options) {
  Mask(inference, options, this).Run();
  for (NodeId id : inference.model->graph(0).nodes) {
    const auto& outputs = inference.model->node(id).outputs;
    const bool known = std::all_of(outputs.begin(), outputs.end(),
                                   [&](OptionalValueId output) { return IsKnown(output); });
    if (known) continue;
    first_doubt_ = id;
    return;
  }
}

}  // namespace onnxflops::convention
