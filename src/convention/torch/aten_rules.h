// How a tool that watches PyTorch counts: one row for every operator of Aten. The row says whether
// the tool counts the operator, and how much. A new operator has no row, and nothing builds until
// each tool has decided about it.
//
//   constexpr AtenRules<Fvcore> kRules = {{
//       {Aten::kOther, kNotCounted, "no handle"},
//       {Aten::kLinear, &Fvcore::Products},
//       ...
//   }};
//
//   // Another version of the tool: the same rows, except these.
//   constexpr AtenRules<Fvcore> kTorch1 = kRules.With({{Aten::kSdpa, &Fvcore::Products}});
#ifndef ONNXFLOPS_SRC_CONVENTION_TORCH_ATEN_RULES_H_
#define ONNXFLOPS_SRC_CONVENTION_TORCH_ATEN_RULES_H_

#include <array>
#include <bitset>
#include <cstddef>

#include "src/convention/evidence.h"
#include "src/convention/torch/names.h"
#include "src/convention/torch/trace.h"

namespace onnxflops::convention {

// A tool's count of a call.
struct Decision {
  AmountId amount = kZero;
  const char* why = nullptr;  // reason for the difference from our count; nullptr: the row's reason
  const char* name = nullptr;  // of the difference; nullptr: that of the operator and its module
};

// Operators that a tool counts.
using AtenSet = std::bitset<kNumAtens>;

template <typename Tool>
struct AtenRule {
  Aten op;
  Decision (Tool::*count)(const TorchCall& call);  // nullptr: 0 for every call
  const char* why = "";                            // reason for the difference from our count
};

inline constexpr std::nullptr_t kNotCounted = nullptr;

template <typename Tool>
class AtenRules {
 public:
  template <size_t N>
  consteval AtenRules(const AtenRule<Tool> (&rows)[N]) {  // NOLINT(google-explicit-constructor)
    static_assert(N == kNumAtens, "every operator of Aten has one row, in the order of the enum");
    for (size_t i = 0; i < N; ++i) {
      if (IndexOf(rows[i].op) != i) RowsAreNotInTheOrderOfTheEnum();
      rows_[i] = rows[i];
    }
  }

  template <size_t N>
  consteval AtenRules With(const AtenRule<Tool> (&others)[N]) const {
    AtenRules result = *this;
    for (const AtenRule<Tool>& row : others) result.rows_[IndexOf(row.op)] = row;
    return result;
  }

  AtenSet Counted() const {
    AtenSet counted;
    for (const AtenRule<Tool>& row : rows_) counted[IndexOf(row.op)] = row.count != nullptr;
    return counted;
  }

  Decision Decide(Tool* tool, const TorchCall& call) const {
    const AtenRule<Tool>& row = rows_[IndexOf(call.op)];
    Decision decision;
    if (row.count != nullptr) decision = (tool->*row.count)(call);
    if (decision.why == nullptr) decision.why = row.why;
    return decision;
  }

 private:
  static constexpr size_t IndexOf(Aten op) { return static_cast<size_t>(op); }
  static void RowsAreNotInTheOrderOfTheEnum() {}  // not constexpr: the build ends here

  std::array<AtenRule<Tool>, kNumAtens> rows_{};
};

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_TORCH_ATEN_RULES_H_
