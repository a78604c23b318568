// The internals of Expr: canonical polynomials over atoms. Internal to src/symbolic; the interface
// is expr.h.
//
//   poly.cc      order, hashes, sums and products of terms
//   bounds.cc    ranges of values, and proofs from them
//   division.cc  floors and exact quotients
//   expr.cc      min, max, broadcast, and the interface
//   value.cc     evaluation and substitution;  text.cc, parse.cc: print and parse
//   sum.cc       sums over a symbol;  sample_sum.cc: over samples of different sizes
//   work.cc      limits on the work
#ifndef ONNXFLOPS_SRC_SYMBOLIC_POLY_H_
#define ONNXFLOPS_SRC_SYMBOLIC_POLY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "src/base/limits.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

namespace symbolic {

__extension__ typedef __int128 Int;
__extension__ typedef unsigned __int128 UInt;

inline constexpr Int kIntMax = static_cast<Int>(~UInt{0} >> 1);
inline constexpr Int kIntMin = -kIntMax - 1;

// Literals from here on (and from the negative on down) mean "to the end" in Min and Max.
inline constexpr Int kInfinity = Int{1} << 62;

// The values of error(). Compared by address.
inline constexpr char kOverflow[] = "overflows 128 bits";
inline constexpr char kZeroDivision[] = "divides by zero";
inline constexpr char kTooManyTerms[] = "has more than 100000 terms (terms)";
inline constexpr char kTooLarge[] = "has more than 2000000 parts written out (expr-weight)";
inline constexpr char kAtomTooLarge[] =
    "has a min, max or quotient of more than 10000 parts (atom-weight)";
inline constexpr char kTooManyOperands[] =
    "has a min, max or broadcast of more than 64 operands (operands)";
inline constexpr char kDegreeTooHigh[] = "has a degree above 1000 (degree)";
inline constexpr char kTooMuchWork[] = "takes more steps than are left (steps-per-node)";
inline constexpr char kTooDeep[] = "is nested more than 64 deep (expr-depth)";
inline constexpr char kTooManySamples[] =
    "has divisions of sizes, and more than 20000000 samples times terms (sample-evaluations)";
static_assert(kMaxSampleEvaluations == 20'000'000 && kMaxTerms == 100'000 &&
              kMaxExprWeight == 2'000'000 && kMaxAtomWeight == 10'000 && kMaxOperands == 64 &&
              kMaxDegree == 1000 && kMaxExprDepth == 64);
inline constexpr char kMismatch[] = "broadcasts different sizes";

// ---- Checked integers. Each returns false on overflow. ----

inline bool AddInt(Int a, Int b, Int* out) { return !__builtin_add_overflow(a, b, out); }
inline bool MulInt(Int a, Int b, Int* out) { return !__builtin_mul_overflow(a, b, out); }

// REQUIRES: b != 0.
inline bool FloorDivInt(Int a, Int b, Int* out) {
  if (a == kIntMin && b == -1) return false;
  const Int q = a / b;
  *out = q - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
  return true;
}

inline bool PowInt(Int base, int exponent, Int* out) {
  *out = 1;
  while (true) {
    if (exponent % 2 == 1 && !MulInt(*out, base, out)) return false;
    exponent /= 2;
    if (exponent == 0) return true;
    if (!MulInt(base, base, &base)) return false;
  }
}

inline UInt AbsInt(Int v) { return v < 0 ? UInt{0} - static_cast<UInt>(v) : static_cast<UInt>(v); }

inline UInt Gcd(UInt a, UInt b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

// ---- Work ----

// Steps left in the WorkLimit; negative if it is exceeded. Without a limit, practically infinite.
extern constinit thread_local int64_t steps_left;

// Steps of a term, approximately, without those of its factors.
inline constexpr size_t kStepsPerTerm = 4;
// False when nothing is left: then the caller need not do the work.
inline bool Spend(size_t steps) {
  steps_left -= static_cast<int64_t>(steps);
  return steps_left >= 0;
}
inline bool SpendTerms(size_t terms) { return Spend(kStepsPerTerm * terms); }

// ---- Ranges of values ----

struct Range {
  std::optional<Int> lo, hi;  // nullopt: unbounded

  bool IsPoint() const { return lo && hi && *lo == *hi; }
};

Range operator*(const Range& a, const Range& b);
Range operator+(const Range& a, const Range& b);
Range PowRange(const Range& base, int power);
std::optional<Int> NegateBound(const std::optional<Int>& a);
Range FloorDivRange(const Range& n, const Range& d);

// ---- The representation ----

// Sorted as they print.
enum class Kind { kSymbol, kBroadcast, kFloorDiv, kMax, kMin };

// A non-numeric factor of a monomial. Immutable, and shared between polynomials.
struct Atom {
  Kind kind = Kind::kSymbol;
  int depth = 0;  // 0 for a symbol, else one more than the deepest operand
  size_t hash = 0;
  uint64_t name_hash = 0;  // of a symbol: the same in every process
  int64_t weight = 1;
  Range range;
  std::string name;        // of a symbol
  std::vector<Expr> args;  // of the others; kFloorDiv: numerator, denominator
};

struct Factor {
  std::shared_ptr<const Atom> atom;
  int power = 1;
};

struct Term {
  Int coefficient = 0;
  int degree = 0;                          // the sum of the powers
  absl::InlinedVector<Factor, 3> factors;  // atoms ascending; empty for the constant
};

// In the order of CompareMonomials, without duplicates or zero coefficients. One term is stored
// inside its Poly, so that a product such as 32*batch*seq is a single allocation.
using Terms = absl::InlinedVector<Term, 1>;

}  // namespace symbolic

struct Expr::Poly {
  const char* error = nullptr;  // if set, there are no terms
  int depth = 0;
  size_t hash = 0;
  int64_t weight = 1;
  symbolic::Terms terms;  // else not a literal: at least one term has factors
};

struct ExprImpl {
  using Poly = Expr::Poly;

  static const Poly* poly(const Expr& e) { return e.poly_.get(); }
  static Expr FromPoly(std::shared_ptr<const Poly> poly) {
    Expr e;
    e.poly_ = std::move(poly);
    return e;
  }
};

namespace symbolic {

inline Int LiteralOf(const Expr& e) { return static_cast<Int>(e.literal()); }
inline Expr Literal(Int value) { return Expr(absl::int128(value)); }

Expr Error(const char* text);

// REQUIRES: `e` is neither a literal nor an error, here and wherever Terms are asked for.
inline const Terms& TermsOf(const Expr& e) { return ExprImpl::poly(e)->terms; }

// The terms of any expression but an error, a literal included.
class TermSpan {
 public:
  explicit TermSpan(const Expr& e) {
    if (!e.is_literal()) {
      span_ = TermsOf(e);
    } else if (e.literal() != 0) {
      constant_.coefficient = LiteralOf(e);
      span_ = absl::MakeConstSpan(&constant_, 1);
    }
  }
  TermSpan(const TermSpan&) = delete;
  TermSpan& operator=(const TermSpan&) = delete;

  absl::Span<const Term> get() const { return span_; }

 private:
  Term constant_;
  absl::Span<const Term> span_;
};

// The atom, if `e` is nothing but one.
const Atom* AsAtom(const Expr& e, Kind kind);

// ---- Order and hashes ----

int CompareAtoms(const Atom* a, const Atom* b);
bool SameAtom(const Atom* a, const Atom* b);
int CompareMonomials(const Term& a, const Term& b);
int CompareExprs(const Expr& a, const Expr& b);
// Where hashes begin, another in every process: no file can hold expressions that collide.
extern const size_t hash_seed;
size_t Mix(size_t hash, size_t value);
size_t HashExpr(const Expr& e);

// ---- Construction ----

// The expression of terms in canonical order.
Expr FromTerms(Terms terms);
Expr FromAtom(std::shared_ptr<const Atom> atom);
// An atom of operands that nothing simplifies any more (except that its range may be one value).
Expr MakeAtom(Kind kind, std::vector<Expr> args);

// Collects terms in any order. Equal monomials are merged whenever the buffer has doubled, so it
// stays within twice the size of the result.
class TermAccumulator {
 public:
  void Add(Term t) {
    buffer_.push_back(std::move(t));
    if (buffer_.size() >= next_join_) Join();
  }
  void Add(const Expr& e) {
    if (e.error() != nullptr) Fail(e.error());
    if (error_ != nullptr) return;
    const TermSpan terms(e);
    for (const Term& t : terms.get()) Add(t);
  }
  void Fail(const char* error) {
    if (error_ == nullptr) error_ = error;
  }
  const char* error() const { return error_; }
  Expr Finish() && {
    Join();
    return error_ != nullptr ? Error(error_) : FromTerms(std::move(buffer_));
  }

 private:
  void Join();

  Terms buffer_;
  size_t next_join_ = 1024;
  const char* error_ = nullptr;
};

// ---- Sums and products of terms. Each returns nullptr or the error. ----

const char* MultiplyTerm(const Term& a, const Term& b, Term* out);
const char* MultiplyTerms(absl::Span<const Term> a, const Term& b, Terms* out);
const char* MergeTerms(absl::Span<const Term> a, absl::Span<const Term> b, int sign, Terms* out);
Expr AddSigned(const Expr& a, const Expr& b, int sign);
Expr MultiplyPolys(const Expr& a, const Expr& b);
Expr Negate(const Expr& e);

// ---- Bounds ----

Range RangeOf(const Expr& e);
// Sharper bounds, at a cost that `budget` limits: the expressions that may be looked at.
std::optional<Int> LowerOf(const Expr& e, int* budget);
std::optional<Int> UpperOf(const Expr& e, int* budget);
bool IsAtLeast(const Expr& e, Int value, int* budget);
bool IsAtMost(const Expr& e, Int value, int* budget);
bool IsAtLeast(const Expr& e, Int value);
bool IsAtMost(const Expr& e, Int value);

// ---- Division ----

struct Division {
  Terms quotient, remainder;
};
// Multivariate long division: a = b * quotient + remainder, where no term of the remainder is
// divisible by the first term of b. With `exact`, gives up at the first term of a remainder.
// nullopt also if it takes too much work or overflows; the caller then does not simplify.
std::optional<Division> DivideTerms(absl::Span<const Term> a, absl::Span<const Term> b, bool exact);
Expr FloorDivByLiteral(const Expr& a, Int d);
Expr FloorDivBySymbolic(const Expr& a, const Expr& b);

// Min or Max, as `kind` says.
Expr MinOrMax(Kind kind, const Expr& a, const Expr& b);

}  // namespace symbolic
}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_POLY_H_
