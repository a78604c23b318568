// How it works. A limit is first turned into a formula, the excess, which is above 0 if the limit
// is broken: head - limit, whole * head - (whole + growth) * base, and the same for a ratio. The
// factors keep it exact, without rounding. The limit holds if the excess is at most 0 at all sizes
// that [at] allows. It is broken if the excess is above 0 at one of them. It is open if neither can
// be shown.
//
// Then the certainty of the figures matters. A lower bound that breaks a limit fails for certain,
// since the true figure is larger still. A lower bound within the limit proves nothing: the verdict
// is "not proven", unless the file sets lower_bounds = "pass". For the base of a relative limit it
// is the reverse. Exceptions come last and turn a failure into "allowed" until their date.
//
// If one model fixes a size that the other leaves open, limits relative to the base are judged on a
// second diff at which both have that size; otherwise a change of the batch would look like growth.
#include "src/check/judge.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "fmt/format.h"
#include "src/base/glob.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/check/limit_text.h"
#include "src/diff/diff_parts.h"
#include "src/pipeline/pipeline_file.h"
#include "src/pipeline/pipeline_report.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/report/memory_report.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

using report::GroupedDigits;
using report::GroupedExpr;
using report::Known;
using report::KnownOf;
using report::KnownOfChange;
using report::KnownText;
using report::SiNumber;
using report::TimeText;

constexpr size_t kMaxJudgements = kMaxBudgets * kMaxBudgetSets;
constexpr size_t kListedNames = 8;
constexpr size_t kMaxActualText = 60;  // of a figure in a table

std::string FigureText(absl::int128 value, const Quantity& q) {
  if (q.unit == Quantity::Unit::kSeconds) return TimeText(value, false);
  std::string text = SiNumber(value);
  const absl::string_view unit = UnitOf(q);
  const bool prefixed = !text.empty() && text.find(' ') != std::string::npos;
  return absl::StrCat(text, prefixed || unit.empty() ? "" : " ", unit);
}

// A formula of a figure, for a cell of a table.
std::string FormulaCell(const Expr& formula, const Quantity& q) {
  const std::string text = formula.Shortened(kMaxActualText);
  // A text shorter than the most was not cut.
  const std::string shown = text.size() < kMaxActualText ? GroupedExpr(formula) : text;
  const bool is_time = q.unit == Quantity::Unit::kSeconds;
  return is_time ? absl::StrCat("1e-21*(", shown, ") s") : shown;
}

// `part` / `whole` in hundredths of a percent, rounded towards 0.
std::optional<absl::int128> Hundredths(absl::int128 part, absl::int128 whole) {
  if (whole <= 0) return std::nullopt;
  while (part > absl::Int128Max() / 10'000 || part < -(absl::Int128Max() / 10'000)) {
    part /= 2;
    whole /= 2;
  }
  if (whole == 0) return std::nullopt;
  return part * 10'000 / whole;
}

// "+2.15 %"; "-<0.01 %" for what rounds to 0 and is not.
std::string PercentText(absl::int128 part, absl::int128 whole, bool sign) {
  const std::optional<absl::int128> exact = Hundredths(part, whole);
  if (!exact) return "";
  const bool negative = part < 0;
  const absl::int128 hundredths = negative ? -*exact : *exact;
  const char* const mark = negative ? "-" : sign ? "+" : "";
  if (hundredths == 0 && part != 0) return absl::StrCat(mark, "<0.01 %");
  constexpr int kMost = 100'000'000;  // beyond, a limit lacks its unit, and digits say nothing
  if (hundredths >= kMost) {
    return absl::StrCat(mark, fmt::format("{:.3g}", static_cast<double>(hundredths) / 100), " %");
  }
  const std::string digits = absl::StrCat(Int128ToString(hundredths % 100 + 100)).substr(1);
  return absl::StrCat(mark, GroupedDigits(hundredths / 100), ".", digits, " %");
}

// A utilisation as mfu writes it. It has more digits where two would round it to the other side of
// the least that it should be, or of 1.
std::string ReachedText(double share, const BudgetLimit& least) {
  constexpr double kPercent = 100, kMost = 100;
  constexpr int kMostDigits = 12;
  if (share >= kMost) return "above 10,000 %";
  const double limit =
      static_cast<double>(least.value) * kPercent / static_cast<double>(least.whole);
  std::string text = report::SharePercent(share);
  double shown = 0;
  for (int digits = 3; digits <= kMostDigits && absl::SimpleAtod(text, &shown); ++digits) {
    const bool same_side = (kPercent * share < limit) == (shown < limit);
    if (same_side && (share > 1) == (shown > kPercent)) break;
    text = fmt::format("{:.{}f}", kPercent * share, digits);
  }
  return absl::StrCat(text, " %");
}

std::string WhyMissing(const Quantity& quantity) {
  if (&quantity == &kPeakActivations) {
    return WithSettings(
        "it has no formula: give it sizes with {dim} or in [at]; a report has it with {memory on}");
  }
  if (&quantity == &kPipelineMemory) return "the activations of a stage have no formula";
  switch (quantity.needs) {
    case Quantity::Needs::kNothing:
      break;
    case Quantity::Needs::kDevice:
      return WithSettings("it needs a device, of the base as well: {device NAME} {dtype D}");
    case Quantity::Needs::kTraining:
      return WithSettings("it needs an exact backward pass: {backward exact}");
    case Quantity::Needs::kTypes:
      return "the types that some MACs multiply are not known, or the figure is beyond 128 bits";
  }
  return "a report was written without this quantity: write it again";
}

// Whether a figure is within its limit; kOpen if unknown.
enum class Standing { kHolds, kBroken, kOpen };

class RuleJudge {
 public:
  RuleJudge(const Budgets& budgets, const BudgetSizes* sizes, const Diff& diff)
      : budgets_(budgets), diff_(diff) {
    if (sizes == nullptr) return;
    // A range applies to the symbol by the name that a user types, and by the name in the model.
    for (const auto& [name, range] : sizes->ranges) {
      ranges_[name] = range;
      for (const auto& [symbol, size] : diff.sizes) {
        if (TypedSymbol(BareName(symbol)) == name) ranges_[symbol] = range;
      }
    }
  }

  // `m`: the module that the rule is about.
  Judgement OfQuantity(const BudgetRule& rule, const ModuleDiff& m) const {
    Judgement judgement = Begin(rule);
    judgement.where = rule.module ? m.path : "";
    judgement.names_module = rule.module == m.path;
    judgement.quantity = rule.quantity;
    judgement.limit = rule.limit.text;
    const bool relative = rule.limit.kind == BudgetLimit::Kind::kRelative;
    judgement.kind = rule.per != nullptr ? "ratio" : relative ? "growth" : "amount";
    if (!Knows(*rule.quantity) || (rule.per != nullptr && !Knows(*rule.per))) {
      judgement.verdict = Verdict::kNotProven;
      judgement.detail = WhyMissing(Knows(*rule.quantity) ? *rule.per : *rule.quantity);
      return judgement;
    }
    if (relative &&
        (!diff_.has_base || m.status == DiffStatus::kNew || m.status == DiffStatus::kMovedHere)) {
      const bool fails = budgets_.new_fails && m.status != DiffStatus::kMovedHere;
      judgement.verdict = fails ? Verdict::kFailed : Verdict::kSkipped;
      judgement.detail = diff_.has_base ? "the base does not have it" : "a new model has no base";
      judgement.actual = ActualText(rule, m, {});
      return judgement;
    }
    JudgeLimit(rule, m, &judgement);
    return judgement;
  }

  Judgement OfNames(const BudgetRule& rule) const {
    Judgement judgement = Begin(rule);
    const bool domains = rule.kind == BudgetRule::Kind::kDomains;
    judgement.kind = domains ? "domains" : "operators";
    const bool forbids = rule.allow.empty();
    judgement.limit = absl::StrCat(forbids ? "none of " : "only ",
                                   absl::StrJoin(forbids ? rule.forbid : rule.allow, ", "));
    std::vector<std::string> wrong;
    absl::flat_hash_set<std::string> seen;
    for (const auto& [op_domain, op] : diff_.head_ops) {
      const std::string domain = op_domain.empty() ? "ai.onnx" : op_domain;
      const std::string name = domains ? domain : OpLabel(op_domain, op);
      const std::string full = domains ? domain : absl::StrCat(domain, ".", op);
      const auto matches = [&](const std::string& glob) {
        return MatchesGlob(glob, name) || MatchesGlob(glob, full);
      };
      const auto& list = forbids ? rule.forbid : rule.allow;
      const bool listed = std::any_of(list.begin(), list.end(), matches);
      if (listed == forbids && seen.insert(name).second) wrong.push_back(name);
    }
    judgement.actual = wrong.empty() ? "-" : absl::StrJoin(wrong, ", ");
    if (wrong.size() > kListedNames) {
      wrong.resize(kListedNames);
      judgement.actual = absl::StrCat(absl::StrJoin(wrong, ", "), ", ...");
    }
    if (!wrong.empty()) judgement.verdict = Verdict::kFailed;
    return judgement;
  }

  Judgement OfOpset(const BudgetRule& rule) const {
    Judgement judgement = Begin(rule);
    judgement.kind = "opset";
    judgement.limit = rule.min_opset ? absl::StrCat("at least ", *rule.min_opset)
                                     : absl::StrCat("at most ", *rule.max_opset);
    const auto opset = diff_.head.opsets.find(rule.domain);
    if (opset == diff_.head.opsets.end()) {
      judgement.verdict = Verdict::kSkipped;
      judgement.actual = "-";
      judgement.detail = "the model does not import the domain";
      return judgement;
    }
    judgement.actual = absl::StrCat(opset->second);
    const bool low = rule.min_opset && opset->second < *rule.min_opset;
    const bool high = rule.max_opset && opset->second > *rule.max_opset;
    if (low || high) judgement.verdict = Verdict::kFailed;
    return judgement;
  }

  Judgement OfFixed(const BudgetRule& rule) const {
    Judgement judgement = Begin(rule);
    judgement.kind = "fixed";
    judgement.limit = "what is open in the base";
    judgement.actual = "-";
    std::vector<std::string> names;
    for (const UnequalSize& size : diff_.fixed_axes) {
      if (size.open_in_head) continue;
      std::string text = absl::StrCat(size.symbol, " = ", size.fixed);
      if (!absl::c_linear_search(names, text)) names.push_back(std::move(text));
    }
    if (!diff_.has_base) {
      judgement.verdict = Verdict::kSkipped;
      judgement.detail = "a new model has no base";
    } else if (!names.empty()) {
      judgement.verdict = Verdict::kFailed;
      judgement.actual = absl::StrJoin(names, ", ");
      judgement.detail = "the base leaves it open";
    }
    return judgement;
  }

  std::vector<Judgement> OfAchieved(const BudgetRule& rule, FiguresOfRule figures_of) const {
    Judgement judgement = Begin(rule);
    judgement.kind = rule.kind == BudgetRule::Kind::kProfile ? "profile" : "mfu";
    judgement.limit = absl::StrCat(
        rule.achieved == BudgetRule::Achieved::kTime ? "at most " : "at least ", rule.limit.text);
    const absl::StatusOr<std::vector<AchievedFigure>> figures = figures_of(rule);
    if (!figures.ok()) {
      judgement.verdict = Verdict::kNotProven;
      judgement.where = rule.module.value_or("");
      judgement.names_module = true;
      judgement.actual = "-";
      judgement.detail = std::string(figures.status().message());
      return {judgement};
    }
    std::vector<Judgement> judgements;
    for (const AchievedFigure& figure : *figures) {
      judgements.push_back(judgement);
      JudgeFigure(rule, figure, &judgements.back());
    }
    return judgements;
  }

  static Judgement Begin(const BudgetRule& rule) {
    Judgement judgement;
    judgement.rule = rule.name;
    judgement.rule_prefix = rule.name_prefix;
    judgement.place = rule.place;
    return judgement;
  }

 private:
  static std::string AchievedText(const BudgetRule& rule, double value) {
    constexpr double kMost = 1e33;
    switch (rule.achieved) {
      case BudgetRule::Achieved::kPeakShare:
        return ReachedText(value, rule.limit);
      case BudgetRule::Achieved::kTime:
        return TimeText(static_cast<absl::int128>(std::min(value * kTimesPerSecond, kMost)), false);
      case BudgetRule::Achieved::kFlopsPerSecond:
        break;
    }
    const std::string text =
        FigureText(static_cast<absl::int128>(std::min(value, kMost)), QuantityOf(&Amounts::flops));
    return absl::StrCat(text, "/s");
  }

  // A utilisation above 1 is impossible: a peak, a time or a number of devices is wrong. So it
  // never passes.
  void JudgeFigure(const BudgetRule& rule, const AchievedFigure& figure,
                   Judgement* judgement) const {
    using Achieved = BudgetRule::Achieved;
    judgement->where = figure.where;
    judgement->names_module = rule.module == figure.where;
    judgement->actual = std::isnan(figure.value) ? "-" : AchievedText(rule, figure.value);
    const auto limit = static_cast<double>(rule.limit.value);
    const double value = figure.value * (rule.achieved == Achieved::kPeakShare
                                             ? static_cast<double>(rule.limit.whole)
                                         : rule.achieved == Achieved::kTime ? kTimesPerSecond
                                                                            : 1.0);
    const bool holds = rule.achieved == Achieved::kTime ? value <= limit : value >= limit;
    if (figure.peak_share.value_or(0) > 1) {
      judgement->verdict = Verdict::kFailed;
      judgement->detail =
          rule.kind == BudgetRule::Kind::kProfile
              ? "more than the device can do: the peak is of another device or dtype, the "
                "profile has the times of launches only, or the run skips work that is counted"
              : "more than the devices can do: a peak, a time or a number is wrong";
    } else if (!holds) {
      judgement->verdict = Verdict::kFailed;
    } else if (!figure.open.empty() && !budgets_.lower_bounds_pass) {
      judgement->verdict = Verdict::kNotProven;
      judgement->detail = figure.open;
    }
  }

  bool Knows(const Quantity& q) const {
    if (&q == &kPeakActivations || &q == &kPipelineMemory) return PeakOf(q) != nullptr;
    return q.AllParts([&](Expr Amounts::*part) {
      return std::find(diff_.quantities.begin(), diff_.quantities.end(), &QuantityOf(part)) !=
             diff_.quantities.end();
    });
  }

  // What is no sum over modules; nullptr of other quantities, or if it is not known.
  const PeakDiff* PeakOf(const Quantity& q) const {
    const std::optional<PeakDiff>& peak = &q == &kPipelineMemory ? diff_.memory : diff_.peak;
    const bool is_peak = &q == &kPipelineMemory || &q == &kPeakActivations;
    return is_peak && peak ? &*peak : nullptr;
  }
  // Figures of quantities that are known.
  Expr BaseOf(const ModuleDiff& m, const Quantity& q) const {
    const PeakDiff* const peak = PeakOf(q);
    return peak != nullptr ? peak->base : m.BaseOf(q);
  }
  Expr HeadOf(const ModuleDiff& m, const Quantity& q) const {
    const PeakDiff* const peak = PeakOf(q);
    return peak != nullptr ? peak->head : m.HeadOf(q);
  }
  Known BaseKnown(const ModuleDiff& m, const Quantity& q) const {
    const PeakDiff* const peak = PeakOf(q);
    return KnownOf(q, BaseOf(m, q), peak != nullptr ? peak->base_lower_bound : m.base_lower_bound);
  }
  Known HeadKnown(const ModuleDiff& m, const Quantity& q) const {
    const PeakDiff* const peak = PeakOf(q);
    return KnownOf(q, HeadOf(m, q), peak != nullptr ? peak->head_lower_bound : m.head_lower_bound);
  }
  // How far the other side of the comparison is known: the base, the divisor of a ratio, or an
  // amount, which is exact.
  Known LimitKnown(const BudgetRule& rule, const ModuleDiff& m) const {
    if (rule.per != nullptr) return HeadKnown(m, *rule.per);
    const bool relative = rule.limit.kind == BudgetLimit::Kind::kRelative;
    return relative ? BaseKnown(m, *rule.quantity) : Known::kExact;
  }
  // "Add, com.example.FusedMlp are not counted: the figure is a lower bound".
  std::string WhyOpen(const BudgetRule& rule, const ModuleDiff& m) const {
    const bool of_head = HeadKnown(m, *rule.quantity) != Known::kExact || rule.per != nullptr;
    const std::string ops = diff::NotCountedOps(diff_, of_head);
    return absl::StrCat(of_head ? "" : "in the base ",
                        ops.empty() ? "a part" : absl::StrCat("a part (", ops, ")"),
                        " is not counted: the figure is a lower bound");
  }

  // Above 0 if the limit is broken. Multiplied out, so that nothing is rounded.
  Expr Excess(const BudgetRule& rule, const BudgetLimit& limit, const ModuleDiff& m) const {
    const Expr head = HeadOf(m, *rule.quantity);
    switch (limit.kind) {
      case BudgetLimit::Kind::kAbsolute:
        return head - Expr(limit.value);
      case BudgetLimit::Kind::kRelative:
        return Expr(limit.whole) * head -
               Expr(limit.whole + limit.value) * BaseOf(m, *rule.quantity);
      case BudgetLimit::Kind::kRatio:
        return Expr(limit.whole) * head - Expr(limit.value) * HeadOf(m, *rule.per);
    }
    return Expr();
  }

  // `*at`: the sizes with the largest excess, as far as they are known.
  Standing StandingOf(const Expr& excess, Bindings* at) const {
    if (excess.error() != nullptr) return Standing::kOpen;
    const std::optional<Largest> largest = LargestValue(excess, ranges_);
    if (largest) *at = largest->at;
    if (largest && largest->value <= 0) return Standing::kHolds;
    if (largest && largest->exact) return Standing::kBroken;
    const std::optional<absl::int128> least = excess.LowerBound();
    if (least && *least > 0) return Standing::kBroken;
    // The bounds do not decide it. One size that breaks the limit is enough, so both ends of the
    // ranges are tried.
    for (const bool last : {true, false}) {
      Bindings corner;
      for (const auto& [name, range] : ranges_) corner[name] = last ? range.last : range.first;
      const absl::StatusOr<absl::int128> value = excess.Evaluate(corner);
      if (!value.ok() || *value <= 0) continue;
      *at = corner;
      return Standing::kBroken;
    }
    return Standing::kOpen;
  }

  // Why a limit that is relative to the base compares nothing; "" of any other.
  std::string WhyIncomparable(const BudgetRule& rule, const BudgetLimit& limit) const {
    if (limit.kind != BudgetLimit::Kind::kRelative) return "";
    const std::string other_work = diff::WhyOtherWork(diff_);
    if (!other_work.empty()) return absl::StrCat("the base is of another size: ", other_work);
    const bool is_time = rule.quantity->unit == Quantity::Unit::kSeconds;
    const std::string other_times = is_time ? diff::WhyOtherTimes(diff_) : "";
    return other_times.empty() ? ""
                               : absl::StrCat("the times are of unequal devices: ", other_times);
  }

  void JudgeLimit(const BudgetRule& rule, const ModuleDiff& m, Judgement* judgement) const {
    const Expr excess = Excess(rule, rule.limit, m);
    Bindings at;
    const Standing standing = StandingOf(excess, &at);
    std::string incomparable = WhyIncomparable(rule, rule.limit);
    if (!incomparable.empty()) {
      judgement->actual = ActualText(rule, m, at);
      judgement->verdict = Verdict::kNotProven;
      judgement->detail = std::move(incomparable);
      return;
    }
    DescribeActual(rule, m, at, judgement);
    const Known head = HeadKnown(m, *rule.quantity), limit = LimitKnown(rule, m);
    // Exceeding a lower bound of the base (or of a divisor) proves nothing: the true one is larger.
    const bool is_proven =
        limit == Known::kExact || (budgets_.lower_bounds_pass && limit == Known::kAtLeast);
    // A figure within a lower bound of the limit is within the limit.
    const bool holds_anyhow =
        standing == Standing::kHolds && head == Known::kExact && limit == Known::kAtLeast;
    if (standing == Standing::kBroken && is_proven) {
      judgement->verdict = Verdict::kFailed;
      judgement->detail = MissingUnit(rule, *judgement);
    } else if (standing == Standing::kOpen) {
      judgement->verdict = Verdict::kNotProven;
      judgement->detail =
          absl::StrCat("depends on ", OpenSymbols(excess),
                       WithSettings(": give it a size with {dim}, or a range in [at]"));
    } else if (head == Known::kNothing || limit == Known::kNothing ||
               ((head != Known::kExact || limit != Known::kExact) && !holds_anyhow &&
                !budgets_.lower_bounds_pass)) {
      judgement->verdict = Verdict::kNotProven;
      judgement->detail = WhyOpen(rule, m);
    } else if (rule.warn && WhyIncomparable(rule, *rule.warn).empty() &&
               StandingOf(Excess(rule, *rule.warn, m), &at) != Standing::kHolds) {
      judgement->verdict = Verdict::kWarned;
      judgement->detail = absl::StrCat("above ", rule.warn->text);
    } else if (!holds_anyhow && (head != Known::kExact || limit != Known::kExact)) {
      judgement->detail = WhyOpen(rule, m);  // the budgets let it pass
    }
  }

  std::string OpenSymbols(const Expr& expr) const {
    std::vector<std::string> names;
    for (const std::string& name : expr.Symbols()) {
      if (!ranges_.contains(name) && names.size() < kListedNames) names.push_back(name);
    }
    return names.empty() ? "sizes in a way that no bound is known of" : absl::StrJoin(names, ", ");
  }

  std::string ActualText(const BudgetRule& rule, const ModuleDiff& m, const Bindings& at) const {
    const Expr head = HeadOf(m, *rule.quantity).Substitute(at);
    const Known known = HeadKnown(m, *rule.quantity);
    if (rule.per == nullptr) {
      if (head.is_literal()) return KnownText(known, FigureText(head.literal(), *rule.quantity));
      // Where the sizes of the largest figure were not found, a bound may be known.
      const std::optional<Largest> largest = LargestValue(head, ranges_);
      if (largest && known == Known::kExact) {
        return KnownText(Known::kAtMost, FigureText(largest->value, *rule.quantity));
      }
      return KnownText(known, FormulaCell(head, *rule.quantity));
    }
    const Expr per = HeadOf(m, *rule.per).Substitute(at);
    if (!head.is_literal() || !per.is_literal()) return "depends on sizes";
    return KnownText(KnownOfChange(LimitKnown(rule, m), known),
                     PercentText(head.literal(), per.literal(), /*sign=*/false));
  }

  void DescribeActual(const BudgetRule& rule, const ModuleDiff& m, const Bindings& at,
                      Judgement* judgement) const {
    judgement->actual = ActualText(rule, m, at);
    const Expr head = HeadOf(m, *rule.quantity).Substitute(at);
    const Known known = HeadKnown(m, *rule.quantity);
    judgement->lower_bound = known != Known::kExact;
    if (!head.is_literal()) return;
    absl::int128 limit = rule.limit.value;
    if (rule.limit.kind == BudgetLimit::Kind::kRelative) {
      const Expr base = BaseOf(m, *rule.quantity).Substitute(at);
      if (!base.is_literal() || base.literal() > absl::Int128Max() / rule.limit.whole / 1000)
        return;
      limit = base.literal() * (rule.limit.whole + rule.limit.value) / rule.limit.whole;
      const Known base_known = BaseKnown(m, *rule.quantity);
      DescribeGrowth(head.literal(), known, base.literal(), base_known, judgement);
      if (base_known != Known::kExact) return;
    } else if (rule.limit.kind == BudgetLimit::Kind::kRatio) {
      return;
    }
    judgement->limit_value = limit;
    if (known == Known::kNothing) return;
    judgement->actual_value = head.literal();
    judgement->margin_hundredths = Hundredths(limit - head.literal(), limit);
    const std::string margin = PercentText(limit - head.literal(), limit, /*sign=*/true);
    judgement->margin = KnownText(known == Known::kExact ? known : Known::kAtMost, margin);
  }

  // "the limit is 17 MAC; if its unit is missing, write "17 GMAC"", where the figure is 1000 times
  // the limit or more.
  static std::string MissingUnit(const BudgetRule& rule, const Judgement& judgement) {
    const absl::int128 limit = rule.limit.value, figure = judgement.actual_value.value_or(0);
    const bool has_amount = rule.limit.kind == BudgetLimit::Kind::kAbsolute && limit > 0;
    if (!has_amount || rule.quantity->unit == Quantity::Unit::kSeconds || figure / limit < 1000 ||
        figure > absl::Int128Max() / 1000) {
      return "";
    }
    // The prefix that brings the limit nearest to the figure.
    absl::int128 meant = limit;
    while (meant <= figure / 30) meant *= 1000;
    const std::string text = check::LimitTextFor(meant, *rule.quantity);
    return absl::StrCat("the limit is ", check::LimitTextFor(limit, *rule.quantity),
                        "; if its unit is missing, write \"", text, "\"");
  }

  // Sets the base and, if both figures are exact, the growth.
  static void DescribeGrowth(absl::int128 head, Known head_known, absl::int128 base,
                             Known base_known, Judgement* judgement) {
    judgement->base_value = base;
    const std::string base_text = KnownText(base_known, FigureText(base, *judgement->quantity));
    if (head_known == Known::kExact && base_known == Known::kExact) {
      judgement->growth_hundredths = Hundredths(head - base, base);
    }
    if (!judgement->growth_hundredths) {
      judgement->actual = absl::StrCat(judgement->actual, " (base ", base_text, ")");
      return;
    }
    judgement->growth = PercentText(head - base, base, /*sign=*/true);
    judgement->actual =
        absl::StrCat(judgement->growth, " (", judgement->actual, ", base ", base_text, ")");
  }

  const Budgets& budgets_;
  const Diff& diff_;
  SizeRanges ranges_;
};

std::string SizesText(const BudgetSizes* sizes) {
  if (sizes == nullptr) return "";
  std::vector<std::string> texts;
  for (const auto& [name, size] : sizes->fixed) texts.push_back(absl::StrCat(name, " = ", size));
  for (const auto& [name, range] : sizes->ranges) {
    texts.push_back(absl::StrCat(name, " = ", range.first, "..", range.last));
  }
  return absl::StrJoin(texts, ", ");
}

// "batch = 2": the sizes that one of the models fixes.
std::string EqualSizesText(const Diff& equal) {
  std::vector<std::string> texts;
  for (const UnequalSize& size : equal.made_equal) {
    std::string text = absl::StrCat(size.symbol, " = ", size.fixed);
    if (!absl::c_linear_search(texts, text)) texts.push_back(std::move(text));
  }
  return absl::StrJoin(texts, ", ");
}

// The modules of the head that match, by the ends of their paths if none
// matches as a whole. If a match contains another, only the outer one counts.
std::vector<const ModuleDiff*> ModulesOf(const Diff& diff, const std::string& glob) {
  std::vector<const ModuleDiff*> found;
  const bool exact = std::any_of(diff.modules.begin(), diff.modules.end(), [&](const auto& m) {
    return !m.own && m.parent >= 0 && MatchesGlob(glob, m.path);
  });
  for (size_t i = 0; i < diff.modules.size();) {
    const ModuleDiff& m = diff.modules[i];
    const bool gone = m.status == DiffStatus::kGone || m.status == DiffStatus::kMovedAway;
    if (!gone && !m.own && m.parent >= 0 && MatchesPath(glob, m.path, exact)) {
      found.push_back(&m);
      i = static_cast<size_t>(m.end);
    } else {
      ++i;
    }
  }
  return found;
}

Judgement NoSuchModule(const Diff& diff, const BudgetRule& rule) {
  std::vector<std::string> paths;
  for (const ModuleDiff& m : diff.modules) {
    if (m.parent >= 0 && !m.own && paths.size() < kMaxBudgets) paths.push_back(m.path);
  }
  Judgement judgement = RuleJudge::Begin(rule);
  judgement.kind = "amount";
  judgement.verdict = Verdict::kFailed;
  judgement.where = *rule.module;
  judgement.names_module = true;
  judgement.limit = rule.limit.text;
  judgement.actual = "-";
  judgement.detail = absl::StrCat("no ", diff.noun, " matches", DidYouMean(*rule.module, paths));
  return judgement;
}

void ApplyExceptions(const Budgets& budgets, absl::string_view today, Judgement* judgement) {
  if (judgement->passed()) return;
  for (const BudgetException& exception : budgets.exceptions) {
    if (!MatchesGlob(exception.rule, judgement->rule)) continue;
    const bool valid = today <= exception.until;
    if (valid) judgement->verdict = Verdict::kAllowed;
    absl::StrAppend(&judgement->detail, judgement->detail.empty() ? "" : "; ",
                    valid ? "allowed until " : "was allowed until ", exception.until, ": ",
                    exception.reason);
    if (valid) return;
  }
}

absl::Status RequireFew(const CheckReport& report) {
  if (report.judgements.size() <= kMaxJudgements) return absl::OkStatus();
  return LimitError("budgets", absl::StrCat(Escaped(report.budgets), ": more than ", kMaxJudgements,
                                            " verdicts (budgets)"));
}

}  // namespace

absl::string_view NameOf(Verdict verdict) {
  constexpr absl::string_view kNames[] = {"passed",     "warned", "skipped", "allowed",
                                          "not_proven", "failed", "error"};
  return kNames[static_cast<size_t>(verdict)];
}

Judgement UnlistedModel(const Budgets& budgets) {
  Judgement judgement;
  judgement.rule = judgement.kind = "unlisted";
  judgement.actual = "-";
  judgement.detail = "no rule applies to this model";
  judgement.verdict = budgets.unlisted_fails ? Verdict::kFailed : Verdict::kSkipped;
  judgement.place = budgets.unlisted_fails.value_or(BudgetPlace());
  return judgement;
}

Judgement ModelError(const absl::Status& status) {
  Judgement judgement;
  judgement.rule = judgement.kind = "error";
  judgement.actual = "-";
  judgement.detail = std::string(status.message());
  judgement.verdict = Verdict::kError;
  return judgement;
}

absl::Status AddReport(CheckReport part, CheckReport* report) {
  if (part.budgets != report->budgets) {
    for (Judgement& judgement : part.judgements) judgement.budgets = part.budgets;
  }
  absl::c_move(part.judgements, std::back_inserter(report->judgements));
  absl::c_move(part.models, std::back_inserter(report->models));
  report->has_base = part.has_base;
  report->base = std::move(part.base);
  report->head = std::move(part.head);
  return RequireFew(*report);
}

bool CheckReport::passed() const {
  return std::all_of(judgements.begin(), judgements.end(),
                     [](const Judgement& j) { return j.passed(); });
}

int64_t CheckReport::Count(Verdict verdict) const {
  return std::count_if(judgements.begin(), judgements.end(),
                       [&](const Judgement& j) { return j.verdict == verdict; });
}

namespace {

bool MatchesPathOrEnd(absl::string_view models, absl::string_view path) {
  if (models.empty() || MatchesGlob(models, path)) return true;
  for (size_t slash = path.find('/'); slash != absl::string_view::npos;) {
    path.remove_prefix(slash + 1);
    if (MatchesGlob(models, path)) return true;
    slash = path.find('/');
  }
  return false;
}

}  // namespace

bool IsForModel(absl::string_view models, absl::string_view path) {
  absl::ConsumePrefix(&models, "./");
  absl::ConsumeSuffix(&models, "/");
  while (absl::ConsumeSuffix(&path, "/.") || absl::ConsumeSuffix(&path, "/")) continue;
  if (MatchesPathOrEnd(models, path)) return true;
  // "a/pipeline.toml" is the pipeline of the folder a.
  return absl::ConsumeSuffix(&path, kPipelineFile) && absl::ConsumeSuffix(&path, "/") &&
         MatchesPathOrEnd(models, path);
}

absl::Status Judge(const Budgets& budgets, const BudgetSizes* sizes, const Diff& diff,
                   absl::string_view today, FiguresOfRule figures, CheckReport* report,
                   const Diff* equal) {
  const RuleJudge as_asked(budgets, sizes, diff);
  const RuleJudge at_equal(budgets, sizes, equal != nullptr ? *equal : diff);
  for (const BudgetRule& rule : budgets.rules) {
    if (!IsForModel(rule.models, diff.head.path)) continue;
    const bool moved = equal != nullptr && rule.kind == BudgetRule::Kind::kQuantity &&
                       rule.limit.kind == BudgetLimit::Kind::kRelative;
    const std::string at = moved ? EqualSizesText(*equal) : SizesText(sizes);
    const auto add = [&](Judgement judgement) {
      judgement.at = at;
      ApplyExceptions(budgets, today, &judgement);
      report->judgements.push_back(std::move(judgement));
    };
    const RuleJudge& judge = moved ? at_equal : as_asked;
    const Diff& judged = moved ? *equal : diff;
    if (rule.kind == BudgetRule::Kind::kOpset) {
      add(judge.OfOpset(rule));
    } else if (rule.kind == BudgetRule::Kind::kFixed) {
      add(judge.OfFixed(rule));
    } else if (rule.kind == BudgetRule::Kind::kMfu || rule.kind == BudgetRule::Kind::kProfile) {
      for (Judgement& judgement : judge.OfAchieved(rule, figures)) add(std::move(judgement));
    } else if (rule.kind != BudgetRule::Kind::kQuantity) {
      add(judge.OfNames(rule));
    } else if (!rule.module) {
      add(judge.OfQuantity(rule, judged.modules[0]));
    } else {
      const std::vector<const ModuleDiff*> modules = ModulesOf(judged, *rule.module);
      if (modules.empty()) add(NoSuchModule(judged, rule));
      for (const ModuleDiff* m : modules) add(judge.OfQuantity(rule, *m));
    }
    RETURN_IF_ERROR(RequireFew(*report));
  }
  return absl::OkStatus();
}

}  // namespace onnxflops
