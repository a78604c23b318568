// The cost of a node's gradient, by its operator's row.
#ifndef ONNXFLOPS_SRC_TRAINING_GRADIENT_COST_H_
#define ONNXFLOPS_SRC_TRAINING_GRADIENT_COST_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "src/cost/cost.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"

namespace onnxflops::training {

// By input of a node: whether it needs a gradient. As bytes, to be a key.
using Needed = std::string;

class GradientCosts {
 public:
  GradientCosts(const Inference& inference, const Counts& counts, CausalCounting causal,
                bool recomputes_scores)
      : in_(inference), counts_(counts), causal_(causal), recomputes_scores_(recomputes_scores) {}

  // Errors are reasons why it is not known: FailedPrecondition, Unimplemented. REQUIRES: the call
  // is one of an operator; at least one input is needed.
  const absl::StatusOr<Census>& Of(CallId call, const Needed& needed);

  // True if the backward pass reads an input or output of the call, so that a tensor is saved; also
  // true if that is unknown.
  static bool Saves(const OpDef& def);
  // True if the row says which tensors are saved.
  static bool SavesKnown(const OpDef& def);

 private:
  absl::StatusOr<Census> Find(const Call& call, const Census& forward, const Needed& needed) const;

  const Inference& in_;
  const Counts& counts_;
  const CausalCounting causal_;
  const bool recomputes_scores_;
  absl::flat_hash_map<std::pair<CallId, Needed>, std::unique_ptr<absl::StatusOr<Census>>> known_;
};

}  // namespace onnxflops::training

#endif  // ONNXFLOPS_SRC_TRAINING_GRADIENT_COST_H_
