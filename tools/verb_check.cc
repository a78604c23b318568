// onnxflops check: whether a model is within its budgets.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/api/diff.h"
#include "src/api/load.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/check/budgets.h"
#include "src/check/check_writers.h"
#include "src/check/ci_formats.h"
#include "src/check/edit_budgets.h"
#include "src/check/judge.h"
#include "tools/base_model.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/verbs.h"

namespace onnxflops::tools {
namespace {

constexpr char kBudgetsFile[] = "onnxflops.toml";

constexpr VerbHelp kVerbCheckHelp = {
    "onnxflops check MODEL [options]",
    R"(Holds a model to budgets: limits on any quantity of the model or of its modules,
absolute or relative to a base, at given sizes or at all sizes of a range; on
operators, domains and opsets. The file is --budgets FILE, else onnxflops.toml
beside the model, else onnxflops.toml in the working directory. The README
describes it. A figure that is only a lower bound, or that depends on an open
size, is "not proven" and does not pass.
)",
    R"(  A file of budgets from what the model costs today, with 1 % margin:
    onnxflops check model.onnx --init
  Whether the model is within them:
    onnxflops check model.onnx
  Budgets that are relative to what is released:
    onnxflops check model.onnx --against released.onnx
  A higher cost is wanted: raise the limits, keep the comments:
    onnxflops check model.onnx --update
  For the screens of a CI system:
    onnxflops check model.onnx --output junit=budgets.xml --format github

Exit codes: 0 passed, 1 a budget failed or is not proven, 2 error.
)"};

struct CheckArguments {
  std::vector<std::string> model;
  std::string budgets, against;
  std::vector<std::string> outputs;
  bool init = false, update = false, summary = false;
  SizeArguments sizes;
  CausalArgument causal;
  BaseMissingArgument base_missing;
  OutputArguments output;

  void AddTo(OptionList* list) {
    list->AddPositional("MODEL", &model, 1, 1);
    list->AddValue("--budgets", "FILE", &budgets, "The file of budgets.");
    list->AddValue("--against", "BASE", &against,
                   "What relative budgets compare with: a model, or a report in JSON.");
    base_missing.AddTo(list);
    list->AddFlag("--init", &init, "Write a file of budgets for the model. It must not exist.");
    list->AddFlag("--update", &update,
                  "Raise the limits that the model breaks, in the file. Comments stay.");
    sizes.AddTo(list);
    causal.AddTo(list);
    list->AddValues("--output", "FORMAT=FILE", &outputs,
                    "Write to FILE as well, in any format: junit=budgets.xml.");
    list->AddFlag("--summary", &summary,
                  "Add Markdown to the file that GITHUB_STEP_SUMMARY names, if it is set.");
    output.AddTo(list, FormatNames());
  }

  static std::vector<std::string> FormatNames() {
    std::vector<std::string> names = {"table", "json", "csv", "markdown"};
    for (const CiFormat& format : kCiFormats) names.emplace_back(format.name);
    return names;
  }
};

// "2027-01-31", in UTC.
std::string Today() {
  const time_t now = time(nullptr);
  tm day;
  std::array<char, 16> text;
  if (gmtime_r(&now, &day) == nullptr) return "";
  return std::string(text.data(), strftime(text.data(), text.size(), "%Y-%m-%d", &day));
}

bool HasFile(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Where the file is, or where --init puts it.
absl::StatusOr<std::string> BudgetsPath(const CheckArguments& args) {
  if (!args.budgets.empty()) return args.budgets;
  if (args.init) return std::string(kBudgetsFile);
  const size_t slash = args.model[0].rfind('/');
  const std::string folder = slash == std::string::npos ? "" : args.model[0].substr(0, slash + 1);
  for (const std::string& path : {folder + kBudgetsFile, std::string(kBudgetsFile)}) {
    if (HasFile(path)) return path;
  }
  return absl::NotFoundError(
      absl::StrCat("there is no ", kBudgetsFile, " beside ", Quoted(args.model[0]),
                   " or here: --budgets FILE names one, onnxflops check MODEL --init writes one"));
}

absl::StatusOr<ExitCode> WriteInitial(const CheckArguments& args, const std::string& path,
                                      const Model& model, const CountOptions& options) {
  if (path != "-" && HasFile(path)) {
    return absl::AlreadyExistsError(
        absl::StrCat(Quoted(path), " exists: --update raises its limits"));
  }
  ASSIGN_OR_RETURN(const Report report, Count(model, options));
  RETURN_IF_ERROR(
      WriteOutput(InitialBudgets(report), path, {args.model[0], args.sizes.rules.file}));
  return kFine;
}

absl::StatusOr<Diff> DiffAt(const CheckArguments& args, const Model& model,
                            const CountOptions& options) {
  if (args.against.empty()) return DiffModels(model, options);
  ASSIGN_OR_RETURN(const bool missing_is_fine, args.base_missing.Parse());
  return DiffWithBase(args.against, model, options, missing_is_fine);
}

absl::StatusOr<CheckReport> JudgeAll(const CheckArguments& args, const Budgets& budgets,
                                     const Model& model, const CountOptions& options) {
  CheckReport report;
  report.budgets = budgets.file;
  const std::string today = Today();
  std::vector<const BudgetSizes*> sets;
  for (const BudgetSizes& sizes : budgets.sizes) {
    if (IsForModel(sizes.models, args.model[0])) sets.push_back(&sizes);
  }
  if (sets.empty()) sets.push_back(nullptr);
  for (const BudgetSizes* sizes : sets) {
    CountOptions at = options;
    if (sizes != nullptr) at.bindings.insert(sizes->fixed.begin(), sizes->fixed.end());
    ASSIGN_OR_RETURN(const Diff diff, DiffAt(args, model, at));
    report.has_base = diff.has_base;
    report.base = diff.base;
    report.head = diff.head;
    RETURN_IF_ERROR(Judge(budgets, sizes, diff, today, &report));
  }
  if (report.judgements.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(budgets.file), ": no rule in it is for ", Quoted(args.model[0])));
  }
  return report;
}

// `format`: one of CheckArguments::FormatNames().
std::string RenderCheck(const CheckReport& report, absl::string_view format,
                        const TableStyle& style) {
  for (const CiFormat& ci : kCiFormats) {
    if (ci.name == format) return ci.write(report);
  }
  if (format == "json") return ToJson(report);
  if (format == "csv") return ToCsv(report);
  if (format == "markdown") return ToMarkdown(report);
  return ToTable(report, style);
}

// What --format or the name of -o says.
absl::StatusOr<std::string> FormatOf(const OutputArguments& output) {
  for (const CiFormat& ci : kCiFormats) {
    if (ci.name == output.format) return output.format;
  }
  ASSIGN_OR_RETURN(const Format format, output.ParseFormat());
  switch (format) {
    case Format::kJson:
      return std::string("json");
    case Format::kCsv:
      return std::string("csv");
    case Format::kMarkdown:
      return std::string("markdown");
    case Format::kTable:
    case Format::kText:
    case Format::kJsonLines:
      break;
  }
  return std::string("table");
}

// --output FORMAT=FILE.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseOutputs(
    const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> outputs;
  const std::vector<std::string> names = CheckArguments::FormatNames();
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string format = word.substr(0, equals);
    const bool known = std::find(names.begin(), names.end(), format) != names.end();
    if (!known || equals == std::string::npos || equals + 1 == word.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--output ", Quoted(word), ": it should be FORMAT=FILE",
                       known ? "" : absl::StrCat(", with one of ", absl::StrJoin(names, ", ")),
                       known ? "" : DidYouMean(format, names)));
    }
    outputs.emplace_back(format, word.substr(equals + 1));
  }
  return outputs;
}

absl::StatusOr<Budgets> ReadBudgets(const CheckArguments& args, const std::string& path,
                                    std::string* text) {
  absl::StatusOr<std::string> read = ReadSmallFile(path);
  if (!read.ok()) {
    return absl::Status(read.status().code(),
                        absl::StrCat(Escaped(path), ": ", read.status().message()));
  }
  *text = *std::move(read);
  ASSIGN_OR_RETURN(Budgets budgets, LoadBudgets(*text, path));
  if (budgets.NeedsBase() && args.against.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(path), ": it has a budget that is relative to a base: --against BASE names it"));
  }
  return budgets;
}

}  // namespace

void DescribeCheck(const UseVerb& use) {
  OptionList list;
  CheckArguments args;
  args.AddTo(&list);
  use(kVerbCheckHelp, list);
}

absl::StatusOr<ExitCode> RunCheck(const Arguments& arguments) {
  OptionList list;
  CheckArguments args;
  args.AddTo(&list);
  std::string help;
  ASSIGN_OR_RETURN(const bool run, list.Parse(kVerbCheckHelp, arguments, &help));
  if (!run) {
    RETURN_IF_ERROR(WriteOutput(help, "-", {}));
    return kFine;
  }
  ASSIGN_OR_RETURN(CountOptions options, args.sizes.Parse());
  ASSIGN_OR_RETURN(options.causal, args.causal.Parse());
  ASSIGN_OR_RETURN(const std::string format, FormatOf(args.output));
  ASSIGN_OR_RETURN(const auto outputs, ParseOutputs(args.outputs));
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  ASSIGN_OR_RETURN(const std::string path, BudgetsPath(args));
  if (args.init) {
    ASSIGN_OR_RETURN(const Model model, Load(args.model[0], options.limits));
    return WriteInitial(args, path, model, options);
  }
  std::string text;
  ASSIGN_OR_RETURN(const Budgets budgets, ReadBudgets(args, path, &text));
  ASSIGN_OR_RETURN(const Model model, Load(args.model[0], options.limits));
  ASSIGN_OR_RETURN(CheckReport report, JudgeAll(args, budgets, model, options));
  const std::vector<std::string> inputs = {args.model[0], args.against, args.sizes.rules.file};
  if (args.update && !report.passed()) {
    RETURN_IF_ERROR(WriteOutput(RaisedBudgets(text, budgets, report), path, inputs));
    ASSIGN_OR_RETURN(const Budgets raised, ReadBudgets(args, path, &text));
    ASSIGN_OR_RETURN(report, JudgeAll(args, raised, model, options));
  }
  std::vector<std::string> all_inputs = inputs;
  all_inputs.push_back(path);
  for (const auto& [name, file] : outputs) {
    RETURN_IF_ERROR(WriteOutput(RenderCheck(report, name, {}), file, all_inputs));
  }
  if (args.summary) RETURN_IF_ERROR(AppendToStepSummary(ToMarkdown(report)));
  RETURN_IF_ERROR(WriteOutput(RenderCheck(report, format, style), args.output.file, all_inputs));
  return report.passed() ? kFine : kFailed;
}

}  // namespace onnxflops::tools
