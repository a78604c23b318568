// torch.utils.flop_counter.FlopCounterMode: a table of ATen operators as they are dispatched, 2 per
// multiply-accumulate.
//
// How it works. Only contractions are registered, each as 2 x its MACs. A product with a vector
// becomes mv, which is not registered, and an einsum counts what PyTorch makes of it. The device
// matters: on a CPU attention and LSTM are single operators, and so is the fast path of
// nn.MultiheadAttention, which are not registered and hide their products. On the meta device they
// are products, or registered. PyTorch 2.15 registers the fused attention of the CPU. Without a
// version in the name, the version that exported the file decides, since the counter is a part of
// PyTorch; that is an assumption if the model has such attention.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/convention/conventions.h"
#include "src/convention/torch/tool.h"
#include "src/exporter/exporter.h"

namespace onnxflops::convention {
namespace flop_counter_mode {
namespace {

constexpr char kNotRegistered[] = "not registered: counted as 0";
constexpr char kNoBias[] = "2 per multiply-accumulate only: biases are left out";
constexpr char kProductsOnly[] = "2 per multiply-accumulate only";
constexpr char kVector[] = "a product with a vector (mv) is not registered";
constexpr char kNoSum[] = "an einsum that sums nothing multiplies by elements: not registered";

class FlopCounter : public TorchTool {
 public:
  FlopCounter(Evidence* evidence, bool on_cpu, std::string why_version = "")
      : TorchTool(evidence, Unit::kFlop, {}),
        on_cpu_(on_cpu),
        why_version_(std::move(why_version)) {}

  Ledger Run(const AtenRules<FlopCounter>& rules) {
    const auto& layers = trace().encoder_layers;
    if (!on_cpu_ && std::any_of(layers.begin(), layers.end(),
                                [](const auto& layer) { return layer.may_drop_padding; })) {
      ledger().Assume(
          "nn.TransformerEncoder is given a padding mask, with which it stops on the meta device: "
          "counted as elsewhere");
    }
    return Apply(rules.Counted(), [&](const TorchCall& call) -> Decision {
      if (on_cpu_ && IsContraction(call.op) && HidesAttention(call)) {
        return {kZero, "the fast path is one native operator, which is not registered"};
      }
      return rules.Decide(this, call);
    });
  }

  // ---- rules of rows
  Decision Product(const TorchCall& call) {
    if (IsVectorProduct(call)) return {kZero, kVector};
    return TwiceProducts(call);
  }

  Decision Einsum(const TorchCall& call) {
    const std::optional<EinsumProduct> product = EinsumInTorch(evidence(), call);
    if (!product.has_value()) return TwiceProducts(call);
    if (!product->is_matmul) return {kZero, kNoSum};
    return {Times(call, product->elements * 2)};
  }

  Decision Attention(const TorchCall& call) {
    if (IsFusedOnCpu(call, true)) AssumeVersion();
    return TwiceProducts(call);
  }

  Decision AttentionUnlessFused(const TorchCall& call) {
    if (!IsFusedOnCpu(call, false)) return TwiceProducts(call);
    AssumeVersion();
    return {kZero, "the fused kernel of the CPU is not registered"};
  }

 private:
  // Versions differ in the CPU's fused kernel.
  void AssumeVersion() {
    if (!why_version_.empty()) ledger().Assume(why_version_);
  }

  bool HidesAttention(const TorchCall& call) {
    return TakesLayerFastPath(call) || TakesFastPath(call);
  }

  const bool on_cpu_;
  const std::string why_version_;  // why this version is assumed; "" if it is not a guess
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
    {Aten::kEinsum, &FlopCounter::Einsum, kProductsOnly},
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
    {Aten::kSdpa, &FlopCounter::Attention, kProductsOnly},
    {Aten::kLstm, kNotCounted, "one operator on a CPU, not registered"},
});

// Before PyTorch 2.15.
constexpr AtenRules<FlopCounter> kOldCpuRules = kCpuRules.With({
    {Aten::kSdpa, &FlopCounter::AttentionUnlessFused, kProductsOnly},
});

Ledger Apply(Evidence* evidence) { return FlopCounter(evidence, false).Run(kRules); }
Ledger ApplyCpu(Evidence* evidence) { return FlopCounter(evidence, true).Run(kCpuRules); }
Ledger ApplyOldCpu(Evidence* evidence) { return FlopCounter(evidence, true).Run(kOldCpuRules); }

constexpr exporter::TorchRelease kCountsCpuAttention = {2, 15};

// FlopCounterMode is part of PyTorch, so the version that exported the model also counts it.
Ledger ApplyCpuByFile(Evidence* evidence) {
  const std::optional<exporter::TorchRelease> exporter =
      exporter::TorchReleaseOf(evidence->model());
  const bool old = exporter && *exporter < kCountsCpuAttention;
  const std::string from = exporter
                               ? absl::StrCat("PyTorch ", exporter->first, ".", exporter->second,
                                              " exported the file and is assumed to count it: ")
                               : "the file does not tell the version of PyTorch, 2.15 is assumed: ";
  FlopCounter counter(
      evidence, true,
      absl::StrCat(from, old ? "attention on a CPU is not counted (flop-counter-mode-cpu@2.15 "
                               "counts it)"
                             : "attention on a CPU is counted (flop-counter-mode-cpu@2.14 leaves "
                               "it out)"));
  counter.ledger().SetVersion(old ? "2.14" : "2.15");
  return counter.Run(old ? kOldCpuRules : kCpuRules);
}

constexpr char kHeadline[] = "FLOPs (FlopCounterMode.get_total_flops(); 2 per multiply-accumulate)";
constexpr char kIncludes[] =
    "mm, addmm, bmm, baddbmm, convolutions and scaled_dot_product_attention, whole also where it "
    "is causal";

constexpr char kMisses[] =
    "everything else: biases, norms, softmax, activations, products with a vector";
constexpr char kSinceNewest[] = "2026-10";

constexpr Convention kNewest = {
    {"flop-counter-mode@2.15", Unit::kFlop, kHeadline,
     "PyTorch 2.15: torch/utils/flop_counter.py:210-455, on the meta device (on CUDA too, except "
     "cuDNN's LSTM and the fast path of nn.MultiheadAttention, which are not registered)",
     kIncludes, kMisses, "2.15", kSinceNewest,
     "nothing on the meta device and on CUDA (on a CPU: see flop-counter-mode-cpu)"},
    Apply,
};

constexpr Convention kOld = {
    {"flop-counter-mode@2.14", Unit::kFlop, kHeadline,
     "PyTorch 2.14: torch/utils/flop_counter.py:159-403, on the meta device (on CUDA too, except "
     "cuDNN's LSTM and the fast path of nn.MultiheadAttention, which are not registered)",
     kIncludes, kMisses, "2.14", "", "the same figure"},
    Apply,
};

constexpr const Convention* kVersions[] = {&kNewest, &kOld};

constexpr Convention kNewestCpu = {
    {"flop-counter-mode-cpu@2.15", Unit::kFlop, kHeadline,
     "PyTorch 2.15: torch/utils/flop_counter.py:448-453, on a CPU (pytorch#195460)", kIncludes,
     "nn.MultiheadAttention's fast path, LSTM, and what it misses elsewhere", "2.15", kSinceNewest,
     "attention counts as on a GPU: _scaled_dot_product_flash_attention_for_cpu is registered "
     "(without a version, the PyTorch that exported the file decides)"},
    ApplyCpu,
};

constexpr Convention kOldCpu = {
    {"flop-counter-mode-cpu@2.14", Unit::kFlop, kHeadline,
     "PyTorch 2.14: torch/utils/flop_counter.py, on a CPU (pytorch#195460)", kIncludes,
     "scaled_dot_product_attention and nn.MultiheadAttention's fast path, LSTM, and what it misses "
     "elsewhere",
     "2.14", "", "attention counts 0 where the CPU has a fused kernel"},
    ApplyOldCpu,
};

constexpr const Convention* kCpuVersions[] = {&kNewestCpu, &kOldCpu};

}  // namespace
}  // namespace flop_counter_mode

constinit const Convention kFlopCounterMode =
    NewestOf("flop-counter-mode", flop_counter_mode::kVersions);

constinit const Convention kFlopCounterModeCpu = NewestOf(
    "flop-counter-mode-cpu", flop_counter_mode::kCpuVersions, flop_counter_mode::ApplyCpuByFile);

}  // namespace onnxflops::convention
