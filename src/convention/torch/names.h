// The vocabulary of PyTorch that the rules of other tools are written in: ATen operators and the
// classes of torch.nn that tools hook.
#ifndef ONNXFLOPS_SRC_CONVENTION_TORCH_NAMES_H_
#define ONNXFLOPS_SRC_CONVENTION_TORCH_NAMES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "absl/strings/string_view.h"

namespace onnxflops::convention {

enum class Aten : uint8_t {
  kOther,
  // Contractions.
  kLinear,
  kMatmul,
  kMm,
  kBmm,
  kMv,  // and dot
  kAddmm,
  kBaddbmm,
  kEinsum,
  kConv,
  kConvTranspose,
  kSdpa,
  kLstm,
  kGru,
  kRnn,
  // Normalisation.
  kBatchNorm,
  kLayerNorm,
  kGroupNorm,
  kInstanceNorm,
  // Activation.
  kSoftmax,
  kRelu,
  kRelu6,
  kLeakyRelu,
  kElu,
  kPrelu,
  kGelu,
  kSilu,
  // Pooling and resizing.
  kMaxPool,
  kAvgPool,
  kAdaptiveAvgPool,
  kAdaptiveMaxPool,
  kMean,
  kUpsampleNearest,
  kUpsampleLinear,
  kUpsampleBilinear,
  kUpsampleBicubic,
  kUpsampleTrilinear,
  kGridSampler,
  // Elementwise.
  kAdd,
  kMul,
  kTranspose,
  kEnd,  // not an operator
};

// A new operator needs a row in the table of every tool (aten_rules.h).
inline constexpr size_t kNumAtens = static_cast<size_t>(Aten::kEnd);

template <size_t kSize>
bool IsOneOf(absl::string_view name, const absl::string_view (&names)[kSize]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// The operator in "aten.conv2d.default"; kOther for operators without a rule.
Aten AtenOf(absl::string_view target);
// "aten.conv2d.default" -> "conv2d".
absl::string_view AtenName(absl::string_view target);
// "linear": the first operator of the kind, for messages.
absl::string_view AtenLabel(Aten op);
// A product of matrices, a convolution, attention or a recurrent layer.
bool IsContraction(Aten op);
bool IsRecurrent(Aten op);
bool IsMatmul(Aten op);  // matmul, mm, bmm: the possible operators of @
bool IsNormalization(Aten op);
bool IsActivation(Aten op);  // not softmax
bool IsPooling(Aten op);
bool IsResizing(Aten op);

enum class NnClass : uint8_t {
  kNone,  // any other class
  kLinear,
  kConv1d,
  kConv2d,
  kConv3d,
  kConvTranspose1d,
  kConvTranspose2d,
  kConvTranspose3d,
  kBatchNorm1d,
  kBatchNorm2d,
  kBatchNorm3d,
  kSyncBatchNorm,
  kLayerNorm,
  kGroupNorm,
  kInstanceNorm1d,
  kInstanceNorm2d,
  kInstanceNorm3d,
  kPReLU,
  kSoftmax,
  kReLU,
  kReLU6,
  kLeakyReLU,
  kELU,
  kGELU,
  kMaxPool1d,
  kMaxPool2d,
  kMaxPool3d,
  kAvgPool1d,
  kAvgPool2d,
  kAvgPool3d,
  kAdaptiveMaxPool1d,
  kAdaptiveMaxPool2d,
  kAdaptiveMaxPool3d,
  kAdaptiveAvgPool1d,
  kAdaptiveAvgPool2d,
  kAdaptiveAvgPool3d,
  kUpsample,
  kUpsamplingBilinear2d,
  kUpsamplingNearest2d,
  kLSTM,
  kGRU,
  kRNN,
  kRecurrentCell,  // LSTMCell, GRUCell, RNNCell
  kMultiheadAttention,
  kTimmAttention,  // timm.models.vision_transformer.Attention, which ptflops knows
  kSigmoid,
};

// The class of "torch.nn.modules.conv.Conv2d": exactly these classes, since tools hook exact
// classes.
NnClass NnClassOf(absl::string_view qualified_name);
// The operator that a module of this class calls; kOther if no tool has a rule for the class.
Aten OperatorOf(NnClass c);
bool IsConvClass(NnClass c);           // Conv1d to Conv3d
bool IsConvTransposeClass(NnClass c);  // ConvTranspose1d to ConvTranspose3d
bool IsBatchNormClass(NnClass c);      // SyncBatchNorm, too
bool IsInstanceNormClass(NnClass c);
bool IsAdaptiveAvgPoolClass(NnClass c);
bool IsAdaptiveMaxPoolClass(NnClass c);
bool IsUpsampleClass(NnClass c);

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_TORCH_NAMES_H_
