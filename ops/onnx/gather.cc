// Elements read from, or written to, places that an index tensor names.
//
// How it works. Shapes follow from the index tensor's shape. The content of the output is found as
// well, since exporters compute shapes by picking sizes out of a Shape: element by element if data,
// indices and output are small; by a formula of the index if data or indices are a rule (a range,
// for example) and not a list. A known index that is out of range is an error. An unknown index
// makes the elements read with it unknown; an unknown place of writing makes the whole output
// unknown, since it may be anywhere.
//
// Only the selected elements count as read. The operators are free, except for scatters that
// combine each update with what is there.
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

// A place on an axis, counted from the end where negative; nullopt where not known.
std::optional<int64_t> PlaceOn(int64_t size, const Scalar& index) {
  if (size == 1) return 0;  // the only one there is
  const std::optional<int64_t> place = index.is_int() ? index.i.AsInt64() : std::nullopt;
  if (!place.has_value()) return std::nullopt;
  const int64_t counted = *place < 0 ? *place + size : *place;
  if (counted < 0 || counted >= size) return std::nullopt;
  return counted;
}

absl::Status CheckIndex(const Scalar& index, const Expr& size) {
  if (!index.is_int() || !index.i.is_literal()) return absl::OkStatus();
  if (index.i.literal() < size.literal() && index.i.literal() >= -size.literal()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "index ", index.i.ToString(), " is outside of an axis of size ", size.ToString()));
}

// The last element of a tensor that follows a rule. Of positions it is taken as the largest.
std::optional<Scalar> LastOfRule(const Fact& fact) {
  if (!fact.has_rule() || !fact.shape.ranked()) return std::nullopt;
  std::vector<Expr> last;
  for (const Expr& dim : fact.shape.dims()) {
    if (!dim.is_literal() || dim.literal() < 1) return std::nullopt;
    last.push_back(dim - 1);
  }
  return ElementOfRule(*fact.rule, last);
}

// InvalidArgument for a known index that is outside of a literal size.
absl::Status CheckIndices(const Fact& indices, const Expr& size) {
  if (!size.is_literal()) return absl::OkStatus();
  if (const std::optional<Scalar> last = LastOfRule(indices)) return CheckIndex(*last, size);
  if (!indices.has_content()) return absl::OkStatus();
  for (const Scalar& index : *indices.content) RETURN_IF_ERROR(CheckIndex(index, size));
  return absl::OkStatus();
}

// ---- Gather
//
// y[before.., indices.., after..] = data[before.., index, after..], the index along axis.

// The same for a symbolic index on an axis of any size.
std::optional<Expr> PlaceOn(const Expr& size, Expr index) {
  if ((-1 - index).AtLeast(0)) index += size;
  if (!index.AtLeast(0)) return std::nullopt;
  return index;
}

// Where data or indices are not small, and both follow rules: data's rule at the place that the
// rule of the indices gives.
void FollowGatherRules(const Fact& data, const Fact& indices, int axis, Fact* fact) {
  const std::optional<Scalar> rule = RuleOf(data);
  if (!rule.has_value() || !DependsOnPlace(*rule)) {
    if (rule.has_value()) SetRule(*rule, fact);
    return;
  }
  const int rank = indices.shape.rank();
  const int moved = axis + rank;  // the result's axis for data's first one after `axis`
  Dims index;
  for (int i = 0; i < data.shape.rank(); ++i) {
    index.push_back(IndexSymbol(i < axis ? i : i == axis ? 0 : i - axis - 1 + moved));
  }
  if (DependsOnPlace(*rule, axis)) {
    const std::optional<Scalar> place = RuleOf(indices);
    if (!place.has_value() || !place->is_int()) return;
    Dims at;
    for (int i = 0; i < rank; ++i) at.push_back(IndexSymbol(axis + i));
    std::optional<Expr> taken = PlaceOn(data.shape[axis], ElementOfRule(*place, at).i);
    if (!taken.has_value()) return;
    index[static_cast<size_t>(axis)] = *std::move(taken);
  } else {
    index[static_cast<size_t>(axis)] = 0;
  }
  SetRule(ElementOfRule(*rule, index), fact);
}

// Data's rule at places that are listed.
void FollowGatherPlaces(const Fact& data, const Fact& indices, int axis, Fact* fact) {
  const Sizes sizes = *SmallSizes(*fact);
  if (ProductOf(sizes, 0, sizes.size()) > kMaxListOfRule) return;
  const auto at = static_cast<size_t>(axis), rank = indices.shape.dims().size();
  const Sizes strides = RowMajorStrides(
      Sizes(sizes.begin() + axis, sizes.begin() + axis + static_cast<int64_t>(rank)));
  Content content;
  ForEachIndex(sizes, [&](const Sizes& index) {
    int64_t position = 0;
    for (size_t i = 0; i < rank; ++i) position += index[at + i] * strides[i];
    const Scalar taken = ElementAt(indices, position);
    std::optional<Expr> place = taken.is_int() ? PlaceOn(data.shape[axis], taken.i) : std::nullopt;
    if (!place.has_value()) return content.push_back({});
    Dims from(index.begin(), index.begin() + axis);
    from.push_back(*std::move(place));
    from.insert(from.end(), index.begin() + axis + static_cast<int64_t>(rank), index.end());
    content.push_back(ElementIn(ElementOfRule(*data.rule, from), fact->dtype));
  });
  SetFollowed(std::move(content), fact);
}

void FollowGather(const NodeView& n, int axis, Fact* fact) {
  const Fact &data = n.input(0), &indices = n.input(1);
  if (data.has_rule() && indices.has_content() && SmallSizes(*fact).has_value()) {
    return FollowGatherPlaces(data, indices, axis, fact);
  }
  if (data.has_rule() || (data.has_content() && !SmallSizes(*fact).has_value())) {
    return FollowGatherRules(data, indices, axis, fact);
  }
  const std::optional<Sizes> from = SmallSizes(data), index_sizes = SmallSizes(indices);
  if (!from.has_value() || !index_sizes.has_value() || !data.has_content()) return;
  if (!SmallSizes(*fact).has_value()) return;
  const auto at = static_cast<size_t>(axis);
  const int64_t outer = ProductOf(*from, 0, at);
  const int64_t inner = ProductOf(*from, at + 1, from->size());
  const int64_t count = ProductOf(*index_sizes, 0, index_sizes->size());
  Content content;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t k = 0; k < count; ++k) {
      const std::optional<int64_t> place = PlaceOn((*from)[at], ElementAt(indices, k));
      for (int64_t i = 0; i < inner; ++i) {
        content.push_back(
            place.has_value() ? ElementAt(data, (o * (*from)[at] + *place) * inner + i) : Scalar{});
      }
    }
  }
  SetFollowed(std::move(content), fact);
}

absl::StatusOr<Facts> InferGather(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const Shape indices, n.RankedShape(1));
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", 0, data.rank()));
  RETURN_IF_ERROR(CheckIndices(n.input(1), data[axis]));
  Shape out;
  for (int i = 0; i < axis; ++i) out.push_back(data[i]);
  for (const Expr& dim : indices.dims()) out.push_back(dim);
  for (int i = axis + 1; i < data.rank(); ++i) out.push_back(data[i]);
  Fact fact = n.Moved(0, std::move(out));
  FollowGather(n, axis, &fact);
  return Facts{std::move(fact)};
}

// ---- GatherElements: y[i..] = data[i.., indices[i..], ..], the index along axis
absl::StatusOr<Facts> InferGatherElements(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const Shape indices, n.RankedShape(1, data.rank()));
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", 0, data.rank()));
  RETURN_IF_ERROR(CheckIndices(n.input(1), data[axis]));
  Fact fact = n.Moved(0, indices);
  if (const std::optional<Scalar> constant = ConstantElement(n.input(0))) {
    SetRule(*constant, &fact);
    return Facts{std::move(fact)};
  }
  const std::optional<Sizes> from = SmallSizes(n.input(0)), to = SmallSizes(fact);
  if (!from.has_value() || !to.has_value() || !n.input(0).has_content()) {
    return Facts{std::move(fact)};
  }
  const Sizes strides = RowMajorStrides(*from);
  const auto at = static_cast<size_t>(axis);
  Content content;
  ForEachIndex(*to, [&](const Sizes& index) {
    const auto written = static_cast<int64_t>(content.size());
    const std::optional<int64_t> place = PlaceOn((*from)[at], ElementAt(n.input(1), written));
    bool inside = place.has_value();
    int64_t position = place.value_or(0) * strides[at];
    for (size_t i = 0; i < index.size(); ++i) {
      if (i == at) continue;
      inside = inside && index[i] < (*from)[i];
      position += index[i] * strides[i];
    }
    content.push_back(inside ? ElementAt(n.input(0), position) : Scalar{});
  });
  SetFollowed(std::move(content), &fact);
  return Facts{std::move(fact)};
}

// ---- GatherND
//
// The last axis of indices[b.., q.., k] names the first k axes of data[b.., d1.., dk, rest..] after
// the `batch_dims` (from opset 12) leading ones: y[b.., q.., rest..].

struct IndexTuples {
  int batch = 0;  // leading axes that data and indices share
  int depth = 0;  // axes of data that one tuple names
};

absl::StatusOr<IndexTuples> TuplesOf(const NodeView& n, const Shape& data, const Shape& indices) {
  IndexTuples tuples;
  const int64_t batch = n.version() >= 12 ? n.Int("batch_dims", 0) : 0;
  if (batch < 0 || batch >= data.rank() || batch >= indices.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_dims = ", batch, " for ranks ", data.rank(), " and ", indices.rank()));
  }
  tuples.batch = static_cast<int>(batch);
  const std::optional<int64_t> depth = indices[indices.rank() - 1].AsInt64();
  if (!depth.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat("the last size of indices decides the rank: ",
                                                      indices[indices.rank() - 1].ToString()));
  }
  if (*depth < 1 || *depth > data.rank() - batch) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices name ", *depth, " axes of ", data.rank() - batch));
  }
  tuples.depth = static_cast<int>(*depth);
  return tuples;
}

// The position of data's first element that tuple number `tuple` of `indices` names.
std::optional<int64_t> TuplePosition(const Fact& indices, int64_t tuple, const IndexTuples& tuples,
                                     const Sizes& sizes, const Sizes& strides) {
  int64_t position = 0;
  for (int d = 0; d < tuples.depth; ++d) {
    const auto axis = static_cast<size_t>(tuples.batch) + static_cast<size_t>(d);
    const std::optional<int64_t> place =
        PlaceOn(sizes[axis], ElementAt(indices, tuple * tuples.depth + d));
    if (!place.has_value()) return std::nullopt;
    position += *place * strides[axis];
  }
  return position;
}

void FollowGatherND(const NodeView& n, const IndexTuples& tuples, Fact* fact) {
  const Fact &data = n.input(0), &indices = n.input(1);
  if (const std::optional<Scalar> constant = ConstantElement(data)) {
    return SetRule(*constant, fact);
  }
  const std::optional<Sizes> from = SmallSizes(data), to = SmallSizes(*fact),
                             index_sizes = SmallSizes(indices);
  if (!from.has_value() || !to.has_value() || !index_sizes.has_value() || !data.has_content()) {
    return;
  }
  const Sizes strides = RowMajorStrides(*from);
  const auto batch = static_cast<size_t>(tuples.batch);
  const int64_t batches = ProductOf(*from, 0, batch);
  const int64_t batch_size = ProductOf(*from, batch, from->size());
  const int64_t slice = ProductOf(*from, batch + static_cast<size_t>(tuples.depth), from->size());
  const int64_t count = ProductOf(*index_sizes, batch, index_sizes->size()) / tuples.depth;
  Content content;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t k = 0; k < count; ++k) {
      const std::optional<int64_t> place =
          TuplePosition(indices, b * count + k, tuples, *from, strides);
      for (int64_t i = 0; i < slice; ++i) {
        content.push_back(place.has_value() ? ElementAt(data, b * batch_size + *place + i)
                                            : Scalar{});
      }
    }
  }
  SetFollowed(std::move(content), fact);
}

absl::StatusOr<Facts> InferGatherND(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const Shape indices, n.ShapeOfRankAtLeast(1, 1));
  ASSIGN_OR_RETURN(const IndexTuples tuples, TuplesOf(n, data, indices));
  Shape out;
  for (int i = 0; i < tuples.batch; ++i) {
    ASSIGN_OR_RETURN(Expr dim, Unify(n, absl::StrCat("batch axis ", i), data[i], indices[i]));
    out.push_back(std::move(dim));
  }
  for (int i = tuples.batch; i + 1 < indices.rank(); ++i) out.push_back(indices[i]);
  for (int i = tuples.batch + tuples.depth; i < data.rank(); ++i) out.push_back(data[i]);
  Fact fact = n.Moved(0, std::move(out));
  FollowGatherND(n, tuples, &fact);
  return Facts{std::move(fact)};
}

// ---- Scatter, ScatterElements, ScatterND
//
// y = data with updates written to the named places; from opset 16 `reduction` combines each update
// with what is there: add and mul, from opset 18 max and min.

absl::Status CheckReduction(const NodeView& n) {
  return ChoiceAttr(n, "reduction", "none", {"none", "add", "mul", "max", "min"}).status();
}

absl::StatusOr<Census> ScatterGradient(const NodeView& n, const GradientQuery&) {
  const absl::string_view reduction = n.String("reduction", "none");
  if (reduction == "none" || reduction == "add") return Census();
  return absl::UnimplementedError(absl::StrCat("the gradient of a reduction by '", reduction, "'"));
}

// With a reduction, the places that are written become unknown.
Scalar Written(const NodeView& n, int64_t update) {
  if (n.String("reduction", "none") != "none") return {};
  return ElementAt(n.input(2), update);
}

bool HasContentToScatter(const NodeView& n) {
  return n.input(0).has_content() || n.input(2).has_content();
}

Content ElementsOf(const Fact& fact, const Sizes& sizes) {
  if (fact.has_content()) return *fact.content;
  return Content(static_cast<size_t>(ProductOf(sizes, 0, sizes.size())));
}

// True if the updates equal the data everywhere; the output is then the data.
bool FollowEqualUpdates(const NodeView& n, Fact* fact) {
  if (n.String("reduction", "none") != "none") return false;
  const std::optional<Scalar> data = ConstantElement(n.input(0));
  const std::optional<Scalar> updates = ConstantElement(n.input(2));
  if (!data.has_value() || !updates.has_value() || *data != *updates) return false;
  SetRule(*data, fact);
  return true;
}

void FollowScatterElements(const NodeView& n, int axis, Fact* fact) {
  if (FollowEqualUpdates(n, fact)) return;
  const std::optional<Sizes> to = SmallSizes(*fact), from = SmallSizes(n.input(1));
  if (!to.has_value() || !from.has_value() || !HasContentToScatter(n)) return;
  const Sizes strides = RowMajorStrides(*to);
  const auto at = static_cast<size_t>(axis);
  Content content = ElementsOf(n.input(0), *to);
  int64_t update = 0;
  bool known = true;
  ForEachIndex(*from, [&](const Sizes& index) {
    const std::optional<int64_t> place = PlaceOn((*to)[at], ElementAt(n.input(1), update));
    known = known && place.has_value();
    int64_t position = place.value_or(0) * strides[at];
    for (size_t i = 0; i < index.size(); ++i) {
      known = known && (i == at || index[i] < (*to)[i]);
      if (i != at) position += index[i] * strides[i];
    }
    if (known) content[static_cast<size_t>(position)] = Written(n, update);
    ++update;
  });
  if (known) SetFollowed(std::move(content), fact);
}

absl::StatusOr<Facts> InferScatterElements(const NodeView& n) {
  RETURN_IF_ERROR(CheckReduction(n));
  ASSIGN_OR_RETURN(const Shape data, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", 0, data.rank()));
  if (HasRank(n, 1)) {
    ASSIGN_OR_RETURN(const Shape indices, n.RankedShape(1, data.rank()));
    RETURN_IF_ERROR(CheckIndices(n.input(1), data[axis]));
  }
  Fact fact = n.Like(0, data);
  FollowScatterElements(n, axis, &fact);
  return Facts{std::move(fact)};
}

void FollowScatterND(const NodeView& n, const IndexTuples& tuples, Fact* fact) {
  const std::optional<Sizes> to = SmallSizes(*fact), from = SmallSizes(n.input(1));
  if (!to.has_value() || !from.has_value() || !HasContentToScatter(n)) return;
  const Sizes strides = RowMajorStrides(*to);
  const int64_t slice = ProductOf(*to, static_cast<size_t>(tuples.depth), to->size());
  const int64_t count = ProductOf(*from, 0, from->size()) / tuples.depth;
  Content content = ElementsOf(n.input(0), *to);
  for (int64_t k = 0; k < count; ++k) {
    const std::optional<int64_t> place = TuplePosition(n.input(1), k, tuples, *to, strides);
    if (!place.has_value()) return;  // it may be anywhere
    for (int64_t i = 0; i < slice; ++i) {
      content[static_cast<size_t>(*place + i)] = Written(n, k * slice + i);
    }
  }
  SetFollowed(std::move(content), fact);
}

absl::StatusOr<Facts> InferScatterND(const NodeView& n) {
  RETURN_IF_ERROR(CheckReduction(n));
  ASSIGN_OR_RETURN(const Shape data, n.ShapeOfRankAtLeast(0, 1));
  Fact fact = n.Like(0, data);
  if (FollowEqualUpdates(n, &fact)) return Facts{std::move(fact)};
  if (!HasRank(n, 1) || !HasContentToScatter(n)) return Facts{std::move(fact)};
  ASSIGN_OR_RETURN(const Shape indices, n.ShapeOfRankAtLeast(1, 1));
  const absl::StatusOr<IndexTuples> tuples = TuplesOf(n, data, indices);
  if (absl::IsInvalidArgument(tuples.status())) return tuples.status();
  if (tuples.ok()) FollowScatterND(n, *tuples, &fact);
  return Facts{std::move(fact)};
}

// ---- TensorScatter
//
// present_cache = past_cache[N, .., max_length, ..] with update[N, .., length, ..] written from
// write_indices[N] on, along axis.

absl::StatusOr<Facts> InferTensorScatter(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape cache, n.ShapeOfRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", -2, cache.rank()));
  if (axis == 0) return absl::InvalidArgumentError("axis 0 is the batch");
  RETURN_IF_ERROR(ChoiceAttr(n, "mode", "linear", {"linear", "circular"}).status());
  if (HasRank(n, 1)) {
    ASSIGN_OR_RETURN(const Shape update, n.RankedShape(1, cache.rank()));
    for (int i = 0; i < cache.rank(); ++i) {
      if (i == axis) continue;
      ASSIGN_OR_RETURN(cache[i], Unify(n, absl::StrCat("axis ", i), cache[i], update[i]));
    }
  }
  return Facts{n.Like(0, std::move(cache))};
}

// ---- OneHot: off_value everywhere but on_value at the index, along a new axis of size depth

// The content: known where the indices are, or where both values are the same.
void FollowOneHot(const NodeView& n, int axis, Fact* fact) {
  const Fact &indices = n.input(0), &values = n.input(2);
  if (!values.has_content() || values.content->size() != 2) return;
  const Scalar off = ElementAt(values, 0), on = ElementAt(values, 1);
  if (off == on) return SetRule(on, fact);
  const std::optional<Sizes> sizes = SmallSizes(*fact);
  if (!sizes.has_value() || !indices.has_content()) return;
  const auto at = static_cast<size_t>(axis);
  const int64_t depth = (*sizes)[at], inner = ProductOf(*sizes, at + 1, sizes->size());
  Content content;
  ForEachIndex(*sizes, [&](const Sizes& index) {
    const auto position = static_cast<int64_t>(content.size());
    const int64_t before = position / (depth * inner);
    const Scalar hot = ElementAt(indices, before * inner + position % inner);
    const std::optional<int64_t> place = hot.is_int() ? hot.i.AsInt64() : std::nullopt;
    if (!place.has_value()) {
      content.push_back({});
    } else {
      // An index outside of the depth, on either side, turns nothing on.
      content.push_back((*place < 0 ? *place + depth : *place) == index[at] ? on : off);
    }
  });
  SetFollowed(std::move(content), fact);
}

absl::StatusOr<Facts> InferOneHot(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape indices, n.RankedShape(0));
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", -1, indices.rank() + 1));
  std::optional<Expr> depth = n.KnownInt(1);
  if (!depth.has_value()) {
    const std::optional<double> number = n.KnownFloat(1);
    constexpr double kMost = 0x1p62;
    if (number.has_value() && *number >= 0 && *number < kMost) {
      depth = Expr(static_cast<int64_t>(*number));
    }
  }
  if (depth.has_value() && depth->is_literal() && depth->literal() < 1) {
    return absl::InvalidArgumentError(absl::StrCat("depth = ", depth->ToString()));
  }
  Shape out = indices;
  out.dims().insert(out.dims().begin() + axis, OrFresh(n, depth, 0, axis, "onehot"));
  Fact fact = Fact::Tensor(n.dtype(2), std::move(out));
  FollowOneHot(n, axis, &fact);
  return Facts{std::move(fact)};
}

constexpr FormulaData kGatherFormulas = {.signature = "data indices -> output", .costs = "free"};

constexpr FormulaData kScatterElementsFormulas = {
    .signature = "data indices updates -> output",
    .attributes = "reduction = none|add|mul|max|min",
    .let = "taken = if(attr.reduction.none, 0, updates.elements)",
    .costs =
        "add = attr.reduction.add*taken; mul = attr.reduction.mul*taken; cmp = "
        "(attr.reduction.max + attr.reduction.min)*taken"};

constexpr OpDef kGatherRows[] = {
    {.name = "Gather",
     .versions = {1, 11, 13},
     .formula =
         "y[before, q, after] = data[before, indices[q], after]; only what is selected is read",
     .data = kGatherFormulas,
     .infer = InferGather,
     .bytes = SelectionBytes,
     .examples =
         {{"float[49408,512] w, int64[N,77] ids -> float[N,77,512] y", "free"},
          {"float[N,50,768] x, int64 i -> float[N,768] y <axis=1>", "free"},
          {"g (float[N,3] x) => (float[3,N] y) { s = Shape(x) i = Constant<value_ints=[-1,0]>() t "
           "= Gather(s, i) y = ConstantOfShape(t) }",
           "free"},
          // The last index and the first.
          {"g (float[3,N] x) => (float[2,N] y) <int64[2] i = {2, -3}> { y = Gather(x, i) }",
           "free"}},
     .operands = {.weights = InputBits({0})},
     .traits = Traits::kSelects,
     .onnx = {.follows_since = 1},
     .gradient = {.formula = "ddata = dY, added at the places read",
                  .sums = InputBits({0}),
                  .keeps = {.inputs = InputBits({1})},
                  .temporaries = {.by_places = true}}},
    {.name = "GatherElements",
     .versions = {11, 13},
     .formula = "y[i,j] = data[indices[i,j], j] along axis",
     .data = kGatherFormulas,
     .infer = InferGatherElements,
     .bytes = SelectionBytes,
     .examples = {{"float[N,50] x, int64[N,5] i -> float[N,5] y <axis=1>", "free"}},
     .gradient = {.formula = "ddata = dY, added at the places read",
                  .sums = InputBits({0}),
                  .keeps = {.inputs = InputBits({0, 1})},
                  .temporaries = {.by_places = true}}},
    {.name = "GatherND",
     .versions = {11, 12, 13},
     .formula = "y[b, q, rest] = data[b, indices[b, q, :], rest]",
     .data = kGatherFormulas,
     .infer = InferGatherND,
     .bytes = SelectionBytes,
     .examples = {{"float[N,77,512] x, int64[N,2] i -> float[N,512] y", "free"},
                  {"float[N,77,512] x, int64[N,5,1] i -> float[N,5,512] y <batch_dims=1>", "free"}},
     .operands = {.weights = InputBits({0})},
     .gradient = {.formula = "ddata = dY, added at the places read",
                  .sums = InputBits({0}),
                  .keeps = {.inputs = InputBits({1})},
                  .temporaries = {.by_places = true}}},
    {.name = "Scatter",
     .versions = {9, 11},
     .formula = "y = data, then y[indices[i,j], j] = updates[i,j]",
     .data = {.signature = "data indices updates -> y", .costs = "free"},
     .infer = InferScatterElements,
     .examples = {{"float[N,9] x, int64[N,2] i, float[N,2] u -> float[N,9] y <axis=1>", "free"}}},
    {.name = "ScatterElements",
     .versions = {11, 13, 16, 18},
     .formula = "output = data, then output[indices[i,j], j] = updates[i,j]",
     .data = kScatterElementsFormulas,
     .infer = InferScatterElements,
     .examples =
         {{"float[N,9] x, int64[N,2] i, float[N,2] u -> float[N,9] y <axis=1>", "free"},
          {"float[N,9] x, int64[N,2] i, float[N,2] u -> float[N,9] y <axis=1, reduction=\"mul\">",
           "mul=2*N"}},
     .gradient = {.formula = "ddata = dY, 0 at the places written unless these are added to; "
                             "dupdates = dY at these places",
                  .rule = ScatterGradient,
                  .keeps = {.inputs = InputBits({1})}}},
    {.name = "ScatterND",
     .versions = {11, 13, 16, 18},
     .formula = "output = data, then output[indices[q, :], rest] = updates[q, rest]",
     .data = kScatterElementsFormulas,
     .infer = InferScatterND,
     .examples =
         {{"float[N,9] x, int64[4,1] i, float[4,9] u -> float[N,9] y", "free"},
          {"int32[N,9] x, int64[4,1] i, int32[4,9] u -> int32[N,9] y <reduction=\"max\">",
           "int_cmp=36"},
          {"g (float[N,5] x) => (float[7,5] y) { s = Shape(x) i = Constant<value = int64[1,1] "
           "{0}>() u = Constant<value_ints=[7]>() t = ScatterND(s, i, u) y = ConstantOfShape(t) }",
           "free"}},
     .gradient = {.formula = "ddata = dY, 0 at the places written unless these are added to; "
                             "dupdates = dY at these places",
                  .rule = ScatterGradient,
                  .keeps = {.inputs = InputBits({1}), .assigns = true}}},
    {.name = "TensorScatter",
     .versions = {24},
     .formula = "y = past_cache with update written from write_indices on",
     .infer = InferTensorScatter,
     .examples = {{"float[N,8,1024,64] c, float[N,8,T,64] u, int64[N] w -> float[N,8,1024,64] y",
                   "free"}}},
    {.name = "OneHot",
     .versions = {9, 11, 28},
     .formula = "y[i, d] = values[1] if indices[i] = d else values[0]",
     .infer = InferOneHot,
     .examples =
         {{"g (int64[N,77] i, float[2] v) => (float[N,77,1000] y) <int64 d = {1000}> { y = "
           "OneHot(i, d, v) }",
           "free"},
          {"g (int64[N] i, int32[2] v) => (int32[5,N] y) <float d = {5.0}> { y = OneHot<axis=0>(i, "
           "d, v) }",
           "free"},
          {"g (float[N,4] x) => (float[N,12] y) <int64[1] i = {1}, int64 d = {2}, int64[2] v = {1, "
           "3}, int64[1] f = {-1}> { h = OneHot(i, d, v) r = Reshape(h, f) y = Tile(x, r) }",
           "free"}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent,
     .note = "One value is written to the place that the index names: nothing is compared."},
};

}  // namespace

constinit const OpFamily kGatherFamily = {"", kGatherRows};

}  // namespace onnxflops
