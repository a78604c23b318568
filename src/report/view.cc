// How it works. There is one table per grouping. Modules come as rows from module_rows.cc.
// Operators and nodes are lines with amounts: free ones are counted in a note, the others sorted by
// cost. With --top the rest is one line "[n others]", the total minus the shown lines, so that the
// table adds up. The time bound of the model is that of a run; where it is not the sum of the rows,
// a note says why. With --top, nodes of the same operator, shapes and amounts share a row, because
// otherwise 24 equal layers would fill the list. A node with unknown work equals no other. Empty
// columns are dropped.
#include "src/report/view.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/setting.h"
#include "src/cost/amounts_sum.h"
#include "src/render/format.h"
#include "src/report/figure_columns.h"
#include "src/report/output_shapes.h"
#include "src/report/reference_sizes.h"

namespace onnxflops::report {
namespace {

constexpr auto kName = TextTable::Column::Narrow::kName;
constexpr auto kText = TextTable::Column::Narrow::kText;
constexpr auto kExtra = TextTable::Column::Narrow::kExtra;

constexpr size_t kMaxShapesText = 200;  // of one node's tensors

// "model" of a row without a name.
std::string ModuleLabel(const ModuleRow& row) {
  std::string label = row.label;
  if (label.empty()) label = row.type.empty() ? "(model)" : row.type;
  if (row.repeated > 1) absl::StrAppend(&label, "  ", row.repeated, "x");
  return label;
}

// Notes rows that the table leaves out, and the options that show them.
void NoteOnRows(const ModuleView& view, const ViewOptions& options, TextTable* table) {
  if (options.top > 0 || options.depth >= 0 || !options.fold || options.stable) return;
  std::vector<std::string> parts;
  if (view.joined) parts.push_back(view.crowded ? "small rows joined" : "rows under 1 % joined");
  if (view.closed > 0) parts.push_back(ClosedText(view.closed));
  if (parts.empty()) return;
  table->notes.push_back(absl::StrCat(absl::StrJoin(parts, ", "),
                                      WithSettings(": {depth N} opens them; costliest: {top 10}")));
}

TextTable ModuleTable(const Report& report, const ViewOptions& options) {
  const ModuleView view = ModuleRows(report, options);
  const FigureColumns figures(report, options);
  bool types = false;
  for (const ModuleRow& row : view.rows) {
    types = types || (!row.type.empty() && !row.label.empty());
  }
  TextTable table;
  table.columns = {{"module", false, kName}};
  if (types) table.columns.push_back({"type", false, kExtra});
  const std::vector<std::string> shapes =
      options.shapes ? OutputShapes(report) : std::vector<std::string>();
  if (options.shapes) table.columns.push_back({"output", false, kName});
  figures.AddColumns(&table);
  for (const ModuleRow& row : view.rows) {
    TextTable::Row out;
    out.indent = row.indent;
    out.strong = row.indent == 0 && options.top == 0;
    out.faint = row.module < 0;
    out.cells.push_back(ModuleLabel(row));
    if (types) out.cells.push_back(row.label.empty() ? "" : row.type);
    if (options.shapes) {
      const auto place = static_cast<size_t>(row.module);
      out.cells.push_back(row.module < 0 || place >= shapes.size() ? "" : shapes[place]);
    }
    figures.AddCells(row, row.lower_bound ? Known::kAtLeast : Known::kExact, &out.cells);
    table.rows.push_back(std::move(out));
  }
  NoteOnRows(view, options, &table);
  return table;
}

// Notes the rows that do no arithmetic.
void AddHidden(size_t count, const char* what, TextTable* table) {
  if (count == 0) return;
  table->notes.push_back(absl::StrCat(Plural(static_cast<int64_t>(count), what),
                                      " free of arithmetic not shown",
                                      WithSettings("; {no-fold on} shows all")));
}

// One row of operators or nodes, before conversion to text.
struct Line {
  Amounts amounts;
  Known known = Known::kExact;
  std::vector<std::string> cells;
  int64_t count = 1;  // of operators or nodes
  bool joined = false;
  absl::int128 key = 0;  // that lines are sorted by
};

// Keeps the costliest `top` lines and joins the rest in one line, so that all add up to the total.
void KeepTop(const FigureColumns& figures, int top, const Amounts& total,
             std::vector<Line>* lines) {
  for (Line& line : *lines) line.key = figures.SortKey(line.amounts);
  std::stable_sort(lines->begin(), lines->end(),
                   [](const Line& a, const Line& b) { return a.key > b.key; });
  if (top == 0 || lines->size() <= static_cast<size_t>(top) + 1) return;
  Line others;
  AmountsSum shown, left;
  for (size_t i = 0; i < lines->size(); ++i) {
    (i < static_cast<size_t>(top) ? shown : left).Add((*lines)[i].amounts);
  }
  const Amounts sum = shown.Total();
  for (const Quantity& q : kQuantities) {
    if (q.of == Quantity::Of::kWork) others.amounts.*q.value = total.*q.value - sum.*q.value;
  }
  others.amounts.time_bound = left.Total().time_bound;  // the total's is that of a run
  others.count = 0;
  for (size_t i = static_cast<size_t>(top); i < lines->size(); ++i) {
    others.count += (*lines)[i].count;
    if ((*lines)[i].known != Known::kExact) others.known = Known::kAtLeast;
  }
  others.joined = true;
  others.cells.assign((*lines)[0].cells.size(), "");
  others.cells[0] = absl::StrCat("[", GroupedDigits(others.count), " others]");
  lines->resize(static_cast<size_t>(top));
  lines->push_back(std::move(others));
}

// Drops a column without information.
void DropColumn(size_t column, TextTable* table) {
  table->columns.erase(table->columns.begin() + static_cast<std::ptrdiff_t>(column));
  for (TextTable::Row& row : table->rows) {
    row.cells.erase(row.cells.begin() + static_cast<std::ptrdiff_t>(column));
  }
}

void AddLines(const FigureColumns& figures, std::vector<Line> lines, TextTable* table) {
  figures.AddColumns(table);
  for (Line& line : lines) {
    TextTable::Row row;
    row.cells = std::move(line.cells);
    row.faint = line.joined;
    figures.AddCells(line.amounts, line.known, &row.cells);
    table->rows.push_back(std::move(row));
  }
}

// True if every quantity that the table shows is 0.
bool IsFree(const Report& report, const std::vector<Figure>& shown, const Amounts& amounts) {
  return std::all_of(shown.begin(), shown.end(), [&](const Figure& figure) {
    return figure.kind != Figure::Kind::kQuantity ||
           report.In(*figure.quantity, amounts) == Expr(0);
  });
}

TextTable OpTable(const Report& report, const ViewOptions& options) {
  const std::vector<Figure> shown = ShownFigures(report, options);
  const FigureColumns figures(report, options);
  std::vector<Line> lines;
  size_t hidden = 0;
  for (const OpRow& row : report.by_op) {
    if (options.fold && !row.lower_bound && IsFree(report, shown, row)) {
      ++hidden;
      continue;
    }
    lines.push_back({row,
                     row.lower_bound ? Known::kAtLeast : Known::kExact,
                     {OpLabel(row.domain, row.op), GroupedDigits(row.nodes),
                      ShowExpr(row.runs, /*exact=*/true)}});
  }
  // The most work first; free and unknown operators come last.
  KeepTop(figures, options.top, report.totals, &lines);
  TextTable table;
  table.columns = {{"operator", false, kName}, {"nodes", true}, {"runs", true, kText}};
  AddLines(figures, std::move(lines), &table);
  AddHidden(hidden, "operator", &table);
  // "runs" is redundant if it repeats "nodes".
  const bool same = std::all_of(report.by_op.begin(), report.by_op.end(),
                                [](const OpRow& row) { return row.runs == Expr(row.nodes); });
  if (same) DropColumn(2, &table);
  return table;
}

// "[1,577,1024] x [1024,4096] -> [1,577,4096]".
std::string ShapesText(const NodeRow& row) {
  const auto list = [](const std::vector<TensorInfo>& tensors) {
    std::vector<std::string> shapes;
    size_t bytes = 0;
    for (const TensorInfo& t : tensors) {
      if (!t.shape.ranked() || t.shape.rank() == 0) continue;
      std::vector<std::string> dims;
      for (const Expr& dim : t.shape.dims()) dims.push_back(dim.Shortened(kMaxShapesText));
      shapes.push_back(absl::StrCat("[", absl::StrJoin(dims, ","), "]"));
      bytes += shapes.back().size();
      if (bytes > kMaxShapesText) break;
    }
    return absl::StrJoin(shapes, " x ");
  };
  return absl::StrCat(list(row.inputs), " -> ", list(row.outputs));
}

// Nodes with the same work at the same sizes, identified by the first of them.
struct EqualNodes {
  const NodeRow* first = nullptr;
  int64_t count = 0;
  std::string shapes;
};

// Work that is unknown is equal to nothing.
std::vector<EqualNodes> FindEqual(const Report& report, const ViewOptions& options) {
  std::vector<EqualNodes> groups;
  absl::flat_hash_map<std::pair<std::string, Amounts>, size_t> known;
  for (const NodeRow& row : report.nodes) {
    std::string shapes = ShapesText(row);
    if (options.fold && row.status == Coverage::kCounted) {
      const auto [it, is_new] = known.try_emplace(
          {absl::StrCat(OpLabel(row.domain, row.op), " ", shapes), row}, groups.size());
      if (!is_new) {
        ++groups[it->second].count;
        continue;
      }
    }
    groups.push_back({&row, 1, std::move(shapes)});
  }
  return groups;
}

// The costliest nodes; equal ones share a row.
TextTable TopNodes(const Report& report, const ViewOptions& options) {
  const std::vector<Figure> shown = ShownFigures(report, options);
  const FigureColumns figures(report, options);
  std::vector<Line> lines;
  size_t hidden = 0;
  for (const EqualNodes& group : FindEqual(report, options)) {
    const NodeRow& row = *group.first;
    const bool unknown = row.status == Coverage::kUnknown;
    if (options.fold && !unknown && IsFree(report, shown, row)) {
      hidden += static_cast<size_t>(group.count);
      continue;
    }
    Line line;
    line.amounts.Add(row, group.count);
    line.known = unknown ? Known::kNothing : Known::kExact;
    line.count = group.count;
    line.cells = {row.name, group.count > 1 ? absl::StrCat(group.count, "x") : "",
                  OpLabel(row.domain, row.op), report.modules[static_cast<size_t>(row.module)].path,
                  group.shapes};
    lines.push_back(std::move(line));
  }
  KeepTop(figures, options.top, report.totals, &lines);
  TextTable table;
  table.columns = {{"node", false, kName},
                   {"", true},
                   {"operator", false, kName},
                   {"module", false, kExtra},
                   {"shapes", false, kName}};
  AddLines(figures, std::move(lines), &table);
  AddHidden(hidden, "node", &table);
  return table;
}

TextTable NodeTable(const Report& report, const ViewOptions& options) {
  const std::vector<Figure> shown = ShownFigures(report, options);
  const FigureColumns figures(report, options);
  std::vector<Line> lines;
  bool once = true;
  for (const NodeRow& row : report.nodes) {
    const bool unknown = row.status == Coverage::kUnknown;
    const bool free = row.status == Coverage::kFree && IsFree(report, shown, row);
    if (options.fold && free) continue;
    std::string output;
    if (!row.outputs.empty()) output = TensorText(row.outputs[0].type, row.outputs[0].shape);
    lines.push_back({row,
                     unknown ? Known::kNothing : Known::kExact,
                     {row.name, OpLabel(row.domain, row.op), std::move(output),
                      ShowExpr(row.multiplicity, /*exact=*/true)}});
    once = once && row.multiplicity == Expr(1);
  }
  const size_t hidden = report.nodes.size() - lines.size();
  if (options.sort) KeepTop(figures, 0, report.totals, &lines);
  TextTable table;
  table.columns = {{"node", false, kName},
                   {"operator", false, kName},
                   {"output", false, options.shapes ? kName : kExtra},
                   {"runs", true, kText}};
  AddLines(figures, std::move(lines), &table);
  if (once) DropColumn(3, &table);
  AddHidden(hidden, "node", &table);
  return table;
}

// Notes why the bound on the time of the model is not the sum of its rows.
void NoteTimeBound(const Report& report, const ViewOptions& options, TextTable* table) {
  const Figure bound = {Figure::Kind::kQuantity, &QuantityOf(&Amounts::time_bound)};
  const std::vector<Figure> shown = ShownFigures(report, options);
  if (std::find(shown.begin(), shown.end(), bound) == shown.end()) return;
  AmountsSum rows;
  for (const OpRow& row : report.by_op) rows.Add(row);
  const ReferenceValues values(report);
  const auto sum = values.Of(rows.Total().time_bound), run = values.Of(report.totals.time_bound);
  if (!sum || !run || *sum == *run) return;
  table->notes.emplace_back(
      *run > *sum
          ? "the time bound of the model is that of its bytes; rows have only that of their "
            "multiply-accumulates"
          : "the time bound of the model has repeated work once; rows have it each time");
}

}  // namespace

std::string ClosedText(int64_t rows) {
  return absl::StrCat("submodules of ", Plural(rows, "row"), " not shown");
}

TextTable MakeTable(const Report& report, const ViewOptions& options) {
  TextTable table;
  const bool whole = report.tool && !report.tool->has_rows;  // nothing below the model has a figure
  switch (whole ? GroupBy::kModule : options.by) {
    case GroupBy::kModule:
      table = ModuleTable(report, options);
      break;
    case GroupBy::kOp:
      table = OpTable(report, options);
      break;
    case GroupBy::kNode:
      table = options.top > 0 ? TopNodes(report, options) : NodeTable(report, options);
      break;
  }
  NoteTimeBound(report, options, &table);
  if (whole) {
    table.notes.push_back(absl::StrCat(report.convention, " counts the model as a whole only"));
  }
  return table;
}

}  // namespace onnxflops::report
