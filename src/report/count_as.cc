// A report as another tool counts: of its ledger, line by line.
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/convention/comparison.h"
#include "src/convention/conventions.h"
#include "src/report/formula_text.h"
#include "src/report/report.h"

namespace onnxflops {
namespace {

// What lines add up to. Equal amounts are counted before they are added.
class Work {
 public:
  void Add(AmountId flops, AmountId macs) {
    ++flops_[flops];
    ++macs_[macs];
  }
  Expr Flops(const Evidence& evidence) const { return Total(evidence, flops_); }
  Expr Macs(const Evidence& evidence) const { return Total(evidence, macs_); }

 private:
  using Counts = std::map<AmountId, int64_t>;
  static Expr Total(const Evidence& evidence, const Counts& counts) {
    std::vector<Expr> parts;
    for (const auto& [amount, times] : counts) {
      if (amount != kZero) parts.push_back(evidence.amount(amount) * times);
    }
    return Sum(parts);
  }
  Counts flops_, macs_;
};

class Recount {
 public:
  Recount(Evidence* evidence, const Convention& convention, const Ledger& ledger)
      : evidence_(*evidence), convention_(convention), ledger_(ledger) {
    for (const Line& line : ledger.lines) AddLine(line);
  }

  absl::Status Fill(Report* report) {
    FillTotals(report);
    std::vector<ModuleWork> work;
    for (const auto& [module, sum] : modules_) {
      work.push_back({module, sum.Flops(evidence_), sum.Macs(evidence_)});
    }
    ASSIGN_OR_RETURN(ModuleTree tree,
                     BuildModules(evidence_.inference(), evidence_.counts(), work));
    report->modules = std::move(tree.modules);
    for (OpRow& row : report->by_op) {
      const Work& sum = ops_[{row.domain, row.op}];
      row.flops = sum.Flops(evidence_);
      row.macs = sum.Macs(evidence_);
    }
    for (NodeRow& row : report->nodes) {
      const Work& sum = nodes_[row.node];
      row.flops = sum.Flops(evidence_);
      row.macs = sum.Macs(evidence_);
    }
    return absl::OkStatus();
  }

 private:
  // A tool of MACs is said to count twice as many FLOPs. Of a tool of FLOPs, MACs are ours, of the
  // nodes that it counts.
  void AddLine(const Line& line) {
    const auto entries =
        absl::MakeConstSpan(ledger_.entries)
            .subspan(static_cast<size_t>(line.first), static_cast<size_t>(line.count));
    AmountId flops = line.theirs;
    AmountId macs = line.theirs;
    if (convention_.unit == Unit::kMac) {
      flops = evidence_.Doubled(line.theirs);
    } else {
      macs =
          line.theirs == kZero || line.ours == kZero ? kZero : evidence_.Ours(Unit::kMac, entries);
    }
    EntryId main = entries[0];  // the one that does most of the work, or the first
    for (EntryId id : entries) {
      if (evidence_.Ours(Unit::kMac, id) != kZero) {
        main = id;
        break;
      }
    }
    const Entry& entry = evidence_.entry(main);
    const Node& node = evidence_.node(entry);
    total_.Add(flops, macs);
    modules_[line.module].Add(flops, macs);
    ops_[{std::string(node.domain), std::string(node.op_type)}].Add(flops, macs);
    nodes_[entry.node].Add(flops, macs);
  }

  void FillTotals(Report* report) {
    report->convention = convention_.name;
    report->assumptions = ledger_.assumptions;
    Totals& t = report->totals;
    t.flops = total_.Flops(evidence_);
    t.macs = total_.Macs(evidence_);
    t.other_flops = t.flops - t.macs * 2;
    t.int_ops = 0;
    t.backward_flops = t.flops * 2;
    t.backward_macs = t.macs * 2;
    t.training_flops = t.flops * 3;
    t.foldable_flops = 0;
    report->census = Census();
    report->census[Kind::kMac] = t.macs;
    report->int_census = Census();
    report->macs_by_dtype.clear();
  }

  Evidence& evidence_;
  const Convention& convention_;
  const Ledger& ledger_;
  Work total_;
  std::map<ModuleId, Work> modules_;
  std::map<std::pair<std::string, std::string>, Work> ops_;
  absl::flat_hash_map<NodeId, Work> nodes_;
};

}  // namespace

absl::StatusOr<Report> CountAs(const Model& model, const CountOptions& options,
                               absl::string_view name) {
  ASSIGN_OR_RETURN(const Convention* convention, RequireConvention(name));
  if (options.node_rows && !model->functions.empty()) {
    return absl::UnimplementedError(
        absl::StrCat(Escaped(model->path),
                     ": rows by node of a model with functions are only there as we count"));
  }
  if (options.causal != CausalCounting::kFull) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " counts causal attention in its own way: half of it is only there as we count"));
  }
  ASSIGN_OR_RETURN(const Inference inference, Infer(model, InferOptionsOf(options)));
  ASSIGN_OR_RETURN(const Counts counts, Count(inference));
  Evidence evidence(inference, counts);
  const Ledger ledger = convention->apply(&evidence);
  if (ledger.standing == Standing::kNotApplicable) {
    return absl::FailedPreconditionError(absl::StrCat(Escaped(model->path), ": ", name,
                                                      " gives no figure: ", ledger.assumptions[0]));
  }
  ASSIGN_OR_RETURN(Report report, MakeReport(inference, counts, options));
  report.causal_nodes = 0;  // what the tool makes of them is part of its ledger
  RETURN_IF_ERROR(Recount(&evidence, *convention, ledger).Fill(&report));
  if (const char* error = report.totals.training_flops.error()) {
    return absl::OutOfRangeError(
        absl::StrCat(Escaped(model->path), ": the figure of ", name, " ", error));
  }
  FormulaText text(*model);
  text.Add(report);
  RETURN_IF_ERROR(text.Check());
  return report;
}

}  // namespace onnxflops
