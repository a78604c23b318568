// Decoders some of whose layers, or parts of layers, are Mamba mixers.
#ifndef ONNXFLOPS_SRC_FAMILY_HYBRID_H_
#define ONNXFLOPS_SRC_FAMILY_HYBRID_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/family/decoder.h"
#include "src/family/decoder_families.h"
#include "src/family/state_space.h"

namespace onnxflops::family {

// A decoder by the row of its family: of a text, or of a step of one token with a cache.
DecoderShape ReadHybridDecoder(const Config& config, const DecoderFamily& family);
// The keys mamba_n_heads, mamba_d_state and their like, of Bamba and its kin, for a mixer that is
// `inner` wide.
Mamba2Shape ReadMixer(const Config& config, const DecoderShape& decoder, int64_t inner);
inline constexpr absl::string_view kMixerLayer = "linear_attention";
// The name of a type of layers that a list has; old files have other names.
std::string HybridLayerType(absl::string_view name);
// Which layers are of a type, by a list of types; the others are mixers.
std::vector<bool> ReadLayerTypes(const Config& config, const char* key, int64_t layers,
                                 absl::string_view type = "full_attention");

// Parts of the layer that is open: attention in the module "self_attn", a mixer in "mamba", a norm.
Tensor AttendTokens(GraphBuilder* b, const Tensor& normed, const Rotation& angles,
                    const DecoderShape& shape, int64_t layer);
Tensor MixerOfLayer(GraphBuilder* b, const Tensor& normed, const Mamba2Shape& mixer,
                    const std::string& type, int64_t layer);
Tensor NormOfLayer(GraphBuilder* b, const Tensor& x, const char* name, const DecoderShape& shape);

// x behind layer i.
using HybridLayerFn =
    std::function<Tensor(GraphBuilder* b, const Tensor& x, const Rotation& angles, int64_t layer)>;
struct HybridModel {
  LanguageModel language;
  const char* embedding = "embed_tokens";
};
HybridModel HybridModelOf(const Config& config, const DecoderShape& shape, bool rotated);
absl::StatusOr<std::string> BuildHybrid(const Config& config, const DecoderShape& shape,
                                        const HybridModel& model, const HybridLayerFn& layer);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_HYBRID_H_
