// How it works. Every column starts with the width of its widest cell. Steps then reduce columns
// until the sum is at most the limit; each step does what it can, and the next one the rest. The
// widest names are narrowed first, so that a short name next to a long one stays complete. A name
// gets at most kMaxLines lines, a text kMaxTextLines. A longer one is cut; names that would look
// equal after the cut are cut at another place, so that as many as possible stay different.
#include "src/render/fit_table.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/render/format.h"

namespace onnxflops::render {
namespace {

using report::DisplayWidth;
using report::kColumnGap;
using report::WithoutBeginning;
using report::WithoutEnd;
using report::WithoutMiddle;
using Column = TextTable::Column;
using Narrow = Column::Narrow;

constexpr int kEasyWidth = 20;     // of a text or a name where other columns can still go
constexpr int kLeastWidth = 12;    // if no wider fit exists
constexpr int kMaxLines = 10;      // of a name: one of a megabyte must not fill the screen
constexpr int kMaxTextLines = 60;  // of a text, which is ours: the longest formula, to its end
constexpr int kHang = 2;           // indent of a cell's later lines

std::vector<int> NaturalWidths(const TextTable& table) {
  std::vector<int> widths;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    int width = DisplayWidth(table.columns[c].title);
    for (const TextTable::Row& row : table.rows) {
      const int indent = c == 0 ? 2 * row.indent : 0;
      width = std::max(width, indent + DisplayWidth(row.cells[c]));
    }
    widths.push_back(width);
  }
  return widths;
}

int64_t FilledRows(const TextTable& table, size_t column) {
  return std::count_if(table.rows.begin(), table.rows.end(), [column](const TextTable::Row& row) {
    return !row.cells[column].empty() && row.cells[column] != "-";
  });
}

bool IsEmpty(const TextTable& table, size_t column) { return FilledRows(table, column) == 0; }

// In at most a quarter of the rows there is something.
bool IsSparse(const TextTable& table, size_t column) {
  return 4 * FilledRows(table, column) <= static_cast<int64_t>(table.rows.size());
}

class Fitter {
 public:
  Fitter(const TextTable& table, int limit) : table_(table), limit_(limit) {
    result_.widths = NaturalWidths(table);
    total_ = -kColumnGap;
    for (int width : result_.widths) total_ += width + kColumnGap;
    is_dropped_.resize(result_.widths.size());
  }

  FittedTable Fit() {
    DropIf([this](size_t c) { return table_.columns[c].picture; });
    DropIf([this](size_t c) { return IsEmpty(table_, c); });
    DropExtra();
    BreakTexts(kEasyWidth);
    BreakNames(kEasyWidth);
    DropIf([this](size_t c) { return Is(c, Narrow::kSpare) && IsSparse(table_, c); });
    DropIf([this](size_t c) { return Is(c, Narrow::kSpare); });
    BreakTexts(kLeastWidth);
    BreakNames(kLeastWidth);
    DropIf([this](size_t c) { return Is(c, Narrow::kText); });
    DropIf([this](size_t c) { return table_.columns[c].right && c != FirstFigure(); });
    UseRoom(Narrow::kName);
    UseRoom(Narrow::kText);
    RestorePictures();
    for (size_t c = 0; c < is_dropped_.size(); ++c) {
      if (is_dropped_[c] && !IsEmpty(table_, c)) result_.dropped.push_back(table_.columns[c].title);
    }
    return std::move(result_);
  }

 private:
  bool Is(size_t column, Narrow narrow) const { return table_.columns[column].narrow == narrow; }

  void Drop(size_t column) {
    total_ -= result_.widths[column] + kColumnGap;
    result_.widths[column] = 0;
    is_dropped_[column] = !table_.columns[column].picture;
  }

  // From the right. The first column names the row.
  template <typename Condition>
  void DropIf(Condition is_spare) {
    for (size_t c = result_.widths.size(); c-- > 1 && total_ > limit_;) {
      if (result_.widths[c] > 0 && is_spare(c)) Drop(c);
    }
  }

  size_t FirstFigure() const {
    size_t c = 1;
    while (c < table_.columns.size() && !table_.columns[c].right) ++c;
    return c;
  }

  // A few letters of a text, or a part of a figure, would not help.
  void DropExtra() {
    for (size_t c = 1; c < result_.widths.size() && total_ > limit_; ++c) {
      if (!Is(c, Narrow::kExtra) || result_.widths[c] == 0) continue;
      const bool can_be_cut = !table_.columns[c].right;
      if (can_be_cut && result_.widths[c] - (total_ - limit_) >= kLeastWidth) {
        Shrink(c, kLeastWidth);
      } else {
        Drop(c);
      }
    }
  }

  void Shrink(size_t column, int least) {
    int& width = result_.widths[column];
    const int cut = std::clamp(width - least, 0, std::max(0, total_ - limit_));
    width -= cut;
    total_ -= cut;
  }

  // Gives the space of a dropped column to columns that were narrowed before, from the left.
  void UseRoom(Narrow narrow) {
    const std::vector<int> natural = NaturalWidths(table_);
    for (size_t c = 0; c < natural.size() && total_ < limit_; ++c) {
      if (!Is(c, narrow) || result_.widths[c] == 0) continue;
      const int more = std::min(natural[c] - result_.widths[c], limit_ - total_);
      result_.widths[c] += more;
      total_ += more;
    }
  }

  // Where what was dropped after them has left enough room again.
  void RestorePictures() {
    const std::vector<int> natural = NaturalWidths(table_);
    for (size_t c = 1; c < natural.size(); ++c) {
      const int more = natural[c] + kColumnGap;
      if (!table_.columns[c].picture || result_.widths[c] > 0 || total_ + more > limit_) continue;
      result_.widths[c] = natural[c];
      total_ += more;
    }
  }

  void BreakTexts(int least) {
    for (size_t c = 0; c < result_.widths.size(); ++c) {
      if (Is(c, Narrow::kText)) Shrink(c, least);
    }
  }

  // The widest one gives way, down to the next.
  void BreakNames(int least) {
    while (total_ > limit_) {
      size_t widest = result_.widths.size();
      int next = least;
      for (size_t c = 0; c < result_.widths.size(); ++c) {
        if (!Is(c, Narrow::kName)) continue;
        if (widest == result_.widths.size() || result_.widths[c] > result_.widths[widest]) {
          widest = c;
        }
      }
      if (widest == result_.widths.size() || result_.widths[widest] <= least) return;
      for (size_t c = 0; c < result_.widths.size(); ++c) {
        const bool lower = Is(c, Narrow::kName) && result_.widths[c] < result_.widths[widest];
        if (lower) next = std::max(next, result_.widths[c]);
      }
      const bool has_twin = Twins(result_.widths[widest]) > 1;
      Shrink(widest, has_twin ? std::max(least, result_.widths[widest] - 1) : next);
    }
  }
  int64_t Twins(int width) const {
    int64_t twins = 0;
    for (size_t c = 0; c < result_.widths.size(); ++c) {
      if (Is(c, Narrow::kName) && result_.widths[c] == width) ++twins;
    }
    return twins;
  }

  const TextTable& table_;
  const int limit_;
  int total_ = 0;
  std::vector<bool> is_dropped_;
  FittedTable result_;
};

// `beginning`: columns kept from the start of the cell; the other columns show its end.
std::string CutCell(absl::string_view cell, int width, int beginning) {
  if (beginning == 0) return WithoutBeginning(cell, width);
  return beginning >= width ? WithoutEnd(cell, width) : WithoutMiddle(cell, width, beginning);
}

// Where to cut names that would look alike, so that as many as possible differ; -1 if no place is
// better than the usual one.
int BestCut(const std::vector<std::string*>& cells, int width) {
  absl::flat_hash_set<std::string> looks;
  for (const std::string* cell : cells) looks.insert(*cell);
  const size_t different = looks.size();
  int best = -1;
  size_t most = 1;
  for (const int beginning : {width / 4, width / 2, width * 3 / 4, width, 0}) {
    if (most == different) break;
    looks.clear();
    for (const std::string* cell : cells) looks.insert(CutCell(*cell, width, beginning));
    if (looks.size() <= most) continue;
    most = looks.size();
    best = beginning;
  }
  return best;
}

void CutColumn(size_t column, int width, TextTable* table) {
  const bool is_name = table->columns[column].narrow == Narrow::kName;
  const bool breaks = BreaksLines(table->columns[column]);
  std::string& title = table->columns[column].title;
  title = CutCell(title, width, is_name ? 0 : width);
  absl::flat_hash_map<std::pair<std::string, int>, std::vector<std::string*>> alike;
  for (TextTable::Row& row : table->rows) {
    std::string& cell = row.cells[column];
    const int line = width - (column == 0 ? IndentOf(row, width) : 0);
    const int most = table->columns[column].narrow == Narrow::kText ? kMaxTextLines : kMaxLines;
    const int room = breaks ? most * std::max(1, line - kHang) : line;
    if (DisplayWidth(cell) <= room) continue;
    const int usual = is_name && !row.faint ? 0 : room;
    alike[{CutCell(cell, room, usual), room}].push_back(&cell);
  }
  for (const auto& [look, cells] : alike) {
    const int beginning = is_name && cells.size() > 1 ? BestCut(cells, look.second) : -1;
    for (std::string* cell : cells) {
      *cell = beginning < 0 ? look.first : CutCell(*cell, look.second, beginning);
    }
  }
}

// A space at which a text may break: "batch = 1" stays together.
bool IsBreak(absl::string_view text, size_t at) {
  return text[at] == ' ' && text.substr(at + 1, 1) != "=" && (at == 0 || text[at - 1] != '=');
}

// Bytes of the text that make a line of so many columns. It ends before a space, else after a sign
// that ends a part of a name, if there is one in the second half. "batch = 1" is broken last.
size_t LineEnd(absl::string_view text, int columns) {
  size_t end = 0, part = 0, word = 0, space = 0;
  int used = 0;
  for (; end < text.size(); ++end) {
    const bool starts = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (starts && ++used > columns) break;
    if (2 * used < columns) continue;
    const bool ends_part =
        absl::string_view("/._-,:;*+").find(text[end]) != absl::string_view::npos;
    if (ends_part) part = end + 1;
    if (text[end] == ' ') space = end;
    if (IsBreak(text, end)) word = end;
  }
  if (end == text.size()) return end;
  if (IsBreak(text, end)) word = end;
  if (word > 0) return word;
  return space > 0 ? space : part > 0 ? part : end;
}

}  // namespace

bool BreaksLines(const Column& column) {
  return column.narrow == Narrow::kName || column.narrow == Narrow::kText;
}

FittedTable FitTable(const TextTable& table, int limit) {
  if (limit <= 0) return {NaturalWidths(table), {}};
  return Fitter(table, limit).Fit();
}

int IndentOf(const TextTable::Row& row, int width) { return std::min(2 * row.indent, width / 2); }

void CutCells(const std::vector<int>& widths, TextTable* table) {
  for (size_t c = 0; c < widths.size(); ++c) {
    if (widths[c] > 0) CutColumn(c, widths[c], table);
  }
}

std::vector<std::string> CellLines(absl::string_view cell, int width) {
  std::vector<std::string> lines;
  int room = std::max(1, width);
  while (DisplayWidth(cell) > room) {
    const size_t end = std::max<size_t>(1, LineEnd(cell, room));
    lines.push_back(absl::StrCat(std::string(lines.empty() ? 0 : kHang, ' '), cell.substr(0, end)));
    cell.remove_prefix(end);
    cell.remove_prefix(std::min(cell.find_first_not_of(' '), cell.size()));
    room = std::max(1, width - kHang);
  }
  lines.push_back(absl::StrCat(std::string(lines.empty() ? 0 : kHang, ' '), cell));
  return lines;
}

}  // namespace onnxflops::render
