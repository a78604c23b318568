// Tables of text, and how each format draws them.
#ifndef ONNXFLOPS_SRC_REPORT_TEXT_TABLE_H_
#define ONNXFLOPS_SRC_REPORT_TEXT_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace onnxflops {

// Cells hold names from files as they are: whoever draws the table escapes them.
struct TextTable {
  struct Column {
    std::string title;
    bool right = false;  // aligned
    // Where the terminal is too narrow: columns to drop go first, then others are cut.
    enum class Narrow { kKeep, kCutBeginning, kCutEnd, kDrop } narrow = Narrow::kKeep;
  };
  struct Row {
    std::vector<std::string> cells;
    int indent = 0;  // of the first cell
    bool strong = false;
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<std::string> notes;  // sentences about the table
};

struct TableStyle {
  int width = 0;       // columns of the terminal; 0: as wide as it gets
  bool color = false;  // bold and faint text by terminal escapes
};

// For terminals and logs: escaped by Printable.
std::string DrawText(TextTable table, const TableStyle& style);
// Texts side by side, broken at the width; later lines are indented by `indent`.
std::string DrawWrapped(const std::vector<std::string>& texts, absl::string_view gap, int width,
                        int indent = 2);

// As GitHub reads it.
std::string DrawMarkdown(const TextTable& table);
// Text that stays text in Markdown: no HTML, emphasis, links, mentions, references or cells.
std::string EscapeMarkdown(absl::string_view text);

// RFC 4180, the titles first. Numbers are written as they are; text that a spreadsheet would take
// for a formula gets an apostrophe.
std::string DrawCsv(const TextTable& table);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_TEXT_TABLE_H_
