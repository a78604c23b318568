#include "src/api/recognise_pipeline.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/api/pipeline.h"
#include "tests/model_maker.h"

namespace onnxflops::recognise_pipeline_test {
namespace {

// A folder of files, which is removed again.
class Folder {
 public:
  Folder() : path_(absl::StrCat(testing::TempDir(), "/pipeline")) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }
  // A model with these inputs, which multiplies each by itself.
  void Model(const std::string& name,
             const std::vector<std::pair<std::string, std::vector<std::string>>>& inputs) const {
    ModelMaker make;
    for (const auto& [input, dims] : inputs) {
      make.Input(input, dims);
      make.Node("m" + input, "Mul", {input, input}, {input + "_out"}).Output(input + "_out");
      auto* graph = make.proto.mutable_graph();
      const int last = graph->output_size() - 1;
      *graph->mutable_output(last)->mutable_type() = graph->input(last).type();
    }
    Write(name, make.proto.SerializeAsString());
  }
  // The pipeline at its own parameters, or others.
  absl::StatusOr<PipelineReport> Count(const Bindings& given = {}) const {
    const absl::StatusOr<std::string> text = PipelineOfFolder(path_);
    if (!text.ok()) return text.status();
    const absl::StatusOr<Pipeline> pipeline = LoadPipeline(*text, path_ + "/pipeline.toml", given);
    if (!pipeline.ok()) return pipeline.status();
    return CountPipeline(*pipeline, {});
  }

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// "name: FLOPs", of each stage.
std::vector<std::string> StagesOf(const absl::StatusOr<PipelineReport>& report) {
  if (!report.ok()) return {std::string(report.status().message())};
  std::vector<std::string> stages;
  for (const PipelineStageCost& stage : report->stages) {
    stages.push_back(absl::StrCat(stage.name, ": ",
                                  Int128ToString(*stage.totals.flops.Evaluate(report->bindings))));
    EXPECT_TRUE(stage.assumed.empty()) << stage.name << " leaves " << stage.assumed[0] << " open";
  }
  return stages;
}

using Stages = std::vector<std::string>;

TEST(RecognisePipelineTest, TowersOfClip) {
  const Folder folder;
  folder.Model("text_model.onnx", {{"input_ids", {"text_batch_size", "sequence_length"}}});
  folder.Model("vision_model.onnx", {{"pixel_values", {"image_batch_size", "3", "8", "8"}}});
  EXPECT_EQ(StagesOf(folder.Count()), (Stages{"images: 192", "texts: 6160"}));  // 80 x 77
}

TEST(RecognisePipelineTest, Sam) {
  const Folder folder;
  folder.Model("vision_encoder.onnx", {{"pixel_values", {"batch_size", "3", "16", "16"}}});
  folder.Model("prompt_encoder_mask_decoder.onnx",
               {{"input_points", {"batch_size", "point_batch_size", "nb_points_per_image", "2"}},
                {"image_embeddings", {"batch_size", "4", "2", "2"}}});
  EXPECT_EQ(StagesOf(folder.Count()), (Stages{"encoder: 768", "decoder: 20"}));
}

TEST(RecognisePipelineTest, Sherpa) {
  const Folder folder;
  folder.Model("encoder-epoch-99-avg-1.onnx", {{"x", {"N", "3120"}}});
  folder.Model("decoder-epoch-99-avg-1.onnx", {{"y", {"N", "2"}}});
  folder.Model("joiner-epoch-99-avg-1.onnx",
               {{"encoder_out", {"N", "512"}}, {"decoder_out", {"N", "512"}}});
  EXPECT_EQ(StagesOf(folder.Count()), (Stages{"encoder: 31200", "decoder: 82", "joiner: 163840"}));
  EXPECT_EQ(StagesOf(folder.Count({{"chunks", 100}}))[2], "joiner: 1638400");  // 16 frames of each
  EXPECT_EQ(StagesOf(folder.Count({{"frames", 7}}))[2], "joiner: 7168");
  // An output of fixed frames.
  folder.Model("encoder-epoch-99-avg-1.onnx", {{"x", {"N", "39", "80"}}});
  EXPECT_EQ(StagesOf(folder.Count())[2], absl::StrCat("joiner: ", 10 * 39 * 1024));
  EXPECT_EQ(StagesOf(folder.Count({{"chunks", 2}}))[2], absl::StrCat("joiner: ", 2 * 39 * 1024));
}

TEST(RecognisePipelineTest, Flux) {
  const Folder folder;
  folder.Write("model_index.json", "{}");
  folder.Model("transformer/model.onnx",
               {{"hidden_states", {"batch_size", "packed_height_width", "4"}},
                {"encoder_hidden_states", {"batch_size", "sequence_length", "2"}},
                {"img_ids", {"packed_height_width", "3"}}});
  folder.Model("vae_decoder/model.onnx", {{"latent_sample", {"batch_size", "1", "h", "w"}}});
  // 50 runs for two samples of 32 x 32 packed latents of 4 and 333 tokens of 2, and 3 x 1,024 ids.
  EXPECT_EQ(StagesOf(folder.Count()), (Stages{"transformer: 629800", "vae_decoder: 4096"}));
}

// The numbers of a folder's parameters.
Bindings NumbersOf(const absl::StatusOr<PipelineReport>& report) {
  if (!report.ok()) return {};
  Bindings numbers = report->bindings;
  for (const PipelineParameter& parameter : report->parameters) {
    numbers[parameter.name] = static_cast<int64_t>(*parameter.expr.Evaluate(report->bindings));
  }
  return numbers;
}
int64_t RunsOf(const absl::StatusOr<PipelineReport>& report, size_t stage) {
  if (!report.ok() || stage >= report->stages.size()) return -1;
  return static_cast<int64_t>(*report->stages[stage].runs.Evaluate(report->bindings));
}

// The default steps and sizes of diffusers' classes.
TEST(RecognisePipelineTest, ClassesOfDiffusers) {
  const Folder folder;
  folder.Model("transformer/model.onnx", {{"hidden_states", {"batch_size", "16", "h", "w"}}});
  folder.Model("vae_decoder/model.onnx", {{"latent_sample", {"batch_size", "1", "h", "w"}}});
  struct Case {
    const char* name;
    int64_t steps, guidance, resolution;
  };
  for (const Case& c :
       {Case{"StableDiffusionPipeline", 50, 2, 512}, Case{"StableDiffusion3Pipeline", 28, 2, 512},
        Case{"FluxPipeline", 28, 1, 1024}, Case{"ORTLatentConsistencyModelPipeline", 4, 1, 512},
        Case{"ORTStableDiffusion3Pipeline", 28, 2, 512}, Case{"OVFluxPipeline", 28, 1, 1024}}) {
    folder.Write("model_index.json", absl::StrCat(R"({"_class_name": ")", c.name, R"("})"));
    const Bindings numbers = NumbersOf(folder.Count());
    ASSERT_TRUE(numbers.contains("steps")) << c.name;
    EXPECT_EQ(numbers.at("steps"), c.steps) << c.name;
    EXPECT_EQ(numbers.at("guidance"), c.guidance) << c.name;
    EXPECT_EQ(numbers.at("resolution"), c.resolution) << c.name;
  }
}

// Without a negative prompt SDXL encodes one text, and takes zeros for the other.
TEST(RecognisePipelineTest, NegativePrompts) {
  const Folder folder;
  folder.Model("text_encoder/model.onnx", {{"input_ids", {"batch_size", "77"}}});
  folder.Model("unet/model.onnx", {{"sample", {"batch_size", "4", "h", "w"}}});
  folder.Model("vae_decoder/model.onnx", {{"latent_sample", {"batch_size", "1", "h", "w"}}});
  constexpr char kXl[] = R"({"_class_name": "StableDiffusionXLPipeline"%s})";
  const auto write = [&](const std::string& rest) {
    folder.Write("model_index.json", absl::StrReplaceAll(kXl, {{"%s", rest}}));
  };
  write("");
  EXPECT_EQ(RunsOf(folder.Count(), 0), 1);
  EXPECT_EQ(RunsOf(folder.Count({{"negative_prompts", 1}}), 0), 2);
  EXPECT_EQ(RunsOf(folder.Count({{"negative_prompts", 1}, {"guidance", 1}}), 0), 1);
  write(R"(, "force_zeros_for_empty_prompt": true)");
  EXPECT_EQ(RunsOf(folder.Count(), 0), 1);
  write(R"(, "force_zeros_for_empty_prompt": false)");
  EXPECT_EQ(RunsOf(folder.Count(), 0), 2);
  folder.Write("model_index.json", R"({"_class_name": "StableDiffusionPipeline"})");
  EXPECT_EQ(RunsOf(folder.Count(), 0), 2);
  EXPECT_FALSE(NumbersOf(folder.Count()).contains("negative_prompts"));
}

// Whisper begins with several tokens in one run.
TEST(RecognisePipelineTest, FirstTokensOfWhisper) {
  const Folder folder;
  folder.Model("encoder_model.onnx", {{"input_features", {"batch_size", "80", "3000"}}});
  folder.Model("decoder_model.onnx",
               {{"input_ids", {"batch_size", "decoder_sequence_length"}},
                {"encoder_hidden_states", {"batch_size", "encoder_sequence_length", "8"}}});
  folder.Model("decoder_with_past_model.onnx",
               {{"input_ids", {"batch_size", "1"}},
                {"past_key_values.0.decoder.key", {"batch_size", "2", "past", "4"}}});
  const auto first_tokens = [&](const std::string& config, const std::string& rules) -> int64_t {
    folder.Write("config.json", config);
    std::filesystem::remove(folder.path() + "/generation_config.json");
    if (!rules.empty()) folder.Write("generation_config.json", rules);
    const absl::StatusOr<std::string> text = PipelineOfFolder(folder.path());
    if (!text.ok()) return -1;
    const absl::StatusOr<Pipeline> pipeline = LoadPipeline(*text, folder.path() + "/pipeline.toml");
    const PipelineParameter* found = pipeline.ok() ? pipeline->Find("first_tokens") : nullptr;
    if (found == nullptr) {
      EXPECT_TRUE(absl::StrContains(*text, "\"decoder_sequence_length\" = \"1\"")) << *text;
      EXPECT_TRUE(absl::StrContains(*text, "past = \"1 + t\"")) << *text;
      return 0;
    }
    EXPECT_TRUE(absl::StrContains(*text, "\"decoder_sequence_length\" = \"first_tokens\""));
    EXPECT_TRUE(absl::StrContains(*text, "past = \"first_tokens + t\"")) << *text;
    return *found->value;
  };
  constexpr char kWhisper[] = R"({"model_type": "whisper", "vocab_size": 51865})";
  constexpr char kLanguages[] = R"({"is_multilingual": true, "no_timestamps_token_id": 50363})";
  constexpr char kEnglish[] = R"({"is_multilingual": false, "no_timestamps_token_id": 50362})";
  EXPECT_EQ(first_tokens(kWhisper, kLanguages), 4);
  EXPECT_EQ(first_tokens(kWhisper, kEnglish), 2);
  EXPECT_EQ(first_tokens(kWhisper, "{}"), 1);
  EXPECT_EQ(first_tokens(kWhisper, "no JSON"), -1);
  EXPECT_EQ(first_tokens(R"({"model_type": "whisper", "vocab_size": 51864})", ""), 2);
  EXPECT_EQ(first_tokens(R"({"model_type": "whisper", "vocab_size": "many"})", ""), 1);
  EXPECT_EQ(first_tokens(R"({"model_type": "bart"})", kLanguages), 0);
}

std::string TextOf(const std::string& file) {
  std::ifstream stream(ONNXFLOPS_SOURCE_DIR "/tests/data/pipeline/" + file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// What `generate` of transformers executes: see tools/export/pipeline_truth.py.
TEST(RecognisePipelineTest, ConfigurationsOfDecoders) {
  const nlohmann::json truth = nlohmann::json::parse(TextOf("truth.json"));
  const Folder folder;
  for (const nlohmann::json& call : truth["calls"]) {
    const std::string model = call["model"];
    const bool has_encoder = model == "t5-tiny";
    const int64_t beams = call.value("beams", 1);
    // One run has a batch: that of an encoder is not that of the beams of its decoder.
    if (model == "sd-tiny" || (has_encoder && beams > 1)) continue;
    folder.Write("config.json", TextOf(model + "/config.json"));
    const absl::StatusOr<PipelineReport> report =
        folder.Count({{"answers", call["batch"].get<int64_t>() * beams},
                      {"prompt", call["prompt"]},
                      {"tokens", call["tokens"]}});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(2 * *report->totals.macs.Evaluate(report->bindings),
              call["flops_all_logits"].get<int64_t>())
        << call;
  }
  // Beside an export it would be another model.
  folder.Write("other.onnx", "");
  EXPECT_TRUE(absl::IsNotFound(folder.Count().status())) << folder.Count().status();
  std::filesystem::remove(folder.path() + "/other.onnx");
  folder.Write("config.json", R"({"model_type": "vit"})");
  EXPECT_TRUE(absl::IsNotFound(folder.Count().status())) << folder.Count().status();
  folder.Write("config.json", R"({"model_type": "none"})");
  EXPECT_TRUE(absl::IsFailedPrecondition(folder.Count().status())) << folder.Count().status();
}

TEST(RecognisePipelineTest, GenAi) {
  const Folder folder;
  folder.Write("genai_config.json", R"({"model": {"decoder": {"filename": "llm.onnx"}}})");
  folder.Write("llm.onnx", TextOf("../../../models/deployed/llama_tiny_gqa.genai_int4.onnx"));
  const absl::StatusOr<PipelineReport> report = folder.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->stages.size(), 2);
  EXPECT_EQ(*report->stages[1].runs.Evaluate(report->bindings), 127);
  EXPECT_EQ(report->stages[1].weights_of, "prompt");
}

// The numbers of genai_config.json: each of the beams is a row, of the prompt, too.
TEST(RecognisePipelineTest, BeamsAndContextOfGenAi) {
  const Folder folder;
  const auto write = [&](const char* beams) {
    folder.Write("genai_config.json", absl::StrCat(R"({"search": {"num_beams": )", beams,
                                                   R"(}, "model": {"context_length": 2048,
                                  "decoder": {"filename": "llm.onnx"}}})"));
  };
  folder.Write("llm.onnx", TextOf("../../../models/deployed/llama_tiny_gqa.genai_int4.onnx"));
  write("1");
  const Stages one = StagesOf(folder.Count()), three = StagesOf(folder.Count({{"answers", 3}}));
  EXPECT_EQ(NumbersOf(folder.Count()).at("prompt"), 512);
  write("3");
  EXPECT_NE(one, three);
  EXPECT_EQ(StagesOf(folder.Count()), three);
  const std::string long_prompt = StagesOf(folder.Count({{"prompt", 2049}}))[0];
  EXPECT_TRUE(absl::EndsWith(
      long_prompt, "prompt = 2049 is above 2048; it is: context_length of genai_config.json"))
      << long_prompt;
  const absl::StatusOr<std::string> changed =
      WithNumbers(*PipelineOfFolder(folder.path()), {{"prompt", 9}});
  EXPECT_TRUE(absl::StrContains(*changed, "\nprompt = { value = 9, most = 2048, about = "));
}

// Positions of a decoder end somewhere.
TEST(RecognisePipelineTest, PositionsOfAConfiguration) {
  const Folder folder;
  folder.Write("config.json", TextOf("gpt2-tiny/config.json"));
  const int64_t most = nlohmann::json::parse(TextOf("gpt2-tiny/config.json"))["n_positions"];
  EXPECT_TRUE(folder.Count({{"prompt", most}, {"tokens", 1}}).ok());
  const std::string above = StagesOf(folder.Count({{"prompt", most + 1}}))[0];
  EXPECT_TRUE(absl::EndsWith(above, absl::StrCat("prompt = ", most + 1, " is above ", most,
                                                 "; it is: n_positions of config.json")))
      << above;
}

TEST(RecognisePipelineTest, NothingAndFaults) {
  const Folder folder;
  const auto fault = [&] { return StagesOf(folder.Count())[0]; };
  EXPECT_TRUE(absl::StrContains(fault(), "no pipeline is recognised here")) << fault();
  EXPECT_FALSE(absl::StrContains(fault(), "would have"));
  folder.Write("encoder_model.onnx", "");
  EXPECT_TRUE(
      absl::StrContains(fault(),
                        "; an encoder and a decoder (Optimum) would have decoder_model.onnx "
                        "or decoder_model_merged.onnx and decoder_with_past_model.onnx or "
                        "decoder_model_merged.onnx. A TOML"))
      << fault();
}

// Sizes that an export fixed are those of the pipeline, and others are refused.
TEST(RecognisePipelineTest, SizesThatAnExportFixed) {
  const Folder folder;
  folder.Write("model_index.json", R"({"_class_name": "StableDiffusionPipeline"})");
  folder.Model("unet/model.onnx", {{"sample", {"2", "4", "h", "w"}}});
  folder.Model("vae_decoder/model.onnx", {{"latent_sample", {"batch_size", "1", "48", "48"}}});
  EXPECT_EQ(NumbersOf(folder.Count()).at("resolution"), 384);  // eight pixels of a latent
  EXPECT_EQ(StagesOf(folder.Count())[0], absl::StrCat("unet: ", 50 * 2 * 4 * 48 * 48));
  const absl::Status other = folder.Count({{"resolution", 512}}).status();
  EXPECT_TRUE(
      absl::EndsWith(other.message(),
                     "stage 'vae_decoder': the export fixed pixels_high // scale at 48, and "
                     "it is 64 here; export it at these sizes or with open ones "
                     "(dynamic_shapes=), or give parameters other numbers"))
      << other;
  const absl::Status more = folder.Count({{"images", 3}}).status();
  EXPECT_TRUE(
      absl::StrContains(more.message(), "the export fixed guidance*images at 2, and it is 6"))
      << more;
}

// What contradicts the layout, or itself.
TEST(RecognisePipelineTest, SizesThatDoNotFit) {
  const Folder folder;
  folder.Write("model_index.json", R"({"_class_name": "StableDiffusionPipeline"})");
  folder.Model("vae_decoder/model.onnx", {{"latent_sample", {"batch_size", "1", "h", "w"}}});
  const auto why = [&] { return std::string(folder.Count().status().message()); };
  folder.Model("unet/model.onnx", {{"sample", {"2", "4", "h", "w"}}, {"other", {"4"}}});
  EXPECT_TRUE(absl::StrContains(why(),
                                "unet/model.onnx: the export fixed guidance*images at 2 "
                                "and at 4: name the stages"))
      << why();
  folder.Model("unet/model.onnx", {{"sample", {"2", "4", "h", "w"}},
                                   {"timestep", {"1"}},
                                   {"encoder_hidden_states", {"2", "64", "8"}}});
  EXPECT_TRUE(absl::StrContains(why(),
                                "unet/model.onnx: the export fixed axis 1 of "
                                "encoder_hidden_states at 64, and it should be 77"))
      << why();
  // A batch of two, and what is broadcast to it.
  folder.Model("unet/model.onnx", {{"sample", {"2", "4", "h", "w"}}, {"added", {"1", "8"}}});
  EXPECT_EQ(RunsOf(folder.Count(), 0), 50);
  // Videos have a fifth dimension.
  folder.Model("unet/model.onnx", {{"sample", {"2", "4", "f", "h", "w"}}});
  EXPECT_TRUE(absl::StrContains(why(), "sample has five dimensions, as those of videos")) << why();
}

// The numbers of a call in the file.
TEST(RecognisePipelineTest, WithNumbers) {
  const std::string text =
      "# steps = 1\n[parameters]\nsteps = 50        # of the denoiser\nscale = \"8\"  # given\n"
      "guidance = { value = 2, least = 1 }\n\n[[stage]]\nsteps = 1\n";
  const absl::StatusOr<std::string> changed =
      WithNumbers(text, {{"steps", 25}, {"guidance", 1}, {"scale", 4}});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(*changed,
            "# steps = 1\n[parameters]\nsteps = 25\nscale = 4\n"
            "guidance = { value = 1, least = 1 }\n\n[[stage]]\nsteps = 1\n");
  const absl::Status unknown = WithNumbers(text, {{"stps", 25}}).status();
  EXPECT_EQ(unknown.message(), "dim: no parameter is named stps; did you mean steps?");
}

// The class of the index reads the configuration of any other.
TEST(RecognisePipelineTest, ScheduleOfTheIndex) {
  const Folder folder;
  folder.Write("model_index.json",
               R"({"_class_name": "StableDiffusionPipeline",
                   "scheduler": ["diffusers", "HeunDiscreteScheduler"]})");
  folder.Model("unet/model.onnx", {{"sample", {"batch_size", "4", "h", "w"}}});
  folder.Model("vae_decoder/model.onnx", {{"latent_sample", {"batch_size", "1", "h", "w"}}});
  EXPECT_EQ(RunsOf(folder.Count({{"steps", 10}}), 0), 19);
  folder.Write("scheduler/scheduler_config.json", R"({"_class_name": "DDIMScheduler"})");
  EXPECT_EQ(RunsOf(folder.Count({{"steps", 10}}), 0), 19);
}

// An image that is no square.
TEST(RecognisePipelineTest, TwoSides) {
  const Folder folder;
  folder.Write("model_index.json", R"({"_class_name": "StableDiffusionPipeline"})");
  folder.Model("unet/model.onnx", {{"sample", {"2", "4", "32", "48"}}});
  folder.Model("vae_decoder/model.onnx", {{"latent_sample", {"batch_size", "1", "h", "w"}}});
  const Stages fixed = {absl::StrCat("unet: ", 50 * 2 * 4 * 32 * 48),
                        absl::StrCat("vae_decoder: ", 32 * 48)};
  EXPECT_EQ(StagesOf(folder.Count()), fixed);
  EXPECT_EQ(NumbersOf(folder.Count()).at("pixels_high"), 256);
  folder.Model("unet/model.onnx", {{"sample", {"batch_size", "4", "h", "w"}}});
  EXPECT_EQ(StagesOf(folder.Count({{"pixels_high", 256}, {"pixels_wide", 384}})), fixed);
  // Packed latents.
  folder.Write("model_index.json", R"({"_class_name": "FluxPipeline"})");
  std::filesystem::remove_all(folder.path() + "/unet");
  folder.Model("transformer/model.onnx",
               {{"hidden_states", {"batch_size", "packed_height_width", "4"}}});
  EXPECT_EQ(StagesOf(folder.Count({{"pixels_high", 256}, {"pixels_wide", 384}})),
            (Stages{absl::StrCat("transformer: ", 28 * 16 * 24 * 4), fixed[1]}));
}

// Runs are the timesteps that diffusers 0.42.1 makes of so many steps.
TEST(RecognisePipelineTest, RunsOfASchedule) {
  struct Case {
    const char* scheduler;
    std::vector<int64_t> runs;  // of 4, 5, 10 and 50 steps
  };
  const Folder folder;
  folder.Write("model_index.json", R"({"_class_name": "StableDiffusionPipeline"})");
  folder.Model("unet/model.onnx", {{"sample", {"batch_size", "4", "h", "w"}}});
  folder.Model("vae_decoder/model.onnx", {{"latent_sample", {"batch_size", "1", "h", "w"}}});
  for (const Case& c : {Case{R"("PNDMScheduler", "skip_prk_steps": true)", {5, 6, 11, 51}},
                        Case{R"("PNDMScheduler")", {13, 14, 19, 59}},
                        Case{R"("DPMSolverSDEScheduler", "x": -Infinity)", {7, 9, 19, 99}},
                        Case{R"("HeunDiscreteScheduler", "x": [-Infinity, NaN])", {7, 9, 19, 99}},
                        Case{R"("KDPM2AncestralDiscreteScheduler")", {7, 9, 19, 99}},
                        Case{R"("DPMSolverMultistepScheduler")", {4, 5, 10, 50}},
                        Case{R"("LCMScheduler")", {4, 5, 10, 50}}}) {
    folder.Write("scheduler/scheduler_config.json",
                 absl::StrCat(R"({"_class_name": )", c.scheduler, "}"));
    std::vector<int64_t> runs;
    for (const int64_t steps : {4, 5, 10, 50}) {
      runs.push_back(RunsOf(folder.Count({{"steps", steps}}), 0));
    }
    EXPECT_EQ(runs, c.runs) << c.scheduler;
  }
}

// The tokens of an image are those that its encoder gives.
TEST(RecognisePipelineTest, TokensOfAnImageEncoder) {
  const Folder folder;
  folder.Model("encoder_model.onnx", {{"pixel_values", {"batch", "577", "8"}}});
  folder.Model("decoder_model.onnx",
               {{"input_ids", {"batch", "length"}},
                {"encoder_hidden_states", {"batch", "encoder_sequence_length", "8"}}});
  folder.Model("decoder_with_past_model.onnx",
               {{"input_ids", {"batch", "1"}},
                {"past_key_values.0.decoder.key", {"batch", "2", "past", "4"}}});
  const absl::StatusOr<std::string> text = PipelineOfFolder(folder.path());
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_TRUE(absl::StrContains(*text, "prompt = \"577\"  # fixed by the export of the encoder"));
}

// One that is fixed at a batch of 1 runs once for each sample.
TEST(RecognisePipelineTest, ABatchOfOne) {
  const Folder folder;
  folder.Write("model_index.json", R"({"_class_name": "StableDiffusionPipeline"})");
  folder.Model("unet/model.onnx", {{"sample", {"1", "4", "h", "w"}}, {"timestep", {"1"}}});
  folder.Model("vae_decoder/model.onnx", {{"latent_sample", {"1", "1", "h", "w"}}});
  const absl::StatusOr<PipelineReport> report = folder.Count({{"images", 3}, {"resolution", 64}});
  EXPECT_EQ(StagesOf(report),
            (Stages{absl::StrCat("unet: ", 50 * 2 * 3 * (4 * 64 + 1)), "vae_decoder: 192"}));
  const Folder towers;
  towers.Model("text_model.onnx", {{"input_ids", {"1", "77"}}});
  towers.Model("vision_model.onnx", {{"pixel_values", {"images", "3", "8", "8"}}});
  EXPECT_EQ(StagesOf(towers.Count()), (Stages{"images: 192", "texts: 6160"}));
}

// Two files in each other's place.
TEST(RecognisePipelineTest, PartsThatAreExchanged) {
  const Folder folder;
  folder.Write("model_index.json",
               R"({"requires_safety_checker": true, "_class_name": "StableDiffusionPipeline"})");
  folder.Model("vae_decoder/model.onnx", {{"sample", {"batch_size", "1", "8", "8"}}});
  folder.Model("unet/model.onnx", {{"latent_sample", {"batch_size", "1", "8", "8"}}});
  const absl::Status status = folder.Count().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::EndsWith(status.message(),
                             "/unet/model.onnx: it has the inputs of vae_decoder, not of unet"))
      << status;
}

// A class that does more than is known here, damaged numbers, and a denoiser that is not named.
TEST(RecognisePipelineTest, ClassesAndNumbersOfAnIndex) {
  const Folder folder;
  folder.Model("vae_decoder/model.onnx", {{"latent_sample", {"batch_size", "1", "8", "8"}}});
  folder.Model("unet/model.onnx", {{"sample", {"batch_size", "1", "8", "8"}}});
  constexpr char kIndex[] = "model_index.json";
  const auto refused = [&](absl::string_view text, absl::string_view why) {
    folder.Write(kIndex, std::string(text));
    const absl::Status status = folder.Count().status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), why)) << status;
  };
  folder.Write("unet/config.json", R"({"sample_size": "64"})");
  refused("{}", "unet/config.json: sample_size should be a whole number");
  folder.Write("unet/config.json", "{}");
  refused(R"({"_class_name": 5})", "_class_name should be a text");
  refused(R"({"boundary_ratio": "0.9"})", "boundary_ratio should be a number between");
  refused(R"({"_class_name": "StableDiffusionImg2ImgPipeline"})", "more than a text");
  refused(R"({"_class_name": "PixArtSigmaPipeline", "transformer": ["a", "b"]})",
          "'PixArtSigmaPipeline' is not known here");
  refused(R"({"_class_name": "StableDiffusionPAGPipeline"})",
          "'StableDiffusionPAGPipeline' is not known here: of classes with a UNet");
  constexpr char kSchedule[] = "scheduler/scheduler_config.json";
  const std::pair<const char*, const char*> kDamaged[] = {
      {R"({"_class_name": "PNDMScheduler")", "scheduler_config.json: "},
      {"[]", "it should be a JSON object"},
      {R"({"_class_name": ["HeunDiscreteScheduler"]})", "_class_name should be a text"},
      {R"({"_class_name": "PNDMScheduler", "skip_prk_steps": "yes"})",
       "skip_prk_steps should be true or false"}};
  for (const auto& [text, why] : kDamaged) {
    folder.Write(kSchedule, text);
    refused("{}", why);
  }
  folder.Write(kSchedule, "{}");
  // A denoiser that the index does not name is not run.
  folder.Model("transformer/model.onnx", {{"hidden_states", {"batch_size", "16", "h", "w"}}});
  folder.Write(kIndex, R"({"unet": ["a", "b"]})");
  EXPECT_EQ(StagesOf(folder.Count()).size(), 2);
}

// What an index or a configuration names is there, or the folder is refused.
TEST(RecognisePipelineTest, PartsThatAreMissing) {
  const Folder folder;
  const auto refused = [&](absl::string_view file, absl::string_view text, absl::string_view why) {
    folder.Write(std::string(file), std::string(text));
    const absl::StatusOr<PipelineReport> report = folder.Count();
    EXPECT_TRUE(absl::IsFailedPrecondition(report.status())) << report.status();
    EXPECT_TRUE(absl::StrContains(report.status().message(), why)) << report.status();
  };
  constexpr char kIndex[] = "model_index.json";
  refused(kIndex, "{", "model_index.json: ");
  refused(kIndex, "[]", "model_index.json: it should be a JSON object");
  refused(kIndex, "{}",
          "without unet/model.onnx or transformer/model.onnx, vae_decoder/model.onnx");
  folder.Model("vae_decoder/model.onnx", {{"latent_sample", {"batch_size", "1", "8", "8"}}});
  refused(kIndex, "{}", "without unet/model.onnx or transformer/model.onnx; export");
  folder.Model("unet/model.onnx", {{"sample", {"batch_size", "1", "8", "8"}}});
  refused(kIndex, R"({"text_encoder": ["diffusers", "OnnxRuntimeModel"]})",
          "without text_encoder/model.onnx; export");
  for (const char* part : {R"("unet": null)", R"("text_encoder": 5)", R"("scheduler": ["a"])",
                           R"("vae": {})", R"("unet": [1, "a"])"}) {
    refused(kIndex, absl::StrCat("{", part, "}"), "' should be a library and a class, as [");
  }
  for (const char* name : {"controlnet", "transformer_2", "image_encoder"}) {
    refused(kIndex, absl::StrCat("{\"", name, "\": [\"diffusers\", \"Model\"]}"),
            absl::StrCat("it names a part '", name, "', which is not known here"));
  }
  folder.Write(kIndex, R"({"scheduler": ["a", "b"], "tokenizer_2": ["a", "b"], "vae": ["a", "b"],
                           "controlnet": [null, null]})");
  EXPECT_EQ(StagesOf(folder.Count()).size(), 2);
  folder.Write("vae_decoder/config.json", R"({"block_out_channels": 5})");
  refused(kIndex, "{}", "block_out_channels should be a list of 1 to 16 numbers");
  folder.Write("vae_decoder/config.json", "{}");
  // Stable Diffusion 3 without T5, and the safety checker that exporters leave out.
  folder.Write(kIndex, R"({"text_encoder_3": [null, null], "safety_checker": ["a", "b"]})");
  EXPECT_EQ(StagesOf(folder.Count()).size(), 2);

  const Folder genai;
  const auto config_refused = [&](const std::string& text, absl::string_view why) {
    genai.Write("genai_config.json", text);
    EXPECT_TRUE(absl::StrContains(StagesOf(genai.Count())[0], why)) << StagesOf(genai.Count())[0];
  };
  for (const char* text : {"{}", R"({"model": 1})", R"({"model": {"decoder": {"file": "a"}}})",
                           R"({"model": {"decoder": {"filename": 1}}})"}) {
    config_refused(text, "genai_config.json: model.decoder.filename should name the model");
  }
  config_refused(R"({"model": {"decoder": {"filename": "a"}, "vision": {"filename": "b"}}})",
                 "genai_config.json: model.embedding.filename should name a file");
  config_refused(R"({"model": {"decoder": {"filename": "a"}, "encoder": {"filename": "b"}}})",
                 "genai_config.json: model.encoder is a model besides the decoder");
  config_refused(R"({"model": {"decoder": {"filename": "/none.onnx"}}})",
                 "filename should be the name of a file in the folder");
  config_refused(R"({"model": {"type": "x", "decoder": {"filename": "none.onnx"}}})",
                 "none.onnx: no such file");
}

}  // namespace
}  // namespace onnxflops::recognise_pipeline_test
