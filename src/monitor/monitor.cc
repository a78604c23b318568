// How it works. Each record of the log goes through the same steps. Its devices and batch are
// settled (whole step or one device?). Its sizes are checked against those that the call fixes. Its
// time is measured. Its FLOPs, tokens and samples are added to a window. Every `every` steps the
// window becomes a point and starts anew.
//
// The time of a step comes from its field in the log; else from the difference of two clock times
// divided by the steps between them, without pauses such as evaluations; else from a rate and the
// batch. FLOPs are the model's formula at the sizes of the record. A size that the record lacks may
// follow from others: the length from tokens and batch, or the batch from tokens and length.
//
// Logs state the same fact several times. If two statements differ by more than 20 % three times in
// a row (or always), a problem is reported with the one that is used. A step that repeats or jumps
// back is skipped; a step number that falls with a later time means that the training restarted.
#include "src/monitor/monitor.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "fmt/format.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/hardware/utilisation.h"
#include "src/monitor/record_sizes.h"
#include "src/render/format.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {

namespace monitor {
namespace {

// Adds `times` a step's figure, if known, to a mean and a total.
void AddTo(const std::optional<absl::int128>& figure, int64_t times, double* mean, bool* known,
           absl::int128* total) {
  const std::optional<absl::int128> added = figure ? Times(*figure, times) : std::nullopt;
  *known = *known && added.has_value();
  if (!added) return;
  *mean += static_cast<double>(*added);
  const Expr sum = Expr(*total) + Expr(*added);
  if (sum.error() == nullptr) *total = sum.literal();
}

// The log's name of the rate that would give a time if the batch were known.
std::string RateNameOf(const StepRecord& record) {
  const std::string name = NameOf(record, "tokens_per_second");
  return name.empty() ? NameOf(record, "samples_per_second") : name;
}

bool IsNear(double one, double other) {
  constexpr double kSpread = 1.05;
  return one <= kSpread * other && other <= kSpread * one;
}

absl::StatusOr<int64_t> BatchOf(int64_t one, int64_t parts) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (one <= kMost / parts) return one * parts;
  return absl::InvalidArgumentError(
      absl::StrCat("a batch of ", one, " on ", parts, " devices is more than 2^40"));
}

// `given` is a step's, `fixed` the model's.
absl::Status CheckBound(absl::string_view symbol, const std::optional<int64_t>& given,
                        const Bindings& bindings) {
  const auto fixed = bindings.find(std::string(symbol));
  if (!given || fixed == bindings.end() || fixed->second == *given) return absl::OkStatus();
  const std::string name = Escaped(BareName(symbol));
  return absl::FailedPreconditionError(absl::StrCat("a step has ", name, " = ", *given,
                                                    ", and the call fixes it at ", fixed->second,
                                                    ": leave out ", Setting("dim"), " ", name));
}

absl::Status CheckFixed(absl::string_view name, const std::optional<int64_t>& given,
                        const std::optional<int64_t>& fixed, absl::string_view advice) {
  if (!given || !fixed || *given == *fixed) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "a step has ", name, " = ", *given, ", and the file fixes it at ", *fixed, ": ", advice));
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
  const std::optional<int64_t> samples = monitor::SamplesOf(record);
  const bool has_batch = samples && *samples > 0;  // no batch of 0 runs
  if (has_batch) RETURN_IF_ERROR(CheckBound(work.batch, samples, work.bindings));
  for (const std::string& length : work.sequences) {
    RETURN_IF_ERROR(CheckBound(length, monitor::LengthOf(record), work.bindings));
  }
  RETURN_IF_ERROR(monitor::CheckFixed("seq", monitor::LengthOf(record), work.fixed_length,
                                      "export the model with an open seq"));
  if (work.per_sample || !has_batch) return absl::OkStatus();
  return monitor::CheckFixed("batch", samples, work.fixed_batch,
                             WithSettings("{at-batch batch} opens it, or {per-sample on} counts "
                                          "its FLOPs for each sample"));
}

Monitor::Monitor(StepWork work, const MonitorOptions& options)
    : work_(std::move(work)), options_(options) {}

bool Monitor::Follows(const StepRecord& record, std::vector<std::string>* problems) {
  const int64_t step = *record.step;
  if (!last_step_ || step > *last_step_) return true;
  // The line of an evaluation has the step after which it ran.
  if (step == *last_step_ && record.pause_seconds) return false;
  if (step == *last_step_ && record.sizes.contains("rank")) {
    Tell("a step has a line for each rank: the first is read, as that of all devices", problems);
    return false;
  }
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

void Monitor::Tell(std::string text, std::vector<std::string>* problems) {
  if (told_.insert(text).second) problems->push_back(std::move(text));
}

// The model is asked for sizes above those that it could run with, a bounded number of times.
std::string Monitor::RefusalOf(const std::string& symbol, int64_t size) const {
  constexpr size_t kMostAsked = 64;
  if (const auto most = work_.most.find(symbol); most != work_.most.end()) {
    return size > most->second ? monitor::BeyondPositions(symbol, size, most->second) : "";
  }
  Asked& asked = asked_[symbol];
  if (!work_.refusal || size <= asked.fine) return "";
  auto answer = asked.refused.find(size);
  if (answer == asked.refused.end()) {
    // Sizes that divide may be fine again, which is then not asked any more.
    if (asked.refused.size() >= kMostAsked && size > asked.refused.begin()->first) {
      return absl::StrCat(Escaped(BareName(symbol)), " = ", size, ": the model cannot run with ",
                          asked.refused.size(), " other sizes above ", asked.fine);
    }
    std::string why = work_.refusal(symbol, size);
    if (why.empty()) {
      asked.fine = size;
      return "";
    }
    answer = asked.refused.emplace(size, std::move(why)).first;
  }
  return absl::StrCat(Escaped(BareName(symbol)), " = ", size, ": ", answer->second);
}

void Monitor::CheckLengths(StepRecord* record, std::vector<std::string>* problems) {
  const std::vector<int64_t>& lengths = record->lengths;
  for (const std::string& symbol : work_.sequences) {
    if (!HasLengths(*record, symbol)) continue;
    const auto largest = std::max_element(lengths.begin(), lengths.end());
    const std::string why = RefusalOf(symbol, *largest);
    if (why.empty()) continue;
    problems->push_back(absl::StrCat("sample ", largest - lengths.begin() + 1, ": ", why,
                                     ": no utilisation of this step"));
    record->lengths.clear();
    record->faulty.insert("lengths");
  }
}

void Monitor::ReadDevices(const StepRecord& record, std::vector<std::string>* problems) {
  if (!record.devices) return;
  const std::string says =
      absl::StrCat(monitor::NameOf(record, "devices"), " is ", *record.devices);
  if (!options_.devices_of_log) {
    if (*record.devices == options_.devices) return;
    return Tell(absl::StrCat(says, WithSettings(", and {devices} says "), options_.devices,
                             ", which is used"),
                problems);
  }
  options_.devices = *record.devices;
  if (*record.devices > 1) Tell(absl::StrCat(says, ": so many devices share a step"), problems);
}

void Monitor::ReadFrames(StepRecord* record, std::vector<std::string>* problems) {
  const auto bound = work_.bindings.find(work_.audio.symbol);
  const auto given = record->sizes.find(BareName(work_.audio.symbol));
  const bool is_other = work_.audio.chunk > 0 && bound != work_.bindings.end() &&
                        given != record->sizes.end() && given->second != bound->second;
  if (!is_other) return;
  Tell(absl::StrCat(Escaped(given->first), " is not read: the model runs chunks of ", bound->second,
                    ", and audio, a list, tells how many a step has"),
       problems);
  record->sizes.erase(given);
}

// How many copies of the model share a batch: each is on as many devices as it is split over.
int64_t Monitor::CopiesOf(const StepRecord& record, std::vector<std::string>* problems) {
  if (record.copies) return *record.copies;
  absl::int128 of_one = 1;
  for (const auto& split :
       {record.tensor_parallel, record.pipeline_parallel, record.context_parallel}) {
    if (split) of_one *= *split;  // each at most 2^40
  }
  if (of_one <= options_.devices && options_.devices % static_cast<int64_t>(of_one) == 0) {
    return options_.devices / static_cast<int64_t>(of_one);
  }
  Tell(absl::StrCat("the log splits a model over ", Int128ToString(of_one),
                    " devices, and there are ", options_.devices,
                    ": each is taken for a copy of its own"),
       problems);
  return options_.devices;
}

// A batch_size may count the whole step, as documented, or one device in one run. If it is not
// divisible by the number of parts, it is the latter.
absl::Status Monitor::ReadRanks(StepRecord* record, std::vector<std::string>* problems) {
  ReadDevices(*record, problems);
  if (!record->samples_per_second && record->device_samples_per_second) {
    record->samples_per_second =
        *record->device_samples_per_second * static_cast<double>(options_.devices);
    std::string name = record->names["device_samples_per_second"];  // the map moves its content
    record->names["samples_per_second"] = std::move(name);
    if (options_.devices > 1) {
      Tell(absl::StrCat(monitor::NameOf(*record, "samples_per_second"),
                        " is that of one device: it is read times ", options_.devices),
           problems);
    }
  }
  const int64_t runs = record->runs.value_or(1);
  const int64_t copies = CopiesOf(*record, problems);
  ASSIGN_OR_RETURN(const int64_t parts, monitor::BatchOf(runs, copies));
  const std::string parts_text =
      absl::StrCat(copies, copies == options_.devices ? " devices x " : " copies of the model x ",
                   runs, " runs");
  const std::string batch_name = monitor::NameOf(*record, "samples");
  const bool is_vague = batch_name == "batch_size";
  if (record->device_batch) {
    ASSIGN_OR_RETURN(const int64_t whole, monitor::BatchOf(*record->device_batch, parts));
    const std::string product =
        absl::StrCat(monitor::NameOf(*record, "device_batch"), " ", *record->device_batch, " x ",
                     parts_text, " = ", whole);
    const std::optional<int64_t> given = monitor::SamplesOf(*record);
    const bool uses_product = !given || (is_vague && *given == *record->device_batch);
    if (given && *given != whole) {
      Tell(absl::StrCat(batch_name.empty() ? "batch" : batch_name, " is ", *given, ", and ",
                        product, ": ", uses_product ? whole : *given, " is used"),
           problems);
    } else if (!given && parts > 1) {
      Tell(absl::StrCat("the batch of a step is ", product), problems);
    }
    if (uses_product) record->samples = whole;
    return absl::OkStatus();
  }
  if (!record->runs && !record->devices) return absl::OkStatus();
  if (record->samples && is_vague && parts > 1) {
    const bool is_whole = *record->samples % parts == 0;
    ASSIGN_OR_RETURN(const int64_t whole, monitor::BatchOf(*record->samples, is_whole ? 1 : parts));
    Tell(
        is_whole
            ? absl::StrCat("batch_size ", whole, " is read as that of the whole step, ", parts_text,
                           ": per_device_train_batch_size would be of one device "
                           "in one run")
            : absl::StrCat("batch_size ", *record->samples, " does not divide into ", parts_text,
                           ": it is read as that of one device in one run, ", whole, " a step"),
        problems);
    record->samples = whole;
  } else if (!monitor::SamplesOf(*record) && runs > 1 && work_.bindings.contains(work_.batch)) {
    Tell(absl::StrCat(monitor::NameOf(*record, "runs"), " is ", runs, ": ",
                      Setting("dim", absl::StrCat(Escaped(BareName(work_.batch)), "=",
                                                  work_.bindings.at(work_.batch))),
                      " is read as the batch of the whole step, of all runs"),
         problems);
  }
  return absl::OkStatus();
}

void Monitor::Compare(absl::string_view what, double one, double other, std::string text,
                      std::vector<std::string>* problems, bool is_exact) {
  constexpr double kSpread = 1.2;  // of rounded figures, and of means over other steps
  constexpr int kEnough = 3;
  const double tolerance = is_exact ? 1 : kSpread;
  Doubt& doubt = doubts_[std::string(what)];
  if (one <= tolerance * other && other <= tolerance * one) {
    doubt.in_a_row = 0;
    doubt.ever_agreed = true;
    return;
  }
  if (doubt.in_a_row++ == 0) {
    doubt.line = line_;
    doubt.text = text;
  }
  if (doubt.in_a_row < kEnough || doubt.told) return;
  doubt.told = true;
  problems->push_back(std::move(text));
}

void Monitor::CompareTimes(const StepRecord& record, int64_t stride,
                           std::vector<std::string>* problems) {
  if (!record.step_seconds || !record.time || !last_time_ || *record.step <= time_step_) return;
  const double by_time =
      (*record.time - *last_time_) / static_cast<double>(*record.step - time_step_);
  if (by_time <= 0) return;
  const std::string name = monitor::NameOf(record, "step_seconds");
  const bool of_interval =
      stride > 1 && monitor::IsNear(*record.step_seconds, by_time * static_cast<double>(stride));
  Compare(
      "time", *record.step_seconds, by_time,
      fmt::format("{} says that a step takes {:.4g} s, and {} {:.4g} s: {} is used{}", name,
                  *record.step_seconds, monitor::NameOf(record, "time"), by_time, name,
                  of_interval ? absl::StrCat("; it may be the time of ", stride, " steps") : ""),
      problems);
}

void Monitor::CompareRates(const StepRecord& record, const Items& items, double step_seconds,
                           std::vector<std::string>* problems) {
  const auto compare = [&](absl::string_view means, const std::optional<double>& rate,
                           const std::optional<absl::int128>& of_step) {
    if (!rate || !of_step || *of_step <= 0) return;
    const double expected = static_cast<double>(*of_step) / step_seconds;
    const double devices = static_cast<double>(options_.devices);
    const bool of_one = options_.devices > 1 && monitor::IsNear(*rate * devices, expected);
    Compare(
        means, *rate, expected,
        fmt::format("{} is {:.6g}, and {} in {:.4g} s are {:.6g}: the latter is used{}",
                    monitor::NameOf(record, means), *rate, Int128ToString(*of_step), step_seconds,
                    expected, of_one ? "; the former may be that of one device" : ""),
        problems);
  };
  compare("steps_per_second", record.steps_per_second, absl::int128(1));
  // Of audio in chunks, the log may count the recordings, and of packed samples the rows.
  const auto is_of = [&](absl::int128 samples) {
    return record.samples_per_second &&
           monitor::IsNear(*record.samples_per_second * step_seconds, static_cast<double>(samples));
  };
  const bool is_of_batch =
      is_of(std::ssize(record.audio)) || is_of(monitor::SamplesOf(record).value_or(0));
  if (!is_of_batch) compare("samples_per_second", record.samples_per_second, items.samples);
  compare("tokens_per_second", record.tokens_per_second, items.tokens);
  CompareTokens(record, items, problems);
}

void Monitor::CompareTokens(const StepRecord& record, const Items& items,
                            std::vector<std::string>* problems) {
  if (!record.tokens || !items.places || *items.places <= 0) return;
  const double tokens = static_cast<double>(*record.tokens);
  const double places = static_cast<double>(*items.places);
  const bool is_more = *record.tokens > *items.places;
  // Differences of totals are rounded.
  const bool is_of_step = record.names.contains("tokens");
  const bool of_one = options_.devices > 1 &&
                      monitor::IsNear(tokens * static_cast<double>(options_.devices), places);
  const absl::string_view hint = of_one ? "; the former may be that of one device" : "";
  const std::string text =
      absl::StrCat(monitor::NameOf(record, is_of_step ? "tokens" : "tokens_total"), " is ",
                   *record.tokens, is_more ? ", more than " : ", less than ");
  const std::string sum = Int128ToString(*items.places);
  if (!record.lengths.empty()) {
    Compare("tokens", tokens, places,
            absl::StrCat(text, "the sum over samples = ", sum, ": the latter is used", hint),
            problems, is_of_step && !is_more);
    return;
  }
  // Of other models, the tokens may be those of a part.
  const bool is_text = work_.sequences.size() <= 1 && work_.image_tokens.is_zero();
  if (!work_.image_tokens.is_zero() && IsMaskSum(record)) return;  // WrongTokens tells
  if (!is_more && (!is_text || !HasRectangle(record))) return;
  Compare("tokens", tokens, places,
          absl::StrCat(text, "batch x length = ", sum,
                       is_more ? ": FLOPs are of the latter, perf/tokens_per_second of the former"
                               : ": the rest is padding (perf/padding), which FLOPs include; "
                                 "lengths count each sample without it",
                       hint),
          problems, is_of_step && is_more && is_text);
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
    CompareTimes(record, steps, problems);
    *seconds = *record.step_seconds;
    last_time_ = std::nullopt;  // do not measure the same time twice
    return 1;
  }
  if (!record.time) {
    if (const std::optional<double> by_rate = SecondsByRate(record, problems)) {
      *seconds = *by_rate;
      return 1;
    }
    if (!record.faults.empty()) return 0;
    const std::string rate = monitor::RateNameOf(record);
    problems->push_back(
        rate.empty() ? "the line has neither time nor step_seconds"
                     : absl::StrCat(rate,
                                    " gives the time of a step only with a batch: log it, or "
                                    "log step_seconds"));
    return 0;
  }
  if (!last_time_) return 0;               // the first
  constexpr double kLeastSeconds = 1e-12;  // so that rates are finite
  double passed = *record.time - *last_time_ - pause_;
  // A pause longer than the time since the last step came after the time was taken.
  if (passed <= kLeastSeconds && record.pause_seconds) {
    later_pause_ = *record.pause_seconds;
    passed += later_pause_;
  }
  if (passed > kLeastSeconds) {
    *seconds = passed;
    return *record.step - time_step_;
  }
  problems->emplace_back(
      "time does not go on: it should be a clock; how long a step takes is step_seconds");
  return 0;
}

// The step time of a line that has no time, but a rate of steps, samples or tokens.
// A rate of samples is one of what the log calls its batch.
std::optional<double> Monitor::SecondsByRate(const StepRecord& record,
                                             std::vector<std::string>* problems) {
  Bindings sizes = work_.bindings;
  std::vector<std::string> others;  // Add reports them
  FlopsOf(record, &sizes, &others);
  const Items items = ItemsOf(record, sizes);
  const auto seconds = [](const std::optional<absl::int128>& of,
                          const std::optional<double>& rate) {
    return of && *of > 0 && rate ? std::optional(static_cast<double>(*of) / *rate) : std::nullopt;
  };
  if (const auto found = seconds(absl::int128(1), record.steps_per_second)) return found;
  std::optional<absl::int128> samples = items.samples;
  if (samples && monitor::SamplesOf(record)) samples = *monitor::SamplesOf(record);
  if (const auto found = seconds(samples, record.samples_per_second)) {
    const auto listed = std::ssize(record.audio);
    if (listed > 0 && *samples != listed) {
      Tell(absl::StrCat(monitor::NameOf(record, "samples_per_second"),
                        " is read as one of chunks of audio: a batch of ", listed,
                        " would make it one of recordings"),
           problems);
    }
    return found;
  }
  return seconds(items.tokens, record.tokens_per_second);
}

std::optional<absl::int128> Monitor::FlopsOf(const StepRecord& record, Bindings* sizes,
                                             std::vector<std::string>* problems) const {
  for (const char* const list : {"lengths", "grid_thw", "audio", "sizes"}) {
    if (record.faulty.contains(list)) return std::nullopt;  // its fault is told
  }
  const bool has_audio = record.names.contains("audio");
  if (!record.lengths.empty() || record.has_images() || has_audio) {
    return FlopsOfSamples(record, problems);
  }
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
    // The same as with --mask-sum: the mean of the batch, rounded up.
    (*sizes)[sequence] = (*record.tokens + batch->second - 1) / batch->second;
  }
  for (const auto& [symbol, size] : *sizes) {
    const bool is_length = absl::c_linear_search(work_.sequences, symbol);
    if (!is_length && !work_.most.contains(symbol)) continue;
    const std::string why = work_.bindings.contains(symbol) ? "" : RefusalOf(symbol, size);
    if (why.empty()) continue;
    problems->push_back(absl::StrCat(why, ": no utilisation of this step"));
    sizes->erase(symbol);
    return std::nullopt;
  }
  const int64_t lacks = BatchOfTokens(record, sizes);
  absl::StatusOr<absl::int128> flops = work_.flops.Evaluate(*sizes);
  if (flops.ok() && lacks > 0) {
    const std::optional<absl::int128> part = PartOfSample(*flops, *record.tokens, lacks, *sizes);
    if (part) flops = *flops - *part;
  }
  if (flops.ok()) return work_.per_sample ? ForSamples(*flops, samples, problems) : *flops;
  const std::string missing = MissingSize(record, *sizes);
  problems->push_back(missing.empty() ? std::string(flops.status().message())
                                      : absl::StrCat(missing, ": no utilisation of this step"));
  return std::nullopt;
}

// Tokens give the batch as soon as there is a length.
std::string Monitor::MissingSize(const StepRecord& record, const Bindings& sizes) const {
  if (record.tokens && !work_.sequences.empty() && !sizes.contains(work_.sequences[0])) {
    return monitor::Missing(record, BareName(work_.sequences[0]));
  }
  for (const std::string& symbol : work_.flops.Symbols()) {
    if (!sizes.contains(symbol)) return monitor::Missing(record, BareName(symbol));
  }
  return "";
}

// If nothing gives the batch, it is the tokens divided by the length, rounded up. Returns how many
// tokens the last sequence lacks.
int64_t Monitor::BatchOfTokens(const StepRecord& record, Bindings* sizes) const {
  if (work_.batch.empty() || sizes->contains(work_.batch) || !record.tokens) return 0;
  std::optional<int64_t> length = work_.fixed_length;
  if (!work_.sequences.empty()) {
    const auto found = sizes->find(work_.sequences[0]);
    if (found != sizes->end()) length = found->second;
  }
  if (!length || *length <= 0) return 0;
  const int64_t batch = *record.tokens / *length + (*record.tokens % *length > 0 ? 1 : 0);
  (*sizes)[work_.batch] = batch;
  return batch * *length - *record.tokens;
}

void Monitor::TakeTokensOfRate(double step_seconds, StepRecord* record,
                               std::vector<std::string>* problems) {
  const bool has_batch =
      work_.batch.empty() || work_.bindings.contains(work_.batch) || monitor::SamplesOf(*record) ||
      record->sizes.contains(BareName(work_.batch)) || !record->lengths.empty() ||
      record->has_images() || record->names.contains("audio") || !record->faulty.empty();
  // Of images and audio, a rate may have their tokens too; of two texts, those of both.
  const bool is_text = work_.sequences.size() <= 1 && work_.image_tokens.is_zero();
  if (has_batch || !is_text || record->tokens || !record->tokens_per_second) return;
  double tokens = std::round(*record->tokens_per_second * step_seconds);
  std::optional<int64_t> length = work_.fixed_length;
  if (!work_.sequences.empty()) {
    const auto bound = work_.bindings.find(work_.sequences[0]);
    length = bound != work_.bindings.end()
                 ? bound->second
                 : monitor::SizeNamed(*record, {BareName(work_.sequences[0])});
    if (!length) length = monitor::LengthOf(*record);
  }
  // Logs round rates and times.
  constexpr double kNear = 0.02;
  if (length && *length > 0) {
    const auto one = static_cast<double>(*length);
    const double whole = std::round(tokens / one) * one;
    if (std::abs(tokens - whole) <= kNear * whole) tokens = whole;
  }
  if (!(tokens >= 1 && tokens < 0x1p40)) return;
  record->tokens = static_cast<int64_t>(tokens);
  record->tokens_of_rate = true;
  Tell(absl::StrCat("there is no batch: a step has the tokens that ",
                    monitor::NameOf(*record, "tokens_per_second"), " makes of its time"),
       problems);
}

// The FLOPs of the `lacks` tokens that are missing in the last sample of the batch. The FLOPs of
// that sample are `flops` minus those of a batch with one sample less.
std::optional<absl::int128> Monitor::PartOfSample(absl::int128 flops, int64_t tokens, int64_t lacks,
                                                  Bindings sizes) const {
  const int64_t batch = sizes[work_.batch]--;
  const absl::StatusOr<absl::int128> others = work_.flops.Evaluate(sizes);
  if (!others.ok()) return std::nullopt;
  const std::optional<absl::int128> product = monitor::Times(flops - *others, lacks);
  const int64_t length = (tokens + lacks) / batch;
  return product ? std::optional(*product / length) : std::nullopt;
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
  if (work_.fixed_batch && !work_.per_sample && !monitor::SamplesOf(record)) {
    Tell(absl::StrCat("there is no batch in the log: a step counts as ", *work_.fixed_batch,
                      *work_.fixed_batch == 1 ? " sample" : " samples", ", as the file fixes it"),
         problems);
  }
  CompareRates(record, items, seconds / static_cast<double>(steps), problems);
  window_.seconds += seconds;
  window_.steps += steps;
  totals_.seconds += seconds;
  totals_.steps += steps;
  using monitor::AddTo;
  bool known = true;
  AddTo(flops, steps, &window_.flops, &known, &totals_.flops);
  if (known) window_.flop_seconds += seconds;
  AddTo(items.tokens, steps, &window_.tokens, &window_.has_tokens, &totals_.tokens);
  AddTo(items.samples, steps, &window_.samples, &window_.has_samples, &totals_.samples);
  AddTo(items.images, steps, &window_.image_tokens, &window_.has_images, &totals_.image_tokens);
  absl::int128 ignored = 0;
  AddTo(PlacesOf(record, items), steps, &window_.places, &window_.has_places, &ignored);
  AddTo(items.frames, steps, &window_.audio_frames, &window_.has_frames, &totals_.audio_frames);
  AddTo(items.frame_places, steps, &window_.frame_places, &window_.has_frame_places, &ignored);
}

// Hugging Face's last line has how many steps and samples a second had, from begin to end.
std::optional<MonitorPoint> Monitor::TakeSummary(StepRecord record,
                                                 std::vector<std::string>* problems) {
  if (totals_.steps > 0 || *record.time <= 0) return std::nullopt;
  const double by_rate = std::round(*record.time * *record.steps_per_second);
  if (!record.step && by_rate >= 1 && by_rate < 0x1p40) record.step = static_cast<int64_t>(by_rate);
  if (!record.step || *record.step < 1) return std::nullopt;
  const int64_t steps = *record.step;
  if (!monitor::SamplesOf(record) && !work_.bindings.contains(work_.batch) &&
      record.samples_per_second) {
    const double samples = *record.samples_per_second * *record.time / static_cast<double>(steps);
    if (samples < 0x1p40) record.samples = static_cast<int64_t>(std::round(samples));
  }
  Add(record, steps, *record.time, problems);
  last_step_ = steps;
  return MakePoint();
}

absl::StatusOr<std::optional<MonitorPoint>> Monitor::Take(const StepRecord& given,
                                                          std::vector<std::string>* problems) {
  StepRecord record = given;
  line_ = record.line;
  RETURN_IF_ERROR(ReadRanks(&record, problems));
  ReadFrames(&record, problems);
  RETURN_IF_ERROR(CheckSizes(work_, record));
  for (const std::string& note : record.notes) Tell(note, problems);
  problems->insert(problems->end(), record.faults.begin(), record.faults.end());
  CompareNames(&record, problems);
  ReadRows(&record, problems);
  CheckLengths(&record, problems);
  if (record.is_summary) return TakeSummary(std::move(record), problems);
  if (record.pause_seconds) pause_ += *record.pause_seconds;
  if (!record.step) {
    if (record.faults.empty()) problems->emplace_back("there is no step");
    return std::nullopt;
  }
  if (!Follows(record, problems)) return std::nullopt;
  CheckTogether(&record, problems);
  double seconds = 0;
  const int64_t steps = Measure(record, &seconds, problems);
  if (steps > 0) {
    TakeTokensOfRate(seconds / static_cast<double>(steps), &record, problems);
    Add(record, steps, seconds, problems);
  }
  last_step_ = record.step;
  // A clock may be coarser than a step: steps without a new time are measured with the next one.
  if (record.time && record.time != last_time_) {
    last_time_ = record.time;
    time_step_ = *record.step;
    pause_ = std::exchange(later_pause_, 0);
  }
  if (!point_step_) point_step_ = *record.step - steps;
  if (*record.step / options_.every <= *point_step_ / options_.every) return std::nullopt;
  return std::optional(MakePoint());
}

std::optional<MonitorPoint> Monitor::Finish(std::vector<std::string>* problems,
                                            std::vector<int64_t>* lines) {
  for (auto& [what, doubt] : doubts_) {
    if (doubt.told || doubt.ever_agreed) continue;
    problems->push_back(std::move(doubt.text));
    if (lines != nullptr) lines->push_back(doubt.line);
    doubt.told = true;
  }
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
    if (window_.has_tokens && window_.has_places && window_.places > window_.tokens) {
      point.padding = 1 - window_.tokens / window_.places;
    }
    if (window_.has_tokens && window_.has_images) {
      point.image_tokens_per_second = window_.image_tokens / window_.seconds;
      point.text_tokens_per_second = *point.tokens_per_second - *point.image_tokens_per_second;
    }
    if (window_.has_frames) {
      point.audio_frames_per_second = window_.audio_frames / window_.seconds;
      if (const auto rate = static_cast<double>(work_.audio.per_second); rate > 0) {
        point.audio_seconds_per_second = *point.audio_frames_per_second / rate;
      }
    }
    const bool has_audio = window_.has_frames && window_.has_frame_places;
    if (has_audio && window_.frame_places > window_.audio_frames) {
      point.audio_padding = 1 - window_.audio_frames / window_.frame_places;
    }
    if (window_.has_samples) {
      point.samples_per_second = window_.samples / window_.seconds;
    }
    if (window_.flop_seconds > 0) {
      point.flops_per_second = window_.flops / window_.flop_seconds;
      mfu_ = *point.flops_per_second / (static_cast<double>(options_.devices) * options_.peak);
      mfu_step_ = point.step;
    }
  }
  point.mfu = mfu_;
  point.lower_bound = mfu_ && work_.lower_bound;
  if (mfu_) point.mfu_age = point.step - mfu_step_;
  if (mfu_ && *mfu_ > 1) {
    point.reasons = ReasonsAboveOne(*mfu_, options_.peak);
    point.reasons.emplace_back("a field of the log is not of one step: a total, or of several");
  }
  window_ = {};
  point_step_ = point.step;
  return point;
}

}  // namespace onnxflops
