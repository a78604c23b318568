#include "src/convention/convention.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"

namespace onnxflops::convention {

LedgerBuilder::LedgerBuilder(Evidence* evidence, Unit unit)
    : evidence_(*evidence), unit_(unit), taken_(evidence->entries().size(), false) {
  ledger_.lines.reserve(taken_.size());
  ledger_.entries.reserve(taken_.size());
}

TermId LedgerBuilder::Term(absl::string_view name, absl::string_view reason) {
  const auto [it, is_new] =
      terms_.try_emplace(std::make_pair(std::string(name), std::string(reason)),
                         static_cast<TermId>(ledger_.terms.size()));
  if (is_new) ledger_.terms.push_back({std::string(name), std::string(reason)});
  return it->second;
}

void LedgerBuilder::Count(absl::Span<const EntryId> entries, AmountId theirs, TermId term) {
  scratch_.clear();
  Line line;
  line.module = evidence_.entry(entries[0]).module;
  line.first = static_cast<int32_t>(ledger_.entries.size());
  line.count = static_cast<int32_t>(entries.size());
  for (EntryId entry : entries) {
    ledger_.entries.push_back(entry);
    if (taken_[static_cast<size_t>(entry)]) continue;
    taken_[static_cast<size_t>(entry)] = true;
    scratch_.push_back(entry);
  }
  line.ours = evidence_.Ours(unit_, scratch_);
  line.theirs = theirs;
  line.term = TermFor(line.ours, line.theirs, term);
  ledger_.lines.push_back(line);
  const char* error = evidence_.amount(theirs).error();
  if (error != nullptr && problem_.empty()) {
    problem_ = absl::StrCat(DescribeNode(evidence_.model(), evidence_.entry(entries[0]).node),
                            ": what the tool counts ", error);
  }
}

void LedgerBuilder::CountModel(AmountId theirs, TermId term) {
  std::map<AmountId, int64_t> times;  // equal amounts are counted before they are added
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i]) ++times[evidence_.Ours(unit_, static_cast<EntryId>(i))];
    taken_[i] = true;
  }
  std::vector<Expr> parts;
  parts.reserve(times.size());
  for (const auto& [amount, n] : times) parts.push_back(evidence_.amount(amount) * n);
  const AmountId ours = evidence_.Intern(Sum(parts));
  ledger_.model_lines.push_back({ours, theirs, TermFor(ours, theirs, term)});
}

TermId LedgerBuilder::TermFor(AmountId ours, AmountId theirs, TermId term) {
  if (ours == theirs) return kSame;
  return term == kSame ? Term("other rules", "the tool counts this otherwise") : term;
}

void LedgerBuilder::Assume(absl::string_view assumption) {
  ledger_.standing = Standing::kAssumed;
  std::vector<std::string>& all = ledger_.assumptions;
  if (std::find(all.begin(), all.end(), assumption) == all.end()) all.emplace_back(assumption);
}

Ledger LedgerBuilder::Finish(absl::FunctionRef<TermId(EntryId)> unseen) {
  for (size_t i = 0; i < taken_.size(); ++i) {
    const EntryId id = static_cast<EntryId>(i);
    if (taken_[i] || evidence_.Ours(unit_, id) == kZero) continue;
    Count({id}, kZero, unseen(id));
  }
  if (!problem_.empty()) return NotApplicable(std::move(problem_));
  if (const OptionalNodeId node = evidence_.not_opened()) {
    Assume(absl::StrCat("from ", DescribeNode(evidence_.model(), *node),
                        " on, calls and loops are taken as a whole (", evidence_.not_opened_limit(),
                        ")"));
  }
  return std::move(ledger_);
}

Ledger LedgerBuilder::NotApplicable(std::string reason) {
  Ledger ledger;
  ledger.standing = Standing::kNotApplicable;
  ledger.assumptions.push_back(std::move(reason));
  return ledger;
}

}  // namespace onnxflops::convention
