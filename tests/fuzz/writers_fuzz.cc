// Fuzz target: whatever a report holds, every writer prints it as text that can hurt nobody, and
// JSON gives it back.
//
// Each byte chooses what comes next of the report: names are bytes of the input as they are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/quote.h"
#include "src/base/utf8.h"
#include "src/convention/conventions.h"
#include "src/explain/explain.h"
#include "src/onnxflops.h"
#include "src/operators/operator_list.h"
#include "src/render/text_table.h"
#include "src/report/memory_rows.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/require_text.h"

namespace onnxflops {
namespace {

class Choices {
 public:
  explicit Choices(absl::string_view bytes) : bytes_(bytes) {}

  // Below `n`; 0 when the bytes have run out.
  size_t Below(size_t n) {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(bytes_[0]);
    bytes_.remove_prefix(1);
    return byte % n;
  }
  bool Coin() { return Below(2) == 1; }
  std::string Name() {
    const std::string name(bytes_.substr(0, Below(40)));
    bytes_.remove_prefix(std::min(bytes_.size(), name.size()));
    return name;
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names(Below(4));
    for (std::string& name : names) name = Name();
    return names;
  }
  Expr Amount() {
    switch (Below(6)) {
      case 0:
        return 0;
      case 1:
        return Expr::Symbol(Name(), 1) * static_cast<int64_t>(Below(7)) + 1;
      case 2:
        return FloorDiv(Expr::Symbol(Name()), 2) - 3;
      case 3:
        return Min(Expr::Symbol(Name()), 1 << 20);
      case 4:
        return Power(10, static_cast<int>(Below(60)));  // 10^39 and more are errors
      default:
        return static_cast<int64_t>(Below(256)) * 1'000'003;
    }
  }
  TensorInfo Tensor() {
    TensorInfo tensor;
    tensor.name = Name();
    if (Coin()) tensor.type = Name();
    if (Coin()) return tensor;
    tensor.shape = Shape();
    for (size_t rank = Below(5); rank > 0; --rank) tensor.shape.push_back(Amount());
    return tensor;
  }

 private:
  absl::string_view bytes_;
};

// A tree of up to 16 modules whose parts sum to the whole.
std::vector<Module> MakeModules(Choices* choose) {
  std::vector<Module> modules(1 + choose->Below(16));
  for (size_t i = 1; i < modules.size(); ++i) {
    Module& m = modules[i];
    auto parent = static_cast<int32_t>(i) - 1;
    for (size_t up = choose->Below(4); up > 0 && parent > 0; --up) {
      parent = modules[static_cast<size_t>(parent)].parent;
    }
    const Module& above = modules[static_cast<size_t>(parent)];
    m.parent = parent;
    m.depth = above.depth + 1;
    m.own = choose->Below(8) == 0;
    m.path = above.path.empty() ? choose->Name() : absl::StrCat(above.path, ".", choose->Name());
    m.name_begin = above.path.empty() ? 0 : above.path.size() + 1;
    m.type = choose->Name();
    m.kind = static_cast<int32_t>(choose->Below(3));
    m.lower_bound = choose->Coin();
    m.nodes = 1;
  }
  for (size_t i = modules.size(); i-- > 0;) {
    Module& m = modules[i];
    m.end = std::max(m.end, static_cast<int32_t>(i) + 1);
    Amounts amounts;
    amounts.params = 3;
    if (m.end == static_cast<int32_t>(i) + 1) amounts.flops = amounts.macs = choose->Amount();
    for (size_t c = i + 1; c < modules.size(); ++c) {
      if (modules[c].parent == static_cast<int32_t>(i)) amounts.Add(*modules[c].amounts);
    }
    m.amounts = std::make_shared<const Amounts>(std::move(amounts));
    if (m.parent < 0) continue;
    Module& above = modules[static_cast<size_t>(m.parent)];
    above.end = std::max(above.end, m.end);
  }
  return modules;
}

NodeRow MakeNode(Choices* choose, size_t modules) {
  NodeRow row;
  row.name = choose->Name();
  row.op = choose->Name();
  row.domain = choose->Name();
  row.module = static_cast<int32_t>(choose->Below(modules));
  row.inputs = {choose->Tensor()};
  row.inputs_omitted = static_cast<int64_t>(choose->Below(3));
  row.outputs = {choose->Tensor()};
  row.multiplicity = choose->Amount();
  row.flops = choose->Amount();
  row.macs = choose->Amount();
  row.status = static_cast<Coverage>(choose->Below(3));
  return row;
}

Report MakeReport(Choices* choose) {
  Report report;
  report.model.path = choose->Name();
  report.model.producer = choose->Name();
  for (const std::string& domain : choose->Names()) report.model.opsets[domain] = 17;
  report.inputs.emplace_back();
  static_cast<TensorInfo&>(report.inputs[0]) = choose->Tensor();
  report.outputs = {choose->Tensor()};
  report.bindings[choose->Name()] = 8;
  if (choose->Coin()) {
    report.convention = "thop";
    report.tool = ToolFigure{choose->Coin(),   "MACs of it",   choose->Amount(),
                             choose->Amount(), choose->Coin(), 7,
                             choose->Names(),  choose->Name()};
  }
  report.modules = MakeModules(choose);
  static_cast<Amounts&>(report.totals) = *report.modules[0].amounts;
  report.totals.bytes_read = choose->Amount();
  report.totals.lower_bound = choose->Coin();
  for (size_t i = choose->Below(4); i > 0; --i) {
    const auto type = [&] { return static_cast<DType>(choose->Below(17)); };
    report.macs_by_dtype[{type(), type(), choose->Coin()}] = choose->Amount();
  }
  report.coverage.unknown = 1;
  report.coverage.items = {{choose->Name(), choose->Name(), choose->Name(), choose->Name()}};
  report.symbols = {{choose->Name(), static_cast<SymbolOrigin::Kind>(choose->Below(3)),
                     choose->Name(), static_cast<int>(choose->Below(5))}};
  report.by_op = {{{choose->Amount(), choose->Amount()}, choose->Name(), choose->Name(), 1, 3}};
  report.has_nodes = true;
  for (size_t i = choose->Below(5); i > 0; --i) {
    report.nodes.push_back(MakeNode(choose, report.modules.size()));
  }
  report.tied = {{choose->Name(), choose->Name(), 3}};
  report.likely_copies = {{choose->Name(), choose->Name(), 7}};
  report.warnings = choose->Names();
  return report;
}

TableStyle MakeStyle(Choices* choose) {
  return {.width = static_cast<int>(choose->Below(201)), .color = choose->Coin()};
}
// `name` is what JSON says of `original`: the same, but for bytes that are no UTF-8.
void RequireSame(const nlohmann::json& name, absl::string_view original) {
  std::string expected;
  while (!original.empty()) {
    uint32_t code = 0;
    const size_t length = DecodeUtf8(original, &code);
    absl::StrAppend(&expected, length == 0 ? "\xef\xbf\xbd" : original.substr(0, length));
    original.remove_prefix(std::max<size_t>(length, 1));
  }
  Require(name.get<std::string>() == expected, "JSON says another name");
}

// An expression is what it prints, whatever its symbols are called.
void RequireExpression(const nlohmann::json& text, const Expr& original) {
  if (original.error() != nullptr) return;
  const absl::StatusOr<Expr> parsed = ParseExpr(text.get<std::string>());
  Require(parsed.ok(), "an expression of JSON does not parse");
  Require(parsed->ToString() == original.ToString(), "an expression is not what JSON prints");
}

// A quantity that a report has is what JSON says; another is null.
void RequireAmount(const Report& report, const nlohmann::json& json, const Quantity& q,
                   const Amounts& amounts) {
  if (q.of == Quantity::Of::kWeights) return;
  if (!q.is_derived() && !report.Lists(q)) {
    Require(!json.contains(std::string(q.key)), "a quantity that nobody asked for");
    return;
  }
  const nlohmann::json& value = json[std::string(q.key)];
  Require(value.is_null() == !report.Has(q), "a quantity that is not there, or is");
  if (!report.Has(q)) return;
  const std::string text = value["expr"];
  const std::optional<absl::string_view> formula = FormulaIn(q, text);
  Require(formula.has_value(), "a formula in another unit");
  RequireExpression(std::string(*formula), report.In(q, amounts));
}

void RequireNode(const Report& report, const nlohmann::json& json, const NodeRow& row) {
  RequireSame(json["name"], row.name);
  RequireSame(json["inputs"][0]["name"], row.inputs[0].name);
  Require(json.contains("inputs_omitted") == (row.inputs_omitted > 0), "inputs_omitted");
  for (const Quantity& q : kQuantities) RequireAmount(report, json, q, row);
  const Shape& shape = row.outputs[0].shape;
  for (int i = 0; i < (shape.ranked() ? shape.rank() : 0); ++i) {
    RequireExpression(json["outputs"][0]["shape"][static_cast<size_t>(i)], shape[i]);
  }
}

void RequireReport(const Report& report, Choices* choose) {
  ViewOptions view;
  view.fold = choose->Coin();
  view.exact = choose->Coin();
  view.depth = static_cast<int>(choose->Below(5)) - 1;
  view.top = static_cast<int>(choose->Below(3));
  view.stable = choose->Coin();
  for (const char* key : {"bytes_read", "share", "intensity", "macs"}) {
    if (choose->Below(4) == 0) view.sort = FindFigure(key).value();
    if (choose->Below(4) == 0) view.columns.push_back(FindFigure(key).value());
  }
  const TableStyle style = MakeStyle(choose);
  for (GroupBy by : {GroupBy::kModule, GroupBy::kOp, GroupBy::kNode}) {
    view.by = by;
    RequireDocument(ToDocument(report, view), style);
    RequireCsv(ToCsv(absl::MakeConstSpan(&report, 1), view));
  }
  const std::string text = ToJson(report);
  RequireJson(text);
  const nlohmann::json json = nlohmann::json::parse(text);
  RequireSame(json["model"]["path"], report.model.path);
  RequireSame(json["coverage"]["items"][0]["reason"], report.coverage.items[0].reason);
  Require(json["model"]["opsets"].size() == report.model.opsets.size(), "domains became one key");
  Require(report.tool || json["macs_by_dtype"].size() == report.macs_by_dtype.size(),
          "types became one key");
  for (const Quantity* q : AllQuantities()) {
    RequireAmount(report, json["totals"], *q, report.totals);
  }
  Require(json["nodes"].is_null() == !report.has_rows(), "rows that are not there, or are");
  for (size_t i = 0; report.has_rows() && i < report.nodes.size(); ++i) {
    RequireNode(report, json["nodes"][i], report.nodes[i]);
  }
}

void RequireComparison(const Report& ours, Choices* choose) {
  CompareReport report;
  report.ours = ours;
  report.request.by_module = choose->Coin();
  report.request.node_names = choose->Coin();
  for (size_t i = choose->Below(4); i > 0; --i) {
    ToolRow tool;
    tool.convention = convention::Conventions()[choose->Below(convention::Conventions().size())];
    tool.version = choose->Name();
    tool.standing = static_cast<Standing>(choose->Below(3));
    tool.assumptions = {choose->Name()};
    tool.start = choose->Amount();
    tool.terms = {{choose->Name(),
                   choose->Name(),
                   choose->Name(),
                   choose->Coin(),
                   choose->Amount(),
                   2,
                   {choose->Name(), choose->Name()}}};
    tool.headline = tool.start + tool.terms[0].amount;
    report.tools.push_back(std::move(tool));
  }
  const TableStyle style = MakeStyle(choose);
  for (bool waterfalls : {false, true}) {
    RequireDocument(ToDocument(report, waterfalls), style);
  }
  RequireJson(ToJson(report));
}

void RequireExplanation(const NodeRow& node, Choices* choose) {
  Explanation e;
  e.node = node;
  e.model = choose->Name();
  e.module = choose->Name();
  e.module_type = choose->Name();
  e.formula = choose->Name();
  e.note = choose->Name();
  e.reason = choose->Name();
  e.exceptions = choose->Names();
  e.terms = {{choose->Name(), choose->Name(), choose->Amount()}};
  e.bodies = {{choose->Name(), choose->Name(), choose->Amount(), choose->Amount()}};
  e.names = choose->Name();
  e.where = choose->Names();
  e.raised = {{choose->Name(), SymbolOrigin::Kind::kData, choose->Name(), 0, choose->Amount()}};
  const TableStyle style = MakeStyle(choose);
  RequireScreen(ToText(e, style), style.color);
}

// What models hold, a row each.
void RequireMemoryRows(Choices* choose) {
  std::vector<MemoryRow> rows(choose->Below(4));
  const size_t fits = choose->Below(3);
  for (MemoryRow& row : rows) {
    row.path = choose->Name();
    row.sizes = row.given = Escaped(choose->Name());
    row.open = choose->Coin();
    row.at_node = choose->Name();
    for (MemoryRow::Bytes& bytes : row.bytes) {
      bytes.exact = choose->Amount().ToString();
      if (choose->Coin()) bytes.shown = static_cast<int64_t>(choose->Below(256));
      bytes.at_least = choose->Coin();
    }
    for (size_t i = 0; i < fits; ++i) row.fits.emplace_back("fit training", choose->Name());
  }
  const TableStyle style = MakeStyle(choose);
  const ViewOptions view = {.exact = choose->Coin()};
  RequireDocument(ToDocument(absl::MakeConstSpan(rows), view), style);
  RequireCsv(ToCsv(rows));
}

// Operators of a file of rules.
void RequireOperators(Choices* choose) {
  std::vector<Operator> operators;
  for (size_t i = choose->Below(4); i > 0; --i) {
    Operator& op = operators.emplace_back();
    op.name = choose->Name();
    op.words = op.formula = choose->Name();
    op.note = choose->Name();
    op.domain = choose->Name();
    if (i % 2 == 0) op.formulas = {choose->Name(), choose->Name(), {}, {{"let", choose->Name()}}};
  }
  const TableStyle style = MakeStyle(choose);
  RequireDocument(ToDocument(absl::MakeConstSpan(operators)), style);
  RequireCsv(ToCsv(operators));
  const std::string text = ToJson(operators);
  RequireJson(text);
  const nlohmann::json json = nlohmann::json::parse(text);
  for (size_t i = 0; i < operators.size(); ++i) {
    RequireSame(json["operators"][i]["domain"], operators[i].domain);
    RequireScreen(ToText(operators[i], style.width));
  }
}

}  // namespace
}  // namespace onnxflops

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace onnxflops;  // NOLINT(google-build-using-namespace): a few lines
  Choices choose(absl::string_view(reinterpret_cast<const char*>(data), size));
  const Report report = MakeReport(&choose);
  RequireReport(report, &choose);
  RequireComparison(report, &choose);
  if (!report.nodes.empty()) RequireExplanation(report.nodes[0], &choose);
  RequireOperators(&choose);
  RequireMemoryRows(&choose);
  return 0;
}
