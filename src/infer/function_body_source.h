// Function bodies of operators that have no row.
#ifndef ONNXFLOPS_SRC_INFER_FUNCTION_BODY_SOURCE_H_
#define ONNXFLOPS_SRC_INFER_FUNCTION_BODY_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

// Where function bodies of operators come from that have no row: the official library, which infer
// does not link.
class FunctionBodySource {
 public:
  virtual ~FunctionBodySource() = default;
  // `request` is a ModelProto of functions, each of one node that applies an operator, with the
  // opset of its domain and as value_info the types of its inputs as far as they are known; without
  // the node's attributes where these cannot be given, which its metadata tells by the key
  // "partial". The result is a ModelProto of functions: one for each overload of the request for
  // whose functions there is a body, the same for all of them.
  virtual absl::StatusOr<std::string> Find(absl::string_view request) const = 0;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_INFER_FUNCTION_BODY_SOURCE_H_
