#include "src/symbolic/sample_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "src/base/limits.h"
#include "src/symbolic/expr.h"
#include "tests/symbolic/symbols.h"

namespace onnxflops::sample_sum_test {
namespace {

Expr Batch() { return Expr::Symbol("batch", 1); }
Expr Seq() { return Expr::Symbol("seq", 1); }
Expr Target() { return Expr::Symbol("target", 1); }

using Rows = std::vector<SampleSizes::Row>;

SampleSizes Sequences(Rows rows, bool packed = false) {
  return {.count = "batch", .symbols = {"seq"}, .rows = std::move(rows), .packed = packed};
}

TEST(SampleSumTest, HeaderExample) {
  const SampleSum sum(Sequences({{{512}, 1}, {{300}, 2}}));
  EXPECT_EQ(sum.Of(Batch() * Seq() * Seq()), Expr(512 * 512 + 2 * 300 * 300));
  EXPECT_EQ(sum.Of(Seq() * Seq()), Expr(512 * 512));
  EXPECT_EQ(sum.Of(7), Expr(7));
}

TEST(SampleSumTest, WhatIsDoneOncePerRunIsDoneForEachSampleOfAPackedRow) {
  const SampleSum sum(Sequences({{{512}, 1}, {{300}, 2}}, /*packed=*/true));
  EXPECT_EQ(sum.Of(Batch() * Seq()), Expr(1112));
  EXPECT_EQ(sum.Of(Seq() * Seq() + 5), Expr(512 * 512 + 2 * 300 * 300 + 5));
  EXPECT_EQ(sum.Of(Batch()), Expr(3));
  EXPECT_EQ(sum.sizes().Rectangle(), (Bindings{{"batch", 1}, {"seq", 1112}}));
}

TEST(SampleSumTest, OtherSymbolsStay) {
  const SampleSum sum(Sequences({{{4}, 1}, {{6}, 1}}));
  EXPECT_EQ(sum.Of(Batch() * Seq() * Z() + M()), 10 * Z() + M());
  EXPECT_EQ(sum.Of(Batch() * Min(Seq(), Z())), Min(4, Z()) + Min(6, Z()));
}

// What mixes samples costs as much as in a batch whose samples all have the largest size.
TEST(SampleSumTest, OtherPowersOfTheNumberOfSamplesAreThoseOfTheRectangle) {
  const SampleSum sum(Sequences({{{4}, 1}, {{6}, 2}}));
  EXPECT_TRUE(sum.Mixes(Batch() * Batch()));
  EXPECT_TRUE(sum.Mixes(FloorDiv(Batch() * Seq(), 5)));
  EXPECT_FALSE(sum.Mixes(Batch() * FloorDiv(Seq(), 5) + Seq()));
  EXPECT_EQ(sum.Of(2 * Batch() * Batch() * Seq()), Expr(2 * 9 * 6));
  EXPECT_EQ(sum.Of(FloorDiv(Batch() * Seq(), 5)), Expr(18 / 5));
}

// Pairs under a causal mask with an odd number of heads, and in a window of 16: n (n + 1) is even.
TEST(SampleSumTest, ADivisionThatComesOutEvenIsOneOfEachSample) {
  const Expr far = Max(Seq() - 16, 0);
  const Expr pairs = Seq() * Seq() + Seq();
  const Expr window = pairs - far * far - far;
  for (const bool packed : {false, true}) {
    const SampleSum sum(Sequences({{{4}, 2}, {{21}, 1}}, packed));
    EXPECT_EQ(sum.Of(7 * FloorDiv(5 * Batch() * pairs, 2)), Expr(7 * 5 * (2 * 10 + 231)));
    EXPECT_EQ(sum.Of(FloorDiv(3 * Batch() * window, 2)), Expr(3 * (2 * 10 + 231 - 15)));
    EXPECT_FALSE(sum.Mixes(FloorDiv(5 * Batch() * pairs, 2)));
    EXPECT_TRUE(sum.Mixes(FloorDiv(5 * Batch() * pairs, 4)));
    EXPECT_TRUE(sum.Mixes(FloorDiv(5 * Batch() * pairs + Seq(), 2)));
  }
}

// Experts that tokens reach, the time of a kernel: 16 tokens, 88 pairs.
TEST(SampleSumTest, AChoiceOfTheBatchIsThatOfItsSums) {
  const SampleSum sum(Sequences({{{4}, 1}, {{6}, 2}}));
  const Expr experts = Min(20, 2 * Batch() * Seq());
  const Expr time = Max(7 * Batch() * Seq(), 2 * Batch() * Seq() * Seq() + 5);
  EXPECT_EQ(sum.Of(3 * experts), Expr(3 * 20));
  EXPECT_EQ(sum.Of(Min(40, 2 * Batch() * Seq())), Expr(32));
  EXPECT_EQ(sum.Of(time), Expr(2 * 88 + 5));
  EXPECT_FALSE(sum.Mixes(time));
  EXPECT_TRUE(sum.Mixes(Max(time, Batch() * Batch())));
}

TEST(SampleSumTest, SwitchesAreTheNumberThatTheyAreInTheBatch) {
  const Expr more = Min(1, Batch() * Seq() - 1);
  const SampleSum sum(Sequences({{{4}, 1}, {{6}, 2}})), one(Sequences({{{1}, 1}}));
  EXPECT_EQ(sum.Of(Batch() * Seq() * more), Expr(16));
  EXPECT_FALSE(sum.Mixes(Batch() * Seq() * more));
  EXPECT_EQ(one.Of(Batch() * Seq() * more), Expr(0));
  EXPECT_EQ(sum.Of(Batch() * Seq() * Min(1, Batch() - 1)), Expr(16));
  EXPECT_EQ(SampleSum(Sequences({{{4}, 3}}, true)).Of(Batch() * Batch()), Expr(9));
  // Of a tensor whose size may be 1 by two names.
  const Expr either = Max(0, Min(1, Batch() + Seq() - 2));
  EXPECT_EQ(sum.Of(Batch() * Seq() * either), Expr(16));
  EXPECT_FALSE(sum.Mixes(Batch() * Seq() * either));
}

// A product of all tokens with all tokens, of two samples in one row.
TEST(SampleSumTest, WhatMixesInAPackedRowIsThatOfTheRow) {
  const SampleSum sum(Sequences({{{7}, 1}, {{200}, 1}}, /*packed=*/true));
  const Expr all = Batch() * Seq();
  EXPECT_TRUE(sum.Mixes(8 * all * all));
  EXPECT_EQ(sum.Of(8 * all * all), Expr(8 * 207 * 207));
}

// Images are not padded to each other: what a run does once, it does for the largest one.
TEST(SampleSumTest, TheLargestImageIsOneOfThem) {
  const Expr t = Expr::Symbol("grid_t", 1), h = Expr::Symbol("grid_h", 1),
             w = Expr::Symbol("grid_w", 1);
  const SampleSum sum({.count = "batch",
                       .symbols = {"seq", "grid_t", "grid_h", "grid_w"},
                       .rows = {{{9, 1, 2, 400}, 1}, {{5, 64, 2, 2}, 1}, {{7, 1, 30, 30}, 2}}});
  EXPECT_EQ(sum.Of(t * h * w * h * w), Expr(900 * 900));
  EXPECT_EQ(sum.Of(Batch() * t * h * w), Expr(800 + 256 + 2 * 900));
  EXPECT_EQ(sum.Of(Seq() * h), Expr(9 * 30));
  EXPECT_EQ(sum.sizes().Rectangle(),
            (Bindings{{"batch", 4}, {"seq", 9}, {"grid_t", 1}, {"grid_h", 30}, {"grid_w", 30}}));
}

TEST(SampleSumTest, WithoutANumberOfSamplesEachIsARun) {
  const SampleSum sum({.count = "", .symbols = {"seq"}, .rows = {{{4}, 1}, {{6}, 2}}});
  EXPECT_EQ(sum.Of(Seq() + 100), Expr(16 + 300));
}

TEST(SampleSumTest, AMillionSizesBySumsOfPowers) {
  constexpr int64_t kMost = 1'000'000;
  Rows rows;
  for (int64_t s = 1; s <= kMost; ++s) rows.push_back({{s}, 1});
  const SampleSum sum(Sequences(std::move(rows)));
  const absl::int128 n = kMost;
  const Expr linear(n * (n + 1) / 2), square(n * (n + 1) * (2 * n + 1) / 6);
  EXPECT_EQ(sum.Of(Batch() * (3 * Seq() * Seq() + 5 * Seq())), 3 * square + 5 * linear);
}

// Windows of 8 patches over 300,000 different images: whole ones and the rest, in 200 terms.
TEST(SampleSumTest, DivisionsAreEvaluatedOnceForAllTerms) {
  const Expr windows = FloorDiv(Seq() + 7, 8), rest = Seq() - 8 * FloorDiv(Seq(), 8);
  Rows rows;
  for (int64_t s = 1; s <= 300'000; ++s) rows.push_back({{s}, 2});
  const SampleSum sum(Sequences(std::move(rows)));
  absl::int128 products = 0;
  for (absl::int128 s = 1; s <= 300'000; ++s) products += 2 * ((s + 7) / 8) * (s % 8) * s;
  for (int64_t i = 1; i <= 200; ++i) {
    EXPECT_EQ(sum.Of(Batch() * i * windows * rest * Seq()), Expr(products) * i);
  }
}

TEST(SampleSumTest, LimitsAreErrors) {
  Rows rows;
  for (int64_t s = 1; s <= 1000; ++s) rows.push_back({{s * s * s * s * s * s}, 1});
  const SampleSum sum(Sequences(rows));
  EXPECT_STREQ(sum.Of(Batch() * Power(Seq(), 3)).error(), "overflows 128 bits");
  // With another symbol in it, an expression is kept for each different sample.
  Rows some;
  for (int64_t s = 1; s <= kMaxSampleEvaluations / 50 + 1; ++s) some.push_back({{s}, 1});
  EXPECT_NE(SampleSum(Sequences(std::move(some))).Of(Batch() * Min(Seq(), Z())).error(), nullptr);
  Rows many;
  for (int64_t s = 1; s <= kMaxSampleEvaluations / 100; ++s) many.push_back({{s}, 1});
  Expr divided = 0;
  for (int i = 2; i <= 102; ++i) divided += FloorDiv(Seq(), i);
  EXPECT_STREQ(SampleSum(Sequences(std::move(many))).Of(Batch() * divided).error(),
               "has divisions of sizes, and more than 20000000 samples times terms "
               "(sample-evaluations)");
}

// A formula, and what one sample of these sizes takes, as Evaluate() has it.
Expr RandomPart(std::mt19937* random) {
  const auto pick = [&](int most) { return static_cast<int>((*random)() % most); };
  Expr part = pick(20);
  for (int i = pick(4); i >= 0; --i) {
    Expr term = 1 + pick(9);
    for (int j = pick(3); j >= 0; --j) {
      const Expr factors[] = {Seq(), Target(), FloorDiv(Seq() + pick(5), 2 + pick(4)),
                              Min(Seq(), Target()), Max(Target(), 1 + pick(6))};
      term *= factors[pick(5)];
    }
    part += term;
  }
  return part;
}

// The sum by a loop over samples, each evaluated at its own sizes.
absl::int128 SumByLoop(const Expr& each, const Expr& once, const Rows& rows) {
  absl::int128 sum = 0;
  Bindings largest = {{"seq", 1}, {"target", 1}};
  for (const SampleSizes::Row& row : rows) {
    const Bindings at = {{"seq", row.sizes[0]}, {"target", row.sizes[1]}};
    for (int64_t i = 0; i < row.samples; ++i) sum += each.Evaluate(at).value();
    for (const auto& [name, size] : at) largest[name] = std::max(largest[name], size);
  }
  return sum + once.Evaluate(largest).value();
}

TEST(SampleSumTest, AgreesWithALoopOverSamples) {
  std::mt19937 random(43);
  for (int i = 0; i < 2000; ++i) {
    Rows rows;
    for (size_t n = 1 + random() % 6; rows.size() < n;) {
      rows.push_back(
          {{1 + static_cast<int64_t>(random() % 40), 1 + static_cast<int64_t>(random() % 9)},
           1 + static_cast<int64_t>(random() % 3)});
    }
    const Expr each = RandomPart(&random), once = RandomPart(&random);
    const SampleSum sum({.count = "batch", .symbols = {"seq", "target"}, .rows = rows});
    EXPECT_EQ(sum.Of(Batch() * each + once), Expr(SumByLoop(each, once, rows)))
        << each.ToString() << " and " << once.ToString();
    EXPECT_EQ(sum.OneByOne(Batch() * each), Expr(SumByLoop(each, 0, rows)));
  }
}

}  // namespace
}  // namespace onnxflops::sample_sum_test
