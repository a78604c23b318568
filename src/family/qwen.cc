// Qwen2, Qwen3, and Qwen3 with experts.
#include <algorithm>
#include <vector>

#include "src/family/decoder.h"
#include "src/family/families.h"

namespace onnxflops::family {
namespace {

constexpr int64_t kQwenWindow = 4096, kMaxWindowLayers = 28;

// If they are used, windows are in all layers of a mixture of experts, and in those from
// max_window_layers on of the others.
void ReadQwenWindows(const Config& config, bool is_mixture, DecoderShape* s) {
  if (!config.Flag("use_sliding_window", false) || config.HasNull("sliding_window")) return;
  ReadWindows(config, config.Size("sliding_window", kQwenWindow), s);
  if (is_mixture || config.Has("layer_types")) return;
  const int64_t first = config.Integer("max_window_layers", kMaxWindowLayers, 0);
  std::fill_n(s->windows.begin(), std::min(first, s->layers), 0);
}

DecoderShape ReadQwen3(const Config& config, const char* prefix, const DecoderDefaults& defaults) {
  DecoderShape s = ReadDecoder(config, prefix, defaults);
  s.qkv_bias = s.out_bias = config.Flag("attention_bias", false);
  s.head_norms = true;
  return s;
}

}  // namespace

absl::StatusOr<std::string> BuildQwen2(const Config& config) {
  DecoderShape s = ReadDecoder(config, "Qwen2", {151936, 4096, 22016, 32, 32, 32});
  ReadHeadDim(config, std::nullopt, &s);
  s.qkv_bias = true;
  ReadQwenWindows(config, false, &s);
  return DecoderModel(config, s);
}

absl::StatusOr<std::string> BuildQwen3(const Config& config) {
  constexpr int64_t kHeadDim = 128;
  DecoderShape s = ReadQwen3(config, "Qwen3", {151936, 4096, 22016, 32, 32, 32});
  ReadHeadDim(config, kHeadDim, &s);
  ReadQwenWindows(config, false, &s);
  return DecoderModel(config, s);
}

absl::StatusOr<std::string> BuildQwen3Moe(const Config& config) {
  DecoderShape s = ReadQwen3(config, "Qwen3Moe", {151936, 2048, 6144, 24, 32, 4});
  ReadHeadDim(config, std::nullopt, &s);
  ReadQwenWindows(config, true, &s);
  const char* const kExperts[] = {"num_experts", "num_local_experts"};
  s.experts = {s.hidden, config.Size("moe_intermediate_size", 768), config.SizeOfAny(kExperts, 128),
               config.Size("num_experts_per_tok", 8), config.Flag("norm_topk_prob", false)};
  RequireExperts(config, s);
  const int64_t step = config.Size("decoder_sparse_step", 1);
  const std::vector<int64_t> dense = config.Indices("mlp_only_layers");
  for (int64_t i = 0; i < s.layers; ++i) {
    const bool listed = std::find(dense.begin(), dense.end(), i) != dense.end();
    s.has_experts.push_back(!listed && (i + 1) % step == 0);
  }
  return DecoderModel(config, s);
}

}  // namespace onnxflops::family
