#include "src/api/pipeline_layouts.h"

namespace onnxflops {
namespace {

constexpr char kTimesSteps[] = "times = \"steps\"";

PartRule TextEncoder(const char* name, const char* file, const char* tokens) {
  return {name,  file,       "times = \"guidance\"", {{"*", 0, "prompts"}, {"*", 1, tokens}},
          false, "input_ids"};
}

Layout Diffusion() {
  return {"diffusion (model_index.json of diffusers)",
          "model_index.json",
          "images = 1\n"
          "prompts = 1       # texts are encoded once, for all their images\n"
          "steps = 50        # of the denoiser\n",
          "\"images\"",
          {TextEncoder("text_encoder", "text_encoder/model.onnx", "77"),
           TextEncoder("text_encoder_2", "text_encoder_2/model.onnx", "77"),
           TextEncoder("text_encoder_3", "text_encoder_3/model.onnx", "256"),
           {"unet",
            "unet/model.onnx",
            kTimesSteps,
            {{"sample", 0, "guidance*images"},
             {"sample", 2, "pixels_high // scale"},
             {"sample", 3, "pixels_wide // scale"},
             {"timestep", 0, "1"},
             {"encoder_hidden_states", 1, "77"},
             {"*", 0, "guidance*images"}},
            false,
            "sample"},
           {"transformer",
            "transformer/model.onnx",
            kTimesSteps,
            {{"hidden_states", 1, kPackedLatents, 3},  // of Flux
             {"hidden_states", 2, "pixels_high // scale", 4},
             {"hidden_states", 3, "pixels_wide // scale", 4},
             {"img_ids", 0, kPackedLatents},
             {"encoder_hidden_states", 1, "text_tokens"},
             {"txt_ids", 0, "text_tokens"},
             {"*", 0, "guidance*images"}},
            false,
            "hidden_states"},
           {"vae_decoder",
            "vae_decoder/model.onnx",
            "",
            {{"*", 0, "images"},
             {"latent*", 2, "pixels_high // scale"},
             {"latent*", 3, "pixels_wide // scale"}},
            true,
            "latent*"},
           {"safety_checker",
            "safety_checker/model.onnx",
            "",
            {{"clip_input", 0, "images"},
             {"images", 0, "images"},
             {"images", 1, "pixels_high"},
             {"images", 2, "pixels_wide"}},
            false}}};
}

// Frames and sides are rounded down to what patches of latents hold.
constexpr char kLatentFrames[] = "frames // frame_scale + 1";

PartRule DenoiserOfVideos(const char* name, const char* file, const char* runs) {
  return {name,
          file,
          runs,
          {{"hidden_states", 2, kLatentFrames},
           {"hidden_states", 3, "2*(pixels_high // (2*scale))"},
           {"hidden_states", 4, "2*(pixels_wide // (2*scale))"},
           {"encoder_hidden_states", 1, "text_tokens"},
           // Wan 2.2 of 5 billion parameters gives each patch its own.
           {"timestep", 1,
            "(frames // frame_scale + 1)*(pixels_high // (2*scale))*(pixels_wide // "
            "(2*scale))"},
           {"*", 0, "videos"}},
          false,
          "hidden_states"};
}

Layout Videos() {
  return {"a diffusion of videos (model_index.json of diffusers: Wan)",
          "model_index.json",
          "videos = 1\n"
          "prompts = 1       # texts are encoded once, for all their videos\n"
          "steps = 50        # of the denoiser\n"
          "text_tokens = 512\n"
          "pixels_high = 480\n"
          "pixels_wide = 832\n"
          "frames = 81\n",
          "\"videos\"",
          {TextEncoder("text_encoder", "text_encoder/model.onnx", "text_tokens"),
           DenoiserOfVideos("transformer", "transformer/model.onnx", "times = \"guidance*steps\""),
           DenoiserOfVideos("transformer_2", "transformer_2/model.onnx",
                            "times = \"guidance*(steps - high_steps)\""),
           {"vae_decoder",
            "vae_decoder/model.onnx",
            "",
            {{"*", 0, "videos"},
             {"latent*", 2, kLatentFrames},
             {"latent*", 3, "2*(pixels_high // (2*scale))"},
             {"latent*", 4, "2*(pixels_wide // (2*scale))"}},
            true,
            "latent*"}},
          true};
}

Layout GenAi() {
  return {"a decoder (genai_config.json of ONNX Runtime GenAI)",
          kGenAiConfiguration,
          "answers = 1\n",
          kPerToken,
          {{"prompt", "model.onnx", "new = \"prompt\"", {{"*", 0, "answers"}}},
           {"tokens",
            "model.onnx",
            "for = \"t < tokens - 1\"\npast = \"prompt + t\"",
            {{"*", 0, "answers"}}}}};
}

Layout EncoderAndDecoder() {
  return {"an encoder and a decoder (Optimum)",
          "",
          "answers = 1\n"
          "prompt = 64       # tokens of the encoder, if it takes any\n"
          "tokens = 32\n"
          "beams = 1         # the encoder runs once for all beams\n",
          kPerToken,
          {{"encoder",
            "encoder_model.onnx",
            "",
            {{"*", 0, "answers"}, {"input_ids", 1, "prompt"}, {"attention_mask", 1, "prompt"}}},
           {"first token",
            "decoder_model.onnx|decoder_model_merged.onnx",
            "",
            {{"past*", 2, "0"},
             {"*", 0, "answers*beams"},
             {"input_ids", 1, "1"},
             {"encoder_*", 1, "prompt"}}},
           {"tokens",
            "decoder_with_past_model.onnx|decoder_model_merged.onnx",
            "for = \"t < tokens - 1\"\npast = \"1 + t\"\ncopy_of = \"first token\"",
            {{"past*.encoder.*", 2, "prompt"},
             {"*", 0, "answers*beams"},
             {"encoder_*", 1, "prompt"}}}}};
}

Layout TwoTowers() {
  return {"two towers (CLIP)",
          "",
          "images = 1\n"
          "texts = 80        # prompts that every image is compared with\n"
          "length = 77       # tokens of a text\n",
          "\"images\"",
          {{"images", "vision_model.onnx|visual.onnx|*visual*.onnx", "", {{"*", 0, "images"}}},
           {"texts",
            "text_model.onnx|textual.onnx|*text*.onnx",
            "",
            {{"*", 0, "texts"}, {"*", 1, "length"}}}}};
}

Layout Transducer() {
  return {"a transducer (sherpa-onnx)",
          "",
          "chunks = 10       # runs of the encoder\n"
          "chunk_frames = 16 # outputs of a run\n"
          "frames = \"chunk_frames*chunks\"  # each is joined once\n"
          "tokens = 40       # that come out\n",
          "\"chunks\"",
          {{"encoder", "encoder-*.onnx|encoder.onnx", "times = \"chunks\"", {{"*", 0, "1"}}},
           {"decoder", "decoder-*.onnx|decoder.onnx", "times = \"tokens + 1\"", {{"*", 0, "1"}}},
           {"joiner", "joiner-*.onnx|joiner.onnx", "times = \"frames\"", {{"*", 0, "1"}}}}};
}

Layout ImageAndMasks() {
  return {"an image encoder and a mask decoder (SAM)",
          "",
          "images = 1\n"
          "prompts = 1       # of an image: a run of the decoder each\n"
          "points = 2        # of a prompt\n",
          "\"images\"",
          {{"encoder",
            "vision_encoder*.onnx|*image_encoder*.onnx|sam*encoder*.onnx",
            "",
            {{"*", 0, "images"}}},
           {"decoder",
            "prompt_encoder_mask_decoder*.onnx|*mask_decoder*.onnx|sam*decoder*.onnx",
            "times = \"images*prompts\"",
            {{"*", 0, "1"},
             {"input_points", 1, "1"},
             {"input_points", 2, "points"},
             {"input_labels", 1, "1"},
             {"input_labels", 2, "points"},
             {"point_*", 1, "points"}}}}};
}

}  // namespace

const std::vector<Layout>& PipelineLayouts() {
  static const auto& layouts = *new std::vector<Layout>{
      Diffusion(),     GenAi(), EncoderAndDecoder(), TwoTowers(), Transducer(),
      ImageAndMasks(), Videos()};
  return layouts;
}

}  // namespace onnxflops
