// The outer values that the bodies of a node use.
#ifndef ONNXFLOPS_SRC_MEMORY_CAPTURED_H_
#define ONNXFLOPS_SRC_MEMORY_CAPTURED_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "src/graph/model.h"

namespace onnxflops::memory {

class CapturedValues {
 public:
  explicit CapturedValues(const ModelData& model);

  // Values of the node's own graph that one of its bodies uses, at any depth; sorted, without
  // duplicates.
  absl::Span<const ValueId> Of(NodeId node) const;

 private:
  absl::flat_hash_map<NodeId, std::vector<ValueId>> by_node_;
};

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_CAPTURED_H_
