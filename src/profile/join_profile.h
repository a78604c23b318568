// Joins a profile with the costs of its model.
#ifndef ONNXFLOPS_SRC_PROFILE_JOIN_PROFILE_H_
#define ONNXFLOPS_SRC_PROFILE_JOIN_PROFILE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/profile/measured.h"
#include "src/profile/node_costs.h"
#include "src/profile/profile_report.h"

namespace onnxflops::profile {

// A model with its inference and costs.
struct Side {
  const Inference* inference = nullptr;
  const Counts* counts = nullptr;
  std::vector<NodeCost> costs;               // CostsOfNodes
  std::vector<std::vector<NodeId>> matched;  // MatchKernels
  const ModelData& model() const { return *inference->model; }
};

// `optimized`: the executed graph; if null, kernels are joined by the names of nodes. The first
// `warmup` runs are left out. Errors: FailedPrecondition if a size of the model is open, or no run
// is left; OutOfRange for figures that are too large.
absl::StatusOr<ProfileReport> JoinProfile(const Side& original, const Side* optimized,
                                          const Profile& profile, int64_t warmup);

}  // namespace onnxflops::profile

#endif  // ONNXFLOPS_SRC_PROFILE_JOIN_PROFILE_H_
