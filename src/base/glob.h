// Names by a pattern: * stands for any signs, ? for one.
//
//   MatchesGlob("visual.*.mlp", "visual.resblocks.0.mlp")   // true
#ifndef ONNXFLOPS_SRC_BASE_GLOB_H_
#define ONNXFLOPS_SRC_BASE_GLOB_H_

#include "absl/strings/string_view.h"

namespace onnxflops {

// In time proportional to the product of both sizes, at most.
bool MatchesGlob(absl::string_view glob, absl::string_view text);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_GLOB_H_
