#include "src/report/text_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/base/quote.h"
#include "src/report/format.h"

namespace onnxflops {
namespace {

constexpr int kGapWidth = 2;     // between columns
constexpr int kMinWidth = 12;    // of a column that was made narrower
constexpr int kMaxPadded = 250;  // one name of a megabyte does not make every row as wide
constexpr char kBold[] = "\x1b[1m";
constexpr char kFaint[] = "\x1b[2m";
constexpr char kPlain[] = "\x1b[0m";

// Every cell fit for a terminal, the first with its indent.
void Clean(TextTable* table) {
  for (TextTable::Column& column : table->columns) column.title = Printable(column.title);
  for (TextTable::Row& row : table->rows) {
    for (std::string& cell : row.cells) cell = Printable(cell);
    row.cells[0].insert(0, 2 * static_cast<size_t>(row.indent), ' ');
  }
}

std::vector<int> Widths(const TextTable& table) {
  std::vector<int> widths;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    int width = DisplayWidth(table.columns[c].title);
    for (const TextTable::Row& row : table.rows) {
      width = std::max(width, DisplayWidth(row.cells[c]));
    }
    widths.push_back(width);
  }
  return widths;
}

// Takes what is too much from the columns that allow it. A column that is dropped gets width 0.
void Narrow(const TextTable& table, int limit, std::vector<int>* widths) {
  if (limit <= 0) return;
  using Column = TextTable::Column;
  int total = -kGapWidth;
  for (int width : *widths) total += width + kGapWidth;
  for (size_t c = 0; c < widths->size() && total > limit; ++c) {
    if (table.columns[c].narrow != Column::Narrow::kDrop) continue;
    int& width = (*widths)[c];
    if (width - (total - limit) >= kMinWidth) {
      width -= total - limit;
      return;
    }
    total -= width + kGapWidth;
    width = 0;
  }
  for (size_t c = 0; c < widths->size() && total > limit; ++c) {
    if (table.columns[c].narrow == Column::Narrow::kKeep) continue;
    int& width = (*widths)[c];
    const int cut = std::min(total - limit, std::max(0, width - kMinWidth));
    width -= cut;
    total -= cut;
  }
}

std::string Line(const TextTable& table, const std::vector<std::string>& cells,
                 const std::vector<int>& widths) {
  std::string line;
  for (size_t c = 0; c < cells.size(); ++c) {
    if (widths[c] == 0) continue;
    const bool cut_end = table.columns[c].narrow == TextTable::Column::Narrow::kCutEnd;
    const std::string cell =
        cut_end ? WithoutEnd(cells[c], widths[c]) : WithoutBeginning(cells[c], widths[c]);
    const int column = std::min(widths[c], kMaxPadded);
    const std::string pad(static_cast<size_t>(std::max(0, column - DisplayWidth(cell))), ' ');
    if (c > 0) line.append(kGapWidth, ' ');
    line += table.columns[c].right ? pad + cell : cell + pad;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

bool IsInteger(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

std::string CsvField(absl::string_view raw) {
  std::string text = Printable(raw);
  const absl::string_view begin = absl::StripLeadingAsciiWhitespace(text);
  // Excel takes the full-width forms as well.
  for (const char* formula : {"=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"}) {
    if (!absl::StartsWith(begin, formula)) continue;
    text.insert(0, "'");
    break;
  }
  if (text.find_first_of(",\"'") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string DrawText(TextTable table, const TableStyle& style) {
  Clean(&table);
  std::vector<int> widths = Widths(table);
  Narrow(table, style.width, &widths);
  std::string out;
  const auto add = [&](const char* escape, const std::vector<std::string>& cells) {
    const std::string line = Line(table, cells, widths);
    if (style.color && escape != nullptr) {
      absl::StrAppend(&out, escape, line, kPlain, "\n");
    } else {
      absl::StrAppend(&out, line, "\n");
    }
  };
  std::vector<std::string> titles;
  for (const TextTable::Column& column : table.columns) titles.push_back(column.title);
  add(kFaint, titles);
  for (const TextTable::Row& row : table.rows) add(row.strong ? kBold : nullptr, row.cells);
  for (const std::string& note : table.notes) absl::StrAppend(&out, "(", Printable(note), ")\n");
  return out;
}

std::string DrawWrapped(const std::vector<std::string>& texts, absl::string_view gap, int width,
                        int indent) {
  std::string out;
  int used = 0;
  for (const std::string& raw : texts) {
    const std::string text = Printable(raw);
    const int needed = DisplayWidth(text);
    if (used > 0 && used + static_cast<int>(gap.size()) + needed > width) {
      absl::StrAppend(&out, "\n", std::string(static_cast<size_t>(indent), ' '));
      used = indent;
    } else if (used > 0) {
      absl::StrAppend(&out, gap);
      used += static_cast<int>(gap.size());
    }
    absl::StrAppend(&out, text);
    used += needed;
  }
  if (used > 0) out += "\n";
  return out;
}

std::string EscapeMarkdown(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text), {{"\\", "\\\\"},
                                               {"`", "\\`"},
                                               {"*", "\\*"},
                                               {"_", "\\_"},
                                               {"[", "\\["},
                                               {"]", "\\]"},
                                               {"|", "\\|"},
                                               {"~", "\\~"},
                                               {"!", "\\!"},
                                               {"$", "\\$"},
                                               {"<", "&lt;"},
                                               {">", "&gt;"},
                                               {"&", "&amp;"},
                                               {"@", "&#64;"},
                                               {"#", "&#35;"},
                                               {"://", ":&#47;&#47;"},
                                               {"www.", "www&#46;"}});
}

std::string DrawMarkdown(const TextTable& table) {
  std::string out = "|";
  std::string rule = "|";
  for (const TextTable::Column& column : table.columns) {
    absl::StrAppend(&out, " ", EscapeMarkdown(column.title), " |");
    rule += column.right ? " ---: |" : " :--- |";
  }
  absl::StrAppend(&out, "\n", rule, "\n");
  for (const TextTable::Row& row : table.rows) {
    out += "|";
    for (size_t c = 0; c < row.cells.size(); ++c) {
      out += " ";
      for (int i = 0; c == 0 && i < row.indent; ++i) out += "&emsp;";
      std::string cell = EscapeMarkdown(row.cells[c]);
      if (row.strong && !cell.empty()) cell = absl::StrCat("**", cell, "**");
      absl::StrAppend(&out, cell, " |");
    }
    out += "\n";
  }
  return out;
}

std::string DrawCsv(const TextTable& table) {
  std::string out;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    absl::StrAppend(&out, c > 0 ? "," : "", table.columns[c].title);
  }
  out += "\n";
  for (const TextTable::Row& row : table.rows) {
    for (size_t c = 0; c < row.cells.size(); ++c) {
      const std::string& cell = row.cells[c];
      absl::StrAppend(&out, c > 0 ? "," : "", IsInteger(cell) ? cell : CsvField(cell));
    }
    out += "\n";
  }
  return out;
}

}  // namespace onnxflops
