// onnxflops.Figure, a figure with its status, and the classes Memory and Fit.
//
// How it works. FiguresOf makes a Figure of each quantity that a report has. The status (exact,
// at_least, unknown, ...) comes from render/known.h, like the marks of the program's tables, so
// Python and the program agree on what is certain. Memory holds a report and makes its row of
// figures (MakeMemoryRow) on each access; the bytes are formulas in the row's text, parsed back
// into an Expr. A figure without a value is None.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/quote.h"
#include "src/cost/amounts.h"
#include "src/python/argument_words.h"
#include "src/python/convert.h"
#include "src/python/types.h"
#include "src/render/known.h"
#include "src/report/memory_lines.h"
#include "src/report/memory_report.h"
#include "src/report/memory_rows.h"
#include "src/report/summary.h"
#include "src/report/writers.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;
using report::Known;

const char* StatusName(Known known) {
  switch (known) {
    case Known::kExact:
      return "exact";
    case Known::kAssumed:
      return "assumed";
    case Known::kAtLeast:
      return "at_least";
    case Known::kAtMost:
      return "at_most";
    case Known::kCounted:
      return "counted";
    case Known::kNothing:
      return "unknown";
  }
  return "unknown";
}

std::string TextOf(const PyFigure& figure) {
  constexpr size_t kMost = 100;
  const Quantity& q = *figure.quantity;
  const bool is_time = q.unit == Quantity::Unit::kSeconds;
  if (figure.value.is_literal() && figure.value.error() == nullptr) {
    const std::string text = ExactText(q, figure.value.literal());
    return report::KnownText(figure.known, absl::StrCat(text, is_time ? " s" : ""));
  }
  const std::string text = figure.value.Shortened(kMost);
  return report::KnownText(figure.known, is_time ? absl::StrCat("1e-21*(", text, ") s") : text);
}

// A memory figure from its row: exact, or a formula.
const MemoryRow::Bytes& BytesOf(const MemoryRow& row, absl::string_view key) {
  size_t i = 0;
  while (kMemoryFigures[i].key != key) ++i;
  return row.bytes[i];
}

// Sizes in formulas of training are at least those that the formulas hold from; evaluate() refuses
// smaller ones.
nb::object ValueOf(const MemoryRow::Bytes& bytes, absl::string_view key) {
  if (bytes.exact.empty()) return nb::none();
  const int64_t least = absl::StartsWith(key, "training") ? kMinTrainingSize : 0;
  return ToNumber(Require(ParseExpr(bytes.exact, least, kMaxTerms)));
}

nb::object MemoryOfJson(const PyReport& of) {
  return nb::module_::import_("json").attr("loads")(ToStr(ToJson(*of.report)))["memory"];
}

// to_json() and to_dict() of a part of a document.
template <typename Class, typename PartOf>
void DefineJson(nb::class_<Class>* cls, const PartOf& part_of, const char* text) {
  cls->def("to_dict", part_of, nb::sig("def to_dict(self) -> dict[str, Any]"), text);
  cls->def(
      "to_json",
      [part_of](const Class& of) {
        return nb::module_::import_("json").attr("dumps")(part_of(of), nb::arg("indent") = 2,
                                                          nb::arg("ensure_ascii") = false);
      },
      nb::sig("def to_json(self) -> str"), text);
}

nb::dict MemoryStatus(const PyMemory& of) {
  const MemoryRow row = MakeMemoryRow(*of.of.report);
  nb::dict statuses;
  for (const MemoryFigure& figure : kMemoryFigures) {
    const MemoryRow::Bytes& bytes = BytesOf(row, figure.key);
    const Known known = bytes.exact.empty() ? Known::kNothing
                        : bytes.is_guess    ? Known::kAssumed
                        : bytes.at_least    ? Known::kAtLeast
                                            : Known::kExact;
    statuses[figure.key] = StatusName(known);
  }
  return statuses;
}

// The part of the report's screen that is about memory.
Document MemoryDocument(const Report& report) {
  const ViewOptions view;
  Document document;
  document.Add(Document::Table{report::MemoryTable(report, view), "", view.stable});
  document.Add(Document::Lines{report::MemoryLines(report, view)});
  return document;
}

void DefineMemory(nb::module_& m) {
  nb::class_<PyMemory> memory(m, "Memory",
                              "What a model holds in memory, in bytes: an int, an Expr while sizes "
                              "are open, or None where\n"
                              "there is no formula for all sizes or nothing of the kind. `status` "
                              "says how far each is known.");
  for (const MemoryFigure& figure : kMemoryFigures) {
    memory.def_prop_ro(
        figure.key,
        [&figure](const PyMemory& of) {
          return ValueOf(BytesOf(MakeMemoryRow(*of.of.report), figure.key), figure.key);
        },
        nb::sig(absl::StrCat("def ", figure.key, "(self, /) -> int | Expr | None").c_str()),
        absl::StrCat("Bytes: ", figure.title).c_str());
  }
  memory.def_prop_ro("status", &MemoryStatus, nb::sig("def status(self, /) -> dict[str, str]"),
                     "By name: exact, assumed, at_least or unknown.");
  memory.def_prop_ro(
      "at_node", [](const PyMemory& of) { return ToStr(MakeMemoryRow(*of.of.report).at_node); },
      "The node at which inference holds most.");
  DefineJson(
      &memory, [](const PyMemory& of) { return MemoryOfJson(of.of); },
      "The part `memory` of the report's JSON.");
  memory.def(
      "_parts", [](const PyMemory& of) { return DocumentParts(MemoryDocument(*of.of.report)); },
      nb::sig("def _parts(self) -> list[tuple[Any, ...]]"));
  DefineView(&memory, "view");
  const auto text = [](const PyMemory& of) {
    return ToStr(DrawText(InPython(MemoryDocument(*of.of.report))));
  };
  memory.def("__str__", text);
  memory.def("__repr__", text);
}

nb::object Largest(const PyFit& of, absl::string_view name) {
  for (const FitRow& row : of.fit().rows) {
    if (row.name == name && row.largest) return nb::int_(*row.largest);
  }
  return nb::none();
}

void DefineFit(nb::module_& m) {
  nb::class_<PyFit> fit(m, "Fit", "The largest size at which a model fits into so many bytes.");
  fit.def_prop_ro(
      "symbol", [](const PyFit& of) { return ToStr(BareName(of.fit().symbol)); },
      "The size that was looked for.");
  fit.def_prop_ro(
      "bytes", [](const PyFit& of) { return ToInt(of.fit().bytes); }, "What it should fit into.");
  fit.def_prop_ro(
      "inference", [](const PyFit& of) { return Largest(of, "inference"); },
      nb::sig("def inference(self, /) -> int | None"),
      "0 if not even one fits, None if every size does.");
  fit.def_prop_ro(
      "training", [](const PyFit& of) { return Largest(of, "training"); },
      nb::sig("def training(self, /) -> int | None"), "The same of a training step.");
  fit.def_prop_ro(
      kFitEntropy, [](const PyFit& of) { return Largest(of, kFitEntropy); },
      nb::sig("def training_cross_entropy(self, /) -> int | None"),
      "The same with a cross entropy as the loss, if an output is named logits; `status` has it.");
  fit.def_prop_ro(
      "status",
      [](const PyFit& of) {
        nb::dict statuses;
        for (const FitRow& row : of.fit().rows) {
          statuses[ToStr(row.name)] = StatusName(row.guessed   ? Known::kAssumed
                                                 : row.at_most ? Known::kAtMost
                                                               : Known::kExact);
        }
        return statuses;
      },
      nb::sig("def status(self, /) -> dict[str, str]"),
      "By name: exact, assumed (it rests on a guess) or at_most (less may fit).");
  DefineJson(
      &fit, [](const PyFit& of) { return nb::object(MemoryOfJson(of.of)["fit"]); },
      "The part `fit` of the JSON of the report's memory.");
  DefineView(&fit, "view_fit");
  fit.def(
      "__str__",
      [](nb::handle self) {
        return nb::module_::import_("onnxflops._results").attr("text_of_fit")(self);
      },
      nb::sig("def __str__(self) -> str"));
  fit.def("__repr__", [](const PyFit& of) {
    std::string text = absl::StrCat("<onnxflops.Fit: ");
    for (const FitRow& row : of.fit().rows) {
      absl::StrAppend(&text, row.name, " ", BareName(of.fit().symbol), " = ",
                      row.largest ? absl::StrCat(*row.largest) : "any", ", ");
    }
    text.resize(text.size() - 2);
    return ToStr(text + ">");
  });
}

// A pickled figure, which may come from anywhere.
PyFigure FigureOf(const std::string& name, nb::handle value, const std::string& status) {
  const Quantity* const quantity = FindQuantity(name);
  if (quantity == nullptr) {
    Raise(absl::InvalidArgumentError(
        absl::StrCat("a pickled Figure is of no quantity: ", Quoted(name))));
  }
  for (const Known known : {Known::kExact, Known::kAssumed, Known::kAtLeast, Known::kAtMost,
                            Known::kCounted, Known::kNothing}) {
    if (status != StatusName(known)) continue;
    return {quantity, FromNumber(value, "the value of a pickled Figure"), known};
  }
  Raise(absl::InvalidArgumentError(
      absl::StrCat("a pickled Figure has no such status: ", Quoted(status))));
}

// Figures are values: those that say the same are equal.
void DefineFigureValue(nb::module_& m, nb::class_<PyFigure>* figure) {
  figure->def(
      "__eq__",
      [](const PyFigure& self, nb::handle other) -> nb::object {
        if (!nb::isinstance<PyFigure>(other)) return nb::borrow(Py_NotImplemented);
        const auto& that = nb::cast<const PyFigure&>(other);
        return nb::bool_(self.quantity->key == that.quantity->key && self.known == that.known &&
                         self.value == that.value);
      },
      nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"));
  figure->def("__hash__", [](const PyFigure& f) {
    return static_cast<Py_ssize_t>(absl::HashOf(f.quantity->key, f.value) >> 1);
  });
  figure->def(
      "__reduce__",
      [](const PyFigure& f) {
        return nb::make_tuple(
            nb::module_::import_("onnxflops._pickle").attr("figure_of"),
            nb::make_tuple(ToStr(f.quantity->key), ToNumber(f.value), StatusName(f.known)));
      },
      nb::sig("def __reduce__(self) -> tuple[Any, ...]"));
  DefineCopies(figure);
  m.def("_figure", &FigureOf, nb::arg("name"), nb::arg("value"), nb::arg("status"),
        nb::sig("def _figure(name: str, value: int | Expr, status: str) -> Figure"));
}

}  // namespace

nb::dict FiguresOf(const Report& report, const Amounts& amounts, bool lower_bound) {
  nb::dict figures;
  const bool guessed = report::RestsOnAlikeTrips(report);
  for (const Quantity* q : AllQuantities()) {
    if (!report.Has(*q)) continue;
    const Expr value = report.In(*q, amounts);
    if (value.error() != nullptr) continue;
    Known known = report::KnownOf(*q, value, lower_bound);
    if (guessed && known == Known::kExact && q->of == Quantity::Of::kWork) known = Known::kAssumed;
    figures[ToStr(q->key)] = nb::cast(PyFigure{q, value, known});
  }
  return nb::borrow<nb::dict>(nb::module_::import_("onnxflops._results").attr("Figures")(figures));
}

void DefineFigures(nb::module_& m) {
  nb::class_<PyFigure> figure(m, "Figure", "A figure, and how far it is known.");
  figure.def_prop_ro(
      "name", [](const PyFigure& f) { return ToStr(f.quantity->key); }, "As in JSON: \"flops\".");
  figure.def_prop_ro(
      "title", [](const PyFigure& f) { return ToStr(f.quantity->title); }, "For people.");
  figure.def_prop_ro(
      "unit", [](const PyFigure& f) { return ToStr(UnitOf(*f.quantity)); },
      "FLOP, MAC, op, BOP, B, s, or nothing for elements: as in a budget.");
  figure.def_prop_ro(
      "value",
      [](const PyFigure& f) {
        return f.known == Known::kNothing ? nb::object(nb::none()) : ToFigure(*f.quantity, f.value);
      },
      nb::sig("def value(self, /) -> int | float | Expr | None"),
      "None if it is unknown, and of a time while a size is open.");
  figure.def_prop_ro(
      "status", [](const PyFigure& f) { return ToStr(StatusName(f.known)); },
      nb::sig("def status(self, /) -> Literal['exact', 'assumed', 'at_least', 'at_most', "
              "'counted', 'unknown']"),
      "exact; at_least where a part is not counted; assumed where all trips of a loop are taken as "
      "alike; unknown where nothing is counted.");
  figure.def("__str__", [](const PyFigure& f) { return ToStr(TextOf(f)); });
  figure.def("__repr__", [](const PyFigure& f) {
    return ToStr(absl::StrCat("<onnxflops.Figure ", f.quantity->key, ": ", TextOf(f), ">"));
  });
  DefineFigureValue(m, &figure);
  DefineMemory(m);
  DefineFit(m);
}

}  // namespace onnxflops::python
