// The operators that are supported, as values, and their writers.
//
//   for (const onnxflops::Operator& op : onnxflops::Operators()) ... op.name, op.formula
//   std::cout << ToTable(onnxflops::Operators(rules), {.width = 80});
#ifndef ONNXFLOPS_SRC_OPERATORS_OPERATOR_LIST_H_
#define ONNXFLOPS_SRC_OPERATORS_OPERATOR_LIST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "src/render/document.h"
#include "src/report/view_options.h"

namespace onnxflops {

// One operator, in the versions that share one rule.
struct Operator {
  // Free: it only moves or looks at data. Unknown: it has no rule.
  enum class Status : uint8_t { kCounted, kFree, kUnknown };
  struct Formula {
    std::string name, text;  // "mac", "M*N*K"
  };
  // Formulas as data, in the language of rules (docs/rules.md).
  struct Formulas {
    std::string computes;   // in words; "" of the user's own
    std::string signature;  // "A[M, K] B[K, N] -> Y[M, N]"; "" if not needed
    std::vector<Formula> attributes, lets;
    std::vector<Formula> costs;  // by kind of work; empty: free
  };
  struct Example {
    std::string text;  // in ONNX's text form
    std::string cost;
  };

  std::string domain;  // "" for ai.onnx
  std::string name;
  std::vector<int> versions;  // the opsets that changed something
  Status status = Status::kUnknown;
  std::string formula;               // in one line
  std::string words;                 // its computation in words
  std::optional<Formulas> formulas;  // nullopt: its work is stated in words only
  std::string gradient, note;
  std::vector<std::string> exceptions;  // to "a fused operator costs as much as its parts"
  std::vector<Example> examples;
  bool users_own = false;
};

// For terminals: a row for each.
Document ToDocument(absl::Span<const Operator> operators);
std::string ToCsv(absl::Span<const Operator> operators);
// JSON: "onnxflops.ops/1" (tools/schema/ops.v1.schema.json).
std::string ToJson(absl::Span<const Operator> operators);
// Versions, formula, costs and examples of one operator. `width`: in columns.
std::string ToText(const Operator& op, int width);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_OPERATORS_OPERATOR_LIST_H_
