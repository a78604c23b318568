// Parts of a comparison that its writers and those of a pipeline share.
#ifndef ONNXFLOPS_SRC_COMPARE_COMPARE_PARTS_H_
#define ONNXFLOPS_SRC_COMPARE_COMPARE_PARTS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "src/compare/compare_report.h"
#include "src/render/document.h"
#include "src/render/json_writer.h"
#include "src/render/text_table.h"

namespace onnxflops::compare {

// Tables and notes of a comparison, or the waterfalls of its tools: a document without its head.
void AddFigures(const CompareReport& report, bool waterfalls, Document* document);
// A row for each model. REQUIRES: all reports have the same tools; there is at least one.
TextTable ModelsTable(absl::Span<const CompareReport> reports);
// The table that is written as CSV.
TextTable CsvTable(absl::Span<const CompareReport> reports, bool waterfalls);
// A convention in JSON. `lower_bound`: of our count.
void WriteTool(const ToolRow& tool, const CompareRequest& request, bool lower_bound,
               report::JsonWriter* json);
// The page; of a pipeline with what its stages run.
std::string Page(const CompareReport& report, const std::vector<std::string>& stages);

}  // namespace onnxflops::compare

#endif  // ONNXFLOPS_SRC_COMPARE_COMPARE_PARTS_H_
