#include "src/symbolic/samples.h"

#include "gtest/gtest.h"
#include "src/symbolic/expr.h"
#include "tests/symbolic/random_expr.h"

namespace onnxflops {
namespace {

// What bounds prove, samples may not deny, and much that is not so they deny.
TEST(SamplesTest, DenyNothingThatIsProven) {
  RandomExprs random(7);
  int proven = 0, denied = 0, open = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Expr a = random.Next(4), b = random.Next(4);
    if (a.error() != nullptr || b.error() != nullptr) continue;
    const bool may = Samples(a).MayBeAtLeast(Samples(b));
    ++(!may ? denied : a.AtLeast(b) ? proven : open);
    ASSERT_TRUE(may || !a.AtLeast(b)) << a.ToString() << " >= " << b.ToString();
  }
  EXPECT_GT(proven, 1000);
  EXPECT_GT(denied, open);
}

// 2*a + 5 - a is a + 5, however it came about; a + 4 is less.
TEST(SamplesTest, AreThoseOfASum) {
  const Expr a = Expr::Symbol("a", 1);
  Samples sum(2 * a);
  sum.Add(5);
  sum.Add(Samples(a), -1);
  EXPECT_TRUE(sum.MayBeAtLeast(Samples(a + 5)) && Samples(a + 5).MayBeAtLeast(sum));
  EXPECT_FALSE(Samples(a + 4).MayBeAtLeast(sum));
}

// A part without a value somewhere says nothing there, until it is gone.
TEST(SamplesTest, PartsWithoutAValue) {
  const Samples huge(Power(Expr::Symbol("c", 2), 200));  // overflows at all of them
  Samples sum = huge;
  EXPECT_TRUE(Samples(0).MayBeAtLeast(huge) && sum.MayBeAtLeast(Samples(1)));
  sum.Add(huge, -1);
  EXPECT_FALSE(sum.MayBeAtLeast(Samples(1)));
}

}  // namespace
}  // namespace onnxflops
