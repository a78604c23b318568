// All formulas of a report, written anew.
#ifndef ONNXFLOPS_SRC_DIFF_MAP_FORMULAS_H_
#define ONNXFLOPS_SRC_DIFF_MAP_FORMULAS_H_

#include <functional>

#include "absl/status/status.h"
#include "src/report/report.h"
#include "src/symbolic/expr.h"

namespace onnxflops::diff {

// Puts map(formula) in the place of each formula of totals, modules, operators, nodes and shapes.
// Equal formulas are mapped once. OutOfRange if one gets too long.
absl::Status MapFormulas(const std::function<Expr(const Expr&)>& map, Report* report);

}  // namespace onnxflops::diff

#endif  // ONNXFLOPS_SRC_DIFF_MAP_FORMULAS_H_
