#include "src/monitor/step_log.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
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

Field FieldOf(const std::string& name, const nlohmann::json& value) {
  const bool is_nan = value.is_null() || (value.is_object() && value.empty());
  Field field = {name, {}, {}, is_nan};
  if (value.is_number()) {
    field.number = value.get<double>();
    field.whole = WholeOf(*field.number);
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

void Take(const Field& field, StepRecord* record) {
  if (field.name == "step") {
    TakeSize(field, 0, &record->step, record);
  } else if (field.name == "time") {
    TakeTime(field, -kMostTime, kMostTime, &record->time, record);
  } else if (field.name == "step_seconds") {
    TakeTime(field, kLeastSeconds, kMostTime, &record->step_seconds, record);
  } else if (field.name == "tokens" || field.name == "mask_sum") {
    TakeSize(field, 0, &record->tokens, record);
  } else if (field.name == "samples" || field.name == "images" || field.name == "batch_size") {
    TakeSize(field, 0, &record->samples, record);
  } else if (field.whole && *field.whole >= 0) {
    record->sizes[field.name] = *field.whole;
  }
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
  StepRecord record;
  for (const auto& [name, value] : json.items()) Take(FieldOf(name, value), &record);
  return record;
}

}  // namespace
}  // namespace monitor

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
  ByteReader bytes(line);
  CsvReader csv(&bytes, {});
  std::vector<std::string> cells;
  const absl::StatusOr<bool> more = csv.Next(&cells);
  if (!more.ok()) return monitor::InThisLine(more.status(), "line 1: ");
  for (const std::string& cell : cells) {
    if (cell != "step") continue;
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
  StepRecord record;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].empty()) monitor::Take(monitor::FieldOfCell(titles_[i], cells[i]), &record);
  }
  return std::optional<StepRecord>(std::move(record));
}

}  // namespace onnxflops
