// Follows the samples of a batch through the graph of an export whose batch is fixed: which
// dimension of each tensor counts samples. This is the first half of counting a model at another
// batch than it was exported for (src/adapter/at_batch.h).
//
//   absl::StatusOr<BatchFlow> flow = FollowBatch(exported, {image}, {1, Expr::Symbol("batch", 1)});
//   flow->places[tokens]   // {axis 0, outer 1, inner 1}: [1, 197, 768] becomes [batch, 197, 768]
//
// The exported graph alone says it: facts are those of the export. The caller checks the result
// against an inference at the new batch.
#ifndef ONNXFLOPS_SRC_ADAPTER_BATCH_FLOW_H_
#define ONNXFLOPS_SRC_ADAPTER_BATCH_FLOW_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "src/graph/fact.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/symbolic/expr.h"

namespace onnxflops::adapter {

// The dimension `axis` has outer * batch * inner elements in this order: tokens of one sample that
// were joined with the batch are `inner`, and `outer` if they come before it.
struct BatchPlace {
  int axis = 0;
  Expr outer = 1, inner = 1;
  // Another dimension that is the batch: each image with each text, as CLIP compares them; or -1.
  int second = -1;
  // True if the dimension is the batch.
  bool alone() const { return outer == Expr(1) && inner == Expr(1); }
  friend bool operator==(const BatchPlace& a, const BatchPlace& b) {
    return a.axis == b.axis && a.outer == b.outer && a.inner == b.inner && a.second == b.second;
  }
};

struct BatchSizes {
  int64_t old = 1;  // in the export
  Expr now;
};

// An input of a node.
struct InputPlace {
  NodeId node = 0;
  size_t input = 0;
  friend bool operator<(const InputPlace& a, const InputPlace& b) {
    return std::pair(a.node, a.input) < std::pair(b.node, b.input);
  }
};

// Values that are known to have the samples, such as inputs of the model.
using KnownPlaces = std::map<ValueId, BatchPlace>;
// Inputs of nodes that are one for all samples in the file, and are to be expanded.
using ExpandedInputs = std::map<InputPlace, BatchPlace>;

struct BatchFlow {
  std::vector<std::optional<BatchPlace>> places;  // by ValueId; nullopt: the same for every batch
  std::map<InputPlace, Dims> sizes;  // inputs that hold sizes of the batch, and what they are to be
  ExpandedInputs expanded;
};

// InvalidArgument with the node and the reason.
absl::StatusOr<BatchFlow> FollowBatch(const Inference& exported, const KnownPlaces& known,
                                      const BatchSizes& batch);

// The shape at the new batch.
Shape AtNewBatch(const Shape& old, const std::optional<BatchPlace>& place, const Expr& now);

}  // namespace onnxflops::adapter

#endif  // ONNXFLOPS_SRC_ADAPTER_BATCH_FLOW_H_
