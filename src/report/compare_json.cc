// "onnxflops.compare/1": tools/schema/compare.v1.schema.json describes every field.
#include "src/report/compare_report.h"
#include "src/report/json_parts.h"
#include "src/report/json_writer.h"

namespace onnxflops {
namespace {

void WriteTerm(const TermRow& term, const CompareRequest& request, JsonWriter* json) {
  json->BeginObject();
  json->Key("name").String(term.name);
  json->Key("reason").String(term.reason);
  if (request.by_module) {
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

void WriteTool(const ToolRow& tool, const CompareRequest& request, JsonWriter* json) {
  json->BeginObject();
  json->Key("name").String(tool.convention->name);
  json->Key("unit").String(tool.convention->unit == Unit::kMac ? "mac" : "flop");
  if (tool.from != nullptr) json->Key("from").String(tool.from->name);
  json->Key("start").Quantity(tool.start);
  json->Key("terms").BeginArray();
  for (const TermRow& term : tool.terms) WriteTerm(term, request, json);
  json->EndArray();
  json->Key("headline");
  if (tool.standing == Standing::kNotApplicable) {
    json->Null();
  } else {
    json->Quantity(tool.headline);
  }
  json->Key("headline_name").String(tool.convention->headline);
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

}  // namespace

std::string ToJson(const CompareReport& report) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.compare/1");
  WriteModel(report.ours.model, &json);
  json.Key("bindings").BeginObject(kOneLine);
  for (const auto& [name, value] : report.ours.bindings) json.Key(name).Int(value);
  json.EndObject();
  json.Key("conventions").BeginArray();
  for (const ToolRow& tool : report.tools) WriteTool(tool, report.request, &json);
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

}  // namespace onnxflops
