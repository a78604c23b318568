// What the driver puts together: operators as values, sweeps and steps of serving against counts at
// the same sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/onnxflops.h"
#include "tests/model_maker.h"

namespace onnxflops::api_test {
namespace {

using testing::Each;
using testing::Field;
using testing::HasSubstr;

Model LoadOrDie(const std::string& path) {
  absl::StatusOr<Model> model = Load(ONNXFLOPS_SOURCE_DIR "/" + path);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

TEST(OperatorsTest, SayWhatTheyCost) {
  const struct {
    const char* name;
    Operator::Status status;
    bool is_data;
    const char* formula;
  } cases[] = {
      {"Gemm", Operator::Status::kCounted, true, "mac = "},
      {"ai.onnx.Slice", Operator::Status::kFree, true, "free"},
      {"com.microsoft.FusedMatMul", Operator::Status::kCounted, true, "mac = "},
      {"Gather", Operator::Status::kFree, true, "free"},
      {"LinearAttention", Operator::Status::kCounted, false, "mac = "},
  };
  for (const auto& c : cases) {
    const auto found = FindOperators(c.name);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_THAT(*found, Each(Field(&Operator::status, c.status))) << c.name;
    EXPECT_EQ(found->back().formulas.has_value(), c.is_data) << c.name;
    EXPECT_THAT(found->back().formula, HasSubstr(c.formula));
  }
  const auto quantised = FindOperators("QLinear*");
  ASSERT_TRUE(quantised.ok()) << quantised.status();
  EXPECT_THAT(*quantised, Each(Field(&Operator::name, testing::StartsWith("QLinear"))));
  EXPECT_EQ(FindOperators("com.microsoft.QLinearA?d")->size(), 1u);
  EXPECT_THAT(std::string(FindOperators("Convv").status().message()), HasSubstr("Conv"));
}

// Metadata of ours in a file of somebody else's: it holds for the model's own symbols only.
TEST(StatedSizesTest, OfSymbolsThatAreNotThereAreNothing) {
  ModelMaker make;
  make.Input("x", {"batch", "seq"}).Node("n", "Relu", {"x"}, {"y"}).Output("y");
  for (const auto& [key, value] : {std::pair("assumed_dim.none", "7"),
                                   {"same_dim.nor", "batch"},
                                   {"same_dim.seq", "batch"},
                                   {"same_dim.batch", "none"}}) {
    onnx::StringStringEntryProto* entry = make.proto.add_metadata_props();
    entry->set_key(std::string("onnxflops.") + key);
    entry->set_value(value);
  }
  const absl::StatusOr<Model> model = make.Load();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Count(*model)->totals.flops.ToString(), "batch*seq");
  EXPECT_EQ(Count(*model, {.bindings = {{"batch", 3}}})->totals.flops, Expr(9));
  EXPECT_EQ(Count(*model, {.bindings = {{"batch", 3}, {"seq", 5}}})->totals.flops, Expr(15));
  EXPECT_EQ(Count(*model, {.bindings = {{"seq", 5}}})->totals.flops.ToString(), "5*batch");
}

// GPT-2's file has the table of tokens twice: 124,439,808 parameters and 50257 x 768.
TEST(EstimateTest, RulesCountATiedWeightOnce) {
  const Model model = LoadOrDie("models/gpt2.onnx");
  const auto figure = [&](const CountOptions& options) {
    const absl::StatusOr<CompareReport> report = EstimateModel(model, options);
    for (const ToolRow& tool : report->tools) {
      if (absl::string_view(tool.convention->name) == "config-6n") return *tool.headline;
    }
    return Expr();
  };
  constexpr int64_t kOnce = 124'439'808, kTable = 50257 * 768, kTokens = 1024;
  CountOptions options = {.bindings = {{"batch", 1}, {"seq", kTokens}}};
  EXPECT_EQ(figure(options), Expr(6 * (kOnce + kTable) * kTokens));
  options.tied = {{"onnx::MatMul_3015", "m.transformer.wte.weight"}};
  EXPECT_EQ(figure(options), Expr(6 * kOnce * kTokens));
}

TEST(SweepTest, IsACountAtEachPoint) {
  const Model model = LoadOrDie("models/gpt2.onnx");
  const auto all = Count(model);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_FALSE(all->symbols.empty());
  const std::string name = all->symbols[0].name;
  const std::vector<SweptSymbol> swept = {{name, {1, 7, 128}}};
  const auto sweep = CountSweep(model, {}, "", swept, std::nullopt);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  ASSERT_EQ(sweep->points.size(), 3u);
  for (const SweepPoint& point : sweep->points) {
    const auto report = Count(model, {.bindings = point.at});
    ASSERT_TRUE(report.ok()) << report.status();
    for (const Quantity& q : kQuantities) {
      EXPECT_EQ(point.totals.*q.value, report->totals.*q.value)
          << q.key << " at " << point.at.at(name);
    }
  }
}

TEST(ServingTest, IsACountAtTheSizesThatItBinds) {
  const Model model = LoadOrDie("tests/data/config/gpt2/config.json");
  const auto serving =
      CountServing(model, {.bindings = {{"batch", 2}}},
                   {.prefill = 512, .decode = ServingRequest::Decode{.tokens = 1, .past = 512}});
  ASSERT_TRUE(serving.ok()) << serving.status();
  ASSERT_EQ(serving->columns.size(), 2u);
  for (const ServingColumn& column : serving->columns) {
    CountOptions options = {.bindings = column.bindings};
    options.bindings["batch"] = 2;
    const auto report = Count(model, options);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(column.totals.flops, report->totals.flops) << column.name;
    EXPECT_EQ(column.totals.bytes_read, report->totals.bytes_read) << column.name;
  }
  // A key and a value x 12 layers x 768 features x 4 bytes.
  EXPECT_EQ(*serving->cache_bytes_per_token, Expr(2 * 12 * 768 * 4));
}

}  // namespace
}  // namespace onnxflops::api_test
