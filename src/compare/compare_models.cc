// Comparisons of several models: a row for each.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "src/base/setting.h"
#include "src/compare/compare_known.h"
#include "src/compare/compare_parts.h"
#include "src/compare/compare_report.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/render/text_table.h"
#include "src/report/reference_sizes.h"

namespace onnxflops {
namespace {

using compare::KnownOfFigure;
using compare::KnownOfOurs;
using report::KnownText;
using report::ReferenceValues;
using report::SiNumber;

// "5.481 G"; with a star if it is assumed.
std::string FigureCell(const Report& ours, const ToolRow& tool, const ReferenceValues& values) {
  if (!tool.headline) return "-";
  const auto value = values.Of(*tool.headline);
  return KnownText(KnownOfFigure(ours, tool), value ? SiNumber(*value) : "?");
}

std::string OursCell(const Report& ours, Expr Amounts::*of, const ReferenceValues& values) {
  const Expr& amount = ours.totals.*of;
  const auto value = values.Of(amount);
  return KnownText(KnownOfOurs(ours, amount), value ? SiNumber(*value) : "?");
}

}  // namespace

TextTable compare::ModelsTable(absl::Span<const CompareReport> reports) {
  using Narrow = TextTable::Column::Narrow;
  TextTable table;
  std::vector<std::pair<const char*, Expr Amounts::*>> ours = {{"our MACs", &Amounts::macs},
                                                               {"our FLOPs", &Amounts::flops}};
  if (reports[0].request.activations) ours = {{"our activations", &Amounts::activation_count}};
  table.columns = {{"model", false, Narrow::kName}};
  table.columns[0].paths = true;
  for (const auto& [title, of] : ours) table.columns.push_back({title, true});
  for (const ToolRow& tool : reports[0].tools) {
    table.columns.push_back(
        {absl::StrCat(tool.convention->name, " ", UnitName(tool.convention->unit)), true,
         Narrow::kSpare});
  }
  bool is_open = false;
  for (const CompareReport& report : reports) {
    const ReferenceValues values(report.ours);
    is_open = is_open || !values.sizes().empty();
    std::vector<std::string> cells = {report.ours.model.path};
    for (const auto& [title, of] : ours) cells.push_back(OursCell(report.ours, of, values));
    for (const ToolRow& tool : report.tools) cells.push_back(FigureCell(report.ours, tool, values));
    table.rows.push_back({std::move(cells)});
  }
  table.notes.emplace_back(
      WithSettings("{with NAME,..} chooses tools; * rests on assumptions, - means no figure: "
                   "onnxflops compare MODEL says why"));
  if (is_open) {
    table.notes.emplace_back(WithSettings(
        "open sizes: 1 on the first axis of an input and inside the model, else 128; {dim NAME=N} "
        "sets others"));
  }
  return table;
}

Document ToDocument(absl::Span<const CompareReport> reports) {
  Document document;
  document.Add(Document::Table{compare::ModelsTable(reports)});
  return document;
}

}  // namespace onnxflops
