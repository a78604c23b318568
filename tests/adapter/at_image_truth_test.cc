// Exports of the same models at several sizes (tools/export/image_sizes.py): each one, counted at
// the size of another, has the figures of that other one, or is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/onnxflops.h"

namespace onnxflops::at_image_truth_test {
namespace {

using Json = nlohmann::json;

CountOptions At(const std::string& size) {
  const std::vector<std::string> sides = absl::StrSplit(size, 'x');
  CountOptions options;
  options.image_size = ImageSize{std::stoll(sides[0]), std::stoll(sides[1])};
  return options;
}

// All but names of files and values, and warnings.
Json FiguresOf(const Report& report) {
  Json json = Json::parse(ToJson(report));
  for (const char* key : {"model", "warnings", "inputs", "outputs"}) json.erase(key);
  return json;
}

// "vit.dy" -> "224x224" -> path
std::map<std::string, std::map<std::string, std::string>> Models() {
  std::map<std::string, std::map<std::string, std::string>> models;
  for (const auto& entry : std::filesystem::directory_iterator(ONNXFLOPS_IMAGE_MODELS_DIR)) {
    const std::vector<std::string> parts =
        absl::StrSplit(entry.path().filename().string(), absl::ByAnyChar("."));
    if (parts.back() != "onnx") continue;
    models[absl::StrCat(parts[0], ".", parts[1])][parts[2]] = entry.path().string();
  }
  return models;
}

// Models of which some pairs are refused, each for what it was made to show; all pairs of the
// others are counted. Where 225 x 225 is the export, equal pads may be those of "same".
bool MayBeRefused(const std::string& name, const std::string& exported) {
  static const auto* const odd = new std::set<std::string>{"channels_last", "resnet", "two_images"};
  if (exported == "225x225" && odd->contains(name.substr(0, name.find('.')))) return true;
  static const auto* const names = new std::set<std::string>{
      "adaptive",     "every_second", "flat",  "fpn_size",   "global",   "half",
      "interpolated", "map",          "mixer", "normalised", "roll",     "same",
      "swin",         "topk",         "vgg",   "windows",    "points.ts"};
  return names->contains(name) || names->contains(name.substr(0, name.find('.')));
}

TEST(AtImageTruthTest, CountsWhatAnExportOfThatSizeHas) {
  int equal = 0, refused = 0;
  for (const auto& [name, paths] : Models()) {
    for (const auto& [size, path] : paths) {
      const Json truth = FiguresOf(Count(Load(path).value()).value());
      for (const auto& [other, from] : paths) {
        if (absl::StartsWith(name, "interpolated")) continue;  // below
        SCOPED_TRACE(absl::StrCat(name, " of ", other, " at ", size));
        const absl::StatusOr<Report> report = Count(Load(from).value(), At(size));
        if (report.ok()) {
          EXPECT_EQ(FiguresOf(*report), truth);
          equal += size == other ? 0 : 1;
          continue;
        }
        ++refused;
        EXPECT_TRUE(MayBeRefused(name, other)) << report.status();
        EXPECT_TRUE(absl::StrContains(report.status().message(), "node '") ||
                    absl::StrContains(report.status().message(), "the constant '"));
      }
    }
  }
  EXPECT_GE(equal, 150);
  EXPECT_GE(refused, 150);
}

// At the size of its positions a model does not interpolate them, so that its export cannot tell. A
// warning does; what is not interpolated is counted as it is.
TEST(AtImageTruthTest, SaysThatInterpolationIsNotCounted) {
  const std::string folder = absl::StrCat(ONNXFLOPS_IMAGE_MODELS_DIR, "/interpolated.dy.");
  const Report truth = Count(Load(folder + "336x336.onnx").value()).value();
  const Report report = Count(Load(folder + "224x224.onnx").value(), At("336x336")).value();
  EXPECT_EQ(report.totals.macs, truth.totals.macs);
  EXPECT_EQ(report.warnings.size(), truth.warnings.size() + 2);  // of positions and mask
  EXPECT_TRUE(absl::StrContains(
      absl::StrJoin(report.warnings, ""),
      "is taken as [1, 442, 64] instead of [1, 197, 64], as in a model built for that size; "
      "interpolating it in the run is not counted"));
}

}  // namespace
}  // namespace onnxflops::at_image_truth_test
