// The rows that the user's rules are, for the stages that look operators up.
#ifndef ONNXFLOPS_OPS_USER_RULES_ACCESS_H_
#define ONNXFLOPS_OPS_USER_RULES_ACCESS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/op_def.h"
#include "ops/registry.h"
#include "ops/user/user_rules.h"

namespace onnxflops {

struct RulesAccess {
  // The user's row for an operator at an opset of its domain.
  static FoundOp Find(const Rules& rules, absl::string_view domain, absl::string_view op_type,
                      int64_t opset);
  // One per operator, in the order of the file. REQUIRES: `rules` outlives them.
  static absl::Span<const OpFamily> Families(const Rules& rules);
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_USER_RULES_ACCESS_H_
