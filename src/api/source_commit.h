// The commit that a release was built of, compiled in (cmake/embedded_texts.cmake).
#ifndef ONNXFLOPS_SRC_API_SOURCE_COMMIT_H_
#define ONNXFLOPS_SRC_API_SOURCE_COMMIT_H_

#include "absl/strings/string_view.h"

namespace onnxflops {

// "" in a build from a checkout, whose commit may change.
extern const absl::string_view kSourceCommit;

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SOURCE_COMMIT_H_
