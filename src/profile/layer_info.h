// The nodes of TensorRT's layers, from the JSON of trtexec --exportLayerInfo, written with
// --profilingVerbosity=detailed.
//
//   {"Layers": [{"Name": "conv1 + relu",
//                "Metadata": "[ONNX Layer: conv1]\u001f[ONNX Layer: relu]"}]}
#ifndef ONNXFLOPS_SRC_PROFILE_LAYER_INFO_H_
#define ONNXFLOPS_SRC_PROFILE_LAYER_INFO_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "src/profile/measured.h"

namespace onnxflops {

// Sets Kernel::parts of the layers in the text. `name` stands for the file in errors:
// InvalidArgument for any other JSON, OutOfRange above kMaxReportBytes.
absl::Status AddLayerInfo(absl::string_view json, absl::string_view name, Profile* profile);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_PROFILE_LAYER_INFO_H_
