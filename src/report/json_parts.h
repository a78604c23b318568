// Parts that several JSON documents share. tools/schema/ describes them.
#ifndef ONNXFLOPS_SRC_REPORT_JSON_PARTS_H_
#define ONNXFLOPS_SRC_REPORT_JSON_PARTS_H_

#include "absl/strings/string_view.h"
#include "src/report/json_writer.h"
#include "src/report/report.h"

namespace onnxflops::report {

// "model": {"path", "ir_version", "opsets", "producer", "nodes"}; or by another key.
void WriteModel(const ModelInfo& model, JsonWriter* json, absl::string_view key = "model");

// How many items a list before it leaves out; nothing if it has all.
void WriteOmitted(absl::string_view key, int64_t items, JsonWriter* json);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_JSON_PARTS_H_
