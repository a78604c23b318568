// A node saves what its operator's row states. For each input that needs a gradient these are the
// other factors of a product, and the inputs, outputs, statistics or indices in Gradient::keeps.
//
// How it works. KeepNode holds the order of decisions for one node: bodies, attention that runs as
// flash, a pattern of nodes that is one PyTorch call, the call that the file names, and last the
// row itself. Rows refer to storages; a value that is saved twice counts once.
//
// Products need their factors in a certain order of elements. PyTorch can use a tensor with
// transposed or broadcast axes without a copy if strides can describe it; otherwise it copies, and
// the copy is saved. So strides are followed through views, and tested against the shape that
// matmul, a batched product or an einsum needs. Recurrent layers follow PyTorch's CPU code step by
// step. If the same nodes may come from different calls, such as max(dim) and amax, the node is
// noted as unknown.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "ops/call_patterns.h"
#include "ops/op_def.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/tensor_name.h"
#include "src/graph/model.h"
#include "src/memory/einsum.h"
#include "src/memory/saved_walk.h"
#include "src/memory/storage.h"
#include "src/memory/unsure.h"
#include "src/symbolic/expr.h"
#include "src/training/gradient_cost.h"

namespace onnxflops::memory {

// Keeps a factor of a contraction, or a copy if PyTorch cannot view it in the order that the
// product needs.
void SavedWalk::KeepFactor(const Node& node, size_t i, const std::vector<int>& ranks) {
  const ValueId value = *node.inputs[i];
  const Fact* fact = FactOfInput(node, i);
  const ValueId root = storages_.Of(value).root;
  if (fact == nullptr || ranks[i] < 3) return Keep(value);
  const int least = *std::min_element(ranks.begin(), ranks.end());
  if (call_->def->gradient.keeps.batched && least > 2) return KeepOfBatch(value, *fact, ranks[i]);
  if (model_.value(root).initializer) return Keep(value);
  if (HasWeight(node) && least > 2) return Keep(value);  // a convolution
  Shape shape = fact->shape;
  std::vector<Expr> strides = storages_.Of(value).strides;
  if (least <= 2 && i == 1) {  // the right factor of a matrix: it is read column by column
    if (strides.empty()) strides = StridesInOrder(shape);
    std::swap(shape[shape.rank() - 2], shape[shape.rank() - 1]);
    std::swap(strides[strides.size() - 2], strides[strides.size() - 1]);
  }
  KeepAs(value, std::move(shape), strides, ranks[i] - (least <= 2 ? 1 : 2));
}

// torch.matmul spreads both factors to the sizes of the batch, and has them as one list of
// matrices.
void SavedWalk::KeepOfBatch(ValueId value, const Fact& fact, int rank) {
  const Fact& made = in_.fact(call_->outputs[0]);
  if (!made.is_tensor() || !made.shape.ranked() || made.shape.rank() < rank) return Keep(value);
  const int more = made.shape.rank() - rank;
  std::vector<Expr> strides = storages_.Of(value).strides;
  if (strides.empty()) strides = StridesInOrder(fact.shape);
  Shape shape;
  std::vector<Expr> spread;
  for (int d = 0; d < made.shape.rank(); ++d) {
    const bool in_batch = d < made.shape.rank() - 2;
    const bool is_new =
        d < more || (in_batch && fact.shape[d - more] == Expr(1) && made.shape[d] != Expr(1));
    shape.push_back(in_batch ? made.shape[d] : fact.shape[d - more]);
    spread.push_back(is_new ? Expr(0) : strides[static_cast<size_t>(d - more)]);
  }
  const int batch = shape.rank() - 2;
  KeepAs(value, std::move(shape), spread, batch);
}

bool SavedWalk::HasWeight(const Node& node) const {
  const uint32_t products = call_->def->gradient.products;
  for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
    if ((products >> i & 1) != 0 && node.inputs[i] && IsWeight(*node.inputs[i])) return true;
  }
  return false;
}

void SavedWalk::KeepNode(InstanceId id, size_t i) {
  const NodeId node_id = node_id_ = graph_->nodes[i];
  const Node& node = model_.node(node_id);
  call_ = &in_.call(instance_->calls[i]);
  merged_names_.clear();
  if (!call_->bodies.empty()) {
    KeepBodies(node, instance_->calls[i]);
    if (call_->def == nullptr || call_->def->control_flow != ControlFlow::kNone) return;
  }
  const auto needed = nodes_.needed.find({id, static_cast<int32_t>(i)});
  if (call_->def != nullptr && call_->def->gradient.keeps.noise) NoteDropoutThatIsOff(node);
  if (needed == nodes_.needed.end()) return;
  if (const auto flash = flash_inside_.find(node_id); flash != flash_inside_.end()) {
    if (flash->second->output == node_id) KeepFlash(*flash->second);
    return;
  }
  const CallPattern* pattern = groups_->PatternOf(i);
  if (pattern != nullptr && KeepOfPattern(*pattern, node, i)) return;
  if (KeepOfCall(node)) return;
  if (call_->def == nullptr || !training::GradientCosts::SavesKnown(*call_->def)) {
    return NoteUnknown(node_id);
  }
  NoteWhatIsOpen(node, i);
  const exporter::NodeMetadata metadata(node.metadata);
  is_of_parameters_ =
      groups_->IsJoined(i) ||
      (metadata.fx_node && absl::StrContains(*metadata.fx_node, exporter::kFxBuffer));
  if (!KeepPadded(node)) KeepFactors(node, needed->second);
  KeepByRow(node, needed->second, i);
  is_of_parameters_ = false;
}

void SavedWalk::NoteUnknown(NodeId node, const char* why) {
  if (noted_.insert(node).second) ++unknown_;
  guesses_ |= !IsLowerBound(why);
  const OpDef* def = in_.call(calls_.at(node)).def;
  if (def == nullptr || def->user_rule != nullptr) return;
  unknown_op_ = def->name;
  unknown_node_ = node;
  unknown_why_ = why;
}

bool SavedWalk::IsConvolution(const Node& node) const {
  return call_->def->gradient.products != 0 && node.FindAttribute("kernel_shape") != nullptr;
}

void SavedWalk::KeepFactors(const Node& node, const std::string& needed) {
  const uint32_t products = call_->def->gradient.products;
  std::vector<int> ranks(node.inputs.size(), kMaxRank);
  for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
    const Fact* fact = FactOfInput(node, i);
    const bool ranked = fact != nullptr && fact->is_tensor() && fact->shape.ranked();
    if ((products >> i & 1) != 0) ranks[i] = ranked ? fact->shape.rank() : 0;
  }
  // convolution_backward gives all gradients, and has all factors kept.
  const bool is_convolution = IsConvolution(node);
  for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
    if ((products >> i & 1) == 0 || needed[i] == 0) continue;
    if (is_convolution) KeepFactor(node, i, ranks);
    for (size_t j = 0; j < node.inputs.size() && j < 32; ++j) {
      if (j != i && (products >> j & 1) != 0 && node.inputs[j]) KeepFactor(node, j, ranks);
    }
  }
}

void SavedWalk::KeepByRow(const Node& node, const std::string& needed, size_t place) {
  Keeps keeps = call_->def->gradient.keeps;
  const exporter::NodeMetadata metadata(node.metadata);
  if (metadata.fx_node && exporter::GivesPlaces(*metadata.fx_node)) keeps = {.places = true};
  if (keeps.extreme) keeps = KeepsOfExtreme(node, keeps);
  const bool gives_result = node.output(0) && !groups_->IsInner(*node.outputs[0]);
  if (gives_result && metadata.fx_node && exporter::KeepsOfItsOwn(*metadata.fx_node)) {
    NoteUnknown(node_id_, kOwnKernel);
    if (exporter::KeepsBufferOfItsOwn(*metadata.fx_node)) More(SizeOf(in_.fact(call_->outputs[0])));
  }
  if (keeps.composed) {
    const Fact& made = in_.fact(call_->outputs[0]);
    if (needed.size() > 1 && needed[1] != 0) More(SizeOf(made));
    if (needed[0] == 0) return;
  }
  if (keeps.scores && !flash_ && KeepMathAttention(node)) keeps = {.scores = true};
  const bool contracts_more = node.FindAttribute("equation") != nullptr && needed.size() > 2;
  if (contracts_more) NoteUnknown(node_id_, kContraction);
  if (keeps.at_least) NoteUnknown(node_id_, keeps.steps ? kRecurrent : nullptr);
  for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
    if (!node.inputs[i]) continue;
    bool others_need = false;
    for (size_t j = 0; j < needed.size(); ++j) others_need |= j != i && needed[j] != 0;
    if ((keeps.inputs >> i & 1) != 0 || (keeps.crosswise && others_need)) {
      if (keeps.assigns && AssignsToSlice(i)) continue;
      if (KeepSumOfPlaces(node, *node.inputs[i]) || KeepOfEinsum(node, i)) continue;
      KeepOf(place, BeforePromotion(*node.inputs[i]));
      if (metadata.fx_node && exporter::ReadsMadeConstant(*metadata.fx_node)) KeepPlaces(i);
    }
  }
  for (size_t j = 0; j < node.outputs.size() && j < 32; ++j) {
    if ((keeps.outputs >> j & 1) != 0 && node.outputs[j]) KeepOf(place, *node.outputs[j]);
  }
  const Attribute* mode = keeps.other_modes ? node.FindAttribute("mode") : nullptr;
  if (mode != nullptr && (mode->s == "reflect" || mode->s == "edge")) {
    KeepOf(place, *node.inputs[0]);
  }
  if (keeps.exponent && needed.size() > 1 && needed[1] != 0) {
    KeepOf(place, *node.inputs[1]);
    if (node.outputs[0]) KeepOf(place, *node.outputs[0]);
  }
  if (keeps.steps) KeepSteps(node);
  if (keeps.in_place && kept_here_ != nullptr) may_run_in_place_.push_back(node_id_);
  KeepMore(node, keeps);
  KeepFoldedNorm(node);
  KeepComputedWeight(node, needed);
  if (keeps.per_root > 0 && !keeps.composed) KeepComputedScale(node);
}

// TorchScript writes max(dim) and amax as one operator, but max(dim) takes one axis, and max()
// takes none. Along one axis, max(dim) is more common. torch.export writes a pool to size 1 as amax
// along the last two axes, in an order that callers of amax rarely use.
Keeps SavedWalk::KeepsOfExtreme(const Node& node, const Keeps& keeps) {
  const std::optional<absl::string_view> text = exporter::NodeMetadata(node.metadata).fx_node;
  if (text) {
    if (!exporter::MayBePool(*text)) return keeps;
    if (!IsOfClass(node, "AdaptiveMaxPool2d")) NoteUnknown(node_id_, kMayBePool);
    return {.inputs = keeps.inputs, .places = true};
  }
  constexpr size_t kAxes = 1;
  const Attribute* attribute = node.FindAttribute("axes");
  const Fact* given = node.input(kAxes) ? FactOfInput(node, kAxes) : nullptr;
  if (attribute == nullptr && given == nullptr) return keeps;
  const bool is_told = attribute != nullptr || given->has_content();
  const size_t axes = attribute != nullptr ? attribute->ints.size()
                      : is_told            ? given->content->size()
                                           : 0;
  if (is_told && axes != 1) return keeps;
  NoteUnknown(node_id_, kMaxOrAmax);
  return {.places = true};
}

// A factor of an einsum that is one product: a copy if its axes cannot be joined by strides.
bool SavedWalk::KeepOfEinsum(const Node& node, size_t i) {
  const Attribute* equation = node.FindAttribute("equation");
  if (equation == nullptr || call_->inputs.size() != 2) return false;
  const Fact& a = in_.fact(call_->inputs[0]);
  const Fact& b = in_.fact(call_->inputs[1]);
  if (!a.is_tensor() || !b.is_tensor() || !a.shape.ranked() || !b.shape.ranked()) return false;
  const auto product = ProductOfEinsum(equation->s, a.shape, b.shape);
  if (!product) return false;
  const Shape& from = i == 0 ? a.shape : b.shape;
  std::vector<Expr> strides = storages_.Of(*node.inputs[i]).strides;
  if (strides.empty()) strides = StridesInOrder(from);
  Shape shape, as_needed;
  std::vector<Expr> moved;
  for (const std::vector<int>& axes : product->factors[i]) {
    Expr size = 1;
    for (int axis : axes) {
      size *= from[axis];
      shape.push_back(from[axis]);
      moved.push_back(strides[static_cast<size_t>(axis)]);
    }
    as_needed.push_back(std::move(size));
  }
  if (moved.empty() || ViewStrides(shape, moved, as_needed)) {
    Keep(*node.inputs[i]);
  } else {
    KeepCopy(*node.inputs[i], SizeOf(i == 0 ? a : b));
  }
  return true;
}

// Known indices usually come from a slice, whose assignment saves none.
bool SavedWalk::AssignsToSlice(size_t i) {
  const Fact& places = in_.fact(call_->inputs[i]);
  if (groups_->StateCalls() || !(places.constant || places.from_shapes)) return false;
  NoteUnknown(node_id_, kSliceOrPlaces);
  return true;
}

// TorchScript takes elements by several tensors of places as by one, of sums of their products
// with sizes. PyTorch keeps each. Rows of a parameter are an embedding's, which has one tensor.
bool SavedWalk::KeepSumOfPlaces(const Node& node, ValueId value) {
  if (groups_->StateCalls() || !IsSumOfPlaces(value)) return false;
  if (node.input(0) && IsWeight(*node.inputs[0])) return false;
  std::vector<ValueId> open = {value};
  while (!open.empty()) {
    const ValueId at = open.back();
    open.pop_back();
    if (!summed_.insert(at).second) continue;
    const Fact* fact = in_.FactOf(at);
    if (IsSumOfPlaces(at)) {
      for (OptionalValueId input : model_.node(*model_.value(at).producer).inputs) {
        if (input) open.push_back(*input);
      }
    } else if (fact != nullptr && fact->is_tensor() && !IsNumber(fact)) {
      if (fact->constant || fact->from_shapes) {
        More(SizeOf(*fact));
      } else {
        Keep(at);
      }
    }
  }
  return true;
}

bool SavedWalk::IsSumOfPlaces(ValueId value) const {
  if (!IsOwn(value)) return false;
  const Call& run = in_.call(calls_.at(*model_.value(value).producer));
  const bool is_sum = run.def != nullptr && run.def->gradient.broadcast &&
                      run.def->count != nullptr && !run.outputs.empty();
  if (!is_sum) return false;
  const Fact& made = in_.fact(run.outputs[0]);
  return made.is_tensor() && made.dtype == DType::kInt64 && made.shape.ranked() &&
         made.shape.rank() > 0;
}

// Keeps places that the exporter folded.
void SavedWalk::KeepPlaces(size_t i) {
  const Fact& places = in_.fact(call_->inputs[i]);
  if (places.constant && places.is_tensor() && !IsFloat(places.dtype)) More(SizeOf(places));
}

// Follows PyTorch's CPU code for a plain recurrent layer or a GRU (ATen/native/RNN.cpp). Each
// direction takes the input as one matrix, and copies it if it is not contiguous. A plain layer
// saves its state before and after each step. A step of a GRU saves the state before it, the
// products of the state for three gates in one tensor, the candidate, and the operands that mul_
// overwrites, which autograd clones: the candidate's product and the difference of state and
// candidate.
void SavedWalk::KeepSteps(const Node& node) {
  constexpr size_t kState = 5;
  constexpr int kNumbersOfGruStep = 7;
  const Fact& x = in_.fact(call_->inputs[0]);
  const Fact& made = in_.fact(call_->outputs[0]);
  if (x.is_tensor() && x.shape.ranked() && x.shape.rank() == 3) {
    KeepAs(*node.inputs[0], x.shape, storages_.Of(*node.inputs[0]).strides, 2);
    const bool is_copy = copies_.contains({node_id_, *node.inputs[0]});
    const bool has_directions = made.is_tensor() && made.shape.ranked() && made.shape.rank() == 4;
    if (is_copy && has_directions) More(SizeOf(x) * (made.shape[1] - 1));
  }
  const bool is_gru = call_->def->gradient.keeps.gates;
  More(SizeOf(made) * (is_gru ? kNumbersOfGruStep : 1));
  // The first state: of the model, or zeros. Nothing keeps the last one of a GRU, so that zeros are
  // as many numbers as that.
  const OptionalValueId given = node.input(kState);
  const Fact* first = given                       ? &in_.fact(call_->inputs[kState])
                      : call_->outputs.size() > 1 ? &in_.fact(call_->outputs[1])
                                                  : nullptr;
  if (first == nullptr) return;
  const bool is_activation = given && !first->constant && !first->from_shapes &&
                             !IsWeight(*given) && !IsNumber(in_.FactOf(storages_.Of(*given).root));
  if (is_gru == is_activation) More(SizeOf(*first) * (is_gru ? -1 : 1));
  if (is_activation) Keep(*given);
}

// A likelihood loss keeps the sum of its weights. With smoothed labels it also computes the mean of
// the scores without ignored labels: this keeps a mask of the labels and, for a mean, their number.
void SavedWalk::KeepOfLikelihood(const Node& node, int size) {
  constexpr size_t kLabels = 1, kSmoothing = 5;
  More(size);
  const auto text = exporter::NodeMetadata(node.metadata).fx_node;
  if (!text) return;
  const absl::string_view smoothing =
      exporter::ParseFxArgs(*text).Get(kSmoothing, "label_smoothing");
  if (smoothing.empty() || smoothing == "0.0") return;
  const Fact& labels = in_.fact(call_->inputs[kLabels]);
  const Attribute* reduction = node.FindAttribute("reduction");
  if (labels.is_tensor() && labels.shape.ranked()) More(labels.shape.NumElements());
  if (reduction == nullptr || reduction->s == "mean") More(kPlaceBytes);
}

void SavedWalk::KeepMore(const Node& node, const Keeps& keeps) {
  const Census& forward = counts_.cost(CallIdOf(node)).own().flops;
  const Fact& first = in_.fact(call_->outputs[0]);
  const int size = BitsPerElement(first.dtype) / 8;
  if (keeps.per_root > 0) {
    More(forward[Kind::kSqrt] * (keeps.per_root * std::max(size, kStatisticBytes)));
  }
  if (keeps.places && first.is_tensor() && first.shape.ranked()) {
    More(first.shape.NumElements() * kPlaceBytes);
  }
  if (keeps.spread_scale && node.input(1) && IsWeight(*node.inputs[1]) &&
      !exporter::IsFoldedName(model_.value(storages_.Of(*node.inputs[1]).root).name)) {
    More(forward[Kind::kSqrt] * size);
  }
  if (keeps.log_probabilities) More(SizeOf(in_.fact(call_->inputs[0])));
  if (keeps.total_weight) KeepOfLikelihood(node, size);
  if (keeps.noise && !forward[Kind::kMul].is_zero()) More(SizeOf(first));
  if (keeps.gates && !keeps.steps) {
    More((forward[Kind::kExp] + forward[Kind::kTanh]) * size);
  }
  if (!keeps.scores) return;
  const Expr scores = ScoresOf(node, forward);
  if (!flash_) {
    More(scores * size);
    return;
  }
  KeepMask(node);
  const Fact& keys = in_.fact(call_->inputs[1]);
  const bool ranked = keys.is_tensor() && keys.shape.ranked() && keys.shape.rank() >= 2;
  const std::optional<Expr> rows =
      ranked ? DivideExactly(scores, keys.shape[keys.shape.rank() - 2]) : std::nullopt;
  if (rows) {
    More(*rows * kStatisticBytes);
  } else {
    NoteUnknown(node_id_);
  }
}

}  // namespace onnxflops::memory
