#include "src/operators/operator_values.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ops/examples.h"
#include "ops/formula/formula.h"
#include "src/base/setting.h"

namespace onnxflops::report {
namespace {

// The formulas of a row if they are data, or a statement that it is free.
std::optional<Formulas> ShownFormulas(const OpDef& row) {
  absl::StatusOr<std::optional<Formulas>> formulas = FormulasOf(row);
  if (formulas.ok() && formulas->has_value()) return *std::move(formulas);
  const bool free =
      row.IsFree() && row.control_flow == ControlFlow::kNone && !Has(row.traits, Traits::kUnknown);
  if (free) return Formulas();
  return std::nullopt;
}

Operator::Status StatusOf(const OpDef& row, const std::optional<Formulas>& formulas) {
  if (Has(row.traits, Traits::kUnknown)) return Operator::Status::kUnknown;
  const bool free = formulas.has_value() && formulas->costs.empty();
  return free ? Operator::Status::kFree : Operator::Status::kCounted;
}

// Texts of a user's rule stay as they are.
std::string OwnText(const OpDef& row, const char* text) {
  return row.user_rule == nullptr ? WithSettings(text) : text;
}

std::string LineOf(const OpDef& row, const std::optional<Formulas>& formulas) {
  if (!formulas.has_value() || row.user_rule != nullptr) return row.formula;
  return absl::StrCat(row.formula, "; ", CostsText(*formulas));
}

Operator::Formulas FormulaTexts(const OpDef& row, const Formulas& formulas) {
  Operator::Formulas texts;
  if (row.user_rule == nullptr) texts.computes = row.formula;
  if (!formulas.outputs.empty()) texts.signature = SignatureText(formulas);
  for (const FormulaAttribute& a : formulas.attributes) {
    texts.attributes.push_back({a.name, AttributeText(a)});
  }
  for (const NamedFormula& let : formulas.lets) texts.lets.push_back({let.key, let.text});
  for (const NamedFormula& cost : formulas.costs) texts.costs.push_back({cost.key, cost.text});
  return texts;
}

}  // namespace

Operator OperatorOf(absl::string_view domain, const OpDef& row) {
  const std::optional<Formulas> formulas = ShownFormulas(row);
  Operator op;
  op.domain = std::string(domain);
  op.name = row.name;
  op.versions.assign(row.versions.begin(), row.versions.end());
  op.status = StatusOf(row, formulas);
  op.formula = LineOf(row, formulas);
  op.words = row.formula;
  if (formulas.has_value()) op.formulas = FormulaTexts(row, *formulas);
  op.gradient = GradientLine(row);
  op.note = NoteLine(row);
  for (const OpException& e : row.exceptions) op.exceptions.push_back(ExceptionText(e));
  for (ExampleText& e : ExamplesOf(domain, row)) {
    op.examples.push_back({std::move(e.text), std::move(e.cost)});
  }
  op.users_own = row.user_rule != nullptr;
  return op;
}

std::string FormulaLine(const OpDef& row) { return LineOf(row, ShownFormulas(row)); }

std::string NoteLine(const OpDef& row) { return OwnText(row, row.note); }

std::string GradientLine(const OpDef& row) {
  if (row.gradient.formula != nullptr) return OwnText(row, row.gradient.formula);
  const bool free =
      row.IsFree() && row.control_flow == ControlFlow::kNone && !Has(row.traits, Traits::kUnknown);
  if (free) return "free: what there is of it is moved";
  return row.control_flow == ControlFlow::kNone ? "unknown" : "that of its bodies";
}

std::string ExceptionText(const OpException& exception) {
  return absl::StrCat(exception.when, ": ", exception.reason, " (the decomposed form costs more: ",
                      absl::StrReplaceAll(exception.kinds, {{" ", ", "}}), ")");
}

}  // namespace onnxflops::report
