// The text of zoos.csv, compiled in (cmake/embedded_texts.cmake).
#ifndef ONNXFLOPS_SRC_SETTINGS_ZOOS_TEXT_H_
#define ONNXFLOPS_SRC_SETTINGS_ZOOS_TEXT_H_

#include "absl/strings/string_view.h"

namespace onnxflops::settings {

extern const absl::string_view kZoosCsv;

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_ZOOS_TEXT_H_
