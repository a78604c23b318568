// Formulas over names that the caller gives values to.
//
//   ParseFormula("heads*seq^2", [&](absl::string_view name) { return sizes.Find(name); })
#ifndef ONNXFLOPS_SRC_SYMBOLIC_PARSE_H_
#define ONNXFLOPS_SRC_SYMBOLIC_PARSE_H_

#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// Gives the value of a name. An error keeps its code; the column of the name is added.
using NameValue = std::function<absl::StatusOr<Expr>(absl::string_view name)>;

// The value of a text in the language of ParseExpr, with identifiers as its only names. Errors:
// "column 5: expected a number, ...".
absl::StatusOr<Expr> ParseFormula(absl::string_view text, const NameValue& value_of,
                                  size_t max_terms = kMaxParsedTerms);

// x[at], or the product of x[begin:end]; an index that is left out is the first or the last.
struct FormulaPart {
  std::optional<Expr> at, begin, end;
};

// Lookups that an operator's formula may use, in addition to values of names.
struct FormulaNames {
  NameValue value;
  std::function<absl::StatusOr<Expr>(absl::string_view name, const FormulaPart& part)> part;
  // True if an undecided condition is an error; false if only the text is checked, so that any
  // value will do.
  bool must_decide = true;
};

// The same language with parts of names and with conditions, which are 1 or 0:
//   power      = primary ["^" primary], where the exponent evaluates to a number
//   comparison = sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum]
//   primary    = ... | name "[" sum "]" | name "[" [sum] ":" [sum] "]"
//              | "if" "(" comparison "," comparison "," comparison ")"
//              | "digits" "(" comparison ")": binary digits, ceil(log2(x + 1))
//              | "same" "(" comparison "," comparison ")": one size that is stated twice; a number
//                rather than a symbol
// A comparison is a whole formula, in parentheses, or an argument. Names in a branch of `if` that
// is not taken are not looked up. FailedPrecondition if a condition is undecided.
absl::StatusOr<Expr> ParseFormula(absl::string_view text, const FormulaNames& names);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_PARSE_H_
