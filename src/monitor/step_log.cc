// How it works. A log has one line per step, but no common format. Each line is tried in turn as a
// part of a JSON document that is spread over lines, as JSON, as a dict that Python printed, as a
// line of nanoGPT or Megatron, and last as CSV, whose header is the line with a cell called "step".
// All forms give fields of a name and a number.
//
// A table maps the names that programs use to their meanings and units. If several fields mean the
// same, the first in the table counts, with ours on top. A name missing in the table is a size of
// the model if its value is a whole number ("seq"); other names are kept for a message. An
// impossible value (a negative step, a time that is NaN) is a fault of the record, not an error of
// the log: the step is reported and the next line read.
#include "src/monitor/step_log.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/byte_reader.h"
#include "src/base/csv_reader.h"
#include "src/base/json_reader.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/hardware/utilisation.h"
#include "src/render/format.h"

namespace onnxflops {

// A field of a line: a name and a number, if it has one.
struct LogField {
  std::string name;
  std::optional<double> number;
  std::optional<int64_t> whole;
  bool is_nan = false;
  bool has_unit = false;           // a time in words: "250ms", "0:00:02", "2026-11-25T08:00:00Z"
  std::vector<int64_t> list = {};  // whole numbers; empty if it is not such a list
  size_t other_item = 0;           // counted from 1: the first of a list that is no whole number
  const nlohmann::json* json = nullptr;
  absl::string_view line = {};  // of JSON that is one line
  std::string cell = {};        // of CSV, if it is no list
};

namespace monitor {
namespace {

constexpr int64_t kMostOfStep = int64_t{1} << 40;   // more than any training has
constexpr int64_t kMostOfTotal = int64_t{1} << 53;  // the largest exact integer of a double

// Limits of a time, so that every rate is finite.
constexpr double kLeastSeconds = 1e-12, kMostTime = 1e15;

std::optional<int64_t> WholeOf(double number) {
  const bool whole = std::isfinite(number) && number == std::floor(number) &&
                     std::abs(number) <= static_cast<double>(kMostOfTotal);
  return whole ? std::optional<int64_t>(static_cast<int64_t>(number)) : std::nullopt;
}

// Takes `width` digits and one of `marks` off the front; -1 if they are not there.
int TakeDigits(absl::string_view* text, size_t width, absl::string_view marks) {
  int number = 0;
  const bool digits = text->size() >= width && absl::SimpleAtoi(text->substr(0, width), &number) &&
                      std::all_of(text->begin(), text->begin() + width, absl::ascii_isdigit);
  if (!digits) return -1;
  text->remove_prefix(width);
  if (marks.empty()) return number;
  if (text->empty() || !absl::StrContains(marks, text->substr(0, 1))) return -1;
  text->remove_prefix(1);
  return number;
}

// "", "Z", "+02:00", "-0530": seconds that the clock is ahead of UTC.
std::optional<int> SecondsOfZone(absl::string_view text) {
  if (text.empty() || text == "Z") return 0;
  const int sign = absl::ConsumePrefix(&text, "+") ? 1 : absl::ConsumePrefix(&text, "-") ? -1 : 0;
  const int hours = TakeDigits(&text, 2, "");
  absl::ConsumePrefix(&text, ":");
  const int minutes = text.empty() ? 0 : TakeDigits(&text, 2, "");
  if (sign == 0 || hours < 0 || minutes < 0 || !text.empty()) return std::nullopt;
  return sign * (hours * 3600 + minutes * 60);
}

// Seconds since 1970 of an ISO 8601 time, "2026-11-25T08:00:00.5+01:00"; without a zone it is UTC.
std::optional<double> SecondsOfIso(absl::string_view text) {
  const int year = TakeDigits(&text, 4, "-"), month = TakeDigits(&text, 2, "-");
  const int day = TakeDigits(&text, 2, "T "), hours = TakeDigits(&text, 2, ":");
  const int minutes = TakeDigits(&text, 2, ":");
  const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  double seconds = -1;
  if (!absl::SimpleAtod(text.substr(0, end), &seconds)) return std::nullopt;
  const std::optional<int> zone = SecondsOfZone(text.substr(end));
  const std::chrono::year_month_day date(std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  const bool right = year >= 0 && date.ok() && hours >= 0 && hours < 24 && minutes >= 0 &&
                     minutes < 60 && seconds >= 0 && seconds < 61 && zone;
  if (!right) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(int64_t{days} * 86400 + int64_t{hours} * 3600 + int64_t{minutes} * 60 -
                             *zone) +
         seconds;
}

LogField FieldOfCell(const std::string& name, absl::string_view cell) {
  LogField field = {name, {}, {}, false, false};
  double number = 0;
  if (absl::SimpleAtod(cell, &number)) {
    field.is_nan = !std::isfinite(number);
    if (!field.is_nan) field.number = number;
    field.whole = WholeOf(number);
  } else {
    field.number = SecondsOfText(cell);
    if (!field.number) field.number = SecondsOfIso(cell);
    field.has_unit = field.number.has_value();
  }
  return field;
}

LogField FieldOf(const std::string& name, const nlohmann::json& value) {
  if (value.is_string()) return FieldOfCell(name, value.get_ref<const std::string&>());
  const bool is_nan = value.is_null() || (value.is_object() && value.empty());
  LogField field = {name, {}, {}, is_nan, false};
  if (value.is_number()) {
    field.number = value.get<double>();
    field.whole = WholeOf(*field.number);
  }
  if (!value.is_array()) return field;
  for (const nlohmann::json& item : value) {
    const std::optional<int64_t> whole =
        item.is_number() ? WholeOf(item.get<double>()) : std::nullopt;
    if (!whole || *whole < 0 || *whole > kMostOfStep) {
      field.other_item = field.list.size() + 1;
      field.list.clear();
      break;
    }
    field.list.push_back(*whole);
  }
  return field;
}

std::string FaultOfLengths(const LogField& field, bool packed) {
  const bool is_json = field.json != nullptr && !field.json->is_array();
  if (is_json || !field.cell.empty()) {
    const absl::string_view form = packed ? "[0,512,812,829]" : "[512,300,17]";
    const absl::string_view quote = is_json ? "" : "\"";
    return absl::StrCat(field.name, " is ",
                        is_json ? Escaped(field.json->dump(
                                      -1, ' ', false, nlohmann::json::error_handler_t::replace))
                                : Escaped(field.cell),
                        ", and no list of lengths, as ", quote, form, quote);
  }
  if (packed && field.other_item == 0) return absl::StrCat(field.name, " does not go up from 0");
  const bool is_nested = field.other_item > 0 && field.json != nullptr &&
                         (*field.json)[field.other_item - 1].is_array();
  if (is_nested) {
    return absl::StrCat(field.name, ": item ", field.other_item,
                        " is a list: the samples of a step are one list of whole numbers");
  }
  const auto low =
      std::find_if(field.list.begin(), field.list.end(), [](int64_t length) { return length < 1; });
  const size_t item = low == field.list.end() ? field.other_item
                                              : static_cast<size_t>(low - field.list.begin()) + 1;
  if (item == 0) return absl::StrCat(field.name, " is no list of lengths of 1 or more");
  return absl::StrCat(field.name, packed ? ": number " : ": sample ", item, " is no whole number",
                      packed ? "" : " of 1 or more");
}

// The lengths of samples, or where each begins in a packed row and the last one ends.
void TakeLengths(const LogField& field, bool packed, StepRecord* record) {
  std::vector<int64_t> lengths = field.list;
  if (packed && !lengths.empty()) {
    const bool from_0 = lengths[0] == 0;
    std::adjacent_difference(lengths.begin(), lengths.end(), lengths.begin());
    lengths.erase(lengths.begin());
    std::erase(lengths, 0);
    if (!from_0) lengths.clear();
  }
  if (lengths.empty() || *std::min_element(lengths.begin(), lengths.end()) < 1) {
    record->faults.push_back(FaultOfLengths(field, packed));
    return;
  }
  const bool has_other = !record->lengths.empty();
  if (has_other && record->lengths.size() != lengths.size()) {
    record->faults.emplace_back(kDifferentSamples);
    return;
  }
  if (has_other) record->texts = packed ? record->lengths : lengths;
  if (!has_other || packed) record->lengths = std::move(lengths);
  record->packed = record->packed || packed;
}

// ", column 34": where the list begins that is item `index` of the field; "" if not found.
std::string ColumnOf(const LogField& field, size_t index) {
  size_t at = field.line.find(absl::StrCat("\"", field.name, "\""));
  if (at != absl::string_view::npos) at = field.line.find('[', at);
  for (size_t i = 0; i <= index && at != absl::string_view::npos; ++i) {
    at = field.line.find('[', at + 1);
  }
  return at == absl::string_view::npos ? "" : absl::StrCat(", column ", at + 1);
}

bool IsListOfGrids(const nlohmann::json& item) {
  return item.is_array() && (item.empty() || item[0].is_array());
}

// Reads the grids of a line in their order, and says what is wrong with one.
class GridReader {
 public:
  explicit GridReader(const LogField& field) : field_(field) {}

  // [1, 32, 48]: frames, height and width in patches. False for a fault.
  bool Take(const nlohmann::json& grid) {
    const auto is_side = [](const nlohmann::json& side) {
      const std::optional<int64_t> whole =
          side.is_number() ? WholeOf(side.get<double>()) : std::nullopt;
      return whole && *whole >= 1 && *whole <= kMostOfStep;
    };
    if (!grid.is_array() || grid.size() != grids.size() ||
        !std::all_of(grid.begin(), grid.end(), is_side)) {
      fault = absl::StrCat(field_.name, ColumnOf(field_, lists_), ": image ", grids[0].size() + 1,
                           " is no [frames, height, width], whole numbers of 1 or more");
      return false;
    }
    ++lists_;
    for (size_t axis = 0; axis < grids.size(); ++axis) {
      grids[axis].push_back(static_cast<int64_t>(grid[axis].get<double>()));
    }
    return true;
  }

  // [[1, 4, 6], [1, 8, 2]]: those of a sample, or none.
  bool TakeSample(const nlohmann::json& sample) {
    if (!IsListOfGrids(sample)) {
      fault = absl::StrCat(field_.name, ": sample ", counts.size() + 1,
                           " has no list of grids, and others have one");
      return false;
    }
    ++lists_;
    counts.push_back(static_cast<int64_t>(sample.size()));
    return std::all_of(sample.begin(), sample.end(),
                       [&](const nlohmann::json& grid) { return Take(grid); });
  }

  std::array<std::vector<int64_t>, 3> grids;
  std::vector<int64_t> counts;  // of each sample's images
  std::string fault;

 private:
  const LogField& field_;
  size_t lists_ = 0;  // so far
};

// [[1, 32, 48], [1, 20, 24]]: the grid of each sample's image; [[[1, 32, 48]], []]: of its images.
void TakeGrids(const LogField& field, StepRecord* record) {
  const bool is_list = field.json != nullptr && field.json->is_array() && !field.json->empty() &&
                       std::all_of(field.json->begin(), field.json->end(),
                                   [](const nlohmann::json& item) { return item.is_array(); });
  if (!is_list) {
    record->faults.push_back(
        absl::StrCat(field.name, " is no list of [frames, height, width], one for each sample"));
    return;
  }
  GridReader reader(field);
  const bool nested = std::any_of(field.json->begin(), field.json->end(), IsListOfGrids);
  for (const nlohmann::json& item : *field.json) {
    if (nested ? reader.TakeSample(item) : reader.Take(item)) continue;
    record->faults.push_back(std::move(reader.fault));
    return;
  }
  record->grids = std::move(reader.grids);
  const bool one_each = std::all_of(reader.counts.begin(), reader.counts.end(),
                                    [](int64_t count) { return count == 1; });
  if (!one_each) record->image_counts = std::move(reader.counts);
}

// 1250 is frames, 12.5 and "12.5s" are seconds. nullopt for another value.
std::optional<AudioLength> AudioOf(const nlohmann::json& item) {
  constexpr double kMostSeconds = 1e12, kMicrosecondsPerSecond = 1e6;
  if (item.is_number_integer()) {
    const std::optional<int64_t> frames = WholeOf(item.get<double>());
    const bool right = frames && *frames >= 1 && *frames <= kMostOfStep;
    return right ? std::optional(AudioLength{.frames = *frames}) : std::nullopt;
  }
  double seconds = item.is_number() ? item.get<double>() : 0;
  if (item.is_string()) {
    absl::string_view text = item.get_ref<const std::string&>();
    const bool is_decimal = text.find_first_of("xX") == absl::string_view::npos;
    if (!is_decimal || !absl::ConsumeSuffix(&text, "s") || !absl::SimpleAtod(text, &seconds)) {
      return std::nullopt;
    }
  }
  if (!(seconds > 0 && seconds <= kMostSeconds)) return std::nullopt;
  return AudioLength{.microseconds = std::llround(seconds * kMicrosecondsPerSecond)};
}

// How many of the line's grids each sample has.
void TakeImageCounts(const LogField& field, StepRecord* record) {
  const std::vector<int64_t>& counts = field.list;
  absl::int128 sum = 0;
  for (const int64_t count : counts) sum += count;
  const bool is_nested = !record->image_counts.empty();
  if (counts.empty() || is_nested || sum != static_cast<int64_t>(record->grids[0].size())) {
    record->faults.push_back(
        is_nested
            ? absl::StrCat(field.name, " comes with a flat list of grids, one an image")
            : absl::StrCat(field.name, " is no list of numbers, one a sample, which add up to ",
                           record->grids[0].size(), " grids"));
    return;
  }
  const bool one_each =
      std::all_of(counts.begin(), counts.end(), [](int64_t count) { return count == 1; });
  if (!one_each) record->image_counts = counts;
}

// The length of each sample's audio; a number is a size of this name.
void TakeAudio(const LogField& field, StepRecord* record) {
  if (field.whole && *field.whole >= 0 && *field.whole <= kMostOfStep) {
    record->sizes[field.name] = *field.whole;
    record->names.erase("audio");
    return;
  }
  if (field.json == nullptr || !field.json->is_array() || field.json->empty()) {
    record->faults.push_back(absl::StrCat(field.name, " is no list of lengths, one a sample"));
    return;
  }
  for (const nlohmann::json& item : *field.json) {
    const std::optional<AudioLength> length = AudioOf(item);
    // Writers that drop the point of 30.0 would make frames of seconds.
    const bool is_mixed =
        length && !record->audio.empty() && (length->frames > 0) != (record->audio[0].frames > 0);
    if (length && !is_mixed) {
      record->audio.push_back(*length);
      continue;
    }
    record->faults.push_back(absl::StrCat(
        field.name, ": sample ", record->audio.size() + 1,
        is_mixed ? " is in other units than the first: write seconds as 30.0 or \"30s\" throughout"
                 : " has neither frames, as 1250, nor seconds, as 12.5"));
    record->audio.clear();
    return;
  }
}

void TakeSize(const LogField& field, int64_t least, int64_t most, std::optional<int64_t>* size,
              StepRecord* record) {
  if (field.whole && *field.whole >= least && *field.whole <= most) {
    *size = field.whole;
  } else {
    record->faults.push_back(
        absl::StrCat(field.name, " is no whole number of ", least, " or more"));
  }
}

void TakeTime(const LogField& field, double least, double most, std::optional<double>* time,
              StepRecord* record) {
  if (field.number && *field.number >= least && *field.number <= most) {
    *time = field.number;
  } else if (field.number) {
    record->faults.push_back(absl::StrCat(field.name, " is not from ", least, " to ", most));
  } else {
    record->faults.push_back(
        absl::StrCat(field.name, field.is_nan ? " is NaN or infinite" : " is no number"));
  }
}

// Clocks of programs that have no floats count parts of a second since 1970. A number of seconds is
// never so large.
void ReadAsSeconds(LogField* field, StepRecord* record) {
  constexpr double kFirst = 1e11;  // milliseconds: 1973; seconds: the year 5138
  constexpr std::pair<double, const char*> kUnits[] = {
      {1e3, "milliseconds"}, {1e6, "microseconds"}, {1e9, "nanoseconds"}};
  if (!field->number || field->has_unit) return;
  for (const auto& [part, unit] : kUnits) {
    if (*field->number < kFirst * part / 1e3 || *field->number >= kFirst * part) continue;
    *field->number /= part;
    record->notes.push_back(absl::StrCat(field->name, " is read as ", unit, " since 1970"));
    return;
  }
}

constexpr double kMilli = 1e-3;

// The name of a field of a log, its meaning and its unit. If two fields mean the same, the first in
// this table counts. Case and a prefix "train/" (from W&B's logs) do not matter.
struct LogName {
  absl::string_view name;
  absl::string_view means;  // "step", "time", "step_seconds", "tokens", ...
  double unit = 1;
  absl::string_view whose;  // which program writes it
};

constexpr LogName kLogNames[] = {
    {"step", "step", 1, "ours, Lightning"},
    {"trainer/global_step", "step", 1, "Lightning with W&B"},
    {"train/global_step", "step", 1, "Hugging Face with W&B"},
    {"global_step", "step", 1, "Hugging Face"},
    {"iteration", "step", 1, "Megatron"},
    {"iter", "step", 1, "nanoGPT"},
    {"_step", "step", 1, "W&B"},
    {"time", "time", 1, "ours"},
    {"timestamp", "time", 1, ""},
    {"_timestamp", "time", 1, "W&B"},
    {"wall_time", "time", 1, "TensorBoard"},
    {"_runtime", "time", 1, "W&B"},
    {"train_runtime", "time", 1, "Hugging Face, since the training began"},
    {"step_seconds", "step_seconds", 1, "ours"},
    {"step_time", "step_seconds", 1, ""},
    {"perf/step_time", "step_seconds", 1, "ours, as it is written"},
    {"device/step_time", "step_seconds", 1, "ours in Lightning"},
    {"time/iter", "step_seconds", 1, ""},
    {"iteration-time", "step_seconds", 1, "Megatron with TensorBoard or W&B"},
    {"elapsed time per iteration (ms)", "step_seconds", kMilli, "Megatron"},
    {"step_time_s", "step_seconds", 1, ""},
    {"step_time_ms", "step_seconds", kMilli, ""},
    {"iter_time_ms", "step_seconds", kMilli, ""},
    {"steps_per_second", "steps_per_second", 1, ""},
    {"perf/steps_per_second", "steps_per_second", 1, "ours, as it is written"},
    {"train_steps_per_second", "steps_per_second", 1, "Hugging Face, of the whole training"},
    {"it/s", "steps_per_second", 1, ""},
    {"samples_per_second", "samples_per_second", 1, ""},
    {"perf/samples_per_second", "samples_per_second", 1, "ours, as it is written"},
    {"samples_per_sec", "samples_per_second", 1, "Lightning's ThroughputMonitor"},
    {"device/samples_per_sec", "device_samples_per_second", 1, "Lightning's ThroughputMonitor"},
    {"train_samples_per_second", "samples_per_second", 1, "Hugging Face, of the whole training"},
    {"tokens_per_second", "tokens_per_second", 1, ""},
    {"perf/tokens_per_second", "tokens_per_second", 1, "ours, as it is written"},
    {"tokens_per_sec", "tokens_per_second", 1, ""},
    {"train_tokens_per_second", "tokens_per_second", 1, "Hugging Face, since it began"},
    {"tokens", "tokens", 1, "ours"},
    {"mask_sum", "tokens", 1, "ours"},
    {"lengths", "lengths", 1, "ours: a list"},
    {"cu_seqlens", "cu_seqlens", 1, "ours: a list"},
    {"grid_thw", "grid_thw", 1, "ours: a list of lists"},
    {"image_grid_thw", "grid_thw", 1, "transformers' processors"},
    {"image_counts", "image_counts", 1, "ours: a list"},
    {"audio", "audio", 1, "ours: a list"},
    {"samples", "samples", 1, "ours"},
    {"images", "samples", 1, "ours"},
    {"batch_size", "samples", 1, "ours"},
    {"global_batch_size", "samples", 1, ""},
    {"global batch size", "samples", 1, "Megatron"},
    {"batch-size", "samples", 1, "Megatron with TensorBoard or W&B"},
    {"num_input_tokens_seen", "tokens_total", 1, "Hugging Face"},
    {"consumed_tokens", "tokens_total", 1, ""},
    {"tokens_seen", "tokens_total", 1, ""},
    {"total_tokens", "tokens_total", 1, ""},
    {"consumed samples", "samples_total", 1, "Megatron"},
    {"consumed_samples", "samples_total", 1, ""},
    {"samples_seen", "samples_total", 1, ""},
    {"per_device_train_batch_size", "device_batch", 1, "Hugging Face"},
    {"batch_size_per_device", "device_batch", 1, ""},
    {"train_micro_batch_size_per_gpu", "device_batch", 1, "DeepSpeed"},
    {"micro_batch_size", "device_batch", 1, "Megatron"},
    {"gradient_accumulation_steps", "runs", 1, "Hugging Face, DeepSpeed, nanoGPT"},
    {"grad_accumulation", "runs", 1, ""},
    {"gradient_accumulation", "runs", 1, ""},
    {"grad_accum_steps", "runs", 1, ""},
    {"accumulate_grad_batches", "runs", 1, "Lightning"},
    {"world_size", "devices", 1, "torch"},
    {"num_devices", "devices", 1, ""},
    {"num_gpus", "devices", 1, ""},
    {"tensor_model_parallel_size", "tensor_parallel", 1, "Megatron"},
    {"pipeline_model_parallel_size", "pipeline_parallel", 1, "Megatron"},
    {"context_parallel_size", "context_parallel", 1, "Megatron"},
    {"data_parallel_size", "copies", 1, "Megatron"},
    {"eval_runtime", "pause_seconds", 1, "Hugging Face"},
};

const LogName* FindLogName(absl::string_view name) {
  for (const absl::string_view spelled : {name, absl::StripPrefix(name, "train/")}) {
    for (const LogName& known : kLogNames) {
      if (absl::EqualsIgnoreCase(known.name, spelled)) return &known;
    }
  }
  return nullptr;
}

struct CountField {  // of a record
  absl::string_view means;
  int64_t least, most;
  std::optional<int64_t> StepRecord::*value;
};
constexpr CountField kCounts[] = {
    {"step", 0, kMostOfStep, &StepRecord::step},
    {"tokens", 0, kMostOfTotal, &StepRecord::tokens},
    {"samples", 0, kMostOfTotal, &StepRecord::samples},
    {"tokens_total", 0, kMostOfTotal, &StepRecord::tokens_total},
    {"samples_total", 0, kMostOfTotal, &StepRecord::samples_total},
    {"device_batch", 1, kMostOfStep, &StepRecord::device_batch},
    {"runs", 1, kMostOfStep, &StepRecord::runs},
    {"devices", 1, kMostOfStep, &StepRecord::devices},
    {"tensor_parallel", 1, kMostOfStep, &StepRecord::tensor_parallel},
    {"pipeline_parallel", 1, kMostOfStep, &StepRecord::pipeline_parallel},
    {"context_parallel", 1, kMostOfStep, &StepRecord::context_parallel},
    {"copies", 1, kMostOfStep, &StepRecord::copies},
};

struct TimeField {  // seconds, or a rate
  absl::string_view means;
  std::optional<double> StepRecord::*value;
};
constexpr TimeField kTimes[] = {
    {"step_seconds", &StepRecord::step_seconds},
    {"steps_per_second", &StepRecord::steps_per_second},
    {"samples_per_second", &StepRecord::samples_per_second},
    {"device_samples_per_second", &StepRecord::device_samples_per_second},
    {"tokens_per_second", &StepRecord::tokens_per_second},
    {"pause_seconds", &StepRecord::pause_seconds},
};

void TakeAs(const LogName& as, LogField field, StepRecord* record) {
  record->names[std::string(as.means)] = field.name;
  for (const CountField& count : kCounts) {
    if (count.means != as.means) continue;
    return TakeSize(field, count.least, count.most, &(record->*count.value), record);
  }
  if (as.means == "lengths" || as.means == "cu_seqlens") {
    return TakeLengths(field, as.means == "cu_seqlens", record);
  }
  if (as.means == "grid_thw") return TakeGrids(field, record);
  if (as.means == "image_counts") return TakeImageCounts(field, record);
  if (as.means == "audio") return TakeAudio(field, record);
  if (field.number && !field.has_unit) *field.number *= as.unit;
  if (as.means == "time") {
    ReadAsSeconds(&field, record);
    return TakeTime(field, -kMostTime, kMostTime, &record->time, record);
  }
  for (const TimeField& time : kTimes) {
    if (time.means != as.means) continue;
    return TakeTime(field, kLeastSeconds, kMostTime, &(record->*time.value), record);
  }
}

// What one line says twice, under two names. Times of a clock, and means since the training began,
// may be others.
void NoteOther(const LogName& as, const LogField& field, const LogName& used_as,
               const LogField& used, StepRecord* record) {
  constexpr double kNear = 0.01;  // figures are rounded
  if (as.means == "time" || as.means == "step" || absl::StartsWith(as.name, "train_")) return;
  if (!field.number || !used.number || absl::StartsWith(used_as.name, "train_")) return;
  const double one = *used.number * (used.has_unit ? 1 : used_as.unit);
  const double other = *field.number * (field.has_unit ? 1 : as.unit);
  if (std::abs(one - other) <= kNear * std::max(std::abs(one), std::abs(other))) return;
  record->notes.push_back(absl::StrCat(Escaped(used.name), " and ", Escaped(field.name),
                                       " are two figures for one fact: the former is used"));
}

// Of two fields that belong together, the right one alone would tell another step.
void ClearFaulty(StepRecord* record) {
  absl::btree_set<std::string>& faulty = record->faulty;
  if (faulty.erase("cu_seqlens") > 0) faulty.insert("lengths");
  if (faulty.erase("image_counts") > 0) faulty.insert("grid_thw");
  if (faulty.contains("lengths")) {
    record->lengths.clear();
    record->texts.clear();
    record->packed = false;
  }
  if (faulty.contains("grid_thw")) {
    record->grids = {};
    record->image_counts.clear();
  }
}

// A cell of CSV that is a list, "[5,6]", is that of JSON, which `lists` keeps.
LogField FieldOfCell(const std::string& name, const std::string& cell,
                     std::deque<nlohmann::json>* lists) {
  if (absl::StartsWith(cell, "[")) {
    absl::StatusOr<nlohmann::json> list = ParseJson(cell, {.not_numbers = true});
    if (list.ok()) {
      lists->push_back(*std::move(list));
      LogField field = FieldOf(name, lists->back());
      field.json = &lists->back();
      return field;
    }
  }
  LogField field = FieldOfCell(name, cell);
  field.cell = cell;
  return field;
}

// "iter 20: loss 2.31, time 410.5ms, mfu 31.2%", as nanoGPT prints it.
std::optional<std::vector<LogField>> FieldsOfNanoGpt(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, "iter ")) return std::nullopt;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(line, absl::MaxSplits(": ", 1));
  std::vector<LogField> fields = {FieldOfCell("step", parts.first)};
  for (absl::string_view part : absl::StrSplit(parts.second, ", ")) {
    if (absl::ConsumePrefix(&part, "time ") && absl::ConsumeSuffix(&part, "ms")) {
      fields.push_back(FieldOfCell("step_time_ms", part));
    }
  }
  return fields;
}

// "... iteration 20/ 100 | elapsed time per iteration (ms): 410.5 | global batch size: 32 | ...",
// as Megatron prints it.
std::optional<std::vector<LogField>> FieldsOfMegatron(absl::string_view line) {
  constexpr absl::string_view kStep = "iteration ";
  const size_t at = line.find(kStep);
  if (at == absl::string_view::npos || !absl::StrContains(line, " | ")) return std::nullopt;
  std::vector<LogField> fields;
  for (const absl::string_view cell : absl::StrSplit(line.substr(at + kStep.size()), '|')) {
    if (fields.empty()) {
      const std::pair<absl::string_view, absl::string_view> steps = absl::StrSplit(cell, '/');
      fields.push_back(FieldOfCell("step", absl::StripAsciiWhitespace(steps.first)));
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(cell, absl::MaxSplits(':', 1));
    const std::string name(absl::StripAsciiWhitespace(pair.first));
    if (FindLogName(name) == nullptr) continue;
    fields.push_back(FieldOfCell(name, absl::StripAsciiWhitespace(pair.second)));
  }
  return fields;
}

// The caller knows which line it is.
absl::Status InThisLine(const absl::Status& status, absl::string_view place) {
  return absl::Status(status.code(), absl::StripPrefix(status.message(), place));
}

// Converts a printed Python dict to JSON: double quotes, and None, True and False in JSON's
// spelling.
std::string JsonOfPython(absl::string_view line) {
  std::string text;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0 && c == '\\' && i + 1 < line.size()) {
      if (line[++i] != '\'') text += '\\';
      text += line[i];
    } else if (c == '\'' || c == '"') {
      if (quote != 0 && quote != c) {
        absl::StrAppend(&text, c == '"' ? "\\\"" : "'");
        continue;
      }
      quote = quote == 0 ? c : 0;
      text += '"';
    } else {
      text += c;
    }
  }
  return absl::StrReplaceAll(text, {{": None", ": null"},
                                    {": True", ": true"},
                                    {": False", ": false"},
                                    {": nan", ": NaN"},
                                    {": inf", ": Infinity"},
                                    {": -inf", ": -Infinity"}});
}

// The records in a document on one line: the objects of a list, or of the log_history of Hugging
// Face. Another list of objects may be a field of a step. nullopt for any other line.
std::optional<nlohmann::json> RecordsIn(absl::string_view line) {
  const auto is_records = [](const nlohmann::json& list) {
    return list.is_array() && !list.empty() &&
           absl::c_all_of(list, [](const auto& item) { return item.is_object() && !item.empty(); });
  };
  const size_t list = line.find('[');
  if (list == absl::string_view::npos || line.find('{', list) == absl::string_view::npos) {
    return std::nullopt;  // most lines
  }
  absl::StatusOr<nlohmann::json> json = ParseJson(line, {.not_numbers = true});
  if (!json.ok()) return std::nullopt;
  if (is_records(*json)) return *std::move(json);
  const auto history = json->find("log_history");  // of an object
  if (history == json->end() || !is_records(*history)) return std::nullopt;
  return std::move(*history);
}

}  // namespace
}  // namespace monitor

// If several fields mean the same, the first name in kLogNames is read.
StepRecord StepLog::RecordOf(const std::vector<LogField>& fields) {
  constexpr size_t kMostUnread = 12;  // that a message could name
  StepRecord record;
  std::vector<const monitor::LogName*> known(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    known[i] = monitor::FindLogName(fields[i].name);
    if (known[i] != nullptr) continue;
    if (unread_.size() < kMostUnread) unread_.insert(fields[i].name);
    const bool is_size =
        fields[i].whole && *fields[i].whole >= 0 && *fields[i].whole <= monitor::kMostOfStep;
    if (is_size) {
      record.sizes[fields[i].name] = *fields[i].whole;
    } else if (fields[i].number || fields[i].is_nan) {
      record.no_sizes[fields[i].name] =
          fields[i].number ? absl::StrCat(*fields[i].number) : std::string("NaN or infinite");
    } else if (fields[i].json != nullptr && fields[i].json->is_array()) {
      record.no_sizes[fields[i].name] = "a list";
    }
  }
  bool of_training = false;  // a rate over the whole training
  std::vector<size_t> order(fields.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](size_t i) {  // after the grids
    return known[i] == nullptr || known[i]->means != "image_counts";
  });
  for (const size_t i : order) {
    if (known[i] == nullptr) continue;
    const auto before = std::find_if(known.begin(), known.end(), [&](const auto* other) {
      return other != nullptr && other->means == known[i]->means && other < known[i];
    });
    if (before != known.end()) {
      const auto first = static_cast<size_t>(before - known.begin());
      monitor::NoteOther(*known[i], fields[i], *known[first], fields[first], &record);
      continue;
    }
    of_training = of_training || known[i]->name == "train_steps_per_second";
    read_.try_emplace(fields[i].name, known[i]->means);
    const size_t faults = record.faults.size();
    monitor::TakeAs(*known[i], fields[i], &record);
    if (record.faults.size() > faults) record.faulty.emplace(known[i]->means);
  }
  monitor::ClearFaulty(&record);
  record.is_summary = of_training && record.time && record.steps_per_second;
  return record;
}

absl::StatusOr<StepRecord> StepLog::RecordOfJson(absl::string_view text) {
  const absl::StatusOr<nlohmann::json> parsed = ParseJson(text, {.not_numbers = true});
  if (!parsed.ok()) return monitor::InThisLine(parsed.status(), "line 1, ");
  const nlohmann::json& json = *parsed;
  if (!json.is_object()) return absl::InvalidArgumentError("is no object of JSON");
  return RecordOfObject(json, absl::StrContains(text, '\n') ? "" : text);
}

StepRecord StepLog::RecordOfObject(const nlohmann::json& object, absl::string_view line) {
  std::vector<LogField> fields;
  for (const auto& [name, value] : object.items()) {
    fields.push_back(monitor::FieldOf(name, value));
    fields.back().json = &value;
    fields.back().line = line;
  }
  return RecordOf(fields);
}

absl::StatusOr<std::optional<StepRecord>> StepLog::ReadDocument(absl::string_view line) {
  const bool opens = absl::EndsWith(line, "{") || absl::EndsWith(line, "[");
  const bool closes = absl::StartsWith(line, "}") || absl::StartsWith(line, "]");
  if (closes && depth_ > 0) --depth_;
  if (line == "{") {  // inside another object, the document: this one is a line of its list
    object_.clear();
    object_depth_ = depth_ + 1;
  }
  if (opens) ++depth_;
  if (object_depth_ == 0) return std::nullopt;
  if (object_.size() + line.size() > kMaxLogLine) {
    object_.clear();
    object_depth_ = 0;
    return LimitError("log-line",
                      absl::StrCat("an object has more than ", kMaxLogLine, " bytes (log-line)"));
  }
  absl::StrAppend(&object_, line, "\n");
  if (!closes || depth_ >= object_depth_) return std::nullopt;
  object_depth_ = 0;
  absl::StatusOr<StepRecord> record =
      RecordOfJson(absl::StripSuffix(absl::StripAsciiWhitespace(object_), ","));
  if (!record.ok()) return record.status();
  return std::optional<StepRecord>(*std::move(record));
}

absl::StatusOr<std::optional<StepRecord>> StepLog::Read(absl::string_view line) {
  absl::ConsumePrefix(&line, "\xEF\xBB\xBF");  // a byte order mark
  line = absl::StripAsciiWhitespace(line);
  if (line.empty()) return std::nullopt;
  if (line.size() > kMaxLogLine) {
    return LimitError("log-line", absl::StrCat("has more than ", kMaxLogLine, " bytes (log-line)"));
  }
  const bool is_document = line == "{" || line == "[" || (depth_ > 0 && line[0] != '{');
  if (is_document) return ReadDocument(line);
  if (line[0] == '{') {
    if (depth_ > 0) absl::ConsumeSuffix(&line, ",");
    const bool python = absl::StartsWith(line, "{'");
    absl::StatusOr<StepRecord> record =
        RecordOfJson(python ? monitor::JsonOfPython(line) : std::string(line));
    if (!record.ok()) return record.status();
    return std::optional<StepRecord>(*std::move(record));
  }
  for (const auto& read : {monitor::FieldsOfNanoGpt, monitor::FieldsOfMegatron}) {
    const std::optional<std::vector<LogField>> fields = read(line);
    if (fields) return std::optional(RecordOf(*fields));
  }
  ByteReader bytes(line);
  if (titles_.empty()) separator_ = absl::StrContains(line, ';') ? ';' : ',';
  CsvReader csv(&bytes, {.separator = separator_});
  std::vector<std::string> cells;
  const absl::StatusOr<bool> more = csv.Next(&cells);
  if (!more.ok()) return monitor::InThisLine(more.status(), "line 1: ");
  for (const std::string& cell : cells) {
    const monitor::LogName* const known = monitor::FindLogName(cell);
    if (known == nullptr || known->means != "step") continue;
    const absl::Status titles = csv.CheckTitles(cells);
    if (!titles.ok()) return monitor::InThisLine(titles, "line 1: ");
    titles_ = std::move(cells);  // also those of a restarted training
    return std::nullopt;
  }
  if (titles_.empty()) {
    return absl::InvalidArgumentError(
        "is neither JSON nor the titles of CSV, one of which is step");
  }
  if (cells.size() != titles_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", Plural(static_cast<int64_t>(cells.size()), "cell"),
                     ", and the titles are ", titles_.size()));
  }
  std::deque<nlohmann::json> lists;
  std::vector<LogField> fields;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].empty()) fields.push_back(monitor::FieldOfCell(titles_[i], cells[i], &lists));
  }
  return std::optional(RecordOf(fields));
}

absl::StatusOr<std::vector<StepRecord>> StepLog::ReadAll(absl::string_view line) {
  std::vector<StepRecord> records;
  if (depth_ == 0 && line.size() <= kMaxLogLine) {
    const std::optional<nlohmann::json> list = monitor::RecordsIn(line);
    for (size_t i = 0; list && i < list->size(); ++i) {
      records.push_back(RecordOfObject((*list)[i], ""));
    }
    if (list) return records;
  }
  ASSIGN_OR_RETURN(std::optional<StepRecord> record, Read(line));
  if (record) records.push_back(*std::move(record));
  return records;
}

}  // namespace onnxflops
