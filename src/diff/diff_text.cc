// Diffs for people: terminals, GitHub and papers.
#include <string>
#include <utility>
#include <vector>

#include "src/diff/diff_parts.h"
#include "src/diff/diff_writers.h"
#include "src/render/document.h"

namespace onnxflops {

using diff::Section;

Document ToDocument(const Diff& diff, const DiffViewOptions& options) {
  Document document;
  document.Add(Document::Lines{diff::HeadLines(diff)});
  if (diff.IsEmpty()) return document;
  document.Add(Document::Table{diff::TotalsTable(diff, options)});
  Document::Lines formulas;
  for (std::string& formula : diff::ChangeFormulas(diff, options)) {
    formulas.lines.push_back({"", {std::move(formula)}});
  }
  document.Add(std::move(formulas));
  for (Section& section : diff::Sections(diff, options)) {
    document.Add(Document::Table{std::move(section.table), std::move(section.title)});
  }
  return document;
}

std::string ToTable(const Diff& diff, const DiffViewOptions& options, const TableStyle& style) {
  return DrawText(ToDocument(diff, options), style);
}

std::string ToMarkdown(const Diff& diff, const DiffViewOptions& options) {
  return DrawMarkdown(ToDocument(diff, options));
}

}  // namespace onnxflops
