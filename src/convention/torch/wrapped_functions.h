// calflops, and DeepSpeed's profiler that it comes from: wrappers around functions of
// torch.nn.functional and of torch.
#ifndef ONNXFLOPS_SRC_CONVENTION_TORCH_WRAPPED_FUNCTIONS_H_
#define ONNXFLOPS_SRC_CONVENTION_TORCH_WRAPPED_FUNCTIONS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "src/convention/torch/tool.h"

namespace onnxflops::convention {

class WrappedFunctions : public TorchTool {
 public:
  explicit WrappedFunctions(Evidence* evidence)
      : TorchTool(evidence, Unit::kFlop, {.modules = true, .biases = true, .cells = true}) {}

  Ledger Run(const AtenRules<WrappedFunctions>& rules);
  // Where the model has no parameter: as the tool stops.
  void StopWithoutParameters(std::string reason);

  // ---- rules of rows Functions of torch.nn.functional, as in other tools.
  Decision Linear(const TorchCall& call);
  Decision Conv(const TorchCall& call);
  Decision Attention(const TorchCall& call);
  // torch.mm and torch.bmm; the wrapper does not know the keyword of their second operand.
  Decision Mm(const TorchCall& call);
  // prod(first) * last of second.
  Decision Matmul(const TorchCall& call);
  // The same if it is called by name; the operator @ has no wrapper.
  Decision MatmulByName(const TorchCall& call);
  Decision Addmm(const TorchCall& call);
  Decision Baddbmm(const TorchCall& call);
  Decision Einsum(const TorchCall& call);
  // Cin * (w[1] / groups) * kernel for every input position, so groups divide twice. The bias is
  // sized as if the convolution were not transposed.
  Decision ConvTransposeAsForward(const TorchCall& call);
  Decision ConvTranspose(const TorchCall& call);
  Decision Recurrent(const TorchCall& call);
  Decision BatchNorm(const TorchCall& call);
  Decision Normalization(const TorchCall& call);
  Decision Softmax(const TorchCall& call);
  Decision Activation(const TorchCall& call);
  Decision Relu6(const TorchCall& call);
  // By a scale factor: elements of the input, since the factor is lost; by a size: that size.
  Decision Resize(const TorchCall& call);
  // The same, and the factor counts.
  Decision ResizeByFactor(const TorchCall& call);
  Decision Pool(const TorchCall& call);
  // torch.add and torch.mul, as functions and as methods.
  Decision Operator(const TorchCall& call);
  // The same, by the result.
  Decision OperatorByResult(const TorchCall& call);

 private:
  using ResizeRule = Decision (WrappedFunctions::*)(const TorchCall& call);
  void AssumeOddWindow(const TorchCall& call);
  // Its wrapper computes with an argument that the source gives as a list.
  bool StopsAtList(const TorchCall& call, absl::string_view what);
  Decision Resize(const TorchCall& call, ResizeRule by_factor);
  Decision ByLostFactor(const TorchCall& call);
  Decision ByFactor(const TorchCall& call);
  // Number of images times output positions of a convolution of this input, plain or transposed.
  Expr Positions(const TorchCall& call, bool is_forward) const;
};

inline constexpr char kWrappedTwice[] = "2 per multiply-accumulate: the bias is left out";
inline constexpr char kWrappedTwiceAndBias[] = "2 per multiply-accumulate and the bias";
inline constexpr char kWrappedAndAdded[] = "and the elements of what is added";
inline constexpr char kWrappedFourDigits[] = "read from NumPy's path, which has four digits";
inline constexpr char kWrappedAsForward[] = "groups divide twice, the bias has the wrong size";
inline constexpr char kWrappedOwnFormula[] = "its own formula";
inline constexpr char kWrappedEstimate[] = "an estimate per element";
inline constexpr char kWrappedElements[] = "1 per element of the input";
inline constexpr char kWrappedPerResult[] = "1 per result";
inline constexpr char kWrappedFactorLost[] = "elements of the input: the factor is lost";
inline constexpr char kWrappedNoWrapper[] = "no wrapper: not seen";
inline constexpr char kWrappedOperators[] = "the operators + and * have no wrapper";

// The rows of calflops. DeepSpeed has others for some operators.
inline constexpr AtenRules<WrappedFunctions> kWrappedRules = {{
    {Aten::kOther, kNotCounted, kWrappedNoWrapper},
    {Aten::kLinear, &WrappedFunctions::Linear, kWrappedTwice},
    {Aten::kMatmul, &WrappedFunctions::MatmulByName, "prod(first) * last of second"},
    {Aten::kMm, kNotCounted, kWrappedNoWrapper},
    {Aten::kBmm, kNotCounted, kWrappedNoWrapper},
    {Aten::kMv, kNotCounted, kWrappedNoWrapper},
    {Aten::kAddmm, &WrappedFunctions::Addmm, kWrappedAndAdded},
    {Aten::kBaddbmm, &WrappedFunctions::Baddbmm, kWrappedAndAdded},
    {Aten::kEinsum, &WrappedFunctions::Einsum, kWrappedFourDigits},
    {Aten::kConv, &WrappedFunctions::Conv, kWrappedTwiceAndBias},
    {Aten::kConvTranspose, &WrappedFunctions::ConvTransposeAsForward, kWrappedAsForward},
    {Aten::kSdpa, kNotCounted, kWrappedNoWrapper},
    {Aten::kLstm, &WrappedFunctions::Recurrent, kWrappedOwnFormula},
    {Aten::kGru, &WrappedFunctions::Recurrent, kWrappedOwnFormula},
    {Aten::kRnn, &WrappedFunctions::Recurrent, kWrappedOwnFormula},
    {Aten::kBatchNorm, &WrappedFunctions::BatchNorm, kWrappedEstimate},
    {Aten::kLayerNorm, &WrappedFunctions::Normalization, kWrappedEstimate},
    {Aten::kGroupNorm, &WrappedFunctions::Normalization, kWrappedEstimate},
    {Aten::kInstanceNorm, &WrappedFunctions::Normalization, kWrappedEstimate},
    {Aten::kSoftmax, &WrappedFunctions::Softmax, kWrappedElements},
    {Aten::kRelu, &WrappedFunctions::Activation, kWrappedElements},
    {Aten::kRelu6, &WrappedFunctions::Relu6, kWrappedElements},
    {Aten::kLeakyRelu, &WrappedFunctions::Activation, kWrappedElements},
    {Aten::kElu, &WrappedFunctions::Activation, kWrappedElements},
    {Aten::kPrelu, &WrappedFunctions::Activation, kWrappedElements},
    {Aten::kGelu, &WrappedFunctions::Activation, kWrappedElements},
    {Aten::kSilu, &WrappedFunctions::Activation, kWrappedElements},
    {Aten::kMaxPool, &WrappedFunctions::Pool, kWrappedElements},
    {Aten::kAvgPool, &WrappedFunctions::Pool, kWrappedElements},
    {Aten::kAdaptiveAvgPool, &WrappedFunctions::Pool, kWrappedElements},
    {Aten::kAdaptiveMaxPool, &WrappedFunctions::Pool, kWrappedElements},
    {Aten::kMean, kNotCounted, kWrappedNoWrapper},
    {Aten::kUpsampleNearest, &WrappedFunctions::Resize, kWrappedFactorLost},
    {Aten::kUpsampleLinear, &WrappedFunctions::Resize, kWrappedFactorLost},
    {Aten::kUpsampleBilinear, &WrappedFunctions::Resize, kWrappedFactorLost},
    {Aten::kUpsampleBicubic, &WrappedFunctions::Resize, kWrappedFactorLost},
    {Aten::kUpsampleTrilinear, &WrappedFunctions::Resize, kWrappedFactorLost},
    {Aten::kGridSampler, kNotCounted, kWrappedNoWrapper},
    {Aten::kAdd, &WrappedFunctions::Operator, kWrappedOperators},
    {Aten::kMul, &WrappedFunctions::Operator, kWrappedOperators},
    {Aten::kTranspose, kNotCounted, kWrappedNoWrapper},
}};

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_TORCH_WRAPPED_FUNCTIONS_H_
