// Hybrids with mixtures of experts: Granite 4 and Jamba. Their layers are as Bamba's.
#include "absl/strings/str_cat.h"
#include "src/family/builders.h"
#include "src/family/hybrid.h"

namespace onnxflops::family {
namespace {

constexpr DecoderFamily kGraniteMoeHybrid = {
    .model_type = "granitemoehybrid",
    .prefix = "GraniteMoeHybrid",
    .sizes = {.vocab = 32000, .hidden = 4096, .intermediate = 11008, .layers = 32},
    .heads = {.queries = 32},
    .form = {.scaled_input = true,
             .scaled_logits = true,
             .expert_names = {"block_sparse_moe", "MoE", "router"}},
    .has_attention_bias = true};
constexpr DecoderFamily kJamba = {
    .model_type = "jamba",
    .prefix = "Jamba",
    .sizes = {.vocab = 65536, .hidden = 4096, .intermediate = 14336, .layers = 32},
    .heads = {.queries = 32, .keys = 8},
    .form = {.expert_names = {.block = "feed_forward", .router = "router"},
             .final_norm = "final_layernorm"}};

void ReadHybridExperts(const Config& config, int64_t experts, bool normalize, DecoderShape* s) {
  s->experts = {s->hidden, s->intermediate, experts, config.Integer("num_experts_per_tok", 2, 0),
                normalize};
  if (s->experts.top_k >= 1 && s->experts.top_k <= experts) return;
  config.Fault("num_experts_per_tok",
               absl::StrCat("is ", s->experts.top_k, " of ", experts, " experts"));
}

// The shared expert, which each token runs through.
Tensor GraniteSharedMlp(GraphBuilder* b, const Tensor& x, const DecoderShape& s, int64_t inner) {
  const Scope mlp(b, "shared_mlp", "GraniteMoeHybridMLP");
  const std::vector<Tensor> parts =
      Split(b, Linear(b, x, "input_linear", s.hidden, 2 * inner, false), {inner, inner}, -1);
  const Tensor y = Mul(b, Activate(b, parts[0], s.activation), parts[1]);
  return Linear(b, y, "output_linear", inner, s.hidden, false);
}

MambaShape ReadJambaMixer(const Config& config, const DecoderShape& s) {
  MambaShape m;
  m.step = config.notes().decoding;
  m.hidden = s.hidden;
  m.inner = ReadInner(config, "mamba_expand", 2, s.hidden);
  m.state = config.Size("mamba_d_state", 16);
  m.kernel = config.Size("mamba_d_conv", 4);
  m.rank = ReadTimeStepRank(config, "mamba_dt_rank", s.hidden);
  m.conv_bias = config.Flag("mamba_conv_bias", true);
  m.in_bias = m.out_bias = config.Flag("mamba_proj_bias", false);
  m.activation = s.activation;
  m.norm_type = "JambaRMSNorm";
  return m;
}

// Every `period`-th layer, from `offset` on.
std::vector<bool> ReadPeriod(const Config& config, const char* period_key, int64_t period,
                             const char* offset_key, int64_t offset, int64_t layers) {
  period = config.Size(period_key, period);
  offset = config.Integer(offset_key, offset, 0);
  if (offset >= period) config.Fault(offset_key, absl::StrCat("should be below ", period_key));
  std::vector<bool> chosen;
  for (int64_t i = 0; i < layers; ++i) chosen.push_back(i % period == offset);
  return chosen;
}

}  // namespace

absl::StatusOr<std::string> BuildGraniteMoeHybrid(const Config& config) {
  DecoderShape s = ReadHybridDecoder(config, kGraniteMoeHybrid);
  config.Given("layer_types");
  const std::vector<bool> attends = ReadLayerTypes(config, "layer_types", s.layers);
  const Mamba2Shape mixer = ReadMixer(config, s, ReadInner(config, "mamba_expand", 2, s.hidden));
  const int64_t experts = config.Integer("num_local_experts", 8, 0);  // 0: the shared one is all
  if (experts > 0) ReadHybridExperts(config, experts, true, &s);
  const int64_t shared = config.Size("shared_intermediate_size", 1024);
  const bool rotated = config.Given("position_embedding_type") &&
                       config.Text("position_embedding_type", "") == "rope";
  s.unrotated.assign(static_cast<size_t>(s.layers), !rotated);
  return BuildHybrid(
      config, s, HybridModelOf(config, s, rotated),
      [&](GraphBuilder* b, Tensor x, const Rotation& angles, int64_t i) {
        const Scope layer(b, absl::StrCat("layers.", i), "GraniteMoeHybridDecoderLayer");
        Tensor normed = NormOfLayer(b, x, "input_layernorm", s);
        Tensor y = attends[static_cast<size_t>(i)]
                       ? AttendTokens(b, normed, angles, s, i)
                       : MixerOfLayer(b, normed, mixer, "GraniteMoeHybridMambaLayer", i);
        x = Add(b, x, Mul(b, y, Factor(b, 1)));
        normed = NormOfLayer(b, x, "post_attention_layernorm", s);
        const Tensor routed = experts > 0 ? DecoderExperts(b, normed, s) : Tensor();
        y = GraniteSharedMlp(b, normed, s, shared);
        if (experts > 0) y = Add(b, routed, y);
        return Add(b, x, Mul(b, y, Factor(b, 1)));
      });
}

absl::StatusOr<std::string> BuildJamba(const Config& config) {
  DecoderShape s = ReadHybridDecoder(config, kJamba);
  const MambaShape mixer = ReadJambaMixer(config, s);
  const std::vector<bool> attends =
      ReadPeriod(config, "attn_layer_period", 8, "attn_layer_offset", 4, s.layers);
  s.has_experts = ReadPeriod(config, "expert_layer_period", 2, "expert_layer_offset", 1, s.layers);
  const int64_t experts = config.Size("num_experts", 16);
  if (experts == 1) s.has_experts.assign(s.has_experts.size(), false);
  if (experts > 1) ReadHybridExperts(config, experts, false, &s);
  s.unrotated.assign(static_cast<size_t>(s.layers), true);
  return BuildHybrid(
      config, s, HybridModelOf(config, s, false),
      [&](GraphBuilder* b, Tensor x, const Rotation& angles, int64_t i) {
        const bool attention = attends[static_cast<size_t>(i)];
        const Scope layer(b, absl::StrCat("layers.", i),
                          attention ? "JambaAttentionDecoderLayer" : "JambaMambaDecoderLayer");
        Tensor y = NormOfLayer(b, x, "input_layernorm", s);
        if (attention) {
          y = AttendTokens(b, y, angles, s, i);
        } else {
          const Scope mamba(b, "mamba", "JambaMambaMixer");
          y = MambaMixer(b, y, mixer, i);
        }
        x = Add(b, x, y);
        y = NormOfLayer(b, x, "pre_ff_layernorm", s);
        return Add(b, x,
                   s.has_experts[static_cast<size_t>(i)] ? DecoderExperts(b, y, s)
                                                         : DecoderMlp(b, y, "feed_forward", s));
      });
}

}  // namespace onnxflops::family
