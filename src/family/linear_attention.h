// Layers that remember tokens in a state of a fixed size: short causal convolutions, and the gated
// delta rule. Layers around them are in state_layers.h.
//
//   const TokenPath path = PathOf(b, x, past);         // once for a graph
//   Tensor qkv = CausalConv(b, x, {.channels = 8192, .kernel = 4}, 3, path);
//   Tensor y = GatedDeltaRule(b, {q, k, v, decay, beta}, shape, 3, path);
#ifndef ONNXFLOPS_SRC_FAMILY_LINEAR_ATTENTION_H_
#define ONNXFLOPS_SRC_FAMILY_LINEAR_ATTENTION_H_

#include <cstdint>
#include <string>

#include "src/family/blocks.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

// Classes have one path for a single token behind a state, and another one for all other tokens.
// Sizes here are lists of one number.
struct TokenPath {
  Tensor batch, tokens;
  Tensor cached;   // 1 where there is a past, else 0; "" in a graph without a cache
  Tensor step;     // 1 where a single token follows a past, else 0; "" as well
  Tensor chunked;  // tokens that go the other path: all or none
  Tensor chunks;   // of these, of kChunk tokens each
};
inline constexpr int64_t kChunk = 64;
// x of [batch, tokens, ...]. `past`: how many tokens the cache holds; "" without a cache.
TokenPath PathOf(GraphBuilder* b, const Tensor& x, const Tensor& past);

Tensor InFloat(GraphBuilder* b, const Tensor& x);

// The state of a layer in the cache, and its name behind the tokens.
struct PastState {
  Tensor value;
  std::string present;
};
PastState CachedState(GraphBuilder* b, int64_t layer, const char* what, DType dtype,
                      const Dims& dims);

// ---- convolutions

struct CausalConvShape {
  int64_t channels, kernel;
  bool bias = false;
  std::string activation;            // "" for none
  const char* name = "conv1d";       // the module
  const char* state = "conv_state";  // past_key_values.N.conv_state
};
// Each channel of x [batch, tokens, channels] by its own kernel over the tokens up to it.
Tensor CausalConv(GraphBuilder* b, const Tensor& x, const CausalConvShape& shape, int64_t layer,
                  const TokenPath& path);

// ---- the gated delta rule

struct DeltaShape {
  int64_t key_heads, value_heads, key_dim, value_dim;
  bool by_feature = false;  // a decay for each feature of a key: [batch, tokens, heads, key_dim]
};
struct DeltaInputs {
  Tensor q, k, v;      // [batch, tokens, heads * dim]
  Tensor decay, beta;  // [batch, tokens, value_heads]; the decay is a logarithm
};
// [batch, tokens, value_heads, value_dim].
Tensor GatedDeltaRule(GraphBuilder* b, const DeltaInputs& inputs, const DeltaShape& shape,
                      int64_t layer, const TokenPath& path);

// ---- attention whose keys decay by a number of each head (MiniMax)

struct DecayingShape {
  int64_t heads, dim, block;  // block: tokens that meet each other
};
struct DecayingInputs {
  Tensor q, k, v;  // [batch, heads, tokens, dim], as the result
};
// Behind a state all tokens go one by one, also if there are many.
Tensor DecayingAttention(GraphBuilder* b, const DecayingInputs& inputs, const DecayingShape& shape,
                         int64_t layer, const TokenPath& path);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_LINEAR_ATTENTION_H_
