// fvcore's FlopCountAnalysis: a table of operators over the graph that torch.jit.trace records.
//
// How it works. A row of kRules is the handle of an operator; operators without one are listed by
// the tool and count as 0. The graph that it reads holds operators, not modules, so classes do not
// matter, and a function that is scripted or has no handle hides what it calls. The tool stops at
// some shapes (a product with a vector, a normalisation of rank 6); then there is no figure. With
// torch 1, one row of the table differs, because attention was traced as products there. mmengine
// has a copy of the table that understands products with a vector.
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/convention/conventions.h"
#include "src/convention/torch/tool.h"

namespace onnxflops::convention {
namespace fvcore {
namespace {

constexpr char kNoHandle[] = "no handle for the operator: listed as unsupported, counted as 0";
constexpr char kAdded[] = "an estimate per element, added to the MACs";
constexpr char kByFirst[] = "prod(first) * last of second: a broadcast of the first is not seen";

class Fvcore : public TorchTool {
 public:
  // `torch1`: attention is traced as products, as torch before 2.0 computed it.
  Fvcore(Evidence* evidence, bool torch1, absl::string_view name = "fvcore", Unit unit = Unit::kMac)
      : TorchTool(evidence, unit, {.whole_functions = true}), torch1_(torch1), name_(name) {}

  Ledger Run(const AtenRules<Fvcore>& rules) {
    return Apply(rules.Counted(), [&](const TorchCall& call) -> Decision {
      if (call.is_of_rnn || call.is_inside) return {kZero, kNoHandle};
      if (HidesAttention(call)) {
        return {kZero, "the fast path of nn.MultiheadAttention is one operator without a handle"};
      }
      return rules.Decide(this, call);
    });
  }

  // ---- rules of rows
  Decision Matmul(const TorchCall& call) {
    if (call.shape_of_w().ranked() && call.shape_of_w().rank() < 2) {
      Abort(absl::StrCat("fvcore stops with IndexError at a product with a vector (", call.name,
                         ")"));
      return {};
    }
    return {MatmulByFirst(call)};
  }

  // mmengine takes a vector for a matrix of one column.
  Decision MatmulOrVector(const TorchCall& call) {
    return {IsVectorProduct(call) ? call.in : MatmulByFirst(call)};
  }

  // The first size of a weight is taken for the number of results.
  Decision Linear(const TorchCall& call) {
    if (!call.arguments.has_vector_weight) return Products(call);
    const Shape& x = call.shape_of_x();
    return {Times(call, x.NumElements() * x[x.rank() - 1]), kVectorWeight};
  }

  // Other functions, such as tensordot, are exported as these and have no handle.
  Decision Mm(const TorchCall& call) {
    AssumeOwnCall(call);
    return Matmul(call);
  }
  Decision Bmm(const TorchCall& call) {
    AssumeOwnCall(call);
    return Products(call);
  }

  Decision Conv(const TorchCall& call) {
    if (HasNamedPadding(call)) return {kZero, "padding 'same' or 'valid': an operator of its own"};
    return Products(call);
  }

  Decision Activations(const TorchCall& call) {
    if (call.op == Aten::kBmm) AssumeOwnCall(call);
    if (HasNamedPadding(call)) return {kZero, "padding 'same' or 'valid': an operator of its own"};
    return ElementsOut(call);
  }

  // Half of the figure of NumPy's path. Two forms have their own formula.
  Decision Einsum(const TorchCall& call) {
    const std::optional<EinsumCost> cost = NumpyEinsum(evidence(), call);
    if (!cost.has_value()) {
      ledger().Assume(
          "the cost of an einsum, which fvcore reads from NumPy, is taken for its "
          "products");
      return {call.macs};
    }
    const absl::int128 macs = cost->is_matmul ? cost->combinations : cost->printed_flops / 2;
    return {Times(call, Expr(macs)), "read from NumPy's path, which has four digits"};
  }

  Decision Normalization(const TorchCall& call) {
    const Shape& x = call.shape_of_x();
    constexpr int kMaxRank = 5;
    if (x.ranked() && (x.rank() < 2 || x.rank() > kMaxRank)) {
      Abort(absl::StrCat(name_, " stops with AssertionError at a normalisation of rank ", x.rank(),
                         " (", call.name, ")"));
      return {};
    }
    return {Scaled(call.in, call.is_affine ? 5 : 4)};
  }

  Decision BatchNorm(const TorchCall& call) { return {Scaled(call.in, call.is_affine ? 2 : 1)}; }

  Decision AvgPool(const TorchCall& call) {
    if (IsImage(call) && !call.spelling.is_stated()) {
      ledger().Assume(
          "functional avg_pool2d is taken for itself: exports write adaptive_avg_pool2d that way, "
          "too");
    }
    return {};
  }

  // Only two-dimensional adaptive pools and resizings have a handle.
  Decision AdaptiveAvgPool(const TorchCall& call) {
    if (call.arguments.pool_dims == 0) return OfImage(call, call.in);
    return call.arguments.pool_dims == 2 ? Decision{call.in} : Decision{kZero, kNoHandle};
  }
  Decision ImageOut(const TorchCall& call) { return OfImage(call, call.out); }
  Decision FourPerOut(const TorchCall& call) { return {Scaled(call.out, 4)}; }
  Decision FourPerImageOut(const TorchCall& call) { return OfImage(call, Scaled(call.out, 4)); }

 private:
  void AssumeOwnCall(const TorchCall& call) {
    if (call.spelling.is_stated()) return;
    ledger().Assume(
        "products that the file names mm and bmm are taken for calls of these, not for parts of "
        "functions without a handle, such as tensordot");
  }

  // In eval mode without gradients, self-attention with batch_first takes the fast path.
  bool HidesAttention(const TorchCall& call) { return !torch1_ && TakesFastPath(call); }

  static bool IsImage(const TorchCall& call) {
    constexpr int kImageRank = 4;
    return call.shape_of_x().ranked() && call.shape_of_x().rank() == kImageRank;
  }

  Decision OfImage(const TorchCall& call, AmountId amount) {
    const bool of_other_rank = trace().nn_class(call) == NnClass::kAdaptiveAvgPool1d ||
                               trace().nn_class(call) == NnClass::kAdaptiveAvgPool3d;
    if (!IsImage(call) || of_other_rank || call.arguments.is_variant) return {kZero, kNoHandle};
    return {amount};
  }

  const bool torch1_;
  const absl::string_view name_;  // of the tool
};

constexpr AtenRules<Fvcore> kRules = {{
    {Aten::kOther, kNotCounted, kNoHandle},
    {Aten::kLinear, &Fvcore::Linear},
    {Aten::kMatmul, &Fvcore::Matmul, kByFirst},
    {Aten::kMm, &Fvcore::Mm, kByFirst},
    {Aten::kBmm, &Fvcore::Bmm},
    {Aten::kMv, kNotCounted, kNoHandle},
    {Aten::kAddmm, &Fvcore::Products},
    {Aten::kBaddbmm, kNotCounted, kNoHandle},
    {Aten::kEinsum, &Fvcore::Einsum},
    {Aten::kConv, &Fvcore::Conv},
    {Aten::kConvTranspose, &Fvcore::Products},
    {Aten::kSdpa, kNotCounted, kNoHandle},
    {Aten::kLstm, kNotCounted, kNoHandle},
    {Aten::kGru, kNotCounted, kNoHandle},
    {Aten::kRnn, kNotCounted, kNoHandle},
    {Aten::kBatchNorm, &Fvcore::BatchNorm, kAdded},
    {Aten::kLayerNorm, &Fvcore::Normalization, kAdded},
    {Aten::kGroupNorm, &Fvcore::Normalization, kAdded},
    {Aten::kInstanceNorm, &Fvcore::Normalization, kAdded},
    {Aten::kSoftmax, kNotCounted, kNoHandle},
    {Aten::kRelu, kNotCounted, kNoHandle},
    {Aten::kRelu6, kNotCounted, kNoHandle},
    {Aten::kLeakyRelu, kNotCounted, kNoHandle},
    {Aten::kElu, kNotCounted, kNoHandle},
    {Aten::kPrelu, kNotCounted, kNoHandle},
    {Aten::kGelu, kNotCounted, kNoHandle},
    {Aten::kSilu, kNotCounted, kNoHandle},
    {Aten::kMaxPool, kNotCounted, kNoHandle},
    {Aten::kAvgPool, &Fvcore::AvgPool, kNoHandle},
    {Aten::kAdaptiveAvgPool, &Fvcore::AdaptiveAvgPool, kAdded},
    {Aten::kAdaptiveMaxPool, kNotCounted, kNoHandle},
    {Aten::kMean, kNotCounted, kNoHandle},
    {Aten::kUpsampleNearest, &Fvcore::ImageOut, kAdded},
    {Aten::kUpsampleLinear, kNotCounted, kNoHandle},
    {Aten::kUpsampleBilinear, &Fvcore::FourPerImageOut, kAdded},
    {Aten::kUpsampleBicubic, kNotCounted, kNoHandle},
    {Aten::kUpsampleTrilinear, kNotCounted, kNoHandle},
    {Aten::kGridSampler, &Fvcore::FourPerOut, kAdded},
    {Aten::kAdd, kNotCounted, kNoHandle},
    {Aten::kMul, kNotCounted, kNoHandle},
    {Aten::kTranspose, kNotCounted, kNoHandle},
}};

constexpr AtenRules<Fvcore> kTorch1Rules = kRules.With({
    {Aten::kSdpa, &Fvcore::Products, kNoHandle},
});

constexpr AtenRules<Fvcore> kMmengineRules = kRules.With({
    {Aten::kMatmul, &Fvcore::MatmulOrVector, kByFirst},
});

constexpr AtenRules<Fvcore> kActivationRules = kRules.With({
    {Aten::kLinear, &Fvcore::Activations},
    {Aten::kMatmul, &Fvcore::Activations},
    {Aten::kMm, kNotCounted, kNoHandle},
    {Aten::kBmm, &Fvcore::Activations},
    {Aten::kAddmm, &Fvcore::Activations},
    {Aten::kEinsum, &Fvcore::Activations},
    {Aten::kConv, &Fvcore::Activations},
    {Aten::kConvTranspose, &Fvcore::Activations},
    {Aten::kBatchNorm, kNotCounted, kNoHandle},
    {Aten::kLayerNorm, kNotCounted, kNoHandle},
    {Aten::kGroupNorm, kNotCounted, kNoHandle},
    {Aten::kInstanceNorm, kNotCounted, kNoHandle},
    {Aten::kAvgPool, kNotCounted, kNoHandle},
    {Aten::kAdaptiveAvgPool, kNotCounted, kNoHandle},
    {Aten::kUpsampleNearest, kNotCounted, kNoHandle},
    {Aten::kUpsampleBilinear, kNotCounted, kNoHandle},
    {Aten::kGridSampler, kNotCounted, kNoHandle},
});

Ledger ApplyTorch2(Evidence* evidence) { return Fvcore(evidence, false).Run(kRules); }
Ledger ApplyTorch1(Evidence* evidence) { return Fvcore(evidence, true).Run(kTorch1Rules); }
Ledger ApplyActivations(Evidence* evidence) {
  return Fvcore(evidence, false, "fvcore", Unit::kActivation).Run(kActivationRules);
}
Ledger ApplyMmengine(Evidence* evidence) {
  return Fvcore(evidence, false, "mmengine").Run(kMmengineRules);
}

constexpr char kHeadline[] = "flops (FlopCountAnalysis.total(); 1 per multiply-accumulate)";
constexpr char kIncludes[] =
    "linear, matmul, bmm, addmm, einsum, convolutions; 5 per element of LayerNorm, GroupNorm and "
    "InstanceNorm, 2 of BatchNorm; adaptive_avg_pool2d, upsampling in 2-D, grid_sampler";
constexpr char kMisses[] =
    "scaled_dot_product_attention, nn.MultiheadAttention's fast path, LSTM, softmax, activations, "
    "additions";

constexpr Convention kTorch2 = {
    {"fvcore@torch2", Unit::kMac, kHeadline,
     "fvcore (3378afe, 2026-02): fvcore/nn/flop_count.py:28-46, jit_handles.py; torch 2", kIncludes,
     kMisses, "torch2", "torch 2.0, 2023-03",
     "attention is one operator without a handle, no longer products"},
    ApplyTorch2,
};

constexpr const Convention* kVersions[] = {&kTorch2, &kFvcoreTorch1};

}  // namespace
}  // namespace fvcore

const Convention kFvcoreTorch1 = {
    {"fvcore-torch1", Unit::kMac, fvcore::kHeadline,
     "fvcore (3378afe): as fvcore, on torch 1.9 to 1.11, where attention is two bmm's",
     "as fvcore, and the products of attention",
     "LSTM, softmax, activations, additions; with torch 1.12 and 1.13 a masked QK' as well "
     "(baddbmm has no handle)",
     "torch1", "", "attention is products, as torch 1.9 to 1.11 traces it"},
    fvcore::ApplyTorch1,
};

const Convention kFvcoreActivations = {
    {"fvcore-activations", Unit::kActivation,
     "activations (ActivationCountAnalysis.total(); timm's macts; also mmengine's activations)",
     "fvcore (3378afe, 2026-02): fvcore/nn/activation_count.py:16-24; mmengine 0.10.7: "
     "mmengine/analysis/complexity_analysis.py:40-49",
     "elements that linear, matmul, bmm, addmm, einsum and convolutions write",
     "mm, scaled_dot_product_attention, nn.MultiheadAttention's fast path, LSTM; norms, activation "
     "functions, pooling"},
    fvcore::ApplyActivations,
};

const Convention kMmengine = {
    {"mmengine", Unit::kMac, "flops (get_model_complexity_info; 1 per multiply-accumulate)",
     "mmengine 0.10.7 (2025-03): mmengine/analysis/complexity_analysis.py:20-38, jit_handles.py",
     fvcore::kIncludes, fvcore::kMisses},
    fvcore::ApplyMmengine,
};

constinit const Convention kFvcore = NewestOf("fvcore", fvcore::kVersions);

}  // namespace onnxflops::convention
