// com.microsoft: what finds the experts of a token, where it is an operator of its own.
//
// How it works. A router's scores are the sigmoids of logits; a bias takes part in choosing
// experts, not in weighing them. Experts may be in groups: of each group the best scores are added
// up, the best groups stay, and the best experts of these are chosen. Every choice is counted as
// TopK is. RouterGateUpProj is one product whose columns are the logits and both halves of a
// SwiGLU.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/contrib/attention.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// MoEGroupRouter: logits[..., E], or activations[T, K] that projection_weight[E, K] makes logits
// of.

absl::Status CheckGroups(const NodeView& n, const Expr& experts) {
  const Expr groups = n.Int("n_group", 1);
  const int64_t chosen = n.Int("topk_group", 1), kept = n.Int("top_k", 0);
  RETURN_IF_ERROR(DivideEvenly("experts in groups", experts, groups).status());
  if (n.Int("group_topk", 2) < 1) {
    return absl::InvalidArgumentError(absl::StrCat("group_topk is ", n.Int("group_topk", 2)));
  }
  if (chosen < 1 || ProvablyLess(groups, chosen).value_or(false)) {
    return absl::InvalidArgumentError(
        absl::StrCat("topk_group is ", chosen, " of ", groups.ToString(), " groups"));
  }
  if (kept < 1 || ProvablyLess(chosen * FloorDiv(experts, groups), kept).value_or(false)) {
    return absl::InvalidArgumentError(absl::StrCat("top_k is ", kept, " of the experts of ", chosen,
                                                   " groups, of ", experts.ToString(), " experts"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Facts> InferGroupRouter(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const Shape bias, n.RankedShape(1, 1));
  const Expr& last = x[x.rank() - 1];
  if (n.HasInput(2)) {
    ASSIGN_OR_RETURN(const Shape weight, n.RankedShape(2, 2));
    RETURN_IF_ERROR(n.RequireSame("experts", bias[0], weight[0]));
    RETURN_IF_ERROR(n.RequireSame("width", last, weight[1]));
  } else {
    RETURN_IF_ERROR(n.RequireSame("experts", last, bias[0]));
  }
  if (n.HasOutput(0)) RETURN_IF_ERROR(CheckGroups(n, bias[0]));
  const Shape scores = {x.Product(0, x.rank() - 1), bias[0]};
  const Fact full = Fact::Tensor(DType::kFloat32, scores);
  return Facts{n.Like(0, scores), full, full};
}

// RouterGateUpProj: X[..., K] W[K, R + 2 C] are R logits and, of both halves, C features.
absl::StatusOr<Facts> InferRouterGateUp(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape router, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const Shape w, n.RankedShape(1, 2));
  RETURN_IF_ERROR(n.RequireSame("K", router[router.rank() - 1], w[0]));
  ASSIGN_OR_RETURN(const Expr logits, PositiveAttr(n, "router_size"));
  if (const auto activation = n.String("activation", "swiglu"); activation != "swiglu") {
    return absl::InvalidArgumentError(absl::StrCat("activation is '", activation, "', not swiglu"));
  }
  ASSIGN_OR_RETURN(const Expr features, DivideEvenly("columns of gate and up", w[1] - logits, 2));
  if (features.is_literal() && features.literal() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("router_size is ", logits.ToString(), " of ", w[1].ToString(), " columns"));
  }
  Shape activated = router;
  router[router.rank() - 1] = logits;
  activated[activated.rank() - 1] = features;
  return Facts{n.Like(0, std::move(router)), n.Like(0, std::move(activated))};
}

constexpr OpDef kMsRouterRows[] = {
    {.name = "MoEGroupRouter",
     .formula =
         "s = Sigmoid(logits[T,E]), or of X[T,K] weight[E,K]'; router_probs: of G groups the "
         "best by the sum of their best s + bias, of their experts the best by s + bias: "
         "log(max(s, 1e-20)); selection_scores = s + bias, router_weights = s",
     .data = {.signature = "logits[rows..., last] expert_bias[E] projection_weight? -> "
                           "router_probs? selection_scores? router_weights?",
              .attributes = "n_group = 1; topk_group = 1; group_topk = 2; top_k = int",
              .let = "chooses = rows*router_probs.given; size = E // attr.n_group; summed = "
                     "min(attr.group_topk, size); biased = max(router_probs.given, "
                     "selection_scores.given)",
              .costs =
                  "mac = projection_weight.given*rows*E*last; exp = rows*E; div = rows*E; add = "
                  "rows*E*(1 + biased) + chooses*attr.n_group*summed; cmp = "
                  "chooses*(E*digits(summed) + attr.n_group*digits(attr.topk_group) + "
                  "attr.topk_group*size*digits(attr.top_k) + attr.top_k); log = "
                  "chooses*attr.top_k"},
     .infer = InferGroupRouter,
     .mac_operands = TypesOf<0, 2>,
     .examples =
         {// 4 groups of 8: the 2 best of each, the 2 best groups, the 4 best of their 16.
          {"float16[T,32] L, float[32] B -> float16[T,32] P <top_k = 4, n_group = 4, topk_group = "
           "2>",
           "add=72*T div=32*T cmp=124*T exp=32*T log=4*T"},
          {"bfloat16[T,256] X, float[8] B, bfloat16[8,256] W -> , float[T,8] S, float[T,8] R "
           "<top_k = 2>",
           "mac=2048*T add=16*T div=8*T exp=8*T"}},
     .operands = {.weights = InputBits({1, 2})},
     .note = "all steps are counted, also where there is one group"},
    {.name = "RouterGateUpProj",
     .formula =
         "router[..,R] and, of C features each, gate and up = X[..,K] W[K,R+2C]; activated = "
         "G sigmoid(alpha G) (L + beta), G = min(gate, limit), L = up between -limit and "
         "limit",
     .data = {.signature = "X[rows..., K] W[k, N] -> router activated",
              .attributes = "router_size = int; activation_alpha = 1.0; "
                            "activation_beta = 0.0; limit = 0.0",
              .let = "gated = rows*((N - attr.router_size) // 2)",
              .costs = "mac = rows*K*N; exp = gated; div = gated; add = "
                       "gated*if(attr.activation_beta.is_0, 1, 2); mul = "
                       "gated*if(attr.activation_alpha.is_1, 2, 3); cmp = "
                       "attr.limit.is_positive*3*gated"},
     .infer = InferRouterGateUp,
     .examples = {{"float16[N,5,8] X, float16[8,13] W -> float16[N,5,3] R, float16[N,5,5] Y "
                   "<router_size = 3>",
                   "mac=520*N add=25*N mul=50*N div=25*N exp=25*N"},
                  {"float16[N,8] X, float16[8,13] W -> float16[N,3] R, float16[N,5] Y <router_size "
                   "= 3, limit = 7.0, activation_alpha = 1.702, activation_beta = 1.0>",
                   "mac=104*N add=10*N mul=15*N div=5*N cmp=15*N exp=5*N"}},
     .operands = {.weights = InputBits({1})},
     .note = "as MatMul, Split and SwiGLU"},
};

}  // namespace

constinit const OpFamily kMsRouterFamily = {"com.microsoft", kMsRouterRows};

}  // namespace onnxflops
