// How much a node is, for limits on work that is done for each.
#ifndef ONNXFLOPS_SRC_GRAPH_EVALUATIONS_H_
#define ONNXFLOPS_SRC_GRAPH_EVALUATIONS_H_

#include <cstddef>

#include "src/base/limits.h"
#include "src/graph/model.h"

namespace onnxflops {

// The cost of evaluating a node once: one, or more if lists of inputs and outputs, names or
// attributes are long.
inline size_t EvaluationsOf(const Node& node) {
  size_t bytes =
      node.name.size() + node.op_type.size() + node.domain.size() + node.attribute_bytes.size();
  if (!node.attributes_comparable) {
    for (const Attribute& a : node.attributes) {
      bytes += a.s.size() + 4 * a.floats.size() + 8 * a.ints.size() + 8 * a.strings.size();
    }
  }
  return 1 + (node.inputs.size() + node.outputs.size()) / kValuesPerEvaluation +
         (bytes > kFreeBytes ? (bytes - kFreeBytes) / kBytesPerEvaluation : 0);
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_GRAPH_EVALUATIONS_H_
