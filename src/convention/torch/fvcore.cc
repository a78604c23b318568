// fvcore's FlopCountAnalysis: a table of operators over the graph that torch.jit.trace records.
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/convention/conventions.h"
#include "src/convention/torch/ledger.h"

namespace onnxflops {
namespace fvcore {
namespace {

bool Counts(Aten op) {
  switch (op) {
    case Aten::kLinear:
    case Aten::kMatmul:
    case Aten::kMm:
    case Aten::kBmm:
    case Aten::kAddmm:
    case Aten::kEinsum:
    case Aten::kConv:
    case Aten::kConvTranspose:
    case Aten::kBatchNorm:
    case Aten::kLayerNorm:
    case Aten::kGroupNorm:
    case Aten::kInstanceNorm:
    case Aten::kAdaptiveAvgPool:
    case Aten::kUpsampleNearest:
    case Aten::kUpsampleBilinear:
    case Aten::kGridSampler:
      return true;
    default:
      return false;
  }
}

constexpr char kNoHandle[] = "no handle for the operator: listed as unsupported, counted as 0";
constexpr char kBeside[] = "an estimate per element, counted beside the MACs";

class Fvcore {
 public:
  // `torch1`: attention is traced as products, as torch before 2.0 computed it.
  Fvcore(Evidence* evidence, bool torch1)
      : tool_(evidence, Unit::kMac, {.counts = Counts}), torch1_(torch1) {}

  Ledger Run() {
    return tool_.Apply([&](const TorchCall& call) { return Rule(call); });
  }

 private:
  Verdict Rule(const TorchCall& call) {
    if (HidesAttention(call)) {
      return {kZero, "the fast path of nn.MultiheadAttention is one operator without a handle"};
    }
    switch (call.op) {
      case Aten::kLinear:
      case Aten::kAddmm:
      case Aten::kBmm:
      case Aten::kConv:
      case Aten::kConvTranspose:
        return {call.macs};
      case Aten::kMatmul:
      case Aten::kMm:
        return Matmul(call);
      case Aten::kEinsum:
        return Einsum(call);
      case Aten::kSdpa:
        return {torch1_ ? call.macs : kZero, kNoHandle};
      case Aten::kBatchNorm:
        return {tool_.Scaled(call.in, call.is_affine ? 2 : 1), kBeside};
      case Aten::kLayerNorm:
      case Aten::kGroupNorm:
      case Aten::kInstanceNorm:
        return Normalization(call);
      default:
        return Elementwise(call);
    }
  }

  // In eval mode without gradients, self-attention with batch_first takes the fast path.
  bool HidesAttention(const TorchCall& call) {
    if (torch1_) return false;
    const TorchAttention* attention = tool_.AttentionOf(call);
    if (attention == nullptr || !attention->fast_path) return false;
    tool_.ledger().Assume(kFastPathAssumption);
    return true;
  }

  Verdict Matmul(const TorchCall& call) {
    const std::optional<AmountId> amount = tool_.MatmulByFirst(call);
    if (!amount.has_value()) {
      tool_.Abort(absl::StrCat("fvcore stops with IndexError at a product with a vector (",
                               call.name, ")"));
      return {};
    }
    return {*amount, "prod(first) * last of second: a broadcast of the first is not seen"};
  }

  // Half of what NumPy's path prints. Two forms are counted as they are.
  Verdict Einsum(const TorchCall& call) {
    const std::optional<EinsumCost> cost = NumpyEinsum(tool_.evidence(), call);
    if (!cost.has_value()) {
      tool_.ledger().Assume(
          "the cost of an einsum, which fvcore reads from NumPy, is taken for its "
          "products");
      return {call.macs};
    }
    const absl::int128 macs = cost->is_matmul ? cost->combinations : cost->printed_flops / 2;
    return {tool_.Times(call, Expr(macs)), "read from NumPy's path, which has four digits"};
  }

  Verdict Normalization(const TorchCall& call) {
    const Shape& x = call.shape_of_x();
    constexpr int kMaxRank = 5;
    if (x.ranked() && (x.rank() < 2 || x.rank() > kMaxRank)) {
      tool_.Abort(absl::StrCat("fvcore stops with AssertionError at a normalisation of rank ",
                               x.rank(), " (", call.name, ")"));
      return {};
    }
    return {tool_.Scaled(call.in, call.is_affine ? 5 : 4), kBeside};
  }

  // The two-dimensional ones only.
  Verdict Elementwise(const TorchCall& call) {
    const Shape& x = call.shape_of_x();
    constexpr int kImageRank = 4;
    if (!x.ranked() || x.rank() != kImageRank) return {kZero, kNoHandle};
    switch (call.op) {
      case Aten::kAdaptiveAvgPool:
        return {call.in, kBeside};
      case Aten::kAvgPool:
        if (tool_.trace().nn_class(call) == NnClass::kNone) {
          tool_.ledger().Assume(
              "functional avg_pool2d is taken for itself: exports write adaptive_avg_pool2d that "
              "way, "
              "too");
        }
        return {kZero, kNoHandle};
      case Aten::kUpsampleNearest:
        return {call.out, kBeside};
      case Aten::kUpsampleBilinear:
      case Aten::kGridSampler:
        return {tool_.Scaled(call.out, 4), kBeside};
      default:
        return {kZero, kNoHandle};
    }
  }

  TorchLedger tool_;
  const bool torch1_;
};

Ledger ApplyToday(Evidence* evidence) { return Fvcore(evidence, false).Run(); }
Ledger ApplyTorch1(Evidence* evidence) { return Fvcore(evidence, true).Run(); }

constexpr char kHeadline[] = "flops (FlopCountAnalysis.total(); 1 per multiply-accumulate)";
constexpr char kIncludes[] =
    "linear, matmul, bmm, addmm, einsum, convolutions; 5 per element of LayerNorm, GroupNorm and "
    "InstanceNorm, 2 of BatchNorm; adaptive_avg_pool2d, upsampling in 2-D, grid_sampler";

}  // namespace
}  // namespace fvcore

const Convention kFvcore = {
    {"fvcore", Unit::kMac, fvcore::kHeadline,
     "fvcore (3378afe, 2026-02): fvcore/nn/flop_count.py:28-46, jit_handles.py; torch 2",
     fvcore::kIncludes,
     "scaled_dot_product_attention, nn.MultiheadAttention's fast path, LSTM, softmax, activations, "
     "additions"},
    fvcore::ApplyToday,
};

const Convention kFvcoreTorch1 = {
    {"fvcore-torch1", Unit::kMac, fvcore::kHeadline,
     "fvcore (3378afe): as fvcore, on torch 1.9 to 1.11, where attention is two bmm's",
     "as fvcore, and the products of attention",
     "LSTM, softmax, activations, additions; with torch 1.12 and 1.13 a masked QK' as well "
     "(baddbmm has no handle)"},
    fvcore::ApplyTorch1,
};

}  // namespace onnxflops
