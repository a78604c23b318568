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
// have mostly the same names. What is left may have moved: it is the same as a module elsewhere
// with the same MACs and weights inside, if it has children or the same name.
//
// The partner of each module; kNone if it has none, or if it is inside of one that moved. Swapping
// base and head swaps the result.
struct ModuleMatch {
  static constexpr int32_t kNone = -1;
  std::vector<int32_t> of_base, of_head;
  std::vector<bool> base_moved, head_moved;  // the partner has another parent
};
ModuleMatch MatchModules(absl::Span<const Module> base, absl::Span<const Module> head);

}  // namespace onnxflops::diff

#endif  // ONNXFLOPS_SRC_DIFF_MATCH_MODULES_H_
