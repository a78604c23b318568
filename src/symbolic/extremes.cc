// How it works. Symbols have bounds; the least or largest value of an expression over them is found
// term by term. A product of factors that are not negative grows with each of them, so its end is
// the product of their ends; a negative coefficient swaps the ends. Minima, maxima and floors are
// monotonic, too. If none of this can be proved there is no answer: a wrong bound would be worse
// than none.
//
// Terms are treated one by one, although they may share symbols: such a bound is valid, but may not
// be tight. So it is compared with the expression's own bounds, which do take shared symbols into
// account, and the better one is used. Ends of atoms are cached, as the same ones recur in many
// terms. HighestKnown() keeps terms without an end as they are.
#include "src/symbolic/extremes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "src/symbolic/poly.h"

namespace onnxflops {
namespace symbolic {
namespace {

enum class End { kLow, kHigh };

End Other(End end) { return end == End::kLow ? End::kHigh : End::kLow; }

bool IsNotNegative(const Expr& e) { return IsAtLeast(e, 0); }

// Finds one end of expressions, each atom once. Expressions are at most kMaxExprDepth deep.
class EndFinder {
 public:
  explicit EndFinder(const SizeBounds& bounds) : bounds_(bounds) {}

  bool Varies(const Expr& e);
  std::optional<Expr> Find(const Expr& e, End end);
  // A term of an expression, its sign included.
  std::optional<Expr> FindTerm(const Term& term, End end);

 private:
  using Ends = absl::flat_hash_map<const Atom*, std::optional<Expr>>;

  bool AtomVaries(const Atom& atom);
  std::optional<Expr> FindAtom(const std::shared_ptr<const Atom>& atom, End end);
  std::optional<Expr> ComputeAtom(const Atom& atom, End end);
  std::optional<Expr> FindSymbol(const Atom& atom, End end) const;
  std::optional<Expr> FindQuotient(const Atom& atom, End end);

  const SizeBounds& bounds_;
  Ends low_, high_;
  absl::flat_hash_map<const Atom*, bool> varies_;
};

bool EndFinder::Varies(const Expr& e) {
  if (e.is_literal() || e.error() != nullptr) return false;
  const Terms& terms = TermsOf(e);
  return std::any_of(terms.begin(), terms.end(), [this](const Term& t) {
    return std::any_of(t.factors.begin(), t.factors.end(),
                       [this](const Factor& f) { return AtomVaries(*f.atom); });
  });
}

bool EndFinder::AtomVaries(const Atom& atom) {
  if (atom.kind == Kind::kSymbol) return bounds_.contains(atom.name);
  if (const auto it = varies_.find(&atom); it != varies_.end()) return it->second;
  const bool varies = std::any_of(atom.args.begin(), atom.args.end(),
                                  [this](const Expr& arg) { return Varies(arg); });
  varies_.emplace(&atom, varies);
  return varies;
}

std::optional<Expr> EndFinder::Find(const Expr& e, End end) {
  if (!Varies(e)) return e;
  if (!SpendTerms(TermsOf(e).size())) return std::nullopt;
  TermAccumulator sum;
  bool is_known = true;
  for (const Term& t : TermsOf(e)) {
    const std::optional<Expr> term = FindTerm(t, end);
    is_known = is_known && term.has_value();
    if (!is_known) break;
    sum.Add(*term);
  }
  std::optional<Expr> found;
  if (is_known) found = std::move(sum).Finish();
  if (found && found->error() != nullptr) return std::nullopt;
  // The sum above forgets that terms share symbols, these bounds do not.
  const auto bound = end == End::kLow ? e.LowerBound() : e.UpperBound();
  if (!bound || (found && !found->is_literal())) return found;
  if (!found) return Expr(*bound);
  return end == End::kLow ? Max(*found, *bound) : Min(*found, *bound);
}

// A product of factors that are never negative grows with each of them.
std::optional<Expr> EndFinder::FindTerm(const Term& term, End end) {
  if (term.coefficient < 0) end = Other(end);
  Expr fixed = Literal(term.coefficient), product = fixed;
  bool varies = false;
  for (const Factor& f : term.factors) {
    const Expr atom = FromAtom(f.atom);
    if (!AtomVaries(*f.atom)) {
      product *= Power(atom, f.power);
      fixed *= Power(atom, f.power);
      continue;
    }
    varies = true;
    const std::optional<Expr> lowest = FindAtom(f.atom, End::kLow);
    const std::optional<Expr> found = FindAtom(f.atom, end);
    if (!lowest || !found || !IsNotNegative(*lowest)) return std::nullopt;
    product *= Power(*found, f.power);
  }
  const Expr size = term.coefficient < 0 ? Expr(0) - fixed : fixed;
  if (varies && !IsNotNegative(size)) return std::nullopt;
  return product.error() == nullptr ? std::optional<Expr>(product) : std::nullopt;
}

std::optional<Expr> EndFinder::FindAtom(const std::shared_ptr<const Atom>& atom, End end) {
  if (!AtomVaries(*atom)) return FromAtom(atom);
  Ends& known = end == End::kLow ? low_ : high_;
  if (const auto it = known.find(atom.get()); it != known.end()) return it->second;
  std::optional<Expr> found = ComputeAtom(*atom, end);
  known.emplace(atom.get(), found);
  return found;
}

std::optional<Expr> EndFinder::ComputeAtom(const Atom& atom, End end) {
  if (atom.kind == Kind::kSymbol) return FindSymbol(atom, end);
  if (atom.kind == Kind::kFloorDiv) return FindQuotient(atom, end);
  // Sizes that broadcast are equal, or one of them is 1: neither is larger than the result unless
  // that is 0.
  const bool takes_least =
      atom.kind == Kind::kMin || (atom.kind == Kind::kBroadcast && end == End::kLow);
  // One operand is enough for a bound of a minimum from above, and of a maximum from below.
  const bool any_will_do = (atom.kind == Kind::kMin && end == End::kHigh) ||
                           (atom.kind == Kind::kMax && end == End::kLow);
  std::optional<Expr> result;
  for (const Expr& arg : atom.args) {
    const std::optional<Expr> found = Find(arg, end);
    if (!found && any_will_do) continue;
    if (!found) return std::nullopt;
    result = !result ? *found : takes_least ? Min(*result, *found) : Max(*result, *found);
  }
  return result;
}

std::optional<Expr> EndFinder::FindSymbol(const Atom& atom, End end) const {
  if (end == End::kHigh) return bounds_.at(atom.name);
  return atom.range.lo ? std::optional<Expr>(Literal(*atom.range.lo)) : std::nullopt;
}

// floor(a/b), with b > 0: it grows with a, and falls with b where a is not negative.
std::optional<Expr> EndFinder::FindQuotient(const Atom& atom, End end) {
  const Expr &a = atom.args[0], &b = atom.args[1];
  const std::optional<Expr> dividend = Find(a, end);
  if (!dividend || !IsAtLeast(b, 0)) return std::nullopt;
  if (!Varies(b)) return IsAtLeast(b, 1) ? FloorDiv(*dividend, b) : std::optional<Expr>();
  const std::optional<Expr> lowest = Find(a, End::kLow), divisor = Find(b, Other(end));
  if (!lowest || !divisor || !IsNotNegative(*lowest)) return std::nullopt;
  return FloorDiv(*dividend, Max(*divisor, 1));
}

}  // namespace
}  // namespace symbolic

bool Extremes::Varies(const Expr& e) const { return symbolic::EndFinder(bounds_).Varies(e); }

std::optional<Expr> Extremes::Highest(const Expr& e) const {
  return symbolic::EndFinder(bounds_).Find(e, symbolic::End::kHigh);
}

std::optional<Expr> Extremes::Lowest(const Expr& e) const {
  return symbolic::EndFinder(bounds_).Find(e, symbolic::End::kLow);
}

Expr Extremes::HighestKnown(const Expr& e) const {
  symbolic::EndFinder finder(bounds_);
  if (!finder.Varies(e)) return e;
  symbolic::TermAccumulator sum;
  for (const symbolic::Term& t : symbolic::TermsOf(e)) {
    const std::optional<Expr> term = finder.FindTerm(t, symbolic::End::kHigh);
    sum.Add(term ? *term : symbolic::FromTerms(symbolic::Terms{t}));
  }
  return std::move(sum).Finish();
}

}  // namespace onnxflops
