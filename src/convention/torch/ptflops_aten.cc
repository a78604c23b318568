// ptflops with its ATen backend: six operators as they are dispatched on a CPU, biases included.
#include "src/convention/conventions.h"
#include "src/convention/torch/tool.h"

namespace onnxflops::convention {
namespace ptflops_aten {
namespace {

constexpr char kNotInTable[] = "not in its table: counted as 0";
constexpr char kBias[] = "1 per result where there is one";
constexpr char kNoSum[] = "an einsum that sums nothing multiplies by elements: not in its table";
constexpr char kVector[] = "a product with a vector is not in its table";

class PtflopsAten : public TorchTool {
 public:
  explicit PtflopsAten(Evidence* evidence) : TorchTool(evidence, Unit::kMac, {.biases = true}) {}

  Ledger Run(const AtenRules<PtflopsAten>& rules) {
    return Apply(rules.Counted(), [&](const TorchCall& call) -> Decision {
      // Its hooks are on modules of the model itself, and keep these from the fast path.
      if (TakesLayerFastPath(call, /*hooks_children=*/true) || TakesFastPath(call)) {
        return {kZero, "the fast path is one native operator, not in its table"};
      }
      return rules.Decide(this, call);
    });
  }

  // ---- rules of rows

  // A linear layer is one addmm, which counts its bias, if its input is a matrix or lies in memory
  // in order; else it is a product and an addition. The file does not say how a tensor lies.
  Decision Linear(const TorchCall& call) {
    if (IsVectorProduct(call)) return {kZero, kVector};
    const Shape& x = call.shape_of_x();
    if (!call.has_bias) return Products(call);
    if (!x.ranked() || x.rank() != 2) {
      ledger().Assume(
          "the bias of a linear layer is counted where its input lies in memory in order, which it "
          "is taken to do, but for what a transposition gives");
      if (call.is_transposed) return Products(call);
    }
    return {Plus(call.macs, call.out)};
  }

  Decision Matmul(const TorchCall& call) {
    if (IsVectorProduct(call)) return {kZero, kVector};
    return Products(call);
  }

  Decision Einsum(const TorchCall& call) {
    const std::optional<EinsumProduct> product = EinsumInTorch(evidence(), call);
    if (!product.has_value()) return Products(call);
    if (!product->is_matmul) return {kZero, kNoSum};
    return {Times(call, product->elements)};
  }

  Decision Addmm(const TorchCall& call) { return {Plus(call.macs, call.out)}; }

  Decision Attention(const TorchCall& call) { return {IsFused(call) ? kZero : call.macs}; }

  Decision Recurrent(const TorchCall& call) {
    ledger().Assume(
        "biases of GRU and RNN are counted as parts of addmm, but those of an input in another "
        "order in memory");
    const auto sizes = RecurrentSizesOf(evidence(), trace(), call);
    if (!sizes.has_value() || !sizes->bias) return Products(call);
    const int64_t gates = call.op == Aten::kGru ? 3 : 1;
    const Expr biases = sizes->hidden * (sizes->layers * 2 - (sizes->batch_first ? 1 : 0));
    return {Plus(call.macs,
                 Times(call, biases * gates * sizes->directions * sizes->steps * sizes->batch))};
  }
};

constexpr AtenRules<PtflopsAten> kRules = {{
    {Aten::kOther, kNotCounted, kNotInTable},
    {Aten::kLinear, &PtflopsAten::Linear, kBias},
    {Aten::kMatmul, &PtflopsAten::Matmul},
    {Aten::kMm, &PtflopsAten::Products},
    {Aten::kBmm, &PtflopsAten::Products},
    {Aten::kMv, kNotCounted, kVector},
    {Aten::kAddmm, &PtflopsAten::Addmm, kBias},
    {Aten::kBaddbmm, kNotCounted, kNotInTable},
    {Aten::kEinsum, &PtflopsAten::Einsum},
    {Aten::kConv, &PtflopsAten::ProductsAndBias, kBias},
    {Aten::kConvTranspose, &PtflopsAten::ProductsAndBias, kBias},
    {Aten::kSdpa, &PtflopsAten::Attention, "the fused kernel is not in its table"},
    {Aten::kLstm, kNotCounted, kNotInTable},
    {Aten::kGru, &PtflopsAten::Recurrent},
    {Aten::kRnn, &PtflopsAten::Recurrent},
    {Aten::kBatchNorm, kNotCounted, kNotInTable},
    {Aten::kLayerNorm, kNotCounted, kNotInTable},
    {Aten::kGroupNorm, kNotCounted, kNotInTable},
    {Aten::kInstanceNorm, kNotCounted, kNotInTable},
    {Aten::kSoftmax, kNotCounted, kNotInTable},
    {Aten::kRelu, kNotCounted, kNotInTable},
    {Aten::kRelu6, kNotCounted, kNotInTable},
    {Aten::kLeakyRelu, kNotCounted, kNotInTable},
    {Aten::kElu, kNotCounted, kNotInTable},
    {Aten::kPrelu, kNotCounted, kNotInTable},
    {Aten::kGelu, kNotCounted, kNotInTable},
    {Aten::kSilu, kNotCounted, kNotInTable},
    {Aten::kMaxPool, kNotCounted, kNotInTable},
    {Aten::kAvgPool, kNotCounted, kNotInTable},
    {Aten::kAdaptiveAvgPool, kNotCounted, kNotInTable},
    {Aten::kAdaptiveMaxPool, kNotCounted, kNotInTable},
    {Aten::kMean, kNotCounted, kNotInTable},
    {Aten::kUpsampleNearest, kNotCounted, kNotInTable},
    {Aten::kUpsampleLinear, kNotCounted, kNotInTable},
    {Aten::kUpsampleBilinear, kNotCounted, kNotInTable},
    {Aten::kUpsampleBicubic, kNotCounted, kNotInTable},
    {Aten::kUpsampleTrilinear, kNotCounted, kNotInTable},
    {Aten::kGridSampler, kNotCounted, kNotInTable},
    {Aten::kAdd, kNotCounted, kNotInTable},
    {Aten::kMul, kNotCounted, kNotInTable},
    {Aten::kTranspose, kNotCounted, kNotInTable},
}};

Ledger Apply(Evidence* evidence) { return PtflopsAten(evidence).Run(kRules); }

}  // namespace
}  // namespace ptflops_aten

const Convention kPtflopsAten = {
    {"ptflops-aten", Unit::kMac, "MACs (get_model_complexity_info, backend=aten)",
     "ptflops (d612c75, 2025-08): ptflops/aten_ops.py:109-116, aten_engine.py; on a CPU",
     "mm, addmm, bmm, convolutions; 1 per result for a bias",
     "scaled_dot_product_attention, nn.MultiheadAttention's fast path, LSTM, baddbmm, everything "
     "else"},
    ptflops_aten::Apply,
};

}  // namespace onnxflops::convention
