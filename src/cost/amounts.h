// The quantities of a model, an operator, a module or a node, and the table with the name and the
// meaning of each quantity.
//
//   for (const Quantity& q : kQuantities) Print(q.key, row.*q.value);
//
// What adds up, sums or prints amounts goes through the table. A new quantity that adds up is a
// member, a row of the table, and the place that computes it (CountOperator in
// src/count/count_model.cc, for what a node does). One that follows from others is a row of
// kDerivedQuantities.
#ifndef ONNXFLOPS_SRC_COST_AMOUNTS_H_
#define ONNXFLOPS_SRC_COST_AMOUNTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

struct Amounts {
  Expr flops;             // 2 * (floating-point macs) + other_flops
  Expr macs;              // of every type
  Expr other_flops;       // floating-point operations other than macs
  Expr int_ops;           // operations on integers, 2 per mac
  Expr params;            // elements of weights, each once
  Expr param_bytes;       // bytes of weights, each once
  Expr bytes_read;        // by every execution
  Expr bytes_written;     // by every execution
  Expr foldable_flops;    // of `flops`, on constants only: a runtime folds them
  Expr activation_count;  // elements of the first outputs of nodes that have macs
  Expr bops;              // macs, each times the bits of both operands as stored
  Expr gradient_flops;    // of the backward pass, as autograd executes it
  Expr gradient_macs;     // of these
  Expr time_bound;        // least arithmetic at a peak: see Roofline of src/cost/roofline.h
  Expr time_estimate;     // node by node on a device, with all tensors in its memory

  // this += other * times.
  void Add(const Amounts& other, const Expr& times = 1);
  bool IsZero() const;
  // Whether `bops` tell more than `macs`. Where all MACs are of float32, or all of 16 bits, they
  // are a fixed multiple, and tables for people leave them out unless asked.
  bool BopsTellMore() const { return bops != macs * 1024 && bops != macs * 256; }
  // The first Expr::error() among them, or nullptr. That of `bops`, some 1,000 times `macs`, is not
  // looked at: a report goes without them.
  const char* error() const;

  friend bool operator==(const Amounts& a, const Amounts& b);
  template <typename H>
  friend H AbslHashValue(H h, const Amounts& a);
};

struct Quantity {
  // An amount of kSeconds is a whole number of 10^-21 s, so that times are exact and add up.
  enum class Unit : uint8_t { kFlops, kMacs, kOps, kElements, kBytes, kSeconds };
  // What a node does, once per execution; or what a module holds, once.
  enum class Of : uint8_t { kWork, kWeights };

  absl::string_view key;    // in JSON and CSV
  absl::string_view title;  // for people
  Unit unit;
  Of of;
  Expr Amounts::*value;  // nullptr of what is no member
  // A report has it always, with a device, with an exact backward pass (in whose place a derived
  // row has the rule, under the same name), or if the types of all
  // operands of MACs are known and the figure has no more than 128 bits.
  enum class Needs : uint8_t { kNothing, kDevice, kTraining, kTypes };
  Needs needs = Needs::kNothing;
  // Of one that follows from others: what it is the sum of, by the rule that backward takes twice
  // what forward takes (PaLM, appendix B), and with an exact backward pass.
  struct Term {
    int times = 0;
    Expr Amounts::*of = nullptr;
    constexpr bool operator==(const Term&) const = default;
  };
  struct Sum {
    Term first, second;
    constexpr bool operator==(const Sum&) const = default;
  };
  Sum by_rule = {}, exact = {};

  // A row of modules, operators and nodes has it; of totals and by name it is the derived one.
  constexpr bool is_exact_form() const { return needs == Needs::kTraining; }
  bool is_derived() const { return by_rule.first.of != nullptr; }
  // Whether `holds` of every member that it is, or follows from by the rule.
  template <typename Holds>
  bool AllParts(const Holds& holds) const {
    const auto holds_if_any = [&](Expr Amounts::*part) { return part == nullptr || holds(part); };
    return holds_if_any(value) && holds_if_any(by_rule.first.of) && holds_if_any(by_rule.second.of);
  }
  // REQUIRES: a member, or what follows from members.
  Expr In(const Amounts& amounts, bool exact_backward = false) const;
};

inline constexpr Quantity kQuantities[] = {
    // clang-format off: a line each
    {"flops", "FLOPs", Quantity::Unit::kFlops, Quantity::Of::kWork, &Amounts::flops},
    {"macs", "MACs", Quantity::Unit::kMacs, Quantity::Of::kWork, &Amounts::macs},
    {"other_flops", "other FLOPs", Quantity::Unit::kFlops, Quantity::Of::kWork,
     &Amounts::other_flops},
    {"int_ops", "integer ops", Quantity::Unit::kOps, Quantity::Of::kWork, &Amounts::int_ops},
    {"params", "params", Quantity::Unit::kElements, Quantity::Of::kWeights, &Amounts::params},
    {"param_bytes", "param bytes", Quantity::Unit::kBytes, Quantity::Of::kWeights,
     &Amounts::param_bytes},
    {"bytes_read", "bytes read", Quantity::Unit::kBytes, Quantity::Of::kWork, &Amounts::bytes_read},
    {"bytes_written", "bytes written", Quantity::Unit::kBytes, Quantity::Of::kWork,
     &Amounts::bytes_written},
    {"foldable_flops", "foldable FLOPs", Quantity::Unit::kFlops, Quantity::Of::kWork,
     &Amounts::foldable_flops},
    {"activation_count", "activations", Quantity::Unit::kElements, Quantity::Of::kWork,
     &Amounts::activation_count},
    {"bops", "BOPs", Quantity::Unit::kOps, Quantity::Of::kWork, &Amounts::bops,
     Quantity::Needs::kTypes},
    {"backward_flops", "backward FLOPs", Quantity::Unit::kFlops, Quantity::Of::kWork,
     &Amounts::gradient_flops, Quantity::Needs::kTraining},
    {"backward_macs", "backward MACs", Quantity::Unit::kMacs, Quantity::Of::kWork,
     &Amounts::gradient_macs, Quantity::Needs::kTraining},
    {"time_bound_seconds", "time bound", Quantity::Unit::kSeconds, Quantity::Of::kWork,
     &Amounts::time_bound, Quantity::Needs::kDevice},
    {"time_estimate_seconds", "time estimate", Quantity::Unit::kSeconds, Quantity::Of::kWork,
     &Amounts::time_estimate, Quantity::Needs::kDevice},
    // clang-format on
};
inline constexpr size_t kNumQuantities = sizeof(kQuantities) / sizeof(kQuantities[0]);
static_assert(sizeof(Amounts) == kNumQuantities * sizeof(Expr), "a quantity has no row");

inline constexpr Quantity kBytesMoved = {"bytes_moved",
                                         "bytes moved",
                                         Quantity::Unit::kBytes,
                                         Quantity::Of::kWork,
                                         nullptr,
                                         Quantity::Needs::kNothing,
                                         {{1, &Amounts::bytes_read}, {1, &Amounts::bytes_written}},
                                         {{1, &Amounts::bytes_read}, {1, &Amounts::bytes_written}}};
inline constexpr Quantity kBackwardFlops = {"backward_flops",
                                            "backward FLOPs",
                                            Quantity::Unit::kFlops,
                                            Quantity::Of::kWork,
                                            nullptr,
                                            Quantity::Needs::kNothing,
                                            {{2, &Amounts::flops}, {}},
                                            {{1, &Amounts::gradient_flops}, {}}};
inline constexpr Quantity kBackwardMacs = {"backward_macs",
                                           "backward MACs",
                                           Quantity::Unit::kMacs,
                                           Quantity::Of::kWork,
                                           nullptr,
                                           Quantity::Needs::kNothing,
                                           {{2, &Amounts::macs}, {}},
                                           {{1, &Amounts::gradient_macs}, {}}};
inline constexpr Quantity kTrainingFlops = {"training_flops",
                                            "training FLOPs",
                                            Quantity::Unit::kFlops,
                                            Quantity::Of::kWork,
                                            nullptr,
                                            Quantity::Needs::kNothing,
                                            {{3, &Amounts::flops}, {}},
                                            {{1, &Amounts::flops}, {1, &Amounts::gradient_flops}}};
// What follows from the members: JSON has it in totals, and all that names a quantity may name it.
inline constexpr const Quantity* kDerivedQuantities[] = {&kBytesMoved, &kBackwardFlops,
                                                         &kBackwardMacs, &kTrainingFlops};

// The rows of both tables, each name once, and one by its key: nullptr if there is none.
absl::Span<const Quantity* const> AllQuantities();
const Quantity* FindQuantity(absl::string_view key);

// "FLOP", "MAC", "op", "BOP", "", "B", "s".
const char* UnitOf(const Quantity& quantity);

// ---- amounts as JSON and CSV have them, in the unit of the quantity, with every digit

// "395219472384"; of a time "0.000009006311", in seconds.
std::string ExactText(const Quantity& quantity, absl::int128 amount);
// The reverse, also of "9.006311e-06"; nullopt if it is no such amount, or of more than 128 bits.
std::optional<absl::int128> ParseExactText(const Quantity& quantity, absl::string_view text);
// "2*batch"; of a time "1e-21*(2*batch)", in seconds, also where nothing is open.
std::string FormulaTextOf(const Quantity& quantity, const Expr& amount);
// What Expr parses in such a text; nullopt if it is no formula of the quantity.
std::optional<absl::string_view> FormulaIn(const Quantity& quantity, absl::string_view text);
// ExactText, or FormulaTextOf where a size is open: a field of CSV.
std::string FieldText(const Quantity& quantity, const Expr& amount);

// The row of a member of Amounts.
constexpr const Quantity& QuantityOf(Expr Amounts::*value) {
  size_t i = 0;
  while (kQuantities[i].value != value) ++i;
  return kQuantities[i];
}

template <typename H>
H AbslHashValue(H h, const Amounts& a) {
  for (const Quantity& q : kQuantities) h = H::combine(std::move(h), a.*q.value);
  return h;
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_COST_AMOUNTS_H_
