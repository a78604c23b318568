// Rows of memory: of several models, or of one at several sizes.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_MEMORY_SWEEP_H_
#define ONNXFLOPS_TOOLS_COMMANDS_MEMORY_SWEEP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/sweep.h"
#include "src/report/memory_rows.h"
#include "src/report/writers.h"
#include "tools/cli/output_arguments.h"

namespace onnxflops::tools {

// As table, text, Markdown or CSV.
std::string RenderMemoryRows(const std::vector<MemoryRow>& rows, Format format,
                             const ViewOptions& view, const TableStyle& style);

// A row for every point, or reports as JSON. `redact` removes names as Redactor does. `objection`,
// if given, is set to the objection of --strict to the first report that it refuses.
absl::StatusOr<std::string> RenderMemorySweep(const Model& model, const CountOptions& options,
                                              const std::vector<SweptSymbol>& swept, bool redact,
                                              Format format, const ViewOptions& view,
                                              const TableStyle& style, std::string* objection);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_MEMORY_SWEEP_H_
