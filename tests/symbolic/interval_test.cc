// The largest value between bounds, against every combination of sizes.
#include "src/symbolic/interval.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/limits.h"
#include "src/symbolic/expr.h"
#include "tests/symbolic/random_expr.h"
#include "tests/symbolic/symbols.h"

namespace onnxflops::interval_test {
namespace {

// "7 at n=3" if it is taken, "<= 7" if it is a bound, "" if none is known.
std::string Described(const std::optional<Largest>& largest) {
  if (!largest) return "";
  const std::string value = Int128ToString(largest->value);
  if (!largest->exact) return absl::StrCat("<= ", value);
  std::string at;
  for (const auto& [name, size] : largest->at) absl::StrAppend(&at, " ", name, "=", size);
  return absl::StrCat(value, " at", at);
}

TEST(LargestValueTest, HeaderExample) {
  const Expr batch = Expr::Symbol("batch", 1);
  EXPECT_EQ(Described(LargestValue(1000 * batch - batch * batch, {{"batch", {1, 8}}})),
            "7936 at batch=8");
}

struct LargestCase {
  Expr e;
  const char* largest;
};
void ExpectLargest(const std::vector<LargestCase>& cases, const SizeRanges& ranges) {
  for (const LargestCase& c : cases) {
    EXPECT_EQ(Described(LargestValue(c.e, ranges)), c.largest) << c.e.ToString();
  }
}

// Of z no size is said: it can be anything from 0 on.
TEST(LargestValueTest, AtAnEndOrByTryingAll) {
  const Expr n = N(), m = M(), z = Z();
  ExpectLargest({{7, "7 at"},
                 {n, "40 at n=40"},
                 {0 - n, "-2 at n=2"},
                 {n * m, "1000 at m=25 n=40"},
                 {n - m, "37 at m=3 n=40"},
                 {10 * n - n * n, "25 at n=5"},
                 {n * n - 10 * n, "1200 at n=40"},
                 {m * (9 * n - n * n), "500 at m=25 n=4"},
                 {n * m + 9 * n - n * n, "289 at m=25 n=17"},
                 {Min(n, m) - n, "0 at m=25 n=2"},
                 {Mod(n, 7), "6 at n=6"},
                 {Mod(n, m), "24 at m=25 n=24"},
                 {FloorDiv(n, m) - FloorDiv(m, 9), "13 at m=3 n=40"},
                 {3 - z, "<= 3"},
                 {n - z, "<= 40"},
                 {z, ""},
                 {n * z, ""},
                 {FloorDiv(1, 0), ""},
                 {n + FloorDiv(n, 0), ""}},
                {{"n", {2, 40}}, {"m", {3, 25}}, {"other", {1, 2}}});
}

// The larger of two times, as one per size and one per run, grows whichever it is.
TEST(LargestValueTest, AMaximumOfWhatGrowsIsAtTheEnd) {
  const Expr u = Expr::Symbol("u", 1), t = Expr::Symbol("t", 1), v = Expr::Symbol("v", -50);
  ExpectLargest({{Max(3 * u * u + 5 * u, 4000 * u + 7), "75025000 at u=5000"},
                 {2 * Max(u * t, 9) + 3 * Min(u, t) - 1, "50014999 at t=5000 u=5000"},
                 {Max(FloorDiv(u, 7) * u, 8 * u), "3570000 at u=5000"},
                 {Max(v, 3) + Max(0 - v, 3), "<= 5050"},
                 {Max(FloorDiv(5000, u), u) + 1, "<= 5001"},
                 {Max(v * u, 3), "<= 25000000"}},
                {{"u", {1, 5000}}, {"t", {1, 5000}}, {"v", {-50, 5000}}});
}

// A thousand combinations are tried; of one more only a bound is known: 90 * 1 - 1 * 1 and more.
TEST(LargestValueTest, ThousandCombinationsAreTried) {
  const Expr n = N(), m = M(), hill = 90 * n - n * n;
  EXPECT_EQ(Described(LargestValue(hill, {{"n", {1, 1000}}})), "2025 at n=45");
  EXPECT_EQ(Described(LargestValue(hill, {{"n", {1, 1001}}})), "<= 90089");
  const Expr two = (90 * n - n * n) * (m * m - 20 * m);
  EXPECT_EQ(Described(LargestValue(two, {{"n", {1, 40}}, {"m", {1, 25}}})), "250000 at m=25 n=40");
  EXPECT_EQ(LargestValue(two, {{"n", {1, 40}}, {"m", {1, 26}}})->exact, false);
  EXPECT_EQ(LargestValue(hill, {{"n", {1, INT64_MAX - 1}}})->exact, false);
}

// Interval arithmetic by hand, where too many sizes would have to be tried.
TEST(LargestValueTest, OtherwiseEveryPartHasItsRange) {
  const Expr u = Expr::Symbol("u"), v = Expr::Symbol("v", -50), t = Expr::Symbol("t");
  const Expr big = Power(10, 37), hill = u * u - 100 * u;
  const Expr broadcast = BroadcastDim(u, t).value();
  ExpectLargest({{100 * u - u * u, "<= 199900"},
                 {Mod(u, 7), "<= 6"},
                 {v * v - 100 * v, "<= 9005000"},
                 {Power(v, 3) - 60 * v * v, "<= 27000000000"},
                 {60 * v * v - Power(v, 3), "<= 540125000"},
                 {10 * Min(v, 3000 - v), "<= 30000"},
                 {Min(2 * v * v + v, 700 * v) - v, "<= 2100050"},
                 {0 - Max(hill, 3 * u), "<= -30"},
                 {Max(hill, 3 * u) - u, "<= 3998990"},
                 {0 - Min(hill, 3 * u), "<= 199900"},
                 {5 * broadcast, "<= 15000"},
                 {0 - broadcast, "<= -2"},
                 {FloorDiv(u * u, t) - u, "<= 1999990"},
                 {u - FloorDiv(u * u, t + 8), "<= 2000"},
                 {big * u * u - big * t * u, ""},
                 {big * u, ""}},
                {{"u", {10, 2000}}, {"v", {-50, 3000}}, {"t", {2, 3000}}});
}

// So many sizes above the least of each symbol.
SizeRanges RangesOf(int64_t first, int64_t last) {
  SizeRanges ranges;
  for (const RandomSymbol& symbol : kRandomSymbols) {
    ranges[symbol.name] = {symbol.at_least + first, symbol.at_least + last};
  }
  return ranges;
}

TEST(LargestValueTest, IsThatOfAllCombinations) {
  const std::vector<Bindings> all = AllBindings(4);
  const SizeRanges ranges = RangesOf(0, 4);
  RandomExprs random(1);
  for (int i = 0; i < 3000; ++i) {
    const Expr e = random.Next(1 + i % 4);
    const TriedValues tried(e, all);
    if (tried.count < static_cast<int>(all.size())) continue;  // not a size for each
    const std::optional<Largest> largest = LargestValue(e, ranges);
    ASSERT_TRUE(largest.has_value() && largest->exact) << e.ToString();
    ASSERT_EQ(largest->value, tried.most) << e.ToString();
    ASSERT_EQ(e.Evaluate(largest->at).value(), tried.most) << e.ToString();
  }
}

TEST(LargestValueTest, NoCombinationIsAboveTheBound) {
  const std::vector<Bindings> all = AllBindings(5);  // 1296 combinations
  const SizeRanges ranges = RangesOf(0, 5);
  RandomExprs random(2);
  int exact = 0, tight = 0;
  for (int i = 0; i < 3000; ++i) {
    const Expr e = random.Next(2 + i % 3);
    const TriedValues tried(e, all);
    const std::optional<Largest> largest = LargestValue(e, ranges);
    if (!largest || tried.count == 0) continue;
    ASSERT_GE(largest->value, tried.most) << e.ToString();
    tight += largest->value == tried.most ? 1 : 0;
    exact += largest->exact ? 1 : 0;
  }
  EXPECT_GE(exact, 2354);
  EXPECT_GE(tight, 2598);
}

}  // namespace
}  // namespace onnxflops::interval_test
