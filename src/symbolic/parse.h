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

// What a name stands for. An error keeps its code, and is told with the column of the name.
using NameValue = std::function<absl::StatusOr<Expr>(absl::string_view name)>;

// The value of a text in the language of ParseExpr, with identifiers as its only names. Errors:
// "column 5: expected a number, ...".
absl::StatusOr<Expr> ParseFormula(absl::string_view text, const NameValue& value_of,
                                  size_t max_terms = kMaxParsedTerms);

// x[at], or the product of x[begin:end]; an index that is left out is the first or the last.
struct FormulaPart {
  std::optional<Expr> at, begin, end;
};

// What the formulas of an operator can ask for, beside values of names.
struct FormulaNames {
  NameValue value;
  std::function<absl::StatusOr<Expr>(absl::string_view name, const FormulaPart& part)> part;
  // Whether a condition that the values leave open is an error, or any value will do: when only the
  // text is checked.
  bool must_decide = true;
};

// The same language with parts of names and with conditions, which are 1 or 0:
//   power      = primary ["^" primary], where the exponent comes to a number
//   comparison = sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum]
//   primary    = ... | name "[" sum "]" | name "[" [sum] ":" [sum] "]"
//              | "if" "(" comparison "," comparison "," comparison ")"
//              | "digits" "(" comparison ")": binary digits, ceil(log2(x + 1))
//              | "same" "(" comparison "," comparison ")": one size that is stated twice; a number
//                rather than a symbol
// A comparison stands alone, in parentheses or as an argument. What `if` does not choose is not
// looked up. FailedPrecondition when a condition is not decided.
absl::StatusOr<Expr> ParseFormula(absl::string_view text, const FormulaNames& names);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_PARSE_H_
