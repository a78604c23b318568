// The batch that a model is counted at.
#ifndef ONNXFLOPS_SRC_GRAPH_BATCH_SIZE_H_
#define ONNXFLOPS_SRC_GRAPH_BATCH_SIZE_H_

#include <string>

#include "absl/container/btree_map.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

struct BatchSize {
  Expr size = 1;  // a number or a symbol
  // The inputs that have the batch, and which dimension it is; empty: the first one of all.
  absl::btree_map<std::string, int> axes = {};
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_GRAPH_BATCH_SIZE_H_
