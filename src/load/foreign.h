// Recognises files that are not ONNX models by their first bytes.
#ifndef ONNXFLOPS_SRC_LOAD_FOREIGN_H_
#define ONNXFLOPS_SRC_LOAD_FOREIGN_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace onnxflops::load {

// How many bytes of the beginning suffice.
inline constexpr size_t kForeignPrefix = 512;

// "a PNG image, not an ONNX model"; nullptr for what may be a model, or anything. A model is never
// asked: its bytes could look like something else, but something else cannot be read as a model.
const char* IdentifyForeign(absl::string_view prefix);

}  // namespace onnxflops::load

#endif  // ONNXFLOPS_SRC_LOAD_FOREIGN_H_
