// onnxflops.Report, its parts, and its tree of modules.
//
// How it works. Python objects share the C++ report; a module is an index into it. Every quantity
// of the table of quantities becomes a property: an int, an Expr while sizes are open, or None if
// it is unknown or was not requested. at() evaluates the formulas at given sizes. If the count
// already had a size bound, its formulas are gone, so the model is counted once more without sizes,
// once for all its reports. If that fails because a size decides which nodes run, it is counted at
// the given sizes. Rows of nodes are made on request. Counting releases Python's lock.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "src/api/serving.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/graph/same_model.h"
#include "src/python/argument_words.h"
#include "src/python/arguments.h"
#include "src/python/convert.h"
#include "src/python/types.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/report/figure_columns.h"
#include "src/report/summary.h"
#include "src/report/writers.h"
#include "src/settings/memory_arguments.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;
using report::FigureColumns;
using report::Known;
using report::KnownOf;
using report::KnownText;

nb::object Loads(const nb::str& json) { return nb::module_::import_("json").attr("loads")(json); }

// For a size that was bound before counting, the formulas come from a count without sizes. If that
// is impossible, because a size decides which nodes run, the model is counted again.
absl::StatusOr<Totals> AtOtherSizes(const PyReport& of, const Bindings& sizes) {
  Bindings all = sizes;
  all.insert(of.options->bindings.begin(), of.options->bindings.end());
  if (const Formulas::Counted& open = of.Open(); open.ok()) {
    absl::StatusOr<Totals> totals = (*open)->At(all);
    if (totals.ok()) return totals;
  }
  CountOptions options = *of.options;
  options.node_rows = false;
  options.bindings = std::move(all);
  ASSIGN_OR_RETURN(Report report, of.Count(options));
  return std::move(report.totals);
}

PyTotals At(const PyReport& of, const nb::kwargs& given) {
  const Bindings sizes = FromSizes(given, "at()");
  absl::StatusOr<Totals> totals = of.report->At(sizes);
  if (absl::IsFailedPrecondition(totals.status())) {
    totals = WithoutGil([&] { return AtOtherSizes(of, sizes); });
  }
  return {of.report, Require(std::move(totals))};
}

// The same report, with rows of nodes.
std::shared_ptr<const Report> WithNodes(const PyReport& of) {
  if (of.report->has_nodes) return of.report;
  CountOptions options = *of.options;
  options.node_rows = true;
  return std::make_shared<const Report>(Require(WithoutGil([&] { return of.Count(options); })));
}

// Adds every quantity of the report to a row: None if nothing is counted. Weights belong to
// modules, not to operators and nodes.
void AddFigures(const Report& report, const Amounts& amounts, Known known, bool weights,
                nb::dict* row) {
  for (const Quantity& q : kQuantities) {
    if (!report.Has(q) || (q.of == Quantity::Of::kWeights && !weights)) continue;
    const bool unknown = FigureColumns::KnownOfCell(q, amounts.*q.value, known) == Known::kNothing;
    (*row)[ToStr(q.key)] = unknown ? nb::object(nb::none()) : ToFigure(q, amounts.*q.value);
  }
  (*row)["lower_bound"] = known != Known::kExact;
}
Known KnownIf(bool lower_bound) { return lower_bound ? Known::kAtLeast : Known::kExact; }

nb::list ModuleRows(const Report& report) {
  nb::list rows;
  for (const Module& m : report.modules) {
    nb::dict row;
    row["path"] = ToStr(m.path);
    row["name"] = ToStr(m.name());
    row["type"] = ToStr(m.type);
    row["depth"] = m.depth;
    row["own"] = m.own;
    row["nodes"] = m.nodes;
    AddFigures(report, *m.amounts, KnownIf(m.lower_bound), /*weights=*/true, &row);
    rows.append(row);
  }
  return rows;
}

nb::list OpRows(const Report& report) {
  nb::list rows;
  for (const OpRow& op : report.by_op) {
    nb::dict row;
    row["op"] = ToStr(op.op);
    row["domain"] = ToStr(op.domain.empty() ? "ai.onnx" : op.domain);
    row["nodes"] = op.nodes;
    row["runs"] = ToNumber(op.runs);
    AddFigures(report, op, KnownIf(op.lower_bound), /*weights=*/false, &row);
    rows.append(row);
  }
  return rows;
}

nb::list TensorTexts(const std::vector<TensorInfo>& tensors) {
  nb::list texts;
  for (const TensorInfo& tensor : tensors) {
    texts.append(ToStr(absl::StrCat(tensor.name, " ", tensor.type, tensor.shape.ToString())));
  }
  return texts;
}

nb::list NodeRows(const Report& report) {
  constexpr absl::string_view kStatus[] = {"counted", "free", "unknown"};
  nb::list rows;
  for (const NodeRow& node : report.nodes) {
    nb::dict row;
    row["name"] = ToStr(node.name);
    row["op"] = ToStr(node.op);
    row["domain"] = ToStr(node.domain.empty() ? "ai.onnx" : node.domain);
    row["module"] = ToStr(report.modules[static_cast<size_t>(node.module)].path);
    row["multiplicity"] = ToNumber(node.multiplicity);
    row["status"] = ToStr(node.status == Coverage::kCounted ? kStatus[0]
                          : node.status == Coverage::kFree  ? kStatus[1]
                                                            : kStatus[2]);
    row["inputs"] = TensorTexts(node.inputs);
    row["outputs"] = TensorTexts(node.outputs);
    const bool unknown = node.status == Coverage::kUnknown;
    AddFigures(report, node, unknown ? Known::kNothing : Known::kExact, /*weights=*/false, &row);
    rows.append(row);
  }
  return rows;
}

nb::list Rows(const PyReport& of, const std::string& by) {
  if (by == "module") return ModuleRows(*of.report);
  if (by == "op") return OpRows(*of.report);
  if (by == "node") return NodeRows(*WithNodes(of));
  Raise(absl::InvalidArgumentError(absl::StrCat("rows(): by=", Quoted(by),
                                                ": it should be module, op or node",
                                                DidYouMean(by, {"module", "op", "node"}))));
}

std::string Headline(const Report& report, const Totals& totals) {
  const Quantity& q = QuantityOf(report.has_flops() ? &Amounts::flops : &Amounts::macs);
  const Expr& cost = totals.*q.value;
  return absl::StrCat(q.title, " ",
                      KnownText(KnownOf(q, cost, totals.lower_bound), cost.Shortened(100)));
}

nb::str Title(const Report& report) {
  return ToStr(absl::StrCat("<onnxflops.Report of ", Escaped(report.model.path), ": ",
                            Headline(report, report.totals), ">"));
}

bool HasTotal(const Report& report, const Totals& totals, const Quantity& q) {
  return report.Has(q) && report::HasFigure(q, totals.*q.value, totals.lower_bound);
}

// "bytes_read + bytes_written.", or by which rule.
std::string MeaningOf(const Quantity& derived) {
  if (derived.by_rule != derived.exact) {
    return "By the rule that backward is 2 x forward, or exact with backward=\"exact\".";
  }
  const auto text = [](const Quantity::Term& term) {
    const absl::string_view key = QuantityOf(term.of).key;
    return term.times == 1 ? std::string(key) : absl::StrCat(term.times, " * ", key);
  };
  const auto& [first, second] = derived.by_rule;
  return absl::StrCat(text(first), second.of == nullptr ? "" : " + ",
                      second.of == nullptr ? "" : text(second), ".");
}

template <typename Class, typename TotalsOf>
void AddDerived(nb::class_<Class>& cls, const TotalsOf& totals_of) {
  for (const Quantity* q : kDerivedQuantities) {
    cls.def_prop_ro(
        q->key.data(),
        [q, totals_of](const Class& of) -> nb::object {
          const Totals& totals = totals_of(of);
          const Expr value = of.report->In(*q, totals);
          if (!report::HasFigure(*q, value, totals.lower_bound)) return nb::none();
          return ToNumber(value);
        },
        nb::sig(absl::StrCat("def ", q->key, "(self, /) -> int | Expr").c_str()),
        MeaningOf(*q).c_str());
  }
}

const char* Standing(const PyReport& of) {
  if (of.report->totals.lower_bound) return "at_least";
  const bool guessed = of.report->tool && !of.report->tool->assumptions.empty();
  return guessed || report::RestsOnAlikeTrips(*of.report) ? "assumed" : "exact";
}

nb::object Opset(const PyReport& of) {
  const auto& opsets = of.report->model.opsets;
  const auto it = opsets.find("ai.onnx");
  return it == opsets.end() ? nb::object(nb::none()) : nb::object(nb::int_(it->second));
}

// The model, the sizes, and how far the figures are known.
void DefineFacts(nb::class_<PyReport>& report) {
  report.def_prop_ro(
      "lower_bound", [](const PyReport& of) { return of.report->totals.lower_bound; },
      "Whether a part is not known, so that the true figures may be larger.");
  report.def_prop_ro(
      "standing", &Standing, nb::sig("def standing(self, /) -> str"),
      "How far the figures are known: exact, at_least (nodes are not counted) or "
      "assumed (a figure of a convention rests on a guess, or all trips of a loop are "
      "taken as alike).");
  report.def_prop_ro("opset", &Opset, nb::sig("def opset(self, /) -> int | None"),
                     "The version of ONNX's own operators that the file asks for, or None.");
  report.def_prop_ro(
      "nodes", [](const PyReport& of) { return of.report->model.nodes; },
      "How many nodes the model has.");
  report.def_prop_ro(
      "symbols",
      [](const PyReport& of) {
        nb::list names;
        for (const SymbolOrigin& s : of.report->symbols) names.append(ToStr(BareName(s.name)));
        return names;
      },
      nb::sig("def symbols(self, /) -> list[str]"), "The sizes that are open.");
  report.def_prop_ro(
      "bindings",
      [](const PyReport& of) {
        nb::dict sizes;
        for (const auto& [name, size] : of.report->bindings) {
          sizes[ToStr(BareName(name))] = nb::int_(size);
        }
        return sizes;
      },
      nb::sig("def bindings(self, /) -> dict[str, int]"), "The sizes that were given.");
}

// Defines the methods that print or convert a whole report.
void DefineWriters(nb::class_<PyReport>& report) {
  report.def("rows", &Rows, nb::arg("by") = "module",
             nb::sig("def rows(self, by: Literal['module', 'op', 'node'] = 'module') -> "
                     "list[dict[str, Any]]"),
             "A dict for each module, operator or node.");
  report.def(
      "to_json",
      [](const PyReport& of) { return ToStr(WithoutGil([&] { return ToJson(*of.report); })); },
      "The program's JSON: onnxflops.report/1.");
  report.def(
      "to_dict", [](const PyReport& of) { return Loads(ToStr(ToJson(*of.report))); },
      nb::sig("def to_dict(self) -> dict[str, Any]"), "The same as a dict.");
  report.def(
      "to_pandas",
      [](nb::handle self, nb::handle by) {
        return nb::module_::import_("onnxflops._frames").attr("to_pandas")(self, by);
      },
      nb::arg("by") = "module",
      nb::sig("def to_pandas(self, by: Literal['module', 'op', 'node'] = 'module') -> "
              "pandas.DataFrame"),
      "rows() as a DataFrame. Needs pandas.");
  report.def(
      "to_html", [](const PyReport& of) { return ToStr(ToHtml(*WithNodes(of), ViewOptions{})); },
      "A page that needs nothing else, with a picture and a table of the modules: the program's.");
  report.def("_parts", &PartsOf, nb::sig("def _parts(self) -> list[tuple[Any, ...]]"));
  DefineView(&report, "view");
  report.def("__str__", [](const PyReport& of) {
    return ToStr(DrawText(InPython(ToDocument(*of.report, ViewOptions{}))));
  });
  report.def("__repr__", [](const PyReport& of) { return Title(*of.report); });
}

// The same count with one argument more.
PyReport CountWith(const PyReport& of, const char* argument, const nb::object& value) {
  nb::kwargs call = nb::steal<nb::kwargs>(of.given->ToDict().release());
  call[argument] = value;
  return CountModel(of.of, call);
}

PyMemory MemoryOf(const PyReport& of) {
  return {of.report->memory ? of : CountWith(of, "memory", nb::bool_(true))};
}

PyFit FitInto(const PyReport& of, nb::handle bytes, const nb::object& symbol) {
  if (!nb::isinstance<nb::str>(bytes) && !IsInt(bytes)) {
    RaiseTypeError(absl::StrCat("fit(): 'bytes' should be an int or a str, not ", TypeName(bytes)));
  }
  std::string text = nb::isinstance<nb::str>(bytes)
                         ? FromStr(bytes, "fit(): 'bytes'")
                         : Int128ToString(FromInt(bytes, "fit(): 'bytes'"));
  if (!symbol.is_none()) absl::StrAppend(&text, ":", FromStr(symbol, "fit(): 'symbol'"));
  return {CountWith(of, "fit", ToStr(text))};
}

bool IsMapping(nb::handle value) {
  return PyMapping_Check(value.ptr()) && PyObject_HasAttrString(value.ptr(), "items");
}

// The columns that a request has; None is the same as not to give it.
RequestCells CellsOf(nb::handle request, const std::string& what) {
  if (!IsMapping(request)) {
    RaiseTypeError(
        absl::StrCat(what, " should be a dict, as {\"prompt\": 512}, not ", TypeName(request)));
  }
  RequestCells cells;
  for (const nb::handle item : request.attr("items")()) {
    std::string name = FromStr(item[0], what);
    const nb::object value = nb::borrow(item[1]);
    if (value.is_none()) continue;
    std::string text = name == "audio" ? AudioSettingText(value, what) : SettingText(value, what);
    cells.emplace_back(std::move(name), std::move(text));
  }
  return cells;
}

std::vector<StepRequest> RequestList(nb::handle given) {
  if (IsMapping(given) || PyObject_HasAttrString(given.ptr(), "__iter__") == 0) {
    RaiseTypeError(absl::StrCat(
        "serving(): 'requests' should be a path, or a list with a dict for each request, not ",
        TypeName(given)));
  }
  std::vector<StepRequest> requests;
  for (const nb::handle item : given) {
    const std::string what =
        absl::StrCat("serving(): request ", requests.size() + 1, " of 'requests'");
    const absl::Status added = AddRequest(CellsOf(item, what), &requests);
    if (!added.ok()) {
      Raise(WithMessage(added, absl::StrCat(Setting("requests"), ": ", added.message())));
    }
  }
  if (requests.empty()) {
    Raise(absl::InvalidArgumentError(
        absl::StrCat(Setting("requests"), ": there are no requests in the list")));
  }
  return requests;
}

ServingReport Serve(const PyReport& of, const nb::object& prefill, const nb::object& decode,
                    const nb::object& requests, const nb::object& experts) {
  settings::ServingArguments args;
  if (!prefill.is_none()) args.prefill = Int128ToString(FromInt(prefill, "serving(): 'prefill'"));
  if (!decode.is_none()) args.decode = FromStr(decode, "serving(): 'decode'");
  if (nb::isinstance<nb::str>(requests) || nb::isinstance<nb::bytes>(requests) ||
      PyObject_HasAttrString(requests.ptr(), "__fspath__")) {
    args.requests = FromPath(requests);
  } else if (!requests.is_none()) {
    args.request_list = RequestList(requests);
  }
  if (!experts.is_none()) {
    args.experts =
        absl::StrReplaceAll(SettingText(experts, "serving(): 'experts'"), {{"[", ""}, {"]", ""}});
  }
  const std::optional<ServingRequest> request = Require(WithoutGil([&] { return args.Parse(); }));
  if (!request) {
    Raise(absl::InvalidArgumentError(
        "serving(): prefill=, decode= or requests= says what is served"));
  }
  CountOptions options = *of.options;
  options.node_rows = false;
  return Require(WithoutGil([&] { return CountServing(*of.of.model, options, *request); }));
}

// Properties and methods of a report other than its figures.
void DefineParts(nb::class_<PyReport>& report) {
  report.def_prop_ro("memory", &MemoryOf, nb::sig("def memory(self, /) -> Memory"),
                     "What the model holds in memory, counted now unless it was asked for.");
  report.def("fit", &FitInto, nb::arg("bytes"), nb::arg("symbol").none() = nb::none(),
             nb::sig("def fit(self, bytes: int | str, symbol: str | None = None) -> Fit"),
             "The largest batch, or size of `symbol`, at which the model fits: fit(\"80GiB\"), "
             "fit(\"h100-sxm\"). That "
             "size should be open.");
  report.def(
      "serving", &Serve, nb::arg("prefill").none() = nb::none(),
      nb::arg("decode").none() = nb::none(), nb::kw_only(), nb::arg("requests").none() = nb::none(),
      nb::arg("experts").none() = nb::none(),
      nb::sig("def serving(self, prefill: int | None = None, decode: str | None = None, *, "
              "requests: str | PathLike[str] | Iterable[Mapping[str, Any]] | None = None, "
              "experts: int | Sequence[int] | None = None) -> Serving"),
      "A decoder on a prompt of so many tokens, and on tokens after others: "
      "serving(prefill=512, decode=\"1@512\"). Or the step of a server: requests=\"step.csv\", "
      "or a list of dicts: requests=[{\"prompt\": 512, \"cached\": 128}].");
}

void DefineValue(nb::class_<PyReport>& report) {
  report.def(
      "__eq__",
      [](const PyReport& self, nb::handle other) -> nb::object {
        if (!nb::isinstance<PyReport>(other)) return nb::borrow(Py_NotImplemented);
        return nb::bool_(SameReports(self, nb::cast<const PyReport&>(other)));
      },
      nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"));
  report.def("__hash__", [](const PyReport& of) {
    const Report& r = *of.report;
    return static_cast<Py_ssize_t>(absl::HashOf(r.model.path, r.totals.flops, r.totals.macs) >> 1);
  });
  report.def(
      "__reduce__",
      [](const PyReport& of) {
        return nb::make_tuple(nb::module_::import_("onnxflops._pickle").attr("report_of"),
                              nb::make_tuple(nb::cast(of.of), of.given->ToDict()));
      },
      nb::sig("def __reduce__(self) -> tuple[Any, ...]"));
  DefineCopies(&report);
}

}  // namespace

bool SameReports(const PyReport& a, const PyReport& b) {
  return a.report == b.report ||
         (SameGraphs(**a.of.model, **b.of.model) && ToJson(*a.report) == ToJson(*b.report));
}

nb::list PartsOf(const PyReport& of) {
  constexpr int kRows = 200;
  ViewOptions view;
  view.page_rows = kRows;
  return DocumentParts(ToDocument(*of.report, view));
}

absl::StatusOr<Report> PyReport::Count(const CountOptions& with) const {
  return convention.empty() ? onnxflops::Count(*of.model, with)
                            : CountAs(*of.model, with, convention);
}

const Formulas::Counted& PyReport::Open() const {
  return formulas->Get([&] {
    CountOptions without = *options;
    without.node_rows = false;
    without.bindings.clear();
    return Count(without);
  });
}

namespace {

// Totals are values: those with the same figures are equal.
bool SameTotals(const PyTotals& a, const PyTotals& b) {
  const auto is_same = [&](const Quantity* q) {
    if (!a.report->Has(*q) || !b.report->Has(*q)) return a.report->Has(*q) == b.report->Has(*q);
    return a.report->In(*q, a.totals) == b.report->In(*q, b.totals);
  };
  return a.totals.lower_bound == b.totals.lower_bound && absl::c_all_of(AllQuantities(), is_same);
}

void DefineTotalsValue(nb::class_<PyTotals>* totals) {
  totals->def(
      "__eq__",
      [](const PyTotals& self, nb::handle other) -> nb::object {
        if (!nb::isinstance<PyTotals>(other)) return nb::borrow(Py_NotImplemented);
        return nb::bool_(SameTotals(self, nb::cast<const PyTotals&>(other)));
      },
      nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"));
  totals->def("__hash__", [](const PyTotals& of) {
    return static_cast<Py_ssize_t>(absl::HashOf(of.totals.flops, of.totals.macs) >> 1);
  });
  DefineCopies(totals);
}

void DefineTotals(nb::module_& m) {
  nb::class_<PyTotals> totals(m, "Totals", "The figures of a model at sizes.");
  AddQuantities(
      totals, [](const PyTotals& of) -> const Amounts* { return &of.totals; },
      [](const PyTotals& of, const Quantity& q) { return HasTotal(*of.report, of.totals, q); },
      /*of_totals=*/true);
  AddDerived(totals, [](const PyTotals& of) -> const Totals& { return of.totals; });
  totals.def_prop_ro(
      "figures",
      [](const PyTotals& of) { return FiguresOf(*of.report, of.totals, of.totals.lower_bound); },
      nb::sig("def figures(self, /) -> dict[str, Figure]"),
      "By name each figure with its status: how far it is known.");
  totals.def("__repr__", [](const PyTotals& of) {
    return ToStr(absl::StrCat("<onnxflops.Totals: ", Headline(*of.report, of.totals), ">"));
  });
  DefineView(&totals, "view_figures");
  DefineTotalsValue(&totals);
}

}  // namespace

void DefineReport(nb::module_& m) {
  DefineTotals(m);
  nb::class_<PyReport> report(
      m, "Report",
      "What a model costs. A figure is an int, or an Expr while a size that it depends on is "
      "open.\n\n"
      "flops is 2 * macs + other_flops, of a forward pass; training_flops is flops + "
      "backward_flops.\n"
      "A figure that needs what was not asked for is None.");
  AddQuantities(
      report, [](const PyReport& of) -> const Amounts* { return &of.report->totals; },
      [](const PyReport& of, const Quantity& q) {
        return HasTotal(*of.report, of.report->totals, q);
      },
      /*of_totals=*/true);
  AddDerived(report, [](const PyReport& of) -> const Totals& { return of.report->totals; });
  report.def(
      "at", &At, nb::sig("def at(self, **sizes: int) -> Totals"),
      "The totals at these sizes, from formulas. Sizes that count() was given may differ: the\n"
      "first time, the model is then counted without sizes, once for all of its reports.");
  report.def_prop_ro(
      "modules", [](const PyReport& of) { return PyModules{of}; },
      "The tree of modules: r.modules[\"visual\"], for m in r.modules, "
      "r.modules.filter(\"*.mlp\").");
  report.def_prop_ro(
      "path", [](const PyReport& of) { return ToStr(of.report->model.path); }, "Of the model.");
  report.def_prop_ro(
      "convention", [](const PyReport& of) { return ToStr(of.report->convention); },
      "The tool that counts like this; \"\" for ours.");
  DefineFacts(report);
  report.def_prop_ro(
      "warnings",
      [](const PyReport& of) {
        nb::list lines;
        for (const std::string& line : report::AllWarnings(*of.report)) {
          lines.append(ToStr(ScreenWords(line)));
        }
        return lines;
      },
      nb::sig("def warnings(self, /) -> list[str]"), "What the program tells beside the figures.");
  report.def_prop_ro(
      "figures",
      [](const PyReport& of) {
        return FiguresOf(*of.report, of.report->totals, of.report->totals.lower_bound);
      },
      nb::sig("def figures(self, /) -> dict[str, Figure]"),
      "By name each figure with its status: how far it is known.");
  DefineWriters(report);
  DefineValue(report);
  DefineParts(report);
}

}  // namespace onnxflops::python
