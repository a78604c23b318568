// onnxflops estimate: our count next to rules of thumb and measured figures.
//
// How it works. Rules of thumb are conventions with a formula for the whole model, so each model is
// compared as in `compare`, but with these only. A calibration is a measured figure divided by our
// count at the sizes of the measurement. It is made from one model, or read from a file, and scales
// the counts of the others. Sizes missing in the call come from the measurement. If counting fails
// at the measurement's sizes but works without them, these sizes are the error.
#include "tools/commands/estimate.h"

#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/api/load.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/convention/conventions.h"
#include "src/load/input_file.h"
#include "src/onnxflops.h"
#include "tools/cli/output.h"
#include "tools/cli/render.h"
#include "tools/cli/write_file.h"
#include "tools/commands/commands.h"
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

// The formulas of a training step, and that of CLIP.
CompareRequest RulesOfThumb() {
  CompareRequest request;
  for (const convention::Convention* convention : convention::Conventions()) {
    const bool is_rule = convention->passes > 1 || convention == &convention::kConfigClip;
    if (is_rule) request.with.emplace_back(convention->name);
  }
  return request;
}

using LoadMeasured = absl::FunctionRef<absl::StatusOr<Model>(const CountOptions& options)>;

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

absl::StatusOr<std::string> ReadJson(absl::string_view option, const std::string& file) {
  absl::StatusOr<std::string> text = ReadTextFile(file, kMaxConfigBytes);
  if (text.ok()) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(option, " ", Quoted(file), ": ", text.status().message()));
}

// The measured model, counted at the sizes of the measurement.
absl::StatusOr<Calibration> MakeCalibration(const EstimateArguments& args, LoadMeasured load,
                                            CountOptions options) {
  ASSIGN_OR_RETURN(const std::string text, ReadJson("--calibrate", args.calibrate));
  ASSIGN_OR_RETURN(const Measurement measured, ParseMeasurement(text, args.calibrate));
  options.bindings = measured.sizes;
  options.tokens.reset();
  options.mask_sum.reset();
  ASSIGN_OR_RETURN(const Model model, load(options));
  const auto about_file = [&](const absl::Status& fault) {
    return WithMessage(fault,
                       absl::StrCat(Escaped(args.calibrate), ": bindings: ", fault.message()));
  };
  const absl::StatusOr<Report> report = Count(model, options);
  if (!report.ok()) {
    // If the model can be counted without them, the sizes of the measurement are wrong.
    options.bindings.clear();
    return Count(model, options).ok() ? about_file(report.status()) : report.status();
  }
  absl::StatusOr<Calibration> calibration = Calibrate(measured, *report);
  if (!calibration.ok() && !report->totals.lower_bound) return about_file(calibration.status());
  return calibration;
}

// The one model of the call.
absl::StatusOr<Model> LoadOnly(const ModelFiles& models, const CountOptions& options) {
  if (models.files.size() != 1) {
    return absl::InvalidArgumentError("--calibrate is of the one model that was measured");
  }
  RETURN_IF_ERROR(models.files[0].fault);
  return LoadFor(models.files[0].path, options);
}

}  // namespace

void EstimateArguments::AddTo(OptionList* list) {
  list->AddPositional("MODEL", &models, 1);
  sizes.AddTo(list);
  causal.AddTo(list);
  list->AddValue("--calibrate", "FILE", &calibrate,
                 "FLOPs that were measured, as JSON; of one model.");
  list->AddValue("--calibration", "FILE", &calibration,
                 "Show calibrated figures by the calibration in an earlier estimate.");
  list->AddFlag("--family-table", &family_table,
                "Take every configuration in a folder, *.json of any name, as one table.");
  jobs.AddTo(list);
  output.AddTo(list);
}

absl::StatusOr<CompareReport> EstimateModel(const Model& model, const CountOptions& options) {
  ASSIGN_OR_RETURN(CompareReport report, CompareTools(model, options, RulesOfThumb()));
  report.ours.modules.clear();
  return report;
}

absl::StatusOr<std::optional<Calibration>> FindCalibration(const EstimateArguments& args,
                                                           LoadMeasured load,
                                                           CountOptions* options) {
  if (!args.calibrate.empty() && !args.calibration.empty()) {
    return absl::InvalidArgumentError("--calibrate and --calibration: one of them gives the ratio");
  }
  if (!args.calibrate.empty()) {
    ASSIGN_OR_RETURN(Calibration made, MakeCalibration(args, load, *options));
    // Sizes missing in the call come from the measurement.
    const bool given = options->tokens || options->mask_sum || !options->bindings.empty();
    if (!given) options->bindings = made.measured.sizes;
    return std::optional(std::move(made));
  }
  if (args.calibration.empty()) return std::optional<Calibration>();
  ASSIGN_OR_RETURN(const std::string text, ReadJson("--calibration", args.calibration));
  ASSIGN_OR_RETURN(Calibration read, ParseCalibration(text, args.calibration));
  return std::optional(std::move(read));
}

void DescribeEstimate(const UseCommand& use) {
  OptionList list;
  EstimateArguments args;
  args.AddTo(&list);
  use(kCommandEstimateHelp, list);
}

absl::StatusOr<ExitCode> RunEstimate(const Arguments& arguments) {
  OptionList list;
  EstimateArguments args;
  args.AddTo(&list);
  std::string help;
  ASSIGN_OR_RETURN(const bool run, list.Parse(kCommandEstimateHelp, arguments, &help));
  if (!run) {
    RETURN_IF_ERROR(WriteOutput(help, "-", {}));
    return kFine;
  }
  ASSIGN_OR_RETURN(CountOptions options, args.sizes.Parse());
  ASSIGN_OR_RETURN(options.causal, args.causal.Parse());
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  ASSIGN_OR_RETURN(const int threads, args.jobs.Parse());
  ASSIGN_OR_RETURN(const ModelFiles models, args.family_table ? FindConfigurations(args.models)
                                                              : FindModelFiles(args.models));
  EstimateReport report;
  ASSIGN_OR_RETURN(
      report.calibration,
      FindCalibration(
          args, [&](const CountOptions& with) { return LoadOnly(models, with); }, &options));
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
    WriteError(absl::StrCat(fault.message(), LimitHint(fault)));
  }
  return faults.empty() ? kFine : kTrouble;
}

}  // namespace onnxflops::tools
