// How it works. The part gets its own ledger: each line of the whole ledger is counted again for
// those of its entries that are inside. So our amount of a line covers the part only, and the terms
// lead from our count of the part to the tool's.
#include "src/convention/ledger_part.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace onnxflops::convention {
namespace {

class PartMaker {
 public:
  PartMaker(Evidence* evidence, Unit unit, const Ledger& whole, const std::vector<bool>& in_part)
      : evidence_(*evidence),
        unit_(unit),
        whole_(whole),
        in_part_(in_part),
        taken_(in_part.size(), false) {}

  Ledger Make() {
    part_.standing = whole_.standing;
    part_.assumptions = whole_.assumptions;
    part_.version = whole_.version;
    part_.terms = whole_.terms;
    for (const Line& line : whole_.lines) AddLine(line);
    const bool has_more = std::any_of(whole_.model_lines.begin(), whole_.model_lines.end(),
                                      [](const ModelLine& line) { return line.theirs != kZero; });
    if (has_more) Assume("what the tool counts for a model as a whole is left out");
    return std::move(part_);
  }

 private:
  void Assume(const char* assumption) {
    part_.standing = Standing::kAssumed;
    part_.assumptions.emplace_back(assumption);
  }

  void AddLine(Line line) {
    const auto entries =
        absl::MakeConstSpan(whole_.entries)
            .subspan(static_cast<size_t>(line.first), static_cast<size_t>(line.count));
    std::vector<EntryId> counted;  // inside, and in no line before
    line.first = static_cast<int32_t>(part_.entries.size());
    for (const EntryId id : entries) {
      const size_t i = static_cast<size_t>(id);
      if (in_part_[i]) part_.entries.push_back(id);
      if (in_part_[i] && !taken_[i]) counted.push_back(id);
      taken_[i] = true;
    }
    const bool begins_inside = in_part_[static_cast<size_t>(entries[0])];
    const int32_t inside = static_cast<int32_t>(part_.entries.size()) - line.first;
    if (inside == 0) return;
    if (inside < line.count) Divide(evidence_.Ours(unit_, counted), begins_inside, &line);
    line.count = inside;
    part_.lines.push_back(line);
  }

  void Divide(AmountId ours, bool begins_inside, Line* line) {
    line->ours = ours;
    if (!begins_inside) line->theirs = kZero;
    if (line->theirs == ours) {
      line->term = kSame;
      return;
    }
    if (!border_) {
      border_ = static_cast<TermId>(part_.terms.size());
      part_.terms.push_back({"calls across the border of the part", "the tool counts each as one"});
      Assume("a call across the border of the part counts where it begins");
    }
    line->term = *border_;
  }

  Evidence& evidence_;
  const Unit unit_;
  const Ledger& whole_;
  const std::vector<bool>& in_part_;
  std::vector<bool> taken_;  // by EntryId
  std::optional<TermId> border_;
  Ledger part_;
};

}  // namespace

Expr OursOfPart(const Evidence& evidence, Unit unit, const std::vector<bool>& in_part) {
  std::map<AmountId, int64_t> times;  // equal amounts are counted before they are added
  for (size_t i = 0; i < in_part.size(); ++i) {
    if (in_part[i]) ++times[evidence.Ours(unit, static_cast<EntryId>(i))];
  }
  std::vector<Expr> parts;
  parts.reserve(times.size());
  for (const auto& [amount, n] : times) parts.push_back(evidence.amount(amount) * n);
  return Sum(parts);
}

Ledger LedgerOfPart(Evidence* evidence, Unit unit, const Ledger& whole,
                    const std::vector<bool>& in_part) {
  if (whole.standing == Standing::kNotApplicable) {
    return LedgerBuilder::NotApplicable(absl::StrCat("of the whole model: ", whole.assumptions[0]));
  }
  const bool is_formula = std::any_of(whole.model_lines.begin(), whole.model_lines.end(),
                                      [](const ModelLine& line) { return line.ours != kZero; });
  if (is_formula) {
    return LedgerBuilder::NotApplicable("it is a formula for a whole model, which has no parts");
  }
  return PartMaker(evidence, unit, whole, in_part).Make();
}

}  // namespace onnxflops::convention
