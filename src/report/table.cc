// The report for terminals.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/render/format.h"
#include "src/render/text_table.h"
#include "src/report/summary.h"
#include "src/report/view.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

using report::DrawLabelled;
using report::DrawSentence;
using report::kLineMark;
using report::LabelledLine;
using report::MakeTable;
using report::Summarize;
using report::Summary;

// What a reader must not overlook is yellow.
constexpr char kYellow[] = "\x1b[33m";
constexpr char kReset[] = "\x1b[0m";

void AppendTextList(absl::string_view title, const std::vector<std::string>& lines, bool alarming,
                    const TableStyle& style, std::string* out) {
  if (lines.empty()) return;
  const bool color = style.color && alarming;
  absl::StrAppend(out, "\n", color ? kYellow : "", title, color ? kReset : "", "\n");
  for (const std::string& line : lines) *out += DrawSentence(kLineMark, line, style.line_width());
}

}  // namespace

std::string ToTable(const Report& report, const ViewOptions& options, const TableStyle& style) {
  const Summary summary = Summarize(report, options);
  std::string out;
  for (const auto* lines : {&summary.head, &summary.totals}) {
    for (const LabelledLine& line : *lines) out += DrawLabelled(line, style.line_width());
  }
  // The totals and the modules on one screen of the terminal, with the line of the next command.
  constexpr int kOtherLines = 4;  // blank, titles, a note, the next command
  constexpr int kLeastRows = 10;
  ViewOptions page = options;
  if (style.height > 0) {
    const auto above = static_cast<int>(std::count(out.begin(), out.end(), '\n'));
    page.page_rows = std::clamp(style.height - above - kOtherLines, kLeastRows, options.page_rows);
  }
  TextTable table = MakeTable(report, page, /*bars=*/!options.stable);
  absl::StrAppend(
      &out, "\n",
      options.stable ? DrawStableText(std::move(table)) : DrawText(std::move(table), style));
  AppendTextList("symbols (bind them with --dim NAME=N):", summary.symbols, /*alarming=*/false,
                 style, &out);
  if (report.totals.lower_bound) {
    AppendTextList(absl::StrCat("not counted: ", Plural(report.coverage.unknown, "node"),
                                "; totals are lower bounds"),
                   summary.unknown, /*alarming=*/true, style, &out);
  }
  AppendTextList("warnings:", summary.warnings, /*alarming=*/true, style, &out);
  return out;
}

}  // namespace onnxflops
