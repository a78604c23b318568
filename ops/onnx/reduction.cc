// Reductions along axes, ArgMax and ArgMin.
//
// How it works. The loop nest of K elements into one executes K operations, from a neutral start
// (`sum = 0; for k: sum += x[k]`), so a reduction has as many operations as its input has elements.
// What follows per result (a quotient, a root, a logarithm) is counted per output element. Most
// rows differ in this only and are made by one function from their formula and costs.
//
// Content is folded where it is known: a small list element by element; a rule axis by axis, a sum
// as a closed form (SumOver), an extreme as the first or last element if the rule moves in equal
// steps. Axes may be an input that is not known: then the rank follows from the number of axes, and
// each size is a symbol bounded by the sizes that may stand there.
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "ops/element_rows.h"
#include "ops/element_rule.h"
#include "ops/evaluate.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- rules

// For every axis whether it is reduced.
using AxisMask = absl::InlinedVector<bool, 4>;

struct ReducedAxes {
  AxisMask mask;
  bool noop = false;  // none given, with noop_with_empty_axes: only the other steps are executed
};

// Axes as an input (from opset 18, of ReduceSum 13) or an attribute. None given means all, or none
// with noop_with_empty_axes. nullopt when the input's content is not known.
absl::StatusOr<std::optional<ReducedAxes>> ReadReducedAxes(const NodeView& n, int rank) {
  absl::InlinedVector<int64_t, 4> axes;
  if (n.HasInput(1)) {
    std::optional<Dims> content = n.KnownInts(1);
    if (!content.has_value()) return std::nullopt;
    for (const Expr& axis : *content) {
      if (!axis.AsInt64().has_value()) return std::nullopt;
      axes.push_back(*axis.AsInt64());
    }
  } else {
    axes = n.Ints("axes");
  }
  const bool noop = axes.empty() && n.Flag("noop_with_empty_axes");
  AxisMask mask(static_cast<size_t>(rank), axes.empty() && !noop);
  for (int64_t axis : axes) {
    ASSIGN_OR_RETURN(int normalized, n.Axis(axis, rank));
    mask[static_cast<size_t>(normalized)] = true;
  }
  return ReducedAxes{std::move(mask), noop};
}

Shape ReducedShape(const Shape& x, const AxisMask& mask, bool keep) {
  Shape y;
  for (int i = 0; i < x.rank(); ++i) {
    if (!mask[static_cast<size_t>(i)]) {
      y.push_back(x[i]);
    } else if (keep) {
      y.push_back(1);
    }
  }
  return y;
}

// The output when which axes are reduced is known at run time only.
absl::StatusOr<Facts> InferUnknownAxes(const NodeView& n, const Shape& x) {
  int rank = x.rank();
  if (!n.Flag("keepdims", true)) {
    const Shape& axes = n.input(1).shape;
    std::optional<int64_t> count;
    if (axes.ranked() && axes.rank() == 1) count = axes[0].AsInt64();
    if (!count.has_value() || *count < 1 || *count > rank) {
      return absl::FailedPreconditionError("the axes are not known");
    }
    rank -= static_cast<int>(*count);
  }
  const std::string hint = absl::AsciiStrToLower(n.op_type());
  Shape y;
  const int removed = x.rank() - rank;
  for (int i = 0; i < rank; ++i) {
    // If `removed` axes are gone, this one was one of the axes i to i + removed, or has size 1.
    std::vector<Expr> at_most = {1};
    for (int from = i; from <= i + removed; ++from) at_most.push_back(x[from]);
    y.push_back(n.FreshDim(0, i, hint, SymbolOrigin::Kind::kSizes, at_most));
  }
  return Facts{n.Like(0, std::move(y))};
}

constexpr Folding kReduceMax = {EvaluateMax};
constexpr Folding kReduceMin = {EvaluateMin};
constexpr Folding kReduceProd = {EvaluateMul, 1};
constexpr Folding kReduceSum = {EvaluateAdd, 0};

// An extreme along an axis of elements that progress in equal steps: the first or the last one.
Scalar ExtremeOfRule(const Scalar& rule, int axis, const Expr& size, EvaluateFn evaluate,
                     DType type) {
  const auto at = [&](const Expr& place) {
    Dims index;
    for (int i = 0; i <= axis; ++i) index.push_back(IndexSymbol(i));
    index[static_cast<size_t>(axis)] = place;
    return ElementOfRule(rule, index);
  };
  const Scalar first = at(0), second = at(1), next = at(IndexSymbol(axis) + 1);
  if (!rule.is_int() || next.i - rule.i != second.i - first.i) return {};
  const std::array<Scalar, 2> ends = {first, at(size - 1)};
  return evaluate(ends, type);
}

// Reduces a rule along one axis; unknown if the result follows no rule.
Scalar FoldedRule(const Scalar& rule, int axis, const Expr& size, const Folding& folding,
                  DType type) {
  if (folding.evaluate == EvaluateMax || folding.evaluate == EvaluateMin) {
    if (!size.AtLeast(1)) return {};
    if (!DependsOnPlace(rule, axis)) return rule;
    return ExtremeOfRule(rule, axis, size, folding.evaluate, type);
  }
  if (folding.evaluate != EvaluateAdd || !rule.is_int()) return {};
  const std::optional<Expr> sum = SumOver(rule.i, IndexSymbol(axis).ToString(), size);
  return sum.has_value() ? InType(Scalar::Int(*sum), type) : Scalar{};
}

// The content of `result` from the rule of an input that is not small.
void FoldRule(const Fact& input, const AxisMask& mask, const Folding& folding, Fact* result) {
  Scalar rule = *input.rule;
  Dims places(mask.size(), Expr(0));  // of the axes that stay, in the result
  const bool keep = result->shape.rank() == input.shape.rank();
  for (int i = 0, next = 0; i < input.shape.rank(); ++i) {
    const bool reduced = mask[static_cast<size_t>(i)];
    if (reduced && rule.known()) {
      rule = FoldedRule(rule, i, input.shape[i], folding, result->dtype);
    }
    if (!reduced) places[static_cast<size_t>(i)] = IndexSymbol(next);
    if (!reduced || keep) ++next;
  }
  SetRule(ElementOfRule(rule, places), result);
}

// The content of `result` from that of a small input.
void FoldContent(const Fact& input, const AxisMask& mask, const Folding& folding, Fact* result) {
  if (input.has_rule()) return FoldRule(input, mask, folding, result);
  std::optional<int64_t> size = ContentSize(result->dtype, result->shape);
  if (!input.has_content() || folding.evaluate == nullptr || !size.has_value()) return;
  const auto rank = mask.size();
  absl::InlinedVector<int64_t, 4> sizes(rank), strides(rank), index(rank);
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    sizes[i] = input.shape[static_cast<int>(i)].AsInt64().value_or(1);
    if (mask[i]) continue;
    strides[i] = stride;
    stride *= sizes[i];
  }
  Scalar start;
  if (folding.of_nothing.has_value())
    start = InType(Scalar::Int(*folding.of_nothing), result->dtype);
  Content content(static_cast<size_t>(*size), start);
  std::vector<bool> started(content.size());
  int64_t position = 0;
  for (const Scalar& element : *input.content) {
    const auto at = static_cast<size_t>(position);
    const std::array<Scalar, 2> pair = {content[at], element};
    content[at] = started[at] ? folding.evaluate(pair, result->dtype) : element;
    started[at] = true;
    for (size_t i = rank; i-- > 0;) {
      position += strides[i];
      if (++index[i] < sizes[i]) break;
      position -= strides[i] * sizes[i];
      index[i] = 0;
    }
  }
  SetContent(std::move(content), result);
}

absl::StatusOr<Facts> InferReduce(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(std::optional<ReducedAxes> axes, ReadReducedAxes(n, x.rank()));
  if (!axes.has_value()) return InferUnknownAxes(n, x);
  Fact result = n.Like(0, ReducedShape(x, axes->mask, n.Flag("keepdims", true)));
  if (n.def().folding != nullptr) {
    FoldContent(n.input(0), axes->mask, *n.def().folding, &result);
  }
  return Facts{std::move(result)};
}

// The index of the largest (smallest) element along one axis.
absl::StatusOr<Facts> InferArg(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(int axis, n.AxisAttr("axis", 0, x.rank()));
  AxisMask mask(static_cast<size_t>(x.rank()), false);
  mask[static_cast<size_t>(axis)] = true;
  return Facts{Fact::Tensor(DType::kInt64, ReducedShape(x, mask, n.Flag("keepdims", true)))};
}

// ---- rows

constexpr char kReduceSignature[] = "data axes? -> reduced";
constexpr char kReduceAttributes[] = "axes = []; noop_with_empty_axes = 0";
// Without axes nothing is folded if noop_with_empty_axes is set. Axes that are decided at run time
// are taken as given.
constexpr char kReduceLet[] =
    "folds = if(attr.noop_with_empty_axes*max(1 - axes.given, axes.known), axes.elements + "
    "attr.axes.count != 0, 1)";

constexpr OpExample kReductionExamples[] = {
    {"g (float[N,6,4] X) => (float[N,1,4] Y) { axes = Constant<value_ints = [1]>() "
     "Y = OP(X, axes) }",
     nullptr},
    {"float[N,6,4] X -> float[N,4] Y <axes = [-2], keepdims = 0>", nullptr, 11},
};

// `costs` are those of FormulaData, `of_examples` what they come to in the examples.
constexpr OpDef Reduction(const char* name, const Versions& versions, const char* formula,
                          const char* costs, const char* of_examples, const Gradient& gradient,
                          OpDef row = {}) {
  row.name = name;
  row.versions = versions;
  row.formula = formula;
  row.data = {.signature = kReduceSignature,
              .attributes = kReduceAttributes,
              .let = kReduceLet,
              .costs = costs};
  row.infer = InferReduce;
  row.patterns = kReductionExamples;
  row.pattern_cost = of_examples;
  row.shape_inputs = 1 << 1;
  if (row.axes_attribute_before == 0) row.axes_attribute_before = 18;
  row.traits = Traits::kReadsContent;
  row.onnx = {.nothing_without = InputBits({1})};
  row.gradient = gradient;
  return row;
}

constexpr OpExample kArgExamples[] = {
    {"float[N,6] X -> int64[N,1] Y <axis = 1>", "6*N"},
    {"float[N,6] X -> int64[6] Y <keepdims = 0>", "6*N"},
};

constexpr OpDef Arg(const char* name, const char* formula) {
  return {.name = name,
          .versions = {1, 11, 12, 13},
          .formula = formula,
          .infer = InferArg,
          .count = CountPerInputElement,
          .patterns = kArgExamples,
          .per_element = {.cmp = 1}};
}

constexpr std::initializer_list<OpExample> kReduceMaxExamples = {
    {"g (float[N,4,6] x, int64[2] a) => (float[c] y) { y = ReduceMax<keepdims=0>(x, a) }",
     "cmp=24*N", 18},
};
constexpr std::initializer_list<OpExample> kReduceMeanExamples = {
    {"g (float[N,6] X) => (float[N,6] Y) { Y = ReduceMean<noop_with_empty_axes = 1>(X) }", "free"},
};
constexpr std::initializer_list<OpExample> kReduceProdExamples = {
    {"g (float[2,6,4] X) => (float[48] Y) { s = Shape(X) p = ReduceProd(s) Y = Reshape(X, p) }",
     "free"},
};
constexpr std::initializer_list<OpExample> kReduceSumExamples = {
    {"g (int32[N,6] X) => (int32[N,1] Y) { axes = Constant<value_ints = [1]>() Y = ReduceSum(X, "
     "axes) }",
     "int_add=6*N"},
};

// ---- the table

constexpr OpDef kReductionRows[] = {
    Arg("ArgMax", "Y = index of the largest element along an axis"),
    Arg("ArgMin", "Y = index of the smallest element along an axis"),
    Reduction("ReduceL1", {1, 11, 13, 18}, "reduced = sum of |data|", "add = folds*data.elements",
              "add=24*N", KeepsX("dY, with the sign of data", {})),
    Reduction("ReduceL2", {1, 11, 13, 18}, "reduced = sqrt(sum of data^2)",
              "mul = data.elements; add = folds*data.elements; float_sqrt = reduced.elements",
              "add=24*N mul=24*N sqrt=4*N",
              {.formula = "dX = data * (dY / reduced)",
               .first = {.div = 1},
               .per_input = {.mul = 1},
               .keeps = {.inputs = InputBits({0}), .outputs = InputBits({0})}}),
    Reduction("ReduceLogSum", {1, 11, 13, 18, 28}, "reduced = ln(sum of data)",
              "add = folds*data.elements; float_log = reduced.elements", "add=24*N log=4*N",
              {.formula = "dX = dY / sum of data, to each element", .shared = {.div = 1}}),
    Reduction(
        "ReduceLogSumExp", {1, 11, 13, 18, 28}, "reduced = ln(sum of e^data)",
        "float_exp = data.elements; float_add = folds*data.elements; float_log = reduced.elements",
        "add=24*N exp=24*N log=4*N",
        {.formula = "dX = dY * e^(data - reduced)",
         .per_input = {.add = 1, .mul = 1, .exp = 1},
         .keeps = {.inputs = InputBits({0}), .outputs = InputBits({0})},
         .temporaries = {.inputs = 2}}),
    Reduction("ReduceMax", {1, 11, 12, 13, 18, 20}, "reduced = max of data",
              "cmp = folds*data.elements", "cmp=24*N",
              {.formula = "dY to the element that equals reduced",
               .per_input = {.cmp = 1},
               .keeps = {.inputs = InputBits({0}), .outputs = InputBits({0}), .extreme = true}},
              {.examples = kReduceMaxExamples, .folding = &kReduceMax}),
    Reduction(
        "ReduceMean", {1, 11, 13, 18}, "reduced = mean of data",
        "add = folds*data.elements; div = folds*reduced.elements", "add=24*N div=4*N",
        {.formula = "dY / k to each element", .first = {.div = 1}, .keeps = {.nothing = true}},
        {.examples = kReduceMeanExamples}),
    Reduction("ReduceMin", {1, 11, 12, 13, 18, 20}, "reduced = min of data",
              "cmp = folds*data.elements", "cmp=24*N",
              {.formula = "dY to the element that equals reduced",
               .per_input = {.cmp = 1},
               .keeps = {.inputs = InputBits({0}), .outputs = InputBits({0}), .extreme = true}},
              {.folding = &kReduceMin}),
    Reduction("ReduceProd", {1, 11, 13, 18}, "reduced = product of data",
              "mul = folds*data.elements", "mul=24*N",
              {.formula = "dX = dY * reduced / data",
               .shared = {.mul = 1},
               .per_input = {.div = 1},
               .keeps = {.inputs = InputBits({0}), .outputs = InputBits({0})},
               .temporaries = {.inputs = 5}},
              {.examples = kReduceProdExamples, .folding = &kReduceProd}),
    Reduction(
        "ReduceSum", {1, 11, 13}, "reduced = sum of data", "add = folds*data.elements", "add=24*N",
        {.formula = "dY to each element", .passes = InputBits({0})},
        {.examples = kReduceSumExamples, .axes_attribute_before = 13, .folding = &kReduceSum}),
    Reduction("ReduceSumSquare", {1, 11, 13, 18}, "reduced = sum of data^2",
              "mul = data.elements; add = folds*data.elements", "add=24*N mul=24*N",
              {.formula = "dX = 2 * data * dY",
               .per_input = {.mul = 2},
               .keeps = {.inputs = InputBits({0})}}),
};

}  // namespace

constexpr OpFamily kReductionFamily = {.domain = "", .rows = kReductionRows};

}  // namespace onnxflops
