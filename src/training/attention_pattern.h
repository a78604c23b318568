// Attention as exporters write it out: a product of two activations, something per score (scale,
// mask), Softmax, something per weight, and a product with the values.
#ifndef ONNXFLOPS_SRC_TRAINING_ATTENTION_PATTERN_H_
#define ONNXFLOPS_SRC_TRAINING_ATTENTION_PATTERN_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"

namespace onnxflops::training {

struct AttentionPattern {
  NodeId scores = 0;  // Q K'
  NodeId output = 0;  // P V
  CallId scores_call = 0, output_call = 0;
  std::vector<NodeId> between;  // the chain from `scores` to `output`, in reverse order
  std::vector<ValueId> beside;  // other inputs of the chain: masks, scales
  bool same_width = false;      // V is as wide as K, as flash attention needs it
};

struct AttentionPatterns {
  std::vector<AttentionPattern> patterns;
  absl::flat_hash_map<NodeId, int32_t> by_scores, by_output;  // index in `patterns`
};

// Those of the main graph and of all bodies and functions that run.
AttentionPatterns FindAttentionPatterns(const Inference& inference);

}  // namespace onnxflops::training

#endif  // ONNXFLOPS_SRC_TRAINING_ATTENTION_PATTERN_H_
