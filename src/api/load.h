// The first stage as users see it: a model in a file, whatever its form.
#ifndef ONNXFLOPS_SRC_API_LOAD_H_
#define ONNXFLOPS_SRC_API_LOAD_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/base/limits.h"
#include "src/graph/model.h"
#include "src/load/load_file.h"  // LoadFromBytes

namespace onnxflops {

// Loads an .onnx file, or "-" for standard input. Also loads a configuration of a model family
// (src/family/family.h), a folder that holds one, and a model written as text (text_forms.h), which
// the official library reads in a separate process. The extension of a file decides its form. For
// standard input the first bytes decide, if they can be read without consuming them (a file, a
// pipe). Errors name the file and the fault: see src/load/load_file.h.
absl::StatusOr<Model> Load(absl::string_view path, const Limits& limits = {});

// The same for a count: if `options` give the image input (pixel_values, image) another size than
// the configuration does, the model is built at that size.
absl::StatusOr<Model> LoadFor(absl::string_view path, const CountOptions& options);

// The same for an open file, from its current position. `path` decides the form and appears in
// errors.
absl::StatusOr<Model> LoadOpen(int fd, absl::string_view path, const CountOptions& options);

// Makes the ModelProto that Load() counts for a configuration, to be written to a file. Its weights
// are external data that does not exist; they name `saved`, the future file.
absl::StatusOr<std::string> ConfigFileToOnnx(absl::string_view path, absl::string_view saved);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_LOAD_H_
