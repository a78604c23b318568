#include "tools/commands/memory_sweep.h"

#include <cstddef>
#include <utility>

#include "src/base/status_macros.h"
#include "src/report/redact.h"
#include "tools/cli/progress.h"
#include "tools/commands/count_sweep.h"

namespace onnxflops::tools {

std::string RenderMemoryRows(const std::vector<MemoryRow>& rows, Format format,
                             const ViewOptions& view, const TableStyle& style) {
  if (format == Format::kCsv) return ToCsv(rows);
  return RowOf(format).draw(ToDocument(absl::MakeConstSpan(rows), view), style);
}

absl::StatusOr<std::string> RenderMemorySweep(const Model& model, const CountOptions& options,
                                              const std::vector<SweptSymbol>& swept, bool redact,
                                              Format format, const ViewOptions& view,
                                              const TableStyle& style, std::string* objection) {
  std::vector<MemoryRow> rows;
  std::vector<std::string> elements;
  std::string lines;
  Redactor redactor;
  size_t points = 1;
  for (const auto& [name, sizes] : swept) points *= sizes.size();
  Progress progress(points, "sizes");
  const bool is_json = format == Format::kJson || format == Format::kJsonLines;
  const PointParts parts = is_json || objection != nullptr ? PointParts::kAll : PointParts::kMemory;
  RETURN_IF_ERROR(SweepMemory(model, options, swept, parts, [&](Report report) {
    if (redact) RETURN_IF_ERROR(redactor.Redact(&report));
    rows.push_back(MakeMemoryRow(report));
    if (format == Format::kJson) elements.push_back(ToJsonElement(report));
    if (format == Format::kJsonLines) lines += ToJsonLine(report);
    if (objection != nullptr && objection->empty()) *objection = Objection(report);
    progress.OneMore();
    return absl::OkStatus();
  }));
  if (format == Format::kJson) return JoinJson(elements);
  return format == Format::kJsonLines ? lines : RenderMemoryRows(rows, format, view, style);
}

}  // namespace onnxflops::tools
