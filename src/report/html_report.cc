// Reports as pages: what src/render/html/ draws.
//
// How it works. The page gets the report's JSON without its rows, and a tree of modules instead,
// which the script can fold. Operators stand below the module that runs them, in the order of their
// first nodes: the nodes are sorted by module and operator, and equal ones are summed, so that a
// page for a hundred thousand nodes stays small. If a module has children and work of its own, the
// tree has a child for this work as well, so that children add up to their parent; its operators
// stand there. If the report left out nodes, sums over them would be too small: then there are
// modules only.
#include <algorithm>
#include <cstddef>
#include <deque>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/base/limits.h"
#include "src/cost/amounts_sum.h"
#include "src/render/format.h"
#include "src/render/html_page.h"
#include "src/render/json_writer.h"
#include "src/report/figure_columns.h"
#include "src/report/html_tree.h"
#include "src/report/json_parts.h"
#include "src/report/range_text.h"
#include "src/report/reference_sizes.h"
#include "src/report/summary.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

using report::HtmlPage;
using report::HtmlTree;
using report::JsonWriter;
using report::ReferenceValues;

// Writes what the lines of totals need in addition to the report's figures. The script makes the
// lines, at sizes that the reader gives.
void WriteHeadline(const Report& report, JsonWriter* json) {
  WriteTexts("inputs", report::InputTexts(report), json);
  json->Key("part").String(report.part);
  WriteTexts("caveats", report::CaveatsOfFigures(report), json);
  json->Key("inside").String(report::SizesInsideText(report));
  WriteTexts("range_notes", report::RangeNotes(report), json);
  json->Key("others").String(report::OthersText(report));
  json->Key("trains").Bool(report::HasTraining(report));
  json->Key("lines").BeginArray();
  for (const report::LabelledLine& line : report::FixedLines(report)) {
    json->BeginArray();
    json->String(line.label);
    for (const std::string& text : line.texts) json->String(text);
    json->EndArray();
  }
  json->EndArray();
  if (!report.roofline || !report.roofline->fused_time_estimate) return;
  constexpr auto& time = QuantityOf(&Amounts::time_bound);
  json->Key("times").BeginObject();
  json->Key("arithmetic_seconds").Figure(time, *report.roofline->arithmetic_time);
  json->Key("memory_seconds").Figure(time, report.roofline->MemoryBound());
  json->Key("fused_estimate_seconds").Figure(time, *report.roofline->fused_time_estimate);
  json->EndObject();
}

// Totals that the report's own texts cut: their formulas, as far as they have room.
void WriteLongTotals(const Report& report, JsonWriter* json) {
  constexpr size_t kRoom = 100'000;
  size_t room = kRoom;
  json->Key("long_totals").BeginObject();
  const auto write = [&](const Quantity& q, const Expr& amount) {
    const size_t bytes = amount.is_literal() ? 0 : amount.TextBytes(kMaxPageFormula);
    if (bytes <= kMaxPageText || bytes > std::min(room, kMaxPageFormula)) return;
    room -= bytes;
    json->Key(q.key).String(FormulaTextOf(q, amount));
  };
  for (const Quantity& q : kQuantities) {
    if (report.Has(q) && !q.is_exact_form()) write(q, report.totals.*q.value);
  }
  for (const Quantity* q : kDerivedQuantities) {
    if (report.Has(*q)) write(*q, report.In(*q, report.totals));
  }
  json->EndObject();
}

// The modules of a report, and in each the operators that it runs itself.
class ReportTree {
 public:
  ReportTree(const Report& report, const Quantity& cost)
      : report_(report),
        cost_(cost),
        values_(report),
        tree_(QuantitiesOf(report, cost), report.exact_backward()) {
    SortNodes();
    auto node = order_.begin();
    for (size_t m = 0; m < report.modules.size(); ++m) {
      AddModule(report.modules[m]);
      for (; node != order_.end() && ModuleOf(node->second) == m;) node = AddOperator(node);
    }
  }

  void Write(JsonWriter* json) const {
    json->Key("sizes").BeginObject(report::kOneLine);
    for (const auto& [name, size] : values_.sizes()) json->Key(name).Int(size);
    json->EndObject();
    WriteHeadline(report_, json);
    json->Key("cost").String(cost_.key);
    json->CutStrings(kMaxPageFormula);
    WriteLongTotals(report_, json);
    json->Key("tree").BeginObject(report::kOneLine);
    tree_.Write(json);
    json->EndObject();
  }

 private:
  // Nodes, each with the place of its operator's first node in the module.
  using Order = std::vector<std::pair<size_t, const NodeRow*>>;

  static std::vector<const Quantity*> QuantitiesOf(const Report& report, const Quantity& cost) {
    std::vector<const Quantity*> quantities;
    for (const Quantity& q : kQuantities) {
      if (report.Has(q)) quantities.push_back(&q);
    }
    report::AddCost(cost, &quantities);
    return quantities;
  }

  // The row with a module's operators: if it has children, the row of its own work.
  size_t ModuleOf(const NodeRow* row) const { return places_[static_cast<size_t>(row->module)]; }
  auto KeyOf(const Order::value_type& node) const {
    return std::pair(ModuleOf(node.second), node.first);
  }

  // If nodes were left out, sums over the others would be too small: no operators then.
  void SortNodes() {
    if (report_.nodes_omitted > 0 || report_.nodes.size() > kMaxPageNodes) return;
    for (size_t m = 0; m < report_.modules.size(); ++m) {
      places_.push_back(m);
      if (report_.modules[m].own) places_[static_cast<size_t>(report_.modules[m].parent)] = m;
    }
    absl::flat_hash_map<std::tuple<size_t, absl::string_view, absl::string_view>, size_t> first;
    for (const NodeRow& row : report_.nodes) {
      const auto [it, is_new] =
          first.try_emplace({ModuleOf(&row), row.domain, row.op}, order_.size());
      order_.emplace_back(it->second, &row);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](const auto& a, const auto& b) { return KeyOf(a) < KeyOf(b); });
  }

  absl::int128 Weight(const Amounts& amounts) const {
    return values_.Of(report_.In(cost_, amounts)).value_or(0);
  }

  void AddModule(const Module& m) {
    HtmlTree::Item item;
    item.kind = m.own ? HtmlTree::Kind::kOwn : HtmlTree::Kind::kModule;
    item.depth = m.depth;
    item.name = m.depth == 0 ? absl::string_view() : m.name();
    item.type = m.type;
    item.nodes = m.nodes;
    item.lower_bounds = {m.lower_bound};
    item.figures = {m.amounts.get()};
    item.weight = Weight(*m.amounts);
    tree_.Add(std::move(item));
  }

  // Adds all nodes of an operator; returns the start of the next one.
  Order::iterator AddOperator(Order::iterator first) {
    AmountsSum sum;
    HtmlTree::Item item;
    auto node = first;
    bool lower_bound = false;
    absl::int128 weights = 0, weight_bytes = 0;
    for (; node != order_.end() && KeyOf(*node) == KeyOf(*first); ++node, ++item.nodes) {
      const NodeRow& row = *node->second;
      sum.Add(row);
      weights += row.weights;
      weight_bytes += row.weight_bytes;
      lower_bound = lower_bound || row.status == Coverage::kUnknown;
    }
    Amounts& amounts = amounts_.emplace_back(sum.Total());
    amounts.params = Expr(weights);
    amounts.param_bytes = Expr(weight_bytes);
    if (amounts.IsZero() && !lower_bound) return node;
    item.lower_bounds = {lower_bound};
    item.kind = HtmlTree::Kind::kOperator;
    item.depth = report_.modules[ModuleOf(first->second)].depth + 1;
    item.type = labels_.emplace_back(OpLabel(first->second->domain, first->second->op));
    item.figures = {&amounts};
    item.weight = Weight(amounts);
    tree_.Add(std::move(item));
    return node;
  }

  const Report& report_;
  const Quantity& cost_;
  const ReferenceValues values_;
  HtmlTree tree_;
  std::vector<size_t> places_;   // by module: the row with its operators
  Order order_;                  // nodes by module and operator, in the order of the run
  std::deque<Amounts> amounts_;  // of operators
  std::deque<std::string> labels_;
};

template <typename Item>
void Cut(size_t most, std::vector<Item>* items) {
  if (items->size() > most)
    items->erase(items->begin() + static_cast<ptrdiff_t>(most), items->end());
}

// Without rows, since the tree has them, and with lists cut to a length that people read.
Report WithoutRows(const Report& full) {
  Report report = full;
  report.modules.resize(1);
  report.modules[0].end = 1;
  report.nodes.clear();
  report.has_nodes = false;
  report.by_op.clear();
  Cut(kMaxPageTensors, &report.inputs);
  Cut(kMaxPageTensors, &report.outputs);
  Cut(kMaxPageSymbols, &report.symbols);
  Cut(kMaxPageNotes, &report.coverage.items);
  Cut(kMaxPageNotes, &report.warnings);
  Cut(kMaxPageNotes, &report.tied);
  Cut(kMaxPageNotes, &report.likely_copies);
  return report;
}

}  // namespace

std::string ToHtml(const Report& report, const ViewOptions& options) {
  JsonWriter json;
  json.CutStrings(kMaxPageText);
  json.BeginObject();
  json.Key("report");
  report::WriteReport(WithoutRows(report), &json, report::kOneLine);
  ReportTree(report, report::CostQuantity(report, options)).Write(&json);
  json.EndObject();
  return HtmlPage(report::FileNameOf(report.model.path), "count", json.TakeText());
}

}  // namespace onnxflops
