// How it works. Rules that many operators share: broadcast shapes, content, and costs per element.
//
// Content is evaluated with the types of the graph: after each operation an element is rounded or
// wrapped as its type would (InType). What runtimes do differently, as casts of floats beyond 2^62,
// makes the element unknown. A symbolic element fits an integer type only if its bounds prove it.
// Small tensors are evaluated element by element, with a cursor per operand that repeats broadcast
// axes by a stride of 0; larger ones only by their rule (EvaluateRules). The number of elements and
// operands is limited, and each element costs steps of the work limit.
//
// Complex arithmetic is counted in real operations: a mul is 4 mul and 2 add, a mac is 4 mac, all
// others are two of their kind.
#include "ops/rules.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/element_rule.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/symbolic/work.h"

namespace onnxflops {

// ---- shape rules

absl::StatusOr<Facts> InferSameAsInput(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape shape, n.RankedShape(0));
  return Facts{n.Like(0, std::move(shape))};
}

absl::StatusOr<Facts> InferMoved(const NodeView& n) {
  if (!n.HasInput(0)) return absl::InvalidArgumentError("input 0 is missing");
  return Facts{n.input(0)};
}

namespace {

// Steps of a WorkLimit per element of a content.
constexpr size_t kStepsPerElement = 4;

// Broadcasts `result` with `shape`.
absl::Status BroadcastWith(const Shape& shape, Shape* result) {
  SpendSteps(static_cast<size_t>(shape.rank()));
  if (shape.rank() > result->rank()) {
    const auto missing = static_cast<size_t>(shape.rank() - result->rank());
    result->dims().insert(result->dims().begin(), missing, Expr(1));
  }
  const int offset = result->rank() - shape.rank();
  for (int i = 0; i < shape.rank(); ++i) {
    Expr& so_far = (*result)[offset + i];
    std::optional<Expr> dim = BroadcastDim(so_far, shape[i]);
    if (!dim.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("shapes ", result->ToString(), " and ", shape.ToString(),
                       " do not broadcast: ", so_far.ToString(), " vs ", shape[i].ToString()));
    }
    so_far = *std::move(dim);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> BroadcastShapes(absl::Span<const Shape> shapes) {
  Shape result;
  for (const Shape& shape : shapes) RETURN_IF_ERROR(BroadcastWith(shape, &result));
  return result;
}

Expr TimesSummed(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return 0;
  const int offset = to.rank() - from.rank();
  Expr more = 0;
  for (int i = 0; i < to.rank(); ++i) more += to[i] - (i < offset ? Expr(1) : from[i - offset]);
  return Max(0, Min(1, more));
}

namespace {

// Before opset 7, `broadcast` = 1 lets the second operand match a run of the first one's dimensions
// that starts at `axis`, or its last ones. Returns its shape with the 1s that NumPy's rule needs.
absl::StatusOr<Shape> AlignLegacyOperand(const NodeView& n, const Shape& a, Shape b) {
  const bool broadcast = n.Flag("broadcast");
  if (!broadcast && b.rank() != a.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("shapes ", a.ToString(), " and ", b.ToString(),
                                                   " differ without broadcast=1"));
  }
  if (broadcast && n.HasAttr("axis") && b.rank() > 0) {
    ASSIGN_OR_RETURN(int axis, n.AxisAttr("axis", 0, a.rank()));
    if (axis + b.rank() > a.rank()) {
      return absl::InvalidArgumentError(absl::StrCat("shape ", b.ToString(), " at axis ", axis,
                                                     " does not fit into ", a.ToString()));
    }
    while (axis + b.rank() < a.rank()) b.push_back(1);
  }
  if (b.rank() > a.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape ", b.ToString(), " is of higher rank than ", a.ToString()));
  }
  for (int i = 0; i < b.rank(); ++i) {
    const Expr& size = b[i];
    if (broadcast && size == Expr(1)) continue;
    RETURN_IF_ERROR(n.RequireSame("size", a[a.rank() - b.rank() + i], size));
  }
  return b;
}

absl::StatusOr<Facts> InferBroadcastAs(const NodeView& n, DType type) {
  if (n.num_inputs() == 0) return absl::InvalidArgumentError("input 0 is missing");
  const bool legacy = n.version() < 7 && (n.HasAttr("broadcast") || n.HasAttr("axis"));
  Shape broadcast;
  std::deque<Fact> aligned;  // inputs whose shape had to be written differently
  absl::InlinedVector<const Fact*, 3> operands;
  for (int i = 0; i < n.num_inputs(); ++i) {
    RETURN_IF_ERROR(n.CheckRanked(i));
    operands.push_back(&n.input(i));
    if (legacy && i > 0) {
      aligned.push_back(n.input(i));
      ASSIGN_OR_RETURN(aligned.back().shape,
                       AlignLegacyOperand(n, n.input(0).shape, std::move(aligned.back().shape)));
      operands.back() = &aligned.back();
    }
    // The same value given many times is broadcast once.
    if (i > 0 && operands.back() == operands[operands.size() - 2]) continue;
    RETURN_IF_ERROR(BroadcastWith(operands.back()->shape, &broadcast));
  }
  Fact result = Fact::Tensor(type, std::move(broadcast));
  if (n.def().evaluate != nullptr) EvaluateBroadcast(operands, n.def().evaluate, &result);
  return Facts{std::move(result)};
}

absl::StatusOr<Facts> InferUnaryAs(const NodeView& n, DType type) {
  ASSIGN_OR_RETURN(Shape shape, n.RankedShape(0));
  Fact result = Fact::Tensor(type, std::move(shape));
  const Fact* operand = &n.input(0);
  if (n.def().evaluate != nullptr) EvaluateBroadcast({&operand, 1}, n.def().evaluate, &result);
  return Facts{std::move(result)};
}

}  // namespace

absl::StatusOr<Facts> InferBroadcast(const NodeView& n) { return InferBroadcastAs(n, n.dtype(0)); }

absl::StatusOr<Facts> InferBroadcastBool(const NodeView& n) {
  return InferBroadcastAs(n, DType::kBool);
}

absl::StatusOr<Facts> InferUnary(const NodeView& n) { return InferUnaryAs(n, n.dtype(0)); }

absl::StatusOr<Facts> InferUnaryBool(const NodeView& n) { return InferUnaryAs(n, DType::kBool); }

absl::StatusOr<DType> DTypeAttr(const NodeView& n, absl::string_view name, DType otherwise) {
  if (!n.HasAttr(name)) return otherwise;
  const int64_t number = n.Int(name, 0);
  std::optional<DType> type = DTypeFromOnnx(number);
  if (!type.has_value() || *type == DType::kUndefined) {
    return absl::InvalidArgumentError(absl::StrCat(name, " = ", number, " is not an element type"));
  }
  return *type;
}

// ---- contents

std::optional<int64_t> ContentSize(DType type, const Shape& shape) {
  const int64_t limit = IsFloat(type) ? kMaxFloatContent : kMaxIntContent;
  int64_t elements = 1;
  for (const Expr& dim : shape.dims()) {
    std::optional<int64_t> size = dim.AsInt64();
    if (!size.has_value() || *size < 0) return std::nullopt;
    elements = std::min(elements * std::min(*size, limit + 1), limit + 1);
  }
  if (elements > limit) return std::nullopt;
  return elements;
}

namespace {

// Bits of an integer type, and 1 for bool.
int IntegerBits(DType type) { return type == DType::kBool ? 1 : BitsPerElement(type); }

bool IsUnsigned(DType type) {
  switch (type) {
    case DType::kUint2:
    case DType::kUint4:
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
      return true;
    default:
      return false;
  }
}

// A literal as two's complement of the type's width holds it.
absl::int128 Wrap(absl::int128 value, DType type) {
  const int bits = IntegerBits(type);
  const absl::int128 range = absl::int128(1) << bits;
  absl::int128 wrapped = value % range;
  if (wrapped < 0) wrapped += range;
  if (!IsUnsigned(type) && wrapped >= range / 2) wrapped -= range;
  return wrapped;
}

Scalar ToBool(const Scalar& value) {
  if (value.is_float()) return Scalar::Int(value.f != 0 ? 1 : 0);
  std::optional<bool> is_zero = ProvablyEqual(value.i, 0);  // of a ratio, the numerator
  return is_zero.has_value() ? Scalar::Int(*is_zero ? 0 : 1) : Scalar{};
}

Scalar ToInteger(const Scalar& value, DType type) {
  if (value.is_float()) {
    // Beyond 2^62, and for infinities and NaN, runtimes differ.
    if (!(std::abs(value.f) < 0x1p62)) return {};
    const auto whole = static_cast<int64_t>(value.f);
    return Wrap(whole, type) == whole ? Scalar::Int(whole) : Scalar{};
  }
  if (value.is_ratio()) {
    if (!value.i.AtLeast(0)) return {};
    return ToInteger(Scalar::Int(FloorDiv(value.i, static_cast<int64_t>(value.f))), type);
  }
  if (value.i.is_literal()) return Scalar::Int(Wrap(value.i.literal(), type));
  if (IsUnsigned(type) && !value.i.AtLeast(0)) return {};
  if (IntegerBits(type) < 32) {
    std::optional<absl::int128> low = value.i.LowerBound(), high = value.i.UpperBound();
    if (!low.has_value() || !high.has_value()) return {};
    if (Wrap(*low, type) != *low || Wrap(*high, type) != *high) return {};
  }
  return value;
}

// To the nearest value of `digits` binary digits whose last one stands for at least
// 2^least_exponent; ties to even.
double RoundToDigits(double value, int digits, int least_exponent, double largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int last_digit = std::max(exponent - digits, least_exponent);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -last_digit)), last_digit);
  return std::abs(rounded) > largest ? std::copysign(INFINITY, rounded) : rounded;
}

Scalar ToFloat(const Scalar& value, DType type) {
  const bool wide = type == DType::kFloat32 || type == DType::kFloat64;
  if (value.is_ratio() || (value.is_int() && !value.i.is_literal())) return wide ? value : Scalar{};
  const double exact = value.is_float() ? value.f : static_cast<double>(value.i.literal());
  switch (type) {
    case DType::kFloat64:
      return Scalar::Float(exact);
    case DType::kFloat32:
      // The cast of a double beyond the range of float would be undefined.
      return Scalar::Float(RoundToDigits(exact, 24, -149, std::numeric_limits<float>::max()));
    case DType::kFloat16:
      return Scalar::Float(RoundToDigits(exact, 11, -24, 65504));
    case DType::kBfloat16:
      return Scalar::Float(RoundToDigits(exact, 8, -133, 0x1.FEp127));
    default:
      return {};
  }
}

}  // namespace

Scalar InType(const Scalar& value, DType type) {
  if (!value.known() || (!value.is_float() && value.i.error() != nullptr)) return {};
  if (type == DType::kBool) return ToBool(value);
  if (IsInteger(type)) return ToInteger(value, type);
  return ToFloat(value, type);
}

void SetContent(Content content, Fact* fact) {
  SpendSteps(kStepsPerElement * content.size());
  const bool any_known = std::any_of(content.begin(), content.end(),
                                     [](const Scalar& scalar) { return scalar.known(); });
  if (!any_known && !content.empty()) return;
  fact->content = std::make_shared<const Content>(std::move(content));
}

namespace {

// Walks over the elements of a broadcast operand in the order of the result's elements.
class BroadcastCursor {
 public:
  // REQUIRES: `operand` has content and fits `result`, whose sizes are literal.
  BroadcastCursor(const Fact& operand, const Shape& result) : content_(*operand.content) {
    const int rank = result.rank();
    const int offset = rank - operand.shape.rank();
    sizes_.resize(static_cast<size_t>(rank));
    strides_.resize(static_cast<size_t>(rank));
    index_.resize(static_cast<size_t>(rank));
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
      const auto at = static_cast<size_t>(i);
      sizes_[at] = result[i].AsInt64().value_or(1);
      if (i < offset) continue;
      const int64_t size = operand.shape[i - offset].AsInt64().value_or(1);
      strides_[at] = size == 1 ? 0 : stride;
      stride *= size;
    }
  }

  const Scalar& value() const { return content_[static_cast<size_t>(position_)]; }

  void Next() {
    for (size_t i = sizes_.size(); i-- > 0;) {
      position_ += strides_[i];
      if (++index_[i] < sizes_[i]) return;
      position_ -= strides_[i] * sizes_[i];
      index_[i] = 0;
    }
  }

 private:
  using Counters = absl::InlinedVector<int64_t, 4>;
  const Content& content_;
  Counters sizes_, strides_, index_;
  int64_t position_ = 0;
};

// Whether an operand of literal sizes broadcasts to a result of literal sizes.
bool FitsResult(const Shape& operand, const Shape& result) {
  if (operand.rank() > result.rank()) return false;
  const int offset = result.rank() - operand.rank();
  for (int i = 0; i < operand.rank(); ++i) {
    if (operand[i] != Expr(1) && operand[i] != result[offset + i]) return false;
  }
  return true;
}

}  // namespace

void EvaluateBroadcast(absl::Span<const Fact* const> inputs, EvaluateFn evaluate, Fact* result) {
  if (inputs.size() > kMaxEvaluatedOperands) return;
  std::optional<int64_t> size = ContentSize(result->dtype, result->shape);
  const bool has_rule = std::any_of(inputs.begin(), inputs.end(),
                                    [](const Fact* input) { return input->has_rule(); });
  if (!size.has_value() || has_rule) return EvaluateRules(inputs, evaluate, result);
  for (const Fact* input : inputs) {
    if (!input->has_content() || !FitsResult(input->shape, result->shape)) return;
  }
  SpendSteps(static_cast<size_t>(*size) * kStepsPerElement * inputs.size());
  absl::InlinedVector<BroadcastCursor, 3> cursors;
  for (const Fact* input : inputs) cursors.emplace_back(*input, result->shape);
  absl::InlinedVector<Scalar, 3> operands(inputs.size());
  Content content(static_cast<size_t>(*size));
  for (Scalar& element : content) {
    for (size_t i = 0; i < operands.size(); ++i) {
      operands[i] = cursors[i].value();
      cursors[i].Next();
    }
    element = evaluate(operands, result->dtype);
  }
  SetContent(std::move(content), result);
}

// ---- cost rules

absl::StatusOr<Cost> CountPerOutputElement(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape shape, n.OutputShape(0));
  return CostIn(n.dtype(0), n.def().per_element * shape.NumElements());
}

absl::StatusOr<Cost> CountPerInputElement(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape shape, n.RankedShape(0));
  return CostIn(n.dtype(0), n.def().per_element * shape.NumElements());
}

absl::StatusOr<Cost> NoMacs(const NodeView&) { return Cost(); }

Cost CostIn(DType type, Census work) {
  if (IsComplex(type)) {
    const Expr complex_mul = work[Kind::kMul];
    const Expr complex_mac = work[Kind::kMac];
    work *= 2;
    work[Kind::kMul] = 4 * complex_mul;
    work[Kind::kAdd] += 2 * complex_mul;
    work[Kind::kMac] = 4 * complex_mac;
  }
  Cost cost;
  (IsFloat(type) ? cost.flops : cost.int_ops) = std::move(work);
  return cost;
}

absl::StatusOr<Expr> BytesOf(const Fact& fact) {
  if (!fact.is_tensor() || !fact.shape.ranked()) {
    return absl::FailedPreconditionError("the size of a tensor of unknown rank");
  }
  const int bits = BitsPerElement(fact.dtype);
  const Expr elements = fact.shape.NumElements();
  if (bits % 8 == 0) return bits / 8 * elements;
  return CeilDiv(bits * elements, 8);
}

}  // namespace onnxflops
