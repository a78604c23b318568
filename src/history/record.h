// A line of a history: what a model costs at a commit.
//
//   HistoryRecord record = RecordOf(report);           // figures and sizes
//   record.date = "2026-11-26T06:00:00Z";
//   std::string line = ToJsonLine(record);             // {"schema": "onnxflops.record/1", ...}\n
//   absl::StatusOr<HistoryRecord> again = ParseRecord(line);
//
// tools/schema/record.v1.schema.json describes every field.
#ifndef ONNXFLOPS_SRC_HISTORY_RECORD_H_
#define ONNXFLOPS_SRC_HISTORY_RECORD_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/cost/amounts.h"
#include "src/pipeline/pipeline_report.h"
#include "src/report/report.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

struct RecordedFigure {
  enum class Status : uint8_t {
    kExact,
    kLowerBound,  // a part is not counted
    kUnknown,     // nothing of it is counted
    kOpen,        // it depends on sizes that are not given
  };
  Status status = Status::kExact;
  absl::int128 value = 0;  // of kExact and kLowerBound
  std::string expr;        // of kOpen; "": it is too long to be kept

  friend bool operator==(const RecordedFigure& a, const RecordedFigure& b) = default;
};
// "exact", "lower_bound", "unknown", "open".
absl::string_view NameOf(RecordedFigure::Status status);

struct HistoryRecord {
  std::string date;     // in UTC: "2026-11-26T06:00:00Z"
  std::string commit;   // in hexadecimal; "": of no repository
  std::string model;    // path
  std::string sha256;   // of the model's bytes; "": they can be read only once
  std::string version;  // of onnxflops
  std::string device;   // whose times the totals have, "h100-sxm, bf16"; "": none, or not recorded
  Bindings sizes;       // that it was counted at
  // In the order of RecordedQuantities(). A quantity that the count does not have is left out.
  std::vector<std::pair<const Quantity*, RecordedFigure>> totals;
  std::vector<std::pair<const Quantity*, absl::int128>> limits;  // of the whole model

  const RecordedFigure* Find(const Quantity& quantity) const;
};

// Those of totals in JSON: all that add up, what follows from them, the peak of activations, and
// the memory of a pipeline.
const std::vector<const Quantity*>& RecordedQuantities();
// One of them by its key; nullptr if there is none.
const Quantity* FindRecordedQuantity(absl::string_view key);

// The figures of a report, and the sizes that it was counted at.
HistoryRecord RecordOf(const Report& report);
// The same of a pipeline. Of its parameters, sizes are those that the call gave: another number in
// the file is a change of the pipeline.
HistoryRecord RecordOf(const PipelineReport& report, const Bindings& given);

// JSON on one line, with its end.
std::string ToJsonLine(const HistoryRecord& record);

// Fields and quantities that it does not know are left out: a later version may have written them.
// InvalidArgument for what is no such line, "'date' should be ..."; if it is no JSON, the message
// begins with "line 1, column 5: ". OutOfRange above kMaxHistoryLine.
absl::StatusOr<HistoryRecord> ParseRecord(absl::string_view line);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_HISTORY_RECORD_H_
