// One operator of the user's own, as read from its file. Internal to ops/user_rules*.cc.
#ifndef ONNXFLOPS_OPS_USER_USER_RULE_H_
#define ONNXFLOPS_OPS_USER_USER_RULE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "ops/formula/formula.h"
#include "ops/op_def.h"
#include "ops/user/user_rules.h"

namespace onnxflops {

class UserRule {
 public:
  // What errors begin with: "rule my_ops.toml:12".
  std::string place;
  std::string domain, name;
  int since = 1;
  std::optional<int> until;
  bool replaces = false;  // an operator that has a row of ours
  bool is_free = false;
  Formulas formulas;
  std::optional<std::string> bytes_read, bytes_written;
  std::string note;

  // What the row points to, made by MakeRow.
  std::string formula;
  OpDef row;
  void MakeRow(bool reads_content, uint32_t shape_inputs);
};

struct Rules::Data {
  std::deque<UserRule> rules;
  std::vector<OpFamily> families;
  absl::btree_map<std::string, std::vector<const UserRule*>> by_name;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_USER_USER_RULE_H_
