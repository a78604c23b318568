// Every family of cases, by name.
#ifndef ONNXFLOPS_TESTS_ORACLE_FAMILIES_H_
#define ONNXFLOPS_TESTS_ORACLE_FAMILIES_H_

#include "tests/oracle/cases.h"

namespace onnxflops::oracle {

struct Family {
  const char* name;
  void (*cases)(const Visit&);
};
inline constexpr Family kFamilies[] = {
    {"Unary", UnaryCases},
    {"Binary", BinaryCases},
    {"Variadic", VariadicCases},
    {"Clip", ClipCases},
    {"MatMul", MatMulCases},
    {"Gemm", GemmCases},
    {"Einsum", EinsumCases},
    {"Conv", ConvCases},
    {"ConvTranspose", ConvTransposeCases},
    {"Pool", PoolCases},
    {"Reduce", ReduceCases},
    {"Softmax", SoftmaxCases},
    {"Normalization", NormalizationCases},
    {"Recurrent", RecurrentCases},
    {"Attention", AttentionCases},
    {"Rotary", RotaryCases},
    {"Loss", LossCases},
    {"Quantize", QuantizeCases},
    {"IntegerProduct", IntegerProductCases},
    {"EinsumOrder", EinsumOrderCases},
    {"QLinear", QLinearCases},
    {"DeformConv", DeformConvCases},
    {"Resize", ResizeCases},
    {"Scan", ScanCases},
    {"Selection", SelectionCases},
    {"Fourier", FourierCases},
    {"FusedElementwise", FusedElementwiseCases},
    {"FusedMatMul", FusedMatMulCases},
    {"ChannelsLast", ChannelsLastCases},
    {"FusedQuantized", FusedQuantizedCases},
    {"LinearModel", LinearModelCases},
    {"Generator", GeneratorCases},
    {"WindowFunction", WindowFunctionCases},
    {"MultiHeadAttention", MultiHeadAttentionCases},
    {"ChannelsLastNormalization", ChannelsLastNormalizationCases},
    {"LinearAttention", LinearAttentionCases},
    {"CausalConv", CausalConvCases},
    {"FlexAttention", FlexAttentionCases},
    {"LinearClassifier", LinearClassifierCases},
    {"SupportVector", SupportVectorCases},
    {"Imputer", ImputerCases},
    {"Optimizer", OptimizerCases},
    {"RoiAlign", RoiAlignCases},
    {"AffineGrid", AffineGridCases},
    {"MelWeight", MelWeightCases},
    {"Blocked", BlockedCases},
    {"ChannelsLastQuantized", ChannelsLastQuantizedCases},
    {"ChannelsLastMore", ChannelsLastMoreCases},
    {"RuntimeSampling", RuntimeSamplingCases},
    {"CropAndResize", CropAndResizeCases},
    {"RuntimeElementwise", RuntimeElementwiseCases},
    {"RuntimeAlgorithm", RuntimeAlgorithmCases},
    {"RuntimeMatMul", RuntimeMatMulCases},
    {"QOrderedMatMul", QOrderedMatMulCases},
    {"Experts", ExpertsCases},
    {"QuantizedLstm", QuantizedLstmCases},
    {"PackedAttention", PackedAttentionCases},
    {"DecoderAttention", DecoderAttentionCases},
    {"Longformer", LongformerCases},
    {"RuntimePosition", RuntimePositionCases},
    {"PackedState", PackedStateCases},
    {"RuntimeInteger", RuntimeIntegerCases},
    {"Float8MatMul", Float8MatMulCases},
    {"NGramHash", NGramHashCases},
    {"GatedProjection", GatedProjectionCases},
    {"LowRankMix", LowRankMixCases},
    {"NormRotary", NormRotaryCases},
    {"GroupRouter", GroupRouterCases},
    {"PackedFormat", PackedFormatCases},
    {"PackedExperts", PackedExpertsCases},
    {"PackedAdapter", PackedAdapterCases},
    {"MambaVerify", MambaVerifyCases},
    {"Replay", ReplayCases},
    {"PrefixCommit", PrefixCommitCases},
    {"IndexerMerge", IndexerMergeCases},
};

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_FAMILIES_H_
