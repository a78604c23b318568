// The engine of Infer(): evaluates graphs node by node.
#ifndef ONNXFLOPS_SRC_INFER_GRAPH_RUNNER_H_
#define ONNXFLOPS_SRC_INFER_GRAPH_RUNNER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/graph/dtype.h"
#include "src/graph/model.h"
#include "src/infer/body_runner.h"
#include "src/infer/frame.h"
#include "src/infer/function_caller.h"
#include "src/infer/infer.h"
#include "src/infer/operator_caller.h"
#include "src/infer/session.h"

namespace onnxflops::infer {

// Runs the main graph, and whatever bodies its nodes have. Every run is an instance of the graph,
// with a Call for each node; values of a graph hold the facts of its last run. Owns those who call
// operators and functions, and which tensors' facts have been made.
class GraphRunner final : public BodyRunner {
 public:
  explicit GraphRunner(Session* session);

  // REQUIRES: the inputs have their facts.
  absl::Status RunMain();
  absl::StatusOr<BodyResult> Run(GraphId body, absl::Span<const FactId> inputs, FactId missing,
                                 const Frame& frame) override;
  const FunctionCaller& functions() const { return functions_; }

 private:
  absl::StatusOr<InstanceId> RunNodes(GraphId graph, const Frame& frame);
  absl::StatusOr<CallId> RunNode(NodeId id, const Frame& frame);
  absl::Status TakeInitializers(GraphId graph);
  FactId FactOfInitializer(TensorId id);
  FactIds GatherInputs(const Node& node);
  void SetOutputs(const Node& node, const Call& call);
  void NameInnerSymbols(const Node& node, const Call& call);

  Session& session_;
  OperatorCaller operators_;
  FunctionCaller functions_;
  std::vector<OptionalFactId> tensor_facts_;  // by TensorId; kNone: not asked yet
  // Of tensors without content.
  absl::flat_hash_map<std::pair<DType, absl::Span<const int64_t>>, OptionalFactId> facts_of_shapes_;
};

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_GRAPH_RUNNER_H_
