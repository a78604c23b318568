// How it works. A rule for each operator says where the samples go. A rule may look at the export
// only: shapes, attributes and constants. Operators without a rule are refused.
//
// Reshape keeps the order of all elements. So there are as many elements after the batch's
// dimension as before: this decides which size of the target follows. At batch 1 more than one size
// can: then one that is 1 is the batch, as exporters write it, the one nearest to the place in the
// input first. Where none is, all readings are tried (batch_flow.cc).
//
// A constant that is one for all samples stays as it is where it is broadcast. Where the operator
// needs one for each sample (Concat, the states of an LSTM), it is wanted from the caller.
#include "src/adapter/batch_step.h"

#include <algorithm>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/status_macros.h"

namespace onnxflops::adapter {

struct BatchStep::Group {
  Rule rule;
  absl::string_view operators;  // separated by spaces
};

const BatchStep::Group BatchStep::kGroups[] = {
    {&BatchStep::ByElement,
     "Abs Acos Acosh Add And Asin Asinh Atan Atanh BiasGelu BitShift BitwiseAnd "
     "BitwiseNot BitwiseOr BitwiseXor Cast Ceil Celu Cos Cosh Div Elu Equal Erf Exp "
     "FastGelu Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf "
     "IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu "
     "Pow QuickGelu Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus "
     "Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor"},
    {&BatchStep::FirstAxis,
     "AveragePool BatchNormalization Conv ConvInteger ConvTranspose DepthToSpace "
     "FusedConv GlobalAveragePool GlobalLpPool GlobalMaxPool GroupNormalization "
     "InstanceNormalization LRN LpPool MaxPool SpaceToDepth"},
    {&BatchStep::Reduce,
     "ArgMax ArgMin ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax "
     "ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"},
    {&BatchStep::AlongAxis, "CumSum Hardmax LogSoftmax LpNormalization Softmax TopK"},
    {&BatchStep::SameShape,
     "CastLike Clip DequantizeLinear Dropout DynamicQuantizeLinear QuantizeLinear"},
    {&BatchStep::AllFirst,
     "Attention EmbedLayerNormalization GridSample GroupQueryAttention MultiHeadAttention "
     "QAttention QEmbedLayerNormalization RotaryEmbedding SkipLayerNormalization "
     "SkipSimplifiedLayerNormalization"},
    {&BatchStep::Rows, "MatMulNBits MatMulBnb4"},
    {&BatchStep::Recurrent, "GRU LSTM RNN"},
    {&BatchStep::Normalise, "LayerNormalization RMSNormalization SimplifiedLayerNormalization"},
    {&BatchStep::MatMul, "MatMul MatMulInteger"},
    {&BatchStep::Resize, "Resize Upsample"},
    {&BatchStep::ShapeOnly, "Shape Size"},
    {&BatchStep::Concat, "Concat"},
    {&BatchStep::Einsum, "Einsum"},
    {&BatchStep::Expand, "Expand"},
    {&BatchStep::Flatten, "Flatten"},
    {&BatchStep::Gather, "Gather GatherBlockQuantized"},
    {&BatchStep::GatherElements, "GatherElements"},
    {&BatchStep::GatherND, "GatherND"},
    {&BatchStep::Gemm, "Gemm"},
    {&BatchStep::OneHot, "OneHot"},
    {&BatchStep::Pad, "Pad"},
    {&BatchStep::Reshape, "Reshape"},
    {&BatchStep::Slice, "Slice"},
    {&BatchStep::Split, "Split"},
    {&BatchStep::Squeeze, "Squeeze"},
    {&BatchStep::Tile, "Tile"},
    {&BatchStep::Transpose, "Transpose"},
    {&BatchStep::Unsqueeze, "Unsqueeze"},
};

BatchStep::Rule BatchStep::RuleOf(absl::string_view op) {
  static const auto* const rules = [] {
    auto* const table = new absl::flat_hash_map<absl::string_view, Rule>();
    for (const Group& group : kGroups) {
      for (const absl::string_view name : absl::StrSplit(group.operators, ' ')) {
        table->emplace(name, group.rule);
      }
    }
    return table;
  }();
  const auto rule = rules->find(op);
  return rule == rules->end() ? nullptr : rule->second;
}

bool BatchStep::IsByElement(const Node& node) {
  return node.domain.empty() && RuleOf(node.op_type) == &BatchStep::ByElement;
}

namespace {

constexpr int64_t kBeyondAll = int64_t{1} << 30;

// floor(a / b) where that is exact.
std::optional<Expr> Quotient(const Expr& a, const Expr& b) {
  std::optional<Expr> quotient = DivideExactly(a, b);
  if (quotient && quotient->error() != nullptr) return std::nullopt;
  return quotient;
}

}  // namespace

absl::Status BatchStep::Run() {
  bool any = false;
  for (size_t i = 0; i < node_.inputs.size(); ++i) any = any || Place(i).has_value();
  if (!any) return absl::OkStatus();
  if (node_.has_graphs || node_.function) return Refuse("what it does with samples is not known");
  const bool has_rule = node_.domain.empty() || node_.domain == "com.microsoft";
  const Rule rule = has_rule ? RuleOf(node_.op_type) : nullptr;
  if (rule == nullptr) {
    return Refuse("what it does with samples is not known");
  }
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    if (Given(i) && In(i) == nullptr) return Refuse("the shape of an input is not known");
  }
  for (size_t i = 0; i < node_.outputs.size(); ++i) {
    if (node_.outputs[i] && Out(i) == nullptr) return Refuse("the shape of an output is not known");
  }
  if (!node_.output(0)) return Refuse("it has no output");
  const bool takes_pairs = rule == &BatchStep::ByElement || rule == &BatchStep::SameShape ||
                           rule == &BatchStep::Transpose;
  for (size_t i = 0; i < node_.inputs.size() && !takes_pairs; ++i) {
    if (Place(i) && Place(i)->second >= 0) return Refuse("two of its sizes are those of samples");
  }
  return (this->*rule)();
}

absl::Status BatchStep::Refuse(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(DescribeNode(model_, id_), ": ", what));
}

const Shape* BatchStep::ShapeOf(OptionalValueId value) const {
  const Fact* fact = exported_.FactOf(value);
  return fact != nullptr && fact->is_tensor() && fact->shape.ranked() ? &fact->shape : nullptr;
}

std::optional<BatchPlace> BatchStep::Place(size_t i) const {
  const OptionalValueId input = node_.input(i);
  const auto expanded = expanded_.find({id_, i});
  if (expanded != expanded_.end()) return expanded->second;
  return input ? places_[static_cast<size_t>(*input)] : std::nullopt;
}

int64_t BatchStep::Int(absl::string_view name, int64_t otherwise) const {
  const Attribute* attribute = node_.FindAttribute(name);
  return attribute == nullptr ? otherwise : attribute->i;
}

std::optional<Dims> BatchStep::Known(size_t input) const {
  const Fact* fact = exported_.FactOf(node_.input(input));
  return fact == nullptr ? std::nullopt : fact->KnownInts();
}

bool BatchStep::IsNumberOfSample(size_t input) const {
  const Fact* fact = exported_.FactOf(node_.input(input));
  if (fact == nullptr || !fact->from_shapes || batch_.old != 1) return false;
  const std::optional<Dims> ints = fact->KnownInts();
  return ints && ints->size() == 1 && (*ints)[0] == Expr(0) && !IsFloat(fact->dtype);
}

bool BatchStep::IsExpandedForBatch(size_t input) const {
  const OptionalValueId value = node_.input(input);
  const OptionalNodeId producer = value ? model_.value(*value).producer : kNone;
  if (!producer || batch_.old != 1) return false;
  const Node& node = model_.node(*producer);
  const Shape* from = ShapeOf(node.input(0));
  return node.op_type == "Expand" && from != nullptr && *from == *In(input);
}

std::optional<Dims> BatchStep::Ints(absl::string_view attribute, size_t input) const {
  if (const Attribute* a = node_.FindAttribute(attribute)) {
    return Dims(a->ints.begin(), a->ints.end());
  }
  const Fact* fact = exported_.FactOf(node_.input(input));
  return fact != nullptr && fact->constant ? fact->KnownInts() : std::nullopt;
}

std::optional<std::vector<int>> BatchStep::Axes(size_t input, int rank) const {
  const std::optional<Dims> ints = Ints("axes", input);
  if (!ints) return std::nullopt;
  std::vector<int> axes;
  for (const Expr& axis : *ints) {
    const int64_t a = axis.AsInt64().value_or(rank);
    if (a < -rank || a >= rank) return std::nullopt;
    axes.push_back(static_cast<int>(a < 0 ? a + rank : a));
  }
  return axes;
}

int BatchStep::Axis(int64_t otherwise, int rank) const {
  const int64_t axis = Int("axis", otherwise);
  return static_cast<int>(std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank));
}

void BatchStep::SetAll(const std::optional<BatchPlace>& place) { absl::c_fill(outputs, place); }

absl::Status BatchStep::OnlyInputs(absl::Span<const size_t> may) const {
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    if (!Place(i) || absl::c_linear_search(may, i)) continue;
    return Refuse(absl::StrCat("its input ", i, " differs from sample to sample"));
  }
  return absl::OkStatus();
}

absl::Status BatchStep::Join(size_t input, int rank, std::optional<BatchPlace>* joined) {
  std::optional<BatchPlace> place = Place(input);
  if (!place) return absl::OkStatus();
  place->axis += rank - In(input)->rank();
  if (place->second >= 0) place->second += rank - In(input)->rank();
  if (*joined && !(**joined == *place)) {
    return Refuse("its inputs have their samples at different places");
  }
  *joined = place;
  return absl::OkStatus();
}

// Inputs are broadcast. One that is the same for all samples has a size of 1 there.
absl::Status BatchStep::ByElement() {
  std::optional<BatchPlace> joined;
  const int rank = Out(0)->rank();
  for (size_t i = 0; i < node_.inputs.size(); ++i) RETURN_IF_ERROR(Join(i, rank, &joined));
  if ((*Out(0))[joined->axis] != OldSize(*joined)) return Refuse("it has one sample for many");
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    if (!Given(i) || Place(i)) continue;
    BatchPlace own = *joined;
    own.axis -= rank - In(i)->rank();
    const bool adds_number = node_.op_type == "Add" && rank == In(i)->rank() && IsNumberOfSample(i);
    const bool each = adds_number || IsExpandedForBatch(i);
    if (own.axis >= 0 && (each || (*In(i))[own.axis] != Expr(1))) wanted.emplace_back(i, own);
    const int second = joined->second - rank + In(i)->rank();
    if (joined->second >= 0 && second >= 0 && (*In(i))[second] != Expr(1)) {
      return Refuse("two of its sizes are those of samples");
    }
  }
  SetAll(joined);
  return absl::OkStatus();
}

absl::Status BatchStep::SameShape() {
  const bool takes_type = node_.op_type == "CastLike";  // of its second input
  RETURN_IF_ERROR(takes_type ? OnlyInputs({0, 1}) : OnlyInputs({0}));
  SetAll(Place(0));
  if (node_.op_type == "DynamicQuantizeLinear") {
    outputs.resize(1);  // one scale for all samples
    outputs.resize(node_.outputs.size());
  }
  return absl::OkStatus();
}

// Before opset 13 Softmax and its kin take all axes from `axis` on for one.
absl::Status BatchStep::AlongAxis() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  const int rank = In(0)->rank();
  const int axis = Place(0)->axis;
  const bool takes_rest =
      absl::EndsWith(node_.op_type, "max") && model_.OpsetOf("").value_or(13) < 13;
  int along = Axis(takes_rest ? 1 : -1, rank);
  if (node_.op_type == "CumSum") {
    const std::optional<Dims> place = Ints("", 1);
    const int64_t a = place && place->size() == 1 ? (*place)[0].AsInt64().value_or(rank) : rank;
    along = static_cast<int>(a < 0 ? a + rank : a);
    if (along < 0 || along >= rank) return Refuse("its axis is not known");
  }
  if (takes_rest ? axis >= along : axis == along) return Refuse("it runs along the samples");
  SetAll(Place(0));
  return absl::OkStatus();
}

absl::Status BatchStep::FirstAxis() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  if (Place(0)->axis != 0) return Refuse("its samples are not along the first axis");
  SetAll(Place(0));
  return absl::OkStatus();
}

absl::Status BatchStep::Normalise() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  if (Place(0)->axis >= Axis(-1, In(0)->rank())) return Refuse("it runs along the samples");
  SetAll(Place(0));
  return absl::OkStatus();
}

// The sizes of the target that can follow the batch, the likeliest first.
std::vector<BatchPlace> BatchStep::Readings(const BatchPlace& in, const Shape& from,
                                            const Shape& to) const {
  const Expr after = in.inner * from.Product(in.axis + 1, from.rank());
  std::vector<BatchPlace> found;
  for (int axis = 0; axis < to.rank(); ++axis) {
    const std::optional<Expr> inner = Quotient(after, to.Product(axis + 1, to.rank()));
    if (!inner) continue;
    const std::optional<Expr> outer = Quotient(to[axis], *inner * batch_.old);
    if (outer) found.push_back({axis, *outer, *inner});
  }
  const auto rank = [&](const BatchPlace& place) {
    if (!place.alone()) return 2;
    return place.axis == in.axis && in.alone() ? 0 : 1;
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const BatchPlace& a, const BatchPlace& b) { return rank(a) < rank(b); });
  return found;
}

absl::Status BatchStep::Reshape() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  if (node_.FindAttribute("shape") != nullptr) return Refuse("its sizes are an attribute");
  const std::vector<BatchPlace> found = Readings(*Place(0), *In(0), *Out(0));
  if (found.empty()) {
    return Refuse(absl::StrCat("from ", In(0)->ToString(), " it makes ", Out(0)->ToString(),
                               ": no size of it can be that of the samples"));
  }
  readings = found.size();
  plain = found[reading_].alone() || batch_.old > 1;
  outputs[0] = found[reading_];
  Retarget(*Place(0), found[reading_]);
  return absl::OkStatus();
}

// Writes the new target, unless the old one gives the same.
void BatchStep::Retarget(const BatchPlace& in, const BatchPlace& out) {
  const std::optional<Dims> target = Known(1);
  if (!target) return;
  const Shape from = AtNewBatch(*In(0), in, batch_.now), to = AtNewBatch(*Out(0), out, batch_.now);
  const bool copies = Int("allowzero", 0) == 0;
  for (int i = 0; i < to.rank(); ++i) {
    const Expr& size = (*target)[static_cast<size_t>(i)];
    const bool same = size == to[i] || size == Expr(-1) ||
                      (size == Expr(0) && copies && i < from.rank() && from[i] == to[i]);
    if (same) continue;
    sizes.emplace_back(1, to.dims());
    return;
  }
}

absl::Status BatchStep::Flatten() {
  const BatchPlace in = *Place(0);
  const Shape& from = *In(0);
  const int axis = Axis(1, from.rank());
  const bool first = in.axis < axis;
  outputs[0] = BatchPlace{first ? 0 : 1, from.Product(first ? 0 : axis, in.axis) * in.outer,
                          in.inner * from.Product(in.axis + 1, first ? axis : from.rank())};
  return absl::OkStatus();
}

absl::Status BatchStep::Squeeze() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  const int rank = In(0)->rank();
  BatchPlace place = *Place(0);
  const std::optional<std::vector<int>> axes = Axes(1, rank);
  if (!axes && batch_.old == 1 && place.alone()) {
    return Refuse("it removes sizes of 1, and so the batch of the export");
  }
  if (axes && absl::c_linear_search(*axes, place.axis)) return Refuse("it removes the batch");
  int before = 0;
  for (int axis = 0; axis < place.axis; ++axis) {
    before +=
        axes ? (absl::c_linear_search(*axes, axis) ? 1 : 0) : ((*In(0))[axis] == Expr(1) ? 1 : 0);
  }
  place.axis -= before;
  outputs[0] = place;
  return absl::OkStatus();
}

absl::Status BatchStep::Unsqueeze() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  const std::optional<std::vector<int>> axes = Axes(1, Out(0)->rank());
  if (!axes) return Refuse("its axes are computed");
  BatchPlace place = *Place(0);
  int left = place.axis;
  for (place.axis = 0; place.axis < Out(0)->rank(); ++place.axis) {
    if (absl::c_linear_search(*axes, place.axis)) continue;
    if (left-- == 0) break;
  }
  outputs[0] = place;
  return absl::OkStatus();
}

absl::Status BatchStep::Transpose() {
  BatchPlace place = *Place(0);
  const int rank = In(0)->rank();
  const Attribute* perm = node_.FindAttribute("perm");
  for (int axis = 0; axis < rank; ++axis) {
    const auto a = static_cast<size_t>(axis);
    int64_t from = perm != nullptr && a < perm->ints.size() ? perm->ints[a] : rank - 1 - axis;
    if (from < 0) from += rank;
    if (from == Place(0)->axis) place.axis = axis;
    if (from == Place(0)->second) place.second = axis;
  }
  outputs[0] = place;
  return absl::OkStatus();
}

absl::Status BatchStep::Expand() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  const int rank = Out(0)->rank();
  BatchPlace place = *Place(0);
  place.axis += rank - In(0)->rank();
  if ((*Out(0))[place.axis] != OldSize(place)) return Refuse("it has one sample for many");
  outputs[0] = place;
  const std::optional<Dims> shape = Known(1);
  if (!shape) return absl::OkStatus();
  const int axis = place.axis - rank + static_cast<int>(shape->size());
  if (axis < 0 || (*shape)[static_cast<size_t>(axis)] == Expr(1)) return absl::OkStatus();
  Dims changed = *shape;
  changed[static_cast<size_t>(axis)] = NewSize(place);
  sizes.emplace_back(1, changed);
  return absl::OkStatus();
}

std::optional<std::pair<size_t, BatchPlace>> BatchStep::InputOf(const BatchPlace& place) const {
  const Fact* fact = exported_.FactOf(node_.output(0));
  if (fact == nullptr || !fact->from_shapes || Out(0) == nullptr || !node_.domain.empty()) {
    return std::nullopt;
  }
  if (node_.op_type == "Expand" && In(0) != nullptr && *In(0) == *Out(0)) {
    return std::pair(size_t{0}, place);
  }
  if (node_.op_type == "Gather" && In(0) != nullptr && In(1) != nullptr) {
    BatchPlace of_numbers = place;
    of_numbers.axis -= Axis(0, In(0)->rank());
    const bool is_theirs = of_numbers.axis >= 0 && of_numbers.axis < In(1)->rank();
    return is_theirs ? std::make_optional(std::pair(size_t{1}, of_numbers)) : std::nullopt;
  }
  if (!IsByElement(node_)) return std::nullopt;
  std::vector<size_t> found;
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    const bool has_axis = In(i) != nullptr && In(i)->rank() == Out(0)->rank();
    if (has_axis && (*In(i))[place.axis] == (*Out(0))[place.axis]) found.push_back(i);
  }
  if (found.size() > 1) {
    std::erase_if(found, [&](size_t i) { return !IsNumberOfSample(i); });
  }
  if (found.size() != 1) return std::nullopt;
  return std::pair(found[0], place);
}

bool BatchStep::MakeOutput(const BatchPlace& place) {
  const absl::string_view op = node_.op_type;
  const size_t input = op == "ConstantOfShape" ? 0 : 1;
  if (!node_.domain.empty() || (op != "Expand" && op != "Tile" && op != "ConstantOfShape")) {
    return false;
  }
  if (Out(0) == nullptr || (*Out(0))[place.axis] != OldSize(place)) return false;
  if (op != "ConstantOfShape") {
    const int axis = In(0) == nullptr ? -1 : place.axis - Out(0)->rank() + In(0)->rank();
    if (In(0) == nullptr || (axis >= 0 && (*In(0))[axis] != Expr(1))) return false;
  }
  outputs[0] = place;
  const std::optional<Dims> shape = Known(input);
  if (!shape) return true;
  const int axis = place.axis - Out(0)->rank() + static_cast<int>(shape->size());
  if (axis < 0) return false;
  Dims changed = *shape;
  changed[static_cast<size_t>(axis)] = NewSize(place);
  sizes.emplace_back(input, changed);
  return true;
}

absl::Status BatchStep::Tile() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  const std::optional<Dims> repeats = Ints("", 1);
  BatchPlace place = *Place(0);
  if (!repeats || repeats->size() != In(0)->dims().size()) return Refuse("it has computed repeats");
  place.outer *= (*repeats)[static_cast<size_t>(place.axis)];
  outputs[0] = place;
  return absl::OkStatus();
}

absl::Status BatchStep::Concat() {
  std::optional<BatchPlace> place;
  Expr outer = 0;
  bool all = true;
  const int rank = Out(0)->rank(), along = Axis(1, rank);
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    std::optional<BatchPlace> own = Place(i);
    all = all && own.has_value();
    if (!own) continue;
    outer += own->outer;
    if (own->axis == along && place) own->outer = place->outer;
    if (place && !(*place == *own)) {
      return Refuse("its inputs have their samples at different places");
    }
    place = own;
  }
  if (place->axis == along) {
    if (!all) return Refuse("it joins samples with what is the same for all samples");
    place->outer = outer;
  }
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    if (Given(i) && !Place(i)) wanted.emplace_back(i, *place);
  }
  outputs[0] = place;
  return absl::OkStatus();
}

absl::Status BatchStep::Split() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  BatchPlace place = *Place(0);
  if (place.axis != Axis(0, In(0)->rank())) {
    SetAll(place);
    return absl::OkStatus();
  }
  const auto parts = static_cast<int64_t>(outputs.size());
  const std::optional<Expr> outer = Quotient(place.outer, parts);
  const bool is_even = absl::c_all_of(node_.outputs, [&](OptionalValueId output) {
    return output && (*ShapeOf(output))[place.axis] == (*Out(0))[place.axis];
  });
  if (!outer || !is_even || node_.FindAttribute("split") != nullptr) {
    return Refuse("it divides the samples");
  }
  place.outer = *outer;
  if (Given(1)) sizes.emplace_back(1, Dims(outputs.size(), NewSize(place)));
  SetAll(place);
  return absl::OkStatus();
}

absl::Status BatchStep::Slice() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  const int rank = In(0)->rank(), batch_axis = Place(0)->axis;
  outputs[0] = Place(0);
  std::optional<std::vector<int>> axes = Axes(3, rank);
  const std::optional<Dims> starts = Ints("starts", 1), ends = Ints("ends", 2);
  const std::optional<Dims> steps = Ints("", 4);
  if (!axes && (Given(3) || node_.FindAttribute("axes") != nullptr)) {
    return Refuse("its axes are computed");
  }
  for (int i = 0; i < rank; ++i) {
    const auto at = static_cast<size_t>(i);
    if (axes && at >= axes->size()) break;
    if ((axes ? (*axes)[at] : i) != batch_axis) continue;
    if (!axes && starts && at >= starts->size()) break;
    const bool known = starts && ends && at < starts->size() && at < ends->size();
    const bool forward = !Given(4) || (steps && at < steps->size() && (*steps)[at] == Expr(1));
    const bool all = known && forward && (*starts)[at] == Expr(0) &&
                     (*ends)[at].AsInt64().value_or(0) >= kBeyondAll;
    if (!all) return Refuse("it takes some of the samples");
  }
  return absl::OkStatus();
}

absl::Status BatchStep::Pad() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  outputs[0] = Place(0);
  const int rank = In(0)->rank();
  const auto axis = static_cast<size_t>(Place(0)->axis);
  if ((*Out(0))[Place(0)->axis] != (*In(0))[Place(0)->axis]) return Refuse("it adds samples");
  const std::optional<Dims> pads = Ints("pads", 1);
  if (!pads || Given(3) || pads->size() != 2 * static_cast<size_t>(rank)) return absl::OkStatus();
  const bool none =
      (*pads)[axis] == Expr(0) && (*pads)[axis + static_cast<size_t>(rank)] == Expr(0);
  return none ? absl::OkStatus() : Refuse("it adds samples and takes as many away");
}

absl::Status BatchStep::Resize() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  const BatchPlace place = *Place(0);
  outputs[0] = place;
  if ((*Out(0))[place.axis] != (*In(0))[place.axis]) return Refuse("it resizes the batch");
  const std::optional<Dims> to = node_.op_type == "Resize" ? Known(3) : std::nullopt;
  if (!to || to->size() != In(0)->dims().size()) return absl::OkStatus();
  Dims changed = *to;
  changed[static_cast<size_t>(place.axis)] = NewSize(place);
  sizes.emplace_back(3, changed);
  return absl::OkStatus();
}

// What numbers select is no longer in the output: then its samples are those of the numbers.
absl::Status BatchStep::Gather() {
  const std::optional<BatchPlace> data = Place(0), at = Place(1);
  const bool is_quantised = node_.op_type == "GatherBlockQuantized";
  const int axis = is_quantised ? static_cast<int>(Int("gather_axis", 0)) : Axis(0, In(0)->rank());
  if (is_quantised && (data || axis < 0)) return Refuse("what it does with samples is not known");
  const bool selects = data && data->axis == axis;
  if (data && at && !selects) {
    return Refuse("it looks up by sample in what differs from sample to sample");
  }
  if (selects && !at) return SelectSamples();
  BatchPlace place = at ? *at : *data;
  if (at) {
    place.axis += axis;
  } else if (place.axis > axis) {
    place.axis += In(1)->rank() - 1;
  }
  outputs[0] = place;
  return absl::OkStatus();
}

// Samples, or what is joined with them, are looked up by the numbers of a constant, which are those
// of each sample if the constant has an axis of samples in front.
absl::Status BatchStep::SelectSamples() {
  const Fact* numbers = exported_.FactOf(node_.input(1));
  const bool each = Place(0)->outer == Expr(1) && Place(0)->axis == 0 && numbers->from_shapes &&
                    In(1)->rank() >= 2 && (*In(1))[0] == Expr(batch_.old);
  if (!each) return Refuse("it selects samples by numbers");
  wanted.emplace_back(1, BatchPlace());
  outputs[0] = BatchPlace();
  return absl::OkStatus();
}

absl::Status BatchStep::GatherElements() {
  const int axis = Axis(0, In(0)->rank());
  const std::optional<BatchPlace> data = Place(0), at = Place(1);
  const BatchPlace place = at ? *at : *data;
  if (place.axis == axis || (data && data->axis == axis)) {
    return Refuse("it selects samples by numbers");
  }
  if (data && at && !(*data == *at)) return Refuse("its inputs have their samples at two places");
  if (!at) wanted.emplace_back(1, place);
  outputs[0] = place;
  return absl::OkStatus();
}

absl::Status BatchStep::GatherND() {
  const std::optional<BatchPlace> data = Place(0), at = Place(1);
  const int64_t shared = Int("batch_dims", 0);
  const int last = In(1)->rank() - 1;
  const std::optional<int64_t> depth = last < 0 ? std::nullopt : (*In(1))[last].AsInt64();
  if (!depth) return Refuse("its depth is not known");
  if (at && at->axis >= last) return Refuse("its places are the samples");
  const bool both = data && at && data->axis < shared && *data == *at;
  const bool selects = data && data->axis >= shared && data->axis < shared + *depth;
  if (!both && !selects && (data ? data->axis : at->axis) < shared) {
    return Refuse("it looks up the same for all samples");
  }
  if (!both && !selects && data && at) {
    return Refuse("it looks up by sample in what differs from sample to sample");
  }
  if (selects && !at) return SelectSamples();
  BatchPlace place = at ? *at : *data;
  if (!at) place.axis += last - static_cast<int>(shared + *depth);
  outputs[0] = place;
  return absl::OkStatus();
}

absl::Status BatchStep::Reduce() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  const int rank = In(0)->rank();
  BatchPlace place = *Place(0);
  const bool keeps = Int("keepdims", 1) != 0;
  std::vector<int> axes;
  if (absl::StartsWith(node_.op_type, "Arg")) {
    axes = {Axis(0, rank)};
  } else if (const std::optional<std::vector<int>> given = Axes(1, rank)) {
    axes = *given;
  } else if (Given(1)) {
    return Refuse("its axes are computed");
  }
  if (axes.empty() && Int("noop_with_empty_axes", 0) == 0) {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  if (absl::c_linear_search(axes, place.axis)) return absl::OkStatus();  // of all samples
  const auto before = absl::c_count_if(axes, [&](int axis) { return axis < place.axis; });
  if (!keeps) place.axis -= static_cast<int>(before);
  SetAll(place);
  return absl::OkStatus();
}

absl::Status BatchStep::OneHot() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  BatchPlace place = *Place(0);
  if (Axis(-1, Out(0)->rank()) <= place.axis) ++place.axis;
  outputs[0] = place;
  return absl::OkStatus();
}

absl::Status BatchStep::ShapeOnly() { return absl::OkStatus(); }

Shape AtNewBatch(const Shape& old, const std::optional<BatchPlace>& place, const Expr& now) {
  Shape shape = old;
  if (place) shape[place->axis] = place->outer * now * place->inner;
  if (place && place->second >= 0) shape[place->second] = now;
  return shape;
}

}  // namespace onnxflops::adapter
