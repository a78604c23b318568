// torch.profiler with with_flops=True: seven operators as they run on a CPU.
#include "src/convention/conventions.h"
#include "src/convention/torch/tool.h"

namespace onnxflops::convention {
namespace profiler {
namespace {

constexpr char kNoRule[] = "no rule for the operator: counted as 0";
constexpr char kProducts[] = "2 per multiply-accumulate only: biases are left out";
constexpr char kTwoProducts[] = "the two products only";
constexpr char kFirst[] = "elements of the first operand";

class Profiler : public TorchTool {
 public:
  explicit Profiler(Evidence* evidence) : TorchTool(evidence, Unit::kFlop, {}) {}

  Ledger Run(const AtenRules<Profiler>& rules) {
    ledger().Assume("those inside of other operators of PyTorch are not in the file");
    return Apply(rules.Counted(), [&](const TorchCall& call) { return rules.Decide(this, call); });
  }

  // ---- rules of rows
  Decision Product(const TorchCall& call) {
    if (IsVectorProduct(call)) return {kZero, kNoRule};
    return TwiceProducts(call);
  }

  Decision Conv(const TorchCall& call) {
    if (HasNamedPadding(call)) return {kZero, "padding 'same' or 'valid': an operator of its own"};
    if (call.shape_of_x().ranked() && call.shape_of_x().rank() != 4) return {kZero, kNoRule};
    return TwiceProducts(call);
  }

  // The children of nn.MultiheadAttention's fast path are seen.
  Decision Attention(const TorchCall& call) {
    if (TakesFastPath(call)) return TwiceProducts(call);
    if (IsFused(call)) return {kZero, "the fused kernel of the CPU has no rule"};
    ledger().Assume("attention that the CPU does not fuse is taken for two products");
    return TwiceProducts(call);
  }

  Decision Elementwise(const TorchCall& call) {
    if (SpellingOf(call) == Spelling::kInPlace) return {kZero, "in place: no rule"};
    return ElementsIn(call);
  }

  // One operator; only the sums of its two biases are visible.
  Decision Lstm(const TorchCall& call) {
    const auto sizes = RecurrentSizesOf(evidence(), trace(), call);
    if (!sizes.has_value() || !sizes->bias) return {kZero, "one operator without a rule"};
    ledger().Assume("of an LSTM the sums of its two biases are seen, as torch 2.14 adds them");
    constexpr int kGates = 4;
    return {Times(call, sizes->hidden * kGates * sizes->layers * sizes->directions)};
  }
};

constexpr AtenRules<Profiler> kRules = {{
    {Aten::kOther, kNotCounted, kNoRule},
    {Aten::kLinear, &Profiler::Product, kProducts},
    {Aten::kMatmul, &Profiler::Product, kProducts},
    {Aten::kMm, &Profiler::TwiceProducts, kProducts},
    {Aten::kBmm, &Profiler::TwiceProducts, kProducts},
    {Aten::kMv, kNotCounted, kNoRule},
    {Aten::kAddmm, &Profiler::TwiceProducts, kProducts},
    {Aten::kBaddbmm, &Profiler::TwiceProducts, kProducts},
    {Aten::kEinsum, &Profiler::TwiceProducts, kProducts},
    {Aten::kConv, &Profiler::Conv, kProducts},
    {Aten::kConvTranspose, kNotCounted, kNoRule},
    {Aten::kSdpa, &Profiler::Attention, kTwoProducts},
    {Aten::kLstm, &Profiler::Lstm, "one operator without a rule, except the sums of its biases"},
    {Aten::kGru, &Profiler::TwiceProducts, kProducts},
    {Aten::kRnn, &Profiler::TwiceProducts, kProducts},
    {Aten::kBatchNorm, kNotCounted, kNoRule},
    {Aten::kLayerNorm, kNotCounted, kNoRule},
    {Aten::kGroupNorm, kNotCounted, kNoRule},
    {Aten::kInstanceNorm, kNotCounted, kNoRule},
    {Aten::kSoftmax, kNotCounted, kNoRule},
    {Aten::kRelu, kNotCounted, kNoRule},
    {Aten::kRelu6, kNotCounted, kNoRule},
    {Aten::kLeakyRelu, kNotCounted, kNoRule},
    {Aten::kElu, kNotCounted, kNoRule},
    {Aten::kPrelu, kNotCounted, kNoRule},
    {Aten::kGelu, kNotCounted, kNoRule},
    {Aten::kSilu, kNotCounted, kNoRule},
    {Aten::kMaxPool, kNotCounted, kNoRule},
    {Aten::kAvgPool, kNotCounted, kNoRule},
    {Aten::kAdaptiveAvgPool, kNotCounted, kNoRule},
    {Aten::kAdaptiveMaxPool, kNotCounted, kNoRule},
    {Aten::kMean, kNotCounted, kNoRule},
    {Aten::kUpsampleNearest, kNotCounted, kNoRule},
    {Aten::kUpsampleLinear, kNotCounted, kNoRule},
    {Aten::kUpsampleBilinear, kNotCounted, kNoRule},
    {Aten::kUpsampleBicubic, kNotCounted, kNoRule},
    {Aten::kUpsampleTrilinear, kNotCounted, kNoRule},
    {Aten::kGridSampler, kNotCounted, kNoRule},
    {Aten::kAdd, &Profiler::Elementwise, kFirst},
    {Aten::kMul, &Profiler::Elementwise, kFirst},
    {Aten::kTranspose, kNotCounted, kNoRule},
}};

Ledger Apply(Evidence* evidence) { return Profiler(evidence).Run(kRules); }

}  // namespace
}  // namespace profiler

const Convention kTorchProfiler = {
    {"torch-profiler", Unit::kFlop,
     "FLOPs (sum of evt.flops, with_flops=True; 2 per multiply-accumulate)",
     "PyTorch 2.14: torch/csrc/profiler/util.cpp, saveExtraArgs and computeFlops; on a CPU",
     "conv2d, mm, addmm, bmm, baddbmm; elements of the first operand of add and mul",
     "scaled_dot_product_attention, LSTM, other convolutions, in-place additions, everything else"},
    profiler::Apply,
};

}  // namespace onnxflops::convention
