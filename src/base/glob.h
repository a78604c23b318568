// Patterns of names.
#ifndef ONNXFLOPS_SRC_BASE_GLOB_H_
#define ONNXFLOPS_SRC_BASE_GLOB_H_

#include "absl/strings/string_view.h"

namespace onnxflops {

// True if the whole text matches: * stands for any characters, ? for one character, which in UTF-8
// may be several bytes.
bool MatchesGlob(absl::string_view glob, absl::string_view text);

// True if the path, or its end from a dot on, matches: "wte" and "h.*.attn"
// match "m.wte" and "m.h.0.attn". `exact`: a path is there that matches as a
// whole, so the end does not count.
bool MatchesPath(absl::string_view glob, absl::string_view path, bool exact);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_GLOB_H_
