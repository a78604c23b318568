// Budgets: what is said of a model, and how it is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/api/diff.h"
#include "src/base/limits.h"
#include "src/check/budgets.h"
#include "src/check/check_writers.h"
#include "src/check/ci_formats.h"
#include "src/check/edit_budgets.h"
#include "src/check/judge.h"
#include "src/check/verdict_text.h"
#include "src/diff/comment.h"
#include "tests/model_maker.h"
#include "tests/model_text.h"

namespace onnxflops::check_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ---- verdicts. The model: `wide` rows of 8 x 16 in a, of 16 x 4 in b; 128 + 64 MACs a row.

ModelMaker TwoLayers(const std::string& batch) {
  ModelMaker make;
  make.Input("x", {batch, "8"}).Weight("a.weight", {8, 16}).Weight("b.weight", {16, 4});
  make.Node("/a/MatMul", "MatMul", {"x", "a.weight"}, {"h"});
  make.Node("/a/Relu", "Relu", {"h"}, {"r"});
  make.Node("/b/MatMul", "MatMul", {"r", "b.weight"}, {"y"}).Output("y");
  return make;
}

// The same with two rows, and so many numbers between the layers: 24 MACs each.
ModelMaker OfWidth(int64_t width) {
  ModelMaker make;
  make.Input("x", {"2", "8"}).Weight("a.weight", {8, width}).Weight("b.weight", {width, 4});
  make.Node("/a/MatMul", "MatMul", {"x", "a.weight"}, {"h"});
  make.Node("/a/Relu", "Relu", {"h"}, {"r"});
  make.Node("/b/MatMul", "MatMul", {"r", "b.weight"}, {"y"}).Output("y");
  return make;
}

using AchievedFigures = std::vector<AchievedFigure>;
absl::StatusOr<AchievedFigures> NoMfu(const BudgetRule& /*rule*/) {
  return absl::FailedPreconditionError("no rate");
}

CheckReport CheckText(absl::string_view text, const Diff& diff,
                      absl::string_view today = "2027-01-15") {
  const Budgets budgets = LoadBudgets(text, "onnxflops.toml").value();
  CheckReport report;
  report.budgets = budgets.file;
  const BudgetSizes* sizes = budgets.sizes.empty() ? nullptr : &budgets.sizes[0];
  EXPECT_TRUE(Judge(budgets, sizes, diff, today, NoMfu, &report).ok());
  return report;
}

Diff NoBase(const Report& head) { return MakeDiff(nullptr, head).value(); }

std::vector<std::string> Verdicts(const CheckReport& report) {
  std::vector<std::string> texts;
  for (const Judgement& j : report.judgements) {
    texts.push_back(
        absl::StrCat(j.rule, j.where.empty() ? "" : " ", j.where, " ", NameOf(j.verdict)));
  }
  return texts;
}

TEST(JudgeTest, AmountsOfTheModelAndItsModules) {
  const Diff diff = NoBase(TwoLayers("2").Count().value());
  const CheckReport report = CheckText(
      "[budget]\nmacs = 384\nparams = 191\nflops = {limit = 800, warn = 799}\n"
      "\"other_flops / flops\" = \"4%\"\n"
      "[modules.\"*\"]\nmacs = \"200 MAC\"\n[modules.c]\nmacs = 1\n",
      diff);
  EXPECT_FALSE(report.passed());
  // 2 * 384 + 32 FLOPs, of which 32 are the Relu's: 4 %.
  EXPECT_THAT(Verdicts(report),
              testing::UnorderedElementsAre(
                  "budget.macs passed", "budget.params failed", "budget.flops warned",
                  "budget.other_flops / flops passed", "modules.*.macs a failed",
                  "modules.*.macs b passed", "modules.c.macs c failed"));
}

TEST(JudgeTest, GrowthFromTheBase) {
  const Report base = OfWidth(100).Count().value(), head = OfWidth(102).Count().value();
  const Diff diff = MakeDiff(&base, head).value();
  const std::pair<const char*, Verdict> cases[] = {
      {"+2%", Verdict::kPassed}, {"+1.9999%", Verdict::kFailed}, {"+0%", Verdict::kFailed},
      {"-1%", Verdict::kFailed}, {"+3%", Verdict::kPassed},
  };
  for (const auto& [limit, verdict] : cases) {
    const CheckReport report = CheckText(absl::StrCat("budget.macs = \"", limit, "\""), diff);
    EXPECT_EQ(report.judgements[0].verdict, verdict) << limit;
  }
}

// 24 MACs for each of 100 and 102 numbers: 2,400 and 2,448.
TEST(JudgeTest, AMessageHasTheGrowthBeforeTheLimit) {
  const Report narrow = OfWidth(100).Count().value(), wide = OfWidth(102).Count().value();
  const Diff grown = MakeDiff(&narrow, wide).value(), shrunk = MakeDiff(&wide, narrow).value();
  const Diff same = MakeDiff(&wide, wide).value();
  struct Case {
    const Diff* diff;
    const char *limit, *message;
  };
  const Case cases[] = {
      {&grown, "+1.5%",
       "MACs grew by 2.00 %, more than the limit of 1.5 % (2.448 kMAC, base 2.400 kMAC): failed"},
      {&grown, "+3 %", "MACs grew by 2.00 %, limit +3 % (2.448 kMAC, base 2.400 kMAC): passed"},
      {&grown, "-1%", "MACs grew by 2.00 %, limit -1 % (2.448 kMAC, base 2.400 kMAC): failed"},
      {&shrunk, "-5%", "MACs shrank by 1.96 %, limit -5 % (2.400 kMAC, base 2.448 kMAC): failed"},
      {&same, "+0%", "MACs did not change, limit +0 % (2.448 kMAC, base 2.448 kMAC): passed"},
  };
  for (const Case& c : cases) {
    const CheckReport report = CheckText(absl::StrCat("budget.macs = \"", c.limit, "\""), *c.diff);
    EXPECT_EQ(check::MessageOf(report.judgements[0]), c.message);
  }
  const Judgement j = CheckText("budget.macs = \"+1.5%\"", grown).judgements[0];
  EXPECT_EQ(j.growth_hundredths, 200);
  EXPECT_EQ(j.actual, "+2.00 % (2.448 kMAC, base 2.400 kMAC)");
}

// 24 of 24,000,000 MACs are 0.0001 %.
TEST(JudgeTest, ASmallGrowthIsNotZero) {
  const Report base = OfWidth(1'000'000).Count().value(), head = OfWidth(1'000'001).Count().value();
  const CheckReport report = CheckText("budget.macs = \"+0%\"", MakeDiff(&base, head).value());
  EXPECT_THAT(check::MessageOf(report.judgements[0]),
              testing::StartsWith("MACs grew by less than 0.01 %, more than the limit of 0 % ("));
}

// 2 rows of 128 + 64 MACs: 384. The limit that is meant is within a factor of 30.
TEST(JudgeTest, AFigureFarAboveItsLimitMissesAUnit) {
  const Diff large = NoBase(TwoLayers("2000000").Count().value());  // 384 M
  const std::pair<const char*, const char*> cases[] = {
      {"17", "the limit is 17 MAC; if its unit is missing, write \"17 MMAC\""},
      {"400", "the limit is 400 MAC; if its unit is missing, write \"400 MMAC\""},
      {"380 k", "the limit is 380 kMAC; if its unit is missing, write \"380 MMAC\""},
      {"17 M", ""}};
  for (const auto& [limit, detail] : cases) {
    const Judgement j =
        CheckText(absl::StrCat("budget.macs = \"", limit, "\""), large).judgements[0];
    EXPECT_EQ(j.verdict, Verdict::kFailed) << limit;
    EXPECT_EQ(j.detail, detail);
  }
}

// A new model has no base: what `new` says holds for limits that are relative to it, and no other.
TEST(JudgeTest, ANewModelHasNoBase) {
  const Diff diff = NoBase(TwoLayers("102").Count().value());
  const std::pair<const char*, Verdict> cases[] = {{"", Verdict::kSkipped},
                                                   {"new = \"pass\"\n", Verdict::kSkipped},
                                                   {"new = \"fail\"\n", Verdict::kFailed}};
  for (const auto& [setting, verdict] : cases) {
    const CheckReport report =
        CheckText(absl::StrCat(setting, "[budget]\nmacs = \"+2%\"\nparams = 192\n"), diff);
    ASSERT_EQ(report.judgements.size(), 2);
    EXPECT_EQ(report.judgements[0].verdict, verdict) << setting;
    EXPECT_EQ(report.judgements[1].verdict, Verdict::kPassed) << setting;
  }
}

// Whether or not a size that was asked for makes both count the same.
TEST(JudgeTest, AnOpenSizeStaysOpenWhereBudgetsAskForIt) {
  const Model open = TwoLayers("batch").Load().value(), two = TwoLayers("2").Load().value();
  for (const int64_t batch : {0, 2, 3}) {
    CountOptions options;
    if (batch > 0) options.bindings["batch"] = batch;
    const Diff fixes = DiffModels(open, two, options).value();
    const Diff opens = DiffModels(two, open, options).value();
    const CheckReport failed = CheckText("fixed = \"fail\"\n", fixes);
    EXPECT_EQ(failed.judgements[0].verdict, Verdict::kFailed) << batch;
    EXPECT_EQ(failed.judgements[0].actual, "batch = 2") << batch;
    EXPECT_TRUE(CheckText("fixed = \"fail\"\n", opens).passed()) << batch;
    EXPECT_TRUE(CheckText("fixed = \"pass\"\n", fixes).judgements.empty()) << batch;
  }
}

TEST(JudgeTest, ANewModuleIsNewAsAModelIs) {
  const Report base = TwoLayers("2").Count().value();
  ModelMaker make = TwoLayers("2");
  make.Weight("c.weight", {4, 4}).Node("/c/MatMul", "MatMul", {"y", "c.weight"}, {"z"}).Output("z");
  const Diff diff = MakeDiff(&base, make.Count().value()).value();
  const std::string rule = "[modules.c]\nmacs = \"+2%\"\n";
  EXPECT_EQ(CheckText(rule, diff).judgements[0].verdict, Verdict::kSkipped);
  EXPECT_EQ(CheckText("new = \"fail\"\n" + rule, diff).judgements[0].verdict, Verdict::kFailed);
}

TEST(JudgeTest, AModelThatNoRuleIsForIsARowOfItsOwn) {
  Budgets budgets = LoadBudgets("unlisted = \"fail\"\n", "onnxflops.toml").value();
  const Judgement failed = UnlistedModel(budgets);
  EXPECT_EQ(failed.verdict, Verdict::kFailed);
  EXPECT_EQ(failed.place.line, 1);
  budgets.unlisted_fails.reset();
  CheckReport report;
  report.judgements = {UnlistedModel(budgets)};
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(CheckInWords(report), "passed: no rule for 1 model");
  CheckReport other;
  other.judgements = {ModelError(absl::NotFoundError("m.onnx: there is no such file"))};
  ASSERT_TRUE(AddReport(other, &report).ok());
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(CheckInWords(report), "failed: error in 1 model, no rule for 1 model");
  EXPECT_THAT(ToJunit(report), HasSubstr("tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"1\""));
}

// What is left is what was to compare: 4% of 9216 MACs are 368.64.
TEST(JudgeTest, AMarginIsANumber) {
  const Report base = OfWidth(384).Count().value(), head = OfWidth(392).Count().value();
  const Judgement j =
      CheckText("budget.macs = \"+4%\"", MakeDiff(&base, head).value()).judgements[0];
  EXPECT_EQ(j.base_value, 9216);
  EXPECT_EQ(j.limit_value, 9584);
  EXPECT_EQ(j.actual_value, 9408);
  EXPECT_EQ(j.margin_hundredths, 183);  // 176 of 9584
}

// With b rows, 192*b MACs: at most 1536 means 8 rows.
TEST(JudgeTest, ARangeHoldsWhereEverySizeOfItDoes) {
  const Diff diff = NoBase(TwoLayers("batch").Count().value());
  for (int last = 1; last <= 12; ++last) {
    const CheckReport report =
        CheckText(absl::StrCat("budget.macs = 1536\nat.batch = \"1..", last, "\""), diff);
    EXPECT_EQ(report.judgements[0].verdict, last <= 8 ? Verdict::kPassed : Verdict::kFailed);
    EXPECT_EQ(report.judgements[0].actual_value, 192 * last);
  }
}

// A time is the larger of that of the arithmetic, which grows with the rows, and of that of moving
// the bytes; so is the peak of the activations of layers.
TEST(JudgeTest, ARangeOfTimesHasTheLargest) {
  CountOptions options;
  options.on_device = DeviceChoice{FindDevice("t4").value(), Precision::kFp16};
  options.activation_peak = true;
  const Diff open = NoBase(TwoLayers("batch").Count(options).value());
  options.bindings = {{"batch", 5000}};
  const Diff at_end = NoBase(TwoLayers("batch").Count(options).value());
  for (const char* rule : {"time_bound_seconds = \"1 s\"", "time_estimate_seconds = \"1 s\"",
                           "peak_activation_bytes = \"1 GB\"", "time_bound_seconds = \"1 ns\""}) {
    const std::string text = absl::StrCat("budget.", rule);
    const Judgement end = CheckText(text, at_end).judgements[0];
    const Judgement range = CheckText(text + "\nat.batch = \"1..5000\"", open).judgements[0];
    EXPECT_EQ(range.verdict, end.verdict) << rule;
    EXPECT_EQ(range.actual, end.actual) << rule;
    EXPECT_EQ(range.margin, end.margin) << rule;
    EXPECT_EQ(range.actual_value, end.actual_value) << rule;
  }
  EXPECT_THAT(CheckText("budget.time_bound_seconds = \"1 s\"", open).judgements[0].actual,
              testing::AllOf(testing::StartsWith("1e-21*("), testing::EndsWith(") s")));
}

TEST(JudgeTest, AnOpenSizeIsNotProvenButMayFail) {
  const Diff diff = NoBase(TwoLayers("batch").Count().value());
  const Judgement open = CheckText("budget.macs = 1536", diff).judgements[0];
  EXPECT_EQ(open.verdict, Verdict::kNotProven);
  EXPECT_EQ(open.detail, "depends on batch: give it a size with dim, or a range in [at]");
  EXPECT_EQ(CheckText("budget.macs = 191", diff).judgements[0].verdict, Verdict::kFailed);
  EXPECT_EQ(CheckText("budget.params = 192", diff).judgements[0].verdict, Verdict::kPassed);
  // Of both, whatever the batch: 192*b against 192*b.
  const Report base = TwoLayers("batch").Count().value();
  const Diff both = MakeDiff(&base, base).value();
  EXPECT_EQ(CheckText("budget.macs = \"+0%\"", both).judgements[0].verdict, Verdict::kPassed);
}

TEST(JudgeTest, ALowerBoundCanFailButNotPass) {
  ModelMaker make = TwoLayers("2");
  make.Node("/c/Mystery", "Mystery", {"y"}, {"z"}).Output("z");
  make.node->set_domain("com.example");
  const Diff diff = NoBase(make.Count().value());
  EXPECT_EQ(CheckText("budget.macs = 1000", diff).judgements[0].verdict, Verdict::kNotProven);
  EXPECT_EQ(CheckText("budget.macs = 100", diff).judgements[0].verdict, Verdict::kFailed);
  EXPECT_EQ(CheckText("budget.params = 192", diff).judgements[0].verdict, Verdict::kPassed);
  EXPECT_EQ(CheckText("lower_bounds = \"pass\"\nbudget.macs = 1000", diff).judgements[0].verdict,
            Verdict::kPassed);
}

// What holds for a lower bound of the base holds for the base.
TEST(JudgeTest, ALowerBoundOfTheBaseIsEnoughToPass) {
  ModelMaker make = OfWidth(16);
  make.Node("/c/Mystery", "Mystery", {"y"}, {"z"}).Output("z");
  make.node->set_domain("com.example");
  const Report base = make.Count().value();
  const std::pair<int64_t, Verdict> cases[] = {{16, Verdict::kPassed}, {17, Verdict::kNotProven}};
  for (const auto& [width, verdict] : cases) {
    const Diff diff = MakeDiff(&base, OfWidth(width).Count().value()).value();
    const Judgement j = CheckText("budget.macs = \"+2%\"", diff).judgements[0];
    EXPECT_EQ(j.verdict, verdict) << width;
  }
  const Report unknown = [] {
    ModelMaker all;
    all.Input("x", {"2", "8"}).Node("/c/Mystery", "Mystery", {"x"}, {"z"}).Output("z");
    all.node->set_domain("com.example");
    return all.Count().value();
  }();
  const Diff diff = MakeDiff(&unknown, OfWidth(16).Count().value()).value();
  EXPECT_EQ(CheckText("lower_bounds = \"pass\"\nbudget.macs = \"+2%\"", diff).judgements[0].verdict,
            Verdict::kNotProven);
}

// Of one row with itself less than of two, which is no saving.
TEST(JudgeTest, OtherInputsAreOtherWork) {
  const Report two = TwoLayers("2").Count().value(), one = TwoLayers("1").Count().value();
  const Judgement j = CheckText("budget.macs = \"+2%\"", MakeDiff(&two, one).value()).judgements[0];
  EXPECT_EQ(j.verdict, Verdict::kNotProven);
  EXPECT_EQ(j.detail, "the base is of another size: axis 0 of x is 2 in the base, 1 in the head");
  ModelMaker deep;
  deep.Input("x", {"3", "2", "8"}).Weight("a.weight", {8, 16});
  deep.Node("/a/MatMul", "MatMul", {"x", "a.weight"}, {"y"}).Output("y");
  const Diff other = MakeDiff(&two, deep.Count().value()).value();
  EXPECT_EQ(CheckText("budget.macs = \"+2%\"", other).judgements[0].detail,
            "the base is of another size: x has 2 dimensions in the base, 3 in the head");
  EXPECT_EQ(CheckText("budget.macs = 1000", other).judgements[0].verdict, Verdict::kPassed);
}

// A faster device is no saving of the model.
TEST(JudgeTest, TimesOfUnequalDevicesAreNotCompared) {
  const auto count_on = [](const char* device, Precision precision) {
    CountOptions options;
    options.on_device = DeviceChoice{FindDevice(device).value(), precision};
    return TwoLayers("2").Count(options).value();
  };
  const Report t4 = count_on("t4", Precision::kFp16);
  const Diff same = MakeDiff(&t4, t4).value();
  const Diff other = MakeDiff(&t4, count_on("h100-sxm", Precision::kBf16)).value();
  for (const char* time : {"time_bound_seconds", "time_estimate_seconds"}) {
    const std::string rule = absl::StrCat("budget.", time, " = \"+0%\"");
    EXPECT_EQ(CheckText(rule, same).judgements[0].verdict, Verdict::kPassed);
    const Judgement j = CheckText(rule, other).judgements[0];
    EXPECT_EQ(j.verdict, Verdict::kNotProven);
    EXPECT_EQ(j.detail,
              "the times are of unequal devices: t4 with fp16 in the base, h100-sxm with bf16 in "
              "the head");
    EXPECT_EQ(j.growth_hundredths, std::nullopt);
  }
  EXPECT_THAT(
      Verdicts(CheckText("[budget]\nmacs = \"+0%\"\n"
                         "time_bound_seconds = {limit = \"1 s\", warn = \"-99.99%\"}",
                         other)),
      testing::UnorderedElementsAre("budget.macs passed", "budget.time_bound_seconds passed"));
}

// The branch that costs less may run as well.
TEST(JudgeTest, NamesAreThoseOfEveryBody) {
  const Model model = ModelFromText(
      "g (bool c, float[8,8] x) => (float[8,8] y) { y = If (c) <then_branch = a () => "
      "(float[8,8] p) { p = MatMul(x, x) }, else_branch = b () => (float[8,8] q) { q = Erf(x) }> }",
      17);
  const Diff diff = DiffModels(model, CountOptions()).value();
  for (const char* op : {"MatMul", "Erf", "If"}) {
    const std::string rule = absl::StrCat("[operators]\nforbid = [\"", op, "\"]");
    EXPECT_EQ(CheckText(rule, diff).judgements[0].verdict, Verdict::kFailed) << op;
  }
  EXPECT_TRUE(CheckText("[operators]\nforbid = [\"Tanh\"]", diff).passed());
}

TEST(JudgeTest, WhatNobodyKnowsIsNoLowerBound) {
  ModelMaker make;
  make.Input("x", {"2", "8"}).Node("/c/Mystery", "Mystery", {"x"}, {"z"}).Output("z");
  make.node->set_domain("com.example");
  const Diff diff = NoBase(make.Count().value());
  EXPECT_EQ(CheckText("lower_bounds = \"pass\"\nbudget.macs = 1000", diff).judgements[0].verdict,
            Verdict::kNotProven);
}

// Each row of the layers' tensors is alive with the next: 16 + 16 numbers at the Relu, 4 bytes
// each.
TEST(JudgeTest, ThePeakOfActivations) {
  const CountOptions options = {.activation_peak = true};
  const Report open = TwoLayers("batch").Count(options).value();
  const std::pair<const char*, Verdict> cases[] = {
      {"budget.peak_activation_bytes = 512\nat.batch = \"1..4\"", Verdict::kPassed},
      {"budget.peak_activation_bytes = 511\nat.batch = \"1..4\"", Verdict::kFailed},
      {"budget.peak_activation_bytes = 127", Verdict::kFailed},
      {"budget.peak_activation_bytes = \"1 GB\"", Verdict::kNotProven},
      {"budget.peak_activation_bytes = \"+0%\"", Verdict::kPassed},
      {"budget.\"peak_activation_bytes / bytes_written\" = \"88.9%\"", Verdict::kPassed},
      {"budget.\"peak_activation_bytes / bytes_written\" = \"88.8%\"", Verdict::kFailed}};
  const Diff diff = MakeDiff(&open, open).value();
  for (const auto& [text, verdict] : cases) {
    EXPECT_EQ(CheckText(text, diff).judgements[0].verdict, verdict) << text;
  }
  // A count that was not asked for it does not say that it is 0.
  const Judgement unknown =
      CheckText("budget.peak_activation_bytes = 512", NoBase(TwoLayers("1").Count().value()))
          .judgements[0];
  EXPECT_EQ(unknown.verdict, Verdict::kNotProven);
  EXPECT_THAT(InitialBudgets({open}), HasSubstr("peak_activation_bytes = \"130 B\""));
}

TEST(JudgeTest, OperatorsDomainsAndOpsets) {
  const Diff diff = NoBase(TwoLayers("2").Count().value());
  const CheckReport report = CheckText(
      "[operators]\nforbid = [\"Re*\", \"Loop\"]\nallow = [\"MatMul\", \"ai.onnx.Relu\"]\n"
      "[domains]\nforbid = [\"ai.onnx.ml\"]\n"
      "[opset]\nmin = 18\nmax = 17\n\"com.microsoft\" = {max = 1}\n",
      diff);
  EXPECT_THAT(Verdicts(report),
              testing::UnorderedElementsAre("operators.forbid failed", "operators.allow passed",
                                            "domains.forbid passed", "opset.min failed",
                                            "opset.max passed", "opset.com.microsoft.max skipped"));
}

TEST(JudgeTest, AnExceptionHoldsUntilItsLastDay) {
  const Diff diff = NoBase(TwoLayers("2").Count().value());
  constexpr char kText[] =
      "budget.macs = 1\n[[allow]]\nrule = \"budget.*\"\nreason = \"why\"\nuntil = 2027-01-15\n";
  const CheckReport last = CheckText(kText, diff, "2027-01-15");
  EXPECT_TRUE(last.passed());
  EXPECT_EQ(last.judgements[0].detail, "allowed until 2027-01-15: why");
  const CheckReport after = CheckText(kText, diff, "2027-01-16");
  EXPECT_FALSE(after.passed());
  EXPECT_EQ(after.judgements[0].detail, "was allowed until 2027-01-15: why");
}

TEST(JudgeTest, RulesOfOtherModelsSayNothing) {
  Report head = TwoLayers("2").Count().value();
  head.model.path = "out/text-large.onnx";
  const CheckReport report = CheckText(
      "[models.\"text-*.onnx\".budget]\nmacs = 1\n[models.\"image-*.onnx\".budget]\nmacs = 1\n",
      NoBase(head));
  EXPECT_THAT(Verdicts(report), ElementsAre("models.text-*.onnx.budget.macs failed"));
}

// ---- real models

// What count prints is the least limit that passes, of every quantity and of every module.
TEST(CheckPropertyTest, AgreesWithCount) {
  for (const char* name : {"resnet50", "lstm.static", "hf-clip-vit-l-14-336", "maskrcnn-r50",
                           "deployed/resnet50.qdq_s8", "deployed/bert_base.ort_fused_int8"}) {
    const Model model = Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR, "/models/", name, ".onnx")).value();
    const Report report = Count(model).value();
    const Diff diff = NoBase(report);
    for (const Quantity* each : AllQuantities()) {
      const Quantity& q = *each;
      const Expr total = report.In(q, report.totals);
      if (!report.Has(q) || !total.is_literal() || total.is_zero()) continue;
      for (const int less : {0, 1}) {
        const Expr limit = total - Expr(less);
        const CheckReport check = CheckText(absl::StrCat("lower_bounds = \"pass\"\nbudget.", q.key,
                                                         " = \"", limit.ToString(), "\""),
                                            diff);
        EXPECT_EQ(check.passed(), less == 0) << name << " " << q.key;
        EXPECT_EQ(check.judgements[0].actual_value, total.literal()) << name << " " << q.key;
      }
    }
    const CheckReport modules = CheckText("[modules.\"*\"]\nmacs = 0\n", diff);
    Expr sum;
    for (const Judgement& j : modules.judgements) sum += Expr(j.actual_value.value_or(0));
    for (const Module& m : report.modules) {
      if (m.own && m.depth == 1) sum += m.amounts->macs;
    }
    EXPECT_TRUE(!report.totals.macs.is_literal() || sum == report.totals.macs) << name;
  }
}

// The largest value over the range, size by size, is the least limit that passes.
TEST(CheckPropertyTest, ARangeAgreesWithEverySizeInIt) {
  const std::pair<const char*, const char*> cases[] = {
      {"gpt2", "flops"}, {"gpt2", "bytes_written"}, {"lstm", "flops"}, {"t5-small", "macs"}};
  for (const auto& [name, key] : cases) {
    const Model model = Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR, "/models/", name, ".onnx")).value();
    const Report report = Count(model).value();
    const Expr& total = report.totals.*(FindQuantity(key)->value);
    std::vector<Bindings> sizes = {{}};
    std::string at;
    int64_t last = 2;
    for (const std::string& symbol : total.Symbols()) {
      absl::StrAppend(&at, "at.", symbol, " = \"1..", ++last, "\"\n");
      std::vector<Bindings> more;
      for (const Bindings& before : sizes) {
        for (int64_t size = 1; size <= last; ++size) {
          more.push_back(before);
          more.back()[symbol] = size;
        }
      }
      sizes = std::move(more);
    }
    absl::int128 most = 0;
    for (const Bindings& b : sizes) most = std::max(most, total.Evaluate(b).value());
    for (const int less : {0, 1}) {
      const std::string text =
          absl::StrCat("budget.", key, " = \"", Int128ToString(most - less), "\"\n", at);
      EXPECT_EQ(CheckText(text, NoBase(report)).passed(), less == 0) << name << " " << text;
    }
  }
}

// ---- files that the program writes

TEST(EditBudgetsTest, AnInitialFilePassesAndIsTight) {
  for (const char* batch : {"2", "batch"}) {
    Report report = TwoLayers(batch).Count().value();
    report.model.path = "m.onnx";
    const std::string text = InitialBudgets({report});
    const Budgets budgets = LoadBudgets(text, "onnxflops.toml").value();
    Bindings at;
    if (!budgets.sizes.empty()) at = budgets.sizes[0].fixed;
    Report bound = TwoLayers(batch).Count({.bindings = at}).value();
    bound.model.path = "m.onnx";
    EXPECT_TRUE(CheckText(text, NoBase(bound)).passed()) << text;
    Report larger = TwoLayers("3").Count().value();
    larger.model.path = "m.onnx";
    EXPECT_FALSE(CheckText(text, NoBase(larger)).passed()) << text;
  }
}

// 7 rows are more than 2; the file of budgets is for a.onnx only.
TEST(EditBudgetsTest, AnInitialFileIsForItsModelOnly) {
  Report report = TwoLayers("2").Count().value(), larger = TwoLayers("7").Count().value();
  report.model.path = "models/a.onnx";
  const std::string text = InitialBudgets({report});
  EXPECT_THAT(text, HasSubstr("\n[models.\"a.onnx\".budget]\n"));
  larger.model.path = "models/b.onnx";
  EXPECT_TRUE(CheckText(text, NoBase(larger)).judgements.empty());
  larger.model.path = "elsewhere/a.onnx";
  EXPECT_FALSE(CheckText(text, NoBase(larger)).passed());
}

TEST(EditBudgetsTest, EachOfSeveralModelsHasSectionsOfItsOwn) {
  std::vector<Report> reports;
  for (const auto& [path, batch] :
       {std::pair("a/m.onnx", "2"), {"b/m.onnx", "4"}, {"b/n.onnx", "6"}}) {
    reports.push_back(TwoLayers(batch).Count().value());
    reports.back().model.path = path;
  }
  const std::string text = InitialBudgets(reports);
  EXPECT_THAT(text, HasSubstr("[models.\"n.onnx\".budget]"));
  for (size_t i = 0; i < reports.size(); ++i) {
    EXPECT_TRUE(CheckText(text, NoBase(reports[i])).passed()) << text;
    Report larger = TwoLayers("7").Count().value();
    larger.model.path = reports[i].model.path;
    EXPECT_FALSE(CheckText(text, NoBase(larger)).passed()) << text;
  }
}

TEST(EditBudgetsTest, WhatIsNotRaisedIsNamed) {
  const Report base = OfWidth(16).Count().value();
  const Diff diff = MakeDiff(&base, OfWidth(24).Count().value()).value();
  constexpr char kText[] =
      "[budget]\nmacs = 5\nflops = \"+1%\"\nparams = 192\n[operators]\nforbid = [\"Relu\"]\n";
  const Budgets budgets = LoadBudgets(kText, "onnxflops.toml").value();
  EXPECT_THAT(LeftBudgets(budgets, CheckText(kText, diff)),
              testing::ElementsAre(
                  "budget.flops is left as it is: it is relative to a base",
                  "operators.forbid is left as it is: it is a limit of operators, not an amount"));
}

TEST(EditBudgetsTest, RaisedLimitsAndNothingElse) {
  const Diff diff = NoBase(TwoLayers("2").Count().value());
  constexpr char kText[] =
      "# why: \xc3\xa9tat\n[budget]\nmacs = \"300 MAC\"  # as released\n"
      "flops = {limit = 700, warn = 600}\nparams = \"192\"\n[modules.\"\xc3\xa9\"]\nmacs = 5\n";
  const Budgets budgets = LoadBudgets(kText, "onnxflops.toml").value();
  const std::string raised = RaisedBudgets(kText, budgets, CheckText(kText, diff));
  EXPECT_EQ(raised,
            "# why: \xc3\xa9tat\n[budget]\nmacs = \"388 MAC\"  # as released\n"
            "flops = {limit = \"808 FLOP\", warn = 600}\nparams = \"192\"\n"
            "[modules.\"\xc3\xa9\"]\nmacs = 5\n");
}

TEST(CheckWritersTest, WhatFailedComesFirst) {
  const Diff diff = NoBase(TwoLayers("2").Count().value());
  const CheckReport report =
      CheckText("budget.params = 192\nbudget.macs = 1\nbudget.time_bound_seconds = \"1 ms\"", diff);
  const std::string screen = ToTable(report, {.width = 80});
  EXPECT_THAT(screen, HasSubstr("failed: 2 of 3 rules, 1 of them not proven\n"));
  EXPECT_THAT(ToBadge(report), HasSubstr("\"2 failed, 1 of them not proven\""));
  EXPECT_LT(screen.find("budget.macs"), screen.find("budget.params"));
}

TEST(CheckWritersTest, AlertsLinkThePagesOnceTheseArePublished) {
  CheckReport report = CheckText("budget.macs = 1", NoBase(TwoLayers("2").Count().value()));
  EXPECT_THAT(ToSarif(report), testing::Not(HasSubstr("helpUri")));
  report.docs = "https://example.org/docs/";
  EXPECT_THAT(ToSarif(report), HasSubstr("https://example.org/docs/ci.html#a-file-of-budgets"));
}

// GitHub closes an alert whose print no run has any more.
TEST(CheckWritersTest, APrintIsTheSameWhateverElseIsChecked) {
  CheckReport one = CheckText("budget.macs = 1", NoBase(TwoLayers("2").Count().value()));
  one.judgements[0].model = "m.onnx";
  CheckReport more = one;
  one.head.path = "1 model";
  more.head.path = "2 models";
  const auto print_of = [](const std::string& text, const char* key) {
    return text.substr(text.find(key), 40);
  };
  EXPECT_EQ(print_of(ToSarif(one), "rule/v1"), print_of(ToSarif(more), "rule/v1"));
  EXPECT_EQ(print_of(ToGitlab(one), "fingerprint"), print_of(ToGitlab(more), "fingerprint"));
  more.judgements[0].rule = "budget.flops";
  EXPECT_NE(print_of(ToSarif(one), "rule/v1"), print_of(ToSarif(more), "rule/v1"));
}

TEST(CheckWritersTest, ARuleOfAModelWithItsOwnBudgetsIsShownThere) {
  CheckReport part = CheckText("budget.macs = 1", NoBase(TwoLayers("2").Count().value()));
  part.budgets = "a/onnxflops.toml";
  CheckReport report;
  report.budgets = "a/onnxflops.toml, b/onnxflops.toml";
  ASSERT_TRUE(AddReport(part, &report).ok());
  EXPECT_THAT(ToGithubAnnotations(report), HasSubstr("::error file=a/onnxflops.toml,line=1,"));
  EXPECT_THAT(ToJson(report), HasSubstr("\"budgets\": \"a/onnxflops.toml\","));
}

TEST(CheckWritersTest, ARuleOfACallIsShownAtItsModel) {
  CheckReport report = CheckText("budget.params = 192", NoBase(TwoLayers("2").Count().value()));
  Budgets call;
  ASSERT_TRUE(AddBudget("macs=1", &call).ok());
  const Diff diff = NoBase(TwoLayers("2").Count().value());
  ASSERT_TRUE(Judge(call, nullptr, diff, "2027-01-15", NoMfu, &report).ok());
  report.head.path = "m.onnx";
  EXPECT_THAT(ToTable(report), HasSubstr("budgets onnxflops.toml, max\n"));
  EXPECT_THAT(ToGithubAnnotations(report), HasSubstr("::error file=m.onnx,line=1,"));
  report.budgets.clear();
  EXPECT_THAT(ToTable(report), HasSubstr("budgets max\n"));
}

// ---- utilisation of devices

TEST(JudgeTest, MfuOverAllThereIsNeverPasses) {
  const Budgets budgets =
      LoadBudgets("[mfu]\nmin = \"40%\"\ndevice = \"d\"\ndtype = \"bf16\"\n", "b.toml").value();
  const Diff diff = NoBase(TwoLayers("4").Count().value());
  struct Case {
    double figure;
    Verdict verdict;
    const char* actual;
  };
  // The figure is that of mfu: rounded, but not to the limit.
  const Case cases[] = {
      {0.4, Verdict::kPassed, "40.00 %"},          {0.142277, Verdict::kFailed, "14.23 %"},
      {0.39999, Verdict::kFailed, "39.999 %"},     {0.4000001, Verdict::kPassed, "40.00 %"},
      {1.0, Verdict::kPassed, "100.00 %"},         {1.000001, Verdict::kFailed, "100.0001 %"},
      {1e300, Verdict::kFailed, "above 10,000 %"}, {0.0, Verdict::kFailed, "0.00 %"},
      {std::nan(""), Verdict::kFailed, "-"}};
  for (const auto& [figure, verdict, actual] : cases) {
    CheckReport report;
    const auto mfu = [f = figure](const BudgetRule&) -> absl::StatusOr<AchievedFigures> {
      return AchievedFigures{{"", f, f, ""}};
    };
    ASSERT_TRUE(Judge(budgets, nullptr, diff, "2027-01-15", mfu, &report).ok());
    EXPECT_EQ(report.judgements[0].verdict, verdict) << figure;
    EXPECT_EQ(report.judgements[0].actual, actual);
  }
  EXPECT_THAT(Verdicts(CheckText("[mfu]\nmin=\"1%\"\ndevice=\"d\"\ndtype=\"bf16\"\n", diff)),
              ElementsAre("mfu.min not_proven"));
}

// Figures of a run, in what the rule is in. What exceeds the peak never passes, whatever is asked.
TEST(JudgeTest, AchievedFiguresAreHeldToTimesAndRates) {
  const std::string text =
      "[profile]\ntime = \"2 ms\"\nflops_per_second = \"3 GFLOP/s\"\ndevice = \"d\"\n"
      "dtype = \"fp32\"\n[profile.modules.\"a.*\"]\ntime = \"2 ms\"\n";
  const Budgets budgets = LoadBudgets(text, "b.toml").value();
  Budgets lenient = budgets;
  lenient.lower_bounds_pass = true;
  const Diff diff = NoBase(TwoLayers("4").Count().value());
  struct Case {
    size_t rule;
    AchievedFigure figure;
    Verdict verdict, leniently;
    const char* actual;
  };
  const std::vector<Case> cases = {
      {0, {"", 0.002, 0.5, ""}, Verdict::kPassed, Verdict::kPassed, "2.000 ms"},
      {0, {"", 0.0021, 0.5, ""}, Verdict::kFailed, Verdict::kFailed, "2.100 ms"},
      {0, {"", 0.001, 1.5, ""}, Verdict::kFailed, Verdict::kFailed, "1.000 ms"},
      {1, {"", 3e9, HUGE_VAL, ""}, Verdict::kFailed, Verdict::kFailed, "3.000 GFLOP/s"},
      {1, {"", 3e9, 0.5, ""}, Verdict::kPassed, Verdict::kPassed, "3.000 GFLOP/s"},
      {1, {"", 2.99e9, std::nullopt, ""}, Verdict::kFailed, Verdict::kFailed, "2.990 GFLOP/s"},
      {2, {"a.b", 0.001, 0.5, "open"}, Verdict::kNotProven, Verdict::kPassed, "1.000 ms"},
      {2, {"a.b", 0.003, 0.5, "open"}, Verdict::kFailed, Verdict::kFailed, "3.000 ms"}};
  ASSERT_EQ(budgets.rules.size(), 3);
  for (const Case& c : cases) {
    for (const Budgets* used : {&budgets, static_cast<const Budgets*>(&lenient)}) {
      CheckReport report;
      const auto figures = [&](const BudgetRule&) -> absl::StatusOr<AchievedFigures> {
        return AchievedFigures{c.figure};
      };
      ASSERT_TRUE(Judge(*used, nullptr, diff, "2027-01-15", figures, &report).ok());
      const Judgement& judged = report.judgements[c.rule];
      EXPECT_EQ(judged.verdict, used == &budgets ? c.verdict : c.leniently) << c.actual;
      EXPECT_EQ(judged.actual, c.actual);
      EXPECT_EQ(judged.where, c.figure.where);
    }
  }
}

// ---- comments

// Lines of all rules, each as long as a path may be.
TEST(CheckCommentTest, FitsWhateverTheRulesAre) {
  CheckReport report;
  report.head.path = std::string(4000, '`') + "<!-- -->@x";
  for (int i = 0; i < 500; ++i) {
    Judgement j;
    j.rule = absl::StrCat("modules.", i, std::string(300, '`'), ".flops");
    j.where = std::string(4096, '|');
    j.verdict = Verdict::kFailed;
    report.judgements.push_back(j);
  }
  const std::string comment = ToComment(report);
  EXPECT_LE(comment.size(), kMaxCommentBytes);
  EXPECT_THAT(comment, HasSubstr("What did not fit is left out"));
  EXPECT_GT(comment.size(), kMaxCommentBytes / 2);  // as many rules as there is room for
}

}  // namespace
}  // namespace onnxflops::check_test
