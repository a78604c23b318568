#include "src/monitor/monitor.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/hardware/mfu.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {

namespace monitor {
namespace {

// The product, unless it is beyond 128 bits.
std::optional<absl::int128> Times(absl::int128 a, absl::int128 b) {
  const Expr product = Expr(a) * Expr(b);
  return product.error() == nullptr ? std::optional(product.literal()) : std::nullopt;
}

// Adds `times` of a figure of a step, where it is known, to a mean and a total.
void AddTo(const std::optional<absl::int128>& figure, int64_t times, double* mean, bool* known,
           absl::int128* total) {
  const std::optional<absl::int128> added = figure ? Times(*figure, times) : std::nullopt;
  *known = *known && added.has_value();
  if (!added) return;
  *mean += static_cast<double>(*added);
  const Expr sum = Expr(*total) + Expr(*added);
  if (sum.error() == nullptr) *total = sum.literal();
}

// The number of samples or tokens that a size has under a name of its own, or of the model's.
std::optional<int64_t> SizeNamed(const StepRecord& record,
                                 absl::Span<const absl::string_view> names) {
  for (const absl::string_view name : names) {
    const auto it = record.sizes.find(std::string(name));
    if (it != record.sizes.end()) return it->second;
  }
  return std::nullopt;
}

std::optional<int64_t> SamplesOf(const StepRecord& record) {
  return record.samples ? record.samples : SizeNamed(record, {"batch"});
}

std::optional<int64_t> LengthOf(const StepRecord& record) {
  return SizeNamed(record, {"seq", "seq_len", "seq_length", "sequence_length"});
}

// `given` is a step's, `fixed` the model's.
absl::Status CheckBound(absl::string_view symbol, const std::optional<int64_t>& given,
                        const Bindings& bindings) {
  const auto fixed = bindings.find(std::string(symbol));
  if (!given || fixed == bindings.end() || fixed->second == *given) return absl::OkStatus();
  const std::string name = Escaped(BareName(symbol));
  return absl::FailedPreconditionError(absl::StrCat("a step has ", name, " = ", *given,
                                                    ", and the call fixes it at ", fixed->second,
                                                    ": leave out --dim ", name));
}

absl::Status CheckFixed(absl::string_view name, const std::optional<int64_t>& given,
                        const std::optional<int64_t>& fixed, absl::string_view else_what) {
  if (!given || !fixed || *given == *fixed) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("a step has ", name, " = ", *given, ", and the file fixes it at ", *fixed,
                   ": export the model with an open ", name, else_what));
}

}  // namespace
}  // namespace monitor

absl::Status CheckSizes(const StepWork& work, const StepRecord& record) {
  using monitor::CheckBound;
  for (const auto& [symbol, size] : work.bindings) {
    const auto given = record.sizes.find(BareName(symbol));
    if (given == record.sizes.end()) continue;
    RETURN_IF_ERROR(CheckBound(symbol, given->second, work.bindings));
  }
  RETURN_IF_ERROR(CheckBound(work.batch, monitor::SamplesOf(record), work.bindings));
  for (const std::string& length : work.sequences) {
    RETURN_IF_ERROR(CheckBound(length, monitor::LengthOf(record), work.bindings));
  }
  RETURN_IF_ERROR(monitor::CheckFixed("seq", monitor::LengthOf(record), work.fixed_length, ""));
  if (work.per_sample) return absl::OkStatus();
  return monitor::CheckFixed("batch", monitor::SamplesOf(record), work.fixed_batch,
                             ", or --per-sample counts its FLOPs for each sample");
}

Monitor::Monitor(StepWork work, const MonitorOptions& options)
    : work_(std::move(work)), options_(options) {}

bool Monitor::Follows(const StepRecord& record, std::vector<std::string>* problems) {
  const int64_t step = *record.step;
  if (!last_step_ || step > *last_step_) return true;
  const bool earlier = record.time && last_time_ && *record.time <= *last_time_;
  if (step == *last_step_ || earlier) {
    problems->push_back(absl::StrCat(
        "step ", step, step == *last_step_ ? " is there again" : " is out of order", ": left out"));
    return false;
  }
  problems->push_back(
      absl::StrCat("the training starts again: step ", step, " follows ", *last_step_));
  window_ = {};
  last_step_ = stride_ = point_step_ = std::nullopt;
  last_time_ = std::nullopt;
  mfu_ = std::nullopt;
  return true;
}

int64_t Monitor::Measure(const StepRecord& record, double* seconds,
                         std::vector<std::string>* problems) {
  const int64_t steps = last_step_ ? *record.step - *last_step_ : 1;
  if (last_step_) {
    if (stride_ && steps > *stride_) {
      problems->push_back(steps == 2 ? absl::StrCat("step ", *last_step_ + 1, " is missing")
                                     : absl::StrCat("steps ", *last_step_ + 1, " to ",
                                                    *record.step - 1, " are missing"));
    } else {
      stride_ = steps;
    }
  }
  if (record.step_seconds) {
    *seconds = *record.step_seconds;
    last_time_ = std::nullopt;  // what was measured is not measured again
    return 1;
  }
  if (!record.time) {
    if (const std::optional<double> by_rate = SecondsByRate(record)) {
      *seconds = *by_rate;
      return 1;
    }
    if (record.faults.empty()) problems->emplace_back("there is neither time nor step_seconds");
    return 0;
  }
  if (!last_time_) return 0;               // the first
  constexpr double kLeastSeconds = 1e-12;  // so that rates are finite
  if (*record.time - *last_time_ > kLeastSeconds) {
    *seconds = *record.time - *last_time_;
    return *record.step - time_step_;
  }
  problems->emplace_back("time does not go on");
  return 0;
}

// Of a line without a time that says how many steps, samples or tokens a second has.
std::optional<double> Monitor::SecondsByRate(const StepRecord& record) const {
  Bindings sizes = work_.bindings;
  std::vector<std::string> problems;  // which Add tells
  FlopsOf(record, &sizes, &problems);
  const Items items = ItemsOf(record, sizes);
  const auto seconds = [](const std::optional<absl::int128>& of,
                          const std::optional<double>& rate) {
    return of && *of > 0 && rate ? std::optional(static_cast<double>(*of) / *rate) : std::nullopt;
  };
  if (const auto found = seconds(absl::int128(1), record.steps_per_second)) return found;
  if (const auto found = seconds(items.samples, record.samples_per_second)) return found;
  return seconds(items.tokens, record.tokens_per_second);
}

Monitor::Items Monitor::ItemsOf(const StepRecord& record, const Bindings& sizes) const {
  Items items;
  const auto batch = sizes.find(work_.batch);
  items.samples = monitor::SamplesOf(record);
  if (!items.samples && batch != sizes.end()) items.samples = batch->second;
  if (!items.samples) items.samples = work_.fixed_batch;
  if (record.tokens) items.tokens = *record.tokens;
  std::optional<int64_t> length = work_.fixed_length;
  if (!work_.sequences.empty()) {
    const auto found = sizes.find(work_.sequences[0]);
    if (found != sizes.end()) length = found->second;
  }
  if (!items.tokens && items.samples && length) {
    items.tokens = monitor::Times(*items.samples, *length);
  }
  return items;
}

std::optional<absl::int128> Monitor::FlopsOf(const StepRecord& record, Bindings* sizes,
                                             std::vector<std::string>* problems) const {
  for (const std::string& symbol : work_.flops.Symbols()) {
    const auto given = record.sizes.find(BareName(symbol));
    if (given != record.sizes.end()) (*sizes)[symbol] = given->second;
  }
  const std::optional<int64_t> samples = monitor::SamplesOf(record);
  const std::optional<int64_t> length = monitor::LengthOf(record);
  if (!work_.batch.empty() && samples) sizes->emplace(work_.batch, *samples);
  for (const std::string& sequence : work_.sequences) {
    if (length) sizes->emplace(sequence, *length);
  }
  const auto batch = sizes->find(work_.batch);
  for (const std::string& sequence : work_.sequences) {
    const bool divides = batch != sizes->end() && batch->second > 0;
    if (!record.tokens || sizes->contains(sequence) || !divides) continue;
    // As --mask-sum has it: the mean of the batch, rounded up.
    (*sizes)[sequence] = (*record.tokens + batch->second - 1) / batch->second;
  }
  const absl::StatusOr<absl::int128> flops = work_.flops.Evaluate(*sizes);
  if (flops.ok()) return work_.per_sample ? ForSamples(*flops, samples, problems) : *flops;
  std::vector<std::string> missing;
  for (const std::string& symbol : work_.flops.Symbols()) {
    if (!sizes->contains(symbol)) missing.push_back(Escaped(BareName(symbol)));
  }
  problems->push_back(
      missing.empty() ? std::string(flops.status().message())
                      : absl::StrCat("there is no ", missing[0], ": no utilisation of this step"));
  return std::nullopt;
}

// FLOPs of the fixed batch for another number of samples.
std::optional<absl::int128> Monitor::ForSamples(absl::int128 flops,
                                                const std::optional<int64_t>& samples,
                                                std::vector<std::string>* problems) const {
  if (!samples) {
    problems->emplace_back("there is no batch: no utilisation of this step");
    return std::nullopt;
  }
  const std::optional<absl::int128> all = monitor::Times(flops, *samples);
  return all ? std::optional(*all / *work_.fixed_batch) : std::nullopt;
}

void Monitor::Add(const StepRecord& record, int64_t steps, double seconds,
                  std::vector<std::string>* problems) {
  Bindings sizes = work_.bindings;
  const std::optional<absl::int128> flops = FlopsOf(record, &sizes, problems);
  const Items items = ItemsOf(record, sizes);
  window_.seconds += seconds;
  window_.steps += steps;
  totals_.seconds += seconds;
  totals_.steps += steps;
  using monitor::AddTo;
  AddTo(flops, steps, &window_.flops, &window_.has_flops, &totals_.flops);
  AddTo(items.tokens, steps, &window_.tokens, &window_.has_tokens, &totals_.tokens);
  AddTo(items.samples, steps, &window_.samples, &window_.has_samples, &totals_.samples);
}

absl::StatusOr<std::optional<MonitorPoint>> Monitor::Take(const StepRecord& record,
                                                          std::vector<std::string>* problems) {
  RETURN_IF_ERROR(CheckSizes(work_, record));
  problems->insert(problems->end(), record.faults.begin(), record.faults.end());
  if (!record.step) {
    if (record.faults.empty()) problems->emplace_back("there is no step");
    return std::nullopt;
  }
  if (!Follows(record, problems)) return std::nullopt;
  double seconds = 0;
  const int64_t steps = Measure(record, &seconds, problems);
  if (steps > 0) Add(record, steps, seconds, problems);
  last_step_ = record.step;
  if (record.time) {
    last_time_ = record.time;
    time_step_ = *record.step;
  }
  if (!point_step_) point_step_ = *record.step - steps;
  if (*record.step / options_.every <= *point_step_ / options_.every) return std::nullopt;
  return std::optional(MakePoint());
}

std::optional<MonitorPoint> Monitor::Finish() {
  if (window_.steps == 0) return std::nullopt;
  return MakePoint();
}

MonitorPoint Monitor::MakePoint() {
  MonitorPoint point;
  point.step = *last_step_;
  point.time = last_time_;
  if (window_.steps > 0 && window_.seconds > 0) {
    const double steps = static_cast<double>(window_.steps);
    point.step_time = window_.seconds / steps;
    point.steps_per_second = steps / window_.seconds;
    if (window_.has_tokens) {
      point.tokens_per_second = window_.tokens / window_.seconds;
    }
    if (window_.has_samples) {
      point.samples_per_second = window_.samples / window_.seconds;
    }
    if (window_.has_flops) {
      point.flops_per_second = window_.flops / window_.seconds;
      mfu_ = *point.flops_per_second / (static_cast<double>(options_.devices) * options_.peak);
      mfu_step_ = point.step;
    }
  }
  point.mfu = mfu_;
  point.lower_bound = mfu_ && work_.lower_bound;
  if (mfu_) point.mfu_age = point.step - mfu_step_;
  if (mfu_ && *mfu_ > 1) point.reasons = ReasonsAboveOne(*mfu_, options_.peak);
  window_ = {};
  point_step_ = point.step;
  return point;
}

}  // namespace onnxflops
