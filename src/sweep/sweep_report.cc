// How it works. The model is counted once, with its sizes open. Each point of the sweep puts
// numbers for the symbols into the formulas of totals and rows; nothing is counted again. A symbol
// that the sweep does not set stays in the figures as a formula.
//
// The table has a column per point. If that is too wide, the writer may take the other form, a row
// per point, which has no rows of modules. A formula without room becomes "(long)" with a note. CSV
// has a line per point, or per point and row. The plot is made of characters, one bar per point; a
// figure above 0 gets at least one sign.
#include "src/sweep/sweep_report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/infer/require_symbols.h"
#include "src/render/format.h"
#include "src/render/html_page.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/render/text_table.h"
#include "src/report/device_columns.h"
#include "src/report/figure_columns.h"
#include "src/report/json_parts.h"
#include "src/report/view.h"

namespace onnxflops {
namespace {

using report::AmountText;
using report::DisplayWidth;
using report::HasFigure;
using report::Intensity;
using report::JsonWriter;
using report::kColumnGap;
using report::Known;
using report::KnownField;
using report::KnownOf;
using report::KnownText;
using report::kOneLine;
using report::LabelledLine;
using report::ModuleRow;
using report::OperationsOf;
using report::ShowExpr;
using report::WithoutEnd;

constexpr int kMaxPlotLabel = 40;  // columns
constexpr size_t kMaxCell = 60;    // of a formula
constexpr size_t kMaxFormula = 4 * kMaxCell;
constexpr char kLongFormula[] = "(long)";
constexpr int kMinBar = 10;

// Of --sort; nullptr without, and for a share, which is in the order of FLOPs.
const Quantity* SortedQuantity(const ViewOptions& options) {
  return options.sort ? options.sort->quantity : nullptr;
}

// What rows and bars show.
const Quantity& ShownQuantity(const SweepReport& sweep) {
  if (sweep.sorted != nullptr) return *sweep.sorted;
  return QuantityOf(sweep.report.has_flops() ? &Amounts::flops : &Amounts::macs);
}

// What the paths of all modules of a report begin with: the model's row may be that of its only
// module. Modules that several patterns selected have whole paths as names.
std::string RootPath(const Report& report, const report::ModuleRow& root) {
  const Module& module = report.modules[static_cast<size_t>(root.module)];
  return module.kind < 0 ? "" : module.path;
}

std::vector<SweepRow> RowsOf(const Report& report, const ViewOptions& options) {
  std::vector<SweepRow> rows;
  if (options.by == GroupBy::kOp) {
    for (const OpRow& op : report.by_op) {
      const std::string label = OpLabel(op.domain, op.op);
      rows.push_back({label, label, "", 0, 1, op.flops, op.macs, op.lower_bound, {}});
    }
    return rows;
  }
  const Quantity* sorted = SortedQuantity(options);
  std::vector<std::string> parents;  // paths, by indent
  for (const ModuleRow& m : report::ModuleRows(report, options).rows) {
    parents.resize(static_cast<size_t>(m.indent));
    const std::string parent = parents.empty() ? "" : parents.back();
    const std::string path = m.indent == 0
                                 ? RootPath(report, m)
                                 : absl::StrCat(parent, parent.empty() ? "" : ".", m.label);
    parents.push_back(path);
    rows.push_back({m.label.empty() ? "(model)" : m.label, m.indent == 0 ? "" : path, m.type,
                    m.indent, m.repeated, m.flops, m.macs, m.lower_bound,
                    sorted == nullptr ? Expr() : report.In(*sorted, m)});
  }
  return rows;
}

absl::StatusOr<std::vector<Expr>> ValuesAt(const std::vector<SweepRow>& rows,
                                           Expr SweepRow::*amount, const Bindings& sizes) {
  std::vector<Expr> values;
  values.reserve(rows.size());
  for (const SweepRow& row : rows) {
    values.push_back((row.*amount).Substitute(sizes));
    if (const char* error = values.back().error()) {
      return LimitError(LimitOf(error),
                        absl::StrCat("the cost of ", Quoted(row.label), " ", error));
    }
  }
  return values;
}

// "128", or "1, 128" for two symbols.
std::string PointTitle(const SweepReport& sweep, const SweepPoint& point) {
  return absl::StrJoin(sweep.symbols, ", ", [&](std::string* out, const std::string& name) {
    absl::StrAppend(out, point.at.at(name));
  });
}

bool IsShown(const SweepReport& sweep, const Quantity& q) {
  if (q.value == &Amounts::bops && !sweep.report.totals.BopsTellMore()) return false;
  const bool is_main = q.value == &Amounts::flops || q.value == &Amounts::macs;
  return sweep.report.Has(q) &&
         std::any_of(sweep.points.begin(), sweep.points.end(), [&](const SweepPoint& p) {
           return !(p.totals.*q.value).is_zero() || (is_main && p.totals.lower_bound);
         });
}

// How the cells of a table are written.
struct CellStyle {
  bool exact = false;

  std::string Text(const Quantity& q, const Expr& value, Known known) const {
    if (value.is_literal()) return KnownText(known, AmountText(q, value.literal(), exact));
    // A formula of a time is in units that nobody reads.
    const bool is_long =
        q.unit == Quantity::Unit::kSeconds || value.TextBytes(kMaxFormula) > kMaxFormula;
    const std::string text = is_long ? kLongFormula : ShowExpr(value, exact);
    return KnownText(known, text.size() > kMaxCell ? kLongFormula : text);
  }
};

// Operations per byte at a point; "-" if a size is open.
std::string IntensityAt(const Report& report, const Totals& totals) {
  const Expr work = OperationsOf(report, totals), bytes = kBytesMoved.In(totals);
  const bool is_known = work.is_literal() && bytes.is_literal() && !totals.lower_bound;
  return is_known ? Intensity(work.literal(), bytes.literal()) : "-";
}

std::string IntensityTitle(const Report& report) {
  return report.int_census[Kind::kMac] != Expr(0) ? "operations/byte" : "FLOP/byte";
}

// The columns of all points, with nothing in them.
TextTable EmptyTable(const SweepReport& sweep) {
  TextTable table;
  table.columns.push_back({absl::StrJoin(sweep.symbols, ", "), false,
                           TextTable::Column::Narrow::kName, /*foreign=*/true});
  for (const SweepPoint& point : sweep.points) {
    table.columns.push_back({PointTitle(sweep, point), true, TextTable::Column::Narrow::kKeep,
                             sweep.symbols.size() > 1});
  }
  return table;
}

void AddQuantities(const SweepReport& sweep, const CellStyle& style, TextTable* table) {
  for (const Quantity& q : kQuantities) {
    if (!IsShown(sweep, q)) continue;
    TextTable::Row row = {{std::string(q.title)}};
    for (const SweepPoint& point : sweep.points) {
      const Totals& totals = point.totals;
      row.cells.push_back(
          style.Text(q, totals.*q.value, KnownOf(q, totals.*q.value, totals.lower_bound)));
    }
    table->rows.push_back(std::move(row));
  }
  if (sweep.report.tool) return;
  TextTable::Row row = {{IntensityTitle(sweep.report)}};
  for (const SweepPoint& point : sweep.points) {
    row.cells.push_back(IntensityAt(sweep.report, point.totals));
  }
  table->rows.push_back(std::move(row));
}

// ShownQuantity of each row.
const std::vector<Expr>& ShownOf(const SweepReport& sweep, const SweepPoint& point) {
  if (sweep.sorted != nullptr) return point.sorted;
  return sweep.report.has_flops() ? point.flops : point.macs;
}

void AddRows(const SweepReport& sweep, const CellStyle& style, TextTable* table) {
  const Quantity& shown = ShownQuantity(sweep);
  for (size_t r = 0; r < sweep.rows.size(); ++r) {
    const SweepRow& from = sweep.rows[r];
    const std::string times = from.repeated > 1 ? absl::StrCat("  ", from.repeated, "x") : "";
    TextTable::Row row;
    row.cells = {absl::StrCat(from.label, times)};
    row.indent = from.indent;
    for (const SweepPoint& point : sweep.points) {
      const Expr& amount = ShownOf(sweep, point)[r];
      row.cells.push_back(style.Text(shown, amount, KnownOf(shown, amount, from.lower_bound)));
    }
    table->rows.push_back(std::move(row));
  }
}

// Explains "(long)": where to see the formula, and how to get a number.
void NoteLong(TextTable* table) {
  const auto is_long = [](const std::string& cell) { return absl::EndsWith(cell, kLongFormula); };
  const bool any = std::any_of(table->rows.begin(), table->rows.end(), [&](const auto& row) {
    return std::any_of(row.cells.begin(), row.cells.end(), is_long);
  });
  if (any) {
    table->notes.emplace_back(WithSettings(
        "long: a formula of sizes that are open; {format csv} has it, {dim} sets sizes"));
  }
}

TextTable MakeSweepTable(const SweepReport& sweep, const CellStyle& style) {
  TextTable table = EmptyTable(sweep);
  if (sweep.rows.empty()) {
    AddQuantities(sweep, style, &table);
  } else {
    AddRows(sweep, style, &table);
  }
  NoteLong(&table);
  return table;
}

// A row per point, for more points than columns fit.
TextTable PointTable(const SweepReport& sweep, const CellStyle& style) {
  TextTable table;
  for (const std::string& name : sweep.symbols) {
    table.columns.push_back({name, true, TextTable::Column::Narrow::kKeep, /*foreign=*/true});
  }
  for (const SweepPoint& point : sweep.points) {
    TextTable::Row row;
    for (const std::string& name : sweep.symbols)
      row.cells.push_back(absl::StrCat(point.at.at(name)));
    table.rows.push_back(std::move(row));
  }
  for (const Quantity& q : kQuantities) {
    if (!IsShown(sweep, q)) continue;
    const bool is_first = table.columns.size() == sweep.symbols.size();
    table.columns.push_back(
        {std::string(q.title), true,
         is_first ? TextTable::Column::Narrow::kKeep : TextTable::Column::Narrow::kSpare});
    for (size_t i = 0; i < sweep.points.size(); ++i) {
      const Totals& totals = sweep.points[i].totals;
      table.rows[i].cells.push_back(
          style.Text(q, totals.*q.value, KnownOf(q, totals.*q.value, totals.lower_bound)));
    }
  }
  NoteLong(&table);
  if (sweep.report.tool) return table;
  table.columns.push_back({IntensityTitle(sweep.report), true, TextTable::Column::Narrow::kSpare});
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    table.rows[i].cells.push_back(IntensityAt(sweep.report, sweep.points[i].totals));
  }
  return table;
}

// Sizes that are the same at all points.
Bindings FixedSizes(const SweepReport& sweep) {
  Bindings fixed = sweep.report.bindings;
  for (const std::string& name : sweep.symbols) fixed.erase(name);
  return fixed;
}

void AddSizeColumns(const SweepReport& sweep, TextTable* table) {
  for (const std::string& name : sweep.symbols) {
    table->columns.push_back({name, false, TextTable::Column::Narrow::kKeep, /*foreign=*/true});
  }
}

// The sizes of a point.
std::vector<std::string> PointFields(const SweepReport& sweep, const SweepPoint& point) {
  std::vector<std::string> fields;
  for (const std::string& name : sweep.symbols) fields.push_back(absl::StrCat(point.at.at(name)));
  return fields;
}

// What all lines have in common: the device of times, the model, the fixed sizes. The last columns,
// because earlier versions had none of them.
void AddCommonColumns(const SweepReport& sweep, bool has_times, TextTable* table) {
  if (has_times) report::AddDeviceColumns(table);
  table->columns.push_back({"model"});
  for (const auto& [name, size] : FixedSizes(sweep)) {
    table->columns.push_back({name, false, TextTable::Column::Narrow::kKeep, /*foreign=*/true});
  }
}

void AddCommonCells(const SweepReport& sweep, bool has_times, TextTable::Row* row) {
  if (has_times) {
    report::AddDeviceCells(report::DeviceName(sweep.report), report::DtypeName(sweep.report), row);
  }
  row->cells.push_back(sweep.report.model.path);
  for (const auto& [name, size] : FixedSizes(sweep)) row->cells.push_back(absl::StrCat(size));
}

// A line per point: its sizes, then every quantity.
void AddPointLines(const SweepReport& sweep, TextTable* table) {
  for (const Quantity* q : AllQuantities()) {
    if (sweep.report.Has(*q)) table->columns.push_back({std::string(q->key)});
  }
  table->columns.push_back({"lower_bound"});
  const bool has_times = sweep.report.roofline.has_value();
  AddCommonColumns(sweep, has_times, table);
  for (const SweepPoint& point : sweep.points) {
    std::vector<std::string> fields = PointFields(sweep, point);
    for (const Quantity* q : AllQuantities()) {
      if (!sweep.report.Has(*q)) continue;
      const Expr amount = sweep.report.In(*q, point.totals);
      fields.push_back(
          KnownField(KnownOf(*q, amount, point.totals.lower_bound), FieldText(*q, amount)));
    }
    fields.emplace_back(point.totals.lower_bound ? "true" : "false");
    table->rows.push_back({std::move(fields)});
    AddCommonCells(sweep, has_times, &table->rows.back());
  }
}

// A line per point and row.
void AddRowLines(const SweepReport& sweep, TextTable* table) {
  struct Amount {
    const Quantity& quantity;
    std::vector<Expr> SweepPoint::*of_rows;
  };
  std::vector<Amount> amounts;
  const Quantity &flops = QuantityOf(&Amounts::flops), &macs = QuantityOf(&Amounts::macs);
  if (sweep.report.has_flops()) amounts.push_back({flops, &SweepPoint::flops});
  if (sweep.report.has_macs()) amounts.push_back({macs, &SweepPoint::macs});
  const Quantity& shown = ShownQuantity(sweep);
  if (&shown != &flops && &shown != &macs) amounts.push_back({shown, &SweepPoint::sorted});
  const bool has_times = shown.needs == Quantity::Needs::kDevice;
  for (const char* title : {"row", "repeated"}) table->columns.push_back({title});
  for (const Amount& amount : amounts) {
    table->columns.push_back({std::string(amount.quantity.key)});
  }
  table->columns.push_back({"lower_bound"});
  AddCommonColumns(sweep, has_times, table);
  for (const SweepPoint& point : sweep.points) {
    for (size_t r = 0; r < sweep.rows.size(); ++r) {
      const bool lower_bound = sweep.rows[r].lower_bound;
      std::vector<std::string> fields = PointFields(sweep, point);
      fields.push_back(sweep.rows[r].path);
      fields.push_back(absl::StrCat(sweep.rows[r].repeated));
      for (const auto& [quantity, of_rows] : amounts) {
        const Expr& amount = (point.*of_rows)[r];
        fields.push_back(
            KnownField(KnownOf(quantity, amount, lower_bound), FieldText(quantity, amount)));
      }
      fields.emplace_back(lower_bound ? "true" : "false");
      table->rows.push_back({std::move(fields)});
      AddCommonCells(sweep, has_times, &table->rows.back());
    }
  }
}

// Above the table: the model, the fixed sizes, and the meaning of the figures.
std::vector<LabelledLine> HeadOf(const SweepReport& sweep) {
  std::vector<std::string> head = {sweep.report.model.path};
  for (const auto& [name, size] : FixedSizes(sweep)) {
    head.push_back(absl::StrCat(Escaped(name), " = ", size));
  }
  if (!sweep.report.raised.empty()) {
    head.emplace_back("sizes that depend on data at the upper bound");
  }
  if (sweep.report.tool) head.push_back(absl::StrCat("convention: ", sweep.report.convention));
  if (!sweep.rows.empty()) head.emplace_back(ShownQuantity(sweep).title);
  return {{"model", std::move(head)}};
}

}  // namespace

absl::StatusOr<SweepReport> MakeSweep(Report report, std::vector<std::string> symbols,
                                      absl::Span<const Bindings> points,
                                      const std::optional<ViewOptions>& rows) {
  SweepReport sweep;
  if (rows) {
    sweep.sorted = SortedQuantity(*rows);
    sweep.rows = RowsOf(report, *rows);
  }
  for (const Bindings& at : points) {
    SweepPoint point;
    point.at = at;
    ASSIGN_OR_RETURN(point.totals, report.At(at));
    ASSIGN_OR_RETURN(const Bindings sizes, ResolveSymbols(at, report.symbols));
    ASSIGN_OR_RETURN(point.flops, ValuesAt(sweep.rows, &SweepRow::flops, sizes));
    ASSIGN_OR_RETURN(point.macs, ValuesAt(sweep.rows, &SweepRow::macs, sizes));
    if (sweep.sorted != nullptr) {
      ASSIGN_OR_RETURN(point.sorted, ValuesAt(sweep.rows, &SweepRow::sorted, sizes));
    }
    sweep.points.push_back(std::move(point));
  }
  sweep.report = std::move(report);
  sweep.symbols = std::move(symbols);
  return sweep;
}

Document ToDocument(const SweepReport& sweep, const ViewOptions& options) {
  const CellStyle cells = {options.exact};
  Document document;
  document.Add(Document::Lines{HeadOf(sweep)});
  Document::Table part = {MakeSweepTable(sweep, cells)};
  part.divides = true;
  if (sweep.rows.empty()) part.if_wide = PointTable(sweep, cells);
  document.Add(std::move(part));
  return document;
}

std::string ToTable(const SweepReport& sweep, const ViewOptions& options, const TableStyle& style) {
  return DrawText(ToDocument(sweep, options), style);
}

std::string ToCsv(const SweepReport& sweep) {
  TextTable table;
  AddSizeColumns(sweep, &table);
  if (sweep.rows.empty()) {
    AddPointLines(sweep, &table);
  } else {
    AddRowLines(sweep, &table);
  }
  return DrawCsv(table);
}

namespace {

void WriteTotalsAt(const SweepReport& sweep, const SweepPoint& point, JsonWriter* json) {
  const Report& report = sweep.report;
  json->BeginObject();
  report::WriteSizes("sizes", point.at, json);
  json->Key("totals").BeginObject();
  for (const Quantity* q : AllQuantities()) {
    if (!report.Lists(*q)) continue;
    json->Key(q->key);
    if (!report.Has(*q)) {
      json->Null();
      continue;
    }
    const Expr amount = report.In(*q, point.totals);
    if (q->of == Quantity::Of::kWeights) {
      json->Int(amount.literal());
    } else {
      json->Figure(*q, amount, HasFigure(*q, amount, point.totals.lower_bound));
    }
  }
  json->EndObject();
  json->Key("lower_bound").Bool(point.totals.lower_bound);
  json->EndObject();
}

void WriteValues(absl::string_view key, const SweepReport& sweep, size_t row, bool has,
                 const std::vector<Expr> SweepPoint::*values, JsonWriter* json) {
  json->Key(key);
  if (!has) {
    json->Null();
    return;
  }
  json->BeginArray();
  for (const SweepPoint& point : sweep.points) json->Quantity((point.*values)[row]);
  json->EndArray();
}

}  // namespace

std::string ToJson(const SweepReport& sweep) {
  const Report& report = sweep.report;
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.sweep/1");
  report::WriteModel(report.model, &json);
  report::WriteSizes("bindings", report.bindings, &json);
  json.Key("convention").String(report.convention);
  json.Key("symbols").BeginArray(kOneLine);
  for (const std::string& name : sweep.symbols) json.String(name);
  json.EndArray();
  json.Key("points").BeginArray();
  for (const SweepPoint& point : sweep.points) WriteTotalsAt(sweep, point, &json);
  json.EndArray();
  json.Key("rows").BeginArray();
  for (size_t i = 0; i < sweep.rows.size(); ++i) {
    const SweepRow& row = sweep.rows[i];
    json.BeginObject();
    json.Key("label").String(row.label);
    json.Key("path").String(row.path);
    json.Key("type").String(row.type);
    json.Key("depth").Int(row.indent);
    json.Key("repeated").Int(row.repeated);
    WriteValues("flops", sweep, i, report.has_flops(), &SweepPoint::flops, &json);
    WriteValues("macs", sweep, i, report.has_macs(), &SweepPoint::macs, &json);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

absl::StatusOr<std::string> DrawPlot(const SweepReport& sweep, const TableStyle& style) {
  const Quantity& shown = ShownQuantity(sweep);
  std::vector<std::string> labels, figures;
  std::vector<absl::int128> values;
  int label_width = 0;
  int figure_width = 0;
  for (const SweepPoint& point : sweep.points) {
    const Expr amount = sweep.report.In(shown, point.totals);
    if (!amount.is_literal()) {
      return absl::FailedPreconditionError(
          absl::StrCat(Escaped(sweep.report.model.path),
                       WithSettings(": {plot on} needs numbers, and sizes are open in "),
                       Escaped(amount.ToString()), WithSettings("; give them with {dim NAME=N}")));
    }
    values.push_back(amount.literal());
    figures.push_back(KnownText(KnownOf(shown, amount, point.totals.lower_bound),
                                AmountText(shown, amount.literal(), false)));
    labels.push_back(WithoutEnd(PointTitle(sweep, point), kMaxPlotLabel));
    label_width = std::max(label_width, DisplayWidth(labels.back()));
    figure_width = std::max(figure_width, DisplayWidth(figures.back()));
  }
  const auto most = static_cast<double>(*std::max_element(values.begin(), values.end()));
  const int room =
      std::max(kMinBar, style.line_width() - 2 - label_width - figure_width - 2 * kColumnGap);
  std::string out = absl::StrCat("\n  ", shown.title, " at ",
                                 Printable(absl::StrJoin(sweep.symbols, ", ")), "\n");
  for (size_t i = 0; i < values.size(); ++i) {
    // A value above 0 gets at least one sign.
    const double share = most > 0 ? static_cast<double>(values[i]) / most : 0;
    const int bar = values[i] > 0 ? std::max(1, static_cast<int>(std::lround(share * room))) : 0;
    const auto pad = [](int columns) { return std::string(static_cast<size_t>(columns), ' '); };
    absl::StrAppend(&out, "  ", pad(label_width - DisplayWidth(labels[i])), labels[i],
                    pad(kColumnGap), pad(figure_width - DisplayWidth(figures[i])), figures[i],
                    pad(kColumnGap), std::string(static_cast<size_t>(bar), '#'), "\n");
  }
  return out;
}

std::string ToHtml(const SweepReport& sweep) {
  SweepReport points = sweep;
  points.rows.clear();  // the page is about the model
  return report::FoldedHtmlPage(report::FileNameOf(sweep.report.model.path), "sweep",
                                ToJson(points));
}

}  // namespace onnxflops
