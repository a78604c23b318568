// Comparisons for spreadsheets and scripts.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "src/base/limits.h"
#include "src/compare/compare_known.h"
#include "src/compare/compare_parts.h"
#include "src/compare/compare_report.h"
#include "src/render/text_table.h"

namespace onnxflops {
namespace {

std::string FromLabel(const ToolRow& tool) {
  return tool.from == nullptr ? "onnxflops" : std::string(tool.from->name);
}

// The start of a tool's terms. Empty for our count if nothing of the model is counted.
std::string StartField(const CompareReport& report, const ToolRow& tool) {
  const report::Known known =
      tool.from == nullptr ? compare::KnownOfOurs(report.ours, tool.start) : report::Known::kExact;
  return report::KnownField(known, tool.start.ToString());
}

bool HasFigure(const ToolRow& tool) { return tool.standing != Standing::kNotApplicable; }

void AddTool(const CompareReport& report, const ToolRow& tool, TextTable* table) {
  table->rows.push_back(
      {{report.ours.model.path, std::string(tool.convention->name), tool.version,
        std::string(UnitName(tool.convention->unit)), std::string(StandingName(tool.standing)),
        FromLabel(tool), HasFigure(tool) ? StartField(report, tool) : "",
        HasFigure(tool) ? tool.headline->ToString() : "",
        tool.params ? Int128ToString(*tool.params) : "", absl::StrJoin(tool.assumptions, "; "),
        report.ours.totals.lower_bound ? "true" : "false"}});
}

void AddWaterfall(const CompareReport& report, const ToolRow& tool, TextTable* table) {
  const auto add = [&](absl::string_view step, const std::string& name, const std::string& reason,
                       const std::string& module, const std::string& nodes,
                       const std::string& amount) {
    table->rows.push_back({{report.ours.model.path, std::string(tool.convention->name),
                            tool.version, std::string(UnitName(tool.convention->unit)),
                            std::string(step), name, reason, module, nodes, amount}});
  };
  if (!HasFigure(tool)) return;
  add("start", FromLabel(tool), "", "", "", StartField(report, tool));
  for (const TermRow& term : tool.terms) {
    add("term", term.name, term.reason, term.module, absl::StrCat(term.nodes),
        term.amount.ToString());
  }
  add("figure", std::string(tool.convention->name), "", "", "", tool.headline->ToString());
}

}  // namespace

std::string ToCompareCsv(const CompareReport& report, bool waterfalls) {
  return ToCompareCsv(absl::MakeConstSpan(&report, 1), waterfalls);
}

std::string ToCompareCsv(absl::Span<const CompareReport> reports, bool waterfalls) {
  return DrawCsv(compare::CsvTable(reports, waterfalls));
}

TextTable compare::CsvTable(absl::Span<const CompareReport> reports, bool waterfalls) {
  TextTable table;
  const std::vector<const char*> titles =
      waterfalls ? std::vector<const char*>{"model", "convention", "version", "unit",  "step",
                                            "name",  "reason",     "module",  "nodes", "amount"}
                 : std::vector<const char*>{"model",  "convention",  "version",    "unit",
                                            "status", "from",        "start",      "figure",
                                            "params", "assumptions", "lower_bound"};
  for (const char* title : titles) table.columns.push_back({title});
  for (const CompareReport& report : reports) {
    for (const ToolRow& tool : report.tools) {
      if (waterfalls) {
        AddWaterfall(report, tool, &table);
      } else {
        AddTool(report, tool, &table);
      }
    }
  }
  return table;
}

}  // namespace onnxflops
