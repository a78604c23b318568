// How it works. Bounds by interval arithmetic: each atom has a range, terms are products of ranges,
// and an expression is their sum. An overflow or infinity makes a bound unknown, which is safe.
// Terms are taken one by one, so it is lost that they share symbols: n - min(n, 3) would seem to go
// below 0.
//
// Two refinements recover this for small polynomials. Symbols are written as their least value plus
// a symbol of 0 or more, after which n*m - m with n >= 1 has no negative term. And an atom is
// replaced by something that bounds it: a min by each of its operands, floor(x/d) by x/d with a
// scaled inequality; then equal terms cancel. Replacements are nested twice at most, and a budget
// limits the expressions tried.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/symbolic/poly.h"

namespace onnxflops::symbolic {

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

// The range of floor(n / d) for d in [d_lo, d_hi], d_lo > 0.
Range FloorDivByPositive(const Range& n, Int d_lo, const std::optional<Int>& d_hi) {
  Range result;
  if (n.lo && *n.lo < 0) {
    result.lo = FloorBound(*n.lo, d_lo);
  } else if (n.lo) {
    result.lo = d_hi ? FloorBound(*n.lo, *d_hi) : Int{0};
  }
  if (n.hi && *n.hi >= 0) {
    result.hi = FloorBound(*n.hi, d_lo);
  } else if (n.hi) {
    result.hi = d_hi ? FloorBound(*n.hi, *d_hi) : Int{-1};
  }
  return result;
}

// The range of floor(n / d), for d other than 0.
Range FloorDivRange(const Range& n, const Range& d) {
  const Range minus_n{NegateBound(n.hi), NegateBound(n.lo)};
  const std::optional<Int> minus_d_lo = NegateBound(d.hi);
  if (minus_d_lo.value_or(0) > 0) {
    return FloorDivByPositive(minus_n, *minus_d_lo, NegateBound(d.lo));
  }
  if (d.lo.value_or(-1) < 0) {  // either sign: |floor(n/d)| <= |n|
    if (!minus_n.lo || !minus_n.hi) return {};
    return {std::min(*n.lo, *minus_n.lo), std::max(*n.hi, *minus_n.hi)};
  }
  const Int d_lo = std::max<Int>(*d.lo, 1);
  const bool empty = d.hi.value_or(d_lo) < d_lo;  // d is 0 and no value exists
  return FloorDivByPositive(n, d_lo, empty ? std::nullopt : d.hi);
}

Range RangeOf(const Expr& e) {
  if (e.is_literal()) return {LiteralOf(e), LiteralOf(e)};
  if (e.error() != nullptr || !SpendTerms(TermsOf(e).size())) return {};
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

// Expressions that are never greater than k*e, for the k > 0 that is set: `e` with term `i`, a
// multiple of one atom, replaced by a bound of the atom.
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

}  // namespace onnxflops::symbolic
