// Some modules of a tree as if they were the model, and what the nodes in them do.
//
//   absl::StatusOr<ModulePart> part = SelectModules(tree, "visual.*.mlp");
//   PartCounts counts = CountPart(inference, counts, *part);
#ifndef ONNXFLOPS_SRC_MODULE_MODULE_PART_H_
#define ONNXFLOPS_SRC_MODULE_MODULE_PART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/module/module.h"
#include "src/module/module_tree.h"

namespace onnxflops {

struct ModulePart {
  std::vector<Module> modules;  // as in a ModuleTree; [0] is the one selected, or holds them all
  std::vector<int32_t> place;   // by index in the whole tree: the index in `modules`, or -1
  absl::flat_hash_set<std::string> paths;  // of the modules whose own work is in the part
};

// Selects the modules whose paths match one of the patterns, which are
// separated by commas: * stands for any characters, ? for one. Everything
// inside a matching module belongs to it, except modules that match a pattern
// after "!". A pattern without a match may be the end of paths: "text_model"
// matches "m.text_model". "text" and "visual" are the towers of a CLIP, also
// where its modules have other names. NotFound, with similar paths, if a
// pattern matches nothing at all.
absl::StatusOr<ModulePart> SelectModules(const ModuleTree& tree, absl::string_view globs);

struct PartCounts {
  Tally total;
  absl::btree_map<OpKey, OpTally> by_op;
  absl::btree_map<OpKey, int64_t> op_nodes;
  std::vector<bool> in_part;                                          // by NodeId
  int64_t nodes = 0, counted = 0, free = 0, unknown = 0, causal = 0;  // as of Counts
};
PartCounts CountPart(const Inference& inference, const Counts& counts, const ModulePart& part);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MODULE_MODULE_PART_H_
