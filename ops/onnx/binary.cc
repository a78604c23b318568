// Arithmetic, comparison and logic of several tensors, which broadcast.
//
// Cost per element of the output: one operation of the operator's kind, and k - 1 of k inputs.
// Subtraction is an add; Where selects: free.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/evaluate.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "ops/versions.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- rules

absl::Status RequireTwoInputs(const NodeView& n) {
  if (n.num_inputs() == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(n.num_inputs(), " inputs instead of 2"));
}

absl::StatusOr<Facts> InferBinary(const NodeView& n) {
  RETURN_IF_ERROR(RequireTwoInputs(n));
  return InferBroadcast(n);
}

absl::StatusOr<Facts> InferComparison(const NodeView& n) {
  RETURN_IF_ERROR(RequireTwoInputs(n));
  return InferBroadcastBool(n);
}

absl::StatusOr<Facts> InferWhere(const NodeView& n) {
  const Fact* inputs[] = {&n.input(0), &n.input(1), &n.input(2)};
  absl::InlinedVector<Shape, 3> shapes;
  for (int i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(Shape shape, n.RankedShape(i));
    shapes.push_back(std::move(shape));
  }
  ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(shapes));
  Fact result = Fact::Tensor(n.dtype(1), std::move(shape));
  EvaluateBroadcast(inputs, n.def().evaluate, &result);
  return Facts{std::move(result)};
}

absl::StatusOr<Facts> InferMod(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts facts, InferBinary(n));
  if (n.Flag("fmod") && (facts[0].has_content() || facts[0].has_rule())) {
    const Fact* inputs[] = {&n.input(0), &n.input(1)};
    facts[0].DropContent();
    EvaluateBroadcast(inputs, EvaluateTruncMod, &facts[0]);
  }
  return facts;
}

// ---- versions

constexpr int kBitShiftVersions[] = {11, 28};
constexpr int kEqualVersions[] = {1, 7, 11, 13, 19};
constexpr int kModVersions[] = {10, 13, 28};
constexpr int kPowVersions[] = {1, 7, 12, 13, 15};
constexpr int kWhereVersions[] = {9, 16};

// ---- examples

constexpr OpExample kAddExamples[] = {
    {"g (float[N,4] A, float[4] B) => (float[N,4] C) { C = Add(A, B) }", "add=4*N"},
    {"g (float[N,3,5] A, float[3] B) => (float[N,3,5] C) { C = Add<broadcast = 1, axis = 1>(A, B) "
     "}",
     "add=15*N", 6},
    {"g (int64[N] A, int64[N] B) => (int64[N] C) { C = Add(A, B) }", "int_add=N"},
};

constexpr OpExample kAndExamples[] = {
    {"g (bool[N,4] A, bool[4] B) => (bool[N,4] C) { C = And(A, B) }", "int_cmp=4*N"},
    {"g (bool[N,3,5] A, bool[3] B) => (bool[N,3,5] C) { C = And<broadcast = 1, axis = 1>(A, B) }",
     "int_cmp=15*N", 6},
};

constexpr OpExample kBitShiftExamples[] = {
    {"g (uint8[N,4] A, uint8[4] B) => (uint8[N,4] C) { C = BitShift<direction = \"LEFT\">(A, B) }",
     "int_cmp=4*N"},
};

constexpr OpExample kBitwiseAndExamples[] = {
    {"g (int32[N,4] A, int32[4] B) => (int32[N,4] C) { C = BitwiseAnd(A, B) }", "int_cmp=4*N"},
};

constexpr OpExample kBitwiseOrExamples[] = {
    {"g (int32[N,4] A, int32[4] B) => (int32[N,4] C) { C = BitwiseOr(A, B) }", "int_cmp=4*N"},
};

constexpr OpExample kBitwiseXorExamples[] = {
    {"g (int32[N,4] A, int32[4] B) => (int32[N,4] C) { C = BitwiseXor(A, B) }", "int_cmp=4*N"},
};

constexpr OpExample kDivExamples[] = {
    {"g (float[N,4] A, float[4] B) => (float[N,4] C) { C = Div(A, B) }", "div=4*N"},
    {"g (float[N,3,5] A, float[3] B) => (float[N,3,5] C) { C = Div<broadcast = 1, axis = 1>(A, B) "
     "}",
     "div=15*N", 6},
};

constexpr OpExample kEqualExamples[] = {
    {"g (float[N,4] A, float[4] B) => (bool[N,4] C) { C = Equal(A, B) }", "cmp=4*N"},
    {"g (int64[N] A, int64[1] B) => (bool[N] C) { C = Equal(A, B) }", "int_cmp=N"},
};

constexpr OpExample kGreaterExamples[] = {
    {"g (float[N,4] A, float[4] B) => (bool[N,4] C) { C = Greater(A, B) }", "cmp=4*N"},
    {"g (float[N,3,5] A, float[3] B) => (bool[N,3,5] C) { C = Greater<broadcast = 1, axis = 1>(A, "
     "B) }",
     "cmp=15*N", 6},
};

constexpr OpExample kGreaterOrEqualExamples[] = {
    {"g (float[N,4] A, float[4] B) => (bool[N,4] C) { C = GreaterOrEqual(A, B) }", "cmp=4*N"},
};

constexpr OpExample kLessExamples[] = {
    {"g (float[N,4] A, float[4] B) => (bool[N,4] C) { C = Less(A, B) }", "cmp=4*N"},
    {"g (float[N,3,5] A, float[3] B) => (bool[N,3,5] C) { C = Less<broadcast = 1, axis = 1>(A, B) "
     "}",
     "cmp=15*N", 6},
};

constexpr OpExample kLessOrEqualExamples[] = {
    {"g (float[N,4] A, float[4] B) => (bool[N,4] C) { C = LessOrEqual(A, B) }", "cmp=4*N"},
};

constexpr OpExample kMaxExamples[] = {
    {"g (float[N,4] A, float[4] B, float[1] C) => (float[N,4] Y) { Y = Max(A, B, C) }", "cmp=8*N"},
    {"g (float[N,4] A) => (float[N,4] Y) { Y = Max(A) }", "free"},
};

constexpr OpExample kMeanExamples[] = {
    {"g (float[N,4] A, float[4] B, float[1] C) => (float[N,4] Y) { Y = Mean(A, B, C) }",
     "add=8*N div=4*N"},
    {"g (float[N,4] A) => (float[N,4] Y) { Y = Mean(A) }", "div=4*N"},
};

constexpr OpExample kMinExamples[] = {
    {"g (float[N,4] A, float[4] B, float[1] C) => (float[N,4] Y) { Y = Min(A, B, C) }", "cmp=8*N"},
    {"g (float[N,4] A) => (float[N,4] Y) { Y = Min(A) }", "free"},
};

constexpr OpExample kModExamples[] = {
    {"g (int64[N,4] A, int64[4] B) => (int64[N,4] C) { C = Mod(A, B) }", "int_div=4*N"},
    {"g (float[N,4] A, float[4] B) => (float[N,4] C) { C = Mod<fmod = 1>(A, B) }", "div=4*N"},
};

constexpr OpExample kMulExamples[] = {
    {"g (float[N,4] A, float[4] B) => (float[N,4] C) { C = Mul(A, B) }", "mul=4*N"},
    {"g (float[N,3,5] A, float[3] B) => (float[N,3,5] C) { C = Mul<broadcast = 1, axis = 1>(A, B) "
     "}",
     "mul=15*N", 6},
};

constexpr OpExample kOrExamples[] = {
    {"g (bool[N,4] A, bool[4] B) => (bool[N,4] C) { C = Or(A, B) }", "int_cmp=4*N"},
};

constexpr OpExample kPowExamples[] = {
    {"g (float[N,4] A, float[4] B) => (float[N,4] C) { C = Pow(A, B) }", "pow=4*N"},
    {"g (float[N,3,5] A, float[3] B) => (float[N,3,5] C) { C = Pow<broadcast = 1, axis = 1>(A, B) "
     "}",
     "pow=15*N", 6},
};

constexpr OpExample kSubExamples[] = {
    {"g (float[N,4] A, float[4] B) => (float[N,4] C) { C = Sub(A, B) }", "add=4*N"},
    {"g (float[N,3,5] A, float[3] B) => (float[N,3,5] C) { C = Sub<broadcast = 1, axis = 1>(A, B) "
     "}",
     "add=15*N", 6},
};

constexpr OpExample kSumExamples[] = {
    {"g (float[N,4] A, float[4] B, float[1] C) => (float[N,4] Y) { Y = Sum(A, B, C) }", "add=8*N"},
    {"g (float[N,4] A) => (float[N,4] Y) { Y = Sum(A) }", "free"},
};

constexpr OpExample kWhereExamples[] = {
    {"g (bool[N,1] c, float[N,4] X, float[4] Z) => (float[N,4] Y) { Y = Where(c, X, Z) }", "free"},
    // Expand to a shape whose -1 stands for "as it is".
    {"g (float[N,1] X) => (float[N,5] Y) { t = Constant<value_ints = [-1, 5]>() "
     "keep = Constant<value_ints = [-1]>() c = Equal(t, keep) s = Shape(X) u = Where(c, s, t) "
     "Y = Expand(X, u) }",
     "free"},
};

constexpr OpExample kXorExamples[] = {
    {"g (bool[N,4] A, bool[4] B) => (bool[N,4] C) { C = Xor(A, B) }", "int_cmp=4*N"},
};

// ---- the table

// ---- where the function bodies cost more
constexpr OpException kGreaterOrEqualExceptions[] = {
    {"always", "cmp int_cmp",
     "the function body has three operators for one comparison: Greater, Equal, Or"},
};

constexpr OpException kLessOrEqualExceptions[] = {
    {"always", "cmp int_cmp",
     "the function body has three operators for one comparison: Less, Equal, Or"},
};

// ---- the table

constexpr OpDef kBinaryRows[] = {
    {.name = "Add",
     .versions = kSince1_6_7_13_14,
     .formula = "Y = A + B, broadcast",
     .infer = InferBinary,
     .count = CountPerOutputElement,
     .examples = kAddExamples,
     .per_element = {.add = 1},
     .evaluate = EvaluateAdd,
     .traits = Traits::kMovesMask | Traits::kInPlace,
     .onnx = {.since = 6, .follows_since = 14},
     .gradient = {.formula = "dA = dY; dB = dY; summed up where broadcast",
                  .broadcast = true,
                  .passes = InputBits({0, 1})}},
    {.name = "And",
     .versions = kSince1_7,
     .formula = "Y = A and B, broadcast",
     .infer = InferComparison,
     .count = CountPerOutputElement,
     .examples = kAndExamples,
     .per_element = {.cmp = 1},
     .evaluate = EvaluateAnd,
     .traits = Traits::kMovesMask | Traits::kInPlace,
     .note = "counted as integer work"},
    {.name = "BitShift",
     .versions = kBitShiftVersions,
     .formula = "Y = A shifted by B bits, broadcast",
     .infer = InferBinary,
     .count = CountPerOutputElement,
     .examples = kBitShiftExamples,
     .per_element = {.cmp = 1},
     .traits = Traits::kInPlace,
     .note = "counted as integer work"},
    {.name = "BitwiseAnd",
     .versions = kSince18,
     .formula = "Y = A and B bit by bit, broadcast",
     .infer = InferBinary,
     .count = CountPerOutputElement,
     .examples = kBitwiseAndExamples,
     .per_element = {.cmp = 1},
     .traits = Traits::kInPlace,
     .note = "counted as integer work"},
    {.name = "BitwiseOr",
     .versions = kSince18,
     .formula = "Y = A or B bit by bit, broadcast",
     .infer = InferBinary,
     .count = CountPerOutputElement,
     .examples = kBitwiseOrExamples,
     .per_element = {.cmp = 1},
     .traits = Traits::kInPlace,
     .note = "counted as integer work"},
    {.name = "BitwiseXor",
     .versions = kSince18,
     .formula = "Y = A xor B bit by bit, broadcast",
     .infer = InferBinary,
     .count = CountPerOutputElement,
     .examples = kBitwiseXorExamples,
     .per_element = {.cmp = 1},
     .traits = Traits::kInPlace,
     .note = "counted as integer work"},
    {.name = "Div",
     .versions = kSince1_6_7_13_14,
     .formula = "Y = A / B, broadcast",
     .infer = InferBinary,
     .count = CountPerOutputElement,
     .examples = kDivExamples,
     .per_element = {.div = 1},
     .evaluate = EvaluateDiv,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dA = dY / B; dB = -dY / B * Y; summed up where broadcast",
                  .broadcast = true,
                  .first = {.div = 1},
                  .others = {.mul = 1, .div = 1},
                  .keeps = {.inputs = InputBits({1}), .crosswise = true}}},
    {.name = "Equal",
     .versions = kEqualVersions,
     .formula = "Y = A == B, broadcast",
     .infer = InferComparison,
     .count = CountPerOutputElement,
     .examples = kEqualExamples,
     .per_element = {.cmp = 1},
     .evaluate = EvaluateEqual,
     .traits = Traits::kMovesMask | Traits::kInPlace},
    {.name = "Greater",
     .versions = kSince1_7_9_13,
     .formula = "Y = A > B, broadcast",
     .infer = InferComparison,
     .count = CountPerOutputElement,
     .examples = kGreaterExamples,
     .per_element = {.cmp = 1},
     .evaluate = EvaluateGreater,
     .traits = Traits::kMovesMask | Traits::kInPlace},
    {.name = "GreaterOrEqual",
     .versions = kSince12_16,
     .formula = "Y = A >= B, broadcast",
     .infer = InferComparison,
     .count = CountPerOutputElement,
     .examples = kGreaterOrEqualExamples,
     .per_element = {.cmp = 1},
     .evaluate = EvaluateGreaterOrEqual,
     .traits = Traits::kInPlace,
     .exceptions = kGreaterOrEqualExceptions},
    {.name = "Less",
     .versions = kSince1_7_9_13,
     .formula = "Y = A < B, broadcast",
     .infer = InferComparison,
     .count = CountPerOutputElement,
     .examples = kLessExamples,
     .per_element = {.cmp = 1},
     .evaluate = EvaluateLess,
     .traits = Traits::kMovesMask | Traits::kInPlace},
    {.name = "LessOrEqual",
     .versions = kSince12_16,
     .formula = "Y = A <= B, broadcast",
     .infer = InferComparison,
     .count = CountPerOutputElement,
     .examples = kLessOrEqualExamples,
     .per_element = {.cmp = 1},
     .evaluate = EvaluateLessOrEqual,
     .traits = Traits::kInPlace,
     .exceptions = kLessOrEqualExceptions},
    {.name = "Max",
     .versions = kSince1_6_8_12_13,
     .formula = "max = largest of k inputs, broadcast",
     .data = {.signature = "data_0... -> max", .costs = "cmp = (data_0.count - 1)*max.elements"},
     .infer = InferBroadcast,
     .examples = kMaxExamples,
     .evaluate = EvaluateMax,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dY to the input that equals Y; summed up where broadcast",
                  .broadcast = true,
                  .first = {.cmp = 1},
                  .others = {.cmp = 1},
                  .keeps = {.inputs = InputBits({0, 1}), .numbers = true}}},
    {.name = "Mean",
     .versions = kSince1_6_8_13,
     .formula = "mean = mean of k inputs, broadcast",
     .data = {.signature = "data_0... -> mean",
              .costs = "add = (data_0.count - 1)*mean.elements; div = mean.elements"},
     .infer = InferBroadcast,
     .examples = kMeanExamples,
     .evaluate = EvaluateMean,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dY / k to each input; summed up where broadcast",
                  .broadcast = true,
                  .shared = {.div = 1},
                  .keeps = {.nothing = true}}},
    {.name = "Min",
     .versions = kSince1_6_8_12_13,
     .formula = "min = smallest of k inputs, broadcast",
     .data = {.signature = "data_0... -> min", .costs = "cmp = (data_0.count - 1)*min.elements"},
     .infer = InferBroadcast,
     .examples = kMinExamples,
     .evaluate = EvaluateMin,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dY to the input that equals Y; summed up where broadcast",
                  .broadcast = true,
                  .first = {.cmp = 1},
                  .others = {.cmp = 1},
                  .keeps = {.inputs = InputBits({0, 1}), .numbers = true}}},
    {.name = "Mod",
     .versions = kModVersions,
     .formula = "Y = remainder of A / B, broadcast",
     .infer = InferMod,
     .count = CountPerOutputElement,
     .examples = kModExamples,
     .per_element = {.div = 1},
     .evaluate = EvaluateMod,
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dA = dY; dB = -dY * floor(A / B); summed up where broadcast",
                  .broadcast = true,
                  .others = {.mul = 1, .div = 1, .round = 1}}},
    {.name = "Mul",
     .versions = kSince1_6_7_13_14,
     .formula = "Y = A * B, broadcast",
     .infer = InferBinary,
     .count = CountPerOutputElement,
     .examples = kMulExamples,
     .per_element = {.mul = 1},
     .evaluate = EvaluateMul,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6, .follows_since = 14},
     .gradient = {.formula = "dA = dY * B; dB = dY * A; summed up where broadcast",
                  .broadcast = true,
                  .first = {.mul = 1},
                  .others = {.mul = 1},
                  .keeps = {.crosswise = true}}},
    {.name = "Or",
     .versions = kSince1_7,
     .formula = "Y = A or B, broadcast",
     .infer = InferComparison,
     .count = CountPerOutputElement,
     .examples = kOrExamples,
     .per_element = {.cmp = 1},
     .evaluate = EvaluateOr,
     .traits = Traits::kMovesMask | Traits::kInPlace,
     .note = "counted as integer work"},
    {.name = "Pow",
     .versions = kPowVersions,
     .formula = "Y = A^B, broadcast",
     .infer = InferBinary,
     .count = CountPerOutputElement,
     .examples = kPowExamples,
     .per_element = {.pow = 1},
     .evaluate = EvaluatePow,
     .traits = Traits::kInPlace,
     .note = "a pow, whatever the exponent",
     .gradient = {.formula =
                      "dA = dY * B * A^(B - 1); dB = dY * Y * ln A; summed up where broadcast",
                  .broadcast = true,
                  .first = {.add = 1, .mul = 2, .pow = 1},
                  .others = {.mul = 2, .log = 1},
                  .keeps = {.inputs = InputBits({0}), .exponent = true},
                  .temporaries = 2}},
    {.name = "Sub",
     .versions = kSince1_6_7_13_14,
     .formula = "Y = A - B, broadcast",
     .infer = InferBinary,
     .count = CountPerOutputElement,
     .examples = kSubExamples,
     .per_element = {.add = 1},
     .evaluate = EvaluateSub,
     .traits = Traits::kMovesMask | Traits::kInPlace,
     .onnx = {.since = 6, .follows_since = 14},
     .gradient = {.formula = "dA = dY; dB = -dY; summed up where broadcast",
                  .broadcast = true,
                  .passes = InputBits({0})}},
    {.name = "Sum",
     .versions = kSince1_6_8_13,
     .formula = "sum = sum of k inputs, broadcast",
     .data = {.signature = "data_0... -> sum", .costs = "add = (data_0.count - 1)*sum.elements"},
     .infer = InferBroadcast,
     .examples = kSumExamples,
     .evaluate = EvaluateSum,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dY to each input; summed up where broadcast",
                  .broadcast = true,
                  .passes = ~uint32_t{0}}},
    {.name = "Where",
     .versions = kWhereVersions,
     .formula = "Y = X where the condition holds, else Z, broadcast",
     .infer = InferWhere,
     .examples = kWhereExamples,
     .evaluate = EvaluateWhere,
     .traits = Traits::kSamples | Traits::kMovesMask | Traits::kInPlace,
     .gradient = {.formula =
                      "dX = dY where the condition holds, dZ elsewhere; summed up where broadcast",
                  .broadcast = true,
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "Xor",
     .versions = kSince1_7,
     .formula = "Y = A xor B, broadcast",
     .infer = InferComparison,
     .count = CountPerOutputElement,
     .examples = kXorExamples,
     .per_element = {.cmp = 1},
     .evaluate = EvaluateXor,
     .traits = Traits::kInPlace,
     .note = "counted as integer work"},
};

}  // namespace

constexpr OpFamily kBinaryFamily = {.domain = "", .rows = kBinaryRows};

}  // namespace onnxflops
