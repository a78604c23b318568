#include "src/symbolic/point_values.h"

#include "gtest/gtest.h"
#include "src/symbolic/expr.h"
#include "tests/symbolic/random_expr.h"

namespace onnxflops::point_values_test {
namespace {

// What bounds prove, samples may not deny, and much that is not so they deny.
TEST(SamplesTest, DenyNothingThatIsProven) {
  RandomExprs random(7);
  int proven = 0, denied = 0, open = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Expr a = random.Next(4), b = random.Next(4);
    if (a.error() != nullptr || b.error() != nullptr) continue;
    const bool may = PointValues(a).MayBeAtLeast(PointValues(b));
    ++(!may ? denied : a.AtLeast(b) ? proven : open);
    ASSERT_TRUE(may || !a.AtLeast(b)) << a.ToString() << " >= " << b.ToString();
  }
  EXPECT_GT(proven, 1000);
  EXPECT_GT(denied, open);
}

// 2*a + 5 - a is a + 5, however it came about; a + 4 is less.
TEST(SamplesTest, AreThoseOfASum) {
  const Expr a = Expr::Symbol("a", 1);
  PointValues sum(2 * a);
  sum.Add(5);
  sum.Add(PointValues(a), -1);
  EXPECT_TRUE(sum.MayBeAtLeast(PointValues(a + 5)) && PointValues(a + 5).MayBeAtLeast(sum));
  EXPECT_FALSE(PointValues(a + 4).MayBeAtLeast(sum));
}

// A part without a value somewhere says nothing there, until it is gone.
TEST(SamplesTest, PartsWithoutAValue) {
  const PointValues huge(Power(Expr::Symbol("c", 2), 200));  // overflows at all of them
  PointValues sum = huge;
  EXPECT_TRUE(PointValues(0).MayBeAtLeast(huge) && sum.MayBeAtLeast(PointValues(1)));
  sum.Add(huge, -1);
  EXPECT_FALSE(sum.MayBeAtLeast(PointValues(1)));
}

}  // namespace
}  // namespace onnxflops::point_values_test
