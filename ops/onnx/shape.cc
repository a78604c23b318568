// Shapes of tensors as values, and views: the same elements under another shape.
//
// How it works. This is where sizes become content and content becomes sizes. Shape gives a small
// tensor whose elements are the size formulas; arithmetic on it stays symbolic; Reshape, Expand,
// Range and ConstantOfShape read it as sizes again. All are free.
//
// Reshape's -1 is the quotient of the elements. If it divides as a polynomial, it is exact;
// otherwise it is floor(from/to). If more than one target size is unknown, each gets a fresh symbol
// with an upper bound. Range is exact for integers and for fractions with a power of two below; for
// other floats the length is rounded as runtimes round it, in float32 if the type is that.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/content.h"
#include "ops/element_rule.h"
#include "ops/evaluate.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- Shape, Size
//
// Shape: the dimensions [start, end) of data, which count from the end where negative.
// Size: the number of elements.

int64_t ClampAxis(int64_t axis, int rank) {
  if (axis < 0) axis = axis < -rank ? 0 : axis + rank;
  return std::min<int64_t>(axis, rank);
}

absl::StatusOr<Facts> InferShape(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  const int64_t start = ClampAxis(n.Int("start", 0), data.rank());
  const int64_t end = ClampAxis(n.Int("end", data.rank()), data.rank());
  Content dims;
  for (int64_t i = start; i < end; ++i) dims.push_back(Scalar::Int(data[static_cast<int>(i)]));
  return Facts{Fact::Ints(std::move(dims))};
}

absl::StatusOr<Facts> InferSize(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  return Facts{Fact::ScalarOf(Scalar::Int(data.NumElements()), DType::kInt64)};
}

// ---- Reshape
//
// The same elements with the dimensions that `shape` lists: 0 copies the input's (unless
// allowzero=1), -1 is what remains. Before opset 5 `shape` is an attribute.

absl::StatusOr<MaybeInts> ReshapeTarget(const NodeView& n) {
  if (n.version() >= 5) return IntsOf(n, 1);
  if (!n.HasAttr("shape")) return absl::InvalidArgumentError("attribute shape is missing");
  MaybeInts target;
  for (int64_t size : n.Ints("shape")) target.emplace_back(size);
  return target;
}

// The size of the -1: `from` elements divided by the product `to` of the other dimensions.
absl::StatusOr<Expr> RemainingSize(const Expr& from, const Expr& to) {
  if (std::optional<Expr> exact = DivideExactly(from, to)) return *exact;
  if (to == Expr(0)) {
    return absl::InvalidArgumentError("-1 beside a size of 0 could be any size");
  }
  if (from.is_literal() && to.is_literal()) {
    return absl::InvalidArgumentError(absl::StrCat("the elements do not divide: ", from.ToString(),
                                                   " vs multiples of ", to.ToString()));
  }
  return FloorDiv(from, to);
}

absl::StatusOr<Shape> ReshapedShape(const NodeView& n, const Shape& data, const MaybeInts& target) {
  const bool allow_zero = n.version() >= 14 && n.Flag("allowzero");
  Shape out;
  Expr to = 1;
  std::vector<bool> copied(static_cast<size_t>(data.rank()), false);
  std::vector<int> open;  // the -1 and those not known
  bool has_wildcard = false;
  for (size_t k = 0; k < target.size(); ++k) {
    const int i = static_cast<int>(k);
    const std::optional<Expr>& size = target[k];
    const bool wildcard = size == Expr(-1);
    if (wildcard && has_wildcard) return absl::InvalidArgumentError("-1 is given twice");
    has_wildcard = has_wildcard || wildcard;
    if (!size.has_value() || wildcard) {
      open.push_back(i);
      out.push_back(0);
    } else if (size == Expr(0) && !allow_zero) {
      if (i >= data.rank()) {
        return absl::InvalidArgumentError(
            absl::StrCat("0 copies dimension ", i, " of rank ", data.rank()));
      }
      copied[k] = true;
      out.push_back(data[i]);
    } else {
      if (size->is_literal() && size->literal() < 0) {
        return absl::InvalidArgumentError(absl::StrCat("a size of ", size->ToString()));
      }
      to *= *size;
      out.push_back(*size);
    }
  }
  Expr from = 1;
  for (int i = 0; i < data.rank(); ++i) {
    if (!copied[static_cast<size_t>(i)]) from *= data[i];
  }
  if (open.empty()) {
    RETURN_IF_ERROR(n.RequireSame("the number of elements", from, to));
  } else if (open.size() == 1 && (has_wildcard || to != Expr(0))) {
    ASSIGN_OR_RETURN(out[open[0]], RemainingSize(from, to));
  } else {
    // None is larger than the elements that are left, unless a size may be 0.
    const Expr rest = to.AtLeast(1) ? FloorDiv(from, to) : from;
    const auto at_most = absl::MakeConstSpan(&rest, from.AtLeast(1) ? 1 : 0);
    for (int i : open) {
      out[i] = n.FreshDim(0, i, "reshape", SymbolOrigin::Kind::kSizes, at_most);
    }
  }
  return out;
}

absl::StatusOr<Facts> InferReshape(const NodeView& n) {
  ASSIGN_OR_RETURN(const MaybeInts target, ReshapeTarget(n));
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  ASSIGN_OR_RETURN(Shape out, ReshapedShape(n, data, target));
  Fact fact = n.Moved(0, std::move(out));
  FollowInOrder(n.input(0), &fact);
  return Facts{std::move(fact)};
}

// ---- Flatten: [product of the first `axis` dimensions, product of the others]
absl::StatusOr<Facts> InferFlatten(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  int64_t axis = n.Int("axis", 1);
  if (axis < 0) axis += data.rank();
  if (axis < 0 || axis > data.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", n.Int("axis", 1), " is outside of rank ", data.rank()));
  }
  const int split = static_cast<int>(axis);
  Fact fact = n.Moved(0, {data.Product(0, split), data.Product(split, data.rank())});
  FollowInOrder(n.input(0), &fact);
  return Facts{std::move(fact)};
}

// ---- Squeeze, Unsqueeze: dimensions of size 1 taken out or put in
//
// `axes` is an attribute before opset 13, an input from then on. Exporters write the old form under
// a newer opset; what it means is plain.

bool HasAxesInput(const NodeView& n) {
  return n.version() >= 13 && (n.HasInput(1) || !n.HasAttr("axes"));
}

absl::StatusOr<Axes> ViewAxes(const NodeView& n, int rank) {
  if (HasAxesInput(n)) return AxesInput(n, 1, rank);
  return AxesOf(n, n.Ints("axes"), rank);
}

absl::StatusOr<std::vector<bool>> SqueezedAxes(const NodeView& n, const Shape& data) {
  std::vector<bool> squeezed(static_cast<size_t>(data.rank()), false);
  if (n.HasAttr("axes") || (HasAxesInput(n) && n.HasInput(1))) {
    ASSIGN_OR_RETURN(const Axes axes, ViewAxes(n, data.rank()));
    for (int axis : axes) {
      if (ProvablyEqual(data[axis], 1) == false) {
        return absl::InvalidArgumentError(
            absl::StrCat("axis ", axis, " has size ", data[axis].ToString(), ", not 1"));
      }
      squeezed[static_cast<size_t>(axis)] = true;
    }
    return squeezed;
  }
  for (int i = 0; i < data.rank(); ++i) {
    const std::optional<bool> is_one = ProvablyEqual(data[i], 1);
    if (!is_one.has_value()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "no axes are given, and the rank depends on whether ", data[i].ToString(), " is 1"));
    }
    squeezed[static_cast<size_t>(i)] = *is_one;
  }
  return squeezed;
}

absl::StatusOr<Facts> InferSqueeze(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  ASSIGN_OR_RETURN(const std::vector<bool> squeezed, SqueezedAxes(n, data));
  Shape out;
  for (int i = 0; i < data.rank(); ++i) {
    if (!squeezed[static_cast<size_t>(i)]) out.push_back(data[i]);
  }
  Fact fact = n.Moved(0, std::move(out));
  FollowInOrder(n.input(0), &fact);
  return Facts{std::move(fact)};
}

absl::StatusOr<Facts> InferUnsqueeze(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  size_t count = 0;
  if (HasAxesInput(n)) {
    ASSIGN_OR_RETURN(const MaybeInts given, IntsOf(n, 1));
    count = given.size();
  } else {
    if (!n.HasAttr("axes")) return absl::InvalidArgumentError("attribute axes is missing");
    count = n.Ints("axes").size();
  }
  if (count > static_cast<size_t>(kMaxRank)) {
    return absl::InvalidArgumentError(absl::StrCat(count, " axes"));
  }
  const int rank = data.rank() + static_cast<int>(count);
  ASSIGN_OR_RETURN(const Axes axes, ViewAxes(n, rank));
  Shape out;
  for (int i = 0, next = 0; i < rank; ++i) {
    const bool put_in = std::find(axes.begin(), axes.end(), i) != axes.end();
    out.push_back(put_in ? Expr(1) : data[next++]);
  }
  Fact fact = n.Moved(0, std::move(out));
  FollowInOrder(n.input(0), &fact);
  return Facts{std::move(fact)};
}

// ---- Constant
//
// The value of one attribute: a tensor, from opset 11 a sparse one, from 12 a number, a string or a
// list of them.

Fact NumbersFact(const NodeView& n) {
  if (n.HasAttr("value_int")) {
    return Fact::ScalarOf(Scalar::Int(n.Int("value_int", 0)), DType::kInt64);
  }
  if (n.HasAttr("value_float")) {
    return Fact::ScalarOf(Scalar::Float(n.Float("value_float", 0)), DType::kFloat32);
  }
  Content content;
  DType type = DType::kInt64;
  if (n.HasAttr("value_ints")) {
    for (int64_t value : n.Ints("value_ints")) content.push_back(Scalar::Int(value));
  } else {
    type = DType::kFloat32;
    for (float value : n.Floats("value_floats")) content.push_back(Scalar::Float(value));
  }
  Fact fact = Fact::Tensor(type, {static_cast<int64_t>(content.size())});
  if (ContentSize(type, fact.shape).has_value()) SetFollowed(std::move(content), &fact);
  return fact;
}

absl::StatusOr<Facts> InferConstant(const NodeView& n) {
  if (const Tensor* value = n.TensorAttr("value")) return Facts{n.FactOfTensor(*value)};
  if (n.HasAttr("value_int") || n.HasAttr("value_ints") || n.HasAttr("value_float") ||
      n.HasAttr("value_floats")) {
    return Facts{NumbersFact(n)};
  }
  if (n.HasAttr("value_string")) return Facts{Fact::Tensor(DType::kString, {})};
  if (n.HasAttr("value_strings")) {
    const auto count = static_cast<int64_t>(n.Strings("value_strings").size());
    return Facts{Fact::Tensor(DType::kString, {count})};
  }
  const Attribute* sparse = n.FindAttr("sparse_value");
  if (sparse != nullptr && sparse->type == AttributeType::kSparseTensor &&
      !sparse->tensors.empty()) {
    Shape shape;
    for (int64_t size : sparse->sparse_dims) shape.push_back(size);
    const Tensor& values = n.model().tensor(sparse->tensors[0]);
    return Facts{Fact::Tensor(values.dtype, std::move(shape))};
  }
  return absl::InvalidArgumentError("no attribute states the value");
}

// ---- ConstantOfShape: a tensor of the shape that the input lists, filled with one value
absl::StatusOr<Facts> InferConstantOfShape(const NodeView& n) {
  ASSIGN_OR_RETURN(const MaybeInts sizes, IntsOf(n, 0));
  Fact value = Fact::ScalarOf(Scalar::Float(0), DType::kFloat32);
  if (const Tensor* given = n.TensorAttr("value")) {
    if (given->elements != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("value has ", given->elements, " elements, not 1"));
    }
    value = n.FactOfTensor(*given);
  }
  Shape shape;
  for (size_t i = 0; i < sizes.size(); ++i) {
    shape.push_back(OrFresh(n, sizes[i], 0, static_cast<int>(i), "constantofshape"));
  }
  Fact fact = Fact::Tensor(value.dtype, std::move(shape));
  FollowAxes(value, std::vector<AxisSource>(value.shape.dims().size()), &fact);
  return Facts{std::move(fact)};
}

// ---- Expand: the input broadcast with the shape that `shape` lists
absl::StatusOr<Facts> InferExpand(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  ASSIGN_OR_RETURN(const MaybeInts target, IntsOf(n, 1));
  const int rank = std::max(data.rank(), static_cast<int>(target.size()));
  const int data_offset = rank - data.rank();
  const int target_offset = rank - static_cast<int>(target.size());
  Shape out;
  for (int i = 0; i < rank; ++i) {
    const Expr from = i < data_offset ? Expr(1) : data[i - data_offset];
    const std::optional<Expr> to =
        i < target_offset ? Expr(1) : target[static_cast<size_t>(i - target_offset)];
    if (!to.has_value()) {
      // Sizes other than 1 only broadcast with themselves and 1.
      out.push_back(from.AtLeast(2) ? from : n.FreshDim(0, i, "expand"));
      continue;
    }
    std::optional<Expr> dim = BroadcastDim(from, *to);
    if (!dim.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "axis ", i, " does not broadcast: ", from.ToString(), " vs ", to->ToString()));
    }
    out.push_back(*std::move(dim));
  }
  Fact fact = n.Moved(0, std::move(out));
  std::vector<AxisSource> sources(data.dims().size());
  for (int i = 0; i < data.rank(); ++i) {
    const bool same = fact.shape[data_offset + i] == data[i];
    if (data[i] == Expr(1)) continue;
    sources[static_cast<size_t>(i)].axis = same ? data_offset + i : AxisSource::kUnknown;
  }
  FollowAxes(n.input(0), sources, &fact);
  return Facts{std::move(fact)};
}

// ---- Range: start + i * delta for ceil((limit - start) / delta) of i

// A limit as an exact fraction: a whole number, or a size divided by a literal.
struct Limit {
  Expr numerator;
  int64_t denominator = 1;
};

std::optional<Limit> AsLimit(const Scalar& value, int64_t most_parts) {
  if (value.is_int()) return Limit{value.i};
  if (value.is_ratio()) return Limit{value.i, static_cast<int64_t>(value.f)};
  constexpr double kExact = 0x1p53;
  if (!value.is_float() || !(value.f > -kExact && value.f < kExact)) return std::nullopt;
  for (int64_t parts = 1; parts <= most_parts; parts *= 2) {
    const double scaled = value.f * static_cast<double>(parts);
    if (scaled == std::floor(scaled)) return Limit{static_cast<int64_t>(scaled), parts};
  }
  return std::nullopt;
}

std::optional<Expr> ExactRangeLength(const Scalar& start, const Scalar& limit,
                                     const Scalar& delta) {
  // With symbolic sizes, floats must be fractions with a power of two below: no others are exact in
  // binary. If all three are plain numbers, only whole ones are taken here: RangeLength rounds the
  // others as runtimes do.
  const bool numbers = start.is_float() && limit.is_float() && delta.is_float();
  const int64_t parts = numbers ? 1 : 4096;
  const std::optional<Limit> first = AsLimit(start, parts), end = AsLimit(limit, parts),
                             step = AsLimit(delta, parts);
  if (!first.has_value() || !end.has_value() || !step.has_value()) return std::nullopt;
  Expr distance = end->numerator * first->denominator - first->numerator * end->denominator;
  distance *= step->denominator;
  const Expr divisor = step->numerator * first->denominator * end->denominator;
  if (divisor.AtLeast(1)) return Max(CeilDiv(distance, divisor), 0);
  if ((0 - divisor).AtLeast(1)) return Max(CeilDiv(0 - distance, 0 - divisor), 0);
  return std::nullopt;
}

absl::StatusOr<std::optional<Expr>> RangeLength(const Scalar& start, const Scalar& limit,
                                                const Scalar& delta, DType type) {
  if ((delta.is_int() && delta.i == Expr(0)) || (delta.is_float() && delta.f == 0)) {
    return absl::InvalidArgumentError("delta is 0");
  }
  if (std::optional<Expr> exact = ExactRangeLength(start, limit, delta)) return exact;
  if (!start.is_float() || !limit.is_float() || !delta.is_float()) return std::nullopt;
  double distance = limit.f - start.f;
  if (type == DType::kFloat32) distance = static_cast<float>(distance);
  const double length = std::ceil(distance / delta.f);
  if (!(length < static_cast<double>(kMaxElements))) {
    return absl::InvalidArgumentError(
        absl::StrCat("the range from ", start.f, " to ", limit.f, " by ", delta.f, " is endless"));
  }
  return Expr(static_cast<int64_t>(std::max(length, 0.0)));
}

Scalar RangeElement(const Scalar& start, const Scalar& delta, int64_t i, DType type) {
  if (start.is_int() && delta.is_int()) return InType(Scalar::Int(start.i + delta.i * i), type);
  if (!start.is_float() || !delta.is_float()) return {};
  const Scalar offset = InType(Scalar::Float(delta.f * static_cast<double>(i)), type);
  return offset.is_float() ? InType(Scalar::Float(start.f + offset.f), type) : Scalar{};
}

absl::StatusOr<Facts> InferRange(const NodeView& n) {
  const Scalar start = ElementAt(n.input(0), 0), limit = ElementAt(n.input(1), 0),
               delta = ElementAt(n.input(2), 0);
  for (int i = 0; i < 3; ++i) {
    if (!n.HasInput(i)) return absl::InvalidArgumentError(absl::StrCat("input ", i, " is missing"));
  }
  const DType type = n.dtype(0);
  ASSIGN_OR_RETURN(const std::optional<Expr> length, RangeLength(start, limit, delta, type));
  Fact fact = Fact::Tensor(type, {OrFresh(n, length, 0, 0, "range")});
  if (!ContentSize(type, fact.shape).has_value()) {
    const Scalar steps[] = {delta, Scalar::Int(IndexSymbol(0))};
    const Scalar elements[] = {start, EvaluateMul(steps, type)};
    SetRule(EvaluateAdd(elements, type), &fact);
  } else {
    const std::optional<int64_t> size = ContentSize(type, fact.shape);
    Content content;
    for (int64_t i = 0; i < *size; ++i) content.push_back(RangeElement(start, delta, i, type));
    SetFollowed(std::move(content), &fact);
  }
  return Facts{std::move(fact)};
}

// ---- EyeLike: ones on diagonal k of a matrix of the input's shape, zeros elsewhere
absl::StatusOr<Facts> InferEyeLike(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape shape, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(const DType type, DTypeAttr(n, "dtype", n.dtype(0)));
  Fact fact = Fact::Tensor(type, shape);
  const int64_t k = n.Int("k", 0);
  if (const std::optional<Sizes> sizes = SmallSizes(fact)) {
    Content content;
    ForEachIndex(*sizes, [&](const Sizes& at) {
      content.push_back(InType(Scalar::Int(at[1] - at[0] == k ? 1 : 0), type));
    });
    SetFollowed(std::move(content), &fact);
  }
  return Facts{std::move(fact)};
}

constexpr OpDef kShapeRows[] = {
    {.name = "Shape",
     .versions = {1, 13, 15, 19, 21, 23, 24, 25},
     .formula = "y[end-start] = dimensions [start, end) of data",
     .infer = InferShape,
     .examples = {{"float[N,3,7] x -> int64[3] y", "free"},
                  {"g (float[N,3,7] x) => (float[N,3] y) { s = Shape<start=-3, end=-1>(x) y = "
                   "ConstantOfShape(s) }",
                   "free"}},
     .traits = Traits::kView | Traits::kShapeOnly,
     .onnx = {.any_rank_inputs = InputBits({0}), .follows_since = 1}},
    {.name = "Size",
     .versions = {1, 13, 19, 21, 23, 24, 25},
     .formula = "y = number of elements of data",
     .infer = InferSize,
     .examples = {{"float[N,3] x -> int64 y", "free"}},
     .traits = Traits::kView | Traits::kShapeOnly,
     .onnx = {.any_rank_inputs = InputBits({0}),
              .follows_since = 13,
              .followed_inputs = InputBits({0})}},
    {.name = "Reshape",
     .versions = {1, 5, 13, 14, 19, 21, 23, 24, 25},
     .formula = "y = data with dimensions shape",
     .infer = InferReshape,
     .examples =
         {{"g (float[N,77,768] x) => (float[N,77,12,64] y) <int64[4] s = {0, 0, 12, -1}> { y = "
           "Reshape(x, s) }",
           "free"},
          {"g (float[N,6] x) => (float[2,N,3] y) { n = Shape<start=0, end=1>(x) two = "
           "Constant<value_ints=[2]>() rest = Constant<value_ints=[-1]>() s = Concat<axis=0>(two, "
           "n, rest) y = Reshape(x, s) }",
           "free"},
          {"g (float[0,4] x) => (float[3,0] y) <int64[2] s = {3, 0}> { y = Reshape<allowzero=1>(x, "
           "s) }",
           "free"},
          {"float[N,6] x -> float[N,2,3] y <shape=[0,2,-1]>", "free", 1}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kView | Traits::kReadsContent,
     .onnx = {.since = 5,
              .nothing_without = InputBits({1}),
              .any_rank_inputs = InputBits({0}),
              .followed_inputs = InputBits({1}),
              .followed_since = 14}},
    {.name = "Flatten",
     .versions = {1, 9, 11, 13, 21, 23, 24, 25},
     .formula = "y[d0*..*d(axis-1), d(axis)*..] = data",
     .infer = InferFlatten,
     .examples = {{"float[N,512,7,7] x -> float[N,25088] y", "free"},
                  {"float[2,3,N] x -> float[6,N] y <axis=-1>", "free"}},
     .traits = Traits::kView},
    {.name = "Squeeze",
     .versions = {1, 11, 13, 21, 23, 24, 25},
     .formula = "y = data without the axes of size 1",
     .infer = InferSqueeze,
     .examples = {{"g (float[N,1,5] x) => (float[N,5] y) <int64[1] a = {-2}> { y = Squeeze(x, a) }",
                   "free"},
                  {"float[1,3,1,5] x -> float[3,5] y", "free"},
                  {"float[N,1,5,1] x -> float[N,5] y <axes=[1,3]>", "free", 11}},
     .shape_inputs = 1 << 1,
     .axes_attribute_before = 13,
     .traits = Traits::kView | Traits::kReadsContent,
     .onnx = {.follows_since = 13}},
    {.name = "Unsqueeze",
     .versions = {1, 11, 13, 21, 23, 24, 25},
     .formula = "y = data with axes of size 1 put in",
     .infer = InferUnsqueeze,
     .examples =
         {{"g (float[N,5] x) => (float[1,N,5,1] y) <int64[2] a = {0, -1}> { y = Unsqueeze(x, a) }",
           "free"},
          {"float[N,5] x -> float[N,1,5] y <axes=[1]>", "free", 11}},
     .shape_inputs = 1 << 1,
     .axes_attribute_before = 13,
     .traits = Traits::kView | Traits::kReadsContent | Traits::kMovesMask,
     .onnx = {.follows_since = 13}},
    {.name = "Identity",
     .versions = {1, 13, 14, 16, 19, 21, 23, 24, 25},
     .formula = "y = x",
     .infer = InferMoved,
     .examples = {{"float[N,5] x -> float[N,5] y", "free"}},
     .traits = Traits::kView | Traits::kMovesMask},
    {.name = "Constant",
     .versions = {1, 9, 11, 12, 13, 19, 21, 23, 24, 25},
     .formula = "y = the value in the file",
     .infer = InferConstant,
     .examples = {{"-> float[2,2] y <value = float[2,2] {1.0, 2.0, 3.0, 4.0}>", "free"},
                  {"-> int64[3] y <value_ints=[1,2,3]>", "free"},
                  {"-> float y <value_float=0.5>", "free"},
                  {"-> string[2] y <value_strings=[\"a\",\"b\"]>", "free"}},
     .traits = Traits::kView | Traits::kStored},
    {.name = "ConstantOfShape",
     .versions = {9, 20, 21, 23, 24, 25},
     .formula = "y[input] = value everywhere",
     .infer = InferConstantOfShape,
     .examples = {{"g (float[N,3] x) => (float[N,3] y) { s = Shape(x) y = ConstantOfShape(s) }",
                   "free"},
                  {"g () => (bool[2,3] y) { s = Constant<value_ints=[2,3]>() y = "
                   "ConstantOfShape<value = bool[1] {1}>(s) }",
                   "free"}},
     .shape_inputs = 1 << 0,
     .traits = Traits::kReadsContent,
     .onnx = {.followed_inputs = InputBits({0})}},
    {.name = "Expand",
     .versions = {8, 13},
     .formula = "y = x broadcast to shape",
     .infer = InferExpand,
     .examples =
         {{"g (float[1,1,768] x, float[N,3] z) => (float[N,3,768] y) { s = Shape(z) one = "
           "Constant<value_ints=[1]>() t = Concat<axis=0>(s, one) y = Expand(x, t) }",
           "free"},
          {"g (float[3,1] x) => (float[2,3,4] y) <int64[3] s = {2, 1, 4}> { y = Expand(x, s) }",
           "free"}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent | Traits::kMovesMask | Traits::kStrided,
     .onnx = {.nothing_without = InputBits({1}),
              .followed_inputs = InputBits({1}),
              .followed_since = 13},
     .gradient = {.formula = "dX = dY, summed up where broadcast", .broadcast = true}},
    {.name = "Range",
     .versions = {11, 27},
     .formula = "output[i] = output[i-1] + delta, n = ceil((limit - start) / delta) of them",
     .data = {.signature = "start limit delta? -> output", .costs = "add = output.elements"},
     .infer = InferRange,
     .examples =
         {{"g (float[N,3] x) => (int64[N] y) { s = Shape<start=0, end=1>(x) n = Squeeze(s) zero = "
           "Constant<value_int=0>() one = Constant<value_int=1>() y = Range(zero, n, one) }",
           "int_add=N"},
          {"g () => (float[4] y) <float a = {1.0}, float b = {3.0}, float d = {0.5}> { y = "
           "Range(a, b, d) }",
           "add=4"},
          {"g (float[N] x) => (float[N] y) <float a = {0.5}, float d = {1.0}> { s = Shape(x) t = "
           "Squeeze(s) n = Cast<to=1>(t) y = Range(a, n, d) }",
           "add=N"},
          {"g () => (int64[3] y) <int64 a = {10}, int64 b = {4}, int64 d = {-2}> { y = Range(a, b, "
           "d) }",
           "int_add=3"}},
     .shape_inputs = 1 << 0 | 1 << 1 | 1 << 2,
     .traits = Traits::kReadsContent,
     .exceptions = {{"always", "add div cmp round int_add",
                     "the function body computes its length, ceil((limit - start) / delta), which "
                     "decides a shape: index arithmetic"}}},
    {.name = "EyeLike",
     .versions = {9, 22},
     .formula = "y[i,j] = 1 if j - i = k else 0",
     .infer = InferEyeLike,
     .examples = {{"float[N,4] x -> float[N,4] y", "free"},
                  {"int32[4,4] x -> double[4,4] y <dtype=11, k=1>", "free"}}},
};

}  // namespace

constinit const OpFamily kShapeFamily = {"", kShapeRows};

}  // namespace onnxflops
