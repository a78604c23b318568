// com.microsoft: steps of decoders that guess ahead. A model verifies several guessed tokens at
// once, and of its states only those of the accepted prefix stay.
//
// How it works. A state that moves on by a recurrence is made again from what was captured of each
// token (replay), or kept after every token (Mamba2Verify), so that any of them can be taken. A
// replay's sizes are in its metadata: it works on parts of large allocations, of which it reads and
// writes no more than that says. The recurrences are
// counted as LinearAttention is.
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

// ---- replays: source, captured and destination are flat allocations, metadata[8] or [11]

// The metadata from its first size on, not negative; nullopt where it is not known.
absl::StatusOr<std::optional<Dims>> KnownMetadata(const NodeView& n, size_t count) {
  std::optional<Dims> metadata = n.KnownInts(3);
  if (!metadata.has_value()) return metadata;
  if (metadata->size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata has ", metadata->size(), " numbers, not ", count));
  }
  for (const Expr& number : *metadata) {
    if (!ProvablyLess(number, 0).value_or(false)) continue;
    return absl::InvalidArgumentError(absl::StrCat("metadata holds ", number.ToString()));
  }
  return metadata;
}

absl::StatusOr<Facts> InferReplay(const NodeView& n, size_t count) {
  for (int i : {0, 1}) RETURN_IF_ERROR(n.RankedShape(i, 1).status());
  ASSIGN_OR_RETURN(Shape destination, n.RankedShape(2, 1));
  ASSIGN_OR_RETURN(const Shape metadata, n.RankedShape(3, 1));
  RETURN_IF_ERROR(n.RequireSame("numbers of metadata", metadata[0], static_cast<int64_t>(count)));
  ASSIGN_OR_RETURN(const std::optional<Dims> known, KnownMetadata(n, count));
  if (known.has_value() && ProvablyLess((*known)[count - 2], (*known)[count - 1]).value_or(false)) {
    return absl::InvalidArgumentError(absl::StrCat("kept_count is ", (*known)[count - 1].ToString(),
                                                   " of a capacity of ",
                                                   (*known)[count - 2].ToString()));
  }
  return Facts{n.Like(2, std::move(destination))};
}

// ConvStateReplay: [.., batch, channels, history, capacity, kept].
absl::StatusOr<Facts> InferConvStateReplay(const NodeView& n) { return InferReplay(n, 8); }

absl::Status ConvStateReplayBytes(const NodeView& n, Cost* cost) {
  ASSIGN_OR_RETURN(const std::optional<Dims> m, KnownMetadata(n, 8));
  if (!m.has_value()) return absl::OkStatus();  // all of the allocations
  ASSIGN_OR_RETURN(const Expr moved, BytesOf(n.Like(0, Shape{(*m)[3], (*m)[4], (*m)[5]})));
  ASSIGN_OR_RETURN(const Expr metadata, BytesOf(n.input(3)));
  cost->bytes_read = moved + metadata;
  cost->bytes_written = moved;
  return absl::OkStatus();
}

// GatedDeltaNetStateReplay: [source, destination, decay, key, delta, Hv, Dv, Dk, Hk, capacity,
// kept].
absl::StatusOr<Facts> InferDeltaReplay(const NodeView& n) { return InferReplay(n, 11); }

absl::StatusOr<Cost> CountDeltaReplay(const NodeView& n) {
  ASSIGN_OR_RETURN(const std::optional<Dims> known, KnownMetadata(n, 11));
  if (!known.has_value()) {
    return absl::FailedPreconditionError("metadata, which tells the sizes, is not known");
  }
  const Dims& m = *known;
  const Expr &heads = m[5], &v_size = m[6], &qk_size = m[7], &key_heads = m[8], &kept = m[10];
  const Expr state = heads * v_size * qk_size;
  Cost cost = Flops(ElementCost{.mac = 1, .add = 1, .mul = 1} * (kept * state));
  cost.flops_mac_operands = OperandsLike(n, 0);
  // A decay per head, or per head and key dimension: what lies between the offsets says which.
  const bool per_key = ProvablyEqual(m[3] - m[2], m[9] * heads * qk_size).value_or(false);
  const Expr captured =
      kept * (heads * (per_key ? qk_size : Expr(1)) + key_heads * qk_size + heads * v_size);
  ASSIGN_OR_RETURN(const Expr read, BytesOf(n.Like(0, Shape{state + captured})));
  ASSIGN_OR_RETURN(const Expr written, BytesOf(n.Like(2, Shape{state})));
  ASSIGN_OR_RETURN(const Expr metadata, BytesOf(n.input(3)));
  cost.bytes_read = read + metadata;
  cost.bytes_written = written;
  return cost;
}

// ---- Mamba2Verify: projection[R, 2*D + 2*G*N + H], D = H*P; states of `slots` snapshots

absl::StatusOr<Facts> InferMamba2Verify(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape conv, n.RankedShape(1, 3));
  ASSIGN_OR_RETURN(Shape ssm, n.RankedShape(2, 4));
  ASSIGN_OR_RETURN(const Expr heads, PositiveAttr(n, "heads"));
  ASSIGN_OR_RETURN(const Expr groups, PositiveAttr(n, "n_groups"));
  RETURN_IF_ERROR(DivideEvenly("heads in groups", heads, groups).status());
  const Expr size = n.Int("head_dim", 64), state = n.Int("d_state", 128);
  const Expr inner = heads * size, channels = inner + 2 * groups * state;
  RETURN_IF_ERROR(n.RequireSame("width of the projection", x[1], inner + channels + heads));
  RETURN_IF_ERROR(n.RequireSame("channels", conv[1], channels));
  RETURN_IF_ERROR(n.RequireSame("slots", conv[0], ssm[0]));
  const Expr sizes[] = {heads, state, size};
  for (int d = 0; d < 3; ++d) {
    RETURN_IF_ERROR(
        n.RequireSame(absl::StrCat("dimension ", d + 1, " of ssm_state"), ssm[d + 1], sizes[d]));
  }
  return Facts{n.Like(0, Shape{x[0], inner}), n.Like(1, std::move(conv)), n.Like(2, std::move(ssm)),
               n.Like(0, Shape{x[0], channels}), Fact::Tensor(DType::kFloat32, Shape{x[0], inner})};
}

// ---- SpeculativePrefixCommit: next_tokens[B, rows], or [rows] of one request

absl::StatusOr<Facts> InferPrefixCommit(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape next, n.ShapeOfRankAtLeast(0, 1));
  if (next.rank() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 0 (next_tokens) has rank ", next.rank(), ", not 1 or 2"));
  }
  const int64_t rows = n.Int("head_rows", 8);
  if (rows < 3 || rows > 8) return absl::InvalidArgumentError(absl::StrCat("head_rows is ", rows));
  const Expr batch = next.rank() == 2 ? next[0] : Expr(1);
  return Facts{Fact::Tensor(DType::kInt32, Shape{batch}), n.Like(3, n.input(3).shape),
               n.Like(4, n.input(4).shape)};
}

constexpr OpDef kMsSpeculativeRows[] = {
    {.name = "ConvStateReplay",
     .formula = "destination[B,C,W] = the last W positions of source[B,C,W] and the first k of "
                "capture[B,capacity,C]",
     .data = {.signature = "source_backing capture_backing destination_backing metadata -> "
                           "destination_out",
              .costs = "free"},
     .infer = InferConvStateReplay,
     .bytes = ConvStateReplayBytes,
     .examples = {{"g (float16[S] s, float16[P] c, float16[D] d) => (float16[D] y) <int64[8] m = "
                   "{0, 0, 0, 2, 6, 3, 4, 2}> { y = com.microsoft.ConvStateReplay(s, c, d, m) }",
                   "free"}},
     .operands = {.not_parameters = InputBits({0, 1, 2})},
     .traits = Traits::kReadsContent | Traits::kInPlace,
     .note = "B, C and W are in metadata: what lies beside them in the allocations is not read or "
             "written; where they are not known, the bytes are those of the allocations"},
    {.name = "GatedDeltaNetStateReplay",
     .formula = "k times: S[Hv,Dv,Dk] = decay * S + key * delta; mul, mac and add per element of "
                "the state and step",
     .infer = InferDeltaReplay,
     .count = CountDeltaReplay,
     .examples =
         {{"g (float[S] s, float[P] c, float[D] d) => (float[D] y) <int64[11] m = {0, 0, 0, "
           "16, 48, 4, 3, 4, 2, 4, 2}> "
           "{ y = com.microsoft.GatedDeltaNetStateReplay(s, c, d, m) }",
           "mac=96 add=96 mul=96"}},
     .operands = {.not_parameters = InputBits({0, 1, 2})},
     .traits = Traits::kReadsContent | Traits::kInPlace,
     .note = "the sizes and k are in metadata, which must be known; as the recurrence of "
             "GatedDeltaNet"},
    // By step: dt = max(softplus(dt + bias), least); the convolution of 4 taps; S = exp(A dt) S +
    // (dt x) B; D x + C S; SiLU(gate) times it, normalised in groups.
    {.name = "Mamba2Verify",
     .formula =
         "T tokens of H heads of P on states S[H,N,P]: x, B and C = SiLU(causal convolution "
         "of K taps + bias); S = exp(A dt) S + (dt x) B; Y = RMSNormalization in G groups of "
         "SiLU(gate) (D x + C S)",
     .data =
         {.signature =
              "projection[T, width] conv_state[slots, channels, past] ssm_state[s, H, N, P] "
              "conv_weight conv_bias dt_bias A D norm_weight row -> Y conv ssm xbc? "
              "readout?",
          .attributes = "n_groups = int; heads = int",
          .let = "inner = T*H*P; conved = T*channels; steps = T*H; states = T*H*N*P; groups = "
                 "T*attr.n_groups",
          .costs =
              "mac = conved*(past + 1) + 2*states; add = 2*conved + 2*steps + states + 3*inner + "
              "groups; mul = conved + steps + states + 6*inner; div = conved + 2*inner + groups; "
              "exp = conved + 2*steps + inner; log = steps; cmp = steps; sqrt = groups"},
     .infer = InferMamba2Verify,
     .least = NoMacs,  // the past may be zeros
     .examples =
         {// 4 heads of 64, states of 128, 2 groups: 256 features, 768 channels.
          {"bfloat16[T,1028] X, bfloat16[M,768,3] c, float[M,4,128,64] s, bfloat16[768,4] w, "
           "bfloat16[768] b, float[4] t, float[4] a, float[4] d, float[256] n, int32[1] r -> "
           "bfloat16[T,256] Y, bfloat16[M,768,3] C, float[M,4,128,64] S <n_groups = 2, heads = 4>",
           "mac=68608*T add=35082*T mul=35076*T div=1282*T cmp=4*T exp=1032*T log=4*T sqrt=2*T"}},
     .operands = {.weights = InputBits({3, 4, 5, 8}),
                  .not_parameters = InputBits({1, 2}),
                  .states = InputBits({1, 2})},
     .note = "as the recurrence of LinearAttention, with its parts: SiLU, Softplus and "
             "RMSNormalization"},
    {.name = "SpeculativePrefixCommit",
     .formula = "how many of R - 1 guessed tokens are as predicted, and the state after these; "
                "int_cmp for each guess and each word of status; int_add for each guess, and for "
                "the length, the cache's length and the number of the record",
     .data = {.signature = "next_tokens input_ids status ctl ctx_commit prefixes ptrs -> head_c "
                           "updated_ctl updated_ctx_commit",
              .attributes = "head_rows = 8",
              .let = "batch = head_c.elements; guesses = batch*(attr.head_rows - 1)",
              .costs = "int_cmp = guesses + status.elements; int_add = guesses + 3*batch"},
     .infer = InferPrefixCommit,
     .examples = {{"int64[B,8] n, int64[B,8] i, int32[3] s, int64[B,16] c, int64[B,2] x, "
                   "int64[B,16] p, int64[2] r -> int32[B] h, int64[B,16] d, int64[B,2] y",
                   "int_add=10*B int_cmp=7*B + 3"},
                  {"int64[4] n, int64[4] i, int32[1] s, int64[16] c, int64[2] x, int64[8] p, "
                   "int64[2] r -> int32[1] h, int64[16] d, int64[2] y <head_rows = 4>",
                   "int_add=6 int_cmp=4"}},
     .operands = {.not_parameters = InputBits({3, 4, 5, 6})},
     .note = "every guess is compared, accepted or not"},
};

}  // namespace

constinit const OpFamily kMsSpeculativeFamily = {"com.microsoft", kMsSpeculativeRows};

}  // namespace onnxflops
