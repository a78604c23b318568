// The report for people: terminals, GitHub and papers.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/setting.h"
#include "src/render/document.h"
#include "src/render/format.h"
#include "src/report/memory_lines.h"
#include "src/report/summary.h"
#include "src/report/view.h"
#include "src/report/writers.h"

namespace onnxflops {

Document ToDocument(const Report& report, const ViewOptions& options) {
  report::Summary summary = report::Summarize(report, options);
  std::vector<report::LabelledLine> head = std::move(summary.head);
  std::move(summary.totals.begin(), summary.totals.end(), std::back_inserter(head));
  TextTable memory_table;
  std::vector<report::LabelledLine> memory;
  if (report.memory) {
    memory_table = report::MemoryTable(report, options);
    memory = report::MemoryLines(report, options);
  }
  // The totals and the modules on one screen of the terminal, with the line of the next command.
  constexpr int kOtherLines = 5;  // blank, titles, two notes, the next command
  constexpr int kLeastRows = 10;
  ViewOptions page = options;
  if (options.screen.height > 0) {
    int above = CountLines(head, options.screen);
    if (report.memory) {
      above += static_cast<int>(memory_table.rows.size()) + CountLines(memory, options.screen) + 2;
    }
    page.page_rows =
        std::clamp(options.screen.height - above - kOtherLines, kLeastRows, options.page_rows);
  }
  Document document;
  document.title = std::move(summary.title);
  document.Add(Document::Lines{std::move(head)});
  if (report.memory) {
    document.Add(Document::Table{std::move(memory_table), "", options.stable});
    document.Add(Document::Lines{std::move(memory)});
  }
  document.Add(Document::Table{report::MakeTable(report, page), "", options.stable});
  document.Add(
      Document::List{absl::StrCat("symbols", WithSettings(" (bind them with {dim NAME=N})"), ":"),
                     std::move(summary.symbols)});
  if (report.totals.lower_bound) {
    document.Add(
        Document::List{absl::StrCat("not counted: ", Plural(report.coverage.unknown, "node"),
                                    "; totals are lower bounds"),
                       std::move(summary.unknown), /*alarming=*/true});
    document.Add(Document::List{"", report::HintsOnUnknown(report)});
  }
  document.Add(Document::List{"warnings:", std::move(summary.warnings), /*alarming=*/true});
  return document;
}

std::string ToTable(const Report& report, const ViewOptions& options, const TableStyle& style) {
  ViewOptions on_screen = options;
  on_screen.screen = style;
  return DrawText(ToDocument(report, on_screen), style);
}

std::string ToMarkdown(const Report& report, const ViewOptions& options) {
  return DrawMarkdown(ToDocument(report, options));
}

}  // namespace onnxflops
