// The line of Python that made a node. The dynamo exporter writes a stack trace to every node, with
// the frames of methods named forward:
//
//   File "torchvision/models/resnet.py", line 285, in forward
//     return self._forward_impl(x)
//   File "torchvision/models/resnet.py", line 102, in forward
//     out += identity
//
// The last line called the operator, or a function that did: frames of functions are missing.
#ifndef ONNXFLOPS_SRC_EXPORTER_SOURCE_LINE_H_
#define ONNXFLOPS_SRC_EXPORTER_SOURCE_LINE_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace onnxflops::exporter {

// "out += identity"; or empty.
absl::string_view LastSourceLine(absl::string_view stack_trace);

// True if the last line belongs to torch.nn's own modules, such as the inherited forward of a
// subclass.
bool IsLineOfTorchNn(absl::string_view stack_trace);

// How a line calls an operator.
enum class Spelling : uint8_t {
  kNone,        // it does not: another function does it
  kSymbol,      // x + y
  kInPlace,     // x += y, x.add_(y)
  kTorch,       // torch.add(x, y)
  kMethod,      // x.add(y)
  kFunctional,  // F.relu(x), nn.functional.relu(x)
  kSeveral,     // more than one of these
};

// What a name in a line may stand for, as far as the file shows.
struct LineNames {
  // True if the name after "self." is a module; calls inside a module have lines of their own.
  absl::FunctionRef<bool(absl::string_view)> is_module;
  // True if "h" or "self.bank" may be an object of one of the model's own classes, whose methods
  // and operators may call anything.
  absl::FunctionRef<bool(absl::string_view)> is_object;
};

struct SpelledCall {
  Spelling spelling = Spelling::kNone;
  // The line is the whole statement, calls the operator in this way only, and nothing else that it
  // calls may call it.
  bool is_settled = false;
};

// How the line calls the operator of this name ("add"), also as the Python operator `symbol` ('+';
// 0: none). A line beyond kMaxSourceLine gives no answer.
SpelledCall FindSpelling(absl::string_view line, absl::string_view name, char symbol,
                         const LineNames& names);

// The arguments of the first call of `name` in the line, "relu(input=x)": each as written, with its
// keyword if it has one. `is_whole` is true if the call ends in the line.
struct LineArgument {
  absl::string_view keyword, value;  // "input", "x"; of "**d" the keyword is "**"
};
struct LineArguments {
  bool is_there = false, is_whole = false;
  std::vector<LineArgument> arguments;

  const LineArgument* Find(absl::string_view keyword) const;
};
LineArguments ArgumentsIn(absl::string_view line, absl::string_view name);

// The lines of all frames, from the outermost on.
std::vector<absl::string_view> SourceLines(absl::string_view stack_trace);
// "torch.vmap": a function in the line that transforms calls, so that tools which watch PyTorch see
// other calls than the file has. Empty if there is none.
absl::string_view TransformIn(absl::string_view line);
// "h", of "h = Helper(x)" and "h = make(x)": the variable to which the line may assign an object of
// a non-PyTorch class, or empty.
absl::string_view ObjectMadeIn(absl::string_view line);

}  // namespace onnxflops::exporter

#endif  // ONNXFLOPS_SRC_EXPORTER_SOURCE_LINE_H_
