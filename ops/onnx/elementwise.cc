// Elementwise functions of one tensor; casts; running sums; the determinant.
//
// How it works. Cost per element of the output: one operation of the operator's kind. A reciprocal
// is a div. Negation and absolute value change a sign bit and Cast converts: free. Shape rules keep
// the content where it is known: Clip and Cast are evaluated element by element or on the rule of a
// large tensor. A running sum of a rule that is a polynomial of the index is again a polynomial, so
// the position ids of a mask of ones stay known. A dequantised weight that is cast to another float
// type is still a dequantised weight.
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "ops/element_rows.h"
#include "ops/element_rule.h"
#include "ops/evaluate.h"
#include "ops/families.h"
#include "ops/rules.h"
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

// The running sum of a rule along an axis: of the elements before a place and, unless exclusive,
// the one at it.
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

// ---- examples

constexpr OpExample kUnaryBoolExamples[] = {
    {"float[N,4] X -> bool[N,4] Y", "4*N"},
};
constexpr OpExample kBitwiseNotExamples[] = {
    {"int32[N,4] X -> int32[N,4] Y", "4*N"},
};
constexpr OpExample kNotExamples[] = {
    {"bool[N,4] X -> bool[N,4] Y", "4*N"},
};
// Half a size, rounded up, in floating point.
constexpr std::initializer_list<OpExample> kCeilExamples = {
    {"g (float[N,C,6,9] X) => (float[3,5] Y) { s = Shape<start = 2>(X) f = Cast<to = 1>(s) "
     "two = Constant<value = float {2.0}>() h = Div(f, two) c = Ceil(h) t = Cast<to = 7>(c) "
     "Y = ConstantOfShape(t) }",
     "free"},
};

// ---- the table

constexpr OpDef kElementwiseRows[] = {
    Unary("Abs", {1, 6, 13}, "Y = |X|: clears the sign", {},
          KeepsX("dX = dY, with the sign of X", {}, 1), {.evaluate = EvaluateAbs}),
    Unary("Acos", {7, 22}, "Y = acos(X)", {.trig = 1},
          KeepsX("dX = -dY / sqrt(1 - X^2)", {.add = 1, .mul = 1, .div = 1, .sqrt = 1}, 5)),
    Unary("Acosh", {9, 22}, "Y = acosh(X)", {.trig = 1},
          KeepsX("dX = dY / sqrt(X^2 - 1)", {.add = 1, .mul = 1, .div = 1, .sqrt = 1}, 3)),
    Unary("Asin", {7, 22}, "Y = asin(X)", {.trig = 1},
          KeepsX("dX = dY / sqrt(1 - X^2)", {.add = 1, .mul = 1, .div = 1, .sqrt = 1}, 4)),
    Unary("Asinh", {9, 22}, "Y = asinh(X)", {.trig = 1},
          KeepsX("dX = dY / sqrt(X^2 + 1)", {.add = 1, .mul = 1, .div = 1, .sqrt = 1}, 3)),
    Unary("Atan", {7, 22}, "Y = atan(X)", {.trig = 1},
          KeepsX("dX = dY / (1 + X^2)", {.add = 1, .mul = 1, .div = 1}, 2)),
    Unary("Atanh", {9, 22}, "Y = atanh(X)", {.trig = 1},
          KeepsX("dX = dY / (1 - X^2)", {.add = 1, .mul = 1, .div = 1}, 3)),
    {.name = "BitCast",
     .versions = {26},
     .formula = "Y = the bits of X read as another type of the same width",
     .infer = InferBitCast,
     .examples = {{"float[N,4] X -> int32[N,4] Y <to = 6>", "free"}}},
    Unary("BitwiseNot", {18}, "Y = not X bit by bit", {.cmp = 1}, {},
          {.patterns = kBitwiseNotExamples, .note = kIntegerWork}),
    {.name = "Cast",
     .versions = {1, 6, 9, 13, 19, 21, 23, 24, 25, 28},
     .formula = "Y = X as another element type",
     .infer = InferCast,
     .examples = {{"float[N,4] X -> int64[N,4] Y <to = 7>", "free"},
                  {"float[N,4] X -> float16[N,4] Y <to = \"FLOAT16\">", "free", 1}},
     .evaluate = EvaluateCast,
     .traits = Traits::kMovesMask | Traits::kInPlace | Traits::kCasts,
     .onnx = {.since = 6, .follows_since = 13}},
    {.name = "CastLike",
     .versions = {15, 19, 21, 23, 24, 25},
     .formula = "Y = X as elements of the type of the second input",
     .infer = InferCastLike,
     .examples = {{"float[N,4] X, float16[1] T -> float16[N,4] Y", "free"}},
     .evaluate = EvaluateCast,
     .traits = Traits::kCasts},
    Unary("Ceil", {1, 6, 13}, "Y = ceil(X)", {.round = 1}, kNoSlope,
          {.examples = kCeilExamples, .evaluate = EvaluateCeil}),
    {.name = "Clip",
     .versions = {1, 6, 11, 12, 13},
     .formula = "output = min(max(input, min), max)",
     .data = {.signature = "input min? max? -> output",
              .attributes = "min = 0.0; max = 0.0",
              .costs = "cmp = output.elements*if(version < 11, attr.min.given + attr.max.given, "
                       "min.given + max.given)"},
     .infer = InferClip,
     .examples = {{"float[N,4] X, float low, float high -> float[N,4] Y", "cmp=8*N"},
                  {"float[N,4] X, , float high -> float[N,4] Y", "cmp=4*N"},
                  {"float[N,4] X -> float[N,4] Y <min = 0.0, max = 6.0>", "cmp=8*N", 6}},
     .evaluate = EvaluateMax,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = dY where min <= X <= max",
                  // That of a bound is the sum of dY where X is beyond it.
                  .costs = "add = (min.needed + max.needed)*output.elements",
                  .as_forward = true,
                  .keeps = {.inputs = InputBits({0})}}},
    Unary("Cos", {7, 22}, "Y = cos(X)", {.trig = 1},
          KeepsX("dX = -dY sin(X)", {.mul = 1, .trig = 1}, 2)),
    Unary("Cosh", {9, 22}, "Y = cosh(X)", {.trig = 1},
          KeepsX("dX = dY sinh(X)", {.mul = 1, .trig = 1}, 1)),
    {.name = "CumProd",
     .versions = {26},
     .formula = "Y[k] = product of X[0..k] along an axis",
     .infer = InferCumulative,
     .count = CountPerOutputElement,
     .examples = {{"float[N,4] X, int64 axis -> float[N,4] Y", "mul=4*N"}},
     .per_element = {.mul = 1},
     .evaluate = EvaluateMul,
     .gradient = {.formula = "dX[k] = sum of (dY * Y)[k..] / X[k]",
                  .first = {.add = 1, .mul = 1, .div = 1},
                  .keeps = {.inputs = InputBits({0}), .outputs = InputBits({0})}}},
    {.name = "CumSum",
     .versions = {11, 14},
     .formula = "Y[k] = sum of X[0..k] along an axis",
     .infer = InferCumulative,
     .count = CountPerOutputElement,
     .examples = {{"float[N,4] X, int64 axis -> float[N,4] Y", "add=4*N"},
                  {"int32[N,4] X, int64 axis -> int32[N,4] Y <reverse = 1>", "int_add=4*N"}},
     .per_element = {.add = 1},
     .evaluate = EvaluateAdd,
     .gradient = {.formula = "dX = sum of dY[k..] along the axis",
                  .first = {.add = 1},
                  .keeps = {.nothing = true},
                  .temporaries = {.outputs = 2}}},  // turned round, and summed
    // Column k divides the M-1-k rows below by its pivot and subtracts a multiple of the pivot
    // row's M-1-k remaining elements from each; then the M pivots are multiplied.
    {.name = "Det",
     .versions = {11, 22},
     .formula = "Y[...] = det X[...,M,M]",
     .data =
         {.signature = "X[batch..., M, M] -> Y[batch...]",
          .let = "updates = (M - 1)*M*(2*M - 1)//6",
          .costs = "div = batch*(M*(M - 1)//2); mul = batch*(updates + M); add = batch*updates"},
     .infer = InferDet,
     .examples = {{"float[N,3,3] X -> float[N] Y", "add=5*N mul=8*N div=3*N"}},
     .note = "Gaussian elimination; the search for pivots is not counted.",
     // The inverse by Gauss-Jordan elimination, and M^2 products with dY * Y.
     .gradient = {.formula = "dX = dY * Y * inverse(X)'",
                  .costs = "div = batch*M; mul = batch*(M*(M - 1)*(M + 1) + M^2 + 1); add = "
                           "batch*M*(M - 1)^2"}},
    Unary("Erf", {9, 13}, "Y = erf(X)", {.erf = 1},
          KeepsX("dX = dY * 2 / sqrt(pi) * e^(-X^2)", {.mul = 3, .exp = 1}, 4)),
    Unary("Exp", {1, 6, 13}, "Y = e^X", {.exp = 1}, KeepsY("dX = dY * Y", {.mul = 1}),
          {.evaluate = EvaluateExp}),
    Unary("Floor", {1, 6, 13}, "Y = floor(X)", {.round = 1}, kNoSlope, {.evaluate = EvaluateFloor}),
    Unary("IsInf", {10, 20}, "Y = X is infinite", {.cmp = 1}, {},
          {.infer = InferUnaryBool, .patterns = kUnaryBoolExamples}),
    Unary("IsNaN", {9, 13, 20}, "Y = X is not a number", {.cmp = 1}, {},
          {.infer = InferUnaryBool, .patterns = kUnaryBoolExamples, .evaluate = EvaluateIsNaN}),
    Unary("Log", {1, 6, 13}, "Y = ln X", {.log = 1}, KeepsX("dX = dY / X", {.div = 1}),
          {.evaluate = EvaluateLog}),
    Unary("Neg", {1, 6, 13}, "Y = -X: flips the sign", {}, {}, {.evaluate = EvaluateNeg}),
    Unary("Not", {1}, "Y = not X", {.cmp = 1}, {},
          {.patterns = kNotExamples,
           .evaluate = EvaluateNot,
           .traits = Traits::kMovesMask,
           .note = kIntegerWork}),
    Unary("Reciprocal", {1, 6, 13}, "Y = 1 / X", {.div = 1},
          KeepsY("dX = -dY * Y * Y", {.mul = 2}, 2), {.evaluate = EvaluateReciprocal}),
    Unary("Round", {11, 22}, "Y = X rounded, halves to even", {.round = 1}, kNoSlope,
          {.evaluate = EvaluateRound}),
    Unary("Sign", {9, 13}, "Y = (X > 0) - (X < 0)", {.cmp = 2}, kNoSlope,
          {.evaluate = EvaluateSign}),
    Unary("Sin", {7, 22}, "Y = sin(X)", {.trig = 1},
          KeepsX("dX = dY cos(X)", {.mul = 1, .trig = 1}, 1)),
    Unary("Sinh", {9, 22}, "Y = sinh(X)", {.trig = 1},
          KeepsX("dX = dY cosh(X)", {.mul = 1, .trig = 1}, 1)),
    Unary("Sqrt", {1, 6, 13}, "Y = sqrt(X)", {.sqrt = 1},
          KeepsY("dX = dY / (2 Y)", {.mul = 1, .div = 1}, 1), {.evaluate = EvaluateSqrt}),
    Unary("Tan", {7, 22}, "Y = tan(X)", {.trig = 1},
          KeepsY("dX = dY (1 + Y^2)", {.add = 1, .mul = 2}, 2)),
    Unary("Tanh", {1, 6, 13}, "Y = tanh(X)", {.tanh = 1},
          KeepsY("dX = dY (1 - Y^2)", {.add = 1, .mul = 2})),
};

}  // namespace

constexpr OpFamily kElementwiseFamily = {.domain = "", .rows = kElementwiseRows};

}  // namespace onnxflops
