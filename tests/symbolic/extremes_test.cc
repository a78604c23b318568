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

namespace onnxflops::extremes_test {
namespace {

// n is an input's size, d a difference of sizes; x is at most 2n, y at most 3; nothing is known of
// z.
constexpr int kMostY = 3;
constexpr int kTriedZ = 6;
constexpr int kLeastD = -2;

Expr Input() { return Expr::Symbol("n", 1); }
Extremes OfSizes() {
  return Extremes({{"x", 2 * Input()}, {"y", Expr(kMostY)}, {"z", std::nullopt}});
}

Expr RandomExpr(std::mt19937& random, int depth) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  if (depth == 0) {
    const Expr leaves[] = {Input(),           Expr::Symbol("x"), Expr::Symbol("y"),
                           Expr::Symbol("z"), Expr(pick(5) - 1), Expr::Symbol("d", kLeastD)};
    return leaves[pick(6)];
  }
  const Expr a = RandomExpr(random, depth - 1), b = RandomExpr(random, depth - 1);
  switch (pick(8)) {
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
    case 6:
      return BroadcastDim(a, b).value_or(a);
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
        for (int64_t z = 0; z <= kTriedZ; z += 3) {
          for (int64_t d = kLeastD; d <= 1; d += 3) {
            f(Bindings{{"n", n}, {"x", x}, {"y", y}, {"z", z}, {"d", d}});
          }
        }
      }
    }
  }
}

// What a bound is with these sizes of inputs; it has no other symbols.
absl::int128 At(const Expr& bound, const Bindings& at) {
  return bound.Evaluate({{"n", at.at("n")}, {"d", at.at("d")}}).value();
}

// What may be negative has none in a product. How many expressions have bounds shows a change that
// finds fewer.
TEST(ExtremesTest, NoValueIsBeyondThem) {
  std::mt19937 random(17);
  const Extremes sizes = OfSizes();
  int with_low = 0, with_high = 0, values = 0, reached_low = 0, reached_high = 0;
  for (int i = 0; i < 700; ++i) {
    const Expr e = RandomExpr(random, 2 + i % 2);
    if (e.error() != nullptr || !sizes.Varies(e)) continue;
    const std::optional<Expr> low = sizes.Lowest(e), high = sizes.Highest(e);
    with_low += low ? 1 : 0;
    with_high += high ? 1 : 0;
    const Expr raised = sizes.HighestKnown(e);
    ForEachBinding([&](const Bindings& at) {
      const auto value = e.Evaluate(at);
      if (!value.ok()) return;  // broadcasts two sizes
      ++values;
      if (low.has_value()) {
        ASSERT_LE(At(*low, at), *value) << e.ToString();
        reached_low += At(*low, at) == *value ? 1 : 0;
      }
      if (high.has_value()) {
        ASSERT_GE(At(*high, at), *value) << e.ToString();
        reached_high += At(*high, at) == *value ? 1 : 0;
      }
      ASSERT_GE(raised.Evaluate(at).value(), *value) << e.ToString() << " " << raised.ToString();
    });
  }
  EXPECT_GE(values, 170669);
  EXPECT_GE(with_low, 413);
  EXPECT_GE(with_high, 233);
  EXPECT_GE(reached_low, 38736);
  EXPECT_GE(reached_high, 21391);
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

// As they print; "" if there is none.
std::string Ends(const Extremes& sizes, const Expr& e) {
  const std::optional<Expr> low = sizes.Lowest(e), high = sizes.Highest(e);
  return absl::StrCat(low ? low->ToString() : "", " to ", high ? high->ToString() : "");
}

struct EndsCase {
  Expr e;
  const char* ends;
};
void ExpectEnds(const std::vector<EndsCase>& cases) {
  for (const EndsCase& c : cases) EXPECT_EQ(Ends(OfSizes(), c.e), c.ends) << c.e.ToString();
}

TEST(ExtremesTest, FormulasOfTheInputs) {
  const Expr n = Input(), x = Expr::Symbol("x"), y = Expr::Symbol("y"), z = Expr::Symbol("z"),
             d = Expr::Symbol("d", kLeastD);
  ExpectEnds({{8 * x + n, "n to 17*n"},
              {x * y, "0 to 6*n"},
              {z + 1, "1 to "},
              {10 * n - x, "8*n to 10*n"},
              {n * n, "n^2 to n^2"},
              {n * x * x, "0 to 4*n^3"},
              {x * z, "0 to "},
              {0 - z, " to 0"},
              {z - x, "-2*n to "},
              {7, "7 to 7"},
              {d, "d to d"},
              {d + x, "d to d + 2*n"},
              {5 - d + x, "-d + 5 to -d + 2*n + 5"},
              {d * x, " to "},
              {d * d * x - x, "-2*n to 2*d^2*n"},
              {n * (x + 1) * (y + 2), "2*n to 10*n^2 + 5*n"},
              {Power(y - 1, 2), "-5 to 10"},
              {FloorDiv(x, 0), "(divides by zero) to (divides by zero)"}});
}

TEST(ExtremesTest, OfMinimaMaximaAndBroadcasts) {
  const Expr n = Input(), x = Expr::Symbol("x"), y = Expr::Symbol("y"), z = Expr::Symbol("z"),
             d = Expr::Symbol("d", kLeastD);
  ExpectEnds({{100 * Min(z, 1000), "0 to 100000"},
              {Min(x, n), "0 to n"},
              {Min(z, n), "0 to n"},
              {Min(z, y), "0 to 3"},
              {Max(x, n), "n to 2*n"},
              {Max(z, n), "n to "},
              {Max(z + 2, n), "max(2, n) to "},
              {Max(y, d), "max(0, d) to max(3, d)"},
              {Min(y - 2, d), "-2 to "},
              {n - Min(x, n), "0 to n"},
              {Min(z * d, n), " to "},
              {Max(0 - z, 3 - z), " to 3"},
              {BroadcastDim(x, n).value(), "0 to 2*n"},
              {BroadcastDim(x + 3, n).value(), "min(3, n) to 2*n + 3"},
              {BroadcastDim(z, n).value(), "0 to "}});
}

TEST(ExtremesTest, OfQuotients) {
  const Expr n = Input(), x = Expr::Symbol("x"), y = Expr::Symbol("y"), z = Expr::Symbol("z"),
             d = Expr::Symbol("d", kLeastD);
  ExpectEnds({{FloorDiv(x + 3, 2), "1 to n + 1"},
              {FloorDiv(x + 3, n), "floor(3/n) to floor(3/n) + 2"},
              {FloorDiv(7 * n, x + 1), "floor(7*n/(2*n + 1)) to 7*n"},
              {FloorDiv(7 * n, y), "floor(7*n/3) to 7*n"},
              {FloorDiv(n, z + 2), "0 to "},
              {FloorDiv(n + z, y + 1), "floor(n/4) to "},
              {FloorDiv(x, d), " to "},
              {FloorDiv(n, x - 3), " to "},
              {FloorDiv(d, y + 1), "-2 to "},
              {FloorDiv(y - 2, 2), "-1 to 0"}});
}

TEST(ExtremesTest, WhetherASizeIsInIt) {
  const Expr n = Input(), x = Expr::Symbol("x");
  const Extremes sizes = OfSizes();
  for (const Expr& e : {Expr(3), n, n * n + 2, Min(n, 7), FloorDiv(1, 0)}) {
    EXPECT_FALSE(sizes.Varies(e)) << e.ToString();
  }
  for (const Expr& e : {x, n * x + n, n + x * n, Min(n, Max(x, 7)), FloorDiv(n, x + 1)}) {
    EXPECT_TRUE(sizes.Varies(e)) << e.ToString();
  }
}

TEST(ExtremesTest, TermsWithoutBoundStay) {
  const Expr n = Input(), x = Expr::Symbol("x"), z = Expr::Symbol("z");
  EXPECT_EQ(OfSizes().HighestKnown(5 * x + 7 * z), 10 * n + 7 * z);
  EXPECT_EQ(OfSizes().HighestKnown(n * n + 3), n * n + 3);
  EXPECT_EQ(OfSizes().HighestKnown(9 - x * z + 2 * x), 4 * n + 9);
}

}  // namespace
}  // namespace onnxflops::extremes_test
