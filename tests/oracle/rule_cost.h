// What the program says of one operator on concrete shapes, for comparison with a loop.
#ifndef ONNXFLOPS_TESTS_ORACLE_RULE_COST_H_
#define ONNXFLOPS_TESTS_ORACLE_RULE_COST_H_

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "src/cost/cost.h"
#include "tests/oracle/counted.h"

namespace onnxflops::oracle {

struct Input {
  Sizes dims;
  int dtype = 1;                             // TensorProto.DataType; 1 is float
  std::optional<std::vector<int64_t>> ints;  // given as an initializer of these values
  bool absent = false;
};

using AttributeValue = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                                    std::vector<std::string>, std::vector<double>>;

// One node on concrete inputs.
struct Case {
  std::string op;
  int opset = 0;
  std::vector<Input> inputs;
  std::vector<std::pair<std::string, AttributeValue>> attributes;
  int outputs = 1;
  std::string domain;
  CausalCounting causal = CausalCounting::kFull;
};
std::string Describe(const Case& c);

struct RuleResult {
  Work work;
  std::vector<Sizes> output_dims;  // -1 for a dimension that is a symbol
};
// The model of the node, serialised.
std::string ModelOf(const Case& c);

// InvalidArgument when the program refuses the model, FailedPrecondition when it says that it does
// not know.
absl::StatusOr<RuleResult> CostByRule(const Case& c);

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_RULE_COST_H_
