// onnxflops monitor: utilisation of a training while it runs, from its log.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/api/count.h"
#include "src/api/load.h"
#include "src/api/sequence.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/graph/model.h"
#include "src/monitor/event_file.h"
#include "src/monitor/monitor.h"
#include "src/monitor/step_log.h"
#include "tools/line_reader.h"
#include "tools/mfu_arguments.h"
#include "tools/output.h"
#include "tools/verbs.h"
#include "tools/write_file.h"

namespace onnxflops::tools {
namespace {

constexpr VerbHelp kVerbMonitorHelp = {
    "onnxflops monitor MODEL --device NAME --dtype D [--log FILE] [options]",
    R"(Utilisation while a training runs. The log is lines of JSON, or CSV with titles:
step, and time (seconds, or as ISO 8601), step_seconds, or a rate such as
tokens_per_second. Sizes that vary are fields with the names of the model's
symbols; --dim gives the others. A size that the model has fixed at another
number is an error. batch_size, samples or images are the batch; tokens, or
mask_sum, the sum of an attention mask, are the tokens of the step. All are of a
whole step, on all devices.

The names that other logs have are read as well:
  step               trainer/global_step, train/global_step, global_step,
                     iteration, iter, _step
  time               timestamp, _timestamp, wall_time, _runtime
  step_seconds       step_time, perf/step_time, device/step_time, time/iter,
                     iteration-time; in ms: step_time_ms, iter_time_ms
  steps_per_second   perf/steps_per_second
  samples_per_second perf/samples_per_second, device/samples_per_sec
  tokens_per_second  perf/tokens_per_second, tokens_per_sec
  batch_size         global_batch_size, batch-size
These are names of W&B, Lightning, Hugging Face, Megatron, nanoGPT and of this
program's own output. Lines that Megatron and nanoGPT print are read, too.

Every so many steps it writes a line of JSON with perf/mfu, perf/mfu_percent,
perf/step_time, perf/steps_per_second, perf/tokens_per_second,
perf/samples_per_second and perf/flops_per_second: means since the line before.
Where a time is missing, perf/mfu is the last one, and perf/mfu_age_steps says
how old it is. What is odd about a line of the log is told on stderr.
)",
    R"(  A log that has ended:
    onnxflops monitor gpt2.onnx --log train.jsonl --device a100-sxm --dtype bf16
  A training that runs, for Prometheus and TensorBoard:
    onnxflops monitor gpt2.onnx --log train.jsonl --follow --devices 8 \
      --device h100-sxm --dtype bf16 --every 50 --tensorboard runs/1 \
      --prometheus /var/lib/node_exporter/onnxflops.prom
  Its output:
    python train.py | onnxflops monitor gpt2.onnx --dim seq=1024 --peak 312e12

Exit codes: 0 the log has ended, 2 error, or no figure came from the log.
)"};

struct MonitorCall {
  std::vector<std::string> models;
  MfuArguments mfu;
  std::string devices = "1", every = "10", log = "-", prometheus, tensorboard;
  bool follow = false, per_sample = false;

  void AddTo(OptionList* list) {
    list->AddPositional("MODEL", &models, 1, 1);
    list->AddValue("--log", "FILE", &log, "The log. Default: standard input.");
    list->AddFlag("--follow", &follow,
                  "Wait for more at the end of the log, also when another takes its place.");
    list->AddValue("--every", "N", &every, "Write every N steps. Default: 10.");
    list->AddValue("--devices", "N", &devices, "How many devices share the step. Default: 1.");
    mfu.AddPeakTo(list);
    list->AddFlag("--per-sample", &per_sample,
                  "The file fixes the batch: count its FLOPs for each sample of a step.");
    list->AddValue("--prometheus", "FILE", &prometheus,
                   "Also keep the last figures in FILE, for the textfile collector of "
                   "node_exporter. It is replaced in one step.");
    list->AddValue("--tensorboard", "DIR", &tensorboard,
                   "Also write an event file for TensorBoard into DIR.");
    mfu.AddModelTo(list);
  }
};

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// What a step of the model takes, with what --dim fixes. MFU holds no recomputation.
absl::StatusOr<StepWork> WorkOf(const Model& model, CountOptions options) {
  if (options.training) options.training = WithoutRecomputation(*options.training);
  ASSIGN_OR_RETURN(const Report report, Count(model, options));
  StepWork work;
  work.flops = report.totals.training_flops;
  work.lower_bound = report.totals.lower_bound;
  work.bindings = report.bindings;
  const InputSizes sizes = FindInputSizes(*model);
  work.batch = sizes.batch;
  work.fixed_batch = sizes.batch_size;
  work.sequences = sizes.lengths;
  work.fixed_length = sizes.length;
  return work;
}

// A batch that every input and output has is one of samples that do not meet.
absl::Status CountPerSample(const ModelData& model, StepWork* work) {
  work->per_sample = true;
  if (!work->fixed_batch || *work->fixed_batch == 0) {
    return absl::InvalidArgumentError(
        "--per-sample is for a file that fixes its batch: the log gives the batch of this model");
  }
  for (const auto* ids : {&model.graphs[0].inputs, &model.graphs[0].outputs}) {
    for (const ValueId id : *ids) {
      const Value& value = model.value(id);
      if (value.initializer || value.declared == nullptr || value.declared->dims.empty()) continue;
      if (value.declared->dims[0].size == *work->fixed_batch) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "--per-sample: the first dimension of ", Quoted(value.name), " is not the batch of ",
          *work->fixed_batch,
          ": FLOPs may not be so many for each sample. Export the model with an open batch"));
    }
  }
  return absl::OkStatus();
}

// Where points go.
class PointWriter {
 public:
  PointWriter(const MonitorCall& call, const Monitor& monitor) : call_(call), monitor_(monitor) {}
  ~PointWriter() {
    if (events_ >= 0) close(events_);
  }
  PointWriter(const PointWriter&) = delete;
  PointWriter& operator=(const PointWriter&) = delete;

  absl::Status Open() {
    if (call_.tensorboard.empty()) return absl::OkStatus();
    std::error_code error;
    std::filesystem::create_directories(call_.tensorboard, error);
    std::array<char, 256> host = {};
    gethostname(host.data(), host.size() - 1);
    const auto seconds = static_cast<int64_t>(Now());
    const std::string path = absl::StrCat(call_.tensorboard, "/events.out.tfevents.", seconds, ".",
                                          host.data(), ".", getpid(), ".onnxflops");
    events_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (events_ >= 0) return WriteAll(events_, EventFileHeader(Now()));
    const absl::Status why = FromErrno(errno);
    return absl::Status(why.code(), absl::StrCat("--tensorboard ", Escaped(call_.tensorboard), ": ",
                                                 why.message()));
  }

  absl::Status Write(const MonitorPoint& point) {
    RETURN_IF_ERROR(WriteAll(STDOUT_FILENO, ToJsonLine(point)));
    if (events_ >= 0) {
      constexpr double kFirstPlausible = 1e9;  // seconds since 1970: before, it is no such time
      const bool dated = point.time && *point.time > kFirstPlausible;
      RETURN_IF_ERROR(
          WriteAll(events_, EventRecord(point.step, dated ? *point.time : Now(), Figures(point))));
    }
    if (call_.prometheus.empty()) return absl::OkStatus();
    return WriteOutput(ToPrometheus(point, monitor_.totals(), call_.models[0]), call_.prometheus,
                       {call_.models[0], call_.log, call_.mfu.sizes.rules.file});
  }

 private:
  const MonitorCall& call_;
  const Monitor& monitor_;
  int events_ = -1;
};

// Tells what is odd about the log, as long as that helps.
class Complaints {
 public:
  explicit Complaints(std::string log) : log_(log == "-" ? "standard input" : std::move(log)) {}
  void Add(int64_t line, absl::string_view problem) {
    constexpr int kMost = 100;
    if (++count_ > kMost) return;
    WriteError(absl::StrCat(Escaped(log_), ":", line, ": ", problem));
    if (count_ == kMost) WriteError("what follows is not told any more");
  }

 private:
  std::string log_;
  int64_t count_ = 0;
};

absl::Status AtLine(const std::string& log, int64_t line, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(log == "-" ? "standard input" : Escaped(log), ":",
                                                  line, ": ", status.message()));
}

absl::Status Run(const MonitorCall& call, LineReader* log, Monitor* monitor) {
  PointWriter writer(call, *monitor);
  RETURN_IF_ERROR(writer.Open());
  Complaints complaints(call.log);
  StepLog steps;
  bool any = false;  // is written
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<std::string> line, log->Next(kMaxLogLine));
    if (!line) break;
    const absl::StatusOr<std::optional<StepRecord>> record = steps.Read(*line);
    if (!record.ok()) {
      complaints.Add(log->line(), record.status().message());
      continue;
    }
    if (!*record) continue;
    std::vector<std::string> problems;
    const absl::StatusOr<std::optional<MonitorPoint>> point = monitor->Take(**record, &problems);
    if (!point.ok()) return AtLine(call.log, log->line(), point.status());
    for (const std::string& problem : problems) complaints.Add(log->line(), problem);
    if (!*point) continue;
    any = true;
    RETURN_IF_ERROR(writer.Write(**point));
  }
  if (const std::optional<MonitorPoint> rest = monitor->Finish()) {
    any = true;
    RETURN_IF_ERROR(writer.Write(*rest));
  }
  if (any) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(call.log == "-" ? "standard input" : Escaped(call.log),
                   ": no line of it has a step and how long it took: it should be JSON lines, or "
                   "CSV with titles; --help has the names"));
}

}  // namespace

void DescribeMonitor(const UseVerb& use) {
  OptionList list;
  MonitorCall call;
  call.AddTo(&list);
  use(kVerbMonitorHelp, list);
}

absl::StatusOr<ExitCode> RunMonitor(const Arguments& arguments) {
  OptionList list;
  MonitorCall call;
  call.AddTo(&list);
  std::string help;
  ASSIGN_OR_RETURN(const bool run, list.Parse(kVerbMonitorHelp, arguments, &help));
  if (!run) {
    RETURN_IF_ERROR(WriteOutput(help, "-", {}));
    return kFine;
  }
  MonitorOptions options;
  ASSIGN_OR_RETURN(options.every, ParsePositiveWhole("--every", call.every));
  ASSIGN_OR_RETURN(options.devices, ParsePositiveWhole("--devices", call.devices));
  ASSIGN_OR_RETURN(options.peak, call.mfu.ParsePeak());
  ASSIGN_OR_RETURN(const MfuOptions mfu, call.mfu.Parse());
  if (call.models[0] == "-" && call.log == "-") {
    return absl::InvalidArgumentError("standard input is the model: --log FILE gives the log");
  }
  ASSIGN_OR_RETURN(const Model model, LoadFor(call.models[0], mfu.count));
  ASSIGN_OR_RETURN(StepWork work, WorkOf(model, mfu.count));
  if (call.per_sample) RETURN_IF_ERROR(CountPerSample(*model, &work));
  absl::StatusOr<LineReader> log = LineReader::Open(call.log, call.follow);
  if (!log.ok()) {
    return absl::Status(log.status().code(),
                        absl::StrCat("--log ", Escaped(call.log), ": ", log.status().message()));
  }
  Monitor monitor(std::move(work), options);
  RETURN_IF_ERROR(Run(call, &*log, &monitor));
  return kFine;
}

}  // namespace onnxflops::tools
