// How it works. Functions of the table of decoders (decoder_families.cc), by what they read. A rule
// that treats layers differently gives one entry per layer (windows, unrotated), so the builder
// (decoder.cc) does not depend on families. A value that makes no sense is a fault of the
// configuration, and the shape stays one that can be built.
#include "src/family/decoder_settings.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onnxflops::family {

// ---- heads

void ReadHeadDim(const Config& config, std::optional<int64_t> otherwise, DecoderShape* s) {
  if (!config.Has("head_dim") && !otherwise) {
    config.RequireDivisible("hidden_size", s->hidden, "num_attention_heads", s->heads);
  }
  const int64_t even = std::max<int64_t>(s->hidden / s->heads, 1);
  s->head_dim = config.Size("head_dim", otherwise.value_or(even));
  if (s->head_dim % 2 != 0) config.Fault("head_dim", "is odd: features are rotated in pairs");
  s->rotary_dim = s->head_dim;
}

// Newer files have the part of a head that is rotated among the parameters of the rotation, where
// it takes precedence.
std::optional<double> NestedRotaryPart(const Config& config) {
  constexpr char kPart[] = "partial_rotary_factor";
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!config.Has(key)) continue;
    const Config parameters = config.Child(key);
    if (parameters.Has(kPart)) return parameters.Real(kPart, 1);
  }
  return std::nullopt;
}

void ReadLatent(const Config& config, const LatentAttention& otherwise, DecoderShape* s) {
  LatentAttention m;
  // Files of small models have q_lora_rank: null, and project queries at once.
  m.q_rank = config.HasNull("q_lora_rank") ? 0 : config.Size("q_lora_rank", otherwise.q_rank);
  m.kv_rank = config.Size("kv_lora_rank", otherwise.kv_rank);
  m.nope_dim = config.Size("qk_nope_head_dim", otherwise.nope_dim);
  m.rope_dim = config.Size("qk_rope_head_dim", otherwise.rope_dim);
  m.value_dim = config.Size("v_head_dim", otherwise.value_dim);
  if (m.rope_dim % 2 != 0) config.Fault("qk_rope_head_dim", "is odd");
  s->latent = m;
}

// ---- windows

// The layers with a window: "layer_types", or sliding_window for all.
void ReadWindows(const Config& config, int64_t window, DecoderShape* s) {
  const auto layers = static_cast<size_t>(s->layers);
  if (window < kLeastWindow) {
    config.Fault("sliding_window",
                 absl::StrCat("is ", window, ": known are ", kLeastWindow, " and more"));
  }
  s->windows.assign(layers, window);
  const std::optional<std::vector<std::string>> types = config.Texts("layer_types");
  if (!types) return;
  if (types->size() != layers) {
    return config.Fault("layer_types",
                        absl::StrCat("has ", types->size(), " entries for ", layers, " layers"));
  }
  for (size_t i = 0; i < layers; ++i) {
    const bool sliding = (*types)[i] == "sliding_attention";
    if (!sliding && (*types)[i] != "full_attention") {
      return config.Fault("layer_types", "knows full_attention and sliding_attention");
    }
    s->windows[i] = sliding ? window : 0;
  }
}

void WindowIfGiven(const Config& config, DecoderShape* s) {
  if (config.Has("sliding_window")) ReadWindows(config, config.Size("sliding_window", 1), s);
}

void WindowUnlessNull(const Config& config, DecoderShape* s) {
  if (config.HasNull("sliding_window")) return;
  ReadWindows(config, config.Size("sliding_window", kUsualWindow), s);
}

// Without a list of the layers with windows, all layers have one except each `pattern`-th.
void ReadGemmaWindows(const Config& config, int64_t pattern, DecoderShape* s, int64_t window) {
  ReadWindows(config, config.Size("sliding_window", window), s);
  if (config.Has("layer_types")) return;
  for (size_t i = 0; i < s->windows.size(); ++i) {
    if ((i + 1) % static_cast<size_t>(pattern) == 0) s->windows[i] = 0;
  }
}

// If windows are used: in a mixture of experts all layers have one, in other models the layers from
// max_window_layers on.
void ReadQwenWindows(const Config& config, bool is_mixture, DecoderShape* s) {
  if (!config.Flag("use_sliding_window", false) || config.HasNull("sliding_window")) return;
  ReadWindows(config, config.Size("sliding_window", kUsualWindow), s);
  if (is_mixture || config.Has("layer_types")) return;
  constexpr int64_t kMaxWindowLayers = 28;
  const int64_t first = config.Integer("max_window_layers", kMaxWindowLayers, 0);
  std::fill_n(s->windows.begin(), std::min(first, s->layers), 0);
}

// Without a list, the layers from max_window_layers on.
void ReadDotsWindows(const Config& config, DecoderShape* s) {
  WindowUnlessNull(config, s);
  if (s->windows.empty() || config.Has("layer_types")) return;
  const int64_t first = config.Integer("max_window_layers", 62, 0);
  std::fill_n(s->windows.begin(), std::min(first, s->layers), 0);
}

void QwenWindows(const Config& config, DecoderShape* s) { ReadQwenWindows(config, false, s); }

// ---- layers without positions

// Those are listed, 0 for a layer without positions, or they are each interval-th.
void RestOfSmolLm3(const Config& config, DecoderShape* s) {
  const auto layers = static_cast<size_t>(s->layers);
  const int64_t interval = config.Size("no_rope_layer_interval", 4);
  const bool listed = config.Has("no_rope_layers");
  const std::vector<int64_t> rotated = config.Indices("no_rope_layers");
  if (listed && rotated.size() != layers) {
    return config.Fault("no_rope_layers",
                        absl::StrCat("has ", rotated.size(), " entries for ", layers, " layers"));
  }
  for (size_t i = 0; i < layers; ++i) {
    s->unrotated.push_back(listed ? rotated[i] == 0
                                  : (static_cast<int64_t>(i) + 1) % interval == 0);
  }
  if (!config.Flag("use_sliding_window", false) || !config.Has("sliding_window")) return;
  ReadWindows(config, config.Size("sliding_window", kUsualWindow), s);
  if (config.Has("layer_types")) return;
  for (size_t i = 0; i < s->windows.size(); ++i) {
    if (!s->unrotated[i]) s->windows[i] = 0;
  }
}

// Only layers with a window have positions.
void RotatedInWindows(const Config& config, DecoderShape* s) {
  ReadGemmaWindows(config, config.Has("layer_types") ? 1 : config.Size("sliding_window_pattern", 4),
                   s);
  for (const int64_t window : s->windows) s->unrotated.push_back(window == 0);
}

void RestOfExaone4(const Config& config, DecoderShape* s) {
  if (!config.HasNull("sliding_window")) RotatedInWindows(config, s);
}

// Layers have a window, but the first and each fourth after it.
void RestOfCwm(const Config& config, DecoderShape* s) {
  ReadWindows(config, config.Size("sliding_window", 8192), s);
  if (config.Has("layer_types")) return;
  for (size_t i = 0; i < s->windows.size(); i += 4) s->windows[i] = 0;
}

void RestOfOlmo3(const Config& config, DecoderShape* s) { ReadGemmaWindows(config, 4, s); }

namespace {

// ---- biases

void ReadUseBias(const Config& config, bool otherwise, DecoderShape* s) {
  s->qkv_bias = s->out_bias = s->mlp_bias = config.Flag("use_bias", otherwise);
}

}  // namespace

void RestOfErnie(const Config& config, DecoderShape* s) { ReadUseBias(config, false, s); }

void RestOfStarcoder2(const Config& config, DecoderShape* s) {
  ReadUseBias(config, true, s);
  WindowIfGiven(config, s);
}

void BiasUnlessFalse(const Config& config, DecoderShape* s) {
  s->qkv_bias = config.Flag("attention_bias", true);
}

void RestOfSeedOss(const Config& config, DecoderShape* s) {
  BiasUnlessFalse(config, s);
  s->out_bias = config.Flag("attention_out_bias", false);
}

void RestOfJais2(const Config& config, DecoderShape* s) {
  s->qkv_bias = s->out_bias = config.Flag("attention_bias", true);
  s->mlp_bias = config.Flag("mlp_bias", true);
}

// The output has no bias, and its weight is square.
void RestOfHelium(const Config& config, DecoderShape* s) {
  s->qkv_bias = config.Flag("attention_bias", false);
  s->mlp_bias = config.Flag("mlp_bias", false);
  if (s->heads * s->head_dim == s->hidden) return;
  config.Fault("head_dim", "should be hidden_size by num_attention_heads");
}

void NoClipping(const Config& config, DecoderShape* /*s*/) {
  if (config.Has("clip_qkv")) config.Fault("clip_qkv", "is not known: it clips Q, K and V");
}

// ---- norms of heads

void RestOfCohere(const Config& config, DecoderShape* s) {
  s->head_norms = config.Flag("use_qk_norm", false);
}

void RestOfPhi(const Config& config, DecoderShape* s) {
  s->head_norms = config.Flag("qk_layernorm", false);
}

void RestOfStableLm(const Config& config, DecoderShape* s) {
  RestOfPhi(config, s);
  s->qkv_bias = config.Flag("use_qkv_bias", false);
  s->parallel = config.Flag("use_parallel_residual", false);
}

namespace {

// ---- caps of scores and logits

double Cap(const Config& config, const char* key, double otherwise) {
  if (otherwise == 0 && !config.Has(key)) return 0;
  return config.Real(key, otherwise);
}

}  // namespace

void RestOfNanoChat(const Config& config, DecoderShape* s) {
  constexpr char kCap[] = "final_logit_softcapping";
  if (!config.HasNull(kCap)) s->output_softcap = Cap(config, kCap, 15);
}

void RestOfGemma(const Config& config, DecoderShape* s) {
  constexpr char kBoth[] = "use_bidirectional_attention";
  s->causal = !config.Given(kBoth) || !config.Flag(kBoth, false);
}

void RestOfGemma2(const Config& config, DecoderShape* s) {
  RestOfGemma(config, s);
  s->attention_softcap = Cap(config, "attn_logit_softcapping", 50);
  s->output_softcap = Cap(config, "final_logit_softcapping", 30);
  ReadGemmaWindows(config, 2, s);
}

void RestOfGemma3(const Config& config, DecoderShape* s) {
  s->attention_softcap = Cap(config, "attn_logit_softcapping", 0);
  s->output_softcap = Cap(config, "final_logit_softcapping", 0);
  const char* const kPattern[] = {"sliding_window_pattern", "_sliding_window_pattern"};
  ReadGemmaWindows(config, config.Has("layer_types") ? 1 : config.SizeOfAny(kPattern, 6), s);
  RestOfGemma(config, s);
  if (s->causal) return;
  // The window is that of both sides.
  for (int64_t& window : s->windows) window = window > 0 ? window / 2 + 1 : 0;
}

// ---- norms of families of their own

void RestOfBitNet(const Config& config, DecoderShape* s) {
  if (s->heads * s->head_dim == s->hidden) return;
  config.Fault("head_dim", "should be hidden_size by num_attention_heads");
}

void RestOfHyperClovaX(const Config& config, DecoderShape* s) {
  if (!config.Flag("use_post_norm", true)) return;
  s->norms.after_attention = "post_norm1";
  s->norms.after_mlp = "post_norm2";
}

void ReadRotaryPart(const Config& config, const char* key, double otherwise, DecoderShape* s) {
  const std::optional<double> nested = NestedRotaryPart(config);
  const double part = nested ? *nested : config.Real(key, otherwise);
  s->rotary_dim = static_cast<int64_t>(static_cast<double>(s->head_dim) * std::min(part, 1.0));
  if (s->rotary_dim < 2 || s->rotary_dim % 2 != 0) {
    config.Fault(key, absl::StrCat("rotates ", s->rotary_dim, " features of a head: it should be ",
                                   "an even number above 0"));
  }
}

}  // namespace onnxflops::family
