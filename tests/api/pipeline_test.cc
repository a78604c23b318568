#include "src/api/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "src/api/load.h"
#include "src/api/serving.h"
#include "src/pipeline/pipeline_audit.h"
#include "src/settings/pipeline_arguments.h"

namespace onnxflops::pipeline_test {
namespace {

constexpr char kFolder[] = ONNXFLOPS_SOURCE_DIR "/tests/data/pipeline/pipeline.toml";
constexpr char kGpt2[] = R"(
[parameters]
prompt = "?"
tokens = "?"
[[stage]]
name = "tokens"
model = "../config/gpt2/config.json"
for = "t < tokens"
past = "prompt + t"
sizes = { batch = 3 }
)";

absl::StatusOr<PipelineReport> CountText(absl::string_view text, const Bindings& given = {}) {
  absl::StatusOr<Pipeline> pipeline = LoadPipeline(text, kFolder, given);
  if (!pipeline.ok()) return pipeline.status();
  CountOptions options;
  options.bindings = given;
  return CountPipeline(*pipeline, options);
}

// The message of an error, without the folder.
std::string ErrorOf(absl::string_view text, const Bindings& given = {}) {
  const absl::StatusOr<PipelineReport> report = CountText(text, given);
  std::string message(report.status().message());
  const std::string folder(kFolder, sizeof(kFolder) - 1 - std::string("pipeline.toml").size());
  for (size_t at; (at = message.find(folder)) != std::string::npos;) {
    message.erase(at, folder.size());
  }
  return message;
}

std::string StageText(absl::string_view more) {
  return absl::StrCat("[[stage]]\nname = \"a\"\nmodel = \"../config/gpt2/config.json\"\n", more);
}

// One token after `past`, counted at these sizes: a serving step, which knows nothing of loops.
absl::int128 StepMacs(const Model& model, int64_t past) {
  CountOptions options;
  options.bindings = {{"batch", 3}};
  ServingRequest request;
  request.decode = ServingRequest::Decode{.tokens = 1, .past = past};
  const absl::StatusOr<ServingReport> step = CountServing(model, options, request);
  EXPECT_TRUE(step.ok()) << step.status();
  return step->columns[0].totals.macs.literal();
}

TEST(PipelineTest, AGrowingCacheIsTheSumOfItsSteps) {
  const absl::StatusOr<PipelineReport> report = CountText(kGpt2);
  ASSERT_TRUE(report.ok()) << report.status();
  const absl::StatusOr<Model> model = Load(ONNXFLOPS_SOURCE_DIR "/tests/data/config/gpt2");
  ASSERT_TRUE(model.ok()) << model.status();
  // MACs of a step are linear in the past: two counts of steps give all of them, a third checks it.
  const absl::int128 first = StepMacs(*model, 0), second = StepMacs(*model, 1);
  ASSERT_EQ(StepMacs(*model, 700), first + 700 * (second - first));
  std::mt19937 random(46);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in every run
  for (int i = 0; i < 1000; ++i) {
    const auto prompt = static_cast<int64_t>(random() % 500);
    const auto tokens = static_cast<int64_t>(random() % 500);
    absl::int128 sum = 0;
    for (int64_t t = 0; t < tokens; ++t) sum += first + (prompt + t) * (second - first);
    const auto macs = report->totals.macs.Evaluate({{"prompt", prompt}, {"tokens", tokens}});
    ASSERT_TRUE(macs.ok()) << macs.status();
    EXPECT_EQ(*macs, sum) << prompt << " " << tokens;
  }
}

// A sliding window: the cache grows up to its size.
TEST(PipelineTest, ACacheThatGrowsUpToACap) {
  const std::string text =
      absl::StrReplaceAll(kGpt2, {{"\"prompt + t\"", "\"min(window, prompt + 3*t)\""},
                                  {"prompt = \"?\"", "prompt = \"?\"\nwindow = \"?\""}});
  const absl::StatusOr<PipelineReport> report = CountText(text);
  ASSERT_TRUE(report.ok()) << report.status();
  const absl::StatusOr<Model> model = Load(ONNXFLOPS_SOURCE_DIR "/tests/data/config/gpt2");
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::int128 first = StepMacs(*model, 0), more = StepMacs(*model, 1) - first;
  std::mt19937 random(47);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in every run
  for (int i = 0; i < 1000; ++i) {
    const auto prompt = static_cast<int64_t>(random() % 200);
    const auto window = static_cast<int64_t>(random() % 500);
    const auto tokens = static_cast<int64_t>(random() % 200);
    absl::int128 sum = 0;
    for (int64_t t = 0; t < tokens; ++t) sum += first + std::min(window, prompt + 3 * t) * more;
    const auto macs =
        report->totals.macs.Evaluate({{"prompt", prompt}, {"window", window}, {"tokens", tokens}});
    ASSERT_TRUE(macs.ok()) << macs.status();
    EXPECT_EQ(*macs, sum) << prompt << " " << window << " " << tokens;
  }
  EXPECT_EQ(report->stages[0].sizes[1].second, "min(prompt + 3*t, window)");
}

// Sizes that grow beside it; windows of the model itself.
TEST(PipelineTest, MoreThanOneSizeMayGrow) {
  const std::string text = absl::StrReplaceAll(
      kGpt2, {{"\"prompt + t\"", "\"min(prompt + t, 6)\""}, {"batch = 3", "batch = \"t + 1\""}});
  const absl::StatusOr<PipelineReport> report = CountText(text, {{"prompt", 2}, {"tokens", 9}});
  ASSERT_TRUE(report.ok()) << report.status();
  absl::int128 sum = 0;
  for (int64_t t = 0; t < 9; ++t) {
    const std::string one =
        absl::StrReplaceAll(kGpt2, {{"for = \"t < tokens\"\n", ""},
                                    {"\"prompt + t\"", absl::StrCat(std::min<int64_t>(2 + t, 6))},
                                    {"batch = 3", absl::StrCat("batch = ", t + 1)}});
    const absl::StatusOr<PipelineReport> run = CountText(one, {{"prompt", 2}, {"tokens", 9}});
    ASSERT_TRUE(run.ok()) << run.status();
    sum += *run->totals.flops.Evaluate(run->bindings);
  }
  EXPECT_EQ(*report->totals.flops.Evaluate(report->bindings), sum);
}

TEST(PipelineTest, TimesProbabilityAndSharedWeights) {
  const char kText[] = R"(
[parameters]
images = 3
[[stage]]
name = "a"
model = "../../../models/resnet50.onnx"
times = "images"
[[stage]]
name = "b"
model = "../../../models/resnet50.onnx"
times = "2*images"
probability = 0.25
)";
  const absl::StatusOr<PipelineReport> report = CountText(kText);
  ASSERT_TRUE(report.ok()) << report.status();
  // 4,089,184,256 MACs and 25,530,472 parameters are torchvision's, as models/SOURCES.md has them.
  constexpr int64_t kOne = 4'089'184'256;
  const auto value = [&](const Expr& e) { return *e.Evaluate(report->bindings); };
  EXPECT_EQ(value(report->stages[0].totals.macs), 3 * kOne);
  EXPECT_EQ(value(report->stages[1].totals.macs), 3 * kOne / 2);
  EXPECT_EQ(value(report->totals.macs), 3 * kOne + 3 * kOne / 2);
  EXPECT_TRUE(report->expected);
  EXPECT_EQ(report->stages[1].weights_of, "a");
  EXPECT_EQ(report->totals.params, report->stages[0].totals.params);
}

// Weights count once in a chain, and for a file under another name. A copy is loaded, too.
TEST(PipelineTest, WeightsOfFilesAndCopies) {
  const auto stages = [](const char* of_second) {
    const std::string models = "../../../models/";
    return absl::StrCat("[[stage]]\nname = \"a\"\nmodel = \"", models, "resnet50.onnx\"\n",
                        "[[stage]]\nname = \"b\"\nmodel = \"", models, "vit-b-16.onnx\"\n",
                        of_second, "sizes = { batch = 1 }\n[[stage]]\nname = \"c\"\nmodel = \"",
                        models, "../models/vit-b-16.onnx\"\nsizes = { batch = 1 }\n");
  };
  constexpr int64_t kResNet = 25'530'472, kViT = 86'567'656;  // models/SOURCES.md
  const std::tuple<const char*, int64_t, int64_t> kCases[] = {
      {"", kResNet + kViT, kResNet + kViT},
      {"weights = \"a\"\n", kViT, kViT},
      {"copy_of = \"a\"\n", kViT, kResNet + kViT},
  };
  for (const auto& [second, params, loaded] : kCases) {
    const absl::StatusOr<PipelineReport> report = CountText(stages(second));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.params, Expr(params)) << second;
    EXPECT_EQ(report->stages[2].weights_of, *second == '\0' ? "b" : "a");
    Expr peak = 0;
    for (const PipelineStageCost& stage : report->stages) peak = Max(peak, *stage.peak_activations);
    EXPECT_EQ(*report->memory_bytes, peak + Expr(4 * loaded)) << second;
  }
}

// A number that a probability depends on changes both: shares by hand from equation 1.
TEST(PipelineTest, DraftedTokensAndAcceptanceAreParameters) {
  const char kText[] = R"(
[parameters]
draft = 4
percent = 80
[[stage]]
model = "../../../models/resnet50.onnx"
times = "draft"
probability = { acceptance = "percent/100", draft = "draft" }
)";
  const std::tuple<Bindings, int64_t, int64_t> kCases[] = {
      {{}, 625, 2101},              // (1 - 4/5) / (1 - (4/5)^5)
      {{{"draft", 2}}, 25, 61},     // (1 - 4/5) / (1 - (4/5)^3)
      {{{"percent", 50}}, 16, 31},  // (1 - 1/2) / (1 - (1/2)^5)
      {{{"percent", 100}}, 1, 5},
      {{{"percent", 0}}, 1, 1},
  };
  for (const auto& [given, part, whole] : kCases) {
    const absl::StatusOr<PipelineReport> report = CountText(kText, given);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->stages[0].probability.part, part);
    EXPECT_EQ(report->stages[0].probability.whole, whole);
    // No formula has the number, since the share would not follow it.
    const int64_t draft = given.contains("draft") ? given.at("draft") : 4;
    EXPECT_EQ(report->totals.macs, Expr(absl::int128{4'089'184'256} * draft * part / whole));
  }
}

// All answers have tokens.
TEST(PipelineTest, PerCountsThoseOfAllAnswers) {
  const std::string folder = ONNXFLOPS_SOURCE_DIR "/tests/data/pipeline/";
  for (const char* const name : {"gpt2.toml", "t5-tiny", "llava"}) {
    const Bindings given = {{"answers", 8}, {"tokens", 16}};
    const absl::StatusOr<Pipeline> pipeline = settings::ReadPipeline(folder + name, given);
    ASSERT_TRUE(pipeline.ok()) << pipeline.status();
    EXPECT_EQ(pipeline->per, "tokens");
    EXPECT_EQ(*pipeline->per_count.Evaluate(given), 128);
  }
}

// A sum of many peaks, or a decoder's, may have no formula: at given sizes it is a number.
TEST(PipelineTest, MemoryIsKnownAtGivenSizes) {
  const std::string folder = ONNXFLOPS_SOURCE_DIR "/tests/data/pipeline/llava";
  const absl::StatusOr<Pipeline> pipeline = settings::ReadPipeline(folder, {});
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  const absl::StatusOr<PipelineReport> report = CountPipeline(*pipeline, {});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_TRUE(report->memory_bytes);
  absl::int128 peak = 0;
  for (const PipelineStageCost& stage : report->stages) {
    ASSERT_TRUE(stage.peak_here) << stage.name;
    peak = std::max(peak, *stage.peak_here);
  }
  const auto weights = report->totals.param_bytes.Evaluate(report->bindings);
  EXPECT_EQ(*report->memory_bytes->Evaluate(report->bindings), *weights + peak);
}

// GPT-2 has 1024 positions, of which the last token of this loop is prompt + tokens.
TEST(PipelineTest, LimitsHoldForOtherNumbers) {
  const absl::StatusOr<PipelineReport> report = CountText(kGpt2, {{"prompt", 5}, {"tokens", 7}});
  ASSERT_TRUE(report.ok()) << report.status();
  absl::int128 last = 0;
  for (const PipelineLimit& limit : report->stages[0].limits) {
    EXPECT_EQ(limit.most, 1024) << limit.what;
    last = std::max(last, *limit.value.Evaluate({{"prompt", 1000}, {"tokens", 25}}));
  }
  EXPECT_EQ(last, 1025);
  EXPECT_EQ(ErrorOf(kGpt2, {{"prompt", 1000}, {"tokens", 25}}),
            "pipeline.toml:5:1: stage 'tokens': new + past = prompt + t + 1 is 1025: the "
            "configuration has positions for at most 1024");
}

TEST(PipelineTest, AStageThatNeverRunsHasNoActivations) {
  constexpr char kNever[] = R"(
[[stage]]
name = "large"
model = "../config/gpt2/config.json"
times = 0
sizes = { batch = 64, seq = 512 }
)";
  const std::string one = StageText("new = 3\npast = 5\nsizes = { batch = 1 }");
  const absl::StatusOr<PipelineReport> alone = CountText(one), both = CountText(one + kNever);
  ASSERT_TRUE(alone.ok() && both.ok()) << both.status();
  EXPECT_EQ(*both->memory_bytes, *alone->memory_bytes);
}

// 1/3 of 10 runs, rounded down, is no multiple of a run.
TEST(PipelineTest, ARunIsTheSameWhateverItsProbability) {
  const std::string text = StageText("times = 10\nnew = 3\npast = 5\nsizes = { batch = 1 }\n");
  const absl::StatusOr<PipelineReport> sure = CountText(text);
  const absl::StatusOr<PipelineReport> rare = CountText(text + "probability = 0.333333333");
  ASSERT_TRUE(sure.ok() && rare.ok()) << rare.status();
  EXPECT_EQ(rare->stages[0].certain_flops, sure->stages[0].totals.flops);
}

// A size decides which branch of branch.onnx runs: x[s, 16] times 16 x 16, once if s is below 5 and
// three times if not.
TEST(PipelineTest, ABranchThatASizeDecidesHasNoFormula) {
  const std::string stage = "[[stage]]\nname = \"a\"\nmodel = \"branch.onnx\"\n";
  const std::string open = "[parameters]\nn = \"?\"\n" + stage + "sizes = { s = \"n\" }";
  const absl::StatusOr<PipelineReport> report = CountText(open, {{"n", 10}});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->stages[0].has_formula);
  EXPECT_EQ(ErrorOf("[parameters]\nn = 10\n" + stage + "for = \"t < n\"\nsizes = { s = \"t\" }"),
            "pipeline.toml:3:1: stage 'a': a size decides what the model runs, so its runs have no "
            "sum; give it as a number");
}

// All runs have sizes of 5 and more, three products of 16 x 16 each: 5 + ... + 14 rows are 95.
TEST(PipelineTest, ABranchThatAllRunsDecideAlikeHasASum) {
  const absl::StatusOr<PipelineReport> report = CountText(
      "[parameters]\nn = 10\n[[stage]]\nmodel = \"branch.onnx\"\nfor = \"t < n\"\nsizes = { s = "
      "\"t + 5\" }");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(*report->totals.macs.Evaluate(report->bindings), 95 * 3 * 256);
  EXPECT_FALSE(report->stages[0].has_formula);
}

// One of two stages runs, the one that k says.
TEST(PipelineTest, MemoryIsThatOfTheStagesThatRun) {
  const auto text = [](int k) {
    return absl::StrCat(
        "[parameters]\nk = ", k, "\n", StageText("times = \"k\"\nsizes = { batch = 1, seq = 9 }\n"),
        "[[stage]]\nname = \"b\"\nmodel = \"../config/gpt2/config.json\"\ntimes = \"1 - k\"\n"
        "sizes = { batch = 64, seq = 512 }\n");
  };
  const absl::StatusOr<PipelineReport> at_0 = CountText(text(0)), at_1 = CountText(text(1));
  ASSERT_TRUE(at_0.ok() && at_1.ok()) << at_1.status();
  EXPECT_EQ(*at_0->memory_bytes->Evaluate({{"k", 1}}), *at_1->memory_bytes->Evaluate({{"k", 1}}));
  EXPECT_LT(*at_1->memory_bytes->Evaluate({{"k", 1}}), *at_0->memory_bytes->Evaluate({{"k", 0}}));
}

TEST(PipelineTest, NoRunAndMany) {
  const absl::StatusOr<PipelineReport> none = CountText(kGpt2, {{"prompt", 5}, {"tokens", 0}});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(*none->totals.macs.Evaluate(none->bindings), 0);
  std::string text = absl::StrReplaceAll(kGpt2, {{"for = \"t < tokens\"\npast = \"prompt + t\"",
                                                  "times = \"tokens\"\npast = \"prompt\""}});
  const absl::StatusOr<PipelineReport> many =
      CountText(text, {{"prompt", 5}, {"tokens", 1'000'000'000}});
  const absl::StatusOr<PipelineReport> one = CountText(text, {{"prompt", 5}, {"tokens", 1}});
  ASSERT_TRUE(many.ok() && one.ok()) << many.status();
  EXPECT_EQ(*many->totals.macs.Evaluate(many->bindings),
            1'000'000'000 * *one->totals.macs.Evaluate(one->bindings));
}

// A copy of the folder, with this schedule, as diffusers saves it.
std::string WithSchedule(const std::string& folder, const nlohmann::json& schedule) {
  const std::string copy = testing::TempDir() + "/scheduled";
  std::filesystem::remove_all(copy);
  std::filesystem::copy(folder, copy, std::filesystem::copy_options::recursive);
  std::filesystem::create_directory(copy + "/scheduler");
  std::ofstream(copy + "/scheduler/scheduler_config.json") << schedule.dump();
  std::ifstream read(copy + "/model_index.json");
  nlohmann::json index = nlohmann::json::parse(read);
  index["scheduler"] = {"diffusers", schedule["_class_name"]};
  std::ofstream(copy + "/model_index.json") << index.dump();
  return copy;
}

// What whole calls of transformers and diffusers execute: see tools/export/pipeline_truth.py.
TEST(PipelineTest, WholeCallsAreCountedToTheDigit) {
  const std::string folder = ONNXFLOPS_SOURCE_DIR "/tests/data/pipeline/";
  std::ifstream file(folder + "truth.json");
  const nlohmann::json truth = nlohmann::json::parse(file);
  ASSERT_EQ(truth["calls"].size(), 14);
  for (const nlohmann::json& call : truth["calls"]) {
    const std::string model = call["model"];
    Bindings given;
    if (model == "sd-tiny") {
      given = {{"steps", call["steps"]},      {"images", call["images"]},
               {"prompts", call["images"]},   {"guidance", call["guided"].get<bool>() ? 2 : 1},
               {"pixels_high", call["high"]}, {"pixels_wide", call["wide"]}};
    } else {
      given = {{model == "t5-tiny" ? "answers" : "batch", call["batch"]},
               {"beams", call["beams"]},
               {"prompt", call["prompt"]},
               {"tokens", call["tokens"]}};
    }
    const std::string of = model == "sd-tiny"
                               ? WithSchedule(folder + model, call["schedule"])
                               : folder + model + (model == "gpt2-tiny" ? "/pipeline.toml" : "");
    const absl::StatusOr<Pipeline> pipeline = settings::ReadPipeline(of, given);
    ASSERT_TRUE(pipeline.ok()) << pipeline.status();
    CountOptions options;
    options.bindings = given;
    const absl::StatusOr<PipelineReport> report = CountPipeline(*pipeline, options);
    ASSERT_TRUE(report.ok()) << report.status();
    const auto macs = report->totals.macs.Evaluate(report->bindings);
    ASSERT_TRUE(macs.ok()) << macs.status();
    const char* figure = model == "sd-tiny" ? "flops" : "flops_all_logits";
    EXPECT_EQ(2 * *macs, call[figure].get<int64_t>()) << call;
  }
}

// `generate` computes the logits of a prompt's last token only: the graph has those of all.
TEST(PipelineTest, TheLogitsOfAPromptExplainTheRest) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/pipeline/truth.json");
  const nlohmann::json truth = nlohmann::json::parse(file);
  constexpr int64_t kWidth = 48, kVocabulary = 100;
  for (const nlohmann::json& call : truth["calls"]) {
    if (call["model"] != "gpt2-tiny") continue;
    const int64_t rows = call["batch"].get<int64_t>() * call["beams"].get<int64_t>() *
                         (call["prompt"].get<int64_t>() - 1);
    EXPECT_EQ(call["flops_all_logits"].get<int64_t>() - call["flops"].get<int64_t>(),
              2 * rows * kWidth * kVocabulary);
  }
}

// Each point is counted by itself, and the formulas of any of them have its figures.
TEST(PipelineTest, PointsOfASweepAreThoseOfTheFormula) {
  const auto load = [](const Bindings& given) { return LoadPipeline(kGpt2, kFolder, given); };
  const absl::StatusOr<PipelineSweep> sweep =
      SweepPipeline(load, {}, {{"tokens", {1, 7, 300}}, {"prompt", {0, 64}}});
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  ASSERT_EQ(sweep->points.size(), 6U);
  EXPECT_EQ(sweep->points[1].at, (Bindings{{"tokens", 1}, {"prompt", 64}}));
  const Totals& formulas = sweep->points[5].report.totals;
  for (const auto& [at, report] : sweep->points) {
    for (Expr Amounts::*of : {&Amounts::flops, &Amounts::macs, &Amounts::bytes_read}) {
      EXPECT_EQ((formulas.*of).Substitute(at), (report.totals.*of).Substitute(report.bindings));
    }
  }
}

TEST(PipelineTest, StagesOfAllPointsAreBounded) {
  std::string text;
  for (int i = 0; i < 11; ++i) {
    absl::StrAppend(&text, "[[stage]]\nname = \"s", i,
                    "\"\nmodel = \"../config/gpt2/config.json\"\nsizes = { batch = 1 }\n");
  }
  const auto load = [&](const Bindings& given) { return LoadPipeline(text, kFolder, given); };
  SweptSymbol many = {"seq", {}};
  for (int64_t i = 1; i <= 1000; ++i) many.second.push_back(i);
  const absl::Status status = SweepPipeline(load, {}, {many}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(absl::StrContains(status.message(), "more than 10000 (pipeline-sweep)")) << status;
}

// The one by which figures are divided has an effect on these.
TEST(PipelineTest, ParametersWithoutEffectAreNamed) {
  const auto report = CountText(R"(per = "images"
[parameters]
images = 4
idle = 2
[[stage]]
name = "s"
model = "../config/gpt2/config.json"
sizes = { batch = 1, seq = 8 }
)");
  ASSERT_TRUE(report.ok()) << report.status();
  const std::string screen = DrawText(ToDocument(*report, {}));
  EXPECT_TRUE(absl::StrContains(screen, "parameter idle changes no figure")) << screen;
  EXPECT_FALSE(absl::StrContains(screen, "parameter images changes no figure")) << screen;
}

TEST(PipelineTest, APublishedFigureIsThatOfAPart) {
  const char kText[] = R"(
per = "images"
[parameters]
images = 2
[[stage]]
name = "a"
model = "../../../models/resnet50.onnx"
times = "3*images"
[[stage]]
name = "b"
model = "../../../models/resnet50.onnx"
)";
  const absl::StatusOr<PipelineReport> report = CountText(kText);
  ASSERT_TRUE(report.ok()) << report.status();
  // By hand, of torchvision's 4.089184256 GMACs: 6 runs and 1 run, 2 images.
  const struct {
    const char *published, *stage;
    bool counts_macs;
    std::vector<std::string> conventions;
  } kCases[] = {
      {"28.624 GMACs", "", true, {"onnxflops: all stages"}},
      {"14.312 GMACs", "", true, {"onnxflops: all stages, for each of images"}},
      {"24.535 GMACs", "", true, {"onnxflops: stage a"}},
      {"12.268 GFLOPs", "", true, {"onnxflops: stage a, for each of images"}},
      {"4.0892 GMACs", "", true, {"onnxflops: stage a, a run"}},
      {"4.0892 GMACs", "b", true, {"onnxflops: stage b"}},
      {"2.0446 GMACs", "b", true, {"onnxflops: stage b, for each of images"}},
      {"57.249 GFLOPs", "", false, {"macs: all stages"}},
      {"49.070211072 GFLOPs", "", false, {"macs: stage a"}},
  };
  for (const auto& [published, stage, counts_macs, conventions] : kCases) {
    const absl::StatusOr<PublishedFigure> figure = ParsePublishedFigure(published);
    ASSERT_TRUE(figure.ok()) << figure.status();
    const AuditRow row = Audit("x", *figure, {{*report, ""}}, stage);
    EXPECT_TRUE(row.matches) << published;
    EXPECT_EQ(row.unit == Unit::kMac, counts_macs) << published;
    EXPECT_EQ(row.conventions, conventions) << published;
  }
  const AuditRow row = Audit("x", *ParsePublishedFigure("1 GMACs"), {{*report, ""}}, "b");
  EXPECT_FALSE(row.matches);
  EXPECT_EQ(row.figure, 4'089'184'256 / 2);
}

TEST(PipelineTest, APageOfNumbersHasNoFields) {
  absl::StatusOr<PipelineReport> report = CountText(kGpt2, {{"prompt", 5}, {"tokens", 7}});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(absl::StrContains(ToHtml(*report), R"("sizes": {"prompt": 5, "tokens": 7})"));
  EXPECT_TRUE(absl::StrContains(ToHtml(*report), R"({"runs": "tokens"})"));
  report->stages[0].has_formula = false;
  EXPECT_TRUE(absl::StrContains(ToHtml(*report), R"("sizes": {})"));
  EXPECT_TRUE(absl::StrContains(ToHtml(*report), R"({"runs": "7"})"));
}

void ExpectErrors(absl::Span<const std::pair<std::string, const char*>> cases) {
  for (const auto& [text, error] : cases) {
    EXPECT_TRUE(absl::StrContains(ErrorOf(text), error)) << ErrorOf(text) << "\n" << text;
    EXPECT_FALSE(absl::StrContains(ErrorOf(text), '\n')) << ErrorOf(text);
  }
}

TEST(PipelineTest, ErrorsNameThePlace) {
  const std::pair<std::string, const char*> kCases[] = {
      {"", "pipeline.toml: no stage: a stage begins with [[stage]]"},
      {"[parameters]\na = \"b + 1\"\nb = \"2*a\"\n[[stage]]\n",
       "pipeline.toml:3:5: b '2*a': column 3: parameters need each other: a -> b -> a"},
      {"[parameters]\nsteps = 1\n" + StageText("times = \"stps\""),
       "pipeline.toml:6:9: times 'stps': column 1: no parameter is named 'stps'; did you mean "
       "steps?"},
      {StageText("step = 3"),
       "pipeline.toml:4:1: unknown key 'step'; known: name, model, times, for, "
       "new, past, sizes, fixed, values, probability, weights, copy_of"},
      {StageText("probability = 1.5"),
       "pipeline.toml:4:15: probability is from 0 to 1 with at most "
       "nine digits, as 0.25 or \"1/3\", not '1.5'"},
      {StageText("sizes = { btch = 2 }"),
       "stage 'a': ../config/gpt2/config.json: no symbol is named 'btch'; did you mean batch?"},
      {StageText("values = { x = [] }"),
       "pipeline.toml:4:16: a list of values has 1 to 64 elements"},
      {StageText("values = { x = [1, 2.5] }"),
       "pipeline.toml:4:20: a value is a whole number or a formula in quotes"},
      {"[parameters]\nn = \"?\"\n" + StageText("values = { input_ids = [1, \"n\"] }"),
       "the value of input_ids needs numbers, so n cannot be open: give it a number"},
      {StageText("for = \"t in 3\""),
       "pipeline.toml:4:7: for is \"t < tokens\": t goes from 0 to "
       "tokens - 1"},
      {StageText("weights = \"b\""), "pipeline.toml:4:11: no earlier stage is named 'b'"},
      {"[[stage]]\nmodel = \"absent.onnx\"", "pipeline.toml:2:9: stage 'absent.onnx': absent.onnx"},
      {"[[stage]]\nmodel = \"gpt2.toml\"",
       "pipeline.toml:2:9: stage 'gpt2.toml': gpt2.toml is no model"},
      {"[parameters]\nn = 1000000000000\n" + StageText("times = \"n*n*n*n\""),
       "overflows 128 bits"},
      {StageText("for = \"t < 31\"\nsizes = { batch = \"(t - 15)^2 - 95\" }"),
       "batch = t^2 - 30*t + 130: it may only grow or shrink by equal steps of t, as a + b*t"},
      {StageText("for = \"t < 100\"\npast = \"t*(100 - t)\""),
       "past = -t^2 + 100*t: it may only grow or shrink by equal steps of t"},
      {"[parameters]\na = 1\nb = 1\nc = 1\n" + StageText("sizes = { seq = \"(a + b + c)^3\" }"),
       "it has 10 terms, more than 8 (stage-size-terms)"},
      {"[[stage]]\nname = \"a\"\nmodel = \"../../../models/deployed/gpt2_past.ort_fused.onnx\"\n"
       "past = 1024",
       "new + past = 1025 is 1025: 'm.transformer.wpe.weight' has positions for at most 1024"},
      {StageText("past = 1024"),
       "stage 'a': new + past = 1025 is 1025: the configuration has positions for at most 1024"},
      {"[parameters]\nn = 1\n" + StageText("times = \"n - 2\""),
       "pipeline.toml:3:1: stage 'a': times = n - 2 is -1, below 0"},
  };
  ExpectErrors(kCases);
}

TEST(PipelineTest, ErrorsOfProbabilitiesAndParameters) {
  const std::pair<std::string, const char*> kCases[] = {
      {StageText("probability = \"10 %\""), "nine digits, as 0.25 or \"1/3\", not '10 %'"},
      {StageText("probability = 10%"),
       "expected digit, saw '%'; a text or a formula stands in quotes"},
      {"[stage]\nmodel = \"a\"\n[stage]\nmodel = \"b\"",
       "cannot redefine existing table 'stage'; several of a kind begin with two brackets each"},
      {"[parameters]\nn = 3\n" + StageText("times = \"n/2\""),
       "found '/'; // divides, and rounds down"},
      {StageText("times = \"0.5\""), "found '.'; formulas have whole numbers"},
      {StageText("for = \"t <= 3\""), "for is \"t < tokens\": t goes from 0 to tokens - 1"},
      {StageText("for = \"i < 3\"\npast = \"t\""), "no parameter is named 't'; known: i"},
      {StageText("probability = { acceptance = 0.8 }"),
       "a probability, and a number of drafted tokens"},
      {StageText("probability = { acceptance = 70, draft = 4 }"),
       "acceptance is from 0 to 1 with at"},
      {StageText("probability = { acceptance = 0.77, draft = 40 }"),
       "draft = 40: 0.77 to the power of 41 has more than 18 digits: take fewer"},
      {"[parameters]\ndraft = 4\n" + StageText("probability = { acceptance = 0.8, draft = 4 }"),
       "draft is a number here and a parameter besides: write draft = \"draft\""},
      {"[parameters]\nn = \"?\"\n" + StageText("probability = \"n/100\""),
       "pipeline.toml:2:5: 'n' is in a probability, so it is a number"},
      {"[parameters]\nn = { value = 3, least = 1, most = 2, about = \"runs\" }\n" + StageText(""),
       "n = 3 is above 2; it is: runs"},
      {"[parameters]\nn = { value = 0, least = 1 }\n" + StageText(""), "n = 0 is below 1"},
      {"[parameters]\nn = { least = 1 }\n" + StageText(""), "pipeline.toml:2:5: 'n' needs a value"},
      {StageText("new = 2\npast = 7\nsizes = { seq = 3 }"),
       "sizes sets 'seq' to 3, and by new and past it is 2: leave it out of sizes"},
      {"[[stage]]\nname = \"(all)\"\nmodel = \"a\"", "no stage may be named (all)"},
      {"per = { a = 1, b = 2 }\n" + StageText(""), "per has one name, as { tokens = "},
      {"per = { \"a\\u001b\" = 1 }\n" + StageText(""), "a name is letters, digits and _, not 'a"},
      {"per = { a = \"n - 2\" }\n[parameters]\nn = 1\n" + StageText("sizes = { batch = 1 }"),
       "per: a = n - 2 is -1, below 0"},
      {"[parameters]\nn = { value = 3, least = 5, most = 2 }\n" + StageText(""),
       "pipeline.toml:2:5: least = 5 is above most = 2"},
      {StageText("probability = \"13/12\""), "probability '13/12' is 13/12, above 1"},
      {StageText("probability = 1e-13"), "probability is from 0 to 1 with at most nine digits"},
      {StageText("copy_of = \"b\"\nweights = \"b\""),
       "a stage has weights, of the same file, or copy_of, of another one: not both"},
  };
  ExpectErrors(kCases);
}

// Another number for what follows from others is for what depends on it.
TEST(PipelineTest, AReplacedFormulaChangesAStage) {
  const std::string text =
      "per = \"seconds\"\n[parameters]\nanswers = 2\nseconds = \"30*answers\"\n" +
      StageText("new = 3\npast = 5\nsizes = { batch = ");
  EXPECT_EQ(
      ErrorOf(text + "\"answers\" }", {{"seconds", 90}}),
      "pipeline.toml: seconds = 90: more than the 60 that follow from others, as '30*answers', "
      "and no stage depends on it: change those instead");
  EXPECT_EQ(ErrorOf(text + "\"answers\" }", {{"seconds", 45}}), "");  // a clip is shorter
  const absl::StatusOr<PipelineReport> used = CountText(text + "\"seconds\" }", {{"seconds", 90}});
  ASSERT_TRUE(used.ok()) << used.status();
  EXPECT_EQ(*used->per_count.Evaluate(used->bindings), 90);
}

}  // namespace
}  // namespace onnxflops::pipeline_test
