// Sequences and optionals.
//
// How it works. A sequence is known by a fact that holds for every element, by its length, and, if
// it has at most kMaxSequenceItems elements that were made one by one, by a fact for each. With
// these items, At, Insert and Erase at a known position are exact. Without them, or at an unknown
// position, all elements are joined into one fact: a dimension in which they differ becomes a fresh
// symbol. Parts of equal size need no items, whatever their number.
//
// Stacking equal elements multiplies a size by the length. That is wrong if the size is a symbol
// that a node made, because one symbol may stand for different sizes in different elements; then
// the result is a fresh symbol. An optional is stored like a sequence of length 1 or 0.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/content.h"
#include "ops/dims.h"
#include "ops/element_rule.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

using Items = std::vector<Fact>;

// More items than this are not told apart: following them trip by trip would be refused as well.

bool SameItem(const Fact& a, Fact b) {
  b.constant = a.constant;
  b.from_shapes = a.from_shapes;
  return a == b;
}

// A fact that holds for both: a dimension in which they differ becomes a symbol.
Fact JoinItems(const NodeView& n, const Fact& a, const Fact& b) {
  if (SameItem(a, b)) return a;
  if (!a.is_tensor() || !b.is_tensor() || a.dtype != b.dtype) return Fact::Unknown();
  Fact joined = Fact::Tensor(a.dtype, Shape::UnknownRank());
  if (!a.shape.ranked() || !b.shape.ranked() || a.shape.rank() != b.shape.rank()) return joined;
  joined.shape = a.shape;
  for (int i = 0; i < a.shape.rank(); ++i) {
    const Expr either[] = {a.shape[i], b.shape[i]};
    if (a.shape[i] == b.shape[i]) continue;
    joined.shape[i] = n.FreshDim(0, i, "sequence", SymbolOrigin::Kind::kSizes, either);
  }
  return joined;
}

// A fact that holds for every item, without making symbols where the items differ.
Fact CommonFact(const Items& items) {
  const bool all_same = std::all_of(
      items.begin(), items.end(), [&](const Fact& item) { return SameItem(items.front(), item); });
  if (all_same) return items.front();
  const bool same_type = std::all_of(items.begin(), items.end(), [&](const Fact& item) {
    return item.is_tensor() && item.dtype == items.front().dtype;
  });
  return same_type ? Fact::Tensor(items.front().dtype, Shape::UnknownRank()) : Fact::Unknown();
}

// REQUIRES: items is not empty.
Fact SequenceOf(const NodeView& n, Items items) {
  const auto length = Expr(static_cast<int64_t>(items.size()));
  if (static_cast<int64_t>(items.size()) > kMaxSequenceItems) {
    Fact element = items.front();
    for (const Fact& item : items) element = JoinItems(n, element, item);
    return Fact::Sequence(std::move(element), length);
  }
  Fact sequence = Fact::Sequence(CommonFact(items), length);
  sequence.items = std::make_shared<const Items>(std::move(items));
  return sequence;
}

Fact EmptySequence(DType type) {
  Fact sequence = Fact::Sequence(Fact::Tensor(type, Shape::UnknownRank()), Expr(0));
  sequence.items = std::make_shared<const Items>();
  return sequence;
}

absl::StatusOr<Fact> SequenceInput(const NodeView& n) {
  const Fact& fact = n.input(0);
  if (fact.kind == Fact::Kind::kSequence) return fact;
  if (fact.kind == Fact::Kind::kUnknown) {
    return absl::FailedPreconditionError("the sequence is not known");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("input 0 is not a sequence but ", fact.ToString()));
}

Fact ElementOf(const Fact& sequence) {
  return sequence.element == nullptr ? Fact::Unknown() : *sequence.element;
}

// A fact that holds for the element at an unknown position.
Fact AnyElement(const NodeView& n, const Fact& sequence) {
  if (sequence.items == nullptr || sequence.items->empty()) return ElementOf(sequence);
  Fact element = sequence.items->front();
  for (const Fact& item : *sequence.items) element = JoinItems(n, element, item);
  return element;
}

// A position as an input gives it, counted from the end where negative; `otherwise` when it is left
// out, nullopt when it is not known. InvalidArgument outside of [0, end).
absl::StatusOr<std::optional<size_t>> PositionIn(const NodeView& n, int input, size_t length,
                                                 size_t end, size_t otherwise) {
  if (!n.HasInput(input)) return otherwise;
  const std::optional<Expr> given = n.KnownInt(input);
  if (!given.has_value() || !given->is_literal()) return std::nullopt;
  const Expr position = given->AtLeast(0) ? *given : *given + Expr(static_cast<int64_t>(length));
  if (!position.AtLeast(0) || position.AtLeast(static_cast<int64_t>(end))) {
    return absl::InvalidArgumentError(
        absl::StrCat("position ", given->ToString(), " is outside of a sequence of ", length));
  }
  return static_cast<size_t>(position.AsInt64().value_or(0));
}

// ---- SequenceConstruct, SequenceEmpty

absl::StatusOr<Facts> InferSequenceConstruct(const NodeView& n) {
  if (n.num_inputs() == 0) return absl::InvalidArgumentError("there are no inputs");
  Items items;
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (n.input(i).is_tensor() && n.input(0).is_tensor() && n.dtype(i) != n.dtype(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the elements are of different types: ", DTypeName(n.dtype(0)), " and ",
                       DTypeName(n.dtype(i))));
    }
    items.push_back(n.input(i));
  }
  return Facts{SequenceOf(n, std::move(items))};
}

absl::StatusOr<Facts> InferSequenceEmpty(const NodeView& n) {
  ASSIGN_OR_RETURN(const DType type, DTypeAttr(n, "dtype", DType::kFloat32));
  return Facts{EmptySequence(type)};
}

// ---- SequenceAt, SequenceInsert, SequenceErase, SequenceLength

absl::StatusOr<Facts> InferSequenceAt(const NodeView& n) {
  ASSIGN_OR_RETURN(const Fact sequence, SequenceInput(n));
  if (sequence.items == nullptr) return Facts{ElementOf(sequence)};
  const size_t length = sequence.items->size();
  ASSIGN_OR_RETURN(const std::optional<size_t> position, PositionIn(n, 1, length, length, 0));
  if (!position.has_value()) return Facts{AnyElement(n, sequence)};
  if (*position >= length) return absl::InvalidArgumentError("the sequence is empty");
  return Facts{(*sequence.items)[*position]};
}

absl::StatusOr<Facts> InferSequenceInsert(const NodeView& n) {
  ASSIGN_OR_RETURN(const Fact sequence, SequenceInput(n));
  const Fact& inserted = n.input(1);
  if (sequence.items != nullptr) {
    const size_t length = sequence.items->size();
    ASSIGN_OR_RETURN(const std::optional<size_t> position,
                     PositionIn(n, 2, length, length + 1, length));
    if (position.has_value()) {
      Items items = *sequence.items;
      items.insert(items.begin() + static_cast<std::ptrdiff_t>(*position), inserted);
      return Facts{SequenceOf(n, std::move(items))};
    }
  }
  const bool was_empty = sequence.length == Expr(0);
  std::optional<Expr> length = sequence.length;
  if (length.has_value()) *length += 1;
  return Facts{Fact::Sequence(
      was_empty ? inserted : JoinItems(n, AnyElement(n, sequence), inserted), length)};
}

absl::StatusOr<Facts> InferSequenceErase(const NodeView& n) {
  ASSIGN_OR_RETURN(const Fact sequence, SequenceInput(n));
  if (sequence.items != nullptr) {
    const size_t length = sequence.items->size();
    if (length == 0) return absl::InvalidArgumentError("the sequence is empty");
    ASSIGN_OR_RETURN(const std::optional<size_t> position,
                     PositionIn(n, 1, length, length, length - 1));
    if (position.has_value()) {
      Items items = *sequence.items;
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(*position));
      if (!items.empty()) return Facts{SequenceOf(n, std::move(items))};
      const Fact& last = sequence.items->front();
      return Facts{EmptySequence(last.is_tensor() ? last.dtype : DType::kUndefined)};
    }
  }
  std::optional<Expr> length = sequence.length;
  if (length.has_value()) *length -= 1;
  return Facts{Fact::Sequence(AnyElement(n, sequence), length)};
}

absl::StatusOr<Facts> InferSequenceLength(const NodeView& n) {
  ASSIGN_OR_RETURN(const Fact sequence, SequenceInput(n));
  if (!sequence.length.has_value()) return Facts{Fact::Tensor(DType::kInt64, {})};
  return Facts{Fact::ScalarOf(Scalar::Int(*sequence.length), DType::kInt64)};
}

// ---- SplitToSequence
//
// Parts of the given sizes along axis; parts of one size, the last one smaller; or, without
// `split`, the slices of size 1, with keepdims = 0 without the axis.

// A part whose place is not known: of its content only what all elements have in common.
Fact AnyPart(const NodeView& n, Shape shape, int axis, Expr size) {
  shape[axis] = std::move(size);
  Fact part = n.Moved(0, std::move(shape));
  if (const std::optional<Scalar> all = ConstantElement(n.input(0))) SetRule(*all, &part);
  return part;
}

// The part that begins at `first`.
Fact PartAt(const NodeView& n, Shape shape, int axis, const Expr& first, Expr size) {
  std::vector<AxisSource> sources(shape.dims().size());
  for (int i = 0; i < shape.rank(); ++i) sources[static_cast<size_t>(i)].axis = i;
  sources[static_cast<size_t>(axis)].first = first;
  const bool inside = shape[axis].AtLeast(first);
  shape[axis] = std::move(size);
  Fact part = n.Moved(0, std::move(shape));
  if (inside) FollowAxes(n.input(0), sources, &part);
  return part;
}

Fact SliceSequence(const NodeView& n, const Shape& data, int axis) {
  Shape slice = data;
  if (n.Flag("keepdims", true)) {
    slice[axis] = 1;
  } else {
    slice.dims().erase(slice.dims().begin() + axis);
  }
  Fact element = n.Moved(0, std::move(slice));
  if (const std::optional<Scalar> all = ConstantElement(n.input(0))) SetRule(*all, &element);
  return Fact::Sequence(std::move(element), data[axis]);
}

absl::StatusOr<Fact> EqualSequence(const NodeView& n, const Shape& data, int axis,
                                   const Expr& part) {
  if (ProvablyLess(part, 1) == true) {
    return absl::InvalidArgumentError(absl::StrCat("split into parts of ", part.ToString()));
  }
  const Expr length = CeilDiv(data[axis], part);
  if (DivideExactly(data[axis], part).has_value()) {
    return Fact::Sequence(AnyPart(n, data, axis, part), length);
  }
  const std::optional<int64_t> count = length.AsInt64();
  if (!count.has_value() || *count < 1 || *count > kMaxSequenceItems) {
    return Fact::Sequence(
        AnyPart(n, data, axis, n.FreshDim(0, axis, "splittosequence", data[axis])), length);
  }
  Items items;
  for (int64_t i = 0; i < *count; ++i) {
    const Expr first = part * i;
    items.push_back(PartAt(n, data, axis, first, i + 1 < *count ? part : data[axis] - first));
  }
  return SequenceOf(n, std::move(items));
}

absl::StatusOr<Facts> InferSplitToSequence(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", 0, data.rank()));
  if (!n.HasInput(1)) return Facts{SliceSequence(n, data, axis)};
  ASSIGN_OR_RETURN(const Shape split, n.RankedShape(1));
  if (split.rank() == 0) {
    const std::optional<Expr> part = n.KnownInt(1);
    if (!part.has_value()) {
      return Facts{
          Fact::Sequence(AnyPart(n, data, axis, n.FreshDim(0, axis, "splittosequence", data[axis])),
                         std::nullopt)};
    }
    ASSIGN_OR_RETURN(Fact sequence, EqualSequence(n, data, axis, *part));
    return Facts{std::move(sequence)};
  }
  const std::optional<Scalar> equal = ConstantElement(n.input(1));
  if (n.input(1).has_rule() && equal.has_value() && equal->is_int()) {
    RETURN_IF_ERROR(n.RequireSame("the sum of the parts", split[0] * equal->i, data[axis]));
    return Facts{Fact::Sequence(AnyPart(n, data, axis, equal->i), split[0])};
  }
  const std::optional<Dims> parts = n.KnownInts(1);
  if (!parts.has_value() || parts->empty()) {
    return Facts{Fact::Sequence(
        AnyPart(n, data, axis, n.FreshDim(0, axis, "splittosequence", data[axis])), split[0])};
  }
  RETURN_IF_ERROR(n.RequireSame("the sum of the parts", Sum(*parts), data[axis]));
  Items items;
  Expr first = 0;
  for (const Expr& part : *parts) {
    items.push_back(PartAt(n, data, axis, first, part));
    first += part;
  }
  return Facts{SequenceOf(n, std::move(items))};
}

// ---- ConcatFromSequence: the elements joined along axis, or stacked along a new one

absl::StatusOr<Facts> ConcatItems(const NodeView& n, const Items& items, int axis) {
  Shape out = items.front().shape;
  std::vector<Expr> lengths;
  for (const Fact& item : items) {
    for (int d = 0; d < out.rank(); ++d) {
      if (d == axis) continue;
      ASSIGN_OR_RETURN(out[d], Unify(n, absl::StrCat("axis ", d), out[d], item.shape[d]));
    }
    lengths.push_back(item.shape[axis]);
  }
  out[axis] = Sum(lengths);
  Fact fact = Fact::Tensor(items.front().dtype, std::move(out));
  if (fact.shape.rank() == 1) {
    Content content;
    for (const Fact& item : items) {
      if (!item.has_content()) return Facts{std::move(fact)};
      content.insert(content.end(), item.content->begin(), item.content->end());
    }
    SetFollowed(std::move(content), &fact);
  }
  return Facts{std::move(fact)};
}

// The items with an axis of size 1 put in, so that stacking becomes joining.
Items WithNewAxis(Items items, int axis) {
  for (Fact& item : items) item.shape.dims().insert(item.shape.dims().begin() + axis, Expr(1));
  return items;
}

// True if elements may differ in this size. A symbol of the file has one value, but a symbol that a
// node made (its name has a bracket) may stand for several.
bool MayDiffer(const Expr& size) {
  const std::vector<std::string> symbols = size.Symbols();
  return std::any_of(symbols.begin(), symbols.end(),
                     [](const std::string& symbol) { return absl::StrContains(symbol, "("); });
}

absl::StatusOr<Facts> InferConcatFromSequence(const NodeView& n) {
  ASSIGN_OR_RETURN(const Fact sequence, SequenceInput(n));
  if (!n.HasAttr("axis")) return absl::InvalidArgumentError("attribute axis is missing");
  const bool stack = n.Flag("new_axis");
  Items items = sequence.items != nullptr ? *sequence.items : Items{ElementOf(sequence)};
  if (items.empty()) return absl::InvalidArgumentError("the sequence is empty");
  for (const Fact& item : items) {
    if (!item.is_tensor() || !item.shape.ranked()) {
      return absl::FailedPreconditionError("the rank of the elements is not known");
    }
    if (item.shape.rank() != items.front().shape.rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "elements of rank ", items.front().shape.rank(), " and ", item.shape.rank()));
    }
  }
  const int rank = items.front().shape.rank() + (stack ? 1 : 0);
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", 0, rank));
  if (stack) items = WithNewAxis(std::move(items), axis);
  if (sequence.items != nullptr) return ConcatItems(n, items, axis);
  Fact fact = Fact::Tensor(items.front().dtype, items.front().shape);
  const bool exact = sequence.length.has_value() && (stack || !MayDiffer(fact.shape[axis]));
  fact.shape[axis] =
      exact ? fact.shape[axis] * *sequence.length : n.FreshDim(0, axis, "concatfromsequence");
  return Facts{std::move(fact)};
}

// ---- Optional, OptionalGetElement, OptionalHasElement
//
// The `length` of an optional says whether it holds something: 1 or 0.

// The facts that a type attribute states. Types nest no deeper than the loader allows.
Fact FactOfType(const DeclaredType& type) {
  if (type.kind == TypeKind::kTensor) {
    Shape shape;
    for (const DeclaredDim& dim : type.dims) {
      if (dim.size < 0) return Fact::Tensor(type.dtype, Shape::UnknownRank());
      shape.push_back(dim.size);
    }
    return Fact::Tensor(type.dtype, type.has_shape ? std::move(shape) : Shape::UnknownRank());
  }
  if (type.element == nullptr) return Fact::Unknown();
  if (type.kind == TypeKind::kSequence) {
    return Fact::Sequence(FactOfType(*type.element), std::nullopt);
  }
  return type.kind == TypeKind::kOptional ? Fact::Optional(FactOfType(*type.element))
                                          : Fact::Unknown();
}

absl::StatusOr<Facts> InferOptional(const NodeView& n) {
  if (n.HasInput(0)) {
    Fact optional = Fact::Optional(n.input(0));
    optional.length = Expr(1);
    return Facts{std::move(optional)};
  }
  const DeclaredType* type = n.TypeAttr("type");
  if (type == nullptr) return absl::InvalidArgumentError("neither an input nor a type is given");
  Fact optional = Fact::Optional(FactOfType(*type));
  optional.length = Expr(0);
  return Facts{std::move(optional)};
}

absl::StatusOr<Facts> InferOptionalGetElement(const NodeView& n) {
  if (!n.HasInput(0)) return absl::InvalidArgumentError("input 0 is missing");
  const Fact& fact = n.input(0);
  if (fact.kind != Fact::Kind::kOptional) return Facts{fact};
  if (fact.length == Expr(0)) return absl::InvalidArgumentError("the optional is empty");
  return Facts{ElementOf(fact)};
}

absl::StatusOr<Facts> InferOptionalHasElement(const NodeView& n) {
  const Fact& fact = n.input(0);
  std::optional<Expr> held;
  if (fact.absent()) {
    held = Expr(0);
  } else if (fact.kind == Fact::Kind::kOptional) {
    held = fact.length;
  } else if (fact.kind != Fact::Kind::kUnknown) {
    held = Expr(1);
  }
  if (!held.has_value()) return Facts{Fact::Tensor(DType::kBool, {})};
  return Facts{Fact::ScalarOf(Scalar::Int(*held), DType::kBool)};
}

constexpr OpDef kSequenceRows[] = {
    {.name = "SequenceConstruct",
     .versions = {11},
     .formula = "y = the sequence of the inputs",
     .infer = InferSequenceConstruct,
     .examples = {{"g (float[N,2] a, float[N,3] b) => (float[N,3] y) <int64 i = {-1}> { s = "
                   "SequenceConstruct(a, b) y = SequenceAt(s, i) }",
                   "free"}}},
    {.name = "SequenceEmpty",
     .versions = {11},
     .formula = "y = a sequence without elements",
     .infer = InferSequenceEmpty,
     .examples = {{"g () => (int64 y) { s = SequenceEmpty<dtype=1>() y = SequenceLength(s) }",
                   "free"}}},
    {.name = "SequenceAt",
     .versions = {11},
     .formula = "y = the element at position",
     .infer = InferSequenceAt,
     .examples = {{"g (float[N,2] a, float[N,3] b, int64 i) => (float[N,K] y) { s = "
                   "SequenceConstruct(a, b) y = "
                   "SequenceAt(s, i) }",
                   "free"}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent},
    {.name = "SequenceInsert",
     .versions = {11},
     .formula = "y = the sequence with tensor put in at position",
     .infer = InferSequenceInsert,
     .examples = {{"g (float[N,2] a, float[M,2] b) => (float[N,2] y) <int64 i = {0}> { s = "
                   "SequenceConstruct(b) t = SequenceInsert(s, a, i) y = SequenceAt(t, i) }",
                   "free"}},
     .traits = Traits::kReadsContent},
    {.name = "SequenceErase",
     .versions = {11},
     .formula = "y = the sequence without the element at position",
     .infer = InferSequenceErase,
     .examples = {{"g (float[N,2] a, float[M,2] b) => (float[N,2] y) <int64 i = {0}> { s = "
                   "SequenceConstruct(a, b) t = SequenceErase(s) y = SequenceAt(t, i) }",
                   "free"}},
     .traits = Traits::kReadsContent},
    {.name = "SequenceLength",
     .versions = {11},
     .formula = "y = the number of elements",
     .infer = InferSequenceLength,
     .examples =
         {{"g (float[N,2] a) => (int64 y) { s = SequenceConstruct(a, a) y = SequenceLength(s) }",
           "free"}}},
    {.name = "SplitToSequence",
     .versions = {11, 24},
     .formula = "y = the sequence of parts of input along axis",
     .infer = InferSplitToSequence,
     .examples =
         {{"g (float[7,N] x) => (float[1,N] y) <int64 p = {3}, int64 i = {2}> { s = "
           "SplitToSequence(x, p) y = SequenceAt(s, i) }",
           "free"},
          {"g (float[N,5] x) => (int64 l, float[N] y) <int64 i = {2}> { s = "
           "SplitToSequence<axis=1, keepdims=0>(x) l = SequenceLength(s) y = SequenceAt(s, i) }",
           "free"}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent},
    {.name = "ConcatFromSequence",
     .versions = {11},
     .formula = "y = the elements one after another along axis, or stacked",
     .infer = InferConcatFromSequence,
     .examples =
         {{"g (float[N,2] a, float[N,3] b) => (float[N,5] y) { s = SequenceConstruct(a, b) y = "
           "ConcatFromSequence<axis=1>(s) }",
           "free"},
          {"g (float[N,2] a, float[N,2] b) => (float[N,2,2] y) { s = SequenceConstruct(a, b) y = "
           "ConcatFromSequence<axis=-1, new_axis=1>(s) }",
           "free"}}},
    {.name = "Optional",
     .versions = {15, 28},
     .formula = "y = an optional that holds input, or nothing",
     .infer = InferOptional,
     .examples =
         {{"g (float[N,2] x) => (float[N,2] y) { o = Optional(x) y = OptionalGetElement(o) }",
           "free"}},
     .traits = Traits::kView},
    {.name = "OptionalGetElement",
     .versions = {15, 18, 28},
     .formula = "y = what the optional holds",
     .infer = InferOptionalGetElement,
     .examples = {{"float[N,2] x -> float[N,2] y", "free"}},
     .traits = Traits::kView},
    {.name = "OptionalHasElement",
     .versions = {15, 18, 28},
     .formula = "y = whether the optional holds something",
     .infer = InferOptionalHasElement,
     .examples = {{"g (float[N,2] x) => (bool y) { o = Optional(x) y = OptionalHasElement(o) }",
                   "free"}},
     .traits = Traits::kView},
};

}  // namespace

constinit const OpFamily kSequenceFamily = {"", kSequenceRows};

}  // namespace onnxflops
