// How a model is trained, which the file does not show.
#ifndef ONNXFLOPS_SRC_TRAINING_TRAINING_OPTIONS_H_
#define ONNXFLOPS_SRC_TRAINING_TRAINING_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

// The tensors that attention saves for its backward pass.
enum class AttentionBackward : uint8_t {
  kMath,   // the scores: four products, twice the forward pass
  kFlash,  // not even those: they are computed again, five products
};

// Activation checkpointing: the part that is computed again before the backward pass.
struct Recompute {
  enum class What : uint8_t {
    kNone,
    kAttention,  // the scores of attention and all work on them
    kBlocks,     // repeated modules, up to the last tensor that backward needs, as torch does
    kFull,       // repeated modules as a whole
    kModules,    // modules whose paths match `glob`, as a whole
  };
  What what = What::kNone;
  std::string glob;
};

// "math", "flash".
absl::string_view AttentionName(AttentionBackward attention);
// The text that ParseRecompute reads.
std::string RecomputeName(const Recompute& recompute);
// "none", "attention", "blocks", "full"; anything else is a pattern of module paths.
Recompute ParseRecompute(absl::string_view text);

// How the outputs become one number, from which backward starts.
enum class Loss : uint8_t {
  kNone,          // nothing: a gradient of each output is given
  kSum,           // the sum of the outputs: its gradient is one number, expanded
  kCrossEntropy,  // over the last axis: log-probabilities, and the gradients of both
};
absl::string_view LossName(Loss loss);
// "none", "sum", "cross_entropy". InvalidArgument, with these names.
absl::StatusOr<Loss> ParseLoss(absl::string_view name);

enum class Optimizer : uint8_t { kNone, kSgd, kAdam, kAdamW, kLion };

// The cost of an optimizer's step per trained parameter, and the bytes of its state.
struct OptimizerInfo {
  Optimizer optimizer;
  absl::string_view name;
  int operations;  // floating-point
  int states;      // numbers kept per parameter
  int step_bytes;  // kept per tensor: torch.optim counts the steps of each, as a float32
  absl::string_view formula;
};
// A row per optimizer. Operations are those of its formula, with powers of the betas computed once.
inline constexpr OptimizerInfo kOptimizers[] = {
    {Optimizer::kNone, "none", 0, 0, 0, ""},
    {Optimizer::kSgd, "sgd", 2, 0, 0, "p -= lr * g"},
    {Optimizer::kAdam, "adam", 14, 2, 4,
     "m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g g; p -= lr (m / c1) / (sqrt(v / c2) + eps)"},
    {Optimizer::kAdamW, "adamw", 15, 2, 4, "p *= 1 - lr * decay; then adam"},
    {Optimizer::kLion, "lion", 11, 1, 0,
     "p *= 1 - lr * decay; p -= lr * sign(b1 m + (1 - b1) g), the sign by 2 cmp; m = b2 m + (1 - "
     "b2) g"},
};
const OptimizerInfo& InfoOf(Optimizer optimizer);
// InvalidArgument, with the names there are.
absl::StatusOr<Optimizer> ParseOptimizer(absl::string_view name);

struct TrainingOptions {
  // Patterns (* and ?) for names of parameters, or for modules, meaning all their parameters. A
  // parameter is trained if it matches one of `trained` (or there are none) and none of `frozen`.
  std::vector<std::string> frozen, trained;
  bool input_gradients = false;  // the model's floating-point inputs need gradients, too
  AttentionBackward attention = AttentionBackward::kMath;
  Recompute recompute;
  Optimizer optimizer = Optimizer::kNone;
  Loss loss = Loss::kSum;
  // The optimizer keeps a float32 copy of narrower parameters, and its state in float32. Without,
  // the state has the type of the parameters, as torch.optim makes it.
  bool float32_masters = false;
};
// True if the backward pass differs from that of training everything in PyTorch's default way.
// Twice the forward pass would then be wrong.
bool HasOwnBackward(const TrainingOptions& options);
// The same training without any recomputation, neither by checkpointing nor by flash attention: the
// work that MFU counts.
TrainingOptions WithoutRecomputation(TrainingOptions options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_TRAINING_TRAINING_OPTIONS_H_
