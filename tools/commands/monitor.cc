// onnxflops monitor: utilisation of a training while it runs, from its log.
//
// How it works. The model is counted once; its FLOPs stay a formula of batch and length. Then the
// log is read line by line (StepLog), totals are turned into differences (RunningTotals), and each
// step goes to the Monitor, which gives a point every N steps. A point is written to standard
// output, and to TensorBoard and Prometheus if requested. MFU excludes recomputation by definition,
// so the work never includes it.
//
// Problems of lines must not flood the screen: each kind is reported once, ignoring digits, and at
// the end with the number of lines. If no line gave a utilisation, the most frequent reason is the
// error.
#include "src/monitor/monitor.h"

#include <algorithm>
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

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/api/count.h"
#include "src/api/load.h"
#include "src/api/sequence.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/platform/posix.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/graph/model.h"
#include "src/monitor/event_file.h"
#include "src/monitor/running_totals.h"
#include "src/monitor/step_log.h"
#include "src/report/samples_report.h"
#include "src/settings/mfu_arguments.h"
#include "src/settings/value.h"
#include "tools/cli/line_reader.h"
#include "tools/cli/output.h"
#include "tools/cli/write_file.h"
#include "tools/commands/class_arguments.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandMonitorHelp = {
    "onnxflops monitor MODEL --device NAME --dtype D [--log FILE] [options]",
    R"(Utilisation while a training runs. The log is lines of JSON, or CSV with titles:
step, and time (a clock in seconds, in milliseconds since 1970, or as ISO 8601),
step_seconds (0.25, 250ms, 0:00:02), or a rate such as tokens_per_second. Sizes
that vary are fields with the names of the model's symbols; --dim gives the
others. A size that the model has fixed at another number is an error.
batch_size, samples or images are the batch; tokens, or mask_sum, the sum of an
attention mask, are the tokens of the step. lengths, a list, has the length of
each sample; cu_seqlens where each begins in a packed row; grid_thw, a list of
[frames, height, width], the patches of each sample's image, or a list of these
for each sample; audio, a list, the length of each sample's audio: whole numbers
are frames, 12.5 or "12.5s" seconds. All are of a whole step, on all devices.
Where tokens or samples only grow, they are read as running totals. Where there
is no batch, it is tokens over the length of a sequence; tokens_per_second and
the time of a step give these tokens.

The names that other logs have are read as well, also after "train/":
  step               trainer/global_step, train/global_step, global_step,
                     iteration, iter, _step
  time               timestamp, _timestamp, wall_time, _runtime, train_runtime
  step_seconds       step_time, perf/step_time, device/step_time, time/iter,
                     iteration-time, step_time_s; in ms: step_time_ms,
                     iter_time_ms
  steps_per_second   perf/steps_per_second, train_steps_per_second, it/s
  samples_per_second perf/samples_per_second, device/samples_per_sec,
                     train_samples_per_second
  tokens_per_second  perf/tokens_per_second, tokens_per_sec,
                     train_tokens_per_second
  batch_size         global_batch_size, batch-size
  running totals     num_input_tokens_seen, tokens_seen, consumed_tokens,
                     total_tokens, samples_seen, consumed_samples
The batch of one device in one run of the model (per_device_train_batch_size,
batch_size_per_device, micro_batch_size, train_micro_batch_size_per_gpu) counts
times the devices (world_size, num_devices, num_gpus; --devices comes before
them) and the runs of a step (gradient_accumulation_steps, grad_accumulation,
grad_accum_steps, accumulate_grad_batches).
These are names of W&B, Lightning, Hugging Face, Megatron, DeepSpeed, nanoGPT
and of this program's own output. Lines that Megatron, nanoGPT and Hugging
Face's Trainer print are read, too, and so is its trainer_state.json: where no
line has a time, the last one gives the mean of the whole training.

Every so many steps it writes a line of JSON with perf/mfu, perf/mfu_percent,
perf/step_time, perf/steps_per_second, perf/tokens_per_second,
perf/samples_per_second and perf/flops_per_second: means since the line before.
Where a model reads images as tokens, tokens_per_second has them too, and the
parts perf/tokens_per_second_text and perf/tokens_per_second_image. Of audio it
has perf/frames_per_second_audio, and perf/seconds_per_second_audio where the
model tells how many frames a second has. perf/padding is the part of the tokens
that is padding: the FLOPs of lengths leave it out, those of batch and length
include it; perf/padding_audio is the part of the frames, which models that take
chunks compute on. Where a time is missing, perf/mfu is the last one, and
perf/mfu_age_steps says how old it is. What is odd about a line of the log is
told on stderr, and so are figures of a line that contradict each other by more
than 20 % in three lines, with the one that is used: step_time and the clock, a
rate and what is counted, the tokens and batch x length. If lengths, mask_sum,
the batch and its length cannot all be true, the step has no utilisation.
)",
    R"(  A log that has ended:
    onnxflops monitor gpt2.onnx --log train.jsonl --device a100-sxm --dtype bf16
  A training that runs, for Prometheus and TensorBoard:
    onnxflops monitor gpt2.onnx --log train.jsonl --follow --devices 8 \
      --device h100-sxm --dtype bf16 --every 50 --tensorboard runs/1 \
      --prometheus /var/lib/node_exporter/onnxflops.prom
  Its output:
    python train.py | onnxflops monitor gpt2.onnx --dim seq=1024 --peak 312e12

Exit codes: 0 the log has ended, 2 error, or no line of it gave a utilisation.
)"};

struct MonitorCall {
  std::vector<std::string> models;
  settings::MfuArguments mfu;
  ClassArguments by_class;
  std::string devices, every = "10", log = "-", prometheus, tensorboard;
  bool follow = false, per_sample = false;

  void AddTo(OptionList* list) {
    list->AddPositional("MODEL", &models, 1, 1);
    list->AddValue("log", "FILE", &log, "The log. Default: standard input.");
    list->AddFlag("follow", &follow,
                  "Wait for more at the end of the log, also when another takes its place.");
    list->AddValue("every", "N", &every, "Write every N steps. Default: 10.");
    list->AddValue("devices", "N", &devices,
                   "How many devices share the step. Default: what the log says, else 1.");
    mfu.AddPeakTo(list);
    list->AddFlag("per-sample", &per_sample,
                  "The file fixes the batch: count its FLOPs for each sample of a step.");
    list->AddValue("prometheus", "FILE", &prometheus,
                   "Also keep the last figures in FILE, for the textfile collector of "
                   "node_exporter. It is replaced in one step.");
    list->AddValue("tensorboard", "DIR", &tensorboard,
                   "Also write an event file for TensorBoard into DIR.");
    mfu.AddModelTo(list);
    by_class.AddTo(list);
  }
};

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The tokens of an image in the decoder: a configuration counts the tokens of the text, and its
// logits have those of the image too. 0 for other models.
Expr ImageTokensOf(const ModelData& model, const Report& report, const std::string& text) {
  const auto is_pixels = [](const TensorInfo& input) { return input.name == "pixel_values"; };
  if (ConfigOf(model).empty() || text.empty() || report.outputs.empty() ||
      std::none_of(report.inputs.begin(), report.inputs.end(), is_pixels) ||
      !report.outputs[0].shape.ranked() || report.outputs[0].shape.dims().size() != 3) {
    return 0;
  }
  const Expr images = report.outputs[0].shape.dims()[1] - Expr::Symbol(text);
  const std::vector<std::string> symbols = images.Symbols();
  const bool has_text = std::find(symbols.begin(), symbols.end(), text) != symbols.end();
  return images.error() != nullptr || has_text ? Expr(0) : images;
}

// How the model takes audio: in chunks, or at one length that is open.
AudioWork AudioOf(const ModelData& model, const Report& report, const std::string& batch) {
  if (const std::optional<AudioChunks> chunks = AudioChunksOf(model)) {
    const std::string symbol(chunks->symbol);
    const auto given = report.bindings.find(symbol);
    return {symbol, given == report.bindings.end() ? chunks->frames : given->second,
            chunks->per_second};
  }
  AudioWork work;
  for (const TensorInfo& input : report.inputs) {
    const bool is_audio = report::ModalityOfInput(input.name) == "audio";
    if (!is_audio || !input.shape.ranked()) continue;
    for (const Expr& dim : input.shape.dims()) {
      for (const std::string& symbol : dim.Symbols()) {
        if (symbol == batch || symbol == work.symbol) continue;
        if (!work.symbol.empty()) return {};  // several
        work.symbol = symbol;
      }
    }
  }
  return work;
}

// The work of a step, with the sizes that --dim fixes. MFU does not count recomputation.
absl::StatusOr<StepWork> WorkOf(const Model& model, CountOptions options) {
  if (options.training) options.training = WithoutRecomputation(*options.training);
  ASSIGN_OR_RETURN(const Report report, Count(model, options));
  StepWork work;
  work.flops = report.totals.training_flops;
  work.lower_bound = report.totals.lower_bound;
  if (work.lower_bound && report.totals.training_flops == Expr(0)) {
    return absl::FailedPreconditionError(absl::StrCat(
        Escaped(report.model.path), ": nothing of it is counted; --rules FILE can give its cost"));
  }
  work.bindings = report.bindings;
  for (const auto& [symbol, of] : MultipleDims(*model)) work.multiples.emplace(symbol, of);
  for (const auto& [symbol, most] : MostDims(*model)) work.most.emplace(symbol, most);
  if (work.most.empty()) {  // a file has no list of them: it fails where its positions end
    work.refusal = [model, options](const std::string& symbol, int64_t size) -> std::string {
      CountOptions at = options;
      at.training.reset();
      at.bindings[symbol] = size;
      const absl::Status counted = Count(model, at).status();
      return counted.ok() ? "" : std::string(counted.message());
    };
  }
  for (const std::string& warning : report.warnings) {
    WriteError(absl::StrCat(Escaped(report.model.path), ": ", warning));
  }
  const InputSizes sizes = FindInputSizes(*model, options.batch);
  work.batch = sizes.batch;
  work.fixed_batch = sizes.batch_size;
  work.sequences = sizes.lengths;
  for (const auto& [follower, leader] : FollowedDims(*model)) {
    work.followers.emplace_back(follower, leader);
  }
  work.fixed_length = sizes.length;
  work.audio = AudioOf(*model, report, work.batch);
  if (sizes.lengths.size() == 1) {
    work.image_tokens = ImageTokensOf(*model, report, sizes.lengths[0]);
  }
  return work;
}

// If every input and output has the batch as its first dimension, samples are taken as independent.
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
          ": FLOPs may not be so many for each sample. --at-batch batch opens the batch"));
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
      constexpr double kFirstPlausible = 1e9;  // seconds since 1970; a smaller value is not a date
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

// Tells each kind of problem of the log once, up to a limit.
class Complaints {
 public:
  explicit Complaints(std::string log) : log_(std::move(log)) {}
  void Add(int64_t line, const std::string& problem) {
    constexpr size_t kMost = 100;
    // Steps and columns differ from line to line.
    std::string kind = problem;
    kind.erase(std::remove_if(kind.begin(), kind.end(), absl::ascii_isdigit), kind.end());
    const auto known = places_.find(kind);
    if (known != places_.end()) {
      Told& told = told_[known->second];
      ++told.lines;
      told.last = line;
      told.problem = problem;
      return;
    }
    if (told_.size() >= kMost) return;
    places_.emplace(std::move(kind), told_.size());
    told_.push_back({problem, 1, line});
    WriteError(absl::StrCat(log_, ":", line, ": ", problem));
    if (told_.size() == kMost) WriteError("what follows is not told any more");
  }

  // Tells how often a problem occurred that more than one line had.
  void TellCounts() const {
    for (const Told& told : told_) {
      if (told.lines == 1) continue;
      WriteError(absl::StrCat(log_, ":", told.last, ": again, ", told.lines,
                              " lines in all: ", told.problem));
    }
  }

  // The most frequent reason why lines have no utilisation; "" without one.
  std::string WhyNone() const {
    constexpr absl::string_view kSize = ": no utilisation of this step";
    const auto rank = [&](const Told& told) {
      return std::pair(absl::EndsWith(told.problem, kSize), told.lines);
    };
    const auto most =
        std::max_element(told_.begin(), told_.end(),
                         [&](const Told& a, const Told& b) { return rank(a) < rank(b); });
    if (most == told_.end()) return "";
    const bool is_size =
        absl::StartsWith(most->problem, "there is no ") && absl::EndsWith(most->problem, kSize);
    return absl::StrCat(absl::StripSuffix(most->problem, kSize),
                        is_size ? ", as a field or by --dim (" : " (", most->lines,
                        most->lines == 1 ? " line)" : " lines)");
  }

 private:
  struct Told {
    std::string problem;
    int64_t lines = 0, last = 0;
  };
  std::string log_;
  std::vector<Told> told_;
  absl::btree_map<std::string, size_t> places_;  // in told_, by kind
};

std::string NameOfLog(const std::string& log) {
  return log == "-" ? "standard input" : Escaped(log);
}

// "step, step_time as step_seconds"; `all` of them, or only those with another program's name.
std::string FieldsRead(const StepLog& log, bool all) {
  std::vector<std::string> fields;
  for (const auto& [name, means] : log.read()) {
    if (name != means) {
      fields.push_back(absl::StrCat(Escaped(name), " as ", means));
    } else if (all) {
      fields.push_back(name);
    }
  }
  return absl::StrJoin(fields, ", ");
}

// Takes a log line by line.
class Follower {
 public:
  Follower(const MonitorCall& call, Monitor* monitor)
      : log_name_(NameOfLog(call.log)),
        monitor_(*monitor),
        writer_(call, *monitor),
        complaints_(log_name_) {}

  absl::Status Run(LineReader* log) {
    RETURN_IF_ERROR(writer_.Open());
    while (true) {
      ASSIGN_OR_RETURN(const std::optional<std::string> line, log->Next(kMaxLogLine));
      if (!line) break;
      absl::StatusOr<std::vector<StepRecord>> records = steps_.ReadAll(*line);
      if (!records.ok()) {
        complaints_.Add(log->line(), std::string(records.status().message()));
        continue;
      }
      for (StepRecord& record : *records) {
        record.line = log->line();
        RETURN_IF_ERROR(TakeAll(totals_.Take({log->line(), std::move(record)})));
      }
    }
    RETURN_IF_ERROR(TakeAll(totals_.Finish()));
    return End();
  }

 private:
  absl::Status TakeAll(const std::vector<LoggedStep>& ready) {
    for (const LoggedStep& step : ready) {
      std::vector<std::string> problems;
      const absl::StatusOr<std::optional<MonitorPoint>> point =
          monitor_.Take(step.record, &problems);
      if (!point.ok()) {
        return WithMessage(point.status(),
                           absl::StrCat(log_name_, ":", step.line, ": ", point.status().message()));
      }
      for (const std::string& problem : problems) complaints_.Add(step.line, problem);
      if (*point) RETURN_IF_ERROR(Write(**point));
    }
    return absl::OkStatus();
  }

  absl::Status End() {
    std::vector<std::string> problems;
    std::vector<int64_t> lines;
    const std::optional<MonitorPoint> rest = monitor_.Finish(&problems, &lines);
    for (size_t i = 0; i < problems.size(); ++i) complaints_.Add(lines[i], problems[i]);
    if (rest) RETURN_IF_ERROR(Write(*rest));
    complaints_.TellCounts();
    return any_mfu_ ? absl::OkStatus() : NoFigure();
  }

  absl::Status Write(const MonitorPoint& point) {
    if (Figures(point).empty()) return absl::OkStatus();  // nothing is measured yet
    const std::string renamed = FieldsRead(steps_, /*all=*/false);
    if (!any_ && !renamed.empty()) WriteError(absl::StrCat(log_name_, ": read ", renamed));
    any_ = true;
    any_mfu_ = any_mfu_ || point.mfu.has_value();
    return writer_.Write(point);
  }

  absl::Status NoFigure() const {
    const std::string read = FieldsRead(steps_, /*all=*/true);
    if (read.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          log_name_,
          ": no line of it has a step and how long it took: it should be JSON lines, or "
          "CSV with titles; --help has the names"));
    }
    const std::string why = complaints_.WhyNone();
    std::vector<std::string> others;
    for (const std::string& name : steps_.unread()) others.push_back(Escaped(name));
    return absl::InvalidArgumentError(absl::StrCat(
        log_name_, ": no line of it gives a utilisation: ",
        why.empty() ? "a second time is missing" : why, "; fields read: ", read,
        others.empty() ? "" : absl::StrCat("; other fields: ", absl::StrJoin(others, ", ")),
        "; --help has the names"));
  }

  std::string log_name_;
  Monitor& monitor_;
  PointWriter writer_;
  Complaints complaints_;
  StepLog steps_;
  RunningTotals totals_;
  bool any_ = false, any_mfu_ = false;  // written
};

absl::StatusOr<ExitCode> RunMonitor(const MonitorCall& call) {
  MonitorOptions options;
  ASSIGN_OR_RETURN(options.every, settings::ParsePositiveWhole("every", call.every));
  options.devices_of_log = call.devices.empty();
  ASSIGN_OR_RETURN(options.devices, settings::ParsePositiveWhole(
                                        "devices", call.devices.empty() ? "1" : call.devices));
  ASSIGN_OR_RETURN(options.peak, call.mfu.ParsePeak());
  ASSIGN_OR_RETURN(const MfuOptions mfu, call.mfu.Parse());
  if (call.models[0] == "-" && call.log == "-") {
    return absl::InvalidArgumentError("standard input is the model: --log FILE gives the log");
  }
  ASSIGN_OR_RETURN(const Arguments graphs, call.by_class.Graphs(call.models, mfu.count.bindings));
  ASSIGN_OR_RETURN(const Model model, LoadFor(graphs[0], mfu.count));
  ASSIGN_OR_RETURN(StepWork work, WorkOf(model, mfu.count));
  if (call.per_sample) RETURN_IF_ERROR(CountPerSample(*model, &work));
  absl::StatusOr<LineReader> log = LineReader::Open(call.log, call.follow);
  if (!log.ok()) {
    return absl::Status(log.status().code(),
                        absl::StrCat("--log ", Escaped(call.log), ": ", log.status().message()));
  }
  Monitor monitor(std::move(work), options);
  RETURN_IF_ERROR(Follower(call, &monitor).Run(&*log));
  return kFine;
}

}  // namespace

Command MonitorCommand() {
  return CommandOf<MonitorCall, kCommandMonitorHelp, RunMonitor>(
      "monitor", "MODEL", "utilisation of a running training, from its log");
}

}  // namespace onnxflops::tools
