// Attention and what belongs to it. These operators are functions in the specification: they cost
// what their bodies cost, data movement apart.
//
// How it works. Each operator reads its dimensions once (heads may be an axis of their own or
// folded into the last one) and counts from these. Attention counts pairs of a query and a key,
// since every cost per score and the two products are proportional to them. Pairs are counted twice
// over and halved at the end, because the triangle of a causal mask has n*(n+1)/2 of them and
// formulas should stay free of divisions. By default all pairs count; with {causal half} only those
// that the causal mask lets through. A lower bound on time (n.least()) leaves out each pair that
// any mask may hide.
//
// The masks cost something themselves: the function body builds them by comparing positions, adds
// them to each other and looks for rows that are masked as a whole. The code follows it step by
// step.
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/causal.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/lengths.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- Attention
//
// Q[B,Hq,Sq,Dk], K[B,Hkv,S,Dk], V[B,Hkv,S,Dv], or without heads of their own as [B,S,H*D]; the keys
// and values of T = past + S positions. Y = softmax(Q' K'^T + bias) V, Q' and K' scaled by
// sqrt(scale) each, K and V repeated for Hq heads.

struct Heads {
  Expr batch, heads, length, size;
};

// The dimensions of input `i`, of rank 3 or 4.
absl::StatusOr<Heads> ReadHeads(const NodeView& n, int i, int rank, absl::string_view heads_attr) {
  ASSIGN_OR_RETURN(const Shape shape, n.RankedShape(i, rank));
  if (rank == 4) return Heads{shape[0], shape[1], shape[2], shape[3]};
  if (rank != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " has rank ", rank, ", neither 3 nor 4"));
  }
  const int64_t heads = n.Int(heads_attr, 0);
  if (heads < 1) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", heads_attr, " is ", heads,
                                                   ", which inputs of rank 3 need to be positive"));
  }
  ASSIGN_OR_RETURN(const Expr size, DivideEvenly("size of a head", shape[2], heads));
  return Heads{shape[0], heads, shape[1], size};
}

struct AttentionDims {
  bool packed = false;  // inputs of rank 3
  Expr batch, q_heads, kv_heads, q_length, past, total, qk_size, v_size;

  Shape Scores() const { return {batch, q_heads, q_length, total}; }
  Shape Output() const {
    if (packed) return {batch, q_length, q_heads * v_size};
    return {batch, q_heads, q_length, v_size};
  }
};

// Adds the past, if any, and requires it to match.
absl::Status ReadPast(const NodeView& n, AttentionDims* dims) {
  if (n.HasInput(4) != n.HasInput(5)) {
    return absl::InvalidArgumentError("past_key and past_value must be given together");
  }
  if (!n.HasInput(4)) return absl::OkStatus();
  for (int i : {4, 5}) {
    ASSIGN_OR_RETURN(const Shape past, n.RankedShape(i, 4));
    RETURN_IF_ERROR(n.RequireSame("batch of the past", past[0], dims->batch));
    RETURN_IF_ERROR(n.RequireSame("heads of the past", past[1], dims->kv_heads));
    RETURN_IF_ERROR(
        n.RequireSame("head size of the past", past[3], i == 4 ? dims->qk_size : dims->v_size));
    if (i == 4) {
      dims->past = past[2];
    } else {
      ASSIGN_OR_RETURN(dims->past,
                       Unify(n, "length of past_key and past_value", dims->past, past[2]));
    }
  }
  dims->total += dims->past;
  return absl::OkStatus();
}

absl::StatusOr<AttentionDims> ReadAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape query, n.RankedShape(0));
  ASSIGN_OR_RETURN(const Heads q, ReadHeads(n, 0, query.rank(), "q_num_heads"));
  ASSIGN_OR_RETURN(const Heads k, ReadHeads(n, 1, query.rank(), "kv_num_heads"));
  ASSIGN_OR_RETURN(const Heads v, ReadHeads(n, 2, query.rank(), "kv_num_heads"));
  AttentionDims dims;
  dims.packed = query.rank() == 3;
  RETURN_IF_ERROR(n.RequireSame("batch of K and V", k.batch, v.batch));
  ASSIGN_OR_RETURN(dims.batch, Unify(n, "batch of Q and K", q.batch, k.batch));
  ASSIGN_OR_RETURN(dims.kv_heads, Unify(n, "heads of K and V", k.heads, v.heads));
  ASSIGN_OR_RETURN(dims.qk_size, Unify(n, "head size of Q and K", q.size, k.size));
  ASSIGN_OR_RETURN(dims.total, Unify(n, "length of K and V", k.length, v.length));
  RETURN_IF_ERROR(DivideEvenly("heads of Q per head of K", q.heads, dims.kv_heads).status());
  dims.q_heads = q.heads;
  dims.q_length = q.length;
  dims.v_size = v.size;
  RETURN_IF_ERROR(ReadPast(n, &dims));
  return dims;
}

absl::StatusOr<Facts> InferAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(const AttentionDims dims, ReadAttention(n));
  const Shape key{dims.batch, dims.kv_heads, dims.total, dims.qk_size};
  const Shape value{dims.batch, dims.kv_heads, dims.total, dims.v_size};
  return Facts{n.Like(0, dims.Output()), n.Like(n.HasInput(4) ? 4 : 1, key),
               n.Like(n.HasInput(5) ? 5 : 2, value), n.Like(0, dims.Scores())};
}

// The bias that masks make: a mask given, the causal one, that of a window, that of padding. Each
// after the first is added to those before it.
class Bias {
 public:
  bool any() const { return any_; }
  const Shape& shape() const { return shape_; }

  absl::Status Add(Shape mask, Census* work) {
    if (any_) {
      ASSIGN_OR_RETURN(mask, BroadcastShapes({shape_, mask}));
      (*work)[Kind::kAdd] += mask.NumElements();
    }
    any_ = true;
    shape_ = std::move(mask);
    return absl::OkStatus();
  }

 private:
  bool any_ = false;
  Shape shape_;
};

// The shape of attn_mask: its dimensions are those of the scores, or 1. A shorter last one is
// padded since version 24.
absl::StatusOr<Shape> MaskShape(const NodeView& n, const Shape& scores) {
  ASSIGN_OR_RETURN(Shape mask, n.RankedShape(3));
  const int offset = scores.rank() - mask.rank();
  if (offset < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("attn_mask has rank ", mask.rank(), ", more than 4"));
  }
  for (int i = 0; i < mask.rank(); ++i) {
    const bool padded = n.version() >= 24 && i == mask.rank() - 1;
    if (!padded && mask[i] == Expr(1)) continue;
    if (!padded) {
      RETURN_IF_ERROR(n.RequireSame(absl::StrCat("dimension ", i, " of attn_mask"), mask[i],
                                    scores[offset + i]));
    }
    mask[i] = scores[offset + i];
  }
  return mask;
}

// Positions of queries by positions of keys that a mask compares, [Sq,T]; of each sequence on its
// own, [B,1,Sq,T], when only nonpad_kv_seqlen tells where its queries begin. Counting the positions
// up, and those of the queries on from the past, is integer arithmetic.
Shape PositionPairs(const NodeView& n, const AttentionDims& dims, Census* int_work) {
  (*int_work)[Kind::kAdd] += dims.q_length + dims.total;
  if (n.HasInput(6) && !n.HasInput(4)) {
    (*int_work)[Kind::kAdd] += dims.batch + dims.batch * dims.q_length;
    return {dims.batch, 1, dims.q_length, dims.total};
  }
  (*int_work)[Kind::kAdd] += dims.q_length;
  return {dims.q_length, dims.total};
}

absl::StatusOr<Bias> MaskBias(const NodeView& n, const AttentionDims& dims, Cost* cost) {
  Bias bias;
  if (n.HasInput(3)) {
    ASSIGN_OR_RETURN(Shape mask, MaskShape(n, dims.Scores()));
    RETURN_IF_ERROR(bias.Add(std::move(mask), &cost->flops));
  }
  if (n.Flag("is_causal") && !n.half_causal()) {
    Shape pairs = PositionPairs(n, dims, &cost->int_ops);
    cost->int_ops[Kind::kCmp] += pairs.NumElements();
    RETURN_IF_ERROR(bias.Add(std::move(pairs), &cost->flops));
  }
  const int bounds =
      (n.Int("left_window_size", -1) >= 0 ? 1 : 0) + (n.Int("right_window_size", -1) >= 0 ? 1 : 0);
  if (bounds > 0) {
    Shape pairs = PositionPairs(n, dims, &cost->int_ops);
    // The distance, a comparison with each bound, and a conjunction of two.
    cost->int_ops[Kind::kAdd] += pairs.NumElements();
    cost->int_ops[Kind::kCmp] += (2 * bounds - 1) * pairs.NumElements();
    RETURN_IF_ERROR(bias.Add(std::move(pairs), &cost->flops));
  }
  if (n.HasInput(6)) {
    cost->int_ops[Kind::kAdd] += dims.total;
    cost->int_ops[Kind::kCmp] += dims.batch * dims.total;
    RETURN_IF_ERROR(bias.Add({dims.batch, 1, 1, dims.total}, &cost->flops));
  }
  return bias;
}

// Twice the pairs of a query and a key, over the whole batch: all of them, or those that the causal
// mask and its window let through. A sequence whose end nonpad_kv_seqlen tells has its queries at
// that end; where the content is not known, at the end of all keys.
absl::StatusOr<Expr> TwicePairs(const NodeView& n, const AttentionDims& dims) {
  ASSIGN_OR_RETURN(const std::optional<Dims> lengths, KnownLengths(n, 6));
  if (!n.Flag("is_causal") || !n.half_causal()) return 2 * dims.batch * dims.q_length * dims.total;
  const int64_t left = n.Int("left_window_size", -1);
  const auto of_sequence = [&](const Expr& offset) {
    return left < 0 ? TwiceCausalPairs(dims.q_length, dims.total, offset)
                    : TwiceWindowPairs(dims.q_length, dims.total, offset, left + 1);
  };
  const bool by_end = n.HasInput(6) && !n.HasInput(4);
  if (!by_end || !lengths.has_value()) {
    const Expr offset = by_end ? dims.total - dims.q_length : dims.past;
    return dims.batch * of_sequence(offset);
  }
  Expr twice;
  for (const Expr& end : *lengths) twice += of_sequence(end - dims.q_length);
  return twice;
}

// Of these pairs, those that no mask can hide. A mask given as an input may hide any.
absl::StatusOr<Expr> TwiceLeastPairs(const NodeView& n, const AttentionDims& dims) {
  if (n.HasInput(3)) return Expr(0);
  ASSIGN_OR_RETURN(const std::optional<Dims> lengths, KnownLengths(n, 6));
  if (n.HasInput(6) && !lengths.has_value()) return Expr(0);
  const int64_t left = n.Int("left_window_size", -1), right = n.Int("right_window_size", -1);
  const bool causal = n.Flag("is_causal"), ends = causal || right >= 0;
  const auto of_sequence = [&](const Expr& keys, const Expr& offset) {
    const Expr last = offset + (causal ? 0 : right);
    const Expr twice =
        ends ? TwiceCausalPairs(dims.q_length, keys, last) : 2 * dims.q_length * keys;
    return left < 0 ? twice : twice - TwiceCausalPairs(dims.q_length, keys, offset - 1 - left);
  };
  if (!lengths.has_value()) return dims.batch * of_sequence(dims.total, dims.past);
  Expr twice;
  for (const Expr& end : *lengths) {
    twice += of_sequence(Min(end, dims.total), n.HasInput(4) ? dims.past : end - dims.q_length);
  }
  return twice;
}

// Once per node: sqrt(scale), and before it 1/sqrt(head size) if no scale is given.
constexpr ElementCost ScaleCost(bool given) {
  return given ? ElementCost{.sqrt = 1} : ElementCost{.div = 1, .sqrt = 2};
}

// Q and K are scaled, not the scores.
Sdpa ProductsOf(const NodeView& n, const AttentionDims& dims, Expr twice_pairs, bool biased) {
  return {.heads = dims.q_heads,
          .qk_size = dims.qk_size,
          .v_size = dims.v_size,
          .biases = biased ? 1 : 0,
          .scaled = false,
          .softcap = n.Float("softcap", 0) != 0,
          .twice_unmasked = std::move(twice_pairs)};
}

absl::StatusOr<Cost> CountAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(const AttentionDims dims, ReadAttention(n));
  Cost cost;
  cost.causal = n.Flag("is_causal");
  ASSIGN_OR_RETURN(const Bias bias, MaskBias(n, dims, &cost));
  ASSIGN_OR_RETURN(const Expr pairs, n.least() ? TwiceLeastPairs(n, dims) : TwicePairs(n, dims));
  cost.flops += SdpaWork(ProductsOf(n, dims, pairs, bias.any()));
  cost.flops[Kind::kMul] += dims.batch * dims.q_heads * (dims.q_length + dims.total) * dims.qk_size;
  cost.flops += ScaleCost(n.HasAttr("scale")) * 1;
  if (bias.any()) {
    // A row that is masked as a whole is found by the maximum of its bias.
    const Shape& shape = bias.shape();
    cost.flops[Kind::kCmp] += shape.NumElements() + shape.Product(0, shape.rank() - 1);
  }
  return cost;
}

absl::StatusOr<Census> AttentionGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const AttentionDims dims, ReadAttention(n));
  ASSIGN_OR_RETURN(const Expr pairs, TwicePairs(n, dims));
  // FlexAttention has no input 3: there this stands for its modifiers.
  const SdpaNeeds needs = {.q = query.Needs(0),
                           .k = query.Needs(1) || query.Needs(4),
                           .v = query.Needs(2) || query.Needs(5),
                           .scores = query.Needs(3),
                           .bias = query.Needs(3) && n.HasInput(3),
                           .recomputes_scores = query.recomputes_scores};
  const Sdpa sdpa = ProductsOf(n, dims, pairs, needs.bias);
  Census work = SdpaGradient(sdpa, needs);
  const bool flash = TakesFlash(sdpa, needs);
  const Expr rows = dims.batch * dims.q_heads * dims.qk_size;  // scaled, as in forward
  if (needs.q || flash) work[Kind::kMul] += rows * dims.q_length;
  if (needs.k || flash) work[Kind::kMul] += rows * dims.total;
  return work;
}

constexpr char kAttentionGradient[] =
    "dV = P' dY; dP = dY V'; dS = softmax'; dQ = dS K; dK = dS' Q; softcap: dS * (1 - tanh^2) per "
    "score; flash computes P again";

// ---- FlexAttention: the same with score_mod before the softmax and prob_mod after it

// The type of scores and probabilities.
absl::StatusOr<DType> SoftmaxType(const NodeView& n) {
  const DType otherwise = n.dtype(0) == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  if (!n.HasAttr("softmax_precision")) return otherwise;
  const std::optional<DType> type = DTypeFromOnnx(n.Int("softmax_precision", 0));
  if (type.has_value() && IsFloat(*type)) return *type;
  return absl::InvalidArgumentError(absl::StrCat(
      "softmax_precision is ", n.Int("softmax_precision", 0), ", which is no floating-point type"));
}

absl::Status RunModifier(const NodeView& n, absl::string_view name, const Fact& scores) {
  if (!n.HasAttr(name)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const BodyFacts body, n.InferBody(name, {scores}));
  if (body.outputs.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has ", body.outputs.size(), " outputs, not 1"));
  }
  const Fact& result = body.outputs[0];
  if (!result.is_tensor() || !result.shape.ranked()) return absl::OkStatus();
  if (result.shape.rank() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " gives rank ", result.shape.rank(), ", not 4"));
  }
  for (int i = 0; i < 4; ++i) {
    RETURN_IF_ERROR(n.RequireSame(absl::StrCat("dimension ", i, " of what ", name, " gives"),
                                  result.shape[i], scores.shape[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<AttentionDims> ReadFlexAttention(const NodeView& n) {
  RETURN_IF_ERROR(n.RankedShape(0, 4).status());
  return ReadAttention(n);
}

absl::StatusOr<Facts> InferFlexAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(const AttentionDims dims, ReadFlexAttention(n));
  ASSIGN_OR_RETURN(const DType softmax_type, SoftmaxType(n));
  const Fact scores = Fact::Tensor(softmax_type, dims.Scores());
  RETURN_IF_ERROR(RunModifier(n, "score_mod", scores));
  RETURN_IF_ERROR(RunModifier(n, "prob_mod", scores));
  return Facts{n.Like(0, dims.Output())};
}

absl::StatusOr<Cost> CountFlexAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(const AttentionDims dims, ReadFlexAttention(n));
  const Expr pairs = dims.batch * dims.q_length * dims.total;
  Cost cost;
  cost.flops = SdpaWork(ProductsOf(n, dims, 2 * pairs, /*biased=*/false));
  cost.flops[Kind::kMul] += dims.batch * dims.q_heads * (dims.q_length + dims.total) * dims.qk_size;
  cost.flops += ScaleCost(n.HasAttr("scale")) * 1;
  return cost;
}

// A score_mod may hide any pair.
absl::StatusOr<Cost> LeastFlexAttention(const NodeView& n) {
  return n.HasAttr("score_mod") ? Cost() : CountFlexAttention(n);
}

// ---- RotaryEmbedding
//
// Of each head of X[B,H,S,D] or [B,S,H*D], the first rotary_embedding_dim features (all if 0) are
// turned in pairs: (x1 cos - x2 sin, x1 sin + x2 cos).

absl::StatusOr<Expr> RotatedElements(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(const Heads heads, ReadHeads(n, 0, x.rank(), "num_heads"));
  const int64_t given = n.Int("rotary_embedding_dim", 0);
  const Expr rotated = given > 0 ? Expr(given) : heads.size;
  RETURN_IF_ERROR(DivideEvenly("rotated features", rotated, 2).status());
  if (ProvablyLess(heads.size, rotated).value_or(false)) {
    return absl::InvalidArgumentError(absl::StrCat("rotary_embedding_dim is ", given,
                                                   ", more than the ", heads.size.ToString(),
                                                   " features of a head"));
  }
  return heads.batch * heads.heads * heads.length * rotated;
}

absl::StatusOr<Facts> InferRotaryEmbedding(const NodeView& n) {
  RETURN_IF_ERROR(RotatedElements(n).status());
  return InferSameAsInput(n);
}

// ---- LinearAttention
//
// A state S[B,Hkv,dk,dv] that each of T steps decays (gated), corrects by what it holds for the key
// (delta) and adds an outer product k v to; then Hq queries read it: o = scale * q S.

struct LinearAttentionDims : StateRecurrence {
  Expr steps;
};

absl::StatusOr<LinearAttentionDims> ReadLinearAttention(const NodeView& n) {
  LinearAttentionDims dims;
  RETURN_IF_ERROR(ReadUpdateRule(n, &dims));
  if (n.HasInput(4) != dims.gated || n.HasInput(5) != dims.delta) {
    return absl::InvalidArgumentError(
        absl::StrCat("update_rule ", n.String("update_rule", "gated_delta"), " takes ",
                     dims.gated ? "a" : "no", " decay and ", dims.delta ? "a" : "no", " beta"));
  }
  ASSIGN_OR_RETURN(const Heads q, ReadHeads(n, 0, 3, "q_num_heads"));
  ASSIGN_OR_RETURN(const Heads k, ReadHeads(n, 1, 3, "kv_num_heads"));
  ASSIGN_OR_RETURN(const Heads v, ReadHeads(n, 2, 3, "kv_num_heads"));
  RETURN_IF_ERROR(DivideEvenly("query heads per head", q.heads, k.heads).status());
  ASSIGN_OR_RETURN(dims.batch, Unify(n, "B", q.batch, k.batch));
  RETURN_IF_ERROR(n.RequireSame("B", dims.batch, v.batch));
  ASSIGN_OR_RETURN(dims.steps, Unify(n, "T", q.length, k.length));
  RETURN_IF_ERROR(n.RequireSame("T", dims.steps, v.length));
  ASSIGN_OR_RETURN(dims.qk_size, Unify(n, "d_k of query and key", q.size, k.size));
  dims.tokens = dims.batch * dims.steps;
  dims.value_heads = k.heads;
  dims.output_heads = q.heads;
  dims.v_size = v.size;
  return dims;
}

absl::StatusOr<Facts> InferLinearAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(const LinearAttentionDims dims, ReadLinearAttention(n));
  const Shape state{dims.batch, dims.value_heads, dims.qk_size, dims.v_size};
  if (n.HasInput(3)) {
    ASSIGN_OR_RETURN(const Shape past, n.RankedShape(3, 4));
    for (int i = 0; i < 4; ++i) {
      RETURN_IF_ERROR(
          n.RequireSame(absl::StrCat("dimension ", i, " of past_state"), past[i], state[i]));
    }
  }
  return Facts{n.Like(0, {dims.batch, dims.steps, dims.output_heads * dims.v_size}),
               n.Like(n.HasInput(3) ? 3 : 0, state)};
}

absl::StatusOr<StateRecurrence> ReadRecurrence(const NodeView& n) {
  ASSIGN_OR_RETURN(LinearAttentionDims dims, ReadLinearAttention(n));
  if (dims.gated) {
    ASSIGN_OR_RETURN(const Shape decay, n.RankedShape(4, 3));
    dims.decays = dims.tokens * decay[2];
  }
  return dims;
}

absl::StatusOr<Cost> CountLinearAttention(const NodeView& n) {
  ASSIGN_OR_RETURN(const StateRecurrence r, ReadRecurrence(n));
  return RecurrenceCost(n, r);
}

absl::StatusOr<Census> LinearAttentionGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const StateRecurrence r, ReadRecurrence(n));
  return RecurrenceGradient(r, LinearAttentionNeeds(query));
}

// ---- CausalConvWithState
//
// Each channel of input[B,C,L], with the last k - 1 positions of the past before it, convolved with
// its own weight[C,1,k].

absl::StatusOr<Facts> InferCausalConv(const NodeView& n) {
  const absl::string_view activation = n.String("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return absl::InvalidArgumentError(
        absl::StrCat("activation is '", activation, "', not none, silu or swish"));
  }
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(const Shape w, n.RankedShape(1, 3));
  ASSIGN_OR_RETURN(const Expr channels, Unify(n, "C of input and weight", x[1], w[0]));
  RETURN_IF_ERROR(n.RequireSame("dimension 1 of the weight", w[1], 1));
  if (w[2].is_literal() && w[2].literal() < 1) {
    return absl::InvalidArgumentError(absl::StrCat("the kernel has size ", w[2].ToString()));
  }
  const Shape state{x[0], channels, w[2] - 1};
  if (n.HasInput(3)) {
    ASSIGN_OR_RETURN(const Shape past, n.RankedShape(3, 3));
    for (int i = 0; i < 3; ++i) {
      RETURN_IF_ERROR(
          n.RequireSame(absl::StrCat("dimension ", i, " of past_state"), past[i], state[i]));
    }
  }
  return Facts{n.Like(0, {x[0], channels, x[2]}), n.Like(0, state)};
}

// Without a past the state is zeros, and a runtime may skip the products with it.
absl::StatusOr<Cost> LeastCausalConv(const NodeView& n) {
  return n.HasInput(3) ? CountNode(n) : Cost();
}

// Shared by Attention and FlexAttention. The backward pass walks FlexAttention's modifiers as
// bodies.
constexpr Gradient kGradientOfAttention = {
    .formula = kAttentionGradient,
    .weighs_scores = true,
    .rule = AttentionGradient,
    .keeps = {.inputs = InputBits({0, 1, 2}), .outputs = InputBits({0}), .scores = true}};

constexpr OpDef kAttentionRows[] = {
    {.name = "Attention",
     .versions = {23, 24, 25},
     .formula =
         "Y = softmax(Q K' + bias) V over the whole of Sq x T, T = past + S; mac = "
         "B*Hq*Sq*T*(Dk+Dv); mul = B*Hq*(Sq+T)*Dk to scale Q and K; per score: softmax (2 add, "
         "div, cmp, exp), add if anything is masked, div, tanh and mul with softcap; once: 2 "
         "sqrt and 1 div for the scale (1 sqrt if given)",
     .infer = InferAttention,
     .count = CountAttention,
     .examples =
         {// 12*8*8 = 768 scores of 64 + 64 products; scaling 12*(8+8)*64.
          {"float[N,12,8,64] Q, float[N,12,8,64] K, float[N,12,8,64] V -> float[N,12,8,64] Y",
           "mac=98304*N add=1536*N mul=12288*N div=768*N + 1 cmp=768*N exp=768*N sqrt=2"},
          // Grouped queries, 3 new tokens after 5: 4*3*8 = 96 scores. The mask [3,8] is added to
          // scores.
          {"float[N,3,32] Q, float[N,3,16] K, float[N,3,16] V, float[3,8] mask, float[N,2,5,8] pk, "
           "float[N,2,5,8] pv -> float[N,3,32] Y, float[N,2,8,8] k, float[N,2,8,8] v "
           "<q_num_heads=4, kv_num_heads=2, scale=0.5>",
           "mac=1536*N add=288*N mul=352*N div=96*N cmp=96*N + 27 exp=96*N sqrt=1"},
          {"float[1,1,S,4] Q, float[1,1,S,4] K, float[1,1,S,4] V -> float[1,1,S,4] Y <is_causal=1, "
           "softcap=2.0>",
           "mac=8*S^2 add=3*S^2 mul=S^2 + 8*S div=2*S^2 + 1 cmp=2*S^2 + S exp=S^2 sqrt=2 tanh=S^2 "
           "int_add=3*S int_cmp=S^2"},
          {"float[2,1,3,4] Q, float[2,1,6,4] K, float[2,1,6,4] V, bool[3,6] mask, , , int64[2] len "
           "-> float[2,1,3,4] Y <scale=0.5>",
           "mac=288 add=144 mul=72 div=36 cmp=78 exp=36 sqrt=1 int_add=6 int_cmp=12"},
          {"float[1,1,3,4] Q, float[1,1,3,4] K, float[1,1,3,4] V -> float[1,1,3,4] Y <scale=0.5, "
           "left_window_size=2, right_window_size=1>",
           "mac=72 add=27 mul=24 div=9 cmp=21 exp=9 sqrt=1 int_add=18 int_cmp=27"}},
     .operands = {.weights = InputBits({1, 2}),
                  .not_parameters = InputBits({3, 4, 5}),
                  .states = InputBits({4, 5})},
     .note =
         "Causal attention, windows and padding are counted in full; with {causal half}, of an "
         "operator with is_causal only the pairs that its mask lets through (query i meets past + "
         "i + 1 keys), and that mask is not made. Masks are combined, positions "
         "compared (in integers) and rows masked as a whole found as in the function body.",
     .exceptions =
         {{"attn_mask is not given", "add cmp",
           "the function body makes a bias of zeros, adds it, and looks in it for rows that are "
           "masked; attention written in single operators does not"},
          {"scale is given", "div sqrt",
           "the function body computes 1 / sqrt(head size) all the same, and does not use it"}},
     .gradient = kGradientOfAttention},
    {.name = "RotaryEmbedding",
     .versions = {23},
     .formula = "pairs (x1 cos - x2 sin, x1 sin + x2 cos) of the rotated features",
     .data = {.signature = "X cos_cache sin_cache position_ids? -> Y",
              .attributes = "num_heads = 0; rotary_embedding_dim = 0",
              .let = "heads = if(X.rank == 4, X[:3], X[:2]*attr.num_heads); "
                     "rotated = if(attr.rotary_embedding_dim > 0, "
                     "heads*attr.rotary_embedding_dim, X.elements)",
              .costs = "mul = 2*rotated; add = rotated"},
     .infer = InferRotaryEmbedding,
     .examples =
         {{"float[N,4,3,8] X, float[50,4] c, float[50,4] s, int64[N,3] p -> float[N,4,3,8] Y",
           "add=96*N mul=192*N"},
          {"float[N,3,32] X, float[N,3,2] c, float[N,3,2] s -> float[N,3,32] Y <num_heads=4, "
           "rotary_embedding_dim=4, interleaved=1>",
           "add=48*N mul=96*N"}},
     .operands = {.not_parameters = InputBits({1, 2, 3})},
     .gradient = {.formula = "dX = dY turned back: as forward",
                  .as_forward = true,
                  .keeps = {.inputs = InputBits({1, 2})}}},
    {.name = "LinearAttention",
     .versions = {27},
     .formula =
         "T steps on a state of Hkv*dk*dv: mac = B*T*(Hkv + Hq)*dk*dv, add = B*T*Hkv*dk*dv, mul "
         "= B*T*Hq*dv; gated: exp = elements(decay), mul = B*T*Hkv*dk*dv; delta: mac = "
         "B*T*Hkv*dk*dv, add and mul = B*T*Hkv*dv; once: sqrt and div if no scale is given",
     .infer = InferLinearAttention,
     .count = CountLinearAttention,
     .least = NoMacs,  // pair by pair it may be less
     .examples =
         {// 10 steps of states 2*4*3 = 24, of 4*3 outputs that each read 4 numbers.
          {"float[N,10,16] q, float[N,10,8] k, float[N,10,6] v -> float[N,10,12] o, float[N,2,4,3] "
           "s <q_num_heads=4, kv_num_heads=2, update_rule=\"linear\">",
           "mac=720*N add=240*N mul=120*N div=1 sqrt=1"},
          {"float16[N,10,16] q, float16[N,10,8] k, float16[N,10,6] v, float[N,2,4,3] p, "
           "float16[N,10,2] d, float16[N,10,2] b -> float16[N,10,12] o, float[N,2,4,3] s "
           "<q_num_heads=4, kv_num_heads=2, scale=0.5>",
           "mac=960*N add=300*N mul=420*N exp=20*N"}},
     .operands = {.not_parameters = InputBits({3}), .states = InputBits({3})},
     .note = "As the recurrence of the function body, step by step; the outer product is a MatMul "
             "there.",
     .exceptions = {{"past_state is given", "int_div",
                     "the function body divides by the numbers of heads for the shape of a first "
                     "state, which is given"}},
     .gradient = {.formula = kRecurrenceGradient,
                  .rule = LinearAttentionGradient,
                  .keeps = {.unknown = true}}},
    {.name = "CausalConvWithState",
     .versions = {27},
     .formula = "y[B,C,L] = input[B,C,L] after k - 1 past positions * weight[C,1,k]",
     .data = {.signature = "input weight bias? past? -> y state",
              .attributes = "activation = activation|none",
              .costs = "mac = y.elements*weight[2]; add = bias.given*y.elements"},
     .infer = InferCausalConv,
     .least = LeastCausalConv,
     .examples = {{"float[N,6,L] x, float[6,1,4] w, float[6] b, float[N,6,3] p -> float[N,6,L] y, "
                   "float[N,6,3] s <activation=\"silu\">",
                   "mac=24*L*N add=12*L*N mul=6*L*N div=6*L*N exp=6*L*N"},
                  {"float[N,6,5] x, float[6,1,4] w -> float[N,6,5] y, float[N,6,3] s",
                   "mac=120*N"}},
     .operands = {.not_parameters = InputBits({3}), .states = InputBits({3})},
     .gradient = {.formula = kCausalConvGradient,
                  .costs = kCausalConvGradientCosts,
                  .keeps = {.unknown = true}}},
};

constexpr OpDef kFlexRows[] = {
    {.name = "FlexAttention",
     .versions = {1},
     .formula =
         "Y = prob_mod(softmax(score_mod(Q K'))) V; mac = B*Hq*L*S*(Dk+Dv); mul = "
         "B*Hq*(L+S)*Dk to scale Q and K; per score: softmax (2 add, div, cmp, exp); once: 2 "
         "sqrt and 1 div for the scale (1 sqrt if given); and what score_mod and prob_mod cost",
     .infer = InferFlexAttention,
     .count = CountFlexAttention,
     .least = LeastFlexAttention,
     .examples =
         {{"float[N,4,3,8] Q, float[N,2,5,8] K, float[N,2,5,6] V -> float[N,4,3,6] Y <scale=0.5>",
           "mac=840*N add=120*N mul=256*N div=60*N cmp=60*N exp=60*N sqrt=1"},
          {"float[N,4,3,8] Q, float[N,2,5,8] K, float[N,2,5,6] V -> float[N,4,3,6] Y <scale=0.5, "
           "score_mod = mod (float[B,H,L,S] s) => (float[B,H,L,S] t) { t = Tanh(s) }>",
           "mac=840*N add=120*N mul=256*N div=60*N cmp=60*N exp=60*N sqrt=1 tanh=60*N"}},
     .gradient = kGradientOfAttention},
};

}  // namespace

constinit const OpFamily kAttentionFamily = {"", kAttentionRows};
constinit const OpFamily kFlexAttentionFamily = {"ai.onnx.preview", kFlexRows};

}  // namespace onnxflops
