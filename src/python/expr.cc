// onnxflops.Expr: an exact whole number that may contain sizes that are not fixed.
#include "src/symbolic/expr.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/python/convert.h"
#include "src/python/types.h"
#include "src/symbolic/sample_sum.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;

nb::object NotImplemented() { return nb::borrow(Py_NotImplemented); }

// A binary operator; of what is no number Python asks the other side.
template <typename Operator>
auto Arithmetic(const Operator& apply, bool reflected = false) {
  return [apply, reflected](const Expr& self, nb::handle other) -> nb::object {
    if (!IsNumber(other)) return NotImplemented();
    const Expr right = FromNumber(other, "Expr");
    return ToNumber(reflected ? apply(right, self) : apply(self, right));
  };
}

// A comparison that holds at all sizes, or fails at all; otherwise it cannot be told.
template <typename Decide>
auto Comparison(const char* sign, const Decide& decide) {
  return [sign, decide](const Expr& self, nb::handle other) -> nb::object {
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
  if (!IsInt(exponent)) return NotImplemented();
  const absl::int128 power = FromInt(exponent, "Expr");
  if (power >= 0 && power <= kMostPower) {
    return ToNumber(onnxflops::Power(base, static_cast<int>(power)));
  }
  Raise(absl::InvalidArgumentError("an exponent of an Expr is from 0 to 64"));
}

nb::object Evaluate(const Expr& expr, const nb::kwargs& sizes) {
  return ToInt(Require(expr.Evaluate(FromSizes(sizes, "evaluate()"))));
}

nb::object Substitute(const Expr& expr, const nb::kwargs& sizes) {
  return ToNumber(expr.Substitute(FromSizes(sizes, "substitute()")));
}

// The sum over samples, of which each has one of every list.
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
      expr.Shortened(80), " depends on the sizes: evaluate(name=size) gives the number")));
}

nb::list Symbols(const Expr& expr) {
  nb::list names;
  for (const std::string& name : expr.Symbols()) names.append(ToStr(BareName(name)));
  return names;
}

// What is written in a report, or typed by a person.
nb::object Parse(const std::string& text) { return ToNumber(Require(ParseExpr(text))); }

}  // namespace

void DefineErrorsAndExpr(nb::module_& m) {
  nb::class_<Expr> expr(m, "Expr",
                        "An exact whole number in terms of sizes that are not fixed yet.\n\n"
                        "It prints as a formula, compares, and has + - * with ints and others.\n"
                        "evaluate(batch=8) gives the int.");
  expr.def("__str__", [](const Expr& e) { return ToStr(e.ToString()); });
  expr.def("__repr__",
           [](const Expr& e) { return ToStr(absl::StrCat("Expr('", e.Shortened(200), "')")); });
  expr.def("__hash__", [](const Expr& e) { return static_cast<Py_ssize_t>(absl::HashOf(e) >> 1); });
  expr.def(
      "__eq__",
      [](const Expr& self, nb::handle other) -> nb::object {
        if (!IsNumber(other)) return NotImplemented();
        return nb::bool_(self == FromNumber(other, "Expr"));
      },
      nb::sig("def __eq__(self, other: object, /) -> bool"));
  using Sign = const char*;
  const Sign kNumber = "(self, other: int | Expr, /) -> int | Expr";
  const auto define = [&](const char* name, const auto& function, Sign shape) {
    expr.def(name, function, nb::sig(absl::StrCat("def ", name, shape).c_str()));
  };
  define("__add__", Arithmetic(std::plus<>()), kNumber);
  define("__radd__", Arithmetic(std::plus<>(), true), kNumber);
  define("__sub__", Arithmetic(std::minus<>()), kNumber);
  define("__rsub__", Arithmetic(std::minus<>(), true), kNumber);
  define("__mul__", Arithmetic(std::multiplies<>()), kNumber);
  define("__rmul__", Arithmetic(std::multiplies<>(), true), kNumber);
  define("__pow__", &Power, "(self, exponent: int, /) -> int | Expr");
  define(
      "__neg__", [](const Expr& self) { return ToNumber(Expr(0) - self); },
      "(self, /) -> int | Expr");
  define("__int__", &Unbound, "(self, /) -> int");
  define("__float__", &Unbound, "(self, /) -> float");
  const Sign kBool = "(self, other: int | Expr, /) -> bool";
  define("__lt__", Comparison("<", &ProvablyLess), kBool);
  define("__gt__", Comparison(">", [](const Expr& a, const Expr& b) { return ProvablyLess(b, a); }),
         kBool);
  define("__le__",
         Comparison("<=", [](const Expr& a, const Expr& b) { return Not(ProvablyLess(b, a)); }),
         kBool);
  define("__ge__",
         Comparison(">=", [](const Expr& a, const Expr& b) { return Not(ProvablyLess(a, b)); }),
         kBool);
  expr.def("evaluate", &Evaluate, nb::sig("def evaluate(self, **sizes: int) -> int"),
           "The int at these sizes. UnavailableError names a size that is missing.");
  expr.def("substitute", &Substitute, nb::sig("def substitute(self, **sizes: int) -> int | Expr"),
           "The same with these sizes put in; the others stay.");
  expr.def("sum_over", &SumOver, nb::arg("count"), nb::kw_only(), nb::arg("packed") = false,
           nb::arg("sizes"),
           nb::sig("def sum_over(self, count: str, /, *, packed: bool = False, "
                   "**sizes: Sequence[int]) -> int | Expr"),
           "The sum over samples of different sizes: sum_over(\"batch\", seq=[512, 300, 17]).\n\n"
           "`count` is the number of samples. What is linear in it is summed, what does not have\n"
           "it is taken once, and the rest is that of samples of the largest size.");
  expr.def_prop_ro("symbols", &Symbols, nb::sig("def symbols(self, /) -> list[str]"),
                   "The names of the sizes in it, sorted.");
  m.def("parse_expr", &Parse, nb::arg("text"), nb::sig("def parse_expr(text: str) -> int | Expr"),
        "An Expr of its text: \"512*batch*seq^2 + 3\".");
}

}  // namespace onnxflops::python
