// com.microsoft: attention with the projections of Q, K and V fused in, of whole and of packed
// sequences; and the parts that all attention operators have in common.
//
// How it works. Pairs of a query and a key are held twice over and halved at the end, since a
// causal triangle has n*(n+1)/2 of them. SdpaWork of ops/parts.h counts softmax(scale Q K') V.
//
// The operators themselves read their inputs into a struct of sizes and add the projections. For
// packed sequences the pairs are the sum of the squared lengths; if the lengths are not known, each
// sequence counts as the longest (or as nothing for a lower bound).
#include "ops/contrib/attention.h"

#include <array>
#include <cstddef>

#include "ops/causal.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/lengths.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

// ---- parts

void MakeCausal(const NodeView& n, const Expr& twice_unmasked, Sdpa* sdpa) {
  sdpa->causal = true;
  if (n.half_causal()) sdpa->twice_unmasked = twice_unmasked;
}

void LeaveOutHidden(const NodeView& n, std::initializer_list<int> inputs, Sdpa* sdpa) {
  if (!n.least()) return;
  for (int input : inputs) {
    if (n.HasInput(input)) sdpa->twice_unmasked = 0;
  }
}

Census HeadNormWork(const Expr& heads, const Expr& head_size) {
  return RmsNormWork(heads, heads * head_size);
}

MacOperands OperandsLike(const NodeView& n, int i) { return {.a = n.dtype(i), .b = n.dtype(i)}; }

absl::StatusOr<Expr> PositiveAttr(const NodeView& n, absl::string_view name) {
  const int64_t value = n.Int(name, 0);
  if (value > 0) return Expr(value);
  return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " is ", value));
}

Census CacheWork(DType stored, bool quantized, const CacheUse& use) {
  if (!quantized) return {};
  // Narrow floats are made by a cast, which rounds for free.
  const ElementCost append = IsFloat(stored) ? ElementCost{.div = 1} : QuantizeCost(false);
  Census work = append * use.appended;
  work += DequantizeCost(false) * use.read;
  return work;
}

absl::StatusOr<Expr> PackedPairs(const NodeView& n, int token_offset) {
  ASSIGN_OR_RETURN(const std::optional<Dims> lengths, KnownLengthsOfSums(n, token_offset + 1));
  Expr pairs = 0;
  if (n.least() && !lengths.has_value()) return pairs;
  if (lengths.has_value()) {
    for (const Expr& length : *lengths) pairs += length * length;
    return pairs;
  }
  ASSIGN_OR_RETURN(Shape offsets, n.RankedShape(token_offset, 2));
  return offsets[0] * offsets[1] * offsets[1];
}

namespace {

// ---- Attention: input[B,S,I] weights[I,Dq+Dk+Dv] + bias, split into heads. QAttention and
// DecoderMaskedSelfAttention are read alike.

struct SelfAttention {
  Expr batch, length, features, total;  // B, S, I, T
  Expr heads, qk_hidden, v_hidden;      // H, Dq = Dk, Dv
  std::optional<Expr> past;             // P; nullopt if there is no past or its length is unknown
  std::optional<Expr> capacity;         // of the buffer that past and present share
  Expr Projected() const { return 2 * qk_hidden + v_hidden; }
  Shape Output() const { return {batch, length, v_hidden}; }
  // [2,B,H,T,D].
  Shape Present() const {
    return {2, batch, heads, capacity.value_or(total), FloorDiv(qk_hidden, heads)};
  }
  Sdpa Products() const {
    return {.pairs = batch * length * total,
            .heads = heads,
            .qk_size = FloorDiv(qk_hidden, heads),
            .v_size = FloorDiv(v_hidden, heads)};
  }
};

// The sizes of Q, K and V: the attribute, or a third of the weights each.
absl::Status ReadHiddenSizes(const NodeView& n, const Expr& columns, SelfAttention* a) {
  const auto sizes = n.Ints("qkv_hidden_sizes");
  if (sizes.empty()) {
    ASSIGN_OR_RETURN(a->qk_hidden, DivideEvenly("columns of the weights", columns, 3));
    a->v_hidden = a->qk_hidden;
  } else {
    if (sizes.size() != 3 || sizes[0] != sizes[1] || sizes[0] <= 0 || sizes[2] <= 0) {
      return absl::InvalidArgumentError("qkv_hidden_sizes must be three, the first two the same");
    }
    a->qk_hidden = sizes[0];
    a->v_hidden = sizes[2];
    RETURN_IF_ERROR(n.RequireSame("columns of the weights", columns, a->Projected()));
  }
  RETURN_IF_ERROR(DivideEvenly("hidden size in heads", a->qk_hidden, a->heads).status());
  return DivideEvenly("hidden size of V in heads", a->v_hidden, a->heads).status();
}

// The past [2,B,H,P,D] at input `past`; a buffer of capacity P, of which input `length` tells how
// much is used, when past and present share it.
absl::Status ReadPast(const NodeView& n, int past, int length, SelfAttention* a) {
  if (!n.HasInput(past)) return absl::OkStatus();
  ASSIGN_OR_RETURN(Shape shape, n.RankedShape(past, 5));
  RETURN_IF_ERROR(n.RequireSame("batch of the past", shape[1], a->batch));
  RETURN_IF_ERROR(n.RequireSame("heads of the past", shape[2], a->heads));
  a->past = shape[3];
  if (!n.Flag("past_present_share_buffer")) return absl::OkStatus();
  a->capacity = shape[3];
  a->past = std::nullopt;
  if (length >= 0) {
    ASSIGN_OR_RETURN(a->past, KnownLength(n, length));
  }
  return absl::OkStatus();
}

absl::StatusOr<SelfAttention> ReadSelfAttention(const NodeView& n, int past, int past_length) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(Shape w, n.RankedShape(1, 2));
  RETURN_IF_ERROR(n.RequireSame("input_hidden_size", x[2], w[0]));
  SelfAttention a = {.batch = x[0], .length = x[1], .features = x[2]};
  ASSIGN_OR_RETURN(a.heads, PositiveAttr(n, "num_heads"));
  RETURN_IF_ERROR(ReadHiddenSizes(n, w[1], &a));
  RETURN_IF_ERROR(ReadPast(n, past, past_length, &a));
  a.total = a.past.value_or(0) + a.length;
  return a;
}

// Costs need the number of keys: an error if a shared buffer's fill is not known.
absl::Status RequireTotal(const SelfAttention& a) {
  if (!a.capacity.has_value() || a.past.has_value()) return absl::OkStatus();
  return absl::FailedPreconditionError("past_sequence_length is not known");
}

// The products, causal where the attribute says so.
Sdpa ProductsOf(const NodeView& n, const SelfAttention& a) {
  Sdpa sdpa = a.Products();
  if (n.Flag("unidirectional")) {
    MakeCausal(n, a.batch * TwiceCausalPairs(a.length, a.total, a.past.value_or(0)), &sdpa);
  }
  return sdpa;
}

Facts SelfAttentionOutputs(const SelfAttention& a, DType type) {
  return {Fact::Tensor(type, a.Output()), Fact::Tensor(type, a.Present())};
}

// Rotations of Q and K, of the first features of each head.
Expr RotatedElements(const NodeView& n, const SelfAttention& a) {
  const int64_t given = n.Int("rotary_embedding_dim", 0);
  const Expr size = given > 0 ? Expr(given) : FloorDiv(a.qk_hidden, a.heads);
  return 2 * a.batch * a.length * a.heads * size;
}

absl::StatusOr<Facts> InferAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(SelfAttention a, ReadSelfAttention(n, 4, 6));
  return SelfAttentionOutputs(a, n.dtype(0));
}

absl::StatusOr<Cost> CountAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(SelfAttention a, ReadSelfAttention(n, 4, 6));
  RETURN_IF_ERROR(RequireTotal(a));
  const Expr projected = a.batch * a.length * a.Projected();
  Sdpa sdpa = ProductsOf(n, a);
  sdpa.biases = (n.HasInput(3) ? 1 : 0) + (n.HasInput(5) ? 1 : 0);
  LeaveOutHidden(n, {3, 5}, &sdpa);
  Cost cost = SdpaCost(sdpa);
  cost.flops[Kind::kMac] += projected * a.features;
  if (n.HasInput(2)) cost.flops[Kind::kAdd] += projected;
  if (n.Flag("do_rotary")) cost.flops += kRotaryCost * RotatedElements(n, a);
  return cost;
}

// Q, K and V are parts of one product, so all three need a gradient if X, W or the bias does.
absl::StatusOr<Census> AttentionGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const SelfAttention a, ReadSelfAttention(n, 4, 6));
  RETURN_IF_ERROR(RequireTotal(a));
  const bool projected = query.Needs(0) || query.Needs(1) || query.Needs(2);
  const bool past = query.Needs(4);
  Census work = SdpaGradient(ProductsOf(n, a), {.q = projected,
                                                .k = projected || past,
                                                .v = projected || past,
                                                .bias = query.Needs(5),
                                                .recomputes_scores = query.recomputes_scores});
  const Expr elements = a.batch * a.length * a.Projected();
  for (size_t factor : {0, 1}) {
    if (query.Needs(factor)) work[Kind::kMac] += elements * a.features;
  }
  if (query.Needs(2)) work[Kind::kAdd] += elements;
  if (projected && n.Flag("do_rotary")) work += kRotaryCost * RotatedElements(n, a);
  return work;
}

// QAttention: the projection in integers, then as Attention.
absl::StatusOr<Facts> InferQAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(SelfAttention a, ReadSelfAttention(n, 8, -1));
  return SelfAttentionOutputs(a, n.dtype(3));
}

absl::StatusOr<Cost> CountQAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(SelfAttention a, ReadSelfAttention(n, 8, -1));
  RETURN_IF_ERROR(RequireTotal(a));
  ASSIGN_OR_RETURN(Shape scale, n.RankedShape(4));
  const Expr projected = a.batch * a.length * a.Projected();
  Sdpa sdpa = ProductsOf(n, a);
  sdpa.biases = n.HasInput(5) ? 1 : 0;
  LeaveOutHidden(n, {5}, &sdpa);
  Cost cost = SdpaCost(sdpa);
  cost.flops_mac_operands = OperandsLike(n, 3);
  // The product of the scales; then that and the bias for each sum of the projection.
  cost.flops[Kind::kMul] += scale.NumElements() + projected;
  cost.flops[Kind::kAdd] += projected;
  cost.int_ops[Kind::kMac] = projected * a.features;
  cost.int_ops_mac_operands = {.a = n.dtype(0), .b = n.dtype(1)};
  if (n.HasInput(6)) cost.int_ops[Kind::kAdd] += a.batch * a.length * a.features;
  if (n.HasInput(7)) cost.int_ops[Kind::kAdd] += a.features * a.Projected();
  if (n.Flag("do_rotary")) cost.flops += kRotaryCost * RotatedElements(n, a);
  return cost;
}

// QOrderedAttention: every product in integers, requantised; Q, K and V have weights and biases of
// their own (inputs 5 to 7, 11 to 13).
absl::StatusOr<SelfAttention> ReadQOrderedAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 3));
  Expr sizes[3];
  for (int i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(Shape w, n.RankedShape(5 + i, 2));
    RETURN_IF_ERROR(n.RequireSame("input_hidden_size", x[2], w[0]));
    sizes[i] = w[1];
  }
  RETURN_IF_ERROR(n.RequireSame("hidden size of Q and K", sizes[0], sizes[1]));
  SelfAttention a = {.batch = x[0], .length = x[1], .features = x[2], .total = x[1]};
  ASSIGN_OR_RETURN(a.heads, PositiveAttr(n, "num_heads"));
  a.qk_hidden = sizes[0];
  a.v_hidden = sizes[2];
  return a;
}

absl::StatusOr<Facts> InferQOrderedAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(SelfAttention a, ReadQOrderedAttention(n));
  return Facts{n.Like(0, a.Output())};
}

absl::StatusOr<Cost> CountQOrderedAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(SelfAttention a, ReadQOrderedAttention(n));
  Sdpa sdpa = ProductsOf(n, a);
  sdpa.biases = (n.HasInput(17) ? 1 : 0) + (n.HasInput(19) ? 1 : 0);
  LeaveOutHidden(n, {17, 19}, &sdpa);
  const Expr projected = a.batch * a.length * a.Projected();
  const ElementCost requantize = {.mul = 1, .cmp = 2, .round = 1};
  Cost cost = SdpaCost(sdpa);
  cost.int_ops[Kind::kMac] = cost.flops[Kind::kMac] + projected * a.features;
  cost.flops[Kind::kMac] = 0;
  cost.flops += (requantize + ElementCost{.add = 1}) * projected;
  cost.flops += QuantizeCost(false) * sdpa.Scores();
  cost.flops += requantize * a.Output().NumElements();
  cost.int_ops_mac_operands = OperandsLike(n, 0);
  return cost;
}

// ---- packed sequences: of the tokens that are not padding, with token_offset[B,S]

absl::StatusOr<SelfAttention> ReadPackedAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape w, n.RankedShape(1, 2));
  RETURN_IF_ERROR(n.RequireSame("input_hidden_size", x[1], w[0]));
  SelfAttention a = {.batch = 1, .length = x[0], .features = x[1]};
  ASSIGN_OR_RETURN(a.heads, PositiveAttr(n, "num_heads"));
  RETURN_IF_ERROR(ReadHiddenSizes(n, w[1], &a));
  return a;
}

absl::StatusOr<Facts> InferPackedAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(SelfAttention a, ReadPackedAttention(n));
  return Facts{n.Like(0, Shape{a.length, a.v_hidden})};
}

absl::StatusOr<Cost> CountPackedAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(SelfAttention a, ReadPackedAttention(n));
  const Expr projected = a.length * a.Projected();
  Sdpa sdpa = a.Products();
  ASSIGN_OR_RETURN(sdpa.pairs, PackedPairs(n, 3));
  sdpa.biases = n.HasInput(5) ? 1 : 0;
  LeaveOutHidden(n, {5}, &sdpa);
  Cost cost = SdpaCost(sdpa);
  cost.flops[Kind::kMac] += projected * a.features;
  if (n.HasInput(2)) cost.flops[Kind::kAdd] += projected;
  return cost;
}

// ---- DecoderAttention: query[S,B,D] and key[L,B,D] with their projections, and a cache. Which of
// them are used is told by inputs of type bool.

struct DecoderFlags {
  bool static_kv = false;  // cross attention: K and V are of `key`, and do not change
  bool cached = false;     // K and V are in the cache
};

absl::StatusOr<DecoderFlags> ReadDecoderFlags(const NodeView& n) {
  std::array<bool, 3> flags = {};
  for (int i = 0; i < 3; ++i) {
    const std::optional<Expr> flag = n.KnownInt(8 + i);
    if (!flag.has_value() || !flag->is_literal()) {
      return absl::FailedPreconditionError(
          absl::StrCat("input ", 8 + i, ", which tells what is computed, is not known"));
    }
    flags[static_cast<size_t>(i)] = flag->literal() != 0;
  }
  return DecoderFlags{.static_kv = flags[0], .cached = flags[1] && flags[2]};
}

struct DecoderKeys {
  Expr projected = 0;  // K and V that are computed
  Expr total;          // all there are
};

absl::StatusOr<DecoderKeys> ReadDecoderKeys(const NodeView& n, const Shape& q) {
  ASSIGN_OR_RETURN(DecoderFlags flags, ReadDecoderFlags(n));
  DecoderKeys keys;
  if (!flags.static_kv) keys.projected = q[0];
  if (flags.static_kv && !flags.cached) {
    ASSIGN_OR_RETURN(Shape key, n.RankedShape(1, 3));
    keys.projected = key[0];
  }
  keys.total = keys.projected;
  if (flags.cached) {
    ASSIGN_OR_RETURN(Shape cache, n.RankedShape(6, 4));
    keys.total += cache[2];
  }
  return keys;
}

absl::StatusOr<Facts> InferDecoderAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape q, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(Expr heads, PositiveAttr(n, "num_heads"));
  ASSIGN_OR_RETURN(Expr size, DivideEvenly("hidden size in heads", q[2], heads));
  const absl::StatusOr<DecoderKeys> keys = ReadDecoderKeys(n, q);
  if (!keys.ok() && !absl::IsFailedPrecondition(keys.status())) return keys.status();
  const Expr total = keys.ok() ? keys->total : n.FreshDim(1, 2, "decoderattention");
  const Fact cache = n.Like(0, Shape{q[1], heads, total, size});
  return Facts{n.Like(0, q), cache, cache};
}

absl::StatusOr<Cost> CountDecoderAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape q, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(Expr heads, PositiveAttr(n, "num_heads"));
  ASSIGN_OR_RETURN(Expr size, DivideEvenly("hidden size in heads", q[2], heads));
  ASSIGN_OR_RETURN(DecoderKeys keys, ReadDecoderKeys(n, q));
  Sdpa sdpa = {.pairs = q[0] * q[1] * keys.total, .heads = heads, .qk_size = size, .v_size = size};
  const std::optional<Expr> masked = n.KnownInt(11);
  sdpa.biases = n.HasInput(5) && masked.has_value() && *masked != Expr(0) ? 1 : 0;
  LeaveOutHidden(n, {5}, &sdpa);
  const Expr projected = q[1] * (q[0] + 2 * keys.projected) * q[2];
  Cost cost = SdpaCost(sdpa);
  cost.flops[Kind::kMac] += projected * q[2];
  cost.flops[Kind::kAdd] += projected;
  return cost;
}

constexpr OpDef kMsAttentionRows[] = {
    {.name = "Attention",
     .formula = "Q, K, V = X[B,S,I] W[I,Dq+Dk+Dv] + bias: mac = B*S*I*(Dq+Dk+Dv), add = "
                "B*S*(Dq+Dk+Dv); then over T = past + S keys: mac = B*S*T*(Dq+Dv), and per score "
                "of B*H*S*T: mul, add for every mask, softmax (2 add, div, cmp, exp)",
     .infer = InferAttention,
     .count = CountAttention,
     .examples =
         {// Projection 10*24*8 = 1920, scores 2*5*5 = 50 of 4 + 4 products.
          {"float[N,5,8] X, float[8,24] W, float[24] B, int32[N,5] M -> float[N,5,8] Y <num_heads "
           "= 2>",
           "mac=1360*N add=270*N mul=50*N div=50*N cmp=50*N exp=50*N"},
          {"float[N,1,8] X, float[8,24] W, float[24] B, , float[2,N,2,P,4] past -> float[N,1,8] Y, "
           "float[2,N,2,\"P + 1\",4] present <num_heads = 2, unidirectional = 1>",
           "mac=16*N*P + 208*N add=4*N*P + 28*N mul=2*N*P + 2*N div=2*N*P + 2*N cmp=2*N*P + 2*N "
           "exp=2*N*P + 2*N"},
          {"float[N,5,8] X, float[8,28] W, , , , float[1,1,5,5] A -> float[N,5,12] Y <num_heads = "
           "2, qkv_hidden_sizes = [8, 8, 12]>",
           "mac=1620*N add=150*N mul=50*N div=50*N cmp=50*N exp=50*N"}},
     .shape_inputs = 1 << 6,
     .operands = {.weights = InputBits({1, 2}),
                  .not_parameters = InputBits({3, 4, 5}),
                  .states = InputBits({4})},
     .traits = Traits::kReadsContent,
     .note = "causal attention (unidirectional) is counted in full unless {causal half} says "
             "otherwise; do_rotary: 2 mul and 1 add per rotated element",
     .gradient = {.formula =
                      "those of the projection, dX and dW: a product as large as it for each; of "
                      "Q K' and P V a product for each factor; through the softmax 2 add, 3 "
                      "mul per score; with {attention flash} Q K' again, 1 add, 1 exp",
                  .weighs_scores = true,
                  .rule = AttentionGradient}},
    {.name = "DecoderAttention",
     .formula = "Y = softmax(scale Q K' + mask) V, of projections of query[S,B,D] and of the keys "
                "that are not cached; mac = B*(S + 2*new)*D*D + 2*B*S*T*D",
     .infer = InferDecoderAttention,
     .count = CountDecoderAttention,
     .examples =
         {{"g (float[5,N,8] Q, float[7,N,8] K, float[8,8] W, float[8,16] U, float[24] B) => "
           "(float[5,N,8] Y, float[N,2,7,4] k, float[N,2,7,4] v) <bool t = {1}, bool f = {0}> { Y, "
           "k, v = com.microsoft.DecoderAttention<num_heads = 2>(Q, K, W, U, B, , , , t, f, f, f) "
           "}",
           "mac=1776*N add=292*N mul=70*N div=70*N cmp=70*N exp=70*N"},
          {"g (float[1,N,8] Q, float[1,N,8] K, float[8,8] W, float[8,16] U, float[24] B, "
           "float[N,2,P,4] pk, float[N,2,P,4] pv) => (float[1,N,8] Y, float[N,2,\"P + 1\",4] k, "
           "float[N,2,\"P + 1\",4] v) <bool t = {1}, bool f = {0}> { Y, k, v = "
           "com.microsoft.DecoderAttention<num_heads = 2>(Q, K, W, U, B, , pk, pv, f, t, t, f) }",
           "mac=16*N*P + 208*N add=4*N*P + 28*N mul=2*N*P + 2*N div=2*N*P + 2*N cmp=2*N*P + 2*N "
           "exp=2*N*P + 2*N"}},
     .operands = {.not_parameters = InputBits({5, 6, 7, 11}), .states = InputBits({6, 7})},
     .traits = Traits::kReadsContent,
     .note = "what is computed depends on the inputs static_kv, use_past and has_layer_state"},
    {.name = "DecoderMaskedSelfAttention",
     .formula = "as Attention, of one token",
     .infer = InferAttention,
     .count = CountAttention,
     .examples = {{"g (float[N,1,8] X, float[8,24] W, float[24] B, float[2,N,2,9,4] past) => "
                   "(float[N,1,8] Y, float[2,N,2,9,4] present) <int32[1] p = {6}> { Y, present = "
                   "com.microsoft.DecoderMaskedSelfAttention<num_heads = 2, "
                   "past_present_share_buffer = 1>(X, W, B, , past, , p) }",
                   "mac=304*N add=52*N mul=14*N div=14*N cmp=14*N exp=14*N"}},
     .shape_inputs = 1 << 6,
     .operands = {.weights = InputBits({1, 2}),
                  .not_parameters = InputBits({3, 4, 5}),
                  .states = InputBits({4})},
     .traits = Traits::kReadsContent,
     .note = "of a buffer that past and present share, T is the part that is used",
     .gradient = {.weighs_scores = true}},
    {.name = "PackedAttention",
     .formula = "Attention of T packed tokens: mac = T*I*(Dq+Dk+Dv) + B*S*S*(Dq+Dv); per score of "
                "B*H*S*S: mul, add for a bias, softmax (2 add, div, cmp, exp)",
     .infer = InferPackedAttention,
     .count = CountPackedAttention,
     .examples =
         {{"float[T,8] X, float[8,24] W, float[24] B, int32[N,5] O, int32[M] C -> float[T,8] Y "
           "<num_heads = 2>",
           "mac=400*N + 192*T add=100*N + 24*T mul=50*N div=50*N cmp=50*N exp=50*N"},
          {"g (float[7,8] X, float[8,24] W, float[24] B, int32[2,5] O) => (float[7,8] Y) <int32[3] "
           "c = {0, 5, 7}> { Y = com.microsoft.PackedAttention<num_heads = 2>(X, W, B, O, c) }",
           "mac=1808 add=284 mul=58 div=58 cmp=58 exp=58"}},
     .operands = {.weights = InputBits({1, 2}), .not_parameters = InputBits({5})},
     .traits = Traits::kReadsContent,
     .note = "where the lengths of the sequences are not known, each is counted as S, the longest",
     .gradient = {.weighs_scores = true}},
    {.name = "QAttention",
     .formula =
         "as Attention, the projection of (X - zero point) and (W - zero point) in integers: "
         "integer mac = B*S*I*3D; made floating point by mul, and add for the bias",
     .infer = InferQAttention,
     .count = CountQAttention,
     .examples = {{"uint8[N,5,8] X, int8[8,24] W, float[24] B, float s, float t, int32[N] M, uint8 "
                   "z, int8 u -> float[N,5,8] Y <num_heads = 2>",
                   "mac=400*N add=270*N mul=170*N + 1 div=50*N cmp=50*N exp=50*N int_mac=960*N "
                   "int_add=40*N + 192"}},
     .operands = {.weights = InputBits({1, 2}),
                  .not_parameters = InputBits({3, 4, 5, 6, 7, 8}),
                  .states = InputBits({8})},
     .traits = Traits::kReadsContent,
     .note = "causal attention (unidirectional) is counted in full unless {causal half} says "
             "otherwise",
     .gradient = {.weighs_scores = true}},
    {.name = "QOrderedAttention",
     .formula = "as Attention, all products in integers: integer mac = B*S*I*3D + 2*B*S*S*D; every "
                "result is quantised again: mul, round, 2 cmp",
     .infer = InferQOrderedAttention,
     .count = CountQOrderedAttention,
     .examples = {{"g (int8[N,5,8] X, float s, int8[8,8] W, float[8] B) => (int8[N,5,8] Y) { Y = "
                   "com.microsoft.QOrderedAttention<num_heads = 2, order_input = 1, order_weight = "
                   "0, order_output = 1>(X, s, s, s, s, W, W, W, s, s, s, B, B, B, s, s, s) }",
                   "add=220*N mul=210*N div=100*N cmp=470*N exp=50*N round=210*N int_mac=1360*N"}},
     .operands = {.weights = InputBits({5, 6, 7, 11, 12, 13}),
                  .not_parameters = InputBits({1, 2, 3, 4, 8, 9, 10, 14, 15, 16, 17, 18, 19}),
                  .states = InputBits({18})},
     .note = "causal attention (unidirectional) is counted in full unless {causal half} says "
             "otherwise; past is not supported by the operator"},
};

}  // namespace

constinit const OpFamily kMsAttentionFamily = {"com.microsoft", kMsAttentionRows};

}  // namespace onnxflops
