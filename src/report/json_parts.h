// Parts that several JSON documents share. tools/schema/ describes them.
#ifndef ONNXFLOPS_SRC_REPORT_JSON_PARTS_H_
#define ONNXFLOPS_SRC_REPORT_JSON_PARTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/graph/symbol_origin.h"
#include "src/render/json_writer.h"
#include "src/report/report.h"

namespace onnxflops::report {

// "onnxflops.report/1".
void WriteReport(const Report& report, JsonWriter* json,
                 JsonWriter::Layout layout = JsonWriter::Layout::kLines);

// "model": {"path", "ir_version", "opsets", "producer", "nodes"}; or by another key.
void WriteModel(const ModelInfo& model, JsonWriter* json, absl::string_view key = "model");

// {"name", "dtype", "shape"}.
void WriteTensor(const TensorInfo& tensor, JsonWriter* json);
// A list of TensorInfo, or of a derived type.
template <typename Tensors>
void WriteTensors(const char* key, const Tensors& tensors, JsonWriter* json) {
  json->Key(key).BeginArray();
  for (const TensorInfo& tensor : tensors) WriteTensor(tensor, json);
  json->EndArray();
}

// Sizes by name, in one line: {"batch": 8, "seq": 128}.
void WriteSizes(absl::string_view key, const Bindings& sizes, JsonWriter* json);

// A list of texts.
void WriteTexts(absl::string_view key, const std::vector<std::string>& texts, JsonWriter* json,
                JsonWriter::Layout layout = JsonWriter::Layout::kLines);

// "symbols": the open sizes, and their origins.
void WriteSymbols(absl::Span<const SymbolOrigin> symbols, JsonWriter* json);

// "roofline": the device, and the bound on the time of a run of the model.
void WriteRoofline(const Report& report, JsonWriter* json);
// "bound": the limiting factor of a row's time. REQUIRES: Report::roofline is set.
void WriteBound(const Report& report, const Amounts& amounts, bool lower_bound, JsonWriter* json);

// "samples": the result of CountOptions::samples. `lower_bound`: a part is not counted.
void WriteSamples(const SamplesReport& samples, bool lower_bound, JsonWriter* json);

// "lora": the result of CountOptions::lora.
void WriteLora(const LoraSummary& lora, JsonWriter* json);
// "training": the result of CountOptions::training.
void WriteTraining(const TrainingReport& training, JsonWriter* json);

// "peak_activation_bytes" of the totals, and "memory": the result of CountOptions::memory.
void WritePeakTotal(const MemoryReport& memory, JsonWriter* json);
void WriteMemory(const MemoryReport& memory, JsonWriter* json);

// How many items a list before it leaves out; nothing if it has all.
void WriteOmitted(absl::string_view key, int64_t items, JsonWriter* json);

// The values of sizes inside the model: "upper_bounds".
void WriteRaised(const std::vector<SymbolOrigin>& raised, JsonWriter* json);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_JSON_PARTS_H_
