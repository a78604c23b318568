// The model_analyzer convention against what OpenVINO's Model Analyzer counts of 19 exported
// models, on the IR of two releases of OpenVINO. tools/export/model_analyzer_truth.py made the
// figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/api/count.h"
#include "src/compare/compare_report.h"
#include "src/load/load_file.h"
#include "tests/model_text.h"

namespace onnxflops::convention::model_analyzer_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using Json = nlohmann::json;

ToolRow Ask(const Model& model, const std::string& tool) {
  const auto report = CompareTools(model, {}, {.with = {tool}});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? report->tools[0] : ToolRow();
}

// As the tool prints them.
std::string Digits(int64_t flops) {
  return absl::StrFormat("%.4f", static_cast<double>(flops) / 1e9);
}

TEST(ModelAnalyzerTest, CountsWhatTheToolCounts) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/model_analyzer_truth.json");
  const Json truth = Json::parse(file);
  // Its attention, which that release of ovc does not fuse.
  const std::set<std::string> others = {"bert 2026.4"};
  int equal = 0;
  for (const auto& [name, figures] : truth["flops"].items()) {
    const auto model =
        LoadFile(absl::StrCat(ONNXFLOPS_MODEL_ANALYZER_MODELS_DIR, "/", name, ".onnx"));
    ASSERT_TRUE(model.ok()) << model.status();
    for (const auto& [version, flops] : figures.items()) {
      const std::string run = absl::StrCat(name, " ", version);
      const ToolRow row = Ask(*model, absl::StrCat("model_analyzer@", version));
      ASSERT_TRUE(row.headline && row.headline->is_literal()) << run;
      const int64_t ours = static_cast<int64_t>(row.headline->literal());
      equal += ours == flops.get<int64_t>() ? 1 : 0;
      EXPECT_EQ(Digits(ours) == Digits(flops.get<int64_t>()), !others.contains(run)) << run;
      EXPECT_EQ(row.standing, Standing::kAssumed) << run;
    }
  }
  EXPECT_EQ(equal, 28);  // of 38, others by at most 5,600
}

TEST(ModelAnalyzerTest, SaysWhatItAssumes) {
  const ToolRow row =
      Ask(ModelFromText("g (float[2,3] x) => (float[2,3] y) { y = Erf(x) }", 17), "model_analyzer");
  EXPECT_EQ(row.headline->ToString(), "0");
  EXPECT_THAT(row.assumptions, Contains(HasSubstr("ovc 2023.3 fuses and folds")));
}

TEST(ModelAnalyzerTest, CountsAProductOfATransposedOperandByItsLastSize) {
  const char* text =
      "g (float[2,8,4] x, float[8,3] w) => (float[2,4,3] y) "
      "{ t = Transpose<perm=[0,2,1]>(x) y = MatMul(t, w) }";
  EXPECT_EQ(Ask(ModelFromText(text, 17), "model_analyzer").headline->ToString(), "192");
}

}  // namespace
}  // namespace onnxflops::convention::model_analyzer_test
