#include "src/family/decoder.h"
#include "src/family/families.h"

namespace onnxflops::family {

absl::StatusOr<std::string> BuildPhi3(const Config& config) {
  DecoderShape s = ReadDecoder(config, "Phi3", {32064, 3072, 8192, 32, 32, 0});
  ReadHeadDim(config, std::nullopt, &s);
  s.fused = true;
  ReadRotaryPart(config, "partial_rotary_factor", 1.0, &s);
  if (config.Has("sliding_window")) ReadWindows(config, config.Size("sliding_window", 1), &s);
  return DecoderModel(config, s);
}

}  // namespace onnxflops::family
