// Reports as text: pure functions, one per format. Nothing is computed here.
//
//   std::cout << ToTable(report, {}, {.width = 80});
//
// Names in a model are data from strangers: each writer escapes them for where its text goes.
#ifndef ONNXFLOPS_SRC_REPORT_WRITERS_H_
#define ONNXFLOPS_SRC_REPORT_WRITERS_H_

#include <string>

#include "absl/types/span.h"
#include "src/render/document.h"
#include "src/report/report.h"
#include "src/report/view_options.h"

namespace onnxflops {

Document ToDocument(const Report& report, const ViewOptions& options);
std::string ToTable(const Report& report, const ViewOptions& options, const TableStyle& style = {});

// JSON in valid UTF-8: "onnxflops.report/1" (tools/schema/report.v1.schema.json). It always holds
// all of the report.
std::string ToJson(const Report& report);
// Several reports: "onnxflops.reports/1".
std::string ToJson(absl::Span<const Report> reports);
// The same in parts, so that no more than one report has to be in memory:
//   ToJson({a, b}) == JoinJson({ToJsonElement(a), ToJsonElement(b)})
std::string ToJsonElement(const Report& report);
std::string JoinJson(absl::Span<const std::string> elements);
// "onnxflops.report/1" on one line, for streams of reports.
std::string ToJsonLine(const Report& report);

// One line per module, operator or node after a header, with exact digits (an expression if a size
// is open); the first column is the model. Text that a spreadsheet would read as a formula is
// quoted with an apostrophe.
std::string ToCsv(absl::Span<const Report> reports, const ViewOptions& options);

// GitHub's tables.
std::string ToMarkdown(const Report& report, const ViewOptions& options);

// One self-contained page: a picture and a table of the modules, and of their operators if the
// report has nodes. It opens with the quantity of `options.sort`. At most 1 MB.
std::string ToHtml(const Report& report, const ViewOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_WRITERS_H_
