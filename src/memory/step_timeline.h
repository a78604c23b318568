// The bytes alive during a training step, from the forward pass to the optimizer, and their peak.
//
//   absl::StatusOr<StepPeak> peak = memory::FindStepPeak(inference, facts, options);
//   peak->bytes, peak->phase, peak->node
//
// The step runs as in autograd, with gradients set to None between steps:
//   - An activation is alive until its last use in the forward pass. If the backward pass reads
//     it, it is alive until all nodes that read it went backwards. Outputs and inputs of the
//     model stay, but for caches: training makes none.
//   - Nodes go backwards in the reverse order of their run. While a node does, the gradients of its
//     outputs, its saved tensors and the gradients of its inputs are alive together.
//   - A second gradient of a value is added to the first in new memory.
//   - The gradient of a parameter stays to the end.
//   - Modules under checkpointing run again just before the first of their nodes goes backwards.
#ifndef ONNXFLOPS_SRC_MEMORY_STEP_TIMELINE_H_
#define ONNXFLOPS_SRC_MEMORY_STEP_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/symbolic/expr.h"
#include "src/training/backward.h"
#include "src/training/training_options.h"

namespace onnxflops {

enum class StepPhase : uint8_t { kForward, kLoss, kBackward, kOptimizer };
absl::string_view PhaseName(StepPhase phase);  // "forward", ...

struct StepPeak {
  std::vector<Expr> sums;             // the peak is the largest of these; empty: too many
  std::optional<Expr> bytes;          // the same as one expression, if it can be shown
  std::optional<absl::int128> value;  // at the sizes that were asked for; nullopt if one is missing
  StepPhase phase = StepPhase::kForward;
  OptionalNodeId node;  // of the main graph, in forward and backward
  Expr loss_bytes;      // bytes of the loss and its backward pass, without the outputs
  // The output that a cross entropy reads, and the bytes that then replace loss_bytes.
  OptionalValueId loss_output;
  Expr cross_entropy_bytes;
  int64_t unknown = 0;  // nodes with more in their backward pass than is known: a lower bound
  // Layers without gradients might hold more, because variables of their modules keep results
  // alive.
  bool held_may_be_more = false;
};

namespace memory {

// What a node of the main graph saves for its backward pass.
struct KeptByNode {
  std::vector<ValueId> roots;  // storages; one may be there twice
  Expr more;                   // bytes in no storage of the graph: statistics, copies
};

// Results of the walk over saved tensors for the main graph, without recomputation.
struct StepFacts {
  std::vector<KeptByNode> kept;  // by place
  std::vector<int32_t> group;    // by place: nodes of one call of PyTorch, or -1
  std::vector<int32_t> holder;   // by place: the module whose variables hold the results
  std::vector<ValueId> root;     // by ValueId: whose storage it has
  std::vector<bool> inner;       // by ValueId: PyTorch never makes it
  std::vector<std::vector<size_t>> recomputed;  // places that run again together
  std::vector<bool> trained;                    // by ValueId
  Expr fixed;   // there from before the step to its end: parameters, inputs, the optimizer's state
  Bindings at;  // sizes of open symbols at which the place is found
};

// OutOfRange if a limit is exceeded.
absl::StatusOr<StepPeak> FindStepPeak(const Inference& inference, const NeededGradients& nodes,
                                      const StepFacts& facts, Loss loss);

}  // namespace memory
}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MEMORY_STEP_TIMELINE_H_
