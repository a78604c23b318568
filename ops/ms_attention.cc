// com.microsoft: attention over all keys, with the projections, caches and rotations fused in.
#include "ops/ms_attention.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/causal.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/ms_parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

// ---- parts

Census SdpaWork(const Sdpa& sdpa) {
  ElementCost per_score = kSoftmaxCost + ElementCost{.add = sdpa.biases, .mul = 1};
  if (sdpa.softcap) per_score = per_score + ElementCost{.mul = 1, .div = 1, .tanh = 1};
  Census work = per_score * sdpa.TwiceScores();
  work[Kind::kMac] = sdpa.TwiceScores() * (sdpa.qk_size + sdpa.v_size);
  for (Expr& count : work.count) count = FloorDiv(count, 2);
  if (sdpa.sink) work += SinkWork(sdpa.tokens * sdpa.heads);
  return work;
}

Cost SdpaCost(const Sdpa& sdpa) {
  Cost cost = Flops(SdpaWork(sdpa));
  cost.causal = sdpa.causal;
  return cost;
}

void MakeCausal(const NodeView& n, const Expr& twice_unmasked, Sdpa* sdpa) {
  sdpa->causal = true;
  if (n.half_causal()) sdpa->twice_unmasked = twice_unmasked;
}

Census HeadNormWork(const Expr& heads, const Expr& head_size) {
  return RmsNormWork(heads, heads * head_size, true);
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

std::optional<Dims> KnownLengths(const NodeView& n, int cumulative) {
  std::optional<Dims> sums = n.KnownInts(cumulative);
  if (!sums.has_value() || sums->empty()) return std::nullopt;
  Dims lengths;
  for (size_t i = 1; i < sums->size(); ++i) lengths.push_back((*sums)[i] - (*sums)[i - 1]);
  return lengths;
}

namespace {

constexpr int kSince[] = {1};

// ---- Attention: input[B,S,I] weights[I,Dq+Dk+Dv] + bias, split into heads. QAttention and
// DecoderMaskedSelfAttention are read alike.

struct SelfAttention {
  Expr batch, length, features, total;  // B, S, I, T
  Expr heads, qk_hidden, v_hidden;      // H, Dq = Dk, Dv
  std::optional<Expr> past;             // P; nullopt where there is none
  std::optional<Expr> capacity;         // of the buffer that past and present share
  Expr Projected() const { return 2 * qk_hidden + v_hidden; }
  Shape Output() const { return {batch, length, v_hidden}; }
  // [2,B,H,T,D].
  Shape Present() const {
    return {2, batch, heads, capacity.value_or(total), FloorDiv(qk_hidden, heads)};
  }
  Sdpa Products() const {
    return {.pairs = batch * length * total,
            .tokens = batch * length,
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
  a->past = length >= 0 ? n.KnownInt(length) : std::nullopt;
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

// How many keys there are, which costs need to know.
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
  Cost cost = SdpaCost(sdpa);
  cost.flops[Kind::kMac] += projected * a.features;
  if (n.HasInput(2)) cost.flops[Kind::kAdd] += projected;
  if (n.Flag("do_rotary")) cost.flops += kRotaryCost * RotatedElements(n, a);
  return cost;
}

constexpr OpExample kAttentionExamples[] = {
    // Projection 10*24*8 = 1920, scores 2*5*5 = 50 of 4 + 4 products.
    {"g (float[N,5,8] X, float[8,24] W, float[24] B, int32[N,5] M) => (float[N,5,8] Y) "
     "{ Y = com.microsoft.Attention<num_heads = 2>(X, W, B, M) }",
     "mac=1360*N add=270*N mul=50*N div=50*N cmp=50*N exp=50*N"},
    {"g (float[N,1,8] X, float[8,24] W, float[24] B, float[2,N,2,P,4] past) => (float[N,1,8] Y, "
     "float[2,N,2,\"P + 1\",4] present) "
     "{ Y, present = com.microsoft.Attention<num_heads = 2, unidirectional = 1>(X, W, B, , past) }",
     "mac=16*N*P + 208*N add=4*N*P + 28*N mul=2*N*P + 2*N div=2*N*P + 2*N cmp=2*N*P + 2*N "
     "exp=2*N*P + 2*N"},
    {"g (float[N,5,8] X, float[8,28] W, float[1,1,5,5] A) => (float[N,5,12] Y) "
     "{ Y = com.microsoft.Attention<num_heads = 2, qkv_hidden_sizes = [8, 8, 12]>(X, W, , , , A) }",
     "mac=1620*N add=150*N mul=50*N div=50*N cmp=50*N exp=50*N"},
};

constexpr OpExample kDecoderMaskedSelfAttentionExamples[] = {
    {"g (float[N,1,8] X, float[8,24] W, float[24] B, float[2,N,2,9,4] past) => (float[N,1,8] Y, "
     "float[2,N,2,9,4] present) <int32[1] p = {6}> "
     "{ Y, present = com.microsoft.DecoderMaskedSelfAttention<num_heads = 2, "
     "past_present_share_buffer = 1>(X, W, B, , past, , p) }",
     "mac=304*N add=52*N mul=14*N div=14*N cmp=14*N exp=14*N"},
};

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

constexpr OpExample kQAttentionExamples[] = {
    {"g (uint8[N,5,8] X, int8[8,24] W, float[24] B, float s, float t, int32[N] M, uint8 z, int8 u) "
     "=> (float[N,5,8] Y) "
     "{ Y = com.microsoft.QAttention<num_heads = 2>(X, W, B, s, t, M, z, u) }",
     "mac=400*N add=270*N mul=170*N + 1 div=50*N cmp=50*N exp=50*N int_mac=960*N int_add=40*N + "
     "192"},
};

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

constexpr OpExample kQOrderedAttentionExamples[] = {
    {"g (int8[N,5,8] X, float s, int8[8,8] W, float[8] B) => (int8[N,5,8] Y) "
     "{ Y = com.microsoft.QOrderedAttention<num_heads = 2, order_input = 1, order_weight = 0, "
     "order_output = 1>(X, s, s, s, s, W, W, W, s, s, s, B, B, B, s, s, s) }",
     "add=220*N mul=210*N div=100*N cmp=470*N exp=50*N round=210*N int_mac=1360*N"},
};

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
  const std::optional<Expr> used = n.KnownInt(in.past_length);
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

absl::StatusOr<Cost> CountMhaWith(const NodeView& n, const MhaInputs& in) {
  ASSIGN_OR_RETURN(Mha m, ReadMha(n, in));
  if (!m.total_known) return absl::FailedPreconditionError("past_sequence_length is not known");
  Sdpa sdpa = m.Products();
  if (n.Flag("unidirectional")) {
    const Expr past = m.total - m.kv_length;
    MakeCausal(n, m.batch * TwiceCausalPairs(m.length, m.total, past), &sdpa);
  }
  sdpa.biases = (n.HasInput(in.mask) ? 1 : 0) + (n.HasInput(in.attention_bias) ? 1 : 0);
  Cost cost = SdpaCost(sdpa);
  cost.flops_mac_operands = OperandsLike(n, 0);
  if (n.HasInput(in.bias)) {
    cost.flops[Kind::kAdd] += m.batch * m.length * m.heads * m.qk_size;
    if (m.projected) {
      cost.flops[Kind::kAdd] += m.batch * m.kv_length * m.heads * (m.qk_size + m.v_size);
    }
  }
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

constexpr OpExample kMultiHeadAttentionExamples[] = {
    {"g (float[N,5,8] Q, float[N,7,8] K, float[N,7,12] V, float[28] B, int32[N,7] M) => "
     "(float[N,5,12] Y) { Y = com.microsoft.MultiHeadAttention<num_heads = 2>(Q, K, V, B, M) }",
     "mac=700*N add=390*N mul=70*N div=70*N cmp=70*N exp=70*N"},
    {"g (float[N,1,8] Q, float[N,1,8] K, float[N,1,8] V, float[N,2,P,4] pk, float[N,2,P,4] pv) => "
     "(float[N,1,8] Y, float[N,2,\"P + 1\",4] k, float[N,2,\"P + 1\",4] v) "
     "{ Y, k, v = com.microsoft.MultiHeadAttention<num_heads = 2>(Q, K, V, , , , pk, pv) }",
     "mac=16*N*P + 16*N add=4*N*P + 4*N mul=2*N*P + 2*N div=2*N*P + 2*N cmp=2*N*P + 2*N exp=2*N*P "
     "+ 2*N"},
    {"g (float[N,5,2,3,4] X) => (float[N,5,8] Y) "
     "{ Y = com.microsoft.MultiHeadAttention<num_heads = 2>(X) }",
     "mac=400*N add=100*N mul=50*N div=50*N cmp=50*N exp=50*N"},
    {"g (float[N,5,8] Q, float[N,2,7,4] K, float[N,2,7,4] V, float[24] B) => (float[N,5,8] Y) "
     "{ Y = com.microsoft.MultiHeadAttention<num_heads = 2>(Q, K, V, B) }",
     "mac=560*N add=180*N mul=70*N div=70*N cmp=70*N exp=70*N"},
};

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

constexpr OpExample kDecoderMaskedMhaExamples[] = {
    {"g (float[N,1,8] Q, float[N,1,8] K, float[N,1,8] V, float[N,2,9,4] pk, float[N,2,9,4] pv) => "
     "(float[N,1,8] Y, float[N,2,9,4] k, float[N,2,9,4] v) <int32[1] p = {6}> "
     "{ Y, k, v = com.microsoft.DecoderMaskedMultiHeadAttention<num_heads = 2, "
     "past_present_share_buffer = 1>(Q, K, V, , , pk, pv, p) }",
     "mac=112*N add=28*N mul=14*N div=14*N cmp=14*N exp=14*N"},
    {"g (float[N,1,8] Q, float[N,2,7,4] K, float[N,2,7,4] V) => (float[N,1,8] Y) "
     "{ Y = com.microsoft.DecoderMaskedMultiHeadAttention<num_heads = 2>(Q, K, V) }",
     "mac=112*N add=28*N mul=14*N div=14*N cmp=14*N exp=14*N"},
};

// ---- packed sequences: of the tokens that are not padding, with token_offset[B,S]

// Pairs of tokens of one sequence: of the lengths, where they are known, else of B sequences of S.
absl::StatusOr<Expr> PackedPairs(const NodeView& n, int token_offset) {
  const std::optional<Dims> lengths = KnownLengths(n, token_offset + 1);
  Expr pairs = 0;
  if (lengths.has_value()) {
    for (const Expr& length : *lengths) pairs += length * length;
    return pairs;
  }
  ASSIGN_OR_RETURN(Shape offsets, n.RankedShape(token_offset, 2));
  return offsets[0] * offsets[1] * offsets[1];
}

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
  Cost cost = SdpaCost(sdpa);
  cost.flops[Kind::kMac] += projected * a.features;
  if (n.HasInput(2)) cost.flops[Kind::kAdd] += projected;
  return cost;
}

constexpr OpExample kPackedAttentionExamples[] = {
    {"g (float[T,8] X, float[8,24] W, float[24] B, int32[N,5] O, int32[M] C) => (float[T,8] Y) "
     "{ Y = com.microsoft.PackedAttention<num_heads = 2>(X, W, B, O, C) }",
     "mac=400*N + 192*T add=100*N + 24*T mul=50*N div=50*N cmp=50*N exp=50*N"},
    {"g (float[7,8] X, float[8,24] W, float[24] B, int32[2,5] O) => (float[7,8] Y) "
     "<int32[3] c = {0, 5, 7}> "
     "{ Y = com.microsoft.PackedAttention<num_heads = 2>(X, W, B, O, c) }",
     "mac=1808 add=284 mul=58 div=58 cmp=58 exp=58"},
};

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
  Cost cost = SdpaCost(sdpa);
  cost.flops_mac_operands = OperandsLike(n, 0);
  if (n.HasInput(3)) cost.flops[Kind::kAdd] += m.length * m.heads * (2 * m.qk_size + m.v_size);
  return cost;
}

constexpr OpExample kPackedMhaExamples[] = {
    {"g (float[T,8] Q, float[T,8] K, float[T,8] V, float[24] B, int32[N,5] O, int32[M] C) => "
     "(float[T,8] Y) "
     "{ Y = com.microsoft.PackedMultiHeadAttention<num_heads = 2>(Q, K, V, B, O, C) }",
     "mac=400*N add=100*N + 24*T mul=50*N div=50*N cmp=50*N exp=50*N"},
};

// ---- DecoderAttention: query[S,B,D] and key[L,B,D] with their projections, and a cache. Which of
// them are used is told by inputs of type bool.

struct DecoderFlags {
  bool static_kv = false;  // cross attention: K and V are of `key`, and do not change
  bool cached = false;     // K and V are in the cache
};

absl::StatusOr<DecoderFlags> ReadDecoderFlags(const NodeView& n) {
  bool flags[3];
  for (int i = 0; i < 3; ++i) {
    const std::optional<Expr> flag = n.KnownInt(8 + i);
    if (!flag.has_value() || !flag->is_literal()) {
      return absl::FailedPreconditionError(
          absl::StrCat("input ", 8 + i, ", which tells what is computed, is not known"));
    }
    flags[i] = flag->literal() != 0;
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
  Sdpa sdpa = {.pairs = q[0] * q[1] * keys.total,
               .tokens = q[0] * q[1],
               .heads = heads,
               .qk_size = size,
               .v_size = size};
  const std::optional<Expr> masked = n.KnownInt(11);
  sdpa.biases = n.HasInput(5) && masked.has_value() && *masked != Expr(0) ? 1 : 0;
  const Expr projected = q[1] * (q[0] + 2 * keys.projected) * q[2];
  Cost cost = SdpaCost(sdpa);
  cost.flops[Kind::kMac] += projected * q[2];
  cost.flops[Kind::kAdd] += projected;
  return cost;
}

constexpr OpExample kDecoderAttentionExamples[] = {
    {"g (float[5,N,8] Q, float[7,N,8] K, float[8,8] W, float[8,16] U, float[24] B) => "
     "(float[5,N,8] Y, float[N,2,7,4] k, float[N,2,7,4] v) <bool t = {1}, bool f = {0}> "
     "{ Y, k, v = com.microsoft.DecoderAttention<num_heads = 2>(Q, K, W, U, B, , , , t, f, f, f) }",
     "mac=1776*N add=292*N mul=70*N div=70*N cmp=70*N exp=70*N"},
    {"g (float[1,N,8] Q, float[1,N,8] K, float[8,8] W, float[8,16] U, float[24] B, float[N,2,P,4] "
     "pk, float[N,2,P,4] pv) => (float[1,N,8] Y, float[N,2,\"P + 1\",4] k, float[N,2,\"P + 1\",4] "
     "v) "
     "<bool t = {1}, bool f = {0}> "
     "{ Y, k, v = com.microsoft.DecoderAttention<num_heads = 2>(Q, K, W, U, B, , pk, pv, f, t, t, "
     "f) }",
     "mac=16*N*P + 208*N add=4*N*P + 28*N mul=2*N*P + 2*N div=2*N*P + 2*N cmp=2*N*P + 2*N "
     "exp=2*N*P + 2*N"},
};

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
          .tokens = tokens + l.global,
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

constexpr OpExample kLongformerExamples[] = {
    // Pairs 8*(5 + 2*1) = 56 in 2 heads, rows of 41 * 8.
    {"g (float[1,8,8] X, float[8,24] W, float[24] B, float[1,8] M, float[8,24] V, float[24] C) => "
     "(float[1,8,8] Y) <int32[1,8] f = {1, 0, 0, 0, 0, 0, 0, 0}> "
     "{ Y = com.microsoft.LongformerAttention<num_heads = 2, window = 2>(X, W, B, M, V, C, f) }",
     "mac=3520 add=664 mul=112 div=112 cmp=112 exp=112"},
};

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

constexpr OpExample kQOrderedLongformerExamples[] = {
    {"g (int8[1,8,8] X, float s, int8[8,24] W, float[24] B, float16[1,8] M, int8[8,24] V, "
     "float[24] C) => (int8[1,8,8] Y) <int32[1,8] f = {1, 0, 0, 0, 0, 0, 0, 0}> "
     "{ Y = com.microsoft.QOrderedLongformerAttention<num_heads = 2, window = 2, order_input = 1, "
     "order_weight = 0, order_global_weight = 0, order_output = 1>"
     "(X, s, W, s, B, s, s, M, V, s, C, s, f, s) }",
     "mac=896 add=664 mul=440 div=176 cmp=240 exp=112 round=64 int_mac=2624"},
};

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
  std::optional<Expr> total = n.KnownInt(6);
  const bool has_past = n.HasInput(3);
  if (has_past) RETURN_IF_ERROR(n.RankedShape(3, 4).status());
  if (!total.has_value() && has_past) total = n.FreshDim(1, 2, "present-length");
  ReadGroupQueryCache(n, total, &g);
  Fact key = n.Like(has_past ? 3 : 0, Shape{g.batch, g.kv_heads, g.present, g.size});
  Fact value = n.Like(has_past ? 4 : 0, key.shape);
  if (has_past && key.dtype != n.dtype(0)) {
    // Packed in few bits, the last dimension is in bytes.
    key.shape[3] = n.input(3).shape[3];
    if (n.input(4).shape.ranked() && n.input(4).shape.rank() == 4) {
      value.shape[3] = n.input(4).shape[3];
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

absl::StatusOr<Cost> CountGroupQueryAttention(const NodeView& n) {
  GroupQuery g;
  RETURN_IF_ERROR(ReadGroupQueryInputs(n, &g));
  std::optional<Expr> total = n.KnownInt(6);
  if (!total.has_value() && n.HasInput(3)) {
    if (!n.HasOutput(1)) {
      return absl::FailedPreconditionError("total_sequence_length is not known");
    }
    ASSIGN_OR_RETURN(Shape present, n.OutputShape(1));
    total = present[2];
  }
  ReadGroupQueryCache(n, total, &g);
  Sdpa sdpa = {.pairs = g.batch * g.length * g.total,
               .tokens = g.batch * g.length,
               .heads = g.heads,
               .qk_size = g.size,
               .v_size = g.size,
               .biases = n.HasInput(10) ? 1 : 0,
               .softcap = n.Float("softcap", 0.0f) != 0.0f,
               .sink = n.HasInput(11) || n.Int("smooth_softmax", -1) == 1};
  if (n.Flag("causal", true)) {
    MakeCausal(n, g.batch * TwiceCausalPairs(g.length, g.total, g.total - g.length), &sdpa);
  }
  Cost cost = SdpaCost(sdpa);
  cost.flops_mac_operands = OperandsLike(n, 0);
  cost.flops += GroupQueryPreparation(n, g, 7, 14);
  const Expr per_position = g.batch * g.kv_heads * g.size;
  const CacheUse use = {per_position * g.kv_length, per_position * g.total};
  cost.flops += CacheWork(n.dtype(3), n.String("k_quant_type", "NONE") != "NONE", use);
  cost.flops += CacheWork(n.dtype(4), n.String("v_quant_type", "NONE") != "NONE", use);
  return cost;
}

constexpr OpExample kGroupQueryAttentionExamples[] = {
    // Hq = 4, Hkv = 2, D = 4: scores 4*3*8 = 96; rotations of 3*(4 + 2) heads of 4.
    {"g (float16[N,3,32] X, float16[N,2,5,4] pk, float16[N,2,5,4] pv, int32[N] L, float16[50,2] c, "
     "float16[50,2] s) => (float16[N,3,16] Y, float16[N,2,8,4] k, float16[N,2,8,4] v) "
     "<int32 t = {8}> "
     "{ Y, k, v = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, do_rotary = "
     "1>(X, , , pk, pv, L, t, c, s) }",
     "mac=768*N add=264*N mul=240*N div=96*N cmp=96*N exp=96*N"},
    // A buffer of 64 positions, of which 8 are used.
    {"g (float[N,1,16] Q, float[N,1,8] K, float[N,1,8] V, float[N,2,64,4] pk, float[N,2,64,4] pv, "
     "int32[N] L, float[4] S) => (float[N,1,16] Y, float[N,2,64,4] k, float[N,2,64,4] v) "
     "<int32 t = {8}> "
     "{ Y, k, v = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, softcap = "
     "50.0>(Q, K, V, pk, pv, L, t, , , , , S) }",
     "mac=256*N add=72*N mul=64*N div=64*N cmp=36*N exp=36*N tanh=32*N"},
    {"g (float[N,3,16] Q, float[N,3,8] K, float[N,3,8] V, int32[N] L, int32 T) => (float[N,3,16] Y,"
     " float[N,2,3,4] k, float[N,2,3,4] v) "
     "{ Y, k, v = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2>"
     "(Q, K, V, , , L, T) }",
     "mac=288*N add=72*N mul=36*N div=36*N cmp=36*N exp=36*N"},
    {"g (float16[N,1,16] Q, float16[N,1,8] K, float16[N,1,8] V, uint8[N,2,7,2] pk, uint8[N,2,7,2] "
     "pv, int32[N] L, float s) => (float16[N,1,16] Y, uint8[N,2,8,2] k, uint8[N,2,8,2] v) "
     "<int32 t = {8}> "
     "{ Y, k, v = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, k_quant_type "
     "= \"PER_TENSOR\", v_quant_type = \"PER_TENSOR\", kv_cache_bit_width = 4>"
     "(Q, K, V, pk, pv, L, t, , , , , , s, s) }",
     "mac=256*N add=64*N mul=160*N div=48*N cmp=64*N exp=32*N round=16*N"},
};

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

// Of known lengths, else as if every sequence had as many keys as its row of the block table can
// hold.
absl::StatusOr<PagedKeys> CountKeys(const NodeView& n, const Expr& tokens) {
  const std::optional<Dims> lengths = KnownLengths(n, 5), past = n.KnownInts(6);
  if (lengths.has_value() && past.has_value() && lengths->size() == past->size()) {
    PagedKeys counts = {0, 0, 0};
    for (size_t i = 0; i < past->size(); ++i) {
      const Expr keys = (*past)[i] + (*lengths)[i];
      counts.keys += keys;
      counts.pairs += (*lengths)[i] * keys;
      counts.twice_unmasked += TwiceCausalPairs((*lengths)[i], keys, (*past)[i]);
    }
    return counts;
  }
  ASSIGN_OR_RETURN(Shape cache, n.RankedShape(3, 4));
  ASSIGN_OR_RETURN(Shape table, n.RankedShape(7, 2));
  const Expr per_sequence = table[1] * cache[1];
  const Expr pairs = tokens * per_sequence;
  return PagedKeys{pairs, table[0] * per_sequence, 2 * pairs};
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
  if (n.Flag("is_causal", true)) MakeCausal(n, counts.twice_unmasked, &sdpa);
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

constexpr OpExample kPagedAttentionExamples[] = {
    // Every query meets up to 3 blocks of 16 keys.
    {"g (float16[T,16] Q, float16[T,8] K, float16[T,8] V, float16[9,16,2,4] kc, float16[9,16,2,4] "
     "vc, int32[M] C, int32[B] P, int32[B,3] table) => (float16[T,16] Y, float16[9,16,2,4] k, "
     "float16[9,16,2,4] v) "
     "{ Y, k, v = com.microsoft.PagedAttention<num_heads = 4, kv_num_heads = 2>"
     "(Q, K, V, kc, vc, C, P, table) }",
     "mac=1536*T add=384*T mul=192*T div=192*T cmp=192*T exp=192*T"},
    {"g (float16[4,32] X, float16[9,16,2,4] kc, float16[9,16,2,4] vc, int32[2,3] table) => "
     "(float16[4,16] Y) <int32[3] c = {0, 1, 4}, int32[2] p = {7, 0}> "
     "{ Y = com.microsoft.PagedAttention<num_heads = 4, kv_num_heads = 2>"
     "(X, , , kc, vc, c, p, table) }",
     "mac=544 add=136 mul=68 div=68 cmp=68 exp=68"},
};

constexpr char kPairsFormula[] =
    "softmax(scale Q K' + masks) V over the whole of S x T; mac = B*H*S*T*(Dk+Dv); per score: mul "
    "for the scale, add for every mask, softmax (2 add, div, cmp, exp)";

constexpr OpDef kRows[] = {
    {.name = "Attention",
     .versions = kSince,
     .formula = "Q, K, V = X[B,S,I] W[I,Dq+Dk+Dv] + bias: mac = B*S*I*(Dq+Dk+Dv), add = "
                "B*S*(Dq+Dk+Dv); then over T = past + S keys: mac = B*S*T*(Dq+Dv), and per score "
                "of B*H*S*T: mul, add for every mask, softmax (2 add, div, cmp, exp)",
     .infer = InferAttention,
     .count = CountAttention,
     .examples = kAttentionExamples,
     .shape_inputs = 1 << 6,
     .traits = Traits::kReadsContent,
     .note = "causal attention (unidirectional) is counted in full unless --causal half says "
             "otherwise; "
             "do_rotary: 2 mul and 1 add per rotated element"},
    {.name = "DecoderAttention",
     .versions = kSince,
     .formula = "Y = softmax(scale Q K' + mask) V, of projections of query[S,B,D] and of the keys "
                "that are not cached; mac = B*(S + 2*new)*D*D + 2*B*S*T*D",
     .infer = InferDecoderAttention,
     .count = CountDecoderAttention,
     .examples = kDecoderAttentionExamples,
     .traits = Traits::kReadsContent,
     .note = "what is computed depends on the inputs static_kv, use_past and has_layer_state"},
    {.name = "DecoderMaskedMultiHeadAttention",
     .versions = kSince,
     .formula = kPairsFormula,
     .infer = InferDecoderMaskedMha,
     .count = CountDecoderMaskedMha,
     .examples = kDecoderMaskedMhaExamples,
     .shape_inputs = 1 << 7,
     .traits = Traits::kReadsContent,
     .note = "of a buffer that past and present share, T is the part that is used"},
    {.name = "DecoderMaskedSelfAttention",
     .versions = kSince,
     .formula = "as Attention, of one token",
     .infer = InferAttention,
     .count = CountAttention,
     .examples = kDecoderMaskedSelfAttentionExamples,
     .shape_inputs = 1 << 6,
     .traits = Traits::kReadsContent,
     .note = "of a buffer that past and present share, T is the part that is used"},
    {.name = "GroupQueryAttention",
     .versions = kSince,
     .formula = "softmax(scale Q K' + bias) V, Hq heads of queries on Hkv of keys, over the whole "
                "of S x T; mac = 2*B*Hq*S*T*D; per score: mul, add for a bias, div, tanh and mul "
                "for a softcap, softmax (2 add, div, cmp, exp); per row a sink (2 add, cmp, exp); "
                "rotations: 2 mul, 1 add per element of Q and new K",
     .infer = InferGroupQueryAttention,
     .count = CountGroupQueryAttention,
     .examples = kGroupQueryAttentionExamples,
     .shape_inputs = 1 << 6,
     .traits = Traits::kReadsContent,
     .note = "T is total_sequence_length, not the capacity of a shared buffer; causal attention, "
             "which is the default here, is counted in full unless --causal half says otherwise, "
             "windows always; a quantised cache: what is appended is quantised, "
             "all that is read dequantised"},
    {.name = "LongformerAttention",
     .versions = kSince,
     .formula = "every token meets 2W+1 tokens and G global ones, which meet all S; mac = "
                "(5*B*S + G)*D*D + 2*(B*S*(2W+1) + 2*S*G)*D; per score: mul, add, softmax (2 add, "
                "div, cmp, exp); add = (5*B*S + G)*D for the biases",
     .infer = InferSameAsInput,
     .count = CountLongformer,
     .examples = kLongformerExamples,
     .traits = Traits::kReadsContent,
     .note = "how many tokens are global must be known: the content of the input global"},
    {.name = "MultiHeadAttention",
     .versions = kSince,
     .formula = kPairsFormula,
     .infer = InferMultiHeadAttention,
     .count = CountMultiHeadAttention,
     .examples = kMultiHeadAttentionExamples,
     .shape_inputs = 1 << 8,
     .traits = Traits::kReadsContent,
     .note = "add per element of Q, K and V for the bias; causal attention (unidirectional) is "
             "counted in full unless --causal half says otherwise"},
    {.name = "PackedAttention",
     .versions = kSince,
     .formula = "Attention of T packed tokens: mac = T*I*(Dq+Dk+Dv) + B*S*S*(Dq+Dv); per score of "
                "B*H*S*S: mul, add for a bias, softmax (2 add, div, cmp, exp)",
     .infer = InferPackedAttention,
     .count = CountPackedAttention,
     .examples = kPackedAttentionExamples,
     .traits = Traits::kReadsContent,
     .note = "where the lengths of the sequences are not known, each is counted as S, the longest"},
    {.name = "PackedMultiHeadAttention",
     .versions = kSince,
     .formula = "MultiHeadAttention of packed tokens: mac = B*H*S*S*(Dk+Dv); per score: mul, add "
                "for a bias, softmax (2 add, div, cmp, exp)",
     .infer = InferPackedMha,
     .count = CountPackedMha,
     .examples = kPackedMhaExamples,
     .traits = Traits::kReadsContent,
     .note = "where the lengths of the sequences are not known, each is counted as S, the longest"},
    {.name = "PagedAttention",
     .versions = kSince,
     .formula = "as GroupQueryAttention, of T packed queries, each with all the keys of its "
                "sequence; mac = Hq*pairs*(Dk+Dv)",
     .infer = InferPagedAttention,
     .count = CountPagedAttention,
     .examples = kPagedAttentionExamples,
     .traits = Traits::kReadsContent,
     .note = "where the lengths of the sequences are not known, each is counted with as many keys "
             "as its row of the block table can hold; causal attention, which is the default here, "
             "is counted in full unless --causal half says otherwise and the lengths are known"},
    {.name = "QAttention",
     .versions = kSince,
     .formula =
         "as Attention, the projection of (X - zero point) and (W - zero point) in integers: "
         "integer mac = B*S*I*3D; made floating point by mul, and add for the bias",
     .infer = InferQAttention,
     .count = CountQAttention,
     .examples = kQAttentionExamples,
     .traits = Traits::kReadsContent,
     .note = "causal attention (unidirectional) is counted in full unless --causal half says "
             "otherwise"},
    {.name = "QOrderedAttention",
     .versions = kSince,
     .formula = "as Attention, all products in integers: integer mac = B*S*I*3D + 2*B*S*S*D; every "
                "result is quantised again: mul, round, 2 cmp",
     .infer = InferQOrderedAttention,
     .count = CountQOrderedAttention,
     .examples = kQOrderedAttentionExamples,
     .note = "causal attention (unidirectional) is counted in full unless --causal half says "
             "otherwise; past is not supported by the operator"},
    {.name = "QOrderedLongformerAttention",
     .versions = kSince,
     .formula = "as LongformerAttention, the projections in integers",
     .infer = InferSameAsInput,
     .count = CountQOrderedLongformer,
     .examples = kQOrderedLongformerExamples,
     .traits = Traits::kReadsContent,
     .note = "how many tokens are global must be known: the content of the input global"},
};

}  // namespace

constinit const OpFamily kMsAttentionFamily = {"com.microsoft", kRows};

}  // namespace onnxflops
