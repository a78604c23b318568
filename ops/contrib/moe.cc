// com.microsoft: mixtures of experts. Only the experts that a token is routed to are counted.
//
// How it works. Each token goes to k experts, so every projection runs on tokens x k rows,
// whichever experts these are. Added to this: softmax and TopK for the routing, activations, the
// weighted sum of the outputs. Weights that are read are those of min(experts, rows) experts, since
// no more can be reached; the same number is dequantised in QMoE. Packed weights give their number
// by their bits. SwiGLU may have both halves in one projection (`fused`) or the second one in fc3;
// GEGLU has both in one.
//
// MoEPacked has its weights in blocks of bytes, whose formats say how many they are and what it
// takes to make them floating point (packed_formats.h). With router_weights, the experts are chosen
// by one input and weighted by the other, and there is no softmax.
//
// Backward follows the same structure: a product per factor that needs a gradient. Quantised
// weights are not trained, but dequantised again for the gradient of X.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/contrib/attention.h"
#include "ops/contrib/packed_formats.h"
#include "ops/contrib/plain.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

namespace {

// One projection of every expert: weights [E, *, *] in some order of dimensions.
struct Projection {
  Expr weights;      // elements per expert
  Expr outputs;      // features it gives
  int64_t bits = 0;  // per weight; 0 if they are not packed
  bool zero_points = false;
  bool bias = false;
};

// Where an operator has the inputs of its projections.
struct ProjectionInputs {
  int weights, bias, zero_points;
};

struct Experts {
  Expr tokens, hidden, experts;
  int64_t routed = 1;  // k
  Projection fc1, fc2, fc3;
  bool has_fc3 = false;
  bool swiglu = false, geglu = false;
  bool fused = false;       // the two halves of these in one projection
  int router_weights = -1;  // the input that weighs the experts, where it is not input 1
  Expr Rows() const { return tokens * routed; }
};

// Weights [E, N, K], packed along the last dimension; prepacked ones have N and K exchanged, which
// does not change how many there are.
absl::StatusOr<Projection> ReadProjection(const NodeView& n, const ProjectionInputs& in,
                                          const Expr& inputs, int64_t bits) {
  ASSIGN_OR_RETURN(Shape w, n.RankedShape(in.weights, 3));
  Projection p = {.weights = w[1] * w[2],
                  .bits = bits,
                  .zero_points = in.zero_points >= 0 && n.HasInput(in.zero_points),
                  .bias = n.HasInput(in.bias)};
  if (n.dtype(in.weights) == DType::kUint8) {
    if (bits < 1 || bits > 8) return absl::InvalidArgumentError(absl::StrCat(bits, " bits"));
    p.weights = FloorDiv(p.weights * 8, bits);
  }
  ASSIGN_OR_RETURN(p.outputs, DivideEvenly("weights of an expert", p.weights, inputs));
  return p;
}

absl::Status ReadActivation(const NodeView& n, absl::string_view otherwise, Experts* e) {
  const absl::string_view activation = n.String("activation_type", otherwise);
  e->swiglu = absl::EqualsIgnoreCase(activation, "swiglu");
  e->geglu = absl::EqualsIgnoreCase(activation, "geglu");
  e->fused = (e->swiglu || e->geglu) && n.Int("swiglu_fusion", 0) != 0;
  if (!e->geglu || e->fused) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "geglu needs both halves in fc1: swiglu_fusion is 0, not 1 or 2");
}

absl::Status ReadRouting(const NodeView& n, Experts* e) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(Shape router, n.RankedShape(1, 2));
  e->tokens = x.Product(0, x.rank() - 1);
  e->hidden = x[x.rank() - 1];
  e->experts = router[1];
  e->routed = n.Int("k", 1);
  if (e->routed < 1 || ProvablyLess(e->experts, e->routed).value_or(false)) {
    return absl::InvalidArgumentError(
        absl::StrCat("k is ", e->routed, " of ", e->experts.ToString(), " experts"));
  }
  return n.RequireSame("tokens", e->tokens, router[0]);
}

// fc1 [E, inter (twice if fused), hidden], fc2 [E, hidden, inter], fc3 as fc1.
absl::StatusOr<Experts> ReadMoe(const NodeView& n) {
  Experts e;
  RETURN_IF_ERROR(ReadRouting(n, &e));
  RETURN_IF_ERROR(ReadActivation(n, "relu", &e));
  ASSIGN_OR_RETURN(e.fc1, ReadProjection(n, {2, 3, -1}, e.hidden, 0));
  const Expr inter = e.fused ? FloorDiv(e.fc1.outputs, 2) : e.fc1.outputs;
  ASSIGN_OR_RETURN(e.fc2, ReadProjection(n, {4, 5, -1}, inter, 0));
  e.has_fc3 = n.HasInput(6);
  if (e.has_fc3) {
    ASSIGN_OR_RETURN(e.fc3, ReadProjection(n, {6, 7, -1}, e.hidden, 0));
  }
  return e;
}

// The bits of an expert's weights: given by a float type's name, else by an attribute.
int64_t ExpertBits(const NodeView& n, absl::string_view override_attr) {
  const absl::string_view type = n.String("quant_type", "int");
  if (type == "fp4" || type == "nvfp4" || type == "wfp4afp8") return 4;
  if (type == "fp8") return 8;
  return n.Int(override_attr, n.Int("expert_weight_bits", 4));
}

absl::StatusOr<Experts> ReadQMoe(const NodeView& n) {
  Experts e;
  RETURN_IF_ERROR(ReadRouting(n, &e));
  RETURN_IF_ERROR(ReadActivation(n, "relu", &e));
  if (n.HasInput(14)) e.router_weights = 14;
  ASSIGN_OR_RETURN(
      e.fc1, ReadProjection(n, {2, 4, 11}, e.hidden, ExpertBits(n, "fc1_expert_weight_bits")));
  const Expr inter = e.fused ? FloorDiv(e.fc1.outputs, 2) : e.fc1.outputs;
  ASSIGN_OR_RETURN(e.fc2,
                   ReadProjection(n, {5, 7, 12}, inter, ExpertBits(n, "fc2_expert_weight_bits")));
  e.has_fc3 = n.HasInput(8);
  if (e.has_fc3) {
    ASSIGN_OR_RETURN(
        e.fc3, ReadProjection(n, {8, 10, 13}, e.hidden, ExpertBits(n, "fc3_expert_weight_bits")));
  }
  return e;
}

// MoEPacked: gate and up [E, inter, bytes], down [E, hidden, bytes].
absl::StatusOr<Experts> ReadPackedMoe(const NodeView& n) {
  Experts e;
  RETURN_IF_ERROR(ReadRouting(n, &e));
  RETURN_IF_ERROR(ReadActivation(n, "swiglu", &e));
  ASSIGN_OR_RETURN(Shape gate, n.RankedShape(2, 3));
  ASSIGN_OR_RETURN(Shape down, n.RankedShape(4, 3));
  RETURN_IF_ERROR(n.RequireSame("hidden size", down[1], e.hidden));
  e.has_fc3 = n.HasInput(3);
  if (e.has_fc3 != e.swiglu) {
    return absl::InvalidArgumentError(
        absl::StrCat("up_experts_weights are ", e.has_fc3 ? "given" : "missing",
                     ", but activation_type is '", n.String("activation_type", "swiglu"), "'"));
  }
  if (e.has_fc3) {
    ASSIGN_OR_RETURN(Shape up, n.RankedShape(3, 3));
    RETURN_IF_ERROR(n.RequireSame("features of gate and up", gate[1], up[1]));
  }
  e.fc1 = e.fc2 = e.fc3 = {.weights = gate[1] * e.hidden, .outputs = gate[1]};
  e.fc2.outputs = e.hidden;
  if (n.HasInput(5)) e.router_weights = 5;
  return e;
}

// Softmax over the experts, the k best of them, and their sum to 1 if asked for.
absl::StatusOr<Census> RoutingWork(const NodeView& n, const Experts& e, bool normalizes) {
  const Fact scores = n.Like(1, Shape{e.tokens, e.experts});
  const Fact best = n.Like(1, Shape{e.tokens, e.routed});
  const Fact k = Fact::Ints({Scalar::Int(e.routed)});
  ASSIGN_OR_RETURN(Cost top_k, CountAs(n, "TopK", {scores, k}, {best}));
  Census work = top_k.flops;
  if (e.router_weights < 0) work += kSoftmaxCost * (e.tokens * e.experts);
  if (normalizes) work += ElementCost{.add = 1, .div = 1} * e.Rows();
  return work;
}

Census ProjectionWork(const Projection& p, const Expr& rows) {
  Census work = ElementCost{.mac = 1} * (rows * p.weights);
  if (p.bias) work += ElementCost{.add = 1} * (rows * p.outputs);
  return work;
}

// Between the projections, per row and feature: the activation, and the gate of SwiGLU,
// G sigmoid(alpha G) (L + beta) with G and L clamped; or the product with fc3.
absl::StatusOr<ElementCost> ActivationPart(const NodeView& n, const Experts& e) {
  if (e.geglu) return kGeluTanhCost + ElementCost{.mul = 1};
  if (!e.swiglu) {
    ASSIGN_OR_RETURN(ElementCost cost, ActivationCost(n.String("activation_type", "relu")));
    if (e.has_fc3) cost.mul += 1;
    return cost;
  }
  ElementCost cost = kSigmoidCost + ElementCost{.mul = 2};
  if (n.Float("activation_alpha", 1.0f) != 1.0f) cost.mul += 1;
  if (n.Float("activation_beta", 0.0f) != 0.0f) cost.add += 1;
  if (n.HasAttr("swiglu_limit")) cost.cmp += 3;
  return cost;
}

absl::StatusOr<Cost> CountExperts(const NodeView& n, const Experts& e, bool normalizes) {
  ASSIGN_OR_RETURN(Census work, RoutingWork(n, e, normalizes));
  ASSIGN_OR_RETURN(ElementCost activation, ActivationPart(n, e));
  const Expr rows = e.Rows();
  work += ProjectionWork(e.fc1, rows);
  work += ProjectionWork(e.fc2, rows);
  if (e.has_fc3) work += ProjectionWork(e.fc3, rows);
  work += activation * (rows * (e.fused ? FloorDiv(e.fc1.outputs, 2) : e.fc1.outputs));
  // The outputs of the experts, weighted and added up.
  work += ElementCost{.add = 1, .mul = 1} * (rows * e.hidden);
  return Flops(std::move(work));
}

// Bytes of all inputs; of the expert weights (the inputs from the third on, [E, ...]), only as many
// experts as tokens can reach.
absl::StatusOr<Expr> BytesRead(const NodeView& n, const Experts& e) {
  constexpr int kFirstWeight = 2;
  Expr all = 0, of_experts = 0;
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.HasInput(i)) continue;
    ASSIGN_OR_RETURN(const Expr bytes, BytesOf(n.input(i)));
    (i < kFirstWeight || i == e.router_weights ? all : of_experts) += bytes;
  }
  const std::optional<Expr> of_one = DivideExactly(of_experts, e.experts);
  return all + (of_one ? *of_one * Min(e.experts, e.Rows()) : of_experts);
}

// ---- gradients

// Which parts of a projection need a gradient.
struct ProjectionNeeds {
  bool input = false, weights = false, bias = false;
  bool Any() const { return input || weights || bias; }
};

Census ProjectionGradient(const Projection& p, const Expr& rows, const ProjectionNeeds& needs) {
  const int products = (needs.input ? 1 : 0) + (needs.weights ? 1 : 0);
  Census work = ElementCost{.mac = products} * (rows * p.weights);
  if (needs.bias && p.bias) work += ElementCost{.add = 1} * (rows * p.outputs);
  return work;
}

// The gradient of the part between the projections, from values that forward kept. SwiGLU: through
// G, s = sigmoid(alpha G) and L, and through the clamps.
absl::StatusOr<ElementCost> ActivationPartGradient(const NodeView& n, const Experts& e) {
  if (e.geglu) return kGeluTanhGradient + ElementCost{.mul = 2};
  if (!e.swiglu) {
    ASSIGN_OR_RETURN(ElementCost cost, ActivationGradient(n.String("activation_type", "relu")));
    if (e.has_fc3) cost.mul += 2;
    return cost;
  }
  ElementCost cost = {.add = 2, .mul = 6};
  if (n.Float("activation_alpha", 1.0f) != 1.0f) cost.mul += 1;
  if (n.HasAttr("swiglu_limit")) cost.cmp += 3;
  return cost;
}

// The gradient of the softmax over the experts, through the weights of the chosen ones.
Census RoutingGradient(const NodeView& n, const Experts& e) {
  Census work =
      ElementCost{.add = 1, .mul = 1} * (e.Rows() * e.hidden);  // dY * what an expert gave
  if (n.Flag("normalize_routing_weights")) {
    work += ElementCost{.add = 2, .mul = 1, .div = 1} * e.Rows();
  }
  if (e.router_weights < 0) work += kSoftmaxGradient * (e.tokens * e.experts);
  return work;
}

absl::StatusOr<Census> ExpertsGradient(const NodeView& n, const GradientQuery& query,
                                       const Experts& e, const ProjectionInputs (&in)[3]) {
  const auto needs = [&](int input) { return query.Needs(static_cast<size_t>(input)); };
  const auto trained = [&](const ProjectionInputs& p) {
    return ProjectionNeeds{query.Needs(0), needs(p.weights), needs(p.bias)};
  };
  const ProjectionNeeds fc1 = trained(in[0]);
  const ProjectionNeeds fc3 = e.has_fc3 ? trained(in[2]) : ProjectionNeeds();
  ProjectionNeeds fc2 = trained(in[1]);
  fc2.input = fc1.Any() || fc3.Any();
  const Expr rows = e.Rows();
  Census work;
  if (needs(std::max(e.router_weights, 1))) work += RoutingGradient(n, e);
  if (fc2.Any()) work += ElementCost{.mul = 1} * (rows * e.hidden);  // dY * the expert's weight
  work += ProjectionGradient(e.fc2, rows, fc2);
  if (fc2.input) {
    ASSIGN_OR_RETURN(const ElementCost activation, ActivationPartGradient(n, e));
    work += activation * (rows * (e.fused ? FloorDiv(e.fc1.outputs, 2) : e.fc1.outputs));
  }
  work += ProjectionGradient(e.fc1, rows, fc1);
  if (e.has_fc3) work += ProjectionGradient(e.fc3, rows, fc3);
  // The gradients that the k experts and the two projections give a token are added up.
  if (fc1.input) work += ElementCost{.add = e.has_fc3 ? 2 : 1} * (rows * e.hidden);
  return work;
}

absl::StatusOr<Facts> InferMoe(const NodeView& n) {
  RETURN_IF_ERROR(ReadMoe(n).status());
  return InferSameAsInput(n);
}

absl::StatusOr<Cost> CountMoe(const NodeView& n) {
  ASSIGN_OR_RETURN(Experts e, ReadMoe(n));
  ASSIGN_OR_RETURN(Cost cost, CountExperts(n, e, n.Flag("normalize_routing_weights")));
  ASSIGN_OR_RETURN(cost.bytes_read, BytesRead(n, e));
  cost.flops_mac_operands = {.a = n.dtype(0), .b = n.dtype(2)};
  return cost;
}

absl::StatusOr<Census> MoeGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const Experts e, ReadMoe(n));
  return ExpertsGradient(n, query, e, {{2, 3, -1}, {4, 5, -1}, {6, 7, -1}});
}

absl::StatusOr<Facts> InferQMoe(const NodeView& n) {
  RETURN_IF_ERROR(ReadQMoe(n).status());
  return InferSameAsInput(n);
}

// Dequantises the weights of as many experts as tokens can reach.
Census ExpertsDequantized(const Experts& e) {
  const Expr used = Min(e.experts, e.Rows());
  Census work;
  for (const Projection* p : {&e.fc1, &e.fc2, &e.fc3}) {
    work += DequantizeCost(p->zero_points) * (used * p->weights);
  }
  return work;
}

absl::StatusOr<Cost> CountQMoe(const NodeView& n) {
  ASSIGN_OR_RETURN(Experts e, ReadQMoe(n));
  ASSIGN_OR_RETURN(Cost cost, CountExperts(n, e, n.Flag("normalize_routing_weights")));
  ASSIGN_OR_RETURN(cost.bytes_read, BytesRead(n, e));
  cost.flops += ExpertsDequantized(e);
  const absl::string_view type = n.String("quant_type", "int");
  DType weight = e.fc1.bits <= 2 ? DType::kInt2 : e.fc1.bits <= 4 ? DType::kInt4 : DType::kInt8;
  if (type == "fp8") weight = DType::kFloat8E4M3FN;
  if (type != "fp8" && type != "int") weight = DType::kFloat4E2M1;
  cost.flops_mac_operands = {.a = n.dtype(0), .b = weight};
  return cost;
}

// Quantised weights are not trained; for the gradient of X they are made again.
absl::StatusOr<Census> QMoeGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const Experts e, ReadQMoe(n));
  ASSIGN_OR_RETURN(Census work,
                   ExpertsGradient(n, query, e, {{2, 4, 11}, {5, 7, 12}, {8, 10, 13}}));
  if (query.Needs(0)) work += ExpertsDequantized(e);
  return work;
}

// The formats of the weights of MoEPacked: of gate, up and down.
struct ExpertFormats {
  const PackedFormat* gate = nullptr;
  const PackedFormat* up = nullptr;
  const PackedFormat* down = nullptr;
};

absl::StatusOr<ExpertFormats> ReadFormats(const NodeView& n, const Experts& e) {
  ExpertFormats formats;
  const struct {
    const char* attribute;
    int input;
    const PackedFormat** format;
  } parts[] = {{"gate_type", 2, &formats.gate},
               {"up_type", 3, &formats.up},
               {"down_type", 4, &formats.down}};
  for (const auto& part : parts) {
    if (!n.HasInput(part.input)) continue;
    ASSIGN_OR_RETURN(*part.format, FindPackedFormat(part.attribute, n.Int(part.attribute, -1)));
    ASSIGN_OR_RETURN(Shape weights, n.RankedShape(part.input, 3));
    RETURN_IF_ERROR(
        CheckPackedRow(n, **part.format, part.input == 4 ? e.fc1.outputs : e.hidden, weights[2]));
  }
  return formats;
}

absl::StatusOr<Facts> InferPackedMoe(const NodeView& n) {
  RETURN_IF_ERROR(ReadPackedMoe(n).status());
  return InferSameAsInput(n);
}

absl::StatusOr<Cost> CountPackedMoe(const NodeView& n) {
  ASSIGN_OR_RETURN(Experts e, ReadPackedMoe(n));
  ASSIGN_OR_RETURN(const ExpertFormats formats, ReadFormats(n, e));
  const bool normalizes = n.Flag("normalize_routing_weights", true);
  ASSIGN_OR_RETURN(Cost cost, CountExperts(n, e, normalizes));
  ASSIGN_OR_RETURN(cost.bytes_read, BytesRead(n, e));
  const Expr used = Min(e.experts, e.Rows()) * e.fc1.weights;
  for (const PackedFormat* format : {formats.gate, formats.up, formats.down}) {
    if (format != nullptr) cost.flops += UnpackingWork(*format, used);
  }
  if (normalizes && n.Float("routing_epsilon", 0.0f) != 0.0f) cost.flops[Kind::kAdd] += e.tokens;
  if (n.Float("routed_scaling_factor", 1.0f) != 1.0f) cost.flops[Kind::kMul] += e.Rows();
  cost.flops_mac_operands = {.a = n.dtype(0), .b = formats.gate->type};
  return cost;
}

constexpr char kFormula[] =
    "Y[T,H] = sum over the k best of E experts of weight * fc2(activation(fc1(X))); mac = T*k * "
    "elements of fc1, fc2 and fc3 of one expert; per routed row: add for the biases, the "
    "activation, mul and add per output; routing: softmax over E, the k best (cmp)";

constexpr char kMoeGradient[] =
    "of the experts that a token is routed to: for each projection a product as large as forward "
    "for its input and one for its weights, db = sum of dy, the gradient of the activation; dY "
    "times the expert's weight; dweight = sum of dY * what the expert gave, through softmax to the "
    "router; sums of dX over the k experts";

constexpr OpDef kMsMoeRows[] = {
    {.name = "MoE",
     .formula = kFormula,
     .infer = InferMoe,
     .count = CountMoe,
     .examples =
         {{"float[T,8] X, float[T,4] R, float[4,16,8] V, , float[4,8,16] W -> float[T,8] Y <k = 2>",
           "mac=512*T add=24*T mul=16*T div=4*T cmp=44*T exp=4*T"},
          {"float[T,8] X, float[T,4] R, float[4,32,8] V, float[4,32] b, float[4,8,16] W, "
           "float[4,8] c -> float[T,8] Y <k = 1, activation_type = \"swiglu\", swiglu_fusion = 1, "
           "normalize_routing_weights = 1>",
           "mac=384*T add=73*T mul=40*T div=21*T cmp=8*T exp=20*T"},
          // GEGLU: both halves in fc1, 16 features.
          {"float[T,8] X, float[T,4] R, float[4,32,8] V, , float[4,8,16] W -> float[T,8] Y <k = 1, "
           "activation_type = \"geglu\", swiglu_fusion = 2>",
           "mac=384*T add=48*T mul=88*T div=4*T cmp=8*T exp=4*T pow=16*T tanh=16*T"}},
     .operands = {.weights = InputBits({2, 3, 4, 5, 6, 7}),
                  .experts = InputBits({2, 3, 4, 5, 6, 7})},
     .note = "the weights of min(E, T*k) experts are read; SwiGLU: sigmoid, 2 mul, and mul for "
             "alpha, add for beta, 3 cmp for the limit",
     .gradient = {.formula = kMoeGradient, .rule = MoeGradient, .keeps = {.unknown = true}}},
    {.name = "MoEPacked",
     .formula = "as MoE, fc1, fc3 and fc2 in blocks of gate_type, up_type and down_type; with "
                "router_weights the k best by router_probs, weighted by these: no softmax; "
                "normalised: add and div per routed row, add per token for an epsilon; mul per "
                "routed row for a factor",
     .infer = InferPackedMoe,
     .count = CountPackedMoe,
     .examples =
         {// IQ2_XXS: 3*256*256 weights of each of 4 experts in groups of 32.
          {"float16[8,256] X, float16[8,4] R, uint8[4,256,66] V, uint8[4,256,66] U, "
           "uint8[4,256,66] W -> float16[8,256] Y <k = 2, gate_type = 16, up_type = 16, down_type "
           "= 16>",
           "mac=3145728 add=8272 mul=823296 div=4144 cmp=96 exp=4128"},
          {"float16[8,256] X, float[8,4] R, uint8[4,256,66] V, , uint8[4,256,66] W, float[8,4] M "
           "-> float16[8,256] Y <k = 2, gate_type = 16, down_type = 16, activation_type = "
           "\"relu2\", routing_epsilon = 1e-20, routed_scaling_factor = 2.5>",
           "mac=2097152 add=4120 mul=548880 div=16 cmp=4160"}},
     .operands = {.weights = InputBits({2, 3, 4}), .experts = InputBits({2, 3, 4}), .packed = true},
     .note = "the weights of min(E, T*k) experts are read and dequantised"},
    {.name = "QMoE",
     .formula = kFormula,
     .infer = InferQMoe,
     .count = CountQMoe,
     .examples =
         {{"float16[2,8] X, float16[2,4] R, uint8[4,16,4] V, float16[4,16] s, , uint8[4,8,8] W, "
           "float16[4,8] t -> float16[2,8] Y <k = 1, activation_type = \"silu\">",
           "mac=512 add=64 mul=560 div=40 cmp=16 exp=40"},
          // Chosen by one input, weighted by another: no softmax.
          {"float16[2,8] X, float16[2,4] R, uint8[4,16,4] V, float16[4,16] s, , uint8[4,8,8] W, "
           "float16[4,8] t, , , , , , , , float16[2,4] M -> float16[2,8] Y <k = 1, activation_type "
           "= \"relu2\">",
           "mac=512 add=16 mul=560 cmp=40"}},
     .operands = {.weights = InputBits({2, 4, 5, 7, 8, 10}),
                  .not_parameters = InputBits({3, 6, 9, 11, 12, 13, 15, 16, 17, 18, 19, 20}),
                  .experts = InputBits({2, 4, 5, 7, 8, 10}),
                  .packed = true},
     .note = "the weights of min(E, T*k) experts are dequantised: mul (and add with zero points) "
             "per weight; N and K of a weight follow from its bytes and bits",
     .gradient = {.formula = kMoeGradient, .rule = QMoeGradient, .keeps = {.unknown = true}}},
};

}  // namespace

constinit const OpFamily kMsMoeFamily = {"com.microsoft", kMsMoeRows};

}  // namespace onnxflops
