// Lower and upper ends of a report's figures if sizes depend on data, and the report with these
// sizes at their upper bounds.
//
//   const Ranges ranges(report);
//   ranges.Highest(report.totals.macs)   // 1000 * (macs of a box), if at most 1000 boxes stay
#ifndef ONNXFLOPS_SRC_REPORT_RANGES_H_
#define ONNXFLOPS_SRC_REPORT_RANGES_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "src/report/report.h"
#include "src/symbolic/extremes.h"

namespace onnxflops::report {

// Formulas over the sizes of inputs. Each is computed once. Not thread-safe.
class Ranges {
 public:
  explicit Ranges(const Report& report);

  bool Varies(const Expr& amount) const { return extremes_.Varies(amount); }
  // nullopt if no bound is known, or finding it takes too much work.
  std::optional<Expr> Lowest(const Expr& amount) const { return Of(amount).first; }
  std::optional<Expr> Highest(const Expr& amount) const { return Of(amount).second; }
  // The amount with sizes at their upper bounds, as far as these are known.
  Expr AtUpperBounds(const Expr& amount) const;

 private:
  using Ends = std::pair<std::optional<Expr>, std::optional<Expr>>;
  const Ends& Of(const Expr& amount) const;
  // Takes the terms of an amount from the budget; false if too few are left.
  bool Take(const Expr& amount) const;

  const Extremes extremes_;
  mutable int64_t terms_left_;
  mutable absl::flat_hash_map<Expr, Ends> known_;
  mutable absl::flat_hash_map<Expr, Expr> raised_;
};

// True if a total depends on sizes that no input has.
bool HasRanges(const Report& report);

// Replaces every size inside the model by its upper bound, if it has one, in the whole report. Rows
// still add up to the totals if no amount falls as a size rises.
void RaiseToUpperBounds(Report* report);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_RANGES_H_
