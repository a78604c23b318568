// Gemma, Gemma 2, and the text model of Gemma 3.
#include "src/family/decoder.h"
#include "src/family/families.h"

namespace onnxflops::family {
namespace {

constexpr int64_t kHeadDim = 256, kWindow = 4096;

// Where no list says which layers have windows: all but each `pattern`-th.
void ReadGemmaWindows(const Config& config, int64_t pattern, DecoderShape* s) {
  ReadWindows(config, config.Size("sliding_window", kWindow), s);
  if (config.Has("layer_types")) return;
  for (size_t i = 0; i < s->windows.size(); ++i) {
    if ((i + 1) % static_cast<size_t>(pattern) == 0) s->windows[i] = 0;
  }
}

DecoderShape ReadGemma(const Config& config, const char* prefix, const DecoderDefaults& defaults) {
  DecoderShape s = ReadDecoder(config, prefix, defaults);
  ReadHeadDim(config, kHeadDim, &s);
  s.qkv_bias = s.out_bias = config.Flag("attention_bias", false);
  s.scaled_input = true;
  return s;
}

double Cap(const Config& config, const char* key, double otherwise) {
  if (otherwise == 0 && !config.Has(key)) return 0;
  return config.Real(key, otherwise);
}

}  // namespace

absl::StatusOr<std::string> BuildGemma(const Config& config) {
  // Old files have both keys; hidden_activation is the one that was meant.
  const char* const key = config.Has("hidden_activation") ? "hidden_activation" : "hidden_act";
  return DecoderModel(config,
                      ReadGemma(config, "Gemma",
                                {256000, 3072, 24576, 28, 16, 16, key, "gelu_pytorch_tanh", true}));
}

absl::StatusOr<std::string> BuildGemma2(const Config& config) {
  DecoderShape s =
      ReadGemma(config, "Gemma2",
                {256000, 2304, 9216, 26, 8, 4, "hidden_activation", "gelu_pytorch_tanh", true});
  s.sandwich = true;
  s.attention_softcap = Cap(config, "attn_logit_softcapping", 50);
  s.output_softcap = Cap(config, "final_logit_softcapping", 30);
  ReadGemmaWindows(config, 2, &s);
  return DecoderModel(config, s);
}

absl::StatusOr<std::string> BuildGemma3(const Config& config) {
  DecoderShape s =
      ReadGemma(config, "Gemma3",
                {262208, 2304, 9216, 26, 8, 4, "hidden_activation", "gelu_pytorch_tanh", true});
  s.body = "TextModel";
  s.sandwich = true;
  s.head_norms = true;
  s.attention_softcap = Cap(config, "attn_logit_softcapping", 0);
  s.output_softcap = Cap(config, "final_logit_softcapping", 0);
  const char* const kPattern[] = {"sliding_window_pattern", "_sliding_window_pattern"};
  ReadGemmaWindows(config, config.Has("layer_types") ? 1 : config.SizeOfAny(kPattern, 6), &s);
  return DecoderModel(config, s);
}

}  // namespace onnxflops::family
