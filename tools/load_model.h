// How the program reads a model that a user names: what the library reads, and text.
#ifndef ONNXFLOPS_TOOLS_LOAD_MODEL_H_
#define ONNXFLOPS_TOOLS_LOAD_MODEL_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/limits.h"
#include "src/graph/model.h"

namespace onnxflops::tools {

// Load(), and models written as text (tools/text_forms.h), which the official library reads in a
// program of its own. Of a file the extension decides; of standard input how it begins, if it can
// be looked at without being taken (a file, a pipe).
absl::StatusOr<Model> LoadModel(absl::string_view path, const Limits& limits);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_LOAD_MODEL_H_
