#include "src/diff/comment.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/diff/diff_parts.h"
#include "src/report/text_table.h"

namespace onnxflops {
namespace {

using diff::ChangeFormulas;
using diff::ChangeInWords;
using diff::Section;
using diff::Sections;
using diff::TotalsTable;
using report::MarkdownCode;

constexpr size_t kMaxMarkerPath = 200;

}  // namespace

// Nothing of a path can end the comment of HTML: it has no signs but these.
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

std::string ToComment(const Diff& diff, const DiffViewOptions& options) {
  std::string out =
      absl::StrCat(CommentMarker("diff", diff.head.path), "**", MarkdownCode(diff.head.path), "** ",
                   MarkdownCode(ChangeInWords(diff)), "\n");
  if (diff.IsEmpty()) return out;
  if (diff.lower_bound) out += "\nA part is not counted: totals are lower bounds.\n";
  absl::StrAppend(&out, "\n", DrawMarkdown(TotalsTable(diff, options)));
  std::vector<std::string> parts;
  std::string formulas;
  for (const std::string& formula : ChangeFormulas(diff, options)) {
    absl::StrAppend(&formulas, "- ", MarkdownCode(formula), "\n");
  }
  if (!formulas.empty()) parts.push_back(FoldedDetails("Changes at all sizes", formulas));
  for (const Section& section : Sections(diff, options)) {
    std::string text = DrawMarkdown(section.table);
    for (const std::string& note : section.table.notes) {
      absl::StrAppend(&text, "\n- ", MarkdownCode(note), "\n");
    }
    parts.push_back(FoldedDetails(section.title, text));
  }
  constexpr char kLeftOut[] = "\nWhat did not fit is left out: onnxflops diff prints all of it.\n";
  bool complete = true;
  for (const std::string& part : parts) {
    if (out.size() + part.size() + sizeof(kLeftOut) > kMaxCommentBytes) {
      complete = false;
    } else {
      out += part;
    }
  }
  if (!complete) out += kLeftOut;
  return out;
}

}  // namespace onnxflops
