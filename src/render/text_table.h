// Tables of text, and how each format draws them.
#ifndef ONNXFLOPS_SRC_RENDER_TEXT_TABLE_H_
#define ONNXFLOPS_SRC_RENDER_TEXT_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/render/table_style.h"

namespace onnxflops {

// Cells may contain names from files unescaped: code that draws the table escapes them.
struct TextTable {
  struct Column {
    std::string title;
    bool right = false;  // aligned
    // How the column shrinks in a narrow terminal: see fit_table.h.
    enum class Narrow {
      kKeep,   // nothing
      kName,   // broken into lines, never cut
      kText,   // broken into lines before names are; dropped last
      kExtra,  // text is cut at its end, or dropped, before any other
      kSpare,  // dropped if breaking names is not enough
    } narrow = Narrow::kKeep;
    bool foreign = false;  // the title holds text of a file
    bool picture = false;  // drawn with letters: on a screen only
    bool paths = false;    // of files: a paper has no room for their folders
  };
  struct Row {
    std::vector<std::string> cells;
    int indent = 0;  // of the first cell
    bool strong = false;
    bool faint = false;  // drawn faintly
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<std::string> notes;  // sentences about the table
  bool is_markdown = false;        // cells are Markdown by now: see report::MarkdownCell
};

// For terminals and logs: escaped by Printable, each row after report::kLineMark. A table without
// rows is its notes.
std::string DrawText(TextTable table, const TableStyle& style);
// The same with fixed column widths, so that a row's text does not depend on other rows.
std::string DrawStableText(TextTable table);

// For GitHub. Figures are plain text, any other cell is a code span: see report::MarkdownCode.
std::string DrawMarkdown(const TextTable& table);

// RFC 4180, the titles first. Text is in quotes where it needs them, and if a line begins with it,
// since it could be a command to programs that read logs. Numbers are written unchanged. Text that
// a spreadsheet would read as a formula gets an apostrophe, also after a semicolon, which separates
// fields in many countries.
std::string DrawCsv(const TextTable& table);

}  // namespace onnxflops

namespace onnxflops::report {

// Stands at the beginning of a line that would otherwise begin with text of a file. For programs
// that read comments and logs, "/merge" or "+++" at the beginning of a line is a command.
inline constexpr char kLineMark[] = "| ";
// Spaces between columns.
inline constexpr int kColumnGap = 2;

// Texts side by side, broken at the width; later lines are indented by `indent`, at least 2, the
// mark included. The first text must begin with a word of ours.
std::string DrawWrapped(const std::vector<std::string>& texts, absl::string_view gap, int width,
                        int indent = 2);
// The same as lines, with spaces for the mark. A text that is longer than a line is broken.
std::vector<std::string> WrapLines(const std::vector<std::string>& texts, absl::string_view gap,
                                   int width, int indent);

// Texts under a label, which is ours: "params  427.9 M (1.712 GB)   read 5.645 GB".
struct LabelledLine {
  std::string label;
  std::vector<std::string> texts;
};
// Broken between words to fit the width, and inside a word only if it is longer than a line. A line
// without texts is empty.
std::string DrawLabelled(const LabelledLine& line, int width);
// A sentence broken at its words; later lines are indented. It begins with `begin`, which is ours.
std::string DrawSentence(absl::string_view begin, absl::string_view text, int width);

// Text that may come from a file, outside tables: a code span, in which nothing is HTML, emphasis,
// a link or a reference. It is not a mention either, but since programs search the source for
// @name, it is written as \x40name.
std::string MarkdownCode(absl::string_view text);
// The same as a cell of a table. A figure is plain text.
std::string MarkdownCell(absl::string_view text);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_RENDER_TEXT_TABLE_H_
