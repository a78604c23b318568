// Texts of the program in the words of Python: "--backward 'exat': ..." becomes "backward='exat':
// ...".
#ifndef ONNXFLOPS_SRC_PYTHON_ARGUMENT_WORDS_H_
#define ONNXFLOPS_SRC_PYTHON_ARGUMENT_WORDS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "src/settings/table.h"

namespace onnxflops::python {

// What is an option of no function stays, and so does what stands between backticks: commands.
std::string ArgumentWords(absl::string_view text);

// "grad_accumulation" of grad-accumulation.
std::string ArgumentName(const settings::Row& option);

}  // namespace onnxflops::python

#endif  // ONNXFLOPS_SRC_PYTHON_ARGUMENT_WORDS_H_
