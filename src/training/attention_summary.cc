#include "src/training/attention_summary.h"

#include "src/symbolic/expr_sum.h"
#include "src/training/attention_pattern.h"

namespace onnxflops {
namespace {

struct QueryShape {
  std::optional<Expr> heads, head_size, tokens;
};

QueryShape ReadQuery(const Shape& query, const std::optional<Expr>& batch) {
  constexpr int kWithHeads = 4, kHeadsInBatch = 3;
  if (query.rank() == kWithHeads) return {query[1], query[3], query[2]};
  if (query.rank() != kHeadsInBatch || !batch) return {};
  return {DivideExactly(query[0], *batch), query[2], query[1]};
}

}  // namespace

AttentionSummary SummarizeAttention(const Inference& inference, const Counts& counts,
                                    const std::optional<Expr>& batch) {
  AttentionSummary summary;
  ExprSum flops;
  bool first = true;
  const auto agree = [&](std::optional<Expr>* all, const std::optional<Expr>& one) {
    if (first) *all = one;
    if (!one || *all != one) all->reset();
  };
  for (const training::AttentionPattern& pattern :
       training::FindAttentionPatterns(inference).patterns) {
    const Fact& query = inference.fact(inference.call(pattern.scores_call).inputs[0]);
    const QueryShape shape = ReadQuery(query.shape, batch);
    agree(&summary.heads, shape.heads);
    agree(&summary.head_size, shape.head_size);
    agree(&summary.tokens, shape.tokens);
    first = false;
    ++summary.layers;
    for (CallId call : {pattern.scores_call, pattern.output_call}) {
      flops.Add(2 * counts.calls[static_cast<size_t>(call)].own.flops[Kind::kMac]);
    }
  }
  summary.flops = flops.Total();
  return summary;
}

}  // namespace onnxflops
