// The log of a training, line by line: JSON, or CSV with a line of titles.
//
//   {"step": 20, "time": 1700000012.5, "batch": 32, "seq": 512, "loss": 2.31}
//   {"step": 21, "step_seconds": 0.41, "batch": 32, "mask_sum": 14022}
//
// A line has a step; `time` (seconds, of any clock that goes on) or `step_seconds`; sizes by the
// names of the model's symbols; `samples`, `images` or `batch_size`; `tokens`, or `mask_sum`, the
// sum of an attention mask. Other fields are not read.
#ifndef ONNXFLOPS_SRC_MONITOR_STEP_LOG_H_
#define ONNXFLOPS_SRC_MONITOR_STEP_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

struct StepRecord {
  std::optional<int64_t> step;
  std::optional<double> time, step_seconds;
  std::optional<int64_t> tokens;  // of the step; also by `mask_sum`
  std::optional<int64_t> samples;
  absl::btree_map<std::string, int64_t> sizes;  // every other field that is a whole number
  std::vector<std::string> faults;              // fields that are no figure: "step_seconds is NaN"
};

class StepLog {
 public:
  // What a line says; nullopt where it says nothing: it is blank, or the titles of CSV.
  // InvalidArgument for what is neither JSON nor CSV.
  absl::StatusOr<std::optional<StepRecord>> Read(absl::string_view line);

 private:
  std::vector<std::string> titles_;  // of CSV
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MONITOR_STEP_LOG_H_
