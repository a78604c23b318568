#include "src/monitor/step_log.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/byte_reader.h"
#include "src/base/csv_reader.h"
#include "src/base/json_reader.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"

namespace onnxflops {
namespace monitor {
namespace {

constexpr int64_t kMostOfStep = int64_t{1} << 40;  // more than any training has

// Seconds that can be, so that a rate of any model is finite.
constexpr double kLeastSeconds = 1e-12, kMostTime = 1e15;

// Python writes NaN and Infinity, which JSON does not have: they become {}, at the same width.
std::string WithoutNan(absl::string_view line) {
  std::string text(line);
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      for (const absl::string_view word : {"NaN", "-Infinity", "Infinity"}) {
        if (!absl::StartsWith(absl::string_view(text).substr(i), word)) continue;
        text.replace(i, word.size(), absl::StrCat("{}", std::string(word.size() - 2, ' ')));
        break;
      }
    }
  }
  return text;
}

// A field: a number, or no figure.
struct Field {
  std::string name;
  std::optional<double> number;
  std::optional<int64_t> whole;
  bool is_nan = false;
};

std::optional<int64_t> WholeOf(double number) {
  const bool whole = std::isfinite(number) && number == std::floor(number) &&
                     std::abs(number) <= static_cast<double>(kMostOfStep);
  return whole ? std::optional<int64_t>(static_cast<int64_t>(number)) : std::nullopt;
}

// Takes `width` digits off the front, then `mark`; -1 where they are not there.
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

Field FieldOf(const std::string& name, const nlohmann::json& value) {
  const bool is_nan = value.is_null() || (value.is_object() && value.empty());
  Field field = {name, {}, {}, is_nan};
  if (value.is_number()) {
    field.number = value.get<double>();
    field.whole = WholeOf(*field.number);
  } else if (value.is_string()) {
    field.number = SecondsOfIso(value.get_ref<const std::string&>());
  }
  return field;
}

Field FieldOfCell(const std::string& name, absl::string_view cell) {
  Field field = {name, {}, {}, false};
  double number = 0;
  if (absl::SimpleAtod(cell, &number)) {
    field.is_nan = !std::isfinite(number);
    if (!field.is_nan) field.number = number;
    field.whole = WholeOf(number);
  } else {
    field.number = SecondsOfIso(cell);
  }
  return field;
}

void TakeSize(const Field& field, int64_t least, std::optional<int64_t>* size, StepRecord* record) {
  if (field.whole && *field.whole >= least) {
    *size = field.whole;
  } else {
    record->faults.push_back(
        absl::StrCat(field.name, " is no whole number of ", least, " or more"));
  }
}

void TakeTime(const Field& field, double least, double most, std::optional<double>* time,
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

constexpr double kMilli = 1e-3;
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
    {"step_seconds", "step_seconds", 1, "ours"},
    {"step_time", "step_seconds", 1, ""},
    {"perf/step_time", "step_seconds", 1, "ours, as it is written"},
    {"device/step_time", "step_seconds", 1, "ours in Lightning"},
    {"time/iter", "step_seconds", 1, ""},
    {"iteration-time", "step_seconds", 1, "Megatron with TensorBoard or W&B"},
    {"elapsed time per iteration (ms)", "step_seconds", kMilli, "Megatron"},
    {"step_time_ms", "step_seconds", kMilli, ""},
    {"iter_time_ms", "step_seconds", kMilli, ""},
    {"steps_per_second", "steps_per_second", 1, ""},
    {"perf/steps_per_second", "steps_per_second", 1, "ours, as it is written"},
    {"samples_per_second", "samples_per_second", 1, ""},
    {"perf/samples_per_second", "samples_per_second", 1, "ours, as it is written"},
    {"device/samples_per_sec", "samples_per_second", 1, "Lightning's ThroughputMonitor"},
    {"tokens_per_second", "tokens_per_second", 1, ""},
    {"perf/tokens_per_second", "tokens_per_second", 1, "ours, as it is written"},
    {"tokens_per_sec", "tokens_per_second", 1, ""},
    {"tokens", "tokens", 1, "ours"},
    {"mask_sum", "tokens", 1, "ours"},
    {"samples", "samples", 1, "ours"},
    {"images", "samples", 1, "ours"},
    {"batch_size", "samples", 1, "ours"},
    {"global_batch_size", "samples", 1, ""},
    {"global batch size", "samples", 1, "Megatron"},
    {"batch-size", "samples", 1, "Megatron with TensorBoard or W&B"},
};

const LogName* FindLogName(absl::string_view name) {
  for (const LogName& known : kLogNames) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

void TakeAs(const LogName& as, Field field, StepRecord* record) {
  if (field.number) *field.number *= as.unit;
  if (as.means == "step") return TakeSize(field, 0, &record->step, record);
  if (as.means == "tokens") return TakeSize(field, 0, &record->tokens, record);
  if (as.means == "samples") return TakeSize(field, 0, &record->samples, record);
  if (as.means == "time") return TakeTime(field, -kMostTime, kMostTime, &record->time, record);
  std::optional<double>* const rate = as.means == "step_seconds"       ? &record->step_seconds
                                      : as.means == "steps_per_second" ? &record->steps_per_second
                                      : as.means == "samples_per_second"
                                          ? &record->samples_per_second
                                          : &record->tokens_per_second;
  TakeTime(field, kLeastSeconds, kMostTime, rate, record);
}

// Fields of a line. Of several names for the same, the first of kLogNames is read.
StepRecord RecordOf(const std::vector<Field>& fields) {
  StepRecord record;
  std::vector<const LogName*> known(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    known[i] = FindLogName(fields[i].name);
    const bool is_size = known[i] == nullptr && fields[i].whole && *fields[i].whole >= 0;
    if (is_size) record.sizes[fields[i].name] = *fields[i].whole;
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool is_first =
        known[i] != nullptr && std::none_of(known.begin(), known.end(), [&](const LogName* other) {
          return other != nullptr && other->means == known[i]->means && other < known[i];
        });
    if (is_first) TakeAs(*known[i], fields[i], &record);
  }
  return record;
}

// "iter 20: loss 2.31, time 410.5ms, mfu 31.2%", as nanoGPT prints it.
std::optional<std::vector<Field>> FieldsOfNanoGpt(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, "iter ")) return std::nullopt;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(line, absl::MaxSplits(": ", 1));
  std::vector<Field> fields = {FieldOfCell("step", parts.first)};
  for (absl::string_view part : absl::StrSplit(parts.second, ", ")) {
    if (absl::ConsumePrefix(&part, "time ") && absl::ConsumeSuffix(&part, "ms")) {
      fields.push_back(FieldOfCell("step_time_ms", part));
    }
  }
  return fields;
}

// "... iteration 20/ 100 | elapsed time per iteration (ms): 410.5 | global batch size: 32 | ...",
// as Megatron prints it.
std::optional<std::vector<Field>> FieldsOfMegatron(absl::string_view line) {
  constexpr absl::string_view kStep = "iteration ";
  const size_t at = line.find(kStep);
  if (at == absl::string_view::npos || !absl::StrContains(line, " | ")) return std::nullopt;
  std::vector<Field> fields;
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

absl::StatusOr<StepRecord> RecordOfJson(absl::string_view line) {
  const absl::StatusOr<nlohmann::json> parsed = ParseJson(WithoutNan(line), {});
  if (!parsed.ok()) return InThisLine(parsed.status(), "line 1, ");
  const nlohmann::json& json = *parsed;
  if (!json.is_object()) return absl::InvalidArgumentError("is no object of JSON");
  std::vector<Field> fields;
  for (const auto& [name, value] : json.items()) fields.push_back(FieldOf(name, value));
  return RecordOf(fields);
}

}  // namespace
}  // namespace monitor

absl::Span<const LogName> LogNames() { return monitor::kLogNames; }

absl::StatusOr<std::optional<StepRecord>> StepLog::Read(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty()) return std::nullopt;
  if (line.size() > kMaxLogLine) {
    return LimitError("log-line", absl::StrCat("has more than ", kMaxLogLine, " bytes (log-line)"));
  }
  if (line[0] == '{') {
    absl::StatusOr<StepRecord> record = monitor::RecordOfJson(line);
    if (!record.ok()) return record.status();
    return std::optional<StepRecord>(*std::move(record));
  }
  for (const auto& read : {monitor::FieldsOfNanoGpt, monitor::FieldsOfMegatron}) {
    const std::optional<std::vector<monitor::Field>> fields = read(line);
    if (fields) return std::optional(monitor::RecordOf(*fields));
  }
  ByteReader bytes(line);
  CsvReader csv(&bytes, {});
  std::vector<std::string> cells;
  const absl::StatusOr<bool> more = csv.Next(&cells);
  if (!more.ok()) return monitor::InThisLine(more.status(), "line 1: ");
  for (const std::string& cell : cells) {
    const LogName* const known = monitor::FindLogName(cell);
    if (known == nullptr || known->means != "step") continue;
    const absl::Status titles = csv.CheckTitles(cells);
    if (!titles.ok()) return monitor::InThisLine(titles, "line 1: ");
    titles_ = std::move(cells);  // also those of a training that starts again
    return std::nullopt;
  }
  if (titles_.empty()) {
    return absl::InvalidArgumentError(
        "is neither JSON nor the titles of CSV, one of which is step");
  }
  if (cells.size() != titles_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", cells.size(), " cells, and the titles are ", titles_.size()));
  }
  std::vector<monitor::Field> fields;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].empty()) fields.push_back(monitor::FieldOfCell(titles_[i], cells[i]));
  }
  return std::optional(monitor::RecordOf(fields));
}

}  // namespace onnxflops
