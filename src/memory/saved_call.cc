// A dynamo export names the PyTorch call of each node. If that call saves other tensors than its
// exported operators would, the call decides. In TorchScript files patterns of nodes
// (ops/call_patterns.h) are recognised as one call.
//
// How it works. Each function here handles one such difference, found by comparing what PyTorch
// saves with what the exported nodes would save: a pooling that became means, a cosine similarity
// that became products, padding that was merged into its convolution, a BatchNorm that was folded
// into weights. The tensors of the call are held once, at the last node of the group.
//
// Some steps existed in training and are missing in the file: a folded BatchNorm, a lookup or a
// product that the exporter computed, a merged pair of equal calls, a dropout that was off. If
// names or the signature reveal the step, its bytes are added. Otherwise the node is noted as
// unknown with the reason, so that the figure is marked and not silently too small.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/call_patterns.h"
#include "ops/op_def.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/signature.h"
#include "src/exporter/tensor_name.h"
#include "src/graph/model.h"
#include "src/memory/call_groups.h"
#include "src/memory/saved_walk.h"
#include "src/memory/unsure.h"

namespace onnxflops::memory {

// Notes calls that the exporter folded or merged.
void SavedWalk::NoteWhatIsOpen(const Node& node, size_t place) {
  const char* why = groups_->IsJoined(place)
                        ? nullptr
                        : WhyFoldedKeepsMore(in_, storages_, signature_, node, *call_);
  const bool is_lookup = why == kLookedUp && NoteLookup(node);
  // Where no buffer holds places, PyTorch made them.
  const bool is_known = (is_lookup && signature_.is_stated() && !signature_.HasPlaces()) ||
                        (why == kFoldedProduct && KeepFirstState(node));
  if (why != nullptr && !is_known) NoteUnknown(node_id_, why);
  if (!groups_->StateCalls()) return;
  if (exporter::IsProductName(LeftOutBefore(node))) NoteUnknown(node_id_, kLeftOut);
  const MergedCalls merged(model_, node);
  for (OptionalValueId value : node.inputs) {
    if (!value || storages_.Of(*value).root != *value || !merged.Made(*value)) continue;
    const absl::string_view name = merged.NameOf(*value);
    if (!name.empty()) merged_names_[*value] = name;
    const bool keeps_more = name.empty() || trained_.contains(*model_.value(*value).producer);
    if (keeps_more) merged_.emplace(*value, node_id_);
  }
}

// torch.export writes a plain recurrent layer as its steps, and precomputes the product of the
// state's weights with an initial state of zeros: as many numbers as the state has.
bool SavedWalk::KeepFirstState(const Node& node) {
  if (!IsOfClass(node, "RNN") && !IsOfClass(node, "RNNCell")) return false;
  for (OptionalValueId value : node.inputs) {
    const OptionalTensorId id = InitializerOf(value);
    if (id && exporter::IsFoldedProduct(model_.tensor(*id).name)) KeepWeight(*id, true, 0);
  }
  return true;
}

// True if a name shows that the tensor is the result of a lookup. Without such a name it may still
// be one, or be made of numbers, such as biases of heads. In TorchScript's files, only an index
// along one axis is a lookup.
bool SavedWalk::NoteLookup(const Node& node) {
  const auto module = exporter::ModuleOfNode(node);
  bool is_named = false;
  for (OptionalValueId value : node.inputs) {
    const OptionalTensorId id = InitializerOf(value);
    if (!id) continue;
    const Tensor& tensor = model_.tensor(*id);
    if (!IsFloat(tensor.dtype) || tensor.elements <= 1) continue;
    const bool by_name = exporter::IsFoldedLookup(tensor.name);
    is_named |= by_name;
    const ValueId root = storages_.Of(*value).root;
    const bool may_be = by_name || signature_.HasUnnamed() || !groups_->StateCalls();
    if (!may_be || !looked_up_.insert(root).second) continue;
    if (groups_->StateCalls()) {
      lookups_[module ? module->path : absl::string_view()].push_back(root);
    } else if (tensor.dims.size() == 2) {
      constants_.Add(Expr(PlacesOfLookup(tensor)) * kPlaceBytes);
    }
  }
  return is_named;
}

// Lookups by a buffer of places keep nothing more: of a module, as many as it has such buffers, the
// smallest first. From transformers' token_type_ids places are gathered, for one row of the batch.
void SavedWalk::KeepLookups() {
  for (auto& [module, values] : lookups_) {
    size_t holders = 0, gathered = 0;
    for (absl::string_view buffer : signature_.PlacesOf(module)) {
      ++(absl::EndsWith(buffer, "token_type_ids") ? gathered : holders);
    }
    std::vector<int64_t> places;
    for (ValueId value : values) {
      const Tensor& tensor = model_.tensor(*model_.value(value).initializer);
      const int64_t batch = gathered > 0 && tensor.dims.size() > 2 ? tensor.dims[0] : 1;
      places.push_back(PlacesOfLookup(tensor) / std::max<int64_t>(batch, 1));
    }
    std::sort(places.begin(), places.end());
    for (size_t i = holders; i < places.size(); ++i) constants_.Add(Expr(places[i]) * kPlaceBytes);
  }
}

// TorchScript merges equal calls. Calls on parameters alone may be equal in several places of a
// module, and so may calls of modules with the same input.
void SavedWalk::NoteMergedCalls() {
  for (NodeId id : ReadersOfOtherModules(model_, *graph_)) {
    if (trained_.contains(id)) NoteUnknown(id, kMerged);
  }
  absl::flat_hash_map<ValueId, int> readers;
  for (NodeId id : graph_->nodes) {
    for (OptionalValueId value : model_.node(id).inputs) {
      if (value) ++readers[*value];
    }
  }
  for (NodeId id : trained_) {
    const Node& node = model_.node(id);
    const bool is_of_parameters =
        std::all_of(node.inputs.begin(), node.inputs.end(), [&](OptionalValueId value) {
          return !value || model_.value(*value).initializer || IsNumber(in_.FactOf(*value));
        });
    if (!is_of_parameters || !node.output(0) || readers[*node.outputs[0]] < 2) continue;
    const ValueId made = *node.outputs[0];
    if (storages_.Of(made).root == made && roots_.contains(made)) NoteUnknown(id, kMerged);
  }
}

// Returns true if the node saves nothing else.
bool SavedWalk::KeepOfPattern(const CallPattern& pattern, const Node& node, size_t place) {
  if (pattern.module != nullptr && IsOfClass(node, pattern.module)) {
    if (groups_->IsLast(place)) Keep(groups_->InputOf(place));
    return true;
  }
  if (groups_->IsLast(place)) {
    if (pattern.more != nullptr) NoteUnknown(node_id_, pattern.more);
    const bool by_hand = pattern.by_hand != nullptr && !groups_->IsModule(place);
    if (by_hand) NoteUnknown(node_id_, pattern.by_hand);
    const bool may_be = pattern.by_hand != nullptr && !by_hand && kept_here_ != nullptr;
    if (may_be) may_be_written_.push_back(node_id_);
  }
  switch (pattern.keeps) {
    case CallPattern::Keeps::kInputs:
    case CallPattern::Keeps::kWritten:
      return false;
    case CallPattern::Keeps::kBoth:
      if (groups_->IsLast(place)) {
        Keep(groups_->InputOf(place));
        Keep(*node.outputs[0]);
      }
      return true;
    case CallPattern::Keeps::kCosine:
      KeepCosine(node, place);
      return true;
    case CallPattern::Keeps::kBuffer:
      if (groups_->IsLast(place)) {
        Keep(groups_->InputOf(place));
        More(Bytes(groups_->InputOf(place)));
      }
      return true;
    case CallPattern::Keeps::kNothing:
    case CallPattern::Keeps::kGuard:
      return true;
    case CallPattern::Keeps::kResult:
      if (groups_->IsLast(place)) Keep(*node.outputs[0]);
      return true;
    case CallPattern::Keeps::kRows:
      if (groups_->IsLast(place)) {
        Keep(groups_->InputOf(place));
        More(Bytes(groups_->RowsOf(place)) * 2);
      }
      return true;
  }
  return false;
}

// True for parameters, too.
bool SavedWalk::NeedsGradient(ValueId value) const {
  const Value& root = model_.value(storages_.Of(value).root);
  if (root.initializer) return IsFloat(model_.tensor(*root.initializer).dtype);
  const OptionalNodeId maker = model_.value(value).producer;
  return maker && trained_.contains(*maker);
}

// cosine_similarity divides both sides by clones of their norms, and multiplies them. For the
// gradient of a side it saves the side, its norm twice, and the other side after division. The
// output has as many numbers as a side has norms.
void SavedWalk::KeepCosine(const Node& node, size_t place) {
  constexpr int kNorms = 2;
  if (!groups_->IsLast(place)) return;
  const ValueId x = groups_->InputOf(place), y = groups_->OtherOf(place);
  for (const auto& [side, other] : {std::pair(x, y), std::pair(y, x)}) {
    if (!NeedsGradient(side)) continue;
    Keep(side);
    More(Bytes(other) + Bytes(*node.outputs[0]) * kNorms);
  }
  if (Bytes(x) != Bytes(y)) NoteUnknown(node_id_, kSpreadCosine);
}

bool SavedWalk::IsOfClass(const Node& node, absl::string_view name) {
  const auto module = exporter::ModuleOfNode(node);
  return module && module->type == name;
}

// If the output sizes of an adaptive pool do not divide the input's, torch.export writes means of
// indexed elements. PyTorch's own pool saves its input.
bool SavedWalk::KeepOfAdaptivePool(const Node& node, absl::string_view call) {
  if (!exporter::TakesPartsOfPool(call)) return false;
  const auto module = exporter::ModuleOfNode(node);
  if (!module || !absl::StartsWith(module->type, "AdaptiveAvgPool")) return false;
  const auto value = names_.find(exporter::FxValueName(exporter::ParseFxArgs(call).Arg(0)));
  if (value != names_.end() && !exporter::PlacesOfIndex(call).empty()) Keep(value->second);
  return true;
}

// Saves the tensors of the named call, if its exported operators would save others.
bool SavedWalk::KeepOfCall(const Node& node) {
  const auto text = exporter::NodeMetadata(node.metadata).fx_node;
  if (!text) return false;
  if (KeepOfAdaptivePool(node, *text)) return true;
  const bool is_result = node.output(0) && !groups_->IsInner(*node.outputs[0]);
  if (const std::optional<exporter::FxKept> kept = exporter::KeptByCall(*text)) {
    const std::optional<std::vector<ValueId>> arguments = ArgumentsOf(*kept, *text);
    if (!arguments) return false;
    if (is_result && kept->result) Keep(*node.outputs[0]);
    for (ValueId value : *arguments) {
      if (is_result) Keep(value);
    }
    return true;
  }
  if (const auto places = exporter::PlacesOfIndex(*text); !places.empty()) {
    if (is_result) KeepPlacesOfIndex(places);
    return true;
  }
  if (const auto places = exporter::PlacesOfAddition(*text); !places.empty()) {
    const auto added = names_.find(exporter::FxValueName(exporter::ParseFxArgs(*text).Arg(2)));
    constexpr size_t kUpdates = 2;
    if (is_result) KeepPlacesOfIndex(places);
    if (added != names_.end()) {
      if (is_result) Keep(added->second);
    } else if (node.input(kUpdates)) {  // without its own name
      Keep(*node.inputs[kUpdates]);
    }
    return true;
  }
  return false;
}

// The arguments that a call saves, except parameters, which exist anyway. nullopt if the file has
// another name for one.
std::optional<std::vector<ValueId>> SavedWalk::ArgumentsOf(const exporter::FxKept& kept,
                                                           absl::string_view call) const {
  const exporter::FxArgs args = exporter::ParseFxArgs(call);
  const auto needs_gradient = [&](size_t i) {
    const absl::string_view name = exporter::FxValueName(args.Arg(i));
    const auto made = names_.find(name);
    return absl::StartsWith(name, exporter::kFxParameterName) ||
           (made != names_.end() && NeedsGradient(made->second));
  };
  std::vector<ValueId> found;
  for (const auto& [argument, needed] : kept.arguments) {
    if (needed && !needs_gradient(*needed)) continue;
    const absl::string_view name = exporter::FxValueName(args.Arg(argument));
    if (name.empty() || exporter::IsFxPlaceholder(name)) continue;
    const auto value = names_.find(name);
    if (value == names_.end()) return std::nullopt;
    found.push_back(value->second);
  }
  return found;
}

// Keeps the indices of an index call. Of those that the exporter folded, only an arange can be
// found again, by its shape.
void SavedWalk::KeepPlacesOfIndex(const std::vector<absl::string_view>& places) {
  const CallGroups& groups = *groups_;
  const int32_t group = groups.Of(PlaceOf(node_id_));
  bool is_open = false, has_arange = false;
  for (absl::string_view name : places) {
    const auto value = names_.find(name);
    if (value != names_.end()) {
      Keep(value->second);
      is_open |=
          in_.FactOf(value->second) != nullptr && in_.FactOf(value->second)->dtype == DType::kBool;
    } else if (exporter::SplitFxName(name).first == "arange" && !has_arange) {
      has_arange = true;
    } else {
      is_open |= !exporter::IsFxPlaceholder(name);
    }
  }
  for (size_t i : has_arange ? groups.Members(group) : absl::Span<const size_t>()) {
    for (FactId id : in_.call(instance_->calls[i]).inputs) {
      const Fact& fact = in_.fact(id);
      const bool is_part = fact.constant && fact.is_tensor() && fact.dtype == DType::kInt64 &&
                           fact.shape.ranked() && fact.shape.rank() >= 2;
      if (is_part) More(SizeOf(fact));
    }
  }
  if (is_open) NoteUnknown(node_id_, kPlaces);
}

// If the exporter joined a padding with its convolution, PyTorch keeps the padded input. If a
// folded BatchNorm hides the convolution's call, equal padding on both sides may be its own.
bool SavedWalk::KeepPadded(const Node& node) {
  if (!IsConvolution(node)) return false;
  const exporter::NodeMetadata metadata(node.metadata);
  const auto text = metadata.fx_node;
  if (!text) return KeepPaddedToSame(node);
  const bool is_hidden = metadata.IsFusedPad() && metadata.IsFusedBatchNorm();
  if (!is_hidden && !exporter::ReadsPadded(*text)) return false;
  const Fact& x = in_.fact(call_->inputs[0]);
  const Attribute* pads = node.FindAttribute("pads");
  const int axes = x.is_tensor() && x.shape.ranked() ? x.shape.rank() - 2 : 0;
  const std::vector<int64_t> own = exporter::PaddingOfConvolution(*text, axes);
  const bool fits = pads != nullptr && static_cast<int>(pads->ints.size()) == 2 * axes;
  if (axes < 1 || !fits || (!is_hidden && own.empty())) {
    NoteUnknown(node_id_, kPadded);
    return false;
  }
  Shape padded = {x.shape[0], x.shape[1]};
  for (int d = 0; d < axes; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t before = pads->ints[i], behind = pads->ints[i + static_cast<size_t>(axes)];
    padded.push_back(x.shape[d + 2] + before + behind - (is_hidden ? 0 : 2 * own[i]));
    if (is_hidden && std::min(before, behind) > 0) NoteUnknown(node_id_, kPadded);
  }
  KeepCopy(*node.inputs[0], SizeOf(Fact::Tensor(x.dtype, std::move(padded))));
  return true;
}

// TorchScript writes padding="same", whose step is 1, as automatic padding. PyTorch pads one more
// element on one side before a convolution that cannot be padded on both sides alike.
bool SavedWalk::KeepPaddedToSame(const Node& node) {
  const Attribute* automatic = node.FindAttribute("auto_pad");
  if (automatic == nullptr || automatic->s != "SAME_UPPER") return false;
  const Fact& x = in_.fact(call_->inputs[0]);
  const Attribute* kernel = node.FindAttribute("kernel_shape");
  const Attribute* dilations = node.FindAttribute("dilations");
  const bool is_sized = x.is_tensor() && x.shape.ranked() &&
                        x.shape.rank() == static_cast<int>(kernel->ints.size()) + 2;
  if (!is_sized) return false;
  Shape padded = x.shape;
  for (size_t d = 0; d < kernel->ints.size(); ++d) {
    const bool has_step = dilations != nullptr && d < dilations->ints.size();
    const bool is_odd =
        (kernel->ints[d] - 1) % 2 != 0 && (!has_step || dilations->ints[d] % 2 != 0);
    if (is_odd) padded[static_cast<int>(d) + 2] += 1;
  }
  if (padded == x.shape) return false;
  KeepCopy(*node.inputs[0], SizeOf(Fact::Tensor(x.dtype, std::move(padded))));
  return true;
}

// Notes a dropout that was exported as in evaluation: training keeps its mask.
void SavedWalk::NoteDropoutThatIsOff(const Node& node) {
  constexpr size_t kRatio = 1, kMode = 2;
  if (node.input(kMode) || !node.input(kRatio) || !node.input(0)) return;
  const OptionalNodeId maker = model_.value(*node.inputs[0]).producer;
  if (!maker || !trained_.contains(*maker)) return;
  const Fact& ratio = in_.fact(call_->inputs[kRatio]);
  const bool is_zero = ratio.has_content() && !ratio.content->empty() &&
                       (*ratio.content)[0].is_float() && (*ratio.content)[0].f == 0;
  if (!is_zero) NoteUnknown(node_id_, kDropoutOff);
}

// A weight that PyTorch computed from parameters. A matrix product saves it only for the gradient
// of the other factor. weight_norm also saves its norms, and standardizing by batch_norm saves mean
// and deviation of each channel.
void SavedWalk::KeepComputedWeight(const Node& node, const std::string& needed) {
  const uint32_t products = call_->def->gradient.products;
  if (products == 0 || !signature_.HasUnnamed()) return;
  const bool is_normed = exporter::IsWeightNorm(exporter::UnnamedBeside(signature_, node));
  bool is_read = false;
  for (size_t i = 0; i < needed.size() && i < 32; ++i) {
    const bool is_activation = (products >> i & 1) != 0 && !InitializerOf(node.inputs[i]);
    is_read |= is_activation && needed[i] != 0;
  }
  for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
    const bool is_factor = (products >> i & 1) != 0;
    const OptionalTensorId id = is_factor ? InitializerOf(node.inputs[i]) : OptionalTensorId();
    if (!id) continue;
    const Tensor& tensor = model_.tensor(*id);
    const bool is_kept = is_read || tensor.dims.size() > 2;
    if (is_normed) {
      KeepWeight(*id, is_kept, NormsOf(node, tensor));
    } else if (IsComputedKernel(signature_, node, tensor)) {
      KeepWeight(*id, is_kept, Expr(tensor.dims[0]) * 2);
    }
  }
}

// A normalization saves the scale and shift that it is called with. A parameter exists anyway; a
// tensor computed from one, such as 1 + weight, is new memory.
void SavedWalk::KeepComputedScale(const Node& node) {
  for (size_t i : {size_t{1}, size_t{2}}) {
    const OptionalTensorId id = InitializerOf(node.input(i));
    if (!id) continue;
    const absl::string_view name = model_.tensor(*id).name;
    const bool is_there =
        !signature_.is_stated() || signature_.IsParameter(name) || signature_.IsBuffer(name);
    const bool is_computed = groups_->StateCalls() ? !is_there && NamesOfCall().contains(name)
                                                   : exporter::IsRenamedFor(node.op_type, name);
    if (is_computed) KeepWeight(*id, /*is_kept=*/true, 0);
  }
}

OptionalTensorId SavedWalk::InitializerOf(OptionalValueId value) const {
  if (!value) return kNone;
  return model_.value(storages_.Of(*value).root).initializer;
}

// By default one norm for each output channel; for a grouped kernel one for each position, as in
// wav2vec 2.0.
Expr SavedWalk::NormsOf(const Node& node, const Tensor& weight) const {
  const Fact& made = in_.fact(call_->outputs[0]);
  const bool is_ranked = made.is_tensor() && made.shape.ranked() && made.shape.rank() > 0;
  if (weight.dims.empty() || !is_ranked) return 0;
  if (weight.dims.size() == 2) return made.shape[made.shape.rank() - 1];  // may be transposed
  const Attribute* groups = node.FindAttribute("group");
  const bool is_of_groups = groups != nullptr && groups->i > 1 && weight.dims[1] > 1;
  return weight.dims[is_of_groups ? weight.dims.size() - 1 : 0];
}

void SavedWalk::KeepWeight(TensorId weight, bool is_kept, const Expr& numbers) {
  if (!weights_kept_.insert(weight).second) return;
  const Tensor& tensor = model_.tensor(weight);
  More(numbers * kStatisticBytes);
  if (is_kept) More(CeilDiv(Expr(tensor.elements) * BitsPerElement(tensor.dtype), 8));
}

// The exporter folded a BatchNorm into the convolution. In training it exists: it saves the
// convolution's output, and mean and deviation of each channel. TorchScript then renames weight and
// bias.
void SavedWalk::KeepFoldedNorm(const Node& node) {
  const auto is_renamed = [&](size_t i) {
    return node.input(i) && exporter::IsRenamedFor(node.op_type, model_.value(*node.input(i)).name);
  };
  const bool is_fused = exporter::NodeMetadata(node.metadata).IsFusedBatchNorm();
  if (call_->def->gradient.products == 0 || call_->def->gradient.keeps.batched) return;
  if (is_renamed(1) && !is_renamed(2)) {
    const OptionalTensorId weight = InitializerOf(node.inputs[1]);
    if (weight) KeepWeight(*weight, true, NormsOf(node, model_.tensor(*weight)));
    NoteUnknown(node_id_, kComputedWeight);
  }
  if (!is_fused && !(is_renamed(1) && is_renamed(2))) return;
  const Fact& made = in_.fact(call_->outputs[0]);
  if (!made.is_tensor() || !made.shape.ranked() || made.shape.rank() < 2) return;
  More(SizeOf(made) + made.shape[1] * (2 * kStatisticBytes));
}

}  // namespace onnxflops::memory
