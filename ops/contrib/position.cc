// com.microsoft: positions in attention: rotations of queries and keys, and biases of scores.
//
// How it works. How many features of each head are rotated is written nowhere but in the cache of
// cosines, whose rows hold half of them; the others are only copied and cost nothing. Queries and
// keys may have a dimension for heads or all heads' features in one, so the number of heads comes
// from the shape or an attribute. Packed tokens have no dimension for the batch: it comes from the
// offsets, of which there is one more than sequences. Lengths that a bias takes from inputs are
// read if they are known, else they become fresh symbols.
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

// ---- RotaryEmbedding, MRotaryEmbedding: X[B,S,H*D] or [B,H,S,D]; cos and sin [*, R/2], of which
// the first R features of each head are rotated

absl::StatusOr<Expr> RotatedElements(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(Shape cos, n.RankedShape(2, 2));
  const Expr rotated = 2 * cos[1];
  const Expr& last = x[x.rank() - 1];
  if (x.rank() == 4) {
    if (ProvablyLess(last, rotated).value_or(false)) {
      return absl::InvalidArgumentError(absl::StrCat("cos_cache rotates ", rotated.ToString(),
                                                     " of the ", last.ToString(),
                                                     " features of a head"));
    }
    return x.Product(0, 3) * rotated;
  }
  const int64_t heads = n.Int("num_heads", 0);
  if (heads < 0) return absl::InvalidArgumentError(absl::StrCat("num_heads is ", heads));
  if (heads > 0) return x.Product(0, x.rank() - 1) * heads * rotated;
  // All features of each head are rotated, so that every element is.
  RETURN_IF_ERROR(DivideEvenly("features in heads", last, rotated).status());
  return x.NumElements();
}

absl::StatusOr<Facts> InferRotary(const NodeView& n) {
  RETURN_IF_ERROR(RotatedElements(n).status());
  return InferSameAsInput(n);
}

// GemmaRotaryEmbedding: q cos(emb) + q_rot sin(emb), and the same of k.
absl::StatusOr<Facts> InferGemmaRotary(const NodeView& n) {
  Facts facts;
  for (int i : {1, 3}) {
    ASSIGN_OR_RETURN(Shape x, n.RankedShape(i, 4));
    ASSIGN_OR_RETURN(Shape rotated, n.RankedShape(i + 1, 4));
    for (int d = 0; d < 4; ++d) {
      RETURN_IF_ERROR(n.RequireSame(absl::StrCat("dimension ", d), x[d], rotated[d]));
    }
    facts.push_back(n.Like(i, std::move(x)));
  }
  return facts;
}

// ---- RelativePositionBias: [1,H,Q,K] of a table [buckets,H]; Q and K are inputs

absl::StatusOr<Facts> InferRelativePositionBias(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape table, n.RankedShape(0, 2));
  Shape y = {1, table[1]};
  for (int i : {1, 2}) {
    y.push_back(n.KnownInt(i).has_value() ? *n.KnownInt(i)
                                          : n.FreshDim(0, i + 1, "relativepositionbias"));
  }
  return Facts{n.Like(0, std::move(y))};
}

// ---- GatedRelativePositionBias: rel_pos[1,H,S,S] times a gate per head and token, which is made
// of X[B,S,H*D] (or of packed tokens) and weight[D,E]

struct Gated {
  Expr batch, length, heads, size, tokens;
};

absl::StatusOr<Gated> ReadGated(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(Shape rel_pos, n.RankedShape(2, 4));
  Gated g = {.length = rel_pos[3], .tokens = x.Product(0, x.rank() - 1)};
  ASSIGN_OR_RETURN(g.heads, PositiveAttr(n, "num_heads"));
  ASSIGN_OR_RETURN(g.size, DivideEvenly("features in heads", x[x.rank() - 1], g.heads));
  g.batch = x[0];
  if (x.rank() == 2) {
    ASSIGN_OR_RETURN(Shape offsets, n.RankedShape(6, 2));
    g.batch = offsets[0];
  }
  return g;
}

absl::StatusOr<Facts> InferGatedRelativePositionBias(const NodeView& n) {
  ASSIGN_OR_RETURN(Gated g, ReadGated(n));
  return Facts{n.Like(0, Shape{g.batch, g.heads, g.length, g.length})};
}

// ---- RMSNormRotary: of X[B,S,H,last], `width` features from input_start on, normalised; the first
// rotary_embedding_dim of them are rotated

struct NormRotary {
  Shape x;
  Expr width;
};

absl::StatusOr<NormRotary> ReadNormRotary(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 4));
  ASSIGN_OR_RETURN(const Expr rotated, PositiveAttr(n, "rotary_embedding_dim"));
  const int64_t start = n.Int("input_start", 0), width = n.Int("input_width", 0);
  if (start < 0 || width < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input_start is ", start, ", input_width ", width));
  }
  NormRotary r = {.x = x, .width = width > 0 ? Expr(width) : x[3]};
  if (ProvablyLess(x[3], start + r.width).value_or(false)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "features ", start, " to ", (start + r.width).ToString(), " of ", x[3].ToString()));
  }
  if (ProvablyLess(r.width, rotated).value_or(false)) {
    return absl::InvalidArgumentError(absl::StrCat("rotary_embedding_dim is ", rotated.ToString(),
                                                   " of ", r.width.ToString(), " features"));
  }
  ASSIGN_OR_RETURN(const Shape scale, n.RankedShape(1, 1));
  RETURN_IF_ERROR(n.RequireSame("width", r.width, scale[0]));
  ASSIGN_OR_RETURN(const Shape cos, n.RankedShape(3, 2));
  RETURN_IF_ERROR(n.RequireSame("features that are rotated", 2 * cos[1], rotated));
  return r;
}

absl::StatusOr<Facts> InferNormRotary(const NodeView& n) {
  ASSIGN_OR_RETURN(const NormRotary r, ReadNormRotary(n));
  const DType type = n.Flag("output_fp16") ? DType::kFloat16 : DType::kBfloat16;
  Shape y = {r.x[0], r.x[1], r.x[2] * r.width};
  if (n.Flag("flatten_batch")) y = {1, r.x[0] * r.x[1], r.x[2] * r.width};
  return Facts{Fact::Tensor(type, std::move(y)),
               Fact::Tensor(DType::kFloat32, Shape{r.x[0], r.x[1], r.x[2], r.width})};
}

// Of X, the features that are normalised.
absl::Status NormRotaryBytes(const NodeView& n, Cost* cost) {
  ASSIGN_OR_RETURN(const NormRotary r, ReadNormRotary(n));
  Expr read = 0;
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.HasInput(i)) continue;
    const bool sliced = i == 0;
    ASSIGN_OR_RETURN(const Expr bytes,
                     BytesOf(sliced ? n.Like(0, Shape{r.x.Product(0, 3), r.width}) : n.input(i)));
    read += bytes;
  }
  cost->bytes_read = std::move(read);
  return absl::OkStatus();
}

constexpr OpDef kMsPositionRows[] = {
    {.name = "GatedRelativePositionBias",
     .formula = "Y[B,H,S,S] = rel_pos * (u (r a - 1) + 2), u and r the sigmoids of two sums of (X "
                "+ b)[B,S,H,D] W[D,E] + c",
     .data = {.signature = "query query_bias rel_pos weight[D, E] bias eco_a token_offset? -> Y",
              .attributes = "num_heads = int",
              .let = "rows = query[:-1]*attr.num_heads",
              .costs = "mac = query.elements*E; add = query.elements + rows*(2*E + 4); mul = "
                       "2*rows + Y.elements; exp = 2*rows; div = 2*rows"},
     .infer = InferGatedRelativePositionBias,
     .mac_operands = TypesOf<0, 3>,
     .examples = {{"float[N,5,8] X, float[8] b, float[1,2,5,5] P, float[4,6] W, float[6] c, "
                   "float[1,2,1,1] a -> float[N,2,5,5] Y <num_heads = 2>",
                   "mac=240*N add=200*N mul=70*N div=20*N exp=20*N"},
                  {"float[T,8] X, float[8] b, float[1,2,5,5] P, float[4,6] W, float[6] c, "
                   "float[1,2,1,1] a, int32[N,5] O -> float[N,2,5,5] Y <num_heads = 2>",
                   "mac=48*T add=40*T mul=50*N + 4*T div=4*T exp=4*T"}}},
    {.name = "GemmaRotaryEmbedding",
     .formula = "output1 = q cos(emb) + q_rot sin(emb), output2 = the same of k",
     .data =
         {.signature = "emb[B, S, E] q q_rot k k_rot -> output1 output2",
          .costs =
              "mul = 2*(q.elements + k.elements); add = q.elements + k.elements; trig = 2*B*S*E"},
     .infer = InferGemmaRotary,
     .examples = {{"float[N,5,8] E, float16[N,4,5,8] Q, float16[N,4,5,8] R, float16[N,2,5,8] K, "
                   "float16[N,2,5,8] T -> float16[N,4,5,8] Y, float16[N,2,5,8] Z",
                   "add=240*N mul=480*N trig=80*N"}},
     .gradient = {.formula = "dX = dY turned back: as forward", .as_forward = true}},
    {.name = "MRotaryEmbedding",
     .formula = "output = pairs (x1 cos - x2 sin, x1 sin + x2 cos) of the rotated features",
     .data = {.signature = "input position_ids cos_cache[P, half] sin_cache -> output",
              .attributes = "num_heads = 0",
              .let = "rotated = if(input.rank == 4, input[:3]*2*half, if(attr.num_heads, "
                     "input[:-1]*attr.num_heads*2*half, input.elements))",
              .costs = "mul = 2*rotated; add = rotated"},
     .infer = InferRotary,
     .examples = {{"float[N,5,16] X, int64[3,N,5] P, float[50,4] C, float[50,4] S -> float[N,5,16] "
                   "Y <mrope_section = [2, 1, 1]>",
                   "add=80*N mul=160*N"}},
     .operands = {.not_parameters = InputBits({1, 2, 3})},
     .note = "which of its three positions a feature takes is free; scale, if not 1: mul = 1 more",
     .gradient = {.formula = "dX = dY turned back: as forward", .as_forward = true}},
    {.name = "RMSNormRotary",
     .formula =
         "Y[B,S,H*W] = RMSNormalization of W features of each head, of which the first R are "
         "rotated",
     .data = {.signature =
                  "X[rows..., last] scale[W] position_ids cosine[P, half] sine prefill? -> "
                  "Y normalized?",
              .let = "elements = rows*W; rotated = rows*2*half",
              .costs = "add = elements + rows + rotated; mul = 2*elements + 2*rotated; div = "
                       "elements + rows; sqrt = rows"},
     .infer = InferNormRotary,
     .bytes = NormRotaryBytes,
     .examples =
         {// 20 heads of 16 features, of which 8 are rotated.
          {"float16[N,5,4,24] X, float[16] S, int64[1] P, float[50,4] C, float[50,4] D -> "
           "bfloat16[N,5,64] Y, float[N,5,4,16] Z <rotary_embedding_dim = 8, input_width = 16, "
           "input_start = 8>",
           "add=500*N mul=960*N div=340*N sqrt=20*N"},
          {"bfloat16[N,5,4,16] X, float[16] S, int64[N,5] P, float[50,8] C, float[50,8] D -> "
           "float16[1,\"5*N\",64] Y <rotary_embedding_dim = 16, flatten_batch = 1, output_fp16 = "
           "1>",
           "add=660*N mul=1280*N div=340*N sqrt=20*N"}},
     .operands = {.weights = InputBits({1}), .not_parameters = InputBits({3, 4})},
     .note = "as RMSNormalization and RotaryEmbedding; of X, the W features are read"},
    // The bucket of each pair of positions, as T5 computes it: the distance, itself where it is
    // small, else a logarithm of it.
    {.name = "RelativePositionBias",
     .formula = "Y[1,H,Q,K] = table[bucket(q - k)]",
     .data = {.signature = "table query_length key_length -> Y[b, H, Q, K]",
              .attributes = "is_bidirectional = 0",
              .let = "pairs = Q*K; both = attr.is_bidirectional != 0",
              .costs = "float_mul = pairs; float_div = 2*pairs; float_log = pairs; int_add = (2 + "
                       "both)*pairs; int_cmp = 3*pairs; int_mul = both*pairs"},
     .infer = InferRelativePositionBias,
     .examples = {{"g (float[32,8] T) => (float[1,8,5,7] Y) <int64[1] q = {5}, int64[1] k = {7}> { "
                   "Y = com.microsoft.RelativePositionBias<max_distance = 128, is_bidirectional = "
                   "1>(T, q, k) }",
                   "mul=35 div=70 log=35 int_add=105 int_mul=35 int_cmp=105"}},
     .shape_inputs = (1 << 1) | (1 << 2),
     .traits = Traits::kReadsContent,
     .note = "buckets as T5 computes them, once for all heads",
     .gradient = {.formula = "dbias_table = sum of dY by bucket", .sums = InputBits({0})}},
    {.name = "RotaryEmbedding",
     .formula = "output = pairs (x1 cos - x2 sin, x1 sin + x2 cos) of the rotated features",
     .data = {.signature = "input position_ids cos_cache[P, half] sin_cache -> output",
              .attributes = "num_heads = 0; scale = 1.0",
              .let = "rotated = if(input.rank == 4, input[:3]*2*half, if(attr.num_heads, "
                     "input[:-1]*attr.num_heads*2*half, input.elements))",
              .costs = "mul = if(attr.scale.is_1, 2, 3)*rotated; add = rotated"},
     .infer = InferRotary,
     .examples = {{"float[N,5,16] X, int64[N,5] P, float[50,4] C, float[50,4] S -> float[N,5,16] Y",
                   "add=80*N mul=160*N"},
                  {"float[N,2,5,8] X, int64[1] P, float[50,2] C, float[50,2] S -> float[N,2,5,8] Y "
                   "<rotary_embedding_dim = 4, num_heads = 2>",
                   "add=40*N mul=80*N"},
                  {"float[N,5,16] X, int64[N,5] P, float[50,4] C, float[50,4] S -> float[N,5,16] Y "
                   "<scale = 0.5>",
                   "add=80*N mul=240*N"}},
     .operands = {.not_parameters = InputBits({1, 2, 3})},
     .note = "scale, if not 1: mul = 1 more",
     .gradient = {.formula = "dX = dY turned back: as forward", .as_forward = true}},
};

}  // namespace

constinit const OpFamily kMsPositionFamily = {"com.microsoft", kMsPositionRows};

}  // namespace onnxflops
