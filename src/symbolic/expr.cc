#include "src/symbolic/expr.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace onnxflops {
namespace {

__extension__ typedef __int128 Int;
__extension__ typedef unsigned __int128 UInt;

constexpr Int kIntMax = static_cast<Int>(~UInt{0} >> 1);
constexpr Int kIntMin = -kIntMax - 1;

// Limits. What comes from a file decides how expressions nest and grow, so each is checked before
// the work it bounds.
constexpr size_t kMaxTerms = 100000;      // of a polynomial; also of the products of one a * b
constexpr int kMaxDegree = 1000;          // of a monomial
constexpr int kMaxDepth = 64;             // of atoms in atoms: bounds every recursion below
constexpr int64_t kMaxWeight = 2000000;   // nodes of the expression written out as a tree
constexpr size_t kMaxOperands = 64;       // of one min, max or broadcast
constexpr size_t kMaxComparedTerms = 64;  // larger operands of min and max: compared by range only
constexpr size_t kMaxDivisionWork = 100000;  // term operations of one polynomial division
constexpr size_t kMaxRefinedTerms = 16;      // of a polynomial whose bounds are worked for
constexpr int kMaxRefinedDegree = 4;
constexpr size_t kMaxRefinedOperands = 8;  // of a min or max whose operands are so compared
constexpr int kMaxRefinements = 24;        // expressions looked at for the bounds of one call
constexpr size_t kMaxParsedChars = 16384;
constexpr size_t kMaxParsedTerms = 1000;  // of an operand of * and // in a parsed text
constexpr int kMaxParsedDepth = 100;      // of parentheses

// Literals from here on (and from the negative on down) mean "to the end" in Min and Max.
constexpr Int kInfinity = Int{1} << 62;

// The values of error(). Compared by address.
constexpr char kOverflow[] = "overflows 128 bits";
constexpr char kZeroDivision[] = "divides by zero";
constexpr char kTooManyTerms[] = "has too many terms";
constexpr char kTooDeep[] = "is nested too deep";
constexpr char kMismatch[] = "broadcasts different sizes";

// ---- Checked integers. Each returns false on overflow. ----

inline bool AddInt(Int a, Int b, Int* out) { return !__builtin_add_overflow(a, b, out); }
inline bool MulInt(Int a, Int b, Int* out) { return !__builtin_mul_overflow(a, b, out); }

// REQUIRES: b != 0.
bool FloorDivInt(Int a, Int b, Int* out) {
  if (a == kIntMin && b == -1) return false;
  const Int q = a / b;
  *out = q - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
  return true;
}

bool PowInt(Int base, int exponent, Int* out) {
  *out = 1;
  while (true) {
    if (exponent % 2 == 1 && !MulInt(*out, base, out)) return false;
    exponent /= 2;
    if (exponent == 0) return true;
    if (!MulInt(base, base, &base)) return false;
  }
}

UInt AbsInt(Int v) { return v < 0 ? UInt{0} - static_cast<UInt>(v) : static_cast<UInt>(v); }

UInt Gcd(UInt a, UInt b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

// ---- Ranges of values ----

struct Range {
  std::optional<Int> lo, hi;  // nullopt: unbounded

  bool IsPoint() const { return lo && hi && *lo == *hi; }
};

// A corner of a product of ranges: a number, or an infinity of sign `inf`. An overflow becomes an
// infinity, which makes the bound unknown: conservative.
struct Corner {
  Int value = 0;
  int inf = 0;

  int Sign() const { return inf != 0 ? inf : (value > 0) - (value < 0); }
};

Corner operator*(Corner a, Corner b) {
  const int sign = a.Sign() * b.Sign();
  if (sign == 0) return {};
  Corner result;
  if (a.inf != 0 || b.inf != 0 || !MulInt(a.value, b.value, &result.value)) return {0, sign};
  return result;
}

bool operator<(Corner a, Corner b) {
  return a.inf != b.inf ? a.inf < b.inf : a.inf == 0 && a.value < b.value;
}

Corner Low(const Range& r) { return r.lo ? Corner{*r.lo, 0} : Corner{0, -1}; }
Corner High(const Range& r) { return r.hi ? Corner{*r.hi, 0} : Corner{0, 1}; }
std::optional<Int> ToBound(Corner c) {
  return c.inf == 0 ? std::optional<Int>(c.value) : std::nullopt;
}

Range operator*(const Range& a, const Range& b) {
  const Corner c[] = {Low(a) * Low(b), Low(a) * High(b), High(a) * Low(b), High(a) * High(b)};
  return {ToBound(*std::min_element(c, c + 4)), ToBound(*std::max_element(c, c + 4))};
}

Corner PowCorner(Corner base, int power) {
  Corner result{1, 0};
  for (; power > 0; power /= 2) {
    if (power % 2 == 1) result = result * base;
    base = base * base;
  }
  return result;
}

Range PowRange(const Range& base, int power) {
  if (power == 1) return base;
  const Corner lo = PowCorner(Low(base), power), hi = PowCorner(High(base), power);
  if (power % 2 == 1) return {ToBound(lo), ToBound(hi)};
  if (Low(base).Sign() >= 0) return {ToBound(lo), ToBound(hi)};
  if (High(base).Sign() <= 0) return {ToBound(hi), ToBound(lo)};
  return {Int{0}, ToBound(std::max(lo, hi))};
}

std::optional<Int> AddBound(const std::optional<Int>& a, const std::optional<Int>& b) {
  Int sum;
  if (!a || !b || !AddInt(*a, *b, &sum)) return std::nullopt;
  return sum;
}

Range operator+(const Range& a, const Range& b) {
  return {AddBound(a.lo, b.lo), AddBound(a.hi, b.hi)};
}

std::optional<Int> NegateBound(const std::optional<Int>& a) {
  if (!a || *a == kIntMin) return std::nullopt;
  return -*a;
}

std::optional<Int> FloorBound(Int a, Int b) {
  Int q;
  return FloorDivInt(a, b, &q) ? std::optional<Int>(q) : std::nullopt;
}

// The range of floor(n / d), for d other than 0.
Range FloorDivRange(Range n, Range d) {
  if (d.hi && *d.hi < 0) {
    n = {NegateBound(n.hi), NegateBound(n.lo)};
    d = {NegateBound(d.hi), NegateBound(d.lo)};
  }
  if (!d.lo || *d.lo < 0) {  // either sign: |floor(n/d)| <= |n|
    const std::optional<Int> minus_lo = NegateBound(n.lo), minus_hi = NegateBound(n.hi);
    if (!minus_lo || !minus_hi) return {};
    return {std::min(*n.lo, *minus_hi), std::max(*n.hi, *minus_lo)};
  }
  const Int d_lo = std::max<Int>(*d.lo, 1);
  if (d.hi && *d.hi < d_lo) d.hi = std::nullopt;  // d is 0 and there is no value at all
  Range result;
  if (n.lo && *n.lo < 0) {
    result.lo = FloorBound(*n.lo, d_lo);
  } else if (n.lo) {
    result.lo = d.hi ? FloorBound(*n.lo, *d.hi) : Int{0};
  }
  if (n.hi && *n.hi >= 0) {
    result.hi = FloorBound(*n.hi, d_lo);
  } else if (n.hi) {
    result.hi = d.hi ? FloorBound(*n.hi, *d.hi) : Int{-1};
  }
  return result;
}

// ---- The representation ----

// Sorted as they print.
enum class Kind { kSymbol, kBroadcast, kFloorDiv, kMax, kMin };

// A factor of a monomial that is no number. Immutable, and shared between polynomials.
struct Atom {
  Kind kind = Kind::kSymbol;
  int depth = 0;  // 0 for a symbol, else one more than the deepest operand
  size_t hash = 0;
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

// In the order of CompareMonomials, no two alike, no coefficient 0. One term sits within its Poly,
// so that a product such as 32*batch*seq is a single allocation.
using Terms = absl::InlinedVector<Term, 1>;

}  // namespace

struct Expr::Poly {
  const char* error = nullptr;  // if set, there are no terms
  int depth = 0;
  size_t hash = 0;
  int64_t weight = 1;
  Terms terms;  // else not a literal: at least one term has factors
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

namespace {

Int LiteralOf(const Expr& e) { return static_cast<Int>(e.literal()); }
Expr Literal(Int value) { return Expr(absl::int128(value)); }

Expr Error(const char* text) {
  auto poly = std::make_shared<ExprImpl::Poly>();
  poly->error = text;
  return ExprImpl::FromPoly(std::move(poly));
}

// REQUIRES: `e` is neither a literal nor an error, here and wherever Terms are asked for.
const Terms& TermsOf(const Expr& e) { return ExprImpl::poly(e)->terms; }

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
const Atom* AsAtom(const Expr& e, Kind kind) {
  if (e.is_literal() || e.error() != nullptr || TermsOf(e).size() != 1) return nullptr;
  const Term& t = TermsOf(e)[0];
  if (t.coefficient != 1 || t.degree != 1 || t.factors[0].atom->kind != kind) return nullptr;
  return t.factors[0].atom.get();
}

// ---- Order and hashes ----

int CompareExprs(const Expr& a, const Expr& b);

int CompareAtoms(const Atom* a, const Atom* b) {
  if (a == b) return 0;
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  if (a->kind == Kind::kSymbol) return a->name.compare(b->name);
  const size_t n = std::min(a->args.size(), b->args.size());
  for (size_t i = 0; i < n; ++i) {
    if (const int order = CompareExprs(a->args[i], b->args[i]); order != 0) return order;
  }
  return a->args.size() == b->args.size() ? 0 : (a->args.size() < b->args.size() ? -1 : 1);
}

bool SameAtom(const Atom* a, const Atom* b) {
  return a == b || (a->hash == b->hash && CompareAtoms(a, b) == 0);
}

// Negative if `a` comes before `b`: by falling degree, then by the power of the first atom in which
// they differ (graded lexicographic). It is the order of print, and multiplying both by the same
// monomial keeps it, which products and divisions rely on.
int CompareMonomials(const Term& a, const Term& b) {
  if (a.degree != b.degree) return a.degree > b.degree ? -1 : 1;
  const size_t n = std::min(a.factors.size(), b.factors.size());
  for (size_t i = 0; i < n; ++i) {
    const Factor &x = a.factors[i], &y = b.factors[i];
    if (const int order = CompareAtoms(x.atom.get(), y.atom.get()); order != 0) return order;
    if (x.power != y.power) return x.power > y.power ? -1 : 1;
  }
  return 0;  // equal degrees: neither can have factors left
}

int CompareInts(Int a, Int b) { return (a > b) - (a < b); }

// Literals, then polynomials, then errors.
int CompareExprs(const Expr& a, const Expr& b) {
  if (a.is_literal() || b.is_literal()) {
    if (!a.is_literal()) return 1;
    if (!b.is_literal()) return -1;
    return CompareInts(LiteralOf(a), LiteralOf(b));
  }
  const ExprImpl::Poly *x = ExprImpl::poly(a), *y = ExprImpl::poly(b);
  if (x == y) return 0;
  if (x->error != nullptr || y->error != nullptr) {
    if (x->error == nullptr) return -1;
    if (y->error == nullptr) return 1;
    return absl::string_view(x->error).compare(y->error);
  }
  const size_t n = std::min(x->terms.size(), y->terms.size());
  for (size_t i = 0; i < n; ++i) {
    const Term &s = x->terms[i], &t = y->terms[i];
    if (const int order = CompareMonomials(s, t); order != 0) return order;
    if (s.coefficient != t.coefficient) return CompareInts(s.coefficient, t.coefficient);
  }
  return x->terms.size() == y->terms.size() ? 0 : (x->terms.size() < y->terms.size() ? -1 : 1);
}

// Not salted, so that hashes kept in atoms cost one step each; AbslHashValue salts the result.
size_t Mix(size_t hash, size_t value) {
  hash = (hash ^ value) * size_t{0x9E3779B97F4A7C15};
  return hash ^ (hash >> 29);
}

size_t HashInt(Int v) {
  return Mix(Mix(1, static_cast<size_t>(v)), static_cast<size_t>(static_cast<UInt>(v) >> 64));
}

size_t HashExpr(const Expr& e) {
  return e.is_literal() ? HashInt(LiteralOf(e)) : ExprImpl::poly(e)->hash;
}

// ---- Construction ----

// The expression of terms in canonical order.
Expr FromTerms(Terms terms) {
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms[0].degree == 0) return Literal(terms[0].coefficient);
  if (terms.size() > kMaxTerms) return Error(kTooManyTerms);
  auto poly = std::make_shared<ExprImpl::Poly>();
  size_t hash = terms.size();
  int64_t weight = 0;
  for (const Term& t : terms) {
    hash = Mix(hash, static_cast<size_t>(t.coefficient));
    weight += 1;
    for (const Factor& f : t.factors) {
      hash = Mix(hash, f.atom->hash + static_cast<size_t>(f.power));
      weight += f.atom->weight;
      poly->depth = std::max(poly->depth, f.atom->depth);
    }
  }
  if (weight > kMaxWeight) return Error(kTooManyTerms);
  poly->hash = hash;
  poly->weight = weight;
  poly->terms = std::move(terms);
  return ExprImpl::FromPoly(std::move(poly));
}

Expr FromAtom(std::shared_ptr<const Atom> atom) {
  Terms terms(1);
  terms[0].coefficient = 1;
  terms[0].degree = 1;
  terms[0].factors.push_back({std::move(atom), 1});
  return FromTerms(std::move(terms));
}

Range RangeOf(const Expr& e);
std::optional<Int> LowerOf(const Expr& e, int* budget);
std::optional<Int> UpperOf(const Expr& e, int* budget);
Range RefinedRangeOf(const Expr& e, int* budget) {
  return {LowerOf(e, budget), UpperOf(e, budget)};
}

// One of the operands: min picks by the smaller bound, max by the larger; a broadcast may be any.
Range ChoiceRange(Kind kind, const std::vector<Expr>& args, int* budget) {
  Range result = RefinedRangeOf(args[0], budget);
  for (size_t i = 1; i < args.size(); ++i) {
    const Range r = RefinedRangeOf(args[i], budget);
    if (kind == Kind::kMax) {
      if (!result.lo || (r.lo && *r.lo > *result.lo)) result.lo = r.lo;
    } else {
      result.lo =
          result.lo && r.lo ? std::optional<Int>(std::min(*result.lo, *r.lo)) : std::nullopt;
    }
    if (kind == Kind::kMin) {
      if (!result.hi || (r.hi && *r.hi < *result.hi)) result.hi = r.hi;
    } else {
      result.hi =
          result.hi && r.hi ? std::optional<Int>(std::max(*result.hi, *r.hi)) : std::nullopt;
    }
  }
  return result;
}

// An atom of operands that nothing simplifies any more (except that its range may be one value).
Expr MakeAtom(Kind kind, std::vector<Expr> args) {
  auto atom = std::make_shared<Atom>();
  atom->kind = kind;
  atom->hash = static_cast<size_t>(kind);
  for (const Expr& e : args) {
    atom->hash = Mix(atom->hash, HashExpr(e));
    if (e.is_literal()) continue;
    atom->weight += ExprImpl::poly(e)->weight;
    atom->depth = std::max(atom->depth, ExprImpl::poly(e)->depth);
  }
  if (++atom->depth > kMaxDepth) return Error(kTooDeep);
  if (atom->weight > kMaxWeight) return Error(kTooManyTerms);
  int budget = kMaxRefinements;
  if (kind == Kind::kFloorDiv) {
    const Range numerator = RefinedRangeOf(args[0], &budget);
    atom->range = FloorDivRange(numerator, RefinedRangeOf(args[1], &budget));
  } else {
    atom->range = ChoiceRange(kind, args, &budget);
  }
  if (atom->range.IsPoint()) return Literal(*atom->range.lo);
  atom->args = std::move(args);
  return FromAtom(std::move(atom));
}

// Collects terms in any order. Terms that fall together are joined whenever the buffer has doubled,
// so that it stays within twice the size of the result.
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

void TermAccumulator::Join() {
  std::sort(buffer_.begin(), buffer_.end(),
            [](const Term& a, const Term& b) { return CompareMonomials(a, b) < 0; });
  size_t kept = 0;
  for (size_t i = 0; i < buffer_.size();) {
    Int sum = buffer_[i].coefficient;
    size_t next = i + 1;
    for (; next < buffer_.size() && CompareMonomials(buffer_[i], buffer_[next]) == 0; ++next) {
      if (!AddInt(sum, buffer_[next].coefficient, &sum)) Fail(kOverflow);
    }
    if (sum != 0) {
      if (kept != i) buffer_[kept] = std::move(buffer_[i]);
      buffer_[kept++].coefficient = sum;
    }
    i = next;
  }
  buffer_.resize(kept);
  if (kept > kMaxTerms) Fail(kTooManyTerms);
  if (error_ != nullptr) buffer_.clear();
  next_join_ = std::max<size_t>(1024, 2 * buffer_.size());
}

// ---- Sums and products of terms. Each returns nullptr or the error. ----

// a + sign * b, for sign 1 or -1.
const char* MergeTerms(absl::Span<const Term> a, absl::Span<const Term> b, int sign, Terms* out) {
  out->reserve(a.size() + b.size());
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const int order = i == a.size() ? 1 : j == b.size() ? -1 : CompareMonomials(a[i], b[j]);
    if (order < 0) {
      out->push_back(a[i++]);
      continue;
    }
    Int c = order == 0 ? a[i].coefficient : 0;
    if (sign > 0 ? __builtin_add_overflow(c, b[j].coefficient, &c)
                 : __builtin_sub_overflow(c, b[j].coefficient, &c)) {
      return kOverflow;
    }
    if (c != 0) {
      out->push_back(b[j]);
      out->back().coefficient = c;
    }
    ++j;
    if (order == 0) ++i;
  }
  return nullptr;
}

const char* MultiplyTerm(const Term& a, const Term& b, Term* out) {
  if (!MulInt(a.coefficient, b.coefficient, &out->coefficient)) return kOverflow;
  out->degree = a.degree + b.degree;
  if (out->degree > kMaxDegree) return kOverflow;
  auto i = a.factors.begin(), j = b.factors.begin();
  while (i != a.factors.end() || j != b.factors.end()) {
    const int order = i == a.factors.end()   ? 1
                      : j == b.factors.end() ? -1
                                             : CompareAtoms(i->atom.get(), j->atom.get());
    out->factors.push_back(order <= 0 ? *i++ : *j++);
    if (order == 0) out->factors.back().power += (j++)->power;
  }
  return nullptr;
}

// Keeps the order of `a`, so the product is canonical as it stands.
const char* MultiplyTerms(absl::Span<const Term> a, const Term& b, Terms* out) {
  out->resize(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (const char* error = MultiplyTerm(a[i], b, &(*out)[i])) return error;
  }
  return nullptr;
}

Expr AddSigned(const Expr& a, const Expr& b, int sign) {
  if (a.error() != nullptr) return a;
  if (b.error() != nullptr) return b;
  if (b.is_literal() && b.literal() == 0) return a;
  Terms terms;
  const TermSpan x(a), y(b);
  if (const char* error = MergeTerms(x.get(), y.get(), sign, &terms)) return Error(error);
  return FromTerms(std::move(terms));
}

Expr MultiplyPolys(const Expr& a, const Expr& b) {
  if (a.error() != nullptr) return a;
  if (b.error() != nullptr) return b;
  const TermSpan x(a), y(b);
  if (x.get().size() > kMaxTerms / std::max<size_t>(y.get().size(), 1)) return Error(kTooManyTerms);
  if (x.get().size() <= 1 || y.get().size() <= 1) {
    if (x.get().empty() || y.get().empty()) return 0;
    const bool x_is_one = x.get().size() == 1;
    Terms terms;
    const char* error = x_is_one ? MultiplyTerms(y.get(), x.get()[0], &terms)
                                 : MultiplyTerms(x.get(), y.get()[0], &terms);
    return error != nullptr ? Error(error) : FromTerms(std::move(terms));
  }
  TermAccumulator sum;
  for (const Term& s : x.get()) {
    for (const Term& t : y.get()) {
      Term product;
      if (const char* error = MultiplyTerm(s, t, &product)) return Error(error);
      sum.Add(std::move(product));
    }
  }
  return std::move(sum).Finish();
}

Expr Negate(const Expr& e) { return Expr(0) - e; }

// ---- Bounds ----

Range RangeOf(const Expr& e) {
  if (e.is_literal()) return {LiteralOf(e), LiteralOf(e)};
  if (e.error() != nullptr) return {};
  Range sum{Int{0}, Int{0}};
  for (const Term& t : TermsOf(e)) {
    Range product{t.coefficient, t.coefficient};
    for (const Factor& f : t.factors) product = product * PowRange(f.atom->range, f.power);
    sum = sum + product;
    if (!sum.lo && !sum.hi) break;
  }
  return sum;
}

// Ranges of terms are taken each for itself, which loses that terms share symbols: n - min(n, 3)
// would seem to go below 0. Two ways to know better follow. They are tried on small polynomials
// that have something to subtract; `sign` is 1 for the lower bound, -1 for the upper.
bool IsWorthRefining(const Expr& e, int sign) {
  if (e.is_literal() || e.error() != nullptr) return false;
  const Terms& terms = TermsOf(e);
  if (terms.size() < 2 || terms.size() > kMaxRefinedTerms) return false;
  if (terms[1].degree == 0 || terms[0].degree > kMaxRefinedDegree) return false;
  bool subtracts = false, is_linear = true;  // a sum of multiples of symbols has nothing to refine
  for (const Term& t : terms) {
    if (t.degree == 0) continue;
    subtracts = subtracts || (t.coefficient < 0) == (sign > 0);
    is_linear = is_linear && t.degree == 1 && t.factors[0].atom->kind == Kind::kSymbol;
  }
  return subtracts && !is_linear;
}

bool IsSmall(const Expr& e) {
  return e.is_literal() || (e.error() == nullptr && TermsOf(e).size() <= kMaxRefinedTerms);
}

// Writes each symbol as its least value plus a symbol >= 0: n*m - m with n >= 1 is n'*m, so >= 0.
std::optional<Int> ShiftedLowerBound(const Expr& e) {
  Expr shifted;
  bool has_shift = false;
  for (const Term& t : TermsOf(e)) {
    Expr product = Literal(t.coefficient);
    for (const Factor& f : t.factors) {
      const Atom& atom = *f.atom;
      Expr x = FromAtom(f.atom);
      if (atom.kind == Kind::kSymbol && *atom.range.lo != 0) {
        x = Expr::Symbol(atom.name, 0) + Literal(*atom.range.lo);
        has_shift = true;
      }
      product *= Power(x, f.power);
    }
    shifted += product;
  }
  return has_shift ? RangeOf(shifted).lo : std::nullopt;
}

std::optional<Int> Larger(const std::optional<Int>& a, const std::optional<Int>& b) {
  return !a || (b && *b > *a) ? b : a;
}

// Expressions that are nowhere greater than k*e, for the k > 0 set: `e` with term `i`, a multiple
// of one atom, replaced by what bounds the atom.
std::vector<Expr> Underestimates(const Expr& e, size_t i, Int* k) {
  const Term& t = TermsOf(e)[i];
  const Atom& atom = *t.factors[0].atom;
  Terms rest_terms = TermsOf(e);
  rest_terms.erase(rest_terms.begin() + static_cast<std::ptrdiff_t>(i));
  const Expr rest = FromTerms(std::move(rest_terms)), c = Literal(t.coefficient);
  *k = 1;
  std::vector<Expr> result;
  if (atom.kind == (t.coefficient < 0 ? Kind::kMin : Kind::kMax)) {
    for (const Expr& arg : atom.args) {
      if (IsSmall(arg)) result.push_back(rest + c * arg);
    }
  } else if (atom.kind == Kind::kFloorDiv && atom.args[1].is_literal() && IsSmall(atom.args[0])) {
    // (x - (d-1))/d <= floor(x/d) <= x/d, for the literal d > 0.
    const Expr &x = atom.args[0], &d = atom.args[1];
    *k = LiteralOf(d);
    result.push_back(rest * d + c * (t.coefficient < 0 ? x : x - (d - 1)));
  }
  return result;
}

// Looks at no more than `*budget` expressions.
std::optional<Int> RefinedLowerBound(const Expr& e, int replacements, int* budget) {
  std::optional<Int> best = RangeOf(e).lo;
  if (!IsWorthRefining(e, 1) || --*budget < 0) return best;
  if (TermsOf(e)[0].degree > 1) best = Larger(best, ShiftedLowerBound(e));
  if (replacements == 0) return best;
  for (size_t i = 0; i < TermsOf(e).size() && *budget > 0; ++i) {
    const Term& t = TermsOf(e)[i];
    if (t.degree != 1 || t.factors[0].atom->kind == Kind::kSymbol) continue;
    Int k, q;
    for (const Expr& u : Underestimates(e, i, &k)) {
      const std::optional<Int> bound = RefinedLowerBound(u, replacements - 1, budget);
      if (!bound || !FloorDivInt(*bound, k, &q)) continue;
      best = Larger(best, q + (*bound % k != 0 ? 1 : 0));  // k*e >= bound: e >= ceil(bound/k)
    }
  }
  return best;
}

std::optional<Int> LowerOf(const Expr& e, int* budget) { return RefinedLowerBound(e, 2, budget); }

std::optional<Int> UpperOf(const Expr& e, int* budget) {
  if (*budget <= 0 || !IsWorthRefining(e, -1)) return RangeOf(e).hi;
  return NegateBound(LowerOf(Negate(e), budget));
}

bool IsAtLeast(const Expr& e, Int value, int* budget) {
  const std::optional<Int> plain = RangeOf(e).lo;
  if (plain && *plain >= value) return true;
  if (*budget <= 0 || !IsWorthRefining(e, 1)) return false;
  const std::optional<Int> lower = LowerOf(e, budget);
  return lower && *lower >= value;
}

bool IsAtMost(const Expr& e, Int value, int* budget) {
  const std::optional<Int> upper = UpperOf(e, budget);
  return upper && *upper <= value;
}

bool IsAtLeast(const Expr& e, Int value) {
  int budget = kMaxRefinements;
  return IsAtLeast(e, value, &budget);
}

bool IsAtMost(const Expr& e, Int value) {
  int budget = kMaxRefinements;
  return IsAtMost(e, value, &budget);
}

// ---- Division ----

// a / b if the monomial and the coefficient divide.
bool DivideTerm(const Term& a, const Term& b, Term* out) {
  if (a.degree < b.degree) return false;
  if (!FloorDivInt(a.coefficient, b.coefficient, &out->coefficient)) return false;
  if (a.coefficient % b.coefficient != 0) return false;
  out->degree = a.degree - b.degree;
  auto i = a.factors.begin();
  for (const Factor& f : b.factors) {
    while (i != a.factors.end() && CompareAtoms(i->atom.get(), f.atom.get()) < 0) {
      out->factors.push_back(*i++);
    }
    if (i == a.factors.end() || !SameAtom(i->atom.get(), f.atom.get()) || i->power < f.power) {
      return false;
    }
    if (i->power > f.power) out->factors.push_back({i->atom, i->power - f.power});
    ++i;
  }
  out->factors.insert(out->factors.end(), i, a.factors.end());
  return true;
}

struct Division {
  Terms quotient, remainder;
};

// Multivariate long division: a = b * quotient + remainder, where no term of the remainder is
// divisible by the first term of b. With `exact`, gives up at the first term of a remainder.
// nullopt also if it takes too much work or overflows; the caller then does not simplify.
std::optional<Division> DivideTerms(absl::Span<const Term> a, absl::Span<const Term> b,
                                    bool exact) {
  Division result;
  if (b.size() == 1) {
    for (const Term& t : a) {
      Term q;
      if (DivideTerm(t, b[0], &q)) {
        result.quotient.push_back(std::move(q));
      } else if (exact) {
        return std::nullopt;
      } else {
        result.remainder.push_back(t);
      }
    }
    return result;
  }
  Terms rest(a.begin(), a.end());
  for (size_t work = 0; !rest.empty();) {
    work += rest.size() + b.size();
    if (work > kMaxDivisionWork) return std::nullopt;
    Term q;
    if (DivideTerm(rest[0], b[0], &q)) {
      Terms product, difference;
      if (MultiplyTerms(b, q, &product) != nullptr) return std::nullopt;
      if (MergeTerms(rest, product, -1, &difference) != nullptr) return std::nullopt;
      result.quotient.push_back(std::move(q));
      rest = std::move(difference);
    } else if (exact) {
      return std::nullopt;
    } else {
      result.remainder.push_back(std::move(rest[0]));
      rest.erase(rest.begin());
    }
  }
  return result;
}

// The greatest common divisor of all terms, with a positive coefficient (0 if that overflows).
Term CommonFactor(absl::Span<const Term> a, absl::Span<const Term> b) {
  Term common = b[0];
  UInt gcd = 0;
  for (const absl::Span<const Term> terms : {a, b}) {
    for (const Term& t : terms) {
      gcd = Gcd(gcd, AbsInt(t.coefficient));
      for (Factor& f : common.factors) {
        const auto same = std::find_if(t.factors.begin(), t.factors.end(), [&f](const Factor& g) {
          return SameAtom(g.atom.get(), f.atom.get());
        });
        f.power = same == t.factors.end() ? 0 : std::min(f.power, same->power);
      }
    }
  }
  const auto gone = std::remove_if(common.factors.begin(), common.factors.end(),
                                   [](const Factor& f) { return f.power == 0; });
  common.factors.erase(gone, common.factors.end());
  common.degree = 0;
  for (const Factor& f : common.factors) common.degree += f.power;
  common.coefficient = gcd > static_cast<UInt>(kIntMax) ? 0 : static_cast<Int>(gcd);
  return common;
}

// The one term of `e` that is 1 times a floor by a literal, if exactly one is.
const Term* OnlyFloorTerm(const Expr& e) {
  const Term* found = nullptr;
  for (const Term& t : TermsOf(e)) {
    if (t.degree != 1 || t.factors[0].atom->kind != Kind::kFloorDiv) continue;
    if (!t.factors[0].atom->args[1].is_literal()) continue;
    if (found != nullptr || t.coefficient != 1) return nullptr;
    found = &t;
  }
  return found;
}

// floor((floor(x/c) + y)/d) = floor((x + c*y)/(c*d)) for literals c, d > 0 and any integer y.
std::optional<Expr> JoinNestedFloors(const Expr& numerator, Int d) {
  const Term* floor = OnlyFloorTerm(numerator);
  if (floor == nullptr) return std::nullopt;
  const Atom& atom = *floor->factors[0].atom;
  const Expr& c = atom.args[1];
  Expr joined =
      FloorDiv(atom.args[0] + c * (numerator - FromAtom(floor->factors[0].atom)), c * Literal(d));
  if (joined.error() != nullptr) return std::nullopt;  // too large to join, not too large as it is
  return joined;
}

// REQUIRES: `a` has terms, d >= 2.
Expr FloorDivByLiteral(const Expr& a, Int d) {
  Terms quotient, rest;
  Int constant = 0;
  UInt gcd = static_cast<UInt>(d);
  for (const Term& t : TermsOf(a)) {
    if (t.degree == 0) {
      constant = t.coefficient;
    } else if (t.coefficient % d == 0) {
      quotient.push_back(t);
      quotient.back().coefficient /= d;
    } else {
      rest.push_back(t);
      gcd = Gcd(gcd, AbsInt(t.coefficient));
    }
  }
  // The constant of the numerator can be rounded to the common factor, and what it holds of whole
  // multiples of the divisor goes out: (k*x + c)/(k*d) and (x + floor(c/k))/d have one floor.
  const Int common = static_cast<Int>(gcd);
  Int whole;
  FloorDivInt(constant, common, &constant);
  d /= common;
  FloorDivInt(constant, d, &whole);
  const Expr outside = FromTerms(std::move(quotient)) + Literal(whole);
  if (rest.empty()) return outside;
  for (Term& t : rest) t.coefficient /= common;
  const Expr numerator = FromTerms(std::move(rest)) + Literal(constant - whole * d);
  if (std::optional<Expr> joined = JoinNestedFloors(numerator, d)) return outside + *joined;
  return outside + MakeAtom(Kind::kFloorDiv, {numerator, Literal(d)});
}

// REQUIRES: `b` has terms; `a` is no error.
Expr FloorDivBySymbolic(const Expr& a, const Expr& b) {
  const TermSpan x(a);
  Expr outside, numerator = a;
  // floor((b*q + r)/b) = q + floor(r/b). Dividing by a sum may as well make `a` longer; then not.
  if (std::optional<Division> d = DivideTerms(x.get(), TermsOf(b), /*exact=*/false);
      d && (TermsOf(b).size() == 1 || d->remainder.size() < x.get().size())) {
    outside = FromTerms(std::move(d->quotient));
    numerator = FromTerms(std::move(d->remainder));
  }
  if (numerator.is_literal() && numerator.literal() == 0) return outside;
  const TermSpan rest(numerator);
  Term common = CommonFactor(rest.get(), TermsOf(b));
  if (TermsOf(b)[0].coefficient < 0) common.coefficient = -common.coefficient;
  if (common.coefficient != 0 && (common.coefficient != 1 || common.degree != 0)) {
    std::optional<Division> n = DivideTerms(rest.get(), {&common, 1}, /*exact=*/true);
    std::optional<Division> d = DivideTerms(TermsOf(b), {&common, 1}, /*exact=*/true);
    if (n && d) {
      return outside +
             FloorDiv(FromTerms(std::move(n->quotient)), FromTerms(std::move(d->quotient)));
    }
  }
  if (IsAtLeast(numerator, 0) && IsAtLeast(b - numerator, 1)) return outside;
  return outside + MakeAtom(Kind::kFloorDiv, {numerator, b});
}

// ---- Min, Max, broadcast ----

std::vector<Expr> Operands(Kind kind, const Expr& e) {
  const Atom* atom = AsAtom(e, kind);
  return atom != nullptr ? atom->args : std::vector<Expr>{e};
}

// Whether a <= b is provable (for Max: a >= b), so that `b` need not be an operand beside `a`. The
// budget is that of this pair alone: were it shared, the order of operands would decide.
bool Dominates(Kind kind, const Expr& a, const Expr& b, int budget) {
  const Expr &low = kind == Kind::kMin ? a : b, &high = kind == Kind::kMin ? b : a;
  if (low.is_literal()) return IsAtLeast(high, LiteralOf(low), &budget);
  if (high.is_literal()) return IsAtMost(low, LiteralOf(high), &budget);
  if (low == high) return true;
  if (TermsOf(low).size() > kMaxComparedTerms || TermsOf(high).size() > kMaxComparedTerms) {
    const std::optional<Int> upper = RangeOf(low).hi, lower = RangeOf(high).lo;
    return upper && lower && *upper <= *lower;
  }
  return IsAtLeast(high - low, 0, &budget);
}

bool IsInfinite(Kind kind, const Expr& e) {
  if (!e.is_literal()) return false;
  return kind == Kind::kMin ? LiteralOf(e) >= kInfinity : LiteralOf(e) <= -kInfinity;
}

Expr MinOrMax(Kind kind, const Expr& a, const Expr& b) {
  if (a.error() != nullptr) return a;
  if (b.error() != nullptr) return b;
  if (a.is_literal() && b.is_literal())
    return ((a.literal() < b.literal()) == (kind == Kind::kMin)) ? a : b;
  if (a == b || IsInfinite(kind, b)) return a;
  if (IsInfinite(kind, a)) return b;
  std::vector<Expr> kept = Operands(kind, a);
  const std::vector<Expr> others = Operands(kind, b);
  if (kept.size() + others.size() > kMaxOperands) return Error(kTooManyTerms);
  const bool is_short = kept.size() + others.size() <= kMaxRefinedOperands;
  const int budget = is_short ? kMaxRefinements : 0;
  for (const Expr& e : others) {
    if (std::any_of(kept.begin(), kept.end(),
                    [&](const Expr& k) { return Dominates(kind, k, e, budget); })) {
      continue;
    }
    const auto gone = std::remove_if(kept.begin(), kept.end(),
                                     [&](const Expr& k) { return Dominates(kind, e, k, budget); });
    kept.erase(gone, kept.end());
    kept.push_back(e);
  }
  if (kept.size() == 1) return kept[0];
  std::sort(kept.begin(), kept.end());
  return MakeAtom(kind, std::move(kept));
}

bool CannotBeOne(const Expr& e) { return IsAtLeast(e, 2) || IsAtMost(e, 0); }

// Whether `e` is min(..., x, ...) for an `x` of the sizes, every other operand being at least 2. If
// it is less than x it differs from it and neither is 1; so where the sizes fit, it is x.
bool IsCappedSize(const Expr& e, const std::vector<Expr>& sizes) {
  const Atom* atom = AsAtom(e, Kind::kMin);
  if (atom == nullptr) return false;
  const auto is_size = [&sizes](const Expr& x) {
    return std::find(sizes.begin(), sizes.end(), x) != sizes.end();
  };
  const auto x = std::find_if(atom->args.begin(), atom->args.end(), is_size);
  if (x == atom->args.end()) return false;
  for (auto other = atom->args.begin(); other != atom->args.end(); ++other) {
    if (other != x && !IsAtLeast(*other, 2)) return false;
  }
  return true;
}

Expr BroadcastSymbolic(const Expr& a, const Expr& b) {
  std::vector<Expr> sizes = Operands(Kind::kBroadcast, a);
  const std::vector<Expr> others = Operands(Kind::kBroadcast, b);
  sizes.insert(sizes.end(), others.begin(), others.end());
  if (sizes.size() > kMaxOperands) return Error(kTooManyTerms);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<Expr> kept;
  for (const Expr& e : sizes) {
    if (!IsCappedSize(e, sizes)) kept.push_back(e);
  }
  return kept.size() == 1 ? kept[0] : MakeAtom(Kind::kBroadcast, std::move(kept));
}

}  // namespace

// ---- The interface ----

Expr Expr::Symbol(absl::string_view name, int64_t at_least) {
  auto atom = std::make_shared<Atom>();
  atom->name = std::string(name);
  atom->range.lo = at_least;
  for (const char c : name) atom->hash = Mix(atom->hash, static_cast<unsigned char>(c));
  return FromAtom(std::move(atom));
}

std::optional<int64_t> Expr::AsInt64() const {
  if (!is_literal() || literal_ < std::numeric_limits<int64_t>::min() ||
      literal_ > std::numeric_limits<int64_t>::max()) {
    return std::nullopt;
  }
  return static_cast<int64_t>(literal_);
}

const char* Expr::error() const { return poly_ == nullptr ? nullptr : poly_->error; }

size_t Expr::HashCode() const { return HashExpr(*this); }

Expr operator+(const Expr& a, const Expr& b) {
  if (!a.is_literal() || !b.is_literal()) return AddSigned(a, b, 1);
  Int sum;
  return AddInt(LiteralOf(a), LiteralOf(b), &sum) ? Literal(sum) : Error(kOverflow);
}

Expr operator-(const Expr& a, const Expr& b) {
  if (!a.is_literal() || !b.is_literal()) return AddSigned(a, b, -1);
  Int difference;
  if (__builtin_sub_overflow(LiteralOf(a), LiteralOf(b), &difference)) return Error(kOverflow);
  return Literal(difference);
}

Expr operator*(const Expr& a, const Expr& b) {
  if (a.is_literal() && b.is_literal()) {
    Int product;
    return MulInt(LiteralOf(a), LiteralOf(b), &product) ? Literal(product) : Error(kOverflow);
  }
  if (a.is_literal() && a.literal() == 1) return b;
  if (b.is_literal() && b.literal() == 1) return a;
  return MultiplyPolys(a, b);
}

bool operator==(const Expr& a, const Expr& b) {
  if (a.is_literal() || b.is_literal()) {
    return a.is_literal() && b.is_literal() && a.literal() == b.literal();
  }
  return a.poly_ == b.poly_ || (a.HashCode() == b.HashCode() && CompareExprs(a, b) == 0);
}

bool operator<(const Expr& a, const Expr& b) { return CompareExprs(a, b) < 0; }

std::optional<absl::int128> Expr::LowerBound() const {
  int budget = kMaxRefinements;
  return LowerOf(*this, &budget);
}

std::optional<absl::int128> Expr::UpperBound() const {
  int budget = kMaxRefinements;
  return UpperOf(*this, &budget);
}

bool Expr::AtLeast(const Expr& value) const {
  if (value.is_literal()) return IsAtLeast(*this, LiteralOf(value));
  return IsAtLeast(*this - value, 0);
}

Expr Sum(absl::Span<const Expr> terms) {
  // Like a binary counter: partial[k], if bit k of `i` is set, is the sum of 2^k terms.
  std::vector<Expr> partial;
  for (size_t i = 0; i < terms.size(); ++i) {
    Expr carry = terms[i];
    size_t k = 0;
    for (; (i >> k) % 2 == 1; ++k) carry = std::exchange(partial[k], Expr()) + carry;
    if (k == partial.size()) partial.emplace_back();
    partial[k] = std::move(carry);
  }
  Expr sum;
  for (const Expr& e : partial) sum += e;
  return sum;
}

Expr FloorDiv(const Expr& a, const Expr& b) {
  if (a.error() != nullptr) return a;
  if (b.error() != nullptr) return b;
  if (!b.is_literal()) return FloorDivBySymbolic(a, b);
  const Int d = LiteralOf(b);
  if (d == 0) return Error(kZeroDivision);
  if (a.is_literal()) {
    Int q;
    return FloorDivInt(LiteralOf(a), d, &q) ? Literal(q) : Error(kOverflow);
  }
  if (d == 1) return a;
  return d < 0 ? FloorDiv(Negate(a), Negate(b)) : FloorDivByLiteral(a, d);
}

Expr CeilDiv(const Expr& a, const Expr& b) {
  if (a.is_literal() && b.is_literal()) return Negate(FloorDiv(Negate(a), b));
  if (const std::optional<Expr> exact = DivideExactly(a, b)) return *exact;
  // For integers, ceil(a/b) = floor((a - 1)/b) + 1 where b > 0.
  if (b.AtLeast(1)) return FloorDiv(a - 1, b) + 1;
  return Negate(FloorDiv(Negate(a), b));
}

Expr Mod(const Expr& a, const Expr& b) {
  if (!a.is_literal() || !b.is_literal()) return a - b * FloorDiv(a, b);
  const Int x = LiteralOf(a), m = LiteralOf(b);
  if (m == 0) return Error(kZeroDivision);
  if (m == -1) return 0;  // the hardware traps on the smallest integer
  const Int r = x % m;
  return Literal(r != 0 && (r < 0) != (m < 0) ? r + m : r);
}

Expr Min(const Expr& a, const Expr& b) { return MinOrMax(Kind::kMin, a, b); }
Expr Max(const Expr& a, const Expr& b) { return MinOrMax(Kind::kMax, a, b); }

std::optional<Expr> DivideExactly(const Expr& a, const Expr& b) {
  if (a.error() != nullptr) return a;
  if (b.error() != nullptr) return b;
  if (b.is_literal() && b.literal() == 0) return std::nullopt;
  const TermSpan x(a), y(b);
  if (std::optional<Division> d = DivideTerms(x.get(), y.get(), /*exact=*/true)) {
    return FromTerms(std::move(d->quotient));
  }
  return std::nullopt;
}

std::optional<Expr> BroadcastDim(const Expr& a, const Expr& b) {
  if (a.error() != nullptr) return a;
  if (b.error() != nullptr) return b;
  if (a == b || b == Expr(1)) return a;
  if (a == Expr(1)) return b;
  if (a.is_literal() && b.is_literal()) return std::nullopt;
  if (CannotBeOne(a) && CannotBeOne(b) && ProvablyEqual(a, b) == false) return std::nullopt;
  if (a.is_literal()) return a;
  if (b.is_literal()) return b;
  return BroadcastSymbolic(a, b);
}

std::optional<bool> ProvablyEqual(const Expr& a, const Expr& b) {
  if (a.error() != nullptr || b.error() != nullptr) return std::nullopt;
  if (a == b) return true;
  const Expr difference = a - b;
  if (difference.is_literal() || IsAtLeast(difference, 1) || IsAtMost(difference, -1)) return false;
  return std::nullopt;
}

std::optional<bool> ProvablyLess(const Expr& a, const Expr& b) {
  const Expr difference = b - a;
  if (difference.error() != nullptr) return std::nullopt;
  if (IsAtLeast(difference, 1)) return true;
  if (IsAtMost(difference, 0)) return false;
  return std::nullopt;
}

Expr Power(const Expr& base, int exponent) {
  Expr result = 1;
  for (Expr square = base; exponent > 0; square *= square) {
    if (exponent % 2 == 1) result *= square;
    exponent /= 2;
    if (exponent == 0) break;  // the next square may overflow for nothing
  }
  return result;
}

// ---- Values ----

namespace {

// Evaluates one expression. Remembers the values of the atoms met first: a total mentions the same
// few symbols in every term.
class Evaluator {
 public:
  explicit Evaluator(const Bindings& bindings) : bindings_(bindings) {}

  // The rest return false if there is no value; then the status says why.
  bool Value(const Expr& e, Int* out);
  const absl::Status& status() const { return status_; }

 private:
  bool AtomValue(const Atom& atom, Int* out);
  bool Compute(const Atom& atom, Int* out);
  bool BroadcastValue(const Atom& atom, Int* out);
  bool Fail(absl::Status status) {
    status_ = std::move(status);
    return false;
  }
  bool Overflow() { return Fail(absl::OutOfRangeError(kOverflow)); }

  static constexpr size_t kRemembered = 16;
  const Bindings& bindings_;
  absl::InlinedVector<std::pair<const Atom*, Int>, kRemembered> known_;
  absl::Status status_;
};

bool Evaluator::Value(const Expr& e, Int* out) {
  if (e.is_literal()) {
    *out = LiteralOf(e);
    return true;
  }
  if (const char* error = e.error()) {
    return Fail(error == kZeroDivision || error == kMismatch ? absl::InvalidArgumentError(error)
                                                             : absl::OutOfRangeError(error));
  }
  Int sum = 0;
  for (const Term& t : TermsOf(e)) {
    Int product = t.coefficient;
    for (const Factor& f : t.factors) {
      Int value;
      if (!AtomValue(*f.atom, &value)) return false;
      if (f.power != 1 && !PowInt(value, f.power, &value)) return Overflow();
      if (!MulInt(product, value, &product)) return Overflow();
    }
    if (!AddInt(sum, product, &sum)) return Overflow();
  }
  *out = sum;
  return true;
}

bool Evaluator::AtomValue(const Atom& atom, Int* out) {
  for (const auto& [known, value] : known_) {
    if (known == &atom) {
      *out = value;
      return true;
    }
  }
  if (!Compute(atom, out)) return false;
  if (known_.size() < kRemembered) known_.emplace_back(&atom, *out);
  return true;
}

bool Evaluator::Compute(const Atom& atom, Int* out) {
  if (atom.kind == Kind::kSymbol) {
    const auto it = bindings_.find(atom.name);
    if (it == bindings_.end()) {
      return Fail(absl::FailedPreconditionError(absl::StrCat(
          "symbol '", atom.name, "' is not bound (bind it with --dim ", atom.name, "=N)")));
    }
    *out = it->second;
    return true;
  }
  if (atom.kind == Kind::kBroadcast) return BroadcastValue(atom, out);
  if (!Value(atom.args[0], out)) return false;
  for (size_t i = 1; i < atom.args.size(); ++i) {
    Int value;
    if (!Value(atom.args[i], &value)) return false;
    if (atom.kind == Kind::kMin) {
      *out = std::min(*out, value);
    } else if (atom.kind == Kind::kMax) {
      *out = std::max(*out, value);
    } else if (value == 0) {
      return Fail(absl::InvalidArgumentError(
          absl::StrCat(kZeroDivision, ": ", atom.args[1].ToString(), " is 0")));
    } else if (!FloorDivInt(*out, value, out)) {
      return Overflow();
    }
  }
  return true;
}

bool Evaluator::BroadcastValue(const Atom& atom, Int* out) {
  *out = 1;
  const Expr* from = nullptr;
  for (const Expr& e : atom.args) {
    Int value;
    if (!Value(e, &value)) return false;
    if (value == 1 || value == *out) continue;
    if (*out != 1) {
      return Fail(absl::InvalidArgumentError(
          absl::StrCat("cannot broadcast ", Int128ToString(*out), " (", from->ToString(), ") with ",
                       Int128ToString(value), " (", e.ToString(), ")")));
    }
    *out = value;
    from = &e;
  }
  return true;
}

// Replaces symbols, bottom up, each atom once.
class Substituter {
 public:
  explicit Substituter(const Bindings& bindings) : bindings_(bindings) {}

  Expr Rebuild(const Expr& e);

 private:
  Expr RebuildAtom(const std::shared_ptr<const Atom>& atom);
  Expr Compute(const Atom& atom);

  const Bindings& bindings_;
  absl::flat_hash_map<const Atom*, Expr> done_;
};

Expr Substituter::Rebuild(const Expr& e) {
  if (e.is_literal() || e.error() != nullptr) return e;
  TermAccumulator sum;
  for (const Term& t : TermsOf(e)) {
    Expr product = Literal(t.coefficient);
    for (const Factor& f : t.factors) product *= Power(RebuildAtom(f.atom), f.power);
    sum.Add(product);
    if (sum.error() != nullptr) break;
  }
  return std::move(sum).Finish();
}

Expr Substituter::RebuildAtom(const std::shared_ptr<const Atom>& atom) {
  if (const auto it = done_.find(atom.get()); it != done_.end()) return it->second;
  Expr result;
  if (atom->kind == Kind::kSymbol) {
    const auto it = bindings_.find(atom->name);
    result = it == bindings_.end() ? FromAtom(atom) : Expr(it->second);
  } else {
    result = Compute(*atom);
  }
  done_.emplace(atom.get(), result);
  return result;
}

Expr Substituter::Compute(const Atom& atom) {
  Expr result = Rebuild(atom.args[0]);
  for (size_t i = 1; i < atom.args.size(); ++i) {
    const Expr arg = Rebuild(atom.args[i]);
    if (atom.kind == Kind::kFloorDiv) {
      result = FloorDiv(result, arg);
    } else if (atom.kind == Kind::kBroadcast) {
      const std::optional<Expr> size = BroadcastDim(result, arg);
      result = size ? *size : Error(kMismatch);
    } else {
      result = MinOrMax(atom.kind, result, arg);
    }
  }
  return result;
}

class SymbolCollector {
 public:
  void Visit(const Expr& e) {
    if (e.is_literal() || e.error() != nullptr) return;
    for (const Term& t : TermsOf(e)) {
      for (const Factor& f : t.factors) {
        if (!visited_.insert(f.atom.get()).second) continue;
        if (f.atom->kind == Kind::kSymbol) names_.insert(f.atom->name);
        for (const Expr& arg : f.atom->args) Visit(arg);
      }
    }
  }
  std::vector<std::string> Names() const { return {names_.begin(), names_.end()}; }

 private:
  absl::flat_hash_set<const Atom*> visited_;
  absl::btree_set<std::string> names_;
};

// ---- Text ----

void Print(const Expr& e, std::string* out);

void PrintOperand(const Expr& e, bool parenthesised, std::string* out) {
  if (parenthesised) out->push_back('(');
  Print(e, out);
  if (parenthesised) out->push_back(')');
}

bool IsSum(const Expr& e) {
  return !e.is_literal() && e.error() == nullptr && TermsOf(e).size() > 1;
}

bool IsProduct(const Expr& e) {
  if (e.is_literal() || e.error() != nullptr) return false;
  const Term& t = TermsOf(e)[0];
  return t.coefficient != 1 || t.factors.size() > 1;
}

void PrintAtom(const Atom& atom, std::string* out) {
  if (atom.kind == Kind::kSymbol) {
    out->append(atom.name);
    return;
  }
  if (atom.kind == Kind::kFloorDiv) {
    const Expr &n = atom.args[0], &d = atom.args[1];
    out->append("floor(");
    PrintOperand(n, IsSum(n), out);
    out->push_back('/');
    PrintOperand(d, IsSum(d) || IsProduct(d), out);
  } else {
    out->append(atom.kind == Kind::kMin ? "min(" : atom.kind == Kind::kMax ? "max(" : "broadcast(");
    for (size_t i = 0; i < atom.args.size(); ++i) {
      if (i > 0) out->append(", ");
      Print(atom.args[i], out);
    }
  }
  out->push_back(')');
}

std::string Digits(UInt v) {
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(v % 10)));
    v /= 10;
  } while (v != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

void Print(const Expr& e, std::string* out) {
  if (e.is_literal()) {
    out->append(Int128ToString(e.literal()));
    return;
  }
  if (const char* error = e.error()) {
    absl::StrAppend(out, "(", error, ")");
    return;
  }
  bool first = true;
  for (const Term& t : TermsOf(e)) {
    const bool negative = t.coefficient < 0;
    out->append(first ? (negative ? "-" : "") : (negative ? " - " : " + "));
    first = false;
    const UInt magnitude = AbsInt(t.coefficient);
    bool times = magnitude != 1 || t.factors.empty();
    if (times) out->append(Digits(magnitude));
    for (const Factor& f : t.factors) {
      if (times) out->push_back('*');
      times = true;
      PrintAtom(*f.atom, out);
      if (f.power != 1) absl::StrAppend(out, "^", f.power);
    }
  }
}

// Recursive descent, by precedence:
//   sum     = ["+"] product {("+" | "-") product}
//   product = unary {("*" | "//") unary}
//   unary   = {"-"} power
//   power   = primary ["^" integer]
//   primary = integer | name | "(" sum ")" | "floor" "(" product "/" unary ")"
//           | ("min" | "max" | "broadcast") "(" sum {"," sum} ")"
// After a failure every function returns at once; the value no longer matters.
class Parser {
 public:
  Parser(absl::string_view text, int64_t at_least) : text_(text), at_least_(at_least) {}

  absl::StatusOr<Expr> Parse() {
    if (text_.size() > kMaxParsedChars) {
      pos_ = kMaxParsedChars;
      Fail("the expression is too long");
    }
    Expr result = ParseSum();
    if (Peek() != '\0' || pos_ < text_.size()) FailHere("an operator");
    if (!status_.ok()) return status_;
    return result;
  }

 private:
  Expr ParseSum();
  Expr ParseProduct();
  Expr ParseUnary();
  Expr ParsePower();
  Expr ParsePrimary();
  Expr ParseInteger();
  Expr ParseFloor();
  Expr ParseList(absl::string_view function);

  bool failed() const { return !status_.ok(); }
  void Fail(absl::string_view what) {
    if (failed()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat("column ", pos_ + 1, ": ", what));
  }
  void FailHere(absl::string_view expected) {
    if (pos_ >= text_.size()) {
      Fail(absl::StrCat("expected ", expected, ", found the end"));
    } else {
      Fail(absl::StrCat("expected ", expected, ", found '", text_.substr(pos_, 1), "'"));
    }
  }
  // Checks a computed value.
  Expr Checked(Expr e) {
    if (e.error() != nullptr) Fail(absl::StrCat("the value ", e.error()));
    return failed() ? Expr(0) : e;
  }
  // Bounds the work of a text: an operand is read once, but may be multiplied often.
  void CheckOperand(const Expr& e) {
    if (!e.is_literal() && e.error() == nullptr && TermsOf(e).size() > kMaxParsedTerms) {
      Fail(absl::StrCat("the value ", kTooManyTerms));
    }
  }
  // The next character that is no space; '\0' at the end and after a failure.
  char Peek() {
    while (pos_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[pos_]))) {
      ++pos_;
    }
    return failed() || pos_ >= text_.size() ? '\0' : text_[pos_];
  }
  bool Take(absl::string_view token) {
    if (Peek() == '\0' || text_.substr(pos_, token.size()) != token) return false;
    pos_ += token.size();
    return true;
  }
  void Expect(absl::string_view token) {
    if (!Take(token)) FailHere(absl::StrCat("'", token, "'"));
  }

  absl::string_view text_;
  int64_t at_least_;
  size_t pos_ = 0;
  int depth_ = 0;
  absl::Status status_;
};

Expr Parser::ParseSum() {
  TermAccumulator sum;
  Take("+");
  bool negative = false;
  while (!failed()) {
    const Expr product = ParseProduct();
    sum.Add(negative ? Negate(product) : product);
    negative = Peek() == '-';
    if (!Take("+") && !Take("-")) break;
  }
  return Checked(std::move(sum).Finish());
}

Expr Parser::ParseProduct() {
  Expr result = ParseUnary();
  while (!failed()) {
    const bool times = Peek() == '*';
    if (!Take("*") && !Take("//")) break;
    CheckOperand(result);
    const Expr right = ParseUnary();
    CheckOperand(right);
    if (failed()) break;
    result = Checked(times ? result * right : FloorDiv(result, right));
  }
  return result;
}

Expr Parser::ParseUnary() {
  bool negative = false;
  while (Take("-")) negative = !negative;
  const Expr power = ParsePower();
  return negative ? Checked(Negate(power)) : power;
}

Expr Parser::ParsePower() {
  Expr base = ParsePrimary();
  if (!Take("^")) return base;
  Peek();
  CheckOperand(base);
  const Expr exponent = ParseInteger();
  if (!failed() && exponent.literal() > kMaxDegree) Fail(absl::StrCat("the power ", kOverflow));
  if (failed()) return 0;
  return Checked(Power(base, static_cast<int>(exponent.literal())));
}

Expr Parser::ParseInteger() {
  Int value = 0;
  const size_t start = pos_;
  for (; pos_ < text_.size() && absl::ascii_isdigit(static_cast<unsigned char>(text_[pos_]));
       ++pos_) {
    if (!MulInt(value, 10, &value) || !AddInt(value, text_[pos_] - '0', &value)) {
      Fail(absl::StrCat("the number ", kOverflow));
      return 0;
    }
  }
  if (pos_ == start) FailHere("an integer");
  return Literal(value);
}

Expr Parser::ParsePrimary() {
  const char c = Peek();
  if (absl::ascii_isdigit(static_cast<unsigned char>(c))) return ParseInteger();
  const bool is_name = absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_';
  if (!is_name && c != '(') {
    FailHere("a number, a name or '('");
    return 0;
  }
  if (depth_ >= kMaxParsedDepth) {
    Fail("nested too deep");
    return 0;
  }
  ++depth_;
  Expr result;
  if (Take("(")) {
    result = ParseSum();
    Expect(")");
  } else {
    const size_t start = pos_;
    while (pos_ < text_.size() && (absl::ascii_isalnum(static_cast<unsigned char>(text_[pos_])) ||
                                   text_[pos_] == '_' || text_[pos_] == '.')) {
      ++pos_;
    }
    const absl::string_view name = text_.substr(start, pos_ - start);
    const bool is_list = name == "min" || name == "max" || name == "broadcast";
    if ((is_list || name == "floor") && Take("(")) {
      result = is_list ? ParseList(name) : ParseFloor();
    } else {
      result = Expr::Symbol(name, at_least_);
    }
  }
  --depth_;
  return result;
}

Expr Parser::ParseFloor() {
  const Expr numerator = ParseProduct();
  Expect("/");
  const Expr denominator = ParseUnary();
  Expect(")");
  CheckOperand(numerator);
  CheckOperand(denominator);
  return failed() ? Expr(0) : Checked(FloorDiv(numerator, denominator));
}

Expr Parser::ParseList(absl::string_view function) {
  Expr result = ParseSum();
  while (Take(",")) {
    const Expr next = ParseSum();
    CheckOperand(result);
    CheckOperand(next);
    if (failed()) return 0;
    if (function == "broadcast") {
      const std::optional<Expr> size = BroadcastDim(result, next);
      result = Checked(size ? *size : Error(kMismatch));
    } else {
      result = Checked(function == "min" ? Min(result, next) : Max(result, next));
    }
  }
  Expect(")");
  return result;
}

}  // namespace

absl::StatusOr<absl::int128> Expr::Evaluate(const Bindings& bindings) const {
  Evaluator evaluator(bindings);
  Int value;
  if (!evaluator.Value(*this, &value)) return evaluator.status();
  return absl::int128(value);
}

Expr Expr::Substitute(const Bindings& bindings) const {
  return bindings.empty() ? *this : Substituter(bindings).Rebuild(*this);
}

std::vector<std::string> Expr::Symbols() const {
  SymbolCollector collector;
  collector.Visit(*this);
  return collector.Names();
}

std::string Expr::ToString() const {
  std::string text;
  Print(*this, &text);
  return text;
}

absl::StatusOr<Expr> ParseExpr(absl::string_view text, int64_t symbols_at_least) {
  return Parser(text, symbols_at_least).Parse();
}

std::string Int128ToString(absl::int128 value) {
  const Int v = static_cast<Int>(value);
  return (v < 0 ? "-" : "") + Digits(AbsInt(v));
}

}  // namespace onnxflops
