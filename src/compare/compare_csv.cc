// Comparisons for spreadsheets and scripts.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "src/base/limits.h"
#include "src/compare/compare_report.h"
#include "src/render/text_table.h"

namespace onnxflops {
namespace {

std::string FromLabel(const ToolRow& tool) {
  return tool.from == nullptr ? "onnxflops" : std::string(tool.from->name);
}

bool HasFigure(const ToolRow& tool) { return tool.standing != Standing::kNotApplicable; }

void AddTool(const CompareReport& report, const ToolRow& tool, TextTable* table) {
  table->rows.push_back(
      {{report.ours.model.path, std::string(tool.convention->name), tool.version,
        std::string(UnitName(tool.convention->unit)), std::string(StandingName(tool.standing)),
        FromLabel(tool), HasFigure(tool) ? tool.start.ToString() : "",
        HasFigure(tool) ? tool.headline->ToString() : "",
        tool.params ? Int128ToString(*tool.params) : "", absl::StrJoin(tool.assumptions, "; ")}});
}

void AddWaterfall(const CompareReport& report, const ToolRow& tool, TextTable* table) {
  const auto add = [&](absl::string_view step, const std::string& name, const std::string& reason,
                       const std::string& module, const std::string& nodes, const Expr& amount) {
    table->rows.push_back({{report.ours.model.path, std::string(tool.convention->name),
                            tool.version, std::string(UnitName(tool.convention->unit)),
                            std::string(step), name, reason, module, nodes, amount.ToString()}});
  };
  if (!HasFigure(tool)) return;
  add("start", FromLabel(tool), "", "", "", tool.start);
  for (const TermRow& term : tool.terms) {
    add("term", term.name, term.reason, term.module, absl::StrCat(term.nodes), term.amount);
  }
  add("figure", std::string(tool.convention->name), "", "", "", *tool.headline);
}

}  // namespace

std::string ToCompareCsv(const CompareReport& report, bool waterfalls) {
  return ToCompareCsv(absl::MakeConstSpan(&report, 1), waterfalls);
}

std::string ToCompareCsv(absl::Span<const CompareReport> reports, bool waterfalls) {
  TextTable table;
  const std::vector<const char*> titles =
      waterfalls
          ? std::vector<const char*>{"model", "convention", "version", "unit",  "step",
                                     "name",  "reason",     "module",  "nodes", "amount"}
          : std::vector<const char*>{"model", "convention", "version", "unit",   "status",
                                     "from",  "start",      "figure",  "params", "assumptions"};
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
  return DrawCsv(table);
}

}  // namespace onnxflops
