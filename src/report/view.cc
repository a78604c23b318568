#include "src/report/view.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/report/format.h"

namespace onnxflops::report {
namespace {

constexpr auto kCut = TextTable::Column::Narrow::kCutBeginning;
constexpr auto kDrop = TextTable::Column::Narrow::kDrop;

constexpr size_t kMaxShownInputs = 8;     // of a graph; key-value caches have a hundred
constexpr size_t kMaxShownItems = 12;     // symbols, unknown nodes
constexpr size_t kMaxExprColumns = 26;    // of an expression in a cell
constexpr size_t kMaxFactorColumns = 16;  // of a factor in a title
constexpr size_t kMaxNotedSizes = 4;
constexpr size_t kMaxTotalColumns = 160;  // of an expression in the lines of totals
constexpr int kNamedOthers = 3;           // operators named as the rest of the FLOPs

// How costs are shown in the columns of one table: as numbers that times one factor (batch) make
// all of them; else as expressions, if all of them are short; else at the reference sizes.
class CostCells {
 public:
  CostCells(const Report& report, const ViewOptions& options)
      : exact_(options.exact),
        has_flops_(report.has_flops()),
        has_macs_(report.has_macs()),
        by_macs_(!has_flops_ || report.int_census[Kind::kMac] != Expr(0)),
        values_(report),
        total_(by_macs_ ? report.totals.macs : report.totals.flops),
        factor_(FactorOf(total_)) {}

  // REQUIRES: called for every cost before it is shown.
  void Consider(const Expr& expr) {
    if (expr == Expr(0)) return;
    if (factor_) {
      const std::optional<Expr> quotient = DivideExactly(expr, *factor_);
      if (!quotient || !quotient->is_literal()) factor_.reset();
    }
    at_sizes_ = at_sizes_ || IsLong(expr);
  }

  std::string Show(const Expr& expr) const {
    if (expr.is_literal()) return ShowExpr(expr, exact_);
    if (factor_) return ShowExpr(*DivideExactly(expr, *factor_), exact_);
    if (!at_sizes_) return ShowExpr(expr, exact_);
    const auto value = values_.Of(expr);
    // Below 0 the sizes do not fit the model.
    return value && *value >= 0 ? ShowExpr(*value, exact_) : "?";
  }
  // FLOPs, their share and MACs; of another tool's count, its unit and the share.
  void AddColumns(TextTable* table) const {
    if (has_flops_) table->columns.push_back({Title("FLOPs"), true});
    if (!has_flops_) table->columns.push_back({Title("MACs"), true});
    // Where integers are multiplied, most of the work is no FLOPs, but MACs all the same.
    table->columns.push_back({by_macs_ && has_flops_ ? "% of MACs" : "%", true});
    if (has_flops_ && has_macs_) table->columns.push_back({Title("MACs"), true});
  }
  // What stands in them; `show` makes a cell of an amount.
  void AddCells(const Expr& flops, const Expr& macs,
                absl::FunctionRef<std::string(const Expr&)> show,
                std::vector<std::string>* cells) const {
    cells->push_back(show(has_flops_ ? flops : macs));
    cells->push_back(Share(flops, macs));
    if (has_flops_ && has_macs_) cells->push_back(show(macs));
  }

  // What a reader must know of the columns; empty if nothing.
  std::string Note() const {
    const std::vector<std::string> open = total_.Symbols();
    if (open.empty() || factor_) return "";
    std::vector<std::string> at;
    for (const std::string& name : open) {
      const auto it = values_.sizes().find(name);
      if (it != values_.sizes().end()) at.push_back(absl::StrCat(name, " = ", it->second));
      if (at.size() == kMaxNotedSizes && open.size() > kMaxNotedSizes) {
        at.push_back("...");
        break;
      }
    }
    return absl::StrCat(at_sizes_ ? "the table is at " : "shares are at ", absl::StrJoin(at, ", "));
  }

 private:
  // Whether it takes more columns than a cell has. A term takes one at least.
  bool IsLong(const Expr& expr) const {
    if (expr.is_literal()) return false;
    return expr.NumTerms() > static_cast<int64_t>(kMaxExprColumns) ||
           ShowExpr(expr, exact_).size() > kMaxExprColumns;
  }

  // "FLOPs", "FLOPs x batch".
  std::string Title(const char* name) const {
    return factor_ ? absl::StrCat(name, " x ", factor_->ToString()) : name;
  }
  std::string Share(const Expr& flops, const Expr& macs) const {
    const auto p = values_.Of(by_macs_ ? macs : flops);
    const auto w = values_.Of(total_);
    return p && w ? Percent(*p, *w) : "-";
  }
  // batch of 3*batch; nullopt of a sum.
  static std::optional<Expr> FactorOf(const Expr& total) {
    if (total.is_literal() || total.error() != nullptr) return std::nullopt;
    if (total.NumTerms() > static_cast<int64_t>(kMaxFactorColumns)) return std::nullopt;
    const std::string text = total.ToString();
    absl::string_view digits(text);
    digits = digits.substr(0, digits.find_first_not_of("0123456789"));
    const absl::StatusOr<Expr> coefficient = ParseExpr(digits.empty() ? "1" : digits);
    if (!coefficient.ok()) return std::nullopt;
    std::optional<Expr> factor = DivideExactly(total, *coefficient);
    if (factor && (factor->ToString().size() > kMaxFactorColumns ||
                   factor->ToString().find(" + ") != std::string::npos)) {
      factor.reset();
    }
    return factor;
  }

  const bool exact_;
  const bool has_flops_, has_macs_;
  const bool by_macs_;
  ReferenceValues values_;
  const Expr& total_;
  std::optional<Expr> factor_;
  bool at_sizes_ = false;
};

std::string ShowCount(absl::int128 value, bool exact) {
  return exact ? GroupedDigits(value) : SiNumber(value);
}

std::string AtLeast(bool lower_bound, absl::string_view text) {
  return absl::StrCat(lower_bound ? ">= " : "", text);
}

TextTable ModuleTable(const Report& report, const ViewOptions& options) {
  const std::vector<ModuleRow> rows = ModuleRows(report, options);
  CostCells cells(report, options);
  bool types = false;
  for (const ModuleRow& row : rows) {
    cells.Consider(row.flops);
    cells.Consider(row.macs);
    types = types || (!row.type.empty() && !row.label.empty());
  }
  TextTable table;
  table.columns = {{"module", false, kCut}};
  if (types) table.columns.push_back({"type", false, kDrop});
  cells.AddColumns(&table);
  if (!report.tool) table.columns.push_back({"params", true});
  for (const ModuleRow& row : rows) {
    TextTable::Row out;
    out.indent = row.indent;
    out.strong = row.indent == 0;
    std::string label = row.label;
    const bool unnamed = label.empty();  // the model
    if (unnamed) label = row.type.empty() ? "(model)" : row.type;
    if (row.repeated > 1) absl::StrAppend(&label, "  ", row.repeated, "x");
    out.cells.push_back(std::move(label));
    if (types) out.cells.push_back(unnamed ? "" : row.type);
    const auto show = [&](const Expr& e) { return AtLeast(row.lower_bound, cells.Show(e)); };
    cells.AddCells(row.flops, row.macs, show, &out.cells);
    if (!report.tool) {
      out.cells.push_back(row.params == Expr(0) ? ""
                                                : ShowCount(row.params.literal(), options.exact));
    }
    table.rows.push_back(std::move(out));
  }
  if (std::string note = cells.Note(); !note.empty()) table.notes.push_back(std::move(note));
  return table;
}

// A note on what does no arithmetic.
void AddHidden(size_t count, const char* what, TextTable* table) {
  if (count == 0) return;
  table->notes.push_back(absl::StrCat(Plural(static_cast<int64_t>(count), what),
                                      " free of arithmetic not shown; --no-fold shows all"));
}

TextTable OpTable(const Report& report, const ViewOptions& options) {
  CostCells cells(report, options);
  // The most work first; operators that do none, and unknown ones, stand at the end.
  std::vector<std::pair<absl::int128, const OpRow*>> order;
  const Bindings sizes = ReferenceSizes(report);
  absl::flat_hash_set<std::pair<absl::string_view, absl::string_view>> unknown;
  for (const CoverageItem& item : report.coverage.items) unknown.emplace(item.domain, item.op);
  const auto is_unknown = [&](const OpRow& row) { return unknown.contains({row.domain, row.op}); };
  for (const OpRow& row : report.by_op) {
    const bool free = row.flops == Expr(0) && row.macs == Expr(0) && !is_unknown(row);
    if (options.fold && free) continue;
    const Expr& size = report.has_flops() ? row.flops : row.macs;
    order.emplace_back(size.Evaluate(sizes).value_or(0), &row);
    cells.Consider(row.flops);
    cells.Consider(row.macs);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  TextTable table;
  table.columns = {{"operator", false, kCut}, {"nodes", true}, {"runs", true}};
  cells.AddColumns(&table);
  for (const auto& [size, row] : order) {
    table.rows.push_back({{OpLabel(row->domain, row->op), GroupedDigits(row->nodes),
                           ShowExpr(row->runs, /*exact=*/true)}});
    const bool low = is_unknown(*row);
    const auto show = [&](const Expr& e) { return AtLeast(low, cells.Show(e)); };
    cells.AddCells(row->flops, row->macs, show, &table.rows.back().cells);
  }
  AddHidden(report.by_op.size() - order.size(), "operator", &table);
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
    cells.Consider(row.macs);
  }
  TextTable table;
  table.columns = {
      {"node", false, kCut}, {"operator", false, kCut}, {"output", false, kDrop}, {"runs", true}};
  cells.AddColumns(&table);
  bool once = true;
  for (const NodeRow* row : rows) {
    const bool unknown = row->status == Coverage::kUnknown;
    std::string output;
    if (!row->outputs.empty()) output = TensorText(row->outputs[0].type, row->outputs[0].shape);
    table.rows.push_back({{row->name, OpLabel(row->domain, row->op), std::move(output),
                           ShowExpr(row->multiplicity, /*exact=*/true)}});
    const auto show = [&](const Expr& e) { return unknown ? "unknown" : cells.Show(e); };
    cells.AddCells(row->flops, row->macs, show, &table.rows.back().cells);
    once = once && row->multiplicity == Expr(1);
  }
  if (once) {
    table.columns.erase(table.columns.begin() + 3);
    for (TextTable::Row& row : table.rows) row.cells.erase(row.cells.begin() + 3);
  }
  AddHidden(report.nodes.size() - rows.size(), "node", &table);
  if (std::string note = cells.Note(); !note.empty()) table.notes.push_back(std::move(note));
  return table;
}

// How totals are shown that may be expressions.
class TotalTexts {
 public:
  TotalTexts(const Report& report, const ViewOptions& options)
      : exact_(options.exact), low_(report.totals.lower_bound), sizes_(ReferenceSizes(report)) {}

  // "MACs 197.6 G".
  std::string Named(absl::string_view name, const Expr& value, bool digits = false) const {
    return absl::StrCat(name, " ", low_ ? ">= " : "", Text(value, digits));
  }
  // "bytes read 1.710 GB", "written 4*batch".
  std::string Bytes(absl::string_view name, const Expr& value) const {
    std::string text = Named(name, value);
    return value.is_literal() ? WithByteUnit(std::move(text)) : text;
  }
  // In lines of their own, expressions may be long, but a line for each term helps nobody.
  bool TooLong(const Expr& value) const {
    return !exact_ && !value.is_literal() && value.ToString().size() > kMaxTotalColumns;
  }

 private:
  std::string Text(const Expr& value, bool digits) const {
    if (!TooLong(value)) return ShowExpr(value, exact_ || digits);
    const auto at_sizes = value.Evaluate(sizes_);
    return at_sizes.ok() ? absl::StrCat(SiNumber(*at_sizes), " at the sizes of the table")
                         : "(--exact shows it)";
  }

  const bool exact_;
  const bool low_;
  const Bindings sizes_;
};

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

// MACs and FLOPs.
void AddArithmetic(const Report& report, const Totals& t, const TotalTexts& texts, bool exact,
                   std::vector<std::vector<std::string>>* lines) {
  if (!t.flops.is_literal()) {  // with all digits: they are what a dynamic model is asked for
    lines->push_back({texts.Named("MACs ", t.macs, /*digits=*/true)});
    lines->push_back({texts.Named("FLOPs", t.flops, /*digits=*/true)});
    if (report.int_census[Kind::kMac] == Expr(0)) {
      lines->push_back({"backward 2 x FLOPs", "training 3 x FLOPs"});
    }
    return;
  }
  std::string flops = texts.Named("FLOPs", t.flops);
  // Integer contractions are MACs, but not FLOPs; nobody trains what is left of the FLOPs.
  if (report.int_census[Kind::kMac] != Expr(0)) {
    lines->push_back({texts.Named("MACs", t.macs), std::move(flops)});
    return;
  }
  absl::StrAppend(&flops, " = 2 x MACs + ", ShowExpr(t.other_flops, exact), " other",
                  NameOthers(report));
  lines->push_back({texts.Named("MACs", t.macs), std::move(flops),
                    texts.Named("backward (2x)", t.backward_flops),
                    texts.Named("training (3x)", t.training_flops)});
}

// Parameters, bytes, and work beside the FLOPs.
void AddMemory(const Report& report, const Totals& t, const TotalTexts& texts, bool exact,
               std::vector<std::vector<std::string>>* lines) {
  std::vector<std::string> line = {
      absl::StrCat("parameters ", ShowCount(t.params.literal(), exact), ", ",
                   WithByteUnit(ShowCount(t.param_bytes.literal(), exact)))};
  const std::string read = texts.Bytes("bytes read", t.bytes_read);
  const std::string written = texts.Bytes("written", t.bytes_written);
  if (t.bytes_read.is_literal() && t.bytes_written.is_literal()) {
    line.push_back(absl::StrCat(read, ", ", written));
  } else {
    line.insert(line.end(), {read, written});
  }
  if (t.int_ops != Expr(0)) line.push_back(texts.Named("integer operations", t.int_ops));
  if (t.foldable_flops != Expr(0))
    line.push_back(texts.Named("FLOPs on constants", t.foldable_flops));
  lines->push_back(std::move(line));
  const auto& by_type = report.macs_by_dtype;
  if (by_type.size() < 2 && report.int_census[Kind::kMac] == Expr(0)) return;
  std::vector<std::string> types;
  for (const auto& [operands, macs] : by_type) {
    types.push_back(texts.Named(operands.ToString(), macs));
  }
  lines->push_back({absl::StrCat("MACs by type: ", absl::StrJoin(types, ", "))});
}

// What another tool reports, in its unit and words.
std::vector<std::vector<std::string>> ToolLines(const Report& report, const ViewOptions& options) {
  const TotalTexts texts(report, options);
  const ToolFigure& tool = *report.tool;
  const char* unit = tool.counts_macs ? " MACs" : " FLOPs";
  std::vector<std::vector<std::string>> lines;
  lines.push_back({absl::StrCat(texts.Named(absl::StrCat(report.convention, " reports"),
                                            tool.headline, /*digits=*/!tool.headline.is_literal()),
                                unit, ": ", tool.headline_name)});
  if (tool.has_rows && tool.of_model != Expr(0)) {
    lines.push_back({absl::StrCat(texts.Named("of these,", tool.of_model), unit,
                                  " for the model as a whole, beside its nodes")});
  }
  if (tool.params) {
    lines.push_back({absl::StrCat("its parameters ", ShowCount(*tool.params, options.exact))});
  }
  for (const std::string& text : tool.assumptions)
    lines.push_back({absl::StrCat("assumed: ", text)});
  return lines;
}

std::vector<std::vector<std::string>> TotalLines(const Report& report, const ViewOptions& options) {
  if (report.tool) return ToolLines(report, options);
  const TotalTexts texts(report, options);
  std::vector<std::vector<std::string>> lines;
  Totals totals = report.totals;
  if (texts.TooLong(totals.flops) || texts.TooLong(totals.macs)) {
    absl::StatusOr<Totals> at_sizes = report.At(ReferenceSizes(report));
    if (at_sizes.ok() && at_sizes->flops.is_literal()) {
      totals = *std::move(at_sizes);
      lines.push_back({"at the sizes of the table (--exact shows the expressions):"});
    }
  }
  AddArithmetic(report, totals, texts, options.exact, &lines);
  AddMemory(report, totals, texts, options.exact, &lines);
  if (report.causal_nodes > 0) {
    const bool half = report.causal == CausalCounting::kHalf;
    lines.push_back({absl::StrCat("causal attention in ", Plural(report.causal_nodes, "node"),
                                  half ? ": masked pairs are not counted (--causal half)"
                                       : ": counted in full (--causal half counts the triangle)")});
  }
  return lines;
}

// "opset 17", then other domains whose operators are used: exporters import many more.
std::vector<std::string> OpsetTexts(const Report& report) {
  std::vector<std::string> texts;
  const auto& opsets = report.model.opsets;
  absl::flat_hash_set<absl::string_view> domains;
  for (const OpRow& row : report.by_op) domains.insert(row.domain);
  if (const auto main = opsets.find("ai.onnx"); main != opsets.end()) {
    texts.push_back(absl::StrCat("opset ", main->second));
  }
  for (const auto& [domain, version] : opsets) {
    if (domains.contains(domain)) texts.push_back(absl::StrCat(domain, " ", version));
  }
  return texts;
}

std::vector<std::string> InputTexts(const Report& report) {
  std::vector<std::string> texts;
  for (const InputInfo& input : report.inputs) {
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
    case SymbolOrigin::Kind::kSizes:
      return absl::StrCat(s.name, "  axis ", s.axis, " of ", s.value,
                          ", follows from sizes, but not by a formula");
    case SymbolOrigin::Kind::kRepeats:
      return absl::StrCat(s.name, "  how often axis ", s.axis, " of ", s.value,
                          " repeats that of the input");
    case SymbolOrigin::Kind::kMachine:
      return absl::StrCat(s.name, "  axis ", s.axis, " of ", s.value, ", depends on the processor");
    case SymbolOrigin::Kind::kTrips:
      return absl::StrCat(s.name, "  axis ", s.axis, " of ", s.value,
                          ", changes from trip to trip");
    case SymbolOrigin::Kind::kTripCount:
      return absl::StrCat(s.name, "  trips of the loop that makes ", s.value);
  }
  return s.name;
}

// `omitted`: how many even JSON does not have.
void AddRest(size_t total, int64_t omitted, std::vector<std::string>* lines) {
  if (total <= kMaxShownItems) return;
  const size_t more = total - kMaxShownItems + static_cast<size_t>(omitted);
  lines->push_back(absl::StrCat("and ", more, " more (--format json has ",
                                omitted > 0 ? "some of them)" : "all)"));
}

}  // namespace

TextTable MakeTable(const Report& report, const ViewOptions& options) {
  TextTable table;
  switch (options.by) {
    case GroupBy::kModule:
      table = ModuleTable(report, options);
      break;
    case GroupBy::kOp:
      table = OpTable(report, options);
      break;
    case GroupBy::kNode:
      table = NodeTable(report, options);
      break;
  }
  if (report.tool && !report.tool->has_rows) {
    table.notes.push_back(absl::StrCat(report.convention, " counts the model as a whole only"));
  }
  return table;
}

Summary Summarize(const Report& report, const ViewOptions& options) {
  Summary s;
  s.title = report.model.path;
  s.model = OpsetTexts(report);
  if (!report.model.producer.empty()) s.model.push_back(report.model.producer);
  s.model.push_back(Plural(report.model.nodes, "node"));
  s.model.push_back(
      absl::StrCat(ShowCount(report.totals.params.literal(), options.exact), " parameters"));
  s.inputs = InputTexts(report);
  s.totals = TotalLines(report, options);
  if (report.tool) s.model.push_back(absl::StrCat("convention: ", report.convention));
  for (size_t i = 0; i < report.symbols.size() && i < kMaxShownItems; ++i) {
    s.symbols.push_back(OriginText(report.symbols[i]));
  }
  AddRest(report.symbols.size(), 0, &s.symbols);
  for (size_t i = 0; i < report.coverage.items.size() && i < kMaxShownItems; ++i) {
    const CoverageItem& item = report.coverage.items[i];
    s.unknown.push_back(
        absl::StrCat(item.node, " (", OpLabel(item.domain, item.op), "): ", item.reason));
  }
  AddRest(report.coverage.items.size(), report.coverage.items_omitted, &s.unknown);
  s.warnings = report.warnings;
  return s;
}

}  // namespace onnxflops::report
