// onnxflops mfu: model FLOPs utilisation from the time of a training step.
#include "src/api/mfu.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "fmt/format.h"
#include "src/api/load.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/mfu/mfu_report.h"
#include "src/settings/mfu_arguments.h"
#include "tools/cli/output.h"
#include "tools/cli/output_arguments.h"
#include "tools/cli/render.h"
#include "tools/commands/class_arguments.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandMfuHelp = {
    "onnxflops mfu MODEL --step-time TIME --device NAME --dtype D [options]",
    R"(Model FLOPs utilisation: the FLOPs of a training step, counted from the model's
graph, over what the devices could do in that time. HFU counts recomputed
activations and attention scores, too. --dim gives the batch of one run of the
model on all devices, --batch-per-device that of one device; times
--grad-accumulation it is the batch of a step. There is no default device. A
table shows what readers with another formula would get.
)",
    R"(  A step of 512 images on eight H100s took 0.412 s:
    onnxflops mfu clip.onnx --dim batch=512 --step-time 0.412 --devices 8 \
      --device h100-sxm --dtype bf16
  A step of texts of different lengths, whose padding is no work:
    onnxflops mfu gpt2.onnx --lengths lengths.txt --step-time 0.1 --peak 312e12
  Tokens per second, with activation checkpointing:
    onnxflops mfu gpt2.onnx --dim batch=64,seq=1024 --tokens-per-second 250000 \
      --device a100-sxm --dtype bf16 --backward exact --recompute blocks
  A device that is not in the table:
    onnxflops mfu gpt2.onnx --dim batch=8,seq=1024 --step-time 0.1 --peak 312e12
  What hardware counters measured beside what is counted:
    onnxflops mfu gpt2.onnx --dim batch=8,seq=1024 --step-time 0.1 \
      --peak 312e12 --measured-flops 9.1e12

Exit codes: 0 success, 1 a utilisation above 100 %, or --strict failed (nodes
that are not counted), 2 error.
)"};

struct MfuCall {
  std::vector<std::string> models;
  settings::MfuArguments mfu;
  ClassArguments by_class;
  OutputArguments output;
  bool strict = false;

  void AddTo(OptionList* list) {
    list->AddPositional("MODEL", &models, 1, 1);
    mfu.AddTo(list);
    list->BeginGroup("transformers", "A configuration by the class of transformers");
    by_class.AddTo(list);
    list->BeginGroup("output", "Output");
    list->AddFlag("strict", &strict, "Exit with 1 also if a node is not counted.");
    output.AddTo(list, {"json", "csv", "html"});
  }
};

// Why the call fails although there is a report, or "".
std::string Objection(const MfuReport& report, bool strict) {
  if (report.mfu > 1 || report.hfu > 1) {
    constexpr double kPercent = 100;
    const std::string hint = PeakWithUnit(report.mfu, report.peak_flops_per_second);
    return absl::StrCat(fmt::format("MFU {:.4g} %, HFU {:.4g} %: more than 100 % cannot be. ",
                                    kPercent * report.mfu, kPercent * report.hfu),
                        hint.empty() ? "Check the time of a step, --dim, --devices and the peak"
                                     : absl::StrCat("The peak lacks its unit: --peak ", hint));
  }
  return strict && report.lower_bound ? "--strict: not all nodes are counted" : "";
}

absl::StatusOr<ExitCode> RunMfu(const MfuCall& args) {
  ASSIGN_OR_RETURN(const MfuOptions options, args.mfu.Parse());
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  ASSIGN_OR_RETURN(const Arguments graphs,
                   args.by_class.Graphs(args.models, options.count.bindings));
  const std::string& path = graphs[0];
  ASSIGN_OR_RETURN(const Model model, LoadFor(path, options.count));
  ASSIGN_OR_RETURN(const MfuReport report, CountMfu(model, options));
  std::vector<std::string> inputs = args.mfu.samples.Files();
  inputs.insert(inputs.end(), {path, args.mfu.sizes.rules.file, args.mfu.devices_file.file});
  RETURN_IF_ERROR(WriteOutput(Render(report, format, style), args.output.file, inputs));
  const std::string objection = Objection(report, args.strict);
  if (objection.empty()) return kFine;
  WriteError(absl::StrCat(Escaped(path), ": ", objection));
  return kFailed;
}

}  // namespace

Command MfuCommand() {
  return CommandOf<MfuCall, kCommandMfuHelp, RunMfu>("mfu", "MODEL",
                                                     "utilisation of training, from a step's time");
}

}  // namespace onnxflops::tools
