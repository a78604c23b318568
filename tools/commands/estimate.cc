// onnxflops estimate: our count next to rules of thumb and measured figures.
//
// How it works. Rules of thumb are conventions with a formula for the whole model, so each model is
// compared as in `compare`, but with these only. A calibration is a measured figure divided by our
// count at the sizes of the measurement. It is made from one model, or read from a file, and scales
// the counts of the others.
#include "src/api/estimate.h"

#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/api/load.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/estimate/estimate_report.h"
#include "src/settings/estimate_arguments.h"
#include "src/settings/size_arguments.h"
#include "tools/cli/output.h"
#include "tools/cli/render.h"
#include "tools/commands/commands.h"
#include "tools/commands/each_model.h"
#include "tools/commands/model_files.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandEstimateHelp = {
    "onnxflops estimate MODEL... [options]",
    R"(What the rules of thumb are worth for a model, and what was measured: our count
of a forward pass and a training step, and beside it each formula that is in use
(6 N, PaLM's, Megatron's and others) in percent of it. Several models are a row
each. MODEL is what onnxflops count takes: mostly a config.json.

--calibrate takes FLOPs that a profiler or hardware counters measured, as JSON:
  {"flops": 9.31e12, "of": "training", "device": "a100-sxm",
   "date": "2026-11-20", "bindings": {"batch": 8, "seq": 1024}}
and counts the same model at the same sizes. The ratio measured / counted stands
in the report with date, device and sizes; -o FILE.json stores it. --calibration
applies it to other sizes and models. A calibrated figure stands beside the
count, never instead of it.
)",
    R"(  One configuration, all rules of thumb:
    onnxflops estimate config.json --dim batch=8,seq=1024
  A folder of configurations as one table:
    onnxflops estimate configs/ --family-table --dim batch=2,seq=1024
  Store how measured and counted differ, and apply it:
    onnxflops estimate config.json --calibrate measured.json -o calibration.json
    onnxflops estimate config.json --calibration calibration.json --dim batch=64

Exit codes: 0 success, 2 error.
)"};

absl::StatusOr<CompareReport> EstimateFile(const ModelFile& file, const CountOptions& options) {
  RETURN_IF_ERROR(file.fault);
  try {
    ASSIGN_OR_RETURN(const Model model, LoadFor(file.path, options));
    return EstimateModel(model, options);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(Escaped(file.path), ": there is not enough memory"));
  }
}

// The one model of the call.
absl::StatusOr<Model> LoadOnly(const ModelFiles& models, const CountOptions& options) {
  if (models.files.size() != 1) {
    return absl::InvalidArgumentError("--calibrate is of the one model that was measured");
  }
  RETURN_IF_ERROR(models.files[0].fault);
  return LoadFor(models.files[0].path, options);
}

struct EstimateCall : settings::EstimateArguments {
  std::vector<std::string> models;
  JobsArgument jobs;
  OutputArguments output;
  bool family_table = false;

  void AddTo(OptionList* list) {
    list->AddPositional("MODEL", &models, 1);
    settings::EstimateArguments::AddTo(list);
    list->AddFlag("family-table", &family_table,
                  "Take every configuration in a folder, *.json of any name, as one table.");
    jobs.AddTo(list);
    output.AddTo(list);
  }
};

absl::StatusOr<ExitCode> RunEstimate(const EstimateCall& args) {
  ASSIGN_OR_RETURN(CountOptions options, args.Options());
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  ASSIGN_OR_RETURN(const int threads, args.jobs.Parse());
  ASSIGN_OR_RETURN(const ModelFiles models, args.family_table ? FindConfigurations(args.models)
                                                              : FindModelFiles(args.models));
  EstimateReport report;
  ASSIGN_OR_RETURN(report.calibration,
                   args.FindCalibration(
                       [&](const CountOptions& with) { return LoadOnly(models, with); }, &options));
  std::vector<absl::StatusOr<CompareReport>> outcomes(models.files.size());
  ForEach(outcomes.size(), threads,
          [&](size_t i) { outcomes[i] = EstimateFile(models.files[i], options); });
  std::vector<absl::Status> faults;
  for (absl::StatusOr<CompareReport>& outcome : outcomes) {
    if (outcome.ok()) {
      report.models.push_back(*std::move(outcome));
    } else {
      faults.push_back(outcome.status());
    }
  }
  if (!report.models.empty()) {
    std::vector<std::string> inputs = models.paths();
    inputs.insert(inputs.end(), {args.sizes.rules.file, args.calibrate, args.calibration});
    RETURN_IF_ERROR(WriteOutput(Render(report, format, style), args.output.file, inputs));
  }
  for (const absl::Status& fault : faults) {
    WriteError(absl::StrCat(fault.message(), settings::LimitHint(fault)));
  }
  return faults.empty() ? kFine : kTrouble;
}

}  // namespace

Command EstimateCommand() {
  return CommandOf<EstimateCall, kCommandEstimateHelp, RunEstimate>(
      "estimate", "MODEL...", "rules of thumb and measured figures beside our count");
}

}  // namespace onnxflops::tools
