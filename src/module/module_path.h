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

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "src/exporter/node_metadata.h"
#include "src/graph/optional_id.h"
#include "src/load/arena.h"
#include "src/load/text_map.h"

namespace onnxflops {

using ModuleId = int32_t;
inline constexpr ModuleId kRootModule = 0;
using OptionalModuleId = OptionalId<struct ModuleTag>;

}  // namespace onnxflops

namespace onnxflops::modules {

// `path` is `base` or lies below it.
bool IsWithin(absl::string_view path, absl::string_view base);
// The path up to its last dot.
absl::string_view ParentPath(absl::string_view path);
// The longest path that both are within.
absl::string_view CommonPath(absl::string_view a, absl::string_view b);
// True if a weight's name contains the path of its module.
bool IsParameterPath(absl::string_view name);

class ModulePaths {
 public:
  static constexpr size_t kAnyNumber = std::numeric_limits<int32_t>::max();

  // `weights`: the names of all initializers. They decide between two readings of a node's name.
  // `containers`: see FromWeight. Beyond `max_modules`, or beyond kMaxModuleBytes each, the rest of
  // a path is dropped.
  explicit ModulePaths(std::vector<absl::string_view> weights, bool containers = false,
                       size_t max_modules = kAnyNumber);

  // kNone when the metadata do not say.
  OptionalModuleId FromMetadata(const exporter::NodeMetadata& metadata);

  // The module in a name with slashes, whose last part is the operator: "/visual/conv1/Conv". kNone
  // without a slash.
  OptionalModuleId FromNodeName(absl::string_view name);

  // The module of a parameter by its name: "visual.conv1.weight" belongs to visual.conv1, which is
  // inside visual. A ModuleList is a module only with `containers`: it never runs, so names of
  // nodes lack it. REQUIRES: the name has a dot.
  ModuleId FromWeight(absl::string_view name);

  // The module of this path, made if it is not there yet and the limits let it; the one around it
  // otherwise. `around`: a module that it is inside of, the nearer the better.
  ModuleId Intern(absl::string_view path, ModuleId around = kRootModule);
  // The module with exactly this path, or kNone.
  OptionalModuleId Find(absl::string_view path) const;
  // The innermost module that there is whose path this one is, or lies below.
  ModuleId Around(absl::string_view path) const { return LongestKnown(path, kRootModule); }
  // The module whose path is the longest prefix (at a dot) of this one's. REQUIRES: not the root.
  ModuleId ParentOf(ModuleId id) const;

  size_t size() const { return paths_.size(); }
  // True if a path exceeded the limits.
  bool cut() const { return cut_; }
  absl::string_view path(ModuleId id) const { return paths_[static_cast<size_t>(id)]; }
  // Class name without its Python module, "Conv2d"; "" if unknown.
  absl::string_view type(ModuleId id) const { return types_[static_cast<size_t>(id)]; }
  void SetTypeIfUnknown(ModuleId id, absl::string_view type);

 private:
  // By a list of modules, from the innermost: ScopeList or NamespaceScopes.
  template <typename List>
  ModuleId FromScopes(List list);
  // Sets steps_ to the steps of a path in a name.
  void Follow(absl::string_view text);
  // The module with the longest prefix (at a dot) of the path, including all of it, if longer than
  // the path of `around`; else `around`.
  ModuleId LongestKnown(absl::string_view path, ModuleId around) const;
  // Some weight's name begins with `path` and a dot.
  bool HasWeights(absl::string_view path);

  std::unique_ptr<Arena> arena_ = std::make_unique<Arena>();  // owns the texts of paths_
  std::vector<absl::string_view> paths_;                      // by ModuleId
  std::vector<absl::string_view> types_;                      // by ModuleId
  std::vector<ModuleId> around_;                              // by ModuleId: see Intern
  TextMap ids_;                                               // by path

  // The previous key: the text without the operator at its end.
  struct Memo {
    absl::string_view last_key;
    OptionalModuleId last;
    TextMap known;
    // `hash`: known.Hash(key), worked out once: a list of modules has a long key for each.
    OptionalModuleId Find(absl::string_view key, uint32_t hash);
    ModuleId Remember(absl::string_view key, uint32_t hash, ModuleId id);
  };
  Memo by_scopes_, by_weight_;

  // The modules along the last path looked up: consecutive names often share the beginning of their
  // path.
  struct Step {
    size_t end;  // in the path
    ModuleId module;
    bool is_cut;  // by a limit: the rest of the path adds nothing
  };
  Step StepInto(ModuleId parent, absl::string_view component, size_t end);
  absl::string_view followed_;
  std::vector<Step> steps_;
  TextMap by_component_;  // in groups by the module around it
  std::string scratch_;   // a path

  std::vector<absl::string_view> weights_;
  bool containers_;
  size_t max_modules_, max_bytes_;
  size_t bytes_ = 0;  // of all paths
  bool cut_ = false;
  bool weights_indexed_ = false;
  absl::flat_hash_set<absl::string_view> weight_prefixes_;
};

// The path without its numbers, which is equal for layers of one kind.
std::string WithoutDigits(absl::string_view path);

}  // namespace onnxflops::modules

#endif  // ONNXFLOPS_SRC_MODULE_MODULE_PATH_H_
