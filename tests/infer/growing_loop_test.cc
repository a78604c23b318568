// Loops whose sizes change from trip to trip: sums over trips against loops that are written out,
// and against adding up by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "tests/model_text.h"

namespace onnxflops::growing_loop_test {
namespace {

constexpr int kOpset = 20;

struct LoopCase {
  const char* name;
  int64_t begin;  // the size of y before trip 0
  // Of a body with inputs i, c and the carried y [B, size, 4]; it makes y_out.
  const char* body;
  // FLOPs of one trip, by the first size of y before it.
  int64_t (*flops)(int64_t batch, int64_t size);
  int64_t (*next)(int64_t size);
};

constexpr char kAddRow[] =
    "sizes = Constant<value_ints=[4,8]>() e = ConstantOfShape(sizes) h = MatMul(y, e) k = "
    "Constant<value_ints=[1]>() batch = Shape<start=0, end=1>(y) four = Constant<value_ints=[4]>() "
    "r = Concat<axis=0>(batch, k, four) z = ConstantOfShape(r) y_out = Concat<axis=1>(y, z)";

const LoopCase kCases[] = {
    {"RowsAreAdded", 2, kAddRow, [](int64_t b, int64_t s) { return 2 * 4 * 8 * b * s; },
     [](int64_t s) { return s + 1; }},
    {"RowsAreAddedToNone", 0, kAddRow, [](int64_t b, int64_t s) { return 2 * 4 * 8 * b * s; },
     [](int64_t s) { return s + 1; }},
    {"AttentionOverAllBefore", 2,
     "t = Transpose<perm=[0,2,1]>(y) s = MatMul(y, t) o = MatMul(s, y) two = "
     "Slice(o, from, to, axes) y_out = Concat<axis=1>(y, two)",
     [](int64_t b, int64_t s) { return 2 * 2 * 4 * b * s * s; }, [](int64_t s) { return s + 1; }},
    {"ThirdPower", 2,
     "t = Transpose<perm=[0,2,1]>(y) s = MatMul(y, t) p = MatMul(s, s) q = MatMul(p, y) "
     "two = Slice(q, from, to, axes) y_out = Concat<axis=1>(two, y)",
     [](int64_t b, int64_t s) { return b * (2 * 4 * s * s + 2 * s * s * s + 2 * 4 * s * s); },
     [](int64_t s) { return s + 1; }},
};

// T trips of the body.
std::string OpenText(const std::string& body, int64_t begin) {
  return absl::StrCat(
      "g (float[B,", begin,
      ",4] x, float[T] steps) => (float[B,S,4] out) <int64[1] from = {0}, int64[1] to = {1}, "
      "int64[1] axes = {1}, int64[1] three = {3}, bool yes = {1}> { s = Shape(steps) n = "
      "Squeeze(s) out = Loop<body = g (int64 i, bool c, float[B,P,4] y) => (bool c_out, "
      "float[B,Q,4] y_out) { c_out = Identity(c) ",
      body, " }>(n, yes, x) }");
}

std::string OpenText(const LoopCase& c) { return OpenText(c.body, c.begin); }

int64_t FlopsByHand(const LoopCase& c, int64_t batch, int64_t trips) {
  int64_t flops = 0, size = c.begin;
  for (int64_t t = 0; t < trips; ++t, size = c.next(size)) flops += c.flops(batch, size);
  return flops;
}

absl::StatusOr<Counts> CountText(const std::string& text, const Bindings& dims) {
  const absl::StatusOr<Inference> inference = Infer(ModelFromText(text, kOpset), {.dims = dims});
  if (!inference.ok()) return inference.status();
  return Count(*inference);
}

class GrowingLoopTest : public testing::TestWithParam<LoopCase> {};

TEST_P(GrowingLoopTest, OpenTripsAreTheSumOfAll) {
  const Counts open = CountText(OpenText(GetParam()), {}).value();
  EXPECT_EQ(open.unknown, 0);
  for (const int64_t batch : {1, 3}) {
    for (const int64_t trips : {1, 2, 3, 4, 6, 17, 100}) {
      const Bindings sizes = {{"B", batch}, {"T", trips}};
      EXPECT_EQ(static_cast<int64_t>(open.total.amounts.flops.Evaluate(sizes).value()),
                FlopsByHand(GetParam(), batch, trips))
          << open.total.amounts.flops.ToString() << " at " << trips;
    }
  }
}

// Up to 64 trips are followed one by one.
TEST_P(GrowingLoopTest, SumsAreThoseOfTripsFollowed) {
  const Counts open = CountText(OpenText(GetParam()), {}).value();
  for (const int64_t trips : {1, 5, 64, 65, 200}) {
    const Counts bound = CountText(OpenText(GetParam()), {{"B", 2}, {"T", trips}}).value();
    const Bindings sizes = {{"B", 2}, {"T", trips}};
    for (const Quantity& q : kQuantities) {
      EXPECT_EQ((open.total.amounts.*q.value).Evaluate(sizes).value(),
                (bound.total.amounts.*q.value).literal())
          << q.key << " at " << trips;
    }
    EXPECT_EQ(static_cast<int64_t>(bound.total.amounts.flops.literal()),
              FlopsByHand(GetParam(), 2, trips));
  }
}

TEST_P(GrowingLoopTest, WhatComesOutHasTheLastSize) {
  const Model model = ModelFromText(OpenText(GetParam()), kOpset);
  const Inference inference = Infer(model).value();
  const Fact* out = inference.FactOf(model->graphs[0].outputs[0]);
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->shape.ToString(), GetParam().begin == 0 ? "[B, T, 4]" : "[B, T + 2, 4]");
  EXPECT_EQ(inference.symbols.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(All, GrowingLoopTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(GrowingLoop, FiguresByHand) {
  const Counts open = CountText(OpenText(kAddRow, 0), {}).value();
  EXPECT_EQ(open.total.amounts.flops.Evaluate({{"B", 2}, {"T", 6}}).value(), 1920);
  EXPECT_EQ(open.total.amounts.flops.Evaluate({{"B", 2}, {"T", 100}}).value(), 633600);
}

TEST(GrowingLoop, SequencesGetLonger) {
  const Model model = ModelFromText(
      "g (float[B,2,4] x, float[T] steps) => (float[N,2,4] out) <bool yes = {1}> { s = "
      "Shape(steps) n = Squeeze(s) none = SequenceEmpty() all = Loop<body = g (int64 i, bool c, "
      "seq(float[P,2,4]) y) => (bool c_out, seq(float[Q,2,4]) y_out) { c_out = Identity(c) y_out = "
      "SequenceInsert(y, x) }>(n, yes, none) out = ConcatFromSequence<axis=0>(all) }",
      kOpset);
  const Inference inference = Infer(model).value();
  EXPECT_EQ(inference.FactOf(model->graphs[0].outputs[0])->shape.ToString(), "[B*T, 2, 4]");
}

// Items of a size that depends on data, as PyTorch exports repeat_interleave by a tensor: what the
// items have in common stays known, though the sequence begins without any.
TEST(GrowingLoop, SequencesThatBeginEmptyKeepWhatIsKnownOfItems) {
  const Model model = ModelFromText(
      "g (float[B,1,4] x, int64[T] often) => (float[B,N,4] out) <bool yes = {1}> { s = "
      "Shape(often) n = Squeeze(s) none = SequenceEmpty() all = Loop<body = g (int64 i, bool c, "
      "seq(float[B,P,4]) y) => (bool c_out, seq(float[B,Q,4]) y_out) { c_out = Identity(c) one = "
      "Constant<value_ints=[1]>() k = Gather(often, i) kk = Reshape(k, one) e = "
      "Concat<axis=0>(one, kk, one) item = Expand(x, e) y_out = SequenceInsert(y, item) }>(n, yes, "
      "none) out = ConcatFromSequence<axis=1>(all) }",
      kOpset);
  const Inference inference = Infer(model).value();
  const std::string shape = inference.FactOf(model->graphs[0].outputs[0])->shape.ToString();
  EXPECT_THAT(shape, testing::AllOf(testing::StartsWith("[B, concatfromsequence("),
                                    testing::EndsWith(", 4]")));
}

// A list that is shorter or longer from the second trip on: a polynomial gives the sizes of the
// first three trips, and none what they hold.
TEST(GrowingLoop, ListsThatChangeTheirSizeOnce) {
  const auto outputs = [](const char* list) {
    const Model model = ModelFromText(
        absl::StrCat(
            "g (float[B,2,4] x, float[T] steps) => (float[B,S,4] out, int64[M] last) "
            "<bool yes = {1}, int64[3] begin = {4, 5, 6}> { s = Shape(steps) n = Squeeze(s) "
            "out, last = Loop<body = g (int64 i, bool c, float[B,P,4] y, int64[K] a) => (bool "
            "c_out, "
            "float[B,Q,4] y_out, int64[L] a_out) { c_out = Identity(c) ",
            kAddRow,
            " at = Constant<value_ints = [0]>() first = Gather(a, at) of_first = "
            "ConstantOfShape(first) a_out = ",
            list, " }>(n, yes, x, begin) }"),
        kOpset);
    const Inference inference = Infer(model).value();
    return inference.FactOf(model->graphs[0].outputs[1])->shape.ToString();
  };
  EXPECT_EQ(outputs("Constant<value_ints = [7, 8, 9]>()"), "[3]");
  EXPECT_EQ(outputs("Constant<value_ints = [7]>()"), "[loop(n2).0]");
  EXPECT_EQ(outputs("Constant<value_ints = [7, 8, 9, 10, 11]>()"), "[loop(n2).0]");
}

// No power of the trip's number is a minimum: what is not known is not printed as known.
TEST(GrowingLoop, WorkThatIsNoPolynomialIsUnknown) {
  const Counts open =
      CountText(OpenText(absl::StrCat("few = Slice(y, from, three, axes) few_t = "
                                      "Transpose<perm=[0,2,1]>(few) q = MatMul(few_t, few) ",
                                      kAddRow),
                         0),
                {})
          .value();
  EXPECT_EQ(open.unknown, 1);
  ASSERT_EQ(open.unknown_items.size(), 1u);
  EXPECT_THAT(open.unknown_items[0].reason, testing::HasSubstr("no closed form"));
  EXPECT_TRUE(open.total.lower_bound);
}

// What grows by data, or has a branch that hangs on the trip, is no sum over alike trips.
TEST(GrowingLoop, WhatDiffersFromTripToTripIsSaidSo) {
  for (const char* body :
       {"nz = NonZero(y) cols = Shape<start=1>(nz) b = Shape<start=0,end=1>(y) w = "
        "Shape<start=2>(y) target = Concat<axis=0>(b, cols, w) row = Slice(y, from, to, axes) u = "
        "Expand(row, target) y_out = Concat<axis=1>(y, u)",
        "four = Constant<value = int64 {4}>() early = Less(i, four) z = If<then_branch = g () => "
        "(float[B,P,4] a) { a = Relu(y) }, else_branch = g () => (float[B,P,4] b) { b = "
        "Identity(y) }>(early) row = Slice(z, from, to, axes) y_out = Concat<axis=1>(z, row)"}) {
    const Model model = ModelFromText(OpenText(body, 2), kOpset);
    const absl::StatusOr<Inference> inference = Infer(model);
    ASSERT_TRUE(inference.ok()) << inference.status();
    ASSERT_EQ(inference->warnings.size(), 1u) << body;
    EXPECT_THAT(inference->warnings[0], testing::HasSubstr("only where all trips are alike"));
  }
}

TEST(GrowingLoop, SizesWithoutAFormulaAreSymbolsAndSaidToBe) {
  const Model model = ModelFromText(OpenText("y_out = Concat<axis=1>(y, y)", 2), kOpset);
  const Inference inference = Infer(model).value();
  EXPECT_EQ(inference.FactOf(model->graphs[0].outputs[0])->shape.ToString(), "[B, loop(n2), 4]");
  ASSERT_EQ(inference.warnings.size(), 1u);
  EXPECT_THAT(inference.warnings[0], testing::HasSubstr("only where all trips are alike"));
}

// Shapes are carried as they are; what a trip makes is as long as a counter says.
TEST(GrowingLoop, SizesThatFollowFromACounter) {
  const Model model = ModelFromText(
      "g (float[20,M] w, float[T] steps) => (int64[1] out) <int64[1] begin = {1}, int64[1] three = "
      "{3}, int64[1] width = {20}, bool yes = {1}> { s = Shape(steps) n = Squeeze(s) out = "
      "Loop<body = g (int64 i, bool c, int64[1] k) => (bool c_out, int64[1] k_out) { c_out = "
      "Identity(c) size = Concat<axis=0>(k, width) e = ConstantOfShape(size) h = MatMul(e, w) "
      "k_out = Add(k, three) }>(n, yes, begin) }",
      kOpset);
  const Inference open = Infer(model).value();
  EXPECT_THAT(open.warnings, testing::IsEmpty());
  const Expr macs = Count(open).value().total.amounts.macs;
  for (const int64_t trips : {1, 2, 5, 100}) {
    int64_t expected = 0;
    for (int64_t i = 0; i < trips; ++i) expected += (1 + 3 * i) * 20 * 7;
    EXPECT_EQ(macs.Substitute({{"T", trips}, {"M", 7}}), Expr(expected)) << trips;
  }
}

// Nobody knows which branch runs, here in 100 trips: the larger one is counted, and it says so.
TEST(OpenBranch, IsSaidToBeWhereTheOtherCostsLess) {
  const auto counts = [](const char* else_branch) {
    const std::string text = absl::StrCat(
        "g (float[4,4] x) => (float[4,4] out) <int64 n = {100}, bool yes = {1}, int64 two = {2}> { "
        "out = Loop<body = g (int64 i, bool c, float[4,4] y) => (bool c_out, float[4,4] y_out) { "
        "early = Less(i, two) y_out = If<then_branch = g () => (float[4,4] a) { a = MatMul(y, y) "
        "}, else_branch = g () => (float[4,4] b) { b = ",
        else_branch, " }>(early) c_out = Identity(c) }>(n, yes, x) }");
    return Count(Infer(ModelFromText(text, kOpset)).value()).value();
  };
  const Counts open = counts("Relu(y)");
  EXPECT_EQ(open.total.amounts.macs, Expr(100 * 4 * 4 * 4));
  ASSERT_EQ(open.warnings.size(), 1u);
  EXPECT_THAT(open.warnings[0], testing::HasSubstr("which branch runs is not known"));
  EXPECT_THAT(open.warnings[0], testing::HasSubstr("then_branch 128, of else_branch 16"));
  EXPECT_THAT(counts("MatMul(y, x)").warnings, testing::IsEmpty());
}

// N*N and N: at 1 they cost the same, which is the first then, and at no size the other costs more.
TEST(OpenBranch, TheFirstIsCountedIfItNeverCostsLess) {
  const char kText[] =
      "g (float[N,N] x, float[N] v, bool c) => (float[K] out) { z = If<then_branch = t () => "
      "(float[L] a) { a = Mul(x, x) }, else_branch = e () => (float[M] b) { b = Add(v, v) }>(c) "
      "out = Identity(z) }";
  const Counts counts = Count(Infer(ModelFromText(kText, kOpset)).value()).value();
  EXPECT_EQ(counts.total.amounts.flops.ToString(), "N^2");
  ASSERT_EQ(counts.warnings.size(), 1U);
  EXPECT_THAT(counts.warnings[0], testing::HasSubstr("which branch runs is not known"));
}

// Where two branches give values of different types, the type of the result is not known.
TEST(OpenBranch, OfTwoTypesIsNotKnown) {
  for (const char* other : {"b = Cast<to=1>(x)", "b = Cast<to=7>(x)", "b = SequenceEmpty()"}) {
    const std::string text = absl::StrCat(
        "g (float[3,4] x, bool c) => (float[K,L] y) { z = If(c) <then_branch = t () => (a) "
        "{ a = Exp(x) }, else_branch = e () => (b) { ",
        other, " }> y = Identity(z) }");
    const Inference inference = Infer(ModelFromText(text.c_str(), kOpset)).value();
    const Node& node =
        inference.model->nodes[static_cast<size_t>(inference.model->graphs[0].nodes[0])];
    EXPECT_EQ(inference.FactOf(node.outputs[0])->is_tensor(), absl::StrContains(other, "to=1"))
        << other;
  }
}

// Seven slices of [N, 5] are added to the state, and nothing is stacked.
TEST(ScanOfStates, HasNoOtherOutputs) {
  const char kText[] =
      "g (float[N,5] s0, float[N,7,5] x) => (float[N,5] s) { s = Scan(s0, x) <num_scan_inputs=1, "
      "scan_input_axes=[1], body = b (float[N,5] si, float[N,5] xi) => (float[N,5] so) "
      "{ so = Add(si, xi) }> }";
  const Counts counts = Count(Infer(ModelFromText(kText, kOpset)).value()).value();
  EXPECT_EQ(counts.unknown, 0);
  EXPECT_EQ(counts.total.amounts.flops.ToString(), "35*N");
}

// A rank that grows from trip to trip has no formula: afterwards it is not known.
TEST(GrowingRank, IsNotKnown) {
  const char kText[] =
      "g (float[2] x) => (float[K] y) { m = Constant<value_int=2000>() "
      "a = Constant<value_ints=[0]>() z = Loop(m, , x) <body = b (int64 i, bool c, s) => "
      "(bool d, t) { d = Identity(c) t = Unsqueeze(s, a) }> y = Exp(z) }";
  const Counts counts = Count(Infer(ModelFromText(kText, kOpset)).value()).value();
  EXPECT_EQ(counts.unknown, 2);  // Unsqueeze, whose input is none after some trips, and Exp
}

}  // namespace
}  // namespace onnxflops::growing_loop_test
