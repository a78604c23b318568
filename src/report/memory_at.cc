// The peak of a report is the largest of a few sums of which none is always at most another. At
// given sizes most of them drop out. The remaining ones are found as for the report.
#include "src/report/memory_at.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/status_macros.h"
#include "src/memory/largest.h"
#include "src/memory/tensor_bytes.h"
#include "src/render/format.h"
#include "src/report/reference_sizes.h"

namespace onnxflops::report {
namespace {

absl::StatusOr<Expr> At(const Expr& bytes, const Bindings& sizes) {
  Expr at = bytes.Substitute(sizes);
  if (const char* error = at.error()) {
    return LimitError(LimitOf(error), absl::StrCat("what is held in memory ", error));
  }
  return at;
}

struct LargestSum {
  std::optional<Expr> bytes;
  std::optional<absl::int128> value;  // at the sizes of the report
  size_t place = 0;                   // of the sum with that value
};

// `step`: also drops means of other sums, as in the timeline of a step.
absl::StatusOr<LargestSum> LargestAt(const std::vector<Expr>& sums, const Bindings& sizes,
                                     const Bindings& reference, bool step) {
  if (sums.empty()) return absl::FailedPreconditionError("a peak of memory has no formula");
  memory::TensorBytes tensors;
  memory::Comparisons comparisons;
  memory::Largest largest(&comparisons);
  LargestSum found;
  bool known = true;
  for (size_t i = 0; i < sums.size(); ++i) {
    ASSIGN_OR_RETURN(const Expr sum, At(sums[i], sizes));
    memory::BytesSum bytes;
    bytes.Add(*tensors.Make(sum));
    largest.Add(bytes, i);
    const absl::StatusOr<absl::int128> value = sum.Evaluate(reference);
    known = known && value.ok();
    if (!known || (found.value && *value <= *found.value)) continue;
    found.value = *value;
    found.place = i;
  }
  if (!known) found.value.reset();
  if (step) largest.DropMiddle();
  found.bytes = largest.AsOne();
  return found;
}

absl::Status SetPeak(const Bindings& sizes, const Bindings& reference, PeakRow* peak) {
  ASSIGN_OR_RETURN(LargestSum largest, LargestAt(peak->sums, sizes, reference, /*step=*/false));
  peak->bytes = std::move(largest.bytes);
  peak->value = largest.value;
  const bool some = peak->value && *peak->value > 0 && largest.place < peak->sum_nodes.size();
  peak->node = some ? peak->sum_nodes[largest.place] : "";
  return absl::OkStatus();
}

absl::Status SetStep(const Bindings& sizes, const Bindings& reference, StepRow* step) {
  ASSIGN_OR_RETURN(LargestSum largest, LargestAt(step->sums, sizes, reference, /*step=*/true));
  step->bytes = std::move(largest.bytes);
  step->value = largest.value;
  return absl::OkStatus();
}

// The part of a report that says which model this is, at which sizes.
Report TitleAt(const Report& open, const Bindings& sizes) {
  Report at;
  at.model = open.model;
  at.part = open.part;
  at.bindings = open.bindings;
  at.bindings.insert(sizes.begin(), sizes.end());
  at.upper_bounds = open.upper_bounds;
  at.raised = open.raised;
  for (const SymbolOrigin& symbol : open.symbols) {
    if (!sizes.contains(symbol.name)) at.symbols.push_back(symbol);
  }
  return at;
}

}  // namespace

absl::StatusOr<Report> MemoryAt(const Report& open, const Bindings& sizes) {
  Report at = TitleAt(open, sizes);
  const MemoryReport& from = *open.memory;
  MemoryReport& memory = at.memory.emplace();
  memory.options = from.options;
  memory.at = ReferenceSizes(at);
  memory.param_bytes = from.param_bytes;
  memory.gradient_bytes = from.gradient_bytes;
  memory.optimizer_bytes = from.optimizer_bytes;
  memory.unknown_sizes = from.unknown_sizes;
  memory.unknown_saved = from.unknown_saved;
  memory.saved_guessed = from.saved_guessed;
  memory.peak = from.peak;
  memory.step = from.step;
  memory.cache = from.cache;
  RETURN_IF_ERROR(SetPeak(sizes, memory.at, &memory.peak));
  RETURN_IF_ERROR(SetStep(sizes, memory.at, &memory.step));
  ASSIGN_OR_RETURN(memory.saved_bytes, At(from.saved_bytes, sizes));
  const absl::StatusOr<absl::int128> saved = memory.saved_bytes.Evaluate(memory.at);
  if (saved.ok()) memory.saved_value = *saved;
  if (memory.cache) {
    ASSIGN_OR_RETURN(memory.cache->bytes, At(memory.cache->bytes, sizes));
    ASSIGN_OR_RETURN(memory.cache->length_after, At(memory.cache->length_after, sizes));
    std::optional<Expr>& after = memory.cache->bytes_after;
    if (after) {
      ASSIGN_OR_RETURN(after, At(*after, sizes));
    }
  }
  return at;
}

}  // namespace onnxflops::report
