// Elements chosen by their value: how many there are depends on data, unless the content is known.
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/content.h"
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

// The comparisons that find an element's place among k sorted ones by halving:
// ceil(log2(k + 1)), the number of binary digits of k. Of a symbolic k, the sum over all digits of
// "k has this digit", so that it is exact at every binding.
Expr Halvings(const Expr& k) {
  constexpr int kMostDigits = 40;  // no axis of a trillion elements fits into memory
  const std::optional<absl::int128> most = k.UpperBound();
  Expr digits = 0;
  absl::int128 power = 1;
  for (int i = 0; i < kMostDigits && (!most.has_value() || power <= *most); ++i, power *= 2) {
    digits += Min(FloorDiv(k, power), 1);
  }
  return digits;
}

// ---- Compress: the slices along axis (without axis: the elements) where condition is true

// How many are selected: exactly, where the condition is known.
std::optional<Expr> SelectedCount(const std::optional<Sizes>& selected) {
  if (!selected.has_value()) return std::nullopt;
  return Expr(static_cast<int64_t>(selected->size()));
}

absl::StatusOr<Facts> InferCompress(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.ShapeOfRankAtLeast(0, 1));
  const bool flat = !n.HasAttr("axis");
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", 0, data.rank()));
  const std::optional<Sizes> selected = TruePositions(n.input(1));
  const Expr count = OrFresh(n, SelectedCount(selected), 0, axis, "compress");
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

constexpr int kCompressVersions[] = {9, 11, 28};
constexpr OpExample kCompressExamples[] = {
    {"g (float[N,9] x, bool[9] c) => (float[N,K] y) { y = Compress<axis=1>(x, c) }", "free"},
    {"g (float[N,3] x) => (float[N,2] y) <bool[3] c = {1, 0, 1}> { y = Compress<axis=-1>(x, c) }",
     "free"},
};

// ---- NonZero: y[rank, K], the indices of the elements other than 0
absl::StatusOr<Facts> InferNonZero(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  const std::optional<Sizes> places = TruePositions(n.input(0));
  const Expr count = OrFresh(n, SelectedCount(places), 0, 1, "nonzero");
  Fact fact = Fact::Tensor(DType::kInt64, {x.rank(), count});
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

constexpr int kNonZeroVersions[] = {9, 13};
constexpr OpExample kNonZeroExamples[] = {
    {"g (float[N,7] x) => (int64[2,K] y) { y = NonZero(x) }", "cmp=7*N"},
    {"g () => (int64[2,3] y) <bool[2,2] x = {1, 0, 1, 1}> { y = NonZero(x) }", "int_cmp=4"},
};

// ---- Unique: the distinct elements (with axis: slices), and where they are
//
// Each is compared, by halving, with the sorted list of those before it.

absl::StatusOr<Facts> InferUnique(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  Expr items = x.NumElements();
  Shape values = {0};
  int axis = 0;
  if (n.HasAttr("axis")) {
    ASSIGN_OR_RETURN(axis, n.AxisAttr("axis", 0, x.rank()));
    items = x[axis];
    values = x;
  }
  const Expr distinct = n.FreshDim(0, axis, "unique");
  values[axis] = distinct;
  return Facts{n.Moved(0, std::move(values)), Fact::Tensor(DType::kInt64, {distinct}),
               Fact::Tensor(DType::kInt64, {items}), Fact::Tensor(DType::kInt64, {distinct})};
}

absl::StatusOr<Cost> CountUnique(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  if (n.dtype(0) == DType::kString) return Cost();
  Expr items = x.NumElements();
  if (n.HasAttr("axis")) {
    ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", 0, x.rank()));
    items = x[axis];
  }
  Census work;
  work[Kind::kCmp] = x.NumElements() * Halvings(items);
  return CostIn(n.dtype(0), std::move(work));
}

constexpr int kUniqueVersions[] = {11, 28};
constexpr OpExample kUniqueExamples[] = {
    {"g (float[3,4] x) => (float[K] y, int64[K] i, int64[12] j, int64[K] c) { y, i, j, c = "
     "Unique(x) }",
     "cmp=48"},
    {"g (float[3,N] x) => (float[K,N] y) { y = Unique<axis=0>(x) }", "cmp=6*N"},
};

// ---- TopK: the k largest (or smallest) along axis, and their indices
//
// Each of the X elements is compared, by halving, with the sorted list of the k best so far.

absl::StatusOr<Expr> TopKCount(const NodeView& n, const Expr& size, int axis) {
  if (n.version() < 10 && !n.HasAttr("k")) {
    return absl::InvalidArgumentError("attribute k is missing");
  }
  const std::optional<Expr> k = n.version() < 10 ? Expr(n.Int("k", 0)) : n.KnownInt(1);
  if (!k.has_value()) return n.FreshDim(0, axis, "topk");
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

absl::StatusOr<Cost> CountTopK(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const Shape values, n.OutputShape(0));
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", -1, x.rank()));
  Census work;
  work[Kind::kCmp] = x.NumElements() * Halvings(values[axis]);
  return CostIn(n.dtype(0), std::move(work));
}

constexpr int kTopKVersions[] = {1, 10, 11, 24};
constexpr OpExample kTopKExamples[] = {
    {"g (float[N,1000] x) => (float[N,5] v, int64[N,5] i) <int64[1] k = {5}> { v, i = TopK(x, k) }",
     "cmp=3000*N"},
    {"g (int32[7,N] x) => (int32[1,N] v, int64[1,N] i) <int64[1] k = {1}> { v, i = TopK<axis=0>(x, "
     "k) }",
     "int_cmp=7*N"},
    {"g (float[N,1000] x) => (float[N,8] v, int64[N,8] i) { v, i = TopK<k=8>(x) }", "cmp=4000*N",
     1},
};

constexpr OpDef kRows[] = {
    {.name = "Compress",
     .versions = kCompressVersions,
     .formula = "y = the slices of input along axis where condition is true; no arithmetic",
     .infer = InferCompress,
     .examples = kCompressExamples,
     .traits = Traits::kReadsContent},
    {.name = "NonZero",
     .versions = kNonZeroVersions,
     .formula = "y[rank, K] = indices of the elements other than 0; cmp = elements of x",
     .infer = InferNonZero,
     .count = CountPerInputElement,
     .examples = kNonZeroExamples,
     .per_element = {.cmp = 1},
     .traits = Traits::kReadsContent},
    {.name = "Unique",
     .versions = kUniqueVersions,
     .formula = "y[K] = distinct elements of x (slices along axis); cmp = elements of x * "
                "ceil(log2(n + 1)), n elements (slices)",
     .infer = InferUnique,
     .count = CountUnique,
     .examples = kUniqueExamples,
     .note =
         "Each element finds its place in a sorted list of n by halving; a slice compares all of "
         "its elements each time. Strings are free."},
    {.name = "TopK",
     .versions = kTopKVersions,
     .formula = "v[k] = k largest along axis; cmp = elements of x * ceil(log2(k + 1))",
     .infer = InferTopK,
     .count = CountTopK,
     .examples = kTopKExamples,
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent,
     .note = "Each element finds its place in a sorted list of the k best by halving. For k = 1 it "
             "is what a maximum costs; for k = n, what sorting by insertion compares."},
};

}  // namespace

constinit const OpFamily kSelectionFamily = {"", kRows};

}  // namespace onnxflops
