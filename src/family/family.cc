// How it works. A configuration is built into the bytes of an ONNX model, which are then loaded
// like any other file. So no later stage knows where a model came from. open_clip's files are
// recognised by their keys, all others by model_type: first in the table of decoders
// (decoder_families.cc), then in kFamilies here. Keys that have a second name are copied to their
// first name before a family reads them. What the family knows but a graph cannot hold is written
// as metadata of the model: sizes to assume for open symbols, the longest sequence, and the
// configuration itself.
//
// Most decoders have one graph for prompts and for steps, with a past that may be empty. If a
// decoding step needs another graph (T5, Whisper, LLaVA), the family builds it on demand, from the
// configuration in the metadata.
#include "src/family/family.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "src/base/json_reader.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/family/builders.h"
#include "src/family/config.h"
#include "src/family/decoder_families.h"
#include "src/family/graph_builder.h"
#include "src/load/load_file.h"

namespace onnxflops {
namespace family {
namespace {

struct Family {
  absl::string_view model_type;
  absl::StatusOr<std::string> (*build)(const Config& config);
  bool own_step = false;   // a decoding step has a separate graph
  bool own_tower = false;  // so has what images or audio run through before it
};

// Families that are not rows of decoder_families.cc.
constexpr Family kFamilies[] = {
    {"albert", BuildAlbert},
    {"bamba", BuildBamba, true},
    {"bart", BuildBart, true},
    {"beit", BuildBeit},
    {"bert", BuildBert},
    {"biogpt", BuildBioGpt},
    {"blenderbot", BuildBlenderbot, true},
    {"blenderbot-small", BuildBlenderbotSmall, true},
    {"blip", BuildBlip},
    {"blip_text_model", BuildBlipTextModel},
    {"blip_vision_model", BuildBlipVisionModel},
    {"bloom", BuildBloom},
    {"camembert", BuildCamembert},
    {"chinese_clip", BuildChineseClip},
    {"clip", BuildClip},
    {"clip_text_model", BuildClipText},
    {"clip_vision_model", BuildClipVisionModel},
    {"clipseg", BuildClipSeg},
    {"codegen", BuildCodeGen},
    {"convnext", BuildConvnext},
    {"convnextv2", BuildConvnextV2},
    {"data2vec-audio", BuildData2VecAudio},
    {"deberta-v2", BuildDebertaV2},
    {"deepseek_v4", BuildDeepseekV4},
    {"deit", BuildDeit},
    {"detr", BuildDetr},
    {"dinov2", BuildDinov2},
    {"dinov2_with_registers", BuildDinov2WithRegisters},
    {"dinov3_convnext", BuildDinov3Convnext},
    {"dinov3_vit", BuildDinov3Vit},
    {"distilbert", BuildDistilbert},
    {"dpt", BuildDpt},
    {"efficientnet", BuildEfficientNet},
    {"electra", BuildElectra},
    {"ernie", BuildErnie},
    {"falcon", BuildFalcon},
    {"falcon_h1", BuildFalconH1, true},
    {"gemma3", BuildGemma3, true, true},
    {"gemma3n", BuildGemma3n, true, true},
    {"gemma3n_audio", BuildGemma3nAudioEncoder},
    {"gemma3n_text", BuildGemma3nText},
    {"gemma3n_vision", BuildGemma3nVision},
    {"gemma4", BuildGemma4, true, true},
    {"gemma4_text", BuildGemma4Text},
    {"gemma4_vision", BuildGemma4VisionModel},
    {"gpt2", BuildGpt2},
    {"gpt_bigcode", BuildGptBigCode},
    {"gpt_neo", BuildGptNeo},
    {"gpt_neox", BuildGptNeox},
    {"gptj", BuildGptj},
    {"granitemoehybrid", BuildGraniteMoeHybrid, true},
    {"hiera", BuildHiera},
    {"hubert", BuildHubert},
    {"idefics3", BuildIdefics3, true, true},
    {"ijepa", BuildIjepa},
    {"internvl", BuildInternVl, true, true},
    {"jamba", BuildJamba, true},
    {"layoutlm", BuildLayoutLm},
    {"llama4", BuildLlama4, true, true},
    {"llama4_vision_model", BuildLlama4VisionModel},
    {"llava", BuildLlava, true, true},
    {"llava_next", BuildLlavaNext, true, true},
    {"m2m_100", BuildM2m100, true},
    {"mamba", BuildMamba, true},
    {"mamba2", BuildMamba2, true},
    {"marian", BuildMarian, true},
    {"mbart", BuildMbart, true},
    {"mistral3", BuildMistral3, true, true},
    {"mllama", BuildMllama, true, true},
    {"mobilebert", BuildMobileBert},
    {"mobilenet_v1", BuildMobileNetV1},
    {"mobilenet_v2", BuildMobileNetV2},
    {"mobilevit", BuildMobileVit},
    {"modernbert", BuildModernBert},
    {"mpnet", BuildMpnet},
    {"mpt", BuildMpt},
    {"mt5", BuildMt5, true},
    {"nemotron_h", BuildNemotronH, true},
    {"openai-gpt", BuildOpenAiGpt},
    {"opt", BuildOpt},
    {"owlv2", BuildOwlV2},
    {"owlvit", BuildOwlVit},
    {"pegasus", BuildPegasus, true},
    {"persimmon", BuildPersimmon},
    {"pixtral", BuildPixtralVisionModel},
    {"plbart", BuildPlbart, true},
    {"poolformer", BuildPoolFormer},
    {"qwen2_5_vl", BuildQwen25Vl, true, true},
    {"qwen2_vl", BuildQwen2Vl, true, true},
    {"qwen3_5", BuildQwen35, true, true},
    {"qwen3_5_moe", BuildQwen35Moe, true, true},
    {"qwen3_vl", BuildQwen3Vl, true, true},
    {"qwen3_vl_moe", BuildQwen3VlMoe, true, true},
    {"regnet", BuildRegNet},
    {"rembert", BuildRemBert},
    {"resnet", BuildResnet},
    {"roberta", BuildRoberta},
    {"roberta-prelayernorm", BuildRobertaPreLayerNorm},
    {"rt_detr", BuildRtDetr},
    {"rt_detr_v2", BuildRtDetrV2},
    {"sam", BuildSam},
    {"sam2", BuildSam2},
    {"sam2_hiera_det_model", BuildSam2HieraDetModel},
    {"sam2_vision_model", BuildSam2VisionModel},
    {"sam_vision_model", BuildSamVisionModel},
    {"segformer", BuildSegformer},
    {"siglip", BuildSiglip},
    {"siglip2", BuildSiglip2},
    {"siglip2_text_model", BuildSiglip2TextModel},
    {"siglip2_vision_model", BuildSiglip2VisionModel},
    {"siglip_text_model", BuildSiglipTextModel},
    {"siglip_vision_model", BuildSiglipVisionModel},
    {"smolvlm", BuildSmolVlm, true, true},
    {"squeezebert", BuildSqueezeBert},
    {"swin", BuildSwin},
    {"swinv2", BuildSwinV2},
    {"t5", BuildT5, true},
    {"unispeech", BuildUniSpeech},
    {"unispeech-sat", BuildUniSpeechSat},
    {"vit", BuildVit},
    {"vit_mae", BuildVitMae},
    {"vit_msn", BuildVitMsn},
    {"vitpose", BuildVitPose},
    {"wav2vec2", BuildWav2Vec2},
    {"wavlm", BuildWavLm},
    {"whisper", BuildWhisper, true, true},
    {"xglm", BuildXglm},
    {"xlm-roberta", BuildXlmRoberta},
    {"xlm-roberta-xl", BuildXlmRobertaXl},
    {"yolos", BuildYolos},
    {"zamba2", BuildZamba2, true},
};

// Other names of keys, which configuration classes take for the same (transformers: attribute_map).
// Where both are there, these win.
struct OtherName {
  absl::string_view model_type, name;
  const char* key;
};
constexpr OtherName kOtherNames[] = {
    {"bart", "hidden_size", "d_model"},
    {"bart", "num_attention_heads", "encoder_attention_heads"},
    {"bart", "num_hidden_layers", "encoder_layers"},
    {"blenderbot", "hidden_size", "d_model"},
    {"blenderbot", "num_attention_heads", "encoder_attention_heads"},
    {"blenderbot", "num_hidden_layers", "encoder_layers"},
    {"blenderbot-small", "hidden_size", "d_model"},
    {"blenderbot-small", "num_attention_heads", "encoder_attention_heads"},
    {"blenderbot-small", "num_hidden_layers", "encoder_layers"},
    {"bloom", "n_embed", "hidden_size"},
    {"bloom", "num_attention_heads", "n_head"},
    {"bloom", "num_hidden_layers", "n_layer"},
    {"codegen", "hidden_size", "n_embd"},
    {"codegen", "max_position_embeddings", "n_positions"},
    {"codegen", "num_attention_heads", "n_head"},
    {"codegen", "num_hidden_layers", "n_layer"},
    {"convnext", "num_hidden_layers", "num_stages"},
    {"convnextv2", "num_hidden_layers", "num_stages"},
    {"deepseek_v2", "num_experts", "n_routed_experts"},
    {"deepseek_v3", "num_local_experts", "n_routed_experts"},
    {"deepseek_v32", "num_experts", "n_routed_experts"},
    {"deepseek_v32", "num_local_experts", "n_routed_experts"},
    {"deepseek_v4", "intermediate_size", "moe_intermediate_size"},
    {"deepseek_v4", "num_local_experts", "n_routed_experts"},
    {"detr", "hidden_size", "d_model"},
    {"detr", "num_attention_heads", "encoder_attention_heads"},
    {"detr", "num_hidden_layers", "encoder_layers"},
    {"distilbert", "hidden_size", "dim"},
    {"distilbert", "num_attention_heads", "n_heads"},
    {"distilbert", "num_hidden_layers", "n_layers"},
    {"dots1", "num_local_experts", "n_routed_experts"},
    {"ernie4_5_moe", "num_experts", "moe_num_experts"},
    {"ernie4_5_moe", "num_experts_per_tok", "moe_k"},
    {"falcon", "n_embed", "hidden_size"},
    {"flex_olmo", "num_local_experts", "num_experts"},
    {"glm4_moe", "num_local_experts", "n_routed_experts"},
    {"glm4_moe_lite", "head_dim", "qk_rope_head_dim"},
    {"glm4_moe_lite", "num_local_experts", "n_routed_experts"},
    {"glm_moe_dsa", "num_experts", "n_routed_experts"},
    {"glm_moe_dsa", "num_local_experts", "n_routed_experts"},
    {"gpt2", "hidden_size", "n_embd"},
    {"gpt2", "max_position_embeddings", "n_positions"},
    {"gpt2", "num_attention_heads", "n_head"},
    {"gpt2", "num_hidden_layers", "n_layer"},
    {"gpt_bigcode", "hidden_size", "n_embd"},
    {"gpt_bigcode", "max_position_embeddings", "n_positions"},
    {"gpt_bigcode", "num_attention_heads", "n_head"},
    {"gpt_bigcode", "num_hidden_layers", "n_layer"},
    {"gpt_neo", "num_attention_heads", "num_heads"},
    {"gpt_neo", "num_hidden_layers", "num_layers"},
    {"gpt_oss", "num_experts", "num_local_experts"},
    {"gptj", "hidden_size", "n_embd"},
    {"gptj", "max_position_embeddings", "n_positions"},
    {"gptj", "num_attention_heads", "n_head"},
    {"gptj", "num_hidden_layers", "n_layer"},
    {"granitemoehybrid", "layers_block_type", "layer_types"},
    {"hunyuan_v1_moe", "num_experts_per_tok", "moe_topk"},
    {"hunyuan_v1_moe", "num_local_experts", "num_experts"},
    {"hy_v3", "num_local_experts", "num_experts"},
    {"jamba", "num_local_experts", "num_experts"},
    {"kimi_linear", "moe_renormalize", "norm_topk_prob"},
    {"kimi_linear", "num_experts", "num_local_experts"},
    {"kimi_linear", "num_experts_per_token", "num_experts_per_tok"},
    {"kimi_linear", "num_shared_experts", "n_shared_experts"},
    {"lfm2", "block_ff_dim", "intermediate_size"},
    {"lfm2", "tie_embedding", "tie_word_embeddings"},
    {"lfm2_moe", "tie_embedding", "tie_word_embeddings"},
    {"m2m_100", "hidden_size", "d_model"},
    {"m2m_100", "num_attention_heads", "encoder_attention_heads"},
    {"m2m_100", "num_hidden_layers", "encoder_layers"},
    {"marian", "hidden_size", "d_model"},
    {"marian", "num_attention_heads", "encoder_attention_heads"},
    {"marian", "num_hidden_layers", "encoder_layers"},
    {"mbart", "hidden_size", "d_model"},
    {"mbart", "num_attention_heads", "encoder_attention_heads"},
    {"mbart", "num_hidden_layers", "encoder_layers"},
    {"minimax", "num_experts", "num_local_experts"},
    {"minimax_m2", "num_experts", "num_local_experts"},
    {"mixtral", "num_experts", "num_local_experts"},
    {"mpt", "hidden_size", "d_model"},
    {"mpt", "num_attention_heads", "n_heads"},
    {"mpt", "num_hidden_layers", "n_layers"},
    {"mt5", "head_dim", "d_kv"},
    {"mt5", "hidden_size", "d_model"},
    {"mt5", "num_attention_heads", "num_heads"},
    {"mt5", "num_hidden_layers", "num_layers"},
    {"nemotron_h", "layer_types", "layers_block_type"},
    {"nemotron_h", "mamba_chunk_size", "chunk_size"},
    {"nemotron_h", "mamba_conv_bias", "use_conv_bias"},
    {"nemotron_h", "mamba_d_conv", "conv_kernel"},
    {"nemotron_h", "mamba_n_groups", "n_groups"},
    {"nemotron_h", "num_local_experts", "n_routed_experts"},
    {"openai-gpt", "hidden_size", "n_embd"},
    {"openai-gpt", "max_position_embeddings", "n_positions"},
    {"openai-gpt", "num_attention_heads", "n_head"},
    {"openai-gpt", "num_hidden_layers", "n_layer"},
    {"pegasus", "hidden_size", "d_model"},
    {"pegasus", "num_attention_heads", "encoder_attention_heads"},
    {"pegasus", "num_hidden_layers", "encoder_layers"},
    {"plbart", "hidden_size", "d_model"},
    {"plbart", "num_attention_heads", "encoder_attention_heads"},
    {"plbart", "num_hidden_layers", "encoder_layers"},
    {"rt_detr", "hidden_size", "d_model"},
    {"rt_detr", "num_attention_heads", "encoder_attention_heads"},
    {"rt_detr_v2", "hidden_size", "d_model"},
    {"rt_detr_v2", "num_attention_heads", "encoder_attention_heads"},
    {"segformer", "num_hidden_layers", "num_encoder_blocks"},
    {"solar_open", "num_local_experts", "n_routed_experts"},
    {"swin", "num_attention_heads", "num_heads"},
    {"swinv2", "num_attention_heads", "num_heads"},
    {"t5", "head_dim", "d_kv"},
    {"t5", "hidden_size", "d_model"},
    {"t5", "num_attention_heads", "num_heads"},
    {"t5", "num_hidden_layers", "num_layers"},
    {"whisper", "hidden_size", "d_model"},
    {"whisper", "num_attention_heads", "encoder_attention_heads"},
    {"whisper", "num_hidden_layers", "encoder_layers"},
    {"xglm", "hidden_size", "d_model"},
    {"xglm", "num_attention_heads", "attention_heads"},
    {"xglm", "num_hidden_layers", "num_layers"},
    {"zamba2", "layer_types", "layers_block_type"},
};

void UseFirstNames(absl::string_view model_type, nlohmann::json* document) {
  for (const OtherName& other : kOtherNames) {
    if (other.model_type != model_type) continue;
    const auto at = document->find(std::string(other.name));
    if (at != document->end() && !at->is_null()) (*document)[other.key] = nlohmann::json(*at);
  }
}

absl::Status UnknownFamily(absl::string_view model_type) {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.model_type);
  for (const DecoderFamily& family : DecoderFamilies()) names.emplace_back(family.model_type);
  std::string hint = DidYouMean(model_type, names);
  if (hint.empty()) {
    hint = absl::StrCat(" among the ", names.size(), " that need no Python; ",
                        Setting("with-transformers", kOn), " counts it by its class");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("model_type ", Quoted(model_type), " is not known", hint));
}

constexpr JsonLimits kConfigLimits = {.bytes = kMaxConfigBytes,
                                      .bytes_name = "config-bytes",
                                      .nesting = kMaxConfigNesting,
                                      .nesting_name = "config-nesting",
                                      .not_numbers = true};

absl::StatusOr<nlohmann::json> Parse(absl::string_view json) {
  ASSIGN_OR_RETURN(nlohmann::json document, ParseJson(json, kConfigLimits));
  if (!document.is_object()) return absl::InvalidArgumentError("is JSON, but no object");
  return document;
}

// Empty if there is no separate graph of what the notes ask for.
absl::StatusOr<std::string> Build(absl::string_view json, ConfigNotes* notes) {
  ASSIGN_OR_RETURN(nlohmann::json document, Parse(json));
  const Config config(&document, "", notes);
  notes->save.config = std::string(json);
  const bool part = notes->decoding || notes->tower;
  if (config.Has("model_cfg") || (config.Has("vision_cfg") && config.Has("text_cfg"))) {
    return part ? std::string() : BuildOpenClip(config);
  }
  if (!config.Has("model_type")) {
    return absl::InvalidArgumentError(
        "is JSON without model_type: neither a configuration nor an ONNX model");
  }
  const std::string model_type = config.Text("model_type", "");
  RETURN_IF_ERROR(notes->status);
  UseFirstNames(model_type, &document);
  if (const DecoderFamily* decoder = FindDecoderFamily(model_type)) {
    return part ? std::string() : DecoderModel(config, ReadDecoder(config, *decoder));
  }
  const auto* family = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                    [&](const Family& f) { return f.model_type == model_type; });
  if (family == std::end(kFamilies)) return UnknownFamily(model_type);
  if (notes->decoding && !family->own_step) return std::string();
  if (notes->tower && !family->own_tower) return std::string();
  return family->build(config);
}

absl::StatusOr<std::string> BuildNamed(absl::string_view json, absl::string_view name,
                                       ConfigNotes* notes) {
  absl::StatusOr<std::string> bytes = Build(json, notes);
  if (bytes.ok()) return bytes;
  return WithMessage(bytes.status(), absl::StrCat(Escaped(name), ": ", bytes.status().message()));
}

}  // namespace
}  // namespace family

absl::StatusOr<std::string> ConfigToOnnx(absl::string_view json, absl::string_view name,
                                         absl::string_view weights_at) {
  family::ConfigNotes notes;
  notes.save.weights_at = std::string(weights_at);
  return family::BuildNamed(json, name, &notes);
}

absl::StatusOr<Model> LoadConfig(absl::string_view json, absl::string_view name,
                                 std::optional<int64_t> image_size) {
  family::ConfigNotes notes;
  notes.image_size = image_size;
  ASSIGN_OR_RETURN(std::string bytes, family::BuildNamed(json, name, &notes));
  std::vector<std::string> warnings;
  if (!notes.defaults.empty()) {
    warnings.push_back(absl::StrCat(kDefaultsWarning, absl::StrJoin(notes.defaults, ", ")));
  }
  if (!notes.resized.empty()) {
    warnings.push_back(absl::StrCat(
        notes.resized, " is ", *image_size,
        " instead of the configuration's: the table of positions is of that size, too"));
  }
  warnings.insert(warnings.end(), notes.ignored.begin(), notes.ignored.end());
  return LoadOwnBytes(std::move(bytes), name, std::move(warnings));
}

namespace {

// The graph that `notes` ask for, from the configuration of a model.
absl::StatusOr<std::optional<Model>> PartOfModel(const ModelData& model,
                                                 family::ConfigNotes notes) {
  const absl::string_view config = ConfigOf(model);
  if (config.empty()) return std::optional<Model>();
  ASSIGN_OR_RETURN(std::string bytes, family::BuildNamed(config, model.path, &notes));
  if (bytes.empty()) return std::optional<Model>();
  ASSIGN_OR_RETURN(Model part, LoadOwnBytes(std::move(bytes), model.path));
  return std::optional<Model>(std::move(part));
}

// The side of the images that a model takes, if it is fixed: that of a configuration may have been
// replaced.
std::optional<int64_t> SideOfImages(const ModelData& model) {
  for (const ValueId id : model.graphs[0].inputs) {
    const DeclaredType* type = model.value(id).declared;
    if (type == nullptr || model.value(id).name != "pixel_values" || type->dims.size() < 4)
      continue;
    if (type->dims.back().size > 0) return type->dims.back().size;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::optional<Model>> DecodingStepOf(const ModelData& model) {
  family::ConfigNotes notes;
  notes.decoding = true;
  return PartOfModel(model, std::move(notes));
}

absl::StatusOr<std::optional<Model>> TowerOf(const ModelData& model) {
  family::ConfigNotes notes;
  notes.tower = true;
  ASSIGN_OR_RETURN(std::optional<Model> tower, PartOfModel(model, notes));
  const std::optional<int64_t> side = SideOfImages(model);
  if (!tower || SideOfImages(**tower) == side) return tower;
  notes.image_size = side;
  return PartOfModel(model, std::move(notes));
}

absl::string_view ConfigOf(const ModelData& model) {
  for (const auto& [key, value] : model.metadata) {
    if (key == family::kConfigKey) return value;
  }
  return "";
}

namespace {

SizesByDim DimsOf(const ModelData& model, absl::string_view prefix) {
  SizesByDim dims;
  for (const auto& [key, value] : model.metadata) {
    absl::string_view symbol = key;
    int64_t size = 0;
    if (!absl::ConsumePrefix(&symbol, prefix)) continue;
    if (absl::SimpleAtoi(value, &size) && size >= 0) dims.emplace_back(symbol, size);
  }
  return dims;
}

}  // namespace

SizesByDim AssumedDims(const ModelData& model) { return DimsOf(model, family::kAssumedDimPrefix); }

std::vector<std::pair<absl::string_view, absl::string_view>> FollowedDims(const ModelData& model) {
  std::vector<std::pair<absl::string_view, absl::string_view>> dims;
  for (const auto& [key, value] : model.metadata) {
    absl::string_view symbol = key;
    if (absl::ConsumePrefix(&symbol, family::kSameDimPrefix)) dims.emplace_back(symbol, value);
  }
  return dims;
}

SizesByDim MostDims(const ModelData& model) { return DimsOf(model, family::kMostDimPrefix); }

SizesByDim MultipleDims(const ModelData& model) {
  return DimsOf(model, family::kMultipleDimPrefix);
}

SizesByDim PixelDims(const ModelData& model) { return DimsOf(model, family::kPixelDimPrefix); }

std::optional<AudioChunks> AudioChunksOf(const ModelData& model) {
  constexpr int64_t kMostPerSecond = 1'000'000;
  for (const auto& [symbol, rate] : DimsOf(model, family::kRateDimPrefix)) {
    for (const auto& [other, frames] : AssumedDims(model)) {
      if (other == symbol && frames >= 1 && rate >= 1 && rate <= kMostPerSecond) {
        return AudioChunks{symbol, frames, rate};
      }
    }
  }
  return std::nullopt;
}

}  // namespace onnxflops
