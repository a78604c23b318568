// What a node of a user's operator gives and costs: its rule's names bound to the node's sizes.
#include "ops/user/user_rules.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/registry.h"
#include "ops/user/rules_access.h"
#include "ops/user/user_rule.h"
#include "src/base/limit_error.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

absl::Status AtRule(const UserRule& rule, const absl::Status& local) {
  return WithMessage(local, absl::StrCat(rule.place, ": ", local.message()));
}

absl::StatusOr<Facts> InferUserRule(const NodeView& n) {
  const UserRule& rule = *n.def().user_rule;
  FormulaBinding binding(rule.formulas, n);
  if (const absl::Status fits = binding.Check(); !fits.ok()) return AtRule(rule, fits);
  absl::StatusOr<Facts> facts = binding.InferOutputs();
  if (!facts.ok()) return AtRule(rule, facts.status());
  return facts;
}

absl::StatusOr<Cost> Costs(const UserRule& rule, const NodeView& n) {
  FormulaBinding binding(rule.formulas, n);
  RETURN_IF_ERROR(binding.BindLets());
  ASSIGN_OR_RETURN(Cost cost, EvaluateCosts(rule.formulas, n, binding));
  if (rule.bytes_read.has_value()) {
    ASSIGN_OR_RETURN(cost.bytes_read, binding.Amount("bytes_read", *rule.bytes_read));
  }
  if (rule.bytes_written.has_value()) {
    ASSIGN_OR_RETURN(cost.bytes_written, binding.Amount("bytes_written", *rule.bytes_written));
  }
  return cost;
}

absl::StatusOr<Cost> CountUserRule(const NodeView& n) {
  absl::StatusOr<Cost> cost = Costs(*n.def().user_rule, n);
  if (!cost.ok()) return AtRule(*n.def().user_rule, cost.status());
  return cost;
}

// What rows of ours say that they compute, and the costs: nobody else states those of the user's.
std::string FormulaText(const UserRule& rule) {
  const auto names = [](const std::vector<FormulaTensor>& tensors) {
    return absl::StrJoin(tensors, ", ", [](std::string* out, const FormulaTensor& tensor) {
      absl::StrAppend(out, WrittenTensor(tensor));
    });
  };
  const Formulas& f = rule.formulas;
  return absl::StrCat(names(f.outputs), " = ", rule.name, "(", names(f.inputs), "); ",
                      CostsText(f));
}

}  // namespace

void UserRule::MakeRow(bool reads_content, uint32_t shape_inputs) {
  formula = FormulaText(*this);
  row.name = name.c_str();
  row.versions = {since};
  row.formula = formula.c_str();
  row.infer = InferUserRule;
  row.count = is_free ? nullptr : CountUserRule;
  row.shape_inputs = shape_inputs;
  row.traits = reads_content ? Traits::kReadsContent : Traits::kNone;
  row.note = note.c_str();
  row.user_rule = this;
}

FoundOp RulesAccess::Find(const Rules& rules, absl::string_view domain, absl::string_view op_type,
                          int64_t opset) {
  FoundOp found;
  if (rules.data_ == nullptr) return found;
  const auto named = rules.data_->by_name.find(op_type);
  if (named == rules.data_->by_name.end()) return found;
  for (const UserRule* rule : named->second) {
    if (rule->domain != domain) continue;
    found.known_name = true;
    if (opset < rule->since || (rule->until.has_value() && opset > *rule->until)) continue;
    found.def = &rule->row;
    found.version = rule->since;
  }
  return found;
}

absl::Span<const OpFamily> RulesAccess::Families(const Rules& rules) {
  if (rules.data_ == nullptr) return {};
  return rules.data_->families;
}

}  // namespace onnxflops
