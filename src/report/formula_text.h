// Measures the text of a report's expressions and limits it: one dimension of a file may appear in
// every module and operator, and sums of many symbols in each of them.
#ifndef ONNXFLOPS_SRC_REPORT_FORMULA_TEXT_H_
#define ONNXFLOPS_SRC_REPORT_FORMULA_TEXT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "src/graph/model.h"
#include "src/report/report.h"

namespace onnxflops::report {

// Adds up the text of expressions, as far as the limit.
class FormulaText {
 public:
  explicit FormulaText(const ModelData& model);
  void Add(const Expr& expr);
  void Add(const Shape& shape);
  void Add(const Census& census);
  void Add(const Amounts& amounts);
  // Adds every expression of a report except those of its node rows.
  void Add(const Report& report);
  // OutOfRange if there was more than the limit.
  absl::Status Check() const;

 private:
  const ModelData& model_;
  const int64_t most_;
  int64_t left_;
};

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_FORMULA_TEXT_H_
