#include "src/check/decision.h"

#include "src/check/check_writers.h"
#include "src/check/verdict_text.h"
#include "src/render/json_writer.h"

namespace onnxflops {
namespace {

void WriteDecidedFile(const DecidedFile& file, report::JsonWriter* json) {
  json->Key("path").String(file.path);
  json->Key("sha256");
  if (file.sha256) {
    json->String(*file.sha256);
  } else {
    json->Null();
  }
}

}  // namespace

std::string ToDecision(const CheckReport& report, const DecisionInfo& info) {
  report::JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.decision/1");
  json.Key("version").String(info.version);
  json.Key("day").String(info.day);
  json.Key("models").BeginArray();
  for (const DecisionInfo::Model& model : info.models) {
    json.BeginObject(report::JsonWriter::Layout::kOneLine);
    WriteDecidedFile(model, &json);
    if (model.base) {
      json.Key("base").BeginObject();
      WriteDecidedFile(*model.base, &json);
      json.EndObject();
    }
    json.EndObject();
  }
  json.EndArray();
  json.Key("budgets");
  const bool has_one = info.budgets.size() == 1;
  if (!has_one) json.BeginArray();
  for (const DecidedFile& file : info.budgets) {
    json.BeginObject(report::JsonWriter::Layout::kOneLine);
    WriteDecidedFile(file, &json);
    json.EndObject();
  }
  if (!has_one) json.EndArray();
  json.Key("passed").Bool(report.passed());
  check::WriteRules(report, &json);
  json.EndObject();
  return json.TakeText();
}

}  // namespace onnxflops
