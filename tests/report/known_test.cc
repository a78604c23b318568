// How far a figure is known is said by every writer that has it: each is fed with figures of every
// standing.
#include "src/render/known.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "src/check/budgets.h"
#include "src/check/check_writers.h"
#include "src/check/ci_formats.h"
#include "src/check/judge.h"
#include "src/compare/compare_report.h"
#include "src/diff/comment.h"
#include "src/diff/diff_writers.h"
#include "src/estimate/estimate_report.h"
#include "src/mfu/mfu_report.h"
#include "src/onnxflops.h"
#include "src/report/model_rows.h"
#include "src/report/summary.h"
#include "src/report/viewer_formats.h"
#include "src/sweep/sweep_report.h"
#include "tests/model_text.h"

namespace onnxflops::known_test {
namespace {

using report::Known;
using report::KnownOf;
using report::KnownOfChange;
using report::KnownText;
using testing::HasSubstr;
using testing::Not;

constexpr int kOpset = 20;

// A product of 1,500 x 2 x 2 = 6,000 MACs, and nodes that have no rule.
const char* const kExact =
    "g (float[1500,2] x, float[2,2] w) => (float[1500,2] y) { y = MatMul(x, w) }";
const char* const kInPart =
    "g (float[1500,2] x, float[2,2] w) => (float[1500,2] y, float[A] z) { y = MatMul(x, w) "
    "z = made.up.Unruly(y) }";
const char* const kUnknown = "g (float[1500,2] x) => (float[A] z) { z = made.up.Unruly(x) }";
// At most 3,000 rows; 1 is assumed.
const char* const kRange =
    "g (float[1500,2] x, float[2,2] w) => (float[A,2] z) { i = NonZero(x) j = Transpose(i) "
    "k = Cast<to=1>(j) z = MatMul(k, w) }";

Report CountGraph(const std::string& graph) {
  absl::StatusOr<Report> report = Count(ModelFromText(graph, kOpset), {.node_rows = true});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *std::move(report) : Report();
}

TEST(KnownTest, Texts) {
  const Quantity &work = QuantityOf(&Amounts::flops), &weights = QuantityOf(&Amounts::params);
  EXPECT_EQ(KnownText(KnownOf(work, 5, false), "5"), "5");
  EXPECT_EQ(KnownText(KnownOf(work, 5, true), "5"), ">= 5");
  EXPECT_EQ(KnownText(KnownOf(work, 0, true), "0"), "unknown");
  EXPECT_EQ(KnownText(KnownOf(work, 0, false), "0"), "0");
  EXPECT_EQ(KnownText(KnownOf(weights, 0, true), "0"), "0");
  EXPECT_EQ(KnownText(Known::kAssumed, "5"), "5*");
}

// head - base, where at least one of them is a lower bound: from the definition of one.
TEST(KnownTest, Changes) {
  const Known e = Known::kExact, l = Known::kAtLeast, n = Known::kNothing;
  EXPECT_EQ(KnownOfChange(e, e), e);
  EXPECT_EQ(KnownOfChange(e, l), l);
  EXPECT_EQ(KnownOfChange(l, e), Known::kAtMost);
  EXPECT_EQ(KnownOfChange(l, l), Known::kCounted);
  // "At least 5 less" holds of any figure: only what a bound rules out is said.
  EXPECT_EQ(KnownOfChange(e, l, -5), Known::kNothing);
  EXPECT_EQ(KnownOfChange(e, l, 5), Known::kAtLeast);
  EXPECT_EQ(KnownOfChange(l, e, 5), Known::kNothing);
  EXPECT_EQ(KnownOfChange(l, e, -5), Known::kAtMost);
  EXPECT_EQ(KnownOfChange(l, l, -5), Known::kCounted);
  EXPECT_EQ(KnownOfChange(e, e, -5), e);
  for (const Known other : {e, l, n}) {
    EXPECT_EQ(KnownOfChange(n, other), n);
    EXPECT_EQ(KnownOfChange(other, n), n);
  }
}

// ---- every writer of a count

struct Writer {
  const char* name;
  std::string (*write)(const Report& report);
  // What it writes of 12,000 FLOPs: all; at least these; of none that are counted.
  const char *exact, *in_part, *unknown;
};

const Writer kWriters[] = {
    {"table", [](const Report& r) { return ToTable(r, {}); }, "FLOPs   12.00 k",
     "FLOPs   >= 12.00 k", "FLOPs   unknown"},
    {"by op", [](const Report& r) { return ToTable(r, {.by = GroupBy::kOp}); }, " 12.00 k",
     "unknown", "unknown"},
    {"markdown", [](const Report& r) { return ToMarkdown(r, {}); }, "| **12.00 k** |",
     "| **&gt;= 12.00 k** |", "| **unknown** |"},
    {"latex", [](const Report& r) { return DrawLatex(ToDocument(r, {})); }, "{12.00 k}",
     "{\\textgreater{}= 12.00 k}", "\\textbf{unknown}"},
    {"csv",
     [](const Report& r) {
       return ToCsv({&r, 1}, {});
     },
     ",12000,", ",true", ",,,,"},
    {"csv by op",
     [](const Report& r) {
       return ToCsv({&r, 1}, {.by = GroupBy::kOp});
     },
     ",false", ",,,,", ",true"},
    {"models",
     [](const Report& r) { return DrawText(ToDocument({{MakeModelRow(r)}}, ViewOptions())); },
     " 12.00 k", ">= 12.00 k", "unknown"},
    {"models csv", [](const Report& r) { return ToCsv({{MakeModelRow(r)}}); }, ",12000,6000,",
     ",true", ",,,,,"},
    {"json", [](const Report& r) { return ToJson(r); }, "\"lower_bound\": false",
     "\"value\": 12000", "\"flops\": {\"expr\": \"0\", \"value\": null}"},
    {"page", [](const Report& r) { return ToHtml(r, {}); }, "\"caveats\": []",
     "1 node is not counted (", "1 node is not counted ("},
    {"perfetto", [](const Report& r) { return ToPerfetto(r, {}); }, "FLOPs of",
     "(a part is not counted)", "(a part is not counted)"},
};

TEST(KnownTest, WritersOfCounts) {
  const Report exact = CountGraph(kExact), in_part = CountGraph(kInPart);
  const Report unknown = CountGraph(kUnknown);
  for (const Writer& writer : kWriters) {
    SCOPED_TRACE(writer.name);
    EXPECT_THAT(writer.write(exact), HasSubstr(writer.exact));
    EXPECT_THAT(writer.write(in_part), HasSubstr(writer.in_part));
    EXPECT_THAT(writer.write(unknown), HasSubstr(writer.unknown));
  }
}

// A range is shown where a size is assumed, also on the page.
TEST(KnownTest, Ranges) {
  const Report report = CountGraph(kRange);
  // By hand: 3,000 rows of 2 x 2 MACs.
  EXPECT_THAT(ToTable(report, {}), HasSubstr("at most 12.00 k"));
  EXPECT_THAT(ToJson(report), HasSubstr("\"at_most\""));
  // The page says it at the sizes that a reader gives.
  const std::string page = ToHtml(report, {});
  EXPECT_THAT(page, HasSubstr("\"inside\": \"1 size that depends on data\""));
  EXPECT_THAT(page, HasSubstr("\"at_most\": {\"expr\": \"12000\", \"value\": 12000}"));
}

// ---- comparisons, budgets

Diff DiffOf(const std::string& base, const std::string& head) {
  const Report of_base = CountGraph(base);
  absl::StatusOr<Diff> diff = MakeDiff(&of_base, CountGraph(head));
  EXPECT_TRUE(diff.ok()) << diff.status();
  return diff.ok() ? *std::move(diff) : Diff();
}

std::vector<std::string> TextsOf(const Diff& diff) {
  return {ToTable(diff, {}), ToMarkdown(diff, {}), ToComment(diff, {})};
}

TEST(KnownTest, WritersOfDiffs) {
  const struct {
    const char *base, *head, *text, *field;
  } cases[] = {
      {kExact, kInPart, ">= 12.00 k", "\"lower_bound\": true"},
      {kUnknown, kExact, "unknown", "\"lower_bound\": true"},
      {kUnknown, kUnknown, "nothing that is counted changed", "\"lower_bound\": true"},
      {kExact, kExact, "nothing changed", "\"lower_bound\": false"},
  };
  for (const auto& c : cases) {
    const Diff diff = DiffOf(c.base, c.head);
    for (std::string text : TextsOf(diff)) {
      text = absl::StrReplaceAll(text, {{"&gt;", ">"}});
      EXPECT_THAT(text, HasSubstr(c.text));
      EXPECT_EQ(absl::StrContains(text, "made.up.Unruly"), diff.lower_bound) << text;
      EXPECT_THAT(text, Not(HasSubstr("with equal FLOPs")));
    }
    EXPECT_THAT(ToJson(diff), HasSubstr(c.field));
    EXPECT_THAT(ToCsv(diff, {}), HasSubstr(diff.lower_bound ? ",true" : ",false"));
  }
}

CheckReport CheckOf(const std::string& graph, const std::string& limit) {
  Budgets budgets;
  EXPECT_TRUE(AddBudget(limit, &budgets).ok());
  const absl::StatusOr<Diff> diff = MakeDiff(nullptr, CountGraph(graph));
  EXPECT_TRUE(diff.ok()) << diff.status();
  CheckReport report;
  report.head = diff->head;
  const auto none = [](const BudgetRule&) -> absl::StatusOr<std::vector<AchievedFigure>> {
    return absl::InternalError("no rule asks for it");
  };
  EXPECT_TRUE(Judge(budgets, nullptr, *diff, "2027-01-15", none, &report).ok());
  return report;
}

TEST(KnownTest, WritersOfVerdicts) {
  const struct {
    const char *graph, *actual, *verdict;
  } cases[] = {{kExact, "12.00 kFLOP", "passed"},
               {kInPart, ">= 12.00 kFLOP", "not proven"},
               {kUnknown, "unknown", "not proven"}};
  for (const auto& c : cases) {
    const CheckReport report = CheckOf(c.graph, "flops=1 MFLOP");
    std::vector<std::string> texts = {DrawText(ToDocument(report)),
                                      DrawMarkdown(ToDocument(report)),
                                      ToCsv(report),
                                      ToJson(report),
                                      ToComment(report),
                                      ToJunit(report)};
    if (!report.passed()) {
      texts.push_back(ToSarif(report));
      texts.push_back(ToGithubAnnotations(report));
      texts.push_back(ToGitlab(report));
    }
    for (std::string text : texts) {
      text = absl::StrReplaceAll(text, {{"&gt;", ">"}, {"_", " "}});
      EXPECT_THAT(text, HasSubstr(c.actual));
      EXPECT_THAT(text, HasSubstr(c.verdict));
      EXPECT_EQ(absl::StrContains(text, "made.up.Unruly"), !report.passed()) << text;
      EXPECT_THAT(text, Not(HasSubstr("+100.00 %")));
    }
  }
}

// More than a limit is more, whatever is not counted; more than a base that is only a lower bound
// proves nothing.
TEST(KnownTest, ALowerBoundMayBreakALimit) {
  EXPECT_EQ(CheckOf(kInPart, "flops=10 kFLOP").judgements[0].verdict, Verdict::kFailed);
  EXPECT_EQ(CheckOf(kUnknown, "flops=10 kFLOP").judgements[0].verdict, Verdict::kNotProven);
}

// ---- figures of other tools

TEST(KnownTest, WritersOfComparisons) {
  const struct {
    const char *graph, *figure, *status;
  } cases[] = {{kExact, "macs  ", "exact"},
               {kInPart, "macs*", "assumed"},
               {kUnknown, "no figure: macs", "not_applicable"}};
  for (const auto& c : cases) {
    const absl::StatusOr<CompareReport> report =
        CompareTools(ModelFromText(c.graph, kOpset), {}, {.with = {"macs"}});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_THAT(ToTable(*report, /*waterfalls=*/false), HasSubstr(c.figure));
    EXPECT_THAT(ToMarkdown(*report, /*waterfalls=*/false),
                HasSubstr(std::string(absl::StripAsciiWhitespace(c.figure))));
    EXPECT_THAT(ToJson(*report), HasSubstr(c.status));
    EXPECT_THAT(ToCompareCsv(*report, /*waterfalls=*/false), HasSubstr(c.status));
    const std::vector<std::string> bounds =
        absl::StrSplit(DrawText(ToDocument({&*report, 1})), ">= 12.00 k");
    EXPECT_EQ(bounds.size(), c.graph == kInPart ? 3u : 1u);  // ours, and the tool's
  }
}

TEST(KnownTest, SweepsAndUtilisation) {
  for (const char* graph : {kExact, kInPart, kUnknown}) {
    SweepReport sweep;
    sweep.report = CountGraph(graph);
    sweep.points.push_back({{}, sweep.report.totals, {}, {}});
    const std::string text = ToTable(sweep, {});
    const Known known =
        KnownOf(kQuantities[0], sweep.report.totals.flops, sweep.report.totals.lower_bound);
    EXPECT_THAT(text, HasSubstr(KnownText(known, "12.00 k")));
    MfuReport mfu;
    mfu.lower_bound = sweep.report.totals.lower_bound;
    mfu.training_flops = sweep.report.totals.flops.literal();
    EXPECT_THAT(DrawText(ToDocument(mfu)), HasSubstr(KnownText(known, "12.00 k")));
  }
}

}  // namespace
}  // namespace onnxflops::known_test
