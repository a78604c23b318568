// Formulas over names that the caller gives values to.
//
//   ParseFormula("heads*seq^2", [&](absl::string_view name) { return sizes.Find(name); })
#ifndef ONNXFLOPS_SRC_SYMBOLIC_PARSE_H_
#define ONNXFLOPS_SRC_SYMBOLIC_PARSE_H_

#include <functional>

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

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_PARSE_H_
