// What depends on constants only, and so may be computed before the model runs: by hand, through
// branches and loops as well.
#include <gtest/gtest.h>

#include "src/onnxflops.h"
#include "tests/model_text.h"

namespace onnxflops::foldable_test {
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
    // Sizes grow: what a trip begins with comes from x after the first one, or after the third.
    {"40210", "10",
     "g (float[2] x) => (float[K] y) { m = Constant<value_int=200>() v = "
     "Constant<value_floats=[1.0,2.0]>() w = Softmax(v) z, p9 = Loop(m, , v, v) <body = b "
     "(int64 i, bool c, float[L] s, float[2] p) => (bool d, float[M] t, float[2] q) { d = "
     "Identity(c) e = Exp(s) t = Concat<axis=0>(e, p) q = Identity(x) }> y = Identity(z) }"},
    {"810", "10",
     "g (float[2] x) => (float[K] y) { m = Constant<value_int=200>() v = "
     "Constant<value_floats=[1.0,2.0]>() w = Softmax(v) z, z1, z2, z3, z4 = Loop(m, , w, w, "
     "w, w, w) <body = b (int64 i, bool c, float[L] s, float[2] p, float[2] q, float[2] r, "
     "float[2] u) => (bool d, float[M] t, float[2] p1, float[2] q1, float[2] r1, float[2] u1) "
     "{ d = Identity(c) t = Concat<axis=0>(s, v) p1 = Identity(x) q1 = Identity(p) r1 = "
     "Identity(q) u1 = Identity(r) e = Exp(u) f = Exp(r) }> y = Identity(z) }"},
    // Through more states than there are passes; of what does not come from them all is known.
    {"410", "10",
     "g (float[2] x) => (float[K] y) { m = Constant<value_int=200>() v = "
     "Constant<value_floats=[1.0,2.0]>() w = Softmax(v) z0, z1, z2, z3, z4, z5, z6, z7, z8, z "
     "= Loop(m, , w, w, w, w, w, w, w, w, w, w) <body = b (int64 i, bool c, float[2] p0, "
     "float[2] p1, float[2] p2, float[2] p3, float[2] p4, float[2] p5, float[2] p6, float[2] "
     "p7, float[2] p8, float[L] s) => (bool d, float[2] p0o, float[2] p1o, float[2] p2o, "
     "float[2] p3o, float[2] p4o, float[2] p5o, float[2] p6o, float[2] p7o, float[2] p8o, "
     "float[M] t) { d = Identity(c) p0o = Identity(x) p1o = Identity(p0) p2o = Identity(p1) "
     "p3o = Identity(p2) p4o = Identity(p3) p5o = Identity(p4) p6o = Identity(p5) p7o = "
     "Identity(p6) p8o = Identity(p7) t = Concat<axis=0>(s, v) e = Exp(p8) }> y = Identity(z) "
     "}"},
    // A sequence or an optional from two branches, of which one is of data.
    {"2", "0",
     "g (float[2] x) => (float[2] y) { v = Constant<value_floats=[1.0,2.0]>() w = Softmax(v) "
     "h = Constant<value_float=0.5>() sum = ReduceSum<keepdims=0>(w) c = Greater(sum, h) k = "
     "Constant<value_int=0>() z = If(c) <then_branch = t () => (seq(float[2]) a) { a = "
     "SequenceConstruct(w, w) }, else_branch = e () => (seq(float[2]) b) { b = "
     "SequenceConstruct(x, x, x) }> o = SequenceAt(z, k) y = Exp(o) }"},
    {"2", "0",
     "g (float[2] x) => (float[2] y) { v = Constant<value_floats=[1.0,2.0]>() w = Softmax(v) "
     "h = Constant<value_float=0.5>() sum = ReduceSum<keepdims=0>(w) c = Greater(sum, h) z = "
     "If(c) <then_branch = t () => (optional(float[2]) a) { a = Optional(w) }, else_branch = "
     "e () => (optional(float[2]) b) { b = Optional(x) }> o = OptionalGetElement(z) y = "
     "Exp(o) }"},
    // Slices of constants.
    {"22", "22",
     "g () => (float[3,2] y) { v = Constant<value_floats=[1.0,2.0]>() w = Softmax(v) n = "
     "Constant<value_ints=[3,2]>() s = Expand(w, n) u = Scan(s) <num_scan_inputs=1, body = b "
     "(float[2] si) => (float[2] o) { o = Exp(si) }> y = Exp(u) }"},
    // A sequence of constants that gets longer.
    {"50", "50",
     "g () => (float[K] y) { m = Constant<value_int=20>() v = "
     "Constant<value_floats=[1.0,2.0]>() w = Softmax(v) q = SequenceEmpty() z = Loop(m, , q) "
     "<body = b (int64 i, bool c, seq(float[2]) s) => (bool d, seq(float[2]) t) { d = "
     "Identity(c) t = SequenceInsert(s, w) }> a = ConcatFromSequence<axis=0>(z) y = Exp(a) }"},
    {"4010", "4010",
     "g () => (float[K] y) { m = Constant<value_int=2000>() v = "
     "Constant<value_floats=[1.0,2.0]>() w = Softmax(v) q = SequenceEmpty() z = Loop(m, , q) "
     "<body = b (int64 i, bool c, seq(float[2]) s) => (bool d, seq(float[2]) t) { d = "
     "Identity(c) t = SequenceInsert(s, w) }> a = ConcatFromSequence<axis=0>(z) y = Exp(a) }"},
    // What is made of each item of a sequence.
    {"18", "18",
     "g () => (float[2] y) { v = Constant<value_floats=[1.0,2.0]>() w = Softmax(v) k = "
     "Constant<value_int=0>() q = SequenceConstruct(w, w, w) z = SequenceMap(q) <body = b "
     "(float[2] s) => (float[2] t) { t = Exp(s) }> o = SequenceAt(z, k) y = Exp(o) }"},
    // A condition that holds after every trip, by the sizes of x: how many trips there are is not
    // of x.
    {"20512", "20512",
     "g (float[N] x) => (float[K] y) { m = Constant<value_int=200>() v = "
     "Constant<value_floats=[1.0,2.0]>() w = Softmax(v) one = Constant<value_ints=[1]>() n0 = "
     "Shape(x) k9, z = Loop(m, , one, w) <body = b (int64 i, bool c, int64[1] k, float[2] p) "
     "=> (bool d, int64[1] k1, float[2] p1) { zero = Constant<value_ints=[0]>() a = Add(k, "
     "n0) g = Greater(a, zero) d = Squeeze(g) e = ConstantOfShape(k) f = Exp(e) k1 = Add(k, "
     "one) p1 = Add(p, v) }> y = Exp(z) }"},
    // A sequence of the last of many states that are handed on, and states with contents.
    {"4012", "10",
     "g (float[2] x) => (float[K] y) { m = Constant<value_int=2000>() v = "
     "Constant<value_floats=[1.0,2.0]>() w = Softmax(v) q = SequenceConstruct(w) z0, z1, z2, "
     "zs = Loop(m, , w, w, w, q) <body = b (int64 i, bool c, float[2] p0, float[2] p1, "
     "float[2] p2, seq(float[2]) s) => (bool d, float[2] p0o, float[2] p1o, float[2] p2o, "
     "seq(float[2]) so) { d = Identity(c) p0o = Identity(x) p1o = Identity(p0) p2o = "
     "Identity(p1) e = Exp(p2) so = SequenceConstruct(p2) }> k = Constant<value_int=0>() l = "
     "SequenceAt(zs, k) y = Exp(l) }"},
    {"4012", "10",
     "g (float[2] x) => (float[K] y) { m = Constant<value_int=2000>() v = "
     "Constant<value_floats=[1.0,2.0]>() w = Softmax(v) q = SequenceConstruct(w) z0, z1, z2, "
     "z3, z4, z5, z6, zs = Loop(m, , w, w, w, w, w, w, w, q) <body = b (int64 i, bool c, "
     "float[2] p0, float[2] p1, float[2] p2, float[2] p3, float[2] p4, float[2] p5, float[2] "
     "p6, seq(float[2]) s) => (bool d, float[2] p0o, float[2] p1o, float[2] p2o, float[2] "
     "p3o, float[2] p4o, float[2] p5o, float[2] p6o, seq(float[2]) so) { d = Identity(c) p0o "
     "= Identity(x) p1o = Identity(p0) p2o = Identity(p1) p3o = Identity(p2) p4o = "
     "Identity(p3) p5o = Identity(p4) p6o = Identity(p5) e = Exp(p6) so = "
     "SequenceConstruct(p6) }> k = Constant<value_int=0>() l = SequenceAt(zs, k) y = Exp(l) }"},
    {"4002", "0",
     "g (float[2] x) => (float[K] y) { m = Constant<value_int=2000>() o = "
     "Constant<value_floats=[0.0,0.0]>() z0, z1, z2, z3, z4, z5, z6 = Loop(m, , o, o, o, o, "
     "o, o, o) <body = b (int64 i, bool c, float[2] p0, float[2] p1, float[2] p2, float[2] "
     "p3, float[2] p4, float[2] p5, float[2] p6) => (bool d, float[2] p0o, float[2] p1o, "
     "float[2] p2o, float[2] p3o, float[2] p4o, float[2] p5o, float[2] p6o) { d = Identity(c) "
     "p0o = Identity(x) p1o = Identity(p0) p2o = Identity(p1) p3o = Identity(p2) p4o = "
     "Identity(p3) p5o = Identity(p4) p6o = Identity(p5) e = Exp(p6) }> y = Exp(z6) }"},
    // A loop that nothing comes out of.
    {"18", "10",
     "g (float[2] x) => (float[2] y) { m = Constant<value_int=3>() v = "
     "Constant<value_floats=[1.0,2.0]>() w = Softmax(v) z = Loop(m) <body = b (int64 i, bool "
     "c) => (bool d) { d = Identity(c) e = Exp(x) }> y = Exp(x) }"},
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
}  // namespace onnxflops::foldable_test
