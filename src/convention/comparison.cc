// How it works. Every line of a ledger has our amount and the tool's. The difference goes to the
// line's term; a line that counts as we do has none. So our total plus all terms is the tool's
// figure by construction, and a comparison cannot lose a part. With by_module each term is split by
// the modules of its lines.
//
// Between two tools, the terms of the first ledger are taken with factor -1 and those of the second
// with +1. A difference from our count that both tools share cancels. If one tool counts MACs and
// the other FLOPs, all is in FLOPs, the finer unit, with two steps of their own: the unit itself,
// and the operations other than multiply-accumulates. Nodes are listed only where the two ledgers
// differ.
#include "src/convention/comparison.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/convention/ledger_part.h"

namespace onnxflops::convention {
namespace {

// A sum of many amounts. Equal ones are counted first: adding formulas costs much more.
class Tallied {
 public:
  void Add(AmountId amount, int64_t times) { counts_[amount] += times; }
  bool IsZero() const {
    return std::all_of(counts_.begin(), counts_.end(), [](const auto& c) { return c.second == 0; });
  }
  Expr Total(const Evidence& evidence) const {
    std::vector<std::pair<AmountId, int64_t>> sorted(counts_.begin(), counts_.end());
    std::sort(sorted.begin(), sorted.end());
    std::vector<Expr> parts;
    for (const auto& [amount, times] : sorted) {
      if (times != 0 && amount != kZero) parts.push_back(evidence.amount(amount) * times);
    }
    return Sum(parts);
  }

 private:
  absl::flat_hash_map<AmountId, int64_t> counts_;
};

class Waterfall {
 public:
  // With `cancels`, a term does not list nodes whose parts in the two ledgers cancel.
  Waterfall(Evidence* evidence, const CompareOptions& options, bool cancels)
      : evidence_(*evidence), options_(options), cancels_(cancels) {}

  // The terms of a ledger, each amount `times` over.
  void AddTerms(const Ledger& ledger, int64_t times) {
    constexpr size_t kNotYet = static_cast<size_t>(-1);
    std::vector<size_t> names(ledger.terms.size(), kNotYet);  // in names_: names may be long
    for (const Line& line : ledger.lines) {
      if (line.term == kSame) continue;
      const Term& term = ledger.terms[static_cast<size_t>(line.term)];
      size_t& name = names[static_cast<size_t>(line.term)];
      if (name == kNotYet) name = NameOf(term);
      Sums& sums = sums_[IndexOf(term, name, line.module)];
      sums.total.Add(line.theirs, times);
      sums.total.Add(line.ours, -times);
      const auto entries = EntriesOf(ledger, line);
      sums.lines.push_back(entries);
      if (!cancels_) continue;
      Tallied& entry = sums.by_entry[entries[0]];
      entry.Add(line.theirs, times);
      entry.Add(line.ours, -times);
    }
    for (const ModelLine& line : ledger.model_lines) {
      if (line.term == kSame) continue;
      const Term& term = ledger.terms[static_cast<size_t>(line.term)];
      Sums& sums = sums_[IndexOf(term, NameOf(term), kNone)];
      sums.total.Add(line.theirs, times);
      sums.total.Add(line.ours, -times);
    }
  }

  // Adds a term that belongs to no entry.
  void AddStep(const char* name, const char* reason, const Expr& amount) {
    const Term term = {name, reason};
    sums_[IndexOf(term, NameOf(term), kNone)].step += amount;
  }

  std::vector<ComparedTerm> Terms() {
    std::vector<ComparedTerm> terms;
    for (Sums& sums : sums_) {
      ComparedTerm term = std::move(sums.term);
      term.amount = sums.total.Total(evidence_) + sums.step;
      if (term.amount == Expr(0)) continue;
      term.nodes = NodesOf(sums);
      terms.push_back(std::move(term));
    }
    std::stable_sort(terms.begin(), terms.end(),
                     [](const auto& a, const auto& b) { return Size(a.amount) > Size(b.amount); });
    return terms;
  }

 private:
  struct Sums {
    ComparedTerm term;
    Tallied total;
    Expr step;
    absl::flat_hash_map<EntryId, Tallied> by_entry;  // by the first of a line
    std::vector<absl::Span<const EntryId>> lines;
  };

  static absl::Span<const EntryId> EntriesOf(const Ledger& ledger, const Line& line) {
    return absl::MakeConstSpan(ledger.entries)
        .subspan(static_cast<size_t>(line.first), static_cast<size_t>(line.count));
  }

  size_t NameOf(const Term& term) {
    return names_.try_emplace(term.name, names_.size()).first->second;
  }

  // Terms with one name are one term, even if the tools' reasons differ. kNone: of the whole model.
  size_t IndexOf(const Term& term, size_t name, OptionalModuleId module) {
    const OptionalModuleId key = options_.by_module ? module : kRootModule;
    const auto [it, is_new] = index_.try_emplace({name, key}, sums_.size());
    if (is_new) {
      Sums sums;
      sums.term = {term.name, term.reason, "", true, 0, {}};
      if (options_.by_module && module) {
        sums.term.module = std::string(evidence_.paths().path(*module));
      }
      sums_.push_back(std::move(sums));
    }
    ComparedTerm& known = sums_[it->second].term;
    known.of_model = known.of_model && !module;
    return it->second;
  }

  std::vector<NodeId> NodesOf(const Sums& sums) const {
    std::vector<NodeId> nodes;
    for (const absl::Span<const EntryId> entries : sums.lines) {
      if (cancels_ && sums.by_entry.find(entries[0])->second.IsZero()) continue;
      for (EntryId id : entries) nodes.push_back(evidence_.entry(id).node);
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

  static absl::int128 Size(const Expr& amount) {
    if (!amount.is_literal()) return 0;
    return amount.literal() < 0 ? -amount.literal() : amount.literal();
  }

  Evidence& evidence_;
  const CompareOptions options_;
  const bool cancels_;
  std::vector<Sums> sums_;
  absl::flat_hash_map<std::string, size_t> names_;
  absl::flat_hash_map<std::pair<size_t, OptionalModuleId>, size_t> index_;  // by name and module
};

Expr OurTotal(const Evidence& evidence, Unit unit, const CompareOptions& options) {
  if (options.part != nullptr) return OursOfPart(evidence, unit, *options.part);
  const Amounts& total = evidence.counts().total.amounts;
  return unit == Unit::kMac    ? total.macs
         : unit == Unit::kFlop ? total.flops
                               : total.activation_count;
}

Expr Headline(const Evidence& evidence, const Ledger& ledger) {
  Tallied sum;
  for (const Line& line : ledger.lines) sum.Add(line.theirs, 1);
  for (const ModelLine& line : ledger.model_lines) sum.Add(line.theirs, 1);
  return sum.Total(evidence);
}

Comparison Begin(const Convention& convention, const Ledger& ledger) {
  Comparison result;
  result.convention = &convention;
  result.version = VersionUsed(convention, ledger);
  result.standing = ledger.standing;
  result.assumptions = ledger.assumptions;
  result.params = ledger.params;
  return result;
}

}  // namespace

Comparison Compare(Evidence* evidence, const Convention& convention, const Ledger& ledger,
                   const CompareOptions& options) {
  Comparison result = Begin(convention, ledger);
  result.start = OurTotal(*evidence, convention.unit, options);
  if (ledger.standing == Standing::kNotApplicable) return result;
  result.headline = Headline(*evidence, ledger);
  Waterfall waterfall(evidence, options, false);
  waterfall.AddTerms(ledger, 1);
  result.terms = waterfall.Terms();
  return result;
}

Comparison CompareBetween(Evidence* evidence, const Convention& from, const Ledger& from_ledger,
                          const Convention& to, const Ledger& to_ledger,
                          const CompareOptions& options) {
  Comparison result = Begin(to, to_ledger);
  result.from = &from;
  for (const std::string& text : from_ledger.assumptions) {
    result.assumptions.push_back(absl::StrCat(from.name, ": ", text));
  }
  result.standing = std::max(from_ledger.standing, to_ledger.standing);
  result.start = Headline(*evidence, from_ledger);
  if (result.standing == Standing::kNotApplicable) return result;
  result.headline = Headline(*evidence, to_ledger);
  // When the two tools use different units, steps are given in the smaller one.
  const int64_t from_scale = from.unit == Unit::kMac && to.unit == Unit::kFlop ? 2 : 1;
  const int64_t to_scale = from.unit == Unit::kFlop && to.unit == Unit::kMac ? 2 : 1;
  Waterfall waterfall(evidence, options, true);
  waterfall.AddTerms(from_ledger, -from_scale);
  waterfall.AddTerms(to_ledger, to_scale);
  constexpr char kUnits[] = "the unit";
  if (from_scale == 2) {
    waterfall.AddStep(kUnits, "a multiply-accumulate is 1 there and 2 here", result.start);
  } else if (to_scale == 2) {
    waterfall.AddStep(kUnits, "a multiply-accumulate is 2 there and 1 here", result.headline * -1);
  }
  const Expr other = OurTotal(*evidence, to.unit, options) * to_scale -
                     OurTotal(*evidence, from.unit, options) * from_scale;
  if (other != Expr(0)) {
    waterfall.AddStep("operations other than multiply-accumulates",
                      "only a count of FLOPs starts with them", other);
  }
  result.terms = waterfall.Terms();
  return result;
}

}  // namespace onnxflops::convention
