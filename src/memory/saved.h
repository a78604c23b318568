// Memory that a training step holds: the activations that autograd saves in the forward pass for
// the backward pass, the gradients of the trained weights, and the state of the optimizer.
//
//   absl::StatusOr<TrainingMemory> memory = FindTrainingMemory(inference, counts, causal, options);
//   memory->saved_bytes
//
// Bytes are counted as in autograd: by storage, each once. Reshape, Transpose and similar views use
// their input's storage if PyTorch needs no copy, and a storage counts completely. Parameters,
// buffers and inputs of the model exist anyway and do not count. If the exporter wrote one call of
// PyTorch as several operators, only what the call saves counts, not the tensors between them.
#ifndef ONNXFLOPS_SRC_MEMORY_SAVED_H_
#define ONNXFLOPS_SRC_MEMORY_SAVED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/memory/step_timeline.h"
#include "src/training/training_options.h"

namespace onnxflops {

struct TrainingMemory {
  Expr saved_bytes;
  Expr saved_input_bytes;  // inputs of the model that backward reads, not part of saved_bytes
  std::vector<std::string> warnings;  // of patterns
  int64_t unknown = 0;                // nodes whose saved tensors are unknown
  bool guessed = false;               // of some it is a guess, else saved_bytes is a lower bound
  absl::string_view unknown_op;       // an operator among them that has a row, or ""
  OptionalNodeId unknown_node;        // the first such node
  const char* unknown_why = nullptr;  // why it is not known, if the file leaves it open
  absl::int128 trained_params = 0;
  absl::int128 gradient_bytes = 0;  // as large as the parameters that are trained
  absl::int128 optimizer_bytes = 0;
  absl::int128 master_bytes = 0;  // float32 copies of narrower parameters
  StepPeak step;                  // of all that a step holds
};

// `at`: sizes of open symbols for finding the step's peak. Errors: those of CountBackward.
absl::StatusOr<TrainingMemory> FindTrainingMemory(const Inference& inference, const Counts& counts,
                                                  CausalCounting causal,
                                                  const TrainingOptions& options,
                                                  const Bindings& at);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MEMORY_SAVED_H_
