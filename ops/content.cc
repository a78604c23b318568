// How it works. A tensor's content is a list of elements, or a rule that gives the element at any
// position, for tensors that are too large for a list. Operators that move data (Transpose, Slice,
// Gather, ...) move content as well: along strides for lists; for rules, positions are split into
// coordinates by division and remainder. Inputs that say sizes or axes are read element by element,
// since some may be unknown while the others are needed: an unknown one is nullopt, and where it is
// a size it becomes a fresh symbol.
#include "ops/content.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/element_rule.h"
#include "ops/rules.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/symbolic/work.h"

namespace onnxflops {

std::optional<Sizes> SmallSizes(DType type, const Shape& shape) {
  if (!shape.ranked() || !ContentSize(type, shape).has_value()) return std::nullopt;
  Sizes sizes;
  for (const Expr& dim : shape.dims()) sizes.push_back(dim.AsInt64().value_or(0));
  return sizes;
}

Sizes RowMajorStrides(const Sizes& sizes) {
  Sizes strides(sizes.size(), 0);
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return strides;
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  return strides;
}

int64_t ProductOf(const Sizes& sizes, size_t begin, size_t end) {
  // Without elements, the other sizes may be of any magnitude: their product could overflow.
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i) product *= sizes[i];
  return product;
}

namespace {

// The element by the tensor's rule. The sizes must be literal, or the place must be certain without
// them.
Scalar RuleAtPosition(const Fact& fact, int64_t position) {
  if (!DependsOnPlace(*fact.rule)) return *fact.rule;
  constexpr size_t kStepsPerPosition = 64;
  SpendSteps(kStepsPerPosition);
  Dims index(fact.shape.dims().size(), Expr(0));
  Expr left = position;
  for (int i = fact.shape.rank(); i-- > 0 && left != Expr(0);) {
    index[static_cast<size_t>(i)] = i == 0 ? left : Mod(left, fact.shape[i]);
    left = FloorDiv(left, fact.shape[i]);
  }
  return ElementIn(ElementOfRule(*fact.rule, index), fact.dtype);
}

}  // namespace

Scalar ElementAt(const Fact& fact, int64_t position) {
  if (position < 0) return {};
  if (fact.has_rule()) return RuleAtPosition(fact, position);
  if (!fact.has_content()) return {};
  const auto at = static_cast<size_t>(position);
  return at < fact.content->size() ? (*fact.content)[at] : Scalar{};
}

void SetFollowed(Content content, Fact* fact) {
  const std::optional<int64_t> size = ContentSize(fact->dtype, fact->shape);
  if (size == static_cast<int64_t>(content.size())) SetContent(std::move(content), fact);
}

void FollowStrides(const Fact& from, int64_t offset, const Sizes& strides, Fact* to) {
  const std::optional<Sizes> sizes = SmallSizes(*to);
  if (!from.has_content() || !sizes.has_value() || sizes->size() != strides.size()) return;
  Content content;
  ForEachIndex(*sizes, [&](const Sizes& index) {
    int64_t position = offset;
    for (size_t i = 0; i < index.size(); ++i) position += index[i] * strides[i];
    content.push_back(ElementAt(from, position));
  });
  SpendSteps(content.size() * strides.size() / 4);
  SetFollowed(std::move(content), to);
}

namespace {

void FollowRuleInOrder(const Fact& from, Fact* to) {
  const std::optional<Scalar> rule = RuleOf(from);
  if (!rule.has_value() || !to->shape.ranked() || to->shape.rank() > kMaxRank) return;
  if (!DependsOnPlace(*rule)) return SetRule(*rule, to);
  const std::vector<std::optional<Expr>> indices = IndicesInOrder(from.shape, to->shape);
  Dims index;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i].has_value() && DependsOnPlace(*rule, static_cast<int>(i))) return;
    index.push_back(indices[i].value_or(0));
  }
  SetRule(ElementOfRule(*rule, index), to);
}

}  // namespace

void FollowInOrder(const Fact& from, Fact* to) {
  if (from.has_rule() || (from.has_content() && !SmallSizes(*to).has_value())) {
    FollowRuleInOrder(from, to);
    return;
  }
  const std::optional<int64_t> size = ContentSize(to->dtype, to->shape);
  if (!from.has_content() || !size.has_value()) return;
  if (static_cast<size_t>(*size) == from.content->size()) to->content = from.content;
}

absl::StatusOr<MaybeInts> IntsOf(const NodeView& n, int input) {
  const Fact& fact = n.input(input);
  if (fact.has_content()) {
    MaybeInts ints;
    ints.reserve(fact.content->size());
    for (const Scalar& element : *fact.content) {
      ints.push_back(element.is_int() ? std::optional<Expr>(element.i) : std::nullopt);
    }
    return ints;
  }
  ASSIGN_OR_RETURN(const Shape shape, n.RankedShape(input));
  const std::optional<int64_t> size = ContentSize(DType::kInt64, shape);
  if (!size.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("input ", input, " has an unknown content of shape ", shape.ToString()));
  }
  return MaybeInts(static_cast<size_t>(*size));
}

absl::StatusOr<MaybeInts> IntsOf(const NodeView& n, int input, size_t count) {
  absl::StatusOr<MaybeInts> ints = IntsOf(n, input);
  if (absl::IsFailedPrecondition(ints.status()) && n.input(input).is_tensor()) {
    return MaybeInts(count);
  }
  if (ints.ok() && ints->size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", input, " has ", ints->size(), " elements, not ", count));
  }
  return ints;
}

absl::StatusOr<Axes> AxesOf(const NodeView& n, absl::Span<const int64_t> axes, int rank) {
  Axes result;
  for (int64_t given : axes) {
    ASSIGN_OR_RETURN(const int axis, n.Axis(given, rank));
    if (std::find(result.begin(), result.end(), axis) != result.end()) {
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is given twice"));
    }
    result.push_back(axis);
  }
  return result;
}

absl::StatusOr<Axes> AxesInput(const NodeView& n, int input, int rank) {
  const std::optional<Dims> given = n.KnownInts(input);
  if (!given.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the axes (input ", input, ") are not known"));
  }
  Sizes axes;
  for (const Expr& axis : *given) {
    const std::optional<int64_t> literal = axis.AsInt64();
    if (!literal.has_value()) {
      return absl::FailedPreconditionError(absl::StrCat("axis ", axis.ToString(), " is symbolic"));
    }
    axes.push_back(*literal);
  }
  return AxesOf(n, axes, rank);
}

Expr OrFresh(const NodeView& n, const std::optional<Expr>& value, int output, int axis,
             absl::string_view hint, absl::Span<const Expr> at_most) {
  if (value.has_value()) return *value;
  return n.FreshDim(output, axis, hint, SymbolOrigin::Kind::kSizes, at_most);
}

absl::Status SelectionBytes(const NodeView& n, Cost* cost) {
  ASSIGN_OR_RETURN(Expr bytes, BytesOf(n.output(0)));
  for (int i = 1; i < n.num_inputs(); ++i) {
    if (!n.HasInput(i)) continue;
    ASSIGN_OR_RETURN(const Expr index_bytes, BytesOf(n.input(i)));
    bytes += index_bytes;
  }
  cost->bytes_read = std::move(bytes);
  return absl::OkStatus();
}

}  // namespace onnxflops
