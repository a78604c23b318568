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
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/api/load.h"
#include "src/api/serving.h"
#include "src/api/serving_step.h"
#include "src/family/family.h"

namespace onnxflops {
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
      {"prompt\nnan\n", "line 2: prompt = 'nan'"},
      {"prompt\n1e3\n", "line 2: prompt = '1e3'"},
      {"prompt\n99999999999999999999\n", "line 2: prompt = '99999999999999999999'"},
      {"prompt,cached\n4\n", "line 2: it has 1 cells, and there are 2 columns"},
      {"prompt,cached\n,4\n", "line 2: a request has no prompt"},
      {"prompt,cached\n4,5\n", "line 2: cached = 5 is more than its prompt of 4"},
      {"prompt,cached\n4,4\n", "line 2: all 4 tokens of its prompt are cached"},
      {"prompt,cached,chunk\n4,2,3\n", "line 2: chunk = 3 is more than is left"},
      {"{\"prompt\": 4.5}", "line 1: prompt = '4.5'"},
      {"{\"prompt\": true}", "line 1: prompt = 'true'"},
      {"{\"prompt\": 4}\n{", "line 2: column 1: not JSON"},
      {"[4]", "line 1: it should be an object"},
  };
  for (const BadRequests& bad : cases) {
    const absl::Status status = ParseRequests(bad.text).status();
    EXPECT_TRUE(absl::StrContains(status.message(), bad.error)) << bad.text << ": " << status;
    EXPECT_FALSE(absl::StrContains(status.message(), "\n"));
  }
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

// All memory: weights, the cache, and logits with the transposed table as the largest activations.
TEST(RequestsTest, MemoryHoldsWeightsCacheAndActivations) {
  CountOptions options;
  options.memory.emplace();
  const ServingColumn step = StepOf(Gpt2(), {{512}, {300, 0, {}, 1}}, options);
  ASSERT_TRUE(step.memory && step.memory->activations);
  EXPECT_EQ(step.memory->weights, Expr(4 * 124'439'808));
  EXPECT_EQ(step.memory->cache, step.cache_bytes);
  EXPECT_EQ(*step.memory->activations, Expr(4 * (50257 * 768 + 513 * 50257 + 513 * 768)));
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
}

}  // namespace
}  // namespace onnxflops
