// One of many models, with sizes that it may lack, and with a size for all that are open.
#include "src/api/known_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/api/count.h"
#include "src/load/load_file.h"
#include "tests/model_text.h"

namespace onnxflops::known_sizes_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr char kRelu[] = "g (float[batch,seq] x) => (float[batch,seq] y) { y = Relu(x) }";

TEST(KnownSizesTest, WhatTheModelLacksIsLeftOut) {
  const Model model = ModelFromText(kRelu, 18);
  std::vector<std::string> missing;
  const auto report =
      CountKnownSizes(model, {.bindings = {{"batch", 3}, {"height", 224}, {"width", 224}}}, "",
                      std::nullopt, &missing);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.flops.ToString(), "3*seq");
  EXPECT_THAT(missing, ElementsAre("height", "width"));
}

TEST(KnownSizesTest, OtherErrorsStay) {
  const Model model =
      ModelFromText("g (float[n,4] a, float[k,2] b) => (float[n,2] y) { y = MatMul(a, b) }", 18);
  std::vector<std::string> missing;
  const auto report = CountKnownSizes(model, {.bindings = {{"k", 5}}}, "", std::nullopt, &missing);
  EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(missing, IsEmpty());
}

// Sizes that the file declares as open, and of which a node of the main graph takes one only.
TEST(OnlySizeTest, IsTaken) {
  const struct {
    const char* graph;
    Bindings taken;
  } cases[] = {
      {"g (float[n,4] a, float[k,2] b) => (float[n,2] y) { y = MatMul(a, b) }", {{"k", 4}}},
      {"g (float[n,6] x) => (float[3,4] y) <int64[2] s = {3, 4}> { y = Reshape(x, s) }",
       {{"n", 2}}},
      // -1 leaves n open.
      {"g (float[n,6] x) => (float[a,4] y) <int64[2] s = {-1, 4}> { y = Reshape(x, s) }", {}},
      // Two sizes have many products of 12.
      {"g (float[n,m] x) => (float[3,4] y) <int64[2] s = {3, 4}> { y = Reshape(x, s) }", {}},
      // The branch may not run at other sizes.
      {"g (bool c, float[n,6] x) => (float[3,4] y) <int64[2] s = {3, 4}> "
       "{ y = If (c) <then_branch = t () => (float[3,4] u) { u = Reshape(x, s) }, "
       "else_branch = e () => (float[n,6] v) { v = Identity(x) }> }",
       {}},
  };
  for (const auto& [graph, taken] : cases) {
    const auto report = Count(ModelFromText(graph, 18), {});
    ASSERT_TRUE(report.ok()) << graph << report.status();
    EXPECT_EQ(report->bindings, taken) << graph;
    EXPECT_EQ(report->warnings.size(), taken.size()) << graph;
  }
}

// A given size stays, so that another one is an error, and the same is no news.
TEST(OnlySizeTest, AGivenSizeStays) {
  const Model model = ModelFromText(
      "g (float[n,6] x) => (float[3,4] y) <int64[2] s = {3, 4}> { y = Reshape(x, s) }", 18);
  EXPECT_FALSE(Count(model, {.bindings = {{"n", 3}}}).ok());
  const auto report = Count(model, {.bindings = {{"n", 2}}});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->warnings, IsEmpty());
}

TEST(FillTest, SetsWhatIsOpen) {
  const Model model = ModelFromText(kRelu, 18);
  std::vector<std::string> missing;
  const auto report =
      CountKnownSizes(model, {.bindings = {{"batch", 3}, {"height", 8}}}, "", 5, &missing);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.flops, Expr(15));
  EXPECT_THAT(missing, ElementsAre("height"));
  EXPECT_THAT(report->symbols, IsEmpty());
}

// NonZero compares the 2*n elements, of which m <= 2*n are not zero; Relu has 2*m.
TEST(FillTest, IsAtMostWhatDataCanGive) {
  const Model model = ModelFromText(
      "g (float[n,2] x) => (float[2,m] y)"
      "{ i = NonZero(x)  f = Cast<to=1>(i)  y = Relu(f) }",
      18);
  std::vector<std::string> missing;
  for (const auto& [fill, flops] : {std::pair(1, 2 + 2), {3, 6 + 6}}) {
    const auto report = CountKnownSizes(model, {}, "", fill, &missing);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.flops, Expr(flops)) << fill;
  }
  const auto report = CountKnownSizes(model, {.bindings = {{"n", 3}}}, "", 100, &missing);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.flops, Expr(6 + 2 * 6));
}

// A decoder: its mask has the past and the new tokens. QK^T has 4 products for each of batch * new
// tokens and each key.
constexpr char kDecoder[] =
    "g (int64[batch,seq] input_ids, float[batch,total] attention_mask,"
    "   float[batch,2,past,4] past_key_values_0_key, float[batch,2,seq,4] new)"
    " => (float[batch,2,seq,total] y) {"
    "  k = Concat<axis=2>(past_key_values_0_key, new)"
    "  t = Transpose<perm=[0,1,3,2]>(k)"
    "  y = MatMul(new, t) }";

TEST(FillTest, OfAMaskIsWhatFollowsFromPastAndNewTokens) {
  const Model model = ModelFromText(kDecoder, 18);
  std::vector<std::string> missing;
  const auto report =
      CountKnownSizes(model, {.bindings = {{"batch", 1}, {"seq", 128}}}, "", 3, &missing);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->bindings, ElementsAre(Pair("batch", 1), Pair("past", 3), Pair("seq", 128),
                                            Pair("total", 3 + 128)));
  EXPECT_EQ(report->totals.macs, Expr(2 * 4 * 128 * (3 + 128)));
  EXPECT_THAT(report->warnings, IsEmpty());
}

TEST(ShortMaskTest, IsAWarning) {
  const Model model = ModelFromText(kDecoder, 18);
  for (const auto& [total, is_short] :
       {std::pair(1, true), {128, true}, {129, false}, {500, false}}) {
    const auto report =
        Count(model, {.bindings = {{"batch", 1}, {"seq", 128}, {"past", 1}, {"total", total}}});
    ASSERT_TRUE(report.ok()) << report.status();
    if (!is_short) {
      EXPECT_THAT(report->warnings, IsEmpty()) << total;
      continue;
    }
    EXPECT_THAT(report->warnings, ElementsAre(testing::StartsWith(absl::StrCat(
                                      "total = ", total, " is less than past + seq = 129: "))));
  }
}

// The addition takes 1 or 4 for n, and any m.
TEST(FillTest, LeavesOpenWhatDoesNotFit) {
  const Model model = ModelFromText(
      "g (float[n] x, float[m] z) => (float[4] y, float[m] r)"
      "<float[4] four = {1, 2, 3, 4}> { s = Add(x, four)  y = Identity(s)  r = Relu(z) }",
      18);
  std::vector<std::string> missing;
  const auto report = CountKnownSizes(model, {}, "", 3, &missing);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->bindings, ElementsAre(Pair("m", 3)));
  EXPECT_EQ(report->totals.flops, Expr(4 + 3));
  ASSERT_EQ(report->symbols.size(), 1U);
  EXPECT_EQ(report->symbols[0].name, "n");
  EXPECT_THAT(report->warnings, ElementsAre("not set to 3: n, which does not fit this model"));
}

}  // namespace
}  // namespace onnxflops::known_sizes_test
