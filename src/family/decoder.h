// Decoders with rotary positions, RMS norms and gated MLPs: Llama and its kin. Their families are
// rows of decoder_families.cc.
#ifndef ONNXFLOPS_SRC_FAMILY_DECODER_H_
#define ONNXFLOPS_SRC_FAMILY_DECODER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/family/blocks.h"
#include "src/family/config.h"
#include "src/family/graph_builder.h"
#include "src/family/linear_attention.h"

namespace onnxflops::family {

// Multi-head latent attention (DeepSeek): keys and values are computed from a small latent vector,
// and only that is cached.
struct LatentAttention {
  int64_t q_rank = 0;  // 0: queries are projected at once
  int64_t kv_rank = 0, nope_dim = 0, rope_dim = 0, value_dim = 0;
};

// Chooses the tokens that a query sees, by scores of its own heads (DeepSeek V3.2). transformers'
// attention has all tokens, and masks what is not chosen.
struct TokenIndexer {
  int64_t heads = 0, head_dim = 0, top_k = 0;
  // By layer: it has the indexer of the last layer before it that has its own; empty: all have.
  std::vector<bool> shared = {};
};

// The norms of a layer by their names; nullptr where there is none.
struct LayerNorms {
  const char* before_attention = "input_layernorm";
  const char* after_attention = nullptr;
  const char* before_mlp = "post_attention_layernorm";
  const char* after_mlp = nullptr;
};

// kPlain: a LayerNorm without parameters. kPlainRms: an RMS norm without.
enum class NormKind { kRms, kLayer, kLayerWithoutBias, kPlain, kPlainRms };

// The names of the module with the experts; `type` follows the prefix.
struct ExpertNames {
  const char *block = "mlp", *type = "SparseMoeBlock", *router = "gate";
  const char* router_type = "TopKRouter";  // after the prefix
  const char* router_class = nullptr;      // the whole name, if it has another prefix
  const char* inner = nullptr;             // a linear layer in the router
  const char* shared = "shared_experts";
};

// How the layers of a family are made.
struct DecoderForm {
  const char* body = "Model";  // after the prefix, of the class without a head
  bool qkv_bias = false, out_bias = false, mlp_bias = false, head_bias = false;
  bool fused_qkv = false;   // one projection, qkv_proj
  bool fused_gate = false;  // one projection of the MLP, gate_up_proj
  bool gated = true;        // the MLP; else one projection, a function, and another projection
  bool parallel = false;    // attention and MLP read the same norm, and their sum is added
  NormKind norm = NormKind::kRms;
  const char* norm_type = nullptr;  // its class, after the prefix; nullptr: RMSNorm, or LayerNorm
  bool head_norms = false;          // of queries and keys, over each head
  bool norms_rotated = false;       // these take what is rotated, not what is projected
  bool norm_by_head = false;        // these have other weights for each head, and no bias
  bool width_norms = false;         // of queries and keys, over all heads at once
  const char *query_norm = "q_norm", *key_norm = "k_norm";
  LayerNorms norms = {};
  bool interleaved = false;   // neighbouring features are rotated, not halves
  bool sinks = false;         // a learned number for each head in the softmax's denominator
  bool gated_output = false;  // of attention: q_proj gives a gate for each feature of a query
  bool output_gate = false;   // the same from a projection of its own, gate_proj
  // Times a number: embeddings, queries, what attention and MLP add, logits.
  bool scaled_input = false, scaled_queries = false, scaled_residuals = false;
  bool scaled_keys = false;
  bool scaled_logits = false, scaled_hidden = false;  // hidden: before the output layer
  ExpertNames expert_names = {};
  bool router_bias = false;
  bool corrected_scores = false;      // a learned number for each expert helps to choose
  const char* expert_bias = nullptr;  // such a number, in the module with the experts
  bool gated_shared_expert = false;   // by a sigmoid for each token
  const char* mlp = nullptr;          // its class, if it is not the prefix and MLP
  const char* with_head = nullptr;    // the class, if it is not the prefix and ForCausalLM
  // A norm of queries and keys without weights, after their rotation, of this name.
  const char* rotated_norm = nullptr;
  bool tempered_queries = false;  // times a number by position, in layers without positions
  // Names of other modules.
  const char *out = "o_proj", *gate = "gate_proj", *up = "up_proj", *down = "down_proj";
  const char *final_norm = "norm", *mlp_name = "mlp";
  bool normed_residuals = false;  // the residual is what the norm gives, times a number
  bool norm_first = false;        // the last norm of the decoder stands before its layers as well
  bool rotated = true;            // queries and keys are, by position
  // Norms before the last projections of attention and of the MLP.
  const char *attention_norm = nullptr, *mlp_norm = nullptr;
  bool averaged_experts = false;  // the mean of routed and shared experts, not their sum
  bool shared_outside = false;    // the shared expert, in a module of the layer, shared_mlp
  // Classes of layers, after the prefix, and the norms of those with a state if they differ.
  const char *layer = "DecoderLayer", *state_layer = "DecoderLayer";
  std::optional<LayerNorms> state_norms = {};
};

struct DecoderShape : DecoderForm {
  std::string prefix;  // of the classes: "Llama"
  int64_t vocab = 0, hidden = 0, intermediate = 0, layers = 0, heads = 0, kv_heads = 0;
  int64_t head_dim = 0, rotary_dim = 0;
  std::string activation;
  bool cached = true;              // past_key_values are inputs
  const char* new_tokens = "seq";  // their symbol or number
  bool tied = false;               // the output layer is the embedding
  double attention_softcap = 0, output_softcap = 0;
  std::vector<int64_t> windows;  // by layer; 0: all
  bool causal = true;            // else tokens attend to both sides
  std::vector<bool> unrotated;   // by layer: without positions; empty: none
  std::optional<LatentAttention> latent;
  std::optional<TokenIndexer> indexer;  // of latent attention
  // Mixtures of experts, by layer; a layer without one has an MLP.
  std::vector<bool> has_experts;
  ExpertShape experts = {};
  int64_t shared_intermediate = 0;  // of the shared expert; 0: there is none

  // Layers that mix tokens by a state instead of attention, and what they do; empty: none.
  std::vector<bool> has_state;
  std::function<Tensor(GraphBuilder* b, const Tensor& x, int64_t layer, const TokenPath& path)> mix;
  // Positions are [3, batch, seq]: of time, row and column. Each turns so many angles of a head.
  std::vector<int64_t> rotary_sections;
  // What follows each layer, if anything.
  std::function<Tensor(const Tensor& x, int64_t layer)> after_layer;

  std::string ModelClass() const { return prefix + body; }
  bool HasState(int64_t layer) const {
    return !has_state.empty() && has_state[static_cast<size_t>(layer)];
  }
};

// Parts of a layer for hybrids, whose other layers are no attention. This is in the module that is
// open; the others are in modules of their own, that with experts by the shape's expert_names.
Tensor GroupedAttention(GraphBuilder* b, const Tensor& x, const Rotation& angles,
                        const DecoderShape& shape, int64_t layer);
Tensor DecoderMlp(GraphBuilder* b, const Tensor& x, const char* name, const DecoderShape& shape);
Tensor DecoderExperts(GraphBuilder* b, const Tensor& x, const DecoderShape& shape);

Tensor DecoderLayers(GraphBuilder* b, Tensor x, const Tensor& positions, const DecoderShape& shape);
LanguageModel LanguageModelOf(const DecoderShape& shape);
// Reads nothing: builds the graph by its shape, or gives back the first fault of `config`.
absl::StatusOr<std::string> DecoderModel(const Config& config, const DecoderShape& shape);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_DECODER_H_
