// A model at many sizes, counted once.
#ifndef ONNXFLOPS_SRC_API_SWEEP_H_
#define ONNXFLOPS_SRC_API_SWEEP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/api/count.h"
#include "src/graph/model.h"
#include "src/report/view_options.h"
#include "src/sweep/sweep_report.h"

namespace onnxflops {

// A symbol and the sizes that it takes.
using SweptSymbol = std::pair<std::string, std::vector<int64_t>>;

// Every combination of the sizes; the last symbol changes first. OutOfRange for more than
// kMaxSweepPoints.
absl::StatusOr<std::vector<Bindings>> SweepPoints(absl::Span<const SweptSymbol> swept);

// Counts every combination of the sizes; the last symbol changes first. The formulas of the count
// without these sizes are evaluated at each point. A model without formulas, because a size decides
// which nodes run, is counted at each point. `convention` as in CountAs, or "". Errors: those of
// Count; OutOfRange for more than kMaxSweepPoints; FailedPrecondition for rows of a model without
// formulas. `redact_names` works as in Redactor.
absl::StatusOr<SweepReport> CountSweep(const Model& model, const CountOptions& options,
                                       absl::string_view convention,
                                       absl::Span<const SweptSymbol> swept,
                                       const std::optional<ViewOptions>& rows,
                                       bool redact_names = false);

// What a sweep of memory computes at each point: the fields that MakeMemoryRow reads, or the whole
// report.
enum class PointParts : uint8_t { kMemory, kAll };

// Finds the model's memory at every combination and passes each report to `each`. Reports of
// kMemory come from formulas if counts at the smallest and at the largest sizes agree with them;
// other points are counted one by one. It is an error if a point cannot be counted, if `each`
// refuses it, or if more points must be counted than kMaxMemorySweepNodes allows. REQUIRES:
// options.memory is set.
absl::Status SweepMemory(const Model& model, const CountOptions& options,
                         absl::Span<const SweptSymbol> swept, PointParts parts,
                         absl::FunctionRef<absl::Status(Report)> each);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SWEEP_H_
