// onnxflops mfu: model FLOPs utilisation from the time of a training step.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/api/load.h"
#include "src/api/mfu.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/convention/conventions.h"
#include "src/report/mfu_report.h"
#include "tools/device_arguments.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/render.h"
#include "tools/training_arguments.h"
#include "tools/verbs.h"

namespace onnxflops::tools {
namespace {

constexpr VerbHelp kVerbMfuHelp = {
    "onnxflops mfu MODEL --step-time SECONDS --device NAME --dtype D [options]",
    R"(Model FLOPs utilisation: the FLOPs of a training step, counted from the model's
graph, over what the devices could do in that time. HFU counts recomputed
activations, too. --dim gives the batch of all devices. There is no default
device. A table shows what readers with another formula would get.
)",
    R"(  A step of 512 images on eight H100s took 0.412 s:
    onnxflops mfu clip.onnx --dim batch=512 --step-time 0.412 --devices 8 \
      --device h100-sxm --dtype bf16
  Tokens per second, with activation checkpointing:
    onnxflops mfu gpt2.onnx --dim batch=64,seq=1024 --tokens-per-second 250000 \
      --device a100-sxm --dtype bf16 --backward exact --recompute blocks
  A device that is not in the table:
    onnxflops mfu gpt2.onnx --dim batch=8,seq=1024 --step-time 0.1 --peak 312e12
  What hardware counters measured beside what is counted:
    onnxflops mfu gpt2.onnx --dim batch=8,seq=1024 --step-time 0.1 \
      --peak 312e12 --measured-flops 9.1e12

Exit codes: 0 success, 1 --strict failed (a utilisation above 1, or nodes that
are not counted), 2 error.
)"};

struct MfuArguments {
  std::vector<std::string> models;
  SizeArguments sizes;
  CausalArgument causal;
  TrainingArguments training;
  DevicesFileArgument devices_file;
  OutputArguments output;
  RateArguments rate;
  std::string accumulation = "1", device, dtype, peak, measured, convention;
  std::vector<std::string> parameters;
  bool strict = false;

  void AddTo(OptionList* list) {
    list->AddPositional("MODEL", &models, 1, 1);
    rate.AddTo(list);
    list->AddValue("--device", "NAME", &device,
                   "The device. `onnxflops devices` has the names; aliases are whole names, too.");
    list->AddValue("--dtype", "D", &dtype, "What the device computes in: bf16, fp8, tf32, ...",
                   {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8", "int4"});
    list->AddValue("--peak", "FLOPS", &peak,
                   "FLOP/s of one device, as 312e12, instead of the table's.");
    devices_file.AddTo(list);
    list->AddValue("--grad-accumulation", "N", &accumulation,
                   "Runs of the model before a step of the optimizer. Default: 1.");
    list->AddValue("--measured-flops", "N", &measured,
                   "FLOPs of a step by hardware counters, over all devices.");
    list->AddValues(
        "--parameter", "NAME=N", &parameters,
        "Give a parameter of the formulas: n (parameters), a (those that a token meets), l, "
        "h, q, t, v, p, d, f, tokens.");
    list->AddValue("--convention", "NAME", &convention,
                   "3 x what another tool counts. `onnxflops compare --list` has the names.",
                   convention::ConventionNames());
    sizes.AddTo(list);
    causal.AddTo(list);
    training.AddTo(list);
    list->AddFlag("--strict", &strict,
                  "Exit with 1 if a utilisation is above 1, or a node is not counted.");
    output.AddTo(list, {"table", "json", "csv", "markdown", "html"});
  }
};

absl::Status ParseDevice(const MfuArguments& args, MfuOptions* options) {
  ASSIGN_OR_RETURN(options->peak, ParsePositive("--peak", args.peak));
  if (!args.dtype.empty()) {
    ASSIGN_OR_RETURN(options->precision, ParsePrecision(args.dtype));
  }
  ASSIGN_OR_RETURN(const std::vector<Device> own, args.devices_file.Parse());
  if (args.device.empty()) return absl::OkStatus();
  if (options->peak > 0) {
    return absl::InvalidArgumentError("--device and --peak: one of them gives the peak");
  }
  ASSIGN_OR_RETURN(options->device, FindDevice(args.device, own));
  return absl::OkStatus();
}

// Whole numbers are exact.
absl::StatusOr<std::optional<absl::int128>> ParseMeasured(const std::string& text) {
  if (text.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(const double measured, ParsePositive("--measured-flops", text));
  absl::int128 exact = 0;
  if (!absl::SimpleAtoi(text, &exact)) exact = static_cast<absl::int128>(measured);
  if (exact > 0) return exact;
  return absl::InvalidArgumentError(
      absl::StrCat("--measured-flops ", Quoted(text), ": it should be 1 or more"));
}

absl::StatusOr<MfuOptions> ParseOptions(const MfuArguments& args) {
  MfuOptions options;
  ASSIGN_OR_RETURN(options.count, args.sizes.Parse());
  ASSIGN_OR_RETURN(options.count.tied, args.training.ParseTied());
  ASSIGN_OR_RETURN(options.count.causal, args.causal.Parse());
  ASSIGN_OR_RETURN(options.count.training, args.training.Parse());
  RETURN_IF_ERROR(args.rate.Parse(&options.rate, &options.devices));
  ASSIGN_OR_RETURN(options.grad_accumulation,
                   ParsePositiveWhole("--grad-accumulation", args.accumulation));
  ASSIGN_OR_RETURN(options.measured_flops, ParseMeasured(args.measured));
  for (const std::string& text : args.parameters) {
    RETURN_IF_ERROR(SetFormulaParameter(text, &options.parameters));
  }
  options.convention = args.convention;
  if (!args.convention.empty()) {
    RETURN_IF_ERROR(convention::RequireConvention(args.convention).status());
    if (options.count.training) {
      return absl::InvalidArgumentError("--convention: other tools count no backward pass exactly");
    }
  }
  RETURN_IF_ERROR(ParseDevice(args, &options));
  return options;
}

std::string Objection(const MfuReport& report) {
  if (report.mfu > 1 || report.hfu > 1) {
    return absl::StrFormat("a utilisation is above 1: MFU %.4g, HFU %.4g", report.mfu, report.hfu);
  }
  return report.lower_bound ? "not all nodes are counted" : "";
}

}  // namespace

void DescribeMfu(const UseVerb& use) {
  OptionList list;
  MfuArguments args;
  args.AddTo(&list);
  use(kVerbMfuHelp, list);
}

absl::StatusOr<ExitCode> RunMfu(const Arguments& arguments) {
  OptionList list;
  MfuArguments args;
  args.AddTo(&list);
  std::string help;
  ASSIGN_OR_RETURN(const bool run, list.Parse(kVerbMfuHelp, arguments, &help));
  if (!run) {
    RETURN_IF_ERROR(WriteOutput(help, "-", {}));
    return kFine;
  }
  ASSIGN_OR_RETURN(const MfuOptions options, ParseOptions(args));
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  const std::string& path = args.models[0];
  ASSIGN_OR_RETURN(const Model model, LoadFor(path, options.count));
  ASSIGN_OR_RETURN(const MfuReport report, CountMfu(model, options));
  RETURN_IF_ERROR(WriteOutput(Render(report, format, style), args.output.file,
                              {path, args.sizes.rules.file, args.devices_file.file}));
  const std::string objection = args.strict ? Objection(report) : "";
  if (objection.empty()) return kFine;
  WriteError(absl::StrCat("--strict: ", Escaped(path), ": ", objection));
  return kFailed;
}

}  // namespace onnxflops::tools
