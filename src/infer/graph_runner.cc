#include "src/infer/graph_runner.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/op_def.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"

namespace onnxflops::infer {

GraphRunner::GraphRunner(Session* session)
    : session_(*session),
      operators_(session, this),
      functions_(session, this),
      tensor_facts_(session->model().tensors.size()) {}

absl::Status GraphRunner::RunMain() {
  Frame frame;
  frame.opsets = &session_.model().opsets;
  frame.default_opset = session_.model().OpsetOf("").value_or(0);
  return RunNodes(0, frame).status();
}

absl::StatusOr<BodyResult> GraphRunner::Run(GraphId body, absl::Span<const FactId> inputs,
                                            FactId missing, const Frame& frame) {
  if (frame.depth > kMaxCallDepth) {
    return LimitError(
        "call-depth",
        absl::StrCat("bodies and functions are nested deeper than the limit call-depth = ",
                     kMaxCallDepth));
  }
  const Graph& graph = session_.model().graph(body);
  RETURN_IF_ERROR(
      session_.budget().Spend((graph.inputs.size() + graph.outputs.size()) / kValuesPerEvaluation));
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    session_.fact_of(graph.inputs[i]) = i < inputs.size() ? inputs[i] : missing;
  }
  BodyResult result;
  ASSIGN_OR_RETURN(result.instance, RunNodes(body, frame));
  for (ValueId v : graph.outputs) {
    result.outputs.push_back(session_.fact_of(v).value_or(FactTable::kUnknown));
  }
  return result;
}

absl::Status GraphRunner::TakeInitializers(GraphId graph_id) {
  const ModelData& model = session_.model();
  const Graph& graph = model.graph(graph_id);
  RETURN_IF_ERROR(session_.budget().Spend(kEvaluationsPerCall + graph.initializers.size()));
  for (ValueId v : graph.initializers) {
    const Value& value = model.value(v);
    if (value.is_graph_input && graph_id == 0) continue;  // BindInputs has decided
    if (!value.initializer) continue;
    session_.fact_of(v) = FactOfInitializer(*value.initializer);
  }
  return absl::OkStatus();
}

FactId GraphRunner::FactOfInitializer(TensorId id) {
  OptionalFactId& known = tensor_facts_[static_cast<size_t>(id)];
  if (known) return *known;
  // Weights are many, of few types and shapes.
  const Tensor& tensor = session_.model().tensor(id);
  OptionalFactId* same = nullptr;
  if (!tensor.has_data) {
    same = &facts_of_shapes_[{tensor.dtype, tensor.dims}];
    if (*same) return *(known = *same);
  }
  Fact fact = FactOf(tensor);
  session_.DropContentBeyondLimit(&fact);
  known = session_.facts().Intern(std::move(fact));
  if (same != nullptr) *same = known;
  return *known;
}

absl::StatusOr<InstanceId> GraphRunner::RunNodes(GraphId graph_id, const Frame& frame) {
  const Graph& graph = session_.model().graph(graph_id);
  Inference& result = session_.result();
  const auto instance = static_cast<InstanceId>(result.instances.size());
  result.instances.push_back({graph_id, {}, {}});
  RETURN_IF_ERROR(TakeInitializers(graph_id));
  std::vector<CallId> calls;
  calls.reserve(graph.nodes.size());
  for (NodeId node : graph.nodes) {
    RETURN_IF_ERROR(session_.budget().Spend(EvaluationsOf(session_.model().node(node))));
    ASSIGN_OR_RETURN(const CallId call, RunNode(node, frame));
    calls.push_back(call);
  }
  result.instance(instance).calls = std::move(calls);
  result.callees_first.push_back(instance);
  return instance;
}

FactIds GraphRunner::GatherInputs(const Node& node) {
  FactIds inputs;
  inputs.reserve(node.inputs.size());
  for (OptionalValueId v : node.inputs) {
    inputs.push_back(v ? session_.fact_of(*v).value_or(FactTable::kUnknown) : FactTable::kAbsent);
  }
  while (!inputs.empty() && inputs.back() == FactTable::kAbsent) inputs.pop_back();
  return inputs;
}

absl::StatusOr<CallId> GraphRunner::RunNode(NodeId id, const Frame& frame) {
  const Node& node = session_.model().node(id);
  const FactIds inputs = GatherInputs(node);
  absl::StatusOr<CallId> call = node.function ? functions_.CallFunction(id, frame, inputs)
                                              : operators_.CallOperator(id, frame, inputs);
  if (!call.ok()) return call.status();
  const Call& done = session_.result().call(*call);
  if (const absl::Status work = session_.CheckWork(); !work.ok()) {
    return session_.Explain(work, id, done.opset, inputs);
  }
  SetOutputs(node, done);
  if (frame.depth == 0 && !done.bodies.empty()) NameInnerSymbols(node, done);
  return call;
}

void GraphRunner::SetOutputs(const Node& node, const Call& call) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i]) continue;
    session_.fact_of(*node.outputs[i]) =
        i < call.outputs.size() ? call.outputs[i] : FactTable::kUnknown;
  }
}

// A symbol made inside a body is attributed to the main graph's node, where a user can look it up.
void GraphRunner::NameInnerSymbols(const Node& node, const Call& call) {
  for (size_t i = 0; i < node.outputs.size() && i < call.outputs.size(); ++i) {
    const Fact& fact = session_.facts()[call.outputs[i]];
    if (!node.outputs[i] || !fact.is_tensor() || !fact.shape.ranked()) continue;
    const absl::string_view name = session_.model().value(*node.outputs[i]).name;
    for (int axis = 0; axis < fact.shape.rank(); ++axis) {
      session_.symbols().ComesOut(fact.shape[axis], name, axis);
    }
  }
}

}  // namespace onnxflops::infer
