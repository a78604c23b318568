#include "src/api/sweep.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops {
namespace {

absl::StatusOr<std::vector<Bindings>> PointsOf(absl::Span<const SweptSymbol> swept) {
  std::vector<Bindings> points = {{}};
  for (const auto& [name, sizes] : swept) {
    if (points.size() * sizes.size() > kMaxSweepPoints) {
      return LimitError("sweep-points", absl::StrCat("the sweep has more than ", kMaxSweepPoints,
                                                     " points (sweep-points)"));
    }
    std::vector<Bindings> product;
    for (const Bindings& point : points) {
      for (const int64_t size : sizes) {
        product.push_back(point);
        product.back()[name] = size;
      }
    }
    points = std::move(product);
  }
  return points;
}

class Sweeper {
 public:
  Sweeper(const Model& model, const CountOptions& options, absl::string_view convention)
      : model_(model), options_(options), convention_(convention) {}

  absl::StatusOr<Report> CountAt(const Bindings& sizes) const {
    CountOptions options = options_;
    options.bindings.insert(sizes.begin(), sizes.end());
    return convention_.empty() ? Count(model_, options) : CountAs(model_, options, convention_);
  }

 private:
  const Model& model_;
  const CountOptions& options_;
  const absl::string_view convention_;
};

// The largest point: where sizes are too large for a model, it is.
Bindings LargestOf(absl::Span<const SweptSymbol> swept) {
  Bindings largest;
  for (const auto& [name, sizes] : swept) {
    largest[name] = *std::max_element(sizes.begin(), sizes.end());
  }
  return largest;
}

}  // namespace

absl::StatusOr<SweepReport> CountSweep(const Model& model, const CountOptions& options,
                                       absl::string_view convention,
                                       absl::Span<const SweptSymbol> swept,
                                       const std::optional<ViewOptions>& rows) {
  ASSIGN_OR_RETURN(const std::vector<Bindings> points, PointsOf(swept));
  std::vector<std::string> symbols;
  for (const auto& [name, sizes] : swept) symbols.push_back(name);
  const Sweeper sweeper(model, options, convention);
  // A formula does not know which sizes a model takes. A count does.
  ASSIGN_OR_RETURN(const Report largest, sweeper.CountAt(LargestOf(swept)));
  absl::StatusOr<Report> open = sweeper.CountAt({});
  absl::Status fault = open.status();
  if (open.ok()) {
    absl::StatusOr<SweepReport> sweep = MakeSweep(*std::move(open), symbols, points, rows);
    if (sweep.ok()) return sweep;
    fault = sweep.status();
  }
  if (rows) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a sweep with --by needs formulas, and the model has none: ", fault.message()));
  }
  std::vector<Report> reports;
  for (const Bindings& point : points) {
    ASSIGN_OR_RETURN(Report report, sweeper.CountAt(point));
    report.modules.clear();  // only totals are kept
    reports.push_back(std::move(report));
  }
  return MakeSweep(std::move(reports), std::move(symbols), points);
}

}  // namespace onnxflops
