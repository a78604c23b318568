// All that is told of a model apart from its report: comparisons, explanations, diffs, checks,
// utilisation.
//
// How it works. Each is a class in Python with the same four ways out: str() is what the program
// shows on a screen, to_json() what it writes with --json, to_dict() that text parsed by Python,
// and to_html() the page (explanations have none). The texts come from the program's own code, so
// both say the same.
#include <optional>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "src/api/diff.h"
#include "src/api/mfu.h"
#include "src/check/check_writers.h"
#include "src/check/judge.h"
#include "src/compare/compare_report.h"
#include "src/diff/diff_writers.h"
#include "src/explain/explain.h"
#include "src/mfu/mfu_report.h"
#include "src/python/convert.h"
#include "src/python/types.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;

using report::Known;
using report::KnownOf;
using report::KnownOfChange;

// The screen of the program.
std::string Screen(const CompareReport& report) {
  return ToTable(report, !report.request.with.empty(), {});
}
std::string Screen(const Explanation& explanation) { return ToText(explanation, {}); }
std::string Screen(const Diff& diff) { return ToTable(diff, DiffViewOptions{}, {}); }
std::string Screen(const CheckReport& report) { return ToTable(report, {}); }
std::string Screen(const MfuReport& report) { return DrawText(ToDocument(report)); }

std::string Page(const CompareReport& report) { return ToHtml(report); }
std::string Page(const Diff& diff) { return ToHtml(diff, DiffViewOptions{}); }
std::string Page(const CheckReport& report) { return ToHtml(report); }
std::string Page(const MfuReport& report) { return ToHtml(report); }

template <typename Document>
nb::class_<Document> Define(nb::module_& m, const char* name, const char* text) {
  nb::class_<Document> cls(m, name, text);
  // Also where a prompt or a notebook shows it.
  for (const char* name : {"__str__", "__repr__"}) {
    cls.def(name, [](const Document& d) { return ToStr(Screen(d)); });
  }
  cls.def(
      "to_json", [](const Document& d) { return ToStr(ToJson(d)); }, "The program's JSON.");
  cls.def(
      "to_dict",
      [](const Document& d) {
        return nb::module_::import_("json").attr("loads")(ToStr(ToJson(d)));
      },
      nb::sig("def to_dict(self) -> dict[str, Any]"), "The same as a dict.");
  if constexpr (!std::is_same_v<Document, Explanation>) {
    cls.def(
        "to_html", [](const Document& d) { return ToStr(Page(d)); }, "The program's page.");
  }
  return cls;
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

nb::object Delta(const Diff& diff, const std::string& quantity) {
  const Figure figure = Require(FindFigure(quantity));
  if (const Quantity* q = figure.quantity) {
    const ModuleDiff& model = diff.modules[0];
    const Expr change = model.Change(*q);
    const Known known =
        KnownOfChange(KnownOf(*q, q->In(*model.base), model.base_lower_bound),
                      KnownOf(*q, q->In(*model.head), model.head_lower_bound),
                      change.is_literal() ? std::optional(change.literal()) : std::nullopt);
    return known == Known::kNothing ? nb::object(nb::none()) : ToNumber(change);
  }
  Raise(absl::InvalidArgumentError(absl::StrCat("delta(): ", quantity, " is no quantity")));
}

void DefineMfu(nb::module_& m) {
  auto mfu = Define<MfuReport>(m, "Mfu", "Utilisation of devices by a training step.");
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

}  // namespace

void DefineDocuments(nb::module_& m) {
  auto comparison = Define<CompareReport>(
      m, "Comparison", "What other tools count, and the terms that lead from our count to theirs.");
  comparison.def_prop_ro(
      "headlines", &Headlines, nb::sig("def headlines(self, /) -> dict[str, int | Expr | None]"),
      "Tool by tool its figure; None if it has none. `standings` says how far it "
      "is known.");
  comparison.def_prop_ro("standings", &Standings,
                         nb::sig("def standings(self, /) -> dict[str, str]"),
                         "Tool by tool \"exact\", \"assumed\" (it rests on a guess) or "
                         "\"not_applicable\" (there is no figure).");
  auto explanation =
      Define<Explanation>(m, "Explanation", "Why a node costs what it costs: of one run.");
  explanation.def_prop_ro(
      "node", [](const Explanation& e) { return ToStr(e.node.name); }, "Its name.");
  explanation.def_prop_ro(
      "op", [](const Explanation& e) { return ToStr(e.node.op); }, "Its operator.");
  explanation.def_prop_ro(
      "formula", [](const Explanation& e) { return ToStr(e.formula); },
      "What an operator of this kind costs, in words.");
  AddQuantities(
      explanation, [](const Explanation& e) { return &e.amounts; },
      [](const Explanation& e, const Quantity& q) {
        return q.needs == Quantity::Needs::kNothing &&
               report::HasFigure(q, e.amounts.*q.value, e.node.status == Coverage::kUnknown);
      });
  auto diff = Define<Diff>(m, "Diff", "What changed from one model to another.");
  diff.def("delta", &Delta, nb::arg("quantity") = "flops",
           nb::sig("def delta(self, quantity: str = 'flops') -> int | Expr | None"),
           "Head minus base; None where a part that is not counted makes it unknown.");
  diff.def_prop_ro(
      "is_empty", [](const Diff& d) { return d.IsEmpty(); }, "Whether nothing changed.");
  auto check = Define<CheckReport>(m, "Check", "Verdicts on a model by its budgets.");
  check.def_prop_ro("passed", &CheckReport::passed, "Whether every limit holds.");
  check.def("__bool__", &CheckReport::passed);
  DefineMfu(m);
}

}  // namespace onnxflops::python
