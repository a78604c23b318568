// torch.utils.flop_counter.FlopCounterMode: a table of ATen operators as they
// are dispatched, 2 per multiply-accumulate.
#include <algorithm>
#include <vector>

#include "src/convention/conventions.h"
#include "src/convention/torch/tool.h"

namespace onnxflops {
namespace flop_counter_mode {
namespace {

constexpr char kNotRegistered[] = "not registered: counted as 0";
constexpr char kNoBias[] =
    "2 per multiply-accumulate only: biases are left out";
constexpr char kProductsOnly[] = "2 per multiply-accumulate only";
constexpr char kVector[] = "a product with a vector (mv) is not registered";

class FlopCounter : public TorchTool {
public:
  FlopCounter(Evidence *evidence, bool on_cpu)
      : TorchTool(evidence, Unit::kFlop, {}), on_cpu_(on_cpu),
        has_fast_path_(HasFastPath(trace())) {}

  Ledger Run(const AtenRules<FlopCounter> &rules) {
    return Apply(rules.Counted(), [&](const TorchCall &call) -> Decision {
      if (on_cpu_ && IsContraction(call.op) && HidesAttention(call)) {
        return {
            kZero,
            "the fast path is one native operator, which is not registered"};
      }
      return rules.Decide(this, call);
    });
  }

  // ---- what rows say
  Decision Product(const TorchCall &call) {
    if (IsVectorProduct(call))
      return {kZero, kVector};
    return TwiceProducts(call);
  }

  Decision AttentionUnlessFused(const TorchCall &call) {
    if (IsFusedOnCpu(call))
      return {kZero, "the fused kernel of the CPU is not registered"};
    return TwiceProducts(call);
  }

private:
  // nn.TransformerEncoderLayer takes a fast path where its attention does.
  bool HidesAttention(const TorchCall &call) {
    if (trace().scope(call).in_encoder_layer && has_fast_path_) {
      ledger().Assume(
          "nn.TransformerEncoderLayer takes its fast path in eval mode");
      return true;
    }
    const TorchAttention *attention = AttentionOf(call);
    if (attention == nullptr || !attention->fast_path)
      return false;
    ledger().Assume(kFastPathAssumption);
    return true;
  }

  static bool HasFastPath(const TorchTrace &trace) {
    const std::vector<TorchAttention> &all = trace.attentions;
    return std::any_of(all.begin(), all.end(),
                       [](const auto &a) { return a.fast_path; });
  }

  const bool on_cpu_, has_fast_path_;
};

constexpr AtenRules<FlopCounter> kRules = {{
    {Aten::kOther, kNotCounted, kNotRegistered},
    {Aten::kLinear, &FlopCounter::Product, kNoBias},
    {Aten::kMatmul, &FlopCounter::Product, kNoBias},
    {Aten::kMm, &FlopCounter::TwiceProducts, kNoBias},
    {Aten::kBmm, &FlopCounter::TwiceProducts, kNoBias},
    {Aten::kMv, kNotCounted, kVector},
    {Aten::kAddmm, &FlopCounter::TwiceProducts, kNoBias},
    {Aten::kBaddbmm, &FlopCounter::TwiceProducts, kNoBias},
    {Aten::kEinsum, &FlopCounter::TwiceProducts, kNoBias},
    {Aten::kConv, &FlopCounter::TwiceProducts, kNoBias},
    {Aten::kConvTranspose, &FlopCounter::TwiceProducts, kNoBias},
    {Aten::kSdpa, &FlopCounter::TwiceProducts, kProductsOnly},
    {Aten::kLstm, &FlopCounter::TwiceProducts, kProductsOnly},
    {Aten::kGru, &FlopCounter::TwiceProducts, kNoBias},
    {Aten::kRnn, &FlopCounter::TwiceProducts, kNoBias},
    {Aten::kBatchNorm, kNotCounted, kNotRegistered},
    {Aten::kLayerNorm, kNotCounted, kNotRegistered},
    {Aten::kGroupNorm, kNotCounted, kNotRegistered},
    {Aten::kInstanceNorm, kNotCounted, kNotRegistered},
    {Aten::kSoftmax, kNotCounted, kNotRegistered},
    {Aten::kRelu, kNotCounted, kNotRegistered},
    {Aten::kRelu6, kNotCounted, kNotRegistered},
    {Aten::kLeakyRelu, kNotCounted, kNotRegistered},
    {Aten::kElu, kNotCounted, kNotRegistered},
    {Aten::kPrelu, kNotCounted, kNotRegistered},
    {Aten::kGelu, kNotCounted, kNotRegistered},
    {Aten::kSilu, kNotCounted, kNotRegistered},
    {Aten::kMaxPool, kNotCounted, kNotRegistered},
    {Aten::kAvgPool, kNotCounted, kNotRegistered},
    {Aten::kAdaptiveAvgPool, kNotCounted, kNotRegistered},
    {Aten::kAdaptiveMaxPool, kNotCounted, kNotRegistered},
    {Aten::kMean, kNotCounted, kNotRegistered},
    {Aten::kUpsampleNearest, kNotCounted, kNotRegistered},
    {Aten::kUpsampleLinear, kNotCounted, kNotRegistered},
    {Aten::kUpsampleBilinear, kNotCounted, kNotRegistered},
    {Aten::kUpsampleBicubic, kNotCounted, kNotRegistered},
    {Aten::kUpsampleTrilinear, kNotCounted, kNotRegistered},
    {Aten::kGridSampler, kNotCounted, kNotRegistered},
    {Aten::kAdd, kNotCounted, kNotRegistered},
    {Aten::kMul, kNotCounted, kNotRegistered},
    {Aten::kTranspose, kNotCounted, kNotRegistered},
}};

constexpr AtenRules<FlopCounter> kCpuRules = kRules.With({
    {Aten::kSdpa, &FlopCounter::AttentionUnlessFused, kProductsOnly},
    {Aten::kLstm, kNotCounted, "one operator on a CPU, not registered"},
});

Ledger ApplyMeta(Evidence *evidence) {
  return FlopCounter(evidence, false).Run(kRules);
}
Ledger ApplyCpu(Evidence *evidence) {
  return FlopCounter(evidence, true).Run(kCpuRules);
}

constexpr char kHeadline[] =
    "FLOPs (FlopCounterMode.get_total_flops(); 2 per multiply-accumulate)";
constexpr char kIncludes[] =
    "mm, addmm, bmm, baddbmm, convolutions and scaled_dot_product_attention, "
    "whole also where it "
    "is causal";

} // namespace
} // namespace flop_counter_mode

const Convention kFlopCounterMode = {
    {"flop-counter-mode", Unit::kFlop, flop_counter_mode::kHeadline,
     "PyTorch 2.14: torch/utils/flop_counter.py:159-403, on the meta device "
     "(on CUDA, too, but for "
     "cuDNN's LSTM and the fast path of nn.MultiheadAttention, which are not "
     "registered)",
     flop_counter_mode::kIncludes,
     "everything else: biases, norms, softmax, activations, products with a "
     "vector"},
    flop_counter_mode::ApplyMeta,
};

const Convention kFlopCounterModeCpu = {
    {"flop-counter-mode-cpu", Unit::kFlop, flop_counter_mode::kHeadline,
     "PyTorch 2.14: torch/utils/flop_counter.py, on a CPU (pytorch#195460)",
     flop_counter_mode::kIncludes,
     "scaled_dot_product_attention and nn.MultiheadAttention's fast path, "
     "LSTM, and what it misses "
     "elsewhere"},
    flop_counter_mode::ApplyCpu,
};

} // namespace onnxflops
