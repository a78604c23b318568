// Exact symbolic integers: the type of every dimension, count and byte size.
//
// An Expr is a polynomial with 128-bit integer coefficients over atoms: symbols, and floor
// divisions, minima, maxima and broadcasts of other expressions. It is canonical: two expressions
// built in different ways that are equal as polynomials (after the simplifications documented at
// each function) compare equal, hash equal and print the same text. A literal costs no allocation.
//
//   Expr seq = Expr::Symbol("seq"), batch = Expr::Symbol("batch");
//   Expr macs = 512 * batch * seq * seq + 768 * seq;
//   macs.ToString()                              // "512*batch*seq^2 + 768*seq"
//   macs.Evaluate({{"batch", 2}, {"seq", 128}})  // 16875520
//
// Arithmetic never wraps: an overflow of 128 bits, a division by zero or a polynomial of too many
// terms yields an Expr whose error() says so; all further arithmetic keeps the error, and the
// caller that knows the node turns it into a Status. Values are immutable and may be shared between
// threads.
//
// Every simplification holds wherever the original has a value. It may drop the part that has none:
// n*m/n is m, also at n = 0, where the division as written would be an error.
#ifndef ONNXFLOPS_SRC_SYMBOLIC_EXPR_H_
#define ONNXFLOPS_SRC_SYMBOLIC_EXPR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/base/limits.h"

namespace onnxflops {

// Values of symbols, by name.
using Bindings = absl::btree_map<std::string, int64_t>;
class Expr;
// Replacements for symbols, by name.
using Replacements = absl::btree_map<std::string, Expr>;

class Expr {
 public:
  Expr() = default;                              // 0
  Expr(int value) : literal_(value) {}           // NOLINT(google-explicit-constructor)
  Expr(int64_t value) : literal_(value) {}       // NOLINT(google-explicit-constructor)
  Expr(absl::int128 value) : literal_(value) {}  // NOLINT(google-explicit-constructor)

  // A named unknown. The name is a written symbol (symbol_name.h); any other text is a dimension's
  // name in a file, which is written in quotes. `at_least` is its known lower bound (dimensions of
  // inputs are >= 1, data-dependent ones >= 0). It decides comparisons, but not equality: one name
  // must always have the same bound.
  static Expr Symbol(absl::string_view name, int64_t at_least = 0);

  bool is_literal() const { return poly_ == nullptr; }
  bool is_zero() const { return is_literal() && literal_ == 0; }
  // REQUIRES: is_literal().
  absl::int128 literal() const { return literal_; }
  // The literal value, if it is one and fits.
  std::optional<int64_t> AsInt64() const;
  // Approximate number of terms as written, including those inside divisions, minima and maxima; 0
  // for a literal and for an error.
  int64_t NumTerms() const;
  // nullptr, or a constant text: "overflows 128 bits", "divides by zero", "broadcasts different
  // sizes" (only from Substitute), or which limit of limits.h it would exceed: "has more than
  // 100000 terms (terms)".
  const char* error() const;

  Expr& operator+=(const Expr& other) { return *this = *this + other; }
  Expr& operator-=(const Expr& other) { return *this = *this - other; }
  Expr& operator*=(const Expr& other) { return *this = *this * other; }
  friend Expr operator+(const Expr& a, const Expr& b);
  friend Expr operator-(const Expr& a, const Expr& b);
  friend Expr operator*(const Expr& a, const Expr& b);
  friend bool operator==(const Expr& a, const Expr& b) {
    if (a.is_literal() || b.is_literal()) {
      return a.is_literal() && b.is_literal() && a.literal_ == b.literal_;
    }
    return SamePoly(a, b);
  }
  friend bool operator!=(const Expr& a, const Expr& b) { return !(a == b); }
  // A total order, deterministic across runs; no meaning as a comparison of values.
  friend bool operator<(const Expr& a, const Expr& b);

  // Bounds for every binding within the symbols' ranges; nullopt if unknown.
  std::optional<absl::int128> LowerBound() const;
  std::optional<absl::int128> UpperBound() const;
  // True only when provable from the bounds of this - value.
  bool AtLeast(const Expr& value) const;

  // Symbols by name, sorted, each once.
  std::vector<std::string> Symbols() const;

  // The value at these bindings, which must lie within the symbols' ranges. Errors:
  // FailedPrecondition names a symbol that is not bound; OutOfRange for overflow; InvalidArgument
  // for a division by zero or a broadcast of two different sizes.
  absl::StatusOr<absl::int128> Evaluate(const Bindings& bindings) const;
  // Replaces the bound symbols; others stay.
  Expr Substitute(const Bindings& bindings) const;
  // The same by expressions, all at once, whose values must lie within the symbols' ranges.
  Expr Replace(const Replacements& replacements) const;

  // Terms by falling degree, then by name: "512*batch*seq^2 + 768*seq - 3". Atoms: floor(a/b),
  // min(a, b), max(a, b), broadcast(a, b). An error prints as "(overflows 128 bits)".
  std::string ToString() const;
  // The bytes of that; of an expression that takes more than `most`, some number above `most`.
  size_t TextBytes(size_t most) const;
  // ToString(), or, of an expression that takes more than `most` bytes, its beginning and "...".
  std::string Shortened(size_t most) const;

  template <typename H>
  friend H AbslHashValue(H h, const Expr& e) {
    return H::combine(std::move(h), e.HashCode());
  }

 private:
  friend struct ExprImpl;
  struct Poly;
  static bool SamePoly(const Expr& a, const Expr& b);
  size_t HashCode() const;

  absl::int128 literal_ = 0;          // when poly_ is null
  std::shared_ptr<const Poly> poly_;  // else the polynomial (or the error)
};

// The sum of many terms. The same as adding them in a loop, but N terms of different symbols cost
// N log N, where the loop copies its growing total N times.
Expr Sum(absl::Span<const Expr> terms);

// Quotients round towards minus infinity (plus infinity for CeilDiv). Simplified: literals; terms
// of `a` that `b` divides exactly are taken out, floor((6*n + 3)/2) = 3*n + 1; so are whole
// multiples of a literal `b` in the constant, floor((n - 1)/2) = floor((n + 1)/2) - 1; nested
// floors by literals join; a / b with b dividing a as polynomials is exact; common factors cancel.
// CeilDiv by a positive literal is floor((a + b - 1)/b), so both print as floor.
Expr FloorDiv(const Expr& a, const Expr& b);
Expr CeilDiv(const Expr& a, const Expr& b);
// a - b * floor(a / b).
Expr Mod(const Expr& a, const Expr& b);
// Simplified if the bounds decide; operands are flattened, sorted and made unique. Next to a
// symbolic operand a literal >= 2^62 in Min, or <= -2^62 in Max, is infinity and drops out: Slice
// writes INT64_MAX for "to the end". At most kMaxOperands operands.
Expr Min(const Expr& a, const Expr& b);
Expr Max(const Expr& a, const Expr& b);
// The operands, if `e` is the minimum of two and nothing else.
std::optional<std::pair<Expr, Expr>> OperandsOfMin(const Expr& e);
// The quotient if `b` divides `a` as a polynomial, with no remainder (Reshape's -1). For literals:
// if the remainder is 0. nullopt for b = 0. An operand's error is returned as the quotient.
std::optional<Expr> DivideExactly(const Expr& a, const Expr& b);
// The size of two dimensions broadcast together: the other one if one is 1, the same if equal. Two
// literals that differ give nullopt, and so do sizes that provably differ and cannot be 1. A symbol
// against a literal other than 1 gives the literal (the only size for which the model runs, or 1).
// Two different symbolic sizes stay an atom `broadcast(a, b)` that evaluates exactly. `x` against
// min(x, c) with c >= 2 is x: every other value is an error at run time.
std::optional<Expr> BroadcastDim(const Expr& a, const Expr& b);
// nullopt when it depends on the bindings.
std::optional<bool> ProvablyEqual(const Expr& a, const Expr& b);
std::optional<bool> ProvablyLess(const Expr& a, const Expr& b);
Expr Power(const Expr& base, int exponent);  // REQUIRES: exponent >= 0.

// Sums of a polynomial p over t = 0, 1, ..., count - 1 (Faulhaber's), in Newton's form: difference
// k of p at 0 times the binomial coefficient "count over k + 1", written as an exact floor. So sums
// of equal differences are equal expressions.

// Powers of t above this one have no sum here.
inline constexpr int kMaxSummedPower = 3;
// The factors of p(0), p(1), p(2) and p(3) in the sum. REQUIRES: count >= 0.
std::vector<Expr> SumWeights(const Expr& count);
// The sum of `term` over the symbol `index`; nullopt unless it is a polynomial in the symbol, of
// powers up to kMaxSummedPower. A minimum or maximum of two operands, such as min(a + 2*t, c), may
// be a factor: the sum is then that of the values before it switches, and of those after it.
// REQUIRES: the symbol's bound is 0; count >= 0.
std::optional<Expr> SumOver(const Expr& term, absl::string_view index, const Expr& count);

// Parses the output of ToString: integers, written symbols (symbol_name.h), + - * ^, parentheses,
// floor(a/b), a//b, min, max, broadcast. Errors: InvalidArgument with the column (from 1), also if
// an operand would have more terms.
absl::StatusOr<Expr> ParseExpr(absl::string_view text, int64_t symbols_at_least = 0,
                               size_t max_terms = kMaxParsedTerms);

// A literal 128-bit integer as decimal digits.
std::string Int128ToString(absl::int128 value);

// The name of the exceeded limit in an Expr::error(); "" for nullptr and for other errors.
absl::string_view LimitOf(const char* error);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_EXPR_H_
