// Families of decoders, by their configurations. A family that differs from the others only in
// numbers is one row of the table in decoder_families.cc:
//
//   {.model_type = "phi3",
//    .prefix = "Phi3",
//    .sizes = {.vocab = 32064, .hidden = 3072, .intermediate = 8192, .layers = 32},
//    .heads = {.queries = 32},
//    .form = {.fused_qkv = true, .fused_gate = true},
//    .rotary_part = 1.0,
//    .rest = WindowIfGiven},
#ifndef ONNXFLOPS_SRC_FAMILY_DECODER_FAMILIES_H_
#define ONNXFLOPS_SRC_FAMILY_DECODER_FAMILIES_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/family/config.h"
#include "src/family/decoder.h"

namespace onnxflops::family {

struct DecoderFamily {
  const char* model_type;
  const char* prefix;  // of the classes: "Llama" of LlamaForCausalLM
  // Defaults of the keys that all families have, as the reference implementation has them.
  struct Sizes {
    int64_t vocab, hidden, intermediate, layers;
  } sizes;
  struct Heads {
    int64_t queries;
    std::optional<int64_t> keys = {};  // default: as many as queries
    std::optional<int64_t> dim = {};   // hidden / queries
  } heads;
  const char* activation = "silu";
  const char* activation_key = "hidden_act";
  const char* newer_activation_key = nullptr;  // takes precedence if the file has it
  bool tied = false;
  DecoderForm form = {};
  // Keys that not all have.
  bool has_attention_bias = false, has_mlp_bias = false;
  std::optional<double> rotary_part = {};      // partial_rotary_factor
  std::optional<LatentAttention> latent = {};  // its defaults; then there is no head_dim
  // Settings that numbers cannot express: windows, experts, caps.
  void (*rest)(const Config& config, DecoderShape* shape) = nullptr;
};

absl::Span<const DecoderFamily> DecoderFamilies();
// nullptr if it is not a decoder family.
const DecoderFamily* FindDecoderFamily(absl::string_view model_type);

DecoderShape ReadDecoder(const Config& config, const DecoderFamily& family);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_DECODER_FAMILIES_H_
