// Exports of the same models at several fixed batches (tools/export/batch_sizes.py): each one,
// counted at the batch of another, has the figures of that other one, or is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/onnxflops.h"

namespace onnxflops {
namespace {

using Json = nlohmann::json;

CountOptions AtBatch(const Expr& batch, const Bindings& dims = {}) {
  CountOptions options;
  options.batch = batch;
  options.bindings = dims;
  return options;
}

// All but names of files and values, and warnings.
Json FiguresOf(const Report& report) {
  Json json = Json::parse(ToJson(report));
  for (const char* key : {"model", "warnings", "inputs", "outputs"}) json.erase(key);
  return json;
}

// "vit.dy" -> 8 -> path
std::map<std::string, std::map<int64_t, std::string>> Models() {
  std::map<std::string, std::map<int64_t, std::string>> models;
  for (const auto& entry : std::filesystem::directory_iterator(ONNXFLOPS_BATCH_MODELS_DIR)) {
    const std::vector<std::string> parts = absl::StrSplit(entry.path().filename().string(), '.');
    if (parts.back() != "onnx") continue;
    models[absl::StrCat(parts[0], ".", parts[1])][std::stoll(parts[2])] = entry.path().string();
  }
  return models;
}

// Those that are refused, each for what it was made to show: weights of each sample, a batch that
// is not the first dimension, samples taken by a slice.
bool IsRefused(const std::string& name) {
  static const auto* const names =
      new std::set<std::string>{"experts.dy", "experts.ts", "gru.dy", "gru.ts", "guided.ts"};
  return names->contains(name);
}

// Those whose exporter stored a constant for each sample: numbers of samples, states, masks,
// positions and tokens that Expand had made. At more than one sample it is refused. From batch 1
// all is equal but what these constants weigh.
bool StoresItsBatch(const std::string& name) {
  static const auto* const names = new std::set<std::string>{
      "bert.dy",      "bert.ts",     "clip.dy",   "clip.ts", "clip_text.dy",
      "clip_text.ts", "convnext.dy", "gpt2.dy",   "lstm.dy", "lstm.ts",
      "queries.dy",   "states.dy",   "states.ts", "swin.dy", "vit.dy"};
  return names->contains(name);
}

// Arithmetic is the same for numbers and as a formula, and parameters are those of the file.
void RequireArithmetic(const Model& model, const Report& report, const Report& truth) {
  EXPECT_EQ(report.totals.params, Count(model)->totals.params);
  CountOptions symbol = AtBatch(Expr::Symbol("samples", 1));
  const Report open = Count(model, symbol).value();
  const Expr batch = report.inputs[0].shape[0];
  const Bindings bound = {{"samples", *batch.AsInt64()}};
  for (const auto& of :
       {&Amounts::flops, &Amounts::macs, &Amounts::other_flops, &Amounts::int_ops}) {
    EXPECT_EQ(report.totals.*of, truth.totals.*of);
    EXPECT_EQ((open.totals.*of).Substitute(bound), truth.totals.*of);
  }
}

TEST(AtBatchTruthTest, CountsWhatAnExportOfThatBatchHas) {
  int equal = 0, arithmetic = 0, refused = 0;
  for (const auto& [name, paths] : Models()) {
    for (const auto& [batch, path] : paths) {
      const Report truth = Count(Load(path).value()).value();
      for (const auto& [other, from] : paths) {
        if (batch == other) continue;
        SCOPED_TRACE(absl::StrCat(name, " of ", other, " at ", batch));
        const Model model = Load(from).value();
        const absl::StatusOr<Report> report = Count(model, AtBatch(batch));
        EXPECT_EQ(report.ok(), !IsRefused(name) && (other == 1 || !StoresItsBatch(name)));
        if (!report.ok()) {
          EXPECT_TRUE(absl::StrContains(report.status().message(), ":\n  node '"));
          ++refused;
          continue;
        }
        RequireArithmetic(model, *report, truth);
        const bool same = FiguresOf(*report) == FiguresOf(truth);
        EXPECT_EQ(same, !StoresItsBatch(name));
        ++(same ? equal : arithmetic);
      }
    }
  }
  EXPECT_GE(equal, 120);
  EXPECT_GE(arithmetic, 30);
  EXPECT_GE(refused, 80);
}

}  // namespace
}  // namespace onnxflops
