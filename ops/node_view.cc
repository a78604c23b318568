// NodeView: what ops/op_def.h promises to the authors of rules.
//
// How it works. Rules ask the view for shapes, contents and attributes and get checked answers. A
// missing or wrong input is InvalidArgument: the model is wrong. An unknown rank is
// FailedPrecondition: the node becomes unknown. An attribute of another type gives the default and
// is kept in status(), which the caller reads after the rule, so that rules need no check per
// attribute. References to attributes of a function's call are resolved here. Without a host, as in
// tests, fresh sizes are plain symbols.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/op_def.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/symbolic/work.h"

namespace onnxflops {

namespace {

const Fact& AbsentFact() {
  static const Fact& absent = *new Fact(Fact::Absent());
  return absent;
}

int VersionInForce(const OpDef& def, int opset) {
  int version = 0;
  for (int v : def.versions) {
    if (v <= opset) version = std::max(version, v);
  }
  return version;
}

// Numbers of a list that are copied in a step of a WorkLimit.
constexpr size_t kValuesPerStep = 8;

absl::string_view AttributeTypeName(AttributeType type) {
  static constexpr absl::string_view kNames[] = {
      "UNDEFINED",      "FLOAT",      "INT",        "STRING",  "TENSOR", "GRAPH",
      "FLOATS",         "INTS",       "STRINGS",    "TENSORS", "GRAPHS", "SPARSE_TENSOR",
      "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace

Census operator*(const ElementCost& cost, const Expr& elements) {
  const int per_element[kNumKinds] = {cost.mac,  cost.add, cost.mul,  cost.div, cost.cmp,
                                      cost.exp,  cost.log, cost.sqrt, cost.pow, cost.trig,
                                      cost.tanh, cost.erf, cost.round};
  Census census;
  for (int i = 0; i < kNumKinds; ++i) {
    if (per_element[i] != 0) census[static_cast<Kind>(i)] = per_element[i] * elements;
  }
  return census;
}

NodeView::NodeView(const ModelData& model, const Node& node, const OpDef& def, int opset,
                   absl::Span<const Fact* const> inputs, absl::Span<const Fact* const> outputs,
                   RuleHost* host, absl::Span<const Attribute> call_attributes,
                   CausalCounting causal, bool least)
    : model_(model),
      node_(node),
      def_(def),
      opset_(opset),
      version_(VersionInForce(def, opset)),
      inputs_(inputs),
      outputs_(outputs),
      host_(host),
      call_attributes_(call_attributes),
      causal_(causal),
      least_(least) {}

bool NodeView::HasOutput(int i) const {
  return i < num_outputs() && node_.output(static_cast<size_t>(i)).has_value();
}

const Fact& NodeView::input(int i) const {
  return i < num_inputs() ? *inputs_[static_cast<size_t>(i)] : AbsentFact();
}

const Fact& NodeView::output(int i) const {
  return static_cast<size_t>(i) < outputs_.size() ? *outputs_[static_cast<size_t>(i)]
                                                  : AbsentFact();
}

absl::StatusOr<Shape> NodeView::RankedShape(int i) const {
  RETURN_IF_ERROR(CheckRanked(i));
  return input(i).shape;
}

absl::Status NodeView::CheckRanked(int i) const {
  const Fact& fact = input(i);
  if (fact.absent()) return absl::InvalidArgumentError(absl::StrCat("input ", i, " is missing"));
  if (fact.kind == Fact::Kind::kUnknown) {
    return absl::FailedPreconditionError(absl::StrCat("input ", i, " is not known"));
  }
  if (!fact.is_tensor()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " is not a tensor but ", fact.ToString()));
  }
  if (!fact.shape.ranked()) {
    return absl::FailedPreconditionError(absl::StrCat("input ", i, " has an unknown rank"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> NodeView::RankedShape(int i, int rank) const {
  ASSIGN_OR_RETURN(Shape shape, RankedShape(i));
  if (shape.rank() != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " has rank ", shape.rank(), ", not ", rank));
  }
  return shape;
}

absl::StatusOr<Shape> NodeView::ShapeOfRankAtLeast(int i, int rank) const {
  ASSIGN_OR_RETURN(Shape shape, RankedShape(i));
  if (shape.rank() < rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " has rank ", shape.rank(), ", less than ", rank));
  }
  return shape;
}

absl::StatusOr<Shape> NodeView::OutputShape(int i) const {
  const Fact& fact = output(i);
  if (!fact.is_tensor() || !fact.shape.ranked()) {
    return absl::FailedPreconditionError(absl::StrCat("the shape of output ", i, " is not known"));
  }
  return fact.shape;
}

std::optional<Expr> NodeView::KnownInt(int i) const {
  const Fact& fact = input(i);
  if (fact.content == nullptr || fact.content->size() != 1) return std::nullopt;
  const Scalar& value = fact.content->front();
  if (!value.is_int()) return std::nullopt;
  return value.i;
}

std::optional<double> NodeView::KnownFloat(int i) const {
  const Fact& fact = input(i);
  if (fact.content == nullptr || fact.content->size() != 1) return std::nullopt;
  const Scalar& value = fact.content->front();
  if (value.is_float()) return value.f;
  if (value.is_int() && value.i.is_literal()) return static_cast<double>(value.i.literal());
  return std::nullopt;
}

const Attribute* NodeView::FindAttr(absl::string_view name) const {
  const Attribute* attribute = node_.FindAttribute(name);
  if (attribute == nullptr || attribute->ref_attr_name.empty()) return attribute;
  for (const Attribute& a : call_attributes_) {
    if (a.name == attribute->ref_attr_name) return &a;
  }
  return nullptr;
}

const Attribute* NodeView::Typed(absl::string_view name, AttributeType type) const {
  const Attribute* attribute = FindAttr(name);
  if (attribute == nullptr || attribute->type == type) return attribute;
  if (status_.ok()) {
    status_ = absl::InvalidArgumentError(absl::StrCat("attribute ", name, " is of type ",
                                                      AttributeTypeName(attribute->type), ", not ",
                                                      AttributeTypeName(type)));
  }
  return nullptr;
}

int64_t NodeView::Int(absl::string_view name, int64_t default_value) const {
  const Attribute* a = Typed(name, AttributeType::kInt);
  return a == nullptr ? default_value : a->i;
}

float NodeView::Float(absl::string_view name, float default_value) const {
  const Attribute* a = Typed(name, AttributeType::kFloat);
  return a == nullptr ? default_value : a->f;
}

absl::string_view NodeView::String(absl::string_view name, absl::string_view default_value) const {
  const Attribute* a = Typed(name, AttributeType::kString);
  return a == nullptr ? default_value : a->s;
}

absl::InlinedVector<int64_t, 4> NodeView::Ints(absl::string_view name) const {
  const Attribute* a = Typed(name, AttributeType::kInts);
  if (a == nullptr) return {};
  SpendSteps(a->ints.size() / kValuesPerStep);
  return absl::InlinedVector<int64_t, 4>(a->ints.begin(), a->ints.end());
}

std::vector<float> NodeView::Floats(absl::string_view name) const {
  const Attribute* a = Typed(name, AttributeType::kFloats);
  if (a == nullptr) return {};
  SpendSteps(a->floats.size() / kValuesPerStep);
  return {a->floats.begin(), a->floats.end()};
}

std::vector<absl::string_view> NodeView::Strings(absl::string_view name) const {
  const Attribute* a = Typed(name, AttributeType::kStrings);
  if (a == nullptr) return {};
  SpendSteps(a->strings.size() / kValuesPerStep);
  return {a->strings.begin(), a->strings.end()};
}

const Tensor* NodeView::TensorAttr(absl::string_view name) const {
  const Attribute* a = Typed(name, AttributeType::kTensor);
  return a == nullptr || a->tensors.empty() ? nullptr : &model_.tensor(a->tensors[0]);
}

const DeclaredType* NodeView::TypeAttr(absl::string_view name) const {
  const Attribute* a = Typed(name, AttributeType::kType);
  return a == nullptr ? nullptr : a->declared_type;
}

Fact NodeView::Moved(int i, Shape shape) const {
  Fact fact = Like(i, std::move(shape));
  fact.stored = input(i).stored;
  return fact;
}

Expr NodeView::FreshDim(int output, int axis, absl::string_view hint, SymbolOrigin::Kind kind,
                        absl::Span<const Expr> at_most) const {
  return host_ == nullptr ? Expr::Symbol(hint) : host_->FreshDim(output, axis, hint, kind, at_most);
}

Expr NodeView::FreshTripCount(absl::string_view hint, absl::Span<const Expr> at_most) const {
  return host_ == nullptr ? Expr::Symbol(hint) : host_->FreshTripCount(hint, at_most);
}

namespace {

// The size that makes a multiple of one symbol equal to `value`: 1 for 64*batch and 64. nullopt for
// other formulas.
std::optional<std::pair<std::string, int64_t>> SizeThatMakes(const Expr& formula,
                                                             absl::int128 value) {
  const std::vector<std::string> symbols = formula.Symbols();
  if (symbols.size() != 1) return std::nullopt;
  const absl::StatusOr<absl::int128> factor = formula.Evaluate({{symbols[0], 1}});
  if (!factor.ok() || *factor <= 0 || formula != Expr(*factor) * Expr::Symbol(symbols[0])) {
    return std::nullopt;
  }
  const std::optional<int64_t> size = Expr(value / *factor).AsInt64();
  if (!size || *size < 1 || value % *factor != 0) return std::nullopt;
  return std::pair(symbols[0], *size);
}

}  // namespace

absl::Status NodeView::RequireSame(absl::string_view what, const Expr& a, const Expr& b) const {
  const std::optional<bool> equal = ProvablyEqual(a, b);
  if (equal == false) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " differs: ", a.ToString(), " vs ", b.ToString()));
  }
  if (!equal && host_ != nullptr) {
    const std::optional<std::pair<std::string, int64_t>> only =
        a.is_literal()   ? SizeThatMakes(b, a.literal())
        : b.is_literal() ? SizeThatMakes(a, b.literal())
                         : std::nullopt;
    if (only) host_->TakesOnly(only->first, only->second);
  }
  return absl::OkStatus();
}

absl::StatusOr<int> NodeView::Axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is outside of rank ", rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

absl::StatusOr<int> NodeView::AxisAttr(absl::string_view name, int64_t default_value,
                                       int rank) const {
  return Axis(Int(name, default_value), rank);
}

absl::StatusOr<BodyFacts> NodeView::InferBody(absl::string_view attribute,
                                              absl::Span<const Fact> inputs,
                                              const Expr& times) const {
  if (host_ == nullptr) return absl::UnimplementedError("bodies cannot be inferred here");
  return host_->InferBody(attribute, inputs, times);
}

}  // namespace onnxflops
