// Elements chosen by their value: how many there are depends on data, unless the content is known.
//
// How it works. If every element is known, the result is computed: positions, counts, distinct
// values. A mask that is the same everywhere selects all or nothing, whatever its size. Otherwise
// the number is a fresh symbol with an upper bound, the number of all elements. Unique and TopK are
// counted as sorting by insertion with halving: each element is compared with the sorted list of
// those before it, or of the k best so far.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/content.h"
#include "ops/element_rule.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// Whether an element is other than 0; nullopt where not known.
std::optional<bool> IsTrue(const Scalar& element) {
  if (element.is_float()) return element.f != 0;
  if (!element.known()) return std::nullopt;
  const std::optional<bool> is_zero = ProvablyEqual(element.i, 0);
  if (!is_zero.has_value()) return std::nullopt;
  return !*is_zero;
}

// The positions of the elements other than 0; nullopt where some element is not known.
std::optional<Sizes> TruePositions(const Fact& fact) {
  if (!fact.has_content()) return std::nullopt;
  Sizes positions;
  for (size_t i = 0; i < fact.content->size(); ++i) {
    const std::optional<bool> is_true = IsTrue((*fact.content)[i]);
    if (!is_true.has_value()) return std::nullopt;
    if (*is_true) positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

// For a tensor with a rule: true if all elements are other than 0, false if none is; nullopt if
// that is not known.
std::optional<bool> AllTrue(const Fact& fact) {
  return fact.has_rule() ? IsTrue(*fact.rule) : std::nullopt;
}

// ---- Compress: the slices along axis (without axis: the elements) where condition is true

// How many of `all` are selected; nullopt if the condition is not known.
std::optional<Expr> SelectedCount(const Fact& condition, const std::optional<Sizes>& selected,
                                  const Expr& all) {
  if (selected.has_value()) return Expr(static_cast<int64_t>(selected->size()));
  const std::optional<bool> every = AllTrue(condition);
  if (!every.has_value()) return std::nullopt;
  return *every ? all : Expr(0);
}

absl::StatusOr<Facts> InferCompress(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.ShapeOfRankAtLeast(0, 1));
  const bool flat = !n.HasAttr("axis");
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", 0, data.rank()));
  std::optional<Sizes> selected = TruePositions(n.input(1));
  // The condition may be shorter than the axis; of a longer one, ONNX Runtime leaves out the rest.
  const Expr size = flat ? data.NumElements() : data[axis];
  if (selected.has_value() && size.is_literal()) {
    while (!selected->empty() && selected->back() >= size.literal()) selected->pop_back();
  }
  const Expr length = n.input(1).shape.ranked() ? Min(n.input(1).shape.NumElements(), size) : size;
  const Expr count =
      OrFresh(n, SelectedCount(n.input(1), selected, length), 0, axis, "compress", {&length, 1});
  Shape out = data;
  if (flat) {
    out = Shape{count};
  } else {
    out[axis] = count;
  }
  Fact fact = n.Moved(0, std::move(out));
  if (selected.has_value() && (flat || data.rank() == 1) && n.input(0).has_content()) {
    Content content;
    for (int64_t position : *selected) content.push_back(ElementAt(n.input(0), position));
    SetFollowed(std::move(content), &fact);
  }
  return Facts{std::move(fact)};
}

// ---- NonZero: y[rank, K], the indices of the elements other than 0
absl::StatusOr<Facts> InferNonZero(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  const std::optional<Sizes> places = TruePositions(n.input(0));
  const Expr elements = x.NumElements();
  const Expr count =
      OrFresh(n, SelectedCount(n.input(0), places, elements), 0, 1, "nonzero", {&elements, 1});
  Fact fact = Fact::Tensor(DType::kInt64, {x.rank(), count});
  if (x.rank() == 1 && AllTrue(n.input(0)).has_value()) {
    SetRule(Scalar::Int(IndexSymbol(1)), &fact);
  }
  const std::optional<Sizes> sizes = SmallSizes(n.input(0));
  if (!places.has_value() || !sizes.has_value()) return Facts{std::move(fact)};
  const Sizes strides = RowMajorStrides(*sizes);
  Content content;
  for (size_t axis = 0; axis < sizes->size(); ++axis) {
    for (int64_t place : *places) {
      content.push_back(Scalar::Int(place / strides[axis] % (*sizes)[axis]));
    }
  }
  SetFollowed(std::move(content), &fact);
  return Facts{std::move(fact)};
}

// ---- Unique: the distinct elements (with axis: slices), and where they are
//
// Each is compared, by halving, with the sorted list of those before it.

// An item is an element, or a slice along an axis as the list of its elements.
using Item = std::vector<Scalar>;

bool IsNumber(const Scalar& element) {
  if (element.is_float()) return !std::isnan(element.f);
  return element.is_int() && element.i.is_literal();
}

bool NumberLess(const Scalar& a, const Scalar& b) {
  return a.is_float() ? a.f < b.f : a.i.literal() < b.i.literal();
}

bool ItemLess(const Item& a, const Item& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), NumberLess);
}

// The items of x along `axis`; nullopt where some element is not known.
std::optional<std::vector<Item>> KnownItems(const Fact& x, bool flat, int axis) {
  const std::optional<Sizes> sizes = SmallSizes(x);
  if (!sizes.has_value() || !x.has_content() || x.content->empty()) return std::nullopt;
  const auto at = static_cast<size_t>(axis);
  std::vector<Item> items(flat ? x.content->size() : static_cast<size_t>((*sizes)[at]));
  bool known = true;
  size_t position = 0;
  ForEachIndex(*sizes, [&](const Sizes& index) {
    const Scalar& element = (*x.content)[position];
    known = known && IsNumber(element) && element.kind == x.content->front().kind;
    items[flat ? position : static_cast<size_t>(index[at])].push_back(element);
    ++position;
  });
  if (!known) return std::nullopt;
  return items;
}

// Each distinct item once, as its first place among all items: in the order of the items' values,
// or of their places.
std::vector<size_t> DistinctItems(const std::vector<Item>& items, bool sorted) {
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return ItemLess(items[a], items[b]); });
  const auto same = [&](size_t a, size_t b) { return !ItemLess(items[a], items[b]); };
  order.erase(std::unique(order.begin(), order.end(), same), order.end());
  if (!sorted) std::sort(order.begin(), order.end());
  return order;
}

// The outputs for an input of known content: the distinct values (their content for lists of
// elements only), their first places, where each item went, and how often each is there.
Facts KnownUnique(const NodeView& n, const std::vector<Item>& items, Shape values, int axis) {
  const std::vector<size_t> distinct = DistinctItems(items, n.Flag("sorted", true));
  const auto count = static_cast<int64_t>(distinct.size());
  values[axis] = count;
  Content elements, places, inverse, counts(distinct.size(), Scalar::Int(0));
  for (size_t place : distinct) {
    if (values.rank() == 1) elements.push_back(items[place].front());
    places.push_back(Scalar::Int(static_cast<int64_t>(place)));
  }
  for (const Item& item : items) {
    size_t k = 0;
    while (ItemLess(items[distinct[k]], item) || ItemLess(item, items[distinct[k]])) ++k;
    inverse.push_back(Scalar::Int(static_cast<int64_t>(k)));
    counts[k].i += 1;
  }
  Facts facts = {n.Moved(0, std::move(values))};
  if (!elements.empty()) SetFollowed(std::move(elements), &facts[0]);
  facts.push_back(Fact::Ints(std::move(places)));
  facts.push_back(Fact::Ints(std::move(inverse)));
  facts.push_back(Fact::Ints(std::move(counts)));
  return facts;
}

absl::StatusOr<Facts> InferUnique(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  const bool flat = !n.HasAttr("axis");
  Expr items = x.NumElements();
  Shape values = {0};
  int axis = 0;
  if (!flat) {
    ASSIGN_OR_RETURN(axis, n.AxisAttr("axis", 0, x.rank()));
    items = x[axis];
    values = x;
  }
  if (const auto known = KnownItems(n.input(0), flat, axis)) {
    return KnownUnique(n, *known, std::move(values), axis);
  }
  const Expr distinct = n.FreshDim(0, axis, "unique", items);
  values[axis] = distinct;
  return Facts{n.Moved(0, std::move(values)), Fact::Tensor(DType::kInt64, {distinct}),
               Fact::Tensor(DType::kInt64, {items}), Fact::Tensor(DType::kInt64, {distinct})};
}

// ---- TopK: the k largest (or smallest) along axis, and their indices
//
// Each of the X elements is compared, by halving, with the sorted list of the k best so far.

absl::StatusOr<Expr> TopKCount(const NodeView& n, const Expr& size, int axis) {
  if (n.version() < 10 && !n.HasAttr("k")) {
    return absl::InvalidArgumentError("attribute k is missing");
  }
  const std::optional<Expr> k = n.version() < 10 ? Expr(n.Int("k", 0)) : n.KnownInt(1);
  if (!k.has_value()) return n.FreshDim(0, axis, "topk", size);
  if (ProvablyLess(*k, 0) == true || ProvablyLess(size, *k) == true) {
    return absl::InvalidArgumentError(
        absl::StrCat("k is ", k->ToString(), " on an axis of size ", size.ToString()));
  }
  return *k;
}

absl::StatusOr<Facts> InferTopK(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", -1, x.rank()));
  ASSIGN_OR_RETURN(x[axis], TopKCount(n, x[axis], axis));
  return Facts{n.Moved(0, x), Fact::Tensor(DType::kInt64, x)};
}

constexpr OpDef kSelectionRows[] = {
    {.name = "Compress",
     .versions = {9, 11, 28},
     .formula = "y = the slices of input along axis where condition is true",
     .infer = InferCompress,
     .examples = {{"float[N,9] x, bool[9] c -> float[N,K] y <axis=1>", "free"},
                  {"g (float[N,3] x) => (float[N,2] y) <bool[3] c = {1, 0, 1}> { y = "
                   "Compress<axis=-1>(x, c) }",
                   "free"}},
     .traits = Traits::kReadsContent,
     .onnx = {.since = 11}},
    {.name = "NonZero",
     .versions = {9, 13},
     .formula = "Y[rank, K] = indices of the elements of X other than 0",
     .infer = InferNonZero,
     .count = CountPerInputElement,
     .examples =
         {{"float[N,7] x -> int64[2,K] y", "cmp=7*N"},
          {"g () => (int64[2,3] y) <bool[2,2] x = {1, 0, 1, 1}> { y = NonZero(x) }", "int_cmp=4"},
          {"g (float[N] x) => (int64[1,N] y) { s = Shape(x) c = ConstantOfShape<value = int64[1] "
           "{1}>(s) y = NonZero(c) }",
           "int_cmp=N"}},
     .per_element = {.cmp = 1},
     .traits = Traits::kReadsContent},
    {.name = "Unique",
     .versions = {11, 28},
     .formula = "Y[K] = distinct elements of X (slices along axis)",
     .data = {.signature = "X -> Y indices? inverse_indices? counts?",
              .attributes = "axis = 0",
              .costs = "cmp = if(X.is_string, 0, X.elements*digits(if(attr.axis.given, "
                       "X[attr.axis], X.elements)))"},
     .infer = InferUnique,
     .examples =
         {{"float[3,4] x -> float[K] y, int64[K] i, int64[12] j, int64[K] c", "cmp=48"},
          {"float[3,N] x -> float[K,N] y <axis=0>", "cmp=6*N"},
          {"g () => (int64[2,2] y) <int64[3,2] x = {5, 4, 3, 3, 5, 4}> { y = Unique<axis=0>(x) }",
           "int_cmp=12"}},
     .onnx = {.finds = OnnxInference::Finds::kRanks},
     .note =
         "Each element finds its place in a sorted list of n by halving; a slice compares all of "
         "its elements each time. Strings are free."},
    {.name = "TopK",
     .versions = {1, 10, 11, 24},
     .formula = "Values = the K largest along axis",
     .data = {.signature = "X K? -> Values Indices?",
              .attributes = "axis = -1",
              .costs = "cmp = X.elements*digits(Values[attr.axis])"},
     .infer = InferTopK,
     .examples = {{"g (float[N,1000] x) => (float[N,5] v, int64[N,5] i) <int64[1] k = {5}> { v, i "
                   "= TopK(x, k) }",
                   "cmp=3000*N"},
                  {"g (int32[7,N] x) => (int32[1,N] v, int64[1,N] i) <int64[1] k = {1}> { v, i = "
                   "TopK<axis=0>(x, k) }",
                   "int_cmp=7*N"},
                  {"float[N,1000] x -> float[N,8] v, int64[N,8] i <k=8>", "cmp=4000*N", 1}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent,
     .onnx = {.ranks_without = InputBits({1})},
     .note = "Each element finds its place in a sorted list of the k best by halving. For k = 1 it "
             "is what a maximum costs; for k = n, what sorting by insertion compares.",
     .gradient = {.formula = "dX = dY at the places of Values, else 0",
                  .keeps = {.outputs = InputBits({1})},
                  .temporaries = {.inputs = 1}}},  // the zeros
};

}  // namespace

constinit const OpFamily kSelectionFamily = {"", kSelectionRows};

}  // namespace onnxflops
