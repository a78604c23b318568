// What sizes that depend on data are at most, and that reports count with that.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/onnxflops.h"
#include "tests/model_text.h"

namespace onnxflops::bounds_test {
namespace {

constexpr int kOpset = 20;

// The bounds of all sizes inside, "?" where none is known.
std::string BoundsOf(const std::string& graph) {
  const absl::StatusOr<Report> report = Count(ModelFromText(graph, kOpset));
  if (!report.ok()) return std::string(report.status().message());
  std::vector<std::string> bounds;
  for (const SymbolOrigin& s : report->symbols) {
    if (s.kind == SymbolOrigin::Kind::kInput) continue;
    bounds.push_back(s.at_most ? s.at_most->ToString() : "?");
  }
  return absl::StrJoin(bounds, ", ");
}

// By hand, from the specifications of the operators.
TEST(BoundsTest, OperatorsGiveThem) {
  const struct {
    const char *graph, *bounds;
  } cases[] = {
      {"g (float[N,7] x) => (int64[2,K] y) { y = NonZero(x) }", "7*N"},
      {"g (float[N,9] x, bool[9] c) => (float[N,K] y) { y = Compress<axis=1>(x, c) }", "9"},
      {"g (float[N,9] x, bool[4] c) => (float[N,K] y) { y = Compress<axis=1>(x, c) }", "4"},
      {"g (float[N,9] x, bool[50] c) => (float[K] y) { y = Compress(x, c) }", "min(50, 9*N)"},
      {"g (float[3,4] x) => (float[K] y) { y = Unique(x) }", "12"},
      {"g (float[3,N] x) => (float[K,N] y) { y = Unique<axis=0>(x) }", "3"},
      {"g (float[N,1000] x, int64[1] k) => (float[N,K] v, int64[N,K] i) { v, i = TopK(x, k) }",
       "1000"},
      {"g (float[2,50,4] b, float[2,80,50] s, float[1] t) => (int64[K,3] y) <int64[1] m = {10}> "
       "{ y = NonMaxSuppression(b, s, m, t) }",
       "1600"},
      {"g (float[2,50,4] b, float[2,80,50] s, int64[1] m) => (int64[K,3] y) "
       "{ y = NonMaxSuppression(b, s, m) }",
       "8000"},
      {"g (float[9] x, int64[1] e) => (float[K] y) <int64[1] s = {0}> { y = Slice(x, s, e) }", "9"},
      {"g (string[N] x) => (string[N,K] y, int64[N] z) { y, z = StringSplit<delimiter=\",\">(x) }",
       "?"},
      {"g (float[N,6] x, int64[2] s) => (float[A,B] y) { y = Reshape(x, s) }", "6*N, 6*N"},
      {"g (float[4,6] x, int64[2] r) => (float[A,B,3] y) { t = Constant<value_ints=[3]>() "
       "s = Concat<axis=0>(r, t) y = Reshape(x, s) }",
       "8, 8"},
      {"g (float[2,5] x, int64[1] a) => (float[A,B] y) { y = ReduceSum(x, a) }", "2, 5"},
      {"g (float[9,2,5] x, int64[1] a) => (float[A,B] y) { y = ReduceSum<keepdims=0>(x, a) }",
       "9, 5"},
      // One that is not reduced to 1 may be smaller than that.
      {"g (float[0,5] x, int64[1] a) => (float[A,B] y) { y = ReduceSum(x, a) }", "1, 5"},
      {"g (string[9] x) => (string[K] y) { y = StringNormalizer<stopwords=[\"the\"]>(x) }", "9"},
      {"g (string[0] x) => (string[K] y) { y = StringNormalizer<stopwords=[\"the\"]>(x) }", "1"},
      {"g (float[1,7,9] x) => (int32[2,P] y) { y = com.microsoft.DynamicTimeWarping(x) }", "15"},
      // Of a size that is bounded by another one.
      {"g (float[5] x) => (int64[L] z) { y = NonZero(x) z = Unique(y) }", "5, 5"},
  };
  for (const auto& c : cases) EXPECT_EQ(BoundsOf(c.graph), c.bounds) << c.graph;
}

// Parts of a Split fill the axis, wherever it is cut: 12 rows of 8 x 4 MACs in all.
TEST(BoundsTest, PartsAddUpToTheWhole) {
  const std::string split =
      "g (float[12,8] x, int64[3] s, float[8,4] w) => (float[M,4] y) { a, b, c = Split<axis=0>(x, "
      "s) "
      "d = MatMul(a, w) e = MatMul(b, w) ";
  const auto macs = [](const std::string& graph) {
    const absl::StatusOr<Report> report = Count(ModelFromText(graph, kOpset));
    return report.ok() ? report->totals.macs.ToString() : std::string(report.status().message());
  };
  EXPECT_EQ(macs(split + "f = MatMul(c, w) y = Concat<axis=0>(d, e, f) }"), "384");
  EXPECT_EQ(macs(split + "y = Concat<axis=0>(d, e) }"), "32*split(n0) + 32*split(n0).0");
}

std::string LoopThat(const std::string& body) {
  return absl::StrCat(
      "g (float[8] x, bool go, int64 most) => (float[K] z) { z = Loop<body = b (int64 i, bool c, "
      "float[M] in) => (bool d, float[L] out) { d = Identity(c) ",
      body, "}>(most, go, x) }");
}

// A size that a loop changes: of what only shrinks a bound is known, of what grows none.
TEST(BoundsTest, Loops) {
  const std::string shrinks =
      BoundsOf(LoopThat("k = NonZero(in) s = Squeeze(k) out = Cast<to=1>(s) "));
  const std::string grows =
      BoundsOf(LoopThat("k = NonZero(in) s = Squeeze(k) f = Cast<to=1>(s) "
                        "out = Concat<axis=0>(f, f) "));
  EXPECT_NE(shrinks.find('8'), std::string::npos) << shrinks;
  EXPECT_NE(grows.find('?'), std::string::npos) << grows;
}

// At a binding of every size to its bound, the count is that of --upper.
TEST(BoundsTest, UpperBoundsAreCountedAsIfTheyWereGiven) {
  const Model model = ModelFromText(
      "g (float[6] x) => (float[1,K] z) { n = NonZero(x) f = Cast<to=1>(n) z = Relu(f) }", kOpset);
  const absl::StatusOr<Report> open = Count(model);
  ASSERT_TRUE(open.ok()) << open.status();
  ASSERT_EQ(open->symbols.size(), 1u);
  const absl::StatusOr<Report> bound = Count(model, {.bindings = {{open->symbols[0].name, 6}}});
  const absl::StatusOr<Report> upper = Count(model, {.upper_bounds = true});
  ASSERT_TRUE(bound.ok() && upper.ok());
  EXPECT_EQ(upper->totals.flops, bound->totals.flops);
  EXPECT_EQ(upper->totals.bytes_written, bound->totals.bytes_written);
  EXPECT_TRUE(upper->symbols.empty());
  EXPECT_EQ(upper->raised.size(), 1u);
  EXPECT_EQ(upper->outputs[0].shape, Shape({1, 6}));
}

}  // namespace
}  // namespace onnxflops::bounds_test
