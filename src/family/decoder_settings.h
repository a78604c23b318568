// What a row of the table of decoders cannot hold: keys that a family has of its own, and rules
// that treat layers differently. Each reads a configuration into a shape of which the usual keys
// are read.
#ifndef ONNXFLOPS_SRC_FAMILY_DECODER_SETTINGS_H_
#define ONNXFLOPS_SRC_FAMILY_DECODER_SETTINGS_H_

#include <cstdint>
#include <optional>

#include "src/family/config.h"
#include "src/family/decoder.h"

namespace onnxflops::family {

inline constexpr int64_t kUsualWindow = 4096;
// A smaller one keeps a past of 1 or 0, which has no formula.
inline constexpr int64_t kLeastWindow = 3;

// The layers of Qwen's mixtures that have experts.
void ReadSparseLayers(const Config& config, DecoderShape* s);
// The part of each head that is rotated.
void ReadRotaryPart(const Config& config, const char* key, double otherwise, DecoderShape* s);
void ReadHeadDim(const Config& config, std::optional<int64_t> otherwise, DecoderShape* s);
std::optional<double> NestedRotaryPart(const Config& config);
void ReadLatent(const Config& config, const LatentAttention& otherwise, DecoderShape* s);
void ReadWindows(const Config& config, int64_t window, DecoderShape* s);
void ReadGemmaWindows(const Config& config, int64_t pattern, DecoderShape* s,
                      int64_t window = kUsualWindow);
void ReadQwenWindows(const Config& config, bool is_mixture, DecoderShape* s);

// ---- decoder_settings.cc: heads, windows, positions, biases, norms and caps

void WindowIfGiven(const Config& config, DecoderShape* s);
void WindowUnlessNull(const Config& config, DecoderShape* s);
void ReadDotsWindows(const Config& config, DecoderShape* s);
void QwenWindows(const Config& config, DecoderShape* s);
void RestOfSmolLm3(const Config& config, DecoderShape* s);
void RotatedInWindows(const Config& config, DecoderShape* s);
void RestOfExaone4(const Config& config, DecoderShape* s);
void RestOfCwm(const Config& config, DecoderShape* s);
void RestOfOlmo3(const Config& config, DecoderShape* s);
void RestOfErnie(const Config& config, DecoderShape* s);
void RestOfStarcoder2(const Config& config, DecoderShape* s);
void BiasUnlessFalse(const Config& config, DecoderShape* s);
void RestOfSeedOss(const Config& config, DecoderShape* s);
void RestOfJais2(const Config& config, DecoderShape* s);
void RestOfHelium(const Config& config, DecoderShape* s);
void NoClipping(const Config& config, DecoderShape* s);
void RestOfCohere(const Config& config, DecoderShape* s);
void RestOfPhi(const Config& config, DecoderShape* s);
void RestOfStableLm(const Config& config, DecoderShape* s);
void RestOfNanoChat(const Config& config, DecoderShape* s);
void RestOfGemma(const Config& config, DecoderShape* s);
void RestOfGemma2(const Config& config, DecoderShape* s);
void RestOfGemma3(const Config& config, DecoderShape* s);
void RestOfBitNet(const Config& config, DecoderShape* s);
void RestOfHyperClovaX(const Config& config, DecoderShape* s);

// ---- decoder_experts.cc: mixtures of experts, and layers with a state

void RestOfMixtral(const Config& config, DecoderShape* s);
void RestOfGraniteMoe(const Config& config, DecoderShape* s);
void RestOfGptOss(const Config& config, DecoderShape* s);
void RestOfMiniMaxM2(const Config& config, DecoderShape* s);
void RestOfErnieMoe(const Config& config, DecoderShape* s);
void RestOfLlama4(const Config& config, DecoderShape* s);
void RestOfOlmoe(const Config& config, DecoderShape* s);
void RestOfQwen3Moe(const Config& config, DecoderShape* s);
void RestOfQwen2Moe(const Config& config, DecoderShape* s);
void RestOfDeepseekV2(const Config& config, DecoderShape* s);
void RestOfDeepseekV3(const Config& config, DecoderShape* s);
void RestOfDeepseekV32(const Config& config, DecoderShape* s);
void RestOfGlmMoeDsa(const Config& config, DecoderShape* s);
void RestOfDots1(const Config& config, DecoderShape* s);
void RestOfGlm4Moe(const Config& config, DecoderShape* s);
void RestOfSolarOpen(const Config& config, DecoderShape* s);
void RestOfHunYuanMoe(const Config& config, DecoderShape* s);
void RestOfGlm4MoeLite(const Config& config, DecoderShape* s);
void RestOfGraniteMoeShared(const Config& config, DecoderShape* s);
void RestOfFlexOlmo(const Config& config, DecoderShape* s);
void RestOfPhimoe(const Config& config, DecoderShape* s);
void RestOfExaoneMoe(const Config& config, DecoderShape* s);
void RestOfAfmoe(const Config& config, DecoderShape* s);
void RestOfCohere2Moe(const Config& config, DecoderShape* s);
void RestOfHyV3(const Config& config, DecoderShape* s);
void RestOfMiniCpm3(const Config& config, DecoderShape* s);
void RestOfQwen3Next(const Config& config, DecoderShape* s);
void RestOfQwen35(const Config& config, DecoderShape* s);
void RestOfQwen35Moe(const Config& config, DecoderShape* s);
void RestOfLfm2(const Config& config, DecoderShape* s);
void RestOfLfm2Moe(const Config& config, DecoderShape* s);
void RestOfKimiLinear(const Config& config, DecoderShape* s);
void RestOfMiniMax(const Config& config, DecoderShape* s);
void RestOfOlmoHybrid(const Config& config, DecoderShape* s);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_DECODER_SETTINGS_H_
