// How it works. A formula is split by what its terms have of the symbol of the number of samples:
// none, its first power, or anything else. Terms of the first power are summed over the samples.
// Where sizes stand in them as powers, the sum is one of power sums, S(2) = 512^2 + 2 * 300^2,
// which are worked out once for all formulas; so a million samples take as long as one. Where sizes
// stand in divisions, minima or maxima, the formula is evaluated for each different sample.
#include "src/symbolic/sample_sum.h"

#include <algorithm>
#include <utility>

#include "src/symbolic/poly.h"

namespace onnxflops {
namespace {

using symbolic::Atom;
using symbolic::Factor;
using symbolic::Int;
using symbolic::Kind;
using symbolic::Term;
using symbolic::Terms;
using symbolic::TermSpan;

bool Has(const Expr& formula, const std::vector<std::string>& symbols) {
  const std::vector<std::string> all = formula.Symbols();
  return std::any_of(symbols.begin(), symbols.end(), [&](const std::string& symbol) {
    return std::binary_search(all.begin(), all.end(), symbol);
  });
}

// Whether an operand of a division, minimum or maximum has one of the symbols.
bool HasInside(const Factor& factor, const std::vector<std::string>& symbols) {
  const std::vector<Expr>& operands = factor.atom->args;
  return std::any_of(operands.begin(), operands.end(),
                     [&](const Expr& operand) { return Has(operand, symbols); });
}

}  // namespace

void SampleSizes::SetRows(const std::vector<std::vector<int64_t>>& columns) {
  rows.clear();
  for (size_t i = 0; i < columns[0].size(); ++i) {
    Row row;
    for (const std::vector<int64_t>& column : columns) row.sizes.push_back(column[i]);
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.sizes < b.sizes; });
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (kept > 0 && rows[kept - 1].sizes == rows[i].sizes) {
      ++rows[kept - 1].samples;
    } else {
      if (kept != i) rows[kept] = std::move(rows[i]);
      ++kept;
    }
  }
  rows.resize(kept);
}

int64_t SampleSizes::samples() const {
  int64_t sum = 0;
  for (const Row& row : rows) sum += row.samples;
  return sum;
}

absl::int128 SampleSizes::SumOf(size_t symbol) const {
  absl::int128 sum = 0;
  for (const Row& row : rows) sum += absl::int128(row.sizes[symbol]) * row.samples;
  return sum;
}

int64_t SampleSizes::LeastOf(size_t symbol) const {
  int64_t least = rows[0].sizes[symbol];
  for (const Row& row : rows) least = std::min(least, row.sizes[symbol]);
  return least;
}

int64_t SampleSizes::LargestOf(size_t symbol) const {
  int64_t largest = rows[0].sizes[symbol];
  for (const Row& row : rows) largest = std::max(largest, row.sizes[symbol]);
  return largest;
}

Bindings SampleSizes::Rectangle() const {
  Bindings at;
  if (!count.empty()) at[count] = packed ? 1 : samples();
  for (size_t i = 0; i < symbols.size(); ++i) {
    at[symbols[i]] = packed ? static_cast<int64_t>(SumOf(i)) : LargestOf(i);
  }
  return at;
}

struct SampleSum::Split {
  Expr once, each, mixed;
};

SampleSum::SampleSum(SampleSizes sizes) : sizes_(std::move(sizes)), rectangle_(sizes_.Rectangle()) {
  for (size_t i = 0; i < sizes_.symbols.size(); ++i) {
    largest_[sizes_.symbols[i]] = sizes_.LargestOf(i);
  }
}

// `each` comes without its factor of the number of samples.
SampleSum::Split SampleSum::SplitOf(const Expr& formula) const {
  if (sizes_.count.empty()) return {0, formula, 0};
  Terms parts[3];
  const std::vector<std::string> count = {sizes_.count};
  const TermSpan terms(formula);
  for (const Term& term : terms.get()) {
    Part part = Part::kOnce;
    Term rest = term;
    rest.factors.clear();
    for (const Factor& factor : term.factors) {
      if (factor.atom->kind == Kind::kSymbol && factor.atom->name == sizes_.count) {
        part = factor.power == 1 && part == Part::kOnce ? Part::kEach : Part::kMixed;
        rest.degree -= 1;
        continue;
      }
      if (HasInside(factor, count)) part = Part::kMixed;
      rest.factors.push_back(factor);
    }
    parts[static_cast<size_t>(part)].push_back(part == Part::kEach ? std::move(rest) : term);
  }
  const auto join = [](Terms& part) {
    symbolic::TermAccumulator sum;
    for (Term& term : part) sum.Add(std::move(term));
    return std::move(sum).Finish();
  };
  return {join(parts[0]), join(parts[1]), join(parts[2])};
}

Expr SampleSum::SumOfPowers(const std::vector<int>& powers) const {
  const auto [known, is_new] = powers_.try_emplace(powers);
  if (!is_new) return known->second;
  Int sum = 0;
  bool fits = true;
  for (const SampleSizes::Row& row : sizes_.rows) {
    Int product = row.samples;
    for (size_t i = 0; i < powers.size() && fits; ++i) {
      Int power = 1;
      fits = symbolic::PowInt(row.sizes[i], powers[i], &power) &&
             symbolic::MulInt(product, power, &product);
    }
    fits = fits && symbolic::AddInt(sum, product, &sum);
    if (!fits) return known->second = symbolic::Error(symbolic::kOverflow);
  }
  return known->second = symbolic::Literal(sum);
}

// The sum over all samples of what one takes.
Expr SampleSum::SumOverRows(const Expr& formula) const {
  const auto known = known_rows_.find(formula);
  if (known != known_rows_.end()) return known->second;
  std::vector<Expr> sums;
  symbolic::TermAccumulator divided;  // terms with sizes in divisions, minima or maxima
  bool has_divided = false;
  const TermSpan terms(formula);
  for (const Term& term : terms.get()) {
    std::vector<int> powers(sizes_.symbols.size());
    Term rest = term;
    rest.factors.clear();
    bool inside = false;
    for (const Factor& factor : term.factors) {
      inside = inside || HasInside(factor, sizes_.symbols);
      const auto symbol =
          factor.atom->kind == Kind::kSymbol
              ? std::find(sizes_.symbols.begin(), sizes_.symbols.end(), factor.atom->name)
              : sizes_.symbols.end();
      if (symbol == sizes_.symbols.end()) {
        rest.factors.push_back(factor);
      } else {
        powers[static_cast<size_t>(symbol - sizes_.symbols.begin())] = factor.power;
        rest.degree -= factor.power;
      }
    }
    if (inside) {
      has_divided = true;
      divided.Add(term);
    } else {
      Terms one = {std::move(rest)};
      sums.push_back(symbolic::FromTerms(std::move(one)) * SumOfPowers(powers));
    }
  }
  if (has_divided) {
    const Expr each = std::move(divided).Finish();
    evaluations_left_ -=
        static_cast<int64_t>(sizes_.rows.size()) * std::max<int64_t>(each.NumTerms(), 1);
    if (evaluations_left_ < 0) return symbolic::Error(symbolic::kTooManySamples);
    Bindings at = largest_;
    for (const SampleSizes::Row& row : sizes_.rows) {
      for (size_t i = 0; i < sizes_.symbols.size(); ++i) at[sizes_.symbols[i]] = row.sizes[i];
      sums.push_back(each.Substitute(at) * row.samples);
    }
  }
  return known_rows_[formula] = Sum(sums);
}

Expr SampleSum::Of(const Expr& formula) const {
  if (formula.error() != nullptr) return formula;
  const auto known = known_.find(formula);
  if (known != known_.end()) return known->second;
  const Split split = SplitOf(formula);
  Expr sum = SumOverRows(split.each) + split.mixed.Substitute(rectangle_);
  if (!sizes_.packed) {
    sum += split.once.Substitute(largest_);
  } else {
    const TermSpan terms(split.once);
    for (const Term& term : terms.get()) {
      Terms one = {term};
      const Expr alone = symbolic::FromTerms(std::move(one));
      sum += Has(alone, sizes_.symbols) ? SumOverRows(alone) : alone;
    }
  }
  return known_[formula] = sum;
}

Expr SampleSum::OneByOne(const Expr& formula) const {
  if (formula.error() != nullptr) return formula;
  return SumOverRows(sizes_.count.empty() ? formula : formula.Substitute({{sizes_.count, 1}}));
}

bool SampleSum::Mixes(const Expr& formula) const {
  return formula.error() == nullptr && !SplitOf(formula).mixed.is_zero();
}

}  // namespace onnxflops
