// The encoder of T5 and mT5.
#ifndef ONNXFLOPS_SRC_FAMILY_T5_H_
#define ONNXFLOPS_SRC_FAMILY_T5_H_

#include <cstdint>
#include <string>

#include "src/family/graph_builder.h"

namespace onnxflops::family {

struct T5Shape {
  std::string prefix;  // of the classes: "T5", "MT5"
  int64_t vocab, width, feed_forward, heads, head_dim, buckets, layers;
  bool gated = false;
  std::string activation;
  int64_t Inner() const { return heads * head_dim; }
};

// The encoder's layers and the last norm, in the modules that are open; x: [batch, seq, width].
Tensor BuildT5Layers(GraphBuilder* b, const Tensor& x, const T5Shape& shape);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_T5_H_
