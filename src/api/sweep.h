// A model at many sizes, counted once.
#ifndef ONNXFLOPS_SRC_API_SWEEP_H_
#define ONNXFLOPS_SRC_API_SWEEP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/api/count.h"
#include "src/graph/model.h"
#include "src/report/sweep_report.h"
#include "src/report/view_options.h"

namespace onnxflops {

// A symbol and the sizes that it takes.
using SweptSymbol = std::pair<std::string, std::vector<int64_t>>;

// Every combination of the sizes; the last symbol changes first. The formulas of the count without
// these sizes are evaluated at each point. A model that has none, because a size decides what runs,
// is counted at each point. `convention` as of CountAs, or "". Errors, beside those of Count:
// OutOfRange for more than kMaxSweepPoints; FailedPrecondition for rows of a model that has no
// formulas. With `redact_names`, as Redactor has it.
absl::StatusOr<SweepReport> CountSweep(const Model& model, const CountOptions& options,
                                       absl::string_view convention,
                                       absl::Span<const SweptSymbol> swept,
                                       const std::optional<ViewOptions>& rows,
                                       bool redact_names = false);

// A report for every combination, each counted on its own: of what no formula gives, as memory.
// A point that cannot be counted is the error.
absl::StatusOr<std::vector<Report>> CountPoints(const Model& model, const CountOptions& options,
                                                absl::Span<const SweptSymbol> swept);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SWEEP_H_
