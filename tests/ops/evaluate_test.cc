// Content arithmetic: single elements through elementwise operators.
#include "ops/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/element_rule.h"
#include "ops/rules.h"

namespace onnxflops::evaluate_test {
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

struct Evaluated {
  EvaluateFn function;
  std::vector<Scalar> inputs;
  DType type;
  const char* result;
};

void ExpectResults(const std::vector<Evaluated>& cases) {
  for (const Evaluated& c : cases) {
    std::string trace;
    for (const Scalar& input : c.inputs) trace += Text(input) + ", ";
    EXPECT_EQ(Apply(c.function, c.inputs, c.type), c.result) << trace << " case " << &c - &cases[0];
  }
}

constexpr DType kInt = DType::kInt64, kFloat = DType::kFloat32;

Scalar Over(const Expr& numerator, int64_t denominator) {
  return Scalar::Ratio(numerator, denominator);
}

TEST(EvaluateTest, OfOneInput) {
  ExpectResults({
      {EvaluateNeg, {Int(n)}, kInt, "-n"},
      {EvaluateNeg, {Int(-128)}, DType::kInt8, "-128"},
      {EvaluateNeg, {Over(n, 3)}, kFloat, "(-n)/3"},
      {EvaluateNeg, {Float(2.5)}, kFloat, "-2.500000"},
      {EvaluateAbs, {Float(-2.5)}, kFloat, "2.500000"},
      {EvaluateAbs, {Over(n, 3)}, kFloat, "(n)/3"},
      {EvaluateAbs, {Over(m - 1, 3)}, kFloat, "?"},
      {EvaluateAbs, {Int(-128)}, DType::kInt8, "-128"},
      {EvaluateSign, {Float(-3)}, kFloat, "-1.000000"},
      {EvaluateSign, {Float(0.1)}, kFloat, "1.000000"},
      {EvaluateSign, {Float(-0.0)}, kFloat, "0.000000"},
      {EvaluateSign, {Float(NAN)}, kFloat, "nan"},
      {EvaluateSign, {Int(n)}, kInt, "1"},
      {EvaluateSign, {Int(m)}, kInt, "?"},
      {EvaluateSign, {Int(0)}, kInt, "0"},
      {EvaluateSign, {Int(0 - n)}, kInt, "-1"},
      {EvaluateSign, {Int(0 - m)}, kInt, "?"},
      {EvaluateFloor, {Float(-2.5)}, kFloat, "-3.000000"},
      {EvaluateFloor, {Int(n)}, kFloat, "n"},
      {EvaluateCeil, {Float(-2.5)}, kFloat, "-2.000000"},
      {EvaluateCeil, {Int(n)}, kFloat, "n"},
      {EvaluateRound, {Float(2.5)}, kFloat, "2.000000"},  // ties to even
      {EvaluateRound, {Float(3.5)}, kFloat, "4.000000"},
      {EvaluateRound, {Over(n, 4)}, kFloat, "?"},
      {EvaluateRound, {Int(n)}, kFloat, "n"},
      {EvaluateReciprocal, {Float(4)}, kFloat, "0.250000"},
      {EvaluateReciprocal, {Int(n)}, kFloat, "?"},
      {EvaluateSqrt, {Int(16)}, kFloat, "4.000000"},
      {EvaluateExp, {Float(1)}, kFloat, "2.718282"},
      {EvaluateLog, {Float(8)}, kFloat, "2.079442"},
      {EvaluateIsNaN, {Float(NAN)}, DType::kBool, "1"},
      {EvaluateIsNaN, {Float(INFINITY)}, DType::kBool, "0"},
      {EvaluateIsNaN, {Int(n)}, DType::kBool, "0"},
      {EvaluateIsNaN, {Scalar{}}, DType::kBool, "?"},
      {EvaluateRelu, {Float(-2)}, kFloat, "0.000000"},
      {EvaluateRelu, {Float(2)}, kFloat, "2.000000"},
  });
}

TEST(EvaluateTest, OfSeveralInputs) {
  ExpectResults({
      {EvaluateSub, {Int(n), Int(1)}, kInt, "n - 1"},
      {EvaluateSub, {Float(1.5), Float(4)}, kFloat, "-2.500000"},
      {EvaluateSub, {Float(4.5), Int(n)}, kFloat, "(-2*n + 9)/2"},
      {EvaluateAdd, {Int(n), Float(4.5)}, kFloat, "(2*n + 9)/2"},
      {EvaluateAdd, {Over(n, 2), Over(n, 4)}, kFloat, "(3*n)/4"},
      {EvaluateSum, {Int(n), Int(1), Int(m)}, kInt, "m + n + 1"},
      {EvaluateSum, {Int(n), Scalar{}, Int(1)}, kInt, "?"},
      {EvaluateMean, {Float(1), Float(2), Float(6)}, kFloat, "3.000000"},
      {EvaluateMean, {Int(n), Int(2)}, kFloat, "(n + 2)/2"},
      {EvaluateMod, {Float(-7.5), Float(2)}, kFloat, "0.500000"},  // of the divisor's sign
      {EvaluateMod, {Float(7.5), Float(-2)}, kFloat, "-0.500000"},
      {EvaluateMod, {Float(-4), Float(-3)}, kFloat, "-1.000000"},
      {EvaluateMod, {Float(-4), Float(2)}, kFloat, "-0.000000"},
      {EvaluateMod, {Int(7), Int(-3)}, kInt, "-2"},
      {EvaluateMod, {Int(n), Int(0)}, kInt, "?"},
      {EvaluateTruncMod, {Float(-7.5), Float(2)}, kFloat, "-1.500000"},
      {EvaluateTruncMod, {Int(7), Int(-3)}, kInt, "1"},
      {EvaluateTruncMod, {Int(n), Int(0)}, kInt, "?"},
      {EvaluatePow, {Float(2), Int(10)}, kFloat, "1024.000000"},
      {EvaluatePow, {Float(2), Int(n)}, kFloat, "?"},
      {EvaluatePow, {Int(2), Int(62)}, kInt, "4611686018427387904"},
      {EvaluatePow, {Int(-1), Int(63)}, kInt, "-1"},
      {EvaluatePow, {Int(-1), Int(64)}, kInt, "?"},
      {EvaluatePow, {Int(n), Int(4)}, kInt, "n^4"},
      {EvaluatePow, {Int(n), Int(5)}, kInt, "?"},
      {EvaluatePow, {Int(n), Int(0)}, kInt, "1"},
      {EvaluatePow, {Int(n), Int(-1)}, kInt, "?"},
      {EvaluatePow, {Int(n), Float(1.5)}, kFloat, "?"},
      {EvaluateMax, {Over(n, 3), Float(0.5)}, kFloat, "?"},
      {EvaluateMax, {Over(n, 3), Float(-0.5)}, kFloat, "(n)/3"},
      {EvaluateMax, {Float(-0.5), Over(n, 3)}, kFloat, "(n)/3"},
      {EvaluateMin, {Over(n, 3), Float(-0.5)}, kFloat, "-0.500000"},
      {EvaluateMin, {Float(-0.5), Over(n, 3)}, kFloat, "-0.500000"},
      {EvaluateMin, {Int(3), Int(1), Int(2)}, kInt, "1"},
      {EvaluateXor, {Int(1), Int(0)}, DType::kBool, "1"},
      {EvaluateXor, {Int(1), Int(1)}, DType::kBool, "0"},
      {EvaluateXor, {Int(1), Scalar{}}, DType::kBool, "?"},
      {EvaluateAnd, {Int(1), Int(1)}, DType::kBool, "1"},
      {EvaluateAnd, {Int(1), Scalar{}}, DType::kBool, "?"},
      {EvaluateOr, {Scalar{}, Int(1)}, DType::kBool, "1"},
      {EvaluateOr, {Int(0), Int(0)}, DType::kBool, "0"},
      {EvaluateNot, {Scalar{}}, DType::kBool, "?"},
  });
}

TEST(EvaluateTest, Quotients) {
  ExpectResults({
      {EvaluateDiv, {Float(7), Float(2)}, kFloat, "3.500000"},
      {EvaluateDiv, {Int(7), Int(2)}, kFloat, "3.500000"},
      {EvaluateDiv, {Int(n), Float(0)}, kFloat, "?"},
      {EvaluateDiv, {Int(n), Float(-2)}, kFloat, "(-n)/2"},
      {EvaluateDiv, {Int(n), Float(0.25)}, kFloat, "4*n"},
      {EvaluateDiv, {Over(n, 2), Float(2)}, kFloat, "(n)/4"},
      {EvaluateDiv, {Over(6 * n, 8), Int(n)}, kFloat, "?"},
      {EvaluateDiv, {Over(8 * n, 4), Int(n)}, kFloat, "2.000000"},
      // The largest factors that are exact.
      {EvaluateDiv, {Int(n), Float(4096)}, kFloat, "(n)/4096"},
      {EvaluateDiv, {Int(n), Float(4097)}, kFloat, "?"},
      {EvaluateMul, {Int(n), Float(-4096)}, kFloat, "-4096*n"},
      {EvaluateMul, {Int(n), Float(4097)}, kFloat, "?"},
      {EvaluateMul, {Float(-4097), Int(n)}, kFloat, "?"},
      {EvaluateMul, {Over(n, 64), Float(1.0 / 64)}, kFloat, "(n)/4096"},
      {EvaluateMul, {Over(n, 64), Float(1.0 / 128)}, kFloat, "?"},
      {EvaluateAdd, {Int(n), Float(1.0 / 4096)}, kFloat, "(4096*n + 1)/4096"},
      {EvaluateAdd, {Int(n), Float(1.0 / 8192)}, kFloat, "?"},
      {EvaluateAdd, {Int(n), Float(0x1p40)}, kFloat, "n + 1099511627776"},
      {EvaluateAdd, {Int(n), Float(0x1p41)}, kFloat, "?"},
  });
}

// -7/3 is -2 for integers; of symbols, at every size.
TEST(EvaluateTest, QuotientsOfSymbolsAreTowardsZeroAtEverySize) {
  const std::pair<Expr, Expr> cases[] = {
      {m - 3, -2}, {m - 3, n}, {7, 0 - n}, {m - 5, 0 - n}, {3 - m, 3}};
  for (const auto& [a, b] : cases) {
    const std::vector<Scalar> operands = {Int(a), Int(b)};
    const Scalar quotient = EvaluateDiv(operands, kInt), rest = EvaluateTruncMod(operands, kInt);
    ASSERT_TRUE(quotient.is_int() && rest.is_int());
    for (int64_t size : {1, 2, 3, 4, 5, 6, 7, 11}) {
      const Bindings at = {{"m", size}, {"n", 2 * size - 1}};
      const absl::int128 x = *a.Evaluate(at), y = *b.Evaluate(at);
      EXPECT_EQ(*quotient.i.Evaluate(at), x / y) << a.ToString() << " by " << b.ToString();
      EXPECT_EQ(*rest.i.Evaluate(at), x % y) << a.ToString() << " by " << b.ToString();
    }
  }
  EXPECT_EQ(Apply(EvaluateDiv, {Int(n), Int(m - 3)}), "?");  // of either sign
}

TEST(EvaluateTest, ComparisonsOfFractionsAndOfNaN) {
  const DType type = DType::kBool;
  ExpectResults({
      {EvaluateLess, {Over(n, 3), Int(n)}, type, "1"},
      {EvaluateLess, {Int(n), Over(n, 3)}, type, "0"},
      {EvaluateGreater, {Int(n), Over(n, 3)}, type, "1"},
      {EvaluateGreater, {Over(n, 3), Float(5)}, type, "?"},
      {EvaluateEqual, {Over(n, 2), Over(n, 4)}, type, "0"},
      {EvaluateEqual, {Over(n, 2), Over(2 * n, 4)}, type, "1"},
      {EvaluateEqual, {Float(2), Float(2)}, type, "1"},
      {EvaluateEqual, {Float(2), Float(2.5)}, type, "0"},
      {EvaluateEqual, {Float(NAN), Float(NAN)}, type, "0"},
      {EvaluateLess, {Float(2), Float(2)}, type, "0"},
      {EvaluateLess, {Float(2), Float(NAN)}, type, "0"},
      {EvaluateGreater, {Float(3), Float(2)}, type, "1"},
      {EvaluateLessOrEqual, {Float(2), Float(2)}, type, "1"},
      {EvaluateLessOrEqual, {Int(m), Int(n)}, type, "?"},
      {EvaluateLessOrEqual, {Int(0), Int(m)}, type, "1"},
      {EvaluateGreaterOrEqual, {Float(2), Float(2)}, type, "1"},
      {EvaluateGreaterOrEqual, {Float(NAN), Float(2)}, type, "0"},
      {EvaluateGreaterOrEqual, {Float(1), Float(2)}, type, "0"},
  });
}

// ---- symbols against numbers

// The number that an element is where the symbols have these sizes; nullopt for no number.
std::optional<double> NumberOf(const Scalar& s, const Bindings& sizes) {
  if (s.is_float()) return s.f;
  if (!s.known()) return std::nullopt;
  const absl::StatusOr<absl::int128> value = s.i.Evaluate(sizes);
  if (!value.ok()) return std::nullopt;
  return static_cast<double>(*value) / (s.is_ratio() ? s.f : 1);
}

struct OnNumbers {
  const char* name;
  EvaluateFn function;
  double (*of)(double a, double b);
  DType type;
};

double TruncQuotient(double a, double b) { return std::trunc(a / b); }
double FloorRest(double a, double b) { return a - b * std::floor(a / b); }

const OnNumbers kOnNumbers[] = {
    {"add", EvaluateAdd, [](double a, double b) { return a + b; }, DType::kFloat32},
    {"int add", EvaluateAdd, [](double a, double b) { return a + b; }, DType::kInt64},
    {"sub", EvaluateSub, [](double a, double b) { return a - b; }, DType::kFloat32},
    {"mul", EvaluateMul, [](double a, double b) { return a * b; }, DType::kFloat32},
    {"div", EvaluateDiv, [](double a, double b) { return a / b; }, DType::kFloat32},
    {"int div", EvaluateDiv, TruncQuotient, DType::kInt64},
    {"int mod", EvaluateMod, FloorRest, DType::kInt64},
    {"rest", EvaluateTruncMod, [](double a, double b) { return std::fmod(a, b); }, DType::kInt64},
    {"min", EvaluateMin, [](double a, double b) { return std::fmin(a, b); }, DType::kFloat32},
    {"max", EvaluateMax, [](double a, double b) { return std::fmax(a, b); }, DType::kFloat32},
    {"mean", EvaluateMean, [](double a, double b) { return (a + b) / 2; }, DType::kFloat32},
    {"less", EvaluateLess, [](double a, double b) { return a < b ? 1.0 : 0; }, DType::kBool},
    {"greater", EvaluateGreater, [](double a, double b) { return a > b ? 1.0 : 0; }, DType::kBool},
    {"no more", EvaluateLessOrEqual, [](double a, double b) { return a <= b ? 1.0 : 0; },
     DType::kBool},
    {"no less", EvaluateGreaterOrEqual, [](double a, double b) { return a >= b ? 1.0 : 0; },
     DType::kBool},
    {"equal", EvaluateEqual, [](double a, double b) { return a == b ? 1.0 : 0; }, DType::kBool},
};

// Elements of tensors of this type.
std::vector<Scalar> ElementsFor(const OnNumbers& operation) {
  const std::vector<Expr> sizes = {0,     1,     2,         -1,        -3,    7,     n,
                                   m,     n + 1, 0 - n,     m - 3,     2 * n, 6 * m, n - m,
                                   4 - n, n * m, Max(m, 2), Min(n, 3), 0 - m, 4096,  n + 4};
  std::vector<Scalar> elements;
  for (const Expr& size : sizes) elements.push_back(Int(size));
  if (operation.type == DType::kInt64) return elements;
  for (const double f : {0.5, -0.25, 3.0, 1.5, -4.0, 0.0, 64.0, 1.0 / 4096}) {
    elements.push_back(Float(f));
  }
  for (const int64_t by : {2, 4, 64}) {
    for (const Expr& size : {n, m - 3, 3 * n}) elements.push_back(Scalar::Ratio(size, by));
  }
  return elements;
}

// Whatever is found of symbols is what numbers in their place give, and it stays found where all of
// them are numbers.
TEST(EvaluateTest, WhatIsFoundOfSymbolsIsWhatNumbersGive) {
  const Bindings places[] = {{{"n", 1}, {"m", 0}},
                             {{"n", 2}, {"m", 3}},
                             {{"n", 5}, {"m", 4}},
                             {{"n", 3}, {"m", 9}},
                             {{"n", 64}, {"m", 2}}};
  for (const OnNumbers& operation : kOnNumbers) {
    const std::vector<Scalar> elements = ElementsFor(operation);
    for (const Scalar& a : elements) {
      for (const Scalar& b : elements) {
        const Scalar found = operation.function(std::vector<Scalar>{a, b}, operation.type);
        if (!found.known()) continue;
        for (const Bindings& place : places) {
          const double expected = operation.of(*NumberOf(a, place), *NumberOf(b, place));
          if (!std::isfinite(expected)) continue;  // 1/m, where m is 0
          const std::optional<double> number = NumberOf(found, place);
          ASSERT_TRUE(number.has_value()) << operation.name << " " << Text(a) << ", " << Text(b);
          EXPECT_EQ(static_cast<float>(*number), static_cast<float>(expected))
              << operation.name << " " << Text(a) << ", " << Text(b) << " is " << Text(found);
        }
      }
    }
  }
}

// Two numbers always have a result, but quotients by 0.
TEST(EvaluateTest, OfNumbersAllIsFound) {
  for (const OnNumbers& operation : kOnNumbers) {
    for (const Scalar& a : ElementsFor(operation)) {
      for (const Scalar& b : ElementsFor(operation)) {
        if (!a.is_float() && !a.i.is_literal()) continue;
        if (!b.is_float() && !b.i.is_literal()) continue;
        if (*NumberOf(b, {}) == 0 && operation.of(1, 0) != 0 && operation.of(1, 0) != 1) continue;
        if (b.is_int() && b.i == Expr(0) && operation.type == DType::kInt64) continue;
        // Of a whole number and a fraction, quotients are found where they are short.
        if (operation.function == EvaluateDiv && a.kind != b.kind) continue;
        EXPECT_TRUE(operation.function(std::vector<Scalar>{a, b}, operation.type).known())
            << operation.name << " " << Text(a) << ", " << Text(b);
      }
    }
  }
}

// With an element that is not known, nothing is, but where the other decides alone.
TEST(EvaluateTest, OfAnUnknownElementNothingIsFound) {
  for (const OnNumbers& operation : kOnNumbers) {
    for (const Scalar& known : ElementsFor(operation)) {
      for (const auto& pair : {std::vector<Scalar>{known, {}}, {{}, known}, {{}, {}}}) {
        EXPECT_EQ(Apply(operation.function, pair, operation.type), "?") << operation.name;
      }
    }
  }
  for (const EvaluateFn function :
       {EvaluateNeg, EvaluateAbs, EvaluateSign, EvaluateFloor, EvaluateCeil, EvaluateRound,
        EvaluateReciprocal, EvaluateSqrt, EvaluateExp, EvaluateLog, EvaluateCast, EvaluateIsNaN,
        EvaluateNot, EvaluateRelu}) {
    EXPECT_EQ(Apply(function, {Scalar{}}, kFloat), "?");
  }
  for (const EvaluateFn function :
       {EvaluatePow, EvaluateXor, EvaluateAnd, EvaluateOr, EvaluateMod}) {
    EXPECT_EQ(Apply(function, {Scalar{}, Scalar{}}, kInt), "?");
  }
}

TEST(EvaluateTest, ChoicesAndLogic) {
  const DType type = DType::kBool;
  ExpectResults({
      {EvaluateWhere, {Int(1), Int(5), Scalar{}}, kInt, "5"},
      {EvaluateWhere, {Int(2), Int(5), Int(6)}, kInt, "5"},
      {EvaluateWhere, {Int(0), Scalar{}, Int(6)}, kInt, "6"},
      {EvaluateWhere, {Int(n), Int(5), Int(6)}, kInt, "?"},
      {EvaluateWhere, {Int(n), Int(5), Int(5)}, kInt, "5"},
      {EvaluateAnd, {Int(0), Scalar{}}, type, "0"},
      {EvaluateAnd, {Scalar{}, Int(1)}, type, "?"},
      {EvaluateAnd, {}, type, "?"},
      {EvaluateOr, {Int(1), Scalar{}}, type, "1"},
      {EvaluateOr, {Scalar{}, Scalar{}}, type, "?"},
      {EvaluateOr, {}, type, "?"},
      {EvaluateXor, {Int(0), Int(0)}, type, "0"},
      {EvaluateXor, {Scalar{}, Int(1)}, type, "?"},
      {EvaluateNot, {Int(1)}, type, "0"},
      {EvaluateSum, {}, kInt, "?"},
      {EvaluateMin, {}, kInt, "?"},
      {EvaluateGreater, {Int(1)}, type, "?"},
      {EvaluateSum, {Int(1), Int(2), Int(4), Int(8)}, kInt, "15"},
      {EvaluateMax, {Int(1), Float(2.5), Int(2)}, kFloat, "2.500000"},
      {EvaluateMin, {Float(1.5), Int(2), Int(1)}, kFloat, "1"},
      {EvaluateRelu, {Over(n, 2)}, kFloat, "(n)/2"},
      {EvaluateRelu, {Int(-3)}, kInt, "0"},
      {EvaluateRelu, {Int(0 - n)}, kInt, "0"},
      {EvaluateSign, {Int(-1)}, kInt, "-1"},
      {EvaluateSign, {Over(n, 2)}, kFloat, "1.000000"},
      {EvaluateAbs, {Int(m - 3)}, kInt, "max(-m + 3, m - 3)"},
      {EvaluateRound, {Float(-2.5)}, kFloat, "-2.000000"},
      {EvaluatePow, {Int(2), Int(63)}, kInt, "-9223372036854775808"},
      {EvaluatePow, {Float(2), Float(0.5)}, DType::kFloat16, "1.414062"},
      {EvaluateIsNaN, {Over(n, 2)}, type, "0"},
  });
}

TEST(EvaluateTest, FloatsAreRoundedToTheirType) {
  EXPECT_EQ(EvaluateAdd(std::vector<Scalar>{Float(0.1f), Float(0.2f)}, DType::kFloat32).f,
            static_cast<double>(0.1f + 0.2f));
  EXPECT_EQ(InType(Float(1e39), DType::kFloat32).f, INFINITY);
  EXPECT_EQ(InType(Float(1e-46), DType::kFloat32).f, 0.0);
  EXPECT_EQ(InType(Float(1e-45), DType::kFloat32).f, std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(InType(Float(2049), DType::kFloat16).f, 2048.0);
  EXPECT_EQ(InType(Float(65520), DType::kFloat16).f, INFINITY);
  EXPECT_EQ(InType(Float(-65520), DType::kFloat16).f, -INFINITY);
  EXPECT_EQ(InType(Float(65519), DType::kFloat16).f, 65504.0);
  EXPECT_EQ(InType(Float(0x1p-24), DType::kFloat16).f, 0x1p-24);
  EXPECT_EQ(InType(Float(0x1p-25), DType::kFloat16).f, 0.0);
  EXPECT_EQ(InType(Float(0x1.8p-25), DType::kFloat16).f, 0x1p-24);
  EXPECT_EQ(InType(Float(257), DType::kBfloat16).f, 256.0);
  EXPECT_EQ(InType(Float(0x1.FEp127), DType::kBfloat16).f, 0x1.FEp127);
  EXPECT_EQ(InType(Float(0x1.FFp127), DType::kBfloat16).f, INFINITY);
  EXPECT_EQ(InType(Float(0x1p-133), DType::kBfloat16).f, 0x1p-133);
  EXPECT_EQ(InType(Float(0x1p-134), DType::kBfloat16).f, 0.0);
  EXPECT_EQ(InType(Float(0x1.FFFFFEp127), DType::kFloat32).f, 0x1.FFFFFEp127);
  EXPECT_EQ(InType(Float(0x1p-1074), DType::kFloat64).f, 0x1p-1074);
  EXPECT_EQ(Text(InType(Float(1), DType::kFloat8E4M3FN)), "?");
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
  EXPECT_EQ(Text(InType(Int(9), DType::kInt4)), "-7");
  EXPECT_EQ(Text(InType(Int(25), DType::kUint4)), "9");
  EXPECT_EQ(Text(InType(Int(2), DType::kInt2)), "-2");
  EXPECT_EQ(Text(InType(Int(127), DType::kInt8)), "127");
  EXPECT_EQ(Text(InType(Int(128), DType::kInt8)), "-128");
  EXPECT_EQ(Text(InType(Int(-129), DType::kInt8)), "127");
  EXPECT_EQ(Text(InType(Float(300), DType::kUint8)), "?");
  EXPECT_EQ(Text(InType(Float(-128.9), DType::kInt8)), "-128");
  EXPECT_EQ(Text(InType(Float(0x1p62), DType::kInt64)), "?");
  EXPECT_EQ(Text(InType(Float(-0x1p61), DType::kInt64)), "-2305843009213693952");
  EXPECT_EQ(Text(InType(Float(0), DType::kBool)), "0");
  EXPECT_EQ(Text(InType(Over(n, 3), DType::kBool)), "1");
  EXPECT_EQ(Text(InType(Over(n, 3), DType::kInt32)), "floor(n/3)");
  EXPECT_EQ(Text(InType(Over(m - 3, 3), DType::kInt64)), "?");
  EXPECT_EQ(Text(InType(Int(n), DType::kUint32)), "n");
  EXPECT_EQ(Text(InType(Int(Min(n, 127)), DType::kInt8)), "min(127, n)");
  EXPECT_EQ(Text(InType(Int(Min(n, 128)), DType::kInt8)), "?");
  EXPECT_EQ(Text(InType(Int(Max(0 - n, -129)), DType::kInt8)), "?");
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
}  // namespace onnxflops::evaluate_test
