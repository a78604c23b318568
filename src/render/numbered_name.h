// Names of neighbours that differ in a number only, shown as one: resblocks.0 to resblocks.23.
#ifndef ONNXFLOPS_SRC_RENDER_NUMBERED_NAME_H_
#define ONNXFLOPS_SRC_RENDER_NUMBERED_NAME_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace onnxflops::report {

// True if `next` continues `count` names numbered one by one from `first`.
bool ContinuesNumbers(absl::string_view first, int64_t count, absl::string_view next);
// "resblocks.0-23" of 24 names. REQUIRES: they are numbered so.
std::string NumberedLabel(absl::string_view first, absl::string_view last, int64_t count);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_RENDER_NUMBERED_NAME_H_
