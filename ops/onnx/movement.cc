// Elements moved to other places: transposed, joined, cut, repeated, padded. All of this is free.
//
// How it works. A rule finds the shape of its output, and its content where that is known, because
// later shapes may depend on it. Content has two forms. A small tensor has a list of elements,
// which is moved element by element. A larger one may have a rule: a formula for the element at an
// index. Moving the elements then means to put another index into that formula. Several inputs of
// Concat keep a rule only if one formula fits all of them.
//
// A size or position that depends on data gets a fresh symbol. Where one unknown can be expressed
// by the others, it is: the last unknown part of a Split is what the other parts leave, so the cost
// of all parts together does not depend on where the tensor is cut.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/choice.h"
#include "ops/content.h"
#include "ops/dims.h"
#include "ops/element_rule.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- Transpose: axis i of the output is axis perm[i] of the input; reversed when perm is missing
absl::StatusOr<Facts> InferTranspose(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  Sizes perm;
  if (n.HasAttr("perm")) {
    for (int64_t axis : n.Ints("perm")) perm.push_back(axis);
  } else {
    for (int i = data.rank(); i-- > 0;) perm.push_back(i);
  }
  if (perm.size() != static_cast<size_t>(data.rank())) {
    return absl::InvalidArgumentError(
        absl::StrCat("perm has ", perm.size(), " axes for an input of rank ", data.rank()));
  }
  ASSIGN_OR_RETURN(const Axes axes, AxesOf(n, perm, data.rank()));
  Shape out;
  for (int axis : axes) out.push_back(data[axis]);
  Fact fact = n.Moved(0, std::move(out));
  std::vector<AxisSource> sources(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    sources[static_cast<size_t>(axes[i])].axis = static_cast<int>(i);
  }
  FollowAxes(n.input(0), sources, &fact);
  return Facts{std::move(fact)};
}

// ---- Concat: the inputs one after another along axis

// The rule at places that are moved along an axis; a tensor of one element there has one place.
Scalar MovedAlong(const Scalar& rule, int rank, int axis, const Expr& by, const Expr& length) {
  Dims index;
  for (int d = 0; d < rank; ++d) {
    const bool one_place = d == axis && length == Expr(1);
    index.push_back((one_place ? Expr(0) : IndexSymbol(d)) + (d == axis ? by : Expr(0)));
  }
  return ElementOfRule(rule, index);
}

// For results that are not small: finds one rule that all inputs follow. The candidate is that of
// the first input whose elements differ along the axis, else the first known one.
void FollowConcatRules(const NodeView& n, int axis, absl::Span<const Expr> lengths, Fact* fact) {
  const int rank = fact->shape.rank();
  std::vector<Scalar> rules;
  std::optional<Scalar> rule;
  Expr begin = 0;
  for (int i = 0; i < n.num_inputs(); ++i) {
    const Expr& length = lengths[static_cast<size_t>(i)];
    const std::optional<Scalar> own =
        length == Expr(0) ? std::optional<Scalar>(Scalar{}) : RuleOf(n.input(i));
    if (!own.has_value()) return;
    rules.push_back(*own);
    if (own->known() &&
        (!rule.has_value() || (!DependsOnPlace(*rule, axis) && DependsOnPlace(*own, axis)))) {
      rule = MovedAlong(*own, rank, axis, Expr(0) - begin, Expr(0));
    }
    begin += length;
  }
  if (!rule.has_value()) return;
  begin = 0;
  for (size_t i = 0; i < rules.size(); ++i) {
    const Expr& length = lengths[i];
    if (length == Expr(0)) continue;
    const Scalar here = MovedAlong(rules[i], rank, axis, 0, length);
    if (MovedAlong(*rule, rank, axis, begin, length) != here) return;
    begin += length;
  }
  SetRule(*rule, fact);
}

absl::StatusOr<Facts> InferConcat(const NodeView& n) {
  if (n.num_inputs() == 0) return absl::InvalidArgumentError("there are no inputs");
  ASSIGN_OR_RETURN(Shape out, n.RankedShape(0));
  if (n.version() >= 4 && !n.HasAttr("axis")) {
    return absl::InvalidArgumentError("attribute axis is missing");
  }
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", 1, out.rank()));
  std::vector<Expr> lengths = {out[axis]};
  bool same_stored = true;
  for (int i = 1; i < n.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(const Shape shape, n.RankedShape(i, out.rank()));
    for (int d = 0; d < out.rank(); ++d) {
      if (d == axis || out[d] == shape[d]) continue;
      ASSIGN_OR_RETURN(out[d], Unify(n, absl::StrCat("axis ", d), out[d], shape[d]));
    }
    lengths.push_back(shape[axis]);
    same_stored = same_stored && n.input(i).stored == n.input(0).stored;
  }
  out[axis] = Sum(lengths);
  Fact fact = same_stored ? n.Moved(0, std::move(out)) : n.Like(0, std::move(out));
  const std::optional<Sizes> sizes = SmallSizes(fact);
  if (!sizes.has_value()) {
    FollowConcatRules(n, axis, lengths, &fact);
    return Facts{std::move(fact)};
  }
  const auto at = static_cast<size_t>(axis);
  const int64_t outer = ProductOf(*sizes, 0, at);
  const int64_t inner = ProductOf(*sizes, at + 1, sizes->size());
  Content content;
  for (int64_t o = 0; o < outer; ++o) {
    for (int i = 0; i < n.num_inputs(); ++i) {
      const int64_t block = lengths[static_cast<size_t>(i)].AsInt64().value_or(0) * inner;
      for (int64_t k = 0; k < block; ++k) content.push_back(ElementAt(n.input(i), o * block + k));
    }
  }
  SetFollowed(std::move(content), &fact);
  return Facts{std::move(fact)};
}

// Every element stays on its axes.
std::vector<AxisSource> SameAxes(int rank) {
  std::vector<AxisSource> sources(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) sources[static_cast<size_t>(i)].axis = i;
  return sources;
}

// ---- Split: the input cut along axis into parts of the given sizes, or into equal ones
//
// The sizes are an attribute (or, at opset 1, an input) before opset 13, an input from then on.
// From opset 18, num_outputs parts of ceil(size / num_outputs) each, the last one smaller.

absl::StatusOr<std::vector<Expr>> EqualParts(const NodeView& n, const Expr& size) {
  const int parts = n.num_outputs();
  if (parts < 1) return absl::InvalidArgumentError("it has no output to split into");
  const bool uneven = n.version() >= 18;
  if (uneven && n.HasAttr("num_outputs") && n.Int("num_outputs", 0) != parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_outputs differs: ", n.Int("num_outputs", 0), " vs ", parts));
  }
  if (!uneven) {
    ASSIGN_OR_RETURN(const Expr part, DivideEvenly("parts", size, parts));
    return std::vector<Expr>(static_cast<size_t>(parts), part);
  }
  const Expr part = CeilDiv(size, parts);
  std::vector<Expr> sizes(static_cast<size_t>(parts), part);
  sizes.back() = size - part * (parts - 1);
  return sizes;
}

absl::StatusOr<std::vector<Expr>> PartSizes(const NodeView& n, const Expr& size, int axis) {
  const auto parts = static_cast<size_t>(n.num_outputs());
  MaybeInts given;
  if (n.HasInput(1)) {
    ASSIGN_OR_RETURN(given, IntsOf(n, 1, parts));
  } else if (n.version() < 13 && n.HasAttr("split")) {
    for (int64_t part : n.Ints("split")) given.emplace_back(part);
    if (given.size() != parts) {
      return absl::InvalidArgumentError(
          absl::StrCat("split has ", given.size(), " sizes for ", parts, " outputs"));
    }
  } else {
    return EqualParts(n, size);
  }
  // The last of the parts that are not known is what the others leave: what all parts cost together
  // then depends on the whole, not on where it is cut.
  const auto last = std::find(given.rbegin(), given.rend(), std::nullopt);
  std::vector<Expr> sizes;
  for (size_t i = 0; i < parts; ++i) {
    const bool is_rest = last != given.rend() && i + 1 == static_cast<size_t>(given.rend() - last);
    sizes.push_back(is_rest ? Expr(0)
                            : OrFresh(n, given[i], static_cast<int>(i), axis, "split", {&size, 1}));
  }
  const Expr sum = Sum(sizes);
  if (last == given.rend()) {
    RETURN_IF_ERROR(n.RequireSame("the sum of the parts", sum, size));
  } else {
    sizes[static_cast<size_t>(given.rend() - last) - 1] = size - sum;
  }
  return sizes;
}

absl::StatusOr<Facts> InferSplit(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", 0, data.rank()));
  ASSIGN_OR_RETURN(const std::vector<Expr> parts, PartSizes(n, data[axis], axis));
  std::vector<AxisSource> sources = SameAxes(data.rank());
  Facts facts;
  Expr offset = 0;
  for (const Expr& part : parts) {
    Shape shape = data;
    shape[axis] = part;
    Fact fact = n.Moved(0, std::move(shape));
    sources[static_cast<size_t>(axis)].first = offset;
    if (data[axis].AtLeast(offset)) FollowAxes(n.input(0), sources, &fact);
    offset += part;
    facts.push_back(std::move(fact));
  }
  return facts;
}

// ---- Slice: along each of `axes`, the elements from start (included) to end (excluded) by step
//
// Negative positions count from the end, and both are clamped to the axis. Attributes at opset 1,
// inputs from opset 10.

// Positions from here on mean the end, and from minus it on down the beginning, whatever the size:
// exporters write INT_MAX of either width.
constexpr int64_t kFarEnd = INT32_MAX;

// A position on an axis of `size`, counted from the end where negative, clamped to [low, high].
// REQUIRES: low is 0 or -1, high is size or size - 1.
Expr ClampPosition(const Expr& position, const Expr& size, const Expr& low, const Expr& high) {
  if (position.AtLeast(kFarEnd) && !size.AtLeast(kFarEnd)) return high;
  if ((-1 * position).AtLeast(kFarEnd) && !size.AtLeast(kFarEnd)) return low;
  if (position.AtLeast(0)) return Min(position, high);
  const Expr from_end = position + size;
  if ((-1 * position).AtLeast(1)) return Max(from_end, low);
  // The sign depends on the sizes: 1 where the position is negative, else 0.
  const Expr is_negative = Min(Max(-1 * position, 0), 1);
  return Max(Min(position + is_negative * size, high), low);
}

struct Cut {
  int axis = 0;
  std::optional<Expr> start, end;
  std::optional<Expr> step = Expr(1);
};

struct CutResult {
  Expr first;  // position of the first element
  Expr size;
};

// nullopt where the size depends on data.
absl::StatusOr<std::optional<CutResult>> Resolve(const Cut& cut, const Expr& size) {
  if (cut.step == Expr(0)) return absl::InvalidArgumentError("a step of 0");
  if (!cut.start.has_value() || !cut.end.has_value() || !cut.step.has_value()) return std::nullopt;
  CutResult result;
  if (size == Expr(0)) {
    result = {0, 0};
  } else if (cut.step->AtLeast(1)) {
    result.first = ClampPosition(*cut.start, size, 0, size);
    const Expr end = ClampPosition(*cut.end, size, 0, size);
    result.size = Max(CeilDiv(end - result.first, *cut.step), 0);
  } else if ((-1 * *cut.step).AtLeast(1)) {
    result.first = ClampPosition(*cut.start, size, 0, size - 1);
    const Expr end = ClampPosition(*cut.end, size, -1, size - 1);
    result.size = Max(CeilDiv(result.first - end, -1 * *cut.step), 0);
    if (!size.AtLeast(1)) result.size = Min(result.size, size);
  } else {
    return std::nullopt;
  }
  return result;
}

// The cuts that inputs or attributes name; nullopt if not even the axes are known.
absl::StatusOr<std::optional<std::vector<Cut>>> CutsOf(const NodeView& n, int rank) {
  MaybeInts starts, ends, steps;
  Axes axes;
  if (n.version() < 10) {
    for (int64_t start : n.Ints("starts")) starts.emplace_back(start);
    for (int64_t end : n.Ints("ends")) ends.emplace_back(end);
    ASSIGN_OR_RETURN(axes, AxesOf(n, n.Ints("axes"), rank));
  } else {
    if (n.HasInput(3)) {
      absl::StatusOr<Axes> given = AxesInput(n, 3, rank);
      if (absl::IsFailedPrecondition(given.status())) return std::nullopt;
      ASSIGN_OR_RETURN(axes, std::move(given));
    }
    absl::StatusOr<MaybeInts> given = n.HasInput(3) ? IntsOf(n, 1, axes.size()) : IntsOf(n, 1);
    if (absl::IsFailedPrecondition(given.status())) return std::nullopt;
    ASSIGN_OR_RETURN(starts, std::move(given));
    ASSIGN_OR_RETURN(ends, IntsOf(n, 2, starts.size()));
    if (n.HasInput(4)) {
      ASSIGN_OR_RETURN(steps, IntsOf(n, 4, starts.size()));
    }
  }
  const bool has_axes = n.version() < 10 ? n.HasAttr("axes") : n.HasInput(3);
  if (starts.size() != ends.size() || (has_axes && axes.size() != starts.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("starts, ends and axes differ in length: ", starts.size(), ", ", ends.size(),
                     " and ", axes.size()));
  }
  if (starts.size() > static_cast<size_t>(rank)) {
    return absl::InvalidArgumentError(
        absl::StrCat(starts.size(), " starts for an input of rank ", rank));
  }
  std::vector<Cut> cuts(starts.size());
  for (size_t i = 0; i < cuts.size(); ++i) {
    cuts[i].axis = has_axes ? axes[i] : static_cast<int>(i);
    cuts[i].start = starts[i];
    cuts[i].end = ends[i];
    if (!steps.empty()) cuts[i].step = steps[i];
  }
  return cuts;
}

absl::StatusOr<Facts> InferSlice(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  ASSIGN_OR_RETURN(const std::optional<std::vector<Cut>> cuts, CutsOf(n, data.rank()));
  Shape out = data;
  if (!cuts.has_value()) {
    for (int i = 0; i < data.rank(); ++i) out[i] = n.FreshDim(0, i, "slice", data[i]);
    return Facts{n.Moved(0, std::move(out))};
  }
  std::vector<AxisSource> sources = SameAxes(data.rank());
  for (const Cut& cut : *cuts) {
    ASSIGN_OR_RETURN(const std::optional<CutResult> result, Resolve(cut, data[cut.axis]));
    AxisSource& source = sources[static_cast<size_t>(cut.axis)];
    if (!result.has_value()) {
      out[cut.axis] = n.FreshDim(0, cut.axis, "slice", data[cut.axis]);
      source.axis = AxisSource::kUnknown;
      continue;
    }
    out[cut.axis] = result->size;
    source.first = result->first;
    // A step beyond the axis selects one element, and its length does not matter.
    source.step = cut.step->is_literal() ? Min(Max(*cut.step, -kFarEnd), kFarEnd) : *cut.step;
  }
  Fact fact = n.Moved(0, std::move(out));
  FollowAxes(n.input(0), sources, &fact);
  return Facts{std::move(fact)};
}

// ---- Tile: the input repeated along each axis
//
// At opset 1 along one axis, `tiles` times.

absl::StatusOr<MaybeInts> Repeats(const NodeView& n, int rank) {
  if (n.version() >= 6) return IntsOf(n, 1, static_cast<size_t>(rank));
  const std::optional<Expr> axis = n.KnownInt(2);
  if (!axis.has_value() || !axis->AsInt64().has_value()) {
    return absl::FailedPreconditionError("the axis (input 2) is not known");
  }
  ASSIGN_OR_RETURN(const int at, n.Axis(*axis->AsInt64(), rank));
  MaybeInts repeats(static_cast<size_t>(rank), Expr(1));
  repeats[static_cast<size_t>(at)] = n.KnownInt(1);
  return repeats;
}

// For results that are not small: the index on a repeated axis is taken modulo the input's size.
void FollowRepeatedRule(const Fact& from, const MaybeInts& repeats, Fact* to) {
  if (SmallSizes(*to).has_value()) return;
  const std::optional<Scalar> rule = RuleOf(from);
  if (!rule.has_value()) return;
  Dims index;
  for (int i = 0; i < from.shape.rank(); ++i) {
    const bool once = repeats[static_cast<size_t>(i)] == Expr(1);
    index.push_back(once ? IndexSymbol(i) : Mod(IndexSymbol(i), from.shape[i]));
  }
  SetRule(ElementOfRule(*rule, index), to);
}

absl::StatusOr<Facts> InferTile(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  ASSIGN_OR_RETURN(const MaybeInts repeats, Repeats(n, data.rank()));
  Shape out;
  for (int i = 0; i < data.rank(); ++i) {
    const std::optional<Expr>& times = repeats[static_cast<size_t>(i)];
    if (times.has_value() && times->is_literal() && times->literal() < 0) {
      return absl::InvalidArgumentError(absl::StrCat("repeated ", times->ToString(), " times"));
    }
    out.push_back(data[i] * (times.has_value()
                                 ? *times
                                 : n.FreshDim(0, i, "repeats", SymbolOrigin::Kind::kRepeats)));
  }
  Fact fact = n.Moved(0, std::move(out));
  FollowRepeatedRule(n.input(0), repeats, &fact);
  const std::optional<Sizes> from = SmallSizes(n.input(0)), to = SmallSizes(fact);
  if (from.has_value() && to.has_value() && n.input(0).has_content()) {
    const Sizes strides = RowMajorStrides(*from);
    Content content;
    ForEachIndex(*to, [&](const Sizes& index) {
      int64_t position = 0;
      for (size_t i = 0; i < index.size(); ++i) position += index[i] % (*from)[i] * strides[i];
      content.push_back(ElementAt(n.input(0), position));
    });
    SetFollowed(std::move(content), &fact);
  }
  return Facts{std::move(fact)};
}

// ---- Pad: each axis made longer, or shorter, at its beginning and its end
//
// `pads` lists all beginnings, then all ends. An attribute before opset 11 (`paddings` at opset 1);
// from opset 18 `axes` may name the axes.

struct Pads {
  Axes axes;
  MaybeInts amounts;  // beginnings, then ends
};

absl::StatusOr<Pads> PadsOf(const NodeView& n, int rank) {
  Pads pads;
  for (int i = 0; i < rank; ++i) pads.axes.push_back(i);
  if (n.version() < 11) {
    for (int64_t amount : n.Ints(n.version() == 1 ? "paddings" : "pads")) {
      pads.amounts.emplace_back(amount);
    }
    if (pads.amounts.size() != 2 * pads.axes.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("pads has ", pads.amounts.size(), " amounts for an input of rank ", rank));
    }
    return pads;
  }
  if (n.HasInput(3)) {
    absl::StatusOr<Axes> axes = AxesInput(n, 3, rank);
    if (absl::IsFailedPrecondition(axes.status())) {
      pads.amounts.resize(2 * pads.axes.size());  // any axis may be padded
      return pads;
    }
    ASSIGN_OR_RETURN(pads.axes, std::move(axes));
  }
  ASSIGN_OR_RETURN(pads.amounts, IntsOf(n, 1, 2 * pads.axes.size()));
  return pads;
}

// The content of a padded tensor, for the mode that fills with one value.
void FollowPads(const NodeView& n, const Pads& pads, Fact* fact) {
  const std::optional<Sizes> from = SmallSizes(n.input(0)), to = SmallSizes(*fact);
  if (!from.has_value() || !to.has_value() || !n.input(0).has_content()) return;
  if (n.String("mode", "constant") != "constant" || n.version() < 11) return;
  Sizes begins(from->size(), 0);
  for (size_t i = 0; i < pads.axes.size(); ++i) {
    const int64_t begin = pads.amounts[i]->AsInt64().value_or(0);
    begins[static_cast<size_t>(pads.axes[i])] = std::clamp(begin, -kMaxElements, kMaxElements);
  }
  const Scalar zero = InType(Scalar::Int(0), fact->dtype);
  const Scalar filled = n.HasInput(2) ? ElementAt(n.input(2), 0) : zero;
  const Sizes strides = RowMajorStrides(*from);
  Content content;
  ForEachIndex(*to, [&](const Sizes& index) {
    int64_t position = 0;
    bool inside = true;
    for (size_t i = 0; i < index.size(); ++i) {
      const int64_t at = index[i] - begins[i];
      inside = inside && at >= 0 && at < (*from)[i];
      if (inside) position += at * strides[i];
    }
    content.push_back(inside ? ElementAt(n.input(0), position) : filled);
  });
  SetFollowed(std::move(content), fact);
}

absl::StatusOr<Facts> InferPad(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  ASSIGN_OR_RETURN(const Pads pads, PadsOf(n, data.rank()));
  RETURN_IF_ERROR(
      ChoiceAttr(n, "mode", "constant", {"constant", "reflect", "edge", "wrap"}).status());
  Shape out = data;
  bool known = true;
  for (size_t i = 0; i < pads.axes.size(); ++i) {
    const std::optional<Expr>& begin = pads.amounts[i];
    const std::optional<Expr>& end = pads.amounts[i + pads.axes.size()];
    const int axis = pads.axes[i];
    const bool fixed = begin.has_value() && end.has_value();
    out[axis] = fixed ? data[axis] + *begin + *end : n.FreshDim(0, axis, "pad");
    known = known && fixed && begin->is_literal();
  }
  Fact fact = n.Moved(0, std::move(out));
  if (known) FollowPads(n, pads, &fact);
  return Facts{std::move(fact)};
}

// ---- DepthToSpace, SpaceToDepth: blocks of b x b positions as channels, and back
absl::StatusOr<Facts> InferDepthToSpace(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0, 4));
  RETURN_IF_ERROR(ChoiceAttr(n, "mode", "DCR", {"DCR", "CRD"}).status());
  const Expr block = n.Int("blocksize", 0);
  ASSIGN_OR_RETURN(const Expr depth, DivideEvenly("channels", x[1], block * block));
  return Facts{n.Moved(0, {x[0], depth, x[2] * block, x[3] * block})};
}

absl::StatusOr<Facts> InferSpaceToDepth(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0, 4));
  RETURN_IF_ERROR(ChoiceAttr(n, "mode", "DCR", {"DCR", "CRD"}).status());
  const Expr block = n.Int("blocksize", 0);
  ASSIGN_OR_RETURN(const Expr height, DivideEvenly("height", x[2], block));
  ASSIGN_OR_RETURN(const Expr width, DivideEvenly("width", x[3], block));
  return Facts{n.Moved(0, {x[0], x[1] * block * block, height, width})};
}

// ---- ReverseSequence: the first sequence_lens[b] elements of each sequence in reverse order
absl::StatusOr<Facts> InferReverseSequence(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.ShapeOfRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(const int batch_axis, n.AxisAttr("batch_axis", 1, data.rank()));
  ASSIGN_OR_RETURN(const int time_axis, n.AxisAttr("time_axis", 0, data.rank()));
  if (batch_axis == time_axis) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_axis and time_axis are both ", batch_axis));
  }
  if (HasRank(n, 1)) {
    ASSIGN_OR_RETURN(const Shape lengths, n.RankedShape(1, 1));
    RETURN_IF_ERROR(n.RequireSame("batch", data[batch_axis], lengths[0]));
  }
  return Facts{n.Moved(0, data)};
}

// ---- Trilu: the upper (or lower) triangle from diagonal k on, zeros elsewhere
absl::StatusOr<Facts> InferTrilu(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.ShapeOfRankAtLeast(0, 2));
  Fact fact = n.Moved(0, data);
  const std::optional<Expr> diagonal = n.HasInput(1) ? n.KnownInt(1) : Expr(0);
  const std::optional<Sizes> sizes = SmallSizes(fact);
  if (!sizes.has_value() || !n.input(0).has_content() || !diagonal.has_value() ||
      !diagonal->AsInt64().has_value()) {
    return Facts{std::move(fact)};
  }
  const int64_t k = diagonal->AsInt64().value_or(0);
  const bool upper = n.Flag("upper", true);
  const Scalar zero = InType(Scalar::Int(0), fact.dtype);
  const size_t row = sizes->size() - 2;
  Content content;
  ForEachIndex(*sizes, [&](const Sizes& index) {
    const int64_t distance = index[row + 1] - index[row];
    const bool kept = upper ? distance >= k : distance <= k;
    const auto at = static_cast<int64_t>(content.size());
    content.push_back(kept ? ElementAt(n.input(0), at) : zero);
  });
  SetFollowed(std::move(content), &fact);
  return Facts{std::move(fact)};
}

// ---- CenterCropPad: each of `axes` cropped or padded on both sides to the given size
absl::StatusOr<Facts> InferCenterCropPad(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0));
  Sizes listed;
  if (n.HasAttr("axes")) {
    for (int64_t axis : n.Ints("axes")) listed.push_back(axis);
  } else {
    for (int i = 0; i < data.rank(); ++i) listed.push_back(i);
  }
  ASSIGN_OR_RETURN(const Axes axes, AxesOf(n, listed, data.rank()));
  ASSIGN_OR_RETURN(const MaybeInts sizes, IntsOf(n, 1, axes.size()));
  Shape out = data;
  for (size_t i = 0; i < axes.size(); ++i) {
    out[axes[i]] = OrFresh(n, sizes[i], 0, axes[i], "centercroppad");
  }
  return Facts{n.Moved(0, std::move(out))};
}

constexpr OpDef kMovementRows[] = {
    {.name = "Transpose",
     .versions = {1, 13, 21, 23, 24, 25},
     .formula = "y = data with its axes in the order perm",
     .infer = InferTranspose,
     .examples = {{"float[N,77,12,64] x -> float[N,12,77,64] y <perm=[0,2,1,3]>", "free"},
                  {"float[2,3,N] x -> float[N,3,2] y", "free"}},
     .traits = Traits::kStrided,
     .gradient = {.passes = InputBits({0})}},
    {.name = "Concat",
     .versions = {1, 4, 11, 13},
     .formula = "y = the inputs one after another along axis",
     .infer = InferConcat,
     .examples =
         {{"float[N,1,768] a, float[N,49,768] b -> float[N,50,768] y <axis=1>", "free"},
          {"g (float[N,3] x) => (float[N,6] y) { s = Shape<start=0, end=1>(x) six = "
           "Constant<value_ints=[6]>() t = Concat<axis=-1>(s, six) y = ConstantOfShape(t) }",
           "free"}},
     .onnx = {.since = 4, .follows_since = 13},
     .gradient = {.passes = ~uint32_t{0}}},
    {.name = "Split",
     .versions = {1, 2, 11, 13, 18},
     .formula = "outputs = parts of the input along axis",
     .infer = InferSplit,
     .examples =
         {{"float[N,50,2304] x -> float[N,50,768] q, float[N,50,768] k, float[N,50,768] v "
           "<axis=-1, num_outputs=3>",
           "free"},
          {"float[7,N] x -> float[3,N] a, float[3,N] b, float[1,N] c <num_outputs=3>", "free"},
          {"g (float[N,10] x) => (float[N,7] a, float[N,3] b) <int64[2] s = {7, 3}> { a, b = "
           "Split<axis=1>(x, s) }",
           "free"},
          {"float[N,10] x -> float[N,5] a, float[N,5] b <axis=1>", "free", 2},
          {"g (float[N,10] x, int64[1] k) => (float[N,3] a, float[N,7] b) { i = "
           "Constant<value_ints=[3]>() s = Concat<axis=0>(i, k) a, b = Split<axis=1>(x, s) }",
           "free"},
          {"float[N,10] x -> float[N,2] a, float[N,8] b <axis=1, split=[2,8]>", "free", 11}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent | Traits::kStrided,
     .onnx = {.since = 2, .nothing_without = InputBits({1})}},
    {.name = "Slice",
     .versions = {1, 10, 11, 13},
     .formula = "y = data[start:end:step] along axes; only y's elements are read",
     .data = {.signature = "data starts? ends? axes? steps? -> y", .costs = "free"},
     .infer = InferSlice,
     .bytes = SelectionBytes,
     .examples =
         {{"g (float[N,50,768] x) => (float[N,1,768] y) <int64[1] s = {0}, int64[1] e = {1}, "
           "int64[1] a = {1}> { y = Slice(x, s, e, a) }",
           "free"},
          {"g (float[N,9] x) => (float[N,3] y) <int64[1] s = {-2}, int64[1] e = "
           "{-9223372036854775807}, int64[1] a = {-1}, int64[1] t = {-3}> { y = Slice(x, s, e, a, "
           "t) }",
           "free"},
          {"float[N,9] x, int64[1] s, int64[1] e, int64[1] a -> float[A,B] y", "free"},
          {"g (float[1,77,D] x, float[2,77] z) => (float[1,2,D] y) { s = "
           "Constant<value_ints=[0]>() e = "
           "Shape<start=0, end=1>(z) a = Constant<value_ints=[1]>() y = Slice(x, s, e, a) }",
           "free"},
          {"float[8,9,D] x -> float[2,8,D] y <starts=[1,0], ends=[3,-1]>", "free", 1}},
     .shape_inputs = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4,
     .traits = Traits::kReadsContent | Traits::kMovesMask | Traits::kStrided,
     .onnx = {.ranks_without = InputBits({1, 2, 3, 4}), .follows_since = 13},
     .gradient = {.formula = "dX = dY at the places read, else 0"}},
    {.name = "Tile",
     .versions = {1, 6, 13},
     .formula = "y[d_i * repeats_i] = input repeated",
     .infer = InferTile,
     .examples =
         {{"g (float[N,1,5] x) => (float[N,7,5] y) <int64[3] r = {1, 7, 1}> { y = Tile(x, r) }",
           "free"},
          {"g (float[N,2] x) => (float[N,6] y) <int64 t = {3}, int64 a = {1}> { y = Tile(x, t, a) "
           "}",
           "free", 1}},
     .shape_inputs = 1 << 1 | 1 << 2,
     .traits = Traits::kReadsContent,
     .gradient = {.formula = "dX = dY, summed up over the copies", .broadcast = true}},
    {.name = "Pad",
     .versions = {1, 2, 11, 13, 18, 19, 21, 23, 24, 25},
     .formula = "y[d_i + begin_i + end_i] = data, padded",
     .data = {.attributes = "mode = constant|reflect|edge|wrap"},
     .infer = InferPad,
     .examples =
         {{"g (float[N,3,223,W] x) => (float[N,3,226,W] y) <int64[2] p = {1, 2}, int64[1] a = "
           "{-2}> { y = Pad(x, p, , a) }",
           "free"},
          {"g (float[N,5] x) => (float[N,3] y) <int64[4] p = {0, -3, 0, 1}> { y = Pad(x, p) }",
           "free"},
          {"float[N,5] x -> float[N,8] y <mode=\"reflect\", pads=[0,1,0,2]>", "free", 2},
          {"float[N,5] x -> float[N,8] y <paddings=[0,1,0,2]>", "free", 1}},
     .shape_inputs = 1 << 1 | 1 << 3,
     .traits = Traits::kSamples | Traits::kReadsContent,
     .onnx = {.since = 2, .ranks_without = InputBits({1}), .nothing_without = InputBits({3})},
     .gradient =
         {.formula =
              "ddata = dY cut back; of other modes than constant, what was copied is added up",
          .costs = "add = if(attr.mode.constant, 0, Y.elements)",
          .keeps = {.other_modes = true, .nothing = true}}},
    {.name = "DepthToSpace",
     .versions = {1, 11, 13, 28},
     .formula = "y[N, C/b^2, H*b, W*b] = x[N,C,H,W], b = blocksize",
     .infer = InferDepthToSpace,
     .examples = {{"float[N,12,5,7] x -> float[N,3,10,14] y <blocksize=2>", "free"}}},
    {.name = "SpaceToDepth",
     .versions = {1, 13, 28},
     .formula = "y[N, C*b^2, H/b, W/b] = x[N,C,H,W], b = blocksize",
     .infer = InferSpaceToDepth,
     .examples = {{"float[N,3,10,14] x -> float[N,12,5,7] y <blocksize=2>", "free"}}},
    {.name = "ReverseSequence",
     .versions = {10, 28},
     .formula = "y = input, each sequence reversed up to its length",
     .infer = InferReverseSequence,
     .examples = {{"float[T,N,5] x, int64[N] l -> float[T,N,5] y", "free"}}},
    {.name = "Trilu",
     .versions = {14},
     .formula = "y[..,i,j] = x[..,i,j] if j - i >= k (upper) or <= k (lower), else 0",
     .infer = InferTrilu,
     .examples = {{"float[N,T,T] x -> float[N,T,T] y <upper=0>", "free"}},
     .traits = Traits::kSamples},
    {.name = "CenterCropPad",
     .versions = {18},
     .formula = "y = input cropped or padded around its center to shape",
     .infer = InferCenterCropPad,
     .examples = {{"g (float[N,3,H,W] x) => (float[N,3,224,224] y) <int64[2] s = {224, 224}> { y = "
                   "CenterCropPad<axes=[2,3]>(x, s) }",
                   "free"}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kSamples | Traits::kReadsContent,
     .onnx = {.nothing_without = InputBits({1})},
     .exceptions = {{"always", "int_add int_div int_cmp",
                     "the function body finds its pads and slices by arithmetic on the input "
                     "shape: index arithmetic"}}},
};

}  // namespace

constinit const OpFamily kMovementFamily = {"", kMovementRows};

}  // namespace onnxflops
