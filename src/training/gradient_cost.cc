#include "src/training/gradient_cost.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "ops/formula/formula.h"
#include "ops/op_def.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops::training {
namespace {

bool KeepsAny(const Keeps& keeps) {
  return keeps.inputs != 0 || keeps.crosswise || keeps.outputs != 0 || keeps.per_root != 0 ||
         keeps.places || keeps.scores || keeps.gates || keeps.noise || keeps.steps;
}

// The sum of the parts of a row's Gradient.
class Parts {
 public:
  Parts(const NodeView& node, const GradientQuery& query)
      : node_(node), gradient_(node.def().gradient), query_(query) {}

  absl::StatusOr<Census> Sum() {
    for (size_t i = 0; i < query_.needed.size(); ++i) {
      if (query_.needed[i]) RETURN_IF_ERROR(AddInput(i));
    }
    RETURN_IF_ERROR(AddPerElement(gradient_.shared));
    if (gradient_.per_input != ElementCost{}) {
      ASSIGN_OR_RETURN(const Shape shape, node_.RankedShape(0));
      work_ += gradient_.per_input * shape.NumElements();
    }
    if (gradient_.per_root != ElementCost{})
      work_ += gradient_.per_root * query_.forward[Kind::kSqrt];
    if (gradient_.as_forward) work_ += query_.forward;
    if (gradient_.costs != nullptr) {
      ASSIGN_OR_RETURN(const Census by_formulas, GradientByFormulas(node_, query_));
      work_ += by_formulas;
    }
    return std::move(work_);
  }

 private:
  absl::Status AddInput(size_t input) {
    const uint32_t bit = input < 32 ? uint32_t{1} << input : 0;
    if ((gradient_.products & bit) != 0) {
      work_[Kind::kMac] += query_.forward[Kind::kMac];
      return absl::OkStatus();
    }
    if ((gradient_.sums & bit) != 0) return AddPerElement({.add = 1});
    RETURN_IF_ERROR(AddPerElement(input == 0 ? gradient_.first : gradient_.others));
    if (!gradient_.broadcast) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Shape from, node_.RankedShape(static_cast<int>(input)));
    ASSIGN_OR_RETURN(const Shape to, node_.OutputShape(0));
    work_[Kind::kAdd] += TimesSummed(from, to) * to.NumElements();
    return absl::OkStatus();
  }

  absl::Status AddPerElement(const ElementCost& cost) {
    if (cost == ElementCost{}) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Shape shape, node_.OutputShape(0));
    work_ += cost * shape.NumElements();
    return absl::OkStatus();
  }

  const NodeView& node_;
  const Gradient& gradient_;
  const GradientQuery& query_;
  Census work_;
};

}  // namespace

bool GradientCosts::Saves(const OpDef& def) {
  return !SavesKnown(def) || def.gradient.products != 0 || KeepsAny(def.gradient.keeps);
}

bool GradientCosts::SavesKnown(const OpDef& def) {
  const Gradient& gradient = def.gradient;
  if (gradient.formula == nullptr) return def.IsFree();
  if (gradient.keeps.unknown) return false;
  if (gradient.keeps.nothing || gradient.products != 0 || KeepsAny(gradient.keeps)) return true;
  return !gradient.HasArithmetic();
}

absl::StatusOr<Census> GradientCosts::Find(const Call& call, const Census& forward,
                                           const Needed& needed) const {
  const Gradient& gradient = call.def->gradient;
  if (gradient.formula == nullptr) {
    if (call.def->IsFree()) return Census();
    return absl::UnimplementedError(in_.model->node(call.node).domain.empty()
                                        ? "its gradient has no rule"
                                        : "it has no gradient: autograd trains the operators "
                                          "of ai.onnx that it stands for");
  }
  absl::InlinedVector<const Fact*, 8> inputs, outputs;
  for (FactId fact : call.inputs) inputs.push_back(&in_.fact(fact));
  for (FactId fact : call.outputs) outputs.push_back(&in_.fact(fact));
  const NodeView view(*in_.model, in_.model->node(call.node), *call.def, call.opset, inputs,
                      outputs, nullptr, call.call_attributes, causal_);
  const absl::InlinedVector<bool, 8> bits(needed.begin(), needed.end());
  const GradientQuery query = {bits, forward, recomputes_scores_};
  absl::StatusOr<Census> census =
      gradient.rule == nullptr ? Parts(view, query).Sum() : gradient.rule(view, query);
  RETURN_IF_ERROR(census.status());
  RETURN_IF_ERROR(view.status());
  const absl::Status status = census->CheckNotNegative();
  if (!status.ok()) return absl::FailedPreconditionError(status.message());
  return census;
}

const absl::StatusOr<Census>& GradientCosts::Of(CallId id, const Needed& needed) {
  std::unique_ptr<absl::StatusOr<Census>>& known = known_[{id, needed}];
  if (known == nullptr) {
    const CallCost& cost = counts_.cost(id);
    known = std::make_unique<absl::StatusOr<Census>>(
        cost.problem.ok() ? Find(in_.call(id), cost.own().flops, needed) : cost.problem);
  }
  return *known;
}

}  // namespace onnxflops::training
