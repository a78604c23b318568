// Recognises files that are not ONNX models by their first bytes.
#ifndef ONNXFLOPS_SRC_LOAD_FOREIGN_H_
#define ONNXFLOPS_SRC_LOAD_FOREIGN_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace onnxflops::load {

// How many bytes of the beginning suffice.
inline constexpr size_t kForeignPrefix = 512;

// "a PNG image, not an ONNX model"; nullptr if it may be a model, or is unknown. Only called for
// files that cannot be read as a model, because a model's bytes could look like another format.
const char* IdentifyForeign(absl::string_view prefix);

}  // namespace onnxflops::load

#endif  // ONNXFLOPS_SRC_LOAD_FOREIGN_H_
