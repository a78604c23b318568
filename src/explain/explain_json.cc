// "onnxflops.explain/1": tools/schema/ describes every field.
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/explain/explain.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/report/json_parts.h"

namespace onnxflops {
namespace {

using report::JsonWriter;
using report::kOneLine;
using report::StatusName;
using report::WriteOmitted;
using report::WriteTensors;

// The node's place, its inputs and its outputs.
void WriteNode(const Explanation& e, JsonWriter* json) {
  json->Key("path").String(e.model);
  json->Key("node").String(e.node.name);
  json->Key("number").Int(e.number);
  json->Key("nodes_of_that_name").Int(e.nodes_of_that_name);
  json->Key("op").String(e.node.op);
  json->Key("domain").String(e.node.domain);
  json->Key("opset").Int(e.opset);
  json->Key("rule_version").Int(e.version);
  json->Key("module").String(e.module);
  json->Key("type").String(e.module_type);
  WriteTensors("inputs", e.node.inputs, json);
  WriteOmitted("inputs_omitted", e.node.inputs_omitted, json);
  WriteTensors("outputs", e.node.outputs, json);
  WriteOmitted("outputs_omitted", e.node.outputs_omitted, json);
}

void WriteRule(const Explanation& e, JsonWriter* json) {
  json->Key("status").String(StatusName(e.node.status));
  json->Key("reason").String(e.reason);
  json->Key("shape_work").Bool(e.shape_work);
  json->Key("formula").String(e.formula);
  json->Key("names").String(e.names);
  WriteTexts("where", e.where, json);
  json->Key("note").String(e.note);
  WriteTexts("exceptions", e.exceptions, json);
}

void WriteCost(const Explanation& e, JsonWriter* json) {
  json->Key("terms").BeginArray();
  for (const Explanation::Term& term : e.terms) {
    json->BeginObject(kOneLine);
    json->Key("kind").String(term.kind);
    json->Key("how").String(term.how);
    json->Key("amount").Quantity(term.amount);
    json->EndObject();
  }
  json->EndArray();
  json->Key("bodies").BeginArray();
  for (const Explanation::Body& body : e.bodies) {
    json->BeginObject(kOneLine);
    json->Key("name").String(body.name);
    json->Key("how").String(body.how);
    json->Key("flops").Quantity(body.flops);
    json->Key("macs").Quantity(body.macs);
    json->EndObject();
  }
  json->EndArray();
  json->Key("macs_by_dtype").BeginObject();
  for (const auto& [types, macs] : e.macs_by_dtype) json->Key(types.ToString()).Quantity(macs);
  json->EndObject();
  json->Key("runs").Quantity(e.node.multiplicity);
  const bool unknown = e.node.status == Coverage::kUnknown;
  for (const Quantity& q : kQuantities) {
    if (q.of == Quantity::Of::kWeights || q.needs != Quantity::Needs::kNothing) continue;
    json->Key(q.key);
    if (unknown) {
      json->Null();
    } else {
      json->Quantity(e.amounts.*q.value);
    }
  }
  json->Key("model_flops").Quantity(e.total_flops);
}

}  // namespace

std::string ToJson(const Explanation& explanation) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.explain/1");
  WriteNode(explanation, &json);
  if (!explanation.raised.empty()) report::WriteRaised(explanation.raised, &json);
  WriteRule(explanation, &json);
  WriteCost(explanation, &json);
  json.EndObject();
  return json.TakeText();
}

}  // namespace onnxflops
