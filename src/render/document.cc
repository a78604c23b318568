// How it works. A document is a list of parts: labelled lines, tables, lists, waterfalls. Each
// format has a drawer with one function per part, so commands make their document once and know no
// format. Text is fitted to the width of the line: a table that is too wide is replaced by narrower
// tables that the command supplied, or divided into several with the first column repeated, or cut.
// Markdown marks all text of others as code. In LaTeX every character that could be a command is
// escaped, tables need the package booktabs, and all that is not a table becomes a comment.
#include "src/render/document.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/base/quote.h"
#include "src/render/format.h"
#include "src/render/text_table.h"

namespace onnxflops {
namespace {

using report::DisplayWidth;
using report::DrawLabelled;
using report::DrawSentence;
using report::kBold;
using report::kColumnGap;
using report::kLineMark;
using report::kPlain;
using report::kYellow;
using report::LabelledLine;
using report::MarkdownCode;
using report::WrapLines;
using Waterfall = Document::Waterfall;

std::string Spaces(int count) { return std::string(static_cast<size_t>(std::max(0, count)), ' '); }

int ColumnWidth(const TextTable& table, size_t column) {
  int most = DisplayWidth(Printable(table.columns[column].title));
  for (const TextTable::Row& row : table.rows) {
    const int indent = column == 0 ? 2 * row.indent : 0;
    most = std::max(most, indent + DisplayWidth(Printable(row.cells[column])));
  }
  return most;
}

// From column `begin` on: the end of the columns that have room next to the first one; at least one
// column.
size_t EndOfRoom(const TextTable& table, size_t begin, int width) {
  int used = static_cast<int>(absl::string_view(kLineMark).size()) + ColumnWidth(table, 0);
  size_t end = begin;
  for (; end < table.columns.size(); ++end) {
    used += kColumnGap + ColumnWidth(table, end);
    if (used > width && end > begin) break;
  }
  return end;
}

// The first column and columns [begin, end); the notes with the last one.
TextTable ColumnsOf(const TextTable& table, size_t begin, size_t end) {
  const auto from = static_cast<std::ptrdiff_t>(begin), to = static_cast<std::ptrdiff_t>(end);
  TextTable part;
  part.columns = {table.columns[0]};
  part.columns.insert(part.columns.end(), table.columns.begin() + from, table.columns.begin() + to);
  for (const TextTable::Row& row : table.rows) {
    TextTable::Row cut = {{row.cells[0]}, row.indent, row.strong, row.faint};
    cut.cells.insert(cut.cells.end(), row.cells.begin() + from, row.cells.begin() + to);
    part.rows.push_back(std::move(cut));
  }
  if (end == table.columns.size()) part.notes = table.notes;
  return part;
}

// The text of a step, broken between words, with the figure at the right of its last line. An
// indented line begins with the mark.
std::string DrawStep(const Waterfall::Step& step, int text_width, int figure_width, bool color) {
  const int indent = 2 * step.indent;
  const std::vector<std::string> words = absl::StrSplit(step.text, ' ');
  std::vector<std::string> lines = WrapLines(words, " ", text_width - indent, 4);
  if (lines.empty()) lines.emplace_back();
  const size_t mark = absl::string_view(kLineMark).size();
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string line = Spaces(indent) + lines[i];
    if (indent > 0 || i > 0) line.replace(0, mark, kLineMark);
    if (i + 1 == lines.size() && !step.figure.empty()) {
      line += Spaces(text_width - DisplayWidth(line)) + "  " +
              Spaces(figure_width - DisplayWidth(step.figure)) + Printable(step.figure);
    }
    const bool bold = color && step.strong;
    absl::StrAppend(&out, bold ? kBold : "", line, bold ? kPlain : "", "\n");
  }
  return out;
}

// Parts as text. Every part but labelled lines follows a blank line.
class TextDrawer {
 public:
  explicit TextDrawer(const TableStyle& style) : style_(style) {}

  void operator()(const Document::Lines& part) {
    for (const LabelledLine& line : part.lines) out_ += DrawLabelled(line, style_.line_width());
  }

  void operator()(Document::Table& part) {
    TextTable& table = part.table;
    if (part.stable) {
      Below(DrawStableText(std::move(table)));
    } else if (part.if_wide && !HasRoom(table)) {
      Below(onnxflops::DrawText(*std::move(part.if_wide), style_));
    } else if (part.divides) {
      for (size_t begin = 1; begin < table.columns.size();) {
        const size_t end = EndOfRoom(table, begin, style_.line_width());
        Below(onnxflops::DrawText(ColumnsOf(table, begin, end), style_));
        begin = end;
      }
    } else {
      Below(onnxflops::DrawText(std::move(table), style_));
    }
  }

  void operator()(const Document::List& part) {
    if (part.texts.empty()) return;
    std::string text;
    if (!part.title.empty()) {
      const bool color = style_.color && part.alarming;
      absl::StrAppend(&text, color ? kYellow : "", part.title, color ? kPlain : "", "\n");
    }
    const bool marked = part.foreign || !part.title.empty();
    for (const std::string& item : part.texts) {
      text += DrawSentence(marked ? kLineMark : "", item, style_.line_width());
    }
    Below(text);
  }

  void operator()(const Waterfall& part) {
    int figure_width = DisplayWidth(part.unit), text_width = 0;
    for (const Waterfall::Step& step : part.steps) {
      figure_width = std::max(figure_width, DisplayWidth(step.figure));
      text_width = std::max(text_width, 2 * step.indent + DisplayWidth(step.text));
    }
    constexpr int kLeastText = 24;
    text_width = std::min(text_width, std::max(kLeastText, style_.line_width() - 2 - figure_width));
    std::string text = Spaces(text_width) + "  " + Spaces(figure_width - DisplayWidth(part.unit)) +
                       part.unit + "\n";
    for (const Waterfall::Step& step : part.steps) {
      text += DrawStep(step, text_width, figure_width, style_.color);
    }
    for (const std::string& remark : part.remarks) {
      text += DrawSentence("", remark, style_.line_width());
    }
    Below(text);
  }

  std::string TakeText() { return std::move(out_); }

 private:
  bool HasRoom(const TextTable& table) const {
    return table.columns.size() < 2 ||
           EndOfRoom(table, 1, style_.line_width()) == table.columns.size();
  }
  void Below(absl::string_view text) { absl::StrAppend(&out_, out_.empty() ? "" : "\n", text); }

  const TableStyle& style_;
  std::string out_;
};

TextTable TableOf(const Waterfall& part) {
  TextTable table;
  table.columns = {{"", false}, {part.unit, true}};
  for (const Waterfall::Step& step : part.steps) {
    table.rows.push_back({{step.text, step.figure}, step.indent, step.strong});
  }
  return table;
}

// Lists and tables with blank lines between them.
class MarkdownDrawer {
 public:
  void Heading(absl::string_view text) { Begin(Kind::kHeading, absl::StrCat("### ", text, "\n")); }

  void operator()(const Document::Lines& part) {
    for (const LabelledLine& line : part.lines) {
      if (line.texts.empty()) continue;
      const auto code = [](std::string* out, const std::string& text) {
        absl::StrAppend(out, MarkdownCode(text));
      };
      Begin(Kind::kItem, absl::StrCat("- ", line.label, line.label.empty() ? "" : ": ",
                                      absl::StrJoin(line.texts, ", ", code), "\n"));
    }
  }

  void operator()(const Document::Table& part) {
    if (!part.title.empty()) Heading(part.title);
    if (!part.table.rows.empty()) Begin(Kind::kTable, onnxflops::DrawMarkdown(part.table));
    Items(part.table.notes);
  }

  void operator()(const Document::List& part) {
    if (part.texts.empty()) return;
    if (!part.title.empty()) Begin(Kind::kHeading, absl::StrCat(part.title, "\n"));
    Items(part.texts);
  }

  void operator()(const Waterfall& part) {
    Begin(Kind::kTable, onnxflops::DrawMarkdown(TableOf(part)));
    Items(part.remarks);
  }

  std::string TakeText() { return std::move(out_); }

 private:
  enum class Kind { kNothing, kHeading, kItem, kTable };

  void Items(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      Begin(Kind::kItem, absl::StrCat("- ", MarkdownCode(text), "\n"));
    }
  }
  void Begin(Kind kind, absl::string_view text) {
    const bool goes_on = kind == Kind::kItem && last_ == Kind::kItem;
    absl::StrAppend(&out_, last_ == Kind::kNothing || goes_on ? "" : "\n", text);
    last_ = kind;
  }

  Kind last_ = Kind::kNothing;
  std::string out_;
};

// Text in which nothing is a command of LaTeX.
std::string LatexText(absl::string_view raw) {
  const std::string printable = Printable(raw);
  absl::string_view rest = printable;
  std::string out;
  const bool is_negative =
      rest.size() > 1 && rest[0] == '-' && absl::ascii_isdigit(static_cast<unsigned char>(rest[1]));
  if (is_negative && absl::ConsumePrefix(&rest, "-")) out = "\\textminus{}";
  for (const char c : rest) {
    switch (c) {
      case '\\':
        out += "\\textbackslash{}";
        break;
      case '~':
        out += "\\textasciitilde{}";
        break;
      case '^':
        out += "\\textasciicircum{}";
        break;
      case '<':
        out += "\\textless{}";
        break;
      case '>':
        out += "\\textgreater{}";
        break;
      case '|':
        out += "\\textbar{}";
        break;
      case '"':
        out += "\\textquotedbl{}";
        break;
      case '`':
        out += "\\textasciigrave{}";
        break;
      case '-':  // two of them are a dash
      case '[':  // at the beginning of a row these belong to the end of the one before
      case '*':
        absl::StrAppend(&out, "{", std::string(1, c), "}");
        break;
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}':
        out += '\\';
        [[fallthrough]];
      default:
        out += c;
    }
  }
  return out;
}

// The last `parts` parts of a path.
absl::string_view EndOf(absl::string_view path, size_t parts) {
  size_t begin = path.size();
  for (; parts > 0 && begin != absl::string_view::npos; --parts) {
    begin = begin == 0 ? absl::string_view::npos : path.rfind('/', begin - 1);
  }
  return begin == absl::string_view::npos ? path : path.substr(begin + 1);
}

// Names of files, with folders only where two files have one name: "clip.onnx", "a/model.onnx".
std::vector<std::string> NamesOf(const std::vector<std::string>& paths) {
  std::vector<std::string> names(paths.size());
  std::vector<size_t> open(paths.size());
  std::iota(open.begin(), open.end(), size_t{0});
  for (size_t parts = 1; !open.empty(); ++parts) {
    absl::flat_hash_map<absl::string_view, absl::flat_hash_set<absl::string_view>> with_end;
    for (const size_t i : open) with_end[EndOf(paths[i], parts)].insert(paths[i]);
    const auto is_told = [&](size_t i) {
      const absl::string_view name = EndOf(paths[i], parts);
      if ((with_end[name].size() > 1 || name.empty()) && name != paths[i]) return false;
      names[i] = std::string(name);
      return true;
    };
    open.erase(std::remove_if(open.begin(), open.end(), is_told), open.end());
  }
  return names;
}

TextTable WithNames(TextTable table) {
  std::vector<std::string> paths;
  for (const TextTable::Row& row : table.rows) paths.push_back(row.cells[0]);
  std::vector<std::string> names = NamesOf(paths);
  for (size_t i = 0; i < names.size(); ++i) table.rows[i].cells[0] = std::move(names[i]);
  table.columns[0].paths = false;
  return table;
}

class LatexDrawer {
 public:
  void Comment(absl::string_view text) { absl::StrAppend(&out_, "% ", Printable(text), "\n"); }

  void operator()(const Document::Lines& part) {
    for (const LabelledLine& line : part.lines) {
      if (line.texts.empty()) continue;
      Comment(absl::StrCat(line.label, line.label.empty() ? "" : ": ",
                           absl::StrJoin(line.texts, ", ")));
    }
  }
  void operator()(const Document::Table& part) {
    if (!part.title.empty()) Comment(part.title);
    Table(part.table);
  }
  void operator()(const Document::List& part) {
    if (!part.title.empty() && !part.texts.empty()) Comment(part.title);
    for (const std::string& text : part.texts) Comment(text);
  }
  void operator()(const Waterfall& part) {
    Table(TableOf(part));
    for (const std::string& remark : part.remarks) Comment(remark);
  }

  std::string TakeText() { return std::move(out_); }

 private:
  void Row(const std::vector<std::string>& cells) {
    absl::StrAppend(&out_, "  ", absl::StrJoin(cells, " & "), " \\\\\n");
  }

  void Table(const TextTable& table) {
    if (!table.columns.empty() && table.columns[0].paths) return Table(WithNames(table));
    if (!table.rows.empty()) {
      std::string aligned;
      std::vector<std::string> titles;
      for (const TextTable::Column& column : table.columns) {
        if (column.picture) continue;
        aligned += column.right ? 'r' : 'l';
        titles.push_back(LatexText(column.title));
      }
      absl::StrAppend(&out_, "\\begin{tabular}{", aligned, "}\n\\toprule\n");
      Row(titles);
      out_ += "\\midrule\n";
      for (const TextTable::Row& row : table.rows) Row(CellsOf(table, row));
      out_ += "\\bottomrule\n\\end{tabular}\n";
    }
    for (const std::string& note : table.notes) Comment(note);
  }

  static std::vector<std::string> CellsOf(const TextTable& table, const TextTable::Row& row) {
    std::vector<std::string> cells;
    for (size_t c = 0; c < row.cells.size(); ++c) {
      if (table.columns[c].picture) continue;
      const std::string text = LatexText(row.cells[c]);
      cells.push_back(row.strong && !text.empty() ? absl::StrCat("\\textbf{", text, "}") : text);
    }
    if (row.indent > 0) cells[0] = absl::StrCat("\\hspace{", row.indent, "em}", cells[0]);
    return cells;
  }

  std::string out_;
};

}  // namespace

std::string DrawText(Document document, const TableStyle& style) {
  TextDrawer drawer(style);
  for (Document::Part& part : document.parts) std::visit(drawer, part);
  return drawer.TakeText();
}

std::string DrawMarkdown(const Document& document) {
  MarkdownDrawer drawer;
  if (!document.title.empty()) drawer.Heading(MarkdownCode(document.title));
  for (const Document::Part& part : document.parts) std::visit(drawer, part);
  return drawer.TakeText();
}

std::string DrawLatex(const Document& document) {
  LatexDrawer drawer;
  drawer.Comment("needs \\usepackage{booktabs}");
  if (!document.title.empty()) drawer.Comment(document.title);
  for (const Document::Part& part : document.parts) std::visit(drawer, part);
  return drawer.TakeText();
}

absl::Span<const DocumentFormat> DocumentFormats() {
  static constexpr DocumentFormat kAll[] = {
      {"table", "", [](const Document& d, const TableStyle& style) { return DrawText(d, style); }},
      {"markdown", ".md", [](const Document& d, const TableStyle&) { return DrawMarkdown(d); }},
      {"latex", ".tex", [](const Document& d, const TableStyle&) { return DrawLatex(d); }},
  };
  return kAll;
}

int CountLines(const std::vector<LabelledLine>& lines, const TableStyle& style) {
  Document document;
  document.Add(Document::Lines{lines});
  const std::string text = DrawText(std::move(document), style);
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace onnxflops
