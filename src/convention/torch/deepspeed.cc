// DeepSpeed's flops profiler: wrappers around functions and operators of torch.
//
// Before 0.19.7 it also added a module that a model holds under two names once per name, with the
// calls of both. A file does not tell this from two modules.
#include "src/convention/conventions.h"
#include "src/convention/torch/wrapped_functions.h"

namespace onnxflops::convention {
namespace deepspeed {
namespace {

constexpr char kOnlyProducts[] = "2 per multiply-accumulate";

constexpr AtenRules<WrappedFunctions> kRules = kWrappedRules.With({
    {Aten::kConvTranspose, &WrappedFunctions::ConvTranspose, kWrappedTwiceAndBias},
    {Aten::kMatmul, &WrappedFunctions::Matmul, "prod(first) * last of second"},
    {Aten::kMm, &WrappedFunctions::Mm, kOnlyProducts},
    {Aten::kBmm, &WrappedFunctions::Mm, kOnlyProducts},
    {Aten::kSdpa, &WrappedFunctions::Attention, "the two products only"},
    {Aten::kUpsampleNearest, &WrappedFunctions::ResizeByFactor, kWrappedPerResult},
    {Aten::kUpsampleLinear, &WrappedFunctions::ResizeByFactor, kWrappedPerResult},
    {Aten::kUpsampleBilinear, &WrappedFunctions::ResizeByFactor, kWrappedPerResult},
    {Aten::kUpsampleBicubic, &WrappedFunctions::ResizeByFactor, kWrappedPerResult},
    {Aten::kUpsampleTrilinear, &WrappedFunctions::ResizeByFactor, kWrappedPerResult},
    {Aten::kAdd, &WrappedFunctions::OperatorByResult, kWrappedOperators},
    {Aten::kMul, &WrappedFunctions::OperatorByResult, kWrappedOperators},
});

// Before pull request 8323, as calflops.
constexpr AtenRules<WrappedFunctions> kOldRules = kRules.With({
    {Aten::kAdd, &WrappedFunctions::Operator, kWrappedOperators},
    {Aten::kMul, &WrappedFunctions::Operator, kWrappedOperators},
    {Aten::kConvTranspose, &WrappedFunctions::ConvTransposeAsForward, kWrappedAsForward},
});

Ledger Apply(Evidence* evidence) { return WrappedFunctions(evidence).Run(kRules); }
Ledger ApplyOld(Evidence* evidence) { return WrappedFunctions(evidence).Run(kOldRules); }

constexpr char kHeadline[] = "flops (get_model_profile; 2 per multiply-accumulate)";
constexpr char kIncludes[] =
    "as calflops, and the operator @, mm, bmm and scaled_dot_product_attention, whole also where "
    "it is causal";
constexpr char kMisses[] =
    "the operators + and *, nn.MultiheadAttention's fast path, biases of linear layers, RMSNorm";

constexpr Convention kNewest = {
    {"deepspeed@0.19.7", Unit::kFlop, kHeadline,
     "DeepSpeed 0.19.7 (2026-09): deepspeed/profiling/flops_profiler/profiler.py:523-1109",
     kIncludes, kMisses, "0.19.7", "2026-09",
     "transposed convolutions: groups divide once, the bias counts per result (pull request 8323); "
     "torch.add and torch.mul count per result"},
    Apply,
};

constexpr Convention kOld = {
    {"deepspeed@0.19.6", Unit::kFlop, kHeadline,
     "DeepSpeed (edaa722, 2026-08): deepspeed/profiling/flops_profiler/profiler.py:523-1109",
     kIncludes, kMisses, "0.19.6", "",
     "transposed convolutions: groups divide twice, the bias has the size of a forward "
     "convolution; torch.add and torch.mul compare sizes from the first"},
    ApplyOld,
};

constexpr const Convention* kVersions[] = {&kNewest, &kOld};

}  // namespace
}  // namespace deepspeed

constinit const Convention kDeepSpeed = NewestOf("deepspeed", deepspeed::kVersions);

}  // namespace onnxflops::convention
