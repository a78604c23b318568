// The object "memory" of "onnxflops.report/1".
#include "absl/strings/str_cat.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/report/json_parts.h"

namespace onnxflops::report {
namespace {

// Unknown values are left out.
void WriteKnownText(const char* key, const std::string& text, JsonWriter* json) {
  if (!text.empty()) json->Key(key).String(text);
}

// The formula, or the figure at the sizes of `at` if there is no formula.
void WritePeakBytes(const char* key, const PeakRow& row, JsonWriter* json) {
  if (row.bytes) {
    json->Key(key).Quantity(*row.bytes);
  } else if (row.value) {
    json->Key(key).Quantity(Expr(*row.value));
  }
}

void WritePeakRow(const PeakRow& row, JsonWriter* json) {
  json->BeginObject(kOneLine);
  json->Key("views").Bool(row.views);
  json->Key("in_place").Bool(row.in_place);
  json->Key("inputs").Bool(row.inputs);
  WritePeakBytes("bytes", row, json);
  json->Key("for_all_sizes").Bool(row.bytes.has_value());
  WriteKnownText("at_node", row.node, json);
  json->EndObject();
}

void WriteAlive(const MemoryReport& memory, JsonWriter* json) {
  json->Key("alive").BeginArray();
  for (const AliveTensor& tensor : memory.alive) {
    json->BeginObject(kOneLine);
    json->Key("name").String(tensor.name);
    json->Key("dtype").String(tensor.type);
    json->Key("shape");
    if (tensor.shape.ranked()) {
      json->BeginArray();
      for (const Expr& dim : tensor.shape.dims()) json->String(dim.ToString());
      json->EndArray();
    } else {
      json->Null();
    }
    json->Key("bytes").Quantity(tensor.bytes);
    json->EndObject();
  }
  json->EndArray();
  WriteOmitted("alive_omitted", memory.alive_omitted, json);
}

void WriteCache(const CacheReport& cache, JsonWriter* json) {
  json->Key("kv_cache").BeginObject();
  json->Key("tensors").Int(cache.tensors);
  json->Key("length").Quantity(cache.length);
  if (cache.bytes_per_token) json->Key("bytes_per_token").Quantity(*cache.bytes_per_token);
  json->Key("bytes").Quantity(cache.bytes);
  if (cache.bytes_after) {
    json->Key("length_after").Quantity(cache.length_after);
    json->Key("bytes_after").Quantity(*cache.bytes_after);
  }
  json->Key("fixed_bytes").Quantity(cache.fixed_bytes);
  json->EndObject();
}

void WriteStep(const StepRow& step, JsonWriter* json) {
  if (step.bytes) {
    json->Key("training_peak_bytes").Quantity(*step.bytes);
  } else if (step.value) {
    json->Key("training_peak_bytes").Quantity(Expr(*step.value));
  }
  json->Key("training_peak_for_all_sizes").Bool(step.bytes.has_value());
  if (step.value) json->Key("training_peak_value").Int(*step.value);
  json->Key("training_peak_in").String(step.phase);
  WriteKnownText("training_peak_at_node", step.node, json);
  json->Key("training_peak_lower_bound").Bool(step.lower_bound);
}

void WriteFit(const FitReport& fit, JsonWriter* json) {
  json->Key("fit").BeginObject();
  json->Key("bytes").Int(fit.bytes);
  json->Key("symbol").String(fit.symbol);
  for (const FitRow& row : fit.rows) {
    if (row.largest) json->Key(row.name).Int(*row.largest);
    json->Key(absl::StrCat(row.name, "_at_most")).Bool(row.at_most);
    json->Key(absl::StrCat(row.name, "_guessed")).Bool(row.guessed);
    json->Key(absl::StrCat(row.name, "_of_model")).Bool(row.of_model);
  }
  json->EndObject();
}

}  // namespace

void WritePeakTotal(const MemoryReport& memory, JsonWriter* json) {
  const char* key = "peak_activation_bytes";
  if (memory.peak.bytes || memory.at.empty()) return WritePeakBytes(key, memory.peak, json);
  json->Key(key).Null();  // totals hold for all sizes
}

void WriteMemory(const MemoryReport& memory, JsonWriter* json) {
  json->Key("memory").BeginObject();
  json->Key("order").String(OrderName(memory.options.order));
  WritePeakBytes("inference_peak_bytes", memory.peak, json);
  json->Key("for_all_sizes").Bool(memory.peak.bytes.has_value());
  report::WriteSizes("at", memory.at, json);
  if (memory.peak.value) json->Key("peak_value").Int(*memory.peak.value);
  WriteKnownText("at_node", memory.peak.node, json);
  WriteKnownText("at_op", memory.peak.op.empty() ? "" : OpLabel(memory.peak.domain, memory.peak.op),
                 json);
  WriteAlive(memory, json);
  json->Key("inside_bytes").Quantity(memory.alive_inside);
  json->Key("unknown_sizes").Int(memory.unknown_sizes);
  json->Key("peaks").BeginArray();
  WritePeakRow(memory.peak, json);
  for (const PeakRow& row : memory.other) WritePeakRow(row, json);
  json->EndArray();
  json->Key("param_bytes").Int(memory.param_bytes);
  json->Key("trained_params").Int(memory.trained_params);
  json->Key("gradient_bytes").Int(memory.gradient_bytes);
  json->Key("optimizer").String(InfoOf(memory.options.training.optimizer).name);
  json->Key("optimizer_bytes").Int(memory.optimizer_bytes);
  json->Key("master_bytes").Int(memory.master_bytes);
  json->Key("loss").String(LossName(memory.options.training.loss));
  json->Key("loss_bytes").Quantity(memory.step.loss_bytes);
  WriteKnownText("loss_output", memory.step.loss_output, json);
  json->Key("cross_entropy_bytes").Quantity(memory.step.cross_entropy_bytes);
  WriteStep(memory.step, json);
  json->Key("attention").String(AttentionName(memory.options.training.attention));
  json->Key("recompute").String(RecomputeName(memory.options.training.recompute));
  json->Key("training_saved_bytes")
      .Quantity(memory.saved_bytes, HasFigure(memory.saved_bytes, memory.unknown_saved > 0));
  if (memory.saved_value) json->Key("training_saved_value").Int(*memory.saved_value);
  json->Key("training_formulas_from").Int(kMinTrainingSize);
  json->Key("training_saved_input_bytes").Quantity(memory.saved_input_bytes);
  json->Key("unknown_saved").Int(memory.unknown_saved);
  json->Key("training_guessed").Bool(memory.saved_guessed);
  if (memory.cache) WriteCache(*memory.cache, json);
  if (memory.fit) WriteFit(*memory.fit, json);
  json->EndObject();
}

}  // namespace onnxflops::report
