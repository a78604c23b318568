// What TensorRT's layers stand for: the JSON of trtexec --exportLayerInfo, written with
// --profilingVerbosity=detailed.
//
//   {"Layers": [{"Name": "conv1 + relu", "Metadata": "[ONNX Layer: conv1]\u001f[ONNX Layer:
//   relu]"}]}
#ifndef ONNXFLOPS_SRC_PROFILE_LAYER_INFO_H_
#define ONNXFLOPS_SRC_PROFILE_LAYER_INFO_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "src/profile/profile.h"

namespace onnxflops {

// Sets Kernel::parts of the layers that the text says it of. `name` names it in errors:
// InvalidArgument for what is no such JSON, OutOfRange above kMaxReportBytes.
absl::Status AddLayerInfo(absl::string_view json, absl::string_view name, Profile* profile);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_PROFILE_LAYER_INFO_H_
