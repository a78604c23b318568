#include "src/diff/map_formulas.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/cost/amounts.h"
#include "src/graph/fact.h"
#include "src/module/module.h"
#include "src/report/memory_report.h"

namespace onnxflops::diff {
namespace {

class FormulaMapper {
 public:
  explicit FormulaMapper(const std::function<Expr(const Expr&)>& map) : map_(map) {}

  absl::Status Map(Report* report) {
    AllAmounts(&report->totals);
    report->totals.SetBackward(report->exact_backward());
    Peak(&report->activation_peak);
    for (OpRow& row : report->by_op) {
      AllAmounts(&row);
      Formula(&row.runs);
    }
    for (Module& module : report->modules) Share(&module.amounts);
    for (NodeRow& row : report->nodes) {
      AllAmounts(&row);
      Formula(&row.multiplicity);
      Tensors(&row.inputs);
      Tensors(&row.outputs);
    }
    Tensors(&report->inputs);
    Tensors(&report->outputs);
    return std::move(status_);
  }

 private:
  void Formula(Expr* expr) {
    if (expr->is_literal() || !status_.ok()) return;
    const auto [known, is_new] = known_.try_emplace(*expr);
    if (is_new) known->second = map_(*expr);
    *expr = known->second;
    if (const char* error = expr->error()) {
      status_ = LimitError(LimitOf(error), absl::StrCat("a formula ", error));
    }
  }
  // A peak whose formula gets too long is not known: the rest is.
  void Peak(std::optional<ActivationPeak>* peak) const {
    if (!peak->has_value()) return;
    (*peak)->bytes = map_((*peak)->bytes);
    if ((*peak)->bytes.error() != nullptr) peak->reset();
  }
  void AllAmounts(Amounts* amounts) {
    for (const Quantity& q : kQuantities) {
      if ((amounts->*q.value).error() == nullptr) Formula(&(amounts->*q.value));
    }
  }
  // Equal modules share their amounts, before and after.
  void Share(std::shared_ptr<const Amounts>* amounts) {
    const auto [known, is_new] = shared_.try_emplace(amounts->get());
    if (is_new) {
      originals_.push_back(*amounts);
      Amounts mapped = **amounts;
      AllAmounts(&mapped);
      known->second = std::make_shared<const Amounts>(std::move(mapped));
    }
    *amounts = known->second;
  }
  template <typename List>
  void Tensors(List* tensors) {
    for (TensorInfo& tensor : *tensors) {
      if (!tensor.shape.ranked()) continue;
      for (Expr& dim : tensor.shape.dims()) Formula(&dim);
    }
  }

  const std::function<Expr(const Expr&)>& map_;
  absl::flat_hash_map<Expr, Expr> known_;
  // By the amounts that they replace; the key is kept alive so that its address is not reused.
  absl::flat_hash_map<const Amounts*, std::shared_ptr<const Amounts>> shared_;
  std::vector<std::shared_ptr<const Amounts>> originals_;
  absl::Status status_;
};

}  // namespace

absl::Status MapFormulas(const std::function<Expr(const Expr&)>& map, Report* report) {
  return FormulaMapper(map).Map(report);
}

}  // namespace onnxflops::diff
