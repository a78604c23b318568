// All operators: the family tables put together.
//
//   const OpDef* def = FindOp("", "Gemm", 17);   // nullptr: not supported
#ifndef ONNXFLOPS_OPS_REGISTRY_H_
#define ONNXFLOPS_OPS_REGISTRY_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/op_def.h"

namespace onnxflops {

// Every family, in a fixed order. A new family is one line in registry.cc.
absl::Span<const OpFamily> AllFamilies();

struct FoundOp {
  const OpDef* def =
      nullptr;  // nullptr: no row for this operator, or none for a version in force at this opset
  int version = 0;          // the since_version in force
  bool known_name = false;  // the operator has rows, but for other versions
};
// The row in force for an operator at an opset of its domain.
FoundOp FindOp(absl::string_view domain, absl::string_view op_type, int64_t opset);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_REGISTRY_H_
