// DeepSpeed's flops profiler: wrappers around functions and operators of torch.
#include "src/convention/conventions.h"
#include "src/convention/torch/functions.h"

namespace onnxflops {
namespace deepspeed {
namespace {

Ledger Apply(Evidence* evidence) { return CountWrapped(evidence, {.operators = true}); }

}  // namespace
}  // namespace deepspeed

const Convention kDeepSpeed = {
    {"deepspeed", Unit::kFlop, "flops (get_model_profile; 2 per multiply-accumulate)",
     "DeepSpeed (edaa722, 2026-08): deepspeed/profiling/flops_profiler/profiler.py:523-1109",
     "as calflops, and the operator @, mm, bmm and scaled_dot_product_attention, whole also where "
     "it "
     "is causal",
     "the operators + and *, nn.MultiheadAttention's fast path, biases of linear layers, RMSNorm"},
    deepspeed::Apply,
};

}  // namespace onnxflops
