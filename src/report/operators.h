// The operators that are supported, as lists and one by one.
//
//   std::cout << DrawText(OperatorTable(ListOperators(rules)), {.width = 80});
#ifndef ONNXFLOPS_SRC_REPORT_OPERATORS_H_
#define ONNXFLOPS_SRC_REPORT_OPERATORS_H_

#include <string>
#include <vector>

#include "ops/registry.h"
#include "ops/user/user_rules.h"
#include "src/report/text_table.h"

namespace onnxflops {

struct OperatorLine {
  const char* domain;
  const OpDef* row;
};

// By domain and name; rows of one operator by version. REQUIRES: `rules` outlives them.
std::vector<OperatorLine> ListOperators(const Rules& rules);

TextTable OperatorTable(const std::vector<OperatorLine>& lines);
// "onnxflops.ops/1": DESIGN.md 8.
std::string ToJson(const std::vector<OperatorLine>& lines);
// Versions, formula, costs and examples of one row.
std::string ToText(const OperatorLine& line, int width);

}  // namespace onnxflops

namespace onnxflops::report {

// What the row computes, and what that costs by kind of work, in one line.
std::string FormulaLine(const OpDef& row);

// What the gradients of the row's inputs are: "dX = dY * Y"; "unknown".
std::string GradientLine(const OpDef& row);

// "always: the body ... (costs more in add, cmp)".
std::string ExceptionText(const OpException& exception);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_OPERATORS_H_
