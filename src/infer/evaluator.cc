#include "src/infer/evaluator.h"

#include <algorithm>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/base/utf8.h"
#include "src/infer/body_facts.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {

namespace {

// Marks an error that already names file and node, so that it is wrapped once.
constexpr char kExplained[] = "onnxflops/explained";

bool IsFatal(const absl::Status& status) {
  return !absl::IsFailedPrecondition(status) && !absl::IsUnimplemented(status);
}

int64_t OpsetIn(const Frame& frame, absl::string_view domain) {
  if (domain.empty()) return frame.default_opset;
  for (const auto& [name, version] : *frame.opsets) {
    if (name == domain) return version;
  }
  return 1;  // files leave out the import of com.microsoft; its operators are of version 1
}

// Whether looking at the content of inputs can change what the operator yields.
bool ContentMatters(const OpDef& def, const FactTable& facts, const FactIds& inputs) {
  if (def.evaluate == nullptr) return true;
  return std::all_of(inputs.begin(), inputs.end(), [&](FactId id) { return facts.HasContent(id); });
}

// Tools that raise the opset of a file leave an attribute `axes` behind that became an input: its
// meaning is plain. What to say of a node that has one; empty if nothing.
std::string OldAxesWarning(const Node& node, const Call& call) {
  const int since = call.def->axes_attribute_before;
  if (since == 0 || call.opset < since || node.FindAttribute("axes") == nullptr) return "";
  return absl::StrCat(node.op_type, " has the attribute axes, as before opset ", since,
                      ", but the file declares opset ", call.opset,
                      ": using its definition before opset ", since);
}

// One, and more where lists of inputs and outputs, names or attributes are long.
size_t EvaluationsOf(const Node& node) {
  size_t bytes =
      node.name.size() + node.op_type.size() + node.domain.size() + node.attribute_bytes.size();
  if (!node.attributes_comparable) {
    for (const Attribute& a : node.attributes) {
      bytes += a.s.size() + 4 * a.floats.size() + 8 * a.ints.size() + 8 * a.strings.size();
    }
  }
  return 1 + (node.inputs.size() + node.outputs.size()) / kValuesPerEvaluation +
         (bytes > kFreeBytes ? (bytes - kFreeBytes) / kBytesPerEvaluation : 0);
}

}  // namespace

bool IsExplained(const absl::Status& status) { return status.GetPayload(kExplained).has_value(); }

Evaluator::Evaluator(const Model& model, const InferOptions& options)
    : model_(model),
      data_(*model_),
      options_(options),
      rows_(options.operators),
      values_(data_.values.size()),
      tensor_facts_(data_.tensors.size()),
      attributes_(std::make_shared<std::deque<std::vector<Attribute>>>()),
      work_(MaxSteps(data_, options.limits)) {
  size_t once = data_.tensors.size() + data_.graphs.size();
  for (const Node& node : data_.nodes) once += EvaluationsOf(node);
  evaluations_left_ =
      kMaxExtraEvaluations + options_.limits.evaluations_per_node * static_cast<int64_t>(once);
}

absl::StatusOr<Inference> Evaluator::Run() {
  result_.model = model_;
  result_.rules = options_.operators.rules;
  result_.limits = options_.limits;
  RETURN_IF_ERROR(BindInputs());
  if (const absl::Status work = CheckWork(); !work.ok()) {
    return WithMessage(work, absl::StrCat(Escaped(data_.path), ": its inputs: ", work.message()));
  }
  Frame frame;
  frame.opsets = &data_.opsets;
  frame.default_opset = data_.OpsetOf("").value_or(0);
  memo_.reserve(1024);
  ASSIGN_OR_RETURN(const InstanceId main, RunGraph(0, frame));
  static_cast<void>(main);
  RETURN_IF_ERROR(CheckOptions());
  result_.facts = std::move(facts_).Release();
  result_.values = std::move(values_);
  result_.symbols = symbols_.Open();
  result_.attribute_storage = attributes_;
  MarkShapeWork(&result_);
  WarnOfOfficialBodies();
  return std::move(result_);
}

absl::Status Evaluator::Spend(size_t evaluations) {
  evaluations_left_ -= static_cast<int64_t>(evaluations);
  if (evaluations_left_ >= 0) return absl::OkStatus();
  return LimitError(
      "evaluations-per-node",
      absl::StrCat(Escaped(data_.path),
                   ": bodies and functions are evaluated more often than the limit allows "
                   "(evaluations-per-node = ",
                   options_.limits.evaluations_per_node, ")"));
}

absl::Status Evaluator::CheckWork() const {
  if (work_.exceeded()) {
    return LimitError("steps-per-node", absl::StrCat("with it the sizes take more than ",
                                                     MaxSteps(data_, options_.limits),
                                                     " steps of arithmetic (steps-per-node)"));
  }
  const size_t most = kMaxExtraSymbols + kMaxSymbolsPerNode * data_.nodes.size();
  if (symbols_.size() > most) {
    return LimitError("symbols-per-node", absl::StrCat("with it there are more than ", most,
                                                       " open sizes (symbols-per-node)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<InstanceId> Evaluator::RunGraph(GraphId graph_id, const Frame& frame) {
  const Graph& graph = data_.graph(graph_id);
  const auto instance = static_cast<InstanceId>(result_.instances.size());
  result_.instances.push_back({graph_id, {}, {}});
  RETURN_IF_ERROR(Spend(kEvaluationsPerCall + graph.initializers.size()));
  for (ValueId v : graph.initializers) {
    const Value& value = data_.value(v);
    if (value.is_graph_input && graph_id == 0) continue;  // BindInputs has decided
    if (!value.initializer) continue;
    OptionalFactId& known = tensor_facts_[static_cast<size_t>(*value.initializer)];
    if (!known) {
      Fact fact = FactOf(data_.tensor(*value.initializer));
      DropContentBeyondLimit(&fact);
      known = facts_.Intern(std::move(fact));
    }
    FactIdOf(v) = known;
  }
  std::vector<CallId> calls;
  calls.reserve(graph.nodes.size());
  for (NodeId node : graph.nodes) {
    RETURN_IF_ERROR(Spend(EvaluationsOf(data_.node(node))));
    ASSIGN_OR_RETURN(const CallId call, EvalNode(node, frame));
    calls.push_back(call);
  }
  result_.instance(instance).calls = std::move(calls);
  result_.callees_first.push_back(instance);
  return instance;
}

FactIds Evaluator::GatherInputs(const Node& node) {
  FactIds inputs;
  for (OptionalValueId v : node.inputs) {
    inputs.push_back(v ? FactIdOf(*v).value_or(FactTable::kUnknown) : FactTable::kAbsent);
  }
  while (!inputs.empty() && inputs.back() == FactTable::kAbsent) inputs.pop_back();
  return inputs;
}

absl::StatusOr<CallId> Evaluator::EvalNode(NodeId id, const Frame& frame) {
  const Node& node = data_.node(id);
  const FactIds inputs = GatherInputs(node);
  absl::StatusOr<CallId> call =
      node.function ? CallFunction(id, frame, inputs) : ApplyOperator(id, frame, inputs);
  if (!call.ok()) return call.status();
  if (const absl::Status work = CheckWork(); !work.ok()) {
    return Explain(work, id, result_.call(*call).opset, inputs);
  }
  const Call& done = result_.call(*call);
  SetOutputs(node, done);
  if (frame.depth == 0 && !done.bodies.empty()) NameInnerSymbols(node, done);
  return call;
}

void Evaluator::NameInnerSymbols(const Node& node, const Call& call) {
  for (size_t i = 0; i < node.outputs.size() && i < call.outputs.size(); ++i) {
    const Fact& fact = facts_[call.outputs[i]];
    if (!node.outputs[i] || !fact.is_tensor() || !fact.shape.ranked()) continue;
    const absl::string_view name = data_.value(*node.outputs[i]).name;
    for (int axis = 0; axis < fact.shape.rank(); ++axis) {
      symbols_.ComesOut(fact.shape[axis], name, axis);
    }
  }
}

void Evaluator::SetOutputs(const Node& node, const Call& call) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i]) continue;
    FactIdOf(*node.outputs[i]) = i < call.outputs.size() ? call.outputs[i] : FactTable::kUnknown;
  }
}

Place Evaluator::PlaceIn(const Frame& frame, NodeId node) const {
  std::vector<std::string> parts;
  const auto add = [&](absl::string_view part) {
    parts.emplace_back(Utf8Prefix(part, kMaxSymbolName));
  };
  add(PlaceOf(data_, node));
  Place place{absl::StrCat(node), ""};
  for (const Frame* at = &frame; at->caller != nullptr; at = at->caller) {
    absl::StrAppend(&place.key, at->trip >= 0 ? "t" : "n", at->trip >= 0 ? at->trip : *at->via);
    if (at->trip >= 0) {
      parts.push_back(absl::StrCat("trip ", at->trip));
    } else {
      add(PlaceOf(data_, *at->via));
    }
  }
  const std::string whole = absl::StrJoin(parts.rbegin(), parts.rend(), "/");
  place.text = std::string(WrittenPrefix(whole, kMaxSymbolName));
  if (place.text.size() < whole.size()) place.text += "...";
  return place;
}

CallId Evaluator::AddCall(Call call) {
  result_.calls.push_back(std::move(call));
  return static_cast<CallId>(result_.calls.size() - 1);
}

absl::StatusOr<CallId> Evaluator::ApplyOperator(NodeId id, const Frame& frame,
                                                const FactIds& inputs) {
  const Node& node = data_.node(id);
  const int64_t declared_opset = OpsetIn(frame, node.domain);
  const OperatorRow& found = rows_.Find(node.domain, node.op_type, declared_opset);
  const int64_t opset = found.opset;
  if (found.is_newer) {
    Warn(absl::StrCat(node.op_type, " exists from opset ", found.def->versions.front(),
                      ", but the file declares opset ", declared_opset, ": using its opset ", opset,
                      " definition"));
  }
  const auto make_call = [&] {
    Call call;
    call.node = id;
    call.def = found.def;
    call.opset = static_cast<int>(std::min<int64_t>(opset, INT32_MAX));
    call.call_attributes = frame.call_attributes;
    return call;
  };
  if (found.def == nullptr) {
    Call call = make_call();
    call.problem = absl::UnimplementedError(
        found.known_name
            ? absl::StrCat("operator ", Escaped(node.op_type), " has no form at opset ", opset)
            : absl::StrCat(
                  "no rule for operator ", Escaped(node.op_type),
                  node.domain.empty() ? "" : absl::StrCat(" of domain ", Escaped(node.domain))));
    call.inputs = inputs;
    RETURN_IF_ERROR(Spend(kEvaluationsPerCall));
    RETURN_IF_ERROR(TakeOutputs(frame, Facts{}, &call));
    return AddCall(std::move(call));
  }
  const bool shareable = node.attributes_comparable && !node.has_graphs &&
                         !Has(found.def->traits, Traits::kNotMemoised);
  Key key{found.def, opset, frame.attributes_id, node.outputs.size(), node.attribute_bytes, inputs};
  if (!ContentMatters(*found.def, facts_, inputs)) {
    for (FactId& fact : key.inputs) fact = facts_.WithoutContent(fact);
  }
  if (shareable) {
    if (const auto known = memo_.find(key); known != memo_.end()) return known->second;
  }
  Call call = make_call();
  bool fresh = false;
  RETURN_IF_ERROR(RunRule(&call, frame, inputs, &fresh));
  const CallId added = AddCall(std::move(call));
  if (shareable && !fresh) memo_.emplace(std::move(key), added);
  return added;
}

void Evaluator::WarnOfOfficialBodies() {
  absl::btree_set<std::string> operators;
  for (const Call& call : result_.calls) {
    const Node& node = data_.node(call.node);
    if (!node.function || !data_.function(*node.function).official) continue;
    operators.insert(node.domain.empty() ? std::string(node.op_type)
                                         : absl::StrCat(node.domain, ".", node.op_type));
  }
  for (const std::string& name : operators) {
    Warn(absl::StrCat(name, " has no rule: counted through its official function body"));
  }
}

void Evaluator::Warn(std::string warning) {
  if (!warning.empty() && warned_.insert(warning).second) {
    result_.warnings.push_back(std::move(warning));
  }
}

absl::Status Evaluator::RunRule(Call* call, const Frame& frame, const FactIds& inputs,
                                bool* fresh) {
  const Node& node = data_.node(call->node);
  RETURN_IF_ERROR(Spend(kEvaluationsPerCall));
  call->inputs = inputs;
  absl::InlinedVector<const Fact*, 8> facts;
  call->from_shapes = !inputs.empty();
  call->constant = !Has(call->def->traits, Traits::kRandom);
  for (FactId id : inputs) {
    const Fact& fact = facts_[id];
    facts.push_back(&fact);
    SpendSteps(FactTable::StepsOf(fact));
    call->constant = call->constant && (fact.absent() || fact.constant);
    call->from_shapes = call->from_shapes && (fact.absent() || fact.from_shapes);
  }
  call->from_shapes = call->from_shapes || call->constant;
  Host host(this, frame, call);
  NodeView view(data_, node, *call->def, call->opset, facts, {}, &host, frame.call_attributes);
  const int64_t fresh_before = symbols_.fresh_uses();
  absl::StatusOr<Facts> outputs = absl::UnimplementedError(call->def->note);
  if (Has(call->def->traits, Traits::kControlFlow) && call->def->infer == nullptr) {
    outputs = InferControlFlow(view, frame, call);
  } else if (call->def->infer != nullptr) {
    outputs = call->def->infer(view);
  }
  *fresh = symbols_.fresh_uses() != fresh_before;
  Warn(OldAxesWarning(node, *call));
  if (outputs.ok() && !view.status().ok()) outputs = view.status();
  if (outputs.ok() || !IsFatal(outputs.status())) {
    if (outputs.ok() && Has(call->def->traits, Traits::kUnknown)) {
      call->problem = absl::UnimplementedError(call->def->note);
    }
    const absl::Status taken = TakeOutputs(frame, std::move(outputs), call);
    return taken.ok() ? taken : Explain(taken, call->node, call->opset, inputs);
  }
  return Explain(outputs.status(), call->node, call->opset, inputs);
}

absl::Status Evaluator::TakeOutputs(const Frame& frame, absl::StatusOr<Facts> facts, Call* call) {
  const Node& node = data_.node(call->node);
  static_cast<void>(frame);
  if (!facts.ok()) {
    call->problem = facts.status();
    facts = Facts{};
  }
  // What Shape and Size give depends on shapes only, whatever they are applied to.
  const bool is_shape = call->def != nullptr && Has(call->def->traits, Traits::kShapeOnly);
  // A body also computes from what it captures: then its outputs tell, not the inputs.
  if (!call->bodies.empty()) {
    for (const Fact& fact : *facts) {
      call->constant = call->constant && fact.constant;
      call->from_shapes = call->from_shapes && fact.from_shapes;
    }
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    Fact fact = i < facts->size() ? std::move((*facts)[i]) : Fact::Unknown();
    if (node.outputs[i] &&
        (fact.kind == Fact::Kind::kUnknown || (fact.is_tensor() && !fact.shape.ranked()))) {
      fact = FallbackFact(*node.outputs[i]);
    }
    RETURN_IF_ERROR(CheckFact(fact, i));
    fact.constant = call->constant;
    fact.from_shapes = call->from_shapes || is_shape;
    DropContentBeyondLimit(&fact);
    call->outputs.push_back(facts_.Intern(std::move(fact)));
  }
  const int64_t max_terms =
      kMaxExtraTerms + options_.limits.terms_per_node * static_cast<int64_t>(data_.nodes.size());
  if (facts_.terms() > max_terms) {
    return LimitError("terms-per-node", absl::StrCat("with it the shapes have more than ",
                                                     max_terms, " terms in all (terms-per-node)"));
  }
  return absl::OkStatus();
}

void Evaluator::DropContentBeyondLimit(Fact* fact) {
  const int64_t elements = FactTable::ContentOf(*fact);
  if (elements <= 1) return;
  const int64_t most = kMaxExtraContent +
                       options_.limits.content_per_node * static_cast<int64_t>(data_.nodes.size());
  if (facts_.content_elements() + elements <= most) return;
  *fact = WithoutContent(std::move(*fact));
  fact->items = nullptr;
  Warn(absl::StrCat("small tensors have more than ", most,
                    " values; sizes that depend on them stay symbols (raise it with --limit "
                    "content-per-node=N)"));
}

// What the file itself declares of an output that no rule could infer.
Fact Evaluator::FallbackFact(ValueId output) const {
  const DeclaredType* declared = data_.value(output).declared;
  if (declared == nullptr || declared->kind != TypeKind::kTensor) return Fact::Unknown();
  Fact fact = Fact::Tensor(declared->dtype, Shape::UnknownRank());
  if (!declared->has_shape) return fact;
  Shape shape;
  for (const DeclaredDim& dim : declared->dims) {
    if (dim.size < 0) return fact;
    shape.push_back(dim.size);
  }
  fact.shape = std::move(shape);
  return fact;
}

absl::Status Evaluator::CheckFact(const Fact& fact, size_t output) const {
  if (!fact.is_tensor() || !fact.shape.ranked()) return absl::OkStatus();
  if (fact.shape.rank() > kMaxRank) {
    return LimitError("rank", absl::StrCat("output ", output, " has rank ", fact.shape.rank(),
                                           ", above the limit rank = ", kMaxRank));
  }
  for (const Expr& dim : fact.shape.dims()) {
    if (dim.error() != nullptr) {
      return LimitError(LimitOf(dim.error()),
                        absl::StrCat("a dimension of output ", output, " ", dim.error()));
    }
    if (dim.is_literal() && (dim.literal() < 0 || dim.literal() > kMaxElements)) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", output, " would have shape ", fact.shape.ToString()));
    }
  }
  if (fact.content != nullptr) {
    for (const Scalar& scalar : *fact.content) {
      if (scalar.is_int() && scalar.i.error() != nullptr) {
        return LimitError(LimitOf(scalar.i.error()),
                          absl::StrCat("an element of output ", output, " ", scalar.i.error()));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Evaluator::Explain(const absl::Status& local, NodeId id, int64_t opset,
                                const FactIds& inputs) const {
  if (IsExplained(local)) return local;
  // Beyond the limit sizes are wrong, and so is what a rule says of them.
  if (const absl::Status work = CheckWork(); !work.ok() && local != work) {
    return Explain(work, id, opset, inputs);
  }
  const Node& node = data_.node(id);
  std::string text = absl::StrCat(Escaped(data_.path), ": ", DescribeNode(data_, id));
  if (!text.empty() && text.back() == ')') {
    text.pop_back();
    absl::StrAppend(&text, ", opset ", opset, ")");
  }
  absl::StrAppend(&text, ": ", Printable(local.message()));
  constexpr size_t kMaxShownInputs = 16;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!node.inputs[i]) continue;
    if (i == kMaxShownInputs) {
      absl::StrAppend(&text, "\n  and ", inputs.size() - i, " more");
      break;
    }
    absl::StrAppend(&text, "\n  input ", Escaped(data_.value(*node.inputs[i]).name), "  ",
                    Escaped(facts_[inputs[i]].ToString()));
  }
  absl::Status explained = WithMessage(local, text);
  explained.SetPayload(kExplained, absl::Cord("1"));
  return explained;
}

std::string DescribeCall(const Inference& inference, const Call& call, NodeId node) {
  std::string text = DescribeNode(*inference.model, node);
  if (!text.empty() && text.back() == ')') {
    text.pop_back();
    absl::StrAppend(&text, ", opset ", call.opset, ")");
  }
  return text;
}

namespace {

// A binding can be what a file contradicts: exporters write sizes of the traced example into a file
// that declares them as symbols. Then the file is consistent without it, and that is worth saying.
absl::Status BlameBindings(const Model& model, const InferOptions& options, absl::Status failed) {
  InferOptions open = options;
  open.dims.clear();
  open.input_shapes.clear();
  if (!absl::IsInvalidArgument(failed) || !IsExplained(failed) ||
      !Evaluator(model, open).Run().ok()) {
    return failed;
  }
  std::vector<std::string> given;
  for (const auto& [name, size] : options.dims) {
    given.push_back(absl::StrCat(TypedSymbol(name), " = ", size));
  }
  for (const auto& [name, dims] : options.input_shapes) {
    given.push_back(absl::StrCat(Escaped(name), " = ", Shape(dims).ToString()));
  }
  absl::string_view rest = failed.message();
  absl::ConsumePrefix(&rest, absl::StrCat(Escaped(model->path), ": "));
  return WithMessage(
      failed,
      absl::StrCat(Escaped(model->path), ": ", absl::StrJoin(given, ", "),
                   given.size() == 1 ? " does" : " do",
                   " not fit this model (it fixes what it declares as a symbol):\n  ", rest));
}

}  // namespace

int64_t MaxSteps(const ModelData& model, const Limits& limits) {
  return kMaxExtraSteps + limits.steps_per_node * static_cast<int64_t>(model.nodes.size());
}

absl::StatusOr<Inference> Infer(const Model& model, const InferOptions& options) {
  absl::StatusOr<Inference> inference = Evaluator(model, options).Run();
  if (inference.ok() || (options.dims.empty() && options.input_shapes.empty())) return inference;
  return BlameBindings(model, options, inference.status());
}

}  // namespace onnxflops
