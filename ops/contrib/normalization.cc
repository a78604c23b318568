// com.microsoft: normalizations with the sums, lookups, gates and activations fused into them.
//
// How it works. Costs are formulas of the rows. Gradients are those of the plain norms in
// ops/onnx/normalization.cc: x computed again for all; inputs that are added up before the norm
// share one gradient (g is 1 if any of them needs it), and each that was broadcast or looked up
// takes a sum of it; divisions per root. EmbedLayerNormalization reads only the looked-up rows of
// its tables, so its bytes have a rule of their own.
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/contrib/attention.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

absl::Status CheckVector(const NodeView& n, int input, absl::string_view what, const Expr& size) {
  if (!n.HasInput(input)) return absl::OkStatus();
  ASSIGN_OR_RETURN(Shape shape, n.RankedShape(input, 1));
  return n.RequireSame(what, size, shape[0]);
}

constexpr char kSkipNormGradient[] =
    "x = (sum - mean) / std, g = dY * scale: dsum = (g - mean(g) - x * mean(g * x)) / std, of "
    "input and skip alike; dscale = sum of dY * x; dbias = sum of what it was added to";

// ---- SkipLayerNormalization: of input + skip + bias, which is output 3; outputs 1 and 2 are the
// means and inverse deviations of its rows.

absl::StatusOr<Facts> InferSkipNorm(const NodeView& n, int last_vector) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(Shape skip, n.RankedShape(1));
  ASSIGN_OR_RETURN(Shape sum, BroadcastShapes({x, std::move(skip)}));
  if (sum.rank() != x.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("skip has a higher rank than the input's ", x.rank()));
  }
  for (int i = 2; i <= last_vector; ++i) {
    RETURN_IF_ERROR(CheckVector(n, i, "hidden_size", x[x.rank() - 1]));
  }
  Shape row_values = x;
  row_values[x.rank() - 1] = 1;
  Fact statistics = Fact::Tensor(DType::kFloat32, std::move(row_values));
  return Facts{n.Like(0, x), statistics, statistics, n.Like(0, x)};
}

absl::StatusOr<Facts> InferSkipLayerNorm(const NodeView& n) { return InferSkipNorm(n, 4); }

absl::StatusOr<Facts> InferSkipRmsNorm(const NodeView& n) { return InferSkipNorm(n, 3); }

// ---- EmbedLayerNormalization: of the sum of word, position and segment embeddings. The quantised
// one takes the same first eight inputs.

absl::StatusOr<Facts> InferEmbedLayerNorm(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape ids, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape words, n.RankedShape(2, 2));
  for (int i : {3, 4}) {
    if (!n.HasInput(i)) continue;
    ASSIGN_OR_RETURN(Shape table, n.RankedShape(i, 2));
    RETURN_IF_ERROR(n.RequireSame("hidden_size", words[1], table[1]));
  }
  RETURN_IF_ERROR(CheckVector(n, 5, "hidden_size", words[1]));
  RETURN_IF_ERROR(CheckVector(n, 6, "hidden_size", words[1]));
  // gamma is floating point where the quantised tables are not.
  const DType type = IsFloat(n.dtype(2)) ? n.dtype(2) : DType::kFloat32;
  const Fact rows = Fact::Tensor(type, Shape{ids[0], ids[1], words[1]});
  return Facts{rows, Fact::Tensor(DType::kInt32, Shape{ids[0]}), rows};
}

// Bytes read: of each table, one row per token.
absl::Status EmbeddingBytes(const NodeView& n, Cost* cost) {
  ASSIGN_OR_RETURN(const Shape ids, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(const Shape words, n.RankedShape(2, 2));
  Expr bytes = 0;
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.HasInput(i)) continue;
    const bool table = i >= 2 && i <= 4;
    const Fact read = table ? n.Like(i, Shape{ids.NumElements(), words[1]}) : n.input(i);
    ASSIGN_OR_RETURN(Expr size, BytesOf(read));
    bytes += size;
  }
  cost->bytes_read = std::move(bytes);
  return absl::OkStatus();
}

// ---- GroupNorm: the channels of each image in groups, then an optional SiLU

absl::StatusOr<Expr> GroupRows(const NodeView& n, const Shape& x) {
  const int64_t groups = n.Int("groups", 0);
  const Expr& channels = n.Flag("channels_last", true) ? x[x.rank() - 1] : x[1];
  if (groups <= 0 || (channels.is_literal() && channels.literal() % groups != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(channels.ToString(), " channels in ", groups, " groups"));
  }
  RETURN_IF_ERROR(CheckVector(n, 1, "C", channels));
  RETURN_IF_ERROR(CheckVector(n, 2, "C", channels));
  return x[0] * groups;
}

absl::StatusOr<Facts> InferGroupNorm(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  RETURN_IF_ERROR(GroupRows(n, x).status());
  return Facts{n.Like(0, x), n.Like(0, x)};
}

// ---- root mean square norms

// GatedRMSNorm: groups of C elements in the last dimension, C being the size of scale.
absl::StatusOr<Facts> InferGatedRmsNorm(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(Shape scale, n.RankedShape(1, 1));
  const Expr &last = x[x.rank() - 1], &c = scale[0];
  const bool zero = c.is_literal() && c.literal() <= 0;
  if (zero || (c.is_literal() && last.is_literal() && last.literal() % c.literal() != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the last dimension ", last.ToString(), " in groups of ", c.ToString()));
  }
  return Facts{n.Like(0, std::move(x))};
}

// BranchwiseRMSNorm: X [..., C, H], or [..., C * H] with num_branches; each branch on its own.
absl::StatusOr<Facts> InferBranchwiseRmsNorm(const NodeView& n) {
  const int64_t branches = n.Int("num_branches", 0);
  if (branches < 0) return absl::InvalidArgumentError(absl::StrCat("num_branches is ", branches));
  return InferSameAsInput(n);
}

// EngramGate: gate = Sigmoid(sign(dot) sqrt(max(|dot|, 1e-6))) with dot = RMSNorm(key) .
// RMSNorm(query) / sqrt(H), one per row of key [B,S,M,H]; output = gate * value [B,S,H].
absl::StatusOr<Facts> InferEngramGate(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape key, n.RankedShape(0, 4));
  ASSIGN_OR_RETURN(Shape query, n.RankedShape(1, 4));
  ASSIGN_OR_RETURN(Shape value, n.RankedShape(2, 3));
  for (int i = 0; i < 4; ++i) {
    RETURN_IF_ERROR(
        n.RequireSame(absl::StrCat("dimension ", i, " of key and query"), key[i], query[i]));
  }
  RETURN_IF_ERROR(n.RequireSame("hidden_size", key[3], value[2]));
  return Facts{n.Like(0, key), n.Like(0, key)};
}

// ---- QOrderedLayerNormalization: Quantize(LayerNormalization(Dequantize(X)))

absl::StatusOr<Facts> InferQOrderedLayerNorm(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  RETURN_IF_ERROR(n.AxisAttr("axis", -1, x.rank()).status());
  return InferSameAsInput(n);
}

// HyperConnectionLowRankMix: streams[..., C*H] of C branches of H features.
absl::StatusOr<Facts> InferLowRankMix(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape streams, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const Expr branches, PositiveAttr(n, "num_branches"));
  const Expr width = streams[streams.rank() - 1];
  ASSIGN_OR_RETURN(const Expr features, DivideEvenly("features in branches", width, branches));
  ASSIGN_OR_RETURN(const Shape norm, n.RankedShape(1, 1));
  ASSIGN_OR_RETURN(const Shape down, n.RankedShape(2, 2));
  ASSIGN_OR_RETURN(const Shape up, n.RankedShape(3, 2));
  ASSIGN_OR_RETURN(const Shape inject, n.RankedShape(4, 2));
  for (const Expr& size : {norm[0], down[0], up[1], inject[0]}) {
    RETURN_IF_ERROR(n.RequireSame("features of all branches", width, size));
  }
  RETURN_IF_ERROR(n.RequireSame("R", down[1], up[0]));
  RETURN_IF_ERROR(n.RequireSame("branches", inject[1], branches));
  if (n.HasInput(5) != n.HasInput(6)) {
    return absl::InvalidArgumentError(
        "prev_block_output and prev_post_gate are given together or not at all");
  }
  Shape block = streams, gate = streams;
  block[block.rank() - 1] = features;
  gate[gate.rank() - 1] = branches;
  return Facts{n.Like(0, std::move(block)), n.Like(0, std::move(gate)),
               n.Like(0, std::move(streams))};
}

constexpr OpDef kMsNormalizationRows[] = {
    {.name = "BranchwiseRMSNorm",
     .formula = "Y = RMSNormalization of R rows (each branch) of H elements",
     .data = {.signature = "X[r..., H] scale? -> Y",
              .attributes = "num_branches = 0",
              .let = "rows = r*if(attr.num_branches, attr.num_branches, 1)",
              .costs = "add = X.elements + rows; mul = (1 + scale.given)*X.elements; div = "
                       "X.elements + rows; sqrt = rows"},
     .infer = InferBranchwiseRmsNorm,
     .examples = {{"float[N,4,8] X, float[8] S -> float[N,4,8] Y",
                   "add=36*N mul=64*N div=36*N sqrt=4*N"},
                  {"float[N,32] X -> float[N,32] Y <num_branches = 4>",
                   "add=36*N mul=32*N div=36*N sqrt=4*N"}}},
    {.name = "EmbedLayerNormalization",
     .formula = "output[B,S,H] = LayerNormalization(word + position + segment rows), and the "
                "number of words in the mask",
     .data = {.signature = "input_ids[B, S] segment_ids? word[V, H] position segment? gamma beta? "
                           "mask? position_ids? -> output mask_index? sum?",
              .attributes = "mask_index_type = 1",
              .let = "rows = B*S; elements = B*S*H; counts = "
                     "mask_index.given*mask.given*(attr.mask_index_type != 0)",
              .costs = "float_add = (4 + segment_ids.given + beta.given)*elements + 2*rows; "
                       "float_mul = 2*elements + rows; float_div = elements + 2*rows; float_sqrt = "
                       "rows; int_add = counts*rows"},
     .infer = InferEmbedLayerNorm,
     .bytes = EmbeddingBytes,
     .examples = {{"int32[N,9] I, int32[N,9] J, float[100,8] W, float[50,8] P, float[2,8] S, "
                   "float[8] G, float[8] B, int32[N,9] M -> float[N,9,8] Y, int32[N] K",
                   "add=450*N mul=153*N div=90*N sqrt=9*N int_add=9*N"},
                  {"int32[N,9] I, , float[100,8] W, float[50,8] P, , float[8] G, float[8] B, , "
                   "int32[N,9] Q -> float[N,9,8] Y, int32[N] K, float[N,9,8] Z",
                   "add=378*N mul=153*N div=90*N sqrt=9*N"}},
     .operands = {.weights = InputBits({2, 3, 4, 5, 6}), .not_parameters = InputBits({7, 8})},
     .note = "reads one row per token of every table",
     .gradient =
         {.formula =
              "as SkipLayerNormalization; each table takes the sum of the rows that were looked up",
          .let = "g = max(word.needed, position.needed, segment.needed)",
          .costs = "add = (4*g + word.needed + position.needed + segment.needed + gamma.needed + "
                   "beta.needed)*elements; mul = (4*g + gamma.needed)*elements",
          .shared = {.add = 1, .mul = 1},
          .per_root = {.div = 2}}},
    // RMS norms of the key, the query and the gated value; the dot product as a product and a sum,
    // and the gate times the value; per row quotient, maximum, root, sign and its product, sigmoid.
    {.name = "EngramGate",
     .formula = "Y[B,S,M,H] = gate * V[B,S,H], gate = Sigmoid(sign(d) sqrt(max(|d|, 1e-6))), d = "
                "RMSNorm(K) . RMSNorm(Q) / sqrt(H)",
     .data = {.signature = "key query value scales... -> Y normed?",
              .let = "rows = Y[:-1]; norms = 2 + normed.given",
              .costs = "add = (norms + 1)*Y.elements + (norms + 1)*rows; mul = (2*norms + "
                       "2)*Y.elements + rows; div = norms*Y.elements + (norms + 2)*rows; sqrt = "
                       "(norms + 1)*rows; cmp = 3*rows; exp = rows"},
     .infer = InferEngramGate,
     .examples = {{"float[N,5,2,8] K, float[N,5,2,8] Q, float[N,5,8] V, float[2,8] A, float[2,8] B "
                   "-> float[N,5,2,8] Y",
                   "add=270*N mul=490*N div=200*N cmp=30*N exp=10*N sqrt=30*N"}},
     .note = "the dot product is Mul and ReduceSum, no contraction"},
    {.name = "GatedRMSNorm",
     .formula = "Y = RMSNormalization(X) * gate_activation(gate), in groups of as many elements as "
                "scale has",
     .data = {.signature = "X scale[K] gate -> Y",
              .attributes = "activation = activation|silu",
              .let = "rows = Y[:-1]*(Y[-1] // K)",
              .costs = "mul = 3*Y.elements; add = Y.elements + rows; div = Y.elements + rows; sqrt "
                       "= rows"},
     .infer = InferGatedRmsNorm,
     .examples = {{"float[N,5,16] X, float[8] S, float[N,5,16] G -> float[N,5,16] Y",
                   "add=170*N mul=320*N div=170*N exp=80*N sqrt=10*N"}}},
    {.name = "GroupNorm",
     .formula = "Y = (X - mean) / sqrt(variance + epsilon) * gamma + beta over N*groups groups",
     .data = {.signature = "X gamma beta -> Y",
              .attributes = "groups = int; activation = 0",
              .let = "rows = X[0]*attr.groups; silu = attr.activation != 0",
              .costs = "add = (4 + silu)*X.elements + 2*rows; mul = (2 + silu)*X.elements + rows; "
                       "div = (1 + silu)*X.elements + 2*rows; sqrt = rows; exp = silu*X.elements"},
     .infer = InferGroupNorm,
     .examples = {{"float[N,3,3,8] X, float[8] G, float[8] B -> float[N,3,3,8] Y <activation = 0, "
                   "groups = 2>",
                   "add=292*N mul=146*N div=76*N sqrt=2*N"},
                  {"float[N,8,3,3] X, float[8] G, float[8] B -> float[N,8,3,3] Y <activation = 1, "
                   "groups = 2, channels_last = 0>",
                   "add=364*N mul=218*N div=148*N exp=72*N sqrt=2*N"}},
     .operands = {.weights = InputBits({1, 2})},
     .gradient = {.formula = "that of SiLU if activation is set; then as GroupNormalization",
                  .costs = "add = (4*X.needed + gamma.needed + beta.needed + 3*silu)*X.elements; "
                           "mul = (4*X.needed + gamma.needed + 3*silu)*X.elements; div = "
                           "silu*X.elements; exp = silu*X.elements",
                  .shared = {.add = 1, .mul = 1},
                  .per_root = {.div = 2}}},
    // Streams that take up the block before; norms of each branch; a product down to R, ScaledSiLU,
    // one up again and its sigmoid, which weighs the branches; a product to a gate per branch.
    {.name = "HyperConnectionLowRankMix",
     .formula =
         "of C branches of H features: S = streams + prev_post_gate * prev_block_output; Z = "
         "RMSNormalization(S) of each branch; pre_output[..,H] = scale * sum over c of Z * "
         "Sigmoid(ScaledSiLU(Z down[C*H,R]) up[R,C*H]); post_gate[..,C] = mul * Sigmoid(Z "
         "inject[C*H,C] / div)",
     .data =
         {.signature = "streams[rows..., F] norm_scale down_weight[d, R] up_weight inject_weight "
                       "prev_block_output? prev_post_gate? -> pre_output post_gate streams_out?",
          .attributes = "num_branches = int; silu_alpha = 1.0; reduction_scale = 1.0; gate_div = "
                        "1.0; gate_mul = 1.0",
          .let = "C = attr.num_branches; all = rows*F; hidden = rows*R; gates = rows*C; taken = "
                 "prev_block_output.given",
          .costs =
              "mac = 2*all*R + all*C; add = all*(3 + taken) + 2*gates + hidden; mul = all*(3 + "
              "taken) + hidden*if(attr.silu_alpha.is_1, 1, 2) + if(attr.reduction_scale.is_1, "
              "0, all // C) + if(attr.gate_mul.is_1, 0, gates); div = 2*all + gates*(2 + "
              "if(attr.gate_div.is_1, 0, 1)) + hidden; exp = all + hidden + gates; sqrt = "
              "gates"},
     .infer = InferLowRankMix,
     .mac_operands = TypesOf<0, 2>,
     .examples =
         {// 3 branches of 8, R = 7.
          {"float16[N,24] S, float16[24] n, float16[24,7] d, float16[7,24] u, float16[24,3] i -> "
           "float16[N,8] B, float16[N,3] G <num_branches = 3>",
           "mac=408*N add=85*N mul=79*N div=61*N exp=34*N sqrt=3*N"},
          {"float16[N,24] S, float16[24] n, float16[24,7] d, float16[7,24] u, float16[24,3] i, "
           "float16[N,8] b, float16[N,3] g -> float16[N,8] B, float16[N,3] G, float16[N,24] T "
           "<num_branches = 3, silu_alpha = 0.5, reduction_scale = 0.5, gate_div = 2.0, gate_mul = "
           "2.0>",
           "mac=408*N add=109*N mul=121*N div=64*N exp=34*N sqrt=3*N"}},
     .operands = {.weights = InputBits({2, 3, 4})}},
    {.name = "QEmbedLayerNormalization",
     .formula = "output = EmbedLayerNormalization of dequantised rows",
     .data = {.signature = "input_ids[B, S] segment_ids? word[V, H] position segment? gamma beta? "
                           "mask? scales... -> output mask_index?",
              .attributes = "mask_index_type = 1",
              .let = "rows = B*S; elements = B*S*H; tables = 2 + segment_ids.given; counts = "
                     "mask_index.given*mask.given*(attr.mask_index_type != 0)",
              .costs = "float_add = (2*tables + 2 + beta.given)*elements + 2*H + 2*rows; float_mul "
                       "= (2 + tables)*elements + 2*H + rows; float_div = elements + 2*rows; "
                       "float_sqrt = rows; int_add = counts*rows"},
     .infer = InferEmbedLayerNorm,
     .bytes = EmbeddingBytes,
     .examples = {{"g (int32[N,9] I, uint8[100,8] W, uint8[50,8] P, uint8[8] G, uint8[8] B, "
                   "int32[N,9] M, float f, uint8 z) => (float[N,9,8] Y, int32[N] K) { Y, K = "
                   "com.microsoft.QEmbedLayerNormalization(I, , W, P, , G, B, M, f, f, , f, f, z, "
                   "z, , z, z) }",
                   "add=522*N + 16 mul=297*N + 16 div=90*N sqrt=9*N int_add=9*N"}},
     .operands = {.weights = InputBits({2, 3, 4, 5, 6}),
                  .not_parameters = InputBits({7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17})},
     .note = "reads one row per token of every table"},
    {.name = "QOrderedLayerNormalization",
     .formula = "Y = Quantize(LayerNormalization(Dequantize(X)))",
     .data = {.signature = "X scale_X scale B? scale_Y? -> Y",
              .attributes = "axis = -1",
              .let = "rows = Y[:attr.axis]",
              .costs = "float_add = (3 + B.given)*Y.elements + 2*rows; float_mul = 3*Y.elements + "
                       "rows; float_div = 2*Y.elements + 2*rows; float_sqrt = rows; float_round = "
                       "Y.elements; float_cmp = 2*Y.elements"},
     .infer = InferQOrderedLayerNorm,
     .examples = {{"int8[N,9,8] X, float Xs, float[8] G, float[8] B, float Ys -> int8[N,9,8] Y",
                   "add=306*N mul=225*N div=162*N cmp=144*N sqrt=9*N round=72*N"}},
     .operands = {.weights = InputBits({2, 3}), .not_parameters = InputBits({1, 4})}},
    {.name = "SkipGroupNorm",
     .formula = "Y = GroupNorm(X + skip + bias)",
     .data =
         {.signature = "X gamma beta skip bias? -> Y S?",
          .attributes = "groups = int; activation = 0",
          .let = "rows = X[0]*attr.groups; silu = attr.activation != 0",
          .costs =
              "add = (5 + silu + bias.given)*X.elements + 2*rows; mul = (2 + silu)*X.elements + "
              "rows; div = (1 + silu)*X.elements + 2*rows; sqrt = rows; exp = silu*X.elements"},
     .infer = InferGroupNorm,
     .examples = {{"float[N,3,3,8] X, float[8] G, float[8] B, float[N,3,3,8] S, float[8] C -> "
                   "float[N,3,3,8] Y, float[N,3,3,8] Z <activation = 0, groups = 2>",
                   "add=436*N mul=146*N div=76*N sqrt=2*N"}},
     .gradient = {.formula = "as GroupNorm, of X and skip alike; dbias = sum of that",
                  .let = "g = max(X.needed, skip.needed, bias.needed)",
                  .costs = "add = (4*g + gamma.needed + beta.needed + bias.needed + "
                           "3*silu)*X.elements; mul = (4*g + gamma.needed + 3*silu)*X.elements; "
                           "div = silu*X.elements; exp = silu*X.elements",
                  .shared = {.add = 1, .mul = 1},
                  .per_root = {.div = 2}}},
    {.name = "SkipLayerNormalization",
     .formula = "output = LayerNormalization(input + skip + bias)",
     .data = {.signature = "input skip gamma beta? bias? -> output mean? inv_std_var? sum?",
              .let = "rows = output[:-1]",
              .costs = "add = (4 + beta.given + bias.given)*output.elements + 2*rows; mul = "
                       "2*output.elements + rows; div = output.elements + (2 + "
                       "inv_std_var.given)*rows; sqrt = rows"},
     .infer = InferSkipLayerNorm,
     .examples = {{"float[N,9,8] X, float[N,9,8] S, float[8] G, float[8] B, float[8] C -> "
                   "float[N,9,8] Y, , , float[N,9,8] Z",
                   "add=450*N mul=153*N div=90*N sqrt=9*N"},
                  {"float16[N,9,8] X, float16[9,8] S, float16[8] G -> float16[N,9,8] Y, "
                   "float[N,9,1] M, float[N,9,1] V",
                   "add=306*N mul=153*N div=99*N sqrt=9*N"}},
     .operands = {.weights = InputBits({2, 3, 4})},
     .note = "the inverse deviation, where it is an output: div = 1 per row more",
     .gradient = {.formula = kSkipNormGradient,
                  .let = "g = max(input.needed, skip.needed, bias.needed)",
                  .costs = "add = (4*g + gamma.needed + beta.needed + "
                           "bias.needed)*output.elements; mul = (4*g + "
                           "gamma.needed)*output.elements",
                  .shared = {.add = 1, .mul = 1},
                  .per_root = {.div = 2}}},
    {.name = "SkipSimplifiedLayerNormalization",
     .formula = "output = RMSNormalization(input + skip + bias)",
     .data = {.signature = "input skip gamma bias? -> output mean? inv_std_var? sum?",
              .let = "rows = output[:-1]",
              .costs = "add = (2 + bias.given)*output.elements + rows; mul = 2*output.elements; "
                       "div = output.elements + (1 + inv_std_var.given)*rows; sqrt = rows"},
     .infer = InferSkipRmsNorm,
     .examples =
         {{"float[N,9,8] X, float[N,9,8] S, float[8] G -> float[N,9,8] Y, , , float[N,9,8] Z",
           "add=153*N mul=144*N div=81*N sqrt=9*N"},
          {"float[N,8] X, float[N,8] S, float[8] G, float[8] B -> float[N,8] Y",
           "add=25*N mul=16*N div=9*N sqrt=N"}},
     .operands = {.weights = InputBits({2, 3})},
     .note = "the inverse deviation, where it is an output: div = 1 per row more",
     .gradient = {.formula =
                      "x = sum / rms, g = dY * scale: dsum = (g - x * mean(g * x)) / rms, of input "
                      "and skip alike; dscale = sum of dY * x; dbias = sum of dsum",
                  .let = "g = max(input.needed, skip.needed, bias.needed)",
                  .costs = "add = (2*g + gamma.needed + bias.needed)*output.elements; mul = (4*g + "
                           "gamma.needed)*output.elements",
                  .shared = {.mul = 1},
                  .per_root = {.div = 1}}},
};

}  // namespace

constinit const OpFamily kMsNormalizationFamily = {"com.microsoft", kMsNormalizationRows};

}  // namespace onnxflops
