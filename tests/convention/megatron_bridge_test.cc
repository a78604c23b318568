// Megatron-Bridge's formula of whole models against its own function, on the same configurations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/family/family.h"
#include "src/onnxflops.h"
#include "src/symbolic/expr.h"

namespace onnxflops::megatron_bridge_test {
namespace {

nlohmann::json Truth() {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/config/megatron_bridge.json");
  return nlohmann::json::parse(file)["models"];
}

MfuOptions StepOf(std::vector<int64_t> lengths) {
  MfuOptions options;
  options.peak = 1e15;
  options.rate.step_seconds = 1;
  options.count.samples = Samples{.sizes = {{"", std::move(lengths)}}};
  return options;
}

MfuFormula FormulaOf(const MfuReport& report, absl::string_view name) {
  const auto found = std::find_if(report.formulas.begin(), report.formulas.end(),
                                  [&](const MfuFormula& f) { return f.name == name; });
  return found == report.formulas.end() ? MfuFormula() : *found;
}

std::string StepText(const Model& model, const MfuOptions& options) {
  const absl::StatusOr<MfuReport> report = CountMfu(model, options);
  if (!report.ok()) return std::string(report.status().message());
  const MfuFormula formula = FormulaOf(*report, "megatron-bridge");
  return formula.flops_per_step ? Int128ToString(*formula.flops_per_step) : formula.missing;
}

TEST(MegatronBridgeTest, StepsOfItsOwnFunction) {
  const nlohmann::json models = Truth();
  for (const auto& [name, truth] : models.items()) {
    const Model model = LoadConfig(truth["config"].dump(), "config.json").value();
    for (const nlohmann::json& step : truth["steps"]) {
      const auto lengths = step["lengths"].get<std::vector<int64_t>>();
      const std::string flops = absl::StrCat(step["flops"].get<int64_t>());
      MfuOptions options = StepOf(lengths);
      EXPECT_EQ(StepText(model, options), flops) << name << ", " << lengths.size() << " samples";
      options.count.samples->layout = Samples::Layout::kPacked;
      EXPECT_EQ(StepText(model, options), flops) << name << ", packed";
      if (step != truth["steps"][1]) continue;
      options.count.samples.reset();  // eight of one length
      options.count.bindings = {{"batch", 8}, {"seq", lengths[0]}, {"past", 0}};
      EXPECT_EQ(StepText(model, options), flops) << name << ", without samples";
    }
  }
}

std::string StepOfConfig(nlohmann::json config) {
  return StepText(LoadConfig(config.dump(), "config.json").value(), StepOf({7, 5}));
}

TEST(MegatronBridgeTest, LayersOfOtherKindsHaveNoFigure) {
  const nlohmann::json truth = Truth();
  nlohmann::json windowed = truth["mixtral-8x7b"]["config"];
  windowed["sliding_window"] = 4096;
  EXPECT_EQ(StepOfConfig(windowed), "the formula has another term for layers with a window");
  windowed["use_sliding_window"] = false;
  EXPECT_NE(StepOfConfig(windowed), "the formula has another term for layers with a window");
}

// As what a configuration does not say.
TEST(MegatronBridgeTest, ParametersMayBeGiven) {
  const nlohmann::json truth = Truth();
  const Model model = LoadConfig(truth["deepseek-v3"]["config"].dump(), "config.json").value();
  MfuOptions options = StepOf(truth["deepseek-v3"]["steps"][1]["lengths"]);
  options.parameters.y = 1;  // as its configuration has num_nextn_predict_layers
  EXPECT_EQ(StepText(model, options),
            absl::StrCat(truth["deepseek-v3-mtp"]["steps"][1]["flops"].get<int64_t>()));
}

}  // namespace
}  // namespace onnxflops::megatron_bridge_test
