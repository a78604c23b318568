// The text of devices.toml, compiled in (cmake/embedded_texts.cmake).
#ifndef ONNXFLOPS_SRC_HARDWARE_DEVICES_TEXT_H_
#define ONNXFLOPS_SRC_HARDWARE_DEVICES_TEXT_H_

#include "absl/strings/string_view.h"

namespace onnxflops {

extern const absl::string_view kDevicesToml;

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_HARDWARE_DEVICES_TEXT_H_
