// The text forms of a model, and how to recognise each.
#ifndef ONNXFLOPS_SRC_API_TEXT_FORMS_H_
#define ONNXFLOPS_SRC_API_TEXT_FORMS_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace onnxflops {

enum class TextForm : uint8_t {
  kNone,      // binary
  kOnnx,      // ONNX's own syntax: g (float[N] x) => (float[N] y) { y = Relu(x) }
  kProtobuf,  // Protobuf's text format: ir_version: 8 graph { ... }
  kJson,      // Protobuf's JSON
};

// "onnxtxt", "textproto", "json": how the program and its second program name them.
const char* NameOf(TextForm form);
TextForm TextFormNamed(absl::string_view name);

// By the extension, as the official library decides.
TextForm TextFormOfFile(absl::string_view path);

// Recognises a form by its first bytes. No binary model begins like any of them, because its first
// byte is the tag of one of ModelProto's fields.
TextForm TextFormOfBytes(absl::string_view beginning);
inline constexpr size_t kTextFormPrefix = 256;

// True if a text is JSON but not an ONNX model; then it can only be a configuration.
bool IsOtherJson(absl::string_view beginning);

// True if a file is a model as text. For JSON its first key must be a field of ModelProto.
bool IsTextModel(absl::string_view path, absl::string_view beginning);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_TEXT_FORMS_H_
