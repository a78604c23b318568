// Exports of the same models at several fixed batches (tools/export/batch_sizes.py): each one,
// counted at the batch of another, has the figures of that other one, or is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "onnx/onnx_pb.h"
#include "src/onnxflops.h"

namespace onnxflops::at_batch_truth_test {
namespace {

using Json = nlohmann::json;

// GRU has tokens first.
CountOptions AtBatch(const std::string& name, const Expr& batch) {
  CountOptions options;
  options.batch = BatchSize{batch};
  if (absl::StartsWith(name, "gru.")) options.batch->axes["x"] = 1;
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

// Those that are refused, each for what it was made to show: weights of each sample, and samples
// taken by a slice.
bool IsRefused(const std::string& name) {
  static const auto* const names =
      new std::set<std::string>{"experts.dy", "experts.ts", "guided.ts"};
  return names->contains(name);
}

// Those whose exporter stored a constant for each sample: numbers of samples, states, masks,
// positions and tokens that Expand had made. All is equal but what these constants weigh.
bool StoresItsBatch(const std::string& name) {
  static const auto* const names = new std::set<std::string>{
      "bert.dy",     "bert.ts",   "clip.dy",   "clip.ts", "clip_text.dy", "clip_text.ts",
      "convnext.dy", "gpt2.dy",   "gru.dy",    "gru.ts",  "lstm.dy",      "lstm.ts",
      "queries.dy",  "states.dy", "states.ts", "swin.dy", "vit.dy"};
  return names->contains(name);
}

// Arithmetic is the same for numbers and as a formula, and parameters are those of one sample.
void RequireArithmetic(const std::string& name, const Model& model, const Report& report,
                       const Report& truth, int64_t batch) {
  const Report open = Count(model, AtBatch(name, Expr::Symbol("samples", 1))).value();
  const Bindings bound = {{"samples", batch}};
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
        const absl::StatusOr<Report> report = Count(model, AtBatch(name, batch));
        EXPECT_EQ(report.ok(), !IsRefused(name)) << report.status();
        if (!report.ok()) {
          EXPECT_TRUE(absl::StrContains(report.status().message(), ":\n  node '"));
          ++refused;
          continue;
        }
        RequireArithmetic(name, model, *report, truth, batch);
        const bool same = FiguresOf(*report) == FiguresOf(truth);
        EXPECT_TRUE(same || StoresItsBatch(name));
        EXPECT_EQ(report->totals.params, Count(Load(paths.at(1)).value())->totals.params);
        ++(same ? equal : arithmetic);
      }
    }
  }
  EXPECT_GE(equal, 140);
  EXPECT_GE(arithmetic, 60);
  EXPECT_EQ(refused, 18);
}

// The same file with its open batch fixed at 1, and the inputs that have it.
struct Fixed {
  Model model;
  BatchSize batch;
};
std::optional<Fixed> FixBatch(const std::string& path) {
  onnx::ModelProto proto;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(proto.ParseFromIstream(&file)) << path;
  Fixed fixed;
  for (onnx::ValueInfoProto& input : *proto.mutable_graph()->mutable_input()) {
    auto* const shape = input.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int axis = 0; axis < shape->dim_size(); ++axis) {
      const std::string name = shape->dim(axis).dim_param();
      if (name != "batch" && name != "batch_size") continue;
      fixed.batch.size = Expr::Symbol(name, 1);
      fixed.batch.axes[input.name()] = axis;
      shape->mutable_dim(axis)->set_dim_value(1);
    }
  }
  if (fixed.batch.axes.empty()) return std::nullopt;
  proto.mutable_graph()->clear_value_info();
  fixed.model = LoadFromBytes(proto.SerializeAsString(), path).value();
  return fixed;
}

// Models whose export left the batch open say what they cost at any batch. One has an operator of
// its own, which has no rule.
TEST(AtBatchTruthTest, CountsWhatTheOpenFileHas) {
  int equal = 0, refused = 0;
  for (const char* folder : {"/models", "/models/deployed"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(ONNXFLOPS_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".onnx") continue;
      SCOPED_TRACE(entry.path());
      const std::optional<Fixed> fixed = FixBatch(entry.path().string());
      if (!fixed) continue;
      CountOptions options;
      options.batch = fixed->batch;
      const absl::StatusOr<Report> report = Count(fixed->model, options);
      if (!report.ok()) {
        ++refused;
        EXPECT_TRUE(absl::StrContains(report.status().message(), "(FusedMlp)")) << report.status();
        continue;
      }
      EXPECT_EQ(FiguresOf(*report), FiguresOf(Count(Load(entry.path().string()).value()).value()));
      ++equal;
    }
  }
  EXPECT_GE(equal, 12);
  EXPECT_EQ(refused, 1);
}

}  // namespace
}  // namespace onnxflops::at_batch_truth_test
