// How it works. MakeComparison runs each requested convention on one shared Evidence, which gives a
// ledger, and compares the ledger with our count, or with the ledger of the tool `from`. With a
// module, each ledger is first reduced to the entries of that part. A comparison becomes a ToolRow,
// which holds texts and formulas only, so that the report outlives model and inference.
//
// If our count is a lower bound, so is everything derived from it: a tool's figure becomes assumed,
// or not applicable if it would be 0. The text of all formulas is limited, and an overflow in a
// figure is an error that names the tool.
#include "src/compare/compare_report.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/compare/make_comparison.h"
#include "src/convention/comparison.h"
#include "src/convention/conventions.h"
#include "src/convention/ledger_part.h"
#include "src/module/module_part.h"
#include "src/module/module_tree.h"
#include "src/render/format.h"
#include "src/report/formula_text.h"
#include "src/report/make_report.h"
#include "src/report/node_rows.h"
#include "src/report/reference_sizes.h"

namespace onnxflops {
namespace {

using convention::ActivationConventions;
using convention::ComparedTerm;
using convention::CompareOptions;
using convention::Comparison;
using convention::Convention;
using convention::Conventions;
using convention::Evidence;
using convention::Ledger;
using convention::RequireConvention;
using report::FormulaText;
using report::NodeLabel;

absl::StatusOr<std::vector<const Convention*>> Requested(const CompareRequest& request) {
  std::vector<const Convention*> result;
  for (const std::string& name : request.with) {
    ASSIGN_OR_RETURN(const Convention* convention, RequireConvention(name));
    result.push_back(convention);
  }
  const auto all = request.activations ? ActivationConventions() : Conventions();
  if (request.with.empty()) result.assign(all.begin(), all.end());
  return result;
}

TermRow Describe(const ModelData& model, ComparedTerm term, bool node_names) {
  TermRow row = {std::move(term.name),
                 std::move(term.reason),
                 std::move(term.module),
                 term.of_model,
                 std::move(term.amount),
                 static_cast<int64_t>(term.nodes.size()),
                 {}};
  if (!node_names) return row;
  for (NodeId id : term.nodes) {
    row.node_names.push_back(NodeLabel(model, model.node(id)));
  }
  return row;
}

ToolRow Describe(const ModelData& model, Comparison comparison, bool node_names) {
  ToolRow row;
  row.convention = comparison.convention;
  row.from = comparison.from;
  row.version = comparison.version;
  row.standing = comparison.standing;
  row.assumptions = std::move(comparison.assumptions);
  row.params = comparison.params;
  row.start = std::move(comparison.start);
  if (row.standing != Standing::kNotApplicable) row.headline = std::move(comparison.headline);
  for (ComparedTerm& term : comparison.terms) {
    row.terms.push_back(Describe(model, std::move(term), node_names));
  }
  return row;
}

// If some nodes are not counted, what a tool counts for them is unknown too. If it counts nothing
// else, it has no figure.
void AddLowerBound(const Report& ours, ToolRow* row) {
  if (!ours.totals.lower_bound || row->standing == Standing::kNotApplicable) return;
  const std::string nodes = Plural(ours.coverage.unknown, "node");
  if (*row->headline == Expr(0)) {
    row->standing = Standing::kNotApplicable;
    row->headline.reset();
    row->assumptions = {absl::StrCat("all that it may count is in ", nodes, " without a rule")};
    return;
  }
  row->standing = Standing::kAssumed;
  row->assumptions.push_back(absl::StrCat(nodes, " without a rule of ours cost nothing"));
}

// By EntryId, whether it is in the modules that `globs` names; empty without any.
absl::StatusOr<std::vector<bool>> EntriesOfPart(const Evidence& evidence,
                                                const std::string& globs) {
  std::vector<bool> in_part;
  if (globs.empty()) return in_part;
  ASSIGN_OR_RETURN(const ModuleTree tree, BuildModules(evidence.inference(), evidence.counts()));
  ASSIGN_OR_RETURN(const ModulePart part, SelectModules(tree, globs));
  for (const convention::Entry& entry : evidence.entries()) {
    in_part.push_back(part.paths.contains(evidence.paths().path(entry.module)));
  }
  return in_part;
}

}  // namespace

const char* ErrorOf(const ToolRow& row) {
  for (const TermRow& term : row.terms) {
    if (const char* error = term.amount.error()) return error;
  }
  return row.headline ? row.headline->error() : nullptr;
}

void SortTerms(const Report& ours, std::vector<TermRow>* terms) {
  const report::ReferenceValues values(ours);
  const auto size = [&](const TermRow& term) {
    const absl::int128 value = values.Of(term.amount).value_or(0);
    return value < 0 ? -value : value;
  };
  absl::c_stable_sort(*terms,
                      [&](const TermRow& a, const TermRow& b) { return size(a) > size(b); });
}

absl::string_view UnitName(Unit unit) {
  return unit == Unit::kMac ? "MACs" : unit == Unit::kFlop ? "FLOPs" : "activations";
}

absl::string_view UnitKey(Unit unit) {
  return unit == Unit::kMac ? "mac" : unit == Unit::kFlop ? "flop" : "activation";
}

absl::string_view StandingName(Standing standing) {
  switch (standing) {
    case Standing::kExact:
      return "exact";
    case Standing::kAssumed:
      return "assumed";
    case Standing::kNotApplicable:
      break;
  }
  return "not_applicable";
}

absl::StatusOr<CompareReport> MakeComparison(const Inference& inference, const Counts& counts,
                                             const CompareRequest& request,
                                             const ReportOptions& options) {
  const ModelData& model = *inference.model;
  ASSIGN_OR_RETURN(const std::vector<const Convention*> conventions, Requested(request));
  const Convention* from = nullptr;
  if (!request.from.empty()) {
    ASSIGN_OR_RETURN(from, RequireConvention(request.from));
    for (const Convention* to : conventions) {
      if ((from->unit == Unit::kActivation) == (to->unit == Unit::kActivation)) continue;
      return absl::InvalidArgumentError(absl::StrCat(from->name, " counts ", UnitName(from->unit),
                                                     " and ", to->name, " counts ",
                                                     UnitName(to->unit)));
    }
  }
  ASSIGN_OR_RETURN(Report ours, MakeReport(inference, counts, options));
  FormulaText text(model);
  text.Add(ours);
  CompareReport report{std::move(ours), request, {}};
  Evidence evidence(inference, counts, options.no_grad);
  ASSIGN_OR_RETURN(const std::vector<bool> part, EntriesOfPart(evidence, options.module));
  const CompareOptions compare = {request.by_module, options.module.empty() ? nullptr : &part};
  const auto ledger_of = [&](const Convention& convention) {
    Ledger ledger = convention.apply(&evidence);
    return compare.part == nullptr ? std::move(ledger)
                                   : LedgerOfPart(&evidence, convention.unit, ledger, part);
  };
  Ledger from_ledger;
  if (from != nullptr) from_ledger = ledger_of(*from);
  for (const Convention* convention : conventions) {
    const Ledger ledger = ledger_of(*convention);
    Comparison comparison = from == nullptr ? Compare(&evidence, *convention, ledger, compare)
                                            : CompareBetween(&evidence, *from, from_ledger,
                                                             *convention, ledger, compare);
    report.tools.push_back(Describe(model, std::move(comparison), request.node_names));
    SortTerms(report.ours, &report.tools.back().terms);
    AddLowerBound(report.ours, &report.tools.back());
    if (report.tools.back().headline) text.Add(*report.tools.back().headline);
    for (const TermRow& term : report.tools.back().terms) text.Add(term.amount);
    RETURN_IF_ERROR(text.Check());
    if (const char* error = ErrorOf(report.tools.back())) {
      return LimitError(LimitOf(error), absl::StrCat(Escaped(model.path), ": the figure of ",
                                                     convention->name, " ", error));
    }
  }
  return report;
}

}  // namespace onnxflops
