// onnxflops.Expr: an exact whole number that may contain sizes that are not fixed.
//
// How it works. The class wraps the library's Expr. A result without open sizes is returned as a
// Python int, so that it works everywhere an int does (ToNumber). Operators take ints and Exprs;
// for anything else they return NotImplemented, so that Python tries the other operand. A
// comparison has an answer only if it holds at all sizes or at none; otherwise, and for int() and
// float(), the error names the open sizes. A quotient with / must be a whole number at all sizes.
//
// pickle stores the text and the least value of each size, since comparisons depend on these.
// Reading it back checks everything: a pickle may come from anywhere.
#include "src/symbolic/expr.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/python/convert.h"
#include "src/python/types.h"
#include "src/symbolic/sample_sum.h"
#include "src/symbolic/symbol_bounds.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;

nb::object NotImplemented() { return nb::borrow(Py_NotImplemented); }

// TypeError if `other` is a float: a formula is exact.
void RefuseFloat(const Expr& self, const char* sign, nb::handle other) {
  if (!PyFloat_Check(other.ptr())) return;
  RaiseTypeError(absl::StrCat("(", self.Shortened(80), ") ", sign, " a float: a formula is exact, ",
                              "and takes whole numbers; evaluate(name=size) gives a number that "
                              "goes with any other"));
}

// A binary operator; if the other operand is not a number, Python asks that operand.
template <typename Operator>
auto Arithmetic(const char* sign, const Operator& apply, bool reflected = false) {
  return [sign, apply, reflected](const Expr& self, nb::handle other) -> nb::object {
    RefuseFloat(self, sign, other);
    if (!IsNumber(other)) return NotImplemented();
    const Expr right = FromNumber(other, "Expr");
    return ToNumber(reflected ? apply(right, self) : apply(self, right));
  };
}

// A comparison that is true or false at all sizes; otherwise it raises an error.
template <typename Decide>
auto Comparison(const char* sign, const Decide& decide) {
  return [sign, decide](const Expr& self, nb::handle other) -> nb::object {
    RefuseFloat(self, sign, other);
    if (!IsNumber(other)) return NotImplemented();
    const Expr right = FromNumber(other, "Expr");
    const std::optional<bool> holds = decide(self, right);
    if (holds) return nb::bool_(*holds);
    Raise(absl::FailedPreconditionError(
        absl::StrCat(self.Shortened(80), " ", sign, " ", right.Shortened(80),
                     " depends on the sizes: evaluate(name=size) first")));
  };
}

std::optional<bool> Not(std::optional<bool> value) {
  if (value) return !*value;
  return value;
}

nb::object Power(const Expr& base, nb::handle exponent) {
  constexpr int kMostPower = 64;
  RefuseFloat(base, "**", exponent);
  if (!IsInt(exponent)) return NotImplemented();
  const absl::int128 power = FromInt(exponent, "Expr");
  if (power >= 0 && power <= kMostPower) {
    return ToNumber(onnxflops::Power(base, static_cast<int>(power)));
  }
  Raise(absl::InvalidArgumentError("an exponent of an Expr is from 0 to 64"));
}

// A division, which fails like Python's if the divisor is 0.
template <typename Operator>
auto Division(const char* sign, const Operator& divide, bool reflected = false) {
  return [sign, divide, reflected](const Expr& self, nb::handle other) -> nb::object {
    RefuseFloat(self, sign, other);
    if (!IsNumber(other)) return NotImplemented();
    const Expr right = FromNumber(other, "Expr");
    if (!reflected && right.is_zero()) {
      PyErr_SetString(PyExc_ZeroDivisionError, "division of an Expr by zero");
      throw nb::python_error();
    }
    return ToNumber(reflected ? divide(right, self) : divide(self, right));
  };
}

// The quotient, if it is a whole number at all sizes.
Expr Quotient(const Expr& a, const Expr& b) {
  const std::optional<Expr> exact = DivideExactly(a, b);
  if (exact) return *exact;
  Raise(absl::InvalidArgumentError(
      absl::StrCat("(", a.Shortened(80), ") / (", b.Shortened(80),
                   ") is not a whole number at all sizes: // rounds down, and "
                   "evaluate(name=size) gives a number that any division takes")));
}

std::vector<std::string> BareSymbols(const Expr& expr) {
  std::vector<std::string> names;
  for (const std::string& name : expr.Symbols()) names.push_back(BareName(name));
  return names;
}

// Formulas of training memory hold from sizes of 2 on.
void RefuseTooSmall(const Bindings& least, const std::string& name, int64_t size,
                    const std::string& function) {
  const auto bound = least.find(name);
  if (bound == least.end() || bound->second < 2 || size >= bound->second) return;
  Raise(absl::InvalidArgumentError(
      absl::StrCat(function, ": this formula holds for ", BareName(name), " from ", bound->second,
                   " on, not for ", size, ": count the model at that size, as model.count(",
                   BareName(name), "=", size, ", memory=True)")));
}

// The sizes given in a call. A name that the formula does not contain is an error.
Bindings OwnSizes(const Expr& expr, const nb::kwargs& given, const std::string& function) {
  Bindings sizes = FromSizes(given, function);
  const std::vector<std::string> known = expr.Symbols();
  const Bindings least = SymbolBounds(expr);
  for (const auto& [name, size] : sizes) {
    if (std::binary_search(known.begin(), known.end(), name)) {
      RefuseTooSmall(least, name, size, function);
      continue;
    }
    const std::vector<std::string> bare = BareSymbols(expr);
    Raise(absl::InvalidArgumentError(
        absl::StrCat(function, ": the formula has no size ", QuotedSymbol(name),
                     DidYouMean(BareName(name), bare), "; it has ", absl::StrJoin(bare, ", "))));
  }
  return sizes;
}

nb::object Evaluate(const Expr& expr, const nb::kwargs& sizes) {
  return ToInt(Require(expr.Evaluate(OwnSizes(expr, sizes, "evaluate()"))));
}

nb::object Substitute(const Expr& expr, const nb::kwargs& sizes) {
  return ToNumber(expr.Substitute(OwnSizes(expr, sizes, "substitute()")));
}

// The state for pickle: the text, and the least value of each size, which decides comparisons.
nb::tuple Reduce(const Expr& expr) {
  nb::list bounds;
  for (const auto& [name, least] : SymbolBounds(expr)) {
    bounds.append(nb::make_tuple(nb::bytes(name.data(), name.size()), least));
  }
  const std::string text = expr.ToString();
  return nb::make_tuple(nb::module_::import_("onnxflops._pickle").attr("expr_of"),
                        nb::make_tuple(nb::bytes(text.data(), text.size()), bounds));
}

// The reverse; the bytes are untrusted.
nb::object FromPickle(const nb::bytes& text, const nb::list& bounds) {
  const Expr parsed =
      Require(ParseExpr(absl::string_view(text.c_str(), text.size()), 0, kMaxTerms));
  Replacements symbols;
  for (const nb::handle item : bounds) {
    if (!PyTuple_Check(item.ptr()) || nb::len(item) != 2) RaiseTypeError("a bound is a pair");
    const auto name = nb::cast<nb::bytes>(item[0]);
    const absl::string_view written(name.c_str(), name.size());
    if (written.empty() || SymbolLength(written) != written.size()) {
      Raise(absl::InvalidArgumentError("a pickled Expr has a bound of what is no size"));
    }
    const absl::int128 least = FromInt(item[1], "the bound of a pickled Expr");
    if (least < 0 || least > std::numeric_limits<int64_t>::max()) {
      Raise(absl::InvalidArgumentError("a pickled Expr has a bound that is no size"));
    }
    symbols.emplace(written, Expr::Symbol(written, static_cast<int64_t>(least)));
  }
  return ToNumber(parsed.Replace(symbols));
}

// The sum over samples; each list has one size per sample.
nb::object SumOver(const Expr& expr, const std::string& count, bool packed,
                   const nb::kwargs& given) {
  SampleSizes sizes;
  sizes.count = TypedSymbol(count);
  sizes.packed = packed;
  std::vector<std::vector<int64_t>> columns;
  for (const auto& [key, list] : given) {
    const std::string name = FromStr(key, "sum_over()");
    std::vector<int64_t> column;
    for (const nb::handle item : list) {
      Bindings size;
      AddSize(name, item, "sum_over()", &size);
      column.push_back(size.begin()->second);
      if (column.back() < 1 || column.size() > kMaxSamples) {
        Raise(absl::InvalidArgumentError(absl::StrCat("sum_over(): the sizes of ", Quoted(name),
                                                      " should be 1 or more, of at most ",
                                                      kMaxSamples, " samples")));
      }
    }
    sizes.symbols.push_back(TypedSymbol(name));
    columns.push_back(std::move(column));
  }
  const auto differs = [&](const auto& column) { return column.size() != columns[0].size(); };
  if (columns.empty() || columns[0].empty() ||
      std::any_of(columns.begin(), columns.end(), differs)) {
    Raise(absl::InvalidArgumentError("sum_over(): each sample has one size of every list"));
  }
  sizes.SetRows(columns);
  const Expr sum = SampleSum(std::move(sizes)).Of(expr);
  if (sum.error() != nullptr) {
    Raise(absl::OutOfRangeError(absl::StrCat("sum_over(): the sum ", sum.error())));
  }
  return ToNumber(sum);
}

nb::object Unbound(const Expr& expr) {
  Raise(absl::FailedPreconditionError(absl::StrCat(
      expr.Shortened(80), " depends on the sizes ", absl::StrJoin(BareSymbols(expr), ", "),
      ": evaluate(", BareSymbols(expr)[0], "=..., ...) gives the number")));
}

nb::list Symbols(const Expr& expr) {
  nb::list names;
  for (const std::string& name : BareSymbols(expr)) names.append(ToStr(name));
  return names;
}

// Parses an expression from a report or from user input.
nb::object Parse(const std::string& text) {
  constexpr absl::string_view kNotHere[] = {"abs",  "ceil", "ceiling", "exp",   "int",  "log",
                                            "log2", "mod",  "pow",     "round", "sqrt", "sum"};
  const Expr parsed = Require(ParseExpr(text));
  // "ceil(x)" could be the name of a size, as "nonzero(x)" is.
  for (const std::string& name : parsed.Symbols()) {
    const std::string function = name.substr(0, name.find('('));
    if (function == name || !absl::c_linear_search(kNotHere, function)) continue;
    Raise(absl::InvalidArgumentError(
        absl::StrCat("parse_expr(): ", Quoted(function), " is no function of a formula: ",
                     "floor, min, max and broadcast are, and (a + b - 1)//b rounds up")));
  }
  return ToNumber(parsed);
}

using Sign = const char*;

// As an operator: of what it does not take (None, a third argument of pow) Python has the error.
template <typename Function>
void DefineAs(nb::class_<Expr>* expr, const char* name, const Function& function, Sign shape) {
  expr->def(name, function, nb::is_operator(), nb::sig(absl::StrCat("def ", name, shape).c_str()));
}

void DefineArithmetic(nb::class_<Expr>* expr) {
  const Sign kNumber = "(self, other: int | Expr, /) -> int | Expr";
  const Sign kOne = "(self, /) -> int | Expr";
  DefineAs(expr, "__add__", Arithmetic("+", std::plus<>()), kNumber);
  DefineAs(expr, "__radd__", Arithmetic("+", std::plus<>(), true), kNumber);
  DefineAs(expr, "__sub__", Arithmetic("-", std::minus<>()), kNumber);
  DefineAs(expr, "__rsub__", Arithmetic("-", std::minus<>(), true), kNumber);
  DefineAs(expr, "__mul__", Arithmetic("*", std::multiplies<>()), kNumber);
  DefineAs(expr, "__rmul__", Arithmetic("*", std::multiplies<>(), true), kNumber);
  DefineAs(expr, "__truediv__", Division("/", &Quotient), kNumber);
  DefineAs(expr, "__rtruediv__", Division("/", &Quotient, true), kNumber);
  DefineAs(expr, "__floordiv__", Division("//", &FloorDiv), kNumber);
  DefineAs(expr, "__rfloordiv__", Division("//", &FloorDiv, true), kNumber);
  DefineAs(expr, "__mod__", Division("%", &Mod), kNumber);
  DefineAs(expr, "__rmod__", Division("%", &Mod, true), kNumber);
  DefineAs(expr, "__pow__", &Power, "(self, exponent: int, /) -> int | Expr");
  DefineAs(
      expr, "__neg__", [](const Expr& self) { return ToNumber(Expr(0) - self); }, kOne);
  DefineAs(
      expr, "__pos__", [](const Expr& self) { return ToNumber(self); }, kOne);
  DefineAs(expr, "__int__", &Unbound, "(self, /) -> int");
  DefineAs(expr, "__float__", &Unbound, "(self, /) -> float");
}

void DefineOrder(nb::class_<Expr>* expr) {
  const Sign kBool = "(self, other: int | Expr, /) -> bool";
  DefineAs(expr, "__lt__", Comparison("<", &ProvablyLess), kBool);
  DefineAs(expr, "__gt__",
           Comparison(">", [](const Expr& a, const Expr& b) { return ProvablyLess(b, a); }), kBool);
  DefineAs(expr, "__le__",
           Comparison("<=", [](const Expr& a, const Expr& b) { return Not(ProvablyLess(b, a)); }),
           kBool);
  DefineAs(expr, "__ge__",
           Comparison(">=", [](const Expr& a, const Expr& b) { return Not(ProvablyLess(a, b)); }),
           kBool);
  expr->def("__hash__",
            [](const Expr& e) { return static_cast<Py_ssize_t>(absl::HashOf(e) >> 1); });
  expr->def(
      "__eq__",
      [](const Expr& self, nb::handle other) -> nb::object {
        if (!IsNumber(other)) return NotImplemented();
        return nb::bool_(self == FromNumber(other, "Expr"));
      },
      nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"));
}

// Text forms, and conversions for other libraries.
void DefineForms(nb::class_<Expr>* expr) {
  expr->def("__str__", [](const Expr& e) { return ToStr(e.ToString()); });
  expr->def("__repr__",
            [](const Expr& e) { return ToStr(absl::StrCat("Expr('", e.Shortened(200), "')")); });
  expr->def(
      "__format__",
      [](const Expr& e, const nb::str& spec) {
        const nb::object format = nb::module_::import_("onnxflops._expr").attr("formatted");
        return nb::borrow<nb::str>(format(ToStr(e.ToString()), spec));
      },
      nb::sig("def __format__(self, format_spec: str, /) -> str"));
  expr->def(
      "to_sympy",
      [](const Expr& e) {
        return nb::module_::import_("onnxflops._expr").attr("to_sympy")(ToStr(e.ToString()));
      },
      nb::sig("def to_sympy(self) -> Any"),
      "The same as an expression of SymPy: sizes are symbols that are whole and not negative.");
  expr->def("__reduce__", &Reduce, nb::sig("def __reduce__(self) -> tuple[Any, ...]"));
}

void DefineSizes(nb::class_<Expr>* expr) {
  expr->def("evaluate", &Evaluate, nb::sig("def evaluate(self, **sizes: int) -> int"),
            "The int at these sizes. UnavailableError names a size that is missing, InvalidError "
            "one that the formula does not have.");
  expr->def("substitute", &Substitute, nb::sig("def substitute(self, **sizes: int) -> int | Expr"),
            "The same with these sizes put in; the others stay.");
  expr->def("sum_over", &SumOver, nb::arg("count"), nb::kw_only(), nb::arg("packed") = false,
            nb::arg("sizes"),
            nb::sig("def sum_over(self, count: str, /, *, packed: bool = False, "
                    "**sizes: Sequence[int]) -> int | Expr"),
            "The sum over samples of different sizes: sum_over(\"batch\", seq=[512, 300, 17]).\n\n"
            "`count` is the number of samples. What is linear in it is summed, what does not have\n"
            "it is taken once, and the rest is that of samples of the largest size.");
  expr->def_prop_ro("symbols", &Symbols, nb::sig("def symbols(self, /) -> list[str]"),
                    "The names of the sizes in it, sorted.");
}

}  // namespace

void DefineErrorsAndExpr(nb::module_& m) {
  nb::class_<Expr> expr(
      m, "Expr",
      "An exact whole number in terms of sizes that are not fixed yet.\n\n"
      "It prints as a formula, compares, and has + - * // % ** with ints and others. / is there "
      "if\n"
      "the quotient is a whole number at all sizes, and an error if not. f\"{e:,}\" groups "
      "digits.\n"
      "evaluate(batch=8) gives the int; int() and float() are errors that name the open sizes.");
  DefineArithmetic(&expr);
  DefineOrder(&expr);
  DefineForms(&expr);
  DefineSizes(&expr);
  DefineCopies(&expr);
  m.def("_expr", &FromPickle, nb::arg("text"), nb::arg("bounds"),
        nb::sig("def _expr(text: bytes, bounds: list[tuple[bytes, int]]) -> int | Expr"));
  m.def(
      "_bare_name", [](const std::string& written) { return ToStr(BareName(written)); },
      nb::arg("written"));
  m.def("parse_expr", &Parse, nb::arg("text"), nb::sig("def parse_expr(text: str) -> int | Expr"),
        "An Expr of its text: \"512*batch*seq^2 + 3\".");
}

}  // namespace onnxflops::python
