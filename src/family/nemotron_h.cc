// Nemotron-H: each layer is a norm and one part, which is a mixer, attention, an MLP or experts.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/family/builders.h"
#include "src/family/hybrid.h"

namespace onnxflops::family {
namespace {

constexpr DecoderFamily kNemotronH = {
    .model_type = "nemotron_h",
    .prefix = "NemotronH",
    .sizes = {.vocab = 131072, .hidden = 4096, .intermediate = 21504, .layers = 4},
    .heads = {.queries = 32, .keys = 8, .dim = 128},
    .activation = "relu2",
    .activation_key = "mlp_hidden_act",
    .form = {.gated = false, .final_norm = "norm_f"},
    .has_mlp_bias = true};

// A letter of hybrid_override_pattern, or a word of layers_block_type.
constexpr std::pair<char, absl::string_view> kNemotronParts[] = {
    {'M', kMixerLayer}, {'*', "full_attention"}, {'-', "mlp"}, {'E', "moe"}};

struct NemotronShape {
  DecoderShape decoder;
  Mamba2Shape mixer;
  std::string parts;  // a letter for each layer
  int64_t shared = 0, latent = 0;
};

std::string ReadNemotronPattern(const Config& config) {
  constexpr char kPattern[] = "hybrid_override_pattern";
  std::string letters = config.Text(kPattern, "");
  for (const char letter : letters) {
    if (std::any_of(std::begin(kNemotronParts), std::end(kNemotronParts),
                    [&](const auto& part) { return part.first == letter; })) {
      continue;
    }
    config.Fault(kPattern, absl::StrCat("is ", Quoted(letters), ": known are M, *, - and E"));
  }
  return letters;
}

std::string ReadNemotronParts(const Config& config) {
  constexpr char kTypes[] = "layers_block_type";
  std::string letters;
  if (const std::optional<std::vector<std::string>> types = config.Texts(kTypes)) {
    for (const std::string& type : *types) {
      const auto* part =
          std::find_if(std::begin(kNemotronParts), std::end(kNemotronParts),
                       [&](const auto& p) { return p.second == HybridLayerType(type); });
      if (part != std::end(kNemotronParts)) letters.push_back(part->first);
    }
    if (letters.size() != types->size()) {
      config.Fault(kTypes, "knows linear_attention, full_attention, mlp and moe");
    }
  } else if (config.Given("hybrid_override_pattern")) {
    letters = ReadNemotronPattern(config);
  } else {
    letters = "ME*-";
    config.Given(kTypes);
  }
  if (!letters.empty() && letters.size() <= kMaxConfigLayers) return letters;
  config.Fault(kTypes, absl::StrCat("has ", letters.size(), " layers: it should be 1 to ",
                                    kMaxConfigLayers));
  return "M";
}

Mamba2Shape ReadNemotronMixer(const Config& config, int64_t hidden) {
  Mamba2Shape m;
  m.step = config.notes().decoding;
  m.hidden = hidden;
  m.heads = config.Size("mamba_num_heads", 128);
  m.head_dim = config.Size("mamba_head_dim", 64);
  m.inner = m.heads * m.head_dim;
  m.groups = config.Size("n_groups", 8);
  m.state = config.Size("ssm_state_size", 128);
  m.kernel = config.Size("conv_kernel", 4);
  m.chunk = config.Size("chunk_size", 128);
  m.in_bias = m.out_bias = config.Flag("use_bias", false);
  m.conv_bias = config.Flag("use_conv_bias", true);
  m.activation = ReadActivation(config, "mamba_hidden_act", "silu");
  m.norm_type = "NemotronHRMSNormGated";
  if (m.inner > kMaxConfigSize) {
    config.Fault("mamba_head_dim", absl::StrCat("makes a mixer ", m.inner, " wide"));
    m.inner = m.heads = m.head_dim = 1;
  }
  RequireMamba2(config, "mamba_num_heads", "mamba_head_dim", "n_groups", m);
  return m;
}

// The name of a function in the operator of experts.
std::string ExpertFunction(const std::string& name) {
  if (name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh") return "fastgelu";
  if (name == "quick_gelu") return "quickgelu";
  return name == "gelu_python" ? "gelu" : name;
}

// Without a gate, and on a latent vector where the file has its size.
void ReadNemotronExperts(const Config& config, NemotronShape* s) {
  const int64_t experts = config.Size("n_routed_experts", 8);
  const int64_t top_k = config.Size("num_experts_per_tok", 2);
  if (config.Given("moe_latent_size")) s->latent = config.Size("moe_latent_size", 1);
  s->shared = config.Size("moe_shared_expert_intermediate_size", 7688);
  const DecoderShape& d = s->decoder;
  s->decoder.experts = {s->latent > 0 ? s->latent : d.hidden,
                        config.Size("moe_intermediate_size", 7688), experts, top_k,
                        config.Flag("norm_topk_prob", true)};
  s->decoder.experts.gated = false;
  s->decoder.experts.function = ExpertFunction(d.activation);
  const int64_t groups = config.Has("n_group") ? config.Size("n_group", 1) : 1;
  config.RequireDivisible("n_routed_experts", experts, "n_group", groups);
  if (top_k <= experts) return;
  config.Fault("num_experts_per_tok", absl::StrCat("is ", top_k, " of ", experts, " experts"));
}

NemotronShape ReadNemotronH(const Config& config) {
  NemotronShape s;
  s.parts = ReadNemotronParts(config);
  DecoderFamily row = kNemotronH;
  row.sizes.layers = static_cast<int64_t>(s.parts.size());
  s.decoder = ReadHybridDecoder(config, row);
  if (s.decoder.layers != row.sizes.layers) {
    config.Ignore("num_hidden_layers", absl::StrCat("the list has ", row.sizes.layers, " layers"));
    s.decoder.layers = row.sizes.layers;
  }
  if (s.decoder.tied) config.Ignore("tie_word_embeddings", "the class does not tie them");
  s.decoder.tied = false;
  s.decoder.unrotated.assign(s.parts.size(), true);
  s.mixer = ReadNemotronMixer(config, s.decoder.hidden);
  if (s.parts.find('E') != std::string::npos) ReadNemotronExperts(config, &s);
  return s;
}

Tensor NemotronExperts(GraphBuilder* b, const Tensor& in, const NemotronShape& s) {
  const DecoderShape& d = s.decoder;
  const Scope moe(b, "mixer", "NemotronHMoE");
  Tensor scores;
  {
    const Scope gate(b, "gate", "NemotronHTopkRouter");
    scores = b->Op("MatMul", {Reshape(b, in, {-1, d.hidden}),
                              b->Weight("weight", {d.hidden, d.experts.experts})});
  }
  Tensor x = in;
  if (s.latent > 0) x = Linear(b, x, "fc1_latent_proj", d.hidden, s.latent, d.mlp_bias);
  x = RoutedExperts(b, x, scores, d.experts, "NemotronHExperts");
  if (s.latent > 0) x = Linear(b, x, "fc2_latent_proj", s.latent, d.hidden, d.mlp_bias);
  DecoderShape shared = d;
  shared.intermediate = s.shared;
  return Add(b, x, DecoderMlp(b, in, "shared_experts", shared));
}

Tensor NemotronPart(GraphBuilder* b, const Tensor& x, const NemotronShape& s, int64_t i) {
  switch (s.parts[static_cast<size_t>(i)]) {
    case 'M': {
      const Scope mixer(b, "mixer", "NemotronHMamba2Mixer");
      return Mamba2Mixer(b, x, s.mixer, i);
    }
    case '*': {
      const Scope mixer(b, "mixer", "NemotronHAttention");
      return GroupedAttention(b, x, {}, s.decoder, i);
    }
    case 'E':
      return NemotronExperts(b, x, s);
    default:
      return DecoderMlp(b, x, "mixer", s.decoder);
  }
}

}  // namespace

absl::StatusOr<std::string> BuildNemotronH(const Config& config) {
  const NemotronShape s = ReadNemotronH(config);
  HybridModel model = HybridModelOf(config, s.decoder, false);
  model.embedding = "embeddings";
  return BuildHybrid(config, s.decoder, model,
                     [&](GraphBuilder* b, const Tensor& x, const Rotation& /*angles*/, int64_t i) {
                       const Scope layer(b, absl::StrCat("layers.", i), "NemotronHBlock");
                       return Add(b, x,
                                  NemotronPart(b, NormOfLayer(b, x, "norm", s.decoder), s, i));
                     });
}

}  // namespace onnxflops::family
