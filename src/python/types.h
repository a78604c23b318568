// The data of the Python classes. All of it is shared and immutable, so threads may share it.
#ifndef ONNXFLOPS_SRC_PYTHON_TYPES_H_
#define ONNXFLOPS_SRC_PYTHON_TYPES_H_

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>  // str arguments

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "src/api/count.h"
#include "src/compare/audit.h"
#include "src/cost/amounts.h"
#include "src/explain/explain.h"
#include "src/python/arguments.h"
#include "src/python/convert.h"
#include "src/render/document.h"
#include "src/render/known.h"
#include "src/report/report.h"

namespace onnxflops::python {

// A report with all sizes open, counted once, on first use.
class Formulas {
 public:
  using Counted = absl::StatusOr<std::shared_ptr<const Report>>;

  template <typename Count>
  const Counted& Get(const Count& count) {
    std::call_once(once_, [&] {
      absl::StatusOr<Report> report = count();
      if (report.ok()) {
        counted_ = std::make_shared<const Report>(*std::move(report));
      } else {
        counted_ = report.status();
      }
    });
    return counted_;
  }

 private:
  std::once_flag once_;
  Counted counted_;
};

struct PyModel {
  std::shared_ptr<const Model> model;
  nanobind::object origin;  // from which it can be loaded again, or None: onnxflops/_pickle.py
  std::shared_ptr<Formulas> formulas = std::make_shared<Formulas>();  // without options
};

// A report with its model and options. Node rows, and formulas for sizes that were given, are
// counted on first use.
struct PyReport {
  std::shared_ptr<const Report> report;
  PyModel of;
  std::shared_ptr<const CountOptions> options;
  std::shared_ptr<const Given> given;  // the same, as they were given
  std::string convention;              // "" for ours
  std::shared_ptr<Formulas> formulas;  // with the same options

  // Counted with these options.
  absl::StatusOr<Report> Count(const CountOptions& with) const;
  // The same with all sizes open.
  const Formulas::Counted& Open() const;
};
// Whether they say the same of the same graph.
bool SameReports(const PyReport& a, const PyReport& b);

// A figure and how far it is known.
struct PyFigure {
  const Quantity* quantity = nullptr;
  Expr value;
  report::Known known = report::Known::kExact;
};
// By key those that a report has.
nanobind::dict FiguresOf(const Report& report, const Amounts& amounts, bool lower_bound);
void DefineFigures(nanobind::module_& m);

// The memory part of a report. REQUIRES: the report has it.
struct PyMemory {
  PyReport of;
};
// The answer of fit() in a report. REQUIRES: the report has it.
struct PyFit {
  PyReport of;

  const FitReport& fit() const { return *of.report->memory->fit; }
};
// The parts of a report's screen, with more open rows, because a notebook can fold them.
nanobind::list PartsOf(const PyReport& of);

// _repr_html_() by a function of onnxflops/_html.py.
template <typename Class>
void DefineView(nanobind::class_<Class>* cls, const char* function) {
  cls->def(
      "_repr_html_",
      [function](nanobind::handle self) {
        return nanobind::module_::import_("onnxflops._html").attr(function)(self);
      },
      nanobind::sig("def _repr_html_(self) -> str"));
}

// Totals at sizes.
struct PyTotals {
  std::shared_ptr<const Report> report;  // says which figures there are
  Totals totals;
};

struct PyModule {
  PyReport of;
  size_t index = 0;

  const Module& module() const { return of.report->modules[index]; }
};
struct PyModules {
  PyReport of;
};

// An attribute for every quantity. `amounts_of(t)` is a pointer to Amounts, and `has(t, quantity)`
// says whether there is a figure; if not, the attribute is None. Totals have derived rows in the
// place of their exact forms (AddDerived).
template <typename Class, typename AmountsOf, typename Has>
void AddQuantities(nanobind::class_<Class>& cls, const AmountsOf& amounts_of, const Has& has,
                   bool of_totals = false) {
  for (const Quantity& q : kQuantities) {
    if (of_totals && q.is_exact_form()) continue;
    const bool is_time = q.unit == Quantity::Unit::kSeconds;
    const std::string type = is_time                                ? "float | None"
                             : q.needs == Quantity::Needs::kNothing ? "int | Expr"
                                                                    : "int | Expr | None";
    const std::string text =
        absl::StrCat(q.title, is_time ? ", in seconds; None while a size is open" : "",
                     q.needs == Quantity::Needs::kDevice     ? "; needs device= and dtype="
                     : q.needs == Quantity::Needs::kTraining ? "; needs backward=\"exact\""
                     : q.needs == Quantity::Needs::kTypes    ? "; None where a type is not known"
                                                             : "");
    cls.def_prop_ro(
        q.key.data(),
        [&q, amounts_of, has](const Class& of) -> nanobind::object {
          if (!has(of, q)) return nanobind::none();
          return ToFigure(q, amounts_of(of)->*q.value);
        },
        nanobind::sig(absl::StrCat("def ", q.key, "(self, /) -> ", type).c_str()), text.c_str());
  }
}

// copy() of an immutable object returns the object itself.
template <typename Class>
void DefineCopies(nanobind::class_<Class>* cls) {
  cls->def(
      "__copy__", [](nanobind::handle self) { return nanobind::borrow(self); },
      nanobind::sig("def __copy__(self) -> Self"));
  cls->def(
      "__deepcopy__",
      [](nanobind::handle self, nanobind::handle) { return nanobind::borrow(self); },
      nanobind::sig("def __deepcopy__(self, memo: dict[int, Any], /) -> Self"));
}

// Why a node costs what it costs: or a module, which is a report of it with rows of nodes.
struct PyExplanation {
  std::optional<Explanation> node;
  std::optional<PyReport> part;

  const Amounts& amounts() const {
    if (part) return part->report->totals;
    return node->amounts;
  }
  bool lower_bound() const {
    return part ? part->report->totals.lower_bound : node->node.status == Coverage::kUnknown;
  }
};

// The rows of a table of published figures.
struct PyAudit {
  std::vector<AuditRow> rows;
};

// The parts of a document as tuples, drawn by onnxflops/_html.py.
nanobind::list DocumentParts(Document document);

// `source` if it is a model, else the model that onnxflops.load() makes from it.
PyModel ModelOf(nanobind::handle source);
// Counts with the arguments of count().
PyReport CountModel(const PyModel& of, const nanobind::kwargs& given);

void DefineErrorsAndExpr(nanobind::module_& m);
void DefineModules(nanobind::module_& m);
void DefineCommands(nanobind::module_& m);
void DefineReport(nanobind::module_& m);
void DefineDocuments(nanobind::module_& m);
void DefineModel(nanobind::module_& m);

}  // namespace onnxflops::python

#endif  // ONNXFLOPS_SRC_PYTHON_TYPES_H_
