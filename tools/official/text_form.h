// Reads models written as text, through the official ONNX library and Protobuf.
//
// The nesting of brackets is checked before either sees the text, since both readers recurse. Their
// errors are brought into one form with line and column:
//
//   absl::StatusOr<onnx::ModelProto> model = ReadText(TextForm::kOnnx, text);
//   model.status().message()   // "line 3, column 5: Expected character = not found."
#ifndef ONNXFLOPS_TOOLS_OFFICIAL_TEXT_FORM_H_
#define ONNXFLOPS_TOOLS_OFFICIAL_TEXT_FORM_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "onnx/onnx_pb.h"
#include "src/api/text_forms.h"

namespace onnxflops::tools {

// The ModelProto that `text` says. Neither throws nor aborts. REQUIRES: less than 2 GiB.
absl::StatusOr<onnx::ModelProto> ReadText(TextForm form, absl::string_view text);

// InvalidArgument or OutOfRange if brackets nest deeper than kMaxTextNesting.
absl::Status CheckNesting(TextForm form, absl::string_view text);

// "line 3, column 5: what", of a place in `text`.
absl::Status FaultAt(absl::string_view text, size_t place, absl::string_view what);

// json_text.cc: TextForm::kJson, of a text whose nesting has been checked.
absl::Status ReadJson(absl::string_view text, onnx::ModelProto* model);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_OFFICIAL_TEXT_FORM_H_
