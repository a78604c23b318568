// Python's classes for results other than reports: comparisons, explanations, diffs, checks,
// utilisation.
//
// How it works. Each class has the same outputs: str() is the program's text for a screen,
// to_json() its output with --json, to_dict() that text parsed by Python, to_html() the page if
// there is one, and _repr_html_() the parts of the screen as a notebook shows them. The texts come
// from the program's own code, so both are equal.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "src/api/diff.h"
#include "src/api/mfu.h"
#include "src/check/check_writers.h"
#include "src/check/judge.h"
#include "src/compare/compare_report.h"
#include "src/diff/diff_writers.h"
#include "src/estimate/estimate_report.h"
#include "src/explain/explain.h"
#include "src/history/history_writers.h"
#include "src/mfu/mfu_report.h"
#include "src/pipeline/pipeline_report.h"
#include "src/profile/profile_report.h"
#include "src/python/argument_words.h"
#include "src/python/convert.h"
#include "src/python/types.h"
#include "src/render/document.h"
#include "src/render/format.h"
#include "src/report/writers.h"
#include "src/serving/serving_report.h"
#include "src/sweep/sweep_report.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;

using report::Known;
using report::KnownOf;
using report::KnownOfChange;

// The parts of the screen.
Document DocumentOf(const CompareReport& report) {
  return ToDocument(report, !report.request.with.empty());
}
Document DocumentOf(const Diff& diff) { return ToDocument(diff, DiffViewOptions{}); }
Document DocumentOf(const CheckReport& report) { return ToDocument(report); }
Document DocumentOf(const MfuReport& report) { return ToDocument(report); }
Document DocumentOf(const ProfileReport& report) { return ToDocument(report, ProfileView{}); }
Document DocumentOf(const EstimateReport& report) { return ToDocument(report); }
Document DocumentOf(const HistoryReport& report) { return ToDocument(report); }
Document DocumentOf(const PyAudit& audit) { return ToDocument(absl::MakeConstSpan(audit.rows)); }
Document DocumentOf(const SweepReport& sweep) { return ToDocument(sweep, ViewOptions{}); }
Document DocumentOf(const ServingReport& serving) { return ToDocument(serving, ViewOptions{}); }
Document DocumentOf(const PipelineReport& report) { return ToDocument(report, ViewOptions{}); }

Document DocumentOf(const PyExplanation& of) {
  return of.part ? ToDocument(*of.part->report, ViewOptions{}) : ToDocument(*of.node);
}

std::string Json(const PyExplanation& of) {
  return of.part ? ToJson(*of.part->report) : ToJson(*of.node);
}
std::string Json(const PyAudit& audit) { return ToJson(absl::MakeConstSpan(audit.rows)); }
template <typename Report>
std::string Json(const Report& report) {
  return ToJson(report);
}

std::string Page(const CompareReport& report) { return ToHtml(report); }
std::string Page(const Diff& diff) { return ToHtml(diff, DiffViewOptions{}); }
std::string Page(const CheckReport& report) { return ToHtml(report); }
std::string Page(const MfuReport& report) { return ToHtml(report); }
std::string Page(const ProfileReport& report) { return ToHtml(report); }
std::string Page(const HistoryReport& report) { return ToHtml(report); }
std::string Page(const SweepReport& sweep) { return ToHtml(sweep); }
std::string Page(const PipelineReport& report) { return ToHtml(report); }

// The screen of the program, in the words of Python.
template <typename Report>
std::string Screen(const Report& report) {
  return DrawText(InPython(DocumentOf(report)));
}
std::string Screen(const PyExplanation& of) {
  return ScreenWords(of.part ? ExplainModule(*of.part->report, {}) : ToText(*of.node, {}));
}

template <typename Report>
nb::class_<Report> Define(nb::module_& m, const char* name, const char* text) {
  nb::class_<Report> cls(m, name, text);
  // Also in an interactive prompt.
  for (const char* method : {"__str__", "__repr__"}) {
    cls.def(method, [](const Report& d) { return ToStr(Screen(d)); });
  }
  cls.def(
      "to_json", [](const Report& d) { return ToStr(Json(d)); }, "The program's JSON.");
  cls.def(
      "to_dict",
      [](const Report& d) { return nb::module_::import_("json").attr("loads")(ToStr(Json(d))); },
      nb::sig("def to_dict(self) -> dict[str, Any]"), "The same as a dict.");
  if constexpr (requires(const Report& d) { Page(d); }) {
    cls.def(
        "to_html", [](const Report& d) { return ToStr(Page(d)); }, "The program's page.");
  }
  if constexpr (requires(const Report& d) { DocumentOf(d); }) {
    cls.def(
        "_parts", [](const Report& d) { return DocumentParts(DocumentOf(d)); },
        nb::sig("def _parts(self) -> list[tuple[Any, ...]]"));
    DefineView(&cls, "view");
  }
  return cls;
}

// rows() and to_pandas(), made of the JSON by onnxflops/_results.py. `text` says what a row is.
// `kinds` are what `by` may be, the default first, as "'module', 'op'"; "" if there is one kind.
template <typename Report>
void DefineRows(nb::class_<Report>* cls, const std::string& text, const std::string& kinds = "") {
  const std::string first = kinds.substr(0, kinds.find(','));
  const auto signature = [&](const char* name, const char* result) {
    return absl::StrCat("def ", name, "(self",
                        kinds.empty() ? "" : absl::StrCat(", by: Literal[", kinds, "] = ", first),
                        ") -> ", result);
  };
  const auto define = [&](const char* name, const std::string& shape, const std::string& help) {
    if (kinds.empty()) {
      cls->def(
          name,
          [name](nb::handle self) {
            return nb::module_::import_("onnxflops._results").attr(name)(self, nb::none());
          },
          nb::sig(shape.c_str()), help.c_str());
    } else {
      cls->def(
          name,
          [name](nb::handle self, const nb::object& by) {
            return nb::module_::import_("onnxflops._results").attr(name)(self, by);
          },
          nb::arg("by").none() = nb::none(), nb::sig(shape.c_str()), help.c_str());
    }
  };
  define("rows", signature("rows", "list[dict[str, Any]]"), text);
  define("to_pandas", signature("to_pandas", "pandas.DataFrame"),
         "rows() as a DataFrame. Needs pandas.");
}

nb::dict Headlines(const CompareReport& report) {
  nb::dict figures;
  for (const ToolRow& tool : report.tools) {
    figures[ToStr(tool.convention->name)] =
        tool.headline ? ToNumber(*tool.headline) : nb::object(nb::none());
  }
  return figures;
}

nb::dict Standings(const CompareReport& report) {
  nb::dict standings;
  for (const ToolRow& tool : report.tools) {
    standings[ToStr(tool.convention->name)] = ToStr(StandingName(tool.standing));
  }
  return standings;
}

// None if a part that is not counted makes the change unknown.
nb::object ChangeOf(const Quantity& q, const PeakDiff& of) {
  const Expr change = of.head - of.base;
  const Known known = KnownOfChange(
      KnownOf(q, of.base, of.base_lower_bound), KnownOf(q, of.head, of.head_lower_bound),
      change.is_literal() ? std::optional(change.literal()) : std::nullopt);
  return known == Known::kNothing ? nb::object(nb::none()) : ToFigure(q, change);
}

nb::object Delta(const Diff& diff, const std::string& quantity) {
  if (quantity == kPeakActivations.key) {
    if (diff.peak) return ChangeOf(kPeakActivations, *diff.peak);
    Raise(absl::InvalidArgumentError(
        absl::StrCat("delta(): one of the reports has no ", quantity,
                     ": give diff() models, or reports of count(memory=True)")));
  }
  const Figure figure = Require(FindFigure(quantity));
  if (const Quantity* q = figure.quantity) {
    const ModuleDiff& model = diff.modules[0];
    return ChangeOf(
        *q, {model.BaseOf(*q), model.HeadOf(*q), model.base_lower_bound, model.head_lower_bound});
  }
  Raise(absl::InvalidArgumentError(absl::StrCat("delta(): ", quantity, " is not a quantity")));
}

void DefineMfu(nb::module_& m) {
  auto mfu = Define<MfuReport>(m, "Mfu", "Utilisation of devices by a training step.");
  DefineRows(&mfu, "A dict for each way to compute the FLOPs of a step: name, formula, mfu, hfu.");
  mfu.def_ro("mfu", &MfuReport::mfu, "Model FLOPs utilisation, as a part of 1. It is not clamped.");
  mfu.def_ro("hfu", &MfuReport::hfu, "The same with activations that are computed again.");
  mfu.def_ro("step_seconds", &MfuReport::step_seconds, "How long a step takes.");
  mfu.def_ro("devices", &MfuReport::devices, "How many share it.");
  mfu.def_ro("achieved_flops_per_second", &MfuReport::achieved_flops_per_second, "By each device.");
  mfu.def_ro("peak_flops_per_second", &MfuReport::peak_flops_per_second, "Of each device.");
  mfu.def_prop_ro(
      "forward_flops", [](const MfuReport& r) { return ToInt(r.forward_flops); },
      "Of a step of all devices.");
  mfu.def_prop_ro(
      "backward_flops", [](const MfuReport& r) { return ToInt(r.backward_flops); },
      "Of a step of all devices.");
  mfu.def_prop_ro(
      "training_flops", [](const MfuReport& r) { return ToInt(r.training_flops); },
      "Of a step of all devices.");
}

void DefineComparison(nb::module_& m) {
  auto comparison = Define<CompareReport>(
      m, "Comparison", "What other tools count, and the terms that lead from our count to theirs.");
  DefineRows(&comparison,
             "A dict for each term from our count to that of a tool: tool, name, reason, amount.");
  comparison.def_prop_ro(
      "headlines", &Headlines, nb::sig("def headlines(self, /) -> dict[str, int | Expr | None]"),
      "Tool by tool its figure; None if it has none. `standings` says how far it "
      "is known.");
  comparison.def_prop_ro("standings", &Standings,
                         nb::sig("def standings(self, /) -> dict[str, str]"),
                         "Tool by tool \"exact\", \"assumed\" (it rests on a guess) or "
                         "\"not_applicable\" (there is no figure).");
}

nb::list Terms(const PyExplanation& of) {
  nb::list terms;
  if (!of.node) return terms;
  for (const Explanation::Term& term : of.node->terms) {
    nb::dict row;
    row["kind"] = ToStr(term.kind);
    row["how"] = ToStr(term.how);
    row["amount"] = ToNumber(term.amount);
    terms.append(row);
  }
  return terms;
}

void DefineExplanation(nb::module_& m) {
  auto explanation = Define<PyExplanation>(
      m, "Explanation", "Why a node costs what it costs, of one run; or what a module costs.");
  explanation.def_prop_ro(
      "node",
      [](const PyExplanation& e) {
        return ToStr(e.part ? e.part->report->part : e.node->node.name);
      },
      "Its name, or the path of the module.");
  explanation.def_prop_ro(
      "op", [](const PyExplanation& e) { return ToStr(e.part ? "" : e.node->node.op); },
      "Its operator; \"\" of a module.");
  explanation.def_prop_ro(
      "formula", [](const PyExplanation& e) { return ToStr(e.part ? "" : e.node->formula); },
      "What an operator of this kind costs, in words; \"\" of a module, which is a sum.");
  explanation.def_prop_ro("terms", &Terms, nb::sig("def terms(self, /) -> list[dict[str, Any]]"),
                          "The kinds of operations of a node, how many, and how that follows.");
  AddQuantities(
      explanation, [](const PyExplanation& e) { return &e.amounts(); },
      [](const PyExplanation& e, const Quantity& q) {
        return q.needs == Quantity::Needs::kNothing &&
               report::HasFigure(q, e.amounts().*q.value, e.lower_bound());
      });
}

void DefineDiffAndCheck(nb::module_& m) {
  auto diff = Define<Diff>(m, "Diff", "What changed from one model to another.");
  DefineRows(&diff,
             "A dict for each module, operator or node that is in one of the models: status, and "
             "of each figure flops_base, flops_head, flops_delta. Nodes are there for reports of "
             "count(by=\"node\").",
             "'module', 'op', 'node'");
  diff.def("delta", &Delta, nb::arg("quantity") = "flops",
           nb::sig("def delta(self, quantity: str = 'flops') -> int | float | Expr | None"),
           "Head minus base; None where a part that is not counted makes it unknown.");
  diff.def_prop_ro(
      "is_empty", [](const Diff& d) { return d.IsEmpty(); }, "Whether nothing changed.");
  auto check = Define<CheckReport>(m, "Check", "Verdicts on a model by its budgets.");
  DefineRows(&check, "A dict for each limit: name, where, limit, actual, verdict, passed.");
  check.def_prop_ro("passed", &CheckReport::passed, "Whether every limit holds.");
  check.def("__bool__", &CheckReport::passed);
}

void DefineProfile(nb::module_& m) {
  auto profile = Define<ProfileReport>(m, "Profile", "Where the time of a measured run went.");
  DefineRows(&profile, "A dict for each kernel or module, with its time and work.",
             "'kernel', 'module'");
  profile.def_prop_ro(
      "peak_flops_per_second",
      [](const ProfileReport& r) {
        return r.peak > 0 ? nb::object(nb::float_(r.peak)) : nb::object(nb::none());
      },
      nb::sig("def peak_flops_per_second(self, /) -> float | None"),
      "Of the device; None if none is given.");
  auto estimate = Define<EstimateReport>(m, "Estimate",
                                         "Our count beside rules of thumb and measured figures.");
  DefineRows(&estimate, "A dict for each model.");
  auto history = Define<HistoryReport>(m, "History", "What models cost over commits.");
  DefineRows(&history,
             "A dict for each figure that changed: model, quantity, and what it was and is.");
  auto audit =
      Define<PyAudit>(m, "Audit", "Which convention gives each of some published figures.");
  DefineRows(&audit, "A dict for each published figure: status, conventions, figure.");
  audit.def_prop_ro(
      "errors",
      [](const PyAudit& of) {
        nb::list errors;
        for (const AuditRow& row : of.rows) {
          if (!row.fault.empty()) errors.append(ToStr(absl::StrCat(row.name, ": ", row.fault)));
        }
        return errors;
      },
      nb::sig("def errors(self, /) -> list[str]"), "Of the lines that have no figure.");
}

void DefineSweep(nb::module_& m) {
  auto sweep = Define<SweepReport>(m, "Sweep", "A model at many sizes, counted once.");
  DefineRows(&sweep, "A dict for each point: the model, all sizes, and totals.");
  sweep.def_prop_ro(
      "points",
      [](const SweepReport& of) {
        const auto report = std::make_shared<const Report>(of.report);
        nb::list points;
        for (const SweepPoint& point : of.points) {
          nb::dict at;
          for (const auto& [name, size] : point.at) at[ToStr(BareName(name))] = nb::int_(size);
          points.append(nb::make_tuple(at, nb::cast(PyTotals{report, point.totals})));
        }
        return points;
      },
      nb::sig("def points(self, /) -> list[tuple[dict[str, int], Totals]]"),
      "The sizes of each point, and the totals there.");
}

// By name, as the JSON has them: at `sizes`, and None for a figure that is not known.
nb::dict PipelineFigures(const Totals& totals, const Bindings& sizes) {
  nb::dict figures;
  const auto add = [&](const Quantity& q) {
    const Expr amount = q.In(totals).Substitute(sizes);
    figures[q.key.data()] = report::HasFigure(q, amount, totals.lower_bound)
                                ? ToNumber(amount)
                                : nb::object(nb::none());
  };
  for (const Quantity& q : kQuantities) {
    if (q.needs == Quantity::Needs::kNothing) add(q);
  }
  add(kBytesMoved);
  return figures;
}

nb::dict StepFigures(const ServingColumn& step) {
  nb::dict figures = PipelineFigures(step.totals, {});
  figures["tokens"] = nb::int_(step.tokens);
  figures["past"] = nb::int_(step.past);
  figures["cache_bytes"] = step.cache_bytes ? ToNumber(*step.cache_bytes) : nb::object(nb::none());
  return figures;
}

void DefineServing(nb::module_& m) {
  auto serving =
      Define<ServingReport>(m, "Serving", "A decoder on a prompt, and on the tokens after it.");
  DefineRows(&serving, "A dict for each step.");
  serving.def_prop_ro(
      "steps",
      [](const ServingReport& r) {
        nb::dict steps;
        for (const ServingColumn& step : r.columns) steps[ToStr(step.name)] = StepFigures(step);
        return steps;
      },
      nb::sig("def steps(self, /) -> dict[str, dict[str, int | Expr | None]]"),
      "The figures of each step, by name: steps[\"prefill\"][\"flops\"].");
}

void DefinePipeline(nb::module_& m) {
  auto pipeline = Define<PipelineReport>(m, "Pipeline", "What one answer of several models costs.");
  pipeline.def_prop_ro(
      "figures", [](const PipelineReport& r) { return PipelineFigures(r.totals, r.bindings); },
      nb::sig("def figures(self, /) -> dict[str, int | Expr | None]"),
      "Of all stages with all their runs: figures[\"flops\"]. None if nothing of it is known.");
  pipeline.def_prop_ro(
      "formulas", [](const PipelineReport& r) { return PipelineFigures(r.totals, {}); },
      nb::sig("def formulas(self, /) -> dict[str, int | Expr | None]"),
      "The same for any numbers of the parameters.");
  pipeline.def_prop_ro(
      "stages",
      [](const PipelineReport& r) {
        nb::dict stages;
        for (const PipelineStageCost& stage : r.stages) {
          stages[ToStr(stage.name)] = PipelineFigures(stage.totals, r.bindings);
        }
        return stages;
      },
      nb::sig("def stages(self, /) -> dict[str, dict[str, int | Expr | None]]"),
      "By name the figures of each stage with all its runs.");
  DefineRows(&pipeline, "A dict for each stage: name, runs, probability, and its figures.");
  pipeline.def_prop_ro(
      "memory_bytes",
      [](const PipelineReport& r) {
        return r.memory_bytes ? ToNumber(r.memory_bytes->Substitute(r.bindings))
                              : nb::object(nb::none());
      },
      nb::sig("def memory_bytes(self, /) -> int | Expr | None"),
      "Weights and activations at the peak. None if it is not known.");
  pipeline.def_prop_ro(
      "lower_bound", [](const PipelineReport& r) { return r.totals.lower_bound; },
      "Whether a part is not counted.");
}

// "| " in the first column is a tree line of the terminal; cells are unchanged.
nb::tuple TableParts(const Document::Table& part) {
  nb::list columns, rows, notes;
  for (const TextTable::Column& column : part.table.columns) {
    columns.append(nb::make_tuple(ToStr(column.title), column.right, column.picture));
  }
  for (const TextTable::Row& row : part.table.rows) {
    nb::list cells;
    for (const std::string& cell : row.cells) cells.append(ToStr(cell));
    rows.append(nb::make_tuple(cells, row.indent, row.strong, row.faint));
  }
  for (const std::string& note : part.table.notes) notes.append(ToStr(note));
  return nb::make_tuple("table", ToStr(part.title), columns, rows, notes);
}

nb::list Texts(const std::vector<std::string>& texts) {
  nb::list list;
  for (const std::string& text : texts) list.append(ToStr(text));
  return list;
}

nb::tuple WaterfallParts(const Document::Waterfall& part) {
  nb::list steps;
  for (const Document::Waterfall::Step& step : part.steps) {
    steps.append(nb::make_tuple(ToStr(step.text), ToStr(step.figure), step.indent, step.strong));
  }
  return nb::make_tuple("waterfall", ToStr(part.unit), steps, Texts(part.remarks));
}

}  // namespace

nb::list DocumentParts(Document of) {
  const Document document = InPython(std::move(of));
  nb::list parts;
  for (const Document::Part& part : document.parts) {
    if (const auto* lines = std::get_if<Document::Lines>(&part)) {
      nb::list texts;
      for (const report::LabelledLine& line : lines->lines) {
        texts.append(nb::make_tuple(ToStr(line.label), Texts(line.texts)));
      }
      parts.append(nb::make_tuple("lines", texts));
    } else if (const auto* table = std::get_if<Document::Table>(&part)) {
      parts.append(TableParts(*table));
    } else if (const auto* list = std::get_if<Document::List>(&part)) {
      parts.append(nb::make_tuple("list", ToStr(list->title), Texts(list->texts), list->alarming));
    } else if (const auto* waterfall = std::get_if<Document::Waterfall>(&part)) {
      parts.append(WaterfallParts(*waterfall));
    }
  }
  return parts;
}

void DefineDocuments(nb::module_& m) {
  m.def(
      "_screen_words", [](const std::string& text) { return ToStr(ScreenWords(text)); },
      nb::arg("text"), nb::sig("def _screen_words(text: str) -> str"));
  DefineComparison(m);
  DefineExplanation(m);
  DefineDiffAndCheck(m);
  DefineMfu(m);
  DefineProfile(m);
  DefineSweep(m);
  DefineServing(m);
  DefinePipeline(m);
}

}  // namespace onnxflops::python
