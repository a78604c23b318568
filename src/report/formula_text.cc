#include "src/report/formula_text.h"

#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"

namespace onnxflops::report {

FormulaText::FormulaText(const ModelData& model)
    : model_(model),
      most_(kMaxExtraFormulaText +
            kMaxFormulaTextPerNode * static_cast<int64_t>(model.nodes.size())),
      left_(most_) {}

void FormulaText::Add(const Expr& expr) {
  if (expr.is_literal() || left_ < 0) return;
  left_ -= static_cast<int64_t>(expr.TextBytes(static_cast<size_t>(left_)));
}

void FormulaText::Add(const Shape& shape) {
  if (!shape.ranked()) return;
  for (const Expr& dim : shape.dims()) Add(dim);
}

void FormulaText::Add(const Census& census) {
  for (int i = 0; i < kNumKinds; ++i) Add(census[static_cast<Kind>(i)]);
}

void FormulaText::Add(const Amounts& amounts) {
  for (const Quantity& q : kQuantities) Add(amounts.*q.value);
}

void FormulaText::Add(const Report& report) {
  Add(report.totals);
  Add(report.census);
  Add(report.int_census);
  for (const auto& [types, macs] : report.macs_by_dtype) Add(macs);
  for (const OpRow& row : report.by_op) {
    Add(row.runs);
    Add(row);
  }
  for (const Module& module : report.modules) Add(*module.amounts);
  for (const InputInfo& input : report.inputs) {
    Add(input.shape);
    Add(input.declared);
  }
  for (const TensorInfo& output : report.outputs) Add(output.shape);
}

absl::Status FormulaText::Check() const {
  if (left_ >= 0) return absl::OkStatus();
  return LimitError("formula-text-per-node",
                    absl::StrCat(Escaped(model_.path), ": its formulas take more than ", most_,
                                 WithSettings(" bytes of text (formula-text-per-node); dimensions "
                                              "bound with {dim} make them shorter")));
}

}  // namespace onnxflops::report
