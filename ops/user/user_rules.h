// Operators of the user's own: rows that a TOML file makes.
//
//   [[op]]
//   domain = "com.example"
//   name = "FusedMlp"
//   inputs = ["x[batch..., hidden]", "up[hidden, inner]", "down[inner, hidden]", "bias?[inner]"]
//   outputs = ["y[batch..., hidden]"]
//   mac = "2*batch*hidden*inner"
//   add = "batch*bias.elements"
//
// What signatures and formulas may say: docs/rules.md.
#ifndef ONNXFLOPS_OPS_USER_USER_RULES_H_
#define ONNXFLOPS_OPS_USER_USER_RULES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

// The operators of a file; empty: none. A value, cheap to copy.
class Rules {
 public:
  Rules() = default;

 private:
  friend class RulesReader;
  friend struct RulesAccess;  // of ops/user/rules_access.h
  struct Data;
  std::shared_ptr<const Data> data_;
};

// `file` names the text in errors. Errors: InvalidArgument, "my_ops.toml:9:8: ..." with the line
// and the column.
absl::StatusOr<Rules> LoadRules(absl::string_view text, absl::string_view file);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_USER_USER_RULES_H_
