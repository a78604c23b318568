// onnxflops diff: what changed from one model to another.
//
// How it works. Two arguments are two models, or reports that were written earlier; with --git the
// base is the same file at a revision, which is read from git without a checkout. Both sides are
// counted with the same options, sizes and conventions, or else their numbers would differ for
// other reasons than the models. Peaks of memory are counted for both. Then the reports are
// compared, and written as a table, as data or as a comment for a pull request.
#include "src/api/diff.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "src/api/pipeline.h"
#include "src/api/recognise_pipeline.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/cost/amounts.h"
#include "src/diff/comment.h"
#include "src/diff/diff_writers.h"
#include "src/report/view_options.h"
#include "src/settings/device_arguments.h"
#include "src/settings/model_arguments.h"
#include "src/settings/pipeline_arguments.h"
#include "src/settings/value.h"
#include "src/settings/view_arguments.h"
#include "tools/cli/output.h"
#include "tools/cli/output_arguments.h"
#include "tools/cli/render.h"
#include "tools/commands/base_model.h"
#include "tools/commands/commands.h"
#include "tools/commands/git_pipeline.h"
#include "tools/commands/model_files.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandDiffHelp = {
    "onnxflops diff BASE HEAD [options]",
    R"(Compares the cost of two models: totals, then the modules that changed, the
largest change first, then operators and what the files declare in other ways.
Modules are matched by path, then by what is in them, so that a rename or
another exporter does not look like a new model. BASE and HEAD may be reports
that `onnxflops count --format json` wrote earlier. Sizes that both models leave
open are compared as formulas.

BASE and HEAD may also be two pipelines: files of stages, or folders, as
`onnxflops pipeline` takes them. A row per stage then has what changed in it:
how often it runs, FLOPs, MACs, parameters, bytes and memory, and with --device
the least time. --dim NAME=N gives a parameter a number in both.
)",
    R"(  What a change of a model costs:
    onnxflops diff old.onnx new.onnx
  A baseline that needs no model file:
    onnxflops count old.onnx --dim batch=1 -o old.json
    onnxflops diff old.json new.onnx --dim batch=1
  For a pull request, without changes below a tenth of a percent:
    onnxflops diff old.onnx new.onnx --threshold 0.1% --format comment
  What the working tree changes:
    onnxflops diff --git HEAD model.onnx
  Node by node, for a script:
    onnxflops diff old.onnx new.onnx --by node --format csv
  What an answer of several models costs more:
    onnxflops diff old/pipeline.toml new/pipeline.toml --dim tokens=500
    onnxflops diff sdxl/ sdxl-turbo/ --device h100-sxm --dtype bf16 -o page.html

Exit codes: 0 success, whether anything changed or not; 2 error.
)"};

std::vector<std::string> QuantityKeys() {
  std::vector<std::string> keys;
  for (const Quantity* q : AllQuantities()) keys.emplace_back(q->key);
  return keys;
}

struct DiffCall : settings::DiffArguments {
  std::vector<std::string> models;
  BaseMissingArgument base_missing;
  settings::RooflineArguments device;
  OutputArguments output;
  std::string by = "module", depth, quantity = "flops", threshold, module, git;
  bool exact = false;

  void AddTo(OptionList* list) {
    list->AddPositional("BASE HEAD", &models, 1, 2);
    list->AddValue(
        "git", "REV", &git,
        "Compare one model or pipeline with itself at a revision of its git repository.");
    settings::DiffArguments::AddTo(list);
    base_missing.AddTo(list);
    list->AddValue("by", "WHAT", &by, "module, op or node. Default: module.",
                   {"module", "op", "node"});
    list->AddValue("depth", "N", &depth,
                   "Depth of the module tree. Default: opened where the change is.");
    list->AddValue("sort", "KEY", &quantity,
                   "The quantity that rows show and are sorted by. Default: flops.",
                   QuantityKeys());
    list->AddValue("threshold", "PERCENT", &threshold,
                   "Join what changes by less than this part of the model, as 0.1%.");
    list->AddFlag("exact", &exact, "Print every digit instead of SI units.");
    list->AddValue("module", "GLOBS", &module,
                   "Compare only this module, as if it were the model.");
    device.AddTo(list);
    output.AddTo(list, {"json", "csv", "html", "comment"});
  }

  absl::Status CheckModels() const {
    if (!git.empty() && models.size() == 2) {
      return absl::InvalidArgumentError("--git REV compares one model with itself: give only HEAD");
    }
    if (git.empty() && models.size() == 1) {
      return absl::InvalidArgumentError(
          "diff needs BASE and HEAD, or --git REV and HEAD (see onnxflops diff --help)");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<DiffViewOptions> View() const {
    DiffViewOptions view;
    view.exact = exact;
    if (by == "op") {
      view.by = GroupBy::kOp;
    } else if (by == "node") {
      view.by = GroupBy::kNode;
    } else if (by != "module") {
      return settings::BadValue("by", by, "it should be module, op or node");
    }
    RETURN_IF_ERROR(settings::ParseWhole("depth", depth, &view.depth));
    const std::vector<std::string> keys = QuantityKeys();
    view.quantity = FindQuantity(quantity);
    if (view.quantity == nullptr) {
      return settings::BadValue("sort", quantity,
                                absl::StrCat("it should be one of ", absl::StrJoin(keys, ", "),
                                             DidYouMean(quantity, keys)));
    }
    ASSIGN_OR_RETURN(view.threshold, ParseThreshold(threshold));
    return view;
  }
};

// Whether both sides are pipelines. A configuration is one if the other side is. An error if only
// one of them is.
absl::StatusOr<bool> ArePipelines(const std::vector<std::string>& paths) {
  bool is_pipeline[2] = {};
  for (const bool with_configuration : {false, true}) {
    for (size_t i = 0; i < 2; ++i) {
      const std::string& path = i == 0 ? paths.front() : paths.back();
      is_pipeline[i] = settings::IsPipeline(path) || (with_configuration && IsFolder(path) &&
                                                      settings::ReadPipelineText(path).ok());
    }
    if (is_pipeline[0] == is_pipeline[1]) return is_pipeline[0];
    if (with_configuration) break;
  }
  const std::string &one = is_pipeline[0] ? paths.front() : paths.back(),
                    &other = is_pipeline[0] ? paths.back() : paths.front();
  // What cannot be read is no model either.
  if (!Exists(other)) return true;
  return OnlyOneIsPipeline(one, other);
}

// Options for models alone.
absl::Status RequirePipelineOptions(const DiffCall& args) {
  RETURN_IF_ERROR(settings::RequirePipelineSizes(args.sizes));
  const DiffCall none;
  const std::pair<const char*, bool> others[] = {
      {"--base-missing", args.base_missing.what != none.base_missing.what},
      {"--by", args.by != none.by},
      {"--depth", !args.depth.empty()},
      {"--sort", args.quantity != none.quantity},
      {"--threshold", !args.threshold.empty()},
      {"--module", !args.module.empty()}};
  for (const auto& [name, is_given] : others) {
    if (!is_given) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is for models: of pipelines, diff shows every stage"));
  }
  return absl::OkStatus();
}

absl::StatusOr<PipelineDiff> DiffOf(const DiffCall& args, const CountOptions& options) {
  const std::string &base = args.models.front(), &head = args.models.back();
  if (args.git.empty()) {
    ASSIGN_OR_RETURN(const Pipeline old_stages, settings::ReadPipeline(base, options.bindings));
    ASSIGN_OR_RETURN(const Pipeline new_stages, settings::ReadPipeline(head, options.bindings));
    return DiffPipelines(old_stages, new_stages, options);
  }
  ASSIGN_OR_RETURN(const Pipeline new_stages, settings::ReadPipeline(head, options.bindings));
  ASSIGN_OR_RETURN(const GitPipeline at, GitPipeline::Lay(args.git, head));
  ASSIGN_OR_RETURN(const Pipeline old_stages, at.Read(options.bindings));
  absl::StatusOr<PipelineDiff> diff = DiffPipelines(old_stages, new_stages, options);
  if (!diff.ok()) return at.Named(diff.status());
  return diff;
}

absl::StatusOr<ExitCode> RunPipelineDiff(const DiffCall& args, const CountOptions& options) {
  RETURN_IF_ERROR(RequirePipelineOptions(args));
  const bool comment = args.output.format == "comment";
  ASSIGN_OR_RETURN(const Format format, comment ? Format::kTable : args.output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  const std::string &base = args.models.front(), &head = args.models.back();
  ASSIGN_OR_RETURN(const PipelineDiff diff, DiffOf(args, options));
  std::vector<std::string> inputs = {base, head, args.sizes.rules.file,
                                     args.device.devices_file.file};
  for (const std::string& side : {base, head}) {
    for (std::string& file : settings::FilesOfPipeline(side)) inputs.push_back(std::move(file));
  }
  const std::string text =
      comment ? ToComment(diff, args.exact) : Render(diff, format, style, args.exact);
  RETURN_IF_ERROR(WriteOutput(text, args.output.file, inputs));
  return kFine;
}

absl::StatusOr<ExitCode> RunDiff(const DiffCall& args) {
  ASSIGN_OR_RETURN(CountOptions options, args.Options());
  ASSIGN_OR_RETURN(const DiffViewOptions view, args.View());
  const bool comment = args.output.format == "comment";
  ASSIGN_OR_RETURN(const Format format, comment ? Format::kTable : args.output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  ASSIGN_OR_RETURN(const bool missing_is_fine, args.base_missing.Parse());
  ASSIGN_OR_RETURN(options.on_device, args.device.Parse());
  RETURN_IF_ERROR(args.CheckModels());
  ASSIGN_OR_RETURN(const bool are_pipelines, ArePipelines(args.models));
  if (are_pipelines) {
    options.activation_peak = false;
    return RunPipelineDiff(args, options);
  }
  if (options.on_device) {
    return absl::InvalidArgumentError(
        "--device is for pipelines; onnxflops check --device limits the time of a model");
  }
  options.module = args.module;
  options.node_rows = view.by == GroupBy::kNode;
  const std::string &base = args.models.front(), &head = args.models.back();
  ASSIGN_OR_RETURN(const ModelOrReport side, LoadModelOrReport(head, options));
  ASSIGN_OR_RETURN(const auto loaded, LoadBase({base, args.git, missing_is_fine}, side, options));
  ASSIGN_OR_RETURN(const Diff diff, DiffWithBase(loaded, side, options));
  if (format != Format::kTable) {
    TellPositions(diff.base);
    TellPositions(diff.head);
  }
  if (options.node_rows && !diff.has_nodes) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(side.report && !side.report->has_nodes ? head : base),
                     ": the report has no nodes; write it with --by node for --by node here"));
  }
  const std::string text = comment ? ToComment(diff, view) : Render(diff, format, style, view);
  RETURN_IF_ERROR(WriteOutput(text, args.output.file, {base, head, args.sizes.rules.file}));
  return kFine;
}

}  // namespace

Command DiffCommand() {
  return CommandOf<DiffCall, kCommandDiffHelp, RunDiff>(
      "diff", "BASE HEAD", "what changed between two models, by module");
}

}  // namespace onnxflops::tools
