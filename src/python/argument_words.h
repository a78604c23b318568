// Texts of the program in the words of Python: "--backward 'exat': ..." becomes "backward='exat':
// ...".
#ifndef ONNXFLOPS_SRC_PYTHON_ARGUMENT_WORDS_H_
#define ONNXFLOPS_SRC_PYTHON_ARGUMENT_WORDS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "src/render/document.h"
#include "src/settings/table.h"

namespace onnxflops::python {

// A setting that only the program has is its bare name. What stands between backticks stays:
// commands.
std::string ArgumentWords(absl::string_view text);
// The same of a text of a screen, without hints at options for screens: "submodules of 5 rows not
// shown: --depth N opens them" becomes "submodules of 5 rows not shown".
std::string ScreenWords(absl::string_view text);
// A document with its texts in these words.
Document InPython(Document document);

// "grad_accumulation" of grad-accumulation.
std::string ArgumentName(const settings::Row& option);

}  // namespace onnxflops::python

#endif  // ONNXFLOPS_SRC_PYTHON_ARGUMENT_WORDS_H_
