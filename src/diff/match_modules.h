// Which modules of two models are the same.
#ifndef ONNXFLOPS_SRC_DIFF_MATCH_MODULES_H_
#define ONNXFLOPS_SRC_DIFF_MATCH_MODULES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "src/module/module.h"

namespace onnxflops::diff {

// From the models down: children of two modules that are the same are the same if their names are;
// of the others, those with the same MACs and weights, inside as well; then those whose children
// have mostly the same names; then those with the same MACs and weights, or at least with the same
// MACs, or whose costliest parts have the same, as two programs of one network do. What is left may
// have moved: it is the same as a module elsewhere with the same MACs and weights inside, if it has
// children or the same name.
//
// A module that only one of the models has may be a wrapper, as `m` in m.encoder and m.head where
// the other model has encoder and head: most of its parent is in it, and most of its children are
// children of the other parent; or its costliest part is a child of the other parent. Its children
// then count as those of its parent.
//
// The partner of each module; kNone if it has none, or if it is inside of one that moved. Swapping
// base and head swaps the result.
struct ModuleMatch {
  static constexpr int32_t kNone = -1;
  std::vector<int32_t> of_base, of_head;
  std::vector<bool> base_moved, head_moved;      // the partner has another parent
  std::vector<bool> base_wrapper, head_wrapper;  // without a partner; its children have them
};

// The children of a module, those of a wrapper in its place.
std::vector<int32_t> ChildrenWithin(absl::Span<const Module> modules,
                                    const std::vector<bool>& wrapper, int32_t parent);

ModuleMatch MatchModules(absl::Span<const Module> base, absl::Span<const Module> head);

}  // namespace onnxflops::diff

#endif  // ONNXFLOPS_SRC_DIFF_MATCH_MODULES_H_
