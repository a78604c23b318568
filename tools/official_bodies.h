// Function bodies of operators from the official library, by the program beside this one.
#ifndef ONNXFLOPS_TOOLS_OFFICIAL_BODIES_H_
#define ONNXFLOPS_TOOLS_OFFICIAL_BODIES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/infer/infer.h"

namespace onnxflops::tools {

class OfficialBodies final : public FunctionBodySource {
 public:
  absl::StatusOr<std::string> Find(absl::string_view request) const override;
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_OFFICIAL_BODIES_H_
