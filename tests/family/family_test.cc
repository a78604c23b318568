// Configurations against what PyTorch executes for them: tests/data/config/*.json has FLOPs (2 x
// MACs) by module and parameters, by FlopCounterMode under FakeTensorMode, and says how.
#include "src/family/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "src/api/count.h"
#include "src/api/load.h"
#include "src/api/serving.h"
#include "src/base/limits.h"
#include "src/graph/model.h"
#include "tests/sample.h"

namespace onnxflops::family_test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr const char* kTruthFiles[] = {"truth.json",
                                       "more.json",
                                       "drawn.json",
                                       "open_clip.json",
                                       "vision.json",
                                       "image_models.json",
                                       "text_models.json",
                                       "state_space_models.json",
                                       "frontier_models.json",
                                       "linear_attention_models.json",
                                       "decoder_models2.json",
                                       "more_audio_models.json",
                                       "more_image_models.json",
                                       "more_text_models.json"};

std::ifstream OpenTruth(const char* file) {
  return std::ifstream(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/tests/data/config/", file));
}

// By name. GoogleTest prints parameters, and JSON takes it long: names are the parameters.
const std::map<std::string, Json>& Models() {
  static const auto& models = *new std::map<std::string, Json>([] {
    std::map<std::string, Json> all;
    for (const char* file : kTruthFiles) {
      std::ifstream stream = OpenTruth(file);
      const Json read = Json::parse(stream)["models"];
      for (const auto& [name, model] : read.items()) all[name] = model;
    }
    return all;
  }());
  return models;
}

// A file has a line for each model, which begins with its name. Whoever runs another test reads
// these as well, so they are not parsed.
std::vector<std::string> Names() {
  std::vector<std::string> names;
  Sample sample;
  for (const char* file : kTruthFiles) {
    std::ifstream stream = OpenTruth(file);
    for (std::string line; std::getline(stream, line);) {
      absl::string_view name = line;
      if (!absl::ConsumePrefix(&name, " \"")) continue;
      if (sample.Next()) names.emplace_back(name.substr(0, name.find('"')));
    }
  }
  return names;
}

class FamilyTruthTest : public testing::TestWithParam<std::string> {};

absl::int128 MacsOf(const Report& report, const std::string& path) {
  for (const Module& module : report.modules) {
    if (module.path == path && module.amounts) return module.amounts->macs.literal();
  }
  ADD_FAILURE() << "no module " << path;
  return 0;
}

Bindings DimsOf(const Json& dims) {
  Bindings sizes;
  for (const auto& [name, size] : dims.items()) sizes[name] = size;
  return sizes;
}

// The graph of a point and its sizes: a step of decoding may have a graph of its own, which leaves
// out sizes that are fixed in it.
std::pair<Model, Bindings> GraphOf(const Model& model, const Json& dims) {
  std::pair<Model, Bindings> graph(model, DimsOf(dims));
  if (!dims.contains("past")) return graph;
  const absl::StatusOr<std::optional<Model>> step = DecodingStepOf(*model);
  EXPECT_TRUE(step.ok()) << step.status();
  if (!step.ok() || !*step) return graph;
  graph.first = **step;
  std::set<std::string> known;
  for (const ValueId id : (**step)->graphs[0].inputs) {
    for (const DeclaredDim& dim : (**step)->value(id).declared->dims) known.emplace(dim.name);
  }
  absl::erase_if(graph.second, [&](const auto& size) { return !known.contains(size.first); });
  return graph;
}

TEST_P(FamilyTruthTest, MacsAndParametersAreThoseOfTheReference) {
  const Json& truth = Models().at(GetParam());
  const absl::StatusOr<Model> model = LoadConfig(truth["config"].dump(), "config.json");
  ASSERT_TRUE(model.ok()) << model.status();
  for (const Json& point : truth["points"]) {
    const auto [graph, sizes] = GraphOf(*model, point["dims"]);
    const absl::StatusOr<Report> report = Count(graph, {.bindings = sizes});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_FALSE(report->totals.lower_bound);
    EXPECT_EQ(2 * report->totals.macs.literal(), absl::int128(point["flops"].get<int64_t>()))
        << point["dims"];
    EXPECT_EQ(report->totals.params.literal(), absl::int128(truth["parameters"].get<int64_t>()));
    for (const auto& [path, flops] : point["modules"].items()) {
      EXPECT_EQ(2 * MacsOf(*report, path), absl::int128(flops.get<int64_t>())) << path;
    }
  }
}

TEST(FamilyTest, EachModelHasALine) {
  if (!Sample::IsAll()) return;
  const std::vector<std::string> names = Names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), Models().size());
  EXPECT_EQ(names.size(), Models().size());
}

INSTANTIATE_TEST_SUITE_P(Models, FamilyTruthTest, testing::ValuesIn(Names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

// ---- against exports

using MacsByModule = std::map<std::string, absl::int128>;

// Of modules that have any, by path; without `root` around them.
MacsByModule MacsOfModules(const absl::StatusOr<Model>& model, const Json& dims,
                           const std::string& root) {
  MacsByModule macs;
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return macs;
  const absl::StatusOr<Report> report = Count(*model, {.bindings = DimsOf(dims)});
  EXPECT_TRUE(report.ok()) << report.status();
  if (!report.ok()) return macs;
  for (const Module& module : report->modules) {
    absl::string_view path = module.path;
    if (path != root && !root.empty() && !absl::ConsumePrefix(&path, root + ".")) continue;
    if (path == root) path = "";
    if (absl::StrContains(path, "(")) continue;  // what is in no module below
    if (module.amounts && !module.amounts->macs.is_zero()) {
      macs[std::string(path)] = module.amounts->macs.literal();
    }
  }
  return macs;
}

// A module of the file that the configuration has none of is no part of those around it.
void LeaveOut(const std::string& path, MacsByModule* macs) {
  const absl::int128 own = (*macs)[path];
  EXPECT_GT(own, 0);
  for (auto& [around, amount] : *macs) {
    if (around.empty() || absl::StartsWith(path, around + ".")) amount -= own;
  }
  macs->erase(path);
}

TEST(FamilyExportTest, ModulesCostWhatTheyDoInTheExport) {
  std::ifstream stream(ONNXFLOPS_SOURCE_DIR "/tests/data/config/exports.json");
  const Json exports = Json::parse(stream)["exports"];
  for (const Json& row : exports) {
    const std::string file = row["file"];
    SCOPED_TRACE(file);
    MacsByModule config =
        MacsOfModules(LoadConfig(row["config"].dump(), "c"), row["config_dims"], "");
    MacsByModule exported = MacsOfModules(Load(ONNXFLOPS_SOURCE_DIR "/models/" + file),
                                          row["file_dims"], row.value("root", ""));
    const std::string only_file = row.value("only_file", "");
    if (!only_file.empty()) LeaveOut(only_file, &exported);
    EXPECT_GT(config[""], 0);
    EXPECT_EQ(config[""], exported[""]);
    if (row.value("total_only", false)) continue;
    EXPECT_GE(config.size(), exported.size());
    for (const auto& [path, macs] : exported) EXPECT_EQ(config[path], macs) << path;
  }
}

std::string ErrorOf(absl::string_view json) {
  const absl::StatusOr<Model> model = LoadConfig(json, "c.json");
  return model.ok() ? "no error" : std::string(model.status().message());
}

const std::pair<const char*, const char*> kNonsense[] = {
    {R"({"model_type": "lama"})", "c.json: model_type 'lama' is not known; did you mean llama?"},
    {R"({"model_type": "xyz"})", "that need no Python"},
    {R"({"hidden_size": 8})", "without model_type"},
    {R"({"model_type": 3})", "model_type should be a string"},
    {R"([])", "is JSON, but no object"},
    {R"({"model_type": "gpt2")", "line 1, column 21: not JSON from here: "},
    {R"({"model_type": "gpt2", "a": [{"n": 1}, {"n": 2, "n": 3}]})",
     "line 1, column 49: the key 'n' is there twice in one object"},
    {R"({"model_type": "gpt2", "n_head": 7})", "n_embd is 768, which is no multiple of n_head, 7"},
    {R"({"model_type": "gpt2", "n_layer": 1000000000000000000})",
     "n_layer is 1000000000000000000: it should be a whole number of 1 to 2048"},
    {R"({"model_type": "gpt2", "n_embd": -768})", "n_embd is -768"},
    {R"({"model_type": "gpt2", "n_embd": 1.5})", "n_embd is 1.5"},
    {R"({"model_type": "gpt2", "n_embd": 1e300})", "n_embd is 1e+300"},
    {R"({"model_type": "gpt2", "n_embd": 18446744073709551615})", "n_embd is 184467"},
    {R"({"model_type": "gpt2", "activation_function": "warp"})", "is 'warp': known are gelu"},
    {R"({"model_type": "gpt2", "architectures": ["GPT2ForWeather"]})",
     "begins with 'GPT2ForWeather': known are GPT2LMHeadModel, GPT2Model"},
    {R"({"model_type": "clip", "text_config": 3})", "text_config should be an object"},
    {R"({"model_type": "clip", "vision_config": {"patch_size": 300}})",
     "vision_config.patch_size is larger than the image"},
    {R"({"model_type": "llama", "num_key_value_heads": 3})", "no multiple of num_key_value_heads"},
    {R"({"model_type": "mixtral", "num_experts_per_tok": 9})", "is 9 of 8 experts"},
    {R"({"model_type": "llama", "dtype": "int3"})", "dtype is 'int3'"},
    {R"({"model_type": "ernie4_5_moe", "moe_k": 65})", "moe_k is 65 of 64 experts"},
    {R"({"model_type": "qwen3_next", "layer_types": ["x"]})", "has 1 entries for 48 layers"},
    {R"({"model_type": "qwen3_next", "linear_num_value_heads": 20})",
     "linear_num_value_heads is 20, which is no multiple of linear_num_key_heads, 16"},
    {R"({"model_type": "lfm2_moe"})", "layer_types is missing"},
    {R"({"model_type": "lfm2", "block_ffn_dim_multiplier": 0})",
     "intermediate_size leaves no width of the MLP"},
    {R"({"model_type": "olmo_hybrid", "num_hidden_layers": 1, "layer_types": ["full_attention"]})",
     "layer_types should have a layer of either kind"},
    {R"({"model_type": "kimi_linear", "linear_attn_config": {"full_attn_layers": [1],
         "kda_layers": [1]}})",
     "linear_attn_config.kda_layers and full_attn_layers should have layer 1 once"},
    {R"({"model_type": "bitnet", "head_dim": 64})", "head_dim should be hidden_size by"},
    {R"({"model_type": "phimoe", "num_experts_per_tok": 3})", "is not 2, as the class needs"},
    {R"({"model_type": "codegen", "n_embd": 30, "n_head": 5, "rotary_dim": 2})",
     "n_embd is no multiple of 4"},
    {R"({"model_type": "xglm", "add_cross_attention": true})", "which is not known"},
    {R"({"model_type": "ernie4_5_moe", "moe_layer_end_index": -2})",
     "moe_layer_end_index is -2: it should be a whole number of -1 to"},
    {R"({"model_type": "dots1", "n_routed_experts": 8, "n_shared_experts": 1})",
     "num_experts_per_tok is missing"},
    {R"({"model_type": "minimax_m2", "rotary_dim": 130})",
     "rotary_dim is 130: it should be even, and at most 128"},
    {R"({"model_type": "phi", "rope_parameters": {"partial_rotary_factor": "x"}})",
     "rope_parameters.partial_rotary_factor should be a number above 0"},
    {R"({"model_type": "phi", "rope_parameters": 3})", "rope_parameters should be an object"},
    {R"({"model_type": "gpt_oss", "sliding_window": 2})", "is 2: known are 3 and more"},
    {R"({"model_type": "glm4_moe_lite", "mlp_layer_types": ["dense"]})",
     "mlp_layer_types has 1 entries for 47 layers"},
    {R"({"model_type": "glm4_moe_lite", "num_hidden_layers": 1, "mlp_layer_types": ["x"]})",
     "mlp_layer_types knows dense and sparse"},
    {R"({"model_type": "falcon", "num_ln_in_parallel_attn": 2})",
     "num_ln_in_parallel_attn is 2: known are 1 and, with new_decoder_architecture, 2"},
    {R"({"model_type": "falcon", "new_decoder_architecture": true, "parallel_attn": false})",
     "parallel_attn is false, which new_decoder_architecture does not allow"},
    {R"({"model_type": "gemma2", "layer_types": ["full_attention"]})", "1 entries for 26 layers"},
    {R"({"model_type": "llava", "text_config": {"model_type": "bert"}})",
     "it should be a decoder such as llama"},
    {R"({"model_type": "blip", "text_config": {"is_decoder": false}})",
     "text_config.is_decoder is false, and captions are written by a decoder"},
    {R"({"model_type": "wav2vec2", "conv_dim": [8, 8]})",
     "conv_dim should be as long as conv_stride and conv_kernel"},
    {R"({"model_type": "hubert", "feat_extract_norm": "batch"})",
     "feat_extract_norm should be group or layer"},
    {R"({"model_type": "modernbert", "num_hidden_layers": 1, "layer_types": ["x"]})",
     "layer_types knows full_attention and sliding_attention"},
    {R"({"model_type": "gptj", "rotary_dim": 300})", "rotary_dim should be even, and at most 256"},
    {R"({"model_type": "helium", "head_dim": 64})",
     "head_dim should be hidden_size by num_attention_heads"},
    {R"({"model_type": "hunyuan_v1_moe", "num_experts": 4, "num_experts_per_tok": 5})",
     "moe_topk is 5 of 4 experts"},
    {R"({"model_type": "olmo", "clip_qkv": 8.0})", "clip_qkv is not known"},
    {R"({"model_type": "electra", "is_decoder": true})", "is_decoder is not known"},
    {R"({"model_type": "albert", "num_hidden_groups": 13})",
     "num_hidden_groups should be at most num_hidden_layers"},
    {R"({"model_type": "albert", "inner_group_num": 200})", "more than 2048 layers would be run"},
    {R"({"model_type": "mpnet", "relative_attention_num_buckets": 31})", "should be 32 or more"},
    {R"({"model_type": "deberta-v2", "conv_kernel_size": 4})",
     "conv_kernel_size is even, which drops a token"},
    {R"({"model_type": "smolvlm", "scale_factor": 3})",
     "scale_factor should divide 7, the patches on a side of a tile"},
    {R"({"model_type": "falcon_h1", "mamba_d_head": 7})",
     "mamba_d_head is 7, and mamba_n_heads is 128: a mixer is 1024 wide"},
    {R"({"model_type": "bamba", "mamba_n_groups": 1000})", "which is no multiple of"},
    {R"({"model_type": "granitemoehybrid", "num_hidden_layers": 1, "layer_types": ["x"]})",
     "layer_types knows linear_attention and full_attention"},
    {R"({"model_type": "jamba", "attn_layer_offset": 8})",
     "attn_layer_offset should be below attn_layer_period"},
    {R"({"model_type": "jamba", "num_experts_per_tok": 17})", "is 17 of 16 experts"},
    {R"({"model_type": "nemotron_h", "hybrid_override_pattern": "MX"})",
     "hybrid_override_pattern is 'MX': known are M, *, - and E"},
    {R"({"model_type": "nemotron_h", "layers_block_type": []})", "has 0 layers"},
    {R"({"model_type": "zamba2", "num_hidden_layers": 3})",
     "num_hidden_layers is 3, and layers_block_type is of 54"},
    {R"({"model_type": "zamba2", "num_attention_heads": 12, "use_shared_attention_adapter": true})",
     "use_shared_attention_adapter needs keys as wide as twice the hidden size"},
    {R"({"model_type": "mamba", "expand": 1000000})", "expand makes a mixer 768000000 wide"},
    {R"({"model_type": "mamba2", "expand": 3})",
     "head_dim is 64, and num_heads is 128: a mixer is 12288 wide"},
    {R"({"model_type": "mamba2", "n_groups": 3})", "num_heads is 128, which is no multiple of"},
    {R"({"model_type": "mistral", "sliding_window": 2})", "is 2: known are 3 and more"},
    {R"({"embed_dim": 768, "text_cfg": {}, "vision_cfg": {"timm_model_name": "convnext_base",
         "timm_pool": "", "timm_proj": "none"}})",
     "vision_cfg.timm_proj is none, and the image is not embed_dim wide"},
    {R"({"embed_dim": 768, "text_cfg": {}, "vision_cfg": {"image_size": 256, "timm_pool": "map",
         "timm_proj": null, "timm_model_name": "vit_base_patch16_siglip_224"}})",
     "image_size is 256, and images of vit_base_patch16_siglip_224 have 224"},
    {R"({"embed_dim": 768, "text_cfg": {}, "vision_cfg": {"timm_pool": "rot_attn",
         "timm_proj": null, "timm_model_name": "eva_giant_patch14_224"}})",
     "timm_pool is 'rot_attn', which is not supported for eva_giant_patch14_224"},
    {R"({"embed_dim": 768, "vision_cfg": {}, "text_cfg": {"hf_model_name": "roberta-base",
         "context_length": 600}})",
     "context_length is 600, and roberta-base has positions for 512"},
    {R"({"embed_dim": 768, "vision_cfg": {}, "text_cfg": {}, "multimodal_cfg": {"width": 64}})",
     "multimodal_cfg.width is 64, and tokens of an image are 768 wide"},
    {R"({"model_type": "convnext", "num_stages": 3})", "num_stages is 3, and depths has 4"},
    {R"({"model_type": "convnext", "hidden_sizes": [8, 16]})", "has 2 entries for 4 stages"},
    {R"({"model_type": "swin", "window_size": 64})",
     "window_size is 64, and stage 1 has 56 x 56 places"},
    {R"({"model_type": "detr", "dilation": true})", "dilation is true, which is not known"},
    {R"({"model_type": "detr", "backbone": "resnet9"})", "backbone is 'resnet9': known are"},
    {R"({"model_type": "dpt", "is_hybrid": true})", "is_hybrid is true, which is not known"},
    {R"({"model_type": "llama4_text", "attention_chunk_size": 2})", "is 2: known are 3 and more"},
    {R"({"model_type": "llama4_text", "num_experts_per_tok": 17})", "is 17 of 16 experts"},
    {R"({"model_type": "llama4_vision_model"})",
     "intermediate_size is 5632, and 2 x 2 tokens of the tower are 3072 wide"},
    {R"({"model_type": "mllama", "vision_config": {"vision_output_dim": 7}})",
     "vision_config.vision_output_dim is 7, and what is joined is 7680 wide"},
    {R"({"model_type": "deepseek_v32", "q_lora_rank": null})", "the indexer needs it"},
    {R"({"model_type": "glm_moe_dsa", "num_hidden_layers": 2, "index_topk_pattern": "SF"})",
     "index_topk_pattern has no indexer before the first layer"},
    {R"({"model_type": "deepseek_v4", "compress_ratios": [128, 4, 8], "num_hidden_layers": 3})",
     "compress_ratios knows 0, 4 and 128"},
    {R"({"model_type": "deepseek_v4", "hc_sinkhorn_iters": 1000})",
     "hc_sinkhorn_iters is too large"},
    {R"({"model_type": "gemma3n_text", "activation_sparsity_pattern": [2.0]})",
     "should be a list of numbers of 0 to 1"},
    {R"({"model_type": "gemma3n_text", "num_kv_shared_layers": 31})",
     "num_kv_shared_layers leaves no layer of a kind that has keys and values"},
    {R"({"model_type": "gemma3n", "vision_config": {"architecture": "resnet50"}})",
     "vision_config.architecture is 'resnet50': of timm's towers, mobilenetv5_300m_enc and"},
    {R"({"model_type": "gemma3n", "vision_soft_tokens_per_image": 64})",
     "is 64, and the tower makes 256 of an image"},
    {R"({"model_type": "gemma3n_vision", "model_args": {"stem_size": 8}})",
     "model_args.stem_size is not known"},
    {R"({"model_type": "gemma3n_audio", "sscp_conv_stride_size": [[2, 2]]})",
     "sscp_conv_stride_size should be two pairs of numbers from 1 to 4096"},
    {R"({"model_type": "gemma4_text", "enable_moe_block": true})",
     "moe_intermediate_size is missing"},
    {R"({"model_type": "hiera", "image_size": [100, 100]})",
     "query_stride does not divide the patches of a stage"},
    {R"({"embed_dim": 768, "vision_cfg": {"eva_model_name": "x", "rope": true}, "text_cfg": {}})",
     "naiveswiglu should be as rope"},
};

TEST(FamilyErrorTest, NonsenseIsAnErrorThatNamesTheKey) {
  for (const auto& [json, error] : kNonsense) EXPECT_THAT(ErrorOf(json), HasSubstr(error)) << json;
}

TEST(FamilyErrorTest, ConfigurationsOfOpenClipThatAreNotSupportedAreNamed) {
  std::ifstream stream(ONNXFLOPS_SOURCE_DIR "/tests/data/config/open_clip.json");
  const Json truth = Json::parse(stream);
  EXPECT_EQ(truth["models"].size(), 115);
  EXPECT_EQ(truth["unsupported"].size(), 29);
  for (const auto& [name, model] : truth["unsupported"].items()) {
    EXPECT_THAT(ErrorOf(model["config"].dump()), HasSubstr(model["error"])) << name;
  }
}

TEST(FamilyErrorTest, SizesOfTheFileAreLimited) {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += R"({"a":)";
  EXPECT_THAT(ErrorOf(deep), HasSubstr("config-nesting"));
  EXPECT_THAT(ErrorOf(std::string(kMaxConfigBytes + 1, ' ')), HasSubstr("config-bytes"));
}

TEST(FamilyTest, DefaultsAreListed) {
  const absl::StatusOr<Model> model = LoadConfig(R"({"model_type": "gpt2", "n_layer": 1})", "c");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT((*model)->warnings, testing::ElementsAre(testing::AllOf(
                                      HasSubstr("n_embd = 768"), HasSubstr("vocab_size = 50257"),
                                      testing::Not(HasSubstr("n_layer")))));
}

// transformers' class runs all experts on all tokens.
TEST(FamilyTest, ATokenOfLlama4CostsTheExpertsThatItIsRoutedTo) {
  const char* json = R"({"model_type": "llama4_text", "num_hidden_layers": 1})";
  const absl::StatusOr<Model> model = LoadConfig(json, "c");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT((*model)->warnings,
              testing::Contains(HasSubstr("a token costs 1 of 16 experts, and the shared one")));
}

TEST(FamilyTest, AKeyThatIsNearlyAnotherIsNamed) {
  const absl::StatusOr<Model> model = LoadConfig(R"({"model_type": "gpt2", "n_layers": 1})", "c");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT((*model)->warnings, testing::Contains("n_layers is not read: the key is n_layer"));
}

// A key is a text of the file: it is printed as one, whatever bytes it has.
TEST(FamilyTest, AKeyThatIsNearlyAnotherIsPrintable) {
  const absl::StatusOr<Model> model =
      LoadConfig(R"({"model_type": "gpt2", "n_lay\u007fr": 1})", "c");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT((*model)->warnings,
              testing::Contains(R"(n_lay\x7fr is not read: the key is n_layer)"));
}

// As PretrainedConfig.attribute_map has it: GPT2Config(n_embd=96, hidden_size=64).n_embd is 64.
TEST(FamilyTest, OtherNamesOfKeysAreTheSame) {
  const struct {
    const char *other, *native;
  } cases[] = {
      {R"({"model_type": "gpt2", "hidden_size": 64, "n_embd": 96, "num_attention_heads": 4,
           "num_hidden_layers": 2, "max_position_embeddings": 80})",
       R"({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 80})"},
      {R"({"model_type": "gptj", "hidden_size": 64, "num_attention_heads": 4, "rotary_dim": 8,
           "num_hidden_layers": 2, "max_position_embeddings": 80})",
       R"({"model_type": "gptj", "n_embd": 64, "n_head": 4, "rotary_dim": 8, "n_layer": 2,
           "n_positions": 80})"},
      {R"({"model_type": "distilbert", "hidden_size": 64, "num_attention_heads": 4,
           "num_hidden_layers": 3})",
       R"({"model_type": "distilbert", "dim": 64, "n_heads": 4, "n_layers": 3})"},
      {R"({"model_type": "t5", "hidden_size": 64, "num_attention_heads": 4, "head_dim": 8,
           "num_hidden_layers": 3})",
       R"({"model_type": "t5", "d_model": 64, "num_heads": 4, "d_kv": 8, "num_layers": 3})"},
      {R"({"model_type": "bloom", "n_embed": 48, "hidden_size": 96, "num_attention_heads": 4,
           "num_hidden_layers": 3})",
       R"({"model_type": "bloom", "hidden_size": 48, "n_head": 4, "n_layer": 3, "n_embed": null})"},
      {R"({"model_type": "falcon", "n_embed": 48, "num_attention_heads": 4,
           "num_hidden_layers": 1})",
       R"({"model_type": "falcon", "hidden_size": 48, "num_attention_heads": 4,
           "num_hidden_layers": 1})"},
      {R"({"model_type": "ernie4_5_moe", "num_hidden_layers": 2, "num_experts": 6,
           "num_experts_per_tok": 3})",
       R"({"model_type": "ernie4_5_moe", "num_hidden_layers": 2, "moe_num_experts": 6,
           "moe_k": 3})"},
      {R"({"model_type": "gpt_oss", "num_hidden_layers": 1, "num_experts": 7})",
       R"({"model_type": "gpt_oss", "num_hidden_layers": 1, "num_local_experts": 7})"},
      {R"({"model_type": "granitemoehybrid", "num_hidden_layers": 2,
           "layers_block_type": ["attention", "mamba"]})",
       R"({"model_type": "granitemoehybrid", "num_hidden_layers": 2,
           "layer_types": ["full_attention", "linear_attention"]})"},
      {R"({"model_type": "nemotron_h", "layer_types": ["mamba", "moe"], "mamba_n_groups": 4,
           "mamba_d_conv": 3, "mamba_chunk_size": 7, "num_local_experts": 5})",
       R"({"model_type": "nemotron_h", "hybrid_override_pattern": "ME", "n_groups": 4,
           "conv_kernel": 3, "chunk_size": 7, "n_routed_experts": 5})"},
      {R"({"model_type": "minimax_m2", "num_hidden_layers": 1, "num_experts": 9})",
       R"({"model_type": "minimax_m2", "num_hidden_layers": 1, "num_local_experts": 9})"},
  };
  for (const auto& c : cases) {
    const absl::StatusOr<Model> other = LoadConfig(c.other, "other.json", std::nullopt);
    const absl::StatusOr<Model> native = LoadConfig(c.native, "native.json", std::nullopt);
    ASSERT_TRUE(other.ok() && native.ok()) << other.status() << native.status();
    const Totals a = Count(*other)->totals, b = Count(*native)->totals;
    EXPECT_EQ(a.params, b.params) << c.other;
    EXPECT_EQ(a.macs, b.macs) << c.other;
  }
}

TEST(FamilyTest, WeightsHaveTheTypeOfTheConfiguration) {
  const absl::StatusOr<Model> model = LoadConfig(
      R"({"model_type": "qwen3", "num_hidden_layers": 1, "torch_dtype": "bfloat16"})", "c");
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Report> report = Count(*model, {.bindings = {{"batch", 1}, {"seq", 4}}});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.param_bytes.literal(), 2 * report->totals.params.literal());
  EXPECT_FALSE(report->totals.lower_bound);
}

TEST(FamilyTest, TheFoundingFormulaIsExactToTheDigit) {
  // The configurations of the three founding models, as far as the formula reads them.
  const std::pair<const char*, int64_t> kModels[] = {
      {R"({"embed_dim": 768, "vision_cfg": {"image_size": 336, "layers": 24, "width": 1024,
           "patch_size": 14}, "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 768,
           "heads": 12, "layers": 12}})",
       514129858560},
      {R"({"model_type": "clip", "projection_dim": 1024, "text_config": {"hidden_size": 1024,
           "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16},
           "vision_config": {"hidden_size": 1280, "intermediate_size": 5120, "patch_size": 14,
           "image_size": 224, "num_hidden_layers": 32, "num_attention_heads": 16}})",
       502825582592},
      {R"({"embed_dim": 1024, "vision_cfg": {"image_size": 224, "layers": 64, "width": 1792,
           "head_width": 112, "mlp_ratio": 8.571428571428571, "patch_size": 14,
           "eva_model_name": "eva-clip-4b-14-x", "xattn": true, "postnorm": true}, "text_cfg":
           {"context_length": 77, "vocab_size": 49408, "width": 1024, "heads": 16,
           "layers": 24}})",
       3704566497280},
  };
  for (const auto& [json, operations] : kModels) {
    const absl::StatusOr<Model> model = LoadConfig(json, "config.json");
    ASSERT_TRUE(model.ok()) << model.status();
    CountOptions options;
    options.bindings["batch"] = 1;
    if (absl::StrContains(json, "model_type")) options.bindings["seq"] = 77;
    const absl::StatusOr<Report> report = CountAs(*model, options, "config-clip");
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->tool->headline.literal(), absl::int128(operations));
  }
}

// open_clip's docs/model_profile.csv: millions of parameters; GFLOPs of both towers, of the image
// and of the text. What it calls FLOPs are 2 x MACs.
TEST(FamilyTest, OpenClipsPublishedFiguresToTheLastDigit) {
  const std::tuple<const char*, double, double, double, double> kRows[] = {
      {"ViT-B-32", 151.28, 14.78, 8.82, 5.96},
      {"ViT-L-14-336", 427.94, 395.22, 381.92, 13.3},
      {"ViT-H-14", 986.11, 381.68, 334.59, 47.09}};
  for (const auto& [name, params, both, image, text] : kRows) {
    const absl::StatusOr<Model> model = LoadConfig(Models().at(name)["config"].dump(), name);
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::StatusOr<Report> report = Count(*model, {.bindings = {{"batch", 1}}});
    ASSERT_TRUE(report.ok()) << report.status();
    const auto all = static_cast<double>(report->totals.macs.literal());
    const auto visual = static_cast<double>(MacsOf(*report, "visual"));
    EXPECT_NEAR(static_cast<double>(report->totals.params.literal()) / 1e6, params, 0.005) << name;
    EXPECT_NEAR(2 * all / 1e9, both, 0.005) << name;
    EXPECT_NEAR(2 * visual / 1e9, image, 0.005) << name;
    EXPECT_NEAR(2 * (all - visual) / 1e9, text, 0.005) << name;
  }
}

// Steps of decoding that are graphs of their own: without the encoder, or the tower of images.
TEST(FamilyTest, StepsOfDecodingAreThoseOfTheReference) {
  std::ifstream stream(ONNXFLOPS_SOURCE_DIR "/tests/data/config/steps.json");
  const Json steps = Json::parse(stream)["steps"];
  EXPECT_EQ(steps.size(), 16U);
  for (const Json& row : steps) {
    SCOPED_TRACE(row);
    const auto model = LoadConfig(Models().at(row["model"])["config"].dump(), "c");
    ASSERT_TRUE(model.ok()) << model.status();
    ServingRequest request;
    request.decode = {row["tokens"].get<int64_t>(), row["past"].get<int64_t>()};
    const auto report = CountServing(*model, {.bindings = DimsOf(row["dims"])}, request);
    ASSERT_TRUE(report.ok()) << report.status();
    const ServingColumn& column = report->columns[0];
    EXPECT_EQ(2 * column.totals.macs.literal(), row["flops"].get<int64_t>());
    EXPECT_EQ(column.cache_bytes, Expr(row["cache_bytes"].get<int64_t>()));
    EXPECT_EQ(column.cache_bytes, *column.traffic.cache_read + *column.traffic.cache_written);
  }
}

// An image of 336 x 336 pixels is 24 x 24 patches of 14 x 14: 576 positions beside 100 of text.
TEST(FamilyTest, ThePositionsOfAPromptIncludeItsImage) {
  const auto model = LoadConfig(
      R"({"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"],
          "image_token_index": 40,
          "text_config": {"model_type": "llama", "hidden_size": 16, "intermediate_size": 32,
                          "num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 50},
          "vision_config": {"model_type": "clip_vision_model", "hidden_size": 16,
                            "intermediate_size": 32, "num_attention_heads": 2,
                            "num_hidden_layers": 2, "image_size": 336, "patch_size": 14}})",
      "llava.json");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto report =
      CountServing(*model, {.bindings = {{"batch", 2}}}, {.prefill = 100, .decode = {{1, 676}}});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->columns[0].positions, Expr(676));
  EXPECT_EQ(report->columns[0].cache_bytes, report->columns[1].traffic.cache_read);
  EXPECT_EQ(report->columns[1].positions, std::nullopt);
}

// By hand: keys and values of 6 layers x 512 features x 4 bytes, for 1024 tokens of the encoder and
// those of the decoder, of each of 100 sequences. The prompt writes them all.
TEST(FamilyTest, TheCacheHoldsKeysAndValuesOfTheEncoder) {
  const auto model = LoadConfig(
      R"({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 512,
          "d_ff": 2048, "d_kv": 64, "num_layers": 6, "num_heads": 8, "vocab_size": 32128})",
      "t5.json");
  ASSERT_TRUE(model.ok()) << model.status();
  CountOptions options = {.bindings = {{"batch", 100}, {"seq", 1024}}};
  options.memory.emplace();
  const auto report = CountServing(*model, options, {.prefill = 20, .decode = {{1, 20}}});
  ASSERT_TRUE(report.ok()) << report.status();
  const int64_t of_token = int64_t{2} * 6 * 512 * 4 * 100;
  const ServingColumn& prefill = report->columns[0];
  EXPECT_EQ(prefill.cache_bytes, Expr(of_token * (1024 + 20)));
  EXPECT_EQ(prefill.traffic.cache_read, Expr(0));
  EXPECT_EQ(prefill.traffic.cache_written, prefill.cache_bytes);
  const ServingColumn& decode = report->columns[1];
  EXPECT_EQ(decode.cache_bytes, Expr(of_token * (1024 + 21)));
  EXPECT_EQ(decode.traffic.cache_read, Expr(of_token * (1024 + 20)));
  EXPECT_EQ(decode.traffic.cache_written, Expr(of_token));
  for (const ServingColumn& column : report->columns) {
    EXPECT_EQ(column.memory->cache, column.cache_bytes) << column.name;
  }
}

// By hand: a mixer's convolution is of 8 features, with 4 tokens of each in the cache, and its
// state has 3 numbers for each feature.
TEST(FamilyTest, TheStatesOfAMixerDoNotGrow) {
  const auto model = LoadConfig(R"({"model_type": "mamba", "hidden_size": 4, "state_size": 3,
                                    "num_hidden_layers": 2, "vocab_size": 10})",
                                "mamba.json");
  ASSERT_TRUE(model.ok()) << model.status();
  const CountOptions options = {.bindings = {{"batch", 5}}};
  const auto report = CountServing(*model, options, {.prefill = 20, .decode = {{1, 20}}});
  ASSERT_TRUE(report.ok()) << report.status();
  const Expr bytes(int64_t{5} * 2 * 8 * (4 + 3) * 4);
  EXPECT_EQ(report->cache_bytes_per_token, Expr(0));
  const ServingColumn &prefill = report->columns[0], &decode = report->columns[1];
  EXPECT_EQ(prefill.cache_bytes, bytes);
  EXPECT_EQ(prefill.traffic.cache_read, Expr(0));
  EXPECT_EQ(prefill.traffic.cache_written, bytes);
  EXPECT_EQ(decode.cache_bytes, bytes);
  EXPECT_EQ(decode.traffic.cache_read, bytes);
  EXPECT_EQ(decode.traffic.cache_written, bytes);
  const auto two = CountServing(*model, options, {.decode = {{2, 20}}});
  EXPECT_THAT(two.status().message(), HasSubstr("has one token, so 2 at once"));
}

// A layer with a window attends to the window alone, and keeps no more of it than the next token
// sees.
// Work without products, by hand: 10 tokens, 16 features, 4 layers, a vocabulary of 50; of the 16
// features of queries and 8 of keys a rotation makes two products and a sum each.
TEST(FamilyTest, OtherWorkOfFamiliesLikeLlama) {
  const auto others = [](const char* type, const char* root) {
    const std::string json = absl::StrCat(
        R"({"vocab_size": 50, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 4,
            "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8,
            "tie_word_embeddings": false, "model_type": ")",
        type, R"(", "architectures": [")", root, "\"]}");
    const Report report =
        Count(*LoadConfig(json, "c.json"), {.bindings = {{"batch", 2}, {"seq", 5}, {"past", 0}}})
            .value();
    return report.totals.other_flops.literal();
  };
  const absl::int128 llama = others("llama", "LlamaForCausalLM");
  EXPECT_EQ(others("granite", "GraniteForCausalLM") - llama, 10 * (16 + 2 * 4 * 16 + 50));
  EXPECT_EQ(others("smollm3", "SmolLM3ForCausalLM") - llama, -10 * 3 * (16 + 8));
  EXPECT_EQ(others("ministral3", "Ministral3ForCausalLM") - llama, 10 * 4 * 16);
  // A row of 16 takes an RMSNorm 67 FLOPs and a LayerNorm without bias 102. A layer has one of
  // these, and the logits are scaled.
  EXPECT_EQ(others("cohere", "CohereForCausalLM") - llama, 10 * (5 * 102 - 9 * 67 + 50));
}

// As transformers has it: rope_parameters, then the key of the file, then rotary_dim. By hand: a
// token of one layer rotates two heads of queries and one of keys, with two products and a sum for
// each feature; an angle takes a product, a sine and a cosine for every two features.
TEST(FamilyTest, TheRotatedPartOfAHead) {
  const auto others = [](const char* type, const std::string& keys) {
    const std::string json = absl::StrCat(
        R"({"vocab_size": 50, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1,
            "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16, "model_type": ")",
        type, "\"", keys, "}");
    const absl::StatusOr<Model> model = LoadConfig(json, "c.json");
    EXPECT_TRUE(model.ok()) << model.status();
    const Report report =
        Count(*model, {.bindings = {{"batch", 1}, {"seq", 1}, {"past", 0}}}).value();
    return report.totals.other_flops.literal();
  };
  const auto of_features = [](int n) { return 3 * 3 * n + 3 * n / 2; };
  const std::string half = R"(, "rope_parameters": {"partial_rotary_factor": 0.5})";
  const std::string eighth = R"(, "partial_rotary_factor": 0.125)";
  for (const char* type : {"phi3", "stablelm", "nemotron", "minimax_m2"}) {
    const absl::int128 least = others(type, eighth) - of_features(2);
    EXPECT_EQ(others(type, half) - least, of_features(8)) << type;
    EXPECT_EQ(others(type, half + eighth) - least, of_features(8)) << type;
  }
  const absl::int128 least = others("minimax_m2", eighth) - of_features(2);
  const std::string four = R"(, "rotary_dim": 4)";
  EXPECT_EQ(others("minimax_m2", four) - least, of_features(4));
  EXPECT_EQ(others("minimax_m2", four + half) - least, of_features(8));
  EXPECT_EQ(others("minimax_m2", four + eighth) - least, of_features(2));
  EXPECT_EQ(others("minimax_m2", "") - least, of_features(16));
}

TEST(FamilyTest, StepsAndCachesOfDrawnDecodersAreThoseOfTheReference) {
  int steps = 0;
  for (const auto& [name, truth] : Models()) {
    for (const Json& point : truth["points"]) {
      if (!point.contains("cache_bytes")) continue;
      SCOPED_TRACE(absl::StrCat(name, " ", point["dims"].dump()));
      const absl::StatusOr<Model> model = LoadConfig(truth["config"].dump(), name);
      ASSERT_TRUE(model.ok()) << model.status();
      Bindings sizes = DimsOf(point["dims"]);
      ServingRequest request;
      request.decode = {sizes["seq"], sizes["past"]};
      const auto report = CountServing(*model, {.bindings = {{"batch", sizes["batch"]}}}, request);
      ASSERT_TRUE(report.ok()) << report.status();
      const ServingColumn& column = report->columns[0];
      EXPECT_EQ(2 * column.totals.macs.literal(), point["flops"].get<int64_t>());
      EXPECT_EQ(column.cache_bytes->literal(), point["cache_bytes"].get<int64_t>());
      ++steps;
    }
  }
  EXPECT_EQ(steps, 44 * 3 * 5 + 224);  // drawn.json, and the other files
}

TEST(FamilyTest, TheDecodersLengthIsTheTextsWhereOnlyThatIsSet) {
  int points = 0;
  for (const auto& [name, truth] : Models()) {
    for (const Json& point : truth["points"]) {
      Bindings sizes = DimsOf(point["dims"]);
      if (!sizes.contains("decoder_seq") || sizes["decoder_seq"] != sizes["seq"]) continue;
      sizes.erase("decoder_seq");
      const absl::StatusOr<Model> model = LoadConfig(truth["config"].dump(), name);
      ASSERT_TRUE(model.ok()) << model.status();
      const absl::StatusOr<Report> report = Count(*model, {.bindings = sizes});
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_EQ(2 * report->totals.macs.literal(), point["flops"].get<int64_t>()) << name;
      ++points;
    }
  }
  EXPECT_GE(points, 2);
}

TEST(FamilyTest, ImagesAreCutIntoTilesAsTransformersDoes) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/config/vision.json");
  const Json truth = Json::parse(file);
  int images = 0;
  for (const auto& [name, rows] : truth["images"].items()) {
    const absl::StatusOr<Model> model = LoadConfig(truth["models"][name]["config"].dump(), name);
    ASSERT_TRUE(model.ok()) << model.status();
    for (const Json& row : rows) {
      const auto sizes = SizesOfImage(**model, row["image"][0], row["image"][1]);
      ASSERT_EQ(sizes.size(), 3);
      for (const auto& [symbol, size] : sizes) EXPECT_EQ(size, row[symbol]) << row << symbol;
      ++images;
    }
  }
  EXPECT_EQ(images, 300);
}

// A cache of LLaVA's prompt holds the patches of the image as well: 16, and the class token.
TEST(FamilyTest, TokensOfAnImageAreInTheCache) {
  const Json& config = Models().at("llava-full")["config"];
  const absl::StatusOr<Model> model = LoadConfig(config.dump(), "c");
  ASSERT_TRUE(model.ok()) << model.status();
  ServingRequest request;
  request.prefill = 10;
  request.decode = {1, 27};
  const auto report = CountServing(*model, {.bindings = {{"batch", 1}}}, request);
  ASSERT_TRUE(report.ok()) << report.status();
  const absl::int128 per_token = report->cache_bytes_per_token->literal();
  EXPECT_EQ(report->columns[0].cache_bytes->literal(), 27 * per_token);
  EXPECT_EQ(report->columns[1].cache_bytes->literal(), 28 * per_token);
}

TEST(FamilyTest, EvaIsTheSameTowerInEvaClipsOwnWords) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/config/clip-family/EVA02-E-14.json");
  const absl::StatusOr<Model> model = LoadConfig(Json::parse(file).dump(), "config.json");
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Report> report = Count(*model, {.bindings = {{"batch", 1}}});
  ASSERT_TRUE(report.ok()) << report.status();
  const Json& truth = Models().at("EVA02-E-14");
  EXPECT_EQ(2 * report->totals.macs.literal(), truth["points"][0]["flops"].get<int64_t>());
  EXPECT_EQ(report->totals.params.literal(), truth["parameters"].get<int64_t>());
}

// ---- mutated configurations

// Each key, of objects inside as well: "text_config/hidden_size".
std::vector<Json::json_pointer> KeysOf(const Json& config) {
  std::vector<Json::json_pointer> keys;
  const Json flat = config.flatten();
  for (const auto& [path, value] : flat.items()) keys.emplace_back(path);
  return keys;
}

// A model that is as deep as it needs to be, so that a thousand of them take no time.
Json Shallow(Json config) {
  for (const Json::json_pointer& key : KeysOf(config)) {
    const bool layers = absl::StrContains(key.back(), "layer") && config[key].is_number_integer();
    if (layers && config[key] > 2) config[key] = 2;
  }
  return config;
}

// What a configuration says: MACs and parameters, and what was assumed. None for an error.
struct Figures {
  std::string amounts, warnings;
};
std::optional<Figures> FiguresOf(const Json& config) {
  const absl::StatusOr<Model> model = LoadConfig(config.dump(), "c.json");
  if (!model.ok()) {
    EXPECT_FALSE(model.status().message().empty());
    return std::nullopt;
  }
  const absl::StatusOr<Report> report = Count(*model, {});
  if (!report.ok()) return std::nullopt;  // a limit
  EXPECT_EQ(report->coverage.unknown, 0) << config;
  EXPECT_FALSE(report->totals.macs.ToString() == "0") << config;
  const Totals& totals = report->totals;
  return Figures{absl::StrCat(totals.macs.ToString(), "; ", totals.params.ToString()),
                 absl::StrJoin((*model)->warnings, "; ")};
}

// Without a key, the figures are the same, or the report lists what stands in its place.
void ExpectDefaultIsListed(const Json& config, const Json::json_pointer& key,
                           const std::optional<Figures>& whole) {
  Json mutant = config;
  mutant[key.parent_pointer()].erase(key.back());
  const std::optional<Figures> figures = FiguresOf(mutant);
  if (!figures || !whole || figures->amounts == whole->amounts) return;
  const std::string listed = absl::StrReplaceAll(key.to_string().substr(1), {{"/", "."}});
  EXPECT_THAT(figures->warnings, HasSubstr(listed + " = ")) << config;
}

TEST(FamilyMutationTest, AThousandMutatedConfigurationsAreCountedOrRefused) {
  const Json kValues[] = {0,   -1,   1,   3,  int64_t{1} << 40, UINT64_MAX,    1e300,
                          "x", true, 1.5, 64, Json(nullptr),    Json::array(), Json::object()};
  size_t mutants = 0;
  Sample sample;
  std::set<std::string> seen;  // keys of each family
  for (const auto& [name, model] : Models()) {
    const Json config = Shallow(model["config"]);
    std::optional<Figures> whole;
    bool counted = false;
    for (const Json::json_pointer& key : KeysOf(config)) {
      if (!seen.insert(config.value("model_type", "") + key.to_string()).second) continue;
      if (!sample.Next()) continue;
      for (int i = 0; i < 2; ++i) {
        Json mutant = config;
        mutant[key] = kValues[mutants++ % std::size(kValues)];
        FiguresOf(mutant);
      }
      if (!config[key.parent_pointer()].is_object()) continue;
      if (!std::exchange(counted, true)) whole = FiguresOf(config);
      ExpectDefaultIsListed(config, key, whole);
      ++mutants;
    }
  }
  EXPECT_GE(mutants, Sample::IsAll() ? 1000U : 100U);
}

}  // namespace
}  // namespace onnxflops::family_test
