// How it works. A rule is a formula for the element of a tensor at an index, in symbols for the
// axes. It stands for tensors that are too large for a list: ranges, masks, positions. Moving
// elements is putting another index into the formula; element-wise operators are evaluated on the
// formulas themselves, once with indices from the front and, if that cannot be decided, once with
// indices from the end (an index is known to be 0 or more, and so is its distance to the end).
// Small tensors get lists again.
//
// A list is read as a rule if it is affine: the first element and its neighbours suggest the
// formula, and all elements are checked. Reshape keeps a rule: the shapes are aligned in runs of
// axes with equal products, and within a run the index is found from the place by division.
#include "ops/element_rule.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "ops/content.h"
#include "ops/rules.h"
#include "src/base/limits.h"
#include "src/symbolic/work.h"

namespace onnxflops {

namespace {

// Steps of a WorkLimit for one element of a rule.
constexpr size_t kStepsPerPlace = 24;

const std::string& IndexName(int axis) {
  static const auto* const names = [] {
    auto* all = new std::vector<std::string>;
    for (int i = 0; i < kMaxRank; ++i) all->push_back(IndexSymbol(i).ToString());
    return all;
  }();
  return (*names)[static_cast<size_t>(axis)];
}

bool IsSymbolic(const Scalar& rule) {
  return (rule.is_int() || rule.is_ratio()) && !rule.i.is_literal();
}

Scalar Replaced(const Scalar& rule, const Replacements& indices) {
  if (!IsSymbolic(rule)) return rule;
  Scalar result = rule;
  result.i = rule.i.Replace(indices);
  return result.i.error() == nullptr ? result : Scalar{};
}

// The elements that a rule gives a small tensor, one after another.
template <typename Visit>
void ForEachElement(const Scalar& rule, const Sizes& sizes, Visit visit) {
  const bool constant = !DependsOnPlace(rule);
  Bindings place;
  Scalar element = rule;
  ForEachIndex(sizes, [&](const Sizes& index) {
    if (constant) return visit(rule);
    SpendSteps(kStepsPerPlace);
    for (size_t i = 0; i < index.size(); ++i) place[IndexName(static_cast<int>(i))] = index[i];
    element.i = rule.i.Substitute(place);
    visit(element.i.error() == nullptr ? element : Scalar{});
  });
}

// The affine rule given by the first element and its neighbors, or nullopt if they fit none.
std::optional<Scalar> SuggestedRule(const Content& list, const Sizes& sizes) {
  const Scalar& first = list.front();
  if (!first.is_int()) return first;
  const Sizes strides = RowMajorStrides(sizes);
  Expr rule = first.i;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 2) continue;
    const Scalar& next = list[static_cast<size_t>(strides[i])];
    if (!next.is_int()) return std::nullopt;
    rule += (next.i - first.i) * IndexSymbol(static_cast<int>(i));
  }
  return Scalar::Int(std::move(rule));
}

}  // namespace

bool DependsOnPlace(const Scalar& rule, int axis) {
  if (!IsSymbolic(rule)) return false;
  const std::vector<std::string> symbols = rule.i.Symbols();
  return std::binary_search(symbols.begin(), symbols.end(), IndexName(axis));
}

bool DependsOnPlace(const Scalar& rule) {
  if (!IsSymbolic(rule)) return false;
  for (const std::string& symbol : rule.i.Symbols()) {
    for (int i = 0; i < kMaxRank; ++i) {
      if (symbol == IndexName(i)) return true;
    }
  }
  return false;
}

std::optional<Scalar> RuleOf(const Fact& fact) {
  if (fact.has_rule()) return *fact.rule;
  const std::optional<Sizes> sizes = SmallSizes(fact);
  if (!fact.has_content() || !sizes.has_value() || fact.content->empty()) return std::nullopt;
  const std::optional<Scalar> rule = SuggestedRule(*fact.content, *sizes);
  if (!rule.has_value() || !rule->known()) return std::nullopt;
  bool follows = true;
  size_t position = 0;
  ForEachElement(*rule, *sizes, [&](const Scalar& element) {
    follows = follows && element == (*fact.content)[position];
    ++position;
  });
  return follows ? rule : std::nullopt;
}

std::optional<Scalar> ConstantElement(const Fact& fact) {
  if (fact.has_rule()) {
    return DependsOnPlace(*fact.rule) ? std::nullopt : std::optional<Scalar>(*fact.rule);
  }
  if (!fact.has_content() || fact.content->empty() || !fact.content->front().known()) {
    return std::nullopt;
  }
  SpendSteps(fact.content->size());
  const Scalar& first = fact.content->front();
  for (const Scalar& element : *fact.content) {
    if (element != first) return std::nullopt;
  }
  return first;
}

Scalar ElementIn(const Scalar& element, DType type) {
  if (!element.known() || !element.i.is_literal() || !IsFloat(type)) return element;
  if (!element.is_ratio()) return InType(element, type);
  return InType(Scalar::Float(static_cast<double>(element.i.literal()) / element.f), type);
}

Scalar ElementOfRule(const Scalar& rule, absl::Span<const Expr> index) {
  Replacements indices;
  for (size_t i = 0; i < index.size(); ++i) indices[IndexName(static_cast<int>(i))] = index[i];
  return Replaced(rule, indices);
}

void SetRule(const Scalar& rule, Fact* fact) {
  if (!rule.known() || !fact->shape.ranked() || fact->shape.rank() > kMaxRank) return;
  if (IsSymbolic(rule) && (rule.i.error() != nullptr || rule.i.NumTerms() > kMaxRuleTerms)) return;
  const std::optional<Sizes> sizes = SmallSizes(*fact);
  if (!sizes.has_value() || ProductOf(*sizes, 0, sizes->size()) > kMaxListOfRule) {
    fact->rule = std::make_shared<const Scalar>(rule);
    return;
  }
  Content content;
  ForEachElement(rule, *sizes, [&](const Scalar& element) {
    content.push_back(ElementIn(element, fact->dtype));
  });
  SetFollowed(std::move(content), fact);
}

namespace {

// The rule of an operand at the places of the result that it is broadcast to.
std::optional<Scalar> BroadcastRule(const Fact& operand, const Shape& result) {
  std::optional<Scalar> rule = RuleOf(operand);
  if (!rule.has_value() || !DependsOnPlace(*rule)) return rule;
  const int offset = result.rank() - operand.shape.rank();
  Dims index;
  for (int i = 0; i < operand.shape.rank(); ++i) {
    const Expr& size = operand.shape[i];
    const bool repeated = size == Expr(1) && result[offset + i] != Expr(1);
    if (!repeated && size != result[offset + i] && DependsOnPlace(*rule, i)) return std::nullopt;
    index.push_back(repeated ? Expr(0) : IndexSymbol(offset + i));
  }
  return ElementOfRule(*rule, index);
}

// Indices counted from the end of every axis. An index is known to be 0 or more, and so is its
// distance to the end: a comparison that cannot be decided from one end may be from the other.
Dims FromTheEnd(const Shape& shape) {
  Dims index;
  for (int i = 0; i < shape.rank(); ++i) index.push_back(shape[i] - 1 - IndexSymbol(i));
  return index;
}

}  // namespace

void EvaluateRules(absl::Span<const Fact* const> inputs, EvaluateFn evaluate, Fact* result) {
  if (!result->shape.ranked() || result->shape.rank() > kMaxRank) return;
  absl::InlinedVector<Scalar, 3> operands;
  bool constant = true;
  for (const Fact* input : inputs) {
    if (input->shape.rank() > result->shape.rank()) return;
    const std::optional<Scalar> rule = BroadcastRule(*input, result->shape);
    if (!rule.has_value() || !rule->known()) return;
    constant = constant && !DependsOnPlace(*rule);
    operands.push_back(*rule);
  }
  Scalar value = evaluate(operands, result->dtype);
  if (!value.known() && !constant) {
    const Dims reversed = FromTheEnd(result->shape);
    for (Scalar& operand : operands) operand = ElementOfRule(operand, reversed);
    value = ElementOfRule(evaluate(operands, result->dtype), reversed);
  }
  SetRule(value, result);
}

void FollowAxes(const Fact& from, absl::Span<const AxisSource> sources, Fact* to) {
  const std::optional<Sizes> sizes = SmallSizes(from);
  if (from.has_content() && sizes.has_value() && SmallSizes(*to).has_value()) {
    const Sizes from_strides = RowMajorStrides(*sizes);
    Sizes strides(to->shape.dims().size(), 0);
    int64_t offset = 0;
    for (size_t i = 0; i < sources.size(); ++i) {
      const std::optional<int64_t> first = sources[i].first.AsInt64();
      const std::optional<int64_t> step = sources[i].step.AsInt64();
      if (!first.has_value() || !step.has_value() || sources[i].axis == AxisSource::kUnknown) {
        return;
      }
      offset += *first * from_strides[i];
      if (sources[i].axis >= 0) {
        strides[static_cast<size_t>(sources[i].axis)] += *step * from_strides[i];
      }
    }
    FollowStrides(from, offset, strides, to);
    return;
  }
  const std::optional<Scalar> rule = RuleOf(from);
  if (!rule.has_value()) return;
  Dims index;
  for (size_t i = 0; i < sources.size(); ++i) {
    const AxisSource& source = sources[i];
    if (source.axis == AxisSource::kUnknown && DependsOnPlace(*rule, static_cast<int>(i))) return;
    index.push_back(source.axis < 0 ? source.first
                                    : source.first + source.step * IndexSymbol(source.axis));
  }
  SetRule(ElementOfRule(*rule, index), to);
}

namespace {

// A run of axes of one shape that holds as many elements as a run of axes of the other.
struct AxisRun {
  std::vector<int> from, to;
};

// Axes of size 1 are in no run. Where sizes cannot be compared, the last run takes all that is
// left.
std::vector<AxisRun> AlignedRuns(const Shape& from, const Shape& to) {
  std::vector<AxisRun> runs;
  AxisRun run;
  Expr a = 1, b = 1;
  int i = 0, j = 0;
  const auto skip_ones = [](const Shape& shape, int at) {
    while (at < shape.rank() && shape[at] == Expr(1)) ++at;
    return at;
  };
  while (true) {
    i = skip_ones(from, i);
    j = skip_ones(to, j);
    if (i == from.rank() && j == to.rank()) break;
    const bool lacks_from = a != b && a != Expr(0) && DivideExactly(b, a).has_value();
    const bool lacks_to = a != b && b != Expr(0) && DivideExactly(a, b).has_value();
    // Both may divide each other (if one is minus the other); then both runs grow.
    if (i < from.rank() && (lacks_from || !lacks_to || j == to.rank())) {
      run.from.push_back(i);
      a *= from[i++];
    }
    if (j < to.rank() && (!lacks_from || i == from.rank())) {
      run.to.push_back(j);
      b *= to[j++];
    }
    if (a == b) {
      runs.push_back(std::exchange(run, {}));
      a = b = 1;
    }
  }
  if (!run.from.empty() || !run.to.empty()) runs.push_back(std::move(run));
  return runs;
}

}  // namespace

std::vector<std::optional<Expr>> IndicesInOrder(const Shape& from, const Shape& to) {
  std::vector<std::optional<Expr>> indices(from.dims().size(), Expr(0));
  for (const AxisRun& run : AlignedRuns(from, to)) {
    Expr place = 0;  // of an element among those of the run
    for (int axis : run.to) place = place * to[axis] + IndexSymbol(axis);
    Expr stride = 1;
    for (size_t k = run.from.size(); k-- > 0;) {
      const int axis = run.from[k];
      std::optional<Expr>& index = indices[static_cast<size_t>(axis)];
      index = stride == Expr(1) ? place : FloorDiv(place, stride);
      if (k > 0) index = Mod(*index, from[axis]);
      stride *= from[axis];
    }
  }
  for (std::optional<Expr>& index : indices) {
    if (index->error() != nullptr) index = std::nullopt;
  }
  return indices;
}

}  // namespace onnxflops
