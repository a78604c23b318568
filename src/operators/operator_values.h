// Rows of ops/ as values that own their text.
#ifndef ONNXFLOPS_SRC_OPERATORS_OPERATOR_VALUES_H_
#define ONNXFLOPS_SRC_OPERATORS_OPERATOR_VALUES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "ops/op_def.h"
#include "src/operators/operator_list.h"

namespace onnxflops::report {

Operator OperatorOf(absl::string_view domain, const OpDef& row);

// What the row computes, and its costs by kind of work, in one line.
std::string FormulaLine(const OpDef& row);

// Further remarks on the row, or "".
std::string NoteLine(const OpDef& row);

// The gradients of the row's inputs: "dX = dY * Y"; "unknown".
std::string GradientLine(const OpDef& row);

// "always: the body ... (costs more in add, cmp)".
std::string ExceptionText(const OpException& exception);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_OPERATORS_OPERATOR_VALUES_H_
