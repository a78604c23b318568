// Sizes of a model's symbols, from the shapes that a profile has.
#ifndef ONNXFLOPS_SRC_PROFILE_SOLVE_SIZES_H_
#define ONNXFLOPS_SRC_PROFILE_SOLVE_SIZES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "src/graph/model.h"
#include "src/profile/measured.h"
#include "src/profile/node_costs.h"
#include "src/symbolic/expr.h"

namespace onnxflops::profile {

// Shapes of tensors of the main graph, by their names in the models where they were found.
using SeenShapes = absl::flat_hash_map<absl::string_view, std::vector<int64_t>>;
// `matched`: MatchKernels of the same model.
SeenShapes ShapesOf(const ModelData& model, const Profile& profile,
                    const std::vector<std::vector<NodeId>>& matched);

// An expression of the model, and its value in the profile.
using Equation = std::pair<Expr, int64_t>;
// Equations from outputs of kernels, tensors in `seen`, and the number of runs of nodes in bodies.
std::vector<Equation> EquationsOf(const ModelData& model, const Profile& profile,
                                  const std::vector<std::vector<NodeId>>& matched,
                                  const SeenShapes& seen, const std::vector<NodeCost>& costs);

struct SolvedSizes {
  Bindings sizes;
  int64_t contradictions = 0;  // equations that do not hold
  std::string example;         // "16, but the profile has 12"
};
// Expressions in one symbol, one after the other, that are linear in it.
SolvedSizes Solve(std::vector<Equation> equations);

}  // namespace onnxflops::profile

#endif  // ONNXFLOPS_SRC_PROFILE_SOLVE_SIZES_H_
