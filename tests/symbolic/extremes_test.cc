// Bounds of expressions, against every value of their symbols.
#include "src/symbolic/extremes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "src/symbolic/expr.h"

namespace onnxflops {
namespace {

// n is an input's size; x is at most 2n, y at most 3; nothing is known of z.
constexpr int kMostY = 3;
constexpr int kTriedZ = 6;

Expr Input() { return Expr::Symbol("n", 1); }
Extremes OfSizes() {
  return Extremes({{"x", 2 * Input()}, {"y", Expr(kMostY)}, {"z", std::nullopt}});
}

Expr RandomExpr(std::mt19937& random, int depth) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  if (depth == 0) {
    const Expr leaves[] = {Input(), Expr::Symbol("x"), Expr::Symbol("y"), Expr::Symbol("z"),
                           Expr(pick(5))};
    return leaves[pick(5)];
  }
  const Expr a = RandomExpr(random, depth - 1), b = RandomExpr(random, depth - 1);
  switch (pick(7)) {
    case 0:
      return a - b;
    case 1:
      return a * b;
    case 2:
      return Min(a, b);
    case 3:
      return Max(a, b);
    case 4:
      return FloorDiv(a, 1 + pick(3));
    case 5:
      return FloorDiv(a, Max(b, 1));
    default:
      return a + b;
  }
}

// Calls f with every binding within the bounds; of z, with some.
template <typename F>
void ForEachBinding(const F& f) {
  for (int64_t n = 1; n <= 3; ++n) {
    for (int64_t x = 0; x <= 2 * n; ++x) {
      for (int64_t y = 0; y <= kMostY; ++y) {
        for (int64_t z = 0; z <= kTriedZ; ++z) f(Bindings{{"n", n}, {"x", x}, {"y", y}, {"z", z}});
      }
    }
  }
}

TEST(ExtremesTest, NoValueIsBeyondThem) {
  std::mt19937 random(17);
  const Extremes sizes = OfSizes();
  int bounded = 0;
  for (int i = 0; i < 800; ++i) {
    const Expr e = RandomExpr(random, 3);
    if (e.error() != nullptr) continue;
    const std::optional<Expr> low = sizes.Lowest(e), high = sizes.Highest(e);
    bounded += low && high ? 1 : 0;
    const Expr raised = sizes.HighestKnown(e);
    ForEachBinding([&](const Bindings& at) {
      const auto value = e.Evaluate(at);
      if (!value.ok()) return;  // broadcasts two sizes
      if (low.has_value()) {
        EXPECT_LE(low->Evaluate(at).value(), *value) << e.ToString();
      }
      if (high.has_value()) {
        EXPECT_GE(high->Evaluate(at).value(), *value) << e.ToString();
      }
      EXPECT_GE(raised.Evaluate(at).value(), *value) << e.ToString() << " " << raised.ToString();
    });
  }
  EXPECT_GT(bounded, 250);
}

TEST(ExtremesTest, HasNoneOfTheSizes) {
  std::mt19937 random(18);
  const Extremes sizes = OfSizes();
  for (int i = 0; i < 3000; ++i) {
    const Expr e = RandomExpr(random, 3);
    for (const std::optional<Expr>& bound : {sizes.Lowest(e), sizes.Highest(e)}) {
      if (bound.has_value()) {
        EXPECT_FALSE(sizes.Varies(*bound)) << e.ToString() << " " << bound->ToString();
      }
    }
  }
}

TEST(ExtremesTest, FormulasOfTheInputs) {
  const Expr n = Input(), x = Expr::Symbol("x"), y = Expr::Symbol("y"), z = Expr::Symbol("z");
  const struct {
    Expr e;
    const char *low, *high;  // "" if none
  } cases[] = {
      {8 * x + n, "n", "17*n"}, {x * y, "0", "6*n"},         {100 * Min(z, 1000), "0", "100000"},
      {z + 1, "1", ""},         {10 * n - x, "8*n", "10*n"}, {FloorDiv(x + 3, 2), "1", "n + 1"},
      {n * n, "n^2", "n^2"},
  };
  const Extremes sizes = OfSizes();
  for (const auto& c : cases) {
    const std::optional<Expr> low = sizes.Lowest(c.e), high = sizes.Highest(c.e);
    EXPECT_EQ(low ? low->ToString() : "", c.low) << c.e.ToString();
    EXPECT_EQ(high ? high->ToString() : "", c.high) << c.e.ToString();
  }
}

TEST(ExtremesTest, TermsWithoutBoundStay) {
  const Expr x = Expr::Symbol("x"), z = Expr::Symbol("z");
  EXPECT_EQ(OfSizes().HighestKnown(5 * x + 7 * z), 10 * Input() + 7 * z);
}

}  // namespace
}  // namespace onnxflops
