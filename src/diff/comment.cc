// How it works. A comment on GitHub has a maximum of bytes, so what is below its summary must fit.
// If all tables together are too long, they are made again with less of the module tree (fewer
// siblings, then less depth), up to five times. What is still too long is left out as a whole
// table, never in the middle of one, and a line says so. The marker at the top is how an action
// finds its own earlier comment, to replace it; it holds the model's path with only plain
// characters. Names in a model are untrusted, so they are written as code and cannot become markup.
#include "src/diff/comment.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "src/diff/diff_parts.h"
#include "src/render/text_table.h"

namespace onnxflops {
namespace {

using diff::ChangeFormulas;
using diff::ChangeInWords;
using diff::ComparedTexts;
using diff::NotCountedTexts;
using diff::Section;
using diff::Sections;
using diff::TotalsTable;
using report::MarkdownCode;

constexpr size_t kMaxMarkerPath = 200;
constexpr size_t kMaxCommentSizes = 8;
constexpr int kOpenedByChange = -1;  // DiffViewOptions::depth

}  // namespace

// Only plain characters of the path are kept, so that it cannot end the HTML comment.
std::string CommentMarker(absl::string_view what, absl::string_view path) {
  std::string name;
  for (char c : path.substr(path.size() - std::min(path.size(), kMaxMarkerPath))) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '/';
    name += plain ? c : '_';
  }
  return absl::StrCat("<!-- onnxflops:", what, ":", name, " -->\n");
}

std::string FoldedDetails(absl::string_view summary, absl::string_view markdown) {
  return absl::StrCat("\n<details><summary>", summary, "</summary>\n\n", markdown,
                      "\n</details>\n");
}

namespace {

// The open sizes, as many as a line has room for.
std::string SizesInWords(const Diff& diff) {
  std::vector<std::string> texts;
  for (const auto& [name, size] : diff.sizes) {
    if (texts.size() == kMaxCommentSizes) return absl::StrCat(absl::StrJoin(texts, ", "), ", ...");
    texts.push_back(MarkdownCode(absl::StrCat(name, " = ", size)));
  }
  return absl::StrJoin(texts, ", ");
}

// Without the end of a note that names an option: a comment has no options.
absl::string_view WithoutOption(absl::string_view note) {
  return note.substr(0, std::min(note.find("; --"), note.find(": --")));
}

bool HasEqualTotals(const Diff& diff) {
  return !diff.lower_bound && (!diff.peak || (diff.peak->head - diff.peak->base).is_zero()) &&
         absl::c_all_of(diff.quantities,
                        [&](const Quantity* q) { return diff.modules[0].Change(*q).is_zero(); });
}

std::vector<std::string> PartsOf(const Diff& diff, const DiffViewOptions& options) {
  std::vector<std::string> parts;
  std::string formulas;
  for (const std::string& formula : ChangeFormulas(diff, options)) {
    absl::StrAppend(&formulas, "- ", MarkdownCode(formula), "\n");
  }
  if (!formulas.empty()) parts.push_back(FoldedDetails("Changes at all sizes", formulas));
  for (const Section& section : Sections(diff, options)) {
    std::string text = DrawMarkdown(section.table);
    for (const std::string& note : section.table.notes) {
      absl::StrAppend(&text, "\n- ", MarkdownCode(WithoutOption(note)), "\n");
    }
    parts.push_back(FoldedDetails(section.title, text));
  }
  return parts;
}

// The sizes of the figures, and warnings about them.
std::string FactsOf(const Diff& diff) {
  std::string facts;
  if (!diff.sizes.empty()) absl::StrAppend(&facts, "\nFigures at ", SizesInWords(diff), ".\n");
  const char* gap = "\n";
  for (const std::string& text : ComparedTexts(diff)) {
    absl::StrAppend(&facts, gap, "- ", MarkdownCode(absl::StrCat("compared ", text)), "\n");
    gap = "";
  }
  for (const std::string& text : NotCountedTexts(diff)) {
    absl::StrAppend(&facts, gap, "- ", MarkdownCode(text), "\n");
    gap = "";
  }
  return facts;
}

// Shows less of the module tree until all tables fit. In the end, tables that still do not fit are
// left out.
std::string FittingParts(const Diff& diff, DiffViewOptions view, size_t room, bool* complete) {
  constexpr std::pair<int, size_t> kLess[] = {
      {kOpenedByChange, 0}, {kOpenedByChange, 24}, {1, 24}, {1, 6}, {1, 1}};
  for (size_t tries = 0; tries <= std::size(kLess); ++tries) {
    if (tries > 0) std::tie(view.depth, view.siblings) = kLess[tries - 1];
    size_t bytes = 0;
    for (const std::string& part : PartsOf(diff, view)) bytes += part.size();
    if (bytes <= room) break;
  }
  std::string out;
  for (const std::string& part : PartsOf(diff, view)) {
    const bool fits = out.size() + part.size() <= room;
    if (fits) out += part;
    *complete = *complete && fits;
  }
  return out;
}

}  // namespace

std::string CommentTitle(const Diff& diff) {
  return absl::StrCat("**", MarkdownCode(diff.head.path), "** ",
                      absl::StrReplaceAll(ChangeInWords(diff), {{"<", "&lt;"}}), "\n");
}

std::string CommentDetails(const Diff& diff, const DiffViewOptions& options, size_t room,
                           bool* complete) {
  if (diff.IsEmpty() && !diff.lower_bound) return "";
  std::string out = FactsOf(diff);
  if (diff.IsEmpty()) return out;
  if (!HasEqualTotals(diff)) {
    out += FoldedDetails("All quantities", DrawMarkdown(TotalsTable(diff, options)));
  }
  if (out.size() > room) {
    *complete = false;
    return "";
  }
  return absl::StrCat(out, FittingParts(diff, options, room - out.size(), complete));
}

std::string ToComment(const Diff& diff, const DiffViewOptions& options) {
  std::string out = absl::StrCat(CommentMarker("diff", diff.head.path), CommentTitle(diff));
  if (diff.IsEmpty() && !diff.lower_bound) return out;
  out += FactsOf(diff);
  if (diff.IsEmpty()) return out;
  absl::StrAppend(&out, "\n", DrawMarkdown(TotalsTable(diff, options)));
  constexpr char kLeftOut[] = "\nWhat did not fit is left out: onnxflops diff prints all of it.\n";
  const size_t most = kMaxCommentBytes - sizeof(kLeftOut);
  bool complete = true;
  out += FittingParts(diff, options, most - std::min(most, out.size()), &complete);
  if (!complete) out += kLeftOut;
  return out;
}

}  // namespace onnxflops
