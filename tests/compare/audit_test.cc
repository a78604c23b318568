// Published figures: how they are read, and which convention gives them.
#include "src/compare/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onnxflops::audit_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PublishedFigureTest, NumbersWithPrefixes) {
  const struct {
    const char* text;
    int64_t value, step;
    Unit unit;
  } cases[] = {
      {"4.089 GFLOPs", 4'089'000'000, 1'000'000, Unit::kFlop},
      {"4.089GFLOPS", 4'089'000'000, 1'000'000, Unit::kFlop},
      {"0.217 G FLOPs", 217'000'000, 1'000'000, Unit::kFlop},
      {"4.1 B MACs", 4'100'000'000, 100'000'000, Unit::kMac},
      {"395 M MAdds", 395'000'000, 1'000'000, Unit::kMac},
      {"12 macs", 12, 1, Unit::kMac},
      {"4,133,742,592 MACs", 4'133'742'592, 1, Unit::kMac},
      {"1.5 kflop", 1'500, 100, Unit::kFlop},
      {"12.85 M activations", 12'850'000, 10'000, Unit::kActivation},
      {"11.8 macts", 11'800'000, 100'000, Unit::kActivation},
      {"2 TOps", 2'000'000'000'000, 1'000'000'000'000, Unit::kFlop},
  };
  for (const auto& c : cases) {
    const absl::StatusOr<PublishedFigure> figure = ParsePublishedFigure(c.text);
    ASSERT_TRUE(figure.ok()) << figure.status();
    EXPECT_EQ(figure->value, c.value) << c.text;
    EXPECT_EQ(figure->step, c.step) << c.text;
    EXPECT_EQ(figure->unit, c.unit) << c.text;
  }
}

TEST(PublishedFigureTest, WhatIsNone) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "it should begin with a number"},
      {"GFLOPs", "it should begin with a number"},
      {"4.089", "it should end in MACs, FLOPs or activations"},
      {"4.089 G", "it should end in MACs, FLOPs or activations"},
      {"4 GFLOP/s", "it should end in MACs, FLOPs or activations"},
      {"1.25 MACs", "it should have no more digits than its prefix"},
      {"1,2,3 GFLOPs", "commas should only separate groups of three digits"},
      {"1234,567 MACs", "commas should only separate groups of three digits"},
      {",512 MACs", "commas should only separate groups of three digits"},
      {"1,234, MACs", "commas should only separate groups of three digits"},
      {"1.234.567 GFLOPs", "it should have digits only after its point"},
      {std::string(31, '1') + " MACs", "it has too many digits"},
      {std::string(30, '1') + " GMACs", "it should have no more digits than its prefix"},
  };
  for (const auto& [text, why] : cases) {
    EXPECT_EQ(ParsePublishedFigure(text).status().message(),
              absl::StrCat("'", text, "' is not a figure: ", why, ", as in 4.089 GFLOPs"));
  }
}

// Conventions with one figure each: 100 MACs and 210 FLOPs of ours, and what tools give.
AuditRow RowOf(absl::string_view published) {
  static const ConventionInfo kTool = {"tool", Unit::kMac};
  static const ConventionInfo kGuess = {"guess", Unit::kFlop};
  static const ConventionInfo kNone = {"none", Unit::kMac};
  CompareReport report;
  report.ours.totals.macs = 100;
  report.ours.totals.flops = 210;
  for (const ConventionInfo* info : {&kTool, &kGuess, &kNone}) {
    ToolRow& row = report.tools.emplace_back();
    row.convention = info;
    if (info != &kNone) row.headline = info == &kGuess ? 104 : 120;
  }
  report.tools[1].standing = Standing::kAssumed;
  report.tools[2].standing = Standing::kNotApplicable;
  return Audit("name", ParsePublishedFigure(published).value(), report);
}

TEST(AuditTest, TheConventionThatGivesTheDigits) {
  AuditRow row = RowOf("210 FLOPs");
  EXPECT_TRUE(row.matches && row.unit == Unit::kFlop);
  EXPECT_THAT(row.conventions, ElementsAre("onnxflops"));
  row = RowOf("100 FLOPs");  // called FLOPs, and MACs
  EXPECT_TRUE(row.matches && row.unit == Unit::kMac);
  EXPECT_THAT(row.conventions, ElementsAre("onnxflops"));
  row = RowOf("104 MACs");
  EXPECT_TRUE(row.matches && row.unit == Unit::kFlop);
  EXPECT_THAT(row.conventions, ElementsAre("guess"));
}

TEST(AuditTest, DigitsThatAreNotWrittenAreRounded) {
  EXPECT_TRUE(RowOf("0.1 kFLOPs").matches);   // from 50 to 150
  EXPECT_FALSE(RowOf("0.3 kFLOPs").matches);  // from 250 to 350
  EXPECT_THAT(RowOf("0.1 kMACs").conventions, ElementsAre("onnxflops", "tool"));
  EXPECT_THAT(RowOf("0.1 kFLOPs").conventions, ElementsAre("guess"));
}

TEST(AuditTest, TheNearestIsTold) {
  const AuditRow row = RowOf("118 FLOPs");
  EXPECT_FALSE(row.matches);
  EXPECT_THAT(row.conventions, ElementsAre("tool"));
  EXPECT_EQ(row.figure - row.published.value, 2);
}

TEST(AuditTest, OpenSizesHaveNoFigure) {
  CompareReport report;
  report.ours.totals.macs = report.ours.totals.flops = Expr::Symbol("batch");
  EXPECT_THAT(Audit("name", ParsePublishedFigure("1 MACs").value(), report).fault,
              HasSubstr("sizes are open in batch MACs"));
}

}  // namespace
}  // namespace onnxflops::audit_test
