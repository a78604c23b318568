// The work of an operator: arithmetic operations by kind, and the bytes it moves. FLOPs are
// computed from this; the Cost itself is not a FLOP count.
//
//   Cost cost;
//   cost.flops[Kind::kMac] = m * n * k;
//   cost.flops[Kind::kAdd] = m * n;
//   cost.ToString()   // "mac=5120*N add=10*N"
//
// FLOPs = 2*mac + every other kind of `flops`, 1 each. Work on integer tensors is kept in
// `int_ops`, by the same kinds.
#ifndef ONNXFLOPS_SRC_COST_COST_H_
#define ONNXFLOPS_SRC_COST_COST_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "src/graph/dtype.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

enum class Kind : uint8_t {
  kMac,  // multiply-accumulate of a contraction
  kAdd,  // and subtract
  kMul,
  kDiv,  // and reciprocal, and the remainder of a division
  kCmp,  // comparison, min, max; logical and bitwise operations on integers and bools
  kExp,  // exp2, expm1 as well
  kLog,  // log1p as well
  kSqrt,
  kPow,
  kTrig,  // sin, cos, tan, their inverses, and the hyperbolic ones except tanh
  kTanh,
  kErf,
  kRound,  // round, floor, ceil, truncation in quantisation
};
inline constexpr int kNumKinds = 13;
absl::string_view KindName(Kind kind);  // "mac", "add", ...

class Census {
 public:
  Census() = default;  // no work, as most of a model's: takes no memory
  Census(const Census& other) { *this = other; }
  Census(Census&& other) = default;
  Census& operator=(const Census& other);
  Census& operator=(Census&& other) = default;

  Expr& operator[](Kind kind);
  const Expr& operator[](Kind kind) const;
  // Calls f(kind, amount) for every kind that is not 0, in their order.
  template <typename F>
  void ForEach(const F& f) const {
    if (by_kind_ == nullptr) return;
    for (int i = 0; i < kNumKinds; ++i) {
      const Expr& amount = (*by_kind_)[static_cast<size_t>(i)];
      if (!amount.is_zero()) f(static_cast<Kind>(i), amount);
    }
  }
  Census& operator+=(const Census& other);
  Census& operator*=(const Expr& times);
  void Halve();  // each kind, rounded down
  friend bool operator==(const Census& a, const Census& b);
  bool IsZero() const;
  // InvalidArgument if an amount is negative, for example from a length stored as -3.
  absl::Status CheckNotNegative() const;
  // Every kind except mac, added up.
  Expr Other() const;
  // 2*mac + Other().
  Expr Ops() const;
  // "mac=5120*N add=10*N", in the order of Kind; "" when zero.
  std::string ToString() const;

 private:
  using ByKind = std::array<Expr, kNumKinds>;
  std::unique_ptr<ByKind> by_kind_;  // nullptr: all 0
};

// The types of the operands that a contraction multiplies, and how they are stored. As text:
// "float32", "uint8 x int8", "float16 x int4", "int8 x int8, QDQ".
struct MacOperands {
  DType a = DType::kUndefined;
  DType b = DType::kUndefined;
  bool qdq = false;  // computed in float on operands that DequantizeLinear made of these types
  std::string ToString() const;
  friend bool operator==(const MacOperands& x, const MacOperands& y) {
    return x.a == y.a && x.b == y.b && x.qdq == y.qdq;
  }
  friend bool operator<(const MacOperands& x, const MacOperands& y) {
    return std::tie(x.a, x.b, x.qdq) < std::tie(y.a, y.b, y.qdq);
  }
};

// Multiply-accumulates by the types of their operands. No entry is 0.
using MacsByDType = absl::btree_map<MacOperands, Expr>;

// How much of causal attention counts: all pairs of a query and a key, or only those that its mask
// lets through.
enum class CausalCounting : uint8_t { kFull, kHalf };

struct Cost {
  Census flops;                      // arithmetic on floating-point values
  Census int_ops;                    // arithmetic on integers and bools
  MacOperands flops_mac_operands;    // of flops[kMac]; filled in by the driver from the first two
                                     // inputs where a rule leaves it
  MacOperands int_ops_mac_operands;  // of int_ops[kMac]
  // Where a rule leaves these, the driver takes every input read once and every output written
  // once.
  std::optional<Expr> bytes_read;
  std::optional<Expr> bytes_written;
  // The operator has is_causal or unidirectional set: CausalCounting changes its cost.
  bool causal = false;

  // "mac=5120*N add=10*N"; integer work as "int_mul=4"; "free" without any work.
  std::string ToString() const;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_COST_COST_H_
