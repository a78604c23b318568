// How it works. Two tables map names to enums: ATen operators, and classes of torch.nn by their
// qualified names. Several names are one operator, if tools count them alike (aten._softmax and
// aten.softmax). A name that is in no table is kOther or kNone, and no rule counts it. The
// questions below compare with the first and last of a range of enumerators, so the order in
// names.h matters. A class counts only by its exact qualified name: hooks of tools do not see
// classes derived from it.
#include "src/convention/torch/names.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"

namespace onnxflops::convention {
namespace {

struct AtenRow {
  absl::string_view name;
  Aten op;
};
constexpr AtenRow kAten[] = {
    {"linear", Aten::kLinear},
    {"matmul", Aten::kMatmul},
    {"mm", Aten::kMm},
    {"bmm", Aten::kBmm},
    {"mv", Aten::kMv},
    {"dot", Aten::kMv},
    {"addmm", Aten::kAddmm},
    {"baddbmm", Aten::kBaddbmm},
    {"einsum", Aten::kEinsum},
    {"convolution", Aten::kConv},
    {"conv1d", Aten::kConv},
    {"conv2d", Aten::kConv},
    {"conv3d", Aten::kConv},
    {"_convolution", Aten::kConv},
    {"conv_transpose1d", Aten::kConvTranspose},
    {"conv_transpose2d", Aten::kConvTranspose},
    {"conv_transpose3d", Aten::kConvTranspose},
    {"scaled_dot_product_attention", Aten::kSdpa},
    {"_scaled_dot_product_flash_attention", Aten::kSdpa},
    {"_scaled_dot_product_flash_attention_for_cpu", Aten::kSdpa},
    {"_scaled_dot_product_efficient_attention", Aten::kSdpa},
    {"_scaled_dot_product_cudnn_attention", Aten::kSdpa},
    {"lstm", Aten::kLstm},
    {"gru", Aten::kGru},
    {"rnn_tanh", Aten::kRnn},
    {"rnn_relu", Aten::kRnn},
    {"batch_norm", Aten::kBatchNorm},
    {"_native_batch_norm_legit", Aten::kBatchNorm},
    {"_native_batch_norm_legit_no_training", Aten::kBatchNorm},
    {"native_batch_norm", Aten::kBatchNorm},
    {"layer_norm", Aten::kLayerNorm},
    {"native_layer_norm", Aten::kLayerNorm},
    {"group_norm", Aten::kGroupNorm},
    {"native_group_norm", Aten::kGroupNorm},
    {"instance_norm", Aten::kInstanceNorm},
    {"softmax", Aten::kSoftmax},
    {"_softmax", Aten::kSoftmax},
    {"relu", Aten::kRelu},
    {"hardtanh", Aten::kRelu6},
    {"relu6", Aten::kRelu6},
    {"leaky_relu", Aten::kLeakyRelu},
    {"elu", Aten::kElu},
    {"prelu", Aten::kPrelu},
    {"_prelu_kernel", Aten::kPrelu},
    {"gelu", Aten::kGelu},
    {"silu", Aten::kSilu},
    {"max_pool1d", Aten::kMaxPool},
    {"max_pool2d", Aten::kMaxPool},
    {"max_pool3d", Aten::kMaxPool},
    {"max_pool2d_with_indices", Aten::kMaxPool},
    {"max_pool3d_with_indices", Aten::kMaxPool},
    {"avg_pool1d", Aten::kAvgPool},
    {"avg_pool2d", Aten::kAvgPool},
    {"avg_pool3d", Aten::kAvgPool},
    {"adaptive_avg_pool1d", Aten::kAdaptiveAvgPool},
    {"adaptive_avg_pool2d", Aten::kAdaptiveAvgPool},
    {"adaptive_avg_pool3d", Aten::kAdaptiveAvgPool},
    {"_adaptive_avg_pool2d", Aten::kAdaptiveAvgPool},
    {"_adaptive_avg_pool3d", Aten::kAdaptiveAvgPool},
    {"adaptive_max_pool1d", Aten::kAdaptiveMaxPool},
    {"adaptive_max_pool2d", Aten::kAdaptiveMaxPool},
    {"adaptive_max_pool3d", Aten::kAdaptiveMaxPool},
    {"mean", Aten::kMean},
    {"upsample_nearest1d", Aten::kUpsampleNearest},
    {"upsample_nearest2d", Aten::kUpsampleNearest},
    {"upsample_nearest3d", Aten::kUpsampleNearest},
    {"_upsample_nearest_exact1d", Aten::kUpsampleNearest},
    {"_upsample_nearest_exact2d", Aten::kUpsampleNearest},
    {"_upsample_nearest_exact3d", Aten::kUpsampleNearest},
    {"upsample_linear1d", Aten::kUpsampleLinear},
    {"upsample_bilinear2d", Aten::kUpsampleBilinear},
    {"_upsample_bilinear2d_aa", Aten::kUpsampleBilinear},
    {"upsample_bicubic2d", Aten::kUpsampleBicubic},
    {"_upsample_bicubic2d_aa", Aten::kUpsampleBicubic},
    {"upsample_trilinear3d", Aten::kUpsampleTrilinear},
    {"grid_sampler", Aten::kGridSampler},
    {"grid_sampler_2d", Aten::kGridSampler},
    {"add", Aten::kAdd},
    {"mul", Aten::kMul},
    {"transpose", Aten::kTranspose},
};

struct ClassRow {
  absl::string_view name;  // after "torch.nn.modules."
  NnClass c;
};
constexpr ClassRow kClasses[] = {
    {"linear.Linear", NnClass::kLinear},
    {"conv.Conv1d", NnClass::kConv1d},
    {"conv.Conv2d", NnClass::kConv2d},
    {"conv.Conv3d", NnClass::kConv3d},
    {"conv.ConvTranspose1d", NnClass::kConvTranspose1d},
    {"conv.ConvTranspose2d", NnClass::kConvTranspose2d},
    {"conv.ConvTranspose3d", NnClass::kConvTranspose3d},
    {"batchnorm.BatchNorm1d", NnClass::kBatchNorm1d},
    {"batchnorm.BatchNorm2d", NnClass::kBatchNorm2d},
    {"batchnorm.BatchNorm3d", NnClass::kBatchNorm3d},
    {"batchnorm.SyncBatchNorm", NnClass::kSyncBatchNorm},
    {"normalization.LayerNorm", NnClass::kLayerNorm},
    {"normalization.GroupNorm", NnClass::kGroupNorm},
    {"instancenorm.InstanceNorm1d", NnClass::kInstanceNorm1d},
    {"instancenorm.InstanceNorm2d", NnClass::kInstanceNorm2d},
    {"instancenorm.InstanceNorm3d", NnClass::kInstanceNorm3d},
    {"activation.PReLU", NnClass::kPReLU},
    {"activation.Softmax", NnClass::kSoftmax},
    {"activation.ReLU", NnClass::kReLU},
    {"activation.ReLU6", NnClass::kReLU6},
    {"activation.LeakyReLU", NnClass::kLeakyReLU},
    {"activation.ELU", NnClass::kELU},
    {"activation.GELU", NnClass::kGELU},
    {"activation.Sigmoid", NnClass::kSigmoid},
    {"activation.MultiheadAttention", NnClass::kMultiheadAttention},
    {"pooling.MaxPool1d", NnClass::kMaxPool1d},
    {"pooling.MaxPool2d", NnClass::kMaxPool2d},
    {"pooling.MaxPool3d", NnClass::kMaxPool3d},
    {"pooling.AvgPool1d", NnClass::kAvgPool1d},
    {"pooling.AvgPool2d", NnClass::kAvgPool2d},
    {"pooling.AvgPool3d", NnClass::kAvgPool3d},
    {"pooling.AdaptiveMaxPool1d", NnClass::kAdaptiveMaxPool1d},
    {"pooling.AdaptiveMaxPool2d", NnClass::kAdaptiveMaxPool2d},
    {"pooling.AdaptiveMaxPool3d", NnClass::kAdaptiveMaxPool3d},
    {"pooling.AdaptiveAvgPool1d", NnClass::kAdaptiveAvgPool1d},
    {"pooling.AdaptiveAvgPool2d", NnClass::kAdaptiveAvgPool2d},
    {"pooling.AdaptiveAvgPool3d", NnClass::kAdaptiveAvgPool3d},
    {"upsampling.Upsample", NnClass::kUpsample},
    {"upsampling.UpsamplingBilinear2d", NnClass::kUpsamplingBilinear2d},
    {"upsampling.UpsamplingNearest2d", NnClass::kUpsamplingNearest2d},
    {"rnn.LSTM", NnClass::kLSTM},
    {"rnn.GRU", NnClass::kGRU},
    {"rnn.RNN", NnClass::kRNN},
    {"rnn.LSTMCell", NnClass::kRecurrentCell},
    {"rnn.GRUCell", NnClass::kRecurrentCell},
    {"rnn.RNNCell", NnClass::kRecurrentCell},
};
constexpr absl::string_view kNnModules = "torch.nn.modules.";

}  // namespace

absl::string_view AtenName(absl::string_view target) {
  const size_t dot = target.find('.');
  if (dot == absl::string_view::npos) return target;
  target.remove_prefix(dot + 1);
  return target.substr(0, target.find('.'));
}

Aten AtenOf(absl::string_view target) {
  static const auto& ops = *[] {
    auto* map = new absl::flat_hash_map<absl::string_view, Aten>();
    for (const AtenRow& row : kAten) map->emplace(row.name, row.op);
    return map;
  }();
  if (!absl::StartsWith(target, "aten.")) return Aten::kOther;
  const auto it = ops.find(AtenName(target));
  return it == ops.end() ? Aten::kOther : it->second;
}

absl::string_view AtenLabel(Aten op) {
  for (const AtenRow& row : kAten) {
    if (row.op == op) return row.name;
  }
  return "an operator";
}

bool IsContraction(Aten op) { return op >= Aten::kLinear && op <= Aten::kRnn; }
bool IsRecurrent(Aten op) { return op == Aten::kLstm || op == Aten::kGru || op == Aten::kRnn; }
bool IsMatmul(Aten op) { return op >= Aten::kMatmul && op <= Aten::kBmm; }
bool IsActivation(Aten op) { return op >= Aten::kRelu && op <= Aten::kSilu; }
bool IsNormalization(Aten op) { return op >= Aten::kBatchNorm && op <= Aten::kInstanceNorm; }
bool IsPooling(Aten op) { return op >= Aten::kMaxPool && op <= Aten::kMean; }
bool IsResizing(Aten op) { return op >= Aten::kUpsampleNearest && op <= Aten::kGridSampler; }

NnClass NnClassOf(absl::string_view qualified_name) {
  static const auto& classes = *[] {
    auto* map = new absl::flat_hash_map<absl::string_view, NnClass>();
    for (const ClassRow& row : kClasses) map->emplace(row.name, row.c);
    return map;
  }();
  // The class moved; the old name still imports it.
  if (qualified_name == "timm.models.vision_transformer.Attention" ||
      qualified_name == "timm.layers.attention.Attention") {
    return NnClass::kTimmAttention;
  }
  if (!absl::StartsWith(qualified_name, kNnModules)) return NnClass::kNone;
  const auto it = classes.find(qualified_name.substr(kNnModules.size()));
  return it == classes.end() ? NnClass::kNone : it->second;
}

Aten OperatorOf(NnClass c) {
  if (c == NnClass::kLinear) return Aten::kLinear;
  if (IsConvClass(c)) return Aten::kConv;
  if (IsConvTransposeClass(c)) return Aten::kConvTranspose;
  if (IsBatchNormClass(c)) return Aten::kBatchNorm;
  if (IsInstanceNormClass(c)) return Aten::kInstanceNorm;
  if (IsAdaptiveAvgPoolClass(c)) return Aten::kAdaptiveAvgPool;
  if (IsUpsampleClass(c)) return Aten::kUpsampleBilinear;
  if (c >= NnClass::kMaxPool1d && c <= NnClass::kMaxPool3d) return Aten::kMaxPool;
  if (c >= NnClass::kAvgPool1d && c <= NnClass::kAvgPool3d) return Aten::kAvgPool;
  if (c >= NnClass::kAdaptiveMaxPool1d && c <= NnClass::kAdaptiveMaxPool3d) {
    return Aten::kAdaptiveMaxPool;
  }
  switch (c) {
    case NnClass::kLayerNorm:
      return Aten::kLayerNorm;
    case NnClass::kGroupNorm:
      return Aten::kGroupNorm;
    case NnClass::kPReLU:
      return Aten::kPrelu;
    case NnClass::kSoftmax:
      return Aten::kSoftmax;
    case NnClass::kReLU:
      return Aten::kRelu;
    case NnClass::kLeakyReLU:
      return Aten::kLeakyRelu;
    case NnClass::kELU:
      return Aten::kElu;
    case NnClass::kGELU:
      return Aten::kGelu;
    case NnClass::kLSTM:
      return Aten::kLstm;
    case NnClass::kGRU:
      return Aten::kGru;
    case NnClass::kRNN:
      return Aten::kRnn;
    default:
      return Aten::kOther;
  }
}

bool IsConvClass(NnClass c) { return c >= NnClass::kConv1d && c <= NnClass::kConv3d; }
bool IsConvTransposeClass(NnClass c) {
  return c >= NnClass::kConvTranspose1d && c <= NnClass::kConvTranspose3d;
}
bool IsBatchNormClass(NnClass c) {
  return c >= NnClass::kBatchNorm1d && c <= NnClass::kSyncBatchNorm;
}
bool IsInstanceNormClass(NnClass c) {
  return c >= NnClass::kInstanceNorm1d && c <= NnClass::kInstanceNorm3d;
}
bool IsUpsampleClass(NnClass c) {
  return c >= NnClass::kUpsample && c <= NnClass::kUpsamplingNearest2d;
}
bool IsAdaptiveMaxPoolClass(NnClass c) {
  return c >= NnClass::kAdaptiveMaxPool1d && c <= NnClass::kAdaptiveMaxPool3d;
}
bool IsAdaptiveAvgPoolClass(NnClass c) {
  return c >= NnClass::kAdaptiveAvgPool1d && c <= NnClass::kAdaptiveAvgPool3d;
}

}  // namespace onnxflops::convention
