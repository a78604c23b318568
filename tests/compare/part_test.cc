// What tools count for a part of a model. Truth: the same tower, exported alone.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/api/count.h"
#include "src/api/load.h"
#include "src/compare/compare_report.h"

namespace onnxflops::part_test {
namespace {

// By tool; a tool without a figure is not there.
std::map<std::string, Expr> FiguresOf(const std::string& file, const std::string& module,
                                      const std::string& from = "") {
  CountOptions options;
  options.module = module;
  CompareRequest request;
  request.from = from;
  std::map<std::string, Expr> figures;
  const auto model = Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/", file, ".onnx"));
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return figures;
  const auto report = CompareTools(*model, options, request);
  EXPECT_TRUE(report.ok()) << report.status();
  if (!report.ok()) return figures;
  for (const ToolRow& tool : report->tools) {
    if (!tool.headline) continue;
    Expr sum = tool.start;
    for (const TermRow& term : tool.terms) sum += term.amount;
    EXPECT_EQ(sum, *tool.headline) << tool.convention->name;
    figures[tool.convention->name] = *tool.headline;
  }
  return figures;
}

TEST(ComparePartTest, ATowerIsTheTowerExportedAlone) {
  for (const char* name : {"openclip224-vit-h-14", "openclip224-vit-l-14-336"}) {
    const auto part = FiguresOf(name, "visual");
    EXPECT_GT(part.size(), 10u);
    EXPECT_EQ(part, FiguresOf(absl::StrCat(name, "-visual"), "")) << name;
  }
}

// A part and all but that part are all that there is.
TEST(ComparePartTest, PartsAddUp) {
  const std::pair<const char*, const char*> cases[] = {
      {"clip-vit-b-32", "visual"},       {"clip-vit-b-32.ts17", "visual.transformer.resblocks.3"},
      {"vit-b-16", "encoder"},           {"resnet50", "layer3"},
      {"mobilenet-v3-large", "*.1"},     {"hf-clip-vit-l-14-336", "m.vision_model.*.self_attn"},
      {"gpt-124m", "trf_blocks.*.norm1"}};
  for (const auto& [name, part] : cases) {
    const auto whole = FiguresOf(name, "");
    const auto others = FiguresOf(name, absl::StrCat("!", part));
    for (const auto& [tool, figure] : FiguresOf(name, part)) {
      ASSERT_TRUE(others.contains(tool) && whole.contains(tool)) << name << " " << tool;
      EXPECT_EQ(figure + others.at(tool), whole.at(tool)) << name << " " << tool;
    }
    EXPECT_GT(others.size(), 10u) << name;
  }
}

TEST(ComparePartTest, FromOneToolToAnother) {
  const auto ours = FiguresOf("clip-vit-b-32", "visual");
  EXPECT_EQ(ours, FiguresOf("clip-vit-b-32", "visual", "thop"));
}

TEST(ComparePartTest, AFormulaHasNoParts) {
  const auto part = FiguresOf("gpt-124m", "trf_blocks.0");
  const auto whole = FiguresOf("gpt-124m", "");
  EXPECT_TRUE(whole.contains("config-6n"));
  EXPECT_FALSE(part.contains("config-6n"));
}

TEST(ComparePartTest, NamesSimilarModules) {
  const auto model = Load(ONNXFLOPS_SOURCE_DIR "/models/clip-vit-b-32.onnx");
  ASSERT_TRUE(model.ok());
  CountOptions options;
  options.module = "visul";
  const auto report = CompareTools(*model, options, {});
  EXPECT_TRUE(absl::StrContains(report.status().message(), "similar: 'visual'"));
}

}  // namespace
}  // namespace onnxflops::part_test
