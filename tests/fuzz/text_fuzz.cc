// Fuzz target: whatever a model written as text holds, it is read or refused in one line.
//
// The first byte chooses the form; the rest is the text.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/require.h"
#include "tools/official/text_form.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace onnxflops;         // NOLINT(google-build-using-namespace): two lines
  using namespace onnxflops::tools;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  constexpr TextForm kForms[] = {TextForm::kOnnx, TextForm::kProtobuf, TextForm::kJson};
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const absl::StatusOr<onnx::ModelProto> model = ReadText(kForms[data[0] % 3], text);
  if (!model.ok()) RequireOneLine(model.status(), "");
  TextFormOfBytes(text);
  return 0;
}
