// What exporters write as several operators and is one call of PyTorch, where the file does not say
// so. Autograd keeps for the call: its input, not what is between the operators.
#ifndef ONNXFLOPS_OPS_CALL_PATTERNS_H_
#define ONNXFLOPS_OPS_CALL_PATTERNS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace onnxflops {

struct CallPattern {
  enum class Keeps : uint8_t {
    kInputs,  // what goes into it
    kResult,  // its output
    kRows,    // what goes into it, and mean and deviation of every row
    kNothing,
    kGuard,    // its output is its input
    kWritten,  // what its operators keep as they are written
    kBoth,     // what goes into it, and its output
    kCosine,   // what goes into it, x and y, both divided by their norms, and each norm twice
    kBuffer,   // what goes into it, and a buffer of the same size
  };
  const char* call;  // in PyTorch
  // The operators, the last one first: "Mul*(x, Sigmoid(x))". x, y, z: any value, the same at all
  // places. k: a constant of the file, or a number that is made of sizes. The two arguments after
  // a * stand in any order; further ones of others may be there. Of an operator with several
  // outputs, any of them. rows=: it has an element for every row.
  const char* operators;
  Keeps keeps = Keeps::kInputs;
  bool in_any_export = false;  // otherwise of TorchScript, which does not state calls
  int before_opset = 0;        // a file of this opset or a later one has an operator for it
  const char* more = nullptr;  // why PyTorch may keep more: a lower bound
  // Why it does unless the nodes are a module of their own, as of nn.SiLU: modules may write the
  // call out.
  const char* by_hand = nullptr;
  const char* module = nullptr;  // a class of torch.nn that is this call, whatever `more` says
};

// A longer one before those that are parts of it.
absl::Span<const CallPattern> CallPatterns();

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_CALL_PATTERNS_H_
