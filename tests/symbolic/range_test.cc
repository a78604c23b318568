// Ranges of values, against every value between their ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/poly.h"
#include "tests/symbolic/random_expr.h"
#include "tests/symbolic/symbols.h"

namespace onnxflops::range_test {
namespace {

using symbolic::Int;
using symbolic::Range;

std::string Described(const Range& r) {
  const auto end = [](const std::optional<Int>& v) { return v ? Int128ToString(*v) : "*"; };
  return absl::StrCat(end(r.lo), " to ", end(r.hi));
}

// What is without an end goes on to `far`.
template <typename F>
void ForEachIn(const Range& r, Int far, const F& f) {
  for (Int v = r.lo.value_or(-far), last = r.hi.value_or(far); v <= last; ++v) f(v);
}

// The least range with all values of f(x, y); where they go on as x and y do, it has no end.
template <typename F>
Range Tried(const Range& x, const Range& y, const F& f) {
  std::optional<Int> lo[2], hi[2];
  for (const int i : {0, 1}) {
    ForEachIn(x, i == 0 ? 20 : 40, [&](Int a) {
      ForEachIn(y, i == 0 ? 20 : 40, [&](Int b) {
        const std::optional<Int> value = f(a, b);
        if (!value) return;
        lo[i] = std::min(lo[i].value_or(*value), *value);
        hi[i] = std::max(hi[i].value_or(*value), *value);
      });
    });
  }
  return {lo[0] == lo[1] ? lo[0] : std::nullopt, hi[0] == hi[1] ? hi[0] : std::nullopt};
}

// All ranges between small numbers, with an end or without.
std::vector<Range> SmallRanges(int most) {
  std::vector<Range> ranges;
  for (int lo = -most - 1; lo <= most; ++lo) {
    for (int hi = std::max(lo, -most); hi <= most + 1; ++hi) {
      Range r;
      if (lo >= -most) r.lo = lo;
      if (hi <= most) r.hi = hi;
      ranges.push_back(r);
    }
  }
  return ranges;
}

TEST(RangeTest, SumsAndProducts) {
  const std::vector<Range> ranges = SmallRanges(3);
  for (const Range& x : ranges) {
    for (const Range& y : ranges) {
      const std::string at = absl::StrCat(Described(x), " and ", Described(y));
      const auto sum = [](Int a, Int b) { return std::optional<Int>(a + b); };
      const auto product = [](Int a, Int b) { return std::optional<Int>(a * b); };
      EXPECT_EQ(Described(x + y), Described(Tried(x, y, sum))) << at;
      EXPECT_EQ(Described(x * y), Described(Tried(x, y, product))) << at;
    }
  }
}

TEST(RangeTest, Powers) {
  for (const Range& x : SmallRanges(4)) {
    for (int power = 1; power <= 7; ++power) {
      const auto f = [&](Int a, Int /*b*/) {
        Int result = 1;
        for (int i = 0; i < power; ++i) result *= a;
        return std::optional<Int>(result);
      };
      EXPECT_EQ(Described(symbolic::PowRange(x, power)), Described(Tried(x, {Int{0}, Int{0}}, f)))
          << Described(x) << " to the power " << power;
    }
  }
}

std::optional<Int> Quotient(Int a, Int b) {
  if (b == 0) return std::nullopt;
  Int q = 0;
  while (b > 0 ? (q + 1) * b <= a : (q + 1) * b >= a) ++q;
  while (b > 0 ? q * b > a : q * b < a) --q;
  return q;
}

// Of a divisor of either sign no more is said than that a quotient is no larger than the dividend.
TEST(RangeTest, Quotients) {
  const std::vector<Range> ranges = SmallRanges(5);
  for (const Range& n : ranges) {
    for (const Range& d : ranges) {
      const Range found = symbolic::FloorDivRange(n, d), tried = Tried(n, d, Quotient);
      const std::string at = absl::StrCat(Described(n), " by ", Described(d));
      const bool is_tight = d.hi.value_or(1) > 0 || *d.hi < 0;
      if (is_tight && !(d.lo == Int{0} && d.hi == Int{0})) {
        EXPECT_EQ(Described(found), Described(tried)) << at;
      } else if (tried.lo.has_value() && tried.hi.has_value()) {
        EXPECT_LE(found.lo.value_or(*tried.lo), *tried.lo) << at;
        EXPECT_GE(found.hi.value_or(*tried.hi), *tried.hi) << at;
      }
    }
  }
}

// What fits into no 128 bits is no bound.
TEST(RangeTest, Overflows) {
  using symbolic::kIntMax;
  using symbolic::kIntMin;
  const Range all = {kIntMin, kIntMax}, one = {Int{1}, Int{1}}, minus = {Int{-1}, Int{-1}};
  EXPECT_EQ(Described(all + one), absl::StrCat(Int128ToString(kIntMin + 1), " to *"));
  EXPECT_EQ(Described(all + minus), absl::StrCat("* to ", Int128ToString(kIntMax - 1)));
  EXPECT_EQ(Described(all * minus), absl::StrCat(Int128ToString(-kIntMax), " to *"));
  EXPECT_EQ(Described(all * all), "* to *");
  EXPECT_EQ(Described(symbolic::PowRange({Int{-3}, Int{1} << 64}, 2)), "0 to *");
  EXPECT_EQ(Described(symbolic::PowRange({-(Int{1} << 64), Int{2}}, 3)), "* to 8");
  EXPECT_EQ(symbolic::NegateBound(kIntMin), std::nullopt);
  EXPECT_EQ(symbolic::NegateBound(kIntMax), kIntMin + 1);
  EXPECT_EQ(Described(FloorDivRange(all, minus)), absl::StrCat(Int128ToString(-kIntMax), " to *"));
  EXPECT_EQ(Described(FloorDivRange(all, one)), Described(all));
}

// Bounds of random expressions, and how many of them are as sharp as they can be: a change that
// makes them less sharp shows here.
TEST(BoundsTest, NoValueIsBeyondThem) {
  const std::vector<Bindings> all = AllBindings(3);
  RandomExprs random(3);
  int low = 0, high = 0, tight_low = 0, tight_high = 0;
  for (int i = 0; i < 6000; ++i) {
    const Expr e = random.Next(1 + i % 4);
    const TriedValues tried(e, all);
    if (e.is_literal() || tried.count == 0) continue;
    const auto lower = e.LowerBound(), upper = e.UpperBound();
    ASSERT_LE(lower.value_or(tried.least), tried.least) << e.ToString();
    ASSERT_GE(upper.value_or(tried.most), tried.most) << e.ToString();
    low += lower.has_value() ? 1 : 0;
    high += upper.has_value() ? 1 : 0;
    tight_low += lower == tried.least ? 1 : 0;
    tight_high += upper == tried.most ? 1 : 0;
  }
  EXPECT_GE(low, 2898);
  EXPECT_GE(high, 600);
  EXPECT_GE(tight_low, 2659);
  EXPECT_GE(tight_high, 489);
}

// What two expressions prove of each other, and how often.
TEST(BoundsTest, ProofsHoldForAllSizes) {
  const std::vector<Bindings> all = AllBindings(2);
  RandomExprs random(4);
  int equal = 0, different = 0, less = 0, not_less = 0, at_least = 0;
  for (int i = 0; i < 5000; ++i) {
    const Expr a = random.Next(i % 3), b = i % 2 == 0 ? a + random.Next(2) : random.Next(i % 4);
    const std::optional<bool> same = ProvablyEqual(a, b), below = ProvablyLess(a, b);
    for (const Bindings& at : all) {
      const auto x = a.Evaluate(at), y = b.Evaluate(at);
      if (!x.ok() || !y.ok()) continue;
      ASSERT_EQ(same.value_or(*x == *y), *x == *y) << a.ToString() << ", " << b.ToString();
      ASSERT_EQ(below.value_or(*x < *y), *x < *y) << a.ToString() << ", " << b.ToString();
      ASSERT_TRUE(!a.AtLeast(b) || *x >= *y) << a.ToString() << ", " << b.ToString();
    }
    (same.value_or(false) ? equal : different) += same.has_value() ? 1 : 0;
    (below.value_or(false) ? less : not_less) += below.has_value() ? 1 : 0;
    at_least += a.AtLeast(b) ? 1 : 0;
  }
  EXPECT_GE(equal, 146);
  EXPECT_GE(different, 1584);
  EXPECT_GE(less, 1026);
  EXPECT_GE(not_less, 832);
  EXPECT_GE(at_least, 832);
}

}  // namespace
}  // namespace onnxflops::range_test
