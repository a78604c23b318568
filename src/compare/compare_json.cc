// "onnxflops.compare/1" and "onnxflops.conventions/1": tools/schema/ describes every field.
//
// Each tool is written with `start`, its terms and its headline, all as formulas with their values,
// so that a program can check that they add up. Every key is always there: a tool without a figure
// has the headline null and the reason among its assumptions. Our own start has no value if nothing
// of it is counted, since 0 would look like a figure. The page holds the same JSON,
// and the sizes at which it shows formulas.
#include "src/compare/compare_parts.h"
#include "src/compare/compare_report.h"
#include "src/convention/conventions.h"
#include "src/render/html_page.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/report/json_parts.h"
#include "src/report/reference_sizes.h"
#include "src/report/samples_report.h"
#include "src/report/summary.h"

namespace onnxflops {
namespace {

using convention::AllConventions;
using convention::Convention;
using report::JsonWriter;
using report::kOneLine;
using report::WriteModel;

// Null if the text is empty.
void WriteTextOrNull(const char* key, absl::string_view text, JsonWriter* json) {
  json->Key(key);
  if (text.empty()) {
    json->Null();
  } else {
    json->String(text);
  }
}

void WriteTerm(const TermRow& term, const CompareRequest& request, JsonWriter* json) {
  json->BeginObject();
  json->Key("name").String(term.name);
  json->Key("reason").String(term.reason);
  if (request.by_module || !term.module.empty()) {
    json->Key("module");
    if (term.of_model) {
      json->Null();
    } else {
      json->String(term.module);
    }
  }
  json->Key("amount").Quantity(term.amount);
  json->Key("nodes").Int(term.nodes);
  if (request.node_names) {
    json->Key("node_names").BeginArray();
    for (const std::string& name : term.node_names) json->String(name);
    json->EndArray();
  }
  json->EndObject();
}

}  // namespace

void compare::WriteTool(const ToolRow& tool, const CompareRequest& request, bool lower_bound,
                        JsonWriter* json) {
  json->BeginObject();
  json->Key("name").String(tool.convention->name);
  WriteTextOrNull("version", tool.version, json);
  json->Key("unit").String(UnitKey(tool.convention->unit));
  if (tool.from != nullptr) json->Key("from").String(tool.from->name);
  const bool known = tool.from != nullptr || report::HasFigure(tool.start, lower_bound);
  json->Key("start").Quantity(tool.start, known);
  json->Key("terms").BeginArray();
  for (const TermRow& term : tool.terms) WriteTerm(term, request, json);
  json->EndArray();
  json->Key("headline");
  if (tool.standing == Standing::kNotApplicable) {
    json->Null();
  } else {
    json->Quantity(*tool.headline);
  }
  json->Key("headline_name").String(tool.convention->headline);
  json->Key("passes").Int(tool.convention->passes);
  json->Key("params");
  if (tool.params) {
    json->Int(*tool.params);
  } else {
    json->Null();
  }
  json->Key("status").String(StandingName(tool.standing));
  json->Key("assumptions").BeginArray();
  for (const std::string& text : tool.assumptions) json->String(text);
  json->EndArray();
  json->Key("source").String(tool.convention->source);
  json->EndObject();
}

namespace {

void WriteComparison(const CompareReport& report, JsonWriter* json) {
  json->BeginObject();
  json->Key("schema").String("onnxflops.compare/1");
  WriteModel(report.ours.model, json);
  json->Key("bindings").BeginObject(kOneLine);
  for (const auto& [name, value] : report.ours.bindings) json->Key(name).Int(value);
  json->EndObject();
  if (!report.ours.part.empty()) json->Key("part").String(report.ours.part);
  if (!report.ours.raised.empty()) report::WriteRaised(report.ours.raised, json);
  json->Key("lower_bound").Bool(report.ours.totals.lower_bound);
  if (report.ours.samples) {
    report::WriteSamples(*report.ours.samples, report.ours.totals.lower_bound, json);
  }
  json->Key("conventions").BeginArray();
  for (const ToolRow& tool : report.tools) {
    compare::WriteTool(tool, report.request, report.ours.totals.lower_bound, json);
  }
  json->EndArray();
  json->EndObject();
}

void WriteInfo(const ConventionInfo& info, JsonWriter* json) {
  json->Key("name").String(info.name);
  WriteTextOrNull("version", info.version, json);
  json->Key("unit").String(UnitKey(info.unit));
  json->Key("headline_name").String(info.headline);
  json->Key("includes").String(info.includes);
  json->Key("misses").String(info.misses);
  json->Key("source").String(info.source);
}

void WriteConvention(const Convention& convention, JsonWriter* json) {
  json->BeginObject();
  WriteInfo(convention, json);
  json->Key("versions").BeginArray();
  for (const Convention* version : convention.versions) {
    json->BeginObject();
    WriteInfo(*version, json);
    WriteTextOrNull("since", version->since, json);
    json->Key("changed").String(version->changed);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

}  // namespace

std::string ToJson(const CompareReport& report) {
  JsonWriter json;
  WriteComparison(report, &json);
  return json.TakeText();
}

std::string ToJson(absl::Span<const CompareReport> reports) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.comparisons/1");
  json.Key("comparisons").BeginArray();
  for (const CompareReport& report : reports) WriteComparison(report, &json);
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

std::string ListConventionsAsJson() {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.conventions/1");
  json.Key("conventions").BeginArray();
  for (const Convention* convention : AllConventions()) WriteConvention(*convention, &json);
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

std::string ToHtml(const CompareReport& report) { return compare::Page(report, {}); }

std::string compare::Page(const CompareReport& report, const std::vector<std::string>& stages) {
  JsonWriter json;
  json.BeginObject();
  json.Key("compare");
  WriteComparison(report, &json);
  json.Key("flops").Quantity(report.ours.totals.flops);
  json.Key("macs").Quantity(report.ours.totals.macs);
  json.Key("sizes").BeginObject(kOneLine);
  for (const auto& [name, size] : report::ReferenceSizes(report.ours)) json.Key(name).Int(size);
  json.EndObject();
  report::WriteSymbols(report.ours.symbols, &json);
  WriteTexts("inputs", report::InputTexts(report.ours), &json);
  WriteTexts("stages", stages, &json);
  WriteTexts("samples",
             report.ours.samples
                 ? report::SampleTexts(*report.ours.samples, report.ours.totals.lower_bound)
                 : std::vector<std::string>(),
             &json);
  json.EndObject();
  return report::FoldedHtmlPage(report::FileNameOf(report.ours.model.path), "compare",
                                json.TakeText());
}

}  // namespace onnxflops
