// Which module of the exported program a node belongs to, spelled as PyTorch's named_modules()
// spells it: "visual.transformer.resblocks.0.attn". The empty path is the program itself.
//
//   ModulePaths paths(weight_names);
//   ModuleId attn = paths.FromNodeName("/visual/transformer/resblocks.0/attn/MatMul_3");
//   paths.path(attn)   // "visual.transformer.resblocks.0.attn"
//
// Three things tell, in this order: metadata that the dynamo exporter writes to every node; names
// of nodes (and of their outputs) as the TorchScript exporter writes them; names of weights. How
// they are written is known to src/exporter/.
//
// A ModulePaths keeps string_views into the model that it is asked about. Its work is bounded:
// paths deeper than kMaxModuleDepth or longer than kMaxModulePath end there.
#ifndef ONNXFLOPS_SRC_MODULE_MODULE_PATH_H_
#define ONNXFLOPS_SRC_MODULE_MODULE_PATH_H_

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "src/exporter/node_metadata.h"
#include "src/graph/optional_id.h"

namespace onnxflops {

using ModuleId = int32_t;
inline constexpr ModuleId kRootModule = 0;
using OptionalModuleId = OptionalId<struct ModuleTag>;

class ModulePaths {
 public:
  static constexpr size_t kAnyNumber = std::numeric_limits<int32_t>::max();

  // `weights`: the names of all initializers. They decide where a node's name can be read in two
  // ways. `containers`: see FromWeight. Beyond `max_modules`, or kMaxModuleBytes for
  // each of them, what a path adds is left off.
  explicit ModulePaths(std::vector<absl::string_view> weights, bool containers = false,
                       size_t max_modules = kAnyNumber);

  // kNone when the metadata do not say.
  OptionalModuleId FromMetadata(const NodeMetadata& metadata);

  // By a name with slashes, whose last part is the operator: "/visual/conv1/Conv". kNone when
  // there is no slash.
  OptionalModuleId FromNodeName(absl::string_view name);

  // By a parameter's name: "visual.conv1.weight" is one of visual.conv1, which is inside of visual.
  // What holds modules by number is a module only with `containers`: nothing ever runs in a
  // ModuleList, so names of nodes do not have it. REQUIRES: a name with a dot.
  ModuleId FromWeight(absl::string_view name);

  // The module of this path, made if it is not there yet and the limits let it.
  ModuleId Intern(absl::string_view path);
  // The module of exactly this path; kNone if there is none.
  OptionalModuleId Find(absl::string_view path) const;
  // The module of this path, or of its longest prefix (at a dot) that is one; kNone if only the
  // root is.
  OptionalModuleId LongestKnown(absl::string_view path) const;

  size_t size() const { return paths_.size(); }
  // Whether a path was met that goes beyond the limits.
  bool cut() const { return cut_; }
  absl::string_view path(ModuleId id) const { return paths_[static_cast<size_t>(id)]; }
  // Class name without its Python module, "Conv2d"; "" where the file does not say.
  absl::string_view type(ModuleId id) const { return types_[static_cast<size_t>(id)]; }
  void SetTypeIfUnknown(ModuleId id, absl::string_view type);

 private:
  // By a list of modules, from the innermost: ScopeList or NamespaceScopes.
  template <typename List>
  ModuleId FromScopes(List list);
  // Some weight's name begins with `path` and a dot.
  bool HasWeights(absl::string_view path);

  std::deque<std::string> paths_;         // by ModuleId; what the keys below point to
  std::vector<absl::string_view> types_;  // by ModuleId
  absl::flat_hash_map<absl::string_view, ModuleId> ids_;
  // What was asked before: the text without the operator at its end.
  struct Memo {
    absl::string_view last_key;
    OptionalModuleId last;
    absl::flat_hash_map<absl::string_view, ModuleId> known;
    OptionalModuleId Find(absl::string_view key);
    ModuleId Remember(absl::string_view key, ModuleId id);
  };
  Memo by_scopes_, by_name_, by_weight_;
  std::vector<absl::string_view> weights_;
  bool containers_;
  size_t max_modules_, max_bytes_;
  size_t bytes_ = 0;  // of all paths
  bool cut_ = false;
  bool weights_indexed_ = false;
  absl::flat_hash_set<absl::string_view> weight_prefixes_;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MODULE_MODULE_PATH_H_
