// How it works. Finds the row of a node's operator at its opset, runs the row's shape rule and
// interns the output facts. Results are shared: a call with the same row, attributes and input
// facts gives the same outputs, so 24 equal layers are inferred once. Content is not part of that
// key if it cannot matter. Two kinds of results are not shared: those with fresh symbols, since
// these have unique names, and outputs for which the declared type of the file was used.
//
// If a rule fails because something is unknown, or if there is no rule, this is not an error: the
// outputs fall back to the declared types and the call carries the problem. Any other failure means
// that the model is wrong. It ends inference with an error that names the node. All outputs are
// checked against limits here, so that rules need not do so.
//
// A call is `constant` if all its inputs are, and `from_shapes` if all are shapes or constants:
// later stages use this to tell shape arithmetic and foldable work from real work.
#include "src/infer/operator_caller.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/infer/body_facts.h"
#include "src/infer/control_flow.h"
#include "src/infer/fit_sizes.h"
#include "src/symbolic/work.h"

namespace onnxflops::infer {

namespace {

bool IsFatal(const absl::Status& status) {
  return !absl::IsFailedPrecondition(status) && !absl::IsUnimplemented(status);
}

// True if the content of inputs can change the operator's outputs.
bool ContentMatters(const OpDef& def, const FactTable& facts, const FactIds& inputs) {
  if (def.evaluate == nullptr) return true;
  return std::all_of(inputs.begin(), inputs.end(),
                     [&](FactId id) { return facts.HasContent(id) || facts[id].absent(); });
}

// Tools that raise the opset of a file leave an attribute `axes` that has become an input. Its
// meaning is clear, so it is used with this warning; empty if the node has no such attribute.
std::string OldAxesWarning(const Node& node, const Call& call) {
  const int since = call.def->axes_attribute_before;
  if (since == 0 || call.opset < since || node.FindAttribute("axes") == nullptr) return "";
  return absl::StrCat(node.op_type, " has the attribute axes, as before opset ", since,
                      ", but the file declares opset ", call.opset,
                      ": using its definition before opset ", since);
}

// TorchScript's exporter writes negative axes as in the source: permute(0, -2, -1, 1).
std::string NegativePermWarning(const Node& node) {
  const Attribute* perm = node.FindAttribute("perm");
  if (perm == nullptr ||
      std::none_of(perm->ints.begin(), perm->ints.end(), [](int64_t axis) { return axis < 0; })) {
    return "";
  }
  return absl::StrCat(node.op_type,
                      " has a perm with axes below 0, which ONNX Runtime refuses: counted from the "
                      "last axis");
}

// The origin of a sequence or optional also covers its items. The items' own origins are dropped,
// because they would make equal sequences differ.
void DropOriginsWithin(Fact* fact) {
  const auto has_origin = [](const Fact& held) { return held.constant || held.from_shapes; };
  if (fact->element != nullptr && has_origin(*fact->element)) {
    fact->element = std::make_shared<const Fact>(WithoutOrigin(*fact->element));
  }
  if (fact->items == nullptr || absl::c_none_of(*fact->items, has_origin)) return;
  std::vector<Fact> items;
  for (const Fact& item : *fact->items) items.push_back(WithoutOrigin(item));
  fact->items = std::make_shared<const std::vector<Fact>>(std::move(items));
}

// The part of inference that rules see. Also records the bodies that a rule ran.
class Host final : public RuleHost {
 public:
  Host(Session* session, BodyRunner* runner, const Frame& frame, Call* call)
      : session_(*session), runner_(*runner), frame_(frame), call_(*call) {}

  Expr FreshDim(int output, int axis, absl::string_view hint, SymbolOrigin::Kind kind,
                absl::Span<const Expr> at_most) override {
    if (kind == SymbolOrigin::Kind::kSizes && !FollowsFromSizes()) kind = SymbolOrigin::Kind::kData;
    absl::string_view tensor;
    if (const OptionalValueId v = node().output(static_cast<size_t>(output))) {
      tensor = session_.model().value(*v).name;
    }
    return Fresh(kind, hint, output, tensor, axis, at_most);
  }

  Expr FreshTripCount(absl::string_view hint, absl::Span<const Expr> at_most) override {
    absl::string_view tensor;
    for (OptionalValueId v : node().outputs) {
      if (v && tensor.empty()) tensor = session_.model().value(*v).name;
    }
    constexpr int kNoOutput = -1;
    return Fresh(SymbolOrigin::Kind::kTripCount, hint, kNoOutput, tensor, 0, at_most);
  }

  absl::StatusOr<BodyFacts> InferBody(absl::string_view attribute, absl::Span<const Fact> inputs,
                                      const Expr& times) override {
    const Attribute* body = node().FindAttribute(attribute);
    if (body == nullptr || body->graphs.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("attribute ", attribute, " holds no graph"));
    }
    FactIds ids;
    for (const Fact& input : inputs) ids.push_back(session_.facts().Intern(input));
    ASSIGN_OR_RETURN(const BodyResult run,
                     runner_.Run(body->graphs[0], ids, FactTable::kUnknown, FrameOfBody(frame_)));
    call_.bodies.push_back({run.instance, times, true, body->name});
    return BodyFacts{session_.FactsOf(run.outputs)};
  }

  // A branch may run at other sizes only, so only nodes of the main graph decide.
  void TakesOnly(const std::string& symbol, int64_t size) override {
    if (frame_.depth == 0) session_.symbols().TakesOnly(symbol, size, call_.node);
  }

 private:
  const Node& node() const { return session_.model().node(call_.node); }
  // True if the inputs that decide the sizes of outputs depend on shapes and constants alone.
  bool FollowsFromSizes() const {
    const uint32_t deciding = call_.def == nullptr ? 0 : call_.def->shape_inputs;
    if (deciding == 0) return call_.from_shapes;
    for (size_t i = 0; i < call_.inputs.size() && i < 32; ++i) {
      const Fact& fact = session_.facts()[call_.inputs[i]];
      if ((deciding >> i & 1) != 0 && !fact.absent() && !fact.from_shapes) return false;
    }
    return true;
  }
  Expr Fresh(SymbolOrigin::Kind kind, absl::string_view hint, int output, absl::string_view tensor,
             int axis, absl::Span<const Expr> at_most) {
    return session_.symbols().Fresh(kind, hint, PlaceIn(session_.model(), frame_, call_.node),
                                    output, tensor, axis, frame_.depth > 0, at_most);
  }

  Session& session_;
  BodyRunner& runner_;
  const Frame& frame_;
  Call& call_;
};

}  // namespace

OperatorCaller::OperatorCaller(Session* session, BodyRunner* runner)
    : session_(*session),
      runner_(*runner),
      rows_(session->options().operators),
      max_terms_(kMaxExtraTerms + session->options().limits.terms_per_node *
                                      static_cast<int64_t>(session->model().nodes.size())) {
  memo_.Reserve(1024);
}

absl::StatusOr<CallId> OperatorCaller::CallOperator(NodeId id, const Frame& frame,
                                                    const FactIds& inputs) {
  const Node& node = session_.model().node(id);
  const int64_t declared_opset = node.opset > 0 ? node.opset : frame.OpsetOf(node.domain);
  const resolve::OperatorRow row = rows_.Find(node.domain, node.op_type, declared_opset);
  if (row.is_newer) {
    session_.Warn(absl::StrCat(node.op_type, " exists from opset ", row.def->versions.front(),
                               ", but the file declares opset ", declared_opset,
                               ": using its opset ", row.opset, " definition"));
  }
  const auto make_call = [&] {
    Call call;
    call.node = id;
    call.def = row.def;
    call.opset = static_cast<int>(std::min<int64_t>(row.opset, INT32_MAX));
    call.call_attributes = frame.call_attributes;
    return call;
  };
  if (row.def == nullptr) {
    Call call = make_call();
    call.inputs = inputs;
    return CallUnknown(std::move(call), row);
  }
  // A call is adjusted to its own node in the export, so equal calls may differ.
  const bool shareable = CallMemo::MayShare(node) && !Has(row.def->traits, Traits::kNotMemoised) &&
                         session_.options().exported == nullptr;
  CallSignature signature{
      row.def, row.opset, frame.attributes_id, node.outputs.size(), node.attribute_bytes.data(),
      inputs};
  if (!ContentMatters(*row.def, session_.facts(), inputs)) {
    for (FactId& fact : signature.inputs) fact = session_.facts().WithoutContent(fact);
  }
  if (shareable) {
    if (const std::optional<CallId> known = memo_.Find(signature)) return *known;
  }
  Call call = make_call();
  bool fresh = false;
  RETURN_IF_ERROR(RunRule(&call, frame, inputs, &fresh));
  const CallId added = session_.AddCall(std::move(call));
  if (shareable && !fresh && !as_declared_) memo_.Keep(std::move(signature), added);
  return added;
}

absl::StatusOr<CallId> OperatorCaller::CallUnknown(Call call, const resolve::OperatorRow& row) {
  const Node& node = session_.model().node(call.node);
  call.problem = absl::UnimplementedError(
      row.known_name
          ? absl::StrCat("operator ", Escaped(node.op_type), " has no form at opset ", row.opset)
          : absl::StrCat(
                "no rule for operator ", Escaped(node.op_type),
                node.domain.empty() ? "" : absl::StrCat(" of domain ", Escaped(node.domain))));
  RETURN_IF_ERROR(session_.budget().Spend(kEvaluationsPerCall));
  RETURN_IF_ERROR(TakeOutputs(Facts{}, &call));
  return session_.AddCall(std::move(call));
}

absl::StatusOr<Facts> OperatorCaller::InferOutputs(Call* call, const Frame& frame,
                                                   absl::Span<const Fact* const> facts) {
  Host host(&session_, &runner_, frame, call);
  const NodeView view(session_.model(), session_.model().node(call->node), *call->def, call->opset,
                      facts, {}, &host, frame.call_attributes);
  absl::StatusOr<Facts> outputs = absl::UnimplementedError(call->def->note);
  if (call->def->control_flow != ControlFlow::kNone) {
    outputs = InferControlFlow({&session_, &runner_, view, frame, call});
  } else if (call->def->infer != nullptr) {
    outputs = call->def->infer(view);
  }
  if (outputs.ok() && !view.status().ok()) return view.status();
  return outputs;
}

absl::StatusOr<Facts> OperatorCaller::InferFitted(Call* call, const Frame& frame,
                                                  absl::Span<const Fact* const> facts,
                                                  absl::StatusOr<Facts> unfitted) {
  const Node& node = session_.model().node(call->node);
  if (!node.domain.empty()) return unfitted;
  const Inference& exported = *session_.options().exported;
  const Reshaped before = {exported.FactOf(node.input(0)), exported.FactOf(node.output(0))};
  std::optional<std::vector<Fact>> fitted = FitSizes(node.op_type, facts, before);
  if (!fitted) return unfitted;
  std::vector<const Fact*> inputs;
  for (const Fact& fact : *fitted) inputs.push_back(&fact);
  absl::StatusOr<Facts> outputs = InferOutputs(call, frame, inputs);
  if (!outputs.ok()) return unfitted;
  for (size_t i = 0; i < fitted->size(); ++i) {
    call->inputs[i] = session_.facts().Intern(std::move((*fitted)[i]));
  }
  return outputs;
}

absl::Status OperatorCaller::RunRule(Call* call, const Frame& frame, const FactIds& inputs,
                                     bool* fresh) {
  const Node& node = session_.model().node(call->node);
  RETURN_IF_ERROR(session_.budget().Spend(kEvaluationsPerCall));
  call->inputs = inputs;
  absl::InlinedVector<const Fact*, 8> facts;
  call->from_shapes = !inputs.empty();
  call->constant = !Has(call->def->traits, Traits::kRandom);
  for (FactId id : inputs) {
    const Fact& fact = session_.facts()[id];
    facts.push_back(&fact);
    SpendSteps(FactTable::StepsOf(fact));
    call->constant = call->constant && (fact.absent() || fact.constant);
    call->from_shapes = call->from_shapes && (fact.absent() || fact.from_shapes);
  }
  call->from_shapes = call->from_shapes || call->constant;
  const int64_t fresh_before = session_.symbols().fresh_uses();
  absl::StatusOr<Facts> outputs = InferOutputs(call, frame, facts);
  // A Reshape with a -1 does not fail but turns a larger image into more samples.
  const bool may_fit = session_.options().exported != nullptr && frame.depth == 0 &&
                       (absl::IsInvalidArgument(outputs.status()) || node.op_type == "Reshape");
  if (may_fit) outputs = InferFitted(call, frame, facts, std::move(outputs));
  *fresh = session_.symbols().fresh_uses() != fresh_before;
  session_.Warn(OldAxesWarning(node, *call));
  session_.Warn(NegativePermWarning(node));
  if (outputs.ok() || !IsFatal(outputs.status())) {
    if (outputs.ok() && Has(call->def->traits, Traits::kUnknown)) {
      call->problem = absl::UnimplementedError(call->def->note);
    }
    const absl::Status taken = TakeOutputs(std::move(outputs), call);
    return taken.ok() ? taken : session_.Explain(taken, call->node, call->opset, inputs);
  }
  return session_.Explain(outputs.status(), call->node, call->opset, inputs);
}

absl::Status OperatorCaller::TakeOutputs(absl::StatusOr<Facts> facts, Call* call) {
  const Node& node = session_.model().node(call->node);
  if (!facts.ok()) {
    call->problem = facts.status();
    facts = Facts{};
  }
  // The outputs of Shape and Size depend on shapes only, whatever their input is.
  const bool is_shape = call->def != nullptr && Has(call->def->traits, Traits::kShapeOnly);
  // Bodies also read captured values, so the outputs decide whether the node is constant. Without
  // outputs it is not.
  if (!call->bodies.empty()) {
    call->constant = call->constant && !facts->empty();
    call->from_shapes = call->from_shapes && !facts->empty();
    for (const Fact& fact : *facts) {
      call->constant = call->constant && fact.constant;
      call->from_shapes = call->from_shapes && fact.from_shapes;
    }
  }
  as_declared_ = false;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    Fact fact = i < facts->size() ? std::move((*facts)[i]) : Fact::Unknown();
    if (node.outputs[i] &&
        (fact.kind == Fact::Kind::kUnknown || (fact.is_tensor() && !fact.shape.ranked()))) {
      fact = FallbackFact(*node.outputs[i]);
      as_declared_ = as_declared_ || fact.is_tensor();
    }
    RETURN_IF_ERROR(CheckFact(fact, i));
    DropOriginsWithin(&fact);
    fact.constant = call->constant;
    fact.from_shapes = call->from_shapes || is_shape;
    session_.DropContentBeyondLimit(&fact);
    call->outputs.push_back(session_.facts().Intern(std::move(fact)));
  }
  if (session_.facts().terms() > max_terms_) {
    return LimitError("terms-per-node", absl::StrCat("with it the shapes have more than ",
                                                     max_terms_, " terms in all (terms-per-node)"));
  }
  return absl::OkStatus();
}

Fact OperatorCaller::FallbackFact(ValueId output) {
  const DeclaredType* declared = session_.model().value(output).declared;
  if (declared == nullptr || declared->kind != TypeKind::kTensor) return Fact::Unknown();
  Fact fact = Fact::Tensor(declared->dtype, Shape::UnknownRank());
  if (!declared->has_shape) return fact;
  // Names of dimensions belong to the main graph; a function may use them for other sizes.
  const OptionalNodeId producer = session_.model().value(output).producer;
  const bool named = producer && session_.model().node(*producer).graph == 0;
  for (const DeclaredDim& dim : declared->dims) {
    if (dim.size < 0 && (dim.name.empty() || !named)) return fact;
  }
  Shape shape;
  for (const DeclaredDim& dim : declared->dims) {
    shape.push_back(dim.size >= 0 ? Expr(dim.size)
                                  : session_.symbols().DimInside(
                                        dim, session_.model().value(output).name, shape.rank()));
  }
  fact.shape = std::move(shape);
  return fact;
}

absl::Status OperatorCaller::CheckFact(const Fact& fact, size_t output) const {
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
    if (dim.is_literal() && dim.literal() > kMaxElements) {
      return LimitError("elements",
                        absl::StrCat("output ", output, " would have shape ", fact.shape.ToString(),
                                     ": a size is larger than ", kMaxElements, " (elements)"));
    }
    if (dim.is_literal() && dim.literal() < 0) {
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

}  // namespace onnxflops::infer
