// Lists the supported operators and their costs.
//
//   for (const Operator& op : Operators()) ... op.name, op.formula
//   absl::StatusOr<std::vector<Operator>> conv = FindOperators("Conv");
#ifndef ONNXFLOPS_SRC_API_OPERATORS_H_
#define ONNXFLOPS_SRC_API_OPERATORS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/user/user_rules.h"
#include "src/operators/operator_list.h"

namespace onnxflops {

// Ordered by domain and name, and for one operator by version. Those of `rules` precede ours.
std::vector<Operator> Operators(const Rules& rules = {});

// Those of a name or pattern, with or without the domain: "Conv", "ai.onnx.Conv", "QLinear*".
// Errors: NotFound, with names that are similar.
absl::StatusOr<std::vector<Operator>> FindOperators(absl::string_view name,
                                                    const Rules& rules = {});

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_OPERATORS_H_
