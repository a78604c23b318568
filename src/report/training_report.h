// The training part of a report: an exact backward pass, and the cost of an optimizer.
#ifndef ONNXFLOPS_SRC_REPORT_TRAINING_REPORT_H_
#define ONNXFLOPS_SRC_REPORT_TRAINING_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "src/symbolic/expr.h"
#include "src/training/training_options.h"

namespace onnxflops {

// Gradients of the nodes of an operator, in one step.
struct GradientRow {
  std::string op, domain;  // op "": sums of gradients of values that are used several times
  Expr nodes;              // executions that have a backward pass
  Expr flops, macs;
};

struct UnknownGradient {
  std::string node, op, domain, reason;
};

struct TrainingReport {
  TrainingOptions options;
  absl::int128 trained_params = 0, params = 0;
  // The part of the forward pass that activation checkpointing runs again. In HFU, never in MFU.
  Expr recompute_flops, recompute_macs;
  Expr optimizer_flops;  // of one step of the optimizer. Never in MFU.
  // Attention nodes with a backward pass; how many of them count as flash attention.
  int64_t attentions = 0, flash_attentions = 0;
  std::vector<GradientRow> by_op;
  std::vector<UnknownGradient> unknown;  // then the backward pass is a lower bound
  int64_t unknown_omitted = 0;           // how many more there are
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_TRAINING_REPORT_H_
