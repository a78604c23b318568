// Tables for GitHub: in pull requests, job summaries, wikis.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "src/report/format.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

// Text that stays text: no HTML, no emphasis, links, mentions, references or table cells of its
// own.
std::string Escape(absl::string_view text) {
  return absl::StrReplaceAll(TextName(text), {{"\\", "\\\\"},
                                              {"`", "\\`"},
                                              {"*", "\\*"},
                                              {"_", "\\_"},
                                              {"[", "\\["},
                                              {"]", "\\]"},
                                              {"|", "\\|"},
                                              {"~", "\\~"},
                                              {"<", "&lt;"},
                                              {">", "&gt;"},
                                              {"&", "&amp;"},
                                              {"@", "&#64;"},
                                              {"#", "&#35;"},
                                              {"!", "\\!"},
                                              {"$", "\\$"},
                                              {"://", ":&#47;&#47;"},
                                              {"www.", "www&#46;"}});
}

void AppendTable(const TextTable& table, std::string* out) {
  std::string rule = "|";
  *out += "|";
  for (const TextTable::Column& column : table.columns) {
    absl::StrAppend(out, " ", column.title, " |");
    rule += column.right ? " ---: |" : " :--- |";
  }
  absl::StrAppend(out, "\n", rule, "\n");
  for (const TextTable::Row& row : table.rows) {
    *out += "|";
    for (size_t c = 0; c < row.cells.size(); ++c) {
      *out += " ";
      for (int i = 0; c == 0 && i < row.indent; ++i) *out += "&emsp;";
      std::string cell = Escape(row.cells[c]);
      if (row.strong && !cell.empty()) cell = absl::StrCat("**", cell, "**");
      absl::StrAppend(out, cell, " |");
    }
    *out += "\n";
  }
}

void AppendList(absl::string_view title, const std::vector<std::string>& lines, std::string* out) {
  if (lines.empty()) return;
  absl::StrAppend(out, "\n", title, "\n\n");
  for (const std::string& line : lines) absl::StrAppend(out, "- ", Escape(line), "\n");
}

std::string Joined(const std::vector<std::string>& texts) {
  return absl::StrJoin(texts, ", ", [](std::string* out, const std::string& text) {
    absl::StrAppend(out, Escape(text));
  });
}

}  // namespace

std::string ToMarkdown(const Report& report, const ViewOptions& options) {
  const Summary summary = Summarize(report, options);
  const TextTable table = MakeTable(report, options);
  std::string out = absl::StrCat("### ", Escape(summary.title), "\n\n", Joined(summary.model),
                                 "  \n", Joined(summary.inputs), "\n\n");
  AppendTable(table, &out);
  out += "\n";
  for (const std::string& note : table.notes) absl::StrAppend(&out, "- ", Escape(note), "\n");
  for (const std::vector<std::string>& line : summary.totals) {
    absl::StrAppend(&out, "- ", Joined(line), "\n");
  }
  if (!report.symbols.empty()) AppendList("Symbols:", summary.symbols, &out);
  if (report.totals.lower_bound) {
    AppendList(absl::StrCat("Not counted, so that totals are lower bounds: ",
                            GroupedDigits(report.coverage.unknown), " nodes"),
               summary.unknown, &out);
  }
  AppendList("Warnings:", summary.warnings, &out);
  return out;
}

}  // namespace onnxflops
