// The attention of a model in the terms of formulas for language models: L layers of H heads of
// size Q over sequences of T tokens.
#ifndef ONNXFLOPS_SRC_TRAINING_ATTENTION_SUMMARY_H_
#define ONNXFLOPS_SRC_TRAINING_ATTENTION_SUMMARY_H_

#include <cstdint>
#include <optional>

#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// Attention that is written as products and a Softmax, or is one operator.
struct AttentionSummary {
  int64_t layers = 0;
  Expr flops;  // of the two products, forward
  // Set if all layers agree, and queries are [batch, heads, tokens, size] or [batch * heads, ...].
  // `kv_heads` are those of keys and values before their repetition for the queries.
  std::optional<Expr> heads, kv_heads, head_size, tokens;
  // False if layers see sequences of other lengths: those of a tower and a decoder.
  bool one_length = true;
  // False if values of a layer have another size than its keys, as in latent attention.
  bool values_as_queries = true;
};

// `batch`: of the model's inputs, if known.
AttentionSummary SummarizeAttention(const Inference& inference, const Counts& counts,
                                    const std::optional<Expr>& batch);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_TRAINING_ATTENTION_SUMMARY_H_
