// Which row an operator has: the user's own before ours.
#ifndef ONNXFLOPS_SRC_RESOLVE_OPERATOR_ROWS_H_
#define ONNXFLOPS_SRC_RESOLVE_OPERATOR_ROWS_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "ops/op_def.h"
#include "ops/registry.h"
#include "ops/user/rules_access.h"
#include "ops/user/user_rules.h"

namespace onnxflops::resolve {

// Where rows are looked up.
struct Operators {
  Rules rules;  // operators of the user's own
  FoundOp (*find_op)(absl::string_view domain, absl::string_view op_type, int64_t opset) = &FindOp;
};

struct OperatorRow {
  const OpDef* def = nullptr;  // nullptr without a row
  int64_t opset = 0;           // whose definition it is
  bool known_name = false;     // the operator has rows, perhaps for other versions
  bool is_newer = false;       // than the opset asked for, which does not have the operator
};

// Looks up rows, and caches the last ones: a model has far fewer operators than nodes.
class RowFinder {
 public:
  explicit RowFinder(const Operators& operators)
      : operators_(operators), has_rules_(!RulesAccess::Families(operators.rules).empty()) {}

  // Exporters write operators of a newer opset than they declare, and their meaning is clear. So an
  // operator without a row at `opset` gets the row of the newest opset.
  //
  // `domain` and `op_type` must outlive this.
  const OperatorRow& Find(absl::string_view domain, absl::string_view op_type, int64_t opset) {
    Slot& slot = slots_[SlotOf(op_type)];
    if (slot.op_type != op_type || slot.opset != opset || slot.domain != domain) {
      slot = {op_type, domain, opset, LookUp(domain, op_type, opset)};
    }
    return slot.row;
  }

 private:
  struct Slot {
    absl::string_view op_type, domain;
    int64_t opset = 0;
    OperatorRow row;
  };
  static constexpr size_t kSlots = 128;

  static size_t SlotOf(absl::string_view op_type) {
    const size_t n = op_type.size();
    if (n == 0) return 0;
    const auto byte = [&](size_t i) { return static_cast<size_t>(op_type[i]); };
    return (n + 5 * byte(0) + 29 * byte(n / 2) + 13 * byte(n - 1)) % kSlots;
  }
  OperatorRow LookUp(absl::string_view domain, absl::string_view op_type, int64_t opset) const;

  const Operators& operators_;
  const bool has_rules_;
  std::array<Slot, kSlots> slots_ = {};
};

}  // namespace onnxflops::resolve

#endif  // ONNXFLOPS_SRC_RESOLVE_OPERATOR_ROWS_H_
