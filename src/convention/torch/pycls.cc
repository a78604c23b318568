// pycls: net.complexity() adds up what the *_cx functions say of the layers that a model of pycls
// is made of. It runs nothing, so a model of another library has the figure that the same layers
// would have there. flops are the MACs of convolutions, linear layers and attention products, and
// the additions of biases; acts are the elements that these write, and max pooling.
#include <optional>

#include "src/convention/conventions.h"
#include "src/convention/torch/tool.h"

namespace onnxflops::convention {
namespace pycls {
namespace {

constexpr char kNoFunction[] = "no *_cx function counts it";
constexpr char kBias[] = "1 per result where there is a bias";
constexpr char kWritten[] = "elements that it writes";

class Pycls : public TorchTool {
 public:
  Pycls(Evidence* evidence, Unit unit)
      : TorchTool(evidence, unit, {.biases = unit == Unit::kMac}) {}

  Ledger Run(const AtenRules<Pycls>& rules) {
    return Apply(rules.Counted(), [&](const TorchCall& call) { return rules.Decide(this, call); });
  }

  // ---- rules of rows
  // The scores, and the values that they weight. A score has a product for each feature of a query,
  // and one for each of a value.
  Decision AttentionOut(const TorchCall& call) {
    const Shape &q = call.shape_of_x(), &y = call.shape_of_y();
    if (!q.ranked() || !y.ranked() || q.rank() == 0 || y.rank() == 0) return {call.out};
    const std::optional<Expr> scores =
        DivideExactly(evidence().amount(call.macs), q[q.rank() - 1] + y[y.rank() - 1]);
    return {scores ? Plus(call.out, evidence().Intern(*scores)) : call.out};
  }
};

constexpr AtenRules<Pycls> kRules = {{
    {Aten::kOther, kNotCounted, kNoFunction},
    {Aten::kLinear, &Pycls::ProductsAndBias, kBias},
    {Aten::kMatmul, &Pycls::Products},
    {Aten::kMm, &Pycls::Products},
    {Aten::kBmm, &Pycls::Products},
    {Aten::kMv, kNotCounted, kNoFunction},
    {Aten::kAddmm, &Pycls::ProductsAndBias, kBias},
    {Aten::kBaddbmm, &Pycls::Products},
    {Aten::kEinsum, &Pycls::Products},
    {Aten::kConv, &Pycls::ProductsAndBias, kBias},
    {Aten::kConvTranspose, kNotCounted, kNoFunction},
    {Aten::kSdpa, &Pycls::Products},
    {Aten::kLstm, kNotCounted, kNoFunction},
    {Aten::kGru, kNotCounted, kNoFunction},
    {Aten::kRnn, kNotCounted, kNoFunction},
    {Aten::kBatchNorm, kNotCounted, kNoFunction},
    {Aten::kLayerNorm, kNotCounted, kNoFunction},
    {Aten::kGroupNorm, kNotCounted, kNoFunction},
    {Aten::kInstanceNorm, kNotCounted, kNoFunction},
    {Aten::kSoftmax, kNotCounted, kNoFunction},
    {Aten::kRelu, kNotCounted, kNoFunction},
    {Aten::kRelu6, kNotCounted, kNoFunction},
    {Aten::kLeakyRelu, kNotCounted, kNoFunction},
    {Aten::kElu, kNotCounted, kNoFunction},
    {Aten::kPrelu, kNotCounted, kNoFunction},
    {Aten::kGelu, kNotCounted, kNoFunction},
    {Aten::kSilu, kNotCounted, kNoFunction},
    {Aten::kMaxPool, kNotCounted, kNoFunction},
    {Aten::kAvgPool, kNotCounted, kNoFunction},
    {Aten::kAdaptiveAvgPool, kNotCounted, kNoFunction},
    {Aten::kAdaptiveMaxPool, kNotCounted, kNoFunction},
    {Aten::kMean, kNotCounted, kNoFunction},
    {Aten::kUpsampleNearest, kNotCounted, kNoFunction},
    {Aten::kUpsampleLinear, kNotCounted, kNoFunction},
    {Aten::kUpsampleBilinear, kNotCounted, kNoFunction},
    {Aten::kUpsampleBicubic, kNotCounted, kNoFunction},
    {Aten::kUpsampleTrilinear, kNotCounted, kNoFunction},
    {Aten::kGridSampler, kNotCounted, kNoFunction},
    {Aten::kAdd, kNotCounted, kNoFunction},
    {Aten::kMul, kNotCounted, kNoFunction},
    {Aten::kTranspose, kNotCounted, kNoFunction},
}};

constexpr AtenRules<Pycls> kActivationRules = kRules.With({
    {Aten::kLinear, &Pycls::ElementsOut},
    {Aten::kMatmul, &Pycls::ElementsOut},
    {Aten::kMm, &Pycls::ElementsOut},
    {Aten::kBmm, &Pycls::ElementsOut},
    {Aten::kAddmm, &Pycls::ElementsOut},
    {Aten::kBaddbmm, &Pycls::ElementsOut},
    {Aten::kEinsum, &Pycls::ElementsOut},
    {Aten::kConv, &Pycls::ElementsOut},
    {Aten::kSdpa, &Pycls::AttentionOut, "its scores and its results"},
    {Aten::kMaxPool, &Pycls::ElementsOut, kWritten},
});

Ledger Apply(Evidence* evidence) { return Pycls(evidence, Unit::kMac).Run(kRules); }
Ledger ApplyActivations(Evidence* evidence) {
  return Pycls(evidence, Unit::kActivation).Run(kActivationRules);
}

constexpr char kSource[] = "pycls (5719de6, 2023-08): pycls/models/blocks.py:77-135, 190-210";

}  // namespace
}  // namespace pycls

const Convention kPycls = {
    {"pycls", Unit::kMac, "flops (net.complexity(); multiply-accumulates and biases)",
     pycls::kSource,
     "convolutions and linear layers, 1 per result for a bias, and the products of attention",
     "transposed convolutions, LSTM; norms, activation functions, softmax, pooling, additions"},
    pycls::Apply,
};

const Convention kPyclsActivations = {
    {"pycls-activations", Unit::kActivation, "acts (net.complexity())", pycls::kSource,
     "elements that convolutions, linear layers, attention products and max pooling write",
     "transposed convolutions, LSTM; norms, activation functions, softmax, other pooling"},
    pycls::ApplyActivations,
};

}  // namespace onnxflops::convention
