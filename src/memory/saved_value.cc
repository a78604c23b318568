// How it works. Decides what saving one value costs. Values in one storage are saved once. A
// parameter is never saved, as it exists anyway. A constant is saved if PyTorch computed it and the
// exporter folded it. A Python number is not a tensor. A value that cannot be viewed with the
// needed axes is copied.
//
// The difficulty is that the file differs from what PyTorch ran. The exporter leaves out operations
// without effect, merges equal calls, and computes tables and masks ahead. In a dynamo export the
// call's text names its arguments, so a name that no node makes reveals a missing tensor, and its
// memory is added. Without such names the node is noted as unknown, or the likelier case is assumed
// and marked as a guess.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "ops/op_def.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/tensor_name.h"
#include "src/graph/model.h"
#include "src/memory/saved_walk.h"
#include "src/memory/storage.h"
#include "src/memory/unsure.h"
#include "src/resolve/parameters.h"
#include "src/symbolic/expr.h"

namespace onnxflops::memory {

void SavedWalk::Keep(ValueId value) {
  if (KeepMerged(value) || KeepLeftOut(value)) return;
  const ValueId root = storages_.Of(value).root;
  if (IsNumber(in_.FactOf(root))) return KeepNumber(root);
  if (model_.value(root).initializer) {
    KeepConstant(root);
  } else if (!groups_->StateCalls() && IsStored(root)) {
    NoteUnknown(node_id_, kBufferOrMade);
    KeepStoredPlaces(root);
    KeepStoredMask(root);
  } else {
    if (roots_.insert(root).second && unsized_.contains(root)) NoteUnknown(node_id_);
    if (kept_here_ != nullptr) kept_here_->roots.push_back(root);
    ++keepers_[root];
  }
}

// The name in a call that no node makes: a product or sum that the exporter left out, as one with
// 1. Empty if nothing is missing, and for nodes that an optimizer made of several calls.
absl::string_view SavedWalk::LeftOutBefore(const Node& node) const {
  const exporter::NodeMetadata metadata(node.metadata);
  if (!metadata.fx_node || metadata.rewriter_rule) return {};
  absl::string_view left_out;
  int unnamed = 0;
  const absl::flat_hash_set<absl::string_view>& names = NamesOfCall();
  for (absl::string_view name : exporter::FxNames(*metadata.fx_node)) {
    if (names_.contains(name) || !exporter::IsArithmeticName(name)) continue;
    if (!left_out.empty()) return {};
    left_out = name;
  }
  for (OptionalValueId input : node.inputs) {
    if (!input || !IsOwn(*input) || left_out.empty()) continue;
    const absl::string_view name = model_.value(*input).name;
    if (names.contains(name)) continue;
    ++unnamed;
    // Not left out: one of several equal calls, or another node of the same call.
    const auto maker =
        exporter::NodeMetadata(model_.node(*model_.value(*input).producer).metadata).fx_node;
    const bool is_alike =
        exporter::SplitFxName(name).first == exporter::SplitFxName(left_out).first;
    if (is_alike || maker == metadata.fx_node) return {};
  }
  return unnamed == 1 ? left_out : absl::string_view();
}

// The file has one node for equal calls, but each call's result has its own memory.
bool SavedWalk::KeepMerged(ValueId value) {
  const auto name = merged_names_.find(value);
  if (name == merged_names_.end()) return false;
  const Fact* fact = in_.FactOf(value);
  if (fact != nullptr && left_out_.insert(name->second).second) More(SizeOf(*fact));
  return true;
}

// The result of an omitted operation has its own memory.
bool SavedWalk::KeepLeftOut(ValueId value) {
  if (!groups_->StateCalls() || !IsOwn(value) || IsNamed(model_.value(value).name)) return false;
  if (!call_names_.left_out) call_names_.left_out = LeftOutBefore(model_.node(node_id_));
  if (call_names_.left_out->empty()) return false;
  const Fact* fact = in_.FactOf(value);
  if (fact != nullptr && left_out_.insert(*call_names_.left_out).second) More(SizeOf(*fact));
  return true;
}

// Python numbers appear in a file as constants of one element, or are computed from shapes. In
// PyTorch they are not tensors.
bool SavedWalk::IsNumber(const Fact* fact) {
  return fact != nullptr && (fact->constant || fact->from_shapes) && fact->is_tensor() &&
         fact->shape.ranked() && Expr(1).AtLeast(fact->shape.NumElements());
}

// Buffers of places hold 0, 1, 2 and so on. Other places were computed, so they are kept.
void SavedWalk::KeepStoredPlaces(ValueId root) {
  const Fact* fact = in_.FactOf(root);
  if (fact == nullptr || !fact->has_content() || fact->dtype != DType::kInt64) return;
  if (!fact->shape.ranked() || fact->shape.rank() == 0) return;
  const Expr& row = fact->shape[fact->shape.rank() - 1];
  bool is_range = row.is_literal() && row.literal() > 0;
  for (size_t i = 0; i < fact->content->size() && is_range; ++i) {
    const Scalar& place = (*fact->content)[i];
    is_range = place.is_int() && place.i == Expr(absl::int128(i) % row.literal());
  }
  if (is_range) return;
  guesses_ = true;
  if (numbers_.insert(root).second) More(SizeOf(*fact));
}

// The mask of masked_fill is mostly made anew each time, as by `mask == 0`. The condition of
// torch.where is mostly a buffer.
void SavedWalk::KeepStoredMask(ValueId root) {
  const Node& node = model_.node(node_id_);
  const Fact* fact = in_.FactOf(root);
  const bool fills = node.inputs.size() == 3 && call_->inputs.size() == 3 && node.inputs[0] &&
                     storages_.Of(*node.inputs[0]).root == root &&
                     IsNumber(&in_.fact(call_->inputs[1]));
  if (!fills || fact == nullptr || fact->dtype != DType::kBool) return;
  guesses_ = true;
  KeepCopy(root, SizeOf(*fact));
}

// True for a constant that the exporter wrote as a node.
bool SavedWalk::IsStored(ValueId root) const {
  if (!IsOwn(root)) return false;
  const OpDef* def = in_.call(calls_.at(*model_.value(root).producer)).def;
  return def != nullptr && Has(def->traits, Traits::kStored);
}

// A number is saved if it is a tensor in PyTorch, for example the result of an operator on a
// one-element parameter.
void SavedWalk::KeepNumber(ValueId root) {
  const Value& value = model_.value(root);
  const bool is_folded = value.initializer && exporter::IsScalarParameter(value.name) &&
                         exporter::IsFoldedName(value.name);
  const bool is_tensor = call_->def != nullptr && call_->def->gradient.keeps.numbers &&
                         IsNamed(value.name) && !groups_->IsJoined(PlaceOf(node_id_));
  if (is_folded || is_tensor || (IsOwn(root) && trained_.contains(*value.producer))) {
    if (numbers_.insert(root).second) More(SizeOf(*in_.FactOf(root)));
  }
}

// True if the current call has this name among its arguments, or if the file states no calls.
bool SavedWalk::IsNamed(absl::string_view name) const {
  const bool states_call =
      exporter::NodeMetadata(model_.node(node_id_).metadata).fx_node.has_value();
  return !states_call || NamesOfCall().contains(name);
}

// Read once for each node.
const absl::flat_hash_set<absl::string_view>& SavedWalk::NamesOfCall() const {
  if (call_names_.node != node_id_) {
    call_names_ = {node_id_, {}, std::nullopt};
    const auto text = exporter::NodeMetadata(model_.node(node_id_).metadata).fx_node;
    for (absl::string_view name : exporter::FxNames(text.value_or(""))) {
      call_names_.names.insert(name);
    }
  }
  return call_names_.names;
}

// Saves constants that PyTorch computed and the exporter folded: tables of angles, masks. Numbers
// are not tensors. An input of a call of several nodes, or of a call that names a buffer, was a
// parameter or buffer.
void SavedWalk::KeepConstant(ValueId value) {
  const TensorId id = *model_.value(value).initializer;
  const Tensor& tensor = model_.tensor(id);
  if (signature_.IsParameter(tensor.name) || signature_.IsBuffer(tensor.name)) return;
  if (roles_[static_cast<size_t>(id)] != resolve::TensorRole::kConstant) {
    const auto call = exporter::NodeMetadata(model_.node(node_id_).metadata).fx_node;
    const bool is_made = exporter::IsViewOfMade(signature_, call.value_or(""), tensor);
    if (is_made && IsFloat(tensor.dtype)) NoteUnknown(node_id_, kBufferOrMade);
    return;
  }
  if (!IsFloat(tensor.dtype) && tensor.dtype != DType::kBool) return;
  if (tensor.elements <= 1 || is_of_parameters_) return;
  const bool is_told = groups_->StateCalls() && !exporter::IsFoldedView(tensor.name) &&
                       !exporter::IsFoldedCast(tensor.name);
  if (!is_told) return NoteUnknown(node_id_, kBufferOrMade);
  const Expr bytes = CeilDiv(Expr(tensor.elements) * BitsPerElement(tensor.dtype), 8);
  if (constants_kept_.insert(id).second) constants_.Add(bytes);
  const absl::string_view equal = EqualConstant(tensor.name);
  if (!equal.empty() && left_out_.insert(equal).second) constants_.Add(bytes);
}

// The name in the call that the exporter replaced by this equal constant. PyTorch holds both,
// unless one is a view. Empty if there is no such name, or more than one.
absl::string_view SavedWalk::EqualConstant(absl::string_view name) const {
  const auto [op, number] = exporter::SplitFxName(name);
  if (!exporter::IsFoldedName(name) || exporter::IsViewName(name) || IsNamed(name)) return {};
  absl::string_view equal;
  for (absl::string_view other : NamesOfCall()) {
    if (names_.contains(other) || exporter::SplitFxName(other).first != op) continue;
    if (!equal.empty()) return {};
    equal = other;
  }
  return equal;
}

// Keeps the value as a tensor whose first `axes` axes are joined.
void SavedWalk::KeepAs(ValueId value, Shape shape, const std::vector<Expr>& strides, int axes) {
  Shape as_needed = {shape.Product(0, axes)};
  for (int d = axes; d < shape.rank(); ++d) as_needed.push_back(shape[d]);
  if (strides.empty() || ViewStrides(shape, strides, as_needed)) return Keep(value);
  const DType type = in_.FactOf(value) == nullptr ? DType::kFloat32 : in_.FactOf(value)->dtype;
  KeepCopy(value, SizeOf(Fact::Tensor(type, std::move(shape))));
}

// Each call copies for itself.
void SavedWalk::KeepCopy(ValueId value, const Expr& bytes) {
  if (copies_.insert({node_id_, value}).second) More(bytes);
}

// A value that is only inside of a call of PyTorch is not kept.
void SavedWalk::KeepOf(size_t place, ValueId value) {
  const int32_t group = groups_->Of(place);
  const ValueId root = storages_.Of(value).root;
  // A value of another call is in the memory of that call's result.
  const bool is_own = IsOwn(root) && groups_->Of(PlaceOf(*model_.value(root).producer)) == group;
  if (!is_own || !groups_->IsInner(root)) {
    const bool is_activation = !model_.value(root).initializer && !IsNumber(in_.FactOf(root));
    if (group >= 0 && is_activation) dropped_[group].second = true;
    return Keep(value);
  }
  dropped_[group].first = true;
}

// Operands that PyTorch itself casts are saved before the cast. In TorchScript such casts of a mask
// look like the module's own casts, which are more frequent.
ValueId SavedWalk::BeforePromotion(ValueId value) {
  if (!IsOwn(value) || IsNumber(in_.FactOf(value))) return value;
  const NodeId maker = *model_.value(value).producer;
  const Node& node = model_.node(maker);
  const Call& run = in_.call(calls_.at(maker));
  if (run.def == nullptr || !Has(run.def->traits, Traits::kCasts) || !node.input(0)) return value;
  const bool to_float = IsFloat(in_.fact(run.outputs[0]).dtype);
  if (!to_float || IsFloat(in_.fact(run.inputs[0]).dtype)) return value;
  const std::optional<absl::string_view> text = exporter::NodeMetadata(node.metadata).fx_node;
  if (!text) NoteUnknown(node_id_, kMaskOrCast);
  return text && exporter::IsPromotion(*text) ? *node.inputs[0] : value;
}

}  // namespace onnxflops::memory
