// How it works. Functions of the table of decoders (decoder_families.cc) for mixtures of experts,
// and for layers that have a state instead of attention. Families name the same numbers
// differently, and say in three ways which layers are mixtures: the first ones are not, every
// so-manyth is, or a list. All become one entry per layer (has_experts, has_state).
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/decoder_settings.h"
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

}  // namespace

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

namespace {

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

}  // namespace

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

namespace {

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

}  // namespace

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

namespace {

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

}  // namespace

void RestOfDeepseekV32(const Config& config, DecoderShape* s) { ReadIndexed(config, 64, s); }

// Which layers have the indexer of one before them: by words, by letters, or all but each
// so-manyth.
void RestOfGlmMoeDsa(const Config& config, DecoderShape* s) {
  ReadIndexed(config, 32, s);
  constexpr char kWords[] = "indexer_types", kLetters[] = "index_topk_pattern";
  const bool words = config.Has(kWords);
  const bool letters = !words && config.Given(kLetters) && !config.HasList(kLetters);
  const char* const key = words ? kWords : kLetters;
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

namespace {

// The first layers may be dense, with windows by a rule of their own. Layers with a window have
// positions, and dense ones if all of them see everything.
void ReadCohere2MoeLayers(const Config& config, DecoderShape* s) {
  const int64_t dense = config.Integer("first_k_dense_replace", 0, 0);
  const int64_t first = config.Size("prefix_dense_sliding_window_pattern", 1);
  const int64_t rest = config.Size("sliding_window_pattern", 4);
  const bool windows = !config.HasNull("sliding_window");
  ReadWindows(config, windows ? config.Size("sliding_window", kUsualWindow) : kUsualWindow, s);
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

}  // namespace

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

namespace {

// ---- layers with a state instead of attention

void ReadQwenExperts(const Config& config, int64_t experts, int64_t top_k, DecoderShape* s) {
  s->experts = {s->hidden, config.Size("moe_intermediate_size", 512),
                config.Size("num_experts", experts), config.Size("num_experts_per_tok", top_k),
                /*normalize=*/true};
  RequireExperts(config, *s);
  s->shared_intermediate = config.Size("shared_expert_intermediate_size", 512);
}

}  // namespace

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

}  // namespace onnxflops::family
