#include "src/resolve/operator_rows.h"

#include "src/base/limits.h"

namespace onnxflops::resolve {

OperatorRow RowFinder::LookUp(absl::string_view domain, absl::string_view op_type,
                              int64_t opset) const {
  FoundOp found;
  if (has_rules_) found = RulesAccess::Find(operators_.rules, domain, op_type, opset);
  if (found.def == nullptr) found = operators_.find_op(domain, op_type, opset);
  const bool known_name = found.known_name;
  if (found.def != nullptr || !known_name || opset >= kMaxOpset) {
    return {found.def, opset, known_name, false};
  }
  found = operators_.find_op(domain, op_type, kMaxOpset);
  if (found.def == nullptr) return {nullptr, opset, known_name, false};
  return {found.def, found.version, known_name, true};
}

}  // namespace onnxflops::resolve
