// The report for GitHub: pull requests, job summaries, wikis.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/render/format.h"
#include "src/render/text_table.h"
#include "src/report/summary.h"
#include "src/report/view.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

using report::LabelledLine;
using report::MakeTable;
using report::MarkdownCode;
using report::Summarize;
using report::Summary;

void AppendMarkdownList(absl::string_view title, const std::vector<std::string>& lines,
                        std::string* out) {
  if (lines.empty()) return;
  absl::StrAppend(out, "\n", title, "\n\n");
  for (const std::string& line : lines) absl::StrAppend(out, "- ", MarkdownCode(line), "\n");
}

// An item of a list; nothing if there are no texts.
std::string Item(absl::string_view label, const std::vector<std::string>& texts) {
  const auto code = [](std::string* out, const std::string& text) {
    absl::StrAppend(out, MarkdownCode(text));
  };
  return texts.empty() ? ""
                       : absl::StrCat("- ", label, label.empty() ? "" : ": ",
                                      absl::StrJoin(texts, ", ", code), "\n");
}

}  // namespace

std::string ToMarkdown(const Report& report, const ViewOptions& options) {
  const Summary summary = Summarize(report, options);
  const TextTable table = MakeTable(report, options);
  std::string out;
  if (!summary.title.empty()) out = absl::StrCat("### ", MarkdownCode(summary.title), "\n\n");
  for (const auto* lines : {&summary.head, &summary.totals}) {
    for (const LabelledLine& line : *lines) out += Item(line.label, line.texts);
  }
  if (!table.rows.empty()) absl::StrAppend(&out, "\n", DrawMarkdown(table), "\n");
  for (const std::string& note : table.notes) out += Item("", {note});
  AppendMarkdownList("Symbols:", summary.symbols, &out);
  if (report.totals.lower_bound) {
    AppendMarkdownList(absl::StrCat("Not counted: ", Plural(report.coverage.unknown, "node"),
                                    "; totals are lower bounds"),
                       summary.unknown, &out);
  }
  AppendMarkdownList("Warnings:", summary.warnings, &out);
  return out;
}

}  // namespace onnxflops
