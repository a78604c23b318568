// Sums over a symbol, in closed form.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/symbolic/expr.h"
#include "src/symbolic/poly.h"

namespace onnxflops {

namespace {

constexpr int kSamples = kMaxSummedPower + 1;
static_assert(kSamples == 4);
constexpr int kMaxSwitches = 4;

// count over k: k = 1, 2, 3, 4.
std::array<Expr, kSamples> Binomials(const Expr& count) {
  const Expr pairs = count * (count - 1);
  return {count, FloorDiv(pairs, 2), FloorDiv(pairs * (count - 2), 6),
          FloorDiv(pairs * (count - 2) * (count - 3), 24)};
}

}  // namespace

std::vector<Expr> SumWeights(const Expr& count) {
  const std::array<Expr, kSamples> n = Binomials(count);
  // Difference k at 0 is the sum of p(j), each times (-1)^(k - j) and k over j.
  return {n[0] - n[1] + n[2] - n[3], n[1] - 2 * n[2] + 3 * n[3], n[2] - 3 * n[3], n[3]};
}

namespace {

using symbolic::Atom;
using symbolic::Factor;
using symbolic::Kind;
using symbolic::Term;
using symbolic::TermSpan;

std::optional<Expr> SumOfPolynomial(const Expr& term, absl::string_view index, const Expr& count) {
  const std::string name(index);
  std::array<Expr, kSamples> at;
  for (int i = 0; i < kSamples; ++i) at[static_cast<size_t>(i)] = term.Substitute({{name, i}});
  const Expr first = at[1] - at[0];
  const Expr second = at[2] - 2 * at[1] + at[0];
  const Expr third = at[3] - 3 * at[2] + 3 * at[1] - at[0];
  const Expr t = Expr::Symbol(index);
  const Expr rebuilt = 6 * at[0] + t * (6 * first + (t - 1) * (3 * second + (t - 2) * third));
  if (rebuilt != 6 * term) return std::nullopt;
  const std::array<Expr, kSamples> n = Binomials(count);
  return at[0] * n[0] + first * n[1] + second * n[2] + third * n[3];
}

// A minimum or maximum that is one of its two operands up to a value of the index, and the other
// one from there on.
struct Switch {
  std::shared_ptr<const Atom> atom;
  Expr before, after;
  Expr at;  // the first value with `after`
};

std::optional<Switch> SwitchOf(const std::shared_ptr<const Atom>& atom, const std::string& index) {
  const bool chooses = atom->kind == Kind::kMin || atom->kind == Kind::kMax;
  if (!chooses || atom->args.size() != 2) return std::nullopt;
  Expr lower = atom->args[0], higher = atom->args[1];  // while the index is small
  Expr start = lower - higher;
  start = start.Substitute({{index, 0}});
  std::optional<Expr> step = DivideExactly(lower - higher - start, Expr::Symbol(index));
  if (!step || !step->is_literal()) return std::nullopt;
  if (step->is_zero()) {  // the same one everywhere: min(a + t, b + t) = b + t + min(a - b, 0)
    const std::vector<std::string> symbols = symbolic::FromAtom(atom).Symbols();
    if (std::find(symbols.begin(), symbols.end(), index) == symbols.end()) return std::nullopt;
    const Expr same = higher + (atom->kind == Kind::kMin ? Min(start, 0) : Max(start, 0));
    return Switch{atom, same, same, 0};
  }
  if (step->literal() < 0) {
    std::swap(lower, higher);
    start = -1 * start;
    step = -1 * *step;
  }
  const Expr at = FloorDiv(-1 * start, *step) + 1;
  if (atom->kind == Kind::kMax) std::swap(lower, higher);
  return Switch{atom, lower, higher, at};
}

std::optional<Switch> FindSwitch(const Expr& term, const std::string& index) {
  const TermSpan terms(term);
  for (const Term& one : terms.get()) {
    for (const Factor& factor : one.factors) {
      if (auto found = SwitchOf(factor.atom, index)) return found;
    }
  }
  return std::nullopt;
}

Expr ReplaceAtom(const Expr& term, const Atom& atom, const Expr& value) {
  std::vector<Expr> sums;
  const TermSpan terms(term);
  for (const Term& one : terms.get()) {
    Expr product = symbolic::Literal(one.coefficient);
    for (const Factor& factor : one.factors) {
      const bool is_it = symbolic::SameAtom(factor.atom.get(), &atom);
      product *= Power(is_it ? value : symbolic::FromAtom(factor.atom), factor.power);
    }
    sums.push_back(std::move(product));
  }
  return Sum(sums);
}

// `switches`: how often the range may still be divided.
std::optional<Expr> SumOfRanges(const Expr& term, const std::string& index, const Expr& count,
                                int switches) {
  if (term.error() != nullptr) return std::nullopt;
  if (term.is_literal()) return term * count;
  if (auto sum = SumOfPolynomial(term, index, count)) return sum;
  const std::optional<Switch> found = FindSwitch(term, index);
  if (!found || switches == 0) return std::nullopt;
  const Expr at = Max(0, Min(count, found->at));
  const Expr after =
      ReplaceAtom(term, *found->atom, found->after).Replace({{index, Expr::Symbol(index) + at}});
  const auto first =
      SumOfRanges(ReplaceAtom(term, *found->atom, found->before), index, at, switches - 1);
  const auto second = SumOfRanges(after, index, count - at, switches - 1);
  if (!first || !second) return std::nullopt;
  return *first + *second;
}

}  // namespace

std::optional<Expr> SumOver(const Expr& term, absl::string_view index, const Expr& count) {
  return SumOfRanges(term, std::string(index), count, kMaxSwitches);
}

}  // namespace onnxflops
