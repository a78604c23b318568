// load: reads a .onnx file, or its bytes, into a Model.
//
// The wire format is read directly, without protobuf's generated classes and without touching
// weights: the payload of a tensor with more than kMaxIntContent elements is skipped by seeking, so
// only the size of the graph matters, not that of the file. External data is never opened.
//
//   absl::StatusOr<Model> model = LoadFile("clip.onnx");
//
// Errors name the file and the fault: NotFound, PermissionDenied, InvalidArgument (not ONNX,
// truncated, inconsistent: duplicate names, missing values, cycles with their nodes, payloads that
// do not match their shape), OutOfRange (a limit of limits.h).
#ifndef ONNXFLOPS_SRC_LOAD_LOAD_FILE_H_
#define ONNXFLOPS_SRC_LOAD_LOAD_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/graph/model.h"

namespace onnxflops {

// `path` may be "-": then the model is called "standard input".
absl::StatusOr<Model> LoadFile(absl::string_view path);

// Copies the parts of `bytes` that it keeps; `name` stands for the path in errors and reports.
// `warnings` come from the maker of the bytes and precede those of the model.
absl::StatusOr<Model> LoadFromBytes(absl::string_view bytes, absl::string_view name = "<bytes>",
                                    std::vector<std::string> warnings = {});

// As LoadFromBytes, of bytes that the model keeps: they are not copied.
absl::StatusOr<Model> LoadOwnBytes(std::string bytes, absl::string_view name,
                                   std::vector<std::string> warnings = {});

// Reads a model from an open descriptor, such as a pipe, from its current position to the end.
absl::StatusOr<Model> LoadFromStream(int fd, absl::string_view name);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_LOAD_LOAD_FILE_H_
