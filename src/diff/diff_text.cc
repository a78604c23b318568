// Diffs for people: terminals and GitHub.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/diff/diff_parts.h"
#include "src/diff/diff_writers.h"
#include "src/render/text_table.h"

namespace onnxflops {
namespace {

using diff::ChangeFormulas;
using diff::HeadLines;
using diff::Section;
using diff::Sections;
using diff::TotalsTable;
using report::DrawLabelled;
using report::LabelledLine;
using report::MarkdownCode;

}  // namespace

std::string ToTable(const Diff& diff, const DiffViewOptions& options, const TableStyle& style) {
  std::string out;
  for (const LabelledLine& line : HeadLines(diff)) out += DrawLabelled(line, style.line_width());
  if (diff.IsEmpty()) return out;
  absl::StrAppend(&out, "\n", DrawText(TotalsTable(diff, options), style));
  for (const std::string& formula : ChangeFormulas(diff, options)) {
    out += DrawLabelled({"", {formula}}, style.line_width());
  }
  for (Section& section : Sections(diff, options)) {
    absl::StrAppend(&out, "\n", DrawText(std::move(section.table), style));
  }
  return out;
}

std::string ToMarkdown(const Diff& diff, const DiffViewOptions& options) {
  std::string out;
  for (const LabelledLine& line : HeadLines(diff)) {
    absl::StrAppend(&out, "- ", line.label, ":");
    for (const std::string& text : line.texts) absl::StrAppend(&out, " ", MarkdownCode(text));
    out += "\n";
  }
  if (diff.IsEmpty()) return out;
  absl::StrAppend(&out, "\n", DrawMarkdown(TotalsTable(diff, options)), "\n");
  for (const std::string& formula : ChangeFormulas(diff, options)) {
    absl::StrAppend(&out, "- ", MarkdownCode(formula), "\n");
  }
  for (const Section& section : Sections(diff, options)) {
    absl::StrAppend(&out, "\n### ", section.title, "\n\n", DrawMarkdown(section.table));
    for (const std::string& note : section.table.notes) {
      absl::StrAppend(&out, "\n- ", MarkdownCode(note), "\n");
    }
  }
  return out;
}

}  // namespace onnxflops
