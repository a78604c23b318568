// onnxflops profile: where the time of a run went.
//
// How it works. All options are parsed first, since models and profiles may be large. Then the
// model, the optimised graph, the profile and TensorRT's layers are read, and joined to one report.
// Traces for viewers need single events, which are kept only for these formats. --strict fails if a
// kernel did not join, or if one is above the peak: then the peak, the sizes or the join must be
// wrong.
#include "tools/commands/profile.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/api/load.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/estimate/estimate_report.h"
#include "src/load/input_file.h"
#include "src/profile/profile_file.h"
#include "tools/cli/output.h"
#include "tools/cli/render.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandProfileHelp = {
    "onnxflops profile MODEL PROFILE [options]",
    R"(Where the time of a run went: a runtime's profile joined with what the model
computes, by module, operator or kernel. First are those that take longest;
--sort gap puts first those whose share of the time is furthest above their
share of the FLOPs. All times are of one run, whose time is the median.
PROFILE is the JSON of ONNX Runtime (SessionOptions.enable_profiling), the JSON
of TensorRT (trtexec --exportProfile) or the CSV of OpenVINO (benchmark_app
-report_type detailed_counters). Sizes are found in ONNX Runtime's profile.
)",
    R"(  A profile of ONNX Runtime, with the graph that it executed
  (SessionOptions.optimized_model_filepath):
    onnxflops profile clip.onnx profile.json --optimized clip.optimized.onnx
  Against the peak of the device:
    onnxflops profile clip.onnx profile.json --device cpu:2:2.5:avx2:40 \
      --dtype fp32
  The slowest kernels as CSV:
    onnxflops profile clip.onnx profile.json --by node --format csv
  A page to look at:
    onnxflops profile clip.onnx profile.json -o profile.html
  As a trace with FLOPs, for Perfetto:
    onnxflops profile clip.onnx profile.json --format perfetto -o trace.json
  Beside FLOPs that hardware counters measured in ten runs:
    onnxflops profile clip.onnx layers.json --counters ncu.csv --counter-runs 10

Exit codes: 0 success, 1 --strict failed (a kernel did not join, or is above
the peak), 2 error.
)"};

// Formats that are not tables.
struct TraceFormat {
  const char* name;
  std::string (*write)(const ProfileReport& report);
};
constexpr TraceFormat kTraceFormats[] = {{"perfetto", &ToPerfetto}, {"speedscope", &ToSpeedscope}};

// Beside formats of documents.
std::vector<std::string> ProfileFormats() {
  std::vector<std::string> names = {"json", "csv", "html"};
  for (const TraceFormat& format : kTraceFormats) names.emplace_back(format.name);
  return names;
}

const TraceFormat* FindTrace(const std::string& name) {
  for (const TraceFormat& format : kTraceFormats) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

absl::Status ParseWhole(const char* option, const std::string& text, int* value) {
  constexpr int kMost = 1 << 30;
  if (text.empty() || (absl::SimpleAtoi(text, value) && *value >= 0 && *value <= kMost)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(option, " ", Quoted(text), ": it should be a whole number, 0 or more"));
}

absl::StatusOr<Calibration> ReadCalibrationFile(const std::string& file) {
  const absl::StatusOr<std::string> text = ReadTextFile(file, kMaxReportBytes);
  if (text.ok()) return ParseCalibration(*text, file);
  return absl::Status(text.status().code(),
                      absl::StrCat("--calibration ", Escaped(file), ": ", text.status().message()));
}

absl::Status ReadLayers(const std::string& file, Profile* profile) {
  if (file.empty()) return absl::OkStatus();
  if (profile->source != ProfileSource::kTensorRt) {
    return absl::InvalidArgumentError(
        absl::StrCat("--layers ", Quoted(file), ": the profile is of ", SourceName(profile->source),
                     "; only TensorRT has layers"));
  }
  const absl::StatusOr<std::string> text = ReadTextFile(file, kMaxReportBytes);
  if (text.ok()) return AddLayerInfo(*text, file, profile);
  return absl::Status(text.status().code(),
                      absl::StrCat("--layers ", Escaped(file), ": ", text.status().message()));
}

std::string ProfileObjection(const ProfileReport& report) {
  for (const ProfileGroup& group : report.groups) {
    if (!group.joined()) return absl::StrCat("kernel ", Quoted(group.kernels[0]), " did not join");
  }
  for (const ProfileGroup& group : report.groups) {
    const std::optional<double> rate = group.work.flops_per_second();
    if (report.peak > 0 && rate && *rate > report.peak) {
      return absl::StrCat("kernel ", Quoted(group.kernels[0]), " is above the peak");
    }
  }
  return "";
}

}  // namespace

void ProfileArguments::AddTo(OptionList* list) {
  list->AddPositional("MODEL PROFILE", &files, 2, 2);
  list->AddValue("--optimized", "FILE", &optimized,
                 "The graph that ran: what SessionOptions.optimized_model_filepath writes. "
                 "Fused kernels then join with the nodes that they stand for.");
  list->AddValue("--layers", "FILE", &layers,
                 "What TensorRT's layers stand for: the JSON of trtexec --exportLayerInfo.");
  list->AddValue("--warmup", "N", &warmup, "Leave out the first N runs. Default: 1.");
  list->AddValue("--by", "KEY", &by, "Rows: module, op or node. Default: module.",
                 {"module", "op", "node"});
  list->AddValue(
      "--depth", "D", &depth,
      "Depth of the modules. Default: the deepest. Equal modules that differ in a number share "
      "a row; so do others where there are more than --top.");
  list->AddValue("--top", "N", &top, "Only N rows; the others are one. Default: 40. 0: all.");
  list->AddValue("--sort", "KEY", &sort,
                 "Which rows are first: those of most time, most FLOPs, or the largest gap from "
                 "their share of FLOPs to that of time. Default: time.",
                 {"time", "flops", "gap"});
  roofline.AddTo(list);
  list->AddValue("--peak", "FLOPS", &peak, "FLOP/s of the device, as 312G or 312e9.");
  list->AddValue("--counters", "FILE.csv", &counters,
                 "FLOPs by hardware counters, beside the counted ones: the CSV of Nsight Compute "
                 "or rocprof.");
  list->AddValue("--counter-runs", "N", &counter_runs,
                 "How many runs of the model the counters are of. Default: 1.");
  list->AddValue("--calibration", "FILE", &calibration,
                 "Also show the count times the ratio that `onnxflops estimate --calibrate` "
                 "stored.");
  sizes.AddTo(list);
  list->AddFlag("--strict", &strict, "Exit with 1 if a kernel did not join, or is above the peak.");
  output.AddTo(list, ProfileFormats());
}

absl::StatusOr<ProfileView> ParseProfileView(const ProfileArguments& args) {
  ProfileView view;
  RETURN_IF_ERROR(ParseWhole("--depth", args.depth, &view.depth));
  RETURN_IF_ERROR(ParseWhole("--top", args.top, &view.top));
  if (args.by == "op") {
    view.by = GroupBy::kOp;
  } else if (args.by == "node") {
    view.by = GroupBy::kNode;
  } else if (args.by != "module") {
    return absl::InvalidArgumentError(absl::StrCat("--by ", Quoted(args.by),
                                                   ": it should be module, op or node",
                                                   DidYouMean(args.by, {"module", "op", "node"})));
  }
  if (args.sort == "flops") {
    view.sort = ProfileSort::kFlops;
  } else if (args.sort == "gap") {
    view.sort = ProfileSort::kGap;
  } else if (args.sort != "time") {
    return absl::InvalidArgumentError(
        absl::StrCat("--sort ", Quoted(args.sort), ": it should be time, flops or gap",
                     DidYouMean(args.sort, {"time", "flops", "gap"})));
  }
  return view;
}

absl::StatusOr<ProfileOptions> ParseProfileOptions(const ProfileArguments& args) {
  ProfileOptions options;
  ASSIGN_OR_RETURN(options.count, args.sizes.Parse());
  int warmup = 0;
  RETURN_IF_ERROR(ParseWhole("--warmup", args.warmup, &warmup));
  options.warmup = warmup;
  ASSIGN_OR_RETURN(options.peak, ParsePeakRate(args.peak));
  ASSIGN_OR_RETURN(options.device, args.roofline.Parse());
  ASSIGN_OR_RETURN(options.counter_runs, ParsePositiveWhole("--counter-runs", args.counter_runs));
  if (!args.counters.empty()) {
    ASSIGN_OR_RETURN(options.counters, ReadCountersFile(args.counters));
  }
  if (!args.calibration.empty()) {
    ASSIGN_OR_RETURN(options.calibration, ReadCalibrationFile(args.calibration));
    options.calibration_file = args.calibration;
  }
  if (options.device && options.peak > 0) {
    return absl::InvalidArgumentError("--device and --peak: one of them gives the peak");
  }
  return options;
}

absl::StatusOr<ProfileReport> ProfileModel(const Model& model, const std::string& profile,
                                           const ProfileArguments& args, ProfileOptions options,
                                           bool events) {
  if (!args.optimized.empty()) {
    ASSIGN_OR_RETURN(options.optimized, LoadFor(args.optimized, options.count));
  }
  ASSIGN_OR_RETURN(Profile read, ReadProfileFile(profile, {.events = events}));
  RETURN_IF_ERROR(ReadLayers(args.layers, &read));
  return JoinProfile(model, read, options);
}

void DescribeProfile(const UseCommand& use) {
  OptionList list;
  ProfileArguments args;
  args.AddTo(&list);
  use(kCommandProfileHelp, list);
}

absl::StatusOr<ExitCode> RunProfile(const Arguments& arguments) {
  OptionList list;
  ProfileArguments args;
  args.AddTo(&list);
  std::string help;
  ASSIGN_OR_RETURN(const bool run, list.Parse(kCommandProfileHelp, arguments, &help));
  if (!run) {
    RETURN_IF_ERROR(WriteOutput(help, "-", {}));
    return kFine;
  }
  ASSIGN_OR_RETURN(const ProfileOptions options, ParseProfileOptions(args));
  ASSIGN_OR_RETURN(const ProfileView view, ParseProfileView(args));
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  const TraceFormat* const trace = FindTrace(args.output.format);
  Format format = Format::kTable;
  if (trace == nullptr) {
    ASSIGN_OR_RETURN(format, args.output.ParseFormat());
  }
  ASSIGN_OR_RETURN(const Model model, LoadFor(args.files[0], options.count));
  ASSIGN_OR_RETURN(const ProfileReport report,
                   ProfileModel(model, args.files[1], args, options, /*events=*/trace != nullptr));
  RETURN_IF_ERROR(
      WriteOutput(trace != nullptr ? trace->write(report) : Render(report, format, style, view),
                  args.output.file,
                  {args.files[0], args.files[1], args.optimized, args.sizes.rules.file,
                   args.roofline.devices_file.file, args.counters, args.calibration, args.layers}));
  const std::string objection = args.strict ? ProfileObjection(report) : "";
  if (objection.empty()) return kFine;
  WriteError(absl::StrCat("--strict: ", Escaped(args.files[1]), ": ", objection));
  return kFailed;
}

}  // namespace onnxflops::tools
