// Makes a report of another tool's figures, from its ledger line by line.
//
// How it works. A line of the ledger is one amount for some entries. It cannot be divided among
// them, so the whole amount goes to one entry: the first that has MACs in our count, else the
// first. From there it is summed by module, operator and node. Amounts that a tool counts only for
// the whole model appear in the totals; if it has no others, the report has no rows below the
// model. The report itself is ours, made on the tool's module tree, with our figures of work
// replaced. Quantities that the tool does not give become 0. Equal amounts are counted before they
// are added, because many lines have the same amount and adding long formulas is slow.
#include <map>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/base/utf8.h"
#include "src/compare/make_comparison.h"
#include "src/convention/comparison.h"
#include "src/convention/conventions.h"
#include "src/module/module_tree.h"
#include "src/render/format.h"
#include "src/report/formula_text.h"
#include "src/report/make_report.h"
#include "src/report/ranges.h"
#include "src/report/report.h"

namespace onnxflops {
namespace {

using convention::AmountId;
using convention::Convention;
using convention::EntryId;
using convention::Evidence;
using convention::kZero;
using convention::Ledger;
using convention::Line;
using convention::ModelLine;
using convention::Standing;
using convention::Unit;
using convention::VersionUsed;
using report::FormulaText;

// A sum of lines. Equal amounts are counted before they are added.
class Work {
 public:
  void Add(AmountId amount) { ++counts_[amount]; }
  Expr Total(const Evidence& evidence) const {
    std::vector<Expr> parts;
    for (const auto& [amount, times] : counts_) {
      if (amount != kZero) parts.push_back(evidence.amount(amount) * times);
    }
    return Sum(parts);
  }

 private:
  std::map<AmountId, int64_t> counts_;
};

class Recount {
 public:
  Recount(const Evidence& evidence, const Convention& convention, const Ledger& ledger)
      : evidence_(evidence), convention_(convention), ledger_(ledger) {
    for (const Line& line : ledger.lines) AddLine(line);
    for (const ModelLine& line : ledger.model_lines) of_model_.Add(line.theirs);
  }

  ToolFigure Figure() const {
    ToolFigure tool;
    tool.counts_macs = convention_.unit == Unit::kMac;
    tool.version = VersionUsed(convention_, ledger_);
    tool.headline_name = convention_.headline;
    tool.of_model = of_model_.Total(evidence_);
    tool.headline = of_nodes_.Total(evidence_) + tool.of_model;
    tool.has_rows = !ledger_.lines.empty();
    tool.params = ledger_.params;
    tool.assumptions = ledger_.assumptions;
    return tool;
  }

  // The tool counts work in other modules than we do, so it needs a tree with its own amounts.
  absl::StatusOr<ModuleTree> Tree() const {
    std::vector<ModuleWork> work;
    for (const auto& [module, sum] : modules_) {
      ModuleWork item;
      item.module = module;
      SetWork(sum.Total(evidence_), &item.amounts);
      work.push_back(std::move(item));
    }
    return BuildModules(evidence_.inference(), evidence_.counts(), work);
  }

  // `report`: ours, with Tree().
  void Fill(Report* report) {
    FillTotals(report);
    FillRoot(report);
    for (OpRow& row : report->by_op) {
      SetWork(ops_[{row.domain, row.op}].Total(evidence_), &row);
    }
    for (NodeRow& row : report->nodes) {
      SetWork(nodes_[row.node].Total(evidence_), &row);
    }
    if (!report->tool->has_rows) {
      report->by_op.clear();
      report->nodes.clear();
    }
  }

 private:
  void AddLine(const Line& line) {
    const auto entries =
        absl::MakeConstSpan(ledger_.entries)
            .subspan(static_cast<size_t>(line.first), static_cast<size_t>(line.count));
    EntryId main = entries[0];  // the first entry with MACs, else the first one
    for (EntryId id : entries) {
      if (evidence_.Ours(Unit::kMac, id) != kZero) {
        main = id;
        break;
      }
    }
    const convention::Entry& entry = evidence_.entry(main);
    const Node& node = evidence_.node(entry);
    of_nodes_.Add(line.theirs);
    modules_[line.module].Add(line.theirs);
    ops_[{std::string(node.domain), std::string(node.op_type)}].Add(line.theirs);
    nodes_[entry.node].Add(line.theirs);
  }

  // Sets the amount in the tool's unit, and all other quantities of work to 0.
  void SetWork(Expr amount, Amounts* amounts) const {
    for (const Quantity& q : kQuantities) {
      if (q.of == Quantity::Of::kWork) amounts->*q.value = 0;
    }
    (convention_.unit == Unit::kMac ? amounts->macs : amounts->flops) = std::move(amount);
  }

  void FillTotals(Report* report) const {
    ToolFigure tool = Figure();
    if (report->totals.lower_bound) {
      tool.assumptions.push_back(absl::StrCat(Plural(report->coverage.unknown, "node"),
                                              " without a rule of ours cost nothing"));
    }
    Totals totals{report->totals};
    totals.backward_flops = totals.backward_macs = totals.training_flops = 0;
    SetWork(tool.headline, &totals);
    report->totals = std::move(totals);
    report->tool = std::move(tool);
    report->convention = convention_.name;
    report->census = Census();
    report->int_census = Census();
    report->macs_by_dtype.clear();
    report->causal_nodes = 0;  // the tool's ledger already includes masked pairs as it counts them
  }

  void FillRoot(Report* report) const {
    Module& root = report->modules[0];
    Amounts amounts = *root.amounts;
    SetWork(report->tool->headline, &amounts);
    root.lower_bound = report->totals.lower_bound;
    root.amounts = std::make_shared<const Amounts>(std::move(amounts));
    if (report->tool->has_rows) return;
    root.end = 1;
    report->modules.resize(1);
  }

  const Evidence& evidence_;
  const Convention& convention_;
  const Ledger& ledger_;
  Work of_nodes_, of_model_;
  std::map<ModuleId, Work> modules_;
  std::map<std::pair<std::string, std::string>, Work> ops_;
  absl::flat_hash_map<NodeId, Work> nodes_;
};

// FailedPrecondition if the tool has no figure for the model.
absl::StatusOr<Ledger> LedgerOf(const Convention& convention, Evidence* evidence) {
  if (convention.unit == Unit::kActivation) {
    return absl::FailedPreconditionError(
        absl::StrCat(convention.name, " counts activations and no work: see `onnxflops compare`"));
  }
  Ledger ledger = convention.apply(evidence);
  if (ledger.standing == Standing::kNotApplicable) {
    // The message may hold names from the file, of any length and with any characters.
    const absl::string_view reason = Utf8Prefix(ledger.assumptions[0], kMaxShownFormula);
    return absl::FailedPreconditionError(
        absl::StrCat(Escaped(evidence->model().path), ": ", convention.name, " gives no figure: ",
                     Printable(reason), reason.size() < ledger.assumptions[0].size() ? "..." : ""));
  }
  return ledger;
}

absl::Status CheckHeadline(const ToolFigure& tool, const ModelData& model,
                           const Convention& convention) {
  const char* error = tool.headline.error();
  if (error == nullptr) return absl::OkStatus();
  return LimitError(LimitOf(error), absl::StrCat(Escaped(model.path), ": the figure of ",
                                                 convention.name, " ", error));
}

}  // namespace

absl::StatusOr<ToolFigure> FigureAs(const Inference& inference, const Counts& counts,
                                    const Convention& convention) {
  Evidence evidence(inference, counts);
  ASSIGN_OR_RETURN(const Ledger ledger, LedgerOf(convention, &evidence));
  ToolFigure tool = Recount(evidence, convention, ledger).Figure();
  RETURN_IF_ERROR(CheckHeadline(tool, *inference.model, convention));
  return tool;
}

absl::StatusOr<Report> MakeReportAs(const Inference& inference, const Counts& counts,
                                    const ReportOptions& options, const Convention& convention) {
  const ModelData& model = *inference.model;
  Evidence evidence(inference, counts, options.no_grad);
  ASSIGN_OR_RETURN(const Ledger ledger, LedgerOf(convention, &evidence));
  ReportOptions without_bounds = options;
  without_bounds.upper_bounds = false;
  Recount recount(evidence, convention, ledger);
  ASSIGN_OR_RETURN(ModuleTree tree, recount.Tree());
  ASSIGN_OR_RETURN(Report report, MakeReport(inference, counts, without_bounds, std::move(tree)));
  recount.Fill(&report);
  if (options.upper_bounds) report::RaiseToUpperBounds(&report);
  RETURN_IF_ERROR(CheckHeadline(*report.tool, model, convention));
  FormulaText text(model);
  text.Add(report);
  RETURN_IF_ERROR(text.Check());
  return report;
}

}  // namespace onnxflops
