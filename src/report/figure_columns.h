// The columns of figures in a table, and their cells.
#ifndef ONNXFLOPS_SRC_REPORT_FIGURE_COLUMNS_H_
#define ONNXFLOPS_SRC_REPORT_FIGURE_COLUMNS_H_

#include <optional>
#include <string>
#include <vector>

#include "src/cost/roofline.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/render/text_table.h"
#include "src/report/ranges.h"
#include "src/report/reference_sizes.h"
#include "src/report/report.h"
#include "src/report/view_options.h"

namespace onnxflops::report {

// The main figure of a report: FLOPs; MACs for a tool that counts those, and for models that
// multiply integers, because most of their work is not FLOPs.
const Quantity& MainQuantity(const Report& report);
// The amounts of the first row: those of the model or of the part.
const Amounts& RootAmounts(const Report& report);
// The quantity for sorting and for choosing open rows.
const Quantity& CostQuantity(const Report& report, const ViewOptions& options);
// The columns, as asked for or by default. Operators and nodes have no weights.
std::vector<Figure> ShownFigures(const Report& report, const ViewOptions& options);

// Operations per byte, with about three digits: "41.8", "0.52"; "-" if no bytes are moved.
std::string Intensity(absl::int128 operations, absl::int128 bytes);
// The slower one on a device: the arithmetic at its peak, or moving the bytes.
enum class Bound { kCompute, kMemory };
const char* BoundName(Bound bound);  // "compute", "memory"
// nullopt if it depends on open sizes, or there is no work.
std::optional<Bound> BoundOf(const Roofline& rates, const Expr& operations, const Expr& bytes);

// The counted operations: FLOPs, plus integer operations if integers are multiplied.
Expr OperationsOf(const Report& report, const Amounts& amounts);

// Amounts at the sizes that the screen states; in the stable form, which depends on no sizes, as
// formulas.
class FigureColumns {
 public:
  // `report` and `options` must outlive it.
  FigureColumns(const Report& report, const ViewOptions& options);

  void AddColumns(TextTable* table) const;
  // `known`: how far the work of a row is.
  void AddCells(const Amounts& amounts, Known known, std::vector<std::string>* cells) const;
  // The amount for the share; 0 if it has no value.
  absl::int128 Cost(const Amounts& amounts) const { return ValueOf(report_.In(cost_, amounts)); }
  // How far a quantity of a row is known, if its work is known so far.
  static Known KnownOfCell(const Quantity& q, const Expr& amount, Known row);
  // "compute", "memory"; "-" without a device, or without work.
  std::string BoundText(const Amounts& amounts) const;
  // The amount for sorting, in whole numbers.
  absl::int128 SortKey(const Amounts& amounts) const;

 private:
  std::string Title(const Figure& figure) const;
  std::string Cell(const Figure& figure, const Amounts& amounts, Known known) const;
  std::string Show(const Quantity& q, const Expr& amount) const;
  // With the unit if a reader would not know it; every digit is shown without a unit.
  std::string ShowNumber(const Quantity& q, absl::int128 number) const;
  // The lower or upper end of the sorted quantity; "?" if it is unknown.
  std::string RangeEnd(Figure::Kind end, const Amounts& amounts, Known known) const;
  absl::int128 ValueOf(const Expr& amount) const { return values_.Of(amount).value_or(0); }

  const Report& report_;
  const ViewOptions& options_;
  const Quantity& cost_;
  ReferenceValues values_;
  const Ranges ranges_;
  const std::vector<Figure> figures_;
};

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_FIGURE_COLUMNS_H_
