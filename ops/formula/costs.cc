// What the formulas of a row say that a node costs.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/formula/formula.h"
#include "ops/formula/formula_names.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/platform/platform.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

bool IsActivation(const NamedFormula& cost) { return absl::StartsWith(cost.key, "attr."); }

absl::StatusOr<bool> IsFloatWork(Formulas::Arithmetic arithmetic, const NodeView& n) {
  if (arithmetic == Formulas::Arithmetic::kOfInput) return IsFloat(n.dtype(0));
  if (arithmetic != Formulas::Arithmetic::kOfOutput) {
    return arithmetic == Formulas::Arithmetic::kFloat;
  }
  const DType type = n.output(0).dtype;
  if (type != DType::kUndefined) return IsFloat(type);
  return absl::FailedPreconditionError("the type of output 0 is not known");
}

// Adds up costs; the plain kinds apart, which are of the type of the arithmetic.
struct CostSum {
  Cost cost;
  Census plain;

  void Add(absl::string_view key, const Expr& amount) {
    const Kind kind = *KindNamed(key);
    if (absl::StartsWith(key, "int_")) {
      cost.int_ops[kind] += amount;
    } else if (absl::StartsWith(key, "float_")) {
      cost.flops[kind] += amount;
    } else {
      plain[kind] += amount;
    }
  }
};

// The terms of one cost, with the node's sizes.
absl::Status AppendTerms(const NamedFormula& cost, bool float_work, const FormulaBinding& binding,
                         std::vector<FormulaTerm>* terms) {
  std::vector<NamedFormula> parts = {cost};
  if (IsActivation(cost)) {
    parts.clear();
    for (int i = 0; i < kNumKinds; ++i) {
      const absl::string_view kind = KindName(static_cast<Kind>(i));
      parts.push_back({std::string(kind), absl::StrCat(cost.key, ".", kind, "*(", cost.text, ")")});
    }
  }
  for (const NamedFormula& part : parts) {
    const bool is_plain = !absl::StrContains(part.key, '_');
    const bool is_int = is_plain ? !float_work : absl::StartsWith(part.key, "int_");
    ASSIGN_OR_RETURN(const Expr amount, binding.Amount(part.key, part.text));
    terms->push_back({*KindNamed(part.key), is_int, part.text, binding.Filled(part.text), amount});
  }
  return absl::OkStatus();
}

absl::StatusOr<CostSum> SumOf(const Formulas& formulas, const FormulaBinding& binding) {
  CostSum sum;
  for (const NamedFormula& cost : formulas.costs) {
    ASSIGN_OR_RETURN(const Expr amount, binding.Amount(cost.key, cost.text));
    if (!IsActivation(cost)) {
      sum.Add(cost.key, amount);
      continue;
    }
    ASSIGN_OR_RETURN(const ElementCost per_element, binding.Activation(cost.key));
    sum.plain += per_element * amount;
  }
  return sum;
}

// The formulas of a row of ours, or those of its gradient, read when a node of the thread first
// asks: a thread waits for no other.
absl::StatusOr<const Formulas*> ReadOnce(const OpDef& row, bool of_gradient) {
  using Read = absl::flat_hash_map<std::pair<const OpDef*, bool>, std::unique_ptr<const Formulas>>;
  std::unique_ptr<const Formulas>& formulas = platform::OfThisThread<Read>()[{&row, of_gradient}];
  if (formulas == nullptr) {
    ASSIGN_OR_RETURN(Formulas checked, formula::CheckedFormulasOf(row, of_gradient));
    formulas = std::make_unique<const Formulas>(std::move(checked));
  }
  return formulas.get();
}

absl::StatusOr<Cost> CountByFormulas(const NodeView& n) {
  ASSIGN_OR_RETURN(const Formulas* formulas, ReadOnce(n.def(), /*of_gradient=*/false));
  FormulaBinding binding(*formulas, n);
  absl::Status lets = binding.BindLets();
  absl::StatusOr<Cost> cost = lets.ok() ? EvaluateCosts(*formulas, n, binding) : std::move(lets);
  // The local fact alone: who reads it did not write the formula.
  if (!cost.ok() && !binding.unknown().ok()) return binding.unknown();
  return cost;
}

}  // namespace

absl::StatusOr<Cost> EvaluateCosts(const Formulas& formulas, const NodeView& n,
                                   const FormulaBinding& binding) {
  ASSIGN_OR_RETURN(const bool float_work, IsFloatWork(formulas.arithmetic, n));
  ASSIGN_OR_RETURN(CostSum sum, SumOf(formulas, binding));
  // A complex operation of a row is several real ones.
  const bool of_type = formulas.arithmetic == Formulas::Arithmetic::kOfInput;
  Cost cost = CostIn(of_type      ? n.dtype(0)
                     : float_work ? DType::kFloat32
                                  : DType::kInt32,
                     std::move(sum.plain));
  cost.flops += sum.cost.flops;
  cost.int_ops += sum.cost.int_ops;
  return cost;
}

absl::StatusOr<Census> GradientByFormulas(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const Formulas* formulas, ReadOnce(n.def(), /*of_gradient=*/true));
  FormulaBinding binding(*formulas, n, &query);
  absl::Status lets = binding.BindLets();
  absl::StatusOr<CostSum> sum = lets.ok() ? SumOf(*formulas, binding) : std::move(lets);
  if (sum.ok()) return std::move(sum->plain);
  return binding.unknown().ok() ? sum.status() : binding.unknown();
}

absl::StatusOr<FormulaResult> EvaluateFormulas(const Formulas& formulas, const NodeView& n) {
  FormulaBinding binding(formulas, n);
  RETURN_IF_ERROR(binding.BindLets());
  FormulaResult result;
  ASSIGN_OR_RETURN(result.cost, EvaluateCosts(formulas, n, binding));
  ASSIGN_OR_RETURN(const bool float_work, IsFloatWork(formulas.arithmetic, n));
  for (const NamedFormula& cost : formulas.costs) {
    RETURN_IF_ERROR(AppendTerms(cost, float_work, binding, &result.terms));
  }
  return result;
}

absl::StatusOr<Cost> CountNode(const NodeView& n) {
  if (n.def().count != nullptr) return n.def().count(n);
  if (n.def().IsFree()) return Cost();
  ASSIGN_OR_RETURN(Cost cost, CountByFormulas(n));
  if (n.def().mac_operands != nullptr) {
    cost.flops_mac_operands = cost.int_ops_mac_operands = n.def().mac_operands(n);
  }
  if (n.def().bytes != nullptr) RETURN_IF_ERROR(n.def().bytes(n, &cost));
  return cost;
}

}  // namespace onnxflops
