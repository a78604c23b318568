// The cases of the oracle test, family by family: one node on concrete inputs, and the loop that
// executes it.
#ifndef ONNXFLOPS_TESTS_ORACLE_CASES_H_
#define ONNXFLOPS_TESTS_ORACLE_CASES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/oracle/rule_cost.h"
#include "tests/oracle/shapes.h"

namespace onnxflops::oracle {

using Loop = std::function<Outputs()>;
// What a family of cases is told to: compare it, or only take note that it is there.
using Visit = std::function<void(const Case&, const Loop&)>;

inline constexpr int kFloat = 1, kUint8 = 2, kInt8 = 3, kInt32 = 6, kInt64 = 7, kBool = 9;
inline constexpr char kMl[] = "ai.onnx.ml";
inline constexpr char kMs[] = "com.microsoft";
inline constexpr char kNhwc[] = "com.ms.internal.nhwc";

Input In(Sizes dims, int dtype = kFloat);
Input Ints(std::vector<int64_t> values);
Input Absent();

// Every list of `rank` sizes in 1..most.
std::vector<Sizes> Shapes(size_t rank, int64_t most);

// `rank` sizes, all different, from `first` on.
Sizes Spatial(size_t rank, int64_t first);

struct Window;
// Windows whose axes differ in everything.
std::vector<Window> Windows(size_t rank, bool ceil);
std::vector<std::pair<std::string, AttributeValue>> WindowAttributes(const Window& w);

// Every set of axes but the empty one, odd axes counted from the end.
std::vector<Sizes> SubsetsOfAxes(size_t rank);

inline Counted FloatAdd(Counted x, Counted y) { return x + y; }
inline Counted FloatMul(Counted x, Counted y) { return x * y; }

void UnaryCases(const Visit& visit);
void BinaryCases(const Visit& visit);
void VariadicCases(const Visit& visit);
void ClipCases(const Visit& visit);
void MatMulCases(const Visit& visit);
void GemmCases(const Visit& visit);
void EinsumCases(const Visit& visit);
void ConvCases(const Visit& visit);
void ConvTransposeCases(const Visit& visit);
void PoolCases(const Visit& visit);
void ReduceCases(const Visit& visit);
void SoftmaxCases(const Visit& visit);
void NormalizationCases(const Visit& visit);
void RecurrentCases(const Visit& visit);
void AttentionCases(const Visit& visit);
void RotaryCases(const Visit& visit);
void LossCases(const Visit& visit);
void QuantizeCases(const Visit& visit);
void IntegerProductCases(const Visit& visit);
void EinsumOrderCases(const Visit& visit);
void QLinearCases(const Visit& visit);
void DeformConvCases(const Visit& visit);
void ResizeCases(const Visit& visit);
void ScanCases(const Visit& visit);
void SelectionCases(const Visit& visit);
void FourierCases(const Visit& visit);
void FusedElementwiseCases(const Visit& visit);
void FusedMatMulCases(const Visit& visit);
void ChannelsLastCases(const Visit& visit);
void FusedQuantizedCases(const Visit& visit);
void LinearModelCases(const Visit& visit);
void GeneratorCases(const Visit& visit);
void WindowFunctionCases(const Visit& visit);
void MultiHeadAttentionCases(const Visit& visit);
void ChannelsLastNormalizationCases(const Visit& visit);
void LinearAttentionCases(const Visit& visit);
void CausalConvCases(const Visit& visit);
void FlexAttentionCases(const Visit& visit);
void LinearClassifierCases(const Visit& visit);
void SupportVectorCases(const Visit& visit);
void ImputerCases(const Visit& visit);
void OptimizerCases(const Visit& visit);
void RoiAlignCases(const Visit& visit);
void AffineGridCases(const Visit& visit);
void MelWeightCases(const Visit& visit);
void BlockedCases(const Visit& visit);
void ChannelsLastQuantizedCases(const Visit& visit);
void ChannelsLastMoreCases(const Visit& visit);
void RuntimeSamplingCases(const Visit& visit);
void CropAndResizeCases(const Visit& visit);
void RuntimeElementwiseCases(const Visit& visit);
void RuntimeAlgorithmCases(const Visit& visit);
void RuntimeMatMulCases(const Visit& visit);
void QOrderedMatMulCases(const Visit& visit);
void ExpertsCases(const Visit& visit);
void QuantizedLstmCases(const Visit& visit);
void PackedAttentionCases(const Visit& visit);
void DecoderAttentionCases(const Visit& visit);
void LongformerCases(const Visit& visit);
void RuntimePositionCases(const Visit& visit);
void PackedStateCases(const Visit& visit);
void RuntimeIntegerCases(const Visit& visit);
void Float8MatMulCases(const Visit& visit);
void NGramHashCases(const Visit& visit);
void GatedProjectionCases(const Visit& visit);
void LowRankMixCases(const Visit& visit);
void NormRotaryCases(const Visit& visit);
void GroupRouterCases(const Visit& visit);
void PackedFormatCases(const Visit& visit);
void PackedExpertsCases(const Visit& visit);
void PackedAdapterCases(const Visit& visit);
void MambaVerifyCases(const Visit& visit);
void ReplayCases(const Visit& visit);
void PrefixCommitCases(const Visit& visit);
void IndexerMergeCases(const Visit& visit);

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_CASES_H_
