// Steps of a server: the file of requests, and what a step of them takes, against torch and by
// hand.
#include "src/api/requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/api/load.h"
#include "src/api/serving.h"
#include "src/api/serving_step.h"
#include "src/family/family.h"

namespace onnxflops::requests_test {
namespace {

using Requests = std::vector<StepRequest>;

Model Gpt2() { return Load(ONNXFLOPS_SOURCE_DIR "/tests/data/config/gpt2/config.json").value(); }

ServingColumn StepOf(const Model& model, Requests requests, const CountOptions& options = {},
                     std::vector<int64_t> experts = {}) {
  ServingRequest request;
  request.requests = std::move(requests);
  request.experts = std::move(experts);
  const absl::StatusOr<ServingReport> report = CountServing(model, options, request);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? report->columns[0] : ServingColumn();
}

TEST(RequestsTest, BothFormsAreTheSame) {
  for (const char* text :
       {"prompt,cached,chunk,generated\n900,512,256,\n300,,,7\n",
        "generated\tprompt\tcached\tchunk\r\n\t900\t512\t256\r\n\r\n7\t300\t\t\r\n",
        "{\"prompt\": 900, \"cached\": 512, \"chunk\": 256}\n\n{\"prompt\": 300, \"generated\": "
        "7}"}) {
    const Requests requests = ParseRequests(text).value();
    ASSERT_EQ(requests.size(), 2u) << text;
    EXPECT_EQ(requests[0].tokens(), 256);
    EXPECT_EQ(requests[0].past(), 512);
    EXPECT_FALSE(requests[0].gets_token());
    EXPECT_EQ(requests[1].tokens(), 1);
    EXPECT_EQ(requests[1].past(), 306);
    EXPECT_TRUE(requests[1].gets_token());
  }
}

struct BadRequests {
  const char *text, *error;
};

TEST(RequestsTest, BadFilesAreRefusedInALine) {
  const BadRequests cases[] = {
      {"", "there are no requests"},
      {"prompt\n\n", "there are no requests"},
      {"cached\n4\n", "line 1: there is no column prompt"},
      {"prompt,size\n4,5\n", "line 1: there is no column 'size'"},
      {"prompt,prompt\n4,5\n", "both have the title 'prompt'"},
      {"prompt\n5\n-4\n", "line 3: prompt = '-4': it should be a whole number from 1"},
      {"prompt\n4\"\"\n", "line 2: prompt = '4\"\"'"},
      {"prompt\nnan\n", "line 2: prompt = 'nan'"},
      {"prompt\n1e3\n", "line 2: prompt = '1e3'"},
      {"prompt\n99999999999999999999\n", "line 2: prompt = '99999999999999999999'"},
      {"prompt,cached\n4\n", "line 2: it has 1 cell, and the first line has 2 columns"},
      {"prompt,cached\n,4\n", "line 2: a request has no prompt"},
      {"prompt,cached\n4,5\n", "line 2: cached = 5 is more than its prompt of 4"},
      {"prompt,cached\n4,4\n", "line 2: all 4 tokens of its prompt are cached"},
      {"prompt,cached,chunk\n4,2,3\n", "line 2: chunk = 3 is more than is left"},
      {"{\"prompt\": 4.5}", "line 1: prompt = '4.5'"},
      {"{\"prompt\": true}", "line 1: prompt = 'true'"},
      {"{\"prompt\": 4}\n{", "line 2: column 1: not JSON"},
      {"[4]", "line 1: it should be an object"},
      {"prompt,grid_thw\n9,1x8\n", "line 2: grid_thw: grid 1: '1x8': it should be frames"},
      {"prompt,grid_thw\n9,1x8xnan\n", "line 2: grid_thw: grid 1: '1x8xnan'"},
      {"prompt,images\n9,\n9,8\n", "line 3: images: size 1: '8': it should be a height and a"},
      {"prompt,tiles\n9,0\n", "line 2: tiles: an image has 1 tile or more"},
      {"prompt,audio\n9,-1s\n", "line 2: audio: size 1: '-1s': it should be seconds above 0"},
      {"{\"prompt\": 9, \"audio\": true}", "line 1: audio: size 1: 'true'"},
      {"{\"prompt\": 9, \"grid_thw\": [[1, 8, 8.5]]}", "line 1: grid_thw: grid 1: '1 8 8.5'"},
      {"prompt,generated,audio\n9,2,3s\n", "line 2: it has generated tokens, so what its audio"},
      {"prompt,images,audio\n9,2x2,3s\n", "line 2: it has images and audio: a step runs one tower"},
  };
  for (const BadRequests& bad : cases) {
    const absl::Status status = ParseRequests(bad.text).status();
    EXPECT_TRUE(absl::StrContains(status.message(), bad.error)) << bad.text << ": " << status;
    EXPECT_FALSE(absl::StrContains(status.message(), "\n"));
  }
}

// A list of a caller has the same requests as a file, and errors have the place in the list.
TEST(RequestsTest, RequestsOfAListAreThoseOfAFile) {
  Requests list;
  ASSERT_TRUE(AddRequest({{"prompt", "900"}, {"cached", "512"}, {"chunk", "256"}}, &list).ok());
  ASSERT_TRUE(AddRequest({{"images", "[[8,12],[4,6]]"}, {"prompt", "90"}}, &list).ok());
  EXPECT_EQ(list[0].tokens(), 256);
  EXPECT_EQ(list[0].line, 0);
  EXPECT_EQ(list[1].media->images, (std::vector<std::pair<int64_t, int64_t>>{{8, 12}, {4, 6}}));
  const std::pair<RequestCells, const char*> cases[] = {
      {{}, "request 3: a request has no prompt"},
      {{{"prompt", "-4"}}, "request 3: prompt = '-4': it should be a whole number from 1"},
      {{{"promt", "4"}}, "request 3: there is no column 'promt'"},
      {{{"prompt", "4"}, {"images", "[8]"}}, "request 3: images: size 1: '8'"},
  };
  for (const auto& [cells, error] : cases) {
    const absl::Status status = AddRequest(cells, &list);
    EXPECT_TRUE(absl::StartsWith(status.message(), error)) << status;
  }
  EXPECT_EQ(list.size(), 2u);
}

// A line may have thousands of images, and is bounded.
TEST(RequestsTest, ALineOfJsonIsBounded) {
  std::string grids = "[1, 8, 8]";
  while (grids.size() < 60'000) absl::StrAppend(&grids, ", [1, 8, 8]");
  const std::string line = absl::StrCat("{\"prompt\": 900000, \"grid_thw\": [", grids, "]}\n");
  EXPECT_EQ(ParseRequests(absl::StrCat(line, line, line)).value().size(), 3u);
  const std::string longer = absl::StrCat("{\"prompt\": 9, \"images\": [", grids, grids, "]}");
  const absl::Status status = ParseRequests(absl::StrCat("{\"prompt\": 9}\n", longer)).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "line 2: ")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "65536 bytes")) << status;
}

// torch counted each request alone, behind a cache of its own.
TEST(RequestsTest, AStepIsTheSumOfWhatTorchCountsOfEachRequest) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/config/requests.json");
  const nlohmann::json truth = nlohmann::json::parse(file);
  for (const auto& [name, entry] : truth["models"].items()) {
    Requests requests;
    int64_t flops = 0;
    for (const auto& row : entry["requests"]) {
      StepRequest& request = requests.emplace_back();
      request.prompt = row["prompt"], request.cached = row["cached"];
      request.generated = row["generated"];
      if (!row["chunk"].is_null()) request.chunk = row["chunk"].get<int64_t>();
      EXPECT_EQ(request.tokens(), row["tokens"]);
      EXPECT_EQ(request.past(), row["past"]);
      flops += row["flops"].get<int64_t>();
    }
    const Model model = LoadConfig(entry["config"].dump(), name).value();
    EXPECT_EQ(2 * StepOf(model, requests).totals.macs, Expr(flops)) << name;
    std::reverse(requests.begin(), requests.end());
    EXPECT_EQ(2 * StepOf(model, requests).totals.macs, Expr(flops)) << name;
  }
}

nlohmann::json Media() {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/config/requests.json");
  return nlohmann::json::parse(file)["media"];
}

// As a server's log has them.
Requests RequestsOf(nlohmann::json rows) {
  std::string lines;
  for (nlohmann::json& row : rows) {
    for (const char* const truth : {"flops", "tower_flops", "image_tokens"}) row.erase(truth);
    absl::StrAppend(&lines, row.dump(), "\n");
  }
  return ParseRequests(lines).value();
}

// torch counted the tower over each image, and each request alone behind a cache of its own.
TEST(RequestsTest, ImagesAndAudioAreWhatTorchCountsOfThem) {
  const nlohmann::json media = Media();
  ASSERT_EQ(media.size(), 9u);
  for (const auto& [name, entry] : media.items()) {
    int64_t flops = 0, tower = 0, tokens = 0;
    for (const auto& row : entry["requests"]) {
      flops += row["flops"].get<int64_t>();
      tower += row.value("tower_flops", int64_t{0});
      tokens += row.value("image_tokens", int64_t{0});
    }
    const Model model = LoadConfig(entry["config"].dump(), name).value();
    Requests requests = RequestsOf(entry["requests"]);
    const ServingColumn step = StepOf(model, requests);
    ASSERT_TRUE(step.tower) << name;
    EXPECT_EQ(2 * step.totals.macs, Expr(flops)) << name;
    EXPECT_EQ(step.tower->tokens, tokens) << name;
    const bool is_image = step.tower->modality == "image";
    EXPECT_TRUE(!is_image || 2 * step.tower->totals.macs == Expr(tower)) << name;
    std::reverse(requests.begin(), requests.end());
    EXPECT_EQ(StepOf(model, requests).totals.flops, step.totals.flops) << name;
  }
}

// A prompt of one request is a run of the whole model.
TEST(RequestsTest, APromptWithAnImageIsTheWholeModel) {
  const nlohmann::json media = Media();
  CountOptions image, audio;
  image.bindings = {{"batch", 1}, {"seq", 40}, {"grid_t", 2}, {"grid_h", 10}, {"grid_w", 14}};
  audio.bindings = {{"batch", 1}, {"seq", 40}};
  for (const char* const name : {"qwen2-vl-small", "qwen2-5-vl-small", "qwen3-vl-deep"}) {
    const Model model = LoadConfig(media[name]["config"].dump(), name).value();
    const Requests one = ParseRequests("prompt,grid_thw\n110,2x10x14\n").value();
    EXPECT_EQ(StepOf(model, one).totals.flops, Count(model, image)->totals.flops) << name;
  }
  const Model whisper = LoadConfig(media["whisper"]["config"].dump(), "whisper").value();
  const Requests one = ParseRequests("prompt,audio\n40,3000\n").value();
  EXPECT_EQ(StepOf(whisper, one).totals.flops, Count(whisper, audio)->totals.flops);
}

TEST(RequestsTest, ATowersWeightsAreReadOnce) {
  const nlohmann::json media = Media();
  for (const char* const name : {"qwen2-vl-small", "qwen2-5-vl-small", "mistral3-small"}) {
    const Model model = LoadConfig(media[name]["config"].dump(), name).value();
    Requests with = RequestsOf(media[name]["requests"]), without = with;
    for (StepRequest& request : without) request.media = nullptr;
    CountOptions options;
    options.memory.emplace();
    const ServingColumn step = StepOf(model, with, options), text = StepOf(model, without, options);
    const Expr bytes = 4 * media[name]["tower_parameters"].get<int64_t>();
    EXPECT_EQ(step.traffic.weights - text.traffic.weights, bytes) << name;
    EXPECT_EQ(step.memory->weights - text.memory->weights, bytes) << name;
    EXPECT_EQ(step.cache_bytes, text.cache_bytes) << name;
    EXPECT_EQ(step.traffic.cache_read, text.traffic.cache_read) << name;
  }
}

// Pixels of 3 x 2 x 14 x 14 for each patch, and its row and column.
TEST(RequestsTest, TheBoundHasTheBytesOfATower) {
  const nlohmann::json entry = Media()["qwen2-vl-small"];
  const Model model = LoadConfig(entry["config"].dump(), "qwen2-vl").value();
  CountOptions options;
  options.on_device = {*FindDevice("h100-sxm"), Precision::kBf16};
  const ServingColumn step =
      StepOf(model, ParseRequests("prompt,grid_thw\n90,1x8x12 1x4x6\n").value(), options);
  const ServingColumn text = StepOf(model, {{90}}, options);
  const int64_t bytes = 2 * entry["tower_parameters"].get<int64_t>() +
                        (8 * 12 + 4 * 6) * (2 * 3 * 2 * 14 * 14 + 2 * 8);
  EXPECT_EQ(*step.traffic.bytes - *text.traffic.bytes, Expr(bytes));
  EXPECT_EQ(*step.traffic.held - *text.traffic.held,
            Expr(2 * entry["tower_parameters"].get<int64_t>()));
}

// 2 layers of keys and values of 96 float32: 1,500 positions of audio, and the tokens.
TEST(RequestsTest, AnEncodersKeysAreWrittenByRequestsThatBegin) {
  const Model model = LoadConfig(Media()["whisper"]["config"].dump(), "whisper").value();
  const int64_t token = 2 * 2 * 96 * 4, audio = 1500 * token;
  const ServingColumn step =
      StepOf(model, ParseRequests("prompt,generated,audio\n4,,12.5s\n7,,3000\n4,9,\n").value());
  EXPECT_EQ(step.traffic.cache_written, Expr(2 * audio + (4 + 7 + 1) * token));
  EXPECT_EQ(step.traffic.cache_read, Expr(audio + 12 * token));
  EXPECT_EQ(step.cache_bytes, Expr(3 * audio + (4 + 7 + 13) * token));
  EXPECT_EQ(step.tower->inputs, 2);
}

TEST(RequestsTest, MediaThatATowerDoesNotTakeAreRefusedInALine) {
  const nlohmann::json media = Media();
  const struct {
    const char *model, *text, *error;
  } cases[] = {
      {"qwen2-vl-small", "prompt,grid_thw\n90,\n90,1x8x13\n", "line 3: image 1: grid_w = 13"},
      {"qwen2-vl-small", "prompt,grid_thw\n23,1x8x12\n", "line 2: its images have 24 tokens, and"},
      {"qwen2-vl-small", "prompt,grid_thw\n9,1x4000000x4000000\n", "have more than 1099511627776"},
      {"qwen2-vl-small", "prompt,images\n90,100x112\n", "line 2: image 1: 100x112: its height"},
      {"qwen2-vl-small", "prompt,audio\n90,3s\n",
       "line 2: it has audio, and the model takes images"},
      {"llava-mistral", "prompt,images\n90,0x5\n", "line 2: an image of 0x5: each should be from"},
      {"whisper", "prompt,audio\n4,47s\n",
       "line 2: audio: a request has one piece of at most 3000"},
      {"whisper", "prompt,audio\n4,3s 3s\n", "line 2: audio: a request has one piece"},
      {"whisper", "prompt,cached,audio\n4,2,3s\n", "line 2: it has audio, and cached = 2"},
      {"whisper", "prompt,images\n4,8x8\n", "line 2: it has images, and the model takes audio"},
  };
  for (const auto& bad : cases) {
    const Model model = LoadConfig(media[bad.model]["config"].dump(), bad.model).value();
    ServingRequest request;
    request.requests = ParseRequests(bad.text).value();
    const absl::Status status = CountServing(model, {}, request).status();
    EXPECT_TRUE(absl::StrContains(status.message(), bad.error)) << bad.text << ": " << status;
    EXPECT_FALSE(absl::StrContains(status.message(), "\n"));
  }
  ServingRequest request;
  request.requests = ParseRequests("prompt,grid_thw\n90,\n90,1x8x12\n").value();
  const absl::Status status = CountServing(Gpt2(), {}, request).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "line 3: it has images or audio")) << status;
}

// GPT-2: 12 layers of keys and values of 768 float32; its weights but for the positions are read.
TEST(RequestsTest, WeightsAreReadOnceAndCachesForEachRequest) {
  const int64_t token = 2 * 12 * 768 * 4, weights = 4 * (124'439'808 - 1024 * 768);
  const ServingColumn step =
      StepOf(Gpt2(), {{700, 384, 128}, {300, 0, {}, 1}, {400, 0, {}, 401}, {512}});
  EXPECT_EQ(step.traffic.weights, Expr(weights));
  EXPECT_EQ(step.traffic.cache_read, Expr(token * (384 + 300 + 800)));
  EXPECT_EQ(step.traffic.cache_written, Expr(token * (128 + 1 + 1 + 512)));
  EXPECT_EQ(step.cache_bytes, Expr(token * (512 + 301 + 801 + 512)));
  EXPECT_EQ(step.tokens, 642);
  EXPECT_EQ(step.requests->get_a_token, 3);
  EXPECT_EQ(StepOf(Gpt2(), {{512}}).traffic.weights, Expr(weights));
}

// The compulsory bytes in bf16: weights, what is in the cache, what is new in it, and the logits.
// What only says which rows are looked up is left out.
TEST(RequestsTest, TheBoundOfAStepIsThatOfItsBytes) {
  CountOptions options;
  options.on_device = {*FindDevice("h100-sxm"), Precision::kBf16};
  const ServingColumn step = StepOf(Gpt2(), {{300, 0, {}, 1}, {400, 0, {}, 401}}, options);
  const int64_t token = 2 * 12 * 768 * 2, weights = 2 * (124'439'808 - 1024 * 768);
  const int64_t bytes = weights + token * (1100 + 2) + 2 * 50257 * 2;
  EXPECT_EQ(step.traffic.bytes, Expr(bytes));
  EXPECT_EQ(step.time->memory, Expr(absl::int128(298'507'462) * (bytes - 52'428'800)));
  EXPECT_EQ(step.time->bound, step.time->memory);
}

// GPT-2's configuration is in float32: its weights and its cache take half of that in bf16.
TEST(RequestsTest, TypesOfBytesAndTimesAreNamed) {
  CountOptions options;
  options.on_device = {*FindDevice("h100-sxm"), Precision::kBf16};
  ServingRequest request;
  request.requests = {{300, 0, {}, 1}};
  ServingReport report = CountServing(Gpt2(), options, request).value();
  const int64_t held = 2 * (124'439'808 - 1024 * 768) + 2 * 12 * 768 * 2 * 301;
  EXPECT_EQ(report.columns[0].traffic.held, Expr(held));
  EXPECT_TRUE(absl::StrContains(
      absl::StrReplaceAll(DrawText(ToDocument(report, {}), {}), {{"\n|  ", ""}}),
      "bytes and the KV cache are in the types of the file (float32), and times in bf16: "
      "there, weights and the cache take"));
  options.on_device->precision = Precision::kFp32;
  report = CountServing(Gpt2(), options, request).value();
  EXPECT_TRUE(report.columns[0].traffic.narrowed.empty());
}

TEST(RequestsTest, EqualRequestsAreABatch) {
  CountOptions batch;
  batch.bindings = {{"batch", 3}};
  const ServingColumn decode =
      CountServing(Gpt2(), batch, {.decode = ServingRequest::Decode{1, 100}})->columns[0];
  const StepRequest one = {100, 0, {}, 1};
  const ServingColumn step = StepOf(Gpt2(), {one, one, one});
  EXPECT_EQ(static_cast<const Amounts&>(step.totals), decode.totals);
  EXPECT_EQ(step.cache_bytes, decode.cache_bytes);
  EXPECT_EQ(step.traffic.weights, decode.traffic.weights);
}

// A causal prompt in chunks: each meets what is before it and all of itself, so full squares of
// chunks above the diagonal are what a whole prompt has more.
// Tokens are those of all sequences: rates and costs of a token are equal in both.
TEST(RequestsTest, EqualRequestsHaveTheRatesOfABatch) {
  const Model model = Gpt2();
  CountOptions options;
  options.on_device = {*FindDevice("h100-sxm"), Precision::kBf16};
  ServingRequest step, batch;
  step.requests = {{.prompt = 16}, {.prompt = 16}};
  batch.prefill = 16;
  const ServingReport of_step = CountServing(model, options, step).value();
  options.bindings = {{"batch", 2}};
  const ServingReport of_batch = CountServing(model, options, batch).value();
  const auto json = [](const ServingReport& report) {
    return nlohmann::json::parse(ToJson(report));
  };
  EXPECT_EQ(json(of_batch)["steps"][0]["time"]["tokens_per_second"],
            json(of_step)["steps"][0]["time"]["tokens_per_second"]);
  EXPECT_EQ(json(of_batch)["steps"][0]["sequences"]["value"], 2);
  EXPECT_EQ(of_batch.cache_bytes_per_token, of_step.cache_bytes_per_token);
  const auto per_token = [](const ServingReport& report) {
    const std::string text = DrawText(ToDocument(report, {}), {});
    const size_t at = text.find("FLOPs per token");
    return std::string(absl::StripAsciiWhitespace(
        absl::string_view(text).substr(at + 15, text.find('\n', at) - at - 15)));
  };
  EXPECT_EQ(per_token(of_batch), per_token(of_step));
}

TEST(RequestsTest, ChunksOfAPromptAddUp) {
  const Model model = Gpt2();
  const Expr whole = StepOf(model, {{300}}).totals.macs;
  const Expr first = StepOf(model, {{300, 0, 128}}).totals.macs;
  const Expr second = StepOf(model, {{300, 128, 172}}).totals.macs;
  const Expr skipped = 12 * 2 * 768 * 128 * 172;
  EXPECT_EQ(first + second + skipped, whole);
}

// All memory: weights, the cache, and at the peak of activations the logits beside what they are
// made of. The output layer reads the table of tokens as it lies.
TEST(RequestsTest, MemoryHoldsWeightsCacheAndActivations) {
  CountOptions options;
  options.memory.emplace();
  const ServingColumn step = StepOf(Gpt2(), {{512}, {300, 0, {}, 1}}, options);
  ASSERT_TRUE(step.memory && step.memory->activations);
  EXPECT_EQ(step.memory->weights, Expr(4 * 124'439'808));
  EXPECT_EQ(step.memory->cache, step.cache_bytes);
  EXPECT_EQ(*step.memory->activations, Expr(4 * (513 * 50257 + 513 * 768)));
}

TEST(RequestsTest, ExpectedExpertsFollowTheFormula) {
  for (const int64_t tokens : {0, 1, 2, 7, 100, 100000}) {
    const double expected = 8 * (1 - std::pow(1 - 2.0 / 8, static_cast<double>(tokens)));
    EXPECT_NEAR(static_cast<double>(ExpectedExperts(8, 2, tokens)) / 4294967296.0, expected, 1e-6);
  }
  EXPECT_EQ(ExpectedExperts(3, 3, 1), absl::int128(3) << 32);
}

constexpr char kMixtral[] =
    R"({"model_type": "mixtral", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "num_local_experts": 8,
        "num_experts_per_tok": 2, "vocab_size": 320, "max_position_embeddings": 4096,
        "torch_dtype": "float32"})";

TEST(RequestsTest, ExpertsAreReadByExpectationOrByAList) {
  const Model model = LoadConfig(kMixtral, "mixtral").value();
  const Requests requests = {{5, 0, {}, 1}, {9, 0, {}, 2}};
  const int64_t of_one = 4 * 3 * 64 * 128;
  const ServingColumn three = StepOf(model, requests, {}, {3}),
                      two = StepOf(model, requests, {}, {2});
  EXPECT_EQ(three.traffic.weights - two.traffic.weights, Expr(2 * of_one));
  EXPECT_EQ(three.totals.bytes_read - two.totals.bytes_read, Expr(2 * of_one));
  EXPECT_EQ(StepOf(model, requests, {}, {3, 2}).traffic.weights, two.traffic.weights + of_one);
  // Two tokens reach 8 (1 - (3/4)^2) = 3.5 of 8.
  const ServingColumn even = StepOf(model, requests);
  EXPECT_TRUE(even.traffic.experts_expected);
  EXPECT_EQ(even.traffic.weights - three.traffic.weights, Expr(of_one));
  for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{5}, {1, 1, 1}}) {
    ServingRequest request;
    request.requests = requests, request.experts = wrong;
    EXPECT_TRUE(absl::IsInvalidArgument(CountServing(model, {}, request).status()));
  }
}

TEST(RequestsTest, RequestsBeyondTheModelAreRefused) {
  ServingRequest request;
  request.requests = {{512}, {512, 0, {}, 600}};
  const absl::Status status = CountServing(Gpt2(), {}, request).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "request 2: 1 token after 1111")) << status;
  request.requests = ParseRequests("prompt,generated\n512,\n\n512,600\n").value();
  request.requests_file = "step.csv";
  const std::string error(CountServing(Gpt2(), {}, request).status().message());
  EXPECT_TRUE(absl::StrContains(error, "requests 'step.csv': line 4: 1 token after 1111")) << error;
}

}  // namespace
}  // namespace onnxflops::requests_test
