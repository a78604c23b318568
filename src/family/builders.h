// The families: each makes a ModelProto of a configuration.
#ifndef ONNXFLOPS_SRC_FAMILY_BUILDERS_H_
#define ONNXFLOPS_SRC_FAMILY_BUILDERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/family/config.h"

namespace onnxflops::family {

absl::StatusOr<std::string> BuildBert(const Config& config);
absl::StatusOr<std::string> BuildBeit(const Config& config);
absl::StatusOr<std::string> BuildBamba(const Config& config);
absl::StatusOr<std::string> BuildBloom(const Config& config);
absl::StatusOr<std::string> BuildBioGpt(const Config& config);
absl::StatusOr<std::string> BuildBlip(const Config& config);
absl::StatusOr<std::string> BuildBlipTextModel(const Config& config);
absl::StatusOr<std::string> BuildBlipVisionModel(const Config& config);
absl::StatusOr<std::string> BuildClip(const Config& config);
absl::StatusOr<std::string> BuildCodeGen(const Config& config);
absl::StatusOr<std::string> BuildConvnext(const Config& config);
absl::StatusOr<std::string> BuildConvnextV2(const Config& config);
absl::StatusOr<std::string> BuildDeepseekV4(const Config& config);
absl::StatusOr<std::string> BuildDeit(const Config& config);
absl::StatusOr<std::string> BuildDetr(const Config& config);
absl::StatusOr<std::string> BuildDinov2(const Config& config);
absl::StatusOr<std::string> BuildDinov3Convnext(const Config& config);
absl::StatusOr<std::string> BuildDinov3Vit(const Config& config);
absl::StatusOr<std::string> BuildDistilbert(const Config& config);
absl::StatusOr<std::string> BuildDpt(const Config& config);
absl::StatusOr<std::string> BuildFalcon(const Config& config);
absl::StatusOr<std::string> BuildFalconH1(const Config& config);
absl::StatusOr<std::string> BuildGemma3(const Config& config);
absl::StatusOr<std::string> BuildGemma3n(const Config& config);
absl::StatusOr<std::string> BuildGemma3nAudioEncoder(const Config& config);
absl::StatusOr<std::string> BuildGemma3nVision(const Config& config);
absl::StatusOr<std::string> BuildGemma3nText(const Config& config);
absl::StatusOr<std::string> BuildGemma4(const Config& config);
absl::StatusOr<std::string> BuildGemma4Text(const Config& config);
absl::StatusOr<std::string> BuildGemma4VisionModel(const Config& config);
absl::StatusOr<std::string> BuildGptBigCode(const Config& config);
absl::StatusOr<std::string> BuildGptNeo(const Config& config);
absl::StatusOr<std::string> BuildGptNeox(const Config& config);
absl::StatusOr<std::string> BuildGraniteMoeHybrid(const Config& config);
absl::StatusOr<std::string> BuildHiera(const Config& config);
absl::StatusOr<std::string> BuildNemotronH(const Config& config);
absl::StatusOr<std::string> BuildOpenClip(const Config& config);
absl::StatusOr<std::string> BuildClipText(const Config& config);
absl::StatusOr<std::string> BuildClipVisionModel(const Config& config);
absl::StatusOr<std::string> BuildPixtralVisionModel(const Config& config);
absl::StatusOr<std::string> BuildSiglip2(const Config& config);
absl::StatusOr<std::string> BuildSiglip2TextModel(const Config& config);
absl::StatusOr<std::string> BuildSiglip2VisionModel(const Config& config);
absl::StatusOr<std::string> BuildSiglipTextModel(const Config& config);
absl::StatusOr<std::string> BuildSiglipVisionModel(const Config& config);
absl::StatusOr<std::string> BuildSwin(const Config& config);
absl::StatusOr<std::string> BuildSwinV2(const Config& config);
absl::StatusOr<std::string> BuildPersimmon(const Config& config);
absl::StatusOr<std::string> BuildQwen25Vl(const Config& config);
absl::StatusOr<std::string> BuildQwen2Vl(const Config& config);
absl::StatusOr<std::string> BuildQwen3Vl(const Config& config);
absl::StatusOr<std::string> BuildQwen3VlMoe(const Config& config);
absl::StatusOr<std::string> BuildQwen35(const Config& config);
absl::StatusOr<std::string> BuildQwen35Moe(const Config& config);
absl::StatusOr<std::string> BuildResnet(const Config& config);
absl::StatusOr<std::string> BuildRoberta(const Config& config);
absl::StatusOr<std::string> BuildSam(const Config& config);
absl::StatusOr<std::string> BuildSamVisionModel(const Config& config);
absl::StatusOr<std::string> BuildSegformer(const Config& config);
absl::StatusOr<std::string> BuildXlmRoberta(const Config& config);
absl::StatusOr<std::string> BuildVit(const Config& config);
absl::StatusOr<std::string> BuildGpt2(const Config& config);
absl::StatusOr<std::string> BuildInternVl(const Config& config);
absl::StatusOr<std::string> BuildJamba(const Config& config);
absl::StatusOr<std::string> BuildLlama4(const Config& config);
absl::StatusOr<std::string> BuildLlama4VisionModel(const Config& config);
absl::StatusOr<std::string> BuildLlava(const Config& config);
absl::StatusOr<std::string> BuildLlavaNext(const Config& config);
absl::StatusOr<std::string> BuildMamba(const Config& config);
absl::StatusOr<std::string> BuildMamba2(const Config& config);
absl::StatusOr<std::string> BuildMistral3(const Config& config);
absl::StatusOr<std::string> BuildMllama(const Config& config);
absl::StatusOr<std::string> BuildMobileVit(const Config& config);
absl::StatusOr<std::string> BuildModernBert(const Config& config);
absl::StatusOr<std::string> BuildMpt(const Config& config);
absl::StatusOr<std::string> BuildMt5(const Config& config);
absl::StatusOr<std::string> BuildSiglip(const Config& config);
absl::StatusOr<std::string> BuildT5(const Config& config);
absl::StatusOr<std::string> BuildWav2Vec2(const Config& config);
absl::StatusOr<std::string> BuildHubert(const Config& config);
absl::StatusOr<std::string> BuildOpenAiGpt(const Config& config);
absl::StatusOr<std::string> BuildOpt(const Config& config);
absl::StatusOr<std::string> BuildGptj(const Config& config);
absl::StatusOr<std::string> BuildElectra(const Config& config);
absl::StatusOr<std::string> BuildAlbert(const Config& config);
absl::StatusOr<std::string> BuildMpnet(const Config& config);
absl::StatusOr<std::string> BuildDebertaV2(const Config& config);
absl::StatusOr<std::string> BuildIdefics3(const Config& config);
absl::StatusOr<std::string> BuildSmolVlm(const Config& config);
absl::StatusOr<std::string> BuildWhisper(const Config& config);
absl::StatusOr<std::string> BuildZamba2(const Config& config);
absl::StatusOr<std::string> BuildXglm(const Config& config);
absl::StatusOr<std::string> BuildCamembert(const Config& config);
absl::StatusOr<std::string> BuildErnie(const Config& config);
absl::StatusOr<std::string> BuildLayoutLm(const Config& config);
absl::StatusOr<std::string> BuildRemBert(const Config& config);
absl::StatusOr<std::string> BuildRtDetr(const Config& config);
absl::StatusOr<std::string> BuildRtDetrV2(const Config& config);
absl::StatusOr<std::string> BuildSam2(const Config& config);
absl::StatusOr<std::string> BuildSam2VisionModel(const Config& config);
absl::StatusOr<std::string> BuildSam2HieraDetModel(const Config& config);
absl::StatusOr<std::string> BuildBart(const Config& config);
absl::StatusOr<std::string> BuildMbart(const Config& config);
absl::StatusOr<std::string> BuildMarian(const Config& config);
absl::StatusOr<std::string> BuildPegasus(const Config& config);
absl::StatusOr<std::string> BuildM2m100(const Config& config);
absl::StatusOr<std::string> BuildBlenderbot(const Config& config);
absl::StatusOr<std::string> BuildBlenderbotSmall(const Config& config);
absl::StatusOr<std::string> BuildPlbart(const Config& config);
absl::StatusOr<std::string> BuildYolos(const Config& config);
absl::StatusOr<std::string> BuildRegNet(const Config& config);
absl::StatusOr<std::string> BuildMobileNetV1(const Config& config);
absl::StatusOr<std::string> BuildMobileNetV2(const Config& config);
absl::StatusOr<std::string> BuildEfficientNet(const Config& config);
absl::StatusOr<std::string> BuildChineseClip(const Config& config);
absl::StatusOr<std::string> BuildClipSeg(const Config& config);
absl::StatusOr<std::string> BuildOwlVit(const Config& config);
absl::StatusOr<std::string> BuildOwlV2(const Config& config);
absl::StatusOr<std::string> BuildWavLm(const Config& config);
absl::StatusOr<std::string> BuildData2VecAudio(const Config& config);
absl::StatusOr<std::string> BuildUniSpeech(const Config& config);
absl::StatusOr<std::string> BuildUniSpeechSat(const Config& config);
absl::StatusOr<std::string> BuildDinov2WithRegisters(const Config& config);
absl::StatusOr<std::string> BuildVitMsn(const Config& config);
absl::StatusOr<std::string> BuildIjepa(const Config& config);
absl::StatusOr<std::string> BuildRobertaPreLayerNorm(const Config& config);
absl::StatusOr<std::string> BuildXlmRobertaXl(const Config& config);
absl::StatusOr<std::string> BuildMobileBert(const Config& config);
absl::StatusOr<std::string> BuildVitMae(const Config& config);
absl::StatusOr<std::string> BuildVitPose(const Config& config);
absl::StatusOr<std::string> BuildSqueezeBert(const Config& config);
absl::StatusOr<std::string> BuildPoolFormer(const Config& config);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_BUILDERS_H_
