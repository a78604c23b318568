// The costs of each node, once and in a run, for nodes that a profile names.
#ifndef ONNXFLOPS_SRC_PROFILE_NODE_COSTS_H_
#define ONNXFLOPS_SRC_PROFILE_NODE_COSTS_H_

#include <optional>
#include <vector>

#include "src/cost/amounts.h"
#include "src/count/count_model.h"
#include "src/graph/fact.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/symbolic/expr.h"

namespace onnxflops::profile {

struct NodeCost {
  Amounts counted;       // in a run of the model, as counted
  Expr times;            // how often it runs then; 0 in a branch that is not counted
  Amounts once;          // its first execution; a call of a function with all that it runs
  bool varies = false;   // other executions cost something else
  bool unknown = false;  // it, or a part of it, has no rule
  bool visited = false;
  std::vector<Shape> outputs;  // of the first execution, as far as they are known
};

// By NodeId. Nodes inside of functions are part of the call.
std::vector<NodeCost> CostsOfNodes(const Inference& inference, const Counts& counts);

}  // namespace onnxflops::profile

#endif  // ONNXFLOPS_SRC_PROFILE_NODE_COSTS_H_
