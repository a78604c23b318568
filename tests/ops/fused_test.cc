// A fused operator of ONNX Runtime costs what the operators of ai.onnx cost that it stands for,
// data movement apart. Each pair below is one computation written both ways; their censuses are
// equal, kind by kind, with the symbols in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "src/onnxflops.h"
#include "tests/ops/fused_pairs.h"

namespace onnxflops::fused_test {
namespace {

absl::StatusOr<std::string> CensusOf(const char* text) {
  const absl::StatusOr<onnx::ModelProto> model = ParsePart(text);
  if (!model.ok()) return model.status();
  const absl::StatusOr<Model> loaded = LoadFromBytes(model->SerializeAsString());
  if (!loaded.ok()) return loaded.status();
  const absl::StatusOr<Inference> inference = Infer(*loaded);
  if (!inference.ok()) return inference.status();
  const absl::StatusOr<Counts> counts = Count(*inference);
  if (!counts.ok()) return counts.status();
  if (counts->unknown != 0) return absl::InternalError(counts->unknown_items[0].reason);
  Cost cost;
  cost.flops = counts->total.flops;
  cost.int_ops = counts->total.int_ops;
  return cost.ToString();
}

// MACs and FLOPs of the backward pass, for gradients of all inputs. Empty if one has no rule.
std::string BackwardOf(const char* text) {
  const absl::StatusOr<onnx::ModelProto> proto = ParsePart(text);
  const absl::StatusOr<Model> model = LoadFromBytes(proto->SerializeAsString());
  CountOptions options;
  options.training.emplace().input_gradients = true;
  const absl::StatusOr<Report> report = Count(*model, options);
  if (!report.ok()) return report.status().ToString();
  if (!report->training->unknown.empty()) return "";
  return absl::StrCat("macs=", report->totals.backward_macs.ToString(),
                      " flops=", report->totals.backward_flops.ToString());
}

// Pairs whose backward passes differ, though they compute the same.
const std::map<absl::string_view, absl::string_view>& TrainedOtherwise() {
  static const auto& reasons = *new std::map<absl::string_view, absl::string_view>{
      {"QuickGelu", "the sigmoid is computed again, its parts keep it"},
      {"GroupNorm", "the sigmoid is computed again, its parts keep it"},
      {"MoE", "the dX of a token's experts are added up, in its parts there is one expert"},
      {"CDist", "the 2 of the square and that of the root cancel out, in its parts they do not"},
      {"FusedMatMul", "alpha is multiplied with dA and dB, in its parts with dY"},
      {"GroupQueryAttention", "in its parts the tables take a gradient, and copies of K add up"},
      {"GemmaRotaryEmbedding", "in its parts the angles take a gradient"},
  };
  return reasons;
}

class FusedTest : public testing::TestWithParam<FusedPair> {};

TEST_P(FusedTest, CostsWhatItsPartsCost) {
  const absl::StatusOr<std::string> fused = CensusOf(GetParam().fused);
  const absl::StatusOr<std::string> parts = CensusOf(GetParam().parts);
  ASSERT_TRUE(fused.ok()) << fused.status();
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(*fused, *parts);
}

TEST_P(FusedTest, TrainsAsItsPartsTrain) {
  const std::string fused = BackwardOf(GetParam().fused), parts = BackwardOf(GetParam().parts);
  if (fused.empty() || parts.empty()) GTEST_SKIP() << "a gradient has no rule";
  if (TrainedOtherwise().count(GetParam().name) > 0) {
    EXPECT_NE(fused, parts);
  } else {
    EXPECT_EQ(fused, parts);
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, FusedTest, testing::ValuesIn(kFusedPairs),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace onnxflops::fused_test
