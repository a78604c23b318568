// The peak of a training step against torch's MemTracker. tests/data/step_memory.json says how its
// figures were measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/onnxflops.h"

namespace onnxflops::step_memory_test {
namespace {

using Json = nlohmann::json;

// Of all steps: as many peaks were equal to the byte when last looked at. More is better.
constexpr int kExactSteps = 177;

struct Step {
  std::string name, file;
  CountOptions options;
  int64_t peak = 0, optimizer = 0;
};

// "adamw, cross_entropy, frozen" of a model.
Step StepOf(const std::string& model, const std::string& how, const Json& row) {
  const std::vector<std::string> words = absl::StrSplit(how, ", ");
  Step step;
  step.name = absl::StrCat(model, ": ", how);
  const bool recomputes = absl::EndsWith(model, "_recompute");
  step.file = recomputes ? model.substr(0, model.rfind('_')) : model;
  TrainingOptions& training = step.options.memory.emplace().training;
  training.optimizer = *ParseOptimizer(words[0]);
  training.loss = *ParseLoss(words[1]);
  if (recomputes) training.recompute = ParseRecompute("blocks");
  if (row.contains("frozen")) training.frozen = row["frozen"].get<std::vector<std::string>>();
  step.peak = row["peak_bytes"];
  step.optimizer = row["by"]["Optstate"];
  return step;
}

std::vector<Step> Steps() {
  const Json truth =
      Json::parse(std::ifstream(ONNXFLOPS_SOURCE_DIR "/tests/data/step_memory.json"));
  std::vector<Step> steps;
  for (const auto& [model, rows] : truth["models"].items()) {
    for (const auto& [how, row] : rows.items()) steps.push_back(StepOf(model, how, row));
  }
  return steps;
}

Report CountStep(const Step& step) {
  const auto model = Load(absl::StrCat(ONNXFLOPS_STEP_MODELS_DIR, "/", step.file, ".onnx"));
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return Report();
  absl::StatusOr<Report> report = Count(*model, step.options);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *std::move(report) : Report();
}

TEST(StepMemoryTest, PeaksAreThoseOfTorch) {
  const std::vector<Step> steps = Steps();
  ASSERT_EQ(steps.size(), 212);
  int exact = 0;
  for (const Step& step : steps) {
    SCOPED_TRACE(step.name);
    const Report report = CountStep(step);
    ASSERT_TRUE(report.memory && report.memory->step.value);
    const auto peak = static_cast<int64_t>(*report.memory->step.value);
    EXPECT_NEAR(static_cast<double>(peak), static_cast<double>(step.peak), 0.01 * step.peak);
    EXPECT_EQ(report.memory->optimizer_bytes, step.optimizer);
    exact += peak == step.peak ? 1 : 0;
  }
  EXPECT_GE(exact, kExactSteps);
}

}  // namespace
}  // namespace onnxflops::step_memory_test
