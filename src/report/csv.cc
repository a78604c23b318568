// The report for spreadsheets and scripts.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/report/format.h"
#include "src/report/text_table.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

using report::StatusName;
using report::TensorText;

void AddColumns(std::initializer_list<const char*> titles, TextTable* table) {
  for (const char* title : titles) table->columns.push_back({title});
}

bool IsColumn(const Quantity& q, bool weights) { return weights || q.of != Quantity::Of::kWeights; }

// A column of every quantity. Nodes and operators have no weights.
void AddAmountColumns(bool weights, TextTable* table) {
  for (const Quantity& q : kQuantities) {
    if (IsColumn(q, weights)) table->columns.push_back({std::string(q.key)});
  }
}

// Exact digits; nothing for a quantity that another tool's count does not have, or an unknown one.
void AddAmounts(const Report& report, const Amounts& amounts, bool weights, bool known,
                std::vector<std::string>* cells) {
  for (const Quantity& q : kQuantities) {
    if (!IsColumn(q, weights)) continue;
    cells->push_back(known && report.Has(q) ? (amounts.*q.value).ToString() : "");
  }
}

void AddModules(const Report& report, const ViewOptions& options, TextTable* table) {
  for (const Module& m : report.modules) {
    if (options.depth >= 0 && m.depth > options.depth) continue;
    std::vector<std::string> cells = {report.model.path, m.path, m.type, absl::StrCat(m.depth),
                                      absl::StrCat(m.nodes)};
    AddAmounts(report, *m.amounts, /*weights=*/true, /*known=*/true, &cells);
    cells.push_back(m.lower_bound ? "true" : "false");
    table->rows.push_back({std::move(cells)});
  }
}

void AddOps(const Report& report, TextTable* table) {
  for (const OpRow& row : report.by_op) {
    std::vector<std::string> cells = {report.model.path, row.domain, row.op,
                                      absl::StrCat(row.nodes), row.runs.ToString()};
    AddAmounts(report, row, /*weights=*/false, /*known=*/true, &cells);
    table->rows.push_back({std::move(cells)});
  }
}

void AddNodes(const Report& report, TextTable* table) {
  for (const NodeRow& row : report.nodes) {
    std::string output;
    if (!row.outputs.empty()) output = TensorText(row.outputs[0].type, row.outputs[0].shape);
    const Module& module = report.modules[static_cast<size_t>(row.module)];
    std::vector<std::string> cells = {
        report.model.path,          row.name, row.domain, row.op, module.path, std::move(output),
        row.multiplicity.ToString()};
    AddAmounts(report, row, /*weights=*/false, row.status != Coverage::kUnknown, &cells);
    cells.emplace_back(StatusName(row.status));
    table->rows.push_back({std::move(cells)});
  }
}

}  // namespace

std::string ToCsv(absl::Span<const Report> reports, const ViewOptions& options) {
  TextTable table;
  switch (options.by) {
    case GroupBy::kModule:
      AddColumns({"model", "module", "type", "depth", "nodes"}, &table);
      AddAmountColumns(/*weights=*/true, &table);
      AddColumns({"lower_bound"}, &table);
      for (const Report& report : reports) AddModules(report, options, &table);
      break;
    case GroupBy::kOp:
      AddColumns({"model", "domain", "operator", "nodes", "runs"}, &table);
      AddAmountColumns(/*weights=*/false, &table);
      for (const Report& report : reports) AddOps(report, &table);
      break;
    case GroupBy::kNode:
      AddColumns({"model", "node", "domain", "operator", "module", "output", "runs"}, &table);
      AddAmountColumns(/*weights=*/false, &table);
      AddColumns({"status"}, &table);
      for (const Report& report : reports) AddNodes(report, &table);
      break;
  }
  return DrawCsv(table);
}

}  // namespace onnxflops
