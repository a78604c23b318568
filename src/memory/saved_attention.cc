// How it works. The math kernel of attention saves scaled queries and keys, values and scores. The
// flash kernel saves queries, keys, values, the output and a number per row; attention that a file
// writes as products is found as a pattern (attention_pattern.h) and then treated as one call.
//
// The call saves its own arguments, so the code goes back from the products through scales, views
// and repeats that belong to the call. Heads repeated before the call are copies; heads repeated
// inside it are not. A mask of the size of the scores is saved as numbers if the caller passed it;
// the causal mask of the operator itself is not. TorchScript files do not show who made a constant
// mask, so it is noted as unknown.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/op_def.h"
#include "ops/rules.h"
#include "src/exporter/causal_mask.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/packed_projection.h"
#include "src/exporter/tensor_name.h"
#include "src/graph/model.h"
#include "src/memory/saved_walk.h"
#include "src/memory/unsure.h"
#include "src/symbolic/expr.h"
#include "src/training/attention_pattern.h"

namespace onnxflops::memory {

// The queries of the attention whose output this node gives, if it is treated as flash and the
// order of their elements may differ from that of their shape.
OptionalValueId SavedWalk::FlashQueries(NodeId id, const Call& call) const {
  const auto flash = flash_inside_.find(id);
  if (flash == flash_inside_.end()) {
    const bool is_attention = call.def != nullptr && call.def->gradient.keeps.scores;
    return flash_ && is_attention ? model_.node(id).input(0) : kNone;
  }
  if (flash->second->output != id) return kNone;
  const Node& scores = model_.node(flash->second->scores);
  const absl::string_view queries = exporter::ParseFxArgs(AttentionCall(scores)).Arg(0);
  if (exporter::IsOfWrittenRmsNorm(exporter::FxValueName(queries))) return kNone;
  const OptionalNodeId maker = model_.value(*scores.inputs[0]).producer;
  if (!maker || !IsOwn(*scores.inputs[0])) return scores.inputs[0];
  const Node& last = model_.node(*maker);
  const std::optional<size_t> scaled = ScaledInput(last, in_.call(calls_.at(*maker)));
  return scaled ? last.inputs[*scaled] : scores.inputs[0];
}

// The number of all scores of attention, also of pairs that a causal mask hides and --causal half
// leaves out.
Expr SavedWalk::ScoresOf(const Node& node, const Census& forward) const {
  if (!counts_.cost(CallIdOf(node)).causal) return forward[Kind::kExp];
  absl::InlinedVector<const Fact*, 8> inputs, outputs;
  for (FactId fact : call_->inputs) inputs.push_back(&in_.fact(fact));
  for (FactId fact : call_->outputs) outputs.push_back(&in_.fact(fact));
  const NodeView view(model_, node, *call_->def, call_->opset, inputs, outputs, nullptr,
                      call_->call_attributes, CausalCounting::kFull);
  const absl::StatusOr<Cost> cost = call_->def->count(view);
  return cost.ok() ? cost->flops[Kind::kExp] : forward[Kind::kExp];
}

// A mask of the sizes of the scores: flash attention keeps it as numbers.
void SavedWalk::KeepMask(const Node& node) {
  constexpr size_t kMask = 3;
  const Fact* mask = node.input(kMask) ? FactOfInput(node, kMask) : nullptr;
  if (mask == nullptr || !mask->is_tensor() || !mask->shape.ranked()) return;
  if (mask->shape.rank() >= 2) More(mask->shape.NumElements() * kStatisticBytes);
  const std::optional<absl::string_view> call = exporter::NodeMetadata(node.metadata).fx_node;
  const bool is_for_export = InitializerOf(node.input(kMask)) && HasMaskOfExport(call.value_or(""));
  if (is_for_export) NoteUnknown(node_id_, kMaskOfExport);
}

// As composed by PyTorch: queries and keys times the square root of the scale, which are new
// tensors, and values, repeated for groups of heads. False if these cannot be told apart.
bool SavedWalk::KeepMathAttention(const Node& node) {
  if (!node.input(0) || !node.input(1) || !node.input(2)) return false;
  const Fact& queries = in_.fact(call_->inputs[0]);
  const Fact& keys = in_.fact(call_->inputs[1]);
  const Fact& values = in_.fact(call_->inputs[2]);
  if (!queries.shape.ranked() || !keys.shape.ranked() || !values.shape.ranked()) return false;
  const int rank = queries.shape.rank();
  if (rank < 3 || keys.shape.rank() != rank || values.shape.rank() != rank) return false;
  const int heads = rank == 4 ? 1 : 2;
  const auto groups = DivideExactly(queries.shape[heads], keys.shape[heads]);
  if (!groups) return false;
  More(SizeOf(queries) + SizeOf(keys) * *groups);
  if (*groups == Expr(1) && rank == 4) {
    const Shape batch({values.shape[0] * values.shape[1], values.shape[2], values.shape[3]});
    if (storages_.CanView(*node.inputs[2], values.shape, batch)) {
      Keep(*node.inputs[2]);
      return true;
    }
  }
  More(SizeOf(values) * *groups);
  return true;
}

// Written-out attention as one operator: queries, keys and values as they are before they are
// repeated for groups of heads, the output, and a number per row.
void SavedWalk::KeepFlash(const training::AttentionPattern& pattern) {
  const Node& scores = model_.node(pattern.scores);
  const Node& output = model_.node(pattern.output);
  const absl::string_view call = AttentionCall(scores);
  const bool is_for_export =
      HasMaskOfExport(call) &&
      std::any_of(pattern.beside.begin(), pattern.beside.end(), [&](ValueId value) {
        return model_.value(value).initializer && !IsNumber(in_.FactOf(value));
      });
  const auto before = [&](ValueId value) {
    const ValueId argument = BeforeCall(value, scores);
    return is_for_export ? BeforeRepeat(argument) : argument;
  };
  KeepArgument(BeforeCall(*scores.inputs[0], scores), call, 0);
  KeepArgument(before(*scores.inputs[1]), call, 1);
  KeepArgument(before(*output.inputs[1]), call, 2);
  const absl::string_view queries = exporter::ParseFxArgs(call).Arg(0);
  if (exporter::IsOfWrittenRmsNorm(exporter::FxValueName(queries))) {
    NoteUnknown(pattern.output, kOrderOfNorm);
  }
  Keep(*output.outputs[0]);
  const Shape& query = in_.fact(in_.call(pattern.scores_call).inputs[0]).shape;
  More(query.Product(0, query.rank() - 1) * kStatisticBytes);
  KeepMaskBeside(pattern, scores);
}

// The text of the call, if the file states that it is attention as one operator.
absl::string_view SavedWalk::AttentionCall(const Node& node) {
  const std::optional<absl::string_view> call = exporter::NodeMetadata(node.metadata).fx_node;
  return call && exporter::IsFxAttention(*call) ? *call : absl::string_view();
}

// Saves a mask that the caller passed. TorchScript's files do not show who made a constant; usually
// it is the causal mask of the operator itself.
void SavedWalk::KeepMaskBeside(const training::AttentionPattern& pattern, const Node& scores) {
  constexpr size_t kMask = 3;
  const absl::string_view call = AttentionCall(scores);
  const bool given = exporter::ParseFxArgs(call).Has(kMask, "attn_mask");
  if (exporter::NodeMetadata(scores.metadata).fx_node && !given) return;
  for (ValueId value : pattern.beside) {
    const Fact* fact = in_.FactOf(value);
    if (fact == nullptr || !fact->is_tensor() || !IsFloat(fact->dtype) || IsNumber(fact)) continue;
    if (!given && (model_.value(value).initializer || IsStored(value))) {
      return NoteUnknown(pattern.output, kMaskOfFlash);
    }
    const bool is_made = !given && (fact->constant || fact->from_shapes);
    if (is_made && exporter::IsCausalMask(model_, value)) continue;
    if (!fact->shape.ranked() || fact->shape.rank() < 2) continue;
    if (is_made) return NoteUnknown(pattern.output, kMaskOfFlash);
    if (!model_.value(value).initializer) return KeepArgument(value, call, kMask);
    if (HasMaskOfExport(call)) return NoteUnknown(pattern.output, kMaskOfExport);
    if (exporter::IsFoldedName(model_.value(value).name)) More(SizeOf(*fact));  // no buffer
    return;
  }
}

bool SavedWalk::HasMaskOfExport(absl::string_view call) {
  constexpr size_t kMask = 3;
  return exporter::IsExpandedName(
      exporter::FxValueName(exporter::ParseFxArgs(call).Get(kMask, "attn_mask")));
}

// Keys or values before their repetition for groups of heads, or the value itself. transformers
// repeats them only if there is a mask.
ValueId SavedWalk::BeforeRepeat(ValueId value) const {
  constexpr int kMost = 4;  // unsqueeze, expand, clone, reshape
  const Fact* repeated = in_.FactOf(value);
  ValueId at = value;
  for (int i = 0; i < kMost && repeated != nullptr && IsOwn(at); ++i) {
    const Node& node = model_.node(*model_.value(at).producer);
    const Call& run = in_.call(calls_.at(*model_.value(at).producer));
    const bool moves = run.def != nullptr && (Has(run.def->traits, Traits::kView) ||
                                              Has(run.def->traits, Traits::kStrided));
    if (!moves || !node.input(0)) return value;
    at = *node.inputs[0];
    const Fact* fact = in_.FactOf(at);
    const bool is_sized = fact != nullptr && fact->is_tensor() && fact->shape.ranked() &&
                          repeated->is_tensor() && repeated->shape.ranked();
    if (!is_sized) return value;
    const auto times = DivideExactly(repeated->shape.NumElements(), fact->shape.NumElements());
    if (times && *times != Expr(1)) return at;
  }
  return value;
}

// Saves an argument. If it was broadcast, for example over heads, and has another name in the call,
// it got another shape there, for which PyTorch copies it.
void SavedWalk::KeepArgument(ValueId value, absl::string_view call, size_t i) {
  constexpr absl::string_view kNames[] = {"query", "key", "value", "attn_mask"};
  constexpr int kRankOfRepeated = 5;  // batch, heads, times that each is there, rows, width
  const std::vector<Expr>& strides = storages_.Of(value).strides;
  const Fact* fact = in_.FactOf(value);
  const bool is_spread = std::find(strides.begin(), strides.end(), Expr(0)) != strides.end();
  const absl::string_view name =
      exporter::FxValueName(exporter::ParseFxArgs(call).Get(i, kNames[i]));
  const absl::string_view own_name = model_.value(value).name;
  const bool is_equal_call =
      exporter::SplitFxName(name).first == exporter::SplitFxName(own_name).first;
  if (!is_spread || fact == nullptr || is_equal_call) return Keep(value);
  const Shape& shape = fact->shape;
  if (shape.rank() == kRankOfRepeated) {  // for one head, it is a view
    const Shape joined = {shape[0], shape[1] * shape[2], shape[3], shape[4]};
    if (ViewStrides(shape, strides, joined)) return Keep(value);
  }
  KeepCopy(value, SizeOf(*fact));
}

// The value before the PyTorch call of the node: without the call's scaling and repetition. In
// files that name no calls, only without the scaling. If a file states attention as products and it
// is run as one call here, that call repeats heads itself (enable_gqa).
ValueId SavedWalk::BeforeCall(ValueId value, const Node& of) const {
  const absl::string_view call = AttentionCall(of);
  while (IsOwn(value)) {
    const NodeId maker = *model_.value(value).producer;
    const Node& node = model_.node(maker);
    const Call& run = in_.call(calls_.at(maker));
    if (run.def == nullptr || !node.input(0) || exporter::IsPackedProjection(node)) break;
    if (!call.empty() && AttentionCall(node) != call) break;
    if (Has(run.def->traits, Traits::kView) || Has(run.def->traits, Traits::kStrided)) {
      const bool is_copy = storages_.Of(value).root == value;
      if (is_copy && call.empty() && !groups_->StateCalls()) break;
      value = *node.inputs[0];
      continue;
    }
    const std::optional<size_t> scaled = ScaledInput(node, run);
    if (!scaled) break;
    value = *node.inputs[*scaled];
  }
  return value;
}

// The other factor of a product or quotient with a number.
std::optional<size_t> SavedWalk::ScaledInput(const Node& node, const Call& call) const {
  if (call.def == nullptr) return std::nullopt;
  const Gradient& gradient = call.def->gradient;
  if (!gradient.broadcast || !gradient.keeps.crosswise || node.inputs.size() != 2) {
    return std::nullopt;
  }
  for (size_t i : {size_t{0}, size_t{1}}) {
    if (node.inputs[i] && node.inputs[1 - i] && IsNumber(&in_.fact(call.inputs[1 - i]))) return i;
  }
  return std::nullopt;
}

}  // namespace onnxflops::memory
