// torchstat: hooks on modules without children; one image of batch 1 as input.
#include "absl/strings/str_cat.h"
#include "src/convention/conventions.h"
#include "src/convention/torch/tool.h"

namespace onnxflops::convention {
namespace torchstat {
namespace {

constexpr char kNotSupported[] = "not supported: printed as such, counted as 0";
constexpr char kAdded[] = "elements, added to the MACs";

class Torchstat : public TorchTool {
 public:
  explicit Torchstat(Evidence* evidence)
      : TorchTool(evidence, Unit::kMac,
                  {.classes = true, .modules = true, .products = false, .biases = true}) {}

  Ledger Run(const AtenRules<Torchstat>& rules) {
    // It makes its input itself: one tensor of random floats.
    if (std::string problem = FedFloats("torchstat", 1, "one input"); !problem.empty()) {
      Abort(std::move(problem));
    }
    ledger().Assume("torchstat runs: it needs pandas before 2 (DataFrame.append)");
    return Apply(rules.Counted(), [&](const TorchCall& call) { return rules.Decide(this, call); });
  }

  // ---- rules of rows
  Decision Linear(const TorchCall& call) {
    const Shape& x = call.shape_of_x();
    if (trace().nn_class(call) != NnClass::kLinear) {
      return {kZero, "a function, no module: not seen"};
    }
    if (x.ranked() && x.rank() != 2) {
      Abort(absl::StrCat("torchstat stops with AssertionError: nn.Linear ",
                         evidence().paths().path(trace().scope(call).module),
                         " takes an input of rank ", x.rank(), ", not 2"));
    }
    return Products(call);
  }

  Decision Conv(const TorchCall& call) {
    const Shape& x = call.shape_of_x();
    const bool is_image = x.ranked() && x.rank() == 4;
    if (trace().nn_class(call) != NnClass::kConv2d || !is_image) return {kZero, kNotSupported};
    return ProductsAndBias(call);
  }

  Decision BatchNorm(const TorchCall& call) {
    if (trace().nn_class(call) != NnClass::kBatchNorm2d) return {kZero, kNotSupported};
    return {Scaled(call.in, call.is_affine ? 2 : 1)};
  }

  Decision Activation(const TorchCall& call) {
    const NnClass c = trace().nn_class(call);
    if (c == NnClass::kNone || c == NnClass::kMultiheadAttention) return {kZero, kNotSupported};
    return ElementsIn(call);
  }

  Decision Pool(const TorchCall& call) {
    const NnClass c = trace().nn_class(call);
    if (c != NnClass::kMaxPool2d && c != NnClass::kAvgPool2d) return {kZero, kNotSupported};
    return ElementsIn(call);
  }

  // Batch, and height and width: the channels are dropped.
  Decision Upsample(const TorchCall& call) {
    const Shape& y = call.shape_of_y();
    if (trace().nn_class(call) == NnClass::kNone || !y.ranked() || y.rank() != 4)
      return {kZero, kNotSupported};
    return {Times(call, y[0] * y[2] * y[3])};
  }
};

constexpr char kBias[] = "1 per result where there is a bias";
constexpr char kNoChannels[] = "results without channels";

constexpr AtenRules<Torchstat> kRules = {{
    {Aten::kOther, kNotCounted, kNotSupported},
    {Aten::kLinear, &Torchstat::Linear},
    {Aten::kMatmul, kNotCounted, kNotSupported},
    {Aten::kMm, kNotCounted, kNotSupported},
    {Aten::kBmm, kNotCounted, kNotSupported},
    {Aten::kMv, kNotCounted, kNotSupported},
    {Aten::kAddmm, kNotCounted, kNotSupported},
    {Aten::kBaddbmm, kNotCounted, kNotSupported},
    {Aten::kEinsum, kNotCounted, kNotSupported},
    {Aten::kConv, &Torchstat::Conv, kBias},
    {Aten::kConvTranspose, kNotCounted, kNotSupported},
    {Aten::kSdpa, kNotCounted, kNotSupported},
    {Aten::kLstm, kNotCounted, kNotSupported},
    {Aten::kGru, kNotCounted, kNotSupported},
    {Aten::kRnn, kNotCounted, kNotSupported},
    {Aten::kBatchNorm, &Torchstat::BatchNorm, kAdded},
    {Aten::kLayerNorm, kNotCounted, kNotSupported},
    {Aten::kGroupNorm, kNotCounted, kNotSupported},
    {Aten::kInstanceNorm, kNotCounted, kNotSupported},
    {Aten::kSoftmax, kNotCounted, kNotSupported},
    {Aten::kRelu, &Torchstat::Activation, kAdded},
    {Aten::kRelu6, &Torchstat::Activation, kAdded},
    {Aten::kLeakyRelu, &Torchstat::Activation, kAdded},
    {Aten::kElu, &Torchstat::Activation, kAdded},
    {Aten::kPrelu, &Torchstat::Activation, kAdded},
    {Aten::kGelu, kNotCounted, kNotSupported},
    {Aten::kSilu, kNotCounted, kNotSupported},
    {Aten::kMaxPool, &Torchstat::Pool, kAdded},
    {Aten::kAvgPool, &Torchstat::Pool, kAdded},
    {Aten::kAdaptiveAvgPool, kNotCounted, kNotSupported},
    {Aten::kAdaptiveMaxPool, kNotCounted, kNotSupported},
    {Aten::kMean, kNotCounted, kNotSupported},
    {Aten::kUpsampleNearest, &Torchstat::Upsample, kNoChannels},
    {Aten::kUpsampleLinear, kNotCounted, kNotSupported},
    {Aten::kUpsampleBilinear, &Torchstat::Upsample, kNoChannels},
    {Aten::kUpsampleBicubic, kNotCounted, kNotSupported},
    {Aten::kUpsampleTrilinear, kNotCounted, kNotSupported},
    {Aten::kGridSampler, kNotCounted, kNotSupported},
    {Aten::kAdd, kNotCounted, kNotSupported},
    {Aten::kMul, kNotCounted, kNotSupported},
    {Aten::kTranspose, kNotCounted, kNotSupported},
}};

Ledger Apply(Evidence* evidence) { return Torchstat(evidence).Run(kRules); }

}  // namespace
}  // namespace torchstat

const Convention kTorchstat = {
    {"torchstat", Unit::kMac, "Flops (stat(model, input_size); multiply-accumulates and biases)",
     "torchstat (b52a3b0, 2018): torchstat/compute_flops.py, model_hook.py:22",
     "nn.Linear on matrices, nn.Conv2d with bias, nn.BatchNorm2d, ReLUs, 2-D pooling",
     "every other module and all functions; stops at an nn.Linear on anything but a matrix"},
    torchstat::Apply,
};

}  // namespace onnxflops::convention
