#include "src/training/attention_summary.h"

#include <initializer_list>
#include <vector>

#include "src/symbolic/expr_sum.h"
#include "src/training/attention_pattern.h"

namespace onnxflops {
namespace {

struct QueryShape {
  std::optional<Expr> heads, head_size, tokens, kv_heads;
};

QueryShape ReadQuery(const Shape& query, const std::optional<Expr>& batch) {
  constexpr int kWithHeads = 4, kHeadsInBatch = 3;
  if (query.rank() == kWithHeads) return {query[1], query[3], query[2]};
  if (query.rank() != kHeadsInBatch || !batch) return {};
  return {DivideExactly(query[0], *batch), query[2], query[1]};
}

// True if heads of keys are repeated between the product and its use: the file has one tensor for
// all queries of a group.
bool RepeatsHeads(const ModelData& model, ValueId keys) {
  constexpr size_t kMostNodes = 64;
  std::vector<ValueId> way = {keys};
  for (size_t i = 0; i < way.size() && i < kMostNodes; ++i) {
    if (!model.value(way[i]).producer) continue;
    const Node& maker = model.node(*model.value(way[i]).producer);
    if (maker.op_type == "Expand" || maker.op_type == "Tile") return true;
    if (maker.op_type == "MatMul" || maker.op_type == "Gemm" || maker.op_type == "Conv") continue;
    // Other operators take shapes and axes after the moved input.
    const bool combines =
        maker.op_type == "Mul" || maker.op_type == "Add" || maker.op_type == "Concat";
    for (const OptionalValueId& input :
         maker.inputs.subspan(0, combines ? maker.inputs.size() : 1)) {
      if (input) way.push_back(*input);
    }
  }
  return way.size() > kMostNodes;  // not known, then
}

// [batch, tokens, heads * size] with the number of heads in an attribute, or [batch, heads, tokens,
// size].
QueryShape ReadPackedQuery(const Node& node, const Shape& query) {
  if (query.rank() != 3) return ReadQuery(query, std::nullopt);
  for (const char* name : {"q_num_heads", "num_heads"}) {
    const Attribute* heads = node.FindAttribute(name);
    if (heads == nullptr || heads->i < 1) continue;
    return {Expr(heads->i), DivideExactly(query[2], heads->i), query[1]};
  }
  return {};
}

class Summarizer {
 public:
  Summarizer(const Inference& inference, const Counts& counts, const std::optional<Expr>& batch)
      : in_(inference), counts_(counts), batch_(batch) {}

  AttentionSummary Run() {
    for (const training::AttentionPattern& pattern :
         training::FindAttentionPatterns(in_).patterns) {
      const Fact& query = in_.fact(in_.call(pattern.scores_call).inputs[0]);
      QueryShape shape = ReadQuery(query.shape, batch_);
      const OptionalValueId keys = in_.model->node(pattern.scores).inputs[1];
      if (keys && !RepeatsHeads(*in_.model, *keys)) shape.kv_heads = shape.heads;
      CompareValues(query.shape, in_.fact(in_.call(pattern.output_call).inputs[1]));
      Add(shape, {pattern.scores_call, pattern.output_call});
    }
    for (InstanceId id : in_.callees_first) AddOperatorsOf(in_.instance(id));
    summary_.flops = flops_.Total();
    return summary_;
  }

 private:
  const Expr& Macs(CallId call) const { return counts_.cost(call).own().flops[Kind::kMac]; }

  // The matrix by which the operator makes queries, keys and values of its first input; nullptr
  // where these are inputs.
  const Fact* ProjectionOf(const Call& call) const {
    constexpr size_t kPlace = 1;  // where a row has one; biases stand elsewhere
    if ((call.def->operands.weights >> kPlace & 1U) == 0 || call.inputs.size() <= kPlace) {
      return nullptr;
    }
    const Fact& fact = in_.fact(call.inputs[kPlace]);
    return fact.is_tensor() && fact.shape.ranked() && fact.shape.rank() == 2 ? &fact : nullptr;
  }

  // The shape of the queries: as wide as a third of the projection, unless an attribute says more.
  Shape QueriesOf(const Node& node, const Call& call) const {
    Shape queries = in_.fact(call.inputs[0]).shape;
    const Fact* projection = ProjectionOf(call);
    if (projection == nullptr) return queries;
    const Attribute* sizes = node.FindAttribute("qkv_hidden_sizes");
    const bool given = sizes != nullptr && sizes->ints.size() == 3;
    queries[queries.rank() - 1] = given ? Expr(sizes->ints[0]) : FloorDiv(projection->shape[1], 3);
    return queries;
  }

  // Without the projection; that of integers is not among the MACs.
  Expr MacsOfScores(CallId id) const {
    const Call& call = in_.call(id);
    const Fact* projection = ProjectionOf(call);
    if (projection == nullptr || !IsFloat(projection->dtype)) return Macs(id);
    return Macs(id) - in_.fact(call.inputs[0]).shape.NumElements() * projection->shape[1];
  }

  // Operators that are an attention by themselves: they weigh scores, and multiply.
  void AddOperatorsOf(const Instance& instance) {
    const std::vector<NodeId>& nodes = in_.model->graph(instance.graph).nodes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const CallId id = instance.calls[i];
      const Call& call = in_.call(id);
      if (call.def == nullptr || !call.def->gradient.weighs_scores || call.inputs.empty()) continue;
      const Fact& query = in_.fact(call.inputs[0]);
      if (Macs(id) == Expr(0) || !query.is_tensor() || !query.shape.ranked()) continue;
      const Node& node = in_.model->node(nodes[i]);
      QueryShape shape = ReadPackedQuery(node, QueriesOf(node, call));
      shape.kv_heads = KeyHeads(node, call, shape.heads);
      CompareValuesOf(node, call, shape);
      Add(shape, {id});
    }
  }

  // Of an operator that takes values [batch, heads, tokens, size] or [batch, tokens, heads * size].
  void CompareValuesOf(const Node& node, const Call& call, const QueryShape& query) {
    constexpr size_t kPlace = 2;
    if (call.inputs.size() <= kPlace || !node.inputs[kPlace]) return;
    const Fact& values = in_.fact(call.inputs[kPlace]);
    if (!values.is_tensor() || !values.shape.ranked() || values.shape.rank() < 3) return;
    std::optional<Expr> size = values.shape[values.shape.rank() - 1];
    if (values.shape.rank() == 3) {
      if (!query.kv_heads) return;
      size = DivideExactly(*size, *query.kv_heads);
    }
    if (size && query.head_size && *size != *query.head_size) summary_.values_as_queries = false;
  }

  // By the attribute, by keys [batch, heads, tokens, size], or as many as queries have.
  std::optional<Expr> KeyHeads(const Node& node, const Call& call,
                               const std::optional<Expr>& heads) const {
    constexpr size_t kWithHeads = 4;
    const Attribute* kv_heads = node.FindAttribute("kv_num_heads");
    if (kv_heads != nullptr && kv_heads->i > 0) return Expr(kv_heads->i);
    if (call.inputs.size() > 1 && node.inputs[1]) {
      const Fact& keys = in_.fact(call.inputs[1]);
      const bool apart = keys.is_tensor() && keys.shape.ranked() && keys.shape.rank() == kWithHeads;
      if (apart) return keys.shape[1];
    }
    return heads;
  }

  // Of a product of probabilities and values [..., tokens, size].
  void CompareValues(const Shape& query, const Fact& values) {
    if (!values.is_tensor() || !values.shape.ranked() || values.shape.rank() == 0) return;
    const Expr& own = values.shape[values.shape.rank() - 1];
    if (query.ranked() && query.rank() > 0 && own != query[query.rank() - 1]) {
      summary_.values_as_queries = false;
    }
  }

  void Add(const QueryShape& shape, std::initializer_list<CallId> calls) {
    if (summary_.layers > 0 && summary_.tokens != shape.tokens) summary_.one_length = false;
    Agree(&summary_.heads, shape.heads);
    Agree(&summary_.kv_heads, shape.kv_heads);
    Agree(&summary_.head_size, shape.head_size);
    Agree(&summary_.tokens, shape.tokens);
    ++summary_.layers;
    for (CallId call : calls) flops_.Add(2 * MacsOfScores(call));
  }

  void Agree(std::optional<Expr>* all, const std::optional<Expr>& one) const {
    if (summary_.layers == 0) *all = one;
    if (!one || *all != one) all->reset();
  }

  const Inference& in_;
  const Counts& counts_;
  const std::optional<Expr>& batch_;
  AttentionSummary summary_;
  ExprSum flops_;
};

}  // namespace

AttentionSummary SummarizeAttention(const Inference& inference, const Counts& counts,
                                    const std::optional<Expr>& batch) {
  return Summarizer(inference, counts, batch).Run();
}

}  // namespace onnxflops
