#include "src/symbolic/interval.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "src/base/limits.h"
#include "src/symbolic/poly.h"

namespace onnxflops {
namespace symbolic {
namespace {

Range IntervalOf(const Expr& e, const SizeRanges& ranges);

Range IntervalOfAtom(const Atom& atom, const SizeRanges& ranges) {
  if (atom.kind == Kind::kSymbol) {
    const auto range = ranges.find(atom.name);
    return range == ranges.end() ? atom.range : Range{range->second.first, range->second.last};
  }
  std::vector<Range> args;
  for (const Expr& arg : atom.args) args.push_back(IntervalOf(arg, ranges));
  if (atom.kind == Kind::kFloorDiv) return FloorDivRange(args[0], args[1]);
  // A minimum, a maximum, or sizes broadcast together: one of the operands.
  Range any = args[0];
  for (const Range& r : args) {
    any.lo = any.lo && r.lo ? std::optional<Int>(std::min(*any.lo, *r.lo)) : std::nullopt;
    any.hi = any.hi && r.hi ? std::optional<Int>(std::max(*any.hi, *r.hi)) : std::nullopt;
  }
  for (const Range& r : args) {
    if (atom.kind == Kind::kMin && r.hi) any.hi = std::min(any.hi.value_or(*r.hi), *r.hi);
    if (atom.kind == Kind::kMax && r.lo) any.lo = std::max(any.lo.value_or(*r.lo), *r.lo);
  }
  return any;
}

// The recursion is at most kMaxExprDepth deep.
Range IntervalOf(const Expr& e, const SizeRanges& ranges) {
  if (e.is_literal()) return {LiteralOf(e), LiteralOf(e)};
  if (e.error() != nullptr) return {};
  Range sum{Int{0}, Int{0}};
  for (const Term& t : TermsOf(e)) {
    Range product{t.coefficient, t.coefficient};
    for (const Factor& f : t.factors) {
      product = product * PowRange(IntervalOfAtom(*f.atom, ranges), f.power);
    }
    sum = sum + product;
  }
  return sum;
}

// How a value changes with a symbol, as far as the form of the formula shows it.
enum class Trend { kConstant, kNeverLess, kOpen };

Trend TrendOf(const Expr& e, const std::string& name, const SizeRanges& ranges);

Trend TrendOfAtom(const Atom& atom, const std::string& name, const SizeRanges& ranges) {
  if (atom.kind == Kind::kSymbol) return atom.name == name ? Trend::kNeverLess : Trend::kConstant;
  Trend worst = Trend::kConstant;
  for (const Expr& arg : atom.args) worst = std::max(worst, TrendOf(arg, name, ranges));
  if (worst == Trend::kConstant) return worst;
  if (atom.kind == Kind::kFloorDiv) {
    const std::optional<Int> least = IntervalOf(atom.args[1], ranges).lo;
    const bool fixed = TrendOf(atom.args[1], name, ranges) == Trend::kConstant;
    return fixed && least && *least > 0 ? worst : Trend::kOpen;
  }
  return atom.kind == Kind::kBroadcast ? Trend::kOpen : worst;
}

// Sums and products of what is never negative, such as the larger of two times. The recursion is at
// most kMaxExprDepth deep.
Trend TrendOf(const Expr& e, const std::string& name, const SizeRanges& ranges) {
  if (e.is_literal()) return Trend::kConstant;
  if (e.error() != nullptr) return Trend::kOpen;
  Trend sum = Trend::kConstant;
  for (const Term& t : TermsOf(e)) {
    Trend product = Trend::kConstant;
    bool is_positive = t.coefficient >= 0;
    for (const Factor& f : t.factors) {
      const std::optional<Int> least = IntervalOfAtom(*f.atom, ranges).lo;
      is_positive = is_positive && least && *least >= 0;
      product = std::max(product, TrendOfAtom(*f.atom, name, ranges));
    }
    if (product != Trend::kConstant && !is_positive) return Trend::kOpen;
    sum = std::max(sum, product);
  }
  return sum;
}

// Sets each symbol that the expression grows or falls with to the end of its range.
Expr AtMonotoneEnds(Expr expr, SizeRanges* ranges, Bindings* at) {
  for (bool progress = true; progress;) {
    progress = false;
    for (auto it = ranges->begin(); it != ranges->end();) {
      const auto& [name, range] = *it;
      bool grows = TrendOf(expr, name, *ranges) != Trend::kOpen, falls = false;
      if (!grows) {
        const Expr n = Expr::Symbol(name, range.first);
        const Expr here = expr.Replace({{name, n}});
        const Expr step = here.Replace({{name, n + 1}}) - here;
        const auto least = step.LowerBound(), most = step.UpperBound();
        grows = step.error() == nullptr && least && *least >= 0;
        falls = step.error() == nullptr && most && *most <= 0;
      }
      if (!grows && !falls) {
        ++it;
        continue;
      }
      (*at)[name] = grows ? range.last : range.first;
      expr = expr.Substitute({{name, (*at)[name]}});
      it = ranges->erase(it);
      progress = true;
    }
  }
  return expr;
}

// The largest value of all combinations; nullopt if there are too many, or one has no value.
std::optional<Largest> LargestOfAll(const Expr& expr, const SizeRanges& ranges) {
  size_t points = 1;
  Bindings at;
  for (const auto& [name, range] : ranges) {
    const auto sizes = static_cast<uint64_t>(range.last - range.first) + 1;
    if (sizes > kMaxSweepPoints || (points *= sizes) > kMaxSweepPoints) return std::nullopt;
    at[name] = range.first;
  }
  std::optional<Largest> largest;
  for (size_t i = 0; i < points; ++i) {
    const absl::StatusOr<absl::int128> value = expr.Evaluate(at);
    if (!value.ok()) return std::nullopt;
    if (!largest || *value > largest->value) largest = {*value, true, at};
    for (const auto& [name, range] : ranges) {  // the next combination
      if (at[name] < range.last) {
        ++at[name];
        break;
      }
      at[name] = range.first;
    }
  }
  return largest;
}

}  // namespace
}  // namespace symbolic

std::optional<Largest> LargestValue(const Expr& expr, const SizeRanges& ranges) {
  if (expr.error() != nullptr) return std::nullopt;
  SizeRanges open;
  for (const std::string& name : expr.Symbols()) {
    const auto range = ranges.find(name);
    if (range != ranges.end()) open.insert(*range);
  }
  Bindings at;
  const Expr rest = symbolic::AtMonotoneEnds(expr, &open, &at);
  if (rest.error() != nullptr) return std::nullopt;
  if (rest.is_literal()) return Largest{rest.literal(), true, at};
  if (std::optional<Largest> largest = symbolic::LargestOfAll(rest, open)) {
    largest->at.insert(at.begin(), at.end());
    return largest;
  }
  std::optional<absl::int128> bound = symbolic::IntervalOf(rest, open).hi;
  const std::optional<absl::int128> other = rest.UpperBound();
  if (other && (!bound || *other < *bound)) bound = other;
  if (!bound) return std::nullopt;
  return Largest{*bound, false, {}};
}

}  // namespace onnxflops
