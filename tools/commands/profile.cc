// onnxflops profile: where the time of a run went.
//
// How it works. All options are parsed first, since models and profiles may be large. Then the
// model, the optimised graph, the profile and TensorRT's layers are read, and joined to one report.
// Traces for viewers need single events, which are kept only for these formats. --strict fails if a
// kernel did not join, or if one is above the peak: then the peak, the sizes or the join must be
// wrong.
#include "src/api/profile.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/api/load.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/settings/profile_arguments.h"
#include "src/settings/value.h"
#include "src/settings/view_arguments.h"
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

struct ProfileCall : settings::ProfileArguments {
  std::vector<std::string> files;
  std::string by = "module", depth, top, sort = "time";
  bool strict = false;
  OutputArguments output;

  void AddTo(OptionList* list);
  absl::StatusOr<ProfileView> View() const;
};

void ProfileCall::AddTo(OptionList* list) {
  list->AddPositional("MODEL PROFILE", &files, 2, 2);
  AddRunTo(list);
  list->AddValue("by", "KEY", &by, "Rows: module, op or node. Default: module.",
                 {"module", "op", "node"});
  list->AddValue(
      "depth", "D", &depth,
      "Depth of the modules. Default: the deepest. Equal modules that differ in a number share "
      "a row; so do others where there are more than --top.");
  list->AddValue("top", "N", &top, "Only N rows; the others are one. Default: 40. 0: all.");
  list->AddValue("sort", "KEY", &sort,
                 "Which rows are first: those of most time, most FLOPs, or the largest gap from "
                 "their share of FLOPs to that of time. Default: time.",
                 {"time", "flops", "gap"});
  AddMeasuresTo(list);
  list->AddFlag("strict", &strict, "Exit with 1 if a kernel did not join, or is above the peak.");
  output.AddTo(list, ProfileFormats());
}

absl::StatusOr<ProfileView> ProfileCall::View() const {
  ProfileView shown;
  RETURN_IF_ERROR(settings::ParseWhole("depth", depth, &shown.depth));
  RETURN_IF_ERROR(settings::ParseWhole("top", top, &shown.top));
  ASSIGN_OR_RETURN(shown.by, settings::ParseGroupBy(by));
  if (sort == "flops") {
    shown.sort = ProfileSort::kFlops;
  } else if (sort == "gap") {
    shown.sort = ProfileSort::kGap;
  } else if (sort != "time") {
    return settings::BadValue("sort", sort,
                              absl::StrCat("it should be time, flops or gap",
                                           DidYouMean(sort, {"time", "flops", "gap"})));
  }
  return shown;
}

absl::StatusOr<ExitCode> RunProfile(const ProfileCall& args) {
  ASSIGN_OR_RETURN(const ProfileOptions options, args.Options());
  ASSIGN_OR_RETURN(const ProfileView view, args.View());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  const TraceFormat* const trace = FindTrace(args.output.format);
  Format format = Format::kTable;
  if (trace == nullptr) {
    ASSIGN_OR_RETURN(format, args.output.ParseFormat());
  }
  if (absl::EndsWith(args.files[1], ".onnx") && !absl::EndsWith(args.files[0], ".onnx")) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(args.files[1]), ": the model comes first: profile MODEL PROFILE"));
  }
  ASSIGN_OR_RETURN(const Model model, LoadFor(args.files[0], options.count));
  ASSIGN_OR_RETURN(const ProfileReport report,
                   args.Join(model, args.files[1], options, /*events=*/trace != nullptr));
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

}  // namespace

Command ProfileCommand() {
  return CommandOf<ProfileCall, kCommandProfileHelp, RunProfile>(
      "profile", "MODEL PROFILE", "where the time of a run went: FLOP/s of every place");
}

}  // namespace onnxflops::tools
