// The report as CSV, for spreadsheets and scripts.
//
// How it works. There is a line per module, operator or node. Lines of all models follow each
// other, so the first column is the model. Columns are the requested quantities, else all. Cells
// have exact digits or a formula, and are empty if a figure is unknown or another tool does not
// have it, because scripts must not read a missing figure as 0. All modules are listed, without
// joining rows. --sort and --top work per model, and --top lists only modules without children, so
// that nothing is counted twice.
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "src/render/format.h"
#include "src/render/text_table.h"
#include "src/report/device_columns.h"
#include "src/report/figure_columns.h"
#include "src/report/ranges.h"
#include "src/report/reference_sizes.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

using report::AddDeviceCells;
using report::AddDeviceColumns;
using report::CostQuantity;
using report::DeviceName;
using report::DtypeName;
using report::FigureColumns;
using report::Intensity;
using report::Known;
using report::KnownField;
using report::OperationsOf;
using report::Percent;
using report::Ranges;
using report::ReferenceValues;
using report::StatusName;
using report::TensorText;

void AddColumns(std::initializer_list<const char*> titles, TextTable* table) {
  for (const char* title : titles) table->columns.push_back({title});
}

// The columns of figures: those asked for, else every quantity. Nodes and operators have no
// weights.
std::vector<Figure> FiguresOf(const ViewOptions& options, const Report& report) {
  if (!options.columns.empty()) return options.columns;
  std::vector<Figure> figures;
  for (const Quantity& q : kQuantities) {
    if (!report.Has(q) && q.needs != Quantity::Needs::kNothing) continue;
    if (options.by == GroupBy::kModule || q.of != Quantity::Of::kWeights) {
      figures.push_back({Figure::Kind::kQuantity, &q});
    }
  }
  if (report.roofline) {
    figures.push_back({Figure::Kind::kIntensity, nullptr});
    figures.push_back({Figure::Kind::kBound, nullptr});
  }
  return figures;
}

// The lines of one report, before conversion to text.
class Lines {
 public:
  // `report`, `options` and `figures` must outlive it.
  Lines(const Report& report, const ViewOptions& options, const std::vector<Figure>& figures)
      : report_(report),
        options_(options),
        figures_(figures),
        columns_(report, options),
        values_(report),
        ranges_(report) {}

  // `before` and `after` the figures.
  void Add(const Amounts& amounts, Known known, std::vector<std::string> before,
           std::vector<std::string> after) {
    Line line;
    line.key = columns_.SortKey(amounts);
    line.cells = std::move(before);
    for (const Figure& figure : figures_) line.cells.push_back(Cell(figure, amounts, known));
    line.cells.insert(line.cells.end(), after.begin(), after.end());
    lines_.push_back(std::move(line));
  }

  void MoveTo(TextTable* table) {
    if (options_.sort || options_.top > 0) {
      std::stable_sort(lines_.begin(), lines_.end(),
                       [](const Line& a, const Line& b) { return a.key > b.key; });
    }
    if (options_.top > 0 && lines_.size() > static_cast<size_t>(options_.top)) {
      lines_.resize(static_cast<size_t>(options_.top));
    }
    for (Line& line : lines_) table->rows.push_back({std::move(line.cells)});
  }

 private:
  struct Line {
    absl::int128 key = 0;
    std::vector<std::string> cells;
  };

  // Exact digits or a formula; empty for a quantity that is unknown or that another tool does not
  // count. Shares and intensities need numbers.
  std::string Cell(const Figure& figure, const Amounts& amounts, Known known) const {
    if (figure.kind == Figure::Kind::kQuantity) {
      const Quantity& q = *figure.quantity;
      const Expr amount = report_.In(q, amounts);
      if (!report_.Has(q)) return "";
      return KnownField(FigureColumns::KnownOfCell(q, amount, known), FieldText(q, amount));
    }
    if (known == Known::kNothing) return "";
    if (figure.kind == Figure::Kind::kAtLeast || figure.kind == Figure::Kind::kAtMost) {
      return Bound(figure.kind, amounts, known);
    }
    // Shares of a total that is a bound are bounds themselves; if a part is not counted, work per
    // byte, and which of the two takes longer, are unknown.
    const bool share = figure.kind == Figure::Kind::kShare;
    if (share ? report_.totals.lower_bound : known != Known::kExact) return "";
    if (figure.kind == Figure::Kind::kBound) {
      const std::string text = columns_.BoundText(amounts);
      return text == "-" ? "" : text;
    }
    const Quantity& cost = CostQuantity(report_, options_);
    const auto part =
        values_.Of(share ? report_.In(cost, amounts) : OperationsOf(report_, amounts));
    const auto whole =
        values_.Of(share ? report_.In(cost, report_.totals) : kBytesMoved.In(amounts));
    if (!part || !whole) return "";
    const std::string text = share ? Percent(*part, *whole) : Intensity(*part, *whole);
    return text == "-" ? "" : text;
  }

  // A formula over the sizes of inputs; nothing where no bound is known.
  std::string Bound(Figure::Kind end, const Amounts& amounts, Known known) const {
    const Quantity& cost = CostQuantity(report_, options_);
    const Expr amount = report_.In(cost, amounts);
    if (end == Figure::Kind::kAtMost && known != Known::kExact) return "";
    const std::optional<Expr> bound =
        end == Figure::Kind::kAtLeast ? ranges_.Lowest(amount) : ranges_.Highest(amount);
    return bound ? FieldText(cost, *bound) : "";
  }

  const Report& report_;
  const ViewOptions& options_;
  const std::vector<Figure>& figures_;
  const FigureColumns columns_;
  const ReferenceValues values_;
  const Ranges ranges_;
  std::vector<Line> lines_;
};

// True if a column is a time, or follows from times.
bool HasTimes(const std::vector<Figure>& figures) {
  return absl::c_any_of(figures, [](const Figure& figure) {
    return figure.kind == Figure::Kind::kBound ||
           (figure.quantity != nullptr && figure.quantity->needs == Quantity::Needs::kDevice);
  });
}

void AddModules(const Report& report, const ViewOptions& options, Lines* lines) {
  for (size_t i = 0; i < report.modules.size(); ++i) {
    const Module& m = report.modules[i];
    if (options.depth >= 0 && m.depth > options.depth) continue;
    // --top lists only modules that hold no others.
    if (options.top > 0 && m.end != static_cast<int32_t>(i) + 1) continue;
    lines->Add(*m.amounts, m.lower_bound ? Known::kAtLeast : Known::kExact,
               {report.model.path, m.path, m.type, absl::StrCat(m.depth), absl::StrCat(m.nodes)},
               {m.lower_bound ? "true" : "false"});
  }
}

void AddOps(const Report& report, Lines* lines) {
  for (const OpRow& row : report.by_op) {
    lines->Add(
        row, row.lower_bound ? Known::kAtLeast : Known::kExact,
        {report.model.path, row.domain, row.op, absl::StrCat(row.nodes), row.runs.ToString()},
        {row.lower_bound ? "true" : "false"});
  }
}

void AddNodes(const Report& report, Lines* lines) {
  for (const NodeRow& row : report.nodes) {
    std::string output;
    if (!row.outputs.empty()) output = TensorText(row.outputs[0].type, row.outputs[0].shape);
    const Module& module = report.modules[static_cast<size_t>(row.module)];
    lines->Add(row, row.status == Coverage::kUnknown ? Known::kNothing : Known::kExact,
               {report.model.path, row.name, row.domain, row.op, module.path, std::move(output),
                row.multiplicity.ToString()},
               {std::string(StatusName(row.status))});
  }
}

}  // namespace

std::string ToCsv(absl::Span<const Report> reports, const ViewOptions& options) {
  TextTable table;
  switch (options.by) {
    case GroupBy::kModule:
      AddColumns({"model", "module", "type", "depth", "nodes"}, &table);
      break;
    case GroupBy::kOp:
      AddColumns({"model", "domain", "operator", "nodes", "runs"}, &table);
      break;
    case GroupBy::kNode:
      AddColumns({"model", "node", "domain", "operator", "module", "output", "runs"}, &table);
      break;
  }
  const std::vector<Figure> figures =
      reports.empty() ? options.columns : FiguresOf(options, reports.front());
  for (const Figure& figure : figures) {
    table.columns.push_back({std::string(figure.key())});
  }
  AddColumns({options.by == GroupBy::kNode ? "status" : "lower_bound"}, &table);
  const bool has_times = HasTimes(figures);
  if (has_times) AddDeviceColumns(&table);
  for (const Report& report : reports) {
    Lines lines(report, options, figures);
    if (options.by == GroupBy::kModule) AddModules(report, options, &lines);
    if (options.by == GroupBy::kOp) AddOps(report, &lines);
    if (options.by == GroupBy::kNode) AddNodes(report, &lines);
    const size_t first = table.rows.size();
    lines.MoveTo(&table);
    for (size_t i = first; has_times && i < table.rows.size(); ++i) {
      AddDeviceCells(DeviceName(report), DtypeName(report), &table.rows[i]);
    }
  }
  return DrawCsv(table);
}

}  // namespace onnxflops
