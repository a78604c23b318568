#include "src/report/view.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/report/format.h"

namespace onnxflops {
namespace {

constexpr size_t kMaxShownInputs = 8;   // of a graph; key-value caches have a hundred
constexpr size_t kMaxShownItems = 20;   // symbols, unknown nodes
constexpr size_t kMaxExprColumns = 26;  // of an expression in a cell
constexpr int kNamedOthers = 3;         // operators named as the rest of the FLOPs

// How costs are shown in the columns of one table: as expressions if all of them are short, else at
// the reference sizes.
class CostCells {
 public:
  CostCells(const Report& report, const ViewOptions& options)
      : exact_(options.exact), sizes_(ReferenceSizes(report)), total_(report.totals.flops) {}

  void Consider(const Expr& expr) {
    const std::string text = ShowExpr(expr, exact_);
    if (!expr.is_literal() && text.size() > kMaxExprColumns) at_sizes_ = true;
  }

  std::string Show(const Expr& expr) const {
    if (!at_sizes_ || expr.is_literal()) return ShowExpr(expr, exact_);
    const auto value = expr.Evaluate(sizes_);
    return value.ok() ? ShowExpr(*value, exact_) : "?";
  }

  std::string Share(const Expr& part) const {
    const auto p = part.Evaluate(sizes_);
    const auto w = total_.Evaluate(sizes_);
    return p.ok() && w.ok() ? Percent(*p, *w) : "-";
  }

  // What a reader must know of the columns; empty if nothing is open.
  std::string Note() const {
    const std::vector<std::string> open = total_.Symbols();
    if (open.empty()) return "";
    std::vector<std::string> at;
    for (const std::string& name : open) {
      const auto it = sizes_.find(name);
      if (it != sizes_.end()) at.push_back(absl::StrCat(name, " = ", it->second));
      if (at.size() == 4 && open.size() > 4) {
        at.push_back("...");
        break;
      }
    }
    return absl::StrCat(at_sizes_ ? "the table is at " : "shares are at ", absl::StrJoin(at, ", "));
  }

 private:
  const bool exact_;
  const Bindings sizes_;
  const Expr& total_;
  bool at_sizes_ = false;
};

std::string ShowCount(absl::int128 value, bool exact) {
  return exact ? GroupedDigits(value) : SiNumber(value);
}

std::string AtLeast(bool lower_bound, std::string text) {
  return lower_bound ? absl::StrCat(">= ", text) : text;
}

TextTable ModuleTable(const Report& report, const ViewOptions& options) {
  const std::vector<ModuleRow> rows = ModuleRows(report, options);
  CostCells cells(report, options);
  bool types = false;
  for (const ModuleRow& row : rows) {
    cells.Consider(row.flops);
    types = types || (!row.type.empty() && row.indent > 0);
  }
  TextTable table;
  table.columns = {{"module", false, true}};
  if (types) table.columns.push_back({"type", false, true});
  for (const char* title : {"FLOPs", "%", "MACs", "params"}) table.columns.push_back({title, true});
  for (const ModuleRow& row : rows) {
    TextTable::Row out;
    out.indent = row.indent;
    out.strong = row.indent == 0;
    std::string label = row.label;
    if (row.indent == 0) label = row.type.empty() ? "(model)" : row.type;
    if (row.repeated > 1) absl::StrAppend(&label, "  ", row.repeated, "x");
    out.cells.push_back(std::move(label));
    if (types) out.cells.push_back(row.indent == 0 ? "" : row.type);
    out.cells.push_back(AtLeast(row.lower_bound, cells.Show(row.flops)));
    out.cells.push_back(cells.Share(row.flops));
    out.cells.push_back(AtLeast(row.lower_bound, cells.Show(row.macs)));
    out.cells.push_back(row.params == 0 ? "" : ShowCount(row.params, options.exact));
    table.rows.push_back(std::move(out));
  }
  if (std::string note = cells.Note(); !note.empty()) table.notes.push_back(std::move(note));
  return table;
}

TextTable OpTable(const Report& report, const ViewOptions& options) {
  CostCells cells(report, options);
  // The most work first; operators that do none stand at the end.
  std::vector<std::pair<absl::int128, const OpRow*>> order;
  const Bindings sizes = ReferenceSizes(report);
  for (const OpRow& row : report.by_op) {
    order.emplace_back(row.flops.Evaluate(sizes).value_or(0), &row);
    cells.Consider(row.flops);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  TextTable table;
  table.columns = {{"operator", false, true}, {"nodes", true}, {"runs", true},
                   {"FLOPs", true},           {"%", true},     {"MACs", true}};
  for (const auto& [size, row] : order) {
    table.rows.push_back({{OpLabel(row->domain, row->op), GroupedDigits(row->nodes),
                           ShowExpr(row->runs, /*exact=*/true), cells.Show(row->flops),
                           cells.Share(row->flops), cells.Show(row->macs)}});
  }
  // A column that only repeats another says nothing.
  const bool same = std::all_of(report.by_op.begin(), report.by_op.end(),
                                [](const OpRow& row) { return row.runs == Expr(row.nodes); });
  if (same) {
    table.columns.erase(table.columns.begin() + 2);
    for (TextTable::Row& row : table.rows) row.cells.erase(row.cells.begin() + 2);
  }
  if (std::string note = cells.Note(); !note.empty()) table.notes.push_back(std::move(note));
  return table;
}

TextTable NodeTable(const Report& report, const ViewOptions& options) {
  CostCells cells(report, options);
  std::vector<const NodeRow*> rows;
  for (const NodeRow& row : report.nodes) {
    if (options.fold && row.status == Coverage::kFree) continue;
    rows.push_back(&row);
    cells.Consider(row.flops);
  }
  TextTable table;
  table.columns = {{"node", false, true}, {"operator", false, true}, {"output", false, true},
                   {"runs", true},        {"FLOPs", true},           {"%", true},
                   {"MACs", true}};
  bool once = true;
  for (const NodeRow* row : rows) {
    const bool unknown = row->status == Coverage::kUnknown;
    std::string output;
    if (!row->outputs.empty()) output = TensorText(row->outputs[0].type, row->outputs[0].shape);
    table.rows.push_back(
        {{row->name, OpLabel(row->domain, row->op), std::move(output),
          ShowExpr(row->multiplicity, /*exact=*/true), unknown ? "unknown" : cells.Show(row->flops),
          cells.Share(row->flops), unknown ? "unknown" : cells.Show(row->macs)}});
    once = once && row->multiplicity == Expr(1);
  }
  if (once) {
    table.columns.erase(table.columns.begin() + 3);
    for (TextTable::Row& row : table.rows) row.cells.erase(row.cells.begin() + 3);
  }
  if (const size_t free = report.nodes.size() - rows.size(); free > 0) {
    table.notes.push_back(absl::StrCat(GroupedDigits(static_cast<int64_t>(free)),
                                       " free nodes are not shown (--no-fold shows them)"));
  }
  if (std::string note = cells.Note(); !note.empty()) table.notes.push_back(std::move(note));
  return table;
}

std::string Quantity(const char* name, const Expr& value, bool lower_bound, bool exact,
                     const char* unit = "") {
  // A prefix joins its unit: "1.710 GB"; digits do not: "12 B".
  const std::string text = AtLeast(lower_bound, ShowExpr(value, exact));
  const bool join = !exact && value.is_literal() && text.find(' ') != std::string::npos;
  const char* space = *unit == '\0' || join ? "" : " ";
  return absl::StrCat(name, " ", text, space, unit);
}

// "(Softmax, Add, Gelu, ...)": the operators that do most of what is no contraction.
std::string NameOthers(const Report& report) {
  const Bindings sizes = ReferenceSizes(report);
  std::vector<std::pair<absl::int128, absl::string_view>> others;
  for (const OpRow& row : report.by_op) {
    const Expr two_macs = row.macs * 2;
    // Where integers are multiplied, macs are no part of the FLOPs.
    const auto contraction = two_macs.Evaluate(sizes).value_or(0);
    absl::int128 flops = row.flops.Evaluate(sizes).value_or(0);
    if (flops >= contraction) flops -= contraction;
    if (flops > 0) others.emplace_back(flops, row.op);
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (others.empty()) return "";
  std::vector<absl::string_view> names;
  for (size_t i = 0; i < others.size() && i < kNamedOthers; ++i) names.push_back(others[i].second);
  if (others.size() > kNamedOthers) names.push_back("...");
  return absl::StrCat(" (", absl::StrJoin(names, ", "), ")");
}

std::vector<std::vector<std::string>> TotalLines(const Report& report, bool exact) {
  const Totals& t = report.totals;
  const bool low = t.lower_bound;
  // Expressions are shown in full: they are what a dynamic model is asked for.
  const bool open = !t.flops.is_literal();
  const bool all = exact || open;
  std::vector<std::vector<std::string>> lines;
  const std::string other =
      absl::StrCat(" = 2 x MACs + ", ShowExpr(t.other_flops, exact), " other", NameOthers(report));
  // Integer contractions are MACs, but not FLOPs.
  const bool float_only = report.int_census[Kind::kMac] == Expr(0);
  if (open) {
    lines.push_back({Quantity("MACs ", t.macs, low, all)});
    lines.push_back({Quantity("FLOPs", t.flops, low, all)});
    lines.push_back({"backward by the 2x rule: 2 x FLOPs; training 3 x FLOPs"});
  } else {
    lines.push_back({Quantity("MACs", t.macs, low, all),
                     absl::StrCat(Quantity("FLOPs", t.flops, low, all), float_only ? other : ""),
                     Quantity("backward (2x)", t.backward_flops, low, all),
                     Quantity("training (3x)", t.training_flops, low, all)});
  }
  std::vector<std::string> memory = {
      absl::StrCat("parameters ", ShowCount(t.params, exact), ", ",
                   Quantity("", t.param_bytes, false, exact, "B").substr(1)),
      absl::StrCat(Quantity("bytes read", t.bytes_read, low, exact, "B"), ", ",
                   Quantity("written", t.bytes_written, low, exact, "B"))};
  if (t.int_ops != Expr(0)) {
    memory.push_back(Quantity("integer operations", t.int_ops, low, exact));
  }
  if (t.foldable_flops != Expr(0)) {
    memory.push_back(Quantity("foldable FLOPs", t.foldable_flops, low, exact));
  }
  lines.push_back(std::move(memory));
  if (report.macs_by_dtype.size() > 1 || !float_only) {
    std::vector<std::string> types;
    for (const auto& [type, macs] : report.macs_by_dtype) {
      types.push_back(absl::StrCat(type, " ", ShowExpr(macs, exact)));
    }
    lines.push_back({absl::StrCat("MACs by type: ", absl::StrJoin(types, ", "))});
  }
  return lines;
}

std::vector<std::string> InputTexts(const Report& report) {
  std::vector<std::string> texts;
  for (const TensorInfo& input : report.inputs) {
    if (texts.size() == kMaxShownInputs && report.inputs.size() > kMaxShownInputs + 1) {
      texts.push_back(absl::StrCat("and ", report.inputs.size() - kMaxShownInputs, " more"));
      break;
    }
    // As declared, with what is bound beside it; as given where the file does not say.
    const Shape& shape = input.declared.ranked() ? input.declared : input.shape;
    texts.push_back(absl::StrCat(input.name, " ", TensorText(input.type, shape)));
  }
  size_t shown = 0;
  for (const auto& [name, size] : report.bindings) {
    texts.push_back(absl::StrCat(name, " = ", size));
  }
  for (const SymbolOrigin& s : report.symbols) {
    if (s.kind != SymbolOrigin::Kind::kInput) continue;
    if (++shown > kMaxShownInputs) break;
    texts.push_back(absl::StrCat(s.name, " = symbolic"));
  }
  return texts;
}

std::string OriginText(const SymbolOrigin& s) {
  switch (s.kind) {
    case SymbolOrigin::Kind::kInput:
      return absl::StrCat(s.name, "  axis ", s.axis, " of input ", s.value);
    case SymbolOrigin::Kind::kData:
      return absl::StrCat(s.name, "  axis ", s.axis, " of ", s.value, ", depends on data");
    case SymbolOrigin::Kind::kTripCount:
      return absl::StrCat(s.name, "  trips of the loop that makes ", s.value);
  }
  return s.name;
}

void AddRest(size_t total, std::vector<std::string>* lines) {
  if (total > kMaxShownItems) {
    lines->push_back(absl::StrCat("and ", total - kMaxShownItems, " more (--format json has all)"));
  }
}

}  // namespace

TextTable MakeTable(const Report& report, const ViewOptions& options) {
  switch (options.by) {
    case GroupBy::kModule:
      return ModuleTable(report, options);
    case GroupBy::kOp:
      return OpTable(report, options);
    case GroupBy::kNode:
      return NodeTable(report, options);
  }
  return {};
}

Summary Summarize(const Report& report, const ViewOptions& options) {
  Summary s;
  s.title = report.model.path;
  std::vector<std::string> opsets;
  for (const auto& [domain, version] : report.model.opsets) {
    const std::string text = absl::StrCat(domain == "ai.onnx" ? "opset" : domain, " ", version);
    opsets.insert(domain == "ai.onnx" ? opsets.begin() : opsets.end(), text);
  }
  s.model = std::move(opsets);
  if (!report.model.producer.empty()) s.model.push_back(report.model.producer);
  s.model.push_back(absl::StrCat(GroupedDigits(report.model.nodes), " nodes"));
  s.model.push_back(absl::StrCat(ShowCount(report.totals.params, options.exact), " parameters"));
  s.inputs = InputTexts(report);
  s.totals = TotalLines(report, options.exact);
  for (size_t i = 0; i < report.symbols.size() && i < kMaxShownItems; ++i) {
    s.symbols.push_back(OriginText(report.symbols[i]));
  }
  AddRest(report.symbols.size(), &s.symbols);
  for (size_t i = 0; i < report.coverage.items.size() && i < kMaxShownItems; ++i) {
    const CoverageItem& item = report.coverage.items[i];
    s.unknown.push_back(
        absl::StrCat(item.node, " (", OpLabel(item.domain, item.op), "): ", item.reason));
  }
  AddRest(report.coverage.items.size(), &s.unknown);
  s.warnings = report.warnings;
  return s;
}

}  // namespace onnxflops
