// com.microsoft: linear attention with a recurrent state, and the causal convolutions before it.
//
// How it works. The recurrence, per value head, on a state S[Dk,Dv]: S is decayed (gated rules),
// what it holds for the key is taken from the value (delta rules), the outer product of key and
// value is added, and the query reads it: o = scale * q S. Each step costs a constant number of
// operations per element of the state, so the total is proportional to the number of tokens,
// whatever the batch. It is counted step by step, though runtimes may work on chunks. The same as
// LinearAttention of ai.onnx: ops/parts.h has the recurrence of both.
//
// GatedDeltaNet has the same recurrence with packed inputs, gates that are made inside the operator
// and an optional normalization of queries and keys; these are added. A convolution's state is the
// last k - 1 positions of the past.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/contrib/attention.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- LinearAttention: query[B,T,Hq*Dk], key, value[B,T,Hkv*Dv]

struct LinearAttention {
  Expr batch, length, q_heads, kv_heads, qk_size, v_size;
  Expr OutputHeads() const { return Max(q_heads, kv_heads); }
};

absl::StatusOr<LinearAttention> ReadLinearAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape q, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(Shape v, n.RankedShape(2, 3));
  LinearAttention l = {.batch = q[0], .length = q[1]};
  RETURN_IF_ERROR(n.RequireSame("T", q[1], v[1]));
  ASSIGN_OR_RETURN(l.q_heads, PositiveAttr(n, "q_num_heads"));
  ASSIGN_OR_RETURN(l.kv_heads, PositiveAttr(n, "kv_num_heads"));
  ASSIGN_OR_RETURN(l.qk_size, DivideEvenly("features of query in heads", q[2], l.q_heads));
  ASSIGN_OR_RETURN(l.v_size, DivideEvenly("features of value in heads", v[2], l.kv_heads));
  return l;
}

// A leading axis of so many states, where the attribute state_window asks for it.
absl::StatusOr<Shape> WithStateWindow(const NodeView& n, Shape state) {
  const int64_t window = n.Int("state_window", 0);
  if (window < 0) return absl::InvalidArgumentError(absl::StrCat("state_window is ", window));
  if (window > 0) state.dims().insert(state.dims().begin(), Expr(window));
  return state;
}

absl::StatusOr<Facts> InferLinearAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(LinearAttention l, ReadLinearAttention(n));
  ASSIGN_OR_RETURN(Shape state,
                   WithStateWindow(n, Shape{l.batch, l.kv_heads, l.qk_size, l.v_size}));
  return Facts{n.Like(0, Shape{l.batch, l.length, l.OutputHeads() * l.v_size}),
               n.Like(n.HasInput(3) ? 3 : 0, std::move(state))};
}

absl::StatusOr<StateRecurrence> ReadRecurrence(const NodeView& n) {
  ASSIGN_OR_RETURN(LinearAttention l, ReadLinearAttention(n));
  StateRecurrence r = {.batch = l.batch,
                       .tokens = l.batch * l.length,
                       .value_heads = l.kv_heads,
                       .output_heads = l.OutputHeads(),
                       .qk_size = l.qk_size,
                       .v_size = l.v_size};
  RETURN_IF_ERROR(ReadUpdateRule(n, &r));
  if (r.gated) {
    ASSIGN_OR_RETURN(Shape decay, n.RankedShape(4, 3));
    r.decays = decay.NumElements();
  }
  return r;
}

absl::StatusOr<Cost> CountLinearAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(const StateRecurrence r, ReadRecurrence(n));
  return RecurrenceCost(n, r);
}

absl::StatusOr<Census> LinearAttentionGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const StateRecurrence r, ReadRecurrence(n));
  return RecurrenceGradient(r, LinearAttentionNeeds(query));
}

// ---- GatedDeltaNet: query[T,Hq,Dk], key, value[T,Hv,Dv] of packed tokens, or of [B,S] for T; all
// in query[T,2*Hq*Dk + Hv*Dv] where key and value are left out. State[B,Hv,Dv,Dk].

struct DeltaNet {
  Dims tokens;  // [T] or [B,S]
  Expr batch, q_heads, v_heads, qk_size, v_size;
  Expr Tokens() const { return Shape(tokens).NumElements(); }
};

absl::Status ReadPackedDeltaNet(const NodeView& n, const Shape& q, DeltaNet* d) {
  ASSIGN_OR_RETURN(Shape state, n.RankedShape(6, 4));
  d->batch = state[0];
  d->v_heads = state[1];
  d->v_size = state[2];
  d->qk_size = state[3];
  ASSIGN_OR_RETURN(d->q_heads,
                   DivideEvenly("query and key heads", q[q.rank() - 1] - d->v_heads * d->v_size,
                                2 * d->qk_size));
  d->tokens.assign(q.dims().begin(), q.dims().end() - 1);
  return absl::OkStatus();
}

absl::StatusOr<DeltaNet> ReadDeltaNet(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape q, n.ShapeOfRankAtLeast(0, 2));
  DeltaNet d;
  if (!n.HasInput(1)) {
    RETURN_IF_ERROR(ReadPackedDeltaNet(n, q, &d));
    return d;
  }
  ASSIGN_OR_RETURN(q, n.ShapeOfRankAtLeast(0, 3));
  ASSIGN_OR_RETURN(Shape v, n.RankedShape(2, q.rank()));
  d.tokens.assign(q.dims().begin(), q.dims().end() - 2);
  d.q_heads = q[q.rank() - 2];
  d.qk_size = q[q.rank() - 1];
  d.v_heads = v[v.rank() - 2];
  d.v_size = v[v.rank() - 1];
  if (n.HasInput(6)) {
    ASSIGN_OR_RETURN(Shape state, n.RankedShape(6, 4));
    d.batch = state[0];
  } else if (n.HasInput(3)) {
    ASSIGN_OR_RETURN(Shape sums, n.RankedShape(3, 1));
    d.batch = sums[0] - 1;
  } else {
    if (q.rank() != 4) {
      return absl::FailedPreconditionError("neither cu_seqlens nor initial_state tells the batch");
    }
    d.batch = q[0];
  }
  return d;
}

// How the operator makes the decay of what it is given.
enum class DecayGate : uint8_t { kNone, kSoftplus, kSigmoid };

absl::StatusOr<DecayGate> ReadDecayGate(const NodeView& n) {
  const absl::string_view gate = n.String("gate_activation", "none");
  if (gate == "none") return DecayGate::kNone;
  if (gate == "softplus" || gate == "qwen") return DecayGate::kSoftplus;
  if (gate == "sigmoid" || gate == "kda") return DecayGate::kSigmoid;
  return absl::InvalidArgumentError(
      absl::StrCat("gate_activation is '", gate, "', not none, softplus or sigmoid"));
}

absl::StatusOr<Facts> InferDeltaNet(const NodeView& n) {
  ASSIGN_OR_RETURN(DeltaNet d, ReadDeltaNet(n));
  Shape output{d.tokens};
  output.push_back(Max(d.q_heads, d.v_heads));
  output.push_back(d.v_size);
  const int64_t capacity = n.Int("state_update_capacity", 0);
  // A decay per head, or per head and feature of the key.
  Expr decay = d.v_heads;
  if (n.HasInput(4) && capacity > 0) {
    ASSIGN_OR_RETURN(const Shape decays, n.RankedShape(4));
    if (decays.rank() == static_cast<int>(d.tokens.size()) + 2) decay *= d.qk_size;
  }
  const Expr update = decay + d.q_heads * d.qk_size + d.v_heads * d.v_size;
  return Facts{n.Like(0, std::move(output)),
               Fact::Tensor(DType::kFloat32, Shape{d.batch, d.v_heads, d.v_size, d.qk_size}),
               Fact::Tensor(DType::kFloat32, Shape{d.batch, capacity * update})};
}

// The decay and beta as they are given, or made of what is given.
absl::StatusOr<Census> AddGates(const NodeView& n, StateRecurrence* r) {
  Census work;
  if (r->gated) {
    ASSIGN_OR_RETURN(Shape decay, n.ShapeOfRankAtLeast(4, 1));
    r->decays = decay.NumElements();
    ASSIGN_OR_RETURN(const DecayGate gate, ReadDecayGate(n));
    if (gate != DecayGate::kNone) {
      // -exp(a_log) * Softplus(decay + dt_bias), or bound * Sigmoid(exp(a_log) * (decay +
      // dt_bias)).
      ASSIGN_OR_RETURN(Shape a_log, n.RankedShape(7, 1));
      work += ElementCost{.exp = 1} * a_log[0];
      work += (gate == DecayGate::kSoftplus ? kSoftplusCost + ElementCost{.add = 1, .mul = 1}
                                            : kSigmoidCost + ElementCost{.add = 1, .mul = 2}) *
              r->decays;
    }
  }
  if (r->delta && n.String("beta_activation", "none") == "sigmoid") {
    ASSIGN_OR_RETURN(Shape beta, n.ShapeOfRankAtLeast(5, 1));
    work += kSigmoidCost * beta.NumElements();
  }
  return work;
}

absl::StatusOr<StateRecurrence> RecurrenceOf(const NodeView& n, const DeltaNet& d) {
  StateRecurrence r = {.batch = d.batch,
                       .tokens = d.Tokens(),
                       .value_heads = d.v_heads,
                       .output_heads = Max(d.q_heads, d.v_heads),
                       .qk_size = d.qk_size,
                       .v_size = d.v_size};
  RETURN_IF_ERROR(ReadUpdateRule(n, &r));
  return r;
}

absl::StatusOr<Cost> CountDeltaNet(const NodeView& n) {
  ASSIGN_OR_RETURN(DeltaNet d, ReadDeltaNet(n));
  ASSIGN_OR_RETURN(StateRecurrence r, RecurrenceOf(n, d));
  ASSIGN_OR_RETURN(const Census gates, AddGates(n, &r));
  Cost cost = RecurrenceCost(n, r);
  cost.flops += gates;
  if (n.Flag("qk_l2_norm")) {
    // Of each head of queries and of keys: the root of the sum of squares, and the quotients.
    const Expr heads = 2 * r.tokens * d.q_heads;
    cost.flops += ElementCost{.add = 1, .mul = 1, .div = 1} * (heads * d.qk_size);
    cost.flops += ElementCost{.sqrt = 1} * heads;
  }
  cost.flops_mac_operands = OperandsLike(n, 0);
  return cost;
}

// The gradients of gates that the operator makes itself.
absl::StatusOr<Census> GatesGradient(const NodeView& n, const StateRecurrence& r,
                                     const GradientQuery& query) {
  Census work;
  ASSIGN_OR_RETURN(const DecayGate gate, ReadDecayGate(n));
  const bool gated = r.gated && gate != DecayGate::kNone;
  if (gated && query.Needs(7)) work += ElementCost{.add = 1, .mul = 1} * r.decays;
  if (gated && query.Needs(8)) work += ElementCost{.add = 1} * r.decays;
  if (gated && (query.Needs(4) || query.Needs(8))) {
    // Through Softplus a sigmoid, and the factor before it; through a sigmoid s the factor in it.
    if (gate == DecayGate::kSoftplus) work += (kSigmoidCost + ElementCost{.mul = 2}) * r.decays;
    if (gate == DecayGate::kSigmoid) work += ElementCost{.mul = 1} * r.decays;
  }
  if (gated && gate == DecayGate::kSigmoid &&
      (query.Needs(4) || query.Needs(7) || query.Needs(8))) {
    work += ElementCost{.add = 1, .mul = 3} * r.decays;  // dg * bound * s (1 - s)
  }
  if (r.delta && query.Needs(5) && n.String("beta_activation", "none") == "sigmoid") {
    ASSIGN_OR_RETURN(Shape beta, n.ShapeOfRankAtLeast(5, 1));
    work += ElementCost{.add = 1, .mul = 2} * beta.NumElements();
  }
  return work;
}

absl::StatusOr<Census> DeltaNetGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(DeltaNet d, ReadDeltaNet(n));
  ASSIGN_OR_RETURN(StateRecurrence r, RecurrenceOf(n, d));
  RETURN_IF_ERROR(AddGates(n, &r).status());
  const bool packed = !n.HasInput(1);
  const RecurrenceNeeds needs = {.q = query.Needs(0),
                                 .k = query.Needs(packed ? 0 : 1),
                                 .v = query.Needs(packed ? 0 : 2),
                                 .state = query.Needs(6),
                                 .decay = query.Needs(4) || query.Needs(7) || query.Needs(8),
                                 .beta = query.Needs(5)};
  Census work = RecurrenceGradient(r, needs);
  ASSIGN_OR_RETURN(const Census gates, GatesGradient(n, r, query));
  work += gates;
  if (n.Flag("qk_l2_norm")) {
    const Expr elements = r.tokens * d.q_heads * d.qk_size;
    const int normed = (needs.q ? 1 : 0) + (needs.k ? 1 : 0);
    work += ElementCost{.add = 2, .mul = 2, .div = 1} * (elements * normed);
  }
  return work;
}

// ---- CausalConvWithState: every channel convolved with its own kernel, over the past first

// How many positions the state holds: (kernel - 1) * dilation.
absl::StatusOr<Expr> StateLength(const NodeView& n, const Expr& kernel) {
  const int64_t dilation = n.Int("dilation", 1);
  if (dilation < 1) return absl::InvalidArgumentError(absl::StrCat("dilation is ", dilation));
  if (kernel.is_literal() && kernel.literal() < 1) {
    return absl::InvalidArgumentError(absl::StrCat("the kernel has size ", kernel.ToString()));
  }
  return (kernel - 1) * dilation;
}

// The form with attributes of its own: x[B,L,all], of which `channels` are convolved. The state may
// be longer than the kernel needs, and in either layout.
absl::StatusOr<Facts> InferExtendedCausalConv(const NodeView& n, const Shape& w, Expr length) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 3));
  const int64_t given = n.Int("input_channels", 0), offset = n.Int("input_channel_offset", 0);
  const Expr channels = given > 0 ? Expr(given) : x[2] - offset;
  if (given < 0 || offset < 0 || ProvablyLess(x[2], offset + channels).value_or(false)) {
    return absl::InvalidArgumentError(
        absl::StrCat(given, " input_channels from ", offset, " on, of ", x[2].ToString()));
  }
  RETURN_IF_ERROR(n.RequireSame("channels", channels, w[0]));
  const int64_t longer = n.Int("state_length", 0), capacity = n.Int("state_update_capacity", 0);
  if (longer < 0 || (longer > 0 && ProvablyLess(longer, length).value_or(false))) {
    return absl::InvalidArgumentError(
        absl::StrCat("state_length is ", longer, ", less than ", length.ToString()));
  }
  if (capacity < 0) {
    return absl::InvalidArgumentError(absl::StrCat("state_update_capacity is ", capacity));
  }
  if (longer > 0) length = longer;
  x[2] = channels;
  Shape state = {x[0], length, channels};
  if (n.Int("state_channels_last", -1) == 0) state = {x[0], channels, length};
  const Fact update = n.Like(0, Shape{x[0], capacity, channels});
  return Facts{n.Like(0, std::move(x)), n.Like(0, std::move(state)), update};
}

bool IsExtendedCausalConv(const NodeView& n) {
  return n.Int("state_update_capacity", 0) != 0 || n.Int("state_channels_last", -1) != -1 ||
         n.Int("state_length", 0) != 0 || n.Int("input_channel_offset", 0) != 0 ||
         n.Int("input_channels", 0) != 0;
}

absl::StatusOr<Facts> InferCausalConv(const NodeView& n) {
  const int64_t ndim = n.Int("ndim", 1);
  if (ndim < 1 || ndim > 3) return absl::InvalidArgumentError(absl::StrCat("ndim is ", ndim));
  const int rank = static_cast<int>(ndim) + 2;
  ASSIGN_OR_RETURN(Shape w, n.RankedShape(1, rank));
  ASSIGN_OR_RETURN(Expr length, StateLength(n, w[rank - 1]));
  if (IsExtendedCausalConv(n)) {
    if (ndim != 1 || !n.Flag("channels_last") || n.Int("state_window", 0) != 0) {
      return absl::InvalidArgumentError(
          "attributes of the state's form and of channels need channels_last = 1, ndim = 1 and no "
          "state_window");
    }
    return InferExtendedCausalConv(n, w, std::move(length));
  }
  Shape x, state;
  if (n.Flag("channels_last")) {
    ASSIGN_OR_RETURN(x, n.ShapeOfRankAtLeast(0, 3));
    RETURN_IF_ERROR(n.RequireSame("channels", x.Product(2, x.rank()), w[0]));
    state = x;
    state[1] = length;
  } else {
    ASSIGN_OR_RETURN(x, n.RankedShape(0, rank));
    RETURN_IF_ERROR(n.RequireSame("channels", x[1], w[0]));
    state = x;
    state[rank - 1] = length;
  }
  ASSIGN_OR_RETURN(state, WithStateWindow(n, std::move(state)));
  return Facts{n.Like(0, std::move(x)), n.Like(0, std::move(state))};
}

// kernel_delta[T,taps,groups], which is added to a kernel of two taps, and previous_mask[T,1].
absl::Status CheckDynamicTaps(const NodeView& n, const Shape& x, const Shape& w) {
  if (!n.HasInput(6) && !n.HasInput(7)) return absl::OkStatus();
  if (!n.HasInput(6) || !n.HasInput(7)) {
    return absl::InvalidArgumentError(
        "kernel_delta and previous_mask are given together or not at all");
  }
  ASSIGN_OR_RETURN(const Shape delta, n.RankedShape(6, 3));
  ASSIGN_OR_RETURN(const Shape mask, n.RankedShape(7, 2));
  RETURN_IF_ERROR(n.RequireSame("taps of the kernel", w[2], 2));
  RETURN_IF_ERROR(n.RequireSame("tokens", x[0], delta[0]));
  RETURN_IF_ERROR(n.RequireSame("tokens", x[0], mask[0]));
  const int64_t size = n.Int("group_size", 1);
  ASSIGN_OR_RETURN(const Expr groups, DivideEvenly("channels in groups", x[1], size));
  return n.RequireSame("groups", groups, delta[2]);
}

// VarlenCausalConvWithState: packed tokens[T,C].
absl::StatusOr<Facts> InferVarlenCausalConv(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape w, n.RankedShape(1, 3));
  ASSIGN_OR_RETURN(Shape sums, n.RankedShape(2, 1));
  RETURN_IF_ERROR(n.RequireSame("channels", x[1], w[0]));
  ASSIGN_OR_RETURN(Expr length, StateLength(n, w[2]));
  RETURN_IF_ERROR(CheckDynamicTaps(n, x, w));
  const Expr batch = sums[0] - 1;
  const int64_t capacity = n.Int("state_update_capacity", 0);
  return Facts{n.Like(0, x), n.Like(0, Shape{batch, x[1], length}),
               n.Like(0, Shape{batch, capacity, x[1]})};
}

constexpr char kRecurrenceFormula[] =
    "T tokens on a state of H*Dk*Dv, read by Ho heads; mac = T*(H + Ho)*Dk*Dv, add = T*H*Dk*Dv, "
    "mul "
    "= T*Ho*Dv; gated: exp = elements(decay), mul = T*H*Dk*Dv; delta: mac = T*H*Dk*Dv, add and mul "
    "= T*H*Dv; once: sqrt and div if no scale is given";

constexpr OpDef kMsLinearAttentionRows[] = {
    {.name = "CausalConvWithState",
     .formula = "y[B,C,..] = x after the past * weight[C,1,k1,..]",
     .data = {.signature = "input weight bias? past? -> y state updates?",
              .attributes = "activation = activation|none",
              .costs = "mac = y.elements*weight[2:]; add = bias.given*y.elements"},
     .infer = InferCausalConv,
     .least = NoMacs,  // the past may be zeros
     .examples = {{"float[N,6,L] x, float[6,1,4] w, float[6] b, float[N,6,3] p -> float[N,6,L] y, "
                   "float[N,6,3] s <activation = \"silu\">",
                   "mac=24*L*N add=12*L*N mul=6*L*N div=6*L*N exp=6*L*N"},
                  {"float[N,L,2,3] x, float[6,1,4] w -> float[N,L,2,3] y, float[2,N,6,2,3] s "
                   "<channels_last = 1, dilation = 2, state_window = 2>",
                   "mac=24*L*N"},
                  // 6 of 12 channels; a state of 7 positions, and 2 of the input.
                  {"float[N,5,12] x, float[6,1,4] w -> float[N,5,6] y, float[N,6,7] s, "
                   "float[N,2,6] u <channels_last = 1, input_channels = 6, input_channel_offset = "
                   "3, state_length = 7, state_channels_last = 0, state_update_capacity = 2>",
                   "mac=120*N"},
                  {"float[N,2,3,4,7] x, float[2,1,1,2,4] w -> float[N,2,3,4,7] y, float[N,2,3,4,3] "
                   "s <ndim = 3>",
                   "mac=1344*N"}},
     .operands = {.not_parameters = InputBits({3}), .states = InputBits({3})},
     .gradient = {.formula = kCausalConvGradient,
                  .costs = kCausalConvGradientCosts,
                  .keeps = {.unknown = true}}},
    {.name = "GatedDeltaNet",
     .formula = kRecurrenceFormula,
     .infer = InferDeltaNet,
     .count = CountDeltaNet,
     .least = NoMacs,  // pair by pair it may be less
     .examples =
         {// States of 4*4*3 = 48, outputs of 4*3 that read 4 numbers each.
          {"float[T,2,4] q, float[T,2,4] k, float[T,4,3] v, int32[M] c, float[T,4] d, float[T,4] b "
           "-> float[T,4,3] o, float[\"M - 1\",4,3,4] s <scale = 0.5>",
           "mac=144*T add=60*T mul=72*T exp=4*T"},
          {"g (float16[T,28] x, float[N,4,3,4] p, float[T,4] d, float[T,4] b, float[4] a, float[4] "
           "t) => (float16[T,4,3] o, float[N,4,3,4] s) { o, s = "
           "com.microsoft.GatedDeltaNet<qk_l2_norm = 1, gate_activation = \"qwen\", "
           "beta_activation = \"sigmoid\">(x, , , , d, b, p, a, t) }",
           "mac=144*T add=88*T mul=92*T div=20*T + 1 exp=12*T + 4 log=4*T sqrt=4*T + 1"},
          // A decay per head and feature of the key: 16 of each token, and as many transitions of
          // 16 + 8 + 12 numbers are captured as asked for.
          {"float[T,2,4] q, float[T,2,4] k, float[T,4,3] v, int32[M] c, float16[T,4,4] d, "
           "float16[T,4] b, float[N,4,3,4] p, float[4] a, float[4] t, int32[N] u -> float[T,4,3] "
           "o, float[N,4,3,4] s, float[N,180] e <scale = 0.5, gate_activation = \"sigmoid\", "
           "state_update_capacity = 5>",
           "mac=144*T add=92*T mul=104*T div=16*T exp=32*T + 4"},
          // Without decay the state is not multiplied, 48 numbers of each token.
          {"float[T,2,4] q, float[T,2,4] k, float[T,4,3] v, int32[M] c, , float[T,4] b -> "
           "float[T,4,3] o, float[\"M - 1\",4,3,4] s <scale = 0.5, update_rule = \"delta\", "
           "beta_activation = \"sigmoid\">",
           "mac=144*T add=64*T mul=24*T div=4*T exp=4*T"}},
     .operands = {.not_parameters = InputBits({6}), .states = InputBits({6})},
     .note = "as the recurrence, token by token; the gates and norms that are fused in, as their "
             "parts: -exp(a_log) * Softplus(decay + dt_bias) or bound * Sigmoid(exp(a_log) * "
             "(decay + dt_bias)), Sigmoid(beta), L2 norms of each head",
     .gradient = {.formula = kRecurrenceGradient,
                  .rule = DeltaNetGradient,
                  .keeps = {.unknown = true}}},
    {.name = "LinearAttention",
     .formula = kRecurrenceFormula,
     .infer = InferLinearAttention,
     .count = CountLinearAttention,
     .least = NoMacs,  // pair by pair it may be less
     .examples =
         {// As the examples of ai.onnx LinearAttention.
          {"float[N,10,16] q, float[N,10,8] k, float[N,10,6] v -> float[N,10,12] o, float[N,2,4,3] "
           "s <q_num_heads = 4, kv_num_heads = 2, update_rule = \"linear\">",
           "mac=720*N add=240*N mul=120*N div=1 sqrt=1"},
          {"float[N,10,16] q, float[N,10,8] k, float[N,10,6] v, , , float[N,10,2] b -> "
           "float[N,10,12] o, float[N,2,4,3] s <q_num_heads = 4, kv_num_heads = 2, update_rule = "
           "\"delta\">",
           "mac=960*N add=300*N mul=180*N div=1 sqrt=1"},
          {"float[N,10,16] q, float[N,10,8] k, float[N,10,6] v, float[5,N,2,4,3] p, float[N,10,2] "
           "d, float[N,10,2] b -> float[N,10,12] o, float[5,N,2,4,3] s <q_num_heads = 4, "
           "kv_num_heads = 2, scale = 0.5, state_window = 5>",
           "mac=960*N add=300*N mul=420*N exp=20*N"}},
     .operands = {.not_parameters = InputBits({3}), .states = InputBits({3})},
     .note = "as the recurrence, token by token, whatever the chunk size",
     .gradient = {.formula = kRecurrenceGradient,
                  .rule = LinearAttentionGradient,
                  .keeps = {.unknown = true}}},
    {.name = "VarlenCausalConvWithState",
     .formula = "y[T,C] = x after the past * weight[C,1,k]; with kernel_delta, two taps of (weight "
                "+ delta), the product of the first times previous_mask",
     .data = {.signature =
                  "input weight lengths bias? past? captured? kernel_delta? previous_mask? "
                  "-> y state updates?",
              .attributes = "activation = activation|none",
              .costs = "mac = y.elements*weight[2]; mul = kernel_delta.given*y.elements; add = "
                       "(bias.given + 2*kernel_delta.given)*y.elements",
              .unknown = "the gradient of kernels that tokens make"},
     .infer = InferVarlenCausalConv,
     .least = NoMacs,  // the past may be zeros
     .examples =
         {{"float[T,6] x, float[6,1,4] w, int32[4] c, float[6] b, float[3,6,3] p -> float[T,6] y, "
           "float[3,6,3] s",
           "mac=24*T add=6*T"},
          {"float[T,6] x, float[6,1,4] w, int32[4] c -> float[T,6] y, float[3,6,3] s, float[3,2,6] "
           "u <state_update_capacity = 2>",
           "mac=24*T"},
          // Kernels that tokens make, for pairs of channels.
          {"float[T,6] x, float[6,1,2] w, int32[4] c, , float[3,6,1] p, , float[T,4,3] d, "
           "float[T,1] m -> float[T,6] y, float[3,6,1] s <group_size = 2, delta_offset = 1>",
           "mac=12*T add=12*T mul=6*T"}},
     .operands = {.not_parameters = InputBits({4, 7}), .states = InputBits({4})},
     .gradient = {.formula = kCausalConvGradient,
                  .let = "fixed = if(kernel_delta.given, unknown, 1)",
                  .costs = kCausalConvGradientCosts,
                  .keeps = {.unknown = true}}},
};

}  // namespace

constinit const OpFamily kMsLinearAttentionFamily = {"com.microsoft", kMsLinearAttentionRows};

}  // namespace onnxflops
