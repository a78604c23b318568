// Mistral, and Mixtral with its experts.
#include <vector>

#include "src/family/decoder.h"
#include "src/family/families.h"

namespace onnxflops::family {

absl::StatusOr<std::string> BuildMistral(const Config& config) {
  DecoderShape s = ReadDecoder(config, "Mistral", {32000, 4096, 14336, 32, 32, 8});
  ReadHeadDim(config, std::nullopt, &s);
  constexpr int64_t kWindow = 4096;
  if (!config.HasNull("sliding_window"))
    ReadWindows(config, config.Size("sliding_window", kWindow), &s);
  return DecoderModel(config, s);
}

absl::StatusOr<std::string> BuildMixtral(const Config& config) {
  DecoderShape s = ReadDecoder(config, "Mixtral", {32000, 4096, 14336, 32, 32, 8});
  ReadHeadDim(config, std::nullopt, &s);
  if (config.Has("sliding_window")) ReadWindows(config, config.Size("sliding_window", 1), &s);
  s.has_experts.assign(static_cast<size_t>(s.layers), true);
  s.experts = {s.hidden, s.intermediate, config.Size("num_local_experts", 8),
               config.Size("num_experts_per_tok", 2), /*normalize=*/true};
  RequireExperts(config, s);
  return DecoderModel(config, s);
}

}  // namespace onnxflops::family
