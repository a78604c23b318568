// Patterns of names.
#ifndef ONNXFLOPS_SRC_BASE_GLOB_H_
#define ONNXFLOPS_SRC_BASE_GLOB_H_

#include "absl/strings/string_view.h"

namespace onnxflops {

// Whether all of `text` matches: * stands for any signs, ? for one, which in UTF-8 may be several
// bytes.
bool MatchesGlob(absl::string_view glob, absl::string_view text);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_GLOB_H_
