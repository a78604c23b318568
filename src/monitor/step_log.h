// The log of a training, line by line: JSON, or CSV with a line of titles.
//
//   {"step": 20, "time": 1700000012.5, "batch": 32, "seq": 512, "loss": 2.31}
//   {"step": 21, "step_seconds": 0.41, "batch": 32, "mask_sum": 14022}
//
// A line has a step; `time` (seconds of any clock that goes on, milliseconds since 1970, or an ISO
// 8601 time) or `step_seconds` ("250ms" and "0:00:02" as well), or a rate of steps, samples or
// tokens; sizes by the names of the model's symbols; `samples`, `images` or `batch_size`; `tokens`,
// or `mask_sum`, the sum of an attention mask; `lengths` of all samples, or `cu_seqlens`;
// `grid_thw`, the patches of each sample's image or images, with `image_counts`; and `audio`,
// frames or seconds of each sample. Other fields are not read. kLogNames in step_log.cc has the
// names that other programs' logs use.
//
// Lines of text as Megatron and nanoGPT print them are read, too, as are Python's dicts, which
// Hugging Face prints, and whole documents of JSON, as trainer_state.json, on one line or over
// several: an object of a list is a line.
#ifndef ONNXFLOPS_SRC_MONITOR_STEP_LOG_H_
#define ONNXFLOPS_SRC_MONITOR_STEP_LOG_H_

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/monitor/audio_work.h"

namespace onnxflops {

namespace monitor {
inline constexpr char kDifferentSamples[] = "lengths and cu_seqlens are of different samples";
}  // namespace monitor

struct StepRecord {
  int64_t line = 0;  // of the log
  std::optional<int64_t> step;
  std::optional<double> time, step_seconds;
  // Where no time is given; tokens and samples of the step have to be known.
  std::optional<double> steps_per_second, samples_per_second, tokens_per_second;
  std::optional<double> device_samples_per_second;  // of one device
  std::optional<double> pause_seconds;              // time outside steps, such as an evaluation
  std::optional<int64_t> tokens;                    // of the step; also by `mask_sum`
  std::optional<int64_t> samples;
  // The length of each sample of the step, if the log lists them; this overrides other fields.
  std::vector<int64_t> lengths;
  bool packed = false;  // the samples share one row
  // Beside cu_seqlens, `lengths` of the line: those of the texts, if the model takes images.
  std::vector<int64_t> texts;
  // Frames, height and width in patches of each sample's image or clip: three lists.
  std::array<std::vector<int64_t>, 3> grids;
  std::vector<int64_t> image_counts;  // how many of them each sample has; empty for one each
  bool has_images() const { return !grids[0].empty() || !image_counts.empty(); }
  std::vector<AudioLength> audio;                      // of each sample
  std::optional<int64_t> tokens_total, samples_total;  // since the training began
  // The batch of one device in one run of the model; runs per optimizer step; devices.
  std::optional<int64_t> device_batch, runs, devices;
  // Devices that share one copy of the model, by how they do, and copies.
  std::optional<int64_t> tensor_parallel, pipeline_parallel, context_parallel, copies;
  bool tokens_of_rate = false;                  // `tokens` are made of a rate and a time
  bool is_summary = false;                      // `time` and the rates cover the whole training
  absl::btree_map<std::string, int64_t> sizes;  // every other field that is a whole number
  // The log's names of the values read, by LogName::means: "tokens" -> "mask_sum".
  absl::btree_map<std::string, std::string> names;
  // The value of other fields that are numbers and no sizes: "batch" -> "-2".
  absl::btree_map<std::string, std::string> no_sizes;
  std::vector<std::string> faults;  // fields that are not numbers: "step_seconds is NaN"
  // What has a fault, by LogName::means: figures that follow from it are not known.
  absl::btree_set<std::string> faulty;
  std::vector<std::string> notes;  // how a field is read, if that is not obvious
};

struct LogField;  // of a line

class StepLog {
 public:
  // Reads a line; nullopt for a blank line and for the header of CSV. InvalidArgument for a line
  // that is neither JSON nor CSV.
  absl::StatusOr<std::optional<StepRecord>> Read(absl::string_view line);

  // The same, and also a document of JSON on one line, which has many records.
  absl::StatusOr<std::vector<StepRecord>> ReadAll(absl::string_view line);

  // Fields that were read so far, and as what: "step_time" -> "step_seconds".
  const absl::btree_map<std::string, std::string>& read() const { return read_; }
  // Some of the others.
  const absl::btree_set<std::string>& unread() const { return unread_; }

 private:
  StepRecord RecordOf(const std::vector<LogField>& fields);
  absl::StatusOr<StepRecord> RecordOfJson(absl::string_view text);
  // `line`: the text of an object that is a line.
  StepRecord RecordOfObject(const nlohmann::json& object, absl::string_view line);
  // One line of a multi-line document; nullopt unless an object ends here.
  absl::StatusOr<std::optional<StepRecord>> ReadDocument(absl::string_view line);

  std::vector<std::string> titles_;  // of CSV
  char separator_ = ',';             // of its cells
  absl::btree_map<std::string, std::string> read_;
  absl::btree_set<std::string> unread_;
  int depth_ = 0;         // of brackets that are open, in a document of several lines
  int object_depth_ = 0;  // of `object_`; 0 if there is no object
  std::string object_;    // an object of a list, so far
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MONITOR_STEP_LOG_H_
