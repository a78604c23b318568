// The report for GitHub: pull requests, job summaries, wikis.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/report/format.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

void AppendList(absl::string_view title, const std::vector<std::string>& lines, std::string* out) {
  if (lines.empty()) return;
  absl::StrAppend(out, "\n", title, "\n\n");
  for (const std::string& line : lines) absl::StrAppend(out, "- ", EscapeMarkdown(line), "\n");
}

std::string Joined(const std::vector<std::string>& texts) {
  return absl::StrJoin(texts, ", ", [](std::string* out, const std::string& text) {
    absl::StrAppend(out, EscapeMarkdown(text));
  });
}

}  // namespace

std::string ToMarkdown(const Report& report, const ViewOptions& options) {
  const Summary summary = Summarize(report, options);
  const TextTable table = MakeTable(report, options);
  std::string out =
      absl::StrCat("### ", EscapeMarkdown(summary.title), "\n\n", Joined(summary.model), "  \n",
                   Joined(summary.inputs), "\n\n", DrawMarkdown(table), "\n");
  for (const std::string& note : table.notes) {
    absl::StrAppend(&out, "- ", EscapeMarkdown(note), "\n");
  }
  for (const std::vector<std::string>& line : summary.totals) {
    absl::StrAppend(&out, "- ", Joined(line), "\n");
  }
  AppendList("Symbols:", summary.symbols, &out);
  if (report.totals.lower_bound) {
    AppendList(absl::StrCat("Not counted, so that totals are lower bounds: ",
                            Plural(report.coverage.unknown, "node")),
               summary.unknown, &out);
  }
  AppendList("Warnings:", summary.warnings, &out);
  return out;
}

}  // namespace onnxflops
