// The peak of live activations of a run: the largest sum of bytes of all tensors still needed at
// one node.
//
//   absl::StatusOr<MemoryPeak> peak = FindPeak(inference, {});
//   peak->bytes        // "max(9633792*batch, ...)", if the largest of the steps can be shown
//   peak->node         // where it is, at PeakOptions::at
//
// An output of a node lives from that node until its last use; outputs of the model live to the
// end. Parameters and constants of the file do not count, dequantised or not, nor do inputs of the
// model unless an option adds them. A body of an If or a function runs inside its node; a loop
// holds its outputs while its body runs.
#ifndef ONNXFLOPS_SRC_MEMORY_LIVENESS_H_
#define ONNXFLOPS_SRC_MEMORY_LIVENESS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/base/limits.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/memory/memory_options.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

struct PeakOptions {
  ExecutionOrder order = ExecutionOrder::kFile;
  // Reshape, Squeeze, Identity and similar operators share their input's memory.
  bool views = true;
  // An element-wise operator writes over an input that ends there and is as large as its output.
  bool in_place = false;
  bool inputs = false;  // inputs of the model count until their last use
  // Sizes of open symbols for finding the node and the tensors alive there.
  Bindings at;
  // Values without memory of their own, such as outputs that a server appends to its cache.
  std::vector<ValueId> elsewhere = {};
};

struct LiveValue {
  ValueId value = 0;
  Expr bytes;
};

struct MemoryPeak {
  // Sums of live bytes of which none is always below another: the peak is the largest of them.
  // Empty if there are more than kMaxPeakSums.
  std::vector<Expr> sums;
  std::vector<NodeId> nodes;  // of the main graph: where each of the sums is alive
  std::optional<Expr> bytes;  // the largest sum as one expression, if it is short enough
  // At the sizes of PeakOptions::at; nullopt if one is missing.
  std::optional<absl::int128> value;
  OptionalNodeId node;           // of the main graph; kNone if nothing is ever alive
  std::vector<LiveValue> alive;  // of the main graph, largest first
  Expr inside;                   // memory inside the node's bodies at the peak
  int64_t unknown = 0;           // outputs of nodes whose size is not known: it is a lower bound
};

// OutOfRange if a limit is exceeded or a size overflows.
absl::StatusOr<MemoryPeak> FindPeak(const Inference& inference, const PeakOptions& options);
// The same for several rules.
absl::StatusOr<std::vector<MemoryPeak>> FindPeaks(const Inference& inference,
                                                  absl::Span<const PeakOptions> options);

// Nodes of a graph as they run, as places in Graph::nodes.
std::vector<size_t> OrderOf(const ModelData& model, GraphId graph, ExecutionOrder order);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MEMORY_LIVENESS_H_
