// How it works. A model may have inner sizes that depend on data (selected boxes, tokens), as
// symbols with bounds. For a total, the least and the largest value over these bounds is computed
// (Extremes), with limits on terms and steps; if a limit is exceeded there is no range.
// RaiseToUpperBounds() replaces all amounts and sizes of a report by such upper ends; a formula
// without one stays, and its symbols remain open. Equal modules share one set of formulas, so each
// set is replaced once and stays shared.
#include "src/report/ranges.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "src/base/limits.h"
#include "src/symbolic/work.h"

namespace onnxflops::report {
namespace {

SizeBounds BoundsOf(const Report& report) {
  SizeBounds bounds;
  for (const SymbolOrigin& s : report.symbols) {
    if (s.kind != SymbolOrigin::Kind::kInput) bounds.emplace(s.name, s.at_most);
  }
  return bounds;
}

// Walks the expressions of a report.
class Raiser {
 public:
  explicit Raiser(const Report& report) : ranges_(report) {}

  void Raise(Report* report);

 private:
  void Put(Expr* expr) { *expr = ranges_.AtUpperBounds(*expr); }
  void Put(Amounts* amounts) {
    for (const Quantity& q : kQuantities) Put(&(amounts->*q.value));
  }
  void Put(Census* census) {
    const Census before = *census;
    before.ForEach([&](Kind kind, const Expr&) { Put(&(*census)[kind]); });
  }
  void Put(std::vector<TensorInfo>* tensors);
  void PutTotals(Report* report);
  void PutModules(std::vector<Module>* modules);

  const Ranges ranges_;
};

void Raiser::Put(std::vector<TensorInfo>* tensors) {
  for (TensorInfo& tensor : *tensors) {
    if (!tensor.shape.ranked()) continue;
    for (Expr& dim : tensor.shape.dims()) Put(&dim);
  }
}

void Raiser::PutTotals(Report* report) {
  Put(static_cast<Amounts*>(&report->totals));
  report->totals.SetBackward(report->exact_backward());
  Put(&report->census);
  Put(&report->int_census);
  if (report->roofline && report->roofline->fused_time_estimate) {
    Put(&*report->roofline->arithmetic_time);
    Put(&*report->roofline->compulsory_bytes);
    Put(&*report->roofline->fused_time_estimate);
  }
  for (auto& [operands, amount] : report->macs_by_dtype) Put(&amount);
  if (!report->tool) return;
  Put(&report->tool->headline);
  Put(&report->tool->of_model);
}

// Equal modules share their amounts, and go on sharing them.
void Raiser::PutModules(std::vector<Module>* modules) {
  absl::flat_hash_map<std::shared_ptr<const Amounts>, std::shared_ptr<const Amounts>> shared;
  for (Module& module : *modules) {
    std::shared_ptr<const Amounts>& raised = shared[module.amounts];
    if (raised == nullptr) {
      Amounts amounts = *module.amounts;
      Put(&amounts);
      raised = std::make_shared<const Amounts>(std::move(amounts));
    }
    module.amounts = raised;
  }
}

void Raiser::Raise(Report* report) {
  PutTotals(report);
  PutModules(&report->modules);
  Put(&report->outputs);
  for (OpRow& row : report->by_op) {
    Put(static_cast<Amounts*>(&row));
    Put(&row.runs);
  }
  for (NodeRow& row : report->nodes) {
    Put(static_cast<Amounts*>(&row));
    Put(&row.multiplicity);
    Put(&row.inputs);
    Put(&row.outputs);
  }
}

}  // namespace

bool HasRanges(const Report& report) {
  const Ranges ranges(report);
  return std::any_of(std::begin(kQuantities), std::end(kQuantities),
                     [&](const Quantity& q) { return ranges.Varies(report.totals.*q.value); });
}

Ranges::Ranges(const Report& report) : extremes_(BoundsOf(report)), terms_left_(kMaxRangeTerms) {}

bool Ranges::Take(const Expr& amount) const {
  terms_left_ -= std::min(amount.NumTerms() + 1, terms_left_);
  return terms_left_ > 0;
}

const Ranges::Ends& Ranges::Of(const Expr& amount) const {
  const auto [it, is_new] = known_.try_emplace(amount);
  Ends& ends = it->second;
  if (!is_new || !Take(amount)) return ends;
  const WorkLimit work(kMaxRangeSteps);
  ends = {extremes_.Lowest(amount), extremes_.Highest(amount)};
  if (work.exceeded()) {
    terms_left_ = 0;
    ends = {};
  }
  // No work is negative.
  if (ends.first && ends.first->is_literal()) ends.first = Max(*ends.first, 0);
  return ends;
}

Expr Ranges::AtUpperBounds(const Expr& amount) const {
  if (!extremes_.Varies(amount)) return amount;
  const auto [it, is_new] = raised_.try_emplace(amount, amount);
  if (!is_new || !Take(amount)) return it->second;
  const WorkLimit work(kMaxRangeSteps);
  Expr raised = extremes_.HighestKnown(amount);
  if (work.exceeded()) {
    terms_left_ = 0;
  } else if (raised.error() == nullptr) {
    it->second = std::move(raised);
  }
  return it->second;
}

void RaiseToUpperBounds(Report* report) {
  Raiser(*report).Raise(report);
  absl::flat_hash_set<std::string> open;
  for (const Quantity& q : kQuantities) {
    for (std::string& name : (report->totals.*q.value).Symbols()) open.insert(std::move(name));
  }
  const auto is_open = [&](const SymbolOrigin& s) {
    return s.kind == SymbolOrigin::Kind::kInput || !s.at_most || open.contains(s.name);
  };
  const auto raised =
      std::stable_partition(report->symbols.begin(), report->symbols.end(), is_open);
  report->raised.assign(std::make_move_iterator(raised),
                        std::make_move_iterator(report->symbols.end()));
  report->symbols.erase(raised, report->symbols.end());
  report->upper_bounds = true;
}

}  // namespace onnxflops::report
