#include "src/infer/infer.h"

#include <utility>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/infer/graph_runner.h"
#include "src/infer/inputs.h"
#include "src/infer/require_symbols.h"
#include "src/infer/session.h"
#include "src/infer/shape_work.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {

namespace infer {
namespace {

void WarnOfOfficialBodies(Session* session) {
  const ModelData& model = session->model();
  absl::btree_set<std::string> operators;
  for (const Call& call : session->result().calls) {
    const Node& node = model.node(call.node);
    if (!node.function || !model.function(*node.function).official) continue;
    operators.insert(node.domain.empty() ? std::string(node.op_type)
                                         : absl::StrCat(node.domain, ".", node.op_type));
  }
  for (const std::string& name : operators) {
    session->Warn(absl::StrCat(name, " has no rule: counted through its official function body"));
  }
}

absl::Status TakeInputs(Session* session) {
  const ModelData& model = session->model();
  ASSIGN_OR_RETURN(std::vector<BoundInput> inputs,
                   BindInputs(model, session->options(), &session->symbols()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    session->fact_of(model.graph(0).inputs[i]) = session->facts().Intern(std::move(inputs[i].fact));
    session->result().declared.push_back(std::move(inputs[i].declared));
  }
  const absl::Status work = session->CheckWork();
  if (work.ok()) return absl::OkStatus();
  return WithMessage(work, absl::StrCat(Escaped(model.path), ": its inputs: ", work.message()));
}

// One pass over the model. `unmet` are bindings for which no symbol was found.
absl::StatusOr<Inference> RunOnce(const Model& model, const InferOptions& options,
                                  Bindings* unmet) {
  Session session(model, options);
  RETURN_IF_ERROR(TakeInputs(&session));
  GraphRunner runner(&session);
  RETURN_IF_ERROR(runner.RunMain());
  WarnOfOfficialBodies(&session);
  *unmet = session.symbols().Unmet();
  Inference inference = std::move(session).Finish();
  inference.attribute_storage = runner.functions().attributes();
  MarkShapeWork(&inference);
  return inference;
}

// Each --dim name must exist: either in this count, or in a count without bindings (another binding
// may have fixed it).
absl::StatusOr<Inference> RunAndMeetBindings(const Model& model, const InferOptions& options) {
  Bindings unmet;
  ASSIGN_OR_RETURN(Inference inference, RunOnce(model, options, &unmet));
  if (unmet.empty()) return inference;
  InferOptions unbound = options;
  unbound.dims.clear();
  Bindings none;
  ASSIGN_OR_RETURN(const Inference open, RunOnce(model, unbound, &none));
  const absl::StatusOr<Bindings> known = ResolveSymbols(unmet, open.symbols);
  if (!known.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(model->path), ": ", known.status().message()));
  }
  inference.bindings.insert(known->begin(), known->end());
  return inference;
}

// Why sizes do not fit, by the error. A table of positions has no row for a size beyond it.
absl::string_view BeyondTable(absl::string_view error) {
  return absl::StrContains(error, "(Gather, ") && absl::StrContains(error, "is outside of an axis")
             ? ", which has a table, such as that of positions, with fewer rows"
             : ", which fixes what it declares as a symbol";
}

// Checks whether the bindings caused the failure. Exporters write sizes of the traced example into
// a file that declares them as symbols, so the file may contradict a binding and yet be consistent
// without it. The error then says so.
absl::Status BlameBindings(const Model& model, const InferOptions& options, absl::Status failed) {
  InferOptions open = options;
  open.dims.clear();
  open.input_shapes.clear();
  Bindings unmet;
  if (!absl::IsInvalidArgument(failed) || !IsExplained(failed) ||
      !RunOnce(model, open, &unmet).ok()) {
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
  return WithMessage(failed, absl::StrCat(Escaped(model->path), ": ", absl::StrJoin(given, ", "),
                                          given.size() == 1 ? " does" : " do",
                                          " not fit this model", BeyondTable(rest), ":\n  ", rest));
}

}  // namespace
}  // namespace infer

int64_t MaxSteps(const ModelData& model, const Limits& limits) {
  return kMaxExtraSteps + limits.steps_per_node * static_cast<int64_t>(model.nodes.size());
}

std::string DescribeCall(const Inference& inference, const Call& call, NodeId node) {
  std::string text = DescribeNode(*inference.model, node);
  if (!text.empty() && text.back() == ')') {
    text.pop_back();
    absl::StrAppend(&text, ", opset ", call.opset, ")");
  }
  return text;
}

absl::StatusOr<Inference> Infer(const Model& model, const InferOptions& options) {
  absl::StatusOr<Inference> inference = infer::RunAndMeetBindings(model, options);
  if (inference.ok() || (options.dims.empty() && options.input_shapes.empty())) return inference;
  return infer::BlameBindings(model, options, inference.status());
}

}  // namespace onnxflops
