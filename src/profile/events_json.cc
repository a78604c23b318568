// How it works. ONNX Runtime's profile is a list of events, TensorRT's a list of layers. Such files
// may be gigabytes, so they are read as a stream of JSON events: only the fields of the current
// object are held. The depth tells where the reader is: the list is the document itself or
// "traceEvents", and fields count at the depth of an event or of its "args". At the end of an
// object it becomes a kernel, a run, a body or a layer, by its category and name, and goes to the
// builder of runs.
//
// A file that was cut off is used as far as it goes, with a warning. Events of CUDA have the time
// of the launch, not of the kernel on the device: a warning counts them.
#include "src/profile/events_json.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/base/json_reader.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/profile/averages.h"
#include "src/profile/run_builder.h"

namespace onnxflops::profile {
namespace {

// One event's numbers and texts.
struct Fields {
  std::string category, name, op, provider;
  std::optional<double> start_us, us, average_ms, median_ms;
  int64_t index = -1, thread = 0;
  std::vector<std::vector<int64_t>> outputs;
};

constexpr absl::string_view kKernelSuffix = "_kernel_time";
constexpr absl::string_view kExecutor = "Executor::Execute";

// Reads events one by one.
class EventReader : public JsonEvents {
 public:
  EventReader(ByteReader* bytes, const ReadProfileOptions& options)
      : bytes_(bytes), runs_(&profile_, options.events), averages_(&profile_) {}

  absl::StatusOr<Profile> Run() {
    const JsonLimits limits = {.nesting = kMaxProfileNesting, .token = kMaxProfileToken};
    const absl::Status read = ReadJson(bytes_, limits, this);
    RETURN_IF_ERROR(status_);
    if (!read.ok() && !absl::IsDataLoss(read)) return read;
    return Finish(/*cut=*/!read.ok());
  }

  bool null() override { return true; }
  bool boolean(bool) override { return status_.ok(); }
  bool number_integer(number_integer_t value) override {
    return Number(static_cast<double>(value), value);
  }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr number_unsigned_t kMost = number_unsigned_t{1} << 62;
    return Number(static_cast<double>(value), static_cast<int64_t>(std::min(value, kMost)));
  }
  bool number_float(number_float_t value, const string_t&) override { return Number(value, -1); }
  bool string(string_t& text) override {
    if (std::string* const field = TextField()) {
      *field = std::move(text);
    } else if (depth_ == event_depth_ + 1 && in_args_ && key_ == "node_index") {
      if (!absl::SimpleAtoi(text, &event_.index)) event_.index = -1;
    }
    return status_.ok();
  }
  bool binary(binary_t&) override { return status_.ok(); }
  bool key(string_t& name) override {
    if (depth_ <= event_depth_ + 1) key_ = std::move(name);
    if (depth_ == event_depth_) in_args_ = key_ == "args";
    if (event_depth_ == 0 && depth_ == 1) in_list_key_ = key_ == "traceEvents";
    return status_.ok();
  }
  bool start_object(size_t) override {
    ++depth_;
    if (event_depth_ > 0 && depth_ == event_depth_) event_ = Fields();
    return true;
  }
  bool end_object() override {
    const bool is_event = event_depth_ > 0 && depth_ == event_depth_;
    --depth_;
    if (!is_event) return status_.ok();
    status_ = Take();
    if (!status_.ok()) {
      status_ = absl::Status(
          status_.code(),
          absl::StrCat("event ", number_, ", ", Quoted(event_.name), ": ", status_.message()));
    }
    ++number_;
    return status_.ok();
  }
  bool start_array(size_t) override {
    ++depth_;
    if (event_depth_ == 0 && (depth_ == 1 || (depth_ == 2 && in_list_key_))) {
      event_depth_ = depth_ + 1;
    } else if (InOutputs() && depth_ == event_depth_ + 4) {
      if (event_.outputs.size() < kMaxProfileOutputs) event_.outputs.emplace_back();
    }
    return true;
  }
  bool end_array() override {
    if (event_depth_ > 0 && depth_ == event_depth_ - 1) event_depth_ = kEnded;
    --depth_;
    return status_.ok();
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  static constexpr int kEnded = 1 << 20;  // after the list of events

  // "output_type_shape" : [{"float":[1,64,56,56]}]
  bool InOutputs() const {
    return in_args_ && key_ == "output_type_shape" && depth_ > event_depth_ + 1;
  }
  std::string* TextField() {
    if (depth_ == event_depth_) {
      if (key_ == "cat") return &event_.category;
      if (key_ == "name") return &event_.name;
    } else if (depth_ == event_depth_ + 1 && in_args_) {
      if (key_ == "op_name") return &event_.op;
      if (key_ == "provider") return &event_.provider;
    }
    return nullptr;
  }
  bool Number(double value, int64_t whole) {
    if (depth_ == event_depth_) {
      if (key_ == "ts") event_.start_us = value;
      if (key_ == "dur") event_.us = value;
      if (key_ == "tid") event_.thread = whole;
      if (key_ == "averageMs") event_.average_ms = value;
      if (key_ == "medianMs") event_.median_ms = value;
    } else if (InOutputs() && depth_ == event_depth_ + 4 && !event_.outputs.empty()) {
      std::vector<int64_t>& dims = event_.outputs.back();
      if (dims.size() < kMaxProfileOutputs) dims.push_back(whole);
    }
    return status_.ok();
  }

  absl::Status Take() {
    if (event_.median_ms || event_.average_ms) return TakeLayer();
    Event event;
    if (event_.category == "Node") {
      absl::string_view name = event_.name;
      if (!absl::ConsumeSuffix(&name, kKernelSuffix)) return absl::OkStatus();
      event.name = std::string(name);
    } else if (event_.category == "Session" && absl::EndsWith(event_.name, kExecutor)) {
      event.kind = Event::Kind::kBody;
      event.parallel = absl::StartsWith(event_.name, "Parallel");
    } else if (event_.category == "Session" && event_.name == "model_run") {
      event.kind = Event::Kind::kRun;
    } else {
      return absl::OkStatus();
    }
    constexpr double kMsPerUs = 1e-3;
    if (!event_.us || !event_.start_us) {
      return absl::InvalidArgumentError(event_.us ? "it has no ts" : "it has no dur");
    }
    ASSIGN_OR_RETURN(event.ns, NanosecondsOf(*event_.us * kMsPerUs));
    ASSIGN_OR_RETURN(event.start_ns, NanosecondsOf(*event_.start_us * kMsPerUs));
    event.op = std::move(event_.op);
    event.index = event_.index;
    event.thread = event_.thread;
    event.outputs = std::move(event_.outputs);
    if (event.kind == Event::Kind::kKernel && absl::StartsWith(event_.provider, "CUDA"))
      ++launches_;
    return runs_.Add(std::move(event));
  }

  absl::Status TakeLayer() {
    profile_.source = ProfileSource::kTensorRt;
    ASSIGN_OR_RETURN(const int64_t ns,
                     NanosecondsOf(event_.median_ms ? *event_.median_ms : *event_.average_ms));
    return averages_.Add(std::move(event_.name), "", ns);
  }

  absl::StatusOr<Profile> Finish(bool cut) {
    if (profile_.runs.empty()) {
      return absl::InvalidArgumentError(
          cut ? "the file ends in the middle of the first run"
              : "has no run: it should be a profile of ONNX Runtime, with events model_run, or of "
                "TensorRT, with averageMs");
    }
    if (cut) {
      profile_.warnings.push_back("the file ends in the middle: what was cut off is left out");
    } else if (runs_.pending() > 0) {
      profile_.warnings.push_back(
          absl::StrCat(runs_.pending(), " events belong to no run, and are left out"));
    }
    if (launches_ > 0) {
      profile_.warnings.push_back(
          absl::StrCat(launches_,
                       " events are of CUDA: ONNX Runtime gives the time of the launch, not that "
                       "of the kernel on the device"));
    }
    return std::move(profile_);
  }

  ByteReader* const bytes_;
  Profile profile_;
  RunBuilder runs_;
  Averages averages_;
  absl::Status status_;
  Fields event_;
  std::string key_;
  int depth_ = 0, event_depth_ = 0;  // events are at this depth; 0: unknown yet
  bool in_args_ = false, in_list_key_ = false;
  int64_t number_ = 0, launches_ = 0;
};

}  // namespace

absl::StatusOr<Profile> ReadEventsJson(ByteReader* bytes, const ReadProfileOptions& options) {
  return EventReader(bytes, options).Run();
}

}  // namespace onnxflops::profile
