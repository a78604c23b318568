// onnxflops compare: what other tools count for a model, and why.
//
// How it works. The options become one request: which conventions, from which one to start (ours,
// or --from), by module or not. One model gives a report with waterfalls if tools are named, and
// else a row per convention. Several models are compared in parallel, and only their totals are
// kept and shown; a model with a fault is reported at the end, after the rows of the others.
#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "src/api/count.h"
#include "src/api/known_sizes.h"
#include "src/api/load.h"
#include "src/api/pipeline.h"
#include "src/api/recognise_pipeline.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/compare/compare_report.h"
#include "src/convention/convention.h"
#include "src/convention/conventions.h"
#include "src/load/load_file.h"
#include "src/settings/model_arguments.h"
#include "src/settings/pipeline_arguments.h"
#include "src/settings/size_arguments.h"
#include "src/settings/value.h"
#include "src/settings/view_arguments.h"
#include "tools/cli/output.h"
#include "tools/cli/output_arguments.h"
#include "tools/cli/render.h"
#include "tools/commands/class_arguments.h"
#include "tools/commands/commands.h"
#include "tools/commands/each_model.h"
#include "tools/commands/model_files.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandCompareHelp = {
    "onnxflops compare MODEL... [options]",
    R"(Computes the figures that other tools report for a model, digit for digit, from
the ONNX file alone. Terms lead from our count to theirs: start + terms = the
tool's figure, exactly. Figures with a star rest on a guess; --with prints it.
The others follow from the file. Work whose result nobody uses is in no file.
Several models are one table with a row each. With --module, the figures are
those of a part, as tools would give them for that module alone.
A pipeline, as `onnxflops pipeline` takes it, has for each tool the figures of
its stages' models at their sizes, times their runs; among models it is a row.
)",
    R"(  The figures of every tool for CLIP:
    onnxflops compare clip-vit-l-14-336.onnx --dim batch=1
  Why thop reports 136 G, term by term:
    onnxflops compare clip-vit-l-14-336.onnx --dim batch=1 --with thop
  In which modules, and which nodes:
    onnxflops compare clip-vit-l-14-336.onnx --with thop --by module
    onnxflops compare clip-vit-l-14-336.onnx --with thop --terms-nodes
  What tools count for CLIP's image tower alone:
    onnxflops compare clip-vit-l-14-336.onnx --module visual
  Every tool, term by term; and three tools for a folder of models:
    onnxflops compare clip-vit-l-14-336.onnx --with all
    onnxflops compare exported/ --with thop,fvcore,ptflops
  The way from one tool's figure to another's:
    onnxflops compare clip-vit-l-14-336.onnx --from thop --to fvcore
  For a script, and for a pull request:
    onnxflops compare clip-vit-l-14-336.onnx --format json -o compare.json
    onnxflops compare clip-vit-l-14-336.onnx --with fvcore --format markdown
  What tools would give for all runs of all stages:
    onnxflops compare sd15/ --dim steps=25 --with thop
  As DeepSpeed counted before 0.19.7:
    onnxflops compare unet.onnx --with deepspeed@0.19.6
  What timm and pycls call activations, or macts:
    onnxflops compare resnet50.onnx --quantity activations
  The conventions, with their sources and versions:
    onnxflops compare --list

Exit codes: 0 success, 2 error.
)"};

constexpr char kAllTools[] = "all";

struct CompareCall : settings::CompareArguments {
  std::vector<std::string> models;
  JobsArgument jobs;
  OutputArguments output;
  ClassArguments by_class;
  std::vector<std::string> with;
  std::string from, to, by;
  settings::ComparedArgument compared;
  bool terms_nodes = false, conventions = false;

  void AddTo(OptionList* list) {
    const std::vector<std::string> names = convention::ConventionNames();
    std::vector<std::string> with_names = names;
    with_names.emplace_back(kAllTools);
    list->AddPositional("MODEL", &models, 0);
    settings::CompareArguments::AddTo(list);
    list->AddValues("with", "NAME,..", &with,
                    "Print the terms that lead from our count to this tool's; all for every tool. "
                    "NAME@VERSION is another version of it.",
                    with_names);
    list->AddValue("from", "NAME", &from, "Start from this tool's figure instead of our count.",
                   names);
    list->AddValue("to", "NAME", &to, "The tool that --from leads to.", names);
    compared.AddTo(list);
    list->AddValue("by", "KEY", &by, "With module: print the terms module by module.", {"module"});
    settings::AddModule(list, &module);
    list->AddFlag("terms-nodes", &terms_nodes, "List the nodes of every term.");
    list->AddFlag("list", &conventions,
                  "List the conventions: unit, what each includes and misses, source, versions.");
    by_class.AddTo(list);
    jobs.AddTo(list);
    output.AddTo(list, {"json", "csv", "html"});
  }

  absl::StatusOr<CompareRequest> Request() const {
    CompareRequest request;
    ASSIGN_OR_RETURN(request.activations, compared.IsActivations());
    for (const std::string& names : with) {
      if (names.find_first_not_of(',') == std::string::npos) {
        return settings::BadValue("with", names, "it names no convention");
      }
      for (absl::string_view name : absl::StrSplit(names, ',', absl::SkipEmpty())) {
        if (name == kAllTools) {
          for (const convention::Convention* tool : request.activations
                                                        ? convention::ActivationConventions()
                                                        : convention::Conventions()) {
            request.with.emplace_back(tool->name);
          }
        } else {
          request.with.emplace_back(name);
        }
      }
    }
    if (from.empty() != to.empty()) {
      return absl::InvalidArgumentError("--from and --to go together");
    }
    if (!to.empty()) {
      if (!request.with.empty()) {
        return absl::InvalidArgumentError("--with starts from our count, --from from another");
      }
      request.with = {to};
    }
    request.from = from;
    if (!by.empty() && by != "module") {
      return settings::BadValue("by", by, "it should be module");
    }
    request.by_module = !by.empty();
    request.node_names = terms_nodes;
    return request;
  }
};

// True if every term is shown, not only figures.
bool HasWaterfalls(const CompareRequest& request) {
  return !request.with.empty() || request.by_module || request.node_names;
}

std::string RenderOne(const CompareReport& report, Format format, const TableStyle& style) {
  const bool waterfalls = HasWaterfalls(report.request);
  if (format == Format::kCsv) return ToCompareCsv(report, waterfalls);
  return Render(report, format, style, waterfalls);
}

absl::StatusOr<std::string> RenderModels(absl::Span<const CompareReport> reports, Format format,
                                         const TableStyle& style) {
  const CompareRequest& request = reports[0].request;
  if (format == Format::kJson) return ToJson(reports);
  if (format == Format::kHtml) {
    return absl::InvalidArgumentError(
        "a page shows one model, named as a file; several models are written as a table, in its "
        "formats, or as json or csv");
  }
  if (format == Format::kCsv) {
    return ToCompareCsv(reports, request.by_module || request.node_names);
  }
  if (request.by_module || request.node_names) {
    return absl::InvalidArgumentError(
        "--by module and --terms-nodes of several models are written as json or csv");
  }
  return Render(reports, format, style);
}

// A pipeline among models is a row of all its stages.
absl::StatusOr<CompareReport> ComparePipelineRow(const std::string& path,
                                                 const CountOptions& options,
                                                 const CompareRequest& request,
                                                 std::vector<std::string>* missing) {
  ASSIGN_OR_RETURN(const Pipeline pipeline, settings::ReadPipeline(path, options.bindings));
  ASSIGN_OR_RETURN(const PipelineComparison comparison,
                   ComparePipeline(pipeline, options, request, missing));
  CompareReport report = AmongModels(comparison);
  report.request = request;
  return report;
}

// `missing` takes the names of --dim that the model does not have; with nullptr these are an error.
absl::StatusOr<CompareReport> CompareFile(const ModelFile& file, const CountOptions& options,
                                          const CompareRequest& request,
                                          std::vector<std::string>* missing) {
  RETURN_IF_ERROR(file.fault);
  if (IsOnePipeline(file.path)) return ComparePipelineRow(file.path, options, request, missing);
  ASSIGN_OR_RETURN(const Model model, LoadFor(file.path, options));
  return missing == nullptr ? CompareTools(model, options, request)
                            : CompareKnownSizes(model, options, request, missing);
}

// Only totals are shown of several models.
absl::StatusOr<CompareReport> CompareOneOfMany(const ModelFile& file, const CountOptions& options,
                                               const CompareRequest& request,
                                               std::vector<std::string>* missing) {
  try {
    ASSIGN_OR_RETURN(CompareReport report, CompareFile(file, options, request, missing));
    report.ours.modules.clear();
    return report;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(Escaped(file.path), ": there is not enough memory"));
  }
}

// What the output may not replace.
std::vector<std::string> InputsOf(const ModelFiles& models, const CompareCall& args) {
  std::vector<std::string> inputs = models.inputs();
  inputs.push_back(args.sizes.rules.file);
  for (std::string& file : args.samples.Files()) inputs.push_back(std::move(file));
  return inputs;
}

// One row each; faults of the others are reported at the end.
absl::StatusOr<ExitCode> CompareModels(const ModelFiles& models, const CountOptions& options,
                                       const CompareRequest& request, Format format,
                                       const CompareCall& args, const TableStyle& style) {
  ASSIGN_OR_RETURN(const int threads, args.jobs.Parse());
  std::vector<absl::StatusOr<CompareReport>> outcomes(models.files.size());
  std::vector<std::vector<std::string>> without(outcomes.size());
  ForEach(outcomes.size(), threads, [&](size_t i) {
    outcomes[i] = CompareOneOfMany(models.files[i], options, request, &without[i]);
  });
  std::vector<CompareReport> reports;
  std::vector<absl::Status> faults;
  std::vector<MissingSizes> missing;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].ok()) {
      reports.push_back(*std::move(outcomes[i]));
      missing.push_back({models.files[i].path, std::move(without[i])});
    } else {
      faults.push_back(outcomes[i].status());
    }
  }
  RETURN_IF_ERROR(TellMissing(missing, "compared"));
  if (!reports.empty()) {
    ASSIGN_OR_RETURN(const std::string text, RenderModels(reports, format, style));
    RETURN_IF_ERROR(WriteOutput(text, args.output.file, InputsOf(models, args)));
  }
  for (const absl::Status& fault : faults) {
    WriteError(absl::StrCat(fault.message(), settings::LimitHint(fault)));
  }
  return faults.empty() ? kFine : kTrouble;
}

// An error if something is given that only the comparison of a model has.
absl::Status RequirePipelineCall(const CompareCall& args, const std::string& path) {
  RETURN_IF_ERROR(settings::RequirePipelineSizes(args.sizes));
  const std::pair<const char*, bool> others[] = {{"--module", !args.module.empty()},
                                                 {"--by", !args.by.empty()},
                                                 {"--terms-nodes", args.terms_nodes},
                                                 {"--upper", args.upper.given},
                                                 {"a batch of --lengths", args.samples.given()}};
  for (const auto& [name, is_given] : others) {
    if (!is_given) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(path), ": a pipeline; ", name,
                     " is for models: of a pipeline, --with shows the terms of every stage"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> ComparePipelineAt(const std::string& path, const CompareCall& args,
                                           const CompareRequest& request, Format format) {
  RETURN_IF_ERROR(RequirePipelineCall(args, path));
  ASSIGN_OR_RETURN(const CountOptions options, args.Options());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  ASSIGN_OR_RETURN(const Pipeline pipeline, settings::ReadPipeline(path, options.bindings));
  ASSIGN_OR_RETURN(const PipelineComparison comparison,
                   ComparePipeline(pipeline, options, request));
  const bool waterfalls = HasWaterfalls(request);
  const std::string text = format == Format::kCsv ? ToCompareCsv(comparison, waterfalls)
                                                  : Render(comparison, format, style, waterfalls);
  std::vector<std::string> inputs = settings::FilesOfPipeline(path);
  inputs.push_back(args.sizes.rules.file);
  RETURN_IF_ERROR(WriteOutput(text, args.output.file, inputs));
  return kFine;
}

// Of --list.
absl::StatusOr<std::string> List(const OutputArguments& output, const TableStyle& style) {
  ASSIGN_OR_RETURN(const Format format, output.ParseFormat());
  if (format == Format::kJson) return ListConventionsAsJson();
  if (format == Format::kTable) return ListConventions(style);
  return absl::InvalidArgumentError(
      "--list writes table or json: choose one of them with --format");
}

absl::StatusOr<ExitCode> RunCompare(const CompareCall& args) {
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  if (args.conventions) {
    ASSIGN_OR_RETURN(const std::string text, List(args.output, style));
    RETURN_IF_ERROR(WriteOutput(text, args.output.file, {}));
    return kFine;
  }
  if (args.models.empty()) {
    return absl::InvalidArgumentError("no MODEL is given (see onnxflops compare --help)");
  }
  ASSIGN_OR_RETURN(const CountOptions options, args.Options());
  ASSIGN_OR_RETURN(const CompareRequest request, args.Request());
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  if (args.models.size() == 1 && settings::IsPipeline(args.models[0])) {
    return ComparePipelineAt(args.models[0], args, request, format);
  }
  ASSIGN_OR_RETURN(const Arguments graphs, args.by_class.Graphs(args.models, options.bindings));
  ASSIGN_OR_RETURN(ModelFiles models, FindModelsAndPipelines(graphs));
  for (ModelFile& file : models.files) {
    if (IsOnePipeline(file.path)) file.fault = RequirePipelineCall(args, file.path);
  }
  if (!models.one_file) {
    return CompareModels(models, options, request, format, args, style);
  }
  ASSIGN_OR_RETURN(const CompareReport report,
                   CompareFile(models.files[0], options, request, nullptr));
  const std::string text = RenderOne(report, format, style);
  RETURN_IF_ERROR(WriteOutput(text, args.output.file, InputsOf(models, args)));
  return kFine;
}

}  // namespace

Command CompareCommand() {
  return CommandOf<CompareCall, kCommandCompareHelp, RunCompare>(
      "compare", "MODEL...", "what other tools report, and why they differ");
}

}  // namespace onnxflops::tools
