// com.microsoft: elementwise operators on floating point, and what is fused with them.
//
// How it works. The forward costs are formulas of the rows, per element of the output. The code
// checks shapes (a bias must have the size of the last dimension) and has the gradients that no
// formula gives: per element again, plus the sums for inputs that were broadcast. Dropout is free
// at inference; in training the random number is compared, and scale and mask are multiplied in.
// Hyper-connections are weighted sums over C streams, which stand in an axis of their own or in the
// features.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- Gelu and its fusions

// The optional bias [C] at input `i` must have the last dimension of X [..., C].
absl::Status CheckBias(const NodeView& n, int i, const Shape& x) {
  if (!n.HasInput(i)) return absl::OkStatus();
  ASSIGN_OR_RETURN(Shape bias, n.RankedShape(i, 1));
  if (x.rank() == 0) return absl::InvalidArgumentError("input 0 is a scalar, but there is a bias");
  return n.RequireSame("C", x[x.rank() - 1], bias[0]);
}

absl::StatusOr<Facts> InferWithBias(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  RETURN_IF_ERROR(CheckBias(n, 1, x));
  return Facts{n.Like(0, std::move(x))};
}

// BiasSplitGelu: Y[N,S,D/2] = left * Gelu(right), of X[N,S,D] + bias[D] split in two.
absl::StatusOr<Facts> InferBiasSplitGelu(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 1));
  RETURN_IF_ERROR(CheckBias(n, 1, y));
  Expr& last = y[y.rank() - 1];
  if (last.is_literal() && last.literal() % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("D is ", last.ToString(), ", which is odd"));
  }
  last = FloorDiv(last, 2);
  return Facts{n.Like(0, std::move(y))};
}

// ---- dropout: nothing at inference; in training, a random number is compared with the ratio, and
// scale and mask are multiplied in

absl::StatusOr<Facts> InferDropout(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  return Facts{n.Like(0, x), Fact::Tensor(DType::kBool, x)};
}

// The mask holds one bit per element in words of 32.
absl::StatusOr<Facts> InferBitmaskDropout(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  Shape mask = {CeilDiv(x.NumElements(), 32)};
  return Facts{n.Like(0, std::move(x)), Fact::Tensor(DType::kUint32, std::move(mask))};
}

// ---- hyper-connections: C streams of H features, in the last two dimensions or flattened into one

struct Streams {
  Expr rows;
  Expr branches;
  Expr features;
};

absl::StatusOr<Streams> ReadStreams(const NodeView& n) {
  const int64_t branches = n.Int("num_branches", 0);
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, branches == 0 ? 2 : 1));
  const int rank = x.rank();
  if (branches == 0) return Streams{x.Product(0, rank - 2), x[rank - 2], x[rank - 1]};
  if (branches < 0) return absl::InvalidArgumentError(absl::StrCat("num_branches is ", branches));
  if (!DivideExactly(x[rank - 1], branches).has_value() && x[rank - 1].is_literal()) {
    return absl::InvalidArgumentError(
        absl::StrCat(x[rank - 1].ToString(), " features in ", branches, " branches"));
  }
  return Streams{x.Product(0, rank - 1), branches, FloorDiv(x[rank - 1], branches)};
}

// HyperConnectionPreMix: Y[..., H] = reduction_scale * sum over c of X[..., C, H] * pre_mix.
absl::StatusOr<Facts> InferHyperConnectionPreMix(const NodeView& n) {
  ASSIGN_OR_RETURN(Streams s, ReadStreams(n));
  ASSIGN_OR_RETURN(Shape y, n.RankedShape(0));
  y.dims().pop_back();
  if (n.Int("num_branches", 0) == 0) y.dims().pop_back();
  y.push_back(s.features);
  return Facts{n.Like(0, std::move(y))};
}

// HyperConnectionPostMix: Y[..., k, H] = sum over c of stream_mix[..., c, k] * X[..., c, H] +
// post_mix[..., k] * block_output[..., H].
absl::StatusOr<Facts> InferHyperConnectionPostMix(const NodeView& n) {
  RETURN_IF_ERROR(ReadStreams(n).status());
  return InferSameAsInput(n);
}

// LinearAttentionGate: decay = decay_scale * Softplus(a + dt_bias), beta = Sigmoid(b).
absl::StatusOr<Facts> InferLinearAttentionGate(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape a, n.ShapeOfRankAtLeast(0, 1));
  RETURN_IF_ERROR(CheckBias(n, 1, a));
  RETURN_IF_ERROR(CheckBias(n, 2, a));
  Facts facts = {n.Like(0, std::move(a))};
  if (n.HasInput(3)) {
    ASSIGN_OR_RETURN(Shape b, n.RankedShape(3));
    facts.push_back(n.Like(3, std::move(b)));
  }
  return facts;
}

// SwiGLU: of gate and up, or of both halves in gate[..., 2C], gate first.
absl::StatusOr<Facts> InferSwiGlu(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 1));
  if (n.HasInput(1)) {
    ASSIGN_OR_RETURN(Shape up, n.RankedShape(1, y.rank()));
    for (int d = 0; d < y.rank(); ++d) {
      RETURN_IF_ERROR(n.RequireSame(absl::StrCat("dimension ", d), y[d], up[d]));
    }
  } else {
    ASSIGN_OR_RETURN(y[y.rank() - 1], DivideEvenly("features of gate and up", y[y.rank() - 1], 2));
  }
  return Facts{n.Like(0, std::move(y))};
}

// GatedAdd: X + Y * gate[..., 1], or the sigmoid of gate[..., K] gate_weight[K, 1] for the gate.
absl::StatusOr<Facts> InferGatedAdd(const NodeView& n) {
  if (n.HasInput(3)) {
    ASSIGN_OR_RETURN(Shape gate, n.ShapeOfRankAtLeast(2, 1));
    ASSIGN_OR_RETURN(Shape weight, n.RankedShape(3, 2));
    RETURN_IF_ERROR(n.RequireSame("K", gate[gate.rank() - 1], weight[0]));
    RETURN_IF_ERROR(n.RequireSame("gates of a row", weight[1], 1));
  }
  return InferSameAsInput(n);
}

// ---- complex products: real and imaginary part in the last dimension, of size 2

absl::StatusOr<Facts> InferComplexMul(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape a, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(Shape b, n.ShapeOfRankAtLeast(1, 1));
  RETURN_IF_ERROR(n.RequireSame("the last dimension", a[a.rank() - 1], 2));
  RETURN_IF_ERROR(n.RequireSame("the last dimension", b[b.rank() - 1], 2));
  ASSIGN_OR_RETURN(Shape c, BroadcastShapes({a, b}));
  return Facts{n.Like(0, std::move(c))};
}

// ---- the others

// IsAllFinite: one bool for any number of tensors.
absl::StatusOr<Facts> InferIsAllFinite(const NodeView& n) {
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.HasInput(i)) return n.CheckRanked(i);
  }
  return Facts{Fact::Tensor(DType::kBool, Shape{})};
}

constexpr FormulaData kBiasDropoutFormulas = {
    .signature = "data bias residual? ratio? training_mode? -> output mask?",
    .let = "trains = if(training_mode.given, training_mode.value != 0, 0)",
    .costs =
        "add = (1 + residual.given)*output.elements; mul = 2*trains*output.elements; cmp = "
        "trains*output.elements"};
// Forward has two mul per element where it drops: the mask and the scale.
constexpr char kBiasDropoutGradient[] = "mul = forward.mul; add = bias.summed";

constexpr FormulaData kComplexMulFormulas = {.signature = "A B -> C",
                                             .costs = "mul = 4*C[:-1]; add = 2*C[:-1]"};

constexpr OpDef kMsElementwiseRows[] = {
    {.name = "BiasAdd",
     .formula = "Y = X + bias + skip",
     .infer = InferWithBias,
     .count = CountPerOutputElement,
     .examples = {{"float[N,9,4] X, float[4] B, float[N,9,4] S -> float[N,9,4] Y", "add=72*N"}},
     .per_element = {.add = 2},
     .gradient = {.formula = "dX = dskip = dY; dbias = sum of dY", .broadcast = true}},
    {.name = "BiasDropout",
     .formula = "output = Dropout(data + bias) + residual",
     .data = kBiasDropoutFormulas,
     .infer = InferDropout,
     .examples = {{"float[N,4] X, float[4] B, float[N,4] R -> float[N,4] Y", "add=8*N"},
                  {"g (float[N,4] X, float[4] B) => (float[N,4] Y, bool[N,4] M) <float r = {0.5}, "
                   "bool t = {1}> { Y, M = com.microsoft.BiasDropout(X, B, , r, t) }",
                   "add=4*N mul=8*N cmp=4*N"}},
     .traits = Traits::kReadsContent | Traits::kRandom,
     .note = "dropout costs nothing at inference; in training 1 cmp and 2 mul per element, the "
             "random numbers not counted",
     .gradient = {.formula = "ddata = scale * dY * mask; dresidual = dY; dbias = sum of ddata",
                  .costs = kBiasDropoutGradient}},
    {.name = "BiasGelu",
     .formula = "Y = Gelu(A + B)",
     .infer = InferWithBias,
     .count = CountPerOutputElement,
     .examples = {{"float[N,4] A, float[4] B -> float[N,4] C", "add=8*N mul=8*N div=4*N erf=4*N"}},
     .per_element = kGeluCost + ElementCost{.add = 1},
     .operands = {.weights = InputBits({1})},
     .gradient = {.formula = "dA = dY * (cdf(X) + X * pdf(X)) at X = A + B; dB = sum of dA",
                  .broadcast = true,
                  .shared = kGeluGradient}},
    {.name = "BiasSoftmax",
     .formula = "Y = Softmax(X + bias)",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = {{"float[N,2,4,4] X, float[N,1,1,4] B -> float[N,2,4,4] Y <axis = 3, "
                   "is_inner_broadcast = 1>",
                   "add=96*N div=32*N cmp=32*N exp=32*N"}},
     .per_element = kSoftmaxCost + ElementCost{.add = 1},
     .gradient = {.formula =
                      "dX = Y * (dY - sum of dY * Y); dbias the same, summed up where broadcast",
                  .broadcast = true,
                  .shared = kSoftmaxGradient,
                  .keeps = {.outputs = InputBits({0})}}},
    {.name = "BiasSplitGelu",
     .formula = "Y[N,S,D/2] = left * Gelu(right) of X[N,S,D] + bias[D]",
     .data = {.signature = "X bias -> Y",
              .costs =
                  "add = 3*Y.elements; mul = 3*Y.elements; div = Y.elements; erf = Y.elements"},
     .infer = InferBiasSplitGelu,
     .examples = {{"float[N,9,8] X, float[8] B -> float[N,9,4] Y",
                   "add=108*N mul=108*N div=36*N erf=36*N"}},
     .gradient =
         {.formula =
              "dleft = dY * Gelu(right), dright = dY * left * Gelu'(right); dbias = sum of both",
          .costs = "add = 2*bias.needed*Y.elements",
          .shared = kGeluGradient + ElementCost{.mul = 2}}},
    {.name = "BitmaskBiasDropout",
     .formula = "output = Dropout(data + bias) + residual, with the mask in bits",
     .data = kBiasDropoutFormulas,
     .infer = InferBitmaskDropout,
     .examples = {{"float[N,64] X, float[64] B -> float[N,64] Y, uint32[\"2*N\"] mask",
                   "add=64*N"}},
     .traits = Traits::kReadsContent | Traits::kRandom,
     .note = "dropout costs nothing at inference; in training 1 cmp and 2 mul per element, the "
             "random numbers not counted",
     .gradient = {.formula = "ddata = scale * dY * mask; dresidual = dY; dbias = sum of ddata",
                  .costs = kBiasDropoutGradient}},
    {.name = "BitmaskDropout",
     .formula = "output = Dropout(data), with the mask in bits",
     .data = {.signature = "data ratio? training_mode? -> output mask?",
              .let = "trains = if(training_mode.given, training_mode.value != 0, 0)",
              .costs = "mul = 2*trains*output.elements; cmp = trains*output.elements"},
     .infer = InferBitmaskDropout,
     .examples = {{"float[8,10] X -> float[8,10] Y, uint32[3] M", "free"},
                  {"g (float[N,64] X) => (float[N,64] Y) <float r = {0.5}, bool t = {1}> "
                   "{ Y = com.microsoft.BitmaskDropout(X, r, t) }",
                   "mul=128*N cmp=64*N"}},
     .traits = Traits::kReadsContent | Traits::kRandom,
     .note = "in training 1 cmp and 2 mul per element, the random numbers not counted",
     .gradient = {.formula = "ddata = scale * dY * mask", .costs = "mul = forward.mul"}},
    {.name = "ComplexMul",
     .formula = "C[..., 2] = A * B as complex numbers",
     .data = kComplexMulFormulas,
     .infer = InferComplexMul,
     .examples = {{"float[N,8,2] A, float[8,2] B -> float[N,8,2] C", "add=16*N mul=32*N"}},
     .gradient =
         {.formula =
              "dA = dC conj(B), dB = dC conj(A): as forward for each; summed up where broadcast",
          .broadcast = true,
          .first = {.add = 1, .mul = 2},
          .others = {.add = 1, .mul = 2}}},
    {.name = "ComplexMulConj",
     .formula = "C[..., 2] = A * conjugate(B) as complex numbers",
     .data = kComplexMulFormulas,
     .infer = InferComplexMul,
     .examples = {{"float[N,8,2] A, float[N,8,2] B -> float[N,8,2] C", "add=16*N mul=32*N"}},
     .gradient =
         {.formula =
              "dA = dC conj(B), dB = dC conj(A): as forward for each; summed up where broadcast",
          .broadcast = true,
          .first = {.add = 1, .mul = 2},
          .others = {.add = 1, .mul = 2}}},
    {.name = "FastGelu",
     .formula = "Y = Gelu(X + bias) in its tanh form",
     .data = {.signature = "X bias? -> Y",
              .costs = "mul = 4*Y.elements; add = (2 + bias.given)*Y.elements; pow = Y.elements; "
                       "tanh = Y.elements"},
     .infer = InferWithBias,
     .examples = {{"float[N,4] X -> float[N,4] Y", "add=8*N mul=16*N pow=4*N tanh=4*N"},
                  {"float[N,4] X, float[4] B -> float[N,4] Y",
                   "add=12*N mul=16*N pow=4*N tanh=4*N"}},
     .operands = {.weights = InputBits({1})},
     .note = "as ai.onnx Gelu with approximate=\"tanh\"",
     .gradient = {.formula = "that of Gelu in its tanh form at X + bias; dbias = sum of it",
                  .broadcast = true,
                  .shared = kGeluTanhGradient}},
    {.name = "GatedAdd",
     .formula = "Z = X + Y * gate; with a weight, the gate of each row is Sigmoid(gate weight)",
     .data = {.signature = "X Y gate gate_weight? -> Z",
              .let = "rows = gate_weight.given*Z[:-1]",
              .costs = "mac = gate_weight.given*gate.elements; add = Z.elements + rows; mul = "
                       "Z.elements; div = rows; exp = rows"},
     .infer = InferGatedAdd,
     .mac_operands = TypesOf<2, 3>,
     .examples =
         {{"float[N,4] X, float[N,4] Y, float[N,1] G -> float[N,4] Z", "add=4*N mul=4*N"},
          {"bfloat16[N,4] X, bfloat16[N,4] Y, bfloat16[N,7] G, bfloat16[7,1] W -> bfloat16[N,4] Z",
           "mac=7*N add=5*N mul=4*N div=N exp=N"}},
     .operands = {.weights = InputBits({3})},
     .gradient = {.formula =
                      "dX = dZ; dY = dZ * gate; dgate = sum of dZ * Y, with a weight through "
                      "the sigmoid and to both factors of the product",
                  .let = "g = max(gate.needed, gate_weight.needed); projected = gate_weight.given",
                  .costs = "mac = projected*(gate.needed + gate_weight.needed)*gate.elements; mul "
                           "= (Y.needed + g)*Z.elements + 2*g*rows; add = g*(projected*Z.elements "
                           "+ rows) + (1 - projected)*gate.summed"}},
    {.name = "Gelu",
     .formula = "Y = 0.5 X (1 + erf(X / sqrt 2))",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = {{"float[N,4] X -> float[N,4] Y", "add=4*N mul=8*N div=4*N erf=4*N"}},
     .per_element = kGeluCost,
     .gradient = {.formula = "dX = dY * (cdf(X) + X * pdf(X))",
                  .first = kGeluGradient,
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "HyperConnectionPostMix",
     .formula = "Y[R,K,H] = sum over c of S[R,C,K] X[R,C,H] + P[R,K] B[R,H]",
     .data = {.signature = "X block_output post_mix stream_mix? -> Y",
              .attributes = "num_branches = 0",
              .let = "C = if(attr.num_branches, attr.num_branches, X[-2])",
              .costs = "mul = X.elements; add = X.elements; mac = stream_mix.given*X.elements*C"},
     .infer = InferHyperConnectionPostMix,
     .mac_operands = TypesOf<3, 0>,
     .examples = {{"float[N,4,8] X, float[N,8] B, float[N,4] P, float[N,4,4] S -> float[N,4,8] Y",
                   "mac=128*N add=32*N mul=32*N"},
                  {"float[N,32] X, float[N,8] B, float[N,4] P -> float[N,32] Y <num_branches = 4>",
                   "add=32*N mul=32*N"}}},
    {.name = "HyperConnectionPreMix",
     .formula = "Y[R,H] = scale * sum over c of X[R,C,H] * M",
     .data = {.signature = "X mix -> Y",
              .attributes = "num_branches = 0; reduction_scale = 1.0",
              .let = "C = if(attr.num_branches, attr.num_branches, X[-2])",
              .costs = "mul = X.elements + if(attr.reduction_scale.is_1, 0, X.elements // C); add "
                       "= X.elements"},
     .infer = InferHyperConnectionPreMix,
     .examples =
         {{"float[N,4,8] X, float[N,4] M -> float[N,8] Y", "add=32*N mul=32*N"},
          {"float[N,32] X, float[N,32] M -> float[N,8] Y <num_branches = 4, reduction_scale = 0.5>",
           "add=32*N mul=40*N"}},
     .note = "a gated sum, as Mul and ReduceSum: no contraction"},
    {.name = "IsAllFinite",
     .formula = "output = whether all elements of all inputs are finite",
     .data = {.signature = "input... -> output",
              .attributes = "isinf_only = 0; isnan_only = 0",
              .costs = "float_cmp = if((attr.isinf_only != 0) != (attr.isnan_only != 0), 1, "
                       "2)*input.elements; int_cmp = input.elements"},
     .infer = InferIsAllFinite,
     .examples = {{"float[N,4] X, float[3] Z -> bool Y", "cmp=8*N + 6 int_cmp=4*N + 3"},
                  {"float[N,4] X -> bool Y <isnan_only = 1>", "cmp=4*N int_cmp=4*N"}}},
    {.name = "LinearAttentionGate",
     .formula = "decay = decay_scale * Softplus(a + dt_bias), beta = Sigmoid(b)",
     .data = {.signature = "a dt_bias decay_scale b? -> decay beta?",
              .costs = "mul = decay.elements; add = 2*decay.elements + beta.elements; exp = "
                       "decay.elements + beta.elements; log = decay.elements; div = beta.elements"},
     .infer = InferLinearAttentionGate,
     .examples = {{"float[N,5,2] A, float[2] D, float[2] S, float[N,5,2] B -> float[N,5,2] G, "
                   "float[N,5,2] H",
                   "add=30*N mul=10*N div=10*N exp=20*N log=10*N"},
                  {"float[N,5,2] A, float[2] D, float[2] S, float[N,5,2] B -> float[N,5,2] G",
                   "add=20*N mul=10*N exp=10*N log=10*N"}}},
    {.name = "QuickGelu",
     .formula = "Y = X * Sigmoid(alpha X)",
     .data = {.signature = "X -> Y",
              .attributes = "alpha = 1.702",
              .costs = "mul = if(attr.alpha.is_1, 1, 2)*Y.elements; exp = Y.elements; add = "
                       "Y.elements; div = Y.elements"},
     .infer = InferSameAsInput,
     .examples = {{"float[N,4] X -> float[N,4] Y", "add=4*N mul=8*N div=4*N exp=4*N"},
                  {"float[N,4] X -> float[N,4] Y <alpha = 1.0>",
                   "add=4*N mul=4*N div=4*N exp=4*N"}},
     .gradient = {.formula = "s = sigmoid(alpha X): dX = dY * s * (1 + alpha X (1 - s))",
                  .costs = "mul = if(attr.alpha.is_1, 0, 2)*Y.elements",
                  .shared = kSiluGradient,
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "SampleOp",
     .formula = "Y = X",
     .infer = InferMoved,
     .examples = {{"float[N,4] X -> float[N,4] Y", "free"}}},
    {.name = "ScaledSiLU",
     .formula = "Y = Z * Sigmoid(Z), Z = scale * X",
     .data = {.signature = "X scale? -> Y",
              .attributes = "alpha = 1.0",
              .costs = "mul = max(scale.given + 1, if(attr.alpha.is_1, 1, 2))*Y.elements; exp = "
                       "Y.elements; add = Y.elements; div = Y.elements"},
     .infer = InferSameAsInput,
     .examples = {{"float[N,4] X, float S -> float[N,4] Y", "add=4*N mul=8*N div=4*N exp=4*N"},
                  {"float[N,4] X -> float[N,4] Y", "add=4*N mul=4*N div=4*N exp=4*N"}}},
    {.name = "SwiGLU",
     .formula = "Y = G sigmoid(alpha G) (L + beta), G = min(gate, limit) and L = up between -limit "
                "and limit; without up, gate has both halves",
     .data = {.signature = "gate up? -> Y",
              .attributes = "activation_alpha = 1.0; activation_beta = 0.0; limit = 0.0",
              .costs = "exp = Y.elements; div = Y.elements; add = "
                       "Y.elements*if(attr.activation_beta.is_0, 1, 2); mul = "
                       "Y.elements*if(attr.activation_alpha.is_1, 2, 3); cmp = "
                       "attr.limit.is_positive*3*Y.elements"},
     .infer = InferSwiGlu,
     .examples = {{"float[N,4] A, float[N,4] B -> float[N,4] Y", "add=4*N mul=8*N div=4*N exp=4*N"},
                  {"float[N,8] A -> float[N,4] Y <limit = 7.0, activation_alpha = 1.702, "
                   "activation_beta = 1.0>",
                   "add=8*N mul=12*N div=4*N cmp=12*N exp=4*N"}},
     .traits = Traits::kInPlace},
};

}  // namespace

constinit const OpFamily kMsElementwiseFamily = {"com.microsoft", kMsElementwiseRows};

}  // namespace onnxflops
