// Maps ONNX operators to HLO, the language that XLA compiles, and counts it as XLA's
// HloCostAnalysis does.
//
//   HloCost cost = HloCostOf(inference, call, counts.calls[...].own());
//
// An operator becomes the instructions of its formula: Softmax a reduce (max), subtract,
// exponential, reduce (add) and divide. An operator that exists in jax.lax is counted as its
// lowering.
#ifndef ONNXFLOPS_SRC_CONVENTION_ONNX_XLA_HLO_H_
#define ONNXFLOPS_SRC_CONVENTION_ONNX_XLA_HLO_H_

#include <cstdint>

#include "src/count/count_model.h"
#include "src/infer/infer.h"

namespace onnxflops::convention {

// Why HloCostAnalysis counts something otherwise than we do.
enum class HloReason : uint8_t {
  kInstructions,  // it counts instructions that are free in our count, or more of them
  kReductions,    // a reduction is one operation less per result
  kPadding,       // only positions of a window that are on the input count
  kLoops,         // a body counts once
};

struct HloCost {
  Expr flops;
  Expr transcendentals;  // a separate total
  HloReason reason = HloReason::kInstructions;
  bool our_formula = false;   // no HLO is known here: our count, without transcendentals
  bool open_padding = false;  // a convolution whose padding counts because its sizes are open
};

// Our count by HLO's two totals, integers as well.
HloCost AsWeCount(const Tally& work);

// For one run of the call's operator, without its bodies; `own` is our count.
HloCost HloCostOf(const Inference& inference, const Call& call, const Tally& own);

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_ONNX_XLA_HLO_H_
