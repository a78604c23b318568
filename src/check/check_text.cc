// Writes verdicts as a table and as CSV. The enum Verdict is ordered by severity, so sorting by it
// puts the worst first; rules with equal verdicts keep the order of the file. The table holds
// figures and limits as short texts. Longer explanations (why a limit is not proven, which
// operators are wrong) follow below it. CSV keeps the order of the file and has exact numbers.
// CheckInWords counts rules only: a model without a rule, or with an error, is named separately and
// is not a failed rule.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "fmt/format.h"
#include "src/base/setting.h"
#include "src/check/check_writers.h"
#include "src/check/verdict_text.h"
#include "src/cost/amounts.h"
#include "src/render/format.h"
#include "src/render/numbered_name.h"
#include "src/render/text_table.h"

namespace onnxflops {
namespace {

using report::LabelledLine;

std::string VerdictText(Verdict verdict) {
  return verdict == Verdict::kNotProven ? "not proven" : std::string(NameOf(verdict));
}

std::string PlaceText(const Judgement& judgement, absl::string_view rule) {
  std::string text = judgement.model;
  absl::StrAppend(&text, text.empty() ? "" : ": ", rule);
  if (!judgement.names_module && !judgement.where.empty())
    absl::StrAppend(&text, "  ", judgement.where);
  if (!judgement.at.empty()) absl::StrAppend(&text, "  (", judgement.at, ")");
  return text;
}

// What names the rows. A rule of [models.GLOB] is named without "models.GLOB.", since the model is
// known, unless two rows would then have one name.
class PlaceTexts {
 public:
  explicit PlaceTexts(const CheckReport& report) {
    for (const Judgement& judgement : report.judgements) ++rows_[Short(judgement)];
  }

  std::string Of(const Judgement& judgement) const {
    return IsShort(judgement) ? Short(judgement) : PlaceText(judgement, judgement.rule);
  }
  bool IsShort(const Judgement& judgement) const {
    return judgement.rule_prefix > 0 && rows_.at(Short(judgement)) == 1;
  }

 private:
  static std::string Short(const Judgement& judgement) {
    return PlaceText(judgement, absl::string_view(judgement.rule).substr(judgement.rule_prefix));
  }
  absl::flat_hash_map<std::string, int64_t> rows_;
};

// Neighbours that differ only in the number in their names, such as the layers of a rule for all of
// them: one row.
class RunOfRows {
 public:
  void Add(TextTable::Row row, TextTable* table) {
    const std::string name = row.cells[0];
    const bool continues =
        count_ > 0 && std::equal(row.cells.begin() + 1, row.cells.end(), row_.cells.begin() + 1) &&
        report::ContinuesNumbers(row_.cells[0], count_, name);
    if (!continues) {
      End(table);
      row_ = std::move(row);
    }
    ++count_;
    last_ = name;
  }
  void End(TextTable* table) {
    if (count_ > 1) {
      row_.cells[0] =
          absl::StrCat(report::NumberedLabel(row_.cells[0], last_, count_), "  ", count_, "x");
    }
    if (count_ > 0) table->rows.push_back(std::move(row_));
    count_ = 0;
  }

 private:
  TextTable::Row row_;
  std::string last_;
  int64_t count_ = 0;
};

TextTable VerdictTable(const CheckReport& report) {
  const PlaceTexts places(report);
  TextTable table;
  table.columns = {{"rule", false, TextTable::Column::Narrow::kName},
                   {"limit", true, TextTable::Column::Narrow::kText},
                   {"actual", true, TextTable::Column::Narrow::kText},
                   {"margin", true, TextTable::Column::Narrow::kSpare},
                   {"verdict"}};
  RunOfRows run;
  for (const Judgement* judgement : check::WorstFirst(report)) {
    TextTable::Row row;
    row.cells = {places.Of(*judgement), judgement->limit, judgement->actual, judgement->margin,
                 VerdictText(judgement->verdict)};
    row.strong = !judgement->passed();
    run.Add(std::move(row), &table);
  }
  run.End(&table);
  if (std::any_of(report.judgements.begin(), report.judgements.end(),
                  [&](const Judgement& j) { return places.IsShort(j); })) {
    table.notes.emplace_back("the names of rules of [models.GLOB] are shown without models.GLOB");
  }
  return table;
}

// "budget.flops: depends on batch: ...", of all that have something to say.
std::vector<std::string> Details(const CheckReport& report) {
  const PlaceTexts places(report);
  std::vector<std::string> details;
  for (const Judgement* judgement : check::WorstFirst(report)) {
    if (judgement->detail.empty()) continue;
    details.push_back(absl::StrCat(places.Of(*judgement), ": ", judgement->detail));
  }
  return details;
}

// The source of the rules: "onnxflops.toml", "--max", or both.
std::string SourceOfRules(const CheckReport& report) {
  const bool some_of_call =
      std::any_of(report.judgements.begin(), report.judgements.end(),
                  [](const Judgement& j) { return j.is_rule() && j.place.line == 0; });
  if (!some_of_call) return report.budgets;
  return report.budgets.empty() ? Setting("max")
                                : absl::StrCat(report.budgets, ", ", Setting("max"));
}

// Constants that figures rest on: of the model, or of the first models that have some.
void AddPositions(const CheckReport& report, std::vector<LabelledLine>* lines) {
  for (const std::string& text : report.base.positions) {
    lines->push_back({"note", {absl::StrCat("in the base, ", text)}});
  }
  for (const std::string& text : report.head.positions) lines->push_back({"note", {text}});
  constexpr size_t kMaxNotes = 3;
  const std::vector<std::string> texts = check::PositionsOfModels(report);
  for (size_t i = 0; i < std::min(texts.size(), kMaxNotes); ++i) {
    lines->push_back({"note", {texts[i]}});
  }
  if (texts.size() <= kMaxNotes) return;
  lines->push_back(
      {"note",
       {absl::StrCat(Plural(static_cast<int64_t>(texts.size() - kMaxNotes), "more model"),
                     " with such constants")}});
}

std::vector<LabelledLine> CheckHead(const CheckReport& report) {
  std::vector<LabelledLine> lines = {
      {report.models.empty() ? "model" : "models", {report.head.path}}};
  if (report.has_base) lines.push_back({"base", {report.base.path}});
  lines.push_back({"budgets", {SourceOfRules(report)}});
  lines.push_back({"check", {CheckInWords(report)}});
  AddPositions(report, &lines);
  return lines;
}

}  // namespace

std::vector<std::string> check::PositionsOfModels(const CheckReport& report) {
  std::vector<std::string> texts;
  for (const ModelInfo& model : report.models) {
    if (model.positions.empty()) continue;
    texts.push_back(absl::StrCat(model.path, ": ", absl::StrJoin(model.positions, "; ")));
  }
  return texts;
}

std::vector<const Judgement*> check::WorstFirst(const CheckReport& report) {
  std::vector<const Judgement*> order;
  for (const Judgement& judgement : report.judgements) order.push_back(&judgement);
  std::stable_sort(order.begin(), order.end(),
                   [](const Judgement* a, const Judgement* b) { return a->verdict > b->verdict; });
  return order;
}

std::string CheckInWords(const CheckReport& report) {
  int64_t total = 0, failed = 0, unlisted = 0, skipped = 0;
  for (const Judgement& j : report.judgements) {
    unlisted += j.kind == "unlisted" ? 1 : 0;
    if (!j.is_rule()) continue;
    ++total;
    failed += j.passed() ? 0 : 1;
    skipped += j.verdict == Verdict::kSkipped ? 1 : 0;
  }
  std::vector<std::string> parts;
  if (failed > 0) {
    parts.push_back(absl::StrCat(failed, " of ", Plural(total, "rule")));
  } else if (total > 0) {
    parts.push_back(Plural(total, "rule"));
  }
  const std::pair<int64_t, const char*> others[] = {
      {report.Count(Verdict::kNotProven), "of them not proven"},
      {report.Count(Verdict::kWarned), "near the limit"},
      {report.Count(Verdict::kAllowed), "allowed by exceptions"},
      {skipped, "not judged"}};
  for (const auto& [count, words] : others) {
    if (count > 0) parts.push_back(absl::StrCat(count, " ", words));
  }
  if (unlisted > 0) parts.push_back(absl::StrCat("no rule for ", Plural(unlisted, "model")));
  const int64_t errors = report.Count(Verdict::kError);
  if (errors > 0) parts.push_back(absl::StrCat("error in ", Plural(errors, "model")));
  // Failures come first, also those that are not rules.
  if (!report.passed() && failed == 0) std::reverse(parts.begin(), parts.end());
  return absl::StrCat(report.passed() ? "passed: " : "failed: ", absl::StrJoin(parts, ", "));
}

Document ToDocument(const CheckReport& report) {
  Document document;
  document.Add(Document::Lines{CheckHead(report)});
  document.Add(Document::Table{VerdictTable(report)});
  Document::List details = {"", Details(report)};
  details.foreign = true;
  document.Add(std::move(details));
  return document;
}

std::string ToTable(const CheckReport& report, const TableStyle& style) {
  return DrawText(ToDocument(report), style);
}

std::string ToMarkdown(const CheckReport& report) { return DrawMarkdown(ToDocument(report)); }

std::string ToCsv(const CheckReport& report) {
  TextTable table;
  if (!report.models.empty()) table.columns.push_back({"model"});
  for (const char* title : {"rule", "kind", "module", "at", "verdict", "limit", "actual",
                            "growth_percent", "margin_percent", "limit_value", "actual_value",
                            "base_value", "unit", "lower_bound", "detail"}) {
    table.columns.push_back({title});
  }
  for (const Judgement& j : report.judgements) {
    const auto digits = [&](const std::optional<absl::int128>& value) {
      return value ? ExactText(*j.quantity, *value) : "";
    };
    const auto percent = [](const std::optional<absl::int128>& hundredths) {
      return hundredths ? fmt::format("{:.2f}", static_cast<double>(*hundredths) / 100) : "";
    };
    TextTable::Row row;
    if (!report.models.empty()) row.cells.push_back(j.model);
    for (const std::string& cell :
         {j.rule, j.kind, j.where, j.at, std::string(NameOf(j.verdict)), j.limit,
          j.actual == "-" ? "" : j.actual, percent(j.growth_hundredths),
          percent(j.margin_hundredths), digits(j.limit_value), digits(j.actual_value),
          digits(j.base_value),
          std::string(j.limit_value || j.base_value ? UnitOf(*j.quantity) : ""),
          std::string(j.lower_bound ? "true" : "false"), j.detail}) {
      row.cells.push_back(cell);
    }
    table.rows.push_back(std::move(row));
  }
  return DrawCsv(table);
}

}  // namespace onnxflops
