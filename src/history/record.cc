// How it works. A line is read as a stream of JSON events, not as a tree, and each value is judged
// by its path: path_ holds the keys that are open. A path that we know must have a value of the
// right kind. Any other path is passed over with all that is in it, so that lines of later versions
// can be read. The first fault ends the reading. A figure is a bare number if it is exact, and else
// an object with a status ("lower_bound", "unknown", "open"): whoever reads the number by itself
// never takes a lower bound for the true figure. Numbers beyond 64 bits arrive as a float with
// their text, and the text is parsed again. In the end figures are put in the order of our own
// table, whatever order the line has.
#include "src/history/record.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/base/byte_reader.h"
#include "src/base/json_reader.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/hardware/device.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/report/memory_report.h"

namespace onnxflops {
namespace history {
namespace {

using report::JsonWriter;
using report::kOneLine;
using FigureStatus = RecordedFigure::Status;

constexpr absl::string_view kRecordSchema = "onnxflops.record/1";
constexpr FigureStatus kStatuses[] = {FigureStatus::kExact, FigureStatus::kLowerBound,
                                      FigureStatus::kUnknown, FigureStatus::kOpen};

// nullopt if the amount overflows.
std::optional<RecordedFigure> FigureOf(const Quantity& q, const Expr& amount, bool lower_bound) {
  if (amount.error() != nullptr) return std::nullopt;
  RecordedFigure figure;
  if (!amount.is_literal()) {
    figure.status = FigureStatus::kOpen;
    if (amount.TextBytes(kMaxShownFormula) <= kMaxShownFormula) {
      const report::Known known = lower_bound ? report::Known::kAtLeast : report::Known::kExact;
      figure.expr = report::KnownText(known, FormulaTextOf(q, amount));
    }
    return figure;
  }
  const report::Known known = report::KnownOf(q, amount, lower_bound);
  if (known == report::Known::kNothing) {
    figure.status = FigureStatus::kUnknown;
    return figure;
  }
  if (known != report::Known::kExact) figure.status = FigureStatus::kLowerBound;
  figure.value = amount.literal();
  return figure;
}

void WriteFigure(const Quantity& q, const RecordedFigure& figure, JsonWriter* json) {
  if (figure.status == FigureStatus::kExact) return json->Exact(q, figure.value);
  json->BeginObject(kOneLine);
  json->Key("value");
  if (figure.status == FigureStatus::kLowerBound) {
    json->Exact(q, figure.value);
  } else {
    json->Null();
  }
  json->Key("status").String(NameOf(figure.status));
  if (!figure.expr.empty()) json->Key("expr").String(figure.expr);
  json->EndObject();
}

void WriteText(absl::string_view key, const std::string& text, JsonWriter* json) {
  json->Key(key);
  if (text.empty()) {
    json->Null();
  } else {
    json->String(text);
  }
}

// "2026-11-26T06:00:00Z", a second that exists.
bool IsDate(absl::string_view text) {
  constexpr absl::string_view kForm = "0000-00-00T00:00:00Z";
  if (text.size() != kForm.size()) return false;
  for (size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = absl::ascii_isdigit(static_cast<unsigned char>(text[i]));
    if (kForm[i] == '0' ? !digit : text[i] != kForm[i]) return false;
  }
  const auto part = [&](size_t begin, size_t length) {
    int value = 0;
    static_cast<void>(absl::SimpleAtoi(text.substr(begin, length), &value));
    return value;
  };
  const int year = part(0, 4), month = part(5, 2), day = part(8, 2);
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > static_cast<int>(std::size(kDays))) return false;
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  const int days = kDays[month - 1] + (month == 2 && leap ? 1 : 0);
  constexpr int kHours = 24, kMinutes = 60, kSeconds = 61;  // 60: a leap second
  return day >= 1 && day <= days && part(11, 2) < kHours && part(14, 2) < kMinutes &&
         part(17, 2) < kSeconds;
}

bool IsHash(absl::string_view text, size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// Takes the JSON events of a line. Values in fields that we do not know are passed over.
class RecordEvents : public JsonEvents {
 public:
  explicit RecordEvents(HistoryRecord* record) : record_(*record) {}

  // The fault of the line; "" if it has none.
  std::string Fault() const {
    if (!fault_.empty()) return fault_;
    if (!seen_.contains("schema")) return "it is no line of a history: it has no schema";
    for (const char* field : {"date", "commit", "model", "sha256", "version", "sizes", "totals"}) {
      if (!seen_.contains(field)) return absl::StrCat("'", field, "' is missing");
    }
    return "";
  }

  bool null() override {
    if (path_.size() == 1 && (path_[0] == "commit" || path_[0] == "sha256")) return Value();
    if (IsFigurePart("value")) return Value();
    return Other("null");
  }
  bool boolean(bool /*value*/) override { return Other("true or false"); }
  bool number_integer(number_integer_t value) override { return Number(absl::StrCat(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Number(absl::StrCat(value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    return Number(text);
  }
  bool string(string_t& value) override { return Text(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(size_t /*size*/) override {
    if (at_root_) {
      at_root_ = false;
      path_.emplace_back();
      return true;
    }
    const bool holds = path_.size() == 1 && IsGroup(path_[0]);
    if (!holds && !IsTotal() && IsField()) return Fail(absl::StrCat(Where(), " is an object"));
    if (holds) seen_.insert(path_[0]);
    if (IsTotal()) {
      figure_ = {};
      has_value_ = has_status_ = false;
    }
    path_.emplace_back();
    return true;
  }
  bool end_object() override {
    path_.pop_back();
    return !IsTotal() || EndFigure();
  }
  bool start_array(size_t /*size*/) override {
    if (at_root_) return Fail("it is no line of a history: an array");
    if (IsField()) return Fail(absl::StrCat(Where(), " is an array"));
    path_.emplace_back();
    return true;
  }
  bool end_array() override {
    path_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    path_.back() = std::move(name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  static bool IsGroup(absl::string_view name) {
    return name == "sizes" || name == "totals" || name == "limits";
  }
  // Whether the path is "totals.flops", or that of another known quantity.
  bool IsTotal() const {
    return path_.size() == 2 && path_[0] == "totals" && FindRecordedQuantity(path_[1]) != nullptr;
  }
  bool IsFigurePart(absl::string_view part) const {
    return path_.size() == 3 && path_[0] == "totals" && path_[2] == part &&
           FindRecordedQuantity(path_[1]) != nullptr;
  }
  bool IsText() const {
    if (path_.size() != 1) return IsFigurePart("status") || IsFigurePart("expr");
    for (const char* field : {"schema", "date", "commit", "model", "sha256", "version", "device"}) {
      if (path_[0] == field) return true;
    }
    return false;
  }
  bool IsNumber() const {
    if (IsTotal() || IsFigurePart("value")) return true;
    if (path_.size() != 2) return false;
    return path_[0] == "sizes" ||
           (path_[0] == "limits" && FindRecordedQuantity(path_[1]) != nullptr);
  }
  bool IsField() const {
    return IsText() || IsNumber() || (path_.size() == 1 && IsGroup(path_[0]));
  }

  std::string Where() const {
    std::string where;
    for (const std::string& name : path_) absl::StrAppend(&where, where.empty() ? "" : ".", name);
    return Quoted(where);
  }
  bool Fail(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }
  bool Value() {
    if (path_.size() == 1) seen_.insert(path_[0]);
    return true;
  }
  // A value of a kind that no field of ours has: a fault in our fields, passed over elsewhere.
  bool Other(absl::string_view what) {
    if (at_root_) return Fail(absl::StrCat("it is no line of a history: ", what));
    return !IsField() || Fail(absl::StrCat(Where(), " is ", what));
  }

  bool Number(absl::string_view text) {
    if (at_root_ || !IsNumber()) return Other("a number");
    const bool is_size = path_[0] == "sizes";
    const Quantity* const quantity = is_size ? nullptr : FindRecordedQuantity(path_[1]);
    const std::optional<absl::int128> amount =
        ParseExactText(is_size ? QuantityOf(&Amounts::flops) : *quantity, text);
    if (!amount) {
      const bool is_time = !is_size && quantity->unit == Quantity::Unit::kSeconds;
      return Fail(absl::StrCat(Where(),
                               is_time ? " should be seconds with at most 21 decimals, and is "
                                       : " should be a whole number of at most 128 bits, and is ",
                               Escaped(text)));
    }
    const absl::int128 value = *amount;
    if (value < 0) return Fail(absl::StrCat(Where(), " is below 0"));
    if (is_size) {
      if (value > std::numeric_limits<int64_t>::max()) {
        return Fail(absl::StrCat(Where(), " is no size: it has more than 63 bits"));
      }
      record_.sizes[path_[1]] = static_cast<int64_t>(value);
      return true;
    }
    if (path_[0] == "limits") {
      record_.limits.emplace_back(quantity, value);
    } else if (path_.size() == 3) {
      figure_.value = value;
      has_value_ = true;
    } else {
      record_.totals.push_back({quantity, {FigureStatus::kExact, value, ""}});
    }
    return true;
  }

  bool Text(std::string value) {
    if (at_root_ || !IsText()) return Other("text");
    if (path_.size() == 3) return FigureText(std::move(value));
    const std::string& field = path_[0];
    seen_.insert(field);
    if (field == "schema") {
      return value == kRecordSchema ||
             Fail(absl::StrCat("it is no line of a history: its schema is ", Quoted(value),
                               ", not ", kRecordSchema));
    }
    if (field == "date" && !IsDate(value)) {
      return Fail(absl::StrCat("'date' should be a time in UTC, as 2026-11-26T06:00:00Z, and is ",
                               Quoted(value)));
    }
    constexpr size_t kSha1Digits = 40, kSha256Digits = 64;
    if (field == "commit" && !IsHash(value, kSha1Digits) && !IsHash(value, kSha256Digits)) {
      return Fail(absl::StrCat("'commit' should be null or a commit's hash in full, and is ",
                               Quoted(value)));
    }
    if (field == "sha256" && !IsHash(value, kSha256Digits)) {
      return Fail(
          absl::StrCat("'sha256' should be null or 64 hexadecimal digits, and is ", Quoted(value)));
    }
    if (field == "model" && value.empty()) return Fail("'model' is empty");
    std::string& to = field == "date"     ? record_.date
                      : field == "commit" ? record_.commit
                      : field == "model"  ? record_.model
                      : field == "sha256" ? record_.sha256
                      : field == "device" ? record_.device
                                          : record_.version;
    to = std::move(value);
    return true;
  }

  bool FigureText(std::string value) {
    if (path_[2] == "expr") {
      figure_.expr = std::move(value);
      return true;
    }
    for (const FigureStatus status : kStatuses) {
      if (value != NameOf(status)) continue;
      figure_.status = status;
      has_status_ = true;
      return true;
    }
    return Fail(
        absl::StrCat(Where(), " should be lower_bound, unknown or open, and is ", Quoted(value)));
  }

  // "totals.flops", whose parts have been read.
  bool EndFigure() {
    const bool needs_value =
        figure_.status == FigureStatus::kExact || figure_.status == FigureStatus::kLowerBound;
    if (!has_status_) return Fail(absl::StrCat(Where(), " has no status"));
    if (has_value_ != needs_value) {
      return Fail(absl::StrCat(Where(), " is ", NameOf(figure_.status), " and has ",
                               has_value_ ? "a value" : "no value"));
    }
    if (figure_.status != FigureStatus::kOpen) figure_.expr.clear();
    record_.totals.emplace_back(FindRecordedQuantity(path_[1]), std::move(figure_));
    return true;
  }

  HistoryRecord& record_;
  std::vector<std::string> path_;  // keys of what is open, and of what comes next; "" in arrays
  bool at_root_ = true;
  std::set<std::string> seen_;  // fields
  RecordedFigure figure_;       // the one whose parts are read
  bool has_value_ = false, has_status_ = false;
  std::string fault_;
};

size_t OrderOf(const Quantity* quantity) {
  const std::vector<const Quantity*>& all = RecordedQuantities();
  return static_cast<size_t>(std::find(all.begin(), all.end(), quantity) - all.begin());
}

}  // namespace
}  // namespace history

absl::string_view NameOf(RecordedFigure::Status status) {
  switch (status) {
    case RecordedFigure::Status::kExact:
      return "exact";
    case RecordedFigure::Status::kLowerBound:
      return "lower_bound";
    case RecordedFigure::Status::kUnknown:
      return "unknown";
    case RecordedFigure::Status::kOpen:
      break;
  }
  return "open";
}

const RecordedFigure* HistoryRecord::Find(const Quantity& quantity) const {
  for (const auto& [q, figure] : totals) {
    if (q == &quantity) return &figure;
  }
  return nullptr;
}

const std::vector<const Quantity*>& RecordedQuantities() {
  static const auto* const kAll = [] {
    auto* all = new std::vector<const Quantity*>(AllQuantities().begin(), AllQuantities().end());
    all->push_back(&kPeakActivations);
    all->push_back(&kPipelineMemory);
    return all;
  }();
  return *kAll;
}

const Quantity* FindRecordedQuantity(absl::string_view key) {
  for (const Quantity* q : {&kPeakActivations, &kPipelineMemory}) {
    if (key == q->key) return q;
  }
  return FindQuantity(key);
}

HistoryRecord RecordOf(const Report& report) {
  HistoryRecord record;
  record.model = report.model.path;
  record.sizes = report.bindings;
  if (report.roofline) {
    record.device =
        absl::StrCat(report.roofline->device, ", ", PrecisionName(report.roofline->precision));
  }
  for (const Quantity* q : RecordedQuantities()) {
    std::optional<RecordedFigure> figure;
    if (q == &kPeakActivations) {
      if (report.activation_peak) {
        figure = history::FigureOf(*q, report.activation_peak->bytes,
                                   report.activation_peak->lower_bound);
      }
    } else if (q != &kPipelineMemory && report.Has(*q)) {
      figure = history::FigureOf(*q, report.In(*q, report.totals), report.totals.lower_bound);
    }
    if (figure) record.totals.emplace_back(q, *std::move(figure));
  }
  return record;
}

HistoryRecord RecordOf(const PipelineReport& report, const Bindings& given) {
  HistoryRecord record;
  record.model = report.file;
  for (const auto& [name, size] : report.bindings) {
    if (given.contains(name)) record.sizes.emplace(name, size);
  }
  if (report.time) record.device = absl::StrCat(report.device, ", ", report.dtype);
  const auto add = [&](const Quantity& q, const Expr& amount) {
    std::optional<RecordedFigure> figure =
        history::FigureOf(q, amount.Substitute(report.bindings), report.totals.lower_bound);
    if (figure) record.totals.emplace_back(&q, *std::move(figure));
  };
  for (const Quantity& q : kQuantities) {
    if (q.needs == Quantity::Needs::kNothing) add(q, q.In(report.totals));
    if (q.value == &Amounts::time_bound && report.time) add(q, report.time->bound);
  }
  add(kBytesMoved, kBytesMoved.In(report.totals));
  if (report.memory_bytes) add(kPipelineMemory, *report.memory_bytes);
  return record;
}

std::string ToJsonLine(const HistoryRecord& record) {
  report::JsonWriter json;
  json.BeginObject(report::kOneLine);
  json.Key("schema").String(history::kRecordSchema);
  json.Key("date").String(record.date);
  history::WriteText("commit", record.commit, &json);
  json.Key("model").String(record.model);
  history::WriteText("sha256", record.sha256, &json);
  json.Key("version").String(record.version);
  if (!record.device.empty()) json.Key("device").String(record.device);
  json.Key("sizes").BeginObject(report::kOneLine);
  for (const auto& [name, size] : record.sizes) json.Key(name).Int(size);
  json.EndObject();
  json.Key("totals").BeginObject(report::kOneLine);
  for (const auto& [quantity, figure] : record.totals) {
    json.Key(quantity->key);
    history::WriteFigure(*quantity, figure, &json);
  }
  json.EndObject();
  if (!record.limits.empty()) {
    json.Key("limits").BeginObject(report::kOneLine);
    for (const auto& [quantity, limit] : record.limits) {
      json.Key(quantity->key).Exact(*quantity, limit);
    }
    json.EndObject();
  }
  json.EndObject();
  return json.TakeText();
}

absl::StatusOr<HistoryRecord> ParseRecord(absl::string_view line) {
  if (line.size() > kMaxHistoryLine) {
    return absl::OutOfRangeError(
        absl::StrCat("a line of more than ", kMaxHistoryLine, " bytes is no record"));
  }
  HistoryRecord record;
  history::RecordEvents events(&record);
  ByteReader bytes(line);
  const absl::Status read = ReadJson(&bytes, {.nesting = kMaxHistoryNesting}, &events);
  if (absl::IsDataLoss(read)) return absl::InvalidArgumentError(read.message());
  RETURN_IF_ERROR(read);
  const std::string fault = events.Fault();
  if (!fault.empty()) return absl::InvalidArgumentError(fault);
  const auto before = [](const auto& a, const auto& b) {
    return history::OrderOf(a.first) < history::OrderOf(b.first);
  };
  std::sort(record.totals.begin(), record.totals.end(), before);
  std::sort(record.limits.begin(), record.limits.end(), before);
  return record;
}

}  // namespace onnxflops
