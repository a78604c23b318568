// The exact backward pass against torch's FlopCounterMode, contraction by contraction: whole
// models, frozen parts, LoRA, tied weights, experts, flash attention, activation checkpointing.
// tests/data/backward_truth.json says where its figures come from.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "src/onnxflops.h"

namespace onnxflops::backward_truth_test {
namespace {

using Json = nlohmann::json;

std::string PathOf(const std::string& model) {
  if (model.rfind("models/", 0) == 0) return ONNXFLOPS_SOURCE_DIR "/" + model;
  return ONNXFLOPS_TRAINING_MODELS_DIR "/" + model;
}

CountOptions OptionsOf(const Json& row) {
  CountOptions options;
  const Json dims = row.value("dims", Json::object());
  for (const auto& [name, size] : dims.items()) {
    options.bindings[name] = size.get<int64_t>();
  }
  const Json ties = row.value("tied", Json::array());
  for (const Json& tie : ties) options.tied.push_back({tie[0], tie[1]});
  TrainingOptions training;
  training.frozen = row.value("frozen", std::vector<std::string>());
  training.trained = row.value("trained", std::vector<std::string>());
  training.input_gradients = row.value("input_gradients", false);
  if (row.value("attention", "math") == "flash") training.attention = AttentionBackward::kFlash;
  training.recompute = ParseRecompute(row.value("recompute", "none"));
  options.training = training;
  return options;
}

TEST(BackwardTruthTest, EveryContractionIsCounted) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/backward_truth.json");
  const Json truth = Json::parse(file);
  ASSERT_GT(truth["cases"].size(), 150);
  std::string path;
  absl::StatusOr<Model> model;
  for (const Json& row : truth["cases"]) {
    SCOPED_TRACE(row["case"].get<std::string>());
    if (PathOf(row["model"]) != path) {
      path = PathOf(row["model"]);
      model = Load(path);
    }
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::StatusOr<Report> report = Count(*model, OptionsOf(row));
    ASSERT_TRUE(report.ok()) << report.status();
    const Expr macs = report->totals.backward_macs + report->training->recompute_macs;
    EXPECT_EQ(2 * macs, Expr(row["contraction_flops"].get<int64_t>()));
    EXPECT_TRUE(report->training->unknown.empty());
  }
}

}  // namespace
}  // namespace onnxflops::backward_truth_test
