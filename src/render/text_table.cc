// How it works. Cells are first made printable, then fit_table.cc says how wide each column is, and
// which ones have no room. A name may take several lines.
//
// CSV and Markdown need protection against their readers. A spreadsheet takes a cell that begins
// with "=" or "+" for a formula, so such cells get a quote in front. GitHub links mentions, issues
// and commits in plain Markdown, so every text that is not one of our own words or figures becomes
// a code span.
//
// Lines of labelled texts are filled word by word. A number and its unit stay on one line.
#include "src/render/text_table.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/quote.h"
#include "src/render/fit_table.h"
#include "src/render/format.h"
#include "src/render/known.h"

namespace onnxflops {
namespace {

using render::BreaksLines;
using render::CellLines;
using render::CutCells;
using render::FitTable;
using render::FittedTable;
using render::IndentOf;
using report::DisplayWidth;
using report::DrawSentence;
using report::kBold;
using report::kColumnGap;
using report::kFaint;
using report::kLineMark;
using report::kPlain;

constexpr int kMinWidth = 12;    // of a line, whatever the width asked for
constexpr int kMaxPadded = 250;  // a name of a megabyte must not widen every row
constexpr int kMarkWidth = static_cast<int>(sizeof(kLineMark)) - 1;

// Every cell fit for a terminal.
void Clean(TextTable* table) {
  for (TextTable::Column& column : table->columns) column.title = Printable(column.title);
  for (TextTable::Row& row : table->rows) {
    for (std::string& cell : row.cells) cell = Printable(cell);
  }
}

// The lines of a row: a name or a text that is wider than its column takes several.
std::vector<std::string> RowLines(const TextTable& table, const TextTable::Row& row,
                                  const std::vector<int>& widths) {
  std::vector<std::vector<std::string>> cells(widths.size());
  size_t count = 1;
  for (size_t c = 0; c < widths.size(); ++c) {
    if (widths[c] == 0) continue;
    const int indent = c == 0 ? IndentOf(row, widths[c]) : 0;
    cells[c] = BreaksLines(table.columns[c]) ? CellLines(row.cells[c], widths[c] - indent)
                                             : std::vector<std::string>{row.cells[c]};
    for (std::string& line : cells[c]) line.insert(0, static_cast<size_t>(indent), ' ');
    count = std::max(count, cells[c].size());
  }
  std::vector<std::string> lines(count);
  for (size_t i = 0; i < count; ++i) {
    std::string& line = lines[i];
    for (size_t c = 0; c < widths.size(); ++c) {
      if (widths[c] == 0) continue;
      const std::string cell = i < cells[c].size() ? cells[c][i] : "";
      const int column = std::min(widths[c], kMaxPadded);
      const std::string pad(static_cast<size_t>(std::max(0, column - DisplayWidth(cell))), ' ');
      if (c > 0) line.append(kColumnGap, ' ');
      line += table.columns[c].right ? pad + cell : cell + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// "12", "-0.80".
bool IsDecimal(absl::string_view text) {
  absl::ConsumePrefix(&text, "-");
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('.', 1));
  return std::all_of(parts.begin(), parts.end(), [](absl::string_view part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), IsDigit);
  });
}

// True if the title cannot be a command at the beginning of a line: "seq".
bool IsPlainTitle(absl::string_view title) {
  return !title.empty() && !IsDigit(title[0]) &&
         std::all_of(title.begin(), title.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<uint8_t>(c)) || c == '_';
         });
}

// True if a spreadsheet would take the text for a formula. Excel also knows the full-width signs.
bool IsFormula(absl::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \""), text.size());
  text.remove_prefix(begin);
  constexpr absl::string_view kSigns[] = {"=",      "+",      "-",      "@",
                                          "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  return std::any_of(std::begin(kSigns), std::end(kSigns),
                     [&](absl::string_view sign) { return absl::StartsWith(text, sign); });
}

std::string CsvField(absl::string_view raw, bool quoted) {
  const std::string printable = Printable(raw);
  std::string text = absl::StrJoin(absl::StrSplit(printable, ';'), ";",
                                   [](std::string* out, absl::string_view part) {
                                     absl::StrAppend(out, IsFormula(part) ? "'" : "", part);
                                   });
  if (!quoted && text.find_first_of(",;\"'") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// "G", "MB", "GMAC", "%", "us".
bool IsUnit(absl::string_view text) {
  constexpr absl::string_view kUnits[] = {"B", "FLOP", "MAC", "op", "BOP",
                                          "%", "s",    "ms",  "us", "ns"};
  if (!text.empty() && absl::StrContains("kMGTPE", text.substr(0, 1))) {
    text.remove_prefix(1);
    if (text.empty()) return true;
  }
  return std::find(std::begin(kUnits), std::end(kUnits), text) != std::end(kUnits);
}

// "395.2 G", "<0.1", ">= 12", "1,630": no more than seven digits together, which could be the name
// of a commit.
bool IsFigure(absl::string_view text) {
  text = report::WithoutBound(text);
  if (text.empty() || text == "-") return true;
  absl::ConsumePrefix(&text, "<");
  if (!absl::ConsumePrefix(&text, "-")) absl::ConsumePrefix(&text, "+");
  size_t digits = 0;
  size_t end = 0;
  for (; end < text.size() && (IsDigit(text[end]) || text[end] == ',' || text[end] == '.'); ++end) {
    digits = IsDigit(text[end]) ? digits + 1 : 0;
    if (digits == 7) return false;
  }
  text.remove_prefix(end);
  return end > 0 && (text.empty() || (absl::ConsumePrefix(&text, " ") && IsUnit(text)));
}

// True for figures, changes of figures ("48 -> 0") and our own words, which GitHub does not link.
bool IsPlain(absl::string_view text) {
  constexpr absl::string_view kWords[] = {"new",     "gone",    "passed",     "warned",  "failed",
                                          "skipped", "allowed", "not proven", "unknown", "error"};
  if (std::find(std::begin(kWords), std::end(kWords), text) != std::end(kWords)) return true;
  const std::vector<absl::string_view> sides = absl::StrSplit(text, absl::MaxSplits(" -> ", 1));
  return std::all_of(sides.begin(), sides.end(), IsFigure);
}

size_t LongestRun(absl::string_view text, char c) {
  size_t longest = 0;
  size_t run = 0;
  for (char at : text) {
    run = at == c ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

// A code span. GitHub reads "\|" in a cell as a bar everywhere, but parsers differ on "\\|".
std::string CodeSpan(absl::string_view raw, bool in_table) {
  std::string text;
  for (char c : Printable(raw)) {
    if (c == '@') {
      text += "\\x40";
    } else if (c == '|' && in_table) {
      text += absl::EndsWith(text, "\\") ? "\\x7c" : "\\|";
    } else {
      text += c;
    }
  }
  // Parsers differ on a backslash before the bar of a cell.
  if (in_table && absl::EndsWith(text, "\\")) text.replace(text.size() - 1, 1, "\\x5c");
  if (text.empty()) return text;
  const std::string fence(LongestRun(text, '`') + 1, '`');
  const bool blank = text.find_first_not_of(' ') == std::string::npos;
  const bool padded =
      text[0] == '`' || text.back() == '`' || (text[0] == ' ' && text.back() == ' ' && !blank);
  const char* pad = padded ? " " : "";
  return absl::StrCat(fence, pad, text, pad, fence);
}

// Notes the columns that had no room.
void NoteDropped(const std::vector<std::string>& titles, int width, TextTable* table) {
  constexpr size_t kMaxListed = 4;
  if (titles.empty()) return;
  const size_t listed = titles.size() > kMaxListed + 1 ? kMaxListed : titles.size();
  std::string text = absl::StrCat(
      "no room for ",
      absl::StrJoin(titles.begin(), titles.begin() + static_cast<std::ptrdiff_t>(listed), ", "));
  if (listed < titles.size()) absl::StrAppend(&text, " and ", titles.size() - listed, " more");
  table->notes.push_back(absl::StrCat(text, " in ", width, " columns"));
}

std::string DrawAt(const std::vector<int>& widths, const TextTable& table,
                   const TableStyle& style) {
  std::string out;
  const auto add = [&](const char* escape, const char* mark, const TextTable::Row& row) {
    for (const std::string& text : RowLines(table, row, widths)) {
      const bool colored = style.color && escape != nullptr;
      absl::StrAppend(&out, colored ? escape : "", mark, text, colored ? kPlain : "", "\n");
    }
  };
  TextTable::Row titles;
  for (const TextTable::Column& column : table.columns) titles.cells.push_back(column.title);
  if (!table.rows.empty()) add(kFaint, "  ", titles);
  for (const TextTable::Row& row : table.rows) {
    add(row.strong ? kBold : (row.faint ? kFaint : nullptr), kLineMark, row);
  }
  for (const std::string& note : table.notes) {
    const std::string text = DrawSentence("", absl::StrCat("(", note, ")"), style.line_width());
    absl::StrAppend(&out, style.color ? kFaint : "", text, style.color ? kPlain : "");
  }
  return out;
}

}  // namespace

std::string DrawText(TextTable table, const TableStyle& style) {
  Clean(&table);
  const FittedTable fitted = FitTable(table, std::max(0, style.width - kMarkWidth));
  CutCells(fitted.widths, &table);
  if (!table.rows.empty()) NoteDropped(fitted.dropped, style.width, &table);
  return DrawAt(fitted.widths, table, style);
}

std::string DrawStableText(TextTable table) {
  Clean(&table);
  constexpr int kNameWidth = 56;
  constexpr int kFigureWidth = 20;
  std::vector<int> widths;
  for (TextTable::Column& column : table.columns) {
    widths.push_back(column.right ? kFigureWidth : kNameWidth);
    column.narrow = TextTable::Column::Narrow::kKeep;
  }
  return DrawAt(widths, table, {});
}

std::string DrawMarkdown(const TextTable& table) {
  std::string out = "|";
  std::string rule = "|";
  for (const TextTable::Column& column : table.columns) {
    if (column.picture) continue;
    // "FLOP/byte" could be a repository, and the underscores of tools mark italics.
    const bool ours = !column.foreign && column.title.find_first_of("/_") == std::string::npos;
    absl::StrAppend(&out, " ", ours ? column.title : CodeSpan(column.title, true), " |");
    rule += column.right ? " ---: |" : " :--- |";
  }
  absl::StrAppend(&out, "\n", rule, "\n");
  for (const TextTable::Row& row : table.rows) {
    out += "|";
    for (size_t c = 0; c < row.cells.size(); ++c) {
      if (table.columns[c].picture) continue;
      out += " ";
      for (int i = 0; c == 0 && i < row.indent; ++i) out += "&emsp;";
      std::string cell = table.is_markdown ? row.cells[c] : report::MarkdownCell(row.cells[c]);
      // A name that looks like a figure: "0", a module of a Sequential.
      const bool is_name = c == 0 && !table.columns[c].right && !row.cells[c].empty();
      if (!table.is_markdown && is_name) cell = CodeSpan(row.cells[c], /*in_table=*/true);
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
    const TextTable::Column& column = table.columns[c];
    absl::StrAppend(&out, c > 0 ? "," : "",
                    column.foreign ? CsvField(column.title, c == 0 && !IsPlainTitle(column.title))
                                   : column.title);
  }
  out += "\n";
  for (const TextTable::Row& row : table.rows) {
    for (size_t c = 0; c < row.cells.size(); ++c) {
      const std::string& cell = row.cells[c];
      // The first cell is quoted, even if a file is called 1000, unless it is a size of the sweep.
      const bool bare = (c > 0 || table.columns[0].foreign) && IsDecimal(cell);
      absl::StrAppend(&out, c > 0 ? "," : "", bare ? cell : CsvField(cell, c == 0));
    }
    out += "\n";
  }
  return out;
}

}  // namespace onnxflops

namespace onnxflops::report {

namespace {

// Bytes of a text that take so many columns.
size_t PrefixOf(absl::string_view text, int columns) {
  size_t end = 0;
  for (int used = 0; end < text.size(); ++end) {
    const bool starts = (static_cast<uint8_t>(text[end]) & 0xc0) != 0x80;
    if (starts && ++used > columns) break;
  }
  return end;
}

// Where a text that is too long breaks: at a space, unless a unit follows it; else inside a word.
size_t BreakOf(absl::string_view text, int columns) {
  const size_t end = PrefixOf(text, columns);
  for (size_t at = std::min(end, text.size() - 1); at > 0; --at) {
    if (text[at] == ' ' && !absl::StrContains("kMGTPE", text.substr(at + 1, 1))) return at;
  }
  return end;
}

}  // namespace

std::vector<std::string> WrapLines(const std::vector<std::string>& texts, absl::string_view gap,
                                   int width, int indent) {
  std::vector<std::string> lines;
  int used = 0;
  const auto next_line = [&] {
    lines.emplace_back(static_cast<size_t>(indent), ' ');
    used = indent;
  };
  for (const std::string& raw : texts) {
    const std::string printable = Printable(raw);
    absl::string_view text = printable;
    int needed = DisplayWidth(text);  // a word may be a megabyte: its width is counted once
    if (lines.empty()) {
      lines.emplace_back();
    } else if (used > 0 && used + static_cast<int>(gap.size()) + needed > width) {
      next_line();
    } else if (used > 0) {
      absl::StrAppend(&lines.back(), gap);
      used += static_cast<int>(gap.size());
    }
    // At least a few signs fit into a line, whatever its width.
    while (!text.empty() && needed > std::max(width - used, kMinWidth)) {
      const absl::string_view part =
          text.substr(0, BreakOf(text, std::max(width - used, kMinWidth)));
      absl::StrAppend(&lines.back(), part);
      text.remove_prefix(part.size());
      needed -= DisplayWidth(part);
      if (absl::ConsumePrefix(&text, " ")) --needed;
      next_line();
    }
    absl::StrAppend(&lines.back(), text);
    used += needed;
  }
  if (used == 0) lines.clear();
  return lines;
}

std::string DrawWrapped(const std::vector<std::string>& texts, absl::string_view gap, int width,
                        int indent) {
  std::vector<std::string> lines = WrapLines(texts, gap, width, indent);
  const size_t mark = absl::string_view(kLineMark).size();
  for (size_t i = 1; i < lines.size(); ++i) {
    lines[i].replace(static_cast<size_t>(indent) - mark, mark, kLineMark);
  }
  return lines.empty() ? "" : absl::StrJoin(lines, "\n") + "\n";
}

namespace {

// Words of a text that are not divided: a unit stays with its number.
std::vector<std::string> WordsOf(absl::string_view text) {
  std::vector<std::string> words;
  for (absl::string_view word : absl::StrSplit(text, ' ')) {
    const absl::string_view head = word.substr(0, word.find('*'));  // of "T*steps"
    const bool unit = head.size() <= 3 && !head.empty() && absl::StrContains("kMGTPE", head[0]) &&
                      head.find_first_not_of("kMGTPEB,)") == std::string::npos;
    if (unit && !words.empty() && !words.back().empty() && IsDigit(words.back().back())) {
      absl::StrAppend(&words.back(), " ", word);
    } else {
      words.emplace_back(word);
    }
  }
  return words;
}

// Fills lines with words. Later lines begin with the mark and an indent.
class Filler {
 public:
  Filler(std::string begin, int width, int indent)
      : out_(std::move(begin)), width_(width), indent_(indent), used_(DisplayWidth(out_)) {}

  void AddWord(absl::string_view word, absl::string_view gap) {
    int left = DisplayWidth(word);  // a word may be a megabyte: its width is counted once
    if (!fresh_ && used_ + static_cast<int>(gap.size()) + left > width_) Break();
    if (!fresh_) Append(gap);
    // At least a few signs fit into a line, whatever its width.
    const int room = std::max(width_ - indent_, kMinWidth);
    while (left > std::max(width_ - used_, fresh_ ? kMinWidth : 0)) {
      if (used_ > indent_ && left <= room) {
        Break();
        continue;
      }
      const absl::string_view part =
          word.substr(0, PrefixOf(word, std::max(width_ - used_, kMinWidth)));
      Append(part);
      word.remove_prefix(part.size());
      left -= DisplayWidth(part);
      Break();
    }
    Append(word);
    fresh_ = false;
  }

  // Keeps a text of at most half a line on one line.
  void Add(absl::string_view text, absl::string_view gap) {
    const int needed = static_cast<int>(gap.size()) + DisplayWidth(text);
    if (!fresh_ && used_ + needed > width_ && 2 * needed <= width_) Break();
    for (const std::string& word : WordsOf(text)) {
      AddWord(word, gap);
      gap = " ";
    }
  }

  std::string Finish() { return absl::StrCat(out_, "\n"); }

 private:
  void Append(absl::string_view text) {
    absl::StrAppend(&out_, text);
    used_ += DisplayWidth(text);
  }
  void Break() {
    out_.erase(out_.find_last_not_of(' ') + 1);
    const size_t spaces = static_cast<size_t>(indent_) - absl::string_view(kLineMark).size();
    absl::StrAppend(&out_, "\n", kLineMark, std::string(spaces, ' '));
    used_ = indent_;
    fresh_ = true;
  }
  std::string out_;
  const int width_, indent_;
  int used_;
  bool fresh_ = true;  // no word yet in this line
};

}  // namespace

std::string DrawLabelled(const LabelledLine& line, int width) {
  constexpr int kIndent = 8;
  if (line.texts.empty()) return "";
  std::string begin = line.label.empty() ? std::string(kLineMark) : line.label;
  begin.resize(std::max<size_t>(kIndent, begin.size() + 1), ' ');
  Filler filler(std::move(begin), width, kIndent);
  for (const std::string& text : line.texts) filler.Add(Printable(text), "   ");
  return filler.Finish();
}

std::string DrawSentence(absl::string_view begin, absl::string_view text, int width) {
  Filler filler(std::string(begin), width, 4);
  filler.Add(Printable(text), "");
  return filler.Finish();
}

std::string MarkdownCode(absl::string_view text) { return CodeSpan(text, /*in_table=*/false); }

std::string MarkdownCell(absl::string_view text) {
  if (!IsPlain(text)) return CodeSpan(text, /*in_table=*/true);
  return absl::StrReplaceAll(text, {{"<", "&lt;"}, {">", "&gt;"}});
}

}  // namespace onnxflops::report
