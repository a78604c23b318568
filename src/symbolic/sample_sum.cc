// How it works. A formula is split by the power of the symbol for the number of samples in its
// terms: none, the first, or anything else. Terms of the first power are summed over the samples.
// If sizes appear in them as powers, the sum uses power sums, S(2) = 512^2 + 2 * 300^2, which are
// computed once for all formulas; so a formula takes no longer for a million samples than for one.
// A division, minimum or maximum of sizes is evaluated once for each different sample. Its values
// are then a column like those of the sizes, and have power sums too. Only if another symbol stands
// in it, the term becomes an expression for each different sample.
// A minimum or maximum over the whole batch, min(8, 2*batch*seq), is taken of the sums.
#include "src/symbolic/sample_sum.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/status_macros.h"
#include "src/symbolic/poly.h"

namespace onnxflops {
namespace {

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

constexpr int64_t kMostDivisor = 64;  // that IsMultiple() tries

// True if an operand of a division, minimum or maximum contains one of the symbols.
bool HasInside(const Factor& factor, const std::vector<std::string>& symbols) {
  const std::vector<Expr>& operands = factor.atom->args;
  return std::any_of(operands.begin(), operands.end(),
                     [&](const Expr& operand) { return Has(operand, symbols); });
}

// Replaces each factor for which there is something else.
Expr ReplaceFactors(const Expr& formula,
                    absl::FunctionRef<std::optional<Expr>(const Factor&)> replacement) {
  std::vector<Expr> sums;
  const TermSpan terms(formula);
  for (const Term& term : terms.get()) {
    Term rest = term;
    rest.factors.clear();
    Expr replaced = 1;
    for (const Factor& factor : term.factors) {
      if (const std::optional<Expr> other = replacement(factor)) {
        replaced *= *other;
        rest.degree -= factor.power;
      } else {
        rest.factors.push_back(factor);
      }
    }
    Terms one = {std::move(rest)};
    sums.push_back(symbolic::FromTerms(std::move(one)) * replaced);
  }
  return onnxflops::Sum(sums);
}

// True if a formula is a multiple of `divisor` whatever whole numbers its atoms are: it is for all
// that they leave when they are divided.
bool IsMultiple(const Expr& formula, int64_t divisor) {
  constexpr int64_t kMostSteps = 4096;
  if (divisor < 1) return false;
  std::vector<const symbolic::Atom*> atoms;
  const TermSpan terms(formula);
  for (const Term& term : terms.get()) {
    for (const Factor& factor : term.factors) {
      const auto same = [&](const symbolic::Atom* a) { return SameAtom(a, factor.atom.get()); };
      if (std::none_of(atoms.begin(), atoms.end(), same)) atoms.push_back(factor.atom.get());
    }
  }
  int64_t cases = 1;
  for (size_t i = 0; i < atoms.size(); ++i) {
    if (divisor > kMostSteps / formula.NumTerms() / cases) return false;
    cases *= divisor;
  }
  for (int64_t number = 0; number < cases; ++number) {
    Int sum = 0;
    for (const Term& term : terms.get()) {
      Int product = term.coefficient % divisor;
      for (const Factor& factor : term.factors) {
        int64_t rest = number;  // its digits are what the atoms leave
        for (const symbolic::Atom* atom : atoms) {
          if (SameAtom(atom, factor.atom.get())) break;
          rest /= divisor;
        }
        for (int i = 0; i < factor.power; ++i) product = product * (rest % divisor) % divisor;
      }
      sum += product;
    }
    if (sum % divisor != 0) return false;
  }
  return true;
}

// The minimum or maximum over the whole batch of which a term is a multiple, or nullptr.
const symbolic::Atom* ChoiceOf(const SampleSizes& sizes, const Term& term) {
  const symbolic::Atom* found = nullptr;
  std::vector<std::string> own = sizes.symbols;
  own.push_back(sizes.count);
  for (const Factor& factor : term.factors) {
    const symbolic::Atom& atom = *factor.atom;
    const bool chooses = atom.kind == Kind::kMin || atom.kind == Kind::kMax;
    if (chooses && HasInside(factor, {sizes.count})) {
      if (found != nullptr || factor.power != 1) return nullptr;
      found = &atom;
    } else if (Has(symbolic::FromAtom(factor.atom), own)) {
      return nullptr;
    }
  }
  return found;
}

// The same with the sums of the operands.
Expr ChoiceOfSums(const SampleSum& sum, const Term& term, const symbolic::Atom& choice) {
  Term rest = term;
  rest.factors.clear();
  for (const Factor& factor : term.factors) {
    if (factor.atom.get() == &choice) {
      rest.degree -= 1;
    } else {
      rest.factors.push_back(factor);
    }
  }
  Expr chosen = sum.Of(choice.args[0]);
  for (size_t i = 1; i < choice.args.size(); ++i) {
    const Expr other = sum.Of(choice.args[i]);
    chosen = choice.kind == Kind::kMin ? Min(chosen, other) : Max(chosen, other);
  }
  Terms one = {std::move(rest)};
  return symbolic::FromTerms(std::move(one)) * chosen;
}

}  // namespace

std::vector<SampleSizes::Row> SampleSizes::RowsOf(
    const std::vector<std::vector<int64_t>>& columns) {
  // Indices are sorted, not rows, so that equal rows are made only once.
  std::vector<uint32_t> order(columns[0].size());
  std::iota(order.begin(), order.end(), 0);
  const auto compare = [&](uint32_t a, uint32_t b) {
    for (const std::vector<int64_t>& column : columns) {
      if (column[a] != column[b]) return column[a] < column[b] ? -1 : 1;
    }
    return 0;
  };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return compare(a, b) < 0; });
  std::vector<Row> rows;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && compare(order[i - 1], order[i]) == 0) {
      ++rows.back().samples;
      continue;
    }
    Row& row = rows.emplace_back();
    for (const std::vector<int64_t>& column : columns) row.sizes.push_back(column[order[i]]);
  }
  return rows;
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

Bindings SampleSizes::LargestGrid() const {
  constexpr absl::string_view kGrid[] = {"grid_t", "grid_h", "grid_w"};
  std::vector<size_t> axes;
  for (const absl::string_view name : kGrid) {
    const auto found = std::find(symbols.begin(), symbols.end(), name);
    if (found != symbols.end()) axes.push_back(static_cast<size_t>(found - symbols.begin()));
  }
  Bindings largest;
  absl::int128 most = -1;
  for (const Row& row : rows) {
    absl::int128 patches = 1;
    for (const size_t axis : axes) patches *= row.sizes[axis];
    if (axes.empty() || patches <= most) continue;
    most = patches;
    for (const size_t axis : axes) largest[symbols[axis]] = row.sizes[axis];
  }
  return largest;
}

Bindings SampleSizes::Rectangle() const {
  Bindings at;
  if (!count.empty()) at[count] = packed ? 1 : samples();
  for (size_t i = 0; i < symbols.size(); ++i) {
    at[symbols[i]] = packed ? static_cast<int64_t>(SumOf(i)) : LargestOf(i);
  }
  if (!packed) {
    for (const auto& [symbol, size] : LargestGrid()) at[symbol] = size;
  }
  if (joint) {
    for (const auto& [symbol, size] : joint->largest) at[symbol] = size;
  }
  return at;
}

absl::StatusOr<std::vector<int64_t>> SampleSizes::ByRow(const Expr& formula) const {
  std::vector<int64_t> values;
  values.reserve(rows.size());
  for (const Row& row : rows) {
    Bindings at;
    for (size_t i = 0; i < symbols.size(); ++i) at[symbols[i]] = row.sizes[i];
    ASSIGN_OR_RETURN(const absl::int128 value, formula.Evaluate(at));
    if (value < 0 || value > std::numeric_limits<int64_t>::max() / 2) {
      return absl::OutOfRangeError("a value is below 0 or too large");
    }
    values.push_back(static_cast<int64_t>(value));
  }
  return values;
}

void SampleSizes::Join(size_t text, const std::vector<std::string>& image_sizes,
                       std::vector<int64_t> of_images) {
  Joint found = {.text = text, .of_images = std::move(of_images)};
  for (size_t i = 0; i < rows.size(); ++i) {
    found.tokens = std::max(found.tokens, rows[i].sizes[text] + found.of_images[i]);
  }
  size_t most = 0;  // of equal ones the largest sizes, in whatever order they come
  for (size_t i = 1; i < rows.size(); ++i) {
    const auto order = [&](size_t at) { return std::tie(found.of_images[at], rows[at].sizes); };
    if (order(most) < order(i)) most = i;
  }
  const Row& row = rows[most];
  for (size_t i = 0; i < symbols.size(); ++i) {
    const bool is_of_image =
        std::find(image_sizes.begin(), image_sizes.end(), symbols[i]) != image_sizes.end();
    if (is_of_image) found.largest[symbols[i]] = row.sizes[i];
  }
  found.largest[symbols[text]] = found.tokens - found.of_images[most];
  joint = std::move(found);
}

struct SampleSum::Split {
  Expr once, each, mixed;
};

SampleSum::SampleSum(SampleSizes sizes) : sizes_(std::move(sizes)), rectangle_(sizes_.Rectangle()) {
  if (!sizes_.count.empty()) least_[sizes_.count] = largest_[sizes_.count] = sizes_.samples();
  for (size_t i = 0; i < sizes_.symbols.size(); ++i) {
    least_[sizes_.symbols[i]] = sizes_.LeastOf(i);
    largest_[sizes_.symbols[i]] = sizes_.LargestOf(i);
  }
  for (const auto& [symbol, size] : sizes_.LargestGrid()) largest_[symbol] = size;
  if (sizes_.joint) {
    for (const auto& [symbol, size] : sizes_.joint->largest) largest_[symbol] = size;
  }
  if (sizes_.packed) least_ = rectangle_;
}

Expr SampleSum::Padded(const Expr& formula) const {
  if (!sizes_.joint) return formula.Substitute(rectangle_);
  if (padded_ == nullptr) {
    SampleSizes padded = sizes_;
    const SampleSizes::Joint& joint = *sizes_.joint;
    for (size_t i = 0; i < padded.rows.size(); ++i) {
      padded.rows[i].sizes[joint.text] = joint.tokens - joint.of_images[i];
    }
    padded_ = std::make_shared<const SampleSum>(std::move(padded));
  }
  return padded_->Of(formula);
}

// Replaces a minimum or maximum by its value, if it contains the number of samples and has the same
// value at the smallest and at the largest sizes.
Expr SampleSum::WithoutSwitches(const Expr& formula) const {
  const std::vector<std::string> count = {sizes_.count};
  return ReplaceFactors(formula, [&](const Factor& factor) -> std::optional<Expr> {
    const Kind kind = factor.atom->kind;
    if ((kind != Kind::kMin && kind != Kind::kMax) || !HasInside(factor, count)) return {};
    const Expr atom = symbolic::FromAtom(factor.atom);
    const Expr number = atom.Substitute(rectangle_);
    const std::vector<Expr>& operands = factor.atom->args;
    // An operand itself, or, of max(0, min(1, batch*seq - 1)), a 0 or 1.
    const symbolic::Range& range = factor.atom->range;
    const bool is_switch = std::find(operands.begin(), operands.end(), number) != operands.end() ||
                           (range.lo == symbolic::Int{0} && range.hi == symbolic::Int{1});
    if (!is_switch || !number.is_literal() || atom.Substitute(least_) != number) return {};
    return Power(number, factor.power);
  });
}

// Makes a division over the whole batch one of each sample, if it always comes out even.
Expr SampleSum::WithoutEvenDivisions(const Expr& formula) const {
  const std::vector<std::string> count = {sizes_.count};
  return ReplaceFactors(formula, [&](const Factor& factor) -> std::optional<Expr> {
    if (factor.atom->kind != Kind::kFloorDiv || !HasInside(factor, count)) return {};
    const Expr& divisor = factor.atom->args[1];
    if (!divisor.is_literal() || divisor.literal() > kMostDivisor) return {};
    const Split split = SplitOf(factor.atom->args[0]);
    if (!split.once.is_zero() || !split.mixed.is_zero()) return {};
    if (!IsMultiple(split.each, static_cast<int64_t>(divisor.literal()))) return {};
    return Power(Expr::Symbol(sizes_.count, 1) * FloorDiv(split.each, divisor), factor.power);
  });
}

// A power of the number of samples alone uses the number of all samples, also in one packed row;
// with sizes it is that of the row. A division of sizes uses the padded rectangle.
Expr SampleSum::MixedOf(const Expr& mixed) const {
  const std::vector<std::string> count = {sizes_.count};
  std::vector<Expr> sums;
  const TermSpan terms(mixed);
  for (const Term& term : terms.get()) {
    if (const symbolic::Atom* choice = ChoiceOf(sizes_, term)) {
      sums.push_back(ChoiceOfSums(*this, term, *choice));
      continue;
    }
    const bool inside = std::any_of(term.factors.begin(), term.factors.end(),
                                    [&](const Factor& f) { return HasInside(f, count); });
    Terms one = {term};
    const Expr alone = symbolic::FromTerms(std::move(one));
    const bool of_row = sizes_.packed && Has(alone, sizes_.symbols);
    sums.push_back(alone.Substitute(inside || of_row ? rectangle_ : largest_));
  }
  return onnxflops::Sum(sums);
}

// `each` is without its factor, the number of samples.
SampleSum::Split SampleSum::SplitOf(const Expr& formula) const {
  if (sizes_.count.empty()) return {0, formula, 0};
  Terms parts[3];
  const std::vector<std::string> count = {sizes_.count};
  const Expr samplewise = WithoutEvenDivisions(formula);
  const TermSpan terms(samplewise);
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
    if (part != Part::kEach) rest = term;
    parts[static_cast<size_t>(part)].push_back(std::move(rest));
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
  const size_t sizes = sizes_.symbols.size();
  for (size_t i = sizes; i < powers.size(); ++i) {
    if (const char* error = columns_[i - sizes].error; powers[i] > 0 && error != nullptr) {
      return known->second = symbolic::Error(error);
    }
  }
  Int sum = 0;
  bool fits = true;
  for (size_t r = 0; r < sizes_.rows.size(); ++r) {
    const SampleSizes::Row& row = sizes_.rows[r];
    Int product = row.samples;
    for (size_t i = 0; i < powers.size() && fits; ++i) {
      if (powers[i] == 0) continue;
      const int64_t base = i < sizes ? row.sizes[i] : columns_[i - sizes].values[r];
      Int power = 1;
      fits =
          symbolic::PowInt(base, powers[i], &power) && symbolic::MulInt(product, power, &product);
    }
    fits = fits && symbolic::AddInt(sum, product, &sum);
    if (!fits) return known->second = symbolic::Error(symbolic::kOverflow);
  }
  return known->second = symbolic::Literal(sum);
}

// The place among the columns of a division, minimum or maximum of sizes alone.
size_t SampleSum::ColumnOf(const Expr& atom, const std::vector<Expr>& operands) const {
  const auto [known, is_new] = column_of_.try_emplace(atom, columns_.size());
  if (!is_new) return known->second;
  Column& column = columns_.emplace_back();
  int64_t terms = 0;
  for (const Expr& operand : operands) terms += operand.is_literal() ? 0 : operand.NumTerms();
  evaluations_left_ -= static_cast<int64_t>(sizes_.rows.size()) * std::max<int64_t>(terms, 1);
  if (evaluations_left_ < 0) {
    column.error = symbolic::kTooManySamples;
    return known->second;
  }
  column.values.reserve(sizes_.rows.size());
  Bindings at = largest_;
  for (const SampleSizes::Row& row : sizes_.rows) {
    for (size_t i = 0; i < sizes_.symbols.size(); ++i) at[sizes_.symbols[i]] = row.sizes[i];
    const absl::StatusOr<absl::int128> value = atom.Evaluate(at);
    if (!value.ok() || *value != absl::int128(static_cast<int64_t>(*value))) {
      column.error = symbolic::kOverflow;
      return known->second;
    }
    column.values.push_back(static_cast<int64_t>(*value));
  }
  return known->second;
}

// True if all symbols in an atom are those of sizes.
bool SampleSum::IsOfSizes(const Expr& atom) const {
  const std::vector<std::string> symbols = atom.Symbols();
  return std::all_of(symbols.begin(), symbols.end(), [&](const std::string& symbol) {
    return std::find(sizes_.symbols.begin(), sizes_.symbols.end(), symbol) != sizes_.symbols.end();
  });
}

// Moves the sizes and what is made of them alone from a term to its powers. False if a factor also
// has another symbol.
bool SampleSum::TakePowers(const Term& term, Term* rest, std::vector<int>* powers) const {
  const size_t sizes = sizes_.symbols.size();
  for (const Factor& factor : term.factors) {
    size_t column = 0;
    if (factor.atom->kind == Kind::kSymbol) {
      const auto symbol =
          std::find(sizes_.symbols.begin(), sizes_.symbols.end(), factor.atom->name);
      column = static_cast<size_t>(symbol - sizes_.symbols.begin());
      if (column == sizes) {
        rest->factors.push_back(factor);
        continue;
      }
    } else if (HasInside(factor, sizes_.symbols)) {
      const Expr atom = symbolic::FromAtom(factor.atom);
      if (!IsOfSizes(atom)) return false;
      column = sizes + ColumnOf(atom, factor.atom->args);
    } else {
      rest->factors.push_back(factor);
      continue;
    }
    powers->resize(std::max(powers->size(), column + 1));
    (*powers)[column] = factor.power;
    rest->degree -= factor.power;
  }
  return true;
}

// The sum over all samples of one sample's formula.
Expr SampleSum::SumOverRows(const Expr& formula) const {
  const auto known = known_rows_.find(formula);
  if (known != known_rows_.end()) return known->second;
  std::vector<Expr> sums;
  symbolic::TermAccumulator mixed;  // terms that have sizes and other symbols in one factor
  bool has_mixed = false;
  const TermSpan terms(formula);
  for (const Term& term : terms.get()) {
    std::vector<int> powers;
    Term rest = term;
    rest.factors.clear();
    if (TakePowers(term, &rest, &powers)) {
      Terms one = {std::move(rest)};
      sums.push_back(symbolic::FromTerms(std::move(one)) * SumOfPowers(powers));
    } else {
      has_mixed = true;
      mixed.Add(term);
    }
  }
  if (has_mixed) sums.push_back(SumByExpressions(std::move(mixed).Finish()));
  return known_rows_[formula] = Sum(sums);
}

// An expression for each different sample.
Expr SampleSum::SumByExpressions(const Expr& each) const {
  constexpr int64_t kCost = 50;  // evaluations that take as long, and less memory
  evaluations_left_ -=
      static_cast<int64_t>(sizes_.rows.size()) * std::max<int64_t>(each.NumTerms(), 1) * kCost;
  if (evaluations_left_ < 0) return symbolic::Error(symbolic::kTooManySamples);
  std::vector<Expr> sums;
  Bindings at = largest_;
  for (const SampleSizes::Row& row : sizes_.rows) {
    for (size_t i = 0; i < sizes_.symbols.size(); ++i) at[sizes_.symbols[i]] = row.sizes[i];
    sums.push_back(each.Substitute(at) * row.samples);
  }
  return onnxflops::Sum(sums);
}

Expr SampleSum::Of(const Expr& formula) const {
  if (formula.error() != nullptr) return formula;
  const auto known = known_.find(formula);
  if (known != known_.end()) return known->second;
  const Split split = SplitOf(WithoutSwitches(formula));
  Expr sum = SumOverRows(split.each) + MixedOf(split.mixed);
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

Expr SampleSum::PaddingOfChunks(const Expr& formula) const {
  if (!sizes_.chunks) return 0;
  SampleSizes filled = sizes_;
  filled.rows = sizes_.chunks->rows;
  return Of(formula) - SampleSum(std::move(filled)).Of(formula);
}

bool SampleSum::Mixes(const Expr& formula) const {
  if (formula.error() != nullptr) return false;
  const Expr mixed = SplitOf(WithoutSwitches(formula)).mixed;
  const TermSpan terms(mixed);
  return std::any_of(terms.get().begin(), terms.get().end(), [&](const Term& term) {
    const symbolic::Atom* choice = ChoiceOf(sizes_, term);
    return choice == nullptr || std::any_of(choice->args.begin(), choice->args.end(),
                                            [&](const Expr& operand) { return Mixes(operand); });
  });
}

Expr SampleSum::OnceOfSizes(const Expr& formula) const {
  if (formula.error() != nullptr || sizes_.packed) return 0;
  std::vector<Expr> sums;
  const Expr once = SplitOf(WithoutSwitches(formula)).once;
  const TermSpan terms(once);
  for (const Term& term : terms.get()) {
    Terms one = {term};
    const Expr alone = symbolic::FromTerms(std::move(one));
    if (Has(alone, sizes_.symbols)) sums.push_back(alone.Substitute(largest_));
  }
  return onnxflops::Sum(sums);
}

}  // namespace onnxflops
