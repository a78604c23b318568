// What depends on constants only, and so may be computed before the model runs: by hand, through
// branches and loops as well.
#include <gtest/gtest.h>

#include "src/onnxflops.h"
#include "tests/model_text.h"

namespace onnxflops {
namespace {

constexpr int kOpset = 18;

struct Case {
  const char *flops, *foldable;
  const char* graph;
};

constexpr Case kCases[] = {
    {"2*N + 2", "2",
     "g (float[N,2] x) => (float[N,2] y) { v = Constant<value_floats=[1.0,2.0]>() e = Exp(v) "
     "y = Add(x, e) }"},
    // A loop over constants: 20 trips, and Exp of what it gives.
    {"42", "42",
     "g () => (float[2] y) { m = Constant<value_int=20>() v = Constant<value_floats=[1.0,2.0]>() "
     "z = Loop(m, , v) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) "
     "{ d = Identity(c) t = Add(s, v) }> y = Exp(z) }"},
    // It adds an input to constants.
    {"42", "0",
     "g (float[2] x) => (float[2] y) { m = Constant<value_int=20>() "
     "v = Constant<value_floats=[1.0,2.0]>() z = Loop(m, , v) <body = b (int64 i, bool c, float[2] "
     "s) => (bool d, float[2] t) { d = Identity(c) t = Add(s, x) }> y = Exp(z) }"},
    // What each trip gives, stacked.
    {"60", "60",
     "g () => (float[20,1] y) { m = Constant<value_int=20>() v = Constant<value_floats=[1.0]>() "
     "s, z = Loop(m, , v) <body = b (int64 i, bool c, float[1] s) => (bool d, float[1] t, float[1] "
     "u) { d = Identity(c) t = Add(s, v) u = Exp(s) }> y = Exp(z) }"},
    // What begins as a constant is none after a trip, nor is what is made of it then; of 20 trips,
    // and of 2000, which are not followed one by one.
    {"80", "2",
     "g (float[2] x, int64 m) => (float[2] y, float[K,2] z) { c = Constant<value_int=20>() "
     "v = Constant<value_floats=[1.0,2.0]>() y, z = Loop(c, , v) <body = b (int64 i, bool c, "
     "float[2] s) => (bool d, float[2] t, float[2] u) { d = Identity(c) t = Add(s, x) u = Exp(s) "
     "}> }"},
    {"8000", "0",
     "g (float[2] x, int64 m) => (float[2] y, float[K,2] z) { c = Constant<value_int=2000>() "
     "v = Constant<value_floats=[1.0,2.0]>() y, z = Loop(c, , v) <body = b (int64 i, bool c, "
     "float[2] s) => (bool d, float[2] t, float[2] u) { d = Identity(c) t = Add(s, x) u = Exp(s) "
     "}> }"},
    // An input decides how many trips there are: what they do stays the same, not what comes out.
    {"2*trips(n2) + 2", "2*trips(n2)",
     "g (bool e) => (float[2] y) { m = Constant<value_int=20>() v = Constant<value_floats=[1.0,2.0]"
     ">() z = Loop(m, , v) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) "
     "{ d = Identity(e) t = Add(s, v) }> y = Exp(z) }"},
    // A state that a Scan hands to another one, which hands it to the next.
    {"2*N + 4", "2",
     "g (float[N,2] x) => (float[2] y) { v = Constant<value_floats=[1.0,2.0]>() e = Exp(v) "
     "p, q, r, z = Scan(e, e, e, x) <num_scan_inputs=1, body = b (float[2] p, float[2] q, float[2] "
     "r, float[2] xi) => (float[2] p1, float[2] q1, float[2] r1, float[2] w) { p1 = Identity(xi) "
     "q1 = Identity(p) r1 = Identity(q) w = Exp(r) }> y = Exp(r) }"},
    // Branches of constants, by a condition that is given: that of the branch alone.
    {"4", "2",
     "g (bool c) => (float[2] y) { z = If(c) <then_branch = t () => (float[2] a) "
     "{ v = Constant<value_floats=[1.0,2.0]>() a = Exp(v) }, else_branch = e () => (float[2] b) "
     "{ w = Constant<value_floats=[3.0,4.0]>() b = Neg(w) }> y = Exp(z) }"},
    // A sequence of constants; a random number is none.
    {"2", "2",
     "g () => (float[2] y) { i = Constant<value_int=0>() v = Constant<value_floats=[1.0,2.0]>() "
     "s = SequenceConstruct(v, v) z = SequenceAt(s, i) y = Exp(z) }"},
    {"2", "0", "g () => (float[2] y) { z = RandomNormal<shape=[2]>() y = Exp(z) }"},
};

TEST(FoldableTest, IsWhatDependsOnConstantsOnly) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.graph);
    const absl::StatusOr<Report> report = Count(ModelFromText(c.graph, kOpset));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.flops.ToString(), c.flops);
    EXPECT_EQ(report->totals.foldable_flops.ToString(), c.foldable);
  }
}

// Arithmetic on sizes is left out of what a model costs, but for products: of 2 sizes twice 2.
TEST(ShapeWorkTest, CountsForItsMultiplyAccumulatesOnly) {
  const Model model = ModelFromText(
      "g (float[M,N] x) => (float[K] y) { s = Shape(x) t = Add(s, s) p = MatMul(t, s) "
      "a = Constant<value_ints=[0]>() q = Unsqueeze(p, a) y = ConstantOfShape(q) }",
      kOpset);
  const absl::StatusOr<Report> report = Count(model);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.int_ops.ToString(), "4");
  EXPECT_EQ(report->totals.macs.ToString(), "2");
}

}  // namespace
}  // namespace onnxflops
