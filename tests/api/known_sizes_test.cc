// One of many models, with sizes that it may lack, and with a size for all that are open.
#include "src/api/known_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/load/load_file.h"
#include "tests/model_text.h"

namespace onnxflops {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

}  // namespace
}  // namespace onnxflops
