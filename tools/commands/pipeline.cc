// onnxflops pipeline: what one answer costs over several models.
#include "src/api/pipeline.h"

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "src/api/recognise_pipeline.h"
#include "src/base/glob.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/check/budgets.h"
#include "src/render/format.h"
#include "src/settings/pipeline_arguments.h"
#include "src/settings/value.h"
#include "tools/cli/output.h"
#include "tools/cli/output_arguments.h"
#include "tools/cli/render.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandPipelineHelp = {
    "onnxflops pipeline FILE.toml|FOLDER [options]",
    R"(What one answer costs over several models: an image of a diffusion model, a text
of a decoder, a minute of speech. The file names the stages, how often each runs
and at which sizes, as formulas over parameters such as steps and tokens.
docs/pipelines.md describes it. A cache that grows with each token is summed in
closed form. Figures are of all stages and of each; a formula has them for other
parameters. --dim NAME=N gives a parameter another number.

A folder that diffusers, Optimum, ONNX Runtime GenAI or sherpa-onnx wrote, or one
with the towers of CLIP or the parts of SAM, is recognised by its files. --init
writes what was recognised as a file of stages, with every size that is assumed.
)",
    R"(  All stages, and their sum:
    onnxflops pipeline pipeline.toml
  At other parameters, as JSON:
    onnxflops pipeline pipeline.toml --dim steps=50,images=4 --format json
  What an exporter wrote, and the same as a file to change:
    onnxflops pipeline sd15/ --dim steps=25
    onnxflops pipeline sd15/ --init > sd15/pipeline.toml
  At several, a row each:
    onnxflops pipeline pipeline.toml --dim steps=10,25,50
  How fast it can be:
    onnxflops pipeline pipeline.toml --device h100-sxm --dtype bf16
  A page with a picture, at numbers that a reader can change:
    onnxflops pipeline sd15/ -o page.html

  A budget on one answer, for CI:
    onnxflops pipeline pipeline.toml --max "flops=10 TFLOP"

Exit codes: 0 success, 1 a limit does not hold, 2 error.
)"};

struct PipelineCall : settings::PipelineArguments {
  std::vector<std::string> files;
  OutputArguments output;
  ViewOptions view;
  std::vector<std::string> limits;
  bool init = false;

  void AddTo(OptionList* list) {
    list->AddPositional("FILE", &files, 1, 1);
    settings::PipelineArguments::AddTo(list);
    list->BeginGroup("budgets", "Budgets");
    list->AddValues("max", "QUANTITY=LIMIT", &limits,
                    "A limit on all stages, as \"flops=10 TFLOP\", or on those that match, as "
                    "\"unet:macs=4 TMAC\". Exit with 1 if it does not hold.");
    list->BeginGroup("output", "Output");
    list->AddFlag("init", &init, "Write the stages of a folder as TOML, and count nothing.");
    list->AddFlag("exact", &view.exact, "Print every digit instead of SI units.");
    output.AddTo(list, {"json", "csv", "html"});
  }
};

// Why a limit does not hold for all stages or one of them; "" if it does.
std::string WhyBroken(const PipelineReport& report, const BudgetRule& rule, const Totals& totals,
                      const std::optional<PipelineTime>& time, absl::string_view of) {
  const Quantity& q = *rule.quantity;
  const std::string what = absl::StrCat(of, of.empty() ? "" : ": ", q.key);
  if (q.needs != Quantity::Needs::kNothing && !(time && q.value == &Amounts::time_bound)) {
    return absl::StrCat(what, " is not known here");
  }
  if (&q == &kPipelineMemory && !report.memory_bytes) {
    return absl::StrCat(what, " is not known: the activations of a stage have no formula");
  }
  const Expr amount = &q == &kPipelineMemory            ? *report.memory_bytes
                      : q.value == &Amounts::time_bound ? time->bound
                                                        : q.In(totals);
  const absl::StatusOr<absl::int128> value = amount.Evaluate(report.bindings);
  if (!value.ok()) return absl::StrCat(what, ": not proven: ", value.status().message());
  const std::string text = report::AmountText(q, *value, /*exact=*/false);
  if (*value > rule.limit.value) {
    return absl::StrCat(what, " = ", text, " is above ", rule.limit.text);
  }
  if (totals.lower_bound && q.of == Quantity::Of::kWork) {
    return absl::StrCat(what, ": not proven: not all nodes are counted");
  }
  return "";
}

// "at steps=50: " of a point of a sweep.
std::string PlaceOf(const PipelineSweep::Point& point) {
  if (point.at.empty()) return "";
  return absl::StrCat("at ", absl::StrJoin(point.at, ", ", absl::PairFormatter("=")), ": ");
}

// Those of the limits that do not hold.
absl::StatusOr<std::vector<std::string>> BrokenLimits(const PipelineReport& report,
                                                      const std::vector<std::string>& limits) {
  std::vector<std::string> objections;
  const auto add = [&](std::string objection) {
    if (!objection.empty()) objections.push_back(std::move(objection));
  };
  for (const std::string& text : limits) {
    Budgets budgets;
    if (const absl::Status added = AddBudget(text, &budgets); !added.ok()) {
      return settings::InValue("max", text, added);
    }
    const BudgetRule& rule = budgets.rules[0];
    if (const absl::Status fits = RequirePipelineRule(rule); !fits.ok()) {
      return settings::BadValue("max", text, fits.message());
    }
    if (rule.limit.kind != BudgetLimit::Kind::kAbsolute) {
      return settings::BadValue("max", text,
                                "it should be an amount, as flops=10 TFLOP; onnxflops check "
                                "--against takes relative limits and ratios");
    }
    if (!rule.module) add(WhyBroken(report, rule, report.totals, report.time, ""));
    bool found = !rule.module;
    for (const PipelineStageCost& stage : report.stages) {
      if (!rule.module || !MatchesGlob(*rule.module, stage.name)) continue;
      found = true;
      add(WhyBroken(report, rule, stage.totals, stage.time, stage.name));
    }
    if (!found) return settings::BadValue("max", text, "no stage matches");
  }
  return objections;
}

// From the folder of a file that is written to another folder: "../sd15/", or "" from itself.
std::string WayTo(const std::string& folder, const std::string& file) {
  if (file.empty() || file == "-") return "";
  std::error_code failed;
  // The folder of the name that is given, also if it is a link to a file elsewhere.
  const auto real = [&](const std::filesystem::path& path) {
    return std::filesystem::weakly_canonical(path, failed);
  };
  const std::filesystem::path from = real(std::filesystem::absolute(file, failed).parent_path()),
                              to = real(std::filesystem::absolute(folder, failed));
  if (failed || from == to) return "";
  const std::filesystem::path way = to.lexically_relative(from);
  return absl::StrCat((way.empty() ? to : way).generic_string(), "/");
}

// --init: the stages of a folder, with the numbers of the call.
absl::StatusOr<ExitCode> WriteStages(const PipelineCall& args, const CountOptions& options,
                                     const std::string& swept) {
  if (!swept.empty()) {
    return settings::BadValue("dim", swept, "--init writes one number for each parameter");
  }
  if (!args.output.format.empty() || !args.limits.empty()) {
    return absl::InvalidArgumentError("--init writes TOML, without --format and --max");
  }
  const std::string& to = args.output.file;
  std::error_code failed;
  if (!to.empty() && to != "-" && std::filesystem::is_regular_file(to, failed)) {
    return settings::BadValue("o", to, "it exists; remove it, or name another file");
  }
  if (settings::IsPipelineFile(args.files[0])) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(args.files[0]),
                     ": --init is for the folder of an export, and this is "
                     "a file of stages already"));
  }
  ASSIGN_OR_RETURN(const std::string text,
                   PipelineOfFolder(args.files[0], WayTo(args.files[0], to)));
  ASSIGN_OR_RETURN(const std::string own, WithNumbers(text, options.bindings));
  // A file that cannot be counted is not written.
  if (!options.bindings.empty()) {
    const std::string file = args.files[0] + "/pipeline.toml";
    ASSIGN_OR_RETURN(const std::string here, PipelineOfFolder(args.files[0]));
    ASSIGN_OR_RETURN(const Pipeline pipeline, LoadPipeline(here, file, options.bindings));
    RETURN_IF_ERROR(CountPipeline(pipeline, options).status());
  }
  RETURN_IF_ERROR(WriteOutput(own, to, settings::FilesOfPipeline(args.files[0])));
  return kFine;
}

absl::StatusOr<ExitCode> RunPipeline(const PipelineCall& args) {
  std::vector<settings::DimSizes> dims;
  ASSIGN_OR_RETURN(const CountOptions options, args.Options(&dims));
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  if (args.init) return WriteStages(args, options, dims.empty() ? "" : dims[0].name);
  std::vector<SweptSymbol> swept;
  swept.reserve(dims.size());
  for (settings::DimSizes& dim : dims) swept.emplace_back(dim.name, std::move(dim.sizes));
  ASSIGN_OR_RETURN(const settings::PipelineText read, settings::ReadPipelineText(args.files[0]));
  const auto load = [&](const Bindings& given) { return settings::ReadPipeline(read, given); };
  ASSIGN_OR_RETURN(const PipelineSweep sweep, SweepPipeline(load, options, swept));
  const PipelineReport& first = sweep.points[0].report;
  std::vector<std::string> inputs = settings::FilesOfPipeline(args.files[0]);
  inputs.insert(inputs.end(), {args.rules.file, args.device.devices_file.file});
  std::vector<std::string> objections;
  for (const PipelineSweep::Point& point : sweep.points) {
    ASSIGN_OR_RETURN(const std::vector<std::string> broken,
                     BrokenLimits(point.report, args.limits));
    for (const std::string& why : broken) objections.push_back(absl::StrCat(PlaceOf(point), why));
  }
  const std::string text = swept.empty() ? Render(first, format, style, args.view)
                                         : Render(sweep, format, style, args.view);
  RETURN_IF_ERROR(WriteOutput(text, args.output.file, inputs));
  for (const std::string& objection : objections) {
    WriteError(absl::StrCat(Escaped(first.file), ": ", Escaped(objection)));
  }
  return objections.empty() ? kFine : kFailed;
}

}  // namespace

Command PipelineCommand() {
  return CommandOf<PipelineCall, kCommandPipelineHelp, RunPipeline>(
      "pipeline", "FILE.toml", "what one answer costs over several models");
}

}  // namespace onnxflops::tools
