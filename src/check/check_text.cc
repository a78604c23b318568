// Verdicts for people and spreadsheets.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/check/check_writers.h"
#include "src/report/format.h"
#include "src/report/text_table.h"

namespace onnxflops {
namespace {

using report::DrawLabelled;
using report::DrawSentence;
using report::kLineMark;
using report::LabelledLine;
using report::MarkdownCode;

// What a reader has to look at comes first; otherwise the order of the file.
std::vector<const Judgement*> ByVerdict(const CheckReport& report) {
  std::vector<const Judgement*> order;
  for (const Judgement& judgement : report.judgements) order.push_back(&judgement);
  std::stable_sort(order.begin(), order.end(),
                   [](const Judgement* a, const Judgement* b) { return a->verdict > b->verdict; });
  return order;
}

std::string VerdictText(Verdict verdict) {
  return verdict == Verdict::kNotProven ? "not proven" : std::string(NameOf(verdict));
}

std::string PlaceText(const Judgement& judgement) {
  std::string text = judgement.model;
  absl::StrAppend(&text, text.empty() ? "" : ": ", judgement.rule);
  if (!judgement.names_module && !judgement.where.empty())
    absl::StrAppend(&text, "  ", judgement.where);
  if (!judgement.at.empty()) absl::StrAppend(&text, "  (", judgement.at, ")");
  return text;
}

TextTable VerdictTable(const CheckReport& report) {
  TextTable table;
  table.columns = {{"rule", false, TextTable::Column::Narrow::kCutBeginning},
                   {"limit", true, TextTable::Column::Narrow::kCutEnd},
                   {"actual", true, TextTable::Column::Narrow::kCutEnd},
                   {"margin", true},
                   {"verdict"}};
  for (const Judgement* judgement : ByVerdict(report)) {
    TextTable::Row row;
    row.cells = {PlaceText(*judgement), judgement->limit, judgement->actual, judgement->margin,
                 VerdictText(judgement->verdict)};
    row.strong = !judgement->passed();
    table.rows.push_back(std::move(row));
  }
  return table;
}

// "budget.flops: depends on batch: ...", of all that have something to say.
std::vector<std::string> Details(const CheckReport& report) {
  std::vector<std::string> details;
  for (const Judgement* judgement : ByVerdict(report)) {
    if (judgement->detail.empty()) continue;
    details.push_back(absl::StrCat(PlaceText(*judgement), ": ", judgement->detail));
  }
  return details;
}

// Where the rules stand: "onnxflops.toml", "--max", or both.
std::string SourceOfRules(const CheckReport& report) {
  const bool some_of_call =
      std::any_of(report.judgements.begin(), report.judgements.end(),
                  [](const Judgement& judgement) { return judgement.place.line == 0; });
  if (!some_of_call) return report.budgets;
  return report.budgets.empty() ? "--max" : absl::StrCat(report.budgets, ", --max");
}

std::vector<LabelledLine> CheckHead(const CheckReport& report) {
  std::vector<LabelledLine> lines = {
      {report.models.empty() ? "model" : "models", {report.head.path}}};
  if (report.has_base) lines.push_back({"base", {report.base.path}});
  lines.push_back({"budgets", {SourceOfRules(report)}});
  lines.push_back({"check", {CheckInWords(report)}});
  return lines;
}

}  // namespace

std::string CheckInWords(const CheckReport& report) {
  const auto total = static_cast<int64_t>(report.judgements.size());
  const int64_t failed = report.Count(Verdict::kFailed) + report.Count(Verdict::kNotProven);
  std::string text = failed > 0 ? absl::StrCat("failed: ", failed, " of ", Plural(total, "rule"))
                                : absl::StrCat("passed: ", Plural(total, "rule"));
  const std::pair<Verdict, const char*> others[] = {{Verdict::kNotProven, "not proven"},
                                                    {Verdict::kWarned, "near the limit"},
                                                    {Verdict::kAllowed, "allowed by exceptions"},
                                                    {Verdict::kSkipped, "skipped"}};
  for (const auto& [verdict, words] : others) {
    const int64_t count = report.Count(verdict);
    if (count > 0) absl::StrAppend(&text, ", ", count, " ", words);
  }
  return text;
}

std::string ToTable(const CheckReport& report, const TableStyle& style) {
  std::string out;
  for (const LabelledLine& line : CheckHead(report)) out += DrawLabelled(line, style.line_width());
  absl::StrAppend(&out, "\n", DrawText(VerdictTable(report), style));
  const std::vector<std::string> details = Details(report);
  if (!details.empty()) out += "\n";
  for (const std::string& text : details) {
    out += DrawSentence(kLineMark, text, style.line_width());
  }
  return out;
}

std::string ToMarkdown(const CheckReport& report) {
  std::string out;
  for (const LabelledLine& line : CheckHead(report)) {
    absl::StrAppend(&out, "- ", line.label, ": ", MarkdownCode(absl::StrJoin(line.texts, " ")),
                    "\n");
  }
  absl::StrAppend(&out, "\n", DrawMarkdown(VerdictTable(report)));
  const std::vector<std::string> details = Details(report);
  if (!details.empty()) out += "\n";
  for (const std::string& text : details) absl::StrAppend(&out, "- ", MarkdownCode(text), "\n");
  return out;
}

std::string ToCsv(const CheckReport& report) {
  TextTable table;
  if (!report.models.empty()) table.columns.push_back({"model"});
  for (const char* title : {"rule", "kind", "module", "at", "verdict", "limit", "actual", "margin",
                            "limit_value", "actual_value", "detail"}) {
    table.columns.push_back({title});
  }
  for (const Judgement& j : report.judgements) {
    const auto digits = [](const std::optional<absl::int128>& value) {
      return value ? Int128ToString(*value) : "";
    };
    TextTable::Row row;
    if (!report.models.empty()) row.cells.push_back(j.model);
    for (const std::string& cell :
         {j.rule, j.kind, j.where, j.at, std::string(NameOf(j.verdict)), j.limit, j.actual,
          j.margin, digits(j.limit_value), digits(j.actual_value), j.detail}) {
      row.cells.push_back(cell);
    }
    table.rows.push_back(std::move(row));
  }
  return DrawCsv(table);
}

}  // namespace onnxflops
