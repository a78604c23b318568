// One operator of the user's own, as read from its file. Internal to ops/user_rules*.cc.
#ifndef ONNXFLOPS_OPS_USER_USER_RULE_H_
#define ONNXFLOPS_OPS_USER_USER_RULE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/string_view.h"
#include "ops/op_def.h"
#include "ops/user/user_rules.h"

namespace onnxflops {

struct RuleDim {
  enum class Kind : uint8_t {
    kName,     // of an input: bound to its size
    kFormula,  // a size that is computed; of an input: required
    kRest,     // any number of dimensions; `text` is their name, or "..."
    kFresh,    // of an output: depends on data
  };
  Kind kind = Kind::kFormula;
  std::string text;
};

struct RuleTensor {
  std::string name;
  bool optional = false;
  bool has_shape = false;  // false: of any shape
  std::vector<RuleDim> dims;
  int type_of = 0;                 // of an output: the input whose type it has,
  DType type = DType::kUndefined;  // or its type
};

struct RuleAttribute {
  std::string name;
  bool is_list = false;
  std::optional<std::vector<int64_t>> otherwise;  // nullopt: it must be given
};

struct RuleFormula {
  std::string key, text;  // "mac", "M*N*K"; of a `let`: the name it defines
};

class UserRule {
 public:
  // What errors begin with: "rule my_ops.toml:12".
  std::string place;
  std::string domain, name;
  int since = 1;
  std::optional<int> until;
  bool replaces = false;  // an operator that has a row of ours
  bool is_free = false;
  std::vector<RuleTensor> inputs, outputs;
  std::vector<RuleAttribute> attributes;
  std::vector<RuleFormula> lets;
  std::vector<RuleFormula> costs;  // by the name of a kind; "int_mac" and the like for integer work
  std::optional<bool> float_work;  // what the plain kinds are; by the type of output 0 if not said
  std::optional<std::string> bytes_read, bytes_written;
  std::string note;

  // What the row points to, made by MakeRow.
  std::string formula;
  int versions[1] = {1};
  OpDef row;
  void MakeRow(bool reads_content, uint32_t shape_inputs);
};

struct Rules::Data {
  std::deque<UserRule> rules;
  std::vector<OpFamily> families;
  absl::btree_map<std::string, std::vector<const UserRule*>> by_name;
};

// The kind that a key names, without "int_"; nullopt for other keys.
std::optional<Kind> KindNamed(absl::string_view key);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_USER_USER_RULE_H_
