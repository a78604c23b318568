// Scaled dot-product attention, and what else the attention operators of com.microsoft have in
// common.
//
//   // softmax(scale Q K') V of 12 heads of 64, with a mask.
//   Census work = SdpaWork({.pairs = batch * seq * seq, .tokens = batch * seq, .heads = 12,
//                           .qk_size = 64, .v_size = 64, .biases = 1});
#ifndef ONNXFLOPS_OPS_CONTRIB_ATTENTION_H_
#define ONNXFLOPS_OPS_CONTRIB_ATTENTION_H_

#include <initializer_list>
#include <optional>

#include "absl/status/statusor.h"
#include "ops/op_def.h"

namespace onnxflops {

// Every query token meets every key of its sequence: masks are counted in full, and causal ones too
// unless the user wants only what they let through.
struct Sdpa {
  Expr pairs;   // of a query token and a key, over the whole batch: B * Sq * T
  Expr tokens;  // of the queries: B * Sq
  Expr heads;   // of the queries
  Expr qk_size, v_size;
  int biases = 0;  // masks and biases that are added to the scores
  bool softcap = false;
  bool sink = false;  // one more term in the denominator of each softmax
  bool causal = false;
  std::optional<Expr> twice_unmasked;  // twice the pairs that count, where that is not all of them

  Expr TwiceScores() const { return twice_unmasked.value_or(2 * pairs) * heads; }
  Expr Scores() const { return FloorDiv(TwiceScores(), 2); }
};

// Makes attention causal: of its pairs, half of `twice_unmasked` are those that the mask lets
// through.
void MakeCausal(const NodeView& n, const Expr& twice_unmasked, Sdpa* sdpa);

// For a bound on time: where one of these inputs is given, what it holds may hide any pair.
void LeaveOutHidden(const NodeView& n, std::initializer_list<int> inputs, Sdpa* sdpa);

// mac of Q K' and P V; per score: mul (scale), add for each bias, div, tanh and mul for a softcap,
// the softmax; per row a sink.
Census SdpaWork(const Sdpa& sdpa);
// Which of Q, K, V and the bias of the scores need a gradient.
struct SdpaNeeds {
  bool q = false, k = false, v = false, bias = false;
  bool recomputes_scores = false;  // as flash attention does, if it takes these sizes
};
// As Attention of ai.onnx: a product for each gradient of a factor, and that of the softmax where
// one goes through it.
Census SdpaGradient(const Sdpa& sdpa, const SdpaNeeds& needs);
// The same as a cost, to which a rule adds the rest.
Cost SdpaCost(const Sdpa& sdpa);

// RMSNormalization of each head of so many tokens.
Census HeadNormWork(const Expr& heads, const Expr& head_size);

// The labels of products of activations: both of the type of input `i`.
MacOperands OperandsLike(const NodeView& n, int i);

// A positive attribute.
absl::StatusOr<Expr> PositiveAttr(const NodeView& n, absl::string_view name);

// Key and value caches in few bits: what is appended is quantised, all that is read dequantised.
struct CacheUse {
  Expr appended, read;  // elements
};
Census CacheWork(DType stored, bool quantized, const CacheUse& use);

// Pairs of tokens of one sequence: of the lengths, where they are known, else of B sequences of S.
absl::StatusOr<Expr> PackedPairs(const NodeView& n, int token_offset);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_CONTRIB_ATTENTION_H_
