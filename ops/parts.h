// What the parts of a fused operator cost: the operators of ai.onnx that it stands for.
//
//   Cost cost;
//   cost.flops += kGeluCost * elements;         // the Gelu of a BiasGelu
//   cost.flops += RmsNormWork(rows, rows * k);  // the RMSNormalization of its heads
#ifndef ONNXFLOPS_OPS_PARTS_H_
#define ONNXFLOPS_OPS_PARTS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/op_def.h"

namespace onnxflops {

// ---- elementwise parts, per element
inline constexpr ElementCost kSigmoidCost = {.add = 1, .div = 1, .exp = 1};
inline constexpr ElementCost kSiluCost = {.add = 1, .mul = 1, .div = 1, .exp = 1};
// 0.5 x (1 + erf(x / sqrt 2)).
inline constexpr ElementCost kGeluCost = {.add = 1, .mul = 2, .div = 1, .erf = 1};
// 0.5 x (1 + tanh(a (x + b x^3))), as ONNX's Gelu with approximate="tanh".
inline constexpr ElementCost kGeluTanhCost = {.add = 2, .mul = 4, .pow = 1, .tanh = 1};
inline constexpr ElementCost kSoftplusCost = {.add = 1, .exp = 1, .log = 1};
// Maximum, difference, exponential, sum and quotient, over any number of rows.
inline constexpr ElementCost kSoftmaxCost = {.add = 2, .div = 1, .cmp = 1, .exp = 1};
// x cos + rotated x sin, per rotated element.
inline constexpr ElementCost kRotaryCost = {.add = 1, .mul = 2};
// y = saturate(round(x / scale) + zero_point), in floating point. Without zero point no addition.
inline constexpr ElementCost kQuantize = {.add = 1, .div = 1, .cmp = 2, .round = 1};
// y = (x - zero_point) * scale, in floating point. Without zero point no subtraction.
inline constexpr ElementCost kDequantize = {.add = 1, .mul = 1};
constexpr ElementCost QuantizeCost(bool zero_point) {
  ElementCost cost = kQuantize;
  if (!zero_point) cost.add = 0;
  return cost;
}
constexpr ElementCost DequantizeCost(bool zero_point) {
  ElementCost cost = kDequantize;
  if (!zero_point) cost.add = 0;
  return cost;
}

constexpr ElementCost operator+(ElementCost a, const ElementCost& b) {
  a.mac += b.mac;
  a.add += b.add;
  a.mul += b.mul;
  a.div += b.div;
  a.cmp += b.cmp;
  a.exp += b.exp;
  a.log += b.log;
  a.sqrt += b.sqrt;
  a.pow += b.pow;
  a.trig += b.trig;
  a.tanh += b.tanh;
  a.erf += b.erf;
  a.round += b.round;
  return a;
}

// A cost whose arithmetic is all floating point.
Cost Flops(Census work);

// The cost per element of an activation that is fused by name: "Relu", "LeakyRelu", "Tanh", "Gelu"
// (any case); none for "" and "none". Unimplemented for a name that is not known.
absl::StatusOr<ElementCost> ActivationCost(absl::string_view name);

// What the gradient of that activation costs per element, from what forward kept.
absl::StatusOr<ElementCost> ActivationGradient(absl::string_view name);
// Gradients of Gelu: by erf, and by tanh.
inline constexpr ElementCost kGeluGradient = {.add = 2, .mul = 6, .div = 1, .exp = 1, .erf = 1};
inline constexpr ElementCost kGeluTanhGradient = {.add = 5, .mul = 11, .pow = 1, .tanh = 1};
// Of x * sigmoid(x), the sigmoid made again.
inline constexpr ElementCost kSiluGradient = {.add = 3, .mul = 3, .div = 1, .exp = 1};
inline constexpr ElementCost kSoftmaxGradient = {.add = 2, .mul = 2};
// cap * tanh(score / cap), and its gradient: those of the three operators.
inline constexpr ElementCost kSoftcapCost = {.mul = 1, .div = 1, .tanh = 1};
inline constexpr ElementCost kSoftcapGradient = {.add = 1, .mul = 3, .div = 1};

// ---- scaled dot-product attention
//
//   // softmax(scale Q K') V of 12 heads of 64, with a mask.
//   Cost cost = SdpaCost({.pairs = batch * seq * seq, .tokens = batch * seq, .heads = 12,
//                         .qk_size = 64, .v_size = 64, .biases = 1});
//
// Every query token meets every key of its sequence: masks are counted in full, and causal ones too
// unless the user wants only what they let through.
struct Sdpa {
  Expr pairs;   // of a query token and a key, over the whole batch: B * Sq * T
  Expr tokens;  // of the queries: B * Sq
  Expr heads;   // of the queries
  Expr qk_size, v_size;
  int biases = 0;      // masks and biases that are added to the scores
  bool scaled = true;  // the scores are: else the operator scales Q and K
  bool softcap = false;
  bool sink = false;  // one more term in the denominator of each softmax
  bool causal = false;
  std::optional<Expr> twice_unmasked;  // twice the pairs that count, where that is not all of them

  Expr TwiceScores() const { return twice_unmasked.value_or(2 * pairs) * heads; }
  Expr Scores() const { return FloorDiv(TwiceScores(), 2); }
};

// mac of Q K' and P V; per score: mul (scale), add for each bias, div, tanh and mul for a softcap,
// the softmax; per row a sink.
Census SdpaWork(const Sdpa& sdpa);
// The same as a cost, to which a rule adds the rest.
Cost SdpaCost(const Sdpa& sdpa);
// Which of Q, K, V, the scores and their bias need a gradient.
struct SdpaNeeds {
  bool q = false, k = false, v = false, scores = false, bias = false;
  bool recomputes_scores = false;
};
// Products with the scores P: dV = P' dY, dP = dY V', dQ = dS K, dK = dS' Q, and the gradient of
// the softmax where one goes through it. Flash attention keeps no P: it takes S = Q K' and
// e^(S - L) again and computes all five products, whichever is needed.
Census SdpaGradient(const Sdpa& sdpa, const SdpaNeeds& needs);
// It needs V as wide as K; otherwise, and where scores or a bias need a gradient, it is not used.
bool TakesFlash(const Sdpa& sdpa, const SdpaNeeds& needs);

// ---- linear attention
// A state S[Dk,Dv] per value head that each of `tokens` decays (gated), corrects by what it holds
// for the key (delta), adds the outer product k u to, and reads for `output_heads` queries.
struct StateRecurrence {
  bool gated = false, delta = false;
  Expr batch, tokens;  // tokens of the whole batch
  Expr value_heads, output_heads, qk_size, v_size;
  Expr decays = 0;  // elements of the decay

  Expr StateElements() const { return tokens * value_heads * qk_size * v_size; }
};
// Sets `gated` and `delta` as the attribute update_rule says.
absl::Status ReadUpdateRule(const NodeView& n, StateRecurrence* r);
// With 1 / sqrt(Dk), made once, where no scale is given.
Cost RecurrenceCost(const NodeView& n, const StateRecurrence& r);
struct RecurrenceNeeds {
  bool q = false, k = false, v = false, state = false, decay = false, beta = false;
};
// Of the inputs of LinearAttention.
RecurrenceNeeds LinearAttentionNeeds(const GradientQuery& query);
Census RecurrenceGradient(const StateRecurrence& r, const RecurrenceNeeds& needs);
inline constexpr char kRecurrenceGradient[] =
    "step by step backwards: dq = do S', dS = q' do; dk = dS u, du = k' dS; delta: dk = S dr, dS = "
    "k' dr: a product as large as forward for each factor that needs one, that of the first state "
    "only if it is needed; du = beta * dv, dbeta = sum of du * (v - r); gated: dS * decay, ddecay "
    "= sum of dS * S; sums of the gradients of a state";

// ---- the gradient of causal convolutions, which need not be of one kernel size: input and past
// get theirs from one product
inline constexpr char kCausalConvGradient[] =
    "dinput, dweight: a product as large as forward for each; dbias = sum of dy; before, the "
    "gradient of the activation";
inline constexpr char kCausalConvGradientCosts[] =
    "mac = (max(input.needed, past.needed) + weight.needed)*forward.mac; add = "
    "bias.needed*y.elements";

// ---- normalizations of `rows` rows, of so many elements in all
// RMSNormalization: mean of squares, quotient and scale.
Census RmsNormWork(const Expr& rows, const Expr& elements);

// ---- softmax with a sink: one more exponential in each of `rows` denominators
Census SinkWork(const Expr& rows);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_PARTS_H_
