#include "src/family/llama.h"

#include "src/family/families.h"

namespace onnxflops::family {

DecoderShape ReadLlama(const Config& config) {
  DecoderShape s = ReadDecoder(config, "Llama", {32000, 4096, 11008, 32, 32, 0});
  ReadHeadDim(config, std::nullopt, &s);
  s.qkv_bias = s.out_bias = config.Flag("attention_bias", false);
  s.mlp_bias = config.Flag("mlp_bias", false);
  return s;
}

absl::StatusOr<std::string> BuildLlama(const Config& config) {
  return DecoderModel(config, ReadLlama(config));
}

}  // namespace onnxflops::family
