// Decoders in several files, made by hand, and one that onnx.utils split: its parts together are
// the whole decoder. What the runtime runs is in decoder_only_pipeline.cpp of onnxruntime-genai.
#include "src/api/decoder_parts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/api/pipeline.h"
#include "src/api/recognise_pipeline.h"
#include "tests/model_maker.h"

namespace onnxflops::decoder_parts_test {
namespace {

using Inputs = std::vector<std::pair<std::string, std::vector<std::string>>>;
using Stages = std::vector<std::string>;
using Json = nlohmann::ordered_json;  // references end when an object grows

// A folder with an embedding, a layer and a head, which is removed again. A part multiplies each of
// its inputs by itself: one FLOP for an element.
class Folder {
 public:
  Folder() : path_(testing::TempDir() + "/decoder_parts") {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    Put("embed", {{"input_ids", {"b", "s"}}});
    Put("layer", Layer());
    Put("head", {{"input_ids_2_2", {"rows", "columns"}}});
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  static Inputs Layer() {
    return {{"input_ids_2", {"n", "new"}},
            {"attention_mask", {"n", "total"}},
            {"past_key_values.0.key", {"n", "2", "past", "4"}}};
  }

  // A part and its item in the list. `weight`: it has one of 3 x 4, of the file with that name.
  void Put(const std::string& name, const Inputs& inputs, const std::string& weight = "") {
    ModelMaker make;
    if (!weight.empty()) {
      make.Weight("w", {3, 4}).Node("n", "Neg", {"w"}, {"w_2"}).Output("w_2");
      auto* place = make.proto.mutable_graph()->mutable_initializer(0)->add_external_data();
      place->set_key("location");
      place->set_value(weight);
    }
    Json& item = config["model"]["decoder"]["pipeline"][0][name];
    item["filename"] = name + ".onnx";
    item["inputs"] = Json::array();
    item["outputs"] = Json::array();
    for (const auto& [input, dims] : inputs) {
      const std::string output =
          absl::StartsWith(input, "past") ? "present.0.key" : absl::StrCat(input, "_2");
      make.Input(input, dims);
      make.Node("m" + input, "Mul", {input, input}, {output}).Output(output);
      item["inputs"].push_back(input);
      item["outputs"].push_back(output);
    }
    std::ofstream(path_ + "/" + name + ".onnx", std::ios::binary) << make.proto.SerializeAsString();
  }
  void PutFirst(const std::string& name, const Inputs& inputs) {
    Put(name, inputs);
    Json& parts = config["model"]["decoder"]["pipeline"][0];
    Json in_order = {{name, parts[name]}};
    parts.erase(name);
    in_order.update(parts);
    parts = in_order;
  }
  Json& Item(const std::string& name) { return config["model"]["decoder"]["pipeline"][0][name]; }

  // The file, or the error.
  std::string Text() const {
    std::ofstream(path_ + "/genai_config.json") << config.dump();
    const absl::StatusOr<std::string> text = PipelineOfFolder(path_);
    return text.ok() ? *text : std::string(text.status().message());
  }
  // "name: runs FLOPs" of each stage, or the error.
  Stages Count(const Bindings& given = {}) const {
    const std::string text = Text();
    if (!absl::StartsWith(text, "# Recognised")) return {text};
    const absl::StatusOr<Pipeline> pipeline = LoadPipeline(text, path_ + "/pipeline.toml", given);
    if (!pipeline.ok()) return {std::string(pipeline.status().message())};
    const absl::StatusOr<PipelineReport> report = CountPipeline(*pipeline, {});
    if (!report.ok()) return {std::string(report.status().message())};
    Stages stages;
    for (const PipelineStageCost& stage : report->stages) {
      const auto value = [&](const Expr& e) {
        return Int128ToString(*e.Evaluate(report->bindings));
      };
      stages.push_back(
          absl::StrCat(stage.name, ": ", value(stage.runs), " ", value(stage.totals.flops)));
      EXPECT_TRUE(stage.assumed.empty()) << stage.name << " leaves " << stage.assumed[0];
    }
    return stages;
  }
  void Refused(const std::string& why) const {
    EXPECT_TRUE(absl::StrContains(Text(), why)) << Text();
    EXPECT_FALSE(absl::StrContains(Text(), '\n')) << Text();
  }
  const std::string& path() const { return path_; }

  Json config = Json::parse(R"({"model": {"type": "decoder-pipeline", "decoder": {
      "outputs": {"logits": "input_ids_2_2_2"}, "pipeline": [{}]}}})");

 private:
  const std::string path_;
};

std::string Of(const std::string& name, int runs, int flops) {
  return absl::StrCat(name, ": ", runs, " ", flops);
}

// Three tokens after a prompt of five: two runs with a cache of 5 and 6.
TEST(DecoderPartsTest, PromptAndTokens) {
  Folder folder;
  const Bindings given = {{"answers", 2}, {"prompt", 5}, {"tokens", 3}};
  EXPECT_EQ(folder.Count(given),
            (Stages{Of("embed of the prompt", 1, 2 * 5), Of("layer of the prompt", 1, 2 * (5 + 5)),
                    Of("head of the prompt", 1, 2 * 5), Of("embed of the tokens", 2, 2 * 2),
                    Of("layer of the tokens", 2, 2 * (2 + (6 + 7) + 8 * (5 + 6))),
                    Of("head of the tokens", 2, 2 * 2)}));
  folder.Item("embed")["run_on_token_gen"] = false;
  folder.Refused(
      "genai_config.json: model.decoder.pipeline.layer.inputs has 'input_ids_2', which no model "
      "before it makes on the tokens, and decoder.inputs does not name");
  // As exports for NPUs have it: files for the prompt and for one token.
  folder.PutFirst("step", {{"input_ids", {"1", "1"}}});
  folder.Item("step")["run_on_prompt"] = false;
  folder.Item("head")["is_lm_head"] = true;
  EXPECT_EQ(folder.Count({{"prompt", 5}, {"tokens", 3}}),
            (Stages{Of("embed of the prompt", 1, 5), Of("layer of the prompt", 1, 5 + 5),
                    Of("head of the prompt", 1, 5), Of("step of the tokens", 2, 2),
                    Of("layer of the tokens", 2, 2 + (6 + 7) + 8 * (5 + 6)),
                    Of("head of the tokens", 2, 2)}));
  EXPECT_TRUE(absl::StrContains(folder.Text(), "times = \"answers\"\nfor = \"t < tokens - 1\""));
}

// The prompt in windows of four tokens, the last one padded; the head runs on the last one only.
TEST(DecoderPartsTest, SlidingWindow) {
  Folder folder;
  folder.config["model"]["context_length"] = 16;
  folder.config["model"]["decoder"]["sliding_window"] = {{"window_size", 4}, {"pad_value", 128}};
  Json& decoder = folder.config["model"]["decoder"];
  decoder["num_key_value_heads"] = 2;
  decoder["head_size"] = 4;
  Inputs layer = Folder::Layer();
  layer[2].second = {"heads", "1", "width", "past"};
  folder.Put("layer", layer);
  const Bindings given = {{"answers", 3}, {"prompt", 9}, {"tokens", 3}};
  const auto counted = [&](int head_runs) {
    return Stages{Of("embed of the prompt", 9, 9 * 4),
                  Of("layer of the prompt", 9, 9 * (4 + 16 + 8 * 12)),
                  Of("head of the prompt", head_runs, head_runs * 4),
                  Of("embed of the tokens", 6, 6),
                  Of("layer of the tokens", 6, 6 * (1 + 16 + 8 * 15)),
                  Of("head of the tokens", 6, 6)};
  };
  EXPECT_EQ(folder.Count(given), counted(9));
  folder.Item("head")["is_lm_head"] = true;
  EXPECT_EQ(folder.Count(given), counted(3));
  EXPECT_TRUE(absl::StrContains(folder.Text(), "windows = \"(prompt + 3) // 4\""));
  const std::pair<const char*, const char*> kRefused[] = {
      {R"({"window_size": 1})",
       "model.decoder.sliding_window.window_size = 1 should be a whole number of 2 or more"},
      {R"({"window_size": 4, "slide_inputs": false})",
       "model.decoder.sliding_window.slide_inputs = false should be true to be counted here"},
      {R"({"window_size": 4, "slide_key_value_cache": false})", "slide_key_value_cache = false"},
      {R"({"window_size": 9})", "model.context_length = 16 should be a whole number, at least two"},
      {"3", "model.decoder.sliding_window = 3 should be an object"}};
  for (const auto& [window, why] : kRefused) {
    decoder["sliding_window"] = Json::parse(window);
    folder.Refused(why);
  }
}

// Sizes that the exports fixed.
TEST(DecoderPartsTest, FixedSizes) {
  Folder folder;
  folder.Put("embed", {{"input_ids", {"1", "8"}}});
  folder.Refused(
      "embed.onnx: the export fixed axis 1 of 'input_ids' at 8, and the runtime gives 1");
  folder.Item("embed")["run_on_token_gen"] = false;
  folder.PutFirst("step", {{"input_ids", {"1", "1"}}});
  folder.Item("step")["run_on_prompt"] = false;
  EXPECT_TRUE(absl::StrContains(folder.Text(),
                                "prompt = \"8\"  # fixed by the export of embed of the prompt\n"))
      << folder.Text();
  EXPECT_EQ(folder.Count()[0], "embed of the prompt: 1 8");
  EXPECT_EQ(folder.Count()[1], "layer of the prompt: 1 16");
  const std::string other = folder.Count({{"prompt", 5}})[0];
  EXPECT_TRUE(absl::StrContains(other, "the export fixed prompt at 8, and it is 5 here")) << other;
}

TEST(DecoderPartsTest, FilesThatDoNotFit) {
  Folder folder;
  folder.Item("layer")["inputs"].erase(1);
  folder.Refused(
      "layer.onnx: its input 'attention_mask' is not in "
      "model.decoder.pipeline.layer.inputs of genai_config.json");
  folder.Put("layer", Folder::Layer());
  folder.Item("layer")["inputs"].push_back("more");
  folder.Refused("model.decoder.pipeline.layer.inputs has 'more', which is no input of ");
  folder.Put("layer", Folder::Layer());
  folder.Item("layer")["outputs"].push_back("more");
  folder.Refused("model.decoder.pipeline.layer.outputs has 'more', which is no output of ");
  Inputs layer = Folder::Layer();
  layer[0].second = {"n", "past", "width"};
  folder.Put("layer", layer);
  folder.Refused("layer.onnx: 'input_ids_2' has 3 axes, and the output of embed gives 2");
  layer[0].second = {"n", "past"};
  folder.Put("layer", layer);
  folder.Refused("axis 2 of 'past_key_values.0.key' is 'past', which would be prompt and 0");
}

// Renamed outputs, a list in place of an object, models that unload others.
TEST(DecoderPartsTest, Forms) {
  Folder folder;
  const Stages stages = folder.Count();
  folder.Put("head", {{"hidden", {"rows", "columns"}}});
  folder.config["model"]["decoder"]["outputs"]["logits"] = "hidden_2";
  folder.Item("layer")["output_names_forwarder"] = {{"input_ids_2_2", "hidden"}};
  folder.Item("head")["reset_session_idx"] = 1;
  EXPECT_EQ(folder.Count(), stages);
  EXPECT_TRUE(absl::StrContains(folder.Text(), "# reset_session_idx: the runtime unloads models"));
  Json& list = folder.config["model"]["decoder"]["pipeline"];
  const Json object = list[0];
  list = object;
  EXPECT_EQ(folder.Count(), stages);
  list = Json::array();
  for (const char* name : {"embed", "layer", "head"}) list.push_back({{name, object[name]}});
  EXPECT_EQ(folder.Count(), stages);
  // Another type of model has one file.
  folder.config["model"]["type"] = "llama";
  EXPECT_EQ(folder.Count(), stages);
  folder.config["model"]["decoder"]["filename"] = "layer.onnx";
  EXPECT_FALSE(absl::StrContains(folder.Text(), "head.onnx"));
}

// The list has an order, which is not that of the letters: the head reads what the layer gives.
TEST(DecoderPartsTest, PartsRunInTheOrderOfTheFile) {
  Folder folder;
  folder.PutFirst("a", {{"attention_mask", {"n", "total"}}});
  folder.Item("a")["output_names_forwarder"] = {{"attention_mask_2", "input_ids_2_2"}};
  const Stages stages = folder.Count({{"prompt", 5}, {"tokens", 3}});
  ASSERT_EQ(stages.size(), 8);
  EXPECT_EQ(stages[4], Of("a of the tokens", 2, 6 + 7));
  EXPECT_EQ(stages[7], Of("head of the tokens", 2, 2));
  folder.PutFirst("head", {{"input_ids_2_2", {"rows", "columns"}}});
  folder.Refused("head.inputs has 'input_ids_2_2', which no model before it makes on the prompt");
}

// Lines of the file have at most 64 dots, and 250 stages are allowed.
TEST(DecoderPartsTest, ManyParts) {
  Folder folder;
  for (int i = 0; i < 122; ++i) {
    folder.Put(absl::StrCat("model.layers.", i, ".block"), {{"attention_mask", {"n", "total"}}});
  }
  const Stages stages = folder.Count();
  ASSERT_EQ(stages.size(), 250) << stages[0];
  EXPECT_EQ(stages[249], Of("model.layers.121.block of the tokens", 127, (513 + 639) * 127 / 2));
  EXPECT_TRUE(absl::StrContains(folder.Text(), ",\n# model.layers.1.block.onnx is "));
}

// Without logits no token follows the prompt, or none follows a token.
TEST(DecoderPartsTest, LogitsOfBothSides) {
  Folder folder;
  folder.Item("head")["run_on_prompt"] = false;
  folder.Refused(
      "model.decoder.pipeline.head.run_on_prompt = false should be true: no other model gives "
      "'input_ids_2_2_2' (outputs.logits) on the prompt");
  folder.Item("head")["run_on_prompt"] = true;
  folder.Item("head")["run_on_token_gen"] = false;
  folder.Refused(
      "model.decoder.pipeline.head.run_on_token_gen = false should be true: no other model gives "
      "'input_ids_2_2_2' (outputs.logits) on the tokens");
}

// A file for the prompt and one for the tokens, each with a head of 3 x 4 weights.
TEST(DecoderPartsTest, FilesWithTheSameWeights) {
  Folder folder;
  const Inputs inputs = {{"input_ids_2_2", {"rows", "columns"}}};
  folder.Put("head", inputs, "w.data");
  folder.Item("head")["run_on_token_gen"] = false;
  const auto has = [&](const char* weight, const std::string& line) {
    folder.Put("later", inputs, weight);
    folder.Item("later")["run_on_prompt"] = false;
    EXPECT_TRUE(absl::StrContains(folder.Text(), line + "\"head of the prompt\"\n"))
        << folder.Text();
    const auto pipeline = LoadPipeline(folder.Text(), folder.path() + "/pipeline.toml");
    EXPECT_EQ(CountPipeline(*pipeline, {})->totals.params, Expr(3 * 4));
  };
  has("w.data", "weights = ");
  has("./w.data", "weights = ");
  has("v.data", "copy_of = ");
}

// What genai_config.json says of beams, and of the length of all tokens.
TEST(DecoderPartsTest, BeamsAndContext) {
  Folder folder;
  folder.config["search"] = {{"num_beams", 4}};
  folder.config["model"]["context_length"] = 16;
  EXPECT_EQ(folder.Count({{"prompt", 5}})[0], Of("embed of the prompt", 1, 4 * 5));
  folder.Put("embed", {{"input_ids", {"1", "s"}}});
  EXPECT_EQ(folder.Count({{"answers", 2}, {"prompt", 5}})[0], Of("embed of the prompt", 8, 8 * 5));
  EXPECT_EQ(folder.Count()[0], Of("embed of the prompt", 4, 4 * 8));  // half of the length
  EXPECT_TRUE(
      absl::EndsWith(folder.Count({{"prompt", 17}})[0],
                     "prompt = 17 is above 16; it is: context_length of genai_config.json"));
  folder.config["model"]["decoder"]["sliding_window"] = {{"window_size", 4}};
  folder.Refused("search.num_beams = 4 should be 1: beams with model.decoder.sliding_window");
}

TEST(DecoderPartsTest, DamagedLists) {
  Folder folder;
  const Json whole = folder.config;
  const auto refused = [&](const char* at, const char* value, const std::string& why) {
    folder.config = whole;
    folder.config[Json::json_pointer(absl::StrCat("/model/decoder/pipeline", at))] =
        Json::parse(value);
    folder.Refused("genai_config.json: model.decoder.pipeline" + why);
  };
  refused("", "5", " = 5 should be a list of objects with a name for each model");
  refused("", "[3]", " = 3 should be a list of objects");
  refused("", "[]", " = [] should be a list of objects");
  refused("/0/head", "7", ".head = 7 should be an object with a filename");
  refused("/0/head/filename", "7", ".head.filename = 7 should be the name of a file in the folder");
  refused("/0/head/filename", R"("/a")", ".head.filename = \"/a\" should be the name");
  refused("/0/head/filename", R"("../a")", ".head.filename = \"../a\" should be the name");
  refused("/0/head/inputs", "null", ".head.inputs = null should be a list of names");
  refused("/0/head/outputs", "[1]", ".head.outputs = 1 should be a list of names");
  refused("/0/head/run_on_prompt", "1", ".head.run_on_prompt = 1 should be true or false");
  refused("/0/head/output_names_forwarder", "[]",
          ".head.output_names_forwarder = [] should be an object of names");
  refused("/0/head/reset_session_idx", "3",
          ".head.reset_session_idx = 3 should be -1, or the number of a model: 0 to 2");
  refused("/0/head/outputs", "[]", " has no model with the output 'input_ids_2_2_2'");
  folder.config = whole;
  folder.Item("head")["run_on_prompt"] = folder.Item("head")["run_on_token_gen"] = false;
  folder.Refused(".head.run_on_token_gen = false should be true, or run_on_prompt");
  folder.config = whole;
  folder.config["model"]["decoder"]["pipeline"].push_back({{"head", folder.Item("head")}});
  folder.Refused("model.decoder.pipeline.head is there twice");
  folder.config = whole;
  folder.config["model"]["speech"] = {{"filename", "a"}};
  folder.Refused("model.speech is a model besides the decoder, which is not counted here");
  folder.config = whole;
  folder.Item("head")["filename"] = "none.onnx";
  folder.Refused("none.onnx: no such file");
}

// Qwen-VL: 16 patches of an image are four tokens. Attention was exported for 24 patches.
TEST(DecoderPartsTest, ImageTower) {
  Folder folder;
  const Json decoder = folder.config["model"]["decoder"];
  folder.Put("patch_embed", {{"pixels", {"1", "patches", "6"}}});
  folder.Put("vision_attn", {{"rows", {"24", "8"}}});
  folder.Put("patch_merger", {{"rows", {"n", "8"}}});
  folder.config["model"]["decoder"] = decoder;
  folder.config["model"]["type"] = "qwen2_5_vl";
  Json& tower = folder.config["model"]["vision"]["pipeline"];
  for (const char* name : {"patch_embed", "vision_attn", "patch_merger"}) {
    tower[0][name]["filename"] = absl::StrCat(name, ".onnx");
  }
  EXPECT_EQ(folder.Count({{"images", 2}, {"patches", 16}, {"prompt", 5}, {"tokens", 2}}),
            (Stages{Of("patch_embed", 2, 2 * 16 * 6), Of("vision_attn", 2, 2 * 24 * 8),
                    Of("patch_merger", 2, 2 * 24 * 8), Of("embed of the prompt", 1, 13),
                    Of("layer of the prompt", 1, 13 + 13), Of("head of the prompt", 1, 13),
                    Of("embed of the tokens", 1, 1), Of("layer of the tokens", 1, 1 + 14 + 8 * 13),
                    Of("head of the tokens", 1, 1)}));
  folder.config["model"]["decoder"]["sliding_window"] = {{"window_size", 4}};
  folder.config["model"]["context_length"] = 16;
  folder.Refused("model.decoder.sliding_window beside an image tower is not counted here");
  folder.config["model"]["decoder"] = decoder;
  folder.config["model"]["vision"]["pipeline"][0].erase("vision_attn");
  folder.Refused("model.vision.pipeline.vision_attn = null should be an object with a filename");
  folder.config["model"]["type"] = "decoder-pipeline";
  folder.Refused("model.vision is a model besides the decoder");
}

// A decoder that onnx.utils split into four files costs what it does as one.
TEST(DecoderPartsTest, PartsAreTheWhole) {
  const std::string data = ONNXFLOPS_SOURCE_DIR "/tests/data/pipeline/genai-parts";
  const std::string file = ONNXFLOPS_SOURCE_DIR "/models/deployed/llama_tiny_gqa.genai_int4.onnx";
  const absl::StatusOr<std::string> text = PipelineOfFolder(data);
  ASSERT_TRUE(text.ok()) << text.status();
  const absl::StatusOr<Pipeline> parts = LoadPipeline(*text, data + "/pipeline.toml");
  ASSERT_TRUE(parts.ok()) << parts.status();
  const std::string stage =
      absl::StrCat("[[stage]]\nmodel = \"", file,
                   "\"\nsizes = ", "{ batch_size = \"answers\", kv_cache_dim = 64 }\n");
  const absl::StatusOr<Pipeline> whole =
      LoadPipeline(absl::StrCat("[parameters]\nanswers = \"?\"\nprompt = \"?\"\ntokens = \"?\"\n",
                                stage, "name = \"a\"\nnew = \"prompt\"\n", stage,
                                "name = \"b\"\nfor = \"t < tokens - 1\"\npast = \"prompt + t\"\n"),
                   "whole.toml");
  ASSERT_TRUE(whole.ok()) << whole.status();
  const absl::StatusOr<PipelineReport> of_parts = CountPipeline(*parts, {}),
                                       of_whole = CountPipeline(*whole, {});
  ASSERT_TRUE(of_parts.ok()) << of_parts.status();
  ASSERT_TRUE(of_whole.ok()) << of_whole.status();
  EXPECT_EQ(of_parts->stages.size(), 8);
  EXPECT_EQ(of_parts->totals.flops, of_whole->totals.flops);
  EXPECT_EQ(of_parts->totals.macs, of_whole->totals.macs);
  EXPECT_EQ(of_parts->totals.params, of_whole->totals.params);
}

}  // namespace
}  // namespace onnxflops::decoder_parts_test
