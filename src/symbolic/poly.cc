// How it works. A polynomial is a list of terms in canonical order: by falling degree, then by the
// first atom in which they differ. Multiplying two terms by the same term keeps this order, so sums
// are merges and a product with one term needs no sorting. Products of two sums are collected in an
// accumulator, which sorts and joins equal terms now and then. Atoms are compared by structure and
// hashed once when they are made; equal expressions have equal terms, whatever way they were built.
//
// Errors are expressions, too: an overflow or a limit gives an Expr with a text, and all further
// arithmetic keeps it. Weight and depth are limited, since a nested minimum could otherwise double
// in size with each step. The hash is seeded by an address, so that no file can be made to collide.
#include "src/symbolic/poly.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace onnxflops::symbolic {

Expr Error(const char* text) {
  auto poly = std::make_shared<ExprImpl::Poly>();
  poly->error = text;
  return ExprImpl::FromPoly(std::move(poly));
}

// The atom, if `e` is nothing but one.
const Atom* AsAtom(const Expr& e, Kind kind) {
  if (e.is_literal() || e.error() != nullptr || TermsOf(e).size() != 1) return nullptr;
  const Term& t = TermsOf(e)[0];
  if (t.coefficient != 1 || t.degree != 1 || t.factors[0].atom->kind != kind) return nullptr;
  return t.factors[0].atom.get();
}

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
  if (!SpendTerms(n)) return 0;  // every order is as good as another now, as long as it stays
  for (size_t i = 0; i < n; ++i) {
    const Term &s = x->terms[i], &t = y->terms[i];
    if (const int order = CompareMonomials(s, t); order != 0) return order;
    if (s.coefficient != t.coefficient) return CompareInts(s.coefficient, t.coefficient);
  }
  return x->terms.size() == y->terms.size() ? 0 : (x->terms.size() < y->terms.size() ? -1 : 1);
}

// An address in the heap, which the writer of a file cannot know.
const std::unique_ptr<char> hash_place = std::make_unique<char>();
const size_t hash_seed = reinterpret_cast<size_t>(hash_place.get());

size_t Mix(size_t hash, size_t value) {
  const UInt product = static_cast<UInt>(hash ^ value) * UInt{0x9E3779B97F4A7C15};
  return static_cast<size_t>(product) ^ static_cast<size_t>(product >> 64);
}

size_t HashInt(Int v) {
  return Mix(Mix(hash_seed, static_cast<size_t>(v)),
             static_cast<size_t>(static_cast<UInt>(v) >> 64));
}

size_t HashExpr(const Expr& e) {
  return e.is_literal() ? HashInt(LiteralOf(e)) : ExprImpl::poly(e)->hash;
}

// The expression of terms in canonical order.
Expr FromTerms(Terms terms) {
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms[0].degree == 0) return Literal(terms[0].coefficient);
  if (terms.size() > kMaxTerms) return Error(kTooManyTerms);
  auto poly = std::make_shared<ExprImpl::Poly>();
  size_t hash = terms.size(), factors = 0;
  int64_t weight = 0;
  for (const Term& t : terms) {
    hash = Mix(hash, HashInt(t.coefficient));
    weight += 1;
    factors += t.factors.size();
    for (const Factor& f : t.factors) {
      hash = Mix(hash, f.atom->hash + static_cast<size_t>(f.power));
      weight += f.atom->weight;
      poly->depth = std::max(poly->depth, f.atom->depth);
    }
  }
  if (weight > kMaxExprWeight) return Error(kTooLarge);
  if (!Spend(kStepsPerTerm * terms.size() + factors)) return Error(kTooMuchWork);
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

Range RefinedRangeOf(const Expr& e, int* budget) {
  return {LowerOf(e, budget), UpperOf(e, budget)};
}

// The range of one of the operands: min picks by the smaller bound, max by the larger; a broadcast
// may be any.
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

// Makes an atom of simplified operands; a literal if its range is a single value.
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
  if (++atom->depth > kMaxExprDepth) return Error(kTooDeep);
  if (atom->weight > kMaxAtomWeight) return Error(kAtomTooLarge);
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

void TermAccumulator::Join() {
  if (!SpendTerms(2 * buffer_.size())) {
    Fail(kTooMuchWork);
    buffer_.clear();
  }
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

// a + sign * b, for sign 1 or -1.
const char* MergeTerms(absl::Span<const Term> a, absl::Span<const Term> b, int sign, Terms* out) {
  if (!SpendTerms(a.size() + b.size())) return kTooMuchWork;
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
  if (out->degree > kMaxDegree) return kDegreeTooHigh;
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

// Keeps the order of `a`, so the product is already canonical.
const char* MultiplyTerms(absl::Span<const Term> a, const Term& b, Terms* out) {
  if (!Spend(a.size() * (kStepsPerTerm + b.factors.size()))) return kTooMuchWork;
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
  if (a.is_literal() && a.literal() == 0 && sign > 0) return b;
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
  if (!SpendTerms(x.get().size() * y.get().size())) return Error(kTooMuchWork);
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

}  // namespace onnxflops::symbolic
