// Signatures and help texts in Python for functions that take the program's options, with one line
// for each option.
#ifndef ONNXFLOPS_SRC_PYTHON_SIGNATURES_H_
#define ONNXFLOPS_SRC_PYTHON_SIGNATURES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "src/settings/table.h"

namespace onnxflops::python {

// The text of a signature, and of help().
struct Shown {
  std::string signature, help;
};

// `head` is the function up to the arguments before the options, and `result` its type:
//   ShowFunction("def explain(self, node: str", "Explanation", "Why a node ...", list)
// `sizes` is the type of sizes passed by name; "" if the function takes none.
Shown ShowFunction(absl::string_view head, absl::string_view result, absl::string_view help,
                   const settings::Table& list, absl::string_view sizes = "int");

// The same of groups of options.
template <typename... Arguments>
Shown ShowFunctionOf(absl::string_view head, absl::string_view result, absl::string_view help,
                     Arguments... groups) {
  settings::Table list;
  (groups.AddTo(&list), ...);
  return ShowFunction(head, result, help, list);
}

}  // namespace onnxflops::python

#endif  // ONNXFLOPS_SRC_PYTHON_SIGNATURES_H_
