// Runs of nn.MultiheadAttention in a trace.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "src/convention/torch/trace.h"

namespace onnxflops::convention {
namespace {

// The product of weights and values comes after it.
bool IsAttending(const TorchCall& call) {
  return call.op == Aten::kSdpa || call.op == Aten::kSoftmax;
}

// Of queries [batch, heads, length, size], or weights [batch * heads, length, length].
Expr Heads(const Fact& attending, const Fact& query) {
  const Shape& x = ShapeOf(attending);
  const Shape& q = ShapeOf(query);
  constexpr int kQueryRank = 4, kWeightsRank = 3;
  if (!x.ranked() || !q.ranked()) return 1;
  if (x.rank() == kQueryRank) return x[1];
  if (x.rank() == kWeightsRank && q.rank() == 3) return FloorDiv(x[0], q[1]);
  return 1;
}

class AttentionFinder {
 public:
  AttentionFinder(const Evidence& evidence, TorchTrace* trace)
      : evidence_(evidence), trace_(*trace) {}

  // A run is calls of one module that stand together, but for what costs nothing, up to the linear
  // layer after the attention.
  void Run() {
    const std::vector<TorchCall>& calls = trace_.calls;
    trace_.attention_of.assign(calls.size(), -1);
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
    int in_projections = 0;
    const TorchCall* attending = nullptr;
    bool adds_mask = false;
    for (size_t i = begin; i < end; ++i) {
      TorchCall& call = trace_.calls[i];
      if (call.scope != trace_.calls[begin].scope) continue;
      trace_.attention_of[i] = static_cast<int32_t>(trace_.attentions.size());
      if (IsAttending(call)) attending = &call;
      adds_mask = adds_mask || call.op == Aten::kBaddbmm;
      if (call.op != Aten::kLinear) continue;
      call.is_out_proj = attending != nullptr;
      if (call.is_out_proj) continue;
      ++in_projections;
      if (attention.in_proj == nullptr) attention.in_proj = &call;
    }
    attention.is_packed = in_projections == 1;
    attention.batch_first = BeginsWithBatch(trace_.calls[begin]) || FollowsBatchFirst(begin);
    if (attention.is_packed && attending != nullptr) {
      const KnownHeads& heads = HeadsOf(attending->x, attention.in_proj->x);
      attention.heads = heads.number;
      attention.fast_path = attention.batch_first && attention.in_proj->has_bias && !adds_mask &&
                            !HasMask(*attending) && heads.even;
    }
    trace_.attentions.push_back(attention);
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

  // batch_first puts the batch second before anything else.
  bool BeginsWithBatch(const TorchCall& opening) const {
    constexpr int64_t kBatchSecond[] = {1, 0, 2};
    const Node& node = evidence_.node(evidence_.entry(opening.main));
    const Attribute* perm = node.FindAttribute("perm");
    return node.op_type == "Transpose" && perm != nullptr &&
           std::equal(perm->ints.begin(), perm->ints.end(), std::begin(kBatchSecond),
                      std::end(kBatchSecond));
  }

  bool HasMask(const TorchCall& attending) const {
    const auto entries = trace_.entries_of(attending);
    return std::any_of(entries.begin(), entries.end(), [&](EntryId id) {
      return evidence_.node(evidence_.entry(id)).op_type == "Add";
    });
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
