#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"
#include "src/family/state_space.h"

namespace onnxflops::family {
namespace {

// Of a model whose layers are a norm and a mixer.
struct MixerModel {
  const char* prefix;
  int64_t vocab, hidden, layers;
  bool tied;
};

MambaShape ReadMamba(const Config& config) {
  MambaShape s;
  s.step = config.notes().decoding;
  s.hidden = config.Size("hidden_size", 768);
  s.state = config.Size("state_size", 16);
  s.kernel = config.Size("conv_kernel", 4);
  // Published files have both, and they agree.
  s.inner = config.Size("intermediate_size", ReadInner(config, "expand", 2, s.hidden));
  s.in_bias = s.out_bias = config.Flag("use_bias", false);
  s.conv_bias = config.Flag("use_conv_bias", true);
  s.activation = ReadActivation(config, "hidden_act", "silu");
  s.rank = ReadTimeStepRank(config, "time_step_rank", s.hidden);
  return s;
}

Mamba2Shape ReadMamba2(const Config& config) {
  Mamba2Shape s;
  s.step = config.notes().decoding;
  s.hidden = config.Size("hidden_size", 4096);
  s.state = config.Size("state_size", 128);
  s.kernel = config.Size("conv_kernel", 4);
  s.inner = ReadInner(config, "expand", 2, s.hidden);
  s.heads = config.Size("num_heads", 128);
  s.head_dim = config.Size("head_dim", 64);
  s.groups = config.Size("n_groups", 8);
  s.chunk = config.Size("chunk_size", 256);
  s.in_bias = s.out_bias = config.Flag("use_bias", false);
  s.conv_bias = config.Flag("use_conv_bias", true);
  s.activation = ReadActivation(config, "hidden_act", "silu");
  s.norm_type = "MambaRMSNormGated";
  RequireMamba2(config, "num_heads", "head_dim", "n_groups", s);
  return s;
}

absl::StatusOr<std::string> MixerLanguageModel(
    const Config& config, const MixerModel& m,
    const std::function<Tensor(GraphBuilder* b, const Tensor& x, int64_t layer)>& mix) {
  const LanguageModel model = {.with_head = absl::StrCat(m.prefix, "ForCausalLM"),
                               .without_head = absl::StrCat(m.prefix, "Model"),
                               .body = "backbone",
                               .vocab = m.vocab,
                               .hidden = m.hidden,
                               .tied = m.tied,
                               .tokens = NewTokens(config),
                               .positioned = false};
  const std::string norm = absl::StrCat(m.prefix, "RMSNorm");
  return CausalModel(
      config, model,
      [&](GraphBuilder* b, const Tensor& ids, const Tensor& /*positions*/, Tensor* table) {
        Tensor x = Embedding(b, ids, "embeddings", m.vocab, m.hidden, table);
        for (int64_t i = 0; i < m.layers; ++i) {
          const Scope layer(b, absl::StrCat("layers.", i), absl::StrCat(m.prefix, "Block"));
          const Tensor normed = RmsNorm(b, x, "norm", m.hidden, norm);
          const Scope mixer(b, "mixer", absl::StrCat(m.prefix, "Mixer"));
          x = Add(b, x, mix(b, normed, i));
        }
        return RmsNorm(b, x, "norm_f", m.hidden, norm);
      });
}

}  // namespace

absl::StatusOr<std::string> BuildMamba(const Config& config) {
  const MambaShape s = ReadMamba(config);
  const MixerModel model = {"Mamba", config.Size("vocab_size", 50280), s.hidden,
                            config.Layers("num_hidden_layers", 32),
                            config.Flag("tie_word_embeddings", true)};
  return MixerLanguageModel(config, model, [&](GraphBuilder* b, const Tensor& x, int64_t i) {
    return MambaMixer(b, x, s, i);
  });
}

absl::StatusOr<std::string> BuildMamba2(const Config& config) {
  const Mamba2Shape s = ReadMamba2(config);
  const MixerModel model = {"Mamba2", config.Size("vocab_size", 32768), s.hidden,
                            config.Layers("num_hidden_layers", 64),
                            config.Flag("tie_word_embeddings", false)};
  return MixerLanguageModel(config, model, [&](GraphBuilder* b, const Tensor& x, int64_t i) {
    return Mamba2Mixer(b, x, s, i);
  });
}

}  // namespace onnxflops::family
