// Utilisation during a training, from the lines of its log.
//
//   Monitor monitor(work, {.every = 10, .devices = 8, .peak = 989.4e12});
//   std::optional<MonitorPoint> point = monitor.Take(record, &problems);
//
// A point comes every `every` steps and holds the means since the previous one. Steps missing in
// the log count like logged ones. Nothing is invented: if it cannot be measured, the utilisation is
// the last known one, with its age.
#ifndef ONNXFLOPS_SRC_MONITOR_MONITOR_H_
#define ONNXFLOPS_SRC_MONITOR_MONITOR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/monitor/audio_work.h"
#include "src/monitor/step_log.h"
#include "src/report/report.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/sample_sum.h"

namespace onnxflops {

// The work of a model's training step.
struct StepWork {
  Expr flops;                          // forward and backward
  std::vector<std::string> sequences;  // symbols of inputs that are a number of tokens
  // Those that are as long as another one unless they are given, as texts of T5: {theirs, its}.
  std::vector<std::pair<std::string, std::string>> followers;
  std::string batch;  // symbol of the batch, or ""
  Bindings bindings;  // sizes that are the same at every step
  AudioWork audio;
  Expr image_tokens;   // of an image in the decoder, by its sizes; 0 if unknown
  Bindings multiples;  // what sizes of images are multiples of
  Bindings most;       // the sizes that there are learned positions for
  // Why the model cannot run with this size of a symbol, or "". Null: `most` has all there is.
  std::function<std::string(const std::string& symbol, int64_t size)> refusal;
  std::optional<int64_t> fixed_batch;   // fixed in the file
  std::optional<int64_t> fixed_length;  // of tokens, fixed in the file
  bool per_sample = false;   // `flops` at the fixed batch count for as many samples as a step has
  bool lower_bound = false;  // a part of the model is not counted
};

// Checks that the step belongs to this model. FailedPrecondition if it has another number for a
// size that the model fixes: its figures would be for another step.
absl::Status CheckSizes(const StepWork& work, const StepRecord& record);

struct MonitorOptions {
  int64_t every = 10;
  int64_t devices = 1;
  bool devices_of_log = false;  // `devices` is used only if the log has none
  double peak = 0;              // FLOP/s of one device
};

struct MonitorPoint {
  int64_t step = 0;
  std::optional<double> time;  // of the log's last line
  std::optional<double> mfu, step_time, steps_per_second, tokens_per_second, samples_per_second,
      flops_per_second;  // of all devices
  // The parts of tokens_per_second, if the model has both.
  std::optional<double> text_tokens_per_second, image_tokens_per_second;
  // Of audio: frames, and seconds of sound where the model tells how many frames they have.
  std::optional<double> audio_frames_per_second, audio_seconds_per_second;
  // The part of the tokens and of the frames that is padding, if there is any.
  std::optional<double> padding, audio_padding;
  std::optional<int64_t> mfu_age;    // steps since it was measured
  std::vector<std::string> reasons;  // why it may be above 1
  bool lower_bound = false;          // `mfu` misses uncounted work
};

// Since the monitor began.
struct MonitorTotals {
  absl::int128 flops = 0, tokens = 0, samples = 0, image_tokens = 0, audio_frames = 0;
  int64_t steps = 0;
  double seconds = 0;
};

class Monitor {
 public:
  Monitor(StepWork work, const MonitorOptions& options);

  // Returns a point if one is due. `problems` gets oddities of the record, without its line.
  // Errors: those of CheckSizes.
  absl::StatusOr<std::optional<MonitorPoint>> Take(const StepRecord& record,
                                                   std::vector<std::string>* problems);
  // The last point at the end of a log. `problems` gets doubts that only a longer log could
  // resolve, and `lines` where each began.
  std::optional<MonitorPoint> Finish(std::vector<std::string>* problems,
                                     std::vector<int64_t>* lines = nullptr);

  const MonitorTotals& totals() const { return totals_; }

 private:
  // Measurements since the last point.
  struct Window {
    double seconds = 0, flops = 0, tokens = 0, samples = 0, image_tokens = 0, audio_frames = 0;
    double places = 0, frame_places = 0;  // with padding
    double flop_seconds = 0;              // of the steps whose FLOPs are known
    int64_t steps = 0;
    bool has_tokens = true, has_samples = true, has_images = true;
    bool has_frames = true, has_places = true, has_frame_places = true;
  };

  // Sizes of a symbol with which the model was asked to run.
  struct Asked {
    int64_t fine = 0;  // up to here
    absl::btree_map<int64_t, std::string> refused;
  };

  struct Items {  // of a step
    std::optional<absl::int128> samples, tokens;
    std::optional<absl::int128> images;        // of the tokens, those of images
    std::optional<absl::int128> frames;        // of audio, without padding that the log tells
    std::optional<absl::int128> places;        // samples x length: no step has more tokens
    std::optional<absl::int128> frame_places;  // the frames with padding
  };

  // Two different figures for the same quantity. A single line proves nothing, because of pauses in
  // the training.
  struct Doubt {
    int in_a_row = 0;
    bool ever_agreed = false, told = false;
    int64_t line = 0;  // the first in a row
    std::string text;  // of that line
  };

  // Devices and runs of the log: the batch of the whole step.
  absl::Status ReadRanks(StepRecord* record, std::vector<std::string>* problems);
  void ReadDevices(const StepRecord& record, std::vector<std::string>* problems);
  // The mean of a training that has ended, of a log that has no other time.
  std::optional<MonitorPoint> TakeSummary(StepRecord record, std::vector<std::string>* problems);
  // Tells a problem once.
  void Tell(std::string text, std::vector<std::string>* problems);
  // `text` says how `one` and `other` differ, if they do.
  void Compare(absl::string_view what, double one, double other, std::string text,
               std::vector<std::string>* problems, bool is_exact = false);
  void CompareTokens(const StepRecord& record, const Items& items,
                     std::vector<std::string>* problems);
  void CompareTimes(const StepRecord& record, int64_t stride, std::vector<std::string>* problems);
  void CompareRates(const StepRecord& record, const Items& items, double step_seconds,
                    std::vector<std::string>* problems);
  // Takes out lengths that the model has no positions for.
  void CheckLengths(StepRecord* record, std::vector<std::string>* problems);
  // Why no step has this size, or "".
  std::string RefusalOf(const std::string& symbol, int64_t size) const;
  // cu_seqlens are of all tokens in a row, and `lengths` of the texts.
  void ReadRows(StepRecord* record, std::vector<std::string>* problems) const;
  void TakeOutImages(StepRecord* record, std::vector<std::string>* problems) const;
  void TakeOutEqualImages(StepRecord* record, std::vector<std::string>* problems) const;
  std::string WrongAudio(const StepRecord& record) const;
  std::string WrongImageSizes(const StepRecord& record) const;
  // Frames of a log beside a model that takes chunks: the call does not fix these.
  void ReadFrames(StepRecord* record, std::vector<std::string>* problems);
  // One fact may have several names in a log.
  void CompareNames(StepRecord* record, std::vector<std::string>* problems);
  // Takes out what cannot be true together, and tells doubts.
  void CheckTogether(StepRecord* record, std::vector<std::string>* problems);
  std::string WrongTokens(const StepRecord& record) const;
  // "--dim seq=100 is given, and ...": of a size that each sample has itself; "" without one.
  std::string BoundSizeOf(const StepRecord& record) const;
  static bool IsMaskSum(const StepRecord& record);
  // Whether the list of a line is of this sequence.
  bool HasLengths(const StepRecord& record, const std::string& sequence) const;
  // True for a sequence that others follow.
  bool IsLeader(const std::string& sequence) const;
  std::string WrongSequence(const StepRecord& record) const;
  // Of the padded batch, where the model has one open length that the others follow.
  std::optional<int64_t> RowLengthOf(const StepRecord& record) const;
  // True if batch and length are known without the tokens of the step.
  bool HasRectangle(const StepRecord& record) const;
  // The tokens of a step with its padding.
  std::optional<absl::int128> PlacesOf(const StepRecord& record, const Items& items) const;
  // True if the record continues the last one; resets if the steps start again.
  bool Follows(const StepRecord& record, std::vector<std::string>* problems);
  // The number of steps that the record's time covers, and their duration; 0 if unknown.
  int64_t Measure(const StepRecord& record, double* seconds, std::vector<std::string>* problems);
  void Add(const StepRecord& record, int64_t steps, double seconds,
           std::vector<std::string>* problems);
  std::optional<absl::int128> FlopsOf(const StepRecord& record, Bindings* sizes,
                                      std::vector<std::string>* problems) const;
  std::optional<absl::int128> FlopsOfSamples(const StepRecord& record,
                                             std::vector<std::string>* problems) const;
  std::optional<absl::int128> FlopsOfImages(const StepRecord& record, const Expr& flops,
                                            std::vector<std::string>* problems) const;
  void AddImagesTo(const StepRecord& record, const Bindings& sizes, Items* items) const;
  std::vector<std::vector<int64_t>> ColumnsOf(const StepRecord& record,
                                              const std::vector<std::string>& lengths,
                                              SampleSizes* sizes,
                                              std::vector<std::string>* problems) const;
  std::vector<std::pair<std::string, int64_t>> TakeSizesOfEach(Bindings* others) const;
  std::vector<std::string> TakeFollowers(std::vector<std::string>* lengths) const;
  // "there is no seq": of the first size that the FLOPs lack, or "".
  std::string MissingSize(const StepRecord& record, const Bindings& sizes) const;
  int64_t BatchOfTokens(const StepRecord& record, Bindings* sizes) const;
  // Gives a line without batch and tokens the tokens that its rate makes of the time of a step.
  void TakeTokensOfRate(double step_seconds, StepRecord* record,
                        std::vector<std::string>* problems);
  std::optional<absl::int128> PartOfSample(absl::int128 flops, int64_t tokens, int64_t lacks,
                                           Bindings sizes) const;
  int64_t CopiesOf(const StepRecord& record, std::vector<std::string>* problems);
  Items ItemsOf(const StepRecord& record, const Bindings& sizes) const;
  Items ItemsBesideAudio(const StepRecord& record, const Bindings& sizes) const;
  std::optional<double> SecondsByRate(const StepRecord& record, std::vector<std::string>* problems);
  std::optional<absl::int128> ForSamples(absl::int128 flops, const std::optional<int64_t>& samples,
                                         std::vector<std::string>* problems) const;
  MonitorPoint MakePoint();

  StepWork work_;
  MonitorOptions options_;
  MonitorTotals totals_;
  Window window_;
  std::optional<int64_t> last_step_, stride_, point_step_;
  std::optional<double> last_time_;
  int64_t line_ = 0;        // of the record
  int64_t time_step_ = 0;   // of the last time
  double pause_ = 0;        // since then
  double later_pause_ = 0;  // after the time of this line
  std::optional<double> mfu_;
  int64_t mfu_step_ = 0;
  absl::btree_set<std::string> told_;
  mutable absl::btree_map<std::string, Asked> asked_;  // by symbol
  absl::btree_map<std::string, Doubt> doubts_;
};

// A line of JSON with its line end: "perf/mfu" and other keys
// (tools/schema/monitor.v1.schema.json).
std::string ToJsonLine(const MonitorPoint& point);
// A figure of a point by its name, "perf/mfu"; in the order of the JSON.
std::vector<std::pair<absl::string_view, double>> Figures(const MonitorPoint& point);
// For the textfile collector of Prometheus's node_exporter: counters and gauges.
std::string ToPrometheus(const MonitorPoint& point, const MonitorTotals& totals,
                         absl::string_view model);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MONITOR_MONITOR_H_
