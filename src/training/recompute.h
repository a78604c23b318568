// The parts of the forward pass that activation checkpointing runs again.
#ifndef ONNXFLOPS_SRC_TRAINING_RECOMPUTE_H_
#define ONNXFLOPS_SRC_TRAINING_RECOMPUTE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/module/attribution.h"
#include "src/training/attention_pattern.h"
#include "src/training/training_options.h"

namespace onnxflops::training {

// The backward work of a node in the main graph.
enum class NodeBackward : uint8_t {
  kNone,
  kRuns,   // reads nothing from the forward pass: a sum
  kReads,  // tensors that the forward pass saved
};

struct Recomputed {
  Expr flops, macs;
};

// Counts nodes of the main graph; a call of a function or a loop counts as one node. A block
// without a backward pass is not computed again. NotFound if there are no repeated modules, or none
// matches the pattern.
absl::StatusOr<Recomputed> CountRecomputed(const Inference& inference, const Counts& counts,
                                           const modules::Attribution& attribution,
                                           const AttentionPatterns& patterns,
                                           const std::vector<NodeBackward>& backward,
                                           const Recompute& recompute);

// Groups of nodes of the main graph, by place, that are recomputed together: blocks, modules or
// attention. The backward pass keeps their inputs, and nothing inside.
std::vector<std::vector<size_t>> RecomputedGroups(const Inference& inference,
                                                  const modules::Attribution& attribution,
                                                  const AttentionPatterns& patterns,
                                                  const Recompute& recompute);

}  // namespace onnxflops::training

#endif  // ONNXFLOPS_SRC_TRAINING_RECOMPUTE_H_
