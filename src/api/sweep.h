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

// What a sweep of memory gives of each point: what MakeMemoryRow reads, or the whole report.
enum class PointParts : uint8_t { kMemory, kAll };

// What the model holds in memory at every combination; `each` takes the reports. Those of kMemory
// come from formulas where a count at the smallest and at the largest sizes agrees with them; other
// points are counted, each on its own. A point that cannot be counted, or that `each` refuses, is
// the error, and so are more points than may be counted (kMaxMemorySweepNodes).
// REQUIRES: options.memory.
absl::Status SweepMemory(const Model& model, const CountOptions& options,
                         absl::Span<const SweptSymbol> swept, PointParts parts,
                         absl::FunctionRef<absl::Status(Report)> each);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SWEEP_H_
