// "onnxflops.check/1": tools/schema/check.v1.schema.json describes every field.
#include <algorithm>
#include <string>

#include "src/check/check_writers.h"
#include "src/check/verdict_text.h"
#include "src/cost/amounts.h"
#include "src/render/format.h"
#include "src/render/html_page.h"
#include "src/render/json_writer.h"
#include "src/report/json_parts.h"

namespace onnxflops {

namespace check {

void WriteRules(const CheckReport& report, report::JsonWriter* json) {
  json->Key("rules").BeginArray();
  for (const Judgement& j : report.judgements) {
    json->BeginObject();
    if (!j.model.empty()) json->Key("model").String(j.model);
    json->Key("name").String(j.rule);
    json->Key("kind").String(j.kind);
    json->Key("where").String(j.where);
    json->Key("at").String(j.at);
    json->Key("line").Int(static_cast<int64_t>(j.place.line));
    if (!j.budgets.empty()) json->Key("budgets").String(j.budgets);
    json->Key("limit").String(j.limit);
    json->Key("actual").String(j.actual);
    json->Key("margin").String(j.margin);
    if (j.limit_value) json->Key("limit_value").Exact(*j.quantity, *j.limit_value);
    if (j.actual_value) json->Key("actual_value").Exact(*j.quantity, *j.actual_value);
    if (j.base_value) json->Key("base_value").Exact(*j.quantity, *j.base_value);
    if (j.limit_value || j.base_value) json->Key("unit").String(UnitOf(*j.quantity));
    if (j.growth_hundredths) {
      json->Key("growth_percent").Number(static_cast<double>(*j.growth_hundredths) / 100);
    }
    if (j.margin_hundredths) {
      json->Key("margin_percent").Number(static_cast<double>(*j.margin_hundredths) / 100);
    }
    json->Key("lower_bound").Bool(j.lower_bound);
    json->Key("verdict").String(NameOf(j.verdict));
    json->Key("passed").Bool(j.passed());
    json->Key("detail").String(j.detail);
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace check

std::string ToJson(const CheckReport& report) {
  report::JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.check/1");
  if (report.models.empty()) {
    report::WriteModel(report.head, &json);
    if (report.has_base) report::WriteModel(report.base, &json, "base");
  } else {
    json.Key("models").BeginArray();
    for (const ModelInfo& model : report.models) json.String(model.path);
    json.EndArray();
    const std::vector<std::string> positions = check::PositionsOfModels(report);
    if (!positions.empty()) {
      json.Key("positions").BeginArray();
      for (const std::string& text : positions) json.String(text);
      json.EndArray();
    }
  }
  json.Key("budgets").String(report.budgets);
  json.Key("passed").Bool(report.passed());
  check::WriteRules(report, &json);
  json.EndObject();
  return json.TakeText();
}

// Failures first, because a page may have no room for all.
std::string ToHtml(const CheckReport& report) {
  CheckReport sorted = report;
  sorted.judgements.clear();
  for (const Judgement* j : check::WorstFirst(report)) sorted.judgements.push_back(*j);
  const std::string title = report.models.empty()
                                ? std::string(report::FileNameOf(report.head.path))
                                : Plural(static_cast<int64_t>(report.models.size()), "model");
  return report::FoldedHtmlPage(title, "check", ToJson(sorted));
}

}  // namespace onnxflops
