// The work of a backward pass, operator by operator, as in autograd.
//
//   TrainingOptions options;
//   options.frozen = {"visual"};
//   absl::StatusOr<Backward> backward =
//       CountBackward(inference, counts, CausalCounting::kFull, options);
//   backward->flops, backward->macs
//
// A value needs a gradient if it depends on a trained parameter. The gradients of all
// floating-point outputs that need one are given. From there, a node's backward pass computes the
// gradient of each of its inputs that needs one, by the rule of its operator's row (Gradient of
// ops/op_def.h). The gradients from several uses of a value are added. So the first layer computes
// no gradient of the model's input, and a frozen part at the front has no backward pass.
//
// Bodies of control flow and functions are walked with the needs of their call. All trips of a loop
// count like the general one: a carried value needs a gradient if it does in any trip.
#ifndef ONNXFLOPS_SRC_TRAINING_BACKWARD_H_
#define ONNXFLOPS_SRC_TRAINING_BACKWARD_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/training/training_options.h"

namespace onnxflops {

// Gradients of an operator's nodes in one step.
struct BackwardOp {
  std::string op, domain;  // op "" for sums of gradients of values that are used several times
  Expr nodes;              // executions that have a backward pass
  Expr flops, macs;
};

// The gradients that nodes need, for later stages that ask what the backward pass reads.
struct NeededGradients {
  // By instance and place in its graph: a byte per input of the node, 1 if it needs a gradient.
  // Nodes without a backward pass are missing.
  absl::flat_hash_map<std::pair<InstanceId, int32_t>, std::string> needed;
  absl::flat_hash_set<NodeId> flash;  // products with values of attention that is taken as flash
};

// A node of the main graph or of a body, in one step. A call of a function is one node with all
// that it runs. A sum of gradients counts with the node that gives the second one.
struct BackwardNode {
  NodeId node = 0;
  Expr flops, macs;
};

struct Backward {
  Expr flops, macs;                        // recomputation apart
  Expr recomputed_flops, recomputed_macs;  // of the forward pass, again
  Expr optimizer_flops;
  absl::int128 trained_params = 0, params = 0;
  int64_t attentions = 0;  // patterns and operators that --attention decides about
  int64_t flash = 0;       // of those, counted as flash attention
  std::vector<BackwardOp> by_op;
  // The same without a row of sums: they count with the operator that gives the second.
  std::vector<BackwardOp> by_giver;
  std::vector<BackwardNode> by_node;  // sums to `flops` and `macs`
  NeededGradients nodes;
  std::vector<std::string> warnings;  // of patterns
  std::vector<UnknownItem> unknown;  // nodes whose gradient is not known: the sums are lower bounds
};

// Errors: NotFound for a pattern that matches nothing, and for blocks if there are none; OutOfRange
// if a limit is exceeded.
absl::StatusOr<Backward> CountBackward(const Inference& inference, const Counts& counts,
                                       CausalCounting causal, const TrainingOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_TRAINING_BACKWARD_H_
