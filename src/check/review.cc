// How it works. A review is a comment in Markdown. The first line that is shown is the
// verdict, since many read no more. The table below has a row for each model that needs attention,
// the worst first: errors, failures, changes, new models, then removed ones. The details of each
// model are folded.
//
// A comment may have at most kMaxCommentBytes. The table gets a third of them. Each model in turn
// then gets an equal share of the rest, so space that one model does not use goes to the next. Text
// that does not fit is left out, and a line at the end says so. Since the worst come first, the
// least important text is cut.
#include "src/check/review.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/check/check_writers.h"
#include "src/check/verdict_text.h"
#include "src/diff/comment.h"
#include "src/diff/diff_parts.h"
#include "src/diff/diff_rows.h"
#include "src/render/format.h"
#include "src/render/text_table.h"

namespace onnxflops {
namespace {

using report::MarkdownCode;

constexpr size_t kMaxTableBytes = kMaxCommentBytes / 3;
constexpr size_t kRoomOfScript = 2000;
constexpr size_t kMostIdle = 20;
constexpr char kMarker[] = "<!-- onnxflops:review -->\n";
constexpr char kLeftOut[] = "\nWhat did not fit is left out: onnxflops check prints all of it.\n";

int64_t RulesOf(const CheckReport& check) {
  return absl::c_count_if(check.judgements, [](const Judgement& j) { return j.is_rule(); });
}

// How many rules failed or are not proven.
int64_t FailuresOf(const CheckReport& check) {
  return absl::c_count_if(check.judgements,
                          [](const Judgement& j) { return j.is_rule() && !j.passed(); });
}

// True if the model fails: by a rule, or because it has none.
bool Fails(const CheckReport& check) {
  return check.Count(Verdict::kFailed) + check.Count(Verdict::kNotProven) > 0;
}

int64_t Count(const CheckReport& check, Verdict verdict) {
  return absl::c_count_if(check.judgements,
                          [&](const Judgement& j) { return j.is_rule() && j.verdict == verdict; });
}

bool HasError(const ReviewedModel& model) { return !model.is_gone && !model.diff; }
bool IsNew(const ReviewedModel& model) {
  return !model.is_gone && model.diff && !model.diff->has_base;
}
bool HasChanged(const ReviewedModel& model) {
  return !model.is_gone && model.diff && model.diff->has_base &&
         (!model.diff->IsEmpty() || !model.renamed_from.empty());
}

// True if the model needs a row.
bool IsShown(const ReviewedModel& model) {
  return model.is_gone || HasError(model) || IsNew(model) || HasChanged(model) ||
         Fails(model.check) || Count(model.check, Verdict::kWarned) > 0 ||
         Count(model.check, Verdict::kAllowed) > 0;
}

// The growth of the FLOPs, at the sizes that are shown.
absl::int128 GrowthOf(const ReviewedModel& model) {
  if (!HasChanged(model)) return 0;
  const Expr change = model.diff->modules[0].Change(kQuantities[0]);
  return diff::ShownValue(*model.diff, change).value_or(0);
}

// Errors, then failures, then changes with the largest growth first, then new models, then removed
// ones.
std::vector<const ReviewedModel*> WorstFirst(const Review& review) {
  std::vector<const ReviewedModel*> shown;
  for (const ReviewedModel& model : review.models) {
    if (IsShown(model)) shown.push_back(&model);
  }
  const auto rank = [](const ReviewedModel& model) {
    if (model.is_gone) return 4;
    return HasError(model) ? 0 : Fails(model.check) ? 1 : IsNew(model) ? 3 : 2;
  };
  absl::c_stable_sort(shown, [&](const ReviewedModel* a, const ReviewedModel* b) {
    return std::pair(rank(*a), -GrowthOf(*a)) < std::pair(rank(*b), -GrowthOf(*b));
  });
  return shown;
}

// True if the cost of the new model is only partly known.
bool HasUnknownCost(const ReviewedModel& model) {
  return model.diff && model.diff->modules[0].head_lower_bound;
}

// The verdicts on all models, counted.
std::vector<std::string> VerdictParts(const Review& review, const std::string& models) {
  int64_t rules = 0, failures = 0, open = 0, failed_models = 0, unlisted = 0, free = 0, allowed = 0,
          skipped = 0, near = 0, lost = 0;
  for (const ReviewedModel& model : review.models) {
    lost += model.loses_budgets ? 1 : 0;
    rules += RulesOf(model.check);
    failures += FailuresOf(model.check);
    open += Count(model.check, Verdict::kNotProven);
    failed_models += FailuresOf(model.check) > 0 ? 1 : 0;
    unlisted += Fails(model.check) && RulesOf(model.check) == 0 ? 1 : 0;
    const bool moved = IsNew(model) || HasChanged(model);
    free += review.has_budgets && moved && !Fails(model.check) && RulesOf(model.check) == 0 ? 1 : 0;
    allowed += Count(model.check, Verdict::kAllowed);
    skipped += Count(model.check, Verdict::kSkipped);
    near += Count(model.check, Verdict::kWarned);
  }
  std::vector<std::string> parts;
  if (rules == 0 && free > 0) return {"no budget applies to any model"};
  const int64_t held = rules - failures - allowed - skipped;
  if (unlisted > 0) parts.push_back(absl::StrCat("no budget for ", Plural(unlisted, "model")));
  if (failures > 0) {
    parts.push_back(absl::StrCat(failures, " of ", Plural(rules, "budget"), " failed in ",
                                 failed_models, " of ", models,
                                 open > 0 ? absl::StrCat(", ", open, " of them not proven") : ""));
  } else if (held > 0) {
    parts.push_back(held == rules && rules > 1 && !absl::c_any_of(review.models, HasError)
                        ? absl::StrCat("all ", rules, " budgets hold")
                        : absl::StrCat(Plural(held, "budget"), held == 1 ? " holds" : " hold"));
  }
  if (unlisted == 0 && free > 0) {
    parts.push_back(absl::StrCat("no budget for ", Plural(free, "model")));
  }
  if (lost > 0) {
    parts.push_back(absl::StrCat("budgets lost by renaming ", Plural(lost, "model")));
  }
  if (allowed > 0) parts.push_back(absl::StrCat(allowed, " allowed by exceptions"));
  if (skipped > 0) parts.push_back(absl::StrCat(skipped, " not judged"));
  if (near > 0) parts.push_back(absl::StrCat(near, " near the limit"));
  return parts;
}

// True if the file differs but not the cost: from another exporter, for example, or of another
// opset.
bool IsOnlyAnotherFile(const ReviewedModel& model) {
  const Diff& diff = *model.diff;
  return diff.has_base && !diff.lower_bound && !diff.IsEmpty() && diff.fixed_axes.empty() &&
         absl::c_all_of(diff.quantities,
                        [&](const Quantity* q) { return diff.modules[0].Change(*q).is_zero(); });
}

// True if the change fixes sizes that were open.
bool FixesSizes(const ReviewedModel& model) {
  return !model.is_gone && model.diff &&
         absl::c_any_of(model.diff->fixed_axes,
                        [](const UnequalSize& size) { return !size.open_in_head; });
}

// "**onnxflops: 3 of 41 budgets failed in 2 of 8 models; 5 models changed**".
std::string Headline(const Review& review) {
  int64_t errors = 0, changed = 0, fresh = 0, renamed = 0, both = 0, gone = 0, fixed = 0;
  for (const ReviewedModel& model : review.models) {
    const bool is_renamed = !model.renamed_from.empty() && HasChanged(model);
    const bool is_changed = HasChanged(model) && !model.diff->IsEmpty();
    errors += HasError(model) ? 1 : 0;
    changed += is_changed && !is_renamed ? 1 : 0;
    renamed += is_renamed && !is_changed ? 1 : 0;
    both += is_renamed && is_changed ? 1 : 0;
    fixed += FixesSizes(model) ? 1 : 0;
    fresh += IsNew(model) ? 1 : 0;
    gone += model.is_gone ? 1 : 0;
  }
  const std::string models = Plural(static_cast<int64_t>(review.models.size()) - gone, "model");
  std::vector<std::string> parts;
  if (errors > 0) parts.push_back(absl::StrCat("error in ", errors, " of ", models));
  const int64_t unknown = absl::c_count_if(review.models, [](const ReviewedModel& model) {
    return (IsNew(model) || HasChanged(model)) && HasUnknownCost(model);
  });
  if (unknown > 0) parts.push_back(absl::StrCat("FLOPs not known in ", Plural(unknown, "model")));
  for (std::string& part : VerdictParts(review, models)) parts.push_back(std::move(part));
  if (changed > 0) parts.push_back(absl::StrCat(Plural(changed, "model"), " changed"));
  if (both > 0) parts.push_back(absl::StrCat(Plural(both, "model"), " renamed and changed"));
  if (renamed > 0) parts.push_back(absl::StrCat(Plural(renamed, "model"), " renamed"));
  if (fixed > 0) parts.push_back(absl::StrCat("open sizes now fixed in ", Plural(fixed, "model")));
  if (fresh > 0) parts.push_back(Plural(fresh, "new model"));
  if (gone > 0) parts.push_back(absl::StrCat(Plural(gone, "model"), " gone"));
  if (!review.idle_budgets.empty()) {
    parts.push_back(absl::StrCat("budgets of ",
                                 Plural(static_cast<int64_t>(review.idle_budgets.size()), "name"),
                                 " without a model"));
  }
  if (errors + changed + fresh + renamed + both + gone == 0)
    parts.emplace_back("no model changed its cost");
  return absl::StrCat("**onnxflops: ", absl::StrJoin(parts, "; "), "**\n");
}

// Without the model's name, which has its own cell.
std::string ErrorOf(const ReviewedModel& model) {
  absl::string_view text = model.check.judgements[0].detail;
  if (absl::ConsumePrefix(&text, model.path)) absl::ConsumePrefix(&text, ": ");
  return report::MarkdownCell(text);
}

// "failed: FLOPs, params; not proven: peak activations"; "" if nothing did.
std::string FailuresInWords(const CheckReport& check) {
  constexpr size_t kMostNames = 4;
  std::vector<std::string> parts;
  for (const auto& [verdict, words] :
       {std::pair(Verdict::kFailed, "failed: "), std::pair(Verdict::kNotProven, "not proven: ")}) {
    std::vector<std::string> names;
    for (const Judgement& j : check.judgements) {
      if (!j.is_rule() || j.verdict != verdict) continue;
      std::string name(j.quantity != nullptr ? j.quantity->title : absl::string_view(j.kind));
      if (!absl::c_linear_search(names, name)) names.push_back(std::move(name));
    }
    if (names.empty()) continue;
    const size_t more = names.size() - std::min(names.size(), kMostNames);
    names.resize(names.size() - more);
    parts.push_back(absl::StrCat(words, absl::StrJoin(names, ", "),
                                 more > 0 ? absl::StrCat(" and ", more, " more") : ""));
  }
  return absl::StrJoin(parts, "; ");
}

std::string VerdictOf(const ReviewedModel& model) {
  if (model.is_gone) return "-";
  if (HasError(model)) return ErrorOf(model);
  const int64_t rules = RulesOf(model.check);
  if (FailuresOf(model.check) > 0) return FailuresInWords(model.check);
  if (rules == 0) return Fails(model.check) ? "failed" : "no budget";
  if (Count(model.check, Verdict::kAllowed) > 0) return "allowed";
  if (Count(model.check, Verdict::kWarned) > 0) return "warned";
  if (Count(model.check, Verdict::kSkipped) == rules) return "skipped";
  return HasUnknownCost(model) ? "passed, FLOPs not known" : "passed";
}

// "`batch` fixed at 2; `image` now open": the sizes that only one of the models leaves open.
std::string FixedInWords(const Diff& diff) {
  std::vector<std::string> fixed, open;
  for (const UnequalSize& size : diff.fixed_axes) {
    std::vector<std::string>& names = size.open_in_head ? open : fixed;
    std::string name = report::MarkdownCode(size.symbol);
    if (!size.open_in_head) absl::StrAppend(&name, " fixed at ", size.fixed);
    if (!absl::c_linear_search(names, name)) names.push_back(std::move(name));
  }
  std::vector<std::string> parts;
  if (!fixed.empty()) parts.push_back(absl::StrJoin(fixed, ", "));
  if (!open.empty()) parts.push_back(absl::StrCat(absl::StrJoin(open, ", "), " now open"));
  return absl::StrJoin(parts, "; ");
}

// The change of FLOPs and integer work together: "+14.2 %"; "" if it is not known.
std::string ChangeTogether(const Diff& diff) {
  const auto sum = [&](const Amounts& amounts) {
    return diff::ShownValue(diff, amounts.flops + amounts.int_ops);
  };
  const auto base = sum(*diff.modules[0].base), head = sum(*diff.modules[0].head);
  if (diff.lower_bound || !base || !head || *base == 0) return "";
  return absl::StrCat(diff::ChangePercent(*base, *head), " %");
}

// A figure in Markdown, which a narrow screen does not break before its unit.
std::string Unbroken(absl::string_view figure) {
  return absl::StrReplaceAll(figure, {{" ", "&nbsp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

// "8.2 G → 8.4 G", in Markdown.
std::string SidesOf(const diff::TotalTexts& texts) {
  std::vector<std::string> sides;
  for (const absl::string_view side : absl::StrSplit(texts.sides, " -> ")) {
    sides.push_back(Unbroken(side));
  }
  return absl::StrJoin(sides, " → ");
}

// Bytes of the parameters; empty if they changed by the same percentage as their number.
diff::TotalTexts BytesOfParams(const Diff& diff) {
  const diff::TotalTexts params = diff::TextsOf(diff, QuantityOf(&Amounts::params));
  const diff::TotalTexts bytes = diff::TextsOf(diff, QuantityOf(&Amounts::param_bytes));
  return diff.has_base && params.change != bytes.change ? bytes : diff::TotalTexts();
}

// "params +4.31 %", in Markdown: other quantities that have limits and changed, those that failed
// first. Only of the whole model; the details have modules.
std::vector<std::string> LimitedChanges(const ReviewedModel& model) {
  const Diff& diff = *model.diff;
  std::vector<const Quantity*> seen = {&kQuantities[0], &QuantityOf(&Amounts::int_ops)};
  if (!BytesOfParams(diff).change.empty()) seen.push_back(&QuantityOf(&Amounts::param_bytes));
  std::vector<std::string> changes;
  for (const bool failed : {true, false}) {
    for (const Judgement& j : model.check.judgements) {
      const bool listed = diff.has_base && j.quantity != nullptr && j.where.empty() &&
                          j.kind != "ratio" && failed != j.passed() &&
                          !absl::c_linear_search(seen, j.quantity);
      if (!listed) continue;
      seen.push_back(j.quantity);
      const diff::TotalTexts texts = diff::TextsOf(diff, *j.quantity);
      if (texts.change.empty()) continue;
      changes.push_back(absl::StrCat(j.quantity->title, " ", Unbroken(texts.change)));
    }
  }
  return changes;
}

// FLOPs before and after, and their change, in Markdown. Integer work is shown with them: work that
// moved from floats to integers is not saved.
std::array<std::string, 2> CostInWords(const ReviewedModel& model) {
  const Diff& diff = *model.diff;
  const Quantity& integers = QuantityOf(&Amounts::int_ops);
  const diff::TotalTexts flops = diff::TextsOf(diff, kQuantities[0]);
  std::string sides = SidesOf(flops);
  std::vector<std::string> changes;
  std::vector<std::string> limited = LimitedChanges(model);
  if (!flops.change.empty()) {
    changes.push_back(absl::StrCat(limited.empty() ? "" : "FLOPs ", Unbroken(flops.change)));
  }
  const diff::TotalTexts ints = diff::TextsOf(diff, integers);
  const bool are_known = !absl::StrContains(ints.sides, "unknown");
  if (diff.has_base && !ints.change.empty() && are_known) {
    absl::StrAppend(&sides, "; ", integers.title, " ", SidesOf(ints));
    const std::string together = ChangeTogether(diff);
    changes.push_back(together.empty()
                          ? absl::StrCat(integers.title, " ", Unbroken(ints.change))
                          : absl::StrCat("with ", integers.title, " ", Unbroken(together)));
  }
  const diff::TotalTexts bytes = BytesOfParams(diff);
  if (!bytes.change.empty()) {
    changes.push_back(
        absl::StrCat(QuantityOf(&Amounts::param_bytes).title, " ", Unbroken(bytes.change)));
  }
  absl::c_move(limited, std::back_inserter(changes));
  if (IsOnlyAnotherFile(model)) changes.emplace_back("same cost, other file");
  if (diff.IsEmpty() && !model.renamed_from.empty()) changes.emplace_back("renamed");
  if (!diff.other_inputs.empty()) changes.emplace_back("takes other inputs");
  const std::string sizes = FixedInWords(diff);
  if (!sizes.empty()) changes.push_back(sizes);
  return {std::move(sides), absl::StrJoin(changes, "; ")};
}

// Parameters, and their bytes where these changed otherwise, as by quantisation.
std::string ParamsInWords(const Diff& diff) {
  const diff::TotalTexts params = diff::TextsOf(diff, QuantityOf(&Amounts::params));
  const diff::TotalTexts bytes = BytesOfParams(diff);
  if (bytes.change.empty()) return SidesOf(params);
  return absl::StrCat(SidesOf(params), " (", SidesOf(bytes), ")");
}

// The peak of activations; of a pipeline, which has none, its memory.
std::string MemoryInWords(const Diff& diff) {
  const diff::TotalTexts memory = diff::TextsOf(diff, kPipelineMemory);
  if (memory.sides.empty()) return SidesOf(diff::TextsOf(diff, kPeakActivations));
  return absl::StrCat(kPipelineMemory.title, " ", SidesOf(memory));
}

// Verdict and change come first, because a narrow screen shows only these.
TextTable::Row RowOf(const ReviewedModel& model, bool has_verdicts) {
  TextTable::Row row;
  row.strong = HasError(model) || Fails(model.check);
  row.cells = {report::MarkdownCell(model.path)};
  if (has_verdicts) row.cells.push_back(VerdictOf(model));
  std::array<std::string, 4> figures = {model.is_gone ? "gone" : ""};
  if (model.diff) {
    const auto [flops, change] = CostInWords(model);
    figures = {model.is_gone ? "gone" : change, flops, ParamsInWords(*model.diff),
               MemoryInWords(*model.diff)};
  }
  row.cells.insert(row.cells.end(), figures.begin(), figures.end());
  return row;
}

std::string Table(const Review& review, const std::vector<const ReviewedModel*>& shown,
                  bool* complete) {
  const bool has_verdicts = review.has_budgets || absl::c_any_of(review.models, HasError);
  TextTable table;
  table.is_markdown = true;
  table.columns = {{"model"}};
  if (has_verdicts) table.columns.push_back({"verdict"});
  for (const absl::string_view title :
       {absl::string_view("change"), kQuantities[0].title, QuantityOf(&Amounts::params).title,
        kPeakActivations.title}) {
    table.columns.push_back({std::string(title), true});
  }
  for (const ReviewedModel* model : shown) table.rows.push_back(RowOf(*model, has_verdicts));
  std::string text = DrawMarkdown(table);
  while (text.size() > kMaxTableBytes && table.rows.size() > 1) {
    *complete = false;
    table.rows.resize(std::max<size_t>(table.rows.size() * kMaxTableBytes / text.size(), 1));
    text = DrawMarkdown(table);
  }
  return absl::StrCat("\n", text);
}

// True if models have different files of budgets.
bool HasSeveralBudgets(const Review& review) {
  return absl::c_any_of(review.models, [&](const ReviewedModel& model) {
    return model.check.budgets != review.models[0].check.budgets;
  });
}

// The sizes that the rules of a pipeline are judged at, if [at] gives other ones than its file.
std::string SizesOfRules(const ReviewedModel& model) {
  std::vector<std::string> sizes;
  if (!model.pipeline) return "";
  for (const Judgement& j : model.check.judgements) {
    if (!j.at.empty() && !absl::c_linear_search(sizes, j.at)) sizes.push_back(j.at);
  }
  return absl::StrJoin(sizes, "; ");
}

// A model's own part: failures, then changes.
std::string PartOf(const ReviewedModel& model, const Review& review, size_t room, bool* complete) {
  std::string out = absl::StrCat("\n", CommentTitle(*model.diff));
  const char* gap = "\n";
  const auto add = [&](const std::string& text) {
    absl::StrAppend(&out, gap, "- ", MarkdownCode(text), "\n");
    gap = "";
  };
  if (!model.renamed_from.empty()) add(absl::StrCat("renamed from ", model.renamed_from));
  if (model.loses_budgets) {
    add(absl::StrCat("its budgets are for ", model.renamed_from,
                     ": unless they change too, none is for it after the merge"));
  }
  for (const FactDiff& fact : model.diff->facts) {
    if (fact.name == "producer" || fact.name == "opset ai.onnx") {
      add(absl::StrCat(fact.name, ": ", fact.base.value_or("none"), " -> ",
                       fact.head.value_or("none")));
    }
  }
  if (const std::string sizes = SizesOfRules(model); !sizes.empty()) {
    add(absl::StrCat("budgets are judged at ", sizes, ", the change at the numbers of the file"));
  }
  if (HasSeveralBudgets(review) && !model.check.budgets.empty()) {
    add(absl::StrCat("held to ", model.check.budgets));
  }
  for (const bool failed : {true, false}) {
    for (Judgement j : model.check.judgements) {
      j.model.clear();  // the line above names it
      const bool listed =
          failed ? !j.passed() : j.verdict == Verdict::kWarned || j.verdict == Verdict::kAllowed;
      if (listed && out.size() < room / 2) {
        add(absl::StrCat(check::SubjectOf(j), ": ", check::MessageOf(j)));
      } else if (listed) {
        *complete = false;
      }
    }
  }
  const diff::TotalTexts time = diff::TextsOf(*model.diff, QuantityOf(&Amounts::time_bound));
  if (!time.change.empty()) {
    add(absl::StrCat("time bound on ", model.device, ": ", time.sides, ", ", time.change));
  }
  if (out.size() > room) {
    *complete = false;
    return "";
  }
  room -= out.size();
  const std::string details =
      model.pipeline ? CommentDetails(*model.pipeline, review.view.exact, room, complete)
                     : CommentDetails(*model.diff, review.view, room, complete);
  // The details may begin with a list. It continues the list above.
  absl::string_view rest = details;
  if (*gap == '\0' && absl::StartsWith(rest, "\n- ")) rest.remove_prefix(1);
  return absl::StrCat(out, rest);
}

}  // namespace

std::string ToComment(const Review& review) {
  const std::vector<const ReviewedModel*> shown = WorstFirst(review);
  bool complete = true;
  std::string out = absl::StrCat(kMarker, Headline(review));
  const char* gap = "\n";
  for (size_t i = 0; i < std::min(review.idle_budgets.size(), kMostIdle); ++i) {
    absl::StrAppend(&out, gap, "- ", MarkdownCode(review.idle_budgets[i]), "\n");
    gap = "";
  }
  if (shown.empty()) return out;
  out += Table(review, shown, &complete);
  const auto others = static_cast<int64_t>(review.models.size() - shown.size());
  if (others > 0) absl::StrAppend(&out, "\n", Plural(others, "model"), " did not change.\n");
  constexpr size_t kMost = kMaxCommentBytes - kRoomOfScript - sizeof(kLeftOut);
  std::vector<const ReviewedModel*> parts;
  for (const ReviewedModel* model : shown) {
    if (!HasError(*model) && !model->is_gone) parts.push_back(model);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t share = (kMost - std::min(kMost, out.size())) / (parts.size() - i);
    out += PartOf(*parts[i], review, share, &complete);
  }
  if (!complete) out += kLeftOut;
  return out;
}

}  // namespace onnxflops
