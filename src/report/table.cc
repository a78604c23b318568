// The report for terminals.
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/report/format.h"
#include "src/report/text_table.h"
#include "src/report/view.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

using report::DrawHead;
using report::DrawWrapped;
using report::kLineMark;
using report::MakeTable;
using report::Summarize;
using report::Summary;

void AppendTextList(absl::string_view title, const std::vector<std::string>& lines,
                    std::string* out) {
  if (lines.empty()) return;
  absl::StrAppend(out, "\n", title, "\n");
  for (const std::string& line : lines) absl::StrAppend(out, kLineMark, Printable(line), "\n");
}

}  // namespace

std::string ToTable(const Report& report, const ViewOptions& options, const TableStyle& style) {
  const Summary summary = Summarize(report, options);
  const int width = style.line_width();
  std::string out = absl::StrCat(DrawHead(summary, width), "\n",
                                 DrawText(MakeTable(report, options), style), "\n");
  for (const std::vector<std::string>& line : summary.totals) {
    out += DrawWrapped(line, "   ", width);
  }
  AppendTextList("symbols (bind them with --dim NAME=N):", summary.symbols, &out);
  if (report.totals.lower_bound) {
    AppendTextList(absl::StrCat("not counted: ", Plural(report.coverage.unknown, "node"),
                                "; totals are lower bounds"),
                   summary.unknown, &out);
  }
  AppendTextList("warnings:", summary.warnings, &out);
  return out;
}

}  // namespace onnxflops

namespace onnxflops::report {

std::string DrawHead(const Summary& summary, int width) {
  std::vector<std::string> model = {absl::StrCat("model: ", summary.title, "  ")};
  for (size_t i = 0; i < summary.model.size(); ++i) {
    model.push_back(summary.model[i] + (i + 1 < summary.model.size() ? "," : ""));
  }
  std::vector<std::string> inputs = summary.inputs;
  if (!inputs.empty()) inputs[0].insert(0, "inputs: ");
  return absl::StrCat(DrawWrapped(model, " ", width), DrawWrapped(inputs, "   ", width));
}

}  // namespace onnxflops::report
