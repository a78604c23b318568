// Gets function bodies of operators from the official library, through onnxflops-official.
#ifndef ONNXFLOPS_SRC_API_OFFICIAL_BODIES_H_
#define ONNXFLOPS_SRC_API_OFFICIAL_BODIES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/resolve/function_body_source.h"

namespace onnxflops {

class OfficialBodies final : public FunctionBodySource {
 public:
  absl::StatusOr<std::string> Find(absl::string_view request) const override;
};

// Where the program is not installed, it finds no body.
const FunctionBodySource* InstalledBodies();

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_OFFICIAL_BODIES_H_
