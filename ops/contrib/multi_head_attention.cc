// com.microsoft: attention over Q, K and V that are projected already, with caches, norms and
// rotations fused in.
//
// How it works. Each operator first reads its inputs into one small struct of dimensions, whatever
// form they have (separate, packed, with or without a head axis). Shapes, forward cost and gradient
// all come from this struct. The products, softmax and masks are counted by SdpaCost and
// SdpaGradient, which all attention operators share; biases, norms, rotations and the cache's
// quantisation are added to them.
//
// The number of keys T is what makes the difference. A cache buffer may be larger than what it
// holds: T is then the used length (total_sequence_length, past_sequence_length), not the capacity.
// If that input is not known, the cost is an error or the length a fresh symbol, never the
// capacity. Only packed and paged sequences of unknown lengths are counted at the longest length
// possible.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/causal.h"
#include "ops/contrib/attention.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/lengths.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- MultiHeadAttention: Q, K and V projected already, and their biases

// Which input is what; -1 for one that the operator does not have.
struct MhaInputs {
  int bias, mask, attention_bias, past_key, past_length;
  bool shared_buffer;  // past and present are one buffer, past_length tells how much of it is used
};

struct Mha {
  Expr batch, length, heads, qk_size, v_size;
  Expr kv_length, total;  // new keys L, all keys T
  bool projected = true;  // K and V as well, so that the bias is added to them
  bool total_known = true;
  std::optional<Expr> capacity;  // of the shared buffer
  Sdpa Products() const {
    return {.pairs = batch * length * total,
            .tokens = batch * length,
            .heads = heads,
            .qk_size = qk_size,
            .v_size = v_size};
  }
};

// Q alone: [B,S,H,3,D], or [B,S,2*D+Dv] for one token of a decoder.
absl::Status ReadPackedQkv(const NodeView& n, const Shape& q, Mha* m) {
  m->kv_length = m->length;
  if (q.rank() == 3) {
    ASSIGN_OR_RETURN(const Expr hidden, DivideEvenly("hidden size of packed Q, K, V", q[2], 3));
    ASSIGN_OR_RETURN(m->qk_size, DivideEvenly("hidden size in heads", hidden, m->heads));
  } else {
    RETURN_IF_ERROR(n.RequireSame("num_heads", q[2], m->heads));
    RETURN_IF_ERROR(n.RequireSame("packed Q, K, V", q[3], 3));
    m->qk_size = q[4];
  }
  m->v_size = m->qk_size;
  return absl::OkStatus();
}

// K and V: [B,L,H*D] each, [B,L,H,2,D] together, or [B,H,L,D] each.
absl::Status ReadKeyValue(const NodeView& n, Mha* m) {
  ASSIGN_OR_RETURN(Shape k, n.ShapeOfRankAtLeast(1, 3));
  RETURN_IF_ERROR(n.RequireSame("batch of Q and K", m->batch, k[0]));
  if (k.rank() == 5) {
    RETURN_IF_ERROR(n.RequireSame("num_heads", k[2], m->heads));
    RETURN_IF_ERROR(n.RequireSame("packed K, V", k[3], 2));
    m->kv_length = k[1];
    m->v_size = k[4];
    return n.RequireSame("head size of Q and K", m->qk_size, k[4]);
  }
  ASSIGN_OR_RETURN(Shape v, n.RankedShape(2, k.rank()));
  if (k.rank() == 4) {
    m->projected = false;
    m->kv_length = k[2];
    m->v_size = v[3];
    RETURN_IF_ERROR(n.RequireSame("length of K and V", k[2], v[2]));
    return n.RequireSame("head size of Q and K", m->qk_size, k[3]);
  }
  if (k.rank() != 3) {
    return absl::InvalidArgumentError(absl::StrCat("input 1 has rank ", k.rank()));
  }
  m->kv_length = k[1];
  RETURN_IF_ERROR(n.RequireSame("length of K and V", k[1], v[1]));
  RETURN_IF_ERROR(n.RequireSame("hidden size of Q and K", m->qk_size * m->heads, k[2]));
  ASSIGN_OR_RETURN(m->v_size, DivideEvenly("hidden size of V in heads", v[2], m->heads));
  return absl::OkStatus();
}

absl::Status ReadMhaPast(const NodeView& n, const MhaInputs& in, Mha* m) {
  m->total = m->kv_length;
  if (!n.HasInput(in.past_key) || !m->projected) return absl::OkStatus();
  ASSIGN_OR_RETURN(Shape past, n.RankedShape(in.past_key, 4));
  RETURN_IF_ERROR(n.RequireSame("batch of the past", past[0], m->batch));
  RETURN_IF_ERROR(n.RequireSame("heads of the past", past[1], m->heads));
  if (!in.shared_buffer) {
    m->total += past[2];
    return absl::OkStatus();
  }
  m->capacity = past[2];
  ASSIGN_OR_RETURN(const std::optional<Expr> used, KnownLength(n, in.past_length));
  m->total_known = used.has_value();
  m->total += used.value_or(0);
  return absl::OkStatus();
}

absl::StatusOr<Mha> ReadMha(const NodeView& n, const MhaInputs& in) {
  ASSIGN_OR_RETURN(Shape q, n.RankedShape(0));
  if (q.rank() != 3 && q.rank() != 5) {
    return absl::InvalidArgumentError(absl::StrCat("input 0 has rank ", q.rank()));
  }
  Mha m = {.batch = q[0], .length = q[1]};
  ASSIGN_OR_RETURN(m.heads, PositiveAttr(n, "num_heads"));
  if (q.rank() == 5 || !n.HasInput(1)) {
    RETURN_IF_ERROR(ReadPackedQkv(n, q, &m));
  } else {
    ASSIGN_OR_RETURN(m.qk_size, DivideEvenly("hidden size in heads", q[2], m.heads));
    RETURN_IF_ERROR(ReadKeyValue(n, &m));
  }
  RETURN_IF_ERROR(ReadMhaPast(n, in, &m));
  return m;
}

// Output [B,S,H*Dv], present key and value [B,H,T,D], the scores [B,H,S,T].
Facts MhaOutputs(const NodeView& n, const Mha& m) {
  const Expr present = m.capacity.value_or(m.total);
  return {n.Like(0, Shape{m.batch, m.length, m.heads * m.v_size}),
          n.Like(0, Shape{m.batch, m.heads, present, m.qk_size}),
          n.Like(0, Shape{m.batch, m.heads, present, m.v_size}),
          n.Like(0, Shape{m.batch, m.heads, m.length, m.total})};
}

absl::StatusOr<Sdpa> MhaProducts(const NodeView& n, const Mha& m) {
  if (!m.total_known) return absl::FailedPreconditionError("past_sequence_length is not known");
  Sdpa sdpa = m.Products();
  if (n.Flag("unidirectional")) {
    const Expr past = m.total - m.kv_length;
    MakeCausal(n, m.batch * TwiceCausalPairs(m.length, m.total, past), &sdpa);
  }
  return sdpa;
}

// The elements to which the bias is added: those of Q and, if they are projected here, of K and V.
Expr BiasedElements(const Mha& m) {
  const Expr q = m.batch * m.length * m.heads * m.qk_size;
  return m.projected ? q + m.batch * m.kv_length * m.heads * (m.qk_size + m.v_size) : q;
}

// One input may hold all three, or K and V.
SdpaNeeds NeedsOf(const NodeView& n, const GradientQuery& query) {
  const bool packed = !n.HasInput(1);
  const bool keys_packed = !packed && n.input(1).shape.ranked() && n.input(1).shape.rank() == 5;
  SdpaNeeds needs;
  needs.q = query.Needs(0);
  needs.k = packed ? needs.q : query.Needs(1);
  needs.v = packed ? needs.q : keys_packed ? needs.k : query.Needs(2);
  needs.recomputes_scores = query.recomputes_scores;
  return needs;
}

constexpr char kAttentionGradient[] =
    "of Q K' and P V a product for each factor that needs a gradient; through the softmax 2 add, 3 "
    "mul per score; dbias = sum of what it was added to; with {attention flash} Q K' again, 1 add, "
    "1 exp";

absl::StatusOr<Cost> CountMhaWith(const NodeView& n, const MhaInputs& in) {
  ASSIGN_OR_RETURN(Mha m, ReadMha(n, in));
  ASSIGN_OR_RETURN(Sdpa sdpa, MhaProducts(n, m));
  sdpa.biases = (n.HasInput(in.mask) ? 1 : 0) + (n.HasInput(in.attention_bias) ? 1 : 0);
  LeaveOutHidden(n, {in.mask, in.attention_bias}, &sdpa);
  Cost cost = SdpaCost(sdpa);
  cost.flops_mac_operands = OperandsLike(n, 0);
  if (n.HasInput(in.bias)) cost.flops[Kind::kAdd] += BiasedElements(m);
  return cost;
}

MhaInputs MultiHeadInputs(const NodeView& n) {
  return {.bias = 3,
          .mask = 4,
          .attention_bias = 5,
          .past_key = 6,
          .past_length = 8,
          .shared_buffer = n.HasInput(6) && n.HasInput(8)};
}

absl::StatusOr<Facts> InferMultiHeadAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Mha m, ReadMha(n, MultiHeadInputs(n)));
  return MhaOutputs(n, m);
}

absl::StatusOr<Cost> CountMultiHeadAttention(const NodeView& n) {
  return CountMhaWith(n, MultiHeadInputs(n));
}

absl::StatusOr<Census> MultiHeadAttentionGradient(const NodeView& n, const GradientQuery& query) {
  const MhaInputs in = MultiHeadInputs(n);
  ASSIGN_OR_RETURN(const Mha m, ReadMha(n, in));
  ASSIGN_OR_RETURN(const Sdpa sdpa, MhaProducts(n, m));
  SdpaNeeds needs = NeedsOf(n, query);
  if (query.Needs(3)) {
    needs.q = true;
    needs.k = needs.k || m.projected;
    needs.v = needs.v || m.projected;
  }
  needs.k = needs.k || query.Needs(6);
  needs.v = needs.v || query.Needs(7);
  needs.bias = query.Needs(5);
  Census work = SdpaGradient(sdpa, needs);
  if (query.Needs(3)) work[Kind::kAdd] += BiasedElements(m);
  return work;
}

MhaInputs DecoderMaskedInputs(const NodeView& n) {
  return {.bias = 10,
          .mask = 3,
          .attention_bias = 4,
          .past_key = 5,
          .past_length = 7,
          .shared_buffer = n.Flag("past_present_share_buffer")};
}

absl::StatusOr<Facts> InferDecoderMaskedMha(const NodeView& n) {
  ASSIGN_OR_RETURN(Mha m, ReadMha(n, DecoderMaskedInputs(n)));
  return MhaOutputs(n, m);
}

absl::StatusOr<Cost> CountDecoderMaskedMha(const NodeView& n) {
  return CountMhaWith(n, DecoderMaskedInputs(n));
}

// ---- packed sequences: of the tokens that are not padding, with token_offset[B,S]

// PackedMultiHeadAttention: query[T,H*D], key and value; or query[T,H,3,D].
absl::StatusOr<Mha> ReadPackedMha(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape q, n.RankedShape(0));
  Mha m = {.batch = 1};
  ASSIGN_OR_RETURN(m.heads, PositiveAttr(n, "num_heads"));
  if (q.rank() == 4) {
    RETURN_IF_ERROR(n.RequireSame("num_heads", q[1], m.heads));
    RETURN_IF_ERROR(n.RequireSame("packed Q, K, V", q[2], 3));
    m.length = q[0];
    m.qk_size = m.v_size = q[3];
    return m;
  }
  RETURN_IF_ERROR(n.RankedShape(0, 2).status());
  ASSIGN_OR_RETURN(Shape v, n.RankedShape(2, 2));
  m.length = q[0];
  ASSIGN_OR_RETURN(m.qk_size, DivideEvenly("hidden size in heads", q[1], m.heads));
  ASSIGN_OR_RETURN(m.v_size, DivideEvenly("hidden size of V in heads", v[1], m.heads));
  return m;
}

absl::StatusOr<Facts> InferPackedMha(const NodeView& n) {
  ASSIGN_OR_RETURN(Mha m, ReadPackedMha(n));
  return Facts{n.Like(0, Shape{m.length, m.heads * m.v_size})};
}

absl::StatusOr<Cost> CountPackedMha(const NodeView& n) {
  ASSIGN_OR_RETURN(Mha m, ReadPackedMha(n));
  Sdpa sdpa = m.Products();
  ASSIGN_OR_RETURN(sdpa.pairs, PackedPairs(n, 4));
  sdpa.biases = n.HasInput(6) ? 1 : 0;
  LeaveOutHidden(n, {6}, &sdpa);
  Cost cost = SdpaCost(sdpa);
  cost.flops_mac_operands = OperandsLike(n, 0);
  if (n.HasInput(3)) cost.flops[Kind::kAdd] += m.length * m.heads * (2 * m.qk_size + m.v_size);
  return cost;
}

absl::StatusOr<Census> PackedMhaGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const Mha m, ReadPackedMha(n));
  Sdpa sdpa = m.Products();
  ASSIGN_OR_RETURN(sdpa.pairs, PackedPairs(n, 4));
  SdpaNeeds needs = NeedsOf(n, query);
  if (query.Needs(3)) needs.q = needs.k = needs.v = true;
  needs.bias = query.Needs(6);
  Census work = SdpaGradient(sdpa, needs);
  if (query.Needs(3)) work[Kind::kAdd] += m.length * m.heads * (2 * m.qk_size + m.v_size);
  return work;
}

// ---- GroupQueryAttention: Hq heads of queries share Hkv of keys and values, with a cache, norms
// and rotations

struct GroupQuery {
  Expr batch, length, kv_length, heads, kv_heads, size;
  Expr total;    // keys that a query meets
  Expr present;  // length of the cache after
  bool packed = false;
};

absl::Status ReadGroupQueryInputs(const NodeView& n, GroupQuery* g) {
  ASSIGN_OR_RETURN(Shape q, n.RankedShape(0, 3));
  g->batch = q[0];
  g->length = g->kv_length = q[1];
  ASSIGN_OR_RETURN(g->heads, PositiveAttr(n, "num_heads"));
  ASSIGN_OR_RETURN(g->kv_heads, PositiveAttr(n, "kv_num_heads"));
  RETURN_IF_ERROR(DivideEvenly("query heads per head", g->heads, g->kv_heads).status());
  g->packed = !n.HasInput(1);
  if (g->packed) {
    ASSIGN_OR_RETURN(g->size,
                     DivideEvenly("packed hidden size in heads", q[2], g->heads + 2 * g->kv_heads));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(g->size, DivideEvenly("hidden size in heads", q[2], g->heads));
  for (int i : {1, 2}) {
    ASSIGN_OR_RETURN(Shape kv, n.ShapeOfRankAtLeast(i, 3));
    const bool by_heads = kv.rank() == 4;  // [B,Hkv,L,D]: keys of another layer's cache
    if (i == 1) g->kv_length = kv[by_heads ? 2 : 1];
    if (!by_heads) {
      RETURN_IF_ERROR(n.RequireSame("hidden size of K and V", kv[2], g->kv_heads * g->size));
    }
  }
  return absl::OkStatus();
}

// The cache of `past` positions: as long as all positions, or, shared between past and present, as
// long as its capacity. A sliding window keeps its size, and the queries meet what it holds.
void ReadGroupQueryCache(const NodeView& n, const std::optional<Expr>& total, GroupQuery* g) {
  g->total = total.value_or(g->kv_length);
  g->present = g->total;
  if (!n.HasInput(3) || !n.input(3).shape.ranked() || n.input(3).shape.rank() != 4) return;
  const Expr& past = n.input(3).shape[2];
  if (n.Flag("sliding_window_cache")) {
    g->total = Max(Min(g->total, past), g->kv_length);
    g->present = past;
  } else {
    g->present = Max(past, g->total);
  }
}

absl::StatusOr<Facts> InferGroupQueryAttention(const NodeView& n) {
  GroupQuery g;
  RETURN_IF_ERROR(ReadGroupQueryInputs(n, &g));
  ASSIGN_OR_RETURN(std::optional<Expr> total, KnownLength(n, 6));
  const bool has_past = n.HasInput(3);
  if (has_past) {
    ASSIGN_OR_RETURN(const Shape past, n.RankedShape(3, 4));
    if (n.dtype(3) == n.dtype(0)) {  // else several values of the cache are packed in one
      RETURN_IF_ERROR(n.RequireSame("head size of the past", past[3], g.size));
    }
    // All positions: those of the cache, as far as they are filled, and the new ones.
    if (!total.has_value()) total = n.FreshDim(1, 2, "present-length", past[2] + g.kv_length);
  }
  ReadGroupQueryCache(n, total, &g);
  Fact key = n.Like(has_past ? 3 : 0, Shape{g.batch, g.kv_heads, g.present, g.size});
  Fact value = n.Like(has_past ? 4 : 0, key.shape);
  if (has_past && key.dtype != n.dtype(0)) {
    // Packed in few bits, the last dimension is in bytes.
    key.shape[3] = n.input(3).shape[3];
    const Shape& past_value = n.input(4).shape;
    if (past_value.ranked() && past_value.rank() == 4) {
      value.shape[3] = past_value[3];
    } else if (n.HasOutput(2)) {
      value.shape[3] = n.FreshDim(2, 3, "packed-size", g.size);
    }
  }
  return Facts{n.Like(0, Shape{g.batch, g.length, g.heads * g.size}), key, value,
               n.Like(0, Shape{g.batch, g.heads, g.length, g.total})};
}

// The norms and rotations of Q and of the new K.
Census GroupQueryPreparation(const NodeView& n, const GroupQuery& g, int cos_cache, int norm) {
  const Expr heads = g.batch * (g.length * g.heads + g.kv_length * g.kv_heads);
  Census work;
  if (n.HasInput(norm)) work += HeadNormWork(heads, g.size);
  if (n.Flag("do_rotary")) {
    const Shape& cos = n.input(cos_cache).shape;
    const bool known = n.HasInput(cos_cache) && cos.ranked() && cos.rank() == 2;
    work += kRotaryCost * (heads * (known ? 2 * cos[1] : g.size));
  }
  return work;
}

absl::StatusOr<GroupQuery> ReadGroupQuery(const NodeView& n) {
  GroupQuery g;
  RETURN_IF_ERROR(ReadGroupQueryInputs(n, &g));
  ASSIGN_OR_RETURN(std::optional<Expr> total, KnownLength(n, 6));
  if (!total.has_value() && n.HasInput(3)) {
    if (!n.HasOutput(1)) {
      return absl::FailedPreconditionError("total_sequence_length is not known");
    }
    ASSIGN_OR_RETURN(Shape present, n.OutputShape(1));
    total = present[2];
  }
  ReadGroupQueryCache(n, total, &g);
  return g;
}

Sdpa GroupQueryProducts(const NodeView& n, const GroupQuery& g) {
  Sdpa sdpa = {.pairs = g.batch * g.length * g.total,
               .tokens = g.batch * g.length,
               .heads = g.heads,
               .qk_size = g.size,
               .v_size = g.size,
               .biases = n.HasInput(10) ? 1 : 0,
               .softcap = n.Float("softcap", 0.0f) != 0.0f,
               .sink = n.HasInput(11) || n.Int("smooth_softmax", -1) == 1};
  if (n.Flag("causal", true)) {
    const int64_t window = n.Int("local_window_size", -1);
    const Expr offset = g.total - g.length;
    const Expr twice = window < 0 ? TwiceCausalPairs(g.length, g.total, offset)
                                  : TwiceWindowPairs(g.length, g.total, offset, window);
    MakeCausal(n, g.batch * twice, &sdpa);
  }
  return sdpa;
}

// For a lower bound on time: only the longest sequence counts, since the others may be shorter, and
// of it only the window.
absl::Status LeaveOutHiddenKeys(const NodeView& n, const GroupQuery& g, Sdpa* sdpa) {
  ASSIGN_OR_RETURN(const std::optional<Expr> total, KnownLength(n, 6));
  const bool causal = n.Flag("causal", true), sure = total.has_value() || !n.HasInput(3);
  const int64_t window = n.Int("local_window_size", -1);
  const Expr offset = g.total - g.length;
  sdpa->twice_unmasked = 2 * g.length * g.total;
  if (causal) sdpa->twice_unmasked = TwiceCausalPairs(g.length, g.total, offset);
  if (window >= 0) sdpa->twice_unmasked = TwiceWindowPairs(g.length, g.total, offset, window);
  // With query_seqlens, rows are padding and total_sequence_length is a bound.
  if (!sure || n.HasInput(16)) sdpa->twice_unmasked = 0;
  LeaveOutHidden(n, {10}, sdpa);
  return absl::OkStatus();
}

// Backward rotates dQ and dK back at the cost of the rotation. A quantised cache is for inference
// only, so it has no gradient.
absl::StatusOr<Census> GroupQueryGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const GroupQuery g, ReadGroupQuery(n));
  if (n.HasInput(14)) return absl::UnimplementedError("the gradient of norms of Q and K");
  if (n.HasInput(12)) return absl::UnimplementedError("no gradient: the cache is quantised");
  SdpaNeeds needs = NeedsOf(n, query);
  needs.k = needs.k || query.Needs(3);
  needs.v = needs.v || query.Needs(4);
  needs.bias = query.Needs(10);
  Census work = SdpaGradient(GroupQueryProducts(n, g), needs);
  if (needs.q || needs.k) work += GroupQueryPreparation(n, g, 7, 14);
  return work;
}

absl::StatusOr<Cost> CountGroupQueryAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(const GroupQuery g, ReadGroupQuery(n));
  Sdpa sdpa = GroupQueryProducts(n, g);
  if (n.least()) RETURN_IF_ERROR(LeaveOutHiddenKeys(n, g, &sdpa));
  Cost cost = SdpaCost(sdpa);
  cost.flops_mac_operands = OperandsLike(n, 0);
  cost.flops += GroupQueryPreparation(n, g, 7, 14);
  const Expr per_position = g.batch * g.kv_heads * g.size;
  const CacheUse use = {per_position * g.kv_length, per_position * g.total};
  cost.flops += CacheWork(n.dtype(3), n.String("k_quant_type", "NONE") != "NONE", use);
  cost.flops += CacheWork(n.dtype(4), n.String("v_quant_type", "NONE") != "NONE", use);
  return cost;
}

// ---- PagedAttention: packed queries[T,Hq*D], keys in blocks of a cache that a table finds

struct Paged {
  GroupQuery g;
  Expr v_size;
  bool latent = false;  // V is the first features of K
};

absl::StatusOr<Paged> ReadPaged(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape q, n.RankedShape(0, 2));
  Paged p;
  p.latent = n.String("kv_cache_layout", "SEPARATE") == "LATENT";
  GroupQuery& g = p.g;
  g.batch = 1;
  g.length = g.kv_length = q[0];
  ASSIGN_OR_RETURN(g.heads, PositiveAttr(n, "num_heads"));
  ASSIGN_OR_RETURN(g.kv_heads, PositiveAttr(n, "kv_num_heads"));
  g.packed = !n.HasInput(1);
  const Expr heads = g.packed ? g.heads + 2 * g.kv_heads : g.heads;
  ASSIGN_OR_RETURN(g.size, DivideEvenly("hidden size in heads", q[1], heads));
  const int64_t v_size = n.Int("v_head_size", 0);
  p.v_size = v_size > 0 ? Expr(v_size) : g.size;
  return p;
}

absl::StatusOr<Facts> InferPagedAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Paged p, ReadPaged(n));
  Facts facts = {n.Like(0, Shape{p.g.length, p.g.heads * p.v_size})};
  for (int i : {3, 4}) {
    if (!n.HasInput(i)) continue;
    ASSIGN_OR_RETURN(Shape cache, n.RankedShape(i, 4));
    facts.push_back(n.Like(i, std::move(cache)));
  }
  return facts;
}

struct PagedKeys {
  Expr pairs;           // of a query and a key
  Expr keys;            // of all sequences
  Expr twice_unmasked;  // twice the pairs that a causal mask lets through, as far as they are known
};

// From the lengths, if they are known; else as if every sequence had as many keys as its row of the
// block table can hold.
absl::StatusOr<PagedKeys> CountKeys(const NodeView& n, const Expr& tokens) {
  ASSIGN_OR_RETURN(const std::optional<Dims> lengths, KnownLengthsOfSums(n, 5));
  ASSIGN_OR_RETURN(const std::optional<Dims> past, KnownLengths(n, 6));
  if (lengths.has_value() && past.has_value() && lengths->size() == past->size()) {
    const int64_t window = n.least() ? n.Int("local_window_size", -1) : -1;
    PagedKeys counts = {0, 0, 0};
    for (size_t i = 0; i < past->size(); ++i) {
      const Expr keys = (*past)[i] + (*lengths)[i];
      counts.keys += keys;
      counts.pairs += (*lengths)[i] * keys;
      counts.twice_unmasked += window < 0
                                   ? TwiceCausalPairs((*lengths)[i], keys, (*past)[i])
                                   : TwiceWindowPairs((*lengths)[i], keys, (*past)[i], window);
    }
    return counts;
  }
  ASSIGN_OR_RETURN(Shape cache, n.RankedShape(3, 4));
  ASSIGN_OR_RETURN(Shape table, n.RankedShape(7, 2));
  const Expr per_sequence = table[1] * cache[1];
  const Expr pairs = tokens * per_sequence;
  return PagedKeys{pairs, table[0] * per_sequence, n.least() ? Expr(0) : 2 * pairs};
}

absl::StatusOr<Cost> CountPagedAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Paged p, ReadPaged(n));
  const GroupQuery& g = p.g;
  ASSIGN_OR_RETURN(PagedKeys counts, CountKeys(n, g.length));
  Sdpa sdpa = {.pairs = counts.pairs,
               .tokens = g.length,
               .heads = g.heads,
               .qk_size = g.size,
               .v_size = p.v_size,
               .softcap = n.Float("softcap", 0.0f) != 0.0f,
               .sink = n.HasInput(11)};
  if (n.least() || n.Flag("is_causal", true)) MakeCausal(n, counts.twice_unmasked, &sdpa);
  Cost cost = SdpaCost(sdpa);
  cost.flops_mac_operands = OperandsLike(n, 0);
  cost.flops += GroupQueryPreparation(n, g, 8, 12);
  const Expr per_position = g.kv_heads * g.size;
  const CacheUse use = {per_position * g.length, per_position * counts.keys};
  cost.flops += CacheWork(n.dtype(3), n.String("k_quant_type", "NONE") != "NONE", use);
  if (!p.latent) {
    cost.flops += CacheWork(n.dtype(4), n.String("v_quant_type", "NONE") != "NONE", use);
  }
  return cost;
}

constexpr char kPairsFormula[] =
    "softmax(scale Q K' + masks) V over the whole of S x T; mac = B*H*S*T*(Dk+Dv); per score: mul "
    "for the scale, add for every mask, softmax (2 add, div, cmp, exp)";

constexpr OpDef kMsMultiHeadAttentionRows[] = {
    {.name = "DecoderMaskedMultiHeadAttention",
     .formula = kPairsFormula,
     .infer = InferDecoderMaskedMha,
     .count = CountDecoderMaskedMha,
     .examples =
         {{"g (float[N,1,8] Q, float[N,1,8] K, float[N,1,8] V, float[N,2,9,4] pk, float[N,2,9,4] "
           "pv) => (float[N,1,8] Y, float[N,2,9,4] k, float[N,2,9,4] v) <int32[1] p = {6}> { Y, k, "
           "v = com.microsoft.DecoderMaskedMultiHeadAttention<num_heads = 2, "
           "past_present_share_buffer = 1>(Q, K, V, , , pk, pv, p) }",
           "mac=112*N add=28*N mul=14*N div=14*N cmp=14*N exp=14*N"},
          {"float[N,1,8] Q, float[N,2,7,4] K, float[N,2,7,4] V -> float[N,1,8] Y <num_heads = 2>",
           "mac=112*N add=28*N mul=14*N div=14*N cmp=14*N exp=14*N"},
          {"g (float[N,1,8] Q, float[N,1,8] K, float[N,1,8] V, float[N,2,1,7] A, float[N,2,9,4] "
           "pk, float[N,2,9,4] pv) => (float[N,1,8] Y, float[N,2,9,4] k, float[N,2,9,4] v) "
           "<int32[1] p = {6}> { Y, k, v = com.microsoft.DecoderMaskedMultiHeadAttention<num_heads "
           "= 2, past_present_share_buffer = 1>(Q, K, V, , A, pk, pv, p) }",
           "mac=112*N add=42*N mul=14*N div=14*N cmp=14*N exp=14*N"}},
     .shape_inputs = 1 << 7,
     .operands = {.not_parameters = InputBits({3, 4, 5, 6}), .states = InputBits({5, 6})},
     .traits = Traits::kReadsContent,
     .note = "of a buffer that past and present share, T is the part that is used"},
    {.name = "GroupQueryAttention",
     .formula = "softmax(scale Q K' + bias) V, Hq heads of queries on Hkv of keys, over the whole "
                "of S x T; mac = 2*B*Hq*S*T*D; per score: mul, add for a bias, div, tanh and mul "
                "for a softcap, softmax (2 add, div, cmp, exp); per row a sink (2 add, cmp, exp); "
                "rotations: 2 mul, 1 add per element of Q and new K",
     .infer = InferGroupQueryAttention,
     .count = CountGroupQueryAttention,
     .examples =
         {// Hq = 4, Hkv = 2, D = 4: scores 4*3*8 = 96; rotations of 3*(4 + 2) heads of 4.
          {"g (float16[N,3,32] X, float16[N,2,5,4] pk, float16[N,2,5,4] pv, int32[N] L, "
           "float16[50,2] c, float16[50,2] s) => (float16[N,3,16] Y, float16[N,2,8,4] k, "
           "float16[N,2,8,4] v) <int32 t = {8}> { Y, k, v = "
           "com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, do_rotary = 1>(X, , "
           ", pk, pv, L, t, c, s) }",
           "mac=768*N add=264*N mul=240*N div=96*N cmp=96*N exp=96*N"},
          // A buffer of 64 positions, of which 8 are used.
          {"g (float[N,1,16] Q, float[N,1,8] K, float[N,1,8] V, float[N,2,64,4] pk, "
           "float[N,2,64,4] pv, int32[N] L, float[4] S) => (float[N,1,16] Y, float[N,2,64,4] k, "
           "float[N,2,64,4] v) <int32 t = {8}> { Y, k, v = "
           "com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, softcap = 50.0>(Q, "
           "K, V, pk, pv, L, t, , , , , S) }",
           "mac=256*N add=72*N mul=64*N div=64*N cmp=36*N exp=36*N tanh=32*N"},
          {"float[N,3,16] Q, float[N,3,8] K, float[N,3,8] V, , , int32[N] L, int32 T -> "
           "float[N,3,16] Y, float[N,2,3,4] k, float[N,2,3,4] v <num_heads = 4, kv_num_heads = 2>",
           "mac=288*N add=72*N mul=36*N div=36*N cmp=36*N exp=36*N"},
          // Keys of another layer's cache: scores 4*3*7.
          {"float[N,3,16] Q, float[N,2,7,4] K, float[N,2,7,4] V, , , int32[N] L, int32 T -> "
           "float[N,3,16] Y <num_heads = 4, kv_num_heads = 2>",
           "mac=672*N add=168*N mul=84*N div=84*N cmp=84*N exp=84*N"},
          // A window of 8 positions, whatever came before: scores 4*3*8.
          {"g (float[N,3,16] Q, float[N,3,8] K, float[N,3,8] V, float[N,2,8,4] pk, "
           "float16[N,2,8,4] pv, int32[N] L) => (float[N,3,16] Y, float[N,2,8,4] k, "
           "float16[N,2,8,4] v) <int32 t = {20}> { Y, k, v = "
           "com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, "
           "sliding_window_cache = 1>(Q, K, V, pk, pv, L, t) }",
           "mac=768*N add=192*N mul=96*N div=96*N cmp=96*N exp=96*N"},
          {"g (float16[N,1,16] Q, float16[N,1,8] K, float16[N,1,8] V, uint8[N,2,7,2] pk, "
           "uint8[N,2,7,2] pv, int32[N] L, float s) => (float16[N,1,16] Y, uint8[N,2,8,2] k, "
           "uint8[N,2,8,2] v) <int32 t = {8}> { Y, k, v = "
           "com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, k_quant_type = "
           "\"PER_TENSOR\", v_quant_type = \"PER_TENSOR\", kv_cache_bit_width = 4>(Q, K, V, pk, "
           "pv, L, t, , , , , , s, s) }",
           "mac=256*N add=64*N mul=160*N div=48*N cmp=64*N exp=32*N round=16*N"}},
     .shape_inputs = 1 << 6,
     .operands = {.not_parameters = InputBits({3, 4, 7, 8, 9, 10, 12, 13}),
                  .states = InputBits({3, 4})},
     .traits = Traits::kReadsContent,
     .note = "T is total_sequence_length, not the capacity of a shared buffer; rows that "
             "query_seqlens says are padding are counted; causal attention, "
             "which is the default here, is counted in full unless {causal half} says otherwise, "
             "windows always; a quantised cache: what is appended is quantised, "
             "all that is read dequantised",
     .gradient = {.formula = kAttentionGradient,
                  .weighs_scores = true,
                  .rule = GroupQueryGradient}},
    {.name = "MultiHeadAttention",
     .formula = kPairsFormula,
     .infer = InferMultiHeadAttention,
     .count = CountMultiHeadAttention,
     .examples =
         {{"float[N,5,8] Q, float[N,7,8] K, float[N,7,12] V, float[28] B, int32[N,7] M -> "
           "float[N,5,12] Y <num_heads = 2>",
           "mac=700*N add=390*N mul=70*N div=70*N cmp=70*N exp=70*N"},
          {"float[N,1,8] Q, float[N,1,8] K, float[N,1,8] V, , , , float[N,2,P,4] pk, "
           "float[N,2,P,4] pv -> float[N,1,8] Y, float[N,2,\"P + 1\",4] k, float[N,2,\"P + 1\",4] "
           "v <num_heads = 2>",
           "mac=16*N*P + 16*N add=4*N*P + 4*N mul=2*N*P + 2*N div=2*N*P + 2*N cmp=2*N*P + 2*N "
           "exp=2*N*P + 2*N"},
          {"float[N,5,2,3,4] X -> float[N,5,8] Y <num_heads = 2>",
           "mac=400*N add=100*N mul=50*N div=50*N cmp=50*N exp=50*N"},
          {"float[N,5,8] Q, float[N,2,7,4] K, float[N,2,7,4] V, float[24] B -> float[N,5,8] Y "
           "<num_heads = 2>",
           "mac=560*N add=180*N mul=70*N div=70*N cmp=70*N exp=70*N"}},
     .shape_inputs = 1 << 8,
     .operands = {.weights = InputBits({3}),
                  .not_parameters = InputBits({4, 5, 6, 7}),
                  .states = InputBits({6, 7})},
     .traits = Traits::kReadsContent,
     .note = "add per element of Q, K and V for the bias; causal attention (unidirectional) is "
             "counted in full unless {causal half} says otherwise",
     .gradient = {.formula = kAttentionGradient,
                  .weighs_scores = true,
                  .rule = MultiHeadAttentionGradient}},
    {.name = "PackedMultiHeadAttention",
     .formula = "MultiHeadAttention of packed tokens: mac = B*H*S*S*(Dk+Dv); per score: mul, add "
                "for a bias, softmax (2 add, div, cmp, exp)",
     .infer = InferPackedMha,
     .count = CountPackedMha,
     .examples =
         {{"float[T,8] Q, float[T,8] K, float[T,8] V, float[24] B, int32[N,5] O, int32[M] C -> "
           "float[T,8] Y <num_heads = 2>",
           "mac=400*N add=100*N + 24*T mul=50*N div=50*N cmp=50*N exp=50*N"},
          {"float[T,2,3,4] Q, , , , int32[N,5] O, int32[M] C -> float[T,8] Y <num_heads = 2>",
           "mac=400*N add=100*N mul=50*N div=50*N cmp=50*N exp=50*N"},
          {"float[T,8] Q, float[T,8] K, float[T,12] V, , int32[N,5] O, int32[M] C -> float[T,12] Y "
           "<num_heads = 2>",
           "mac=500*N add=100*N mul=50*N div=50*N cmp=50*N exp=50*N"}},
     .operands = {.not_parameters = InputBits({6})},
     .traits = Traits::kReadsContent,
     .note = "where the lengths of the sequences are not known, each is counted as S, the longest",
     .gradient = {.formula = kAttentionGradient, .weighs_scores = true, .rule = PackedMhaGradient}},
    {.name = "PagedAttention",
     .formula = "as GroupQueryAttention, of T packed queries, each with all the keys of its "
                "sequence; mac = Hq*pairs*(Dk+Dv)",
     .infer = InferPagedAttention,
     .count = CountPagedAttention,
     .examples =
         {// Every query meets up to 3 blocks of 16 keys.
          {"float16[T,16] Q, float16[T,8] K, float16[T,8] V, float16[9,16,2,4] kc, "
           "float16[9,16,2,4] vc, int32[M] C, int32[B] P, int32[B,3] table -> float16[T,16] Y, "
           "float16[9,16,2,4] k, float16[9,16,2,4] v <num_heads = 4, kv_num_heads = 2>",
           "mac=1536*T add=384*T mul=192*T div=192*T cmp=192*T exp=192*T"},
          {"g (float16[4,32] X, float16[9,16,2,4] kc, float16[9,16,2,4] vc, int32[2,3] table) => "
           "(float16[4,16] Y) <int32[3] c = {0, 1, 4}, int32[2] p = {7, 0}> "
           "{ Y = com.microsoft.PagedAttention<num_heads = 4, kv_num_heads = 2>"
           "(X, , , kc, vc, c, p, table) }",
           "mac=544 add=136 mul=68 div=68 cmp=68 exp=68"},
          // Rotated as well: 6 heads of 4 tokens, of 2 pairs each.
          {"g (float16[4,32] X, float16[9,16,2,4] kc, float16[9,16,2,4] vc, int32[2,3] table, "
           "float16[32,2] cos, float16[32,2] sin) => (float16[4,16] Y) <int32[3] c = {0, 1, 4}, "
           "int32[2] p = {7, 0}> { Y = com.microsoft.PagedAttention<num_heads = 4, kv_num_heads = "
           "2, do_rotary = 1>(X, , , kc, vc, c, p, table, cos, sin) }",
           "mac=544 add=232 mul=260 div=68 cmp=68 exp=68"}},
     .operands = {.not_parameters = InputBits({3, 4, 8, 9, 14, 15}), .states = InputBits({3, 4})},
     .traits = Traits::kReadsContent,
     .note = "where the lengths of the sequences are not known, each is counted with as many keys "
             "as its row of the block table can hold; causal attention, which is the default here, "
             "is counted in full unless {causal half} says otherwise and the lengths are known"},
};

}  // namespace

constinit const OpFamily kMsMultiHeadAttentionFamily = {"com.microsoft", kMsMultiHeadAttentionRows};

}  // namespace onnxflops
