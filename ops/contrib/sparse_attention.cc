// com.microsoft: attention over selected keys, those near by among them (Longformer), and the
// indexers that select them.
//
// How it works. All of them count pairs of a query and a key that it meets, and pass these to
// SdpaWork. What differs is the number of keys per query: those that an index tensor names, plus a
// window if the mode says so; 2W+1 neighbours and the global tokens in Longformer; all keys under a
// mask of blocks, since masks are counted in full.
//
// An indexer selects keys for such operators: r keys are pooled into one entry, each query scores
// all entries, and TopK finds the best. Pooling is counted for the entries that a call makes,
// scoring for all entries that exist. Where the fill of a cache decides, its length must be known;
// otherwise the node is unknown. Packed requests are counted at the capacity of their state.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/contrib/attention.h"
#include "ops/contrib/plain.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/lengths.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- Q, K and V of grouped heads: query[..,Hq*D], key and value[..,Hkv*D], or all in
// query[..,(Hq + 2*Hkv)*D]

struct Heads {
  Expr tokens;  // of the whole batch
  Expr q, kv, size;
};

absl::StatusOr<Heads> ReadHeads(const NodeView& n, int rank) {
  ASSIGN_OR_RETURN(Shape query, n.RankedShape(0, rank));
  Heads h = {.tokens = query.Product(0, rank - 1)};
  ASSIGN_OR_RETURN(h.q, PositiveAttr(n, "num_heads"));
  ASSIGN_OR_RETURN(h.kv, PositiveAttr(n, "kv_num_heads"));
  const Expr heads = n.HasInput(1) ? h.q : h.q + 2 * h.kv;
  ASSIGN_OR_RETURN(h.size, DivideEvenly("hidden size in heads", query[rank - 1], heads));
  return h;
}

// The output has the shape of the query, with the features of its own heads.
absl::StatusOr<Fact> QueryLike(const NodeView& n, const Heads& h) {
  ASSIGN_OR_RETURN(Shape y, n.RankedShape(0));
  y[y.rank() - 1] = h.q * h.size;
  return n.Like(0, std::move(y));
}

// The norms and rotations of Q and of the new K. `cos` and `norm` are inputs; norm may be -1.
Census PreparationWork(const NodeView& n, const Heads& h, int cos, int norm) {
  const Expr heads = h.tokens * (h.q + h.kv);
  Census work;
  if (norm >= 0 && n.HasInput(norm)) work += HeadNormWork(heads, h.size);
  if (n.Flag("do_rotary")) {
    const Shape& cache = n.input(cos).shape;
    const bool known = n.HasInput(cos) && cache.ranked() && cache.rank() == 2;
    work += kRotaryCost * (heads * (known ? 2 * cache[1] : h.size));
  }
  return work;
}

// ---- SparseAttention: a mask of blocks, which is counted in full, as masks are

absl::StatusOr<Facts> InferSparseAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Heads h, ReadHeads(n, 3));
  ASSIGN_OR_RETURN(Fact y, QueryLike(n, h));
  Facts facts = {std::move(y)};
  for (int i : {3, 4}) {
    ASSIGN_OR_RETURN(Shape past, n.RankedShape(i, 4));
    facts.push_back(n.Like(i, std::move(past)));
  }
  return facts;
}

absl::StatusOr<Cost> CountSparseAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Heads h, ReadHeads(n, 3));
  ASSIGN_OR_RETURN(const std::optional<Expr> total, KnownLength(n, 7));
  if (!total.has_value()) {
    return absl::FailedPreconditionError("total_sequence_length is not known");
  }
  Cost cost = Flops(SdpaWork({.pairs = h.tokens * *total,
                              .tokens = h.tokens,
                              .heads = h.q,
                              .qk_size = h.size,
                              .v_size = h.size}));
  cost.flops += PreparationWork(n, h, 9, -1);
  cost.flops_mac_operands = OperandsLike(n, 0);
  return cost;
}

// ---- DynamicSparseAttention, SparsePagedAttention: every query meets the keys that
// selected_indices[T,M] names, and, in one mode, those of a local window too

// M, and how many there are in the window.
absl::StatusOr<Expr> KeysPerQuery(const NodeView& n, int selected, const Expr& all_keys) {
  ASSIGN_OR_RETURN(Shape indices, n.RankedShape(selected, 2));
  if (n.String("attention_mode", "selected_only") != "local_plus_selected") return indices[1];
  const int64_t window = n.Int("local_window_size", -1);
  return indices[1] + (window >= 0 ? Expr(window) : all_keys);
}

absl::StatusOr<Facts> InferDynamicSparseAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Heads h, ReadHeads(n, 3));
  ASSIGN_OR_RETURN(Shape query, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(Fact y, QueryLike(n, h));
  Expr length = query[1];
  if (n.HasInput(3)) {
    ASSIGN_OR_RETURN(Shape past, n.RankedShape(3, 4));
    ASSIGN_OR_RETURN(const std::optional<Expr> total, KnownLength(n, 10));
    length = total.has_value() ? Max(past[2], *total)
                               : n.FreshDim(1, 2, "present-length", past[2] + query[1]);
  }
  const Fact cache =
      n.Like(n.HasInput(3) ? 3 : 0, Shape{query[0], h.kv, std::move(length), h.size});
  if (n.Flag("output_bf16")) y.dtype = DType::kBfloat16;
  return Facts{std::move(y), cache, cache, Fact::Tensor(DType::kInt32, Shape{1})};
}

absl::StatusOr<Cost> CountDynamicSparseAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Heads h, ReadHeads(n, 3));
  if (n.Int("local_window_size", -1) < 0 &&
      n.String("attention_mode", "selected_only") == "local_plus_selected") {
    return absl::InvalidArgumentError("local_plus_selected needs a local_window_size");
  }
  ASSIGN_OR_RETURN(Expr keys, KeysPerQuery(n, 7, 0));
  Cost cost = Flops(SdpaWork({.pairs = h.tokens * keys,
                              .tokens = h.tokens,
                              .heads = h.q,
                              .qk_size = h.size,
                              .v_size = h.size,
                              .sink = n.HasInput(16) || n.Flag("smooth_softmax")}));
  cost.flops += PreparationWork(n, h, 11, 14);
  cost.flops_mac_operands = OperandsLike(n, 0);
  // Each query reads the keys that it meets from the cache; auxiliary ones are floating point.
  const bool auxiliary = n.String("selected_kv_source", "main") == "auxiliary";
  const Expr met = auxiliary ? Expr(n.Int("local_window_size", -1)) : keys;
  const Expr per_position = h.kv * h.size;
  const CacheUse use = {per_position * h.tokens, per_position * h.tokens * met};
  cost.flops += CacheWork(n.dtype(3), n.HasInput(18), use);
  cost.flops += CacheWork(n.dtype(4), n.HasInput(19), use);
  return cost;
}

absl::StatusOr<Facts> InferSparsePagedAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Heads h, ReadHeads(n, 2));
  ASSIGN_OR_RETURN(Fact y, QueryLike(n, h));
  Facts facts = {std::move(y)};
  for (int i : {3, 4}) {
    ASSIGN_OR_RETURN(Shape cache, n.RankedShape(i, 4));
    facts.push_back(n.Like(i, std::move(cache)));
  }
  return facts;
}

absl::StatusOr<Cost> CountSparsePagedAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Heads h, ReadHeads(n, 2));
  ASSIGN_OR_RETURN(Shape cache, n.RankedShape(3, 4));
  ASSIGN_OR_RETURN(Shape table, n.RankedShape(7, 2));
  ASSIGN_OR_RETURN(Expr keys, KeysPerQuery(n, 9, table[1] * cache[1]));
  Cost cost = Flops(SdpaWork({.pairs = h.tokens * keys,
                              .tokens = h.tokens,
                              .heads = h.q,
                              .qk_size = h.size,
                              .v_size = h.size,
                              .softcap = n.Float("softcap", 0.0f) != 0.0f,
                              .sink = n.HasInput(16)}));
  cost.flops += PreparationWork(n, h, 14, 17);
  cost.flops_mac_operands = OperandsLike(n, 0);
  // Each query reads the keys that it meets from the cache.
  const Expr per_position = h.kv * h.size;
  const CacheUse use = {per_position * h.tokens, per_position * h.tokens * keys};
  cost.flops += CacheWork(n.dtype(3), n.String("k_quant_type", "NONE") != "NONE", use);
  cost.flops += CacheWork(n.dtype(4), n.String("v_quant_type", "NONE") != "NONE", use);
  return cost;
}

// ---- indexers: scores of queries against pooled keys, of which the best are selected
//
// qsa: blocks of r keys, their mean normalised and rotated. csa: windows of r keys and gates, with
// the one before, weighted by a softmax per channel, then normalised and rotated.

struct Indexer {
  bool csa = false;
  Expr r;                     // tokens per entry
  Expr heads, size, rotated;  // of the queries
  Expr queries;               // tokens of the whole batch
  Expr pooled;                // entries that are made, over the whole batch
  Expr entries;               // entries that a query meets
  int64_t best = 0;           // that are kept
  int64_t capacity = 0;       // of selected_indices
};

// The attributes and the sizes of queries; `rank` is that of the query.
absl::StatusOr<Indexer> ReadIndexer(const NodeView& n, int rank) {
  Indexer x;
  const absl::string_view mode = n.String("policy_mode", "");
  x.csa = mode == "csa";
  if (!x.csa && mode != "qsa") {
    return absl::InvalidArgumentError(absl::StrCat("policy_mode is '", mode, "', not qsa or csa"));
  }
  ASSIGN_OR_RETURN(x.r, PositiveAttr(n, "compress_ratio"));
  const absl::string_view kept = x.csa ? "index_topk" : "token_budget";
  ASSIGN_OR_RETURN(const Expr budget, PositiveAttr(n, kept));
  ASSIGN_OR_RETURN(const Expr best, DivideEvenly(kept, budget, x.csa ? Expr(1) : x.r));
  x.best = best.AsInt64().value_or(0);
  x.capacity = (x.csa ? budget : budget + x.r - 1).AsInt64().value_or(0);
  ASSIGN_OR_RETURN(Shape query, n.RankedShape(0, rank));
  ASSIGN_OR_RETURN(Shape norm, n.RankedShape(2, 1));
  ASSIGN_OR_RETURN(Shape cos, n.ShapeOfRankAtLeast(4, 2));
  x.size = norm[0];
  x.queries = query.Product(0, rank - 1);
  ASSIGN_OR_RETURN(x.heads, DivideEvenly("hidden size in heads", query[rank - 1], x.size));
  if (!n.HasInput(1)) x.heads -= 1;  // the key is packed after the query
  x.rotated = cos[cos.rank() - 1] * (x.csa ? 2 : 1);
  return x;
}

// Pooling of the keys of one entry, and the norm and rotation of the result.
Census PoolingWork(const Indexer& x) {
  Census work;
  if (x.csa) {
    // A bias on each gate, a softmax over the 2r slots of a channel, the keys weighted by it.
    work = (kSoftmaxCost + ElementCost{.add = 2, .mul = 1}) * (x.pooled * 2 * x.r * x.size);
  } else {
    work = ElementCost{.add = 1} * (x.pooled * x.r * x.size);
    work += ElementCost{.div = 1} * (x.pooled * x.size);
  }
  work += HeadNormWork(x.pooled, x.size);
  work += kRotaryCost * (x.pooled * x.rotated);
  return work;
}

// Of each query and entry: the products of all heads, ReLU, the scale (and in csa the weight of the
// head), their sum; then the best entries.
absl::StatusOr<Census> ScoringWork(const NodeView& n, const Indexer& x) {
  const Expr pairs = x.queries * x.entries;
  Census work = HeadNormWork(x.queries * x.heads, x.size);
  work += kRotaryCost * (x.queries * x.heads * x.rotated);
  work += ElementCost{.add = 1, .mul = x.csa ? 2 : 1, .cmp = 1} * (pairs * x.heads);
  work[Kind::kMac] = pairs * x.heads * x.size;
  if (x.csa) work += ElementCost{.mul = 1} * (x.queries * x.heads);  // of the heads' weights
  const Fact scores = n.Like(0, Shape{x.queries, x.entries});
  const Fact best = n.Like(0, Shape{x.queries, x.best});
  const Fact k = Fact::Ints({Scalar::Int(x.best)});
  ASSIGN_OR_RETURN(Cost top_k, CountAs(n, "TopK", {scores, k}, {best}));
  work += top_k.flops;
  return work;
}

absl::StatusOr<Cost> IndexerCost(const NodeView& n, const Indexer& x) {
  ASSIGN_OR_RETURN(Census scoring, ScoringWork(n, x));
  Cost cost = Flops(PoolingWork(x));
  cost.flops += scoring;
  cost.flops_mac_operands = OperandsLike(n, 0);
  return cost;
}

// What is kept of the past: keys[B,P,D], and in csa buffered projections[2,B,L,2D].
struct IndexerState {
  Expr batch, length;
  std::optional<Expr> past;      // entries in use; nullopt where not known
  std::optional<Expr> capacity;  // of a buffer
  Expr buffered = 0;             // L
  Expr windows = 0;              // that are closed by this call
};

absl::StatusOr<IndexerState> ReadIndexerState(const NodeView& n, const Indexer& x) {
  ASSIGN_OR_RETURN(Shape query, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(Shape past, n.RankedShape(7, 3));
  IndexerState s = {.batch = query[0], .length = query[1], .past = past[1]};
  if (n.HasInput(12)) {
    s.capacity = past[1];
    ASSIGN_OR_RETURN(s.past, KnownLength(n, 12));
  }
  if (n.HasInput(13)) {
    ASSIGN_OR_RETURN(Shape buffer, n.RankedShape(13, 4));
    s.buffered = buffer[2];
  }
  if (x.csa) s.windows = FloorDiv(Mod(s.buffered, x.r) + s.length, x.r);
  return s;
}

absl::StatusOr<Facts> InferIndexer(const NodeView& n) {
  ASSIGN_OR_RETURN(Indexer x, ReadIndexer(n, 3));
  ASSIGN_OR_RETURN(IndexerState s, ReadIndexerState(n, x));
  const Expr present =
      s.capacity.has_value() ? *s.capacity : *s.past + (x.csa ? s.windows : s.length);
  // A window before the current one is kept once there is one.
  const Expr complete = Min(FloorDiv(s.buffered, x.r) + s.windows, 1);
  const Expr buffer = x.r * complete + Mod(Mod(s.buffered, x.r) + s.length, x.r);
  return Facts{Fact::Tensor(DType::kInt32, Shape{s.batch, s.length, x.capacity}),
               n.Like(0, Shape{s.batch, present, x.size}),
               n.Like(0, Shape{2, s.batch, buffer, 2 * x.size})};
}

absl::StatusOr<Cost> CountIndexer(const NodeView& n) {
  ASSIGN_OR_RETURN(Indexer x, ReadIndexer(n, 3));
  ASSIGN_OR_RETURN(IndexerState s, ReadIndexerState(n, x));
  if (!s.past.has_value())
    return absl::FailedPreconditionError("past_sequence_length is not known");
  x.entries = x.csa ? *s.past + s.windows : FloorDiv(*s.past + s.length, x.r);
  x.pooled = s.batch * (x.csa ? s.windows : x.entries);
  return IndexerCost(n, x);
}

// ---- of packed requests: query[T,H*D], states of fixed capacity

// With merged_indices[*,W], a selection may be taken from there, and has W places.
struct IndexShare {
  bool given = false;
  bool reuses = false;   // surely: no scores
  bool advances = true;  // the state moves on though the selection is reused
};

absl::StatusOr<IndexShare> ReadIndexShare(const NodeView& n, bool csa) {
  const absl::string_view policy = n.String("indexshare_state_policy", "default");
  if (policy != "default" && policy != "hold" && policy != "advance") {
    return absl::InvalidArgumentError(
        absl::StrCat("indexshare_state_policy is '", policy, "', not default, hold or advance"));
  }
  IndexShare s = {.given = n.HasInput(18) || n.HasInput(19)};
  s.advances = policy == "advance" || (policy == "default" && csa);
  s.reuses = s.given && n.KnownInt(18) == Expr(1);
  return s;
}

absl::StatusOr<Facts> InferPackedIndexer(const NodeView& n) {
  ASSIGN_OR_RETURN(Indexer x, ReadIndexer(n, 2));
  ASSIGN_OR_RETURN(const IndexShare share, ReadIndexShare(n, x.csa));
  ASSIGN_OR_RETURN(Shape past, n.RankedShape(12, 3));
  if (share.given) {
    ASSIGN_OR_RETURN(const Expr places, PositiveAttr(n, "max_output_entries"));
    ASSIGN_OR_RETURN(const Shape merged, n.RankedShape(19, 2));
    RETURN_IF_ERROR(n.RequireSame("places of merged_indices", merged[1], places));
    x.capacity = places.AsInt64().value_or(0);
  }
  Facts facts = {Fact::Tensor(DType::kInt32, Shape{x.queries, x.capacity}),
                 Fact::Tensor(DType::kInt32, Shape{x.queries})};
  for (int i : {12, 13, 14, 15}) {
    if (n.HasInput(i)) RETURN_IF_ERROR(n.RankedShape(i).status());
    facts.push_back(n.HasInput(i) ? n.Like(i, n.input(i).shape) : Fact::Unknown());
  }
  const int64_t updates = n.Int("state_update_capacity", 0);
  facts.push_back(n.Like(0, Shape{past[0], updates, x.size}));
  facts.push_back(Fact::Tensor(DType::kInt32, Shape{x.queries}));  // indexshare_status
  facts.push_back(Fact::Tensor(DType::kInt32, Shape{past[0]}));    // state_status
  return facts;
}

absl::StatusOr<Cost> CountPackedIndexer(const NodeView& n) {
  ASSIGN_OR_RETURN(Indexer x, ReadIndexer(n, 2));
  ASSIGN_OR_RETURN(x.entries, PositiveAttr(n, "state_capacity"));
  x.pooled = FloorDiv(x.queries, x.r);
  ASSIGN_OR_RETURN(const IndexShare share, ReadIndexShare(n, x.csa));
  if (share.given && n.HasInput(18) && !n.KnownInt(18)) {
    return absl::FailedPreconditionError("indexshare_mode is not known, which says what is scored");
  }
  if (!share.reuses) return IndexerCost(n, x);
  return share.advances ? Flops(PoolingWork(x)) : Cost();
}

// PackedSparseAttentionIndexerMerge: of base_indices[R,C], rows for N queries, and more of each.
absl::StatusOr<Facts> InferIndexerMerge(const NodeView& n) {
  RETURN_IF_ERROR(n.RankedShape(0, 2).status());
  ASSIGN_OR_RETURN(const Shape rows, n.RankedShape(2, 1));
  ASSIGN_OR_RETURN(const Expr places, PositiveAttr(n, "max_output_entries"));
  const absl::string_view mode = n.String("policy_mode", "");
  const bool range = mode == "append_range";
  if (!range && mode != "append_indices") {
    return absl::InvalidArgumentError(
        absl::StrCat("policy_mode is '", mode, "', not append_range or append_indices"));
  }
  for (int i : {3, 4, 5, 6}) {
    if (n.HasInput(i) == (range == (i < 5))) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", i, " is ", n.HasInput(i) ? "given" : "missing", " with policy_mode ", mode));
  }
  const Fact counts = n.Like(0, Shape{rows[0]});
  return Facts{n.Like(0, Shape{rows[0], places}), counts, counts};
}

constexpr char kIndexerFormula[] =
    "scores of H query heads against E pooled keys, summed over the heads, of which the best are "
    "selected; mac = Q*E*H*D; per query, entry and head: mul (2 in csa), cmp, add; the best: cmp; "
    "queries and pooled keys: RMSNormalization and rotation; pooling: qsa: add per key, div; csa: "
    "softmax, 2 add, mul per slot and channel";

// ---- Longformer: each token meets the W before it, the W after it, itself and the global tokens,
// which meet all tokens with projections of their own

struct Longformer {
  Expr batch, length, hidden, heads, size;
  Expr window;  // 2 W + 1
  Expr global;  // tokens that are global, over the whole batch
};

absl::StatusOr<Longformer> ReadLongformer(const NodeView& n, int flags) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 3));
  Longformer l = {.batch = x[0], .length = x[1], .hidden = x[2]};
  ASSIGN_OR_RETURN(l.heads, PositiveAttr(n, "num_heads"));
  ASSIGN_OR_RETURN(const Expr side, PositiveAttr(n, "window"));
  ASSIGN_OR_RETURN(l.size, DivideEvenly("hidden size in heads", l.hidden, l.heads));
  l.window = 2 * side + 1;
  const std::optional<Dims> global = n.KnownInts(flags);
  if (!global.has_value()) {
    return absl::FailedPreconditionError("how many tokens are global is not known");
  }
  l.global = 0;
  for (const Expr& flag : *global) {
    if (ProvablyEqual(flag, 0) != true) l.global += 1;
  }
  return l;
}

Sdpa LongformerProducts(const Longformer& l) {
  const Expr tokens = l.batch * l.length;
  return {.pairs = tokens * l.window + 2 * l.length * l.global,
          .heads = l.heads,
          .qk_size = l.size,
          .v_size = l.size,
          .biases = 1};
}

// Q, K and V of all tokens, then for the global ones K and V of all tokens and Q of their own.
Expr LongformerProjected(const Longformer& l) {
  return (5 * l.batch * l.length + l.global) * l.hidden;
}

absl::StatusOr<Cost> CountLongformer(const NodeView& n) {
  ASSIGN_OR_RETURN(Longformer l, ReadLongformer(n, 6));
  Cost cost = Flops(SdpaWork(LongformerProducts(l)));
  cost.flops[Kind::kMac] += LongformerProjected(l) * l.hidden;
  cost.flops[Kind::kAdd] += LongformerProjected(l);
  return cost;
}

absl::StatusOr<Cost> CountQOrderedLongformer(const NodeView& n) {
  ASSIGN_OR_RETURN(Longformer l, ReadLongformer(n, 12));
  Cost cost = Flops(SdpaWork(LongformerProducts(l)));
  const Expr projected = LongformerProjected(l);
  cost.int_ops[Kind::kMac] = projected * l.hidden;
  cost.int_ops_mac_operands = OperandsLike(n, 0);
  cost.flops_mac_operands = OperandsLike(n, 7);
  // The projections are made floating point, the output is quantised.
  cost.flops += ElementCost{.add = 1, .mul = 1} * projected;
  cost.flops += QuantizeCost(false) * (l.batch * l.length * l.hidden);
  return cost;
}

constexpr OpDef kMsSparseAttentionRows[] = {
    {.name = "DynamicSparseAttention",
     .formula = "as GroupQueryAttention, every query with M selected keys (and W of a local "
                "window); mac = 2*B*Hq*S*(M + W)*D",
     .infer = InferDynamicSparseAttention,
     .count = CountDynamicSparseAttention,
     .least = NoMacs,  // what a query meets is data
     .examples = {{"g (float[N,3,16] Q, float[N,3,8] K, float[N,3,8] V, float[N,2,64,4] pk, "
                   "float[N,2,64,4] pv, int32[\"3*N\",8] I, int32[\"3*N\"] C, int32[N] L) => "
                   "(float[N,3,16] Y, float[N,2,64,4] k, float[N,2,64,4] v) <int32 t = {40}> { Y, "
                   "k, v = com.microsoft.DynamicSparseAttention<num_heads = 4, kv_num_heads = "
                   "2>(Q, K, V, pk, pv, , , I, C, L, t) }",
                   "mac=768*N add=192*N mul=96*N div=96*N cmp=96*N exp=96*N"},
                  // A cache in int8: 24 numbers of K and of V are quantised, 8 times as many
                  // dequantised.
                  {"g (float16[N,3,16] Q, float16[N,3,8] K, float16[N,3,8] V, int8[N,2,64,4] pk, "
                   "int8[N,2,64,4] pv, int32[\"3*N\",8] I, int32[\"3*N\"] C, int32[N] L, float[8] "
                   "ks, float[8] vs) => (bfloat16[N,3,16] Y, int8[N,2,64,4] k, int8[N,2,64,4] v, "
                   "int32[1] x) <int32 t = {40}> { Y, k, v, x = "
                   "com.microsoft.DynamicSparseAttention<num_heads = 4, kv_num_heads = 2, "
                   "output_bf16 = 1>(Q, K, V, pk, pv, , , I, C, L, t, , , , , , , , ks, vs) }",
                   "mac=768*N add=192*N mul=480*N div=144*N cmp=192*N exp=96*N round=48*N"}},
     .shape_inputs = 1 << 10,
     .operands = {.not_parameters = InputBits({3, 4, 11, 12, 13, 18, 19}),
                  .states = InputBits({3, 4})},
     .traits = Traits::kReadsContent,
     .note = "all M places of selected_indices are counted, unused ones too; a cache in int8: what "
             "is appended is quantised, what a query meets dequantised"},
    {.name = "LongformerAttention",
     .formula = "every token meets 2W+1 tokens and G global ones, which meet all S; mac = "
                "(5*B*S + G)*D*D + 2*(B*S*(2W+1) + 2*S*G)*D; per score: mul, add, softmax (2 add, "
                "div, cmp, exp); add = (5*B*S + G)*D for the biases",
     .infer = InferSameAsInput,
     .count = CountLongformer,
     .least = NoMacs,  // what a query meets is data
     .examples =
         {// Pairs 8*(5 + 2*1) = 56 in 2 heads, rows of 41 * 8.
          {"g (float[1,8,8] X, float[8,24] W, float[24] B, float[1,8] M, float[8,24] V, float[24] "
           "C) => (float[1,8,8] Y) <int32[1,8] f = {1, 0, 0, 0, 0, 0, 0, 0}> { Y = "
           "com.microsoft.LongformerAttention<num_heads = 2, window = 2>(X, W, B, M, V, C, f) }",
           "mac=3520 add=664 mul=112 div=112 cmp=112 exp=112"}},
     .operands = {.weights = InputBits({1, 2, 4, 5}), .not_parameters = InputBits({3})},
     .traits = Traits::kReadsContent,
     .note = "how many tokens are global must be known: the content of the input global"},
    {.name = "PackedSparseAttentionIndexer",
     .formula = kIndexerFormula,
     .infer = InferPackedIndexer,
     .count = CountPackedIndexer,
     .examples =
         {{"float[8,32] Q, float[8,8] K, float[8] qw, float[8] kw, float[64,4] c, float[64,4] s, "
           "int32[3] C, int32[2] L, , , , , float[2,16,8] pk, float[2,7,8] pb, , int32[2,2] pl -> "
           "int32[8,11] I, int32[8] J, float[2,16,8] k, float[2,7,8] b <policy_mode = \"qsa\", "
           "compress_ratio = 4, token_budget = 8, state_capacity = 16>",
           "mac=4096 add=1018 mul=1328 div=322 cmp=768 sqrt=34"},
          // A selection that is reused: 2 entries are pooled all the same.
          {"g (float[8,32] Q, float[8,8] K, float[8] qw, float[8] kw, float[64,4] c, "
           "float[64,4] s, int32[3] C, int32[2] L, float[2,16,8] pk, float[2,7,8] pb, "
           "int32[2,2] pl, int32[2,20] M, int32[2] N, int32[2] S) => (int32[8,20] I, "
           "int32[8] J, float[2,16,8] k, float[2,7,8] b, int32[2,2] l, int32[8] t, int32[2] "
           "u) <int32[1] m = {1}> { I, J, k, b, , l, , t, u = "
           "com.microsoft.PackedSparseAttentionIndexer<policy_mode = \"qsa\", "
           "compress_ratio = 4, token_budget = 8, state_capacity = 16, max_output_entries = "
           "20, indexshare_state_policy = \"advance\">(Q, K, qw, kw, c, s, C, L, , , , , "
           "pk, pb, , pl, , , m, M, N, S) }",
           "add=90 mul=48 div=34 sqrt=2"}},
     .operands = {.not_parameters = InputBits({4, 5, 11, 12, 13, 14}),
                  .states = InputBits({12, 13, 14})},
     .traits = Traits::kReadsContent,
     .note = "how long the requests are is data: every query is counted against state_capacity "
             "entries, and one entry is pooled for every compress_ratio tokens; a selection that "
             "is surely reused (indexshare_mode is 1) has no scores"},
    {.name = "PackedSparseAttentionIndexerMerge",
     .formula = "selected[N,W] = of each query, the base selection of its row and what is added (a "
                "range, or A indices), each index once; int_cmp = 2 per entry of the base for a "
                "range, A*digits(base) for indices",
     .data = {.signature = "base_indices[R, C] base_counts base_row_indices[N] range_starts? "
                           "range_ends? additional_indices? additional_counts? -> selected counts "
                           "status",
              .attributes = "max_output_entries = int; policy_mode = |append_range|append_indices",
              .costs =
                  "int_cmp = range_starts.given*2*N*C + additional_indices.elements*digits(C)"},
     .infer = InferIndexerMerge,
     .examples =
         {{"int32[6,8] I, int32[6] K, int32[N] R, int32[N] S, int32[N] E -> int32[N,11] O, "
           "int32[N] P, int32[N] T <max_output_entries = 11, policy_mode = \"append_range\">",
           "int_cmp=16*N"},
          {"int32[6,8] I, int32[6] K, int32[N] R, , , int32[N,3] A, int32[N] B -> int32[N,11] O, "
           "int32[N] P, int32[N] T <max_output_entries = 11, policy_mode = \"append_indices\">",
           "int_cmp=12*N"}},
     .note = "how many entries are used is data: all places are counted, each found in a sorted "
             "base"},
    {.name = "QOrderedLongformerAttention",
     .formula = "as LongformerAttention, the projections in integers",
     .infer = InferSameAsInput,
     .count = CountQOrderedLongformer,
     .least = NoMacs,  // what a query meets is data
     .examples = {{"g (int8[1,8,8] X, float s, int8[8,24] W, float[24] B, float16[1,8] M, "
                   "int8[8,24] V, float[24] C) => (int8[1,8,8] Y) <int32[1,8] f = {1, 0, 0, 0, 0, "
                   "0, 0, 0}> { Y = com.microsoft.QOrderedLongformerAttention<num_heads = 2, "
                   "window = 2, order_input = 1, order_weight = 0, order_global_weight = 0, "
                   "order_output = 1>(X, s, W, s, B, s, s, M, V, s, C, s, f, s) }",
                   "mac=896 add=664 mul=440 div=176 cmp=240 exp=112 round=64 int_mac=2624"}},
     .operands = {.weights = InputBits({2, 4, 8, 10}),
                  .not_parameters = InputBits({1, 3, 5, 6, 7, 9, 11, 13})},
     .traits = Traits::kReadsContent,
     .note = "how many tokens are global must be known: the content of the input global"},
    {.name = "SparseAttention",
     .formula = "as GroupQueryAttention, with a mask of blocks; mac = 2*B*Hq*S*T*D",
     .infer = InferSparseAttention,
     .count = CountSparseAttention,
     .least = NoMacs,  // what a query meets is data
     .examples = {{"g (float[N,3,16] Q, float[N,3,8] K, float[N,3,8] V, float[N,2,64,4] pk, "
                   "float[N,2,64,4] pv, int32[1,5] R, int32[1,9] C, int32[N] L) => (float[N,3,16] "
                   "Y, float[N,2,64,4] k, float[N,2,64,4] v) <int32 t = {8}> { Y, k, v = "
                   "com.microsoft.SparseAttention<num_heads = 4, kv_num_heads = 2, "
                   "sparse_block_size = 16>(Q, K, V, pk, pv, R, C, t, L) }",
                   "mac=768*N add=192*N mul=96*N div=96*N cmp=96*N exp=96*N"}},
     .operands = {.not_parameters = InputBits({3, 4, 9, 10}), .states = InputBits({3, 4})},
     .traits = Traits::kReadsContent,
     .note =
         "the mask is counted in full, as all masks are: decomposed, it is attention with a mask"},
    {.name = "SparseAttentionIndexer",
     .formula = kIndexerFormula,
     .infer = InferIndexer,
     .count = CountIndexer,
     .examples =
         {// 4 heads of 8 against (12 + 4) / 4 = 4 blocks, of which 2 are kept.
          {"float[N,4,32] Q, float[N,4,8] K, float[8] qw, float[8] kw, float[64,4] c, float[64,4] "
           "s, , float[N,12,8] past -> int32[N,4,11] I, float[N,16,8] P <policy_mode = \"qsa\", "
           "compress_ratio = 4, token_budget = 8>",
           "mac=512*N add=452*N mul=544*N div=212*N cmp=96*N sqrt=20*N"}},
     .shape_inputs = 1 << 12,
     .operands = {.not_parameters = InputBits({4, 5, 6, 7, 11, 13}), .states = InputBits({7, 13})},
     .traits = Traits::kReadsContent,
     .note = "every query is counted with all entries, causal or not"},
    {.name = "SparsePagedAttention",
     .formula = "as PagedAttention, every query with M selected keys (and W of a local window); "
                "mac = 2*Hq*T*(M + W)*D",
     .infer = InferSparsePagedAttention,
     .count = CountSparsePagedAttention,
     .least = NoMacs,  // what a query meets is data
     .examples = {{"float16[T,16] Q, float16[T,8] K, float16[T,8] V, float16[9,16,2,4] kc, "
                   "float16[9,16,2,4] vc, int32[M] C, int32[B] P, int32[B,3] table, , int32[T,8] "
                   "I, int32[T] S -> float16[T,16] Y, float16[9,16,2,4] k, float16[9,16,2,4] v "
                   "<num_heads = 4, kv_num_heads = 2>",
                   "mac=256*T add=64*T mul=32*T div=32*T cmp=32*T exp=32*T"}},
     .operands = {.not_parameters = InputBits({3, 4, 14, 15, 19, 20}), .states = InputBits({3, 4})},
     .note =
         "all M places of selected_indices are counted, unused ones too; a local window without "
         "a size is all that a row of the block table can hold"},
};

}  // namespace

constinit const OpFamily kMsSparseAttentionFamily = {"com.microsoft", kMsSparseAttentionRows};

}  // namespace onnxflops
