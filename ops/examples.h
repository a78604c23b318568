// The examples of an operator: those that its row writes, and those that a pattern makes for all
// rows of a kind (OpDef::patterns).
#ifndef ONNXFLOPS_OPS_EXAMPLES_H_
#define ONNXFLOPS_OPS_EXAMPLES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/op_def.h"

namespace onnxflops {

// See OpExample; the text is a graph in ONNX's form.
struct ExampleText {
  std::string text;
  std::string cost;
  int opset = 0;
};

std::vector<ExampleText> ExamplesOf(absl::string_view domain, const OpDef& row);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_EXAMPLES_H_
