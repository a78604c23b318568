// How it works. A hybrid takes attention, MLPs and experts from the decoders (decoder.h), and
// mixers from state_space.h. The families here are layers of these parts: a norm, attention or a
// mixer (in Falcon-H1 both), a norm, and an MLP or experts. A row of a decoder's family reads the
// keys that they share with other decoders.
//
// The graph of a text has no cache. That of a step has one token: keys and values of layers with
// attention, which grow, and the states of the mixers, which do not.
#include "src/family/hybrid.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

constexpr DecoderFamily kBamba = {
    .model_type = "bamba",
    .prefix = "Bamba",
    .sizes = {.vocab = 128000, .hidden = 4096, .intermediate = 14336, .layers = 32},
    .heads = {.queries = 32, .keys = 8},
    .form = {.final_norm = "final_layernorm"},
    .has_attention_bias = true,
    .has_mlp_bias = true,
    .rotary_part = 0.5};
constexpr DecoderFamily kFalconH1 = {
    .model_type = "falcon_h1",
    .prefix = "FalconH1",
    .sizes = {.vocab = 128000, .hidden = 4096, .intermediate = 14336, .layers = 32},
    .heads = {.queries = 32, .keys = 8},
    .form = {.scaled_input = true, .scaled_keys = true, .final_norm = "final_layernorm"},
    .has_attention_bias = true,
    .has_mlp_bias = true};

Tensor TimesNumber(GraphBuilder* b, const Tensor& x) { return Mul(b, x, Factor(b, 1)); }

}  // namespace

DecoderShape ReadHybridDecoder(const Config& config, const DecoderFamily& family) {
  DecoderFamily row = family;
  if (config.HasNull("num_key_value_heads")) row.heads.keys = std::nullopt;  // as many as queries
  DecoderShape s = ReadDecoder(config, row);
  s.cached = config.notes().decoding;
  if (s.cached) s.new_tokens = "1";
  return s;
}

Mamba2Shape ReadMixer(const Config& config, const DecoderShape& decoder, int64_t inner) {
  Mamba2Shape s;
  s.step = config.notes().decoding;
  s.hidden = decoder.hidden;
  s.inner = inner;
  s.activation = decoder.activation;
  s.heads = config.Size("mamba_n_heads", 128);
  s.groups = config.Size("mamba_n_groups", 1);
  s.state = config.Size("mamba_d_state", 256);
  s.kernel = config.Size("mamba_d_conv", 4);
  s.chunk = config.Size("mamba_chunk_size", 256);
  const int64_t even = std::max<int64_t>(s.inner / s.heads, 1);
  s.head_dim = config.HasText("mamba_d_head") ? even : config.Size("mamba_d_head", even);
  s.conv_bias = config.Flag("mamba_conv_bias", true);
  s.in_bias = s.out_bias = config.Flag("mamba_proj_bias", false);
  s.norm_type = absl::StrCat(decoder.prefix, "RMSNormGated");
  RequireMamba2(config, "mamba_n_heads", "mamba_d_head", "mamba_n_groups", s);
  return s;
}

Tensor AttendTokens(GraphBuilder* b, const Tensor& normed, const Rotation& angles,
                    const DecoderShape& s, int64_t layer) {
  const Scope attention(b, "self_attn", absl::StrCat(s.prefix, "Attention"));
  return GroupedAttention(b, normed, angles, s, layer);
}

Tensor MixerOfLayer(GraphBuilder* b, const Tensor& normed, const Mamba2Shape& mixer,
                    const std::string& type, int64_t layer) {
  const Scope mamba(b, "mamba", type);
  return Mamba2Mixer(b, normed, mixer, layer);
}

Tensor NormOfLayer(GraphBuilder* b, const Tensor& x, const char* name, const DecoderShape& s) {
  return RmsNorm(b, x, name, s.hidden, absl::StrCat(s.prefix, "RMSNorm"));
}

std::vector<bool> ReadLayerTypes(const Config& config, const char* key, int64_t layers,
                                 absl::string_view type) {
  const auto count = static_cast<size_t>(layers);
  std::vector<bool> found(count);
  const std::optional<std::vector<std::string>> types = config.Texts(key);
  if (!types) return found;
  if (types->size() != count) {
    config.Fault(key, absl::StrCat("has ", types->size(), " entries for ", layers, " layers"));
    return found;
  }
  for (size_t i = 0; i < count; ++i) {
    const std::string name = HybridLayerType((*types)[i]);
    found[i] = name == type;
    if (found[i] || name == kMixerLayer) continue;
    config.Fault(key, absl::StrCat("knows ", kMixerLayer, " and ", type));
  }
  return found;
}

std::string HybridLayerType(absl::string_view name) {
  if (name == "mamba") return std::string(kMixerLayer);
  return name == "attention" ? "full_attention" : std::string(name);
}

HybridModel HybridModelOf(const Config& config, const DecoderShape& s, bool rotated) {
  HybridModel model = {.language = LanguageModelOf(s)};
  model.language.tokens = NewTokens(config);
  model.language.positioned = rotated;
  return model;
}

absl::StatusOr<std::string> BuildHybrid(const Config& config, const DecoderShape& s,
                                        const HybridModel& model, const HybridLayerFn& layer) {
  return CausalModel(
      config, model.language,
      [&](GraphBuilder* b, const Tensor& ids, const Tensor& positions, Tensor* table) {
        Tensor x = Embedding(b, ids, model.embedding, s.vocab, s.hidden, table);
        if (s.scaled_input) x = TimesNumber(b, x);
        Rotation angles;
        if (model.language.positioned) {
          angles = RotaryAngles(b, positions, s.rotary_dim, "rotary_emb",
                                absl::StrCat(s.prefix, "RotaryEmbedding"));
        }
        for (int64_t i = 0; i < s.layers; ++i) x = layer(b, x, angles, i);
        return NormOfLayer(b, x, s.final_norm, s);
      });
}

absl::StatusOr<std::string> BuildBamba(const Config& config) {
  const DecoderShape s = ReadHybridDecoder(config, kBamba);
  const Mamba2Shape mixer = ReadMixer(config, s, ReadInner(config, "mamba_expand", 2, s.hidden));
  std::vector<bool> attends(static_cast<size_t>(s.layers));
  config.Given("attn_layer_indices");
  for (const int64_t i : config.Indices("attn_layer_indices")) {
    if (i < s.layers) attends[static_cast<size_t>(i)] = true;
  }
  return BuildHybrid(
      config, s, HybridModelOf(config, s, true),
      [&](GraphBuilder* b, Tensor x, const Rotation& angles, int64_t i) {
        const Scope layer(b, absl::StrCat("layers.", i), "BambaDecoderLayer");
        const Tensor normed = NormOfLayer(b, x, "input_layernorm", s);
        x = Add(b, x,
                attends[static_cast<size_t>(i)] ? AttendTokens(b, normed, angles, s, i)
                                                : MixerOfLayer(b, normed, mixer, "BambaMixer", i));
        return Add(b, x,
                   DecoderMlp(b, NormOfLayer(b, x, "pre_ff_layernorm", s), "feed_forward", s));
      });
}

namespace {

Mamba2Shape ReadFalconMixer(const Config& config, const DecoderShape& s) {
  const int64_t inner = config.HasNull("mamba_d_ssm")
                            ? ReadInner(config, "mamba_expand", 2, s.hidden)
                            : config.Size("mamba_d_ssm", 1024);
  Mamba2Shape mixer = ReadMixer(config, s, inner);
  mixer.scaled = true;
  mixer.out_bias = config.Flag("projectors_bias", false);
  mixer.norm = GatedNorm::kNone;
  if (config.Flag("mamba_rms_norm", false)) {
    mixer.norm =
        config.Flag("mamba_norm_before_gate", true) ? GatedNorm::kNormFirst : GatedNorm::kGateFirst;
  }
  return mixer;
}

// Its gate and its result are times numbers of the configuration.
Tensor FalconMlp(GraphBuilder* b, const Tensor& x, const DecoderShape& s) {
  const Scope mlp(b, "feed_forward", "FalconH1MLP");
  const int64_t inner = s.intermediate;
  const Tensor up = Linear(b, x, "up_proj", s.hidden, inner, s.mlp_bias);
  const Tensor gate = TimesNumber(b, Linear(b, x, "gate_proj", s.hidden, inner, s.mlp_bias));
  const Tensor y = Mul(b, up, Activate(b, gate, s.activation));
  return TimesNumber(b, Linear(b, y, "down_proj", inner, s.hidden, s.mlp_bias));
}

}  // namespace

absl::StatusOr<std::string> BuildFalconH1(const Config& config) {
  const DecoderShape s = ReadHybridDecoder(config, kFalconH1);
  const Mamba2Shape mixer = ReadFalconMixer(config, s);
  HybridModel model = HybridModelOf(config, s, true);
  model.language.multiplied = true;
  return BuildHybrid(
      config, s, model, [&](GraphBuilder* b, Tensor x, const Rotation& angles, int64_t i) {
        const Scope layer(b, absl::StrCat("layers.", i), "FalconH1DecoderLayer");
        const Tensor normed = NormOfLayer(b, x, "input_layernorm", s);
        const Tensor mixed = TimesNumber(b, MixerOfLayer(b, normed, mixer, "FalconH1Mixer", i));
        const Tensor seen = TimesNumber(b, AttendTokens(b, TimesNumber(b, normed), angles, s, i));
        x = Add(b, x, Add(b, mixed, seen));
        return Add(b, x, FalconMlp(b, NormOfLayer(b, x, "pre_ff_layernorm", s), s));
      });
}

}  // namespace onnxflops::family
