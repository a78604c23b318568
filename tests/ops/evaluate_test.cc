// Content arithmetic: single elements through elementwise operators.
#include "ops/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/element_rule.h"
#include "ops/rules.h"

namespace onnxflops {
namespace {

const Expr n = Expr::Symbol("n", 1);
const Expr m = Expr::Symbol("m", 0);

Scalar Int(Expr value) { return Scalar::Int(std::move(value)); }
Scalar Float(double value) { return Scalar::Float(value); }

std::string Text(const Scalar& s) {
  if (s.is_int()) return s.i.ToString();
  if (s.is_ratio()) return "(" + s.i.ToString() + ")/" + std::to_string(static_cast<int>(s.f));
  return s.is_float() ? std::to_string(s.f) : "?";
}

std::string Apply(EvaluateFn function, std::vector<Scalar> inputs, DType type = DType::kInt64) {
  return Text(function(inputs, type));
}

TEST(EvaluateTest, IntegersAreSymbolic) {
  EXPECT_EQ(Apply(EvaluateAdd, {Int(n), Int(2)}), "n + 2");
  EXPECT_EQ(Apply(EvaluateMul, {Int(n), Int(n)}), "n^2");
  EXPECT_EQ(Apply(EvaluatePow, {Int(n), Float(2)}), "n^2");
  EXPECT_EQ(Apply(EvaluateMax, {Int(n), Int(0)}), "n");
  EXPECT_EQ(Apply(EvaluateAbs, {Int(0 - n)}), "n");
  EXPECT_EQ(Apply(EvaluateMod, {Int(-7), Int(3)}), "2");
  EXPECT_EQ(Apply(EvaluateTruncMod, {Int(-7), Int(3)}), "-1");
}

TEST(EvaluateTest, IntegerDivisionIsTowardsZero) {
  EXPECT_EQ(Apply(EvaluateDiv, {Int(-7), Int(2)}), "-3");
  EXPECT_EQ(Apply(EvaluateDiv, {Int(n), Int(2)}), "floor(n/2)");
  EXPECT_EQ(Apply(EvaluateDiv, {Int(6 * n), Int(-3)}), "-2*n");
  EXPECT_EQ(Apply(EvaluateDiv, {Int(5), Int(0)}), "?");
  // Of unknown sign: right at every size.
  const Scalar quotient = EvaluateDiv(std::vector<Scalar>{Int(m - 3), Int(2)}, DType::kInt64);
  ASSERT_TRUE(quotient.is_int());
  for (int64_t size : {0, 1, 2, 3, 4, 7}) {
    EXPECT_EQ(quotient.i.Evaluate({{"m", size}}).value(), absl::int128((size - 3) / 2)) << size;
  }
}

TEST(EvaluateTest, SizesPassThroughFloatsAsFractions) {
  const DType f = DType::kFloat32;
  EXPECT_EQ(Apply(EvaluateMul, {Int(n), Float(0.5)}, f), "(n)/2");
  EXPECT_EQ(Apply(EvaluateMul, {Int(n), Float(2)}, f), "2*n");
  EXPECT_EQ(Apply(EvaluateDiv, {Int(n), Float(32)}, f), "(n)/32");
  const Scalar third = EvaluateDiv(std::vector<Scalar>{Int(n), Float(3)}, f);
  EXPECT_EQ(Apply(EvaluateFloor, {third}, f), "floor(n/3)");
  EXPECT_EQ(Apply(EvaluateCeil, {third}, f), "floor((n + 2)/3)");
  EXPECT_EQ(Apply(EvaluateCast, {third}), "floor(n/3)");
  EXPECT_EQ(Apply(EvaluateMul, {third, Float(3)}, f), "?");  // n/3 was rounded
  // 0.7f is no short fraction: rounding decides what its floor is.
  EXPECT_EQ(Apply(EvaluateMul, {Int(n), Float(0.7f)}, f), "?");
  EXPECT_EQ(Apply(EvaluateDiv, {Int(n), Int(n)}, f), "1.000000");
  EXPECT_EQ(Apply(EvaluateSqrt, {Int(n)}, f), "?");
  EXPECT_EQ(Apply(EvaluateMin, {Int(m), Float(5)}, f), "min(5, m)");
  EXPECT_EQ(Apply(EvaluateMax, {Float(2.5), Float(-1)}, f), "2.500000");
  EXPECT_EQ(Apply(EvaluateRelu, {Int(n - 3)}, f), "max(0, n - 3)");
}

TEST(EvaluateTest, ComparisonsOnlyWhereProvable) {
  EXPECT_EQ(Apply(EvaluateEqual, {Int(n), Int(-1)}), "0");
  EXPECT_EQ(Apply(EvaluateEqual, {Int(n), Int(1)}), "?");
  EXPECT_EQ(Apply(EvaluateGreaterOrEqual, {Int(n), Int(1)}), "1");
  EXPECT_EQ(Apply(EvaluateLess, {Float(1.5), Float(2)}), "1");
  EXPECT_EQ(Apply(EvaluateLessOrEqual, {Float(NAN), Float(2)}), "0");
  EXPECT_EQ(Apply(EvaluateAnd, {Scalar{}, Int(0)}), "0");
  EXPECT_EQ(Apply(EvaluateOr, {Scalar{}, Int(0)}), "?");
  EXPECT_EQ(Apply(EvaluateNot, {Int(0)}), "1");
  EXPECT_EQ(Apply(EvaluateWhere, {Int(0), Int(1), Int(n)}), "n");
  EXPECT_EQ(Apply(EvaluateWhere, {Scalar{}, Int(n), Int(n)}), "n");
  EXPECT_EQ(Apply(EvaluateWhere, {Scalar{}, Int(1), Int(n)}), "?");
}

TEST(EvaluateTest, FloatsAreRoundedToTheirType) {
  EXPECT_EQ(EvaluateAdd(std::vector<Scalar>{Float(0.1f), Float(0.2f)}, DType::kFloat32).f,
            static_cast<double>(0.1f + 0.2f));
  EXPECT_EQ(InType(Float(1e39), DType::kFloat32).f, INFINITY);
  EXPECT_EQ(InType(Float(1e-46), DType::kFloat32).f, 0.0);
  EXPECT_EQ(InType(Float(1e-45), DType::kFloat32).f, std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(InType(Float(2049), DType::kFloat16).f, 2048.0);
  EXPECT_EQ(InType(Float(65520), DType::kFloat16).f, INFINITY);
  EXPECT_EQ(InType(Float(257), DType::kBfloat16).f, 256.0);
  EXPECT_EQ(Text(InType(Int(n), DType::kFloat16)), "?");
}

TEST(InTypeTest, IntegersWrapAndFractionsAreCutOff) {
  EXPECT_EQ(Text(InType(Int(300), DType::kUint8)), "44");
  EXPECT_EQ(Text(InType(Int(-1), DType::kUint64)), "18446744073709551615");
  EXPECT_EQ(Text(InType(Int(INT64_MAX), DType::kInt32)), "-1");
  EXPECT_EQ(Text(InType(Float(-2.9), DType::kInt64)), "-2");
  EXPECT_EQ(Text(InType(Float(1e30), DType::kInt64)), "?");
  EXPECT_EQ(Text(InType(Float(0.5), DType::kBool)), "1");
  EXPECT_EQ(Text(InType(Int(n), DType::kBool)), "1");
  EXPECT_EQ(Text(InType(Int(m), DType::kBool)), "?");
  EXPECT_EQ(Text(InType(Int(n), DType::kInt8)), "?");
  EXPECT_EQ(Text(InType(Int(n - 2), DType::kUint32)), "?");
}

TEST(EvaluateBroadcastTest, WalksOperandsInTheResultsOrder) {
  Fact row = Fact::Ints({Int(1), Int(2), Int(3)});
  Fact column = Fact::Ints({Int(10), Int(n)});
  column.shape = Shape{2, 1};
  Fact result = Fact::Tensor(DType::kInt64, Shape{2, 3});
  const Fact* operands[] = {&row, &column};
  EvaluateBroadcast(operands, EvaluateAdd, &result);
  ASSERT_TRUE(result.has_content());
  std::string text;
  for (const Scalar& s : *result.content) text += Text(s) + ", ";
  EXPECT_EQ(text, "11, 12, 13, n + 1, n + 2, n + 3, ");
}

// What the first elements suggest has to hold for all of them.
TEST(RuleOfTest, ContentHasARuleOnlyIfEveryElementFollowsIt) {
  for (const std::vector<int64_t>& content :
       {std::vector<int64_t>{0, 1, 2, 3}, {5, 5, 5, 5}, {1, 4, 7, 10}}) {
    for (size_t changed = 0; changed <= content.size(); ++changed) {
      std::vector<Scalar> elements;
      for (size_t i = 0; i < content.size(); ++i) {
        elements.push_back(Int(content[i] + (i == changed ? 100 : 0)));
      }
      EXPECT_EQ(RuleOf(Fact::Ints(elements)).has_value(), changed == content.size()) << changed;
    }
  }
}

TEST(BroadcastShapesTest, NamesWhatDiffers) {
  EXPECT_EQ(BroadcastShapes({Shape{n, 1, 4}, Shape{3, 1}})->ToString(), "[n, 3, 4]");
  EXPECT_EQ(BroadcastShapes({Shape{2, 3}, Shape{4}}).status().message(),
            "shapes [2, 3] and [4] do not broadcast: 3 vs 4");
}

}  // namespace
}  // namespace onnxflops
