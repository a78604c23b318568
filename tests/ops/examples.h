// The examples of the operator rows, as models.
#ifndef ONNXFLOPS_TESTS_OPS_EXAMPLES_H_
#define ONNXFLOPS_TESTS_OPS_EXAMPLES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "ops/examples.h"
#include "ops/op_def.h"

namespace onnxflops {

struct Example {
  std::string domain;
  const OpDef* def;
  ExampleText example;
};

// Of every row of every family, in their order.
std::vector<Example> AllExamples();

// Those, with "DOMAIN.OP NUMBER" of each.
std::vector<std::pair<std::string, Example>> NamedExamples();

// The example's graph, at the opset that it names or else the row's newest. Errors: InvalidArgument
// when its text does not parse.
absl::StatusOr<onnx::ModelProto> ExampleModel(const Example& e);

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_OPS_EXAMPLES_H_
