// Functions of the package that are commands of the program: diff, check, mfu, profile, estimate,
// pipeline, audit, history, devices, ops.
//
// How it works. A function takes what onnxflops.load() takes, and the options of the command by
// name. Signatures and help come from the same tables of options.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/api/check.h"
#include "src/api/diff.h"
#include "src/api/estimate.h"
#include "src/api/load.h"
#include "src/api/mfu.h"
#include "src/api/operators.h"
#include "src/api/pipeline.h"
#include "src/api/version.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/check/budgets.h"
#include "src/check/judge.h"
#include "src/devices/device_report.h"
#include "src/load/input_file.h"
#include "src/python/argument_words.h"
#include "src/python/arguments.h"
#include "src/python/convert.h"
#include "src/python/signatures.h"
#include "src/python/types.h"
#include "src/report/read_report.h"
#include "src/settings/audit_arguments.h"
#include "src/settings/check_arguments.h"
#include "src/settings/device_arguments.h"
#include "src/settings/estimate_arguments.h"
#include "src/settings/history_arguments.h"
#include "src/settings/mfu_arguments.h"
#include "src/settings/model_arguments.h"
#include "src/settings/pipeline_arguments.h"
#include "src/settings/profile_arguments.h"
#include "src/settings/size_arguments.h"
#include "src/settings/zoo.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;

template <typename Arguments>
settings::Table OptionsOf(Arguments* args) {
  settings::Table list;
  args->AddTo(&list);
  return list;
}

// The limits that a file and a call give.
absl::StatusOr<Budgets> ReadBudgets(const std::string& path, const std::vector<std::string>& maxima,
                                    bool has_base, const std::vector<Device>& devices) {
  Budgets budgets;
  if (!path.empty()) {
    const absl::StatusOr<std::string> text = ReadTextFile(path, kMaxRulesBytes);
    if (!text.ok()) {
      return absl::Status(text.status().code(),
                          absl::StrCat(Escaped(path), ": ", text.status().message()));
    }
    ASSIGN_OR_RETURN(budgets, LoadBudgets(*text, path));
  }
  for (const std::string& limit : maxima) {
    const absl::Status added = AddLimit(limit, has_base, &budgets);
    if (added.ok()) continue;
    return absl::Status(added.code(), absl::StrCat("max ", Quoted(limit), ": ", added.message()));
  }
  RETURN_IF_ERROR(RequireRules(budgets, devices));
  return budgets;
}

// Runs a check at sizes.
CheckOptions RunOptions(const settings::CheckArguments& args, Bindings sizes) {
  CheckOptions run;
  run.count = Require(args.Counted());
  run.count.bindings = std::move(sizes);
  run.devices = Require(args.roofline.devices_file.Parse());
  Require(args.Measure(&run));
  return run;
}

// One side of a comparison.
struct Side {
  PyModel model;                         // null: it is a report
  std::shared_ptr<const Report> report;  // null: it is a model
  std::optional<PyReport> counted;       // the report with its model

  DiffSide side() const { return report != nullptr ? DiffSide(*report) : DiffSide(*model.model); }
  std::string path() const { return report != nullptr ? report->model.path : (*model.model)->path; }
};

// A report; the JSON of one, as text, as bytes, as a dict or in a file; or what onnxflops.load()
// takes.
Side SideOf(nb::handle source) {
  Side side;
  std::string text, name = "the report";
  if (nb::isinstance<PyReport>(source)) {
    side.counted = nb::cast<PyReport>(source);
    side.report = side.counted->report;
    return side;
  }
  if (nb::isinstance<nb::dict>(source)) {
    text = FromStr(nb::module_::import_("json").attr("dumps")(source), "the report");
    if (!LooksLikeReport(absl::string_view(text).substr(0, kReportPrefix))) text.clear();
  } else if (nb::isinstance<nb::bytes>(source)) {
    const auto bytes = nb::borrow<nb::bytes>(source);
    if (LooksLikeReport({bytes.c_str(), std::min(bytes.size(), kReportPrefix)})) {
      text.assign(bytes.c_str(), bytes.size());
    }
  } else if (nb::isinstance<nb::str>(source) || nb::hasattr(source, "__fspath__")) {
    name = nb::isinstance<nb::str>(source) ? FromStr(source, "a path") : FromPath(source);
    if (LooksLikeReport(absl::string_view(name).substr(0, kReportPrefix))) {
      text = std::exchange(name, "the report");
    } else if (const std::string path = FromPath(source); IsReportFile(path)) {
      ModelOrReport loaded = Require(WithoutGil([&] { return LoadModelOrReport(path, {}); }));
      side.report = std::make_shared<const Report>(*std::move(loaded.report));
      return side;
    }
  }
  if (text.empty()) {
    side.model = ModelOf(source);
  } else {
    side.report =
        std::make_shared<const Report>(Require(WithoutGil([&] { return ReadReport(text, name); })));
  }
  return side;
}

// Refuses options of a count where `function` takes reports, which have been counted.
void RefuseCountOptions(const Given& taken, const settings::Table& allowed,
                        const std::string& function) {
  for (const Given::Option& option : taken.options) {
    const auto is_same = [&](const settings::Row& row) { return ArgumentName(row) == option.name; };
    if (absl::c_any_of(allowed.rows(), is_same)) continue;
    Raise(absl::InvalidArgumentError(absl::StrCat(function, " of a report: ", option.name,
                                                  "= is of a count: count(", option.name,
                                                  "=...) makes such a report")));
  }
}

// The path of a file of stages, or of a folder that an exporter wrote for a pipeline.
std::optional<std::string> PipelinePath(nb::handle source) {
  if (!nb::isinstance<nb::str>(source) && !nb::hasattr(source, "__fspath__")) return std::nullopt;
  const std::string path = FromPath(source);
  if (LooksLikeReport(absl::string_view(path).substr(0, kReportPrefix))) return std::nullopt;
  return settings::IsPipeline(path) ? std::optional(path) : std::nullopt;
}
std::string BasePipelinePath(nb::handle source, const std::string& head) {
  std::optional<std::string> path = PipelinePath(source);
  if (!path) Raise(absl::InvalidArgumentError(head + " is a pipeline, and the other side is none"));
  return *std::move(path);
}

CheckReport CheckPipelineOf(const std::string& path, const std::string& budgets_path,
                            nb::handle against, const settings::CheckArguments& args,
                            const CheckOptions& run) {
  Require(settings::RequirePipelineSizes(args.sizes));
  const bool has_base = !against.is_none();
  const auto reader = [](const std::string& file) {
    return [file](const Bindings& given) { return settings::ReadPipeline(file, given); };
  };
  CheckedPipeline checked = {reader(path), path, has_base, nullptr};
  if (has_base) checked.base = reader(BasePipelinePath(against, path));
  const Budgets budgets = Require(ReadBudgets(budgets_path, args.limits, has_base, run.devices));
  CheckReport report;
  report.budgets = budgets_path;
  AskedSizes asked;
  Require(WithoutGil([&] { return CheckPipeline(checked, budgets, run, &asked, &report); }));
  Require(ReportUnknownSizes(budgets_path, asked));
  return report;
}

CheckReport CheckModelOf(nb::handle source, nb::handle budgets_path, nb::handle against,
                         const nb::kwargs& given) {
  const std::optional<std::string> pipeline = PipelinePath(source);
  Side head = pipeline ? Side() : SideOf(source);
  settings::CheckArguments args, other;
  Given taken = TakeOptions(given, "check()", &args);
  if (head.report != nullptr) {
    settings::Table of_reports;
    other.AddMaxTo(&of_reports);
    other.rate.AddTo(&of_reports);
    other.AddMeasuredTo(&of_reports);
    other.roofline.AddTo(&of_reports);
    RefuseCountOptions(taken, of_reports, "check()");
  }
  const std::string path = budgets_path.is_none() ? "" : FromPath(budgets_path);
  if (path.empty() && args.limits.empty()) {
    Raise(absl::InvalidArgumentError("check(): a file of budgets, or max=, gives the limits"));
  }
  CheckOptions run = RunOptions(args, std::move(taken.sizes));
  if (pipeline) return CheckPipelineOf(*pipeline, path, against, args, run);
  if (head.counted && head.counted->convention.empty()) {
    // Rules may be about what the report does not have, as memory: the same is counted again.
    const Bindings sizes = run.count.bindings;
    const auto on_device = run.count.on_device;
    run.count = *head.counted->options;
    run.count.bindings.insert(sizes.begin(), sizes.end());
    if (on_device) run.count.on_device = on_device;
    head.model = head.counted->of;
    head.report = nullptr;
  }
  const bool has_base = !against.is_none();
  const Budgets budgets = Require(ReadBudgets(path, args.limits, has_base, run.devices));
  Require(RequireMeasuresUsed({&budgets}, run));
  CheckedModel checked = {head.side(), head.path(), has_base};
  std::optional<Side> base;
  if (has_base) checked.base = base.emplace(SideOf(against)).side();
  CheckReport report;
  report.budgets = path;
  AskedSizes asked;
  Require(WithoutGil([&] { return CheckModel(checked, budgets, run, &asked, &report); }));
  Require(ReportUnknownSizes(path, asked));
  return report;
}

MfuReport MfuOfModel(const PyModel& of, const nb::kwargs& given) {
  settings::MfuArguments args;
  Given taken = TakeOptions(given, "mfu()", &args);
  MfuOptions options = Require(args.Parse());
  options.count.bindings = std::move(taken.sizes);
  return Require(WithoutGil([&] { return CountMfu(*of.model, options); }));
}

// Takes the sizes and the backward pass from the report's own count.
MfuReport MfuOfReport(const PyReport& of, const nb::kwargs& given) {
  settings::MfuArguments args;
  settings::Table list, all;
  args.AddRateTo(&list);
  settings::MfuArguments other;
  other.AddTo(&all);
  nb::kwargs rate = nb::steal<nb::kwargs>(nb::dict().release());
  for (const auto& [key, value] : given) {
    if (IsGiven(all, key, value)) rate[key] = value;
  }
  SetOptions(rate, list, "mfu() of a report, which has its sizes and options", Others::kNone);
  MfuOptions options = Require(args.Parse());
  options.count = *of.options;
  options.count.node_rows = false;
  if (options.convention.empty()) options.convention = of.convention;
  return Require(WithoutGil([&] { return CountMfu(*of.of.model, options); }));
}

MfuReport MfuOf(nb::handle model, const nb::kwargs& given) {
  if (nb::isinstance<PyReport>(model)) return MfuOfReport(nb::cast<PyReport>(model), given);
  return MfuOfModel(ModelOf(model), given);
}

Diff DiffOf(nb::handle base_source, nb::handle head_source, const nb::kwargs& given) {
  settings::DiffArguments args;
  Given taken = TakeOptions(given, "diff()", &args);
  if (const std::optional<std::string> head_path = PipelinePath(head_source)) {
    Require(settings::RequirePipelineSizes(args.sizes));
    const std::string base_path = BasePipelinePath(base_source, *head_path);
    CountOptions options = Require(args.Options());
    options.bindings = std::move(taken.sizes);
    return Require(WithoutGil([&]() -> absl::StatusOr<Diff> {
      ASSIGN_OR_RETURN(const Pipeline old, settings::ReadPipeline(base_path, options.bindings));
      ASSIGN_OR_RETURN(const Pipeline now, settings::ReadPipeline(*head_path, options.bindings));
      ASSIGN_OR_RETURN(const PipelineDiff diff, DiffPipelines(old, now, options));
      return diff.figures;
    }));
  }
  const Side base = SideOf(base_source), head = SideOf(head_source);
  if (base.report != nullptr && head.report != nullptr) RefuseCountOptions(taken, {}, "diff()");
  CountOptions options = Require(args.Options());
  options.bindings = std::move(taken.sizes);
  return Require(WithoutGil([&] { return DiffModels(base.side(), head.side(), options); }));
}

ProfileReport ProfileOf(nb::handle source, nb::handle profile, const nb::kwargs& given) {
  const PyModel of = ModelOf(source);
  settings::ProfileArguments args;
  Given taken = TakeOptions(given, "profile()", &args);
  ProfileOptions options = Require(args.Options());
  options.count.bindings = std::move(taken.sizes);
  const std::string file = FromPath(profile);
  return Require(WithoutGil([&] { return args.Join(*of.model, file, options); }));
}

EstimateReport EstimateOf(nb::handle sources, const nb::kwargs& given) {
  std::vector<PyModel> models;
  if (PyList_Check(sources.ptr()) || PyTuple_Check(sources.ptr())) {
    for (const nb::handle source : nb::borrow<nb::sequence>(sources)) {
      models.push_back(ModelOf(source));
    }
  } else {
    models.push_back(ModelOf(sources));
  }
  if (models.empty()) Raise(absl::InvalidArgumentError("estimate(): at least one model is needed"));
  settings::EstimateArguments args;
  Given taken = TakeOptions(given, "estimate()", &args);
  CountOptions options = Require(args.Options());
  options.bindings = std::move(taken.sizes);
  const auto load = [&](const CountOptions&) -> absl::StatusOr<Model> {
    if (models.size() == 1) return *models[0].model;
    return absl::InvalidArgumentError(
        WithSettings("{calibrate} is of the one model that was measured"));
  };
  return Require(WithoutGil([&]() -> absl::StatusOr<EstimateReport> {
    EstimateReport report;
    ASSIGN_OR_RETURN(report.calibration, args.FindCalibration(load, &options));
    for (const PyModel& of : models) {
      ASSIGN_OR_RETURN(CompareReport one, EstimateModel(*of.model, options));
      report.models.push_back(std::move(one));
    }
    return report;
  }));
}

PyAudit AuditOf(nb::handle file, const nb::kwargs& given) {
  settings::AuditArguments args;
  SetOptions(given, OptionsOf(&args), "audit()", Others::kNone);
  const CountOptions options = Require(args.Options());
  const std::string path = FromPath(file);
  return Require(WithoutGil([&]() -> absl::StatusOr<PyAudit> {
    ASSIGN_OR_RETURN(const std::vector<settings::Published> figures, args.ReadFigures({path}));
    PyAudit audit = {std::vector<AuditRow>(figures.size())};
    const std::vector<std::vector<size_t>> groups = settings::GroupAudits(figures);
    platform::RunOnThreads(
        groups.size(), std::min(platform::AvailableProcessors(), kMaxThreads),
        [&](size_t i) { settings::AuditGroup(figures, groups[i], options, &audit.rows); });
    if (!args.zoo.empty()) settings::LeaveOutOtherSizes(&audit.rows);
    return audit;
  }));
}

HistoryReport HistoryOf(nb::handle file, const nb::kwargs& given) {
  settings::HistoryArguments args;
  SetOptions(given, OptionsOf(&args), "history()", Others::kNone);
  const std::string path = FromPath(file);
  return Require(WithoutGil([&] { return args.Read(path); }));
}

PipelineReport PipelineOf(nb::handle file, const nb::kwargs& given) {
  settings::PipelineArguments args;
  Given taken = TakeOptions(given, "pipeline()", &args);
  std::vector<settings::DimSizes> sweep;  // of `dims`, which Python does not set
  CountOptions options = Require(args.Options(&sweep));
  options.bindings = std::move(taken.sizes);
  const std::string path = FromPath(file);
  return Require(WithoutGil([&]() -> absl::StatusOr<PipelineReport> {
    ASSIGN_OR_RETURN(const Pipeline pipeline, settings::ReadPipeline(path, options.bindings));
    return CountPipeline(pipeline, options);
  }));
}

nb::object Parsed(const std::string& json, const char* key) {
  return nb::module_::import_("json").attr("loads")(ToStr(json))[key];
}

nb::object DevicesOf(const nb::args& names, const nb::object& devices_file) {
  settings::DevicesFileArgument file;
  if (!devices_file.is_none()) file.file = FromPath(devices_file);
  const std::vector<Device> own = Require(file.Parse());
  std::vector<Device> devices;
  for (const nb::handle name : names) {
    devices.push_back(Require(FindDevice(FromStr(name, "devices(): a name"), own)));
  }
  if (names.size() == 0) {
    devices = own;
    devices.insert(devices.end(), AllDevices().begin(), AllDevices().end());
  }
  return Parsed(DevicesToJson(devices), "devices");
}

nb::object OpsOf(const nb::object& name, const nb::object& rules_file) {
  settings::RulesArgument file;
  if (!rules_file.is_none()) file.file = FromPath(rules_file);
  const Rules rules = Require(file.Parse());
  if (name.is_none()) return Parsed(ToJson(Operators(rules)), "operators");
  const std::string text = FromStr(name, "ops(): 'name'");
  return Parsed(ToJson(Require(FindOperators(text, rules))), "operators");
}

// FLOP/s of a device in a number type, for code that runs on every step.
double PeakOf(const std::string& device, const std::string& dtype) {
  const Device found = Require(FindDevice(device));
  const PeakFigure peak = Require(FindPeak(found, Require(ParsePrecision(dtype))));
  constexpr double kGiga = 1e9;
  return static_cast<double>(peak.giga) * kGiga;
}

template <typename Function, typename... Extra>
void DefineShown(nb::module_& m, const char* name, const Function& function, const Shown& shown,
                 const Extra&... extra) {
  m.def(name, function, extra..., nb::arg("options"), nb::sig(shown.signature.c_str()),
        shown.help.c_str());
}

void DefineReviews(nb::module_& m) {
  DefineShown(m, "diff", &DiffOf,
              ShowFunctionOf("def diff(base: Source | Report, head: Source | Report", "Diff",
                             "What changed from one model to another: diff(\"old.onnx\", "
                             "\"new.onnx\", batch=8).\n\nBoth may be pipelines, and each may be a "
                             "report, or the JSON of one: "
                             "diff(m.count(at_image=224), m.count(at_image=336)).",
                             settings::DiffArguments()),
              nb::arg("base"), nb::arg("head"));
  DefineShown(
      m, "check", &CheckModelOf,
      ShowFunctionOf("def check(model: Source | Report, budgets: str | PathLike[str] | None = "
                     "None, against: Source | Report | None = None",
                     "Check",
                     "Holds a model to a file of budgets, to limits, or both: check(m, "
                     "max={\"flops\": \"40 GFLOP\"}). A pipeline is a model here, "
                     "too.\n\n`against` is a model or a report, for limits "
                     "that are relative. Each may be the JSON of a report.\nThe result is true if "
                     "all passed.",
                     settings::CheckArguments()),
      nb::arg("model"), nb::arg("budgets").none() = nb::none(),
      nb::arg("against").none() = nb::none());
  constexpr char kMfuHelp[] =
      "Utilisation of devices by a training step: mfu(report, step_time=0.41, devices=8, "
      "device=\"h100-sxm\", dtype=\"bf16\").\n"
      "A report has its sizes and its backward pass already.";
  DefineShown(m, "mfu", &MfuOfReport,
              ShowFunctionOf("def mfu(report: Report", "Mfu", kMfuHelp, settings::MfuArguments()),
              nb::arg("report"));
  DefineShown(
      m, "mfu", &MfuOf,
      ShowFunctionOf("def mfu(model: Source | Report", "Mfu", kMfuHelp, settings::MfuArguments()),
      nb::arg("model"));
}

void DefineMeasures(nb::module_& m) {
  DefineShown(m, "profile", &ProfileOf,
              ShowFunctionOf("def profile(model: Source, profile: str | PathLike[str]", "Profile",
                             "Where the time of a run went: the file of a runtime's profiler "
                             "(ONNX Runtime, TensorRT, OpenVINO) joined with the model.",
                             settings::ProfileArguments()),
              nb::arg("model"), nb::arg("profile"));
  DefineShown(m, "estimate", &EstimateOf,
              ShowFunctionOf("def estimate(models: Source | Sequence[Source]", "Estimate",
                             "Our count beside rules of thumb (6 N and others) and measured "
                             "FLOPs. Several models are a row each.",
                             settings::EstimateArguments()),
              nb::arg("models"));
  DefineShown(m, "pipeline", &PipelineOf,
              ShowFunctionOf("def pipeline(file: str | PathLike[str]", "Pipeline",
                             "What one answer costs over several models, from a file of stages or "
                             "the folder of an exporter: pipeline(\"sd15/\", steps=25).",
                             settings::PipelineArguments()),
              nb::arg("file"));
  settings::AuditArguments args;
  DefineShown(m, "audit", &AuditOf,
              ShowFunction("def audit(file: str | PathLike[str]", "Audit",
                           "Which convention gives each published figure of a CSV file with the "
                           "columns name, model, figure; or of a model of a zoo.",
                           OptionsOf(&args), ""),
              nb::arg("file"));
  settings::HistoryArguments history;
  DefineShown(m, "history", &HistoryOf,
              ShowFunction("def history(file: str | PathLike[str]", "History",
                           "What models cost over commits, from the lines that a check of the "
                           "program recorded: history(\"history.jsonl\", model=\"clip*\").",
                           OptionsOf(&history), ""),
              nb::arg("file"));
}

}  // namespace

void DefineCommands(nb::module_& m) {
  DefineReviews(m);
  DefineMeasures(m);
  m.def("devices", &DevicesOf, nb::arg("names"), nb::kw_only(),
        nb::arg("devices_file").none() = nb::none(),
        nb::sig("def devices(*names: str, devices_file: str | PathLike[str] | None = None) -> "
                "list[dict[str, Any]]"),
        "Devices with their peaks, memory and sources: all of them, or those that are named.");
  m.def("ops", &OpsOf, nb::arg("name").none() = nb::none(), nb::kw_only(),
        nb::arg("rules").none() = nb::none(),
        nb::sig("def ops(name: str | None = None, *, rules: str | PathLike[str] | None = None) -> "
                "list[dict[str, Any]]"),
        "Operators with the formulas of their cost: all of them, or those of a name, \"Conv\", or "
        "a pattern, \"QLinear*\".");
  m.def("peak_flops_per_second", &PeakOf, nb::arg("device"), nb::arg("dtype"),
        "What a device can do, by its data sheet: peak_flops_per_second(\"h100-sxm\", \"bf16\").");
  m.attr("VERSION") = ONNXFLOPS_VERSION;
}

}  // namespace onnxflops::python
