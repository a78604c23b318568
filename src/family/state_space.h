// Mixers of tokens that keep a state of fixed size instead of keys and values: Mamba and Mamba 2.
#ifndef ONNXFLOPS_SRC_FAMILY_STATE_SPACE_H_
#define ONNXFLOPS_SRC_FAMILY_STATE_SPACE_H_

#include <cstdint>
#include <string>

#include "src/family/blocks.h"
#include "src/family/config.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

struct MixerShape {
  int64_t hidden = 0, inner = 0, state = 0, kernel = 0;
  bool in_bias = false, out_bias = false, conv_bias = true;
  std::string activation;
  bool step = false;  // one token after a state; else a text from its begin
};

struct MambaShape : MixerShape {
  int64_t rank = 0;       // of the time steps
  std::string norm_type;  // of the norms of what x_proj selects; empty: there are none
};

// What follows the scan, with a gate.
enum class GatedNorm { kNone, kGateFirst, kNormFirst };

struct Mamba2Shape : MixerShape {
  int64_t heads = 0, head_dim = 0, groups = 0, chunk = 0;
  GatedNorm norm = GatedNorm::kGateFirst;
  std::string norm_type;
  bool scaled = false;  // the input by a number, and what is projected by one for each feature

  int64_t ConvWidth() const { return inner + 2 * groups * state; }
};

// Mixes x of [batch, seq, hidden], in the module that is open; `layer` names its states.
Tensor MambaMixer(GraphBuilder* b, const Tensor& x, const MambaShape& shape, int64_t layer);
Tensor Mamba2Mixer(GraphBuilder* b, const Tensor& x, const Mamba2Shape& shape, int64_t layer);

// The new tokens of the graph that is built: a step has one.
Dim NewTokens(const Config& config);

// The width of a mixer: the hidden size by the factor of a key.
int64_t ReadInner(const Config& config, const char* key, int64_t otherwise, int64_t hidden);
// Given, or "auto": a 16th of the hidden size, rounded up.
int64_t ReadTimeStepRank(const Config& config, const char* key, int64_t hidden);
// Faults of heads and groups that do not fit the width.
void RequireMamba2(const Config& config, const char* heads_key, const char* head_dim_key,
                   const char* groups_key, const Mamba2Shape& shape);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_STATE_SPACE_H_
