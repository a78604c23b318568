// onnxflops.Model, how one is loaded, and what is asked of it.
//
// How it works. Keyword arguments of Python are read by the same options as the command line, under
// the same names, so that both accept the same and give the same errors; what is no option is the
// size of a dimension. Everything that takes time runs without Python's lock. Counts without
// options share the formulas of the model: the first count() makes them, later calls take them.
// Models may come from a path, an open file or bytes; "{" as the first sign tells a configuration
// from a model.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/api/check.h"
#include "src/api/diff.h"
#include "src/api/load.h"
#include "src/api/mfu.h"
#include "src/api/version.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/base/utc_time.h"
#include "src/check/budgets.h"
#include "src/check/judge.h"
#include "src/family/family.h"
#include "src/load/input_file.h"
#include "src/load/load.h"
#include "src/profile/profile_file.h"
#include "src/python/arguments.h"
#include "src/python/convert.h"
#include "src/python/types.h"
#include "tools/cli/count_arguments.h"
#include "tools/cli/mfu_arguments.h"
#include "tools/cli/options.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;

PyModel Shared(absl::StatusOr<Model> model) {
  return {std::make_shared<const Model>(Require(std::move(model)))};
}

PyModel LoadPath(nb::handle path) {
  const std::string text = FromPath(path);
  return Shared(WithoutGil([&] { return Load(text); }));
}

// An open file that may have holes where weights are. `name` decides the form.
PyModel LoadFd(int fd, const std::string& name) {
  return Shared(WithoutGil([&] { return LoadOpen(fd, name, {}); }));
}

// Bytes in memory: a model, or a configuration in JSON.
PyModel LoadBytes(nb::bytes bytes, const std::string& name) {
  const absl::string_view view(bytes.c_str(), bytes.size());
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(view);
  const bool is_json = !text.empty() && text[0] == '{';
  return Shared(WithoutGil([&] {
    return is_json ? LoadConfig(std::string(view), name, std::nullopt) : LoadFromBytes(view, name);
  }));
}

PyReport CountModel(const PyModel& of, const nb::kwargs& given) {
  tools::CountArguments args;
  Given taken = TakeOptions(given, "count()", &args);
  const bool is_open = taken.sizes.empty();
  std::vector<tools::DimSizes> sweep;
  CountOptions options = Require(args.Options(&sweep));
  options.bindings = std::move(taken.sizes);
  const ViewOptions view = Require(args.view.Parse(tools::Format::kJson));
  options.node_rows = view.by == GroupBy::kNode;
  PyReport made = {nullptr, of.model, std::make_shared<const CountOptions>(std::move(options)),
                   args.convention, taken.has_options ? std::make_shared<Formulas>() : of.formulas};
  made.report = Require(WithoutGil([&]() -> Formulas::Counted {
    if (is_open && !taken.has_options) return made.Open();
    ASSIGN_OR_RETURN(Report report, made.Count(*made.options));
    return std::make_shared<const Report>(std::move(report));
  }));
  return made;
}

// --dim, --input and the like, for functions that return no report.
CountOptions SizesOf(const nb::kwargs& given, const char* function, bool causal, bool upper,
                     bool compares = false) {
  tools::SizeArguments args;
  tools::CausalArgument causal_argument;
  tools::UpperArgument upper_argument;
  tools::NoGradArgument no_grad;
  tools::OptionList list;
  args.AddTo(&list);
  if (causal) causal_argument.AddTo(&list);
  if (upper) upper_argument.AddTo(&list);
  if (compares) no_grad.AddTo(&list);
  Bindings sizes;
  SetOptions(given, list, function, &sizes);
  CountOptions options = Require(args.Parse());
  options.bindings = std::move(sizes);
  options.causal = Require(causal_argument.Parse());
  options.upper_bounds = upper_argument.given;
  options.no_grad = no_grad.given;
  return options;
}

CompareReport Compare(const PyModel& of, nb::handle with, const nb::kwargs& given) {
  CompareRequest request;
  if (nb::isinstance<nb::str>(with)) {
    request.with.push_back(FromStr(with, "compare(): 'with'"));
  } else {
    for (const nb::handle name : with) {
      request.with.push_back(FromStr(name, "compare(): an item of 'with'"));
    }
  }
  const CountOptions options = SizesOf(given, "compare()", /*causal=*/false, /*upper=*/true,
                                       /*compares=*/true);
  return Require(WithoutGil([&] { return CompareTools(*of.model, options, request); }));
}

Explanation ExplainNode(const PyModel& of, const std::string& node, const nb::kwargs& given) {
  const CountOptions options = SizesOf(given, "explain()", /*causal=*/true, /*upper=*/true);
  return Require(WithoutGil([&] { return Explain(*of.model, options, node); }));
}

Diff DiffOf(const PyModel& base, const PyModel& head, const nb::kwargs& given) {
  CountOptions options = SizesOf(given, "diff()", /*causal=*/true, /*upper=*/false);
  options.activation_peak = true;  // as the program has it
  return Require(WithoutGil([&] { return DiffModels(*base.model, *head.model, options); }));
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

// Options of `onnxflops check` alone.
struct LimitArguments {
  std::vector<std::string> maxima;
  std::string profile, optimized;

  void AddTo(tools::OptionList* list) {
    list->AddValues("--max", "", &maxima, "");
    list->AddValue("--profile", "", &profile, "");
    list->AddValue("--optimized", "", &optimized, "");
  }
};

CheckReport CheckLoaded(const PyModel& of, nb::handle budgets_path, nb::handle against,
                        const nb::kwargs& given) {
  LimitArguments limits;
  tools::SizeArguments size_args;
  tools::CausalArgument causal;
  tools::RateArguments rate;
  tools::RooflineArguments roofline;
  Given taken = TakeOptions(given, "check()", &limits, &size_args, &causal, &rate, &roofline);
  CountOptions options = Require(size_args.Parse());
  options.bindings = std::move(taken.sizes);
  options.causal = Require(causal.Parse());
  if (!roofline.device.empty() || !roofline.dtype.empty()) {
    options.on_device = Require(roofline.Parse());
  }
  const std::vector<Device> devices = Require(roofline.devices_file.Parse());
  const std::string path = budgets_path.is_none() ? "" : FromPath(budgets_path);
  const std::string base_path = against.is_none() ? "" : FromPath(against);
  if (path.empty() && limits.maxima.empty()) {
    Raise(absl::InvalidArgumentError("check(): a file of budgets, or max=, gives the limits"));
  }
  const Budgets budgets = Require(ReadBudgets(path, limits.maxima, !base_path.empty(), devices));
  CheckOptions run = {options, devices};
  StepRate step;
  Require(rate.Parse(&step, &run.num_devices));
  if (rate.given()) run.rate = step;
  if (!limits.profile.empty()) run.profile = ReadProfileFile(limits.profile);
  if (!limits.optimized.empty()) run.optimized = LoadFor(limits.optimized, options);
  run.today = TimeInUtc(kDayFormat);
  CheckedModel checked = {*of.model, (*of.model)->path, !base_path.empty()};
  std::optional<ModelOrReport> base;
  if (checked.has_base) {
    base = Require(WithoutGil([&] { return LoadModelOrReport(base_path, options); }));
    checked.base = base->side();
  }
  CheckReport report;
  report.budgets = path;
  AskedSizes asked;
  Require(WithoutGil([&] { return CheckModel(checked, budgets, run, &asked, &report); }));
  Require(ReportUnknownSizes(path, asked));
  return report;
}

MfuReport MfuOfModel(const PyModel& of, const nb::kwargs& given) {
  tools::MfuArguments args;
  Given taken = TakeOptions(given, "mfu()", &args);
  MfuOptions options = Require(args.Parse());
  options.count.bindings = std::move(taken.sizes);
  return Require(WithoutGil([&] { return CountMfu(*of.model, options); }));
}

// Takes the sizes and the backward pass from the report's own count.
MfuReport MfuOfReport(const PyReport& of, const nb::kwargs& given) {
  tools::MfuArguments args;
  tools::OptionList list;
  args.AddRateTo(&list);
  SetOptions(given, list, "mfu()", nullptr);
  MfuOptions options = Require(args.Parse());
  options.count = *of.options;
  options.count.node_rows = false;
  if (options.convention.empty()) options.convention = of.convention;
  return Require(WithoutGil([&] { return CountMfu(*of.model, options); }));
}

// FLOP/s of a device in a type of numbers, for what runs on every step.
double PeakOf(const std::string& device, const std::string& dtype) {
  const Device found = Require(FindDevice(device));
  const PeakFigure peak = Require(FindPeak(found, Require(ParsePrecision(dtype))));
  constexpr double kGiga = 1e9;
  return static_cast<double>(peak.giga) * kGiga;
}

constexpr char kCountSig[] =
    "def count(self, *, dim: Mapping[str, int] | None = None, tokens: int | None = None, "
    "mask_sum: int | None = None, "
    "lengths: Sequence[int] | Mapping[str, Sequence[int]] | str | None = None, "
    "cu_seqlens: Sequence[int] | str | None = None, "
    "images: Sequence[tuple[int, int]] | str | None = None, packed: bool = False, "
    "packed_as_row: bool = False, "
    "input: Mapping[str, Sequence[int | str]] | None = None, "
    "value: Mapping[str, Any] | None = None, rules: str | PathLike[str] | None = None, "
    "limit: Mapping[str, int] | None = None, causal: Literal['full', 'half'] = 'full', "
    "backward: Literal['2x', 'exact'] = '2x', frozen: str | Sequence[str] = (), "
    "trained: str | Sequence[str] = (), tied: str | Sequence[str] = (), "
    "input_gradients: bool = False, attention: Literal['math', 'flash'] = 'math', "
    "recompute: str = 'none', optimizer: str = 'none', device: str | None = None, "
    "dtype: str | None = None, devices_file: str | PathLike[str] | None = None, "
    "memory: bool = False, order: str | None = None, fit: str | None = None, "
    "by: Literal['module', 'op', 'node'] = 'module', module: str | None = None, "
    "upper: bool = False, convention: str | None = None, no_grad: bool = False, **sizes: int) -> "
    "Report";

}  // namespace

void DefineModel(nb::module_& m) {
  nb::class_<PyModel> model(m, "Model", "A graph to count. load() gives one.");
  model.def_prop_ro(
      "path", [](const PyModel& of) { return ToStr((*of.model)->path); },
      "Where it was loaded from, or its name.");
  model.def("__repr__", [](const PyModel& of) {
    return ToStr(absl::StrCat("<onnxflops.Model ", Quoted((*of.model)->path), ">"));
  });
  model.def("count", &CountModel, nb::sig(kCountSig),
            "What the model costs. An argument that is no option gives a size: count(batch=8).\n"
            "Sizes that are not given stay symbols. Options are those of `onnxflops count`.");
  model.def(
      "compare", &Compare, nb::arg("with_") = nb::tuple(), nb::arg("options"),
      nb::sig("def compare(self, with_: str | Sequence[str] = (), **options: Any) -> Comparison"),
      "What other tools count: m.compare([\"thop\", \"fvcore\"]). Without names: all.");
  model.def("explain", &ExplainNode, nb::arg("node"), nb::arg("options"),
            nb::sig("def explain(self, node: str, **options: Any) -> Explanation"),
            "Why a node costs what it costs, by its name or that of an output.");
  m.def("_load_path", &LoadPath, nb::arg("path"),
        nb::sig("def _load_path(path: str | bytes | PathLike[Any]) -> Model"));
  m.def("_load_fd", &LoadFd, nb::arg("fd"), nb::arg("name"),
        nb::sig("def _load_fd(fd: int, name: str) -> Model"));
  m.def("_load_bytes", &LoadBytes, nb::arg("data"), nb::arg("name"),
        nb::sig("def _load_bytes(data: bytes, name: str) -> Model"));
  m.def("_diff", &DiffOf, nb::arg("base"), nb::arg("head"), nb::arg("options"),
        nb::sig("def _diff(base: Model, head: Model, **options: Any) -> Diff"));
  m.def("_check", &CheckLoaded, nb::arg("model"), nb::arg("budgets").none(),
        nb::arg("against").none(), nb::arg("options"),
        nb::sig("def _check(model: Model, budgets: str | bytes | PathLike[Any] | None, "
                "against: str | bytes | PathLike[Any] | None, **options: Any) -> Check"));
  const char* const mfu_text =
      "Utilisation of devices by a training step: mfu(report, step_time=0.41, devices=8, "
      "device=\"h100-sxm\", dtype=\"bf16\").\n"
      "Options are those of `onnxflops mfu`; a report has its sizes already.";
  m.def("mfu", &MfuOfReport, nb::arg("report"), nb::arg("options"),
        nb::sig("def mfu(report: Report, **options: Any) -> Mfu"), mfu_text);
  m.def("mfu", &MfuOfModel, nb::arg("model"), nb::arg("options"),
        nb::sig("def mfu(model: Model, **options: Any) -> Mfu"), mfu_text);
  m.def("peak_flops_per_second", &PeakOf, nb::arg("device"), nb::arg("dtype"),
        "What a device can do, by its data sheet: peak_flops_per_second(\"h100-sxm\", \"bf16\").");
  m.attr("VERSION") = ONNXFLOPS_VERSION;
}

}  // namespace onnxflops::python

NB_MODULE(_core, m) {
  m.doc() = "The engine of onnxflops.";
  onnxflops::python::DefineErrorsAndExpr(m);
  onnxflops::python::DefineDocuments(m);
  onnxflops::python::DefineReport(m);
  onnxflops::python::DefineModel(m);
  onnxflops::python::DefineProgram(m);
}
