// Function bodies of operators that have no row.
#ifndef ONNXFLOPS_SRC_RESOLVE_FUNCTION_BODY_SOURCE_H_
#define ONNXFLOPS_SRC_RESOLVE_FUNCTION_BODY_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

// The source of function bodies for operators without a row: the official library, which no stage
// links.
class FunctionBodySource {
 public:
  virtual ~FunctionBodySource() = default;
  // `request` is a ModelProto of functions. Each is one application of an operator, as
  // WriteApplication (src/load/write_application.h) writes it, with an overload of its own. The
  // result is a ModelProto of functions: one for each overload of the request for which there is a
  // body.
  virtual absl::StatusOr<std::string> Find(absl::string_view request) const = 0;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_RESOLVE_FUNCTION_BODY_SOURCE_H_
