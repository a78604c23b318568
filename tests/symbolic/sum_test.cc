// Sums over a symbol, against adding up term by term.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "src/symbolic/expr.h"

namespace onnxflops::sum_test {
namespace {

constexpr int kMostTrips = 9;

Expr T() { return Expr::Symbol("t"); }
Expr N() { return Expr::Symbol("n", 1); }
Expr B() { return Expr::Symbol("b", 1); }

// The sum of `term` at t = 0 .. trips - 1.
absl::int128 BruteSum(const Expr& term, int64_t trips, Bindings sizes) {
  absl::int128 sum = 0;
  for (int64_t t = 0; t < trips; ++t) {
    sizes["t"] = t;
    sum += term.Evaluate(sizes).value();
  }
  return sum;
}

TEST(SumTest, IsThatOfAllTerms) {
  std::mt19937 random(3);
  const auto coefficient = [&] { return Expr(static_cast<int>(random() % 19) - 9); };
  for (int i = 0; i < 200; ++i) {
    Expr term = coefficient();
    for (int power = 1; power <= kMaxSummedPower; ++power) {
      term += coefficient() * Power(T(), power) * (random() % 2 == 0 ? B() : Expr(1));
    }
    const std::optional<Expr> sum = SumOver(term, "t", N());
    ASSERT_TRUE(sum.has_value()) << term.ToString();
    for (int64_t trips = 0; trips <= kMostTrips; ++trips) {
      const Bindings sizes = {{"n", trips}, {"b", 5}};
      EXPECT_EQ(sum->Evaluate(sizes).value(), BruteSum(term, trips, sizes)) << term.ToString();
    }
  }
}

TEST(SumTest, OfWhatIsNoPolynomialThereIsNone) {
  const Expr terms[] = {Power(T(), kMaxSummedPower + 1), FloorDiv(T(), 2), Min(T() * T(), B()),
                        FloorDiv(Min(T(), B()), 2), Mod(T(), 3) * B()};
  for (const Expr& term : terms) EXPECT_EQ(SumOver(term, "t", N()), std::nullopt);
  EXPECT_TRUE(SumOver(Min(B(), 4), "t", N()).has_value());
}

// A cache that grows up to the length of a window, or of two windows.
TEST(SumTest, OfMinimaAndMaximaThatSwitch) {
  std::mt19937 random(4);
  const auto number = [&] { return Expr(static_cast<int>(random() % 11) - 5); };
  const auto line = [&] { return number() * T() + number() * B() + number(); };
  for (int i = 0; i < 300; ++i) {
    const Expr low = Min(line(), line()), high = Max(line(), line());
    const Expr term = number() * low * low + line() * high + low * high;
    const std::optional<Expr> sum = SumOver(term, "t", Expr::Symbol("trips"));
    ASSERT_TRUE(sum.has_value()) << term.ToString();
    for (int64_t trips = 0; trips <= kMostTrips; ++trips) {
      const Bindings sizes = {{"trips", trips}, {"b", static_cast<int64_t>(random() % 7) + 1}};
      EXPECT_EQ(sum->Evaluate(sizes).value(), BruteSum(term, trips, sizes)) << term.ToString();
    }
  }
}

TEST(SumTest, IsThatOfFourSamplesByWeights) {
  const Expr term = 3 * Power(T(), 3) - 5 * T() * T() * B() + 7;
  const std::vector<Expr> weights = SumWeights(N());
  Expr sum = 0, runs = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i] * term.Substitute({{"t", static_cast<int64_t>(i)}});
    runs += weights[i];
  }
  EXPECT_EQ(sum, SumOver(term, "t", N()));
  EXPECT_EQ(runs, N());
}

TEST(SumTest, ReplacesAllAtOnce) {
  const Expr swapped = (T() - 2 * FloorDiv(B(), 3)).Replace({{"t", B()}, {"b", T() + 3}});
  EXPECT_EQ(swapped, B() - 2 * FloorDiv(T(), 3) - 2);
}

}  // namespace
}  // namespace onnxflops::sum_test
