// Runs of nn.MultiheadAttention in a trace.
//
// How it works. The calls of one module that stand together are split into runs at the linear layer
// after the attention (out_proj). For each run it is found which linear layers come before, how
// many heads there are, and whether PyTorch would take its fast path: one native operator, in eval
// mode without gradients, if q, k and v are one tensor, batch comes first, there is a bias, nothing
// is added to the keys, the number of heads is even and no mask of floats is given. A mask that the
// exporter computed may have been booleans, so it leaves the fast path open.
// nn.TransformerEncoderLayer has a fast path of its own, with any mask.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/convention/torch/trace.h"

namespace onnxflops::convention {
namespace {

// The product of weights and values comes after it.
bool IsAttending(const TorchCall& call) {
  return call.op == Aten::kSdpa || call.op == Aten::kSoftmax;
}

// The heads of queries [batch, heads, length, size], or of weights [batch * heads, length, length].
Expr Heads(const Fact& attending, const Fact& query) {
  const Shape& x = ShapeOf(attending);
  const Shape& q = ShapeOf(query);
  constexpr int kQueryRank = 4, kWeightsRank = 3;
  if (!x.ranked() || !q.ranked()) return 1;
  if (x.rank() == kQueryRank) return x[1];
  if (x.rank() == kWeightsRank && q.rank() == 3) return FloorDiv(x[0], q[1]);
  return 1;
}

struct Mask {
  bool is_there = false;
  bool is_filled = false;    // of booleans
  bool is_constant = false;  // which may have been booleans
};

class AttentionFinder {
 public:
  AttentionFinder(const Evidence& evidence, TorchTrace* trace)
      : evidence_(evidence), trace_(*trace) {}

  // A run is consecutive calls of one module, up to the linear layer after the attention. Calls of
  // other modules may be between them if they cost nothing.
  void Run() {
    const std::vector<TorchCall>& calls = trace_.calls;
    trace_.attention_of.assign(calls.size(), -1);
    for (const TorchCall& call : calls) {
      const TorchScope& scope = trace_.scope(call);
      if (scope.encoder_layer < 0 || scope.nn_class != NnClass::kNone) continue;
      const bool is_relu = call.op == Aten::kRelu || call.op == Aten::kGelu;
      bool& has_relu = trace_.encoder_layers[static_cast<size_t>(scope.encoder_layer)].has_relu;
      has_relu = has_relu || is_relu;
    }
    size_t begin = 0;
    while (begin < calls.size()) {
      if (trace_.nn_class(calls[begin]) != NnClass::kMultiheadAttention) {
        ++begin;
        continue;
      }
      size_t end = begin;
      bool attended = false, projected = false;
      for (; end < calls.size(); ++end) {
        if (calls[end].scope != calls[begin].scope) {
          if (projected || Costs(calls[end])) break;
          continue;
        }
        const bool linear = calls[end].op == Aten::kLinear;
        if (linear && projected) break;  // the next run
        projected = projected || (linear && attended);
        attended = attended || IsAttending(calls[end]);
      }
      Add(begin, end);
      begin = end;
    }
  }

 private:
  void Add(size_t begin, size_t end) {
    TorchAttention attention;
    attention.first_call = static_cast<int32_t>(begin);
    attention.end_call = static_cast<int32_t>(end);
    std::vector<const TorchCall*> in_projections;
    const TorchCall* attending = nullptr;
    Mask mask;
    bool concatenates = false;  // tokens that add_bias_kv and add_zero_attn append
    for (size_t i = begin; i < end; ++i) {
      TorchCall& call = trace_.calls[i];
      if (call.scope != trace_.calls[begin].scope) continue;
      trace_.attention_of[i] = static_cast<int32_t>(trace_.attentions.size());
      if (IsAttending(call)) attending = &call;
      if (IsAttending(call) || call.op == Aten::kBaddbmm) FindMask(call, &mask);
      mask.is_there = mask.is_there || call.op == Aten::kBaddbmm;
      const absl::string_view name = AtenName(call.target);
      mask.is_filled = mask.is_filled || name == "masked_fill" || name == "where";
      concatenates = concatenates || name == "cat";
      if (call.op != Aten::kLinear) continue;
      call.is_out_proj = attending != nullptr;
      if (call.is_out_proj) continue;
      in_projections.push_back(&call);
    }
    SetProjections(in_projections, &attention);
    attention.is_unbatched = AddsBatch(begin, attention.in_proj);
    attention.batch_first = BeginsWithBatch(begin, end) || FollowsBatchFirst(begin);
    if (attention.projections[0] != nullptr && attending != nullptr) {
      const KnownHeads& heads = HeadsOf(attending->x, attention.in_proj->x);
      attention.heads = heads.number;
      attention.fast_but_for_mask = attention.is_packed && attention.batch_first &&
                                    attention.in_proj->has_bias && !concatenates && heads.even;
      if (attention.fast_but_for_mask) {
        attention.fast_path = mask.is_there ? IsOfBooleans(mask) : OpenFact<bool>::Stated(true);
      }
    }
    NoteLayer(trace_.scope(trace_.calls[begin]), attention, mask.is_there);
    trace_.attentions.push_back(attention);
  }

  // True if a call of the run adds a batch dimension of 1 to the input of the projections.
  bool AddsBatch(size_t begin, const TorchCall* in_proj) const {
    if (in_proj == nullptr) return false;
    const OptionalValueId x = evidence_.node(evidence_.entry(in_proj->main)).input(0);
    for (const TorchCall* call = &trace_.calls[begin]; call != in_proj; ++call) {
      if (call->scope != in_proj->scope || AtenName(call->target) != "unsqueeze") continue;
      if (x && evidence_.node(evidence_.entry(call->main)).output(0) == x) return true;
    }
    return false;
  }

  // One product gives q, k and v; or two, if k and v share one; or three.
  static void SetProjections(const std::vector<const TorchCall*>& found,
                             TorchAttention* attention) {
    constexpr size_t kMost = 3;
    if (found.empty()) return;
    attention->in_proj = found[0];
    attention->is_packed = found.size() == 1;
    if (found.size() > kMost) return;
    attention->projections = {found[0], found[found.size() > 1 ? 1 : 0], found.back()};
  }

  // An nn.TransformerEncoderLayer makes floats of its masks, and takes its fast path with any.
  void NoteLayer(const TorchScope& scope, const TorchAttention& attention, bool has_mask) {
    if (scope.encoder_layer < 0) return;
    TorchEncoderLayer& layer = trace_.encoder_layers[static_cast<size_t>(scope.encoder_layer)];
    layer.fast_path = attention.fast_but_for_mask && layer.has_relu;
    layer.may_drop_padding = layer.may_drop_padding && has_mask && layer.fast_path;
  }

  struct KnownHeads {
    Expr number;
    bool even;
  };

  const KnownHeads& HeadsOf(const Fact* attending, const Fact* query) {
    const auto [it, is_new] = heads_.try_emplace({attending, query}, KnownHeads{1, false});
    if (is_new) {
      it->second.number = Heads(*attending, *query);
      it->second.even = Mod(it->second.number, 2) == Expr(0);
    }
    return it->second;
  }

  bool Costs(const TorchCall& call) const {
    const auto entries = trace_.entries_of(call);
    return std::any_of(entries.begin(), entries.end(),
                       [&](EntryId id) { return evidence_.Ours(Unit::kFlop, id) != kZero; });
  }

  // The run before ends where this one transposes its input.
  bool FollowsBatchFirst(size_t begin) const {
    if (trace_.attentions.empty()) return false;
    const TorchAttention& before = trace_.attentions.back();
    const TorchCall& first = trace_.calls[static_cast<size_t>(before.first_call)];
    return before.batch_first && first.scope == trace_.calls[begin].scope;
  }

  // batch_first puts the batch second before anything else, masks aside.
  bool BeginsWithBatch(size_t begin, size_t end) const {
    for (size_t i = begin; i < end && trace_.calls[i].op != Aten::kLinear; ++i) {
      if (trace_.calls[i].scope == trace_.calls[begin].scope && PutsBatchSecond(trace_.calls[i])) {
        return true;
      }
    }
    return false;
  }

  bool PutsBatchSecond(const TorchCall& call) const {
    constexpr int64_t kBatchSecond[] = {1, 0, 2};
    const Node& node = evidence_.node(evidence_.entry(call.main));
    const Attribute* perm = node.FindAttribute("perm");
    return node.op_type == "Transpose" && perm != nullptr &&
           std::equal(perm->ints.begin(), perm->ints.end(), std::begin(kBatchSecond),
                      std::end(kBatchSecond));
  }

  // Finds the mask that is added to the products of queries and keys.
  void FindMask(const TorchCall& call, Mask* mask) const {
    constexpr size_t kMaskOfAttention = 3;
    for (EntryId id : trace_.entries_of(call)) {
      const Entry& entry = evidence_.entry(id);
      const Node& node = evidence_.node(entry);
      const bool attends = node.op_type == "Attention";
      if (attends ? !node.input(kMaskOfAttention) : node.op_type != "Add") continue;
      mask->is_there = true;
      for (size_t i = attends ? kMaskOfAttention : 0; i < node.inputs.size(); ++i) {
        mask->is_constant = mask->is_constant || evidence_.Input(entry, i).constant;
      }
    }
  }

  // Masks of booleans are filled with -inf in the module. A mask without that is one of floats,
  // unless the exporter computed it.
  OpenFact<bool> IsOfBooleans(const Mask& mask) const {
    if (mask.is_filled) return OpenFact<bool>::Stated(true);
    return mask.is_constant ? OpenFact<bool>(false) : OpenFact<bool>::Stated(false);
  }

  const Evidence& evidence_;
  TorchTrace& trace_;
  absl::flat_hash_map<std::pair<const Fact*, const Fact*>, KnownHeads> heads_;
};

}  // namespace

void FindAttentions(const Evidence& evidence, TorchTrace* trace) {
  AttentionFinder(evidence, trace).Run();
}

}  // namespace onnxflops::convention
