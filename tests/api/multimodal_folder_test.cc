// Folders of vision-language models and of Whisper, made by hand. What whole calls of transformers
// execute is in tests/data/pipeline/vision_calls.json, which tests/program/pipelines_test.py holds.
#include "src/api/multimodal_folder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/api/pipeline.h"
#include "src/api/recognise_pipeline.h"
#include "tests/model_maker.h"

namespace onnxflops::multimodal_folder_test {
namespace {

using Inputs = std::vector<std::pair<std::string, std::vector<std::string>>>;

// A vision-language model in a folder, which is removed again.
class Folder {
 public:
  explicit Folder(const std::string& parts = "/onnx/")
      : path_(testing::TempDir() + "/seeing"), parts_(path_ + parts) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(parts_);
    Tower({{"pixel_values", {"batch_size", "3", "8", "8"}}}, "GlobalAveragePool");
    Part("embed_tokens.onnx", {{"input_ids", {"batch_size", "sequence_length"}}});
    Part("decoder_model_merged.onnx", Decoder());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  static Inputs Decoder() {
    return {{"inputs_embeds", {"batch_size", "sequence_length", "4"}},
            {"attention_mask", {"batch_size", "total_sequence_length"}},
            {"past_key_values.0.key", {"batch_size", "2", "past_sequence_length", "4"}}};
  }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }
  void Remove(const std::string& part) const { std::filesystem::remove(parts_ + part); }
  // A part that multiplies each input by itself.
  void Part(const std::string& name, const Inputs& inputs) const {
    ModelMaker make;
    for (const auto& [input, dims] : inputs) {
      make.Input(input, dims);
      make.Node("m" + input, "Mul", {input, input}, {input + "_out"}).Output(input + "_out");
    }
    Save(name, make);
  }
  // A tower with the output of an operator.
  void Tower(const Inputs& inputs, const std::string& op) const {
    ModelMaker make;
    for (const auto& [input, dims] : inputs) make.Input(input, dims);
    make.Node("tower", op, {"pixel_values"}, {"image_features"}).Output("image_features");
    Save("vision_encoder.onnx", make);
  }
  void Save(const std::string& name, const ModelMaker& make) const {
    std::ofstream(parts_ + name, std::ios::binary) << make.proto.SerializeAsString();
  }

  // The file, or the error.
  std::string Text(const std::string& from = "") const {
    const absl::StatusOr<std::string> text = PipelineOfFolder(path_ + from);
    return text.ok() ? *text : std::string(text.status().message());
  }
  // The numbers of the parameters.
  Bindings Numbers() const {
    const absl::StatusOr<Pipeline> pipeline = LoadPipeline(Text(), path_ + "/pipeline.toml");
    EXPECT_TRUE(pipeline.ok()) << pipeline.status() << "\n" << Text();
    if (!pipeline.ok()) return {};
    Bindings numbers = pipeline->Values();
    for (const PipelineParameter& parameter : pipeline->parameters) {
      numbers[parameter.name] = static_cast<int64_t>(*parameter.expr.Evaluate(pipeline->Values()));
    }
    return numbers;
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_, parts_;
};

TEST(MultimodalFolderTest, StagesOfAModel) {
  const Folder folder;
  const absl::StatusOr<Pipeline> pipeline =
      LoadPipeline(folder.Text(), folder.path() + "/pipeline.toml",
                   {{"answers", 2}, {"images", 3}, {"tokens", 4}});
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  const absl::StatusOr<PipelineReport> report = CountPipeline(*pipeline, {});
  ASSERT_TRUE(report.ok()) << report.status();
  std::vector<std::string> stages;
  for (const PipelineStageCost& stage : report->stages) {
    const auto value = [&](const Expr& e) { return Int128ToString(*e.Evaluate(report->bindings)); };
    stages.push_back(
        absl::StrCat(stage.name, ": ", value(stage.runs), " ", value(stage.totals.flops)));
    EXPECT_TRUE(stage.assumed.empty()) << stage.name;
  }
  // A mean of 64 pixels is 65. 64 + 3*3 = 73 tokens: embeddings of 4, a mask of one for each token
  // and a past of 2 x 4.
  const int64_t prompt = 2 * (73 * 4 + 73);
  const int64_t tokens = 2 * (3 * 4 + (74 + 75 + 76) + 8 * (73 + 74 + 75));
  EXPECT_EQ(stages, (std::vector<std::string>{absl::StrCat("vision: 1 ", 2 * 3 * 3 * (64 + 1)),
                                              absl::StrCat("embeddings of the prompt: 1 ", 2 * 73),
                                              absl::StrCat("prompt: 1 ", prompt),
                                              absl::StrCat("embeddings of the tokens: 3 ", 2 * 3),
                                              absl::StrCat("tokens: 3 ", tokens)}));
}

// What a tower fixed is neither changed by a call nor contradicted by the configuration.
TEST(MultimodalFolderTest, SizesThatATowerFixed) {
  const Folder folder;
  const absl::StatusOr<Pipeline> pipeline =
      LoadPipeline(folder.Text(), folder.path() + "/pipeline.toml", {{"image_tokens", 5}});
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  const absl::Status status = CountPipeline(*pipeline, {}).status();
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "stage 'vision': the export fixed image_tokens at 3, and it is 5"))
      << status;
  folder.Write("config.json", R"({"model_type": "llava", "vision_config": {"image_size": 24}})");
  EXPECT_TRUE(absl::StrContains(folder.Text(),
                                "config.json: image_size = 24, but onnx/vision_encoder.onnx takes "
                                "8 x 8 pixels; are both of one export?"))
      << folder.Text();
}

// What configurations say of images, for towers whose output does not tell.
TEST(MultimodalFolderTest, TokensOfAnImage) {
  const Folder folder;
  struct Case {
    const char* config;
    std::vector<std::string> pixels;
    int64_t tokens;
  };
  const std::vector<std::string> open = {"n", "3", "h", "w"},
                                 tiles = {"n", "tiles", "3", "64", "64"};
  const Case kCases[] = {
      {R"({"model_type": "llava", "vision_config": {"image_size": 336, "patch_size": 14}})", open,
       576},
      {R"({"model_type": "llava", "vision_feature_select_strategy": "full",
           "vision_config": {"model_type": "clip_vision_model", "image_size": 336,
                             "patch_size": 14}})",
       open, 577},
      {R"({"model_type": "llava", "vision_feature_select_strategy": "full",
           "vision_config": {"model_type": "siglip_vision_model", "image_size": 384,
                             "patch_size": 14}})",
       open, 729},
      {R"({"model_type": "paligemma", "vision_config": {"num_image_tokens": 1024}})", open, 1024},
      {R"({"model_type": "gemma3", "mm_tokens_per_image": 256})", open, 256},
      {R"({"model_type": "idefics3", "scale_factor": 2,
           "vision_config": {"image_size": 64, "patch_size": 16}})",
       tiles, 4},
      {R"({"model_type": "phi3_v", "img_processor": {"num_img_tokens": 144}})", tiles, 2509},
      {R"({"model_type": "qwen2_vl", "vision_config": {"spatial_merge_size": 2}})",
       {"patches", "1176"},
       256},
      {R"({"model_type": "other"})", {"patches", "1176"}, 1024},
      {"{}", open, 256},
  };
  for (const Case& c : kCases) {
    folder.Write("config.json", c.config);
    // An operator of which nothing is known.
    folder.Tower({{"pixel_values", c.pixels}}, "Unknown");
    const Bindings numbers = folder.Numbers();
    ASSERT_TRUE(numbers.contains("image_tokens")) << c.config;
    EXPECT_EQ(numbers.at("image_tokens"), c.tokens) << c.config << "\n" << folder.Text();
  }
}

// The output of the tower corrects what is assumed, and not what the configuration states.
TEST(MultimodalFolderTest, OutputOfTheTower) {
  const Folder folder;
  folder.Tower({{"pixel_values", {"n", "3", "8", "9"}}}, "Identity");  // 3 x 8 rows
  EXPECT_TRUE(absl::StrContains(folder.Text(),
                                "image_tokens = \"24\"  # of an image: rows of the output of "
                                "onnx/vision_encoder.onnx\n"))
      << folder.Text();
  folder.Tower({{"pixel_values", {"4", "3", "8", "9"}}}, "Identity");
  EXPECT_EQ(folder.Numbers().at("image_tokens"), 24);
  folder.Write("config.json", R"({"mm_tokens_per_image": 24})");
  EXPECT_TRUE(absl::StrContains(folder.Text(),
                                "mm_tokens_per_image in config.json; the tower gives as many\n"));
  folder.Write("config.json", R"({"mm_tokens_per_image": 25})");
  EXPECT_TRUE(absl::EndsWith(folder.Text(),
                             "config.json: mm_tokens_per_image: 25 tokens of an image, but the "
                             "output of onnx/vision_encoder.onnx has 24; are both of one export?"))
      << folder.Text();
}

// Sizes that the export fixed, and those of a processor.
TEST(MultimodalFolderTest, SizesOfImages) {
  const Folder folder;
  folder.Tower({{"pixel_values", {"24", "96"}}, {"image_grid_thw", {"1", "3"}}}, "Identity");
  Bindings numbers = folder.Numbers();
  EXPECT_EQ(numbers.at("patches_high"), 4);
  EXPECT_EQ(numbers.at("patches_wide"), 6);
  EXPECT_TRUE(absl::StrContains(
      folder.Text(), "values = { image_grid_thw = [1, \"patches_high\", \"patches_wide\"] }"));
  EXPECT_TRUE(absl::StrContains(folder.Text(), "times = \"answers*images\"\n"));
  folder.Tower({{"pixel_values", {"n", "tiles", "3", "8", "8"}}}, "Identity");
  folder.Write("preprocessor_config.json",
               R"({"do_image_splitting": true, "size": {"longest_edge": 2048},
                   "max_image_size": {"longest_edge": 512}})");
  EXPECT_EQ(folder.Numbers().at("tiles"), 17);
  folder.Tower({{"pixel_values", {"1", "13", "3", "8", "8"}}}, "Identity");
  EXPECT_EQ(folder.Numbers().at("tiles"), 13);
  EXPECT_TRUE(absl::StrContains(folder.Text(), "times = \"answers*images\"\n"));
}

// Variants, folders, and a decoder in two files.
TEST(MultimodalFolderTest, WhereFilesAre) {
  const Folder folder;
  folder.Write("config.json", R"({"mm_tokens_per_image": 7})");
  folder.Tower({{"pixel_values", {"n", "3", "8", "8"}}}, "Unknown");
  folder.Part("decoder_model_merged_q4.onnx", Folder::Decoder());
  EXPECT_TRUE(absl::StrContains(folder.Text("/onnx"), "image_tokens = \"7\" "))
      << folder.Text("/onnx");
  EXPECT_TRUE(absl::StrContains(folder.Text(), "model = \"onnx/decoder_model_merged.onnx\""));
  folder.Remove("decoder_model_merged.onnx");
  EXPECT_TRUE(absl::StrContains(folder.Text(), "model = \"onnx/decoder_model_merged_q4.onnx\""));
  folder.Remove("decoder_model_merged_q4.onnx");
  EXPECT_TRUE(absl::EndsWith(folder.Text(),
                             "a vision-language model (onnx/vision_encoder.onnx) without "
                             "decoder_model_merged.onnx (or decoder_model.onnx); export it, or "
                             "name the stages in a TOML file"))
      << folder.Text();
  folder.Part("decoder_with_past_model.onnx", Folder::Decoder());
  folder.Part("decoder_model.onnx", {{"inputs_embeds", {"batch_size", "sequence_length", "4"}},
                                     {"num_logits_to_keep", {}}});
  folder.Part("audio_encoder.onnx", {{"x", {"n"}}});
  const std::string text = folder.Text();
  EXPECT_TRUE(absl::StrContains(text,
                                "\"sequence_length\" = \"prompt + images*image_tokens\" }\n"
                                "values = { num_logits_to_keep = 0 }\n"))
      << text;
  EXPECT_TRUE(absl::StrContains(text, "# onnx/audio_encoder.onnx is left out: no sound is read."));
  folder.Part("encoder_model.onnx", {{"x", {"n"}}});
  EXPECT_TRUE(absl::StrContains(folder.Text(), "(as in Florence-2), which is not known here"));
}

TEST(MultimodalFolderTest, DamagedConfigurations) {
  const Folder folder;
  const std::pair<const char*, const char*> kCases[] = {
      {"[]", "config.json: it should be a JSON object"},
      {"{", "config.json: "},
      {R"({"vision_config": 5})", "config.json: vision_config should be a JSON object"},
      {R"({"vision_config": {"patch_size": "14"}})",
       "config.json: vision_config.patch_size should be a whole number of 1 to 16384"},
      {R"({"vision_config": {"image_size": [1, 2]}})",
       "config.json: vision_config.image_size should be a whole number"},
      {R"({"scale_factor": 0})", "config.json: scale_factor should be a whole number"},
      {R"({"mm_tokens_per_image": -4})", "config.json: mm_tokens_per_image should be a whole"},
  };
  for (const auto& [config, why] : kCases) {
    folder.Write("config.json", config);
    EXPECT_TRUE(absl::StrContains(folder.Text(), why)) << folder.Text();
    EXPECT_FALSE(absl::StrContains(folder.Text(), '\n')) << folder.Text();
  }
  folder.Write("config.json", "{}");
  folder.Part("embed_tokens.onnx", {{"ids", {"n", "m"}}});
  EXPECT_TRUE(absl::EndsWith(folder.Text(),
                             "onnx/embed_tokens.onnx: it has no input input_ids, which "
                             "embed_tokens takes"))
      << folder.Text();
}

// Files that ONNX Runtime GenAI names.
TEST(MultimodalFolderTest, GenAi) {
  const Folder folder("/");
  constexpr char kModel[] = R"({"model": {"type": "gemma3", "decoder": {"filename": "%d"},
      "embedding": {"filename": "%e"}, "vision": {"filename": "%v"}%s}})";
  const auto text = [&](const char* more) {
    folder.Write("genai_config.json",
                 absl::StrReplaceAll(kModel, {{"%d", "decoder_model_merged.onnx"},
                                              {"%e", "embed_tokens.onnx"},
                                              {"%v", "vision_encoder.onnx"},
                                              {"%s", more}}));
    return folder.Text();
  };
  folder.Part("embed_tokens.onnx", {{"input_ids", {"batch_size", "sequence_length"}},
                                    {"image_features", {"num_image_tokens", "4"}}});
  EXPECT_TRUE(
      absl::StrContains(text(""), "\"num_image_tokens\" = \"answers*images*image_tokens\" }"));
  EXPECT_TRUE(absl::StrContains(text(""), "\"num_image_tokens\" = \"0\" }"));
  EXPECT_TRUE(absl::StrContains(text(R"(, "speech": {"filename": "x"})"),
                                "# model.speech is left out: no sound is read."));
  EXPECT_TRUE(absl::EndsWith(text(R"(, "joiner": {"filename": "x"})"),
                             "genai_config.json: model.joiner is a model that is not counted here: "
                             "name the stages in a TOML file"));
  EXPECT_TRUE(absl::StrContains(text(R"(, "context_length": 100)"),
                                "prompt = { value = 50, most = 100, about = \"context_length of "
                                "genai_config.json\" }  # tokens of the text"));
  EXPECT_TRUE(absl::StrContains(text(R"(}, "search": {"num_beams": 4)"),
                                "genai_config.json: search.num_beams = 4: beams beside images are "
                                "not counted here"));
  folder.Write("genai_config.json", R"({"model": {"decoder": {"filename": "/a"}, "vision": {}}})");
  EXPECT_TRUE(absl::EndsWith(folder.Text(), "should be the name of a file in the folder"));
  folder.Write("genai_config.json", R"({"model": {"decoder": {"filename": "a"}, "vision": {}}})");
  EXPECT_TRUE(absl::EndsWith(folder.Text(),
                             "genai_config.json: model.embedding.filename should name a file; of "
                             "a model in several files, name the stages in a TOML file"))
      << folder.Text();
}

TEST(MultimodalFolderTest, WhisperOfGenAi) {
  const Folder folder("/");
  folder.Part("listen.onnx", {{"audio_features", {"batch_size", "80", "3000"}}});
  folder.Part("write.onnx", {{"input_ids", {"batch_size", "sequence_length"}},
                             {"past_key_self_0", {"batch_size", "2", "past", "4"}},
                             {"past_key_cross_0", {"batch_size", "2", "1500", "4"}}});
  constexpr char kBeams[] = R"({"search": {"num_beams": 5}, "model)";
  constexpr char kModel[] = R"({"model": {"type": "whisper", "vocab_size": %n,
      "encoder": {"filename": "listen.onnx"}, "decoder": {"filename": "write.onnx"}}})";
  folder.Write("genai_config.json", absl::StrReplaceAll(kModel, {{"%n", "51865"}}));
  Bindings numbers = folder.Numbers();
  EXPECT_EQ(numbers.at("first_tokens"), 4);
  EXPECT_EQ(numbers.at("frames"), 1500);
  EXPECT_TRUE(absl::StrContains(folder.Text(), "past = \"first_tokens + t\""));
  folder.Write("genai_config.json",
               absl::StrReplaceAll(kModel, {{"%n", "51864"}, {"{\"model", kBeams}}));
  EXPECT_EQ(folder.Numbers().at("first_tokens"), 2);
  EXPECT_EQ(folder.Numbers().at("beams"), 5);
}

}  // namespace
}  // namespace onnxflops::multimodal_folder_test
