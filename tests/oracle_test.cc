// The cost rules against textbook loops: every operator of a family, over small shapes and
// attributes, must cost by its rule what its loop executes, kind by kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/registry.h"
#include "tests/fused_pairs.h"
#include "tests/oracle/cases.h"
#include "tests/oracle/rule_cost.h"

namespace onnxflops::oracle {
namespace {

// Whether the rule agrees with the loop; reports it when not.
bool Compare(const Case& c, const Loop& loop) {
  SCOPED_TRACE(Describe(c));
  Recorder recorder;
  const Outputs outputs = loop();
  const absl::StatusOr<RuleResult> rule = CostByRule(c);
  if (!outputs.has_value()) {
    EXPECT_EQ(rule.status().code(), absl::StatusCode::kInvalidArgument) << rule.status();
    return rule.status().code() == absl::StatusCode::kInvalidArgument;
  }
  EXPECT_TRUE(rule.ok()) << rule.status();
  if (!rule.ok()) return false;
  const bool same_dims = outputs->empty() || rule->output_dims == *outputs;
  const Work& work = recorder.work();
  EXPECT_EQ(rule->work.flops, work.flops);
  EXPECT_EQ(rule->work.int_ops, work.int_ops);
  if (!same_dims) {
    EXPECT_EQ(rule->output_dims, *outputs);
  }
  return same_dims && rule->work == work;
}

struct Family {
  const char* name;
  void (*cases)(const Visit&);
};
constexpr Family kFamilies[] = {
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
};

class OracleTest : public testing::TestWithParam<Family> {};

TEST_P(OracleTest, RuleCostsWhatTheLoopExecutes) {
  int cases = 0;
  std::set<std::string> failed;
  GetParam().cases([&](const Case& c, const Loop& loop) {
    ++cases;
    // One report of an operator is enough.
    const std::string op = absl::StrCat(c.domain, ".", c.op, "-", c.opset);
    if (failed.count(op) > 0) return;
    if (!Compare(c, loop)) failed.insert(op);
  });
  RecordProperty("cases", cases);
  EXPECT_GT(cases, 0);
}

// Whether a row of this operator needs no loop, and why not.
struct Exemption {
  const char* domain;
  const char* op;
  const char* reason;
};
constexpr char kConvention[] =
    "how much is done depends on data, or on an algorithm that the specification leaves open: the "
    "count is a convention that the row states";
constexpr char kNoSpecification[] =
    "not in the ONNX specification; what the kernel does is all that there is to read";
constexpr char kParts[] =
    "no loop is written yet for this fused, quantised or second form of an ONNX operator; its "
    "examples hold it";
constexpr char kLayout[] = "another layout of an operator that has a loop; its examples hold it";
constexpr char kUnwritten[] = "no loop is written yet; its examples hold it";
constexpr Exemption kExemptions[] = {
    {"", "NonMaxSuppression", kConvention},
    {"", "Multinomial", kConvention},
    {"", "Unique", kConvention},
    {"", "STFT", kConvention},
    {"", "TfIdfVectorizer", kConvention},
    {"ai.onnx.ml", "TreeEnsemble", kConvention},
    {"ai.onnx.ml", "TreeEnsembleClassifier", kConvention},
    {"ai.onnx.ml", "TreeEnsembleRegressor", kConvention},
    {"com.microsoft", "DecoderAttention", kNoSpecification},
    {"com.microsoft", "DecoderMaskedMultiHeadAttention", kNoSpecification},
    {"com.microsoft", "DecoderMaskedSelfAttention", kNoSpecification},
    {"com.microsoft", "LongformerAttention", kNoSpecification},
    {"com.microsoft", "PackedAttention", kNoSpecification},
    {"com.microsoft", "PackedMultiHeadAttention", kNoSpecification},
    {"com.microsoft", "PagedAttention", kNoSpecification},
    {"com.microsoft", "QOrderedAttention", kNoSpecification},
    {"com.microsoft", "QOrderedLongformerAttention", kNoSpecification},
    {"com.microsoft", "IsAllFinite", kNoSpecification},
    {"com.microsoft", "Inverse", kNoSpecification},
    {"com.microsoft", "SparseToDenseMatMul", kNoSpecification},
    {"com.microsoft", "DequantizeBFP", kNoSpecification},
    {"com.microsoft", "QuantizeBFP", kNoSpecification},
    {"com.microsoft", "ConvTransposeWithDynamicPads", kParts},
    {"com.microsoft", "MaxpoolWithMask", kParts},
    {"com.microsoft", "NhwcConv", kParts},
    {"com.microsoft", "BitmaskBiasDropout", kParts},
    {"com.microsoft", "BitmaskDropout", kParts},
    {"com.microsoft", "ComplexMulConj", kParts},
    {"com.microsoft", "GemmFloat8", kParts},
    {"com.microsoft", "MatMulBlockQuantizedFp4Weight", kParts},
    {"com.microsoft", "MatMulBlockQuantizedFp8Weight", kParts},
    {"com.microsoft", "MatMulBnb4", kParts},
    {"com.microsoft", "MatMulFpQ4", kParts},
    {"com.microsoft", "MatMulNBitsQkv", kParts},
    {"com.microsoft", "QOrderedMatMul", kParts},
    {"com.microsoft", "DequantizeWithOrder", kParts},
    {"com.microsoft", "QuantizeWithOrder", kParts},
    {"com.microsoft", "ReduceSumInteger", kParts},
    {"com.microsoft", "GatedDeltaNet", kNoSpecification},
    {"com.microsoft", "VarlenCausalConvWithState", kNoSpecification},
    {"com.microsoft", "BifurcationDetector", kNoSpecification},
    {"com.microsoft", "CropAndResize", kNoSpecification},
    {"com.microsoft", "DynamicTimeWarping", kNoSpecification},
    {"com.microsoft", "GatherND", kParts},
    {"com.microsoft", "GridSample", kParts},
    {"com.microsoft", "Irfft", kNoSpecification},
    {"com.microsoft", "MurmurHash3", kNoSpecification},
    {"com.microsoft", "NGramHashMapping", kNoSpecification},
    {"com.microsoft", "NGramRepeatBlock", kNoSpecification},
    {"com.microsoft", "Range", kParts},
    {"com.microsoft", "TorchEmbedding", kNoSpecification},
    {"com.microsoft", "Unique", kConvention},
    {"com.microsoft", "VarlenNGramHashMapping", kNoSpecification},
    {"com.microsoft", "QMoE", kParts},
    {"com.microsoft", "MRotaryEmbedding", kParts},
    {"com.microsoft", "RelativePositionBias", kNoSpecification},
    {"com.microsoft", "AttnLSTM", kNoSpecification},
    {"com.microsoft", "DynamicQuantizeLSTM", kParts},
    {"com.microsoft", "BeamSearch", kConvention},
    {"com.microsoft", "GreedySearch", kConvention},
    {"com.microsoft", "Sampling", kConvention},
    {"com.microsoft", "WhisperBeamSearch", kConvention},
    {"com.microsoft", "DynamicSparseAttention", kNoSpecification},
    {"com.microsoft", "PackedSparseAttentionIndexer", kNoSpecification},
    {"com.microsoft", "SparseAttention", kNoSpecification},
    {"com.microsoft", "SparseAttentionIndexer", kNoSpecification},
    {"com.microsoft", "SparsePagedAttention", kNoSpecification},
    {"com.microsoft.nchwc", "AveragePool", kLayout},
    {"com.microsoft.nchwc", "GlobalAveragePool", kLayout},
    {"com.microsoft.nchwc", "GlobalMaxPool", kLayout},
    {"com.microsoft.nchwc", "MaxPool", kLayout},
    {"com.microsoft.nchwc", "Upsample", kLayout},
    {"com.ms.internal.nhwc", "ConvTranspose", kLayout},
    {"com.ms.internal.nhwc", "GridSample", kLayout},
    {"com.ms.internal.nhwc", "MaxUnpool", kLayout},
    {"com.ms.internal.nhwc", "QLinearAveragePool", kLayout},
    {"com.ms.internal.nhwc", "QLinearConv", kLayout},
    {"com.ms.internal.nhwc", "QLinearConvTranspose", kLayout},
    {"com.ms.internal.nhwc", "Resize", kLayout},
};
const Exemption* ExemptionOf(absl::string_view domain, absl::string_view op) {
  for (const Exemption& e : kExemptions) {
    if (e.domain == domain && e.op == op) return &e;
  }
  return nullptr;
}

// Rows that a loop holds, or that fused_test holds against the operators they stand for.
std::set<const OpDef*> HeldRows() {
  std::set<const OpDef*> held;
  for (const Family& family : kFamilies) {
    family.cases(
        [&](const Case& c, const Loop&) { held.insert(FindOp(c.domain, c.op, c.opset).def); });
  }
  for (const FusedPair& pair : kFusedPairs) {
    const absl::StatusOr<onnx::ModelProto> model = ParsePart(pair.fused);
    EXPECT_TRUE(model.ok()) << pair.name << ": " << model.status();
    if (!model.ok()) continue;
    std::map<std::string, int64_t> opsets;
    for (const auto& import : model->opset_import()) opsets[import.domain()] = import.version();
    for (const onnx::NodeProto& node : model->graph().node()) {
      if (node.domain().empty()) continue;
      held.insert(FindOp(node.domain(), node.op_type(), opsets[node.domain()]).def);
    }
  }
  return held;
}

TEST(OracleCoverageTest, EveryCountedOperatorHasAnOracle) {
  const std::set<const OpDef*> held = HeldRows();
  std::set<const Exemption*> used;
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& def : family.rows) {
      if (def.count == nullptr || held.count(&def) > 0) continue;
      const Exemption* exemption = ExemptionOf(family.domain, def.name);
      EXPECT_NE(exemption, nullptr) << family.domain << "." << def.name << "-" << def.versions[0]
                                    << " has neither a loop nor an exemption";
      used.insert(exemption);
    }
  }
  for (const Exemption& e : kExemptions) {
    EXPECT_EQ(used.count(&e), 1) << e.domain << "." << e.op << " needs no exemption";
  }
}

INSTANTIATE_TEST_SUITE_P(Families, OracleTest, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return std::string(family.param.name); });

}  // namespace
}  // namespace onnxflops::oracle
