// How it works. Exact division is the long division of polynomials by the first term of the
// divisor, with a limit on the steps, as intermediate remainders may grow. If it gives up, the
// caller keeps the quotient as it is.
//
// Floors by a literal get a normal form, so that equal sizes of convolutions compare equal: whole
// multiples of the divisor go out, common factors are cancelled, the constant is rounded, and
// nested floors are joined into one. A floor by an expression takes out its quotient only if that
// makes it shorter, and is 0 if the numerator is known to be within 0 and the divisor.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/symbolic/poly.h"

namespace onnxflops::symbolic {

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

// Multivariate long division: a = b * quotient + remainder, where no term of the remainder is
// divisible by the first term of b. With `exact`, gives up at the first term of a remainder.
// nullopt also if it takes too much work or overflows; the caller then does not simplify.
std::optional<Division> DivideTerms(absl::Span<const Term> a, absl::Span<const Term> b,
                                    bool exact) {
  Division result;
  if (!SpendTerms(a.size())) return std::nullopt;
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
  SpendTerms(a.size() + b.size());
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
  // The constant of the numerator can be rounded down to the common factor, and whole multiples of
  // the divisor in it go out: (k*x + c)/(k*d) and (x + floor(c/k))/d have the same floor.
  const Int common = static_cast<Int>(gcd);
  Int whole = 0;
  FloorDivInt(constant, common, &constant);
  d /= common;
  FloorDivInt(constant, d, &whole);
  Expr outside = FromTerms(std::move(quotient)) + Literal(whole);
  if (rest.empty()) return outside;
  for (Term& t : rest) t.coefficient /= common;
  const Expr numerator = FromTerms(std::move(rest)) + Literal(constant - whole * d);
  if (std::optional<Expr> joined = JoinNestedFloors(numerator, d)) return outside + *joined;
  return outside + MakeAtom(Kind::kFloorDiv, {numerator, Literal(d)});
}

// REQUIRES: `b` has terms; `a` is not an error.
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

}  // namespace onnxflops::symbolic
