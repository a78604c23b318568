// "onnxflops.report/1" and "onnxflops.reports/1": tools/schema/ describes every field.
#include <utility>
#include <vector>

#include "src/report/format.h"
#include "src/report/json_parts.h"
#include "src/report/json_writer.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

constexpr auto kOneLine = JsonWriter::Layout::kOneLine;

void WriteTotals(const Totals& t, JsonWriter* json) {
  json->Key("totals").BeginObject();
  json->Key("flops").Quantity(t.flops);
  json->Key("macs").Quantity(t.macs);
  json->Key("other_flops").Quantity(t.other_flops);
  json->Key("int_ops").Quantity(t.int_ops);
  json->Key("params").Int(t.params);
  json->Key("param_bytes").Int(t.param_bytes);
  json->Key("bytes_read").Quantity(t.bytes_read);
  json->Key("bytes_written").Quantity(t.bytes_written);
  json->Key("backward_flops").Quantity(t.backward_flops);
  json->Key("backward_macs").Quantity(t.backward_macs);
  json->Key("training_flops").Quantity(t.training_flops);
  json->Key("foldable_flops").Quantity(t.foldable_flops);
  json->EndObject();
}

void WriteCensus(const char* key, const Census& census, JsonWriter* json) {
  json->Key(key).BeginObject();
  for (int i = 0; i < kNumKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    json->Key(KindName(kind)).Quantity(census[kind]);
  }
  json->EndObject();
}

void WriteTensor(const TensorInfo& tensor, JsonWriter* json) {
  json->BeginObject(kOneLine);
  json->Key("name").String(tensor.name);
  json->Key("dtype").String(tensor.type);
  json->Key("shape");
  if (tensor.shape.ranked()) {
    json->BeginArray(kOneLine);
    for (const Expr& dim : tensor.shape.dims()) json->String(dim.ToString());
    json->EndArray();
  } else {
    json->Null();
  }
  json->EndObject();
}

template <typename Tensors>
void WriteTensors(const char* key, const Tensors& tensors, JsonWriter* json) {
  json->Key(key).BeginArray();
  for (const TensorInfo& tensor : tensors) WriteTensor(tensor, json);
  json->EndArray();
}

void WriteCoverage(const Report& report, JsonWriter* json) {
  const CoverageInfo& c = report.coverage;
  json->Key("coverage").BeginObject();
  json->Key("nodes").Int(c.nodes);
  json->Key("counted").Int(c.counted);
  json->Key("free").Int(c.free);
  json->Key("unknown").Int(c.unknown);
  json->Key("lower_bound").Bool(report.totals.lower_bound);
  json->Key("items").BeginArray();
  for (const CoverageItem& item : c.items) {
    json->BeginObject();
    json->Key("node").String(item.node);
    json->Key("op").String(item.op);
    json->Key("domain").String(item.domain);
    json->Key("reason").String(item.reason);
    json->EndObject();
  }
  json->EndArray();
  WriteOmitted("items_omitted", c.items_omitted, json);
  json->EndObject();
}

void WriteSymbols(const std::vector<SymbolOrigin>& symbols, JsonWriter* json) {
  json->Key("symbols").BeginArray();
  for (const SymbolOrigin& symbol : symbols) {
    json->BeginObject(kOneLine);
    json->Key("name").String(symbol.name);
    json->Key("origin").BeginObject();
    json->Key("kind").String(OriginKindName(symbol.kind));
    json->Key("value").String(symbol.value);
    json->Key("axis").Int(symbol.axis);
    json->EndObject();
    json->EndObject();
  }
  json->EndArray();
}

void WriteOps(const std::vector<OpRow>& rows, JsonWriter* json) {
  json->Key("by_op").BeginArray();
  for (const OpRow& row : rows) {
    json->BeginObject(kOneLine);
    json->Key("op").String(row.op);
    json->Key("domain").String(row.domain);
    json->Key("nodes").Int(row.nodes);
    json->Key("runs").Quantity(row.runs);
    json->Key("flops").Quantity(row.flops);
    json->Key("macs").Quantity(row.macs);
    json->EndObject();
  }
  json->EndArray();
}

// Modules stand in the order of the text, each before its children: no recursion.
void WriteModules(const std::vector<Module>& modules, JsonWriter* json) {
  std::vector<int32_t> ends;  // of the open modules
  json->Key("modules");
  for (size_t i = 0; i < modules.size(); ++i) {
    const Module& m = modules[i];
    json->BeginObject();
    json->Key("name").String(m.name());
    json->Key("type").String(m.type);
    json->Key("path").String(m.path);
    json->Key("nodes").Int(m.nodes);
    json->Key("params").Int(m.params);
    json->Key("param_bytes").Int(m.param_bytes);
    json->Key("flops").Quantity(m.flops);
    json->Key("macs").Quantity(m.macs);
    json->Key("lower_bound").Bool(m.lower_bound);
    json->Key("children").BeginArray();
    ends.push_back(m.end);
    while (!ends.empty() && ends.back() == static_cast<int32_t>(i) + 1) {
      json->EndArray();
      json->EndObject();
      ends.pop_back();
    }
  }
}

void WriteNodes(const Report& report, JsonWriter* json) {
  json->Key("nodes").BeginArray();
  for (const NodeRow& row : report.nodes) {
    json->BeginObject();
    json->Key("name").String(row.name);
    json->Key("op").String(row.op);
    json->Key("domain").String(row.domain);
    json->Key("module").String(report.modules[static_cast<size_t>(row.module)].path);
    WriteTensors("inputs", row.inputs, json);
    WriteOmitted("inputs_omitted", row.inputs_omitted, json);
    WriteTensors("outputs", row.outputs, json);
    WriteOmitted("outputs_omitted", row.outputs_omitted, json);
    json->Key("flops").Quantity(row.flops);
    json->Key("macs").Quantity(row.macs);
    json->Key("multiplicity").Quantity(row.multiplicity);
    json->Key("status").String(StatusName(row.status));
    json->EndObject();
  }
  json->EndArray();
  WriteOmitted("nodes_omitted", report.nodes_omitted, json);
}

void WriteReport(const Report& report, JsonWriter* json) {
  json->BeginObject();
  json->Key("schema").String("onnxflops.report/1");
  WriteModel(report.model, json);
  json->Key("bindings").BeginObject(kOneLine);
  for (const auto& [name, value] : report.bindings) json->Key(name).Int(value);
  json->EndObject();
  json->Key("convention").String(report.convention);
  if (!report.assumptions.empty()) {
    json->Key("assumptions").BeginArray();
    for (const std::string& text : report.assumptions) json->String(text);
    json->EndArray();
  }
  json->Key("causal").String(report.causal == CausalCounting::kHalf ? "half" : "full");
  WriteTensors("inputs", report.inputs, json);
  WriteTensors("outputs", report.outputs, json);
  WriteTotals(report.totals, json);
  WriteCensus("census", report.census, json);
  WriteCensus("int_census", report.int_census, json);
  json->Key("macs_by_dtype").BeginObject();
  for (const auto& [type, macs] : report.macs_by_dtype) json->Key(type).Quantity(macs);
  json->EndObject();
  WriteCoverage(report, json);
  WriteSymbols(report.symbols, json);
  WriteOps(report.by_op, json);
  WriteModules(report.modules, json);
  if (report.has_nodes) WriteNodes(report, json);
  json->Key("warnings").BeginArray();
  for (const std::string& warning : report.warnings) json->String(warning);
  json->EndArray();
  json->EndObject();
}

}  // namespace

std::string ToJson(const Report& report) {
  JsonWriter json;
  WriteReport(report, &json);
  return json.TakeText();
}

std::string ToJson(absl::Span<const Report> reports) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.reports/1");
  json.Key("reports").BeginArray();
  for (const Report& report : reports) WriteReport(report, &json);
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

}  // namespace onnxflops
