// How it works. The operators of Expr. Literals are handled here without allocation; everything
// else is passed to the polynomials. Min and Max flatten their operands and drop each one that
// another provably dominates; the rest is sorted, so that equal expressions have equal operands.
// The work for each proof is limited, and each pair has its own budget: a shared budget would make
// the result depend on the order of operands. With many operands only cheap comparisons are made.
//
// Broadcasts of two sizes are resolved if the model can run in only one way: 1 gives the other, a
// symbol against a literal gives the literal, and min(x, c) against x gives x. Only two unrelated
// symbols stay an atom. CeilDiv is written with floor, so that both forms of a quotient compare
// equal.
#include "src/symbolic/expr.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/symbolic/expr_sum.h"
#include "src/symbolic/poly.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {

namespace symbolic {

// ---- Min, Max, broadcast ----

std::vector<Expr> Operands(Kind kind, const Expr& e) {
  const Atom* atom = AsAtom(e, kind);
  return atom != nullptr ? atom->args : std::vector<Expr>{e};
}

// True if a <= b is provable (for Max: a >= b), so that `b` can be dropped next to `a`. Each pair
// has its own budget: with a shared one the order of operands would decide.
bool Dominates(Kind kind, const Expr& a, const Expr& b, int budget) {
  const Expr &low = kind == Kind::kMin ? a : b, &high = kind == Kind::kMin ? b : a;
  if (low.is_literal()) return IsAtLeast(high, LiteralOf(low), &budget);
  if (high.is_literal()) return IsAtMost(low, LiteralOf(high), &budget);
  if (low == high) return true;
  if (budget == 0) return false;  // of many operands
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
  if (kept.size() + others.size() > kMaxOperands) return Error(kTooManyOperands);
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

// True if `e` is min(..., x, ...) for an `x` of the sizes, with all other operands at least 2. If
// it were less than x, the two would differ and neither be 1, an error; so it is x.
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
  if (sizes.size() > kMaxOperands) return Error(kTooManyOperands);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<Expr> kept;
  for (const Expr& e : sizes) {
    if (!IsCappedSize(e, sizes)) kept.push_back(e);
  }
  return kept.size() == 1 ? kept[0] : MakeAtom(Kind::kBroadcast, std::move(kept));
}

}  // namespace symbolic

// ---- The interface ----

using namespace symbolic;  // NOLINT(google-build-using-namespace): internals of Expr

Expr Expr::Symbol(absl::string_view name, int64_t at_least) {
  constexpr uint64_t kNameFactor = 0x100000001b3;  // the prime of the FNV hashes
  auto atom = std::make_shared<Atom>();
  atom->name = TypedSymbol(name);
  atom->range.lo = at_least;
  atom->hash = hash_seed;
  for (const char c : atom->name) {
    atom->hash = Mix(atom->hash, static_cast<unsigned char>(c));
    atom->name_hash = atom->name_hash * kNameFactor + static_cast<unsigned char>(c);
  }
  return FromAtom(std::move(atom));
}

int64_t Expr::NumTerms() const {
  if (is_literal() || error() != nullptr) return 0;
  // A term has about four parts.
  return std::max(static_cast<int64_t>(TermsOf(*this).size()), ExprImpl::poly(*this)->weight / 4);
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

bool Expr::SamePoly(const Expr& a, const Expr& b) {
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
  ExprSum sum;
  for (const Expr& term : terms) sum.Add(term);
  return sum.Total();
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

std::optional<std::pair<Expr, Expr>> OperandsOfMin(const Expr& e) {
  if (e.is_literal() || e.error() != nullptr) return std::nullopt;
  const symbolic::Atom* atom = symbolic::AsAtom(e, symbolic::Kind::kMin);
  if (atom == nullptr || atom->args.size() != 2) return std::nullopt;
  return std::pair(atom->args[0], atom->args[1]);
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
    if (exponent == 0) break;  // the next square is not needed and might overflow
  }
  return result;
}

absl::string_view LimitOf(const char* error) {
  const std::pair<const char*, const char*> limits[] = {
      {kTooManyTerms, "terms"},       {kTooLarge, "expr-weight"},
      {kAtomTooLarge, "atom-weight"}, {kTooManyOperands, "operands"},
      {kDegreeTooHigh, "degree"},     {kTooMuchWork, "steps-per-node"},
      {kTooDeep, "expr-depth"},       {kTooManySamples, "sample-evaluations"}};
  for (const auto& [text, limit] : limits) {
    if (text == error) return limit;
  }
  return "";
}

}  // namespace onnxflops
