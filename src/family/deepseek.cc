// DeepSeek-V2 and -V3: latent attention, and experts of which some are shared.
#include "src/family/decoder.h"
#include "src/family/families.h"

namespace onnxflops::family {
namespace {

struct DeepseekDefaults {
  int64_t dense_layers, experts, shared, expert_width;
  bool normalize;
};

void ReadLatent(const Config& config, DecoderShape* s) {
  LatentAttention m;
  // Files of small models have q_lora_rank: null, and project queries at once.
  constexpr int64_t kQueryRank = 1536, kRank = 512, kDim = 128, kRope = 64;
  m.q_rank = config.HasNull("q_lora_rank") ? 0 : config.Size("q_lora_rank", kQueryRank);
  m.kv_rank = config.Size("kv_lora_rank", kRank);
  m.nope_dim = config.Size("qk_nope_head_dim", kDim);
  m.rope_dim = config.Size("qk_rope_head_dim", kRope);
  m.value_dim = config.Size("v_head_dim", kDim);
  if (m.rope_dim % 2 != 0) config.Fault("qk_rope_head_dim", "is odd");
  s->latent = m;
  s->qkv_bias = config.Flag("attention_bias", false);
}

void ReadDeepseekExperts(const Config& config, const DeepseekDefaults& d, DecoderShape* s) {
  const int64_t width = config.Size("moe_intermediate_size", d.expert_width);
  const int64_t shared = config.Integer("n_shared_experts", d.shared, 0);
  s->experts = {s->hidden, width, config.Size("n_routed_experts", d.experts),
                config.Size("num_experts_per_tok", 8), config.Flag("norm_topk_prob", d.normalize)};
  s->shared_intermediate = shared * width;
  RequireExperts(config, *s);
  const int64_t dense = config.Integer("first_k_dense_replace", d.dense_layers, 0);
  for (int64_t i = 0; i < s->layers; ++i) s->has_experts.push_back(i >= dense);
}

}  // namespace

absl::StatusOr<std::string> BuildDeepseekV2(const Config& config) {
  DecoderShape s = ReadDecoder(config, "DeepseekV2", {102400, 4096, 11008, 32, 32, 0});
  ReadLatent(config, &s);
  if (!config.Has("num_experts_per_tok")) config.Fault("num_experts_per_tok", "is missing");
  s.mlp_bias = config.Flag("mlp_bias", false);
  ReadDeepseekExperts(config, {0, 64, 2, 1407, false}, &s);
  return DecoderModel(config, s);
}

absl::StatusOr<std::string> BuildDeepseekV3(const Config& config) {
  DecoderShape s = ReadDecoder(config, "DeepseekV3", {129280, 7168, 18432, 61, 128, 128});
  ReadLatent(config, &s);
  ReadDeepseekExperts(config, {3, 256, 1, 2048, true}, &s);
  return DecoderModel(config, s);
}

}  // namespace onnxflops::family
