// The rows of `--by node`: one per node that runs, bodies of control flow included.
#ifndef ONNXFLOPS_SRC_REPORT_NODE_ROWS_H_
#define ONNXFLOPS_SRC_REPORT_NODE_ROWS_H_

#include <optional>
#include <string>
#include <vector>

#include "src/module/module_tree.h"
#include "src/report/report.h"

namespace onnxflops::report {

// Makes the node rows; their flops and macs add up to the total. A call of a local function is one
// row with all that it runs. An If or Loop has only its own work; the nodes of its bodies have rows
// with the number of their runs. Shapes inside a body are those of its last evaluation. Fills in
// Report::nodes and Report::nodes_omitted.
void DescribeNodes(const Inference& inference, const Counts& counts, const ModuleTree& tree,
                   Report* report);

// The limit of text bytes for lists of nodes, each: a multiple of the bytes of the file's own
// names.
int64_t MaxRowText(const ModelData& model);

// The first counted execution of a node, or the first one if none is counted; nullopt for a node
// without a row.
struct DescribedNode {
  NodeRow row;
  CallId call = 0;
  bool shape_work = false;
};
std::optional<DescribedNode> DescribeNode(const Inference& inference, const Counts& counts,
                                          const ModuleTree& tree, NodeId node);

// A node that has no row, since it is inside a function: its tensors in one call.
NodeRow DescribeNodeInside(const Inference& inference, NodeId node, CallId call);

TensorInfo DescribeTensor(std::string name, const Fact& fact);

// How rows call a node: by its name, else by its first output, else by its operator.
std::string NodeLabel(const ModelData& model, const Node& node);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_NODE_ROWS_H_
