// A dynamo export states for each node the call of PyTorch that it is of. Where that call keeps
// something else than the operators that the exporter made of it, the call decides. In
// TorchScript's files patterns of nodes (ops/call_patterns.h) are recognised as one call.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/call_patterns.h"
#include "ops/op_def.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/tensor_name.h"
#include "src/graph/model.h"
#include "src/memory/call_groups.h"
#include "src/memory/saved_walk.h"
#include "src/memory/unsure.h"

namespace onnxflops::memory {

// What the exporter folded or merged.
void SavedWalk::NoteWhatIsOpen(const Node& node, size_t place) {
  const char* why =
      groups_->IsJoined(place) ? nullptr : WhyFoldedKeepsMore(in_, storages_, node, *call_);
  if (why != nullptr) NoteUnknown(node_id_, why);
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

// Whether that is all that the node keeps.
bool SavedWalk::KeepOfPattern(const CallPattern& pattern, const Node& node, size_t place) {
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

// The same by the call that the node states, if it is one of those that the exporter makes of
// operators which keep something else.
bool SavedWalk::KeepOfCall(const Node& node) {
  const auto text = exporter::NodeMetadata(node.metadata).fx_node;
  if (!text) return false;
  const bool is_result = node.output(0) && !groups_->IsInner(*node.outputs[0]);
  if (exporter::KeepsItsResult(*text)) {
    if (is_result) Keep(*node.outputs[0]);
    return true;
  }
  if (exporter::KeepsFirstArgument(*text)) {
    const auto value = names_.find(exporter::FxValueName(exporter::ParseFxArgs(*text).Arg(0)));
    if (value == names_.end()) return false;
    if (is_result) Keep(value->second);
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
    } else if (node.input(kUpdates)) {  // without a name of its own
      Keep(*node.inputs[kUpdates]);
    }
    return true;
  }
  if (!exporter::KeepsItsInputs(*text)) return false;
  for (OptionalValueId value : node.inputs) {
    if (!value || model_.value(storages_.Of(*value).root).initializer) continue;
    const OptionalNodeId maker = model_.value(*value).producer;
    const auto other = maker ? exporter::NodeMetadata(model_.node(*maker).metadata).fx_node
                             : std::optional<absl::string_view>();
    if (other != text) Keep(*value);
  }
  return true;
}

// Of those that the exporter computed, an arange is known by its rows.
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

// A convolution keeps what was padded before it, where the exporter made one of both.
bool SavedWalk::KeepPadded(const Node& node, const std::string& needed) {
  const auto text = exporter::NodeMetadata(node.metadata).fx_node;
  if (!text || !exporter::ReadsPadded(*text) || needed.size() < 2 || needed[1] == 0) return false;
  constexpr size_t kOwnPadding = 4;
  const Fact& x = in_.fact(call_->inputs[0]);
  const Attribute* pads = node.FindAttribute("pads");
  const bool has_own = !exporter::ParseFxArgs(*text).Arg(kOwnPadding).empty();
  const int axes = x.is_tensor() && x.shape.ranked() ? x.shape.rank() - 2 : 0;
  const bool fits = pads != nullptr && static_cast<int>(pads->ints.size()) == 2 * axes;
  if (has_own || axes < 1 || !fits) {
    NoteUnknown(node_id_, kPadded);
    return false;
  }
  Shape padded = {x.shape[0], x.shape[1]};
  for (int d = 0; d < axes; ++d) {
    const auto i = static_cast<size_t>(d);
    padded.push_back(x.shape[d + 2] + pads->ints[i] + pads->ints[i + static_cast<size_t>(axes)]);
  }
  KeepCopy(*node.inputs[0], SizeOf(Fact::Tensor(x.dtype, std::move(padded))));
  return true;
}

// Exported as it runs in evaluation.
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

// The exporter folded a BatchNorm into the convolution. It is there in training: it keeps what
// the convolution gives, and mean and deviation of each channel. TorchScript then names weight
// and bias anew.
void SavedWalk::KeepFoldedNorm(const Node& node) {
  const auto is_renamed = [&](size_t i) {
    return node.input(i) && exporter::IsRenamedFor(node.op_type, model_.value(*node.input(i)).name);
  };
  const bool is_fused = exporter::NodeMetadata(node.metadata).IsFusedBatchNorm();
  if (call_->def->gradient.products == 0 || call_->def->gradient.keeps.batched) return;
  if (is_renamed(1) && !is_renamed(2)) NoteUnknown(node_id_, kComputedWeight);
  if (!is_fused && !(is_renamed(1) && is_renamed(2))) return;
  const Fact& made = in_.fact(call_->outputs[0]);
  if (!made.is_tensor() || !made.shape.ranked() || made.shape.rank() < 2) return;
  More(SizeOf(made) + made.shape[1] * (2 * kStatisticBytes));
}

}  // namespace onnxflops::memory
