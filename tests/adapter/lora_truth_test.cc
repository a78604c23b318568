// Models with adapters against peft: tests/data/lora_truth.json has what torch's FlopCounterMode
// counts for them, forward and backward with the base frozen. It says how it was made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/family/family.h"
#include "src/onnxflops.h"

namespace onnxflops::lora_truth_test {
namespace {

using Json = nlohmann::json;

CountOptions OptionsOf(const Json& row) {
  CountOptions options;
  for (const auto& [name, size] : row["dims"].items()) options.bindings[name] = size;
  for (const absl::string_view text : absl::StrSplit(row["lora"].get<std::string>(), ' ')) {
    const LoraOptions list = ParseLora(text).value();
    if (options.lora) {
      options.lora->more.push_back(list);
    } else {
      options.lora = list;
    }
  }
  options.training.emplace().trained = row["trained"].get<std::vector<std::string>>();
  return options;
}

TEST(LoraTruthTest, CountsWhatPeftExecutes) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/lora_truth.json");
  const Json truth = Json::parse(file);
  ASSERT_GE(truth["cases"].size(), 65);
  for (const Json& row : truth["cases"]) {
    const std::string config = row["config"];
    SCOPED_TRACE(config + " " + row["lora"].get<std::string>());
    const Model model = LoadConfig(truth["configs"][config].dump(), config, std::nullopt).value();
    const absl::StatusOr<Report> report = Count(model, OptionsOf(row));
    ASSERT_TRUE(report.ok()) << report.status();
    const Expr forward = 2 * report->totals.macs;
    EXPECT_EQ(forward, Expr(row["forward_flops"].get<int64_t>()));
    EXPECT_EQ(forward + 2 * report->totals.backward_macs, Expr(row["step_flops"].get<int64_t>()));
    EXPECT_EQ(report->training->trained_params, row["trained_params"].get<int64_t>());
    // peft keeps a second copy of modules that it trains as a whole.
    if (!row["trained"].empty()) continue;
    EXPECT_EQ(report->training->params, row["params"].get<int64_t>());
    EXPECT_EQ(report->lora->params, row["trained_params"].get<int64_t>());
  }
}

// An export of the model that peft made: its nodes are those that are inserted, so that all figures
// agree. The exporter merged the B of its layers, which are all zero, and a warning says so.
TEST(LoraTruthTest, EqualsTheExportOfPeft) {
  const std::string folder = ONNXFLOPS_TRAINING_MODELS_DIR;
  for (const auto& [exported, lora] : {std::pair("/llama_gqa_lora_qv.onnx", "r=8:q_proj,v_proj"),
                                       std::pair("/llama_gqa_lora_all.onnx", "r=4:all-linear")}) {
    CountOptions options;
    options.memory.emplace().training.trained = {"*lora_*"};
    options.training.emplace().trained = {"*lora_*"};
    const Report truth = Count(*Load(folder + exported), options).value();
    options.training->trained.clear();
    options.memory->training.trained.clear();
    options.lora = ParseLora(lora).value();
    const Report ours = Count(*Load(folder + "/llama_gqa.onnx"), options).value();
    EXPECT_EQ(ours.totals.flops, truth.totals.flops);
    EXPECT_EQ(ours.totals.macs, truth.totals.macs);
    EXPECT_EQ(ours.totals.bytes_read, truth.totals.bytes_read);
    EXPECT_EQ(ours.totals.bytes_written, truth.totals.bytes_written);
    EXPECT_EQ(ours.totals.backward_macs, truth.totals.backward_macs);
    EXPECT_EQ(ours.memory->peak.bytes, truth.memory->peak.bytes);
    EXPECT_EQ(ours.memory->saved_bytes, truth.memory->saved_bytes);
    const absl::int128 merged = ours.training->trained_params - truth.training->trained_params;
    EXPECT_THAT(truth.warnings,
                testing::Contains(testing::HasSubstr(
                    absl::StrCat("the trained parameters are ", Int128ToString(merged), " more"))));
  }
}

}  // namespace
}  // namespace onnxflops::lora_truth_test
