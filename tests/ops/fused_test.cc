// A fused operator of ONNX Runtime costs what the operators of ai.onnx cost that it stands for,
// data movement apart. Each pair below is one computation written both ways; their censuses are
// equal, kind by kind, with the symbols in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/count/count.h"
#include "src/infer/infer.h"
#include "src/load/load.h"
#include "tests/ops/fused_pairs.h"

namespace onnxflops {
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

class FusedTest : public testing::TestWithParam<FusedPair> {};

TEST_P(FusedTest, CostsWhatItsPartsCost) {
  const absl::StatusOr<std::string> fused = CensusOf(GetParam().fused);
  const absl::StatusOr<std::string> parts = CensusOf(GetParam().parts);
  ASSERT_TRUE(fused.ok()) << fused.status();
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(*fused, *parts);
}

INSTANTIATE_TEST_SUITE_P(Operators, FusedTest, testing::ValuesIn(kFusedPairs),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace onnxflops
