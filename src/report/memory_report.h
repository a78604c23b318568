// The memory part of a report: the peak of inference, what a training step saves, and the largest
// size that fits.
#ifndef ONNXFLOPS_SRC_REPORT_MEMORY_REPORT_H_
#define ONNXFLOPS_SRC_REPORT_MEMORY_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "src/cost/amounts.h"
#include "src/graph/fact.h"
#include "src/memory/memory_options.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// A figure of a whole model, not a sum over its parts, so it is not a row of kQuantities.
inline constexpr Quantity kPeakActivations = {"peak_activation_bytes", "peak activations",
                                              Quantity::Unit::kBytes, Quantity::Of::kWork,
                                              /*value=*/nullptr};

// A tensor that is alive at the peak.
struct AliveTensor {
  std::string name, type;
  Shape shape;
  Expr bytes;
};

// A peak of live activations, under one rule of memory sharing.
struct PeakRow {
  bool views = false, in_place = false, inputs = false;
  std::optional<Expr> bytes;           // for all sizes; nullopt if the largest sum is not provable
  std::optional<absl::int128> value;   // at MemoryReport::at
  std::string node, op, domain;        // its place, at MemoryReport::at; "" if nothing is alive
  std::vector<Expr> sums;              // the peak is the largest of these; empty: too many
  std::vector<std::string> sum_nodes;  // the node of each sum
};

// The peak of a whole training step.
struct StepRow {
  std::optional<Expr> bytes;          // for all sizes; nullopt if the largest sum is not provable
  std::optional<absl::int128> value;  // at MemoryReport::at
  std::vector<Expr> sums;             // the peak is the largest of these; empty: too many
  std::string phase;                  // "forward", "loss", "backward", "optimizer"
  std::string node, op, domain;       // its place, at MemoryReport::at; "" outside nodes
  Expr loss_bytes;                    // bytes of the loss, without the outputs
  // The output for a cross entropy, "" if none has gradients, and the bytes of that loss.
  std::string loss_output;
  Expr cross_entropy_bytes;
  bool lower_bound = false;
  bool guessed = false;  // as MemoryReport::saved_guessed
};

// The cache of a decoder's keys and values, from its past inputs.
struct CacheReport {
  int64_t tensors = 0;                  // past inputs that grow with the tokens
  Expr length;                          // of the past: a symbol or a number
  std::optional<Expr> bytes_per_token;  // all tensors, all sequences of a batch
  Expr bytes;                           // at that length
  // With the tokens of the run: what it leaves to the next one. nullopt if it has no formula.
  std::optional<Expr> bytes_after;
  Expr length_after;
  Expr fixed_bytes;  // past inputs of constant size, such as an encoder's
};

// --fit.
inline constexpr char kFitInference[] = "inference";
inline constexpr char kFitTraining[] = "training";
inline constexpr char kFitEntropy[] = "training_cross_entropy";
struct FitRow {
  std::string name;                // "inference", "training", "training_cross_entropy"
  std::optional<int64_t> largest;  // 0: not even one fits; nullopt: every size does
  bool at_most = false;            // something is unknown: less may fit
  bool guessed = false;            // something is a guess: less or more may fit
  bool of_model = false;           // more would fit, but the model takes no more
};
struct FitReport {
  absl::int128 bytes = 0;
  std::string symbol;
  std::vector<FitRow> rows;
};

// The peak of inference alone, where views share memory and nodes run in the order of the file.
struct ActivationPeak {
  Expr bytes;
  bool lower_bound = false;  // sizes of some tensors are unknown
};

// PyTorch may view tensors with a size of 1 that it copies otherwise. So formulas of training hold
// where every size in them is at least this.
inline constexpr int64_t kMinTrainingSize = 2;

struct MemoryReport {
  MemoryOptions options;
  Bindings at;  // sizes of open symbols at which nodes and values are given
  absl::int128 param_bytes = 0;
  PeakRow peak;                // views share memory
  std::vector<PeakRow> other;  // the same by other rules
  std::vector<AliveTensor> alive;
  int64_t alive_omitted = 0;
  Expr alive_inside;          // memory inside the node's bodies
  int64_t unknown_sizes = 0;  // then the peak is a lower bound
  // Of training.
  absl::int128 trained_params = 0, gradient_bytes = 0, optimizer_bytes = 0;
  Expr saved_bytes;                         // activations that backward keeps
  std::optional<absl::int128> saved_value;  // the same at `at`
  Expr saved_input_bytes;                   // inputs of the model that it keeps
  int64_t unknown_saved = 0;                // nodes whose saved tensors are unknown
  bool saved_guessed = false;     // of some it is a guess; else saved_bytes is a lower bound
  std::string unknown_saved_op;   // the operator of one of them, if it is known
  absl::int128 master_bytes = 0;  // float32 copies of narrower parameters
  StepRow step;
  std::optional<CacheReport> cache;
  std::optional<FitReport> fit;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_MEMORY_REPORT_H_
