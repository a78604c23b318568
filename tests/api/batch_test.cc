// The batch that ran: sums over samples of different sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/api/count.h"
#include "src/api/load.h"
#include "src/api/mfu.h"
#include "src/api/samples.h"
#include "src/compare/compare_report.h"
#include "src/family/family.h"
#include "src/report/report.h"
#include "src/symbolic/sample_sum.h"
#include "tests/model_text.h"

namespace onnxflops::batch_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

Model LoadKept(const std::string& name) {
  return Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/", name)).value();
}

Samples Lengths(std::vector<int64_t> sizes, Samples::Layout layout = Samples::Layout::kRows) {
  Samples samples;
  samples.sizes[""] = std::move(sizes);
  samples.layout = layout;
  return samples;
}

Report CountOver(const Model& model, Samples samples) {
  CountOptions options;
  options.samples = std::move(samples);
  const absl::StatusOr<Report> report = Count(model, options);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.value_or(Report());
}

Report CountAt(const Model& model, int64_t batch, int64_t seq) {
  CountOptions options;
  options.bindings = {{"batch", batch}, {"seq", seq}};
  return Count(model, options).value();
}

constexpr const char* kModels[] = {"models/gpt2.onnx", "models/llama-tiny.onnx",
                                   "models/bert-base.onnx", "tests/data/config/gpt2/config.json"};

TEST(BatchTest, ARectangleIsTodaysFigureInEveryRow) {
  for (const char* name : kModels) {
    const Model model = LoadKept(name);
    const Report summed = CountOver(model, Lengths({96, 96, 96}));
    const Report plain = CountAt(model, 3, 96);
    EXPECT_EQ(static_cast<const Amounts&>(summed.totals), plain.totals) << name;
    ASSERT_EQ(summed.modules.size(), plain.modules.size());
    for (size_t i = 0; i < plain.modules.size(); ++i) {
      EXPECT_EQ(*summed.modules[i].amounts, *plain.modules[i].amounts) << plain.modules[i].path;
    }
    EXPECT_EQ(summed.samples->rectangle.flops, plain.totals.flops);
    EXPECT_TRUE(summed.symbols.empty());
  }
}

// Counts of one sample at a time, which know nothing of sums.
TEST(BatchTest, MacsAreThoseOfEachSampleAlone) {
  std::mt19937 random(43);
  for (const char* name : kModels) {
    const Model model = LoadKept(name);
    std::vector<int64_t> lengths;
    Expr macs = 0;
    for (int i = 0; i < 12; ++i) {
      lengths.push_back(1 + static_cast<int64_t>(random() % 500));
      macs += CountAt(model, 1, lengths.back()).totals.macs;
    }
    EXPECT_EQ(CountOver(model, Lengths(lengths)).samples->one_by_one.macs, macs) << name;
    const Report packed = CountOver(model, Lengths(lengths, Samples::Layout::kPacked));
    EXPECT_EQ(packed.totals.macs, macs) << name;
  }
}

TEST(BatchTest, TheOrderOfSamplesDoesNotMatterAndRowsAddUp) {
  const Model model = LoadKept("models/gpt2.onnx");
  const Report one = CountOver(model, Lengths({17, 300, 300, 512}));
  const Report other = CountOver(model, Lengths({300, 512, 17, 300}));
  EXPECT_EQ(static_cast<const Amounts&>(one.totals), other.totals);
  Expr flops = 0;
  for (const OpRow& row : one.by_op) flops += row.flops;
  EXPECT_EQ(flops, one.totals.flops);
  EXPECT_EQ(one.modules[0].amounts->flops, one.totals.flops);
}

TEST(BatchTest, OneRowIsASequenceOfAllTokens) {
  const Model model = LoadKept("models/gpt2.onnx");
  const Report row = CountOver(model, Lengths({17, 300}, Samples::Layout::kOneRow));
  EXPECT_EQ(static_cast<const Amounts&>(row.totals), CountAt(model, 1, 317).totals);
  ASSERT_TRUE(row.samples);
  EXPECT_TRUE(row.samples->as_row);
  EXPECT_EQ(row.samples->samples, 2);
  EXPECT_EQ(row.samples->rectangle.flops, row.totals.flops);
  const Report packed = CountOver(model, Lengths({17, 300}, Samples::Layout::kPacked));
  EXPECT_EQ(row.samples->flops, packed.totals.flops);
}

TEST(BatchTest, WeightsAreReadOnceInABatch) {
  const Model model = LoadKept("models/gpt2.onnx");
  const Report summed = CountOver(model, Lengths({8, 8}));
  EXPECT_EQ(summed.totals.params, CountAt(model, 1, 8).totals.params);
  EXPECT_EQ(summed.totals.bytes_read, CountAt(model, 2, 8).totals.bytes_read);
}

nlohmann::json Ragged() {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/config/ragged.json");
  return nlohmann::json::parse(file)["models"];
}

// CLIP's logits multiply every image with every text: 3 x 3 products of 64 numbers.
TEST(BatchTest, WhatMixesSamplesIsNamedAndCountsAsItRuns) {
  const Model model = LoadConfig(Ragged()["clip"]["config"].dump(), "clip").value();
  const Report summed = CountOver(model, Lengths({77, 20, 5}));
  EXPECT_EQ(summed.samples->mixing, (std::vector<std::string>{"MatMul", "Mul"}));
  EXPECT_EQ(summed.totals.macs - summed.samples->one_by_one.macs, Expr((9 - 3) * 64));
}

// Chunks of prompts and tokens behind caches of different lengths, in one step.
TEST(BatchTest, AStepOfServingIsTheSumOfItsRequests) {
  const Model model = LoadConfig(Ragged()["llama"]["config"].dump(), "llama").value();
  Samples requests;
  ASSERT_TRUE(AddLengths("seq past\n512 0\n128 384\n1 300\n1 800\n", &requests).ok());
  Expr macs = 0;
  for (const auto& [seq, past] : {std::pair(512, 0), {128, 384}, {1, 300}, {1, 800}}) {
    CountOptions options;
    options.bindings = {{"batch", 1}, {"seq", seq}, {"past", past}};
    macs += Count(model, options).value().totals.macs;
  }
  EXPECT_EQ(CountOver(model, requests).totals.macs, macs);
}

// A convolution of 3 channels to 4, 1 x 1: 12 MACs a pixel.
TEST(BatchTest, ImagesHaveHeightsAndWidths) {
  const Model model = ModelFromText(
      "g (float[n, 3, h, w] x, float[4, 3, 1, 1] k) => (float[n, 4, h, w] y) { y = Conv(x, k) }",
      20);
  Samples images;
  ASSERT_TRUE(AddImages("4x5, 6x7", &images).ok());
  const Report summed = CountOver(model, images);
  EXPECT_EQ(summed.totals.macs, Expr(12 * (4 * 5 + 6 * 7)));
  EXPECT_EQ(summed.samples->rectangle.macs, Expr(12 * 2 * (6 * 7)));
}

nlohmann::json Audio() {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/config/audio.json");
  return nlohmann::json::parse(file);
}

Samples AudioOf(const std::string& text) {
  Samples samples;
  EXPECT_TRUE(AddAudio(text, &samples).ok()) << text;
  return samples;
}

// 47 s are two chunks of 30 s, and every chunk is computed as a whole.
TEST(BatchTest, ChunksOfAudioAreThoseOfTorch) {
  const nlohmann::json truth = Audio();
  const Model model = LoadConfig(truth["config"].dump(), "config.json").value();
  int64_t flops = 0;
  std::vector<int64_t> tokens;
  for (size_t i = 0; i < 4; ++i) {
    tokens.push_back(truth["chunks"][5 * i]["tokens"].get<int64_t>());
    flops += truth["chunks"][5 * i]["flops"].get<int64_t>();
  }
  for (const char* text : {"12.5s,30s,47s", "1250,3000,4700"}) {
    Samples samples = AudioOf(text);
    samples.sizes[""] = tokens;
    const Report report = CountOver(model, samples);
    EXPECT_EQ(2 * report.totals.macs, Expr(flops)) << text;
    ASSERT_TRUE(report.samples->chunks);
    EXPECT_EQ(report.samples->chunks->samples, 3);
    EXPECT_EQ(report.samples->samples, 4);
    EXPECT_EQ(report.samples->chunks->sum, 1250 + 3000 + 4700);
  }
  for (const auto& batch : truth["batches"]) {
    CountOptions options;
    options.bindings = {{"seq", batch["tokens"].get<int64_t>()}};
    options.samples = AudioOf(absl::StrCat(batch["chunks"].get<int64_t>() * 3000 - 7));
    EXPECT_EQ(2 * Count(model, options).value().totals.macs, Expr(batch["flops"].get<int64_t>()));
  }
}

TEST(BatchTest, FramesOfSecondsAreThoseOfTheProcessor) {
  const nlohmann::json truth = Audio();
  const Model model = LoadConfig(truth["config"].dump(), "config.json").value();
  std::string text;
  int64_t frames = 0;
  for (const auto& row : truth["frames"]) {
    absl::StrAppend(&text, row["seconds"].dump(), "s,");
    frames += row["frames"].get<int64_t>();
    Samples one = AudioOf(absl::StrCat(row["seconds"].dump(), "s"));
    Bindings dims = {{"seq", 7}};
    EXPECT_EQ(FindSamples(*model, one, &dims).value().chunks->sum, row["frames"].get<int64_t>());
  }
  EXPECT_EQ(CountOver(model, AudioOf(text)).samples->chunks->sum, frames);
}

// An encoder of fewer positions has no padding.
TEST(BatchTest, PaddingOfChunksIsWhatFewerFramesDoNotTake) {
  const nlohmann::json truth = Audio();
  const Model model = LoadConfig(truth["config"].dump(), "config.json").value();
  for (const auto& row : truth["unpadded"]) {
    CountOptions options;
    options.bindings = {{"seq", row["tokens"].get<int64_t>()}};
    options.samples = AudioOf(absl::StrCat(row["frames"].get<int64_t>(), ",3000"));
    const Report report = Count(model, options).value();
    const Expr whole(truth["unpadded"].back()["flops"].get<int64_t>());
    EXPECT_EQ(2 * report.totals.macs, 2 * whole);
    EXPECT_EQ(2 * (report.totals.macs - report.samples->chunks->padding.macs),
              whole + row["flops"].get<int64_t>())
        << row;
    // The same frames without a chunk around them.
    options = {.bindings = {{"batch", 1},
                            {"seq", row["tokens"].get<int64_t>()},
                            {"frames", row["frames"].get<int64_t>()}}};
    EXPECT_EQ(2 * Count(model, options).value().totals.macs, Expr(row["flops"].get<int64_t>()));
  }
}

// Together are the queries of the text with keys of the audio, and the values that they take: 2
// products of 1,500 positions in each of 2 layers of width 96.
TEST(BatchTest, TextAndAudioApart) {
  const Model model = LoadConfig(Audio()["config"].dump(), "config.json").value();
  Samples samples = AudioOf("12.5s,30s,47s");
  samples.sizes["seq"] = {10, 20, 30, 40};
  const Report report = CountOver(model, samples);
  const auto& parts = report.samples->modalities;
  ASSERT_EQ(parts.size(), 3);
  EXPECT_STREQ(parts[0].name, "text");
  EXPECT_STREQ(parts[1].name, "audio");
  EXPECT_EQ(parts[2].work.macs, Expr(2 * 2 * 1500 * 96 * (10 + 20 + 30 + 40)));
  EXPECT_EQ(parts[0].work.flops + parts[1].work.flops + parts[2].work.flops, report.totals.flops);
}

// Products of 8 numbers with 16.
TEST(BatchTest, OpenFramesAreALength) {
  const Model model = ModelFromText(
      "g (float[n, s, 8] audio, float[8, 16] w) => (float[n, s, 16] y) { y = MatMul(audio, w) }",
      20);
  const Report report = CountOver(model, AudioOf("50,150"));
  EXPECT_EQ(report.totals.macs, Expr(128 * 200));
  EXPECT_FALSE(report.samples->chunks);
}

TEST(BatchTest, AudioThatDoesNotFitTheModel) {
  const Model whisper = LoadConfig(Audio()["config"].dump(), "config.json").value();
  const Model open = ModelFromText(
      "g (float[n, s, 8] audio, float[8, 16] w) => (float[n, s, 16] y) { y = MatMul(audio, w) }",
      20);
  const Model fixed = ModelFromText(
      "g (float[n, 5, 8] audio, float[8, 16] w) => (float[n, 5, 16] y) { y = MatMul(audio, w) }",
      20);
  const Model two = ModelFromText(
      "g (float[n, s, t] audio, float[8, 16] w) => (float[n, s, t] y) { y = Relu(audio) }", 20);
  Samples uneven = AudioOf("12.5s,30s,47s"), packed = AudioOf("12.5s"), given = AudioOf("12.5s");
  uneven.sizes["seq"] = {10, 20, 30};
  packed.layout = Samples::Layout::kPacked;
  given.sizes["frames"] = {1250};
  const struct {
    const Model& model;
    Samples samples;
    const char* error;
  } cases[] = {
      {whisper, uneven, "makes 4 chunks of 3,000 frames, and there are 3 sizes for 'seq'"},
      {whisper, packed, "each chunk of audio is a row of its own"},
      {whisper, given, "given twice"},
      {whisper, AudioOf("0.001s"), "sample 1: its audio has 0 frames: it should have from 1"},
      {whisper, AudioOf("1099511627776"), "there are more than 10000000 sizes"},
      {open, AudioOf("12.5s"), "give frames, as audio 1250,3000"},
      {fixed, AudioOf("5"), "the inputs of audio leave no length open"},
      {two, AudioOf("5"), "the inputs of audio leave open 's', 't'"},
      {LoadKept("models/gpt2.onnx"), AudioOf("5"), "no input takes audio"},
      {LoadKept("models/gpt2.onnx"), AudioOf("12.5s"), "no input takes audio"},
  };
  for (const auto& bad : cases) {
    CountOptions options;
    options.samples = bad.samples;
    const absl::Status status = Count(bad.model, options).status();
    EXPECT_TRUE(absl::StrContains(status.message(), bad.error)) << status;
  }
}

// Images and texts have a batch each, and neither is a length of the other's samples.
TEST(BatchTest, AnotherBatchIsNoLength) {
  const Model clip = ModelFromText(
      "g (float[images, 3] pixel_values, int64[texts, 4] input_ids, float[3, 2] w) => "
      "(float[images, 2] y, int64[texts, 4] z) { y = MatMul(pixel_values, w)\n"
      "z = Identity(input_ids) }",
      20);
  CountOptions options;
  options.samples = Lengths({10, 20});
  EXPECT_TRUE(absl::StrContains(Count(clip, options).status().message(),
                                "no input leaves a length open that the samples could have"));
  // A length may stand before the batch.
  const Model before = ModelFromText(
      "g (float[s, batch, 8] x, float[8, 16] w) => (float[s, batch, 16] y) { y = MatMul(x, w) }",
      20);
  EXPECT_EQ(Count(before, options).value().totals.macs, Expr(128 * 30));
}

struct RaggedPoint {
  Bindings sizes;
  int64_t flops;
};

// Random batches of the points of a model: each sample was run alone by torch, which counted it.
void ExpectSumsOfTorch(const std::string& name, const Model& model,
                       const std::vector<RaggedPoint>& points, std::mt19937* random) {
  const absl::StatusOr<Report> open = Count(model, {});
  ASSERT_TRUE(open.ok()) << open.status();
  for (int i = 0; i < 1000; ++i) {
    SampleSizes sizes = {.count = "batch", .packed = i % 2 == 1};
    for (const auto& [symbol, size] : points[0].sizes) sizes.symbols.push_back(symbol);
    std::vector<std::vector<int64_t>> columns(sizes.symbols.size());
    absl::int128 flops = 0;
    for (size_t n = 1 + (*random)() % 64; columns[0].size() < n;) {
      const RaggedPoint& point = points[(*random)() % points.size()];
      for (size_t c = 0; c < columns.size(); ++c) {
        columns[c].push_back(point.sizes.at(sizes.symbols[c]));
      }
      flops += point.flops;
    }
    sizes.SetRows(columns);
    const SampleSum sum(std::move(sizes));
    ASSERT_EQ(2 * sum.OneByOne(open->totals.macs), Expr(flops)) << name;
    if (sum.Mixes(open->totals.macs)) continue;
    ASSERT_EQ(2 * sum.Of(open->totals.macs), Expr(flops)) << name;
  }
}

TEST(BatchTest, SumsOfWhatTorchCountsOfEachSample) {
  std::mt19937 random(43);
  const nlohmann::json truth = Ragged();
  for (const auto& [name, entry] : truth.items()) {
    const absl::StatusOr<Model> model = LoadConfig(entry["config"].dump(), name);
    ASSERT_TRUE(model.ok()) << model.status();
    std::vector<RaggedPoint> points;
    for (const auto& point : entry["points"]) {
      RaggedPoint& added = points.emplace_back();
      for (const auto& [symbol, size] : point["sizes"].items()) added.sizes[symbol] = size;
      added.flops = point["flops"];
    }
    ExpectSumsOfTorch(name, *model, points, &random);
  }
}

TEST(BatchTest, TheExactBackwardPassIsSummed) {
  const Model model = LoadKept("models/gpt2.onnx");
  CountOptions options;
  options.training.emplace();
  options.samples = Lengths({96, 96});
  const Report summed = Count(model, options).value();
  options.samples.reset();
  options.bindings = {{"batch", 2}, {"seq", 96}};
  const Report plain = Count(model, options).value();
  EXPECT_EQ(summed.totals.training_flops, plain.totals.training_flops);
  EXPECT_EQ(summed.modules[1].amounts->gradient_flops, plain.modules[1].amounts->gradient_flops);
}

// Gradients of biases and of position embeddings are sums over what is there, and cost nothing
// where only one thing is: the formula has a switch min(1, batch*seq - 1) for that.
TEST(BatchTest, GradientsAreThoseOfEachSample) {
  const Model model = LoadKept("models/gpt2.onnx");
  CountOptions options;
  options.training.emplace();
  options.samples = Lengths({512, 300, 17});
  const Report summed = Count(model, options).value();
  EXPECT_TRUE(summed.samples->mixing.empty());
  Expr alone = 0;
  for (const int64_t seq : {512, 300, 17}) {
    options.samples.reset();
    options.bindings = {{"batch", 1}, {"seq", seq}};
    alone += Count(model, options).value().totals.gradient_flops;
  }
  // Positions are looked up once for all samples: their gradients are added up over the samples,
  // 768 numbers of each token, and go through the look-up for the longest one only.
  const Expr added = 768 * (512 + 300 + 17), looked_up_less = 768 * (300 + 17);
  EXPECT_EQ(summed.totals.gradient_flops, alone + added - looked_up_less);
}

// A second tower whose batch has another name is not known to be done for each sample.
TEST(BatchTest, WhatIsDoneOnceIsToldWhereItMatters) {
  const Model model = ModelFromText(
      "g (float[n, s, 8] x, float[other, s, 8] z, float[8, 16] w) => (float[n, s, 16] y, "
      "float[other, s, 16] v) { y = MatMul(x, w) v = MatMul(z, w) }",
      20);
  CountOptions options;
  options.bindings = {{"other", 3}};
  options.samples.emplace();
  options.samples->sizes["s"] = {50, 150, 300};
  const Report report = Count(model, options).value();
  EXPECT_EQ(report.samples->once_flops, Expr(2 * 128 * 3 * 300));
  EXPECT_EQ(report.totals.flops, Expr(2 * 128 * (500 + 3 * 300)));
}

TEST(BatchTest, TheBatchMayStandOnTheSecondAxis) {
  const Model model = ModelFromText(
      "g (float[seq, seq] m, float[seq, batch, 8] x, float[8, 16] w) => (float[seq, batch, 16] y) "
      "{ y = MatMul(x, w) }",
      20);
  EXPECT_EQ(CountOver(model, Lengths({50, 150})).totals.macs, Expr(128 * 200));
}

// From 100 on the other branch runs.
TEST(BatchTest, SizesThatDecideWhatRunsAreRefused) {
  const Model model = ModelFromText(
      "g (float[n, s, 8] x) => (float[n, s, 8] y) <int64 hundred = {100}, int64 one = {1}> {"
      " shape = Shape(x) size = Gather(shape, one) less = Less(size, hundred)"
      " y = If(less) <then_branch = a () => (float[n, s, 8] p) { p = Relu(x) },"
      " else_branch = b () => (float[n, s, 8] q) { r = Exp(x) q = Exp(r) }> }",
      20);
  CountOptions options;
  options.samples.emplace();
  options.samples->sizes["s"] = {50, 150, 300};
  const absl::Status status = Count(model, options).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "a size decides what the model runs")) << status;
}

MfuOptions Rate(double seconds) {
  MfuOptions options;
  options.rate.step_seconds = seconds;
  options.peak = 1e12;
  return options;
}

TEST(BatchTest, MfuOfARectangleIsThatOfItsSizes) {
  const Model model = LoadKept("models/gpt2.onnx");
  MfuOptions ragged = Rate(0.5), plain = Rate(0.5);
  ragged.count.samples = Lengths({64, 64});
  plain.count.bindings = {{"batch", 2}, {"seq", 64}};
  const MfuReport a = CountMfu(model, ragged).value(), b = CountMfu(model, plain).value();
  EXPECT_EQ(a.training_flops, b.training_flops);
  EXPECT_EQ(a.mfu, b.mfu);
  EXPECT_EQ(a.batch, 2);
  for (const MfuFormula& formula : b.formulas) {
    const auto same = std::find_if(a.formulas.begin(), a.formulas.end(),
                                   [&](const MfuFormula& f) { return f.name == formula.name; });
    ASSERT_NE(same, a.formulas.end()) << formula.name;
    EXPECT_EQ(same->flops_per_step, formula.flops_per_step) << formula.name;
  }
}

// The padded batch by the rule that the sum is counted by.
// By Megatron-Bridge's own functions, by hand: vit_flops_from_grid_thw gives 144 patches in frames
// of 96, 24 and 24, 36 tokens. Qwen3-VL's tower has only products that it counts; that of
// Qwen2.5-VL has a third matrix in the MLP, of 96 x 200 in 3 layers, and windows.
TEST(BatchTest, TheTowerByMegatronBridge) {
  const std::tuple<const char*, int64_t, size_t> cases[] = {{"qwen3-vl-deep", 443252736, 3},
                                                            {"qwen2-5-vl-windows", 284000256, 5}};
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/config/vision.json");
  const nlohmann::json models = nlohmann::json::parse(file)["models"];
  for (const auto& [name, flops, terms] : cases) {
    const Model model = LoadConfig(models[name]["config"].dump(), "config.json").value();
    MfuOptions options = Rate(1);
    options.count.samples = Lengths({10, 20});
    ASSERT_TRUE(AddGridThw("1x8x12,2x4x6", &*options.count.samples).ok());
    const MfuReport report = CountMfu(model, options).value();
    bool found = false;
    for (const MfuFormula& formula : report.formulas) {
      if (formula.name != "megatron-bridge-vision") continue;
      found = true;
      EXPECT_EQ(*formula.flops_per_step, flops) << name;
      EXPECT_EQ(formula.terms.size(), terms) << name;
      absl::int128 sum = 0;
      for (const auto& [what, amount] : formula.terms) sum += amount;
      EXPECT_EQ(sum, flops) << name;
      for (const auto& [what, amount] : formula.terms) {
        if (absl::StartsWith(what, "MLP")) {
          EXPECT_EQ(amount, -6 * 3 * 96 * 200 * 144);
        }
      }
    }
    EXPECT_TRUE(found) << name;
  }
}

// `compare` has the same formula for one image, and terms that lead to it from the whole model or
// from the tower alone.
TEST(BatchTest, TheTowerIsAConvention) {
  const std::pair<const char*, int64_t> cases[] = {{"qwen3-vl-deep", 443252736},
                                                   {"qwen2-5-vl-windows", 284000256}};
  const Bindings sizes[] = {{{"grid_t", 1}, {"grid_h", 8}, {"grid_w", 12}},
                            {{"grid_t", 2}, {"grid_h", 4}, {"grid_w", 6}}};
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/config/vision.json");
  const nlohmann::json models = nlohmann::json::parse(file)["models"];
  for (const auto& [name, flops] : cases) {
    const Model model = LoadConfig(models[name]["config"].dump(), "config.json").value();
    for (const char* part : {"", "visual"}) {
      Expr sum = 0;
      for (const Bindings& grid : sizes) {
        CountOptions options;
        options.bindings = grid;
        options.bindings.insert({{"batch", 1}, {"seq", 10}});
        options.module = part;
        const CompareReport report =
            CompareTools(model, options, {.with = {"megatron-bridge-vision"}}).value();
        const ToolRow& row = report.tools[0];
        EXPECT_EQ(row.standing, Standing::kExact) << name;
        Expr reached = row.start;
        for (const TermRow& term : row.terms) reached += term.amount;
        EXPECT_EQ(reached, *row.headline) << name;
        sum += *row.headline;
      }
      EXPECT_EQ(sum, Expr(flops)) << name << " " << part;
    }
  }
}

TEST(BatchTest, MfuCountsTheRectangleAsTheSamples) {
  const Model model = LoadKept("models/gpt2.onnx");
  MfuOptions options = Rate(0.5);
  options.count.training = TrainingOptions();
  CountOptions padded = options.count;
  padded.bindings = {{"batch", 3}, {"seq", 64}};
  options.count.samples = Lengths({64, 17, 3});
  const MfuReport report = CountMfu(model, options).value();
  EXPECT_EQ(report.samples->rectangle.training_flops, Count(model, padded)->totals.training_flops);
  EXPECT_NE(report.samples->rectangle.training_flops, 3 * report.samples->rectangle.flops);
}

TEST(BatchTest, MfuLeavesOutPadding) {
  const Model model = LoadKept("models/gpt2.onnx");
  MfuOptions options = Rate(0.5);
  options.count.samples = Lengths({512, 300, 17});
  const MfuReport report = CountMfu(model, options).value();
  const Report forward = CountOver(model, Lengths({512, 300, 17}));
  EXPECT_EQ(Expr(report.training_flops), 3 * forward.totals.flops);
  const auto rectangle = std::find_if(report.formulas.begin(), report.formulas.end(),
                                      [](const MfuFormula& f) { return f.name == "rectangle"; });
  ASSERT_NE(rectangle, report.formulas.end());
  EXPECT_EQ(Expr(*rectangle->flops_per_step), 3 * CountAt(model, 3, 512).totals.flops);
}

// Rows are padded in memory; a kernel takes the time of all samples together.
TEST(BatchTest, MemoryIsThatOfTheRectangleAndTimesAreThoseOfTheBatch) {
  const Model model = LoadKept("models/gpt2.onnx");
  CountOptions ragged, plain;
  ragged.memory.emplace(), plain.memory.emplace();
  ragged.on_device = plain.on_device = {*FindDevice("h100-sxm"), Precision::kBf16};
  ragged.samples = Lengths({96, 96});
  plain.bindings = {{"batch", 2}, {"seq", 96}};
  const Report a = Count(model, ragged).value(), b = Count(model, plain).value();
  EXPECT_EQ(a.totals.time_bound, b.totals.time_bound);
  EXPECT_EQ(a.totals.time_estimate, b.totals.time_estimate);
  EXPECT_EQ(a.roofline->fused_time_estimate, b.roofline->fused_time_estimate);
  EXPECT_EQ(a.memory->peak.value, b.memory->peak.value);
  ragged.samples = Lengths({96, 5});
  const Report less = Count(model, ragged).value();
  EXPECT_EQ(less.memory->step.value, b.memory->step.value);
  EXPECT_LT(less.totals.time_estimate.literal(), b.totals.time_estimate.literal());
}

Expr MacsOfOne(const Model& model, int64_t seq, int64_t height, int64_t width) {
  CountOptions options;
  options.bindings = {
      {"batch", 1}, {"seq", seq}, {"grid_t", 1}, {"grid_h", height}, {"grid_w", width}};
  return Count(model, options).value().totals.macs;
}

// Patches of 14 x 14, four of which are a token.
TEST(BatchTest, GridsAndImagesOfQwen) {
  const std::string config = Ragged()["qwen2-vl-small"]["config"].dump();
  const Model model = LoadConfig(config, "config.json").value();
  const Expr macs = MacsOfOne(model, 100, 8, 12) + MacsOfOne(model, 20, 4, 6);
  Samples grids = Lengths({100, 20}), images = Lengths({100, 20});
  ASSERT_TRUE(AddGridThw("1x8x12,1x4x6", &grids).ok());
  ASSERT_TRUE(AddImages("112x168,56x84", &images).ok());
  EXPECT_EQ(CountOver(model, grids).totals.macs, macs);
  EXPECT_EQ(CountOver(model, images).totals.macs, macs);
}

// The tokens of text and image stand in one sequence: the first row has 100 + 24, so the second one
// is padded to 118 + 6. Images run as they are. The same with one text for all.
TEST(BatchTest, RowsOfTextAndImagesArePaddedTogether) {
  const std::string config = Ragged()["qwen2-vl-small"]["config"].dump();
  const Model model = LoadConfig(config, "config.json").value();
  CountOptions options;
  options.samples = Lengths({100, 20});
  ASSERT_TRUE(AddGridThw("1x8x12,1x4x6", &*options.samples).ok());
  const SamplesReport texts = *Count(model, options)->samples;
  EXPECT_EQ(texts.rectangle.macs, MacsOfOne(model, 100, 8, 12) + MacsOfOne(model, 118, 4, 6));
  EXPECT_EQ(texts.row_tokens, 124);
  options.samples = Samples();
  ASSERT_TRUE(AddGridThw("1x8x12,1x4x6", &*options.samples).ok());
  options.bindings = {{"seq", 20}};
  const SamplesReport same = *Count(model, options)->samples;
  EXPECT_EQ(same.rectangle.macs, MacsOfOne(model, 20, 8, 12) + MacsOfOne(model, 38, 4, 6));
  EXPECT_EQ(same.row_tokens, 44);
}

// A mask is made once, for the longest row: no longer text beside no larger image than there are.
TEST(BatchTest, RowsOfTextAndImagesAreNoLongerThanTheLongest) {
  const std::string config = Ragged()["qwen2-vl-small"]["config"].dump();
  const Model model = LoadConfig(config, "config.json").value();
  CountOptions options;
  options.samples = Lengths({20, 1});
  ASSERT_TRUE(AddGridThw("1x2x2,1x8x12", &*options.samples).ok());
  const SamplesReport of_image = *Count(model, options)->samples;
  EXPECT_LE(of_image.flops.literal(), of_image.one_by_one.flops.literal());
  options.samples = Lengths({20, 100});
  ASSERT_TRUE(AddGridThw("1x8x12,1x4x6", &*options.samples).ok());
  options.memory.emplace();
  const Report report = Count(model, options).value();
  const Bindings at = {
      {"batch", 2}, {"seq", 106 - 24}, {"grid_t", 1}, {"grid_h", 8}, {"grid_w", 12}};
  EXPECT_EQ(report.memory->at, at);
  EXPECT_THAT(report.warnings,
              Contains(HasSubstr("memory is that of rows with an image of the most")));
  CountOptions padded;
  padded.bindings = at;
  padded.memory.emplace();
  EXPECT_EQ(report.memory->step.value, Count(model, padded)->memory->step.value);
}

// 128 x 128 pixels are 16 tokens of gemma3-small, 56 x 56 are 4 of mistral3-small, a tile is 4 of
// internvl-small: their sizes in vision.json.
TEST(BatchTest, PackedRowsHaveTheTokensOfTheirImages) {
  const std::tuple<const char*, const char*, const char*, int64_t> cases[] = {
      {"gemma3-small", "", "", 16},
      {"mistral3-small", "56x56,56x56", "", 4},
      {"internvl-small", "", "tiles=3,3", 12}};
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/config/vision.json");
  const nlohmann::json models = nlohmann::json::parse(file)["models"];
  for (const auto& [name, images, tiles, tokens] : cases) {
    const Model model = LoadConfig(models[name]["config"].dump(), "config.json").value();
    const auto over = [&, images = images, tiles = tiles](Samples samples) {
      EXPECT_TRUE(*images == 0 || AddImages(images, &samples).ok());
      EXPECT_TRUE(*tiles == 0 || AddLengths(tiles, &samples).ok());
      CountOptions options;
      options.samples = std::move(samples);
      return Count(model, options);
    };
    Samples row, short_row;
    ASSERT_TRUE(AddCuSeqlens(absl::StrCat("0,", 20 + tokens, ",", 64 + 2 * tokens), &row).ok());
    EXPECT_EQ(over(row)->totals.flops,
              over(Lengths({20, 44}, Samples::Layout::kPacked))->totals.flops)
        << name;
    ASSERT_TRUE(AddCuSeqlens(absl::StrCat("0,", tokens - 1, ",", 90), &short_row).ok());
    EXPECT_THAT(std::string(over(short_row).status().message()),
                HasSubstr(absl::StrCat("tokens, and its image ", tokens)))
        << name;
  }
}

// Text alone costs what the decoder does without a tower. Together are the products of queries of
// the text with keys of the image, and the other way round, in 2 layers of 8 heads of 32.
TEST(BatchTest, TextAndImagesApart) {
  nlohmann::json config = Ragged()["qwen2-vl-small"]["config"];
  const Model model = LoadConfig(config.dump(), "config.json").value();
  Samples samples = Lengths({100, 20});
  ASSERT_TRUE(AddGridThw("1x8x12,1x4x6", &samples).ok());
  const Report report = CountOver(model, samples);
  config["text_config"]["model_type"] = "qwen2";
  const Model decoder = LoadConfig(config["text_config"].dump(), "text.json").value();
  const auto& parts = report.samples->modalities;
  ASSERT_EQ(parts.size(), 3);
  const auto& text = parts[0].work;
  const auto& image = parts[1].work;
  const auto& together = parts[2].work;
  EXPECT_EQ(text.macs, CountOver(decoder, Lengths({100, 20})).totals.macs);
  EXPECT_EQ(together.macs, Expr(2 * 2 * 2 * (8 * 32) * (100 * 24 + 20 * 6)));
  EXPECT_EQ(text.macs + image.macs + together.macs, report.totals.macs);
  EXPECT_EQ(text.flops + image.flops + together.flops, report.totals.flops);
  EXPECT_EQ(parts[1].sizes, (std::vector<std::string>{"grid_h", "grid_t", "grid_w"}));
}

// An image of LLaVA-NeXT has the tokens of the whole, 16, besides those of its tiles: without an
// image they are not there. Images of 64 x 128 and 128 x 128 pixels are 4 x 8 and 8 x 8 tokens with
// one more in each row.
TEST(BatchTest, TextAndTilesApart) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/config/vision.json");
  nlohmann::json config = nlohmann::json::parse(file)["models"]["llava-next-small"]["config"];
  const Model model = LoadConfig(config.dump(), "config.json").value();
  Samples samples = Lengths({100, 20});
  ASSERT_TRUE(AddImages("64x128,128x128", &samples).ok());
  const Report report = CountOver(model, samples);
  Expr alone = 0;
  for (const auto& [seq, tiles, rows, columns] : {std::tuple(100, 3, 4, 8), {20, 5, 8, 8}}) {
    CountOptions options;
    options.bindings = {{"batch", 1},
                        {"seq", seq},
                        {"tiles", tiles},
                        {"image_rows", rows},
                        {"image_columns", columns}};
    alone += Count(model, options).value().totals.macs;
  }
  EXPECT_EQ(report.totals.macs, alone);
  config["text_config"]["architectures"] = {"LlamaForCausalLM"};
  const Model decoder = LoadConfig(config["text_config"].dump(), "text.json").value();
  const auto& parts = report.samples->modalities;
  ASSERT_EQ(parts.size(), 3);
  EXPECT_EQ(parts[0].work.macs, CountOver(decoder, Lengths({100, 20})).totals.macs);
  EXPECT_EQ(parts[2].work.macs,
            Expr(2 * 2 * 2 * (8 * 32) * (100 * (16 + 4 * 9) + 20 * (16 + 8 * 9))));
  EXPECT_EQ(parts[0].work.macs + parts[1].work.macs + parts[2].work.macs, report.totals.macs);
}

TEST(BatchTest, GridsThatCannotBeMerged) {
  const std::string config = Ragged()["qwen2-vl-small"]["config"].dump();
  const Model model = LoadConfig(config, "config.json").value();
  CountOptions options;
  options.samples = Lengths({100, 20});
  ASSERT_TRUE(AddGridThw("1x8x12,1x4x7", &*options.samples).ok());
  absl::Status status = Count(model, options).status();
  EXPECT_TRUE(
      absl::StrContains(status.message(), "sample 2: grid_w = 7: it should be a multiple of 2"))
      << status;
  options.samples = Lengths({100, 20});
  ASSERT_TRUE(AddImages("112x168,56x80", &*options.samples).ok());
  status = Count(model, options).status();
  EXPECT_TRUE(
      absl::StrContains(status.message(), "image 2: 56x80: its width should be a multiple of 28"))
      << status;
  options = {.bindings = {{"grid_h", 3}}};
  status = Count(model, options).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "grid_h = 3: it should be a multiple of 2"))
      << status;
}

struct BadList {
  absl::Status (*add)(absl::string_view text, Samples* samples);
  const char *text, *error;
};

// A fault that the model decides is at the line of the file that listed the sample.
TEST(BatchTest, SamplesOfAFileAreFoundAgain) {
  const std::string config = Ragged()["qwen2-vl-small"]["config"].dump();
  const Model model = LoadConfig(config, "config.json").value();
  const BadList cases[] = {
      {AddGridThw, "1 8 12\n\n1 4 7\n", "--list 'f': line 3: sample 2: grid_w = 7: it should be"},
      {AddGridThw, "[[1, 8, 12], [1, 4, 7]]", "--list 'f': sample 2: grid_w = 7"},
      {AddGridThw, "[[1, 8,\n 12],\n [1, 4, 7]]", "--list 'f': line 3: sample 2: grid_w = 7"},
      {AddImages, "112x168\n56x80\n", "--list 'f': line 2: image 2: 56x80: its width"},
      {AddLengths, "grid_t,grid_h,grid_w\n1,8,12\n\n1,4,7\n",
       "--list 'f': line 4: sample 2: grid_w = 7"},
  };
  for (const BadList& bad : cases) {
    CountOptions options;
    options.samples = Lengths({100, 20});
    options.samples->file = "--list 'f'";
    ASSERT_TRUE(bad.add(bad.text, &*options.samples).ok()) << bad.text;
    const absl::Status status = Count(model, options).status();
    EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat("config.json: ", bad.error)))
        << bad.text << ": " << status;
  }
  const Model gpt2 = LoadKept("tests/data/config/gpt2/config.json");
  const BadList lengths[] = {
      {AddLengths, "5\n5000\n", "--list 'f': line 2: sample 2: seq = 5000: the configuration has"},
      {AddLengths, "5,5000", "--list 'f': sample 2: seq = 5000"},
      {AddCuSeqlens, "0\n5\n5\n5005\n", "--list 'f': line 4: sample 2: seq = 5000"},
  };
  for (const BadList& bad : lengths) {
    CountOptions options = {.bindings = {{"past", 0}}, .samples = Samples()};
    options.samples->file = "--list 'f'";
    ASSERT_TRUE(bad.add(bad.text, &*options.samples).ok()) << bad.text;
    const absl::Status status = Count(gpt2, options).status();
    EXPECT_TRUE(absl::StrContains(status.message(), bad.error)) << bad.text << ": " << status;
  }
}

// A decoder leaves the length of its cache open, and so has one open size when the other is given.
TEST(BatchTest, LengthsAreThoseOfTokens) {
  const Model model = LoadKept("tests/data/config/gpt2/config.json");
  CountOptions options = {.bindings = {{"seq", 512}}};
  options.samples = Lengths({512, 300});
  const absl::Status status = Count(model, options).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "'seq' = 512 is given, and each sample has its"))
      << status;
  Samples named;
  named.sizes["past"] = {512, 300};
  options = {.bindings = {{"seq", 1}}, .samples = named};
  EXPECT_TRUE(Count(model, options).ok());
}

struct BadSamples {
  Bindings dims;
  Samples samples;
  const char* error;
};

TEST(BatchTest, SamplesThatDoNotFitTheModel) {
  Samples images, unknown, uneven, batches;
  images.images = {{336, 336}};
  unknown.sizes["frames"] = {5};
  uneven.sizes = {{"", {5, 6}}, {"seq", {5}}};
  batches.sizes["batch"] = {5};
  const BadSamples cases[] = {
      {{}, images, "no input takes images"},
      {{}, unknown, "no input has an open size 'frames'; there are 'batch', 'seq'"},
      {{}, batches, "'batch' is the number of samples"},
      {{}, {}, "there are no samples"},
      {{}, Lengths({0}), "sample 1: 'seq' = 0: it should be from 1 to"},
      {{}, Lengths({5, 5000}), "gpt2.onnx: sample 2: batch = 2, seq = 5000 do not fit this model"},
      {{{"seq", 5}}, Lengths({5}), "'seq' = 5 is given, and each sample has its own"},
      {{{"batch", 3}}, Lengths({5, 6}), "'batch' = 3 is given, and there are 2 samples"},
  };
  const Model model = LoadKept("models/gpt2.onnx");
  for (const BadSamples& bad : cases) {
    CountOptions options;
    options.bindings = bad.dims;
    options.samples = bad.samples;
    const absl::Status status = Count(model, options).status();
    EXPECT_TRUE(absl::StrContains(status.message(), bad.error)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "gpt2.onnx")) << status;
  }
}

// Images that a processor resizes to one size, or cuts into a number of tiles of its own choice.
TEST(BatchTest, ImagesWhoseSizeIsNoneOfTheModel) {
  const std::pair<const char*, const char*> cases[] = {
      {"gemma3-small",
       "pixel_values takes images of one size, 128x128, which the file fixes: leave out images; "
       "at-image N counts another one"},
      {"internvl-small",
       "pixel_values takes parts of an image, each 64x64, and the file does not tell into how many "
       "an image is cut: give their number, as lengths 'tiles'=5,3"}};
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/config/vision.json");
  const nlohmann::json models = nlohmann::json::parse(file)["models"];
  for (const auto& [name, error] : cases) {
    const Model model = LoadConfig(models[name]["config"].dump(), name).value();
    CountOptions options;
    options.samples.emplace().images = {{336, 336}};
    EXPECT_EQ(Count(model, options).status().message(), absl::StrCat(name, ": ", error));
  }
}

TEST(BatchTest, WhatHasNoSumIsRefused) {
  const Model model = LoadKept("models/gpt2.onnx");
  CountOptions options;
  options.samples = Lengths({5}, Samples::Layout::kPacked);
  options.memory.emplace();
  EXPECT_TRUE(absl::IsUnimplemented(Count(model, options).status()));
  options.samples = Lengths({5});
  options.memory->fit = FitRequest{.bytes = 1};
  EXPECT_TRUE(absl::IsInvalidArgument(Count(model, options).status()));
  options.memory.reset();
  options.upper_bounds = true;
  EXPECT_TRUE(absl::IsUnimplemented(CompareTools(model, options, {}).status()));
  options.upper_bounds = false;
  options.tokens = 5;
  EXPECT_TRUE(absl::IsInvalidArgument(Count(model, options).status()));
}

}  // namespace
}  // namespace onnxflops::batch_test
