// onnxflops.Model: loading it, and its methods.
//
// How it works. Python's keyword arguments go through the same options as the command line, under
// the same names, so both accept the same values and give the same errors. A keyword that is not an
// option is the size of a dimension. Everything slow runs without Python's lock. Counts without
// options share the formulas of the model: the first count() makes them, later calls reuse them.
// Models come from a path, an open file or bytes; bytes that begin with "{" are a configuration.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/api/known_sizes.h"
#include "src/api/load.h"
#include "src/api/sweep.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/graph/same_model.h"
#include "src/load/load_file.h"
#include "src/python/arguments.h"
#include "src/python/convert.h"
#include "src/python/package.h"
#include "src/python/signatures.h"
#include "src/python/types.h"
#include "src/settings/count_arguments.h"
#include "src/settings/model_arguments.h"
#include "src/settings/view_arguments.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;

PyModel Shared(absl::StatusOr<Model> model, const nb::object& origin) {
  return {std::make_shared<const Model>(Require(std::move(model))), origin};
}

PyModel LoadPath(nb::handle path, const nb::object& origin) {
  const std::string text = FromPath(path);
  return Shared(WithoutGil([&] { return Load(text); }), origin);
}

// An open file that may have holes where weights are. `name` decides the form.
PyModel LoadFd(int fd, const std::string& name, const nb::object& origin) {
  return Shared(WithoutGil([&] { return LoadOpen(fd, name, {}); }), origin);
}

// Bytes in memory: a model, or a configuration in JSON.
PyModel LoadBytes(nb::bytes bytes, const std::string& name, const nb::object& origin) {
  const absl::string_view view(bytes.c_str(), bytes.size());
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(view);
  const bool is_json = !text.empty() && text[0] == '{';
  return Shared(WithoutGil([&] {
                  return is_json ? LoadConfig(std::string(view), name, std::nullopt)
                                 : LoadFromBytes(view, name);
                }),
                origin);
}

// The parsed arguments of count().
struct CountCall {
  CountOptions options;
  std::string convention;
  Given given;
};

CountCall TakeCountCall(const nb::kwargs& given) {
  settings::CountArguments args;
  CountCall call;
  RefuseProgramOptions(given, "count()");
  call.given = TakeOptions(given, "count()", &args);
  // Report.memory and Report.fit() may ask for it later.
  const settings::MemoryArguments& memory = args.memory;
  if (memory.asks_for_training() || !memory.order.empty()) args.memory.memory = true;
  std::vector<settings::DimSizes> sweep;
  call.options = Require(args.Options(&sweep));
  call.options.bindings = call.given.sizes;
  const ViewOptions view = Require(args.view.Parse());
  call.options.node_rows = view.by == GroupBy::kNode;
  call.convention = args.convention;
  return call;
}

// The size of scan(fill=...), checked like any other.
std::optional<int64_t> FillSize(nb::handle fill) {
  if (fill.is_none()) return std::nullopt;
  Bindings sizes;
  AddSize("fill", fill, "scan()", &sizes);
  return sizes.at("fill");
}

// Counts one of many models: its report, the names of sizes that the model does not have, which are
// skipped, and the sizes at which it was counted.
nb::tuple CountOneOfMany(const PyModel& of, nb::handle fill, const nb::dict& given) {
  CountCall call = TakeCountCall(nb::borrow<nb::kwargs>(given));
  const std::optional<int64_t> size = FillSize(fill);
  std::vector<std::string> missing;
  PyReport made;
  made.of = of;
  made.convention = call.convention;
  made.formulas = std::make_shared<Formulas>();
  made.report = Require(WithoutGil([&]() -> Formulas::Counted {
    ASSIGN_OR_RETURN(Report report,
                     CountKnownSizes(*of.model, call.options, call.convention, size, &missing));
    return std::make_shared<const Report>(std::move(report));
  }));
  call.options.bindings = call.given.sizes = made.report->bindings;
  made.options = std::make_shared<const CountOptions>(std::move(call.options));
  made.given = std::make_shared<const Given>(std::move(call.given));
  nb::list names;
  for (const std::string& name : missing) names.append(ToStr(name));
  nb::dict sizes;
  for (const auto& [name, bound] : made.report->bindings) sizes[ToStr(name)] = nb::int_(bound);
  return nb::make_tuple(made, names, sizes);
}

struct CompareArguments : settings::CompareArguments {
  settings::ComparedArgument compared;

  void AddTo(settings::Table* list) {
    settings::CompareArguments::AddTo(list);
    compared.AddTo(list);
    settings::AddModule(list, &module);
  }
};

CompareReport Compare(const PyModel& of, nb::handle with, const nb::kwargs& given) {
  CompareRequest request;
  if (nb::isinstance<nb::str>(with)) {
    request.with.push_back(FromStr(with, "compare(): 'with_'"));
  } else if (!PyObject_HasAttrString(with.ptr(), "__iter__")) {
    RaiseTypeError(
        absl::StrCat("compare(): 'with_' should be a str or a list of them, not ", TypeName(with)));
  } else {
    for (const nb::handle name : with) {
      request.with.push_back(FromStr(name, "compare(): an item of 'with_'"));
    }
  }
  CompareArguments args;
  Given taken = TakeOptions(given, "compare()", &args);
  CountOptions options = Require(args.Options());
  options.bindings = std::move(taken.sizes);
  request.activations = Require(args.compared.IsActivations());
  return Require(WithoutGil([&] { return CompareTools(*of.model, options, request); }));
}

// A node by its name or, if there is none, a module by its path.
PyExplanation ExplainPart(const PyModel& of, const std::string& node, const nb::kwargs& given) {
  settings::ExplainArguments args;
  Given taken = TakeOptions(given, "explain()", &args);
  auto options = std::make_shared<CountOptions>(Require(args.Options()));
  options->bindings = taken.sizes;
  PyExplanation made;
  const absl::Status fault = WithoutGil([&]() -> absl::Status {
    absl::StatusOr<Explanation> explanation = Explain(*of.model, *options, node);
    if (!absl::IsNotFound(explanation.status())) {
      ASSIGN_OR_RETURN(made.node, std::move(explanation));
      return absl::OkStatus();
    }
    options->module = node;
    options->node_rows = true;
    absl::StatusOr<Report> part = Count(*of.model, *options);
    if (absl::IsNotFound(part.status())) return explanation.status();
    if (!part.ok()) return part.status();
    made.part.emplace().report = std::make_shared<const Report>(*std::move(part));
    return absl::OkStatus();
  });
  Require(fault);
  return made;
}

SweepReport SweepSizes(const PyModel& of, const nb::kwargs& given) {
  settings::CountArguments args;
  settings::Table list;
  args.AddTo(&list);
  RefuseProgramOptions(given, "sweep()");
  nb::dict single = nb::borrow<nb::dict>(given);
  const Swept swept = TakeSwept(list, "sweep()", &single);
  if (swept.empty()) {
    Raise(absl::InvalidArgumentError(
        "sweep(): a size with several values is needed: sweep(batch=[1, 8, 64])"));
  }
  Given taken = SetOptions(nb::borrow<nb::kwargs>(single), list, "sweep()", Others::kSizes);
  std::vector<settings::DimSizes> dims;
  CountOptions options = Require(args.Options(&dims));
  options.bindings = std::move(taken.sizes);
  if (options.memory) {
    Raise(absl::InvalidArgumentError(
        "sweep(): memory= is of one size: count(...).memory at each of them"));
  }
  return Require(WithoutGil(
      [&] { return CountSweep(*of.model, options, args.convention, swept, std::nullopt); }));
}

bool SameModels(const PyModel& a, const PyModel& b) {
  return a.model == b.model ||
         ((*a.model)->path == (*b.model)->path && SameGraphs(**a.model, **b.model));
}

void DefineValue(nb::class_<PyModel>* model) {
  model->def(
      "__eq__",
      [](const PyModel& self, nb::handle other) -> nb::object {
        if (!nb::isinstance<PyModel>(other)) return nb::borrow(Py_NotImplemented);
        return nb::bool_(SameModels(self, nb::cast<const PyModel&>(other)));
      },
      nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"));
  model->def("__hash__", [](const PyModel& of) {
    const ModelData& data = **of.model;
    return static_cast<Py_ssize_t>(
        absl::HashOf(data.path, data.nodes.size(), data.values.size(), data.tensors.size()) >> 1);
  });
  model->def(
      "__reduce__",
      [](nb::handle self) {
        return nb::module_::import_("onnxflops._pickle").attr("reduced")(self);
      },
      nb::sig("def __reduce__(self) -> tuple[Any, ...]"));
  model->def_prop_ro(
      "_origin", [](const PyModel& of) { return of.origin; },
      nb::sig("def _origin(self, /) -> tuple[Any, ...] | None"));
  model->def_prop_ro(
      "_config",
      [](const PyModel& of) {
        const absl::string_view config = ConfigOf(**of.model);
        return nb::bytes(config.data(), config.size());
      },
      nb::sig("def _config(self, /) -> bytes"));
  DefineCopies(model);
}

// A method with the program's options.
template <typename Function, typename... Extra>
void DefineShown(nb::class_<PyModel>* model, const char* name, const Function& function,
                 const Shown& shown, const Extra&... extra) {
  model->def(name, function, extra..., nb::arg("options"), nb::sig(shown.signature.c_str()),
             shown.help.c_str());
}

void DefineCounting(nb::class_<PyModel>* model) {
  model->def("count", &CountModel,
             nb::sig(ShowFunctionOf("def count(self", "Report", "", settings::CountArguments())
                         .signature.c_str()),
             ShowFunctionOf("def count(self", "Report",
                            "What the model costs. An argument that is no option gives a size: "
                            "count(batch=8).\nSizes that are not given stay symbols.",
                            settings::CountArguments())
                 .help.c_str());
  settings::Table list;
  settings::CountArguments args;
  args.AddTo(&list);
  const Shown sweep = ShowFunction(
      "def sweep(self", "Sweep",
      "The totals at many sizes, counted once: sweep(batch=[1, 8], seq=\"128..1024*2\"). "
      "Every combination; the last size changes first.",
      list, "int | str | Sequence[int]");
  model->def("sweep", &SweepSizes, nb::sig(sweep.signature.c_str()), sweep.help.c_str());
  DefineShown(model, "compare", &Compare,
              ShowFunctionOf("def compare(self, with_: str | Sequence[str] = ()", "Comparison",
                             "What other tools count: m.compare([\"thop\", \"fvcore\"]). Without "
                             "names: all.",
                             CompareArguments()),
              nb::arg("with_") = nb::tuple());
  DefineShown(
      model, "explain", &ExplainPart,
      ShowFunctionOf("def explain(self, node: str", "Explanation",
                     "Why a node costs what it costs, by its name or that of an output; or what a "
                     "module costs, by its path.",
                     settings::ExplainArguments()),
      nb::arg("node"));
}

}  // namespace

PyReport CountModel(const PyModel& of, const nb::kwargs& given) {
  CountCall call = TakeCountCall(given);
  const bool is_open = call.given.sizes.empty();
  const bool has_options = call.given.has_options();
  PyReport made;
  made.of = of;
  made.options = std::make_shared<const CountOptions>(std::move(call.options));
  made.given = std::make_shared<const Given>(std::move(call.given));
  made.convention = call.convention;
  made.formulas = has_options ? std::make_shared<Formulas>() : of.formulas;
  made.report = Require(WithoutGil([&]() -> Formulas::Counted {
    if (is_open && !has_options) return made.Open();
    ASSIGN_OR_RETURN(Report report, made.Count(*made.options));
    return std::make_shared<const Report>(std::move(report));
  }));
  return made;
}

PyModel ModelOrItsReport(nb::handle of) {
  return nb::isinstance<PyModel>(of) ? nb::cast<PyModel>(of) : nb::cast<PyReport>(of).of;
}

// {"tiles": 5, "image_rows": 24, "image_columns": 48}; empty if images are not cut into tiles.
nb::dict ImageSizes(nb::handle of, int64_t height, int64_t width) {
  nb::dict sizes;
  if (std::min(height, width) < 1 || std::max(height, width) > kMaxConfigSize) {
    Raise(absl::InvalidArgumentError(absl::StrCat("an image of ", height, " x ", width,
                                                  ": each should be from 1 to ", kMaxConfigSize)));
  }
  for (const auto& [symbol, size] : SizesOfImage(**ModelOrItsReport(of).model, height, width)) {
    sizes[ToStr(symbol)] = size;
  }
  return sizes;
}

// ("frames", 3000, 100), or None: the frames of a chunk, and of a second.
nb::object ChunksOfAudio(nb::handle of) {
  const std::optional<AudioChunks> chunks = AudioChunksOf(**ModelOrItsReport(of).model);
  if (!chunks) return nb::none();
  return nb::make_tuple(ToStr(chunks->symbol), chunks->frames, chunks->per_second);
}

PyModel ModelOf(nb::handle source) {
  if (nb::isinstance<PyModel>(source)) return nb::cast<PyModel>(source);
  return nb::cast<PyModel>(nb::module_::import_("onnxflops._load").attr("load")(source));
}

void DefineModel(nb::module_& m) {
  nb::class_<PyModel> model(m, "Model", "A graph to count. load() gives one.");
  model.def_prop_ro(
      "path", [](const PyModel& of) { return ToStr((*of.model)->path); },
      "Where it was loaded from, or its name.");
  model.def("__repr__", [](const PyModel& of) {
    return ToStr(absl::StrCat("<onnxflops.Model ", Quoted((*of.model)->path), ">"));
  });
  DefineCounting(&model);
  DefineValue(&model);
  m.def("_load_path", &LoadPath, nb::arg("path"), nb::arg("origin").none() = nb::none(),
        nb::sig("def _load_path(path: str | bytes | PathLike[Any], "
                "origin: tuple[Any, ...] | None = None) -> Model"));
  m.def(
      "_load_fd", &LoadFd, nb::arg("fd"), nb::arg("name"), nb::arg("origin").none() = nb::none(),
      nb::sig("def _load_fd(fd: int, name: str, origin: tuple[Any, ...] | None = None) -> Model"));
  m.def("_load_bytes", &LoadBytes, nb::arg("data"), nb::arg("name"),
        nb::arg("origin").none() = nb::none(),
        nb::sig("def _load_bytes(data: bytes, name: str, origin: tuple[Any, ...] | None = None) -> "
                "Model"));
  m.def(
      "_count",
      [](const PyModel& of, const nb::dict& given) {
        return CountModel(of, nb::borrow<nb::kwargs>(given));
      },
      nb::arg("model"), nb::arg("given"),
      nb::sig("def _count(model: Model, given: dict[str, Any]) -> Report"));
  m.def("_count_one_of_many", &CountOneOfMany, nb::arg("model"), nb::arg("fill").none(),
        nb::arg("given"),
        nb::sig("def _count_one_of_many(model: Model, fill: int | None, given: dict[str, Any]) -> "
                "tuple[Report, list[str], dict[str, int]]"));
  m.def("_image_sizes", &ImageSizes, nb::arg("of"), nb::arg("height"), nb::arg("width"),
        nb::sig("def _image_sizes(of: Model | Report, height: int, width: int) -> dict[str, int]"));
  m.def("_audio_chunks", &ChunksOfAudio, nb::arg("of"),
        nb::sig("def _audio_chunks(of: Model | Report) -> tuple[str, int, int] | None"));
  m.def(
      "_check_count",
      [](nb::handle fill, const nb::dict& given) {
        TakeCountCall(nb::borrow<nb::kwargs>(given));
        FillSize(fill);
      },
      nb::arg("fill").none(), nb::arg("given"),
      nb::sig("def _check_count(fill: int | None, given: dict[str, Any]) -> None"));
}

void DefinePackage(nb::module_& m) {
  DefineErrorsAndExpr(m);
  DefineFigures(m);
  DefineDocuments(m);
  DefineModules(m);
  DefineReport(m);
  DefineModel(m);
  DefineCommands(m);
}

}  // namespace onnxflops::python
