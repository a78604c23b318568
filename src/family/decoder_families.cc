// How it works. A row of the table of decoders reads a configuration in three steps: first the keys
// that all families have, then those that the row names, then those that need a function of the
// family (`rest`).
//
// Numbers of a row are the defaults of transformers' configuration class, because a file may leave
// out any key. A family has a function only for what no row can hold: keys of its own, and rules
// that treat layers differently (which have a window, which are mixtures of experts). Such a rule
// gives one entry per layer (windows, has_experts), so the builder (decoder.cc) does not depend on
// families.
#include "src/family/decoder_families.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/state_layers.h"

namespace onnxflops::family {
void ReadSparseLayers(const Config& config, DecoderShape* s) {
  const int64_t step = config.Size("decoder_sparse_step", 1);
  const std::vector<int64_t> dense = config.Indices("mlp_only_layers");
  for (int64_t i = 0; i < s->layers; ++i) {
    const bool listed = std::find(dense.begin(), dense.end(), i) != dense.end();
    s->has_experts.push_back(!listed && (i + 1) % step == 0);
  }
}

namespace {

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

constexpr int64_t kWindow = 4096;
constexpr int64_t kLeastWindow = 3;  // a smaller one keeps a past of 1 or 0, which has no formula

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
  ReadWindows(config, config.Size("sliding_window", kWindow), s);
}

// Without a list of the layers with windows, all layers have one except each `pattern`-th.
void ReadGemmaWindows(const Config& config, int64_t pattern, DecoderShape* s,
                      int64_t window = kWindow) {
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
  ReadWindows(config, config.Size("sliding_window", kWindow), s);
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
  ReadWindows(config, config.Size("sliding_window", kWindow), s);
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

// ---- biases

void ReadUseBias(const Config& config, bool otherwise, DecoderShape* s) {
  s->qkv_bias = s->out_bias = s->mlp_bias = config.Flag("use_bias", otherwise);
}

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

// ---- caps of scores and logits

double Cap(const Config& config, const char* key, double otherwise) {
  if (otherwise == 0 && !config.Has(key)) return 0;
  return config.Real(key, otherwise);
}

void RestOfNanoChat(const Config& config, DecoderShape* s) {
  constexpr char kCap[] = "final_logit_softcapping";
  if (!config.HasNull(kCap)) s->output_softcap = Cap(config, kCap, 15);
}

void RestOfGemma2(const Config& config, DecoderShape* s) {
  s->attention_softcap = Cap(config, "attn_logit_softcapping", 50);
  s->output_softcap = Cap(config, "final_logit_softcapping", 30);
  ReadGemmaWindows(config, 2, s);
}

void RestOfGemma3(const Config& config, DecoderShape* s) {
  s->attention_softcap = Cap(config, "attn_logit_softcapping", 0);
  s->output_softcap = Cap(config, "final_logit_softcapping", 0);
  const char* const kPattern[] = {"sliding_window_pattern", "_sliding_window_pattern"};
  ReadGemmaWindows(config, config.Has("layer_types") ? 1 : config.SizeOfAny(kPattern, 6), s);
}

// ---- experts

// A fault where more experts are taken than there are.
void RequireExperts(const Config& config, const DecoderShape& s) {
  if (s.experts.top_k <= s.experts.experts) return;
  config.Fault("num_experts_per_tok",
               absl::StrCat("is ", s.experts.top_k, " of ", s.experts.experts, " experts"));
}

// Mixtures in all layers, as wide as intermediate_size.
void ReadLocalExperts(const Config& config, int64_t experts, int64_t top_k, DecoderShape* s) {
  s->has_experts.assign(static_cast<size_t>(s->layers), true);
  s->experts = {s->hidden, s->intermediate, config.Size("num_local_experts", experts),
                config.Size("num_experts_per_tok", top_k), /*normalize=*/true};
  RequireExperts(config, *s);
}

void RestOfMixtral(const Config& config, DecoderShape* s) {
  WindowIfGiven(config, s);
  ReadLocalExperts(config, 8, 2, s);
}

void RestOfGraniteMoe(const Config& config, DecoderShape* s) { ReadLocalExperts(config, 8, 2, s); }

void RestOfGptOss(const Config& config, DecoderShape* s) {
  s->qkv_bias = s->out_bias = config.Flag("attention_bias", true);
  ReadGemmaWindows(config, 2, s, 128);
  ReadLocalExperts(config, 128, 4, s);
  s->experts.biased = s->experts.clamped = true;
}

// Files have the part of a head that is rotated, or else rotary_dim.
void RestOfMiniMaxM2(const Config& config, DecoderShape* s) {
  ReadLocalExperts(config, 256, 8, s);
  constexpr char kPart[] = "partial_rotary_factor";
  if (!config.Has("rotary_dim") || config.Has(kPart) || NestedRotaryPart(config)) {
    return ReadRotaryPart(config, kPart, 1, s);
  }
  s->rotary_dim = config.Size("rotary_dim", s->head_dim);
  if (s->rotary_dim % 2 == 0 && s->rotary_dim <= s->head_dim) return;
  config.Fault("rotary_dim", absl::StrCat("is ", s->rotary_dim, ": it should be even, and at most ",
                                          s->head_dim));
  s->rotary_dim = s->head_dim;
}

// Layers from the start to the end index that the interval divides, counted from 1.
void RestOfErnieMoe(const Config& config, DecoderShape* s) {
  RestOfErnie(config, s);
  s->head_bias = s->mlp_bias;
  const int64_t width = config.Size("moe_intermediate_size", 1536);
  s->experts = {s->hidden, width, config.Size("moe_num_experts", 64), config.Size("moe_k", 6),
                /*normalize=*/true};
  if (s->experts.top_k > s->experts.experts) {
    config.Fault("moe_k",
                 absl::StrCat("is ", s->experts.top_k, " of ", s->experts.experts, " experts"));
  }
  s->shared_intermediate = width * config.Integer("moe_num_shared_experts", 2, 0);
  const int64_t first = config.Integer("moe_layer_start_index", 1, 0);
  const int64_t end = config.Integer("moe_layer_end_index", -1, -1);
  const int64_t last = end < 0 ? s->layers - 1 : end;
  const int64_t interval = config.Size("moe_layer_interval", 1);
  for (int64_t i = 0; i < s->layers; ++i) {
    s->has_experts.push_back(i >= first && i <= last && (i + 1) % interval == 0);
  }
}

// The keys of a mixture of experts, and their defaults.
void ReadExperts(const Config& config, int64_t width, int64_t experts, int64_t top_k,
                 DecoderShape* s) {
  const char* const kExperts[] = {"num_experts", "num_local_experts"};
  s->experts = {s->hidden, width, config.SizeOfAny(kExperts, experts),
                config.Size("num_experts_per_tok", top_k), config.Flag("norm_topk_prob", false)};
  RequireExperts(config, *s);
}

// ---- Llama 4

// Chunks of tokens see themselves alone, in the layers with positions. A cache keeps as much of a
// chunk as of a window, and eager attention has the same products. With --causal half, the pairs
// are those of a window, which are more than those of chunks.
void ReadChunks(const Config& config, DecoderShape* s) {
  const auto layers = static_cast<size_t>(s->layers);
  const std::optional<std::vector<std::string>> types = config.Texts("layer_types");
  if (types && types->size() != layers) {
    return config.Fault("layer_types",
                        absl::StrCat("has ", types->size(), " entries for ", layers, " layers"));
  }
  constexpr char kChunk[] = "attention_chunk_size";
  const int64_t chunk = config.HasNull(kChunk) ? 0 : config.Size(kChunk, 8192);
  for (size_t i = 0; i < layers; ++i) {
    const bool chunked = types ? (*types)[i] == "chunked_attention" : !s->unrotated[i];
    if (types && !chunked && (*types)[i] != "full_attention") {
      return config.Fault("layer_types", "knows full_attention and chunked_attention");
    }
    if (types && chunked && chunk == 0) return config.Fault(kChunk, "is missing");
    if (chunked && chunk > 0 && chunk < kLeastWindow) {
      return config.Fault(kChunk,
                          absl::StrCat("is ", chunk, ": known are ", kLeastWindow, " and more"));
    }
    s->windows.push_back(chunked ? chunk : 0);
  }
}

// transformers runs all experts on all tokens, and those that a token is not routed to on zeros. As
// in the other mixtures, a token costs the experts that it is routed to.
void ReadLlama4Experts(const Config& config, DecoderShape* s) {
  s->experts = {s->hidden, s->intermediate, config.Size("num_local_experts", 16),
                config.Size("num_experts_per_tok", 1), /*normalize=*/false};
  RequireExperts(config, *s);
  if (s->experts.top_k < s->experts.experts) {
    config.notes().ignored.push_back(
        absl::StrCat("a token costs ", s->experts.top_k, " of ", s->experts.experts,
                     " experts, and the shared one; transformers runs all of them on each token"));
  }
  s->shared_intermediate = s->intermediate;
  s->intermediate = config.Size("intermediate_size_mlp", 16384);
  s->has_experts.assign(static_cast<size_t>(s->layers), false);
  if (config.Has("moe_layers")) {
    for (const int64_t i : config.Indices("moe_layers")) {
      if (i < s->layers) s->has_experts[static_cast<size_t>(i)] = true;
    }
    return;
  }
  const int64_t step = config.Size("interleave_moe_layer_step", 1);
  for (int64_t i = 0; i < s->layers; ++i) {
    s->has_experts[static_cast<size_t>(i)] = (i + 1) % step == 0;
  }
}

void RestOfLlama4(const Config& config, DecoderShape* s) {
  const std::vector<int64_t> rotated = config.Indices("no_rope_layers");
  const int64_t interval = config.Size("no_rope_layer_interval", 4);
  if (!rotated.empty() && rotated.size() < static_cast<size_t>(s->layers)) {
    return config.Fault("no_rope_layers", absl::StrCat("has ", rotated.size(), " entries for ",
                                                       s->layers, " layers"));
  }
  for (int64_t i = 0; i < s->layers; ++i) {
    s->unrotated.push_back(rotated.empty() ? (i + 1) % interval == 0
                                           : rotated[static_cast<size_t>(i)] == 0);
  }
  if (config.Flag("use_qk_norm", true)) s->rotated_norm = "qk_norm";
  s->tempered_queries = config.Flag("attn_temperature_tuning", true);
  ReadChunks(config, s);
  ReadLlama4Experts(config, s);
}

void RestOfOlmoe(const Config& config, DecoderShape* s) {
  ReadExperts(config, s->intermediate, 64, 8, s);
  s->has_experts.assign(static_cast<size_t>(s->layers), true);
  NoClipping(config, s);
}

struct DeepseekExperts {
  int64_t experts, shared, width;
  int64_t dense_layers = 0;
  bool normalize = false;
};

void ReadDeepseekExperts(const Config& config, const DeepseekExperts& d, DecoderShape* s) {
  const int64_t width = config.Size("moe_intermediate_size", d.width);
  const int64_t shared = config.Integer("n_shared_experts", d.shared, 0);
  s->experts = {s->hidden, width, config.Size("n_routed_experts", d.experts),
                config.Size("num_experts_per_tok", 8), config.Flag("norm_topk_prob", d.normalize)};
  s->shared_intermediate = shared * width;
  RequireExperts(config, *s);
}

void ReadDeepseekLayers(const Config& config, const DeepseekExperts& d, DecoderShape* s) {
  ReadDeepseekExperts(config, d, s);
  const int64_t dense = config.Integer("first_k_dense_replace", d.dense_layers, 0);
  for (int64_t i = 0; i < s->layers; ++i) s->has_experts.push_back(i >= dense);
}

void RestOfQwen3Moe(const Config& config, DecoderShape* s) {
  ReadQwenWindows(config, true, s);
  ReadExperts(config, config.Size("moe_intermediate_size", 768), 128, 8, s);
  ReadSparseLayers(config, s);
}

// Every other layer has the window, up to max_window_layers.
void RestOfQwen2Moe(const Config& config, DecoderShape* s) {
  if (config.Flag("use_sliding_window", false)) {
    ReadQwenWindows(config, true, s);
    const int64_t end = config.Integer("max_window_layers", 28, 0);
    for (size_t i = 0; i < s->windows.size() && !config.Has("layer_types"); ++i) {
      if (i % 2 == 1 || static_cast<int64_t>(i) >= end) s->windows[i] = 0;
    }
  }
  s->qkv_bias = config.Flag("qkv_bias", true);
  ReadExperts(config, config.Size("moe_intermediate_size", 1408), 60, 4, s);
  s->shared_intermediate = config.Size("shared_expert_intermediate_size", 5632);
  ReadSparseLayers(config, s);
}

void RestOfDeepseekV2(const Config& config, DecoderShape* s) {
  if (!config.Has("num_experts_per_tok")) config.Fault("num_experts_per_tok", "is missing");
  ReadDeepseekLayers(config, {.experts = 64, .shared = 2, .width = 1407}, s);
}

void RestOfDeepseekV3(const Config& config, DecoderShape* s) {
  constexpr DeepseekExperts kDefaults = {
      .experts = 256, .shared = 1, .width = 2048, .dense_layers = 3, .normalize = true};
  ReadDeepseekLayers(config, kDefaults, s);
}

// The layers with experts are listed, or are all but the first `dense`.
void ReadMlpTypes(const Config& config, int64_t dense, DecoderShape* s) {
  const std::optional<std::vector<std::string>> types = config.Texts("mlp_layer_types");
  const auto layers = static_cast<size_t>(s->layers);
  if (types && types->size() != layers) {
    return config.Fault("mlp_layer_types",
                        absl::StrCat("has ", types->size(), " entries for ", layers, " layers"));
  }
  for (size_t i = 0; i < layers; ++i) {
    const bool sparse = types ? (*types)[i] == "sparse" : static_cast<int64_t>(i) >= dense;
    if (types && !sparse && (*types)[i] != "dense") {
      return config.Fault("mlp_layer_types", "knows dense and sparse");
    }
    s->has_experts.push_back(sparse);
  }
}

void ReadIndexed(const Config& config, int64_t heads, DecoderShape* s) {
  constexpr DeepseekExperts kDefaults = {
      .experts = 256, .shared = 1, .width = 2048, .dense_layers = 3, .normalize = true};
  ReadDeepseekExperts(config, kDefaults, s);
  const int64_t dense = config.Integer("first_k_dense_replace", kDefaults.dense_layers, 0);
  ReadMlpTypes(config, dense, s);
  s->indexer = TokenIndexer{config.Size("index_n_heads", heads), config.Size("index_head_dim", 128),
                            config.Size("index_topk", 2048)};
  if (s->latent->q_rank == 0) config.Fault("q_lora_rank", "is null, and the indexer needs it");
  if (s->indexer->head_dim < s->latent->rope_dim) {
    config.Fault("index_head_dim",
                 absl::StrCat("is ", s->indexer->head_dim, ", less than qk_rope_head_dim"));
  }
}

void RestOfDeepseekV32(const Config& config, DecoderShape* s) { ReadIndexed(config, 64, s); }

// Which layers have the indexer of one before them: by words, by letters, or all but each
// so-manyth.
void RestOfGlmMoeDsa(const Config& config, DecoderShape* s) {
  ReadIndexed(config, 32, s);
  constexpr char kWords[] = "indexer_types", kLetters[] = "index_topk_pattern";
  const bool letters = !config.Has(kWords) && config.Has(kLetters) && !config.HasList(kLetters);
  const char* const key = config.Has(kWords) ? kWords : kLetters;
  std::vector<std::string> kinds;
  if (letters) {
    for (const char c : config.Text(kLetters, "")) kinds.emplace_back(1, c);
  } else if (config.Has(key)) {
    kinds = config.Texts(key).value_or(kinds);
  } else {
    const int64_t step = std::max<int64_t>(config.Integer("index_topk_freq", 1, 0), 1);
    const int64_t offset = config.Integer("index_skip_topk_offset", 2, 0);
    for (int64_t i = 0; i < s->layers; ++i) {
      kinds.emplace_back(std::max<int64_t>(i - offset + 1, 0) % step == 0 ? "full" : "shared");
    }
  }
  if (kinds.size() < static_cast<size_t>(s->layers)) {
    return config.Fault(key,
                        absl::StrCat("has ", kinds.size(), " entries for ", s->layers, " layers"));
  }
  for (const std::string& kind : kinds) {
    const bool shared = kind == (letters ? "S" : "shared");
    if (!shared && kind != (letters ? "F" : "full")) {
      return config.Fault(key, "knows full and shared, or F and S");
    }
    s->indexer->shared.push_back(shared);
  }
  if (s->indexer->shared[0]) config.Fault(key, "has no indexer before the first layer");
}

void RestOfDots1(const Config& config, DecoderShape* s) {
  for (const char* key : {"n_routed_experts", "n_shared_experts", "num_experts_per_tok"}) {
    if (!config.Has(key)) config.Fault(key, "is missing");
  }
  ReadDotsWindows(config, s);
  ReadDeepseekLayers(config, {.experts = 1, .shared = 0, .width = 1408}, s);
}

void RestOfGlm4Moe(const Config& config, DecoderShape* s) {
  s->qkv_bias = config.Flag("attention_bias", false);
  s->head_norms = config.Flag("use_qk_norm", false);
  constexpr DeepseekExperts kDefaults = {
      .experts = 128, .shared = 1, .width = 1408, .dense_layers = 1, .normalize = true};
  ReadDeepseekLayers(config, kDefaults, s);
}

// All layers have experts. The output has no bias.
void RestOfSolarOpen(const Config& config, DecoderShape* s) {
  s->qkv_bias = config.Flag("attention_bias", false);
  ReadDeepseekExperts(config, {.experts = 128, .shared = 1, .width = 1280, .normalize = true}, s);
  s->has_experts.assign(static_cast<size_t>(s->layers), true);
}

// All layers have experts, and a shared one that is as wide as each.
void RestOfHunYuanMoe(const Config& config, DecoderShape* s) {
  s->experts = {s->hidden, s->intermediate, config.Size("num_experts", 1),
                config.Size("moe_topk", 1), /*normalize=*/true};
  s->shared_intermediate = s->intermediate;
  s->has_experts.assign(static_cast<size_t>(s->layers), true);
  if (s->experts.top_k <= s->experts.experts) return;
  config.Fault("moe_topk",
               absl::StrCat("is ", s->experts.top_k, " of ", s->experts.experts, " experts"));
}

void RestOfGlm4MoeLite(const Config& config, DecoderShape* s) {
  ReadDeepseekExperts(config, {.experts = 64, .shared = 1, .width = 1536, .normalize = true}, s);
  ReadMlpTypes(config, 1, s);
}

void RestOfGraniteMoeShared(const Config& config, DecoderShape* s) {
  RestOfGraniteMoe(config, s);
  s->shared_intermediate = config.Integer("shared_intermediate_size", 0, 0);
}

void RestOfFlexOlmo(const Config& config, DecoderShape* s) {
  ReadExperts(config, s->intermediate, 7, 5, s);
  s->has_experts.assign(static_cast<size_t>(s->layers), true);
}

void RestOfPhimoe(const Config& config, DecoderShape* s) {
  WindowIfGiven(config, s);
  ReadLocalExperts(config, 16, 2, s);
  s->head_bias = config.Flag("lm_head_bias", false);
  if (s->experts.top_k != 2) config.Fault("num_experts_per_tok", "is not 2, as the class needs");
}

void RestOfExaoneMoe(const Config& config, DecoderShape* s) {
  RestOfExaone4(config, s);
  const int64_t width = config.Size("moe_intermediate_size", 1024);
  ReadExperts(config, width, 64, 8, s);
  s->experts.normalize = config.Flag("norm_topk_prob", true);
  s->shared_intermediate = width * config.Size("num_shared_experts", 1);
  ReadMlpTypes(config, config.Integer("first_k_dense_replace", 1, 0), s);
}

// Layers with a window have positions.
void RestOfAfmoe(const Config& config, DecoderShape* s) {
  const bool listed = config.Has("layer_types");
  ReadGemmaWindows(config, listed ? 1 : config.Size("global_attn_every_n_layers", 4), s, 1024);
  for (const int64_t window : s->windows) s->unrotated.push_back(window == 0);
  s->scaled_input = config.Flag("mup_enabled", false);
  const int64_t width = config.Size("moe_intermediate_size", 1408);
  s->experts = {s->hidden, width, config.Size("num_experts", 64),
                config.Size("num_experts_per_tok", 6), /*normalize=*/true};
  RequireExperts(config, *s);
  s->shared_intermediate = width * config.Size("num_shared_experts", 2);
  const int64_t dense = config.Integer("num_dense_layers", 1, 0);
  for (int64_t i = 0; i < s->layers; ++i) s->has_experts.push_back(i >= dense);
}

// The first layers may be dense, with windows by a rule of their own. Layers with a window have
// positions, and dense ones if all of them see everything.
void ReadCohere2MoeLayers(const Config& config, DecoderShape* s) {
  const int64_t dense = config.Integer("first_k_dense_replace", 0, 0);
  const int64_t first = config.Size("prefix_dense_sliding_window_pattern", 1);
  const int64_t rest = config.Size("sliding_window_pattern", 4);
  const bool windows = !config.HasNull("sliding_window");
  ReadWindows(config, windows ? config.Size("sliding_window", kWindow) : kWindow, s);
  ReadMlpTypes(config, dense, s);
  const bool listed = config.Has("layer_types");
  for (int64_t i = 0; i < s->layers; ++i) {
    int64_t& window = s->windows[static_cast<size_t>(i)];
    const bool full = i < dense ? (i + 1) % first == 0 : (i - dense + 1) % rest == 0;
    if (!listed && full) window = 0;
    const auto at = static_cast<size_t>(i);
    const bool is_dense = at < s->has_experts.size() && !s->has_experts[at];
    s->unrotated.push_back(!(windows && window > 0) && !(is_dense && first == 1));
  }
  if (!windows) s->windows.clear();
}

void RestOfCohere2Moe(const Config& config, DecoderShape* s) {
  if (config.Has("rms_norm_eps")) s->norm = NormKind::kRms, s->norm_type = nullptr;
  ReadCohere2MoeLayers(config, s);
  s->experts = {s->hidden, s->intermediate, config.Size("num_experts", 8),
                config.Size("num_experts_per_tok", 2), config.Flag("norm_topk_prob", true)};
  RequireExperts(config, *s);
  s->shared_intermediate = s->intermediate * config.Integer("num_shared_experts", 0, 0);
  const std::string joined = config.Text("shared_expert_combination_strategy", "average");
  s->averaged_experts = joined == "average";
  if (!s->averaged_experts && joined != "sum") {
    config.Fault("shared_expert_combination_strategy", "should be average or sum");
  }
  s->intermediate = config.Size("prefix_dense_intermediate_size", s->intermediate);
}

void RestOfHyV3(const Config& config, DecoderShape* s) {
  const int64_t width = config.Size("moe_intermediate_size", 1536);
  s->experts = {s->hidden, width, config.Size("num_experts", 192),
                config.Size("num_experts_per_tok", 8), /*normalize=*/true};
  RequireExperts(config, *s);
  s->shared_intermediate = width * config.Size("num_shared_experts", 1);
  ReadMlpTypes(config, 1, s);
}

void RestOfMiniCpm3(const Config& config, DecoderShape* s) {
  if (config.Has("v_head_dim")) return;
  config.RequireDivisible("hidden_size", s->hidden, "num_attention_heads", s->heads);
  s->latent->value_dim = std::max<int64_t>(s->hidden / s->heads, 1);
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

// ---- layers with a state instead of attention

void ReadQwenExperts(const Config& config, int64_t experts, int64_t top_k, DecoderShape* s) {
  s->experts = {s->hidden, config.Size("moe_intermediate_size", 512),
                config.Size("num_experts", experts), config.Size("num_experts_per_tok", top_k),
                /*normalize=*/true};
  RequireExperts(config, *s);
  s->shared_intermediate = config.Size("shared_expert_intermediate_size", 512);
}

void RestOfQwen3Next(const Config& config, DecoderShape* s) {
  ReadQwenDelta(config, /*fused=*/true, s);
  if (config.IsZero("num_experts")) return;
  ReadQwenExperts(config, 512, 10, s);
  s->experts.normalize = config.Flag("norm_topk_prob", true);
  ReadSparseLayers(config, s);
}

void RestOfQwen35(const Config& config, DecoderShape* s) {
  ReadQwenDelta(config, /*fused=*/false, s);
}

void RestOfQwen35Moe(const Config& config, DecoderShape* s) {
  ReadQwenDelta(config, /*fused=*/false, s);
  ReadQwenExperts(config, 256, 8, s);
  s->has_experts.assign(static_cast<size_t>(s->layers), true);
}

// A file may have four thirds of twice the width, which is then rounded up.
void RestOfLfm2(const Config& config, DecoderShape* s) {
  ReadShortConvs(config, s);
  if (!config.Flag("block_auto_adjust_ff_dim", true)) return;
  s->intermediate = 2 * s->intermediate / 3;
  if (!config.HasNull("block_ffn_dim_multiplier")) {
    const double times = config.NotNegative("block_ffn_dim_multiplier", 1);
    const int64_t of = config.Size("block_multiple_of", 256);
    const double width =
        std::min(times * static_cast<double>(s->intermediate), static_cast<double>(kMaxConfigSize));
    s->intermediate = (static_cast<int64_t>(width) + of - 1) / of * of;
  }
  if (s->intermediate > 0) return;
  config.Fault("intermediate_size", "leaves no width of the MLP");
  s->intermediate = 1;
}

void RestOfLfm2Moe(const Config& config, DecoderShape* s) {
  if (!config.Has("layer_types")) config.Fault("layer_types", "is missing");
  ReadShortConvs(config, s);
  ReadExperts(config, config.Size("moe_intermediate_size", 1792), 32, 4, s);
  s->experts.normalize = config.Flag("norm_topk_prob", true);
  const int64_t dense = config.Integer("num_dense_layers", 2, 0);
  for (int64_t i = 0; i < s->layers; ++i) s->has_experts.push_back(i >= dense);
}

void RestOfKimiLinear(const Config& config, DecoderShape* s) {
  ReadKimiDelta(config, s);
  if (s->tied) config.Ignore("tie_word_embeddings", "the class has an output layer of its own");
  s->tied = false;
  const int64_t width = config.Size("moe_intermediate_size", 1024);
  s->experts = {s->hidden, width, config.Size("num_local_experts", 256),
                config.Size("num_experts_per_tok", 8), config.Flag("norm_topk_prob", true)};
  RequireExperts(config, *s);
  s->shared_intermediate = width * config.Size("n_shared_experts", 1);
  ReadMlpTypes(config, config.Integer("first_k_dense_replace", 1, 0), s);
}

void RestOfMiniMax(const Config& config, DecoderShape* s) {
  ReadLightning(config, s);
  ReadLocalExperts(config, 8, 2, s);
}

void RestOfOlmoHybrid(const Config& config, DecoderShape* s) {
  ReadOlmoDelta(config, s);
  const bool given = config.Has("rope_parameters");
  s->rotated = !given || !config.Child("rope_parameters").HasNull("rope_theta");
}

// ---- the table

// Norms after attention and MLP, and before them or not.
constexpr LayerNorms kAround = {.after_attention = "post_attention_layernorm",
                                .before_mlp = "pre_feedforward_layernorm",
                                .after_mlp = "post_feedforward_layernorm"};
constexpr LayerNorms kAroundInGlm = {.after_attention = "post_self_attn_layernorm",
                                     .after_mlp = "post_mlp_layernorm"};
constexpr LayerNorms kAfter = {.before_attention = nullptr,
                               .after_attention = "post_attention_layernorm",
                               .before_mlp = nullptr,
                               .after_mlp = "post_feedforward_layernorm"};

constexpr LatentAttention kDeepseekLatent = {
    .q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};

constexpr DecoderForm kCohere = {.parallel = true,
                                 .norm = NormKind::kLayerWithoutBias,
                                 .norm_type = "LayerNorm",
                                 .norm_by_head = true,
                                 .scaled_logits = true};
constexpr DecoderForm kLfm2 = {
    .head_norms = true,
    .query_norm = "q_layernorm",
    .key_norm = "k_layernorm",
    .norms = {.before_attention = "operator_norm", .before_mlp = "ffn_norm"},
    .expert_names = {.block = "feed_forward"},
    .out = "out_proj",
    .gate = "w1",
    .up = "w3",
    .down = "w2",
    .final_norm = "embedding_norm",
    .mlp_name = "feed_forward"};
constexpr DecoderForm kPhi = {.qkv_bias = true,
                              .out_bias = true,
                              .mlp_bias = true,
                              .head_bias = true,
                              .gated = false,
                              .parallel = true,
                              .norm = NormKind::kLayer,
                              .query_norm = "q_layernorm",
                              .key_norm = "k_layernorm",
                              .out = "dense",
                              .up = "fc1",
                              .down = "fc2",
                              .final_norm = "final_layernorm"};

constexpr DecoderFamily kDecoders[] = {
    {.model_type = "afmoe",
     .prefix = "Afmoe",
     .sizes = {.vocab = 200192, .hidden = 2048, .intermediate = 6144, .layers = 32},
     .heads = {.queries = 16, .dim = 128},
     .form = {.head_norms = true,
              .norms = {.after_attention = "post_attention_layernorm",
                        .before_mlp = "pre_mlp_layernorm",
                        .after_mlp = "post_mlp_layernorm"},
              .output_gate = true,
              .expert_names = {.router = "router",
                               .router_type = "TokenChoiceRouter",
                               .inner = "gate"},
              .expert_bias = "expert_bias"},
     .has_attention_bias = true,
     .rest = RestOfAfmoe},
    {.model_type = "apertus",
     .prefix = "Apertus",
     .sizes = {.vocab = 131072, .hidden = 4096, .intermediate = 14336, .layers = 32},
     .heads = {.queries = 32},
     .activation = "xielu",
     .form = {.gated = false,
              .head_norms = true,
              .norms = {.before_attention = "attention_layernorm",
                        .before_mlp = "feedforward_layernorm"}},
     .has_attention_bias = true},
    {.model_type = "arcee",
     .prefix = "Arcee",
     .sizes = {.vocab = 32000, .hidden = 2560, .intermediate = 18432, .layers = 32},
     .heads = {.queries = 32},
     .activation = "relu2",
     .form = {.gated = false},
     .has_attention_bias = true,
     .has_mlp_bias = true},
    {.model_type = "bitnet",
     .prefix = "BitNet",
     .sizes = {.vocab = 128256, .hidden = 2560, .intermediate = 6912, .layers = 30},
     .heads = {.queries = 20, .keys = 5},
     .activation = "relu2",
     .form = {.attention_norm = "attn_sub_norm", .mlp_norm = "ffn_sub_norm"},
     .has_attention_bias = true,
     .rest = RestOfBitNet},
    {.model_type = "cohere",
     .prefix = "Cohere",
     .sizes = {.vocab = 256000, .hidden = 8192, .intermediate = 22528, .layers = 40},
     .heads = {.queries = 64},
     .tied = true,
     .form = kCohere,
     .has_attention_bias = true,
     .rest = RestOfCohere},
    {.model_type = "cohere2",
     .prefix = "Cohere2",
     .sizes = {.vocab = 256000, .hidden = 8192, .intermediate = 22528, .layers = 40},
     .heads = {.queries = 64},
     .tied = true,
     .form = kCohere,
     .has_attention_bias = true,
     .rest = RotatedInWindows},
    {.model_type = "cohere2_moe",
     .prefix = "Cohere2Moe",
     .sizes = {.vocab = 256000, .hidden = 8192, .intermediate = 22528, .layers = 40},
     .heads = {.queries = 64, .dim = 128},
     .tied = true,
     .form = kCohere,
     .has_attention_bias = true,
     .rest = RestOfCohere2Moe},
    {.model_type = "cwm",
     .prefix = "Cwm",
     .sizes = {.vocab = 128256, .hidden = 6144, .intermediate = 21504, .layers = 64},
     .heads = {.queries = 48, .keys = 8, .dim = 128},
     .has_mlp_bias = true,
     .rest = RestOfCwm},
    {.model_type = "deepseek_v2",
     .prefix = "DeepseekV2",
     .sizes = {.vocab = 102400, .hidden = 4096, .intermediate = 11008, .layers = 32},
     .heads = {.queries = 32},
     .has_attention_bias = true,
     .has_mlp_bias = true,
     .latent = kDeepseekLatent,
     .rest = RestOfDeepseekV2},
    {.model_type = "deepseek_v3",
     .prefix = "DeepseekV3",
     .sizes = {.vocab = 129280, .hidden = 7168, .intermediate = 18432, .layers = 61},
     .heads = {.queries = 128, .keys = 128},
     .has_attention_bias = true,
     .latent = kDeepseekLatent,
     .rest = RestOfDeepseekV3},
    {.model_type = "deepseek_v32",
     .prefix = "DeepseekV32",
     .sizes = {.vocab = 129280, .hidden = 7168, .intermediate = 18432, .layers = 61},
     .heads = {.queries = 128, .keys = 128},
     .form = {.expert_names = {.type = "MoE", .router_type = "TopkRouter"}},
     .has_attention_bias = true,
     .latent = kDeepseekLatent,
     .rest = RestOfDeepseekV32},
    {.model_type = "dots1",
     .prefix = "Dots1",
     .sizes = {.vocab = 152064, .hidden = 4608, .intermediate = 10944, .layers = 62},
     .heads = {.queries = 32, .keys = 32},
     .form = {.head_norms = true, .expert_names = {.type = "MoE"}},
     .has_attention_bias = true,
     .rest = RestOfDots1},
    {.model_type = "ernie4_5",
     .prefix = "Ernie4_5",
     .sizes = {.vocab = 103424, .hidden = 1024, .intermediate = 3072, .layers = 18},
     .heads = {.queries = 16, .keys = 2, .dim = 128},
     .tied = true,
     .rest = RestOfErnie},
    {.model_type = "ernie4_5_moe",
     .prefix = "Ernie4_5_Moe",
     .sizes = {.vocab = 103424, .hidden = 2560, .intermediate = 12288, .layers = 28},
     .heads = {.queries = 20, .keys = 4},
     .tied = true,
     .form = {.corrected_scores = true},
     .rest = RestOfErnieMoe},
    {.model_type = "exaone4",
     .prefix = "Exaone4",
     .sizes = {.vocab = 102400, .hidden = 4096, .intermediate = 16384, .layers = 32},
     .heads = {.queries = 32, .keys = 32},
     .form = {.head_norms = true, .norms = kAfter},
     .rest = RestOfExaone4},
    {.model_type = "exaone_moe",
     .prefix = "ExaoneMoe",
     .sizes = {.vocab = 102400, .hidden = 4096, .intermediate = 16384, .layers = 32},
     .heads = {.queries = 32, .keys = 32},
     .form = {.head_norms = true,
              .expert_names = {.type = "SparseMoEBlock", .router_type = "TopkRouter"}},
     .rest = RestOfExaoneMoe},
    {.model_type = "flex_olmo",
     .prefix = "FlexOlmo",
     .sizes = {.vocab = 100352, .hidden = 4096, .intermediate = 11008, .layers = 32},
     .heads = {.queries = 32},
     .form = {.width_norms = true, .norms = kAfter},
     .has_attention_bias = true,
     .rest = RestOfFlexOlmo},
    // Old files have both keys of the activation; hidden_activation is the correct one.
    {.model_type = "gemma",
     .prefix = "Gemma",
     .sizes = {.vocab = 256000, .hidden = 3072, .intermediate = 24576, .layers = 28},
     .heads = {.queries = 16, .keys = 16, .dim = 256},
     .activation = "gelu_pytorch_tanh",
     .newer_activation_key = "hidden_activation",
     .tied = true,
     .form = {.scaled_input = true},
     .has_attention_bias = true},
    {.model_type = "gemma2",
     .prefix = "Gemma2",
     .sizes = {.vocab = 256000, .hidden = 2304, .intermediate = 9216, .layers = 26},
     .heads = {.queries = 8, .keys = 4, .dim = 256},
     .activation = "gelu_pytorch_tanh",
     .activation_key = "hidden_activation",
     .tied = true,
     .form = {.norms = kAround, .scaled_input = true},
     .has_attention_bias = true,
     .rest = RestOfGemma2},
    {.model_type = "gemma3_text",
     .prefix = "Gemma3",
     .sizes = {.vocab = 262208, .hidden = 2304, .intermediate = 9216, .layers = 26},
     .heads = {.queries = 8, .keys = 4, .dim = 256},
     .activation = "gelu_pytorch_tanh",
     .activation_key = "hidden_activation",
     .tied = true,
     .form = {.body = "TextModel", .head_norms = true, .norms = kAround, .scaled_input = true},
     .has_attention_bias = true,
     .rest = RestOfGemma3},
    {.model_type = "glm",
     .prefix = "Glm",
     .sizes = {.vocab = 151552, .hidden = 4096, .intermediate = 13696, .layers = 40},
     .heads = {.queries = 32, .keys = 2, .dim = 128},
     .form = {.fused_gate = true},
     .rotary_part = 0.5,
     .rest = BiasUnlessFalse},
    {.model_type = "glm4",
     .prefix = "Glm4",
     .sizes = {.vocab = 151552, .hidden = 4096, .intermediate = 13696, .layers = 40},
     .heads = {.queries = 32, .keys = 2, .dim = 128},
     .form = {.fused_gate = true, .norms = kAroundInGlm},
     .rotary_part = 0.5,
     .rest = BiasUnlessFalse},
    {.model_type = "glm4_moe",
     .prefix = "Glm4Moe",
     .sizes = {.vocab = 151552, .hidden = 4096, .intermediate = 10944, .layers = 46},
     .heads = {.queries = 96, .keys = 8},
     .rotary_part = 0.5,
     .rest = RestOfGlm4Moe},
    {.model_type = "glm4_moe_lite",
     .prefix = "Glm4MoeLite",
     .sizes = {.vocab = 154880, .hidden = 2048, .intermediate = 10240, .layers = 47},
     .heads = {.queries = 20, .keys = 20},
     .form = {.expert_names = {.type = "MoE"}},
     .has_attention_bias = true,
     .latent =
         LatentAttention{
             .q_rank = 768, .kv_rank = 512, .nope_dim = 192, .rope_dim = 64, .value_dim = 256},
     .rest = RestOfGlm4MoeLite},
    {.model_type = "glm_moe_dsa",
     .prefix = "GlmMoeDsa",
     .sizes = {.vocab = 154880, .hidden = 6144, .intermediate = 12288, .layers = 78},
     .heads = {.queries = 64, .keys = 64},
     .form = {.expert_names = {.type = "MoE", .router_type = "TopkRouter"}},
     .has_attention_bias = true,
     .latent =
         LatentAttention{
             .q_rank = 2048, .kv_rank = 512, .nope_dim = 192, .rope_dim = 64, .value_dim = 256},
     .rest = RestOfGlmMoeDsa},
    {.model_type = "gpt_oss",
     .prefix = "GptOss",
     .sizes = {.vocab = 201088, .hidden = 2880, .intermediate = 2880, .layers = 36},
     .heads = {.queries = 64, .keys = 8, .dim = 64},
     .form = {.sinks = true,
              .expert_names = {.type = "MLP", .router = "router"},
              .router_bias = true},
     .rest = RestOfGptOss},
    {.model_type = "granite",
     .prefix = "Granite",
     .sizes = {.vocab = 32000, .hidden = 4096, .intermediate = 11008, .layers = 32},
     .heads = {.queries = 32},
     .form = {.scaled_input = true, .scaled_residuals = true, .scaled_logits = true},
     .has_attention_bias = true,
     .has_mlp_bias = true},
    {.model_type = "granitemoe",
     .prefix = "GraniteMoe",
     .sizes = {.vocab = 32000, .hidden = 4096, .intermediate = 11008, .layers = 32},
     .heads = {.queries = 32},
     .form = {.scaled_input = true,
              .scaled_residuals = true,
              .scaled_logits = true,
              .expert_names = {"block_sparse_moe", "MoE", "router"}},
     .has_attention_bias = true,
     .rest = RestOfGraniteMoe},
    {.model_type = "granitemoeshared",
     .prefix = "GraniteMoeShared",
     .sizes = {.vocab = 32000, .hidden = 4096, .intermediate = 11008, .layers = 32},
     .heads = {.queries = 32},
     .form = {.scaled_input = true,
              .scaled_residuals = true,
              .scaled_logits = true,
              .expert_names = {"block_sparse_moe", "MoE", "router"},
              .shared_outside = true},
     .has_attention_bias = true,
     .rest = RestOfGraniteMoeShared},
    {.model_type = "helium",
     .prefix = "Helium",
     .sizes = {.vocab = 48000, .hidden = 2560, .intermediate = 7040, .layers = 24},
     .heads = {.queries = 20, .keys = 20, .dim = 128},
     .form = {.interleaved = true},
     .rest = RestOfHelium},
    {.model_type = "hunyuan_v1_dense",
     .prefix = "HunYuanDenseV1",
     .sizes = {.vocab = 290943, .hidden = 4096, .intermediate = 11008, .layers = 32},
     .heads = {.queries = 32},
     .form = {.head_norms = true, .query_norm = "query_layernorm", .key_norm = "key_layernorm"},
     .has_attention_bias = true},
    {.model_type = "hunyuan_v1_moe",
     .prefix = "HunYuanMoEV1",
     .sizes = {.vocab = 290943, .hidden = 4096, .intermediate = 11008, .layers = 32},
     .heads = {.queries = 32},
     .form = {.head_norms = true,
              .query_norm = "query_layernorm",
              .key_norm = "key_layernorm",
              .expert_names =
                  {.type = "Moe", .router_type = "Gate", .inner = "wg", .shared = "shared_mlp"}},
     .has_attention_bias = true,
     .rest = RestOfHunYuanMoe},
    {.model_type = "hy_v3",
     .prefix = "HYV3",
     .sizes = {.vocab = 120832, .hidden = 4096, .intermediate = 13312, .layers = 80},
     .heads = {.queries = 64, .keys = 8, .dim = 128},
     .form = {.head_norms = true, .expert_names = {.type = "MoE"}},
     .has_attention_bias = true,
     .has_mlp_bias = true,
     .rest = RestOfHyV3},
    {.model_type = "hyperclovax",
     .prefix = "HyperCLOVAX",
     .sizes = {.vocab = 32000, .hidden = 4096, .intermediate = 11008, .layers = 32},
     .heads = {.queries = 32},
     .form = {.scaled_input = true, .scaled_residuals = true, .scaled_logits = true},
     .has_attention_bias = true,
     .has_mlp_bias = true,
     .rest = RestOfHyperClovaX},
    {.model_type = "jais2",
     .prefix = "Jais2",
     .sizes = {.vocab = 150272, .hidden = 3328, .intermediate = 26624, .layers = 32},
     .heads = {.queries = 26},
     .activation = "relu2",
     .form = {.gated = false, .norm = NormKind::kLayer},
     .rest = RestOfJais2},
    {.model_type = "kimi_linear",
     .prefix = "KimiLinear",
     .sizes = {.vocab = 163840, .hidden = 2304, .intermediate = 9216, .layers = 27},
     .heads = {.queries = 32, .keys = 32},
     .form = {.expert_names = {.type = "MoE", .router_type = "TopkRouter"}, .rotated = false},
     .has_attention_bias = true,
     .latent = LatentAttention{.kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128},
     .rest = RestOfKimiLinear},
    {.model_type = "lfm2",
     .prefix = "Lfm2",
     .sizes = {.vocab = 65536, .hidden = 2560, .intermediate = 12288, .layers = 32},
     .heads = {.queries = 32, .keys = 8},
     .tied = true,
     .form = kLfm2,
     .rest = RestOfLfm2},
    {.model_type = "lfm2_moe",
     .prefix = "Lfm2Moe",
     .sizes = {.vocab = 65536, .hidden = 2048, .intermediate = 7168, .layers = 32},
     .heads = {.queries = 32, .keys = 8},
     .tied = true,
     .form = kLfm2,
     .rest = RestOfLfm2Moe},
    {.model_type = "llama",
     .prefix = "Llama",
     .sizes = {.vocab = 32000, .hidden = 4096, .intermediate = 11008, .layers = 32},
     .heads = {.queries = 32},
     .has_attention_bias = true,
     .has_mlp_bias = true},
    {.model_type = "llama4_text",
     .prefix = "Llama4Text",
     .sizes = {.vocab = 202048, .hidden = 5120, .intermediate = 8192, .layers = 48},
     .heads = {.queries = 40, .keys = 8, .dim = 128},
     .form = {.interleaved = true,
              .expert_names = {.block = "feed_forward",
                               .type = "Moe",
                               .router = "router",
                               .router_class = "Llama4Router",
                               .shared = "shared_expert"},
              .with_head = "Llama4ForCausalLM",
              .mlp_name = "feed_forward"},
     .has_attention_bias = true,
     .rest = RestOfLlama4},
    {.model_type = "minicpm3",
     .prefix = "MiniCPM3",
     .sizes = {.vocab = 73448, .hidden = 2560, .intermediate = 6400, .layers = 62},
     .heads = {.queries = 40, .keys = 40},
     .tied = true,
     .form = {.scaled_input = true, .scaled_residuals = true, .scaled_hidden = true},
     .has_attention_bias = true,
     .has_mlp_bias = true,
     .latent =
         LatentAttention{
             .q_rank = 768, .kv_rank = 256, .nope_dim = 64, .rope_dim = 32, .value_dim = 64},
     .rest = RestOfMiniCpm3},
    {.model_type = "minimax",
     .prefix = "MiniMax",
     .sizes = {.vocab = 32000, .hidden = 4096, .intermediate = 14336, .layers = 32},
     .heads = {.queries = 32, .keys = 8},
     .form = {.normed_residuals = true},
     .rest = RestOfMiniMax},
    {.model_type = "minimax_m2",
     .prefix = "MiniMaxM2",
     .sizes = {.vocab = 200064, .hidden = 3072, .intermediate = 1536, .layers = 62},
     .heads = {.queries = 48, .keys = 8, .dim = 128},
     .form = {.width_norms = true},
     .rest = RestOfMiniMaxM2},
    {.model_type = "ministral",
     .prefix = "Ministral",
     .sizes = {.vocab = 32000, .hidden = 4096, .intermediate = 14336, .layers = 32},
     .heads = {.queries = 32, .keys = 8},
     .rest = WindowUnlessNull},
    {.model_type = "ministral3",
     .prefix = "Ministral3",
     .sizes = {.vocab = 131072, .hidden = 4096, .intermediate = 14336, .layers = 34},
     .heads = {.queries = 32, .keys = 8, .dim = 128},
     .form = {.scaled_queries = true},
     .rest = WindowIfGiven},
    {.model_type = "mistral",
     .prefix = "Mistral",
     .sizes = {.vocab = 32000, .hidden = 4096, .intermediate = 14336, .layers = 32},
     .heads = {.queries = 32, .keys = 8},
     .rest = WindowUnlessNull},
    {.model_type = "mixtral",
     .prefix = "Mixtral",
     .sizes = {.vocab = 32000, .hidden = 4096, .intermediate = 14336, .layers = 32},
     .heads = {.queries = 32, .keys = 8},
     .rest = RestOfMixtral},
    {.model_type = "nanochat",
     .prefix = "NanoChat",
     .sizes = {.vocab = 50304, .hidden = 768, .intermediate = 8192, .layers = 12},
     .heads = {.queries = 6},
     .activation = "relu2",
     .form = {.gated = false,
              .norm = NormKind::kPlainRms,
              .head_norms = true,
              .norms_rotated = true,
              .up = "fc1",
              .down = "fc2",
              .norm_first = true},
     .has_attention_bias = true,
     .rest = RestOfNanoChat},
    {.model_type = "nemotron",
     .prefix = "Nemotron",
     .sizes = {.vocab = 256000, .hidden = 6144, .intermediate = 24576, .layers = 32},
     .heads = {.queries = 48},
     .activation = "relu2",
     .form = {.gated = false, .norm = NormKind::kLayer, .norm_type = "LayerNorm1P"},
     .has_attention_bias = true,
     .has_mlp_bias = true,
     .rotary_part = 0.5},
    {.model_type = "olmo",
     .prefix = "Olmo",
     .sizes = {.vocab = 50304, .hidden = 4096, .intermediate = 11008, .layers = 32},
     .heads = {.queries = 32},
     .form = {.norm = NormKind::kPlain, .norm_type = "LayerNorm"},
     .has_attention_bias = true,
     .rest = NoClipping},
    {.model_type = "olmo2",
     .prefix = "Olmo2",
     .sizes = {.vocab = 50304, .hidden = 4096, .intermediate = 11008, .layers = 32},
     .heads = {.queries = 32},
     .form = {.width_norms = true, .norms = kAfter},
     .has_attention_bias = true},
    {.model_type = "olmo3",
     .prefix = "Olmo3",
     .sizes = {.vocab = 50304, .hidden = 4096, .intermediate = 11008, .layers = 32},
     .heads = {.queries = 32},
     .form = {.width_norms = true, .norms = kAfter},
     .has_attention_bias = true,
     .rest = RestOfOlmo3},
    {.model_type = "olmo_hybrid",
     .prefix = "OlmoHybrid",
     .sizes = {.vocab = 100352, .hidden = 3840, .intermediate = 11008, .layers = 32},
     .heads = {.queries = 30},
     .form = {.width_norms = true,
              .norms = kAfter,
              .layer = "AttentionDecoderLayer",
              .state_layer = "LinearAttentionDecoderLayer",
              .state_norms = LayerNorms{}},
     .has_attention_bias = true,
     .rest = RestOfOlmoHybrid},
    {.model_type = "olmoe",
     .prefix = "Olmoe",
     .sizes = {.vocab = 50304, .hidden = 2048, .intermediate = 2048, .layers = 16},
     .heads = {.queries = 16},
     .form = {.width_norms = true},
     .has_attention_bias = true,
     .rest = RestOfOlmoe},
    {.model_type = "phi",
     .prefix = "Phi",
     .sizes = {.vocab = 51200, .hidden = 2048, .intermediate = 8192, .layers = 24},
     .heads = {.queries = 32},
     .activation = "gelu_new",
     .form = kPhi,
     .rotary_part = 0.5,
     .rest = RestOfPhi},
    {.model_type = "phi3",
     .prefix = "Phi3",
     .sizes = {.vocab = 32064, .hidden = 3072, .intermediate = 8192, .layers = 32},
     .heads = {.queries = 32},
     .form = {.fused_qkv = true, .fused_gate = true},
     .rotary_part = 1.0,
     .rest = WindowIfGiven},
    {.model_type = "phimoe",
     .prefix = "Phimoe",
     .sizes = {.vocab = 32064, .hidden = 4096, .intermediate = 6400, .layers = 32},
     .heads = {.queries = 32, .keys = 8},
     .form = {.norm = NormKind::kLayer, .expert_names = {.router = "router"}},
     .has_attention_bias = true,
     .rest = RestOfPhimoe},
    {.model_type = "qwen2",
     .prefix = "Qwen2",
     .sizes = {.vocab = 151936, .hidden = 4096, .intermediate = 22016, .layers = 32},
     .heads = {.queries = 32, .keys = 32},
     .form = {.qkv_bias = true},
     .rest = QwenWindows},
    {.model_type = "qwen2_moe",
     .prefix = "Qwen2Moe",
     .sizes = {.vocab = 151936, .hidden = 2048, .intermediate = 5632, .layers = 24},
     .heads = {.queries = 16, .keys = 16},
     .form = {.gated_shared_expert = true},
     .rest = RestOfQwen2Moe},
    {.model_type = "qwen3",
     .prefix = "Qwen3",
     .sizes = {.vocab = 151936, .hidden = 4096, .intermediate = 22016, .layers = 32},
     .heads = {.queries = 32, .keys = 32, .dim = 128},
     .form = {.head_norms = true},
     .has_attention_bias = true,
     .rest = QwenWindows},
    // Every layer is a mixture: intermediate_size is not used.
    {.model_type = "qwen3_5_moe_text",
     .prefix = "Qwen3_5Moe",
     .sizes = {.vocab = 248320, .hidden = 2048, .intermediate = 512, .layers = 40},
     .heads = {.queries = 16, .keys = 2, .dim = 256},
     .form = {.body = "TextModel",
              .head_norms = true,
              .gated_output = true,
              .gated_shared_expert = true},
     .has_attention_bias = true,
     .rotary_part = 0.25,
     .rest = RestOfQwen35Moe},
    {.model_type = "qwen3_5_text",
     .prefix = "Qwen3_5",
     .sizes = {.vocab = 248320, .hidden = 4096, .intermediate = 12288, .layers = 32},
     .heads = {.queries = 16, .keys = 4, .dim = 256},
     .form = {.body = "TextModel", .head_norms = true, .gated_output = true},
     .has_attention_bias = true,
     .rotary_part = 0.25,
     .rest = RestOfQwen35},
    {.model_type = "qwen3_moe",
     .prefix = "Qwen3Moe",
     .sizes = {.vocab = 151936, .hidden = 2048, .intermediate = 6144, .layers = 24},
     .heads = {.queries = 32, .keys = 4},
     .form = {.head_norms = true},
     .has_attention_bias = true,
     .rest = RestOfQwen3Moe},
    {.model_type = "qwen3_next",
     .prefix = "Qwen3Next",
     .sizes = {.vocab = 151936, .hidden = 2048, .intermediate = 5632, .layers = 48},
     .heads = {.queries = 16, .keys = 2, .dim = 256},
     .form = {.head_norms = true, .gated_output = true, .gated_shared_expert = true},
     .has_attention_bias = true,
     .rotary_part = 0.25,
     .rest = RestOfQwen3Next},
    {.model_type = "seed_oss",
     .prefix = "SeedOss",
     .sizes = {.vocab = 155136, .hidden = 4096, .intermediate = 27648, .layers = 64},
     .heads = {.queries = 80, .keys = 8, .dim = 128},
     .has_mlp_bias = true,
     .rest = RestOfSeedOss},
    {.model_type = "smollm3",
     .prefix = "SmolLM3",
     .sizes = {.vocab = 128256, .hidden = 2048, .intermediate = 11008, .layers = 36},
     .heads = {.queries = 16, .keys = 4},
     .tied = true,
     .has_attention_bias = true,
     .has_mlp_bias = true,
     .rest = RestOfSmolLm3},
    {.model_type = "solar_open",
     .prefix = "SolarOpen",
     .sizes = {.vocab = 196608, .hidden = 4096, .intermediate = 1280, .layers = 48},
     .heads = {.queries = 64, .keys = 8, .dim = 128},
     .form = {.expert_names = {.type = "MoE", .router_type = "TopkRouter"}},
     .rest = RestOfSolarOpen},
    {.model_type = "stablelm",
     .prefix = "StableLm",
     .sizes = {.vocab = 50304, .hidden = 2560, .intermediate = 6912, .layers = 32},
     .heads = {.queries = 32, .keys = 32},
     .form = {.norm = NormKind::kLayer,
              .norm_by_head = true,
              .query_norm = "q_layernorm",
              .key_norm = "k_layernorm"},
     .rotary_part = 0.25,
     .rest = RestOfStableLm},
    {.model_type = "starcoder2",
     .prefix = "Starcoder2",
     .sizes = {.vocab = 49152, .hidden = 3072, .intermediate = 12288, .layers = 30},
     .heads = {.queries = 24, .keys = 2},
     .activation = "gelu_pytorch_tanh",
     .tied = true,
     .form = {.gated = false, .norm = NormKind::kLayer, .up = "c_fc", .down = "c_proj"},
     .rest = RestOfStarcoder2},
    {.model_type = "vaultgemma",
     .prefix = "VaultGemma",
     .sizes = {.vocab = 256000, .hidden = 2304, .intermediate = 9216, .layers = 26},
     .heads = {.queries = 8, .keys = 4, .dim = 256},
     .activation = "gelu_pytorch_tanh",
     .activation_key = "hidden_activation",
     .tied = true,
     .form = {.norms = {.before_mlp = "pre_feedforward_layernorm"}, .scaled_input = true},
     .has_attention_bias = true,
     .rest = RestOfGemma2},
    {.model_type = "youtu",
     .prefix = "Youtu",
     .sizes = {.vocab = 128256, .hidden = 2048, .intermediate = 6144, .layers = 32},
     .heads = {.queries = 16, .keys = 16},
     .tied = true,
     .has_attention_bias = true,
     .latent = kDeepseekLatent},
};

}  // namespace

absl::Span<const DecoderFamily> DecoderFamilies() { return kDecoders; }

const DecoderFamily* FindDecoderFamily(absl::string_view model_type) {
  const auto* found = std::find_if(std::begin(kDecoders), std::end(kDecoders),
                                   [&](const auto& row) { return row.model_type == model_type; });
  return found == std::end(kDecoders) ? nullptr : found;
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

DecoderShape ReadDecoder(const Config& config, const DecoderFamily& family) {
  DecoderShape s;
  static_cast<DecoderForm&>(s) = family.form;
  s.prefix = family.prefix;
  s.vocab = config.Size("vocab_size", family.sizes.vocab);
  s.hidden = config.Size("hidden_size", family.sizes.hidden);
  s.intermediate = config.Size("intermediate_size", family.sizes.intermediate);
  s.layers = config.Layers("num_hidden_layers", family.sizes.layers);
  s.heads = config.Size("num_attention_heads", family.heads.queries);
  s.kv_heads = config.Size("num_key_value_heads", family.heads.keys.value_or(s.heads));
  const char* newer = family.newer_activation_key;
  const char* key = newer != nullptr && config.Has(newer) ? newer : family.activation_key;
  s.activation = family.activation;
  const bool own = s.activation == "xielu" && config.Text(key, "xielu") == "xielu";
  if (!own) s.activation = ReadActivation(config, key, family.activation);
  s.tied = config.Flag("tie_word_embeddings", family.tied);
  if (config.Has("rope_theta")) config.Real("rope_theta", 1);  // it changes no size
  config.RequireDivisible("num_attention_heads", s.heads, "num_key_value_heads", s.kv_heads);
  if (family.latent) {
    ReadLatent(config, *family.latent, &s);
  } else {
    ReadHeadDim(config, family.heads.dim, &s);
  }
  if (family.has_attention_bias) s.qkv_bias = s.out_bias = config.Flag("attention_bias", false);
  if (family.has_mlp_bias) s.mlp_bias = config.Flag("mlp_bias", false);
  if (family.rotary_part) {
    ReadRotaryPart(config, "partial_rotary_factor", *family.rotary_part, &s);
  }
  if (family.rest != nullptr) family.rest(config, &s);
  return s;
}

}  // namespace onnxflops::family
