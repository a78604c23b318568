// Parts that several JSON documents share. tools/schema/ describes them.
#ifndef ONNXFLOPS_SRC_REPORT_JSON_PARTS_H_
#define ONNXFLOPS_SRC_REPORT_JSON_PARTS_H_

#include "src/report/json_writer.h"
#include "src/report/report.h"

namespace onnxflops::report {

// "model": {"path", "ir_version", "opsets", "producer", "nodes"}.
void WriteModel(const ModelInfo& model, JsonWriter* json);

// "training": what CountOptions::training asked for.
void WriteTraining(const TrainingReport& training, JsonWriter* json);

// How many items a list before it leaves out; nothing if it has all.
void WriteOmitted(absl::string_view key, int64_t items, JsonWriter* json);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_JSON_PARTS_H_
