// The report for spreadsheets and scripts.
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/report/format.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

void AddColumns(std::initializer_list<const char*> titles, TextTable* table) {
  for (const char* title : titles) table->columns.push_back({title});
}

// Exact digits; nothing for a quantity that another tool's count does not have.
std::string Digits(bool has, const Expr& quantity) { return has ? quantity.ToString() : ""; }
std::string Digits(bool has, absl::int128 count) { return has ? Int128ToString(count) : ""; }

void AddModules(const Report& report, const ViewOptions& options, TextTable* table) {
  for (const Module& m : report.modules) {
    if (options.depth >= 0 && m.depth > options.depth) continue;
    table->rows.push_back(
        {{report.model.path, m.path, m.type, absl::StrCat(m.depth), absl::StrCat(m.nodes),
          Digits(report.has_flops(), m.flops), Digits(report.has_macs(), m.macs),
          Digits(!report.tool, m.params), Digits(!report.tool, m.param_bytes),
          m.lower_bound ? "true" : "false"}});
  }
}

void AddOps(const Report& report, TextTable* table) {
  for (const OpRow& row : report.by_op) {
    table->rows.push_back(
        {{report.model.path, row.domain, row.op, absl::StrCat(row.nodes), row.runs.ToString(),
          Digits(report.has_flops(), row.flops), Digits(report.has_macs(), row.macs)}});
  }
}

void AddNodes(const Report& report, TextTable* table) {
  for (const NodeRow& row : report.nodes) {
    std::string output;
    if (!row.outputs.empty()) output = TensorText(row.outputs[0].type, row.outputs[0].shape);
    const Module& module = report.modules[static_cast<size_t>(row.module)];
    const bool unknown = row.status == Coverage::kUnknown;
    table->rows.push_back(
        {{report.model.path, row.name, row.domain, row.op, module.path, std::move(output),
          row.multiplicity.ToString(), Digits(report.has_flops() && !unknown, row.flops),
          Digits(report.has_macs() && !unknown, row.macs), std::string(StatusName(row.status))}});
  }
}

}  // namespace

std::string ToCsv(absl::Span<const Report> reports, const ViewOptions& options) {
  TextTable table;
  switch (options.by) {
    case GroupBy::kModule:
      AddColumns({"model", "module", "type", "depth", "nodes", "flops", "macs", "params",
                  "param_bytes", "lower_bound"},
                 &table);
      for (const Report& report : reports) AddModules(report, options, &table);
      break;
    case GroupBy::kOp:
      AddColumns({"model", "domain", "operator", "nodes", "runs", "flops", "macs"}, &table);
      for (const Report& report : reports) AddOps(report, &table);
      break;
    case GroupBy::kNode:
      AddColumns({"model", "node", "domain", "operator", "module", "output", "runs", "flops",
                  "macs", "status"},
                 &table);
      for (const Report& report : reports) AddNodes(report, &table);
      break;
  }
  return DrawCsv(table);
}

}  // namespace onnxflops
