// onnxflops check: whether a model is within its budgets.
//
// How it works. The options are read and all outputs checked first, so that nothing is counted in
// vain. Then the files of budgets are found and each model is judged against its own file, in
// parallel: the model and its base are loaded, the rules are judged, and for --review the two are
// compared. With several models an error of one becomes a verdict of its own and the others still
// get theirs. Names of sizes that no model has are an error, but only if every model could be read.
//
// With --update the limits are raised, the files read again and all models judged a second time, so
// that the output shows the new verdicts. --init writes a first file of budgets instead of judging.
// The review is written last: whoever reads it may expect the other files to exist.
#include "src/api/check.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/api/diff.h"
#include "src/api/load.h"
#include "src/api/mfu.h"
#include "src/api/pipeline.h"
#include "src/api/version.h"
#include "src/base/platform/posix.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/base/utc_time.h"
#include "src/check/budgets.h"
#include "src/check/check_writers.h"
#include "src/check/ci_formats.h"
#include "src/check/decision.h"
#include "src/check/edit_budgets.h"
#include "src/check/judge.h"
#include "src/check/review.h"
#include "src/diff/diff_writers.h"
#include "src/graph/symbol_origin.h"
#include "src/hardware/device.h"
#include "src/infer/require_symbols.h"
#include "src/profile/profile_file.h"
#include "src/render/format.h"
#include "src/report/reference_sizes.h"
#include "src/settings/check_arguments.h"
#include "src/settings/pipeline_arguments.h"
#include "src/settings/value.h"
#include "src/symbolic/symbol_name.h"
#include "tools/cli/output.h"
#include "tools/cli/output_arguments.h"
#include "tools/cli/render.h"
#include "tools/commands/base_model.h"
#include "tools/commands/base_pipeline.h"
#include "tools/commands/budget_files.h"
#include "tools/commands/commands.h"
#include "tools/commands/each_model.h"
#include "tools/commands/git_file.h"
#include "tools/commands/model_files.h"
#include "tools/commands/record_history.h"
#include "tools/commands/review_arguments.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandCheckHelp = {
    "onnxflops check MODEL... [options]",
    R"(Holds a model to budgets: limits on any quantity of the model or of its modules,
absolute or relative to a base, at given sizes or at all sizes of a range; on
operators, domains and opsets. The file is --budgets FILE, else the nearest
onnxflops.toml: beside the model, in a folder above it, or here. docs/ci.md
describes it. A figure that is only a lower bound, or that depends on an open
size, is "not proven" and does not pass. MODEL may be a report that
`onnxflops count --format json` wrote earlier. Of several models,
[models."GLOB"] in the file says which rules are for which. MODEL may also be a
pipeline: a file of stages that ends with .toml, or a folder with pipeline.toml,
model_index.json or genai_config.json. Limits are then on all stages, on those
that match, and relative to the pipeline of --against.
)",
    R"(  Limits without a file:
    onnxflops check model.onnx --max "flops=40 GFLOP" --max "layer*:macs=3 GMAC"
  No more parameters than what is released has, and 2 %:
    onnxflops check model.onnx --max "params=+2%" --against released.onnx
  A file of budgets from what the model costs today, with 1 % margin:
    onnxflops check model.onnx --init
  Whether the model is within them:
    onnxflops check model.onnx
  Budgets that are relative to what is released, or to another revision:
    onnxflops check model.onnx --against released.onnx
    onnxflops check model.onnx --git main
  What one answer of several models may cost:
    onnxflops check pipeline.toml --max "flops=10 TFLOP" --dim steps=25
  A higher cost is wanted: raise the limits, keep the comments:
    onnxflops check model.onnx --update
  All models of a folder, each against the file of its name in another folder:
    onnxflops check exported/ --budgets onnxflops.toml --against released/
  Whether training uses as much of the devices as [mfu] asks for:
    onnxflops check gpt2.onnx --step-time 0.31 --devices 8
  A comment on a pull request, with what changed since the main branch:
    onnxflops check models/ --git main --base-missing ok --review comment.md
  A line per model in a history, which onnxflops history draws:
    onnxflops check models/ --record history.jsonl
  A record of what was decided, with hashes of the files:
    onnxflops check model.onnx --decision decision.json
  For the screens of a CI system:
    onnxflops check model.onnx --output junit=budgets.xml --format github

Exit codes: 0 passed, 1 a budget failed or is not proven, 2 error.
)"};

struct CheckLine : settings::CheckArguments {
  std::vector<std::string> models;
  std::string budgets, against, git, decision;
  std::vector<std::string> outputs;
  bool init = false, update = false, summary = false;
  ReviewArguments review;
  BaseMissingArgument base_missing;
  JobsArgument jobs;
  RecordArgument record;
  OutputArguments output;

  void AddTo(OptionList* list) {
    list->AddPositional("MODEL", &models, 1);
    list->BeginGroup("budgets", "Budgets, and what relative ones compare with");
    list->AddValue("budgets", "FILE", &budgets,
                   "The file of budgets, or a folder that has one for each folder of models.");
    AddMaxTo(list);
    list->AddValue(
        "against", "BASE", &against,
        "What relative budgets compare with: a model, a pipeline, or a report in JSON; of "
        "several models, a folder with files of the same names.");
    list->AddValue(
        "git", "REV", &git,
        "What relative budgets compare with: each model itself, at a revision of its git "
        "repository.");
    base_missing.AddTo(list);
    list->AddFlag("init", &init,
                  "Write a file of budgets for the models: beside them, or as -o names it. It "
                  "must not exist.");
    list->AddFlag("update", &update,
                  "Raise the limits that the model breaks, in the file. Comments stay. A rule that "
                  "is left is named.");
    list->BeginGroup("sizes", "Sizes of the model, and what is counted");
    sizes.AddTo(list);
    causal.AddTo(list);
    training.AddBackwardTo(list);
    list->BeginGroup("measured", "A step or a run that was measured");
    rate.AddTo(list);
    AddMeasuredTo(list);
    list->BeginGroup("devices", "Time on a device");
    roofline.AddTo(list);
    list->BeginGroup("review", "The review of a change, and records");
    review.AddTo(list);
    list->AddValue("decision", "FILE", &decision,
                   "Write a record of what was decided: hashes of the files, rules, verdicts.");
    record.AddTo(list);
    list->BeginGroup("output", "Output");
    list->AddValues("output", "FORMAT=FILE", &outputs,
                    "Write to FILE as well, in any format: junit=budgets.xml.");
    list->AddFlag("summary", &summary,
                  "Add Markdown to the file that GITHUB_STEP_SUMMARY names, if it is set.");
    jobs.AddTo(list);
    output.AddOnly(list, FormatNames());
  }

  static std::vector<std::string> FormatNames() {
    std::vector<std::string> names;
    for (const FormatRow& row : Formats()) {
      if (row.format != Format::kText && row.format != Format::kJsonLines) {
        names.emplace_back(row.name);
      }
    }
    for (const CiFormat& format : kCiFormats) names.emplace_back(format.name);
    return names;
  }
};

// The report for --init, at the reference sizes that [at] will name. First the inputs' sizes are
// bound, since they may settle others; then those that depend on data, if no size is open then.
absl::StatusOr<Report> CountInitial(const Model& model, CountOptions options) {
  options.activation_peak = true;
  absl::StatusOr<Report> report = Count(model, options);
  for (const bool of_inputs : {true, false}) {
    if (!report.ok() || report->symbols.empty()) break;
    const Bindings sizes = report::ReferenceSizes(*report);
    for (const SymbolOrigin& symbol : report->symbols) {
      const bool is_input = symbol.kind == SymbolOrigin::Kind::kInput;
      if (is_input == of_inputs) options.bindings.emplace(symbol.name, sizes.at(symbol.name));
    }
    absl::StatusOr<Report> sized = Count(model, options);
    if (of_inputs || (sized.ok() && sized->symbols.empty())) report = std::move(sized);
  }
  return report;
}

// A call of the command.
struct CheckCall {
  const CheckLine& args;
  CheckOptions run;
  ModelMoves moves;
  std::optional<DiffViewOptions> review;  // how to show changes in the review that is wanted
  bool missing_is_fine = false;
  ModelFiles files = {};
  int threads = 1;
};

// The base of a model. With several models it is a file in the folder of --against.
BaseModel BaseOf(const CheckCall& call, const std::string& path) {
  const std::string& against = call.args.against;
  BaseModel base = {against, call.args.git, call.missing_is_fine};
  if (!base.revision.empty()) {
    const auto old = call.moves.renamed.find(path);
    base.path = old == call.moves.renamed.end() ? path : old->second;
  }
  const bool is_one = call.files.one_file || !IsFolder(against);
  if (is_one || base.path.empty() || !base.revision.empty()) return base;
  // The file with the same path below the folder, or with the longest end of that path that exists.
  absl::string_view rest = path;
  for (base.path = absl::StrCat(against, "/", rest); !Exists(base.path);) {
    const size_t slash = rest.find('/');
    if (slash == absl::string_view::npos) break;
    rest.remove_prefix(slash + 1);
    base.path = absl::StrCat(against, "/", rest);
  }
  return base;
}

// The device that times are of: that of the call, else that of the budgets.
absl::StatusOr<CountOptions> ReviewOptions(const CheckCall& call, const Budgets& budgets,
                                           ReviewedModel* model) {
  CountOptions options = call.run.count;
  options.activation_peak = true;
  if (!options.on_device) {
    ASSIGN_OR_RETURN(options.on_device, DeviceOf(budgets, call.run.devices));
  }
  if (options.on_device) {
    model->device = absl::StrCat(options.on_device->device.name, ", ",
                                 PrecisionName(options.on_device->precision));
  }
  return options;
}

// True if rules are for the path at the base, and none is for the present one.
bool LosesBudgets(const Budgets& budgets, const ReviewedModel& model) {
  const auto is_for = [&](const std::string& path) {
    return absl::c_any_of(budgets.rules,
                          [&](const BudgetRule& rule) { return IsForModel(rule.models, path); });
  };
  return !model.renamed_from.empty() && is_for(model.renamed_from) &&
         !is_for(BudgetName(model.path));
}

absl::Status JudgeSides(const CheckCall& call, const Budgets& budgets, const PipelineSides& sides,
                        AskedSizes* asked, ReviewedModel* model) {
  if (call.review && !call.args.git.empty()) {
    RETURN_IF_ERROR(RequireInRepository(sides.checked.head, model->path));
  }
  if (!call.args.review.no_budgets) {
    RETURN_IF_ERROR(CheckPipeline(sides.checked, budgets, call.run, asked, &model->check));
    model->loses_budgets = LosesBudgets(budgets, *model);
  }
  if (!call.review) return absl::OkStatus();
  ASSIGN_OR_RETURN(const CountOptions options, ReviewOptions(call, budgets, model));
  ASSIGN_OR_RETURN(model->pipeline, DiffPipelines(sides.checked, options));
  model->diff = model->pipeline->figures;
  return absl::OkStatus();
}

absl::Status JudgePipeline(const CheckCall& call, const Budgets& budgets, AskedSizes* asked,
                           ReviewedModel* model) {
  const BaseModel base = BaseOf(call, model->path);
  if (!base.revision.empty() && base.path != model->path) model->renamed_from = base.path;
  ASSIGN_OR_RETURN(const PipelineSides sides, FindPipelineSides(model->path, base));
  const absl::Status judged = sides.Named(JudgeSides(call, budgets, sides, asked, model));
  return sides.checked.has_base ? judged : WithBaseHint(judged);
}

absl::Status JudgeFile(const CheckCall& call, const Budgets& budgets, const ModelFile& file,
                       AskedSizes* asked, ReviewedModel* model) {
  RETURN_IF_ERROR(file.fault);
  if (IsOnePipeline(file.path)) return JudgePipeline(call, budgets, asked, model);
  ASSIGN_OR_RETURN(const ModelOrReport head, LoadModelOrReport(file.path, call.run.count));
  const BaseModel base = BaseOf(call, file.path);
  if (settings::IsPipelineFile(base.path)) return OnlyOneIsPipeline(base.path, file.path);
  ASSIGN_OR_RETURN(const std::optional<ModelOrReport> loaded, LoadBase(base, head, call.run.count));
  if (!base.revision.empty() && base.path != file.path) model->renamed_from = base.path;
  if (!call.args.review.no_budgets) {
    CheckedModel checked = {head.side(), file.path, !base.path.empty()};
    if (loaded) checked.base = loaded->side();
    if (!base.revision.empty()) checked.base_path = base.path;
    const absl::Status judged = CheckModel(checked, budgets, call.run, asked, &model->check);
    if (!judged.ok()) return checked.has_base ? judged : WithBaseHint(judged);
    model->loses_budgets = LosesBudgets(budgets, *model);
  }
  if (!call.review) return absl::OkStatus();
  ASSIGN_OR_RETURN(const CountOptions options, ReviewOptions(call, budgets, model));
  ASSIGN_OR_RETURN(model->diff, DiffWithBase(loaded, head, options));
  return absl::OkStatus();
}

// Whether a name in the budgets is that of a model that this call leaves out, or that is removed.
bool IsLeftOut(const CheckCall& call, const std::string& budgets, const std::string& name) {
  if (name.find_first_of("*?") != std::string::npos) return true;
  if (absl::c_any_of(call.moves.removed,
                     [&](const std::string& path) { return IsForModel(name, path); })) {
    return true;
  }
  for (const std::string& path : {name, FolderOfModels(budgets) + name}) {
    if (!Exists(path)) continue;
    // A folder of the call stands for all that is in it.
    const bool is_in_folder = absl::c_any_of(call.args.models, [&](const std::string& word) {
      return IsFolder(word) && !IsOnePipeline(word) &&
             absl::StartsWith(NormalPath(path), NormalPath(FolderOfModels(word)));
    });
    return !is_in_folder;
  }
  return false;
}

// Names in the budgets that no model of the call has: a mistyped one would go unnoticed. A call of
// files may leave models out that are there.
std::vector<std::string> IdleBudgets(const CheckCall& call, const BudgetFiles& budgets) {
  std::vector<std::string> texts;
  const bool has_folder = absl::c_any_of(call.args.models, [](const std::string& word) {
    return IsFolder(word) && !IsOnePipeline(word);
  });
  if (!has_folder && !call.review) return texts;
  for (const BudgetFile& file : budgets.files()) {
    std::set<std::string> seen;
    for (const BudgetRule& rule : file.budgets.rules) {
      if (rule.models.empty() || !seen.insert(rule.models).second) continue;
      const bool is_used = absl::c_any_of(call.files.files, [&](const ModelFile& model) {
        return IsForModel(rule.models, BudgetName(model.path)) ||
               IsForModel(rule.models, BaseOf(call, model.path).path);
      });
      if (is_used || IsLeftOut(call, file.path, rule.models)) continue;
      texts.push_back(absl::StrCat(Escaped(file.path), ":", rule.place.line,
                                   ": no model of this call is ", Quoted(rule.models),
                                   ", so its rules hold nothing"));
    }
  }
  return texts;
}

// An error of one of several models is a row: the others have their verdicts.
absl::StatusOr<Review> JudgeAll(const CheckCall& call, const BudgetFiles& budgets) {
  struct Outcome {
    ReviewedModel model;
    AskedSizes asked;
    absl::Status status;
  };
  std::vector<Outcome> outcomes(call.files.files.size());
  ForEach(outcomes.size(), call.threads, [&](size_t i) {
    Outcome& outcome = outcomes[i];
    const ModelFile& file = call.files.files[i];
    outcome.model.path = file.path;
    const BudgetFile& held_to = budgets.Of(i);
    outcome.model.check.budgets = held_to.path;
    outcome.status = held_to.fault;
    const auto begin = std::chrono::steady_clock::now();
    if (outcome.status.ok()) {
      outcome.status = JudgeFile(call, held_to.budgets, file, &outcome.asked, &outcome.model);
    }
    CheckReport& check = outcome.model.check;
    if (!check.judgements.empty()) {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      check.judgements[0].seconds = taken.count();
    }
    if (outcome.status.ok() || call.files.one_file) return;
    outcome.model.diff.reset();
    outcome.model.pipeline.reset();
    check.judgements = {ModelError(outcome.status)};
    check.judgements[0].model = file.path;
    check.models.resize(1);
    check.models[0].path = file.path;
  });
  Review review;
  review.has_budgets = !call.args.review.no_budgets;
  review.view = call.review.value_or(DiffViewOptions());
  review.idle_budgets = IdleBudgets(call, budgets);
  for (const std::string& text : review.idle_budgets) WriteError(text);
  AskedSizes asked;
  for (Outcome& outcome : outcomes) {
    if (call.files.one_file) RETURN_IF_ERROR(outcome.status);
    if (!outcome.status.ok()) WriteError(outcome.status.message());
    asked.Add(outcome.asked);
    review.models.push_back(std::move(outcome.model));
  }
  if (call.review) AddGoneModels(call.moves, call.args.git, call.run.count, &review);
  // A model that failed may be the one with that size.
  const bool all_read = absl::c_all_of(outcomes, [](const Outcome& o) { return o.status.ok(); });
  if (!all_read) return review;
  const absl::StatusOr<std::vector<std::string>> without =
      ReportUnknownSizes(budgets.Names(), asked);
  if (!without.ok()) {
    // A pull request cannot mend the budgets of its base.
    if (!call.review) return without.status();
    WriteError(without.status().message());
    return review;
  }
  for (const std::string& line : *without) WriteError(line);
  return review;
}

std::string HostName() {
  std::array<char, 256> name = {};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// The verdicts on all models.
absl::StatusOr<CheckReport> Verdicts(const CheckCall& call, const BudgetFiles& budgets,
                                     const Review& review) {
  CheckReport report;
  report.budgets = budgets.Names();
  report.version = ONNXFLOPS_VERSION;
  report.docs = ONNXFLOPS_DOCS_ADDRESS;
  report.host = HostName();
  report.made_at = TimeInUtc(kTimeFormat);
  for (const ReviewedModel& model : review.models) {
    RETURN_IF_ERROR(AddReport(model.check, &report));
  }
  if (!call.files.one_file) {
    report.has_base = false;
    report.base = report.head = {};
    report.head.path = Plural(static_cast<int64_t>(report.models.size()), "model");
  }
  return report;
}

DecisionInfo DescribeDecision(const CheckCall& call, const BudgetFiles& budgets) {
  DecisionInfo info = {ONNXFLOPS_VERSION, call.run.today, {}, {}};
  for (const BudgetFile& file : budgets.files()) {
    info.budgets.push_back({file.path, Sha256OfFile(file.path)});
  }
  for (const ModelFile& file : call.files.files) {
    DecisionInfo::Model& model = info.models.emplace_back();
    model.path = file.path;
    model.sha256 = Sha256OfFile(file.path);
    const BaseModel base = BaseOf(call, file.path);
    if (!base.revision.empty()) {
      const absl::StatusOr<int> fd = OpenGitFile(base.revision, base.path);
      if (!fd.ok()) continue;  // a new model
      const absl::Cleanup close_file = [fd = *fd] { close(fd); };
      model.base = DecidedFile{absl::StrCat(base.revision, ":", base.path), Sha256OfOpenFile(*fd)};
    } else if (!base.path.empty() && Exists(base.path)) {
      model.base = DecidedFile{base.path, Sha256OfFile(base.path)};
    }
  }
  return info;
}

// `format`: one of CheckLine::FormatNames().
std::string RenderCheck(const CheckReport& report, absl::string_view format,
                        const TableStyle& style) {
  for (const CiFormat& ci : kCiFormats) {
    if (ci.name == format) return ci.write(report);
  }
  for (const FormatRow& row : Formats()) {
    if (row.name == format) return Render(report, row.format, style);
  }
  return Render(report, Format::kTable, style);
}

// The format that --format or the file name of -o gives.
absl::StatusOr<std::string> FormatOf(const OutputArguments& output) {
  for (const CiFormat& ci : kCiFormats) {
    if (ci.name == output.format) return output.format;
  }
  ASSIGN_OR_RETURN(const Format format, output.ParseFormat());
  return std::string(RowOf(format).name);
}

// --output FORMAT=FILE.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseOutputs(
    const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> outputs;
  const std::vector<std::string> names = CheckLine::FormatNames();
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string format = word.substr(0, equals);
    const bool known = std::find(names.begin(), names.end(), format) != names.end();
    if (!known || equals == std::string::npos || equals + 1 == word.size()) {
      return settings::BadValue(
          "output", word,
          absl::StrCat("it should be FORMAT=FILE",
                       known ? "" : absl::StrCat(", with one of ", absl::StrJoin(names, ", ")),
                       known ? "" : DidYouMean(format, names)));
    }
    outputs.emplace_back(format, word.substr(equals + 1));
  }
  return outputs;
}

// Writes the results to every place that the call names.
absl::Status WriteResults(const CheckCall& call, const BudgetFiles& budgets, const Review& review,
                          const CheckReport& report, const std::vector<std::string>& inputs) {
  const CheckLine& args = call.args;
  const auto write_review = [&] {
    return call.review ? WriteOutput(ToComment(review), args.review.file, inputs)
                       : absl::OkStatus();
  };
  if (args.review.no_budgets) return write_review();
  if (!args.decision.empty()) {
    RETURN_IF_ERROR(
        WriteOutput(ToDecision(report, DescribeDecision(call, budgets)), args.decision, inputs));
  }
  ASSIGN_OR_RETURN(const std::string format, FormatOf(args.output));
  ASSIGN_OR_RETURN(const auto outputs, ParseOutputs(args.outputs));
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  for (const auto& [name, file] : outputs) {
    RETURN_IF_ERROR(WriteOutput(RenderCheck(report, name, {}), file, inputs));
  }
  if (args.summary) RETURN_IF_ERROR(AppendToStepSummary(ToMarkdown(report), inputs));
  RETURN_IF_ERROR(WriteOutput(RenderCheck(report, format, style), args.output.file, inputs));
  if (format != "table") {
    TellPositions(report.head);
    for (const ModelInfo& model : report.models) TellPositions(model);
  }
  return write_review();  // last, because its readers may expect the other files
}

// Which limits --update raised: both reports have the same rules in the same order.
void TellRaised(const CheckReport& before, const CheckReport& after) {
  constexpr size_t kMost = 20;
  size_t raised = 0;
  for (size_t i = 0; i < std::min(before.judgements.size(), after.judgements.size()); ++i) {
    const Judgement &old = before.judgements[i], &now = after.judgements[i];
    if (old.rule != now.rule || old.limit == now.limit || ++raised > kMost) continue;
    WriteError(absl::StrCat(now.model.empty() ? "" : absl::StrCat(Escaped(now.model), ": "),
                            "raised ", Escaped(now.rule), " from ", Escaped(old.limit), " to ",
                            Escaped(now.limit)));
  }
  if (raised > kMost) WriteError(absl::StrCat("raised ", raised - kMost, " more limits"));
}

// Raises the broken limits, each in its own file.
absl::Status UpdateBudgets(const BudgetSources& sources, const Review& review,
                           const std::vector<std::string>& inputs, BudgetFiles* budgets) {
  for (size_t i = 0; i < budgets->files().size(); ++i) {
    const BudgetFile& file = budgets->files()[i];
    CheckReport report;
    for (size_t m = 0; m < review.models.size(); ++m) {
      if (review.models[m].is_gone || &budgets->Of(m) != &file) continue;
      RETURN_IF_ERROR(AddReport(review.models[m].check, &report));
    }
    if (report.passed()) continue;
    if (file.path.empty()) {
      return absl::InvalidArgumentError("--update: limits of --max are in no file");
    }
    for (const std::string& line : LeftBudgets(file.budgets, report)) WriteError(Escaped(line));
    RETURN_IF_ERROR(WriteOutput(RaisedBudgets(file.text, file.budgets, report), file.path, inputs));
    RETURN_IF_ERROR(budgets->Reread(sources, i));
  }
  return absl::OkStatus();
}

// An error if the call asks of a pipeline what only models have.
absl::Status RequirePipelineCall(const CheckLine& args, const ModelFiles& files) {
  const auto pipeline =
      absl::c_find_if(files.files, [](const ModelFile& file) { return IsOnePipeline(file.path); });
  if (pipeline == files.files.end()) return absl::OkStatus();
  RETURN_IF_ERROR(settings::RequirePipelineSizes(args.sizes));
  const std::pair<const char*, bool> others[] = {
      {"--backward is", args.training.backward != settings::TrainingArguments().backward},
      {"--step-time and its like are", args.rate.given()},
      {"--profile is", !args.profile.empty()}};
  for (const auto& [name, is_given] : others) {
    if (!is_given) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(pipeline->path), ": a pipeline; ", name,
        " for models. --max and --budgets limit a pipeline, --against and --git compare it",
        IsFolder(pipeline->path) ? "; DIR/**/*.onnx names the models in a folder" : ""));
  }
  return absl::OkStatus();
}

// The file that --init writes: that of --budgets or -o, else one beside the models.
absl::StatusOr<std::string> InitialFile(const CheckLine& args) {
  const bool is_named = args.output.file != OutputArguments().file;
  if (!args.budgets.empty() && is_named) {
    return absl::InvalidArgumentError("--budgets and -o both name the file: give one of them");
  }
  if (is_named) return args.output.file;
  return args.budgets.empty() ? FolderOfModels(args.models) + kBudgetsFile : args.budgets;
}

// " (a link leads to /data/onnxflops.toml)" if a written file is elsewhere than its path says.
std::string LinkedPlace(const std::string& path) {
  std::error_code fault;
  const std::filesystem::path named = std::filesystem::absolute(path, fault).lexically_normal();
  if (fault) return "";
  const std::filesystem::path real = std::filesystem::canonical(path, fault);
  if (fault || real == named || !std::filesystem::is_regular_file(real, fault)) return "";
  return absl::StrCat(" (a link leads to ", Escaped(real.generic_string()), ")");
}

absl::StatusOr<ExitCode> RunInit(const CheckLine& args, const CountOptions& options) {
  if (!args.limits.empty()) {
    return absl::InvalidArgumentError("--init writes what the model costs now: not with --max");
  }
  ASSIGN_OR_RETURN(const std::string path, InitialFile(args));
  if (path != "-" && Exists(path)) {
    return absl::AlreadyExistsError(
        absl::StrCat(Quoted(path), " exists: --update raises its limits"));
  }
  ASSIGN_OR_RETURN(const ModelFiles models, FindModelsAndPipelines(args.models));
  RETURN_IF_ERROR(RequirePipelineCall(args, models));
  std::vector<Report> reports;
  std::vector<InitialPipeline> pipelines;
  std::set<std::string> paths;
  for (const ModelFile& file : models.files) {
    RETURN_IF_ERROR(file.fault);
    if (!paths.insert(file.path).second) continue;
    const bool is_pipeline = IsOnePipeline(file.path);
    const bool needs_name = !models.one_file || is_pipeline;
    if (needs_name && file.path.find_first_of("*?") != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(file.path),
                       ": a section of budgets names models by a pattern, so its name may not "
                       "have * or ?"));
    }
    if (is_pipeline) {
      ASSIGN_OR_RETURN(const Pipeline pipeline,
                       settings::ReadPipeline(file.path, options.bindings));
      ASSIGN_OR_RETURN(PipelineReport report, CountPipeline(pipeline, options));
      pipelines.push_back({std::move(report), options.bindings});
      continue;
    }
    ASSIGN_OR_RETURN(const Model model, LoadFor(file.path, options));
    ASSIGN_OR_RETURN(Report report, CountInitial(model, options));
    reports.push_back(std::move(report));
  }
  std::vector<std::string> inputs = models.paths();
  inputs.push_back(args.sizes.rules.file);
  const std::string text = InitialBudgets(reports, FolderOfModels(args.models), pipelines);
  RETURN_IF_ERROR(WriteOutput(text, path, inputs));
  if (path == "-") return kFine;
  ASSIGN_OR_RETURN(const Budgets written, LoadBudgets(text, path));
  WriteError(absl::StrCat("wrote ", Escaped(path), LinkedPlace(path), ": ",
                          Plural(static_cast<int64_t>(written.rules.size()), "rule"), ", ",
                          paths.size() == 1 ? absl::StrCat("for ", Escaped(models.files[0].path))
                                            : Plural(static_cast<int64_t>(paths.size()), "model")));
  return kFine;
}

// A model that is named twice is one model.
void KeepFirstOfEach(ModelFiles* files) {
  std::set<std::string> paths;
  std::erase_if(files->files, [&](const ModelFile& file) {
    return !paths.insert(NormalPath(BudgetName(file.path))).second;
  });
}

// Reads --review and its options.
absl::Status ReadReview(const CheckLine& args, CheckCall* call) {
  const ReviewArguments& review = args.review;
  ASSIGN_OR_RETURN(call->moves, review.Moves(call->files.paths(), args.git));
  const bool only_records = review.no_budgets && !args.record.file.empty();
  const bool needs_review = (review.no_budgets && !only_records) || !review.threshold.empty();
  if (review.file.empty() && needs_review) {
    return absl::InvalidArgumentError(
        "--no-budgets is for --review and --record, --threshold for --review");
  }
  const bool has_verdicts = args.update || args.summary || !args.limits.empty() ||
                            !args.budgets.empty() || !args.outputs.empty() ||
                            !args.decision.empty();
  if (review.no_budgets && has_verdicts) {
    return absl::InvalidArgumentError(
        "--no-budgets: there are no verdicts for --budgets, --max, --update, --output, --summary "
        "and --decision");
  }
  if (review.file.empty()) return absl::OkStatus();
  if (args.git.empty() && args.against.empty()) {
    return absl::InvalidArgumentError("--review needs a base: --git REV, or --against FOLDER");
  }
  ASSIGN_OR_RETURN(call->review, review.View());
  FindRenamed(call->files.paths(), args.git, call->run.count, &call->moves);
  return absl::OkStatus();
}

// Reads the options that are not about budgets.
absl::Status ReadCall(CheckCall* call) {
  const CheckLine& args = call->args;
  RETURN_IF_ERROR(args.Measure(&call->run));
  ASSIGN_OR_RETURN(call->missing_is_fine, args.base_missing.Parse());
  ASSIGN_OR_RETURN(call->files, FindModelsAndPipelines(args.models));
  KeepFirstOfEach(&call->files);
  RETURN_IF_ERROR(RequirePipelineCall(args, call->files));
  RETURN_IF_ERROR(ReadReview(args, call));
  if (!call->files.one_file && !args.against.empty() && !IsFolder(args.against)) {
    return settings::BadValue("against", args.against,
                              "of several models it is a folder with their bases");
  }
  if (call->review) call->files.one_file = false;  // an error is a part of the review
  ASSIGN_OR_RETURN(call->threads, args.jobs.Parse());
  call->run.one_model = call->files.one_file;
  return absl::OkStatus();
}

// Checks that every output can be written, before anything is counted.
absl::Status RequireOutputs(const CheckLine& args) {
  RETURN_IF_ERROR(FormatOf(args.output).status());
  ASSIGN_OR_RETURN(const auto outputs, ParseOutputs(args.outputs));
  std::vector<std::string> written = {args.decision, args.review.file, args.output.file};
  for (const auto& [format, file] : outputs) written.push_back(file);
  if (args.summary) written.push_back(StepSummaryFile());
  RETURN_IF_ERROR(RequireDistinct(written));
  return args.output.Style().status();
}

// The models and what they are compared with: an output may not be one of them.
std::vector<std::string> InputsOf(const CheckCall& call) {
  std::vector<std::string> inputs = call.files.inputs();
  for (const ModelFile& file : call.files.files) {
    const BaseModel base = BaseOf(call, file.path);
    if (base.path.empty() || !base.revision.empty()) continue;
    inputs.push_back(base.path);
    if (!IsOnePipeline(file.path) && !IsOnePipeline(base.path)) continue;
    for (std::string& own : settings::FilesOfPipeline(base.path)) inputs.push_back(std::move(own));
  }
  return inputs;
}

absl::StatusOr<ExitCode> RunCheck(const CheckLine& args) {
  ASSIGN_OR_RETURN(const CountOptions options, args.Counted());
  RETURN_IF_ERROR(RequireOutputs(args));
  RETURN_IF_ERROR(args.record.Require(args.init));
  if (!args.against.empty() && !args.git.empty()) {
    return absl::InvalidArgumentError("--against and --git both name a base: give one of them");
  }
  if (args.init) {
    return RunInit(args, options);
  }
  ASSIGN_OR_RETURN(const std::vector<Device> devices, args.roofline.devices_file.Parse());
  CheckCall call = {args, {options, devices}};
  RETURN_IF_ERROR(ReadCall(&call));
  const BudgetSources sources = {args.budgets, args.limits,
                                 !args.against.empty() || !args.git.empty(), devices};
  BudgetFiles budgets;
  if (!args.review.no_budgets) {
    // A renamed model keeps the budgets of its old path.
    std::vector<std::string> paths = call.files.paths();
    for (std::string& path : paths) {
      const auto old = call.moves.renamed.find(path);
      if (old != call.moves.renamed.end()) path = old->second;
    }
    ASSIGN_OR_RETURN(budgets, BudgetFiles::Read(sources, paths));
  }
  std::vector<const Budgets*> read;
  for (const BudgetFile& file : budgets.files()) read.push_back(&file.budgets);
  RETURN_IF_ERROR(RequireMeasuresUsed(read, call.run));
  ASSIGN_OR_RETURN(Review review, JudgeAll(call, budgets));
  ASSIGN_OR_RETURN(CheckReport report, Verdicts(call, budgets, review));
  std::vector<std::string> inputs = InputsOf(call);
  inputs.insert(inputs.end(), {args.against, args.sizes.rules.file, args.roofline.devices_file.file,
                               args.profile, args.optimized});
  if (args.update && !report.passed()) {
    const CheckReport before = report;
    RETURN_IF_ERROR(UpdateBudgets(sources, review, inputs, &budgets));
    ASSIGN_OR_RETURN(review, JudgeAll(call, budgets));
    ASSIGN_OR_RETURN(report, Verdicts(call, budgets, review));
    TellRaised(before, report);
  }
  for (const BudgetFile& file : budgets.files()) inputs.push_back(file.path);
  RETURN_IF_ERROR(WriteResults(call, budgets, review, report, inputs));
  RETURN_IF_ERROR(args.record.Append(call.files, options, budgets, report));
  if (report.Count(Verdict::kError) > 0) return kTrouble;
  return report.passed() ? kFine : kFailed;
}

}  // namespace

Command CheckCommand() {
  return CommandOf<CheckLine, kCommandCheckHelp, RunCheck>(
      "check", "MODEL", "whether a model is within its budgets, for CI");
}

}  // namespace onnxflops::tools
