// Elementwise functions of one tensor; casts; running sums; the determinant.
//
// Cost per element of the output: one operation of the operator's kind. A reciprocal is a div.
// Negation and absolute value change a sign bit and Cast converts: free.
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "ops/element_rule.h"
#include "ops/evaluate.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "ops/versions.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- rules

// A bound of Clip: an input from opset 11 on, an attribute before. The absent fact when not given.
absl::StatusOr<Fact> ClipBound(const NodeView& n, int input, absl::string_view attribute) {
  if (n.version() < 11) {
    if (!n.HasAttr(attribute)) return Fact::Absent();
    return Fact::ScalarOf(InType(Scalar::Float(n.Float(attribute, 0)), n.dtype(0)), n.dtype(0));
  }
  if (!n.HasInput(input)) return Fact::Absent();
  ASSIGN_OR_RETURN(Shape shape, n.RankedShape(input));
  RETURN_IF_ERROR(n.RequireSame(absl::StrCat("elements of ", attribute), shape.NumElements(), 1));
  return n.input(input);
}

absl::StatusOr<Facts> InferClip(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape shape, n.RankedShape(0));
  ASSIGN_OR_RETURN(Fact low, ClipBound(n, 1, "min"));
  ASSIGN_OR_RETURN(Fact high, ClipBound(n, 2, "max"));
  Fact result = n.Like(0, shape);
  result.content = n.input(0).content;
  result.rule = n.input(0).rule;
  for (const Fact* bound : {&low, &high}) {
    if (bound->absent()) continue;
    const Fact unbounded = result;
    const Fact* inputs[] = {&unbounded, bound};
    result.DropContent();
    EvaluateBroadcast(inputs, bound == &low ? EvaluateMax : EvaluateMin, &result);
  }
  return Facts{std::move(result)};
}

absl::StatusOr<Census> ClipGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const Shape shape, n.OutputShape(0));
  Census work = query.forward;  // a comparison with each bound that is given
  // The gradient of a bound is the sum of dY where X is beyond it.
  for (size_t bound : {1, 2}) {
    if (query.Needs(bound)) work[Kind::kAdd] += shape.NumElements();
  }
  return work;
}

// Input 0 as elements of another type.
absl::StatusOr<Facts> InferCastTo(const NodeView& n, DType type) {
  ASSIGN_OR_RETURN(Shape shape, n.RankedShape(0));
  Fact result = Fact::Tensor(type, std::move(shape));
  // A weight that was dequantised and then cast to float16 is still a dequantised weight.
  if (IsFloat(type)) result.stored = n.input(0).stored;
  const Fact* input = &n.input(0);
  EvaluateBroadcast({&input, 1}, n.def().evaluate, &result);
  return Facts{std::move(result)};
}

absl::StatusOr<Facts> InferCast(const NodeView& n) {
  if (!n.HasAttr("to")) return absl::InvalidArgumentError("attribute to is missing");
  if (n.FindAttr("to")->type == AttributeType::kString) {  // of Cast-1: "FLOAT", "INT64"
    const absl::string_view name = n.String("to", "");
    std::optional<DType> type = ParseDType(absl::AsciiStrToLower(name));
    if (!type.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("to = ", name, " is not an element type"));
    }
    return InferCastTo(n, *type);
  }
  ASSIGN_OR_RETURN(DType type, DTypeAttr(n, "to", DType::kUndefined));
  return InferCastTo(n, type);
}

absl::StatusOr<Facts> InferCastLike(const NodeView& n) {
  const Fact& like = n.input(1);
  if (like.absent()) return absl::InvalidArgumentError("input 1 is missing");
  if (!like.is_tensor()) return absl::FailedPreconditionError("input 1 is not known");
  return InferCastTo(n, like.dtype);
}

absl::StatusOr<Facts> InferBitCast(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape shape, n.RankedShape(0));
  if (!n.HasAttr("to")) return absl::InvalidArgumentError("attribute to is missing");
  ASSIGN_OR_RETURN(DType type, DTypeAttr(n, "to", DType::kUndefined));
  RETURN_IF_ERROR(
      n.RequireSame("bits per element", BitsPerElement(n.dtype(0)), BitsPerElement(type)));
  return Facts{Fact::Tensor(type, std::move(shape))};
}

// The running sum of a rule along an axis: of what is before a place and, unless exclusive, at it.
void FollowRunningSum(const NodeView& n, int axis, Fact* result) {
  const std::optional<Scalar> rule = RuleOf(n.input(0));
  if (n.op_type() != "CumSum" || !rule.has_value() || !rule->is_int()) return;
  const std::string index = IndexSymbol(axis).ToString();
  const Expr exclusive = n.Flag("exclusive") ? 1 : 0;
  const bool reverse = n.Flag("reverse");
  const Expr before = IndexSymbol(axis) + (reverse ? exclusive : 1 - exclusive);
  std::optional<Expr> sum = SumOver(rule->i, index, before);
  if (reverse && sum.has_value()) {
    const std::optional<Expr> all = SumOver(rule->i, index, result->shape[axis]);
    if (!all.has_value()) return;
    sum = *all - *sum;
  }
  if (sum.has_value()) SetRule(InType(Scalar::Int(*sum), result->dtype), result);
}

// CumSum, CumProd: lists of one dimension, and rules.
absl::StatusOr<Facts> InferCumulative(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape shape, n.ShapeOfRankAtLeast(0, 1));
  std::optional<Expr> axis = n.KnownInt(1);
  if (axis.has_value() && axis->AsInt64().has_value()) {
    RETURN_IF_ERROR(n.Axis(*axis->AsInt64(), shape.rank()).status());
  }
  Fact result = n.Like(0, shape);
  const Fact& input = n.input(0);
  if (input.has_rule() && axis.has_value() && axis->AsInt64().has_value()) {
    ASSIGN_OR_RETURN(const int along, n.Axis(*axis->AsInt64(), shape.rank()));
    FollowRunningSum(n, along, &result);
    return Facts{std::move(result)};
  }
  if (!input.has_content() || shape.rank() != 1) return Facts{std::move(result)};
  const bool exclusive = n.Flag("exclusive"), reverse = n.Flag("reverse");
  const size_t size = input.content->size();
  const Scalar neutral = Scalar::Int(n.op_type() == "CumProd" ? 1 : 0);
  std::array<Scalar, 2> pair = {InType(neutral, n.dtype(0)), Scalar{}};
  Content content(size);
  for (size_t i = 0; i < size; ++i) {
    const size_t at = reverse ? size - 1 - i : i;
    if (exclusive) content[at] = pair[0];
    pair[1] = (*input.content)[at];
    pair[0] = n.def().evaluate(pair, n.dtype(0));
    if (!exclusive) content[at] = pair[0];
  }
  SetContent(std::move(content), &result);
  return Facts{std::move(result)};
}

// Det: X [..., M, M] -> Y [...].
absl::StatusOr<Facts> InferDet(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  const int rank = x.rank();
  RETURN_IF_ERROR(n.RequireSame("M", x[rank - 2], x[rank - 1]));
  return Facts{n.Like(0, Shape(Dims(x.dims().begin(), x.dims().end() - 2)))};
}

// The inverse by Gauss-Jordan elimination (N div, N (N - 1) (N + 1) mul, N (N - 1)^2 add), and N^2
// products with dY * Y.
absl::StatusOr<Census> DetGradient(const NodeView& n, const GradientQuery&) {
  ASSIGN_OR_RETURN(const Shape x, n.ShapeOfRankAtLeast(0, 2));
  const Expr& m = x[x.rank() - 1];
  Census work;
  work[Kind::kDiv] = m;
  work[Kind::kMul] = m * (m - 1) * (m + 1) + m * m + 1;
  work[Kind::kAdd] = m * (m - 1) * (m - 1);
  work *= x.Product(0, x.rank() - 2);
  return work;
}

// ---- versions

constexpr int kBitCastVersions[] = {26};
constexpr int kCastVersions[] = {1, 6, 9, 13, 19, 21, 23, 24, 25, 28};
constexpr int kCastLikeVersions[] = {15, 19, 21, 23, 24, 25};
constexpr int kClipVersions[] = {1, 6, 11, 12, 13};
constexpr int kCumProdVersions[] = {26};
constexpr int kCumSumVersions[] = {11, 14};
constexpr int kIsInfVersions[] = {10, 20};
constexpr int kIsNaNVersions[] = {9, 13, 20};

// ---- examples

constexpr OpExample kAbsExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Abs(X) }", "free"},
};

constexpr OpExample kAcosExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Acos(X) }", "trig=4*N"},
};

constexpr OpExample kAcoshExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Acosh(X) }", "trig=4*N"},
};

constexpr OpExample kAsinExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Asin(X) }", "trig=4*N"},
};

constexpr OpExample kAsinhExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Asinh(X) }", "trig=4*N"},
};

constexpr OpExample kAtanExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Atan(X) }", "trig=4*N"},
};

constexpr OpExample kAtanhExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Atanh(X) }", "trig=4*N"},
};

constexpr OpExample kBitCastExamples[] = {
    {"g (float[N,4] X) => (int32[N,4] Y) { Y = BitCast<to = 6>(X) }", "free"},
};

constexpr OpExample kBitwiseNotExamples[] = {
    {"g (int32[N,4] X) => (int32[N,4] Y) { Y = BitwiseNot(X) }", "int_cmp=4*N"},
};

constexpr OpExample kCastExamples[] = {
    {"g (float[N,4] X) => (int64[N,4] Y) { Y = Cast<to = 7>(X) }", "free"},
    {"g (float[N,4] X) => (float16[N,4] Y) { Y = Cast<to = \"FLOAT16\">(X) }", "free", 1},
};

constexpr OpExample kCastLikeExamples[] = {
    {"g (float[N,4] X, float16[1] T) => (float16[N,4] Y) { Y = CastLike(X, T) }", "free"},
};

constexpr OpExample kCeilExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Ceil(X) }", "round=4*N"},
    // Half a size, rounded up, in floating point.
    {"g (float[N,C,6,9] X) => (float[3,5] Y) { s = Shape<start = 2>(X) f = Cast<to = 1>(s) "
     "two = Constant<value = float {2.0}>() h = Div(f, two) c = Ceil(h) t = Cast<to = 7>(c) "
     "Y = ConstantOfShape(t) }",
     "free"},
};

constexpr OpExample kClipExamples[] = {
    {"g (float[N,4] X, float low, float high) => (float[N,4] Y) { Y = Clip(X, low, high) }",
     "cmp=8*N"},
    {"g (float[N,4] X, float high) => (float[N,4] Y) { Y = Clip(X, , high) }", "cmp=4*N"},
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Clip<min = 0.0, max = 6.0>(X) }", "cmp=8*N", 6},
};

constexpr OpExample kCosExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Cos(X) }", "trig=4*N"},
};

constexpr OpExample kCoshExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Cosh(X) }", "trig=4*N"},
};

constexpr OpExample kCumProdExamples[] = {
    {"g (float[N,4] X, int64 axis) => (float[N,4] Y) { Y = CumProd(X, axis) }", "mul=4*N"},
};

constexpr OpExample kCumSumExamples[] = {
    {"g (float[N,4] X, int64 axis) => (float[N,4] Y) { Y = CumSum(X, axis) }", "add=4*N"},
    {"g (int32[N,4] X, int64 axis) => (int32[N,4] Y) { Y = CumSum<reverse = 1>(X, axis) }",
     "int_add=4*N"},
};

constexpr OpExample kDetExamples[] = {
    {"g (float[N,3,3] X) => (float[N] Y) { Y = Det(X) }", "add=5*N mul=8*N div=3*N"},
};

constexpr OpExample kErfExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Erf(X) }", "erf=4*N"},
};

constexpr OpExample kExpExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Exp(X) }", "exp=4*N"},
};

constexpr OpExample kFloorExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Floor(X) }", "round=4*N"},
};

constexpr OpExample kIsInfExamples[] = {
    {"g (float[N,4] X) => (bool[N,4] Y) { Y = IsInf(X) }", "cmp=4*N"},
};

constexpr OpExample kIsNaNExamples[] = {
    {"g (float[N,4] X) => (bool[N,4] Y) { Y = IsNaN(X) }", "cmp=4*N"},
};

constexpr OpExample kLogExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Log(X) }", "log=4*N"},
};

constexpr OpExample kNegExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Neg(X) }", "free"},
};

constexpr OpExample kNotExamples[] = {
    {"g (bool[N,4] X) => (bool[N,4] Y) { Y = Not(X) }", "int_cmp=4*N"},
};

constexpr OpExample kReciprocalExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Reciprocal(X) }", "div=4*N"},
};

constexpr OpExample kRoundExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Round(X) }", "round=4*N"},
};

constexpr OpExample kSignExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Sign(X) }", "cmp=8*N"},
};

constexpr OpExample kSinExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Sin(X) }", "trig=4*N"},
};

constexpr OpExample kSinhExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Sinh(X) }", "trig=4*N"},
};

constexpr OpExample kSqrtExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Sqrt(X) }", "sqrt=4*N"},
};

constexpr OpExample kTanExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Tan(X) }", "trig=4*N"},
};

constexpr OpExample kTanhExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Tanh(X) }", "tanh=4*N"},
};

// ---- the table

constexpr OpDef kElementwiseRows[] = {
    {.name = "Abs",
     .versions = kSince1_6_13,
     .formula = "Y = |X|: clears the sign",
     .infer = InferUnary,
     .examples = kAbsExamples,
     .evaluate = EvaluateAbs,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = dY, with the sign of X", .keeps = {.inputs = InputBits({0})}}},
    {.name = "Acos",
     .versions = kSince7_22,
     .formula = "Y = acos(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kAcosExamples,
     .per_element = {.trig = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = -dY / sqrt(1 - X^2)",
                  .first = {.add = 1, .mul = 1, .div = 1, .sqrt = 1},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "Acosh",
     .versions = kSince9_22,
     .formula = "Y = acosh(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kAcoshExamples,
     .per_element = {.trig = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY / sqrt(X^2 - 1)",
                  .first = {.add = 1, .mul = 1, .div = 1, .sqrt = 1},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "Asin",
     .versions = kSince7_22,
     .formula = "Y = asin(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kAsinExamples,
     .per_element = {.trig = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY / sqrt(1 - X^2)",
                  .first = {.add = 1, .mul = 1, .div = 1, .sqrt = 1},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "Asinh",
     .versions = kSince9_22,
     .formula = "Y = asinh(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kAsinhExamples,
     .per_element = {.trig = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY / sqrt(X^2 + 1)",
                  .first = {.add = 1, .mul = 1, .div = 1, .sqrt = 1},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "Atan",
     .versions = kSince7_22,
     .formula = "Y = atan(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kAtanExamples,
     .per_element = {.trig = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY / (1 + X^2)",
                  .first = {.add = 1, .mul = 1, .div = 1},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "Atanh",
     .versions = kSince9_22,
     .formula = "Y = atanh(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kAtanhExamples,
     .per_element = {.trig = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY / (1 - X^2)",
                  .first = {.add = 1, .mul = 1, .div = 1},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "BitCast",
     .versions = kBitCastVersions,
     .formula = "Y = the bits of X read as another type of the same width",
     .infer = InferBitCast,
     .examples = kBitCastExamples},
    {.name = "BitwiseNot",
     .versions = kSince18,
     .formula = "Y = not X bit by bit",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kBitwiseNotExamples,
     .per_element = {.cmp = 1},
     .traits = Traits::kInPlace,
     .note = "counted as integer work"},
    {.name = "Cast",
     .versions = kCastVersions,
     .formula = "Y = X as another element type",
     .infer = InferCast,
     .examples = kCastExamples,
     .evaluate = EvaluateCast,
     .traits = Traits::kMovesMask | Traits::kInPlace | Traits::kCasts,
     .onnx = {.since = 6, .follows_since = 13}},
    {.name = "CastLike",
     .versions = kCastLikeVersions,
     .formula = "Y = X as elements of the type of the second input",
     .infer = InferCastLike,
     .examples = kCastLikeExamples,
     .evaluate = EvaluateCast,
     .traits = Traits::kCasts},
    {.name = "Ceil",
     .versions = kSince1_6_13,
     .formula = "Y = ceil(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kCeilExamples,
     .per_element = {.round = 1},
     .evaluate = EvaluateCeil,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = 0"}},
    {.name = "Clip",
     .versions = kClipVersions,
     .formula = "output = min(max(input, min), max)",
     .data = {.signature = "input min? max? -> output",
              .attributes = "min = 0.0; max = 0.0",
              .costs = "cmp = output.elements*if(version < 11, attr.min.given + attr.max.given, "
                       "min.given + max.given)"},
     .infer = InferClip,
     .examples = kClipExamples,
     .evaluate = EvaluateMax,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = dY where min <= X <= max",
                  .rule = ClipGradient,
                  .keeps = {.inputs = InputBits({0}), .in_place = true}}},
    {.name = "Cos",
     .versions = kSince7_22,
     .formula = "Y = cos(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kCosExamples,
     .per_element = {.trig = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = -dY sin(X)",
                  .first = {.mul = 1, .trig = 1},
                  .keeps = {.inputs = InputBits({0})},
                  .temporaries = 2}},
    {.name = "Cosh",
     .versions = kSince9_22,
     .formula = "Y = cosh(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kCoshExamples,
     .per_element = {.trig = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY sinh(X)",
                  .first = {.mul = 1, .trig = 1},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "CumProd",
     .versions = kCumProdVersions,
     .formula = "Y[k] = product of X[0..k] along an axis",
     .infer = InferCumulative,
     .count = CountPerOutputElement,
     .examples = kCumProdExamples,
     .per_element = {.mul = 1},
     .evaluate = EvaluateMul,
     .gradient = {.formula = "dX[k] = sum of (dY * Y)[k..] / X[k]",
                  .first = {.add = 1, .mul = 1, .div = 1},
                  .keeps = {.inputs = InputBits({0}), .outputs = InputBits({0})}}},
    {.name = "CumSum",
     .versions = kCumSumVersions,
     .formula = "Y[k] = sum of X[0..k] along an axis",
     .infer = InferCumulative,
     .count = CountPerOutputElement,
     .examples = kCumSumExamples,
     .per_element = {.add = 1},
     .evaluate = EvaluateAdd,
     .gradient = {.formula = "dX = sum of dY[k..] along the axis",
                  .first = {.add = 1},
                  .keeps = {.nothing = true}}},
    // Column k divides the M-1-k rows below by its pivot and subtracts a multiple of the pivot
    // row's M-1-k remaining elements from each; then the M pivots are multiplied.
    {.name = "Det",
     .versions = kSince11_22,
     .formula = "Y[...] = det X[...,M,M]",
     .data =
         {.signature = "X[batch..., M, M] -> Y[batch...]",
          .let = "updates = (M - 1)*M*(2*M - 1)//6",
          .costs = "div = batch*(M*(M - 1)//2); mul = batch*(updates + M); add = batch*updates"},
     .infer = InferDet,
     .examples = kDetExamples,
     .note = "Gaussian elimination; the search for pivots is not counted.",
     .gradient = {.formula = "dX = dY * Y * inverse(X)'", .rule = DetGradient}},
    {.name = "Erf",
     .versions = kSince9_13,
     .formula = "Y = erf(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kErfExamples,
     .per_element = {.erf = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY * 2 / sqrt(pi) * e^(-X^2)",
                  .first = {.mul = 3, .exp = 1},
                  .keeps = {.inputs = InputBits({0})},
                  .temporaries = 4}},
    {.name = "Exp",
     .versions = kSince1_6_13,
     .formula = "Y = e^X",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kExpExamples,
     .per_element = {.exp = 1},
     .evaluate = EvaluateExp,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = dY * Y",
                  .first = {.mul = 1},
                  .keeps = {.outputs = InputBits({0})}}},
    {.name = "Floor",
     .versions = kSince1_6_13,
     .formula = "Y = floor(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kFloorExamples,
     .per_element = {.round = 1},
     .evaluate = EvaluateFloor,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = 0"}},
    {.name = "IsInf",
     .versions = kIsInfVersions,
     .formula = "Y = X is infinite",
     .infer = InferUnaryBool,
     .count = CountPerOutputElement,
     .examples = kIsInfExamples,
     .per_element = {.cmp = 1},
     .traits = Traits::kInPlace},
    {.name = "IsNaN",
     .versions = kIsNaNVersions,
     .formula = "Y = X is not a number",
     .infer = InferUnaryBool,
     .count = CountPerOutputElement,
     .examples = kIsNaNExamples,
     .per_element = {.cmp = 1},
     .evaluate = EvaluateIsNaN,
     .traits = Traits::kInPlace},
    {.name = "Log",
     .versions = kSince1_6_13,
     .formula = "Y = ln X",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kLogExamples,
     .per_element = {.log = 1},
     .evaluate = EvaluateLog,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = dY / X",
                  .first = {.div = 1},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "Neg",
     .versions = kSince1_6_13,
     .formula = "Y = -X: flips the sign",
     .infer = InferUnary,
     .examples = kNegExamples,
     .evaluate = EvaluateNeg,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6}},
    {.name = "Not",
     .versions = kSince1,
     .formula = "Y = not X",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kNotExamples,
     .per_element = {.cmp = 1},
     .evaluate = EvaluateNot,
     .traits = Traits::kMovesMask | Traits::kInPlace,
     .note = "counted as integer work"},
    {.name = "Reciprocal",
     .versions = kSince1_6_13,
     .formula = "Y = 1 / X",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kReciprocalExamples,
     .per_element = {.div = 1},
     .evaluate = EvaluateReciprocal,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = -dY * Y * Y",
                  .first = {.mul = 2},
                  .keeps = {.outputs = InputBits({0})},
                  .temporaries = 2}},
    {.name = "Round",
     .versions = kSince11_22,
     .formula = "Y = X rounded, halves to even",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kRoundExamples,
     .per_element = {.round = 1},
     .evaluate = EvaluateRound,
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = 0"}},
    {.name = "Sign",
     .versions = kSince9_13,
     .formula = "Y = (X > 0) - (X < 0)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kSignExamples,
     .per_element = {.cmp = 2},
     .evaluate = EvaluateSign,
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = 0"}},
    {.name = "Sin",
     .versions = kSince7_22,
     .formula = "Y = sin(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kSinExamples,
     .per_element = {.trig = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY cos(X)",
                  .first = {.mul = 1, .trig = 1},
                  .keeps = {.inputs = InputBits({0})},
                  .temporaries = 1}},
    {.name = "Sinh",
     .versions = kSince9_22,
     .formula = "Y = sinh(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kSinhExamples,
     .per_element = {.trig = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY cosh(X)",
                  .first = {.mul = 1, .trig = 1},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "Sqrt",
     .versions = kSince1_6_13,
     .formula = "Y = sqrt(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kSqrtExamples,
     .per_element = {.sqrt = 1},
     .evaluate = EvaluateSqrt,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = dY / (2 Y)",
                  .first = {.mul = 1, .div = 1},
                  .keeps = {.outputs = InputBits({0})},
                  .temporaries = 1}},
    {.name = "Tan",
     .versions = kSince7_22,
     .formula = "Y = tan(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kTanExamples,
     .per_element = {.trig = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY (1 + Y^2)",
                  .first = {.add = 1, .mul = 2},
                  .keeps = {.outputs = InputBits({0})}}},
    {.name = "Tanh",
     .versions = kSince1_6_13,
     .formula = "Y = tanh(X)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kTanhExamples,
     .per_element = {.tanh = 1},
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = dY (1 - Y^2)",
                  .first = {.add = 1, .mul = 2},
                  .keeps = {.outputs = InputBits({0})}}},
};

}  // namespace

constexpr OpFamily kElementwiseFamily = {.domain = "", .rows = kElementwiseRows};

}  // namespace onnxflops
