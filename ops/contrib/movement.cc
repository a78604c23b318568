// com.microsoft: data that is moved, cut, sorted out or numbered.
//
// How it works. All of this is free of FLOPs, so only shapes and content matter. Some operators are
// older forms of those of ai.onnx: their inputs are adapted (pads of [1, 2 * rank], limits of a
// range of [1]), then the rule of ai.onnx runs at the version that they were taken over with, so
// that nothing is written twice. The others have a rule of their own. How many tokens are left
// without padding is known only if the counts are; else it is a fresh symbol, at most batch times
// length.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/content.h"
#include "ops/contrib/plain.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- older forms of operators of ai.onnx, at the version that they were taken over with

constexpr int kPadOpset = 13;
constexpr int kRangeOpset = 11;
constexpr int kTriluOpset = 14;
constexpr int kUniqueOpset = 11;

// Pad: pads may also be [1, 2 * rank].
Facts PadInputs(const NodeView& n) {
  Facts inputs = InputsOf(n);
  if (inputs.size() > 1 && inputs[1].shape.ranked() && inputs[1].shape.rank() == 2) {
    inputs[1].shape = Shape{inputs[1].shape.NumElements()};
  }
  return inputs;
}

absl::StatusOr<Facts> InferPad(const NodeView& n) {
  return InferAs(n, "Pad", PadInputs(n), kPadOpset);
}

// Range: the limits may also be [1], and delta may be left out.
absl::StatusOr<Facts> RangeInputs(const NodeView& n) {
  Facts inputs = InputsOf(n);
  if (inputs.size() < 2) return absl::InvalidArgumentError("start and limit are needed");
  if (inputs.size() < 3) inputs.resize(3);
  if (!n.HasInput(2)) {
    const Scalar one = IsFloat(n.dtype(0)) ? Scalar::Float(1) : Scalar::Int(1);
    inputs[2] = Fact::ScalarOf(one, n.dtype(0));
  }
  for (Fact& input : inputs) input.shape = Shape{};
  return inputs;
}

absl::StatusOr<Facts> InferRange(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts inputs, RangeInputs(n));
  return InferAs(n, "Range", inputs, kRangeOpset);
}

absl::StatusOr<Facts> InferTrilu(const NodeView& n) {
  return InferAs(n, "Trilu", InputsOf(n), kTriluOpset);
}

// Unique: without the indices of the first occurrences.
absl::StatusOr<Facts> InferUnique(const NodeView& n) {
  RETURN_IF_ERROR(n.RankedShape(0, 1).status());
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "Unique", InputsOf(n), kUniqueOpset));
  if (facts.size() < 4) return absl::UnimplementedError("Unique of this form");
  return Facts{facts[0], facts[2], facts[3]};
}

// ---- forms of its own

// ExpandDims: a dimension of 1 at `axis`.
absl::StatusOr<Facts> InferExpandDims(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.RankedShape(0));
  const std::optional<Expr> known = n.KnownInt(1);
  const std::optional<int64_t> given = known.has_value() ? known->AsInt64() : std::nullopt;
  if (!given.has_value()) return absl::FailedPreconditionError("the axis is not known");
  ASSIGN_OR_RETURN(int axis, n.Axis(*given, y.rank() + 1));
  y.dims().insert(y.dims().begin() + axis, Expr(1));
  Fact fact = n.Moved(0, std::move(y));
  FollowInOrder(n.input(0), &fact);
  return Facts{std::move(fact)};
}

// UnfoldTensor: slices of `size` along `dim`, `step` apart, in a dimension of their own.
absl::StatusOr<Facts> InferUnfoldTensor(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(int dim, n.AxisAttr("dim", -1, y.rank()));
  const int64_t size = n.Int("size", 0), step = n.Int("step", 1);
  if (size < 1 || step < 1) {
    return absl::InvalidArgumentError(absl::StrCat("size is ", size, ", step ", step));
  }
  if (ProvablyLess(y[dim], size).value_or(false)) {
    return absl::InvalidArgumentError(
        absl::StrCat("slices of ", size, " of a dimension of ", y[dim].ToString()));
  }
  y[dim] = FloorDiv(y[dim] - size, step) + 1;
  y.push_back(size);
  return Facts{n.Moved(0, std::move(y))};
}

// RemovePadding: of X[B,S,H] with sequence_token_count[B], the tokens that count.
absl::StatusOr<Facts> InferRemovePadding(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 3));
  const std::optional<Dims> counts = n.KnownInts(1);
  Expr tokens = 0;
  if (counts.has_value()) {
    for (const Expr& count : *counts) tokens += count;
  } else {
    tokens = n.FreshDim(0, 0, "removepadding", x[0] * x[1]);
  }
  return Facts{n.Moved(0, Shape{tokens, x[2]}), n.Like(1, Shape{x[0], x[1]}),
               n.Like(1, Shape{x[0] + 1}), n.Like(1, Shape{1})};
}

absl::StatusOr<Facts> InferRestorePadding(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape offsets, n.RankedShape(1, 2));
  return Facts{n.Moved(0, Shape{offsets[0], offsets[1], x[1]})};
}

constexpr OpDef kMsMovementRows[] = {
    {.name = "ExpandDims",
     .formula = "Y = X with a dimension of 1 at axis",
     .infer = InferExpandDims,
     .examples = {{"g (float[N,5] X) => (float[N,1,5] Y) <int32 a = {1}> { Y = "
                   "com.microsoft.ExpandDims(X, a) }",
                   "free"}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent | Traits::kView},
    {.name = "Pad",
     .formula = "as ai.onnx Pad",
     .infer = InferPad,
     .examples = {{"g (float[N,5] X) => (float[N,8] Y) <int64[1,4] p = {0, 1, 0, 2}> "
                   "{ Y = com.microsoft.Pad(X, p) }",
                   "free"}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kSamples | Traits::kReadsContent},
    {.name = "Range",
     .formula = "as ai.onnx Range; delta is 1 where it is left out",
     .data = {.costs = "as Range"},
     .infer = InferRange,
     .examples = {{"g () => (int64[5] Y) <int64[1] a = {2}, int64[1] b = {7}> "
                   "{ Y = com.microsoft.Range(a, b) }",
                   "int_add=5"}},
     .shape_inputs = (1 << 0) | (1 << 1) | (1 << 2),
     .traits = Traits::kReadsContent},
    {.name = "RemovePadding",
     .formula = "Y[T,H] = the tokens of X[B,S,H] that are not padding",
     .infer = InferRemovePadding,
     .examples = {{"float[N,5,8] X, int32[N] C -> float[T,8] Y, int32[N,5] O, int32[\"N + 1\"] S, "
                   "int32[1] M",
                   "free"}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent},
    {.name = "RestorePadding",
     .formula = "Y[B,S,H] = the tokens of X[T,H] at their places",
     .infer = InferRestorePadding,
     .examples = {{"float[T,8] X, int32[N,5] O -> float[N,5,8] Y", "free"}}},
    {.name = "Trilu",
     .formula = "as ai.onnx Trilu",
     .infer = InferTrilu,
     .examples = {{"float[N,5,5] X -> float[N,5,5] Y", "free"}},
     .traits = Traits::kSamples},
    {.name = "UnfoldTensor",
     .formula = "Y[.., (D - size)/step + 1, .., size] = slices of X",
     .infer = InferUnfoldTensor,
     .examples = {{"float[N,10] X -> float[N,4,3] Y <dim = 1, size = 3, step = 2>", "free"}}},
    {.name = "Unique",
     .formula = "as ai.onnx Unique, in the order in which they occur",
     .data = {.signature = "x -> y idx counts",
              .costs = "cmp = if(x.is_string, 0, x.elements*digits(x.elements))"},
     .infer = InferUnique,
     .examples = {{"int64[12] X -> int64[U] Y, int64[12] I, int64[U] C", "int_cmp=48"}}},
};

}  // namespace

constinit const OpFamily kMsMovementFamily = {"com.microsoft", kMsMovementRows};

}  // namespace onnxflops
