// com.microsoft: tokens, n-grams, strings and hashes.
//
// How it works. Strings have no FLOPs; hashes and comparisons of tokens are operations on integers,
// counted per token or per 4 bytes as their algorithms prescribe. How many tokens a text has, or
// how many of the predicted ones are taken, depends on the data: such a size is a fresh symbol.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- tokens

// NGramHashMapping: Y[B,S,(N-1)*heads] (or [T,..] of packed requests); of each order up to N, the
// products of that many tokens, joined by xor, modulo the size of each head.
struct NGrams {
  Shape ids;
  Expr order, heads;  // N, and (N - 1) * n_head_per_ngram
};

absl::StatusOr<NGrams> ReadNGrams(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape ids, n.RankedShape(0));
  const int64_t order = n.Int("max_ngram_size", 0), heads = n.Int("n_head_per_ngram", 0);
  if (order < 2 || heads < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_ngram_size is ", order, ", n_head_per_ngram ", heads));
  }
  return NGrams{std::move(ids), order, (Expr(order) - 1) * heads};
}

absl::StatusOr<Facts> InferNGramHash(const NodeView& n) {
  RETURN_IF_ERROR(n.RankedShape(0, 2).status());
  ASSIGN_OR_RETURN(NGrams g, ReadNGrams(n));
  return Facts{n.Like(0, Shape{g.ids[0], g.ids[1], g.heads}),
               n.Like(0, Shape{g.ids[0], g.order - 1})};
}

absl::StatusOr<Facts> InferVarlenNGramHash(const NodeView& n) {
  RETURN_IF_ERROR(n.RankedShape(0, 1).status());
  ASSIGN_OR_RETURN(NGrams g, ReadNGrams(n));
  ASSIGN_OR_RETURN(Shape sums, n.RankedShape(3, 1));
  const Expr batch = sums[0] - 1;
  const Shape ids = {batch, g.order - 1};
  return Facts{n.Like(0, Shape{g.ids[0], g.heads}), n.Like(0, ids),
               Fact::Tensor(DType::kInt32, ids),
               n.Like(0, Shape{batch, n.Int("state_update_capacity", 0), g.order - 1})};
}

// NGramRepeatBlock: each place of the tokens [B,S] is compared with the last n - 1 tokens.
absl::StatusOr<Facts> InferNGramRepeatBlock(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape scores, n.RankedShape(1, 2));
  const int64_t size = n.Int("ngram_size", 0);
  if (size < 1) return absl::InvalidArgumentError(absl::StrCat("ngram_size is ", size));
  return Facts{n.Like(1, std::move(scores))};
}

// BifurcationDetector: the predicted tokens [P] against the source [S], then the last n-grams of
// the output anywhere in the source.
absl::StatusOr<Facts> InferBifurcationDetector(const NodeView& n) {
  RETURN_IF_ERROR(n.RankedShape(0, 1).status());
  ASSIGN_OR_RETURN(Shape index, n.RankedShape(2));
  if (n.HasInput(3)) RETURN_IF_ERROR(n.RankedShape(3, 1).status());
  const int64_t least = n.Int("min_ngram_size", 1), most = n.Int("max_ngram_size", 3);
  if (least < 1 || most < least || most > kMaxIntContent) {
    return absl::InvalidArgumentError(absl::StrCat("n-grams of ", least, " to ", most));
  }
  return Facts{n.Like(1, Shape{n.FreshDim(0, 0, "bifurcationdetector")}),
               n.Like(2, std::move(index))};
}

// ---- strings and hashes

// Tokenizer: as many tokens as the longest string has, in one more dimension.
absl::StatusOr<Facts> InferTokenizer(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 1));
  if (y.rank() > 2) return absl::InvalidArgumentError(absl::StrCat("X has rank ", y.rank()));
  const int rank = y.rank();
  y.push_back(n.FreshDim(0, rank, "tokenizer"));
  return Facts{n.Like(0, std::move(y))};
}

absl::StatusOr<Facts> InferMurmurHash3(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  const DType type = n.Flag("positive", true) ? DType::kUint32 : DType::kInt32;
  return Facts{Fact::Tensor(type, std::move(x))};
}

// Per 4 bytes: 3 products, 2 rotations (3 bit operations each), xor, a sum; once 2 products and 7
// bit operations to finish.
absl::StatusOr<Cost> CountMurmurHash3(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  if (n.dtype(0) == DType::kString) return Cost{};
  const int words = std::max(BitsPerElement(n.dtype(0)) / 32, 1);
  Cost cost;
  cost.int_ops =
      ElementCost{.add = words, .mul = 3 * words + 2, .cmp = 7 * words + 7} * x.NumElements();
  return cost;
}

// For whole or packed requests: the signature names ids, offsets, eos and segments.
constexpr FormulaData NGramData(const char* signature) {
  return {.signature = signature,
          .attributes = "max_ngram_size = int; n_head_per_ngram = int; reset_on_eos = 0",
          .let =
              "tokens = ids.elements; N = attr.max_ngram_size; heads = (N - "
              "1)*attr.n_head_per_ngram",
          .costs =
              "int_mul = tokens*N; int_cmp = tokens*(N - 1) + if(attr.reset_on_eos, "
              "eos.given*tokens*(N - 1), 0) + segments.given*tokens; int_div = "
              "tokens*heads; int_add = offsets.given*tokens*heads"};
}

constexpr OpDef kMsTextRows[] = {
    {.name = "BifurcationDetector",
     .formula =
         "where the predicted tokens[P] leave the source[S], and where the last n-grams are in it",
     .data = {.signature = "source[S] tokens suffix_match? predicted? -> out suffix?",
              .attributes = "min_ngram_size = 1; max_ngram_size = 3",
              .let = "least = attr.min_ngram_size; most = attr.max_ngram_size",
              .costs = "int_cmp = predicted.elements + S*((least + most)*(most - least + 1)//2)"},
     .infer = InferBifurcationDetector,
     .examples = {{"int64[S] A, int64[C] B, int64 P, int64[T] D -> int64[F] Y, int64 I",
                   "int_cmp=6*S + T"}},
     .note = "every place is compared in full, though a search may end early"},
    {.name = "MurmurHash3",
     .formula = "Y = hash of each element; integer, per 4 bytes: mul = 3, add = 1, cmp = 7; once: "
                "mul = 2, cmp = 7",
     .infer = InferMurmurHash3,
     .count = CountMurmurHash3,
     .examples = {{"int64[N] X -> uint32[N] Y", "int_add=2*N int_mul=8*N int_cmp=21*N"},
                  {"string[N] X -> int32[N] Y <positive = 0>", "free"}},
     .note = "bit operations are cmp; strings are free"},
    {.name = "NGramHashMapping",
     .formula = "hashes[B,S,(N-1)*n] = xor of N products of tokens, modulo the size of a head",
     .data =
         NGramData("ids multipliers vocab_sizes past? offsets? eos? segments? -> hashes present?"),
     .infer = InferNGramHash,
     .examples = {{"int64[N,5] I, int64[3] M, int64[8] V -> int64[N,5,8] H, int64[N,2] P "
                   "<max_ngram_size = 3, n_head_per_ngram = 4, pad_id = 0>",
                   "int_mul=15*N int_div=40*N int_cmp=10*N"}},
     .note = "reset_on_eos: cmp = N-1 per token more; segment_ids: cmp = 1"},
    {.name = "NGramRepeatBlock",
     .formula = "scores_out = scores, -inf where a token would repeat an n-gram of ids[B,S]",
     .data = {.signature = "ids[B, S] scores -> scores_out",
              .attributes = "ngram_size = int",
              .costs = "int_cmp = B*max(S - attr.ngram_size + 1, 0)*(attr.ngram_size - 1)"},
     .infer = InferNGramRepeatBlock,
     .examples = {{"int64[B,10] I, float[B,100] S -> float[B,100] Y <ngram_size = 3>",
                   "int_cmp=16*B"}}},
    {.name = "Tokenizer",
     .formula = "Y[N,C,T] = the tokens of X[N,C]",
     .infer = InferTokenizer,
     .examples = {{"string[N] X -> string[N,T] Y <mark = 0, mincharnum = 1, pad_value = \"#\", "
                   "separators = [\" \"]>",
                   "free"}}},
    {.name = "VarlenNGramHashMapping",
     .formula = "as NGramHashMapping, of packed requests",
     .data = NGramData("ids multipliers vocab_sizes cu_seqlens past? offsets? eos? segments? "
                       "-> hashes present?"),
     .infer = InferVarlenNGramHash,
     .examples =
         {{"int64[T] I, int64[3] M, int64[8] V, int32[4] C, int64[3,2] P, int64[8] O -> int64[T,8] "
           "H, int64[3,2] Q <max_ngram_size = 3, n_head_per_ngram = 4, pad_id = 0>",
           "int_add=8*T int_mul=3*T int_div=8*T int_cmp=2*T"}},
     .note = "reset_on_eos: cmp = N-1 per token more; segment_ids: cmp = 1"},
};

}  // namespace

constinit const OpFamily kMsTextFamily = {"com.microsoft", kMsTextRows};

}  // namespace onnxflops
