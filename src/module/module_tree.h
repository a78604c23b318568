// module: builds the costs of nodes into a tree of the modules of the exported program.
//
//   ModuleTree tree = BuildModules(inference, counts).value();
//   tree.modules[0].amounts->flops                            // all of it
//   for (const Module& m : tree.modules) m.path, m.amounts->flops   // visual.conv1 ...
//
// FLOPs, MACs and weights of a module are exactly the sums of its children's. Arithmetic that a
// module does outside its children is a child named "(own)". At the root this child is named
// "(outside any module)" and also holds work that cannot be attributed to a module. Other
// quantities, such as the bytes of a Transpose, may stay with the module itself.
//
//   CLIP                    100   = 90 + 9 + 1
//     visual                 90   = 60 + 30
//       attn                 60   = 40 + 20
//         out_proj           40
//         (own)              20
//       mlp                  30
//     transformer             9
//     (outside any module)    1
#ifndef ONNXFLOPS_SRC_MODULE_MODULE_TREE_H_
#define ONNXFLOPS_SRC_MODULE_MODULE_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/module/module.h"
#include "src/module/module_path.h"

namespace onnxflops {

// Weights whose first use is by a node of their own module.
struct NodeWeights {
  NodeId node = 0;
  absl::int128 elements = 0, bytes = 0;
};

struct ModuleTree {
  std::vector<Module> modules;       // each before its children; [0] is the root
  std::vector<int32_t> node_module;  // by NodeId: index of the module that the node belongs to (at
                                     // its first call, inside a function); 0 if it does not run
  std::vector<NodeWeights> node_weights;
  std::vector<std::string> warnings;  // limits that cost detail
};

// OutOfRange if the sums of all modules have more terms than the limits allow.
absl::StatusOr<ModuleTree> BuildModules(const Inference& inference, const Counts& counts);

// Work that another tool counts in a module, by the module's id in the attribution.
struct ModuleWork {
  ModuleId module = kRootModule;
  Amounts amounts;
};

// The tree of the same modules, with this work (at most one item per module) instead of ours.
absl::StatusOr<ModuleTree> BuildModules(const Inference& inference, const Counts& counts,
                                        absl::Span<const ModuleWork> work);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MODULE_MODULE_TREE_H_
