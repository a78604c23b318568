// Fits a table into the columns of a terminal.
//
// Input: a table and the columns that a row may take. Output: the width of each column (0 if it is
// not shown), and the titles of the shown columns. All tables follow one rule, in this order:
//   1. pictures go, then columns that are empty in all rows;
//   2. extra columns go; one of text stays if 12 columns are left for it;
//   3. text is broken into lines of 20 columns or more;
//   4. names are broken into lines of 20 columns or more;
//   5. optional columns go, those first that most rows leave empty, then from the right;
//   6. text and names are broken at 12 columns, and columns of text go, from the right;
//   7. columns of figures go, from the right, but for the first one;
//   8. pictures come back where there is room after all.
// So neither text nor a name is cut, unless it is longer than kMaxTextLines or kMaxLines lines.
//
//   const FittedTable fitted = FitTable(table, 80);
//   CutCells(fitted.widths, &table);
#ifndef ONNXFLOPS_SRC_RENDER_FIT_TABLE_H_
#define ONNXFLOPS_SRC_RENDER_FIT_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/render/text_table.h"

namespace onnxflops::render {

struct FittedTable {
  std::vector<int> widths;
  std::vector<std::string> dropped;  // titles, from the left
};

// `limit`: columns of a row; 0: any number.
FittedTable FitTable(const TextTable& table, int limit);

// Columns that the indent of a row takes, in a first column of so many.
int IndentOf(const TextTable::Row& row, int width);

// Whether cells that are too wide take several lines.
bool BreaksLines(const TextTable::Column& column);

// Cuts the cells that their column has no room for, the names among them so that those which differ
// look different.
void CutCells(const std::vector<int>& widths, TextTable* table);

// A cell as lines of this width. It is broken between words, else after a slash, a dot or a similar
// sign; later lines are indented by 2.
std::vector<std::string> CellLines(absl::string_view cell, int width);

}  // namespace onnxflops::render

#endif  // ONNXFLOPS_SRC_RENDER_FIT_TABLE_H_
