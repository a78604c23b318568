// "onnxflops.report/1" and "onnxflops.reports/1": tools/schema/ describes every field.
//
// How it works. The report is written in the order of the schema. A field that was not asked for is
// absent; one that this report cannot have (kinds of operations in another tool's count) is null.
// Work is a quantity, with its formula and its value or null; if it depends on sizes inside the
// model, it has a range as well. Modules are written in the order of the list with a stack of ends,
// so that deep trees need no recursion. Several reports are joined as texts, because only the texts
// of counted models are kept in memory.
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/report/json_parts.h"
#include "src/report/ranges.h"
#include "src/report/summary.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

using report::HasFigure;
using report::JsonWriter;
using report::kOneLine;
using report::Ranges;
using report::StatusName;
using report::WriteBound;
using report::WriteOmitted;
using report::WritePeakTotal;
using report::WriteReport;
using report::WriteTensors;

// A quantity; with its range if it depends on sizes that no input has.
void WriteWork(const Quantity& q, const Expr& amount, bool lower_bound, const Ranges& ranges,
               JsonWriter* json) {
  if (ranges.Varies(amount)) {
    json->Range(q, amount, ranges.Lowest(amount), ranges.Highest(amount));
  } else {
    json->Figure(q, amount, HasFigure(amount, lower_bound));
  }
}

// Weights are known; work may be an expression.
void WriteQuantity(const Quantity& q, const Expr& amount, bool lower_bound, const Ranges& ranges,
                   JsonWriter* json) {
  if (q.of == Quantity::Of::kWeights) {
    json->Int(amount.literal());
  } else {
    WriteWork(q, amount, lower_bound, ranges, json);
  }
}

// Every quantity of a row; those that another tool's count does not have are null. Nodes and
// operators have no weights.
void WriteAmounts(const Report& report, const Amounts& amounts, bool lower_bound, bool weights,
                  const Ranges& ranges, JsonWriter* json) {
  for (const Quantity& q : kQuantities) {
    if (!report.Lists(q) || (q.of == Quantity::Of::kWeights && !weights)) continue;
    json->Key(q.key);
    if (report.Has(q)) {
      WriteQuantity(q, amounts.*q.value, lower_bound, ranges, json);
    } else {
      json->Null();
    }
  }
  if (report.roofline) WriteBound(report, amounts, lower_bound, json);
}

void WriteTotals(const Report& report, const Ranges& ranges, JsonWriter* json) {
  json->Key("totals").BeginObject();
  for (const Quantity& q : kQuantities) {
    if (!report.Lists(q) || q.is_exact_form()) continue;
    json->Key(q.key);
    if (report.Has(q)) {
      WriteQuantity(q, report.totals.*q.value, report.totals.lower_bound, ranges, json);
    } else if (q.value == &Amounts::params && report.tool->params) {
      json->Int(*report.tool->params);
    } else {
      json->Null();
    }
  }
  for (const Quantity* q : kDerivedQuantities) {
    json->Key(q->key);
    if (report.Has(*q)) {
      WriteWork(*q, report.In(*q, report.totals), report.totals.lower_bound, ranges, json);
    } else {
      json->Null();
    }
  }
  if (report.memory) WritePeakTotal(*report.memory, json);
  json->EndObject();
}

void WriteCensus(const char* key, const Census& census, bool lower_bound, JsonWriter* json) {
  json->Key(key).BeginObject();
  for (int i = 0; i < kNumKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    json->Key(KindName(kind)).Quantity(census[kind], HasFigure(census[kind], lower_bound));
  }
  json->EndObject();
}

// The work by kind and by type; null for other tools, which do not tell these apart.
void WriteKinds(const Report& report, JsonWriter* json) {
  if (report.tool) {
    for (const char* key : {"census", "int_census", "macs_by_dtype", "bops"}) {
      json->Key(key).Null();
    }
    return;
  }
  WriteCensus("census", report.census, report.totals.lower_bound, json);
  WriteCensus("int_census", report.int_census, report.totals.lower_bound, json);
  json->Key("macs_by_dtype").BeginObject();
  for (const auto& [types, macs] : report.macs_by_dtype) {
    json->Key(types.ToString()).Quantity(macs);
  }
  json->EndObject();
  json->Key("bops");
  if (report.Has(QuantityOf(&Amounts::bops))) {
    json->Quantity(report.totals.bops, HasFigure(report.totals.bops, report.totals.lower_bound));
  } else {
    json->Null();
  }
}

// The convention; for another tool, its figure and its assumptions.
void WriteConvention(const Report& report, JsonWriter* json) {
  json->Key("convention").String(report.convention);
  if (!report.tool) return;
  json->Key("convention_version");
  if (report.tool->version.empty()) {
    json->Null();
  } else {
    json->String(report.tool->version);
  }
  json->Key("unit").String(report.tool->counts_macs ? "mac" : "flop");
  json->Key("headline").Quantity(report.tool->headline);
  json->Key("headline_name").String(report.tool->headline_name);
  if (report.tool->assumptions.empty()) return;
  json->Key("assumptions").BeginArray();
  for (const std::string& text : report.tool->assumptions) json->String(text);
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

void WriteOps(const Report& report, const Ranges& ranges, JsonWriter* json) {
  json->Key("by_op");
  if (!report.has_rows()) {
    json->Null();
    return;
  }
  json->BeginArray();
  for (const OpRow& row : report.by_op) {
    json->BeginObject(kOneLine);
    json->Key("op").String(row.op);
    json->Key("domain").String(row.domain);
    json->Key("nodes").Int(row.nodes);
    json->Key("runs").Quantity(row.runs);
    WriteAmounts(report, row, row.lower_bound, /*weights=*/false, ranges, json);
    json->Key("lower_bound").Bool(row.lower_bound);
    json->EndObject();
  }
  json->EndArray();
}

// Modules stand in the order of the text, each before its children: no recursion.
void WriteModules(const Report& report, const Ranges& ranges, JsonWriter* json) {
  const std::vector<Module>& modules = report.modules;
  std::vector<int32_t> ends;  // of the open modules
  json->Key("modules");
  for (size_t i = 0; i < modules.size(); ++i) {
    const Module& m = modules[i];
    json->BeginObject();
    json->Key("name").String(m.name());
    json->Key("type").String(m.type);
    json->Key("path").String(m.path);
    json->Key("nodes").Int(m.nodes);
    WriteAmounts(report, *m.amounts, m.lower_bound, /*weights=*/true, ranges, json);
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

void WriteNodes(const Report& report, const Ranges& ranges, JsonWriter* json) {
  json->Key("nodes");
  if (!report.has_rows()) {
    json->Null();
    return;
  }
  json->BeginArray();
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
    WriteAmounts(report, row, row.status == Coverage::kUnknown, /*weights=*/false, ranges, json);
    json->Key("multiplicity").Quantity(row.multiplicity);
    json->Key("status").String(StatusName(row.status));
    json->EndObject();
  }
  json->EndArray();
  WriteOmitted("nodes_omitted", report.nodes_omitted, json);
}

void WriteCopies(const char* key, const std::vector<WeightCopy>& copies, JsonWriter* json) {
  if (copies.empty()) return;
  json->Key(key).BeginArray();
  for (const WeightCopy& copy : copies) {
    json->BeginObject(kOneLine);
    json->Key("copy").String(copy.copy);
    json->Key("original").String(copy.original);
    json->Key("params").Int(copy.params);
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace

void report::WriteSymbols(absl::Span<const SymbolOrigin> symbols, JsonWriter* json) {
  json->Key("symbols").BeginArray();
  for (const SymbolOrigin& symbol : symbols) {
    json->BeginObject(kOneLine);
    json->Key("name").String(symbol.name);
    json->Key("origin").BeginObject();
    json->Key("kind").String(OriginKindName(symbol.kind));
    json->Key("value").String(symbol.value);
    json->Key("axis").Int(symbol.axis);
    json->EndObject();
    if (symbol.at_most) json->Key("at_most").Quantity(*symbol.at_most);
    if (symbol.sum) json->Key("sum").Quantity(*symbol.sum);
    if (symbol.is_past) json->Key("least").Int(0);
    json->EndObject();
  }
  json->EndArray();
}

void report::WriteReport(const Report& report, JsonWriter* json, JsonWriter::Layout layout) {
  const Ranges ranges(report);
  json->BeginObject(layout);
  json->Key("schema").String("onnxflops.report/1");
  WriteModel(report.model, json);
  if (!report.part.empty()) json->Key("part").String(report.part);
  json->Key("bindings").BeginObject(kOneLine);
  for (const auto& [name, value] : report.bindings) json->Key(name).Int(value);
  json->EndObject();
  if (report.upper_bounds) WriteRaised(report.raised, json);
  WriteConvention(report, json);
  json->Key("causal").String(report.causal == CausalCounting::kHalf ? "half" : "full");
  WriteTensors("inputs", report.inputs, json);
  WriteTensors("outputs", report.outputs, json);
  if (report.samples) {
    WriteSamples(*report.samples, report.totals.lower_bound, json);
  }
  WriteTotals(report, ranges, json);
  if (report.roofline) WriteRoofline(report, json);
  if (report.lora) WriteLora(*report.lora, json);
  if (report.training) WriteTraining(*report.training, json);
  if (report.memory) WriteMemory(*report.memory, json);
  WriteKinds(report, json);
  WriteCoverage(report, json);
  WriteSymbols(report.symbols, json);
  WriteOps(report, ranges, json);
  WriteModules(report, ranges, json);
  if (report.has_nodes) WriteNodes(report, ranges, json);
  WriteCopies("tied", report.tied, json);
  WriteCopies("likely_copies", report.likely_copies, json);
  json->Key("warnings").BeginArray();
  for (const std::string& warning : AllWarnings(report)) json->String(warning);
  json->EndArray();
  json->EndObject();
}

std::string ToJson(const Report& report) {
  JsonWriter json;
  WriteReport(report, &json);
  return json.TakeText();
}

std::string ToJsonLine(const Report& report) {
  JsonWriter json;
  WriteReport(report, &json, kOneLine);
  return json.TakeText();
}

std::string ToJsonElement(const Report& report) {
  JsonWriter json(2);
  WriteReport(report, &json);
  return json.TakeText();
}

std::string JoinJson(absl::Span<const std::string> elements) {
  constexpr absl::string_view kSchema = "onnxflops.reports/1";
  std::string out = absl::StrCat("{\n  \"schema\": \"", kSchema, "\",\n  \"reports\": [");
  const char* separator = "\n    ";
  for (absl::string_view element : elements) {
    absl::StrAppend(&out, separator, absl::StripSuffix(element, "\n"));
    separator = ",\n    ";
  }
  return absl::StrCat(out, "\n  ]\n}\n");
}

std::string ToJson(absl::Span<const Report> reports) {
  std::vector<std::string> elements;
  elements.reserve(reports.size());
  for (const Report& report : reports) elements.push_back(ToJsonElement(report));
  return JoinJson(elements);
}

}  // namespace onnxflops
