// Patterns of names.
#ifndef ONNXFLOPS_SRC_BASE_GLOB_H_
#define ONNXFLOPS_SRC_BASE_GLOB_H_

#include "absl/strings/string_view.h"

namespace onnxflops {

// True if the whole text matches: * stands for any characters, ? for one character, which in UTF-8
// may be several bytes.
bool MatchesGlob(absl::string_view glob, absl::string_view text);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_GLOB_H_
