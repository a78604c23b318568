// "onnxflops.diff/1": tools/schema/diff.v1.schema.json describes every field.
//
// A program must not mistake a part for the whole. So the value of a quantity is null if nothing of
// it is known, and so is the change. The sign of a change in the totals is stated only if it is
// certain: the change is exact, or it is a bound that proves the direction (at least +5, or at most
// -5). Otherwise the sign is "unknown".
#include <optional>
#include <string>
#include <vector>

#include "src/diff/diff_parts.h"
#include "src/diff/diff_writers.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/report/json_parts.h"
#include "src/report/memory_report.h"

namespace onnxflops {
namespace {

using diff::WriteChange;
using report::JsonWriter;
using report::Known;
using report::kOneLine;

void WriteChanges(const Diff& diff, const DiffPart& part, bool weights, bool signs,
                  JsonWriter* json) {
  for (const Quantity* q : diff.quantities) {
    if (q->of == Quantity::Of::kWeights && !weights) continue;
    json->Key(q->key);
    WriteChange({*q, (*part.base).*(q->value), part.base_lower_bound, (*part.head).*(q->value),
                 part.head_lower_bound},
                signs, json);
  }
}

void WriteModules(const Diff& diff, JsonWriter* json) {
  json->Key("modules").BeginArray();
  for (const ModuleDiff& m : diff.modules) {
    json->BeginObject();
    json->Key("path").String(m.path);
    json->Key("base_path").String(m.base_path);
    json->Key("type").String(m.type);
    json->Key("depth").Int(m.depth);
    json->Key("status").String(NameOf(m.status));
    json->Key("new_level").Bool(m.new_level);
    json->Key("lower_bound").Bool(m.lower_bound());
    WriteChanges(diff, m, /*weights=*/true, /*signs=*/false, json);
    json->EndObject();
  }
  json->EndArray();
}

void WriteOps(const Diff& diff, JsonWriter* json) {
  json->Key("by_op").BeginArray();
  for (const OpDiff& op : diff.ops) {
    json->BeginObject();
    json->Key("op").String(op.op);
    json->Key("domain").String(op.domain);
    json->Key("status").String(NameOf(op.status));
    json->Key("base_nodes").Int(op.base_nodes);
    json->Key("head_nodes").Int(op.head_nodes);
    json->Key("lower_bound").Bool(op.lower_bound());
    WriteChanges(diff, op, /*weights=*/false, /*signs=*/false, json);
    json->EndObject();
  }
  json->EndArray();
}

void WriteNodes(const Diff& diff, JsonWriter* json) {
  if (!diff.has_nodes) return;
  json->Key("nodes").BeginArray();
  for (const NodeDiff& node : diff.nodes) {
    json->BeginObject();
    json->Key("name").String(node.name);
    json->Key("base_name").String(node.base_name);
    json->Key("op").String(node.op);
    json->Key("domain").String(node.domain);
    json->Key("module").String(node.module);
    json->Key("status").String(NameOf(node.status));
    json->Key("lower_bound").Bool(node.lower_bound());
    WriteChanges(diff, node, /*weights=*/false, /*signs=*/false, json);
    json->EndObject();
  }
  json->EndArray();
}

// A side that a file does not have is left out.
void WriteFacts(const char* key, const std::vector<FactDiff>& facts, JsonWriter* json) {
  json->Key(key).BeginArray();
  for (const FactDiff& fact : facts) {
    json->BeginObject(kOneLine);
    json->Key("name").String(fact.name);
    if (fact.base) json->Key("base").String(*fact.base);
    if (fact.head) json->Key("head").String(*fact.head);
    json->EndObject();
  }
  json->EndArray();
}

void WriteUnequalSizes(const char* key, const std::vector<UnequalSize>& sizes, JsonWriter* json) {
  if (sizes.empty()) return;
  json->Key(key).BeginArray();
  for (const UnequalSize& size : sizes) {
    json->BeginObject(kOneLine);
    json->Key("input").String(size.input);
    json->Key("axis").Int(size.axis);
    json->Key("symbol").String(size.symbol);
    json->Key("open_in").String(size.open_in_head ? "head" : "base");
    json->Key("fixed").Int(size.fixed);
    if (size.size) json->Key("asked").Int(*size.size);
    json->EndObject();
  }
  json->EndArray();
}

void WriteOtherInputs(const Diff& diff, JsonWriter* json) {
  if (diff.other_inputs.empty()) return;
  json->Key("other_inputs").BeginArray();
  for (const OtherInput& other : diff.other_inputs) {
    json->BeginObject(kOneLine);
    json->Key("input").String(other.input);
    if (other.axis) json->Key("axis").Int(*other.axis);
    json->Key("base").Int(other.base);
    json->Key("head").Int(other.head);
    json->EndObject();
  }
  json->EndArray();
}

void WriteOtherDevice(const Diff& diff, JsonWriter* json) {
  if (!diff.other_device) return;
  json->Key("other_device").BeginObject();
  for (const TimedOn* on : {&diff.other_device->base, &diff.other_device->head}) {
    json->Key(on == &diff.other_device->base ? "base" : "head").BeginObject(kOneLine);
    json->Key("device").String(on->device);
    json->Key("dtype").String(on->dtype);
    json->Key("flops_per_second").Number(on->flops_per_second);
    json->Key("bytes_per_second").Int(on->bytes_per_second);
    json->EndObject();
  }
  json->EndObject();
}

void WriteSymbols(const Diff& diff, JsonWriter* json) {
  json->Key("symbols").BeginObject();
  const auto list = [&](const char* key, const std::vector<std::string>& names) {
    json->Key(key).BeginArray(kOneLine);
    for (const std::string& name : names) json->String(name);
    json->EndArray();
  };
  list("removed", diff.base_symbols);
  list("added", diff.head_symbols);
  json->Key("renamed").BeginArray();
  for (const auto& [from, to] : diff.renamed_symbols) {
    json->BeginObject(kOneLine);
    json->Key("base").String(from);
    json->Key("head").String(to);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

}  // namespace

namespace diff {

void WriteChange(const Sides& sides, bool sign, JsonWriter* json) {
  const Quantity& q = sides.q;
  const Expr change = sides.head - sides.base;
  const std::optional<absl::int128> value =
      change.is_literal() ? std::optional(change.literal()) : std::nullopt;
  const Known known = report::KnownOfChange(sides.base_known, sides.head_known, value);
  json->BeginObject(kOneLine);
  json->Key("base").Figure(q, sides.base, sides.base_known != Known::kNothing);
  json->Key("head").Figure(q, sides.head, sides.head_known != Known::kNothing);
  json->Key("delta").Figure(q, change, known != Known::kNothing);
  if (sign) {
    const bool holds = known == Known::kExact ||
                       (known == Known::kAtLeast && value && *value > 0) ||
                       (known == Known::kAtMost && value && *value < 0);
    json->Key("sign").String(NameOf(holds ? SignOf(change) : DiffSign::kUnknown));
  }
  json->EndObject();
}

void WriteDiff(const Diff& diff, JsonWriter* out, JsonWriter::Layout layout) {
  JsonWriter& json = *out;
  json.BeginObject(layout);
  json.Key("schema").String("onnxflops.diff/1");
  if (diff.has_base) report::WriteModel(diff.base, &json, "base");
  report::WriteModel(diff.head, &json, "head");
  if (!diff.part.empty()) json.Key("part").String(diff.part);
  report::WriteSizes("base_bindings", diff.base_bindings, &json);
  report::WriteSizes("head_bindings", diff.head_bindings, &json);
  json.Key("empty").Bool(diff.IsEmpty());
  json.Key("lower_bound").Bool(diff.lower_bound);
  json.Key("totals").BeginObject();
  WriteChanges(diff, diff.modules[0], /*weights=*/true, /*signs=*/true, &json);
  if (diff.peak) {
    json.Key(kPeakActivations.key);
    WriteChange(SidesOfPeak(kPeakActivations, *diff.peak), /*sign=*/true, &json);
  }
  json.EndObject();
  WriteFacts("facts", diff.facts, &json);
  WriteFacts("inputs", diff.inputs, &json);
  WriteFacts("outputs", diff.outputs, &json);
  WriteSymbols(diff, &json);
  WriteUnequalSizes("made_equal", diff.made_equal, &json);
  WriteUnequalSizes("unequal_sizes", diff.unequal_sizes, &json);
  WriteOtherInputs(diff, &json);
  WriteOtherDevice(diff, &json);
  WriteOps(diff, &json);
  WriteModules(diff, &json);
  WriteNodes(diff, &json);
  json.EndObject();
}

}  // namespace diff

std::string ToJson(const Diff& diff) {
  JsonWriter json;
  diff::WriteDiff(diff, &json, JsonWriter::Layout::kLines);
  return json.TakeText();
}

}  // namespace onnxflops
