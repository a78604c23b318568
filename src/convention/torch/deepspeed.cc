// DeepSpeed's flops profiler: wrappers around functions and operators of torch.
#include "src/convention/conventions.h"
#include "src/convention/torch/wrapped_functions.h"

namespace onnxflops {
namespace deepspeed {
namespace {

constexpr char kOnlyProducts[] = "2 per multiply-accumulate";

constexpr AtenRules<WrappedFunctions> kRules = kWrappedRules.With({
    {Aten::kMatmul, &WrappedFunctions::Matmul, "prod(first) * last of second"},
    {Aten::kMm, &WrappedFunctions::TwiceProducts, kOnlyProducts},
    {Aten::kBmm, &WrappedFunctions::TwiceProducts, kOnlyProducts},
    {Aten::kSdpa, &WrappedFunctions::TwiceProducts, "the two products only"},
});

Ledger Apply(Evidence *evidence) {
  return WrappedFunctions(evidence).Run(kRules);
}

} // namespace
} // namespace deepspeed

const Convention kDeepSpeed = {
    {"deepspeed", Unit::kFlop,
     "flops (get_model_profile; 2 per multiply-accumulate)",
     "DeepSpeed (edaa722, 2026-08): "
     "deepspeed/profiling/flops_profiler/profiler.py:523-1109",
     "as calflops, and the operator @, mm, bmm and "
     "scaled_dot_product_attention, whole also where "
     "it "
     "is causal",
     "the operators + and *, nn.MultiheadAttention's fast path, biases of "
     "linear layers, RMSNorm"},
    deepspeed::Apply,
};

} // namespace onnxflops
