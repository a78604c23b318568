#include "tools/memory_sweep.h"

#include <utility>

#include "src/base/status_macros.h"
#include "src/report/redact.h"

namespace onnxflops::tools {

std::string RenderMemoryRows(const std::vector<MemoryRow>& rows, Format format,
                             const ViewOptions& view, const TableStyle& style) {
  if (format == Format::kCsv) return ToCsv(rows);
  return format == Format::kMarkdown ? ToMarkdown(rows, view) : ToTable(rows, view, style);
}

absl::StatusOr<MemorySweep> RenderMemorySweep(const Model& model, const CountOptions& options,
                                              const std::vector<SweptSymbol>& swept, bool redact,
                                              Format format, const ViewOptions& view,
                                              const TableStyle& style) {
  MemorySweep sweep;
  ASSIGN_OR_RETURN(sweep.reports, CountPoints(model, options, swept));
  std::vector<MemoryRow> rows;
  std::vector<std::string> elements;
  Redactor redactor;
  for (Report& report : sweep.reports) {
    if (redact) RETURN_IF_ERROR(redactor.Redact(&report));
    rows.push_back(MakeMemoryRow(report));
    if (format == Format::kJson) elements.push_back(ToJsonElement(report));
    if (format == Format::kJsonLines) sweep.text += ToJsonLine(report);
  }
  if (format == Format::kJson) sweep.text = JoinJson(elements);
  if (sweep.text.empty()) sweep.text = RenderMemoryRows(rows, format, view, style);
  return sweep;
}

}  // namespace onnxflops::tools
