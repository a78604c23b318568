// Sizes at which open figures are compared and shares are shown.
#ifndef ONNXFLOPS_SRC_REPORT_REFERENCE_SIZES_H_
#define ONNXFLOPS_SRC_REPORT_REFERENCE_SIZES_H_

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "src/report/report.h"
#include "src/symbolic/expr.h"

namespace onnxflops::report {

// Default sizes where nothing is bound: batch-like symbols (the first axis of an input) and
// data-dependent ones are 1, others 128. Columns of shares use them, and say so.
Bindings ReferenceSizes(const Report& report);
// Values of expressions at these sizes. Each is computed once, because rows are often equal, and a
// total may have as many terms as there are rows. Not thread-safe.
class ReferenceValues {
 public:
  explicit ReferenceValues(const Report& report) : sizes_(ReferenceSizes(report)) {}
  const Bindings& sizes() const { return sizes_; }
  // nullopt if it has no value.
  std::optional<absl::int128> Of(const Expr& expr) const;

 private:
  const Bindings sizes_;
  mutable absl::flat_hash_map<Expr, std::optional<absl::int128>> known_;
};

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_REFERENCE_SIZES_H_
