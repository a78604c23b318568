// Which modules of two models are the same.
#ifndef ONNXFLOPS_SRC_DIFF_MATCH_MODULES_H_
#define ONNXFLOPS_SRC_DIFF_MATCH_MODULES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "src/module/module.h"

namespace onnxflops::diff {

// Matches the modules of two models, from the root down. Children of two matched modules match, in
// this order of tests:
//
//   1. equal names
//   2. equal MACs and weights, also inside
//   3. mostly the same names of their children
//   4. equal MACs and weights
//   5. equal MACs
//   6. equal MACs of their costliest parts, as in two programs of one network
//
// A module without a partner may have moved: it matches a module elsewhere with the same MACs and
// weights inside, if it has children or the same name.
//
// A module that only one model has may be a wrapper, such as `m` in m.encoder and m.head if the
// other model has encoder and head. It is one if it holds most of its parent and most of its
// children are children of the other parent, or if its costliest part is a child of the other
// parent. Its children then count as its parent's.
//
// The result is the partner of each module; kNone if it has none, or if it is inside a module that
// moved. Swapping base and head swaps the result.
struct ModuleMatch {
  static constexpr int32_t kNone = -1;
  std::vector<int32_t> of_base, of_head;
  std::vector<bool> base_moved, head_moved;      // the partner has another parent
  std::vector<bool> base_wrapper, head_wrapper;  // without a partner; its children have them
};

// The children of a module, with each wrapper replaced by its children.
std::vector<int32_t> ChildrenWithin(absl::Span<const Module> modules,
                                    const std::vector<bool>& wrapper, int32_t parent);

ModuleMatch MatchModules(absl::Span<const Module> base, absl::Span<const Module> head);

}  // namespace onnxflops::diff

#endif  // ONNXFLOPS_SRC_DIFF_MATCH_MODULES_H_
