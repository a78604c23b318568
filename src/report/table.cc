// The table for terminals.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/report/format.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

constexpr char kGap[] = "  ";
constexpr int kMinShrunk = 12;   // columns that a shortened column keeps
constexpr int kLineWidth = 100;  // where lists of texts are broken when the width is not given
constexpr char kBold[] = "\x1b[1m";
constexpr char kFaint[] = "\x1b[2m";
constexpr char kPlain[] = "\x1b[0m";

// Every cell fit for a terminal, the first with its indent.
void Clean(TextTable* table) {
  for (TextTable::Row& row : table->rows) {
    for (std::string& cell : row.cells) cell = TextName(cell);
    row.cells[0].insert(0, static_cast<size_t>(2 * row.indent), ' ');
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

// Takes what is too much from the columns that may be shortened, the widest first.
void Shrink(const TextTable& table, int limit, std::vector<int>* widths) {
  if (limit <= 0) return;
  int total = static_cast<int>(sizeof(kGap) - 1) * static_cast<int>(widths->size() - 1);
  for (int width : *widths) total += width;
  while (total > limit) {
    int widest = -1;
    for (size_t c = 0; c < widths->size(); ++c) {
      if (!table.columns[c].may_shrink || (*widths)[c] <= kMinShrunk) continue;
      if (widest < 0 || (*widths)[c] > (*widths)[static_cast<size_t>(widest)]) {
        widest = static_cast<int>(c);
      }
    }
    if (widest < 0) return;
    --(*widths)[static_cast<size_t>(widest)];
    --total;
  }
}

void AppendRow(const TextTable& table, const std::vector<std::string>& cells,
               const std::vector<int>& widths, std::string* out) {
  std::string line;
  for (size_t c = 0; c < cells.size(); ++c) {
    const std::string cell = Shortened(cells[c], widths[c]);
    const std::string pad(static_cast<size_t>(std::max(0, widths[c] - DisplayWidth(cell))), ' ');
    if (c > 0) line += kGap;
    line += table.columns[c].right ? pad + cell : cell + pad;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  absl::StrAppend(out, line, "\n");
}

// Texts side by side, broken at `width`; later lines are indented.
void AppendWrapped(const std::vector<std::string>& texts, absl::string_view gap, int width,
                   std::string* out) {
  int used = 0;
  for (const std::string& raw : texts) {
    const std::string text = TextName(raw);
    const int needed = DisplayWidth(text);
    if (used > 0 && used + static_cast<int>(gap.size()) + needed > width) {
      absl::StrAppend(out, "\n  ");
      used = 2;
    } else if (used > 0) {
      absl::StrAppend(out, gap);
      used += static_cast<int>(gap.size());
    }
    absl::StrAppend(out, text);
    used += needed;
  }
  if (used > 0) absl::StrAppend(out, "\n");
}

void AppendList(absl::string_view title, const std::vector<std::string>& lines, std::string* out) {
  if (lines.empty()) return;
  absl::StrAppend(out, "\n", title, "\n");
  for (const std::string& line : lines) absl::StrAppend(out, "  ", TextName(line), "\n");
}

class TableWriter {
 public:
  TableWriter(const Report& report, const ViewOptions& options, const TableStyle& style)
      : report_(report), options_(options), style_(style), summary_(Summarize(report, options)) {}

  std::string Write() {
    const int line_width = style_.width > 0 ? style_.width : kLineWidth;
    std::vector<std::string> head = {summary_.title + "  "};
    for (size_t i = 0; i < summary_.model.size(); ++i) {
      head.push_back(summary_.model[i] + (i + 1 < summary_.model.size() ? "," : ""));
    }
    AppendWrapped(head, " ", line_width, &out_);
    AppendWrapped(summary_.inputs, "   ", line_width, &out_);
    out_ += "\n";
    AppendTable();
    for (const std::vector<std::string>& line : summary_.totals) {
      AppendWrapped(line, "   ", line_width, &out_);
    }
    if (!report_.symbols.empty()) {
      AppendList("symbols (bind them with --dim NAME=N):", summary_.symbols, &out_);
    }
    if (report_.totals.lower_bound) {
      AppendList(absl::StrCat("not counted, so that totals are lower bounds: ",
                              GroupedDigits(report_.coverage.unknown), " nodes"),
                 summary_.unknown, &out_);
    }
    AppendList("warnings:", summary_.warnings, &out_);
    return std::move(out_);
  }

 private:
  void AppendTable() {
    TextTable table = MakeTable(report_, options_);
    Clean(&table);
    std::vector<int> widths = Widths(table);
    Shrink(table, style_.width, &widths);
    std::vector<std::string> titles;
    for (const TextTable::Column& column : table.columns) titles.push_back(column.title);
    Styled(kFaint, titles, table, widths);
    for (const TextTable::Row& row : table.rows) {
      if (row.strong) {
        Styled(kBold, row.cells, table, widths);
      } else {
        AppendRow(table, row.cells, widths, &out_);
      }
    }
    for (const std::string& note : table.notes) {
      absl::StrAppend(&out_, "(", TextName(note), ")\n");
    }
    out_ += "\n";
  }

  void Styled(const char* escape, const std::vector<std::string>& cells, const TextTable& table,
              const std::vector<int>& widths) {
    std::string line;
    AppendRow(table, cells, widths, &line);
    if (!style_.color) {
      out_ += line;
      return;
    }
    line.pop_back();
    absl::StrAppend(&out_, escape, line, kPlain, "\n");
  }

  const Report& report_;
  const ViewOptions& options_;
  const TableStyle& style_;
  const Summary summary_;
  std::string out_;
};

}  // namespace

std::string ToTable(const Report& report, const ViewOptions& options, const TableStyle& style) {
  return TableWriter(report, options, style).Write();
}

}  // namespace onnxflops
